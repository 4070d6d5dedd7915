"""The notes' LICM core: five stages for each block of a loop, in the order of the real routine.

    1  budget       from the knobs, the instance, the kind of loop and the block's mode
    2  forward      an operation whose registers are all made outside is marked invariant
    3  backward     marks of operations that must stay are taken back; uses are counted
    4  transitive   what reads only marked results is marked as well
    5  profit       score · budget / (weight · size) ≥ penalty, block by block

Marks are named fields (`Marks`): `def_block` of a value is the block that it is made in, or
OUTSIDE once it is external or to be hoisted. What the stages mark is hoisted only if licm_region.py
finds it right to move, so the literal tables never decide whether a result is right.

Readings (the notes leave them open)
    simple      a loop of a single block
    inner       a loop inside of another; only then the inner loop's divisor applies
    nested      knobs NestedHoist*: the budgets of a loop inside of another, and around another
    mid-block   knob EnableHoistLowLatencyInstMidBlock: operations that no scoreboard waits for
                leave blocks between header and latch whether it pays or not
    counts      header: the header block; body: all blocks of the loop
    safe        every iteration runs the block
    "no-op"     a predicate of the caller; by default a copy, which the machine runs for free
    nesting     the penalty lies inside of the invariant branch

Cost    a few visits an instruction of the loop.
Source  the notes on ptxas, phases 35, 66, 79 and 88.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cached_property

import attrs

from nvir.analysis.pressure import RegisterPressure, register_pressure
from nvir.ir.block import Block
from nvir.ir.form import Form
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop
from nvir.ir.types import CC
from nvir.ir.values import SpecialRegister, Value
from nvir.passes.context import Context
from nvir.passes.knobs import KnobKind
from nvir.passes.loop import licm_tables as tables
from nvir.passes.loop.licm_region import Nest, Region, closed, is_fetch
from nvir.passes.loop.licm_score import Verdict
from nvir.passes.loop.licm_tables import Mode, Policy381
from nvir.passes.loop.unroll_observed import has_pragma

OUTSIDE = -1


class State(enum.Enum):
    """What a stage says of a value."""

    UNKNOWN = 0
    EXTERNAL = 1
    INVARIANT = 2
    VARIANT = 3


class Marks:
    """The stages' marks on values: where made, how often used in the loop, and the state."""

    __slots__ = ("def_block", "index", "state", "use_count")

    def __init__(self, index: int) -> None:
        self.index = index  # of the block at hand
        self.def_block: dict[Value, int] = {}
        self.use_count: dict[Value, int] = {}
        self.state: dict[Value, State] = {}

    def made_in(self, v: Value) -> int:
        found = self.def_block.get(v)
        return home(v) if found is None else found

    def is_candidate(self, v: Value) -> bool:
        """Whether a value made in the block may leave it, as far as the marks say."""
        return self.made_in(v) != self.index

    def external(self, v: Value) -> None:
        self.state[v] = State.EXTERNAL
        self.use_count[v] = 0


def home(v: Value) -> int:
    """The number of the block that a value is made in, OUTSIDE for none."""
    d = v.definer
    return OUTSIDE if d is None or d.block is None else d.block.rpo_index


def is_register(v: Value) -> bool:
    return not v.is_constant and not isinstance(v, SpecialRegister) and v.definer is not None


def skipped_by_last(i: Instruction, v: Value) -> bool:
    """Whether the last instance passes over an operand: the carry class, but for an addition's
    carry-in (the operand before the last of the real operation)."""
    return v.type is CC and not i.form.carry_in


# ------------------------------------------------------------------------- stage 1


def budget(
    pass_id: int, mode: Mode, *, simple: bool, preds: int = 1, inner: bool = False,
    base: float = 10.0, cbo: float = 22.0, scale: int = 10,
) -> Fraction | None:  # fmt: skip
    """The block's budget; None is unlimited. `base`, `cbo`, `scale`: knobs 483, 482, 380."""
    amount = None if base == 0 else Fraction(base)
    if simple:
        aggressive = mode >= tables.AGGRESSIVE_MODE.value
        latch = tables.LATCH_BUDGET[min(pass_id, 1)].value
        amount = Fraction(latch) if aggressive else Fraction(cbo)
    if amount is None:
        return None
    if pass_id == 3:
        amount *= tables.LAST_SCALE.value
    if mode is Mode.LATCH:
        amount /= max(preds, 1)
    return amount / scale if inner else amount


def iteration_limit(kind: int, value: int) -> int:
    """The ratio that a nest is held to: 2 unless configured, 0: unlimited."""
    if kind == KnobKind.DEFAULT:
        return tables.ITERATIONS.value
    return value if kind == KnobKind.INT else 0


