"""Tests of selection: kernels of the nvvm level, run before and after `select`, and assembled.

    ll = '''define ptx_kernel void @k(ptr addrspace(1) %out) { … }'''
    ori = check(ll, [np.zeros(32, np.int32)])       # both forms leave the same bytes

`lanes(types, results, body)` builds a kernel in which thread t computes on the t-th 16-byte row
of each input: the arguments that `operands(type)` gives hold edge cases first, then random ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import nvir
from nvir import toolchain
from nvir.ir import Module
from nvir.ir.layout import DATA_LAYOUT, TRIPLE
from nvir.ir.nvvm import Builder, declare, function
from nvir.ir.types import I8, I32, I64, VOID, FloatType, Type, pointer
from nvir.passes.select import LOWER, Options, select_module

ROWS = 32
DTYPES = {"half": np.float16, "float": np.float32, "double": np.float64}
HEAD = f'target datalayout = "{DATA_LAYOUT}"\ntarget triple = "{TRIPLE}"\n'


def read(text: str, target: str = "sm_80") -> Module:
    module = nvir.read_ll(f"{HEAD}\n{text}\n")
    module.target = target
    nvir.verify(module)
    return module


def lowered(module: Module) -> Module:
    """What the default pipeline makes of a copy of the module."""
    from nvir.ir.clone import clone_module

    copy = clone_module(module)
    nvir.run_passes(copy, LOWER, verify=True)
    return copy


def run(module: Module, args: Sequence[Any], kernel: str = "k", grid: Any = 1, block: Any = ROWS,
        **kw: Any) -> tuple[list[Any], Any]:
    """The arguments after a launch on copies of them, and the result."""
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    result = nvir.launch(module, kernel, grid, block, given, **kw)
    return given, result


def check(
    text: str | Module, args: Sequence[Any], target: str = "sm_80",
    options: Options | None = None, assemble: bool = True, **launch: Any,
) -> Module:
    """Select, verify, compare with the interpreter's view of the original, and assemble."""
    module = read(text, target) if isinstance(text, str) else text
    ori = select_module(module, options)
    nvir.verify(ori)
    before, one = run(module, args, **launch)
    after, two = run(ori, args, **launch)
    same(before, after)
    assert one.stdout == two.stdout
    if options is None:
        same(before, run(lowered(module), args, **launch)[0])
    if assemble:
        assembles(ori)
    return ori


def same(before: Sequence[Any], after: Sequence[Any]) -> None:
    for k, (x, y) in enumerate(zip(before, after, strict=True)):
        if isinstance(x, np.ndarray):
            assert x.tobytes() == y.tobytes(), f"argument {k}: {x.ravel()} and {y.ravel()}"


def assembles(module: Module) -> str:
    """The PTX, which ptxas takes for the module's target."""
    text = nvir.print_ptx(module)
    if toolchain.available("ptxas"):
        result = toolchain.ptxas(text, module.target)
        assert result.ok, f"{result.error}\n{text}"
    return text


def ptx(text: str, target: str = "sm_80", options: Options | None = None) -> str:
    """The PTX of `.ll` text, assembled where ptxas is there."""
    module = select_module(read(text, target), options)
    nvir.verify(module)
    return assembles(module)


# -------------------------------------------------------------- one operation


def operands(t: Type, seed: int = 0) -> Any:
    """16-byte rows that start with a value of type `t`: edge cases, then random ones."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((ROWS, 16), np.uint8)
    if isinstance(t, FloatType):
        x = _floats(t, rng)
        rows[:, : x.itemsize] = x.view(np.uint8).reshape(ROWS, x.itemsize)
        return rows
    n = (t.bits + 7) // 8
    rows[:, :n] = rng.integers(0, 256, (ROWS, n), np.uint8)
    for k, number in enumerate((0, -1, 1, 1 << (t.bits - 1), (1 << (t.bits - 1)) - 1)):
        number &= (1 << t.bits) - 1
        rows[k, :n] = np.frombuffer(number.to_bytes(n, "little"), np.uint8)
    if t.bits % 8:
        rows[:, n - 1] &= (1 << t.bits % 8) - 1
    return rows


def _floats(t: FloatType, rng: Any) -> Any:
    x = rng.standard_normal(ROWS) * 3
    x[:7] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 6e4, -0.5]
    if t.name == "bfloat":
        return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return x.astype(DTYPES[t.name])


def lanes(types: Sequence[Type], results: Sequence[Type], body: Callable[..., Any],
          target: str = "sm_80") -> Module:
    """The kernel `k`: `body(builder, module, *values)` gives one value for each of `results`."""
    module = Module(target, level="nvvm")
    names = [(f"p{k}", pointer(1)) for k in range(len(types) + len(results))]
    f = function(module, "k", VOID, names, kind="entry")
    b = Builder(f.block("entry"))
    thread = b.call(declare(module, "llvm.nvvm.read.ptx.sreg.tid.x", I32), [])
    offset = b.mul(b.zext(thread, I64), 16)
    values = [b.load(b.gep(f.params[k], [offset], I8), t, align=16) for k, t in enumerate(types)]
    made = body(b, module, *values)
    for k, (v, t) in enumerate(zip(made, results, strict=True)):
        assert v.type is t
        b.store(v, b.gep(f.params[len(types) + k], [offset], I8), align=16)
    b.ret_void()
    nvir.verify(module)
    return module


def check_lanes(
    types: Sequence[Type], results: Sequence[Type], body: Callable[..., Any],
    data: Sequence[Any] | None = None, target: str = "sm_80", assemble: bool = True,
) -> Module:
    """As `check`; NaNs of results are one."""
    module = lanes(types, results, body, target)
    ori = select_module(module)
    nvir.verify(ori)
    given = list(data) if data is not None else [operands(t, k) for k, t in enumerate(types)]
    given += [np.zeros((ROWS, 16), np.uint8) for _ in results]
    before, _ = run(module, given)
    after, _ = run(ori, given)
    for k, t in enumerate(results):
        x, y = (quiet(a[len(types) + k], t) for a in (before, after))
        rows = np.flatnonzero((x != y).any(axis=1))
        assert not len(rows), f"result {k} of thread {rows[0]}: {x[rows[0]]}, {y[rows[0]]}"
    if assemble:
        assembles(ori)
    return ori


def quiet(rows: Any, t: Type) -> Any:
    """The rows with every NaN of type `t` as one."""
    if not isinstance(t, FloatType):
        return rows
    rows = rows.copy()
    if t.name == "bfloat":
        bits = rows[:, :2].copy().view(np.uint16)
        rows[((bits & 0x7FFF) > 0x7F80).ravel(), :2] = 255
        return rows
    dtype = DTYPES[t.name]
    n = dtype().itemsize
    rows[np.isnan(rows[:, :n].copy().view(dtype)).ravel(), :n] = 255
    return rows

