"""How often a comparison with a bound holds while a number steps on: arithmetic only.

Integers in closed form on mathematical integers, with wrap-around checked: a comparison
that is only met after wrapping gives no count but for `ne`, solved as a congruence.
Floats by running the additions in the float's own arithmetic, to a limit.
"""

from __future__ import annotations

import struct
from math import gcd

FLOAT_LIMIT = 1 << 17  # iterations of a float loop that are run to count them
_PLAIN = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_FLOAT_COMPARE = {
    "lt": float.__lt__, "le": float.__le__, "gt": float.__gt__, "ge": float.__ge__,
    "ne": float.__ne__, "eq": float.__eq__, "neu": float.__ne__,
}


def signed(value: int, bits: int) -> int:
    """The low bits of a number, read as a signed integer."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def float_of(bits: int, type: str) -> float:
    """The number that a bit pattern of "f32" or "f64" is."""
    if type == "f32":
        return float(struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0])
    return float(struct.unpack("<d", struct.pack("<Q", bits & (1 << 64) - 1))[0])


def integer_count(
    first: int, step: int, compare: str, end: int, type: str, bits: int
) -> int | None:
    """For how many k = 0, 1, … `first + k·step` compares with `end` before it first does not.

    The comparison is of PTX's `type` and width; None where there is no such number.
    """
    if compare in ("ne", "eq"):
        distance = (end - first) % (1 << bits)
        if compare == "eq":
            return (1 if step % (1 << bits) else None) if distance == 0 else 0
        return _congruence(step, distance, bits)
    unsigned = type[0] == "u" or compare in _PLAIN
    compare = _PLAIN.get(compare, compare)
    lo, hi = (0, (1 << bits) - 1) if unsigned else (-(1 << bits - 1), (1 << bits - 1) - 1)
    first = _in_range(first, bits, unsigned)
    end = _in_range(end, bits, unsigned)
    if compare in ("gt", "ge"):  # mirror: counting down to a bound is counting up from it
        first, end, step, lo, hi = -first, -end, -step, -hi, -lo
    if compare in ("le", "ge"):
        end += 1
    if first >= end:
        return 0
    if step <= 0:
        return None  # runs away from the bound and wraps: no count worth the name
    n = -(-(end - first) // step)
    last = first + n * step
    return n if last <= hi else None


def _in_range(value: int, bits: int, unsigned: bool) -> int:
    return value & ((1 << bits) - 1) if unsigned else signed(value, bits)


def _congruence(step: int, distance: int, bits: int) -> int | None:
    """The smallest n >= 0 with n·step ≡ distance (mod 2**bits), or None."""
    modulus = 1 << bits
    g = gcd(step % modulus, modulus)
    if g == 0 or distance % g:
        return None
    m = modulus // g
    if m == 1:
        return 0
    return (distance // g) * pow((step % modulus) // g, -1, m) % m


def float_count(
    x: float, step: float, compare: str, bound: float, type: str, tests_update: bool
) -> int | None:
    """The same for floats; with `tests_update` it is x after the next step that is compared."""
    holds = _FLOAT_COMPARE.get(compare)
    if holds is None:
        return None
    for n in range(FLOAT_LIMIT):
        following = _rounded(x + step, type)
        if not holds(following if tests_update else x, bound):
            return n
        if following == x:
            return None  # the addition is lost: an endless loop
        x = following
    return None


def _rounded(v: float, type: str) -> float:
    if type == "f64":
        return v
    try:
        return float(struct.unpack("<f", struct.pack("<f", v))[0])
    except OverflowError:
        return float("inf") if v > 0 else float("-inf")
