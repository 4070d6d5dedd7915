"""Counts of loops that no formula gives: single threads are followed through the control flow, as
far as constants, and a block's shape where it is given, tell what its branches ask for.

    for (offset = warpSize / 2; offset > 0; offset >>= 1)      5 iterations
    for (i = blockDim.x / 2; i > 0; i >>= 1)                   8 in a block of 256 threads
    for (j = 0; j <= threadIdx.x; j++)                         32, 64, … 256 in its warps

A value is asked for by what reads it: of a phi it is that of the edge by which control came, of
what stands in a loop that of its last iteration. Nests are followed iteration by iteration. A test
that is not known is taken not to leave its loop, and min(x, 8) to be 8: the count is the most then.

Cost    what exits and phis of loops depend on, once for each iteration, MOST of a loop and BUDGET
        of a function at most
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from statistics import fmean

import attrs

from nvir.analysis.analyses import Analyses
from nvir.analysis.divergence import meets
from nvir.ir.block import Block
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop, innermost_of
from nvir.ir.opcodes import OpKind
from nvir.ir.opcodes.evaluate import evaluate
from nvir.ir.values import Constant, SpecialRegister, Value

MOST = 64  # iterations of a loop
LONGEST = 4096  # the same where a block's shape is given
BUDGET = 10_000  # iterations of all loops of a function, of all threads that are followed
UNTOLD = 128  # of a loop, while none of its tests is known
DEEP = 60  # operations and loops that a value is made by, one of the other
NESTED = 12  # loops around each other
WAY = 100  # blocks between where ways part and where they meet
WARP = 32
WARPS = 8  # of a block that are followed
LANES = (0, 28, 29, 30, 31)  # of each: what four copies leave is another number in neighbours
DISTINCT = 64  # counts that are kept
NOTHING: Mapping[str, int] = {}


@attrs.frozen(eq=False)
class Rounds:
    """How a loop runs once: its iterations, the block by which it is left and where to. `is_sure`:
    all tests were known; else it may be left before."""

    iterations: Sequence[Frame]
    end: Block
    to: Block
    is_sure: bool


Runs = list[tuple[Rounds | None, int | None]]  # of a loop, with what a value is there


@attrs.frozen(eq=False)
class LoopCounts:
    """How often a loop of a kernel runs, each time that it is entered.

    whole     iterations that it runs to their end, equally often each
    part      by which blocks it is left in the middle of one more, each with its share
    is_sure   they are that, else at most that
    by_block  they depend on the block and the thread
    left      what a value asked for with the loop is there, on average; None where it is not known
    """

    whole: Sequence[int]
    part: Mapping[Block, float]
    is_sure: bool
    by_block: bool
    left: float | None = None


class Thread:
    """One thread's way through a function: values of special registers, and what was asked for;
    `budget` iterations, of one loop `limit`. `bounded`: values of which the most was taken."""

    def __init__(
        self, function: Function, launch: Mapping[str, int], budget: int, limit: int
    ) -> None:
        self.function = function
        self.innermost = Analyses.of(function).get("innermost", _innermost)
        self.launch, self.budget, self.limit = launch, budget, limit
        self.deep = 0  # values that are being asked for
        self.asked: set[str] = set()
        self.bounded: set[Value] = set()
        self.body = Frame(self, None, None, {})

    @property
    def meets(self) -> dict[Block, Block | None]:
        """Where all ways from a block meet."""
        return Analyses.of(self.function).get("meets", meets)

    def entered(self, loop: Loop, rest: Value | None = None) -> Runs | None:
        """How a loop runs each time that this thread comes to it, None where it is passed, and what
        a value is there; None where the former is not known."""
        if loop.depth > NESTED:
            return None
        found: Runs = []
        for frame in self._around(loop):
            left = None if rest is None else frame.value(rest)
            rounds = frame.rounds(loop) if not (passed := frame.passes(loop)) else None
            if rounds is None and not passed:
                return None
            found.append((rounds, left))
        return found

    def _around(self, loop: Loop) -> Iterator[Frame]:
        """The iterations of the loops around one in which it is come to; where these are not
        known, one in which nothing of them is."""
        outer = loop.parent
        if outer is None:
            yield self.body
            return
        for frame in self._around(outer):
            if frame.passes(outer):
                continue
            rounds = frame.rounds(outer)
            if rounds is None:
                yield frame.some_iteration(outer)
                continue
            *before, last = rounds.iterations
            yield from before
            if not rounds.end.dominates(loop.header) or rounds.to in loop.members:
                yield last


class Frame:
    """What values are in a function around its loops, or in one iteration of `loop`, of which
    `known` has the header's phis."""

    __slots__ = ("known", "loop", "outer", "runs", "some", "thread")

    def __init__(
        self, thread: Thread, outer: Frame | None, loop: Loop | None, known: dict[Value, int | None]
    ) -> None:
        self.thread, self.outer, self.loop, self.known = thread, outer, loop, known
        self.runs: dict[Loop, Rounds | None] = {}
        self.some: dict[Loop, Frame] = {}

    def some_iteration(self, loop: Loop) -> Frame:
        """One of a loop in this one of which is not known how it runs."""
        if loop not in self.some:
            phis = (i for i in loop.header if i.is_phi)
            self.some[loop] = Frame(self.thread, self, loop, dict.fromkeys(phis))
        return self.some[loop]

    def value(self, v: Value) -> int | None:
        """What a value is, as bits of its type; None where that is not known."""
        if isinstance(v, Constant):
            return _bits(v.value, v) if isinstance(v.value, int) else None
        if isinstance(v, SpecialRegister):
            self.thread.asked.add(v.name)
            n = self.thread.launch.get(v.name)
            return None if n is None else _bits(n, v)
        if v in self.known:
            return self.known[v]
        d, thread = v.definer, self.thread
        if d is None or d.block is None or thread.deep > DEEP:
            return None
        if self.outer is not None and self.loop is not None and d.block not in self.loop.members:
            return self.outer.value(v)
        self.known[v] = None  # while it is asked for
        thread.deep += 1
        self.known[v] = found = self._worked_out(v, d, d.block)
        thread.deep -= 1
        return found

    def _worked_out(self, v: Value, d: Instruction, block: Block) -> int | None:
        inner = self.inner(block)
        if inner is not None:
            rounds = self.rounds(inner)
            return rounds.iterations[-1].value(v) if rounds is not None and rounds.is_sure else None
        if d.is_phi:
            came = self._came(block)
            if came is not None and d.arriving(came) in self.thread.bounded:
                self.thread.bounded.add(v)
            return self.value(d.arriving(came)) if came is not None else None
        return self._made(d) if d.form.pure and d is v and d.form.guard is None else None

    def _made(self, d: Instruction) -> int | None:
        values = {}
        for operand in d.operands:
            x = self.value(operand)
            if x is not None:
                values[operand] = x
        if not self.thread.bounded.isdisjoint(values):
            self.thread.bounded.add(d)
        if len(values) == len(set(d.operands)):
            return evaluate(d, values)
        unknown = next(v for v in d.operands if v not in values)
        if len(values) != 1 or d.form.type is None or d.form.type.is_float:
            return None
        if d.form.op.name == "min":
            self.thread.bounded.add(d)
            return next(iter(values.values()))
        if d.form.kind is not OpKind.LOGIC:
            return None
        ends = [evaluate(d, {**values, unknown: _bits(x, unknown)}) for x in (0, -1)]
        return ends[0] if ends[0] == ends[1] else None  # each bit is made of the bits there

    def inner(self, block: Block) -> Loop | None:
        """The loop in this one, the outermost, in which a block stands."""
        found = self.thread.innermost.get(block)
        while found is not None and found is not self.loop and found.parent is not self.loop:
            found = found.parent
        return found if found is not self.loop else None

    def passes(self, loop: Loop) -> bool:
        """Whether a test in front of a loop leads past it."""
        block, stop = loop.header, self.loop.header if self.loop is not None else None
        while block is not stop and (before := block.idom) is not None:
            way = self._leads(before) if self.inner(before) is None else None
            if self._is_bounded(before):
                way = None
            entries = loop.entries if block is loop.header else block.preds
            if way is not None and way is not block and entries == [before]:
                return True
            block = before
        return False

    def _leads(self, block: Block) -> Block | None:
        """Where control goes from a block; None where that is not known."""
        if len(block.succs) == 1:
            return block.succs[0]
        branch = block.terminator
        if branch is None or branch.guard is None or branch.form.kind is not OpKind.BRANCH or (
            len(block.succs) != 2
        ):
            return None
        tested = self.value(branch.guard)
        if tested is None:
            return None
        target = branch.aux[0]
        other = next((s for s in block.succs if s is not target), target)
        return target if bool(tested & 1) == (branch.form.guard != "!") else other

    def _is_bounded(self, block: Block) -> bool:
        """Whether the most of a value was taken to tell where control goes from a block."""
        branch = block.terminator
        return branch is not None and branch.guard in self.thread.bounded

    def _came(self, block: Block) -> Block | None:
        """The block by which control came to one in which ways meet; None where that is not
        known."""
        return self._way(block.idom, block) if block.idom is not None else None

    def _way(self, start: Block, to: Block) -> Block | None:
        """The last block of the way from one to another. What is not known on the way matters only
        if the ways meet there."""
        at: Block | None = start
        before = None
        for _ in range(WAY):
            if at is None or (at is to and before is not None):
                break
            inner = self.inner(at)
            rounds = self.rounds(inner) if inner is not None else None
            before, after = at, self._leads(at) if inner is None else None
            if rounds is not None and rounds.is_sure:
                before, after = rounds.end, rounds.to
            elif inner is not None or self._is_bounded(at):
                after = None
            if after is None:
                before, after = None, self.thread.meets.get(at)
                while inner is not None and after is not None and after in inner.members:
                    after = self.thread.meets[after]
                if after is to:
                    return None
            at = after
        return before if at is to else None

    def rounds(self, loop: Loop) -> Rounds | None:
        """How a loop in this one runs; None where that is not known."""
        if loop not in self.runs:
            self.runs[loop] = None  # while it is asked for
            self.runs[loop] = self._run(loop)
        return self.runs[loop]

    def _run(self, loop: Loop) -> Rounds | None:
        entry = loop.entries[0] if len(loop.entries) == 1 else self._came(loop.header)
        exits: dict[Block, Block] = {}
        for block, to in loop.exits:
            if block in exits:
                return None
            exits[block] = to
        if entry is None or not exits:
            return None
        return self._follow(loop, entry, exits)

    def _follow(
        self, loop: Loop, entry: Block, exits: Mapping[Block, Block]
    ) -> Rounds | None:
        phis = [i for i in loop.header if i.is_phi]
        turned = {i: i.arriving(loop.latches[0]) for i in phis}
        differ = any(i.arriving(b) is not v for i, v in turned.items() for b in loop.latches)
        known: dict[Value, int] = {
            i: x for i in phis if (x := self.value(i.arriving(entry))) is not None}
        bounded = self.thread.bounded
        bounded.update(i for i in phis if i.arriving(entry) in bounded)
        ends = sorted(exits, key=lambda b: b.rpo_index)
        iterations: list[Frame] = []
        # what is not known of a test at first may only be decided by a part of it
        joined = any(d is not None and d.form.kind is OpKind.LOGIC for d in (
            b.terminator.guard.definer for b in ends if b.terminator and b.terminator.guard))
        is_sure, most = True, min(UNTOLD, self.thread.limit) if known and joined else 1
        while len(iterations) < most and self.thread.budget:
            self.thread.budget -= 1
            frame = Frame(self.thread, self, loop, {**dict.fromkeys(turned), **known})
            iterations.append(frame)
            for block in ends:
                way = frame._leads(block) if all(map(block.dominates, loop.latches)) else None
                is_sure = is_sure and way is not None and not self._is_bounded(block)
                most = self.thread.limit if way is not None else most
                if way is exits[block]:
                    return Rounds(iterations, block, way, is_sure)
            if differ:
                latch = frame._way(loop.header, loop.header)
                if latch is None:
                    return None
                turned = {i: i.arriving(latch) for i in phis}
            known = {i: x for i, v in turned.items()
                     if i in known and (x := frame.value(v)) is not None}
            bounded.update(i for i, v in turned.items() if v in bounded)
        return None


