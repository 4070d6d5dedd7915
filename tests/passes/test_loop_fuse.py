"""Phase 59: neighbouring loops that count alike become one."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

import nvir
from nvir.analysis.affine import Affine, Term
from nvir.ir import B32, Instruction, form
from nvir.ir.clone import clone_module
from nvir.ir.loops import natural_loops
from nvir.passes.context import Context
from nvir.passes.driver import Driver, Settings
from nvir.passes.knobs import Knobs
from nvir.passes.loop.fuse.loop_fuse import Options, _is_plain, run
from nvir.passes.loop.fuse.plan import _exact
from nvir.passes.phases import ORI_ORDER, phase
from tests.equivalence import same_behaviour
from tests.passes.conftest import body

EXAMPLES = Path(__file__).parents[2] / "examples" / "ptx"
ON = {"PerformLoopFusion": 1}
HEAD = """
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.param.u32 %r50, [n];
    mov.u32 %r51, %tid.x;
    mul.wide.u32 %rd20, %r51, 256;
    add.s64 %rd1, %rd1, %rd20;
    add.s64 %rd2, %rd2, %rd20;
"""


def loop(
    k: int, work: str, start: str = "0", bound: str = "10", step: int = 1, compare: str = "lt.s32"
) -> str:
    """Loop k counts %r<k> and steps %rd<10+k>, which begins at the array a, by 4 bytes."""
    return f"""
        mov.u32 %r{k}, {start};
        mov.u64 %rd1{k}, %rd1;
    L{k}:
        {work}
        add.s64 %rd1{k}, %rd1{k}, 4;
        add.s32 %r{k}, %r{k}, {step};
        setp.{compare} %p{k}, %r{k}, {bound};
        @%p{k} bra L{k};
    """


def fused(
    text: str, pipeline: str = "loop-simplify,loop-fuse", knobs: dict[str, Any] | None = None,
    runs: bool = True,
) -> tuple[Any, list[Any]]:
    """(kernel, remarks of loop-fuse) of a body behind HEAD, checked in the interpreter."""
    module = nvir.read_ptx(body(HEAD + text))
    before = clone_module(module)
    driver = Driver(Settings(verify_each=True, check=True))
    ctx = driver.run(module, pipeline, knobs=ON if knobs is None else knobs)
    if runs:
        assert same_behaviour(before, module, "k")
        assert same_behaviour(before, nvir.read_ptx(nvir.print_ptx(module)), "k")
    return module["k"], [r for r in ctx.remarks if r.pass_name == "loop-fuse"]


LOAD = "ld.global.u32 %r2{k}, [%rd1{k}];"
STORE = "add.u32 %r2{k}, %r2{k}, {c}; st.global.u32 [%rd1{k}{at}], %r2{k};"
USE = "st.global.u32 [%rd2+{at}], %r2{k};"
END = "ret;"


def copies(k: int, at: str = "", c: int = 3, **shape: Any) -> str:
    """A loop that adds c to the elements of a and stores them, `at` bytes further."""
    return loop(k, LOAD.format(k=k) + STORE.format(k=k, c=c, at=at), **shape)


def reads(k: int, at: str = "", **shape: Any) -> str:
    """A loop that sums the elements of a that are `at` bytes further, and stores the sum in b."""
    work = f"ld.global.u32 %r2{k}, [%rd1{k}{at}]; add.u32 %r3{k}, %r3{k}, %r2{k};"
    return f"mov.u32 %r3{k}, 0;" + loop(k, work, **shape)


def stored(k: int) -> str:
    return f"st.global.u32 [%rd2+{4 * k}], %r3{k};"


TOP_TESTED = """
    mov.u32 %r2, 0;
H:
    setp.ge.s32 %p2, %r2, 10;
    @%p2 bra E;
    add.s32 %r2, %r2, 1;
    bra H;
E:
    ret;
