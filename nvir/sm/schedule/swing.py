"""Swing modulo scheduling: no backtracking, short lifetimes.

Operations are ordered once, so that each (but the first of a connected part) is ordered
after some neighbour, and hardly ever after both a predecessor and a successor: the order
swings between the successors and the predecessors of what it has. Recurrences come first,
the most critical ahead, each with the paths that join it to those before. An operation is
then placed as close as it can to its placed neighbours, which keeps values short.

Where no slot is left in an operation's window the interval has failed.

Cost    O(nodes * width + edges)
Source  J. Llosa, A. Gonzalez, E. Ayguade, M. Valero, "Swing modulo scheduling: a
        lifetime-sensitive approach", PACT 1996.
"""

from __future__ import annotations

from nvir.sm.graph import DependenceGraph
from nvir.sm.mii import recurrence_ratios
from nvir.sm.schedule.ims import Weighted, heights, weights_at


def swing_modulo_schedule(graph: DependenceGraph, ii: int) -> list[int] | None:
    """Start times by node at the interval `ii` >= RecMII, or None where an operation finds none."""
    succs, preds = weights_at(graph, ii)
    height = heights(graph.order, succs)
    depth = heights(graph.order[::-1], preds)
    order = _swing_order(graph, succs, preds, height, depth)
    times = _place(graph, ii, order, succs, preds, depth)
    if times is None:
        return None
    least = min(times, default=0)
    return [t - least for t in times]


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
    graph: DependenceGraph,
    ii: int,
    order: list[int],
    succs: Weighted,
    preds: Weighted,
    depth: list[int],
) -> list[int] | None:
    resources, units = graph.resources, graph.units
    times: list[int | None] = [None] * len(graph)
    used: list[dict[int, int]] = [{} for _ in units]
    for u in order:
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
        if early is not None:
            last = early + ii - 1
            window = range(early, (last if late is None else min(late, last)) + 1)
        elif late is not None:
            window = range(late, late - ii, -1)
        else:
            window = range(depth[u], depth[u] + ii)
        resource = resources[u]
        if resource < 0:
            if not window:
                return None
            times[u] = window[0]
            continue
        table, room = used[resource], units[resource]
        for t in window:
            if table.get(t % ii, 0) < room:
                table[t % ii] = table.get(t % ii, 0) + 1
                times[u] = t
                break
        else:
            return None
    return [t for t in times if t is not None]
