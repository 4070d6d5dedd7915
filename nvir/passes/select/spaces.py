"""In which address space a generic pointer points, as far as a function shows it.

    %p = addrspacecast ptr addrspace(3) @tile to ptr       shared
    %q = getelementptr float, ptr %p, i32 %i               shared
    %r = phi ptr [%q, …], [%next, …]                       shared, if %next is

A generic access costs more than a specific one, and nothing tells ptxas what a pointer
points to but the address space of the access. A pointer whose space is known is held in
registers as an address of that space, and converted where a generic one is needed.
A generic pointer that a kernel takes, by itself or in a struct, points to global memory: a launch
passes no other.

Method   Optimistic data flow over the generic pointers: unknown, one space, generic. Each value
         changes at most twice.
Cost     Linear in the instructions that make pointers, times their depth of loops.
Source   LLVM's InferAddressSpaces and NVPTXLowerArgs.
"""

from __future__ import annotations

from collections.abc import Mapping

from nvir.analysis.callees import intrinsic
from nvir.ir import Argument, Constant, Function, Instruction, SymbolOffset, Undef, Value, Variable
from nvir.ir.types import ADDRESS_SPACES, I64, PointerType

GENERIC, GLOBAL, SHARED, CONST, LOCAL, PARAM = 0, 1, 3, 4, 5, 101
SPACE_NAMES = {**ADDRESS_SPACES, GENERIC: "", 7: "shared::cluster"}
SPACE_NUMBERS = {name: number for number, name in SPACE_NAMES.items() if name}

_THROUGH = frozenset(("getelementptr", "bitcast", "freeze", "addrspacecast"))
MOST_CLEARED = 0xFFF  # low bits of an address, which are those of the place in its memory
POINTER_MASK = "pointer.mask"  # the rule of llvm.ptrmask
_NULL = -1  # null is an address of global memory, or of whatever else it meets only as generic


class Spaces(dict[Value, int]):
    """Value → space of the generic pointers of one function that are known to point to one."""

    def of(self, v: Value) -> int:
        """The space whose addresses the register of pointer `v` holds."""
        if isinstance(v, SymbolOffset):
            v = v.symbol
        if isinstance(v, Variable):
            return SPACE_NUMBERS.get(v.space, GENERIC)
        t = v.type
        if isinstance(t, PointerType) and t.space != GENERIC:
            return t.space
        return self.get(v, GENERIC)


def infer(function: Function, arguments: Mapping[Argument, int]) -> Spaces:
    """The spaces of a function's generic pointers; `arguments` are those known beforehand."""
    known = Spaces()
    for a, space in arguments.items():
        known[a] = space
    pointers = [i for b in function.rpo for i in b
                if i.type.__class__ is PointerType and i.type.space == GENERIC]
    circles = any(i.form.is_phi for i in pointers)  # else each stands behind what it is made of
    if function.is_kernel:
        for i in function.entry:
            if i.form.name == "splitStruct" and isinstance(i.operands[0], Argument):
                known.update((r, GLOBAL) for r in i.results if _is_generic(r))
    found: dict[Value, int] = dict(known)
    changed = True
    while changed:
        changed = False
        for i in pointers:
            if found.get(i) == GENERIC:
                continue
            now = GLOBAL if function.is_kernel and _is_taken(i, known) else \
                _transfer(i, found, known)
            if now is not None and now != found.get(i):
                found[i] = GENERIC if i in found and found[i] != _NULL else now
                changed = circles
    known.update({v: s for v, s in found.items() if s not in (GENERIC, _NULL)})
    return known


def _is_generic(v: Value) -> bool:
    return isinstance(v.type, PointerType) and v.type.space == GENERIC


def _is_taken(i: Instruction, known: Spaces) -> bool:
    """Whether a pointer is read, perhaps as an integer, from memory that holds parameters."""
    v = i.operands[0] if i.form.name == "inttoptr" else i
    if not isinstance(v, Instruction) or v.form.name != "load":
        return False
    place = v.operands[0]
    while isinstance(place, Instruction) and place.form.name == "getelementptr":
        place = place.operands[0]
    return isinstance(place, Argument) and known.of(place) == PARAM


def _transfer(i: Instruction, found: dict[Value, int], known: Spaces) -> int | None:
    """The space of an instruction's result, as far as its operands tell now; None: nothing yet."""
    name = i.form.name
    if name == "alloca":
        return LOCAL
    if name in _THROUGH:
        return _operand(i.operands[0], found, known)
    above = rounded_down(i)
    if above is not None:
        return _operand(above[0], found, known)
    if name == "phi":
        return _meet([_operand(v, found, known) for v in i.operands])
    if name == "select":
        return _meet([_operand(v, found, known) for v in i.operands[1:]])
    return GENERIC


def rounded_down(i: Instruction) -> tuple[Value, int] | None:
    """The generic pointer and the mask of `inttoptr(and(ptrtoint p, mask))` or llvm.ptrmask where
    low bits alone go: memories begin at larger alignments, so it points into that of `p`."""
    if i.form.is_call:
        row = intrinsic(i)
        if row is None or row.rule != POINTER_MASK:
            return None
        p, mask = i._operands
    else:
        number = i._operands[0] if i.form.name == "inttoptr" else None
        if not isinstance(number, Instruction) or number.form.name != "and":
            return None
        cast, mask = number._operands
        if not isinstance(cast, Instruction) or cast.form.name != "ptrtoint":
            return None
        p = cast._operands[0]
    if not isinstance(mask, Constant) or mask.type is not I64 or not _is_generic(p):
        return None
    cleared = ~int(mask.value or 0) & (1 << 64) - 1
    return (p, ~cleared) if not cleared & (cleared + 1) and cleared <= MOST_CLEARED else None


def _operand(v: Value, found: dict[Value, int], known: Spaces) -> int | None:
    if isinstance(v, Undef):
        return None
    if isinstance(v, Constant):
        return _NULL if v.value is None else GENERIC
    if isinstance(v, Instruction) and _is_generic(v):
        return found.get(v)
    return known.of(v)


def _meet(spaces: list[int | None]) -> int | None:
    seen = {s for s in spaces if s is not None}
    if _NULL in seen and len(seen) > 1:
        seen.discard(_NULL)
        if seen != {GLOBAL}:
            return GENERIC
    if not seen:
        return None
    return seen.pop() if len(seen) == 1 else GENERIC
