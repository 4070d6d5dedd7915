"""`nvir schedule`: the page, JSON, choosing a loop, errors; and the report's pipeline fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from nvir.cli import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "ptx"
GOLDEN = Path(__file__).parent / "golden" / "schedule_stencil_notes.txt"
SAXPY = str(EXAMPLES / "saxpy.sm_80.ptx")
SOFTMAX = str(EXAMPLES / "softmax.sm_80.ptx")
STENCIL = str(EXAMPLES / "stencil.sm_80.ptx")


def nvir(*args: str) -> Any:
    return CliRunner().invoke(main, args, prog_name="nvir")


@pytest.mark.seed("GAP-57")
def test_the_page_of_the_notes_profile_is_the_golden_one() -> None:
    options = ("--loop", "1", "--profile", "sm_80_notes", "--solver", "none")
    result = nvir("schedule", STENCIL, *options)
    assert result.exit_code == 0
    assert result.output == GOLDEN.read_text("utf-8")


def test_the_page_names_what_binds() -> None:
    lines = nvir("schedule", SAXPY).output.splitlines()
    assert lines[0] == "saxpy · loop $L__BB0_2 (line 48) · sm_80"
    assert lines[1].startswith("ResMII 12 · RecMII 39 · II ")
    bound = "recurrence  %f3: st → ld → fma  latency 39, distance 1"
    assert any(x.startswith(bound) for x in lines)
    assert any(x.startswith("critical    LSU 12 of ") for x in lines)
    assert any("MaxLive" in x for x in lines)


def test_the_page_says_how_many_registers_are_needed() -> None:
    """The quick proofs fall a register short of this schedule, the solver's don't."""
    own = ("schedule", SOFTMAX, "--solver", "none")
    assert "MaxLive 7 of the loop's own (at least 6 are needed)" in nvir(*own).output
    assert json.loads(nvir(*own, "--json").output)["max_live_bound"] == 6
    pytest.importorskip("ortools")
    for options in ([], ["--solver", "auto"], ["--solver", "cpsat"]):
        page = nvir("schedule", SOFTMAX, *options).output
        assert "MaxLive 7 of the loop's own (no schedule has fewer)" in page


def test_without_the_solver_the_page_comes_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nvir.sm.schedule.cpsat.available", lambda: False)
    assert "MaxLive 7" in nvir("schedule", SOFTMAX).output
    result = nvir("schedule", SOFTMAX, "--solver", "cpsat")
    assert result.exit_code == 1
    assert "without OR-tools" in result.output


def test_each_operation_stands_in_the_slot_of_its_time() -> None:
    made = json.loads(nvir("schedule", SAXPY, "--json").output)
    assert made["schema"] == "nvir.schedule/1"
    assert made["ii"] >= made["mii"] == max(made["res_mii"], made["rec_mii"])
    for op in made["operations"]:
        assert op["slot"] == op["time"] % made["ii"]
        assert op["stage"] == op["time"] // made["ii"]
    slots = [op["slot"] for op in made["operations"]]
    assert slots == sorted(slots)
    assert len(set(slots)) == len(slots)  # one issues a cycle
    assert made["recurrence"]["latency"] == 39
    assert made["stages"] == 1 + max(op["stage"] for op in made["operations"])
    assert sum(made["pipes"].values()) == sum(
        op["interval"] for op in made["operations"] if op["pipe"]
    )


def test_a_loop_is_chosen_by_number_or_label() -> None:
    options = ("schedule", STENCIL, "--json", "--solver", "none", "--loop")
    by_label = nvir(*options, "$L__BB0_2").output
    numbered = [nvir(*options, str(n)) for n in (1, 2, 3)]
    assert by_label in [r.output for r in numbered if r.exit_code == 0]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--loop", "nowhere"], 2, "no loop 'nowhere' in"),
        (["--loop", "99"], 2, "there are: 1 $L__BB0_"),
        (["--kernel", "nobody"], 2, "no function 'nobody' in"),
        (["--profile", "sm_1"], 2, "no machine profile for 'sm_1'"),
        (["--budget", "nan"], 2, "nan is no number of seconds"),
    ],
)
def test_wrong_choices_are_told(options: list[str], code: int, message: str) -> None:
    result = nvir("schedule", SAXPY, *options)
    assert result.exit_code == code
    assert message in result.output
    assert "Traceback" not in result.output


def test_a_loop_of_several_blocks_is_told() -> None:
    result = nvir("schedule", str(EXAMPLES / "switch_heavy.sm_80.ptx"), "--loop", "1")
    assert result.exit_code == 1
    assert "unsupported: a loop of" in result.output


def test_loads_from_dram_take_longer() -> None:
    near = json.loads(nvir("schedule", SAXPY, "--json").output)
    far = json.loads(nvir("schedule", SAXPY, "--json", "--level", "dram").output)
    assert far["rec_mii"] > near["rec_mii"] + 100


def test_the_graph_is_dot() -> None:
    output = nvir("schedule", SAXPY, "--dot").output
    assert output.startswith("digraph body {")
    assert "LDG" in output


def test_a_report_has_the_same_figures() -> None:
    made = json.loads(nvir("schedule", SAXPY, "--json").output)
    report = json.loads(nvir("report", SAXPY, "--json", "--schedule").output)
    (loop,) = report["functions"][0]["loops"]
    pipeline = loop["pipeline"]
    for key in ("res_mii", "rec_mii", "mii", "ii", "stages", "bottleneck"):
        assert pipeline[key] == made[key]
    assert pipeline["recurrence"] == made["recurrence"]["text"]
    assert "ptxas does not pipeline" in pipeline["reason"]


def test_a_report_says_why_there_are_no_figures() -> None:
    path = str(EXAMPLES / "gemm_mma.sm_80.ptx")
    report = json.loads(nvir("report", path, "--json").output)
    reasons = {x["pipeline"]["reason"] for f in report["functions"] for x in f["loops"]}
    assert "not an innermost loop" in reasons
    for f in report["functions"]:
        for x in f["loops"]:
            assert (x["pipeline"]["ii"] is None) == ("would reach" not in x["pipeline"]["reason"])


def test_the_notes_profile_gives_other_figures() -> None:
    real = json.loads(nvir("report", STENCIL, "--json", "--schedule").output)
    asked = ("report", STENCIL, "--json", "--schedule", "--profile", "sm_80_notes")
    notes = json.loads(nvir(*asked).output)
    pairs = [
        (a["pipeline"]["res_mii"], b["pipeline"]["res_mii"])
        for f, g in zip(real["functions"], notes["functions"], strict=True)
        for a, b in zip(f["loops"], g["loops"], strict=True)
        if a["pipeline"]["ii"] is not None
    ]
    assert pairs
    assert all(b < a for a, b in pairs)
