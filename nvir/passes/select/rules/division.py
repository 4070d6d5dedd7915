"""Division and remainder of up to 64 bits: by powers of two shifts, by other literals products.

    udiv i32 %x, 10    ==>   mul.hi.u32 %q, %x, 3435973837;  shr.u32 %q, %q, 3;

ptxas divides by a literal as by any number, some fourteen instructions of 32 bits and a call of
64; so what is no power of two goes by the high half of a product with the rounded reciprocal. What
is known of the dividend's upper bits makes that reciprocal shorter.

Source   Granlund and Montgomery, "Division by Invariant Integers using Multiplication" (1994).
"""

from __future__ import annotations

from nvir.ir import Constant, Instruction, Type, Value, integer
from nvir.passes.select.constants import signed
from nvir.passes.select.lanes import Rule, by_element
from nvir.passes.select.rules.integer import sext, zext
from nvir.passes.select.selector import Parts, Selector, width


def divide(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    """The rule of udiv, sdiv, urem and srem."""
    name = i.form.name
    sign, what = name[0], name[1:]
    if t.bits > 64:
        from nvir.passes.select.rules.wide import divide as divide_wide

        return divide_wide(s, t, args[0], args[1], sign == "s", what)
    if t.bits == 1:  # by 0 is undefined, so the divisor is 1 (or -1)
        return (args[0][0],) if what == "div" else (s.op("xor.pred", args[0][0], args[0][0]),)
    extend = sext if sign == "s" else zext
    a, b = (extend(s, x[0], t.bits) for x in args)
    w = width(t)
    a = s.reg(a, f"b{w}")
    if isinstance(b, Constant) and sign == "s" and b.value == -1 << (t.bits - 1):
        made = s.op(f"selp.b{w}", *((1, 0) if what == "div" else (0, a)),
                    s.op(f"setp.eq.s{w}", a, b))  # all others are less than it in size
    elif not isinstance(b, Constant) or abs(b.value) < 2:
        made = s.op(f"{what}.{sign}{w}", a, b)
    else:
        most = s.bits.most(i.operands[0], t.bits)
        how = "u" if most < t.bits and b.value > 0 else sign
        d = abs(b.value)
        if d & (d - 1):
            made = _by_literal(s, how, what, w, a, b.value, most)
        else:
            made = _by_power(s, how, what, w, a, d.bit_length() - 1)
            if b.value < 0 and what == "div":
                made = s.op(f"neg.s{w}", made)
    return (s.known(made, "s" if sign == "s" else "z", t.bits),)


def _by_power(s: Selector, sign: str, what: str, w: int, a: Value, k: int) -> Value:
    """Quotient or remainder by 2^k. A negative dividend is raised by 2^k - 1, so that the shift,
    which rounds down, rounds towards 0."""
    if sign == "u":
        return s.op(f"shr.u{w}", a, k) if what == "div" else s.op(f"and.b{w}", a, (1 << k) - 1)
    minus = a if k == 1 else s.op(f"shr.s{w}", a, w - 1)  # of which the top k bits count
    raised = s.op(f"add.s{w}", a, s.op(f"shr.u{w}", minus, w - k))
    if what == "div":
        return s.op(f"shr.s{w}", raised, k)
    return s.op(f"sub.s{w}", a, s.op(f"and.b{w}", raised, -1 << k))


def _by_literal(
    s: Selector, sign: str, what: str, w: int, a: Value, d: int, most: int
) -> Value:
    """The quotient or remainder of a dividend of `most` bits; 16 bits and those of 64 that need
    only 32 are divided in 32."""
    own = 32 if w == 16 or (sign == "u" and most <= 32 and d < 1 << 32) else w
    x = a if own == w else s.cached(
        (own, sign, a), lambda: s.op(f"cvt.{sign}{own}.{sign}{w}", a)
    )
    quotient = _signed if sign == "s" else _unsigned
    q = s.cached(("quotient", sign, x, d, most), lambda: quotient(s, x, d, own, most))
    if what == "rem":
        q = s.op(f"mad.lo.s{own}", q, signed(-d, own), x)
    return q if own == w else s.op(f"cvt.{sign}{w}.{sign}{own}", q)


def reciprocal(d: int, w: int, most: int) -> tuple[int, int] | None:
    """(m, k) with n / d = n · m >> w + k, rounded down, for each n below 2^most; m of w bits."""
    for k in range(w):
        m = -(-(1 << w + k) // d)
        if m >> w:
            return None
        if (m * d - (1 << w + k)) << most < (1 << w + k) + (m * d - (1 << w + k)):
            return m, k
    return None


def _unsigned(s: Selector, x: Value, d: int, w: int, most: int) -> Value:
    found = reciprocal(d, w, most)
    if found is None and d & 1 == 0:  # an even divisor: its zeros first, which shortens the rest
        zeros = (d & -d).bit_length() - 1
        x, d = s.op(f"shr.u{w}", x, zeros), d >> zeros
        found = reciprocal(d, w, most - zeros)
    if found is not None:
        return _high(s, "u", w, x, *found)
    k = d.bit_length()  # a reciprocal of w + 1 bits, whose top bit is a sum
    m = -(-(1 << w + k) // d) - (1 << w)
    part = s.op(f"mul.hi.u{w}", x, integer(signed(m, w)))
    half = s.op(f"shr.u{w}", s.op(f"sub.s{w}", x, part), 1)
    return s.op(f"shr.u{w}", s.op(f"add.s{w}", half, part), k - 1)


def _signed(s: Selector, x: Value, d: int, w: int, most: int) -> Value:
    """Rounded down, a negative quotient is one too small: the dividend's sign is taken off."""
    positive = abs(d)
    k = next(k for k in range(w) if (
        ((1 << w + k) // positive + 1) * positive - (1 << w + k)) << w - 1 < 1 << w + k)
    m = (1 << w + k) // positive + 1
    q = s.op(f"mul.hi.s{w}", x, integer(signed(m, w)))
    if m >> w - 1:
        q = s.op(f"add.s{w}", q, x)
    if k:
        q = s.op(f"shr.s{w}", q, k)
    minus = s.op(f"shr.s{w}", x, w - 1)
    return s.op(f"sub.s{w}", q, minus) if d > 0 else s.op(f"sub.s{w}", minus, q)


def _high(s: Selector, sign: str, w: int, x: Value, m: int, k: int) -> Value:
    q = s.op(f"mul.hi.{sign}{w}", x, integer(signed(m, w)))
    return s.op(f"shr.{sign}{w}", q, k) if k else q


RULES: dict[str, Rule] = dict.fromkeys(("udiv", "sdiv", "urem", "srem"), by_element(divide))
