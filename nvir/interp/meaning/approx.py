"""The approximate functions: rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh, div.approx, div.full.

Idea     The hardware evaluates these in a special unit (MUFU) from tables that are not public.
         Each meaning here is the instruction sequence that ptxas emits around the unit, with the
         unit's result correctly rounded to f32. So scaling, range reduction, .ftz and the special
         cases are those of the hardware, and results lie within the error that PTX documents:

         function                    PTX promises            here, before the final f32 rounding
         rcp.approx.f32              1 ulp                   exact
         sqrt.approx, rsqrt.approx   2^-23, 2^-22.9 relative exact
         div.approx, div.full        2 ulp                   a * rcp(b), each rounded: 1.5 ulp
         sin, cos                    2^-20.5 absolute in [-2 pi, 2 pi]   argument cut to f32 turns
         lg2.approx                  2^-22                   exact (1 ulp f32 for subnormals)
         ex2.approx                  2 ulp                   exact (below 2^-126: 2 ulp)
         tanh.approx.f32             2^-11 relative          exact
         ex2, tanh on f16 and bf16   2^-9.9, 2^-10.987, 2^-7, 2^-8   exact
         rcp/rsqrt.approx.ftz.f64    (none given)            exact to 20 fraction bits
         rsqrt.approx.f64            (none given)            1 ulp of f64

Unit     It flushes subnormal inputs and results to zero; the non-.ftz forms scale around that.
Source   PTX ISA 9.0, 9.7.3.8, 9.7.3.13 to 9.7.3.22, 9.7.4.9 and 9.7.4.10; SASS of ptxas 13.0.
"""

# mypy: disable-error-code="no-any-return"
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nvir.interp.meaning.floating import finish, flush, is_nan
from nvir.interp.meaning.lanes import Lanes, register, some
from nvir.interp.meaning.mods import Mods
from nvir.interp.meaning.rounding import round_to, value_of

_TINY = np.float32(2.0**-126)
_NAN64H = np.uint64(0x7FFFFFFF00000000)
_TURNS = np.float32(0.15915493667125701904)  # 1 / (2 pi) as f32


def _unit(x: Lanes, function: Callable[[Lanes], Lanes]) -> Lanes:
    """One use of the special unit: f32 to f32, subnormals flushed on both sides."""
    bits = flush(x.view(np.uint32), "f32")
    result = function(bits.view(np.float32).astype(np.float64))
    return flush(round_to(result, "f32"), "f32").view(np.float32)


def _bits(x: Lanes) -> Lanes:
    bits = x.view(np.uint32)
    return np.where(x != x, np.uint32(0x7FFFFFFF), bits)


def _f32(mods: Mods, a: Lanes) -> Lanes:
    if mods.type != "f32" or len(mods.types) > 1:
        mods.unsupported()
    bits = a.astype(np.uint32)
    return (flush(bits, "f32") if mods.ftz else bits).view(np.float32)


def _result(mods: Mods, x: Lanes) -> Lanes:
    return finish(mods, _bits(x), "f32")


def _reciprocal(x: Lanes) -> Lanes:
    return _unit(x, lambda v: 1.0 / v)


def rcp(mods: Mods, a: Lanes) -> Lanes:
    """`1 / a`."""
    if mods.type == "f64":
        return _high_word(mods, a, lambda v: 1.0 / v)
    x = _f32(mods, a)
    if mods.ftz:
        return _result(mods, _reciprocal(x))
    scale = np.where(np.abs(x) < _TINY, np.float32(2**24), np.float32(1))
    scale = np.where(np.abs(x) > np.float32(2.0**126), np.float32(0.25), scale)
    return _result(mods, scale * _reciprocal(x * scale))


def div(mods: Mods, a: Lanes, b: Lanes) -> Lanes:
    """`a * (1 / b)`; .full also scales a huge b, whose reciprocal the unit would flush."""
    x, y = _f32(mods, a), _f32(mods, b)
    if not mods.ftz:
        scale = np.where(np.abs(y) < _TINY, np.float32(2**24), np.float32(1))
        x, y = x * scale, y * scale
    if mods.full:
        scale = np.where(np.abs(y) > np.float32(2.0**126), np.float32(0.25), np.float32(1))
        x, y = x * scale, y * scale
    if mods.ftz:
        x = flush(x.view(np.uint32), "f32").view(np.float32)
    return _result(mods, _reciprocal(y) * x)


def sqrt(mods: Mods, a: Lanes) -> Lanes:
    """The square root."""
    return _scaled(mods, a, np.sqrt, np.float32(2.0**-12))


