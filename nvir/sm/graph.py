"""Dependence graphs of loop bodies, as the schedulers read them.

A node is one operation of the body and names the resource that it takes for one
cycle, or None. It may keep a pipe busy as well, for several cycles: any one of those that can
run it. An edge `(src, dst, latency, distance)` says that `dst` of iteration
`k + distance` starts at least `latency` cycles after `src` of iteration `k`:

    t(dst) - t(src) >= latency - distance * II

Latencies may be negative (anti-dependences, exact offsets); distances may not. A
resource in `limits` has that many units in each cycle, any other is unlimited.

The graph is checked once, here, so that no scheduler has to: every edge joins two
nodes, and no cycle of distance zero has a positive latency (an iteration would have
to wait for itself at every II).

Cost    one pass over nodes and edges; a longest-path check only where edges of
        distance zero form a cycle.
Source  B. R. Rau, "Iterative Modulo Scheduling", MICRO-27, 1994, section 2.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from nvir.analysis.components import strong_components
from nvir.ir.errors import NvirError

if TYPE_CHECKING:
    import networkx as nx

Edge = tuple[int, int, int, int]
_EACH = 64  # passes of the search for a cycle after each of which it is looked for


class GraphError(NvirError, ValueError):
    """A dependence graph, limit or schedule that cannot be: names the place."""


class DependenceGraph:
    """A loop body as operations, dependences and resource limits; immutable.

    nodes   the resource of each node, or None, numbered from 0
    edges   `(src, dst, latency, distance)`: node numbers, cycles, iterations
    limits  resource -> units; one unit is busy for one cycle
    pipes, intervals   where operations run on pipes: for each node the pipes of which it takes one
            (none: an empty tuple), and the cycles for which it keeps that one busy
    pipe_units         pipe -> how many there are of it

    Raises GraphError naming the node, edge, limit or cycle that is wrong.
    """

    __slots__ = (
        "_components",
        "edges",
        "intervals",
        "limits",
        "nodes",
        "order",
        "pipe_units",
        "pipes",
        "resource_names",
        "resources",
        "succs",
        "units",
    )

    nodes: tuple[str | None, ...]
    edges: tuple[Edge, ...]
    limits: dict[str, int]
    resource_names: tuple[str, ...]
    """The limited resources that a node uses, in order of first use."""
    resources: list[int]
    """For each node an index into `resource_names` and `units`, or -1 where unlimited."""
    units: list[int]
    succs: list[list[tuple[int, int, int]]]
    """For each node its out-edges as `(dst, latency, distance)`."""
    order: list[int]
    """All nodes, topologically ordered by the edges of distance zero as far as they allow."""

    def __init__(
        self,
        nodes: Iterable[str | None],
        edges: Iterable[Sequence[int]],
        limits: Mapping[str, int] | None = None,
        *,
        pipes: Iterable[tuple[str, ...]] = (),
        intervals: Iterable[int] = (),
        pipe_units: Mapping[str, int] | None = None,
    ) -> None:
        self.nodes = tuple(nodes)
        self.limits = _checked_limits(limits or {})
        self.pipe_units = _checked_limits(pipe_units or {})
        self.pipes, self.intervals = tuple(pipes), tuple(intervals)
        self._check_pipes()
        self.edges = _checked_edges(edges, len(self.nodes))
        self._components: list[list[int]] | None = None
        self._number_resources()
        self.succs = [[] for _ in self.nodes]
        for src, dst, latency, distance in self.edges:
            self.succs[src].append((dst, latency, distance))
        self.order = _zero_distance_order(self)

    def _check_pipes(self) -> None:
        if not self.pipes:
            return
        if not len(self.pipes) == len(self.intervals) == len(self.nodes):
            raise GraphError(f"pipes and intervals must be given for all {len(self.nodes)} nodes")
        for i, (names, cycles) in enumerate(zip(self.pipes, self.intervals, strict=True)):
            if _integer(cycles, f"node {i}: interval") < 1:
                raise GraphError(f"node {i}: the interval {cycles} is not positive")
            for name in names:
                if name not in self.pipe_units:
                    raise GraphError(f"node {i}: there is no pipe {name!r}")

    def _number_resources(self) -> None:
        ids: dict[str | None, int] = {}
        limits = self.limits
        self.resources = resources = []
        for i, name in enumerate(self.nodes):
            number = ids.get(name)
            if number is None:
                if name is not None and not isinstance(name, str):
                    raise GraphError(f"node {i}: the resource {name!r} is neither a name nor None")
                number = len(ids) if name in limits else -1
                if number >= 0:
                    ids[name] = number
            resources.append(number)
        self.resource_names = tuple(name for name in ids if name is not None)
        self.units = [limits[name] for name in self.resource_names]

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"DependenceGraph({len(self.nodes)} nodes, {len(self.edges)} edges, {self.limits})"

    def __str__(self) -> str:
        where = [name or "no pipe" for name in self.nodes]
        if self.pipes:
            where = [" or ".join(names) or "no pipe" for names in self.pipes]
        wide = {**self.limits, **self.pipe_units}
        on = ", ".join(f"{where.count(x)} on {x}" + (f" of {wide[x]}" if x in wide else "")
                       for x in dict.fromkeys(where))
        return f"{len(self.nodes)} operations ({on}), {len(self.edges)} dependences"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DependenceGraph):
            return NotImplemented
        mine = (self.nodes, self.edges, self.limits, self.pipes, self.intervals, self.pipe_units)
        return mine == (
            other.nodes,
            other.edges,
            other.limits,
            other.pipes,
            other.intervals,
            other.pipe_units,
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def components(self) -> list[list[int]]:
        """The strongly connected components in topological order, single nodes included."""
        if self._components is None:
            succs = [[dst for dst, _, _ in out] for out in self.succs]
            self._components = strong_components(succs, self.order)
        return self._components

    def recurrences(self) -> list[list[int]]:
        """The components that hold a cycle: more than one node, or an edge to itself."""
        return [
            c
            for c in self.components
            if len(c) > 1 or any(dst == c[0] for dst, _, _ in self.succs[c[0]])
        ]

    def part(self, nodes: Sequence[int]) -> DependenceGraph:
        """The graph of some nodes, numbered as they come, and the edges between them."""
        number = {n: i for i, n in enumerate(nodes)}
        edges = [
            (number[src], number[dst], latency, distance)
            for src, dst, latency, distance in self.edges
            if src in number and dst in number
        ]
        return DependenceGraph(
            [self.nodes[n] for n in nodes],
            edges,
            self.limits,
            pipes=[self.pipes[n] for n in nodes] if self.pipes else (),
            intervals=[self.intervals[n] for n in nodes] if self.pipes else (),
            pipe_units=self.pipe_units,
        )

    def to_networkx(self) -> nx.MultiDiGraph:
        """The graph with node attribute `resource`, edge attributes `latency` and `distance`.

        The limits are the graph attribute `limits`.
        """
        import networkx as nx

        g = nx.MultiDiGraph(limits=dict(self.limits))
        for i, resource in enumerate(self.nodes):
            g.add_node(i, resource=resource)
        for src, dst, latency, distance in self.edges:
            g.add_edge(src, dst, latency=latency, distance=distance)
        return g

    @classmethod
    def from_networkx(
        cls, g: nx.DiGraph | nx.MultiDiGraph, limits: Mapping[str, int] | None = None
    ) -> DependenceGraph:
        """The reverse of `to_networkx`; nodes of any kind, numbered in the order of `g`.

        Nodes that are 0 … n-1 keep their numbers. A missing `resource` is None, a missing
        `distance` zero; `latency` is required. `limits` replaces the graph's own.
        """
        labels = list(g.nodes)
        if set(labels) == set(range(len(labels))):
            labels = sorted(labels)
        number = {label: i for i, label in enumerate(labels)}
        edges: list[Sequence[int]] = []
        for src, dst, data in g.edges(data=True):
            if "latency" not in data:
                raise GraphError(f"edge {src!r} -> {dst!r}: no attribute 'latency'")
            edges.append((number[src], number[dst], data["latency"], data.get("distance", 0)))
        given: Mapping[str, int] = limits if limits is not None else g.graph.get("limits", {})
        return cls([g.nodes[label].get("resource") for label in labels], edges, given)


def positive_cycle(
    nodes: Iterable[int], out: Sequence[Sequence[tuple[int, int]]]
) -> list[int] | None:
    """A cycle of positive weight among `nodes`, as its nodes in order, or None.

    `out[u]` holds `(v, weight)`, its targets all among `nodes`. Bellman-Ford for longest
    paths from everywhere at once, each pass over what the last made longer. Parent links close
    exactly when such a cycle exists: they are looked at after each of few passes, then once as many
    were changed as there are. Passes are few when `nodes` is ordered well.
    """
    order = list(nodes)
    place = {u: k for k, u in enumerate(order)}
    dist = dict.fromkeys(order, 0)
    parent: dict[int, int] = {}
    due = list(range(len(order)))  # places whose targets are to be looked at, a heap
    passes = changes = 0
    while due:
        late: set[int] = set()  # places that are due in the next pass
        queued = set(due)
        while due:
            here = heappop(due)
            queued.discard(here)
            u = order[here]
            du = dist[u]
            for v, weight in out[u]:
                if du + weight > dist[v]:
                    dist[v] = du + weight
                    parent[v] = u
                    changes += 1
                    there = place[v]
                    if there <= here:
                        late.add(there)
                    elif there not in queued:
                        queued.add(there)
                        heappush(due, there)
        passes += 1
        due = sorted(late)
        if changes and (passes <= _EACH or not due or changes >= len(parent)):
            changes = 0
            cycle = _parent_cycle(parent)
            if cycle is not None:
                return cycle
    return None


def _parent_cycle(parent: dict[int, int]) -> list[int] | None:
    """A cycle of the parent links, as nodes in the direction of the edges."""
    seen: dict[int, int] = {}  # node -> the walk that met it
    for start in parent:
        u = start
        while u in parent and u not in seen:
            seen[u] = start
            u = parent[u]
        if u in parent and seen[u] == start:
            cycle = [u]
            while parent[cycle[-1]] != u:
                cycle.append(parent[cycle[-1]])
            cycle.reverse()
            return cycle
    return None


def _checked_limits(limits: Mapping[str, int]) -> dict[str, int]:
    if not isinstance(limits, Mapping):
        raise TypeError(f"limits must map resource names to units, not {type(limits).__name__}")
    checked = {}
    for name, units in limits.items():
        if not isinstance(name, str):
            raise GraphError(f"limits: the resource {name!r} is not a name")
        count = _integer(units, f"limit of {name!r}")
        if count < 1:
            raise GraphError(f"limit of {name!r}: {units} is not a positive number of units")
        checked[name] = count
    return checked


def _checked_edges(edges: Iterable[Sequence[int]], count: int) -> tuple[Edge, ...]:
    """The edges as tuples of plain integers; the common case costs one comparison a field."""
    checked: list[Edge] = []
    for edge in edges:
        try:
            src, dst, latency, distance = edge
        except (TypeError, ValueError):
            raise GraphError(
                f"edge {len(checked)}: {edge!r} is not (src, dst, latency, distance)"
            ) from None
        if not (type(src) is type(dst) is type(latency) is type(distance) is int):
            where = f"edge {len(checked)}"
            src, dst = _integer(src, f"{where}: src"), _integer(dst, f"{where}: dst")
            latency = _integer(latency, f"{where}: latency")
            distance = _integer(distance, f"{where}: distance")
        if not (0 <= src < count and 0 <= dst < count):
            bad = dst if 0 <= src < count else src
            raise GraphError(
                f"edge {len(checked)} ({src} -> {dst}): there is no node {bad}, "
                f"the graph has {count} nodes numbered from 0"
            )
        if distance < 0:
            raise GraphError(
                f"edge {len(checked)} ({src} -> {dst}): the distance {distance} is negative"
            )
        checked.append((src, dst, latency, distance))
    return tuple(checked)


def _integer(value: Any, where: str) -> int:
    """`value` as an int; numpy integers pass, bool and float do not."""
    if isinstance(value, bool):
        raise GraphError(f"{where}: {value!r} is not an integer")
    try:
        return operator.index(value)
    except TypeError:
        raise GraphError(f"{where}: {value!r} is not an integer") from None


def _zero_distance_order(graph: DependenceGraph) -> list[int]:
    """All nodes, sources first along edges of distance zero; refuses positive cycles."""
    succs = graph.succs
    waiting = [0] * len(succs)
    for _, dst, _, distance in graph.edges:
        if not distance:
            waiting[dst] += 1
    order = [u for u, missing in enumerate(waiting) if not missing]
    for u in order:  # grows while it is read
        for dst, _, distance in succs[u]:
            if not distance:
                waiting[dst] -= 1
                if not waiting[dst]:
                    order.append(dst)
    if len(order) == len(succs):
        return order
    targets = [[dst for dst, _, distance in out if not distance] for out in succs]
    components = strong_components(targets, range(len(succs)))
    for component in components:
        _refuse_positive_cycle(graph, component)
    return [u for component in components for u in component]


def _refuse_positive_cycle(graph: DependenceGraph, component: list[int]) -> None:
    inside = set(component)
    out: list[list[tuple[int, int]]] = [[] for _ in graph.nodes]
    for u in component:
        out[u] = [(v, lat) for v, lat, dist in graph.succs[u] if not dist and v in inside]
    cycle = positive_cycle(component, out)
    if cycle is None:
        return
    latency = 0
    for u, v in zip(cycle, cycle[1:] + cycle[:1], strict=True):
        latency += max(lat for dst, lat in out[u] if dst == v)
    path = " -> ".join(str(u) for u in [*cycle, cycle[0]])
    raise GraphError(
        f"cycle {path}: distance 0 and latency {latency}, so no initiation interval exists"
    )
