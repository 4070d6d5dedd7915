"""Bits: logic, shifts, fields, counts, permutes and byte dot products, and mov's packing.

Edge cases   shl and shr clamp their amount to the width; shf clamps it to 32 or wraps it at 32.
             bfe and bfi cut the field at the most significant bit; in their 32-bit forms position
             and length are the low 8 bits of their operands. bfind gives 0xffffffff where there is
             nothing to find.
Source       PTX ISA 9.0, sections 9.7.1.14 to 9.7.1.24, 9.7.8, 9.7.9.2 (mov), 9.7.9.7 (prmt).
"""

# mypy: disable-error-code="no-any-return"
from __future__ import annotations

import functools
from functools import lru_cache
from typing import Any

import numpy as np

from nvir.interp.meaning.lanes import WIDTH, Lanes, join, low, raw, split, typed
from nvir.interp.meaning.mods import Mods

_ALL32 = np.uint32(0xFFFFFFFF)


# --- logic ----------------------------------------------------------------------------------


def and_(mods: Mods, a: Lanes, b: Lanes) -> Lanes:
    """Bitwise and; also of predicates."""
    return a & b


def or_(mods: Mods, a: Lanes, b: Lanes) -> Lanes:
    """Bitwise or; also of predicates."""
    return a | b


def xor(mods: Mods, a: Lanes, b: Lanes) -> Lanes:
    """Bitwise exclusive or; also of predicates."""
    return a ^ b


def not_(mods: Mods, a: Lanes) -> Lanes:
    """Bitwise complement; also of predicates."""
    return ~a


def cnot(mods: Mods, a: Lanes) -> Lanes:
    """1 where `a` is zero, else 0."""
    return (a == 0).astype(a.dtype)


def lop3(
    mods: Mods, a: Lanes, b: Lanes, c: Lanes, table: Lanes, q: Lanes | None = None
) -> Lanes | tuple[Lanes, Lanes]:
    """Any function of three bits: bit `4a + 2b + c` of the table. With .and or .or a second
    result, the predicate `(d != 0) op q`."""
    lut = int(np.asarray(table).flat[0]) & 0xFF
    d = _lookup(low(a, 32), low(b, 32), low(c, 32), lut)
    if not mods.bool_op:
        return d
    assert q is not None
    return d, (d != 0) & q if mods.bool_op == "and" else (d != 0) | q


@lru_cache(maxsize=256)
def _monomials(lut: int) -> tuple[int, ...]:
    """The table as an exclusive or of products: masks of the factors (4 a, 2 b, 1 c; 0: one)."""
    coefficients = [lut >> term & 1 for term in range(8)]
    for factor in (1, 2, 4):  # Moebius transform: f(x) = xor of the coefficients below x
        for term in range(8):
            if term & factor:
                coefficients[term] ^= coefficients[term ^ factor]
    return tuple(term for term in range(8) if coefficients[term])


def _lookup(a: Lanes, b: Lanes, c: Lanes, lut: int) -> Lanes:
    """The function of three bits that the table describes, at most eleven bitwise operations."""
    d = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), np.uint32)
    for term in _monomials(lut):
        factors = [x for x, bit in ((a, 4), (b, 2), (c, 1)) if term & bit]
        product = _ALL32 if not factors else functools.reduce(np.bitwise_and, factors)
        d = d ^ product
    return d


# --- shifts ---------------------------------------------------------------------------------


def _amount(b: Lanes, width: int, most: int) -> Lanes:
    """A shift amount in the dtype of the shifted value, at most `most`."""
    return low(np.minimum(b, b.dtype.type(most)), width)


def shl(mods: Mods, a: Lanes, b: Lanes) -> Lanes:
    """`a << b`, 0 from the width on (which is what numpy's shift gives, too)."""
    width = WIDTH[mods.type]
    return low(a, width) << _amount(b, width, width)


def shr(mods: Mods, a: Lanes, b: Lanes) -> Lanes:
    """`a >> b`, filled with the sign for signed types, else with 0."""
    width = WIDTH[mods.type]
    if mods.type[0] == "s":
        return raw(typed(a, mods.type) >> typed(_amount(b, width, width - 1), mods.type))
    return low(a, width) >> _amount(b, width, width)


