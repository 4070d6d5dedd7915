"""What the predicted body has too often or too rarely, summed over real kernels.

    python -m benchmarks.families CORPUS CACHE [--half choose|report] [--files N] [--named WORK]

CORPUS and CACHE as for benchmarks/registers.py. Work is counted as `nvir diff --model` counts it,
within loops and outside; kernels with calls are left out, and equal ones of a file are counted
once. With --named the kernels that differ most by that work are listed.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import nvir
from benchmarks.registers import ARCHES, machine_code
from nvir.assembler.body import predicted_body
from nvir.assembler.unroll.decision import copies
from nvir.ir.loops import natural_loops
from nvir.report.bodies import WorkCount, kinds
from nvir.report.facts import unrolling
from nvir.sm import profile
from nvir.toolchain.sass_body import body_of

_SHOWN = 40

Row = tuple[str, str, list[WorkCount]]


def compared(corpus: Path, cache: Path, half: str, files: int | None) -> Iterator[tuple[str, Row]]:
    """(architecture, (file, kernel, its kinds of work)) of each kernel."""
    index = json.loads((corpus / "index.json").read_text())
    names = sorted({Path(x["ptx"]).name for x in index.values() if x["half"] == half})
    for name in names[:files]:
        module = nvir.read_ptx(corpus / "ptx" / name)
        for arch in ARCHES:
            _, code = machine_code(corpus / "ptx" / name, arch, cache)
            seen = set()
            for f in module.functions:
                instructions = code.get(str(f.name), ())
                text = tuple((i.opcode, tuple(i.operands)) for i in instructions)
                if not f.blocks or not text or text in seen:
                    continue
                if any(opcode.startswith(("CALL", "RET")) for opcode, _ in text):
                    continue
                seen.add(text)
                f.analyze_cfg()
                factors = copies(natural_loops(f), unrolling(f, module, arch, "observed"))
                mine = predicted_body(f, profile(arch), factors)
                theirs = body_of(str(f.name), instructions, arch)
                yield arch, (name, str(f.name), kinds(mine, theirs))


def show(arch: str, rows: list[Row]) -> None:
    """A line for each kind of work: how far apart in sum, which way, in how many kernels."""
    sums: defaultdict[str, list[int]] = defaultdict(lambda: [0] * 6)
    for _, _, found in rows:
        for k in found:
            s = sums[k.name]
            within = k.predicted_in_loops - k.real_in_loops
            more = (k.apart, k.predicted - k.real - within, k.real - k.real_in_loops, within,
                    k.real_in_loops, k.apart > 0)
            sums[k.name] = [a + b for a, b in zip(s, more, strict=True)]
    apart, made = (sum(s[n] for s in sums.values()) for n in (0, 2))
    made += sum(s[4] for s in sums.values())
    print(f"{arch}: {len(rows)} kernels, {apart} operations apart of {made}")
    print("  work          apart  outside     of  in loops     of  kernels")
    for name, s in sorted(sums.items(), key=lambda x: -x[1][0])[:_SHOWN]:
        print(f"  {name:<12}{s[0]:>7}{s[1]:>+9}{s[2]:>7}{s[3]:>+10}{s[4]:>7}{s[5]:>9}")


def listed(arch: str, rows: list[Row], named: str) -> None:
    found = [(k.apart, k, name, kernel) for name, kernel, some in rows for k in some
             if k.name == named and k.apart]
    for _, k, name, kernel in sorted(found, key=lambda x: -x[0])[:_SHOWN]:
        print(f"{arch} {k.predicted:>5} {k.real:>5} ({k.predicted_in_loops} {k.real_in_loops})  "
              f"{name} {kernel}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("cache", type=Path)
    parser.add_argument("--half", default="choose", choices=("report", "choose"))
    parser.add_argument("--files", type=int, default=None, metavar="N")
    parser.add_argument("--named", default=None, metavar="WORK")
    given = parser.parse_args()
    rows: dict[str, list[Row]] = {arch: [] for arch in ARCHES}
    for arch, row in compared(given.corpus, given.cache, given.half, given.files):
        rows[arch].append(row)
    for arch in ARCHES:
        if given.named is None:
            show(arch, rows[arch])
        else:
            listed(arch, rows[arch], given.named)


if __name__ == "__main__":
    main()
