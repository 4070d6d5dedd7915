"""Sines, tangents and their inverses.

Reduction   x = q π/2 + r, |r| <= π/4. Up to 2^20 by three parts of π/2 (Cody and Waite), above by
            multiplying the mantissa with those bits of 2/π that matter (Payne and Hanek): 192 of
            them, of which the two first say the quadrant.
atan        to within 1/16 of j/8, whose arc tangents are in a table; |x| > 1 by π/2 - atan(1/x).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from nvir.frontend import build as b
from nvir.frontend.libm.constants import factorials, parts, pi, two_over_pi
from nvir.frontend.libm.kit import (
    INFINITY,
    NAN,
    bits,
    define,
    fma,
    give,
    let,
    num,
    own,
    poly,
)
from nvir.frontend.tree import expressions as ex
from nvir.frontend.tree.declarations import Function, Variable
from nvir.frontend.tree.types import ULONGLONG

x, y, n, r, q, z, w, t, u, a, k, e, s, c, p = b.names("x y n r q z w t u a k e s c p")
v = b.name("v")

HALF_PI = parts(pi() / 2, 4)
TWO_OVER_PI = float(2 / pi())
LIMIT = 2.0**20
_SIN = factorials(3, 2, 8, alternate=True)
_SIN = [-f for f in _SIN]  # -1/3!, 1/5!, …
_COS = factorials(4, 2, 8, alternate=True)  # 1/4!, -1/6!, …
_ATAN = [(-1) ** k_ / (2 * k_ + 1) for k_ in range(1, 9)]
BITS_NAME, ATAN_NAME = "__nvir_two_over_pi", "__nvir_atan_table"


def _u64(value: int) -> b.E:
    return b.E(ex.IntLiteral(value, type=ULONGLONG))


def bits_table() -> Variable:
    words = [_u64(word) for word in (0, *two_over_pi())]
    return b.variable(f"unsigned long long {BITS_NAME}[21]", b.init(*words), memory="constant")


def atan_table() -> Variable:
    """Arc tangents of 0, 1/8 … 1, each in two parts."""
    numbers = [f for j in range(9) for f in parts(_atan(Fraction(j, 8)), 2)]
    return b.variable(f"double {ATAN_NAME}[18]", b.init(*numbers), memory="constant")


def _atan(x_: Fraction) -> Fraction:
    """By the series, after halving the angle twice would need roots: so by atan x = atan 1/2 + …
    for what is large, which keeps to fractions."""
    if x_ > Fraction(1, 3):
        c_ = Fraction(1, 3)
        return _atan((x_ - c_) / (1 + x_ * c_)) + _atan(c_)
    one = 1 << 200
    term = x_.numerator * one // x_.denominator
    square = x_ * x_
    total, k_ = 0, 1
    while term:
        total += term // k_ if k_ % 4 == 1 else -(term // k_)
        term = term * square.numerator // square.denominator
        k_ += 2
    return Fraction(total, one)


def reduce_large() -> Function:
    """Payne and Hanek for finite |x| >= 2^20, of positive sign."""
    at, off = b.name("at"), b.name("off")
    table = b.name(BITS_NAME)
    w0, w1, w2, p0, p1, p2, f1, f0, m = b.names("w0 w1 w2 p0 p1 p2 f1 f0 m")

    def word(text: str, j: int) -> list[Any]:
        """The 64 bits from bit `off` of word at + j on."""
        first = table[at + j]
        return [let(f"unsigned long long {text}", b.cond(
            off == 0, first, (first << off) | (table[at + j + 1] >> (64 - off))))]

    return define(
        "reduce_large", "__nvir_reduced", "double x",
        let("long long u", bits(x)),
        let("int e", b.cast("int", u >> 52) - 1075),  # x = m 2^e
        let("unsigned long long m", b.cast("unsigned long long", u & b.s64((1 << 52) - 1))
            | _u64(1 << 52)),
        let("int s", e + 62),  # the first word of the table is 0, so that e may be small
        let("int at", s >> 6), let("int off", s & 63),
        *word("w2", 0), *word("w1", 1), *word("w0", 2),
        let("unsigned long long p0", m * w0),
        let("unsigned long long c", b.call("__umul64hi", m, w0)),
        let("unsigned long long p1", m * w1 + c),
        let("unsigned long long p2", m * w2 + b.call("__umul64hi", m, w1) + b.cast(
            "unsigned long long", p1 < c)),
        let("int q", b.cast("int", p2 >> 62)),
        let("unsigned long long f1", (p2 << 2) | (p1 >> 62)),
        let("unsigned long long f0", (p1 << 2) | (p0 >> 62)),
        b.if_(f1 >> 63, b.inc(q)),
        let("double t", fma(b.cast("double", b.cast("long long", f1)), 2.0**-64,
                            b.cast("double", f0 >> 1) * num(2.0**-127))),
        let("__nvir_reduced v"),
        b.assign(v.r, fma(t, HALF_PI[0], t * num(HALF_PI[1]))), b.assign(v.q, q), b.ret(v),
    )


def reduce() -> Function:
    return define(
        "reduce", "__nvir_reduced", "double x", let("__nvir_reduced v"),
        b.if_(b.lnot(b.call("fabs", x) < num(LIMIT)),
              b.if_(b.lnot(b.call("fabs", x) < num(INFINITY)),
                    b.assign(v.r, num(NAN)), b.assign(v.q, 0), b.ret(v)),
              b.assign(v, own("reduce_large", b.call("fabs", x))),
              b.if_(x < num(0.0), b.assign(v.r, -v.r), b.assign(v.q, -v.q)),
              b.ret(v)),
        let("double n", b.call("rint", x * num(TWO_OVER_PI))),
        b.assign(v.r, fma(-n, HALF_PI[2], fma(-n, HALF_PI[1], fma(-n, HALF_PI[0], x)))),
        b.assign(v.q, b.cast("int", n)), b.ret(v),
    )


def sin_kernel() -> Function:
    return define(
        "sin_kernel", "double", "double r", let("double z", r * r),
        give(fma(r * z, poly("z", _SIN), r)),
    )


def cos_kernel() -> Function:
    h = b.name("h")
    return define(
        "cos_kernel", "double", "double r", let("double z", r * r),
        let("double h", z * num(0.5)), let("double w", num(1.0) - h),
        give(w + (((num(1.0) - w) - h) + z * z * poly("z", _COS))),
    )


def _by_quadrant(shift: int) -> list[Any]:
    return [
        let("int q", v.q + shift),
        let("double t", b.cond(q & 1, own("cos_kernel", v.r), own("sin_kernel", v.r))),
        b.ret(b.cond(q & 2, -t, t)),
    ]


def sin() -> Function:
    return define("sin", "double", "double x", b.if_(x == num(0.0), b.ret(x)),
                  let("__nvir_reduced v", own("reduce", x)), *_by_quadrant(0))


def cos() -> Function:
    return define("cos", "double", "double x",
                  let("__nvir_reduced v", own("reduce", x)), *_by_quadrant(1))


def tan() -> Function:
    return define(
        "tan", "double", "double x", b.if_(x == num(0.0), b.ret(x)),
        let("__nvir_reduced v", own("reduce", x)),
        let("double s", own("sin_kernel", v.r)), let("double c", own("cos_kernel", v.r)),
        b.ret(b.cond(v.q & 1, -c / s, s / c)),
    )


def _of_pi(name: str, shift: int) -> Function:
    """sin and cos of π x: the quadrant is exact."""
    return define(
        name, "double", "double x",
        b.if_(b.lnot(b.call("fabs", x) < num(INFINITY)), give(NAN)),
        b.if_(b.call("fabs", x) >= num(2.0**53), give(0.0 if shift == 0 else 1.0)),
        let("double n", b.call("rint", x * num(2.0))),
        let("double t0", fma(n, -0.5, x)),
        let("__nvir_reduced v"),
        b.assign(v.r, fma(b.name("t0"), 2 * HALF_PI[0], b.name("t0") * num(2 * HALF_PI[1]))),
        b.assign(v.q, b.cast("int", b.cast("long long", n) & b.s64(3))), *_by_quadrant(shift),
    )


def sincos(real: str) -> Function:
    f = "f" if real == "float" else ""
    return b.function(
        f"void __nvir_sincos{f}", f"{real} x, {real} *s, {real} *c",
        b.assign(b.deref(s), own(f"sin{f}", x)), b.assign(b.deref(c), own(f"cos{f}", x)),
    )


# --------------------------------------------------------------------- inverse


def atan2() -> Function:
    """The angle of (x, y): of the smaller over the larger, then mirrored."""
    big, small, j, table = b.name("big"), b.name("small"), b.name("j"), b.name(ATAN_NAME)
    swapped, cj = b.name("swapped"), b.name("cj")
    half, half_lo = num(HALF_PI[0]), num(HALF_PI[1])
    return define(
        "atan2", "double", "double y, double x",
        b.if_(b.lor(x != x, y != y), b.ret(x + y)),
        let("double a", b.call("fabs", x)), let("double e", b.call("fabs", y)),
        let("bool swapped", e > a),
        let("double big", b.cond(swapped, e, a)), let("double small", b.cond(swapped, a, e)),
        let("double t"),
        b.if_(b.lor(big == num(0.0), big == num(INFINITY)),
              b.assign(t, b.cond(small == num(INFINITY), num(HALF_PI[0] / 2), num(0.0))),
              otherwise=b.block(
            b.if_(big > num(2.0**1000), b.assign(big, num(2.0**-60), "*="),
                  b.assign(small, num(2.0**-60), "*=")),
            b.if_(big < num(2.0**-960), b.assign(big, num(2.0**60), "*="),
                  b.assign(small, num(2.0**60), "*=")),
            let("int j", b.cast("int", b.call("rint", small / big * num(8.0)))),
            let("double cj", b.cast("double", j) * num(0.125)),
            let("double w", fma(-cj, big, small) / fma(cj, small, big)),
            let("double z", w * w), let("double p", w * z * poly("z", _ATAN)),
            b.assign(t, table[j * 2] + ((table[j * 2 + 1] + p) + w)),
        )),
        b.if_(swapped, b.assign(t, (half - t) + half_lo)),
        b.if_(b.call("signbit", x), b.assign(t, (num(HALF_PI[0] * 2) - t)
                                            + num(HALF_PI[1] * 2))),
        give(b.call("copysign", t, y)),
    )


def atan() -> Function:
    return define("atan", "double", "double x", give(own("atan2", x, 1.0)))


def _side() -> Any:
    return b.call("sqrt", (num(1.0) - x) * (num(1.0) + x))


def asin() -> Function:
    return define("asin", "double", "double x", give(own("atan2", x, _side())))


def acos() -> Function:
    return define("acos", "double", "double x", give(own("atan2", _side(), x)))


_KERNELS = ("sin_kernel", "cos_kernel")
ROWS: dict[str, Any] = {
    "reduce_large": (reduce_large, (), (bits_table,)), "reduce": (reduce, ("reduce_large",), ()),
    "sin_kernel": (sin_kernel, (), ()), "cos_kernel": (cos_kernel, (), ()),
    "sin": (sin, ("reduce", *_KERNELS), ()), "cos": (cos, ("reduce", *_KERNELS), ()),
    "tan": (tan, ("reduce", *_KERNELS), ()),
    "sinpi": (lambda: _of_pi("sinpi", 0), _KERNELS, ()),
    "cospi": (lambda: _of_pi("cospi", 1), _KERNELS, ()),
    "sincos": (lambda: sincos("double"), ("sin", "cos"), ()),
    "sincosf": (lambda: sincos("float"), ("sinf", "cosf"), ()),
    "atan2": (atan2, (), (atan_table,)), "atan": (atan, ("atan2",), ()),
    "asin": (asin, ("atan2",), ()), "acos": (acos, ("atan2",), ()),
}