def shf(mods: Mods, a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """Funnel shift of `b:a`: the upper word after a left shift, the lower after a right one."""
    if not mods.flags & {"l", "r"}:
        mods.unsupported()
    n = np.minimum(c, np.uint32(32)) if mods.shift == "clamp" else c & np.uint32(31)
    both = (low(b, 32).astype(np.uint64) << np.uint64(32)) | low(a, 32)
    if "l" in mods.flags:
        return ((both << n.astype(np.uint64)) >> np.uint64(32)).astype(np.uint32)
    return (both >> n.astype(np.uint64)).astype(np.uint32)


# --- counts and searches --------------------------------------------------------------------


def popc(mods: Mods, a: Lanes) -> Lanes:
    """How many bits are set, as u32."""
    return np.bitwise_count(low(a, WIDTH[mods.type])).astype(np.uint32)


def _length(x: Lanes) -> Lanes:
    """The bit length of unsigned numbers, as int64: 0 for 0."""
    smeared = x.astype(np.uint64)
    for k in (1, 2, 4, 8, 16, 32):
        smeared = smeared | (smeared >> np.uint64(k))
    return np.bitwise_count(smeared).astype(np.int64)


def clz(mods: Mods, a: Lanes) -> Lanes:
    """How many leading bits are clear, as u32."""
    width = WIDTH[mods.type]
    return (width - _length(low(a, width))).astype(np.uint32)


def bfind(mods: Mods, a: Lanes) -> Lanes:
    """The position of the highest bit that differs from the sign; with .shiftamt the left shift
    that brings it to the top; 0xffffffff where there is none."""
    width = WIDTH[mods.type]
    x = typed(a, mods.type)
    length = _length(raw(np.where(x < 0, ~x, x)))
    position = width - length if "shiftamt" in mods.flags else length - 1
    return np.where(length == 0, _ALL32, position.astype(np.uint32))


def fns(mods: Mods, mask: Lanes, base: Lanes, offset: Lanes) -> Lanes:
    """The position of the n-th set bit of `mask` from `base` on: upwards for a positive `offset`
    n, downwards for a negative one, at `base` itself for 0; 0xffffffff where there is none."""
    positions = np.arange(32)
    n = typed(offset, "s32").astype(np.int64)[..., None]
    start = low(base, 32).astype(np.int64)[..., None]
    is_set = (low(mask, 32)[..., None] >> positions.astype(np.uint32)) & np.uint32(1) == 1
    up, down = is_set & (positions >= start), is_set & (positions <= start)
    rank_up = np.cumsum(up, -1)
    rank_down = np.cumsum(down[..., ::-1], -1)[..., ::-1]
    hit = np.where(n > 0, up & (rank_up == n), down & (rank_down == -n))
    hit = np.where(n == 0, is_set & (positions == start), hit)
    return np.where(hit.any(-1), hit.argmax(-1).astype(np.uint32), _ALL32)


def brev(mods: Mods, a: Lanes) -> Lanes:
    """The bits in reverse order."""
    width = WIDTH[mods.type]
    x = low(a, width)
    kind = x.dtype.type
    step = 1
    while step < width:  # swap neighbours of 1, 2, 4 ... bits
        ones = sum(((1 << step) - 1) << k for k in range(0, width, 2 * step))
        x = ((x >> kind(step)) & kind(ones)) | ((x & kind(ones)) << kind(step))
        step *= 2
    return x


# --- fields ---------------------------------------------------------------------------------


def _low_mask(length: Lanes, width: int) -> Lanes:
    """Unsigned numbers of `width` bits with the low `length` bits set (all from `width` on)."""
    kind: Any = np.uint32 if width == 32 else np.uint64
    return (kind(1) << np.minimum(length, width).astype(kind)) - kind(1)


def _place(x: Lanes, width: int) -> Lanes:
    """A position or length as int64: of the 32-bit forms the low 8 bits count; the 64-bit forms,
    which are several machine instructions, take all bits."""
    return (low(x, 32) & np.uint32(0xFF if width == 32 else 0xFFFFFFFF)).astype(np.int64)


def bfe(mods: Mods, a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """The field of length `c` at position `b`, extended by its sign for signed types."""
    width = WIDTH[mods.type]
    x = low(a, width)
    kind = x.dtype.type
    pos, length = _place(b, width), _place(c, width)
    kept = np.clip(width - pos, 0, length)  # bits that come from `a`
    mask = _low_mask(kept, width)
    field = (x >> np.minimum(pos, width).astype(x.dtype)) & mask
    if mods.type[0] == "u":
        return field
    top = np.clip(pos + length - 1, 0, width - 1).astype(x.dtype)
    negative = ((x >> top) & kind(1)).astype(bool) & (length > 0)
    return np.where(negative, field | ~mask, field)


def bfi(mods: Mods, a: Lanes, b: Lanes, c: Lanes, d: Lanes) -> Lanes:
    """`b` with the low `d` bits of `a` put at position `c`."""
    width = WIDTH[mods.type]
    x, y = low(a, width), low(b, width)
    pos, length = _place(c, width), _place(d, width)
    inside = pos < width
    at = np.minimum(pos, width - 1).astype(x.dtype)
    mask = np.where(inside, _low_mask(length, width) << at, x.dtype.type(0))
    return (y & ~mask) | ((x << at) & mask)


def bmsk(mods: Mods, a: Lanes, b: Lanes) -> Lanes:
    """A mask of `b` bits from position `a` on."""
    pos, length = a.astype(np.int64), b.astype(np.int64)
    if mods.shift == "wrap":
        pos, length = pos & 31, length & 31
    mask = _low_mask(np.minimum(length, 32), 32) << np.minimum(pos, 31).astype(np.uint32)
    return np.where(pos >= 32, np.uint32(0), mask)


def szext(mods: Mods, a: Lanes, b: Lanes) -> Lanes:
    """The low `b` bits of `a`, extended by their sign (s32) or zeros (u32)."""
    n = b.astype(np.int64)
    n = n & 31 if mods.shift == "wrap" else np.minimum(n, 32)
    mask = _low_mask(n, 32)
    field = low(a, 32) & mask
    if mods.type == "u32":
        return field
    negative = ((a >> np.clip(n - 1, 0, 31).astype(np.uint32)) & np.uint32(1)).astype(bool)
    return np.where(negative & (n > 0), field | ~mask, field)


# --- bytes ----------------------------------------------------------------------------------


_PRMT_MODES = {  # source byte of d.b0 .. d.b3 for each value of c[1:0]
    "f4e": ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)),
    "b4e": ((0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)),
    "rc16": ((0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)),
}


