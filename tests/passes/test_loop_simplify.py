"""Phase 18: canonical loops, and peeling inside it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nvir
from nvir.ir.clone import clone_module
from nvir.ir.function import Function
from nvir.ir.loops import natural_loops
from nvir.passes.context import Context
from nvir.passes.knobs import Knobs
from nvir.passes.loop.region import is_canonical
from nvir.passes.loop.simplify.loop_simplify import Options, run
from nvir.passes.registry import all_passes
from tests.effort import effort
from tests.equivalence import same_behaviour
from tests.kernels import random_kernel
from tests.passes.conftest import (
    EXAMPLES,
    assemble,
    behave_the_same,
    body,
    checked,
    numbered,
)
from tests.passes.test_nvvm_level import build
from tests.wild_kernels import wild_kernel


def simplify(module: Any, pipeline: str = "loop-simplify", **knobs: Any) -> Any:
    return checked(module, pipeline, **knobs)


def names(ctx: Any, kind: str) -> list[str]:
    return [r.name for r in ctx.remarks if r.kind == kind]


def rewrites(pipeline: str, before: str, after: str) -> Any:
    """As `check`, and up to the order of phi entries."""
    module, wanted = nvir.read_ptx(body(before)), nvir.read_ptx(body(after))
    old = clone_module(module)
    ctx = simplify(module, pipeline)
    for m in (module, wanted):
        where = {b: k for f in m.functions for k, b in enumerate(f.blocks)}
        for phi in (i for f in m.functions for i in f.instructions() if i.is_phi):
            pairs = sorted(phi.incoming, key=lambda pair: where[pair[1]])
            phi.set_incoming([v for v, _ in pairs], [b for _, b in pairs])
    assert numbered(module) == numbered(wanted)
    assert same_behaviour(old, module, "k")
    return ctx


CANONICAL = """
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


@pytest.mark.seed("P18-08")
def test_a_canonical_loop_stays(check):
    """Near miss: the entry is its preheader, and its exit is its own."""
    check("loop-simplify", CANONICAL)


@pytest.mark.seed("P18-05", "P18-08")
def test_ways_in_meet_in_a_preheader():
    """Two outside predecessors, with a value each: the phi is split."""
    rewrites("loop-simplify", """
        ld.param.u64 %rd1, [a];
        ld.param.u32 %r1, [n];
        mov.u32 %r2, 0;
        setp.lt.u32 %p2, %r1, 9;
        @%p2 bra LOOP;
        mov.u32 %r2, 5;
    LOOP:
        add.u32 %r2, %r2, 1;
        setp.lt.u32 %p1, %r2, %r1;
        @%p1 bra LOOP;
        st.global.u32 [%rd1], %r2;
        ret;
    """, """
        ld.param.u64 %rd1, [a];
        ld.param.u32 %r1, [n];
        mov.u32 %r2, 0;
        setp.lt.u32 %p2, %r1, 9;
        @%p2 bra PRE;
        mov.u32 %r2, 5;
    PRE:
        bra LOOP;
    LOOP:
        add.u32 %r2, %r2, 1;
        setp.lt.u32 %p1, %r2, %r1;
        @%p1 bra LOOP;
        st.global.u32 [%rd1], %r2;
        ret;
    """)


@pytest.mark.seed("P18-05", "P18-08")
@pytest.mark.parametrize(("changed", "phis"), [("", 1), ("add.u32 %r1, %r1, 1;", 2)])
def test_what_the_loop_leaves_as_it_came_is_no_phi_in_it(changed, phis):
    """Two ways bring a bound, which meets in the preheader; the near miss changes it."""
    module = nvir.read_ptx(body(f"""
        ld.param.u64 %rd1, [a];
        ld.param.u32 %r1, [n];
        mov.u32 %r2, 0;
        setp.lt.u32 %p2, %r1, 9;
        @%p2 bra LOOP;
        mov.u32 %r1, 5;
    LOOP:
        add.u32 %r2, %r2, 2;
        {changed}
        setp.lt.u32 %p1, %r2, %r1;
        @%p1 bra LOOP;
        st.global.u32 [%rd1], %r2;
        ret;
    """))
    old = clone_module(module)
    simplify(module)
    (loop,) = natural_loops(module["k"])
    assert len([*loop.header.phis]) == phis
    assert same_behaviour(old, module, "k")


