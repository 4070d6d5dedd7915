"""LLVM text of the `nvvm` level, in the dialects of LLVM 7 and 20."""
