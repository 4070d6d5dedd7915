"""Whether moving invariants pays: the real tool's one formula, in exact arithmetic.

    score · budget / (real · size) ≥ penalty

score     what leaves, operations of long latency counting many times over
budget    how generous the instance is
size      of the block: what the saving is a share of
penalty   the registers that it takes

Two policies fill it in, both block by block: `notes` in licm_stages.py, `observed` in
licm_observed.py.
"""

from __future__ import annotations

import math
from fractions import Fraction

import attrs

from nvir.ir.form import Form
from nvir.ir.instruction import Instruction
from nvir.ir.values import Constant, Value
from nvir.passes.loop.body_cost import row_of
from nvir.passes.loop.licm_region import is_fetch

Exact = int | Fraction


@attrs.frozen
class Verdict:
    """The numbers of one decision; `why` names what decided beside them, or is empty."""

    score: int
    budget: Exact | None  # None: no limit
    real: int
    size: Exact
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
    if f.name in _PARTS and (_scales(i) or (f.name == "mul" and _fused(i))):
        return 0
    key = (f, arch, f.n_sources > 1 and operands[1].__class__ is Constant)
    known = _COSTS.get(key)
    if known is None:
        known = _COSTS[key] = _cost(i, arch)
    return known


_COSTS: dict[tuple[Form, int, bool], int] = {}  # all that a cost but of moves depends on


_PARTS = frozenset(("mul", "shl"))


def _scales(i: Instruction) -> bool:
    """Whether a shift or product is but a part of the sums that read it: so it is in 32 bits."""
    f = i.form
    if f.guard is not None or f.type is None or f.type.bits != 32 or f.type.is_float:
        return False
    known = i._operands[1].__class__ is Constant if f.name == "shl" else "lo" in f.mods
    if not known or not i.has_uses:
        return False
    return all(_sums(u, 32) for u in i.users)


def _sums(i: Instruction, bits: int) -> bool:
    """Whether an instruction adds integers of so many bits."""
    f = i.form
    plain = f.name == "add" and f.guard is None and not f.carry_out
    return plain and f.type is not None and f.type.bits == bits and not f.type.is_float


def _fused(i: Instruction) -> bool:
    """Whether a product is but a part of the sum that alone reads it."""
    user = i._uses
    if user.__class__ is not Instruction or i.form.type is None:
        return False
    other = user.form
    if not i.form.type.is_float:
        wide = "wide" in i.form.mods and i.form.type.bits == 32 and i.form.guard is None
        return wide and _sums(user, 64)
    return (
        other.name in ("add", "sub") and other.type is i.form.type and other.guard is None
        and i.form.guard is None and not _ROUNDED.intersection(other.mods)
        and not _ROUNDED.intersection(i.form.mods)
        and (user._operands[0] is i or not _is_fused_product(user._operands[0]))
    )  # fmt: skip


def _is_fused_product(v: Value) -> bool:
    d = v.definer
    return d is not None and d.form.name == "mul" and d._uses.__class__ is Instruction


_ROUNDED = frozenset(("rn", "rz", "rm", "rp", "sat"))


def _cost(i: Instruction, arch: int) -> int:
    f = i.form
    if f.is_phi or f.op.pseudo or (f.name == "bra" and f.guard is None):
        return 0  # control mostly falls through where a jump is written
    n = 1 if f.reads or f.writes else row_of(i, arch).d
    return n + (f.guard is not None and not f.terminator)