"""
PAIR = copies(1) + reads(2) + stored(2) + END


def loops(f: Any) -> int:
    f.analyze_cfg()
    return len(natural_loops(f))


# --------------------------------------------------------------------- gates


@pytest.mark.seed("FUS-01", "KNB-91")
@pytest.mark.parametrize("policy", ["documented", "observed"])
def test_by_default_nothing_happens(policy: str) -> None:
    module = nvir.read_ptx(body(HEAD + PAIR))
    Driver(Settings(verify_each=True, check=True)).run(module, "loop-simplify")
    text = str(module)
    ctx = nvir.run_passes(module, "loop-fuse", policy=policy)
    assert str(module) == text
    assert not list(ctx)


@pytest.mark.seed("FUS-01", "KNB-91")
def test_the_gates() -> None:
    assert loops(fused(PAIR)[0]) == 1
    assert loops(fused(PAIR, knobs={"PerformLoopFusion": 0})[0]) == 2
    f, remarks = fused(PAIR, "loop-fuse", knobs={**ON, "LoopMakeSingleEntry": False})
    assert [r.name for r in remarks] == ["FusionGated"]
    assert loops(f) == 2
    assert not fused("ret;", runs=False)[1]


@pytest.mark.seed("FUS-01")
def test_behind_a_closed_gate_nothing_is_said_to_change() -> None:
    module = nvir.read_ptx(body(HEAD + PAIR))
    nvir.run_passes(module, "loop-simplify")
    ctx = Context(module, Knobs({"PerformLoopFusion": 0}))
    ctx.options = Options()
    assert run(module["k"], ctx) is False


@pytest.mark.seed("FUS-02", "FUS-13")
def test_the_candidates_are_noted_and_counted() -> None:
    """What the passes keep for themselves ends with them: a second run starts anew."""
    module = nvir.read_ptx(body(HEAD + PAIR + copies(3) + END))
    driver = Driver(Settings(verify_each=True))
    ctx = driver.run(module, "loop-simplify,loop-fuse<apply=false>", knobs=ON)
    assert ctx.counters["loop-fuse.candidates"] == 1
    assert ctx.counters["loop-fuse.fused"] == 0
    again = driver.run(module, "loop-fuse<apply=false>", knobs=ON)
    assert again.counters["loop-fuse.candidates"] == 1
    assert driver.run(module, "loop-fuse", knobs=ON).counters["loop-fuse.fused"] == 1


@pytest.mark.seed("FUS-14")
def test_without_the_second_pass_nothing_is_fused() -> None:
    """Legality is asked all the same."""
    f, remarks = fused(PAIR, "loop-simplify,loop-fuse<apply=false>")
    assert loops(f) == 2
    assert [r.name for r in remarks] == ["Fusible"]
    _, remarks = fused(copies(1) + reads(2, "+4") + stored(2) + END,
                       "loop-simplify,loop-fuse<apply=false>")
    assert [r.name for r in remarks] == ["MemoryDependence"]
    assert remarks[0].args["distance"] == 1


# ----------------------------------------------------------------- adjacency


@pytest.mark.seed("FUS-04", "FUS-06")
def test_blocks_that_only_jump_are_followed() -> None:
    text = copies(1) + "bra E1; E1: bra E2; E2: bra E3; E3:" + reads(2) + stored(2) + END
    f, remarks = fused(text)
    assert [r.name for r in remarks] == ["Fused"]
    assert loops(f) == 1


@pytest.mark.seed("FUS-06")
def test_loops_on_two_sides_of_a_branch_are_no_neighbours() -> None:
    text = f"""
        setp.gt.u32 %p9, %r51, 4;
        @%p9 bra OTHER;
        {copies(1)}
        bra END;
    OTHER:
        {copies(2)}
    END:
        ret;
    """
    f, remarks = fused(text)
    assert [r.name for r in remarks] == ["NotAdjacent"]
    assert loops(f) == 2


@pytest.mark.seed("FUS-03", "GAP-26")
def test_loops_in_a_loop_and_beside_each_other() -> None:
    """Siblings in an outer loop and at top level; the outer loop is no sibling of the inner."""
    inner = copies(1) + reads(2) + stored(2)
    text = f"""
        mov.u32 %r9, 0;
    OUT:
        {inner}
        add.s32 %r9, %r9, 1;
        setp.lt.s32 %p9, %r9, 3;
        @%p9 bra OUT;
        {copies(3)}{copies(4, c=5)}
        ret;
    """
    f, remarks = fused(text)
    assert [r.name for r in remarks if r.kind == "passed"] == ["Fused"] * 2
    assert loops(f) == 3


@pytest.mark.seed("FUS-03")
def test_a_parent_that_is_entered_sideways() -> None:
    """Control flow that is irreducible in the loop around keeps its loops as they are."""
    text = f"""
        mov.u32 %r9, 0;
    OUT:
        setp.gt.u32 %p8, %r51, 4;
        @%p8 bra SIDE;
    BACK:
        add.s32 %r49, %r9, 1;
        setp.gt.u32 %p7, %r9, 1;
        @%p7 bra GO;
    SIDE:
        add.s32 %r48, %r9, 1;
        setp.gt.u32 %p6, %r9, 5;
        @%p6 bra BACK;
    GO:
        {copies(1)}{reads(2)}{stored(2)}
        add.s32 %r9, %r9, 1;
        setp.lt.s32 %p9, %r9, 3;
        @%p9 bra OUT;
        ret;
    """
    _, remarks = fused(text)
    assert [r.name for r in remarks] == ["IrreducibleParent"]


@pytest.mark.seed("FUS-05")
def test_a_cold_block_ends_the_search() -> None:
    def run(pipeline: str) -> list[str]:
        module = nvir.read_ptx(body(HEAD + PAIR))
        driver = Driver(Settings(verify_each=True))
        driver.run(module, "loop-simplify")
        k = module["k"]
        first = natural_loops(k)[0]
        first.exits[0][1].flags |= {"cold"}
        ctx = driver.run(module, pipeline, knobs=ON)
        return [r.name for r in ctx.remarks]

    assert run("loop-fuse") == ["ColdBlock"]
    assert run("loop-fuse<allow-cold>") == ["Fused"]


@pytest.mark.parametrize(
    ("between", "code"),
    [
        ("st.global.u32 [%rd2+64], %r51;", "CodeBetween"),
        ("bar.sync 0;", "CodeBetween"),
        ("membar.gl;", "CodeBetween"),
        ("fence.acq_rel.gpu;", "CodeBetween"),
        ("atom.global.add.u32 %r45, [%rd2+64], 1;", "CodeBetween"),
        ("ld.volatile.global.u32 %r45, [%rd2+64];", "CodeBetween"),
        ("add.u32 %r45, %r51, 4;", "Fused"),
        ("add.u32 %r45, %r1, 4;", "Fused"),
    ],
)
@pytest.mark.seed("FUS-18")
def test_code_between(between: str, code: str) -> None:
    """Effects keep the loops apart; what is pure goes before the loop, or behind it if it must."""
    text = copies(1) + between + reads(2) + stored(2) + "st.global.u32 [%rd2+32], %r45;" + END
    f, remarks = fused("mov.u32 %r45, 0;" + text)
    assert [r.name for r in remarks] == [code]
    assert loops(f) == (1 if code == "Fused" else 2)


@pytest.mark.seed("FUS-18")
def test_a_load_between_goes_where_no_store_is() -> None:
    """b is not stored to in the first loop's memory only if it is known not to be."""
    load = "ld.global.u32 %r45, [%rd1+{at}];"
    tail = "st.global.u32 [%rd2+32], %r45;" + END
    _, remarks = fused(copies(1) + load.format(at=128) + reads(2) + stored(2) + tail)
    assert [r.name for r in remarks] == ["Fused"]  # behind: the second loop stores nothing
    for between, name in ((load.format(at=8), "CodeBetween"),
                          ("ld.shared.u32 %r45, [tile];", "Fused")):
        _, remarks = fused(copies(1) + between + copies(2) + tail)
        assert [r.name for r in remarks] == [name]


@pytest.mark.parametrize(
    "operation",
    ["bar.sync 0;", "membar.cta;", "shfl.sync.idx.b32 %r40, %r51, 0, 31, -1;",
     "ld.volatile.global.u32 %r40, [%rd2];", "nanosleep.u32 20;", "brkpt;",
     "call (%r40), callee, (%r51);"],
)
@pytest.mark.seed("FUS-18")
def test_ordered_operations_in_a_body(operation: str) -> None:
    text = copies(1) + loop(2, operation) + END
    _, remarks = fused(text, runs="call" not in operation)
    assert [r.name for r in remarks] == ["OrderedOperation"]


# ------------------------------------------------------ shape, size, trip count


@pytest.mark.seed("FUS-08")
def test_the_latch_is_a_conditional_branch() -> None:
    """A loop that is tested at its head is none that ends in one."""
    text = copies(1) + TOP_TESTED
    _, remarks = fused(text)
    assert [r.name for r in remarks] == ["TestNotAtEnd"]
    _, remarks = fused(text, "loop-simplify,loop-rotate,const-fold,loop-simplify,loop-fuse")
    assert [r.name for r in remarks] == ["Fused"]


@pytest.mark.seed("FUS-08")
def test_a_latch_that_jumps_by_a_table_is_no_conditional_branch() -> None:
    table = "ts: .branchtargets L2, E2; and.b32 %r44, %r51, 0; brx.idx %r44, ts; E2:"
    text = copies(1) + reads(2).replace("@%p2 bra L2;", table) + stored(2) + END
    _, remarks = fused(text, runs=False)
    assert [r.name for r in remarks] == ["LatchNotConditional"]


def test_a_break_keeps_the_loops_apart() -> None:
    work = "setp.eq.u32 %p8, %r1, 7; @%p8 bra X;"
    _, remarks = fused(loop(1, work) + "X:" + reads(2) + stored(2) + END)
    assert [r.name for r in remarks] == ["SeveralExits"]


@pytest.mark.seed("FUS-09", "FUS-12", "KNB-92")
def test_the_budget_is_the_largest_size() -> None:
    _, remarks = fused(PAIR)
    size = remarks[0].args["instructions"]
    for budget, name in ((size, "Fused"), (size - 1, "OverFusionBudget")):
        _, remarks = fused(PAIR, knobs={**ON, "PerformLoopFusionBudget": float(budget)})
        assert [r.name for r in remarks] == [name]


@pytest.mark.seed("FUS-07")
def test_each_body_has_a_limit() -> None:
    """Its instructions, no phis."""
    for option, name in (("first-limit=7", "Fused"), ("first-limit=6", "TooLarge"),
                         ("second-limit=6", "Fused"), ("second-limit=5", "TooLarge")):
        _, remarks = fused(PAIR, f"loop-simplify,loop-fuse<{option}>")
        assert [r.name for r in remarks] == [name]


