"""`nvir report` of a folder: each file in a worker process, a line for each kernel.

A file that cannot be read costs its own entry, with its error.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs

from nvir.loading import load
from nvir.report.workers import Workers

SCHEMA = "nvir.reports/1"


@attrs.frozen
class FileJob:
    """One file to report on, with the options of `nvir report`."""

    file: str
    arch: str | None = None
    profile: str | None = None
    policy: str = "observed"
    block: int | None = None
    dynamic_smem: int = 0
    schedule: bool = False
    ptxas: bool = False
    model: bool = False


def report_file(job: FileJob) -> dict[str, Any]:
    """The document `nvir.report/1` of a file. Raises NvirError."""
    from nvir.report.model import Launch, report
    from nvir.report.real import NOTHING, real_of

    module = load(job.file, job.arch, level="ori")
    real = NOTHING
    if job.policy == "observed" and not job.model:
        real = real_of(module, job.arch or module.target, decode=True)
    made = report(
        module, arch=job.arch, profile=job.profile, policy=job.policy,  # type: ignore[arg-type]  # the command line knows the choices
        launch=Launch(job.block, job.dynamic_smem), schedule=job.schedule,
        real=real.required() if job.ptxas else real,
    )
    return made.to_json()


def report_many(
    files: Sequence[Path], options: FileJob, workers: int,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """The document `nvir.reports/1`: a report or an error for each file, in their order."""
    jobs = [attrs.evolve(options, file=str(p)) for p in files]
    found: dict[str, dict[str, Any]] = {}
    with Workers(min(workers, len(jobs))) as crew:
        for done in crew.run(report_file, sorted(jobs, key=_size, reverse=True)):
            found[done.job.file] = {
                "file": done.job.file, "report": done.result, "error": done.error
            }
            if progress is not None:
                progress(len(found), len(jobs))
    return {"schema": SCHEMA, "files": [found[j.file] for j in jobs]}


def _size(job: FileJob) -> int:
    """Bytes of a file: the largest are begun first, so that no worker is left with them."""
    try:
        return os.path.getsize(job.file)
    except OSError:
        return 0


def many_text(document: dict[str, Any]) -> str:
    """A line for each kernel: size, registers, blocks an SM, loops, how many are unrolled."""
    from nvir.report.names import spoken
    from nvir.report.table import columns, short

    rows = [("file", "kernel", "instructions", "registers", "blocks/SM", "loops", "unrolled")]
    failed = []
    for entry in document["files"]:
        name = Path(entry["file"]).name
        if entry["error"]:
            failed.append(f"{name}: error: {entry['error']}")
            continue
        for f in entry["report"]["functions"]:
            if f["kind"] != "entry":
                continue
            o, real = f["occupancy"], f.get("ptxas")
            unrolled = sum(x["unroll"]["action"] != "none" for x in f["loops"])
            rows.append((
                short(name, 40), short(spoken(f["name"]), 40), str(f["instructions"]),
                str(real["registers"] if real else f["registers"]["predicted"]),
                str(o["blocks_per_sm"]) if o else "–",
                str(len(f["loops"])), str(unrolled),
            ))
    lines = columns(rows, [False, False, *[True] * 5])
    return "\n".join([*lines, *failed]) + "\n"
