"""What functions take and give, in types that libnvvm passes: it has no code for integers of odd
widths and vectors of such, and its LLVM 7 loses halves.

    define half @f({half, i24} %s)            define i16 @f({i16, i32} %s)
    %r = call half @f({half, i24} %s)   ==>   … each half cast, each i24 extended …
                                              %i = call i16 @f({i16, i32} %t)
                                              %r = bitcast i16 %i to half

Kernels' parameters arrive, and so do structs by address. Calls through a pointer are rewritten as
the functions are.
"""

from __future__ import annotations

from nvir.ir import CallInfo, Function, Instruction, Module
from nvir.ir import types as ty
from nvir.ir.nvvm import Builder
from nvir.ir.nvvm_values import InlineAsm
from nvir.ir.values import Value, undef
from nvir.ir.verify.nvvm import element
from nvir.passes.aggregate.leaves import is_aggregate, leaves


def carried(t: ty.Type, dialect: str) -> ty.Type:
    """What a value of a type is passed as; itself where it arrives."""
    if t is ty.HALF and dialect == "llvm7":
        return ty.I16
    if isinstance(t, ty.IntType) and t is not ty.I1 and t.bits < 64:
        return next(w for w in (ty.I8, ty.I16, ty.I32, ty.I64) if w.bits >= t.bits)
    if isinstance(t, ty.VectorType):
        return ty.vector(ty.I8 if t.element is ty.I1 else carried(t.element, dialect), t.count)
    if isinstance(t, ty.ArrayType):
        return ty.array(carried(t.element, dialect), t.count)
    if isinstance(t, ty.StructType) and t.elements is not None:
        inner = [carried(e, dialect) for e in t.elements]
        return t if inner == [*t.elements] else ty.struct(inner, t.packed)
    return t


def rewrite_signatures(module: Module, dialect: str) -> bool:
    """Rewrite signatures, bodies and calls; whether there were any."""
    changed = False
    for f in module.functions:
        if f.kind == "func" and not str(f.name).startswith("llvm."):
            changed |= _signature(f, dialect)
    for f in module.functions:
        for i in [i for i in f.instructions() if i.form.is_call]:
            changed |= _call(i, dialect)
    return changed


def _signature(f: Function, dialect: str) -> bool:
    result = carried(f.return_type, dialect)
    old = [p.type for p in f.arguments]
    if result is f.return_type and all(carried(t, dialect) is t for t in old):
        return False
    for p, t in zip(f.arguments, old, strict=True):
        p.type = carried(t, dialect)
        if p.type is not t and f.blocks:
            users = list(p.users)
            first = f.entry.first
            assert first is not None
            b = Builder.ahead_of(first)
            back = _recast(b, p, t)
            for u in users:
                u.set_operands(tuple(back if v is p else v for v in u.operands))
    if result is not f.return_type:
        f.return_type = result
        for block in f.blocks:
            end = block.last
            if end is not None and end.form.name == "ret":
                end.set_operands((_recast(Builder.ahead_of(end), end.operands[0], result),))
    return True


def _call(i: Instruction, dialect: str) -> bool:
    info = i.aux
    assert isinstance(info, CallInfo)
    callee = info.callee
    if isinstance(callee, InlineAsm) or (
            isinstance(callee, Function) and str(callee.name).startswith("llvm.")):
        return False
    given = [carried(v.type, dialect) for v in i.operands]
    result = carried(i.type, dialect)
    if result is i.type and all(t is v.type for t, v in zip(given, i.operands, strict=True)):
        return False
    b = Builder.ahead_of(i)
    operands = tuple(_recast(b, v, t) for v, t in zip(i.operands, given, strict=True))
    new = b.insert(i.form.spelling, operands, result, i.name or "", info)
    if i.type is ty.VOID:
        i.erase()
    else:
        i.replace_with(_recast(b, new, i.type))
    return True


def _recast(b: Builder, v: Value, t: ty.Type) -> Value:
    """A value in the type that carries it, or back."""
    if v.type is t:
        return v
    if not is_aggregate(t) and isinstance(element(t), ty.IntType) \
            and isinstance(element(v.type), ty.IntType):
        return b.zext(v, t) if element(t).bits > element(v.type).bits else b.trunc(v, t)
    if not is_aggregate(t):
        return b.bitcast(v, t)
    out: Value = undef(t)
    for leaf in leaves(t):
        part = b.extract_value(v, leaf.path)
        out = b.insert_value(out, _recast(b, part, leaf.type), leaf.path)
    return out