@pytest.mark.seed("FUS-15")
@pytest.mark.parametrize(
    ("one", "other", "name"),
    [
        ({"bound": "10"}, {"bound": "11"}, "TripCountsDiffer"),
        ({"bound": "10"}, {"bound": "20", "step": 2}, "Fused"),
        ({"bound": "10"}, {"bound": "%r50"}, "TripCountsDiffer"),
        ({"bound": "%r50"}, {"bound": "%r50"}, "Fused"),
        ({"bound": "%r50"}, {"bound": "%r49"}, "TripCountsDiffer"),
        ({"bound": "10", "compare": "lt.s32"}, {"bound": "9", "compare": "le.s32"}, "Fused"),
        ({"bound": "%r50"}, {"bound": "%r50", "step": 2}, "TripCountsDiffer"),
        ({"bound": "%r50"}, {"bound": "%r50", "compare": "le.s32"}, "TripCountsDiffer"),
        ({"bound": "%r50"}, {"bound": "%r50", "compare": "lt.u32"}, "TripCountsDiffer"),
        ({"bound": "%r49", "compare": "ne.s32"},
         {"start": "%r49", "bound": "0", "compare": "ne.s32", "step": -1}, "Fused"),
        ({"bound": "%r49", "compare": "ne.s32"},
         {"start": "1", "bound": "%r49", "compare": "ne.s32"}, "TripCountsDiffer"),
        ({"bound": "%r49", "compare": "ne.s32"},
         {"start": "%r49", "bound": "1", "compare": "ne.s32", "step": -1}, "TripCountsDiffer"),
        ({"bound": "%r50", "start": "%r51"}, {"bound": "%r50", "start": "%r49"},
         "TripCountsDiffer"),
        ({"bound": "%r50", "step": "%r48"}, {"bound": "%r50", "step": "%r48"}, "TripCountsDiffer"),
    ],
)
def test_equal_trip_counts(one: dict[str, Any], other: dict[str, Any], name: str) -> None:
    text = "and.b32 %r50, %r50, 15; add.u32 %r49, %r50, 1; or.b32 %r48, %r50, 1;"
    _, remarks = fused(text + copies(1, **one) + reads(2, **other) + stored(2) + END)
    assert [r.name for r in remarks] == [name]


@pytest.mark.seed("FUS-15")
@pytest.mark.parametrize(("second", "name"), [
    (reads(2, bound="%r50"), "Fused"),
    (re.sub(r"%r2\b", "%rd28", reads(2, bound="%rd29", compare="lt.s64"))
     .replace("mov.u32 %rd28", "mov.u64 %rd28").replace("add.s32 %rd28", "add.s64 %rd28"),
     "TripCountsDiffer"),  # counts in 64 bits
    (re.sub(r"(add.s32 %r2, .*?;)(?s:(.*?;))", r"\2 \1", reads(2, bound="%r50")),
     "TripCountsDiffer"),  # asks before the step
])
def test_counts_of_other_widths_and_tests_before_the_step(second: str, name: str) -> None:
    text = "and.b32 %r50, %r50, 15; add.u32 %r50, %r50, 1; cvt.u64.u32 %rd29, %r50;"
    _, remarks = fused(text + copies(1, bound="%r50") + second + stored(2) + END)
    assert [r.name for r in remarks] == [name]


@pytest.mark.seed("FUS-11", "FUS-15")
@pytest.mark.parametrize(("one", "other", "name"), [
    (("3", "%r50", 1), ("3", "%r50", 1), "Fused"),
    (("3", "%r50", 1), ("4", "%r50", 1), "TripCountsDiffer"),
    (("3", "%r50", 1), ("%r51", "%r50", 1), "TripCountsDiffer"),
    (("3", "%r50", 1), ("3", "%r49", 1), "TripCountsDiffer"),
    (("3", "%r50", 1), ("%r50", "3", -1), "Fused"),
    (("3", "%r50", 1), ("%r50", "4", -1), "TripCountsDiffer"),
    (("3", "%r50", 1), ("%r50", "-3", -1), "TripCountsDiffer"),
    (("3", "%r50", 1), ("%r50", "3", -2), "TripCountsDiffer"),
    (("3", "%r50", 1), ("3", "%r50", 2), "TripCountsDiffer"),
    (("3", "%r50", 1), ("3", "%r50", "%r49"), "TripCountsDiffer"),
    (("0", "%r50", 1), ("0", "%r50", "64 bits"), "TripCountsDiffer"),
])
def test_distances_to_a_bound_that_ends_the_loop_exactly(
    one: tuple[str, str, Any], other: tuple[str, str, Any], name: str
) -> None:
    def shaped(start: str, bound: str, step: Any) -> dict[str, Any]:
        return {"start": start, "bound": bound, "step": step, "compare": "ne.s32"}

    wide = other[2] == "64 bits"
    second = reads(2, **shaped(*other[:2], 1 if wide else other[2]))
    if wide:
        second = second.replace("s32 %r2, %r2", "s64 %rd9, %rd9").replace(
            "setp.ne.s32 %p2, %r2, %r50", "setp.ne.s64 %p2, %rd9, %rd8").replace(
            "mov.u32 %r2, 0", "mov.u64 %rd9, 0")
    text = "and.b32 %r50, %r50, 15; add.s32 %r49, %r50, 1; cvt.u64.u32 %rd8, %r50;"
    _, remarks = fused(text + copies(1, **shaped(*one)) + second + END, runs=False)
    assert [r.name for r in remarks] == [name]


@pytest.mark.seed("FUS-11")
@pytest.mark.parametrize(
    ("compare", "mask", "name"),
    [
        ("lt.s32", "and.b32 %r50, %r50, 15;", "Fused"),  # n + 1 cannot wrap
        ("lt.s32", "", "TripCountsDiffer"),  # it may
        ("ne.s32", "and.b32 %r50, %r50, 15; add.u32 %r50, %r50, 1;", "Fused"),
        ("ne.s32", "", "Fused"),  # and does not matter
    ],
)
def test_bounds_are_made_normal(compare: str, mask: str, name: str) -> None:
    """0 to n and 1 to n + 1 count alike, unless n + 1 wraps."""
    text = mask + "add.s32 %r49, %r50, 1;"
    shape = {"compare": compare}
    first = copies(1, bound="%r50", **shape)
    second = reads(2, start="1", bound="%r49", **shape)
    _, remarks = fused(text + first + second + stored(2) + END, runs=bool(mask))
    assert [r.name for r in remarks] == [name]
    if name == "Fused":
        assert remarks[0].args["shift"] == 1


