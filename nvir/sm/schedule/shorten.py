"""Shorter lifetimes at the same interval: operations move within the room they have.

Where an operation starts decides how long its own value lives and, where it is the last
use, how long its operands do. The sum of the lives that touch an operation is a convex
function of its start, piecewise linear with a corner at each operand's other last use.
A sweep backwards moves every operation to a minimum of it, ties as late as possible, so
that chains follow the operation at their end; one forwards, ties as early as possible.
Dependences and free slots bound each move, so the schedule stays valid throughout.

In every second round an operand whose maker can follow, because nothing else reads it, counts
as what its maker reads in turn, so that whole chains move up to their use.

Cost    O(edges) a sweep for values of few uses.
Source  the goal of stage scheduling, A. Eichenberger, E. Davidson, MICRO-28, 1995; slots
        may change here.
"""

from __future__ import annotations

from collections.abc import Sequence

from nvir.sm.graph import DependenceGraph
from nvir.sm.schedule.ims import Weighted, weights_at
from nvir.sm.schedule.lifetimes import Values
from nvir.sm.schedule.reservations import ReservationTable

FAR = 1 << 60
FOLLOWED = 4
"""Makers behind makers that are taken to follow."""


def shorten(
    graph: DependenceGraph,
    ii: int,
    times: Sequence[int],
    values: Values,
    weights: tuple[Weighted, Weighted] | None = None,
    table: ReservationTable | None = None,
    rounds: int = 1,
) -> list[int]:
    """`times` with no longer lives in sum; valid at `ii` if `times` is, least start 0.

    weights   `weights_at(graph, ii)` where the caller has it
    table     that of `times`, which becomes that of the result up to whole intervals
    rounds    pairs of sweeps at most
    """
    if table is None:
        table = ReservationTable.of(graph, ii, times)
        assert table is not None, "the schedule oversubscribes a resource"
    return _Mover(graph, table, times, values, weights or weights_at(graph, ii)).run(rounds)


class _Mover:
    """The schedule while it is changed, with the slots that it holds."""

    __slots__ = ("follow", "graph", "ii", "operands", "preds", "succs", "table", "times", "values")

    def __init__(
        self,
        graph: DependenceGraph,
        table: ReservationTable,
        times: Sequence[int],
        values: Values,
        weights: tuple[Weighted, Weighted],
    ) -> None:
        self.graph, self.table, self.ii, self.values = graph, table, table.ii, values
        self.times = list(times)
        self.succs, self.preds = weights
        self.follow = False
        self.operands: list[list[int]] = [[] for _ in graph.nodes]
        for producer, uses in enumerate(values.uses):
            for user, _ in uses:
                if user != producer and producer not in self.operands[user]:
                    self.operands[user].append(producer)

    def run(self, rounds: int) -> list[int]:
        order = self.graph.order
        best, units, least = self.times, self.table.units, FAR
        for k in range(rounds):
            self.follow = k % 2 == 1
            self._sweep(order[::-1], late=True)
            self._sweep(order, late=False)
            if rounds == 1:
                break
            total = self._total()
            if total < least:
                best, units, least = list(self.times), self.table.units, total
            elif self.follow:
                break
        if rounds > 1 and best != self.times:
            self.table.move(self.times, best, units)
            self.times = best
        first = min(self.times, default=0)
        return [t - first for t in self.times] if first else self.times

    def _total(self) -> int:
        times, ii = self.times, self.ii
        return sum(
            size * max(0, max([times[m] + later * ii for m, later in uses]) - times[n])
            for n, (uses, size) in enumerate(zip(self.values.uses, self.values.sizes, strict=True))
            if uses
        )

    def _sweep(self, order: list[int], late: bool) -> None:
        times, preds, succs = self.times, self.preds, self.succs
        for u in order:
            first, last = -FAR, FAR  # the starts that the neighbours allow
            for v, weight in preds[u]:
                if times[v] + weight > first:
                    first = times[v] + weight
            for v, weight in succs[u]:
                if times[v] - weight < last:
                    last = times[v] - weight
            if first == last:
                continue
            now = times[u]
            if first == -FAR:
                first = now  # without end, so no further out than it is
            if last == FAR:
                last = now
            low, high = self._best(u, late and self.follow)
            low = min(max(low, first), last)
            high = max(min(high, last), low)
            # the sum is least from low to high: ties go on in the direction of the sweep
            target = high if late else low
            if target != now:
                times[u] = self._rebook(u, now, target)

    def _best(self, u: int, follow: bool) -> tuple[int, int]:
        """The starts between which the lives of the value and operands of `u` are least."""
        values, times, ii = self.values, self.times, self.ii
        slope = 0
        # where u becomes the last use of an operand, or is late enough to have outlived the other
        # uses of its own value (a negative latency allows that), with the size of what grows there
        corners = []
        others = [times[user] + later * ii for user, later in values.uses[u] if user != u]
        if others:
            slope = -values.sizes[u]
            own = max((later * ii for user, later in values.uses[u] if user == u), default=0)
            corners.append((max(others) - own, values.sizes[u]))
        for producer in self.operands[u]:
            other, own = times[producer], -FAR
            for user, distance in values.uses[producer]:
                if user == u:
                    own = max(own, distance * ii)
                elif times[user] + distance * ii > other:
                    other = times[user] + distance * ii
            size = self._growth(producer, u, FOLLOWED) if follow else values.sizes[producer]
            corners.append((other - own, size))
        low = -FAR
        for corner, size in sorted(corners):
            if slope >= 0:
                return low, corner
            slope += size
            low = corner
            if slope > 0:
                return corner, corner
        return (low, FAR) if slope >= 0 else (FAR, FAR)

    def _growth(self, producer: int, user: int, depth: int) -> int:
        """Registers that grow longer if the maker of a value follows its only reader."""
        size = self.values.sizes[producer]
        if (
            not depth
            or any(m != user for m, _ in self.values.uses[producer])
            or any(m != user for m, _ in self.succs[producer])
        ):
            return size
        behind = sum(
            self._growth(p, producer, depth - 1)
            for p in self.operands[producer]
            if self._is_last(p, producer)
        )
        return min(size, behind)

    def _is_last(self, p: int, reader: int) -> bool:
        """Whether the life of the value of `p` ends at a reader."""
        times, ii = self.times, self.ii
        uses = self.values.uses[p]
        mine = max(times[m] + later * ii for m, later in uses if m == reader)
        return all(times[m] + later * ii <= mine for m, later in uses)

    def _rebook(self, u: int, now: int, target: int) -> int:
        """Moves `u` to `target`, or to the free slot nearest to it on the way there."""
        self.table.leave(u, now)
        if target > now:
            t = self.table.last(u, target)
            t = now if t is None else max(t, now)
        else:
            t = self.table.first(u, target)
            t = now if t is None else min(t, now)
        self.table.put(u, t)
        return t
