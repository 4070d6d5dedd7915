"""docs/performance.md and its plots, from the figures of benchmarks/peers.py."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from peers import BYTES, TARGETS, Figure

_HEAD = """# Performance

This page is generated: `python benchmarks/peers.py --docs docs` (extra `bench`). It compares nvir,
which is pure Python, with [xDSL](https://xdsl.dev) (pure Python), llvmlite (its builder and printer
are Python, the rest is LLVM), networkx, and LLVM's own `opt` and `llc` on the same programs in one
run, in turns, by the least CPU time of several runs.

Measured {date}, on {machine}. {note}

Tables give microseconds an operation (for dominators: a block), and in brackets how many times as
long as nvir a peer takes: above 1 nvir is faster, below 1 slower.
"""

_STEPS = """
What the steps are:

- **build**: instructions made and placed one by one; **by methods**: with the builder that people
  write with, as llvmlite's is.
- **print**, **parse**, **clone**, **verify**: the whole module, in each library's own text.
- **dead code**, **CSE**: one pass on straight-line code of which a fourth is dead and a tenth
  computed twice. nvir's value numbering also follows the state of memory, so that loads take part;
  xDSL's looks at operations without effects, LLVM's is GVN.
- **dominators**: blocks of loops nested two deep. nvir's figure includes edges, order, back edges
  and loop depths; networkx's the making of its graph.
- **unrolling**: loops of {trips} trips unrolled in full, with nvir's decision for each loop.
- **LLVM text …**, **text: unrolling**: from text to text. For LLVM this is a process of its own,
  with its start.

An instruction of nvir takes {bytes:.0f} bytes, with its uses and its share of everything (the aim
is at most {limit}).

Other claims have their own scripts: `benchmarks/report.py FOLDER` (a whole `nvir report`, its pages
and `nvir explain` beside `ptxas -O3` for each file of a folder of real kernels, with peak memory),
`benchmarks/read.py` (reading, printing and analysing PTX by size), `benchmarks/cfg.py` (shapes of
control flow).

## A whole command

On PTX of 149 files of real projects, 2026-11-22, in CPU time of whole processes on a machine
under heavy load, ptxas counting as 0.1 s where it is quicker. `nvir report` takes 1.8 times as long
as `ptxas -O3` (geometric mean; the worst file 3.8 times). On every fourth file `--lines` takes 1.06
and `--html` 1.25 times as long as the report. An empty kernel takes 0.14 s, `import nvir` 0.03 s.

On 2026-11-23, under load again, `nvir explain` of the hottest loop takes 0.47 s (geometric mean;
90 % of the files within 0.85 s, 98 % within 1 s, the slowest 1.12 s). The pipeline `loops` under
policy `documented` transforms 28,900 instructions a second (geometric mean; a quarter of the files
less than 20,400), the slowest file takes 1.1 s: `benchmarks/loop_passes.py --folder DIR --policy
documented`.

On 2026-11-27, with some fifteen processes on the 2 cores: of 140 files of LLVM text that clang made
at -O1, -O2, -O3, with -ffast-math and at -Os, reading takes 8.3 to 8.5 times llvmlite's time, and
-O3 does 18,300 to 21,600 instructions a second; before passes were made to do less, 8.1 to 8.6
times and 12,400 to 18,900 a second in the same minutes: `benchmarks/llvm_producers.py FOLDER --only
speed`.

Python's collector rests while modules are read, changed and printed (`nvir.ir.bulk`), for what they
make mostly stays. All objects are walked once 500,000 are new; what was made is not walked when the
work ends, which it was before, and then walked at 200,000:

| LLVM text to PTX, instructions | before | now |
| --- | ---: | ---: |
| convolution, 16,365 | 1.09 s, 55 MB | 0.92 s, 55 MB |
| selection of experts, 12,599 | 1.08 s, 52 MB | 0.93 s, 52 MB |
| ranking objective, 11,535 | 1.26 s, 55 MB | 1.08 s, 55 MB |
| splits of trees with CUB, 5,747 | 0.63 s, 53 MB | 0.62 s, 41 MB |
| 100 modules that one process drops, of 600 | 7.8 s, 79 MB | 7.2 s, 95 MB |

Compiling hot, plain modules by mypyc was tried: with liveness, pressure, the order and colouring of
registers and the PTX statements compiled, four reports take 1.01 times as long as without: their
values are objects of other modules; in `nvir/ptx/names.py` mypyc stops with an internal error. The
package stays pure Python.

