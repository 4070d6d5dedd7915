"""Multistage tile loops: every matrix product of examples/, before and after `gemm-pipeline`.

    python benchmarks/gemm_pipeline.py [--stages 2 3 4] [--json out.json]

For each example and number of stages: cycles a tile by nvir's simulator (of a warp, on a
sub-partition with as many warps as fit), registers by nvir and by `ptxas -v`, static shared memory,
blocks an SM; and what is read back from the machine code: copies of an iteration (LDGSTS), groups
left under way at its wait (DEPBAR), and whether every copy stands behind the only wait of its
iteration, so that nothing waits for it before the next. Rows copied in bulk follow a plus sign:
copies of a block and stage, and bytes of each; the copies before it are those that threads would
make of all tiles, and the cycles are of these. With a GPU, both forms are timed on a
product of SIZE cubed: wall time of a launch less that of one with k = 0, which has the same
compilation and the same copies to and from the device.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from rich.console import Console
from rich.table import Table

import nvir
from nvir import gpu, toolchain
from nvir.ir.module import Module

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "ptx"
FILES = (
    "sgemm.sm_80", "sgemm.sm_90", "sgemm.sm_100", "clang_sgemm.sm_80", "gemm_mma.sm_80",
    "gemm_mma.sm_90", "gemm_tile.sm_80", "gemm_tile.sm_90", "gemm_cp_async.sm_80",
    "triton_matmul.sm_80", "gemm_tile.sm_90.reqntid",
)  # .reqntid: the block declared as exact, which rows copied in bulk ask for
SIZE = 4096


@attrs.frozen
class ReadBack:
    """The kernel's loop in machine code: copies, groups under way at each wait, whether all
    copies stand behind the waits, and bulk copies."""

    copies: int
    pending: tuple[int, ...]
    ahead: bool
    bulk: int = 0

    def keeps(self, stages: int) -> bool:
        """Whether the loop overlaps as a ring of so many stages does."""
        return self.copies > 0 and self.pending == (stages - 2,) and self.ahead


def read_back(cubin: bytes, kernel: str) -> ReadBack | None:
    """What the assembler made of a pipelined loop; None where no loop copies asynchronously."""
    code = toolchain.read_sass(toolchain.nvdisasm(cubin))[kernel]
    whole = [
        [i for i in code if last.target <= i.address <= last.address]
        for last in code
        if last.name == "BRA" and last.target is not None and last.target < last.address
    ]
    loops = [x for x in whole if any(i.name == "DEPBAR" for i in x)]
    if not loops:
        return None
    body = min(loops, key=len)
    copies = [k for k, i in enumerate(body) if i.name == "LDGSTS"]
    waits = [k for k, i in enumerate(body) if i.name == "DEPBAR"]
    pending = tuple(int(body[k].operands[-1], 0) for k in waits)
    if not copies:
        return ReadBack(0, pending, False)
    closed = [k for k, i in enumerate(body) if i.name == "LDGDEPBAR"]
    # In the order of the loop, which may be laid out from another block on: wait, copies, commit.
    first = waits[0]
    turned = [(k - first) % len(body) for k in (*copies, *closed)]
    behind = len(closed) == 1 and max(turned) == (closed[0] - first) % len(body)
    bulk = sum(i.name == "UBLKCP" for i in body)
    return ReadBack(len(copies), pending, behind and len(waits) == 1, bulk)


def text_of(name: str) -> str:
    """An example's PTX; with the suffix `.reqntid` its block is declared as exact."""
    text = (EXAMPLES / f"{name.removesuffix('.reqntid')}.ptx").read_text()
    return text.replace(".maxntid", ".reqntid") if name.endswith(".reqntid") else text


