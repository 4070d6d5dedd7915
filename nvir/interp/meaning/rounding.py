"""Floating-point formats and exact rounding of any result to any of them, in every mode.

Idea     An operation on a narrow format is computed in float64 and *rounded to odd* there: when
         the float64 is not exact, of its two neighbours the one with an odd last bit is taken.
         Such a value can be rounded once more to any format of at most 51 bits, in any mode, and
         gives what rounding the exact result would have given (no double rounding).
Method   Error-free transforms make the exact result of an addition or product a sum of two
         float64 (`two_sum`, `two_product`); the sign of the second part says in which direction
         the first was rounded. `round_to` then rounds to f16, f32 and bf16 by numpy's cast plus a
         correction, and to the small formats on the bits (`pack`).
NaN      Results are the canonical NaN of the format (0x7fffffff, 0x7fff ...).
Cost     About ten numpy operations for a directed mode; `rn` to f32 is one cast.
Source   Boldo, Melquiond, "Emulation of a FMA and correctly rounded sums", IEEE TC 57(4), 2008;
         Dekker, "A floating-point technique for extending the available precision", 1971;
         PTX ISA 9.0, 5.2.3 (alternate formats), 9.7.9.21 (cvt).
"""

# mypy: disable-error-code="no-any-return"
from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from nvir.interp.meaning.lanes import Lanes, low, raw, some


@attrs.frozen
class RoundingFormat:
    """A binary floating-point format, its special values given as magnitudes (no sign bit)."""

    name: str
    width: int  # bits, sign included
    man: int  # explicit fraction bits
    bias: int
    max: int  # largest finite magnitude
    inf: int | None  # None: the format has no infinity
    nan: int  # what a NaN becomes

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.width - 1)


FORMATS = {
    f.name: f
    for f in (
        RoundingFormat("f64", 64, 52, 1023, 0x7FEFFFFFFFFFFFFF, 0x7FF << 52, 0xFFF8 << 48),
        RoundingFormat("f32", 32, 23, 127, 0x7F7FFFFF, 0x7F800000, 0x7FFFFFFF),
        RoundingFormat("tf32", 19, 10, 127, 0x3FBFF, 0x3FC00, 0x3FFFF),  # the upper bits of an f32
        RoundingFormat("f16", 16, 10, 15, 0x7BFF, 0x7C00, 0x7FFF),
        RoundingFormat("bf16", 16, 7, 127, 0x7F7F, 0x7F80, 0x7FFF),
        RoundingFormat("e4m3", 8, 3, 7, 0x7E, None, 0x7F),
        RoundingFormat("e5m2", 8, 2, 15, 0x7B, 0x7C, 0x7F),
        RoundingFormat("e2m3", 6, 3, 1, 0x1F, None, 0x1F),  # no NaN: it becomes the largest number
        RoundingFormat("e3m2", 6, 2, 3, 0x1F, None, 0x1F),
        RoundingFormat("e2m1", 4, 1, 1, 0x7, None, 0x7),
    )
}

_U64 = np.uint64
_ONE = _U64(1)


# --- error-free transforms on float64 -------------------------------------------------------


def two_sum(a: Lanes, b: Lanes) -> tuple[Lanes, Lanes]:
    """`a + b` as its rounded sum and the exact error (Knuth). NaN errors where it overflows."""
    s = a + b
    t = s - a
    u = s - t
    np.subtract(a, u, out=u)
    np.subtract(b, t, out=t)
    u += t
    return s, u


def _halves(a: Lanes) -> tuple[Lanes, Lanes]:
    """A float64 as the sum of two of 26 bits (Veltkamp); |a| below 2^996."""
    t = a * 134217729.0
    high = t - a
    np.subtract(t, high, out=high)
    return high, np.subtract(a, high, out=t)


def two_product(a: Lanes, b: Lanes) -> tuple[Lanes, Lanes]:
    """`a * b` as its rounded product and the exact error (Dekker).

    Exact while no operand reaches 2^996 and the product lies in [2^-968, 2^1023] or is zero.
    """
    p = a * b
    ah, al = _halves(a)
    bh, bl = _halves(b)
    error = ah * bh
    error -= p
    error += ah * bl
    error += al * bh
    error += al * bl
    return p, error


def to_odd(s: Lanes, error: Lanes) -> Lanes:
    """`s + error`, where |error| is at most half an ulp of s, rounded to odd.

    Only the sign of `error` is used; a NaN counts as no error.
    """
    bits = s.view(np.int64)
    inexact = (error != 0) & (error == error) & ((bits & 1) == 0)
    if not some(inexact):
        return s
    away = (error > 0) == (s > 0)
    return np.asarray(np.where(inexact, bits + np.where(away, 1, -1), bits).view(np.float64))


