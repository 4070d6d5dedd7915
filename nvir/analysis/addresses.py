"""Addresses as a root, terms and a constant distance.

    gep { i32, [4 x float] }, ptr %p, i64 %i, i32 1, i64 2     →  %p + 20·%i + 12
"""

from __future__ import annotations

from nvir.ir import ArrayType, Constant, Instruction, IntType, StructType, Type, Value, VectorType
from nvir.ir.layout import size_of, struct_layout

Terms = list[tuple[Value, int]]


def split_indices(gep: Instruction) -> tuple[int, Terms] | None:
    """The constant bytes of a gep, and (index, bytes it counts) for each of the other indices;
    None for one that makes a vector of pointers."""
    t: Type = gep.aux
    offset = 0
    terms: Terms = []
    if isinstance(gep.type, VectorType):
        return None
    for k, v in enumerate(gep.operands[1:]):
        if k and isinstance(t, StructType):
            if not isinstance(v, Constant):
                return None
            member = v.value or 0
            offset += struct_layout(t).offsets[member]
            t = (t.elements or ())[member]
            continue
        if k:
            if t.__class__ is not ArrayType and t.__class__ is not VectorType:
                return None
            t = t.element
        if isinstance(v, Constant) and v.value.__class__ is not tuple:
            offset += (v.value or 0) * size_of(t)
        elif v.type.__class__ is IntType:
            terms.append((v, size_of(t)))
        else:
            return None
    return offset, terms


def constant_offset(gep: Instruction) -> int | None:
    """The distance in bytes of a gep's result from its base, where it is constant."""
    for v in gep._operands[1:]:
        if v.__class__ is not Constant:  # as for most
            return None
    parts = split_indices(gep)
    return parts[0] if parts is not None and not parts[1] else None
