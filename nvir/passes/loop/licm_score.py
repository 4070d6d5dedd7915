"""Whether moving invariants pays: the real tool's one formula, in exact arithmetic.

    score · budget / (real · size) ≥ penalty

score     what leaves the loop, operations of long latency counting many times over
budget    how generous the instance is
size      of the loop, or of the block: what the saving is a share of
penalty   the registers that it takes

Two policies fill it in. `notes` does so block by block (licm_stages.py). `observed` judges a
loop as a whole, all or nothing:

    size      instructions, with two moves for each phi of the header
    score     instructions that leave; 12 times as much for each load of global memory or texture
              fetch. If the loop holds any of these at all, the others count a fifth
    penalty   values that the rest of the loop reads

If that fails and two or more short values would live on, the loads are tried alone. A loop with
warp-wide operations is left to the later instances, which want ten times as much.

Source  fitted to ptxas 13.0.88: the first size at which an invariant stays was found by bisection
        for 70 mixes of invariants and bodies, and the formula gives each exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import attrs

from nvir.ir.form import Form
from nvir.ir.instruction import Instruction
from nvir.passes.loop import licm_tables as tables
from nvir.passes.loop.body_cost import never_unrolled, row_of
from nvir.passes.loop.licm_region import Region, is_fetch, live_into
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
        return self.size != 0 and not self.why and self.value >= self.penalty

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
    if f.is_phi or f.op.pseudo:
        return 0
    n = 1 if f.reads or f.writes else row_of(i, arch).d
    return n + (f.guard is not None and not f.terminator)


def observed(region: Region, pass_id: int, arch: int) -> tuple[list[Instruction], Verdict]:
    """What leaves the loop, as ptxas decides, and the numbers."""
    candidates = worthwhile(region.invariant, region.invariant, arch)
    verdict = _judge(region, candidates, pass_id, arch)
    if verdict.pays or verdict.why:
        return (candidates if verdict.pays else []), verdict
    short = [v for v in live_into(region, candidates) if not _is_long(v.definer)]
    loads = [i for i in candidates if has_long_latency(i.form)]
    if loads and len(short) >= tables.FALLBACK_VALUES.value:
        alone = worthwhile(region.invariant, loads, arch)
        second = _judge(region, alone, pass_id, arch)
        if second.pays:
            return alone, second
    return [], verdict


def _is_long(i: Instruction | None) -> bool:
    return i is not None and has_long_latency(i.form)


def _judge(region: Region, chosen: Sequence[Instruction], pass_id: int, arch: int) -> Verdict:
    items = region.items
    safe = any(has_long_latency(i.form) for i in items)
    weights = tables.score_weights(pass_id, safe)
    score = sum(
        weights.long_latency.value if has_long_latency(i.form) else cost(i, arch) for i in chosen
    )
    body = sum(cost(i, arch) for i in items)
    body += tables.PHI_MOVES.value * sum(1 for _ in region.loop.header.phis)
    budget = Fraction(tables.LATCH_BUDGET[min(pass_id, 1)].value, len(region.loop.latches))
    size = Fraction(body)
    if pass_id > 0:
        size *= Fraction(tables.COUNT_REAL.value, tables.BODY_SHARE.value)
    made = [v.definer for v in live_into(region, chosen)]
    penalty = sum(d is not None and cost(d, arch) > 0 for d in made)
    return Verdict(score, budget, weights.real.value, size, penalty,
                   _left_alone(items, pass_id, arch))  # fmt: skip


def _left_alone(items: Iterable[Instruction], pass_id: int, arch: int) -> str:
    """What in the loop makes an instance leave it alone, or ""."""
    for i in items:
        f = i.form
        if pass_id == 0 and (f.name in WARP_WIDE):
            return f"{f.spelling} in the loop leaves it to the later instances"
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
