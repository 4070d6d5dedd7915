"""What lives into and out of each region, by the operations alone.

Asked of the operations and not of the PTX, because selection moves reads to where an operation
takes another over and makes registers that the PTX has none for.

Cost    a backward data flow on the values that cross regions, as bits: some values at a time and
        only in the regions that they reach, since a bit for each value of a long function in each
        of its regions is the square of its length.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import compress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nvir.assembler.regalloc.lowering.lower import Lowering

AT_ONCE = 2048  # values of one data flow
DENSE = 8  # a set that holds more than this part of all values is read digit by digit
_DIGITS = bytes(max(0, c - ord("0")) % 2 for c in range(256))  # "0" and "1" as 0 and 1


def find_live_sets(lowering: Lowering) -> None:
    """Fill `live_in` and `live_out` of each region of a lowering."""
    regions = lowering.code.regions
    home: dict[int, int] = {}
    for n, region in enumerate(regions):
        for v in region.heads:
            home[v] = n
        for op in region.ops:
            for v in op.results:
                home[v] = n
    crossing = _crossing(lowering, home)
    follow, before = _edges(lowering)
    values = list(crossing)
    live_in: list[list[int]] = [[] for _ in regions]
    live_out: list[list[int]] = [[] for _ in regions]
    for start in range(0, len(values), AT_ONCE):
        some = values[start : start + AT_ONCE]
        into, out = _flow([crossing[v] for v in some], [home.get(v) for v in some], follow, before)
        for found, live in ((into, live_in), (out, live_out)):
            for n, bits in found.items():
                live[n].extend(_members(bits, some))
    for region, entering, leaving in zip(regions, live_in, live_out, strict=True):
        region.live_in = set(entering)
        region.live_out = set(leaving)


Uses = tuple[list[int], list[int]]  # the regions that read a value, those that hand it to a phi


def _crossing(lowering: Lowering, home: dict[int, int]) -> dict[int, Uses]:
    """The values that cross regions."""
    place, ids = lowering.place, lowering.ids
    crossing: dict[int, Uses] = {}
    for n, region in enumerate(lowering.code.regions):
        for op in region.ops:
            for v in op.sources:
                if home.get(v, -1) != n:
                    crossing.setdefault(v, ([], []))[0].append(n)
        for i in region.blocks[0]:
            if not i.form.is_phi:
                break
            for value, block in zip(i._operands, i.aux, strict=True):
                k = lowering.moved.get((i, block), ids.get(value, -1))
                if k >= 0 and block in place:
                    crossing.setdefault(k, ([], []))[1].append(place[block])
    return crossing


def _edges(lowering: Lowering) -> tuple[list[list[int]], list[list[int]]]:
    """Of each region those behind it, and those before it."""
    regions, place = lowering.code.regions, lowering.place
    follow: list[list[int]] = [[] for _ in regions]
    before: list[list[int]] = [[] for _ in regions]
    for n, region in enumerate(regions):
        inside = set(region.blocks)
        for block in region.blocks:
            for after in block._succs:
                if (after not in inside or after is region.blocks[0]) and after in place:
                    follow[n].append(place[after])
                    before[place[after]].append(n)
    return follow, before


def _flow(
    uses: list[Uses], homes: list[int | None], follow: list[list[int]], before: list[list[int]]
) -> tuple[dict[int, int], dict[int, int]]:
    """What is live into and out of the regions that some values reach, a bit each."""
    reads: dict[int, int] = {}
    handed: dict[int, int] = {}
    made: dict[int, int] = {}
    for k, ((readers, givers), at) in enumerate(zip(uses, homes, strict=True)):
        for regions, bits in ((readers, reads), (givers, handed)):
            for n in regions:
                bits[n] = bits.get(n, 0) | 1 << k
        if at is not None:
            made[at] = made.get(at, 0) | 1 << k
    into: dict[int, int] = {}
    out: dict[int, int] = {}
    waiting = {*reads, *handed}
    heap = [-n for n in waiting]  # the last first: most control runs forward
    heapify(heap)
    while heap:
        n = -heappop(heap)
        waiting.discard(n)
        now = handed.get(n, 0)
        for s in follow[n]:
            now |= into.get(s, 0)
        out[n] = now
        entering = reads.get(n, 0) | now & ~made.get(n, 0)
        if entering != into.get(n, 0):
            into[n] = entering
            for p in before[n]:
                if p not in waiting:
                    waiting.add(p)
                    heappush(heap, -p)
    return into, out


def _members(bits: int, values: list[int]) -> Iterator[int]:
    if bits.bit_count() * DENSE > len(values):
        yield from compress(values, bin(bits)[:1:-1].encode().translate(_DIGITS))
        return
    while bits:
        low = bits & -bits
        yield values[low.bit_length() - 1]
        bits ^= low
