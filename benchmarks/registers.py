"""Predicted registers against `ptxas -v` on a corpus of real kernels, each kernel counted once.

    python benchmarks/registers.py CORPUS [--half report|choose] [--files N]

CORPUS is a folder with `ptx/*.ptx`, `index.json` ({source: {"ptx", "half"}}) and `registers.json`
({file: {kernel: {"sm_80": n, "sm_90": n}}}). The constants of nvir/assembler/regalloc/tables.py and
the rows of nvir/assembler/interval.py were chosen on the half "choose" alone.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import nvir
from nvir.assembler.interval import interval
from nvir.assembler.regalloc import predict
from nvir.ir.loops import natural_loops
from nvir.report.facts import copies, unrolling
from nvir.sm import profile

ARCHES = ("sm_80", "sm_90")
Row = tuple[int, int, bool, bool]  # predicted, real, within the interval, has unrolled loops


def rows(corpus: Path, half: str, files: int | None) -> dict[str, list[Row]]:
    """A row for each kernel of a half, by architecture."""
    index = json.loads((corpus / "index.json").read_text())
    real = json.loads((corpus / "registers.json").read_text())
    names = sorted({Path(x["ptx"]).name for x in index.values() if x["half"] == half})
    found: dict[str, list[Row]] = {arch: [] for arch in ARCHES}
    for name in names[:files]:
        module = nvir.read_ptx(corpus / "ptx" / name)
        for f in module.functions:
            known = real.get(name, {}).get(str(f.name), {})
            for arch in ARCHES:
                if not f.blocks or known.get(arch) is None:
                    continue
                f.analyze_cfg()
                factors = copies(natural_loops(f), unrolling(f, module, arch, "observed"))
                p = predict(f, profile(arch), factors)
                low, high = interval(p)
                n = known[arch]
                found[arch].append((p.registers, n, low <= n <= high, bool(factors)))
    return found


def show(title: str, found: list[Row]) -> None:
    n = max(1, len(found))
    within = "  ".join(
        f"±{k} {sum(abs(p - r) <= k for p, r, *_ in found) / n:4.0%}" for k in (1, 2, 4)
    )
    mean = sum(p - r for p, r, *_ in found) / n
    held = sum(x[2] for x in found) / n
    print(f"{title:<24}{len(found):5} kernels  {within}  mean {mean:+.1f}  interval {held:4.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--half", default="report", choices=("report", "choose"))
    parser.add_argument("--files", type=int, default=None, metavar="N")
    given = parser.parse_args()
    for arch, found in rows(given.corpus, given.half, given.files).items():
        show(arch, found)
        show(f"{arch}, unrolled", [x for x in found if x[3]])
        show(f"{arch}, above 32", [x for x in found if max(x[0], x[1]) > 32])


if __name__ == "__main__":
    main()
