"""Wrong input to the commands: one message, a status of 1 or 2, no traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from nvir.cli import COMMANDS, main

SGEMM = Path(__file__).parents[2] / "examples" / "sgemm.ptx"


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["opt", str(SGEMM), "-o", ""], 2, "the name of the output is empty"),
        (["opt", str(SGEMM), "--arch", "foo"], 2, "no machine profile for 'foo'"),
        (["knobs", "--read", "nope"], 1, "read by 'nope'"),
        (["opt", str(SGEMM), "-p", "dce", "-o", "new/"], 1, "new/: names a folder, not a file"),
        (["opt", "empty.nvir", "-p", "licm"], 1, "empty.nvir:5:1: error: in @k: block M is empty"),
        (["report", "/dev/zero"], 1, "/dev/zero: larger than 256 MiB"),
        (["report", "pipe"], 1, "pipe: a pipe with a name"),
        (["diff", str(SGEMM), str(SGEMM), "--thresholds", "pipe"], 2, "a pipe with a name"),
        (["cfg", "bare.ptx"], 1, "bare.ptx has no function with a body"),
        (["report", "half.ptx"], 1, "half.ptx:"),
        (["report", "missing.ptx"], 1, "missing.ptx: No such file or directory"),
        (["cfg", "."], 1, "Is a directory"),
        (["cfg", str(SGEMM), "-o", f"{'a' * 5000}/"], 1, "a/: File name too long"),
        (["compile", "bare.cu", "-I", "a" * 5000], 1, "there is no __global__ function"),
        (["compile", "long.cu"], 1, "there is no __global__ function"),
        (["report", "empty.ptx"], 1, "empty.ptx:1:1: error: this is no PTX"),
        (["report", "/dev/null"], 1, "/dev/null:1:1: error: this is no PTX"),
        (["opt", "-"], 1, "<stdin>:1:1: error: this is no PTX"),
        (["report", "bytes.ptx"], 1, "this is a binary file, not PTX text"),
        (["fmt", "bytes.ptx"], 1, "bytes.ptx:1:1: error: this is a binary file, not PTX text"),
        (["report", "page.ptx"], 1, "page.ptx:1:1: error: this is a web page (HTML), not PTX"),
        (["report", "wide.ptx"], 1, "wide.ptx:1:1: error: this is UTF-16 text, not PTX"),
        (["explain", "bare.ptx"], 1, "bare.ptx has no function with a body"),
        (["simulate", "flat.ptx"], 1, "flat.ptx has no loop"),
        (["schedule", str(SGEMM), "--kernel", "nope"], 2, "no function 'nope' in"),
        (["run", "bare.ptx"], 1, "bare.ptx has no kernel"),
        (["report", str(SGEMM), "--profile", "bad.json"], 1, "bad.json:1:2: error: not JSON"),
        (["report", str(SGEMM), "--profile", "long.json"], 1, "read: a number of 6,000 digits"),
    ],
)
def test_wrong_input_is_told(words, status, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = SGEMM.read_text("utf-8")
    Path("bare.ptx").write_text(".version 8.0\n.target sm_80\n.address_size 64\n")
    Path("half.ptx").write_text(text[: len(text) // 2])
    Path("empty.ptx").write_text("")
    os.mkfifo("pipe")
    Path("empty.nvir").write_text(
        "module ori target sm_80\nkernel @k() {\nentry:\n  bra L\nM:\nL:\n  ret\n}\n"
    )
    Path("page.ptx").write_text("\n<!DOCTYPE html>\n<html></html>\n")
    Path("wide.ptx").write_bytes(text.encode("utf-16"))
    Path("flat.ptx").write_text(
        Path("bare.ptx").read_text() + ".visible .entry flat()\n{\n\tret;\n}\n"
    )
    Path("bytes.ptx").write_bytes(bytes(range(256)))
    Path("bare.cu").write_text("int f();\n")
    Path("long.cu").write_text(f'#include "{"a" * 5000}"\nint f();\n')
    Path("bad.json").write_text("{")
    Path("long.json").write_text(f'{{"sm": {"9" * 6000}}}')
    result = CliRunner().invoke(main, words)
    assert result.exit_code == status
    assert isinstance(result.exception, SystemExit)
    assert message in result.output


def test_a_pipe_without_a_name_is_read():
    """What a shell makes of <(command)."""
    end, start = os.pipe()
    os.write(start, b".version 8.0\n.target sm_80\n.address_size 64\n")
    os.close(start)
    result = CliRunner().invoke(main, ["check", f"/dev/fd/{end}"])
    os.close(end)
    assert result.exit_code == 0, result.output


def test_a_target_without_a_profile_is_judged_by_the_nearest():
    """`opt` takes the targets that `report` takes: sm_103 has the profile of sm_100."""
    result = CliRunner().invoke(main, ["opt", str(SGEMM), "-p", "dce", "--arch", "sm_103"])
    assert result.exit_code == 0
    assert ".target sm_80" in result.stdout


def test_no_command_at_all_shows_the_help():
    result = CliRunner().invoke(main, [])
    assert result.exit_code == 2
    assert result.output.count("Usage:") == 1
    assert "error:" not in result.output
    assert "explain" in result.output


@pytest.mark.parametrize("name", list(COMMANDS))
def test_help_has_examples_and_says_what_options_are(name):
    shown = CliRunner().invoke(main, [name, "--help"]).output
    assert "Examples:" in shown
    assert f"nvir {name} " in shown.partition("Examples:")[2]
    assert "INTEGER" not in shown


@pytest.mark.parametrize("words", [["-I", "a\udcff"], ["-D", "A=\udcff"], ["-U", "\udcff"]])
def test_words_that_are_no_utf_8_are_named(words, tmp_path):
    """As Linux hands over bytes of a name that are none."""
    pytest.importorskip("clang.cindex")
    file = tmp_path / "k.cu"
    file.write_text("__global__ void k(float *a) { a[0] = 1; }\n")
    result = CliRunner().invoke(main, ["compile", str(file), *words])
    if result.exit_code == 0:  # clang's program, where it is, takes any bytes
        assert ".entry _Z1kPf" in result.output
        return
    assert isinstance(result.exception, SystemExit)
    assert "clang takes names and words in UTF-8 alone" in " ".join(result.output.split())