def _innermost(function: Function) -> dict[Block, Loop]:
    return innermost_of(Analyses.of(function).loops)


def _bits(x: int, v: Value) -> int:
    return x & ((1 << (v.type.bits or 64)) - 1)


def loop_counts(
    function: Function, loops: Mapping[Loop, Value | None], shape: tuple[int, int, int] | None
) -> dict[Loop, LoopCounts]:
    """Of each loop whose count constants or a block's shape tell, what it is in the warps of
    the block, of which each runs as long as its last thread, and what a value beside it is.
    `shape` None: it is not known."""
    found = _counts(function, loops, [NOTHING], False)
    left = {x: v for x, v in loops.items() if x not in found or not found[x].is_sure}
    if shape is None:
        return found
    return {**found, **_counts(function, left, [*_launches(shape)], True)}


def _launches(shape: tuple[int, int, int]) -> Iterator[Mapping[str, int]]:
    """Special registers of some threads of some of a block's warps, warp by warp."""
    x, y, z = shape
    threads = x * y * z
    warps = -(-threads // WARP)
    for k in range(min(warps, WARPS)):
        first = (2 * k + 1) * warps // (2 * min(warps, WARPS)) * WARP
        for t in (min(first + lane, threads - 1) for lane in LANES):
            place = t % x, t // x % y, t // (x * y)
            yield {f"%{name}.{axis}": n for name, some in (("tid", place), ("ntid", shape))
                   for axis, n in zip("xyz", some, strict=True)}


def _counts(
    function: Function, loops: Mapping[Loop, Value | None],
    launches: Sequence[Mapping[str, int]], by_block: bool,
) -> dict[Loop, LoopCounts]:
    lanes: dict[Loop, list[Runs]] = {x: [] for x in loops}
    budget = BUDGET
    for launch in launches if loops else ():
        thread = Thread(function, launch, budget, LONGEST)
        for loop in [*lanes]:
            entered = thread.entered(loop, loops[loop])
            if entered is None:
                del lanes[loop]
            else:
                lanes[loop].append(entered)
        budget = thread.budget
        if not lanes or not any(x.startswith("%tid") for x in thread.asked):
            break  # the others do the same
    return {loop: _together(loop, some, by_block) for loop, some in lanes.items()}


def _together(loop: Loop, lanes: Sequence[Runs], by_block: bool) -> LoopCounts:
    """The counts of warps, of whose threads the slowest is waited for."""
    warps = [lanes[k : k + len(LANES)] for k in range(0, len(lanes), len(LANES))]
    runs = [max((x[0] for x in some if x is not None and x[0] is not None),
                key=lambda x: len(x.iterations), default=None)
            for warp in warps for some in zip_longest(*warp)]
    ends = Counter(x.end for x in runs if x is not None and x.end not in loop.latches)
    whole = sorted(0 if x is None else len(x.iterations) - (x.end in ends) for x in runs) or [0]
    if whole[0] == whole[-1]:
        whole = whole[:1]
    elif len(whole) > DISTINCT:
        whole = [whole[(2 * k + 1) * len(whole) // (2 * DISTINCT)] for k in range(DISTINCT)]
    left = [n for lane in lanes for _, n in lane]
    return LoopCounts(
        whole, {b: n / len(runs) for b, n in ends.items()},
        all(x is None or x.is_sure for x in runs), by_block,
        fmean(x for x in left if x is not None) if left and None not in left else None)


def stepped_count(loop: Loop) -> int | None:
    """How often the body of a loop runs that is left at its end alone; None where that is not told
    by constants, or more than MOST."""
    exits = list(loop.exits)
    if len(exits) != 1 or len(loop.latches) != 1 or exits[0][0] is not loop.latches[0]:
        return None
    rounds = Thread(loop.header.function, NOTHING, BUDGET, MOST).entered(loop) or []
    counts = {len(x.iterations) if x is not None and x.is_sure else None for x, _ in rounds}
    return counts.pop() if len(counts) == 1 else None
