"""Builtins: the functions that the compiler knows of itself, as rows of text.

    numbers    the real front end's numbers: families, what a number says
    registry   rows by name, the choice among overloads; `find`, `declaration`
    tables     the rows
    declarations  what the checker asks
    work, lowering   what a row's right side means: intrinsics, assembly, Python
    inline     lowerings that build IR
    atomics, tensor, texture (its names in texture_names)   families with a handler of their own
    intrinsic_names, fallback   names of intrinsics themselves: `__nvvm_*`, `llvm.*`

A row is C's declaration and what becomes of it:

    unsigned __byte_perm(unsigned a, unsigned b, unsigned s) -> llvm.nvvm.prmt $0 $1 $2
"""
