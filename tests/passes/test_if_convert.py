"""Small branches become predicated code and selects."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nvir
from nvir.ir.clone import clone_module
from nvir.passes.driver import Driver, Settings
from tests.effort import effort
from tests.equivalence import same_behaviour
from tests.kernels import random_kernel
from tests.passes.conftest import EXAMPLES, assemble, behave_the_same, body
from tests.wild_kernels import wild_kernel

HEAD = """
    ld.param.u64 %rd1, [a];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3];
    setp.lt.u32 %p1, %r2, 100;
"""


def converted(text: str, pipeline: str = "if-convert") -> tuple[Any, list[Any]]:
    """(kernel, remarks) of a body behind HEAD; behaviour is equal, a second run changes nothing."""
    module = nvir.read_ptx(body(HEAD + text))
    before = clone_module(module)
    driver = Driver(Settings(verify_each=True, check=True))
    ctx = driver.run(module, pipeline)
    assert same_behaviour(before, module, "k")
    assert same_behaviour(before, nvir.read_ptx(nvir.print_ptx(module)), "k")
    old = str(module)
    driver.run(module, pipeline)
    assert str(module) == old
    return module["k"], list(ctx.remarks)


def spellings(f: Any) -> list[str]:
    return [("@" + i.form.guard if i.form.guard is not None else "") + i.form.spelling
            for b in f.blocks for i in b]


def test_one_side(check):
    """The phi becomes a select, and the three blocks one."""
    check("if-convert", """
        ld.param.u32 %r1, [n];
        setp.lt.u32 %p1, %r1, 100;
        @%p1 bra JOIN;
        add.u32 %r1, %r1, 7;
    JOIN:
        st.global.u32 [1024], %r1;
        ret;
    """, """
        ld.param.u32 %r1, [n];
        setp.lt.u32 %p1, %r1, 100;
        add.u32 %r2, %r1, 7;
        selp.b32 %r1, %r1, %r2, %p1;
        st.global.u32 [1024], %r1;
        ret;
    """)


def test_two_sides_with_effects():
    """Memory is touched under the guard of the side, arithmetic is not guarded. The side that the
    branch leads to comes first."""
    f, (remark,) = converted("""
        @!%p1 bra ELSE;
        add.u32 %r3, %r2, 7;
        st.global.u32 [%rd3], %r3;
        bra JOIN;
    ELSE:
        ld.global.u32 %r3, [%rd3+4];
        red.global.add.u32 [%rd3+8], 1;
    JOIN:
        st.global.u32 [%rd3+1024], %r3;
        ret;
    """)
    assert (remark.name, remark.args) == ("IfConverted", {"instructions": 4, "selects": 1})
    assert len(f.blocks) == 1
    assert [s for s in spellings(f) if s[0] == "@"] == [
        "@!ld.global.u32", "@!red.global.add.u32", "@st.global.u32",
    ]
    (select,) = [i for i in f.instructions() if i.form.name == "selp"]
    assert [v.definer.form.name for v in select.operands] == ["add", "ld", "setp"]


def test_inner_branches_come_first():
    """Two branches, one in a side of the other, are both gone."""
    f, remarks = converted("""
        @%p1 bra JOIN;
        add.u32 %r2, %r2, 1;
        setp.gt.u32 %p2, %r2, 1000;
        @%p2 bra INNER;
        xor.b32 %r2, %r2, 5;
    INNER:
        shl.b32 %r2, %r2, 1;
    JOIN:
        st.global.u32 [%rd3], %r2;
        ret;
    """)
    assert [r.name for r in remarks] == ["IfConverted"] * 2
    assert len(f.blocks) == 1


def test_branches_in_both_sides():
    f, remarks = converted("""
        @%p1 bra ELSE;
        setp.gt.u32 %p2, %r2, 1000;
        @%p2 bra A;
        xor.b32 %r2, %r2, 5;
    A:
        add.u32 %r2, %r2, 3;
        bra JOIN;
    ELSE:
        setp.gt.u32 %p2, %r2, 10;
        @%p2 bra B;
        xor.b32 %r2, %r2, 6;
    B:
        add.u32 %r2, %r2, 4;
    JOIN:
        st.global.u32 [%rd3], %r2;
        ret;
    """, "if-convert<limit=20>")
    assert [r.name for r in remarks] == ["IfConverted"] * 3
    assert len(f.blocks) == 1


def test_literals_and_undefined_values():
    """Literals are selected; where a side defines nothing no select is needed."""
    f, (remark,) = converted("""
        mov.f32 %f1, 0f3F800000;
        mov.u32 %r5, 5;
        @%p1 bra JOIN;
        mov.f32 %f1, 0f40000000;
        mov.u32 %r5, 6;
        mov.u32 %r6, 9;
    JOIN:
        st.global.f32 [%rd3], %f1;
        st.global.u32 [%rd3+1024], %r5;
        @!%p1 st.global.u32 [%rd3+2048], %r6;
        ret;
    """, "copy-prop,if-convert")
    assert remark.args["selects"] == 2
    assert [s for s in spellings(f) if s.startswith("selp")] == ["selp.f32", "selp.b32"] or [
        s for s in spellings(f) if s.startswith("selp")] == ["selp.b32", "selp.f32"]


SIDE = """
        @%p1 bra JOIN;
        {}
    JOIN:
        st.global.u32 [%rd3], %r2;
        ret;
