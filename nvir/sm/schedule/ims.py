"""Iterative modulo scheduling: a list scheduler that may take back what it placed.

Operations are placed in order of height, the longest path to the end of the graph at this
II, which puts recurrences and critical chains first. Each takes the first free slot in the
II cycles from its earliest start. Where all are full it is forced in: one holder of the
resource leaves, as does every successor that now starts too early; those are placed again
later. A forced operation moves on by at least a cycle each time, so the search does not
cycle; a budget of placements bounds it.

Cost    O(edges) a placement, about one placement an operation where it succeeds.
Source  B. R. Rau, "Iterative Modulo Scheduling", MICRO-27, 1994.
"""

from __future__ import annotations

from nvir.sm.graph import DependenceGraph, GraphError

Weighted = list[list[tuple[int, int]]]

BUDGET_RATIO = 6
"""Placements allowed for each operation (Rau finds 2 to be enough nearly always)."""


def weights_at(graph: DependenceGraph, ii: int) -> tuple[Weighted, Weighted]:
    """Out- and in-edges of each node as `(neighbour, latency - distance * ii)`.

    Edges of a node to itself are left out: any II from RecMII on satisfies them.
    """
    succs: Weighted = [[] for _ in graph.nodes]
    preds: Weighted = [[] for _ in graph.nodes]
    for src, dst, latency, distance in graph.edges:
        if src != dst:
            weight = latency - distance * ii
            succs[src].append((dst, weight))
            preds[dst].append((src, weight))
    return succs, preds


def heights(order: list[int], succs: Weighted) -> list[int]:
    """The longest path from each node, at least 0; `order` as of the graph.

    Raises GraphError where the interval is below RecMII, as paths have no end then.
    """
    height = [0] * len(succs)
    backward = order[::-1]
    changed, passes = True, 0
    while changed:
        changed = False
        passes += 1
        if passes > len(succs) + 1:
            raise GraphError("the initiation interval is below RecMII")
        for u in backward:
            best = height[u]
            for v, weight in succs[u]:
                if height[v] + weight > best:
                    best = height[v] + weight
            if best > height[u]:
                height[u] = best
                changed = True
    return height


def iterative_modulo_schedule(
    graph: DependenceGraph,
    ii: int,
    budget: int | None = None,
    *,
    backward: bool = False,
    weights: tuple[Weighted, Weighted] | None = None,
) -> list[int] | None:
    """Start times by node at the interval `ii` >= RecMII, or None when the budget is spent.

    budget    placements; by default BUDGET_RATIO times the nodes
    backward  schedules the reversed graph: as late as possible instead of as early
    weights   `weights_at(graph, ii)` where the caller has it
    """
    succs, preds = weights or weights_at(graph, ii)
    order = graph.order
    if backward:
        succs, preds, order = preds, succs, order[::-1]
    height = heights(order, succs)
    ranked = sorted(order, key=height.__getitem__, reverse=True)  # ties stay topological
    if budget is None:
        budget = BUDGET_RATIO * len(ranked)
    times = _place(graph, ii, ranked, succs, preds, budget)
    if backward and times:
        latest = max(times)
        return [latest - t for t in times]
    return times


def _place(
    graph: DependenceGraph,
    ii: int,
    ranked: list[int],
    succs: Weighted,
    preds: Weighted,
    budget: int,
) -> list[int] | None:
    resources, units = graph.resources, graph.units
    count = len(ranked)
    rank = [0] * count
    for place, u in enumerate(ranked):
        rank[u] = place
    times = [-1] * count  # -1: not placed
    least = [0] * count  # where a forced placement may start
    holders: list[dict[int, list[int]]] = [{} for _ in units]
    waiting = (1 << count) - 1  # bit p: ranked[p] is to be placed
    while waiting:
        if not budget:
            return None
        budget -= 1
        lowest = waiting & -waiting
        waiting ^= lowest
        u = ranked[lowest.bit_length() - 1]
        start = 0
        for v, weight in preds[u]:
            if times[v] >= 0 and times[v] + weight > start:
                start = times[v] + weight
        resource = resources[u]
        if resource >= 0:
            table, room = holders[resource], units[resource]
            t, end = start, start + ii
            while t < end:
                held = table.get(t % ii)
                if held is None:
                    table[t % ii] = [u]
                    break
                if len(held) < room:
                    held.append(u)
                    break
                t += 1
            else:  # no slot is free: take one by force
                t = max(start, least[u])
                held = table[t % ii]
                loser = max(held, key=rank.__getitem__)
                held.remove(loser)
                times[loser] = -1
                waiting |= 1 << rank[loser]
                held.append(u)
            start = t
        times[u] = start
        least[u] = start + 1
        for v, weight in succs[u]:
            t = times[v]
            if t >= 0 and t < start + weight:
                times[v] = -1
                waiting |= 1 << rank[v]
                if resources[v] >= 0:
                    holders[resources[v]][t % ii].remove(v)
    return times
