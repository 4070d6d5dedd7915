"""Pieces of a split alloca: byte ranges with a type, and accesses to parts of them.

A piece whose accesses all cover it whole takes the type that most of them have, and the others
convert. One that is a vector with accesses to its elements is that vector; one of 1, 2, 4 or 8
bytes an integer whose parts are shifted and masked. Any other piece is `opaque`: bytes in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import attrs

from nvir.ir import Constant, Instruction, Undef, Value, constant, undef
from nvir.ir.layout import align_of, size_of
from nvir.ir.nvvm import Builder
from nvir.ir.types import I8, I64, FloatType, IntType, PointerType, Type, VectorType, int_type


@attrs.define
class SliceAccess:
    """Bytes [offset, offset + size) as a value of a type; without an instruction, a range that
    only copies and fills touch."""

    instruction: Instruction | None
    offset: int
    size: int
    type: Type


@attrs.define(eq=False)
class AllocaSlice:
    """Bytes [offset, offset + size) of an alloca as a variable of their own.

    type    what it holds; None: bytes, accessed as they were
    place   its alloca, once there is one
    """

    offset: int
    size: int
    type: Type | None
    place: Value | None = None

    @property
    def whole_bytes(self) -> bool:
        """Whether a value of the type has as many bits as the piece has."""
        return self.type is not None and _bits(self.type) == 8 * self.size

    def gives(self, offset: int, n: int) -> bool:
        """Whether `n` bytes at an offset can be read and written apart."""
        return self.type is not None and _is_integer(self) and n in (1, 2, 4)

    def read(self, b: Builder, offset: int, type: Type) -> Value:
        """Load what lies at a byte offset of the alloca as a value of a type."""
        assert self.place is not None
        if self.type is None:
            return b.load(self._address(b, offset), type, align=self._align(offset, type))
        whole: Value = b.load(self.place, self.type, align=align_of(self.type))
        at = offset - self.offset
        if isinstance(self.type, VectorType) and type is self.type.element:
            return b.extract_element(whole, at // size_of(type))
        n = _bits(type)
        if at or -(-n // 8) < self.size:
            bits = 8 * self.size
            whole = convert(b, whole, int_type(bits))
            if at:
                whole = b.lshr(whole, constant(int_type(bits), 8 * at))
            whole = convert(b, whole, int_type(-(-n // 8) * 8))
        return convert(b, whole, type)

    def write(self, b: Builder, offset: int, value: Value) -> None:
        """Store a value at a byte offset of the alloca."""
        assert self.place is not None
        type = value.type
        if self.type is None:
            b.store(value, self._address(b, offset), align=self._align(offset, type))
            return
        align = align_of(self.type)
        at = offset - self.offset
        if isinstance(self.type, VectorType) and type is self.type.element:
            old = b.load(self.place, self.type, align=align)
            b.store(b.insert_element(old, value, at // size_of(type)), self.place, align=align)
            return
        n = -(-_bits(type) // 8) * 8
        bits = 8 * self.size
        if n < bits:
            old_bits = convert(b, b.load(self.place, self.type, align=align), int_type(bits))
            hole = ((1 << bits) - 1) ^ (((1 << n) - 1) << (8 * at))
            part = b.zext(convert(b, value, int_type(n)), int_type(bits))
            if at:
                part = b.shl(part, constant(int_type(bits), 8 * at))
            kept = b.and_(old_bits, _signed(hole, bits))
            value = b.or_(kept, part)
        b.store(convert(b, value, self.type), self.place, align=align)

    def _address(self, b: Builder, offset: int) -> Value:
        assert self.place is not None
        at = offset - self.offset
        return b.gep(self.place, [constant(I64, at)], I8) if at else self.place

    def _align(self, offset: int, type: Type) -> int:
        at = offset - self.offset
        assert isinstance(self.place, Instruction)
        known: int = self.place.aux[1]
        return min(known, at & -at) if at else known


def _signed(pattern: int, bits: int) -> Constant:
    sign = 1 << (bits - 1)
    return constant(int_type(bits), (pattern ^ sign) - sign)


def _bits(t: Type) -> int:
    return 64 if isinstance(t, PointerType) else t.bits


def convert(b: Builder, v: Value, type: Type) -> Value:
    """The bytes of a value as another type; an integer that has more bits is cut, one that has
    less filled with zeros."""
    if v.type is type:
        return v
    if isinstance(v, Undef):
        return undef(type)
    have, want = _bits(v.type), _bits(type)
    if isinstance(v.type, PointerType) or isinstance(type, PointerType) or have != want:
        v = _as_int(b, v)
        if have != want:
            v = (b.trunc if have > want else b.zext)(v, int_type(want))
        if isinstance(type, PointerType):
            return b.inttoptr(v, type)
        if v.type is type:
            return v
    return b.bitcast(v, type)


def _as_int(b: Builder, v: Value) -> Value:
    if isinstance(v.type, IntType):
        return v
    wide = int_type(_bits(v.type))
    return b.ptrtoint(v, wide) if isinstance(v.type, PointerType) else b.bitcast(v, wide)


def make_pieces(accesses: Iterable[SliceAccess], cuts: Iterable[SliceAccess]) -> list[AllocaSlice]:
    """Pieces for ranges that overlap, in order."""
    ordered = sorted((a for a in (*accesses, *cuts) if a.size), key=lambda a: (a.offset, -a.size))
    groups: list[list[SliceAccess]] = []
    end = -1
    for a in ordered:
        if a.offset >= end:
            groups.append([])
        groups[-1].append(a)
        end = max(end, a.offset + a.size)
    return [_piece(g) for g in groups]


def _piece(group: list[SliceAccess]) -> AllocaSlice:
    start = group[0].offset
    end = max(a.offset + a.size for a in group)
    size = end - start
    types = Counter(a.type for a in group)
    if all(a.size == size for a in group):
        if len(types) == 1:
            return AllocaSlice(start, size, group[0].type)
        full = [t for t in types if _bits(t) == 8 * size]
        if full and all(_convertible(t) for t in types):
            return AllocaSlice(start, size, max(full, key=lambda t: (types[t], _rank(t))))
    vectors = [a.type for a in group if isinstance(a.type, VectorType) and a.size == size]
    for v in dict.fromkeys(vectors):
        assert isinstance(v, VectorType)
        step = size_of(v.element)
        if v.element.bits == 8 * step and all(
            a.type is v or (a.type is v.element and (a.offset - start) % step == 0) for a in group
        ):
            return AllocaSlice(start, size, v)
    if size in (1, 2, 4, 8) and all(_convertible(a.type) for a in group):
        return AllocaSlice(start, size, int_type(8 * size))
    return AllocaSlice(start, size, None)


def _convertible(t: Type) -> bool:
    if isinstance(t, VectorType):
        return not isinstance(t.element, PointerType) and t.bits % 8 == 0
    return isinstance(t, IntType | FloatType | PointerType)


def _rank(t: Type) -> int:
    """Of types that are used equally often, what has the fewest conversions later."""
    return 0 if isinstance(t, IntType) else 1


def _is_integer(p: AllocaSlice) -> bool:
    return isinstance(p.type, IntType) and p.whole_bytes
