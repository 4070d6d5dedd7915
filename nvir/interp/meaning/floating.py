"""Floating-point arithmetic on f16, bf16, f32 and f64: add, sub, mul, fma, div, rcp, sqrt, min,
max, abs, neg, testp, copysign, and the mixed precision forms (`add.f32.f16`).

Rounding   Every mode is exact. f32 in rn uses numpy's own f32; everything else is computed in
           float64 rounded to odd (rounding.py) or, for f64, in double.py.
Order      .ftz flushes subnormal inputs, then the operation, then rounding, then .ftz flushes a
           result that is still subnormal, then .sat or .relu.
NaN        f16 and bf16 give 0x7fff, f32 gives 0x7fffffff, as the hardware does; f64 passes the
           payload of its first NaN operand. abs and neg are additions of zero in the hardware, so
           they give canonical NaNs too, but for f64 (abs: unchanged, neg: sign flipped).
Zero       .sat turns NaN, -0 and all negatives into +0; .relu turns -0 and negatives into +0.
Source     PTX ISA 9.0, sections 9.7.3 to 9.7.5; the SASS that ptxas 13.0 emits for neg and abs.
"""

# mypy: disable-error-code="no-any-return"
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from nvir.interp.meaning import double
from nvir.interp.meaning.lanes import Lanes, raw, register, some, typed
from nvir.interp.meaning.mods import Mods
from nvir.interp.meaning.rounding import (
    FORMATS,
    odd_quotient,
    odd_sqrt,
    odd_sum,
    round_to,
    to_odd,
    two_sum,
    value_of,
)

_NANS = {"f32": np.uint32(0x7FFFFFFF), "f16": np.uint16(0x7FFF)}
_ROUNDINGS = ("rn", "rz", "rm", "rp")


# --- inputs and results ---------------------------------------------------------------------


def flush(bits: Lanes, type_: str) -> Lanes:
    """Subnormals to zeros of their sign."""
    form = FORMATS[type_]
    kind = bits.dtype.type
    small = (bits & kind(form.sign - 1)) < kind(1 << form.man)
    if not some(small):
        return bits
    return np.where(small, bits & kind(form.sign), bits)


def is_nan(bits: Lanes, type_: str) -> Lanes:
    """Lanes that hold a NaN."""
    form = FORMATS[type_]
    kind = bits.dtype.type
    return np.asarray((bits & kind(form.sign - 1)) > kind(form.inf or 0))


def finish(mods: Mods, bits: Lanes, type_: str, *, ftz: bool | None = None) -> Lanes:
    """Apply .ftz, .sat and .relu to a rounded result."""
    if mods.ftz if ftz is None else ftz:
        bits = flush(bits, type_)
    if not (mods.sat or mods.relu):
        return bits
    form = FORMATS[type_]
    kind = bits.dtype.type
    negative = (bits & kind(form.sign)) != 0
    nan = is_nan(bits, type_)
    if mods.sat:
        one = kind(form.bias << form.man)
        return np.where(negative | nan, kind(0), np.minimum(bits, one))
    return np.where(nan, kind(form.nan), np.where(negative, kind(0), bits))


def _sources(mods: Mods, sources: tuple[Lanes, ...], type_: str) -> tuple[Lanes, ...]:
    dtype = register(type_)
    out = tuple(x if x.dtype == dtype else x.astype(dtype) for x in sources)
    return tuple(flush(x, type_) for x in out) if mods.ftz else out


def _rounding(mods: Mods) -> str:
    rnd = mods.rnd or "rn"
    if rnd not in _ROUNDINGS:
        mods.unsupported()
    return rnd


# --- add, sub, mul, fma, div, sqrt, rcp -----------------------------------------------------

Native = Callable[..., Lanes]
_EXACT = ("f16", "f32")  # numpy rounds +, -, * of both correctly (f16 by way of f32)


def _operation(
    mods: Mods,
    sources: tuple[Lanes, ...],
    native: Native | None,
    wide: Native,
    f64: Native,
    natively: tuple[str, ...] = ("f32",),
) -> Lanes:
    """One rounded operation. `native` works on numpy floats of the types `natively` in rn, `wide`
    returns float64 rounded to odd for the narrow formats, `f64` works on float64; the latter two
    take the mode."""
    rnd = _rounding(mods)
    type_ = mods.types[0]
    if len(mods.types) == 2:
        sources = _mixed(mods, sources)
    else:
        sources = _sources(mods, sources, type_)
    bits: Lanes
    if rnd == "rn" and native is not None and type_ in natively:
        bits = _canonical(native(*(typed(x, type_) for x in sources)), _NANS[type_])
    elif type_ == "f64":
        bits = raw(f64(*(x.view(np.float64) for x in sources), rnd))
    else:
        bits = round_to(wide(*(value_of(x, type_) for x in sources), rnd), type_, rnd)
    return finish(mods, bits, type_)


