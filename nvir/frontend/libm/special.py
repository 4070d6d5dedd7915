"""Error functions, roots, remainders, and what looks at the bits.

erfc    e^(-x²) / (1 + 2x) times a polynomial in (x - 3.75)/(x + 3.75), after Shepherd and
        Laframboise; its coefficients were computed by interpolation at 28 Chebyshev nodes with 80
        digits. erf near 0 by its Taylor series.
fmod    long division of the mantissas, eleven bits a step; exact.
"""

from __future__ import annotations

import math
from typing import Any

from nvir.frontend import build as b
from nvir.frontend.libm.constants import pi
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

x, y, n, r, t, u, a, k, e, s, z, w, v, h, p = b.names("x y n r t u a k e s z w v h p")

_ERFC = (
    1.2375126308378275, -0.14024059858554697, 0.0035854154854790257, 0.0822767384901452,
    -0.10880393014244462, 0.09230432116037748, -0.05869339857664934, 0.02836227741895638,
    -0.009746579683265269, 0.0017556258528954381, 0.0002937143780449928, -0.00029015408054142004,
    5.1646529741673094e-05, 2.2384239156587296e-05, -1.143804803315833e-05, -9.735598993056324e-07,
    1.7419821583964642e-06, -5.721822774332313e-08, -2.485712623119366e-07, 2.326350670892373e-08,
    3.1979266645900444e-08, -3.744209283511236e-09, -2.6231073342776263e-09, 3.1114319980779813e-10,
)
_TWO_OVER_ROOT_PI = 2 / math.sqrt(float(pi()))
_ERF = [
    _TWO_OVER_ROOT_PI * (-1) ** k_ / (math.factorial(k_) * (2 * k_ + 1)) for k_ in range(1, 16)
]


def erfc_positive() -> Function:
    """erfc of x >= 0. e^(-x²) takes x in two parts, as an error of x² weighs 2x² times."""
    return define(
        "erfc_positive", "double", "double x",
        b.if_(x > num(27.5), give(0.0)),
        let("double z", (x - num(3.75)) / (x + num(3.75))),
        let("double h", x * x), let("double r", fma(x, x, -h)),
        let("double w", own("exp", -h)),
        let("double t", poly("z", _ERFC) / fma(x, 2.0, 1.0)),
        give(t * (w - w * r)),
    )


def erfc() -> Function:
    return define(
        "erfc", "double", "double x", b.if_(x != x, b.ret(x)),
        b.if_(x > num(0.0), b.ret(own("erfc_positive", x))),
        b.if_(x > num(-0.5), b.ret(num(1.0) - own("erf", x))),
        give(num(2.0) - own("erfc_positive", -x)),
    )


def erf() -> Function:
    return define(
        "erf", "double", "double x", let("double a", b.call("fabs", x)),
        b.if_(b.lor(x != x, x == num(0.0)), b.ret(x)),
        b.if_(a < num(0.9), let("double z", x * x),
              b.ret(fma(x * z, poly("z", _ERF), x * num(_TWO_OVER_ROOT_PI)))),
        give(b.call("copysign", num(1.0) - own("erfc_positive", a), x)),
    )


def normcdf() -> Function:
    return define("normcdf", "double", "double x",
                  give(num(0.5) * own("erfc", x * num(-(0.5**0.5)))))


# ---------------------------------------------------------------------- roots


def cbrt() -> Function:
    """e^(ln x / 3), then one step of Newton's."""
    return define(
        "cbrt", "double", "double x", let("double a", b.call("fabs", x)),
        b.if_(b.lor(a == num(0.0), b.lnot(a < num(INFINITY))), b.ret(x)),
        let("double s", num(1.0)),
        b.if_(a < num(2.0**-600), b.assign(a, num(2.0**900), "*="), b.assign(s, num(2.0**-300))),
        let("double t", own("exp", own("log", a) * num(1 / 3))),
        let("double u", t * t), let("double r", fma(u, t, -a) + fma(t, t, -u) * t),
        b.assign(t, r / (num(3.0) * u), "-="), b.ret(b.call("copysign", t * s, x)),
    )


def rcbrt() -> Function:
    return define("rcbrt", "double", "double x", give(num(1.0) / own("cbrt", x)))


def rsqrt() -> Function:
    return define("rsqrt", "double", "double x", give(num(1.0) / b.call("sqrt", x)))


