"""The CUDA programs of tests/exec under `nvir exec`: as they are, after passes, after tuning.

    python -m benchmarks.exec_programs [--only NAME,NAME] [--ways "as it is,emission,tune"]

Builds each with nvcc and prints a line for each: whether its self-check passes, and the seconds of
CPU of the whole command, start-up included. At the end how many pass, and what a launch costs.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from nvir import toolchain

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests" / "exec" / "programs"
WAYS = {
    "as it is": [], "emission": ["--passes", "emission"],
    "documented": ["--passes", "loops", "--policy", "documented"], "tune": ["--tune"],
}


def build(name: str, folder: Path) -> Path | None:
    """The program, with the runtime linked statically; None where nvcc cannot build it."""
    nvcc = toolchain.find("nvcc")
    command = [nvcc, "-arch=sm_80", "-lineinfo", "-cudadevrt", "none", PROGRAMS / f"{name}.cu"]
    libraries = nvcc.resolve().parent.parent / "lib"
    if any(libraries.glob("libcudart*")):
        command += ["-L", libraries]
    done = subprocess.run([*map(str, command), "-o", folder / name], capture_output=True)
    return None if done.returncode else folder / name


def run(program: Path, options: list[str], *arguments: str) -> tuple[bool, float]:
    """(did it pass, seconds of CPU)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "nvir", "exec", *options, "--", str(program), *arguments]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60,
                              env={**os.environ, "PYTHONPATH": str(ROOT)})
    except subprocess.TimeoutExpired:
        return False, 60.0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.returncode == 0 and "PASSED" in done.stdout, seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--ways", default=",".join(WAYS))
    given = parser.parse_args()
    if not toolchain.available("nvcc"):
        print("skipped: nvcc was not found")
        return 0
    names = given.only.split(",") if given.only else sorted(p.stem for p in PROGRAMS.glob("*.cu"))
    ways = given.ways.split(",")
    passed = dict.fromkeys(ways, 0)
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'program':22}" + "".join(f"{w:>18}" for w in ways))
        for name in names:
            program = build(name, Path(folder))
            if program is None:
                print(f"{name:22} cannot be built here")
                continue
            cells = []
            for way in ways:
                ok, seconds = run(program, WAYS[way])
                passed[way] += ok
                cells.append(f"{'passed' if ok else 'FAILED':>9} {seconds:6.2f} s")
            print(f"{name:22}" + "".join(f"{c:>18}" for c in cells), flush=True)
        program = build("many_launches", Path(folder))
        if program is not None:
            one, many = (run(program, [], n)[1] for n in ("1", "1001"))
            print(f"a launch of a small kernel: {many - one:.2f} ms")
    print(", ".join(f"{w}: {n} of {len(names)}" for w, n in passed.items()))
    return int(any(n < len(names) for n in passed.values()))


if __name__ == "__main__":
    sys.exit(main())
