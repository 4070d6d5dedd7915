"""Standard output that is closed, or on a full disk: one line says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]
COMMANDS = ("knobs", "report examples/ptx/saxpy.sm_80.ptx --model --json",
            "opt examples/ptx/saxpy.sm_80.ptx")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("where", [">&-", ">/dev/full"])
def test_output_that_nobody_takes_is_one_error(command: str, where: str) -> None:
    if where == ">/dev/full" and not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m nvir {command} {where}', sys.executable],
        cwd=TREE, env={**os.environ, "PYTHONPATH": str(TREE)}, stderr=subprocess.PIPE, text=True,
    )
    assert done.returncode == 1
    (line,) = (x for x in done.stderr.splitlines() if "error" in x.lower())
    assert line.startswith("error: standard output: ")
    assert "Traceback" not in done.stderr


def test_a_file_is_written_without_a_standard_output(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m nvir cfg {COMMANDS[2].split()[1]} -o "$1" >&-', sys.executable,
         str(tmp_path / "x.dot")],
        cwd=TREE, env={**os.environ, "PYTHONPATH": str(TREE)}, stderr=subprocess.PIPE, text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "x.dot").read_text().startswith("digraph")
