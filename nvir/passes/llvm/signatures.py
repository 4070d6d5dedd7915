"""What functions take and give, in types that libnvvm passes: it has no code for integers of odd
widths and vectors of such, ends its process at those of more than 64 bits, and its LLVM 7 loses
halves.

    define half @f({half, i24} %s)            define i16 @f({i16, i32} %s)
    %r = call half @f({half, i24} %s)   ==>   … each half cast, each i24 extended …
                                              %i = call i16 @f({i16, i32} %t)
                                              %r = bitcast i16 %i to half

Kernels' parameters arrive but for those of more than 64 bits, and structs by address whose members
are no odd numbers. Calls through a pointer are rewritten as the functions are.
"""

from __future__ import annotations

from typing import Any

from nvir.ir import CallInfo, Function, Instruction, Module, Unsupported
from nvir.ir import types as ty
from nvir.ir.nvvm import Builder
from nvir.ir.nvvm_values import InlineAsm, NvvmCall
from nvir.ir.values import Value, undef
from nvir.ir.verify.nvvm import element
from nvir.passes.aggregate.leaves import is_aggregate

_TAILS = ("tail", "musttail", "notail")


def carried(t: ty.Type, dialect: str) -> ty.Type:
    """What a value of a type is passed as; itself where it arrives."""
    if t is ty.HALF and dialect == "llvm7":
        return ty.I16
    if _is_wide(t):
        return _words(t)
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


def is_cast(t: ty.Type, other: ty.Type) -> bool:
    """Whether values of a type are those of another cast, member by member."""
    if t is other or not (is_aggregate(t) or is_aggregate(other)):
        return True
    members, others = (
        [x.element] * x.count if isinstance(x, ty.ArrayType) else getattr(x, "elements", None)
        for x in (t, other))
    return bool(members and others and len(members) == len(others)
                and type(t) is type(other) and all(map(is_cast, members, others)))


def _is_wide(t: ty.Type) -> bool:
    """Whether a type is an integer of more than 64 bits but 128, or a vector of more than 64."""
    bits = element(t).bits
    return isinstance(element(t), ty.IntType) and bits > 64 and (bits != 128 or element(t) is not t)


