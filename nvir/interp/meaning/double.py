"""f64 arithmetic that numpy lacks: fused multiply-add, and every operation in directed modes.

Method   A vector path for the lanes whose operands and results stay clear of overflow and
         underflow: the exact result is `s + error` by error-free transforms, rounded once. The
         other lanes, which are rare, are computed one by one with Python's integers.
NaN      Payloads pass: the result is the first operand that is a NaN, made quiet; an invalid
         operation gives 0xfff8000000000000.
Source   Boldo, Melquiond, IEEE TC 57(4), 2008 (the fused multiply-add).
"""

# mypy: disable-error-code="no-any-return"
from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nvir.interp.meaning.lanes import Lanes, some
from nvir.interp.meaning.rounding import directed, to_odd, two_product, two_sum

_QUIET = np.uint64(1 << 51)
_DEFAULT_NAN = np.uint64(0xFFF8 << 48)


def keep_nan(result: Lanes, *operands: Lanes) -> Lanes:
    """float64 `result` with its NaNs replaced by the first NaN operand, quiet, or the default."""
    nan = result != result
    if not some(nan):
        return result
    bits = np.broadcast_to(_DEFAULT_NAN, result.shape)
    for operand in reversed(operands):
        bits = np.where(operand != operand, operand.view(np.uint64) | _QUIET, bits)
    return np.asarray(np.where(nan, bits, result.view(np.uint64)).view(np.float64))


def _exponent(a: Lanes) -> Lanes:
    """The biased exponent: 0 for zeros and subnormals, 2047 for infinities and NaNs."""
    return ((a.view(np.int64) >> np.int64(52)) & np.int64(0x7FF)).astype(np.int64)


def add(a: Lanes, b: Lanes, rnd: str = "rn") -> Lanes:
    """`a + b` (float64) rounded in mode rn, rz, rm or rp."""
    if rnd == "rn":
        return keep_nan(a + b, a, b)
    s, error = two_sum(a, b)
    s = _sign_of_zero(s, np.signbit(a), np.signbit(b), rnd)
    out = directed(s, error, rnd)
    near_top = np.maximum(_exponent(a), _exponent(b)) >= 2045
    return keep_nan(_patch(out, near_top, "add", rnd, a, b), a, b)


def mul(a: Lanes, b: Lanes, rnd: str = "rn") -> Lanes:
    """`a * b` (float64) rounded in mode rn, rz, rm or rp."""
    if rnd == "rn":
        return keep_nan(a * b, a, b)
    p, error = two_product(a, b)
    out = directed(p, error, rnd)
    return keep_nan(_patch(out, _risky_product(a, b), "mul", rnd, a, b), a, b)


def fma(a: Lanes, b: Lanes, c: Lanes, rnd: str = "rn") -> Lanes:
    """`a * b + c` (float64) rounded once, in mode rn, rz, rm or rp."""
    p, low = two_product(a, b)
    if rnd == "rn":
        quick, safe = _quick_fma(p, low, a, b, c)
        if np.all(safe):
            return quick
    upper, lower = two_sum(c, low)
    top, rest = two_sum(p, upper)
    tail = to_odd(*two_sum(rest, lower))
    s, error = two_sum(top, tail)
    s = _sign_of_zero(s, np.signbit(a) ^ np.signbit(b), np.signbit(c), rnd)
    if rnd != "rn":
        s = directed(s, error, rnd)
    risky = _risky_product(a, b) | (_exponent(c) >= 2040)
    return keep_nan(_patch(s, risky, "fma", rnd, a, b, c), a, b, c)


def _quick_fma(p: Lanes, low: Lanes, a: Lanes, b: Lanes, c: Lanes) -> tuple[Lanes, Lanes]:
    """`p + low + c` in rn by plain additions, and the lanes where that is surely right: where the
    rounding error of the tail cannot change the result, and the product's parts are exact."""
    s, tail = two_sum(p, c)
    tail = tail + low
    result = np.where(tail == 0, s, s + tail)  # keeps the sign of a zero sum
    doubt = np.abs(tail) * 2.0**-52
    size = np.abs(p)
    exact = ((size > 2.0**-960) & (size < 2.0**1000)) | (a == 0) | (b == 0)
    same = (s + (tail + doubt) == result) & (s + (tail - doubt) == result)
    return np.asarray(result), np.asarray(exact & same)


def div(a: Lanes, b: Lanes, rnd: str = "rn") -> Lanes:
    """`a / b` (float64) rounded in mode rn, rz, rm or rp."""
    q = a / b
    if rnd == "rn":
        return keep_nan(q, a, b)
    p, error = two_product(q, b)
    out = directed(q, np.copysign(1.0, b) * ((a - p) - error), rnd)
    ea, eb = _exponent(a), _exponent(b)
    risky = (ea < 120) | (ea > 1900) | (eb < 120) | (eb > 1900) | (abs(ea - eb) > 900)
    return keep_nan(_patch(out, risky, "div", rnd, a, b), a, b)


def sqrt(a: Lanes, rnd: str = "rn") -> Lanes:
    """The square root of float64 `a` rounded in mode rn, rz, rm or rp."""
    q = np.sqrt(a)
    if rnd == "rn":
        return keep_nan(q, a)
    p, error = two_product(q, q)
    out = directed(q, (a - p) - error, rnd)
    ea = _exponent(a)
    return keep_nan(_patch(out, (ea < 120) | (ea > 1900), "sqrt", rnd, a), a)