def rsqrt(mods: Mods, a: Lanes) -> Lanes:
    """`1 / sqrt(a)`."""
    if mods.type == "f64":
        if mods.ftz:
            return _high_word(mods, a, lambda v: 1.0 / np.sqrt(v))
        value = a.view(np.float64)
        out = (1.0 / np.sqrt(value)).view(np.uint64)
        payload = a | np.uint64(1 << 51)
        nan = np.where(value != value, payload, np.uint64(0xFFF8 << 48))
        return np.where((value != value) | (value < 0), nan, out)
    return _scaled(mods, a, lambda v: 1.0 / np.sqrt(v), np.float32(2.0**12))


def _scaled(mods: Mods, a: Lanes, function: Callable[[Lanes], Lanes], after: np.float32) -> Lanes:
    """A function of the unit whose subnormal input is scaled by 2^24 and result by `after`."""
    x = _f32(mods, a)
    tiny = np.abs(x) < _TINY
    if mods.ftz or not some(tiny):
        return _result(mods, _unit(x, function))
    y = _unit(np.where(tiny, x * np.float32(2**24), x), function)
    return _result(mods, np.where(tiny, y * after, y))


def lg2(mods: Mods, a: Lanes) -> Lanes:
    """The logarithm to base 2."""
    x = _f32(mods, a)
    tiny = np.abs(x) < _TINY
    if mods.ftz or not some(tiny):
        return _result(mods, _unit(x, np.log2))
    y = _unit(np.where(tiny, x * np.float32(2**24), x), np.log2)
    return _result(mods, np.where(tiny, y - np.float32(24), y))


def ex2(mods: Mods, a: Lanes) -> Lanes:
    """2 to the power `a`."""
    if mods.type in ("f16", "bf16"):
        return _narrow(mods, a, np.exp2, flushing=mods.type == "bf16")
    x = _f32(mods, a)
    small = x < np.float32(-126)
    if mods.ftz or not some(small):
        return _result(mods, _unit(x, np.exp2))
    y = _unit(np.where(small, x * np.float32(0.5), x), np.exp2)
    return _result(mods, np.where(small, y * y, y))


def sin(mods: Mods, a: Lanes) -> Lanes:
    """The sine of an angle in radians."""
    return _wave(mods, a, np.sin)


def cos(mods: Mods, a: Lanes) -> Lanes:
    """The cosine of an angle in radians."""
    return _wave(mods, a, np.cos)


def _wave(mods: Mods, a: Lanes, function: Callable[[Lanes], Lanes]) -> Lanes:
    """The angle in turns, truncated to f32, then the unit."""
    x = _f32(mods, a)
    turns = round_to(x.astype(np.float64) * np.float64(_TURNS), "f32", "rz").view(np.float32)

    def of_turns(t: Lanes) -> Lanes:
        part = t - np.rint(t)
        exact = function(part * (2 * np.pi))
        quarter = np.abs(part) == 0.25  # where pi's rounding would leave a residue for a zero
        if function is np.cos:
            return np.where(quarter, 0.0, exact)
        return np.where(np.abs(part) == 0.5, 0.0, np.where(part == 0, t * 0.0, exact))

    return _result(mods, _unit(turns, of_turns))


def tanh(mods: Mods, a: Lanes) -> Lanes:
    """The hyperbolic tangent; subnormal inputs pass through."""
    if mods.type in ("f16", "bf16"):
        return _narrow(mods, a, np.tanh, flushing=False)
    x = _f32(mods, a)
    return _bits(round_to(np.tanh(x.astype(np.float64)), "f32").view(np.float32))


def _narrow(mods: Mods, a: Lanes, function: Callable[[Lanes], Lanes], *, flushing: bool) -> Lanes:
    type_ = mods.type
    bits = a.astype(register(type_))
    if flushing:
        bits = flush(bits, type_)
    return finish(mods, round_to(function(value_of(bits, type_)), type_), type_, ftz=flushing)


def _high_word(mods: Mods, a: Lanes, function: Callable[[Lanes], Lanes]) -> Lanes:
    """rcp and rsqrt.approx.ftz.f64: of the upper word, to 20 fraction bits, lower word zero."""
    if not mods.ftz:
        mods.unsupported()
    upper = flush(a & np.uint64(0xFFFFFFFF00000000), "f64")
    result = function(upper.view(np.float64)).view(np.uint64)
    nan = is_nan(result, "f64")
    rounded = (result + np.uint64(1 << 31)) & np.uint64(0xFFFFFFFF00000000)
    return np.where(nan, _NAN64H, flush(rounded, "f64"))
