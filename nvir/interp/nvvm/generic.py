"""The rules of intrinsics that are no single row of ori: any width, blocks of memory, hints.

`RULES[rule](e, *words)` writes a call by the rule that the table names; SPECIALS are objects that
look beyond their group. Vectors work by element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nvir.interp.layout import Array
from nvir.interp.leaves import View
from nvir.interp.nvvm import floats, maths, memory
from nvir.interp.nvvm.integers import (
    arithmetic,
    by_python,
    elements,
    elements_of,
    masked,
    scalar_rows,
    signed,
    size,
)
from nvir.interp.nvvm.lower import (
    bits,
    expression,
    leaves,
    op,
    ptx_float,
    rename,
    scalar,
    temp,
    wide_text,
    width,
)
from nvir.interp.nvvm.pieces import cast
from nvir.interp.rows import unsupported
from nvir.interp.rows.atoms import Atomic
from nvir.interp.rows.barriers import CtaBarrier
from nvir.ir import IntType, Type, Value, form
from nvir.ir.layout import align_of, size_of

# ---------------------------------------------------------------- integers


def _word(e: Any) -> str:
    """smin of llvm.smin.i32: the intrinsic's own name."""
    return str(e.instr.aux.callee.name).split(".")[1]


def _minmax(e: Any) -> None:
    name = _word(e)
    t = scalar(e.instr.type)
    kind = "s" if name[0] == "s" else "u"
    for r, a, b in scalar_rows(e):
        if size(t) > 64 or size(t) == 1:
            _python(e, _PYTHON[name](size(t)), r, t, a, b)
            continue
        if kind == "s":
            a, b = signed(e, a, t), signed(e, b, t)
        masked(e, f"{name[1:]}.{kind}{width(t)}", t, r, a, b)


def _python(e: Any, function: Any, r: Value, t: Type, *sources: Value) -> None:
    f = e.bind(by_python(function, size(r.type)))
    expression(e, r, f"{f}({', '.join(wide_text(e, v, t) for v in sources)})")


def _s(x: int, n: int) -> int:
    return x - (1 << n) if x >> (n - 1) & 1 else x


def _clamp(x: int, low: int, high: int) -> int:
    return min(max(x, low), high)


def _saturating(sign: bool, f: Callable[[int, int], int]) -> Callable[[int], Any]:
    def of(n: int) -> Any:
        if sign:
            return lambda a, b: _clamp(f(_s(a, n), _s(b, n)), -(1 << n - 1), (1 << n - 1) - 1)
        return lambda a, b: _clamp(f(a, b), 0, (1 << n) - 1)

    return of


def _shl_saturating(sign: bool) -> Callable[[int], Any]:
    def of(n: int) -> Any:
        shift = _saturating(sign, lambda a, by: a << by)(n)
        return lambda a, b: shift(a, min(b, n - 1)) if a else 0

    return of


