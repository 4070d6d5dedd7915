"""Modulo schedules of one interval as a constraint model for OR-tools CP-SAT (extra `solve`).

An operation has a slot and a stage; its start is `slot + II * stage`. The operations of a resource
of one unit have slots that all differ, of several there is room for that many in each slot; those
of a pipe's unit do not overlap on the ring of II slots, which copies one II later each make a
line; where there are several pipes one is chosen. With values the sum of their lives, or the most
of them that a slot holds, is made small within the limit: a life is whole rounds of the kernel,
which every slot holds, and a part of one, an interval on the ring.

One worker, a fixed seed and a limit in CP-SAT's deterministic time make the answer the same on
every run. Callers check the schedule that comes of it.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Sequence
from operator import mul
from typing import Any

import attrs

from nvir.sm.graph import DependenceGraph
from nvir.sm.schedule.lifetimes import Values, measure
from nvir.sm.schedule.live_bound import least_life

OUTER = 60  # seconds of the clock for one of deterministic time: a safety for a loaded machine
LARGEST = 60_000  # operations times II beyond which the model costs more than it can earn
ROUNDS = 10  # of the kernel that a value may live beyond the last stage
STATED = 1e-4  # deterministic seconds that a constraint costs before the solver begins

Solution = tuple[bool | None, list[int], list[str]]


@attrs.define
class Purse:
    """Deterministic seconds that several questions share."""

    left: float


def available() -> bool:
    """Whether OR-tools is installed; does not import it."""
    return importlib.util.find_spec("ortools") is not None


def solve(
    graph: DependenceGraph,
    ii: int,
    limit_s: float,
    *,
    seed: int = 1,
    hint: Sequence[int] | None = None,
    values: Values | None = None,
    purse: Purse | None = None,
) -> Solution:
    """(True, times, pipes), (False, [], []) where no schedule exists, (None, [], []) when open.

    hint     times to begin with; values: shorten their lives
    """
    model = _Model.of(graph, ii, limit_s, hint)
    if model is None:
        return None, [], []
    if values is None:
        model.model.add(model.slots[0] == 0)  # turning changes nothing
    else:
        model.model.minimize(sum(model.lives(values)))
    return model.solve(limit_s, seed, purse)


def fewest_registers(
    graph: DependenceGraph,
    ii: int,
    values: Values,
    limit_s: float,
    times: Sequence[int],
    least: int = 0,
) -> tuple[int, Solution | None]:
    """Registers that every schedule at an II needs, pipes and all, and a schedule with that many.

    From what is proven on each count is asked for, until some schedule has it or the limit is
    spent: a count that is just too small is refuted fast, since it bounds every life. The schedule
    is None where it is the one known, or none was met.
    times    of the best schedule known
    least    what is proven already
    """
    known = measure(values, ii, times).max_live
    while least < known and limit_s > 0:
        model = _Model.of(graph, ii, limit_s, times)
        if model is None:
            break
        model.hold(values, least)
        found = model.solve(limit_s)
        limit_s -= model.spent
        if found[0]:
            return least, found
        if found[0] is None:
            break
        least += 1
    return least, None


def run(
    model: Any, limit_s: float, seed: int, purse: Purse | None = None
) -> tuple[bool | None, Any, float]:
    """Whether a model has a solution, None where it is open; the solver, and what it spent."""
    from ortools.sat.python import cp_model

    if purse is not None:
        purse.left -= STATED * len(model.proto.constraints)
        limit_s = max(0.0, min(limit_s, purse.left))

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed & 0x7FFFFFFF
    solver.parameters.max_deterministic_time = limit_s
    solver.parameters.max_time_in_seconds = OUTER * limit_s
    verdicts = {cp_model.OPTIMAL: True, cp_model.FEASIBLE: True, cp_model.INFEASIBLE: False}
    found = verdicts.get(solver.solve(model))
    spent: float = solver.response_proto.deterministic_time
    if purse is not None:
        purse.left -= spent
    return found, solver, spent


class _Model:
    """The schedules of a graph at an II."""

    def __init__(self, graph: DependenceGraph, ii: int, hint: Sequence[int] | None) -> None:
        from ortools.sat.python import cp_model

        self.graph, self.ii, self.hint = graph, ii, hint
        self.spent = 0.0  # of deterministic time
        self.model: Any = cp_model.CpModel()
        count = len(graph)
        span = sum(max(0, e[2]) for e in graph.edges) // ii + count // ii + 3
        if hint is not None:
            span = max(span, max(hint) // ii + 2)
        self.span = span
        self.slots = [self.model.new_int_var(0, ii - 1, "") for _ in range(count)]
        self.stages = [self.model.new_int_var(-span, span, "") for _ in range(count)]
        self.starts = [s + ii * k for s, k in zip(self.slots, self.stages, strict=True)]
        for src, dst, latency, distance in graph.edges:
            if src != dst:
                gap = latency - distance * ii
                self.model.add(self.starts[dst] - self.starts[src] >= gap)
            elif latency > distance * ii:
                self.model.add_bool_or([])
        _resources(self.model, graph, ii, self.slots)
        self.chosen = _pipes(self.model, graph, ii, self.slots)
        for n, t in enumerate(hint or ()):
            self.model.add_hint(self.slots[n], t % ii)
            self.model.add_hint(self.stages[n], t // ii)

    @classmethod
    def of(
        cls, graph: DependenceGraph, ii: int, limit_s: float, hint: Sequence[int] | None
    ) -> _Model | None:
        """The model, or None where it costs more than it can earn."""
        if len(graph) * ii > LARGEST or limit_s <= 0:
            return None
        return cls(graph, ii, hint)

    def lives(self, values: Values) -> list[Any]:
        """How long each value's registers are held, in cycles."""
        lives = []
        for n, uses in enumerate(values.uses):
            if uses and values.sizes[n]:
                end = self.model.new_int_var(0, (self.span + ROUNDS) * self.ii, "")
                for m, distance in uses:
                    self.model.add(end >= self.starts[m] + distance * self.ii)
                lives.append(values.sizes[n] * (end - self.starts[n]))
        return lives

    def hold(self, values: Values, most: int) -> None:
        """No slot holds more than `most` registers: the lives together bound each of them."""
        ii, model = self.ii, self.model
        shortest = least_life(self.graph, ii, values)
        slack = most * ii - sum(map(mul, values.sizes, shortest))
        if slack < 0:
            model.add_bool_or([])
            return
        rounds, rings, sizes, lives = [], [], [], []
        for n, uses in enumerate(values.uses):
            size = values.sizes[n]
            if not uses or not size:
                continue
            low, high = shortest[n], shortest[n] + slack // size
            whole = model.new_int_var(low // ii, high // ii, "")
            part = model.new_int_var(0, ii - 1, "")
            life = whole * ii + part
            model.add_linear_constraint(life, low, high)
            for m, distance in uses:
                if m != n:
                    model.add(self.starts[n] + life >= self.starts[m] + distance * ii)
            for shift in (0, ii):
                end = model.new_int_var(0, 3 * ii, "")
                rings.append(model.new_interval_var(self.slots[n] + shift, part, end, ""))
                sizes.append(size)
            rounds.append(size * whole)
            lives.append(size * life)
        room = model.new_int_var(0, most, "")
        model.add(room == most - sum(rounds))
        model.add_cumulative(rings, sizes, room)
        model.add(sum(lives) <= most * ii)
        self._anchor()

    def _anchor(self) -> None:
        """One operation starts as in the hint: turning and moving a schedule change nothing."""
        assert self.hint is not None
        edges = Counter(n for src, dst, *_ in self.graph.edges for n in (src, dst))
        n = max(range(len(self.starts)), key=edges.__getitem__)
        self.model.add(self.starts[n] == self.hint[n])

    def solve(self, limit_s: float, seed: int = 1, purse: Purse | None = None) -> Solution:
        found, solver, self.spent = run(self.model, limit_s, seed, purse)
        if not found:
            return found, [], []
        times = [
            int(solver.value(s)) + self.ii * int(solver.value(k))
            for s, k in zip(self.slots, self.stages, strict=True)
        ]
        pipes = [
            next((p for p, b in some if b is None or solver.boolean_value(b)), "")
            for some in self.chosen
        ]
        first = min(times) // self.ii * self.ii
        return True, [t - first for t in times], pipes


def _resources(model: Any, graph: DependenceGraph, ii: int, slots: Sequence[Any]) -> None:
    """Each slot of a resource has room for its units."""
    for resource, units in enumerate(graph.units):
        users = [slots[n] for n, taken in enumerate(graph.resources) if taken == resource]
        if units == 1:
            model.add_all_different(users)
        elif units < len(users):
            ones = [model.new_fixed_size_interval_var(s, 1, "") for s in users]
            model.add_cumulative(ones, [1] * len(users), units)


def _pipes(
    model: Any, graph: DependenceGraph, ii: int, slots: Sequence[Any]
) -> list[list[tuple[str, Any]]]:
    """The constraints of pipes; for each operation its pipes with what chooses them."""
    rings: dict[str, list[Any]] = {}
    chosen: list[list[tuple[str, Any]]] = []
    longest = max(graph.intervals, default=0)
    shifts = range(0, ii + longest, ii)  # one more than rounds that an operation may be busy
    for n, names in enumerate(graph.pipes):
        cycles = graph.intervals[n]
        some: list[tuple[str, Any]] = []
        for p in names:
            here = model.new_bool_var("") if len(names) > 1 else None
            some.append((p, here))
            for shift in shifts:
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
        units = graph.pipe_units[p]
        if units == 1:
            model.add_no_overlap(ring)
        else:
            model.add_cumulative(ring, [1] * len(ring), units)
    return chosen
