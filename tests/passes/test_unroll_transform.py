"""Unrolled loops do what the loops did: every way of unrolling, every number of iterations.

Each loop is run by the interpreter before and after, with bounds around the factor and
around where its variable wraps: all bounds at once, each by a block of its own.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nvir
from nvir import toolchain
from nvir.assembler.unroll.decision import pieces_of
from nvir.ir.clone import clone_module
from nvir.ir.errors import LaunchError
from nvir.ir.loops import natural_loops
from nvir.passes.loop.unroll.apply import LARGEST, UnrollPlan, unroll
from nvir.passes.loop.unroll.fold import literal
from nvir.passes.loop.unroll.prepare import Refusal, Refusals

HEADER = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 o, .param .align 8 .b8 n[512], .param .u32 m) {
.reg .pred %p<20>; .reg .b16 %h<9>; .reg .b32 %r<40>; .reg .f32 %f<9>; .reg .b64 %rd<20>;
.reg .f64 %fd<9>;
mov.u32 %r30, %ctaid.x; mul.wide.u32 %rd10, %r30, 256; ld.param.u64 %rd1, [o];
add.s64 %rd1, %rd1, %rd10; shr.u64 %rd11, %rd10, 5; mov.b64 %rd12, n;
add.s64 %rd12, %rd12, %rd11; ld.param.u64 %rd2, [%rd12];
cvt.u32.u64 %r1, %rd2; ld.param.u32 %r6, [m];
cvt.u16.u64 %h1, %rd2; mov.u32 %r3, 7; mov.u32 %r8, 0; mov.u32 %r12, 1; mov.u64 %rd5, %rd1;
mov.b32 %f1, %r1; mov.b32 %f3, %r6;
"""
END = """X:
st.global.u32 [%rd1], %r3; st.global.u32 [%rd1+4], %r8; st.global.u32 [%rd1+8], %r12;
st.global.u32 [%rd1+12], %r2; ret; }
"""
SUM = "mad.lo.s32 %r3, %r3, 3, %r2; shl.b32 %r9, %r2, 2; xor.b32 %r8, %r8, %r9;\n"
BODIES = {
    "plain": SUM,
    "if": SUM + "and.b32 %r10, %r3, 1; setp.eq.s32 %p3, %r10, 0; @%p3 bra M; "
    "add.s32 %r8, %r8, %r2;\nM:\n",
    "break": SUM + "and.b32 %r10, %r3, 63; setp.eq.s32 %p2, %r10, 5; @%p2 bra X;\n",
    "carried": "mov.u32 %r13, %r12; mov.u32 %r12, %r8; " + SUM + "add.s32 %r8, %r8, %r13;\n",
    "predicated": SUM + "setp.gt.s32 %p4, %r3, 0; @%p4 add.s32 %r8, %r8, 1; "
    "@!%p4 mov.u32 %r12, 9;\n",
    "inner": "mov.u32 %r14, 0;\nI:\nmad.lo.s32 %r3, %r3, 5, %r14; add.s32 %r14, %r14, 1; "
    "setp.lt.s32 %p5, %r14, 3; @%p5 bra I;\n" + SUM,
    "guarded exit": SUM + "setp.eq.s32 %p6, %r3, 1234567; @%p6 exit;\n",
}
NEGATED = {"lt": "ge", "le": "gt", "ne": "eq", "gt": "le", "ge": "lt", "lo": "hs", "hi": "ls"}
COUNTED = [  # comparison, step, start, bounds
    ("lt.s32", 1, 0, (0, 1, 2, 3, 4, 5, 7, 8, 9, 30)),
    ("lt.s32", 3, -5, (0, 1, 5, 20, 2**31 - 40)),
    ("le.s32", 2, 0, (-3, 0, 1, 9, 20)),
    ("gt.s32", -1, 20, (20, 19, 18, 17, 3, 0)),
    ("ge.s32", -2, 20, (21, 20, 19, 7, 0)),
    ("ne.s32", 1, 0, (1, 2, 3, 4, 5, 8, 17)),
    ("ne.s32", -2, 20, (18, 16, 0, 4)),
    ("lt.u32", 1, 0, (0, 1, 5, 9)),
    ("lo.u32", 5, 2**32 - 30, (2**32 - 1, 2**32 - 4, 9)),
    ("gt.u32", -7, 30, (0, 3, 1)),
    ("lt.s32", 2**28, 7 * 2**28, (2**31 - 1, 2**31 - 2**27, -5)),
]


