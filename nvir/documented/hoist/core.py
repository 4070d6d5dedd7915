"""The notes' LICM core: for each block of a loop, budget, marks and the test whether it pays.

The stages themselves are in hoist/stages.py; here they are run in the order of the real routine,
over the blocks that it is called for, and what their marks allow is cut down to what is right
(hoisting/region.py) and to what the knobs leave.

Readings (the notes name the knobs, but in no formula)
    nested      knobs NestedHoist*: the budgets of a loop inside of another, and around another
    mid-block   knob EnableHoistLowLatencyInstMidBlock: operations that no scoreboard waits for
                leave blocks between header and latch whether it pays or not
    constants   knobs HoistCBO*: what keeps loads of constant memory in a loop; its mode 1 lets
                those that are left out whether it pays or not; the scoreboard threshold is the
                share of instructions, in percent, whose results a scoreboard guards

Cost    a few visits an instruction of the loop, whether anything may leave it or not.
Source  the notes on ptxas, phases 35, 66, 79 and 88.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import attrs

from nvir.analysis.hoisting.nest import Nest, is_fetch
from nvir.analysis.hoisting.region import HoistRegion, closed
from nvir.assembler.hoist import tables
from nvir.assembler.hoist.score import Verdict
from nvir.assembler.hoist.tables import Mode, Policy381
from nvir.documented.hoist.prepare import CLEARED, clear_markers, nesting, prepare_nest
from nvir.documented.hoist.stages import (
    Boundaries,
    HoistScope,
    Latencies,
    Marks,
    analyze_boundaries,
    backward,
    budget,
    calls,
    count,
    forward,
    hold,
    is_copy,
    leaves,
    nested_allowed,
    profit,
    propagate,
    side_effects,
)
from nvir.ir import Block, Form, Instruction, Loop
from nvir.ir.text.trace import note
from nvir.passes.context import Context
from nvir.passes.loop.frequency import is_cold


@attrs.frozen
class CoreKnobs:
    """What the stages read of the knobs, for one loop; documented/policy.py fills it in."""

    base: float = 10.0  # HoistBudget, 483
    cbo: float = 22.0  # HoistLoopInvBudget, 482
    base_outer: float = 10.0  # NestedHoistOuterThreshold
    cbo_inner: float = 22.0  # NestedHoistInnerThreshold
    middle: bool = False  # EnableHoistLowLatencyInstMidBlock
    scale: int = 10  # HoistConservativeScale, 380
    sets: bool = False  # UseNewLoopInvariantRoutineForHoisting, 934
    permitted: bool = True  # knob 220 and not DisableNestedHoist
    ratio: int = 2  # MaxMidHeaderSizeRateForAggressiveHoist
    const_loads: bool = True  # HoistCBOLoad
    const_mode: int = 0  # HoistCBOMode
    scoreboards: int | None = None  # HoistCBOHighCostSBInstRatioThreshold, percent
    cold_nests: bool = True  # HoistCBOFromLoopWithColdNest
    idom_limit: int = 4  # HoistCBOLoadIDOMTravseLimit
    pressure: int = 80  # HoistCBORRegPressureLimitApplyRate
    texture_low: float = 0.03  # HoistTexToInstRatioLow
    texture_high: float = 0.045  # HoistTexToInstRatioHigh


class Core:
    """The stages under the knobs of a run; `knobs` gives those of a loop's header."""

    literal = True  # knob 381 is taken as the notes have it

    def __init__(
        self, ctx: Context, pass_id: int, nest: Nest, knobs: Callable[[Block], CoreKnobs],
        noop: Callable[[Form], bool] | None = None,
    ) -> None:
        self.pass_id, self.nest, self.knobs = pass_id, nest, knobs
        self.of = latencies(ctx, noop or is_copy)
        self.counts: dict[Block, tuple[int, int]] = {}  # header and body weights by loop
        self.prepared = prepare_nest(nest, pass_id)
        self.markers = clear_markers(nest.function, pass_id)
        self.within = nesting(nest.loops, pass_id)

    def boundaries(self, region: HoistRegion) -> Boundaries:
        permitted = self.knobs(region.loop.header).permitted
        here = region.loop.header.rpo_index
        last = max(b.rpo_index for b in region.loop.blocks)
        note("LIC-08", "simple", here == last, header=here, last=last)
        return analyze_boundaries(
            region.loop, permitted, region.hazards, self.prepared.depths
        )

    def boundary(self, region: HoistRegion) -> str:
        """Why the loop is no candidate, or ""."""
        return self.boundaries(region).reason

    def hoist(self, region: HoistRegion, block: Policy381) -> tuple[list[Instruction], Verdict]:
        """What leaves the loop, in order, and the verdict on the block that decided last."""
        loop = region.loop
        children = self.within[loop.header]
        by_block: dict[Block, list[Instruction]] = {}
        lost: dict[Block, list[Instruction]] = {}  # by loops inside: it stands in their preheaders
        deeper = {b for x in children for b in x.blocks} - {x.header for x in children}
        moved = self.nest.moved
        for i in region.items:
            at = moved.get(i)
            if at is not None:
                lost.setdefault(at.header, []).append(i)
            elif i.block not in deeper:
                assert i.block is not None
                by_block.setdefault(i.block, []).append(i)
        head = count(by_block.get(loop.header, ()), self.of.noop, "header")
        self.counts[loop.header] = head, count(region.items, self.of.noop, "body")
        legal = self._legal(region)
        gone: set[Instruction] = set()
        chosen: Verdict | None = None
        tried: Verdict | None = None
        for b, mode in calls(loop):
            inner = next((x for x in children if x.header is b), None)
            if inner is not None and not self._leaves_twice(inner, loop):
                note("LIC-30", "call left out", "what left the loop inside stays", block=b)
                continue
            for what, part in (("lost inside", lost.get(b)), ("block", by_block.get(b, []))):
                if part is None:
                    continue
                items = [i for i in part if i not in gone]
                note("LIC-05", what, f"marker {self.markers[b]:#x}", block=b, mode=mode)
                self.markers[b] = loop.header.rpo_index
                verdict, found = self._block(items, b, mode, region, block, legal, gone)
                if found:
                    gone.update(found)
                    chosen = verdict
                elif tried is None or not (verdict.pays or legal.isdisjoint(items)):
                    tried = verdict
        leaving = closed([i for i in region.invariant if i in gone], region)
        decided = chosen or tried
        assert decided is not None
        if decided.pays and not leaving:
            decided = attrs.evolve(decided, why="where it pays nothing may leave")
        return leaving, decided

    def _block(
        self, items: list[Instruction], block: Block, mode: Mode, region: HoistRegion,
        policy: Policy381, legal: set[Instruction], gone: set[Instruction],
    ) -> tuple[Verdict, list[Instruction]]:
        loop = region.loop
        simple = len(loop.blocks) == 1
        k = self.knobs(loop.header)
        amount = budget(
            self.pass_id, mode, simple=simple, preds=len(loop.latches),
            inner=loop.parent is not None or policy is Policy381.CONSERVATIVE,
            base=k.base_outer if self.within[loop.header] else k.base,
            cbo=k.cbo if loop.parent is None else k.cbo_inner, scale=k.scale,
        )
        marks = Marks(block.rpo_index)
        scope = HoistScope(region, self.pass_id, not simple, gone)
        note("SET-01", "routine of the marks", "sets" if k.sets else "forward, backward",
             UseNewLoopInvariantRoutineForHoisting=k.sets)
        if not k.sets:
            forward(items, marks, scope)
        kept = side_effects(items, region, legal)
        scope = attrs.evolve(scope, blocked=kept)
        if k.sets:
            from nvir.documented.hoist.sets import build_invariant_set, classify

            known = build_invariant_set(items, scope)
            classify(items, known, marks)
            classify(items, known, marks, forward=False)
        else:
            hold(items, marks, scope)
            backward(items, marks, scope)
        propagate(items, marks, scope)
        safe = mode is not Mode.NOT_DOMINATED
        counts = self.counts[loop.header]
        verdict = profit(items, marks, self.pass_id, amount, safe, counts, self.of)
        eager = self._texture(region) == "aggressive"
        middle = k.middle and mode in (Mode.DOMINATED, Mode.NOT_DOMINATED)
        return verdict, leaves(
            items, marks, legal, verdict.pays,
            lambda i: (eager and is_fetch(i.form)) or (middle and not self.of.scoreboard(i))
            or bool(k.const_mode and i.form.space == "const"),
        )

    def _leaves_twice(self, inner: Loop, outer: Loop) -> bool:
        if self.markers[inner.header] == CLEARED:  # no stage looked at it
            self.counts[inner.header] = (
                count(inner.header, self.of.noop, "header"),
                count([i for b in inner.blocks for i in b], self.of.noop, "body"),
            )
        header, body = self.counts[inner.header]
        k = self.knobs(outer.header)
        return nested_allowed(
            allowed=k.permitted, simple=len(inner.blocks) == 1, body=body,
            preds=len(inner.entries), header=header, ratio=k.ratio,
        )

    def _legal(self, region: HoistRegion) -> set[Instruction]:
        """What may move, less what the knobs on textures and constant loads keep."""
        legal = set(region.invariant)
        mode = self._texture(region)
        if region.fetches:
            note("LIC-35", "textures", mode, fetches=region.fetches, size=region.size)
        if mode == "conservative":
            legal = {i for i in legal if not is_fetch(i.form)}
        loads = {i for i in legal if i.form.space == "const"}
        taken = {i for i in loads if self._takes_const(i, region.loop)}
        if loads:
            note("LIC-33", "constant loads", [i for i in region.invariant if i in taken],
                 loads=[i for i in region.invariant if i in loads])
        return legal - (loads - taken)

    def _takes_const(self, i: Instruction, loop: Loop) -> bool:
        """Whether a constant load may leave, by the CBO knobs."""
        k = self.knobs(loop.header)
        if not k.const_loads or idom_steps(i, loop, k.idom_limit) > k.idom_limit:
            return False
        if not k.cold_nests and any(map(is_cold, loop.blocks)):
            return False
        if k.scoreboards is not None and self._waiting(loop) > k.scoreboards:
            return False
        return 100 * self.prepared.pressures[loop.header] <= k.pressure * tables.REGISTERS.value

    def _waiting(self, loop: Loop) -> Fraction:
        """The share of a loop's instructions, in percent, that a scoreboard guards."""
        items = [i for b in loop.blocks for i in b if not i.form.op.pseudo]
        return Fraction(100 * sum(map(self.of.scoreboard, items)), len(items))

    def _texture(self, region: HoistRegion) -> str:
        fetches = region.fetches
        if not fetches:
            return "default"
        k = self.knobs(region.loop.header)
        return tables.texture_mode(fetches, region.size, k.texture_low, k.texture_high)


