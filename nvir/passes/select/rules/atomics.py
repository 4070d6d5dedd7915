"""Atomic operations, ordered loads and stores, fences.

    monotonic → .relaxed    acquire, release, acq_rel → the same    seq_cst → fence.sc, .acq_rel
    scopes: "" → .sys, "agent" and "device" → .gpu, "workgroup" and "block" → .cta, "cluster"

What `atom` does not do itself (nand, floating minimum, 8 bits, doubles of float …) is a loop
around `atom.cas` on the containing word; and, or and xor of 8 or 16 bits are one operation on
the word. An operation whose result nobody reads is `red`.

Source: PTX ISA, "Memory Consistency Model", `atom`, `red`, `fence`; LLVM NVPTX.
"""

from __future__ import annotations

from collections.abc import Callable

from nvir.ir import (
    B16,
    B32,
    B64,
    FloatType,
    Instruction,
    PointerType,
    Type,
    Unsupported,
    Value,
    VectorType,
)
from nvir.ir.layout import align_of
from nvir.ir.opcodes.atomic_assembly import ORDERS, SCOPES, stronger
from nvir.ir.types import int_type
from nvir.passes.select.lanes import Rule
from nvir.passes.select.parts import parts, register_of
from nvir.passes.select.rules.convert import recast, resize
from nvir.passes.select.rules.floating import negative, to_float
from nvir.passes.select.rules.integer import sext, zext
from nvir.passes.select.rules.memory import load_value, store_value
from nvir.passes.select.selector import AddressParts, Parts, Selector, width

# operation → (atom's name, kind of its type)
_DIRECT = {
    "add": ("add", "u"), "and": ("and", "b"), "or": ("or", "b"), "xor": ("xor", "b"),
    "xchg": ("exch", "b"), "max": ("max", "s"), "min": ("min", "s"), "umax": ("max", "u"),
    "umin": ("min", "u"), "uinc_wrap": ("inc", "u"), "udec_wrap": ("dec", "u"),
}
_BITWISE = frozenset(("and", "or", "xor"))  # leave the bits of others as they are, given 1 or 0


_SIZES = (8, 16, 32, 64)


def scope(s: Selector, name: str) -> str:
    found = SCOPES.get(name)
    if found is None:
        raise s.fail(f'the synchronisation scope "{name}"')
    return found


def semantics(s: Selector, order: str) -> str:
    found = ORDERS.get(order)
    if found is None:
        raise s.fail(f"the memory order '{order}'")
    return found


def _begin(s: Selector, order: str, where: str) -> str:
    """The fence before a sequentially consistent operation; the modifiers of the operation."""
    if order == "seq_cst":
        s.op(f"fence.sc.{where}")
    return f"{semantics(s, order)}.{where}"


# ------------------------------------------------------------ loads, stores


def atomic_load(s: Selector, i: Instruction, a: AddressParts) -> Parts:
    order, where, align = i.aux
    where = scope(s, where)
    if order == "seq_cst":
        s.op(f"fence.sc.{where}")
    how = "relaxed" if order in ("unordered", "monotonic") else "acquire"
    mods = ".volatile" if i.form.volatile and how == "relaxed" else f".{how}.{where}"
    return load_value(s, _ordered(s, a), i.type, align or align_of(i.type), mods)


def atomic_store(s: Selector, i: Instruction, a: AddressParts) -> Parts:
    order, where, align = i.aux
    where = scope(s, where)
    if order == "seq_cst":
        s.op(f"fence.sc.{where}")
    how = "relaxed" if order in ("unordered", "monotonic") else "release"
    mods = ".volatile" if i.form.volatile and how == "relaxed" else f".{how}.{where}"
    v = i.operands[0]
    store_value(s, _ordered(s, a), s.use(v), v.type, align or align_of(v.type), mods)
    return ()


def _ordered(s: Selector, a: AddressParts) -> AddressParts:
    """Memory that other threads see; the rest needs no order, and PTX takes none there."""
    if a.space in (0, 1, 3, 7):
        return a
    return AddressParts(s.generic(a), 0, 0)


def _fence(s: Selector, i: Instruction) -> Parts:
    order, where = i.aux
    kind = "sc" if order == "seq_cst" else "acq_rel"
    s.op(f"fence.{kind}.{scope(s, where)}")
    return ()


