"""Sweeps over worker processes: ranges, rows, interruptions, workers that die."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from nvir.ir.errors import NvirError
from nvir.report.sweep import Job, parse_range, settings_of, sweep, sweep_text
from nvir.report.workers import DIED

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples" / "ptx"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    there = tmp_path / "kernels"
    there.mkdir()
    for name in ("saxpy", "horner"):
        shutil.copy(EXAMPLES / f"{name}.sm_80.ptx", there)
    return there


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("UnrollBudget=100..300", [100, 150, 200, 250, 300]),
        ("UnrollBudget=100..300:100", [100, 200, 300]),
        ("UnrollBudget=1..3", [1, 2, 3]),
        ("UnrollBudget=7", [7]),
        ("LoopUnroll=true,false", [True, False]),
        ("UnrollInstLimit=1..2:0.5", [1.0, 1.5, 2.0]),
    ],
)
@pytest.mark.seed("KNB-30")
def test_ranges(text: str, values: list[Any]):
    name, found = parse_range(text)
    assert name == text.partition("=")[0]
    assert found == values


@pytest.mark.parametrize(
    "text",
    ["UnrollBudget", "UnrollBudget=", "Unrol=1", "UnrollBudget=3..1", "UnrollBudget=1..x",
     "UnrollBudget=1..9:0", "UnrollBudget=0..1000000:1", "LoopUnroll=false..true"],
)
def test_bad_ranges_are_named(text: str):
    with pytest.raises(NvirError):
        parse_range(text)


def quick(job: Job) -> dict[str, Any]:
    """A row that takes no time; one kernel raises, one kills its process."""
    how = os.environ.get("NVIR_TEST_SWEEP", "")
    if job.kernel == "saxpy4" and "raise" in how:
        raise NvirError("no such luck")
    if job.kernel == "saxpy" and job.setting.factor == 2 and "die" in how:
        os.kill(os.getpid(), signal.SIGKILL)
    n = job.setting.factor
    return {"instructions": n, "ii": None, "registers": 9, "blocks_per_sm": 1, "cycles": 0.5}


def test_what_fails_costs_its_row_alone(folder: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("NVIR_TEST_SWEEP", "raise die")
    settings = settings_of([], [1, 2, 4])
    rows = sweep(folder, settings, tmp_path / "o.jsonl", work=quick)
    assert len(rows) == 12
    errors = {(r["kernel"], r["factor"]): r["error"] for r in rows if r["error"]}
    assert errors.pop(("saxpy", 2)) == DIED
    assert errors == {("saxpy4", n): "no such luck" for n in (1, 2, 4)}
    assert all(r["registers"] == 9 for r in rows if not r["error"])
    assert "error: the worker process died" in sweep_text(rows)


def test_a_file_that_cannot_be_read_is_a_row(folder: Path, tmp_path: Path):
    (folder / "bad.ptx").write_text(".version 8.0\n.target sm_80\n.entry k() { bogus")
    rows = sweep(folder, settings_of([], [1]), tmp_path / "o.jsonl", work=quick)
    assert [Path(r["file"]).name for r in rows if r["error"]] == ["bad.ptx"]
    assert len(rows) == 5


def test_a_cut_line_is_made_again_and_a_whole_one_is_not(folder: Path, tmp_path: Path):
    out = tmp_path / "o.jsonl"
    settings = settings_of([], [1, 2])
    rows = sweep(folder, settings, out, work=quick)
    lines = out.read_text().splitlines(True)
    out.write_text("".join(lines[:3]) + lines[3][: len(lines[3]) // 2])
    told = []
    again = sweep(folder, settings, out, work=quick, progress=lambda n, of: told.append((n, of)))
    assert again == rows
    assert told[0] == (4, 8)
    assert sorted(out.read_text().splitlines(True)) == sorted(lines)
    out.write_text("something else\n")
    with pytest.raises(NvirError, match="no row of a sweep"):
        sweep(folder, settings, out, work=quick)


def test_a_changed_file_is_measured_again(folder: Path, tmp_path: Path):
    out = tmp_path / "o.jsonl"
    sweep(folder, settings_of([], [1]), out, work=quick)
    path = folder / "saxpy.sm_80.ptx"
    path.write_text(path.read_text() + "\n// changed\n")
    sweep(folder, settings_of([], [1]), out, work=quick)
    assert len(out.read_text().splitlines()) == 4 + 2


def test_killed_half_way_it_ends_with_the_same_table(folder: Path, tmp_path: Path):
    options = ["--factor", "1,2,auto", "--knob", "UnrollUnknownCount=2,4"]
    _killed_and_started_again(folder, tmp_path, options, 4 * 6, kill_at=5)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_a_hundred_kernels_by_twenty_settings_survive_a_kill(tmp_path: Path):
    there = tmp_path / "kernels"
    there.mkdir()
    small = sorted(EXAMPLES.glob("*.ptx"), key=lambda p: p.stat().st_size)
    kernels = 0
    for k in range(1000):
        text = small[k % 20].read_text()
        (there / f"{k:03}.ptx").write_text(f"{text}\n// copy {k}\n")
        kernels += text.count(".entry")
        if kernels >= 100:
            break
    options = ["--knob", "UnrollBudget=100..300", "--factor", "1,2,4,8"]
    _killed_and_started_again(there, tmp_path, options, kernels * 20, kill_at=kernels * 10)


def _killed_and_started_again(
    folder: Path, tmp_path: Path, options: list[str], rows: int, kill_at: int
) -> None:
    def command(out: Path) -> list[str]:
        return [sys.executable, "-m", "nvir", "sweep", str(folder), *options,
                "-j", "2", "-o", str(out)]

    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    expected = subprocess.run(command(whole), capture_output=True, text=True, check=True).stdout
    assert expected.count("\n") == 1 + rows
    process = subprocess.Popen(command(cut), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 3600
    while time.monotonic() < end and process.poll() is None:
        if cut.exists() and cut.read_bytes().count(b"\n") >= kill_at:
            break
        time.sleep(0.01)
    process.kill()
    process.wait()
    before = cut.read_bytes().count(b"\n")
    assert kill_at <= before < rows
    again = subprocess.run(command(cut), capture_output=True, text=True, check=True).stdout
    assert again == expected
    assert cut.read_bytes().count(b"\n") == rows


def test_a_factor_for_one_loop_and_threads_a_block(tmp_path: Path) -> None:
    file = EXAMPLES / "horner.sm_80.ptx"
    settings = settings_of([], [1, 2])
    out = [tmp_path / f"{k}.jsonl" for k in range(3)]
    every = sweep(file, settings, out[0], workers=1)
    one = sweep(file, settings, out[1], workers=1, loop="$L__BB0_7", block=64)
    assert len(one) == 2 < len(every)  # of the kernel that has it
    by_factor = [r["instructions"] for r in one]
    assert every[0]["instructions"] == by_factor[0] < by_factor[1] <= every[1]["instructions"]
    assert one[0]["blocks_per_sm"] > every[0]["blocks_per_sm"]
    with pytest.raises(NvirError, match="has a loop"):
        sweep(file, settings, out[2], workers=1, loop="$L__nothing")
