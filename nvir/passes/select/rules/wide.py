"""Shifts, division and conversions of integers of 65 to 128 bits, as two registers of 64.

Shifts compute both cases, below 64 and from there on, and select; PTX's shifts give
0 (or signs) for amounts of the width and more, which makes the edges right. Division has no
instruction: a loop shifts the dividend through a remainder, one bit a turn, from its highest on.

To a float: the magnitude is shifted to the top of 128 bits; of the 64 highest the last one also
tells whether anything below is not zero, so that their conversion rounds as the whole would;
a power of two brings the result back to its place. From a float: the integer above 2^64, and the
rest, which is exact.
"""

from __future__ import annotations

from nvir.ir.block import NOUNROLL
from nvir.ir.types import B64, SCALARS, U32, Type
from nvir.ir.values import Value, constant, integer
from nvir.passes.select.rules.integer import chained, halves
from nvir.passes.select.selector import Parts, Selector


def shift(s: Selector, t: Type, name: str, x: Parts, n: Value) -> Parts:
    """`name` (shl, lshr, ashr) of a pair by `n`, 32 bits."""
    far = s.op("setp.gt.u32", s.reg(n, "b32"), 63)
    back = s.op("sub.s32", 64, n)
    beyond = s.op("add.s32", n, -64)
    if name == "shl":
        low, high = x
        near_high = s.op("or.b64", s.op("shl.b64", high, n), s.op("shr.u64", low, back))
        far_high = s.op("shl.b64", low, beyond)
        return s.op("shl.b64", low, n), s.op("selp.b64", far_high, near_high, far)
    kind = "s" if name == "ashr" else "u"
    low, high = halves(s, t, x, "s" if name == "ashr" else "z")
    near_low = s.op("or.b64", s.op("shr.u64", low, n), s.op("shl.b64", high, back))
    far_low = s.op(f"shr.{kind}64", high, beyond)
    return s.op("selp.b64", far_low, near_low, far), s.op(f"shr.{kind}64", high, n)


def negated(s: Selector, x: Parts) -> Parts:
    low, carry = chained(s, "sub.cc.u64", integer(0), x[0])
    return low, chained(s, "subc.u64", integer(0), x[1], carry)[0]


def below(s: Selector, a: Parts, b: Parts, kind: str, or_equal: bool = False) -> Value:
    """a < b (or a <= b) of pairs; `kind` "u" or "s" is that of the high halves."""
    low = s.op(f"setp.{'le' if or_equal else 'lt'}.u64", s.reg(a[0], "b64"), b[0])
    high = s.op(f"setp.lt.{kind}64", s.reg(a[1], "b64"), b[1])
    same = s.op("setp.eq.b64", s.reg(a[1], "b64"), b[1])
    return s.op("or.pred", high, s.op("and.pred", same, low))


def choose(s: Selector, p: Value, a: Parts, b: Parts) -> Parts:
    return tuple(s.op("selp.b64", x, y, p) for x, y in zip(a, b, strict=True))


def divide(s: Selector, t: Type, a: Parts, b: Parts, is_signed: bool, what: str) -> Parts:
    """`what` "div" or "rem"."""
    how = "s" if is_signed else "z"
    a, b = halves(s, t, a, how), halves(s, t, b, how)
    if not is_signed:
        return _unsigned(s, a, b)[what == "rem"]
    minus_a = s.op("setp.lt.s64", s.reg(a[1], "b64"), 0)
    minus_b = s.op("setp.lt.s64", s.reg(b[1], "b64"), 0)
    x = choose(s, minus_a, negated(s, a), a)
    y = choose(s, minus_b, negated(s, b), b)
    quotient, rest = _unsigned(s, x, y)
    if what == "rem":
        return choose(s, minus_a, negated(s, rest), rest)
    return choose(s, s.op("xor.pred", minus_a, minus_b), negated(s, quotient), quotient)


