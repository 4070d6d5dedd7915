"""`check(pipeline, before, after)`: a rewrite as the reader of a test sees it.

Beside it `checked`, `behave_the_same` and `assemble` for pipelines on whole modules, random
kernels and the examples.

Bodies are PTX of one kernel with parameters `a`, `b` (u64) and `n` (u32); every
register is declared by its prefix, as nvcc names them. `body` and `function` turn
them into modules for tests that look closer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import nvir
from nvir import toolchain
from nvir.ir.function import Function
from nvir.ir.module import Module
from nvir.passes.context import Context
from nvir.passes.driver import Driver, Settings
from tests.differential import random_case

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "ptx").glob("*.ptx"))
HEADER = """.version 8.6
.target sm_90a
.address_size 64
.const .align 4 .b8 table[64];
.shared .align 4 .b8 tile[64];
.func (.reg .b32 %out) callee(.reg .b32 %in);
.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)
{
.reg .pred %p<30>; .reg .b16 %rs<30>; .reg .b32 %r<60>; .reg .f32 %f<60>; .reg .b64 %rd<30>;
.reg .f64 %fd<30>; .reg .u32 %u<9>; .reg .s32 %s<9>;
"""


def body(text: str) -> str:
    """A PTX file around the body of its kernel."""
    return f"{HEADER}{text}\n}}\n"


def function(text: str) -> Function:
    """The kernel with that body, read."""
    return nvir.read_ptx(body(text))["k"]


def numbered(module: Module) -> str:
    """The bodies with values and blocks named by their number: equal texts, equal code."""
    out = []
    for f in module.functions:
        values = {r: f"%{k}" for k, r in enumerate(r for i in f.instructions() for r in i.results)}
        blocks = {b: f"B{k}" for k, b in enumerate(f.blocks)}
        for b in f.blocks:
            out.append(f"{f.name} {blocks[b]}: {sorted(b.flags)} {b.pragmas}")
            for i in b:
                results = [f"{values[r]}: {getattr(r.type, 'cls', r.type)}" for r in i.results]
                operands = [values.get(v, v.name) for v in i.operands]
                targets = [blocks[t] for t in i.aux if t in blocks] if i.successors or i.is_phi \
                    else []
                out.append(f"  {results} = {i.form!r} {operands} {targets}")
    return "\n".join(out)


def checked(module: Module, pipeline: str, **knobs: Any) -> Context:
    """Run a pipeline, verified after each pass, and each pass held to what it declares."""
    return Driver(Settings(verify_each=True, check=True)).run(module, pipeline, knobs=knobs)


def behave_the_same(seeds: Iterable[int], chain: tuple[str, ...], size: int = 30) -> None:
    """Random kernels do after a chain of passes what they did before."""
    for seed in seeds:
        failure = random_case(seed, size, chain).failure()
        assert failure is None, failure


def assemble(paths: Iterable[Path], pipeline: str, **knobs: Any) -> int:
    """The real assembler takes what a pipeline makes of files; how often it changed something."""
    changed = 0
    for path in paths:
        module = nvir.read_ptx(path)
        changed += len(checked(module, pipeline, **knobs).remarks.filter(kind="passed"))
        done = toolchain.ptxas(nvir.print_ptx(module), arch=None)
        assert done.ok, done.error
    return changed


@pytest.fixture
def check() -> Callable[..., Any]:
    """Run a pipeline on `before` and compare with `after`, up to the names of values.

    `after` None: nothing may change. The driver verifies and holds the passes to
    what they declare; whether they tell the truth about changing anything is
    compared with the text.
    """

    def run(pipeline: str, before: str, after: str | None = None) -> Any:
        module = nvir.read_ptx(body(before))
        wanted = nvir.read_ptx(body(before if after is None else after))
        old = str(module)
        ctx = checked(module, pipeline)
        assert numbered(module) == numbered(wanted)
        if after is None:
            assert str(module) == old
            assert len(ctx.remarks.filter(kind="passed")) == 0
        assert_idempotent(module, pipeline)
        return ctx

    return run


def assert_idempotent(module: Module, pipeline: str) -> None:
    """A second run finds nothing left to do."""
    text = str(module)
    Driver(Settings()).run(module, pipeline)
    assert str(module) == text