# ------------------------------------------------------------------- stages 2 to 4


@attrs.frozen
class Scope:
    """What the marking stages know of the loop.

    gone      what has left it already
    blocked   operations that must stay, whatever their operands
    """

    region: Region
    pass_id: int
    multi_depth: bool
    gone: set[Instruction]
    blocked: Callable[[Instruction], bool]

    def in_range(self, v: Value) -> bool:
        """Whether a value is made between the loop's header and its deepest block."""
        d = v.definer
        return d is not None and d not in self.gone and self.region.holds(d)


def forward(items: Sequence[Instruction], marks: Marks, scope: Scope) -> None:
    """Stage 2: mark operations whose registers are all made outside, looking at operands from the
    last to the first."""
    for i in items:
        for v in i.operands:
            if is_register(v):
                marks.use_count[v] = 0
        invariant = True
        for v in reversed(i.operands):
            if not is_register(v) or (scope.pass_id == 3 and skipped_by_last(i, v)):
                continue
            d = v.definer
            if home(v) == marks.index and d not in scope.gone and scope.in_range(v):
                invariant = False
                break
            if scope.multi_depth and scope.in_range(v):
                invariant = False
                break
            marks.external(v)
        invariant = invariant and not scope.blocked(i)
        for r in i.results:
            marks.state[r] = State.INVARIANT if invariant else State.VARIANT
            if invariant:
                marks.def_block[r] = OUTSIDE


def backward(items: Sequence[Instruction], marks: Marks, scope: Scope) -> None:
    """Stage 3: whatever must stay has its results stamped with the block, and uses are counted.

    No clearing before, no marks on sources; the stamp comes whatever was there.
    """
    for i in items:
        stays = scope.blocked(i) or any(marks.state.get(r) is State.VARIANT for r in i.results)
        for r in i.results:
            if stays:
                marks.def_block[r] = marks.index
                marks.state[r] = State.VARIANT
            if marks.def_block.get(r) != marks.index:
                marks.use_count[r] = marks.use_count.get(r, 0) + 1


def propagate(items: Sequence[Instruction], marks: Marks, scope: Scope) -> int:
    """Stage 4: what reads only external and marked values is marked too. Returns a mask of what
    stood in the way: 1 memory, 2 other effects."""
    mask = 0
    for i in items:
        if not i.results or all(marks.is_candidate(r) for r in i.results):
            continue
        if scope.blocked(i):
            mask |= 1 if i.form.reads or i.form.writes else 2
            continue
        if all(
            not is_register(v) or not scope.in_range(v)
            or (home(v) == marks.index and marks.is_candidate(v))
            for v in i.operands
        ):  # fmt: skip
            for r in i.results:
                marks.def_block[r] = OUTSIDE
                marks.state[r] = State.INVARIANT
    return mask


def is_invariant(i: Instruction, marks: Marks) -> bool:
    """The leaf test of stages 4 and 5, of every result (the real tool looks at the last alone)."""
    return bool(i.operands or i.results) and bool(i.results) and all(
        marks.is_candidate(r) for r in i.results
    )  # fmt: skip


# ------------------------------------------------------------------------- stage 5


@attrs.frozen
class Latencies:
    """What stage 5 asks of an operation. `cycles` by the machine profile."""

    cycles: Callable[[Form], float]
    scoreboard: Callable[[Form], bool]
    noop: Callable[[Form], bool]


def profit(
    items: Sequence[Instruction], marks: Marks, pass_id: int, budget: Fraction | None, safe: bool,
    counts: tuple[int, int], of: Latencies,
) -> Verdict:  # fmt: skip
    """The score and the penalty of a block's invariants. `counts`: weights of header and body."""
    weights = tables.score_weights(pass_id, safe)
    score = penalty = 0
    for i in items:
        if not is_invariant(i, marks):
            continue
        f = i.form
        score += weights.long_latency.value if of.noop(f) else 1
        long = of.cycles(f) > tables.LATENCY.value
        each = (tables.LONG_PENALTY if long else tables.SHORT_PENALTY).value
        if of.scoreboard(f):
            score += weights.real.value * len(i.results)
            penalty += each * len(i.results)
        elif long:
            penalty += each * len(i.results)
    header, body = counts
    if pass_id == 0:
        size = Fraction(len(items))
    else:
        size = Fraction(body, tables.BODY_SHARE.value) + header
    return Verdict(score, budget, weights.real.value, size, penalty)


