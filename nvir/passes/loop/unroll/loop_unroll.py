"""Loop unrolling (phase 22): the decision of a policy, carried out.

    L: ld %a, [%p]                  L: .pragma "nounroll"
       add %s, %s, %a                  ld %a, [%p]
       add %p, %p, 4                   ld %b, [%p+4]
       add %i, %i, 1            ==>    add %s, %s, %a
       setp.lt %q, %i, 64              add %s, %s, %b
       @%q bra L                       add %p, %p, 8  …

`loop-unroll` does as the policy decides, `loop-unroll<factor=4>` copies every loop that can be.

Policy `observed` does what ptxas was seen to do (unroll/decide.py), policy `documented`
follows the notes' flow (unroll/steps.py). Under both, knobs override: LoopUnroll,
LoopUnrollFactor, the block string, the nounroll pragma and knob, and the features that
knobs switch off. `.pragma "unroll N"` after a loop's label asks for a factor;
`loop-unroll<asked>` does what pragmas ask for and nothing else. How the copies are made is the same
for both: unroll/apply.py.

Method   Inner loops first, all decisions on the function as it is; policy documented decides on a
         loop and unrolls it before it looks at the one before, in reverse post-order. A known
         count is divided: its remainder goes ahead of the loop. An unknown one has one
         overflow-safe test a round and the remainder in pieces or the old loop. Where no such test
         is safe every copy keeps its own exit tests.
Needs    CFG annotations. Works best on canonical loops (`loop-simplify`, rotated), after
         copies are resolved; brings loops into the form that it needs itself.
Keeps    what the function does. Loops with operations that cannot be copied.
Leaves   moves of literals and exit tests without use, to copy-prop, gvn and dce.
Marks    an unrolled loop by `.pragma "nounroll"`, so that the assembler does not do it again.
Cost     linear in the function and in the instructions made.
Source   the notes on phase 22; what ptxas 13.0 was seen to do (benchmarks/unroll_agreement.py);
         J. Dongarra, A. Hinds, "Unrolling Loops in Fortran", 1979.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Literal

import attrs

from nvir.analysis.source_loops import has_pragma
from nvir.assembler.unroll.decision import UnrollDecision, pieces_of
from nvir.ir import Block, Function, Loop, bulk
from nvir.ir.clone import clone_function
from nvir.ir.text.trace import looking_at, note
from nvir.passes.context import Context
from nvir.passes.loop.unroll.apply import UnrollOutcome, UnrollPlan, unroll
from nvir.passes.loop.unroll.prepare import Refusal, Refusals
from nvir.passes.loop.unroll.remarks import (
    BACK_EDGE,
    CODES,
    FAILED,
    FULL,
    GUARDED,
    NOT_UNROLLED,
    PARTIAL,
    REFUSED,
    REJECTED,
    SKIPPED,
    STATISTICS,
)
from nvir.passes.loop.unroll.wishes import is_asked
from nvir.passes.policies import Turn, decision_policy

__all__ = [
    "CODES", "Options", "Planned", "UnrollRecord", "override_of", "plan", "planned", "run",
]

NEVER, ALWAYS = 0x40, 0x80  # bits 0xC0 of the tool's byte 1397, which pragmas set


@attrs.frozen
class Options:
    """factor     0 leaves it to the policy
    remainder  what does the rest of a count at run time: as the policy says, pieces, a loop
    repaired   policy documented: its repaired reading instead of the literal one
    floats     policy documented: float induction variables count
    strict_stride   policy documented: a stride has to be a literal
    force_factor   policy documented: a forced loop gets 2 to that power copies
    verbose    also the real tool's own lines: back edges, rejection strings
    asked      only loops for which a pragma asks
    enable     policy documented: off, the pass does nothing, as without optimisation
    skip       policy documented: the pass does nothing, as where the dump option names its phase
    """

    factor: int = 0
    remainder: Literal["auto", "pieces", "loop"] = "auto"
    repaired: bool = False
    floats: bool = False
    strict_stride: bool = False
    force_factor: int = 2
    verbose: bool = False
    asked: bool = False
    enable: bool = True
    skip: bool = False


@attrs.define
class UnrollRecord:
    """What became of a function's loops; both the statistics line and the counters read it."""

    total: int = 0
    full: int = 0
    partial: int = 0
    failed: int = 0

    @property
    def unrolled(self) -> int:
        return self.full + self.partial

    @property
    def non_unrolled(self) -> int:
        return self.total - self.unrolled - self.failed


# --------------------------------------------------------------------- the pass


def run(function: Function, ctx: Context) -> bool:
    if not function.back_edges:
        decision_policy(ctx.policy).unroll_guard(function, ctx)  # which a trace is to show
        return False
    with bulk():
        return _run(function, ctx)


@attrs.frozen
class Planned:
    """What the pass would do with a function: decisions and refusals by the loops' headers.

    guard is why it looks at no loop, or "".
    """

    loops: tuple[Loop, ...] = ()
    decided: dict[Block, UnrollDecision] = attrs.field(factory=dict)
    refused: dict[Block, tuple[Refusal, str]] = attrs.field(factory=dict)
    guard: str = ""


