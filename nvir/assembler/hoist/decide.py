"""Which invariants leave a loop, as ptxas was observed to decide: block by block.

    score · budget / (real · size) ≥ penalty        (hoist/score.py)

    block                               budget   what may leave
    header, latch of an innermost loop  200      all that is invariant
      others of its blocks               22      what holds no register more, no loads
    of a loop around others              10      what holds no register more; global loads, fetches
    what left an inner loop              10      what holds no register more, no loads

Blocks are those of the machine: a guarded access of memory is branched around, a fence ends what
comes before it. What lies between such splits is judged by its own size, the first part as a
header, the last as a latch, others like blocks between; later instances see one block again.

What an inner loop lost stands between the two loops in a block of its own, which the outer loop
judges like any other; so it may leave a nest at once or in part.

    size      instructions of the block and the moves that its phis cost; a shift or product of
              32 bits that only sums read is part of them, and stays with those that vary
    score     instructions that leave; 12 times as much for each load of global memory or texture
              fetch. If the block holds any of these at all, the others count a fifth
    penalty   values that stay behind to be read

All that may leave a block does, or nothing; but where two or more values of an innermost loop do
not even pay by themselves, those that do are tried without them.

Beside that
    branches    loads leave the header only, unless all branches inside are short and become guards
    large       before sm_90, around a large innermost loop everything leaves
    warp-wide   before sm_90, blocks with such operations are left to the later instances, which
                take loops of one block only and want ten times as much
    slow paths  a call, also one hidden in a division, keeps everything

Source  ptxas 13.0.88: loops in which one thing at a time was varied until an invariant stayed
        (benchmarks/licm_agreement.py compares on others).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cached_property

from nvir.analysis.hoisting.nest import is_fetch
from nvir.analysis.hoisting.region import HoistRegion, closed, live_into
from nvir.assembler.hoist import tables
from nvir.assembler.hoist.net import holds_no_more
from nvir.assembler.hoist.score import Exact, Verdict, has_long_latency
from nvir.assembler.hoist.weights import WeightedPart, Weights, moves_of_literals
from nvir.assembler.unroll.weights import HOPPER
from nvir.ir import Block, Form, Instruction, Loop, OpKind

LATER = "a later instance takes loops of one block"
Unit = tuple[Block, list[Instruction], WeightedPart | None]


def observed(
    region: HoistRegion, pass_id: int, weights: Weights, outer: float, divergent: float
) -> tuple[list[Instruction], Verdict]:
    """What leaves the loop, as ptxas decides, and the numbers of the block that decided.

    `outer` is the budget of loops that hold loops, knob 483, 0: no limit; `divergent` that of
    the other blocks of an innermost loop, knob 482.
    """
    rule = _Rule(region, pass_id, weights, outer, divergent)
    if pass_id > 0 and not rule.guarded and len(region.loop.blocks) > 1:
        return [], no_verdict(LATER)
    gone: set[Instruction] = set()
    won: Verdict | None = None
    tried: Verdict | None = None
    for b, items, part in rule.units():
        leaving, verdict = rule.judge(b, items, part)
        if verdict is None:
            continue
        if leaving and (won is None or verdict.score > won.score):
            won = verdict
        tried = tried or verdict
        gone.update(leaving)
    leaving = closed([i for i in region.invariant if i in gone], region)
    return leaving, won or tried or no_verdict("nothing in it costs anything")


def exact(x: float) -> Exact:
    """A knob's number for exact arithmetic; an integer where it is one, which is faster."""
    return int(x) if x == int(x) else Fraction(x)


def no_verdict(why: str) -> Verdict:
    return Verdict(0, 0, 1, 0, 0, why)


