"""The listing of a loop on its physical registers: text, JSON, command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import nvir
from benchmarks.post_ra_stream import kernel_stream
from nvir.cli import main
from nvir.report.schedule.post_ra import SHOWN, listing, listing_json, listing_text
from nvir.sm.profile import profile
from nvir.sm.simulate import simulate

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "ptx"


def loop_of(name: str):
    m = nvir.read_ptx(EXAMPLES / f"{name}.ptx")
    for f in m.functions:
        if f.blocks:
            f.analyze_cfg()
            for loop in f.loops():
                if len(loop.blocks) == 1:
                    return loop
    raise AssertionError(name)


def nvir_schedule(*args: str):
    return CliRunner().invoke(main, ["schedule", *args])


def test_every_instruction_has_its_line():
    made = listing(loop_of("saxpy.sm_80"), profile("sm_80"))
    text = listing_text(made, "saxpy")
    table = [x for x in text.splitlines() if re.match(r" +\d+ +\d+ +\d+ ", x)]
    assert len(table) == len(made.after.code.operations) == 12
    slots = [int(x.split()[0]) for x in table]
    assert slots == sorted(slots)
    assert slots[-1] == made.after.ii - 1
    assert "@P0 BRA" in table[-1]
    load = next(x for x in table if " LDG " in x)
    assert re.search(r"LSU .* w\d", load), "a load sets a barrier for its result"
    reader = next(x for x in table if " FFMA " in x)
    assert re.search(r"B0 B1", reader), "the multiply-add waits for both loads"


def test_the_page_says_what_raised_the_interval():
    made = listing(loop_of("saxpy.sm_80"), profile("sm_80"))
    text = listing_text(made, "saxpy")
    assert f"before     II {made.before.ii}" in text
    assert f"raised     {made.after.true_ii} → {made.after.bound}" in text
    assert all(d.text(made.after.code) in text for d in made.after.raised_by[:SHOWN])
    assert "--spread" in text
    spread = listing(loop_of("saxpy.sm_80"), profile("sm_80"), spread=True)
    assert spread.after.ii < made.after.ii
    assert "--copies N" in listing_text(spread, "saxpy")


def test_what_registers_do_not_raise_is_said():
    made = listing(loop_of("warp_specialised.sm_90"), profile("sm_90"))
    assert made.after.ii == made.before.ii
    assert "cost nothing" in listing_text(made, "k")


def test_a_loop_that_does_not_overlap_says_why():
    made = listing(loop_of("histogram.sm_80"), profile("sm_80"))
    assert not made.after.is_pipelined
    assert "unpipelined  no two iterations overlap" in listing_text(made, "k")


def test_json_has_the_same_figures():
    made = listing(loop_of("softmax.sm_90"), profile("sm_90"), spread=True)
    document = json.loads(json.dumps(listing_json(made, "softmax")))
    assert document["schema"] == "nvir.post_ra/1"
    assert document["ii"] == made.after.ii
    assert document["before"]["ii"] == made.before.ii
    assert [x["slot"] for x in document["instructions"]] == sorted(
        x["cycle"] % document["ii"] for x in document["instructions"]
    )
    assert {x["stage"] for x in document["instructions"]} == set(range(document["stages"]))
    assert sum(x["stall"] for x in document["instructions"]) == document["ii"]
    assert any(x["write_barrier"] is not None for x in document["instructions"])
    for x in document["instructions"]:
        assert x["max_predecessor_cycle"] <= x["max_dependency_cycle"] <= x["cycle"]
    assert all(x["kind"] in ("WAR", "WAW") for x in document["raised_by"])
    assert any(row["out"] for row in document["live"].values())


@pytest.mark.parametrize(
    "name",
    ["saxpy.sm_80", "reduction.sm_90", "gemm_mma.sm_90", "softmax.sm_80", "triton_matmul.sm_80"],
)
def test_the_command_lists(name):
    got = nvir_schedule(str(EXAMPLES / f"{name}.ptx"), "--post-ra")
    if "blocks" in got.output:
        assert got.exit_code == 1  # a loop of several blocks, refused in words
        assert "unsupported" in got.output
        return
    assert got.exit_code == 0, got.output
    assert "behind register allocation" in got.output


def test_the_command_takes_loop_profile_and_limit():
    file = str(EXAMPLES / "nbody.sm_80.ptx")
    got = nvir_schedule(file, "--post-ra", "--json", "--profile", "sm_90", "--registers", "12")
    assert got.exit_code == 0, got.output
    document = json.loads(got.output)
    assert document["profile"] == "sm_90"
    assert any((x["role"] or "").startswith("spill") for x in document["instructions"])


@pytest.mark.parametrize("options", [["--spread"], ["--registers", "9"], ["--post-ra", "--dot"],
                                     ["--post-ra", "--registers", "0"]])
def test_options_that_do_not_go_together(options):
    got = nvir_schedule(str(EXAMPLES / "saxpy.sm_80.ptx"), *options)
    assert got.exit_code == 2
    assert "Traceback" not in got.output


def test_too_few_registers_are_an_error_in_words():
    got = nvir_schedule(str(EXAMPLES / "saxpy.sm_80.ptx"), "--post-ra", "--registers", "2")
    assert got.exit_code == 1
    assert "registers" in got.output


def test_the_simulator_runs_the_kernel():
    made = listing(loop_of("saxpy.sm_80"), profile("sm_80")).after
    ran = simulate(kernel_stream(made), warps=1, iterations=16)
    assert 0.5 * made.cycles <= ran.cycles_per_iteration <= made.cycles + 1
