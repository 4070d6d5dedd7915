"""The sub-partition, cycle after cycle: which warp issues, and why the others do not.

    issue     `issue_width` warp instructions a cycle; each warp in order, at most one a cycle
    waits     a slot issues when what it reads is there: fixed latencies by the profile's table,
              scoreboards when the memory system says
    pipes     an operation keeps a unit of one of its pipes busy for its interval
    branch    the way back to the header costs TAKEN_BRANCH cycles
    barrier   a warp waits until all warps of its block have come
    choice    of the warps that can issue: the one that issued last, else the youngest

The other sub-partitions of the SM are taken to do the same: pipes and bandwidth that the SM shares
have the interval of a fair share.

Cost      one step for each issue and each change of who can issue; about 3 us an issue.
Source    stall counts that ptxas 13.0 encodes (benchmarks/simulate.py compares); the choice:
          R. Huerta et al., "Analyzing Modern NVIDIA GPU Cores", 2025
"""

from __future__ import annotations

from nvir.ir.errors import NvirError
from nvir.sm.simulate.memory import Memory, MemorySystem
from nvir.sm.simulate.result import REASONS, Event, Simulation
from nvir.sm.simulate.stream import Slot, Stream

TAKEN_BRANCH = 5  # the stall count of 244 of 250 branches in the examples' machine code, sm_80
# From sm_90 on a branch right behind another instruction has one cycle more.
BRANCH_GAP = 7  # cycles at least from the issue before a taken branch to the one behind it
MAX_ISSUES = 5_000_000
NEVER = 1 << 60


def simulate(
    stream: Stream, *, warps: int = 1, iterations: int = 32, warps_per_block: int | None = None,
    memory: Memory | str = "l1", timeline: bool = False,
) -> Simulation:
    """Run `warps` warps of a loop for some iterations on one sub-partition.

    warps            resident on the sub-partition (a quarter of the SM's)
    iterations       of each warp, 4 or more; the figures are those of the middle half of all
                     iterations that ended
    warps_per_block  that meet at a barrier; all by default
    memory           where accesses hit: a `Memory`, or the name of a level
    timeline         keep every issue in `events`
    Raises NvirError for figures out of range.
    """
    if warps < 1 or iterations < 4:
        raise NvirError(f"needs a warp and 4 iterations: {warps} warps, {iterations} iterations")
    if warps * iterations * len(stream.slots) > MAX_ISSUES:
        raise NvirError(f"a simulation of more than {MAX_ISSUES} issues")
    if isinstance(memory, str):
        memory = Memory(memory)
    group = warps if warps_per_block is None else max(1, min(warps, warps_per_block))
    return _Run(stream, warps, iterations, group, memory, timeline).run()


class _Warp:
    """Where a warp stands, and since when what it waits for is there.

    able       the cycle from which its next slot may issue, pipes aside
    segments   (reason, cycle up to which): why it could not issue before
    """

    __slots__ = ("able", "done", "issued", "iteration", "last", "number", "place", "segments")

    def __init__(self, number: int, slots: int, depth: int) -> None:
        self.number = number
        self.place = self.iteration = 0
        self.last = -1
        self.able = 0
        self.segments: list[tuple[str, int]] = []
        self.issued = [[-1] * depth for _ in range(slots)]  # slot -> iteration mod depth -> cycle
        self.done = [[-1] * depth for _ in range(slots)]  # of memory: when the data is there