# ---------------------------------------------------------------- atomicrmw


def _operation(i: Instruction) -> str:
    return next(m for m in i.form.mods if m != "volatile")


def _atomicrmw(s: Selector, i: Instruction) -> Parts:
    order, where, _ = i.aux
    pointer, v = i.operands
    a = _ordered(s, s.address(pointer))
    how = _begin(s, order, scope(s, where))
    if isinstance(v.type, VectorType):
        return _loop_of_lanes(s, a, _operation(i), v.type, s.use(v), how)
    if _bits(v.type) not in _SIZES:
        raise s.fail(f"atomicrmw {_operation(i)} of {v.type}")
    return modify(s, a, _operation(i), v.type, s.one(v), how, i.has_uses)


def _bits(t: Type) -> int:
    return 64 if isinstance(t, PointerType) else t.bits


def modify(
    s: Selector, a: AddressParts, what: str, t: Type, x: Value, how: str, used: bool = True
) -> Parts:
    """An operation on memory in the words of LLVM; `how` is PTX's order and scope."""
    bits = _bits(t)
    if what == "sub" and bits in (32, 64):
        what, x = "add", s.op(f"neg.s{bits}", s.reg(x, f"b{bits}"))
    if what == "fsub" and t.name == "double":  # a sum of f32 would flush subnormals
        what, x = "fadd", negative(s, "f64", x)
    if bits < 32 and what in _BITWISE:
        return _bits_in_word(s, a, what, t, x, how, used)
    direct = _float_direct(s, t) if what == "fadd" else _direct(what, bits)
    if direct is None:
        return _loop(s, a, what, t, x, how)
    name, type, noftz = direct
    x = s.reg(x, "b16") if t.bits == 16 else x
    if what == "xchg" and isinstance(t, FloatType) and t.bits > 16:
        x = s.op(f"mov.b{bits}", x)
    spelling = f"{how}{a.modifier}.{name}{noftz}.{type}"
    at = s.fitting(a).operand
    if not used and name not in ("exch", "cas") and how.split(".")[0] in ("relaxed", "release"):
        s.op(f"red.{spelling}", at, x)
        return (s.undefined(parts(t)[0]),)
    old = s.op(f"atom.{spelling}", at, x)
    if what == "xchg" and isinstance(t, FloatType) and t.bits > 16:
        old = s.op(f"mov.{register_of(t).name}", old)
    return (old,)


def _direct(what: str, bits: int) -> tuple[str, str, str] | None:
    found = _DIRECT.get(what)
    if found is None or bits not in (32, 64) or (bits == 64 and found[0] in ("inc", "dec")):
        return None
    return found[0], f"{found[1]}{bits}", ""


def _float_direct(s: Selector, t: Type) -> tuple[str, str, str] | None:
    if t.name in ("float", "double"):
        return "add", "f32" if t.name == "float" else "f64", ""
    if t.name == "half" or s.sm >= 90:
        return "add", "f16" if t.name == "half" else "bf16", ".noftz"
    return None


# --------------------------------------------------------------- cas loops


def _loop(s: Selector, a: AddressParts, what: str, t: Type, x: Value, how: str) -> Parts:
    """old = memory; until it is still that: memory = what(old, x)."""
    if t.bits == 8:
        return _in_word(s, a, what, t, x, how)
    bits = _bits(t)
    reg = register_of(t)
    plain = {16: B16, 32: B32, 64: B64}[bits]

    def new(old: Value) -> Value:
        value = old if reg is plain else s.op(f"mov.{reg.name}", old)
        made = combined(s, what, t, value, x)
        return made if reg is plain else s.op(f"mov.b{bits}", made)

    old = _compare_and_swap(s, a, f"b{bits}", how, new)
    return (old if reg is plain else s.op(f"mov.{reg.name}", old),)


def _loop_of_lanes(
    s: Selector, a: AddressParts, what: str, t: VectorType, x: Parts, how: str
) -> Parts:
    """Of a vector of floats, which is swapped as one number."""
    number = int_type(t.count * t.element.bits)
    if number.bits not in (16, 32, 64):
        raise s.fail(f"atomicrmw {what} of {t}")

    def new(old: Value) -> Value:
        lanes = recast(s, (old,), number, t)
        made = tuple(combined(s, what, t.element, p, q) for p, q in zip(lanes, x, strict=True))
        return recast(s, made, t, number)[0]

    return recast(s, (_compare_and_swap(s, a, f"b{number.bits}", how, new),), number, t)


