"""Loop-invariant code motion: what gives the same in every iteration is computed once, before.

    L: mul %y, %a, %b          mul %y, %a, %b
       add %s, %s, %y      ==> L: add %s, %s, %y
       bra L                      bra L

One pass, four instances: `licm<id=0>` to `licm<id=3>` stand where the real tool runs its routine
(phases 35, 66, 79, 88) and differ in budgets and weights (licm_tables.py).

What may move is the same under every policy (licm_region.py); which loop it moves out of, a policy
decides: `observed` by licm_score.py, `notes` by the five stages of licm_stages.py.

Method   Loops innermost first. Decisions are made over the function as it is, an instruction that
         left an inner loop standing at that loop's head; then all is moved at once, and
         preheaders are made where a loop has none.
Needs    SSA, CFG annotations.
Keeps    the order of effects; every convergent operation in place.
Leaves   a preheader for each loop that something left.
Skips    loops that hold an unknown operation, irreducible regions.
Cost     linear in the sizes of the loops, a block once for each loop around it.
Source   Aho, Lam, Sethi, Ullman, "Compilers", 2nd ed., section 9.5; the notes on the real tool's
         routine; benchmarks/licm_agreement.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal, TypeVar

import attrs

from nvir.analysis.hoisting.nest import Nest
from nvir.analysis.hoisting.region import Blocked, Stay, live_into, survey
from nvir.assembler.hoist import tables
from nvir.assembler.hoist.decide import observed
from nvir.assembler.hoist.score import Verdict
from nvir.assembler.hoist.weights import Weights
from nvir.documented.hoist.core import Core, CoreKnobs
from nvir.documented.hoist.stages import iteration_limit
from nvir.ir.block import Block
from nvir.ir.cfg import Place, interpose_all
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop
from nvir.ir.module import capability
from nvir.passes.context import Context
from nvir.passes.remarks import Code, analysis, missed, passed, place_of

T = TypeVar("T")
_NUMBERS = "[{score}·{budget:g} / ({real}·{size:g}) = {value:g}, penalty {penalty}]"
_STAYS = "{count} invariant {count:instruction stays|instructions stay}: "
HOISTED = passed("Hoisted", "{count} invariant {count:instruction leaves|instructions leave} "
                 "the loop, {loads} of them loads, "
                 "{values} {values:value lives|values live} on " + _NUMBERS)
NOT_PAYING = missed(
    "NotProfitable", _STAYS + "too little is saved for the registers " + _NUMBERS
)
LEFT_ALONE = missed("LeftAlone", _STAYS + "{reason}")
STAYS: dict[Blocked, Code] = {
    why: missed("NotHoisted" + why.name.title().replace("_", ""),
                "{what} at {at} stays: " + why.value + "{by}")
    for why in Blocked
}
UNKNOWN = missed("UnknownOperation", "nothing leaves the loop: {what} is no operation that the "
                 "table knows")
NO_ENTRY = missed("NoEntry", "nothing leaves the loop: it begins at the function's entry")
POLICY = missed("BlockPolicy", "nothing leaves the loop: knob HoistLate is {value} for pass {id}",
                "381")
GUARDED = missed("Guarded", "no loop is looked at: {reason}", "499")
UNMOVED = analysis("MoverOff", "{count} {count:instruction|instructions} would leave the loop; "
                   "knob mover-enable is off", "484")
BOUNDARY = missed("Boundary", "nothing leaves the loop: {reason}")
CODES = (
    HOISTED, NOT_PAYING, LEFT_ALONE, *STAYS.values(), UNKNOWN, NO_ENTRY, POLICY, GUARDED, UNMOVED,
    BOUNDARY,
)


@attrs.frozen
class Options:
    """id: which instance; limit: most functions that a run looks at, over all instances; 0: all."""

    id: Literal["0", "1", "2", "3"] = "0"
    limit: int = 0


@attrs.define(eq=False)
class Decision:
    """What leaves a loop; `why` is the code of a loop that nothing can leave, with its fields."""

    loop: Loop
    leaving: tuple[Instruction, ...] = ()
    invariant: int = 0
    values: int = 0  # results that the rest of the loop reads
    verdict: Verdict | None = None
    stay: tuple[Stay, ...] = ()
    why: Code | None = None
    fields: tuple[tuple[str, str], ...] = ()


def run(function: Function, ctx: Context) -> bool:
    pass_id = int(ctx.options.id)
    if not function.back_edges:
        return False
    if guard(function, ctx) <= tables.BLOCKS.value:
        return False
    nest = Nest(function)
    decisions = decide(function, ctx, pass_id, nest)
    moving = ctx.knob("mover-enable")
    for d in decisions:
        _tell(d, ctx, moving)
    if not nest.moved or not ctx.knob("mover-enable", pass_id=pass_id):
        return False
    _move(nest)
    ctx.count("hoisted", len(nest.moved))
    return True


def guard(function: Function, ctx: Context) -> int:
    """The function's blocks, or 1 where the knob or the limiter stops the pass."""
    pass_id = int(ctx.options.id)
    if not ctx.knob("licm-enable", pass_id=pass_id):
        ctx.remark(GUARDED, None, reason="knob licm-enable is off")
        return 1
    limit = ctx.options.limit
    done = ctx.counters["licm.looked-at"]
    if limit and done >= limit:
        ctx.remark(GUARDED, None, reason=f"{done} functions were looked at, the limit")
        return 1
    ctx.count("looked-at")
    return block_count(function)


