"""The sub-partition, cycle after cycle: which warp issues, and why the others do not.

    issue     `issue_width` warp instructions a cycle; each warp in order, at most one a cycle
    waits     a slot issues when what it reads is there: fixed latencies by the profile's table,
              scoreboards when the memory system says
    pipes     an operation keeps a unit of one of its pipes busy for its interval
    stalls    where the machine code encodes them, so many cycles before the warp's next issue; they
              have the pipes in view, so that one warp alone waits for none
    branch    else the way back to the header costs TAKEN_BRANCH cycles
    barrier   a warp waits until all warps of its block have come
    choice    of the warps that can issue: the one that issued last, else the youngest

The other sub-partitions of the SM are taken to do the same: pipes and bandwidth that the SM shares
have the interval of a fair share.

Method  Warps that wait for data stand in a queue by time; the others in one bit set for each set
        of pipes, so that an issue looks at no warp but its own. A loop soon repeats itself: where
        all that decides what follows (`steady.py`) is as it was some cycles before, the run goes
        on as it went from then to now, and whole periods are added instead of simulated.
Cost    about 2 us an issue, of the issues until the run repeats itself, and of one period more.
Source  stall counts that ptxas 13.0 encodes (benchmarks/simulate.py compares); the choice:
        R. Huerta et al., "Analyzing Modern NVIDIA GPU Cores", 2025
"""

from __future__ import annotations

import heapq
from typing import Any

from nvir.ir.errors import NvirError
from nvir.sm.simulate.memory import Memory, MemorySystem
from nvir.sm.simulate.result import REASONS, Event, Simulation
from nvir.sm.simulate.steady import Repetition
from nvir.sm.simulate.stream import Slot, Stream, Wait

TAKEN_BRANCH = 5  # the stall count of 244 of 250 branches in the examples' machine code, sm_80
# From sm_90 on a branch right behind another instruction has one cycle more.
BRANCH_GAP = 7  # cycles at least from the issue before a taken branch to the one behind it
MAX_ISSUES = 5_000_000
NEVER = 1 << 60


def simulate(
    stream: Stream, *, warps: int = 1, iterations: int = 32, warps_per_block: int | None = None,
    memory: Memory | str = "l1", timeline: bool = False, stalls: bool = True,
) -> Simulation:
    """Run `warps` warps of a loop for some iterations on one sub-partition.

    warps            resident on the sub-partition (a quarter of the SM's)
    iterations       of each warp, 4 or more; the figures are those of the middle half of all
                     iterations that ended
    warps_per_block  that meet at a barrier; all by default
    memory           where accesses hit: a `Memory`, or the name of a level
    timeline         keep every issue in `events`
    stalls           False: only `cycles_per_iteration` is wanted. Nothing is booked on reasons and
                     pipes, and the run ends where the steady state does
    Raises NvirError for figures out of range.
    """
    if warps < 1 or iterations < 4:
        raise NvirError(f"needs a warp and 4 iterations: {warps} warps, {iterations} iterations")
    if warps * iterations * len(stream.slots) > MAX_ISSUES:
        raise NvirError(f"a simulation of more than {MAX_ISSUES} issues")
    if isinstance(memory, str):
        memory = Memory(memory)
    group = warps if warps_per_block is None else max(1, min(warps, warps_per_block))
    run = Run(stream, warps, iterations, group, memory)
    run.timeline, run.stalls_wanted = timeline, stalls or timeline
    return run.run()


_KNOWN: dict[tuple[Any, ...], float] = {}


def loop_cycles(stream: Stream, *, warps: int, iterations: int, memory: str = "l1") -> float:
    """`cycles_per_iteration` of a simulation. Streams that are alike are simulated once:
    kernels made from one template, and copies of a function, have the same loops."""
    slots = tuple([s.figures for s in stream.slots])
    key = stream.profile, slots, warps, iterations, memory
    if key not in _KNOWN:
        if len(_KNOWN) > 1024:
            _KNOWN.clear()
        run = simulate(stream, warps=warps, iterations=iterations, memory=memory, stalls=False)
        _KNOWN[key] = run.cycles_per_iteration
    return _KNOWN[key]


def throughput(
    stream: Stream, *, warps: int, iterations: int, memory: str = "l1"
) -> float:
    """`cycles_per_warp_iteration` of a simulation, as `loop_cycles`."""
    return loop_cycles(stream, warps=warps, iterations=iterations, memory=memory) / warps


class Warp:
    """Where a warp stands, and since when what it waits for is there.

    able       the cycle from which its next slot may issue, pipes aside
    segments   (reason, cycle up to which): why it could not issue before
    made       iteration mod depth -> slot -> when the slot issued; of an access of memory: when
               its data is there; and, behind those of all slots, when each issued
    """

    __slots__ = ("able", "iteration", "last", "made", "number", "place", "segments")

    def __init__(self, number: int, slots: int, depth: int) -> None:
        self.number = number
        self.place = self.iteration = 0
        self.last = -1
        self.able = 0
        self.segments: list[tuple[str, int]] = []
        self.made = [[-1] * (2 * slots) for _ in range(depth)]


