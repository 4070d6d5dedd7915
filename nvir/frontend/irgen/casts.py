"""Conversions of values: `conv`, `tobool` and their like, folded on constants.

Float to integer is LLVM's fptosi, which truncates; with the option `libdevice_casts`, where the
notes have a call of `__nv_float2int_rz` and its like, such a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.frontend import tree
from nvir.frontend.irgen import fold
from nvir.frontend.irgen.places import base_pointer, emit_lvalue, generic, typed
from nvir.frontend.irgen.state import IRGenError
from nvir.frontend.irgen.walk import emit_bool, emit_value
from nvir.ir import types as ty
from nvir.ir.nvvm import const, const_like, declare
from nvir.ir.values import Value, constant

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState


def emit_cast(g: IRGenState, e: tree.Cast) -> Value:
    """The value of a cast to a scalar type."""

    to = typed(e)
    kind = e.kind
    if kind == "decay":
        return emit_decay(g, e)
    if kind == "function":
        return emit_lvalue(g, e.operand).pointer
    if kind == "to_bool":
        return emit_bool(g, e.operand)
    if kind == "null":
        return constant(g.types.value(to), None)
    return convert(g, emit_value(g, e.operand), typed(e.operand), to, e)


def emit_decay(g: IRGenState, e: tree.Cast) -> Value:
    """An array as the address of its first element."""
    whole = emit_lvalue(g, e.operand)
    p = whole.pointer
    if not p.is_constant:
        p = g.builder.gep(p, [const(ty.I64, 0), const(ty.I64, 0)], g.types.memory(whole.type),
                          inbounds=True, name="arraydecay")
    return generic(g, p, g.types.value(typed(e)))


def convert(
    g: IRGenState, v: Value, source: tree.CType, to: tree.CType, e: tree.Cast | None = None
) -> Value:
    """A scalar value of one type as another."""
    want = g.types.value(to)
    if isinstance(tree.strip(to), tree.Vector):
        return _to_vector(g, v, want)
    if want is ty.I1:
        return test(g, v)
    if e is not None and e.kind in ("base", "derived"):
        return _class_pointer(g, v, source, to, e)
    if isinstance(want, ty.PointerType):
        return _to_pointer(g, v, source, want)
    if isinstance(v.type, ty.PointerType):
        wide = fold.cast(g, "ptrtoint", v, ty.I64, "")
        return _int(g, wide, want, False)
    if isinstance(v.type, ty.IntType) and isinstance(want, ty.IntType):
        return _int(g, v, want, tree.is_signed(source) and v.type is not ty.I1)
    return _number(g, v, source, to, want, e)


def _int(g: IRGenState, v: Value, want: ty.Type, signed: bool, name: str = "conv") -> Value:
    if v.type is want:
        return v
    row = "trunc" if want.bits < v.type.bits else "sext" if signed else "zext"
    return fold.cast(g, row, v, want, name)


def _number(g: IRGenState, v: Value, source: tree.CType, to: tree.CType, want: ty.Type,
            e: tree.Cast | None) -> Value:
    if isinstance(v.type, ty.FloatType) and isinstance(want, ty.FloatType):
        if v.type is want:
            return v
        if v.type.bits == want.bits:  # half and bfloat meet in float
            v = fold.cast(g, "fpext", v, ty.FLOAT, "conv")
        row = "fpext" if want.bits > v.type.bits else "fptrunc"
        return fold.cast(g, row, v, want, "conv")
    if isinstance(v.type, ty.IntType) and isinstance(want, ty.FloatType):
        signed = tree.is_signed(source) and v.type is not ty.I1
        return fold.cast(g, "sitofp" if signed else "uitofp", v, want, "conv")
    if isinstance(v.type, ty.FloatType) and isinstance(want, ty.IntType):
        return _float_to_int(g, v, want, tree.is_signed(to))
    place = e.place if e is not None else g.decl.place
    raise IRGenError(f"unsupported expression! (a cast from {v.type} to {want})", place)


_LIBDEVICE: dict[tuple[ty.Type, int], str] = {
    (ty.FLOAT, 32): "float2{}int_rz", (ty.FLOAT, 64): "float2{}ll_rz",
    (ty.DOUBLE, 32): "double2{}int_rz", (ty.DOUBLE, 64): "double2{}ll_rz",
}


def _float_to_int(g: IRGenState, v: Value, want: ty.IntType, signed: bool) -> Value:
    folded = fold.fold_cast("fptosi" if signed else "fptoui", v, want)
    if folded is None and want.bits < ty.I32.bits:  # as the real front end: what does not fit wraps
        return fold.cast(g, "trunc", _float_to_int(g, v, ty.I32, signed), want, "conv")
    name = _LIBDEVICE.get((v.type, want.bits))
    if folded is None and g.options.libdevice_casts and name is not None:
        symbol = "__nv_" + name.format("" if signed else "u")
        f = declare(g.module, symbol, want, [v.type], ("nounwind", ("memory", "none")))
        return g.builder.call(f, [v], "conv")
    return fold.cast(g, "fptosi" if signed else "fptoui", v, want, "conv")


def _to_pointer(g: IRGenState, v: Value, source: tree.CType, want: ty.PointerType) -> Value:
    if isinstance(v.type, ty.PointerType):
        return generic(g, v, want)
    wide = _int(g, v, ty.I64, tree.is_signed(source), "conv")
    return fold.cast(g, "inttoptr", wide, want)


def _class_pointer(
    g: IRGenState, p: Value, source: tree.CType, to: tree.CType, e: tree.Cast
) -> Value:
    a, b = tree.strip(source), tree.strip(to)
    if not isinstance(a, tree.Pointer) or not isinstance(b, tree.Pointer):
        raise IRGenError(f"a cast of kind '{e.kind}' among what is no pointer", e.place)
    return base_pointer(g, p, a.pointee, b.pointee, e)


def _to_vector(g: IRGenState, v: Value, want: ty.Type) -> Value:
    if v.type is want:
        return v
    if isinstance(want, ty.VectorType) and v.type is want.element:
        out: Value = constant(want, None)
        for k in range(want.count):
            out = g.builder.insert_element(out, v, k, "splat.splatinsert")
        return out
    return g.builder.bitcast(v, want)


def test(g: IRGenState, v: Value) -> Value:
    """Whether a scalar is not zero: `tobool`."""
    t = v.type
    if t is ty.I1:
        return v
    known = getattr(v, "value", ...) if v.is_constant else ...
    if isinstance(t, ty.FloatType):
        x = fold.float_value(v) if isinstance(known, int) else None  # type: ignore[arg-type]
        if x is not None:
            return const(ty.I1, int(x != 0))
        return g.builder.fcmp_unordered("!=", v, const_like(v, 0.0), "tobool")
    if isinstance(t, ty.PointerType):
        if known is None:
            return const(ty.I1, 0)
        return g.builder.icmp_unsigned("!=", v, constant(t, None), "tobool")
    if isinstance(known, int):
        return const(ty.I1, int(known != 0))
    return g.builder.icmp_unsigned("!=", v, 0, "tobool")
