"""Whole programs through `default<O3>` and through libnvvm -O3, both assembled by ptxas.

    python benchmarks/optimised.py [--programs 24] [--arch sm_80] [--json out.json]

The programs are the random typed trees of tests/frontend (every variable in memory, calls, struct
copies, loops of known length), so that all passes of the preset have work. Much in them is
constant: a compiler that unrolls fully and folds what comes out (libnvvm) leaves almost nothing of
some, which the geometric mean shows; the median is nearer to code that people write. Printed are
registers and SASS instructions of each kernel and both figures of nvir's by libnvvm's.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT), str(ROOT / "tests" / "frontend")]

from fe_judges import module_of  # noqa: E402
from fe_random import Program  # noqa: E402
from ratios import geomean  # noqa: E402
from selection import measure  # noqa: E402

import nvir  # noqa: E402
from nvir import toolchain  # noqa: E402
from nvir.ir import Module  # noqa: E402
from nvir.ir.clone import clone_module  # noqa: E402
from nvir.ir.errors import NvirError  # noqa: E402


def without_places(module: Module) -> Module:
    """The module without source places, which libnvvm does not optimise with."""
    for f in module.functions:
        f.loc = None
        for i in f.instructions():
            i.loc = None
    module.debug.files.clear()
    module.debug.sections.clear()
    return module


def by_nvir(module: Module) -> str:
    copy = clone_module(module)
    nvir.run_passes(copy, "default<O3>")
    return nvir.print_ptx(copy)


def by_libnvvm(module: Module, arch: str) -> str:
    copy = clone_module(module)
    dialect = "llvm7" if int("".join(filter(str.isdigit, arch))) < 100 else "llvm20"
    nvir.run_passes(copy, f"legalize<dialect={dialect}>")
    result = toolchain.libnvvm.compile(nvir.print_ll(copy, dialect), arch, ["-opt=3"])
    if result.ptx is None:
        raise NvirError(f"libnvvm: {result.log.strip()}")
    return result.ptx


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--programs", type=int, default=24)
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--json")
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    print(f"{'program':12} {'registers':>16} {'SASS':>20}")
    for seed in range(given.programs):
        module = without_places(module_of(Program(seed).unit))
        module.target = given.arch
        ours = measure(by_nvir(module), given.arch)
        theirs = measure(by_libnvvm(module, given.arch), given.arch)
        for kernel in ours.keys() & theirs.keys():
            (r, n), (their_r, their_n) = ours[kernel], theirs[kernel]
            print(f"{kernel:12} {r:7} / {their_r:6} {n:9} / {their_n:8}", flush=True)
            rows.append({"seed": seed, "nvir": (r, n), "libnvvm": (their_r, their_n)})
    for k, what in enumerate(("registers", "SASS")):
        ratios = [x["nvir"][k] / x["libnvvm"][k] for x in rows]
        median = statistics.median(ratios)
        print(f"{what}: geometric mean {geomean(ratios):.3f}, median {median:.3f}")
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
