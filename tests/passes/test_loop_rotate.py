"""Rotation: loops tested at their head become guarded loops tested at their end."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nvir
from nvir.analysis.induction import trip_count
from nvir.ir.clone import clone_module
from nvir.ir.loops import natural_loops
from nvir.passes.loop.region import is_canonical
from nvir.passes.loop.simplify import rotation as rotate_apply
from tests.equivalence import same_behaviour
from tests.kernels import random_kernel
from tests.passes.conftest import EXAMPLES, assemble, behave_the_same, body, checked
from tests.passes.test_nvvm_level import build
from tests.wild_kernels import wild_kernel

BOTH = "loop-simplify,loop-rotate"


def run(module: Any, pipeline: str = BOTH, **knobs: Any) -> Any:
    return checked(module, pipeline, **knobs)


def rotated(text: str, pipeline: str = BOTH, **knobs: Any) -> tuple[Any, dict[str, Any]]:
    """The module after the pipeline, and the remarks of loop-rotate by name. Behaviour is equal, a
    second run finds nothing to do."""
    module = nvir.read_ptx(body(text))
    before = clone_module(module)
    ctx = run(module, pipeline, **knobs)
    assert same_behaviour(before, module, "k")
    assert same_behaviour(before, nvir.read_ptx(nvir.print_ptx(module)), "k")
    old = str(module)
    run(module, BOTH, **knobs)
    assert str(module) == old
    return module["k"], {r.name: r for r in ctx.remarks if r.pass_name == "loop-rotate"}


WHILE = """
    ld.param.u64 %rd1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, 0;
    mov.u32 %r3, 1;
    mov.u32 %r4, 2;
    bra LOOP;
LOOP:
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 bra DONE;
    add.u32 %r2, %r2, 1;
    mov.u32 %r5, %r3;
    mov.u32 %r3, %r4;
    add.u32 %r4, %r5, %r2;
    bra LOOP;
DONE:
    st.global.v2.u32 [%rd1], {%r3, %r4};
    ret;
"""


@pytest.mark.seed("GAP-48")
def test_a_while_loop_becomes_a_guarded_do_while():
    """One block is left of the loop; values that trade places in the header's phis do so still."""
    f, remarks = rotated(WHILE)
    (loop,) = natural_loops(f)
    assert loop.blocks == [loop.header] == loop.latches
    assert is_canonical(loop)
    (guard,) = loop.preheader.preds
    assert len(guard.succs) == 2
    assert sum(i.form.name == "setp" for i in f.instructions()) == 2
    r = remarks["Rotated"]
    assert (r.loop, r.args) == ("LOOP", {"header": "LOOP", "instructions": 2})


def test_the_trip_count_stays_known():
    text = WHILE.replace("ld.param.u32 %r1, [n]", "mov.u32 %r1, 13")
    f, _ = rotated(text, BOTH + ",clean")
    count = trip_count(natural_loops(f)[0])
    assert count is not None
    assert count.count == 13


DO_WHILE = """
    ld.param.u64 %rd1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, 0;
    bra LOOP;
LOOP:
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra LOOP;
    st.global.u32 [%rd1], %r2;
    ret;
"""


def test_a_loop_tested_at_its_end_stays(check):
    """Near miss: a loop of one block, whose header is its latch."""
    ctx = check(BOTH, DO_WHILE)
    assert [(r.kind, r.name) for r in ctx.remarks] == [("analysis", "TestAtEnd")]


def test_a_loop_with_both_tests_stays(check):
    ctx = check(BOTH, """
        ld.param.u32 %r1, [n];
        mov.u32 %r2, 0;
        bra LOOP;
    LOOP:
        setp.eq.u32 %p2, %r2, 77;
        @%p2 bra OUT;
        add.u32 %r2, %r2, 1;
        setp.lt.u32 %p1, %r2, %r1;
        @%p1 bra LOOP;
    OUT:
        ret;
    """)
    assert [r.name for r in ctx.remarks if r.pass_name == "loop-rotate"] == ["TestAtEnd"]


