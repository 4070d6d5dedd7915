"""Bit-fields: where they lie, loading and storing them.

The names are those that cicc prints: `highclear`, `signext` or `zeroext` of a load; `bf.value`,
`bf.prev.cleared`, `bf.newval.positioned`, `bf.finalcontainerval`, `bf.reload.sext` of a store.

A field is reached through an aligned integer that lies within its run of bit-fields and the
padding behind it: storing to it never rewrites a neighbour that another thread may write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.frontend.irgen import fold
from nvir.frontend.irgen.state import BitField, IRGenError, LValue
from nvir.frontend.tree.layout import layout, size_of
from nvir.frontend.tree.place import Place
from nvir.frontend.tree.types import Arithmetic, Field, Record, is_signed, underlying
from nvir.ir import I1, I8, IntType, Type, Value, int_type
from nvir.ir.nvvm import const

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState


def bit_field_place(runs: list[tuple[int, int]], start: int, f: Field,
                    place: Place) -> tuple[int, BitField]:
    """The byte offset of the unit through which a field at bit `start` is reached, and the field
    within it."""
    bits = f.bits or 0
    low, high = next(
        ((a, b) for a, b in runs if a * 8 <= start and start + bits <= b * 8), (0, 0)
    )
    unit = min(size_of(f.type), 8)
    while unit:
        at = start // (8 * unit) * unit
        if low <= at and at + unit <= high and start + bits <= (at + unit) * 8:
            field = BitField(start - at * 8, bits, unit * 8, is_signed(f.type))
            return at, field
        unit //= 2
    at, end = start // 8, (start + bits + 7) // 8
    if end - at <= 8:  # none covers it, or a packed field crosses its units
        field = BitField(start - at * 8, bits, 64, is_signed(f.type), _pieces(at, end))
        return at, field
    raise IRGenError(f"unsupported: the place of bit-field '{f.name}'", place)


def _pieces(at: int, end: int) -> tuple[tuple[int, int], ...]:
    """Aligned accesses that cover the bytes from `at` to `end` and no others."""
    out = []
    place = at
    while place < end:
        n = 8
        while place % n or place + n > end:
            n //= 2
        out.append((place - at, n))
        place += n
    return tuple(out)


def bit_field_address(g: IRGenState, base: LValue, r: Record, k: int,
                      place: Place) -> LValue:
    """The address of field `k`, a bit-field, of a record at `base`."""
    f = (r.fields or ())[k]
    info = g.types.record(r)
    g.types.resolve()
    at, field = bit_field_place(info.runs, layout(r).offsets[k], f, place)
    p = base.pointer
    if at:
        p = g.builder.gep(p, [at], I8, inbounds=True, name=f.name or "bf.addr")
    align = min(base.align, at & -at) if at else base.align
    return LValue(p, f.type, max(min(align, field.unit // 8), 1), base.volatile, field)


def load_unit(g: IRGenState, a: LValue) -> Value:
    """The storage unit, put together from its pieces."""
    f = a.bit_field
    assert f is not None
    unit = int_type(f.unit)
    if not f.pieces:
        return g.builder.load(a.pointer, unit, "bf.load", a.align, a.volatile)
    whole: Value = const(unit, 0)
    for offset, n in f.pieces:
        p, align = _piece(g, a, offset)
        part = g.builder.load(p, int_type(8 * n), "bf.load", min(align, n), a.volatile)
        wide = _by(g, "shl", fold.cast(g, "zext", part, unit, "bf.ext"), 8 * offset, "bf.shl")
        whole = wide if offset == 0 else fold.binary(g, "or", whole, wide, "bf.join")
    return whole


def store_unit(g: IRGenState, v: Value, a: LValue) -> None:
    f = a.bit_field
    assert f is not None
    if not f.pieces:
        g.builder.store(v, a.pointer, a.align, a.volatile)
        return
    for offset, n in f.pieces:
        p, align = _piece(g, a, offset)
        part = _by(g, "lshr", v, 8 * offset, "bf.lshr")
        part = _resize(g, part, int_type(8 * n), False, "bf.trunc")
        g.builder.store(part, p, min(align, n), a.volatile)


def _piece(g: IRGenState, a: LValue, offset: int) -> tuple[Value, int]:
    if not offset:
        return a.pointer, a.align
    p = g.builder.gep(a.pointer, [offset], I8, inbounds=True, name="bf.addr")
    return p, min(a.align, offset & -offset)

def load_bit_field(g: IRGenState, a: LValue) -> Value:
    """The value of the field as its declared type."""
    f = a.bit_field
    assert f is not None
    v = _by(g, "shl", load_unit(g, a), f.unit - f.bits - f.shift, "highclear")
    row, name = ("ashr", "signext") if f.signed else ("lshr", "zeroext")
    v = _by(g, row, v, f.unit - f.bits, name)
    return _as_declared(g, v, f, a)


def _as_declared(g: IRGenState, v: Value, f: BitField, a: LValue) -> Value:
    to = g.types.value(a.type)
    if to is I1:
        return g.builder.icmp_unsigned("!=", v, 0, "tobool")
    return _resize(g, v, to, f.signed, "bf.cast")


def _resize(g: IRGenState, v: Value, to: Type, signed: bool, name: str) -> Value:
    if v.type.bits == to.bits:
        return v
    row = "trunc" if to.bits < v.type.bits else "sext" if signed else "zext"
    return fold.cast(g, row, v, to, name)


def _by(g: IRGenState, row: str, v: Value, amount: int, name: str) -> Value:
    return fold.binary(g, row, v, const(v.type, amount), name) if amount else v


def store_bit_field(g: IRGenState, v: Value, a: LValue) -> Value:
    """Store a value of the declared type; what the field holds then is the result."""
    f = a.bit_field
    assert f is not None
    unit = int_type(f.unit)
    mask = ((1 << f.bits) - 1) << f.shift
    wide = _resize(g, v, unit, False, "bf.resize")
    if f.bits < f.unit:
        wide = fold.binary(g, "and", wide, const(unit, (1 << f.bits) - 1), "bf.value")
        old = load_unit(g, a)
        kept = fold.binary(g, "and", old, const(unit, ~mask), "bf.prev.cleared")
        placed = _by(g, "shl", wide, f.shift, "bf.newval.positioned")
        placed = fold.binary(g, "or", kept, placed, "bf.finalcontainerval")
    else:
        placed = wide
    store_unit(g, placed, a)
    return stored_value(g, wide, f, a)


def stored_value(g: IRGenState, wide: Value, f: BitField, a: LValue) -> Value:
    """The stored bits read back as the declared type; dead where nobody asks."""
    if isinstance(underlying(a.type), Arithmetic) and g.types.value(a.type) is I1:
        return g.builder.icmp_unsigned("!=", wide, 0, "tobool")
    assert isinstance(wide.type, IntType)
    if f.signed:
        spare = f.unit - f.bits
        wide = _by(g, "shl", wide, spare, "bf.reload.shl")
        wide = _by(g, "ashr", wide, spare, "bf.reload.sext")
    return _resize(g, wide, g.types.value(a.type), f.signed, "bf.reload.cast")
