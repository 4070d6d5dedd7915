"""Operations on types that libnvvm's code generators break on, as others that they take.

    urem <2 x i128> %a, %b               ==>   of each element (in both dialects)
    sdiv i65 %a, %b                      ==>   of sext to i128, trunc; of i256 bit by bit in a loop
    load i2, ptr %p                      ==>   load i8, trunc
    bitcast <3 x i3> %v to i9            ==>   the elements shifted to their place
    extractelement <4 x i1> %v, i32 %k   ==>   a choice among all of them

The newer one ends its process at an element of a vector that was loaded, at an index that varies.
Vectors of i1 or i3 are cast in memory, where they lie element by element: a cast of their bits (in
both dialects), or an element at an index that varies (in LLVM 7), reads what is none of them.
"""

from __future__ import annotations

from collections.abc import Callable

from nvir.ir import Instruction, Unsupported
from nvir.ir import types as ty
from nvir.ir.nvvm import Builder, const
from nvir.ir.values import Constant, Value, undef
from nvir.ir.verify.nvvm import element
from nvir.passes.llvm.intrinsics import lane
from nvir.passes.llvm.long_division import long_division


def _is_odd(t: ty.Type) -> bool:
    """Whether a type is a vector whose elements are no whole bytes."""
    return isinstance(t, ty.VectorType) and bool(t.element.bits % 8)


def by_element(
    b: Builder, i: Instruction, rule: Callable[[Instruction], object] = lambda i: None
) -> Value:
    """An operation on vectors as those on their elements, of which each goes through a rule."""
    t = i.type
    assert isinstance(t, ty.VectorType)
    out: Value = undef(t)
    made = []
    for k in range(t.count):
        given = tuple(lane(b, v, k) for v in i._operands)
        made.append(b.insert(i.form.spelling, given, t.element, "", i.aux))
        out = b.insert_element(out, made[-1], k)
    for one in made:
        rule(one)
    return out


def _quotient(i: Instruction, dialect: str) -> bool:
    t = i.type
    if element(t).bits <= 64:
        return False
    if isinstance(t, ty.VectorType):
        i.replace_with(by_element(Builder.ahead_of(i), i, lambda one: _quotient(one, dialect)))
        return True
    if dialect != "llvm7" or t.bits == 128:
        return False
    b = Builder.ahead_of(i)
    if t.bits > 128:
        long_division(i)
        return True
    given = tuple(_extended(b, v, i.form.name[0] == "s") for v in i._operands)
    i.replace_with(b.trunc(b.insert(i.form.name, given, ty.I128), t))
    return True


def _extended(b: Builder, v: Value, signed: bool) -> Value:
    """A number in 128 bits, whose upper word goes through a move: libnvvm would see that fewer bits
    are enough, and work on those."""
    wide = b.sext(v, ty.I128) if signed else b.zext(v, ty.I128)
    upper = b.asm(ty.function_type(ty.I64, [ty.I64]), "mov.b64 $0, $1;", "=l,l",
                  [b.trunc(b.lshr(wide, 64), ty.I64)])
    return b.or_(b.zext(b.trunc(wide, ty.I64), ty.I128), b.shl(b.zext(upper, ty.I128), 64))


def _convert(i: Instruction, dialect: str) -> bool:
    """Between floats and integers of more than 64 bits."""
    to_float, signed = i.form.name.endswith("fp"), "s" in i.form.name
    t = i._operands[0].type if to_float else i.type
    if element(t).bits <= 64 or t is ty.I128:
        return False
    if isinstance(t, ty.VectorType):
        i.replace_with(by_element(Builder.ahead_of(i), i, lambda one: _convert(one, dialect)))
        return True
    if t.bits > 128:
        raise Unsupported(f"{i.form.name} {i._operands[0].type} to {i.type}", dialect,
                          f"@{i.function.name}" if i.function else "")
    b = Builder.ahead_of(i)
    if to_float:
        wide = _extended(b, i._operands[0], signed)
        i.replace_with(b.insert(i.form.name, (wide,), i.type))
    else:
        i.replace_with(b.trunc(b.insert(i.form.name, i._operands, ty.I128), t))
    return True


