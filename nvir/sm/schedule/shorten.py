"""Shorter lifetimes at the same interval: operations move within the room they have.

Where an operation starts decides how long its own value lives and, where it is the last
use, how long its operands do. The sum of the lives that touch an operation is a convex
function of its start, piecewise linear with a corner at each operand's other last use.
One sweep backwards moves every operation to a minimum of it, ties as late as possible, so
that chains follow the operation at their end; one forwards, ties as early as possible.
Dependences and free slots bound each move, so the schedule stays valid throughout.

Cost    O(edges) a sweep for values of few uses.
Source  the goal of stage scheduling, A. Eichenberger, E. Davidson, MICRO-28, 1995; slots
        may change here.
"""

from __future__ import annotations

from collections.abc import Sequence

from nvir.sm.graph import DependenceGraph
from nvir.sm.schedule.ims import Weighted, weights_at
from nvir.sm.schedule.lifetimes import Values

FAR = 1 << 60


def shorten(
    graph: DependenceGraph,
    ii: int,
    times: Sequence[int],
    values: Values,
    weights: tuple[Weighted, Weighted] | None = None,
) -> list[int]:
    """`times` with no longer lives in sum; valid at `ii` if `times` is, least start 0.

    weights   `weights_at(graph, ii)` where the caller has it
    """
    return _Mover(graph, ii, times, values, weights or weights_at(graph, ii)).run()


class _Mover:
    """The schedule while it is changed, with the slots that it holds."""

    __slots__ = ("graph", "held", "ii", "operands", "preds", "succs", "times", "values")

    def __init__(
        self,
        graph: DependenceGraph,
        ii: int,
        times: Sequence[int],
        values: Values,
        weights: tuple[Weighted, Weighted],
    ) -> None:
        self.graph, self.ii, self.values = graph, ii, values
        self.times = list(times)
        self.succs, self.preds = weights
        self.held: list[dict[int, int]] = [{} for _ in graph.units]
        for u, resource in enumerate(graph.resources):
            if resource >= 0:
                slot = self.times[u] % ii
                self.held[resource][slot] = self.held[resource].get(slot, 0) + 1
        self.operands: list[list[int]] = [[] for _ in graph.nodes]
        for producer, uses in enumerate(values.uses):
            for user, _ in uses:
                if user != producer and producer not in self.operands[user]:
                    self.operands[user].append(producer)

    def run(self) -> list[int]:
        order = self.graph.order
        self._sweep(order[::-1], late=True)
        self._sweep(order, late=False)
        least = min(self.times)
        return [t - least for t in self.times] if least else self.times

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
            low, high = self._best(u)
            low = min(max(low, first), last)
            high = max(min(high, last), low)
            # the sum is least from low to high: ties go on in the direction of the sweep
            target = high if late else low
            if target != now:
                times[u] = self._rebook(u, now, target)

    def _best(self, u: int) -> tuple[int, int]:
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
            corners.append((other - own, values.sizes[producer]))
        low = -FAR
        for corner, size in sorted(corners):
            if slope >= 0:
                return low, corner
            slope += size
            low = corner
            if slope > 0:
                return corner, corner
        return (low, FAR) if slope >= 0 else (FAR, FAR)

    def _rebook(self, u: int, now: int, target: int) -> int:
        """Moves `u` to `target`, or to the free slot nearest to it on the way there."""
        resource = self.graph.resources[u]
        if resource < 0:
            return target
        held, room, ii = self.held[resource], self.graph.units[resource], self.ii
        held[now % ii] -= 1
        back = -1 if target > now else 1
        while target != now and held.get(target % ii, 0) >= room:
            target += back
        held[target % ii] = held.get(target % ii, 0) + 1
        return target
