"""IR generation: the NVVM IR of a checked tree.

    module.py       generate(unit, options): functions, variables, the module's own data
    state.py        options; the state of a module and of a function (IRGenState)
    types.py        types by worklist to a fixed point
    functions.py    the skeleton's ten steps, the prolog, the end
    abi.py          how arguments and results travel
    alloca.py       allocas at the head of the entry block
    statements.py   statements, cleanups, loop pragmas
    expressions.py  the dispatch over expressions; operators.py, casts.py, places.py,
                    bitfields.py, initialisers.py
    constants.py    constant initialisers; variables.py: variables of the module, strings
    fold.py         constant or instruction
    metadata.py     attributes, launch bounds, annotations
    calls.py        calls in ten phases; intrinsic/: builtins, printf, inline assembly, threadIdx
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nvir.frontend.irgen.module import generate
    from nvir.frontend.irgen.state import IRGenError, Options

__all__ = ["IRGenError", "Options", "generate"]

# Imported when first used: the builtins need parts of this package before the whole is there.
_HOMES = {"IRGenError": "state", "Options": "state", "generate": "module"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
