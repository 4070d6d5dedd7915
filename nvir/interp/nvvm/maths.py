"""llvm.* on floating point: roundings, extremes, approximations, classes.

Where PTX has a row it is that row; llvm.exp2, log2, sin and cos of f32 are the approximate ones, as
NVPTX selects them. half and bfloat go by way of f32, which rounding twice does not change.
"""

from __future__ import annotations

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

ROUND = {"floor": "rmi", "ceil": "rpi", "trunc": "rzi", "rint": "rni", "nearbyint": "rni",
          "roundeven": "rni"}
APPROXIMATE = {"exp2": "ex2.approx", "log2": "lg2.approx", "sin": "sin.approx",
                "cos": "cos.approx"}


def emit_float(e: Any, name: str) -> None:
    t = scalar(e.instr.type)
    f = ptx_float(t)
    if not f:
        raise unsupported(e.instr, f"arithmetic on {t}")
    w = width(t)
    for r, *given in scalar_rows(e):
        if name == "fabs":
            op(e, f"and.b{w}", given[0], bits((1 << w - 1) - 1), to=r)
        elif name == "copysign":
            sign = op(e, f"and.b{w}", given[1], bits(1 << w - 1))
            op(e, f"or.b{w}", op(e, f"and.b{w}", given[0], bits((1 << w - 1) - 1)), sign, to=r)
        elif name in ("fma", "fmuladd"):
            op(e, f"fma.rn.{f}", *given, to=r)
        else:
            _unary_or_extreme(e, name, f, r, given)


def _unary_or_extreme(e: Any, name: str, f: str, r: Value, given: list[Value]) -> None:
    rows = {"minnum": f"min.{f}", "maxnum": f"max.{f}", "minimum": f"min.NaN.{f}",
            "maximum": f"max.NaN.{f}", "minimumnum": f"min.{f}",
            "maximumnum": f"max.{f}"}
    if name in rows and not (f == "f64" and "NaN" in rows[name]):
        op(e, rows[name], *given, to=r)
        return
    if name in ("minimum", "maximum"):
        text = ", ".join(str(e.value(v, "b64")) for v in given)
        expression(e, r, f"{e.bind(_extreme(name))}({text})")
        return
    narrow = f in ("f16", "bf16")
    work = "f32" if narrow else f
    (a,) = given[:1]
    x = op(e, f"cvt.f32.{f}", a) if narrow else a
    to = temp("f32") if narrow else r
    if name in ROUND:
        op(e, f"cvt.{ROUND[name]}.{work}.{work}", x, to=to)
    elif name == "sqrt":
        op(e, f"sqrt.rn.{work}", x, to=to)
    elif name == "round":
        name_of = "b64" if work == "f64" else "b32"
        expression(e, to, f"{e.bind(_round_away(work))}({e.value(x, name_of)})")
    elif name in APPROXIMATE and work == "f32":
        op(e, f"{APPROXIMATE[name]}.f32", x, to=to)
    else:
        raise unsupported(e.instr, f"{name} of {f}")
    if narrow:
        op(e, f"cvt.rn.{f}.f32", to, to=r)


def _extreme(name: str) -> Any:
    """IEEE 754-2019 minimum and maximum of f64: a NaN wins, and -0 is below +0."""
    plain = bind("min.f64" if name == "minimum" else "max.f64")

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


def emit_class(e: Any, name: str) -> None:
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
