"""LLVM's own intrinsics that a dialect of libnvvm lacks, as what it has.

    call i32 @llvm.umin.i32(%a, %b)           ==>   icmp ult, select
    call i7 @llvm.sadd.sat.i7(%a, %b)         ==>   the sum; where its sign is wrong, the end
    call i48 @llvm.ctpop.i48(%x)              ==>   of zext to i64
    call <2 x half> @llvm.rint.v2f16(%v)      ==>   of each element: fpext, cvt.rni, fptrunc

A rule is of scalars; vectors are worked on element by element. Halves and bfloat, which the older
dialect lacks, go by float, which rounds twice as well as once; fma is PTX's own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import attrs

from nvir.ir import Function, Instruction, Unsupported
from nvir.ir import types as ty
from nvir.ir.intrinsics import arithmetic, find
from nvir.ir.nvvm import Builder, const, const_like, declare
from nvir.ir.values import Constant, Value, constant, undef
from nvir.ir.verify.nvvm import element
from nvir.passes.llvm import assembly

_SUFFIXES = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}


@attrs.frozen
class IntrinsicCall:
    """A call of an intrinsic: its name without types, what it is given and gives."""

    name: str
    operands: tuple[Value, ...]
    type: ty.Type
    dialect: str
    approximate: bool = False  # the call's flags say that this will do

    @property
    def words(self) -> list[str]:
        return self.name.split(".")

    def refused(self) -> Unsupported:
        of = element(self.operands[0].type).name
        return Unsupported(f"the intrinsic llvm.{self.name}.{_SUFFIXES.get(of, of)}", self.dialect)


Scalar = Callable[[Builder, IntrinsicCall], Value]
Need = Callable[[str, ty.Type], bool]  # (dialect, type of the first operand)


def lowered(b: Builder, i: Instruction, dialect: str) -> Value | None:
    """What stands for a call of an intrinsic; None where the dialect has it, or nothing does."""
    callee = i.aux.callee
    assert isinstance(callee, Function)
    name = full = str(callee.name)[5:]
    while name and name not in RULES:
        name = name.rpartition(".")[0]
    if not name or not RULES[name][0](dialect, i.operands[0].type):
        return None
    said = full if name == "vector.reduce" else name
    approximate = not {"afn", "fast"}.isdisjoint(i.form.mods)
    call = IntrinsicCall(said, i.operands, i.type, dialect, approximate)
    return _applied(b, call, RULES[name][1])


def _applied(b: Builder, c: IntrinsicCall, rule: Scalar) -> Value:
    lanes = next((v.type.count for v in c.operands if isinstance(v.type, ty.VectorType)), 0)
    if not lanes or rule is _reduced:
        return rule(b, c)
    if isinstance(c.type, ty.StructType):
        raise c.refused()
    out: Value = undef(c.type)
    for k in range(lanes):
        given = tuple(lane(b, v, k) for v in c.operands)
        made = rule(b, attrs.evolve(c, operands=given, type=element(c.type)))
        out = b.insert_element(out, made, k)
    return out


def lane(b: Builder, v: Value, k: int) -> Value:
    """Element k of a vector; another value itself."""
    if not isinstance(v.type, ty.VectorType):
        return v
    if isinstance(v, Constant):
        return v.value[k] if isinstance(v.value, tuple) else constant(v.type.element, None)
    return b.extract_element(v, k)


def _intrinsic(b: Builder, c: IntrinsicCall, name: str, *operands: Value) -> Value:
    """The call of an intrinsic of one type, or what stands for it."""
    t = operands[0].type
    need, rule = RULES.get(name, (None, None))
    if need is not None and rule is not None and need(c.dialect, t):
        return rule(b, IntrinsicCall(name, operands, t, c.dialect))
    assert b.module is not None
    full = f"llvm.{name}.{_SUFFIXES.get(t.name, t.name)}"
    types = [v.type for v in operands]
    return b.call(declare(b.module, full, t, types, ("nounwind",)), list(operands))


# ----------------------------------------------------------------- integers

_TESTS = {"smax": "sgt", "smin": "slt", "umax": "ugt", "umin": "ult"}


def _extremum(b: Builder, c: IntrinsicCall) -> Value:
    return _better(b, c.words[-1], *c.operands)


def _better(b: Builder, which: str, x: Value, y: Value) -> Value:
    compare = b.icmp_signed if which[0] == "s" else b.icmp_unsigned
    return b.select(compare("<" if which.endswith("min") else ">", x, y), x, y)


def _abs(b: Builder, c: IntrinsicCall) -> Value:
    x = c.operands[0]
    return b.select(b.icmp_signed("<", x, const_like(x, 0)), b.neg(x), x)


def _overflowing(b: Builder, what: str, x: Value, y: Value) -> tuple[Value, Value]:
    """The result of uadd, ssub, smul … and whether it wrapped."""
    if what[1:] == "mul":
        return arithmetic.in_more_bits(b, what, x, y, 2 * x.type.bits)
    sign, what = what[0], what[1:]
    total = b.add(x, y) if what == "add" else b.sub(x, y)
    if sign == "u":
        return total, b.icmp_unsigned("<", total, x) if what == "add" else (
            b.icmp_unsigned("<", x, y))
    other = b.xor(y, total) if what == "add" else b.xor(x, y)
    return total, b.icmp_signed("<", b.and_(b.xor(x, total), other), const_like(x, 0))


def _with_overflow(b: Builder, c: IntrinsicCall) -> Value:
    total, over = _overflowing(b, c.words[0], *c.operands)
    return b.insert_value(b.insert_value(undef(c.type), total, 0), over, 1)


def _saturating(b: Builder, c: IntrinsicCall) -> Value:
    what, (x, y) = c.words[0], c.operands
    return arithmetic.saturating(b, what, x, y, lambda: _overflowing(b, what, x, y))


def _funnel(b: Builder, c: IntrinsicCall) -> Value:
    return arithmetic.funnel_shift(b, c.name == "fshl", *c.operands)


def _words(b: Builder, x: Value) -> list[Value]:
    """The words of 64 bits that a number has, the lowest first; zeros above it."""
    t = ty.int_type(-(-x.type.bits // 64) * 64)
    x = x if x.type is t else b.zext(x, t)
    return [b.trunc(b.lshr(x, at) if at else x, ty.I64) if t.bits > 64 else x
            for at in range(0, t.bits, 64)]


def _count(b: Builder, c: IntrinsicCall) -> Value:
    """ctpop, ctlz, cttz of an odd width: in the next one, or word by word."""
    x, what, n = c.operands[0], c.name, c.type.bits
    wide = next((t for t in (ty.I8, ty.I16, ty.I32) if n < t.bits), ty.I64)
    parts = [b.zext(x, wide)] if n < 64 else _words(b, x)
    if what == "cttz":
        if n % 64:  # a one above the number ends the count
            parts[-1] = b.or_(parts[-1], const_like(parts[-1], 1 << n % 64))
        parts.reverse()
    flag = () if what == "ctpop" else (const(ty.I1, 0),)
    found = [_intrinsic(b, c, what, p, *flag) for p in parts]
    total = found[0]
    for part, here in zip(parts[1:], found[1:], strict=True):
        total = b.add(total, here) if what == "ctpop" else b.select(
            b.icmp_signed("==", part, const_like(part, 0)), b.add(total, 64), here)
    if what == "ctlz":
        total = b.sub(total, sum(p.type.bits for p in parts) - n)
    return b.trunc(total, c.type) if n < 64 else b.zext(total, c.type)


def _swapped(b: Builder, c: IntrinsicCall) -> Value:
    """bswap of an odd width: the words' in reverse order, moved down to where it begins."""
    x, t = c.operands[0], c.type
    if t.bits in (16, 32, 64):
        return _intrinsic(b, c, "bswap", x)
    parts = _words(b, x)
    wide = ty.int_type(64 * len(parts))
    whole: Value | None = None
    for at, part in enumerate(reversed(parts)):
        made = _intrinsic(b, c, "bswap", part)
        placed = made if wide is ty.I64 else b.shl(b.zext(made, wide), 64 * at)
        whole = placed if whole is None else b.or_(whole, placed)
    assert whole is not None
    if wide is t:
        return whole
    return b.trunc(b.lshr(whole, wide.bits - t.bits), t)