def row_of(name: str, stages: int) -> dict[str, Any]:
    text = text_of(name)
    before, after = nvir.read_ptx(text), nvir.read_ptx(text)
    remarks = nvir.run_passes(after, f"gemm-pipeline<stages={stages}>", verify=True)
    row: dict[str, Any] = {"file": name, "stages": stages}
    made = next((r for r in remarks if r.name == "GemmPipelined"), None)
    said = [r for r in remarks if r.kind in ("missed", "passed", "analysis")]
    if made is None:
        row["why"] = "; ".join(r.message for r in said if "no tile" not in r.message)
        return row
    row |= made.args
    row["bulk"] = [[r.args["copies"], r.args["bytes"]] for r in remarks if r.name == "GemmBulk"]
    if toolchain.available("ptxas") and toolchain.available("nvdisasm"):
        arch = after.target
        done = [toolchain.ptxas(nvir.print_ptx(m), arch=arch) for m in (before, after)]
        row["ptxas"] = [d.kernels[made.function].registers if d.ok else None for d in done]
        if done[1].cubin is not None:
            found = read_back(done[1].cubin, made.function)
            row["readback"] = attrs.asdict(found) if found is not None else None
            row["kept"] = found is not None and found.keeps(stages)
        else:
            row["error"] = done[1].log[:300]
    return row


# ------------------------------------------------------------------- on a GPU


def timed(module: Module, name: str) -> float:
    """Milliseconds of the product of SIZE cubed."""
    kernel = name.partition(".")[0].removeprefix("clang_")
    rng = np.random.default_rng(0)
    half = kernel == "gemm_mma"
    a, b = (rng.standard_normal((SIZE, SIZE)).astype(np.float16 if half else np.float32)
            for _ in range(2))
    c = np.zeros((SIZE, SIZE), np.float32)
    tile, block = {"sgemm": (16, (16, 16)), "gemm_mma": (64, 128), "gemm_tile": (128, 256)}[kernel]
    scale: list[Any] = [np.float32(1), np.float32(0)] if kernel == "sgemm" else []
    grid = (SIZE // tile, SIZE // tile)

    def once(k: int) -> float:
        start = time.perf_counter()
        gpu.launch(module, kernel, grid, block, [a, b, c, SIZE, SIZE, k, *scale])
        return time.perf_counter() - start

    once(0)
    return 1e3 * (min(once(SIZE) for _ in range(5)) - min(once(0) for _ in range(5)))


def on_gpu(row: dict[str, Any]) -> None:
    text = text_of(row["file"])
    before, after = nvir.read_ptx(text), nvir.read_ptx(text)
    nvir.run_passes(after, f"gemm-pipeline<stages={row['stages']}>")
    row["ms"] = [timed(m, row["file"]) for m in (before, after)]


# --------------------------------------------------------------------- output


def table(rows: Sequence[dict[str, Any]]) -> Table:
    shown = Table(title="tile loops: before → after")
    for column in ("file", "stages", "copies", "cycles a tile", "gain", "registers", "ptxas",
                   "shared", "blocks/SM", "machine code", "ms"):
        shown.add_column(column, justify="left" if column == "file" else "right")
    cell: Callable[[Any], str] = str
    for r in rows:
        if "why" in r:
            shown.add_row(r["file"], str(r["stages"]), *[""] * 7, r["why"][:60], "")
            continue
        known = r["before"] is not None and r["after"] is not None
        shown.add_row(
            r["file"], cell(r["stages"]),
            " + ".join([cell(r["copies"]), *(f"{n} × {size} B" for n, size in r["bulk"])]),
            f"{r['before']} → {r['after']}" if known else "no model",
            f"×{r['before'] / r['after']:.2f}" if known else "",
            f"{r['registers_before']} → {r['registers']}",
            " → ".join(map(str, r.get("ptxas", ()))),
            f"{r['shared_before']} → {r['shared']}", f"{r['blocks_before']} → {r['blocks']}",
            r.get("error") or ("kept" if r.get("kept") else str(r.get("readback", "no tools"))),
            " → ".join(f"{x:.2f}" for x in r.get("ms", ())),
        )
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stages", nargs="+", type=int, default=[2, 3, 4])
    parser.add_argument("--json", type=Path, help="write the rows")
    given = parser.parse_args()
    rows = [row_of(name, s) for name in FILES for s in given.stages]
    if gpu.available():
        for r in rows:
            if "why" not in r:
                on_gpu(r)
    else:
        print("no GPU here: not timed")
    Console(width=max(190, Console().width)).print(table(rows))
    made = [r for r in rows if "why" not in r]
    print(f"{len(made)} of {len(rows)} made multistage; machine code keeps "
          f"{sum(bool(r.get('kept')) for r in made)}")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
