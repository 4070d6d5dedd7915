"""Values get registers of their own inside of loops."""

from __future__ import annotations

from typing import Any

import pytest

import nvir
from nvir.ir.clone import clone_module
from nvir.ir.loops import natural_loops
from nvir.passes.driver import Driver, Settings
from tests.equivalence import same_behaviour
from tests.passes.conftest import behave_the_same, body

LOOP = """
    ld.param.u64 %rd1, [a];
    ld.param.u32 %r1, [n];
    add.u32 %r7, %r1, 100;
    add.f32 %f1, 0f3F800000, 0f3F800000;
    bra PRE;
PRE:
    mov.u32 %r2, 0;
    bra LOOP;
LOOP:
    add.u32 %r2, %r2, %r7;
    setp.lt.u32 %p1, %r2, 1000;
    @%p1 bra LOOP;
    add.u32 %r3, %r2, %r7;
    st.global.u32 [%rd1], %r3;
    st.global.f32 [%rd1+4], %f1;
    ret;
"""


def split(text: str, pipeline: str = "loop-simplify,split-live-ranges<limit=0>") -> Any:
    module = nvir.read_ptx(body(text))
    before = clone_module(module)
    driver = Driver(Settings(verify_each=True, check=True))
    ctx = driver.run(module, pipeline)
    assert same_behaviour(before, module, "k")
    assert same_behaviour(before, nvir.read_ptx(nvir.print_ptx(module)), "k")
    old = str(module)
    driver.run(module, pipeline)
    assert str(module) == old
    return module["k"], [r for r in ctx.remarks if r.pass_name == "split-live-ranges"]


@pytest.mark.seed("REL-02")
def test_values_move_at_the_boundaries():
    """Used inside and behind: a move on either side. Used behind only: one move behind. The
    addresses of the stores count as well."""
    f, (remark,) = split(LOOP)
    assert remark.args["values"] == 3
    assert remark.args["moves"] == 4
    (loop,) = natural_loops(f)
    (preheader,), ((_, exit_),) = loop.entries, loop.exits
    moves = {b: [i for i in b if i.form.name == "mov" and i.operands[0].is_tracked]
             for b in f.blocks}
    (inner,) = moves[preheader]
    assert (inner.name, inner.form.spelling) == ("%r7", "mov.b32")
    assert [u.block for u in inner.users].count(loop.header) == 1
    assert len(moves[exit_]) == 3
    outer = next(m for m in moves[exit_] if m.name == "%r7")
    assert outer.operands == (inner,)
    assert {m.form.spelling for m in moves[exit_]} == {"mov.b32", "mov.b64"}


def test_below_the_limit_nothing_is_split():
    f, (remark,) = split(LOOP, "loop-simplify,split-live-ranges<limit=30>")
    assert (remark.kind, remark.name) == ("analysis", "PressureLow")
    assert remark.args["pressure"] < remark.args["limit"] == 30
    assert not any(i.form.spelling == "mov.b32" for i in f.instructions())


def test_a_loop_that_is_not_canonical_is_left():
    twice = "    setp.eq.u32 %p5, %r1, 2;\n    @%p5 bra LOOP;\n    mov.u32 %r2, 3;\n"
    text = LOOP.replace("    bra LOOP;\n", twice, 1)
    _, remarks = split(text, "split-live-ranges<limit=0>")
    assert [r.name for r in remarks] == ["NotCanonical"]


def test_arguments_of_a_device_function():
    """An argument is made in the entry, which may itself be the preheader."""
    module = nvir.read_ptx("""
.version 8.0
.target sm_80
.address_size 64
.func (.reg .b32 %out) f(.reg .b32 %x, .reg .b32 %y)
{
    .reg .pred %p<3>; .reg .b32 %r<5>;
    mov.u32 %r1, 0;
LOOP:
    add.u32 %r1, %r1, %x;
    setp.lt.u32 %p1, %r1, 100;
    @%p1 bra LOOP;
    add.u32 %r2, %r1, %y;
    add.u32 %out, %r2, %x;
    ret;
}
""")
    driver = Driver(Settings(verify_each=True, check=True))
    ctx = driver.run(module, "loop-simplify,split-live-ranges<limit=0>")
    (remark,) = [r for r in ctx.remarks if r.pass_name == "split-live-ranges"]
    assert remark.args["moves"] == 2


def test_copy_propagation_takes_the_moves_away_again():
    f, _ = split(LOOP)
    module = f.module
    nvir.run_passes(module, "copy-prop")
    assert not any(i.form.spelling.startswith("mov.b") for i in f.instructions())


def nest(depth: int) -> str:
    head = "".join(f"mov.u32 %r{k}, 0;\nL{k}:\n" for k in range(depth))
    tail = "".join(
        f"add.u32 %r{k}, %r{k}, 1;\nsetp.lt.u32 %p1, %r{k}, 2;\n@%p1 bra L{k};\n"
        for k in reversed(range(depth))
    )
    return f".reg .pred %p<2>;\n.reg .b32 %r<{depth}>;\n{head}{tail}ret;"


@pytest.mark.parametrize(("depth", "whole"), [(4, True), (80, False)])
def test_a_deep_nest_is_not_split_all_the_way_in(depth, whole):
    """Each value would move at each loop that it lives through: the square of the depth."""
    module = nvir.read_ptx(
        f".version 8.0\n.target sm_80\n.visible .entry k()\n{{\n{nest(depth)}\n}}\n"
    )
    nvir.run_passes(module, "loop-simplify")
    before = len(list(module["k"].instructions()))
    remarks = nvir.run_passes(module, "split-live-ranges<limit=0>", verify=True)
    many = [r for r in remarks if r.code.name == "ManyMoves"]
    assert bool(many) is not whole
    assert all(r.args["moves"] > 4 * r.args["instructions"] for r in many)
    assert len(list(module["k"].instructions())) < 13 * before


@pytest.mark.parametrize("chain", [
    ("loop-simplify", "split-live-ranges<limit=0>", "print"),
    ("loop-simplify", "loop-rotate", "split-live-ranges<limit=3>", "loop-peel"),
])
def test_random_kernels_keep_their_behaviour(chain):
    behave_the_same(range(400, 406), chain)
