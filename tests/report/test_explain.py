"""The page about one loop: decisions, knobs that would change them, unroll factors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import nvir
from nvir.cli import main
from nvir.ir.function import Function
from nvir.ir.loops import natural_loops
from nvir.passes.knobs import Knobs
from nvir.report import report
from nvir.report.explain.decisions import LoopDecisions, loop_steps
from nvir.report.explain.factors import factor_table, unrolled
from nvir.report.explain.loop import Explanation, explain, hottest, is_chosen
from nvir.report.explain.text import explain_text
from nvir.report.facts import unrolling
from nvir.sm.profile import profile_for

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples" / "ptx"


FMA = "fma.rn.f32 %f1, %f1, %f2, %f3;"


def kernel(trips: int = 24, body: int = 8, operation: str = FMA) -> Function:
    """A loop of a known count whose body holds `body` dependent operations on floats."""
    work = " ".join([operation] * body)
    text = f""".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .f32 x)
{{ .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .pred %p<3>;
 ld.param.u64 %rd1, [a]; ld.param.f32 %f2, [x]; mov.f32 %f1, 0f00000000; mov.u32 %r1, 0;
L:
 ld.global.f32 %f3, [%rd1]; {work}
 add.s64 %rd1, %rd1, 4; add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, {trips};
 @%p1 bra L;
 st.global.f32 [%rd1], %f1; ret; }}
"""
    (f,) = nvir.read_ptx(text).functions
    f.analyze_cfg()
    return f


def page(f: Function) -> Explanation:
    (loop,) = natural_loops(f)
    assert f.module is not None
    return explain(f, loop, f.module, profile_for("sm_80"), vary=False)


def decision(f: Function, step: str, **knobs: object):
    (chosen,) = [s for s in loop_steps() if s.label == step]
    assert f.module is not None
    return LoopDecisions(f, f.module, "L", Knobs(knobs)).decide(chosen)


def test_steps_are_the_loop_passes_in_the_order_of_phases():
    labels = [s.label for s in loop_steps()]
    wanted = ["loop-simplify", "loop-unroll", "licm<id=0>", "licm<id=3>", "hot-cold-in-loop"]
    assert [x for x in labels if x in wanted] == wanted
    assert "dce" not in labels


@pytest.mark.parametrize("step", ["unroll-decision", "loop-unroll"])
def test_the_threshold_of_a_knob_is_the_first_value_that_changes_the_decision(step: str):
    f = kernel()
    made = decision(f, step)
    whole = [c for c in made.changes if isinstance(c.to, int) and not isinstance(c.to, bool)]
    assert whole
    for c in whole:
        assert decision(f, step, **{c.knob: c.to}).outcome != made.outcome
        nearer = c.to - 1 if c.to > c.value else c.to + 1
        assert decision(f, step, **{c.knob: nearer}).outcome == made.outcome


@pytest.mark.seed("KNB-30")
def test_a_budget_turns_full_unrolling_on_and_off():
    """The numbers that decide are compared with the budget, so its threshold can be reached."""
    f = kernel()
    full = decision(f, "unroll-decision")
    assert full.changed
    down = [c for c in full.changes if c.knob == "UnrollBudget" or c.knob.startswith("LoopUnrollN")]
    assert down
    assert all("does not" in c.becomes or "times" in c.becomes for c in down)


def test_a_knob_that_decides_nothing_is_not_listed():
    f = kernel(trips=4, body=1)
    names = {c.knob for c in decision(f, "unroll-decision").changes}
    assert "LoopUnroll" in names
    assert "UnrollUnknownCount" not in names  # the count is known
    assert not decision(f, "licm<id=0>").changes


def test_why_something_stays_is_no_change_of_the_decision():
    """Another reason for the same outcome is not offered as a way to change it."""
    f = kernel(trips=3000, body=2, operation="div.rn.f32 %f1, %f1, %f2;")
    made = decision(f, "unroll-decision")
    assert not made.changed
    off = decision(f, "unroll-decision", LoopUnroll=False)
    assert [r.message for r in made.remarks] != [r.message for r in off.remarks]
    assert "LoopUnroll" not in {c.knob for c in made.changes}


def test_asking_leaves_the_function_alone():
    f = kernel()
    before = str(f)
    page(f)
    assert str(f) == before


@pytest.mark.parametrize("factor", [2, 4, 8])
def test_unrolled_bodies_are_one_block_and_keep_the_result(factor: int):
    f = kernel(trips=64)
    assert f.module is not None
    copy = unrolled(f, f.module, "L", factor)
    (loop,) = natural_loops(copy)
    assert len(loop.blocks) == 1
    assert sum(i.form.name == "fma" for i in loop.header) == 8 * factor
    nvir.verify(_module_with(copy))


def _module_with(f: Function):
    assert f.module is not None
    from nvir.ir.clone import clone_module

    module = clone_module(f.module)
    f.module = module
    module.functions = [f]
    module.order = [f]
    return module


def test_the_table_measures_each_factor_for_one_iteration():
    f = kernel(trips=64)
    assert f.module is not None
    rows = factor_table(f, f.module, "L", profile_for("sm_80"))
    assert [r.factor for r in rows] == [1, 2, 4, 8, None]
    one, two, *_, full = rows
    assert one.instructions == 13
    # Two copies share counter, test and branch.
    assert two.instructions is not None
    assert 20 <= two.instructions < 26
    assert full.instructions is not None
    assert full.instructions > 64 * 8
    assert full.cycles == {}
    assert one.cycles[1] > two.cycles[1] > 0
    # eight dependent fused multiply-adds of four cycles bind every interval
    assert one.ii is not None
    assert two.ii is not None
    assert one.ii == 32
    assert 32 <= two.ii <= 36


def test_the_row_of_what_ptxas_does_has_the_interval_of_the_loops_table():
    """A zero that is stored is an instruction of the machine, none of the graph's."""
    text = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u32 n)
{ .reg .b32 %r<9>; .reg .pred %p<3>; .shared .align 4 .b8 s[1024];
 ld.param.u32 %r1, [n]; mov.u32 %r2, s;
L:
 .pragma "nounroll";
 mov.u32 %r3, 0; st.shared.u32 [%r2], %r3; add.s32 %r4, %r4, 256; add.s32 %r2, %r2, 1024;
 add.s32 %r1, %r1, -1; setp.ne.s32 %p1, %r1, 0;
 @%p1 bra L;
 ret; }