## How cost grows

"""


def write(figures: list[Figure], bytes_each: float, docs: Path, note: str) -> None:
    """Write the page and one plot for each step that was measured at several sizes."""
    import peer_programs

    parts = [_HEAD.format(date=datetime.date.today().isoformat(), machine=_machine(), note=note)]
    parts += [_table(figures, n) for n in _shown_sizes(figures)]
    parts.append(_aims(figures))
    parts.append(_STEPS.format(bytes=bytes_each, limit=BYTES, trips=peer_programs.TRIPS))
    parts.append(_growth(figures))
    folder = docs / "performance"
    folder.mkdir(parents=True, exist_ok=True)
    for step in dict.fromkeys(f.step for f in figures):
        chosen = [f for f in figures if f.step == step]
        if len({f.n for f in chosen}) > 1:
            name = "".join(c if c.isalnum() else "-" for c in step.lower())
            _plot(step, chosen, folder / f"{name}.svg")
            parts.append(f"\n![{step}: µs an operation by size](performance/{name}.svg)\n")
    (docs / "performance.md").write_text("".join(parts), "utf-8")


def _machine() -> str:
    return f"{os.cpu_count()} cores shared with other work, CPython {platform.python_version()}"


def _shown_sizes(figures: list[Figure]) -> list[int]:
    """The two largest sizes at which anything stands beside nvir."""
    return sorted({f.n for f in figures if f.library != "nvir"})[-2:]


def _table(figures: list[Figure], size: int) -> str:
    at = {(f.step, f.library): f.us for f in figures if f.n == size}
    libraries = [x for x in dict.fromkeys(f.library for f in figures) if x != "nvir"]
    rows = [["step", "nvir", *libraries]]
    for step in dict.fromkeys(s for s, _ in at):
        ours = at[step, "nvir"]
        cells = [_beside(at.get((step, x)), ours) for x in libraries]
        rows.append([step, _short(ours), *cells])
    return f"\n## At {size:,} operations\n\n{_markdown(rows)}"


def _aims(figures: list[Figure]) -> str:
    at = {(f.step, f.library): f.us for f in figures if f.n == 100_000}
    rows = [["step", "against", "aim", "measured"]]
    for (step, library), aim in TARGETS.items():
        if (step, library) in at:
            ratio = at[step, library] / at[step, "nvir"]
            rows.append([step, library, f"{aim:.0f}×", f"{ratio:.1f}×"])
    return f"\nThe aims at 100,000 operations:\n\n{_markdown(rows)}" if len(rows) > 1 else ""


def _growth(figures: list[Figure]) -> str:
    sizes = sorted({f.n for f in figures})
    ours = {(f.step, f.n): f.us for f in figures if f.library == "nvir"}
    rows = [["nvir, µs an operation at", *(f"{n:,}" for n in sizes)]]
    for step in dict.fromkeys(s for s, _ in ours):
        rows.append([step, *(_short(ours.get((step, n))) for n in sizes)])
    return _markdown(rows)


def _beside(theirs: float | None, ours: float) -> str:
    return "" if theirs is None else f"{_short(theirs)} ({_short(theirs / ours)}×)"


def _short(x: float | None) -> str:
    if x is None:
        return ""
    return f"{x:.0f}" if x >= 100 else f"{x:.1f}" if x >= 10 else f"{x:.2f}"


def _markdown(rows: Iterable[list[str]]) -> str:
    head, *rest = rows
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rest]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _plot(step: str, figures: list[Figure], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "nvir"  # equal figures give equal files
    import matplotlib.pyplot as plot

    picture, axes = plot.subplots(figsize=(6.4, 3.6))
    for library in dict.fromkeys(f.library for f in figures):
        points = sorted((f.n, f.us) for f in figures if f.library == library)
        style: dict[str, Any] = {"linewidth": 2.2} if library == "nvir" else {"linewidth": 1.2}
        axes.plot(*zip(*points, strict=True), marker="o", markersize=4, label=library, **style)
    axes.set(xscale="log", yscale="log", xlabel="operations", ylabel="µs an operation", title=step)
    axes.grid(True, which="major", linewidth=0.4)
    axes.legend(frameon=False)
    picture.tight_layout()
    picture.savefig(path, format="svg", metadata={"Date": None})
    plot.close(picture)
