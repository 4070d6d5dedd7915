"""Registers that every schedule of a loop at an interval needs: a linear program with cuts.

Starts of operations and ends of lives are the unknowns, dependences the constraints, the sum of
lives the objective; over II it bounds MaxLive (R. Huff, 1993). Dependences alone know nothing of
slots and pipes. So cuts are added, each for operations that take turns: they issue in different
slots, and those of one pipe start as far apart as each keeps it busy.

    readers    of a value: the last can start no earlier than all before it have had their turn
    makers     of the operands of one operation: together they live at least as long as their turns
               before it add up to

Turns are taken on one unit by operations that are ready at different times and take equally long:
in the order in which they become ready both the last start and the sum of starts are least.

Cost    O(n^3) in numpy for distances; a linear program of n unknowns and the edges (GLOP).
Source  R. Huff, "Lifetime-Sensitive Modulo Scheduling", PLDI 1993; the cuts are own work.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from nvir.sm.graph import DependenceGraph
from nvir.sm.schedule.lifetimes import Values

NEVER = -(1 << 40)


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
