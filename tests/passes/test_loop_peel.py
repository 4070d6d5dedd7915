"""Peeling: the first iteration of an innermost loop stands before it."""

from __future__ import annotations

from typing import Any

import pytest

import nvir
from nvir.ir.clone import clone_module
from nvir.ir.loops import natural_loops
from nvir.passes.driver import Driver, Settings
from tests.equivalence import same_behaviour
from tests.passes.conftest import behave_the_same, body


def peeled(text: str, pipeline: str = "loop-simplify,loop-peel", **knobs: Any) -> Any:
    """(kernel, remarks by name); behaviour is equal, a second run finds nothing to do."""
    module = nvir.read_ptx(body(text))
    before = clone_module(module)
    driver = Driver(Settings(verify_each=True, check=True))
    ctx = driver.run(module, pipeline, knobs=knobs)
    assert same_behaviour(before, module, "k")
    assert same_behaviour(before, nvir.read_ptx(nvir.print_ptx(module)), "k")
    old = str(module)
    driver.run(module, pipeline, knobs=knobs)
    assert str(module) == old
    return module["k"], {r.name: r for r in ctx.remarks if r.pass_name == "loop-peel"}


LOOP = """
    ld.param.u64 %rd1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, 0;
    mov.u32 %r3, 7;
    bra LOOP;
LOOP:
    .pragma "nounroll";
    setp.eq.u32 %p2, %r2, 0;
    @%p2 bra FIRST;
    add.u32 %r3, %r3, %r2;
    bra NEXT;
FIRST:
    add.u32 %r3, %r3, 100;
NEXT:
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra LOOP;
    st.global.v2.u32 [%rd1], {%r2, %r3};
    ret;
"""


def test_the_first_iteration_stands_before_the_loop():
    """Values of copy and loop meet behind it; the pragma stays with the loop."""
    f, remarks = peeled(LOOP)
    (loop,) = natural_loops(f)
    size = sum(map(len, loop.blocks))
    assert remarks["Peeled"].args == {"instructions": size}
    assert sum(i.form.name == "setp" for i in f.instructions()) == 4
    assert [b for b in f.blocks if b.pragmas] == [loop.header]
    start = [v for p in loop.header.phis for v, b in p.incoming if b not in loop]
    assert len(start) == 2
    assert all(v.definer.block is not f.entry for v in start)


def test_the_limit():
    f, remarks = peeled(LOOP, "loop-simplify,loop-peel<limit=5>")
    assert remarks["TooLargeToPeel"].args["limit"] == 5
    assert sum(i.form.name == "setp" for i in f.instructions()) == 2


@pytest.mark.seed("KNB-25")
def test_synchronisation_is_copied_under_its_knob_alone():
    text = LOOP.replace("NEXT:\n", "NEXT:\n    bar.sync 0;\n")
    _, remarks = peeled(text)
    assert remarks["ConvergentOperation"].args == {"done": "peeled", "what": "bar.sync"}
    f, remarks = peeled(text, GenPeelingLoopsForSyncs=True)
    assert "Peeled" in remarks
    assert sum(i.form.name == "bar.sync" for i in f.instructions()) == 2


@pytest.mark.seed("KNB-26")
def test_fetches_are_refused_aloud_under_their_knob():
    text = LOOP.replace("NEXT:\n", """NEXT:
        tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r2, %r2}];
    """)
    for knobs, name, kind in (
        ({"AssertIfPeelingLoopForTexSurf": True}, "PeelsFetches", "failure"),
        ({}, "Peeled", "passed"),
    ):
        module = nvir.read_ptx(body(text))
        ctx = Driver(Settings(verify_each=True)).run(module, "loop-simplify,loop-peel", knobs=knobs)
        found = [(r.name, r.kind) for r in ctx.remarks if r.pass_name == "loop-peel"]
        assert found == [(name, kind)]


def test_only_innermost_loops_and_only_canonical_ones():
    nest = """
        ld.param.u64 %rd1, [a];
        ld.param.u32 %r1, [n];
        mov.u32 %r2, 0;
        mov.u32 %r4, 0;
        bra OUTER;
    OUTER:
        mov.u32 %r3, 0;
        {}
    INNER:
        add.u32 %r3, %r3, 1;
        mad.lo.u32 %r4, %r4, 3, %r3;
        setp.lt.u32 %p2, %r3, %r1;
        @%p2 bra INNER;
        add.u32 %r2, %r2, 1;
        setp.lt.u32 %p1, %r2, %r1;
        @%p1 bra OUTER;
        st.global.u32 [%rd1], %r4;
        ret;
    """
    f, remarks = peeled(nest.format("bra INNER;"), "loop-peel")
    assert sum(i.form.name == "mad.lo" or i.form.name == "mad" for i in f.instructions()) == 2
    twice = "setp.eq.u32 %p5, %r2, 2;\n@%p5 bra INNER;\nmov.u32 %r3, 1;"
    _, remarks = peeled(nest.format(twice), "loop-peel")
    assert list(remarks) == ["NotCanonical"]


@pytest.mark.parametrize("chain", [
    ("loop-simplify", "loop-peel"), ("loop-simplify<peel>", "loop-rotate", "clean", "print"),
])
def test_random_kernels_keep_their_behaviour(chain):
    behave_the_same(range(200, 207), chain)


@pytest.mark.parametrize("out", ["SECOND", "BETWEEN"])
def test_an_exit_that_enters_the_next_loop_does_so_from_the_copy(out):
    """Loops as they are: `SECOND` is an exit of the first loop and the header of the next."""
    text = f"""
    ld.param.u64 %rd1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, 20;
    FIRST:
    setp.gt.u32 %p1, %r1, 14;
    @!%p1 bra {out};
    sub.u32 %r1, %r1, 1;
    setp.gt.s32 %p2, %r2, 0;
    @%p2 bra FIRST;
    BETWEEN:
    SECOND:
    sub.u32 %r2, %r2, 1;
    setp.gt.s32 %p3, %r2, 0;
    @%p3 bra SECOND;
    st.global.v2.u32 [%rd1], {{%r1, %r2}};
    ret;
"""
    f, _ = peeled(text, "loop-simplify<peel>")
    assert sum("peeled" in b.flags for b in f.blocks) == 2