def text_of(body: str, form: str, compare: str, step: int, start: int, bound: str) -> str:
    """A loop with its test after the step, before it at the bottom ("old"), or at the top."""
    bump = f"add.s32 %r2, %r2, {step};\n"
    test = f"setp.{compare} %p1, %r2, {bound};\n"
    head = f"mov.u32 %r2, {start};\nL:\n"
    if form == "top":
        sign, _, type = compare.partition(".")
        test = f"setp.{NEGATED[sign]}.{type} %p1, %r2, {bound};\n"
        return HEADER + head + test + "@%p1 bra X;\n" + body + bump + "bra L;\n" + END
    tail = test + bump if form == "old" else bump + test
    return HEADER + head + body + tail + "@%p1 bra L;\n" + END


def launch(module, bounds, m: int = 12345, lanes: int = 1, steps: int = 20_000):
    """What each bound's block stores, a row each, or None where one does not end soon."""
    out = np.zeros((len(bounds), 64), np.uint32)
    given = np.array([n % 2**64 for n in bounds] + [0] * (64 - len(bounds)), np.uint64)
    try:
        nvir.launch(module, "k", len(bounds), lanes, [out, given.tobytes(), np.uint32(m)],
                    max_steps=steps * len(bounds))
    except LaunchError:
        return None
    return out


def unrolled(module, plan: UnrollPlan):
    """The module with every loop unrolled, and the outcomes."""
    copy = clone_module(module)
    f = copy["k"]
    f.analyze_cfg()
    refusals = Refusals(f)
    headers = {x.header: plan for x in natural_loops(f) if refusals.of(x) is None}
    outcomes = unroll(f, headers, refusals)
    f.analyze_cfg()
    nvir.verify(copy)
    return copy, {h.name: o for h, o in outcomes.items()}


def check(text: str, plan: UnrollPlan, bounds, **launching):
    """Unroll by the plan and compare, under all bounds under which the loop ends; the outcomes."""
    module = nvir.read_ptx(text)
    copy, outcomes = unrolled(module, plan)
    before = launch(module, bounds, steps=300, **launching)  # an endless loop costs all its steps
    if before is None:
        bounds = [n for n in bounds if launch(module, [n], steps=3000, **launching) is not None]
        before = launch(module, bounds, **launching) if bounds else None
    if before is None:
        return outcomes
    for form in (copy, nvir.read_ptx(nvir.print_ptx(copy))):
        after = launch(form, bounds, steps=200_000, **launching)
        assert after is not None
        for n, x, y in zip(bounds, before, after, strict=True):
            assert (x == y).all(), (n, x[:4], y[:4])
    return outcomes


# -------------------------------------------------------------- counts at run time


@pytest.mark.seed("UNR-39", "UNR-40", "UNR-42", "UNR-47", "UNR-50", "GAP-38")
@pytest.mark.parametrize("form", ["bottom", "old", "top"])
@pytest.mark.parametrize(("factor", "pieces"), [
    (2, ()), (3, (2, 1)), (3, (2,)), (4, ()), (4, (2, 1)), (4, (2,)), (8, (4, 2, 1)), (8, (4, 2))])
def test_any_count_at_run_time(form, factor, pieces):
    for compare, step, start, bounds in COUNTED[factor % 2 :: 2] if factor != 4 else COUNTED:
        text = text_of(SUM, form, compare, step, start, "%r1")
        outcome = check(text, UnrollPlan(factor, pieces), bounds)["L"]
        assert outcome.copies == factor
        assert outcome.way.startswith("one test in")


@pytest.mark.seed("UNR-39", "UNR-42", "GAP-38")
def test_every_trip_from_0_to_40_with_every_factor():
    for factor in (3, 8):
        text = text_of(SUM, "top", "lt.s32", 1, 0, "%r1")
        check(text, UnrollPlan(factor, pieces_of(factor)), range(41))


