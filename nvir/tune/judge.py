"""Cycles of a whole kernel by its machine code: of one warp alone, and at full occupancy.

One warp issues in order: an instruction goes when its stall count is over and the scoreboards that
it waits for are free, a load's after the latency of the level that is stated. A loop is gone
through twice; its second iteration is what each further one takes. Code without control words (a
prediction) waits for its registers instead.

At full occupancy a sub-partition has so many warps that the kernel's registers, shared memory and
block size allow. Each loop then takes for one warp the larger of what its instructions keep pipes
and issue slots busy, and of one warp's time over the number of warps.

Cost    some 3 µs an instruction, twice for each level of loops around it; of a nest of more than
        TWICE levels the outer ones are gone through once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import lru_cache
from typing import NamedTuple

from nvir.ir.errors import Unsupported
from nvir.sm.body import BodyInstruction, BodyLoop, MachineBody
from nvir.sm.profile import Profile, resource_bound
from nvir.sm.simulate.body import OPERANDS_READ, awaited
from nvir.tune.assembled import BUILT
from nvir.tune.candidates import number
from nvir.tune.weights import OFTEN, RunWeights

TWICE = 8  # levels of loops in each other whose further iterations are looked at by themselves
BRANCH = 5  # cycles of a taken branch where no stall count says it
UNKNOWN = 20  # latency of an operation that the profile does not know
_LOCAL = frozenset(("LDL", "STL"))  # spilled registers: they stay near


class Cycles(NamedTuple):
    """Of a kernel for one warp: alone, and as its share of a sub-partition that is full."""

    one_warp: float
    full: float


class KernelTime(NamedTuple):
    """A warp's cycles and what it keeps pipes busy, each by the innermost loop's header, or -1.

    shares  of each of these, what it spends on a loop of the kernel by the loop's name, or ""
    """

    spent: dict[int, float]
    busy: dict[int, float]
    shares: dict[int, Counter[str]]

    def cycles(self, warps: float) -> Cycles:
        """Of so many warps on a sub-partition."""
        return Cycles(sum(self.spent.values()), sum(self._full(k, warps) for k in self.spent))

    def of_loops(self, warps: float) -> Counter[str]:
        """The cycles at full occupancy of each of the kernel's loops, without those in it; of what
        stands in none as ""."""
        found: Counter[str] = Counter()
        for k, shares in self.shares.items():
            whole = self._full(k, warps) / max(shares.total(), 1e-9)
            for name, n in shares.items():
                found[name] += n * whole  # type: ignore[assignment]  # cycles
        return found

    def _full(self, k: int, warps: float) -> float:
        return max(self.spent[k] / max(warps, 0.25), self.busy[k])


def kernel_time(
    body: MachineBody, profile: Profile, weights: RunWeights, level: str
) -> KernelTime:
    """The time of a body; `level` is where global loads hit."""
    walk = _Walk(body, profile, weights, level)
    walk.region(None, 1.0)
    return KernelTime(walk.spent, walk.busy, walk.shares)


class _Step(NamedTuple):
    """What is asked of a machine instruction each time that it is issued.

    waits    scoreboards, and how many users of each may be left
    latency  of what it loads or copies
    within   the loop that it is of; None: that of what is before it
    """

    made: BodyInstruction
    family: str
    waits: tuple[tuple[int, int], ...]
    latency: float
    within: str | None


class _Walk:
    """One warp on its way through a body. Sums are by the innermost loop's header, or -1."""

    def __init__(
        self, body: MachineBody, profile: Profile, weights: RunWeights, level: str
    ) -> None:
        self.body, self.profile, self.weights, self.level = body, profile, weights, level
        self.time = 0.0
        self.barriers: list[list[float]] = [[] for _ in range(6)]  # when each user is done
        self.copied = 0.0  # when the asynchronous copies that were issued are
        self.made: dict[tuple[str, int], tuple[float, str]] = {}
        self.spent: defaultdict[int, float] = defaultdict(float)
        self.busy: defaultdict[int, float] = defaultdict(float)
        self.shares: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self.within = ""  # what a pass built belongs to the loop of what is before it
        self.steps: dict[int, list[_Step]] = {}
        self.levels: dict[int, int] = {}  # of loops in a loop, itself among them
        for m in reversed(body.loops):  # inner before outer
            n = self.levels.setdefault(m.header, 1) + 1
            if m.parent is not None:
                self.levels[m.parent.header] = max(self.levels.get(m.parent.header, 1), n)
        self.bounds = [
            _bound(profile, tuple(i.opcode for i in b.instructions)) for b in body.blocks
        ]

    def region(self, around: BodyLoop | None, times: float) -> None:
        """Go once through a loop's blocks, or the whole body; it counts `times`."""
        times = min(times, OFTEN)
        inside = sorted(around.blocks) if around is not None else range(len(self.body.blocks))
        done: set[int] = set()
        for b in inside:
            inner = self.body.blocks[b].loop
            if inner is around:
                self._block(b, times)
                continue
            while inner is not None and inner.parent is not around:
                inner = inner.parent
            if inner is not None and inner.header not in done:
                done.add(inner.header)
                self._loop(inner, times)

    def _loop(self, m: BodyLoop, times: float) -> None:
        trips = self.weights.trips.get(m.header, 1.0)
        if trips <= 0:
            return
        if self.levels[m.header] > TWICE:
            self.region(m, times * trips)
            return
        self.region(m, times * min(trips, 1.0))
        if trips > 1:
            self.region(m, times * (trips - 1))

    def _block(self, b: int, times: float) -> None:
        times *= self.weights.blocks.get(b, 1.0)
        if times <= 0:
            return
        block = self.body.blocks[b]
        key = block.loop.header if block.loop is not None else -1
        start = self.time
        shares = self.shares[key]
        steps = self.steps.get(b)
        if steps is None:
            steps = self.steps[b] = [self._step(i) for i in block.instructions]
        for x in steps:
            before = self.time
            if x.made.control is not None:
                self._issue(x)
            else:
                self._depend(x.made)
            self.within = self.within if x.within is None else x.within
            shares[self.within] += (self.time - before) * times  # type: ignore[assignment]  # cycles
        self.spent[key] += (self.time - start) * times
        self.busy[key] += self.bounds[b] * times

    def _step(self, i: BodyInstruction) -> _Step:
        within = self.weights.owners.get(number(i.line), None if i.line & BUILT else "")
        latency = _latency(self.profile, i.opcode, "", self.level)
        return _Step(i, i.family, tuple(awaited(i).items()), latency, within)

    def _issue(self, x: _Step) -> None:
        c = x.made.control
        assert c is not None
        time = self.time
        for k, left in x.waits:
            users = self.barriers[k]
            done = users[: len(users) - left]
            time = max([time, *done])
            self.barriers[k] = users[len(done) :]
        if x.family == "LDGSTS":
            self.copied = time + x.latency
        if c.write_barrier is not None:
            ready = time + x.latency
            ready = max(ready, self.copied) if x.family == "LDGDEPBAR" else ready
            self.barriers[c.write_barrier].append(ready)
        if c.read_barrier is not None:
            self.barriers[c.read_barrier].append(time + OPERANDS_READ)
        self.time = time + max(c.stall, 1)

    def _depend(self, i: BodyInstruction) -> None:
        time = self.time
        for file, first, words in i.reads:
            for w in range(first, first + words):
                found = self.made.get((file, w))
                if found is not None:
                    at = found[0] + _latency(self.profile, found[1], i.opcode, self.level)
                    time = max(time, at)
        for file, first, words in i.writes:
            for w in range(first, first + words):
                self.made[file, w] = time, i.opcode
        self.time = time + (BRANCH if i.family == "BRA" else 1)


@lru_cache(1 << 16)
def _latency(profile: Profile, opcode: str, reader: str, level: str) -> float:
    level = "l1" if opcode.partition(".")[0] in _LOCAL else level
    try:
        return float(profile.latency(opcode, reader or None, level=level))
    except Unsupported:
        return UNKNOWN


@lru_cache(1 << 14)
def _bound(profile: Profile, opcodes: tuple[str, ...]) -> float:
    """Cycles that a block keeps the issue slots or a pipe busy."""
    known = [name for name in opcodes if profile.has(name)]
    missing = (len(opcodes) - len(known)) / (profile.issue_width or 1)
    return float(resource_bound(profile, known).exact) + missing if known else missing
