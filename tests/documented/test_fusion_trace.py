"""Phase 59 under policy `documented`: the events of gates, scan, limits and what comes behind."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

import nvir
from nvir.cli import main
from nvir.ir.clone import clone_module
from nvir.ir.loops import natural_loops
from nvir.ir.text.trace import Trace
from nvir.passes.loop.frequency import is_cold, said_frequency
from tests.equivalence import same_behaviour
from tests.passes.conftest import body
from tests.passes.test_loop_fuse import (
    END,
    HEAD,
    ON,
    PAIR,
    TOP_TESTED,
    copies,
    loop,
    reads,
    stored,
)

COLD = '.pragma "frequency 0";'


def told(
    text: str = PAIR, pipeline: str = "loop-simplify,loop-fuse", policy: str = "documented",
    **knobs: Any,
) -> tuple[Trace, list[str]]:
    """(events of fusion, names of its remarks) of a body behind HEAD; PerformLoopFusion is on."""
    module = nvir.read_ptx(body(HEAD + text))
    with Trace() as trace:
        made = nvir.run_passes(module, pipeline, policy=policy, knobs={**ON, **knobs})
    trace[:] = [e for e in trace if e.row.startswith("FUS")]
    return trace, [r.name for r in made if r.pass_name == "loop-fuse"]


def outcomes(trace: Trace, row: str, step: str = "") -> list[Any]:
    return [e.outcome for e in trace.of(row) if step in e.step]


@pytest.mark.seed("FUS-01")
@pytest.mark.parametrize(("knobs", "options", "why"), [
    ({}, "", ""), ({"PerformLoopFusion": 2}, "", ""),
    ({"PerformLoopFusion": 0}, "", "knob PerformLoopFusion is off"),
    ({}, "<skip>", "the phase is skipped"),
    ({"LoopMakeSingleEntry": False}, "", "knob LoopMakeSingleEntry is off"),
])
def test_each_gate_is_told(knobs, options, why):
    trace, remarks = told(PAIR, f"loop-simplify,loop-fuse{options}", **knobs)
    (gate,) = trace.of("FUS-01")
    assert gate.outcome == why
    assert gate.inputs["entry"]["value"] == knobs.get("PerformLoopFusion", 1)
    assert gate.inputs["entry"]["kind"] == "INT (1)"
    assert (trace[-1] is gate) == bool(why)  # nothing runs behind a gate that is closed
    assert remarks == (["Fused"] if not why else ["FusionGated"] if "Single" in why else [])


@pytest.mark.seed("FUS-01")
def test_the_gates_of_a_default_run_and_of_straight_code():
    module = nvir.read_ptx(body(HEAD + PAIR))
    with Trace() as trace:
        nvir.run_passes(module, "loop-fuse", policy="documented")
    assert [str(e) for e in trace] == [
        "FUS-01 entry guard (entry kind DEFAULT (0), value 0, loops True, skip False, single_entry "
        "True): knob PerformLoopFusion is off"]
    trace, _ = told(END)
    assert outcomes(trace, "FUS-01") == ["no loop"]


@pytest.mark.seed("FUS-01", "FUS-02", "FUS-09")
def test_the_commands_show_the_gate_and_what_is_read(tmp_path):
    file = tmp_path / "k.ptx"
    file.write_text(body(HEAD + PAIR))
    words = ["opt", str(file), "--policy", "documented", "-p", "loop-simplify,loop-fuse", "--trace",
             "-o", str(tmp_path / "out")]
    off = CliRunner().invoke(main, words).stderr
    assert "FUS-01 entry guard" in off
    assert "FUS-02" not in off
    on = CliRunner().invoke(main, [*words, "--knob", "PerformLoopFusion=1", "--knob",
                                   "PerformLoopFusionBudget=12"]).stderr
    assert "FUS-02 initialise (function k" in on
    assert "budget 12.0" in on
    assert "FUS-09 3 budget (size 13, budget 12.0): refused: OverFusionBudget" in on
    page = CliRunner().invoke(main, ["explain", str(file), "--policy", "documented", "--no-vary",
                                     "--knob", "PerformLoopFusion=1"]).output
    assert "FUS-01  entry guard" in page


@pytest.mark.seed("FUS-02")
def test_limits_are_read_at_the_start_and_end_with_the_run():
    trace, _ = told(PAIR, "loop-simplify,loop-fuse<allow-cold;first-limit=30>",
                    PerformLoopFusionBudget=99.0)
    first, *_, last = trace.of("FUS-02")
    read = first.outcome
    assert (read["budget"], read["first"], read["cold"]) == (99, 30, True)
    assert len(first.inputs["back_edges"]) == 2
    assert (last.step, last.outcome, last.inputs["rounds"]) == ("teardown", "0 pairs refused", 1)
    trace, _ = told(PerformLoopFusionBudget=9.0)
    assert outcomes(trace, "FUS-02")[-1] == "1 pairs refused"


@pytest.mark.seed("FUS-03")
def test_the_scan_tells_siblings_and_parents():
    inner = copies(1) + reads(2) + stored(2)
    around = "mov.u32 %r9, 0; OUT:" + inner + """
        add.s32 %r9, %r9, 1; setp.lt.s32 %p9, %r9, 3; @%p9 bra OUT;""" + copies(3) + END
    trace, _ = told(around)
    families = outcomes(trace, "FUS-03", "scan")[0]
    assert sorted(map(sorted, families)) == [["L1", "L2"], ["L3", "OUT"]]
    assert {(e.inputs["first"], e.inputs["parent"], e.outcome) for e in trace.of("FUS-03")
            if e.step == "parent"} >= {("L1", "OUT", "natural"), ("OUT", None, "natural")}
    sideways = around.replace("OUT:", """OUT: setp.gt.u32 %p8, %r51, 4; @%p8 bra SIDE;
        BACK: add.s32 %r49, %r9, 1; setp.gt.u32 %p7, %r9, 1; @%p7 bra GO;
        SIDE: add.s32 %r48, %r9, 1; setp.gt.u32 %p6, %r9, 5; @%p6 bra BACK; GO:""")
    trace, remarks = told(sideways)
    assert "IrreducibleParent" in remarks
    assert {(e.inputs["first"], e.outcome) for e in trace.of("FUS-03") if e.step == "parent"} >= {
        ("L1", "entered sideways")}


@pytest.mark.seed("FUS-03")
@pytest.mark.parametrize(("sideways", "within"), [(True, ""), (False, ""), (True, "itself")])
def test_a_region_without_a_header_is_a_parent_too(sideways, within):
    """It is no natural loop, so its loops have none around them. A region in the first loop is not
    around it, and under policy observed the pair is fused wherever it stands."""
    pair = copies(1) + reads(2) + stored(2)
    enter = "setp.gt.u32 %p8, %r51, 4; @%p8 bra {};"
    if within:
        circle = enter.format("B") + """A: add.s32 %r49, %r51, 1; B: add.s32 %r48, %r49, 1;
            setp.gt.u32 %p7, %r48, %r51; @%p7 bra A;"""
        text = copies(1).replace("L1:", "L1: mov.u32 %r49, 0;" + circle) + reads(2) + stored(2)
    else:
        text = (enter.format("IN" if sideways else "OUT") + "mov.u32 %r9, 0; OUT: add.s32 %r9, "
                "%r9, 1; IN:" + pair + "setp.lt.s32 %p9, %r9, 3; @%p9 bra OUT;")
    trace, remarks = told("mov.u32 %r9, 0;" + text + END)
    (first, *_) = [e for e in trace.of("FUS-03") if e.step == "parent"
                   and e.inputs["first"] == "L1"]
    refused = sideways and not within
    assert first.inputs["parent"] == (None if sideways else "OUT")
    assert first.outcome == ("entered sideways" if refused else "natural")
    assert ("IrreducibleParent" in remarks) is refused
    assert "IrreducibleParent" not in told("mov.u32 %r9, 0;" + text + END, policy="observed")[1]


@pytest.mark.seed("FUS-04", "FUS-06")
def test_each_jump_of_a_chain_is_told():
    text = copies(1) + "bra E1; E1: bra E2; E2: {} E3:" + reads(2) + stored(2) + END
    trace, remarks = told(text.format("bra E3;"))
    assert [(e.inputs["block"], e.outcome) for e in trace.of("FUS-04")][1:3] == [
        ("E1", "E2"), ("E2", "E3")]
    assert remarks == ["Fused"]
    trace, remarks = told(text.format("setp.gt.u32 %p9, %r51, 4; @%p9 bra E3; st.u32 [%rd2], 1;"))
    assert trace.of("FUS-04")[-1].outcome is None
    assert trace.of("FUS-04")[-1].inputs["block"] == "E2"
    assert remarks == ["NotAdjacent"]


@pytest.mark.seed("FUS-05")
@pytest.mark.parametrize("body_too", [False, True])
def test_a_block_that_never_runs_ends_the_search(body_too):
    """Of the way, and of a body; under policy observed the pragma is none of its words."""
    first = copies(1)
    if body_too:
        text = first.replace("L1:", "L1:" + COLD, 1) + reads(2) + stored(2) + END
    else:
        text = first + "bra C1; C1: " + COLD + reads(2) + stored(2) + END
    trace, remarks = told(text)
    cold = "L1" if body_too else "C1"
    assert remarks == ["ColdBlock"]
    assert trace.of("FUS-05")[-1].outcome == "refused: ColdBlock"
    assert trace.of("FUS-05")[-1].inputs["block"] == cold
    assert trace.of("FUS-05")[-1].inputs["pragmas"] == ["frequency 0"]
    trace, remarks = told(text, "loop-simplify,loop-fuse<allow-cold;multi-block>")
    assert set(outcomes(trace, "FUS-05")) == {"done"}
    assert "ColdBlock" not in remarks
    trace, remarks = told(text.replace("frequency 0", "frequency 1"))
    assert set(outcomes(trace, "FUS-05")) == {"done"}
    assert remarks == ["Fused"]
    assert told(text, policy="observed")[1] == ["Fused"]


@pytest.mark.seed("FUS-05", "UNR-11")
def test_what_a_block_says_of_how_often_it_runs():
    block = nvir.read_ptx(body(END))["k"].blocks[0]
    for pragmas, said in (((), None), (("nounroll",), None), (("frequency 10",), 10),
                          (("frequency x",), None), (("frequency 0",), 0),
                          (("frequency 0", " frequency  7 "), 7)):
        block.pragmas = pragmas
        assert said_frequency(block) == said
        assert is_cold(block) is (said == 0)
    block.flags |= {"cold"}
    assert is_cold(block)


@pytest.mark.seed("FUS-05")
@pytest.mark.parametrize("runs", [0, 1])
def test_a_cold_block_of_the_way_is_still_cold_for_explain(tmp_path, runs):
    """It was joined to the block in front of it, and its pragma was lost."""
    cold = COLD.replace("0", str(runs))
    (tmp_path / "k.ptx").write_text(
        body(HEAD + copies(1) + "bra C1; C1: " + cold + reads(2) + stored(2) + END))
    page = CliRunner().invoke(main, [
        "explain", str(tmp_path / "k.ptx"), "--loop", "L1", "--policy", "documented", "--no-vary",
        "--json", "--knob", "PerformLoopFusion=1", "--knob", "LoopUnroll=0"])
    events = [e for e in json.loads(page.output)["trace"] if e["row"] == "FUS-05"]
    assert ("refused: ColdBlock" in [e["outcome"] for e in events]) is (runs == 0)


@pytest.mark.seed("FUS-05")
def test_a_cold_block_of_a_text():
    """The flag of a profile, in text of nvir's own."""
    module = nvir.read_ptx(body(HEAD + PAIR))
    nvir.run_passes(module, "loop-simplify")
    (exit_,) = [b for b in module["k"].blocks if b.name == "bb2"]
    exit_.flags = {"cold"}
    again = nvir.parse_ir(str(module))
    ctx = nvir.run_passes(again, "loop-fuse", policy="documented", knobs=ON)
    assert [r.name for r in ctx] == ["ColdBlock"]


