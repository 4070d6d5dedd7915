"""What can be done to a loop, and copies of a kernel in which it is done.

    keep       as it is: what the assembler makes of it
    rolled     `.pragma "nounroll"`: one copy of the body
    free       a loop that was not to be unrolled, left to the assembler
    unroll     by a factor, or fully; the assembler is told to leave it alone
    pipeline   loads so many iterations ahead; also of the unrolled loop
    apart      a version for operands that do not overlap, chosen at run time, whose loads come
               before its stores; also these of it
    vectors    neighbouring accesses are one, in a version for aligned addresses; also of these
    converted  small branches in it become guards and selects; also these of it

A candidate is a copy of the kernel under a name of its own with one such setting for each loop that
is changed, and launch bounds. A setting that a pass refuses gives a reason instead of a copy.

Cost    a copy of the kernel and a clean-up of it: about 8 µs an instruction.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

import attrs

from nvir.analysis.analyses import Analyses
from nvir.analysis.counts.threads import LoopCounts, loop_counts, stepped_count
from nvir.analysis.induction import constant_of, counted_exits, trip_count
from nvir.analysis.source_loops import left_over
from nvir.assembler.regalloc.targets import block_shape
from nvir.assembler.unroll.miscounts import miscount
from nvir.ir.block import NOUNROLL, Block
from nvir.ir.clone import clone_function
from nvir.ir.errors import NvirError
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop
from nvir.ir.module import Module
from nvir.ir.opcodes import OpKind
from nvir.ir.values import SpecialRegister, Value
from nvir.passes.context import Context
from nvir.passes.knobs import Knobs
from nvir.passes.loop.pipeline.expand import REST as LEFT
from nvir.passes.loop.pipeline.loads_first import loads_first, waiting
from nvir.passes.loop.pipeline.loop_pipeline import pipeline_at
from nvir.passes.loop.region import merge_chains
from nvir.passes.loop.simplify.canonical import canonicalise
from nvir.passes.loop.simplify.plain_test import plain_test
from nvir.passes.loop.unroll.apply import UnrollPlan, unroll
from nvir.passes.loop.unroll.prepare import Refusals
from nvir.passes.loop.unroll.transform import UNROLLED
from nvir.passes.loop.version.loop_vectorize_memory import has_neighbours, vectorize
from nvir.passes.loop.version.loop_version import version
from nvir.passes.registry import all_passes
from nvir.passes.scalar import if_convert

MANY = 8  # copies beyond which the body has to be small
REST = 64  # a mask below this is that of a remainder
SLOW = 1 << 21  # added to the numbers of a loop that runs only where operands overlap
LATE = 1 << 20  # added to those of a loop that does what its pipeline leaves
TIMES = 1 << 23  # added as often as an access stands for others of its number; up to three times
BRANCH = 16  # instructions that take the place of a branch
BRANCHY = 40  # of a loop whose branches may be converted
LARGEST = 2048  # instructions of an unrolled body
CLEAN_UP = ("copy-prop", "const-fold", "gvn", "dce")


@attrs.frozen(order=True)
class LoopSetting:
    """What is done to a loop. `unroll` 0: all iterations, 1: the body once; None: nothing said.

    depth      iterations that loads run ahead
    free       a `nounroll` of the source is taken out
    apart      in a version for operands that do not overlap
    vectors    with vector accesses, in a version for aligned addresses
    converted  its small branches are guards and selects
    source     copies of the source's loop that its pragma asks for, 0: `unroll` times those that
               the front end made; for the source alone
    """

    unroll: int | None = None
    depth: int = 0
    free: bool = False
    apart: bool = False
    converted: bool = False
    vectors: bool = False
    source: int = 0

    def __str__(self) -> str:
        parts = ["if-converted"] if self.converted else []
        parts += ["operands apart"] if self.apart else []
        parts += ["left to ptxas"] if self.free else []
        if self.unroll is not None:
            parts.append({0: "full unroll", 1: "no unroll"}.get(
                self.unroll, f"unroll {self.unroll}"))
        parts += [f"{self.source} copies in the source"] if self.source else []
        parts += [f"pipeline {self.depth}"] if self.depth else []
        parts += ["vector accesses"] if self.vectors else []
        return ", ".join(parts) or "as it is"


# those first that win most often beside the ones before them
SETTINGS = (
    LoopSetting(0), LoopSetting(8), LoopSetting(vectors=True), LoopSetting(4, vectors=True),
    LoopSetting(apart=True), LoopSetting(None, 4), LoopSetting(2), LoopSetting(16),
    LoopSetting(None, 1), LoopSetting(4), LoopSetting(4, apart=True), LoopSetting(None, 2),
    LoopSetting(8, apart=True), LoopSetting(2, 1), LoopSetting(4, 1),
    LoopSetting(None, 1, apart=True), LoopSetting(2, apart=True), LoopSetting(2, 2),
    LoopSetting(2, vectors=True), LoopSetting(apart=True, vectors=True),
    LoopSetting(4, apart=True, vectors=True), LoopSetting(8, vectors=True),
)
# of a loop of several blocks
SEVERAL_BLOCKS = (
    LoopSetting(0), LoopSetting(8), LoopSetting(vectors=True), LoopSetting(converted=True),
    LoopSetting(8, converted=True),
    LoopSetting(converted=True, apart=True), LoopSetting(None, 4, converted=True), LoopSetting(2),
    LoopSetting(2, converted=True), LoopSetting(4), LoopSetting(None, 1, converted=True),
    LoopSetting(4, converted=True), LoopSetting(4, converted=True, apart=True), LoopSetting(16),
    LoopSetting(converted=True, vectors=True), LoopSetting(2, vectors=True),
)


@attrs.frozen
class Choices:
    """A candidate's settings: by the header of each loop that is changed, and launch bounds.

    launch   ("minnctapersm", 3) or ("maxnreg", 64)
    """

    loops: tuple[tuple[str, LoopSetting], ...] = ()
    launch: tuple[str, int] | None = None

    def __str__(self) -> str:
        parts = [f"{header}: {s}" for header, s in self.loops]
        parts += [f".{self.launch[0]} {self.launch[1]}"] if self.launch else []
        return "; ".join(parts) or "as it is"

    def to_json(self) -> dict[str, object]:
        """Plain data, for JSON."""
        loops = {h: attrs.asdict(s, filter=lambda a, _: a.name != "source") for h, s in self.loops}
        return {"loops": loops, "launch": dict([self.launch]) if self.launch else {}}


AS_IT_IS = Choices()


def context(module: Module, profile: object) -> Context:
    """A context in which loops that are not to be unrolled are pipelined as well."""
    ctx = Context(module, Knobs({"OkToPipelineNoUnroll": 1}), profile)
    ctx.pass_ = all_passes()["loop-pipeline"]
    ctx.options = ctx.pass_.options()
    return ctx


def loop_settings(loop: Loop, trips: int | None, most: int | None) -> Iterator[LoopSetting]:
    """What may be tried on a loop whose count is `trips`, or is at most `most`, if known."""
    free = NOUNROLL in loop.header.pragmas
    last = LoopSetting(free=True) if free and not miscount(loop) else LoopSetting(1)
    if not loop.is_innermost:
        yield last
        return
    size = sum(1 for b in loop.blocks for i in b if not i.form.op.pseudo)
    bound = trips if trips is not None else most
    plain = len(loop.blocks) == 1 and (bound is None or bound >= 4)
    for s in SEVERAL_BLOCKS if 1 < len(loop.blocks) <= BRANCHY else SETTINGS:
        copies = (s.unroll or 1) if s.unroll != 0 else trips or 0
        fits = copies * size <= (LARGEST if copies <= MANY else LARGEST // 4)
        fits &= trips == copies > 1 if s.unroll == 0 else (
            copies == 1 or bound is None or copies < bound)
        if s.vectors and s.unroll != 0:
            fits &= s.converted or has_neighbours(loop, copies)
        if fits and (plain or s.converted or not (s.depth or s.apart)):
            yield s
    yield last


def together(settings: Iterable[LoopSetting]) -> Iterator[LoopSetting]:
    """Of a loop's settings each factor with each depth; versions as they are."""
    found = list(settings)
    yield from (s for s in found if s.apart or s.vectors)
    depths = sorted({0, *(s.depth for s in found if not s.apart)})
    for s in (LoopSetting(), *(s for s in found if not (s.apart or s.depth or s.vectors))):
        yield from (attrs.evolve(s, depth=d) for d in depths if d or s != LoopSetting())


