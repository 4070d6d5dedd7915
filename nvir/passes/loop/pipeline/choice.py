"""How deep to pipeline a loop, by what it costs and what it is predicted to give.

Each depth D (a load's value is used D steps after the load) is tried on a copy of the function:
registers by the model of the assembler's allocation, blocks an SM from these, cycles an iteration
from the simulator with as many warps as then fit. The best depth is taken where it beats the loop
as the assembler would leave it, which unrolls some loops itself, by more than MARGIN.

What is dear is the prediction of registers, so bounds come first. Pipelining hides latency, it
takes no work away: pipes, issue slots and the memory's bandwidth are as busy with an iteration as
before (`least_cycles`). A loop that already runs as fast gains nothing, and a depth that comes as
near to that as depths may differ is deep enough. And values in flight need registers: no depth is
faster than it would be with those of the function as it is. So registers are predicted of the most
promising depth first, and of others only where that could change what is chosen.

Cost     one prediction of registers for most loops that are pipelined, none for most others of a
         function that is known; a clone of the function and a simulation for each depth tried.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import attrs

from nvir.analysis.analyses import Analyses
from nvir.analysis.induction import trip_count
from nvir.assembler.regalloc.predict import predict
from nvir.assembler.regalloc.targets import ASSUMED_BLOCK, block_threads
from nvir.ir import Block, Function, Loop, NvirError
from nvir.ir.clone import clone_function
from nvir.passes.loop.pipeline.body import Body, Staged, StageLayout, by_delays, delays_of
from nvir.passes.loop.pipeline.expand import ExpandedLoop, expand
from nvir.passes.loop.pipeline.feasible import Obstacle
from nvir.passes.loop.pipeline.kernel_only import expand_kernel_only
from nvir.passes.loop.pipeline.words import join_words, narrow_loads
from nvir.passes.loop.unroll.apply import UnrollPlan, unroll
from nvir.passes.loop.unroll.prepare import CopyRegion, Refusals, regions
from nvir.passes.loop.unroll.transform import UNROLLED
from nvir.sm.loopgraph import variant
from nvir.sm.machine import Expansion
from nvir.sm.machine import expand as expand_operations
from nvir.sm.occupancy import occupancy
from nvir.sm.profile import Profile
from nvir.sm.simulate import Memory, Stream, least_cycles, loop_stream, slot_of, throughput

DEEPEST = 4
LONGEST_PROLOGUE = 1 << 17  # instructions; only a mistaken demand leads there
MARGIN = 0.03  # of the cycles an iteration: less is within what the model cannot tell
ROUNDING = 0.025  # by which a simulation of some rounds may fall below the bound of endless ones
ISSUES = 40_000  # of one simulation
PARTITIONS = 4  # of an SM
Registers = tuple[int, int]  # a thread, and spill bytes


@attrs.frozen
class DepthCost:
    """A loop as some form of it would run.

    registers  a thread of the whole kernel, spill bytes; blocks and warps an SM with these
    cycles     of a sub-partition for an iteration of one warp, all resident warps running it
    """

    registers: int
    spills: int
    blocks: int
    cycles: float


@attrs.define(eq=False)
class DepthChoice:
    """What was found for a loop. `reason` None: pipeline it with these stages.

    before   as the assembler would leave it, unrolled `unrolled` times by itself
    tried    depth -> cost; `staged`: depth -> stages
    bounds   depth -> cycles that it takes at least, where that is too many to go on
    """

    reason: Obstacle | None
    what: str = ""
    depth: int = 0
    before: DepthCost | None = None
    unrolled: int = 1
    tried: dict[int, DepthCost] = attrs.field(factory=dict)
    staged: dict[int, Staged] = attrs.field(factory=dict)
    bounds: dict[int, float] = attrs.field(factory=dict)

    @property
    def after(self) -> DepthCost | None:
        return self.tried.get(self.depth)


@attrs.frozen(eq=False)
class Form:
    """A copy of a function in which a loop is pipelined.

    factors  of the loops that the assembler unrolls; `stream`: the kernel, of `steps` iterations
    bound    of its cycles an iteration: with the registers of the function as it is, since values
             in flight need more; 0 where those are not known
    """

    function: Function
    staged: Staged
    factors: Mapping[str, int]
    stream: Stream
    steps: int
    bound: float


@attrs.define(eq=False)
class Prices:
    """What forms of the loops of one function cost on a machine. Made anew when it has changed.

    block     threads a block; `level`: where loads hit
    factors   by header name, how often the assembler unrolls each loop itself
    plain     registers a thread and spill bytes of the function as it is, once they are known
    """

    function: Function
    profile: Profile
    level: str = "l2"
    factors: Mapping[str, int] = attrs.field(factory=dict)
    block: int = 0
    plain: Registers | None = None

    def __attrs_post_init__(self) -> None:
        self.block = self.block or block_threads(self.function) or ASSUMED_BLOCK

    def before(self, loop: Loop, expansion: Expansion) -> DepthCost:
        """The loop as the assembler leaves it: unrolled where it does that."""
        factor = self.factors.get(str(loop.header.name), 1)
        if factor > 1:
            scratch = clone_function(self.function)
            block = _counterpart(loop.header, scratch)
            try:
                unroll(scratch, {block: UnrollPlan(factor)}, Refusals(scratch))
                scratch.analyze_cfg()
                main = next(
                    b for b in scratch.blocks
                    if UNROLLED in b.flags and len(b) > len(block) and b.loop_depth
                )
                unrolled = next(x for x in Analyses.of(scratch).loops if x.header is main)
                stream = loop_stream(unrolled, self.profile)
                return self._cost(self._registers(scratch, {}), stream, factor)
            except (NvirError, StopIteration):
                pass
        if self.plain is None:
            self.plain = self._registers(self.function, self.factors)
        return self._cost(self.plain, loop_stream(loop, self.profile, expansion=expansion), 1)

    def _registers(self, function: Function, factors: Mapping[str, int]) -> Registers:
        found = predict(function, self.profile, factors)
        return found.registers, found.spills.bytes

    def form(self, body: Body, staged: Staged, kernel_only: bool) -> Form:
        """The loop of a body, whose function is a copy, pipelined by these stages."""
        header, depth = body.block, body.block.loop_depth
        made = expand_stages(body, staged.stages, kernel_only)
        left = {k: f for k, f in self.factors.items() if k != str(header.name)}
        kernel = Loop(made.kernel, [made.kernel], depth, None, [made.kernel], own=[made.kernel])
        stream = loop_stream(kernel, self.profile)
        bound = 0.0
        if self.plain is not None:
            bound = self._cost(self.plain, stream, made.factor).cycles * (1 - 2 * ROUNDING)
        return Form(header.function, staged, left, stream, made.factor, bound)

    def after(self, form: Form) -> DepthCost:
        """What a form costs with the registers that it needs."""
        return self._cost(self._registers(form.function, form.factors), form.stream, form.steps)

    def least(self, body: Body, expansion: Expansion) -> float:
        """Cycles an iteration that no depth beats: of what each of them does once an iteration."""
        if body.loop.header.function is not self.function:
            expansion = expand_operations([body.block], self.profile, strict=True)
        slots = [
            slot_of(op, self.profile) for op in variant(expansion, set(body.phis))
            if op.parent in body.index and op.parent not in body.cheap
        ]
        return least_cycles(slots, self.profile, Memory(self.level))

    def _cost(self, found: Registers, stream: Stream, steps: int) -> DepthCost:
        """The cost of a loop whose body holds that many iterations."""
        registers, spills = found
        fits = occupancy(self.profile, registers, self.block)
        blocks = max(1, fits.blocks_per_sm)
        warps = max(1, blocks * -(-self.block // 32) // PARTITIONS)
        rounds = max(8, min(24, ISSUES // (warps * max(1, len(stream.slots)))))
        cycles = throughput(stream, warps=warps, iterations=rounds, memory=self.level)
        return DepthCost(registers, spills, fits.blocks_per_sm, cycles / steps)


def _counterpart(block: Block, copy: Function) -> Block:
    """The block of a function's copy that a block of the function has become."""
    return copy.blocks[block.function.blocks.index(block)]


