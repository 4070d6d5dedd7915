"""What is known of an address: the object that it points into, how far, how well aligned.

    %q = getelementptr {i32, [8 x i8]}, ptr %p, i64 0, i32 1, i64 4      place(%q) = %p + 8

From that follows whether the operands of a copy may overlap, and if so, which lies first.

Method   Walk back through getelementptr and casts of pointers, at most `STEPS` of them (then the
         object is just not known). A variable index leaves the multiple that it moves by.
Cost     `STEPS` an address.
Source   LLVM Language Reference, "noalias", "byval", "Pointer Aliasing Rules".
"""

from __future__ import annotations

from math import gcd
from typing import Literal

import attrs

from nvir.analysis.addresses import split_indices
from nvir.ir import Argument, Constant, Instruction, OpKind, PointerType, Type, Value, Variable
from nvir.ir.layout import align_of, size_of
from nvir.ir.nvvm_values import ConstantExpr
from nvir.passes.select.abi import attribute
from nvir.passes.select.spaces import CONST, GENERIC, LOCAL, PARAM

STEPS = 64
Order = Literal["disjoint", "forward", "reverse", "unknown"]


@attrs.frozen
class ObjectPlace:
    """An address: `offset` bytes behind `base`, plus some multiple of `stride` (0: exactly)."""

    base: Value
    offset: int
    stride: int

    @property
    def exact(self) -> bool:
        return self.stride == 0

    @property
    def space(self) -> int:
        """That of the base's own type."""
        assert isinstance(self.base.type, PointerType)
        return self.base.type.space


def place(p: Value) -> ObjectPlace:
    """The object that a pointer points into, as far as it can be seen."""
    offset = stride = 0
    for _ in range(STEPS):
        if not isinstance(p, Instruction | ConstantExpr):
            break
        if p.form.name == "getelementptr":
            parts = split_indices(p)  # type: ignore[arg-type]  # a constant one reads the same
            if parts is None:
                break
            offset += parts[0]
            stride = gcd(stride, *(size for _, size in parts[1]))
        elif p.form.kind is not OpKind.COPY or not isinstance(
            p.operands[0].type, PointerType
        ):
            break
        p = p.operands[0]
    return ObjectPlace(p, offset, stride)


def alignment(p: Value, said: int = 1) -> int:
    """The alignment that an address surely has: what is `said` of it, and what its object tells."""
    at = place(p)
    own = _object_alignment(at.base)
    low = own | at.offset | at.stride
    return max(said, low & -low)


def bytes_left(p: Value) -> int | None:
    """The bytes of an object from an address of it on, where both are known."""
    at = place(p)
    if at.stride:
        return None
    base = at.base
    if isinstance(base, Instruction) and base.form.name == "alloca":
        count = base.operands[0]
        if not isinstance(count, Constant):
            return None
        size = size_of(base.aux[0]) * int(count.value or 0)
    elif isinstance(base, Variable) and base.linkage in ("", "internal", "private", "visible") and (
            base.init is not None):
        size = size_of(base.value_type)
    else:
        return None
    return size - at.offset if 0 <= at.offset <= size else 0


def raise_alignment(p: Value) -> None:
    """Align the stack memory that a copy begins in for wide accesses: nothing forbids it."""
    base = place(p).base
    if not isinstance(base, Instruction) or base.form.name != "alloca":
        return
    allocated, align = base.aux
    size = size_of(allocated)
    if size >= 2:
        base.aux = (allocated, max(align, align_of(allocated), min(16, 1 << size.bit_length() - 1)))


def _object_alignment(base: Value) -> int:
    if isinstance(base, Instruction) and base.form.name == "alloca":
        allocated, align = base.aux
        return int(align) or align_of(allocated)
    if isinstance(base, Variable):
        return base.align or align_of(base.value_type)
    if isinstance(base, Argument):
        given = attribute(base.attributes, "align")
        memory = attribute(base.attributes, "byval")
        return int(given or (align_of(memory) if isinstance(memory, Type) else 1))
    return 1


def address_space(p: Value, params_are_local: bool = True) -> int:
    """The space that a pointer surely points to, 0 where that is not known.

    `params_are_local`: a `byval` parameter of a device function lies in local memory.
    """
    assert isinstance(p.type, PointerType)
    if p.type.space:
        return p.type.space
    at = place(p)
    base = at.base
    if at.space:
        return at.space
    if isinstance(base, Instruction) and base.form.name == "alloca":
        return LOCAL
    if isinstance(base, Argument) and attribute(base.attributes, "byval") is not None:
        if base.function is not None and base.function.is_kernel:
            return PARAM
        return LOCAL if params_are_local else GENERIC
    return GENERIC


def order(to: Value, source: Value, size: int | None, params_are_local: bool) -> Order:
    """How the target of a copy of `size` bytes (None: any) lies to its source.

    "forward" (target at or before the source): copying upwards is right; "reverse": downwards.
    """
    spaces = {address_space(v, params_are_local) for v in (to, source)}
    if len(spaces) == 2 and GENERIC not in spaces:
        return "disjoint"
    if spaces == {GENERIC, CONST}:
        return "disjoint"  # nobody writes to constant memory: the target lies elsewhere
    a, b = place(to), place(source)
    if a.base is b.base:
        if not (a.exact and b.exact):
            return "unknown"
        distance = a.offset - b.offset
        if size is not None and abs(distance) >= size:
            return "disjoint"
        return "forward" if distance <= 0 else "reverse"
    return "disjoint" if _differ(a.base, b.base) else "unknown"


def _differ(a: Value, b: Value) -> bool:
    """Whether two bases are surely different objects."""
    kinds = {_kind(a), _kind(b)}
    if "unknown" in kinds:
        return False
    if kinds & {"own", "noalias"}:
        return True
    return kinds == {"variable"}


def _kind(v: Value) -> str:
    if isinstance(v, Instruction) and v.form.name == "alloca":
        return "own"
    if isinstance(v, Variable):
        return "variable"
    if isinstance(v, Argument):
        if attribute(v.attributes, "byval") is not None:
            return "own"
        return "noalias" if attribute(v.attributes, "noalias") else "argument"
    return "unknown"
