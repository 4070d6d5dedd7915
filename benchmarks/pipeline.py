"""Software pipelining of every loop in examples/: predicted gain, and what the assembler keeps.

    python benchmarks/pipeline.py [FILE ...] [--arch sm_80] [--force] [--json out.json]

Of each loop that `loop-pipeline` takes: stages, iterations in the kernel, predicted cycles an
iteration and registers before and after, registers by `ptxas -v`, and whether the machine code
keeps the schedule: where an instruction reads a load's result in an earlier round than the schedule
says, the loop counts as not pipelined. Of the others the reason. `--force` pipelines also where no
gain is predicted, so that more schedules are read back.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import nvir
from nvir import toolchain
from nvir.report.pipeline_readback import read_back

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "ptx"
BEFORE = "loop-simplify,loop-rotate,loop-simplify"


def rows_of(path: Path, arch: str | None, options: str) -> Iterator[dict[str, Any]]:
    module = nvir.read_ptx(path)
    arch = arch or module.target
    plain = toolchain.ptxas(nvir.print_ptx(module), arch=arch)
    remarks = nvir.run_passes(module, f"{BEFORE},loop-pipeline{options}", profile=_profile(arch))
    made = toolchain.ptxas(nvir.print_ptx(module), arch=arch)
    if not plain.ok or not made.ok or made.cubin is None:
        print(f"{path.name} at {arch}: {(made if plain.ok else plain).log[:200]}")
        return
    registers = [{n: k.registers for n, k in r.kernels.items()} for r in (plain, made)]
    code = toolchain.read_sass(toolchain.nvdisasm(made.cubin))
    found = {(b.function, b.kernel): b for b in read_back(module, code)}
    for r in remarks:
        if r.pass_name != "loop-pipeline" or r.kind == "analysis":
            continue
        row: dict[str, Any] = {
               "file": path.name, "arch": arch, "function": r.function, "loop": r.loop,
               "remark": r.name, **r.args}  # fmt: skip
        if r.kind == "passed":
            back = found[r.function, f"{r.loop}.kernel"]
            more: dict[str, Any] = {
                "kept": back.kept, "readback": str(back), "promised": back.promised,
                "found": back.found, "ptxas": [g.get(r.function) for g in registers],
            }  # fmt: skip
            row.update(more)
        yield row


def _profile(arch: str) -> str | None:
    try:
        return nvir.sm.profile(arch).name
    except nvir.NvirError:
        return None


def table(rows: list[dict[str, Any]]) -> Table:
    shown = Table(title="pipelined loops")
    for name in ("file", "loop", "arch", "stages", "in kernel", "MII", "II", "cycles", "registers",
                 "ptxas", "blocks/SM", "machine code"):  # fmt: skip
        left = name in ("file", "loop", "machine code")
        shown.add_column(name, justify="left" if left else "right")
    for r in rows:
        if "kept" in r:
            shown.add_row(
                r["file"].removesuffix(".ptx"), r["loop"], r["arch"], str(r["stages"]),
                str(r["factor"]), str(r["mii"]), str(r["ii"]), f"{r['before']} → {r['after']}",
                f"{r['registers_before']} → {r['registers']}",
                f"{r['ptxas'][0]} → {r['ptxas'][1]}",
                f"{r['blocks_before']} → {r['blocks']}", r["readback"],
            )  # fmt: skip
    return shown


def summary(rows: list[dict[str, Any]]) -> str:
    made = [r for r in rows if "kept" in r]
    kept = [r for r in made if r["kept"]]
    reasons = collections.Counter(r["remark"].removeprefix("NotPipelined") for r in rows
                                  if "kept" not in r)  # fmt: skip
    lines = [f"{len(rows)} loops: {len(made)} pipelined, of which ptxas keeps {len(kept)}"]
    if kept:
        gains = [r["before"] / r["after"] for r in kept]
        mean = math.exp(statistics.fmean(map(math.log, gains)))
        lines[0] += f"; predicted gain of these ×{mean:.2f} (geometric mean)"
    lines += [f"  {n:4} {name}" for name, n in reasons.most_common()]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="PTX; examples/ptx by default")
    parser.add_argument("--arch", help="each file's target by default")
    parser.add_argument("--force", action="store_true", help="also where no gain is predicted")
    parser.add_argument("--json", type=Path, help="write a row for each loop")
    given = parser.parse_args()
    if not toolchain.available("ptxas") or not toolchain.available("nvdisasm"):
        print("needs ptxas and nvdisasm")
        return
    rows = [
        row for path in given.files or sorted(EXAMPLES.glob("*.ptx"))
        for row in rows_of(path, given.arch, "<force>" if given.force else "")
    ]  # fmt: skip
    console = Console(width=max(170, Console().width))
    console.print(table(rows))
    console.print(summary(rows), highlight=False, soft_wrap=True)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
