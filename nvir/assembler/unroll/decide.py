"""How ptxas decides on unrolling, as it was observed: none, full, or a factor.

Loops are taken inner before outer, and the last of the text first. With the
figures of the body (body_cost.py), T the trip count and c = d + 3:

    0  never     a call or a fence; before Hopper also shuffles and votes
    1  full      T known and (T - 1)·a <= L, where L = 140 + 46·p; if the loop is alone
                 in its kernel and makes up more than a quarter of it, L grows with its share
    2  partial   T known, no branch in the body, savings of 4 % or more: the largest f
                 with f·d + (T mod f)·a <= 350
    3  unknown T copies hide the latency of loads: 4, while the body is small
    4  nests     an inner loop that is unrolled fully is straight-line code of the outer one;
                 one that stays a loop stops it

Nothing is transformed here: `unroll_decisions` says what the assembler will do
with a function as it is given, so the caller says what is dead in it.

Needs    CFG annotations.
Cost     linear in the sizes of the loops, a block once for each loop around it; under other limits
         again next to nothing, for what does not depend on them is kept (`UnrollFacts`).
Source   measured on ptxas 13.0.88; benchmarks/unroll_agreement.py compares.
"""

from __future__ import annotations

import sys
from collections.abc import Set as AbstractSet
from typing import Any

import attrs

from nvir.analysis.analyses import Analyses
from nvir.analysis.induction import TripCount
from nvir.analysis.source_loops import has_pragma
from nvir.assembler.unroll.body_cost import BodyCost, body_cost, never_unrolled
from nvir.assembler.unroll.decision import UnrollCode, UnrollDecision
from nvir.assembler.unroll.exits import COUNT_LIMIT, Refusal, counted_by, why_not_counted
from nvir.assembler.unroll.known import Counted
from nvir.assembler.unroll.latch_exit import what_is_wrong
from nvir.assembler.unroll.miscounts import falls, miscount
from nvir.assembler.unroll.outside import outside_size
from nvir.assembler.unroll.weights import (
    BLACKWELL,
    PARTIAL_LIMIT,
    PARTIAL_SAVING,
    SHARE_STEP,
    SMALL_WITH_LOADS,
)
from nvir.ir import Block, Constant, Function, Instruction, Loop, Param, Value, natural_loops
from nvir.ir.loops import over_blocks


@attrs.frozen
class UnrollLimits:
    """The knobs that the rules read, with their defaults."""

    enabled: bool = True  # LoopUnroll
    budget: int = 140  # UnrollBudget
    per_percent: int = 46  # LoopUnrollNumExtraInstBase
    share: float = 0.25  # UnrollFlexableFullLimit
    unknown_factor: int = 4  # UnrollUnknownCount
    full_limit: int = 200  # UnrollFullInstLimit


def unroll_decisions(
    function: Function, arch: int, limits: UnrollLimits = UnrollLimits(),
    switched_off: frozenset[Block] = frozenset(),
    dead: AbstractSet[Instruction] = frozenset(), facts: UnrollFacts | None = None,
) -> dict[Block, UnrollDecision]:
    """The decision on each natural loop, by its header.

    `arch` is the number of the architecture (80, 90 …); `switched_off` are headers of
    loops that must stay, beside those under `.pragma "nounroll"`. Instructions that are `dead`
    count as if they were gone. `facts` are those of the function as it is, where they are known.
    """
    facts = facts or UnrollFacts(function, arch, dead)
    if not facts.loops:
        return {}
    module = function.module
    everywhere = module is not None and any("nounroll" in p for p in module.pragmas)
    state = _State(facts, limits)
    for loop in facts.order:
        off = everywhere or loop.header in switched_off or has_pragma(loop)
        state.done[loop.header] = _with_warning(loop, state.decide(loop, off))
    return {x.header: state.done[x.header] for x in facts.loops}


