"""The slots of a crowded schedule dealt out anew, one chain of operations after another.

Where an interval is so tight that slots were found before iterations, each operation waits half an
interval for its operands on the average: an order in which no single exchange is a gain. But its
slots fit, and operations that keep the same pipe busy equally long can take each other's. So from
the ends of the graph backwards each operation gets the last slot of its kind that is still to be
had before its readers, who come right before it in this order: chains stay together, and what is
dealt out late waits longest. Recurrences keep their slots.

Needs   a valid schedule with its table.
Leaves  another one in the same slots: a start for `anneal`.
Cost    O(edges + operations * slots of a kind): a millisecond for 80 operations.
"""

from __future__ import annotations

from collections.abc import Sequence

from nvir.sm.graph import DependenceGraph
from nvir.sm.schedule.ims import Weighted
from nvir.sm.schedule.reservations import ReservationTable, Unit

Kind = tuple[str, int, int]  # pipe, cycles that it is busy, resource
Slot = tuple[int, Unit | None]


def deal_anew(
    graph: DependenceGraph,
    table: ReservationTable,
    times: Sequence[int],
    weights: tuple[Weighted, Weighted],
) -> tuple[list[int], ReservationTable] | None:
    """Starts in the slots of a schedule, and their table; None where some would not fit."""
    return _Dealer(graph, table, times, weights[0]).run()


class _Dealer:
    """Slots by kind while they are dealt out."""

    def __init__(
        self, graph: DependenceGraph, table: ReservationTable, times: Sequence[int], succs: Weighted
    ) -> None:
        self.graph, self.ii, self.succs = graph, table.ii, succs
        self.old = times
        self.times = list(times)
        self.units = [table.unit_of(n) for n in range(len(graph))]
        self.part = [0] * len(graph)  # the component of each operation
        for c, members in enumerate(graph.components):
            for n in members:
                self.part[n] = c
        self.free: dict[Kind, list[Slot]] = {}
        self.owed: dict[Kind, int] = {}  # operations to come that can take no other kind
        single = [members[0] for members in graph.components if len(members) == 1]
        for n in single:
            slot = times[n] % self.ii, self.units[n]
            self.free.setdefault(self._kind(n, self.units[n]), []).append(slot)
        self.kinds = {n: self._kinds(n) for n in single}
        for kinds in self.kinds.values():
            if len(kinds) == 1:
                self.owed[kinds[0]] = self.owed.get(kinds[0], 0) + 1

    def _kind(self, n: int, unit: Unit | None) -> Kind:
        cycles = self.graph.intervals[n] if self.graph.pipes else 1
        return unit[0] if unit else "", cycles, self.graph.resources[n]

    def _kinds(self, n: int) -> list[Kind]:
        """The kinds of slots that an operation can take."""
        names = self.graph.pipes[n] if self.graph.pipes else ()
        kinds = (self._kind(n, (name, 0)) for name in names) if names else (self._kind(n, None),)
        return [kind for kind in kinds if kind in self.free]

    def run(self) -> tuple[list[int], ReservationTable] | None:
        parts = self.graph.components
        before: list[set[int]] = [set() for _ in parts]
        readers = [0] * len(parts)
        for src, dst, _, _ in self.graph.edges:
            a, b = self.part[src], self.part[dst]
            if a != b and a not in before[b]:
                before[b].add(a)
                readers[a] += 1
        ready = [c for c, count in enumerate(readers) if not count]
        while ready:
            c = ready.pop()  # the latest that got ready: the chain goes on
            if len(parts[c]) > 1:
                self._shift(c)
            elif not self._deal(parts[c][0]):
                return None
            for a in sorted(before[c]):
                readers[a] -= 1
                if not readers[a]:
                    ready.append(a)
        return self._booked()

    def _shift(self, c: int) -> None:
        """A recurrence starts in the last iteration that its readers allow."""
        rounds = [
            (self.times[m] - weight - self.old[n]) // self.ii
            for n in self.graph.components[c]
            for m, weight in self.succs[n]
            if self.part[m] != c
        ]
        for n in self.graph.components[c]:
            self.times[n] = self.old[n] + min(rounds, default=0) * self.ii

    def _deal(self, n: int) -> bool:
        """An operation gets the last slot before its readers; whether there was one for it."""
        end = min((self.times[m] - w for m, w in self.succs[n]), default=self.old[n])
        kinds, least = self.kinds[n], self.ii
        best: tuple[Kind, int] | None = None
        for kind in kinds:
            if len(kinds) > 1 and len(self.free[kind]) <= self.owed.get(kind, 0):
                continue
            for k, (slot, _) in enumerate(self.free[kind]):
                wait = (end - slot) % self.ii
                if wait < least:
                    best, least = (kind, k), wait
        if best is None:
            return False
        kind, k = best
        self.units[n] = self.free[kind].pop(k)[1]
        self.times[n] = end - least
        if len(kinds) == 1:
            self.owed[kind] -= 1
        return True

    def _booked(self) -> tuple[list[int], ReservationTable] | None:
        table = ReservationTable(self.graph, self.ii)
        fits = all(table.put(n, t, self.units[n]) for n, t in enumerate(self.times))
        return (self.times, table) if fits else None