def prmt(mods: Mods, a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """Four bytes of `b:a`, picked by the nibbles of `c` (bit 3 of a nibble repeats the byte's sign)
    or, with a mode, by the low two bits of `c`."""
    mode = next((m for m in _PRMT_MODES if m in mods.flags), "")
    c = np.asarray(c)
    if c.size == 1:
        return _prmt_uniform(low(a, 32), low(b, 32), int(c.flat[0]), mode)
    selector = np.asarray(c, np.uint32)[..., None]
    if mode:
        control = np.array(_PRMT_MODES[mode], np.uint32)[selector[..., 0] & np.uint32(3)]
    else:
        control = (selector >> np.arange(0, 16, 4, dtype=np.uint32)) & np.uint32(15)
    x, y, control = np.broadcast_arrays(low(a, 32)[..., None], low(b, 32)[..., None], control)
    source = np.where(control & np.uint32(4), y, x) >> ((control & np.uint32(3)) << np.uint32(3))
    byte = source.astype(np.uint8)
    if not mode:
        sign = raw(byte.view(np.int8) >> np.int8(7))
        byte = np.where(control & np.uint32(8), sign, byte)
    return byte.view("<u4")[..., 0].astype(np.uint32, copy=False)


def _prmt_uniform(a: Lanes, b: Lanes, control: int, mode: str) -> Lanes:
    """prmt with the same control in all lanes, byte by byte."""
    picks = [control >> 4 * i & 15 for i in range(4)]
    if mode:
        picks = list(_PRMT_MODES[mode][control & 3])
    out = np.zeros(np.broadcast_shapes(a.shape, b.shape), np.uint32)
    for i, pick in enumerate(picks):
        byte = (b if pick & 4 else a) >> np.uint32(8 * (pick & 3))
        if pick & 8:
            byte = (byte >> np.uint32(7) & np.uint32(1)) * np.uint32(0xFF)
        out = out | ((byte & np.uint32(0xFF)) << np.uint32(8 * i))
    return out


def dp4a(mods: Mods, a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """`c` plus the dot product of four bytes, each side signed or not by its type."""
    return _dot(c, _parts(a, mods.types[0][0], 8), _parts(b, mods.types[1][0], 8))


def dp2a(mods: Mods, a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """`c` plus the dot product of the halves of `a` and the lower or upper two bytes of `b`."""
    if mods.part not in ("lo", "hi"):
        mods.unsupported()
    half = _parts(b, mods.types[1][0], 8)[0 if mods.part == "lo" else 2 :]
    return _dot(c, _parts(a, mods.types[0][0], 16), half)


def _parts(x: Lanes, sign: str, width: int) -> list[Lanes]:
    pieces = split(low(x, 32), f"u{width}", 32 // width)
    return [typed(p, f"{sign}{width}").astype(np.int32) for p in pieces]


def _dot(c: Lanes, xs: list[Lanes], ys: list[Lanes]) -> Lanes:
    total = low(c, 32)
    for x, y in zip(xs, ys, strict=False):
        total = total + (x * y).view(np.uint32)
    return total


# --- mov ------------------------------------------------------------------------------------


def mov(mods: Mods, *sources: Lanes, results: int = 1) -> Lanes | tuple[Lanes, ...]:
    """A copy; several sources are packed into one register, the first in its low bits; with
    `results` > 1 one source is unpacked into that many parts."""
    width = WIDTH[mods.type]
    if len(sources) > 1:
        return _pack(sources, width)
    (source,) = sources
    if results == 1:
        return source
    part = width // results
    if width == 128:
        words = [source[..., 0], source[..., 1]]
        if part == 64:
            return tuple(words)
        return tuple(p for w in words for p in split(w, f"u{part}", 64 // part))
    return tuple(split(source, f"u{part}", results))


def _pack(sources: tuple[Lanes, ...], width: int) -> Lanes:
    part = width // len(sources)
    if width < 128:
        return join(list(sources), part, f"u{width // 8}")
    if part == 64:
        return np.stack(np.broadcast_arrays(*sources), -1)
    half = len(sources) // 2
    words = [join(list(sources[i : i + half]), part, np.uint64) for i in (0, half)]
    return np.stack(np.broadcast_arrays(*words), -1)
