"""The policy `observed`: unrolling and hoisting as ptxas was seen to do them, and knobs on top."""

from __future__ import annotations

import attrs

from nvir.analysis.hoisting.nest import Nest
from nvir.analysis.hoisting.region import HoistRegion
from nvir.assembler.hoist.decide import observed
from nvir.assembler.hoist.score import Verdict
from nvir.assembler.hoist.tables import Policy381
from nvir.assembler.hoist.weights import Weights
from nvir.assembler.unroll.decision import UnrollCode, UnrollDecision
from nvir.ir import Block, Function, Instruction, Loop, capability
from nvir.passes.context import Context
from nvir.passes.loop.unroll.prepare import Refusals
from nvir.passes.loop.unroll.unroll_decision import decide
from nvir.passes.loop.unroll.wishes import as_asked, overridden
from nvir.passes.policies import DecisionPolicy, Turn


def unrolling(
    function: Function, ctx: Context, loops: list[Loop], refusals: Refusals, forced: bool,
    turn: Turn | None = None,
) -> dict[Block, UnrollDecision]:
    made = decide(function, ctx)
    text = ctx.knob("LoopUnrollFactorBlocks") or ""
    factor = ctx.options.factor or ctx.knob("LoopUnrollFactorStepL")
    number = {b: k for k, b in enumerate(function.blocks)}
    out = {}
    for loop in loops:
        header = loop.header
        decision = made[header]
        said = overridden(text, number[header], header.name)
        if said == "skip":
            decision = decision.none(None, "the override string names the block")
        elif said == "force" or forced:
            decision = decision.partial(ctx.knob("UnrollUnknownCount"), "forced")
        elif decision.code is not UnrollCode.NOUNROLL:
            decision = as_asked(header, _by_knobs(decision, loop, factor, ctx))
        out[header] = decision
    return out


def _by_knobs(decision: UnrollDecision, loop: Loop, factor: int, ctx: Context) -> UnrollDecision:
    """Features that knobs switch off, and the factor that one sets."""
    if not ctx.knob("UnrollMultiBlockLoops") and len(loop.blocks) > 1:
        return decision.none(UnrollCode.OTHER, "knob UnrollMultiBlockLoops is off")
    if not ctx.knob("LoopUnrollNonInnermost") and loop.children:
        return decision.none(UnrollCode.TEXTURE_RATIO, "knob LoopUnrollNonInnermost is off")
    if not ctx.knob("UnrollVariableBounds") and decision.T is None:
        return decision.none(UnrollCode.NO_BOUND, "knob UnrollVariableBounds is off")
    if factor == 1:
        return decision.none(UnrollCode.OTHER, "factor 1")
    return decision.partial(factor, "the factor is given") if factor else decision


@attrs.frozen
class ObservedHoisting:
    """Whether invariants leave, by what ptxas was seen to weigh."""

    ctx: Context
    pass_id: int
    weights: Weights
    @property
    def literal(self) -> bool:
        return False

    def boundary(self, region: HoistRegion) -> str:
        return ""

    def hoist(self, region: HoistRegion, block: Policy381) -> tuple[list[Instruction], Verdict]:
        header = region.loop.header
        outer = self.ctx.knob("HoistBudget", header, pass_id=self.pass_id)
        divergent = self.ctx.knob("HoistLoopInvBudget", header, pass_id=self.pass_id)
        return observed(region, self.pass_id, self.weights, outer, divergent)


def hoisting(ctx: Context, pass_id: int, nest: Nest) -> ObservedHoisting:
    return ObservedHoisting(ctx, pass_id, Weights(nest, capability(ctx.module.target) or 80))


POLICY = DecisionPolicy(lambda function, ctx: "", unrolling, hoisting)
