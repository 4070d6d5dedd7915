"""The resource bound of loops as nvir predicts it (`nvir report --model`), against ptxas's code.

Where ptxas is installed, `nvir report` prints that of its code.

    python benchmarks/resource_mii.py CORPUS [--arch sm_80] [--half report|choose] [--files N]

For each innermost loop of one block: ResMII as predicted against the bound of the machine loop
that holds the lines of its body, for each copy of the body that stands there. A loop that ptxas
unrolled fully or changed into several is left out, and so is one that it made of one instruction.
The bound may never be above the real one, and is to be within a tenth of it.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path

import nvir
from nvir.ir.errors import NvirError
from nvir.ir.loops import Loop, natural_loops
from nvir.report.facts import copies, unrolling
from nvir.report.real import machine_bound, machine_loop
from nvir.report.schedule.figures import pipeline_figures
from nvir.sm.body import MachineBody, body_path
from nvir.sm.profile import Profile, profile
from nvir.toolchain import assembled


def rows(
    corpus: Path, half: str, arch: str, files: int | None
) -> Iterator[tuple[str, float, float]]:
    """(file:line of the loop, model's bound, real bound for each iteration)"""
    index = json.loads((corpus / "index.json").read_text())
    names = sorted({Path(x["ptx"]).name for x in index.values() if x["half"] == half})
    machine = profile(arch)
    for name in names[:files]:
        module = nvir.read_ptx(corpus / "ptx" / name)
        bodies = assembled(corpus / "ptx" / name, arch).bodies
        for f in module.functions:
            if f.blocks and f.name in bodies:
                f.analyze_cfg()
                loops = natural_loops(f)
                times = copies(loops, unrolling(f, module, arch, "observed"))
                for loop in loops:
                    n = times.get(loop.header.name, 1)
                    row = _row(loop, n, bodies[str(f.name)], machine)
                    if row is not None:
                        yield f"{name}:{loop.header.line}", *row


def _row(
    loop: Loop, times: int, body: MachineBody, machine: Profile
) -> tuple[float, float] | None:
    mine = pipeline_figures(loop, machine, copies=times).res_mii
    real = machine_loop(body, loop, machine) if mine is not None else None
    if real is None or mine is None:
        return None
    try:
        bound = machine_bound(loop, body, machine)
        path = [i for b in body_path(body, real[0]) for i in body.blocks[b].instructions]
    except NvirError:
        return None
    if bound is None or len({i.line for i in path}) == 1 < len({
        i.line for b in loop.blocks for i in b
    }):
        return None  # one instruction's own loop, as an atomic that tries until it succeeds
    return mine, math.ceil(bound[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--half", default="report", choices=("report", "choose"))
    parser.add_argument("--files", type=int, default=None, metavar="N")
    given = parser.parse_args()
    found = list(rows(given.corpus, given.half, given.arch, given.files))
    n = max(1, len(found))
    above = [x for x in found if x[1] > x[2]]
    near = sum(abs(mine - real) <= 0.1 * real for _, mine, real in found)
    print(f"{given.arch}: {len(found)} loops, above the real bound {len(above)}, "
          f"within a tenth {near / n:.0%}")
    for name, mine, real in above:
        print(f"  {name}  {mine:g}, real {real:g}")


if __name__ == "__main__":
    main()
