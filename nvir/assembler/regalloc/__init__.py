"""Register allocation: the colouring of machine code, and what `ptxas -v` will print.

    predict    registers and spills of a function as the assembler would make it
    allocate   registers for the list of `sm.machine`, proper and within a limit

Of the prediction: `code` is what it works on; `lowering`, `order`, `targets` model the assembler,
`colour` gives registers, `spill` chooses what goes to memory; `tables` has the figures.
Of the allocation: `step` is what it works on; `tuples` says which registers must be consecutive,
`joining` and `units` see to it, `check` judges; `banks` counts conflicts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nvir.assembler.regalloc.predict import Prediction, predict

if TYPE_CHECKING:
    from nvir.assembler.regalloc.allocation import Allocation, allocate
    from nvir.assembler.regalloc.check import check_allocation

__all__ = ["Allocation", "Prediction", "allocate", "check_allocation", "predict"]


def __getattr__(name: str) -> Any:
    """The allocation, imported when it is first asked for: a prediction needs none of it."""
    if name in ("Allocation", "allocate"):
        from nvir.assembler.regalloc import allocation

        return getattr(allocation, name)
    if name == "check_allocation":
        from nvir.assembler.regalloc.check import check_allocation

        return check_allocation
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
