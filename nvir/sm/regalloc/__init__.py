"""Register allocation: the colouring of machine code, and what `ptxas -v` will print.

    predict    registers and spills of a function as the assembler would make it
    allocate   registers for the list of `sm.machine`, proper and within a limit

`code` is what both work on; `lower`, `order`, `targets` model the assembler, `colour` gives
registers, `spill` chooses what goes to memory, `banks` counts conflicts; `tables` has the figures.
"""

from __future__ import annotations

from nvir.sm.regalloc.allocation import Allocation, allocate, check_allocation
from nvir.sm.regalloc.predict import Prediction, predict

__all__ = ["Allocation", "Prediction", "allocate", "check_allocation", "predict"]