@pytest.mark.seed("FUS-11", "FUS-15")
@pytest.mark.parametrize(("compare", "step", "from_", "name"), [
    ("lt.s32", 1, "0x7fffffee", "Fused"), ("lt.s32", 1, "0x7fffffef", "TripCountsDiffer"),
    ("lt.u32", 1, "0x7ffffff1", "Fused"), ("lo.u32", 1, "0x7ffffff1", "Fused"),
    ("gt.s32", -1, "0x80000002", "Fused"), ("gt.s32", -1, "0x80000001", "TripCountsDiffer"),
    ("gt.u32", -1, "2", "Fused"), ("gt.u32", -1, "1", "TripCountsDiffer"),
])
def test_a_bound_that_is_shifted_may_reach_the_last_number_but_one(
    compare: str, step: int, from_: str, name: str
) -> None:
    """Sixteen bounds from one on, and the same a step further: the step behind may not wrap."""
    text = f"and.b32 %r50, %r50, 15; add.s32 %r50, %r50, {from_}; add.s32 %r49, %r50, {step};"
    at = 0 if step > 0 else 100
    shape: dict[str, Any] = {"compare": compare, "step": step}
    first = copies(1, start=str(at), bound="%r50", **shape)
    second = reads(2, start=str(at + step), bound="%r49", **shape)
    _, remarks = fused(text + first + second + stored(2) + END, runs=False)
    assert [r.name for r in remarks] == [name]
    assert remarks[0].args.get("shift") == (step if name == "Fused" else None)


@pytest.mark.seed("FUS-11")
@pytest.mark.parametrize(("n", "name"), [
    ("0xfffffffe", "Fused"), ("0xffffffff", "TripCountsDiffer")])
def test_a_bound_without_sign_may_reach_the_last_number_but_one(n: str, name: str) -> None:
    text = f"rem.u32 %r50, %r50, {n}; add.s32 %r49, %r50, 1;"
    first = copies(1, bound="%r50", compare="lt.u32")
    second = reads(2, start="1", bound="%r49", compare="lt.u32")
    _, remarks = fused(text + first + second + stored(2) + END, runs=False)
    assert [r.name for r in remarks] == [name]


@pytest.mark.seed("FUS-11")
@pytest.mark.parametrize(("low", "name"), [(1, "Fused"), (0, "TripCountsDiffer")])
def test_a_bound_that_is_shifted_back_may_reach_the_first_number_but_one(
    low: int, name: str
) -> None:
    text = f"and.b32 %r50, %r50, 15; add.s32 %r50, %r50, {low}; add.s32 %r49, %r50, 1;"
    shape: dict[str, Any] = {"compare": "gt.u32", "step": -1}
    first = copies(1, start="100", bound="%r50", **shape)
    second = reads(2, start="101", bound="%r49", **shape)
    _, remarks = fused(text + first + second + stored(2) + END, runs=False)
    assert [r.name for r in remarks] == [name]


@pytest.mark.seed("FUS-11")
def test_a_count_may_begin_at_the_greatest_number() -> None:
    text = "and.b32 %r50, %r50, 15; add.s32 %r49, %r50, -1;"
    shape: dict[str, Any] = {"compare": "gt.s32", "step": -1}
    first = copies(1, start="0x7fffffff", bound="%r50", **shape)
    second = reads(2, start="0x7ffffffe", bound="%r49", **shape)
    _, remarks = fused(text + first + second + stored(2) + END, runs=False)
    assert [r.args.get("shift") for r in remarks] == [-1]


@pytest.mark.seed("FUS-11")
@pytest.mark.parametrize(("starts", "name"), [((2, 1), "Fused"), ((0, -1), "TripCountsDiffer")])
def test_a_count_without_sign_may_not_begin_below_zero(
    starts: tuple[int, int], name: str
) -> None:
    text = "and.b32 %r50, %r50, 15; add.s32 %r50, %r50, 1; add.s32 %r49, %r50, -1;"
    first = copies(1, start=str(starts[0]), bound="%r50", compare="lt.u32")
    second = reads(2, start=str(starts[1]), bound="%r49", compare="lt.u32")
    _, remarks = fused(text + first + second + stored(2) + END, runs=False)
    assert [r.name for r in remarks] == [name]


