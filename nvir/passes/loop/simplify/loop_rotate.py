"""Loop rotation (inversion): `while` becomes a guarded `do … while`.

    pre:  bra h                                pre:  %p.1 = setp 0, %n;  @%p.1 bra n, e
    h:    %i = phi [0, pre], [%j, l]
          %p = setp %i, %n             ==>     n:    %i = phi [0, pre], [%j, n]
          @%p bra n, e                               %j = add %i, 1
    n:    %j = add %i, 1;  bra h               h:    %p = setp %j, %n
    e:    …                                          @%p bra n, e
                                               e:    …

One branch an iteration instead of two, and what the body does is done whenever the loop is entered,
so it may be hoisted. The real knob's text has it the other way round: do-while
into while.

Method   A copy of the header, with the values that come from outside, takes its place before the
         loop; the header is entered from the latch only and becomes the new latch. All
         loops of the function are changed on one snapshot (simplify/rotation.py), then the new
         preheaders and exits are made (loop-simplify).
Needs    fresh CFG annotations, canonical loops (loop-simplify).
Keeps    what each thread does and in what order: the header is run as often as before.
Leaves   a guard that a constant decides to the scalar passes.
Skips    headers without an exit test; latches that have one (the loop is rotated); headers above
         the budget; copies that `region.why_not_copied` forbids, among them barriers and
         shuffles: the lanes that test first would meet in another place than the others.
Knobs    LoopInversion, LoopInversionBudget (unset: 16, LLVM's), LoopPeelInversion.
Cost     linear.
Source   The notes' phase 18; LLVM's LoopRotation for the steps.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import attrs

from nvir.analysis.held import held_in_place
from nvir.ir import EdgePlace, Function, Loop, Value, interpose_all
from nvir.passes.context import Context
from nvir.passes.loop import region
from nvir.passes.loop.simplify import loop_peel
from nvir.passes.loop.simplify.canonical import canonicalise
from nvir.passes.loop.simplify.rotation import RotationPlan, rotate
from nvir.passes.remarks import analysis, missed, passed

BUDGET = 16  # instructions of a header that is copied, where the knob is unset

ROTATED = passed("Rotated", "the test of {header} stands before the loop and at its end: "
                 "{instructions} instructions copied")
DISABLED = missed("InversionDisabled", "not rotated: the knob LoopInversion is off")
TOO_LARGE = missed(
    "HeaderTooLarge", "not rotated: {instructions} instructions in the header, {budget} are allowed"
)
NO_TEST = analysis("NoTestInHeader", "not rotated: the header leads nowhere out of the loop")
AT_END = analysis("TestAtEnd", "not rotated: {latch} tests at the end of the loop")
MANY_WAYS = missed("ManyWaysIn", "not rotated: the header leads to {ways} blocks of the loop")
CODES = (ROTATED, DISABLED, TOO_LARGE, NO_TEST, AT_END, MANY_WAYS, *loop_peel.CODES)


def run(function: Function, ctx: Context) -> bool:
    if not function.back_edges:
        return False
    plans, held = _plans(function, ctx)
    if not plans:
        return False
    plans = _split_body_edges(function, plans)
    for p in plans:
        ctx.count("rotated")
        ctx.remark(ROTATED, p.loop, header=p.loop.header.name, instructions=p.size)
    headers = [p.body for p in plans]
    rotate(function, plans, held)
    canonicalise(function)
    if ctx.knob("LoopPeelInversion"):
        rotated = set(headers)
        loop_peel.peel_loops(function, ctx, only=rotated)
    return True


def _plans(function: Function, ctx: Context) -> tuple[list[RotationPlan], AbstractSet[Value]]:
    """What to rotate, and the values that are held in place where anything is."""
    loops = ctx.analyses(function).loops
    if not ctx.knob("LoopInversion"):
        ctx.remark(DISABLED)
        return [], frozenset()
    given = ctx.knob("LoopInversionBudget")
    budget = BUDGET if given is None else int(given)
    held: frozenset[Value] | None = None
    plans = []
    for loop in loops:
        plan = _shape(loop, ctx)
        if plan is None:
            continue
        if plan.size > budget:
            ctx.remark(TOO_LARGE, loop, instructions=plan.size, budget=budget)
            continue
        if held is None:
            held = held_in_place(function)
        found = region.why_not_copied([loop.header], held)
        if found is not None:
            ctx.remark(found[0], loop, done="rotated", what=found[1])
        else:
            plans.append(plan)
    return plans, held or frozenset()


def _shape(loop: Loop, ctx: Context) -> RotationPlan | None:
    """The plan of a loop that is tested at its head and not at its end."""
    region.tell_form(loop, 21)
    header, inside = loop.header, loop.members
    within = [s for s in header.succs if s in inside]
    if len(within) == len(header.succs):
        ctx.remark(NO_TEST, loop)
        return None
    for latch in loop.latches:
        if any(s not in inside for s in latch.succs):
            ctx.remark(AT_END, loop, latch=latch.name)
            return None
    if len(within) != 1:
        ctx.remark(MANY_WAYS, loop, ways=len(within))
        return None
    if not region.is_canonical(loop):
        ctx.remark(region.NOT_CANONICAL, loop, done="rotated")
        return None
    size = sum(not i.form.is_phi for i in header)
    return RotationPlan(loop, loop.entries[0], loop.latches[0], within[0], size)


def _split_body_edges(function: Function, plans: list[RotationPlan]) -> list[RotationPlan]:
    """Let the header be the only way to the block that becomes the loop's new header."""
    shared = [p for p in plans if len(p.body.preds) > 1]
    places = [
        EdgePlace(
            p.body, [p.loop.header], f"{p.loop.header.name}.body", p.loop.header
        ) for p in shared
    ]
    bodies = dict(zip(shared, interpose_all(function, places), strict=True))
    return [attrs.evolve(p, body=bodies.get(p, p.body)) for p in plans]
