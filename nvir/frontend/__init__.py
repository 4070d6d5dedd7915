"""From CUDA C to NVVM IR: the typed tree, its checker, and IR generation.

    tree/      what a program is: types, expressions, statements, declarations, and their JSON
    build.py   writing a tree by hand, compactly
    check/     C's typing rules: names bound, types computed, conversions made explicit
    irgen/     the NVVM IR of a checked tree, with the names of the real front end

    unit = Unit([...])                    by hand, from JSON, or from a CUDA source
    module = generate(check(unit))        a verified module of level `nvvm`
"""

FLOATS = ("ftz", "prec-div", "prec-sqrt", "fmad")  # nvcc's options of floats, true or false
