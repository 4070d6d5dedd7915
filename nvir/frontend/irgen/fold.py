"""Casts and operations that fold: a constant gives a constant, anything else an instruction.

The notes' rule of the value kinds: what is a constant goes to the constant folder, what is not
becomes an instruction. The folds are those of the opcode rows, and exact arithmetic on floats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.frontend.check.evaluate import round_to
from nvir.frontend.tree.types import BFLOAT16, DOUBLE, FLOAT, HALF
from nvir.ir import Constant, Symbol, Value, constant, nvvm_form
from nvir.ir.nvvm import const
from nvir.ir.nvvm_values import ConstantExpr
from nvir.ir.types import FloatType, IntType, PointerType, Type

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState

_CTYPES = {"half": HALF, "bfloat": BFLOAT16, "float": FLOAT, "double": DOUBLE}


def float_value(c: Constant) -> float | None:
    """The number that a floating constant's bit pattern stands for."""
    import struct

    bits, name = int(c.value), c.type.name
    if name == "bfloat":
        bits, name = bits << 16, "float"
    code = {"half": ("<e", "<H"), "float": ("<f", "<I"), "double": ("<d", "<Q")}.get(name)
    if code is None:
        return None
    return float(struct.unpack(code[0], struct.pack(code[1], bits))[0])


def cast(g: IRGenState, row: str, v: Value, to: Type, name: str = "") -> Value:
    """LLVM's conversion `row` of a value, folded where the value is a constant."""
    if v.type is to and row != "addrspacecast":
        return v
    folded = fold_cast(row, v, to)
    return g.builder.insert(row, (v,), to, name) if folded is None else folded


def fold_cast(row: str, v: Value, to: Type) -> Value | None:
    if isinstance(v, Symbol | ConstantExpr) and row in ("addrspacecast", "ptrtoint", "bitcast"):
        return ConstantExpr(row, (v,), to)
    if not isinstance(v, Constant):
        return None
    if v.value is None and isinstance(to, PointerType):
        return constant(to, None)
    if row == "bitcast":
        return _bit_cast(v, to)
    if isinstance(v.type, IntType) and isinstance(to, IntType):
        return _int_cast(row, v, to)
    if isinstance(v.type, IntType) and isinstance(to, FloatType):
        n = int(v.value) if row == "sitofp" and v.type.bits > 1 else _unsigned(v)
        return const(to, round_to(float(n), _CTYPES[to.name])) if abs(n) < 1 << 53 else None
    if isinstance(v.type, FloatType) and isinstance(to, FloatType):
        x = float_value(v)
        return None if x is None or x != x else const(to, round_to(x, _CTYPES[to.name]))
    if isinstance(v.type, FloatType) and isinstance(to, IntType):
        return _float_to_int(row, v, to)
    if row == "inttoptr" and v.value == 0:
        return constant(to, None)
    return None


def _bit_cast(v: Constant, to: Type) -> Value | None:
    """The same bits in another type; a floating constant holds its own."""
    if not isinstance(v.value, int) or not isinstance(v.type, IntType | FloatType):
        return None
    if isinstance(to, IntType):
        return const(to, _unsigned(v))
    return constant(to, _unsigned(v)) if isinstance(to, FloatType) else None


def _unsigned(c: Constant) -> int:
    return int(c.value) & ((1 << c.type.bits) - 1)


def _int_cast(row: str, v: Constant, to: IntType) -> Value | None:
    fold = nvvm_form(row).op.fold
    made = fold(nvvm_form(row), v.type.bits, _unsigned(v), to.bits) if fold else None
    return None if made is None else const(to, made)


def _float_to_int(row: str, v: Constant, to: IntType) -> Value | None:
    x = float_value(v)
    if x is None or x != x or abs(x) > 1e18:
        return None
    low = -(1 << to.bits - 1) if row == "fptosi" else 0
    return const(to, int(x)) if low <= int(x) < low + (1 << to.bits) else None


def binary(g: IRGenState, spelling: str, a: Value, b: Value, name: str = "") -> Value:
    """An operation of two operands of one type ("add nsw"), folded on integer constants."""
    if isinstance(a, Constant) and isinstance(b, Constant) and isinstance(a.type, IntType):
        form = nvvm_form(spelling)
        fold = form.op.fold
        made = fold(form, a.type.bits, _unsigned(a), _unsigned(b)) if fold else None
        if made is not None:
            return const(a.type, int(made))
    return g.builder.insert(spelling, (a, b), a.type, name)
