"""Numbers of the mathematics, computed exactly: π, logarithms, 2/π to many bits, series.

Each is made of integers (a fixed point of `BITS` bits), so that no digit is copied from anywhere.
"""

from __future__ import annotations

import functools
from fractions import Fraction

BITS = 1400


@functools.cache
def pi() -> Fraction:
    """Machin's formula: π/4 = 4 atan(1/5) - atan(1/239)."""
    one = 1 << BITS + 32

    def atan_inverse(n: int) -> int:
        total, term, k = 0, one // n, 1
        while term:
            total += term // k if k % 4 == 1 else -(term // k)
            term //= n * n
            k += 2
        return total

    return Fraction(4 * (4 * atan_inverse(5) - atan_inverse(239)), one)


@functools.cache
def ln(n: int) -> Fraction:
    """ln n = 2 atanh((n - 1) / (n + 1)), by ln 2 for what is larger."""
    if n > 2:
        k = n.bit_length()
        m = Fraction(n, 1 << k)
        return ln(2) * k + _atanh2((m - 1) / (m + 1))
    return _atanh2(Fraction(n - 1, n + 1))


def _atanh2(s: Fraction) -> Fraction:
    one = 1 << 300
    x = int(s * one)
    total, term, k, square = 0, x, 1, x * x // one
    while term and k < 4000:
        total += term // k if term > 0 else -(-term // k)
        term = term * square // one if term > 0 else -(-term * square // one)
        k += 2
    return Fraction(2 * total, one)


def parts(x: Fraction, n: int, bits: int = 53) -> list[float]:
    """A number as a sum of n doubles, each the rest's nearest; of `bits` bits, so that a small
    whole number times all but the last is exact where bits is less than 53."""
    out = []
    for _ in range(n):
        f = float(x)
        if bits < 53:
            import math

            m, e = math.frexp(f)
            f = math.ldexp(round(math.ldexp(m, bits)), e - bits)
        out.append(f)
        x -= Fraction(f)
    return out


def two_over_pi(words: int = 20) -> list[int]:
    """The bits of 2/π behind the point, in words of 64, the first ones first."""
    x = 2 / pi()
    scaled = (x.numerator << 64 * words) // x.denominator
    return [scaled >> 64 * (words - 1 - k) & (1 << 64) - 1 for k in range(words)]


def factorials(first: int, step: int, count: int, alternate: bool = False) -> list[float]:
    """1/n! for n = first, first + step, …: the series of exp, sin, cos."""
    out, f, at = [], 1, 0
    for k in range(count):
        n = first + k * step
        while at < n:
            at += 1
            f *= at
        out.append(float(Fraction((-1) ** k if alternate else 1, f)))
    return out


def odd_inverses(count: int, first: int = 1) -> list[float]:
    """1/(2k+1) from k = `first`: the series of atanh."""
    return [float(Fraction(1, 2 * k + 1)) for k in range(first, first + count)]
