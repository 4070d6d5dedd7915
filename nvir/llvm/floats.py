"""Floating-point literals of LLVM text and their bit patterns, exactly, for every format."""

from __future__ import annotations

import re
import struct as binary
from fractions import Fraction

from nvir.ir.types import BFLOAT, FP128, HALF, FloatType

_SPECIAL = re.compile(r"([-+])(inf|[qs]?nan)(?:\(0x([0-9A-Fa-f]+)\))?\Z").match
_HEX = re.compile(r"0x[HRKLM]?[0-9A-Fa-f]+\Z").match
_PRINTED = re.compile(r"[-+]?\d\.\d{6}e[-+]\d{2,}\Z", re.ASCII).match
_DECIMAL = re.compile(r"[-+]?\d+\.\d*(?:[eE][-+]?\d+)?\Z", re.ASCII).match


def float_bits(t: FloatType, token: str) -> int | None:
    """The bit pattern of a literal, or None where it is none of that type.

    Decimal numbers are exact, but for doubles and for what newer LLVM prints, seven digits and an
    exponent (`1.000000e-01`), which are rounded; `0x…` is a double, exact in the type; `0xH`,
    `0xR`, `0xL` are the patterns of half, bfloat and fp128 (low word first). Newer LLVM prints
    `f0x…`, the pattern of the type itself, `+inf`, `+qnan`, and `+nan(0x…)` with the payload.
    """
    special = _SPECIAL(token)
    if special:
        return _not_finite(t, *special.groups())
    if token.startswith("f0x"):
        return _own_bits(t, token[3:])
    if token.startswith("0x"):
        return _hex_bits(t, token)
    if not _DECIMAL(token):
        return None
    x = float(token)
    if x in (float("inf"), -float("inf")):
        return None
    exact = double_to(t, int.from_bytes(binary.pack("<d", x), "little"))
    return _rounded(t, token) if exact is None and _PRINTED(token) else exact


def _rounded(t: FloatType, token: str) -> int | None:
    """A decimal number's nearest in the format, ties to even; None where it is too large."""
    exponent_bits, fraction_bits = t.exponent, t.fraction
    bias = (1 << (exponent_bits - 1)) - 1
    exact = abs(Fraction(token))
    exponent = max(_floor_log2(exact), 1 - bias)
    units = round(exact / Fraction(2) ** (exponent - fraction_bits))  # of the last place
    pattern = units + ((exponent + bias - 1) << fraction_bits)  # what overflows carries over
    if pattern >> fraction_bits >= (1 << exponent_bits) - 1:
        return None
    return (token[0] == "-") << (t.bits - 1) | pattern


def _floor_log2(x: Fraction) -> int:
    n = x.numerator.bit_length() - x.denominator.bit_length()
    return n if Fraction(2) ** n <= x else n - 1


def _not_finite(t: FloatType, sign: str, word: str, payload: str | None) -> int | None:
    """`inf`, `qnan`, `nan(0x…)`, `snan(0x…)`: a quiet one has the highest bit of the fraction."""
    exponent_bits, fraction_bits = t.exponent, t.fraction
    head = ((sign == "-") << exponent_bits | ((1 << exponent_bits) - 1)) << fraction_bits
    fraction = int(payload or "0", 16)
    if word == "inf":
        return head if payload is None else None
    if word in ("qnan", "snan") or payload is None:
        fraction |= (word != "snan") << (fraction_bits - 1)
    return head | fraction if 0 < fraction < 1 << fraction_bits else None


def _own_bits(t: FloatType, digits: str) -> int | None:
    if not re.fullmatch(r"[0-9A-Fa-f]{1,32}", digits):
        return None
    bits = int(digits, 16)
    return bits if bits >> t.bits == 0 else None


def _hex_bits(t: FloatType, token: str) -> int | None:
    if not _HEX(token):
        return None
    kind = token[2:3]
    if kind in "HRL":
        owner, digits = {"H": (HALF, 4), "R": (BFLOAT, 4), "L": (FP128, 32)}[kind]
        if t is not owner or not 0 < len(token) - 3 <= digits:
            return None
        bits = int(token[3:], 16)
        if kind == "L":
            text = token[3:].rjust(32, "0")
            bits = int(text[16:] + text[:16], 16)
        return bits
    if kind in "KM" or not 0 < len(token) - 2 <= 16:
        return None
    return double_to(t, int(token[2:], 16))


def double_to(t: FloatType, bits: int) -> int | None:
    """A double's pattern in another format; None where it is not exact. NaNs keep what payload
    fits."""
    exponent_bits, fraction_bits = t.exponent, t.fraction
    sign, e, f = bits >> 63, bits >> 52 & 0x7FF, bits & ((1 << 52) - 1)
    top = (1 << exponent_bits) - 1
    head = sign << exponent_bits
    if e == 0x7FF:
        payload = _shifted(f, fraction_bits - 52)
        if f and not payload:
            payload = 1 << (fraction_bits - 1)
        return (head | top) << fraction_bits | payload
    if e == 0 and f == 0:
        return head << fraction_bits
    if e == 0:  # a subnormal double: normalise
        shift = 53 - f.bit_length()
        f, e = f << shift & ((1 << 52) - 1), 1 - shift
    exponent = e - 1023 + (top >> 1)
    whole = 1 << 52 | f
    down = 52 - fraction_bits + (1 - exponent if exponent < 1 else 0)
    if exponent >= top or (down > 0 and whole & ((1 << down) - 1)):
        return None
    if exponent < 1:
        return head << fraction_bits | _shifted(whole, -down)
    fraction = _shifted(whole, -down) & ((1 << fraction_bits) - 1)
    return (head | exponent) << fraction_bits | fraction


def to_double(t: FloatType, bits: int) -> int:
    """The pattern of a half, bfloat, float or double as that of a double."""
    exponent_bits, fraction_bits = t.exponent, t.fraction
    top = (1 << exponent_bits) - 1
    sign = bits >> (exponent_bits + fraction_bits)
    e, f = bits >> fraction_bits & top, bits & ((1 << fraction_bits) - 1)
    up = 52 - fraction_bits
    if e == top:
        return (sign << 11 | 0x7FF) << 52 | f << up
    if e == 0 and f == 0:
        return sign << 63
    if e == 0 and up:
        shift = fraction_bits + 1 - f.bit_length()
        f, e = f << shift & ((1 << fraction_bits) - 1), 1 - shift
    exponent = e - (top >> 1) + 1023 if up else e
    return (sign << 11 | exponent) << 52 | f << up


def _shifted(x: int, up: int) -> int:
    return x << up if up >= 0 else x >> -up