@pytest.mark.seed("FUS-11", "FUS-12")
@pytest.mark.parametrize("bits", [8, 32, 64])
def test_a_difference_is_a_number_where_nothing_is_lost(bits: int) -> None:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    for n in {low, low + 1, low // 2, -1, 0, high // 2 + 1, high - 1, high}:
        for wrapped in (n, n % (1 << bits)):
            assert _exact(Affine((), wrapped, bits, bits), bits) == n
            assert _exact(Affine((), wrapped, bits - 1, bits), bits) is None
    term = Term(Instruction(form("mov.b32"), (), B32), False, 1)
    assert _exact(Affine((term,), 0, bits, bits), bits) is None


@pytest.mark.seed("FUS-12", "FUS-19")
@pytest.mark.parametrize(("start", "sums"), [(5, 1), (6, 2)])
def test_the_sum_that_a_shift_is_may_stand_in_the_first_body(start: int, sums: int) -> None:
    first = loop(1, "add.s32 %r41, %r1, 5; st.global.u32 [%rd11], %r41;")
    second = loop(2, "add.u32 %r32, %r32, %r2;", start=str(start), bound=str(10 + start))
    f, remarks = fused("mov.u32 %r32, 0;" + first + second + stored(2) + END)
    assert [r.args["shift"] for r in remarks] == [start]
    f.analyze_cfg()
    (x,) = natural_loops(f)
    of_counter = [i for b in x.blocks for i in b if i.form.name == "add"
                  and getattr(i.operands[1], "value", 0) in (5, 6)]
    assert len(of_counter) == sums


@pytest.mark.seed("FUS-12", "FUS-19")
def test_what_follows_from_the_sum_is_not_done_again_either() -> None:
    """It may be the first of the second body."""
    first = loop(1, "add.s32 %r41, %r1, 5; mul.lo.s32 %r42, %r41, 3; st.global.u32 [%rd11], %r42;")
    second = loop(2, "mul.lo.s32 %r43, %r2, 3; add.u32 %r32, %r32, %r43;", start="5", bound="15")
    f, _ = fused("mov.u32 %r32, 0;" + first + second + stored(2) + END)
    assert sum(i.form.name == "mul" and i.form.mods[0] == "lo" for i in f.instructions()) == 1


@pytest.mark.seed("FUS-20")
@pytest.mark.parametrize(("one", "two"), [(0, 1), (1, 0), (1, 1)])
def test_the_fused_loop_has_the_pragmas_of_both_once(one: int, two: int) -> None:
    asked = '.pragma "nounroll";'
    text = (copies(1).replace("L1:", "L1:" + one * asked) + reads(2).replace("L2:", "L2:" + two *
            asked))
    f, _ = fused(text + stored(2) + END)
    assert natural_loops(f)[0].header.pragmas == ("nounroll",)


def test_counting_down_counts_alike() -> None:
    text = "and.b32 %r50, %r50, 15; add.u32 %r50, %r50, 1;"
    first = copies(1, bound="%r50", compare="ne.s32")
    second = reads(2, start="%r50", bound="0", step=-1, compare="ne.s32")
    _, remarks = fused(text + first + second + stored(2) + END)
    assert [r.name for r in remarks] == ["Fused"]
    assert remarks[0].args["shift"] is None


@pytest.mark.seed("FUS-12")
@pytest.mark.parametrize(("counter", "shift"), [
    (("u32 %r2", "s32", "s32", "10", "1"), 0),
    (("u64 %rd9", "s64", "s64", "10", "1"), None),
    (("u32 %r2", "s32", "s32", "20", "2"), None),
    (("f32 %f9", "f32", "f32", "0f41200000", "0f3F800000"), None),
])
def test_variables_that_are_unlike_both_remain(counter: tuple[str, ...], shift: Any) -> None:
    variable, add, test, bound, step = counter
    kind, name = variable.split()
    text = (copies(1) + f"mov.{kind} {name}, {'0f00000000' if kind == 'f32' else 0}; L2: "
            f"add.{add} {name}, {name}, {step}; setp.lt.{test} %p2, {name}, {bound}; @%p2 bra L2;")
    _, remarks = fused(text + END)
    assert [(r.name, r.args.get("shift")) for r in remarks] == [("Fused", shift)]


@pytest.mark.seed("FUS-12")
@pytest.mark.parametrize("start", ["0", "5"])
def test_one_variable_remains(start: str) -> None:
    work = "add.u32 %r32, %r32, %r2;"
    text = copies(1) + "mov.u32 %r32, 0;" + loop(2, work, start=start, bound=str(10 + int(start)))
    f, remarks = fused(text + stored(2) + END, "loop-simplify,loop-fuse,copy-prop,gvn,dce")
    assert [r.args["shift"] for r in remarks] == [int(start)]
    f.analyze_cfg()
    (x,) = natural_loops(f)
    assert len(list(x.header.phis)) == 3  # the counter, the pointer, the sum


# ------------------------------------------------------------------ dependences


@pytest.mark.seed("FUS-10")
@pytest.mark.parametrize(
    ("second", "name"),
    [
        ("add.u32 %r32, %r32, %r21;", "RegisterDependence"),  # the last value of the first loop
        ("add.u32 %r32, %r32, %r1;", "RegisterDependence"),  # its variable's
        ("add.u32 %r32, %r32, %r45;", "RegisterDependence"),  # what follows from it
        ("add.u32 %r32, %r32, %r46;", "Fused"),
        ("add.u32 %r32, %r32, %r51;", "Fused"),
    ],
)
def test_registers(second: str, name: str) -> None:
    between = "add.u32 %r45, %r21, 1; add.u32 %r46, %r51, 1;"
    text = copies(1) + between + "mov.u32 %r32, 0;" + loop(2, second) + stored(2) + END
    _, remarks = fused(text)
    assert [r.name for r in remarks] == [name]


@pytest.mark.seed("FUS-10", "FUS-16")
def test_a_loop_that_goes_on_where_the_first_ended() -> None:
    text = loop(1, "") + "mov.u32 %r32, 0;" + loop(
        2, "add.u32 %r32, %r32, %r2;", start="%r1", bound="20"
    )
    _, remarks = fused(text + stored(2) + END)
    assert remarks[0].name in ("RegisterDependence", "TripCountsDiffer")


@pytest.mark.seed("FUS-16", "GAP-26")
@pytest.mark.parametrize(
    ("first", "second", "name", "kind"),
    [
        (copies(1), reads(2), "Fused", ""),
        (copies(1), reads(2, "+4"), "MemoryDependence", "flow"),  # a[i + 1] is not there yet
        (copies(1), reads(2, "+-4"), "Fused", ""),
        (copies(1), reads(2, "+40"), "Fused", ""),  # beyond the last iteration
        (copies(1), reads(2, "+36"), "MemoryDependence", "flow"),
        (reads(1), copies(2), "Fused", ""),
        (reads(1), copies(2, "+4"), "MemoryDependence", "anti"),
        (reads(1), copies(2, "+-4"), "Fused", ""),
        (loop(1, STORE.format(k=1, c=1, at="")), loop(2, STORE.format(k=2, c=2, at="+8")),
         "MemoryDependence", "output"),
        (loop(1, STORE.format(k=1, c=1, at="")), loop(2, STORE.format(k=2, c=2, at="+-8")),
         "Fused", ""),
        (loop(1, "st.global.u32 [%rd2], %r1;"), loop(2, USE.format(k=2, at=4)), "Fused", ""),
        (loop(1, "st.global.u32 [%rd2], %r1;"), loop(2, USE.format(k=2, at=0)),
         "MemoryDependence", "output"),
    ],
)
def test_memory(first: str, second: str, name: str, kind: str) -> None:
    """Fused only if nothing that the second loop touches is touched by the first one later."""
    text = "mov.u32 %r31, 0; mov.u32 %r32, 0; mov.u32 %r21, 1; mov.u32 %r22, 1;"
    moved = "add.s64 %rd1, %rd1, 64;"
    _, remarks = fused(text + moved + first + second + stored(1) + stored(2) + END)
    assert [r.name for r in remarks] == [name]
    assert remarks[0].args.get("kind", "") == kind


@pytest.mark.seed("FUS-16")
@pytest.mark.parametrize(("words", "name"), [
    ((1 << 32) - 1, "MemoryDependence"), (1 << 32, "Fused")])
def test_a_counter_has_as_many_iterations_as_values(words: int, name: str) -> None:
    """Of a loop whose count nobody knows: what is further away is never reached."""
    text = copies(1, bound="%r50") + reads(2, bound="%r50").replace(
        "mov.u64 %rd12, %rd1;", f"add.s64 %rd12, %rd1, {4 * words};")
    _, remarks = fused(text + stored(2) + END, runs=False)
    assert [r.name for r in remarks] == [name]


def test_strides_that_differ() -> None:
    """Every fourth word and every word meet somewhere."""
    work = "mul.wide.u32 %rd5, %r1, 16; add.s64 %rd5, %rd1, %rd5; st.global.u32 [%rd5], %r1;"
    _, remarks = fused(loop(1, work) + reads(2) + stored(2) + END)
    assert [r.name for r in remarks] == ["MemoryDependence"]
    assert remarks[0].args["distance"] == "1 or more"


# ------------------------------------------------------------------- structure

BRANCHY = """
    setp.gt.u32 %p8, %r{k}, 4;
    @%p8 bra S{k};
    st.global.u32 [%rd1{k}+{at}], %r{k};
    S{k}:
"""


@pytest.mark.seed("FUS-17", "GAP-26")
def test_several_blocks_are_fused_on_demand_and_if_alike() -> None:
    one, two = (loop(k, BRANCHY.format(k=k, at=0)) for k in (1, 2))
    _, remarks = fused(one + two + END)
    assert [r.name for r in remarks] == ["SeveralBlocks"]
    for works in (("bra M; M:", ""), ("", "bra M; M:")):
        _, remarks = fused(loop(1, works[0]) + loop(2, works[1]) + END)
        assert [r.name for r in remarks] == ["SeveralBlocks"]
    f, remarks = fused(one + two + END, "loop-simplify,loop-fuse<multi-block>")
    assert [r.name for r in remarks] == ["Fused"]
    assert loops(f) == 1
    _, remarks = fused(one + copies(2) + END, "loop-simplify,loop-fuse<multi-block>")
    assert [r.name for r in remarks] == ["BodiesDiffer"]


# -------------------------------------------------------------- transformation


@pytest.mark.seed("FUS-19")
@pytest.mark.parametrize(("text", "plain"), [
    ("add.u32 %r1, %r2, 3;", True), ("@%p1 add.u32 %r1, %r2, 3;", False),
    ("ld.global.u32 %r1, [%rd1];", False), ("add.cc.u32 %r1, %r2, 3;", False),
    ("add.cc.u32 %r3, %r2, 3; addc.u32 %r1, %r2, 3;", False)])
def test_what_may_stand_for_another(text: str, plain: bool) -> None:
    (block,) = nvir.read_ptx(body(text + "ret;"))["k"].blocks
    *_, last = (i for i in block if not i.form.terminator)
    assert _is_plain(last) is plain


@pytest.mark.seed("FUS-19", "FUS-20")
def test_two_bodies(check) -> None:
    """Repeated instructions are left out, a move is looked through, an invariant goes before."""
    f, remarks = fused("""
        mov.u32 %r1, 0;
    L1:
        shl.b32 %r11, %r1, 2;
        st.shared.u32 [tile], %r11;
        add.s32 %r1, %r1, 1;
        setp.lt.s32 %p1, %r1, 10;
        @%p1 bra L1;
        mul.lo.u32 %r40, %r51, 7;
        mov.u32 %r2, 0;
    L2:
        shl.b32 %r12, %r2, 2;
        mov.b32 %r13, %r12;
        add.u32 %r14, %r13, %r40;
        st.global.u32 [%rd2], %r14;
        add.s32 %r2, %r2, 1;
        setp.lt.s32 %p2, %r2, 10;
        @%p2 bra L2;
        ret;
    """)
    assert [r.name for r in remarks] == ["Fused"]
    f.analyze_cfg()
    (x,) = natural_loops(f)
    (block,) = x.blocks
    assert [i.form.name for i in block] == [
        "phi", "shl", "st", "add", "setp", "add", "st", "bra",
    ]
    assert any(i.form.name == "mul" for i in x.entries[0])


@pytest.mark.seed("FUS-20")
def test_annotations_are_fresh_and_the_next_round_sees_them() -> None:
    """Five loops become one, two at a time."""
    text = "".join(copies(k, c=k) for k in range(1, 6)) + END
    f, remarks = fused(text)
    assert loops(f) == 1
    assert len(remarks) == 4
    assert f.cfg_state == "fresh"


GUARDED = """
    setp.lt.s32 %p10, {n}, 1;
    @%p10 bra J1;
    {one}
J1:
    {between}
    setp.lt.s32 %p11, {m}, 1;
    @%p11 bra J2;
    {two}
J2:
    {tail}
    ret;
"""


@pytest.mark.seed("FUS-06")
def test_loops_behind_equal_guards() -> None:
    """`if (n > 0) do … while` twice: one guard remains, values of both ways are kept apart."""
    text = GUARDED.format(
        n="%r50", m="%r50", one=copies(1, bound="%r50"), between="add.u32 %r44, %r51, 3;",
        two=reads(2, bound="%r50"),
        tail=stored(2) + "st.global.u32 [%rd2+40], %r41; st.global.u32 [%rd2+44], %r44;",
    )
    text = text.replace("%r21, 3;", "%r21, 3; add.u32 %r41, %r41, %r21;")
    text = "and.b32 %r50, %r50, 7; mov.u32 %r41, 9; mov.u32 %r32, 8;" + text
    f, remarks = fused(text)
    assert [r.name for r in remarks] == ["Fused"]
    assert loops(f) == 1
    assert sum(i.form.name == "bra" and i.form.guard is not None for i in f.instructions()) == 2


@pytest.mark.seed("FUS-06")
def test_loops_behind_other_guards() -> None:
    text = GUARDED.format(
        n="%r50", m="%r51", one=copies(1, bound="%r50"), between="", two=reads(2, bound="%r50"),
        tail=stored(2),
    )
    _, remarks = fused("and.b32 %r50, %r50, 7; mov.u32 %r32, 8;" + text)
    assert [r.name for r in remarks] == ["NotAdjacent"]
    assert "guard" in str(remarks[0].args["what"])


@pytest.mark.seed("FUS-06")
@pytest.mark.parametrize(("jump", "name"), [
    ("@%p11 bra J2; bra Q1; Q1: bra Q2; Q2:", "Fused"),
    ("@!%p11 bra Q; bra J2; Q:", "Fused"),
    ("@%p11 bra Q; bra J2; Q:", "NotAdjacent"),
])
def test_the_way_from_the_second_guard(jump: str, name: str) -> None:
    """Blocks that only jump may stand in it, and the branch may lead to either side."""
    second = reads(2, bound="%r50").replace("mov.u32 %r32, 0;", "")
    starts, second = second.split("L2:")
    text = GUARDED.format(n="%r50", m="%r50", one=copies(1, bound="%r50"), between="",
                          two="L2:" + second, tail=stored(2))
    text = text.replace("@%p11 bra J2;", jump)
    _, remarks = fused("and.b32 %r50, %r50, 7; mov.u32 %r32, 8;" + starts + text, runs=False)
    assert [r.name for r in remarks] == [name]


@pytest.mark.seed("FUS-04", "FUS-06", "FUS-18")
@pytest.mark.parametrize(("way", "name", "what"), [
    ("add.u32 %r45, %r51, 4; bra Q2; Q2:", "Fused", None),
    ("add.u32 %r45, %r21, 4; bra Q2; Q2:", "Fused", None),  # goes behind the second loop
    ("st.global.u32 [%rd2+64], %r51; bra Q2; Q2:", "CodeBetween", "st.global.u32"),
    ("setp.gt.u32 %p9, %r51, 4; @%p9 bra J2;", "NotAdjacent", "block Q1"),
    ("setp.gt.u32 %p9, %r51, 4; @%p9 bra Q2; mov.u32 %r45, 8; Q2:", "NotAdjacent", "block J1"),
])
def test_code_behind_the_second_guard_runs_where_the_first_was_passed(
    way: str, name: str, what: str | None
) -> None:
    """So it may go before the first loop or behind the second as any code between them."""
    text = GUARDED.format(
        n="%r50", m="%r50", one=copies(1, bound="%r50"), between="", two=reads(2, bound="%r50"),
        tail=stored(2) + "st.global.u32 [%rd2+32], %r45;",
    ).replace("@%p11 bra J2;", "@%p11 bra J2; bra Q1; Q1:" + way)
    _, remarks = fused("and.b32 %r50, %r50, 7; mov.u32 %r32, 8; mov.u32 %r45, 9; mov.u32 %r21, 7;"
                       + text)
    assert [(r.name, r.args.get("what")) for r in remarks] == [(name, what)]


@pytest.mark.seed("FUS-06")
@pytest.mark.parametrize("which", [1, 2])
def test_a_jump_by_a_table_is_no_guard(which: int) -> None:
    text = GUARDED.format(n="%r50", m="%r50", one=copies(1, bound="%r50"), between="",
                          two=reads(2, bound="%r50"), tail=stored(2))
    table = f"ts: .branchtargets J{which}, F; and.b32 %r44, %r51, 1; brx.idx %r44, ts; F:"
    text = text.replace(f"@%p1{which - 1} bra J{which};", table)
    _, remarks = fused("and.b32 %r50, %r50, 7; mov.u32 %r32, 8;" + text, runs=False)
    assert [(r.name, r.args.get("what")) for r in remarks] == [("NotAdjacent", "block J1")]


@pytest.mark.seed("FUS-10", "FUS-18")
@pytest.mark.parametrize(("between", "behind", "work", "name"), [
    ("", "", "", "Fused"), ("", "", "add.u32 %r32, %r32, %r41;", "Fused"),
    ("", "add.u32 %r44, %r41, 3;", "", "Fused"), ("add.u32 %r44, %r41, 3;", "", "", "CodeBetween"),
])
def test_what_both_ways_to_the_second_guard_bring(
    between: str, behind: str, work: str, name: str
) -> None:
    """It is there behind the guard, but not before the first."""
    text = GUARDED.format(
        n="%r50", m="%r50", one="mov.u32 %r41, 5;" + copies(1, bound="%r50"), between=between,
        two=behind + loop(2, work, bound="%r50"),
        tail=stored(2) + "st.global.u32 [%rd2+40], %r41; st.global.u32 [%rd2+44], %r44;",
    )
    start = "mov.u32 %r41, 9; mov.u32 %r32, 8; mov.u32 %r44, 7; and.b32 %r50, %r50, 7;"
    _, remarks = fused(start + text)
    assert [r.name for r in remarks] == [name]


@pytest.mark.seed("FUS-06")
def test_a_third_way_to_the_block_behind_the_first_loop() -> None:
    """It comes past both guards, behind the guard of the first loop in the order of ways in."""
    text = GUARDED.format(
        n="%r50", m="%r50", one=copies(1, bound="%r50"), between="",
        two=reads(2, bound="%r50"), tail=stored(2),
    )
    third = "setp.gt.u32 %p9, %r51, 0; @%p9 bra X;", "X: bra J1;"
    for (jump, way), name in ((("", ""), "Fused"), (third, "NotAdjacent")):
        _, remarks = fused("and.b32 %r50, %r50, 7; mov.u32 %r32, 8;" + jump + text + way)
        assert [r.name for r in remarks] == [name]


@pytest.mark.seed("FUS-06")
@pytest.mark.parametrize(("ways", "name"), [(1, "Fused"), (2, "NotAdjacent")])
def test_branches_behind_the_guard(ways: int, name: str) -> None:
    """One may decide in the block that the guard leads to; what follows that only jumps."""
    leave = "".join(f"setp.eq.u32 %p{4 + k}, %r51, {k + 2}; @%p{4 + k} bra X;"
                    for k in range(ways))
    text = GUARDED.format(
        n="%r50", m="%r50", one=leave + copies(1, bound="%r50"), between="",
        two=reads(2, bound="%r50"), tail=stored(2),
    ) + "X: st.global.u32 [%rd2+44], %r51; ret;"
    _, remarks = fused("and.b32 %r50, %r50, 7; mov.u32 %r32, 8;" + text)
    assert [r.name for r in remarks] == [name]


@pytest.mark.seed("FUS-06")
@pytest.mark.parametrize(("one", "other", "same"), [
    ("setp.lt.s32 %p, %r50, 1;", "setp.lt.s32 %p, %r50, 1;", True),
    ("setp.lt.s32 %p, %r50, 1;", "setp.le.s32 %p, %r50, 1;", False),
    ("setp.lt.s32 %p, %r50, 1;", "setp.lt.u32 %p, %r50, 1;", False),
    ("setp.lt.s32 %p, %r50, 1;", "setp.gt.s32 %p, 1, %r50;", True),
    ("setp.lt.s32 %p, %r50, 1;", "setp.gt.s32 %p, %r50, 1;", False),
    ("setp.le.s32 %p, %r50, 1;", "setp.ge.s32 %p, 1, %r50;", True),
    ("setp.lt.s32 %p, %r50, 1;", "! setp.ge.s32 %p, %r50, 1;", True),
    ("setp.lt.s32 %p, %r50, 1;", "! setp.lt.s32 %p, %r50, 1;", False),
    ("setp.le.s32 %p, %r50, 1;", "! setp.gt.s32 %p, %r50, 1;", True),
    ("! setp.lt.s32 %p, 1, %r50;", "setp.gt.s32 %p, 2, %r50;", False),
    ("setp.lt.s32 %p, %r50, 1;", "setp.ge.s32 %p, %r50, 1; not.pred %p, %p;", True),
    ("setp.lt.s32 %p, %r50, 1;", "! setp.lt.s32 %p, %r50, 1; not.pred %p, %p;", True),
    ("setp.lt.s32 %p, %r50, 1;", "setp.lt.s32 %p, %r50, 1; not.pred %p, %p;", False),
    ("setp.lt.s32 %p, %r50, 1;", "setp.ge.s32 %p, %r50, 1; xor.pred %p, %p, -1;", False),
    ("setp.eq.s32 %p, %r50, %r51;", "setp.eq.s32 %p, %r51, %r50;", True),
    ("setp.eq.s32 %p, %r51, %r50;", "! setp.ne.s32 %p, %r50, %r51;", True),
    ("setp.eq.s32 %p, %r50, %r51;", "setp.ne.s32 %p, %r51, %r50;", False),
    ("setp.eq.s32 %p, %r50, %r51;", "setp.eq.s32 %p, %r50, %r48;", False),
    ("setp.lo.u32 %p, %r50, 1;", "setp.lo.u32 %p, %r50, 1;", True),
    ("setp.lo.u32 %p, %r50, 1;", "! setp.lo.u32 %p, %r50, 1;", False),
    ("setp.lt.f32 %p, %f1, 0f3F800000;", "setp.lt.f32 %p, %f1, 0f3F800000;", True),
    ("setp.lt.f32 %p, %f1, 0f3F800000;", "! setp.ge.f32 %p, %f1, 0f3F800000;", False),
    ("setp.lt.and.s32 %p, %r50, 1, %p9;", "setp.lt.and.s32 %p, %r50, 1, %p9;", True),
    ("setp.lt.and.s32 %p, %r50, 1, %p9;", "! setp.lt.and.s32 %p, %r50, 1, %p9;", False),
    ("setp.lt.and.s32 %p, %r50, 1, %p9;", "! setp.ge.and.s32 %p, %r50, 1, %p9;", False),
    ("setp.lt.s32 %p7|%p, %r50, 1;", "setp.lt.s32 %p7|%p, %r50, 1;", False),
    ("mov.pred %p, 0; @%p9 setp.lt.s32 %p, %r50, 1;",
     "mov.pred %p, 0; @%p9 setp.lt.s32 %p, %r50, 1;", False),
])
def test_guards_that_say_the_same(one: str, other: str, same: bool) -> None:
    """Compared from either side, negated, or two ways round; floats are not negated."""
    def guard(k: int, text: str, around: str) -> str:
        sign = "!" if text[0] == "!" else ""
        return text.lstrip("! ").replace("%p,", f"%p1{k},").replace("%p;", f"%p1{k};") + (
            f"@{sign}%p1{k} bra {around};")

    text = guard(1, one, "J1") + copies(1) + "J1:" + guard(2, other, "J2") + reads(2) + "J2: ret;"
    first = "and.b32 %r50, %r50, 1; add.u32 %r48, %r51, 1; setp.gt.u32 %p9, %r51, 9;"
    _, remarks = fused(first + "cvt.rn.f32.u32 %f1, %r50;" + text)
    assert [r.name for r in remarks] == ["Fused" if same else "NotAdjacent"]


WGMMA = ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd5, %rd5, 1, "
         "1, 1, 0, 0;")


