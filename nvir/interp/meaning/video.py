"""The video instructions: vadd, vsub, vabsdiff, vmin, vmax, vshl, vshr, vset, vmad on one part of
each register, and the SIMD forms v{add,sub,avrg,absdiff,min,max,set}{2,4}.

Which parts are meant stands in `Mods.select = (destination, a, b)`. Scalar: "b0".."b3", "h0", "h1"
or "" for the whole register; a destination part is merged into `c`. SIMD: lanes of the pair `b:a`
written from the top, such as "b7531" or "h32" ("" means each source's own lanes), and a
destination mask such as "b310" or "h1" ("" means all); lanes outside the mask come from `c`.

Intermediates are exact (int64). .sat clamps to the destination part; without it bits are cut.
Source: PTX ISA 9.0, sections 9.7.17 and 9.7.18.
"""

# mypy: disable-error-code="no-any-return"
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from nvir.interp.meaning.lanes import Lanes, low, split, typed
from nvir.interp.meaning.mods import Mods

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}
_SECOND = ("add", "min", "max")
SCALAR = ("add", "sub", "absdiff", "min", "max", "shl", "shr")
SIMD = ("add", "sub", "avrg", "absdiff", "min", "max")


def _select(bits: Lanes, part: str, type_: str) -> Lanes:
    """One part of a register, extended by the sign of `type_`, as int64."""
    x = low(bits, 32)
    width = {"b": 8, "h": 16, "": 32}[part[:1]]
    x = x >> np.uint32(width * int(part[1:] or 0))
    return typed(x, f"{type_[0]}{width}").astype(np.int64)


def _range(width: int, signed: bool) -> tuple[int, int]:
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)


def _primary(mods: Mods, name: str, a: Lanes, b: Lanes) -> Lanes:
    """The operation on int64 values."""
    if name == "add":
        return a + b
    if name == "sub":
        return a - b
    if name == "absdiff":
        return np.abs(a - b)
    if name == "avrg":  # rounds away from zero at one half, as the hardware's average does
        total = a + b
        return (total + (total >= 0)) >> np.int64(1)
    if name == "min":
        return np.minimum(a, b)
    if name == "max":
        return np.maximum(a, b)
    if name == "set":
        if mods.cmp not in _COMPARE:
            mods.unsupported()
        return np.asarray(_COMPARE[mods.cmp](a, b)).astype(np.int64)
    n = np.minimum(b, 32) if mods.shift == "clamp" else b & 31
    if name == "shr":
        return a >> n
    return (a << n) << np.int64(30) >> np.int64(30)  # the intermediate has 34 bits


# --- scalar ---------------------------------------------------------------------------------


def scalar(mods: Mods, a: Lanes, b: Lanes, c: Lanes | None = None) -> Lanes:
    """One operation on selected parts, then an optional second one (or a merge) with `c`."""
    name = mods.row[1:]
    types = mods.types if name != "set" else ("u32", *mods.types)
    if len(types) != 3:
        mods.unsupported()
    dsel, asel, bsel = mods.select
    value = _primary(mods, name, _select(a, asel, types[1]), _select(b, bsel, types[2]))
    return _complete(mods, value, c, types[0], dsel)


def _complete(mods: Mods, value: Lanes, c: Lanes | None, type_: str, dsel: str) -> Lanes:
    width = {"b": 8, "h": 16, "": 32}[dsel[:1]]
    signed = type_[0] == "s"
    if mods.sat:
        value = np.clip(value, *_range(width, signed))
    second = next((op for op in _SECOND if op in mods.flags), "")
    if c is None:
        return value.view(np.uint64).astype(np.uint32)
    if second:
        x, third = typed(value.astype(np.uint32), type_), typed(c, type_)
        if second == "add":
            return (x.astype(np.int64) + third).astype(np.uint32)
        pick = np.minimum if second == "min" else np.maximum
        return pick(x, third).astype(np.uint32)
    shift = np.uint32(width * int(dsel[1:] or 0))
    mask = np.uint32((1 << width) - 1) << shift
    return (low(c, 32) & ~mask) | ((value.astype(np.uint32) << shift) & mask)


def vmad(mods: Mods, a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """`a * b + c` (each negated where `Mods.negate` says), one more with .po, then shifted right by
    7 or 15, then clamped. `c`, the sum and the clamp are signed where a factor is signed, the
    product is negated or `c` is."""
    if len(mods.types) != 3:
        mods.unsupported()
    _, atype, btype = mods.types
    _, asel, bsel = mods.select
    neg_a, neg_b, neg_c = mods.negate
    signed = "s" in (atype[0], btype[0]) or neg_a != neg_b or neg_c
    x = _select(a, asel, atype).astype(object)
    y = _select(b, bsel, btype).astype(object)
    product = x * y
    if neg_a != neg_b:
        product = -product
    third = typed(c, "s32" if signed else "u32").astype(object)
    total = product + (-third if neg_c else third) + ("po" in mods.flags)
    total = total >> (7 if "shr7" in mods.flags else 15 if "shr15" in mods.flags else 0)
    if mods.sat:
        least, most = _range(32, signed)
        total = np.minimum(np.maximum(total, least), most)
    return np.asarray(total & 0xFFFFFFFF).astype(np.uint32)


# --- SIMD -----------------------------------------------------------------------------------


def _lanes_of(
    bits: tuple[Lanes, Lanes], part: str, own: int, count: int, type_: str
) -> list[Lanes]:
    """The selected lanes, lowest first, as int64: digits of `part` count through `b:a`."""
    width = 32 // count
    pool = [x for v in bits for x in split(low(v, 32), f"u{width}", count)]
    digits = [int(d) for d in reversed(part[1:])] if part else list(range(own, own + count))
    return [typed(pool[d], f"{type_[0]}{width}").astype(np.int64) for d in digits]


def simd(mods: Mods, a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """The operation on two halves or four bytes; .add sums the lanes of the mask into `c`."""
    name, count = mods.row[1:-1], int(mods.row[-1])
    types = mods.types if name != "set" else ("u32", *mods.types)
    if len(types) != 3:
        mods.unsupported()
    dsel, asel, bsel = mods.select
    xs = _lanes_of((a, b), asel, 0, count, types[1])
    ys = _lanes_of((a, b), bsel, count, count, types[2])
    width = 32 // count
    wanted = {int(d) for d in dsel[1:]} if dsel else set(range(count))
    values = [_primary(mods, name, x, y) for x, y in zip(xs, ys, strict=True)]
    if mods.sat:
        values = [np.clip(v, *_range(width, types[0][0] == "s")) for v in values]
    if "add" in mods.flags:
        total = low(c, 32).astype(np.int64)
        for i in wanted:
            total = total + values[i]
        return total.astype(np.uint32)
    out = low(c, 32)
    for i in wanted:
        shift = np.uint32(width * i)
        mask = np.uint32((1 << width) - 1) << shift
        out = (out & ~mask) | ((values[i].astype(np.uint32) << shift) & mask)
    return out
