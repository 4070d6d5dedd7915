"""Registers that every schedule of a loop at an interval needs: `registers_needed`, by two proofs.

`live_around` counts what is live at once around some operation. `least_lives` is a linear program.
Starts of operations and ends of lives are the unknowns, dependences the constraints, the sum of
lives the objective; over II it bounds MaxLive (R. Huff, 1993). Dependences alone know nothing of
slots and pipes. So cuts are added, each for operations that take turns: they issue in different
slots, and those of one pipe start as far apart as each keeps it busy.

    readers    of a value: the last can start no earlier than all before it have had their turn
    makers     of the operands of one operation: together they live at least as long as their turns
               before it add up to

Turns are taken on one unit by operations that are ready at different times and take equally long:
in the order in which they become ready both the last start and the sum of starts are least.

Cost    O(n^3) in numpy for distances; O(n^2) for what is live around operations; a linear program
        of n unknowns and the edges (GLOP).
Source  R. Huff, "Lifetime-Sensitive Modulo Scheduling", PLDI 1993; the cuts are own work.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from nvir.sm.graph import DependenceGraph
from nvir.sm.schedule.lifetimes import Values, max_live_bound, min_avg

NEVER = -(1 << 40)
LARGEST = 400  # operations up to which all proofs are tried: some take the cube of them


def distances(graph: DependenceGraph, ii: int) -> Any | None:
    """The least number of cycles from each operation to each other at an II, as an array.

    None where a recurrence asks for more than II.
    """
    import numpy as np

    n = len(graph)
    d = np.full((n, n), NEVER, dtype=np.int64)
    np.fill_diagonal(d, 0)
    for src, dst, latency, distance in graph.edges:
        weight = latency - distance * ii
        if weight > d[src, dst]:
            d[src, dst] = weight
    for k in range(n):
        row, column = d[k], d[:, k]
        some = column > NEVER // 2
        if some.any():
            d[some] = np.maximum(d[some], column[some, None] + row)
    if (np.diagonal(d) > 0).any():
        return None
    return d


def live_around(graph: DependenceGraph, ii: int, values: Values) -> int:
    """Registers live at once, in every schedule at an II, before or at the start of an operation.

    Let x be the cycles from the start of a value to that moment, L its life. The copy of i
    iterations before is live if it has started, i * II <= x, and has not ended, x - i * II < L:
    there are x // II - (x - L) // II of them. Distances bound x on both sides, and L from below:
    its least life, and from the operation to its last use. Over all x that remain the count is
    least at the first one, where another copy has just ended, or where the second bound of L takes
    over: before that it falls nowhere but at such ends, and to no less than at the first of them;
    behind it never. The least counts of all values add up, for each operation; 0 where II is too
    small.
    """
    import numpy as np

    d = distances(graph, ii)
    held = [n for n, uses in enumerate(values.uses) if uses and values.sizes[n]]
    if d is None or not held:
        return 0
    reads = [(m, later * ii) for n in held for m, later in values.uses[n]]
    first = np.cumsum([0] + [len(values.uses[n]) for n in held[:-1]])
    last_use = np.maximum.reduceat(
        d[:, [m for m, _ in reads]] + np.array([later for _, later in reads]), first, axis=1
    )
    life = np.maximum(last_use[held, np.arange(len(held))], 0)
    most = 0
    ahead, behind = d[held].T, d[:, held]
    for moment in (-1, 0):
        low = np.where(ahead > NEVER // 2, ahead + moment, NEVER // 4)
        high = np.where(behind > NEVER // 2, moment - behind, -NEVER)
        rest = np.where(last_use > NEVER // 2, last_use - moment, NEVER)  # of L, from then on
        copies = [
            np.where(x <= high, x // ii - (x - np.maximum(life, x + rest)) // ii, -NEVER)
            for x in (low, low + (life - low) % ii, np.maximum(low, life - rest))
        ]
        least = np.minimum.reduce(copies)
        most = max(most, int((least * [values.sizes[n] for n in held]).sum(axis=1).max()))
    return most


def registers_needed(graph: DependenceGraph, ii: int, values: Values, cuts: bool = False) -> int:
    """The larger of the proofs that are quick: what is live around operations, and sums of lives.

    Beyond LARGEST operations the sums are those of each value by itself.
    cuts    whether sums know slots and pipes, which needs OR-tools
    """
    if len(graph) > LARGEST:
        return min_avg(graph, ii, values)
    sums = -(-least_lives(graph, ii, values) // ii) if cuts else 0
    return max(live_around(graph, ii, values), sums or max_live_bound(graph, ii, values))


def least_life(graph: DependenceGraph, ii: int, values: Values) -> list[int]:
    """The shortest life of each value in any schedule at an II, 0 for what nobody reads."""
    d = distances(graph, ii)
    assert d is not None, "no schedule has this interval"
    return [
        max([0, *(int(d[n, m]) + later * ii for m, later in uses)])
        for n, uses in enumerate(values.uses)
    ]


def least_lives(graph: DependenceGraph, ii: int, values: Values) -> int:
    """A sum of lives, cycles times registers, that no schedule at an II undercuts.

    0 where the linear program found no answer. Needs OR-tools (extra `solve`).
    """
    from ortools.linear_solver import pywraplp

    d = distances(graph, ii)
    if d is None:
        return 0
    solver = pywraplp.Solver.CreateSolver("GLOP")
    count = len(graph)
    free = solver.infinity()
    starts = [solver.NumVar(-free, free, "") for _ in range(count)]
    for src, dst, latency, distance in graph.edges:
        if src != dst:
            solver.Add(starts[dst] - starts[src] >= latency - distance * ii)
    made: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    lives = []
    for n, uses in enumerate(values.uses):
        if not uses or not values.sizes[n]:
            continue
        life = solver.NumVar(0, free, "")
        for m, later in uses:
            solver.Add(starts[n] + life >= starts[m] + later * ii)
            made[m].append((n, later))
        last = {m: later for m, later in sorted(uses, key=lambda use: use[1]) if m != n}
        ready = [(m, _gap(d, n, m, later * ii)) for m, later in last.items()]
        if ready:
            solver.Add(life >= max((turns[-1] for turns in _turns(graph, ready)), default=0))
        lives.append(values.sizes[n] * life)
    for m, operands in enumerate(made):
        makers = [(n, later) for n, later in dict.fromkeys(operands) if n != m]
        if len(makers) > 1:
            _makers(solver, starts, graph, ii, d, m, makers)
    solver.Minimize(sum(lives))
    if solver.Solve() != pywraplp.Solver.OPTIMAL:
        return 0
    found_least: int = math.ceil(solver.Objective().Value() - 1e-6)
    return found_least


def _gap(d: Any, a: int, b: int, later: int) -> int:
    """Cycles from a to the use of its value by b, at least."""
    return int(d[a, b]) + later if d[a, b] > NEVER // 2 else 1


def _turns(graph: DependenceGraph, ready: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """When operations start at the earliest, of those that share a resource; for each resource."""
    for resource in {graph.resources[n] for n, _ in ready} - {-1}:
        if graph.units[resource] == 1:
            yield _in_turn(sorted(t for n, t in ready if graph.resources[n] == resource), 1)
    for pipe in {p for n, _ in ready for p in graph.pipes[n]} if graph.pipes else ():
        if graph.pipe_units[pipe] == 1:
            group = [(n, t) for n, t in ready if graph.pipes[n] == (pipe,)]
            if len(group) > 1:
                cycles = min(graph.intervals[n] for n, _ in group)
                yield _in_turn(sorted(t for _, t in group), cycles)


def _in_turn(ready: Iterable[int], cycles: int) -> list[int]:
    starts: list[int] = []
    for t in ready:
        starts.append(max(t, starts[-1] + cycles) if starts else t)
    return starts


def _makers(
    solver: Any, starts: Sequence[Any], graph: DependenceGraph, ii: int, d: Any, m: int,
    makers: Sequence[tuple[int, int]],
) -> None:
    """The cuts for who makes the operands of m: all together, and two by two."""
    groups = [tuple(makers), *itertools.combinations(makers, 2)]
    for group in dict.fromkeys(groups):
        ready = [(n, _gap(d, n, m, later * ii)) for n, later in group]
        if len({n for n, _ in ready}) < len(ready):
            continue
        lives = [starts[m] + later * ii - starts[n] for n, later in group]
        for turns in _turns(graph, ready):
            if len(turns) == len(group):
                solver.Add(sum(lives) >= sum(turns))
