"""Numbers of Python as literals of a floating type, rounded once."""

from __future__ import annotations

import struct

from nvir.ir.errors import NvirError
from nvir.ir.types import SCALARS, Type
from nvir.ir.values import Constant, constant, integer


def float_constant(x: float, type: Type) -> Constant:
    """`x` as an f32 or f64 literal, rounded to nearest even."""
    if type.name == "f64":
        return constant(type, struct.unpack("<Q", struct.pack("<d", x))[0])
    if type.name == "f32":
        try:
            bits = struct.unpack("<I", struct.pack("<f", x))[0]
        except OverflowError:
            bits = 0x7F800000 if x > 0 else 0xFF800000
        return constant(type, bits)
    if type.name == "f16":
        try:
            return integer(struct.unpack("<H", struct.pack("<e", x))[0])
        except OverflowError:
            return integer(0x7C00 if x > 0 else 0xFC00)
    if type.name == "bf16":
        return integer(_bfloat(x))
    raise NvirError(f"no float literal of type {type.name}")


def _bfloat(x: float) -> int:
    """The bfloat16 pattern nearest to `x`, ties to even. A bfloat is the upper half of a float,
    to which `x` is first rounded to odd, so that rounding twice is as good as once."""
    bits = float_constant(x, SCALARS["f32"]).value
    if bits & 0x7F800000 == 0x7F800000:
        return int(bits >> 16) | (0x40 if bits & 0x7FFFFF else 0)
    near: float = struct.unpack("<f", struct.pack("<I", bits))[0]
    if near != x and not bits & 1:
        bits += 1 if abs(near) < abs(x) else -1
    return int(bits + 0x7FFF + (bits >> 16 & 1)) >> 16