def _compare_and_swap(
    s: Selector, a: AddressParts, type: str, how: str, new: Callable[[Value], Value]
) -> Value:
    a = AddressParts(s.register(a), 0, a.space)
    load = {"b16": "b16", "b32": "b32", "b64": "b64"}[type]
    first = s.op(f"ld.relaxed.{how.split('.')[1]}{a.modifier}.{load}", a.operand)
    before = s.b.block
    loop = s.new_block("cas")
    s.b.br(loop)
    s.start(loop)
    expected = s.b.phi(type)
    value = s.reg(new(expected), type)
    old = s.op(f"atom.{how}{a.modifier}.cas.{type}", a.operand, expected, value)
    w = type[1:]
    failed = s.op(f"setp.ne.s{w}", old, expected)
    end = s.b.block
    done = s.new_block("swapped")
    s.b.cond_br(failed, loop, done)
    expected.set_incoming((first, old), (before, end))
    s.start(done)
    return old


def _bits_in_word(
    s: Selector, a: AddressParts, what: str, t: Type, x: Value, how: str, used: bool
) -> Parts:
    """An operation on 8 or 16 bits that is one on their word."""
    word, shift, mask = _word_of(s, a, t.bits)
    wide = s.op("cvt.u32.u16", s.reg(zext(s, x, t.bits), "b16"))
    moved = s.op("shl.b32", wide, shift)
    if what == "and":
        moved = s.op("or.b32", moved, s.op("not.b32", mask))
    (old,) = modify(s, word, what, int_type(32), moved, how, used)
    return (s.op("cvt.u16.u32", s.op("shr.u32", old, shift)),) if used else (
        s.undefined(parts(t)[0]),)


def _word_of(s: Selector, a: AddressParts, bits: int = 8) -> tuple[AddressParts, Value, Value]:
    """The aligned word that holds a byte, or two: the shift in it, and the mask."""
    at = s.register(a)
    word = AddressParts(s.op("and.b64", at, -4), 0, a.space)
    low = s.op("cvt.u32.u64", at)
    shift = s.op("shl.b32", s.op("and.b32", low, 3), 3)
    return word, shift, s.op("shl.b32", (1 << bits) - 1, shift)


def _in_word(s: Selector, a: AddressParts, what: str, t: Type, x: Value, how: str) -> Parts:
    word, shift, mask = _word_of(s, a)
    others = s.op("not.b32", mask)

    def new(old: Value) -> Value:
        byte = s.op("cvt.u16.u32", s.op("shr.u32", old, shift))
        made = zext(s, combined(s, what, t, byte, x), 8)
        moved = s.op("shl.b32", s.op("cvt.u32.u16", s.reg(made, "b16")), shift)
        return s.op("or.b32", s.op("and.b32", old, others), moved)

    old = _compare_and_swap(s, word, "b32", how, new)
    return (s.op("cvt.u16.u32", s.op("shr.u32", old, shift)),)


def combined(s: Selector, what: str, t: Type, a: Value, x: Value) -> Value:
    """What an operation makes of the old value and its operand."""
    if isinstance(t, FloatType):
        return _combined_floats(s, what, t, a, x)
    bits = _bits(t)
    w = 64 if bits == 64 else width(t)
    if what == "xchg":
        return x
    if what in ("and", "or", "xor"):
        return s.op(f"{what}.b{w}", a, x)
    if what == "nand":
        return s.op(f"not.b{w}", s.op(f"and.b{w}", a, x))
    if what in ("add", "sub"):
        return s.op(f"{what}.s{w}", a, x)
    kind = "u" if what[0] == "u" else "s"
    extend = zext if kind == "u" else sext
    a, x = extend(s, a, bits), extend(s, x, bits)
    if what in ("min", "max", "umin", "umax"):
        return s.op(f"{what[-3:]}.{kind}{w}", a, x)
    if what == "uinc_wrap":
        wraps = s.op(f"setp.ge.u{w}", a, x)
        return s.op(f"selp.b{w}", 0, s.op(f"add.s{w}", a, 1), wraps)
    if what == "udec_wrap":
        at_end = s.op("or.pred", s.op(f"setp.eq.s{w}", a, 0), s.op(f"setp.gt.u{w}", a, x))
        return s.op(f"selp.b{w}", x, s.op(f"add.s{w}", a, -1), at_end)
    if what in ("usub_cond", "usub_sat"):
        fits = s.op(f"setp.ge.u{w}", a, x)
        rest: Value | int = a if what == "usub_cond" else 0
        return s.op(f"selp.b{w}", s.op(f"sub.s{w}", a, x), rest, fits)
    raise Unsupported(f"atomicrmw {what}", where=str(s.source.name))


