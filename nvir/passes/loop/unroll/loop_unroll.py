"""Loop unrolling (phase 22): the decision of a policy, carried out.

    L: ld %a, [%p]                  L: .pragma "nounroll"
       add %s, %s, %a                  ld %a, [%p]
       add %p, %p, 4                   ld %b, [%p+4]
       add %i, %i, 1            ==>    add %s, %s, %a
       setp.lt %q, %i, 64              add %s, %s, %b
       @%q bra L                       add %p, %p, 8  …

`loop-unroll` does as the policy decides, `loop-unroll<factor=4>` copies every loop that can be.

Policy `observed` does what ptxas was seen to do (unroll_observed.py), policy `notes`
follows the notes' flow (unroll_notes.py). Under both, knobs override: LoopUnroll,
LoopUnrollFactor, the block string, the nounroll pragma and knob, and the features that
knobs switch off. `.pragma "unroll N"` after a loop's label asks for a factor;
`loop-unroll<asked>` does what pragmas ask for and nothing else. How the copies are made is the same
for both: unroll_apply.py.

Method   Inner loops first, all decisions on the function as it is. A known count is divided: its
         remainder goes ahead of the loop. An unknown one has one overflow-safe test a round and
         the remainder in pieces or the old loop. Where no such test is safe every copy keeps its
         own exit tests.
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

import re
from typing import Any, Literal

import attrs

from nvir.assembler.unroll.codes import UnrollCode
from nvir.assembler.unroll.decide import UnrollDecision
from nvir.documented.unroll.facts import pre_scan
from nvir.documented.unroll.steps import (
    BLOCKS_LEAST,
    Rules,
    Verdict,
    notes_decisions,
    overridden,
)
from nvir.ir.block import Block
from nvir.ir.bulk import bulk
from nvir.ir.function import Function
from nvir.ir.loops import Loop, natural_loops
from nvir.passes.context import Context
from nvir.passes.loop.unroll.apply import Outcome, Plan, unroll
from nvir.passes.loop.unroll.prepare import Refusals
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
from nvir.passes.loop.unroll.unroll_decision import decide

__all__ = ["CODES", "Entry", "Options", "UnrollRecord", "entry_guard", "rules_of", "run"]


@attrs.frozen
class Options:
    """factor     0 leaves it to the policy
    remainder  what does the rest of a count at run time: as the policy says, pieces, a loop
    repaired   policy notes: its repaired reading instead of the literal one
    floats     policy notes: float induction variables count
    force_factor   policy notes: a forced loop gets 2 to that power copies
    verbose    also the real tool's own lines: back edges, rejection strings
    asked      only loops for which a pragma asks
    """

    factor: int = 0
    remainder: Literal["auto", "pieces", "loop"] = "auto"
    repaired: bool = False
    floats: bool = False
    force_factor: int = 2
    verbose: bool = False
    asked: bool = False


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


# ------------------------------------------------------------------ entry guard


@attrs.frozen
class Entry:
    """What the pass asks before it looks at loops.

    optimize  bit 0 of the tool's flag byte 1368
    override  bits 0xC0 of byte 1397: 0x40 never, 0x80 always
    skip      the dump option names the phase
    blocks    of the function
    master    knob 487
    """

    optimize: bool = True
    override: int = 0
    skip: bool = False
    blocks: int = 3
    master: bool = True


NEVER, ALWAYS = 0x40, 0x80


def entry_guard(entry: Entry) -> str:
    """Why the pass does not run, or ""."""
    if not entry.optimize:
        return "optimisation is off"
    if entry.override & 0xC0 == NEVER:
        return "nounroll holds for the whole module"
    if entry.skip:
        return "the phase is skipped"
    if entry.blocks <= BLOCKS_LEAST:
        return f"{entry.blocks} blocks"
    return "" if entry.master else "knob LoopMakeSingleEntry is off"


def entry_of(function: Function, ctx: Context) -> Entry:
    pragmas = (*ctx.module.pragmas, *function.pragmas)
    override = NEVER if "nounroll" in pragmas else ALWAYS if "unroll" in pragmas else 0
    return Entry(
        override=override, blocks=len(function.blocks), master=ctx.knob("LoopMakeSingleEntry")
    )


# --------------------------------------------------------------------- the pass


def run(function: Function, ctx: Context) -> bool:
    if not function.back_edges:
        return False
    with bulk():
        return _run(function, ctx)


def _run(function: Function, ctx: Context) -> bool:
    entry = entry_of(function, ctx)
    notes = ctx.policy == "notes"
    why = entry_guard(entry) if notes else ""
    if why:
        ctx.remark(GUARDED, reason=why)
        return False
    refusals = Refusals(function)
    loops = natural_loops(function)
    if ctx.options.asked:
        loops = [x for x in loops if any(map(_ASKED.fullmatch, x.header.pragmas))]
        if not loops:
            return False
    decided: dict[Block, Verdict]
    if notes:
        decided = _by_notes(function, ctx, loops, refusals, entry.override == ALWAYS)
    else:
        decided = _by_observation(function, ctx, loops, entry.override == ALWAYS)
    plans: dict[Block, Plan] = {}
    record = UnrollRecord(len(loops))
    for loop in loops:
        verdict = decided[loop.header] = _refused(decided[loop.header], loop, refusals)
        if verdict.action != "none" and verdict.refusal is None:
            plans[loop.header] = _plan(verdict, loop, ctx)
    places = {x.header: x for x in loops}
    _tell_rejections(ctx, places, decided)
    lines = _Remarks(ctx, places, decided)
    lines.stay(plans)
    outcomes = unroll(function, plans, refusals)
    for header, outcome in outcomes.items():
        record.full += outcome.copies > 0 and outcome.full
        record.partial += outcome.copies > 0 and not outcome.full
        record.failed += outcome.copies == 0
        lines.done(header, outcome)
    lines.flush()
    _count(ctx, record)
    ctx.remark(STATISTICS, partial=record.partial, non_unrolled=record.non_unrolled)
    return bool(outcomes)


def _count(ctx: Context, record: UnrollRecord) -> None:
    for name in ("full", "partial", "failed", "non_unrolled"):
        n = getattr(record, name)
        if n:
            ctx.count(name, n)


def _refused(verdict: Verdict, loop: Loop, refusals: Refusals) -> Verdict:
    if verdict.action == "none":
        return verdict
    return attrs.evolve(verdict, refusal=verdict.refusal or refusals.of(loop))


def _plan(verdict: Verdict, loop: Loop, ctx: Context) -> Plan:
    o = ctx.options
    pieces = o.remainder == "pieces"
    if o.remainder == "auto":
        pieces = verdict.factor > 2 and not verdict.swapped
        if ctx.policy == "notes":
            pieces = pieces and loop.depth == 1
    return Plan(
        None if verdict.action == "full" else verdict.factor, pieces,
        max(ctx.knob("EpilogueLoopUnrollCount"), 1),
    )


# --------------------------------------------------------------------- policies


def rules_of(ctx: Context) -> Rules:
    """The notes' rules with the knobs of this run."""
    o = ctx.options
    return Rules(
        literal=not o.repaired, floats=o.floats, force_factor=o.force_factor,
        enabled=ctx.knob("LoopUnroll"),
        factor=o.factor or ctx.knob("LoopUnrollFactorStepL") or ctx.knob("LoopUnrollFactor"),
        override=ctx.knob("LoopUnrollFactorBlocks") or "",
        budget=ctx.knob("UnrollBudget"),
        per_percent=ctx.knob("UnrollExtraInstPerPercentSaving"),
        flexible=ctx.knob("UnrollFlexableFullLimit"),
        unknown_count=ctx.knob("UnrollUnknownCount"),
        small_limit=ctx.knob("UnrollSmallLoopLimit"),
        large_share=ctx.knob("LoopUnrollLargePartOfShaderPct"),
        inst_limit=ctx.knob("UnrollInstLimit"),
        preg_percent=ctx.knob("UnrollPregThreshold"),
        full_limit=ctx.knob("UnrollFullInstLimit"),
        non_innermost=ctx.knob("LoopUnrollNonInnermost"),
        multi_block=ctx.knob("UnrollMultiBlockLoops"),
        penalty_scale=ctx.knob("inner-nounroll-penalty-scale"),
        tex_budget=ctx.knob("LoopUnrollNumInstTex"),
        variable_bounds=ctx.knob("UnrollVariableBounds"),
        no_overflow_check=ctx.knob("DisablePartialUnrollOverflowCheck"),
        unknown_limit=ctx.knob("UnrollUnknownInstLimit"),
        tex3d_percent=ctx.knob("UnrollTex3DPercentSavedThreshold"),
        cold_scale=ctx.knob("UnrollProfiledColdInstsScale"),
        ldc_weight=ctx.knob("LoopUnrollExtraFoldableLdcWeight"),
        address_weight=ctx.knob("LoopUnrollFoldableAddrWeight"),
        small_body=ctx.knob("LoopUnrollNumInstSmallLoop"),
        single_factor=ctx.knob("LoopUnrollSingleLoopSavedPctFactor"),
        unknown_multi_block=ctx.knob("LoopUnrollUnknownMultiBlock"),
    )