def count(items: Iterable[Instruction], noop: Callable[[Form], bool]) -> int:
    """The weight of instructions as the later instances divide by it."""
    return sum(
        (tables.COUNT_NOOP if noop(i.form) else tables.COUNT_REAL).value
        for i in items if not (i.form.is_phi or i.form.op.pseudo)
    )  # fmt: skip


# ----------------------------------------------------------------- boundary analysis


@attrs.frozen
class Boundaries:
    """The five results of the boundary analysis; `reason` is why the loop is skipped, or ""."""

    external_pred: bool
    complex_depth: bool
    barrier: bool
    indirect: bool
    multi_depth_safe: bool
    permitted: bool = True  # knob 220 and DisableNestedHoist

    @property
    def reason(self) -> str:
        if self.external_pred:
            return "a block inside has a predecessor outside"
        if self.barrier:
            return "it holds a barrier"
        if self.indirect:
            return "it holds an indirect jump"
        if self.complex_depth and not self.permitted:
            return "hoisting over several depths is switched off"
        return ""


def analyze_boundaries(loop: Loop, permitted: bool = True) -> Boundaries:
    """Run for every loop, single-block ones included."""
    inside = set(loop.blocks)
    depth = loop.header.loop_depth
    external = barrier = indirect = False
    for b in loop.blocks:
        external |= b is not loop.header and any(p not in inside for p in b.preds)
        for i in b:
            barrier |= i.form.op.sync
        t = b.terminator
        indirect |= t is not None and t.form.name.startswith("brx")
    return Boundaries(
        external, any(b.loop_depth != depth for b in loop.blocks), barrier, indirect,
        not any(has_pragma(x) or "nounroll" in x.header.flags for x in loop.children), permitted,
    )  # fmt: skip


def calls(loop: Loop) -> list[tuple[Block, Mode]]:
    """From which blocks the core is called to hoist, and how: the header, of a loop of several
    blocks those that belong to no loop inside (an inner loop's header stands for what that loop
    lost), last the deepest latch."""
    out = [(loop.header, Mode.HEADER)]
    last = loop.latches[-1]
    if len(loop.blocks) > 1:
        heads = {x.header for x in loop.children}
        deeper = {b for x in loop.children for b in x.blocks} - heads
        for b in loop.blocks:
            if b is loop.header or b is last or b in deeper:
                continue
            if b in loop.latches:
                mode = Mode.LATCH
            else:
                passed = all(b.dominates(x) for x in loop.latches)
                mode = Mode.DOMINATED if passed else Mode.NOT_DOMINATED
            out.append((b, mode))
    out.append((last, Mode.LATCH))
    return out


def nested_allowed(
    *, allowed: bool, simple: bool, body: int, preds: int, header: int, ratio: int
) -> bool:
    """Whether what left an inner loop may leave the next one; `ratio` 0 is unlimited."""
    small = ratio == 0 or body < header * ratio
    return allowed and simple and body > 1 and preds == 1 and small


# ------------------------------------------------------------------------ the core


@attrs.frozen
class CoreKnobs:
    """What the stages read of the knobs, for one loop; the pass fills it in (licm.py)."""

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
    cold_nests: bool = True  # HoistCBOFromLoopWithColdNest
    idom_limit: int = 4  # HoistCBOLoadIDOMTravseLimit
    pressure: int = 80  # HoistCBORRegPressureLimitApplyRate
    texture_low: float = 0.03  # HoistTexToInstRatioLow
    texture_high: float = 0.045  # HoistTexToInstRatioHigh