@pytest.mark.seed("FUS-10")
@pytest.mark.parametrize(("uses", "refused"), [("%r51", False), ("%r21", True)])
def test_the_sets_of_both_bodies_are_told(uses, refused):
    text = loop(1, "add.u32 %r21, %r51, 9; st.global.u32 [%rd11], %r21;") + "mov.u32 %r32, 0;"
    trace, remarks = told(text + loop(2, f"add.u32 %r32, %r32, {uses};") + stored(2) + END)
    sets, asked = trace.of("FUS-10")
    assert sets.outcome == {
        "L1": {"defined": ["%p1", "%r1", "%r21", "%rd11"],
               "used": ["%p1", "%r1", "%r21", "%r51", "%rd11"]},
        "L2": {"defined": ["%p2", "%r2", "%r32", "%rd12"],
               "used": sorted(["%p2", "%r2", "%r32", "%rd12", uses])}}
    assert asked.outcome == ("refused: RegisterDependence" if refused else "done")
    assert ("RegisterDependence" in remarks) is refused


@pytest.mark.seed("FUS-19")
@pytest.mark.parametrize(("second", "policy", "did"), [
    ("mul.lo.u32 %r21, %r51, 3;", "documented", "killed: moved to the preheader"),
    ("mul.lo.u32 %r49, %r51, 3; mov.u32 %r21, %r49;", "documented",
     "move: what it copies is named"),
    ("mul.lo.u32 %r22, %r51, 3;", "documented", "cloned: as it is"),  # not what the first writes
    ("mul.lo.u32 %r21, %r2, 3;", "documented", "cloned: as it is"),  # it varies
    ("add.u32 %r21, %r51, 9;", "documented", "duplicate: skipped"),
    ("mul.lo.u32 %r21, %r51, 3;", "observed", ""),
])
def test_what_becomes_of_each_instruction_of_the_second_body(second, policy, did):
    """Both bodies write %r21. What the first makes anew stays with it, in a register of its own."""
    work = "add.u32 %r21, %r51, 9; st.global.u32 [%rd11], %r21;"
    of = second[second.index("%r2"):][:4]
    text = loop(1, work) + "mov.u32 %r32, 0;" + loop(2, second + f"add.u32 %r32, %r32, {of};")
    module = nvir.read_ptx(body(HEAD + text + stored(2) + END))
    before = clone_module(module)
    with Trace() as trace:
        nvir.run_passes(module, "loop-simplify,loop-fuse", policy=policy, knobs=ON, verify=True)
    assert same_behaviour(before, module, "k")
    assert same_behaviour(before, nvir.read_ptx(nvir.print_ptx(module)), "k")
    (only,) = natural_loops(module["k"])
    inside = [i for b in only.blocks for i in b]
    if policy == "documented":
        told_ = [e.outcome for e in trace.of("FUS-19") if e.step == "instruction"
                 and of in e.inputs["instruction"]]
        assert told_ == [did]
    assert len([i for i in inside if i.name in ("%r21", "%r22", "%r49")]) == (
        1 if did.startswith(("killed", "duplicate")) else 2)


