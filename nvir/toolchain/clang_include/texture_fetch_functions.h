// Clang includes this; CUDA 13 has no texture references any more.