@pytest.mark.seed("FUS-18")
@pytest.mark.parametrize(("before", "behind", "name"), [
    ("", "", "Fused"), (WGMMA, "", "ValueHeld"), ("", WGMMA, "ValueHeld"),
])
def test_a_value_between_that_an_asynchronous_operation_holds(
    before: str, behind: str, name: str
) -> None:
    """The phi between the loops goes: neither it nor what flows into it may be held."""
    text = GUARDED.format(
        n="%r50", m="%r50", one=copies(1, bound="%r50") + "mov.f32 %f0, 0f3F800000;", between="",
        two=reads(2, bound="%r50"), tail="st.global.f32 [%rd2], %f0;" + behind,
    )
    zero = "mov.u64 %rd5, 0;" + "".join(f"mov.f32 %f{k}, 0f00000000;" for k in range(4))
    _, remarks = fused("and.b32 %r50, %r50, 7;" + zero + before + text, runs=False)
    assert [r.name for r in remarks] == [name]


def fused_text(text: str, *changes: tuple[str, str]) -> tuple[Any, list[Any]]:
    """The same of nvir's own text of a body, where each change replaces one text."""
    module = nvir.read_ptx(body(HEAD + text))
    nvir.run_passes(module, "loop-simplify")
    changed = str(module)
    for old, new in changes:
        assert changed.count(old) == 1
        changed = changed.replace(old, new)
    before, module = nvir.parse_ir(changed), nvir.parse_ir(changed)
    ctx = Driver(Settings(verify_each=True, check=True)).run(module, "loop-fuse", knobs=ON)
    assert same_behaviour(before, module, "k")
    return module["k"], list(ctx.remarks)


