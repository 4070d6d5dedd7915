"""Register allocation: the colouring of machine code, and what `ptxas -v` will print.

    predict    registers and spills of a function as the assembler would make it
    allocate   registers for the list of `sm.machine`, proper and within a limit

`code` is what both work on; `lower`, `order`, `targets` model the assembler, `colour` gives
registers, `spill` chooses what goes to memory, `banks` counts conflicts; `tables` has the figures.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["Allocation", "Prediction", "allocate", "predict"]

_HOME = {
    "Allocation": "nvir.sm.regalloc.allocation",
    "Prediction": "nvir.sm.regalloc.predict",
}


def predict(*args: Any, **options: Any) -> Any:
    """See `nvir.sm.regalloc.predict.predict`."""
    return importlib.import_module("nvir.sm.regalloc.predict").predict(*args, **options)
