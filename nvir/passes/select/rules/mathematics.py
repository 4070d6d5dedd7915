"""LLVM's intrinsics on floats. half and bfloat go through float where PTX has no form of theirs.

sin, cos, exp2, log2 and their like are what PTX has, approximations; they are selected where the
call says `afn` (or fast-math is on). An exact one is libdevice's work: link it first.
"""

from __future__ import annotations

from nvir.ir import F32, F64, Instruction, Type, Value, constant
from nvir.passes.select.lanes import Scalar
from nvir.passes.select.rules.convert import resize
from nvir.passes.select.rules.floating import (
    from_float,
    ftz,
    is_approximate,
    kind_of,
    lacks_bfloat,
    operand,
    through_float,
    to_float,
)
from nvir.passes.select.selector import Parts, Selector, width


def _name(i: Instruction) -> str:
    return str(i.aux.callee.name)


def _by_float(s: Selector, t: Type, args: list[Parts]) -> tuple[str, list[Value]]:
    """Operands in the type that PTX computes in, f32 for the two of 16 bits."""
    kind = kind_of(t)
    if kind in ("f16", "bf16"):
        return "f32", [to_float(s, t, a[0]) for a in args]
    return kind, [s.reg(a[0], kind) for a in args]


def _back(s: Selector, t: Type, x: Value) -> Parts:
    return (from_float(s, t, x) if t.name in ("half", "bfloat") else x,)


