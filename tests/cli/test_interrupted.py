"""A command that is stopped while it writes leaves the old file or the whole new one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nvir.cli.common import write_output

SGEMM = Path(__file__).parents[2] / "examples" / "sgemm.ptx"
# The command line, stopped at the moment that the words name: at the rename, or in the middle
# of the text.
STOPPED = """
import os, signal, sys
place, number = sys.argv[1], int(sys.argv[2])
def stop(*args, **named):
    os.kill(os.getpid(), number)
    raise SystemExit("still there")
if place == "rename":
    os.replace = stop
else:
    import io
    real = os.fdopen
    class Half:
        def __init__(self, file): self.file = file
        def __enter__(self): return self
        def __exit__(self, *args): self.file.close()
        def write(self, data):
            self.file.write(data[: len(data) // 2])
            self.file.flush()
            stop()
    os.fdopen = lambda *args, **named: Half(real(*args, **named))
from nvir.cli import main
main(sys.argv[3:])
"""
SLEEPING = """
import importlib, sys
tool = sys.argv.pop(1)
importlib.import_module("nvir.toolchain.ptxas").find = lambda name: tool
from nvir.cli import main
main()
"""
COMMANDS = {
    "opt -o": ["opt", str(SGEMM), "-p", "dce", "-o", "out"],
    "report --json": ["report", str(SGEMM), "--json", "-o", "out"],
    "report --html": ["report", str(SGEMM), "--html", "-o", "out"],
    "cfg -o": ["cfg", str(SGEMM), "-o", "out"],
}


def stopped(words: list[str], place: str, number: int, folder: Path) -> int:
    return subprocess.run(
        [sys.executable, "-c", STOPPED, place, str(int(number)), *words], cwd=folder,
        capture_output=True, check=False,
    ).returncode


@pytest.mark.parametrize("place", ["rename", "middle"])
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_kill_leaves_the_old_file(words, place, tmp_path):
    out = tmp_path / "out"
    out.write_text("old")
    assert stopped(words, place, signal.SIGKILL, tmp_path) == -signal.SIGKILL
    assert out.read_text() == "old"


@pytest.mark.parametrize("place", ["rename", "middle"])
def test_an_interrupt_leaves_the_old_file_and_nothing_beside(place, tmp_path):
    (tmp_path / "out").write_text("old")
    code = stopped(COMMANDS["opt -o"], place, signal.SIGINT, tmp_path)
    assert code not in (0, -signal.SIGKILL)
    assert (tmp_path / "out").read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_tool_that_runs_is_ended_with_the_command(number, tmp_path):
    tool, folder = tmp_path / "ptxas", tmp_path / "temporary"
    tool.write_text(  # more than a pipe holds: what comes behind it waits for the command to read
        f"#!/bin/sh\nhead -c 200000 /dev/zero\necho $$ > {tmp_path}/pid\nexec sleep 60\n")
    tool.chmod(0o755)
    folder.mkdir()
    command = subprocess.Popen(
        [sys.executable, "-c", SLEEPING, str(tool), "report", str(SGEMM)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(folder)})
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        assert command.poll() is None
        time.sleep(0.02)
    command.send_signal(number)
    assert command.wait() not in (0, -signal.SIGKILL)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert os.listdir(folder) == []


def test_what_fails_while_it_is_written_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as m:
        m.setattr(os, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            write_output(str(tmp_path / "out"), "new")
    assert os.listdir(tmp_path) == []
