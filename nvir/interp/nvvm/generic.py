"""Intrinsics that are no single row of ori: llvm.* for any width, blocks of memory, hints.

`emit(e, name)` writes a call of such a function and says whether it knew it. Vectors work by
element. `LIBRARY` are functions without a body that are known as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from nvir.interp.layout import Array
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
    several,
    temp,
    wide_text,
    width,
)
from nvir.interp.nvvm.pieces import cast
from nvir.interp.rows import unsupported
from nvir.interp.rows.atoms import Atomic
from nvir.interp.rows.barriers import CtaBarrier
from nvir.ir.layout import align_of, size_of
from nvir.ir.opcodes.form import form
from nvir.ir.types import IntType, Type
from nvir.ir.values import Value

_NOTHING = (
    "llvm.lifetime.", "llvm.assume", "llvm.dbg.", "llvm.donothing", "llvm.sideeffect",
    "llvm.experimental.noalias.scope.decl", "llvm.invariant.end", "llvm.prefetch", "llvm.var.",
    "llvm.nvvm.membar.", "llvm.nvvm.fence.", "llvm.nvvm.prefetch", "llvm.nvvm.griddepcontrol",
    "llvm.nvvm.setmaxnreg", "llvm.nvvm.applypriority", "llvm.nvvm.discard", "llvm.nvvm.pm.event",
    "llvm.pseudoprobe", "llvm.fake.use",
)
_SAME = (
    "llvm.expect", "llvm.launder.invariant.group", "llvm.strip.invariant.group",
    "llvm.ssa.copy", "llvm.annotation", "llvm.ptr.annotation", "llvm.threadlocal.address",
    "llvm.nvvm.move.", "llvm.arithmetic.fence", "llvm.nvvm.bitcast.",
)


def emit(e: Any, name: str) -> bool:
    """Write a call of an intrinsic by its name; False if it is not one of these."""
    if name.startswith(_NOTHING):
        return True
    if name.startswith(_SAME):
        for r, a in zip(leaves(e, e.instr), leaves(e, e.instr.operands[0]), strict=True):
            rename(e, r, a)
        return True
    exact = LIBRARY.get(name) or _EXACT.get(name)
    if exact is not None:
        exact(e)
        return True
    for pattern, function in _PATTERNS:
        m = pattern.match(name)
        if m is not None:
            function(e, m)
            return True
    base = name[len("llvm.") :]
    while base and base not in _BY_ELEMENT:
        base = base.rpartition(".")[0]
    if not base:
        return False
    _BY_ELEMENT[base](e, base)
    return True


# ---------------------------------------------------------------- integers


def _minmax(e: Any, name: str) -> None:
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
    return _saturating(sign, lambda a, b: a << min(abs(b), 256))


_PYTHON: dict[str, Callable[[int], Any]] = {
    "smin": lambda n: lambda a, b: min(a, b, key=lambda x: _s(x, n)),
    "smax": lambda n: lambda a, b: max(a, b, key=lambda x: _s(x, n)),
    "umin": lambda n: lambda a, b: min(a, b),
    "umax": lambda n: lambda a, b: max(a, b),
    "sadd.sat": _saturating(True, lambda a, b: a + b),
    "uadd.sat": _saturating(False, lambda a, b: a + b),
    "ssub.sat": _saturating(True, lambda a, b: a - b),
    "usub.sat": _saturating(False, lambda a, b: a - b),
    "sshl.sat": _shl_saturating(True),
    "ushl.sat": _shl_saturating(False),
    "ctpop": lambda n: lambda a: a.bit_count(),
    "ctlz": lambda n: lambda a: n - a.bit_length(),
    "cttz": lambda n: lambda a: (a & -a).bit_length() - 1 if a else n,
    "bitreverse": lambda n: lambda a: int(f"{a:0{n}b}"[::-1], 2),
    "bswap": lambda n: lambda a: int.from_bytes(a.to_bytes(n // 8, "little"), "big"),
    "abs": lambda n: lambda a: abs(_s(a, n)),
}


def _by_python(e: Any, name: str) -> None:
    t = scalar(e.instr.type)
    for r, *sources in scalar_rows(e):
        _python(e, _PYTHON[name](size(t)), r, t, *sources)


def _count(e: Any, name: str) -> None:
    """ctpop, ctlz, cttz, bitreverse, abs, bswap in registers; beyond 64 bits by Python."""
    t = scalar(e.instr.type)
    n, w = size(t), width(t)
    if w not in (16, 32, 64):
        _by_python(e, name)
        return
    for r, a, *_ in scalar_rows(e):
        if name == "abs":
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


def _funnel(e: Any, name: str) -> None:
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


def _overflow(e: Any, m: re.Match[str]) -> None:
    """llvm.{s,u}{add,sub,mul}.with.overflow: the result and whether it does not fit."""
    sign, what = m[1] == "s", m[2]
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


_BY_ELEMENT: dict[str, Callable[[Any, str], None]] = {
    **dict.fromkeys(("smin", "smax", "umin", "umax"), _minmax),
    **dict.fromkeys(
        ("sadd.sat", "uadd.sat", "ssub.sat", "usub.sat", "sshl.sat", "ushl.sat"), _by_python
    ),
    **dict.fromkeys(("ctpop", "ctlz", "cttz", "bitreverse", "bswap", "abs"), _count),
    **dict.fromkeys(("fshl", "fshr"), _funnel),
    **dict.fromkeys(
        ("fabs", "copysign", "fma", "fmuladd", "minnum", "maxnum", "minimum", "maximum",
         "minimumnum", "maximumnum", "sqrt", "round", *maths.ROUND, *maths.APPROXIMATE),
        maths.emit_float,
    ),
    "is.fpclass": maths.emit_class,
}


# ------------------------------------------------------------------- reductions

_REDUCE = {"add": "add", "mul": "mul", "and": "and", "or": "or", "xor": "xor"}


def _reduce(e: Any, m: re.Match[str]) -> None:
    """llvm.vector.reduce.*: the first element, then one after the other."""
    i = e.instr
    name = m[1]
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


def _zero(e: Any) -> None:
    for r in leaves(e, e.instr):
        rename(e, r, bits(0))


def _object_size(e: Any, m: re.Match[str]) -> None:
    (r,) = leaves(e, e.instr)
    least = leaves(e, e.instr.operands[1])[0]
    unknown = 0 if getattr(least, "value", 0) else -1
    rename(e, r, bits(unknown & (1 << size(e.instr.type)) - 1))


def _trap(e: Any) -> None:
    several(e, "trap", "", (), ())


def _load_read_only(e: Any, m: re.Match[str]) -> None:
    """llvm.nvvm.ldg.global.i (pointer, alignment) and ldu."""
    i = e.instr
    align = int(leaves(e, i.operands[1])[0].value) if len(i.operands) > 1 else 0  # type: ignore[attr-defined]
    memory.load(e, leaves(e, i), i.type, i.operands[0], align or align_of(i.type))


def _atomic(e: Any, m: re.Match[str]) -> None:
    """llvm.nvvm.atomic.load.inc.32.p1 and llvm.nvvm.atomic.add.gen.i.cta."""
    i = e.instr
    name = {"inc": "uinc_wrap", "dec": "udec_wrap", "exch": "xchg"}.get(m[1], m[1])
    t = i.type
    n = size_of(t)
    if not isinstance(t, IntType):
        both = memory._floating("f" + name, ptx_float(t))
    else:
        f = memory._integer(name, n)
        both = None if f is None else (f, f)
    if both is None:
        raise unsupported(i)
    kind = {"xchg": "exch"}.get(name, name)
    memory.perform(e, Atomic(kind, f"u{8 * n}", n, *both), t, i.operands[0])


def _pointer_cast(e: Any, m: re.Match[str]) -> None:
    """llvm.nvvm.ptr.shared.to.gen and its relatives."""
    i = e.instr
    (of,), to = leaves(e, i.operands[0]), leaves(e, i)
    spaces = {"gen": 0, "global": 1, "shared": 3, "constant": 4, "const": 4, "local": 5, "param": 0}
    cast(e, to, (of,), spaces[m[1]], spaces[m[2]])


def _halves(e: Any, m: re.Match[str]) -> None:
    """d2i.lo, d2i.hi, lohi.i2d."""
    i = e.instr
    (r,) = leaves(e, i)
    given = [leaves(e, v)[0] for v in i.operands]
    if m[1] == "lohi.i2d":
        several(e, "mov.b64", "%s, {%s, %s}", given, (r,))
        return
    low, high = (r, temp("b32")) if m[1] == "d2i.lo" else (temp("b32"), r)
    several(e, "mov.b64", "{%s, %s}, %s", given, (low, high))


def _stack_save(e: Any, m: re.Match[str]) -> None:
    (r,) = leaves(e, e.instr)
    expression(e, r, "c.stack_pointer()")


def _stack_restore(e: Any, m: re.Match[str]) -> None:
    (a,) = leaves(e, e.instr.operands[0])
    e.line(f"c.wave.restore_stack(c, {e.value(a, 'b64')})")


_SPACE = "gen|global|shared|constant|const|local|param"
_PATTERNS: list[tuple[re.Pattern[str], Callable[[Any, re.Match[str]], None]]] = [
    (re.compile(p), f)
    for p, f in (
        (r"llvm\.(?:memcpy|memmove)\.", lambda e, m: memory.emit_copy(e)),
        (r"llvm\.memset\.", lambda e, m: memory.emit_fill(e)),
        (r"llvm\.([su])(add|sub|mul)\.with\.overflow\.", _overflow),
        (
            r"llvm\.vector\.reduce\.(fadd|fmul|fmax|fmin|add|mul|and|or|xor|smax|smin|umax|umin)\.",
            _reduce,
        ),
        (r"llvm\.nvvm\.(?:ldg|ldu)\.global\.[ifp]", _load_read_only),
        (r"llvm\.nvvm\.atomic\.load\.(inc|dec|add)\.", _atomic),
        (r"llvm\.nvvm\.atomic\.(add|exch|max|min|inc|dec|and|or|xor)\.gen\.", _atomic),
        (rf"llvm\.nvvm\.ptr\.({_SPACE})\.to\.({_SPACE})(?:\.|\Z)", _pointer_cast),
        (r"llvm\.nvvm\.(d2i\.lo|d2i\.hi|lohi\.i2d)\Z", _halves),
        (r"llvm\.stacksave", _stack_save),
        (r"llvm\.stackrestore", _stack_restore),
        (r"llvm\.objectsize\.", _object_size),
        (r"llvm\.(?:is\.constant|nvvm\.reflect|invariant\.start)", lambda e, m: _zero(e)),
    )
]
_EXACT: dict[str, Callable[[Any], None]] = {
    "llvm.trap": _trap, "llvm.ubsantrap": _trap, "llvm.debugtrap": lambda e: None,
}
# `__nvvm_reflect` asks for compile-time facts: none is set (no flushing, no fast division).
LIBRARY: dict[str, Callable[[Any], None]] = {"__nvvm_reflect": _zero}


# ---------------------------------------------------------------------- specials


class ReducingBarrier(CtaBarrier):
    """llvm.nvvm.barrier0.popc, .and, .or: an i32 instead of a predicate, for all threads."""

    def __init__(self, plan: Any, i: Any) -> None:
        from nvir.interp.leaves import View

        name = str(i.aux.callee.name)
        kind = name.rsplit(".", 1)[-1]
        if kind not in ("popc", "and", "or"):
            kind = name.split(".")[-2]
        spelling = f"barrier.red.{kind}.{'u32' if kind == 'popc' else 'pred'}"
        source = plan.leaves(i.operands[-1])
        number = plan.leaves(i.operands[0]) if len(i.operands) > 1 else (bits(0),)
        f = form(spelling, "%s, %s, %s")
        super().__init__(plan, View(f, (*number, *source), plan.leaves(i), i))  # type: ignore[arg-type]

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


SPECIALS: dict[str, Any] = {
    **{f"llvm.nvvm.barrier0.{k}": ReducingBarrier for k in ("popc", "and", "or")},
    "llvm.nvvm.exit": Exit,
}
__all__ = ["LIBRARY", "SPECIALS", "elements", "emit"]
