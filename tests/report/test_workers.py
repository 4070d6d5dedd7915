"""Worker processes end with their parent, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nvir.report.workers import DIED, Workers

# Two workers that each write their number into a file and then wait longer than any test does.
WAITING = """
import os, sys, time
from pathlib import Path
from nvir.report.workers import Workers

def wait(folder):
    Path(folder, str(os.getpid())).touch()
    time.sleep(600)

if __name__ == "__main__":
    with Workers(2) as crew:
        list(crew.run(wait, [sys.argv[1]] * 2))
"""


def is_there(number: int) -> bool:
    """Whether a process runs; one that ended and waits to be collected does not."""
    try:
        return ") Z" not in Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return False


def until(holds) -> bool:
    end = time.monotonic() + 600
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(holds())


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_worker_outlives_its_parent(tmp_path: Path, number: signal.Signals) -> None:
    script, folder = tmp_path / "waiting.py", tmp_path / "there"
    script.write_text(WAITING)
    folder.mkdir()
    parent = subprocess.Popen(
        [sys.executable, str(script), str(folder)], stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        assert until(lambda: len(list(folder.iterdir())) == 2)
        workers = [int(p.name) for p in folder.iterdir()]
        assert all(map(is_there, workers))
        parent.send_signal(number)
        assert parent.wait(60) != 0
        assert until(lambda: not any(map(is_there, workers)))
    finally:
        parent.kill()
        parent.wait()


def die(job: int) -> int:
    if job == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * job


def test_a_job_that_kills_its_worker_costs_itself_and_workers_serve_again() -> None:
    with Workers(2) as crew:
        first = {d.job: (d.result, d.error) for d in crew.run(die, range(6))}
        again = {d.job: d.result for d in crew.run(die, [7, 8])}
    assert first.pop(3) == (None, DIED)
    assert first == {n: (2 * n, None) for n in (0, 1, 2, 4, 5)}
    assert again == {7: 14, 8: 16}


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="of POSIX")
def test_a_worker_starts_with_interrupts_held_back():
    with Workers(1) as crew:
        (done,) = crew.run(held_back, [0])
    assert done.result
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def held_back(_: int) -> bool:
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
