"""Iterative modulo scheduling: a list scheduler that may take back what it placed.

Operations are placed in order of height, the longest path to the end of the graph at this
II, which puts recurrences and critical chains first. Each takes the first free slot in the
II cycles from its earliest start. Where all are full it is forced in: who holds what it
needs leaves, as does every successor that now starts too early; those are placed again
later. A forced operation moves on by at least a cycle each time, so the search does not
cycle; a budget of placements bounds it.

Cost    O(edges) a placement, about one placement an operation where it succeeds.
Source  B. R. Rau, "Iterative Modulo Scheduling", MICRO-27, 1994.
"""

from __future__ import annotations

from nvir.sm.graph import DependenceGraph, GraphError
from nvir.sm.schedule.reservations import ReservationTable

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
    snug: bool = False,
    weights: tuple[Weighted, Weighted] | None = None,
) -> list[int] | None:
    """Start times by node at the interval `ii` >= RecMII, or None when the budget is spent.

    budget    placements; by default BUDGET_RATIO times the nodes
    backward  schedules the reversed graph: as late as possible instead of as early
    snug      leaves no gaps on crowded pipes
    weights   `weights_at(graph, ii)` where the caller has it
    """
    found = place_by_height(graph, ii, budget, backward=backward, snug=snug, weights=weights)
    if found is None:
        return None
    least = min(found[0], default=0)
    return [t - least for t in found[0]]


def place_by_height(
    graph: DependenceGraph,
    ii: int,
    budget: int | None = None,
    *,
    backward: bool = False,
    snug: bool = False,
    weights: tuple[Weighted, Weighted] | None = None,
    urgency: list[int] | None = None,
) -> tuple[list[int], ReservationTable] | None:
    """`iterative_modulo_schedule` with the table of its schedule, which may start before 0.

    urgency   is added to the height of each operation; a failed attempt adds to it how often it
              had to place each, so that the next one begins with those that are hard to place
    """
    succs, preds = weights or weights_at(graph, ii)
    order = graph.order
    if backward:
        succs, preds, order = preds, succs, order[::-1]
    height = heights(order, succs)
    if urgency is not None:
        height = [h + more for h, more in zip(height, urgency, strict=True)]
    ranked = sorted(order, key=height.__getitem__, reverse=True)  # ties stay topological
    if budget is None:
        budget = BUDGET_RATIO * len(ranked)
    table = ReservationTable(graph, ii)
    away = _place(table, ranked, succs, preds, budget, backward, snug, urgency)
    if away is None:
        return None
    return ([-t for t in away] if backward else away), table


def _place(
    table: ReservationTable,
    ranked: list[int],
    succs: Weighted,
    preds: Weighted,
    budget: int,
    backward: bool,
    snug: bool,
    urgency: list[int] | None,
) -> list[int] | None:
    """Cycles by node away from 0, where the operations without predecessors may start."""
    count = len(ranked)
    rank = [0] * count
    for place, u in enumerate(ranked):
        rank[u] = place
    free, put, leave = table.last if backward else table.first, table.put, table.leave
    unlimited = [r < 0 and not table.graph.pipes for r in table.graph.resources]
    sign = -1 if backward else 1
    away = [-1] * count  # -1: not placed
    least = [0] * count  # where a forced placement may start
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
            if away[v] >= 0 and away[v] + weight > start:
                start = away[v] + weight
        found = sign * start if unlimited[u] else free(u, sign * start, snug=snug)
        if found is not None:
            start = sign * found
        else:  # no slot is free: take one by force
            start = max(start, least[u])
            if urgency is not None:
                urgency[u] += 1
            for loser in table.in_the_way(u, sign * start):
                leave(loser, sign * away[loser])
                away[loser] = -1
                waiting |= 1 << rank[loser]
        if not unlimited[u]:
            put(u, sign * start)
        away[u] = start
        least[u] = start + 1
        for v, weight in succs[u]:
            if 0 <= away[v] < start + weight:
                if not unlimited[v]:
                    leave(v, sign * away[v])
                away[v] = -1
                waiting |= 1 << rank[v]
    return away
