"""Floating point: arithmetic, comparisons, conversions; half and bfloat included.

Results are those of PTX's rows in rn, without .ftz: half and bfloat divide in f32, which rounding
twice does not change (24 bits are more than twice theirs and two). Fast-math flags change nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nvir.interp.layout import Array
from nvir.interp.meaning import bind
from nvir.interp.nvvm.integers import elements, masked, signed, size, to_objects
from nvir.interp.nvvm.lower import (
    bits,
    expression,
    op,
    ptx_float,
    rename,
    scalar,
    wide_text,
    width,
)
from nvir.interp.rows import unsupported
from nvir.ir import Type, Value

_ARITHMETIC = {"fadd": "add.rn.", "fsub": "sub.rn.", "fmul": "mul.rn."}
_COMPARE = {
    "oeq": "eq", "one": "ne", "olt": "lt", "ole": "le", "ogt": "gt", "oge": "ge", "ord": "num",
    "ueq": "equ", "une": "neu", "ult": "ltu", "ule": "leu", "ugt": "gtu", "uge": "geu",
    "uno": "nan",
}


def name_of(e: Any, t: Type) -> str:
    """The PTX type of a floating scalar; raises Unsupported for fp128."""
    name = ptx_float(t)
    if not name:
        raise unsupported(e.instr, f"arithmetic on {t}")
    return name


def emit_arithmetic(e: Any) -> None:
    row = e.instr.form.name
    name = name_of(e, scalar(e.instr.type))
    for r, a, b in elements(e):
        arithmetic(e, row, name, r, a, b)


def arithmetic(e: Any, row: str, name: str, r: Value, a: Value, b: Value) -> None:
    """One element of fadd, fsub, fmul, fdiv or frem, in the PTX type `name`."""
    if row in _ARITHMETIC:
        op(e, f"{_ARITHMETIC[row]}{name}", a, b, to=r)
    elif row == "frem":
        f = e.bind(_remainder(name))
        expression(e, r, f"{f}({e.value(a, bits_of(name))}, {e.value(b, bits_of(name))})")
    elif name in ("f32", "f64"):
        op(e, f"div.rn.{name}", a, b, to=r)
    else:
        x, y = (op(e, f"cvt.f32.{name}", v) for v in (a, b))
        op(e, f"cvt.rn.{name}.f32", op(e, "div.rn.f32", x, y), to=r)


def bits_of(name: str) -> str:
    """The untyped name of a PTX float's register."""
    return {"f32": "b32", "f64": "b64"}.get(name, "b16")


def _remainder(name: str) -> Any:
    if name == "f64":
        return lambda a, b: np.fmod(a.view("f8"), b.view("f8")).view("u8")
    widen, narrow = bind(f"cvt.f64.{name}"), bind(f"cvt.rn.{name}.f64")

    def compute(a: Array, b: Array) -> Any:
        # exact in f64, and a remainder has no more digits than its operands
        return narrow(np.fmod(widen(a).view("f8"), widen(b).view("f8")).view("u8"))

    return compute


def emit_fneg(e: Any) -> None:
    t = scalar(e.instr.type)
    if width(t) == 128:
        raise unsupported(e.instr, f"arithmetic on {t}")
    for r, a in elements(e):
        op(e, f"xor.b{width(t)}", a, bits(1 << (t.bits - 1)), to=r)


def emit_fcmp(e: Any) -> None:
    i = e.instr
    predicate = next((m for m in i.form.mods if m in _COMPARE or m in ("true", "false")), "")
    t = name_of(e, scalar(i.operands[0].type))
    for r, a, b in elements(e):
        if predicate in _COMPARE:
            op(e, f"setp.{_COMPARE[predicate]}.{t}", a, b, to=r)
        else:
            rename(e, r, bits(int(predicate == "true")))


def emit_resize(e: Any) -> None:
    """fptrunc, fpext."""
    of = name_of(e, scalar(e.instr.operands[0].type))
    to = name_of(e, scalar(e.instr.type))
    rn = ".rn" if e.instr.form.name == "fptrunc" else ""
    for r, a in elements(e):
        op(e, f"cvt{rn}.{to}.{of}", a, to=r)


def emit_to_integer(e: Any) -> None:
    of, t = name_of(e, scalar(e.instr.operands[0].type)), scalar(e.instr.type)
    kind = "s" if e.instr.form.name == "fptosi" else "u"
    for r, a in elements(e):
        if size(t) > 64:
            x = a if of == "f64" else op(e, f"cvt.f64.{of}", a)
            expression(e, r, f"{e.bind(_to_wide)}({e.value(x, 'b64')}, {size(t)})")
        elif size(t) == 1:
            x = op(e, f"cvt.rzi.{kind}16.{of}", a)
            op(e, "setp.ne.b16", op(e, "and.b16", x, bits(1)), bits(0), to=r)
        else:
            masked(e, f"cvt.rzi.{kind}{width(t)}.{of}", t, r, a)


def _to_wide(x: Array, n: int) -> Array:
    from nvir.interp.nvvm.integers import from_objects

    values = [int(v) if np.isfinite(v) else 0 for v in x.view(np.float64).tolist()]
    out = np.empty(len(values), object)
    out[:] = values
    return from_objects(out, n)


def emit_from_integer(e: Any) -> None:
    t, to = scalar(e.instr.operands[0].type), name_of(e, scalar(e.instr.type))
    kind = "s" if e.instr.form.name == "sitofp" else "u"
    for r, a in elements(e):
        if size(t) > 64:
            f = e.bind(_from_wide(size(t), kind == "s", to))
            expression(e, r, f"{f}({wide_text(e, a, t)})")
            continue
        if kind == "s":
            a = signed(e, a, t)
        elif size(t) == 1:
            a = op(e, "selp.b16", bits(1), bits(0), a)
        op(e, f"cvt.rn.{to}.{kind}{max(width(t), 16)}", a, to=r)


def _from_wide(n: int, sign: bool, to: str) -> Any:
    """To float from more than 64 bits, rounded once: what is cut off only says that it was."""
    narrow = bind(f"cvt.rn.{to}.f64")

    def compute(x: Array) -> Any:
        out = np.empty(len(x), np.float64)
        for k, v in enumerate(to_objects(x)):
            value = v - (1 << n) if sign and v >> (n - 1) else v
            shift = max(abs(value).bit_length() - 53, 0)
            head = abs(value) >> shift
            if to != "f64" and head << shift != abs(value):
                head |= 1  # rounded to odd, so that the second rounding is the only one
            exact = float(value) if to == "f64" else float(head << shift)
            out[k] = exact if to == "f64" or value >= 0 else -exact
        raw = out.view(np.uint64)
        return raw if to == "f64" else narrow(raw)

    return compute


EMITTERS = {
    **dict.fromkeys(("fadd", "fsub", "fmul", "fdiv", "frem"), emit_arithmetic),
    "fneg": emit_fneg, "fcmp": emit_fcmp, "fptrunc": emit_resize, "fpext": emit_resize,
    **dict.fromkeys(("fptoui", "fptosi"), emit_to_integer),
    **dict.fromkeys(("uitofp", "sitofp"), emit_from_integer),
}
