"""Nothing that nvir does to a module may change what its kernel computes.

Random kernels of kernels.py, random chains of passes and round trips, the interpreter as judge; a
failure is told as the smallest kernel found, with the seed that reproduces it. benchmarks/fuzz.py
runs the same for as long as one likes.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nvir
from nvir.ir.errors import NvirError
from nvir.ir.function import Function
from nvir.passes import Pass, all_passes
from nvir.passes.context import Context
from nvir.passes.knobs import Knobs, all_knobs
from nvir.passes.pipeline import parse_pipeline
from tests.differential import (
    ROUND_TRIPS,
    Case,
    Failure,
    Shared,
    Watch,
    apply,
    random_case,
    random_chain,
    report,
    shrink,
    smaller,
)
from tests.random_pipelines import NOT_DRAWN, passes_of, random_recipe

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import fuzz


def assert_same(case: Case) -> None:
    failure = case.failure()
    if failure is not None:
        pytest.fail(report(shrink(failure, 20)), pytrace=False)


@settings(max_examples=25)
@given(st.integers(0, 1 << 31))
def test_random_kernels_survive_random_chains(seed: int) -> None:
    assert_same(random_case(seed))


@pytest.mark.parametrize("name", [p.name for p in all_passes().values() if p.level != "nvvm"])
def test_each_pass_alone(name: str) -> None:
    """Every registered pass, on its own and between two printings."""
    for seed in range(3):
        assert_same(random_case(seed, 25, (name,)))
        assert_same(random_case(seed + 100, 25, ("print", name, "print")))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("block", range(8))
def test_a_campaign(block: int) -> None:
    for seed in range(1_000_000 + 400 * block, 1_000_000 + 400 * (block + 1)):
        assert_same(random_case(seed))


# --------------------------------------------------------- the judge is judged


def swap_a_subtraction(function: Function, ctx: Context) -> bool:
    """A miscompile: a - b becomes b - a."""
    for i in function.instructions():
        if i.form.name == "sub" and i.guard is None:
            a, b = i.operands
            i.set_operands((b, a))
            return True
    return False


def crash(function: Function, ctx: Context) -> bool:
    for i in function.instructions():
        if i.form.name == "sub":
            raise KeyError("a defect")
    return False


def lie(function: Function, ctx: Context) -> bool:
    """Changes something and says that it did not."""
    swap_a_subtraction(function, ctx)
    return False


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("NVIR_CRASH_DIR", str(tmp_path))
    for run in (swap_a_subtraction, crash, lie):
        name = run.__name__.replace("_", "-")
        monkeypatch.setitem(all_passes(), name, Pass(name, run, "is broken"))


def first_failure(chain: tuple[str, ...]) -> Failure:
    found = (random_case(seed, 10, chain).failure() for seed in range(0, 160, 4))
    return next(f for f in found if f is not None)


@pytest.mark.usefixtures("broken")
def test_a_miscompile_is_found_and_shrunk() -> None:
    """The kernel left is a launch's few lines and the subtraction; the seed reproduces it."""
    failure = first_failure(("copy-prop", "swap-a-subtraction", "print", "dce"))
    assert failure.kind == "wrong result"
    small = shrink(failure, 40)
    assert small.kind == "wrong result"
    assert small.case.chain == ("swap-a-subtraction",)
    body = [line for line in small.case.text.split("\n") if line.startswith("\t")]
    code = [line for line in body if not line.startswith("\t.")]
    assert sum("sub." in line for line in code) == 1
    assert len(code) <= 14, small.case.text
    text = report(small)
    chain = "copy-prop,swap-a-subtraction,print,dce"
    assert f"--seed {failure.case.seed} --count 1 --size 10 --chain {chain}" in text
    assert small.case.text in text
    assert random_case(failure.case.seed, 10, failure.case.chain) == failure.case


@pytest.mark.usefixtures("broken")
def test_a_crash_names_its_pass() -> None:
    failure = first_failure(("gvn", "crash", "text"))
    assert (failure.step, failure.kind) == ("crash", "PassError of KeyError")
    small = shrink(failure, 4)
    assert small.case.chain == ("crash",)
    assert small.case.text.count(";") < failure.case.text.count(";")


