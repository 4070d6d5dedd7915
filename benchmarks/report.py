"""How long `nvir report` takes, against `ptxas -O3` on the same file.

    python benchmarks/report.py [--lines 20000 50000] [--repeat N] [--profile]

The files are kernels of examples/ptx (nvcc's for sm_80, without line information), repeated under
new names up to so many lines.
Times are user times of whole processes, the least of N runs. `nvir report` must take at most three
times what ptxas takes, and memory in proportion to the file. `--profile` prints where
nvir's time goes.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from nvir.toolchain import find

EXAMPLES = Path(__file__).resolve().parent.parent / "examples" / "ptx"
HEADER = ".version 9.0\n.target sm_80\n.address_size 64\n"
LIMIT = 3.0
_DROPPED = re.compile(r"^\s*\.(?:loc|file|version|target|address_size)\b.*\n", re.M)
_ENTRY = re.compile(r"^(?:\.visible )?\.entry (\w+)\(", re.M)


def kernels() -> list[tuple[str, str, str]]:
    """(declarations, name, text) of the kernels of the examples that stand for themselves."""
    out = []
    for path in sorted(EXAMPLES.glob("*.sm_80.ptx")):
        text = path.read_text()
        if path.name.startswith(("clang", "triton")) or ".func" in text:
            continue
        text = _DROPPED.sub("", text)
        text = re.sub(r"^\s*\.section\s.*?^\t?}\s*$", "", text, flags=re.M | re.S)
        found = list(_ENTRY.finditer(text))
        ends = [m.start() for m in found[1:]] + [len(text)]
        for k, (m, end) in enumerate(zip(found, ends, strict=True)):
            out.append((text[: m.start()] if k == 0 else "", m[1], text[m.start() : end]))
    return out


def generate(lines: int) -> str:
    """PTX of at least so many lines: the examples' kernels again and again under new names."""
    chosen = kernels()
    parts = [HEADER, *(d for d, _, _ in chosen)]
    total, copy = 0, 0
    while total < lines:
        for _, name, text in chosen:
            fresh = re.sub(rf"\b{name}\b", f"{name}_{copy}", text)
            fresh = re.sub(rf"\b{name}_param_", f"{name}_{copy}_param_", fresh)
            fresh = fresh.replace("$L__BB", f"$L__C{copy}_BB")
            parts.append(fresh)
            total += fresh.count("\n")
            if total >= lines:
                break
        copy += 1
    return "\n".join(parts)


def user_time(command: list[str], repeat: int) -> tuple[float, float]:
    """The least user time of several runs of a command, in seconds, and the peak memory of the
    last, in MB. Raises when one fails."""
    best, peak = float("inf"), 0.0
    for _ in range(repeat):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        best, peak = min(best, used.ru_utime), used.ru_maxrss / 1024
    return best, peak


def profile(path: Path) -> None:
    import cProfile
    import pstats

    from nvir.ptx.reader import read_ptx
    from nvir.report import report

    p = cProfile.Profile()
    p.enable()
    report(read_ptx(path)).to_json()
    p.disable()
    pstats.Stats(p).sort_stats("tottime").print_stats(28)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lines", type=int, nargs="+", default=[20_000, 50_000])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    ptxas = str(find("ptxas"))
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for lines in given.lines:
            path = Path(folder) / f"{lines}.ptx"
            path.write_text(generate(lines))
            if given.profile:
                profile(path)
                continue
            theirs, _ = user_time(
                [ptxas, "-arch=sm_80", "-O3", str(path), "-o", "/dev/null"], given.repeat
            )
            nvir = [sys.executable, "-c", "from nvir.cli import main; main()", "report", str(path)]
            ours, peak = user_time(nvir, given.repeat)
            worst = max(worst, ours / theirs)
            print(
                f"{path.read_text().count(chr(10)):>7} lines   ptxas -O3 {theirs:6.2f} s   "
                f"nvir report {ours:6.2f} s   ratio {ours / theirs:.2f}   "
                f"{peak:.0f} MB"
            )
    if not given.profile:
        verdict = "holds" if worst <= LIMIT else "FAILS"
        print(f"worst ratio {worst:.2f}, at most {LIMIT:.0f}: {verdict}")


if __name__ == "__main__":
    main()
