"""What the phis at the start of a region are handed at the ends of the blocks before.

Cost    linear in the operands of phis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.assembler.regalloc.code import Op, Region, put_before_end
from nvir.assembler.regalloc.tables import ALU
from nvir.ir.block import Block
from nvir.ir.values import Undef

if TYPE_CHECKING:
    from nvir.assembler.regalloc.lowering.lower import Lowering


def move_phis(lowering: Lowering, region: Region) -> None:
    """Move what cannot be in a phi's register to it, at the ends of the blocks before: a
    literal or a word of the constant bank, and what lives on beside the phi."""
    handed: dict[Block, set[int]] = {}
    for i in region.blocks[0]:
        if not i.form.is_phi:
            break
        for v, b in zip(i._operands, i.aux, strict=True):
            at = lowering.code.regions[lowering.place[b]] if b in lowering.place else None
            if at is None or at.blocks[-1] is not b or isinstance(v, Undef):
                continue
            if at is region and region.blocks[0].name in lowering.factors:
                continue
            k, o = lowering.ids[i], lowering.ids.get(v, -1)
            if not lowering.code.widths[k]:
                continue
            taken = handed.setdefault(b, set())
            if o == k or (o >= 0 and o not in taken and o not in region.live_in
                          and o not in region.heads):
                taken.add(o)
                continue
            lowering.moved[i, b] = made = lowering.code.value(lowering.code.widths[k])
            move = Op((made,), (o,) if o >= 0 else (), i, latency=ALU, family="MOV")
            put_before_end(at, move)



def hint_phis(lowering: Lowering, region: Region) -> None:
    """Which values its phis would share a register with."""
    ids, hints = lowering.ids, lowering.code.hints
    for i in region.blocks[0]:
        if not i.form.is_phi:
            break
        k = ids[i]
        for v, b in zip(i._operands, i.aux, strict=True):
            o = lowering.moved.get((i, b), ids.get(v, -1))
            if o >= 0 and o != k:
                hints.setdefault(o, k)