@pytest.mark.seed("FUS-19")
def test_the_register_of_the_second_loops_own_variable_is_not_killed():
    """Only its phi has the name, in the common header."""
    second = "add.u32 %r32, %r32, %r33; mul.lo.u32 %r33, %r51, 3;"
    trace, remarks = told(copies(1) + "mov.u32 %r33, 0; mov.u32 %r32, 0;" + loop(2, second)
                          + stored(2) + END)
    assert remarks == ["Fused"]
    assert [e.outcome for e in trace.of("FUS-19") if e.step == "instruction"
            and "%r33" in e.inputs["instruction"] and "mul" in e.inputs["instruction"]] == [
        "cloned: as it is"]


@pytest.mark.seed("FUS-19")
@pytest.mark.parametrize(("of", "killed"), [("%r2", False), ("%r51", True)])
def test_what_another_block_of_the_second_body_makes_is_not_killed(of, killed):
    """Its block joins none of the first loop's. Phis and branches are no instructions here."""
    skip = "setp.gt.u32 %p8, %r{k}, 4; @%p8 bra S{k}; st.global.u32 [%rd1{k}], %r{k}; S{k}:"
    second = f"add.u32 %r40, {of}, 9; mul.lo.u32 %r41, %r40, 3; add.u32 %r32, %r32, %r41;"
    text = loop(1, skip.format(k=1) + "add.u32 %r41, %r1, 7; st.global.u32 [%rd11], %r41;"
                "add.u32 %r40, %r41, %r1; st.global.u32 [%rd11], %r40;")
    trace, remarks = told(
        "mov.u32 %r32, 0;" + text + loop(2, skip.format(k=2) + second) + stored(2) + END,
        "loop-simplify,loop-fuse<multi-block>")
    assert remarks == ["Fused"]
    done = {e.inputs["instruction"]: e.outcome for e in trace.of("FUS-19")
            if e.step == "instruction"}
    moved = [outcome.startswith("killed") for i, outcome in done.items()
             if "add.u32 %r40" in i or "mul" in i]
    assert moved == [killed, killed]
    assert not [i for i in done if "phi" in i or "bra" in i]