def _words(t: ty.Type) -> ty.Type:
    """The i128 that a wide integer is passed as, which lie as it does, or several of them."""
    if isinstance(t, ty.VectorType):
        return ty.array(_words(t.element) if _is_wide(t.element) else t.element, t.count)
    return ty.I128 if t.bits < 128 else ty.array(ty.I128, -(-t.bits // 128))


def lying(t: ty.Type, dialect: str) -> ty.Type:
    """A type that lies in memory as `t` does, of whole words; itself where it is one."""
    if isinstance(t, ty.IntType) and t.bits < 128:
        return next(w for w in (ty.I8, ty.I16, ty.I32, ty.I64, ty.I128) if w.bits >= t.bits)
    if t is ty.BFLOAT and dialect == "llvm7":
        return ty.I16
    if isinstance(t, ty.ArrayType):
        return ty.array(lying(t.element, dialect), t.count)
    if isinstance(t, ty.StructType) and t.elements is not None:
        inner = [lying(e, dialect) for e in t.elements]
        return t if inner == [*t.elements] else ty.struct(inner, t.packed)
    return t


def _by_address(words: tuple[Any, ...], dialect: str) -> tuple[Any, ...]:
    """Attributes of a parameter whose `byval(T)` names a type that libnvvm takes."""
    return tuple((w[0], lying(w[1], dialect))
                 if isinstance(w, tuple) and isinstance(w[1], ty.Type) else w for w in words)


def rewrite_signatures(module: Module, dialect: str) -> bool:
    """Rewrite signatures, bodies and calls; whether there were any."""
    changed = False
    for f in module.functions:
        if not str(f.name).startswith("llvm."):
            changed |= _signature(f, dialect)
            for p in f.arguments:
                p.attributes = _by_address(p.attributes, dialect)
    for f in module.functions:
        for i in [i for i in f.instructions() if i.form.is_call]:
            changed |= _call(i, dialect)
    return changed


def _signature(f: Function, dialect: str) -> bool:
    result = carried(f.return_type, dialect)
    old = [p.type for p in f.arguments]
    if f.kind == "func":
        new = [carried(t, dialect) for t in old]
    else:
        new = [_words(t) if _is_wide(t) else t for t in old]
        vectors = [t for t in old if isinstance(t, ty.VectorType) and _is_wide(t)]
        if vectors:  # lies by its whole size
            raise Unsupported(f"a parameter of type {vectors[0]}", dialect, f"@{f.name}")
    if result is f.return_type and all(a is b for a, b in zip(old, new, strict=True)):
        return False
    if is_cast(f.return_type, result) and all(map(is_cast, old, new)):
        f.aux = {**(f.aux or {}), "signature": (f.return_type, tuple(old))}
    for p, t, wider in zip(f.arguments, old, new, strict=True):
        p.type = wider
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
    if isinstance(info, NvvmCall) and any(info.arguments):
        info.arguments = tuple(_by_address(words, dialect) for words in info.arguments)
    given = [carried(v.type, dialect) for v in i.operands]
    result = carried(i.type, dialect)
    if result is i.type and all(t is v.type for t, v in zip(given, i.operands, strict=True)):
        return False
    b = Builder.ahead_of(i)
    operands = tuple(_recast(b, v, t) for v, t in zip(i.operands, given, strict=True))
    same = result is i.type
    spelling = i.form.spelling if same else " ".join((i.form.name, *(
        m for m in i.form.mods if m in _TAILS)))  # a call of integers has no flags of floats
    new = b.insert(spelling, operands, result, i.name or "", info)
    if i.type is ty.VOID:
        i.erase()
    else:
        i.replace_with(_recast(b, new, i.type))
    return True


def _recast(b: Builder, v: Value, t: ty.Type) -> Value:
    """A value in the type that carries it, or back."""
    if v.type is t:
        return v
    if isinstance(t, ty.ArrayType) and isinstance(v.type, ty.IntType):
        whole = b.zext(v, ty.int_type(128 * t.count)) if v.type.bits % 128 else v
        parts: list[Value] = [b.trunc(b.lshr(whole, 128 * k) if k else whole, ty.I128)
                              for k in range(t.count)]
        return _joined(b, parts, t)
    if isinstance(v.type, ty.ArrayType) and isinstance(t, ty.IntType):
        wide = ty.int_type(128 * v.type.count)
        total = b.zext(b.extract_value(v, 0), wide)
        for k in range(1, v.type.count):
            total = b.or_(total, b.shl(b.zext(b.extract_value(v, k), wide), 128 * k))
        return total if wide is t else b.trunc(total, t)
    if isinstance(t, ty.ArrayType) and isinstance(v.type, ty.VectorType):
        lanes = [_recast(b, b.extract_element(v, k), t.element) for k in range(t.count)]
        return _joined(b, lanes, t)
    if isinstance(v.type, ty.ArrayType) and isinstance(t, ty.VectorType):
        out: Value = undef(t)
        for k in range(t.count):
            out = b.insert_element(out, _recast(b, b.extract_value(v, k), t.element), k)
        return out
    if not is_aggregate(t) and isinstance(element(t), ty.IntType) \
            and isinstance(element(v.type), ty.IntType):
        return b.zext(v, t) if element(t).bits > element(v.type).bits else b.trunc(v, t)
    if not is_aggregate(t):
        return b.bitcast(v, t)
    members = [t.element] * t.count if isinstance(t, ty.ArrayType) else getattr(t, "elements", ())
    return _joined(b, [_recast(b, b.extract_value(v, k), m) for k, m in enumerate(members)], t)


def _joined(b: Builder, parts: list[Value], t: ty.Type) -> Value:
    out: Value = undef(t)
    for k, part in enumerate(parts):
        out = b.insert_value(out, part, k)
    return out