def block_count(function: Function) -> int:
    return len(function.blocks)


def decide(function: Function, ctx: Context, pass_id: int, nest: Nest) -> list[Decision]:
    """The decision on each loop, innermost first. `nest` learns what leaves; nothing moves."""
    knobs = _of_loops(ctx, lambda header: own_knobs(ctx, pass_id, header))
    policy: Core | Weights
    if ctx.policy == "notes":
        for_core = _of_loops(ctx, lambda header: core_knobs(ctx, pass_id, header))
        policy = Core(ctx, pass_id, nest, for_core)
    else:
        policy = Weights(nest, capability(ctx.module.target) or 80)
    return [_decide(x, nest, policy, knobs(x.header), pass_id) for x in nest.innermost_first()]


def _of_loops(ctx: Context, read: Callable[[Block | None], T]) -> Callable[[Block], T]:
    """Knobs by the header of the loop that they hold for; read once if none is set for a block."""
    if any("@" in name for name in ctx.knobs.overrides()):
        return functools.cache(read)
    common = read(None)
    return lambda header: common


@attrs.frozen
class OwnKnobs:
    """What the pass reads of the knobs, for one loop."""

    late: int | None  # HoistLate, 381
    outer: float  # HoistBudget, 483
    divergent: float  # HoistLoopInvBudget, 482


def own_knobs(ctx: Context, pass_id: int, header: Block | None = None) -> OwnKnobs:
    names = ("HoistLate", "HoistBudget", "HoistLoopInvBudget")
    return OwnKnobs(*[ctx.knob(n, header, pass_id=pass_id) for n in names])


def core_knobs(ctx: Context, pass_id: int, header: Block | None = None) -> CoreKnobs:
    """The knobs of the notes' stages, as they hold for the loop of a header."""
    at: dict[str, Any] = {"block": header, "pass_id": pass_id}
    ratio = "MaxMidHeaderSizeRateForAggressiveHoist"
    return CoreKnobs(
        base=ctx.knob("HoistBudget", **at),
        cbo=ctx.knob("HoistLoopInvBudget", **at),
        base_outer=ctx.knob("NestedHoistOuterThreshold", **at),
        cbo_inner=ctx.knob("NestedHoistInnerThreshold", **at),
        middle=ctx.knob("EnableHoistLowLatencyInstMidBlock", **at),
        scale=ctx.knob("HoistConservativeScale", **at),
        sets=ctx.knob("UseNewLoopInvariantRoutineForHoisting", **at),
        permitted=ctx.knob("multi-depth-hoist", **at) and not ctx.knob("DisableNestedHoist", **at),
        ratio=iteration_limit(
            ctx.knobs.kind(ratio), ctx.knob("MaxMidHeaderSizeRateForAggressiveHoist", **at)
        ),
        const_loads=ctx.knob("HoistCBOLoad", **at) != 0,
        const_mode=ctx.knob("HoistCBOMode", **at),
        scoreboards=ctx.knob("HoistCBOHighCostSBInstRatioThreshold", **at),
        cold_nests=bool(ctx.knob("HoistCBOFromLoopWithColdNest", **at)),
        idom_limit=ctx.knob("HoistCBOLoadIDOMTravseLimit", **at),
        pressure=ctx.knob("HoistCBORRegPressureLimitApplyRate", **at),
        texture_low=ctx.knob("HoistTexToInstRatioLow", **at),
        texture_high=ctx.knob("HoistTexToInstRatioHigh", **at),
        move=Fraction(ctx.knob("MovWeightForSinkingHoisting", **at)),
    )


