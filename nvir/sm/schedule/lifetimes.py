"""Registers of a modulo schedule on a machine without rotating registers.

The value of an operation lives from its start to the start of its last use, which may be
iterations later: at a register edge (src, dst, latency, distance) the use is at
t(dst) + distance * II. Value instances of successive iterations overlap, so a value of
length L is live in ceil(L / II) iterations at once; the live values of a kernel slot are
counted modulo II, and MaxLive is the largest count.

Without rotating registers the kernel is unrolled, so that overlapping instances get names
of their own (modulo variable expansion). The largest ceil(L / II) is the least unroll
factor u; a value must then have a number of registers that divides u. Other factors, up to
the least common multiple, trade code for registers.

Source  M. Lam, "Software pipelining", PLDI 1988 (expansion); R. Huff, "Lifetime-sensitive
        modulo scheduling", PLDI 1993 (MaxLive, MinLT, the bound MinAvg).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import attrs

from nvir.sm.graph import DependenceGraph, GraphError
from nvir.sm.schedule.ims import weights_at


@attrs.frozen
class Values:
    """What of a dependence graph is held in registers.

    uses    for each node its register edges as `(dst, distance)`
    sizes   registers that its value takes
    """

    uses: tuple[tuple[tuple[int, int], ...], ...]
    sizes: tuple[int, ...]


def values_of(
    graph: DependenceGraph,
    register_edges: Iterable[int] | None = None,
    sizes: Sequence[int] | None = None,
) -> Values:
    """The register values of `graph`.

    register_edges  indices into `graph.edges`; by default all edges carry a register
    sizes           registers of each node's value, at least 0; 1 by default

    Raises GraphError for an edge that does not exist, or sizes that do not fit the nodes.
    """
    chosen = range(len(graph.edges)) if register_edges is None else register_edges
    uses: list[list[tuple[int, int]]] = [[] for _ in graph.nodes]
    for i in chosen:
        if not 0 <= i < len(graph.edges):
            raise GraphError(f"register edge {i}: the graph has {len(graph.edges)} edges")
        src, dst, _, distance = graph.edges[i]
        uses[src].append((dst, distance))
    given = (1,) * len(graph) if sizes is None else tuple(sizes)
    if len(given) != len(graph):
        raise GraphError(f"{len(given)} value sizes for {len(graph)} nodes")
    for node, size in enumerate(given):
        if not isinstance(size, int) or size < 0:
            raise GraphError(f"node {node}: the value size {size!r} is no count of registers")
    return Values(tuple(tuple(use) for use in uses), given)


@attrs.frozen
class Lifetimes:
    """The values of a modulo schedule in registers.

    ii        initiation interval, cycles
    starts    start of each node's value
    lengths   cycles from there to its last use, 0 where it has none
    sizes     registers of each value
    max_live  the most registers live in a slot of the kernel
    """

    ii: int
    starts: tuple[int, ...]
    lengths: tuple[int, ...]
    sizes: tuple[int, ...]
    max_live: int

    @property
    def live(self) -> list[int]:
        """Registers live in each slot of the kernel."""
        steady, changes = _changes(self.ii, self.starts, self.lengths, self.sizes)
        counts = []
        for slot in range(self.ii):
            steady += changes.get(slot, 0)
            counts.append(steady)
        return counts

    def instances(self, node: int) -> int:
        """How many iterations' values of `node` are live at once."""
        return -(-self.lengths[node] // self.ii)

    @property
    def min_unroll(self) -> int:
        """The least kernel unroll factor of modulo variable expansion."""
        return max(1, -(-max(self.lengths, default=0) // self.ii))

    @property
    def lcm_unroll(self) -> int:
        """The factor at which every value has no more registers than instances."""
        counts = {self.instances(node) for node in range(len(self.lengths))} - {0}
        return math.lcm(*counts) if counts else 1

    def registers(self, unroll: int | None = None) -> int:
        """Registers by names when the kernel is unrolled `unroll` (default least) times.

        Each value has a name for each instance, rounded up to a divisor of the factor.
        Raises GraphError below the least factor.
        """
        factor = self.min_unroll if unroll is None else unroll
        if factor < self.min_unroll:
            raise GraphError(f"unroll factor {factor}: the values need {self.min_unroll}")
        divisors = [d for d in range(1, factor + 1) if factor % d == 0]
        total = 0
        for node, size in enumerate(self.sizes):
            count = self.instances(node)
            if count:
                total += size * next(d for d in divisors if d >= count)
        return total

    def best_unroll(self, limit: int) -> int:
        """The factor up to `limit` (or the least one) that needs the fewest registers."""
        least = self.min_unroll
        factors = range(least, max(least, min(limit, self.lcm_unroll)) + 1)
        return min(factors, key=lambda factor: (self.registers(factor), factor))


def lifetimes(
    graph: DependenceGraph,
    ii: int,
    times: Sequence[int],
    *,
    register_edges: Iterable[int] | None = None,
    sizes: Sequence[int] | None = None,
) -> Lifetimes:
    """The lifetimes of a schedule that is known to be valid; parameters as of `values_of`."""
    return measure(values_of(graph, register_edges, sizes), ii, times)


def measure(values: Values, ii: int, times: Sequence[int]) -> Lifetimes:
    """`lifetimes` for values that are already known."""
    lengths = []
    for start, uses in zip(times, values.uses, strict=True):
        end = start
        for dst, distance in uses:
            if times[dst] + distance * ii > end:
                end = times[dst] + distance * ii
        lengths.append(end - start)
    steady, changes = _changes(ii, times, lengths, values.sizes)
    most = steady if not changes or 0 not in changes else 0
    for slot in sorted(changes):
        steady += changes[slot]
        most = max(most, steady)
    return Lifetimes(ii, tuple(times), tuple(lengths), values.sizes, most)


def _changes(
    ii: int, starts: Sequence[int], lengths: Sequence[int], sizes: Sequence[int]
) -> tuple[int, dict[int, int]]:
    """Registers live before slot 0, and by how many each slot differs from the one before."""
    steady = 0
    changes: dict[int, int] = {}
    for start, length, size in zip(starts, lengths, sizes, strict=True):
        if not length or not size:
            continue
        whole, part = divmod(length, ii)
        steady += whole * size
        if part:
            first = start % ii
            end = first + part
            changes[first] = changes.get(first, 0) + size
            if end > ii:  # wraps: live from slot 0 to end - ii as well
                steady += size
                end -= ii
                changes[end] = changes.get(end, 0) - size
            elif end < ii:
                changes[end] = changes.get(end, 0) - size
    return steady, changes


def min_avg(graph: DependenceGraph, ii: int, values: Values) -> int:
    """Registers that every schedule of `graph` at `ii` needs: Huff's MinAvg, a quick bound.

    The shortest life of a value is the longest path to one of its uses; together they fill
    the slots of the kernel. Cost O(nodes * edges) and up.
    """
    succs, _ = weights_at(graph, ii)
    total = 0
    for node, uses in enumerate(values.uses):
        if uses and values.sizes[node]:
            longest = _longest_from(node, graph.order, succs)
            life = max(longest[dst] + distance * ii for dst, distance in uses)
            total += values.sizes[node] * max(0, life)
    return -(-total // ii)


def max_live_bound(graph: DependenceGraph, ii: int, values: Values) -> int:
    """Registers that every schedule of `graph` at `ii` needs: the least sum of lives, over II.

    At least `min_avg`, since no value is shortened at another's cost: start times and ends
    of lives are the unknowns of a linear program of differences, whose dual is a flow of
    least cost (a network simplex of networkx). Not for hot paths.
    """
    import networkx as nx

    flow = nx.DiGraph()
    for node, size in enumerate(values.sizes):
        size = size if values.uses[node] else 0
        flow.add_node(node, demand=-size)
        if size:
            flow.add_node(("end", node), demand=size)
    gaps: dict[tuple[object, object], int] = {}
    for src, dst, latency, distance in graph.edges:
        if src != dst:
            weight = latency - distance * ii
            gaps[src, dst] = max(weight, gaps.get((src, dst), weight))
    for node, uses in enumerate(values.uses):
        if values.sizes[node]:
            for dst, distance in (*uses, *(((node, 0),) if uses else ())):
                key = (dst, ("end", node))
                gaps[key] = max(distance * ii, gaps.get(key, 0))
    for (src, dst), weight in gaps.items():  # type: ignore[assignment]
        flow.add_edge(src, dst, weight=-weight)
    return -(int(nx.min_cost_flow_cost(flow)) // ii)


def _longest_from(
    source: int, order: list[int], succs: list[list[tuple[int, int]]]
) -> dict[int, int]:
    longest = {source: 0}
    changed = True
    while changed:
        changed = False
        for u in order:
            if u in longest:
                here = longest[u]
                for v, weight in succs[u]:
                    if v not in longest or longest[v] < here + weight:
                        longest[v] = here + weight
                        changed = True
    return longest
