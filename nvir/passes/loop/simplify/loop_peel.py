"""Loop peeling: the first iteration stands before the loop, in a copy of its own.

    a:  bra h                                  a:    bra h.1
    h:  %i = phi [0, a], [%n, h]       ==>     h.1:  %n.1 = add 0, 1
        %n = add %i, 1                               @%p.1 bra h, e
        @%p bra h, e                           h:    %i = phi [%n.1, h.1], [%n, h]
    e:  use %n                                       …

What only the first iteration does (a test for it, an initial value) can be folded in the copy.
Innermost loops are peeled, once each: the header is flagged.

Method   The blocks are copied. Ways into the loop lead to the copy, its back edges to the original
         loop, whose header's phis take the values of the copy; values used behind the loop are
         repaired, for all loops at once.
Needs    fresh CFG annotations, canonical loops (loop-simplify).
Keeps    what each thread does, in what order.
Skips    loops above the limit; copies that `region.why_not_copied` forbids. Synchronisation is
         copied under the knob GenPeelingLoopsForSyncs alone; texture and surface accesses
         are refused aloud under AssertIfPeelingLoopForTexSurf.
Cost     linear in the size of the loops.
Source   The notes' phase 18; the limit is nvir's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import attrs

from nvir.analysis.held import held_in_place
from nvir.ir import Block, Function, Instruction, Loop, Value
from nvir.ir.clone import place
from nvir.ir.ssa.repair import repair
from nvir.passes.context import Context
from nvir.passes.loop import region
from nvir.passes.loop.simplify.canonical import canonicalise
from nvir.passes.remarks import failure, missed, passed

LIMIT = 64  # instructions of a loop that peeling copies; assumed

PEELED = passed("Peeled", "the first iteration stands before the loop: "
                "{instructions} {instructions:instruction|instructions}")
TOO_LARGE = missed(
    "TooLargeToPeel", "not peeled: {instructions} instructions, the limit is {limit}"
)
FETCHES = failure("PeelsFetches", "not peeled: {what} in the loop, and a knob forbids to copy it")
CODES = (PEELED, TOO_LARGE, FETCHES, *region.CODES)

_PEELED = "peeled"  # flag of a header


@attrs.frozen
class Options:
    """`limit`: instructions of the largest loop that is peeled."""

    limit: int = LIMIT


def run(function: Function, ctx: Context) -> bool:
    return peel_loops(function, ctx, ctx.options.limit)


def peel_loops(
    function: Function, ctx: Context, limit: int = LIMIT, only: AbstractSet[Block] | None = None,
    as_they_are: bool = False,
) -> bool:
    """Peel one iteration of each innermost loop (with a header in `only`); whether any was.
    They are canonical again then; `as_they_are`: they need not be, and are not made so."""
    loops = [
        x for x in ctx.analyses(function).loops
        if x.is_innermost and (only is None or x.header in only)
    ]
    if not loops:
        return False
    held = held_in_place(function)
    chosen = [x for x in loops if _may_peel(x, ctx, limit, held, as_they_are)]
    for loop in chosen:
        ctx.count("peeled")
        ctx.remark(PEELED, loop, instructions=sum(map(len, loop.blocks)))
    if not chosen:
        return False
    peel(function, chosen, held)
    if not as_they_are:
        canonicalise(function)
    return True


def _may_peel(
    loop: Loop, ctx: Context, limit: int, held: AbstractSet[Value], as_it_is: bool = False
) -> bool:
    if _PEELED in loop.header.flags:
        return False
    size = sum(map(len, loop.blocks))
    if size > limit:
        ctx.remark(TOO_LARGE, loop, instructions=size, limit=limit)
        return False
    if not as_it_is and not region.is_canonical(loop):
        ctx.remark(region.NOT_CANONICAL, loop, done="peeled")
        return False
    if ctx.knob("AssertIfPeelingLoopForTexSurf"):
        access = _access(loop.blocks)
        if access is not None:
            ctx.remark(FETCHES, loop, what=access.form.spelling)
            return False
    syncs = bool(ctx.knob("GenPeelingLoopsForSyncs"))
    found = region.why_not_copied(loop.blocks, held, convergent=syncs)
    if found is not None:
        ctx.remark(found[0], loop, done="peeled", what=found[1])
        return False
    return True


def _access(blocks: Sequence[Block]) -> Instruction | None:
    fetches = (i for b in blocks for i in b if i.form.op.memory in ("texture", "surface"))
    return next((i for i in fetches if i.form.reads or i.form.writes), None)


def peel(
    function: Function, loops: Sequence[Loop], held: AbstractSet[Value] = frozenset()
) -> None:
    """Copy one iteration of each loop before it. None lies in another, and nothing forbids their
    copies."""
    more: dict[Value, dict[Block, Value]] = {}
    made: list[Block] = []
    layout: dict[Block, list[Block]] = {}
    ways = [(loop, loop.entries, list(loop.latches)) for loop in loops]  # from one snapshot
    peeled: dict[Block, Block] = {}  # what of other loops led here leads here from its copy, too
    for loop, before, latches in ways:
        header = loop.header
        entries = [*before, *(peeled[b] for b in before if b in peeled)]
        copies = region.copy_region(loop.blocks, entries[0], layout)
        first: Block = copies[header]
        region.keep_entries(first, set(entries))
        region.keep_entries(header, set(latches))
        for p in entries:
            region.redirect(p, header, first)
        for latch in latches:
            again: Block = copies[latch]
            region.redirect(again, first, header)
            region.add_entries(header, latch, again, copies)
        header.flags |= {_PEELED}
        made += [copies[b] for b in loop.blocks]
        peeled |= {b: copies[b] for b in loop.blocks}
        more |= region.definitions(loop.blocks, copies, loop.members)
    for b in made:
        b.pragmas = tuple(p for p in b.pragmas if p != "nounroll")
    place(function, layout)
    function.analyze_cfg()
    repair(function, more, held)
    region.fold_phis(function, made, held)