class _Rule:
    """One loop under the observed rule.

    alone    what in the loop keeps everything there, or ""
    guarded  whether all branches of an innermost loop become guards
    """

    def __init__(
        self, region: HoistRegion, pass_id: int, weights: Weights, outer: float, divergent: float
    ) -> None:
        self.region, self.pass_id, self.weights = region, pass_id, weights
        self.cost, self.arch = weights.cost, weights.arch
        self.outer, self.divergent = outer, divergent
        self.loop = region.loop
        self.innermost = not self.loop.children
        self.inner_headers = {x.header for x in self.loop.children}
        self.guarded = self.innermost and self._becomes_one_block()
        self.alone = weights.slow(region.parts)
        withheld = _withheld(region)
        self.invariant = [i for i in region.invariant if i not in withheld]

    def units(self) -> Iterable[Unit]:
        """Blocks of the loop that hold invariants, what may leave each, and its part if it is
        split; what left an inner loop comes under that loop's header."""
        found: dict[Block, list[Instruction]] = {}
        if self.pass_id > 0:
            always = {b for b in self.loop.blocks if self._always(b)}
            return [(self.loop.header, [i for i in self.invariant if i.block in always], None)]
        moved = self.region.nest.moved
        for i in self.invariant:
            at = moved.get(i)
            assert i.block is not None
            found.setdefault(i.block if at is None else at.header, []).append(i)
        return [unit for b, own in found.items() for unit in self._divided(b, own)]

    def _divided(self, b: Block, own: list[Instruction]) -> list[Unit]:
        """A block's units: itself, or the parts of it that hold invariants."""
        if b in self.inner_headers or not self.weights.of(b).split:
            return [(b, own, None)]
        units: list[Unit] = []
        for part in self.weights.parts(b):
            among = set(part.items)
            inside = [i for i in own if i in among]
            if inside:
                units.append((b, inside, part))
        return units

    def judge(
        self, b: Block, own: list[Instruction], part: WeightedPart | None
    ) -> tuple[list[Instruction], Verdict | None]:
        """What leaves a block, and the numbers; None where nothing in it costs anything."""
        if b in self.inner_headers:
            return self._judge_lifted(b, own)
        size, long_ = self._block(b, part)
        if self.pass_id > 0:  # branches have become guards: one block
            rest = [self._block(x) for x in self.loop.blocks if x is not b]
            size, long_ = size + sum(n for n, _ in rest), long_ or any(y for _, y in rest)
        always = self._always(b)
        why = self.alone or self._later(b)
        chosen = self._worth(own)
        if not chosen:
            return [], None
        if always and self.around_large:
            return self._all(chosen, size, long_, free=True, why=why)
        first = b is self.loop.header and (part is None or part.first)
        last = b in self.loop.latches and (part is None or part.last)
        if not first and any(i.form.reads for i in own) and not self.guarded:
            chosen = self._worth([i for i in own if not i.form.reads])
        if self.innermost and always and (first or last):
            if self.pass_id > 0 and self.enclosed_large:
                return self._all(chosen, size, long_, free=True, why=why)
            row = tables.LATCH_BUDGET[min(self.pass_id, 1)]
            n = len(self.loop.latches)
            budget = row.value if n == 1 else Fraction(row.value, n)
            return self._all_or_some(chosen, size, long_, budget, why)
        loads = [i for i in chosen if always and has_long_latency(i.form)]
        chosen = self._worth([*holds_no_more(chosen), *loads])
        amount = self.divergent if self.innermost else self.outer
        return self._all(chosen, size, long_, amount, why=why)

    def _judge_lifted(
        self, b: Block, own: list[Instruction]
    ) -> tuple[list[Instruction], Verdict | None]:
        """The same of what left an inner loop."""
        size = self.weights.lifted(b)
        if self.around_large:
            long_ = any(has_long_latency(i.form) for i in self.region.nest.lifted.get(b, ()))
            return self._all(self._worth(own), size, long_, free=True, why=self.alone)
        chosen = self._worth(holds_no_more([i for i in own if not i.form.reads]))
        return self._all(chosen, size, False, self.outer, why=self.alone)

    # ------------------------------------------------------------- all or nothing

    def _all(
        self, chosen: list[Instruction], size: int, long_: bool, amount: float = 0,
        why: str = "", free: bool = False,
    ) -> tuple[list[Instruction], Verdict]:
        budget = exact(amount) if amount else None
        verdict = self._verdict(chosen, size, long_, budget, why, free)
        return (chosen if verdict.pays else []), verdict

    def _all_or_some(
        self, chosen: list[Instruction], size: int, long_: bool, budget: Exact, why: str
    ) -> tuple[list[Instruction], Verdict]:
        verdict = self._verdict(chosen, size, long_, budget, why)
        if verdict.pays or verdict.why:
            return (chosen if verdict.pays else []), verdict
        paying: list[Instruction] = []
        dropped = 0
        for maker in dict.fromkeys(v.definer for v in live_into(self.region, chosen)):
            assert maker is not None
            chain = worthwhile(chosen, [maker], self.cost)
            if self._verdict(chain, size, long_, budget, why).pays:
                paying.append(maker)
            else:
                dropped += 1
        if paying and dropped >= tables.FALLBACK_VALUES.value:
            some = worthwhile(chosen, paying, self.cost)
            second = self._verdict(some, size, long_, budget, why)
            if second.pays:
                return some, second
        return [], verdict

    def _verdict(
        self, chosen: Sequence[Instruction], size: int, long_: bool, budget: Exact | None,
        why: str, free: bool = False,
    ) -> Verdict:
        weights = tables.score_weights(self.pass_id, long_)
        long = weights.long_latency.value
        score = sum([long if has_long_latency(i.form) else self.cost(i) for i in chosen])
        penalty = 0
        if not free:
            made = [v.definer for v in live_into(self.region, chosen)]
            penalty = sum([d is not None and self.cost(d) > 0 for d in made])
        if self.pass_id > 0:
            size = size * tables.COUNT_REAL.value // tables.BODY_SHARE.value
        return Verdict(score, budget, weights.real.value, size, penalty, why)

    def _worth(self, candidates: Sequence[Instruction]) -> list[Instruction]:
        if all(map(self.cost, candidates)):
            return list(candidates)
        return worthwhile(candidates, candidates, self.cost)

    # ------------------------------------------------------------------- the loop

    def _later(self, b: Block) -> str:
        """What leaves a block to the later instances, or "": a warp-wide operation in it, or in
        all of a nest or of a loop that becomes one block."""
        if self.pass_id > 0 or self.arch >= HOPPER:
            return ""
        alone = self.innermost and not self.guarded
        warp = self._warp_wide((b,)) if alone else self._warp_wide_anywhere
        if warp is None:
            return ""
        return f"{warp.form.spelling} beside them leaves them to the later instances"

    @cached_property
    def _warp_wide_anywhere(self) -> Instruction | None:
        return self._warp_wide(self.loop.blocks)

    def _warp_wide(self, blocks: Iterable[Block]) -> Instruction | None:
        parts = map(self.region.nest.contents, blocks)
        return next((i for p in parts for i in p.hazards if i.form.op.gathers), None)

    def _always(self, b: Block) -> bool:
        """Whether every iteration runs a block."""
        return b is self.loop.header or all(b.dominates(x) for x in self.loop.latches)

    @cached_property
    def around_large(self) -> bool:
        """Whether a loop inside is so large that everything leaves this one."""
        inner = [x for x in self.loop.children if not x.children]
        return self.arch < HOPPER and any(map(self._large, inner))

    @cached_property
    def enclosed_large(self) -> bool:
        """Whether this is such a loop."""
        nested = self.loop.parent is not None and self.arch < HOPPER
        return nested and self._large(self.loop)

    def _large(self, loop: Loop) -> bool:
        cost = sum(self.weights.of(b).cost for b in loop.blocks)
        return cost + self.weights.lifted(loop.header) > tables.LARGE_INNER.value

    def _becomes_one_block(self) -> bool:
        """Whether all branches inside become guards, so that one block is left."""
        blocks = self.loop.blocks
        return len(blocks) == 1 or all(self._always(b) or self._is_short(b) for b in blocks)

    def _is_short(self, b: Block) -> bool:
        """Whether a block that a branch skips becomes guarded instructions. Longer ones do where
        several values merge behind it and a load of long latency follows soon."""
        n = self.weights.of(b).cost
        if n <= tables.GUARDED.value or n > tables.GUARDED_LONG.value or len(b.succs) != 1:
            return n <= tables.GUARDED.value
        join = b.succs[0]
        first = itertools.islice((i for i in join if not i.form.is_phi), tables.LOADS_SOON.value)
        return (
            sum(1 for _ in join.phis) >= tables.MERGING.value
            and self.weights.of(self.loop.header).cost >= tables.LONG_HEADER.value
            and any(has_long_latency(i.form) for i in first)
        )

    # ------------------------------------------------------------------ its blocks

    def _block(self, b: Block, part: WeightedPart | None = None) -> tuple[int, bool]:
        """The size of a block or a part of it, and whether it holds loads of long latency."""
        weight = self.weights.of(b) if part is None else part.weight
        moves = weight.moves
        if part is None or part.last:
            moves += moves_of_literals(b)
        size = weight.cost + tables.PHI_MOVES.value * moves
        return size + self._control(b, part), weight.long

    def _control(self, b: Block, part: WeightedPart | None) -> int:
        """The loop control that the header of a nest has of a short latch, or the latch less."""
        latch = self.loop.latches[0]
        if self.innermost or len(self.loop.latches) > 1 or latch is self.loop.header:
            return 0
        if b is not latch and b is not self.loop.header:
            return 0
        if part is not None and not (part.first if b is self.loop.header else part.last):
            return 0
        weight = self.weights.of(latch)
        if weight.split:
            weight = self.weights.parts(latch)[-1].weight
        if weight.cost + tables.PHI_MOVES.value * weight.moves > tables.SHORT_LATCH.value:
            return 0
        control = tables.LOOP_CONTROL.value
        return control if b is self.loop.header else -control


