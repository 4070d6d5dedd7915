"""How long `nvir report` and its sisters take, against `ptxas -O3` on the same file.

    python benchmarks/report.py [FOLDER] [--only TEXT] [--what report lines html explain]
    python benchmarks/report.py --large 20000 50000
    python benchmarks/report.py --profile [FOLDER]

FOLDER holds PTX of real kernels; without one only the start-up is measured. Times are CPU times
(user and system) of whole processes, the least of `--repeat` runs, everything about one file in
turn, so that a busy machine slows all alike. A file's ratio is its report's time over that of
ptxas, which counts as FLOOR where it is quicker. `--large` takes the kernels of examples/ptx,
repeated under new names up to so many lines.

    report      geometric mean of the ratios at most 2.5, none over 5
    lines html  geometric mean over the report's time at most 1.3
    explain     of the hottest loop: at most 1 s on 95 % of the files, 3 s on all
    start       `import nvir` at most 0.05 s, the report of an empty kernel at most 0.18 s
"""

from __future__ import annotations

import argparse
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from nvir.toolchain import find

EXAMPLES = Path(__file__).resolve().parent.parent / "examples" / "ptx"
HEADER = ".version 9.0\n.target sm_80\n.address_size 64\n"
EMPTY = HEADER + ".visible .entry k(){ ret; }\n"
FLOOR = 0.1  # seconds: ptxas' own start-up and the shell's noise
GEOMETRIC_MEAN, WORST, EXTRA = 2.5, 5.0, 1.3
EXPLAIN_MOST, EXPLAIN_WORST = 1.0, 3.0  # seconds, of 95 % of the files and of all
IMPORT, START = 0.05, 0.18
_DROPPED = re.compile(r"^\s*\.(?:loc|file|version|target|address_size)\b.*\n", re.M)
_ENTRY = re.compile(r"^(?:\.visible )?\.entry (\w+)\(", re.M)
_TARGET = re.compile(r"^\.target\s+(\w+)", re.M)
NVIR = [sys.executable, "-c", "from nvir.cli import main; main()"]
COMMANDS = {
    "report": ["report"], "lines": ["report", "--lines"], "html": ["report", "--html"],
    "explain": ["explain"],
}


def cost(command: list[str], repeat: int) -> tuple[float, float]:
    """The least CPU time of several runs of a command, in seconds, nan where it fails; the peak
    memory of the last, in MB."""
    best, peak = math.inf, 0.0
    for _ in range(repeat):
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            return math.nan, peak
        best, peak = min(best, used.ru_utime + used.ru_stime), used.ru_maxrss / 1024
    return best, peak


def cpu_time(command: list[str], repeat: int) -> float:
    return cost(command, repeat)[0]


def assembler(path: Path, repeat: int) -> float:
    """Seconds of `ptxas -O3` for the file's own target."""
    target = _TARGET.search(path.read_text("utf-8", "replace"))
    arch = target[1] if target is not None else "sm_80"
    return cpu_time([str(find("ptxas")), "-O3", f"-arch={arch}", str(path), "-o", os.devnull],
                    repeat)


# ---------------------------------------------------------------- what is printed


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def spread(name: str, values: list[float], unit: str = "") -> None:
    """A line with the geometric mean and the quantiles."""
    order = sorted(values)
    at = {q: order[round(q * (len(order) - 1))] for q in (0, 0.25, 0.5, 0.75, 0.9, 0.95, 1)}
    shown = "  ".join(f"{q:.0%} {v:.2f}{unit}" for q, v in at.items())
    print(f"{name:16} geometric mean {geometric_mean(order):.2f}{unit}   {shown}")


def verdict(text: str, holds: bool) -> None:
    print(f"{'holds' if holds else 'FAILS'}: {text}")