def _fma(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    kind = kind_of(t)
    if lacks_bfloat(s, t):
        return (through_float(s, t, "fma.rn.f32", *(x[0] for x in args)),)
    a, b, c = (operand(s, kind, x[0]) for x in args)
    if "fmuladd" in _name(i) and s.options.fp_contract == "off" and kind in ("f32", "f64"):
        product = s.op(f"mul.rn{ftz(s, kind)}.{kind}", s.reg(a, kind), b)
        return (s.op(f"add.rn{ftz(s, kind)}.{kind}", product, c),)
    return (s.op(f"fma.rn{ftz(s, kind)}.{kind}", s.reg(a, kind), b, c),)


def _fabs(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    kind = kind_of(t)
    if kind in ("f16", "bf16"):
        return (s.op("and.b16", s.reg(args[0][0], "b16"), 0x7FFF),)
    return (s.op(f"abs{ftz(s, kind)}.{kind}", s.reg(args[0][0], kind)),)


def _copysign(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    kind = kind_of(t)
    x, sign = args[0][0], args[1][0]
    if kind in ("f16", "bf16"):
        magnitude = s.op("and.b16", s.reg(x, "b16"), 0x7FFF)
        return (s.op("or.b16", magnitude, s.op("and.b16", s.reg(sign, "b16"), 0x8000)),)
    return (s.op(f"copysign.{kind}", s.reg(sign, kind), s.reg(x, kind)),)


def _round_to_integer(
    s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts], how: str
) -> Parts:
    kind, (x,) = _by_float(s, t, args)
    return _back(s, t, s.op(f"cvt.{how}{ftz(s, kind)}.{kind}.{kind}", x))


def _round(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    """To nearest, halves away from zero: trunc(x + copysign(0.5⁻, x)), the sum rounded towards
    zero; 0.5 itself with what it loses would round up the number before it."""
    kind, (x,) = _by_float(s, t, args)
    half = constant(F32, 0x3F000000) if kind == "f32" else constant(F64, 0x3FE0000000000000)
    signed_half = s.op(f"copysign.{kind}", x, half)
    sum_ = s.op(f"add.rz.{kind}", x, signed_half)
    cut = s.op(f"cvt.rzi.{kind}.{kind}", sum_)
    return _back(s, t, s.op(f"copysign.{kind}", x, cut))


def _extremum(
    s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts], short: str, nan: str = ""
) -> Parts:
    """minnum and maxnum leave a NaN out; minimum and maximum give it."""
    if t.bits == 16 and s.sm >= 80:
        short += ".NaN" if nan else ""
        a, b = (s.reg(x, "b16") for (x,) in args)
        return (s.op(f"{short}.{'f16' if t.name == 'half' else 'bf16'}", a, b),)
    kind, (a, b) = _by_float(s, t, args)
    if not nan:
        return _back(s, t, s.op(f"{short}{ftz(s, kind)}.{kind}", a, b))
    if kind == "f32" and s.sm >= 80:
        return _back(s, t, s.op(f"{short}{ftz(s, kind)}.NaN.f32", a, b))
    made = s.op(f"{short}{ftz(s, kind)}.{kind}", a, b)
    both = s.op(f"setp.num.{kind}", a, b)
    nan_ = constant(F32, 0x7FC00000) if kind == "f32" else constant(F64, 0x7FF8000000000000)
    return _back(s, t, s.op(f"selp.{kind}", made, nan_, both))


def _sqrt(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    kind, (x,) = _by_float(s, t, args)
    exact = s.options.prec_sqrt
    approximate = kind == "f32" and (not exact or is_approximate(s, i, exact))
    how = "approx" if approximate else "rn"
    return _back(s, t, s.op(f"sqrt.{how}{ftz(s, kind)}.{kind}", x))


def _transcendental(
    s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts], ptx: str, before: str,
    behind: str,
) -> Parts:
    """What PTX has, of a multiple or as a multiple: exp(x) = 2^(x·log2 e), log(x) = log2(x)·ln 2.
    The factors are patterns of f32."""
    kind, (x,) = _approximable(s, i, t, args)
    if int(before):
        x = s.op("mul.f32", x, constant(F32, int(before)))
    x = s.op(f"{ptx}.approx{'' if ptx == 'tanh' else ftz(s, kind)}.f32", x)
    return _back(s, t, s.op("mul.f32", x, constant(F32, int(behind))) if int(behind) else x)


def _power(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    """x^y = 2^(y·log2 x)."""
    kind, (x, y) = _approximable(s, i, t, args)
    z = ftz(s, kind)
    power = s.op("mul.f32", y, s.op(f"lg2.approx{z}.f32", x))
    return _back(s, t, s.op(f"ex2.approx{z}.f32", power))


def _approximable(
    s: Selector, i: Instruction, t: Type, args: list[Parts]
) -> tuple[str, list[Value]]:
    if t.name == "double" or not is_approximate(s, i):
        raise s.fail(f"{_name(i)} without 'afn': link libdevice")
    return _by_float(s, t, args)


def _canonicalize(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    kind, (x,) = _by_float(s, t, args)
    one = constant(F32, 0x3F800000) if kind == "f32" else constant(F64, 0x3FF0000000000000)
    return _back(s, t, s.op(f"mul.rn{ftz(s, kind)}.{kind}", x, one))


def _is_fpclass(s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts]) -> Parts:
    """Bits of the mask: 0 1 NaN (signalling, quiet), 2 -inf, 3 -normal, 4 -subnormal, 5 -0, 6 +0,
    7 +subnormal, 8 +normal, 9 +inf. Compared as numbers of the pattern without its sign."""
    kind = kind_of(t)
    w = t.bits
    mask = int(getattr(i.operands[1], "value", 0))
    bits = s.op(f"mov.b{w}", s.reg(args[0][0], kind if w > 16 else "b16"))
    size = s.op(f"and.b{w}", bits, (1 << (w - 1)) - 1)
    minus = s.op(f"setp.lt.s{w}", bits, 0)
    mantissa = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}[kind]
    infinity = ((1 << (w - 1 - mantissa)) - 1) << mantissa
    quiet = infinity | 1 << (mantissa - 1)
    ranges = ((6, 5, 0, 0), (7, 4, 1, (1 << mantissa) - 1), (8, 3, 1 << mantissa, infinity - 1),
              (9, 2, infinity, infinity))
    found: list[Value] = []
    for plus, negative, first, last in ranges:
        p, n = mask >> plus & 1, mask >> negative & 1
        if p or n:
            inside = _between(s, size, w, first, last)
            if p != n:
                sign = s.op("not.pred", minus) if p else minus
                inside = s.op("and.pred", inside, sign)
            found.append(inside)
    if mask & 1:
        found.append(_between(s, size, w, infinity + 1, quiet - 1))
    if mask & 2:
        found.append(s.op(f"setp.ge.u{w}", size, quiet))
    if not found:
        from nvir.passes.select.selector import predicate

        return (predicate(False),)
    out = found[0]
    for p_ in found[1:]:
        out = s.op("or.pred", out, p_)
    return (out,)


def _between(s: Selector, x: Value, w: int, first: int, last: int) -> Value:
    if first == last:
        return s.op(f"setp.eq.s{w}", x, first)
    return s.op(f"setp.le.u{w}", s.op(f"sub.s{w}", x, first), last - first)


def _to_integer(
    s: Selector, i: Instruction, t: Type, r: Type, args: list[Parts], sign: str
) -> Parts:
    """llvm.fpto{s,u}i.sat: what PTX's cvt does, but NaN gives 0 there too only up to 32 bits."""
    if r.bits > 64:
        raise s.fail(f"{_name(i)}")
    kind, (x,) = _by_float(s, t, args)
    w = r.bits if r.bits == 16 else 32 if r.bits <= 32 else 64
    made = s.op(f"cvt.rzi.{sign}{w}.{kind}", x)
    if r.bits != w:  # to the bounds of the narrower type
        most = (1 << r.bits - (sign == "s")) - 1
        made = s.op(f"min.{sign}{w}", made, most)
        made = s.op(f"max.s{w}", made, -most - 1) if sign == "s" else made
    ordered = s.op(f"setp.num.{kind}", x, x)
    made = s.op(f"selp.b{w}", made, 0, ordered)
    if r.bits == 1:
        return (s.op(f"setp.ne.s{w}", made, 0),)
    return (s.known(resize(s, made, w, width(r)), "s" if sign == "s" else "z", r.bits),)


SCALARS: dict[str, Scalar] = {
    "fma": _fma, "fabs": _fabs, "copysign": _copysign, "to.integral": _round_to_integer,
    "round": _round, "extremum": _extremum, "sqrt": _sqrt, "approximate": _transcendental,
    "power": _power, "canonicalize": _canonicalize, "is.fpclass": _is_fpclass,
    "to.integer": _to_integer,
}