@pytest.mark.seed("P18-05")
def test_an_entry_that_may_end_the_thread_is_no_preheader():
    """A guarded `exit` before the loop: what is moved to the entry's end would be run by all."""
    guard = "    setp.eq.u32 %p9, %r1, 3;\n    @%p9 exit;\n"
    before = CANONICAL.replace("    bra LOOP;\n", guard)
    rewrites("loop-simplify", before, before.replace("LOOP:\n", "PRE:\n    bra LOOP;\nLOOP:\n"))


TWO_LATCHES = """
    ld.param.u64 %rd1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, 0;
    bra LOOP;
LOOP:
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra LOOP;
    add.u32 %r2, %r2, 3;
    setp.lt.u32 %p2, %r2, 40;
    @%p2 bra LOOP;
    st.global.u32 [%rd1], %r2;
    ret;
"""


@pytest.mark.seed("P18-03")
def test_two_latches_become_one():
    """The back edges meet in a new latch, behind the last of them, and so do the phi's values."""
    module = nvir.read_ptx(body(TWO_LATCHES))
    before = clone_module(module)
    ctx = simplify(module)
    (remark,) = ctx.remarks
    assert (remark.name, remark.loop, remark.args["latches"]) == ("SingleLatch", "LOOP", 2)
    assert remark.line > 0
    (loop,) = natural_loops(module["k"])
    (latch,) = loop.latches
    assert [i.form.name for i in latch] == ["phi", "bra"]
    assert len(latch.preds) == 2
    assert [dict(map(reversed, p.incoming))[latch] for p in loop.header.phis] == list(latch.phis)
    blocks = module["k"].blocks
    assert blocks[blocks.index(latch) - 1] is max(latch.preds, key=blocks.index)
    assert ctx.counters["loop-simplify.latches"] == 1
    assert same_behaviour(before, module, "k")


@pytest.mark.seed("P18-04", "KNB-20")
def test_the_knob_leaves_only_the_latch():
    """LoopMakeSingleEntry off: latches merge, ways in do not."""
    two_ways = "    @%p5 bra LOOP;\n    mov.u32 %r2, 3;\nLOOP:"
    text = body(TWO_LATCHES.replace("    bra LOOP;\nLOOP:", two_ways))
    on, off = nvir.read_ptx(text), nvir.read_ptx(text)
    assert names(simplify(on), "passed") == ["SingleLatch", "Preheader"]
    assert names(simplify(off, LoopMakeSingleEntry=False), "passed") == ["SingleLatch"]
    (loop,) = natural_loops(off["k"])
    assert len(loop.latches) == 1
    assert len(loop.entries) == 2


def test_a_shared_exit_becomes_the_loops_own(check):
    """The way around the loop and the way out of it meet in DONE."""
    ctx = check("loop-simplify", """
        ld.param.u64 %rd1, [a];
        ld.param.u32 %r1, [n];
        setp.eq.u32 %p2, %r1, 0;
        mov.u32 %r2, 0;
        @%p2 bra DONE;
        bra LOOP;
    LOOP:
        add.u32 %r2, %r2, 1;
        setp.lt.u32 %p1, %r2, %r1;
        @%p1 bra LOOP;
    DONE:
        st.global.u32 [%rd1], %r2;
        ret;
    """, """
        ld.param.u64 %rd1, [a];
        ld.param.u32 %r1, [n];
        setp.eq.u32 %p2, %r1, 0;
        mov.u32 %r2, 0;
        @%p2 bra DONE;
        bra LOOP;
    LOOP:
        add.u32 %r2, %r2, 1;
        setp.lt.u32 %p1, %r2, %r1;
        @%p1 bra LOOP;
    EXIT:
        bra DONE;
    DONE:
        st.global.u32 [%rd1], %r2;
        ret;
    """)
    assert ctx.counters["loop-simplify.exits"] == 1
    (remark,) = ctx.remarks
    assert (remark.name, remark.loop, remark.args["edges"]) == ("OwnExit", "LOOP", 1)


@pytest.mark.seed("P18-05", "P18-09")
def test_an_exit_that_is_the_next_loops_entry_gets_one_block():
    module = nvir.read_ptx(body("""
        ld.param.u32 %r1, [n];
        mov.u32 %r2, 0;
        bra A;
    A:
        add.u32 %r2, %r2, 1;
        setp.lt.u32 %p1, %r2, %r1;
        @%p1 bra A;
    B:
        add.u32 %r2, %r2, 2;
        setp.lt.u32 %p1, %r2, 100;
        @%p1 bra B;
        ret;
    """))
    ctx = simplify(module)
    assert names(ctx, "passed") == ["Preheader"]
    assert {k.partition(".")[2]: n for k, n in ctx.counters.items() if n} == {"preheaders": 1}
    assert len(module["k"].blocks) == 5
    assert all(map(is_canonical, natural_loops(module["k"])))