def _address(i: Instruction, dialect: str) -> bool:
    return dialect == "llvm7" and _each(i)


def _each(i: Instruction) -> bool:
    """Rewrite an operation on vectors by element."""
    if isinstance(i.type, ty.VectorType):
        i.replace_with(by_element(Builder.ahead_of(i), i))
        return True
    return False


def _load(i: Instruction, dialect: str) -> bool:
    wide = in_memory(i.type)
    if dialect != "llvm7" or wide is i.type:
        return False
    b = Builder.ahead_of(i)
    i.replace_with(b.trunc(b.insert(i.form.spelling, i._operands, wide, "", i.aux), i.type))
    return True


def _store(i: Instruction, dialect: str) -> bool:
    v, p = i._operands
    wide = in_memory(v.type)
    if dialect != "llvm7" or wide is v.type:
        return False
    i.set_operands((Builder.ahead_of(i).zext(v, wide), p))
    return True


def in_memory(t: ty.Type) -> ty.Type:
    """The bytes that an integer lies in."""
    return ty.int_type(-(-t.bits // 8) * 8) if isinstance(t, ty.IntType) and t.bits > 1 else t


def _bitcast(i: Instruction, dialect: str) -> bool:
    x, t = i._operands[0], i.type
    if not (_is_odd(x.type) or _is_odd(t)):
        return False
    b = Builder.ahead_of(i)
    i.replace_with(_from_number(b, _number(b, x), t))
    return True


def _number(b: Builder, v: Value) -> Value:
    """The bits of a value as one integer."""
    t = v.type
    if not isinstance(t, ty.VectorType):
        return v if isinstance(t, ty.IntType) else b.bitcast(v, ty.int_type(t.bits))
    n = t.element.bits
    whole = ty.int_type(t.count * n)
    if not _is_odd(t):
        return b.bitcast(v, whole)
    total: Value = const(whole, 0)
    for k in range(t.count):
        x = lane(b, v, k)
        x = b.zext(x, whole) if t.count > 1 else x
        total = b.or_(total, b.shl(x, n * k) if k else x)
    return total


def _from_number(b: Builder, x: Value, t: ty.Type) -> Value:
    if not _is_odd(t):
        return x if x.type is t else b.bitcast(x, t)
    assert isinstance(t, ty.VectorType)
    out: Value = undef(t)
    for k in range(t.count):
        part = b.lshr(x, t.element.bits * k) if k else x
        out = b.insert_element(out, b.trunc(part, t.element) if t.count > 1 else part, k)
    return out


def _element(i: Instruction, dialect: str) -> bool:
    """An element at an index that varies, read or replaced."""
    v, index = i._operands[0], i._operands[-1]
    reads = i.form.name == "extractelement"
    loaded = reads and isinstance(v, Instruction) and v.form.name == "load"
    breaks = _is_odd(v.type) if dialect == "llvm7" else loaded
    if isinstance(index, Constant) or not breaks:
        return False
    assert isinstance(v.type, ty.VectorType)
    b = Builder.ahead_of(i)
    out: Value = lane(b, v, 0) if reads else v
    for k in range(int(reads), v.type.count):
        here = b.icmp_signed("==", index, const(index.type, k))
        if reads:
            out = b.select(here, lane(b, v, k), out)
        else:
            out = b.insert_element(out, b.select(here, i._operands[1], lane(b, v, k)), k)
    i.replace_with(out)
    return True


RULES: dict[str, Callable[[Instruction, str], bool]] = {
    **dict.fromkeys(("udiv", "sdiv", "urem", "srem"), _quotient),
    **dict.fromkeys(("sitofp", "uitofp", "fptosi", "fptoui"), _convert),
    "load": _load, "store": _store, "bitcast": _bitcast,
    "extractelement": _element, "insertelement": _element,
    "addrspacecast": _address, "getelementptr": _address,
}
