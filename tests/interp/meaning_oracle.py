"""An independent judge for the arithmetic of nvir.interp.meaning: exact rationals, one lane.

It shares no code with nvir: floats are decoded to `Fraction`, computed exactly, and encoded by the
definition of the rounding mode.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

NAN, INF = "nan", "inf"

# name: (exponent bits, fraction bits, has infinity and NaNs of IEEE style)
FORMATS = {
    "f64": (11, 52, True),
    "f32": (8, 23, True),
    "f16": (5, 10, True),
    "bf16": (8, 7, True),
    "e5m2": (5, 2, True),
    "e4m3": (4, 3, False),
    "e2m3": (2, 3, False),
    "e3m2": (3, 2, False),
    "e2m1": (2, 1, False),
}
BIAS = {name: (1 << (e - 1)) - 1 for name, (e, _, _) in FORMATS.items()}
DTYPE = {"f64": np.uint64, "f32": np.uint32, "f16": np.uint16, "bf16": np.uint16}
CANONICAL = {"f32": 0x7FFFFFFF, "f16": 0x7FFF, "bf16": 0x7FFF, "e5m2": 0x7F, "e4m3": 0x7F}


def largest(name: str) -> int:
    """The code of the largest finite number."""
    e, m, ieee = FORMATS[name]
    if ieee:
        return (((1 << e) - 1) << m) - 1
    return (1 << (e + m)) - (2 if name == "e4m3" else 1)


def width(name: str) -> int:
    e, m, _ = FORMATS[name]
    return 1 + e + m


def decode(bits: int, name: str) -> tuple[int, Fraction | str]:
    """(sign, magnitude), the magnitude a Fraction, "inf" or "nan"."""
    e, m, ieee = FORMATS[name]
    sign = bits >> (e + m) & 1
    mag = bits & ((1 << (e + m)) - 1)
    if mag > largest(name):
        if ieee and mag == largest(name) + 1:
            return sign, INF
        return sign, NAN
    exponent, fraction = mag >> m, mag & ((1 << m) - 1)
    sig = fraction + ((1 << m) if exponent else 0)
    scale = max(exponent, 1) - BIAS[name] - m
    return sign, Fraction(sig) * Fraction(2) ** scale


def encode(value: Fraction, name: str, rnd: str = "rn", zero_sign: int = 0,
           satfinite: bool = False) -> int:
    """The code of an exact value rounded to a format."""
    e, m, _ = FORMATS[name]
    sign = zero_sign if value == 0 else int(value < 0)
    mag = abs(value)
    emin = 1 - BIAS[name]
    if mag == 0:
        return sign << (e + m)
    exponent = max(_floor_log2(mag), emin)
    steps = mag / Fraction(2) ** (exponent - m)
    whole = steps.numerator // steps.denominator
    rest = steps - whole
    if _rounds_up(rest, whole, sign, rnd):
        whole += 1
    code = whole + ((exponent - emin) << m)
    if code > largest(name):
        limit = rnd == "rz" or rnd == ("rp" if sign else "rm") or satfinite
        code = largest(name) if limit else largest(name) + 1
    return sign << (e + m) | code


def _rounds_up(rest: Fraction, whole: int, sign: int, rnd: str) -> bool:
    half = Fraction(1, 2)
    return {
        "rn": rest > half or (rest == half and whole % 2 == 1),
        "rna": rest >= half,
        "rz": False,
        "rm": bool(sign) and rest > 0,
        "rp": not sign and rest > 0,
    }[rnd]


def _floor_log2(x: Fraction) -> int:
    n = x.numerator.bit_length() - x.denominator.bit_length()
    return n if Fraction(2) ** n <= x else n - 1


def apply(op: str, rnd: str, name: str, *codes: int) -> int | str:
    """The code of an operation's result, or NAN."""
    args = [decode(c, name) for c in codes]
    if any(v == NAN for _, v in args):
        return NAN
    inf = largest(name) + 1
    top = 1 << (width(name) - 1)
    if op == "sub":
        (sb, vb) = args[1]
        args[1] = (sb ^ 1, vb)
        op = "add"
    if op == "rcp":
        args, op = [(0, Fraction(1)), args[0]], "div"
    if op == "fma":
        (sa, va), (sb, vb), (sc, vc) = args
        if INF in (va, vb):
            if Fraction(0) in (va, vb):
                return NAN
            return NAN if vc == INF and sc != sa ^ sb else (sa ^ sb) * top | inf
        return _sum((sa ^ sb, va * vb), (sc, vc), rnd, name)
    if op == "add":
        return _sum(args[0], args[1], rnd, name)
    if op == "mul":
        (sa, va), (sb, vb) = args
        if INF in (va, vb):
            return NAN if Fraction(0) in (va, vb) else (sa ^ sb) * top | inf
        return encode((-1) ** (sa ^ sb) * va * vb, name, rnd, sa ^ sb)
    if op == "div":
        (sa, va), (sb, vb) = args
        sign = sa ^ sb
        if va == INF or vb == 0:
            return NAN if vb == INF or (va == 0 and vb == 0) else sign * top | inf
        if vb == INF:
            return sign * top
        return encode((-1) ** sign * va / vb, name, rnd, sign)
    assert op == "sqrt"
    ((sa, va),) = args
    if va == 0:
        return sa * top
    if sa:
        return NAN
    return inf if va == INF else _sqrt(va, name, rnd)