def _withheld(region: HoistRegion) -> set[Instruction]:
    """Loads that could leave but that ptxas keeps: behind a fence all, else those of a space
    that the loop writes, whatever the addresses."""
    loads = [i for i in region.invariant if i.form.reads and i.form.space != "const"]
    if not loads:
        return set()
    if any(i.form.kind is OpKind.FENCE for i in region.hazards):
        return set(loads)
    written = {_space(s.form) for s in region.stores}
    if "" in written:
        written |= {"global", "shared", "local"}
    return {i for i in loads if not i.form.invariant and not is_fetch(i.form)
            and (_space(i.form) in written or (written and not i.form.space))}


def _space(form: Form) -> str:
    return form.space.partition("::")[0]


def worthwhile(
    invariant: Sequence[Instruction], wanted: Iterable[Instruction],
    cost: Callable[[Instruction], int],
) -> list[Instruction]:
    """Those of `wanted` that cost something, with all that they need, in order.

    Copies and changes of sign cost nothing where they are; moved for themselves they would only
    hold a register.
    """
    among = set(invariant)
    chosen: set[Instruction] = set()
    work = [i for i in wanted if cost(i)]
    while work:
        i = work.pop()
        if i in chosen:
            continue
        chosen.add(i)
        for v in i.operands:
            d = v.definer
            if d is not None and d in among and d not in chosen:
                work.append(d)
        if i.form.carry_out:  # a chain moves as a whole
            work += [u for u in i.results[-1].users if u in among and u not in chosen]
    return [i for i in invariant if i in chosen]
