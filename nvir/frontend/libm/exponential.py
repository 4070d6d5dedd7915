"""Exponentials, logarithms, powers, hyperbolic functions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from nvir.frontend import build as b
from nvir.frontend.libm.constants import factorials, ln, odd_inverses, parts
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
    power_of_2,
    real,
)
from nvir.frontend.tree.declarations import Function

x, y, n, r, p, k, m, f, s, z, t, u, h, a = b.names("x y n r p k m f s z t u h a")
hi, lo = b.names("hi lo")

LN2_HI, LN2_MID = parts(ln(2), 2, 32)
LN2_LO = float(ln(2) - Fraction(LN2_HI) - Fraction(LN2_MID))
LN2_A, LN2_B = parts(ln(2), 2)
LOG2_E = float(1 / ln(2))
LOG2_10 = float(ln(10) / ln(2))
LOG10_2_A, LOG10_2_B = parts(ln(2) / ln(10), 2, 32)
LOG10_E = float(1 / ln(10))
SQRT2 = 2**0.5
_EXP = factorials(2, 1, 12)  # r²/2! + … + r^13/13!
_ATANH = [2 * c for c in odd_inverses(12)]  # 2/3, 2/5, …


def _clamped(low: float, high: float) -> Any:
    """x within what the exponent can take; NaN stays."""
    return let("double a", b.cond(x > num(high), num(high), b.cond(x < num(low), num(low), x)))


def _scaled(of: Any) -> Any:
    """of · 2^n in two steps, as n may be more than an exponent holds."""
    return [
        let("int k", b.cast("int", n)), let("int h", k >> 1),
        give(of * power_of_2(h) * power_of_2(k - h)),
    ]


def _exp_of_r() -> Any:
    """1 + r + r² (1/2 + …)."""
    return [let("double p", poly("r", _EXP)), let("double t", fma(r * r, p, r))]


def exp() -> Function:
    return define(
        "exp", "double", "double x", _clamped(-760.0, 720.0),
        let("double n", b.call("rint", a * num(LOG2_E))),
        let("double r", fma(-n, LN2_B, fma(-n, LN2_A, a))), *_exp_of_r(),
        *_scaled(t + num(1.0)),
    )


def exp2() -> Function:
    return define(
        "exp2", "double", "double x", _clamped(-1100.0, 1030.0),
        let("double n", b.call("rint", a)), let("double z", a - n),
        let("double r", fma(z, LN2_A, z * num(LN2_B))), *_exp_of_r(), *_scaled(t + num(1.0)),
    )


def exp10() -> Function:
    ln10, rest = parts(ln(10), 2)
    return define(
        "exp10", "double", "double x", _clamped(-330.0, 310.0),
        let("double n", b.call("rint", a * num(LOG2_10))),
        let("double z", fma(-n, LOG10_2_B, fma(-n, LOG10_2_A, a))),
        let("double r", fma(z, ln10, z * num(rest))), *_exp_of_r(), *_scaled(t + num(1.0)),
    )


def expm1() -> Function:
    return define(
        "expm1", "double", "double x",
        b.if_(b.call("fabs", x) < num(0.35), let("double r", x), *_exp_of_r(), give(t)),
        give(own("exp", x) - num(1.0)),
    )


# ----------------------------------------------------------------- logarithms


def _split() -> list[Any]:
    """x = m 2^k with m in [√½, √2): `m`, and k as a double `n`; x is positive and finite."""
    return [
        let("long long u", bits(x)), let("int k", 0),
        b.if_(x < num(2.0**-1022),
              b.assign(u, bits(x * num(2.0**54))), b.assign(k, -54)),
        b.assign(k, b.cast("int", u >> 52) - 1023, "+="),
        let("double m", real((u & b.s64((1 << 52) - 1)) | b.s64(1023 << 52))),
        b.if_(m > num(SQRT2), b.assign(m, num(0.5), "*="), b.inc(k)),
        let("double n", b.cast("double", k)), let("double f", m - num(1.0)),
    ]


def _edges() -> list[Any]:
    return [
        b.if_(x == num(0.0), give(-INFINITY)),
        b.if_(b.lnot(x > num(0.0)), give(NAN)),
        b.if_(x == num(INFINITY), b.ret(x)),
    ]


def _series() -> list[Any]:
    """ln(1 + f) = f - (h - s (h + R)), where h = f²/2, s = f/(2 + f), R = z (2/3 + 2/5 z + …)."""
    return [
        let("double s", f / (f + num(2.0))), let("double z", s * s),
        let("double p", z * poly("z", _ATANH)), let("double h", f * f * num(0.5)),
    ]


def log() -> Function:
    return define(
        "log", "double", "double x", *_edges(), *_split(), *_series(),
        give(n * num(LN2_HI) - ((h - (s * (h + p) + n * num(LN2_MID + LN2_LO))) - f)),
    )


def log2() -> Function:
    rest = float(1 / ln(2) - Fraction(LOG2_E))
    return define(
        "log2", "double", "double x", *_edges(), *_split(), *_series(),
        let("double t", f - (h - s * (h + p))),
        let("double u2", fma(t, LOG2_E, t * num(rest))), give(n + b.name("u2")),
    )


def log10() -> Function:
    return define(
        "log10", "double", "double x", *_edges(), *_split(), *_series(),
        let("double t", f - (h - s * (h + p))),
        give(fma(n, LOG10_2_A, fma(t, LOG10_E, n * num(LOG10_2_B)))),
    )


def log1p() -> Function:
    return define(
        "log1p", "double", "double x",
        b.if_(b.land(x > num(-0.29), x < num(0.41)),
              let("double f", x), *_series(), give(f - (h - s * (h + p)))),
        let("double u", x + num(1.0)),
        b.if_(b.lor(b.lnot(u > num(0.0)), u == num(INFINITY)), b.ret(own("log", u))),
        let("double t", b.cond(u > x, x - (u - num(1.0)), num(1.0) - (u - x)) / u),
        give(own("log", u) + t),
    )


def logb() -> Function:
    return define(
        "logb", "double", "double x",
        b.if_(x == num(0.0), give(-INFINITY)),
        b.if_(b.lnot(b.call("fabs", x) < num(INFINITY)), b.ret(x * x)),
        give(b.cast("double", own("ilogb", x))),
    )


# --------------------------------------------------------------------- powers


def _sum(name: str, p_: Any, q: Any) -> list[Any]:
    """p + q as name_h + name_l, where |p| is not less than |q|."""
    high = b.name(f"{name}_h")
    return [let(f"double {name}_h", p_ + q), let(f"double {name}_l", (p_ - high) + q)]


def _product(name: str, p_: Any, q: Any) -> list[Any]:
    high = b.name(f"{name}_h")
    return [let(f"double {name}_h", p_ * q), let(f"double {name}_l", fma(p_, q, -high))]


def log_pair() -> Function:
    """ln x as a pair, its error about 2^-66: s in two parts, and the two first terms of the
    series in double-double."""
    s_h, s_l, w_h, w_l, z_h, z_l, c_h, c_l, g_h, g_l, e_h, e_l = (
        b.name(v) for v in ("s_h", "s_l", "w_h", "w_l", "z_h", "z_l", "c_h", "c_l", "g_h", "g_l",
                            "e_h", "e_l")
    )
    third = parts(Fraction(2, 3), 2)
    return define(
        "log_pair", "__nvir_pair", "double x", *_split(),
        # w = 2 + f, s = f / w
        *_sum("w", num(2.0), f), let("double s_h", f / w_h),
        let("double s_l", (fma(-s_h, w_h, f) - s_h * w_l) / w_h),
        # z = s², then g = z (2/3 + …)
        let("double z_h", s_h * s_h), let("double z_l", fma(s_h, s_h, -z_h) + num(2.0) * s_h * s_l),
        let("double z", z_h), let("double p", z_h * poly("z", _ATANH[1:])),
        *_sum("c", num(third[0]), p), b.assign(c_l, num(third[1]), "+="),
        let("double g_h", z_h * c_h),
        let("double g_l", fma(z_h, c_h, -g_h) + z_h * c_l + z_l * c_h),
        # ln m = s (2 + g)
        *_sum("e", num(2.0), g_h), b.assign(e_l, g_l, "+="),
        let("double t_h", s_h * e_h),
        let("double t_l", fma(s_h, e_h, -b.name("t_h")) + s_h * e_l + s_l * e_h),
        # + n ln 2
        let("double q_h", n * num(LN2_HI)), let("double q_l", n * num(LN2_MID)),
        let("double v_h", b.name("q_h") + b.name("t_h")),
        let("double bb", b.name("v_h") - b.name("q_h")),
        let("double v_l", (b.name("q_h") - (b.name("v_h") - b.name("bb")))
            + (b.name("t_h") - b.name("bb"))),
        let("double y_h", b.name("v_h") + b.name("q_l")),
        let("double cc", b.name("y_h") - b.name("v_h")),
        let("double y_l", (b.name("v_h") - (b.name("y_h") - b.name("cc")))
            + (b.name("q_l") - b.name("cc"))),
        b.assign(b.name("y_l"), b.name("v_l") + b.name("t_l") + n * num(LN2_LO), "+="),
        let("__nvir_pair out"),
        b.assign(b.name("out").hi, b.name("y_h") + b.name("y_l")),
        b.assign(b.name("out").lo, (b.name("y_h") - b.name("out").hi) + b.name("y_l")),
        b.ret(b.name("out")),
    )


def pow_() -> Function:
    """e^(y ln |x|), the logarithm and the product in two parts; C's special cases."""
    l_ = b.name("l")
    odd = b.name("odd")
    whole = b.land(b.call("trunc", y) == y, b.call("fabs", y) < num(2.0**53))
    return define(
        "pow", "double", "double x, double y",
        b.if_(b.lor(y == num(0.0), x == num(1.0)), give(1.0)),
        b.if_(b.lor(x != x, y != y), b.ret(x + y)),
        let("bool odd", b.land(whole, b.cast("long long", y) & b.s64(1))),
        let("double a", b.call("fabs", x)),
        b.if_(b.call("fabs", y) == num(INFINITY),
              b.if_(a == num(1.0), give(1.0)),
              b.ret(b.cond((a > num(1.0)) == (y > num(0.0)), num(INFINITY), num(0.0)))),
        b.if_(b.lor(a == num(0.0), a == num(INFINITY)),
              let("double t", b.cond((a == num(0.0)) == (y > num(0.0)), num(0.0), num(INFINITY))),
              b.ret(b.cond(odd, b.call("copysign", t, x), t))),
        b.if_(b.land(x < num(0.0), b.call("trunc", y) != y), give(NAN)),
        let("__nvir_pair l", own("log_pair", a)),
        let("double hi", y * l_.hi),
        b.if_(b.lor(hi > num(800.0), hi < num(-800.0)),
              let("double t", b.cond(hi > num(0.0), num(INFINITY), num(0.0))),
              b.ret(b.cond(b.land(odd, x < num(0.0)), -t, t))),
        let("double lo", fma(y, l_.hi, -hi) + y * l_.lo),
        let("double n", b.call("rint", hi * num(LOG2_E))),
        let("double r", fma(-n, LN2_B, fma(-n, LN2_A, hi)) + lo), *_exp_of_r(),
        let("int k", b.cast("int", n)), let("int h", k >> 1),
        let("double z", (t + num(1.0)) * power_of_2(h) * power_of_2(k - h)),
        b.ret(b.cond(b.land(odd, x < num(0.0)), -z, z)),
    )