def _unsigned(s: Selector, a: Parts, b: Parts) -> tuple[Parts, Parts]:
    """Quotient and remainder: (rest, x) is shifted left, a turn for each bit of a behind its
    leading zeros; where rest reaches b it is lessened by b and the quotient's bit, which is x's
    lowest, set. The assembler is told not to unroll: copies save nothing but the branch."""
    a = s.reg(a[0], "b64"), s.reg(a[1], "b64")
    zeros = s.op("min.u32", _leading_zeros(s, a), 127)
    turns = s.op("sub.s32", 128, zeros)
    a = shift(s, B64, "shl", a, zeros)
    before = s.b.block
    loop = s.new_block("divide")
    loop.pragmas = (*loop.pragmas, NOUNROLL)
    s.b.br(loop)
    s.start(loop)
    turn = s.b.phi(U32)
    x = tuple(s.b.phi(B64) for _ in range(2))
    rest = tuple(s.b.phi(B64) for _ in range(2))
    one = integer(1)
    top = s.op("shr.u64", x[1], 63)
    across, middle = s.op("shr.u64", x[0], 63), s.op("shr.u64", rest[0], 63)
    low = s.op("shl.b64", x[0], one)
    high = s.op("or.b64", s.op("shl.b64", x[1], one), across)
    carried = s.op("setp.lt.s64", rest[1], 0)  # the bit that leaves rest counts as well
    rest_low = s.op("or.b64", s.op("shl.b64", rest[0], one), top)
    rest_high = s.op("or.b64", s.op("shl.b64", rest[1], one), middle)
    shifted = (rest_low, rest_high)
    reaches = s.op("or.pred", carried, below(s, b, shifted, "u", or_equal=True))
    less, borrow = chained(s, "sub.cc.u64", shifted[0], b[0])
    difference = (less, chained(s, "subc.u64", shifted[1], b[1], borrow)[0])
    next_rest = choose(s, reaches, difference, shifted)
    next_low = s.op("or.b64", low, s.op("selp.b64", 1, 0, reaches))
    next_turn = s.op("add.s32", turn, -1)
    again = s.op("setp.ne.s32", next_turn, 0)
    end = s.b.block
    done = s.new_block("divided")
    s.b.cond_br(again, loop, done)
    turn.set_incoming((turns, next_turn), (before, end))
    for phi, first, following in zip(
        (*x, *rest), (*a, integer(0), integer(0)), (next_low, high, *next_rest), strict=True
    ):
        phi.set_incoming((first, following), (before, end))
    s.start(done)
    return (next_low, high), next_rest


# ---------------------------------------------------------------- conversions

_BIAS = 1023  # of a double's exponent, behind 52 bits of fraction


def to_double(s: Selector, x: Parts, is_signed: bool, odd: bool) -> Value:
    """A pair as the nearest double; `odd`: with what is cut off told by its last bit, to be
    rounded once more to a narrower type."""
    x = s.reg(x[0], "b64"), s.reg(x[1], "b64")
    minus = s.op("setp.lt.s64", x[1], 0) if is_signed else None
    if minus is not None:
        x = choose(s, minus, negated(s, x), x)
    zeros = _leading_zeros(s, x)
    low, high = shift(s, B64, "shl", x, zeros)
    top = _with_rest(s, high, low)
    if odd:
        top = _with_rest(s, s.op("and.b64", top, -2048), s.op("and.b64", top, 2047), 2048)
    places = s.op("sub.s32", _BIAS + 64, zeros)
    scale = s.op("mov.f64", s.op("shl.b64", s.op("cvt.u64.u32", places), 52))
    made = s.op("mul.rn.f64", s.op("cvt.rn.f64.u64", top), scale)
    return made if minus is None else s.op("selp.f64", s.op("neg.f64", made), made, minus)


def _leading_zeros(s: Selector, x: Parts) -> Value:
    small = s.op("setp.eq.b64", x[1], 0)
    below_64 = s.op("add.s32", s.op("clz.b64", x[0]), 64)
    return s.op("selp.b32", below_64, s.op("clz.b64", x[1]), small)


def _with_rest(s: Selector, x: Value, rest: Value, bit: int = 1) -> Value:
    """`x` with a bit set where `rest` is not zero."""
    some = s.op("setp.ne.s64", rest, 0)
    return s.op("or.b64", x, s.op("selp.b64", bit, 0, some))


def from_double(s: Selector, x: Value, is_signed: bool) -> Parts:
    """A double cut off to a pair."""
    size = s.op("abs.f64", x) if is_signed else x
    f64 = SCALARS["f64"]
    down, up = (constant(f64, _BIAS - 64 << 52), constant(f64, _BIAS + 64 << 52 | 1 << 63))
    high = s.op("cvt.rzi.u64.f64", s.op("mul.rn.f64", size, down))
    rest = s.op("fma.rn.f64", s.op("cvt.rn.f64.u64", high), up, size)
    pair = s.op("cvt.rzi.u64.f64", rest), high
    if not is_signed:
        return pair
    return choose(s, s.op("setp.lt.f64", x, constant(f64, 0)), negated(s, pair), pair)
