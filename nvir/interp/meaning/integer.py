"""Integer arithmetic: add, sub, mul, mad, mul24, mad24, sad, div, rem, abs, neg, min, max, and the
extended-precision forms that read and write the carry.

Carry      The carry is a lane array of bool. A row with .cc returns `(value, carry)`; addc, subc
           and madc take the carry as their last source. As in the hardware, a subtraction adds the
           complement: sub.cc's carry is 1 where *no* borrow happens, and subc computes
           `a + ~b + carry`. Pure chains of one kind give what PTX writes (`a - (b + CC.CF)`), and
           mixed chains (sub.cc, then addc) what GPUs give.
Overflow   Everything wraps; .sat clamps to the type.
Zero       Division or remainder by zero gives all ones in every width, as the code that ptxas
           emits does; INT_MIN / -1 gives INT_MIN with remainder 0. Division truncates, and a
           remainder has the sign of its dividend.
Source     PTX ISA 9.0, 9.7.1 and 9.7.2; the SASS that ptxas 13.0 emits for div, rem and sub.cc.
"""

# mypy: disable-error-code="no-any-return"
from __future__ import annotations

import numpy as np

from nvir.interp.meaning.lanes import WIDTH, Lanes, low, raw, typed
from nvir.interp.meaning.mods import Mods

_MASK32 = np.uint64(0xFFFFFFFF)
_U32 = np.uint64(32)


def _pair(mods: Mods, a: Lanes, b: Lanes) -> tuple[Lanes, Lanes]:
    return typed(a, mods.type), typed(b, mods.type)


def add(mods: Mods, a: Lanes, b: Lanes) -> Lanes | tuple[Lanes, Lanes]:
    """`a + b`; with .cc also the carry."""
    if mods.cc:
        return _add_carry(mods, a, b, None)
    if mods.sat:
        return _saturated(mods, a, b, subtract=False)
    width = WIDTH[mods.type]
    return low(a, width) + low(b, width)


def sub(mods: Mods, a: Lanes, b: Lanes) -> Lanes | tuple[Lanes, Lanes]:
    """`a - b`; with .cc also the carry, which is 1 where there is no borrow."""
    if mods.cc:
        return _add_carry(mods, a, ~b, np.ones(1, bool))
    if mods.sat:
        return _saturated(mods, a, b, subtract=True)
    width = WIDTH[mods.type]
    return low(a, width) - low(b, width)


def addc(mods: Mods, a: Lanes, b: Lanes, carry: Lanes) -> Lanes | tuple[Lanes, Lanes]:
    """`a + b + carry`; with .cc also the new carry."""
    return _with_carry(mods, _add_carry(mods, a, b, carry))


def subc(mods: Mods, a: Lanes, b: Lanes, carry: Lanes) -> Lanes | tuple[Lanes, Lanes]:
    """`a + ~b + carry`; with .cc also the new carry."""
    return _with_carry(mods, _add_carry(mods, a, ~b, carry))


def _with_carry(mods: Mods, result: tuple[Lanes, Lanes]) -> Lanes | tuple[Lanes, Lanes]:
    return result if mods.cc else result[0]


def _add_carry(mods: Mods, a: Lanes, b: Lanes, carry: Lanes | None) -> tuple[Lanes, Lanes]:
    width = WIDTH[mods.type]
    x, y = low(a, width), low(b, width)
    total = x + y
    out = total < x
    if carry is not None:
        before = total
        total = total + carry.astype(total.dtype)
        out = out | (total < before)
    return total, out


def _saturated(mods: Mods, a: Lanes, b: Lanes, *, subtract: bool) -> Lanes:
    if WIDTH[mods.type] > 32:
        mods.unsupported()
    x, y = (v.astype(np.int64) for v in _pair(mods, a, b))
    return _clamp(x - y if subtract else x + y, mods.type)


def _clamp(value: Lanes, type_: str) -> Lanes:
    """int64 numbers clamped to an integer type of at most 32 bits, as raw bits."""
    info = np.iinfo(typed(np.zeros(1, f"u{WIDTH[type_] // 8}"), type_).dtype)
    return raw(np.clip(value, info.min, info.max).astype(info.dtype))


# --- products -------------------------------------------------------------------------------


def mul_high(a: Lanes, b: Lanes, type_: str) -> Lanes:
    """The upper half of the double-width product, as raw bits."""
    width = WIDTH[type_]
    signed = type_[0] == "s"
    if width <= 32:
        wide = np.int64 if signed else np.uint64
        product = typed(a, type_).astype(wide) * typed(b, type_).astype(wide)
        return raw(product >> wide(width)).astype(f"u{width // 8}")
    x, y = low(a, 64), low(b, 64)
    xl, xh, yl, yh = x & _MASK32, x >> _U32, y & _MASK32, y >> _U32
    cross = xh * yl + (xl * yl >> _U32)
    middle = xl * yh + (cross & _MASK32)
    high = xh * yh + (cross >> _U32) + (middle >> _U32)
    if signed:  # each negative factor was read as 2^64 more than it is
        high = high - np.where(x >> np.uint64(63), y, np.uint64(0))
        high = high - np.where(y >> np.uint64(63), x, np.uint64(0))
    return high