def start_up(folder: Path, repeat: int) -> None:
    path = folder / "empty.ptx"
    path.write_text(EMPTY)
    alone = cpu_time([sys.executable, "-c", "import nvir"], repeat)
    empty = cpu_time([*NVIR, "report", str(path)], repeat)
    bare = cpu_time([sys.executable, "-c", "pass"], repeat)
    print(f"start-up: Python {bare:.3f} s, import nvir {alone:.3f} s, empty kernel {empty:.3f} s")
    verdict(f"import nvir takes at most {IMPORT} s", alone <= IMPORT)
    verdict(f"the report of an empty kernel takes at most {START} s", empty <= START)


def corpus(files: list[Path], what: list[str], repeat: int) -> None:
    times: dict[str, dict[Path, float]] = {name: {} for name in what}
    ratios: dict[Path, float] = {}
    for k, path in enumerate(files, 1):
        theirs = max(assembler(path, repeat), FLOOR)
        shown = [f"ptxas {theirs:.2f}"]
        for name in what:
            t, peak = cost([*NVIR, *COMMANDS[name], str(path)], repeat)
            if not math.isnan(t):  # explain has nothing to say of a file without loops
                times[name][path] = t
            shown.append(f"{name} {t:.2f} s {peak:.0f} MB")
        if "report" in what and not math.isnan(theirs) and path in times["report"]:
            ratios[path] = times["report"][path] / theirs
        print(f"[{k}/{len(files)}] {path.name[-70:]}: {', '.join(shown)}", flush=True)
    print()
    if ratios:
        spread("report / ptxas", list(ratios.values()))
        for path in sorted(ratios, key=ratios.__getitem__)[-8:]:
            print(f"    {ratios[path]:.2f}  {times['report'][path]:.2f} s  {path.name}")
        mean, worst = geometric_mean(list(ratios.values())), max(ratios.values())
        verdict(f"geometric mean {mean:.2f} of at most {GEOMETRIC_MEAN}", mean <= GEOMETRIC_MEAN)
        verdict(f"worst ratio {worst:.2f} of at most {WORST}", worst <= WORST)
    for name in ("lines", "html"):
        more = [t / times["report"][p] for p, t in times.get(name, {}).items()
                if p in times.get("report", {})]
        if more:
            spread(f"--{name} / report", more)
            mean = geometric_mean(more)
            verdict(f"--{name} takes {mean:.2f} times the report's time", mean <= EXTRA)
    if times.get("explain"):
        explained = times["explain"]
        spread("explain", list(explained.values()), " s")
        for path in sorted(explained, key=explained.__getitem__)[-8:]:
            print(f"    {explained[path]:.2f} s  {path.name}")
        quick = sum(t <= EXPLAIN_MOST for t in explained.values()) / len(explained)
        verdict(f"{quick:.1%} of the explanations within {EXPLAIN_MOST:g} s", quick >= 0.95)
        worst = max(explained.values())
        verdict(f"the slowest explanation takes {worst:.2f} s", worst <= EXPLAIN_WORST)


# ---------------------------------------------------------------- large files


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


def profile(files: list[Path]) -> None:
    import cProfile
    import pstats

    from nvir.ptx.reader import read_ptx
    from nvir.report import report

    p = cProfile.Profile()
    p.enable()
    for path in files:
        report(read_ptx(path)).to_json()
    p.disable()
    pstats.Stats(p).sort_stats("tottime").print_stats(40)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--only", default="", help="files whose name holds this")
    parser.add_argument("--what", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    parser.add_argument("--large", type=int, nargs="+", default=[])
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        start_up(Path(made), max(given.repeat, 3))
        files = []
        if given.folder is not None and not given.folder.is_dir():
            print(f"{given.folder} is not there: no real kernels are measured")
        elif given.folder is not None:
            files = sorted(p for p in given.folder.rglob("*.ptx") if given.only in p.name)
        for lines in given.large:
            path = Path(made) / f"{lines}_lines.ptx"
            path.write_text(generate(lines))
            files.append(path)
        if given.profile:
            profile(files)
        elif files:
            corpus(files, given.what, given.repeat)


if __name__ == "__main__":
    main()
