"""Instructions whose result needs no register of its own: parameters and copies, words of a value,
what an access adds or a sum scales.

Cost    constant for each reader of an instruction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.assembler.regalloc.code import Op, width_of
from nvir.assembler.regalloc.facts import is_extended, one_sum, only_low_words, only_sums
from nvir.assembler.regalloc.lowering.uniform import index_is_uniform
from nvir.assembler.regalloc.steps import reads_words
from nvir.assembler.regalloc.tables import ALU
from nvir.assembler.regalloc.words import takes_sign
from nvir.ir.instruction import Instruction
from nvir.ir.opcodes import OpKind
from nvir.ir.values import Constant, SpecialRegister, Value

if TYPE_CHECKING:
    from nvir.assembler.regalloc.lowering.lower import Lowering


class Folds:
    """The rules of one lowering (`Facts.rule`)."""

    def __init__(self, lowering: Lowering) -> None:
        self.lowering, self.code = lowering, lowering.code
        self.ids, self.inner = lowering.ids, lowering.inner
        self.parts, self.root = lowering.parts, lowering.root

    def takes(self, i: Instruction, rule: str, ops: list[Op]) -> bool:
        """Whether an instruction makes nothing that needs a register of its own."""
        ids = self.ids
        v = i._operands[0]
        if rule == "parameter":
            if i.form.space == "const":  # a constant address: the word is an operand
                fits = not v.is_tracked
            else:
                fits = self.lowering.kernel
            if fits:
                for r in i.results:
                    ids[r] = -1
            return fits
        if rule == "copy":
            if len(i._operands) == 2:
                return self._pairs(i)
            return len(i._operands) == 1 and self._copies(i, v)
        home = ids.get(v, -1)
        if rule == "word":
            if home >= 0 and is_extended(i, v):
                ids[i] = home
            return i in ids
        if rule == "low":
            if home < 0 and v in ids and v not in self.inner:
                ids[i] = -1  # a word of the constant bank, or of a uniform register
                self.root[i] = self.root.get(v, v)
            elif v in self.parts:
                ids[i] = self.inner[v][0]
            elif home >= 0 and (v.use_count > 1 or self.code.widths[home] == 1):
                ids[i] = home
            return i in ids
        if rule == "sign":
            if not takes_sign(i) or (home < 0 and v not in self.inner):
                return False
            if home >= 0:
                ids[i] = home
            else:
                self.inner[i] = self.inner[v]
            return True
        if i in self.lowering.low:
            if home < 0 and rule == "offset" and not any(
                o.is_tracked and ids.get(o, 0) >= 0 for o in i._operands
            ):
                ids[i] = -1  # the stack pointer and a literal
                return True
            if home >= 0 and rule == "wide" and i.form.kind is OpKind.CONVERT:
                ids[i] = home
                return True
        if rule == "wide" and i.form.name == "shl":
            return (home >= 0 or v in self.inner) and self._scales(i, v, ops)
        if home < 0:
            return False
        if rule == "wide":
            if "u32" in i.form.mods[1:]:
                fits = only_sums(i) or only_low_words(i)
            else:
                fits = one_sum(i) and not any(map(self.lowering.long.takes, i.users))
            if not fits:
                return self._extends(i, home, ops)
        else:
            other = self.lowering.displaced.home(i)
            home = ids.get(other, -1) if other is not None else -1
            fits = home >= 0
        if fits:
            ids[i] = home
        return fits

    def _scales(self, i: Instruction, v: Value, ops: list[Op]) -> bool:
        """A scaled index: the one sum that reads it does that (LEA), or it is made by words."""
        if not isinstance(i._operands[1], Constant):
            return False
        low, high = self.lowering.long.words(v)
        if one_sum(i):
            self.inner[i] = tuple(dict.fromkeys(k for k in (low, high) if k >= 0))
            return True
        if not all(reads_words(u) for u in i.users):
            return False
        made = self.code.value(1), self.code.value(1)
        ops.append(Op((made[0],), (low,), i, latency=ALU, family="SHF"))
        sources = tuple(dict.fromkeys(k for k in (low, high) if k >= 0))
        ops.append(Op((made[1],), sources, i, latency=ALU, family="SHF"))
        self.inner[i] = made
        self.parts.add(i)
        return True

    def _extends(self, i: Instruction, home: int, ops: list[Op]) -> bool:
        """A word made wide: itself and a register with its sign, or none with zeros."""
        if not all(reads_words(u) for u in i.users) or self.code.widths[home] != 1:
            return False
        self.inner[i] = (home,)
        self.parts.add(i)
        if "u32" not in i.form.mods[1:]:
            sign = self.code.value(1)
            ops.append(Op((sign,), (home,), i, latency=ALU, family="SHF"))
            self.inner[i] = (home, sign)
        return True

    def _pairs(self, i: Instruction) -> bool:
        """Two registers as one value: where they are read no register but theirs is needed."""
        found = tuple(self.ids.get(v, -1) for v in i._operands)
        widths = self.code.widths
        if i.type.bits != 64 or any(k < 0 or widths[k] != 1 for k in found):
            return False
        if any(u.form.is_phi for u in i.users):
            return False
        self.inner[i] = found
        self.parts.add(i)
        return True

    def _copies(self, i: Instruction, v: Value) -> bool:
        """A copy: of a constant, of what is in the constant bank, or of a register as wide."""
        ids = self.ids
        if v.is_tracked:
            if v in self.inner:
                return False
            home = ids.get(v)
            wide = 1 if i in self.lowering.low else width_of(i.type)
            if home is None or (home >= 0 and self.code.widths[home] != wide):
                return False
            ids[i] = home
            if home < 0:
                self.root[i] = self.root.get(v, v)
            return True
        if isinstance(v, SpecialRegister):
            name = str(v.name)
            if not name.startswith(("%ntid", "%nctaid")) and not (
                self.lowering.late and name.startswith("%ctaid") and index_is_uniform(i)
            ):
                return False
        ids[i] = -1
        self.root[i] = self.root.get(v, v)
        return True
