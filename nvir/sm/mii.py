"""Lower bounds on the initiation interval: recurrences (RecMII) and resources (ResMII).

RecMII is the largest ratio latency / distance over the cycles of the graph, rounded up.
Each strongly connected component is asked whether a cycle beats the best ratio so far;
a cycle that does raises the ratio to its own, until none does. That is Newton's method on
the cycle ratio: exact in rationals, a handful of Bellman-Ford runs in practice, and the
last cycle found is the critical recurrence. Where many cycles are each a little better than the
last (long bodies whose registers are reused), the ratio is halved in on after the first of them.

ResMII is the largest ceil(uses / units) over the limited resources. Of pipes, the operations that
can run nowhere else than on some set of them need the sum of their busy cycles over its units.

Cost    O(passes * edges) a component, passes a small number on loop bodies.
Source  A. Dasdan, "Experimental analysis of the fastest optimum cycle ratio and mean
        algorithms", TODAES 9(4), 2004 (Burns, Lawler, Howard);
        B. R. Rau, "Iterative Modulo Scheduling", MICRO-27, 1994, section 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING

import attrs

from nvir.sm.graph import DependenceGraph, positive_cycle

FEW = 24
"""Cycles that each beat the last, after which the ratio is halved in on instead,"""
FINE = 64
"""in parts of a cycle: of long recurrences each is only a little better than the last."""

if TYPE_CHECKING:  # costs more to import than the rest
    from fractions import Fraction


@attrs.frozen
class Recurrence:
    """A cycle of the graph: its nodes in order, and edge `edges[i]` leaving `nodes[i]`.

    `edges` are indices into `graph.edges`; `latency` and `distance` are sums over them.
    """

    nodes: tuple[int, ...]
    edges: tuple[int, ...]
    latency: int
    distance: int

    @property
    def ratio(self) -> Fraction:
        """Cycles an iteration that the recurrence forces, not rounded."""
        from fractions import Fraction

        return Fraction(self.latency, self.distance)

    def __str__(self) -> str:
        path = " -> ".join(str(u) for u in (*self.nodes, self.nodes[0]))
        return f"{path} (latency {self.latency}, distance {self.distance})"


@attrs.frozen
class ResourceUse:
    """How often one iteration takes a limited resource, in operations and units.

    Of pipes: the cycles that it keeps them busy. Several are joined by "+" where operations may
    take any of them.
    """

    resource: str
    uses: int
    units: int

    def binds_before(self, other: ResourceUse | None) -> bool:
        """Whether it forces more cycles, not rounded."""
        return other is None or self.uses * other.units > other.uses * self.units

    @property
    def mii(self) -> int:
        return -(-self.uses // self.units)

    def __str__(self) -> str:
        return f"{self.resource} ({self.uses} uses, {self.units} a cycle)"


@attrs.frozen
class MinimumII:
    """The lower bound on II and what binds it.

    `recurrence` is a critical cycle, None where no cycle asks for time; `resource` is the
    first of the most loaded limited resources, None where no limited one is used.
    """

    rec_mii: int
    res_mii: int
    recurrence: Recurrence | None
    resource: ResourceUse | None

    @property
    def mii(self) -> int:
        return max(self.rec_mii, self.res_mii)

    @property
    def bottleneck(self) -> str | None:
        """What decides MII: "recurrence", or the name of a resource; None where nothing does."""
        if self.rec_mii > self.res_mii:
            return "recurrence"
        return None if self.resource is None else self.resource.resource


def minimum_ii(graph: DependenceGraph) -> MinimumII:
    """RecMII and ResMII of `graph`, each at least 1, with the cycle and resource that bind."""
    recurrence = critical_recurrence(graph)
    resource = critical_resource(graph)
    rec_mii = 1
    if recurrence is not None:
        rec_mii = max(1, -(-recurrence.latency // recurrence.distance))
    return MinimumII(rec_mii, resource.mii if resource else 1, recurrence, resource)


def critical_resource(graph: DependenceGraph) -> ResourceUse | None:
    """What binds of pipes and limited resources, the first of those of the largest `mii`.

    A limited resource binds before pipes where its ratio, not rounded, is larger.
    """
    uses = [0] * len(graph.units)
    for resource in graph.resources:
        if resource >= 0:
            uses[resource] += 1
    best: ResourceUse | None = None
    for name, count, units in zip(graph.resource_names, uses, graph.units, strict=True):
        if best is None or -(-count // units) > best.mii:
            best = ResourceUse(name, count, units)
    pipe = critical_pipes(zip(graph.pipes, graph.intervals, strict=True), graph.pipe_units)
    return best if pipe is None or (best is not None and best.binds_before(pipe)) else pipe


def critical_pipes(
    operations: Iterable[tuple[tuple[str, ...], int]], units: Mapping[str, int]
) -> ResourceUse | None:
    """The set of pipes that binds operations `(pipes of which it takes one, busy cycles)`."""
    work: dict[tuple[str, ...], int] = {}
    for names, cycles in operations:
        if names:
            work[names] = work.get(names, 0) + cycles
    best: ResourceUse | None = None
    for pipes in _unions(work):
        busy = sum(cycles for some, cycles in work.items() if pipes.issuperset(some))
        name = "+".join(p for p in units if p in pipes)
        found = ResourceUse(name, busy, sum(units[p] for p in pipes))
        if found.binds_before(best):
            best = found
    return best


def _unions(alternatives: Iterable[tuple[str, ...]]) -> Iterator[frozenset[str]]:
    """Each set of alternatives, then the unions of overlapping ones, without repetition.

    Disjoint sets need no union: its quotient is between theirs. Beyond ten overlapping sets only
    pairs and the union of all are tried; that is a lower bound still.
    """
    sets = [frozenset(a) for a in alternatives]
    chained = [s for s in sets if any(s is not t and s & t for t in sets)]
    few = len(chained) <= 10
    sizes = range(2, len(chained) + 1) if few else (2, len(chained))
    found = dict.fromkeys(sets)
    for size in sizes:
        for some in combinations(chained, size):
            found.setdefault(frozenset().union(*some))
    return iter(found)


def critical_recurrence(graph: DependenceGraph) -> Recurrence | None:
    """A cycle of the largest latency / distance, or None where none is positive."""
    best: Recurrence | None = None
    for members in _ranked_recurrences(graph):
        best = _raise_ratio(graph, members, best)
    return best


def recurrence_ratios(graph: DependenceGraph) -> list[list[int]]:
    """The components that hold a cycle, those of the largest ratio first."""
    found = []
    for members in _ranked_recurrences(graph):
        own = _raise_ratio(graph, members, None)
        found.append((own.ratio if own else 0, members))
    found.sort(key=lambda item: item[0], reverse=True)
    return [members for _, members in found]


def _ranked_recurrences(graph: DependenceGraph) -> list[list[int]]:
    """The components that hold a cycle, members in an order that longest paths like."""
    rank = [0] * len(graph)
    for place, u in enumerate(graph.order):
        rank[u] = place
    return [sorted(members, key=rank.__getitem__) for members in graph.recurrences()]


def _raise_ratio(
    graph: DependenceGraph, component: list[int], best: Recurrence | None
) -> Recurrence | None:
    """The best cycle of `component` if it beats `best`, else `best`."""
    inside = set(component)
    inner = {u: [edge for edge in graph.succs[u] if edge[0] in inside] for u in component}
    out: list[list[tuple[int, int]]] = [[]] * len(graph)

    def beyond(p: int, q: int) -> Recurrence | None:
        """A cycle that beats p/q: scaled to integers, sum(latency * q - distance * p) > 0."""
        for u, edges in inner.items():
            out[u] = [(v, latency * q - distance * p) for v, latency, distance in edges]
        cycle = positive_cycle(component, out)
        return None if cycle is None else _recurrence(graph, cycle, p, q)

    rounds = 0
    while (found := beyond(*((best.latency, best.distance) if best else (0, 1)))) is not None:
        best = found
        rounds += 1
        if rounds == FEW:  # the ratio is between two bounds, in parts of a cycle
            low = best.latency * FINE // best.distance
            most = FINE * sum(max(0, edge[1]) for edges in inner.values() for edge in edges)
            while most - low > 1:
                middle = (low + most) // 2
                found = beyond(middle, FINE)
                if found is None:
                    most = middle
                else:
                    best, low = found, found.latency * FINE // found.distance
    return best


def _recurrence(graph: DependenceGraph, cycle: list[int], p: int, q: int) -> Recurrence:
    """`cycle` with, of parallel edges, those that weigh most at the ratio p/q."""
    following = dict(zip(cycle, cycle[1:] + cycle[:1], strict=True))
    chosen: dict[int, tuple[int, int]] = {}  # node -> weight, edge
    for i, (src, dst, latency, distance) in enumerate(graph.edges):
        if following.get(src) == dst:
            weight = latency * q - distance * p
            if src not in chosen or weight > chosen[src][0]:
                chosen[src] = (weight, i)
    edges = tuple(chosen[u][1] for u in cycle)
    latency = sum(graph.edges[i][2] for i in edges)
    return Recurrence(tuple(cycle), edges, latency, sum(graph.edges[i][3] for i in edges))