@pytest.mark.seed("UNR-38", "UNR-47")
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("form", ["bottom", "top"])
def test_any_body(body, form):
    bounds = (0, 1, 2, 3, 4, 5, 7, 8, 19)
    for factor in (2, 4):
        outcomes = check(
            text_of(BODIES[body], form, "lt.s32", 1, 0, "%r1"), UnrollPlan(factor), bounds
        )
        assert outcomes["L"].copies == factor


@pytest.mark.seed("UNR-40")
def test_the_guard_compares_below_or_above():
    def comparisons(compare: str, step: int) -> list[str]:
        module = nvir.read_ptx(text_of(SUM, "bottom", compare, step, 0, "%r1"))
        copy, _ = unrolled(module, UnrollPlan(4))
        main = next(b for b in copy["k"].blocks if "unrolled" in b.flags and b.name != "L")
        guard = main.preds[0].terminator.guard.definer
        return [str(i.form.spelling) for i in (guard, *guard.operands) if i.definer is i]

    assert "setp.lt.s32" in comparisons("lt.s32", 1)
    assert "setp.gt.s32" in comparisons("gt.s32", -1)


# ------------------------------------------------------------------- known counts


@pytest.mark.seed("UNR-34", "UNR-38", "UNR-42", "UNR-47")
@pytest.mark.parametrize("form", ["bottom", "old", "top"])
@pytest.mark.parametrize("factor", [None, 2, 3, 4, 7])
def test_any_known_count(form, factor):
    for compare, step, start, bounds in COUNTED:
        for bound in bounds[(factor or 0) % 3 :: 3]:
            text = text_of(SUM, form, compare, step, start, str(bound))
            outcome = check(text, UnrollPlan(factor), [0])["L"]
            if factor is None and outcome.copies:
                assert outcome.full


@pytest.mark.seed("UNR-42")
@pytest.mark.parametrize("T", [*range(1, 12), 16, 17, 23, 40])
def test_known_counts_leave_straight_line_copies_for_the_remainder(T):
    text = text_of(SUM, "bottom", "lt.s32", 1, 0, str(T))
    for factor in (2, 3, 8):
        outcome = check(text, UnrollPlan(factor), [0])["L"]
        if factor <= T:
            assert outcome.way == f"one test in {factor} copies, {T % factor} copies ahead"


@pytest.mark.parametrize("body", BODIES)
def test_any_body_fully(body):
    for form in ("bottom", "top"):
        outcomes = check(text_of(BODIES[body], form, "lt.s32", 1, 0, "6"), UnrollPlan(None), [0])
        assert outcomes["L"].full
        assert outcomes["L"].copies == 6


def test_what_depends_on_the_variable_alone_is_worked_out():
    module = nvir.read_ptx(text_of(SUM, "bottom", "lt.s32", 1, 0, "4"))
    copy, _ = unrolled(module, UnrollPlan(None))
    names = [i.form.name for i in copy["k"].instructions()]
    assert "shl" not in names
    assert not any(i.is_phi and len(i.operands) > 1 for i in copy["k"].instructions())
    read = {literal(v) for i in copy["k"].instructions() for v in i.operands}
    assert {4, 8, 12} <= read


@pytest.mark.parametrize("end", ["ne", "lt"])
def test_a_pointer_counts(end):
    text = HEADER + "mov.u32 %r2, 5; add.s64 %rd6, %rd5, 128; shl.b64 %rd7, %rd2, 2; " \
        "add.s64 %rd7, %rd5, %rd7;\nL:\nst.global.u32 [%rd5+16], %r2; add.s32 %r2, %r2, 3;\n" \
        f"add.s64 %rd5, %rd5, 4; setp.{end}.u64 %p1, %rd5, %rd7; @%p1 bra L;\n" + END
    for plan in (UnrollPlan(3), UnrollPlan(4, (2, 1))):
        outcome = check(text, plan, range(1, 14))["L"]
        assert outcome.way.startswith("one test in")