def _object_size(b: Builder, c: IntrinsicCall) -> Value:
    """Unknown: 0 where the least is asked for, else all ones."""
    return const(c.type, 0 if getattr(c.operands[1], "value", 0) else -1)


def _pointer_mask(b: Builder, c: IntrinsicCall) -> Value:
    p, mask = c.operands
    return b.inttoptr(b.and_(b.ptrtoint(p, mask.type), mask), p.type)


# ------------------------------------------------------------------- floats


def _by_float(b: Builder, c: IntrinsicCall) -> Value:
    """Of half or bfloat, in float."""
    wide = tuple(b.fpext(v, ty.FLOAT) for v in c.operands)
    return b.fptrunc(_intrinsic(b, c, c.words[0], *wide), c.type)


def _fabs(b: Builder, c: IntrinsicCall) -> Value:
    t = c.type
    if t in (ty.FLOAT, ty.DOUBLE):
        assert b.module is not None
        own = declare(b.module, f"llvm.nvvm.fabs.{'f' if t is ty.FLOAT else 'd'}", t, [t],
                      ("nounwind",))
        return b.call(own, list(c.operands))
    bits = ty.int_type(t.bits)
    cleared = b.and_(b.bitcast(c.operands[0], bits), const(bits, (1 << (t.bits - 1)) - 1))
    return b.bitcast(cleared, t)