def test_a_loop_without_end_has_no_test(check):
    ctx = check(BOTH, """
        ld.param.u32 %r1, [n];
        bra LOOP;
    LOOP:
        add.u32 %r1, %r1, 1;
        setp.lt.u32 %p1, %r1, 100;
        @%p1 exit;
        bra LOOP;
    """)
    assert [r.name for r in ctx.remarks] == ["NoTestInHeader"]


@pytest.mark.seed("KNB-21")
def test_the_knob_switches_it_off():
    f, remarks = rotated(WHILE, LoopInversion=False)
    assert list(remarks) == ["InversionDisabled"]
    assert len(natural_loops(f)[0].blocks) == 2


@pytest.mark.seed("KNB-22")
def test_the_budget_is_the_headers_size():
    """The test and the branch: two instructions."""
    _, tight = rotated(WHILE, LoopInversionBudget=1)
    assert tight["HeaderTooLarge"].args == {"instructions": 2, "budget": 1}
    _, enough = rotated(WHILE, LoopInversionBudget=2)
    assert "Rotated" in enough


@pytest.mark.seed("KNB-23")
def test_peeling_goes_with_it():
    f, remarks = rotated(WHILE, LoopPeelInversion=True)
    assert {"Rotated", "Peeled"} <= set(remarks)
    assert sum(i.form.name == "setp" for i in f.instructions()) == 3


def test_barriers_in_the_header_forbid_it():
    """A barrier before the test stays where all lanes come by; in the body it may stay as well."""
    before = WHILE.replace("LOOP:\n", "LOOP:\n    bar.sync 0;\n")
    _, remarks = rotated(before)
    assert remarks["ConvergentOperation"].args == {"done": "rotated", "what": "bar.sync"}
    inside = WHILE.replace("    mov.u32 %r5", "    bar.sync 0;\n    mov.u32 %r5")
    _, remarks = rotated(inside)
    assert "Rotated" in remarks


@pytest.mark.seed("P18-09")
def test_a_loop_that_is_not_canonical_is_left_with_the_reason():
    """Two ways in."""
    module = nvir.read_ptx(body(WHILE.replace(
        "    bra LOOP;\nLOOP:",
        "    setp.eq.u32 %p7, %r1, 3;\n    @%p7 bra LOOP;\n    mov.u32 %r2, 1;\nLOOP:",
    )))
    ctx = run(module, "loop-rotate")
    assert [r.name for r in ctx.remarks] == ["NotCanonical"]
    assert len(natural_loops(module["k"])[0].blocks) == 2


def test_the_pragma_goes_with_the_loop():
    """`nounroll` holds after the label of the loop, wherever that is now."""
    f, _ = rotated(WHILE.replace("LOOP:\n", 'LOOP:\n    .pragma "nounroll";\n'))
    (loop,) = natural_loops(f)
    assert any("nounroll" in p for p in loop.header.pragmas)
    assert sum(bool(b.pragmas) for b in f.blocks) == 1


def test_nested_loops_are_rotated_at_once():
    f, _ = rotated("""
        ld.param.u64 %rd1, [a];
        ld.param.u32 %r1, [n];
        mov.u32 %r2, 0;
        mov.u32 %r4, 0;
        bra OUTER;
    OUTER:
        setp.ge.u32 %p1, %r2, %r1;
        @%p1 bra DONE;
        mov.u32 %r3, 0;
    INNER:
        add.u32 %r5, %r2, 1;
        setp.ge.u32 %p2, %r3, %r5;
        @%p2 bra NEXT;
        add.u32 %r3, %r3, 1;
        mad.lo.u32 %r4, %r4, 3, %r5;
        bra INNER;
    NEXT:
        add.u32 %r2, %r2, 1;
        bra OUTER;
    DONE:
        st.global.u32 [%rd1], %r4;
        ret;
    """)
    loops = natural_loops(f)
    assert [x.depth for x in loops] == [1, 2]
    assert all(map(is_canonical, loops))
    assert all(any(s is x.header for s in x.latches[0].succs) for x in loops)
    assert all(len(x.latches[0].succs) == 2 for x in loops)


