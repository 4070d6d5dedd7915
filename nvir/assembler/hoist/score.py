"""Whether moving invariants pays: the real tool's one formula, in exact arithmetic.

    score · budget / (real · size) ≥ penalty

score     what leaves, operations of long latency counting many times over
budget    how generous the instance is
size      of the block: what the saving is a share of
penalty   the registers that it takes

Two policies fill it in, both block by block: `documented` in hoist/stages.py, `observed` in
hoist/decide.py.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import ClassVar

import attrs

from nvir.analysis.hoisting.nest import is_fetch
from nvir.ir.opcodes.form import Form

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
    TOLD: ClassVar = ("pays",)  # in a trace, beside the fields

    @property
    def value(self) -> Fraction | float:
        """The left side of the test; 0 where there is no size to divide by."""
        if self.budget is None:
            return math.inf if self.score else 0.0
        return Fraction(*self._ratio(self.budget))

    def _ratio(self, budget: Exact) -> tuple[int, int]:
        """The left side as two integers: fractions are slow."""
        top, bottom = self.score * budget.numerator, self.real * self.size.numerator
        if not bottom:
            return top, budget.denominator
        return top * self.size.denominator, bottom * budget.denominator

    @property
    def pays(self) -> bool:
        if not self.size or self.why:
            return False
        if self.budget is None:
            return self.value >= self.penalty
        top, bottom = self._ratio(self.budget)
        return top >= self.penalty * bottom

    def numbers(self) -> dict[str, float]:
        """The fields of a remark."""
        if self.budget is None or not self.score:
            value = float(self.value)
        else:
            top, bottom = self._ratio(self.budget)
            value = top / bottom
        return {
            "score": self.score, "real": self.real,
            "size": round(float(self.size), 3), "value": round(value, 3),
            "penalty": self.penalty,
            "budget": math.inf if self.budget is None else float(self.budget),
        }


@functools.cache
def has_long_latency(form: Form) -> bool:
    """Whether a result comes from beyond the caches of the core: global loads and fetches."""
    if is_fetch(form):
        return True
    return form.name == "ld" and form.space in ("global", "")