def staged(body: Body, depth: int) -> Staged | None:
    """The stages of a depth; None where no load can be moved."""
    delays = delays_of(body, depth)
    return by_delays(body, delays) if delays else None


def expand_stages(body: Body, stages: tuple[int, ...], kernel_only: bool) -> ExpandedLoop:
    """Pipeline the loop of a body by stages of its nodes; its function's annotations anew."""
    header = body.block
    assert body.preheader is not None
    region = CopyRegion(header, header, body.preheader, [header], header)
    layout = StageLayout(Staged(body, stages, (0,) * len(stages), True))
    if kernel_only:
        made = expand_kernel_only(layout, region)
    else:
        made = expand(layout, region, trip=trip_count(body.loop))
    header.function.analyze_cfg()
    return made


def body_of(
    function: Function, header: str, textures: bool = False, *, words: bool = False
) -> tuple[Body, CopyRegion]:
    """The body of a loop, which is brought into the form that can be expanded.

    words   loads of narrow vectors become loads of words, which changes the block's numbering
    """
    block = next(b for b in function.blocks if b.name == header)
    return body_at(block, textures, words=words)


def body_at(
    block: Block, textures: bool = False, *, words: bool = False, like: Body | None = None
) -> tuple[Body, CopyRegion]:
    """The same of the loop with this header."""
    function = block.function
    if words:
        join_words(block)
    region = regions(function, {block}, Refusals(function).held)[block]
    loop = Analyses.of(function).loop(block)
    assert loop is not None
    return Body(loop, region.preheader, textures=textures, like=like), region


def plain_body(loop: Loop, textures: bool) -> Body:
    """The body of a loop as it stands; of a copy of its function where words are to be joined."""
    if narrow_loads(loop.header):
        return body_in_copy(loop, None, textures)
    return Body(loop, None, textures=textures)


