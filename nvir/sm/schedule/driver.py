"""Modulo scheduling: the smallest interval that can be found, with what is proven about it.

From MII upwards each interval is asked in order of cost:

1. iterative modulo scheduling, which settles most graphs at MII in well under a millisecond;
   where operations keep pipes busy, also with operations side by side, again with those first
   that an attempt had to force in, and with slots dealt out before iterations (`core.apart`);
   what turns on pipes rule out is left out (`bounds.turns`);
2. without pipes, the hard core alone (`core`): the quick test of its resources and a short search;
3. once some interval works, the open ones below it again, with what is left of the budget:
   the resource-aware gaps (`bounds`), then the exact search in growing portions, with
   CP-SAT halfway if it is there; with pipes CP-SAT alone, in parts (`turns`).

Each method of 2 and 3 may find a schedule or prove the interval impossible. Lifetimes are
then shortened at the interval found; under register pressure, and on pipes, all schedulers are
asked, and on pipes operations then trade places (`anneal`), slots being dealt out anew between
(`deal`), with effort "most" for some 100,000 trials more, and CP-SAT goes on from there. The answer
is never worse than that of step 1 alone. Budgets are counted in work and in CP-SAT's deterministic
time, so that the same seed gives the same answer; the processor's time is an outer safety of three
times the budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import attrs

from nvir.ir.errors import Unsupported
from nvir.sm.graph import DependenceGraph, GraphError
from nvir.sm.mii import MinimumII, Recurrence, ResourceUse, minimum_ii
from nvir.sm.schedule import cpsat
from nvir.sm.schedule.check import require_schedule
from nvir.sm.schedule.ims import BUDGET_RATIO, Weighted, place_by_height, weights_at
from nvir.sm.schedule.intervals import IntervalSearch
from nvir.sm.schedule.lifetimes import Values, measure, min_avg, values_of
from nvir.sm.schedule.reservations import ReservationTable
from nvir.sm.schedule.shorten import shorten
from nvir.sm.schedule.stages import fewest_stages
from nvir.sm.schedule.swing import swing_modulo_schedule

PATIENCE = 64
"""Intervals tried one by one for a register limit before the steps grow."""
PRESSURE = 32
"""Live registers beyond which the other schedulers are asked for fewer at the same interval."""
SWEEPS = 4
"""Pairs of sweeps to shorten lives on pipes."""
DEALS = 2
"""How often the slots of a schedule on pipes are dealt out anew, and annealed again."""
THOROUGH = 1000
"""Operations up to which everything is tried: neither the order of swing scheduling nor trading
places is linear in time. On pipes the effort for more is "quick"."""
EFFORTS = ("quick", "interval", "full", "most")
LARGEST = 16_000
"""Operations of what is scheduled at all."""


@attrs.frozen
class ModuloSchedule:
    """A modulo schedule and what is proven about its interval.

    ii           initiation interval, cycles
    times        start of each node, from 0
    lower_bound  no schedule has a smaller II
    bounds       RecMII and ResMII with the recurrence and the resource that bind
    method       what found it: "ims", "swing", "exact" or "cpsat"
    max_live     registers live at once in the kernel
    live_bound   no schedule at this II has fewer, as far as this was looked into
    effort       with which it was looked for, "quick" where that is all that its size allows
    within_limit whether they are within the register limit; True without one
    pipe         the pipe that each node takes, "" for none; empty for a graph without pipes
    """

    ii: int
    times: tuple[int, ...]
    lower_bound: int
    bounds: MinimumII
    method: str
    max_live: int
    within_limit: bool = True
    pipe: tuple[str, ...] = ()
    live_bound: int = 0
    effort: str = "full"

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
    effort: str = "full",
) -> ModuloSchedule:
    """The best modulo schedule of `graph` that the budget allows.

    budget_s        effort, in seconds of a slow machine; with pipes deterministic seconds of CP-SAT
                    in all, half of them at most for the interval; see the module
    solver          "none": own methods only; "cpsat": CP-SAT for what they leave open;
                    "auto": the same where OR-tools is installed
    register_limit  registers that MaxLive should not exceed: the interval rises until it
                    does not; where no interval helps, the schedule of least MaxLive
    register_edges, sizes   which edges carry values and of what size, as of `values_of`
    effort          of a graph with pipes: "most" (long annealing as well, seconds), "full",
                    "interval" (nothing is done for few registers), "quick" (nor is it looked
                    between the growing steps of the interval), which is all that is done for
                    more than THOROUGH operations

    Raises GraphError where no interval whatever has a schedule, or for bad options, and
    Unsupported for more than LARGEST operations and where "cpsat" is asked for but not installed.
    """
    if not isinstance(graph, DependenceGraph):
        raise TypeError(f"modulo_schedule needs a DependenceGraph, not {type(graph).__name__}")
    if solver not in ("auto", "none", "cpsat"):
        raise GraphError(f"solver {solver!r}: expected 'auto', 'none' or 'cpsat'")
    if effort not in EFFORTS:
        raise GraphError(f"effort {effort!r}: expected one of {', '.join(map(repr, EFFORTS))}")
    if solver == "cpsat" and not cpsat.available():
        raise Unsupported("solver 'cpsat' without OR-tools (pip install 'nvir[solve]')")
    if len(graph) > LARGEST:
        raise Unsupported(f"modulo schedule of {len(graph)} operations, more than {LARGEST}")
    if graph.pipes and len(graph) > THOROUGH:
        effort = "quick"
    bounds = minimum_ii(graph)
    values = values_of(graph, register_edges, sizes)
    if not len(graph):
        return ModuloSchedule(1, (), 1, bounds, "ims", 0)
    pipes = graph.pipes
    if all(cycles == 1 for cycles in graph.intervals) and all(len(p) <= 1 for p in pipes):
        graph = _without_pipes(graph)
    search = IntervalSearch(graph, bounds.mii, budget_s, solver != "none", seed, effort == "quick")
    search.run()
    asks = solver == "cpsat" or (solver == "auto" and cpsat.available())
    share = search.purse.left / (8 if effort == "most" else 2) if asks else 0.0
    found = _of_few_registers(graph, search, values, bounds, effort, register_limit, share)
    if register_limit is not None:
        found = _within_registers(graph, found, values, register_limit)
    if pipes and not graph.pipes:
        found = attrs.evolve(found, pipe=tuple(p[0] if p else "" for p in pipes))
    found = attrs.evolve(found, effort=effort)
    require_schedule(graph, found.ii, found.times, found.pipe if graph.pipes else ())
    return found


def _without_pipes(graph: DependenceGraph) -> DependenceGraph:
    """The graph with pipes as resources, if no operation takes both."""
    if not graph.pipes or any(graph.pipes[n] and r >= 0 for n, r in enumerate(graph.resources)):
        return graph
    nodes = [p[0] if p else name for p, name in zip(graph.pipes, graph.nodes, strict=True)]
    return DependenceGraph(nodes, graph.edges, {**graph.limits, **graph.pipe_units})


@attrs.frozen
class _Candidate:
    """A schedule that is compared with others of the same interval."""

    max_live: int
    method: str
    times: list[int]
    table: ReservationTable


def _of_few_registers(
    graph: DependenceGraph,
    search: IntervalSearch,
    values: Values,
    bounds: MinimumII,
    effort: str,
    limit: int | None,
    share: float,
) -> ModuloSchedule:
    """The schedule that was found with its lives shortened, or one of fewer registers.

    share   seconds of CP-SAT for shorter lives, and for the fewest registers
    """
    ii, times = search.ii, search.times
    weights = weights_at(graph, ii)
    table = search.table or ReservationTable.of(graph, ii, times)
    thorough = bool(graph.pipes) and effort in ("full", "most")
    if table is None or (graph.pipes and not thorough):
        first, pipe = min(times), search.table.pipes if search.table else search.pipes
        times = [t - first for t in times]
        live = measure(values, ii, times).max_live
        return ModuloSchedule(
            ii, tuple(times), search.lower_bound, bounds, search.method, live, pipe=pipe
        )
    best = _candidate(graph, search.method, (times, table), values, weights, thorough)
    wanted = PRESSURE if limit is None else min(PRESSURE, limit)
    least = _least(graph, ii, values, best.max_live, share) if thorough else wanted
    if best.max_live > least and len(graph) <= THOROUGH:
        for other in _others(graph, ii, values, weights, thorough):
            best = min(best, other, key=lambda candidate: candidate.max_live)
    if thorough and best.max_live > least:
        best = min(best, *_annealed(graph, best, values, weights, least), key=lambda c: c.max_live)
    if effort == "most" and best.max_live > least:
        best = min(best, *_flattened(graph, best, values, weights), key=lambda c: c.max_live)
    if thorough and share and best.max_live > least:
        best, least = _solved(graph, best, values, share, least, effort == "full")
    times = fewest_stages(graph, ii, best.times, values, weights[0]) if thorough else best.times
    first = min(times)
    times = [t - first for t in times]
    live = measure(values, ii, times).max_live
    return ModuloSchedule(
        ii, tuple(times), search.lower_bound, bounds, best.method, live,
        pipe=best.table.pipes, live_bound=least if thorough else 0,
    )


def _least(graph: DependenceGraph, ii: int, values: Values, reached: int, share: float) -> int:
    """Registers that every schedule needs; no more is proven than one with `reached` asks for."""
    from nvir.sm.schedule.live_bound import LARGEST, live_around, registers_needed

    least = min_avg(graph, ii, values)
    if least == reached or len(graph) > LARGEST:
        return least
    if share:
        return registers_needed(graph, ii, values, cuts=True)
    return max(least, live_around(graph, ii, values))


def _annealed(
    graph: DependenceGraph, best: _Candidate, values: Values, weights: tuple[Weighted, Weighted],
    least: int,
) -> Iterator[_Candidate]:
    """What trading places makes of a schedule, its slots being dealt out anew between.

    least   registers with which it is done
    """
    from nvir.sm.schedule.anneal import Annealer
    from nvir.sm.schedule.deal import deal_anew

    ii = best.table.ii
    table = ReservationTable.of(graph, ii, best.times, best.table.pipes)
    if table is None:
        return
    states = [Annealer(graph, table, best.times, values, weights)]
    states[0].shorten()
    for deal in range(DEALS):
        shortest = min(states, key=lambda state: sum(state.lives))
        dealt = deal_anew(graph, shortest.table, shortest.times, weights)
        if dealt is None:
            break
        states.append(Annealer(graph, dealt[1], dealt[0], values, weights, seed=2 + deal))
        states[-1].shorten()
    state = min(states, key=lambda state: sum(state.lives))
    live = measure(values, ii, state.times).max_live
    if live > least:
        live = measure(values, ii, state.level()).max_live
    yield _Candidate(live, best.method, state.times, state.table)


def _flattened(
    graph: DependenceGraph, best: _Candidate, values: Values, weights: tuple[Weighted, Weighted]
) -> Iterator[_Candidate]:
    """What long annealing makes of a schedule, slots that stand out being worn down."""
    from nvir.sm.schedule.anneal import Annealer

    ii = best.table.ii
    table = ReservationTable.of(graph, ii, best.times, best.table.pipes)
    if table is None:
        return
    state = Annealer(graph, table, best.times, values, weights)
    for times in state.flatten():
        found = ReservationTable.of(graph, ii, times, state.table.pipes)
        if found is not None:
            yield _Candidate(measure(values, ii, times).max_live, best.method, times, found)


def _solved(
    graph: DependenceGraph, best: _Candidate, values: Values, share: float, least: int, lives: bool
) -> tuple[_Candidate, int]:
    """What CP-SAT makes of a schedule, and how many registers it proves to be needed.

    share   seconds of CP-SAT for each of the questions that are put
    lives   whether lives are to be shortened first, which after long annealing gains nothing
    """
    ii = best.table.ii

    def better(solution: cpsat.Solution | None) -> _Candidate:
        _, times, pipes = solution or (None, [], [])
        table = ReservationTable.of(graph, ii, times, pipes) if times else None
        if table is None or (live := measure(values, ii, times).max_live) >= best.max_live:
            return best
        return _Candidate(live, best.method, times, table)

    if lives:
        best = better(cpsat.solve(graph, ii, share, hint=_early(best), values=values))
    least, solution = cpsat.fewest_registers(graph, ii, values, share, _early(best), least)
    return better(solution), least


def _early(found: _Candidate) -> list[int]:
    """The starts of a schedule from its first interval on."""
    first = min(found.times) // found.table.ii * found.table.ii
    return [t - first for t in found.times]


def _candidate(
    graph: DependenceGraph,
    method: str,
    found: tuple[list[int], ReservationTable],
    values: Values,
    weights: tuple[Weighted, Weighted],
    thorough: bool,
) -> _Candidate:
    times, table = found
    rounds = SWEEPS if thorough else 1
    times = shorten(graph, table.ii, times, values, weights, table, rounds)
    return _Candidate(measure(values, table.ii, times).max_live, method, times, table)


def _others(
    graph: DependenceGraph,
    ii: int,
    values: Values,
    weights: tuple[Weighted, Weighted],
    thorough: bool,
) -> Iterator[_Candidate]:
    """What swing scheduling and iterative scheduling in both directions find at an interval."""
    budget = BUDGET_RATIO * len(graph) + 16 if graph.pipes else 0
    for snug in (False, True) if graph.pipes else (False,):
        found = swing_modulo_schedule(graph, ii, budget, snug=snug, weights=weights)
        if found is not None:
            yield _candidate(graph, "swing", found, values, weights, thorough)
            break
    for backward in (True, False) if thorough else (False,):
        found = place_by_height(graph, ii, backward=backward, weights=weights)
        if found is not None:
            yield _candidate(graph, "ims", found, values, weights, thorough)


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
        for other in _others(graph, ii, values, weights_at(graph, ii), True):
            if other.max_live < best.max_live:
                first = min(other.times)
                best = attrs.evolve(
                    found, ii=ii, times=tuple(t - first for t in other.times),
                    method=other.method, max_live=other.max_live, pipe=other.table.pipes,
                )
    return attrs.evolve(best, within_limit=best.max_live <= limit)
