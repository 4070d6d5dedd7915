"""How large a kernel is beside one of its loops, as ptxas counts it.

The share of the kernel that a loop makes up widens the limit of full unrolling.
The count is known to within about two instructions: what computes, and one for
each parameter that is read, each address offset, each access of global memory,
each value carried around a loop (two) or joined.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from nvir.assembler.unroll.known import Counted, is_symbol
from nvir.assembler.unroll.weights import CARRIED, JOINED, OUTSIDE_BASE, weight
from nvir.ir import Block, Constant, Function, Instruction, Param, Value


def outside_size(
    function: Function, counted: Counted, arch: int, headers: Iterable[Block],
    dead: AbstractSet[Instruction] = frozenset(),
) -> int:
    """Instructions of the function that are not in the loop and not dead. `headers` are those of
    all loops."""
    inside = counted.loop.members
    params: set[Value] = set()
    headers = set(headers)
    size = OUTSIDE_BASE
    for block in function.blocks:
        out = block not in inside
        for i in block:
            if i in dead:
                continue
            f = i.form
            if f.is_phi:
                size += CARRIED if block in headers else JOINED
                continue
            if f.op.pseudo:
                continue
            if f.space == "param" and f.name == "ld":
                params.update(v for v in i.operands if isinstance(v, Param))
                continue
            size += _places(i)
            if out and not (f.terminator and i.guard is None and f.name == "bra"):
                size += weight(f, arch).d
    return size + len(params)


def _places(i: Instruction) -> int:
    """One for an address offset, one for an access of global memory."""
    f = i.form
    if not (f.reads or f.writes) or not f.addresses:
        return 0
    size = int(f.space == "global")
    for base, offset in f.addresses:
        if offset >= 0 and not is_symbol(i.operands[base]):
            v = i.operands[offset]
            size += not (isinstance(v, Constant) and v.value == 0)
    return size