def _sign_of_zero(s: Lanes, a_negative: Lanes, b_negative: Lanes, rnd: str) -> Lanes:
    """An exact zero sum: -0 if both terms are, towards minus infinity unless both are +0."""
    zero = s == 0
    if not some(zero):
        return s
    negative = a_negative | b_negative if rnd == "rm" else a_negative & b_negative
    return np.asarray(np.where(zero, np.where(negative, -0.0, 0.0), s))


def _risky_product(a: Lanes, b: Lanes) -> Lanes:
    """Lanes whose product may leave the range in which `two_product` is exact."""
    ea, eb = _exponent(a), _exponent(b)
    total = ea + eb
    safe = (ea < 2010) & (eb < 2010) & (ea > 0) & (eb > 0) & (total > 1140) & (total < 3060)
    zero = ((a == 0) & (eb < 2010)) | ((b == 0) & (ea < 2010))
    return np.asarray(~(safe | zero))


# --- one lane at a time, with Python's integers ---------------------------------------------


def _patch(out: Lanes, risky: Lanes, op: str, rnd: str, *operands: Lanes) -> Lanes:
    """`out` with its risky lanes computed anew, exactly."""
    if not some(risky):
        return out
    out, risky, *operands_ = np.broadcast_arrays(out, risky, *operands)
    out = out.copy()
    for i in np.nonzero(risky.ravel())[0]:
        lane = [float(x.flat[i]) for x in operands_]
        out.flat[i] = (
            _special(op, lane) if not all(map(math.isfinite, lane)) else _LANE[op](rnd, *lane)
        )
    return out


def _special(op: str, lane: list[float]) -> float:
    """The result where an operand is infinite or NaN: no rounding happens."""
    a, b, c = (np.float64(x) for x in ([*lane, 0.0, 0.0])[:3])
    with np.errstate(all="ignore"):
        if op == "fma":  # a finite product that overflows must not meet an infinite c
            return float(c if np.isfinite(a) and np.isfinite(b) else a * b + c)
        return float({"add": a + b, "mul": a * b, "div": a / b, "sqrt": np.sqrt(a)}[op])


def _parts(x: float) -> tuple[int, int]:
    """A finite float as `integer * 2^exponent`."""
    mantissa, exponent = math.frexp(x)
    return int(mantissa * (1 << 53)), exponent - 53


def _add_lane(rnd: str, a: float, b: float) -> float:
    return _fma_lane(rnd, a, 1.0, b)


def _mul_lane(rnd: str, a: float, b: float) -> float:
    (ma, ea), (mb, eb) = _parts(a), _parts(b)
    if ma * mb == 0:
        return math.copysign(0.0, a) * math.copysign(1.0, b)
    return _round(ma * mb, ea + eb, False, rnd)


def _fma_lane(rnd: str, a: float, b: float, c: float) -> float:
    (ma, ea), (mb, eb), (mc, ec) = _parts(a), _parts(b), _parts(c)
    if ma * mb == 0:
        product = math.copysign(1.0, a) * math.copysign(0.0, b)
        if mc != 0:
            return c
        if math.copysign(1.0, product) == math.copysign(1.0, c):
            return c
        return -0.0 if rnd == "rm" else 0.0
    if mc == 0:
        return _round(ma * mb, ea + eb, False, rnd)
    exp = min(ea + eb, ec)
    total = (ma * mb << (ea + eb - exp)) + (mc << (ec - exp))
    if total == 0:
        return -0.0 if rnd == "rm" else 0.0
    return _round(total, exp, False, rnd)


def _div_lane(rnd: str, a: float, b: float) -> float:
    if b == 0 or a == 0:
        with np.errstate(all="ignore"):
            return float(np.float64(a) / np.float64(b))
    (ma, ea), (mb, eb) = _parts(a), _parts(b)
    q, r = divmod(abs(ma) << 64, abs(mb))
    return _round(q if (ma < 0) == (mb < 0) else -q, ea - eb - 64, r != 0, rnd)


def _sqrt_lane(rnd: str, a: float) -> float:
    if a <= 0:
        return float(a) if a == 0 else math.nan
    m, e = _parts(a)
    m, e = (m << 65, e - 65) if (e - 65) % 2 == 0 else (m << 66, e - 66)
    q = math.isqrt(m)
    return _round(q, e // 2, q * q != m, rnd)


def _round(sig: int, exp: int, sticky: bool, rnd: str) -> float:
    """`sig * 2^exp` (away from zero by less than a unit if `sticky`) rounded to float64."""
    negative, sig = sig < 0, abs(sig)
    shift = max(sig.bit_length() + exp - 53, -1074) - exp
    if shift > 0:
        kept, rest = sig >> shift, sig & ((1 << shift) - 1)
        half = 1 << (shift - 1)
        above = rest > half or (rest == half and sticky)
        tie = rest == half and not sticky
        inexact = rest != 0 or sticky
    else:
        kept, above, tie, inexact = sig << -shift, False, False, sticky
    up = {
        "rn": above or (tie and kept & 1 == 1),
        "rz": False,
        "rm": negative and inexact,
        "rp": not negative and inexact,
    }[rnd]
    kept += up
    limit = rnd == "rz" or rnd == ("rp" if negative else "rm")
    if (kept.bit_length() + shift + exp) > 1024:
        value = math.ldexp((1 << 53) - 1, 971) if limit else math.inf
    else:
        value = math.ldexp(kept, shift + exp)
    return -value if negative else value


_LANE: dict[str, Callable[..., float]] = {
    "add": _add_lane,
    "mul": _mul_lane,
    "fma": _fma_lane,
    "div": _div_lane,
    "sqrt": _sqrt_lane,
}
