"""Constant initialisers (EmitConstExpr): a tree that is known before the program runs.

    emit_constant(shared, e, t)    a constant of t's type in memory, or None where it is not one

The constant of a union whose first member was not initialised is a literal struct of the same
size; whatever holds it becomes literal too, so a variable's type follows its initialiser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.frontend import tree
from nvir.frontend.check.evaluate import evaluate, round_to
from nvir.frontend.irgen.function_symbols import function_symbol
from nvir.frontend.tree.layout import layout, size_of
from nvir.ir import layout as ir_layout
from nvir.ir import types as ty
from nvir.ir.errors import Unsupported
from nvir.ir.nvvm import const
from nvir.ir.nvvm_values import ConstantExpr
from nvir.ir.values import Value, constant

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import ModuleState

MOST = 1 << 22  # elements of an array that are given one by one, zeros behind the last included


def emit_constant(shared: ModuleState, e: tree.Expr, t: tree.CType) -> Value | None:
    """The constant that an initialiser says for an object of type `t`."""
    s = tree.underlying(t)
    if isinstance(s, tree.Reference):
        return _address(shared, e)
    if isinstance(e, tree.StringLiteral) and isinstance(s, tree.Array):
        return string_constant(e.value, s.count or 0)
    if isinstance(s, tree.Record | tree.Array):
        return _aggregate(shared, e, t) if isinstance(e, tree.InitList) else _copied(shared, e, t)
    if isinstance(s, tree.Vector):
        return _vector(shared, e, s) if isinstance(e, tree.InitList) else None
    if isinstance(s, tree.Pointer):
        return _pointer(shared, e, shared.types.memory(s))
    v = evaluate(e)
    if v is None:
        return _address_as_int(shared, e, t)
    return scalar(shared.types.memory(s), v, s)


def scalar(want: ty.Type, v: int | float, t: tree.CType) -> Value:
    """A number as it lies in memory."""
    s = tree.underlying(t)
    if isinstance(want, ty.FloatType) and isinstance(s, tree.Arithmetic):
        return const(want, round_to(float(v), s))
    return const(want, int(v))


def zero(t: ty.Type) -> Value:
    if isinstance(t, ty.IntType):
        return const(t, 0)
    return const(t, 0.0) if isinstance(t, ty.FloatType) else constant(t, None)


def string_constant(text: bytes, size: int) -> Value:
    """The bytes of a string, with zeros up to `size`."""
    padded = text + bytes(max(size - len(text), 0))
    made = tuple(const(ty.I8, b) for b in padded[:size])
    return constant(ty.array(ty.I8, size), made if any(padded[:size]) else None)


def _copied(shared: ModuleState, e: tree.Expr, t: tree.CType) -> Value | None:
    """`T a = b` where b is a constant object with an initialiser."""
    if isinstance(e, tree.Cast) and not e.to_lvalue:
        return _copied(shared, e.operand, t)
    if isinstance(e, tree.InitList):
        return _aggregate(shared, e, t)
    if isinstance(e, tree.Name) and isinstance(e.decl, tree.Variable) and e.decl.init is not None:
        from nvir.frontend.tree.types import qualifiers

        if qualifiers(e.decl.type)[0]:
            return emit_constant(shared, e.decl.init, t)
    return None


# ------------------------------------------------------------------ aggregates


def _aggregate(shared: ModuleState, e: tree.InitList, t: tree.CType) -> Value | None:
    s = tree.strip(t)
    want = shared.types.memory(t)
    if not e.items:
        return constant(want, None)
    if isinstance(s, tree.Array):
        return _array(shared, e, s, want)
    assert isinstance(s, tree.Record)
    return _union(shared, e, s, want) if s.kind == "union" else _struct(shared, e, s, want)


def _array(shared: ModuleState, e: tree.InitList, s: tree.Array, want: ty.Type) -> Value | None:
    assert isinstance(want, ty.ArrayType)
    if want.count > MOST:
        what = f"an initialiser of {want.count} elements; at most {MOST} are written out"
        raise Unsupported(what, where=str(e.place))
    none = zero(want.element)
    parts: list[Value] = []
    for item in e.items:
        made = none if item is None else emit_constant(shared, item, s.element)
        if made is None:
            return None
        parts.append(made)
    parts += [none] * (want.count - len(parts))
    if all(p.type is want.element for p in parts):
        return constant(want, tuple(parts))
    return constant(ty.struct([p.type for p in parts], packed=True), tuple(parts))


def _struct(shared: ModuleState, e: tree.InitList, s: tree.Record, want: ty.Type) -> Value | None:
    assert isinstance(want, ty.StructType)
    info = shared.types.record(s)
    elements = list(want.elements or ())
    parts: list[Value] = [zero(t) for t in elements]
    bits: dict[int, int] = {}  # bytes that bit-fields fill, by offset
    for k, item in enumerate(e.items):
        f = (s.fields or ())[k]
        if item is None:
            continue
        if f.bits is not None:
            v = evaluate(item)
            if not isinstance(v, int):
                return None
            _place_bits(bits, layout(s).offsets[k], f.bits, v)
            continue
        made = emit_constant(shared, item, f.type)
        number = info.elements[k]
        if made is None or number is None:
            return None
        parts[number] = made
    offsets = ir_layout.struct_layout(want).offsets
    for number, t in enumerate(elements):
        parts[number] = _with_bits(parts[number], t, offsets[number], bits)
    if all(p.type is t for p, t in zip(parts, elements, strict=True)):
        return constant(want, tuple(parts))
    return constant(ty.struct([p.type for p in parts], want.packed), tuple(parts))


def _place_bits(bits: dict[int, int], at: int, width: int, v: int) -> None:
    for k in range(width):
        if v >> k & 1:
            byte = (at + k) // 8
            bits[byte] = bits.get(byte, 0) | 1 << (at + k) % 8


def _with_bits(part: Value, t: ty.Type, offset: int, bits: dict[int, int]) -> Value:
    """An integer element with the bits of the fields in it."""
    if not isinstance(t, ty.IntType):
        return part
    n = sum(bits.get(offset + k, 0) << 8 * k for k in range(t.bits // 8))
    return const(t, n) if n else part


def _union(shared: ModuleState, e: tree.InitList, s: tree.Record, want: ty.Type) -> Value | None:
    k = e.field or 0
    f = (s.fields or ())[k]
    item = e.items[0]
    if item is None:
        return constant(want, None)
    if f.bits is not None:
        v = evaluate(item)
        if not isinstance(v, int):
            return None
        n = v & ((1 << f.bits) - 1)
        made: Value | None = const(shared.types.memory(f.type), n)
    else:
        made = emit_constant(shared, item, f.type)
    if made is None:
        return None
    rest = size_of(s) - ir_layout.size_of(made.type)
    types = [made.type, *([ty.array(ty.I8, rest)] if rest else [])]
    values = (made, *((constant(ty.array(ty.I8, rest), None),) if rest else ()))
    assert isinstance(want, ty.StructType)
    if tuple(types) == want.elements:
        return constant(want, values)
    return constant(ty.struct(types), values)


def _vector(shared: ModuleState, e: tree.InitList, s: tree.Vector) -> Value | None:
    element = shared.types.memory(s.element)
    parts = [zero(element)] * s.count
    for k, item in enumerate(e.items):
        made = parts[k] if item is None else emit_constant(shared, item, s.element)
        if made is None:
            return None
        parts[k] = made
    return constant(shared.types.memory(s), tuple(parts))


# ------------------------------------------------------------------- addresses


def _pointer(shared: ModuleState, e: tree.Expr, want: ty.Type) -> Value | None:
    """A constant pointer: null, a number, or an address with an offset."""
    v = evaluate(e)
    if v is not None:
        if not v:
            return constant(want, None)
        return ConstantExpr("inttoptr", (const(ty.I64, int(v)),), want)
    made = _address_value(shared, e)
    if made is None:
        return None
    if made.type is not want:
        made = ConstantExpr("addrspacecast", (made,), want)
    return made


def _address_value(shared: ModuleState, e: tree.Expr) -> Value | None:
    """An expression of pointer type as a constant address."""
    if isinstance(e, tree.Cast):
        if e.kind in ("decay", "function"):
            return _address(shared, e.operand)
        return _address_value(shared, e.operand) if e.kind in ("pointer", "noop", "space") else None
    if isinstance(e, tree.Unary) and e.op == "&":
        return _address(shared, e.operand)
    if isinstance(e, tree.Binary) and e.op in "+-":
        left_is = (
            isinstance(tree.strip(e.left.type), tree.Pointer) if e.left.type is not None else False
        )
        base, number = (e.left, e.right) if left_is else (e.right, e.left)
        p, n = _address_value(shared, base), evaluate(number)
        t = tree.strip(base.type) if base.type is not None else None
        if p is None or not isinstance(n, int) or not isinstance(t, tree.Pointer):
            return None
        return _offset(p, size_of(t.pointee) * (n if e.op == "+" else -n))
    return None


def _offset(p: Value, n: int) -> Value:
    if not n:
        return p
    return ConstantExpr("getelementptr inbounds", (p, const(ty.I64, n)), p.type, ty.I8)


def _address(shared: ModuleState, e: tree.Expr) -> Value | None:
    """The address of an lvalue, where it is constant."""
    from nvir.frontend.irgen.variables import global_symbol, string_variable

    if isinstance(e, tree.StringLiteral):
        return string_variable(shared, e)
    if isinstance(e, tree.Name):
        if isinstance(e.decl, tree.Function):
            return function_symbol(shared, e.decl)
        if isinstance(e.decl, tree.Variable) and _is_static(shared, e.decl):
            return global_symbol(shared, e.decl)
        return None
    if isinstance(e, tree.Index):
        p, n = _address_value(shared, e.base), evaluate(e.index)
        if p is None or not isinstance(n, int) or e.type is None:
            return None
        return _offset(p, size_of(e.type) * n)
    if isinstance(e, tree.Member):
        return _member(shared, e)
    if isinstance(e, tree.Unary) and e.op == "*":
        return _address_value(shared, e.operand)
    return _address(shared, e.operand) if isinstance(e, tree.Cast) and e.to_lvalue else None


def _is_static(shared: ModuleState, v: tree.Variable) -> bool:
    return v in shared.variables or v in shared.unit.declarations


def _member(shared: ModuleState, e: tree.Member) -> Value | None:
    base = _address_value(shared, e.base) if e.arrow else _address(shared, e.base)
    t = tree.strip(e.base.type) if e.base.type is not None else None
    if e.arrow and isinstance(t, tree.Pointer):
        t = tree.strip(t.pointee)
    offset = 0
    for k in e.path or ():
        if not isinstance(t, tree.Record):
            return None
        offset += layout(t).offsets[k] // 8
        t = tree.strip((t.fields or ())[k].type)
    return None if base is None else _offset(base, offset)


def _address_as_int(shared: ModuleState, e: tree.Expr, t: tree.CType) -> Value | None:
    if isinstance(e, tree.Cast) and e.kind == "pointer_to_int":
        p = _address_value(shared, e.operand)
        if p is not None and size_of(t) == 8:
            if isinstance(p.type, ty.PointerType) and p.type.space:
                p = ConstantExpr("addrspacecast", (p,), ty.pointer())
            return ConstantExpr("ptrtoint", (p,), ty.I64)
    return None
