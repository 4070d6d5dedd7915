"""Stack memory, gathered at the head of the entry block.

The marker `allocapt` stands where the allocas end. The notes have it as a bitcast of a void
undef to void, which no LLVM accepts; here it bitcasts an undefined i1 to i1, and the end of the
function's emission removes it.

Alignment   The type's own, or the greatest power of two not above the size up to 16, whichever is
            more; 1 for size 0 (GAP-13). Literally, which no policy is, without that end of 16.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.ir import I1, I32, Instruction, Type, Value, constant, nvvm_form, pointer, undef
from nvir.ir.text.trace import note

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState

MARKER = "allocapt"


def alloca_align(size: int, natural: int, literal: bool = False) -> int:
    """The alignment in bytes of a temporary of `size` bytes whose type asks for `natural`."""
    if not size:
        return 1
    power = 1 << (size.bit_length() - 1)
    return max(natural, power if literal else min(power, 16))


def insert_marker(g: IRGenState) -> Instruction:
    """Put the marker at the end of the entry block."""
    g.allocapt = g.builder.bitcast(undef(I1), I1, MARKER)
    return g.allocapt


def remove_marker(g: IRGenState) -> None:
    if g.allocapt is not None and not g.options.keep_allocapt:
        g.allocapt.erase()
        g.allocapt = None


def create_alloca(g: IRGenState, t: Type, name: str, size: int, natural: int,
                  count: Value | None = None) -> Instruction:
    """An alloca before the marker, or where code is being built if it has a count."""
    align = alloca_align(size, natural)
    note("FN-21", "temporary", f"align {align}", name=name, size=size, natural=natural)
    note("FN-04", "place", "before the marker" if count is None else "where code is built",
         name=name, count=count)
    if count is not None:
        return g.builder.insert("alloca", (count,), pointer(), name, (t, align))
    assert g.allocapt is not None
    one = constant(I32, 1)
    made = Instruction(nvvm_form("alloca"), (one,), pointer(), name or None, (t, align))
    made.insert_before(g.allocapt)
    return made
