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
from nvir.ir.values import constant
from nvir.passes.aggregate import lower_aggr_copies, lower_struct_args
from nvir.passes.pipeline import Pipeline, Step
from nvir.passes.registry import Pass

COPIES = Pass("lower-aggr-copies", lower_aggr_copies.run, "", lower_aggr_copies.CODES,
              options=lower_aggr_copies.Options, level="nvvm", unit="module", cfg=True)  # fmt: skip
ARGS = Pass("lower-struct-args", lower_struct_args.run, "", lower_struct_args.CODES,
            options=lower_struct_args.Options, level="nvvm", unit="module")  # fmt: skip


def step(row: Pass, **options: Any) -> Step:
    return Step(row, row.options(**options))


def apply(module: Module, *steps: Step, **settings: Any) -> Any:
    """Run steps on a module in place; the remarks."""
    chosen = steps or (step(COPIES),)
    return nvir.run_passes(module, Pipeline(tuple(chosen)), verify=True, **settings)


def names(function: Any) -> list[str]:
    return [b.name for b in function.blocks]


def memory_call(b: Builder, kind: str, to: Any, source: Any, length: Any, aligns: tuple[int, int],
                volatile: bool = False) -> Any:  # fmt: skip
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
          length: Any = I64) -> Module:  # fmt: skip
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


def launch(m: Module, rows: np.ndarray, to: Any, source: Any, sizes: Any,
           dtype: Any = np.uint64) -> np.ndarray:  # fmt: skip
    given = rows.copy()
    args = [given, np.array(to, np.uint64), np.array(source, np.uint64), np.array(sizes, dtype)]
    nvir.launch(m, "k", 1, len(rows), args, max_steps=10_000_000)
    return given