def _with_warning(loop: Loop, decision: UnrollDecision) -> UnrollDecision:
    """A decision whose reason says where the copies run another number of times."""
    if decision.action == "none" or not (why := miscount(loop)):
        return decision
    return attrs.evolve(
        decision, reason=f"{decision.reason}; the copies may run another number of times: {why}")


class UnrollFacts:
    """What the decisions on the loops of one function rest on, whatever the limits: each fact is
    made when it is first asked for. Of no use once the function was edited."""

    def __init__(
        self, function: Function, arch: int, dead: AbstractSet[Instruction] = frozenset()
    ) -> None:
        self.function, self.arch, self.dead = function, arch, dead
        self.loops = natural_loops(function)
        blocks = function.blocks
        self.layout: dict[Block, Block | None] = dict(zip(blocks, [*blocks[1:], None], strict=True))
        place = {b: k for k, b in enumerate(blocks)} if self.loops else {}
        self.order = sorted(self.loops, key=lambda x: (-x.depth, -place[x.header]))
        self._trips: dict[Block, TripCount | None] = {}
        self._costs: dict[tuple[Any, ...], BodyCost] = {}
        self._refusals: dict[Block, Refusal | None] = {}
        self._divergent: dict[Block, bool] = {}
        self._outside: dict[Block, int] = {}
        self._never: dict[Loop, tuple[int, str]] | None = None

    def trip(self, loop: Loop) -> TripCount | None:
        if loop.header not in self._trips:
            trip = counted_by(loop)
            if trip is not None and trip.count is None and trip.text == "unknown":
                trip = trip if falls(trip) else None
            self._trips[loop.header] = trip
        return self._trips[loop.header]

    def never(self, loop: Loop) -> str:
        """Why the loop is never unrolled, of the first of its instructions that forbids it, or "".

        Dead ones count: the call of a slow path is made before ptxas sees that nobody uses it."""
        if self._never is None:
            self._never = over_blocks(self.loops, self._first_never, min)
        return self._never[loop][1]

    def _first_never(self, b: Block) -> tuple[int, str]:
        why = next(filter(None, (never_unrolled(i, self.arch) for i in b)), "")
        return (b.rpo_index, why) if why else (sys.maxsize, "")

    def cost(self, counted: Counted) -> BodyCost:
        key = counted.key
        if key not in self._costs:
            self._costs[key] = body_cost(counted, self.arch, self.layout, self.dead)
        return self._costs[key]

    def refusal(self, loop: Loop, trip: TripCount) -> Refusal | None:
        if loop.header not in self._refusals:
            self._refusals[loop.header] = why_not_counted(loop, trip, self.loops, self.dead)
        return self._refusals[loop.header]

    def outside(self, counted: Counted) -> int:
        """The function's size beside its one loop on the outermost level."""
        header = counted.loop.header
        if header not in self._outside:
            headers = [x.header for x in self.loops]
            self._outside[header] = outside_size(
                self.function, counted, self.arch, headers, self.dead
            )
        return self._outside[header]

    def is_divergent(self, loop: Loop, trip: TripCount) -> bool:
        """Whether lanes may count differently."""
        if loop.header not in self._divergent:
            ends = [
                v for v in (trip.variable.start, trip.bound)
                if not _is_plainly_uniform(v, self.function)
            ]
            self._divergent[loop.header] = bool(ends) and any(
                map(Analyses.of(self.function).divergence.is_divergent, ends)
            )
        return self._divergent[loop.header]


