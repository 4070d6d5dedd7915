"""What the assembler will do with each loop: a remark for every one, and no change.

    loop L: unrolled 4 times by the assembler: c = 12 ≤ 49 with a load
    loop M: code 12: not unrolled: (64 − 1)·31 = 1953 > 1167; a branch in the body

Method   The rules are those of unroll/decide.py. ptxas decides when dead code is gone and
         copies are resolved, but before equal computations are merged. So copies are resolved
         while the decision is made, and what would be dead is left out of account.
Needs    CFG annotations.
Keeps    everything.
Cost     a search for copies and one for dead code, and the loops themselves, once for a function
         whatever the knobs; a function without loops costs nothing.
Source   loops assembled by ptxas 13.0 and read back (benchmarks/unroll_agreement.py).
"""

from __future__ import annotations

from nvir.assembler.unroll.decide import (
    UnrollCode,
    UnrollDecision,
    UnrollFacts,
    UnrollLimits,
    unroll_decisions,
)
from nvir.ir import Block, Function, Module, capability
from nvir.ir.ssa.rewrite import substituted
from nvir.passes.context import Context
from nvir.passes.knobs import Knobs
from nvir.passes.registry import Pass
from nvir.passes.remarks import Code, missed, passed
from nvir.passes.scalar import copy_prop, dce

# The state in which ptxas decides. Rows of their own: all passes need not be imported for two.
BEFORE = (
    Pass("copy-prop", copy_prop.run, "uses of a copy name its source", copy_prop.CODES),
    Pass("dce", dce.run, "removes what nobody uses", dce.CODES),
)

FULL = passed("Full", "the assembler unrolls the loop fully: {reason} "
              "[T = {T}, d = {d}, a = {a}, S = {S}, p = {p}, L = {L}]")
PARTIAL = passed("Partial", "the assembler unrolls the loop {factor} times: {reason} "
                 "[T = {T}, d = {d}, a = {a}, S = {S}, p = {p}]")
_NONE: dict[UnrollCode, Code] = {
    code: missed(
        "NotUnrolled" + code.name.title().replace("_", ""),
        "the assembler does not unroll the loop: {reason} "
        "[T = {T}, d = {d}, a = {a}, S = {S}, p = {p}]",
        code.number,
    )
    for code in UnrollCode
}
AROUND = missed("NotUnrolledAround", "the assembler does not unroll the loop: {reason} [T = {T}]",
                UnrollCode.IRREGULAR.number)
CODES = (FULL, PARTIAL, AROUND, *_NONE.values())


def run(function: Function, ctx: Context) -> bool:
    decisions = decide(function, ctx)
    if not decisions:
        return False
    for loop in ctx.analyses(function).loops:
        made = decisions[loop.header]
        numbers = {"T": made.T, "d": made.d, "a": made.cost, "S": made.folds, "p": made.saved}
        ctx.count(made.action)
        if made.action == "full":
            ctx.remark(FULL, loop, reason=made.reason, L=made.limit, **numbers)
        elif made.action == "partial":
            ctx.remark(PARTIAL, loop, reason=made.reason, factor=made.factor, **numbers)
        elif not made.size:  # a loop around one that stays: nobody weighs it
            ctx.remark(AROUND, loop, reason=made.reason, T=made.T)
        else:
            assert made.code is not None
            ctx.remark(_NONE[made.code], loop, reason=made.reason, **numbers)
    return False


def decide(
    function: Function, ctx: Context, target: str | None = None
) -> dict[Block, UnrollDecision]:
    """The decisions by the loop's header. The function stays as it is.

    `target` is the architecture, the module's own by default.
    """
    if not function.back_edges:
        return {}
    limits = UnrollLimits(
        enabled=ctx.knob("LoopUnroll"),
        budget=ctx.knob("UnrollBudget"),
        per_percent=ctx.knob("LoopUnrollNumExtraInstBase"),
        share=ctx.knob("UnrollFlexableFullLimit"),
        unknown_factor=ctx.knob("UnrollUnknownCount"),
        full_limit=ctx.knob("UnrollFullInstLimit"),
    )
    arch = capability(target or ctx.module.target) or 80
    known = ctx.analyses(function)
    off = frozenset(x.header for x in known.loops if ctx.knob("block-nounroll", x.header))
    facts: dict[int, UnrollFacts] = known.get("unroll facts", lambda _: {})
    with substituted(known.get("copies", copy_prop.copies)):
        if arch not in facts:
            facts[arch] = UnrollFacts(function, arch, frozenset(dce.dead_instructions(function)))
        return unroll_decisions(function, arch, limits, off, facts=facts[arch])


def prepared(function: Function, module: Module) -> Function:
    """A copy of the function in the state in which ptxas decides."""
    from nvir.ir.clone import clone_function

    copy = clone_function(function)
    copy.analyze_cfg()
    ctx = Context(module, Knobs())
    ctx.function = copy
    for row in BEFORE:
        ctx.pass_, ctx.options = row, row.options()
        row.run(copy, ctx)
    return copy
