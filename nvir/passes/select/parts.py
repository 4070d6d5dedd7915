"""What a value of the nvvm level is in registers: one or more parts.

    i1                     one predicate
    i2 … i64               one register of 16, 32 or 64 bits; an i8 lies in 16
    i65 and wider          as many of 64 bits as it takes, the lowest first
    half, bfloat           one of 16 bits; float, double one of their own
    pointers               one of 64 bits
    vectors, aggregates    the parts of their members, in order

The bits of a register above the width of the type hold anything; whoever looks at them
extends first (integer.py). A part also knows where its bytes lie in memory; elements of a vector
that are no whole bytes (i1, i3) lie there bit by bit, so that memory.py moves the vector as one
number.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import attrs

from nvir.ir import types as ty
from nvir.ir.errors import Unsupported
from nvir.ir.layout import size_of, struct_layout

MAX_PARTS = 1 << 14


@attrs.frozen
class RegisterPart:
    """One register of a value.

    offset   of its bytes from the value's start in memory
    scalar   the type that it is, or is a word of (then an integer of the word's width)
    reg      the class of its register
    """

    offset: int
    scalar: ty.Type
    reg: ty.ScalarType
    bits: int = attrs.field(init=False, eq=False)
    bytes: int = attrs.field(init=False, eq=False)  # of its store

    @bits.default
    def _bits(self) -> int:
        return self.scalar.bits

    @bytes.default
    def _bytes(self) -> int:
        return (self.scalar.bits + 7) // 8


def register_of(t: ty.Type) -> ty.ScalarType:
    """The class of the register that a scalar of at most 64 bits lies in."""
    if isinstance(t, ty.IntType):
        if t.bits == 1:
            return ty.PRED
        return ty.B16 if t.bits <= 16 else ty.B32 if t.bits <= 32 else ty.B64
    if isinstance(t, ty.PointerType):
        return ty.B64
    return {"half": ty.B16, "bfloat": ty.B16, "float": ty.F32, "double": ty.F64}[t.name]


@functools.lru_cache(maxsize=4096)
def parts(t: ty.Type) -> tuple[RegisterPart, ...]:
    """The registers of a value of type `t`; none for void and for empty aggregates.

    Raises Unsupported for types that have no registers, and for aggregates of thousands
    of members, which belong in memory.
    """
    out: list[RegisterPart] = []
    for p in _walk(t, 0):
        out.append(p)
        if len(out) > MAX_PARTS:
            raise Unsupported(f"a value of type {t} in registers: use memory")
    return tuple(out)


def _walk(t: ty.Type, at: int) -> Iterator[RegisterPart]:
    if isinstance(t, ty.StructType | ty.ArrayType) and not size_of(t):
        return  # however many members there are, none has parts
    if isinstance(t, ty.StructType):
        for e, offset in zip(t.elements or (), struct_layout(t).offsets, strict=True):
            yield from _walk(e, at + offset)
    elif isinstance(t, ty.ArrayType):
        size = size_of(t.element)
        for k in range(t.count):
            yield from _walk(t.element, at + k * size)
    elif isinstance(t, ty.VectorType):
        size = t.element.bits // 8
        for k in range(t.count):
            yield from _walk(t.element, at + k * size)
    elif isinstance(t, ty.IntType) and t.bits > 64:
        for first in range(0, t.bits, 64):
            yield RegisterPart(at + first // 8, ty.int_type(min(64, t.bits - first)), ty.B64)
    elif isinstance(t, ty.IntType | ty.PointerType) or (
        isinstance(t, ty.FloatType) and t.bits <= 64
    ):
        yield RegisterPart(at, t, register_of(t))
    elif t is not ty.VOID:
        raise Unsupported(f"values of type {t} in registers: run 'legalize' first")


def count(t: ty.Type) -> int:
    return len(parts(t))


def member_slice(t: ty.Type, path: tuple[int, ...]) -> slice:
    """Which parts of a `t` are those of the member that the indices lead to."""
    start = 0
    for k in path:
        if isinstance(t, ty.StructType):
            members = t.elements or ()
            start += sum(count(e) for e in members[:k])
            t = members[k]
        elif isinstance(t, ty.ArrayType | ty.VectorType):
            t = t.element
            start += k * count(t)
    return slice(start, start + count(t))
