"""What `nvir tune` says to write in CUDA, carried out: whether nvcc's code becomes what it says.

    python benchmarks/tune_advice.py CORPUS [--half report|choose] [--kernels 30] [--keep FOLDER]

CORPUS is as for source_loops.py. Of each kernel for which tune, with nvcc at hand, says something,
that alone is put into the source, nvcc and ptxas compile it, and the code is judged as the
candidates are. It came true where registers are within 2 of what is said, and cycles at full
occupancy, over those of the kernel as it is, within 10 %. "By the PTX" is how many come as near to
the winner among the candidates, which is what tune goes by without nvcc. Kernels of one file with
equal figures count once.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from source_loops import compiled, kept, sources

import nvir
from nvir.report.explain.trials import Trials
from nvir.report.tuning.written import as_written, tried, written
from nvir.sm.profile import profile_for
from nvir.tune.search import Judged, Launches, tune

REGISTERS, CYCLES = 2, 0.1


def near(made: Judged, said: Judged, base: Judged) -> bool:
    far = abs(made.cycles.full - said.cycles.full) / base.cycles.full
    return abs(made.registers - said.registers) <= REGISTERS and far <= CYCLES


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--half", default="report", choices=("report", "choose"))
    parser.add_argument("--kernels", type=int, default=30, metavar="N")
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the PTX there")
    parser.add_argument("--misses", action="store_true", help="list what did not come true")
    given = parser.parse_args()
    right = count = silent = by_ptx = 0
    gains: list[float] = []
    request = Launches()
    machine = profile_for(given.arch)
    for path, flags, name in sources(given.corpus, given.half):
        if count >= given.kernels:
            break
        text = kept(given.keep, name, path, flags, given.arch, False)
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
        said = tried(found, trials, request)
        seen: set[tuple[object, ...]] = set()
        for k in found.kernels:
            if k.name not in said:
                silent += bool(k.chosen)
                continue
            advised, base = said[k.name], k.candidates[0]
            shape = (advised.made.registers, advised.made.cycles)
            if shape in seen or count >= given.kernels:
                continue
            seen.add(shape)
            lines, _ = written(trials, [(k, advised.settings)])
            changed = recompile(lines)
            assert changed is not None
            made = as_written([k], changed, trials, request)[k.name]
            count += 1
            true = near(made, advised.made, base)
            right += true
            by_ptx += near(made, k.winner, base)
            gains.append(made.cycles.full / base.cycles.full)
            if given.misses and not true:
                print(f"{name} {k.name[:50]}: {'; '.join(advised.texts)}: {base.registers} → "
                      f"{advised.made.registers} registers, {made.registers} made; cycles "
                      f"{advised.made.cycles.full / base.cycles.full:.2f}, {gains[-1]:.2f} made",
                      flush=True)
        print(f"{name}: {right} of {count}", flush=True)
    mean = math.exp(statistics.fmean(map(math.log, gains))) if gains else math.nan
    print(f"{count} kernels of the half {given.half}: {right} as said ({right / max(count, 1):.0%}"
          f"), by the PTX {by_ptx}; cycles at full occupancy {mean:.3f} of before; of {silent} "
          "winners more nothing is said")


if __name__ == "__main__":
    main()
