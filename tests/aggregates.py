"""Helpers of the tests of aggregate lowering: running a pass alone, and copies against Python's.

A kernel of `mover` copies within one row of bytes a thread: thread t moves `size` bytes from offset
`source[t]` to `to[t]` of its row, so one launch has every distance of one size and alignment.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import nvir
from nvir.ir import Module
from nvir.ir.nvvm import Builder, declare, function
from nvir.ir.nvvm_values import NvvmCall
from nvir.ir.types import I1, I8, I32, I64, VOID, pointer
from nvir.ir.values import Undef, constant
from nvir.passes.aggregate.leaves import is_aggregate


def apply(module: Module, pipeline: str = "lower-aggr-copies", **settings: Any) -> Any:
    """Run passes on a module in place, verified before and after each; the remarks."""
    return nvir.run_passes(module, pipeline, verify=True, **settings)


def names(function: Any) -> list[str]:
    return [b.name for b in function.blocks]


def memory_call(b: Builder, kind: str, to: Any, source: Any, length: Any, aligns: tuple[int, int],
                volatile: bool = False) -> Any:
    """A call of memcpy, memmove or (with a byte as `source`) memset."""
    assert b.module is not None
    width = length.type.name
    fill = kind == "memset"
    spaces = [to.type.space] if fill else [to.type.space, source.type.space]
    name = ".".join([f"llvm.{kind}", *(f"p{s}" for s in spaces), width])
    callee = declare(b.module, name, VOID, [to.type, source.type, length.type, I1])
    attributes = ((("align", aligns[0]),), () if fill else (("align", aligns[1]),), (), ())
    info = NvvmCall(4, callee=callee, arguments=attributes)
    return b.insert("call", (to, source, length, constant(I1, int(volatile))), aux=info)


def mover(kind: str, size: int | None, align: int, row: int, space: int = 1,
          length: Any = I64) -> Module:
    """`k(rows, to, source, lengths)`; `size` None: of run time."""
    m = Module("sm_80", level="nvvm")
    params = [("rows", pointer(space)), *((n, pointer(1)) for n in ("to", "source", "lengths"))]
    f = function(m, "k", VOID, params, kind="entry")
    rows, to, source, lengths = f.params
    b = Builder(f.block("entry"))
    t = b.zext(b.call(declare(m, "llvm.nvvm.read.ptx.sreg.tid.x", I32), []), I64)
    mine = b.gep(rows, [b.mul(t, row)], I8)
    p, q = (b.gep(mine, [b.load(b.gep(x, [t], I64), I64)], I8) for x in (to, source))
    n = b.load(b.gep(lengths, [t], length), length) if size is None else constant(length, size)
    memory_call(b, kind, p, q, n, (align, align))
    b.ret_void()
    nvir.verify(m)
    return m


def moved(rows: np.ndarray, to: Any, source: Any, sizes: Any) -> np.ndarray:
    """What Python's own bytes say."""
    out = rows.copy()
    for t in range(len(rows)):
        line = bytearray(rows[t].tobytes())
        a, b, n = int(to[t]), int(source[t]), int(sizes[t])
        line[a : a + n] = bytes(line[b : b + n])
        out[t] = np.frombuffer(bytes(line), np.uint8)
    return out


def distances(size: int, align: int) -> list[tuple[int, int]]:
    """(to, source) for every distance that is a multiple of the alignment: apart and overlapping
    on both sides."""
    reach = -(-size // align) * align + align
    return [(max(d, 0), max(-d, 0)) for d in range(-reach, reach + 1, align)]


def check_moves(kind: str, size: int, align: int, **settings: Any) -> Module:
    """A copy of a known size at all distances against Python's; only those without overlap for
    memcpy. The lowered module."""
    pairs = distances(size, align)
    if kind == "memcpy":
        pairs = [(a, b) for a, b in pairs if abs(a - b) >= size]
    row = -(-(2 * size + 4 * align) // 16) * 16
    rows = np.random.default_rng(size).integers(0, 256, (len(pairs), row), np.uint8)
    m = mover(kind, size, align, row)
    apply(m, **settings)
    to, source = zip(*pairs, strict=True)
    sizes = [size] * len(pairs)
    left, right = launch(m, rows, to, source, sizes), moved(rows, to, source, sizes)
    wrong = np.flatnonzero((left != right).any(axis=1))
    assert not len(wrong), f"{size} bytes from {source[wrong[0]]} to {to[wrong[0]]}"
    return m


def check_dynamic(align: int, sizes: Any, length: Any = I64, **settings: Any) -> Module:
    """memmove of lengths of run time, each at all distances, in launches of 1024 threads."""
    cases = [(n, a, b) for n in sizes for a, b in distances(n, align)]
    top = max(sizes)
    row = -(-(2 * top + 4 * align) // 16) * 16
    m = mover("memmove", None, align, row, length=length)
    apply(m, **settings)
    rng = np.random.default_rng(align)
    for k in range(0, len(cases), 1024):
        n, to, source = zip(*cases[k : k + 1024], strict=True)
        rows = rng.integers(0, 256, (len(n), row), np.uint8)
        dtype = np.uint64 if length is I64 else np.uint32
        assert np.array_equal(launch(m, rows, to, source, n, dtype), moved(rows, to, source, n))
    return m


def launch(m: Module, rows: np.ndarray, to: Any, source: Any, sizes: Any,
           dtype: Any = np.uint64) -> np.ndarray:
    given = rows.copy()
    args = [given, np.array(to, np.uint64), np.array(source, np.uint64), np.array(sizes, dtype)]
    nvir.launch(m, "k", 1, len(rows), args, max_steps=10_000_000)
    return given


def aggregates_left(module: Module) -> list[str]:
    """Values of struct or array type that are not at an edge: what arrives (parameters, results of
    calls, cmpxchg) and is taken apart by splitStruct or leaves again, what is put together by
    insertvalue to leave."""
    wrong = []
    for f in module.functions:
        for i in f.instructions():
            aggregate = is_aggregate(i.type)
            name = i.form.name
            if aggregate and name not in ("call", "cmpxchg", "insertvalue"):
                wrong.append(str(i))
            if aggregate and name == "insertvalue":
                leaving = {u.form.name for u in i.users} <= {"insertvalue", "ret", "call"}
                whole = i.operands[0]
                if not leaving or not (
                    isinstance(whole, Undef) or whole.definer.form.name == "insertvalue"  # type: ignore[union-attr]
                ):
                    wrong.append(str(i))
            if name not in ("ret", "call", "splitStruct", "insertvalue") and any(
                is_aggregate(v.type) for v in i.operands
            ):
                wrong.append(str(i))
    return wrong