class _State:
    """The decisions so far of one function."""

    def __init__(self, facts: UnrollFacts, limits: UnrollLimits) -> None:
        self.facts, self.arch, self.limits = facts, facts.arch, limits
        self.done: dict[Block, UnrollDecision] = {}
        self.counted: dict[Block, Counted] = {}

    def decide(self, loop: Loop, off: bool) -> UnrollDecision:
        trip = self.facts.trip(loop)
        inner = tuple(
            self.counted[x.header] for x in loop.children
            if self.done[x.header].action == "full"
        )
        counted = self.counted[loop.header] = Counted(loop, trip, inner)
        T = trip.count if trip is not None else None
        facts = UnrollDecision(T=T)
        stays = next((x for x in loop.children if self.done[x.header].action != "full"), None)
        if stays is None:  # a loop around one that stays is not weighed
            cost = self.facts.cost(counted)
            facts = attrs.evolve(
                facts, size=cost.c, cost=cost.a, saved=cost.p, folds=cost.S
            )
        if _ends_indirectly(loop):  # before what forbids copies, as the notes have it
            return facts.none(UnrollCode.INDIRECT_EXIT)
        if off:
            return facts.none(UnrollCode.NOUNROLL, '.pragma "nounroll"')
        if not self.limits.enabled:
            return facts.none(UnrollCode.NOUNROLL, "knob LoopUnroll is off")
        never = self.facts.never(loop)
        if never:
            return facts.none(UnrollCode.NOUNROLL, never)
        if stays is not None:
            return facts.none(UnrollCode.IRREGULAR, f"the inner loop {stays.header.name} stays")
        if trip is None:
            return facts.none(*_why_uncounted(loop))
        refusal = self.facts.refusal(loop, trip)
        if refusal is not None:
            return facts.none(*refusal)
        if T is not None:
            if T * cost.c >= COUNT_LIMIT:
                return facts.none(UnrollCode.DEGENERATE, f"{T}·{cost.c} ≥ 2³¹")
            return self._known(counted, T, cost, facts)
        return self._unknown(cost, facts, trip, loop)

    # ------------------------------------------------------------- rules 1 and 2

    def _known(
        self, counted: Counted, T: int, cost: BodyCost, facts: UnrollDecision
    ) -> UnrollDecision:
        limit, terms = self._full_limit(counted, cost)
        facts = attrs.evolve(facts, limit=limit)
        size = max(T - 1, 0) * cost.a
        copies = f"({T} − 1)·{cost.a} = {size}"
        if size <= limit:
            return facts.full(f"{copies} ≤ {terms}")
        why = f"{copies} > {terms}"
        if cost.branches:
            return facts.none(UnrollCode.NO_FACTOR, f"{why}; a branch in the body")
        gate = 100 * (3 + (5 if cost.fetches else 0)) // cost.c
        if gate < PARTIAL_SAVING:
            return facts.none(
                UnrollCode.NO_FACTOR, f"{why}; copies save {gate} % < {PARTIAL_SAVING} %",
            )
        factor = _partial_factor(T, cost)
        if factor < 2:
            return facts.none(UnrollCode.NO_FACTOR, f"{why}; 2·{cost.d} > {PARTIAL_LIMIT}")
        rest = f" + {T % factor}·{cost.a}" if T % factor else ""
        total = factor * cost.d + T % factor * cost.a
        reason = f"{why}; {factor}·{cost.d}{rest} = {total} ≤ {PARTIAL_LIMIT}"
        return facts.partial(factor, reason)

    def _full_limit(self, counted: Counted, cost: BodyCost) -> tuple[int, str]:
        """L of rule 1, and how it came about."""
        k = self.limits
        limit = k.budget + k.per_percent * cost.p
        if counted.loop.parent is not None or len(self.done) < len(self.facts.loops) - 1:
            return limit, str(limit)
        share = cost.c / (cost.c + self.facts.outside(counted))
        if share <= k.share:
            return limit, str(limit)
        wider = int(limit * (1 + cost.p * share / SHARE_STEP))
        return wider, f"{wider} (its share of the kernel is {share:.0%})"

    # -------------------------------------------------------------------- rule 3

    def _unknown(
        self, cost: BodyCost, facts: UnrollDecision, trip: TripCount, loop: Loop
    ) -> UnrollDecision:
        factor = self.limits.unknown_factor
        if not trip.variable.is_constant_step:
            return facts.none(
                UnrollCode.NO_BOUND, "unknown trip count and a stride known at run time only"
            )
        if _counts_down_unsigned(trip):
            return facts.none(
                UnrollCode.STRIDE_SIGN, "an unsigned 64-bit variable that counts down"
            )
        if cost.breaks or cost.nested or (cost.barrier and cost.branches):
            what = "a break" if cost.breaks else "nested branches" if cost.nested else \
                "a barrier beside a branch"
            return facts.none(UnrollCode.IRREGULAR, f"{what} in the body of an unknown trip count")
        if self.arch < BLACKWELL and (cost.barrier or cost.warp) and trip.variable.bits == 64:
            return facts.none(
                UnrollCode.INDUCTION_CLASS, "a barrier or shuffle under a 64-bit induction variable"
            )
        if trip.exit in loop.latches and not trip.tests_update:
            return facts.none(
                UnrollCode.NO_BOUND, "the exit test reads the variable before its step"
            )
        if (cost.barrier or cost.together) and self.facts.is_divergent(loop, trip):
            what = "a barrier needs" if cost.barrier else "an operation of the body wants"
            return facts.none(UnrollCode.NOUNROLL, f"lanes leave apart, and {what} them together")
        near = cost.shared_loads or cost.local_loads
        if cost.scattered and not near and self.facts.is_divergent(loop, trip):
            return facts.none(
                UnrollCode.NOUNROLL,
                "lanes leave apart, and a store at any address follows a load, none of near memory",
            )
        c = cost.c
        small = min(5 * cost.shared_loads + 22, 100)
        if cost.loads and c <= SMALL_WITH_LOADS:
            reason = f"c = {c} ≤ {SMALL_WITH_LOADS} with a load"
        elif c < small:
            reason = f"c = {c} < {small}"
        elif cost.fetches in (1, 2) and c < self.limits.full_limit / cost.fetches:
            factor //= cost.fetches
            reason = f"c = {c} < {self.limits.full_limit // cost.fetches} with a fetch"
        else:
            most = SMALL_WITH_LOADS if cost.loads else small - 1
            return facts.none(UnrollCode.NO_FACTOR, f"unknown trip count and c = {c} > {most}")
        return facts.partial(factor, reason)