class Run:
    """The state of one simulation."""

    def __init__(
        self, stream: Stream, warps: int, iterations: int, group: int, memory: Memory
    ) -> None:
        self.stream, self.slots = stream, stream.slots
        self.iterations, self.group = iterations, group
        self.timeline, self.stalls_wanted = False, True
        self.depth = 2 + max((w.distance for s in self.slots for w in s.waits), default=0)
        self.warps = [Warp(n, len(self.slots), self.depth) for n in range(warps)]
        self.running = warps if self.slots else 0
        self.alone = warps == 1 and all(s.stall for s in self.slots)
        self.memory = MemorySystem(memory, stream.profile)
        self.width = stream.profile.issue_width or warps
        # pipe -> when each of its units is free, a heap
        self.free = {p: [0] * pipe.units for p, pipe in stream.profile.pipes.items()}
        self.branch_gap = BRANCH_GAP if "branch_gap" in stream.profile.features else 0
        self.span, self.count = warps, len(self.slots)
        self.waits = [
            [self._wait(w) for w in s.waits if self._is_felt(w, n)]
            for n, s in enumerate(self.slots)
        ]
        self.is_source = [False] * (2 * self.count)  # whether a slot's time is asked for
        for waits in self.waits:
            for source, _, _, _ in waits:
                self.is_source[source] = True
        self.queue: list[int] = []  # able · warps + number, of the warps that wait for data
        kinds = list(dict.fromkeys(s.pipes for s in self.slots))
        self.kind = [kinds.index(s.pipes) for s in self.slots]  # slot -> its set of pipes
        self.units = [[self.free[p] for p in pipes] for pipes in kinds]
        self.open = [0] * len(kinds)  # since when a unit of that set is free
        self.ready = [0] * len(kinds)  # the warps that wait for one, a bit each
        self.kinds_of = {p: [k for k, pipes in enumerate(kinds) if p in pipes] for p in self.free}
        self.facts = [
            (s, self._own_unit(s), s.levels, self.is_source[n], self.is_source[n + self.count],
             s.kind == "barrier")
            for n, s in enumerate(self.slots)
        ]
        self.issues = 0  # that were simulated
        self.busy = dict.fromkeys(self.free, 0)
        self.stalls = dict.fromkeys(REASONS, 0)
        self.events: list[Event] = []
        self.arrived: dict[int, list[Warp]] = {}
        self.ends: list[int] = []  # when iterations of any warp were closed
        self.first = warps * (iterations // 4)  # so many are closed before the steady state
        self.last = self.first + warps * (iterations // 2)  # and so many behind it

    def _own_unit(self, s: Slot) -> tuple[list[int], int, int] | None:
        """The one unit of the one pipe that runs a slot, its set of pipes, where no other set
        holds that pipe, and for how long it is busy."""
        if self.alone or len(s.pipes) != 1 or len(self.free[s.pipes[0]]) > 1:
            return None
        sets = self.kinds_of[s.pipes[0]]
        return (self.free[s.pipes[0]], sets[0], s.interval) if len(sets) == 1 else None

    def _is_felt(self, w: Wait, place: int) -> bool:
        """Whether a slot could ever wait: the slots in between take a cycle each."""
        between = place - w.slot + w.distance * self.count
        by_memory = self.slots[w.slot].levels and not w.operands
        return bool(by_memory) or w.cycles > between or between <= 0

    def _wait(self, w: Wait) -> tuple[int, int, int, str]:
        """(slot, distance, cycles from what `Warp.made` says, reason)"""
        s = self.slots[w.slot]
        if w.operands:
            return w.slot + self.count, w.distance, w.cycles, "short_scoreboard"
        if s.levels:
            return w.slot, w.distance, 0, "long_scoreboard"
        reason = f"{s.scoreboard}_scoreboard" if s.scoreboard else "wait"
        return w.slot, w.distance, w.cycles, reason

    def run(self) -> Simulation:
        span, queue, ready, opened, ends = self.span, self.queue, self.ready, self.open, self.ends
        warps, kind, width, depth, facts = self.warps, self.kind, self.width, self.depth, self.facts
        waits, take, put, access = self.waits, heapq.heappop, heapq.heappush, self.memory.access
        repetition = None if self.timeline else Repetition.of(self)
        count, issues = self.count, 0
        cycle = issued = chosen = 0  # `chosen`: the bit of the warp that issued last
        for w in warps if self.running else ():
            self._prepare(w)
        booked = self.stalls_wanted
        end = NEVER if booked else self.last
        while self.running and len(ends) < end:
            able = 0
            while not able:
                until = (cycle + 1) * span
                while queue and queue[0] < until:
                    n = take(queue) % span
                    ready[kind[warps[n].place]] |= 1 << n
                soonest = queue[0] // span if queue else NEVER
                for waiting, at in zip(ready, opened, strict=True):
                    if waiting:
                        if at <= cycle:
                            able |= waiting
                        elif at < soonest:
                            soonest = at
                if not able:
                    if soonest >= NEVER:
                        raise NvirError("warps wait at a barrier for others that have ended")
                    cycle, issued, chosen = soonest, 0, 0
            if not able & chosen:
                chosen = 1 << able.bit_length() - 1
            w = warps[chosen.bit_length() - 1]
            place, made = w.place, w.made[w.iteration % depth]
            ready[kind[place]] ^= chosen
            stays = True
            while stays:  # a warp goes on as long as it can: it comes before the others
                s, own, levels, asked, read, meets = facts[place]
                issues += 1
                if booked:
                    self._book(w, cycle, s)
                elif own:
                    units, k, interval = own
                    opened[k] = units[0] = cycle + interval
                elif s.pipes:
                    self._take(s, cycle)
                if levels:
                    made[place] = access(cycle, s.width, levels)
                elif asked:
                    made[place] = cycle
                if read:
                    made[place + count] = cycle
                w.able = at = cycle + (s.stall or 1)
                place += 1
                if place == count:
                    place, at = 0, self._close(w, cycle, s)
                    made, stays = w.made[w.iteration % depth], w.iteration < self.iterations
                w.last, w.place = cycle, place
                if meets:
                    if stays:
                        self._meet(w, cycle)
                    stays = False
                elif stays:
                    for source, distance, cycles, reason in waits[place]:
                        if not distance:
                            t = made[source] + cycles
                        elif distance <= w.iteration:
                            t = w.made[(w.iteration - distance) % depth][source] + cycles
                        else:
                            continue
                        if t > at:
                            at = t
                            if booked:
                                w.segments.append((reason, t))
                    w.able = at
                issued += 1
                if issued >= width:
                    cycle, issued = cycle + 1, 0
                if not place:
                    if repetition is not None and w is repetition.watched:
                        cycle += repetition.skip(cycle, issued, chosen)
                        at, made = w.able, w.made[w.iteration % depth]
                    if len(ends) >= end:
                        break
                if stays and (at > cycle or opened[kind[place]] > cycle):
                    if span > 1:
                        put(queue, at * span + w.number)
                        break
                    cycle, issued = max(at, opened[kind[place]]), 0
        self.issues = issues
        return self._result(cycle)

    # ------------------------------------------------------------- one issue

    def _close(self, w: Warp, cycle: int, s: Slot) -> int:
        """A warp issued an iteration's last slot; the cycle from which it may issue the next."""
        self.ends.append(cycle)
        w.iteration += 1
        if s.kind == "branch" and not s.stall:
            w.able = max(cycle + TAKEN_BRANCH, w.last + self.branch_gap)
        if self.stalls_wanted:
            w.segments = [("branch_resolving", w.able)]
        self.running -= w.iteration == self.iterations
        return w.able

    def _prepare(self, w: Warp) -> None:
        """When a warp that stood still has what its next slot reads, and what it waits for."""
        for source, distance, cycles, reason in self.waits[w.place]:
            if distance > w.iteration:
                continue
            at = w.made[(w.iteration - distance) % self.depth][source] + cycles
            if at > w.able:
                w.able = at
                if self.stalls_wanted:
                    w.segments.append((reason, at))
        heapq.heappush(self.queue, w.able * self.span + w.number)

    def _meet(self, w: Warp, cycle: int) -> None:
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

    def _take(self, s: Slot, cycle: int) -> str:
        """Keep a unit of one of a slot's pipes busy; which pipe."""
        pipe = s.pipes[0] if len(s.pipes) == 1 else min(s.pipes, key=lambda p: self.free[p][0])
        units = self.free[pipe]
        heapq.heapreplace(units, cycle + s.interval)
        for k in () if self.alone else self.kinds_of[pipe]:
            others = self.units[k]
            self.open[k] = units[0] if len(others) == 1 else min(u[0] for u in others)
        return pipe

    def _book(self, w: Warp, cycle: int, s: Slot) -> None:
        """Issue for those who want to know more: stalls, pipes, the timeline."""
        steady = self.first <= len(self.ends) < self.last
        if steady:
            self._account(w, cycle, s)
        pipe = self._take(s, cycle) if s.pipes else ""
        if steady and pipe:
            self.busy[pipe] += s.interval
        if self.timeline:
            end = cycle + s.interval
            self.events.append(Event(w.number, w.place, w.iteration, cycle, end, pipe))
        w.segments = []

    def _account(self, w: Warp, cycle: int, s: Slot) -> None:
        """Book the cycles since a warp's last issue on the reasons that held it."""
        stalls = self.stalls
        stalls["selected"] += 1
        at = w.last + 1
        for reason, until in w.segments:
            if until > at:
                stalls[reason] += until - at
                at = until
        freed = max(at, min(cycle, self.open[self.kind[w.place]])) if s.pipes else at
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