class _Run:
    def __init__(
        self, stream: Stream, warps: int, iterations: int, group: int, memory: Memory,
        timeline: bool,
    ) -> None:
        self.stream, self.slots = stream, stream.slots
        self.iterations, self.group, self.timeline = iterations, group, timeline
        self.depth = 2 + max((w.distance for s in self.slots for w in s.waits), default=0)
        self.warps = [_Warp(n, len(self.slots), self.depth) for n in range(warps)]
        self.memory = MemorySystem(memory, stream.profile)
        self.width = stream.profile.issue_width or warps
        self.free = {p: [0] * pipe.units for p, pipe in stream.profile.pipes.items()}
        self.units = [[self.free[p] for p in s.pipes] for s in self.slots]
        self.branch_gap = BRANCH_GAP if stream.profile.capability >= 90 else 0
        self.many = any(len(u) > 1 or len(u[0]) > 1 for u in self.units if u)
        self.busy = dict.fromkeys(self.free, 0)
        self.stalls = dict.fromkeys(REASONS, 0)
        self.events: list[Event] = []
        self.arrived: dict[int, list[_Warp]] = {}
        self.ends: list[int] = []  # when iterations of any warp were closed
        self.first = warps * (iterations // 4)  # so many are closed before the steady state
        self.last = self.first + warps * (iterations // 2)  # and so many behind it

    def run(self) -> Simulation:
        cycle = issued = 0
        running = [w for w in self.warps if self.slots]
        for w in running:
            self._prepare(w)
        last: _Warp | None = None
        while running:
            last, soonest = self._choose(running, cycle, last)
            if last is None:
                if soonest >= NEVER:
                    raise NvirError("warps wait at a barrier for others that have ended")
                cycle, issued = soonest, 0
                continue
            if self._issue(last, cycle):
                running.remove(last)
            issued += 1
            if issued >= self.width:
                cycle, issued = cycle + 1, 0
        return self._result(cycle)

    def _choose(
        self, running: list[_Warp], cycle: int, last: _Warp | None
    ) -> tuple[_Warp | None, int]:
        """The warp that issues now; else None, and the next cycle in which one can."""
        best: _Warp | None = None
        soonest = NEVER
        for w in running:
            at = w.able
            units = self.units[w.place]
            if units:
                until = _soonest(units) if self.many else units[0][0]
                if until > at:
                    at = until
            if at > cycle:
                if at < soonest:
                    soonest = at
            elif w is last:
                return w, cycle
            elif best is None or w.number > best.number:
                best = w
        return best, soonest

    # ------------------------------------------------------------- one issue

    def _issue(self, w: _Warp, cycle: int) -> bool:
        """Issue a warp's slot; whether that was its last."""
        s, place, iteration = self.slots[w.place], w.place, w.iteration
        steady = self.first <= len(self.ends) < self.last
        if steady:
            self._account(w, cycle, s)
        pipe = self._take(s, cycle, steady) if s.pipes else ""
        if self.timeline:
            end = cycle + s.interval
            self.events.append(Event(w.number, place, iteration, cycle, end, pipe))
        before, column = w.last, iteration % self.depth
        w.issued[place][column] = w.last = cycle
        if s.levels:
            w.done[place][column] = self.memory.access(cycle, s.width, s.levels)
        w.place += 1
        w.segments = []
        w.able = cycle + 1
        if w.place == len(self.slots):
            self.ends.append(cycle)
            w.place, w.iteration = 0, iteration + 1
            if s.kind == "branch":
                w.able = max(cycle + TAKEN_BRANCH, before + self.branch_gap)
            w.segments = [("branch_resolving", w.able)]
            if w.iteration == self.iterations:
                return True
        if s.kind == "barrier":
            self._meet(w, cycle)
        else:
            self._prepare(w)
        return False

    def _prepare(self, w: _Warp) -> None:
        """When a warp's next slot has what it reads, and what it waits for until then."""
        for wait in self.slots[w.place].waits:
            iteration = w.iteration - wait.distance
            if iteration < 0:
                continue
            column = iteration % self.depth
            source = self.slots[wait.slot]
            if source.levels:
                at, reason = w.done[wait.slot][column], "long_scoreboard"
            else:
                at, reason = w.issued[wait.slot][column] + wait.cycles, "wait"
                if source.scoreboard is not None:
                    reason = f"{source.scoreboard}_scoreboard"
            if at > w.able:
                w.able = at
                w.segments.append((reason, at))

    def _meet(self, w: _Warp, cycle: int) -> None:
        """A warp came to a barrier: it goes on when the last of its block has come."""
        block = w.number // self.group
        here = self.arrived.setdefault(block, [])
        here.append(w)
        members = min(self.group, len(self.warps) - block * self.group)
        if len(here) < members:
            w.able = NEVER
            return
        del self.arrived[block]
        for other in here:
            other.able = cycle + 1
            other.segments = [("barrier", cycle + 1)]
            self._prepare(other)

    def _take(self, s: Slot, cycle: int, steady: bool) -> str:
        """Keep a unit of one of a slot's pipes busy; which pipe."""
        pipe = s.pipes[0] if len(s.pipes) == 1 else min(s.pipes, key=lambda p: min(self.free[p]))
        units = self.free[pipe]
        units[units.index(min(units))] = cycle + s.interval
        if steady:
            self.busy[pipe] += s.interval
        return pipe

    def _account(self, w: _Warp, cycle: int, s: Slot) -> None:
        """Book the cycles since a warp's last issue on the reasons that held it."""
        stalls = self.stalls
        stalls["selected"] += 1
        at = w.last + 1
        for reason, until in w.segments:
            if until > at:
                stalls[reason] += until - at
                at = until
        units = self.units[w.place]
        freed = max(at, min(cycle, _soonest(units))) if units else at
        stalls[s.throttle] += freed - at
        stalls["not_selected"] += cycle - freed

    # ------------------------------------------------------------- figures

    def _result(self, cycles: int) -> Simulation:
        window = max(1, self.ends[self.last - 1] - self.ends[self.first - 1])
        count = (self.last - self.first) // len(self.warps)
        units = {p: len(u) for p, u in self.free.items()}
        used = {p: n / (window * units[p]) for p, n in self.busy.items() if n}
        used["issue"] = self.stalls["selected"] / (window * self.width)
        return Simulation(
            len(self.warps), self.iterations, cycles, window / count, self.stalls,
            {p: min(1.0, share) for p, share in used.items()}, tuple(self.events),
            tuple(s.name for s in self.slots),
        )


def _soonest(units: list[list[int]]) -> int:
    """When the first unit of some pipes is free."""
    return min(min(u) for u in units)