def frsqrt() -> Function:
    made = num(1.0) / b.call("sqrt", b.cast("double", x))
    return b.function("float __nvir_frsqrt_rn", "float x", b.ret(b.cast("float", made)))


def hypot() -> Function:
    """√(x² + y²) after scaling, with what the squares lost put back."""
    big, small, scale = b.names("big small scale")
    return define(
        "hypot", "double", "double x, double y",
        let("double a", b.call("fabs", x)), let("double e", b.call("fabs", y)),
        b.if_(b.lor(a == num(INFINITY), e == num(INFINITY)), give(INFINITY)),
        b.if_(b.lor(x != x, y != y), b.ret(x + y)),
        let("double big", b.cond(a > e, a, e)), let("double small", b.cond(a > e, e, a)),
        b.if_(big == num(0.0), b.ret(big)),
        let("double scale", num(1.0)),
        b.if_(big > num(2.0**500), b.assign(scale, num(2.0**600))),
        b.if_(big < num(2.0**-400), b.assign(scale, num(2.0**-600))),
        b.assign(big, big / scale), b.assign(small, small / scale),
        let("double h", big * big), let("double u", fma(big, big, -h)),
        let("double s", b.call("sqrt", fma(small, small, h) + u)),
        let("double r", (fma(-s, s, h) + fma(small, small, u))),
        b.if_(s > num(0.0), b.assign(s, r / (num(2.0) * s), "+=")),
        give(s * scale),
    )


# ----------------------------------------------------------------- remainders


def fmod() -> Function:
    m, d, q, j = b.names("m d q j")
    implied = b.u64(1 << 52)
    mask = b.s64((1 << 52) - 1)

    def split(value: str, mantissa: str, exponent: str) -> list[Any]:
        """A positive number as mantissa 2^(exponent - 1075), both whole."""
        raw = b.name(f"{mantissa}0")
        return [
            let(f"long long {mantissa}0", bits(b.name(value))),
            let(f"int {exponent}", b.cast("int", raw >> 52)),
            let(f"unsigned long long {mantissa}", b.cast("unsigned long long", raw & mask)),
            b.if_(b.name(exponent) == 0, b.assign(b.name(exponent), 1),
                  otherwise=b.assign(b.name(mantissa), implied, "|=")),
        ]

    ex, ey = b.names("ex ey")
    return define(
        "fmod", "double", "double x, double y",
        let("double a", b.call("fabs", x)), let("double w", b.call("fabs", y)),
        b.if_(b.lor(b.lor(b.lnot(a < num(INFINITY)), y != y), w == num(0.0)), give(NAN)),
        b.if_(a < w, b.ret(x)),
        *split("a", "m", "ex"), *split("w", "d", "ey"),
        let("int j", ex - ey), b.assign(m, m % d),
        b.while_(b.land(j > 0, m != 0),
                 let("int q", b.cond(j > 11, 11, j)), b.assign(m, (m << q) % d),
                 b.assign(j, q, "-=")),
        # m 2^(ey - 1075), exact: m < 2^53
        let("double t", b.cast("double", m)),
        b.if_(ey > 1074,
              b.assign(t, t * num(2.0**52) * power_of_2(ey - 1075 - 52)),
              otherwise=b.assign(t, own("ldexp", t, ey - 1075))),
        give(b.call("copysign", t, x)),
    )


def fdim() -> Function:
    return define("fdim", "double", "double x, double y",
                  b.if_(b.lor(x != x, y != y), b.ret(x + y)),
                  b.ret(b.cond(x > y, x - y, num(0.0))))


# ----------------------------------------------------------------------- bits


def ldexp() -> Function:
    """x 2^n: in steps that no rounding but the last touches."""
    return define(
        "ldexp", "double", "double x, int n",
        b.if_(n > 1023, b.assign(x, num(2.0**1023), "*="), b.assign(n, 1023, "-="),
              b.if_(n > 1023, b.assign(x, num(2.0**1023), "*="), b.assign(n, 1023, "-="),
                    b.if_(n > 1023, b.assign(n, 1023)))),
        b.if_(n < -1022, b.assign(x, num(2.0**-969), "*="), b.assign(n, 969, "+="),
              b.if_(n < -1022, b.assign(x, num(2.0**-969), "*="), b.assign(n, 969, "+="),
                    b.if_(n < -1022, b.assign(n, -1022)))),
        give(x * power_of_2(n)),
    )


