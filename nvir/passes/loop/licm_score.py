"""Whether moving invariants pays: the real tool's one formula, in exact arithmetic.

    score · budget / (real · size) ≥ penalty

score     what leaves, operations of long latency counting many times over
budget    how generous the instance is
size      of the block: what the saving is a share of
penalty   the registers that it takes

Two policies fill it in, both block by block: `notes` in licm_stages.py, `observed` here:

    blocks    those that every iteration runs
    size      instructions of the block, and a move for each phi of it and of its successors
    score     instructions that leave; 12 times as much for each load of global memory or texture
              fetch. If the block holds any of these at all, the others count a fifth
    penalty   values that stay behind to be read
    budget    200 in an innermost loop, 10 around another

All that a block could lose leaves it, or nothing does. But where two or more values do not even
pay by themselves, those that do are tried without them. What an inner loop lost leaves the loop
around it without more ado, unless that has short invariants of its own: then they are judged
together. Loads stay between the two, and behind any store to their space. A large inner loop lets
everything leave the one around it. Blocks with warp-wide operations are left to the later
instances, which take loops of one block only and want ten times as much.

Source  fitted to ptxas 13.0.88: the first size at which an invariant stays was found by bisection
        for a hundred mixes of invariants, blocks and nests (benchmarks/licm_agreement.py compares).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import attrs

from nvir.ir.block import Block
from nvir.ir.form import Form
from nvir.ir.instruction import Instruction
from nvir.ir.values import Constant
from nvir.passes.loop import licm_tables as tables
from nvir.passes.loop.body_cost import never_unrolled, row_of
from nvir.passes.loop.licm_region import Region, closed, is_fetch, live_into
from nvir.passes.loop.unroll_weights import FENCES, WARP_WIDE


@attrs.frozen
class Verdict:
    """The numbers of one decision; `why` names what decided beside them, or is empty."""

    score: int
    budget: Fraction | None  # None: no limit
    real: int
    size: Fraction
    penalty: int
    why: str = ""

    @property
    def value(self) -> Fraction | float:
        """The left side of the test; 0 where there is no size to divide by."""
        if self.budget is None:
            return math.inf if self.score else 0.0
        return Fraction(self.score) * self.budget / (self.real * self.size or 1)

    @property
    def pays(self) -> bool:
        n, d = self.size.numerator, self.size.denominator
        if not n or self.why:
            return False
        if self.budget is None or not self.real:
            return self.value >= self.penalty
        # The comparison of `value`, without fractions.
        b = self.budget
        return self.score * b.numerator * d >= self.penalty * self.real * n * b.denominator

    def numbers(self) -> dict[str, float]:
        """The fields of a remark."""
        return {
            "score": self.score, "real": self.real,
            "size": round(float(self.size), 3), "value": round(float(self.value), 3),
            "penalty": self.penalty,
            "budget": math.inf if self.budget is None else float(self.budget),
        }  # fmt: skip


def has_long_latency(form: Form) -> bool:
    """Whether a result comes from beyond the caches of the core: global loads and fetches."""
    if is_fetch(form):
        return True
    return form.name == "ld" and form.space in ("global", "")


def cost(i: Instruction, arch: int) -> int:
    """How many instructions the real tool has for this one."""
    f = i.form
    operands = i._operands
    if f.name == "mov" or f.n_sources < 0:
        return _cost(i, arch)
    key = (f, arch, f.n_sources > 1 and operands[1].__class__ is Constant)
    known = _COSTS.get(key)
    if known is None:
        known = _COSTS[key] = _cost(i, arch)
    return known


_COSTS: dict[tuple[Form, int, bool], int] = {}  # all that a cost but of moves depends on


def _cost(i: Instruction, arch: int) -> int:
    f = i.form
    if f.is_phi or f.op.pseudo:
        return 0
    n = 1 if f.reads or f.writes else row_of(i, arch).d
    return n + (f.guard is not None and not f.terminator)


def observed(
    region: Region, pass_id: int, arch: int, outer: float
) -> tuple[list[Instruction], Verdict]:
    """What leaves the loop, as ptxas decides, and the numbers of the block that decided.

    `outer` is the budget of loops that hold loops, knob 483; 0: no limit.
    """
    if pass_id > 0 and len(region.loop.blocks) > 1:
        why = "a later instance takes loops of one block"
        return [], Verdict(0, Fraction(0), 1, Fraction(0), 0, why)
    blocks = _Blocks(region, pass_id, arch, outer)
    gone: set[Instruction] = set()
    won: Verdict | None = None
    tried: Verdict | None = None
    for b in blocks.run_always():
        leaving, verdict = blocks.judge(b)
        if verdict is None:
            continue
        if leaving and (won is None or verdict.score > won.score):
            won = verdict
        tried = tried or verdict
        gone.update(leaving)
    leaving = closed([i for i in region.invariant if i in gone], region)
    verdict = won or tried or Verdict(0, Fraction(0), 1, Fraction(0), 0, "not every iteration "
                                      "runs them")  # fmt: skip
    return leaving, verdict


class _Blocks:
    """The blocks of a loop under the observed rule."""

    def __init__(self, region: Region, pass_id: int, arch: int, outer: float) -> None:
        self.region, self.pass_id, self.arch, self.outer = region, pass_id, arch, outer
        self.loop = region.loop
        self.innermost = not self.loop.children
        self.alone = _left_alone(region.items, arch)
        self._facts: dict[Block, tuple[bool, str, Fraction]] = {}
        self.items: dict[Block, list[Instruction]] = {}
        for i in region.items:
            assert i.block is not None
            self.items.setdefault(i.block, []).append(i)
        self.invariant = set(region.invariant) - _withheld(region)

    def run_always(self) -> list[Block]:
        """The blocks to hoist from: no inner loop's, and run in every iteration."""
        inner = {b for x in self.loop.children for b in x.blocks}
        latches = self.loop.latches
        return [
            b for b in self.loop.blocks
            if b not in inner and all(b.dominates(x) for x in latches)
        ]  # fmt: skip

    def judge(self, b: Block) -> tuple[list[Instruction], Verdict | None]:
        """What leaves a block, and the numbers; None where it holds no invariant."""
        own = [i for i in self.items.get(b, ()) if i in self.invariant]
        lifted: list[Instruction] = []
        if b is self.loop.header and not self.innermost:
            moved = self.region.nest.moved
            lifted = [
                i for i in self.region.invariant
                if i in moved and i in self.invariant and not i.form.reads
            ]  # fmt: skip
        if not own and not lifted:
            return [], None
        if b is self.loop.header and not self.alone and self._around_large():
            moved = self.region.nest.moved
            lifted = [i for i in self.region.invariant if i in moved and i in self.invariant]
            chosen = worth([*own, *lifted], self)
            verdict = self.verdict(b, chosen, free=True)
            if verdict.pays:
                return chosen, verdict
        if b is not self.loop.header and any(i.form.reads for i in own) and self._heavy_middle():
            return [], self.verdict(b, worth(own, self), "the header is small beside the rest")
        short = [i for i in own if not has_long_latency(i.form) and cost(i, self.arch)]
        if lifted and not short:
            freely, verdict = lifted, self.verdict(b, worth(lifted, self), free=True)
            if verdict.why:
                return [], verdict
            if own:
                more, second = self._all_or_loads(b, own)
                return [*freely, *more], second if more else verdict
            return freely, verdict
        return self._all_or_loads(b, [*own, *lifted])

    def _all_or_loads(
        self, b: Block, candidates: list[Instruction]
    ) -> tuple[list[Instruction], Verdict]:
        chosen = worth(candidates, self)
        verdict = self.verdict(b, chosen)
        if verdict.pays or verdict.why:
            return (chosen if verdict.pays else []), verdict
        paying, dropped = self._paying_alone(b, chosen)
        if paying and dropped >= tables.FALLBACK_VALUES.value:
            second = self.verdict(b, paying)
            if second.pays:
                return paying, second
        return [], verdict

    def _paying_alone(self, b: Block, chosen: list[Instruction]) -> tuple[list[Instruction], int]:
        """What is computed for values that pay each by itself, and how many others there are."""
        paying: list[Instruction] = []
        dropped = 0
        makers = dict.fromkeys(v.definer for v in live_into(self.region, chosen))
        for maker in makers:
            assert maker is not None
            chain = worthwhile(chosen, [maker], self.arch)
            if self.verdict(b, chain).pays:
                paying.append(maker)
            else:
                dropped += 1
        return worthwhile(chosen, paying, self.arch), dropped

    def _around_large(self) -> bool:
        """Whether an innermost loop inside is so large that everything leaves the one around."""
        return any(
            sum(cost(i, self.arch) + i.form.is_phi for b in x.blocks for i in b)
            > tables.LARGE_INNER.value
            for x in self.loop.children if not x.children
        )  # fmt: skip

    def _heavy_middle(self) -> bool:
        """Whether the other blocks outweigh the header, so that loads stay behind it."""
        header = self.loop.header
        others = (i for b, own in self.items.items() if b is not header for i in own)
        rest = sum(cost(i, self.arch) for i in others)
        rate = Fraction(tables.MIDDLE_RATE.value, 100)
        return rest - tables.NOT_MIDDLE.value > rate * self.size(header)

    def verdict(
        self, b: Block, chosen: Sequence[Instruction], why: str = "", free: bool = False
    ) -> Verdict:
        facts = self._facts.get(b)
        if facts is None:  # a block is judged several times
            items = self.items.get(b, ())
            long_ = any(has_long_latency(i.form) for i in items)
            facts = self._facts[b] = (long_, self._left_later(items), self._size(b))
        weights = tables.score_weights(self.pass_id, facts[0])
        long = weights.long_latency.value
        score = sum(long if has_long_latency(i.form) else cost(i, self.arch) for i in chosen)
        made = [v.definer for v in live_into(self.region, chosen)]
        penalty = sum(d is not None and cost(d, self.arch) > 0 for d in made)
        budget: Fraction | None
        if self.innermost:
            row = tables.LATCH_BUDGET[min(self.pass_id, 1)]
            budget = Fraction(row.value, len(self.loop.latches))
        else:
            budget = Fraction(self.outer) if self.outer else None
        return Verdict(score, budget, weights.real.value, facts[2], 0 if free else penalty,
                       why or self.alone or facts[1])  # fmt: skip

    def _left_later(self, items: Iterable[Instruction]) -> str:
        """What in a block leaves it to the later instances, or ""."""
        warp = next((i for i in items if i.form.name in WARP_WIDE), None)
        if warp is None or self.pass_id > 0:
            return ""
        return f"{warp.form.spelling} beside them leaves them to the later instances"

    def size(self, b: Block) -> Fraction:
        facts = self._facts.get(b)
        return facts[2] if facts is not None else self._size(b)

    def _size(self, b: Block) -> Fraction:
        n = sum(cost(i, self.arch) for i in self.items.get(b, ()))
        n += tables.PHI_MOVES.value * sum(1 for _ in b.phis)
        n += tables.PHI_MOVES.value * sum(1 for s in b.succs for _ in s.phis)
        n += 0 if self.innermost else tables.OUTER_SIZE.value
        if self.pass_id == 0:
            return Fraction(n)
        return Fraction(n * tables.COUNT_REAL.value, tables.BODY_SHARE.value)


