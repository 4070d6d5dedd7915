"""Values that are held in one register while an asynchronous operation is in flight."""

from __future__ import annotations

from nvir.ir import Function, Value
from nvir.ir.opcodes.form import HOLDING


def held_in_place(function: Function) -> frozenset[Value]:
    """Values that asynchronous operations read and write in one register.

    While the operation is in flight no copy of them can be made, so they must
    not be merged with others. One visit an instruction, none where no program so far had such.
    """
    if not HOLDING:
        return frozenset()
    held: set[Value] = set()
    for block in function.blocks:
        i = block.first
        while i is not None:
            if i.form in HOLDING:
                held.update(i.results[r] for r, _ in i.ties)
                held.update(i.operands[k] for _, k in i.ties)
            i = i.next
    return frozenset(held)
