"""What a call of level nvvm does, as its callee's name and attributes tell.

The row `call` is conservative: it reads, writes and is convergent. A callee narrows that by its
declaration, and intrinsics by their rows in nvir.ir.intrinsics, whether or not the text that they
came from carries their attributes.

    intrinsic(i)        the row of the intrinsic that a call names, or None
    touches_memory(i)   reads or writes memory, orders it, or may not return
    is_convergent(i)    depends on which lanes run it together
    is_pure(i)          the result depends on the operands alone: equal calls are one,
                        unused ones none
    only_describes(i)   marks where an alloca begins or ends, or says what variable it is
    memory_transfer(i)  a copy or a fill of a number of bytes
"""

from __future__ import annotations

from typing import Any

import attrs

from nvir.ir import CallInfo, Constant, Form, Function, Instruction, OpKind, Value
from nvir.ir.intrinsics import Intrinsic, find
from nvir.ir.nvvm_values import InlineAsm, NvvmCall


def callee_name(i: Instruction) -> str:
    """The name of the function that a call names; "" for an indirect call and for assembly."""
    info = i.aux
    if isinstance(info, CallInfo) and isinstance(info.callee, Function):
        return str(info.callee.name)
    return ""


def attributes(i: Instruction) -> tuple[Any, ...]:
    """The attributes of a call: its own and its callee's."""
    info = i.aux
    own = info.attributes if isinstance(info, NvvmCall) else ()
    callee = info.callee if isinstance(info, CallInfo) else None
    if isinstance(callee, Function) and isinstance(callee.aux, dict):
        return (*own, *callee.aux.get("attributes", ()))
    return own


def intrinsic(i: Instruction) -> Intrinsic | None:
    """The row of the intrinsic that a call names; None of calls of functions with a body."""
    info = i.aux
    if not isinstance(info, CallInfo) or not isinstance(info.callee, Function):
        return None
    return find(str(info.callee.name)) if info.callee.is_declaration else None


def is_pure(i: Instruction) -> bool:
    """Whether a call's result depends on its operands alone, wherever it stands."""
    row = intrinsic(i)
    if row is not None:
        return row.is_pure
    if callee_name(i).startswith("llvm."):
        return False
    if isinstance(i.aux, CallInfo) and isinstance(i.aux.callee, InlineAsm):
        return False
    found = attributes(i)
    no_memory = "readnone" in found or ("memory", "none") in found
    return no_memory and not is_convergent(i) and ("willreturn" in found or "nounwind" in found)


def is_convergent(i: Instruction) -> bool:
    """Whether an instruction must not get other conditions on the way to it."""
    if not i.form.is_call:
        return i.form.convergent
    row = intrinsic(i)
    if row is not None:
        return row.is_convergent
    name = callee_name(i)
    return not name.startswith("llvm.") or name.startswith("llvm.nvvm.")


def touches_memory(i: Instruction) -> bool:
    """Whether an instruction reads, writes or orders memory, or may do so in a callee."""
    f: Form = i.form
    if f.is_call:
        row = intrinsic(i)
        return row.touches_memory if row is not None else not is_pure(i)
    return f.reads or f.writes or f.sync


def may_write(i: Instruction) -> bool:
    """Whether an instruction may change or order memory."""
    f = i.form
    if f.is_call:
        return touches_memory(i) and "readonly" not in attributes(i)
    return f.writes or f.sync or f.volatile or "atomic" in f.mods


def can_speculate(i: Instruction) -> bool:
    """Whether an instruction may run where it did not before: no effect, no trap."""
    f = i.form
    if f.is_call:
        return is_pure(i)
    if f.kind is OpKind.DIVIDE and f.op.operands[0].type == "int":
        d = i.operands[1]  # by 0 is undefined; by a number that is not, harmless
        undefined = (0, -1) if f.op.signed else (0,)
        return isinstance(d, Constant) and isinstance(d.value, int) and d.value not in undefined
    return f.pure


def only_describes(i: Instruction) -> bool:
    return callee_name(i).startswith(("llvm.lifetime.", "llvm.dbg."))


@attrs.frozen
class Transfer:
    """A memcpy, memmove (`source` a pointer) or memset (`fill` a byte) of `size` bytes."""

    target: Value
    size: Value
    volatile: bool
    target_align: int
    source: Value | None = None
    source_align: int = 1
    fill: Value | None = None
    overlaps: bool = False


def memory_transfer(i: Instruction) -> Transfer | None:
    """What a call of llvm.memcpy, .memmove or .memset does, else None."""
    a = i._operands
    if len(a) < 4 or not i.form.is_call:
        return None
    name = callee_name(i)
    if not name.startswith(("llvm.memcpy.", "llvm.memmove.", "llvm.memset.")):
        return None
    volatile = not (isinstance(a[3], Constant) and not a[3].value)
    if name.startswith("llvm.memset."):
        return Transfer(a[0], a[2], volatile, _align(i, 0), fill=a[1])
    return Transfer(a[0], a[2], volatile, _align(i, 0), source=a[1], source_align=_align(i, 1),
                    overlaps="memmove" in name)


def _align(i: Instruction, k: int) -> int:
    """The alignment that a call states for its operand `k`."""
    info = i.aux
    if isinstance(info, NvvmCall) and k < len(info.arguments):
        for a in info.arguments[k]:
            if isinstance(a, tuple) and a[0] == "align":
                return int(a[1])
    return 1
