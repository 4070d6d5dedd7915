"""Sizes, alignments and offsets of `nvvm` types in memory, as NVPTX's data layout has them.

Integers are aligned to the next power of two of their bytes, at most 16; floats to their size
(fp128 to 16); pointers are 8 bytes in every address space; a vector is aligned to the next
power of two of its bits, its elements packed; arrays and structs to their widest member, a packed
struct to 1. "Store size" is what a store writes, "alloc size" the distance of neighbours in an
array: the store size rounded up to the alignment.

Cost     Each type is worked out once: types are interned, so the results are kept by them.
Source   LLVM Language Reference, "Data Layout"; NVVM IR Specification, "Data Layout".
"""

from __future__ import annotations

import attrs

from nvir.ir import types as ty
from nvir.ir.errors import Unsupported

DATA_LAYOUT = (
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-"
    "v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
)
TRIPLE = "nvptx64-nvidia-cuda"
MAX_ALIGN = 16  # of an integer: i128 and wider


@attrs.frozen
class StructLayout:
    """Where the members of a struct lie: byte offsets, alloc size, alignment."""

    offsets: tuple[int, ...]
    size: int
    align: int


_aligns: dict[ty.Type, int] = {}
_sizes: dict[ty.Type, int] = {}


def _power_of_two(n: int) -> int:
    """The least power of two that is not below `n`."""
    return 1 << (n - 1).bit_length() if n > 1 else 1


def align_up(n: int, align: int) -> int:
    """The least multiple of `align` that is not below `n`."""
    return -(-n // align) * align


def align_of(t: ty.Type) -> int:
    """ABI alignment in bytes. Raises Unsupported for types that have no place in memory."""
    a = _aligns.get(t)
    if a is not None:
        return a
    if isinstance(t, ty.StructType):
        return struct_layout(t).align  # a named struct may get its body later: not kept here
    if isinstance(t, ty.ArrayType):
        return align_of(t.element)
    if isinstance(t, ty.IntType):
        a = min(_power_of_two(-(-t.bits // 8)), MAX_ALIGN)
    elif isinstance(t, ty.FloatType | ty.PointerType):
        a = t.bits // 8
    elif isinstance(t, ty.VectorType):
        a = _power_of_two(store_size(t))
    elif isinstance(t, ty.ScalarType) and t.bits >= 8:
        a = t.bits // 8
    else:
        raise Unsupported(f"a value of type {t} in memory")
    _aligns[t] = a
    return a


def size_of(t: ty.Type) -> int:
    """Alloc size in bytes: how far apart neighbours in an array are."""
    n = _sizes.get(t)
    if n is not None:
        return n
    if isinstance(t, ty.StructType):
        return struct_layout(t).size
    if isinstance(t, ty.ArrayType):
        return t.count * size_of(t.element)
    n = _sizes[t] = align_up(store_size(t), align_of(t))
    return n


def store_size(t: ty.Type) -> int:
    """Bytes that a store of a value writes."""
    if isinstance(t, (ty.StructType, ty.ArrayType)):
        return size_of(t)
    if isinstance(t, ty.VectorType):
        return -(-t.count * (t.element.bits or 64) // 8)
    if not t.bits:
        raise Unsupported(f"a value of type {t} in memory")
    return -(-t.bits // 8)


def struct_layout(t: ty.StructType) -> StructLayout:
    """Offsets of the members. Raises Unsupported for a struct without a body."""
    if t.elements is None:
        raise Unsupported(f"the size of the opaque struct {t}")
    known: tuple[object, StructLayout] | None = t.layout
    if known is not None and known[0] is t.elements:
        return known[1]
    offsets, at, widest = [], 0, 1
    for e in t.elements:
        a = 1 if t.packed else align_of(e)
        widest = max(widest, a)
        at = align_up(at, a)
        offsets.append(at)
        at += size_of(e)
    layout = StructLayout(tuple(offsets), align_up(at, widest), widest)
    t.layout = t.elements, layout  # a named struct may get its body later
    return layout


def offset_of(t: ty.Type, path: tuple[int, ...]) -> int:
    """Byte offset of the member that constant indices lead to inside a value of type `t`."""
    at = 0
    for k in path:
        if isinstance(t, ty.StructType):
            at += struct_layout(t).offsets[k]
            t = (t.elements or ())[k]
        elif isinstance(t, ty.ArrayType | ty.VectorType):
            at += k * size_of(t.element)
            t = t.element
        else:
            raise Unsupported(f"member {k} of a value of type {t}")
    return at


def fields(t: ty.Type) -> tuple[tuple[int, ty.Type], ...]:
    """The scalar and vector leaves of a type with their byte offsets, in order of the offsets."""
    out: list[tuple[int, ty.Type]] = []
    work = [(0, t)]
    while work:
        at, t = work.pop()
        if isinstance(t, ty.StructType | ty.ArrayType) and not size_of(t):
            continue  # however many members there are, none is a leaf
        if isinstance(t, ty.StructType):
            places = struct_layout(t).offsets
            members = [*zip(places, t.elements or (), strict=True)]
            work.extend((at + o, e) for o, e in reversed(members))
        elif isinstance(t, ty.ArrayType):
            step = size_of(t.element)
            work.extend((at + k * step, t.element) for k in reversed(range(t.count)))
        else:
            out.append((at, t))
    return tuple(out)
