"""The rules of intrinsics on floating point: roundings, extremes, approximations, classes.

Where PTX has a row it is that row. half and bfloat go by way of f32, which rounding twice does not
change. What PTX only approximates (sine, logarithms) is that approximation, as it is selected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nvir.interp.layout import Array
from nvir.interp.meaning import bind
from nvir.interp.nvvm.integers import elements_of, scalar_rows
from nvir.interp.nvvm.lower import (
    bits,
    expression,
    leaves,
    op,
    ptx_float,
    scalar,
    temp,
    wide_text,
    width,
)
from nvir.interp.rows import unsupported
from nvir.ir.values import Value

# (emitter, PTX's name of the operands' type, result, operands, words of the rule)
Compute = Callable[..., None]


def _by_element(compute: Compute) -> Callable[..., None]:
    """A rule for vectors from one for scalars."""

    def rule(e: Any, *words: str) -> None:
        t = scalar(e.instr.operands[0].type)
        f = ptx_float(t)
        if not f:
            raise unsupported(e.instr, f"arithmetic on {t}")
        for r, *given in scalar_rows(e):
            compute(e, f, r, given, *words)

    return rule


def _in_float(compute: Compute) -> Callable[..., None]:
    """The same where the two types of 16 bits are computed in f32."""

    def wide(e: Any, f: str, r: Value, given: list[Value], *words: str) -> None:
        if f not in ("f16", "bf16"):
            compute(e, f, r, given, *words)
            return
        to = temp("f32")
        compute(e, "f32", to, [op(e, f"cvt.f32.{f}", x) for x in given], *words)
        op(e, f"cvt.rn.{f}.f32", to, to=r)

    return _by_element(wide)


def _fma(e: Any, f: str, r: Value, given: list[Value]) -> None:
    op(e, f"fma.rn.{f}", *given, to=r)


def _fabs(e: Any, f: str, r: Value, given: list[Value]) -> None:
    w = width(r.type)
    op(e, f"and.b{w}", given[0], bits((1 << w - 1) - 1), to=r)


def _copysign(e: Any, f: str, r: Value, given: list[Value]) -> None:
    w = width(r.type)
    sign = op(e, f"and.b{w}", given[1], bits(1 << w - 1))
    op(e, f"or.b{w}", op(e, f"and.b{w}", given[0], bits((1 << w - 1) - 1)), sign, to=r)


def _sqrt(e: Any, f: str, r: Value, given: list[Value]) -> None:
    op(e, f"sqrt.rn.{f}", *given, to=r)


def _to_integral(e: Any, f: str, r: Value, given: list[Value], how: str) -> None:
    op(e, f"cvt.{how}.{f}.{f}", *given, to=r)


def _round(e: Any, f: str, r: Value, given: list[Value]) -> None:
    name = "b64" if f == "f64" else "b32"
    expression(e, r, f"{e.bind(_round_away(f))}({e.value(given[0], name)})")


def _extremum(
    e: Any, f: str, r: Value, given: list[Value], which: str, nan: str = ""
) -> None:
    if nan and f == "f64":
        text = ", ".join(str(e.value(v, "b64")) for v in given)
        expression(e, r, f"{e.bind(_extreme(which))}({text})")
    else:
        op(e, f"{which}{nan and '.NaN'}.{f}", *given, to=r)


def _approximate(
    e: Any, f: str, r: Value, given: list[Value], ptx: str, before: str, behind: str
) -> None:
    """PTX's function, of a multiple of the operand or as a multiple; factors as patterns."""
    if f == "f64":
        raise unsupported(e.instr, "link libdevice")
    (x,) = given
    if int(before):
        x = op(e, "mul.f32", x, bits(int(before)))
    if int(behind):
        op(e, "mul.f32", op(e, f"{ptx}.approx.f32", x), bits(int(behind)), to=r)
    else:
        op(e, f"{ptx}.approx.f32", x, to=r)


def _power(e: Any, f: str, r: Value, given: list[Value]) -> None:
    if f == "f64":
        raise unsupported(e.instr, "link libdevice")
    x, y = given
    op(e, "ex2.approx.f32", op(e, "mul.f32", y, op(e, "lg2.approx.f32", x)), to=r)


def _canonicalize(e: Any, f: str, r: Value, given: list[Value]) -> None:
    one = 0x3F800000 if f == "f32" else 0x3FF0000000000000
    op(e, f"mul.rn.{f}", given[0], bits(one), to=r)


