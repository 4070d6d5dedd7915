"""Memory: load, store, alloca, getelementptr, atomics, and blocks of bytes.

A value goes to memory leaf by leaf, at the offsets of the data layout. A leaf is cut into pieces
that the alignment allows, as the code generator does, so an access that is declared with `align 1`
may lie anywhere and one declared with more must be aligned. Scalars of one size in a row that
the alignment covers are one vector access.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from nvir.interp.access import LaneAccess, make_load, make_store
from nvir.interp.layout import Array, register_dtype
from nvir.interp.meaning import Mods, bind
from nvir.interp.meaning.atomic import atomic as meaning
from nvir.interp.memory import Fault
from nvir.interp.nvvm.constants import bit_places, places, steps
from nvir.interp.nvvm.integers import extend, masked, size
from nvir.interp.nvvm.lower import (
    bits,
    expression,
    known,
    leaves,
    op,
    plain,
    ptx_float,
    rename,
    scalar,
    temp,
    wide_text,
    width,
)
from nvir.interp.nvvm.storage import static
from nvir.interp.rows import unsupported
from nvir.interp.rows.atoms import Atomic, make_atomic
from nvir.ir import I64, FloatType, PointerType, Type, Value, VectorType
from nvir.ir.layout import align_of, size_of, store_size

SPACES = {0: "", 1: "global", 3: "shared", 4: "global", 5: "local", 101: ""}


def region(e: Any, pointer: Value) -> str:
    """The state space that a pointer's type names; "" is generic."""
    space = SPACES.get(getattr(pointer.type, "space", 0))
    if space is None:
        raise unsupported(e.instr, f"address space {getattr(pointer.type, 'space', 0)}")
    return space


def pieces(at: int, size: int, align: int) -> list[tuple[int, int]]:
    """(offset, bytes) of accesses of powers of two that cover a scalar, each aligned."""
    out = []
    while size:
        n = min(1 << (size.bit_length() - 1), align, 16)
        while (at % n) or n > size:
            n //= 2
        out.append((at, n))
        at, size = at + n, size - n
    return out


def _address(e: Any, pointer: Value, offset: int) -> str:
    (p,) = leaves(e, pointer)
    number = known(p)
    if number is not None:
        return str(e.constant(number + offset, np.uint64))
    base = str(e.value(p, "b64"))
    return f"({base} + {e.constant(offset, np.uint64)})" if offset else base


def vectorised(t: Type, align: int) -> tuple[int, int]:
    """(elements, bytes of each) where one vector access does for all leaves; (0, 0) if not."""
    parts = places(t)
    n = len(parts)
    if n not in (2, 4, 8):
        return 0, 0
    each = store_size(parts[0][1])
    total = n * each
    whole = (
        each in (1, 2, 4, 8) and total <= 32 and align >= total
        and all(at == k * each and _exact(s, each) for k, (at, s) in enumerate(parts))
    )
    return (n, each) if whole else (0, 0)


def _exact(t: Type, each: int) -> bool:
    return (t.bits or 64) == 8 * each


def emit_load(e: Any) -> None:
    i = e.instr
    pointer = i.operands[0]
    load(e, leaves(e, i), i.type, pointer, i.aux or align_of(i.type))


def load(e: Any, results: Any, t: Type, pointer: Value, align: int) -> None:
    """Fill the leaves of a value of type t."""
    space = region(e, pointer)
    count, each = vectorised(t, align)
    if count:
        dtypes = tuple(register_dtype(r.type) for r in results)
        f = e.bind(make_load(LaneAccess(space, each, count, False, dtypes)))
        names = [f"x{e.plan.slot(r)}" for r in results]
        e.line(f"{', '.join(names)} = {f}(c, {_address(e, pointer, 0)})")
        for r, name in zip(results, names, strict=True):
            e.define(r, name)
        return
    for r, (at, s) in zip(results, _parts(t), strict=True):
        _load_scalar(e, r, s, space, pointer, at, align)


def _parts(t: Type) -> tuple[tuple[int, Type], ...]:
    if any(bit % 8 for bit, _ in bit_places(t)):
        from nvir.ir.errors import Unsupported

        raise Unsupported(f"a value of type {t} in memory, in the interpreter")
    return places(t)