def _wide(a: Lanes, b: Lanes, mods: Mods) -> Lanes:
    width = WIDTH[mods.type]
    if width > 32:
        mods.unsupported()
    x, y = _pair(mods, a, b)
    dtype = f"{x.dtype.kind}{width // 4}"
    return raw(x.astype(dtype) * y.astype(dtype))


def mul(mods: Mods, a: Lanes, b: Lanes) -> Lanes:
    """`a * b`: the low half, the high half or all of the product."""
    if mods.part == "lo":
        width = WIDTH[mods.type]
        return low(a, width) * low(b, width)
    if mods.part == "hi":
        return mul_high(a, b, mods.type)
    if mods.part != "wide":
        mods.unsupported()
    return _wide(a, b, mods)


def mad(mods: Mods, a: Lanes, b: Lanes, c: Lanes) -> Lanes | tuple[Lanes, Lanes]:
    """`a * b + c` on the half of the product that is named; with .cc also the carry."""
    if mods.cc:
        return _add_carry(mods, mul(mods, a, b), c, None)
    if mods.sat:
        high = typed(mul(mods, a, b), mods.type).astype(np.int64)
        return _clamp(high + typed(c, mods.type).astype(np.int64), mods.type)
    product = mul(mods, a, b)
    return product + low(c, product.dtype.itemsize * 8)


def madc(mods: Mods, a: Lanes, b: Lanes, c: Lanes, carry: Lanes) -> Lanes | tuple[Lanes, Lanes]:
    """`a * b + c + carry` on the half of the product that is named; with .cc the new carry too."""
    return _with_carry(mods, _add_carry(mods, mul(mods, a, b), c, carry))


def mul24(mods: Mods, a: Lanes, b: Lanes) -> Lanes:
    """The product of the low 24 bits (extended by their sign for s32): bits 31..0 or 47..16."""
    if mods.part not in ("lo", "hi"):
        mods.unsupported()
    shift = np.int64(40)

    def extend(bits: Lanes) -> Lanes:
        wide = bits.astype(np.int64) << shift
        if mods.type == "s32":
            return wide >> shift
        return (wide.view(np.uint64) >> np.uint64(40)).view(np.int64)

    product = (extend(a) * extend(b)).view(np.uint64)
    if mods.part == "hi":
        product = product >> np.uint64(16)
    return product.astype(np.uint32)


def mad24(mods: Mods, a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """`mul24(a, b) + c`."""
    product = mul24(mods, a, b)
    if mods.sat:
        total = product.view(np.int32).astype(np.int64) + typed(c, "s32").astype(np.int64)
        return _clamp(total, "s32")
    return product + low(c, 32)


def sad(mods: Mods, a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """`c + |a - b|`."""
    x, y = _pair(mods, a, b)
    difference = np.where(x < y, raw(y - x), raw(x - y))
    return low(c, WIDTH[mods.type]) + difference


# --- division -------------------------------------------------------------------------------


def div(mods: Mods, a: Lanes, b: Lanes) -> Lanes:
    """`a / b` truncated; all ones where b is zero."""
    quotient, _, zero = _divide(mods, a, b)
    return np.where(zero, ~quotient.dtype.type(0), quotient)


def rem(mods: Mods, a: Lanes, b: Lanes) -> Lanes:
    """`a - b * (a / b)`; all ones where b is zero."""
    _, remainder, zero = _divide(mods, a, b)
    return np.where(zero, ~remainder.dtype.type(0), remainder)


def _divide(mods: Mods, a: Lanes, b: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """Quotient, remainder and where b is zero, on magnitudes so that INT_MIN / -1 wraps."""
    x, y = _pair(mods, a, b)
    zero = y == 0
    xm, ym = (raw(np.where(v < 0, -v, v)) for v in (x, y))
    quotient, remainder = np.divmod(xm, np.where(zero, ym.dtype.type(1), ym))
    if mods.type[0] == "s":
        quotient = np.where((x < 0) != (y < 0), -quotient, quotient)
        remainder = np.where(x < 0, -remainder, remainder)
    return quotient, remainder, zero


# --- sign and order -------------------------------------------------------------------------


def abs_(mods: Mods, a: Lanes) -> Lanes:
    """`|a|`; INT_MIN stays."""
    x = typed(a, mods.type)
    return raw(np.where(x < 0, -x, x))


def neg(mods: Mods, a: Lanes) -> Lanes:
    """`-a`."""
    return raw(-typed(a, mods.type))


def min_(mods: Mods, a: Lanes, b: Lanes) -> Lanes:
    """The lesser; .relu gives 0 where it is negative."""
    return _relu(mods, np.minimum(*_pair(mods, a, b)))


def max_(mods: Mods, a: Lanes, b: Lanes) -> Lanes:
    """The greater; .relu gives 0 where it is negative."""
    return _relu(mods, np.maximum(*_pair(mods, a, b)))


def _relu(mods: Mods, value: Lanes) -> Lanes:
    return raw(np.maximum(value, value.dtype.type(0)) if mods.relu else value)