def _combined_floats(s: Selector, what: str, t: Type, a: Value, x: Value) -> Value:
    names = {"fadd": "add.rn", "fsub": "sub.rn", "fmin": "min", "fmax": "max"}
    if what == "xchg":
        return x
    if what not in names:
        raise Unsupported(f"atomicrmw {what}", where=str(s.source.name))
    if t.bits == 16:
        from nvir.passes.select.rules.floating import from_float

        made = s.op(f"{names[what]}.f32", to_float(s, t, a), to_float(s, t, x))
        return from_float(s, t, made)
    return s.op(f"{names[what]}.{register_of(t).name}", a, x)


# ------------------------------------------------------------------ cmpxchg


def _cmpxchg(s: Selector, i: Instruction) -> Parts:
    success, failure, where, _ = i.aux
    pointer, expected, new = i.operands
    t = expected.type
    a = _ordered(s, s.address(pointer))
    order = stronger(success, failure)
    how = _begin(s, order, scope(s, where))
    bits = _bits(t)
    if bits not in _SIZES:
        raise s.fail(f"cmpxchg of {t}")
    x, y = s.one(expected), s.one(new)
    if bits == 8:
        return _exchange_byte(s, a, x, y, how)
    old = compare_and_swap(s, a, t, x, y, how)
    return old, s.op(f"setp.eq.s{bits}", old, s.reg(x, f"b{bits}"))


def compare_and_swap(
    s: Selector, a: AddressParts, t: Type, expected: Value, new: Value, how: str
) -> Value:
    """What was there; `how` is PTX's order and scope."""
    bits = _bits(t)
    x, y = s.reg(expected, f"b{bits}"), s.reg(new, f"b{bits}")
    return s.op(f"atom.{how}{a.modifier}.cas.b{bits}", s.fitting(a).operand, x, y)


def _exchange_byte(s: Selector, a: AddressParts, x: Value, y: Value, how: str) -> Parts:
    """Of the word: as long as the byte is the expected one and the others' change disturbs."""
    word, shift, mask = _word_of(s, a)
    x, y = (s.reg(zext(s, v, 8), "b16") for v in (x, y))
    others = s.op("not.b32", mask)
    wanted, new = (s.op("shl.b32", s.op("cvt.u32.u16", v), shift) for v in (x, y))
    first = s.op(f"ld.relaxed.{how.split('.')[1]}{word.modifier}.b32", word.operand)
    before = s.b.block
    loop, done = s.new_block("cas"), None
    s.b.br(loop)
    s.start(loop)
    seen = s.b.phi(B32)
    rest = s.op("and.b32", seen, others)
    expected = s.op("or.b32", rest, wanted)
    old = s.op(f"atom.{how}{word.modifier}.cas.b32", word.operand, expected,
               s.op("or.b32", rest, new))
    swapped = s.op("setp.eq.s32", old, expected)
    disturbed = s.op("setp.ne.s32", s.op("and.b32", old, others), rest)
    again = s.op("and.pred", disturbed, s.op("not.pred", swapped))
    done = s.new_block("swapped")
    s.b.cond_br(again, loop, done)
    seen.set_incoming((first, old), (before, loop))
    s.start(done)
    byte = resize(s, s.op("shr.u32", old, shift), 32, 16)
    return byte, swapped


RULES: dict[str, Rule] = {"atomicrmw": _atomicrmw, "cmpxchg": _cmpxchg, "fence": _fence}