@pytest.mark.usefixtures("broken")
def test_a_pass_that_denies_a_change_is_caught() -> None:
    failure = first_failure(("lie",))
    assert (failure.step, failure.kind) == ("lie", "PassError of VerifyError")


def test_a_smaller_kernel_is_a_fair_one() -> None:
    """Without any one line, a kernel that no defect fails is either refused or does not fail."""
    case = random_case(3, 1, ("dce",))
    assert case.failure() is None
    lines = case.text.split("\n")
    wrong = Failure(case, "compare", "wrong result", "")
    for k in range(len(lines)):
        assert smaller(wrong, "\n".join(lines[:k] + lines[k + 1 :])) is None, lines[k]


def test_chains_hold_every_pass_and_every_round_trip() -> None:
    rng = random.Random(0)
    steps = {step for _ in range(200) for step in random_chain(rng, 5)}
    assert steps >= {*ROUND_TRIPS, "copy-prop", "gvn", "dce", "gvn<loads=false>"}


def test_the_input_must_be_readable() -> None:
    """What cannot be read fails at the step `read`, not with an exception of the judge."""
    failure = Case(0, "not PTX\n", ("dce",)).failure()
    assert failure is not None
    assert failure.step == "read"
    with pytest.raises(NvirError):
        apply(nvir.read_ptx("not PTX\n"), "dce")


@pytest.mark.oracle
def test_a_batch_is_judged_by_ptxas() -> None:
    """One module of all kernels; where ptxas refuses it, the kernel at fault is told."""
    cases = []
    for seed in range(4):
        case = random_case(seed, 30, ("clean", "print"))
        cases.append((case, nvir.print_ptx(nvir.read_ptx(case.text))))
    assert fuzz.refused(cases) == []
    case, printed = cases[2]
    cases[2] = (case, printed.replace("ld.param.f32", "ld.param.f23"))
    assert [(f.case, f.step, f.kind) for f in fuzz.refused(cases)] == [
        (case, "print", "ptxas refuses")
    ]


def test_a_campaign_counts_a_defect_once(capsys: pytest.CaptureFixture[str]) -> None:
    """The first failure of a kind is shrunk and printed, its likes are counted."""
    campaign = fuzz.Campaign(batch=8, shrink_seconds=1)
    for seed in (1, 2):
        campaign.kernel([Case(seed, "not PTX\n", ("dce",))])
    campaign.kernel([random_case(3, 5, ("dce",))])
    assert campaign.figures.kernels == 3
    assert campaign.figures.verdicts == {"failed": 2, "checked": 1}
    assert list(campaign.figures.defects.values()) == [2]
    assert capsys.readouterr().out.count("reproduce:") == 1


def test_each_step_is_judged_and_counted_once() -> None:
    """What changed nothing, or led to what was judged, is no check; passes are counted."""
    case = random_case(3, 12, ("dce", "dce", "clone", "print", "shuffle", "dce"))
    shared, watch = Shared(case), Watch()
    outcomes = list(case.run(shared, watch, each=True))
    assert [o.verdict for o in outcomes] == [
        "checked", "unchanged", "unchanged", "checked", "checked", "unchanged"
    ]
    assert [len(o.case.chain) for o in outcomes] == [1, 2, 3, 4, 5, 6]
    assert watch.runs == {"dce": 3}
    assert watch.changed == {"dce": 1}
    assert [o.verdict for o in random_case(3, 12, ("dce",)).run(shared)] == ["repeated"]


@pytest.mark.usefixtures("broken")
def test_a_failure_within_a_chain_names_its_beginning() -> None:
    """What a wrong step of a judged chain is told with ends in that step, and fails alone."""
    failing = first_failure(("clone", "swap-a-subtraction", "print", "dce")).case
    outcomes = list(failing.run(each=True))
    assert [o.verdict for o in outcomes] == ["unchanged", "failed"]
    assert outcomes[-1].case.chain == ("clone", "swap-a-subtraction")
    assert outcomes[-1].case.failure() == outcomes[-1].failure


