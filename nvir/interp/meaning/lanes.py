"""Lane vectors: how the raw bits of a register are seen as typed numbers and put back.

A lane vector is a numpy array of raw bits, one element a lane: `bool` for a predicate, `uint16`,
`uint32` and `uint64` for registers of that width, and an `(n, 2)` array of `uint64` (low word
first) for b128. Meanings accept any shapes that broadcast, so a value that is the same in all
lanes may come as an array of one element. 8-bit values live in the low byte of a 16-bit or wider
register: PTX has no 8-bit arithmetic, only conversions, loads and stores.
"""

# mypy: disable-error-code="no-any-return"
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Lanes = npt.NDArray[Any]

_BITS: dict[int, Any] = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
_INTS: dict[str, np.dtype[Any]] = {
    f"{kind}{width}": np.dtype(f"{'i' if kind == 's' else 'u'}{width // 8}")
    for kind in "bus"
    for width in _BITS
}
_FLOATS: dict[str, np.dtype[Any]] = {
    "f16": np.dtype("f2"),
    "f32": np.dtype("f4"),
    "f64": np.dtype("f8"),
}

WIDTH: dict[str, int] = {
    "pred": 1,
    "b128": 128,
    **{name: dtype.itemsize * 8 for name, dtype in {**_INTS, **_FLOATS}.items()},
    **dict.fromkeys(("bf16", "e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "ue8m0x2", "e2m1x4"), 16),
    **dict.fromkeys(("tf32", "f16x2", "bf16x2", "u16x2", "s16x2", "u8x4", "s8x4"), 32),
    **dict.fromkeys(("e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4"), 32),
    "e2m1x2": 8,
    "f32x2": 64,
}
"""Bits of a value of each PTX type."""

PACKED: dict[str, tuple[str, int]] = {
    "f16x2": ("f16", 2),
    "bf16x2": ("bf16", 2),
    "f32x2": ("f32", 2),
    "u16x2": ("u16", 2),
    "s16x2": ("s16", 2),
    "u8x4": ("u8", 4),
    "s8x4": ("s8", 4),
}
"""Packed types of arithmetic: the element and how many, element 0 in the low bits."""


some = np.count_nonzero
"""Whether a bool array holds a True: several times faster than `.any()` on a few lanes."""


def is_float(type_: str) -> bool:
    """Whether a scalar type is one of the arithmetic float formats."""
    return type_ in ("f16", "bf16", "f32", "f64")


def is_integer(type_: str) -> bool:
    """Whether a type is an integer or untyped bits of 8 to 64 bits."""
    return type_ in _INTS


def register(type_: str) -> np.dtype[Any]:
    """The dtype of the narrowest register that holds a value of `type_`."""
    if type_ == "pred":
        return np.dtype(bool)
    return np.dtype(_BITS[max(16, WIDTH[type_])])


def typed(bits: Lanes, type_: str) -> Lanes:
    """Raw bits as numbers of an integer type or of f16, f32 or f64.

    A register wider than the type is cut to its low bits (PTX's relaxed operand widths).
    """
    dtype = _INTS.get(type_) or _FLOATS[type_]
    if bits.dtype.itemsize != dtype.itemsize:
        bits = bits.astype(_BITS[dtype.itemsize * 8])
    return bits.view(dtype)


def raw(value: Lanes) -> Lanes:
    """Numbers as raw bits of the same width."""
    return value.view(_BITS[value.dtype.itemsize * 8])


def low(bits: Lanes, width: int) -> Lanes:
    """The low `width` (8, 16, 32, 64) bits of a register, as unsigned numbers of that width."""
    dtype = _BITS[width]
    return bits if bits.dtype == dtype else bits.astype(dtype)


def fit(bits: Lanes, type_: str, dtype: npt.DTypeLike) -> Lanes:
    """A result of `type_` for a register of `dtype`: signed types extend their sign, others zeros.

    Meanings return the narrowest register; the machine calls this where the destination is wider
    (`cvt.s8.s32 %r1, ...`, `ld.s16 %r1, ...`).
    """
    target = np.dtype(dtype)
    if bits.dtype == target or bits.dtype == bool or type_ == "b128":
        return bits
    if type_ in _INTS and type_[0] == "s":
        return raw(typed(bits, type_).astype(f"i{target.itemsize}"))
    return bits.astype(target)


def split(bits: Lanes, element: str, count: int) -> list[Lanes]:
    """The elements of a packed register, lowest first, each in its own narrow register."""
    width = WIDTH[element]
    dtype = register(element)
    mask = bits.dtype.type((1 << width) - 1)
    return [((bits >> bits.dtype.type(width * i)) & mask).astype(dtype) for i in range(count)]


def join(parts: list[Lanes], width: int, dtype: npt.DTypeLike) -> Lanes:
    """Elements of `width` bits, lowest first, packed into a register of `dtype`."""
    kind = np.dtype(dtype).type
    mask = kind((1 << width) - 1)
    out = parts[0].astype(dtype) & mask
    for i, part in enumerate(parts[1:], 1):
        out = out | ((part.astype(dtype) & mask) << kind(width * i))
    return out
