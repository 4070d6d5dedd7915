"""Calls.

Contract, for whoever refines it:

    emit_call(g, e)                the value of a call: a scalar, the address for a result of
                                   reference type, None for void
    emit_call_aggregate(g, e, to)  a call that gives an object: the place where it lies, `to`
                                   where that is given

Both sides of a call ask `abi.classify`; `module.function_symbol` gives the callee's symbol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.frontend.irgen import fold
from nvir.frontend.irgen.abi import ABI, Kind, Passing, classify
from nvir.frontend.irgen.places import copy, emit_lvalue, generic, typed
from nvir.frontend.irgen.state import Address, IRGenError
from nvir.frontend.tree.declarations import Function
from nvir.frontend.tree.expressions import Call, Expr, Name
from nvir.frontend.tree.layout import align_of
from nvir.frontend.tree.types import (
    CType,
    FunctionType,
    Pointer,
    Record,
    Reference,
    is_volatile,
    strip,
)
from nvir.ir.function import Function as IRFunction
from nvir.ir.nvvm_values import NvvmCall
from nvir.ir.types import I1, VOID
from nvir.ir.values import Value

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState


def callee_type(e: Expr) -> FunctionType:
    """The function type behind a callee, through typedefs and a pointer."""
    t = strip(typed(e))
    if isinstance(t, FunctionType):
        return t
    if not isinstance(t, Pointer):
        raise IRGenError("Expected pointer to function!", e.place)
    t = strip(t.pointee)
    if not isinstance(t, FunctionType):
        raise IRGenError("unexpected: Callee does not have routine type!", e.place)
    return t


def direct_callee(e: Call) -> Function | None:
    """The declaration that is called, where it is called by name."""
    return e.callee.decl if isinstance(e.callee, Name) and isinstance(
        e.callee.decl, Function) else None  # fmt: skip


def emit_call(g: IRGenState, e: Call) -> Value | None:
    """A call whose result is a scalar, a reference or nothing."""
    from nvir.frontend.irgen.builtins import emit_builtin
    from nvir.frontend.irgen.printf import emit_printf

    f = direct_callee(e)
    if f is not None and f.attributes.builtin:
        return emit_builtin(g, e, f)
    if f is not None and f.name == "printf" and f.body is None:
        return emit_printf(g, e)
    made, abi = _emit(g, e, None)
    if abi.result is None:
        return None
    if g.types.value(abi.result.type) is I1:
        return fold.cast(g, "trunc", made, I1, "tobool")
    return made


def emit_call_aggregate(g: IRGenState, e: Call, to: Address | None) -> Address:
    """A call that gives an object, left at `to` or in a temporary."""
    from nvir.frontend.irgen.builtins import emit_builtin

    t = typed(e)
    f = direct_callee(e)
    if f is not None and f.attributes.builtin:
        p = emit_builtin(g, e, f)
        assert p is not None
        return Address(p, t, align_of(t))
    if to is None or to.volatile or is_volatile(t):
        to = g.alloca(t, "agg.tmp")
    made, abi = _emit(g, e, to)
    if not abi.sret:
        g.builder.store(made, to.pointer, to.align)
    return to


def _emit(g: IRGenState, e: Call, to: Address | None) -> tuple[Value, ABI]:
    from nvir.frontend.irgen.module import function_symbol

    f = direct_callee(e)
    t = callee_type(e.callee)
    abi = classify(g.types, f if f is not None else t, g.options.policy)
    callee: Value
    if f is not None:
        callee = function_symbol(g.shared, f)
    else:
        from nvir.frontend.irgen.expressions import emit_value

        by_name = isinstance(strip(typed(e.callee)), FunctionType)  # `(*f)(…)`
        callee = emit_lvalue(g, e.callee).pointer if by_name else emit_value(g, e.callee)
    args = _arguments(g, e, abi)
    if abi.sret:
        assert to is not None
        args.insert(0, generic(g, to.pointer))
    return _build(g, callee, args, abi), abi


def _arguments(g: IRGenState, e: Call, abi: ABI) -> list[Value]:
    """The values for the slots, evaluated in order, or from right to left where the call says
    so; they stand in their own slots either way."""
    numbers = range(len(e.args))
    order = reversed(numbers) if e.reversed_order else numbers
    made = {k: _argument(g, e.args[k], abi.params[k] if k < len(abi.params) else None)
            for k in order}  # fmt: skip
    return [made[k] for k in numbers]


def _argument(g: IRGenState, e: Expr, p: Passing | None) -> Value:
    from nvir.frontend.irgen.expressions import emit_aggregate, emit_value

    if p is not None and isinstance(strip(p.type), Reference):
        return generic(g, emit_lvalue(g, e).pointer)
    t = typed(e)
    if isinstance(strip(t), Record):
        place = emit_aggregate(g, e)
        if p is None or p.kind is Kind.DIRECT:
            return g.builder.load(place.pointer, g.types.memory(t), "", place.align,
                                  place.volatile)  # fmt: skip
        return _in_memory(g, place, t, p)
    v = emit_value(g, e)
    return fold.cast(g, "zext", v, g.types.memory(t), "frombool") if v.type is I1 else v


def _in_memory(g: IRGenState, place: Address, t: CType, p: Passing) -> Value:
    """An object whose address is passed; byval lets the callee copy, others need one here."""
    if p.kind is Kind.BYVAL:
        tmp = g.alloca(t, "byval-temp")
        copy(g, tmp, place)
        return tmp.pointer
    if p.kind is Kind.INDIRECT:
        return generic(g, place.pointer)
    return g.builder.load(place.pointer, p.ir, "coerce", place.align)


def _build(g: IRGenState, callee: Value, args: list[Value], abi: ABI) -> Value:
    name = "call" if abi.result_type is not VOID else ""
    words = tuple(p.attributes for p in abi.params)
    if abi.sret and abi.result is not None:
        words = (abi.result.attributes, *words)
    if not isinstance(callee, IRFunction):
        words = ((), *words)
    made = g.builder.call(callee, args, name, abi.result_type)
    info = made.aux
    info_words = (*words, *((),) * (len(made.operands) - len(words)))
    made.aux = NvvmCall(len(made.operands), callee=info.callee, arguments=info_words)
    return made