def _load_scalar(
    e: Any, r: Value, t: Type, space: str, pointer: Value, at: int, align: int
) -> None:
    n, dtype = size(t), register_dtype(r.type)
    cuts = pieces(at, store_size(t), align)
    if len(cuts) == 1 and (n in (8, 16, 32, 64, 128)):
        f = e.bind(make_load(LaneAccess(space, cuts[0][1], 1, False, (dtype,))))
        expression(e, r, f"{f}(c, {_address(e, pointer, at)})")
        return
    texts = [
        f"({e.bind(make_load(LaneAccess(space, k, 1, False, (np.uint64,))))}"
        f"(c, {_address(e, pointer, o)}), {8 * (o - at)})"
        for o, k in cuts
    ]
    expression(e, r, f"{e.bind(_assemble)}(({', '.join(texts)},), {n}, {e.bind(dtype)})")


def _assemble(parts: Any, n: int, dtype: Any) -> Array:
    """A scalar of n bits from (piece, its lowest bit)."""
    words = [np.zeros(1, np.uint64), np.zeros(1, np.uint64)]
    for x, shift in parts:
        words[shift // 64] = words[shift // 64] | (x << np.uint64(shift % 64))
    if n > 64:
        low, high = np.broadcast_arrays(*words)
        return np.stack((low, high & np.uint64((1 << (n - 64)) - 1)), -1)
    out = words[0] & np.uint64((1 << n) - 1)
    return (out != 0) if np.dtype(dtype).kind == "b" else out.astype(dtype)


def emit_store(e: Any) -> None:
    i = e.instr
    value, pointer = i.operands
    store(e, leaves(e, value), value.type, pointer, i.aux or align_of(value.type))


def store(e: Any, values: Any, t: Type, pointer: Value, align: int) -> None:
    """Write the leaves of a value of type t."""
    space = region(e, pointer)
    count, each = vectorised(t, align)
    parts = _parts(t)
    if count:
        texts = [wide_text(e, v, s) for v, (_, s) in zip(values, parts, strict=True)]
        f = e.bind(make_store(LaneAccess(space, each, count)))
        e.line(f"{f}(c, {_address(e, pointer, 0)}, ({', '.join(texts)},))")
        return
    for v, (at, s) in zip(values, parts, strict=True):
        _store_scalar(e, v, s, space, pointer, at, align)


def _store_scalar(
    e: Any, v: Value, t: Type, space: str, pointer: Value, at: int, align: int
) -> None:
    text = wide_text(e, v, t)
    cuts = pieces(at, store_size(t), align)
    if len(cuts) == 1:
        f = e.bind(make_store(LaneAccess(space, cuts[0][1], 1)))
        e.line(f"{f}(c, {_address(e, pointer, at)}, ({text},))")
        return
    word = e.bind(_piece)
    for o, k in cuts:
        f = e.bind(make_store(LaneAccess(space, k, 1)))
        e.line(f"{f}(c, {_address(e, pointer, o)}, ({word}({text}, {8 * (o - at)}),))")


def _piece(x: Array, shift: int) -> Array:
    """A scalar from bit `shift` on, in 64 bits."""
    word = x if x.ndim == 1 else x[:, shift // 64]
    return word.astype(np.uint64) >> np.uint64(shift % 64)


def emit_alloca(e: Any) -> None:
    i = e.instr
    (r,) = leaves(e, i)
    local = getattr(i.type, "space", 0) == 5
    if static(i):
        offset = e.plan.frame.offsets[i] + (0 if local else e.program.windows.local)
        expression(e, r, f"c.frame_address({offset})")
        return
    t, align = i.aux[0], i.aux[1] or 0
    (count,) = leaves(e, i.operands[0])
    amount = wide_text(e, count, i.operands[0].type)
    step = e.constant(size_of(t), np.int64)
    align = max(align, align_of(t))
    call = f"c.wave.alloca(c, {amount}.astype(i8) * {step}, {align}, None)"
    base = e.constant(0 if local else e.program.windows.local, np.uint64)
    expression(e, r, f"({call}.astype(u8) + {base})")


def emit_gep(e: Any) -> None:
    i = e.instr
    base, *indices = i.operands
    if isinstance(i.type, VectorType):
        raise unsupported(i, "a vector of pointers")
    offset, varying = steps(i.aux, indices)
    (address,) = leaves(e, base)
    for v, stride in varying:
        (index,) = leaves(e, v)
        number = known(index)
        if number is not None:
            half = 1 << (v.type.bits - 1)
            offset += ((number ^ half) - half) * stride
            continue
        wide = index
        if v.type.bits != 64:
            wide = temp("b64")
            extend(e, True, v.type, I64, wide, index)
        if stride != 1:
            wide = op(e, "mul.lo.u64", wide, bits(stride & (1 << 64) - 1))
        address = op(e, "add.u64", address, wide)
    (r,) = leaves(e, i)
    if offset:
        op(e, "add.u64", address, bits(offset & (1 << 64) - 1), to=r)
    else:
        rename(e, r, address)


# ------------------------------------------------------------------- atomics

_SIGNED = {"max": np.maximum, "min": np.minimum}


def _integer(name: str, n: int) -> Any:
    """What an integer operation leaves, of vectors of the element's size."""

    def signed(f: Any) -> Any:
        return lambda a, b, c: f(a.view(f"i{n}"), b.view(f"i{n}")).view(f"u{n}")

    table: dict[str, Any] = {
        "xchg": lambda a, b, c: b,
        "add": lambda a, b, c: a + b,
        "sub": lambda a, b, c: a - b,
        "and": lambda a, b, c: a & b,
        "nand": lambda a, b, c: ~(a & b),
        "or": lambda a, b, c: a | b,
        "xor": lambda a, b, c: a ^ b,
        "umax": lambda a, b, c: np.maximum(a, b),
        "umin": lambda a, b, c: np.minimum(a, b),
        "max": signed(np.maximum),
        "min": signed(np.minimum),
        "uinc_wrap": lambda a, b, c: np.where(a >= b, a.dtype.type(0), a + a.dtype.type(1)),
        "udec_wrap": lambda a, b, c: np.where(
            (a == 0) | (a > b), b, a - a.dtype.type(1)
        ),
        "usub_cond": lambda a, b, c: np.where(a >= b, a - b, a),
        "usub_sat": lambda a, b, c: np.where(a >= b, a - b, a.dtype.type(0)),
        "cas": lambda a, b, c: np.where(a == b, c, a),
    }
    return table.get(name)


def _floating(name: str, t: str) -> tuple[Any, Any] | None:
    """(what it leaves in global memory, in shared memory)."""
    if name == "fadd":
        mods = Mods.parse("atom", ("add", "noftz", t) if t in ("f16", "bf16") else ("add", t))
        return functools.partial(meaning, mods, flush=True), functools.partial(meaning, mods)
    rows = {"fsub": f"sub.rn.{t}", "fmax": f"max.{t}", "fmin": f"min.{t}",
            "fmaximum": f"max.NaN.{t}", "fminimum": f"min.NaN.{t}"}
    if name not in rows:
        return None
    if t == "f64" and name in ("fmaximum", "fminimum"):
        return None
    f = bind(rows[name])
    return (lambda a, b, c: f(a, b),) * 2


def emit_atomic(e: Any) -> None:
    """atomicrmw and cmpxchg."""
    i = e.instr
    pointer = i.operands[0]
    t = i.operands[1].type
    name = "cas" if i.form.name == "cmpxchg" else next(m for m in i.form.mods if m != "volatile")
    n = size_of(t)
    both: Any = None
    if n in (1, 2, 4, 8) and isinstance(t, FloatType) and name != "xchg" and name != "cas":
        both = _floating(name, ptx_float(t))
    elif n in (1, 2, 4, 8):
        f = _integer(name, n)
        both = None if f is None else (f, f)
    if both is None:
        raise unsupported(i, f"atomic {name} of {t}")
    # "add" and the like of the kinds below have closed forms for lanes at one address
    kind = {"xchg": "exch"}.get(name, name)
    atomic = Atomic(kind, f"u{8 * n}", n, *both)
    perform(e, atomic, t, pointer)


def perform(e: Any, atomic: Atomic, t: Type, pointer: Value) -> None:
    i = e.instr
    sources = [wide_text(e, leaves(e, v)[0], t) for v in i.operands[1:]]
    results = leaves(e, i)
    old = results[0]
    words = (register_dtype(old.type),)
    access = LaneAccess(region(e, pointer), atomic.size, 1, False, words, True)
    f = e.bind(make_atomic(access, atomic))
    swap = sources[1] if len(sources) > 1 else "None"
    expression(e, old, f"{f}(c, {_address(e, pointer, 0)}, ({sources[0]},), {swap}, None)")
    if i.form.name == "cmpxchg":
        expression(e, results[1], f"({e.local[old]} == {sources[0]})")


# ------------------------------------------------------------ blocks of bytes


def _active(c: Any) -> Array:
    return np.arange(c.m) if c.mask is None else np.flatnonzero(c.mask)


def _chunk(*sizes: Array) -> int:
    """The widest word that divides all addresses and lengths."""
    low = int(np.bitwise_or.reduce([int(np.bitwise_or.reduce(s)) for s in sizes]))
    return next(w for w in (8, 4, 2, 1) if low % w == 0)


@functools.lru_cache(maxsize=64)
def _word(space: str, n: int) -> tuple[Any, Any]:
    load = make_load(LaneAccess(space, n, 1, False, (np.uint64,)))
    return load, make_store(LaneAccess(space, n, 1))


def copy(c: Any, to: Array, of: Array, length: Array, to_space: str, of_space: str) -> None:
    """memcpy and memmove: everything is read before anything is written, in chunks of a lane."""
    m = c.m
    to, of, length = (np.broadcast_to(x, (m,)) for x in (to, of, length))
    here = _active(c)
    if not len(here) or not int(length[here].max()):
        return
    n = _chunk(to[here], of[here], length[here])
    load, store = _word(of_space, n)[0], _word(to_space, n)[1]
    count = int(length[here].max())
    if count > 1 << 26:
        raise Fault(f"a copy of {count} bytes")
    values = []
    for at in range(0, count, n):
        guard = length > at
        values.append((at, guard, load(c, of + np.uint64(at), guard)))
    for at, guard, x in values:
        store(c, to + np.uint64(at), (x,), guard)


def fill(c: Any, to: Array, byte: Array, length: Array, to_space: str) -> None:
    """memset."""
    m = c.m
    to, length = np.broadcast_to(to, (m,)), np.broadcast_to(length, (m,))
    here = _active(c)
    if not len(here) or not int(length[here].max()):
        return
    n = _chunk(to[here], length[here])
    store = _word(to_space, n)[1]
    x = (byte & byte.dtype.type(0xFF)).astype(np.uint64) * np.uint64(0x0101010101010101)
    for at in range(0, int(length[here].max()), n):
        store(c, to + np.uint64(at), (x,), length > at)


def emit_copy(e: Any) -> None:
    """llvm.memcpy, llvm.memmove (to, from, length, volatile)."""
    to, of, length = e.instr.operands[:3]
    a, b = (wide_text(e, leaves(e, v)[0], v.type) for v in (to, of))
    n = wide_text(e, leaves(e, length)[0], length.type)
    f = e.bind(copy)
    e.line(f"{f}(c, {a}, {b}, {n}.astype(u8), {region(e, to)!r}, {region(e, of)!r})")


def emit_fill(e: Any) -> None:
    """llvm.memset (to, byte, length, volatile)."""
    to, byte, length = e.instr.operands[:3]
    a, x, n = (wide_text(e, leaves(e, v)[0], v.type) for v in (to, byte, length))
    e.line(f"{e.bind(fill)}(c, {a}, {x}, {n}.astype(u8), {region(e, to)!r})")


def nothing(e: Any) -> None:
    """Memory is sequentially consistent here."""


EMITTERS = {
    "load": emit_load, "store": emit_store, "alloca": emit_alloca, "getelementptr": emit_gep,
    "atomicrmw": emit_atomic, "cmpxchg": emit_atomic, "fence": nothing,
}
__all__ = ["EMITTERS", "PointerType", "emit_copy", "emit_fill", "load", "masked", "plain",
           "scalar", "store", "width"]
