"""cvt between all integer and floating-point types, and cvt.pack.

Float to int   Rounded, then clamped to the destination. A NaN gives 0, but for a source of f64 or
               a destination of 64 bits the sign bit alone (0x80, 0x8000, 0x80000000 ...).
Int to int     Cut or extended; .sat clamps.
To float       Rounded once from the exact value, whatever the two types are; overflow follows the
               rounding mode, or with .satfinite gives the largest number. NaN becomes the
               destination's canonical NaN (its largest number where it has none), except that bf16
               to f32 is a shift and f32 to f64 keeps the payload.
Packed         The first source goes to the upper part; of packed sources upper goes to upper.
.rs            Stochastic: the supplied random bits are added to the uppermost discarded bits.
Source         PTX ISA 9.0, sections 9.7.9.21 and 9.7.9.22; SASS of ptxas 13.0 (tf32, bf16).
"""

# mypy: disable-error-code="no-any-return"
from __future__ import annotations

import numpy as np

from nvir.interp.meaning.floating import finish, flush
from nvir.interp.meaning.lanes import (
    WIDTH,
    Lanes,
    fit,
    is_float,
    is_integer,
    join,
    low,
    raw,
    register,
    some,
    split,
    typed,
)
from nvir.interp.meaning.mods import Mods
from nvir.interp.meaning.rounding import FORMATS, pack, round_to, value_of

_INTEGRAL = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
_NARROW = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "ue8m0")


def cvt(mods: Mods, *sources: Lanes) -> Lanes:
    """The value of the source(s) in the destination type, in the narrowest register for it.

    The sources are one register; two for a packed destination from f32 (upper first); four for an
    x4 destination; then `rbits` for .rs, or the scale factor for .scaled.
    """
    if "pack" in mods.flags:
        return _cvt_pack(mods, *sources)
    if len(mods.types) != 2:
        mods.unsupported()
    to, of = mods.types
    if to[-2:] in ("x2", "x4") or of[-2:] == "x2":
        return _packed(mods, sources, to, of)
    source = sources[0]
    if to == "tf32":
        return _tf32(mods, source)
    if not all(is_float(t) or is_integer(t) for t in (to, of)):
        mods.unsupported()
    if is_float(of):
        return _float_to_float(mods, source) if is_float(to) else _float_to_int(mods, source)
    return _int_to_float(mods, source) if is_float(to) else _int_to_int(mods, source)


# --- scalars --------------------------------------------------------------------------------


def _input(mods: Mods, bits: Lanes, of: str) -> Lanes:
    """The raw source, flushed where .ftz applies to it (f32 only)."""
    bits = low(bits, WIDTH[of])
    return flush(bits, of) if mods.ftz and of == "f32" else bits


def _int_to_int(mods: Mods, source: Lanes) -> Lanes:
    to, of = mods.types
    x = typed(source, of)
    target = typed(np.zeros(1, np.uint64), to).dtype
    if mods.sat:
        have, want = np.iinfo(x.dtype), np.iinfo(target)
        kind = x.dtype.type
        x = np.clip(x, kind(max(have.min, want.min)), kind(min(have.max, want.max)))
    return fit(raw(x.astype(target)), to, register(to))


def _float_to_int(mods: Mods, source: Lanes) -> Lanes:
    to, of = mods.types
    if mods.rnd and mods.rnd not in _INTEGRAL:
        mods.unsupported()
    x = _INTEGRAL[mods.rnd or "rzi"](value_of(_input(mods, source, of), of))
    target = typed(np.zeros(1, np.uint64), to).dtype
    info = np.iinfo(target)
    nan = x != x
    if WIDTH[to] <= 32 and not some(nan):
        return fit(raw(np.clip(x, info.min, info.max).astype(target)), to, register(to))
    limit = float(int(info.max) + 1)  # a power of two: max itself may not be a float
    inside = np.where(nan | (x < info.min) | (x >= limit), 0.0, x)
    if to == "u64":
        upper = inside >= 2.0**63
        value = np.where(upper, inside - 2.0**63, inside).astype(np.int64).view(np.uint64)
        value = np.where(upper, value | np.uint64(1 << 63), value)
    else:
        value = inside.astype(np.int64).astype(target)
    value = np.where(x < info.min, target.type(info.min), value)
    value = np.where(x >= limit, target.type(info.max), value)
    bits = raw(value)
    if some(nan):
        wide = of == "f64" or WIDTH[to] == 64
        bits = np.where(nan, bits.dtype.type(1 << (WIDTH[to] - 1) if wide else 0), bits)
    return fit(bits, to, register(to))


