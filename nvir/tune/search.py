"""Which candidates of a kernel are tried, and which is taken.

First each loop by itself, the settings of all kernels in one module, in turn until the file's
candidates are large enough; then of loops that gain what there was no room for, then the best
settings of several loops together, the most gainful first, and launch bounds. Where there is no
room for each loop by itself, the candidates of the largest kernels have a setting of every loop
each, whose cycles are told apart by loops.

A candidate is out where it spills more than the kernel as it is, where no block fits an SM, or
where one of its figures, one warp's cycles or those at full occupancy, is more than WORSE of the
kernel's. Of the others the fastest at full occupancy is taken; of those within TIE of it the one
that is fastest with one warp alone, and of these the first. What is faster by less than TIE at full
occupancy and by less than WORSE alone is no reason to change a kernel; without ptxas, what is
faster by less than MODEL_ERROR, or a warp alone by less than ALONE_ERROR or VERSION_ERROR.

Cost    a copy, assembly and judgement of each candidate, of about `Launches.most` machine
        instructions in all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import filterfalse
from typing import Literal

import attrs

from nvir.analysis.analyses import Analyses
from nvir.analysis.source_loops import parts_by_header
from nvir.assembler.regalloc.targets import ASSUMED_BLOCK, block_threads
from nvir.assembler.unroll.decision import copies
from nvir.ir.bulk import bulk
from nvir.ir.errors import NvirError
from nvir.ir.function import Function
from nvir.ir.module import Module
from nvir.passes.loop.pipeline.choice import PARTITIONS
from nvir.passes.loop.unroll.unroll_decision import decide
from nvir.sm.occupancy import Occupancy, occupancy
from nvir.sm.profile import Profile
from nvir.tune.assembled import Code, assemble, numbered, predict_all, refusal
from nvir.tune.candidates import (
    AS_IT_IS,
    MANY,
    Choices,
    LoopSetting,
    attempt,
    changed,
    clean,
    context,
    known_trips,
    loop_settings,
    most_trips,
    together,
    told_trips,
)
from nvir.tune.judge import Cycles, KernelTime, kernel_time
from nvir.tune.weights import Dealing, KernelLoop, Parts, anchor, kernel_loops, once

WORSE = 1.03
TIE = 1.01
MODEL_ERROR = 1.05  # by which a predicted win has to be larger than nothing
ALONE_ERROR = 1.1  # the same of a warp alone
VERSION_ERROR = 1.7  # of a warp alone in a version of a loop: what nine of ten are within
IN_ORDER = 0.87  # of pairs WORSE apart, in the real order: `benchmarks.tune --model`, half report
COUNTED = 0.1  # of a loop's iterations: how far those of two candidates may be apart
MOST = 230_000  # machine instructions of all candidates of a file, or about as many: 8 s
DEAR = 15  # loops of a kernel that make each of its instructions count twice, as dear to judge
LAST = 0.35  # of these, what the best settings, combinations and launch bounds may have
HOPE = 0.25  # share of a kernel of which no loop gains yet, to one of which one does
COLD = 0.01  # of a kernel's cycles: loops that take less are not tried
INFINITE = 1e9  # warps: no latency is left
LOOPS = 8  # of a kernel, those that run most instructions
PROBED = 4000  # instructions of a kernel up to which counts of loops not asked for are looked up
CROWDED = 2  # candidates that are tried again with fewer registers
FULL = "the file's candidates are large enough"
JudgeName = Literal["sass", "model"]


@attrs.frozen(eq=False)
class Judged:
    """A candidate as it was found, with the time of its parts, its bytes of static shared memory,
    and the cycles at full occupancy of each loop. `is_pareto`: none that may be taken is as good in
    both figures and blocks on an SM, and better in one. `measured`: microseconds of a launch."""

    id: int
    settings: Choices
    registers: int
    spill_bytes: int
    blocks_per_sm: int
    cycles: Cycles
    time: KernelTime
    shared: int
    loops: Mapping[str, float]
    is_pareto: bool = False
    measured: float | None = None


@attrs.define(eq=False)
class KernelTuning:
    """What was found for a kernel. `candidates` begin with the kernel as it is.

    refused   settings that a pass or ptxas did not take, with the reason
    block     threads a block; `block_assumed`: nobody said so
    tried     instructions of all candidates
    """

    name: str
    loops: list[KernelLoop]
    block: int
    block_assumed: bool
    candidates: list[Judged] = attrs.Factory(list)
    refused: list[tuple[Choices, str]] = attrs.Factory(list)
    chosen: int = 0
    tried: int = 0

    @property
    def winner(self) -> Judged:
        return self.candidates[self.chosen]

    @property
    def left_out(self) -> int:
        """Settings that there was no room for."""
        return sum(why == FULL for _, why in self.refused)


@attrs.frozen(eq=False)
class Tuning:
    """The tuning of a module: `judge` says by what, `level` where loads were taken to hit."""

    judge: JudgeName
    arch: str
    level: str
    kernels: list[KernelTuning]
    most: int  # instructions that all candidates were allowed


@attrs.frozen
class Launches:
    """What is known of the runs: threads a block, bytes of dynamic shared memory, trip counts by
    header (or KERNEL:HEADER), those of loops of whose counts nothing else is known (`expected`),
    and where loads hit. `loop`: the only one that is changed; with `every` at each factor together
    with each depth, and with launch bounds at each factor. `most`: machine instructions of all
    candidates."""

    block: int | None = None
    dynamic_smem: int = 0
    trips: Mapping[str, float] = attrs.Factory(dict)
    level: str = "l2"
    launch_bounds: bool = True
    loop: str = ""
    every: bool = False
    most: int = MOST
    expected: Mapping[str, float] = attrs.Factory(dict)


def resident(blocks: int, threads: int) -> float:
    """Warps of a sub-partition that so many blocks of so many threads are."""
    return blocks * -(-threads // 32) / PARTITIONS


def tune(
    module: Module, profile: Profile, arch: str, request: Launches | None = None, *,
    kernels: Iterable[str] | None = None, judge: JudgeName = "sass",
) -> Tuning:
    """Judge candidates of the kernels of a module of level ori, which stays as it is.

    Raises NvirError for a kernel that is not there or that ptxas refuses, ToolMissing where `judge`
    is "sass" and there is no ptxas.
    """
    request = request or Launches()
    names = list(kernels) if kernels is not None else [str(f.name) for f in module.kernels]
    copy = numbered(module, [_kernel(module, n) for n in names])
    searches = [
        _Search(copy, _kernel(copy, n), profile, request,
                parts_by_header(_kernel(module, n), module)) for n in names
    ]
    with bulk():
        _search(searches, copy, arch, profile, judge)
    return Tuning(judge, arch, request.level, [s.found for s in searches], request.most)


def _search(
    searches: Sequence[_Search], copy: Module, arch: str, profile: Profile, judge: JudgeName
) -> None:
    """Try candidates of the kernels of `copy`, in four rounds, and choose."""
    room = searches[0].request.most - sum(s.begin() for s in searches) if searches else 0
    _judge(copy, searches, arch, profile, judge)
    _propose(searches, room)
    _judge(copy, searches, arch, profile, judge)
    _share_out(searches)
    for s in searches:
        s.single_out()
    _judge(copy, searches, arch, profile, judge)
    _share_out(searches)
    for s in searches:
        s.combine()
    _judge(copy, searches, arch, profile, judge)
    for s in searches:
        s.choose(MODEL_ERROR if judge == "model" else 1.0)


def tuned(module: Module, tuning: Tuning, profile: Profile) -> list[str]:
    """Put the chosen candidates in the place of the module's kernels; the names of those that
    were changed."""
    done = [found for found in tuning.kernels if found.chosen]
    for found in done:
        put(module, found.name, found.winner.settings, profile)
    return [found.name for found in done]


def put(module: Module, name: str, settings: Choices, profile: Profile) -> None:
    """Put a candidate in the place of a module's kernel."""
    kernel = _kernel(module, name)
    made, why = changed(kernel, settings, name, context(module, profile))
    if made is None:
        raise NvirError(f"kernel {name}: {why}")
    for held in (module.functions, module.order):
        held[held.index(kernel)] = made