def _by_notes(
    function: Function, ctx: Context, loops: list[Loop], refusals: Refusals, forced: bool
) -> dict[Block, Verdict]:
    scan = pre_scan(function)
    if scan.inlinable_calls:
        ctx.count("inlinable_calls", scan.inlinable_calls)
    off = frozenset(x.header for x in loops if ctx.knob("block-nounroll", x.header))
    decided = notes_decisions(function, rules_of(ctx), off, refusals, forced)
    return {h: _asked(h, v) for h, v in decided.items()}


def _by_observation(
    function: Function, ctx: Context, loops: list[Loop], forced: bool
) -> dict[Block, Verdict]:
    made = decide(function, ctx)
    text = ctx.knob("LoopUnrollFactorBlocks") or ""
    factor = ctx.options.factor or ctx.knob("LoopUnrollFactorStepL")
    number = {b: k for k, b in enumerate(function.blocks)}
    out = {}
    for loop in loops:
        header = loop.header
        verdict = _verdict(made[header.name])
        said = overridden(text, number[header], header.name)
        if said == "skip":
            verdict = _none(verdict, None, "the override string names the block")
        elif said == "force" or forced:
            verdict = _partial(verdict, ctx.knob("UnrollUnknownCount"), "forced")
        elif verdict.code is not UnrollCode.NOUNROLL:
            verdict = _asked(header, _by_knobs(verdict, loop, factor, ctx))
        out[header] = verdict
    return out