@pytest.mark.seed("FUS-18", "FUS-19")
def test_literals_and_single_entries_of_phis_between_the_loops() -> None:
    """A literal gets a register where the fused loop has its ways in, whichever way it comes."""
    text = "and.b32 %r50, %r50, 7; mov.u32 %r32, 8; mov.u32 %r41, 9;" + GUARDED.format(
        n="%r50", m="%r50", one=copies(1, bound="%r50") + "mov.u32 %r41, 5;", between="",
        two=loop(2, "add.u32 %r32, %r32, %r41;", bound="%r50"),
        tail=stored(2) + "st.global.u32 [%rd2+40], %r41;",
    )
    f, remarks = fused_text(
        text, ("[%r41, entry], [%r41~2, bb3]", "[9, entry], [5, bb3]"),
        ("bb5:\n", "bb5:\n  %r99: b32 = phi [%r41~3, J1]\n"),
        ("add.u32 %r32~2, %r41~3", "add.u32 %r32~2, %r99"))
    assert [r.name for r in remarks] == ["Fused"]
    assert loops(f) == 1
    f, remarks = fused_text(
        copies(1) + copies(2) + "st.global.u32 [%rd2+40], %r41;" + END,
        ("bb2:\n", "bb2:\n  %r99: b32 = phi [7, L1]\n"), ("b32 undef", "%r99"))
    assert [r.name for r in remarks] == ["Fused"]