def _copysign(b: Builder, c: IntrinsicCall) -> Value:
    bits = ty.int_type(c.type.bits)
    size, sign = (b.bitcast(v, bits) for v in c.operands)
    top = 1 << bits.bits - 1
    return b.bitcast(b.or_(b.and_(size, const(bits, top - 1)), b.and_(sign, const(bits, top))),
                     c.type)


def _rounded(b: Builder, c: IntrinsicCall) -> Value:
    if c.type.bits == 16:
        return _by_float(b, c)
    return assembly.rounding(b, c.operands[0], c.words[0])


def _fma(b: Builder, c: IntrinsicCall) -> Value:
    """Of bfloat, whose sum no float holds."""
    given = [b.bitcast(v, ty.I16) for v in c.operands]
    f = ty.function_type(ty.I16, [ty.I16] * 3)
    return b.bitcast(b.asm(f, "fma.rn.bf16 $0, $1, $2, $3;", "=h,h,h,h", given), c.type)


def _nan_extremum(b: Builder, c: IntrinsicCall) -> Value:
    """minimum and maximum: NaN where there is one; -0 is below 0."""
    if c.type.bits == 16:
        return _by_float(b, c)
    (x, y), bits, least = c.operands, ty.int_type(c.type.bits), c.words[0] == "minimum"
    patterns = b.bitcast(x, bits), b.bitcast(y, bits)
    zeros = b.bitcast(b.or_(*patterns) if least else b.and_(*patterns), c.type)
    better = b.select(b.fcmp_ordered("<" if least else ">", x, y), x, y)
    best = b.select(b.fcmp_ordered("==", x, y), zeros, better)
    return b.select(b.fcmp_unordered("uno", x, y), const_like(x, math.nan), best)


def _approximated(b: Builder, c: IntrinsicCall) -> Value:
    """sin, exp2, log … by what the machine has, of a multiple or as one: exp(x) = 2^(x·log2 e). The
    factors are patterns of float in the table of intrinsics."""
    if not c.approximate or c.type is ty.DOUBLE:
        raise c.refused()
    x = c.operands[0] if c.type is ty.FLOAT else b.fpext(c.operands[0], ty.FLOAT)
    row = find(f"llvm.{c.words[0]}.f32")
    assert row is not None
    _, word, *patterns = row.rule.split()
    before, behind = (constant(ty.FLOAT, int(p)) if int(p) else None for p in patterns)
    x = b.fmul(before, x) if before else x
    assert b.module is not None
    f = declare(b.module, f"llvm.nvvm.{word}.approx.f", ty.FLOAT, [ty.FLOAT], ("nounwind",))
    made = b.call(f, [x])
    made = b.fmul(made, behind) if behind else made
    return made if c.type is ty.FLOAT else b.fptrunc(made, c.type)


def _saturated_integer(b: Builder, c: IntrinsicCall) -> Value:
    """llvm.fpto{s,u}i.sat."""
    x = b.fpext(c.operands[0], ty.FLOAT) if c.operands[0].type.bits == 16 else c.operands[0]
    return arithmetic.saturated_integer(b, x, c.type, c.name.startswith("fptos"))


def _fpclass(b: Builder, c: IntrinsicCall) -> Value:
    """llvm.is.fpclass: the pattern without its sign lies in a range for each bit of the mask:
    0 signalling NaN, 1 quiet NaN, 2 to 5 -inf, -normal, -subnormal, -0, 6 to 9 the same from +0."""
    x, mask = c.operands[0], int(getattr(c.operands[1], "value", 0))
    t = x.type
    if not isinstance(t, ty.FloatType) or t is ty.FP128:
        raise c.refused()
    fraction = t.fraction
    infinity = (1 << t.bits - 1) - (1 << fraction)
    quiet, kind = infinity | 1 << fraction - 1, ty.int_type(t.bits)
    bits = b.bitcast(x, kind)
    size = b.and_(bits, const(kind, (1 << t.bits - 1) - 1))
    nans = ((infinity + 1, quiet - 1), (quiet, (1 << t.bits - 1) - 1))
    sizes = ((0, 0), (1, (1 << fraction) - 1), (1 << fraction, infinity - 1), (infinity, infinity))
    found: Value = const(ty.I1, 0)
    for bit in (k for k in range(10) if mask >> k & 1):
        low, high = nans[bit] if bit < 2 else sizes[bit - 6 if bit > 5 else 5 - bit]
        inside = b.icmp_unsigned("<=", b.sub(size, const(kind, low)), const(kind, high - low))
        if bit > 1:
            inside = b.and_(inside, b.icmp_signed("<" if bit < 6 else ">=", bits, const(kind, 0)))
        found = b.or_(found, inside)
    return found


