"""LLVM's intrinsics on integers: counts, reversals, funnel shifts, extrema, overflow."""

from __future__ import annotations

import functools

from nvir.ir import Constant, Instruction, Type, Value, integer
from nvir.ir.types import int_type
from nvir.passes.select.constants import signed
from nvir.passes.select.lanes import Scalar
from nvir.passes.select.parts import parts
from nvir.passes.select.rules.convert import extended, resize
from nvir.passes.select.rules.integer import sext, words, zext
from nvir.passes.select.rules.wide import (
    below,
    choose,
    combined,
    equal,
    leading_zeros,
    negated,
    shift,
    total,
)
from nvir.passes.select.selector import Parts, Selector, width


def _unsupported(s: Selector, i: Instruction, t: Type) -> Exception:
    name = i.aux.callee.name if i.aux is not None else i.form.spelling
    return s.fail(f"{name} of {t}")


def _counted(s: Selector, n: Value, t: Type) -> Value:
    """A count of 32 bits in the register of its type."""
    return resize(s, n, 32, width(t))


def _in_word(s: Selector, t: Type, x: Value) -> tuple[Value, int]:
    """A scalar with zeros above in a register of 32 or 64 bits, and which."""
    w = 64 if t.bits > 32 else 32
    return s.reg(extended(s, x, t, w, "z"), f"b{w}"), w