def _sum(a, b, rnd: str, name: str) -> int | str:
    (sa, va), (sb, vb) = a, b
    top, inf = 1 << (width(name) - 1), largest(name) + 1
    if va == INF or vb == INF:
        if va == vb and sa != sb:
            return NAN
        return (sa if va == INF else sb) * top | inf
    total = (-1) ** sa * va + (-1) ** sb * vb
    zero = (sa | sb) if rnd == "rm" else (sa & sb)
    if total == 0 and (va != 0 or vb != 0):
        zero = int(rnd == "rm")
    return encode(total, name, rnd, zero)


def _sqrt(value: Fraction, name: str, rnd: str) -> int:
    """Bracket the root between two rationals that round alike."""
    scale = 1 << 800
    root = math.isqrt((value.numerator * scale * scale) // value.denominator)
    exact = Fraction(root, scale) ** 2 == value
    return encode(Fraction(root, scale) + (0 if exact else Fraction(1, 3 * scale)), name, rnd)


# --- inputs ---------------------------------------------------------------------------------


def specials(name: str) -> list[int]:
    """Codes at the edges of a format, of both signs."""
    e, m, _ = FORMATS[name]
    one = BIAS[name] << m
    low = 1 << m
    half_ulp = (BIAS[name] - m - 1) << m if BIAS[name] > m else 1
    codes = [
        *(0, 1, 2, low - 1, low, low + 1, one, one + 1, one - 1, one + low, half_ulp),
        *(largest(name), largest(name) - 1, largest(name) - low, largest(name) + 1),
        *(largest(name) + 2, (1 << (e + m)) - 1, one + (low >> 1), one + (m << m) + 1),
    ]
    return [c | s << (e + m) for c in codes for s in (0, 1)]


def pool(name: str, count: int, seed: int = 0) -> list[int]:
    """Special codes and random ones, some close to each other in exponent."""
    rng = random.Random(f"{name}{seed}")
    e, m, _ = FORMATS[name]
    out = specials(name)
    while len(out) < count:
        near = rng.random() < 0.5
        exponent = BIAS[name] + rng.randrange(-m - 3, m + 4) if near else rng.randrange(1 << e)
        exponent = min(max(exponent, 0), (1 << e) - 1)
        fraction = rng.getrandbits(m) & rng.choice((-1, -1, ~0 << (m // 2), 3))
        out.append(rng.getrandbits(1) << (e + m) | exponent << m | fraction & ((1 << m) - 1))
    return out[:count]


def lanes(codes: Iterable[int], name: str) -> np.ndarray:
    """Codes as a lane vector."""
    return np.array(list(codes), DTYPE[name])