@pytest.mark.seed("FUS-10")
def test_values_of_a_guarded_first_loop_may_not_flow() -> None:
    text = GUARDED.format(
        n="%r50", m="%r50", one=copies(1, bound="%r50"), between="",
        two=loop(2, "add.u32 %r32, %r32, %r21;", bound="%r50"), tail=stored(2),
    )
    _, remarks = fused("and.b32 %r50, %r50, 7; mov.u32 %r32, 8; mov.u32 %r21, 4;" + text)
    assert [r.name for r in remarks] == ["RegisterDependence"]


@pytest.mark.seed("FUS-21")
def test_its_place_among_the_phases() -> None:
    place = {n: k for k, n in enumerate(ORI_ORDER)}
    assert place[55] < place[58] < place[59] < place[63] < place[66]
    assert phase(59).name == "OriLoopFusion"
    assert phase(59).passes == ("loop-fuse",)


# -------------------------------------------------------------------- differential


def random_loops(seed: int) -> str:
    """Two to four loops over a and b with random offsets, bounds, guards and code between."""
    rng = random.Random(seed)
    n = rng.choice(["10", "8", "%r50", "%r50"])
    text = ["and.b32 %r50, %r50, 7; add.u32 %r49, %r50, 1; mov.u32 %r45, 5;"]
    text += [f"mov.u32 %r2{k}, {k}; mov.u32 %r3{k}, {k};" for k in range(1, 5)]
    if n[0] == "%" and rng.random() < 0.5:
        text.append("add.u32 %r50, %r50, 1;")
    text.append("add.s64 %rd1, %rd1, 64;")
    guarded = n[0] == "%" and rng.random() < 0.5
    count = rng.randint(2, 4)
    for k in range(1, count + 1):
        if guarded:
            text.append(f"setp.lt.s32 %p1{k}, %r50, 1; @%p1{k} bra G{k};")
        work = []
        for _ in range(rng.randint(1, 3)):
            at = rng.choice(["", "", "+4", "+-4", "+8", "+-16", "+40"])
            work.append(rng.choice([
                f"ld.global.u32 %r2{k}, [%rd1{k}{at}];",
                f"st.global.u32 [%rd1{k}{at}], %r2{k};",
                f"add.u32 %r3{k}, %r3{k}, %r2{k};",
                f"add.u32 %r2{k}, %r{k}, %r51;",
                f"@%p20 st.global.u32 [%rd1{k}{at}], %r{k};",
                f"xor.b32 %r3{k}, %r3{k}, %r{rng.choice([45, 51, 21, 31])};",
            ]))
        bound = n if rng.random() < 0.9 else "9"
        text.append(loop(k, " ".join(work), bound=bound))
        if guarded:
            text.append(f"G{k}:")
        if rng.random() < 0.4:
            text.append(rng.choice([
                "add.u32 %r45, %r45, 3;", f"add.u32 %r45, %r3{k}, 1;", "mul.lo.u32 %r44, %r51, 3;",
                "ld.global.u32 %r45, [%rd1+4];", "ld.global.u32 %r45, [%rd2+128];",
            ]))
    text += [stored(k) for k in range(1, count + 1)]
    return "setp.gt.u32 %p20, %r51, 9;" + "".join(text) + "st.global.u32 [%rd2+80], %r45;" + END


def check_random(seed: int, pipeline: str) -> int:
    _, remarks = fused(random_loops(seed), pipeline)
    return sum(r.name == "Fused" for r in remarks)


@pytest.mark.seed("FUS-21")
def test_random_loops_behave_the_same() -> None:
    fusions = sum(check_random(seed, "loop-simplify,loop-fuse") for seed in range(40))
    fusions += sum(
        check_random(seed, "loop-simplify,loop-rotate,gvn,loop-fuse,copy-prop,gvn,dce")
        for seed in range(40, 60)
    )
    assert fusions >= 15


@pytest.mark.slow
@pytest.mark.seed("FUS-21")
def test_many_random_loops_behave_the_same() -> None:
    assert sum(check_random(seed, "loop-simplify,loop-fuse") for seed in range(1000, 1500)) > 300


@pytest.mark.parametrize("name", ["conv3d.sm_80", "softmax.sm_80", "gemm_mma.sm_80", "scan.sm_80"])
def test_examples_behave_the_same(name: str) -> None:
    module = nvir.read_ptx(EXAMPLES / f"{name}.ptx")
    before = clone_module(module)
    Driver(Settings(verify_each=True)).run(
        module, "loop-simplify,loop-rotate,gvn,loop-fuse<multi-block>", knobs=ON
    )
    for f in module.functions:
        if f.is_kernel:
            same_behaviour(before, module, str(f.name))
