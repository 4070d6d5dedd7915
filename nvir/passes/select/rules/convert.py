"""Conversions: between integers, floats, pointers, and the same bits as another type."""

from __future__ import annotations

from nvir.ir import Constant, Instruction, Value, constant, integer
from nvir.ir.types import PRED, FloatType, PointerType, Type, VectorType
from nvir.passes.select.constants import signed
from nvir.passes.select.lanes import Rule, by_element, element
from nvir.passes.select.parts import RegisterPart, count, parts
from nvir.passes.select.rules import wide
from nvir.passes.select.rules.floating import from_float, has_bfloat, kind_of, operand, to_float
from nvir.passes.select.rules.integer import sext, words, zext
from nvir.passes.select.selector import AddressParts, Parts, Selector, width
from nvir.passes.select.spaces import GENERIC, rounded_down

# ----------------------------------------------------------------- integers


def resize(s: Selector, x: Value, w: int, to: int, kind: str = "u") -> Value:
    """A register of w bits as one of `to`; a literal stays."""
    if w == to or isinstance(x, Constant):
        return x
    return s.op(f"cvt.{kind}{to}.{kind}{w}", x)


def _trunc(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    x = args[0]
    if t.bits > 64 and r.bits > 64:
        return x[: count(r)]
    low, bits = x[0], min(t.bits, 64)
    if isinstance(low, Constant):
        if r.bits == 1:
            from nvir.passes.select.selector import predicate

            return (predicate(bool(low.value & 1)),)
        return (integer(signed(low.value, r.bits)),)
    w = width(t) if bits < 64 else 64
    if r.bits == 1:
        lowest = s.op(f"and.b{w}", low, 1)
        return (s.op(f"setp.ne.s{w}", lowest, 0),)
    return (resize(s, low, w, width(r)),)


def extended(s: Selector, x: Value, t: Type, w: int, how: str) -> Value:
    """A scalar integer in a register of w bits, with zeros or signs above."""
    kind = "u" if how == "z" else "s"
    if t.bits == 1:
        ones = 1 if how == "z" else -1
        if isinstance(x, Constant):
            return integer(ones if x.value else 0)
        return s.known(s.op(f"selp.b{w}", ones, 0, x), how, 1)
    extend = zext if how == "z" else sext
    if isinstance(x, Constant):
        return extend(s, x, t.bits)
    own = width(t)
    if own < w and t.bits == 8:
        return s.known(s.op(f"cvt.{kind}{w}.{kind}8", x), how, 8)
    return s.known(resize(s, extend(s, x, t.bits), own, w, kind), how, t.bits)


def _extend(how: str) -> Rule:
    def scalar(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
        x, more = args[0], count(r) - len(args[0])
        if t.bits > 64:
            x = words(s, t, x, how)
            return x + (_sign(s, x[-1], how),) * more
        low = extended(s, x[0], t, width(r) if r.bits <= 64 else 64, how)
        if r.bits <= 64:
            return (low,)
        return (low, *(_sign(s, low, how),) * more)

    return by_element(scalar)


def _sign(s: Selector, x: Value, how: str) -> Value:
    """What a word above `x` is: zeros, or 64 times its sign."""
    if how == "z":
        return integer(0)
    if isinstance(x, Constant):
        return integer(-1 if x.value < 0 else 0)
    return s.cached(("sign", x), lambda: s.op("shr.s64", x, 63))


# ------------------------------------------------------------------- floats


def _fpext(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    x = args[0][0]
    if t.name in ("half", "bfloat"):
        if t.name == "half" and r.name == "double":
            return (s.op("cvt.f64.f16", s.reg(x, "b16")),)
        f = to_float(s, t, x)
        return (f if r.name == "float" else s.op("cvt.f64.f32", f),)
    return (s.op("cvt.f64.f32", x),)


def _fptrunc(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    x = args[0][0]
    if t.name == "float":
        return (from_float(s, r, x),)
    return (from_double(s, r, x),)


def from_double(s: Selector, r: Type, x: Value) -> Value:
    """A double rounded to a narrower type."""
    if r.name != "bfloat":
        return s.op(f"cvt.rn.{kind_of(r)}.f64", x)
    return from_float(s, r, float_to_odd(s, x))


def float_to_odd(s: Selector, x: Value) -> Value:
    """A double as a float whose last bit tells that something was cut off, so that rounding
    once more to a narrower type is as good as rounding once."""
    cut = s.op("cvt.rz.f32.f64", x)
    differs = s.op("setp.neu.f64", s.op("cvt.f64.f32", cut), x)
    bits = s.op("mov.b32", cut)
    odd = s.op("or.b32", bits, s.op("selp.b32", 1, 0, differs))
    return s.op("mov.f32", odd)


def _to_integer(kind: str) -> Rule:
    def scalar(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
        name, x = kind_of(t), args[0][0]
        if r.bits > 64:
            if name == "f64":
                return wide.from_double(s, operand(s, name, x), kind == "s", count(r))
            double = s.op("cvt.f64.f32", to_float(s, t, x) if name != "f32" else
                          operand(s, name, x))
            return wide.from_double(s, double, kind == "s", count(r))
        if name == "bf16":
            name, x = "f32", to_float(s, t, x)
        w = width(r)
        if r.bits == 1:
            number = s.op(f"cvt.rzi.s32.{name}", operand(s, name, x))
            return (s.op("setp.ne.s32", number, 0),)
        made = s.op(f"cvt.rzi.{kind}{w}.{name}", operand(s, name, x))
        return (s.known(made, "z" if kind == "u" else "s", r.bits),)

    return by_element(scalar)


def _from_integer(kind: str) -> Rule:
    how = "z" if kind == "u" else "s"

    def scalar(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
        name, x = kind_of(r), args[0][0]
        if t.bits > 64:
            made = wide.to_double(s, words(s, t, args[0], how), kind == "s", odd=name != "f64")
            return (made if name == "f64" else from_double(s, r, made),)
        w = max(width(t), 32) if name == "bf16" or t.bits == 1 else width(t)
        x = extended(s, x, t, w, how)
        if isinstance(x, Constant):
            x = s.reg(x, f"b{w}")
        if name != "bf16" or has_bfloat(s):
            return (s.op(f"cvt.rn.{name}.{kind}{w}", x),)
        if w == 64:
            high = s.op("shr.s64", x, 63) if kind == "s" else integer(0)
            return (from_double(s, r, wide.to_double(s, (x, high), kind == "s", odd=True)),)
        return (from_float(s, r, float_to_odd(s, s.op(f"cvt.rn.f64.{kind}32", x))),)

    return by_element(scalar)


# ----------------------------------------------------------------- pointers


def _ptrtoint(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    x = args[0][0]
    if r.bits > 64:
        return (x, *(integer(0),) * (count(r) - 1))
    if r.bits == 1:
        return (s.op("setp.ne.s64", s.op("and.b64", x, 1), 0),)
    return (resize(s, x, 64, width(r)),)


def _inttoptr(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    above, space = rounded_down(i), s.spaces.of(i)
    if above is not None and space != GENERIC:
        return (s.op("and.b64", s.into(s.address(above[0]), space), above[1]),)
    x = args[0][0]
    return s.pointed(i, (x if t.bits >= 64 else extended(s, x, t, 64, "z"),))


def _addrspacecast(s: Selector, i: Instruction) -> Parts:
    v = i.operands[0]
    if isinstance(i.type, VectorType):
        source, target = (getattr(t, "space", GENERIC) for t in (element(v.type), element(i.type)))
        return tuple(s.into(AddressParts(s.reg(x, "b64"), 0, source), target) for x in s.use(v))
    assert isinstance(i.type, PointerType)
    space = s.spaces.of(i)
    if isinstance(v, Constant):
        return (s.reg(integer(0), "b64"),)
    a = s.address(v)
    if a.space == space:
        s.addresses[i] = a
        return (a.base,)
    if a.space != GENERIC and space != GENERIC:  # known to point elsewhere: by way of generic
        a = AddressParts(s.generic(a), 0, GENERIC)
    return (s.into(a, space),)


# ------------------------------------------------------------------ bitcast


def _bitcast(s: Selector, i: Instruction) -> Parts:
    v = i.operands[0]
    if isinstance(i.type, PointerType):
        if not isinstance(v, Constant):
            s.addresses[i] = s.address(v)
        return (s.held(v, s.spaces.of(i)),)
    return recast(s, s.use(v), v.type, i.type)


def recast(s: Selector, x: Parts, source: Type, result: Type) -> Parts:
    """The same bits in the registers of another type."""
    given, wanted = parts(source), parts(result)
    if [p.bits for p in given] == [p.bits for p in wanted]:
        return tuple(
            retyped(s, v, p, q) for v, p, q in zip(x, given, wanted, strict=True)
        )
    pieces = _pieces(s, x, given)
    out = []
    at = 0
    for p in wanted:
        out.append(_gather(s, pieces, at, p))
        at += p.bits
    return tuple(out)


def retyped(s: Selector, v: Value, p: RegisterPart, q: RegisterPart) -> Value:
    """A register of one part as one of another of the same width."""
    if p.reg is q.reg:
        return v
    if isinstance(v, Constant):
        pattern = v.value & ((1 << p.bits) - 1)
        return constant(q.reg, pattern) if q.reg.is_float else integer(signed(pattern, q.bits))
    return s.op(f"mov.{q.reg.name}", v)


def _pieces(s: Selector, x: Parts, given: tuple[RegisterPart, ...]) -> list[tuple[int, int, Value]]:
    """(first bit, bits, register of zeros above) of each part."""
    out = []
    at = 0
    for v, p in zip(x, given, strict=True):
        if p.reg is PRED:
            v = s.op("selp.b32", 1, 0, v)
        elif isinstance(p.scalar, FloatType):
            v = s.op(f"mov.b{p.bits}", v)
        else:
            v = s.reg(zext(s, v, p.bits), f"b{p.reg.bits}")
        out.append((at, p.bits, v))
        at += p.bits
    return out


def _gather(s: Selector, pieces: list[tuple[int, int, Value]], at: int, p: RegisterPart) -> Value:
    """The bits from `at` on as a part."""
    inside = [q for q in pieces if q[0] < at + p.bits and at < q[0] + q[1]]
    whole = [q for q in inside if at <= q[0] and q[0] + q[1] <= at + p.bits]
    if p.bits == p.reg.bits >= 32 and whole == inside and len({q[1] for q in inside}) == 1 \
            and all(q[1] == q[2].type.bits for q in inside) and len(inside) in (2, 4):
        packed = s.op(f"mov.b{p.bits}", [q[2] for q in inside])
        return packed if not isinstance(p.scalar, FloatType) else s.op(f"mov.{p.reg.name}", packed)
    w = 32 if p.reg is PRED else p.reg.bits
    total: Value | None = None
    for first, _, v in inside:
        own = v.type.bits
        wide = max(own, w)
        moved = s.op(f"cvt.u{wide}.u{own}", v) if wide != own else v
        if first > at:
            moved = s.op(f"shl.b{wide}", moved, first - at)
        elif first < at:
            moved = s.op(f"shr.u{wide}", moved, at - first)
        if wide != w:
            moved = s.op(f"cvt.u{w}.u{wide}", moved)
        total = moved if total is None else s.op(f"or.b{w}", total, moved)
    assert total is not None
    if p.reg is PRED:
        return s.op("setp.ne.s32", s.op("and.b32", total, 1), 0)
    return s.op(f"mov.{p.reg.name}", total) if p.reg.is_float else total


def _freeze(s: Selector, i: Instruction) -> Parts:
    """Undef is a literal 0 where a function freezes anything, so all uses see one value."""
    if isinstance(i.type, PointerType):
        return _bitcast(s, i)
    return s.use(i.operands[0])


RULES: dict[str, Rule] = {
    "trunc": by_element(_trunc),
    "zext": _extend("z"),
    "sext": _extend("s"),
    "fptrunc": by_element(_fptrunc),
    "fpext": by_element(_fpext),
    "fptoui": _to_integer("u"),
    "fptosi": _to_integer("s"),
    "uitofp": _from_integer("u"),
    "sitofp": _from_integer("s"),
    "ptrtoint": by_element(_ptrtoint),
    "inttoptr": by_element(_inttoptr),
    "bitcast": _bitcast,
    "addrspacecast": _addrspacecast,
    "freeze": _freeze,
}
