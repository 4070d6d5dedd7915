"""Sizes, alignments and field offsets: the System V x86-64 rules, which device code shares.

A bit-field goes into the current allocation unit of its declared type where it fits without
crossing that unit's end, else to the next one; a width of 0 ends the unit. What a reader knows
(offsets of fields, size and alignment of a record) is taken as given.

Cost     each record is laid out once; the result is kept on it.
Source   System V AMD64 ABI 3.1.2; Itanium C++ ABI 2.4 (empty records have size 1).
"""

from __future__ import annotations

import attrs

from nvir.frontend.tree.types import (
    Arithmetic,
    Array,
    CType,
    Enum,
    Field,
    Pointer,
    Qualified,
    Record,
    Reference,
    Typedef,
    Vector,
    spell,
    strip,
)
from nvir.ir.errors import NvirError


class LayoutError(NvirError):
    """A type without a size: incomplete, void, a function, or a record inside itself."""


@attrs.frozen
class RecordLayout:
    """Bytes of a record, and the offset of each of its fields in bits."""

    size: int
    align: int
    offsets: tuple[int, ...]


_BUSY = RecordLayout(0, 0, ())


def size_of(t: CType) -> int:
    """Bytes of a value of the type in memory."""
    s = strip(t)
    if isinstance(s, Arithmetic):
        return s.bits // 8
    if isinstance(s, Pointer | Reference):
        return 8
    if isinstance(s, Enum):
        return size_of(s.underlying)
    if isinstance(s, Record):
        return layout(s).size
    if isinstance(s, Array) and s.count is not None:
        return size_of(s.element) * s.count
    if isinstance(s, Vector):
        n = size_of(s.element) * s.count
        return 1 << max(n - 1, 0).bit_length()
    raise LayoutError(f"'{spell(t)}' is incomplete: it has no size")


def align_of(t: CType) -> int:
    """The alignment in bytes that the type asks for."""
    s = strip(t)
    if isinstance(s, Array):
        return align_of(s.element)
    if isinstance(s, Enum):
        return align_of(s.underlying)
    if isinstance(s, Record):
        return layout(s).align
    return size_of(s)


def _up(n: int, to: int) -> int:
    return (n + to - 1) // to * to


def layout(record: Record) -> RecordLayout:
    """Where the fields of a record lie."""
    known: RecordLayout | None = record.layout_cache
    if known is _BUSY:
        raise LayoutError(f"'{spell(record)}' contains itself")
    if known is not None:
        return known
    if record.fields is None:
        raise LayoutError(f"'{spell(record)}' is incomplete: it has no size")
    record.layout_cache = _BUSY
    try:
        made = _union(record) if record.kind == "union" else _struct(record)
    except BaseException:
        record.layout_cache = None
        raise
    record.layout_cache = made
    return made


def field_bits(f: Field) -> int:
    """Bits that a field takes."""
    whole = size_of(f.type) * 8
    held = strip(f.type)
    if f.bits is not None and not isinstance(held, Enum) and not (
        isinstance(held, Arithmetic) and held.kind != "float"
    ):
        raise LayoutError(f"bit-field '{f.name}' is of type '{spell(f.type)}'")
    if f.bits is not None and not 0 <= f.bits <= whole:
        raise LayoutError(f"bit-field '{f.name}' has {f.bits} bits: a '{spell(f.type)}' has "
                          f"{whole}")
    return whole if f.bits is None else f.bits


def _field_align(record: Record, f: Field) -> int:
    natural = 1 if record.packed else align_of(f.type)
    return max(natural, f.align)


def _finish(record: Record, bits: int, align: int, offsets: list[int]) -> RecordLayout:
    align = max(align, record.align, 1)
    size = record.size or _up(max((bits + 7) // 8, 1), align)
    return RecordLayout(size, align, tuple(offsets))


def _union(record: Record) -> RecordLayout:
    bits, align = 0, 1
    for f in record.fields or ():
        bits = max(bits, field_bits(f))
        align = max(align, _field_align(record, f))
    return _finish(record, bits, align, [0] * len(record.fields or ()))


def _struct(record: Record) -> RecordLayout:
    at, align = 0, 1  # `at` in bits
    offsets: list[int] = []
    for f in record.fields or ():
        unit, own, bits = size_of(f.type) * 8, _field_align(record, f) * 8, field_bits(f)
        if f.offset is not None:
            start = f.offset
        elif f.bits is None:
            start = _up(at, own)
        elif f.bits == 0:
            start = _up(at, unit)
        elif record.packed or at % unit + bits <= unit:
            start = _up(at, f.align * 8) if f.align else at
        else:
            start = _up(at, own)
        offsets.append(start)
        at = max(at, start + bits)
        if f.name or f.bits is None:  # an unnamed bit-field aligns nothing
            align = max(align, own // 8)
    return _finish(record, at, align, offsets)


# --------------------------------------------------------------- finding members


def find_member(
    record: Record, name: str, around: tuple[Record, ...] = ()
) -> tuple[int, ...] | None:
    """The numbers of the fields that lead to a member, through unnamed members and bases.

    A record's own members hide those of its bases. `around`: records that it is within.
    """
    if any(r is record for r in around):
        raise LayoutError(f"'{spell(record)}' contains itself")
    fields = record.fields or ()
    for k, f in enumerate(fields):
        if f.name == name and not f.base:
            return (k,)
    for k, f in enumerate(fields):
        inner = strip(f.type)
        if isinstance(inner, Record) and (f.base or not f.name):
            path = find_member(inner, name, (*around, record))
            if path is not None:
                return (k, *path)
    return None


def find_base(
    record: Record, base: Record, around: tuple[Record, ...] = ()
) -> tuple[int, ...] | None:
    """The numbers of the fields that lead from a record to one of its bases; `around`: records that
    it is within."""
    if any(r is record for r in around):
        raise LayoutError(f"'{spell(record)}' contains itself")
    for k, f in enumerate(record.fields or ()):
        inner = strip(f.type)
        if f.base and isinstance(inner, Record):
            if inner is base:
                return (k,)
            path = find_base(inner, base, (*around, record))
            if path is not None:
                return (k, *path)
    return None


def has_const_member(t: CType) -> bool:
    """Whether an object of the type cannot be assigned as a whole."""
    work, seen = [t], set[int]()  # a record inside itself, which has no size, is asked once
    while work:
        t = work.pop()
        while isinstance(t, Typedef | Qualified | Array):
            if isinstance(t, Qualified) and t.const:
                return True
            t = t.element if isinstance(t, Array) else t.type
        if isinstance(t, Record) and id(t) not in seen:
            seen.add(id(t))
            work += [f.type for f in t.fields or ()]
    return False