def planned(function: Function, ctx: Context, refusals: Refusals | None = None,
            turn: Turn | None = None) -> Planned:
    """The decisions of the run's policy, or that of a turn. The function stays as it is: where
    loops have turns, they are taken on a copy."""
    policy = decision_policy(ctx.policy)
    if turn is None and policy.in_turn:
        return _planned_in_turn(function, ctx)
    why = policy.unroll_guard(function, ctx) if turn is None or turn.first else ""
    if why:
        return Planned(guard=why)
    refusals = refusals or Refusals(function)
    loops = ctx.analyses(function).loops
    if turn is not None:
        loops = [x for x in loops if x.header is turn.header]  # one that is asked about
    if ctx.options.asked:
        loops = [x for x in loops if is_asked(x.header)]
        if not loops:
            return Planned()
    forced = override_of(function, ctx) == ALWAYS
    decided = policy.unrolling(function, ctx, loops, refusals, forced, turn)
    if turn is None:
        loops = ctx.asked(loops)
    refused = {}
    for loop in loops:
        if decided[loop.header].action != "none":
            found = refusals.of(loop)
            if found is not None:
                refused[loop.header] = found
    return Planned(tuple(loops), decided, refused)


def _planned_in_turn(function: Function, ctx: Context) -> Planned:
    turns = [*_turns(function, ctx)]
    if len(turns) == 1:  # nothing is unrolled before
        return planned(function, ctx, None, turns[0])
    copy = clone_function(function)
    copy.analyze_cfg()
    mine = dict(zip(copy.blocks, function.blocks, strict=True))
    quiet = Context(ctx.module, ctx.knobs, ctx.profile)
    quiet.function, quiet.pass_, quiet.options = copy, ctx.pass_, ctx.options
    quiet.loop, quiet.counters = ctx.loop, ctx.counters
    decided: dict[Block, UnrollDecision] = {}
    refused: dict[Block, tuple[Refusal, str]] = {}
    with bulk():
        for made, refusals in _in_turn(copy, quiet):
            if made.guard:
                return made
            decided |= {mine[b]: d for b, d in made.decided.items()}
            refused |= {mine[b]: why for b, why in made.refused.items()}
            _carry_out(copy, quiet, made, refusals, UnrollRecord())
    loops = [x for x in ctx.asked(ctx.analyses(function).loops) if x.header in decided]
    return Planned(tuple(loops), decided, refused)


def plan(function: Function, ctx: Context) -> Hashable:
    """What the pass would do with each loop, and of those that stay why."""
    if not function.back_edges:
        return ()
    made = planned(function, ctx)
    return made.guard, tuple(
        (x.header.name, d.action, d.code, _plan(d, ctx), made.refused.get(x.header))
        for x in made.loops for d in [made.decided[x.header]]
    )


def override_of(function: Function, ctx: Context) -> int:
    """What pragmas of the module and the function say: 0, NEVER or ALWAYS."""
    pragmas = (*ctx.module.pragmas, *function.pragmas)
    return NEVER if "nounroll" in pragmas else ALWAYS if "unroll" in pragmas else 0


def _run(function: Function, ctx: Context) -> bool:
    record, decided, changed = UnrollRecord(), 0, False
    for made, refusals in _in_turn(function, ctx):
        if made.guard:
            ctx.remark(GUARDED, reason=made.guard)
            return False
        if made.loops:
            record.total += len(made.loops)
            decided += len(made.decided)
            changed |= _carry_out(function, ctx, made, refusals, record)
    if not record.total:
        return False
    _count(ctx, record)
    looking_at("")
    note("UNR-44", "after unrolling", "back edges, what is live and control flow made anew"
         if record.unrolled else "nothing changed", total=record.total, unrolled=record.unrolled,
         failed=record.failed, non_unrolled=record.non_unrolled)
    note("UNR-02", "run", "each loop is decided and done", loops=decided)
    note("UNR-02", "clean-up", "the decisions are dropped", loops=decided)
    note("UNR-51", "counts", {"partial": record.partial, "full": record.full,
         "non-unrolled": record.non_unrolled}, total=record.total)
    ctx.remark(STATISTICS, partial=record.partial, non_unrolled=record.non_unrolled)
    return changed


def _in_turn(function: Function, ctx: Context) -> Iterator[tuple[Planned, Refusals]]:
    """The decisions, all at once or in turn, each made when what was done before is there."""
    refusals = Refusals(function)
    if not decision_policy(ctx.policy).in_turn:
        yield planned(function, ctx, refusals), refusals
        return
    turns, edits = [*_turns(function, ctx)], function.edits
    if not turns:
        yield Planned(guard=decision_policy(ctx.policy).unroll_guard(function, ctx)), refusals
    for turn in turns:
        looking_at("")
        if edits != function.edits:
            function.analyze_cfg()
            refusals, edits = Refusals(function), function.edits
            turn.kept.clear()
        yield planned(function, ctx, refusals, turn), refusals


