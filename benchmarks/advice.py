"""Advice of `nvir report`, carried out: whether registers and occupancy move as it says.

    python benchmarks/advice.py CORPUS [--half report|choose] [--kernels 30] [--misses]

CORPUS is as for source_loops.py. Each piece of advice is carried out alone: a limit on registers by
the launch bounds in the PTX, `#pragma unroll` and `__restrict__` in the source by nvcc,
threads a block by the occupancy of the registers that ptxas gives. It came true where the blocks
on an SM are as said, or the registers within 10 % (at least 2); of a limit, where the registers
keep to it and the blocks are as said; of `__restrict__`, where more loads are ld.global.nc.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from source_loops import compiled, kept, sources

import nvir
from nvir import toolchain
from nvir.report import report
from nvir.report.explain.advice import Advice
from nvir.report.explain.trials import with_bounds, with_pragma, with_restrict
from nvir.report.model import FunctionReport
from nvir.sm.occupancy import occupancy


def in_source(path: Path, f: FunctionReport, a: Advice) -> list[str] | None:
    """The lines of a source with a change; None where it can't be put there."""
    lines = path.read_text("utf-8", "replace").split("\n")
    if a.kind == "restrict":
        return with_restrict(lines, f.name, a.parameters)
    name, _, line = (a.place or "").split(",")[0].rpartition(":")
    return with_pragma(lines, int(line), f"unroll {a.value}") if name == path.name else None


def carried_out(
    a: Advice, f: FunctionReport, text: bytes, path: Path, flags: list[str], arch: str
) -> bytes | None:
    """The PTX with a change."""
    if a.kind in ("registers", "bounds"):
        bounds = {f.name: (f.block_size or 256, a.blocks_per_sm or 1)}
        return with_bounds(text.decode(), bounds).encode()
    if a.kind in ("unroll", "restrict"):
        lines = in_source(path, f, a)
        kept = [f"{x}\n" for x in lines] if lines is not None else None
        return None if kept is None else compiled(path, flags, arch, kept)
    return text


def invariant_loads(text: bytes, name: str) -> int:
    return sum(i.form.invariant for i in nvir.read_ptx(text)[name].instructions())


def came_true(a: Advice, f: FunctionReport, registers: int, arch: str) -> tuple[bool, int]:
    """Whether a change did what was said, and the blocks on an SM with it."""
    block = a.value if a.kind == "block" else f.block_size or 256
    blocks = occupancy(arch, registers, block, static_smem=f.static_smem).blocks_per_sm
    said = a.registers or registers
    near = abs(registers - said) <= max(2, said / 10)
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
                changed = carried_out(a, f, text, path, flags, given.arch)
                after = toolchain.ptxas(changed, given.arch) if changed is not None else None
                registers = after.kernels[f.name].registers if after is not None and \
                    f.name in after.kernels else None
                if registers is None or changed is None:
                    continue
                done = 1
                true, blocks = came_true(a, f, registers, given.arch)
                if a.kind == "restrict":
                    true = invariant_loads(changed, f.name) > invariant_loads(text, f.name)
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
