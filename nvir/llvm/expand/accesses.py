"""Inline assembly that is one atomic access, as `legalize` writes it, read as the access."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.ir import Instruction, Type, Value
from nvir.ir import types as ty
from nvir.ir.nvvm_values import InlineAsm
from nvir.ir.opcodes.atomic_assembly import ORDERS, AtomicAccess, of_failure, parsed
from nvir.llvm.expand.upgrade import Expander
from nvir.llvm.lexer import name_in

if TYPE_CHECKING:
    from nvir.llvm.body import DefinitionReader

_TYPES = {"b8": ty.I8, "b16": ty.I16, "b32": ty.I32, "u32": ty.I32, "b64": ty.I64, "f16": ty.HALF,
          "f32": ty.FLOAT, "f64": ty.DOUBLE}
_OPERATIONS = {"add": "fadd", "inc": "uinc_wrap", "dec": "udec_wrap"}
_LLVM_ORDERS = {ptx: llvm for llvm, ptx in ORDERS.items() if llvm not in ("unordered", "seq_cst")}
_SCOPES = {"sys": "", "gpu": "device", "cta": "block", "cluster": "cluster"}


def access_of(b: DefinitionReader, asm: InlineAsm, result: Type,
              operands: list[Value]) -> Value | None:
    """The value of an access, an instruction already placed; None of other assembly."""
    token = b.t[b.start]
    name = name_in(token) if token[:1] == "%" and not token[1:].isdigit() else None
    a = parsed(asm.template, asm.constraints)
    if a is None or "sideeffect" not in asm.flags or not _fits(a, result, operands):
        return None
    e, t = Expander(b, "", result), _TYPES[a.kind]
    order = "seq_cst" if a.fence else _LLVM_ORDERS[a.order]
    scope, size = _SCOPES[a.scope], t.bits // 8
    p, *values = operands
    given = [v if v.type is t else e.bitcast(v, t) if v.type.bits == t.bits else e.trunc(v, t)
             for v in values]
    made: Instruction
    if a.what == "ld":
        made = e.load_atomic(p, t, order, size, scope=scope)
    elif a.what == "st":
        return e.store_atomic(given[0], p, order, size, scope)
    elif a.what in _OPERATIONS:
        made = e.atomic_rmw(_OPERATIONS[a.what], p, given[0], order, scope=scope, align=size)
    else:
        pair = e.cmpxchg(p, given[0], given[1], order, of_failure(order), scope=scope, align=size)
        made = e.extract_value(pair, 0)
    if made.type is not result:
        made = e.zext(made, result) if t.bits < result.bits else e.bitcast(made, result)
    made.name = name
    return made


def _fits(a: AtomicAccess, result: Type, operands: list[Value]) -> bool:
    """Whether the operands and the result are of the registers and the space that are written."""
    orders = {"ld": ("relaxed", "acquire"), "st": ("relaxed", "release")}.get(a.what, _LLVM_ORDERS)
    t = _TYPES[a.kind]
    register = ty.I16 if t.bits < 32 else t
    p, *values = (v.type for v in operands)
    return a.order in orders and getattr(p, "space", None) == a.space and (
        all(v is register for v in values)
        and result is (register if a.what != "st" else ty.VOID)
    ) and not (a.fence and a.order != {"ld": "acquire", "st": "release"}.get(a.what, "acq_rel"))