def directed(s: Lanes, error: Lanes, rnd: str) -> Lanes:
    """The float64 that `s + error` rounds to in mode `rnd`, given that `s` is its rounding to
    nearest and |error| at most half an ulp. Only the sign of `error` is used."""
    up, down = error > 0, error < 0
    positive = s > 0
    if rnd == "rz":
        step = np.where(positive, down, up) * -1
    elif rnd == "rm":
        step = down * np.where(positive, -1, 1)
    elif rnd == "rp":
        step = up * np.where(positive, 1, -1)
    else:
        return s
    return np.asarray((s.view(np.int64) + step).view(np.float64))


def odd_sum(a: Lanes, b: Lanes, rnd: str) -> Lanes:
    """`a + b` rounded to odd; an exact zero has the sign that mode `rnd` gives it."""
    s, error = two_sum(a, b)
    if rnd == "rm":
        zero = s == 0
        negative = np.signbit(a) | np.signbit(b)
        s = np.where(zero, np.where(negative, -0.0, 0.0), s)
    return to_odd(s, error)


def odd_quotient(a: Lanes, b: Lanes) -> Lanes:
    """`a / b` rounded to odd, for operands that an f32 can hold."""
    q = a / b
    p, error = two_product(q, b)
    return to_odd(q, np.copysign(1.0, b) * ((a - p) - error))


def odd_sqrt(a: Lanes) -> Lanes:
    """The square root of `a` rounded to odd, for an operand that an f32 can hold."""
    q = np.sqrt(a)
    p, error = two_product(q, q)
    return to_odd(q, (a - p) - error)


# --- rounding -------------------------------------------------------------------------------


def round_to(
    x: Lanes,
    name: str,
    rnd: str = "rn",
    *,
    satfinite: bool = False,
    random: Lanes | None = None,
    random_bits: int = 0,
) -> Lanes:
    """The raw bits of `x` in format `name`, as uint16 (8 bits and fewer too), uint32 or uint64.

    `x` is float64, exact or rounded to odd; `rnd` is rn, rz, rm, rp, rna (ties away) or rs
    (stochastic: `random` holds `random_bits` random bits, added to the discarded ones). With
    `satfinite`, what is out of range becomes the largest finite number of its sign. tf32 comes as
    f32 bits whose low 13 are zero.
    """
    form = FORMATS[name]
    if name in ("f32", "f16", "bf16") and rnd in ("rn", "rz", "rm", "rp"):
        bits = _bfloat(x, rnd) if name == "bf16" else _cast(x, name, rnd)
        if satfinite:
            kind = bits.dtype.type
            overflow = (bits & kind(form.sign - 1)) == kind(form.inf or 0)
            bits = np.where(overflow, (bits & kind(form.sign)) | kind(form.max), bits)
    else:
        bits = _pack_float(x, form, rnd, satfinite, random, random_bits)
    nan = x != x
    if some(nan):
        bits = np.where(nan, bits.dtype.type(form.nan), bits)
    if name == "tf32":
        bits = bits << np.uint32(13)
    return bits


def _cast(x: Lanes, name: str, rnd: str) -> Lanes:
    """float64 to f32 or f16 by numpy's cast, which rounds to nearest, then one step back where
    the mode wants the other neighbour."""
    near = x.astype(np.float32 if name == "f32" else np.float16)
    bits = raw(near)
    if rnd == "rn":
        return bits
    back = near.astype(np.float64)
    negative = np.signbit(near)
    step: Lanes
    if rnd == "rz":
        step = -(np.abs(back) > np.abs(x)).astype(np.int64)
    elif rnd == "rm":
        step = (back > x) * np.where(negative, 1, -1)
    else:
        step = (back < x) * np.where(negative, -1, 1)
    return bits + step.astype(bits.dtype)


def _bfloat(x: Lanes, rnd: str) -> Lanes:
    """float64 to bf16, the upper half of an f32: rounded to odd in f32, then on the bits."""
    wide = _cast(x, "f32", "rz")
    wide = wide | (wide.view(np.float32) != x).astype(np.uint32)
    if rnd == "rn":
        wide = wide + (np.uint32(0x7FFF) + ((wide >> np.uint32(16)) & np.uint32(1)))
    elif rnd != "rz":
        away = (wide >> np.uint32(31)).astype(bool) == (rnd == "rm")
        wide = wide + np.where(away, np.uint32(0xFFFF), np.uint32(0))
    return (wide >> np.uint32(16)).astype(np.uint16)


def _pack_float(
    x: Lanes, form: RoundingFormat, rnd: str, satfinite: bool, random: Lanes | None,
    random_bits: int,
) -> Lanes:
    """`pack` of a float64; infinities go to the format's infinity or largest number."""
    bits = x.view(_U64)
    exponent = ((bits >> _U64(52)) & _U64(0x7FF)).astype(np.int64)
    fraction = bits & _U64((1 << 52) - 1)
    sig = np.where(exponent > 0, fraction | _U64(1 << 52), fraction)
    sign = (bits >> _U64(63)).astype(bool)
    out = pack(sign, sig, np.maximum(exponent, 1) - 1075, form, rnd, satfinite, random, random_bits)
    infinite = np.isinf(x)
    if some(infinite):
        top = form.max if satfinite or form.inf is None else form.inf
        signed = np.where(sign, form.sign | top, top).astype(out.dtype)
        out = np.where(infinite, signed, out)
    return out


