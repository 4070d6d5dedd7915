"""Broken input of every kind gets an answer; and what gets none would be found, shrunk and told."""

from __future__ import annotations

import json
import random
import runpy
import shlex
import signal
import sys
from pathlib import Path

import attrs
import pytest

from nvir.cli import COMMANDS
from tests import fuzz_inputs
from tests.fuzz_inputs import Tally, fault, limited, made, shrunk
from tests.fuzz_jobs import JOBS, Job, Texts, command_line

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
import fuzz


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Job:
    """The PTX job with a reader that stumbles over branches."""

    def attempt(text: str, way: str) -> bool:
        if "bra" in text:
            raise KeyError("bra")
        return True

    job = attrs.evolve(JOBS["ptx"], attempt=attempt)
    monkeypatch.setitem(JOBS, "ptx", job)
    return job


@pytest.mark.parametrize("name", JOBS)
def test_no_input_goes_unanswered(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NVIR_CRASH_DIR", str(tmp_path))
    assert fuzz.main(["--job", name, "--seconds", "4", "--count", "40", "--seed", "7"]) == 0
    assert f"{name}: " in capsys.readouterr().out


def test_one_command_runs_every_job(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz.main(["--seconds", "20", "--count", "2", "--size", "4", "--assemble", "0"]) == 0
    out = capsys.readouterr().out
    assert "checks of 2 kernels" in out
    assert all(f"{name}: 2 inputs" in out for name in JOBS)


@pytest.mark.parametrize(("option", "noted"), [
    ("/somebody/corpus", "corpus"), ("corpus/ptx", "corpus/ptx"), ("--files", "--files"),
    ("passes", "passes")])
def test_what_is_noted_of_a_job_names_no_folder_of_this_machine(option: str, noted: str) -> None:
    command = runpy.run_path(str(Path(fuzz.__file__).with_name("__main__.py")))
    assert command["shown"](option) == noted


def test_inputs_follow_from_the_seed_and_mostly_differ_from_what_they_were() -> None:
    texts = Texts()
    for name, job in JOBS.items():
        inputs = [made(job, texts, seed) for seed in range(12)]
        assert inputs == [made(job, texts, seed) for seed in range(12)], name
        assert len(set(inputs)) > 9, name


def test_both_answers_are_common() -> None:
    """Mutants are neither all refused, so that only the first lines of a reader would be tried,
    nor all taken."""
    texts = Texts()
    for name in ("ptx", "ll", "ir", "json", "schedule", "profile", "pipelines"):
        job = JOBS[name]
        taken = [job.attempt(*made(job, texts, seed)) for seed in range(40)]
        assert 2 <= sum(taken) <= 38, name


def test_command_lines_name_every_command_and_wrong_ones() -> None:
    rng = random.Random(3)
    lines = [shlex.split(command_line(Texts(), rng)) for _ in range(400)]
    assert {words[0] for words in lines} > set(COMMANDS)


def test_a_defect_is_shrunk_to_its_cause(planted: Job) -> None:
    text = next(t for t, _ in (made(planted, Texts(), s) for s in range(50)) if "bra" in t)
    found = fault(planted, text)
    assert found is not None
    assert found[0].startswith("KeyError at")
    assert shrunk(planted, text, found[0], 20).strip() == "bra"


def test_a_defect_is_told_once_with_its_seed(
    planted: Job, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    tally = Tally(next=20)
    assert not fuzz_inputs.job("ptx", tally, 8, 60, Texts(None, "ptx"), tmp_path, "abc")
    assert tally.inputs == tally.commits["abc"] == 8
    assert list(tally.defects) == ["KeyError at test_fuzz_inputs.py:attempt"]
    (found,) = (tmp_path / "ptx").iterdir()
    assert "bra" in found.read_text()
    assert len(found.read_text().split()) == 1
    out = capsys.readouterr().out
    assert out.count("reproduce: python -m benchmarks.fuzz --input ptx --seed ") == 1
    assert "DEFECT" in tally.line("ptx")


def test_an_endless_attempt_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(text: str, way: str) -> bool:
        while True:
            try:
                text += ""
            except Exception:  # what a library may do
                return True

    monkeypatch.setattr(fuzz_inputs, "LIMIT", 0.2)
    assert fault(Job(lambda *_: "", endless), "x") == ("TooLong", "more than 0.2 s")
    with limited(5):
        pass  # and nothing rings afterwards


def test_totals_of_two_runs_are_those_of_one(tmp_path: Path) -> None:
    """A campaign goes on where it stopped, and each run's commit is counted."""
    words = ["--input", "ptx", "--seconds", "60"]
    for name, counts in (("twice.json", (3, 4)), ("once.json", (7,))):
        for count in counts:
            assert fuzz.main([*words, "--totals", str(tmp_path / name), "--count", str(count)]) == 0
    twice, once = (json.loads(p.read_text())["ptx"] for p in sorted(tmp_path.glob("*.json")))
    assert twice["inputs"] == once["inputs"] == twice["next"] == sum(twice["commits"].values()) == 7


def test_an_attempt_that_waits_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    def waits(text: str, way: str) -> bool:
        while True:
            signal.pause()

    monkeypatch.setattr(fuzz_inputs, "IDLE", 0.05)
    assert fault(Job(lambda *_: "", waits), "x") == ("TooLong", "it waits without an end")
