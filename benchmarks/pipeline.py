"""Software pipelining of every loop in examples/: predicted gain, and what the assembler keeps.

    python benchmarks/pipeline.py [FILE ...] [--arch sm_80] [--force] [--json out.json]

Of each loop that `loop-pipeline` takes: stages, iterations in the kernel, predicted cycles an
iteration and registers before and after, registers by `ptxas -v`, and whether the machine code
keeps the schedule: where an instruction reads a load's result in an earlier round than the schedule
says, the loop counts as not pipelined. Of the others the reason. `--force` pipelines also where no
gain is predicted, so that more schedules are read back.

Where there is a GPU, the kernels of LAUNCHES are timed on it with and without their pipelines, by
events, on arrays that do not fit its caches, and the gain stands beside the prediction; the clock
is noted. Elsewhere a line says that nothing was timed.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import json
import math
import statistics
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import nvir
from nvir import gpu, toolchain
from nvir.report.schedule.readback import read_back

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
    code = toolchain.bodies(made.cubin, arch)
    found = {(b.function, b.kernel): b for b in read_back(module, code)}
    for r in remarks:
        if r.pass_name != "loop-pipeline" or r.kind == "analysis":
            continue
        row: dict[str, Any] = {
               "file": path.name, "arch": arch, "function": r.function, "loop": r.loop,
               "remark": r.name, **r.args}
        if r.kind == "passed":
            back = found[r.function, f"{r.loop}.kernel"]
            more: dict[str, Any] = {
                "kept": back.kept, "readback": str(back), "promised": back.promised,
                "found": back.found, "ptxas": [g.get(r.function) for g in registers],
            }
            row.update(more)
        yield row


def _profile(arch: str) -> str | None:
    try:
        return nvir.sm.profile(arch).name
    except nvir.NvirError:
        return None


# ------------------------------------------------------------------- on a GPU

SIZE = 1 << 26
REPEAT = 20
CLOCK_RATE = 13  # CU_DEVICE_ATTRIBUTE_CLOCK_RATE, kHz
Launch = tuple[str, int, int, list[Any]]  # kernel, grid, block, arguments


def _spmv() -> Launch:
    rows, wide = 1 << 16, 512
    rng = np.random.default_rng(1)
    starts = np.arange(rows + 1, dtype=np.int32) * np.int32(wide)
    column = rng.integers(0, rows, rows * wide, dtype=np.int32)
    ones = np.ones(rows * wide, np.float32)
    arrays = [starts, column, ones, np.ones(rows, np.float32), np.zeros(rows, np.float32)]
    return "spmv_csr", rows // 4, 128, [*arrays, np.int32(rows)]


LAUNCHES: dict[str, Callable[[], Launch]] = {
    "saxpy": lambda: ("saxpy", 1056, 256, [
        np.int32(SIZE), np.float32(2), np.ones(SIZE, np.float32), np.ones(SIZE, np.float32)]),
    "reduction": lambda: ("reduction", 1056, 256, [
        np.ones(SIZE, np.float32), np.zeros(1, np.float32), np.int32(SIZE)]),
    "softmax": lambda: ("softmax", 2048, 256, [
        np.ones(SIZE, np.float32), np.zeros(SIZE, np.float32), np.int32(SIZE // 2048)]),
    "histogram": lambda: ("histogram", 1056, 256, [
        np.arange(4 * SIZE, dtype=np.uint32).astype(np.uint8), np.zeros(256, np.uint32),
        np.int32(4 * SIZE)]),
    "spmv_csr": _spmv,
}


def timed(module: nvir.Module, launch: Launch) -> tuple[float, int]:
    """(ms of a launch by events, the median of REPEAT; the device's clock in MHz)."""
    inner = importlib.import_module("nvir.gpu.launch")  # the package's name is the function's
    kernel, grid, block, arguments = launch
    cuda = inner._Cuda(inner._driver(), kernel)
    with ExitStack() as stack:
        stack.enter_context(inner._context(cuda))
        loaded = stack.enter_context(inner._loaded(cuda, module))
        buffers = inner._Buffers(cuda, stack)
        data = [buffers.parameter(a, p, k) for k, (a, p) in
                enumerate(zip(arguments, module[kernel].params, strict=True))]
        buffers.upload()
        handle = cuda("cuModuleGetFunction", loaded, kernel.encode())
        pointers = np.array([d.ctypes.data for d in data], np.uint64)
        begin, end = cuda("cuEventCreate", 0), cuda("cuEventCreate", 0)
        took = []
        for _ in range(REPEAT + 3):
            cuda("cuEventRecord", begin, 0)
            cuda("cuLaunchKernel", handle, grid, 1, 1, block, 1, 1, 0, 0, pointers.ctypes.data, 0)
            cuda("cuEventRecord", end, 0)
            cuda("cuEventSynchronize", end)
            took.append(float(cuda("cuEventElapsedTime", begin, end)))
        attribute = getattr(cuda.driver, "CUdevice_attribute", int)(CLOCK_RATE)
        clock = int(cuda("cuDeviceGetAttribute", attribute, cuda("cuDeviceGet", 0)))
        cuda("cuEventDestroy", begin)
        cuda("cuEventDestroy", end)
    return statistics.median(took[3:]), clock // 1000


def measured(rows: list[dict[str, Any]], options: str) -> Iterator[str]:
    """A line for each kernel that can be launched: prediction against measurement."""
    if not gpu.available():
        yield "no GPU here: nothing was timed"
        return
    for name in dict.fromkeys(r["file"] for r in rows if "kept" in r):
        make = LAUNCHES.get(name.partition(".")[0])
        if make is None:
            continue
        launch = make()
        mine = [r for r in rows if r["file"] == name and "kept" in r and r["function"] == launch[0]]
        if not mine:
            continue
        plain, made = nvir.read_ptx(EXAMPLES / name), nvir.read_ptx(EXAMPLES / name)
        profile = _profile(made.target)
        nvir.run_passes(made, f"{BEFORE},loop-pipeline{options}", profile=profile)
        try:
            before, clock = timed(plain, launch)
            after, _ = timed(made, launch)
        except nvir.NvirError as e:  # compiled for another device, for one
            yield f"{name}: {e}"
            continue
        predicted = math.prod(r["before"] / r["after"] for r in mine) ** (1 / len(mine))
        yield (
            f"{name} {launch[0]}: {before:.3f} → {after:.3f} ms at {clock} MHz, "
            f"×{before / after:.2f} measured, ×{predicted:.2f} predicted"
        )


def table(rows: list[dict[str, Any]]) -> Table:
    shown = Table(title="pipelined loops")
    for name in ("file", "loop", "arch", "stages", "in kernel", "MII", "cycles", "registers",
                 "ptxas", "blocks/SM", "machine code"):
        left = name in ("file", "loop", "machine code")
        shown.add_column(name, justify="left" if left else "right")
    for r in rows:
        if "kept" in r:
            shown.add_row(
                r["file"].removesuffix(".ptx"), r["loop"], r["arch"], str(r["stages"]),
                str(r["factor"]), str(r["mii"]), f"{r['before']} → {r['after']}",
                f"{r['registers_before']} → {r['registers']}",
                f"{r['ptxas'][0]} → {r['ptxas'][1]}",
                f"{r['blocks_before']} → {r['blocks']}", r["readback"],
            )
    return shown


def summary(rows: list[dict[str, Any]]) -> str:
    made = [r for r in rows if "kept" in r]
    kept = [r for r in made if r["kept"]]
    reasons = collections.Counter(r["remark"].removeprefix("NotPipelined") for r in rows
                                  if "kept" not in r)
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
    ]
    console = Console(width=max(170, Console().width))
    console.print(table(rows))
    console.print(summary(rows), highlight=False, soft_wrap=True)
    for line in measured(rows, "<force>" if given.force else ""):
        console.print(line, highlight=False, soft_wrap=True)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