def _canonical(value: Lanes, nan: Any) -> Lanes:
    """The raw bits of floats, every NaN replaced by `nan`."""
    bad = np.asarray(value != value)
    return np.where(bad, nan, raw(value)) if some(bad) else raw(value)


@lru_cache(maxsize=512)
def plain(mods: Mods) -> Native | None:
    """A shorter way to compute add, sub, mul and fma of f32 in rn without other modifiers, if
    `mods` are that: these make up most of a kernel's arithmetic."""
    if mods.types != ("f32",) or not set(mods.tokens) <= {"f32", "rn"}:
        return None
    native = _PLAIN.get(mods.row)
    if native is None:
        return None

    def meaning(mods: Mods, *sources: Lanes) -> Lanes:
        return _canonical(native(*(x.view(np.float32) for x in sources)), _NANS["f32"])

    return meaning


def _mixed(mods: Mods, sources: tuple[Lanes, ...]) -> tuple[Lanes, ...]:
    """Sources of add.f32.f16 and fma.f32.bf16: all but the last are narrow; now all are f32."""
    if mods.types[0] != "f32" or mods.types[1] not in ("f16", "bf16"):
        mods.unsupported()
    narrow = (value_of(x, mods.types[1]).astype(np.float32).view(np.uint32) for x in sources[:-1])
    return (*narrow, sources[-1])


def _wide(function: Native) -> Native:
    """numpy's function, for f16 by way of f32: correct, and faster than numpy's own f16."""

    def operation(x: Lanes, y: Lanes) -> Lanes:
        if x.dtype == np.float16:
            return function(x.astype(np.float32), y.astype(np.float32)).astype(np.float16)
        return function(x, y)

    return operation


_ADD, _SUB, _MUL = _wide(np.add), _wide(np.subtract), _wide(np.multiply)


def add(mods: Mods, a: Lanes, b: Lanes) -> Lanes:
    """`a + b`."""
    return _operation(mods, (a, b), _ADD, odd_sum, double.add, _EXACT)


def sub(mods: Mods, a: Lanes, b: Lanes) -> Lanes:
    """`a - b`."""
    return _operation(
        mods,
        (a, b),
        _SUB,
        lambda x, y, rnd: odd_sum(x, -y, rnd),
        lambda x, y, rnd: double.keep_nan(double.add(x, -y, rnd), x, y),
        _EXACT,
    )


def mul(mods: Mods, a: Lanes, b: Lanes) -> Lanes:
    """`a * b`."""
    return _operation(mods, (a, b), _MUL, lambda x, y, _: x * y, double.mul, _EXACT)


def _odd_fma(x: Lanes, y: Lanes, z: Lanes, rnd: str) -> Lanes:
    return odd_sum(x * y, z, rnd)


def _quick_fma(x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    """fma in rn on f32 or f16: the float64 sum, whose error is below its last bit, rounded from a
    bit above and from a bit below. Where the two agree, that is the result."""
    product = x.astype(np.float64) * y.astype(np.float64)
    total = product + z.astype(np.float64)
    above = (total * _ABOVE).astype(x.dtype)
    total *= _BELOW
    if some(above != total.astype(x.dtype)):  # near a tie, or NaN
        return to_odd(*two_sum(product, z.astype(np.float64))).astype(x.dtype)
    return above


_ABOVE, _BELOW = np.float64(1 + 2.0**-52), np.float64(1 - 2.0**-52)

_PLAIN: dict[str, Native] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "fma": _quick_fma,
    "mad": _quick_fma,
}


