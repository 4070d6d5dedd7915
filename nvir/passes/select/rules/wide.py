"""Arithmetic of integers of more than 64 bits, as registers of 64, the lowest first.

Sums chain the carry; products add up a row of low and one of high halves for each word;
comparisons go from the lowest word up. Shifts of two words compute both cases, below 64 and from
there on, and select; of more, the words move first, by the upper bits of the amount. PTX's shifts
give 0 (or signs) for amounts of the width and more, which makes the edges right. Division has no
instruction: a loop shifts the dividend through a remainder, one bit a turn, from its highest on.

To a float: the magnitude is shifted to the top of its words; of the 64 highest bits the last one
also tells whether anything below is not zero, so that their conversion rounds as the whole would;
a power of two brings the result back to its place. From a float: of two words, the integer above
2^64 and the rest, which is exact; of more, the fraction shifted to its place.
"""

from __future__ import annotations

import functools

from nvir.ir.block import NOUNROLL
from nvir.ir.errors import Unsupported
from nvir.ir.types import B64, SCALARS, U32, Type
from nvir.ir.values import Constant, Value, constant, integer
from nvir.passes.select.rules.integer import chained, words
from nvir.passes.select.selector import Parts, Selector

MOST_WORDS = 128  # of both factors; instructions are as many as the square


def total(s: Selector, name: str, a: Parts, b: Parts) -> Parts:
    """The sum (`name` "add") or difference ("sub")."""
    out: list[Value] = []
    carry: Value | None = None
    for k, (x, y) in enumerate(zip(a, b, strict=True), 1):
        spelling = f"{name}{'' if carry is None else 'c'}{'.cc' if k < len(a) else ''}.u64"
        made, carry = chained(s, spelling, x, y, carry=carry)
        out.append(made)
    return tuple(out)


def product(s: Selector, a: Parts, b: Parts) -> Parts:
    """The product, as many words as each operand has."""
    if len(a) == 2:
        low = s.op("mul.lo.u64", a[0], b[0])
        high = s.op("mul.hi.u64", a[0], b[0])
        high = s.op("mad.lo.u64", a[0], b[1], high)
        return low, s.op("mad.lo.u64", a[1], b[0], high)
    n = len(a)
    b = b[: _significant(b)]
    if _significant(a) * len(b) > MOST_WORDS * MOST_WORDS:
        raise Unsupported(f"a product of {64 * n} bits: of {64 * MOST_WORDS} at most")
    out: list[Value] = [s.op("mul.lo.u64", a[0], y) for y in b]
    out += [integer(0)] * (n - len(b))
    for i in range(_significant(a)):
        x = s.reg(a[i], "b64")
        if i:
            _row(s, "lo", x, b, out, i)
        _row(s, "hi", x, b, out, i + 1)
    return tuple(out)


def literal(v: Value) -> int | None:
    return int(v.value) if isinstance(v, Constant) else None


def _significant(x: Parts) -> int:
    """How many words there are up to the last that is no literal 0; at least one."""
    n = len(x)
    while n > 1 and literal(x[n - 1]) == 0:
        n -= 1
    return n


def _row(s: Selector, half: str, x: Value, b: Parts, out: list[Value], first: int) -> None:
    """Add the halves of x·b to the words from `first` on. What low halves carry beyond them is the
    next word; high halves carry nothing."""
    carry: Value | None = None
    end = first + len(b)
    for k, y in enumerate(b[: max(len(out) - first, 0)], first):
        goes_on = k + 1 < (min(end, len(out)) if half == "hi" else len(out))
        spelling = f"mad{'' if carry is None else 'c'}.{half}{'.cc' if goes_on else ''}.u64"
        out[k], carry = chained(s, spelling, x, y, out[k], carry=carry)
    if carry is not None:
        out[end], _ = chained(s, "addc.u64", out[end], integer(0), carry=carry)


def shift(s: Selector, t: Type, name: str, x: Parts, n: Value) -> Parts:
    """`name` (shl, lshr, ashr) by `n`, 32 bits."""
    if name != "shl":
        x = words(s, t, x, "s" if name == "ashr" else "z")
    if len(x) > 2:
        return _shift_words(s, name, x, n)
    far = s.op("setp.gt.u32", s.reg(n, "b32"), 63)
    back = s.op("sub.s32", 64, n)
    beyond = s.op("add.s32", n, -64)
    low, high = x
    if name == "shl":
        near_high = s.op("or.b64", s.op("shl.b64", high, n), s.op("shr.u64", low, back))
        far_high = s.op("shl.b64", low, beyond)
        return s.op("shl.b64", low, n), s.op("selp.b64", far_high, near_high, far)
    kind = "s" if name == "ashr" else "u"
    near_low = s.op("or.b64", s.op("shr.u64", low, n), s.op("shl.b64", high, back))
    far_low = s.op(f"shr.{kind}64", high, beyond)
    return s.op("selp.b64", far_low, near_low, far), s.op(f"shr.{kind}64", high, n)


