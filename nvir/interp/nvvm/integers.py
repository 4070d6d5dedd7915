"""Integers and pointers: arithmetic, comparisons, conversions.

A value of a width that no register has is extended by zeros; each operation that may spill above
its width masks its result. Beyond 64 bits Python's integers compute, by the rows' own folds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nvir.interp.layout import Array
from nvir.interp.nvvm.lower import (
    bits,
    expression,
    known,
    leaves,
    op,
    rename,
    scalar,
    wide_text,
    width,
)
from nvir.ir import PointerType, Type, Value
from nvir.ir.opcodes.evaluate import fold_integers

_M64 = (1 << 64) - 1
_PLAIN = {"add": "add.u", "sub": "sub.u", "mul": "mul.lo.u", "and": "and.b", "or": "or.b",
          "xor": "xor.b"}
_BOOLEAN = {"add": "xor", "sub": "xor", "mul": "and", "and": "and", "or": "or", "xor": "xor"}
_DIVIDE = {"udiv": "div.u", "urem": "rem.u", "sdiv": "div.s", "srem": "rem.s"}
_SAFE = frozenset(("and", "or", "xor", "udiv", "urem", "lshr"))  # stay within their width


def size(t: Type) -> int:
    """The bits of an integer or pointer."""
    return 64 if isinstance(t, PointerType) else t.bits


def signed(e: Any, a: Value, t: Type) -> Value:
    """Extended by its sign to the register's width."""
    n, w = size(t), width(t)
    if n == w != 1:
        return a
    if n == 1:
        return op(e, "selp.b16", bits(0xFFFF), bits(0), a)
    value = known(a)
    if value is not None:
        return bits(value - (1 << n) & (1 << w) - 1 if value >> (n - 1) else value)
    up = op(e, f"shl.b{w}", a, bits(w - n))
    return op(e, f"shr.s{w}", up, bits(w - n))


def masked(e: Any, spelling: str, t: Type, to: Value, *sources: Value) -> None:
    """An ori row, cut to the type's width."""
    n, w = size(t), width(t)
    if n == w:
        op(e, spelling, *sources, to=to)
    else:
        op(e, f"and.b{w}", op(e, spelling, *sources), bits((1 << n) - 1), to=to)


# ------------------------------------------------------------- beyond 64 bits


def to_objects(x: Array) -> Array:
    """Registers as Python integers, without sign."""
    if x.ndim == 2:
        return np.asarray(x[:, 0].astype(object) + (x[:, 1].astype(object) << 64))
    return x.astype(object)


def from_objects(x: Array, n: int) -> Array:
    """Python integers as registers of n bits."""
    if n == 1:
        return np.array([bool(v & 1) for v in x])
    if n > 64:
        cut = [v & ((1 << n) - 1) for v in x]
        return np.array([[v & _M64, v >> 64] for v in cut], np.uint64)
    kind = np.dtype(f"u{width_of(n) // 8}")
    return np.array([v & ((1 << n) - 1) for v in x], kind)


def width_of(n: int) -> int:
    return next(w for w in (16, 32, 64, 128) if n <= w)


def by_python(function: Any, n: int) -> Any:
    """A lane function of registers from one of Python integers (None, that is poison, is 0)."""

    def compute(*sources: Array) -> Array:
        m = max(len(x) for x in sources)
        wide = [np.broadcast_to(to_objects(x), (m,)) for x in sources]
        out = np.empty(m, object)
        for k in range(m):
            value = function(*(int(x[k]) for x in wide))
            out[k] = 0 if value is None else int(value)
        return from_objects(out, n)

    return compute


def wide(e: Any, function: Any, to: Value, *sources: tuple[Value, Type]) -> None:
    """Compute one leaf by a function of Python integers."""
    f = e.bind(by_python(function, size(to.type)))
    expression(e, to, f"{f}({', '.join(wide_text(e, v, t) for v, t in sources)})")


def _fold(e: Any, result: int = 0) -> Any:
    """The row's own fold over patterns, without regard to flags that make poison."""
    form = e.instr.form
    n = size(scalar(e.instr.operands[0].type))
    return lambda *a: fold_integers(form, n, a, result, poison=False)


# -------------------------------------------------------------------- the rows


def elements(e: Any) -> list[tuple[Value, ...]]:
    """(result, source, source …) for each element of a vector operation; a scalar has one."""
    i = e.instr
    columns = [leaves(e, v) for v in (i, *i.operands)]
    return list(zip(*columns, strict=True))


def scalar_rows(e: Any) -> list[tuple[Value, ...]]:
    """(result, sources of that element); arguments that are no vectors are left out."""
    i = e.instr
    same = [v for v in i.operands if v.type is i.type or v.type is i.operands[0].type]
    columns = [leaves(e, v) for v in (i, *same)]
    return list(zip(*columns, strict=True))


def elements_of(e: Any, count: int) -> list[tuple[Value, ...]]:
    i = e.instr
    columns = [leaves(e, v) for v in (i, *i.operands[:count])]
    return list(zip(*columns, strict=True))


def emit_arithmetic(e: Any) -> None:
    t, name = scalar(e.instr.type), e.instr.form.name
    for r, a, b in elements(e):
        arithmetic(e, name, t, r, a, b)


