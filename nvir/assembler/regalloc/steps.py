"""Divisions of 32-bit integers and products of 64 bits as the operations that they are: others run
between them.

Source   SASS of ptxas 13.0.88 at sm_80 and sm_90: the reciprocal in floats, one Newton step, the
         quotient by its high product, and corrections by what is left.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nvir.assembler.regalloc.code import Code, Op
from nvir.assembler.regalloc.facts import facts_of, one_sum, only_sums
from nvir.assembler.regalloc.tables import ALU, ISSUE, ISSUE_SLOW, SPECIAL
from nvir.ir.block import Block
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.opcodes import OpKind
from nvir.ir.values import Constant, SymbolOffset, Value

if TYPE_CHECKING:
    from nvir.assembler.regalloc.lowering.lower import Lowering

# Family, result, sources: a and b are the operands, = is the result, p, o, d, g, h predicates.
_RECIPROCAL = """
    I2F t b; MUFU u t; IADD3 v u; F2I w v; MOV x w; IMAD y x b; MOV z; IMAD.HI q w y z"""
_LEFT = "IMAD.HI k q a; MOV l k; IMAD r l b a; ISETP p r b; IADD3 s r b p"
_SIGNED_LEFT = "IABS e B; IADD3 l e; IMAD.HI k q a; IMAD r k l a; ISETP p r b; IADD3 s r b p"
_QUOTIENT = "IADD3 m k p; ISETP o s b; IADD3 n m o"
_REST = "ISETP o s b; IADD3 n s b o"
_SIGNS = {True: "ISETP d g; MOV i n d", False: "MOV i n g"}  # of a quotient, of a rest
_BY_ZERO = "ISETP h B; LOP3 = {} h B"
_BY_ZERO_AGAIN = "ISETP h B; LOP3 c B; SEL = c {} h"  # what is given then is made once
_PREDICATES = "podgh"
_SLOW = ("I2F", "MUFU", "F2I")


def _program(quotient: bool, signed: bool, shares: bool) -> tuple[tuple[str, ...], ...]:
    start = "IABS b B; IABS a A; LOP3 g A B" if signed and quotient else ""
    if signed and not quotient:
        start = "IABS b B; IABS a A; ISETP g A"
    middle = _QUOTIENT if quotient else _REST
    end = (_BY_ZERO_AGAIN if shares else _BY_ZERO).format("i" if signed else "n")
    left = _SIGNED_LEFT if signed and not shares else _LEFT
    text = ";".join((start, _RECIPROCAL.strip().replace("\n", ";"), left, middle,
                     _SIGNS[quotient] if signed else "", end))
    return tuple(tuple(step.split()) for step in text.split(";") if step.strip())


_PROGRAMS = {way: _program(*way) for way in itertools.product((False, True), repeat=3)}


def _identity(v: Value) -> object:
    """What a value is told by: two loads of one parameter are one."""
    made = v.definer
    if made is None or made.form.name != "ld" or not made.form.space.startswith("param"):
        return v
    at = made._operands[0]
    return (at.symbol, at.offset) if isinstance(at, SymbolOffset) else at


class Divisions:
    """The 32-bit divisions of a function. What one makes of its operands, those behind it that it
    dominates read: the reciprocal of a divisor, and all that leads to quotient and rest."""

    def __init__(self, function: Function) -> None:
        self.made: dict[tuple[object, ...], list[tuple[Block, int]]] = {}
        self.by: dict[tuple[object, str], list[Block]] = {}  # divisor and kind -> where
        for i in function.instructions():
            if facts_of(i.form).steps and i.block is not None:
                self.by.setdefault(self._divisor(i), []).append(i.block)

    def _divisor(self, i: Instruction) -> tuple[object, str]:
        return _identity(i._operands[1]), i.form.type.kind if i.form.type is not None else ""

    def shares(self, i: Instruction) -> bool:
        """Whether another one by this divisor dominates a division, or is dominated by it."""
        others, here = self.by[self._divisor(i)], i.block
        return here is not None and sum(b.dominates(here) or here.dominates(b) for b in others) > 1

    def operations(self, i: Instruction, a: int, b: int, result: int, code: Code) -> list[Op]:
        """The operations of a `div` or `rem`; operands and result are values, -1 a literal or a
        word of the constant bank."""
        here = i.block
        assert here is not None
        signed = self._divisor(i)[1] == "s"
        known = {"a": a, "b": b, "A": a, "B": b, "=": result}
        v, w = map(_identity, i._operands[:2])
        same: dict[str, object] = {"a": v, "A": v, "b": w, "B": w}
        ops = []
        for family, to, *sources in _PROGRAMS[i.form.name == "div", signed, self.shares(i)]:
            key = (to, signed, *(same.get(s, known[s]) for s in sources))
            before = next((k for at, k in self.made.get(key, ()) if at.dominates(here)), None)
            same.pop(to, None)
            if before is not None and to != "=":
                known[to] = before
                continue
            read = tuple(dict.fromkeys(k for s in sources if (k := known[s]) >= 0))
            if to != "=":
                known[to] = code.value(0 if to in _PREDICATES and family == "ISETP" else 1)
                self.made.setdefault(key, []).append((here, known[to]))
            latency, issue = (SPECIAL, ISSUE_SLOW) if family in _SLOW else (ALU, ISSUE)
            ops.append(Op((known[to],), read, i, latency=latency, issue=issue, family=family))
            if to == "q":  # what it adds is a pair: zero and the reciprocal
                ops[-1].tuples = ((known["z"], known["w"]),)
        return ops


# ------------------------------------------------------------------ 64-bit products

ZERO = -2  # a word that is known to be zero


class WideProduct:
    """A 64-bit product that is made where it is read: by IMAD.WIDE, to which a sum is free.

    a, b    the low and the high word of each operand: a value, -1 (none needed) or ZERO
    factor  the second operand, if that has no register
    cross   what is added to the high word, once it is made; ZERO: nothing
    """

    __slots__ = ("a", "b", "cross", "factor", "inline", "parent")

    def __init__(
        self, i: Instruction, a: tuple[int, int], b: tuple[int, int], factor: Value | None
    ) -> None:
        self.parent, self.a, self.b, self.factor = i, a, b, factor
        whole = i.form.name == "mul" and "wide" in i.form.mods
        self.cross: int | None = ZERO if whole else None
        literal = isinstance(factor, Constant)
        self.inline = not whole and not literal and (a[1] == ZERO) != (b[1] == ZERO)

    def make_cross(self, i: Instruction, code: Code, ops: list[Op]) -> int:
        """The products of a high and a low word; -1 where there are none but it is added anyway."""
        if self.cross is not None:
            return self.cross
        made = -1
        for high, low in ((self.a[1], self.b[0]), (self.b[1], self.a[0])):
            if high != ZERO:
                k = code.value(1)
                ops.append(_op(k, (high, low, made), i, "IMAD"))
                made = k
        self.cross = made
        return made


_WORD, _ONES = 32, (1 << 32) - 1
_BY_WORDS = (
    OpKind.SUM, OpKind.MULTIPLY, OpKind.COMPARE, OpKind.CONVERT, OpKind.LOGIC, OpKind.SHIFT,
    OpKind.SELECT, OpKind.EXTREMUM, OpKind.DIVIDE,
)


def reads_words(user: Instruction) -> bool:
    """Whether the words of a 64-bit operand may stand apart."""
    f = user.form
    return f.guard is None and not f.is_phi and f.kind in _BY_WORDS


def _neutral(i: Instruction, v: Value, high: int) -> bool:
    """Whether a high word leaves the other one of a logical operation as it is."""
    if i.form.kind is not OpKind.LOGIC:
        return False
    if i.form.name != "and":
        return high == ZERO
    return isinstance(v, Constant) and int(v.value) >> _WORD & _ONES == _ONES


def _op(result: int, sources: Sequence[int], i: Instruction, family: str) -> Op:
    read = tuple(dict.fromkeys(k for k in sources if k >= 0))
    return Op((result,), read, i, latency=ALU, family=family)


def product_sum(
    p: WideProduct, addend: tuple[int, ...], factor: int, i: Instruction, code: Code, ops: list[Op]
) -> tuple[int, int]:
    """Make a product, plus an addend (its values; none: zero), for an instruction: the value, and
    what its high word lacks, or ZERO."""
    wide = code.value(2)
    low = (p.a[0], p.b[0], factor, *addend)
    if p.inline and p.cross is None and p.parent.use_count <= 1:
        ops.append(_op(wide, low, i, "IMAD.WIDE"))
        rest = (p.a[0], p.b[1]) if p.b[1] != ZERO else (p.a[1], p.b[0])
        return _finish(wide, rest, i, "IMAD", code, ops), ZERO
    cross = p.make_cross(i, code, ops)
    ops.append(_op(wide, low, i, "IMAD.WIDE"))
    if len(addend) == 2 and code.widths[addend[0]] == 1:
        ops[-1].tuples = (addend,)
    return wide, cross


def _finish(
    wide: int, rest: Sequence[int], i: Instruction, family: str, code: Code, ops: list[Op]
) -> int:
    """The high word of a product where more is added to it: in place."""
    result = code.value(2)
    ops.append(_op(result, (wide, *rest), i, family))
    code.hints[result] = wide
    code.apart.add(result)
    return result


def add_cross(wide: int, cross: int, i: Instruction, code: Code, ops: list[Op]) -> int:
    """A product whose high word is complete."""
    return wide if cross == ZERO else _finish(wide, (cross,), i, "IADD3", code, ops)


class LongArithmetic:
    """64-bit products and sums of one lowering."""

    def __init__(self, lowering: Lowering) -> None:
        self.lowering, self.code, self.ids = lowering, lowering.code, lowering.ids
        self.inner, self.parts = lowering.inner, lowering.parts
        self.products: dict[Value, WideProduct] = {}  # which sums make
        self.highs: dict[Value, tuple[int, ...]] = {}  # of what sums make IMAD.HI

    def words(self, v: Value) -> tuple[int, int]:
        """The low and the high word: the value each is in, -1 where none is needed, or ZERO."""
        if isinstance(v, Constant) and isinstance(v.value, int):
            return -1, -1 if v.value >> 32 else ZERO
        made = v.definer
        if v.type.bits == 32:
            return self.lowering.home(v), ZERO
        if made is not None and made.form.kind is OpKind.CONVERT and made.form.guard is None:
            word = made._operands[0]
            if word.type.bits <= 32 and made.form.mods[-1].startswith("u"):
                return self.lowering.home(word), ZERO
        if v in self.inner:
            found = self.inner[v]
            return found[0], ZERO if v in self.parts and len(found) == 1 else found[-1]
        k = self.ids.get(v, -1)
        return k, k

    def by_words(self, i: Instruction, ops: list[Op]) -> bool:
        """Make the words of a 64-bit result apart, where all that read it take words: a word that
        is known to be zero takes nothing."""
        if i in self.lowering.low or not i.use_count or not all(map(reads_words, i.users)):
            return False
        if any(v in self.inner and v not in self.parts for v in i._operands):
            return False
        if i.form.kind is OpKind.SHIFT:
            made = self._shift(i, ops)
        else:
            made = self._words_of(i, ops)
        if made is None:
            return False
        self.inner[i] = made if made[1] != ZERO else made[:1]
        self.parts.add(i)
        return True

    def _words_of(self, i: Instruction, ops: list[Op]) -> tuple[int, int] | None:
        """The words of a sum, a logical operation or a select."""
        f, values = i.form, i._operands[:2]
        select = [self.ids.get(v, -1) for v in i._operands[2:]]
        lows, highs = zip(*map(self.words, values), strict=True)
        if f.kind is OpKind.SUM:
            low = self._word(i, lows, "IADD3", ops)
            return low, self._word(i, highs, "IADD3.X", ops)
        if ZERO in highs and len(highs) == 1:
            return None
        family = "SEL" if select else "LOP3"
        low = self._word(i, (*lows, *select), family, ops)
        if set(highs) == {ZERO} or (ZERO in highs and f.name == "and"):
            return low, ZERO
        kept = [(k, at) for v, k, at in zip(values, highs, lows, strict=True)
                if not _neutral(i, v, k)]
        if len(kept) == 1 < len(highs) and 0 <= kept[0][0] != kept[0][1]:
            return low, kept[0][0]
        return low, self._word(i, (*(k for k, _ in kept), *select), family, ops)

    def _word(self, i: Instruction, sources: Sequence[int], family: str, ops: list[Op]) -> int:
        k = self.code.value(1)
        ops.append(_op(k, sources, i, family))
        return k

    def _shift(self, i: Instruction, ops: list[Op]) -> tuple[int, int] | None:
        """The words of a shift to the right by a literal."""
        n = i._operands[1]
        low, high = self.words(i._operands[0])
        if not isinstance(n, Constant) or i.form.name != "shr" or low < 0:
            return None
        signed = i.type.name.startswith("s") or "s64" in i.form.mods
        if int(n.value) < 32:
            first = self._word(i, (low, high), "SHF", ops)
            return first, ZERO if high == ZERO else self._word(i, (high,), "SHF", ops)
        if high == ZERO:
            return None
        first = self._word(i, (high,), "SHF", ops)
        if not signed:
            return first, ZERO
        return first, first if int(n.value) == 63 else self._word(i, (high,), "SHF", ops)

    def multiplies(self, i: Instruction, ops: list[Op]) -> bool:
        """Make a product of 64 bits, or leave it to the sums that read it."""
        if i in self.lowering.low or i.type.bits != 64:
            return False
        v, w = i._operands[:2]
        a, b = self.words(v), self.words(w)
        if a[0] < 0:
            a, b, v, w = b, a, w, v
        if a[0] < 0:
            return self._scales_parameter(i)
        root = self.lowering.root
        p = WideProduct(i, a, b, None if b[0] >= 0 else root.get(w, w))
        if len(i._operands) == 2 and only_sums(i) and not self.lowering.low.intersection(i.users):
            self.products[i] = p
            self.ids[i] = a[0]
            if i.use_count > 1:
                p.make_cross(i, self.code, ops)
            return True
        addend: tuple[int, ...] = ()
        factor = -1
        if len(i._operands) > 2:
            addend, factor = self.addend(i._operands[2], p, i, ops)
        self.ids[i] = self.finish(p, addend, factor, i, ops)
        return True

    def keeps_high(self, i: Instruction) -> bool:
        """Whether the sum that reads a high word makes it as well (IMAD.HI adds a pair)."""
        if i.use_count != 1 or any(v in self.inner for v in i._operands):
            return False
        (user,) = i.users
        f = user.form
        if user.block is not i.block or f.name != "add" or f.guard is not None:
            return False
        other = [v for v in user._operands if v is not i]
        if len(other) != 1 or other[0] in self.inner or self.ids.get(other[0], -1) < 0:
            return False
        self.highs[i] = tuple(k for v in i._operands if (k := self.ids.get(v, -1)) >= 0)
        return True

    def adds_high(self, i: Instruction, ops: list[Op]) -> bool:
        """Make a high word and what it is added to, which stands above a zero."""
        found = [v for v in i._operands if v in self.highs]
        if not found:
            return False
        (other,) = (self.ids[v] for v in i._operands if v is not found[0])
        zero = self._word(i, (), "MOV", ops)
        if self.code.widths[other] != 1:
            other = self._word(i, (other,), "MOV", ops)
        self.ids[i] = self._word(i, (*self.highs[found[0]], zero, other), "IMAD.HI", ops)
        ops[-1].tuples = ((zero, other),)
        return True

    def _scales_parameter(self, i: Instruction) -> bool:
        """Whether a literal multiple of a parameter is made by the sums with registers."""
        w = i._operands[1]
        if not isinstance(w, Constant) or "wide" not in i.form.mods or not only_sums(i):
            return False
        self.ids[i] = -1
        self.products[i] = WideProduct(i, (-1, ZERO), (-1, ZERO), w)
        return True

    def finish(
        self, p: WideProduct, addend: tuple[int, ...], factor: int, i: Instruction, ops: list[Op]
    ) -> int:
        wide, cross = product_sum(p, addend, factor, i, self.code, ops)
        return add_cross(wide, cross, i, self.code, ops)

    def addend(
        self, v: Value, p: WideProduct, i: Instruction, ops: list[Op]
    ) -> tuple[tuple[int, ...], int]:
        """What a product is added to, in registers, and one for its factor where that needs one."""
        lowering = self.lowering
        known = self.inner[v] if v in self.inner else (self.ids.get(v, -1),)
        scaled = p.a[0] < 0 and not lowering.late  # the literal takes a register
        if known[0] >= 0:
            if len(known) == 1 and self.code.widths[known[0]] == 1:  # zeros in front
                zero = self.code.value(1)
                ops.append(_op(zero, (), i, "MOV"))
                known = (known[0], zero)
            elif known[0] in self.code.apart and v.definer is not None and (
                    v.definer.block is not i.block):
                self.code.padded.add(known[0])
                known = (known[0], self._word(i, known, "MOV", ops))  # to make it a pair again
            return known, self._factor(p, i, ops) if scaled else -1
        if isinstance(v, Constant) or p.factor is None:
            return (), -1
        if lowering.late and not lowering.is_computed(v):
            return (lowering.constants.load(v, 0, 2, i, ops),), -1
        return (), self._factor(p, i, ops)

    def _factor(self, p: WideProduct, i: Instruction, ops: list[Op]) -> int:
        """The low word of an operand that has no register, in one."""
        if isinstance(p.factor, Constant):
            return self.lowering.constants.load(None, p.factor.value, 1, i, ops)
        whole = p.factor is not None and p.factor.type.bits == 64
        return self.lowering.constants.load(p.factor, 0, 2 if whole else 1, i, ops)

    def adds(self, i: Instruction, ops: list[Op]) -> bool:
        """Make a 64-bit sum that takes a product or an index over, or leave a plain one to the
        sum that alone reads it (IADD3 has three operands)."""
        if i in self.lowering.low:
            return False
        made = [v for v in i._operands if v in self.products]
        if not made:
            return self._joins(i)
        product = made[0]
        base = i._operands[1] if i._operands[0] is product else i._operands[0]
        p = self.products[product]
        if base in self.products:
            q = self.products[base]
            addend: tuple[int, ...] = (self.finish(q, (), -1, q.parent, ops),)
            factor = -1
        else:
            addend, factor = self.addend(base, p, i, ops)
        wide, cross = product_sum(p, addend, factor, i, self.code, ops)
        if cross != ZERO and self._reader(i, cross >= 0) is not None:
            self.inner[i] = (wide, cross) if cross >= 0 else (wide,)
        else:
            self.ids[i] = add_cross(wide, cross, i, self.code, ops)
        return True

    def _joins(self, i: Instruction) -> bool:
        """Whether a plain sum becomes part of the one that reads it."""
        if self._reader(i) is None or self.takes(i):
            return False
        found: list[int] = []
        for v in i._operands:
            if v in self.inner and v not in self.parts:
                return False
            found += self.inner.get(v, (self.ids.get(v, -1),))
        known = [k for k in found if k >= 0]
        if len(known) < len(found) - 1 or not known:
            return False
        self.inner[i] = tuple(dict.fromkeys(known))
        return True

    def _reader(self, i: Instruction, bank: bool = False) -> Instruction | None:
        """The plain sum that alone reads a sum and has room for a third operand; `bank`: its other
        operand may be a word of the constant bank."""
        if not one_sum(i):
            return None
        (user,) = i.users
        if user in self.lowering.low or self.takes(user):
            return None
        for v in user._operands:
            if v is i:
                continue
            if (v in self.inner and v not in self.parts) or not v.is_tracked:
                return None
            if self.ids.get(v, 0) < 0 and not bank:
                return None
        return user

    def takes(self, i: Instruction) -> bool:
        """Whether a sum is the IMAD.WIDE or LEA of one of its operands."""
        for v in i._operands:
            made = v.definer
            if v in self.products or made is None:
                if v in self.products:
                    return True
                continue
            f = made.form
            if f.guard is not None or not only_sums(made):
                continue
            if facts_of(f).product or (f.name == "shl" and one_sum(made)):
                return True
        return False
