"""CUDA sources through `nvir.compile_cuda` and through nvcc -O3, both assembled by ptxas.

    python benchmarks/compile_cuda.py [--arch sm_80] [--json out.json] [FILE.cu ...]

By default the sources of examples/ and of tests/frontend/cuda_sources. Printed are registers and
SASS instructions (without padding) of each kernel and the geometric mean of nvir's by nvcc's; the
aim is 1.15 or less for both. nvcc needs a host compiler; sources that it cannot compile alone (a
header that nobody has) are left out, and counted. Functions of mathematics come from CUDA's own
library there, from nvir's headers here. `--time` prints processor seconds of compiling instead.

Measured with CUDA 13.0 for sm_80: registers 0.98, instructions 0.96 over 55 kernels. nvcc unrolls
more loops of unknown counts than ptxas does by itself, so that shorter is not always faster.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import re
import time
from typing import Any

import attrs

import nvir
from nvir import toolchain
from nvir.ir.errors import NvirError

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("examples", "tests/frontend/cuda_sources")


@attrs.frozen
class Row:
    """One kernel: (registers, SASS instructions) of both compilers."""

    source: str
    kernel: str
    nvir: tuple[int, int]
    nvcc: tuple[int, int]


def figures(ptx: str, arch: str) -> dict[str, tuple[int, int]]:
    """Registers and SASS instructions of each kernel."""
    result = toolchain.ptxas(ptx, arch)
    if not result.ok or result.cubin is None:
        raise NvirError(f"ptxas: {result.log.strip()[:200]}")
    code = toolchain.disassemble(result.cubin, live=False)
    made = {}
    for name, k in result.kernels.items():
        if k.kind == "entry" and k.registers is not None:
            size = sum(i.opcode.partition(".")[0] != "NOP" for i in code.get(name, []))
            made[name] = (k.registers, size)
    return made


def rows(path: pathlib.Path, arch: str) -> list[Row]:
    arch = "sm_90" if "specialised" in path.stem else arch
    ours = figures(nvir.print_ptx(nvir.compile_cuda(path, arch)), arch)
    made = toolchain.nvcc_ptx(path, arch, ["-O3", "-std=c++17", "-w"])
    if not made.ok or made.ptx is None:
        raise NvirError(f"nvcc: {made.log.strip().splitlines()[0][:120]}")
    theirs = figures(made.ptx, arch)
    return [Row(path.stem, k, ours[k], theirs[k]) for k in ours if k in theirs]


def geomean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def short(name: str) -> str:
    m = re.match(r"_Z(?:N\d+_GLOBAL__N_1|L)?(\d+)", name)
    return name[m.end() : m.end() + int(m[1])] if m else name


def print_table(found: list[Row]) -> dict[str, float]:
    print(f"{'source':28} {'kernel':26} {'registers':>14} {'SASS':>14}")
    for r in found:
        registers, size = (f"{a} / {b}" for a, b in zip(r.nvir, r.nvcc, strict=True))
        print(f"{r.source:28} {short(r.kernel)[:26]:26} {registers:>14} {size:>14}"
              f"  {r.nvir[1] / r.nvcc[1]:5.2f}")
    means = {
        "registers": geomean([r.nvir[0] / r.nvcc[0] for r in found]),
        "instructions": geomean([r.nvir[1] / r.nvcc[1] for r in found]),
    }
    print(f"nvir by nvcc, geometric mean of {len(found)} kernels: registers "
          f"{means['registers']:.3f}, instructions {means['instructions']:.3f}")
    return means


def print_times(paths: list[pathlib.Path], arch: str) -> None:
    nvir.compile_cuda("__global__ void first() {}\n", arch)
    for path in paths:
        target = "sm_90" if "specialised" in path.stem else arch
        start = time.process_time()
        nvir.compile_cuda(path, target)
        lines = len(path.read_text().splitlines())
        print(f"{path.stem:32} {lines:4} lines {time.process_time() - start:6.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--time", action="store_true")
    args = parser.parse_args()
    paths = args.files or [p for f in FOLDERS for p in sorted((ROOT / f).glob("*.cu"))]
    if args.time:
        print_times(paths, args.arch)
        return
    found: list[Row] = []
    left_out: list[str] = []
    for path in paths:
        try:
            found += rows(path, args.arch)
        except NvirError as e:
            left_out.append(f"{path.stem}: {str(e).splitlines()[0][:150]}")
    means: dict[str, Any] = print_table(found)
    for text in left_out:
        print(f"left out  {text}")
    if args.json is not None:
        data = {"means": means, "rows": [attrs.asdict(r) for r in found], "left_out": left_out}
        args.json.write_text(json.dumps(data, indent=1))


if __name__ == "__main__":
    main()