def _ctpop(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    if t.bits == 1:
        return args[0]
    if t.bits > 64:
        found = [s.op("popc.b64", w) for w in words(s, t, args[0], "z")]
        n = functools.reduce(lambda a, b: s.op("add.s32", a, b), found)
        return _wide_count(s, n, len(found))
    x, w = _in_word(s, t, args[0][0])
    return (s.known(_counted(s, s.op(f"popc.b{w}", x), r), "z", r.bits),)


def _ctlz(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    if t.bits == 1:
        return (s.op("not.pred", args[0][0]),)
    if t.bits > 64:
        whole = words(s, t, args[0], "z")
        n = leading_zeros(s, whole)
        return _wide_count(s, s.op("add.s32", n, t.bits - 64 * len(whole)), len(whole))
    x, w = _in_word(s, t, args[0][0])
    n = s.op(f"clz.b{w}", x)
    if t.bits != w:
        n = s.op("add.s32", n, t.bits - w)
    return (s.known(_counted(s, n, r), "z", r.bits),)


def _wide_count(s: Selector, n: Value, words: int) -> Parts:
    """A count of 32 bits as an integer of so many words."""
    return (s.op("cvt.u64.u32", n), *(integer(0),) * (words - 1))


def _cttz(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    if t.bits == 1:
        return (s.op("not.pred", args[0][0]),)
    if t.bits > 64:
        *low, high = words(s, t, args[0], "z")
        if t.bits % 64:
            high = s.op("or.b64", high, signed(1 << t.bits % 64, 64))
        turned = tuple(s.op("brev.b64", x) for x in (high, *low[::-1]))
        return _wide_count(s, leading_zeros(s, turned), len(turned))
    x, w = _in_word(s, t, args[0][0])
    if t.bits != w:  # a one above the type stops the count
        x = s.op(f"or.b{w}", x, 1 << t.bits)
    n = s.op(f"clz.b{w}", s.op(f"brev.b{w}", x))
    return (s.known(_counted(s, n, r), "z", r.bits),)


def _bitreverse(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    if t.bits == 1:
        return args[0]
    if t.bits > 64:
        return _turned(s, t, tuple(s.op("brev.b64", v) for v in args[0][::-1]))
    x, w = _in_word(s, t, args[0][0])
    x = s.op(f"brev.b{w}", x)
    if t.bits != w:
        x = s.op(f"shr.u{w}", x, w - t.bits)
    return (s.known(resize(s, x, w, width(t)), "z", t.bits),)


def _bswap(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    x = args[0]
    if t.bits == 16:
        wide = s.op("cvt.u32.u16", s.reg(x[0], "b16"))
        return (s.op("cvt.u16.u32", s.op("prmt.b32", wide, 0, 0x0001)),)
    if t.bits == 32:
        return (s.op("prmt.b32", s.reg(x[0], "b32"), 0, 0x0123),)
    if t.bits == 64:
        return (_swapped(s, x[0]),)
    if t.bits == 48:
        made = s.op("shr.u64", _swapped(s, zext(s, x[0], t.bits)), 16)
        return (s.known(made, "z", t.bits),)
    return _turned(s, t, tuple(_swapped(s, v) for v in x[::-1]))


def _turned(s: Selector, t: Type, x: Parts) -> Parts:
    """Words in reverse order, moved down to where the type begins."""
    above = 64 * len(x) - t.bits
    return shift(s, int_type(64 * len(x)), "lshr", x, integer(above)) if above else x


def _swapped(s: Selector, x: Value) -> Value:
    low, high = s.ops("mov.b64", s.reg(x, "b64"), shape="{%s, %s}")
    return s.op("mov.b64", [s.op("prmt.b32", h, 0, 0x0123) for h in (high, low)])


# ------------------------------------------------------------- funnel shifts


def _funnel(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    left = "fshl" in str(i.aux.callee.name)
    a, b, n = (x[0] for x in args)
    if t.bits > 64 or t.bits == 1:
        raise _unsupported(s, i, t)
    if t.bits == 32:
        return (s.op(f"shf.{'l' if left else 'r'}.wrap.b32", b, a, n),)
    w = 64 if t.bits > 32 else 32
    n = _modulo(s, n, t)
    if t.bits <= 16:
        high, low = (s.reg(extended(s, x, t, 32, "z"), "b32") for x in (a, b))
        both = s.op("or.b32", s.op("shl.b32", high, t.bits), low)
        moved = s.op("shl.b32", both, n) if left else s.op("shr.u32", both, n)
        moved = s.op("shr.u32", moved, t.bits) if left else moved
        return (resize(s, moved, 32, 16),)
    low = s.reg(zext(s, b, t.bits), f"b{w}")
    rest = s.op("sub.s32", t.bits - 1, n)  # one less, so that a shift by the width is two shifts
    if left:
        down = s.op(f"shr.u{w}", s.op(f"shr.u{w}", low, 1), rest)
        return (s.op(f"or.b{w}", s.op(f"shl.b{w}", a, n), down),)
    up = s.op(f"shl.b{w}", s.op(f"shl.b{w}", a, 1), rest)
    return (s.op(f"or.b{w}", s.op(f"shr.u{w}", low, n), up),)


def _modulo(s: Selector, n: Value, t: Type) -> Value:
    """A shift amount modulo the width, in 32 bits."""
    if isinstance(n, Constant):
        return integer((n.value & ((1 << t.bits) - 1)) % t.bits)
    n = extended(s, n, t, width(t), "z")
    w = width(t)
    if t.bits & (t.bits - 1):
        return resize(s, s.op(f"rem.u{w}", n, t.bits), w, 32)
    return resize(s, s.op(f"and.b{w}", n, t.bits - 1), w, 32)


# ------------------------------------------------------------------- extrema


def _extremum(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    name = str(i.aux.callee.name).split(".")[1]  # smin, umax …
    sign, what = name[0], name[1:]
    a, b = args
    if t.bits == 1:  # as a signed number true is -1
        both = (what == "min") == (sign == "u")
        return (s.op("and.pred" if both else "or.pred", a[0], b[0]),)
    if t.bits > 64:
        return combined(s, t, name, a, b)
    return (extremum(s, name, t, a[0], b[0]),)


def extremum(s: Selector, name: str, t: Type, a: Value, b: Value) -> Value:
    """smin, smax, umin or umax of up to 64 bits."""
    sign, what = name[0], name[1:]
    how = "s" if sign == "s" else "z"
    x, y = (_extended(s, v, t, how) for v in (a, b))
    return s.known(s.op(f"{what}.{sign}{width(t)}", x, y), how, t.bits)


def _extended(s: Selector, x: Value, t: Type, how: str) -> Value:
    x = (sext if how == "s" else zext)(s, x, t.bits)
    return s.reg(x, f"b{width(t)}")


def _abs(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    if t.bits == 1:
        return args[0]
    if t.bits > 64:
        x = words(s, t, args[0], "s")
        return choose(s, s.op("setp.lt.s64", s.reg(x[-1], "b64"), 0), negated(s, x), x)
    return (absolute(s, t, args[0][0]),)


def absolute(s: Selector, t: Type, x: Value) -> Value:
    """|x| of up to 64 bits."""
    return s.op(f"abs.s{width(t)}", _extended(s, x, t, "s"))


# ---------------------------------------------------------------- saturation


def _saturating(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    name = str(i.aux.callee.name).split(".")[1]  # uadd, ssub, sshl …
    sign, what = name[0], name[1:]
    a, b = args[0][0], args[1][0]
    if t.bits > 64 or t.bits == 1:
        raise _unsupported(s, i, t)
    if what == "shl":
        return (_saturating_shift(s, sign, t, a, b),)
    if sign == "s" and t.bits == 32:
        return (s.op(f"{what}.sat.s32", s.reg(a, "b32"), b),)
    if sign == "s" and t.bits < 32:
        x, y = (s.reg(extended(s, v, t, 32, "s"), "b32") for v in (a, b))
        total = s.op(f"{what}.s32", x, y)
        total = s.op("max.s32", s.op("min.s32", total, (1 << (t.bits - 1)) - 1),
                     -1 << (t.bits - 1))
        return (s.known(resize(s, total, 32, width(t)), "s", t.bits),)
    w = width(t)
    x, y = (_extended(s, v, t, "s" if sign == "s" else "z") for v in (a, b))
    if sign == "u" and what == "sub":
        rest = s.op(f"sub.s{w}", s.op(f"max.u{w}", x, y), y)
        return (s.known(rest, "z", t.bits),)
    if sign == "u" and t.bits < w:
        total = s.op(f"min.u{w}", s.op(f"add.s{w}", x, y), (1 << t.bits) - 1)
        return (s.known(total, "z", t.bits),)
    result, over = _overflowing(s, name, t, x, y)
    if sign == "u":
        return (s.op(f"selp.b{w}", -1, result, over),)
    end = s.op(f"xor.b{w}", s.op(f"shr.s{w}", x, w - 1), (1 << (t.bits - 1)) - 1)
    return (s.op(f"selp.b{w}", end, result, over),)


def _saturating_shift(s: Selector, sign: str, t: Type, a: Value, b: Value) -> Value:
    """What does not come back by the opposite shift has overflowed."""
    w, how = width(t), "s" if sign == "s" else "z"
    x = _extended(s, a, t, how)
    n = resize(s, extended(s, b, t, w, "z"), w, 32)
    up = s.op(f"shl.b{w}", x, n)
    if t.bits < w:
        up = (sext if sign == "s" else zext)(s, up, t.bits)
    over = s.op(f"setp.ne.s{w}", s.op(f"shr.{sign}{w}", up, n), x)
    most = (1 << (t.bits - (sign == "s"))) - 1
    end = s.op(f"xor.b{w}", s.op(f"shr.s{w}", x, w - 1), most) if sign == "s" else integer(most)
    return s.known(s.op(f"selp.b{w}", end, up, over), how, t.bits)


# ------------------------------------------------------------------ overflow


def overflow(s: Selector, i: Instruction) -> Parts:
    """llvm.{s,u}{add,sub,mul}.with.overflow: the wrapped result and whether it wrapped."""
    name = str(i.aux.callee.name).split(".")[1]
    t = i.operands[0].type
    a, b = (s.use(v) for v in i.operands[:2])
    if len(parts(i.type)) != len(a) + 1 or t.bits == 1:
        raise _unsupported(s, i, t)
    if t.bits > 64:
        return _overflow_of_words(s, i, name, t, a, b)
    how = "s" if name[0] == "s" else "z"
    x, y = (_extended(s, v[0], t, how) for v in (a, b))
    return _overflowing(s, name, t, x, y)


def _overflowing(s: Selector, name: str, t: Type, x: Value, y: Value) -> tuple[Value, Value]:
    """Of extended registers."""
    w, sign, what = width(t), name[0], name[1:]
    if what == "mul" and t.bits == w:
        return _product(s, sign, w, x, y)
    spelling = "mul.lo" if what == "mul" else what
    if t.bits < w and not (what == "mul" and 2 * t.bits > w):  # exact in the register
        exact = s.op(f"{spelling}.s{w}", x, y)
        again = sext(s, exact, t.bits) if sign == "s" else zext(s, exact, t.bits)
        return exact, s.op(f"setp.ne.s{w}", exact, again)
    if what == "mul":
        raise s.fail(f"llvm.{name}.with.overflow of {t}")
    result = s.op(f"{what}.s{w}", x, y)
    if sign == "u":
        over = s.op(f"setp.lt.u{w}", result, x) if what == "add" else s.op(f"setp.lt.u{w}", x, y)
        return result, over
    changed = s.op(f"xor.b{w}", x, result)
    other = s.op(f"xor.b{w}", y, result) if what == "add" else s.op(f"xor.b{w}", x, y)
    return result, s.op(f"setp.lt.s{w}", s.op(f"and.b{w}", changed, other), 0)


def _product(s: Selector, sign: str, w: int, x: Value, y: Value) -> tuple[Value, Value]:
    low = s.op(f"mul.lo.s{w}", x, y)
    high = s.op(f"mul.hi.{sign}{w}", x, y)
    expected: Value = s.op(f"shr.s{w}", low, w - 1) if sign == "s" else integer(0)
    return low, s.op(f"setp.ne.s{w}", high, expected)


def _overflow_of_words(
    s: Selector, i: Instruction, name: str, t: Type, a: Parts, b: Parts
) -> Parts:
    """Of more than 64 bits. Sums that the words hold exactly differ from what the type keeps of
    them; of others the signs tell, or which is less."""
    sign, what = name[0], name[1:]
    if what == "mul":
        raise _unsupported(s, i, t)
    how = "s" if sign == "s" else "z"
    a, b = words(s, t, a, how), words(s, t, b, how)
    made = total(s, what, a, b)
    if t.bits % 64:
        return (*made, equal(s, "ne", made, words(s, t, made, how)))
    if sign == "u":
        return (*made, below(s, made, a, "u") if what == "add" else below(s, a, b, "u"))
    high, x, y = made[-1], a[-1], b[-1]
    changed = s.op("xor.b64", x, high)
    other = s.op("xor.b64", y, high) if what == "add" else s.op("xor.b64", x, y)
    return (*made, s.op("setp.lt.s64", s.op("and.b64", changed, other), 0))


SCALARS: dict[str, Scalar] = {
    "ctpop": _ctpop, "ctlz": _ctlz, "cttz": _cttz, "bitreverse": _bitreverse, "bswap": _bswap,
    "funnel": _funnel, "integer.extremum": _extremum, "abs": _abs, "saturating": _saturating,
}
