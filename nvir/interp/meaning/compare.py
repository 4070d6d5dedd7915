"""Comparison and selection: set, setp, selp, slct.

A comparison with a NaN is false for eq ne lt le gt ge, true for their unordered twins (equ ...).
setp returns `(p, q)`: p combines the comparison with the third source, q its complement with it
(or, for f16x2 and bf16x2, the comparison of the upper halves). The third source comes as its value,
already negated where PTX writes `!c`. Source: PTX ISA 9.0, sections 9.7.6 and 9.7.7.
"""

# mypy: disable-error-code="no-any-return"
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from nvir.interp.meaning.floating import flush
from nvir.interp.meaning.lanes import PACKED, WIDTH, Lanes, is_float, join, low, split, typed
from nvir.interp.meaning.mods import Mods
from nvir.interp.meaning.rounding import FORMATS, value_of

_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "lo": operator.lt,
    "ls": operator.le,
    "hi": operator.gt,
    "hs": operator.ge,
}


def compare(mods: Mods, a: Lanes, b: Lanes, type_: str) -> Lanes:
    """The comparison itself, as bool lanes, for a scalar type."""
    op = mods.cmp
    if type_ not in WIDTH or not op:
        mods.unsupported()
    if not is_float(type_):
        if op not in _ORDER:
            mods.unsupported()
        if op in ("lo", "ls", "hi", "hs"):
            return np.asarray(_ORDER[op](low(a, WIDTH[type_]), low(b, WIDTH[type_])))
        return np.asarray(_ORDER[op](typed(a, type_), typed(b, type_)))
    x, y = (_float(mods, v, type_) for v in (a, b))
    if op in _ORDER:
        result = _ORDER[op](x, y)
        return np.asarray(result & (x == x) & (y == y) if op == "ne" else result)
    nan = (x != x) | (y != y)
    if op == "num":
        return ~nan
    if op == "nan":
        return nan
    return np.asarray(_ORDER[op[:-1]](x, y) | nan)


def _float(mods: Mods, bits: Lanes, type_: str) -> Lanes:
    if mods.ftz and type_ in ("f16", "f32"):
        bits = flush(low(bits, WIDTH[type_]), type_)
    if type_ in ("f32", "f64", "f16"):
        return typed(bits, type_)
    return value_of(bits, type_)


def _combine(mods: Mods, t: Lanes, c: Lanes | None) -> Lanes:
    if not mods.bool_op:
        return t
    if c is None:
        mods.unsupported()
    if mods.bool_op == "and":
        return t & c
    return t | c if mods.bool_op == "or" else t ^ c


def setp(mods: Mods, a: Lanes, b: Lanes, c: Lanes | None = None) -> tuple[Lanes, Lanes]:
    """Two predicates from one comparison: `t op c` and `!t op c`."""
    if mods.type in ("f16x2", "bf16x2"):
        element, count = PACKED[mods.type]
        halves = zip(split(a, element, count), split(b, element, count), strict=True)
        p, q = (_combine(mods, compare(mods, x, y, element), c) for x, y in halves)
        return p, q
    t = compare(mods, a, b, mods.type)
    return _combine(mods, t, c), _combine(mods, ~t, c)


def set_(mods: Mods, a: Lanes, b: Lanes, c: Lanes | None = None) -> Lanes:
    """All ones (or 1.0 for a float result) where the comparison holds, else 0."""
    if len(mods.types) != 2:
        mods.unsupported()
    dtype, stype = mods.types
    if stype in ("f16x2", "bf16x2"):
        element, count = PACKED[stype]
        one = _true(element if dtype in PACKED else "u16")
        halves = zip(split(a, element, count), split(b, element, count), strict=True)
        found = [_combine(mods, compare(mods, x, y, element), c) for x, y in halves]
        return join([np.where(t, one, np.uint16(0)) for t in found], 16, np.uint32)
    t = _combine(mods, compare(mods, a, b, stype), c)
    one = _true(dtype)
    return np.where(t, one, one.dtype.type(0))


def _true(type_: str) -> Any:
    dtype = low(np.zeros(1, np.uint64), WIDTH[type_]).dtype
    if is_float(type_):
        form = FORMATS[type_]
        return dtype.type(form.bias << form.man)
    return ~dtype.type(0)


def selp(mods: Mods, a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """`a` where the predicate holds, else `b`."""
    if a.ndim > 1:  # b128
        c = c[..., None]
    return np.where(c, a, b)


def slct(mods: Mods, a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """`a` where `c` is at least 0, else `b`; -0 counts as 0, and a NaN takes `b`."""
    if mods.stype == "f32":
        bits = flush(low(c, 32), "f32") if mods.ftz else low(c, 32)
        return np.where(bits.view(np.float32) >= 0, a, b)
    return np.where(typed(c, "s32") >= 0, a, b)
