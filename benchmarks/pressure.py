"""nvir's register pressure against the machine code that ptxas makes.

    python benchmarks/pressure.py [--corpus N] [--jobs J] [--verbose]

For the examples: whether the source line at which nvir sees the peak is one at which
`nvdisasm -plr` counts the most live registers, or its neighbour. A line of an inlined
function stands for the lines of its calls as well. Must hold for 80 %.

For the examples, and N further files of the collection that tests/corpus.py describes: MaxLive as
written and as estimated, against nvdisasm's; and the predicted registers against `ptxas -v`.
"""

from __future__ import annotations

import argparse
import collections
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import corpus

from nvir.analysis.liveness import liveness
from nvir.analysis.places import SourceLines
from nvir.analysis.pressure import register_pressure
from nvir.assembler.registers import estimate_registers
from nvir.ir import Function, Module, NvirError
from nvir.ptx.reader import read_ptx
from nvir.toolchain import SassInstruction, ToolError, disassemble, ptxas

Place = tuple[str, int]


@attrs.frozen
class Kernel:
    """What nvir and the tools say of one kernel. `hit` is None without line information."""

    file: str
    name: str
    written: int  # MaxLive of the PTX as it is written
    estimated: int  # … in the order that nvir supposes
    predicted: int
    sass: int  # MaxLive of the machine code
    registers: int
    hit: bool | None
    first_hit: bool | None  # against the first of the SASS's peaks alone
    peak: str


def measure(path: Path, arch: str, lines: bool) -> list[Kernel]:
    """The kernels of one file; none where ptxas refuses it."""
    result = ptxas(path, arch, 3, ("-lineinfo",) if lines else ())
    if not result.ok or result.cubin is None:
        return []
    code = disassemble(result.cubin, lines="ptx" if lines else None)
    module = read_ptx(path)
    found = []
    for f in module.functions:
        info = result.kernels.get(str(f.name))
        sass = code.get(str(f.name))
        if not f.blocks or info is None or info.registers is None or not sass:
            continue
        f.analyze_cfg()
        live = liveness(f)
        estimate = estimate_registers(f, live)
        most = max(i.live.get("GPR", 0) for i in sass)
        hit = first = None
        if lines and estimate.peak is not None and estimate.peak.loc is not None:
            source = SourceLines(f, module, path.read_text().splitlines())
            mine = set(source.places(estimate.peak))
            theirs = _peak_places(module, f, sass, most, source)
            if theirs:  # else nvdisasm gives the peak no source line
                hit = _near(mine, theirs)
                first = _near(mine, _peak_places(module, f, sass, most, source, 1))
        found.append(Kernel(
            path.name, str(f.name), register_pressure(f, live).max_live, estimate.max_live,
            estimate.registers, most, info.registers, hit, first,
            str(SourceLines(f, module).places(estimate.peak)[:1]) if estimate.peak else "",
        ))
    return found


def _peak_places(
    module: Module, f: Function, sass: list[SassInstruction], most: int, source: SourceLines,
    count: int = 10**9,
) -> set[Place]:
    """The source lines of the SASS instructions at the peak, those of inlined calls included."""
    peaks = [i for i in sass if i.live.get("GPR", 0) == most and i.line][:count]
    ptx = {i.line[1] for i in peaks if i.line}
    found = {p for i in f.instructions() if i.line in ptx for p in source.places(i)}
    for g in module.functions:  # what the assembler inlined stands for its calls
        if g is not f and any(i.line in ptx for i in g.instructions()):
            calls = (i for i in f.instructions() if i.form.is_call and i.aux.callee is g)
            found.update(p for i in calls for p in source.places(i))
    return found


def _near(mine: set[Place], theirs: set[Place]) -> bool:
    return any(a == b and abs(x - y) <= 1 for a, x in mine for b, y in theirs)


def distribution(title: str, errors: list[int]) -> None:
    """How far off figures are: shares within 1, 2, 4 and the mean."""
    n = max(len(errors), 1)
    within = "   ".join(f"±{k}: {sum(abs(e) <= k for e in errors) / n:4.0%}" for k in (0, 1, 2, 4))
    mean = sum(errors) / n
    print(f"  {title:<48}{within}   mean {mean:+.1f}")


def report(title: str, kernels: list[Kernel], verbose: bool) -> None:
    print(f"\n{title}: {len(kernels)} kernels")
    distribution("MaxLive as written − SASS MaxLive", [k.written - k.sass for k in kernels])
    distribution("MaxLive as scheduled − SASS MaxLive", [k.estimated - k.sass for k in kernels])
    distribution("registers predicted − ptxas -v", [k.predicted - k.registers for k in kernels])
    plain = [k.written + 2 - k.registers for k in kernels]
    distribution("(MaxLive as written + 2) − ptxas -v", plain)
    placed = [k for k in kernels if k.hit is not None]
    if placed:
        hits, firsts = sum(bool(k.hit) for k in placed), sum(bool(k.first_hit) for k in placed)
        print(
            f"  peak line is nvdisasm's or its neighbour: {hits} of {len(placed)} "
            f"({hits / len(placed):.0%}); with the first of nvdisasm's peaks alone {firsts}"
        )
    if verbose:
        for k in sorted(kernels, key=lambda k: k.predicted - k.registers):
            mark = {True: "hit", False: "MISS", None: ""}[k.hit]
            print(
                f"    {k.file:<34.34} {k.name:<24.24} written {k.written:3} scheduled "
                f"{k.estimated:3} SASS {k.sass:3}  predicted {k.predicted:3} real {k.registers:3} "
                f"{mark} {k.peak}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpus", type=int, default=0, metavar="N", help="further files")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true", help="a line for each kernel")
    given = parser.parse_args()

    def one(job: tuple[Path, str, bool]) -> list[Kernel]:
        try:
            return measure(*job)
        except (NvirError, ToolError) as e:
            print(f"{job[0].name}: {str(e).splitlines()[0]}", file=sys.stderr)
            return []

    with ThreadPoolExecutor(given.jobs) as pool:
        jobs = [(p, p.name.split(".")[-2], True) for p in corpus.examples()]
        report("examples", [k for ks in pool.map(one, jobs) for k in ks], given.verbose)
        if given.corpus:
            entries = corpus.sample(given.corpus, seed=7, max_size=60_000)
            origins: dict[str, list[Kernel]] = collections.defaultdict(list)
            found = pool.map(one, [(e.path, e.arch, False) for e in entries])
            for entry, kernels in zip(entries, found, strict=True):
                origins[entry.origin[:48]] += kernels
            report("collection", [k for ks in origins.values() for k in ks], given.verbose)
            for origin, kernels in origins.items():
                if len(kernels) >= 10:
                    report(origin, kernels, False)


if __name__ == "__main__":
    main()
