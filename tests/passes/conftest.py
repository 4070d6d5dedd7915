"""`check(pipeline, before, after)`: a rewrite as the reader of a test sees it.

Bodies are PTX of one kernel with parameters `a`, `b` (u64) and `n` (u32); every
register is declared by its prefix, as nvcc names them. `body` and `function` turn
them into modules for tests that look closer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nvir
from nvir.ir.function import Function
from nvir.ir.module import Module
from nvir.passes.driver import Driver, Settings

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
                    else []  # fmt: skip
                out.append(f"  {results} = {i.form!r} {operands} {targets}")
    return "\n".join(out)


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
        ctx = Driver(Settings(verify_each=True, check=True)).run(module, pipeline)
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
