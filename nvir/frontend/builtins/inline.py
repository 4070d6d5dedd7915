"""Builtins that are IR of a few instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nvir.frontend.builtins.work import Work
from nvir.frontend.irgen import fold
from nvir.frontend.tree.types import is_signed, underlying
from nvir.ir import FLOAT, I1, I16, I32, I64, IntType, Value, constant, int_type
from nvir.ir.nvvm import const


def find_first(w: Work) -> Value:
    """The number of the lowest bit that is set, from 1 on; 0 where none is."""
    x = w.value(0)
    t = x.type
    found = w.intrinsic(f"llvm.cttz.i{t.bits}", t, [x, const(I1, 0)])
    made = w.b.select(w.b.icmp_signed("==", x, 0), const(t, -1), found)
    return w.give(w.b.add(w.fit(made, I32, signed=True), const(I32, 1)))


def average(w: Work, sign: str, rounding: str) -> Value:
    """(a + b [+ 1]) / 2 without overflow: in 64 bits."""
    signed = sign == "signed"
    a, b = (w.fit(w.value(k), I64, signed) for k in range(2))
    total = w.b.add(a, b)
    if rounding == "up":
        total = w.b.add(total, const(I64, 1))
    return w.give(w.b.ashr(total, const(I64, 1)))


def absolute(w: Work) -> Value:
    x = w.value(0)
    return w.give(w.b.select(w.b.icmp_signed("<", x, 0), w.b.neg(x), x))


def extremum(w: Work, what: str) -> Value:
    a, b = w.value(0), w.value(1)
    compare = w.b.icmp_signed if is_signed(underlying(w.types[0])) else w.b.icmp_unsigned
    return w.give(w.b.select(compare("<" if what == "min" else ">", a, b), a, b))


def bits(w: Work) -> Value:
    return w.give(w.value(0))


def half_of_double(w: Work, part: str) -> Value:
    x = fold.cast(w.g, "bitcast", w.value(0), I64)
    return w.fit(w.b.lshr(x, const(I64, 32)) if part == "hi" else x, I32)


def double_of_halves(w: Work) -> Value:
    high, low = w.fit(w.value(0), I64), w.fit(w.value(1), I64)
    return w.give(w.b.or_(w.b.shl(high, const(I64, 32)), low))


def clock(w: Work, register: str) -> Value:
    """Counters read anew each time."""
    wide = register != "clock"
    t = I64 if wide else I32
    letter = "u64" if wide else "u32"
    made = w.asm(f"mov.{letter} $0, %{register};", t, [], True)
    return w.give(made)


# ------------------------------------------------------------------ floats

_LLVM = {"fabs": "fabs", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint",
         "nearbyint": "nearbyint", "sqrt": "sqrt", "fmin": "minnum", "fmax": "maxnum",
         "copysign": "copysign", "fma": "fma", "round": "round"}


def real(w: Work, name: str) -> Value:
    """What LLVM has an exact intrinsic for; the rounding functions are NVVM's."""
    args = [w.value(k) for k in range(len(w.args))]
    t = args[0].type
    short = "f" if t is FLOAT else "d"
    if name in ("floor", "ceil", "trunc"):
        return w.give(w.intrinsic(f"llvm.nvvm.{name}.{short}", t, args))
    if name in ("rint", "nearbyint"):
        return w.give(w.intrinsic(f"llvm.nvvm.round.{short}", t, args))
    if name == "round":
        return _round(w, args[0], short)
    if name == "sqrt":
        return w.give(w.intrinsic(f"llvm.nvvm.sqrt.rn.{short}", t, args))
    return w.give(w.intrinsic(f"llvm.{_LLVM[name]}.f{t.bits}", t, args))


def _round(w: Work, x: Value, short: str) -> Value:
    """To the nearest integer, halves away from zero: trunc(x + copysign(0.5⁻, x)), where 0.5⁻ is
    the number before 0.5 and the sum is rounded towards zero, which makes 0.5 itself come out."""
    t = x.type
    half = constant(t, 0x3F000000 if short == "f" else 0x3FE0000000000000)
    signed = w.intrinsic(f"llvm.copysign.f{t.bits}", t, [half, x])
    total = w.intrinsic(f"llvm.nvvm.add.rz.{short}", t, [x, signed])
    cut = w.intrinsic(f"llvm.nvvm.trunc.{short}", t, [total])
    return w.give(w.intrinsic(f"llvm.copysign.f{t.bits}", t, [cut, x]))


def to_integer(w: Work, how: str) -> Value:
    x = w.value(0)
    short = "f" if x.type is FLOAT else "d"
    if how == "round":
        x = _round_value(w, x, short)
    return w.give(w.intrinsic(f"llvm.nvvm.{short}2ll.rn", I64, [x]))


def _round_value(w: Work, x: Value, short: str) -> Value:
    kept, w.result = w.result, w.types[0]
    try:
        return _round(w, x, short)
    finally:
        w.result = kept


def subtract(w: Work, mode: str) -> Value:
    """a - b with a rounding: a + -b."""
    a, b = w.value(0), w.value(1)
    short = "f" if a.type is FLOAT else "d"
    return w.give(w.intrinsic(f"llvm.nvvm.add.{mode}.{short}", a.type, [a, negated(w, b)]))


def negated(w: Work, x: Value) -> Value:
    """-x, by its sign bit: NaN and zero too."""
    t = int_type(x.type.bits)
    flipped = w.b.xor(fold.cast(w.g, "bitcast", x, t), const(t, 1 << (t.bits - 1)))
    return fold.cast(w.g, "bitcast", flipped, x.type)


