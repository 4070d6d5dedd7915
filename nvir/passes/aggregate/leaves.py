"""Aggregates as the list of their scalars and vectors, and how accesses to these are aligned.

    {i32, {float, double}, i16}     i32 at 0, float at 8, double at 16, i16 at 24

Also the numbers that the real tool has for types and alignments, for those who read its dumps.

Source   the notes' type decomposition; where they contradict LLVM, LLVM (sizes by layout: padding
         counts; an i64 has 64 bits; an alignment below the field's own is kept, never 0).
"""

from __future__ import annotations

import functools

import attrs

from nvir.ir import Constant, Undef, Unsupported, Value, constant, undef
from nvir.ir import types as ty
from nvir.ir.layout import size_of, store_size, struct_layout
from nvir.ir.nvvm import const
from nvir.ir.nvvm_values import ConstantExpr, Poison, poison

MOST_LEAVES = 1 << 16
AGGREGATES = frozenset((ty.StructType, ty.ArrayType))


@attrs.frozen
class AggregateLeaf:
    """One scalar or vector of an aggregate. `path` leads to it, as extractvalue's indices do."""

    path: tuple[int, ...]
    offset: int
    type: ty.Type


def is_aggregate(t: ty.Type) -> bool:
    return t.__class__ in AGGREGATES


@functools.lru_cache(maxsize=4096)
def _leaves(t: ty.Type, body: object) -> tuple[AggregateLeaf, ...]:
    if leaf_count(t) > MOST_LEAVES:
        raise Unsupported(f"a value of type {t}, of {leaf_count(t)} elements: use memory")
    out: list[AggregateLeaf] = []
    work: list[tuple[tuple[int, ...], int, ty.Type]] = [((), 0, t)]
    while work:
        path, at, x = work.pop()
        members = _members(x)
        if members is None:
            out.append(AggregateLeaf(path, at, x))
        else:
            work += [((*path, k), at + o, e) for k, (o, e) in reversed([*enumerate(members)])]
    return tuple(out)


def _members(t: ty.Type) -> list[tuple[int, ty.Type]] | None:
    """Offsets and types of the direct members; None for a leaf."""
    if isinstance(t, ty.StructType):
        return [*zip(struct_layout(t).offsets, t.elements or (), strict=True)]
    if isinstance(t, ty.ArrayType):
        step = size_of(t.element)
        return [(k * step, t.element) for k in range(t.count)]
    return None


def leaves(t: ty.Type) -> tuple[AggregateLeaf, ...]:
    """The leaves in order; of a scalar itself. Raises Unsupported for an opaque struct, and for
    aggregates that no registers could hold."""
    return _leaves(t, getattr(t, "elements", None))  # a named struct may get its body later


def leaf_count(t: ty.Type, known: dict[ty.Type, int] | None = None) -> int:
    """How many leaves; `known` are those of structs within, each of which may stand often."""
    known = {} if known is None else known
    if isinstance(t, ty.ArrayType):
        return t.count * leaf_count(t.element, known)
    if isinstance(t, ty.StructType):
        if t not in known:
            known[t] = sum(leaf_count(x, known) for x in t.elements or ())
        return known[t]
    return 1


def leaf_range(t: ty.Type, path: tuple[int, ...]) -> tuple[int, int]:
    """Which leaves belong to the member that a path leads to: the first, and one past the last."""
    first = 0
    for k in path:
        if isinstance(t, ty.ArrayType):
            t = t.element
            first += k * leaf_count(t)
        else:
            assert isinstance(t, ty.StructType)
            assert t.elements is not None
            first += sum(map(leaf_count, t.elements[:k]))
            t = t.elements[k]
    return first, first + leaf_count(t)


def composite(t: ty.Type) -> ty.StructType:
    """The flat struct of an aggregate's leaves."""
    return ty.struct(leaf.type for leaf in leaves(t))


def gaps(t: ty.Type) -> tuple[tuple[int, int], ...]:
    """(offset, bytes) of the padding of an aggregate; what a union's other members may hold."""
    found = sorted(leaves(t), key=lambda leaf: leaf.offset)
    ends = [leaf.offset + store_size(leaf.type) for leaf in found]
    following = [leaf.offset for leaf in found[1:]] + [size_of(t)]
    return tuple((a, b - a) for a, b in zip(ends, following, strict=False) if b > a)


def holds_union(t: ty.Type) -> bool:
    """Whether a union lies in an aggregate, by the names that front ends give."""
    while isinstance(t, ty.ArrayType):
        t = t.element
    label = getattr(t, "label", None) or ""
    return label.startswith("union.") or any(holds_union(m) for _, m in _members(t) or ())


# ---------------------------------------------------------------- constants


def constant_leaf(v: Value, path: tuple[int, ...], t: ty.Type) -> Value:
    """The leaf of a constant aggregate."""
    for n, k in enumerate(path):
        if isinstance(v, Poison):
            return poison(t)
        if isinstance(v, Undef):
            return undef(t)
        if isinstance(v, ConstantExpr):
            return ConstantExpr("extractvalue", (v,), t, path[n:])
        assert isinstance(v, Constant)
        if v.value is None:
            return zero(t)
        if isinstance(v.value, bytes):
            return const(ty.I8, v.value[k])
        v = v.value[k]
    return v


def zero(t: ty.Type) -> Value:
    return constant(t, 0 if isinstance(t, ty.IntType | ty.FloatType) else None)


# ------------------------------------------------------- the real tool's numbers


def decode_alignment(field: int) -> int:
    """Bytes that the real tool's alignment field says; 0: not given. The low bit is a flag."""
    return (1 << (field >> 1)) >> 1


def encode_alignment(align: int, flag: bool) -> int:
    """The field of an alignment, a power of two or 0."""
    if align & (align - 1) or align > 1 << 29:
        raise ValueError(f"{align} is no alignment")
    return align.bit_length() << 1 | flag


_FLOAT_IDS = {"half": 1, "bfloat": 1, "float": 2, "double": 3, "fp128": 5}


def type_id(t: ty.Type) -> int:
    """The number of a type's class. Raises Unsupported for a type without one."""
    if isinstance(t, ty.FloatType):
        return _FLOAT_IDS[t.name]
    for kind, number in (
        (ty.IntType, 11),
        (ty.StructType, 13),
        (ty.ArrayType, 14),
        (ty.PointerType, 15),
        (ty.VectorType, 16),
    ):
        if isinstance(t, kind):
            return number
    raise Unsupported(f"the size of a value of type {t}")


def size_in_bits(t: ty.Type) -> int:
    """Bits of a value; of a struct or array those of its layout, padding included."""
    return 8 * size_of(t) if type_id(t) in (13, 14) else t.bits
