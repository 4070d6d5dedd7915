"""What nvcc is foretold to make of words in CUDA, and what of it is promised."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from nvir.analysis.analyses import Analyses
from nvir.ptx import print_ptx, read_ptx
from nvir.report.tuning.advice import copies_of
from nvir.report.tuning.nvcc_form import NvccForm, nvcc_form
from nvir.report.tuning.promised import _follows, promised
from nvir.sm.profile import profile
from nvir.tune.candidates import Choices, LoopSetting, context, most_trips
from nvir.tune.search import Launches, tune
from tests.tune.test_tune import needs_ptxas
from tests.tune.test_written import scaled

SM_80 = profile("sm_80")
APART = LoopSetting(apart=True)


def unrolled(load: str = "ld.global.f32 %f2, [%rd1+OFFSET];", store: str = "%rd2") -> str:
    """y[0] += x[i] in four copies, and a loop of one for what is left, as nvcc makes them."""
    step = load + f" add.f32 %f1, %f1, %f2; st.global.f32 [{store}], %f1;\n"
    return f""".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n) {{
.reg .pred %p<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u32 %r1, [n];
ld.global.f32 %f1, [%rd2]; setp.lt.s32 %p1, %r1, 1; @%p1 bra END;
and.b32 %r2, %r1, 3; setp.lt.u32 %p2, %r1, 4; @%p2 bra TEST;
sub.s32 %r3, %r1, %r2;
MAIN:
{"".join(step.replace("OFFSET", str(4 * k)) for k in range(4))}
add.s64 %rd1, %rd1, 16; add.s32 %r3, %r3, -4; setp.ne.s32 %p3, %r3, 0; @%p3 bra MAIN;
TEST:
setp.eq.s32 %p4, %r2, 0; @%p4 bra END;
REST:
.pragma "nounroll";
{step.replace("OFFSET", "0")}
add.s64 %rd1, %rd1, 4; add.s32 %r2, %r2, -1; setp.ne.s32 %p5, %r2, 0; @%p5 bra REST;
END:
ret; }}
"""


def made(
    text: str, setting: LoopSetting, header: str, copies: int = 1,
    runs: Mapping[str, float] = MappingProxyType({}),
) -> NvccForm | None:
    module = read_ptx(text)
    kernel = module["k"]
    kernel.analyze_cfg()
    names = {str(x.header.name): 1 for x in Analyses.of(kernel).loops}
    return nvcc_form(kernel, Choices(((header, setting),)), "k", runs,
                     names | {header: copies}, context(module, SM_80))


def code(form: NvccForm | None) -> list[str]:
    assert form is not None
    return [i.form.spelling for i in form.function.instructions()]


def test_restrict_marks_what_is_only_read_and_keeps_sums_in_registers() -> None:
    form = made(unrolled(), APART, "MAIN", 4)
    found = code(form)
    assert found.count("ld.global.nc.f32") == 5
    assert form is not None
    loops = Analyses.of(form.function).loops
    assert not any(i.form.writes for x in loops for b in x.blocks for i in b)


@pytest.mark.parametrize(("count", "loads"), [("and.b32 %r2, %r1, 3", 1), ("mov.u32 %r2, %r1", 2)])
def test_what_a_loop_and_its_rest_read_of_one_place_is_read_once(count: str, loads: int) -> None:
    text = unrolled("ld.global.f32 %f2, [%rd1+OFFSET]; ld.global.f32 %f3, [%rd3+8]; "
                    "mul.f32 %f2, %f2, %f3;").replace("and.b32 %r2, %r1, 3", count)
    text = text.replace(".param .u64 y,", ".param .u64 y, .param .u64 z,").replace(
        "ld.param.u32 %r1", "ld.param.u64 %rd3, [z]; ld.param.u32 %r1")
    assert code(made(text, APART, "MAIN", 4)).count("ld.global.nc.f32") == 5 + loads


@pytest.mark.parametrize(("text", "marked"), [
    (unrolled(load="ld.volatile.global.f32 %f2, [%rd1+OFFSET];"), 0),
    (unrolled(store="%rd1"), 1),  # x is written, y read once
])
def test_what_may_change_is_not_marked(text: str, marked: int) -> None:
    assert code(made(text, APART, "MAIN", 4)).count("ld.global.nc.f32") == marked


@pytest.mark.parametrize(("offset", "is_made"), [(16, False), (6, True)])
def test_what_a_later_iteration_reads_again_is_not_foretold(offset: int, is_made: bool) -> None:
    again = f"ld.global.f32 %f2, [%rd1+OFFSET]; ld.global.f32 %f3, [%rd1+{offset}];"
    assert (made(unrolled(again), APART, "MAIN", 4) is not None) == is_made


def test_an_address_of_two_pointers_is_not_foretold() -> None:
    text = unrolled("add.s64 %rd3, %rd1, %rd2; ld.global.f32 %f2, [%rd3];")
    assert made(text, APART, "MAIN", 4) is None


def test_what_more_copies_leave_the_loop_of_one_does() -> None:
    form = made(unrolled(), LoopSetting(2), "MAIN", 4, {"MAIN": 64, "REST": 3})
    assert form is not None
    loops = Analyses.of(form.function).loops
    found = sorted((sum(i.form.reads for i in x.header), form.trips[x.header]) for x in loops)
    assert found == [(1, 3.0), (8, 32.0)]  # 259 are 32 times eight and three
    assert all("nounroll" in x.header.pragmas for x in loops)


@pytest.mark.parametrize(("given", "main"), [
    ({}, (23.5, 4, "assumed")),  # of 64 to 127
    ({"MAIN": 2.5}, (2.5, 4, "given")),
])
def test_an_assumed_count_is_of_the_sources_loop(
    given: dict[str, float], main: tuple[float, int, str]
) -> None:
    request = Launches(trips=given)
    loops = tune(read_ptx(unrolled()), SM_80, "sm_80", request, judge="model").kernels[0].loops
    assert [(x.trips, x.copies, x.source) for x in loops] == [main, (1.5, 1, "rest")]
    assert loops[0].of_source == main[0] * 4 + 1.5


def test_without_a_loop_for_it_more_copies_are_not_foretold() -> None:
    text = unrolled().replace("and.b32 %r2, %r1, 3", "mov.u32 %r2, %r1")
    assert made(text, LoopSetting(2), "MAIN", 4) is None


@pytest.mark.parametrize(("store", "is_made"), [("%rd2", False), ("%rd1+64", True)])
def test_a_sum_beside_inline_assembly_is_not_foretold(store: str, is_made: bool) -> None:
    load = ("ld.global.f32 %f2, [%rd1+OFFSET];\n// begin inline asm\nneg.f32 %f2, %f2;\n"
            "// end inline asm\n")
    assert (made(unrolled(load, store), APART, "MAIN", 4) is not None) == is_made


@pytest.mark.parametrize(("indices", "setting", "follows"), [
    (3, LoopSetting(2), False), (2, LoopSetting(2), True), (3, APART, True),
    (2, LoopSetting(0), False),  # straight code
])
def test_no_factor_is_foretold_of_copies_with_an_index_each_nor_of_straight_code(
    indices: int, setting: LoopSetting, follows: bool
) -> None:
    steps = "".join(f"add.s32 %r{n}, %r{n}, %r1;" for n in range(4, 4 + indices))
    text = unrolled().replace("add.s64 %rd1, %rd1, 16;", f"add.s64 %rd1, %rd1, 16; {steps}")
    kernel = read_ptx(text.replace("MAIN:", "mov.u32 %r4, 0; mov.u32 %r5, 0; mov.u32 %r6, 0;\n"
                                   "MAIN:", 1))["k"]
    kernel.analyze_cfg()
    assert _follows(setting, Analyses.of(kernel).loops[0], 4) == follows


def test_what_counts_up_to_zero_is_a_rest_too() -> None:
    text = unrolled().replace("REST:", "neg.s32 %r4, %r2;\nREST:").replace(
        "add.s32 %r2, %r2, -1; setp.ne.s32 %p5, %r2, 0", "add.s32 %r4, %r4, 1; "
        "setp.ne.s32 %p5, %r4, 0")
    module = read_ptx(text)
    assert copies_of(module, "k") == {"MAIN": 4, "REST": 0}
    assert most_trips(module["k"]) == {"REST": 3}
    assert made(text, LoopSetting(2), "MAIN", 4) is not None
    other = text.replace("neg.s32 %r4, %r2", "neg.s32 %r4, %r1")  # not of what is left
    assert made(other, LoopSetting(2), "MAIN", 4) is None


@pytest.mark.parametrize(("setting", "found"), [(APART, True), (LoopSetting(2), False)])
def test_the_test_of_a_loop_that_is_not_unrolled_stays(setting: LoopSetting, found: bool) -> None:
    text = unrolled().replace("setp.ne.s32 %p3, %r3, 0;",
                              "add.s32 %r5, %r3, %r2; setp.ne.s32 %p3, %r5, %r2;")
    form = made(text, setting, "MAIN", 4)
    assert form is not None
    sums = [i for x in Analyses.of(form.function).loops for b in x.blocks for i in b
            if i.form.spelling == "add.s32" and not any(v.is_constant for v in i.operands)]
    assert bool(sums) == found


def test_what_several_blocks_leave_is_not_foretold() -> None:
    branch = "setp.gt.f32 %p6, %f1, %f2; @%p6 bra NEXT; add.f32 %f1, %f1, %f1;\nNEXT:\n"
    text = unrolled().replace("add.s64 %rd1, %rd1, 16;", f"{branch}add.s64 %rd1, %rd1, 16;")
    assert made(text, LoopSetting(2), "MAIN", 4) is None
    assert made(text, LoopSetting(1), "MAIN", 4) is not None


def test_addresses_of_a_rest_are_made_anew() -> None:
    text = scaled().replace("mul.lo.s32 %r4, %r1, %r3;", "").replace(
        "mul.wide.s32 %rd3, %r4, 4; add.s64 %rd4, %rd1, %rd3;", "").replace(
        "[%rd4], %f2;", "[%rd1], %f2; add.s64 %rd1, %rd1, 4;")
    found = code(made(text, LoopSetting(4), "L"))
    plain = code(made(text, LoopSetting(1), "L"))
    assert found.count("mul.wide.s32") == 4 + 1 + 1
    assert plain.count("mul.wide.s32") == 1
    shared = text.replace("st.global.f32 [%rd1], %f2; add.s64 %rd1, %rd1, 4;",
                          "st.shared.f32 [%r5], %f2; add.s32 %r5, %r5, 4;")
    assert code(made(shared, LoopSetting(4), "L")).count("mul.wide.s32") == 4 + 1  # 32 bits


def test_a_form_is_ptx() -> None:
    module = read_ptx(unrolled())
    form = made(unrolled(), LoopSetting(2, apart=True), "MAIN", 4)
    assert form is not None
    module.functions = [form.function]
    module.order = [form.function]
    assert read_ptx(print_ptx(module))["k"]


@needs_ptxas
@pytest.mark.parametrize(("text", "words"), [
    (unrolled(), True),
    (unrolled(store="%rd1"), False),  # one operand: no word of CUDA tells its places apart
    ("//\n// Generated by NVIDIA NVVM Compiler\n//\n" + unrolled(), True),
    ("//\n// Generated by nvir\n//\n" + unrolled(), False),
    ("//\n// Generated by LLVM NVPTX Back-End\n//\n" + unrolled(), False),
])
def test_what_is_promised_gains_by_what_nvcc_makes_of_it(text: str, words: bool) -> None:
    module = read_ptx(text)
    request = Launches()
    found = tune(module, SM_80, "sm_80", request)
    said = promised(found, module, SM_80, request)
    apart = [p for p in said.values() if any("__restrict__" in x for x in p.texts)]
    assert bool(apart) == words
    for p in apart:
        base = found.kernels[0].candidates[0]
        assert p.texts[0] == "__restrict__ on x and y (where they never overlap)"
        assert p.made.cycles.full < base.cycles.full
        assert p.made.blocks_per_sm >= base.blocks_per_sm


@pytest.mark.parametrize(("step", "free"), [("1", False), ("%r3", True)])
def test_the_lack_of_a_pragma_is_promised_where_nvcc_does_not_count(
    step: str, free: bool
) -> None:
    """What it counts it unrolls by itself then."""
    from nvir.report.tuning.promised import _follows

    module = read_ptx(scaled(step=step, places='.pragma "nounroll";'))
    module["k"].analyze_cfg()
    (loop,) = Analyses.of(module["k"]).loops
    assert _follows(LoopSetting(free=True), loop, 1) == free
    assert not _follows(LoopSetting(4), loop, 0)
    assert not _follows(LoopSetting(None, 2), loop, 1)
