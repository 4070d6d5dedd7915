"""Kernels of many files under many settings: instructions, II, registers, occupancy, cycles.

A setting is a value for each knob that is varied, and an unroll factor (0: what the policy
decides). A row is one kernel under one setting: its loops are unrolled by `loop-unroll` on a copy,
cleaned, and measured. II and cycles are those of the hottest innermost loop, for one iteration of
it as it is written.

Rows are appended to a file as they come, one JSON object a line, behind a first line that says
what is swept. A sweep that was interrupted is taken up where it stopped: a last line that is cut
off is dropped, and rows that are there, of files with the same content, are not made again.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs

from nvir.ir import Function, Module, NvirError
from nvir.loading import SUFFIXES, load, read_bytes
from nvir.report.names import spoken
from nvir.report.workers import Workers

SCHEMA = "nvir.sweep/1"
POINTS = 5  # of a range without a step
WARPS = 8
_FIGURES = ("instructions", "ii", "registers", "blocks_per_sm", "cycles")


@attrs.frozen
class Setting:
    """Values of knobs, and the factor of every loop; 0 leaves it to the policy."""

    knobs: tuple[tuple[str, Any], ...] = ()
    factor: int = 0

    def to_json(self) -> dict[str, Any]:
        return {"knobs": dict(self.knobs), "factor": self.factor or "auto"}


@attrs.frozen
class Job:
    """One row to make. `digest` is of the file's content; `loop` is the header of the only loop
    that the factor is for and that is measured, `block` threads a block."""

    file: str
    digest: str
    kernel: str
    setting: Setting
    arch: str | None
    policy: str
    loop: str | None = None
    block: int | None = None

    @property
    def key(self) -> str:
        """What makes a row the same row in a later run."""
        settings = json.dumps(self.setting.to_json(), sort_keys=True)
        chosen = f"|{self.loop}|{self.block}" if self.loop or self.block else ""
        return (f"{self.digest}|{self.file}|{self.kernel}|{settings}|{self.arch}|{self.policy}"
                f"{chosen}")


def parse_range(text: str) -> tuple[str, list[Any]]:
    """The knob and values of "NAME=1,2,3", "NAME=100..300" (5 values) or "NAME=100..300:50".

    Raises NvirError for a knob or a value that does not exist.
    """
    from nvir.passes.knobs import knob

    name, equals, values = text.partition("=")
    row = knob(name.strip())
    if not equals or not values:
        raise NvirError(f"a range is NAME=A..B, NAME=A..B:STEP or NAME=A,B, not {text!r}")
    low, dots, rest = values.partition("..")
    if not dots:
        return row.name, [row.read(v.strip()) for v in values.split(",")]
    high, _, step = rest.partition(":")
    a, b = row.read(low.strip()), row.read(high.strip())
    if row.type not in ("INT", "FLOAT", "DOUBLE") or b < a:
        raise NvirError(f"{text!r} is no range of numbers")
    by = float(step) if step else (b - a) / (POINTS - 1)
    if by <= 0 and a != b:
        raise NvirError(f"{text!r}: the step is not above 0")
    count = int((b - a) / by + 1e-9) + 1 if by else 1
    if count > 10_000:
        raise NvirError(f"{text!r} has {count} values")
    found = [a + k * by for k in range(count)]
    exact = [round(x) for x in found] if row.type == "INT" else found
    return row.name, [row.read(x) for x in dict.fromkeys(exact)]


def settings_of(ranges: Sequence[tuple[str, list[Any]]], factors: Sequence[int]) -> list[Setting]:
    """Every combination."""
    names = [name for name, _ in ranges]
    return [
        Setting(tuple(zip(names, values, strict=True)), factor)
        for values in itertools.product(*(v for _, v in ranges))
        for factor in factors
    ]


def files_in(path: Path, suffixes: Sequence[str] = SUFFIXES) -> list[Path]:
    """The files of a folder and those below it, or the one file. Raises NvirError for none."""
    if os.path.isfile(path):
        return [path]
    if not os.path.isdir(path):
        raise NvirError(f"{path}: no such file or folder")
    found = sorted(p for p in path.rglob("*") if p.suffix in suffixes and os.path.isfile(p))
    if not found:
        raise NvirError(f"{path} holds no file that ends in {', '.join(suffixes)}")
    return found


# ---------------------------------------------------------------- one row


@functools.lru_cache(maxsize=2)
def _module(file: str, digest: str, arch: str | None) -> Module:
    return load(file, arch, level="ori")


def kernels_of(job: tuple[str, str | None, str | None]) -> tuple[str, list[str]]:
    """(digest of the content, names of the kernels) of a file for an architecture; with a loop's
    label those that have it."""
    file, arch, loop = job
    digest = hashlib.sha256(read_bytes(file)).hexdigest()[:16]
    kernels = [f for f in _module(file, digest, arch).functions if f.blocks and f.kind == "entry"]
    return digest, [str(f.name) for f in kernels if loop is None or _has_loop(f, loop)]


def _has_loop(f: Function, label: str) -> bool:
    from nvir.ir.loops import natural_loops

    f.analyze_cfg()
    return any(x.header.name == label for x in natural_loops(f))


def measure(job: Job) -> dict[str, Any]:
    """The figures of one row. Raises NvirError."""
    from nvir.assembler.registers import estimate_registers
    from nvir.ir.loops import natural_loops
    from nvir.passes.knobs import Knobs
    from nvir.report.explain.factors import (
        blocks_per_sm,
        cycles,
        interval,
        main_loop,
        size_of,
        unrolled_by,
    )
    from nvir.report.explain.loop import hottest
    from nvir.report.model import Launch
    from nvir.sm.profile import profile_for

    module = _module(job.file, job.digest, job.arch)
    f: Function = next(f for f in module.functions if f.name == job.kernel)
    machine = profile_for(job.arch or module.target)
    f.analyze_cfg()
    loop = next((x for x in natural_loops(f) if x.header.name == job.loop), None) \
        if job.loop else hottest(f)
    knobs = Knobs(dict(job.setting.knobs), job.policy)  # type: ignore[arg-type]
    copy, factors = unrolled_by(f, module, knobs, job.setting.factor, job.loop)
    registers = estimate_registers(copy, None, machine).registers
    blocks = blocks_per_sm(copy, registers, machine, Launch(job.block))
    row: dict[str, Any] = dict.fromkeys(_FIGURES)
    row |= {
        "instructions": size_of(copy.blocks), "registers": registers, "blocks_per_sm": blocks,
    }
    left = main_loop(copy, loop.header.name) if loop is not None else None
    if loop is not None and left is not None:
        n = factors.get(loop.header.name, 1)
        row["ii"] = interval(left, machine, n)
        found = cycles(left, machine, n, [WARPS]).get(WARPS)
        row["cycles"] = round(found, 3) if found is not None else None
    return row


# ---------------------------------------------------------------- the sweep


def sweep(
    path: Path, settings: Sequence[Setting], output: Path, *, arch: str | None = None,
    policy: str = "observed", workers: int = 2, scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    work: Callable[[Job], dict[str, Any]] = measure, loop: str | None = None,
    block: int | None = None,
) -> list[dict[str, Any]]:
    """Make every row that `output` does not hold yet; all rows, in the order of files, kernels
    and settings. A factor is for `loop` alone where that is given. `progress` is told (rows done,
    rows in all)."""
    jobs: list[Job] = []
    unread = []
    known = _taken_up(output)
    files = [(str(file), arch, loop) for file in files_in(path)]
    with Workers(workers, scheduler) as crew, output.open("a", encoding="utf-8") as out:
        found = {done.job: done for done in crew.run(kernels_of, files)}
        for file in files:
            done = found[file]
            if done.error is not None:
                unread.append({"file": file[0], "kernel": None, "error": done.error})
                continue
            digest, kernels = done.result
            jobs += [
                Job(file[0], digest, k, s, arch, policy, loop, block)
                for k in kernels for s in settings
            ]
        if loop is not None and not jobs and not unread:
            raise NvirError(f"no kernel of {path} has a loop {loop}: see `nvir report`")
        left = [j for j in jobs if j.key not in known]
        rows = {j.key: known[j.key] for j in jobs if j.key in known}
        for done in crew.run(work, left):
            rows[done.job.key] = row = _row(done.job, done.result, done.error)
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            out.flush()
            os.fsync(out.fileno())
            if progress is not None:
                progress(len(rows), len(jobs))
    return [rows[j.key] for j in jobs] + unread


def _row(job: Job, figures: dict[str, Any] | None, error: str | None) -> dict[str, Any]:
    return {
        "schema": SCHEMA, "key": job.key, "file": job.file, "kernel": job.kernel,
        **job.setting.to_json(), **(figures or dict.fromkeys(_FIGURES)), "error": error,
    }


def _taken_up(output: Path) -> dict[str, dict[str, Any]]:
    """The rows that are there, by key; what is cut off at the end is taken out of the file."""
    if not os.path.isfile(output):  # no file to go on with, but maybe one to write to
        return {}
    data = output.read_bytes()
    whole = data.rfind(b"\n") + 1
    found = {}
    for number, line in enumerate(data[:whole].decode("utf-8", "replace").splitlines(), 1):
        try:
            row = json.loads(line)
            if row["schema"] != SCHEMA:
                raise ValueError
            found[row["key"]] = row
        except (ValueError, KeyError, TypeError):
            raise NvirError(f"{output}:{number}: no row of a sweep; choose another -o") from None
    if whole < len(data):
        with output.open("r+b") as f:
            f.truncate(whole)
    return found


def sweep_text(rows: Sequence[dict[str, Any]]) -> str:
    """The table."""
    from nvir.report.table import columns

    names = ("file", "kernel", "setting", "instructions", "II", "registers", "blocks/SM",
             "cycles/iteration")
    cells = [list(names), *(_cells(r) for r in rows)]
    count = len(names)
    lines = columns([c[:count] for c in cells], [False] * 3 + [True] * 5)
    return "".join(
        "  ".join([line, *c[count:]]) + "\n" for line, c in zip(lines, cells, strict=True)
    )


def _cells(row: dict[str, Any]) -> list[str]:
    def show(v: Any) -> str:
        return "–" if v is None else f"{v:.4g}" if isinstance(v, float) else str(v)

    setting = [f"{k}={show(v)}" for k, v in row.get("knobs", {}).items()]
    setting.append(f"factor={row.get('factor', '–')}")
    out = [Path(row["file"]).name, spoken(str(row["kernel"] or "–")), " ".join(setting)]
    out += [show(row.get(k)) for k in _FIGURES]
    error = str(row.get("error") or "").partition("\n")[0]  # a parse error shows its line below
    return [*out, f"error: {error}"] if error else out