def _kernel(module: Module, name: str) -> Function:
    found = next((f for f in module.kernels if f.name == name), None)
    if found is None:
        known = ", ".join(str(f.name) for f in module.kernels)
        raise NvirError(f"no kernel {name!r}; there are: {known or 'none'}")
    if found.cfg_state != "fresh":
        found.analyze_cfg()
    return found


def _propose(searches: Sequence[_Search], room: float) -> None:
    """Each loop by itself, as long as there is room: settings in turn, more of loops that run a
    larger share of their kernel's instructions, and behind the first more of small kernels. Where
    there is no room for that, of the kernels that need most of it a setting of each loop at a
    time."""
    last = room * LAST
    room -= last
    demands = {s: s.demand() for s in searches}
    for s in sorted(searches, key=lambda s: -demands[s] / max(len(s.found.loops), 1)):
        s.jointly = sum(demands.values()) > room
        demands[s] /= max(len(s.found.loops), 1) if s.jointly else 1
    turns = [(s, share, queues) for s in searches for share, queues in s.turns()]
    heap = [(-share, n, 1) for n, (_, share, _) in enumerate(turns)]
    heapify(heap)
    while heap:
        _, n, tried = heappop(heap)
        s, share, queues = turns[n]
        size = s.try_turn(queues, room)
        if size is not None:
            room -= size
            heappush(heap, (-share / (tried + 1) / s.size() ** 0.5, n, tried + 1))
    for s in searches:
        s.room = (room + last) / len(searches)


