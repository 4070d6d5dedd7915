"""The observed unroll rules: each with a loop that it takes and one just beyond its number.

Bodies are chains of `fma`, one instruction each, so d is what a test says it is.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import nvir
from nvir import toolchain
from nvir.assembler.unroll.decide import UnrollCode, UnrollDecision
from nvir.passes.context import Context
from nvir.passes.knobs import Knobs
from nvir.passes.loop.unroll.unroll_decision import decide
from nvir.passes.registry import all_passes

HEADER = """.version 8.0
.target {target}
.address_size 64
.const .align 4 .b8 cbuf[64];
.func (.reg .f32 %o) callee (.reg .f32 %i);
.visible .entry k(.param .u64 o, .param .f32 x, .param .f32 y, .param .u32 n) {{
.shared .align 4 .b8 s[256];
.reg .pred %p<20>; .reg .b32 %r<40>; .reg .f32 %f<40>; .reg .b64 %rd<20>;
ld.param.u64 %rd1, [o]; ld.param.f32 %f1, [x]; ld.param.f32 %f2, [y]; ld.param.u32 %r1, [n];
cvta.to.global.u64 %rd1, %rd1; cvt.u64.u32 %rd9, %r1;
ld.global.f32 %f3, [%rd1]; mov.u32 %r5, s;
"""
FMA = "fma.rn.f32 %f3, %f3, %f1, %f2;\n"
# Enough code outside that no loop makes up a quarter of the kernel.
PADDING = FMA * 600
END = PADDING + "st.global.f32 [%rd1], %f3; ret; }\n"


def loop(body: str, trip: int | str = "%r1", label: str = "L", pragma: str = "") -> str:
    iv, p = ("%r2", "%p1") if label == "L" else ("%r3", "%p2")
    return (
        f"mov.u32 {iv}, 0;\n{label}:\n{pragma}\n{body}\n"
        f"add.s32 {iv}, {iv}, 1; setp.lt.s32 {p}, {iv}, {trip}; @{p} bra {label};\n"
    )


def decisions(text: str, target: str = "sm_80", end: str = END, **knobs: object):
    module = nvir.read_ptx(HEADER.format(target=target) + text + end)
    function = module["k"]
    function.analyze_cfg()
    made = decide(function, Context(module, Knobs(knobs)))
    return {str(header.name): decision for header, decision in made.items()}


def decision(body: str, trip: int | str = "%r1", target: str = "sm_80", **knobs: object):
    return decisions(loop(body, trip), target, **knobs)["L"]


def outcome(d: UnrollDecision) -> tuple[str, int | None]:
    return d.action, d.factor


# ------------------------------------------------------------------ rule 1: full


@pytest.mark.seed("UNR-03", "KNB-30", "KNB-39")
def test_a_loop_is_full_up_to_its_limit():
    """d = 10: p = 100·3/13 = 23, L = 140 + 46·23 = 1198, (T - 1)·10 ≤ 1198 up to T = 120."""
    d = decision(FMA * 10, 120)
    assert (d.d, d.cost, d.folds, d.saved, d.limit, d.T) == (10, 10, 3, 23, 1198, 120)
    assert (outcome(d), d.code) == (("full", None), None)
    assert d.reason == "(120 − 1)·10 = 1190 ≤ 1198"
    assert outcome(decision(FMA * 10, 121))[0] == "partial"


def test_what_folds_with_the_induction_variable_saves():
    """A conversion of the variable folds: one less in a copy, one more saved."""
    d = decision(FMA * 8 + "cvt.rn.f32.s32 %f4, %r2; add.f32 %f3, %f3, %f4;", 50)
    assert (d.d, d.cost, d.folds) == (10, 9, 4)
    run_time = "add.s32 %r6, %r2, %r1; cvt.rn.f32.s32 %f4, %r6; add.f32 %f3, %f3, %f4;"
    d = decision(FMA * 7 + run_time, 50)
    assert (d.d, d.cost, d.folds) == (10, 10, 3)


def test_a_known_shared_address_saves_four_more_before_hopper():
    body = "ld.shared.f32 %f4, [%r5]; add.s32 %r5, %r5, 4; add.f32 %f3, %f3, %f4;" + FMA * 7
    d = decision(body, 50)
    assert (d.d, d.cost, d.folds) == (10, 9, 3 + 1 + 4)
    d = decision(body, 50, target="sm_90")
    assert (d.d, d.cost, d.folds) == (10, 10, 3)


def test_a_loop_alone_in_its_kernel_may_grow_by_its_share():
    small = decisions(loop(FMA * 8, 279), end="st.global.f32 [%rd1], %f3; ret; }")["L"]
    assert small.action == "full"
    assert small.limit is not None
    assert small.limit > 140 + 46 * 27
    beside = decisions(loop(FMA * 8, 279))["L"]
    assert (beside.action, beside.limit) == ("partial", 140 + 46 * 27)
    end = "st.global.f32 [%rd1], %f3; ret; }"
    last_first = decisions(loop(FMA * 8, 220) + loop(FMA * 2, "%r1", "M"), end=end)
    assert last_first["L"].action == "full"  # M, the last of the text, is done by then
    first_last = decisions(loop(FMA * 2, "%r1") + loop(FMA * 8, 220, "M"), end=end)
    assert (first_last["M"].action, first_last["M"].limit) == ("partial", 140 + 46 * 27)


# --------------------------------------------------------------- rule 2: partial


def test_partial_needs_four_percent():
    """100·3/c is 4 at c = 75 and 3 at c = 76."""
    assert outcome(decision(FMA * 72, 1000)) == ("partial", 4)
    d = decision(FMA * 73, 1000)
    assert (outcome(d), d.code) == (("none", 1), UnrollCode.NO_FACTOR)
    assert "copies save 3 % < 4 %" in d.reason


@pytest.mark.seed("UNR-20", "UNR-21")
@pytest.mark.parametrize(
    ("d", "trip", "factor"),
    [
        (35, 1000, 10),  # 10·35 = 350
        (36, 1000, 8),  # 9·36 + 1·36 = 360 > 350, 8·36 + 0 = 288
        (35, 1009, 9),  # 10·35 + 9·35 > 350, 9·35 + 1·35 = 350
        (50, 1000, 5),  # 7·50 + 6·50 is too much; 5·50 = 250
    ],
)
def test_the_largest_factor_that_fits_with_its_remainder(d, trip, factor):
    assert outcome(decision(FMA * d, trip)) == ("partial", factor)


def test_a_branch_in_the_body_forbids_partial_not_full():
    branch = "setp.gt.f32 %p5, %f3, %f2; @%p5 bra E; mul.f32 %f3, %f3, %f2; E:" + FMA * 10
    assert decision(branch, 20).action == "full"
    d = decision(branch, 1000)
    assert (d.d, outcome(d), d.code) == (13, ("none", 1), UnrollCode.NO_FACTOR)
    guarded = "setp.gt.f32 %p5, %f3, %f2; @!%p5 mul.f32 %f3, %f3, %f2;" + FMA * 10
    d = decision(guarded, 1000)
    assert (d.d, d.action) == (13, "partial")


def test_one_fetch_rounds_the_factor_to_a_multiple_of_four():
    fetch = "tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd1, {%f3, %f2}]; add.f32 %f3, %f3, %f5;"
    d = decision(fetch + FMA * 32, 1000)  # d = 35: 10 fits, 8 is taken
    assert (d.d, d.folds, outcome(d)) == (35, 8, ("partial", 8))
    d = decision(fetch + fetch + FMA * 29, 1000)  # two fetches: 10 stays
    assert (d.d, outcome(d)) == (35, ("partial", 10))


# ---------------------------------------------------------- rule 3: unknown counts

LOAD = "ld.global.f32 %f4, [%rd1]; add.s64 %rd1, %rd1, 4; add.f32 %f3, %f3, %f4;"


def test_with_a_load_up_to_49():
    d = decision(LOAD + FMA * 43)
    assert (d.size, outcome(d), d.T) == (49, ("partial", 4), None)
    d = decision(LOAD + FMA * 44)
    assert (d.size, outcome(d), d.code) == (50, ("none", 1), UnrollCode.NO_FACTOR)


@pytest.mark.seed("UNR-23")
def test_without_a_load_below_22_and_five_more_a_shared_load():
    assert outcome(decision(FMA * 18)) == ("partial", 4)
    assert outcome(decision(FMA * 19)) == ("none", 1)
    shared = "add.s32 %r5, %r5, %r1; ld.shared.f32 %f4, [%r5]; add.f32 %f3, %f3, %f4;"
    assert outcome(decision(shared + FMA * 20)) == ("partial", 4)
    d = decision(shared + FMA * 21)
    assert (d.size, outcome(d)) == (27, ("none", 1))


def test_fetches_of_an_unknown_trip_count():
    fetch = "tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd1, {%f3, %f2}]; add.f32 %f3, %f3, %f5;"
    assert outcome(decision(fetch + FMA * 193)) == ("partial", 4)  # c = 199
    assert outcome(decision(fetch + FMA * 194)) == ("none", 1)  # c = 200
    assert outcome(decision(fetch * 2 + FMA * 90)) == ("partial", 2)  # c = 99
    assert outcome(decision(fetch * 2 + FMA * 91)) == ("none", 1)  # c = 100


def test_a_break_an_inner_branch_and_a_run_time_stride_keep_it_rolled():
    d = decisions(loop("setp.gt.f32 %p5, %f3, %f2; @%p5 bra X;" + FMA) + "X:\n")["L"]
    assert (outcome(d), d.code) == (("none", 1), UnrollCode.IRREGULAR)
    d = decisions("mov.u32 %r2, 0; L: " + FMA + "add.s32 %r2, %r2, %r1; "
                  "setp.lt.s32 %p1, %r2, 100; @%p1 bra L;")["L"]
    assert (outcome(d), d.code) == (("none", 1), UnrollCode.NO_BOUND)
    one = "setp.gt.f32 %p5, %f3, %f2; @%p5 bra E; mul.f32 %f3, %f3, %f2; E:"
    assert decision(one).action == "partial"
    two = ("setp.gt.f32 %p5, %f3, %f2; @%p5 bra E; setp.gt.f32 %p6, %f3, %f1; @%p6 bra E; "
           "mul.f32 %f3, %f3, %f2; E:")
    assert decision(two).code is UnrollCode.IRREGULAR
    assert decision(one + "bar.sync 0;").code is UnrollCode.IRREGULAR
    assert decision("bar.sync 0;" + FMA).action == "partial"


def test_where_the_exit_test_stands():
    """Of the old value: before the step never, after it where the trip count is known."""
    start, leave = "mov.u32 %r2, 0; L:" + FMA, "@%p1 bra L;"
    before = start + "setp.lt.s32 %p1, %r2, {}; add.s32 %r2, %r2, 1;" + leave
    after = start + "add.s32 %r4, %r2, 1; setp.lt.s32 %p1, %r2, {}; mov.u32 %r2, %r4;" + leave
    for bound in ("9", "%r1"):
        assert decisions(before.format(bound))["L"].code is UnrollCode.NO_BOUND
    known = decisions(after.format("9"))["L"]
    assert (known.T, known.action) == (10, "full")
    assert decisions(after.format("%r1"))["L"].code is UnrollCode.NO_BOUND


def test_lanes_that_leave_apart_and_a_scattering_store():
    scatter = ("ld.global.u32 %r6, [%rd1+64]; mul.wide.s32 %rd5, %r6, 4; add.s64 %rd6, %rd1, %rd5; "
               "st.global.f32 [%rd6], %f3;" + FMA)
    copy = "ld.global.f32 %f4, [%rd7]; st.global.f32 [%rd7+8], %f4; add.s64 %rd7, %rd7, 4;" + FMA
    for body, start, action in (
        (scatter, "%tid.x", "none"), (scatter, "%ctaid.x", "partial"), (copy, "%tid.x", "partial"),
    ):
        d = decisions(
            f"mov.b64 %rd7, %rd1; mov.u32 %r2, {start}; L: {body} add.s32 %r2, %r2, 1; "
            "setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;"
        )["L"]
        assert d.action == action


def test_a_loop_that_no_variable_counts():
    d = decisions("L:" + FMA + "setp.gt.f32 %p1, %f3, %f2; @%p1 bra L;")["L"]
    assert (outcome(d), d.code) == (("none", 1), UnrollCode.NO_INDUCTION)


# -------------------------------------------------------------- rules 0, 4, 5, 6


@pytest.mark.parametrize(
    "text",
    ["membar.gl;", "div.rn.f32 %f3, %f3, %f1;", "sqrt.rn.f32 %f3, %f3;",
     "call (%f3), callee, (%f3);", "fence.acq_rel.gpu;"],
)
@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_never(text, target):
    d = decision(text + FMA, 2, target)
    assert (outcome(d), d.code) == (("none", 1), UnrollCode.NOUNROLL)


def test_shuffles_only_from_hopper_on():
    shuffle = "shfl.sync.bfly.b32 %f3, %f3, 1, 31, -1;" + FMA
    assert decision(shuffle, 4).code is UnrollCode.NOUNROLL
    assert decision(shuffle, 4, "sm_90").action == "full"
    assert decision(shuffle, "%r1", "sm_90").action == "partial"
    long = (
        f"mov.u64 %rd2, 0; L: {shuffle} add.s64 %rd2, %rd2, 1; "
        "setp.lt.s64 %p1, %rd2, %rd9; @%p1 bra L;"
    )
    assert decisions(long, "sm_90")["L"].code is UnrollCode.INDUCTION_CLASS


@pytest.mark.seed("UNR-06")
def test_an_inner_loop_that_is_gone_counts_as_its_copies():
    """Outer d = T·(d + 2) + 1, a = T·a, and S by their difference."""
    found = decisions(loop(loop(FMA * 5, 4), 3, "M"))
    assert found["L"].action == "full"
    m = found["M"]
    assert (m.d, m.cost, m.folds) == (4 * 7 + 1, 20, 3 + 2 * 4 + 1)
    assert m.action == "full"


def test_an_inner_loop_that_stays_stops_the_outer_one():
    found = decisions(loop(loop(FMA * 5, 4, pragma='.pragma "nounroll";'), 3, "M"))
    assert found["L"].code is UnrollCode.NOUNROLL
    assert found["M"].code is UnrollCode.IRREGULAR
    assert "L stays" in found["M"].reason


@pytest.mark.parametrize("form", ["lt", "le", "ne", "gt", "while", "u32", "s64", "f32"])
def test_how_the_loop_counts_does_not_matter(form):
    tail = {
        "lt": "add.s32 %r2, %r2, 3; setp.lt.s32 %p1, %r2, 60; @%p1 bra L;",
        "le": "add.s32 %r2, %r2, 3; setp.le.s32 %p1, %r2, 57; @%p1 bra L;",
        "ne": "add.s32 %r2, %r2, 3; setp.ne.s32 %p1, %r2, 60; @%p1 bra L;",
        "gt": "add.s32 %r2, %r2, -3; setp.gt.s32 %p1, %r2, -60; @%p1 bra L;",
        "u32": "add.u32 %r2, %r2, 3; setp.lt.u32 %p1, %r2, 60; @%p1 bra L;",
        "while": "add.s32 %r2, %r2, 3; bra L; X:",
        "s64": "add.s64 %rd2, %rd2, 3; setp.lt.s64 %p1, %rd2, 60; @%p1 bra L;",
        "f32": "add.f32 %f9, %f9, 0f3F800000; setp.lt.f32 %p1, %f9, 0f41A00000; @%p1 bra L;",
    }[form]
    head = "setp.ge.s32 %p1, %r2, 60; @%p1 bra X;" if form == "while" else ""
    start = "mov.u32 %r2, 0; mov.u64 %rd2, 0; mov.f32 %f9, 0f00000000;"
    d = decisions(f"{start} L: {head} {FMA * 5} {tail}")["L"]
    assert (d.T, d.d, d.cost, d.action) == (20, 5, 5, "full")


@pytest.mark.seed("UNR-10", "UNR-46")
def test_the_pragma_holds_after_the_label_only():
    pragma = '.pragma "nounroll";'
    d = decisions(loop(FMA, 4, pragma=pragma))["L"]
    assert (outcome(d), d.code) == (("none", 1), UnrollCode.NOUNROLL)
    assert d.code.number == "11"
    assert decisions(f"{pragma}\n" + loop(FMA, 4))["L"].action == "full"
    assert decision(FMA, 4, **{"block-nounroll@L": True}).code is UnrollCode.NOUNROLL
    assert decision(FMA, 4, LoopUnroll=False).code is UnrollCode.NOUNROLL


# ------------------------------------------------------------------- around them


def test_knobs_move_the_limits():
    assert decision(FMA * 10, 120, UnrollBudget=100).action == "partial"
    assert decision(FMA * 10, 121, LoopUnrollNumExtraInstBase=47).action == "full"
    assert decision(FMA, "%r1", UnrollUnknownCount=8).factor == 8


@pytest.mark.seed("UNR-45")
def test_codes_are_those_of_the_real_table():
    numbers = {c.number for c in UnrollCode}
    assert numbers == {"7", "11", "12", "13", "14", "15", "16", "17", "18", "19", "24"}
    assert all(c.text for c in UnrollCode)


def test_deciding_changes_nothing():
    text = HEADER.format(target="sm_80") + loop(FMA + "mov.f32 %f9, %f3;", 4) + END
    module = nvir.read_ptx(text)
    before = nvir.print_ir(module)
    remarks = nvir.run_passes(module, "unroll-decision", verify=True)
    assert nvir.print_ir(module) == before
    assert [(r.name, r.loop, r.kind) for r in remarks] == [("Full", "L", "passed")]
    assert remarks[0].message == (
        "the assembler unrolls the loop fully: (4 − 1)·1 = 3 ≤ 3590 "
        "[T = 4, d = 1, a = 1, S = 3, p = 75, L = 3590]"
    )


def test_a_missed_remark_has_its_number():
    module = nvir.read_ptx(HEADER.format(target="sm_80") + loop(FMA * 40) + END)
    (remark,) = nvir.run_passes(module, "unroll-decision")
    assert (remark.kind, remark.code.number, remark.args["d"]) == ("missed", "12", 40)
    assert remark.code in all_passes()["unroll-decision"].codes


def test_dead_code_and_copies_do_not_count_and_equal_computations_do():
    d = decision(FMA * 5 + "mov.f32 %f8, %f3; mul.f32 %f9, %f8, %f8;", 4)
    assert d.d == 5
    twice = "mul.f32 %f8, %f1, %f2; mul.f32 %f9, %f1, %f2; add.f32 %f8, %f8, %f9;"
    assert decision(twice + "add.f32 %f3, %f3, %f8;", 4).d == 4


def test_the_report_holds_the_decision():
    from nvir.report import report

    module = nvir.read_ptx(HEADER.format(target="sm_80") + loop(FMA * 10, 120) + END)
    (found,) = report(module).to_json()["functions"][-1]["loops"]
    assert found["unroll"] == {
        "action": "full", "factor": None, "code": None, "reason": "(120 − 1)·10 = 1190 ≤ 1198"
    }


# ------------------------------------------------------------------ the real tool


@pytest.mark.skipif(not toolchain.available("ptxas"), reason="ptxas is not installed")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_the_real_assembler_decides_alike(arch):
    """On 20 generated kernels; benchmarks/unroll_agreement.py takes thousands."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    try:
        import unroll_agreement
    finally:
        sys.path.pop(0)
    judged = unroll_agreement.judge_generated(20, 7, arch)
    wrong = [j for j in judged if j.ptxas != j.nvir]
    assert len(wrong) <= len(judged) // 50, wrong


# ------------------------------------------------------- how the exit is written

NEGATED = (
    "mov.u32 %r2, 0;\nL:\n" + FMA + "add.s32 %r2, %r2, 1; setp.ge.s32 %p1, %r2, 4;\n{}\n"
)


@pytest.mark.parametrize("exit", ["@!%p1 bra L;", "not.pred %p2, %p1; @%p2 bra L;"])
def test_an_exit_on_a_negated_predicate_keeps_the_loop(exit):
    d = decisions(NEGATED.format(exit))["L"]
    assert (outcome(d), d.code) == (("none", 1), UnrollCode.NO_BOUND)
    twice = NEGATED.replace("ge", "lt").format("not.pred %p2, %p1; @!%p2 bra L;")
    assert outcome(decisions(twice)["L"]) == ("full", None)


def test_a_barrier_under_a_wide_variable_is_copied_from_blackwell_on():
    text = (
        "mov.u64 %rd3, 0;\nL:\nbar.sync 0;\n" + FMA + "add.s64 %rd3, %rd3, 1; "
        "setp.lt.s64 %p1, %rd3, %rd9; @%p1 bra L;\n"
    )
    assert outcome(decisions(text, "sm_90")["L"]) == ("none", 1)
    assert outcome(decisions(text, "sm_100")["L"]) == ("partial", 4)


def test_a_barrier_keeps_loops_that_lanes_leave_apart():
    body = "bar.sync 0;\n" + FMA
    assert outcome(decision(body)) == ("partial", 4)
    apart = loop(body).replace("mov.u32 %r2, 0;", "mov.u32 %r2, %tid.x;")
    d = decisions(apart)["L"]
    assert (outcome(d), d.code) == (("none", 1), UnrollCode.NOUNROLL)


LOAD = "ld.global.f32 %f5, [%rd1]; add.f32 %f3, %f3, %f5;\n"
NEAR = "ld.shared.f32 %f6, [%r7]; add.f32 %f3, %f3, %f6;\n"
FAR_STORE = "st.global.f32 [%rd3], %f3;\n"


@pytest.mark.parametrize(
    ("body", "together"),
    [
        (FMA, False),
        (LOAD + FAR_STORE, True),
        (FAR_STORE, False),
        (NEAR + LOAD + FAR_STORE, False),
        (NEAR + "st.shared.f32 [%r8], %f3;\n", True),
        ("st.shared.f32 [%r8], %f3;\n", False),
        (FMA + "atom.shared.exch.b32 %r9, [%r7], %r1;\n", True),
        (NEAR + "red.global.add.f32 [%rd1], %f3;\n", True),
        (FMA + "activemask.b32 %r9;\nst.shared.u32 [%r8], %r9;\n", True),
    ],
)
def test_what_keeps_a_loop_that_lanes_leave_apart(body: str, together: bool) -> None:
    start = "mov.u32 %r7, %tid.x; mov.u32 %r8, %r7; add.s64 %rd3, %rd1, %rd9;\n"
    text = loop(FMA + body).replace("mov.u32 %r2, 0", "mov.u32 %r2, {}")
    apart = decisions(start + text.format("%r7"))["L"]
    alike = decisions(start + text.format("0"))["L"]
    assert outcome(alike) == ("partial", 4)
    assert outcome(apart) == (("none", 1) if together else ("partial", 4))
    assert not together or apart.code is UnrollCode.NOUNROLL


@pytest.mark.parametrize(
    ("body", "partial"),
    [
        ("@%p5 fma.rn.f32 %f3, %f3, %f1, %f2;\n", True),
        ("@%p5 st.global.f32 [%rd3], %f3;\n", False),
        ("@%p5 ld.shared.f32 %f3, [%r5];\n", False),
        ("setp.gt.f32 %p5, %f3, %f1; @%p5 bra J; add.f32 %f9, %f3, %f1; J:\n", True),
        ("setp.gt.f32 %p5, %f3, %f1; @%p5 bra J; add.f32 %f3, %f3, %f1; J:\n", False),
        ("div.u32 %r9, %r1, %r5; st.shared.u32 [%r5], %r9;\n", True),
        ("div.s32 %r9, %r1, %r5; st.shared.u32 [%r5], %r9;\n", False),
    ],
)
def test_a_predicated_access_is_a_branch_and_an_empty_if_none(body: str, partial: bool) -> None:
    made = decision(FMA * 10 + body, 997)
    assert made.action == ("partial" if partial else "none")


def test_the_slow_path_of_a_dead_division_keeps_the_loop() -> None:
    assert decision(FMA, 8).action == "full"
    made = decision(FMA + "div.rn.f32 %f9, %f3, %f1;\n", 8)
    assert made.code is UnrollCode.NOUNROLL
