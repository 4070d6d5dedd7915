"""Modulo schedules on pipes with intervals as a constraint model for OR-tools (extra `solve`).

An operation has a slot and a stage. Slots of issue are all different (or room for the issue width);
the operations of a pipe's unit do not overlap on the ring of II slots, which a second copy one II
later makes a line; where there are several pipes one is chosen. Feasible, infeasible, or open when
the limit is hit. With `shorten` the sum of the lives of values is made small within the limit.

One worker, a fixed seed and a limit in deterministic time: the same answer on every run. Callers
check the schedule that comes of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nvir.sm.loopgraph import LoopGraph
from nvir.sm.schedule.cpsat import available
from nvir.sm.schedule.lifetimes import Values

__all__ = ["available", "least_live", "solve"]

LARGEST = 60_000  # operations times II beyond which the model costs more than it can earn


def solve(
    found: LoopGraph, ii: int, limit_s: float, *, hint: Sequence[int] | None = None,
    values: Values | None = None,
) -> tuple[bool | None, list[int], list[str]]:  # fmt: skip
    """(True, times, pipes), (False, [], []) where no schedule exists, (None, [], []) when open.

    hint     times to begin with; values: shorten their lives
    """
    verdict, times, pipes, _ = _solve(found, ii, limit_s, hint, values)
    return verdict, times, pipes


def least_live(
    found: LoopGraph, ii: int, values: Values, limit_s: float, hint: Sequence[int] | None = None
) -> int:
    """Registers that every schedule at an II needs, pipes and all: the proven least sum of lives,
    over II. 0 where nothing was proven."""
    return -(-_solve(found, ii, limit_s, hint, values)[3] // ii)


def _solve(
    found: LoopGraph, ii: int, limit_s: float, hint: Sequence[int] | None, values: Values | None
) -> tuple[bool | None, list[int], list[str], int]:
    """As `solve`, and the bound on the sum of lives."""
    count = len(found.operations)
    if count * ii > LARGEST or limit_s <= 0:
        return None, [], [], 0
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    span = sum(max(0, e[2]) for e in found.graph.edges) // ii + count // ii + 3
    if hint is not None:
        span = max(span, max(hint) // ii + 2)
    slots = [model.new_int_var(0, ii - 1, "") for _ in range(count)]
    stages = [model.new_int_var(0, span, "") for _ in range(count)]
    starts = [s + ii * k for s, k in zip(slots, stages, strict=True)]
    for src, dst, latency, distance in found.graph.edges:
        if src == dst:
            if latency > distance * ii:
                return False, [], [], 0
            continue
        model.add(starts[dst] - starts[src] >= latency - distance * ii)
    chosen = _pipes(model, found, ii, slots)
    if values is None:
        model.add(slots[0] == 0)  # turning changes nothing
    else:
        model.minimize(sum(_lives(model, ii, starts, values, span)))
    if hint is not None:
        for n, t in enumerate(hint):
            model.add_hint(slots[n], t % ii)
            model.add_hint(stages[n], t // ii)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.max_deterministic_time = limit_s
    solver.parameters.max_time_in_seconds = 2 * limit_s  # outer safety
    status = solver.solve(model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        times = [int(solver.value(s)) + ii * int(solver.value(k))
                 for s, k in zip(slots, stages, strict=True)]  # fmt: skip
        pipes = [next((p for p, b in some if b is None or solver.boolean_value(b)), "")
                 for some in chosen]  # fmt: skip
        first = min(times) // ii * ii
        bound = 0 if values is None else max(0, -int(-solver.best_objective_bound // 1))
        return True, [t - first for t in times], pipes, bound
    return (False if status == cp_model.INFEASIBLE else None), [], [], 0


def _pipes(
    model: Any, found: LoopGraph, ii: int, slots: Sequence[Any]
) -> list[list[tuple[str, Any]]]:
    """The constraints of issue and pipes; for each operation its pipes with what chooses them."""
    count = len(slots)
    width = found.profile.issue_width
    if width == 1:
        model.add_all_different(slots)
    elif width:
        ones = [model.new_fixed_size_interval_var(s, 1, "") for s in slots]
        model.add_cumulative(ones, [1] * count, width)
    rings: dict[str, list[Any]] = {}
    chosen: list[list[tuple[str, Any]]] = []
    for n, names in enumerate(found.pipes):
        cycles = min(found.interval[n], ii)
        some: list[tuple[str, Any]] = []
        for p in names:
            here = model.new_bool_var("") if len(names) > 1 else None
            some.append((p, here))
            for shift in (0, ii):
                if here is None:
                    ring = model.new_fixed_size_interval_var(slots[n] + shift, cycles, "")
                else:
                    ring = model.new_optional_fixed_size_interval_var(
                        slots[n] + shift, cycles, here, ""
                    )
                rings.setdefault(p, []).append(ring)
        if len(names) > 1:
            model.add_exactly_one([b for _, b in some])
        chosen.append(some)
    for p, ring in rings.items():
        units = found.profile.pipes[p].units
        if units == 1:
            model.add_no_overlap(ring)
        else:
            model.add_cumulative(ring, [1] * len(ring), units)
    return chosen


def _lives(
    model: Any, ii: int, starts: Sequence[Any], values: Values, span: int
) -> list[Any]:
    lives = []
    for n, uses in enumerate(values.uses):
        if uses and values.sizes[n]:
            end = model.new_int_var(0, (span + 10) * ii, "")
            for m, distance in uses:
                model.add(end >= starts[m] + distance * ii)
            lives.append(values.sizes[n] * (end - starts[n]))
    return lives