def _by_knobs(verdict: Verdict, loop: Loop, factor: int, ctx: Context) -> Verdict:
    """Features that knobs switch off, and the factor that one sets."""
    if not ctx.knob("UnrollMultiBlockLoops") and len(loop.blocks) > 1:
        return _none(verdict, UnrollCode.OTHER, "knob UnrollMultiBlockLoops is off")
    if not ctx.knob("LoopUnrollNonInnermost") and loop.children:
        return _none(verdict, UnrollCode.TEXTURE_RATIO, "knob LoopUnrollNonInnermost is off")
    if not ctx.knob("UnrollVariableBounds") and verdict.T is None:
        return _none(verdict, UnrollCode.NO_BOUND, "knob UnrollVariableBounds is off")
    if factor == 1:
        return _none(verdict, UnrollCode.OTHER, "factor 1")
    return _partial(verdict, factor, "the factor is given") if factor else verdict


def _verdict(d: UnrollDecision) -> Verdict:
    factor = d.factor if d.factor is not None else (d.T or 0)
    return Verdict(
        d.action, factor, d.code, "", d.reason, d.T, d.c, d.a, d.p, d.L,
    )


def _none(verdict: Verdict, code: UnrollCode | None, why: str) -> Verdict:
    return attrs.evolve(verdict, action="none", factor=1, code=code, reason=why)


