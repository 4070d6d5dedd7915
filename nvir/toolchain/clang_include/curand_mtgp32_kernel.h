// Clang includes this for two declarations; it belongs to cuRAND, which need not be installed.
