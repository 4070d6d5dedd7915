"""Constant expressions: the value of a typed expression, where the compiler may know it.

    evaluate(e)    an int or a float, or None where it is not constant

Integers wrap to their type, as device code does; division by zero and shifts beyond the width
have no value. Floats are rounded to their type after each operation.

Source   C11 6.6.
"""

from __future__ import annotations

import math
import struct

from nvir.frontend.tree.declarations import Enumerator, Variable
from nvir.frontend.tree.expressions import (
    Binary,
    Cast,
    Conditional,
    Expr,
    FloatLiteral,
    InitList,
    IntLiteral,
    Name,
    NullPointer,
    SizeOf,
    Unary,
)
from nvir.frontend.tree.layout import LayoutError, align_of, size_of
from nvir.frontend.tree.types import Arithmetic, CType, Pointer, qualifiers, strip, underlying

Number = int | float


def evaluate(e: Expr | None) -> Number | None:
    """The value of a constant expression, in the range of its type."""
    if isinstance(e, IntLiteral | FloatLiteral):
        return fit(e.value, e.type)
    if isinstance(e, NullPointer):
        return 0
    if isinstance(e, SizeOf):
        return _size(e)
    if isinstance(e, Name):
        return _name(e)
    if isinstance(e, Unary):
        return _unary(e)
    if isinstance(e, Binary):
        return _binary(e)
    if isinstance(e, Conditional):
        c = evaluate(e.cond)
        return None if c is None else evaluate(e.then if c else e.other)
    if isinstance(e, Cast):
        v = evaluate(e.operand)
        return None if v is None else fit(v, e.type)
    if isinstance(e, InitList) and len(e.items) <= 1 and e.type is not None:
        scalar = isinstance(underlying(e.type), Arithmetic)
        return (evaluate(e.items[0]) if e.items else 0) if scalar else None
    return None


def _size(e: SizeOf) -> int | None:
    of = e.of_type or (e.of_expr.type if e.of_expr is not None else None)
    try:
        return None if of is None else (align_of(of) if e.align else size_of(of))
    except LayoutError:
        return None


def _name(e: Name) -> Number | None:
    d = e.decl
    if isinstance(d, Enumerator):
        return d.value
    if isinstance(d, Variable) and d.init is not None and e.type is not None:
        const, volatile, _ = qualifiers(d.type)
        if const and not volatile and isinstance(underlying(d.type), Arithmetic):
            return evaluate(d.init)
    return None


def _unary(e: Unary) -> Number | None:
    v = evaluate(e.operand)
    if v is None:
        return None
    if e.op == "!":
        return int(not v)
    if e.op == "~" and isinstance(v, int):
        return fit(~v, e.type)
    if e.op in "+-":
        return fit(v if e.op == "+" else -v, e.type)
    return None


def _binary(e: Binary) -> Number | None:
    a = evaluate(e.left)
    if e.op == "," or a is None:
        return None
    if e.op in ("&&", "||"):
        if bool(a) == (e.op == "||"):
            return int(bool(a))
        b = evaluate(e.right)
        return None if b is None else int(bool(b))
    b = evaluate(e.right)
    if b is None or isinstance(strip(e.left.type or Pointer(e.type or _ANY)), Pointer):
        return None
    if e.op in _COMPARE:
        return int(_COMPARE[e.op](a, b))
    if isinstance(a, float) or isinstance(b, float):
        return _float_binary(e, float(a), float(b))
    return _int_binary(e, a, b)


_ANY = Arithmetic("int", "int", 32, True, 3)
_COMPARE = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
}


def _float_binary(e: Binary, a: float, b: float) -> float | None:
    try:
        if e.op == "+":
            return _float(a + b, e.type)
        if e.op == "-":
            return _float(a - b, e.type)
        if e.op == "*":
            return _float(a * b, e.type)
        if e.op == "/" and b != 0:
            return _float(a / b, e.type)
    except OverflowError:
        pass
    return None


def _float(v: float, t: CType | None) -> float | None:
    made = fit(v, t)
    return float(made) if made is not None else None


def _int_binary(e: Binary, a: int, b: int) -> int | None:
    t = underlying(e.type) if e.type is not None else _ANY
    bits = t.bits if isinstance(t, Arithmetic) else 64
    if e.op in ("/", "%"):
        if b == 0:
            return None
        q = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        r = q if e.op == "/" else a - q * b
    elif e.op in ("<<", ">>"):
        if not 0 <= b < bits:
            return None
        r = a << b if e.op == "<<" else a >> b
    else:
        r = {"+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b}[e.op]
    made = fit(r, e.type)
    return int(made) if made is not None else None


def fit(v: Number, t: CType | None) -> Number | None:
    """A number as a value of a type: wrapped, truncated or rounded; None where C has no value."""
    s = underlying(t) if t is not None else None
    if isinstance(s, Pointer):
        return int(v) & (1 << 64) - 1
    if not isinstance(s, Arithmetic):
        return v if s is None else None
    if s.kind == "bool":
        return int(v != 0)
    if s.kind == "float":
        return round_to(float(v) if abs(v) < 1 << 1023 or isinstance(v, float) else math.inf, s)
    if isinstance(v, float):
        if not math.isfinite(v):
            return None
        v = int(v)
        low = -(1 << s.bits - 1) if s.signed else 0
        return v if low <= v < low + (1 << s.bits) else None
    v &= (1 << s.bits) - 1
    return v - (1 << s.bits) if s.signed and v >> s.bits - 1 else v


def round_to(v: float, t: Arithmetic) -> float:
    """A number rounded to a floating type, to nearest even."""
    if t.bits == 64 or not math.isfinite(v):
        return v
    if t.bits == 32:
        try:
            return float(struct.unpack("<f", struct.pack("<f", v))[0])
        except OverflowError:
            return math.copysign(math.inf, v)
    if t.name == "_Float16":
        try:
            return float(struct.unpack("<e", struct.pack("<e", v))[0])
        except OverflowError:
            return math.copysign(math.inf, v)
    # bfloat16: 8 bits of precision, the exponents of float; rounded once, from double
    m, exp = math.frexp(v)
    lowest = max(exp, -125)  # subnormals share the least exponent
    unit = math.ldexp(1.0, lowest - 8)
    r = round(v / unit) * unit if m else v
    return r if abs(r) < math.ldexp(1.0, 128) else math.copysign(math.inf, v)
