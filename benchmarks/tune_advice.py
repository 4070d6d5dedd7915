"""What `nvir tune` says to write in CUDA, written: whether nvcc's code becomes what it says.

    python benchmarks/tune_advice.py CORPUS [--half report|choose] [--kernels 30] [--keep FOLDER]

CORPUS is as for source_loops.py. Of each kernel for which tune says something, the printed text
alone is put into the source, nvcc and ptxas compile it, and the code is judged by tune as it is,
told nothing else. It came true where registers are within 2 of what is said, and cycles of one
warp and at full occupancy within 10 %. Both what is said with nvcc at hand is written ("tried"),
and what is said of the PTX alone ("foretold"). Kernels of one file with equal figures count once.
"""

from __future__ import annotations

import argparse
import math
import re
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from source_loops import compiled, kept, sources

import nvir
from nvir.report.explain.trials import Lines, Trials, with_attribute, with_pragma, with_restrict
from nvir.report.tuning.promised import promised
from nvir.report.tuning.written import tried
from nvir.sm.profile import profile_for
from nvir.tune.search import Judged, Launches, tune

REGISTERS, CYCLES = 2, 0.1
_FACTOR = re.compile(r"(?:#pragma (unroll(?: \d+)?)|no `#pragma.*) at ([^ :]+):(\d+)")
_BOUNDS = re.compile(r"__launch_bounds__\(\d+, \d+\)|__maxnreg__\(\d+\)")


def near(made: Judged, said: Judged) -> bool:
    return abs(made.registers - said.registers) <= REGISTERS and all(
        abs(x - y) <= CYCLES * y for x, y in (
            (made.cycles.full, said.cycles.full), (made.cycles.one_warp, said.cycles.one_warp)))


def applied(source: Sequence[str], name: str, kernel: str, texts: Sequence[str]) -> Lines | None:
    """A source with what texts say of a kernel, factors first: the others may move lines."""
    lines: Lines | None = list(source)
    for text in sorted(texts, key=lambda x: "#pragma" not in x):
        factor, bounds = _FACTOR.match(text), _BOUNDS.match(text)
        if lines is None or (factor is not None and factor[2] != name):
            return None  # in a header
        if factor is not None:
            lines = with_pragma(lines, int(factor[3]), factor[1] or "")
        elif text.startswith("__restrict__"):
            lines = with_restrict(lines, kernel)
        else:
            lines = with_attribute(lines, kernel, bounds[0]) if bounds is not None else None
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--half", default="report", choices=("report", "choose"))
    parser.add_argument("--kernels", type=int, default=30, metavar="N")
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the PTX there")
    given = parser.parse_args()
    right, gains = {"tried": 0, "foretold": 0}, {"tried": [0.0] * 0, "foretold": [0.0] * 0}
    request = Launches()
    alone = Launches(loop=" ", launch_bounds=False)
    machine = profile_for(given.arch)
    for path, flags, name in sources(given.corpus, given.half):
        text = kept(given.keep, name, path, flags, given.arch, False)
        if min(map(len, gains.values())) >= given.kernels:
            break
        if text is None:
            continue
        module = nvir.read_ptx(text)

        def recompile(
            lines: list[str], path: Path = path, flags: list[str] = flags
        ) -> nvir.Module | None:
            made = compiled(path, flags, given.arch, [f"{x}\n" for x in lines])
            return nvir.read_ptx(made) if made is not None else None

        source = path.read_text("utf-8", "replace").split("\n")
        trials = Trials(module, given.arch, machine, 0, path.name, source, recompile)
        found = tune(module, machine, given.arch, request)
        seen: set[tuple[object, ...]] = set()
        for way, said in (("tried", tried(found, trials, request)),
                          ("foretold", promised(found, module, machine, request))):
            for k in found.kernels:
                advised = said.get(k.name)
                if advised is None or len(gains[way]) >= given.kernels:
                    continue
                shape = (way, advised.made.registers, advised.made.cycles)
                lines = applied(source, path.name, k.name, advised.texts)
                changed = recompile(lines) if lines is not None and shape not in seen else None
                if changed is None:
                    continue
                seen.add(shape)
                made = tune(changed, machine, given.arch, alone, kernels=[k.name]).kernels[0]
                as_is, base = made.candidates[0], k.candidates[0].cycles.full
                right[way] += near(as_is, advised.made)
                gains[way].append(as_is.cycles.full / base)
                if not near(as_is, advised.made):
                    print(f"{name} {k.name[:50]}: {way}: {'; '.join(advised.texts)}: "
                          f"{advised.made.registers} registers, {as_is.registers} made; cycles "
                          f"{advised.made.cycles}, {as_is.cycles} made", flush=True)
        print(f"{name}: {', '.join(f'{right[w]} of {len(gains[w])} {w}' for w in gains)}",
              flush=True)
    for way, all_of in gains.items():
        mean = math.exp(statistics.fmean(map(math.log, all_of))) if all_of else math.nan
        print(f"{way}: of {len(all_of)} kernels of the half {given.half} {right[way]} as said "
              f"({right[way] / max(len(all_of), 1):.0%}); cycles at full occupancy {mean:.3f} of "
              "before")


if __name__ == "__main__":
    main()
