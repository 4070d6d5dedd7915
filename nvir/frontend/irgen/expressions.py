"""The master dispatch over expressions.

    emit_value(g, e)        a scalar's value: i1 for bool
    emit_bool(g, e)         as a condition, i1, without widening what is already a truth value
    emit_effect(g, e)       for its effects alone
    emit_aggregate(g, e)    an object's place: its own for an lvalue, else a temporary
    places.emit_lvalue      the place that an expression names
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nvir.frontend import tree
from nvir.frontend.check.base import returns_reference
from nvir.frontend.check.evaluate import evaluate, round_to
from nvir.frontend.irgen.calls import emit_call, emit_call_aggregate
from nvir.frontend.irgen.casts import emit_cast, test
from nvir.frontend.irgen.initialisers import emit_init
from nvir.frontend.irgen.intrinsic.special_variables import special_component, special_value
from nvir.frontend.irgen.operators import (
    emit_assign,
    emit_assign_place,
    emit_binary,
    emit_compare,
    emit_conditional,
    emit_logical,
    emit_step,
    emit_unary,
)
from nvir.frontend.irgen.places import emit_lvalue, load, typed
from nvir.frontend.irgen.state import IRGenError, LValue
from nvir.frontend.irgen.walk import emit_statement_expr
from nvir.ir import I1, Constant, FloatType, IntType, Value, constant
from nvir.ir.nvvm import const

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState


def emit_value(g: IRGenState, e: tree.Expr) -> Value:
    """The value of a scalar expression."""
    rule = _RULES.get(type(e))
    if rule is None:
        raise IRGenError("unsupported expression!", e.place)
    before = g.at(e.place)
    made: Value = rule(g, e)
    g.builder.loc = before
    return made


def emit_bool(g: IRGenState, e: tree.Expr) -> Value:
    """Whether an expression is not zero, as i1."""
    before = g.at(e.place)
    if isinstance(e, tree.Cast) and e.kind == "to_bool":
        made = emit_bool(g, e.operand)
    elif isinstance(e, tree.Unary) and e.op == "!":
        v = emit_bool(g, e.operand)
        made = const(I1, not v.value) if isinstance(v, Constant) else g.builder.not_(v, "lnot")
    elif isinstance(e, tree.Binary) and e.op in ("&&", "||"):
        made = emit_logical(g, e)
    elif isinstance(e, tree.Binary) and e.op in ("<", "<=", ">", ">=", "==", "!="):
        made = emit_compare(g, e)
    elif tree.is_void(typed(e)) or tree.is_aggregate(typed(e)):
        raise IRGenError("unsupported expression! (a condition that is no scalar)", e.place)
    else:
        made = test(g, emit_value(g, e))
    g.builder.loc = before
    return made


def emit_effect(g: IRGenState, e: tree.Expr) -> None:
    """Evaluate an expression whose value nobody wants."""
    t = typed(e)
    before = g.at(e.place)
    if isinstance(e, tree.Binary) and e.op == ",":
        emit_effect(g, e.left)
        emit_effect(g, e.right)
    elif isinstance(e, tree.Conditional):
        emit_conditional(g, e, lambda side: emit_effect(g, side))
    elif isinstance(e, tree.Cast) and not e.to_lvalue and (e.kind == "void" or tree.is_void(t)):
        emit_effect(g, e.operand)
    elif isinstance(e, tree.Call):
        _call_effect(g, e)
    elif isinstance(e, tree.StatementExpr):
        _statements(g, e)
    elif isinstance(e, tree.Assign) or tree.is_aggregate(t):
        emit_assign_place(g, e) if isinstance(e, tree.Assign) else emit_aggregate(g, e)
    elif isinstance(e, tree.Name | tree.Member | tree.Index) and not tree.qualifiers(t)[1]:
        _parts(g, e)
    elif not tree.is_void(t):
        emit_value(g, e)
    g.builder.loc = before


def _parts(g: IRGenState, e: tree.Expr) -> None:
    """What is read and dropped: only what stands in it can have effects."""
    if isinstance(e, tree.Member):
        emit_effect(g, e.base)
    elif isinstance(e, tree.Index):
        emit_effect(g, e.base)
        emit_effect(g, e.index)


def _call_effect(g: IRGenState, e: tree.Call) -> None:

    if tree.is_aggregate(typed(e)):
        emit_call_aggregate(g, e, None)
    else:
        emit_call(g, e)


def emit_aggregate(g: IRGenState, e: tree.Expr, to: LValue | None = None) -> LValue:
    """The place of an object; with `to`, what makes a new object may make it there."""

    if isinstance(e, tree.Call) and to is not None and not returns_reference(e):
        return emit_call_aggregate(g, e, to)
    if isinstance(e, tree.InitList):
        made = g.alloca(typed(e), "agg.tmp") if to is None else to
        emit_init(g, e, made)
        return made
    return emit_lvalue(g, e)


# --------------------------------------------------------------------- leaves


def _int(g: IRGenState, e: tree.IntLiteral) -> Value:
    return number(g, e.value, typed(e))


def number(g: IRGenState, x: int | float, t: tree.CType) -> Value:
    """A Python number as a constant of a C type."""
    want = g.types.value(t)
    if isinstance(want, FloatType):
        s = tree.underlying(t)
        assert isinstance(s, tree.Arithmetic)
        return const(want, round_to(float(x), s))
    if isinstance(want, IntType):
        return const(want, int(x))
    return constant(want, None)


def _float(g: IRGenState, e: tree.FloatLiteral) -> Value:
    return number(g, e.value, typed(e))


def _null(g: IRGenState, e: tree.NullPointer) -> Value:
    return constant(g.types.value(typed(e)), None)


def _sizeof(g: IRGenState, e: tree.SizeOf) -> Value:
    v = evaluate(e)
    if v is None:
        raise IRGenError("sizeof of an incomplete type", e.place)
    return number(g, v, typed(e))


def _name(g: IRGenState, e: tree.Name) -> Value:
    d = e.decl
    if isinstance(d, tree.Enumerator):
        return number(g, d.value, typed(e))
    if isinstance(d, tree.Variable):
        special = special_value(g, e)
        if special is not None:
            return special
        if d not in g.places and d.memory == "" and tree.qualifiers(d.type)[0]:
            known = evaluate(e)  # a constant of the host's that the compiler knows
            if known is not None:
                return number(g, known, typed(e))
    return load(g, emit_lvalue(g, e))


def _load(g: IRGenState, e: tree.Expr) -> Value:
    return load(g, emit_lvalue(g, e))


def _member(g: IRGenState, e: tree.Member) -> Value:
    component = special_component(g, e)
    return load(g, emit_lvalue(g, e)) if component is None else component


def _cast(g: IRGenState, e: tree.Cast) -> Value:
    if e.to_lvalue:
        return load(g, emit_lvalue(g, e))
    return emit_cast(g, e)


def _conditional(g: IRGenState, e: tree.Conditional) -> Value:
    made = emit_conditional(g, e, lambda side: emit_value(g, side))
    assert made is not None
    return made


def _call(g: IRGenState, e: tree.Call) -> Value:

    if returns_reference(e):
        return load(g, emit_lvalue(g, e))
    made = emit_call(g, e)
    if made is None:
        raise IRGenError("unsupported expression! (the value of a call that gives none)", e.place)
    return made


def _init_list(g: IRGenState, e: tree.InitList) -> Value:
    t = typed(e)
    if isinstance(tree.underlying(t), tree.Vector):
        return _vector(g, e)
    if e.items and e.items[0] is not None:
        return emit_value(g, e.items[0])
    return constant(g.types.value(t), None if not isinstance(g.types.value(t), IntType) else 0)


def _vector(g: IRGenState, e: tree.InitList) -> Value:
    out: Value = constant(g.types.value(typed(e)), None)
    for k, item in enumerate(e.items):
        if item is not None:
            out = g.builder.insert_element(out, emit_value(g, item), k, "vecinit")
    return out


def _temporary(g: IRGenState, e: tree.Temporary) -> Value:
    return emit_value(g, e.value)


def _statements(g: IRGenState, e: tree.StatementExpr) -> Value:

    made: Any = emit_statement_expr(g, e, None)
    return made  # type: ignore[no-any-return]  # None only where nobody wants a value


_RULES: dict[type[tree.Expr], Any] = {
    tree.IntLiteral: _int, tree.FloatLiteral: _float, tree.NullPointer: _null, tree.SizeOf: _sizeof,
    tree.Name: _name, tree.StringLiteral: _load, tree.Unary: emit_unary, tree.Binary: emit_binary,
    tree.Assign: emit_assign, tree.Step: emit_step, tree.Conditional: _conditional,
    tree.Cast: _cast, tree.Member: _member, tree.Index: _load, tree.Call: _call,
    tree.InitList: _init_list, tree.CompoundLiteral: _load, tree.Temporary: _temporary,
    tree.StatementExpr: _statements,
}