def body_in_copy(loop: Loop, like: Body | None, textures: bool = False) -> Body:
    """The body of a loop in a copy of its function, in the form that can be expanded."""
    function = loop.header.function
    block = clone_function(function).blocks[function.blocks.index(loop.header)]
    textures = like.textures if like is not None else textures
    return body_at(block, textures, words=True, like=like)[0]


def choose(
    prices: Prices, loop: Loop, body: Body, expansion: Expansion, *, depth: int = 0,
    force: bool = False, limit: int | None = None, kernel_only: bool = False,
) -> DepthChoice:
    """The depth for a loop that has none of the other reasons against it.

    body     the loop's, or that of a copy of it in which words are joined
    expansion  the operations of the loop's block
    depth    0: choose
    limit    registers a thread that a pipelined kernel may have
    """
    trip = trip_count(loop)
    count = trip.count if trip is not None else None
    found = DepthChoice(None, unrolled=prices.factors.get(str(loop.header.name), 1))
    least = 0.0
    pending: dict[int, Form] = {}
    short = None
    for d in [depth] if depth else range(1, DEEPEST + 1):
        stages = staged(body, d)
        if stages is None:
            break
        if stages.filling > LONGEST_PROLOGUE:
            return DepthChoice(Obstacle.TOO_LARGE, str(stages.filling))
        whole = stages.count + StageLayout(stages).factor - 1  # iterations of one round
        if count is not None and not kernel_only and count < whole:
            short = count
            break
        if found.before is None:
            found.before, least = prices.before(loop, expansion), prices.least(body, expansion)
            if not force and least > found.before.cycles * (1 - MARGIN):
                return _no_gain(found, least)
            least *= 1 - ROUNDING
        pending[d] = prices.form(body_in_copy(loop, body), stages, kernel_only)
        if pending[d].bound <= least * (1 + MARGIN):  # else see first if a deeper one does better
            _price(prices, found, pending, force, limit)
            if _is_settled(_fitting(found, limit), least):
                break
    if found.before is not None:
        _price(prices, found, pending, force, limit)
        return _best(found, force, limit)
    if short is not None:
        return DepthChoice(Obstacle.SHORT, str(short))
    names = ", ".join(body.nodes[n].form.spelling for n in body.long_loads)
    return DepthChoice(Obstacle.RECURRENCE, names)


def _price(
    prices: Prices, found: DepthChoice, pending: dict[int, Form], force: bool, limit: int | None
) -> None:
    """Predict the registers of pending depths, the most promising first, as long as that may
    change what is chosen."""
    assert found.before is not None
    worth = math.inf if force else found.before.cycles * (1 - MARGIN)
    while pending:
        d = min(pending, key=lambda d: (pending[d].bound, d))
        form = pending.pop(d)
        fit = _fitting(found, limit)
        matters = form.bound <= worth
        if fit:
            best = fit[_fastest(fit)].cycles
            chosen = _shallowest(fit, best)
            matters &= form.bound < best or (d < chosen and form.bound <= best * (1 + MARGIN))
        if matters:
            found.tried[d], found.staged[d] = prices.after(form), form.staged
        else:
            found.bounds[d] = form.bound


def _no_gain(found: DepthChoice, bound: float) -> DepthChoice:
    assert found.before is not None
    found.reason = Obstacle.NO_GAIN
    found.what = f"at least {bound:.1f} cycles an iteration against {found.before.cycles:.1f}"
    return found


def _fitting(found: DepthChoice, limit: int | None) -> dict[int, DepthCost]:
    """The depths whose registers do not spill more, and leave a block room on an SM."""
    before = found.before
    assert before is not None
    return {
        d: c for d, c in found.tried.items()
        if c.spills <= before.spills and c.blocks and (limit is None or c.registers <= limit)
    }


def _shallowest(fit: dict[int, DepthCost], cycles: float) -> int:
    """The shallowest depth that is as good as one of so many cycles; 0 for none."""
    return next((d for d in sorted(fit) if fit[d].cycles <= cycles * (1 + MARGIN)), 0)


def _fastest(fit: dict[int, DepthCost]) -> int:
    return min(fit, key=lambda d: (round(fit[d].cycles, 2), d))


def _is_settled(fit: dict[int, DepthCost], least: float) -> bool:
    """Whether deeper ones change nothing, which may need from `least` cycles up."""
    if not fit:
        return False
    found = _shallowest(fit, fit[_fastest(fit)].cycles)
    return _shallowest(fit, least) == found


def _best(found: DepthChoice, force: bool, limit: int | None) -> DepthChoice:
    fit, before = _fitting(found, limit), found.before
    assert before is not None
    least = min(found.bounds.values(), default=math.inf)
    if not fit and not found.bounds:
        found.reason = Obstacle.REGISTERS
        found.what = f"{min(c.registers for c in found.tried.values())} and more"
        return found
    found.depth = _shallowest(fit, fit[_fastest(fit)].cycles) if fit else 0
    cycles = fit[found.depth].cycles if fit else math.inf
    if not force and cycles > before.cycles * (1 - MARGIN):
        if least < cycles:
            return _no_gain(found, least)
        found.reason = Obstacle.NO_GAIN
        found.what = f"{cycles:.1f} cycles an iteration against {before.cycles:.1f}"
    return found