"""
    (f,) = nvir.read_ptx(text).functions
    f.analyze_cfg()
    made = page(f)
    (chosen,) = [r for r in made.factors if is_chosen(r, made.unroll)]
    assert chosen.ii == made.pipeline.ii
    assert made.pipeline.mii <= made.pipeline.ii
    assert f.module is not None
    (plain, *_) = factor_table(f, f.module, "L", profile_for("sm_80"))
    assert plain.ii < chosen.ii


def test_factors_beyond_the_count_are_left_out():
    f = kernel(trips=4, body=2)
    assert f.module is not None
    rows = factor_table(f, f.module, "L", profile_for("sm_80"))
    assert [r.factor for r in rows] == [1, 2, None]


def test_a_loop_that_cannot_be_copied_says_so():
    text = (EXAMPLES / "softmax.sm_80.ptx").read_text()
    m = nvir.read_ptx(text)
    f = next(f for f in m.functions if f.blocks)
    f.analyze_cfg()
    rows = factor_table(f, m, "$L__BB0_16", profile_for("sm_80"))
    assert rows[0].note is None
    assert all(r.note or r.instructions for r in rows)


def test_the_page_agrees_with_the_report():
    f = kernel()
    assert f.module is not None
    made = page(f)
    (row,) = report(f.module, schedule=True).functions[0].loops
    assert made.unroll == row.unroll
    assert made.trip is not None
    assert made.trip.text == str(row.trip_count) == "24"
    assert made.pipeline == row.pipeline
    assert made.registers == report(f.module).functions[0].predicted
    assert sum(is_chosen(r, made.unroll) for r in made.factors) == 1


def test_text_and_json_hold_the_parts():
    f = kernel()
    made = page(f)
    text = explain_text(made)
    for part in ("trip count  24; counts %r1 from 0 up by 1 while < 24 (s32)", "├ unroll",
                 "├ schedule", "└ factor", "live at the loop's peak", "[phase 18]"):
        assert part in text
    assert max(map(len, text.splitlines())) <= 140
    document = json.loads(json.dumps(made.to_json()))
    assert document["schema"] == "nvir.explain/1"
    assert document["loop"]["header"] == "L"
    assert document["trip_count"]["count"] == 24
    assert {d["pass"] for d in document["decisions"]} >= {"loop-unroll", "licm<id=0>"}
    assert document["factors"][-1]["factor"] == "full"
    assert document["peak"]["values"]


def test_the_hottest_loop_is_the_deepest_and_longest():
    m = nvir.read_ptx(EXAMPLES / "nbody.sm_80.ptx")
    f = next(f for f in m.functions if f.blocks)
    f.analyze_cfg()
    found = hottest(f)
    assert found is not None
    assert found.header.name == "$L__BB0_9"
    assert found.depth == 2


def test_policy_notes_holds_what_loop_unroll_does():
    m = nvir.read_ptx(EXAMPLES / "saxpy.sm_80.ptx")
    f = next(f for f in m.functions if f.blocks)
    (made,) = unrolling(f, m, "sm_80", "documented").values()
    assert (made.action, made.factor) == ("partial", 4)  # a stride of run time
    small = kernel(trips=3, body=1)
    assert small.module is not None
    (other,) = unrolling(small, small.module, "sm_80", "documented").values()
    assert other.reason == "T = 3, cost 3: no factor"


def test_the_command(tmp_path: Path):
    file = str(EXAMPLES / "horner.sm_80.ptx")
    run = CliRunner().invoke(
        main, ["explain", file, "--loop", "2", "--no-vary", "--verbose"]
    )
    assert run.exit_code == 0, run.output
    assert "loop $L__BB0_7 (horner.cu:15" in run.output
    assert "├ knobs       not varied" in run.output
    run = CliRunner().invoke(
        main, ["explain", file, "--loop", "$L__BB0_7", "--json", "--no-vary",
               "--knob", "UnrollUnknownCount=2"],
    )
    assert json.loads(run.stdout)["unroll"]["factor"] == 2
    run = CliRunner().invoke(main, ["explain", file, "--loop", "nowhere"])
    assert run.exit_code == 2
    run = CliRunner().invoke(main, ["explain", file, "--knob", "UnrolBudget=1"])
    assert run.exit_code == 2
    assert "UnrollBudget" in run.output


@pytest.mark.oracle
def test_the_page_has_the_real_loop_where_the_assembler_is() -> None:
    file = str(EXAMPLES / "horner.sm_80.ptx")
    words = ["explain", file, "--loop", "2", "--no-vary", "--json"]
    made = json.loads(CliRunner().invoke(main, words).stdout)
    code = made["machine_code"]
    assert code["copies"] == 4
    assert code["instructions"] > 20
    assert code["cycles"]["8"] > code["cycles"]["1"] > code["res_mii"]
    model = json.loads(CliRunner().invoke(main, [*words, "--model"]).stdout)
    assert model["machine_code"] is None
    assert abs(made["registers"] - model["registers"]) <= 1


def test_the_numbers_that_decided_stand_behind_verbose() -> None:
    short, long = (
        CliRunner().invoke(main, ["explain", str(EXAMPLES / "sgemm.sm_80.ptx"), "--model", *more],
                           env={"COLUMNS": "120"})
        for more in ((), ("--verbose", "--no-vary"))
    )
    assert "too little is saved for the registers\n" in short.output
    assert "too little is saved for the registers [2·" in long.output
