"""Which bits of an integer are known to be zero.

    and i32 %x, 15          the upper 28
    zext i8 %x to i32       the upper 24
    %tid.x                  the upper 22: no block has more than 1024 threads

What an intrinsic gives at most is said in its row (nvir.ir.intrinsics), a range of an argument or
a call by its attribute.
"""

from __future__ import annotations

from nvir.analysis.callees import intrinsic
from nvir.analysis.promises import most
from nvir.ir import Argument, Constant, Instruction, IntType, OpKind, Value

MAX_DEPTH = 4


class KnownBits:
    """Masks of zero bits, kept for a run of a pass that replaces values by equal ones only."""

    def __init__(self) -> None:
        self.found: dict[Instruction, int] = {}

    def disjoint(self, x: Value, y: Value) -> bool:
        """Whether no bit can be set in both of two integers of one type."""
        return self.zeros(x) | self.zeros(y) == (1 << x.type.bits) - 1

    def zeros(self, v: Value, depth: int = 0) -> int:
        """A mask of the bits that are zero whenever the value is no poison."""
        t = v.type
        if t.__class__ is not IntType:
            return 0
        if v.__class__ is Constant:
            x = v.value
            return ~x & (1 << t.bits) - 1 if x.__class__ is int else 0
        if v.__class__ is Argument:
            return _high(t.bits, most(v, t.bits).bit_length())
        if v.__class__ is not Instruction:
            return 0
        known = self.found.get(v)
        if known is not None:
            return known
        name = v.form.name
        if name == "call":
            made = _of_call(v, t.bits)
        else:
            rule = _RULES.get(name)
            if rule is None:
                return 0
            if depth >= MAX_DEPTH:
                return 0
            made = rule(self, v, depth + 1, t.bits) & (1 << t.bits) - 1
        self.found[v] = made
        return made

    def most(self, v: Value, bits: int) -> int:
        """How many bits an integer of `bits` bits has at most."""
        return _most(self.zeros(v), bits)


def _of_call(i: Instruction, bits: int) -> int:
    row = intrinsic(i)
    if row is None or not row.bits:
        return _high(bits, most(i, bits).bit_length())
    return _high(bits, row.bits if row.bits > 0 else bits.bit_length())


def _high(bits: int, n: int) -> int:
    """The upper bits from `n` on."""
    return ((1 << bits) - 1) & (-1 << n)


def _most(zeros: int, bits: int) -> int:
    """How many bits a number has at most."""
    return (((1 << bits) - 1) & ~zeros).bit_length()


def _zext(k: KnownBits, i: Instruction, depth: int, bits: int) -> int:
    x = i.operands[0]
    return k.zeros(x, depth) | _high(bits, x.type.bits)


def _trunc(k: KnownBits, i: Instruction, depth: int, bits: int) -> int:
    return k.zeros(i.operands[0], depth)


def _sext(k: KnownBits, i: Instruction, depth: int, bits: int) -> int:
    x = i.operands[0]
    zeros = k.zeros(x, depth)
    return zeros | _high(bits, x.type.bits) if zeros >> (x.type.bits - 1) & 1 else zeros


def _and(k: KnownBits, i: Instruction, depth: int, bits: int) -> int:
    return k.zeros(i.operands[0], depth) | k.zeros(i.operands[1], depth)


def _or(k: KnownBits, i: Instruction, depth: int, bits: int) -> int:
    return k.zeros(i.operands[0], depth) & k.zeros(i.operands[1], depth)


def _clear(zeros: int) -> int:
    """How many of the lowest bits are zero."""
    return (~zeros & zeros + 1).bit_length() - 1


def _add(k: KnownBits, i: Instruction, depth: int, bits: int) -> int:
    x, y = [k.zeros(v, depth) for v in i.operands]
    high = _high(bits, max(_most(x, bits), _most(y, bits)) + 1)
    return high | (1 << min(_clear(x), _clear(y))) - 1


def _phi(k: KnownBits, i: Instruction, depth: int, bits: int) -> int:
    """A counter has the low bits clear that its start and its step have."""
    values = i.operands
    for start, after in zip(values, reversed(values), strict=True) if len(values) == 2 else ():
        if isinstance(after, Instruction) and after.form.kind is OpKind.SUM:
            x, step = after.operands
            if x is i and isinstance(step, Constant):
                return (1 << min(_clear(k.zeros(start, depth)), _clear(k.zeros(step)))) - 1
    return 0


def _mul(k: KnownBits, i: Instruction, depth: int, bits: int) -> int:
    a, b = (_most(k.zeros(x, depth), bits) for x in i.operands)
    return _high(bits, a + b)


def _shl(k: KnownBits, i: Instruction, depth: int, bits: int) -> int:
    n = i.operands[1]
    if not isinstance(n, Constant) or not 0 <= n.value < bits:
        return 0
    by: int = n.value
    return k.zeros(i.operands[0], depth) << by | (1 << by) - 1


def _lshr(k: KnownBits, i: Instruction, depth: int, bits: int) -> int:
    n = i.operands[1]
    zeros = k.zeros(i.operands[0], depth)
    if not isinstance(n, Constant) or not 0 <= n.value < bits:
        return _high(bits, _most(zeros, bits))
    by: int = n.value
    return zeros >> by | _high(bits, bits - by)


def _udiv(k: KnownBits, i: Instruction, depth: int, bits: int) -> int:
    most = _most(k.zeros(i.operands[0], depth), bits)
    d = i.operands[1]
    if isinstance(d, Constant) and d.value > 0:
        most = min(most, (((1 << most) - 1) // d.value).bit_length())
    return _high(bits, most)


def _urem(k: KnownBits, i: Instruction, depth: int, bits: int) -> int:
    most = _most(k.zeros(i.operands[0], depth), bits)
    d = i.operands[1]
    if isinstance(d, Constant) and d.value > 0:
        return _high(bits, min(most, (d.value - 1).bit_length()))
    return _high(bits, min(most, _most(k.zeros(d, depth), bits)))


def _select(k: KnownBits, i: Instruction, depth: int, bits: int) -> int:
    return k.zeros(i.operands[1], depth) & k.zeros(i.operands[2], depth)


_RULES = {
    "phi": _phi,
    "zext": _zext, "trunc": _trunc, "sext": _sext, "and": _and, "or": _or, "xor": _or, "add": _add,
    "mul": _mul, "shl": _shl, "lshr": _lshr, "udiv": _udiv, "urem": _urem, "select": _select,
}
