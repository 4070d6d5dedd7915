"""What `nvir tune` judges against what a GPU takes: every candidate of real kernels timed.

    python -m benchmarks.gpu_kernels [--minutes 3] [--only NAME,NAME] [--json FILE] [--small]

Takes kernels of examples/ptx at sizes that fill a GPU. A line for each kernel: how many candidates,
the rank correlation (Spearman) of the judged cycles at full occupancy with the measured
microseconds, and the time of the kernel as it is, of the one that is judged best, and of the one
that is. The kernel as it is is timed first and last: what lies between is noise.

Without a GPU it can be tried against the stand-in: nvir exec -- python -m benchmarks.gpu_kernels
--small
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np

import nvir
import nvir.gpu
from benchmarks.tune import rank
from nvir import toolchain
from nvir.ir.clone import clone_module
from nvir.ir.errors import NvirError
from nvir.sm.profile import profile_for
from nvir.tune.search import Launches, put, tune

PTX = Path(__file__).resolve().parents[1] / "examples" / "ptx"


@attrs.frozen
class Case:
    """A launch of a kernel: `args` is called with a random generator and the size `n`."""

    file: str
    kernel: str
    grid: Callable[[int], Any]
    block: Any
    args: Callable[[Any, int], list[Any]]
    n: int
    dynamic_smem: int = 0


def floats(rng: Any, *shape: int) -> Any:
    return rng.random(shape, np.float32)


def rows(rng: Any, n: int) -> list[Any]:
    """A matrix of n rows of 64 entries each, as spmv_csr takes it."""
    starts = np.arange(0, 64 * n + 1, 64, dtype=np.int32)
    columns = rng.integers(0, n, 64 * n).astype(np.int32)
    return [starts, columns, floats(rng, 64 * n), floats(rng, n), np.zeros(n, np.float32), n]


CASES = [
    Case("saxpy.sm_80", "saxpy", lambda n: 2048, 256,
         lambda r, n: [n, 3.0, floats(r, n), floats(r, n)], 1 << 24),
    Case("saxpy.sm_80", "saxpy4", lambda n: 2048, 256,
         lambda r, n: [n, 3.0, floats(r, n), floats(r, n)], 1 << 24),
    Case("sgemm.sm_90", "sgemm", lambda n: (n // 16, n // 16), (16, 16), lambda r, n: [
        floats(r, n, n), floats(r, n, n), floats(r, n, n), n, n, n, 2.0, -1.0], 2048),
    Case("clang_sgemm.sm_80", "sgemm", lambda n: (n // 16, n // 16), (16, 16), lambda r, n: [
        floats(r, n, n), floats(r, n, n), floats(r, n, n), n, n, n, 2.0, -1.0], 2048),
    Case("gemm_tile.sm_90", "gemm_tile", lambda n: (n // 128, n // 128), 256, lambda r, n: [
        floats(r, n, n), floats(r, n, n), floats(r, n, n), n, n, n], 2048),
    Case("gemm_cp_async.sm_80", "gemm_cp_async", lambda n: (n // 64, n // 64), 256, lambda r, n: [
        floats(r, n, n), floats(r, n, n), floats(r, n, n), n, n, n], 2048),
    Case("gemm_mma.sm_90", "gemm_mma", lambda n: (n // 64, n // 64), 128, lambda r, n: [
        floats(r, n, n).astype(np.float16), floats(r, n, n).astype(np.float16), floats(r, n, n),
        n, n, n], 4096),
    Case("reduction.sm_90", "reduction", lambda n: 1056, 256,
         lambda r, n: [floats(r, n), np.zeros(1, np.float32), n], 1 << 26),
    Case("softmax.sm_90", "softmax", lambda n: n, 256,
         lambda r, n: [floats(r, n, 2048), floats(r, n, 2048), 2048], 1 << 14),
    Case("histogram.sm_80", "histogram", lambda n: 1056, 256, lambda r, n: [
        r.integers(0, 256, n).astype(np.uint8), np.zeros(256, np.uint32), n], 1 << 26),
    Case("spmv_csr.sm_80", "spmv_csr", lambda n: n // 4, 128, rows, 1 << 18),
    Case("stencil.sm_80", "stencil", lambda n: (n // 32, n // 8), (32, 8),
         lambda r, n: [floats(r, n, n), floats(r, n, n), n, n], 4096),
    Case("conv3d.sm_80", "conv3d", lambda n: (n // 8, n // 4, n // 2), (8, 4, 2), lambda r, n: [
        floats(r, n, n, n), floats(r, 125), floats(r, n, n, n), n, n, n, 2], 128),
    Case("transpose.sm_80", "transpose", lambda n: (n // 32, n // 32), (32, 8),
         lambda r, n: [floats(r, n, n), floats(r, n, n), n, n], 4096),
    Case("nbody.sm_80", "nbody", lambda n: n // 256, 256,
         lambda r, n: [floats(r, n, 4), floats(r, n, 3), n, 0.1], 1 << 15, 256 * 16),
    Case("horner.sm_80", "horner_fixed", lambda n: n // 256, 256, lambda r, n: [
        r.random(n), r.random(n), r.random(13), n], 1 << 22),
    Case("mandelbrot.sm_80", "mandelbrot", lambda n: (n // 16, n // 8), (16, 8), lambda r, n: [
        np.zeros((n, n), np.uint16), n, n, -2.0, -1.5, 3.0 / n, 256], 4096),
]


def timed(case: Case, small: bool, end: float) -> Mapping[str, Any]:
    """The figures of one kernel; raises NvirError for what a pass or the driver refuses."""
    n = max(case.n // 64, 64) if small else case.n
    args, grid = case.args(np.random.default_rng(7), n), case.grid(n)
    module = nvir.read_ptx(PTX / f"{case.file}.ptx")
    threads = int(np.prod(case.block))
    arch = "sm_90"
    judge: Any = "sass" if toolchain.available("ptxas", "nvdisasm") else "model"
    machine = profile_for(arch)
    found = tune(module, machine, arch, Launches(threads, case.dynamic_smem),
                 kernels=[case.kernel], judge=judge).kernels[0]

    def time_of(settings: Any) -> float:
        copy = clone_module(module, {f for f in module.kernels if f.name != case.kernel})
        if settings is not None:
            put(copy, case.kernel, settings, machine)
        return nvir.gpu.measure(copy, case.kernel, grid, case.block, args, case.dynamic_smem,
                                runs=3 if small else 41)

    rows = []
    for c in found.candidates:
        if time.monotonic() > end:
            raise NvirError("not done, the minutes were over")
        us = time_of(c.settings if c.id else None)
        rows.append({"settings": str(c.settings), "id": c.id, "registers": c.registers,
                     "full": c.cycles.full, "one_warp": c.cycles.one_warp, "us": us})
    return {"kernel": case.kernel, "file": case.file, "judge": judge, "again": time_of(None),
            "chosen": found.chosen, "candidates": rows}


def chosen(row: Mapping[str, Any]) -> float:
    """The microseconds of the candidate that was judged best."""
    return next(float(c["us"]) for c in row["candidates"] if c["id"] == row["chosen"])


def line(row: Mapping[str, Any]) -> str:
    us = [c["us"] for c in row["candidates"]]
    best = chosen(row)
    full = [c["full"] for c in row["candidates"]]
    rho = rank(full, us) if len(set(full)) > 1 else None
    return (f"{row['kernel']:15} {len(us):3} {'' if rho is None else f'{rho:5.2f}':>5} "
            f"{us[0]:9.1f} {row['again']:9.1f} {best:9.1f} {best / us[0]:6.3f} "
            f"{min(us):9.1f} {min(us) / us[0]:6.3f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--only", default="", help="kernels, by commas")
    parser.add_argument("--json", help="where to write all figures")
    parser.add_argument("--small", action="store_true", help="small sizes, to try it")
    given = parser.parse_args()
    if not nvir.gpu.available():
        print("skipped: there is no GPU here")
        return 0
    only, end, found = set(given.only.split(",")) - {""}, time.monotonic() + 60 * given.minutes, []
    print("kernel            n  rank  as it is     again    chosen  ratio   fastest  ratio")
    for case in CASES:
        if only and case.kernel not in only:
            continue
        if time.monotonic() > end:
            print(f"{case.kernel}: not done, the minutes were over")
            continue
        try:
            row = timed(case, given.small, end)
        except NvirError as e:
            print(f"{case.kernel}: {str(e).splitlines()[0]}", flush=True)
            continue
        found.append(row)
        print(line(row), flush=True)
    ratios = [chosen(r) / r["candidates"][0]["us"] for r in found]
    if ratios:
        print(f"geometric mean of chosen over as it is: {statistics.geometric_mean(ratios):.3f}")
    if given.json:
        Path(given.json).write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