def classify(w: Work, what: str) -> Value:
    x = w.value(0)
    bits_ = x.type.bits
    t = int_type(bits_)
    if what == "uno":
        return w.give(w.b.fcmp_unordered("uno", x, x))
    raw = fold.cast(w.g, "bitcast", x, t)
    if what == "sign":
        return w.give(w.b.icmp_signed("<", raw, 0))
    size = w.b.and_(raw, const(t, (1 << (bits_ - 1)) - 1))
    infinity = const(t, 0x7F800000 if bits_ == 32 else 0x7FF0000000000000)
    return w.give(w.b.icmp_unsigned("==" if what == "inf" else "<", size, infinity))


# -------------------------------------------------------------- fast variants

_LOG2_E, _LOG2_10, _LN_2, _LOG10_2 = 0x3FB8AA3B, 0x40549A78, 0x3F317218, 0x3E9A209B


def _approx(w: Work, name: str, x: Value) -> Value:
    made: Value = w.intrinsic(f"llvm.nvvm.{name}.approx.f", FLOAT, [x])
    return made


def fast(w: Work, what: str) -> Value:
    """The approximations of the hardware, scaled: 2^(x log2 e), log2(x) ln 2, sin / cos …"""
    x = w.value(0)
    if what in ("exp", "exp10"):
        scale = constant(FLOAT, _LOG2_E if what == "exp" else _LOG2_10)
        return _approx(w, "ex2", w.b.fmul(x, scale))
    if what in ("log", "log10"):
        scale = constant(FLOAT, _LN_2 if what == "log" else _LOG10_2)
        return w.give(w.b.fmul(_approx(w, "lg2", x), scale))
    if what == "pow":
        return _approx(w, "ex2", w.b.fmul(w.value(1), _approx(w, "lg2", x)))
    sine, cosine = _approx(w, "sin", x), _approx(w, "cos", x)
    made: Value = w.intrinsic("llvm.nvvm.div.approx.f", FLOAT, [sine, cosine])
    return made


def fast_sincos(w: Work) -> None:
    x = w.value(0)
    w.b.store(_approx(w, "sin", x), w.value(1), 4)
    w.b.store(_approx(w, "cos", x), w.value(2), 4)


# ---------------------------------------------------------------- 16-bit floats


def _floats(w: Work) -> list[Value]:
    return [w.b.fpext(w.value(k), FLOAT) for k in range(len(w.args))]


def half_arithmetic(w: Work, op: str) -> Value:
    """In float and back: the sum, product, quotient of two such numbers is rounded once more
    without harm; a product and sum takes PTX's own fma."""
    if op == "fma":
        t = "f16" if w.value(0).type.name == "half" else "bf16"
        args = [w.fit(w.value(k), I16) for k in range(3)]
        return w.give(w.asm(f"fma.rn.{t} $0, $1, $2, $3;", I16, args))
    a, b = _floats(w)
    if op in ("min", "max"):
        made = w.intrinsic(f"llvm.{op}num.f32", FLOAT, [a, b])
    else:
        made = getattr(w.b, op)(a, b)
    return w.fit(made, w.want)


def half_negate(w: Work) -> Value:
    return negated(w, w.value(0))


def half_absolute(w: Work) -> Value:
    raw = w.fit(w.value(0), I16)
    return w.give(w.b.and_(raw, const(I16, 0x7FFF)))


_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def half_compare(w: Work, what: str) -> Value:
    values = _floats(w)
    if what == "uno":
        return w.give(w.b.fcmp_unordered("uno", values[0], values[0]))
    method = w.b.fcmp_ordered if what[0] == "o" else w.b.fcmp_unordered
    return w.give(method(_COMPARE[what[1:]], values[0], values[1]))


def half_by_float(w: Work, name: str) -> Value:
    """A function of float between two conversions: its error is far below half precision's."""
    from nvir.frontend.builtins.registry import choose
    from nvir.frontend.tree.types import FLOAT as C_FLOAT

    x = w.b.fpext(w.value(0), FLOAT)
    found = choose(name, (C_FLOAT,))
    assert found is not None
    inner = Work(w.g, w.e, found[0], found[1], [x], [C_FLOAT], C_FLOAT, w.lower)
    made = w.lower(inner)
    assert made is not None
    return w.fit(made, w.want)


def convert(w: Work) -> Value:
    """A conversion that C has: by the types alone."""
    v, to = w.value(0), w.want
    source = w.types[0]
    if isinstance(v.type, IntType):
        row = "sitofp" if is_signed(underlying(source)) else "uitofp"
        return fold.cast(w.g, row, v, to)
    if isinstance(to, IntType):
        return fold.cast(w.g, "fptosi" if is_signed(underlying(w.result)) else "fptoui", v, to)
    return w.fit(v, to)


# ----------------------------------------------------------------- SIMD in a word


def lane_masks(w: Work, lanes: str, t: str, cmp: str) -> Value:
    """All ones in each lane where a comparison holds: the lanes' truth times the lane's mask."""
    args = [w.value(0), w.value(1), const(I32, 0)]
    truth = w.asm(f"vset{lanes}.{t}.{t}.{cmp} $0, $1, $2, $3;", I32, args)
    return w.give(w.b.mul(truth, const(I32, 0xFF if lanes == "4" else 0xFFFF)))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "find_first": find_first, "average": average, "absolute": absolute, "extremum": extremum,
    "bits": bits, "half_of_double": half_of_double, "double_of_halves": double_of_halves,
    "clock": clock, "real": real, "to_integer": to_integer, "subtract": subtract,
    "classify": classify, "fast": fast, "fast_sincos": fast_sincos,
    "half_arithmetic": half_arithmetic, "half_negate": half_negate,
    "half_absolute": half_absolute, "half_compare": half_compare, "half_by_float": half_by_float,
    "convert": convert, "lane_masks": lane_masks,
}
