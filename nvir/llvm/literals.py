"""Constants of LLVM text: what an expression or an aggregate of a type may be."""

from __future__ import annotations

from typing import Any

from nvir.ir import Constant, Value, constant, nvvm_form
from nvir.ir import types as ty
from nvir.ir.verify.nvvm import CASTS, cast_problem, element, gep_problem


def expression_problem(
    spelling: str, operands: tuple[Value, ...], t: ty.Type, aux: Any
) -> str | None:
    """Why this is no constant expression of type `t`, or None."""
    row = spelling.split()[0]
    form = nvvm_form(spelling)
    if row == "getelementptr":
        if not operands or element(operands[0].type) is not element(t):
            return f"getelementptr gives no {t}"
        return gep_problem(aux, operands)
    if not form.pure or form.terminator or form.is_phi:
        return f"{row} is no constant expression"
    count = sum(o.role == "use" for o in form.op.operands)
    if len(operands) != count:
        return f"{row} takes {count} operand{'s' * (count > 1)}"
    if row in CASTS:
        return cast_problem(row, operands[0].type, t)
    if form.name not in ("select", "extractelement", "insertelement", "extractvalue",
                         "insertvalue", "shufflevector") and any(
        v.type is not operands[0].type for v in operands
    ):
        return f"the operands of {row} have different types"
    return None


def folded(spelling: str, operands: list[Value], t: ty.Type) -> Value | None:
    """The constant that an expression of numbers is, or None where it stays an expression."""
    form = nvvm_form(spelling)
    if form.name == "bitcast":
        bits = _pattern(operands[0])
        return None if bits is None else _of_pattern(t, bits)
    if not isinstance(t, ty.IntType) or form.op.fold is None:
        return None
    numbers = [_pattern(v) for v in operands if isinstance(v.type, ty.IntType)]
    if len(numbers) < len(operands) or None in numbers:
        return None
    more = (t.bits,) if form.name in CASTS else ()
    made = form.op.fold(form, operands[0].type.bits, *numbers, *more)
    return None if made is None else _of_pattern(t, made)


def _pattern(v: Value) -> int | None:
    """The bits of a number or of a vector of numbers, whose first lane is the lowest."""
    t = v.type
    if not isinstance(v, Constant) or not isinstance(element(t), ty.IntType | ty.FloatType):
        return None
    if not isinstance(t, ty.VectorType):
        return int(v.value or 0) & (1 << t.bits) - 1
    bits = 0
    for k, lane in enumerate(v.value or ()):
        one = _pattern(lane)
        if one is None:
            return None
        bits |= one << k * t.element.bits
    return bits


def _of_pattern(t: ty.Type, bits: int) -> Value | None:
    e = element(t)
    if not isinstance(e, ty.IntType | ty.FloatType):
        return None
    if isinstance(t, ty.VectorType):
        lanes = [_of_pattern(e, bits >> k * e.bits) for k in range(t.count)]
        return constant(t, tuple(lanes)) if bits else zero(t)
    bits &= (1 << e.bits) - 1
    negative = isinstance(e, ty.IntType) and e.bits > 1 and bits >> (e.bits - 1)
    return constant(t, bits - (1 << e.bits) if negative else bits)


def hexadecimal(token: str) -> int:
    """`u0xFF`; the highest bit that is set in `s0xFF` is the sign, as LLVM reads it."""
    value = int(token[3:], 16)
    return value - (1 << value.bit_length()) if token[0] == "s" and value else value


def zero(t: ty.Type) -> Value:
    """The zero of a type: number 0 for scalars, else None (`null`, `zeroinitializer`)."""
    return constant(t, 0 if isinstance(t, ty.IntType | ty.FloatType) else None)


def is_zero(v: Value) -> bool:
    value = getattr(v, "value", 1)
    return value is None or (value == 0 and value.__class__ is int)


def members(t: ty.Type) -> list[ty.Type] | None:
    """The types of the members that a constant of type `t` lists."""
    if isinstance(t, ty.ArrayType | ty.VectorType):
        return [t.element] * t.count
    return list(t.elements) if isinstance(t, ty.StructType) and t.elements is not None else None


def bracket_fits(t: ty.Type, opening: str) -> bool:
    return opening == ("{" if isinstance(t, ty.StructType) else "[" if isinstance(t, ty.ArrayType)
                       else "<")