def test_a_float_keeps_its_tests_at_run_time_and_is_counted_where_known():
    text = HEADER + "mov.u32 %r2, 0; mov.f32 %f2, 0f00000000; cvt.rn.f32.u32 %f1, %r1;\nL:\n" \
        + SUM + "add.s32 %r2, %r2, 1; add.f32 %f2, %f2, 0f3DCCCCCD; setp.lt.f32 %p1, %f2, BOUND; " \
        "@%p1 bra L;\n" + END
    kept = check(text.replace("BOUND", "%f1"), UnrollPlan(4), range(4))["L"]
    assert kept.way == "all tests in 4 copies"
    assert check(text.replace("BOUND", "0f3F800000"), UnrollPlan(None), [0])["L"].full
    known = check(text.replace("BOUND", "0f40400000"), UnrollPlan(4), [0])["L"]
    assert known.way.startswith("one test in 4 copies")


@pytest.mark.parametrize("compare", ["lt.s32", "le.s32", "lt.u32"])
@pytest.mark.parametrize("stride", [1, 3, 50, (1 << 31) - 1])
def test_strides_of_run_time_are_tested_to_be_small(compare, stride):
    """Of a bound so low that the guard's limit wraps, too; large strides keep the old loop."""
    text = text_of(SUM, "bottom", compare, 1, 0, "%r1").replace("%r2, %r2, 1", "%r2, %r2, %r6")
    bounds = [*range(20), *([(1 << 31) + 2] if compare != "lt.u32" else [])]
    for plan in (UnrollPlan(4), UnrollPlan(4, (2, 1))):
        way = check(text, plan, bounds, m=stride)["L"].way
        assert way.startswith("one test in 4 copies")


def test_strides_of_run_time_that_lead_down_keep_their_tests():
    text = text_of(SUM, "bottom", "gt.s32", 1, 0, "%r1").replace("%r2, %r2, 1", "%r2, %r2, %r6")
    assert check(text, UnrollPlan(4), [30], m=(1 << 32) - 3)["L"].way == "all tests in 4 copies"


def test_lanes_may_count_apart():
    text = text_of(SUM, "bottom", "lt.s32", 1, 0, "%r1").replace(
        "mov.u32 %r2, 0;", "mov.u32 %r20, %laneid; shl.b32 %r21, %r20, 2; cvt.u64.u32 %rd9, %r21; "
        "add.s64 %rd1, %rd1, %rd9; mov.u32 %r2, %r20;"
    )
    text = text.replace("[%rd1+4]", "[%rd1+64]").replace("[%rd1+8]", "[%rd1+128]")
    check(text.replace("[%rd1+12]", "[%rd1+128]"), UnrollPlan(4, (2, 1)), range(24), lanes=16)


# ----------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        ("frobnicate.b32 %r3, %r8;\n", Refusal.UNKNOWN),
        ("mov.u32 %r15, %laneid; add.s32 %r2, %r2, %r15; "
         "shfl.sync.idx.b32 %r3, %r3, 0, 31, -1;\n", Refusal.CONVERGENT),
        ("@%p7 bra X;\nbrx.idx %r3, ts;\nT:\n", Refusal.BRANCH),
    ],
)
def test_what_cannot_be_copied_is_refused(body, refusal):
    extra = "ts: .branchtargets T;\n" if "brx" in body else ""
    text = text_of(body, "bottom", "lt.s32", 1, 0, "%r1").replace("L:\n", extra + "L:\n", 1)
    module = nvir.read_ptx(text)
    f = module["k"]
    f.analyze_cfg()
    found = Refusals(f).of(natural_loops(f)[0])
    assert found is not None
    assert found[0] is refusal


def test_a_uniform_barrier_is_copied():
    text = text_of("bar.sync 0;\n" + SUM, "bottom", "lt.s32", 1, 0, "%r1")
    text = text.replace("cvt.u32.u64 %r1, %rd2;", "ld.param.u32 %r1, [n];")  # the same for all
    for n in (1, 2, 9):
        assert check(text, UnrollPlan(4), [n])["L"].copies == 4


def test_a_carry_within_a_block_is_copied():
    body = "add.cc.u32 %r3, %r3, %r2; addc.u32 %r8, %r8, 5;\n"
    assert check(
        text_of(body, "bottom", "lt.s32", 1, 0, "%r1"), UnrollPlan(4), range(9)
    )["L"].copies == 4