def _to_integer(e: Any, f: str, r: Value, given: list[Value], sign: str) -> None:
    """llvm.fpto{s,u}i.sat: NaN gives 0."""
    t = scalar(e.instr.type)
    n, w = t.bits, max(width(t), 16)
    if w > 64:
        raise unsupported(e.instr, f"a result of {t}")
    (x,) = given
    if f in ("f16", "bf16"):
        f, x = "f32", op(e, f"cvt.f32.{f}", x)
    made = op(e, f"cvt.rzi.{sign}{w}.{f}", x)
    if n != w:
        most = (1 << n - (sign == "s")) - 1
        made = op(e, f"min.{sign}{w}", made, bits(most))
        if sign == "s":
            made = op(e, f"max.s{w}", made, bits((1 << w) - most - 1))
            made = op(e, f"and.b{w}", made, bits((1 << n) - 1))
    ordered = op(e, f"setp.num.{f}", x, x)
    if n == 1:
        op(e, "setp.ne.b16", op(e, "selp.b16", made, bits(0), ordered), bits(0), to=r)
    else:
        op(e, f"selp.b{w}", made, bits(0), ordered, to=r)


def _extreme(which: str) -> Any:
    """IEEE 754-2019 minimum and maximum of f64: a NaN wins, and -0 is below +0."""
    plain = bind(f"{which}.f64")

    def compute(a: Array, b: Array) -> Any:
        out = plain(a, b)
        nan = np.isnan(a.view("f8")) | np.isnan(b.view("f8"))
        return np.where(nan, np.uint64(0x7FF8000000000000), out)

    return compute


def _round_away(work: str) -> Any:
    """llvm.round: halves away from zero."""
    kind = "f8" if work == "f64" else "f4"

    def compute(x: Array) -> Any:
        v = x.view(kind)
        whole = np.trunc(v)
        away = np.abs(v - whole) >= v.dtype.type(0.5)
        out = np.where(away, whole + np.copysign(v.dtype.type(1), v), whole)
        return np.copysign(out, v).astype(kind).view(x.dtype)

    return compute


def _is_fpclass(e: Any) -> None:
    i = e.instr
    t = scalar(i.operands[0].type)
    test = int(leaves(e, i.operands[1])[0].value)  # type: ignore[attr-defined]
    exponent = {"f16": 5, "bf16": 8, "f32": 8, "f64": 11}[ptx_float(t)]
    f = e.bind(_classifier(width(t), exponent, test))
    for r, a in elements_of(e, 1):
        expression(e, r, f"{f}({wide_text(e, a, t)})")


def _classifier(w: int, exponent: int, test: int) -> Any:
    fraction = w - 1 - exponent

    def classify(x: Array) -> Array:
        v = x.astype(np.uint64)
        sign = v >> np.uint64(w - 1) != 0
        ex = v >> np.uint64(fraction) & np.uint64((1 << exponent) - 1)
        man = v & np.uint64((1 << fraction) - 1)
        top = np.uint64((1 << exponent) - 1)
        nan = (ex == top) & (man != 0)
        quiet = nan & (man >> np.uint64(fraction - 1) != 0)
        kinds = [nan & ~quiet, quiet]
        inf, normal = (ex == top) & (man == 0), (ex != top) & (ex != 0)
        sub, zero = (ex == 0) & (man != 0), (ex == 0) & (man == 0)
        kinds += [inf & sign, normal & sign, sub & sign, zero & sign,
                  zero & ~sign, sub & ~sign, normal & ~sign, inf & ~sign]
        out = np.zeros(len(x), bool)
        for k, kind in enumerate(kinds):
            if test >> k & 1:
                out |= kind
        return out

    return classify


RULES: dict[str, Callable[..., None]] = {
    "fma": _by_element(_fma), "fabs": _by_element(_fabs), "copysign": _by_element(_copysign),
    "sqrt": _in_float(_sqrt), "to.integral": _in_float(_to_integral), "round": _in_float(_round),
    "extremum": _in_float(_extremum), "approximate": _in_float(_approximate),
    "power": _in_float(_power), "canonicalize": _in_float(_canonicalize),
    "to.integer": _by_element(_to_integer), "is.fpclass": _is_fpclass,
}
