"""Loop fusion: neighbouring loops that count alike become one (phase 59).

    a:  %x = ld [%p]; st [%q], %x            ab:  %x = ld [%p]; st [%q], %x
        …; @%c bra a                              %y = ld [%q]; st [%s], %y
    b:  %y = ld [%q]; st [%s], %y    ==>          …; @%d bra ab
        …; @%d bra b

One test and one counter instead of two, and what the first body stores the second may take from a
register.

Method   Loops with one parent (or none: top-level siblings too) are asked in pairs, the stages of
         `fuse_plan` in order; a pair that passes is noted, then all are fused at once, and
         the fused loops are asked again, so k neighbours take log k rounds. The second loop's
         blocks follow the first's, its phis move to the common header, and its test is the one
         that remains. Where both variables count by one step the second becomes the first plus
         a constant. What the second body does as the first did is not done again; under policy
         documented what it makes in a register that the first writes, too, goes to the preheader
         where the loop changes nothing of it (the notes' killed set).
Needs    fresh CFG annotations, canonical loops tested at their end (loop-simplify, loop-rotate).
Keeps    what each thread does; the order of accesses that depend on each other.
Leaves   tests and counters that nothing uses to dce, moves to copy-prop.
Skips    the reasons are the codes of `fuse_plan`. Barriers, fences, calls, volatile and convergent
         operations in a body or between keep their place.
Knobs    PerformLoopFusion (519) nonzero, LoopMakeSingleEntry (487) on; PerformLoopFusionBudget
         (520), unset is unlimited. Off by default under both policies. Cold are blocks of a
         profile, under policy documented those with `.pragma "frequency 0"` too.
Cost     linear, but for the pairs of accesses that are asked about (see fuse_plan).
Source   The notes' phase 59, anti and output dependences added; Kennedy, McKinley, "Maximizing
         Loop Parallelism and Improving Data Locality via Loop Fusion and Distribution", LCPC 1993,
         for the test.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

import attrs

from nvir.analysis.held import held_in_place
from nvir.ir import (
    Block,
    Constant,
    Function,
    Instruction,
    Loop,
    ScalarType,
    Value,
    form,
    integer,
    natural_loops,
)
from nvir.ir.ssa.repair import repair
from nvir.ir.ssa.rewrite import can_stand_for, discard, substitute
from nvir.ir.text.trace import note, step
from nvir.passes.context import Context
from nvir.passes.knobs import KnobKind
from nvir.passes.loop import region
from nvir.passes.loop.fuse import plan as fuse_plan
from nvir.passes.loop.fuse.plan import Candidate, FusionLimits, FusionRefused, Planner
from nvir.passes.loop.unroll.fold import move_of
from nvir.passes.remarks import analysis, passed

FUSED = passed(
    "Fused", "fused with {second}: {instructions} instructions, {trips} iterations, shift {shift}"
)
POSSIBLE = analysis(
    "Fusible", "could be fused with {second}: {instructions} instructions, {trips} iterations"
)
GATED = analysis("FusionGated", "loop fusion does not run: the knob LoopMakeSingleEntry is off")
SINGLE_ENTRY = "knob LoopMakeSingleEntry is off"
CODES = (FUSED, POSSIBLE, GATED, *fuse_plan.CODES)


@attrs.frozen
class Options:
    """apply           fuse; without it the candidates are only named
    multi_block     bodies of several blocks too
    allow_cold      blocks that a profile calls cold do not end the search
    first_limit, second_limit   instructions of a body (0: no limit), the notes' two sizes
    skip            the pass does nothing, as where the dump option names its phase"""

    apply: bool = True
    multi_block: bool = False
    allow_cold: bool = False
    first_limit: int = 0
    second_limit: int = 0
    skip: bool = False


@attrs.frozen
class FusionEntry:
    """What the pass asks before it looks at loops.

    kind, value    knob 519: how it is set, and to what
    loops          bit 0 of the tool's flag byte 1368: the function has some
    skip           the dump option names the phase
    single_entry   knob 487
    """

    kind: KnobKind
    value: int
    loops: bool
    skip: bool
    single_entry: bool


@step("FUS-01", "entry guard", "entry")
def entry_guard(entry: FusionEntry) -> str:
    """Why the pass does not run, or ""."""
    if entry.kind != KnobKind.INT or not entry.value:
        return "knob PerformLoopFusion is off"
    if not entry.loops:
        return "no loop"
    if entry.skip:
        return "the phase is skipped"
    return "" if entry.single_entry else SINGLE_ENTRY


def run(function: Function, ctx: Context) -> bool:
    single, name = bool(ctx.knob("LoopMakeSingleEntry")), "PerformLoopFusion"
    why = entry_guard(FusionEntry(ctx.knobs.kind(name), ctx.knob(name), bool(function.back_edges),
                                 ctx.options.skip, single))
    if why == SINGLE_ENTRY:
        ctx.remark(GATED)
    if why:
        return False
    limits = limits_of(ctx, function)
    held = held_in_place(function)
    told: set[tuple[Block, Block]] = set()
    rounds = 0
    while True:
        found = _candidates(function, ctx, limits, held, told)
        for c in found:
            ctx.count("candidates")
            _tell(ctx, c)
        if not second_pass(len(found), ctx.options.apply):
            break
        fuse(function, found, held, limits.noted)
        ctx.count("fused", len(found))
        rounds += 1
    note("FUS-20", "flags", "changed" if rounds else "as they were", rounds=rounds)
    note("FUS-02", "teardown", f"{len(told)} pairs refused", function=function, rounds=rounds)
    return bool(rounds)


@step("FUS-02", "initialise", "function", "function.back_edges")
def limits_of(ctx: Context, function: Function) -> FusionLimits:
    """The knobs of this run, read once as unrolling does. What a pragma says of how often blocks
    run counts under policy documented."""
    o: Options = ctx.options
    return FusionLimits(
        ctx.knob("PerformLoopFusionBudget"), o.first_limit or None, o.second_limit or None,
        o.multi_block, o.allow_cold, noted=ctx.policy == "documented",
    )


@step("FUS-14", "8 second pass", "candidates", "apply")
def second_pass(candidates: int, apply: bool) -> bool:
    """Whether what may be fused is fused."""
    return candidates > 0 and apply


@step("FUS-03", "scan", "loops")
def families_of(loops: Sequence[Loop]) -> list[list[Loop]]:
    """Loops beside each other, in one loop or in none."""
    families: dict[Loop | None, list[Loop]] = {}
    for loop in loops:
        families.setdefault(loop.parent, []).append(loop)
    return list(families.values())


def _candidates(
    function: Function, ctx: Context, limits: FusionLimits, held: frozenset[Value],
    told: set[tuple[Block, Block]],
) -> list[Candidate]:
    """Pairs to fuse, no loop in two of them; a pair that is refused is remarked once."""
    planner = Planner(function, limits, held)
    chosen = []
    for siblings in families_of(ctx.analyses(function).loops):
        taken: Loop | None = None
        for first, second in itertools.pairwise(siblings):
            if first is taken:
                continue
            try:
                chosen.append(planner.candidate(first, second))
                taken = second
            except FusionRefused as no:
                pair = (first.header, second.header)
                if pair not in told:
                    told.add(pair)
                    ctx.remark(no.code, first, second=str(second.header.name), **no.fields)
    return chosen


def _tell(ctx: Context, c: Candidate) -> None:
    second = str(c.second.header.name)
    if ctx.options.apply:
        ctx.remark(FUSED, c.first, second=second, instructions=c.size, trips=c.trips, shift=c.shift)
    else:
        ctx.remark(POSSIBLE, c.first, second=second, instructions=c.size, trips=c.trips)


# ------------------------------------------------------------ transformation


def fuse(
    function: Function, found: Sequence[Candidate], held: AbstractSet[Value], noted: bool
) -> None:
    """Fuse candidates that were planned on the function as it is. Annotations are fresh after.
    `noted`: what is made in a register that the first body writes leaves the loop if it can."""
    guarded = [c for c in found if c.way.guard is not None]
    if guarded:
        _merge_guards(function, guarded, held)
    gone: set[Block] = set()
    for c in found:
        gone |= _fuse(function, c, noted)
    patch(function, gone)


@step("FUS-20", "8 blocks, edges and loops anew", "gone", tell=lambda made, function, gone: {
    "blocks": len(function.blocks), "loops": natural_loops(function), "annotations": "fresh"})
def patch(function: Function, gone: AbstractSet[Block]) -> None:
    """Drop what is left of the second loops and annotate the function again."""
    region.drop(function, gone)
    function.analyze_cfg()


def _merge_guards(function: Function, found: Sequence[Candidate], held: AbstractSet[Value]) -> None:
    """Let the first guard lead around both loops, and the first loop on to the second."""
    more: dict[Value, dict[Block, Value]] = {}
    phis: list[Instruction] = []
    for c in found:
        way = c.way
        guard, join, around = way.guard, way.join, way.around
        assert guard is not None
        assert join is not None
        assert around is not None
        at = way.chain.index(join)
        before, behind = way.chain[at - 1], way.chain[at + 1]
        _move_before_end(way.upward, guard)
        for phi in join.phis:
            given = {b: _as_register(v, phi, guard) for v, b in phi.incoming}
            more[phi] = {guard: given[guard], before: given[before]}
            phis.append(phi)
        _rename_entries(around, join, guard)
        _rename_entries(behind, join, before)
        region.redirect(guard, join, around)
        region.redirect(before, join, behind)
        way.chain.remove(join)
        assert join.last is not None
        join.last.erase()
    region.drop(function, {c.way.join for c in found if c.way.join is not None})
    function.analyze_cfg()
    repair(function, more, held)
    for phi in phis:
        phi.set_incoming((), ())


def _as_register(value: Value, like: Instruction, block: Block) -> Value:
    """A value, or for a literal a move of it at the end of the block."""
    if not isinstance(value, Constant):
        return value
    move = move_of(value, like)
    _move_before_end([move], block)
    return move


def _rename_entries(block: Block, old: Block, new: Block) -> None:
    for phi in block.phis:
        phi.set_incoming(phi.operands, [new if b is old else b for b in phi.aux])


def _move_before_end(instructions: Iterable[Instruction], block: Block) -> None:
    last = block.terminator
    assert last is not None
    for i in instructions:
        i.remove()
        i.insert_before(last)


@step("FUS-19", "apply", "c.first", "c.second")
def _fuse(function: Function, c: Candidate, noted: bool) -> set[Block]:
    """Fuse one pair; returns the blocks that are to be dropped."""
    first, second, way = c.first, c.second, c.way
    preheader, latch = first.entries[0], first.latches[0]
    header, last = second.header, second.latches[0]
    _clear_way(function, c, preheader)
    ended = latch.terminator
    assert ended is not None
    ended.erase()
    latch.append(Instruction(form("bra"), aux=(header,)))
    _rename_entries(first.header, latch, last)
    before = way.chain[-1]
    for phi in list(header.phis):
        phi.remove()
        first.header.insert_phi(phi)
        phi.set_incoming(phi.operands, [preheader if b is before else b for b in phi.aux])
    region.redirect(last, header, first.header)
    first.header.pragmas += tuple(p for p in header.pragmas if p not in first.header.pragmas)
    first.header.flags |= header.flags
    body = [i for b in second.blocks for i in b]
    _join_variables(c, body)
    region.merge_into(header, latch)
    _drop_repeated(function, first, latch, body, preheader if noted else None)
    return {*way.chain, header}


def _clear_way(function: Function, c: Candidate, preheader: Block) -> None:
    """Move what stands between the loops to its side."""
    way = c.way
    leaders: dict[Value, Value] = {}
    for b in way.chain:
        for phi in b.phis:
            leaders[phi] = _as_register(phi.operands[0], phi, preheader)
    substitute(leaders)
    discard([phi for b in way.chain for phi in b.phis], function)
    _move_before_end(way.early, preheader)
    anchor = c.second.exits[0][1].first_non_phi
    assert anchor is not None
    for i in way.late:
        i.remove()
        i.insert_before(anchor)


@step("FUS-12", "6 joined", "c.variables", "c.shift")
def _join_variables(c: Candidate, body: list[Instruction]) -> None:
    """Where both variables count alike, the second is the first plus a constant."""
    one, two = (iv.phi for iv in c.variables)
    if c.shift is None or not can_stand_for(one, two):
        return
    assert isinstance(one.type, ScalarType)
    new: Value = one
    if c.shift:
        bits = one.type.bits
        sum_ = Instruction(
            form(f"add.s{bits}", "%s, %s, %s"), (one, integer(c.shift)), two.type, two.name
        )
        sum_.loc, sum_.line = two.loc, two.line
        anchor = c.second.header.first_non_phi
        assert anchor is not None
        sum_.insert_before(anchor)
        body.insert(0, sum_)
        new = sum_
    substitute({two: new})
    two.erase()


@step("FUS-19", "duplicates", "first", "body")
def _drop_repeated(
    function: Function, first: Loop, latch: Block, body: Sequence[Instruction],
    preheader: Block | None,
) -> None:
    """What the second body computes as the first did, and its moves, name what there is. With a
    preheader the killed go there: what is made in a register that the first body writes, too, of
    nothing that the loop makes."""
    known: dict[object, Instruction] = {}
    second = set(body)
    inside = {*first.blocks, *(b for i in body if (b := i.block) is not None)}
    for b in dict.fromkeys((first.header, latch)):
        for i in b:
            if i not in second and _is_plain(i):
                known.setdefault((i.form, i.operands), i)
    killed = {r.name for b in first.blocks for i in b
              if i not in second and not i.form.is_phi for r in i.results}
    leaders: dict[Value, Value] = {}
    for i in body:
        if i.block is None or i.form.is_phi or i.form.terminator:
            continue
        operands = tuple([leaders.get(v, v) for v in i.operands])
        one: Value | None = known.get((i.form, operands)) if _is_plain(i) else None
        did = "duplicate: skipped"
        if one is None and preheader is not None and i.name in killed and _is_plain(i) and all(
            v.definer is None or v.definer.block not in inside for v in operands
        ):
            _move_before_end([i], preheader)
            note("FUS-19", "instruction", "killed: moved to the preheader", instruction=i)
            continue
        if one is None and _is_move(i):
            one, did = operands[0], "move: what it copies is named"
        if one is not None and can_stand_for(one, i):
            leaders[i] = one
        else:
            did = "cloned: as it is"
        note("FUS-19", "instruction", did, instruction=i)
    substitute(leaders)
    discard([i for i in body if i in leaders], function)


def _is_move(i: Instruction) -> bool:
    """Whether an instruction only copies what another makes."""
    return (i.form.name == "mov" and len(i.operands) == 1 and "{" not in i.form.shape
            and _is_plain(i) and i.operands[0].definer is not None)


def _is_plain(i: Instruction) -> bool:
    f = i.form
    return (
        f.pure and not f.is_phi and f.guard is None and i._results is None
        and not f.carry_in and not f.carry_out
    )
