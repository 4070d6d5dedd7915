"""The climb through the intervals: which II works, which cannot, which is still open.

See `driver` for the order of methods. Verdicts are True (a schedule was found), False (it
is proven that none exists) and None (open).
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator

from nvir.ir.errors import Unsupported
from nvir.sm.graph import DependenceGraph, GraphError
from nvir.sm.schedule import cpsat
from nvir.sm.schedule.bounds import overfull, tighten, turns
from nvir.sm.schedule.core import (
    CoreGroup,
    apart,
    complete,
    core_groups,
    core_size,
    rejoin,
)
from nvir.sm.schedule.exact import Search
from nvir.sm.schedule.ims import BUDGET_RATIO, place_by_height, weights_at
from nvir.sm.schedule.reservations import ReservationTable
from nvir.sm.schedule.sweep import sweep
from nvir.sm.schedule.turns import verdict

WORK_A_SECOND = 800_000
"""Work of the exact search that a second of budget buys: about what Python does in 0.7 s."""
SAFETY = 3
"""Seconds of the processor for one of budget, whatever was counted."""
WIDEST = 1 << 16
"""The II up to which the exact search runs: its slots are bits of one integer."""
HARDEST = 500_000
"""Core operations times edges up to which a core is taken out of its graph."""
PATIENCE = 64
"""Intervals tried one by one before the steps grow."""
SMALL = 80
"""Operations of a graph with pipes up to which quick steps are no larger than others."""
LEARNING = 250
"""Operations up to which failed attempts are repeated with what they learnt,"""
ROUNDS = 4
"""so many times each way."""
CROWDED = 144
"""Operations of recurrences up to which their turns on pipes are counted: 2 s for one interval."""
TURNING = 80
"""As many up to which that is done for one interval after the other, before one is found."""
FIRST = 1000
"""By how much a cycle on a pipe is more urgent than one of a path, where slots are dealt out."""


class CoreProblem:
    """The core of a graph at one II, as far as it is solved.

    verdict  see the module; `schedule` needs True
    work     spent so far
    """

    def __init__(self, graph: DependenceGraph, ii: int, seed: int) -> None:
        self.graph, self.ii, self.seed = graph, ii, seed
        self.method = "exact"
        self.work = 0
        self.verdict: bool | None = None
        self._slots: dict[int, int] = {}
        self._open: list[tuple[CoreGroup, Search]] = []

    def start(self, deadline: float) -> None:
        """The cheap part: the quick test of the resources and a short search."""
        if self.ii > WIDEST or core_size(self.graph) * len(self.graph.edges) > HARDEST:
            return
        groups = core_groups(self.graph, self.ii)
        if any(overfull(group) for group in groups):
            self.verdict = False
            return
        self._open = [(group, Search(group, self.ii, self.seed)) for group in groups]
        size = sum(len(component.nodes) for g in groups for component in g.components)
        self.spend(min(40 * size * size, 400_000) + 5000, deadline)

    def tighten(self) -> None:
        """Lengthens the gaps as the resources force and begins the searches anew with them."""
        for position, (group, _) in enumerate(self._open):
            feasible, work = tighten(group, self.ii)
            self.work += work
            if not feasible:
                self.verdict = False
                return
            self._open[position] = (group, Search(group, self.ii, self.seed))

    def spend(self, work: int, deadline: float) -> None:
        """Searches on, for up to `work`."""
        end = self.work + max(0, work)
        still = []
        for position, (group, search) in enumerate(self._open):
            before = search.work
            portion = (end - self.work) // (len(self._open) - position)
            found = search.run(portion, deadline)
            self.work += search.work - before
            if found is False:
                self.verdict = False
                return
            if found:
                self._slots.update(search.slots)
            else:
                still.append((group, search))
        self._open = still
        if not still:
            self.verdict = True

    def ask_solver(self, limit_s: float) -> None:
        """What is open goes to CP-SAT."""
        still = []
        for group, search in self._open:
            limit = limit_s / len(self._open)
            found, times, _ = cpsat.solve(group.graph(), self.ii, limit, seed=self.seed)
            if found is False:
                self.verdict = False
                return
            if found:
                slots = (t % self.ii for t in times)
                self._slots.update(zip(group.nodes, slots, strict=True))
                self.method = "cpsat"
            else:
                still.append((group, search))
        self._open = still
        if not still:
            self.verdict = True

    @property
    def given_up(self) -> bool:
        """Whether the core is too large to be searched at all."""
        return self.verdict is None and not self._open

    def schedule(self) -> list[int]:
        return complete(self.graph, self.ii, self._slots)


class IntervalSearch:
    """Finds the smallest interval that the budget allows.

    ii, times, method  the best schedule and what found it, after `run`
    table, pipes       its reservations, None where they were not kept, and then its pipes
    lower_bound        the least II that is not proven impossible
    """

    def __init__(
        self,
        graph: DependenceGraph,
        mii: int,
        budget_s: float,
        solver: bool,
        seed: int,
        quick: bool = False,
    ) -> None:
        self.graph, self.mii, self.budget_s, self.seed = graph, mii, budget_s, seed
        self.solver, self.quick = solver, quick
        self.coarse = quick and len(graph) > SMALL  # large steps, and nothing between them
        self.left = int(budget_s * WORK_A_SECOND)
        self.climb = self.left // 4  # for cores met on the way up
        self.purse = cpsat.Purse(budget_s)  # of CP-SAT, for a graph with pipes
        self.deadline = time.process_time() + SAFETY * budget_s
        self.ii, self.method = 0, ""
        self.times: list[int] = []
        self.table: ReservationTable | None = None
        self.pipes: tuple[str, ...] = ()
        self._impossible: set[int] = set()
        self._open: list[CoreProblem] = []

    def run(self) -> None:
        """Raises GraphError where no interval has a schedule, Unsupported where none is found."""
        graph = self.graph
        last = self.mii + len(graph) + sum(abs(latency) for _, _, latency, _ in graph.edges)
        last += sum(graph.intervals)
        below, ii, tries = self.mii - 1, self.mii, 0  # below: the last one asked in full
        while not self._iterative(ii):
            if graph.pipes and ii == self.mii and self._raise_bound():
                below, ii = self.lower_bound - 1, self.lower_bound
                continue
            growing = tries >= PATIENCE
            if not graph.pipes and (self.climb > 0 or growing):
                if self._core(ii):
                    break
                below = ii
            if graph.pipes:
                below = ii
            if ii == self.mii:
                refuse_unschedulable(graph)
            if ii > last:  # beyond any iteration's length, which only fixed offsets can cause
                raise Unsupported(f"modulo schedule of these offsets: none found up to II {ii}")
            tries += 1
            ii += self._step(ii, tries)
        while ii - below > 1 and not self.coarse:  # intervals were left out: look between
            middle = (ii + below) // 2
            if self._iterative(middle) or (not graph.pipes and self._core(middle)):
                ii = middle
            else:
                below = middle
        if not graph.pipes:
            self._improve()
            return
        self._prove_large()
        if self.solver and cpsat.available():
            self._ask_below()

    def _raise_bound(self) -> bool:
        """Whether pipes alone rule out MII, and how much more."""
        core = self._core_nodes
        if self.quick or len(core) > TURNING:
            return False
        inner, high, step = self.graph.part(core), self.mii, 1
        if turns(inner, high) is not None:
            return False
        low = high + 1  # all below are impossible
        while turns(inner, high := high + step, ring=False) is None:
            low, step = high + 1, 2 * step
        while low < high:
            middle = (low + high) // 2
            if turns(inner, middle, ring=False) is None:
                low = middle + 1
            else:
                high = middle
        self._impossible.update(range(self.mii, low))
        while turns(inner, self.lower_bound) is None:
            self._impossible.add(self.lower_bound)
        return True

    @functools.cached_property
    def _core_nodes(self) -> list[int]:
        return [n for members in self.graph.recurrences() for n in members]

    def _prove_large(self) -> None:
        """Of a core for which each interval asked costs seconds: whether the pipes rule out the one
        below what was found."""
        if self.quick or self.ii == self.lower_bound:
            return
        if TURNING < len(self._core_nodes) <= CROWDED and turns(
                self.graph.part(self._core_nodes), self.ii - 1, ring=False) is None:
            self._impossible.update(range(self.mii, self.ii))

    def _step(self, ii: int, tries: int) -> int:
        """How far the next interval is: with pipes the steps grow from the first."""
        if not self.graph.pipes:
            return ii // 8 if tries > PATIENCE else 1
        return 1 + tries * ii // (16 if self.coarse else 64)

    @property
    def lower_bound(self) -> int:
        bound = self.mii
        while bound in self._impossible:
            bound += 1
        return bound

    def _iterative(self, ii: int) -> bool:
        """Whether iterative modulo scheduling works at `ii`; backwards first: fewer registers.

        Where pipes are crowded their operations are put side by side as well, and operations that
        had to be forced in come first in another attempt.
        """
        graph, count = self.graph, len(self.graph)
        weights = weights_at(graph, ii)
        ways = [(True, False), (False, False)]
        rounds = 0
        budget = BUDGET_RATIO * count
        if graph.pipes:
            ways += [(True, True), (False, True)]
            rounds = 0 if self.quick or count > LEARNING else ROUNDS
            budget = (3 if self.quick else BUDGET_RATIO) * count + 16
        for backward, snug in ways:
            found = place_by_height(
                graph, ii, budget, backward=backward, snug=snug, weights=weights
            )
            if found is not None:
                return self._keep(ii, found)
        for backward, snug in ((True, False), (False, True)):
            urgency = [0] * count
            for _ in range(rounds):
                found = place_by_height(
                    graph, ii, budget, backward=backward, snug=snug, weights=weights,
                    urgency=urgency,
                )
                if found is not None:
                    return self._keep(ii, found)
        return bool(rounds) and self._packed(ii)

    def _packed(self, ii: int) -> bool:
        """Whether slots alone can be dealt out at `ii`, those that take long first, or one slot
        after the other: outside of recurrences any will do, in a later iteration."""
        graph = self.graph
        loose = apart(graph)
        for snug in (True, False):
            urgency = [FIRST * cycles for cycles in graph.intervals]
            for _ in range(ROUNDS + 2):
                found = place_by_height(
                    loose, ii, BUDGET_RATIO * len(graph) + 16, snug=snug, urgency=urgency
                )
                if found is not None:
                    return self._keep(ii, (rejoin(graph, ii, found[0]), found[1]))
        found = sweep(loose, ii)
        return found is not None and self._keep(ii, (rejoin(graph, ii, found[0]), found[1]))

    def _keep(self, ii: int, found: tuple[list[int], ReservationTable]) -> bool:
        self.ii, self.method = ii, "ims"
        self.times, self.table = found
        return True

    def _ask_below(self) -> None:
        """The intervals below the one found go to CP-SAT, but for what is proven already, for half
        of the budget: by halves for one that has a schedule, then the open ones from below."""
        low, end = self.lower_bound, self.budget_s / 2
        while low < self.ii and self.purse.left > end:
            middle = (low + self.ii) // 2
            if not self._ask(middle, (self.purse.left - end) / 4):
                low = middle + 1
        for ii in range(self.lower_bound, self.ii):
            if ii in self._impossible:
                continue
            if self.purse.left <= end or self._ask(ii, self.purse.left - end):
                return

    def _ask(self, ii: int, limit_s: float) -> bool:
        """Whether CP-SAT finds a schedule of an interval, which is kept then."""
        found, times, pipes = verdict(self.graph, ii, limit_s, self.seed, self.purse)
        if found is False:
            self._impossible.add(ii)
        elif found:
            self.ii, self.times, self.method = ii, times, "cpsat"
            self.table = ReservationTable.of(self.graph, ii, times, pipes)
            self.pipes = tuple(pipes)
        return bool(found)

    def _core(self, ii: int) -> bool:
        """Whether the cheap part of the core's methods works at `ii`."""
        if time.process_time() > self.deadline:
            return False
        problem = CoreProblem(self.graph, ii, self.seed)
        problem.start(self.deadline)
        self.climb -= problem.work
        if not problem.given_up:
            self._note(problem)
        return problem.verdict is True

    def _note(self, problem: CoreProblem) -> None:
        """Books a problem by its verdict."""
        if problem.verdict is None:
            self._open.append(problem)
        elif problem.verdict:
            self.ii, self.times, self.table = problem.ii, problem.schedule(), None
            self.method = problem.method
        else:
            self._impossible.add(problem.ii)

    def _improve(self) -> None:
        """Spends the budget on the open intervals below the best, the lowest first."""
        portion = self.left // (4 * max(1, len(self._open)))
        for problem in self._still_open():
            if time.process_time() < self.deadline:
                problem.tighten()
            self._spend(problem, portion)
        self._search_on(portion, self.left // 2 if self.solver else 0)
        if self.solver and cpsat.available():
            share = self.budget_s / 2
            for problem in self._still_open():
                problem.ask_solver(share)
                share /= 2
                self._note(problem)
        self._search_on(portion, 0)

    def _search_on(self, portion: int, rest: int) -> None:
        """Rounds of growing portions over the open intervals until only `rest` is left."""
        while self._open and self.left > rest and time.process_time() < self.deadline:
            portion = max(1, 2 * portion)
            for problem in self._still_open():
                self._spend(problem, min(portion, self.left - rest))

    def _spend(self, problem: CoreProblem, portion: int) -> None:
        before = problem.work
        if problem.verdict is None:
            problem.spend(portion, self.deadline)
        self.left -= max(1, problem.work - before)
        self._note(problem)

    def _still_open(self) -> Iterator[CoreProblem]:
        """Takes the open problems off the list, the lowest first, as long as they would help."""
        problems = sorted(self._open, key=lambda problem: problem.ii)
        self._open = []
        for problem in problems:
            if problem.ii < self.ii:
                yield problem


def refuse_unschedulable(graph: DependenceGraph) -> None:
    """Raises GraphError where operations of one iteration can never share their resources.

    Only cycles of distance zero can force that: they fix operations to each other within
    an iteration, whatever the II.
    """
    edges = [edge for edge in graph.edges if not edge[3] and edge[0] != edge[1]]
    fixed = DependenceGraph(graph.nodes, edges, graph.limits)
    if not fixed.recurrences() or core_size(fixed) * len(edges) > HARDEST:
        return
    apart = 2 + 2 * sum(abs(latency) for _, _, latency, _ in edges)  # an II that cuts nothing
    for group in core_groups(fixed, apart):
        for component in group.components:
            alone = CoreGroup([component], group.units)
            span = 1 - min(map(min, component.gap))  # no two operations are further apart
            if overfull(alone) or (
                span <= WIDEST and Search(alone, span).run(WORK_A_SECOND) is False
            ):
                who = ", ".join(str(u) for u in component.nodes)
                names = {graph.nodes[u] for u in component.nodes}
                what = ", ".join(sorted(repr(name) for name in names))
                raise GraphError(
                    f"nodes {who}: their dependences of distance 0 leave too few cycles for "
                    f"the units of {what}, so no initiation interval has a schedule"
                )
