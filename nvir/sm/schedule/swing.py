"""Swing modulo scheduling: short lifetimes.

Operations are ordered once, so that each (but the first of a connected part) is ordered
after some neighbour, and hardly ever after both a predecessor and a successor: the order
swings between the successors and the predecessors of what it has. Recurrences come first,
the most critical ahead, each with the paths that join it to those before. An operation is
then placed as close as it can to its placed neighbours, which keeps values short.

Where no slot is left in an operation's window the interval has failed, or, within a budget, the
operation takes one by force and who stands in its way is placed again, as in `ims`.

Cost    O(nodes * width + edges)
Source  J. Llosa, A. Gonzalez, E. Ayguade, M. Valero, "Swing modulo scheduling: a
        lifetime-sensitive approach", PACT 1996.
"""

from __future__ import annotations

from nvir.sm.graph import DependenceGraph
from nvir.sm.mii import recurrence_ratios
from nvir.sm.schedule.ims import Weighted, heights, weights_at
from nvir.sm.schedule.reservations import ReservationTable


def swing_modulo_schedule(
    graph: DependenceGraph,
    ii: int,
    budget: int = 0,
    *,
    snug: bool = False,
    weights: tuple[Weighted, Weighted] | None = None,
) -> tuple[list[int], ReservationTable] | None:
    """Start times by node at the interval `ii` >= RecMII, with their table, or None.

    budget    placements beyond one for each node before it gives up: those that evict
    snug      leaves no gaps on crowded pipes
    weights   `weights_at(graph, ii)` where the caller has it
    """
    succs, preds = weights or weights_at(graph, ii)
    height = heights(graph.order, succs)
    depth = heights(graph.order[::-1], preds)
    order = _swing_order(graph, succs, preds, height, depth)
    table = ReservationTable(graph, ii)
    times = _place(table, order, succs, preds, depth, len(order) + budget, snug)
    return None if times is None else (times, table)


def _node_sets(graph: DependenceGraph) -> list[int]:
    """Bit sets: recurrences by falling ratio, each with its paths to those before; the rest."""
    after, before = _reachable(graph)
    sets: list[int] = []
    taken = 0
    reached = reaching = 0  # from a set, to a set
    for members in recurrence_ratios(graph):
        own = 0
        for u in members:
            own |= 1 << u
        u = members[0]
        chosen = own | (reached & before[u]) | (reaching & after[u])
        chosen &= ~taken
        sets.append(chosen)
        taken |= chosen
        reached |= after[u]
        reaching |= before[u]
    rest = (1 << len(graph)) - 1 & ~taken
    if rest:
        sets.append(rest)
    return sets


def _reachable(graph: DependenceGraph) -> tuple[list[int], list[int]]:
    """For each node the bit sets of nodes that it reaches and that reach it, itself included."""
    after = [0] * len(graph)
    before = [0] * len(graph)
    for members in reversed(graph.components):
        bits = 0
        for u in members:
            bits |= 1 << u
            for v, _, _ in graph.succs[u]:
                bits |= after[v]
        for u in members:
            after[u] = bits
    for members in graph.components:
        own = 0
        for u in members:
            own |= before[u] | 1 << u
        for u in members:
            before[u] = own
        for u in members:
            for v, _, _ in graph.succs[u]:
                before[v] |= own
    return after, before


def _bits(mask: int) -> list[int]:
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return found


def _swing_order(
    graph: DependenceGraph, succs: Weighted, preds: Weighted, height: list[int], depth: list[int]
) -> list[int]:
    next_to = [0] * len(graph)  # successors as bits
    prior = [0] * len(graph)
    for u, out in enumerate(succs):
        for v, _ in out:
            next_to[u] |= 1 << v
            prior[v] |= 1 << u
    order: list[int] = []
    ahead = behind = 0  # successors and predecessors of what is ordered
    for wanted in _node_sets(graph):
        while wanted:
            down = False
            if behind & wanted:
                frontier = behind & wanted
            elif ahead & wanted:
                frontier, down = ahead & wanted, True
            else:
                frontier = 1 << max(_bits(wanted), key=lambda u: (depth[u], -u))
            while frontier:
                far, near = (height, depth) if down else (depth, height)
                links = next_to if down else prior
                while frontier:
                    u = max(_bits(frontier), key=lambda u: (far[u], near[u], -u))
                    order.append(u)
                    ahead |= next_to[u]
                    behind |= prior[u]
                    wanted &= ~(1 << u)
                    frontier = (frontier | links[u]) & wanted
                down = not down
                frontier = (ahead if down else behind) & wanted
    return order


def _place(
    table: ReservationTable,
    order: list[int],
    succs: Weighted,
    preds: Weighted,
    depth: list[int],
    budget: int,
    snug: bool,
) -> list[int] | None:
    count = len(order)
    rank = [0] * count
    for place, u in enumerate(order):
        rank[u] = place
    times: list[int | None] = [None] * count
    forced: list[int | None] = [None] * count  # where an operation last took its place by force
    waiting = (1 << count) - 1  # bit p: order[p] is to be placed
    while waiting:
        if not budget:
            return None
        budget -= 1
        lowest = waiting & -waiting
        waiting ^= lowest
        u = order[lowest.bit_length() - 1]
        early: int | None = None
        late: int | None = None
        for v, weight in preds[u]:
            t = times[v]
            if t is not None and (early is None or t + weight > early):
                early = t + weight
        for v, weight in succs[u]:
            t = times[v]
            if t is not None and (late is None or t - weight < late):
                late = t - weight
        down = early is None and late is not None
        if down and late is not None:
            found = table.last(u, late, snug=snug)
        else:
            early = depth[u] if early is None else early
            found = table.first(u, early, snug=snug)
            if found is not None and late is not None and found > late:
                found = None
        if found is None:
            if budget < waiting.bit_count():
                return None
            before = forced[u]
            if down and late is not None:
                found = late if before is None else min(late, before - 1)
            else:
                assert early is not None
                found = early if before is None else max(early, before + 1)
            forced[u] = found
            gone = set(table.in_the_way(u, found))
            gone.update(v for v, weight in preds[u] if _is_above(times[v], found - weight))
            gone.update(v for v, weight in succs[u] if _is_above(found + weight, times[v]))
            for v in gone:
                t = times[v]
                assert t is not None
                table.leave(v, t)
                times[v] = None
                waiting |= 1 << rank[v]
        table.put(u, found)
        times[u] = found
    return [t for t in times if t is not None]


def _is_above(t: int | None, bound: int | None) -> bool:
    return t is not None and bound is not None and t > bound
