"""Which values go to local memory when there are too few registers, and how many bytes that is.

At each operation at which more registers are live than there are, the values that are read last
go: their store stands behind their definition, a load before each use that follows in another
place. The bytes are what `ptxas -v` calls spill stores and spill loads.

Method   Furthest next use (Belady, 1966), as for basic blocks in Braun and Hack, "Register Spilling
         and Live-Range Splitting for SSA-Form Programs", CC 2009.
Cost     each value is considered once where it begins and where it is read.
"""

from __future__ import annotations

import heapq

import attrs

from nvir.assembler.regalloc.code import Op, Region

WORD = 4


@attrs.frozen
class Spills:
    """What goes to local memory.

    values         numbers of the values, in the order in which they are spilled
    store_bytes    bytes a thread of the stores, as `ptxas -v` counts them
    load_bytes     … of the loads
    """

    values: tuple[int, ...] = ()
    store_bytes: int = 0
    load_bytes: int = 0

    @property
    def bytes(self) -> int:
        return self.store_bytes + self.load_bytes


def spills_of(
    regions: list[tuple[Region, list[Op]]], widths: list[int], registers: int
) -> Spills:
    """The spills that leave at most so many registers live, as far as that can be."""
    spilled: dict[int, None] = {}
    loads = 0
    for region, order in regions:
        loads += _region(region, order, widths, registers, spilled)
    stores = sum(widths[v] for v in spilled)
    return Spills(tuple(spilled), stores * WORD, loads * WORD)


def _region(
    region: Region, order: list[Op], widths: list[int], registers: int, spilled: dict[int, None]
) -> int:
    """Spill in one region; words that are loaded again there."""
    uses = _uses(region, order)
    inside = {v for v in (*region.live_in, *region.heads) if v not in spilled}
    held = sum(widths[v] for v in inside)
    loads = 0
    furthest: list[tuple[int, int]] = []
    for v in inside:
        heapq.heappush(furthest, (-uses[v][-1] if uses.get(v) else -len(order), v))
    for k, op in enumerate(order):
        for s in op.sources:
            if s not in inside and widths[s]:
                loads += widths[s]
                inside.add(s)
                held += widths[s]
        needed = set(op.sources)
        held -= _evict(held - registers, k, inside, needed, uses, furthest, widths, spilled)
        for s in op.sources:
            _advance(s, k, inside, uses, furthest)
            if not uses.get(s) and s in inside:
                inside.discard(s)
                held -= widths[s]
        for r in op.results:
            if uses.get(r) and widths[r]:
                inside.add(r)
                held += widths[r]
                heapq.heappush(furthest, (-uses[r][-1], r))
        held -= _evict(
            held - registers, k, inside, set(op.results), uses, furthest, widths, spilled
        )
    return loads


def _uses(region: Region, order: list[Op]) -> dict[int, list[int]]:
    """Where each value is read, the last place first; behind the region for what lives on."""
    uses: dict[int, list[int]] = {v: [len(order)] for v in region.live_out}
    for k in range(len(order) - 1, -1, -1):
        for s in order[k].sources:
            uses.setdefault(s, []).append(k)
    return uses


def _advance(
    s: int, k: int, inside: set[int], uses: dict[int, list[int]], furthest: list[tuple[int, int]]
) -> None:
    places = uses.get(s)
    if places and places[-1] <= k:
        places.pop()
        if places and s in inside:
            heapq.heappush(furthest, (-places[-1], s))


def _evict(
    excess: int, k: int, inside: set[int], needed: set[int], uses: dict[int, list[int]],
    furthest: list[tuple[int, int]], widths: list[int], spilled: dict[int, None],
) -> int:
    """Put values aside until the excess is gone; the words that this frees."""
    freed = 0
    kept = []
    while freed < excess and furthest:
        at, v = heapq.heappop(furthest)
        places = uses.get(v)
        if v not in inside or not places or -at != places[-1]:
            continue  # the entry is out of date
        if v in needed:
            kept.append((at, v))
            continue
        inside.discard(v)
        freed += widths[v]
        if widths[v]:
            spilled.setdefault(v)
    for entry in kept:
        heapq.heappush(furthest, entry)
    return freed
