"""What lives into and out of each region, by the operations alone.

Asked of the operations and not of the PTX, because selection moves reads to where an operation
takes another over and makes registers that the PTX has none for.

Cost    a backward data flow on the values that cross regions, as bits.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nvir.assembler.regalloc.lowering.lower import Lowering

DENSE = 8  # a set that holds more than this part of all values is read digit by digit
_DIGITS = bytes(max(0, c - ord("0")) % 2 for c in range(256))  # "0" and "1" as 0 and 1


def find_live_sets(lowering: Lowering) -> None:
    """Fill `live_in` and `live_out` of each region of a lowering."""
    regions, place, ids = lowering.code.regions, lowering.place, lowering.ids
    home: dict[int, int] = {}
    crossing: dict[int, int] = {}  # value → bit
    for n, region in enumerate(regions):
        for v in region.heads:
            home[v] = n
        for op in region.ops:
            for v in op.results:
                home[v] = n
    reads = [0] * len(regions)
    made = [0] * len(regions)
    handed = [0] * len(regions)

    def bit(v: int) -> int:
        return crossing.setdefault(v, 1 << len(crossing))

    for n, region in enumerate(regions):
        for op in region.ops:
            for v in op.sources:
                if home.get(v, -1) != n:
                    reads[n] |= bit(v)
        for i in region.blocks[0]:
            if not i.form.is_phi:
                break
            for value, block in zip(i._operands, i.aux, strict=True):
                k = lowering.moved.get((i, block), ids.get(value, -1))
                if k >= 0 and block in place:
                    handed[place[block]] |= bit(k)
    for k, mask in crossing.items():
        if k in home:
            made[home[k]] |= mask
    follow: list[list[int]] = [[] for _ in regions]
    for n, region in enumerate(regions):
        inside = set(region.blocks)
        for block in region.blocks:
            for after in block._succs:
                if (after not in inside or after is region.blocks[0]) and after in place:
                    follow[n].append(place[after])
    into = list(reads)
    out = list(handed)
    changed = True
    while changed:
        changed = False
        for n in range(len(regions) - 1, -1, -1):
            now = handed[n]
            for s in follow[n]:
                now |= into[s]
            before = reads[n] | now & ~made[n]
            if now != out[n] or before != into[n]:
                out[n], into[n], changed = now, before, True
    values = list(crossing)
    for n, region in enumerate(regions):
        region.live_in = _members(into[n], values)
        region.live_out = _members(out[n], values)


def _members(bits: int, values: list[int]) -> set[int]:
    if bits.bit_count() * DENSE > len(values):
        return set(compress(values, bin(bits)[:1:-1].encode().translate(_DIGITS)))
    found = set()
    while bits:
        low = bits & -bits
        found.add(values[low.bit_length() - 1])
        bits ^= low
    return found