def _counts_down_unsigned(trip: TripCount) -> bool:
    """Whether the step is that of a u64 and negative: as such it is a large positive one."""
    step, made = trip.variable.step, trip.variable.update.definer
    return (
        isinstance(step, int) and step < 0 and trip.variable.bits == 64 and made is not None
        and made.form.type is not None and made.form.type.name == "u64"
    )


def _is_plainly_uniform(v: Value, function: Function) -> bool:
    """Whether a value is a literal or a kernel's parameter, read outside of all loops."""
    d = v.definer
    if d is None:
        return isinstance(v, Constant)
    f = d.form
    if f.guard is not None or f.pinned or d.block is None or d.block.loop_depth:
        return False
    if f.name == "mov" and len(d.operands) == 1:
        return isinstance(d.operands[0], Constant)
    parameter = f.name == "ld" and f.space == "param" and isinstance(d.operands[0], Param)
    return parameter and function.is_kernel


def _partial_factor(T: int, cost: BodyCost) -> int:
    """The largest f < T with f·d + (T mod f)·a within the limit; 1 if there is none."""
    d, a = max(cost.d, 1), cost.a
    best = 1
    for f in range(min(T - 1, PARTIAL_LIMIT // d), 1, -1):
        if f * cost.d + T % f * a <= PARTIAL_LIMIT:
            best = f
            break
    if cost.fetches == 1 and best > 4:
        four = best - best % 4
        if four * cost.d + T % four * a <= PARTIAL_LIMIT:
            best = four
    return best


def _ends_indirectly(loop: Loop) -> bool:
    ends = (latch.terminator for latch in loop.latches)
    return any(end is None or end.form.name != "bra" for end in ends)


def _why_uncounted(loop: Loop) -> tuple[UnrollCode, str]:
    """Code and text for a loop without a trip count."""
    if not loop.exits:
        return UnrollCode.INDIRECT_EXIT, "the loop has no exit"
    return what_is_wrong(loop)


__all__ = ["TripCount", "UnrollCode", "UnrollDecision", "unroll_decisions"]