def _shift_words(s: Selector, name: str, x: Parts, n: Value) -> Parts:
    kind = "s" if name == "ashr" else "u"
    fill = s.op("shr.s64", x[-1], 63) if kind == "s" else integer(0)
    x = x if name == "shl" else x[::-1]  # from the word on that the bits come from
    known, by = literal(n), 1
    while by < len(x):
        moved = (fill,) * by + x[:-by]
        if known is not None:
            x = moved if known & 64 * by else x
        else:
            here = s.op("setp.ne.s32", s.op("and.b32", n, 64 * by), 0)
            x = choose(s, here, moved, x)
        by *= 2
    rest = integer(known & 63) if known is not None else s.op("and.b32", n, 63)
    back = integer(64 - (known & 63)) if known is not None else s.op("sub.s32", 64, rest)
    there, across = ("shl.b64", "shr.u64") if name == "shl" else ("shr.u64", "shl.b64")
    if known is not None and not known & 63:
        return x if name == "shl" else x[::-1]
    first = _moved(s, f"shr.{kind}64" if name != "shl" else there, x[0], rest)
    out = (first, *(either(s, _moved(s, there, a, rest), _moved(s, across, b, back))
                    for a, b in zip(x[1:], x, strict=False)))
    return out if name == "shl" else out[::-1]


def _moved(s: Selector, spelling: str, x: Value, n: Value) -> Value:
    """A word shifted; a zero stays."""
    return x if literal(x) == 0 else s.op(spelling, x, n)


def either(s: Selector, a: Value, b: Value) -> Value:
    """The bits of two words, of which a zero needs no instruction."""
    if 0 in (literal(a), literal(b)):
        return b if literal(a) == 0 else a
    return s.op("or.b64", a, b)


def negated(s: Selector, x: Parts) -> Parts:
    return total(s, "sub", (integer(0),) * len(x), x)


def below(s: Selector, a: Parts, b: Parts, kind: str, or_equal: bool = False) -> Value:
    """a < b (or a <= b); `kind` "u" or "s" is that of the highest words."""
    found = s.op(f"setp.{'le' if or_equal else 'lt'}.u64", s.reg(a[0], "b64"), b[0])
    for k in range(1, len(a)):
        of = kind if k + 1 == len(a) else "u"
        less = s.op(f"setp.lt.{of}64", s.reg(a[k], "b64"), b[k])
        same = s.op("setp.eq.b64", s.reg(a[k], "b64"), b[k])
        found = s.op("or.pred", less, s.op("and.pred", same, found))
    return found


def equal(s: Selector, how: str, a: Parts, b: Parts) -> Value:
    """Whether all words are the same (`how` "eq") or not ("ne")."""
    differ = [s.op("xor.b64", x, y) for x, y in zip(a, b, strict=True)]
    return s.op(f"setp.{how}.s64", _any(s, differ), 0)


def _any(s: Selector, x: list[Value]) -> Value:
    return functools.reduce(lambda a, b: s.op("or.b64", a, b), x)


def combined(s: Selector, t: Type, what: str, a: Parts, b: Parts) -> Parts:
    """A sum, a product, what is done bit by bit, or the one of two (smin, umax …)."""
    if what in ("add", "sub"):
        return total(s, what, a, b)
    if what == "mul":
        return product(s, a, b)
    if what in ("and", "or", "xor"):
        return tuple(s.op(f"{what}.b64", x, y) for x, y in zip(a, b, strict=True))
    how = "s" if what[0] == "s" else "z"
    a, b = words(s, t, a, how), words(s, t, b, how)
    less = below(s, a, b, what[0])
    return choose(s, less, a, b) if what[1:] == "min" else choose(s, less, b, a)


def choose(s: Selector, p: Value, a: Parts, b: Parts) -> Parts:
    return tuple(s.op("selp.b64", x, y, p) for x, y in zip(a, b, strict=True))


def divide(s: Selector, t: Type, a: Parts, b: Parts, is_signed: bool, what: str) -> Parts:
    """`what` "div" or "rem"."""
    how = "s" if is_signed else "z"
    a, b = words(s, t, a, how), words(s, t, b, how)
    if not is_signed:
        return _unsigned(s, a, b)[what == "rem"]
    minus_a = s.op("setp.lt.s64", s.reg(a[-1], "b64"), 0)
    minus_b = s.op("setp.lt.s64", s.reg(b[-1], "b64"), 0)
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
    a = tuple(s.reg(v, "b64") for v in a)
    bits = 64 * len(a)
    zeros = s.op("min.u32", leading_zeros(s, a), bits - 1)
    turns = s.op("sub.s32", bits, zeros)
    a = shift(s, B64, "shl", a, zeros)
    before = s.b.block
    loop = s.new_block("divide")
    loop.pragmas = (*loop.pragmas, NOUNROLL)
    s.b.br(loop)
    s.start(loop)
    turn = s.b.phi(U32)
    x = tuple(s.b.phi(B64) for _ in a)
    rest = tuple(s.b.phi(B64) for _ in a)
    carried = s.op("setp.lt.s64", rest[-1], 0)  # the bit that leaves rest counts as well
    low, *higher = _doubled(s, x)
    shifted = _doubled(s, rest, s.op("shr.u64", x[-1], 63))
    reaches = s.op("or.pred", carried, below(s, b, shifted, "u", or_equal=True))
    next_rest = choose(s, reaches, total(s, "sub", shifted, b), shifted)
    next_x = (s.op("or.b64", low, s.op("selp.b64", 1, 0, reaches)), *higher)
    next_turn = s.op("add.s32", turn, -1)
    again = s.op("setp.ne.s32", next_turn, 0)
    end = s.b.block
    done = s.new_block("divided")
    s.b.cond_br(again, loop, done)
    turn.set_incoming((turns, next_turn), (before, end))
    none = (integer(0),) * len(a)
    for phi, first, following in zip(
        (*x, *rest), (*a, *none), (*next_x, *next_rest), strict=True
    ):
        phi.set_incoming((first, following), (before, end))
    s.start(done)
    return next_x, next_rest