"""


@pytest.mark.parametrize(("side", "code", "what"), [
    ("shfl.sync.idx.b32 %r2, %r2, 0, 31, -1;", "CannotPredicate", "shfl.sync.idx.b32"),
    ("membar.gl;", "CannotPredicate", "membar.gl"),
    ("setp.eq.u32 %p3, %r2, 9; @%p3 st.global.u32 [%rd3], 1;", "CannotPredicate", "st.global.u32"),
    ("frob.u32 %r2, %r2;", "CannotPredicate", "frob.u32"),
    ("add.u32 %r2, %r2, 1;\n" * 9, "TooLargeToConvert", 9),
])
def test_sides_that_stay(check, side, code, what):
    """Near misses: nothing changes, and the remark names what is in the way."""
    ctx = check("if-convert", HEAD + SIDE.format(side))
    (remark,) = ctx.remarks
    assert remark.name == code
    assert what in remark.args.values()
    assert remark.line > 0


def test_a_merged_predicate_stays(check):
    text = SIDE.format("setp.eq.u32 %p1, %r2, 9;").replace("st.global", "@%p1 st.global")
    ctx = check("if-convert", HEAD + text)
    assert ctx.remarks[0].name == "CannotSelect"


def test_a_side_with_two_ways_in_stays(check):
    ctx = check("if-convert", HEAD + """
        @%p1 bra SIDE;
        setp.gt.u32 %p2, %r2, 1000;
        @%p2 bra OTHER;
    SIDE:
        add.u32 %r2, %r2, 1;
        bra JOIN;
    OTHER:
        bar.sync 0;
    JOIN:
        st.global.u32 [%rd3], %r2;
        ret;
    """)
    assert "IfConverted" not in {r.name for r in ctx.remarks}


def test_the_limit_counts_selects():
    text = SIDE.format("add.u32 %r2, %r2, 1;")
    assert [r.name for r in converted(text, "if-convert<limit=2>")[1]] == ["IfConverted"]
    assert [r.name for r in converted(text, "if-convert<limit=1>")[1]] == ["TooLargeToConvert"]


@pytest.mark.seed("REL-04")
def test_it_is_phase_63():
    from nvir.passes.phases import phase

    assert phase(63).passes == ("if-convert",)


# --------------------------------------------------------------- any code


@settings(max_examples=12)
@given(st.integers(0, 1 << 31))
def test_random_code(seed: int) -> None:
    module = nvir.read_ptx((wild_kernel if seed % 2 else random_kernel)(seed, 40))
    before = clone_module(module)
    driver = Driver(Settings(verify_each=True, check=True))
    driver.run(module, "if-convert<limit=1000>")
    text = str(module)
    driver.run(module, "if-convert<limit=1000>")
    assert str(module) == text
    same_behaviour(before, module, "k", seed)


@pytest.mark.parametrize("chain", [
    ("if-convert<limit=1000>", "print"), ("print", "if-convert", "loop-simplify", "loop-rotate"),
    ("loop-simplify", "loop-rotate", "if-convert<limit=30>", "clean", "print"),
])
def test_random_kernels_keep_their_behaviour(chain):
    behave_the_same(range(300, 306), chain)


@pytest.mark.oracle
def test_printed_examples_assemble():
    assert assemble(EXAMPLES[::3], "if-convert<limit=30>") > 5


def test_cost_is_linear():
    def work(n: int) -> int:
        ifs = "".join(
            f"setp.lt.u32 %p1, %r2, {k};\n@%p1 bra J{k};\nadd.u32 %r2, %r2, {k};\nJ{k}:\n"
            for k in range(n)
        )
        module = nvir.read_ptx(body(HEAD + ifs + "st.global.u32 [%rd3], %r2;\nret;"))
        made: list[Any] = []
        used = effort(lambda: made.append(Driver(Settings()).run(module, "if-convert")))
        assert made[0].counters["if-convert.branches"] == n
        return used

    assert work(200) < 4 * 1.5 * work(50)
