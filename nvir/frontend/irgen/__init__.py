"""IR generation: the NVVM IR of a checked tree.

    module.py       generate(unit, options): functions, variables, the module's own data
    state.py        options; the state of a module and of a function (IRGenState)
    types.py        types by worklist to a fixed point
    functions.py    the skeleton's ten steps, the prolog, the end
    abi.py          how arguments and results travel
    alloca.py       allocas at the head of the entry block
    statements.py   statements, cleanups, loop pragmas
    expressions.py  the dispatch over expressions; operators.py, casts.py, places.py,
                    bitfields.py, special.py (threadIdx), initialisers.py
    constants.py    constant initialisers; variables.py: variables of the module, strings
    fold.py         constant or instruction
    metadata.py     attributes, launch bounds, annotations
    calls.py builtins.py inline_asm.py printf.py   what is called
"""

from nvir.frontend.irgen.module import generate
from nvir.frontend.irgen.state import IRGenError, Options

__all__ = ["IRGenError", "Options", "generate"]