def _int_to_float(mods: Mods, source: Lanes) -> Lanes:
    to, of = mods.types
    rnd = mods.rnd or "rn"
    x = typed(source, of)
    if rnd == "rn" and to in ("f32", "f64"):
        bits = raw(x.astype("f4" if to == "f32" else "f8"))
    else:
        negative = x < 0
        magnitude = raw(np.where(negative, -x, x)).astype(np.uint64)
        bits = pack(negative, magnitude, np.zeros(1, np.int64), FORMATS[to], rnd)
    return finish(mods, bits, to, ftz=False)


def _float_to_float(mods: Mods, source: Lanes) -> Lanes:
    to, of = mods.types
    bits = _input(mods, source, of)
    if mods.rnd in _INTEGRAL:
        if to != of:
            mods.unsupported()
        bits = _integral(mods, bits)
    elif to != of:
        bits = _resize(mods, bits)
    elif mods.ftz or mods.sat or mods.relu:  # done by an addition of zero
        nan = value_of(bits, of) != value_of(bits, of)
        bits = np.where(nan, bits.dtype.type(FORMATS[of].nan), bits) if of != "f64" else bits
    return finish(mods, bits, to, ftz=mods.ftz and to == "f32")


def _integral(mods: Mods, bits: Lanes) -> Lanes:
    """Rounded to an integral value of the same type."""
    of = mods.stype
    if of == "f64":
        return raw(_INTEGRAL[mods.rnd](bits.view(np.float64)))
    return round_to(_INTEGRAL[mods.rnd](value_of(bits, of)), of)


def _resize(mods: Mods, bits: Lanes) -> Lanes:
    to, of = mods.types
    if (to, of) == ("f32", "bf16"):
        return bits.astype(np.uint32) << np.uint32(16)
    x = value_of(bits, of)
    if to == "f64":
        return raw(x)
    return round_to(x, to, mods.rnd or "rn", satfinite=mods.satfinite)


def _tf32(mods: Mods, source: Lanes) -> Lanes:
    if mods.stype != "f32":
        mods.unsupported()
    x = value_of(source, "f32")
    out = round_to(_relu(mods, x), "tf32", mods.rnd or "rna", satfinite=mods.satfinite)
    nan = x != x
    if not some(nan):
        return out
    kept = source & np.uint32(0xFFFFE000)  # .rna only cuts a NaN, as the emitted code does
    plain = mods.rnd == "rna" and not mods.satfinite
    return np.where(nan, kept if plain else np.uint32(0x7FFFFFFF), out)


def _relu(mods: Mods, x: Lanes) -> Lanes:
    return np.asarray(np.where(x <= 0, 0.0, x)) if mods.relu else x


# --- packed formats -------------------------------------------------------------------------


def _packed(mods: Mods, sources: tuple[Lanes, ...], to: str, of: str) -> Lanes:
    element, count = to[:-2], int(to[-1])
    if element not in (*_NARROW, "f16", "bf16") or (of != "f32" and of[-2:] != "x2"):
        mods.unsupported()
    if of == "f32":
        values = [value_of(x, "f32") for x in reversed(sources[:count])]
        extra = sources[count:]
    else:
        origin = of[:-2]
        if origin not in (*_NARROW, "f16", "bf16"):
            mods.unsupported()
        codes = _codes(sources[0], origin)
        values = [_ue8m0_value(c) if origin == "ue8m0" else value_of(c, origin) for c in codes]
        extra = sources[1:]
    if any(f.startswith("scaled") for f in mods.flags):
        scales = [_ue8m0_value(c) for c in split(extra[0], "u8", 2)]
        values = [v * s for v, s in zip(values, scales, strict=True)]
    parts = [_element(mods, v, element, extra, i, count) for i, v in enumerate(values)]
    width = {"f16": 16, "bf16": 16, "e2m1": 4}.get(element, 8)
    return join(parts, width, np.uint32 if width * count == 32 else np.uint16)