@pytest.mark.seed("P18-06")
def test_an_irreducible_region_is_reported(check):
    ctx = check("loop-simplify", """
        ld.param.u64 %rd1, [a];
        ld.param.u32 %r1, [n];
        setp.eq.u32 %p2, %r1, 0;
        @%p2 bra B;
    A:
        add.u32 %r1, %r1, 1;
    B:
        setp.lt.u32 %p1, %r1, 40;
        @%p1 bra A;
        ret;
    """)
    (remark,) = ctx.remarks
    assert (remark.kind, remark.name) == ("missed", "Irreducible")
    assert remark.args == {"target": "B", "source": "A"} or remark.args["target"] == "A"


@pytest.mark.seed("P18-07")
def test_no_block_where_lanes_may_part_in_convergent_code():
    """The flag of the function, or the option, forbids it; a uniform branch stays splittable."""
    divergent = TWO_LATCHES.replace("ld.param.u32 %r1, [n]", "mov.u32 %r1, %tid.x")
    for text, flag, merged in (
        (divergent, True, False), (divergent, False, True), (TWO_LATCHES, True, True),
    ):
        module = nvir.read_ptx(body(text))
        if flag:
            module["k"].flags.add("convergent")
        ctx = simplify(module)
        assert (len(natural_loops(module["k"])[0].latches) == 1) == merged
        assert ("ConvergentContext" in names(ctx, "missed")) == (not merged)
    module = nvir.read_ptx(body(divergent))
    assert names(simplify(module, "loop-simplify<convergent>"), "missed") == ["ConvergentContext"]


@pytest.mark.seed("P18-01")
def test_the_enabling_flag(check):
    check("loop-simplify<no-enable>", TWO_LATCHES)


@pytest.mark.seed("P18-01", "P18-08")
@pytest.mark.parametrize(("text", "enable", "changed"), [
    ("ret;", True, False), (TWO_LATCHES, False, False), (CANONICAL, True, False),
    (TWO_LATCHES, True, True)])
def test_what_is_said_to_change(text, enable, changed):
    module = nvir.read_ptx(body(text))
    module["k"].analyze_cfg()
    ctx = Context(module, Knobs())
    ctx.pass_, ctx.options = all_passes()["loop-simplify"], Options(enable=enable)
    assert run(module["k"], ctx) is changed


def test_a_loop_with_an_unknown_operation_stays(check):
    ctx = check("loop-simplify", TWO_LATCHES.replace("add.u32 %r2, %r2, 3;", "frob.u32 %r2, %r2;"))
    assert names(ctx, "missed") == ["UnknownOperation"]
    assert ctx.remarks[0].args["what"] == "frob.u32"


@pytest.mark.seed("P18-02", "GAP-16")
def test_levels_four_and_five_peel_and_two_does_not():
    counts = {}
    for options in ("level=2", "level=4", "level=5", "peel", "level=2;peel"):
        module = nvir.read_ptx(body(CANONICAL))
        before = clone_module(module)
        ctx = simplify(module, f"loop-simplify<{options}>")
        counts[options] = names(ctx, "passed").count("Peeled")
        assert same_behaviour(before, module, "k")
    assert counts == {"level=2": 0, "level=4": 1, "level=5": 1, "peel": 1, "level=2;peel": 1}


@pytest.mark.seed("P18-02")
@pytest.mark.parametrize("knobs", [{}, {"LoopMakeSingleEntry": False}])
def test_what_is_peeled_may_have_several_ways_in_and_latches(knobs):
    two_ways = "    @%p5 bra LOOP;\n    mov.u32 %r2, 3;\nLOOP:"
    module = nvir.read_ptx(body(TWO_LATCHES.replace("    bra LOOP;\nLOOP:", two_ways)))
    before = clone_module(module)
    ctx = simplify(module, "loop-simplify<level=4>", **knobs)
    assert names(ctx, "passed")[:2] == ["Peeled", "SingleLatch"]
    assert same_behaviour(before, module, "k")


