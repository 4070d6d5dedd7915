"""Constant expressions: the value of a typed expression, where the compiler may know it.

    evaluate(e)    an int or a float, or None where it is not constant

Integers wrap to their type, as device code does; division by zero and shifts beyond the width
have no value. Floats are rounded to their type after each operation.

Source   C11 6.6.
"""

from __future__ import annotations

import math
import struct
from weakref import WeakKeyDictionary

from nvir.frontend import tree

Number = int | float


def evaluate(e: tree.Expr | None) -> Number | None:
    """The value of a constant expression, in the range of its type."""
    if isinstance(e, tree.IntLiteral | tree.FloatLiteral):
        return fit(e.value, e.type)
    if isinstance(e, tree.NullPointer):
        return 0
    if isinstance(e, tree.SizeOf):
        return _size(e)
    if isinstance(e, tree.Name):
        return _name(e)
    if isinstance(e, tree.Unary):
        return _unary(e)
    if isinstance(e, tree.Binary):
        return _binary(e)
    if isinstance(e, tree.Conditional):
        c = evaluate(e.cond)
        return None if c is None else evaluate(e.then if c else e.other)
    if isinstance(e, tree.Cast):
        v = evaluate(e.operand)
        return None if v is None else fit(v, e.type)
    if isinstance(e, tree.InitList) and len(e.items) <= 1 and e.type is not None:
        scalar = isinstance(tree.underlying(e.type), tree.Arithmetic)
        return (evaluate(e.items[0]) if e.items else 0) if scalar else None
    return None


def _size(e: tree.SizeOf) -> int | None:
    of = e.of_type or (e.of_expr.type if e.of_expr is not None else None)
    try:
        return None if of is None else (tree.align_of(of) if e.align else tree.size_of(of))
    except tree.LayoutError:
        return None


def _name(e: tree.Name) -> Number | None:
    d = e.decl
    if isinstance(d, tree.Enumerator):
        return d.value
    if isinstance(d, tree.Variable) and d.init is not None and e.type is not None:
        const, volatile, _ = tree.qualifiers(d.type)
        if const and not volatile and isinstance(tree.underlying(d.type), tree.Arithmetic):
            return _initial(d.init)
    return None


_known: WeakKeyDictionary[tree.Expr, Number | None] = WeakKeyDictionary()


def _initial(init: tree.Expr) -> Number | None:
    """The initial value of a constant, worked out once; None of one that names itself."""
    if init not in _known:
        _known[init] = None
        try:
            _known[init] = evaluate(init)
        finally:
            if _known[init] is None:  # until its types are known
                del _known[init]
    return _known.get(init)


def _unary(e: tree.Unary) -> Number | None:
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


def _binary(e: tree.Binary) -> Number | None:
    a = evaluate(e.left)
    if e.op == "," or a is None:
        return None
    if e.op in ("&&", "||"):
        if bool(a) == (e.op == "||"):
            return int(bool(a))
        b = evaluate(e.right)
        return None if b is None else int(bool(b))
    b = evaluate(e.right)
    if b is None or isinstance(
        tree.strip(e.left.type or tree.Pointer(e.type or _ANY)), tree.Pointer
    ):
        return None
    if e.op in _COMPARE:
        return int(_COMPARE[e.op](a, b))
    if isinstance(a, float) or isinstance(b, float):
        return _float_binary(e, float(a), float(b))
    return _int_binary(e, a, b)


_ANY = tree.Arithmetic("int", "int", 32, True, 3)
_COMPARE = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
}


def _float_binary(e: tree.Binary, a: float, b: float) -> float | None:
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


def _float(v: float, t: tree.CType | None) -> float | None:
    made = fit(v, t)
    return float(made) if made is not None else None


def _int_binary(e: tree.Binary, a: int, b: int) -> int | None:
    t = tree.underlying(e.type) if e.type is not None else _ANY
    bits = t.bits if isinstance(t, tree.Arithmetic) else 64
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


def fit(v: Number, t: tree.CType | None) -> Number | None:
    """A number as a value of a type: wrapped, truncated or rounded; None where C has no value."""
    s = tree.underlying(t) if t is not None else None
    if isinstance(s, tree.Pointer):
        return int(v) & (1 << 64) - 1
    if not isinstance(s, tree.Arithmetic):
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


def round_to(v: float, t: tree.Arithmetic) -> float:
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