def changed(
    kernel: Function, settings: Choices, name: str, ctx: Context
) -> tuple[Function | None, str]:
    """A copy of a kernel with these settings, or None and the reason."""
    made, why = attempt(kernel, settings, name, ctx)
    return (made if isinstance(made, Function) else None), why


def attempt(
    kernel: Function, settings: Choices, name: str, ctx: Context
) -> tuple[Function | str, str]:
    """A copy of a kernel with these settings, or the header of the loop that is not to be changed
    so, and the reason."""
    copy = clone_function(kernel)
    copy.name = name
    if copy.cfg_state != "fresh":
        copy.analyze_cfg()
    ctx.function = copy
    for loop in Analyses.of(copy).loops:
        setting = dict(settings.loops).get(str(loop.header.name))
        if setting is not None and setting.converted and not _convert(loop, ctx):
            return str(loop.header.name), "no branch in it is small enough for guards"
    if any(s.apart or s.depth or s.vectors or s.unroll not in (None, 1)
           for _, s in settings.loops):
        canonicalise(copy, headers={b for b in copy.blocks if b.name in dict(settings.loops)})
        for loop in Analyses.of(copy).loops:
            if loop.header.name in dict(settings.loops):
                plain_test(loop)
    for header, setting in settings.loops:
        block = next((b for b in copy.blocks if b.name == header), None)
        try:
            why = _apply(block, setting, ctx) if block is not None else f"no loop {header}"
        except NvirError as e:
            why = str(e)
        if why:
            return header, why
    if settings.launch is not None:
        copy.directives[settings.launch[0]] = (settings.launch[1],)
    if settings.loops:
        clean(copy, ctx)
    return copy, ""