@pytest.mark.seed("FUS-08")
def test_the_latch_is_told():
    trace, _ = told()
    assert [(e.inputs["loop"], e.outcome.split()[0]) for e in trace.of("FUS-08")] == [
        ("L1", "bra"), ("L2", "bra")]
    trace, remarks = told(copies(1) + TOP_TESTED)
    assert outcomes(trace, "FUS-08")[-1] == "refused: TestNotAtEnd"
    assert remarks == ["TestNotAtEnd"]


@pytest.mark.seed("FUS-09")
def test_the_size_and_the_budget_are_told():
    sizes = set()
    for budget, outcome in ((12.0, "refused: OverFusionBudget"), (13.0, "done"), (None, "done")):
        trace, _ = told(**({} if budget is None else {"PerformLoopFusionBudget": budget}))
        (event,) = trace.of("FUS-09")
        assert (event.inputs["budget"], event.outcome) == (budget, outcome)
        sizes.add(event.inputs["size"])
    assert sizes == {13}


@pytest.mark.seed("FUS-14", "FUS-20")
def test_legality_is_asked_always_and_the_second_pass_decides():
    trace, _ = told()
    assert outcomes(trace, "FUS-14") == ["done", True, False]  # one round, and one without pairs
    patched, flags = trace.of("FUS-20")
    assert patched.inputs["gone"] == ["L2", "bb2"]
    assert patched.outcome == {"blocks": 3, "loops": ["L1"], "annotations": "fresh"}
    assert flags.outcome == "changed"
    trace, _ = told(PAIR, "loop-simplify,loop-fuse<apply=false>")
    assert outcomes(trace, "FUS-14") == ["done", False]
    assert outcomes(trace, "FUS-20") == ["as they were"]
    trace, _ = told(copies(1) + reads(2, "+4") + stored(2) + END)
    assert outcomes(trace, "FUS-14") == ["refused: MemoryDependence", False]


@pytest.mark.seed("FUS-01", "FUS-02", "FUS-03", "FUS-13", "FUS-20")
def test_the_rows_come_in_the_order_of_the_notes():
    rows = list(dict.fromkeys(e.row for e in told()[0]))
    assert rows == ["FUS-01", "FUS-02", "FUS-03", "FUS-05", "FUS-04", "FUS-18", "FUS-06", "FUS-08",
                    "FUS-07", "FUS-09", "FUS-10", "FUS-11", "FUS-15", "FUS-17", "FUS-16", "FUS-14",
                    "FUS-12", "FUS-13", "FUS-19", "FUS-20"]
