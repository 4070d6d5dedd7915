"""How deep to pipeline a loop, by what it costs and what it is predicted to give.

Each depth D (a load's value is used D steps after the load) is tried on a copy of the function:
registers by the model of the assembler's allocation, blocks an SM from these, cycles an iteration
from the simulator with as many warps as then fit. The best depth is taken where it beats the loop
as the assembler would leave it, which unrolls some loops itself, by more than MARGIN.

Cost     for each depth a clone of the function, one prediction of registers, one simulation.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from nvir.analysis.induction import trip_count
from nvir.assembler.regalloc.predict import predict
from nvir.assembler.regalloc.targets import block_threads
from nvir.ir.clone import clone_function
from nvir.ir.errors import NvirError
from nvir.ir.function import Function
from nvir.ir.loops import Loop, natural_loops
from nvir.passes.loop.pipeline.body import Body, Layout, Staged, by_delays
from nvir.passes.loop.pipeline.expand import Expanded, expand
from nvir.passes.loop.pipeline.feasible import Reason
from nvir.passes.loop.pipeline.kernel_only import expand_kernel_only
from nvir.passes.loop.pipeline.words import join_words
from nvir.passes.loop.unroll.apply import Plan, unroll
from nvir.passes.loop.unroll.prepare import Refusals, Region, regions
from nvir.passes.loop.unroll.transform import UNROLLED
from nvir.sm.occupancy import occupancy
from nvir.sm.profile import Profile
from nvir.sm.simulate import loop_stream, simulate

DEEPEST = 4
MARGIN = 0.03  # of the cycles an iteration: less is within what the model cannot tell
ISSUES = 40_000  # of one simulation
ASSUMED_BLOCK = 256
PARTITIONS = 4  # of an SM


@attrs.frozen
class Cost:
    """A loop as some form of it would run.

    registers  a thread of the whole kernel, spill bytes; blocks and warps an SM with these
    cycles     of a sub-partition for an iteration of one warp, all resident warps running it
    """

    registers: int
    spills: int
    blocks: int
    cycles: float


@attrs.frozen(eq=False)
class Choice:
    """What was found for a loop. `reason` None: pipeline it with these stages.

    before   as the assembler would leave it, unrolled `unrolled` times by itself
    tried    depth -> cost
    """

    reason: Reason | None
    what: str = ""
    depth: int = 0
    before: Cost | None = None
    unrolled: int = 1
    tried: Mapping[int, Cost] = attrs.field(factory=dict)

    @property
    def after(self) -> Cost | None:
        return self.tried.get(self.depth)


@attrs.frozen
class Machine:
    """Where the loop is to run: the profile, threads a block, where its loads hit."""

    profile: Profile
    block: int
    level: str = "l2"
    shared: int = 0

    def cost(self, function: Function, header: str, steps: int, factors: Mapping[str, int]) -> Cost:
        """The cost of a loop whose body holds that many iterations; annotations are fresh."""
        found = predict(function, self.profile, factors)
        fits = occupancy(self.profile, found.registers, self.block, static_smem=self.shared)
        blocks = max(1, fits.blocks_per_sm)
        warps = max(1, blocks * -(-self.block // 32) // PARTITIONS)
        loop = next(x for x in natural_loops(function) if x.header.name == header)
        stream = loop_stream(loop, self.profile)
        rounds = max(8, min(24, ISSUES // (warps * max(1, len(stream.slots)))))
        made = simulate(stream, warps=warps, iterations=rounds, memory=self.level)
        cycles = made.cycles_per_warp_iteration / steps
        return Cost(found.registers, found.spills.bytes, fits.blocks_per_sm, cycles)


def machine_for(function: Function, profile: Profile, level: str, shared: int = 0) -> Machine:
    return Machine(profile, block_threads(function) or ASSUMED_BLOCK, level, shared)


def delays_of(body: Body, depth: int, loads: list[int]) -> dict[int, int]:
    """The loads that can be used `depth` steps after they are issued, all of them together."""
    delays: dict[int, int] = {}
    for n in loads:
        if by_delays(body, {**delays, n: depth}) is not None:
            delays[n] = depth
    return delays


def staged(body: Body, depth: int) -> Staged | None:
    """The stages of a depth; None where no load can be moved."""
    delays = delays_of(body, depth, body.long_loads)
    return by_delays(body, delays) if delays else None


def pipeline(
    function: Function, header: str, depth: int, textures: bool = False,
    kernel_only: bool = False,
) -> Expanded:
    """Pipeline the loop of a header by name, at a depth that it can have; analyses anew."""
    body, region = body_of(function, header, textures, words=True)
    found = staged(body, depth)
    assert found is not None
    if kernel_only:
        made = expand_kernel_only(Layout(found), region)
    else:
        made = expand(Layout(found), region, trip=trip_count(body.loop))
    function.analyze_cfg()
    return made


def body_of(
    function: Function, header: str, textures: bool = False, *, words: bool = False
) -> tuple[Body, Region]:
    """The body of a loop, which is brought into the form that can be expanded.

    words   loads of narrow vectors become loads of words, which changes the block's numbering
    """
    refusals = Refusals(function)
    block = next(b for b in function.blocks if b.name == header)
    if words:
        join_words(block)
    region = regions(function, {block}, refusals.held)[block]
    loop = next(x for x in natural_loops(function) if x.header is block)
    return Body(loop, region.preheader, textures=textures), region


def choose(
    function: Function, loop: Loop, body: Body, machine: Machine, *, factors: Mapping[str, int],
    depth: int = 0, force: bool = False, limit: int | None = None, kernel_only: bool = False,
) -> Choice:
    """The depth for a loop that has none of the other reasons against it.

    factors  by header name, how often the assembler unrolls each loop itself
    depth    0: choose
    limit    registers a thread that a pipelined kernel may have
    """
    header = str(loop.header.name)
    trip = trip_count(loop)
    before = _before(function, header, machine, factors)
    tried: dict[int, Cost] = {}
    short = None
    for d in [depth] if depth else range(1, DEEPEST + 1):
        found = staged(body, d)
        if found is None:
            break
        layout = Layout(found)
        count = trip.count if trip is not None else None
        if count is not None and not kernel_only and count < found.count + layout.factor - 1:
            short = short or count
            break
        scratch = clone_function(function)
        scratch.analyze_cfg()
        made = pipeline(scratch, header, d, body.textures, kernel_only)
        left = {k: f for k, f in factors.items() if k != header}
        tried[d] = machine.cost(scratch, str(made.kernel.name), made.factor, left)
    unrolled = factors.get(header, 1)
    if not tried:
        if short is not None:
            return Choice(Reason.SHORT, str(short), before=before, unrolled=unrolled)
        names = ", ".join(body.nodes[n].form.spelling for n in body.long_loads)
        return Choice(Reason.RECURRENCE, names, before=before, unrolled=unrolled)
    return _best(tried, before, unrolled, force, limit)


def _best(
    tried: dict[int, Cost], before: Cost, unrolled: int, force: bool, limit: int | None
) -> Choice:
    fit = {
        d: c for d, c in tried.items()
        if c.spills <= before.spills and c.blocks and (limit is None or c.registers <= limit)
    }
    if not fit:
        need = min(c.registers for c in tried.values())
        return Choice(Reason.REGISTERS, f"{need} and more", 0, before, unrolled, tried)
    best = min(fit, key=lambda d: (round(fit[d].cycles, 2), d))
    for d in sorted(fit):  # the shallowest that is as good
        if fit[d].cycles <= fit[best].cycles * (1 + MARGIN):
            best = d
            break
    if not force and fit[best].cycles > before.cycles * (1 - MARGIN):
        what = f"{fit[best].cycles:.1f} cycles an iteration against {before.cycles:.1f}"
        return Choice(Reason.NO_GAIN, what, best, before, unrolled, tried)
    return Choice(None, "", best, before, unrolled, tried)


def _before(
    function: Function, header: str, machine: Machine, factors: Mapping[str, int]
) -> Cost:
    """The loop as the assembler leaves it: unrolled where it does that."""
    factor = factors.get(header, 1)
    plain = machine.cost(function, header, 1, factors)
    if factor < 2:
        return plain
    scratch = clone_function(function)
    scratch.analyze_cfg()
    block = next(b for b in scratch.blocks if b.name == header)
    try:
        unroll(scratch, {block: Plan(factor)}, Refusals(scratch))
        scratch.analyze_cfg()
        main = next(
            b for b in scratch.blocks
            if UNROLLED in b.flags and len(b) > len(block) and b.loop_depth
        )
        return machine.cost(scratch, str(main.name), factor, {})
    except (NvirError, StopIteration):
        return plain