# ----------------------------------------------------------------- hyperbolic


def sinh() -> Function:
    return define(
        "sinh", "double", "double x", let("double a", b.call("fabs", x)),
        b.if_(a > num(700.0), let("double t", own("exp", a * num(0.5))),
              b.ret(b.call("copysign", num(0.5) * t * t, x))),
        let("double u", own("expm1", a)),
        give(b.call("copysign", num(0.5) * (u + u / (u + num(1.0))), x)),
    )


def cosh() -> Function:
    return define(
        "cosh", "double", "double x", let("double a", b.call("fabs", x)),
        b.if_(a > num(700.0), let("double t", own("exp", a * num(0.5))),
              b.ret(num(0.5) * t * t)),
        let("double u", own("exp", a)), give(num(0.5) * (u + num(1.0) / u)),
    )


def tanh() -> Function:
    return define(
        "tanh", "double", "double x", let("double a", b.call("fabs", x)),
        b.if_(a > num(22.0), b.ret(b.call("copysign", num(1.0), x))),
        b.if_(x != x, b.ret(x)),
        let("double u", own("expm1", a * num(2.0))),
        give(b.call("copysign", u / (u + num(2.0)), x)),
    )


def asinh() -> Function:
    return define(
        "asinh", "double", "double x", let("double a", b.call("fabs", x)),
        b.if_(b.lnot(a < num(2.0**28)),
              b.ret(b.call("copysign", own("log", a) + num(LN2_A), x))),
        let("double u", a * a),
        let("double t", own("log1p", a + u / (num(1.0) + b.call("sqrt", u + num(1.0))))),
        give(b.call("copysign", t, x)),
    )


