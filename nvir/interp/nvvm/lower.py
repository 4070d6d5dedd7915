"""Saying what an instruction of `nvvm` does by rows of ori over its leaves.

    t = op(e, "add.u16", a, b)           a new Temp
    op(e, "and.b16", t, bits(0xFF), to=r)   into a leaf of the result

`expression` defines a leaf by a piece of Python instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nvir.interp.leaves import Temp, View, real
from nvir.ir import Constant, Form, Value, form, integer
from nvir.ir.types import SCALARS, FloatType, PointerType, Type, VectorType

FLOATS = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}
bits = integer  # a literal of whatever width the row wants


def width(t: Type) -> int:
    """The bits of the register that holds a scalar: 1, 16, 32, 64 or 128."""
    n = 64 if isinstance(t, PointerType) else t.bits
    return 1 if n == 1 else next(w for w in (16, 32, 64, 128) if n <= w)


def scalar(t: Type) -> Type:
    """The type of an operation's elements."""
    return t.element if isinstance(t, VectorType) else t


def ptx_float(t: Type) -> str:
    """The PTX name of a floating type; Unsupported for fp128 is the caller's to say."""
    return FLOATS.get(t.name, "")


def plain(t: Type) -> str:
    """The untyped PTX name of a scalar's register."""
    w = width(t)
    return "pred" if w == 1 else f"b{w}"


def ori_form(spelling: str, results: int, sources: int) -> Form:
    """The form of an ori row with operands in a row."""
    return form(spelling, ", ".join(["%s"] * (results + sources)))


def run(e: Any, view: View) -> None:
    """Write what an ori row does."""
    from nvir.interp.ori_level import ori

    saved, e.instr = e.instr, view
    try:
        ori().emit(e, view)
    finally:
        e.instr = saved


def op(e: Any, spelling: str, *sources: Value, to: Value | None = None, shape: str = "") -> Value:
    """The single result of an ori row: `to`, or a new Temp of the row's type."""
    f = form(spelling, shape) if shape else ori_form(spelling, 1, len(sources))
    result = Temp(f.result_types[0]) if to is None else to
    run(e, View(f, sources, (result,), real(e.instr)))
    return result


def several(
    e: Any, spelling: str, shape: str, sources: Sequence[Value], results: Sequence[Value]
) -> None:
    """An ori row with any number of results."""
    run(e, View(form(spelling, shape), sources, results, real(e.instr)))


def expression(e: Any, to: Value, text: str) -> Value:
    """Define a scalar by a Python expression over vectors."""
    name = f"x{e.plan.slot(to)}"
    e.line(f"{name} = {text}")
    e.define(to, name)
    return to


def text(e: Any, v: Value) -> str:
    """A scalar as a Python expression."""
    return str(e.value(v, plain(v.type)))


def wide_text(e: Any, v: Value, t: Type) -> str:
    """The same where a literal has to be told its type."""
    return str(e.value(v, plain(t)))


def rename(e: Any, to: Value, of: Value) -> None:
    """Let a scalar be another one."""
    e.define(to, wide_text(e, of, to.type))


def leaves(e: Any, v: Value) -> tuple[Value, ...]:
    found: tuple[Value, ...] = e.plan.leaves(v)
    return found


def temp(name: str) -> Temp:
    return Temp(SCALARS[name])


def known(v: Value) -> int | None:
    """The bits of a literal."""
    return int(v.value) if isinstance(v, Constant) else None


def is_float(t: Type) -> bool:
    return isinstance(t, FloatType)
