"""How arguments and results travel: one classification for callers and callees.

    DIRECT   as a value: scalars, and under policy `observed` whole objects (first-class structs)
    INDIRECT by the address of an object of the caller's
    BYVAL    by an address that stands for a copy of the callee's own; of a result: sret, a hidden
             first argument `agg.result`
    COERCE   as a value of another type of the same size

The notes number the kinds differently on the two sides of a call; these numbers are the call
side's and hold for both. Policy `observed` follows cicc 13.0: objects travel whole, byval is
for `__grid_constant__` alone. Policy `documented` passes objects by value in memory and returns
them through sret.

Contract (calls.py and functions.py build on it): `classify(types, function, policy)`; an ABI
has `result` (None for void) and `params`, and `arguments()` gives the IR types with sret first.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import attrs

from nvir.frontend import tree
from nvir.ir.types import VOID, Type, int_type, pointer, struct

if TYPE_CHECKING:
    from nvir.frontend.irgen.types import Types


class Kind(IntEnum):
    """The ABI kinds. BYVAL of a result is sret."""

    DIRECT = 0
    INDIRECT = 1
    BYVAL = 2
    COERCE = 3


SRET = Kind.BYVAL


@attrs.frozen
class Passing:
    """How one value travels: its C type, its kind, and the IR type of its slot.

    byval   the slot is a pointer that carries the byval attribute
    """

    type: tree.CType
    kind: Kind
    ir: Type
    byval: bool = False
    attributes: tuple[object, ...] = ()


@attrs.frozen
class ABI:
    result: Passing | None
    params: tuple[Passing, ...]
    variadic: bool

    @property
    def sret(self) -> bool:
        return self.result is not None and self.result.kind is SRET

    @property
    def result_type(self) -> Type:
        return VOID if self.result is None or self.sret else self.result.ir

    def arguments(self) -> list[Type]:
        """The types of the IR function's arguments."""
        first = [pointer()] if self.sret else []
        return [*first, *(p.ir for p in self.params)]


COERCED_BYTES = 16


def coerced(size: int) -> Type | None:
    """The integers that an object of a size class travels as: as many as there are of the widest,
    i64 at most, that its size is a multiple of, whatever its alignment (16 bytes: two i64). None of
    an object that is empty or larger than 16 bytes."""
    if not 0 < size <= COERCED_BYTES:
        return None
    each = min(8, size & -size)
    one, count = int_type(each * 8), size // each
    return one if count == 1 else struct([one] * count)


def _scalar_attributes(t: tree.CType) -> tuple[object, ...]:
    """`signext` and `zeroext` of integers narrower than a register."""
    s = tree.underlying(t)
    if isinstance(s, tree.Arithmetic) and s.kind != "float" and s.bits < 32:
        return ("signext",) if tree.is_signed(s) else ("zeroext",)
    return ()


def classify_param(types: Types, t: tree.CType, policy: str, kernel: bool,
                   parameter: tree.Parameter | None = None) -> Passing:
    s = tree.strip(t)
    if not isinstance(s, tree.Record):
        return Passing(t, Kind.DIRECT, types.memory(t), attributes=_scalar_attributes(t))
    memory = types.memory(t)
    constant = parameter is not None and parameter.grid_constant
    small = coerced(tree.size_of(t)) if policy == "documented" and not kernel else None
    if small is not None and not constant:
        return Passing(t, Kind.COERCE, small)
    if constant or (policy == "documented"):
        words: tuple[object, ...] = (("byval", memory), ("align", tree.align_of(t)))
        if constant and kernel:
            words += (("nvvm.grid_constant", ""),)
        return Passing(t, Kind.BYVAL, pointer(), True, words)
    return Passing(t, Kind.DIRECT, memory)


def classify_result(types: Types, t: tree.CType, policy: str) -> Passing | None:
    if tree.is_void(t):
        return None
    s = tree.strip(t)
    if isinstance(s, tree.Record) and policy == "documented":
        small = coerced(tree.size_of(t))
        if small is not None:
            return Passing(t, Kind.COERCE, small)
        words = (("sret", types.memory(t)), ("align", tree.align_of(t)))
        return Passing(t, SRET, pointer(), attributes=words)
    return Passing(t, Kind.DIRECT, types.memory(t), attributes=_scalar_attributes(t))


def classify(types: Types, f: tree.FunctionType | tree.Function, policy: str) -> ABI:
    """The ABI of a function, or of what a pointer to a function type points to."""
    if isinstance(f, tree.Function):
        params = tuple(
            classify_param(types, p.type, policy, f.is_kernel, p) for p in f.params
        )
        return ABI(classify_result(types, f.result, policy), params, f.variadic)
    params = tuple(classify_param(types, t, policy, False) for t in f.params)
    return ABI(classify_result(types, f.result, policy), params, f.variadic)
