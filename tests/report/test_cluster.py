"""Sweeps on a Dask cluster: the same rows as from processes, and a job that fails costs itself."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from nvir.ir.errors import NvirError
from nvir.report import workers
from nvir.report.sweep import settings_of, sweep
from nvir.report.workers import Workers

distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples" / "ptx"


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of a cluster of two local worker processes."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        yield cluster.scheduler_address


def test_two_workers_give_the_table_of_two_processes(scheduler: str, tmp_path: Path):
    there = tmp_path / "kernels"
    there.mkdir()
    for name in ("saxpy", "horner"):
        shutil.copy(EXAMPLES / f"{name}.sm_80.ptx", there)
    settings = settings_of([("UnrollUnknownCount", [2, 4])], [0, 2])
    here = sweep(there, settings, tmp_path / "here.jsonl", workers=2)
    afar = sweep(there, settings, tmp_path / "afar.jsonl", scheduler=scheduler)
    assert len(here) == 4 * 4
    assert afar == here


def halve(n: int) -> float:
    return 10 / n


def test_a_job_that_fails_costs_itself(scheduler: str):
    found = {d.job: (d.result, d.error) for d in Workers(2, scheduler).run(halve, [1, 0, 2])}
    assert found == {1: (10.0, None), 2: (5.0, None), 0: (None, found[0][1])}
    assert "ZeroDivisionError" in found[0][1]


def test_a_scheduler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "CONNECT", 1)
    with pytest.raises(NvirError, match=r"tcp://127\.0\.0\.1:1"):
        list(Workers(1, "tcp://127.0.0.1:1").run(halve, [1]))