class Core:
    """The stages under the knobs of a run; `knobs` gives those of a loop's header."""

    def __init__(
        self, ctx: Context, pass_id: int, nest: Nest, knobs: Callable[[Block], CoreKnobs],
        noop: Callable[[Form], bool] | None = None,
    ) -> None:  # fmt: skip
        self.pass_id, self.nest, self.knobs = pass_id, nest, knobs
        self.of = latencies(ctx, noop or is_copy)
        self.counts: dict[Block, tuple[int, int]] = {}  # header and body weights by loop

    @cached_property
    def pressure(self) -> RegisterPressure:
        return register_pressure(self.nest.function)

    def boundaries(self, region: Region) -> Boundaries:
        return analyze_boundaries(region.loop, self.knobs(region.loop.header).permitted)

    def hoist(self, region: Region, policy: Policy381) -> tuple[list[Instruction], Verdict]:
        """What leaves the loop, in order, and the verdict on the block that decided last."""
        loop = region.loop
        by_block: dict[Block, list[Instruction]] = {}
        deeper = {b for x in loop.children for b in x.blocks}
        for i in region.items:
            if i in self.nest.moved or i.block not in deeper:
                by_block.setdefault(self.nest.site(i), []).append(i)
        head = count(by_block.get(loop.header, ()), self.of.noop)
        self.counts[loop.header] = head, count(region.items, self.of.noop)
        legal = self._legal(region)
        gone: set[Instruction] = set()
        chosen: Verdict | None = None
        tried: Verdict | None = None
        for block, mode in calls(loop):
            inner = next((x for x in loop.children if x.header is block), None)
            if inner is not None and not self._leaves_twice(inner, loop):
                continue
            items = [i for i in by_block.get(block, ()) if i not in gone]
            verdict, found = self._block(items, block, mode, region, policy, legal, gone)
            tried = verdict
            if found:
                gone.update(found)
                chosen = verdict
        leaving = closed([i for i in region.invariant if i in gone], region)
        assert tried is not None
        return leaving, chosen or tried

    def _block(
        self, items: list[Instruction], block: Block, mode: Mode, region: Region,
        policy: Policy381, legal: set[Instruction], gone: set[Instruction],
    ) -> tuple[Verdict, list[Instruction]]:  # fmt: skip
        loop = region.loop
        simple = len(loop.blocks) == 1
        k = self.knobs(loop.header)
        amount = budget(
            self.pass_id, mode, simple=simple, preds=len(loop.latches),
            inner=loop.parent is not None or policy is Policy381.CONSERVATIVE,
            base=k.base_outer if loop.children else k.base,
            cbo=k.cbo if loop.parent is None else k.cbo_inner, scale=k.scale,
        )  # fmt: skip
        marks = Marks(block.rpo_index)
        scope = Scope(region, self.pass_id, not simple, gone, lambda i: i not in legal)
        if k.sets:
            from nvir.passes.loop.licm_sets import build_invariant_set, classify

            classify(items, build_invariant_set(items, scope), marks)
        else:
            forward(items, marks, scope)
            backward(items, marks, scope)
            propagate(items, marks, scope)
        safe = mode is not Mode.NOT_DOMINATED
        counts = self.counts[loop.header]
        verdict = profit(items, marks, self.pass_id, amount, safe, counts, self.of)
        found = [i for i in items if i in legal and is_invariant(i, marks)]
        if not verdict.pays:
            eager = self._texture(region) == "aggressive"
            middle = k.middle and mode in (Mode.DOMINATED, Mode.NOT_DOMINATED)
            found = [
                i for i in found
                if (eager and is_fetch(i.form)) or (middle and not self.of.scoreboard(i.form))
            ]  # fmt: skip
        return verdict, found

    def _leaves_twice(self, inner: Loop, outer: Loop) -> bool:
        header, body = self.counts.get(inner.header, (0, 0))
        k = self.knobs(outer.header)
        return nested_allowed(
            allowed=k.permitted, simple=len(inner.blocks) == 1, body=body,
            preds=len(inner.entries), header=header, ratio=k.ratio,
        )  # fmt: skip

    def _legal(self, region: Region) -> set[Instruction]:
        """What may move, less what the knobs on textures and constant loads keep."""
        legal = set(region.invariant)
        if self._texture(region) == "conservative":
            legal = {i for i in legal if not is_fetch(i.form)}
        loads = {i for i in legal if i.form.space == "const"}
        return legal - {i for i in loads if not self._takes_const(i, region.loop)}

    def _takes_const(self, i: Instruction, loop: Loop) -> bool:
        """Whether a constant load may leave, by the CBO knobs."""
        k = self.knobs(loop.header)
        if not k.const_loads or idom_steps(i, loop, k.idom_limit) > k.idom_limit:
            return False
        if not k.cold_nests and any("cold" in b.flags for b in loop.blocks):
            return False
        return 100 * self.pressure.of_loop(loop) <= k.pressure * tables.REGISTERS.value

    def _texture(self, region: Region) -> str:
        fetches = sum(is_fetch(i.form) for i in region.items)
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


def is_copy(form: Form) -> bool:
    return form.name == "mov" or form.op.pseudo or form.is_phi


def latencies(ctx: Context, noop: Callable[[Form], bool]) -> Latencies:
    """Latencies of the run's machine profile, worked out once a form."""
    from nvir.sm.latency import CONVERT, GLOBAL, SPECIAL, TEXTURE, class_cycles, latency_class

    known: dict[Form, tuple[float, bool]] = {}

    def facts(form: Form) -> tuple[float, bool]:
        found = known.get(form)
        if found is None:
            code = latency_class(form.spelling, ctx.profile)
            waits = form.reads or code in (SPECIAL, CONVERT, TEXTURE, GLOBAL)
            found = known[form] = class_cycles(ctx.profile, code), waits
        return found

    return Latencies(lambda f: facts(f)[0], lambda f: facts(f)[1], noop)

