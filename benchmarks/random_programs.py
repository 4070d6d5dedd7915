"""Random C programs through nvir and through the host's gcc: no difference is allowed.

    python benchmarks/random_programs.py --count 10000 [--first 0] [--processes 1]
    python benchmarks/random_programs.py --seed 4711          one program: its text and results
    python benchmarks/random_programs.py --check 100          is the generator free of undefined
                                                              behaviour? (sanitizers, clang -O2)

The programs are those of tests/frontend/fe_wild.py. A chunk is one C compilation; each program is
run on all its inputs by one launch for each way: the IR as generated, -O0, and one of -O1 to -O3
after the other. Prints a line for each difference and, at the end, figures; the exit status says
whether there was one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "frontend")]

import fe_wild_run as run  # noqa: E402
from fe_wild import Wild  # noqa: E402

CHUNK = 25


def ways(seed: int) -> tuple[str, ...]:
    return ("nvvm", "O0", ("O3", "O2", "O3", "O1")[seed % 4])


def attempt(p: Wild, wanted: list[list[int]]) -> tuple[list[str], Counter[str]]:
    """What went wrong with a program, a line each, and what was counted."""
    wrong: list[str] = []
    counted: Counter[str] = Counter(programs=1)
    try:
        module = run.generated(p)
    except Exception as e:
        return [f"seed {p.seed}: {type(e).__name__}: {e}"], counted
    counted["instructions"] = sum(1 for f in module.functions for _ in f.instructions())
    for way in ways(p.seed):
        start = time.process_time()
        try:
            got = run.by_nvir(p, way, module)
            if got != wanted:
                rows = [k for k, (x, y) in enumerate(zip(got, wanted, strict=True)) if x != y]
                wrong.append(f"seed {p.seed} {way}: results differ for inputs {rows}")
        except Exception as e:
            wrong.append(f"seed {p.seed} {way}: {type(e).__name__}: {str(e)[:300]}")
        counted[f"ms {way}"] += round(1e3 * (time.process_time() - start))
        counted[f"runs {way}"] += 1
    counted["results"] = len(wanted) * run.OUTS * len(ways(p.seed))
    return wrong, counted


def chunk(seeds: range) -> tuple[range, list[str], Counter[str]]:
    programs = [Wild(seed) for seed in seeds]
    with tempfile.TemporaryDirectory() as folder:
        expected = run.by_gcc(programs, Path(folder))
    wrong: list[str] = []
    counted: Counter[str] = Counter()
    for p, wanted in zip(programs, expected, strict=True):
        lines, numbers = attempt(p, wanted)
        wrong += lines
        counted += numbers
    return seeds, wrong, counted


def campaign(first: int, count: int, processes: int) -> int:
    parts = [range(k, min(k + CHUNK, first + count)) for k in range(first, first + count, CHUNK)]
    total: Counter[str] = Counter()
    differences = 0
    start = time.perf_counter()
    with ProcessPoolExecutor(processes) as pool:
        for seeds, wrong, counted in pool.map(chunk, parts):
            total += counted
            differences += len(wrong)
            for line in wrong:
                print(line, flush=True)
            print(f"to {seeds[-1]}: {total['programs']} programs, {differences} differences, "
                  f"{time.perf_counter() - start:.0f} s", flush=True)
    for key, value in sorted(total.items()):
        print(f"{key:14} {value}")
    return differences


def checked(first: int, count: int) -> int:
    """Whether sanitizers are silent and another compiler's optimiser agrees."""
    differences = 0
    for start in range(first, first + count, CHUNK):
        programs = [Wild(seed) for seed in range(start, min(start + CHUNK, first + count))]
        with tempfile.TemporaryDirectory() as folder:
            expected = run.by_gcc(programs, Path(folder))
            try:
                other = run.by_gcc(programs, Path(folder), "gcc", ("-O1", "-w", *run.SANITIZE))
            except AssertionError as e:
                print(f"from {start}: {e}")
                differences += 1
                continue
            again = run.by_gcc(programs, Path(folder), "clang",
                               ("-O2", "-w", "-ffp-contract=off"))
        for p, x, y, z in zip(programs, expected, other, again, strict=True):
            if not x == y == z:
                print(f"seed {p.seed}: compilers differ")
                differences += 1
    print(f"{count} programs, {differences} doubtful")
    return differences


def show(seed: int) -> int:
    p = Wild(seed)
    with tempfile.TemporaryDirectory() as folder:
        print(run.c_program([p]))
        wanted = run.by_gcc([p], Path(folder))[0]
    print("gcc ", wanted)
    module, differences = run.generated(p), 0
    for way in run.WAYS:
        got = run.by_nvir(p, way, module)
        differences += got != wanted
        print(f"{way:4}", "same" if got == wanted else got)
    return differences


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--check", type=int, default=0, metavar="N")
    given = parser.parse_args()
    if given.seed is not None:
        return int(bool(show(given.seed)))
    if given.check:
        return int(bool(checked(given.first, given.check)))
    return int(bool(campaign(given.first, given.count, given.processes)))


if __name__ == "__main__":
    sys.exit(main())
