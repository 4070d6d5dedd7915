"""What is known of a function before anything is said of it: the one gathering that the report,
the listing of lines and the explanation of a loop share.

Cost    that of liveness, pressure, the assembler's decisions on its loops and the prediction of its
        registers, each made once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

from nvir.analysis.liveness import Liveness, liveness
from nvir.analysis.pressure import RegisterPressure, register_pressure
from nvir.assembler.registers import RegisterEstimate, estimate_registers
from nvir.assembler.unroll.decision import UnrollDecision, copies
from nvir.ir import Function, Loop, Module, natural_loops
from nvir.sm.profile import Profile

if TYPE_CHECKING:
    from nvir.passes.knobs import Knobs, Policy


@attrs.frozen(eq=False)
class FunctionFacts:
    """A function as it is written, and what the assembler is taken to make of it.

    live, pressure   of the code as it is written
    loops            outer before inner
    unroll           what becomes of each loop, by its header's name
    copies           how often the body of each loop that is unrolled will stand
    estimate         registers, with those copies
    policy           whose decisions `unroll` has
    """

    function: Function
    live: Liveness
    pressure: RegisterPressure
    loops: list[Loop]
    unroll: Mapping[str, UnrollDecision]
    copies: Mapping[str, int]
    estimate: RegisterEstimate
    policy: Policy


def function_facts(
    function: Function, module: Module, machine: Profile, *, arch: str | None = None,
    policy: Policy = "observed", knobs: Knobs | None = None,
) -> FunctionFacts:
    """Gather the facts. `arch` is the module's target by default; `knobs` overrides `policy`."""
    unroll = unrolling(function, module, arch or module.target, policy, knobs)
    live = liveness(function)
    pressure = register_pressure(function, live)
    loops = natural_loops(function)
    factors = copies(loops, unroll)
    estimate = estimate_registers(function, live, machine, factors, pressure)
    decides = policy if knobs is None else knobs.policy
    return FunctionFacts(function, live, pressure, loops, unroll, factors, estimate, decides)


def unrolling(
    f: Function, module: Module, target: str, policy: Policy, knobs: Knobs | None = None
) -> dict[str, UnrollDecision]:
    """What becomes of each loop, by its header. The function stays as it is.

    Under `observed` that is the assembler's decision, under `documented` that of `loop-unroll` on
    a copy. `knobs` overrides `policy`.
    """
    f.analyze_cfg()
    if not f.back_edges:
        return {}
    from nvir.passes.context import Context
    from nvir.passes.knobs import Knobs
    from nvir.passes.loop.unroll.unroll_decision import decide

    knobs = knobs if knobs is not None else Knobs(policy=policy)
    if knobs.policy == "documented":
        return _documented(f, module, knobs)
    made = decide(f, Context(module, knobs), target)
    return {header.name: d for header, d in made.items()}


def _documented(f: Function, module: Module, knobs: Knobs) -> dict[str, UnrollDecision]:
    from nvir.passes.context import Context
    from nvir.passes.loop.unroll.loop_unroll import planned
    from nvir.passes.loop.unroll.unroll_decision import prepared
    from nvir.passes.registry import all_passes

    ctx = Context(module, knobs)
    ctx.function = prepared(f, module)
    for name in ("loop-simplify", "loop-unroll"):  # phase 18, whose form phase 22 is asked about
        ctx.pass_ = all_passes()[name]
        ctx.options = ctx.pass_.options()
        if name == "loop-simplify":
            ctx.pass_.run(ctx.function, ctx)
    made = planned(ctx.function, ctx)
    if made.guard:
        return {x.header.name: UnrollDecision(reason=made.guard) for x in natural_loops(f)}
    found = {}
    for loop in made.loops:
        d = made.decided[loop.header]
        refused = made.refused.get(loop.header)
        found[loop.header.name] = d.none(None, refused[0].text(refused[1])) if refused else d
    return found


def has_bounds(f: Function) -> bool:
    """Whether a kernel says itself how it is launched: nvcc passes over -maxrregcount then."""
    return not {"reqntid", "maxntid", "minnctapersm", "maxnreg"}.isdisjoint(f.directives)