def pack(
    sign: Lanes,
    sig: Lanes,
    exp: Lanes,
    form: RoundingFormat,
    rnd: str,
    satfinite: bool = False,
    random: Lanes | None = None,
    random_bits: int = 0,
) -> Lanes:
    """The bits of `(-1)^sign * sig * 2^exp` (bool, uint64, int64) in a format, rounded once."""
    emin = 1 - form.bias
    length = _bit_length(sig)
    leading = exp + length - 1
    scale = np.maximum(leading, emin)  # the exponent of the result's binade
    shift = np.minimum(scale - form.man - exp, length + 2)  # bits to discard; below: none is kept
    right = np.clip(shift, 0, 63).astype(_U64)
    mantissa = np.where(shift < 64, sig >> right, _U64(0)) << np.clip(-shift, 0, 63).astype(_U64)
    rest = np.where(shift > 0, sig & ((_ONE << right) - _ONE), _U64(0))
    half = np.where(shift > 0, _ONE << np.maximum(right, _ONE) - _ONE, _ONE)
    up = _round_up(sign, mantissa, rest, half, rnd)
    if rnd == "rs":
        assert random is not None
        up = _carry(rest, right, random.astype(_U64), random_bits)
    magnitude = mantissa + up + ((scale - emin).astype(_U64) << _U64(form.man))
    magnitude = np.where(length == 0, _U64(0), magnitude)
    overflow = magnitude > _U64(form.max)
    if some(overflow):
        away = {"rz": sign & False, "rm": sign, "rp": ~sign}.get(rnd, sign | True)
        top = form.nan if form.inf is None else form.inf
        limit = np.where(away & (not satfinite), _U64(top), _U64(form.max))
        magnitude = np.where(overflow, limit, magnitude)
    out = np.where(sign, magnitude | _U64(form.sign), magnitude)
    return out.astype(_register(form.width))


def _round_up(sign: Lanes, mantissa: Lanes, rest: Lanes, half: Lanes, rnd: str) -> Lanes:
    """Whether to add one to the kept bits, given the discarded ones and half their unit."""
    if rnd == "rn":
        up = (rest > half) | ((rest == half) & ((mantissa & _ONE) == _ONE))
    elif rnd == "rna":
        up = rest >= half
    elif rnd == "rm":
        up = sign & (rest != 0)
    elif rnd == "rp":
        up = ~sign & (rest != 0)
    else:
        up = np.zeros_like(rest, bool)
    return np.asarray(up.astype(_U64))


def _carry(rest: Lanes, shift: Lanes, random: Lanes, count: int) -> Lanes:
    """The carry of adding `count` random bits to the topmost `count` discarded bits."""
    n = _U64(count)
    aligned = np.where(
        shift > n, rest >> (np.maximum(shift, n) - n), rest << (n - np.minimum(shift, n))
    )
    return np.asarray((aligned + (random & ((_ONE << n) - _ONE))) >> n)


def _bit_length(sig: Lanes) -> Lanes:
    """The bit length of uint64 numbers, 0 for 0."""
    length = np.frexp(sig.astype(np.float64))[1].astype(np.int64)
    rounded_up = (length > 0) & ((sig >> np.maximum(length - 1, 0).astype(_U64)) == 0)
    return np.asarray(length - rounded_up)


def _register(width: int) -> np.dtype[Any]:
    return np.dtype(np.uint16 if width <= 16 else np.uint32 if width <= 32 else np.uint64)


# --- reading --------------------------------------------------------------------------------


def _table(form: RoundingFormat) -> Lanes:
    """The value of every code of a format of at most 8 bits, as float64."""
    codes = np.arange(1 << form.width)
    magnitude = codes & (form.sign - 1)
    exponent = magnitude >> form.man
    fraction = magnitude & ((1 << form.man) - 1)
    sig = np.where(exponent > 0, fraction + (1 << form.man), fraction)
    value = np.ldexp(sig.astype(np.float64), np.maximum(exponent, 1) - form.bias - form.man)
    if form.inf is not None:
        value = np.where(magnitude == form.inf, np.inf, value)
    value = np.where(magnitude > (form.inf if form.inf is not None else form.max), np.nan, value)
    return np.asarray(np.where(codes >= form.sign, -value, value))


_TABLES = {f.name: _table(f) for f in FORMATS.values() if f.width <= 8}


def value_of(bits: Lanes, name: str) -> Lanes:
    """The exact float64 value of raw bits in format `name`; any NaN becomes a NaN."""
    if name == "f16":
        return low(bits, 16).view(np.float16).astype(np.float64)
    if name == "bf16":
        return (low(bits, 32) << np.uint32(16)).view(np.float32).astype(np.float64)
    if name in ("f32", "tf32"):
        return low(bits, 32).view(np.float32).astype(np.float64)
    if name == "f64":
        return bits.view(np.float64)
    return np.asarray(_TABLES[name][bits & bits.dtype.type((1 << FORMATS[name].width) - 1)])