def _partial(verdict: Verdict, factor: int, why: str) -> Verdict:
    return attrs.evolve(verdict, action="partial", factor=factor, code=None, reason=why)


_ASKED = re.compile(r"unroll(?:\s+(\d+))?")


def _asked(header: Block, verdict: Verdict) -> Verdict:
    """What a pragma of the source asks for: `unroll N`, or `unroll` for all iterations."""
    for text in header.pragmas:
        found = _ASKED.fullmatch(text.strip())
        if found is None:
            continue
        why = f'.pragma "{text}"'
        n = int(found[1] or 0)
        if n == 1:
            return _none(verdict, UnrollCode.NOUNROLL, why)
        if verdict.T is not None and (not n or n >= verdict.T):
            return attrs.evolve(verdict, action="full", factor=verdict.T, code=None, reason=why)
        if n:
            return _partial(verdict, n, why)
    return verdict


# --------------------------------------------------------------------- remarks


def _tell_rejections(
    ctx: Context, loops: dict[Block, Loop], decided: dict[Block, Verdict]
) -> None:
    if not ctx.options.verbose:
        return
    for header, loop in loops.items():
        assert ctx.function is not None
        number = {b: k for k, b in enumerate(ctx.function.blocks)}
        for latch in loop.latches:
            ctx.remark(BACK_EDGE, loop, block=number[latch], successor=number[header])
        code = decided[header].code
        if code is not None:
            ctx.remark(REJECTED, loop, string=code.string)


class _Remarks:
    """Remarks on loops, made while the loops are still there, told in their order."""

    def __init__(
        self, ctx: Context, loops: dict[Block, Loop], decided: dict[Block, Verdict]
    ) -> None:
        self.ctx, self.loops, self.decided = ctx, loops, decided
        self.outcomes: dict[Block, Outcome] = {}

    def stay(self, plans: dict[Block, Plan]) -> None:
        """Tell of the loops that stay."""
        for header, loop in self.loops.items():
            if header not in plans:
                self._stays(loop, self.decided[header])

    def _stays(self, loop: Loop, v: Verdict) -> None:
        if v.refusal is not None and v.action != "none":
            refusal, what = v.refusal
            wanted = v.action if v.action == "full" else f"factor {v.factor}"
            text = refusal.text(what)
            self.ctx.remark(REFUSED[refusal], loop, refusal=text, wanted=wanted, T=v.T, size=v.size)
            return
        code = NOT_UNROLLED[v.code] if v.code is not None else SKIPPED
        self.ctx.remark(code, loop, reason=v.reason, **_numbers(v))

    def done(self, header: Block, outcome: Outcome) -> None:
        self.outcomes[header] = outcome

    def flush(self) -> None:
        for header, loop in self.loops.items():
            outcome = self.outcomes.get(header)
            if outcome is None:
                continue
            v = self.decided[header]
            if not outcome.copies:
                wanted = v.action if v.action == "full" else f"factor {v.factor}"
                self.ctx.remark(FAILED, loop, why=outcome.way, wanted=wanted, T=v.T, size=v.size)
            elif outcome.full:
                self.ctx.remark(FULL, loop, copies=outcome.copies, reason=v.reason, **_numbers(v))
            else:
                self.ctx.remark(
                    PARTIAL, loop, factor=outcome.copies, way=outcome.way, reason=v.reason,
                    **_numbers(v),
                )


def _numbers(v: Verdict) -> dict[str, Any]:
    return {"T": v.T, "size": v.size, "cost": v.cost, "saved": v.saved, "limit": v.limit}
