"""Advice of `nvir report`, carried out: whether registers and occupancy move as it says.

    python benchmarks/advice.py CORPUS [--half report|choose] [--kernels 30] [--misses]

CORPUS is as for source_loops.py. Each piece of advice is carried out alone: a limit on registers by
the launch bounds in the PTX, `#pragma unroll` by a pragma in the source before the loop and nvcc,
threads a block by the occupancy of the registers that ptxas gives. It came true where the blocks
on an SM are as said, or the registers within 10 % (at least 2); of a limit, where the registers
keep to it and the blocks are as said.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from source_loops import compiled, kept, sources

import nvir
from nvir import toolchain
from nvir.report import report
from nvir.report.explain.advice import Advice
from nvir.report.model import FunctionReport
from nvir.sm.occupancy import occupancy
from nvir.toolchain.ptxas import PtxasResult

_LOOP = re.compile(r"\b(for|while|do)\b")


def with_pragma(path: Path, flags: list[str], arch: str, a: Advice) -> bytes | None:
    """The PTX of a source with the pragma before its loop; None where it can't be put there."""
    name, _, line = (a.place or "").split(",")[0].rpartition(":")
    if name != path.name:
        return None
    lines = path.read_text("utf-8", "replace").splitlines(keepends=True)
    at = int(line) - 1
    if at >= len(lines) or not _LOOP.search(lines[at]):
        return None
    lines[at] = _LOOP.sub(rf'_Pragma("unroll {a.value}") \1', lines[at], count=1)
    if "#pragma unroll" in lines[at - 1]:
        lines[at - 1] = "\n"
    return compiled(path, flags, arch, lines)


def bounded(text: str, f: FunctionReport, blocks: int) -> str:
    """The PTX as nvcc makes it of `__launch_bounds__`."""
    head = re.compile(rf"(\.entry\s+{re.escape(f.name)}\s*\([^)]*\))([^{{]*)\{{")
    return head.sub(
        rf"\1\n.maxntid {f.block_size}, 1, 1\n.minnctapersm {blocks}\n{{", text, count=1
    )


def carried_out(
    a: Advice, f: FunctionReport, text: bytes, path: Path, flags: list[str], arch: str
) -> PtxasResult | None:
    if a.kind == "registers":
        return toolchain.ptxas(bounded(text.decode(), f, a.blocks_per_sm), arch)
    if a.kind == "unroll":
        changed = with_pragma(path, flags, arch, a)
        return None if changed is None else toolchain.ptxas(changed, arch)
    return toolchain.ptxas(text, arch)


def came_true(a: Advice, f: FunctionReport, registers: int, arch: str) -> tuple[bool, int]:
    """Whether a change did what was said, and the blocks on an SM with it."""
    block = a.value if a.kind == "block" else f.block_size or 256
    blocks = occupancy(arch, registers, block, static_smem=f.static_smem).blocks_per_sm
    near = abs(registers - a.registers) <= max(2, a.registers / 10)
    if a.kind == "registers":
        return registers <= a.value and blocks == a.blocks_per_sm, blocks
    return blocks == a.blocks_per_sm or (near and a.kind == "unroll"), blocks


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--half", default="report", choices=("report", "choose"))
    parser.add_argument("--kernels", type=int, default=30, metavar="N")
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the PTX there")
    parser.add_argument("--kind", help="only advice of this kind: registers, unroll, block")
    parser.add_argument("--misses", action="store_true", help="list what did not come true")
    given = parser.parse_args()
    kernels = 0
    right: Counter[str] = Counter()
    count: Counter[str] = Counter()
    for path, flags, name in sources(given.corpus, given.half):
        if kernels >= given.kernels:
            break
        text = kept(given.keep, name, path, flags, given.arch, False)
        if text is None:
            continue
        made = report(nvir.read_ptx(text))
        seen: set[tuple[object, ...]] = set()
        for f in made.functions:
            shape = (f.instructions, tuple(a.text for a in f.advice))
            if not f.advice or shape in seen or kernels >= given.kernels:
                continue
            seen.add(shape)
            done = 0
            for a in (a for a in f.advice if given.kind in (None, a.kind)):
                after = carried_out(a, f, text, path, flags, given.arch)
                registers = after.kernels[f.name].registers if after is not None and \
                    f.name in after.kernels else None
                if registers is None:
                    continue
                done = 1
                true, blocks = came_true(a, f, registers, given.arch)
                count[a.kind] += 1
                right[a.kind] += true
                if given.misses and not true:
                    print(f"{name} {f.name[:60]} ({f.predicted} predicted): {a.text}; came to "
                          f"{registers} registers, {blocks} blocks/SM")
            kernels += done
    print(f"{kernels} kernels of the half {given.half}, {count.total()} pieces of advice: "
          f"{right.total() / max(count.total(), 1):.0%} came true "
          f"({', '.join(f'{k} {right[k]} of {n}' for k, n in sorted(count.items()))})")


if __name__ == "__main__":
    main()
