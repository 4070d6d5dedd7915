"""The pass loop-unroll: policies, options, knobs, pragmas, remarks; the examples."""

from __future__ import annotations

from pathlib import Path

import pytest

import nvir
from nvir import toolchain
from nvir.ir.loops import natural_loops
from nvir.passes.driver import Driver, Settings
from nvir.passes.loop.unroll.remarks import (
    CODES,
)
from tests.differential import random_case
from tests.effort import effort

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "ptx").glob("*.ptx"))
HEADER = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 o, .param .u32 n) {
.reg .pred %p<9>; .reg .b32 %r<40>; .reg .f32 %f<40>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [o]; ld.param.u32 %r1, [n]; cvt.rn.f32.u32 %f1, %r1; mov.u64 %rd2, %rd1;
"""
END = "st.global.f32 [%rd1], %f1; ret; }\n"
FMA = "fma.rn.f32 %f1, %f1, %f1, %f1;\n"
LOAD = "ld.global.f32 %f2, [%rd2]; add.f32 %f1, %f1, %f2; add.s64 %rd2, %rd2, 4;\n"


def loop(body: str, trip: int | str = "%r1", label: str = "L", pragma: str = "") -> str:
    iv = "%r2" if label == "L" else "%r3"
    return (
        f"mov.u32 {iv}, 0;\n{label}:\n{pragma}\n{body}add.s32 {iv}, {iv}, 1; "
        f"setp.lt.s32 %p1, {iv}, {trip}; @%p1 bra {label};\n"
    )


def run(text: str, options: str = "", policy: str = "observed", **knobs: object):
    module = nvir.read_ptx(HEADER + text + END)
    driver = Driver(Settings(verify_each=True, check=True))
    ctx = driver.run(module, f"loop-unroll{options}", knobs=knobs, policy=policy)
    return module, ctx


def names(text: str, options: str = "", **knobs: object) -> list[str]:
    _, ctx = run(text, options, **knobs)
    return [r.name for r in ctx.remarks if r.kind != "analysis"]


def fmas(module) -> int:
    return sum(i.form.name == "fma" for i in module["k"].instructions())


# ---------------------------------------------------------------- what is done


def test_the_observed_policy_unrolls_as_ptxas_would():
    module, ctx = run(loop(FMA * 10, 8))
    assert fmas(module) == 80
    assert natural_loops(module["k"]) == []
    told = ctx.remarks.filter(kind="passed")[0]
    assert (told.name, told.loop, told.args["T"], told.args["copies"]) == \
        ("FullyUnrolled", "L", 8, 8)
    module, ctx = run(loop(LOAD + FMA))
    told = ctx.remarks.filter(kind="passed")[0]
    assert (told.name, told.args["factor"]) == ("PartiallyUnrolled", 4)
    assert fmas(module) == 4 + 3 + 1  # the loop, two pieces, the loop for the rest
    assert ctx.counters["loop-unroll.partial"] == 1


def test_the_unrolled_loop_is_left_alone_by_a_second_run():
    module, _ = run(loop(LOAD + FMA))
    text = str(module)
    again = nvir.run_passes(module, "loop-unroll")
    assert {r.code.number for r in again.filter(kind="missed")} == {"11"}
    assert str(module) == text


def test_a_nest_is_unrolled_inner_first():
    module, ctx = run(loop(loop(FMA, 3, "M"), 4))
    assert fmas(module) == 12
    assert [r.loop for r in ctx.remarks.filter(kind="passed")] == ["L", "M"]
    module, _ = run(loop(loop(FMA, 3, "M") + LOAD, "%r1"), "<factor=2;remainder=loop>")
    assert len(natural_loops(module["k"])) > 1


@pytest.mark.seed("KNB-28")
@pytest.mark.parametrize("factor", [2, 3, 5])
def test_a_factor_can_be_given(factor):
    for options, knobs in ((f"<factor={factor}>", {}), ("", {"LoopUnrollFactor": factor})):
        module, ctx = run(loop(FMA * 3, 100), options, **knobs)
        assert ctx.remarks.filter(kind="passed")[0].args["factor"] == factor
        assert fmas(module) == 3 * (factor + 100 % factor)


def test_factor_1_keeps_every_loop():
    assert names(loop(FMA, 8), "<factor=1>") == ["NotUnrolledOther"]


@pytest.mark.parametrize(
    ("pragma", "trip", "name", "copies"),
    [("unroll 3", 100, "PartiallyUnrolled", 3), ("unroll 3", "%r1", "PartiallyUnrolled", 3),
     ("unroll", 300, "FullyUnrolled", 300), ("unroll 8", 6, "FullyUnrolled", 6),
     ("unroll 1", 6, "NotUnrolledNounroll", None), ("nounroll", 6, "NotUnrolledNounroll", None)],
)
@pytest.mark.parametrize("policy", ["observed", "documented"])
def test_the_pragma_of_the_source_is_obeyed(pragma, trip, name, copies, policy):
    _, ctx = run(loop(FMA, trip, pragma=f'.pragma "{pragma}";'), "<repaired>", policy)
    told = next(r for r in ctx.remarks if r.kind != "analysis")
    assert told.name == name
    if copies:
        assert (told.args.get("copies") or told.args.get("factor")) == copies


@pytest.mark.seed("KNB-27", "KNB-29", "KNB-40", "KNB-42", "KNB-45", "KNB-55", "UNR-49")
def test_knobs_switch_features_off_under_the_observed_policy_too():
    full = loop(FMA * 10, 8)
    assert names(full) == ["FullyUnrolled"]
    assert names(full, LoopUnroll=False) == ["NotUnrolledNounroll"]
    assert names(full, **{"block-nounroll@L": True}) == ["NotUnrolledNounroll"]
    assert names(full, LoopUnrollFactorBlocks="-L-") == ["NotUnrolledSkipped"]
    assert names(loop(FMA * 90), LoopUnrollFactorBlocks="+1+") == ["PartiallyUnrolled"]
    assert names(loop(FMA), UnrollVariableBounds=False) == ["NotUnrolledNoBound"]
    branch = "setp.eq.f32 %p2, %f1, %f1; @%p2 bra Y;\n" + FMA + "Y:\n"
    assert names(loop(branch, 8), UnrollMultiBlockLoops=False) == ["NotUnrolledOther"]
    nest = loop(loop(FMA, 3, "M"), 4)
    assert names(nest, LoopUnrollNonInnermost=False) == ["NotUnrolledTextureRatio", "FullyUnrolled"]


@pytest.mark.seed("KNB-30", "KNB-39")
def test_thresholds_act_on_the_observed_policy():
    text = loop(FMA * 10, 30) + FMA * 300
    assert names(text) == ["FullyUnrolled"]
    assert names(text, UnrollBudget=0, LoopUnrollNumExtraInstBase=1) == ["PartiallyUnrolled"]


# -------------------------------------------------------------------- remarks


@pytest.mark.parametrize("policy", ["observed", "documented"])
def test_every_loop_has_one_remark_with_its_numbers(policy):
    text = loop(loop(FMA, "%r1", "M"), 4) + loop(LOAD, "%r1", "N").replace("%r3", "%r5")
    _, ctx = run(text, policy=policy)
    told = [r for r in ctx.remarks if r.kind != "analysis"]
    assert sorted(r.loop for r in told) == ["L", "M", "N"]
    for r in told:
        assert r.line
        assert {"T", "size"} <= set(r.args)
        assert r.args.get("reason") or r.args.get("refusal")


@pytest.mark.parametrize(
    ("body", "name"),
    [("frobnicate.b32 %r9, %r8;\n", "CannotUnrollUnknown"),
     ("mov.u32 %r9, %laneid; add.s32 %r2, %r2, %r9; shfl.sync.idx.b32 %r8, %r8, 0, 31, -1;\n",
      "CannotUnrollConvergent")],
)
def test_what_cannot_be_copied_has_a_code_of_its_own(body, name):
    text = loop(body)
    module = nvir.read_ptx(HEADER + text + END)
    before = str(module)
    remarks = nvir.run_passes(module, "loop-unroll", knobs={"LoopUnrollFactorBlocks": "+"})
    assert [r.name for r in remarks.filter(kind="missed")] == [name]
    assert str(module) == before


def test_codes_are_told_apart():
    assert len({c.name for c in CODES}) == len(CODES)


# ------------------------------------------------------- examples, random, ptxas


PIPELINES = (
    ("observed", "copy-prop,loop-unroll,dce"),
    ("documented", "copy-prop,loop-unroll<repaired>,dce"),
    ("observed", "loop-unroll<factor=3;remainder=pieces>,copy-prop,dce"),
)


@pytest.mark.oracle
@pytest.mark.parametrize("path", EXAMPLES[::4], ids=lambda p: p.stem)
def test_ptxas_takes_the_unrolled_examples(path):
    for policy, pipeline in PIPELINES:
        module = nvir.read_ptx(path)
        remarks = nvir.run_passes(module, pipeline, policy=policy, verify=True)
        if remarks.filter("loop-unroll", kind="passed"):
            result = toolchain.ptxas(nvir.print_ptx(module), arch=module.target, opt=0)
            assert result.ok, result.error


@pytest.mark.seed("UNR-47")
@pytest.mark.parametrize("seed", range(24))
def test_random_kernels_keep_their_results(seed):
    chains = (
        ("copy-prop", "loop-unroll", "dce", "print"),
        ("loop-unroll<factor=3>", "copy-prop", "print"),
        ("loop-unroll<factor=2;remainder=pieces>", "loop-unroll<factor=2>", "dce"),
    )
    case = random_case(70_000 + seed, chain=chains[seed % 3])
    assert case.failure() is None


@pytest.mark.slow
@pytest.mark.seed("UNR-47")
def test_many_random_kernels_keep_their_results():
    for seed in range(400):
        chain = ("copy-prop", f"loop-unroll<factor={seed % 4 + 2}>", "gvn", "dce", "print")
        assert random_case(80_000 + seed, chain=chain).failure() is None


def test_the_cost_is_linear():
    """Four times as many loops are about four times the work."""

    def work(n: int) -> int:
        text = "".join(loop(LOAD * 8, ("%r1", 16)[k % 2], f"L{k}") for k in range(n))
        module = nvir.read_ptx(HEADER + text + END)
        return effort(lambda: nvir.run_passes(module, "loop-unroll"))

    assert work(40) < 4 * 1.5 * work(10)
