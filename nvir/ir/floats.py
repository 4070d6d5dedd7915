"""Exact floating-point arithmetic on bit patterns, rounded once, in every mode.

    number(F32, 0x3FC00000)                            1.5
    rounded(Fraction(1, 3), F32, "rn")                 0x3EAAAAAB
    add(F32, 0x3F800000, 0x33800000, mode="rz")        0x3F800000

Every operation takes and gives bit patterns. Finite operands are worked out as fractions, so a
result is rounded a single time; infinities follow IEEE 754. None is what is not told: a NaN on
either side, whose payload is the machine's business.

Method   Rounding divides by the unit in the last place, in integers, and looks at the rest.
Cost     a few big-integer operations; f64 at the ends of its range has 2,000 bits.
Source   IEEE 754-2019, sections 4.3 (modes), 6.3 (signs of zeros).
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:  # it and `decimal` cost more to import than all of this
    from fractions import Fraction


@attrs.frozen(eq=False)
class Format:
    """A binary format: `precision` significant bits (the hidden one included), `bits` in all."""

    name: str
    bits: int
    precision: int
    lowest: int  # exponent of the unit of the subnormals

    @property
    def sign(self) -> int:
        return 1 << (self.bits - 1)

    @property
    def infinity(self) -> int:
        return self.sign - (1 << (self.precision - 1))

    @property
    def least_normal(self) -> int:
        return 1 << (self.precision - 1)


F16 = Format("f16", 16, 11, -24)
BF16 = Format("bf16", 16, 8, -133)
F32 = Format("f32", 32, 24, -149)
F64 = Format("f64", 64, 53, -1074)
FORMATS = {f.name: f for f in (F16, BF16, F32, F64)}
MODES = ("rn", "rz", "rm", "rp")
_CODES = {"f16": ("<H", "<e"), "f32": ("<I", "<f"), "f64": ("<Q", "<d")}


def number(f: Format, bits: int) -> float:
    """The number that a pattern stands for: exact, since a Python float holds all of them."""
    bits &= (1 << f.bits) - 1
    name = f.name
    if f is BF16:
        bits, name = bits << 16, "f32"
    whole, real = _CODES[name]
    return float(struct.unpack(real, struct.pack(whole, bits))[0])


def pattern(f: Format, x: float, mode: str = "rn") -> int | None:
    """A Python float in the format; None for a NaN."""
    from fractions import Fraction

    if x != x:
        return None
    if math.isinf(x):
        return f.infinity | (f.sign if x < 0 else 0)
    if x == 0:
        return f.sign if math.copysign(1.0, x) < 0 else 0
    return rounded(Fraction(x), f, mode)


def rounded(x: Fraction | int, f: Format, mode: str = "rn") -> int:
    """The pattern of a number other than 0, rounded to nearest even, to zero, down or up."""
    negative, above, below = x < 0, abs(x.numerator), x.denominator
    exponent = above.bit_length() - below.bit_length()
    if above << max(-exponent, 0) < below << max(exponent, 0):
        exponent -= 1
    unit = max(exponent - f.precision + 1, f.lowest)
    up, down = (below << unit, 0) if unit >= 0 else (below, -unit)
    n, rest = divmod(above << down, up)
    if _goes_up(mode, n, 2 * rest - up, rest > 0, negative):
        n += 1
    bits = (unit - f.lowest << (f.precision - 1)) + n
    if bits >= f.infinity:
        away = mode == "rn" or mode == ("rm" if negative else "rp")
        bits = f.infinity if away else f.infinity - 1
    return bits | (f.sign if negative else 0)


def _goes_up(mode: str, n: int, beyond_half: int, inexact: bool, negative: bool) -> bool:
    if mode == "rn":
        return beyond_half > 0 or (beyond_half == 0 and n & 1 == 1)
    return inexact and mode == ("rm" if negative else "rp")


def is_tiny(f: Format, bits: int) -> bool:
    """Whether a pattern is subnormal, zero excluded."""
    return 0 < bits & (f.sign - 1) < f.least_normal


# ------------------------------------------------------------- operations


def add(f: Format, a: int, b: int, mode: str = "rn") -> int | None:
    return fma(f, pattern(f, 1.0) or 0, a, b, mode)


def sub(f: Format, a: int, b: int, mode: str = "rn") -> int | None:
    return add(f, a, b ^ f.sign, mode)


def mul(f: Format, a: int, b: int, mode: str = "rn") -> int | None:
    from fractions import Fraction

    x, y = number(f, a), number(f, b)
    if x == 0 or y == 0 or not (math.isfinite(x) and math.isfinite(y)):
        return pattern(f, x * y)
    return rounded(Fraction(x) * Fraction(y), f, mode)


def fma(f: Format, a: int, b: int, c: int, mode: str = "rn") -> int | None:
    """a * b + c, rounded once."""
    from fractions import Fraction

    x, y, z = number(f, a), number(f, b), number(f, c)
    if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
        p = x * y if not (math.isfinite(x) and math.isfinite(y)) else 0.0
        return pattern(f, p + z)
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact:
        return rounded(exact, f, mode)
    signs = {math.copysign(1.0, x) * math.copysign(1.0, y), math.copysign(1.0, z)}
    negative = signs == {-1.0} or (len(signs) == 2 and mode == "rm")
    return f.sign if negative else 0


def div(f: Format, a: int, b: int, mode: str = "rn") -> int | None:
    from fractions import Fraction

    x, y = number(f, a), number(f, b)
    if x != x or y != y:
        return None
    negative = f.sign if math.copysign(1.0, x) != math.copysign(1.0, y) else 0
    if math.isinf(x) or y == 0:
        return None if math.isinf(y) or x == 0 else f.infinity | negative
    if math.isinf(y) or x == 0:
        return negative
    return rounded(Fraction(x) / Fraction(y), f, mode)


def rem(f: Format, a: int, b: int) -> int | None:
    """What is left of a divided by b, with the sign of a; exact."""
    x, y = number(f, a), number(f, b)
    return None if math.isinf(x) or y == 0 else pattern(f, math.fmod(x, y))


def sqrt(f: Format, a: int, mode: str = "rn") -> int | None:
    from fractions import Fraction

    x = number(f, a)
    if x != x or x < 0:
        return None
    if x == 0 or math.isinf(x):
        return a & ((1 << f.bits) - 1)
    exact = Fraction(x)
    # Enough bits of the root that what follows them only says "not exact".
    shift = 2 * (f.precision - f.lowest)
    square = exact.numerator << 2 * shift
    root, rest = math.isqrt(square // exact.denominator), square % exact.denominator
    sticky = rest != 0 or root * root != square // exact.denominator
    return rounded(Fraction(2 * root + sticky, 2 << shift), f, mode)


def integral(f: Format, a: int, mode: str) -> int | None:
    """The whole number next to a, in the same format; a zero keeps the sign of a."""
    x = number(f, a)
    if x != x or math.isinf(x):
        return None if x != x else a
    whole = to_whole(x, mode)
    return pattern(f, math.copysign(float(whole), x))


def to_whole(x: float, mode: str) -> int:
    """A finite number rounded to an int; Python rounds halves to even too."""
    if mode == "rm":
        return math.floor(x)
    if mode == "rp":
        return math.ceil(x)
    return math.trunc(x) if mode == "rz" else round(x)
