"""The order in which the assembler is taken to run a region: list scheduling within a budget.

What has the longest way to the end goes first, and each operation holds the issue for some cycles,
more than the machine's: so ptxas's own code is met best. While more registers
would be live than the budget allows, what adds to them waits and the source's own order leads.
From RELAXED live registers on, an operation that adds to them runs at most WINDOW cycles before the
critical path asks for it.

Method   Critical-path list scheduling (Gibbons and Muchnick, 1986) with a register budget in the
         manner of Goodman and Hsu, "Code Scheduling and Register Allocation in Large Basic
         Blocks", ICS 1988: two modes, one for latency and one for registers.
Cost     n log n in the operations of a region.
"""

from __future__ import annotations

import heapq

from nvir.assembler.regalloc.code import FENCE, LOAD, PLAIN, Op, Region
from nvir.assembler.regalloc.tables import RELAXED, WINDOW


class _Memory:
    """The accesses since the last fence: what the next one must stay behind."""

    def __init__(self) -> None:
        self.fence: list[int] = []
        self.store: dict[int, int] = {}  # bit of a space → the last store to it
        self.loads: list[tuple[int, int]] = []  # since that store: (index, spaces)
        self.all: list[int] = []

    def before(self, k: int, op: Op) -> list[int]:
        """The operations that operation `k` may not pass, which is then noted itself."""
        space = op.space
        if op.kind == FENCE:
            found = self.all or self.fence
            self.fence, self.store, self.loads, self.all = [k], {}, [], []
            return found
        found = [*self.fence, *{a for bit, a in self.store.items() if bit & space}]
        if op.kind == LOAD:
            self.loads.append((k, space))
        else:
            found += [a for a, where in self.loads if where & space]
            self.loads = [x for x in self.loads if not x[1] & space]
            for bit in (1, 2, 4, 8, 16):
                if bit & space:
                    self.store[bit] = k
        self.all.append(k)
        return found


def dependences(ops: list[Op]) -> tuple[list[list[int]], list[int]]:
    """For each operation those that wait for it, and how many it waits for."""
    below: list[list[int]] = [[] for _ in ops]
    waits = [0] * len(ops)
    maker: dict[int, int] = {}
    memory = _Memory()
    for k, op in enumerate(ops):
        for s in op.sources:
            a = maker.get(s)
            if a is not None:
                below[a].append(k)
                waits[k] += 1
        if op.kind != PLAIN:
            before = memory.before(k, op)
            for a in before:
                below[a].append(k)
            waits[k] += len(before)
        for r in op.results:
            maker[r] = k
    return below, waits


def schedule(region: Region, widths: list[int], budget: int) -> tuple[list[Op], list[int]]:
    """The operations in the assumed order, and how many registers are live at each.

    An operation with a slow path ends a block of the machine's: nothing passes it.
    """
    uses, pressure = _uses(region, widths)
    order: list[Op] = []
    counts: list[int] = []
    for ops in _segments(region.ops):
        pressure = _segment(ops, uses, pressure, widths, budget, order, counts)
    return order, counts


def _segments(ops: list[Op]) -> list[list[Op]]:
    """The operations between those that end a block of the machine's, each such one at an end."""
    if not any(op.ends for op in ops):
        return [ops]
    found: list[list[Op]] = [[]]
    for op in ops:
        found[-1].append(op)
        if op.ends:
            found.append([])
    return found


def _segment(
    ops: list[Op], uses: dict[int, int], pressure: int, widths: list[int], budget: int,
    order: list[Op], counts: list[int],
) -> int:
    """Order one segment behind what is there; the registers that are live behind it."""
    n = len(ops)
    below, waits = dependences(ops)
    if n and ops[-1].ends:  # all others of its block stand in front of it
        for after in below[:-1]:
            if n - 1 not in after:
                after.append(n - 1)
                waits[n - 1] += 1
    height = _heights(ops, below)
    ready = [(-height[k], k) for k in range(n) if not waits[k]]
    heapq.heapify(ready)
    deferred: list[int] = []  # would exceed the budget; in the source's order
    later: list[tuple[int, int]] = []  # (time, index)
    earliest = [0] * n
    time = 0
    length = max(height, default=0)
    length = max(length, n)
    while ready or later or deferred:
        while later and later[0][0] <= time:
            k = heapq.heappop(later)[1]
            heapq.heappush(ready, (-height[k], k))
        chosen, grown = -1, 0
        if deferred:
            grown = _growth(ops[deferred[0]], uses, widths)
            if pressure + grown <= budget:
                chosen = heapq.heappop(deferred)
        while chosen < 0 and ready:
            k = heapq.heappop(ready)[1]
            grown = _growth(ops[k], uses, widths)
            if grown > 0:
                if pressure + grown > budget:
                    heapq.heappush(deferred, k)
                    continue
                wait = length - height[k] - WINDOW
                if pressure > RELAXED and wait > time:
                    heapq.heappush(later, (wait, k))
                    continue
            chosen = k
        if chosen < 0:
            if later:
                time = later[0][0]
                continue
            chosen = heapq.heappop(deferred)
            grown = _growth(ops[chosen], uses, widths)
        op = ops[chosen]
        order.append(op)
        unread = sum(widths[r] for r in op.results if not uses[r])
        counts.append(max(pressure, pressure + grown + unread))
        pressure += grown
        for s in op.sources:
            uses[s] -= 1
        at = time + op.latency
        for c in below[chosen]:
            if at > earliest[c]:
                earliest[c] = at
            waits[c] -= 1
            if not waits[c]:
                heapq.heappush(later, (earliest[c], c))
        time += op.issue
    return pressure


def _heights(ops: list[Op], below: list[list[int]]) -> list[int]:
    """Cycles from the start of each operation to the end of the region."""
    height = [0] * len(ops)
    for k in range(len(ops) - 1, -1, -1):
        best = 0
        for c in below[k]:
            if height[c] > best:
                best = height[c]
        height[k] = best + ops[k].latency
    return height


def _uses(region: Region, widths: list[int]) -> tuple[dict[int, int], int]:
    """How often each value is read, those that live on once more; registers at the start."""
    uses: dict[int, int] = dict.fromkeys(region.live_out, 1)
    for op in region.ops:
        for r in op.results:
            uses.setdefault(r, 0)
        for s in op.sources:
            uses[s] = uses.get(s, 0) + 1
    width = widths.__getitem__
    start = sum(map(width, region.live_in)) + sum(map(width, region.heads))
    return uses, start


def _growth(op: Op, uses: dict[int, int], widths: list[int]) -> int:
    """By how many registers an operation raises the pressure."""
    grown = 0
    for r in op.results:
        if uses[r]:
            grown += widths[r]
    for s in op.sources:
        if uses[s] == 1:
            grown -= widths[s]
    return grown