def idom_steps(i: Instruction, loop: Loop, limit: int) -> int:
    """Dominators between an instruction's block and the loop's header, at most one over `limit`."""
    block: Block | None = i.block
    steps = 0
    while block is not None and block is not loop.header and steps <= limit:
        block = block.idom
        steps += 1
    return steps


def latencies(ctx: Context, noop: Callable[[Form], bool]) -> Latencies:
    """Latencies of the run's machine profile, worked out once a form."""
    from nvir.sm.latency import CONVERT, GLOBAL, SPECIAL, TEXTURE, unit_cycles
    from nvir.sm.machine import instruction_class, unit_of

    known: dict[Form, tuple[float, bool]] = {}

    def facts(i: Instruction) -> tuple[float, bool]:
        found = known.get(i.form)
        if found is None:
            code = instruction_class(i, ctx.profile)
            waits = i.form.reads or code in (SPECIAL, CONVERT, TEXTURE, GLOBAL)
            constant = i.form.reads and i.form.space in ("const", "param")
            unit = ctx.profile.operation("LDC").unit if constant else unit_of(i, ctx.profile)
            cycles = unit_cycles(ctx.profile, code, unit)
            note("LAT-08", "cycles of a class", cycles, opcode=i.form.spelling, unit=unit,
                 **{"class": code})
            found = known[i.form] = cycles, waits
        return found

    return Latencies(lambda i: facts(i)[0], lambda i: facts(i)[1], noop)