def worth(candidates: Sequence[Instruction], blocks: _Blocks) -> list[Instruction]:
    return worthwhile(candidates, candidates, blocks.arch)


def _withheld(region: Region) -> set[Instruction]:
    """Loads that could leave but that ptxas keeps: behind a fence all, else those of a space
    that the loop writes, whatever the addresses."""
    loads = [i for i in region.invariant if i.form.reads and i.form.space != "const"]
    if not loads:
        return set()
    if any(i.form.name in FENCES for i in region.items):
        return set(loads)
    written = {_space(s.form) for s in region.stores}
    if "" in written:
        written |= {"global", "shared", "local"}
    return {i for i in loads if not i.form.invariant and not is_fetch(i.form)
            and (_space(i.form) in written or (written and not i.form.space))}  # fmt: skip


def _space(form: Form) -> str:
    return form.space.partition("::")[0]


def _left_alone(items: Iterable[Instruction], arch: int) -> str:
    """What in the loop keeps everything there, or ""."""
    for i in items:
        f = i.form
        if f.name in FENCES or f.name in WARP_WIDE:
            continue
        why = never_unrolled(i, arch)
        if why:
            return why
    return ""


def worthwhile(
    invariant: Sequence[Instruction], wanted: Iterable[Instruction], arch: int
) -> list[Instruction]:
    """Those of `wanted` that cost something, with all that they need, in order.

    Copies and changes of sign cost nothing where they are; moved for themselves they would only
    hold a register.
    """
    among = set(invariant)
    chosen: set[Instruction] = set()
    work = [i for i in wanted if cost(i, arch)]
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
