"""A second copy of a loop, and the branch in front of both."""

from __future__ import annotations

from nvir.ir.block import Block
from nvir.ir.builder import Builder
from nvir.ir.values import Value
from nvir.passes.loop import region
from nvir.passes.loop.unroll.prepare import CopyRegion


def fork(area: CopyRegion, right: Value, names: tuple[str, str]) -> tuple[region.Copies, Block]:
    """Run a copy of a loop where `right` holds, the loop elsewhere: the copies, and the block that
    leads to them. `names` are those of the two ways in. Annotations are stale."""
    header, entry = area.header, area.preheader
    copies = region.copy_region(area.blocks)
    ways = []
    for name, block in zip(names, (copies[header], header), strict=True):
        way = header.function.block(f"{header.name}.{name}")
        Builder(way).br(block)
        for p in block.phis:
            p.set_incoming([v for v, _ in p.incoming], [way if x is entry else x for x in p.aux])
        ways.append(way)
    assert entry.last is not None
    entry.last.erase()
    Builder(entry).cond_br(right, ways[0], ways[1])
    return copies, ways[0]