def test_a_demand_that_is_a_mistake_is_not_met():
    module = nvir.read_ptx(text_of(SUM, "bottom", "lt.s32", 1, 0, "%r1"))
    _, outcomes = unrolled(module, UnrollPlan(LARGEST))
    assert outcomes["L"].copies == 0
    assert "too many" in outcomes["L"].way


def test_demands_one_after_another_are_bounded() -> None:
    """A nest forced thrice would have seven million instructions of 55, and take a minute."""
    text = (".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u32 n) {\n"
            ".reg .pred %p<2>;\n.reg .b32 %r<10>;\nld.param.u32 %r9, [n];\n")
    text += "".join(f"mov.u32 %r{k}, 0;\nL{k}:\n" for k in range(3))
    text += "mad.lo.u32 %r8, %r8, %r0, %r9;\n" * 30
    text += "".join(f"add.u32 %r{k}, %r{k}, 1;\nsetp.lt.u32 %p1, %r{k}, %r9;\n@%p1 bra L{k};\n"
                    for k in (2, 1, 0))
    module = nvir.read_ptx(text + "ret;\n}\n")
    sizes = []
    for _ in range(3):
        nvir.run_passes(module, "loop-unroll<factor=7>")
        sizes.append(sum(map(len, module.functions[0].blocks)))
    assert LARGEST / 2 < sizes[0] < sizes[-1] < 2 * LARGEST


# ----------------------------------------------------------------- random, and ptxas


@st.composite
def loops(draw):
    body = "".join(draw(st.lists(st.sampled_from(sorted(BODIES)), min_size=1, max_size=3,
                                 unique=True).map(lambda ks: [BODIES[k] for k in ks])))
    compare, step, start, bounds = draw(st.sampled_from(COUNTED))
    form = draw(st.sampled_from(["bottom", "old", "top"]))
    near = draw(st.integers(-3, 40))
    bound = str(draw(st.sampled_from(bounds))) if draw(st.booleans()) else "%r1"
    factor = draw(st.sampled_from([None, 2, 3, 4, 6]))
    ways = [(), pieces_of(factor), pieces_of(factor, 1)] if factor else [()]
    plan = UnrollPlan(factor, draw(st.sampled_from(ways)),
                draw(st.sampled_from([1, 1, 2])))
    return text_of(body, form, compare, step, start, bound), plan, (*bounds, near)


@pytest.mark.seed("UNR-47")
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(loops())
def test_random_loops_keep_their_results(case):
    text, plan, bounds = case
    check(text, plan, bounds)


@pytest.mark.oracle
def test_ptxas_takes_what_is_printed():
    for (name, body), form in zip(BODIES.items(), itertools.cycle(("bottom", "top")), strict=False):
        for bound, plan in (
            ("%r1", UnrollPlan(4, (2, 1))), ("9", UnrollPlan(4)), ("9", UnrollPlan(None))
        ):
            module = nvir.read_ptx(text_of(body, form, "lt.s32", 1, 0, bound))
            copy, _ = unrolled(module, plan)
            result = toolchain.ptxas(nvir.print_ptx(copy))
            assert result.ok, (name, result.error)


@pytest.mark.oracle
def test_ptxas_does_not_unroll_again():
    """Each copy has one `fma.rz` of its own; ptxas must leave as many as nvir made."""
    body = "fma.rz.f32 %f3, %f3, %f1, %f1;\n"
    end = END.replace("%r3;", "%f3;").replace("u32 [%rd1], %f3", "f32 [%rd1], %f3")
    for bound, factor in (("%r1", 4), ("200", 4), ("4000", 5)):
        text = text_of(body, "bottom", "lt.s32", 1, 0, bound).replace(END, end)
        module = nvir.read_ptx(text)
        copy, _ = unrolled(module, UnrollPlan(factor))
        made = sum(i.form.spelling == "fma.rz.f32" for i in copy["k"].instructions())
        found = toolchain.ptxas(nvir.print_ptx(copy))
        assert found.ok, found.error
        sass = toolchain.disassemble(found.cubin)["k"]
        assert sum(i.opcode.startswith("FFMA.RZ") for i in sass) == made
