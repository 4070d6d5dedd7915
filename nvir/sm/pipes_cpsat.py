"""Modulo schedules on pipes with intervals as a constraint model for OR-tools (extra `solve`).

An operation has a slot and a stage. Slots of issue are all different (or room for the issue width);
the operations of a pipe's unit do not overlap on the ring of II slots, which a second copy one II
later makes a line; where there are several pipes one is chosen. Feasible, infeasible, or open when
the limit is hit. With values the sum of their lives, or the most of them that a slot holds, is made
small within the limit: a life is whole rounds of the kernel, which every slot holds, and a part of
one, an interval on the ring.

One worker, a fixed seed and a limit in deterministic time: the same answer on every run. Callers
check the schedule that comes of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nvir.sm.loopgraph import LoopGraph
from nvir.sm.schedule.cpsat import available
from nvir.sm.schedule.lifetimes import Values, measure

__all__ = ["available", "least_live", "solve"]

OUTER = 10  # seconds of the clock for one of deterministic time: a safety for a loaded machine
LARGEST = 60_000  # operations times II beyond which the model costs more than it can earn


def solve(
    found: LoopGraph, ii: int, limit_s: float, *, hint: Sequence[int] | None = None,
    values: Values | None = None,
) -> tuple[bool | None, list[int], list[str]]:
    """(True, times, pipes), (False, [], []) where no schedule exists, (None, [], []) when open.

    hint     times to begin with; values: shorten their lives
    """
    model = _Model.of(found, ii, limit_s, hint)
    if model is None:
        return None, [], []
    if values is None:
        model.model.add(model.slots[0] == 0)  # turning changes nothing
    else:
        model.model.minimize(sum(model.lives(values)))
    return model.solve(limit_s)


def least_live(
    found: LoopGraph, ii: int, values: Values, limit_s: float, hint: Sequence[int] | None = None
) -> int:
    """Registers that every schedule at an II needs, pipes and all: the larger of two proofs.

    The least sum of lives, over II; and the fewest in the fullest slot. 0 where nothing was proven.
    hint     times of a schedule: a proof that it is the best ends the search
    """
    known = measure(values, ii, hint).max_live if hint is not None else 0
    model = _Model.of(found, ii, limit_s, hint)
    if model is None:
        return 0
    model.model.minimize(sum(model.lives(values)))
    model.solve(limit_s)
    least = -(-model.bound // ii)
    if least == known:
        return least
    model = _Model.of(found, ii, limit_s, hint)
    assert model is not None
    model.model.minimize(model.peak(values, least, known or None))
    model.solve(limit_s)
    return max(least, model.bound)


class _Model:
    """The schedules of a loop at an II."""

    def __init__(self, found: LoopGraph, ii: int, hint: Sequence[int] | None) -> None:
        from ortools.sat.python import cp_model

        self.found, self.ii = found, ii
        self.model: Any = cp_model.CpModel()
        self.bound = 0  # no objective is less, once it is solved
        count = len(found.operations)
        span = sum(max(0, e[2]) for e in found.graph.edges) // ii + count // ii + 3
        if hint is not None:
            span = max(span, max(hint) // ii + 2)
        self.span = span
        self.slots = [self.model.new_int_var(0, ii - 1, "") for _ in range(count)]
        self.stages = [self.model.new_int_var(0, span, "") for _ in range(count)]
        self.starts = [s + ii * k for s, k in zip(self.slots, self.stages, strict=True)]
        for src, dst, latency, distance in found.graph.edges:
            if src != dst:
                gap = latency - distance * ii
                self.model.add(self.starts[dst] - self.starts[src] >= gap)
            elif latency > distance * ii:
                self.model.add_bool_or([])
        self.chosen = _pipes(self.model, found, ii, self.slots)
        for n, t in enumerate(hint or ()):
            self.model.add_hint(self.slots[n], t % ii)
            self.model.add_hint(self.stages[n], t // ii)

    @classmethod
    def of(
        cls, found: LoopGraph, ii: int, limit_s: float, hint: Sequence[int] | None
    ) -> _Model | None:
        """The model, or None where it costs more than it can earn."""
        if len(found.operations) * ii > LARGEST or limit_s <= 0:
            return None
        return cls(found, ii, hint)

    def lives(self, values: Values) -> list[Any]:
        """How long each value's registers are held, in cycles."""
        lives = []
        for n, uses in enumerate(values.uses):
            if uses and values.sizes[n]:
                end = self.model.new_int_var(0, (self.span + 10) * self.ii, "")
                for m, distance in uses:
                    self.model.add(end >= self.starts[m] + distance * self.ii)
                lives.append(values.sizes[n] * (end - self.starts[n]))
        return lives

    def peak(self, values: Values, least: int, most: int | None) -> Any:
        """How many registers are held in the fullest slot; `least` to `most`, where known."""
        ii, model = self.ii, self.model
        if most is None:
            most = sum(values.sizes) * (self.span + 10)
        rounds, rings, sizes, lives = [], [], [], []
        for n, uses in enumerate(values.uses):
            size = values.sizes[n]
            if not uses or not size:
                continue
            whole = model.new_int_var(0, self.span + 10, "")
            part = model.new_int_var(0, ii - 1, "")
            for m, distance in uses:
                end = self.starts[m] + distance * ii
                model.add(self.starts[n] + whole * ii + part >= end)
            for shift in (0, ii):
                end = model.new_int_var(0, 3 * ii, "")
                rings.append(model.new_interval_var(self.slots[n] + shift, part, end, ""))
                sizes.append(size)
            rounds.append(size * whole)
            lives.append(size * (whole * ii + part))
        peak = model.new_int_var(least, most, "")
        room = model.new_int_var(0, most, "")
        model.add(room == peak - sum(rounds))
        model.add_cumulative(rings, sizes, room)
        model.add(sum(lives) <= peak * ii)
        return peak

    def solve(self, limit_s: float) -> tuple[bool | None, list[int], list[str]]:
        from ortools.sat.python import cp_model

        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 1
        solver.parameters.max_deterministic_time = limit_s
        solver.parameters.max_time_in_seconds = OUTER * limit_s
        status = solver.solve(self.model)
        if status == cp_model.INFEASIBLE:
            return False, [], []
        if self.model.has_objective():
            self.bound = max(0, math.ceil(solver.best_objective_bound - 1e-6))
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None, [], []
        times = [int(solver.value(s)) + self.ii * int(solver.value(k))
                 for s, k in zip(self.slots, self.stages, strict=True)]
        pipes = [next((p for p, b in some if b is None or solver.boolean_value(b)), "")
                 for some in self.chosen]
        first = min(times) // self.ii * self.ii
        return True, [t - first for t in times], pipes


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