def _convert(loop: Loop, ctx: Context) -> bool:
    """Make guards and selects of small branches in a loop; whether there were any."""
    ctx.pass_, ctx.options = all_passes()["if-convert"], if_convert.Options(BRANCH)
    function, inside = loop.header.function, loop.members
    return if_convert.convert(function, [b for b in function.rpo if b in inside], ctx)


def clean(function: Function, ctx: Context) -> None:
    """Take out what a transformation of loops leaves: literals, copies, tests without use."""
    for name in CLEAN_UP:
        row = all_passes()[name]
        ctx.pass_, ctx.options = row, row.options()
        row.run(function, ctx)
        if row.cfg:
            function.analyze_cfg()
    merge_chains(function)
    function.analyze_cfg()


def _apply(header: Block, setting: LoopSetting, ctx: Context) -> str:
    """Do to a loop what a setting says; "", or why it cannot be."""
    held: AbstractSet[Instruction] | None = None  # loads that stay behind stores; None: all
    if setting.apart:
        row = all_passes()["loop-version"]
        ctx.pass_, ctx.options = row, row.options()
        fast = version(header, ctx)
        if fast is None:
            return str(ctx.remarks[-1].args["reason"])
        for i in header:
            i.line |= SLOW
        header = fast
        loop = Analyses.of(header.function).loop(header)
        assert loop is not None
        held = waiting(loop, setting.unroll or 1)
    if setting.free or setting.unroll == 1:
        header.pragmas = tuple(p for p in header.pragmas if p != NOUNROLL)
    if setting.unroll == 1:
        header.pragmas += (NOUNROLL,)
    if setting.unroll is not None and setting.unroll != 1:
        found, why = unrolled(header, setting.unroll)
        if found is None or not (setting.depth or setting.apart or setting.vectors):
            return why
        clean(header.function, ctx)
        header = found
        if header not in header.function.blocks:  # joined to a block before it
            return "the unrolled loop was folded"
    if held is not None and not setting.depth:
        loads_first(header, held)
    if setting.depth:
        row = all_passes()["loop-pipeline"]
        ctx.pass_, ctx.options = row, row.options()
        missed = pipeline_at(header, setting.depth, ctx)
        if missed is not None:
            return missed[0].text(missed[1])
        for b in header.function.blocks:
            if LEFT in b.flags:
                for i in b:
                    i.line |= LATE
    return _vectors(header, ctx) if setting.vectors else ""


