"""The policy `documented`: what the notes decide on loops, with the knobs of a run."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import attrs

from nvir.analysis.hoisting.nest import Nest
from nvir.assembler.unroll.decision import UnrollDecision
from nvir.documented.hoist.core import Core, CoreKnobs
from nvir.documented.hoist.prepare import analyses_again
from nvir.documented.hoist.stages import iteration_limit
from nvir.documented.pipelining import phase_24
from nvir.documented.unroll.facts import pre_scan, prepare
from nvir.documented.unroll.steps import BLOCKS_LEAST, Rules, UnrollFlow
from nvir.ir import Block, Function, Loop
from nvir.ir.text.trace import Trace, note, step
from nvir.passes.context import Context
from nvir.passes.loop.unroll.loop_unroll import NEVER, override_of
from nvir.passes.loop.unroll.prepare import Refusals
from nvir.passes.loop.unroll.wishes import as_asked
from nvir.passes.policies import DecisionPolicy, Turn


@attrs.frozen
class UnrollEntry:
    """What the pass asks before it looks at loops.

    optimize  bit 0 of the tool's flag byte 1368
    override  bits 0xC0 of byte 1397: 0x40 never, 0x80 always
    skip      the dump option names the phase
    blocks    of the function
    master    knob 487
    """

    optimize: bool
    override: int
    skip: bool
    blocks: int
    master: bool


@step("UNR-01", "entry guard", "entry")
def entry_guard(entry: UnrollEntry) -> str:
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


def unroll_guard(function: Function, ctx: Context) -> str:
    """Why the unroller does not run on a function, or ""."""
    return entry_guard(
        UnrollEntry(
            ctx.options.enable, override_of(function, ctx), ctx.options.skip, len(function.blocks),
            ctx.knob("LoopMakeSingleEntry"),
        )
    )


# ----------------------------------------------------------------- unrolling


@step("UNR-03", "knobs", "ctx.knobs.overrides")
def rules_of(ctx: Context) -> Rules:
    """The notes' rules with the knobs of this run."""
    o, (source, factor) = ctx.options, _factor_set(ctx)
    return Rules(
        literal=not o.repaired, floats=o.floats,
        strict_stride=o.strict_stride, force_factor=o.force_factor,
        enabled=ctx.knob("LoopUnroll"),
        factor=factor, factor_from=source,
        override=ctx.knob("LoopUnrollFactorBlocks") or "",
        budget=ctx.knob("UnrollBudget"),
        per_percent=ctx.knob("UnrollExtraInstPerPercentSaving"),
        extra_base=ctx.knob("LoopUnrollNumExtraInstBase"),
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


def _factor_set(ctx: Context) -> tuple[str, int]:
    """The first that sets a factor, and which: the option of the pass or one of two knobs. The knob
    of step L follows the other where nobody set it."""
    if ctx.options.factor:
        return "option factor", ctx.options.factor
    given = {"LoopUnrollFactorStepL": ctx.knob("LoopUnrollFactorStepL"),
             "LoopUnrollFactor": ctx.knob("LoopUnrollFactor")}
    for name, factor in given.items():
        if factor and name in ctx.knobs.overrides():
            return f"knob {name}", factor
    return "", 0


def unrolling(
    function: Function, ctx: Context, loops: list[Loop], refusals: Refusals, forced: bool,
    turn: Turn | None,
) -> dict[Block, UnrollDecision]:
    assert turn is not None  # see POLICY
    flow = turn.kept.get("flow")
    if flow is None:
        with nullcontext() if turn.first else Trace():  # told once
            flow = turn.kept["flow"] = _flow(function, ctx, refusals, forced, turn)
    return {h: as_asked(h, v) for h, v in flow.decisions(x.header for x in loops).items()}


def _flow(
    function: Function, ctx: Context, refusals: Refusals, forced: bool, turn: Turn
) -> UnrollFlow:
    """What is known of a function before its loops are looked at."""
    rules, loops = rules_of(ctx), ctx.analyses(function).loops
    note("UNR-02", "initialise", "the knobs are read", function=function, loops=len(loops))
    state = prepare(function)
    scan = pre_scan(function)
    if scan.inlinable_calls and turn.first:
        ctx.count("inlinable_calls", scan.inlinable_calls)
    off = frozenset(x.header for x in loops if ctx.knob("block-nounroll", x.header))
    return UnrollFlow(function, rules, off, refusals, forced, state, turn)


# ----------------------------------------------------------------- hoisting


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
    )


def hoisting(ctx: Context, pass_id: int, nest: Nest) -> Core:
    """The stages for one instance; knobs are read once where none is set for a single block."""
    read: Callable[[Block], CoreKnobs]
    if any("@" in name for name in ctx.knobs.overrides()):
        read = functools.cache(lambda header: core_knobs(ctx, pass_id, header))
    else:
        common = core_knobs(ctx, pass_id)
        read = lambda header: common  # noqa: E731
    return Core(ctx, pass_id, nest, read)


POLICY = DecisionPolicy(unroll_guard, unrolling, hoisting, phase_24, analyses_again, in_turn=True)
