"""Slots of a loop on pipes dealt out one after the other, to who is most pressed: `sweep`.

Outside of recurrences any iteration will do for an operation (`core.apart`), so slots alone are
to be dealt out, around those of the recurrences, which are placed first. Going through the kernel
once, each slot goes to the operations whose pipes have the least room left beside the work that
only they can do; of pipes that are full nothing is lost that way, where operations that are forced
into each other's places go round in circles.

A pipe with no cycle to spare, whose operations all take as long, has them at multiples of that:
recurrences that use it twice are placed with latencies that are such multiples (`aligned`).

Cost    O(II * kinds of operations), and the placement of the recurrences.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from nvir.sm.graph import DependenceGraph, GraphError
from nvir.sm.schedule.ims import BUDGET_RATIO, place_by_height
from nvir.sm.schedule.reservations import ReservationTable

Kind = tuple[int, tuple[str, ...], int]  # resource, pipes, cycles


def sweep(graph: DependenceGraph, ii: int) -> tuple[list[int], ReservationTable] | None:
    """Times of a graph of which no edge joins recurrences with others, and its table."""
    for placed in cores(graph, ii):
        table, times = ReservationTable(graph, ii), [0] * len(graph)
        for n, t in placed.items():
            times[n] = t
            table.put(n, t)
        if _filled(table, times, [*placed]):
            return times, table
    return None


def cores(graph: DependenceGraph, ii: int) -> Iterator[dict[int, int]]:
    """Starts of the operations of recurrences, placed alone, backwards and forwards."""
    core = sorted(n for members in graph.recurrences() if len(members) > 1 for n in members)
    for backward in (True, False):
        try:
            placed = place_by_height(
                aligned(graph, ii).part(core), ii, BUDGET_RATIO * len(core) + 16, backward=backward
            )
        except GraphError:  # the rounded latencies allow for no schedule
            return
        if placed is not None:
            yield dict(zip(core, placed[0], strict=True))


def aligned(graph: DependenceGraph, ii: int) -> DependenceGraph:
    """The graph with latencies rounded up between operations that a full pipe keeps in step."""
    load: Counter[tuple[str, ...]] = Counter()
    steps: dict[tuple[str, ...], set[int]] = {}
    for names, cycles in zip(graph.pipes, graph.intervals, strict=True):
        load[names] += cycles
        steps.setdefault(names, set()).add(cycles)
    step = {
        names: min(each) for names, each in steps.items()
        if len(names) == len(each) == 1 == graph.pipe_units[names[0]] and load[names] == ii
    }
    edges = []
    for src, dst, latency, distance in graph.edges:
        names = graph.pipes[src]
        if names in step and graph.pipes[dst] == names:
            latency += -latency % step[names]
        edges.append((src, dst, latency, distance))
    return DependenceGraph(
        graph.nodes, edges, graph.limits,
        pipes=graph.pipes, intervals=graph.intervals, pipe_units=graph.pipe_units,
    )


def _filled(table: ReservationTable, times: list[int], placed: Sequence[int]) -> bool:
    """Whether all other operations get slots, which go into `table` and `times`."""
    graph = table.graph
    kinds: dict[Kind, list[int]] = {}
    for n in sorted(set(range(len(graph))).difference(placed)):
        kind = graph.resources[n], graph.pipes[n], graph.intervals[n]
        kinds.setdefault(kind, []).append(n)
    for slot in range(table.ii):
        while kinds:
            work: Counter[tuple[str, ...]] = Counter()
            for (_, names, cycles), left in kinds.items():
                work[names] += cycles * len(left)
            ready = [kind for kind, left in kinds.items() if table.starts(left[0]) >> slot & 1]
            if not ready:
                break
            chosen = min(ready, key=lambda kind: _slack(table, slot, kind, work))
            times[kinds[chosen][-1]] = slot
            table.put(kinds[chosen].pop(), slot)
            if not kinds[chosen]:
                del kinds[chosen]
    return not kinds


def _slack(
    table: ReservationTable, slot: int, kind: Kind, work: Mapping[tuple[str, ...], int]
) -> tuple[float, int, int]:
    """What is left on each pipe of a kind beside the work that can run nowhere else; kinds of
    fewer pipes and of more cycles are pressed more."""
    _, names, cycles = kind
    if not names:
        return math.inf, 0, 0
    only = sum(busy for some, busy in work.items() if some and set(some) <= set(names))
    return (table.room(names, slot) - only) / len(names), len(names), -cycles