@pytest.mark.seed("REL-01", "PIP-01")
def test_it_is_phase_18():
    from nvir.passes.phases import ORI_ORDER, phase

    assert "loop-simplify" in phase(18).passes
    assert phase("OriLoopSimplification").number == 18
    assert ORI_ORDER.index(18) < ORI_ORDER.index(21) < ORI_ORDER.index(22)


@pytest.mark.seed("P18-08")
@pytest.mark.parametrize(("given", "phis"), [("b", 0), ("a", 1)])
def test_a_phi_that_was_another_which_came_as_it_was_is_no_phi_either(given, phis):
    """The first holds the second's value until that is gone; the near miss holds another."""
    m = build(f"""
        entry:
          t: i1 = icmp slt a b
          br t loop other
        other:
          br loop
        loop:
          x: i32 = phi b@entry b@other y@loop
          y: i32 = phi {given}@entry {given}@other y@loop
          u: i1 = icmp slt x a
          br u loop done
        done:
          ret x
    """)
    simplify(m)
    (loop,) = natural_loops(m["f"])
    assert len([*loop.header.phis]) == phis


def test_the_nvvm_level():
    """The same code by the rows of the other table: its own branch, its own phi."""
    m = build("""
        entry:
          t: i1 = icmp slt a b
          br t loop other
        other:
          br loop
        loop:
          i: i32 = phi a@entry b@other j@loop k@more
          j: i32 = add i a
          u: i1 = icmp slt j b
          br u loop more
        more:
          k: i32 = add j b
          v: i1 = icmp slt k a
          br v loop done
        done:
          ret k
    """)
    ctx = simplify(m)
    assert names(ctx, "passed") == ["SingleLatch", "Preheader"]
    assert canonical(m["f"])


# ------------------------------------------------------------- any code


def canonical(f: Function) -> bool:
    return all(is_canonical(x) for x in natural_loops(f))


@settings(max_examples=15)
@given(st.integers(0, 1 << 31))
def test_every_loop_of_random_code_becomes_canonical(seed: int) -> None:
    """Irreducible regions included, as far as loops lie in or around them."""
    module = nvir.read_ptx((wild_kernel if seed % 2 else random_kernel)(seed, 40))
    before = clone_module(module)
    simplify(module)
    assert all(map(canonical, module.functions))
    text = str(module)
    simplify(module)
    assert str(module) == text
    same_behaviour(before, module, "k", seed)


@pytest.mark.parametrize("chain", [
    ("loop-simplify<peel>",), ("print", "loop-simplify", "print"),
    ("loop-simplify<convergent;peel>", "clean", "print"),
])
def test_random_kernels_keep_their_behaviour(chain):
    behave_the_same(range(6), chain)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples(path):
    module = nvir.read_ptx(path.read_text())
    simplify(module)
    for f in module.functions:
        assert f.is_declaration or canonical(f)
    text = nvir.print_ptx(module)
    again = nvir.read_ptx(text)
    nvir.verify(again)


@pytest.mark.oracle
def test_printed_examples_assemble():
    assert assemble(EXAMPLES[::4], "loop-simplify<peel>") > 0


# ----------------------------------------------------------------- speed


def chain_of_loops(n: int, latches: int) -> str:
    """A kernel of n loops in a row, each of 40 instructions."""
    out = ["ld.param.u64 %rd1, [a];\nld.param.u32 %r1, [n];\nmov.u32 %r2, 0;\nbra L0;"]
    for k in range(n):
        out.append(f"L{k}:\n" + "add.u32 %r2, %r2, 1;\n" * 36)
        out += [f"setp.lt.u32 %p1, %r2, %r1;\n@%p1 bra L{k};"] * latches
        out.append(f"bra L{k + 1};")
    return body("\n".join([*out, f"L{n}:\nst.global.u32 [%rd1], %r2;\nret;"]))


def work(text: str) -> tuple[int, int]:
    from nvir.passes.loop.simplify import loop_simplify

    module = nvir.read_ptx(text)
    f = module["k"]
    f.analyze_cfg()
    ctx = Context(module, Knobs())
    ctx.pass_, ctx.options = all_passes()["loop-simplify"], loop_simplify.Options()
    return effort(lambda: loop_simplify.run(f, ctx)), sum(map(len, f.blocks))


def test_where_nothing_is_to_be_done_it_looks_at_blocks_alone():
    spent, size = work(chain_of_loops(100, 1))
    assert spent < 7 * size


def test_cost_is_linear():
    assert work(chain_of_loops(160, 2))[0] < 4 * 1.5 * work(chain_of_loops(40, 2))[0]