def _turns(function: Function, ctx: Context) -> Iterator[Turn]:
    """The loops that are asked about, from the last header in reverse post-order on."""
    loops = ctx.analyses(function).loops
    numbers = {b: k for k, b in enumerate(function.blocks)}
    marked = frozenset(x.header for x in loops if has_pragma(x))
    kept: dict[str, Any] = {}
    first = True
    for loop in reversed(ctx.asked(loops)):
        yield Turn(loop.header, numbers, marked, first, kept)
        first = False


def _carry_out(function: Function, ctx: Context, made: Planned, refusals: Refusals,
               record: UnrollRecord) -> bool:
    """Unroll the loops that were decided; whether there was any to unroll."""
    plans = {
        x.header: _plan(made.decided[x.header], ctx) for x in made.loops
        if made.decided[x.header].action != "none" and x.header not in made.refused
    }
    _tell_rejections(ctx, made)
    lines = _Remarks(ctx, made)
    lines.stay(plans)
    outcomes = unroll(function, plans, refusals)
    for header, outcome in outcomes.items():
        looking_at(header.name)
        if not outcome.copies:
            note("UNR-38", "2-3 copies", 0, pieces=plans[header].pieces, way=outcome.way)
        else:
            note("UNR-41", "6 finalize", "no loop is left" if outcome.full else
                 "its header is marked as unrolled and nounroll", copies=outcome.copies,
                 way=outcome.way)
        record.full += outcome.copies > 0 and outcome.full
        record.partial += outcome.copies > 0 and not outcome.full
        record.failed += outcome.copies == 0
        lines.done(header, outcome)
    lines.flush()
    return bool(outcomes)


def _count(ctx: Context, record: UnrollRecord) -> None:
    for name in ("full", "partial", "failed", "non_unrolled"):
        n = getattr(record, name)
        if n:
            ctx.count(name, n)


def _plan(decision: UnrollDecision, ctx: Context) -> UnrollPlan:
    o = ctx.options
    factor = decision.factor or 0
    every = pieces_of(factor) if factor > 2 or o.remainder == "pieces" else ()
    said = decision.pieces if o.remainder == "auto" else None
    pieces = () if o.remainder == "loop" else every if said is None else said
    copies = None if decision.iterations == 0 else decision.factor  # all of the count is its rest
    return UnrollPlan(copies, pieces, max(ctx.knob("EpilogueLoopUnrollCount"), 1))


# --------------------------------------------------------------------- remarks


def _tell_rejections(ctx: Context, made: Planned) -> None:
    rejected = [x for x in made.loops if made.decided[x.header].code is not None]
    if rejected:
        note("UNR-46", "codes", "recorded" if ctx.options.verbose else "not recorded",
             asked=ctx.options.verbose, loops=rejected)
    if not ctx.options.verbose:
        return
    assert ctx.function is not None
    number = {b: k for k, b in enumerate(ctx.function.blocks)}
    for loop in made.loops:
        for latch in loop.latches:
            ctx.remark(BACK_EDGE, loop, block=number[latch], successor=number[loop.header])
        code = made.decided[loop.header].code
        if code is not None:
            ctx.remark(REJECTED, loop, string=code.string)


class _Remarks:
    """Remarks on loops, made while the loops are still there, told in their order."""

    def __init__(self, ctx: Context, made: Planned) -> None:
        self.ctx, self.made = ctx, made
        self.outcomes: dict[Block, UnrollOutcome] = {}

    def stay(self, plans: dict[Block, UnrollPlan]) -> None:
        """Tell of the loops that stay."""
        for loop in self.made.loops:
            if loop.header not in plans:
                self._stays(loop, self.made.decided[loop.header])

    def _stays(self, loop: Loop, d: UnrollDecision) -> None:
        refused = self.made.refused.get(loop.header)
        if refused is not None:
            refusal, what = refused
            text = refusal.text(what)
            self.ctx.remark(
                REFUSED[refusal], loop, refusal=text, wanted=_wanted(d), T=d.T, size=d.size
            )
            return
        code = NOT_UNROLLED[d.code] if d.code is not None else SKIPPED
        self.ctx.remark(code, loop, reason=d.reason, **_numbers(d))

    def done(self, header: Block, outcome: UnrollOutcome) -> None:
        self.outcomes[header] = outcome

    def flush(self) -> None:
        for loop in self.made.loops:
            outcome = self.outcomes.get(loop.header)
            if outcome is None:
                continue
            d = self.made.decided[loop.header]
            if not outcome.copies:
                self.ctx.remark(
                    FAILED, loop, why=outcome.way, wanted=_wanted(d), T=d.T, size=d.size
                )
            elif outcome.full:
                self.ctx.remark(FULL, loop, copies=outcome.copies, reason=d.reason, **_numbers(d))
            else:
                self.ctx.remark(
                    PARTIAL, loop, factor=outcome.copies, way=outcome.way, reason=d.reason,
                    **_numbers(d),
                )


def _wanted(d: UnrollDecision) -> str:
    return d.action if d.action == "full" else f"factor {d.factor}"


def _numbers(d: UnrollDecision) -> dict[str, Any]:
    return {"T": d.T, "size": d.size, "cost": d.cost, "saved": d.saved, "limit": d.limit}