def test_figures_add_up_over_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A second run goes on where the first ended; both together are one run of that length."""
    totals = tmp_path / "totals.json"
    words = ["--job", "passes", "--assemble", "0", "--size", "6", "--chains", "1", "--seed", "40"]
    for _ in range(2):
        assert fuzz.main([*words, "--totals", str(totals), "--count", "2"]) == 0
    both = json.loads(totals.read_text())
    assert fuzz.main([*words, "--totals", str(totals), "--count", "0"]) == 0
    assert json.loads(totals.read_text()) == both
    assert fuzz.main([*words, "--totals", str(tmp_path / "once.json"), "--count", "4"]) == 0
    once = json.loads((tmp_path / "once.json").read_text())
    assert (both["next"], both["kernels"]) == (44, 4)
    for key in ("verdicts", "runs", "changed", "commits"):
        assert both[key] == once[key]
    assert "beside them" in capsys.readouterr().out


def test_recipes_hold_every_pass_option_and_knob() -> None:
    """Some hundred recipes draw all that a pipeline of level ori can be asked for; all are read."""
    rng = random.Random(1)
    recipes = [random_recipe(rng) for _ in range(2500)]
    ori = [p for p in all_passes().values() if p.level != "nvvm"]
    steps = [s for r in recipes for s in parse_pipeline(",".join(passes_of(r.chain)))]
    assert {s.pass_.name for s in steps} == {p.name for p in ori}
    for p in ori:
        for o in p.option_table().values():
            values = {getattr(s.options, o.field) for s in steps if s.pass_ is p}
            assert len(values) > 1 or o.key in NOT_DRAWN, (p.name, o.key)
    names = {p.name for p in ori}
    wanted = {k.name for k in all_knobs() if not names.isdisjoint(k.readers)}
    assert {name for r in recipes for name, _ in r.knobs} == wanted
    assert {r.policy for r in recipes} == {"observed", "documented"}
    assert steps
    for r in recipes[:200]:
        Knobs(dict(r.knobs), r.policy)


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_a_counter_behind_a_move_outlives_the_loading_part(stages: int) -> None:
    """Found by the campaign: the move went with the loading part, what it was for stayed."""
    module = nvir.read_ptx("""
        .version 8.0
        .target sm_80
        .address_size 64
        .visible .entry k(.param .u64 a) {
        .reg .b32 %me, %i, %v<5>; .reg .b64 %in, %w<3>; .reg .pred %p;
        .shared .align 8 .b8 arena[1024];
        ld.param.u64 %in, [a];
        mov.u32 %me, %tid.x; mov.u32 %v2, arena; shl.b32 %v1, %me, 2; add.s32 %v1, %v1, %v2;
        mul.wide.u32 %w1, %me, 4; add.s64 %w2, %in, %w1; bar.sync 0; mov.u32 %i, 0;
        L: ld.global.u32 %v3, [%w2]; st.shared.u32 [%v1], %v3; bar.sync 0;
        ld.shared.u32 %v4, [%v2]; bar.sync 0;
        add.s32 %i, %i, 1; setp.lt.u32 %p, %i, 8; @%p bra L;
        ret; }""")
    remarks = nvir.run_passes(module, f"phi-moves,gemm-pipeline<stages={stages}>", verify=True)
    assert "GemmPipelined" in {r.name for r in remarks}


def test_carry_flags_stay_in_one_stage() -> None:
    """Found by the campaign: the two halves of a long product came into stages of their own."""
    module = nvir.read_ptx("""
        .version 8.0
        .target sm_80
        .address_size 64
        .visible .entry k(.param .u64 a, .param .u32 n) {
        .reg .b32 %n, %r<9>; .reg .f32 %f<3>; .reg .b64 %a; .reg .pred %p;
        ld.param.u64 %a, [a]; ld.param.u32 %n, [n];
        mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mov.u32 %r4, %n;
        L: mad.lo.cc.u32 %r1, %r3, 0, %r1; madc.hi.u32 %r4, %r1, %r2, %r4;
        ld.v2.b32 {%f1, %f2}, [%a+8];
        add.s32 %n, %n, -1; setp.gt.s32 %p, %n, 0; @%p bra L;
        st.u32 [%a], %r4; ret; }""")
    remarks = nvir.run_passes(module, "loop-pipeline<depth=2;stages=all>", verify=True)
    assert "NotPipelinedPinned" in {r.name for r in remarks}