def _doubled(s: Selector, x: Parts, bit: Value | None = None) -> Parts:
    """Shifted left by one, with a bit from below."""
    out = []
    for v in x:
        up = s.op("shl.b64", v, 1)
        out.append(up if bit is None else s.op("or.b64", up, bit))
        bit = s.op("shr.u64", v, 63) if v is not x[-1] else None
    return tuple(out)


def leading_zeros(s: Selector, x: Parts) -> Value:
    """The zeros before the first one."""
    found = s.op("clz.b64", x[0])
    for v in x[1:]:
        small = s.op("setp.eq.b64", s.reg(v, "b64"), 0)
        found = s.op("selp.b32", s.op("add.s32", found, 64), s.op("clz.b64", v), small)
    return found


# ---------------------------------------------------------------- conversions

_BIAS = 1023  # of a double's exponent, behind 52 bits of fraction


def to_double(s: Selector, x: Parts, is_signed: bool, odd: bool) -> Value:
    """The nearest double; `odd`: with what is cut off told by its last bit, to be rounded once
    more to a narrower type. What is too large is infinite."""
    x = tuple(s.reg(v, "b64") for v in x)
    minus = s.op("setp.lt.s64", x[-1], 0) if is_signed else None
    if minus is not None:
        x = choose(s, minus, negated(s, x), x)
    zeros = leading_zeros(s, x)
    *lower, high = shift(s, B64, "shl", x, zeros)
    top = _with_rest(s, high, _any(s, lower))
    if odd:
        top = _with_rest(s, s.op("and.b64", top, -2048), s.op("and.b64", top, 2047), 2048)
    places = s.op("sub.s32", _BIAS + 64 * (len(x) - 1), zeros)
    if len(x) > 16:
        places = s.op("min.s32", places, 2 * _BIAS + 1)
    scale = s.op("mov.f64", s.op("shl.b64", s.op("cvt.u64.u32", places), 52))
    made = s.op("mul.rn.f64", s.op("cvt.rn.f64.u64", top), scale)
    return made if minus is None else s.op("selp.f64", s.op("neg.f64", made), made, minus)


def _with_rest(s: Selector, x: Value, rest: Value, bit: int = 1) -> Value:
    """`x` with a bit set where `rest` is not zero."""
    some = s.op("setp.ne.s64", rest, 0)
    return s.op("or.b64", x, s.op("selp.b64", bit, 0, some))


def from_double(s: Selector, x: Value, is_signed: bool, n: int) -> Parts:
    """A double cut off to n words."""
    size = s.op("abs.f64", x) if is_signed else x
    f64 = SCALARS["f64"]
    if n == 2:
        down, up = (constant(f64, _BIAS - 64 << 52), constant(f64, _BIAS + 64 << 52 | 1 << 63))
        high = s.op("cvt.rzi.u64.f64", s.op("mul.rn.f64", size, down))
        rest = s.op("fma.rn.f64", s.op("cvt.rn.f64.u64", high), up, size)
        made: Parts = s.op("cvt.rzi.u64.f64", rest), high
    else:
        made = _from_fraction(s, s.op("mov.b64", size), n)
    if not is_signed:
        return made
    return choose(s, s.op("setp.lt.f64", x, constant(f64, 0)), negated(s, made), made)


def _from_fraction(s: Selector, bits: Value, n: int) -> Parts:
    """The number that a double's pattern without a sign stands for."""
    fraction = s.op("or.b64", s.op("and.b64", bits, (1 << 52) - 1), 1 << 52)
    places = s.op("sub.s32", s.op("cvt.u32.u64", s.op("shr.u64", bits, 52)), _BIAS + 52)
    small = s.op("setp.lt.s32", places, 0)
    low = s.op("shr.u64", fraction, s.op("max.s32", s.op("neg.s32", places), 0))
    up = shift(s, B64, "shl", (fraction,) + (integer(0),) * (n - 1), s.op("max.s32", places, 0))
    return choose(s, small, (low,) + (integer(0),) * (n - 1), up)
