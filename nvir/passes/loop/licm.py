"""Loop-invariant code motion: what gives the same in every iteration is computed once, before.

    L: mul %y, %a, %b          mul %y, %a, %b
       add %s, %s, %y      ==> L: add %s, %s, %y
       bra L                      bra L

One pass, four instances: `licm<id=0>` to `licm<id=3>` stand where the real tool runs its routine
(phases 35, 66, 79, 88) and differ in budgets and weights (hoist/tables.py).

What may move is the same under every policy (hoisting/region.py); which loop it moves out of,
a policy decides: `observed` by assembler/hoist, `documented` by the five stages of
documented/hoist.

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

from collections.abc import Iterator, Mapping
from typing import Literal

import attrs

from nvir.analysis.analyses import Analyses
from nvir.analysis.hoisting.nest import Nest
from nvir.analysis.hoisting.region import Blocked, HoistRegion, Stay, live_into, survey
from nvir.assembler.hoist import tables
from nvir.assembler.hoist.score import Verdict
from nvir.ir import (
    CC,
    PRED,
    Block,
    EdgePlace,
    Function,
    Instruction,
    Loop,
    interpose_all,
    successors,
)
from nvir.ir.text.trace import Brief, looking_at, note, shown, step
from nvir.passes.context import Context
from nvir.passes.policies import Hoisting, decision_policy
from nvir.passes.remarks import Code, analysis, missed, passed, place_of

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


CONVERGED = 2  # the instance that marks what all lanes compute together
LINKED = 3  # the instance that looks at the carries of what it moves


@attrs.frozen
class Options:
    """id: which instance; limit: most functions that a run looks at, over all instances; 0: all.

    level: of optimisation; policy documented: at 1 only the early instance hoists, at 0 none.
    """

    id: Literal["0", "1", "2", "3"] = "0"
    limit: int = 0
    level: int = 2


@attrs.define(eq=False)
class HoistDecision:
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
    note("LIC-01", "pass", tables.NAMES[pass_id], pass_id=pass_id)
    nest = Nest(function)
    decisions = decide(function, ctx, pass_id, nest)
    moving = ctx.knob("mover-enable")
    for d in decisions:
        _tell(d, ctx, moving)
    enabled = ctx.knob("mover-enable", pass_id=pass_id)
    moves = bool(nest.moved) and enabled
    if nest.moved:
        looking_at("")
        note("LIC-28", "6 knob 484", "all of it moves" if moves else "nothing moves",
             enabled=enabled, chosen=list(nest.moved))
    if moves:
        mover(nest, pass_id if ctx.policy == "documented" else None)
        ctx.count("hoisted", len(nest.moved))
    after = decision_policy(ctx.policy).hoisted
    if after is not None:
        after(function, pass_id)
    return moves


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


def decide(function: Function, ctx: Context, pass_id: int, nest: Nest) -> list[HoistDecision]:
    """The decision on each loop, innermost first. `nest` learns what leaves; nothing moves."""
    hoisting = decision_policy(ctx.policy).hoisting(ctx, pass_id, nest)
    return [_decide(x, nest, hoisting, ctx, pass_id) for x in ctx.asked(nest.innermost_first())]


def _decide(loop: Loop, nest: Nest, by: Hoisting, ctx: Context, pass_id: int) -> HoistDecision:
    looking_at(loop.header.name)
    note("LIC-05", "loop", f"entered from {len(loop.entries)}, blocks {len(loop.blocks)}"
         if loop.entries else "passed over: no way in from outside", depth=loop.depth,
         number=loop.header.rpo_index, predecessors={b: b.loop_depth for b in loop.header.preds})
    if not loop.entries:
        return HoistDecision(loop, why=NO_ENTRY)
    block: tables.Policy381 | HoistDecision | None = None
    if not by.literal:  # the notes ask behind the boundaries
        block = _block_policy(loop, by, ctx, pass_id)
    if isinstance(block, HoistDecision):
        return block
    region = survey(loop, nest)
    if region.unknown is not None:
        what = region.unknown.form.spelling
        return HoistDecision(loop, why=UNKNOWN, fields=(("what", what),))
    reason = by.boundary(region)
    if reason:
        return HoistDecision(loop, why=BOUNDARY, fields=(("reason", reason),))
    block = block or _block_policy(loop, by, ctx, pass_id)
    if isinstance(block, HoistDecision):
        return block
    if by.literal:
        note("LIC-26", "right to move", region.invariant, items=region.items,
             hazards=list(region.hazards), stay={s.instruction: s.why.value for s in region.stay})
    stay = (*region.stay, *(_effects(region) if by.literal else ()))
    if by.literal and stay:
        note("LIC-26", "stays", {s.instruction: s.why.value for s in stay}, loop=loop)
        bound = [s.instruction for s in stay if s.why in (Blocked.CONDITIONAL, Blocked.CONVERGENT)]
        if bound:
            note("LIC-34", "stays with its lanes, or its path", "stays", items=bound)
    if not region.invariant:
        if by.literal:  # as noted the stages run before anything is known
            by.hoist(region, block)
        return HoistDecision(loop, stay=stay)
    leaving, verdict = by.hoist(region, block)
    values = len(live_into(region, leaving))
    nest.leave(loop, leaving)
    return HoistDecision(loop, tuple(leaving), len(region.invariant), values, verdict, stay)


def _block_policy(
    loop: Loop, by: Hoisting, ctx: Context, pass_id: int
) -> tables.Policy381 | HoistDecision:
    """What knob 381 says of the loop, or the decision that nothing leaves it."""
    late = ctx.knob("HoistLate", loop.header, pass_id=pass_id)
    inner = loop.parent is not None
    block = tables.block_policy(
        late, pass_id, inner=inner, literal=by.literal, level=ctx.options.level
    )
    if block is tables.Policy381.SKIP:
        return HoistDecision(loop, why=POLICY, fields=(("value", str(late)), ("id", str(pass_id))))
    return block


def _effects(region: HoistRegion) -> Iterator[Stay]:
    """Calls; stores and atomic operations with operands from outside of the loop."""
    for i in region.items:
        if i.form.is_call:
            yield Stay(i, Blocked.IS_CALL)
        elif i.form.writes and all(v.definer not in region.members for v in i.operands):
            yield Stay(i, Blocked.EFFECT if i.form.reads and i.results else Blocked.WRITES)


def _tell(d: HoistDecision, ctx: Context, moving: bool) -> None:
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


@step("LIC-28", "7 moved in all", "marked_for", tell=lambda made, *a: Brief(len(made), made))
def mover(nest: Nest, marked_for: int | None = None) -> list[Instruction]:
    """Put everything that leaves a loop at the end of its preheader; where the instance is told,
    with the marks that it leaves. Returns what moved."""
    leaving = [(x, nest.lifted[x.header]) for x in nest.loops if nest.lifted.get(x.header)]
    found = {x.header: x.preheader for x, _ in leaving if x.preheader is not None}
    place: dict[Block, Block] = dict(found)
    wanted = []
    for loop, _ in leaving:
        if loop.header not in found:
            wanted.append(EdgePlace(loop.header, loop.entries))
    together = {} if marked_for is None else _convergence(nest.function, found)
    for p, made in zip(wanted, interpose_all(nest.function, wanted), strict=True):
        place[p.target] = made
    for loop, instructions in leaving:
        anchor = place[loop.header].terminator
        assert anchor is not None
        looking_at(loop.header.name)
        flag = together.get(loop.header, False)
        note("LIC-11", "preheader", place[loop.header], made=loop.header not in found,
             convergence_flag=flag)
        marks = {i: _marks(i, marked_for, flag) for i in instructions}
        note("LIC-28", "6 moved, all loops decided", instructions, loop=loop, marks=marks)
        ways = successors(loop.latches[-1])
        note("LIC-32", "7 list made anew", len(ways) > 1, loop=loop, changed=bool(instructions),
             back_edge=loop.latches[-1], successors=ways)
        for i in instructions:
            if marked_for == LINKED and i.form.carry_in:
                note("LIC-29", "carry link", carry_link(i), instruction=i)
            i.move_before(anchor)
            if marks[i]:
                nest.function.marks.setdefault(i, set()).update(marks[i])
    looking_at("")
    return [i for _, instructions in leaving for i in instructions]


def _convergence(function: Function, found: Mapping[Block, Block]) -> dict[Block, bool]:
    """The convergence flag of the preheaders that there are, by the loops' headers: all lanes of a
    warp reach it together. One that is made has none, as noted."""
    apart = Analyses.of(function).divergence.apart
    return {header: block not in apart for header, block in found.items()}


def _marks(i: Instruction, pass_id: int | None, together: bool) -> list[str]:
    """The marks of what an instance moves: `hoisted`; `converged` (bit 26 of its register) of a
    general register that instance 2 moves to a preheader with the convergence flag."""
    if pass_id is None:
        return []
    general = any(r.type not in (PRED, CC) for r in i.results)
    return ["hoisted", *(["converged"] if pass_id == CONVERGED and together and general else [])]


def carry_link(i: Instruction) -> str:
    """What a link of a carry chain is linked to, before it moves: a chain moves as a whole, so the
    link before has moved already."""
    carry = next((v for v in i.operands if v.type is CC), None)
    d = carry.definer if carry is not None else None
    if d is None:
        return "a carry from outside"
    return f"the carry of {shown(d)}, moved before it"