def fma(mods: Mods, a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """`a * b + c`, rounded once. With .oob, +0 where a or b is the out-of-bounds NaN (0xffff)."""
    result = _operation(mods, (a, b, c), _quick_fma, _odd_fma, double.fma, _EXACT)
    if "oob" in mods.flags:
        out = (a == 0xFFFF) | (b == 0xFFFF)
        result = np.where(out, result.dtype.type(0), result)
    return result


def div(mods: Mods, a: Lanes, b: Lanes) -> Lanes:
    """`a / b` with IEEE rounding."""
    return _operation(mods, (a, b), np.divide, lambda x, y, _: odd_quotient(x, y), double.div)


def rcp(mods: Mods, a: Lanes) -> Lanes:
    """`1 / a` with IEEE rounding."""
    one = np.ones(1)
    return _operation(
        mods,
        (a,),
        lambda x: np.float32(1) / x,
        lambda x, _: odd_quotient(one, x),
        lambda x, rnd: double.div(one, x, rnd),
    )


def sqrt(mods: Mods, a: Lanes) -> Lanes:
    """The square root with IEEE rounding."""
    return _operation(mods, (a,), np.sqrt, lambda x, _: odd_sqrt(x), double.sqrt)


# --- sign and order -------------------------------------------------------------------------


def neg(mods: Mods, a: Lanes) -> Lanes:
    """`-a`."""
    (a,) = _sources(mods, (a,), mods.type)
    return _signed(mods, a, a ^ a.dtype.type(FORMATS[mods.type].sign))


def abs_(mods: Mods, a: Lanes) -> Lanes:
    """`|a|`."""
    (a,) = _sources(mods, (a,), mods.type)
    return _signed(mods, a, a & a.dtype.type(FORMATS[mods.type].sign - 1))


def _signed(mods: Mods, a: Lanes, result: Lanes) -> Lanes:
    """`result` with canonical NaNs; a NaN of f64 stays, but neg flips its sign."""
    if mods.type == "f64":
        return np.where(is_nan(a, "f64"), a, result) if mods.row == "abs" else result
    nan = is_nan(a, mods.type)
    return np.where(nan, a.dtype.type(FORMATS[mods.type].nan), result) if some(nan) else result


def min_(mods: Mods, a: Lanes, b: Lanes, c: Lanes | None = None) -> Lanes:
    """The least of two or three values; -0 is below +0."""
    return _extreme(mods, a, b, c, least=True)


def max_(mods: Mods, a: Lanes, b: Lanes, c: Lanes | None = None) -> Lanes:
    """The greatest of two or three values; +0 is above -0."""
    return _extreme(mods, a, b, c, least=False)


def _extreme(mods: Mods, a: Lanes, b: Lanes, c: Lanes | None, least: bool) -> Lanes:
    type_ = mods.type
    a, b, *more = _sources(mods, (a, b) if c is None else (a, b, c), type_)
    if type_ in ("f32", "f64") and not (more or mods.abs or mods.nan):
        value = (np.fmin if least else np.fmax)(typed(a, type_), typed(b, type_))
        if not some((value == 0) | (value != value)):  # no zeros to order, no NaN to choose
            return raw(value)
    kind = a.dtype.type
    sign = kind(FORMATS[type_].sign)
    signs = (a ^ b) & sign
    if mods.abs or mods.xorsign:
        a, b, *more = (x & ~sign for x in (a, b, *more))
    result = _pick(mods, a, b, least)
    for x in more:
        result = _pick(mods, result, x, least)
    if mods.xorsign:
        result = np.where(is_nan(result, type_), result, (result & ~sign) | signs)
    return result


def _pick(mods: Mods, a: Lanes, b: Lanes, least: bool) -> Lanes:
    """The lesser or greater of a and b: a number beats a NaN unless .NaN is given."""
    form = FORMATS[mods.type]
    kind = a.dtype.type
    a_nan, b_nan = is_nan(a, mods.type), is_nan(b, mods.type)
    first = _ordered(a, form.width) < _ordered(b, form.width)
    result = np.where(first if least else ~first, a, b)
    if not (some(a_nan) or some(b_nan)):
        return result
    nan = a_nan | b_nan if mods.nan else a_nan & b_nan
    result = np.where(a_nan, b, np.where(b_nan, a, result))
    if mods.type == "f64":  # the second operand's payload, made quiet
        return np.where(nan, np.where(b_nan, b, a) | np.uint64(1 << 51), result)
    return np.where(nan, kind(form.nan), result)


def _ordered(bits: Lanes, width: int) -> Lanes:
    """Signed integers in the order of the floats, -0 just below +0."""
    signed = bits.view(f"i{width // 8}")
    kind = signed.dtype.type
    return np.asarray(np.where(signed < 0, signed ^ kind((1 << (width - 1)) - 1), signed))


# --- properties -----------------------------------------------------------------------------


def testp(mods: Mods, a: Lanes) -> Lanes:
    """A property of a float as a predicate; zeros count as normal."""
    form = FORMATS[mods.type]
    (a,) = _sources(mods, (a,), mods.type)
    kind = a.dtype.type
    magnitude = a & kind(form.sign - 1)
    inf, least = kind(form.inf or 0), kind(1 << form.man)
    tests: dict[str, Callable[[], Lanes]] = {
        "finite": lambda: magnitude < inf,
        "infinite": lambda: magnitude == inf,
        "number": lambda: magnitude <= inf,
        "notanumber": lambda: magnitude > inf,
        "normal": lambda: (magnitude == 0) | ((magnitude >= least) & (magnitude < inf)),
        "subnormal": lambda: (magnitude != 0) & (magnitude < least),
    }
    name = next(iter(mods.flags & tests.keys()), "")
    if not name:
        mods.unsupported()
    return tests[name]()


def copysign(mods: Mods, a: Lanes, b: Lanes) -> Lanes:
    """The magnitude of b with the sign of a."""
    a, b = _sources(mods, (a, b), mods.type)
    sign = a.dtype.type(FORMATS[mods.type].sign)
    return (a & sign) | (b & ~sign)