def acosh() -> Function:
    return define(
        "acosh", "double", "double x",
        b.if_(x > num(2.0**28), b.ret(own("log", x) + num(LN2_A))),
        let("double t", x - num(1.0)),
        give(own("log1p", t + b.call("sqrt", t * (t + num(2.0))))),
    )


def atanh() -> Function:
    return define(
        "atanh", "double", "double x", let("double a", b.call("fabs", x)),
        let("double t", num(0.5) * own("log1p", num(2.0) * a / (num(1.0) - a))),
        give(b.call("copysign", t, x)),
    )


ROWS: dict[str, Any] = {
    "exp": (exp, (), ()), "exp2": (exp2, (), ()), "exp10": (exp10, (), ()),
    "expm1": (expm1, ("exp",), ()), "log": (log, (), ()), "log2": (log2, (), ()),
    "log10": (log10, (), ()), "log1p": (log1p, ("log",), ()), "logb": (logb, ("ilogb",), ()),
    "log_pair": (log_pair, (), ()), "pow": (pow_, ("log_pair",), ()),
    "sinh": (sinh, ("exp", "expm1"), ()), "cosh": (cosh, ("exp",), ()),
    "tanh": (tanh, ("expm1",), ()), "asinh": (asinh, ("log", "log1p"), ()),
    "acosh": (acosh, ("log", "log1p"), ()), "atanh": (atanh, ("log1p",), ()),
}
