"""The hard core of a modulo scheduling problem, and the way back to a full schedule.

Whether a graph can be scheduled at an interval II depends on few of its operations:

- An operation outside every recurrence can start arbitrarily late, so any slot that is
  left will do for it, and II >= ResMII leaves one.
- Two recurrences can be moved apart by any multiple of II, which changes no slot: the
  edges between them never matter.
- An operation that needs no resource, or one with a unit for every operation inside
  recurrences, only hands on delay. The longest paths through it stand for it.

What remains are the contended operations of each recurrence and, between them, the matrix
of longest paths: `t(j) - t(i) >= gap[i][j]`. Only slots matter, since with the slots given
the best times follow: each gap is rounded up to the distance of its slots modulo II, by at
most II - 1, and the earliest times are longest paths again. Therefore two of n operations
with gap[i][j] + gap[j][i] <= -n (II - 1) cannot close a positive cycle, whatever the slots,
and a recurrence is cut where only such loose pairs join it.

Recurrences that contend for no common resource are separate problems (groups). `complete`
extends slots of the core to times of the whole graph; it cannot fail.

Cost    a longest-path search within its component for each core operation.
Source  own work, in the line of J. Oppermann et al., "Dependence graph preprocessing for
        faster exact modulo scheduling in high-level synthesis", FPL 2018, and A. Eichenberger,
        E. Davidson, "Stage scheduling", MICRO-28, 1995 (slots first, stages after).
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from nvir.analysis.components import strong_components
from nvir.sm.graph import DependenceGraph
from nvir.sm.schedule.ims import Weighted, weights_at

Matrix = list[list[int]]

WIDE = 16
"""Core operations of a recurrence from which numpy is faster than lists."""
SAFE = 1 << 40
"""Weights below this cannot overflow 64 bits along a path."""


@attrs.define(eq=False)
class Component:
    """The contended operations of one recurrence at one II.

    nodes      their graph nodes
    resources  the resource index of each
    gap        gap[i][j]: the least t(nodes[j]) - t(nodes[i]); closed under composition
    """

    nodes: list[int]
    resources: list[int]
    gap: Matrix


@attrs.define(eq=False)
class CoreGroup:
    """Components that contend for common resources: one problem of its own."""

    components: list[Component]
    units: dict[int, int]  # resource index -> units

    @property
    def nodes(self) -> list[int]:
        return [node for component in self.components for node in component.nodes]

    def graph(self) -> DependenceGraph:
        """The problem as a graph of its own, whose gaps are the latencies, in order of `nodes`."""
        names: list[str] = []
        edges: list[tuple[int, int, int, int]] = []
        for component in self.components:
            first = len(names)
            names += map(str, component.resources)
            for i, row in enumerate(component.gap):
                edges += [(first + i, first + j, w, 0) for j, w in enumerate(row) if i != j]
        return DependenceGraph(names, edges, {str(r): units for r, units in self.units.items()})


def core_groups(graph: DependenceGraph, ii: int) -> list[CoreGroup]:
    """The independent hard problems of `graph` at `ii` >= MII; none means that `ii` is feasible."""
    recurrences = graph.recurrences()
    contended = _contended(graph, recurrences)
    if not contended:
        return []
    succs, _ = weights_at(graph, ii)
    rank = [0] * len(graph)
    for place, u in enumerate(graph.order):
        rank[u] = place
    components = []
    for members in recurrences:
        nodes = [u for u in members if graph.resources[u] in contended]
        if nodes:
            resources = [graph.resources[u] for u in nodes]
            gap = _gaps(nodes, sorted(members, key=rank.__getitem__), succs)
            components += _cut_loose(Component(nodes, resources, gap), ii)
    return _grouped(components, graph.units)


def core_size(graph: DependenceGraph) -> int:
    """How many operations the core has, before it is taken out."""
    recurrences = graph.recurrences()
    contended = _contended(graph, recurrences)
    return sum(graph.resources[u] in contended for members in recurrences for u in members)


def _contended(graph: DependenceGraph, recurrences: list[list[int]]) -> set[int]:
    """The resources with fewer units than operations inside recurrences."""
    uses = [0] * len(graph.units)
    for members in recurrences:
        for u in members:
            if graph.resources[u] >= 0:
                uses[graph.resources[u]] += 1
    return {r for r, units in enumerate(graph.units) if uses[r] > units}


def _gaps(nodes: list[int], members: list[int], succs: Weighted) -> Matrix:
    """Longest paths between `nodes` inside the component `members`."""
    inside = set(members)
    inner = [(u, [(v, w) for v, w in succs[u] if v in inside]) for u in members]
    if len(nodes) >= WIDE and all(abs(w) < SAFE for _, out in inner for _, w in out):
        return _gaps_wide(nodes, members, inner)
    gap = []
    for source in nodes:
        longest: dict[int, int] = {source: 0}
        changed = True
        while changed:
            changed = False
            for u, out in inner:
                if u in longest:
                    here = longest[u]
                    for v, weight in out:
                        if v not in longest or longest[v] < here + weight:
                            longest[v] = here + weight
                            changed = True
        gap.append([longest[v] for v in nodes])
    return gap


def _gaps_wide(
    nodes: list[int], members: list[int], inner: list[tuple[int, list[tuple[int, int]]]]
) -> Matrix:
    """The same from all sources at once: a row of numpy for each member."""
    import numpy as np

    longest = {u: np.full(len(nodes), -(1 << 60)) for u in members}
    for i, source in enumerate(nodes):
        longest[source][i] = 0
    changed = True
    while changed:
        before = np.array([longest[u] for u in members])
        for u, out in inner:
            here = longest[u]
            for v, weight in out:
                np.maximum(longest[v], here + weight, out=longest[v])
        changed = not np.array_equal(before, np.array([longest[u] for u in members]))
    columns = np.array([longest[v] for v in nodes])
    gap: Matrix = columns.T.tolist()
    return gap


def _cut_loose(component: Component, ii: int) -> list[Component]:
    """`component` in parts that only loose pairs join; parts are cut again."""
    gap = component.gap
    count = len(gap)
    loose = -count * (ii - 1)
    part = [-1] * count
    parts: list[list[int]] = []
    for seed in range(count):
        if part[seed] >= 0:
            continue
        members = [seed]
        part[seed] = len(parts)
        for i in members:  # grows while it is read
            for j in range(count):
                if part[j] < 0 and gap[i][j] + gap[j][i] > loose:
                    part[j] = len(parts)
                    members.append(j)
        parts.append(sorted(members))
    if len(parts) == 1:
        return [component]
    pieces = []
    for members in parts:
        piece = Component(
            [component.nodes[i] for i in members],
            [component.resources[i] for i in members],
            [[gap[i][j] for j in members] for i in members],
        )
        pieces += _cut_loose(piece, ii)
    return pieces


def _grouped(components: list[Component], units: list[int]) -> list[CoreGroup]:
    """Components joined where they share a resource, in order of their first member."""
    first: dict[int, int] = {}  # resource -> the first component that uses it
    shares: list[list[int]] = [[] for _ in components]
    for i, component in enumerate(components):
        for resource in component.resources:
            other = first.setdefault(resource, i)
            shares[i].append(other)
            shares[other].append(i)
    groups = []
    for members in sorted(strong_components(shares, range(len(components)))):
        some = [components[i] for i in members]
        groups.append(CoreGroup(some, {r: units[r] for c in some for r in c.resources}))
    return groups


def complete(graph: DependenceGraph, ii: int, slots: dict[int, int]) -> list[int]:
    """Start times of all nodes, given the slots of all core operations.

    Recurrences are placed in one piece, everything else in the first free slot after its
    predecessors.
    """
    succs, _ = weights_at(graph, ii)
    rank = [0] * len(graph)
    for place, u in enumerate(graph.order):
        rank[u] = place
    reservations = [_Reservations(ii, units) for units in graph.units]
    offset: dict[int, int] = {}  # the start of each recurrent node within its recurrence
    for members in graph.recurrences():
        offset.update(_earliest(sorted(members, key=rank.__getitem__), succs, slots, ii))
    for u, t in offset.items():
        if graph.resources[u] >= 0:
            reservations[graph.resources[u]].take(t)
    start = [0] * len(graph)  # the earliest that the predecessors allow, then the start
    for members in graph.components:
        if members[0] in offset:
            late = max(start[u] - offset[u] for u in members)
            shift = -(-late // ii) * ii
            for u in members:
                start[u] = offset[u] + shift
        elif graph.resources[members[0]] >= 0:
            resource = graph.resources[members[0]]
            start[members[0]] = reservations[resource].take(start[members[0]])
        inside = set(members)
        for u in members:
            for v, weight in succs[u]:
                if v not in inside and start[u] + weight > start[v]:
                    start[v] = start[u] + weight
    return start


def apart(graph: DependenceGraph) -> DependenceGraph:
    """The graph without the edges between its recurrences and what is outside of them.

    It has a schedule at an II where `graph` has one; `rejoin` makes the one of the other.
    """
    inside = {u: k for k, members in enumerate(graph.recurrences()) for u in members}
    return DependenceGraph(
        graph.nodes,
        (e for e in graph.edges if e[0] in inside and inside[e[0]] == inside.get(e[1])),
        graph.limits, pipes=graph.pipes, intervals=graph.intervals, pipe_units=graph.pipe_units,
    )


def rejoin(graph: DependenceGraph, ii: int, times: Sequence[int]) -> list[int]:
    """Times of `graph` from those of `apart(graph)`: all slots stay, iterations are moved."""
    start = list(times)
    _, preds = weights_at(graph, ii)
    for members in graph.components:
        inside = set(members)
        late = [start[v] + w - start[u] for u in members for v, w in preds[u] if v not in inside]
        shift = -(-max(late, default=0) // ii) * ii
        for u in members:
            start[u] += shift
    return start


def _earliest(
    members: list[int], succs: Weighted, slots: dict[int, int], ii: int
) -> dict[int, int]:
    """The earliest times of one recurrence, from one of its nodes on, that meet all `slots`."""
    inside = set(members)
    origin = next((u for u in members if u in slots), members[0])
    known = {origin: slots.get(origin, 0)}
    changed = True
    while changed:
        changed = False
        for u in members:
            if u in known:
                here = known[u]
                for v, weight in succs[u]:
                    t = here + weight
                    if v in inside and (v not in known or known[v] < t):
                        if v in slots:
                            t += (slots[v] - t) % ii
                        known[v] = t
                        changed = True
    return known


class _Reservations:
    """The slots of one resource: `take(t)` books the first free cycle from `t` on."""

    __slots__ = ("ii", "later", "units", "used")

    def __init__(self, ii: int, units: int) -> None:
        self.ii, self.units = ii, units
        self.used: dict[int, int] = {}
        self.later: dict[int, int] = {}  # a full slot -> one to look at instead

    def take(self, t: int) -> int:
        slot = here = t % self.ii
        path = []
        while here in self.later:
            path.append(here)
            here = self.later[here]
        for full in path:
            self.later[full] = here
        self.used[here] = self.used.get(here, 0) + 1
        if self.used[here] == self.units:
            self.later[here] = (here + 1) % self.ii
        return t + (here - slot) % self.ii