def test_the_nvvm_level():
    m = build("""
        entry:
          br head
        head:
          i: i32 = phi a@entry j@body
          u: i1 = icmp slt i b
          br u body done
        body:
          j: i32 = add i i
          br head
        done:
          ret i
    """)
    ctx = run(m)
    assert [r.name for r in ctx.remarks if r.kind == "passed"] == ["Rotated"]
    (loop,) = natural_loops(m["f"])
    assert loop.latches == [loop.header]


# --------------------------------------------------------------- any code


@settings(max_examples=12)
@given(st.integers(0, 1 << 31))
def test_random_code(seed: int) -> None:
    """Canonical loops stay canonical, and none that could be rotated is left."""
    module = nvir.read_ptx((wild_kernel if seed % 2 else random_kernel)(seed, 40))
    before = clone_module(module)
    run(module, BOTH, LoopInversionBudget=10_000)
    for f in module.functions:
        assert all(map(is_canonical, natural_loops(f)))
    ctx = run(module, "loop-rotate", LoopInversionBudget=10_000)
    assert not [r for r in ctx.remarks if r.kind == "passed"]
    same_behaviour(before, module, "k", seed)


@pytest.mark.parametrize("seed", range(6))
def test_one_exit_gives_what_the_general_repair_gives(seed, monkeypatch):
    """A loop of one exit is rotated without SSA repair; the code is the same."""
    text = (wild_kernel if seed % 2 else random_kernel)(900 + seed, 60)
    direct, general = nvir.read_ptx(text), nvir.read_ptx(text)
    one = run(direct, BOTH, LoopInversionBudget=10_000)
    monkeypatch.setattr(rotate_apply, "_only_exit", lambda plan, home: None)
    other = run(general, BOTH, LoopInversionBudget=10_000)
    assert str(direct) == str(general)
    assert list(map(str, one.remarks)) == list(map(str, other.remarks))


def test_a_literal_that_enters_keeps_a_phi_of_its_own():
    """Not every operand takes a literal: in the copy of the header it is a phi of one entry."""
    module = nvir.read_ptx(body(WHILE))
    loop = natural_loops(module["k"])[0]
    for phi in loop.header.phis:
        start = next(k for k, b in enumerate(phi.aux) if b not in loop)
        if phi.operands[start].form.name == "mov":
            phi.set_operand(start, phi.operands[start].operands[0])
    before = clone_module(module)
    run(module)
    ones = [p for b in module["k"].blocks for p in b.phis if len(p.operands) == 1]
    assert ones
    assert all(p.operands[0].is_constant for p in ones)
    assert same_behaviour(before, module, "k")


@pytest.mark.parametrize("chain", [
    (BOTH,), ("print", BOTH, "print"), (BOTH, "loop-peel", "clean", "print"),
])
def test_random_kernels_keep_their_behaviour(chain):
    behave_the_same(range(50, 55), chain)


@pytest.mark.oracle
def test_printed_examples_assemble():
    assert assemble(EXAMPLES[1::4], BOTH, LoopPeelInversion=True) > 0


PIPELINES = (
    "loop-simplify<peel>,loop-rotate,loop-peel",
    "if-convert<limit=40>,loop-simplify,loop-rotate,split-live-ranges<limit=0>,phi-moves,"
    "hot-cold-in-loop",
)


@pytest.mark.parametrize("path", [
    pytest.param(p, id=p.stem, marks=() if k % 7 == 0 else pytest.mark.slow)
    for k, p in enumerate(EXAMPLES)
])
def test_examples_keep_their_behaviour(path):
    """All that phases 18, 19, 23, 63 and 108 do here, printed and read again."""
    for pipeline in PIPELINES:
        module = nvir.read_ptx(path.read_text())
        before = clone_module(module)
        run(module, pipeline)
        again = nvir.read_ptx(nvir.print_ptx(module))
        for f in before.functions:
            if f.is_kernel:
                same_behaviour(before, again, f.name, 1, grid=(1,), block=(32,))