# --------------------------------------------------------------- reductions

_PAIRS = {"add": "add", "mul": "mul", "and": "and_", "or": "or_", "xor": "xor", "fadd": "fadd",
          "fmul": "fmul"}


def _reduced(b: Builder, c: IntrinsicCall) -> Value:
    """llvm.vector.reduce.*: element by element; sums and products of floats from a start on."""
    what, v = c.words[2], c.operands[-1]
    assert isinstance(v.type, ty.VectorType)
    lanes = [*c.operands[:-1], *(lane(b, v, k) for k in range(v.type.count))]

    def pair(x: Value, y: Value) -> Value:
        if what in arithmetic.EXTREMA:
            return _intrinsic(b, c, arithmetic.EXTREMA[what], x, y)
        if what in _TESTS:
            return _better(b, what, x, y)
        if what not in _PAIRS:
            raise c.refused()
        made: Value = getattr(b, _PAIRS[what])(x, y)
        return made

    return functools.reduce(pair, lanes)


# --------------------------------------------------------------------- table


def _always(dialect: str, t: ty.Type) -> bool:
    return True


def _old(dialect: str, t: ty.Type) -> bool:
    return dialect == "llvm7"


def _old_bfloat(dialect: str, t: ty.Type) -> bool:
    return dialect == "llvm7" and element(t) is ty.BFLOAT


def _old_and_odd(dialect: str, t: ty.Type) -> bool:
    """LLVM 7 takes the funnel shifts of these too, and gets them wrong."""
    return dialect == "llvm7" and _no_words(dialect, t)


def _no_words(dialect: str, t: ty.Type) -> bool:
    return element(t).bits not in (8, 16, 32, 64)


def _no_register(dialect: str, t: ty.Type) -> bool:
    return t.bits not in (16, 32, 64) or isinstance(t, ty.VectorType)


RULES: dict[str, tuple[Need, Scalar]] = {
    **dict.fromkeys(_TESTS, (_old, _extremum)),
    "abs": (_old, _abs),
    **{f"{s}{what}.sat": (_old, _saturating) for s in "su" for what in ("add", "sub", "shl")},
    **{f"{s}{what}.with.overflow": (_no_register, _with_overflow)
       for s in "su" for what in ("add", "sub", "mul")},
    **dict.fromkeys(("ctpop", "ctlz", "cttz"), (_no_words, _count)),
    **dict.fromkeys(("fshl", "fshr"), (_old_and_odd, _funnel)),
    "bswap": (_no_register, _swapped),
    "is.constant": (_old, lambda b, c: const(c.type, 0)),
    "ptrmask": (_old, _pointer_mask), "objectsize": (_always, _object_size),
    "fabs": (_always, _fabs),
    **dict.fromkeys(assembly.MODES, (_always, _rounded)),
    "roundeven": (_old, _rounded),
    **dict.fromkeys(("floor", "ceil", "sqrt", "minnum", "maxnum"), (_old_bfloat, _by_float)),
    "canonicalize": (_always, lambda b, c: b.fmul(c.operands[0], const_like(c.operands[0], 1.0))),
    "minimumnum": (_always, lambda b, c: _intrinsic(b, c, "minnum", *c.operands)),
    "maximumnum": (_always, lambda b, c: _intrinsic(b, c, "maxnum", *c.operands)),
    "copysign": (_old_bfloat, _copysign),
    **dict.fromkeys(("fma", "fmuladd"), (_old_bfloat, _fma)),
    **dict.fromkeys(("minimum", "maximum"), (_old, _nan_extremum)),
    **dict.fromkeys(("fptosi.sat", "fptoui.sat"), (_old, _saturated_integer)),
    **dict.fromkeys(("sin", "cos", "tanh", "exp", "exp2", "exp10", "log", "log2", "log10"),
                    (_always, _approximated)),
    "is.fpclass": (_old, _fpclass),
    "vector.reduce": (_old, _reduced),
}