def ilogb() -> Function:
    return b.function(
        "int __nvir_ilogb", "double x", let("double a", b.call("fabs", x)),
        b.if_(b.lor(a == num(0.0), x != x), b.ret(-(2**31))),
        b.if_(a == num(INFINITY), b.ret(2**31 - 1)),
        b.if_(a < num(2.0**-1022),
              b.ret(b.cast("int", bits(a * num(2.0**54)) >> 52) - (1023 + 54))),
        b.ret(b.cast("int", bits(a) >> 52) - 1023),
    )


def frexp() -> Function:
    return b.function(
        "double __nvir_frexp", "double x, int *e",
        b.assign(b.deref(e), 0),
        b.if_(b.lor(x == num(0.0), b.lnot(b.call("fabs", x) < num(INFINITY))), b.ret(x)),
        let("int k", own("ilogb", x) + 1), b.assign(b.deref(e), k),
        b.ret(own("ldexp", x, -k)),
    )


def modf() -> Function:
    i = b.name("i")
    return b.function(
        "double __nvir_modf", "double x, double *i",
        let("double t", b.call("trunc", x)), b.assign(b.deref(i), t),
        b.if_(b.call("fabs", x) == num(INFINITY), b.ret(b.call("copysign", num(0.0), x))),
        b.ret(b.call("copysign", x - t, x)),
    )


def _float_of(name: str) -> Function:
    """frexpf and modff, ldexpf and ilogbf."""
    d = b.cast("double", x)
    if name == "ldexp":
        made = b.cast("float", own("ldexp", d, n))
        return b.function("float __nvir_ldexpf", "float x, int n", b.ret(made))
    if name == "ilogb":
        return b.function("int __nvir_ilogbf", "float x", b.ret(own("ilogb", d)))
    if name == "frexp":
        made = b.cast("float", own("frexp", d, e))
        return b.function("float __nvir_frexpf", "float x, int *e", b.ret(made))
    i = b.name("i")
    return b.function(
        "float __nvir_modff", "float x, float *i", let("double t"),
        let("float r", own("modf", d, b.addr(t))), b.assign(b.deref(i), b.cast("float", t)),
        b.ret(r),
    )


def nextafter() -> Function:
    return define(
        "nextafter", "double", "double x, double y",
        b.if_(b.lor(x != x, y != y), b.ret(x + y)), b.if_(x == y, b.ret(y)),
        b.if_(x == num(0.0), b.ret(b.call("copysign", real(b.s64(1)), y))),
        let("long long u", bits(x)),
        b.if_((x < y) == (x > num(0.0)), b.inc(u), otherwise=b.dec(u)), b.ret(real(u)),
    )


def nextafterf() -> Function:
    f32 = b.f32
    return b.function(
        "float __nvir_nextafterf", "float x, float y",
        b.if_(b.lor(x != x, y != y), b.ret(x + y)), b.if_(x == y, b.ret(y)),
        b.if_(x == f32(0), b.ret(b.call("copysignf", b.call("__int_as_float", 1), y))),
        let("int u", b.call("__float_as_int", x)),
        b.if_((x < y) == (x > f32(0)), b.inc(u), otherwise=b.dec(u)),
        b.ret(b.call("__int_as_float", u)),
    )


def _f(name: str) -> Any:
    return lambda: _float_of(name)


ROWS: dict[str, Any] = {
    "erfc_positive": (erfc_positive, ("exp",), ()), "erfc": (erfc, ("erf", "erfc_positive"), ()),
    "erf": (erf, ("erfc_positive",), ()), "normcdf": (normcdf, ("erfc",), ()),
    "cbrt": (cbrt, ("exp", "log"), ()), "rcbrt": (rcbrt, ("cbrt",), ()),
    "rsqrt": (rsqrt, (), ()), "frsqrt_rn": (frsqrt, (), ()), "hypot": (hypot, (), ()),
    "fmod": (fmod, ("ldexp",), ()), "fdim": (fdim, (), ()), "ldexp": (ldexp, (), ()),
    "ilogb": (ilogb, (), ()), "frexp": (frexp, ("ilogb", "ldexp"), ()), "modf": (modf, (), ()),
    "nextafter": (nextafter, (), ()), "nextafterf": (nextafterf, (), ()),
    **{f"{k_}f": (_f(k_), (k_,), ()) for k_ in ("ldexp", "ilogb", "frexp", "modf")},
}