def _vectors(header: Block, ctx: Context) -> str:
    """Join neighbouring accesses of a loop; "", or why there are none."""
    row = all_passes()["loop-vectorize-memory"]
    ctx.pass_, ctx.options = row, row.options()
    done = vectorize(header, ctx)
    if done is None:
        return str(ctx.remarks[-1].args["reason"])
    for access, group in done.made.items():
        others = sum(number(i.line) == number(access.line) for i in group) - 1
        access.line += TIMES * others
    rest = Analyses.of(header.function).loop(done.rest) if done.rest is not None else None
    for i in (i for b in (rest.blocks if rest is not None else ()) for i in b):
        i.line |= SLOW
    return ""


def number(line: int) -> int:
    """The number of what an instruction comes of."""
    return line & (TIMES - 1) & ~LATE


def unrolled(header: Block, factor: int) -> tuple[Block | None, str]:
    """Unroll a loop; the header of the loop that has the copies, if one is left, and why none."""
    function = header.function
    refusals = Refusals(function)
    loop = Analyses.of(function).loop(header)
    assert loop is not None
    refused = refusals.of(loop)
    if refused is not None:
        return None, refused[0].text(refused[1])
    before = set(function.blocks)
    header.pragmas = tuple(p for p in header.pragmas if p != NOUNROLL)
    if not factor and trip_count(loop) is None:  # by copies with all their tests, which fold
        factor = stepped_count(loop) or 0
    done = unroll(function, {header: UnrollPlan(factor or None)}, refusals)[header]
    function.analyze_cfg()
    if not done.copies:
        return None, done.way
    made = [
        x.header for x in Analyses.of(function).loops
        if UNROLLED in x.header.flags and (x.header not in before or x.header is header)
    ]
    return max(made, key=lambda b: (b not in before, len(b)), default=None), ""


def known_trips(kernel: Function) -> dict[str, int]:
    """Of each loop whose count is known, by its header's name: of none that may be left before."""
    found = {}
    for loop in Analyses.of(kernel).loops:
        counted = counted_exits(loop)
        least = min((x.count for x in counted if x.count is not None), default=None)
        count = least if counted else stepped_count(loop)
        if count is not None and (not counted or {b for b, _ in loop.exits} == {
            x.exit for x in counted if x.count is not None
        }):
            found[str(loop.header.name)] = count
    return found


def told_trips(
    kernel: Function, threads: int, known: AbstractSet[str]
) -> dict[str, LoopCounts]:
    """Of each loop whose count is not `known`, what constants and a block's threads tell of it.
    Where a kernel asks for more than one dimension, it has to say how many of the threads are in
    each."""
    asked = {v.name for i in kernel.instructions() for v in i.operands
             if isinstance(v, SpecialRegister)}
    said = (*(block_shape(kernel) or ()), 1, 1, 1)
    shape: tuple[int, int, int] | None = said[0], said[1], said[2]
    if math.prod(said) != threads:
        shape = threads, 1, 1
    if shape == (threads, 1, 1) and any(x.startswith(("%tid.", "%ntid.")) and x[-1] != "x"
                                        for x in asked):
        shape = None
    loops = {x: rest[0] if (rest := left_over(x)) is not None else None
             for x in Analyses.of(kernel).loops if str(x.header.name) not in known}
    return {str(x.header.name): n for x, n in loop_counts(kernel, loops, shape).items()}


def most_trips(kernel: Function) -> dict[str, int]:
    """Of each loop that does the rest of a division, the most iterations: its count is what a
    mask leaves."""
    found = {}
    for loop in Analyses.of(kernel).loops:
        trip = trip_count(loop)
        if trip is None or trip.count is not None or not isinstance(trip.variable.step, int):
            continue
        ends = trip.variable.start, trip.bound
        limits = [_mask(v) for v in ends]
        if 0 in limits and max(limits) > 0:
            found[str(loop.header.name)] = max(1, max(limits) // abs(trip.variable.step))
    return found


def _mask(value: Value) -> int:
    """The largest number that a value masked by a small literal can be; 0 for zero itself, -1 for
    what is not known."""
    known = constant_of(value)
    if known is not None:
        return 0 if known == 0 else -1
    d = value.definer
    while d is not None and d is value and (
        d.form.kind is OpKind.COPY or d.form.op.name == "neg"  # up to zero
    ):
        value = d.operands[0]
        d = value.definer
    if d is None or d.form.op.name != "and":
        return -1
    found = [c for v in d.operands if (c := constant_of(v)) is not None]
    return found[0] if found and 0 < found[0] < REST else -1
