"""Places: the addresses of lvalues, loads and stores, copies of whole objects.

A place keeps the address space that it is known to lie in: an element of a `__shared__` array
is addressed in shared memory. Only a pointer value that C sees is generic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from nvir.frontend import tree
from nvir.frontend.check.base import is_lvalue, returns_reference
from nvir.frontend.irgen import bitfields, fold
from nvir.frontend.irgen.function_symbols import function_symbol
from nvir.frontend.irgen.state import IRGenError, LValue
from nvir.frontend.irgen.variables import global_place, string_variable
from nvir.frontend.irgen.walk import (
    emit_assign_place,
    emit_call,
    emit_call_aggregate,
    emit_conditional,
    emit_effect,
    emit_init,
    emit_statement_expr,
    emit_value,
    special_aggregate,
)
from nvir.ir import I1, I8, I64, VOID, PointerType, Type, Value, pointer
from nvir.ir.nvvm import const, declare
from nvir.ir.nvvm_values import NvvmCall

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState


def typed(e: tree.Expr) -> tree.CType:
    if e.type is None:
        raise IRGenError("an expression without a type: check the tree first", e.place)
    return e.type


# ---------------------------------------------------------------- loads and stores


def load(g: IRGenState, a: LValue, name: str = "") -> Value:
    """The value at a place: a scalar or a vector."""
    if a.bit_field is not None:
        return bitfields.load_bit_field(g, a)
    if a.lane is not None and a.vector is not None:
        whole = g.builder.load(a.pointer, a.vector, "", a.align, a.volatile)
        return g.builder.extract_element(whole, a.lane, name or "vecext")
    v: Value = g.builder.load(a.pointer, g.types.memory(a.type), name, a.align, a.volatile)
    if g.types.value(a.type) is I1:
        return g.builder.icmp_unsigned("!=", v, 0, "tobool")
    return v


def store(g: IRGenState, v: Value, a: LValue) -> Value:
    """Store a scalar; the value that the place holds then."""
    if a.bit_field is not None:
        return bitfields.store_bit_field(g, v, a)
    if v.type is I1:
        stored = fold.cast(g, "zext", v, I8, "frombool")
    else:
        stored = v
    if a.lane is not None and a.vector is not None:
        whole = g.builder.load(a.pointer, a.vector, "", a.align, a.volatile)
        stored = g.builder.insert_element(whole, stored, a.lane, "vecins")
    g.builder.store(stored, a.pointer, a.align, a.volatile)
    return v


def generic(g: IRGenState, p: Value, to: Type | None = None) -> Value:
    """A pointer in the address space of `to`, by default generic."""
    wanted = pointer() if to is None else to
    return p if p.type is wanted else fold.cast(g, "addrspacecast", p, wanted)


def _space(p: Value) -> int:
    return p.type.space if isinstance(p.type, PointerType) else 0


def _memory_name(p: Value) -> str:
    return f"p{_space(p)}"


def copy(g: IRGenState, to: LValue, source: LValue) -> None:
    """Copy an object as its bytes, padding included."""
    n = tree.size_of(to.type)
    if to.pointer is source.pointer or n == 0:
        return
    args = [to.pointer, source.pointer, const(I64, n), const(I1, to.volatile or source.volatile)]
    name = f"llvm.memcpy.{_memory_name(to.pointer)}.{_memory_name(source.pointer)}.i64"
    memory_call(g, name, args, (to.align, source.align))


def clear(g: IRGenState, to: LValue) -> None:
    """Fill an object with zeros."""
    args = [to.pointer, const(I8, 0), const(I64, tree.size_of(to.type)), const(I1, to.volatile)]
    memory_call(g, f"llvm.memset.{_memory_name(to.pointer)}.i64", args, (to.align,))


def memory_call(g: IRGenState, name: str, args: list[Value], aligns: tuple[int, ...]) -> None:
    """A call of an intrinsic that copies or fills, its pointers aligned so."""
    f = declare(g.module, name, VOID, [a.type for a in args])
    call = g.builder.call(f, args)
    words = tuple((("align", a),) if a > 1 else () for a in aligns)
    call.aux = NvvmCall(len(args), callee=f, arguments=(*words, *((),) * (len(args) - len(words))))


# -------------------------------------------------------------------- lvalues


def emit_lvalue(g: IRGenState, e: tree.Expr) -> LValue:
    """The place that an expression names. One that names none is put into a temporary."""
    rule = _RULES.get(type(e))
    before = g.at(e.place)
    made: LValue = rule(g, e) if rule is not None else materialize(g, e)
    g.builder.loc = before
    return made


def materialize(g: IRGenState, e: tree.Expr, name: str = "tmp") -> LValue:
    """A temporary that holds the value of an expression."""

    to = g.alloca(typed(e), name)
    emit_init(g, e, to)
    return to


def _name(g: IRGenState, e: tree.Name) -> LValue:
    d = e.decl
    if isinstance(d, tree.Function):

        return LValue(function_symbol(g.shared, d), typed(e), 1)
    if d is not None and d in g.places:
        place = g.places[d]
        if isinstance(tree.strip(getattr(d, "type", place.type)), tree.Reference):
            return followed(g, place, typed(e))
        return place
    if isinstance(d, tree.Variable):

        special = special_aggregate(g, e)
        return global_place(g, d) if special is None else special
    raise IRGenError(f"'{e.name}' has no place in memory", e.place)


def followed(g: IRGenState, place: LValue, t: tree.CType) -> LValue:
    """What a reference at a place refers to."""
    p = g.builder.load(place.pointer, pointer(), "", place.align)
    return LValue(p, t, align_or_1(t), tree.is_volatile(t))


def align_or_1(t: tree.CType) -> int:
    s = tree.strip(t)
    if (
        tree.is_void(s)
        or isinstance(s, tree.FunctionType)
        or (isinstance(s, tree.Record) and s.fields is None)
    ):
        return 1
    return tree.align_of(s)


def at_pointer(p: Value, t: tree.CType) -> LValue:
    """The object of type `t` that a pointer points to."""
    return LValue(p, t, align_or_1(t), tree.is_volatile(t))


def _unary(g: IRGenState, e: tree.Unary) -> LValue:

    if e.op != "*":
        return materialize(g, e)
    operand = e.operand
    if isinstance(operand, tree.Cast) and operand.kind == "decay":
        whole = emit_lvalue(g, operand.operand)
        return _element(g, whole, const(I64, 0), typed(e), "arraydecay")
    return at_pointer(emit_value(g, operand), typed(e))


def _index(g: IRGenState, e: tree.Index) -> LValue:

    base = e.base
    if isinstance(tree.strip(typed(base)), tree.Vector):
        whole = emit_lvalue(g, base)
        lane = emit_value(g, e.index)
        return _lane(g, whole, lane, typed(e))
    if isinstance(base, tree.Cast) and base.kind == "decay":
        whole = emit_lvalue(g, base.operand)
        return _element(g, whole, index_value(g, e.index), typed(e), "arrayidx")
    p = emit_value(g, base)
    offset = index_value(g, e.index)
    t = typed(e)
    made = g.builder.gep(p, [offset], g.types.memory(t), inbounds=True, name="arrayidx")
    return at_pointer(made, t)


def index_value(g: IRGenState, e: tree.Expr, name: str = "idxprom") -> Value:
    """A subscript as i64, extended by its own sign."""

    v = emit_value(g, e)
    if v.type.bits == 64:
        return v
    if v.type.bits > 64:
        return fold.cast(g, "trunc", v, I64, name)
    return fold.cast(g, "sext" if tree.is_signed(typed(e)) else "zext", v, I64, name)


def _element(g: IRGenState, whole: LValue, index: Value, t: tree.CType, name: str) -> LValue:
    array = tree.strip(whole.type)
    assert isinstance(array, tree.Array)
    known = getattr(index, "value", None) if index.is_constant else None
    step = tree.size_of(t)
    if known == 0 and whole.pointer.is_constant:
        p = whole.pointer
    else:
        p = g.builder.gep(whole.pointer, [const(I64, 0), index], g.types.memory(whole.type),
                          inbounds=True, name=name)
    if isinstance(known, int):
        align = _align_at(whole.align, known * step)
    else:
        align = _align_at(whole.align, step)
    return LValue(p, t, max(align, 1), whole.volatile or tree.is_volatile(t))


def _align_at(align: int, offset: int) -> int:
    """What is known of the alignment at an offset from an aligned place."""
    return min(align, offset & -offset) if offset else align


def _lane(g: IRGenState, whole: LValue, lane: Value, t: tree.CType) -> LValue:
    return LValue(whole.pointer, t, whole.align, whole.volatile, None, lane,
                   g.types.memory(whole.type))


def _member(g: IRGenState, e: tree.Member) -> LValue:
    from nvir.frontend.irgen.intrinsic.special_variables import special_component

    component = special_component(g, e)
    if component is not None:
        to = g.alloca(typed(e), "tmp")
        store(g, component, to)
        return to
    if e.arrow:
        t = tree.strip(typed(e.base))
        assert isinstance(t, tree.Pointer)
        base = at_pointer(emit_value(g, e.base), t.pointee)
    else:
        base = emit_lvalue(g, e.base)
    if isinstance(tree.strip(base.type), tree.Vector):
        return _lane(g, base, const(I64, (e.path or (0,))[0]), typed(e))
    for k in e.path or ():
        base = field_address(g, base, k, e)
    referred = tree.strip(base.type)
    if isinstance(referred, tree.Reference):
        return followed(g, base, typed(e))
    return attrs.evolve(base, type=typed(e))


def field_address(g: IRGenState, base: LValue, k: int, e: tree.Expr) -> LValue:
    """The place of field `k` of a record."""
    from nvir.frontend.tree.layout import layout

    r = tree.strip(base.type)
    assert isinstance(r, tree.Record)
    f = (r.fields or ())[k]
    if f.bits is not None:
        return bitfields.bit_field_address(g, base, r, k, e.place)
    info = g.types.record(r)
    g.types.resolve()
    offset = layout(r).offsets[k] // 8
    align = _align_at(base.align, offset)
    volatile = base.volatile or tree.is_volatile(f.type)
    element = info.elements[k]
    if element is None or (element == 0 and f.base):
        return LValue(base.pointer, f.type, align, volatile)  # a union's, or the first base
    p = g.builder.gep(base.pointer, [0, element], info.type, inbounds=True, name=f.name or "base")
    return LValue(p, f.type, align, volatile)


def _cast(g: IRGenState, e: tree.Cast) -> LValue:
    if not e.to_lvalue:
        return materialize(g, e) if tree.is_aggregate(typed(e)) is False else _aggregate_cast(g, e)
    place = emit_lvalue(g, e.operand)
    if e.kind in ("base", "derived"):
        p = base_pointer(g, place.pointer, place.type, typed(e), e)
        return LValue(p, typed(e), align_or_1(typed(e)), place.volatile)
    t = typed(e)
    return attrs.evolve(place, type=t, volatile=place.volatile or tree.is_volatile(t),
                        align=min(place.align, max(align_or_1(t), 1)))


def _aggregate_cast(g: IRGenState, e: tree.Cast) -> LValue:
    place = emit_lvalue(g, e.operand)
    if e.kind == "base":
        p = base_pointer(g, place.pointer, place.type, typed(e), e)
        return LValue(p, typed(e), align_or_1(typed(e)), place.volatile)
    return place


def base_pointer(
    g: IRGenState, p: Value, source: tree.CType, to: tree.CType, e: tree.Cast
) -> Value:
    """A pointer to a class as one to its base, or back, as a cast says."""
    from nvir.frontend.tree.layout import layout

    derived, base = (source, to) if e.kind == "base" else (to, source)
    r, b = tree.strip(derived), tree.strip(base)
    if not isinstance(r, tree.Record) or not isinstance(b, tree.Record):
        raise IRGenError(f"a cast of kind '{e.kind}' among what is no class", e.place)
    offset = 0
    for k in tree.find_base(r, b) or ():
        offset += layout(r).offsets[k] // 8
        r = tree.strip((r.fields or ())[k].type)
        assert isinstance(r, tree.Record)
    if not offset:
        return p
    signed = offset if e.kind == "base" else -offset
    return g.builder.gep(p, [const(I64, signed)], I8, inbounds=True, name="add.ptr")


def _value_place(g: IRGenState, e: tree.Expr) -> LValue:
    """Assignments and prefix steps: evaluated, then the place that they changed."""

    return emit_assign_place(g, e)


def _comma(g: IRGenState, e: tree.Binary) -> LValue:

    if e.op != ",":
        return materialize(g, e)
    emit_effect(g, e.left)
    return emit_lvalue(g, e.right)


def _conditional(g: IRGenState, e: tree.Conditional) -> LValue:

    t = typed(e)
    if not (is_lvalue(e.then) and is_lvalue(e.other)):
        if not tree.is_aggregate(t):
            return materialize(g, e)
        to = g.alloca(t, "agg.tmp")
        emit_conditional(g, e, lambda side: emit_init(g, side, to))
        return to
    p = emit_conditional(g, e, lambda side: generic(g, emit_lvalue(g, side).pointer))
    assert p is not None
    return at_pointer(p, t)


def _call(g: IRGenState, e: tree.Call) -> LValue:

    if returns_reference(e):
        p = emit_call(g, e)
        assert p is not None
        return at_pointer(p, typed(e))
    if tree.is_aggregate(typed(e)):
        return emit_call_aggregate(g, e, None)
    return materialize(g, e)


def _string(g: IRGenState, e: tree.StringLiteral) -> LValue:

    return LValue(string_variable(g.shared, e), typed(e), 1)


def _compound_literal(g: IRGenState, e: tree.CompoundLiteral) -> LValue:

    to = g.alloca(typed(e), ".compoundliteral")
    emit_init(g, e.init, to)
    return to


def _temporary(g: IRGenState, e: tree.Temporary) -> LValue:

    to = g.alloca(typed(e), "tmp")
    emit_init(g, e.value, to)
    return to


def _statement_expr(g: IRGenState, e: tree.StatementExpr) -> LValue:

    to = g.alloca(typed(e), "tmp")
    emit_statement_expr(g, e, to)
    return to


_RULES: dict[type[tree.Expr], Any] = {
    tree.Name: _name, tree.Unary: _unary, tree.Index: _index, tree.Member: _member,
    tree.Cast: _cast, tree.Assign: _value_place, tree.Step: _value_place, tree.Binary: _comma,
    tree.Conditional: _conditional, tree.Call: _call, tree.StringLiteral: _string,
    tree.CompoundLiteral: _compound_literal, tree.Temporary: _temporary,
    tree.StatementExpr: _statement_expr,
}
