"""What is the same in every thread of a warp and made by the uniform datapath.

Cost    linear in the readers of what is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.assembler.regalloc.facts import facts_of
from nvir.ir.instruction import Instruction
from nvir.ir.opcodes import OpKind
from nvir.ir.values import Constant, Value

if TYPE_CHECKING:
    from nvir.assembler.regalloc.lowering.lower import Lowering

_INDEXED = (OpKind.MULTIPLY, OpKind.COMPARE, OpKind.SUM)
_WORDWISE = (OpKind.SUM, OpKind.MULTIPLY, OpKind.LOGIC, OpKind.SHIFT)


class Uniform:
    """That of one lowering. `words`: whether a value is in the constant bank, or made of such."""

    def __init__(self, lowering: Lowering) -> None:
        self.ids, self.root = lowering.ids, lowering.root
        self.words: dict[Value, bool] = {}

    def is_uniform(self, i: Instruction) -> bool:
        """Whether all that an integer operation reads is the same in every thread, and all that
        read it can name a uniform register."""
        ids = self.ids
        if any(v.is_tracked and ids.get(v, 0) >= 0 for v in i._operands):
            return False
        return all(self._names(i, u) for u in i.users)

    def _names(self, i: Instruction, user: Instruction) -> bool:
        """Whether an operation can read a uniform register. Arithmetic on words of 32 bits that
        more of it reads is done in vector registers, but for products of products."""
        facts = facts_of(user.form)
        if not facts.names_uniform:
            return facts.pairs
        if user.form.kind is OpKind.COMPARE and i.form.kind is OpKind.SUM and any(
            isinstance(r := self.root.get(v, v), Constant) and r.value for v in user._operands
        ):
            return False  # it has a literal already
        if user.form.kind not in _WORDWISE or user.type.bits != 32 or not facts.uniform:
            return True
        if user.form.kind is i.form.kind is OpKind.MULTIPLY:
            return True
        return any(v.is_tracked and not self.of_words(v) for v in user._operands)

    def of_words(self, v: Value) -> bool:
        """Whether a value is in the constant bank, or arithmetic on such words."""
        known = self.words.get(v)
        if known is None:
            self.words[v] = False
            if v in self.ids:
                known = self.ids[v] < 0
            else:
                made = v.definer
                known = made is not None and facts_of(made.form).uniform and all(
                    not o.is_tracked or self.of_words(o) for o in made._operands)
            self.words[v] = known
        return known


def index_is_uniform(i: Instruction) -> bool:
    """Whether all that reads an index of the block is 64-bit arithmetic of the uniform datapath."""
    for u in i.users:
        if u.form.kind is not OpKind.CONVERT or u.type.bits != 64 or u.form.guard is not None:
            return False
        for w in u.users:
            t = w.form.type
            if t is None or t.bits != 64 or w.form.kind not in _INDEXED or w.form.guard is not None:
                return False
    return True
