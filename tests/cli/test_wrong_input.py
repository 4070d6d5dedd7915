"""Wrong input to the commands: one message, a status of 1 or 2, no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from nvir.cli import main

SGEMM = Path(__file__).parents[2] / "examples" / "sgemm.ptx"


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["opt", str(SGEMM), "-o", ""], 2, "the name of the output is empty"),
        (["opt", str(SGEMM), "--arch", "foo"], 2, "no machine profile for 'foo'"),
        (["knobs", "--read", "nope"], 1, "read by 'nope'"),
        (["cfg", "bare.ptx"], 1, "bare.ptx has no function with a body"),
        (["report", "half.ptx"], 1, "half.ptx:"),
        (["report", "missing.ptx"], 1, "missing.ptx: No such file or directory"),
        (["cfg", "."], 1, "Is a directory"),
        (["report", "empty.ptx"], 1, "empty.ptx:1:1: error: this is no PTX"),
        (["report", "bytes.ptx"], 1, "this is a binary file, not PTX text"),
        (["report", str(SGEMM), "--profile", "bad.json"], 1, "bad.json:1:2: error: not JSON"),
    ],
)
def test_wrong_input_is_told(words, status, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = SGEMM.read_text("utf-8")
    Path("bare.ptx").write_text(".version 8.0\n.target sm_80\n.address_size 64\n")
    Path("half.ptx").write_text(text[: len(text) // 2])
    Path("empty.ptx").write_text("")
    Path("bytes.ptx").write_bytes(bytes(range(256)))
    Path("bad.json").write_text("{")
    result = CliRunner().invoke(main, words)
    assert result.exit_code == status
    assert isinstance(result.exception, SystemExit)
    assert message in result.output


def test_a_target_without_a_profile_is_judged_by_the_nearest():
    """`opt` takes the targets that `report` takes: sm_103 has the profile of sm_100."""
    result = CliRunner().invoke(main, ["opt", str(SGEMM), "-p", "dce", "--arch", "sm_103"])
    assert result.exit_code == 0
    assert ".target sm_80" in result.stdout
