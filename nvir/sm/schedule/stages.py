"""Stages at the same slots: whole parts of a schedule start some intervals later.

A schedule whose operations stay in their slots keeps every resource; only the iteration in which
each starts is free. A long wait is often shared by many values, so that no operation alone can gain
by a later start. So the best part is sought: a set of operations that all start one step later.
What an operation gains is a step of its own value's life; it pays where the last use of an
operand moves, and takes along who would start too early otherwise. That is a closure of most
profit, a smallest cut of a network. Steps are some intervals at first, one in the end.

The sum of lives is L-natural convex in the stages (a largest of variables less one, under bounds of
differences), so where no part gains by one interval no other stages have a smaller sum.

Cost    a cut in O(nodes * edges) of Python for each step that gains, rarely more than ten.
Source  K. Murota, "Discrete Convex Analysis", 2003, ch. 10 (descent); J.-C. Picard, "Maximal
        closure of a graph", Management Science 22, 1976; the goal is that of A. Eichenberger,
        E. Davidson, "Stage scheduling", MICRO-28, 1995.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from nvir.sm.graph import DependenceGraph
from nvir.sm.schedule.ims import Weighted
from nvir.sm.schedule.lifetimes import Values

LARGEST = 8  # intervals of the first steps
ENDLESS = 1 << 60


def move_stages(
    graph: DependenceGraph, ii: int, times: Sequence[int], values: Values, succs: Weighted
) -> list[int]:
    """Starts in the slots of a schedule with the least sum of lives."""
    found = list(times)
    rounds = LARGEST
    while rounds:
        later = _best_part(graph, ii, rounds * ii, found, values, succs)
        for n in later:
            found[n] += rounds * ii
        if not later:
            rounds //= 2
    return found


def fewest_stages(
    graph: DependenceGraph, ii: int, times: Sequence[int], values: Values, succs: Weighted
) -> list[int]:
    """Starts in the slots of a schedule, from the first interval on, in the fewest intervals that
    lengthen no life.

    Bounds of differences all of them, so the earliest solution is the shortest.
    """
    stage, slot = [0] * len(graph), [t % ii for t in times]
    bounds: list[dict[int, int]] = [{} for _ in graph.nodes]

    def bind(a: int, b: int, cycles: int) -> None:
        """b starts no less than so many cycles after a."""
        later = -((slot[b] - slot[a] - cycles) // ii)
        bounds[a][b] = max(later, bounds[a].get(b, later))

    for n, out in enumerate(succs):
        for m, weight in out:
            bind(n, m, weight)
    for n, (uses, size) in enumerate(zip(values.uses, values.sizes, strict=True)):
        life = max((times[m] + later * ii - times[n] for m, later in uses), default=0)
        for m, later in uses if size else ():
            bind(m, n, later * ii - max(life, 0))
    queue = list(graph.order)
    waits = [True] * len(graph)
    for n in queue:  # grows while it is read
        waits[n] = False
        for m, later in bounds[n].items():
            if stage[n] + later > stage[m]:
                stage[m] = stage[n] + later
                if not waits[m]:
                    waits[m] = True
                    queue.append(m)
    return [k * ii + t for k, t in zip(stage, slot, strict=True)]


def _best_part(
    graph: DependenceGraph,
    ii: int,
    step: int,
    times: Sequence[int],
    values: Values,
    succs: Weighted,
) -> list[int]:
    """The operations that gain most, in sum, if all of them start a step later."""
    source, sink = len(graph), len(graph) + 1
    net = _Network(sink + 1)
    for n, out in enumerate(succs):
        for m, weight in out:
            if times[m] - times[n] - weight < step:
                net.join(n, m, ENDLESS)
    for n, (uses, size) in enumerate(zip(values.uses, values.sizes, strict=True)):
        if not uses or not size:
            continue
        ends: dict[int, int] = {}
        for m, distance in uses:
            ends[m] = max(ends.get(m, -ENDLESS), times[m] + distance * ii)
        last = max(times[n], *ends.values())
        if set(ends) == {n}:
            continue  # it moves as a whole
        net.join(source, n, size * step)
        paid, node = 0, sink
        for m in sorted(ends, key=lambda m: ends[m]):
            grows = ends[m] + step - last
            if grows > paid:  # whoever moves on pays for all the ends before its own as well
                here = net.node()
                net.join(here, sink, size * (grows - paid))
                if node != sink:
                    net.join(here, node, ENDLESS)
                paid, node = grows, here
            if node != sink and grows > 0:
                net.join(m, node, ENDLESS)
    return [n for n in net.source_side(source, sink) if n < source]


class _Network:
    """Capacities, from which flow is taken (Y. Dinitz, 1970)."""

    def __init__(self, count: int) -> None:
        self.room: list[dict[int, int]] = [{} for _ in range(count)]

    def node(self) -> int:
        self.room.append({})
        return len(self.room) - 1

    def join(self, a: int, b: int, capacity: int) -> None:
        self.room[a][b] = self.room[a].get(b, 0) + capacity
        self.room[b].setdefault(a, 0)

    def source_side(self, source: int, sink: int) -> list[int]:
        """The nodes on the source's side of a smallest cut, the fewest."""
        while True:
            level = self._levels(source)
            if sink not in level:
                return [n for n in level if n != source]
            todo = {n: iter(self.room[n]) for n in level}
            while self._augment(source, sink, level, todo):
                pass

    def _levels(self, source: int) -> dict[int, int]:
        level, queue = {source: 0}, [source]
        for n in queue:  # grows while it is read
            for m, room in self.room[n].items():
                if room and m not in level:
                    level[m] = level[n] + 1
                    queue.append(m)
        return level

    def _augment(
        self, source: int, sink: int, level: dict[int, int], todo: dict[int, Iterator[int]]
    ) -> int:
        """Sends flow along one shortest path; how much."""
        path = [source]
        while path[-1] != sink:
            n = path[-1]
            for m in todo[n]:
                if self.room[n][m] and level.get(m) == level[n] + 1:
                    path.append(m)
                    break
            else:
                path.pop()  # a dead end: its iterator is spent, and the one before goes on
                if not path:
                    return 0
        pairs = list(itertools.pairwise(path))
        flow = min(self.room[a][b] for a, b in pairs)
        for a, b in pairs:
            self.room[a][b] -= flow
            self.room[b][a] += flow
        for a, b in pairs:  # an edge with room left is to be seen again
            if self.room[a][b]:
                todo[a] = iter(self.room[a])
        return flow
