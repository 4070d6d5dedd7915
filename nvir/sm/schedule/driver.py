"""Modulo scheduling: the smallest interval that can be found, with what is proven about it.

From MII upwards each interval is asked in order of cost:

1. iterative modulo scheduling, which settles most graphs at MII in well under a millisecond;
2. the hard core alone (`core`): the quick test of its resources and a short search;
3. once some interval works, the open ones below it again, with what is left of the budget:
   the resource-aware gaps (`bounds`), then the exact search in growing portions, with
   CP-SAT halfway if it is there.

Each method of 2 and 3 may find a schedule or prove the interval impossible. Lifetimes are
then shortened at the interval found; under register pressure all schedulers are asked. The
answer is never worse than that of step 1 alone. Budgets are counted in work and in
CP-SAT's deterministic time, so that the same seed gives the same answer; the clock is an
outer safety of one and a half times the budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from nvir.ir.errors import Unsupported
from nvir.sm.graph import DependenceGraph, GraphError
from nvir.sm.mii import MinimumII, Recurrence, ResourceUse, minimum_ii
from nvir.sm.schedule import cpsat
from nvir.sm.schedule.check import require_schedule
from nvir.sm.schedule.ims import iterative_modulo_schedule
from nvir.sm.schedule.intervals import IntervalSearch
from nvir.sm.schedule.lifetimes import Values, measure, min_avg, values_of
from nvir.sm.schedule.shorten import shorten
from nvir.sm.schedule.swing import swing_modulo_schedule

PATIENCE = 64
"""Intervals tried one by one for a register limit before the steps grow."""
PRESSURE = 32
"""Live registers beyond which the other schedulers are asked for fewer at the same interval."""
SWINGABLE = 1000
"""Operations up to which they are: the order of swing scheduling is not linear in time."""


@attrs.frozen
class ModuloSchedule:
    """A modulo schedule and what is proven about its interval.

    ii           initiation interval, cycles
    times        start of each node, from 0
    lower_bound  no schedule has a smaller II
    bounds       RecMII and ResMII with the recurrence and the resource that bind
    method       what found it: "ims", "swing", "exact" or "cpsat"
    max_live     registers live at once in the kernel
    within_limit whether they are within the register limit; True without one
    """

    ii: int
    times: tuple[int, ...]
    lower_bound: int
    bounds: MinimumII
    method: str
    max_live: int
    within_limit: bool = True

    @property
    def mii(self) -> int:
        return self.bounds.mii

    @property
    def rec_mii(self) -> int:
        return self.bounds.rec_mii

    @property
    def res_mii(self) -> int:
        return self.bounds.res_mii

    @property
    def recurrence(self) -> Recurrence | None:
        """A critical recurrence."""
        return self.bounds.recurrence

    @property
    def resource(self) -> ResourceUse | None:
        """The most loaded resource."""
        return self.bounds.resource

    @property
    def optimal(self) -> bool:
        """Whether no smaller II exists (a register limit left aside)."""
        return self.ii == self.lower_bound

    @property
    def stages(self) -> int:
        """Iterations in flight."""
        return max(self.times, default=0) // self.ii + 1

    @property
    def length(self) -> int:
        """Cycles from the first start of an iteration to after its last."""
        return max(self.times, default=-1) + 1

    def stage(self, node: int) -> int:
        return self.times[node] // self.ii

    def slot(self, node: int) -> int:
        return self.times[node] % self.ii


def modulo_schedule(
    graph: DependenceGraph,
    *,
    budget_s: float = 2.0,
    solver: str = "auto",
    seed: int = 0,
    register_limit: int | None = None,
    register_edges: Iterable[int] | None = None,
    sizes: Sequence[int] | None = None,
) -> ModuloSchedule:
    """The best modulo schedule of `graph` that the budget allows.

    budget_s        effort, in seconds of a slow machine; see the module
    solver          "none": own methods only; "cpsat": CP-SAT for what they leave open;
                    "auto": the same where OR-tools is installed
    register_limit  registers that MaxLive should not exceed: the interval rises until it
                    does not; where no interval helps, the schedule of least MaxLive
    register_edges, sizes   which edges carry values and of what size, as of `values_of`

    Raises GraphError where no interval whatever has a schedule, or for bad options, and
    Unsupported where "cpsat" is asked for but not installed.
    """
    if not isinstance(graph, DependenceGraph):
        raise TypeError(f"modulo_schedule needs a DependenceGraph, not {type(graph).__name__}")
    if solver not in ("auto", "none", "cpsat"):
        raise GraphError(f"solver {solver!r}: expected 'auto', 'none' or 'cpsat'")
    if solver == "cpsat" and not cpsat.available():
        raise Unsupported("solver 'cpsat' without OR-tools (pip install 'nvir[solve]')")
    bounds = minimum_ii(graph)
    values = values_of(graph, register_edges, sizes)
    if not len(graph):
        return ModuloSchedule(1, (), 1, bounds, "ims", 0)
    search = IntervalSearch(graph, bounds.mii, budget_s, solver != "none", seed)
    search.run()
    ii = search.ii
    candidates = [(search.method, shorten(graph, ii, search.times, values))]
    method, times, live = _fewest_registers(candidates, ii, values)
    wanted = PRESSURE if register_limit is None else min(PRESSURE, register_limit)
    if live > wanted and len(graph) <= SWINGABLE:
        candidates += _iterative(graph, ii, values, False) + _swing(graph, ii, values)
        method, times, live = _fewest_registers(candidates, ii, values)
    found = ModuloSchedule(ii, tuple(times), search.lower_bound, bounds, method, live)
    if register_limit is not None:
        found = _within_registers(graph, found, values, register_limit)
    require_schedule(graph, found.ii, found.times)
    return found


Candidates = list[tuple[str, list[int]]]


def _iterative(graph: DependenceGraph, ii: int, values: Values, backward: bool) -> Candidates:
    times = iterative_modulo_schedule(graph, ii, backward=backward)
    return [] if times is None else [("ims", shorten(graph, ii, times, values))]


def _swing(graph: DependenceGraph, ii: int, values: Values) -> Candidates:
    times = swing_modulo_schedule(graph, ii)
    return [] if times is None else [("swing", shorten(graph, ii, times, values))]


def _fewest_registers(
    candidates: Candidates, ii: int, values: Values
) -> tuple[str, list[int], int]:
    """The candidate of least MaxLive, the first of equals, with its MaxLive."""
    rated = [(measure(values, ii, times).max_live, i) for i, (_, times) in enumerate(candidates)]
    live, best = min(rated)
    return (*candidates[best], live)


def _within_registers(
    graph: DependenceGraph, found: ModuloSchedule, values: Values, limit: int
) -> ModuloSchedule:
    """Raises the interval until MaxLive is at most `limit`; else the least MaxLive met.

    It stops where iterations have long ceased to overlap: no interval helps then.
    """
    best, ii = found, found.ii
    while best.max_live > limit and ii <= 2 * (found.length + found.mii):
        ii += 1 if ii < found.ii + PATIENCE else ii // 8
        if min_avg(graph, ii, values) >= best.max_live:
            continue
        candidates = _swing(graph, ii, values)
        for backward in (True, False):
            candidates += _iterative(graph, ii, values, backward)
        if candidates:
            method, times, live = _fewest_registers(candidates, ii, values)
            if live < best.max_live:
                best = attrs.evolve(found, ii=ii, times=tuple(times), method=method, max_live=live)
    return attrs.evolve(best, within_limit=best.max_live <= limit)