_PYTHON: dict[str, Callable[[int], Any]] = {
    "smin": lambda n: lambda a, b: min(a, b, key=lambda x: _s(x, n)),
    "smax": lambda n: lambda a, b: max(a, b, key=lambda x: _s(x, n)),
    "umin": lambda n: lambda a, b: min(a, b),
    "umax": lambda n: lambda a, b: max(a, b),
    "sadd": _saturating(True, lambda a, b: a + b),
    "uadd": _saturating(False, lambda a, b: a + b),
    "ssub": _saturating(True, lambda a, b: a - b),
    "usub": _saturating(False, lambda a, b: a - b),
    "sshl": _shl_saturating(True),
    "ushl": _shl_saturating(False),
    "ctpop": lambda n: lambda a: a.bit_count(),
    "ctlz": lambda n: lambda a: n - a.bit_length(),
    "cttz": lambda n: lambda a: (a & -a).bit_length() - 1 if a else n,
    "bitreverse": lambda n: lambda a: int(f"{a:0{n}b}"[::-1], 2),
    "bswap": lambda n: lambda a: int.from_bytes(a.to_bytes(n // 8, "little"), "big"),
    "abs": lambda n: lambda a: abs(_s(a, n)),
}


def _by_python(e: Any) -> None:
    name = _word(e)
    t = scalar(e.instr.type)
    for r, *sources in scalar_rows(e):
        _python(e, _PYTHON[name](size(t)), r, t, *sources)


def _count(e: Any) -> None:
    """ctpop, ctlz, cttz, bitreverse, abs, bswap in registers; beyond 64 bits by Python."""
    name, t = _word(e), scalar(e.instr.type)
    n, w = size(t), width(t)
    for r, a, *_ in scalar_rows(e):  # a flag behind says what is poison
        if w not in (16, 32, 64):
            _python(e, _PYTHON[name](n), r, t, a)
        elif name == "abs":
            masked(e, f"abs.s{w}", t, r, signed(e, a, t))
        elif name == "bswap":
            full = f"{e.value(a, f'b{w}')}.byteswap()"
            expression(e, r, full if n == w else f"({full} >> {e.constant(w - n, f'u{w // 8}')})")
        else:
            _counted(e, name, t, r, a)


def _counted(e: Any, name: str, t: Type, r: Value, a: Value) -> None:
    n, w = size(t), max(width(t), 32)
    if width(t) == 16:
        a = op(e, "cvt.u32.u16", a)
    if name == "cttz":
        if n < w:
            a = op(e, f"or.b{w}", a, bits(1 << n))
        below = op(e, f"sub.u{w}", a, bits(1))
        a = op(e, f"and.b{w}", op(e, f"not.b{w}", a), below)
    if name == "bitreverse":
        found = op(e, f"brev.b{w}", a)
        if n < w:
            found = op(e, f"shr.u{w}", found, bits(w - n))
        have = w
    else:
        found = op(e, f"{'clz' if name == 'ctlz' else 'popc'}.b{w}", a)
        if name == "ctlz" and n < w:
            found = op(e, "sub.u32", found, bits(w - n))
        have = 32
    want = width(t)
    op(e, f"mov.b{want}" if want == have else f"cvt.u{want}.u{have}", found, to=r)


def _funnel(e: Any) -> None:
    name = _word(e)
    t = scalar(e.instr.type)
    n = size(t)
    for r, a, b, s in elements_of_three(e):
        if n > 64 or n == 1:
            f = _fshl if name == "fshl" else _fshr
            _python(e, lambda x, y, k, f=f: f(x, y, k, n), r, t, a, b, s)
            continue
        k, rest, high, low = (temp(f"b{width(t)}") for _ in range(4))
        for x in (k, rest, high, low):
            x.type = t
        arithmetic(e, "urem", t, k, s, bits(n))
        arithmetic(e, "sub", t, rest, bits(n), k)
        left, right = (k, rest) if name == "fshl" else (rest, k)
        arithmetic(e, "shl", t, high, a, left)
        arithmetic(e, "lshr", t, low, b, right)
        arithmetic(e, "or", t, r, high, low)


def elements_of_three(e: Any) -> list[tuple[Value, ...]]:
    """(result, a, b, c) by element."""
    return elements_of(e, 3)


def _fshl(a: int, b: int, s: int, n: int) -> int:
    s %= n
    return ((a << n | b) << s) >> n


def _fshr(a: int, b: int, s: int, n: int) -> int:
    return (a << n | b) >> (s % n)


def _overflow(e: Any) -> None:
    """llvm.{s,u}{add,sub,mul}.with.overflow: the result and whether it does not fit."""
    sign, what = _word(e)[0] == "s", _word(e)[1:]
    i = e.instr
    t = scalar(i.operands[0].type)
    n = size(t)
    compute = {"add": int.__add__, "sub": int.__sub__, "mul": int.__mul__}[what]
    a, b = (leaves(e, v) for v in i.operands[:2])
    results = leaves(e, i)
    half = len(results) // 2

    def value(x: int, y: int) -> int:
        return compute(x, y) & ((1 << n) - 1)

    def over(x: int, y: int) -> int:
        if sign:
            z = compute(_s(x, n), _s(y, n))
            return int(not -(1 << n - 1) <= z < 1 << n - 1)
        return int(not 0 <= compute(x, y) < 1 << n)

    for k in range(half):
        _python(e, value, results[k], t, a[k], b[k])
        _python(e, over, results[half + k], t, a[k], b[k])


# ------------------------------------------------------------------- reductions

_REDUCE = {"add": "add", "mul": "mul", "and": "and", "or": "or", "xor": "xor"}


def _reduce(e: Any, name: str) -> None:
    """llvm.vector.reduce.*: the first element, then one after the other."""
    i = e.instr
    t = i.type
    (r,) = leaves(e, i)
    parts = list(leaves(e, i.operands[-1]))
    if name in ("fadd", "fmul"):
        parts = [leaves(e, i.operands[0])[0], *parts]
    acc = parts[0]
    for k, x in enumerate(parts[1:], 2):
        to = r
        if k < len(parts):
            to = temp("b32")
            to.type = t
        _combine(e, name, t, to, acc, x)
        acc = to
    if len(parts) == 1:
        rename(e, r, acc)


def _combine(e: Any, name: str, t: Type, to: Value, a: Value, b: Value) -> None:
    if name in _REDUCE:
        arithmetic(e, name, t, to, a, b)
    elif name in ("fadd", "fmul"):
        floats.arithmetic(e, name, ptx_float(t), to, a, b)
    elif name in ("fmax", "fmin"):
        op(e, f"{name[1:]}.{ptx_float(t)}", a, b, to=to)
    else:
        _python(e, _PYTHON[name](size(t)), to, t, a, b)


# ----------------------------------------------------------------------- the rest


def _nothing(e: Any) -> None:
    pass


def _same(e: Any) -> None:
    for r, a in zip(leaves(e, e.instr), leaves(e, e.instr.operands[0]), strict=True):
        rename(e, r, a)


def _number(e: Any, answer: str) -> None:
    for r in leaves(e, e.instr):
        rename(e, r, bits(int(answer)))


def _object_size(e: Any) -> None:
    (r,) = leaves(e, e.instr)
    least = leaves(e, e.instr.operands[1])[0]
    unknown = 0 if getattr(least, "value", 0) else -1
    rename(e, r, bits(unknown & (1 << size(e.instr.type)) - 1))


def _pointer_mask(e: Any) -> None:
    pointer, mask = (leaves(e, v)[0] for v in e.instr.operands)
    op(e, "and.b64", pointer, mask, to=leaves(e, e.instr)[0])


def _leading_one(e: Any, sign: str) -> None:
    """llvm.nvvm.flo: the highest bit that is no sign bit, or how far to shift it up."""
    i = e.instr
    x, amount = (leaves(e, v)[0] for v in i.operands)
    if size(x.type) not in (32, 64):
        raise unsupported(i, f"of {i.operands[0].type}")
    shift = ".shiftamt" if getattr(amount, "value", 0) else ""
    op(e, f"bfind{shift}.{sign}{size(i.operands[0].type)}", x, to=leaves(e, i)[0])


def _load_read_only(e: Any, what: str) -> None:
    """llvm.nvvm.ldg.global.i (pointer, alignment) and ldu."""
    i = e.instr
    align = int(leaves(e, i.operands[1])[0].value) if len(i.operands) > 1 else 0  # type: ignore[attr-defined]
    memory.load(e, leaves(e, i), i.type, i.operands[0], align or align_of(i.type))


def _atomic(e: Any, name: str, scope: str) -> None:
    """llvm.nvvm.atomic.load.inc.32.p1 and llvm.nvvm.atomic.add.gen.i.cta."""
    i = e.instr
    t = i.type
    n = size_of(t)
    if not isinstance(t, IntType):
        both = memory._floating(name, ptx_float(t))
    else:
        f = memory._integer(name, n)
        both = None if f is None else (f, f)
    if both is None:
        raise unsupported(i)
    kind = {"xchg": "exch"}.get(name, name)
    memory.perform(e, Atomic(kind, f"u{8 * n}", n, *both), t, i.operands[0])


def _pointer_cast(e: Any, of: str, to: str) -> None:
    """llvm.nvvm.ptr.shared.to.gen and its relatives, by the numbers of their address spaces."""
    cast(e, leaves(e, e.instr), leaves(e, e.instr.operands[0]), int(of), int(to))


def _stack_save(e: Any) -> None:
    (r,) = leaves(e, e.instr)
    expression(e, r, "c.stack_pointer()")


def _stack_restore(e: Any) -> None:
    (a,) = leaves(e, e.instr.operands[0])
    e.line(f"c.wave.restore_stack(c, {e.value(a, 'b64')})")


RULES: dict[str, Callable[..., None]] = {
    "nothing": _nothing,
    "same": _same,
    "number": _number,
    "cast": _pointer_cast,
    "flo": _leading_one,
    "read.only": _load_read_only,
    "atomic": _atomic,
    "integer.extremum": _minmax,
    "saturating": _by_python,
    **dict.fromkeys(("ctpop", "ctlz", "cttz", "bitreverse", "bswap", "abs"), _count),
    "funnel": _funnel,
    "overflow": _overflow,
    "reduce": _reduce,
    "copy": lambda e, how="": memory.emit_copy(e),
    "fill": memory.emit_fill,
    "object.size": _object_size,
    "pointer.mask": _pointer_mask,
    "stack.save": _stack_save,
    "stack.restore": _stack_restore,
    **maths.RULES,
}


# ---------------------------------------------------------------------- specials


class ReducingBarrier(CtaBarrier):
    """llvm.nvvm.barrier0.popc, .and, .or: an i32 instead of a predicate, for all threads."""

    def __init__(self, plan: Any, i: Any, kind: str) -> None:
        spelling = f"bar.red.{kind}.{'u32' if kind == 'popc' else 'pred'}"
        f = form(spelling, "%s, %s, %s")
        sources = (bits(0), *plan.leaves(i.operands[0]))
        super().__init__(plan, View(f, sources, plan.leaves(i), i))  # type: ignore[arg-type]

    def test(self, g: Any) -> Array:
        return np.asarray(g.full(self.predicate, "b32") != 0)

    def give(self, g: Any, r: Any, x: Array) -> None:
        g.store(r, x.astype(np.uint32))


class Exit:
    """llvm.nvvm.exit: the threads end here."""

    def __init__(self, plan: Any, i: Any) -> None:
        self.instruction = i

    def run(self, wave: Any, g: Any) -> None:
        wave.exit(g)


SPECIALS: dict[str, Callable[..., Any]] = {"barrier.red": ReducingBarrier, "exit": Exit}
__all__ = ["RULES", "SPECIALS", "elements"]