def _share_out(searches: Sequence[_Search]) -> None:
    """Deal out what room is left by the size of kernels and how many of their loops gain."""
    room = sum(s.room for s in searches)
    shares = {s: s.size() * max(s.gaining(), HOPE) for s in searches}
    for s, share in shares.items():
        s.room = room * share / max(sum(shares.values()), 1)


def _judge(
    module: Module, searches: Sequence[_Search], arch: str, profile: Profile, judge: JudgeName
) -> None:
    """Assemble, or predict, what is pending, and take note of its figures."""
    pending = [f for s in searches for f in s.pending.values()]
    if judge == "sass":
        made = assemble(module, pending, arch, profile)
    else:
        ctx = context(module, profile)
        factors = {}
        for f in pending:
            clean(f, ctx)  # as the assembler does, whoever leaves it
            decided = {h.name: d for h, d in decide(f, ctx, arch).items()}
            factors[str(f.name)] = copies(Analyses.of(f).loops, decided)
        made = predict_all(pending, profile, factors)
    for s in searches:
        original = s.pending.get(AS_IT_IS)
        if original is not None and str(original.name) not in made:
            raise NvirError(f"kernel {s.found.name}: {refusal(module, original, arch)}")
        s.take(made)


class _Search:
    """The search for one kernel."""

    def __init__(
        self, module: Module, kernel: Function, profile: Profile, request: Launches,
        parts: Parts,
    ) -> None:
        self.module, self.kernel, self.profile, self.request = module, kernel, profile, request
        name = str(kernel.name)
        given, expected = (
            {k.removeprefix(f"{name}:"): n for k, n in x.items()}
            for x in (request.trips, request.expected))
        self.known, self.most = known_trips(kernel), most_trips(kernel)
        self.most |= {h: g.copies - 1 for h, (g, p) in parts.items() if p.role == "remainder"}
        threads = request.block or block_threads(kernel)
        block = threads or ASSUMED_BLOCK
        loops = kernel_loops(
            kernel, given, self.known, self.most, parts,
            told_trips(kernel, block, self.known.keys()), expected)
        self.found = KernelTuning(name, loops, block, not threads)
        self.ctx = context(module, profile)
        self.pending: dict[Choices, Function] = {}
        self.single: Mapping[int, int] | None = None
        self.runs: dict[str, float] = {}
        self.by_loop: dict[str, dict[LoopSetting | None, tuple[float, ...]]] = {}
        self.jointly = False
        self.probe: Choices | None = None
        self.tried: set[Choices] = set()
        self.codes: dict[Choices, Code] = {}
        self.room = 0.0  # instructions that may still be tried
        self.scale = 1.0  # of the budget, for each instruction of the kernel

    # ------------------------------------------------------------------ candidates

    def begin(self) -> float:
        """The kernel as it is, and each loop once; their instructions. Of loops that are not asked
        for, one that only shows their counts: of most copies the assembler leaves those that it
        knows to be run."""
        loops = tuple((x.name, LoopSetting(1)) for x in self.found.loops)
        size = self._add(AS_IT_IS)[0] + (self._add(Choices(loops))[0] if loops else 0)
        others = [x for x in Analyses.of(self.kernel).loops
                  if x.is_innermost and self.request.loop not in ("", x.header.name)]
        if others and sum(map(len, self.kernel.blocks)) <= PROBED:
            most = LoopSetting(MANY)
            self.probe = Choices(tuple((str(x.header.name), most) for x in others))
            size += self._add(self.probe)[0]
            self.found.refused.clear()
        return size

    def turns(self) -> Iterator[tuple[float, _Queues]]:
        """Settings to be tried: of each loop, with its share of the kernel's instructions; or of
        all loops together."""
        queues = {x.name: self._settings(x) for x in self._asked(len(self.found.loops))}
        if self.jointly:
            if queues:
                yield 1.0, queues
            return
        chosen = self._asked()
        total = sum(x.work for x in chosen) or 1.0
        for x in chosen:
            yield x.work / total, {x.name: queues[x.name]}

    def demand(self) -> float:
        """About how many instructions each setting of each loop by itself has."""
        return sum(
            self.size() + self.scale * len(x.own) * max((s.unroll or 1) - 1, 0)
            for x in self._asked() for s in self._settings(x)
        )

    def _asked(self, most: int = LOOPS) -> list[KernelLoop]:
        """The loops that are asked for, or that take some of the kernel's cycles."""
        least = COLD * self.found.candidates[0].cycles.full if self.found.candidates else 0
        chosen = [x for x in self.found.loops if x.name == self.request.loop or (
            not self.request.loop and self._base(x.name)[0] >= least)]
        return sorted(chosen, key=lambda x: x.work, reverse=True)[:most]

    def _base(self, loop: str) -> tuple[float, ...]:
        """The figures of a loop in the kernel as it is."""
        return self.by_loop.get(loop, {}).get(None, (0.0,) * 4)

    def _settings(self, x: KernelLoop) -> Iterator[LoopSetting]:
        loop = next(k for k in Analyses.of(self.kernel).loops if k.header.name == x.name)
        settings = loop_settings(loop, self.known.get(x.name), self.most.get(x.name))
        if self.request.every:
            return together(settings)
        full, *_, busy = self._base(x.name)
        waits = full > busy * TIE  # else nothing is gained by loads that are under way early
        return (s for s in settings if waits or not s.depth)

    def size(self) -> float:
        """Machine instructions of the kernel as it is."""
        return self.scale * sum(map(len, self.kernel.blocks))

    def try_turn(self, queues: _Queues, room: float) -> float | None:
        """Try the next setting of each loop that takes it, where it has room; its instructions, or
        None where there is none."""
        taken = {h: s for h, q in queues.items() if (s := next(q, None)) is not None}
        while taken:
            if room < self.size():
                self.found.refused += ((_single(h, s), FULL) for h, s in taken.items())
                return 0
            order = (x.name for x in self.found.loops if x.name in taken)
            size, at = self._add(Choices(tuple((h, taken[h]) for h in order)))
            if not at:
                return size
            if taken[at] in (LoopSetting(apart=True), LoopSetting(converted=True)):
                queues[at] = filterfalse(partial(_builds_on, taken[at]), queues[at])
            other = next(queues[at], None)
            if other is not None:
                taken[at] = other
            else:
                del taken[at]
        return None

    def single_out(self) -> None:
        """Of loops that were tried together each by itself as it was fastest, those that gain most
        first: what is bad for the kernel with one may be good with the others. Then what there was
        no room for and what does more than that."""
        left = self.room * LAST
        gains = sorted((x for at in (0, 1) for x in self._gains(at)), key=lambda x: x[0])
        for _, name, setting in gains if self.jointly else ():
            if self.room > left:
                self.room -= self._add(_single(name, setting))[0]
        best = {name: setting for _, name, setting in reversed(gains)}
        queues = [iter([s for s in reversed(self.untried()) if s.loops[0][0] == name
                        and _builds_on(setting, s.loops[0][1])])
                  for name, setting in best.items()]
        while queues:
            queues = [q for q in queues if self._try_one(q, left)]

    def _try_one(self, queue: Iterator[Choices], left: float) -> bool:
        """Try the next of some settings, if there is one and more room than is to be left."""
        found = next(queue, None) if self.room > left else None
        if found is not None:
            self.room -= self._add(found)[0]
        return found is not None

    def untried(self) -> list[Choices]:
        """What there was no room for yet."""
        return [s for s, why in self.found.refused if why == FULL and s not in self.tried]

    def gaining(self) -> int:
        """How many of its loops some setting makes faster."""
        return len({name for at in (0, 1) for _, name, _ in self._gains(at)})

    def combine(self) -> None:
        """The best settings of several loops together, and launch bounds for the best."""
        if not self.found.candidates:
            return
        base = self.found.candidates[0]
        sets = [*self._sets_by_loops(), *reversed([*self._sets(base)]), AS_IT_IS]
        plain = [c.settings for c in self.found.candidates if self.request.every
                 and not any(s.depth or s.apart for _, s in c.settings.loops)]
        bounded = dict.fromkeys((sets[0], AS_IT_IS, *sets[-2:-1], *plain))
        for settings in bounded if self.request.launch_bounds else ():
            self._try(settings)
            for launch in self._launches(base):
                self._try(attrs.evolve(settings, launch=launch))
        for c in self._crowded(base) if self.request.launch_bounds else ():
            self._try(attrs.evolve(c.settings, launch=self._limit(base.blocks_per_sm, c)))
        for settings in sets:
            self._try(settings)

    def _try(self, settings: Choices) -> None:
        """Try what may win as long as there is room, and one in any case."""
        if self.room > 0 or not self.pending:
            self.room -= self._add(settings)[0]

    def _sets(self, base: Judged) -> Iterator[Choices]:
        """The best setting of the loop that gains most, of the two that do, and so on."""
        best: dict[str, Judged] = {}
        for c in self._eligible():
            if len(c.settings.loops) == 1 and not c.settings.launch:
                header = c.settings.loops[0][0]
                if header not in best or c.cycles.full < best[header].cycles.full:
                    best[header] = c
        gains = sorted(
            (c for c in best.values() if c.cycles.full < base.cycles.full),
            key=lambda c: c.cycles.full,
        )
        for k in range(1, len(gains) + 1):
            yield self._choices(p for c in gains[:k] for p in c.settings.loops)

    def _sets_by_loops(self) -> Iterator[Choices]:
        """The settings that each loop was fastest with at the occupancy of the kernel as it is, and
        at that which they had: of all loops that gain, of the better half of them, of the best."""
        for at in (0, 1) if self.jointly else ():
            gains = self._gains(at)
            for k in dict.fromkeys((len(gains), (len(gains) + 1) // 2, 1)):
                if gains:
                    yield self._choices((name, s) for _, name, s in gains[:k])

    def _gains(self, at: int) -> list[tuple[float, str, LoopSetting]]:
        """Of each loop that gains, the setting with which it is fastest and the cycles more, those
        of most first; `at` 0: at the occupancy of the kernel as it is, 1: at that which it had."""
        gains = []
        for name, found in self.by_loop.items():
            base = found[None]
            fit = [(x[at], s) for s, x in found.items()
                   if s is not None and x[2] <= base[2] * WORSE]
            best, setting = min(fit, key=lambda x: x[0], default=(base[at], None))
            if setting is not None and best * TIE < base[at]:
                gains.append((best - base[at], name, setting))
        return sorted(gains, key=lambda x: x[0])

    def _choices(self, loops: Iterable[tuple[str, LoopSetting]]) -> Choices:
        order = [x.name for x in self.found.loops]
        return Choices(tuple(sorted(loops, key=lambda p: order.index(p[0]))))

    def _crowded(self, base: Judged) -> list[Judged]:
        """The best that only lose by their registers: with as many blocks as the kernel as it is
        they would win."""
        warps = resident(base.blocks_per_sm, self.found.block)
        found = [
            (c.time.cycles(warps).full, c.id, c) for c in self.found.candidates[1:]
            if c.blocks_per_sm < base.blocks_per_sm and c.spill_bytes <= base.spill_bytes
            and self._limit(base.blocks_per_sm, c) is not None
        ]
        return [c for full, _, c in sorted(found)[:CROWDED] if full * WORSE <= base.cycles.full]

    def _limit(self, blocks: int, c: Judged) -> tuple[str, int] | None:
        """The launch bound that leaves registers for so many blocks."""
        at: int | None = c.registers
        while at is not None and self._occupancy(at, c.shared).blocks_per_sm < blocks:
            at = self._occupancy(at, c.shared).registers_for_one_more
        return self._launch(blocks, at) if at is not None else None

    def _launches(self, base: Judged) -> Iterable[tuple[str, int]]:
        """Launch bounds that give one to three blocks more, where registers bind."""
        at, shared = base.registers, self.shared
        for _ in range(3):
            need = self._occupancy(at, shared).registers_for_one_more
            if need is None or need < 16:
                return
            at = need
            launch = self._launch(self._occupancy(at, shared).blocks_per_sm, at)
            if launch is not None:
                yield launch

    def _launch(self, blocks: int, registers: int) -> tuple[str, int] | None:
        """What says so many blocks, or registers, where the kernel does not say the other."""
        directives = self.kernel.directives
        bounded = "maxntid" in directives or "reqntid" in directives
        if bounded and "maxnreg" not in directives:
            return "minnctapersm", blocks
        return ("maxnreg", registers) if "minnctapersm" not in directives else None

    def _add(self, settings: Choices) -> tuple[float, str]:
        """Make a candidate; about its machine instructions, and the loop that is not to be changed
        so, or ""."""
        if settings in self.tried:
            return 0, ""
        self.tried.add(settings)
        name = f"{self.kernel.name}__{len(self.tried)}"
        made, why = attempt(self.kernel, settings, name, self.ctx)
        if isinstance(made, str):
            self.found.refused.append((_single(made, dict(settings.loops)[made]), why))
            return 0, made
        self.pending[settings] = made
        size = sum(map(len, made.blocks))
        self.found.tried += size
        return size * self.scale, ""

    # ------------------------------------------------------------------- figures

    def take(self, made: Mapping[str, Code]) -> None:
        """Take note of what became of the pending candidates."""
        code = {s: made.get(str(f.name)) for s, f in self.pending.items()}
        self.pending = {}
        if self.single is None:
            base = code[AS_IT_IS]
            assert base is not None
            held = self._occupancy(base.registers, base.shared)
            if not held.blocks_per_sm:
                raise NvirError(f"kernel {self.found.name}: no block of {self.found.block} threads "
                                f"fits on an SM, for its {held.limiter}")
            self.shared = base.shared
            self.scale = max(sum(len(b.instructions) for b in base.body.blocks) / self.size(), 1.0)
            self.scale *= 1 + len(self.found.loops) / DEAR
            rolled = [s for s in code if len(s.loops) == len(self.found.loops)]
            plain = code.get(rolled[0]) if rolled else None
            self.single = once((plain or base).body, self.profile)
            anchor(self.found.loops, self.single)
        self.found.refused += (
            (s, "the assembler refuses it") for s, c in code.items() if c is None)
        new = {s: c for s, c in code.items() if c is not None}
        before = [x.trips for x in self.found.loops]
        dealt = {s: Dealing(c.body, self.found.loops, self.single, self.profile, c.factors)
                 for s, c in new.items()}
        for d in dealt.values():
            d.infer()
        self.codes |= {s: c for s, c in new.items() if s != self.probe}
        if before != [x.trips for x in self.found.loops]:  # then earlier figures are wrong
            self.found.candidates.clear()
            self.runs, self.by_loop, new = {}, {}, self.codes
        self._measure({s: c for s, c in new.items() if s != self.probe}, dealt)

    def _measure(self, new: Mapping[Choices, Code], dealt: Mapping[Choices, Dealing]) -> None:
        """The figures of some candidates; `dealt`: where their iterations are known to stand."""
        assert self.single is not None
        for settings, c in new.items():
            blocks = self._occupancy(c.registers, c.shared).blocks_per_sm
            warps = resident(blocks, self.found.block)
            d = dealt.get(settings) or Dealing(
                c.body, self.found.loops, self.single, self.profile, c.factors)
            w = d.run()
            runs = d.executed(w)
            self.runs = self.runs or runs
            time = kernel_time(c.body, self.profile, w, self.request.level)
            self._note(settings, time, warps, runs)
            if not all(self._agrees(x, runs) for x in self.runs):
                out = settings, "how often its loops run cannot be told"
                self.found.refused += [out] if out not in self.found.refused else []
                continue
            self.found.candidates.append(Judged(
                len(self.found.candidates), settings, c.registers, c.spill_bytes, blocks,
                time.cycles(warps), time, c.shared, time.of_loops(warps),
            ))

    def _note(
        self, settings: Choices, time: KernelTime, warps: float, runs: Mapping[str, float]
    ) -> None:
        """Keep the cycles of each loop: at the occupancy of the kernel as it is, at this one, of a
        warp alone, and what it keeps pipes busy."""
        if settings == AS_IT_IS:
            self.warps = warps
            changes: dict[str, LoopSetting | None] = dict.fromkeys(x.name for x in self.found.loops)
        else:
            changes = {**dict(settings.loops)}
        figures = [time.of_loops(w) for w in (self.warps, warps, 1.0, INFINITE)]
        for name, setting in changes.items():
            if self._agrees(name, runs):
                self.by_loop.setdefault(name, {}).setdefault(
                    setting, tuple(x[name] for x in figures))

    def _agrees(self, loop: str, runs: Mapping[str, float]) -> bool:
        """Whether a candidate's loop runs as often as the kernel's, by its weights."""
        n = self.runs.get(loop)
        return n is None or abs(runs[loop] - n) <= COUNTED * n

    def _occupancy(self, registers: int, shared: int) -> Occupancy:
        return occupancy(self.profile, registers, self.found.block, self.request.dynamic_smem,
                         static_smem=shared)

    def _eligible(self) -> list[Judged]:
        base, *others = self.found.candidates
        return [base] + [
            c for c in others
            if c.spill_bytes <= base.spill_bytes and c.blocks_per_sm
            and c.cycles.one_warp <= base.cycles.one_warp * WORSE
            and c.cycles.full <= base.cycles.full * WORSE
        ]

    def choose(self, error: float) -> None:
        """Take the best, and mark those that no other beats. Of equal ones that with more blocks on
        an SM: what is not judged (waits of memory, barriers) more warps hide."""
        self.found.refused = [
            (s, why) for s, why in self.found.refused if why != FULL or s not in self.tried]
        fit = [c for c in self._eligible() if error == 1 or self._is_sure(c)]
        best = min(c.cycles.full for c in fit)
        near = [c for c in fit if c.cycles.full <= best * TIE]
        most = max(c.blocks_per_sm for c in near)
        near = [c for c in near if c.blocks_per_sm == most]
        soonest = min(c.cycles.one_warp for c in near)
        near = [c for c in near if c.cycles.one_warp <= soonest * TIE]
        near = [c for c in near if not any(_beats(x, c) for x in near)]
        won = near[0].cycles
        base = fit[0].cycles
        better = won.full * max(TIE, error) <= base.full or (
            error == 1 and won.one_warp * WORSE <= base.one_warp
        )
        self.found.chosen = near[0].id if better else 0
        self.found.candidates = [
            attrs.evolve(c, is_pareto=not any(_beats(x, c) for x in fit))
            for c in self.found.candidates
        ]

    def _is_sure(self, c: Judged) -> bool:
        """Whether a predicted warp alone is faster by more than the prediction is wrong. It does
        not know what guards cost that were branches."""
        some = [s for _, s in c.settings.loops]
        error = VERSION_ERROR if any(s.apart or s.vectors for s in some) else ALONE_ERROR
        gains = c.cycles.one_warp * error <= self.found.candidates[0].cycles.one_warp
        return c.id == 0 or (gains and not any(s.converted for s in some))


def _beats(a: Judged, b: Judged) -> bool:
    pairs = ((a.cycles.one_warp, b.cycles.one_warp), (a.cycles.full, b.cycles.full),
             (b.blocks_per_sm, a.blocks_per_sm))
    return all(x <= y for x, y in pairs) and any(x < y for x, y in pairs)


_Queues = dict[str, Iterator[LoopSetting]]  # by header: what is yet to be tried


def _builds_on(first: LoopSetting, s: LoopSetting) -> bool:
    """Whether a setting does what another does, and more."""
    return first.apart <= s.apart and first.converted <= s.converted and (
        first.vectors <= s.vectors and (first.depth > 0) <= (s.depth > 0))


def _single(loop: str, setting: LoopSetting) -> Choices:
    return Choices(((loop, setting),))