def _decide(
    loop: Loop, nest: Nest, by: Core | Weights, knobs: OwnKnobs, pass_id: int
) -> Decision:
    """The decision on a loop, by the notes' stages or by observed weights."""
    if not loop.entries:
        return Decision(loop, why=NO_ENTRY)
    notes = isinstance(by, Core)
    inner = loop.parent is not None
    policy = tables.block_policy(knobs.late, pass_id, inner=inner, literal=notes)
    if policy is tables.Policy381.SKIP:
        return Decision(loop, why=POLICY, fields=(("value", str(knobs.late)), ("id", str(pass_id))))
    region = survey(loop, nest)
    if region.unknown is not None:
        return Decision(loop, why=UNKNOWN, fields=(("what", region.unknown.form.spelling),))
    if isinstance(by, Core):
        bounds = by.boundaries(region)
        if bounds.reason:
            return Decision(loop, why=BOUNDARY, fields=(("reason", bounds.reason),))
    if not region.invariant:
        return Decision(loop, stay=tuple(region.stay))
    if isinstance(by, Core):
        leaving, verdict = by.hoist(region, policy)
    else:
        leaving, verdict = observed(region, pass_id, by, knobs.outer, knobs.divergent)
    values = len(live_into(region, leaving))
    nest.leave(loop, leaving)
    return Decision(
        loop, tuple(leaving), len(region.invariant), values, verdict, tuple(region.stay)
    )


def _tell(d: Decision, ctx: Context, moving: bool) -> None:
    if d.why is not None:
        ctx.remark(d.why, d.loop, **dict(d.fields))
        return
    for s in d.stay:
        by = f": {s.cause.form.spelling} at {place_of(s.cause)}" if s.cause else ""
        what, at = s.instruction.form.spelling, place_of(s.instruction)
        ctx.remark(STAYS[s.why], d.loop, what=what, at=at, by=by)
    v = d.verdict
    if v is None:
        return
    if d.leaving:
        if not moving:
            ctx.remark(UNMOVED, d.loop, count=len(d.leaving))
            return
        loads = sum(i.form.reads for i in d.leaving)
        ctx.remark(HOISTED, d.loop, count=len(d.leaving), loads=loads, values=d.values,
                   **v.numbers())
    elif v.why:
        ctx.remark(LEFT_ALONE, d.loop, count=d.invariant, reason=v.why)
    else:
        ctx.remark(NOT_PAYING, d.loop, count=d.invariant, **v.numbers())


def _move(nest: Nest) -> None:
    """Put everything that leaves a loop at the end of its preheader."""
    leaving = [(x, nest.lifted[x.header]) for x in nest.loops if nest.lifted.get(x.header)]
    place: dict[Block, Block] = {}
    wanted = []
    for loop, _ in leaving:
        found = loop.preheader
        if found is not None:
            place[loop.header] = found
        else:
            wanted.append(Place(loop.header, loop.entries))
    for p, made in zip(wanted, interpose_all(nest.function, wanted), strict=True):
        place[p.target] = made
    for loop, instructions in leaving:
        anchor = place[loop.header].terminator
        assert anchor is not None
        for i in instructions:
            i.move_before(anchor)