def arithmetic(e: Any, name: str, t: Type, r: Value, a: Value, b: Value) -> None:
    """One element of add, sub, mul, and, or, xor, a division or a shift."""
    n, w = size(t), width(t)
    if w == 128:
        wide(e, _fold(e), r, (a, t), (b, t))
    elif n == 1:
        _boolean(e, name, r, a, b)
    elif name in _PLAIN:
        spelling = f"{_PLAIN[name]}{w}"
        op(e, spelling, a, b, to=r) if name in _SAFE else masked(e, spelling, t, r, a, b)
    elif name in _DIVIDE:
        if name[0] == "s":
            a, b = signed(e, a, t), signed(e, b, t)
        masked(e, f"{_DIVIDE[name]}{w}", t, r, a, b)
    else:
        _shift(e, name, t, r, a, b)


def _boolean(e: Any, name: str, r: Value, a: Value, b: Value) -> None:
    if name in _BOOLEAN:
        op(e, f"{_BOOLEAN[name]}.pred", a, b, to=r)
    elif name in ("urem", "srem"):
        rename(e, r, bits(0))
    else:  # division by 1, shifts by 0: all else is undefined
        rename(e, r, a)


def _shift(e: Any, name: str, t: Type, r: Value, a: Value, b: Value) -> None:
    w = width(t)
    amount = known(b)
    if amount is not None:
        b = bits(min(amount, w))
    else:
        clamped = op(e, f"min.u{w}", b, bits(w))
        b = clamped if w == 32 else op(e, f"cvt.u32.u{w}", clamped)
    if name == "shl":
        masked(e, f"shl.b{w}", t, r, a, b)
    elif name == "lshr":
        op(e, f"shr.u{w}", a, b, to=r)
    else:
        masked(e, f"shr.s{w}", t, r, signed(e, a, t), b)


def emit_icmp(e: Any) -> None:
    i = e.instr
    predicate = next(m for m in i.form.mods if m != "samesign")
    t = scalar(i.operands[0].type)
    for r, a, b in elements(e):
        compare(e, predicate, t, r, a, b)


def compare(e: Any, predicate: str, t: Type, r: Value, a: Value, b: Value) -> None:
    """One element of an integer comparison."""
    w = width(t)
    if w == 128:
        wide(e, _fold(e), r, (a, t), (b, t))
        return
    order = predicate[-2:]
    kind = predicate[0] if len(predicate) == 3 else "b"
    if w == 1:
        low = bits(0xFFFF if kind == "s" else 1)
        a, b = (op(e, "selp.b16", low, bits(0), x) for x in (a, b))
        w = 16
    elif kind == "s":
        a, b = signed(e, a, t), signed(e, b, t)
    op(e, f"setp.{order}.{kind}{w}", a, b, to=r)


def emit_trunc(e: Any) -> None:
    of, to = scalar(e.instr.operands[0].type), scalar(e.instr.type)
    for r, a in elements(e):
        if size(of) > 64:
            wide(e, _fold(e, size(to)), r, (a, of))
        else:
            cut(e, of, to, r, a)


def cut(e: Any, of: Type, to: Type, r: Value, a: Value) -> None:
    """The low bits, of registers up to 64 bits."""
    n, w, source = size(to), width(to), width(of)
    if n == 1:
        if source == 1:
            rename(e, r, a)
            return
        op(e, f"setp.ne.b{source}", op(e, f"and.b{source}", a, bits(1)), bits(0), to=r)
    elif w == source:
        op(e, f"and.b{w}", a, bits((1 << n) - 1), to=r)
    else:
        masked(e, f"cvt.u{w}.u{source}", to, r, a)


def emit_extend(e: Any) -> None:
    of, to = scalar(e.instr.operands[0].type), scalar(e.instr.type)
    for r, a in elements(e):
        if size(to) > 64:
            wide(e, _fold(e, size(to)), r, (a, of))
        else:
            extend(e, e.instr.form.name == "sext", of, to, r, a)


def extend(e: Any, sign: bool, of: Type, to: Type, r: Value, a: Value) -> None:
    """More bits, zeros or signs."""
    w, source = width(to), width(of)
    if source == 1:
        ones = (1 << size(to)) - 1 if sign else 1
        op(e, f"selp.b{w}", bits(ones), bits(0), a, to=r)
        return
    if sign:
        a = signed(e, a, of)
    kind = "s" if sign else "u"
    if w == source:
        masked(e, f"mov.b{w}", to, r, a)
    else:
        masked(e, f"cvt.{kind}{w}.{kind}{source}", to, r, a)


def emit_pointer_cast(e: Any) -> None:
    """ptrtoint, inttoptr: pointers are unsigned numbers of 64 bits."""
    of, to = scalar(e.instr.operands[0].type), scalar(e.instr.type)
    n, m = size(of), size(to)
    for r, a in elements(e):
        if n == m:
            rename(e, r, a)
        elif max(n, m) > 64:
            wide(e, lambda x: x, r, (a, of))
        elif m < n:
            cut(e, of, to, r, a)
        else:
            extend(e, False, of, to, r, a)


EMITTERS = {
    **dict.fromkeys(
        ("add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or",
         "xor"), emit_arithmetic,
    ),
    "icmp": emit_icmp, "trunc": emit_trunc, "zext": emit_extend, "sext": emit_extend,
    "ptrtoint": emit_pointer_cast, "inttoptr": emit_pointer_cast,
}
__all__ = ["EMITTERS", "arithmetic", "compare", "cut", "extend", "masked", "signed"]