def _codes(bits: Lanes, origin: str) -> list[Lanes]:
    """The two codes of a packed source, lower first."""
    if origin in ("f16", "bf16"):
        return split(low(bits, 32), origin, 2)
    if origin == "e2m1":
        kind = bits.dtype.type
        return [bits & kind(15), (bits >> kind(4)) & kind(15)]
    return split(low(bits, 16), "u8", 2)


def _element(
    mods: Mods, x: Lanes, form: str, extra: tuple[Lanes, ...], index: int, count: int
) -> Lanes:
    """One element, `index` counted from the low end."""
    x = _relu(mods, x)
    if form == "ue8m0":
        return _to_ue8m0(mods, x)
    if mods.rnd != "rs":
        return round_to(x, form, mods.rnd or "rn", satfinite=mods.satfinite)
    if not extra:
        mods.unsupported("no random bits")
    random, bits = _random(low(extra[0], 32), form, index, count)
    return round_to(x, form, "rs", satfinite=mods.satfinite, random=random, random_bits=bits)


def _random(rbits: Lanes, form: str, index: int, count: int) -> tuple[Lanes, int]:
    """The random bits of one element and how many they are."""
    if count == 2:  # upper half for the upper element
        half = rbits >> np.uint32(16) if index == 1 else rbits
        bits = 13 if form == "f16" else 16
    elif form == "e2m1":  # of each half, the upper byte for a and b, the lower for e and f
        half = rbits >> np.uint32((16 if index % 2 == 1 else 0) + (8 if index >= 2 else 0))
        bits = 8
    else:  # upper half for a and b, lower half for e and f
        half = rbits >> np.uint32(16) if index >= 2 else rbits
        bits = 16
    return half & np.uint32((1 << bits) - 1), bits


def _ue8m0_value(code: Lanes) -> Lanes:
    """A power of two from its biased exponent; 0xff is NaN."""
    c = (code & code.dtype.type(0xFF)).astype(np.int64)
    return np.asarray(np.where(c == 0xFF, np.nan, np.ldexp(1.0, c - 127)))


def _to_ue8m0(mods: Mods, x: Lanes) -> Lanes:
    """The exponent of |x| rounded down (.rz) or up (.rp) to a power of two; 0 gives 2^-127."""
    if mods.rnd not in ("rz", "rp"):
        mods.unsupported()
    fraction, exponent = np.frexp(np.abs(x))
    exact = (fraction == 0.5) | (fraction == 0)
    code = exponent.astype(np.int64) + 126 + (~exact if mods.rnd == "rp" else 0)
    code = np.where(x == 0, 0, np.maximum(code, 0))
    over = np.isinf(x) | (code > 0xFE)
    code = np.where(over, 0xFE if mods.satfinite else 0xFF, code)
    return np.where(x != x, 0xFF, code).astype(np.uint16)


# --- cvt.pack -------------------------------------------------------------------------------


def _cvt_pack(mods: Mods, a: Lanes, b: Lanes, c: Lanes | None = None) -> Lanes:
    """Two s32 clamped to a narrow integer type, `b` in the low bits and `a` above; `c` on top."""
    if not mods.sat or len(mods.types) < 2 or mods.types[1] != "s32":
        mods.unsupported()
    to = mods.types[0]
    bits, signed = int(to[1:]), to[0] == "s"
    least, most = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    parts = [
        np.clip(typed(x, "s32"), np.int32(least), np.int32(most)).view(np.uint32) for x in (b, a)
    ]
    packed = join(parts, bits, np.uint32)
    if c is None:
        return packed
    return packed | (low(c, 32) << np.uint32(2 * bits))
