"""The whole corpus of CUDA sources through `nvir compile`, held against nvcc's PTX.

    python -m benchmarks.cuda_corpus CORPUS [--half report] [--only TEXT] [--front-end clang]
        [--cache FILE.json] [--json OUT.json] [--no-code]

CORPUS is a folder of CUDA sources with an index of flags, and nvcc's PTX of each. Told for each
file: whether it compiles, with which error not; kernels of nvcc's that are missing under their
names (those with nvcc's hash of a file in them are compared without it, and counted);
processor seconds; registers and SASS instructions of each kernel, nvir's by nvcc's through the same
ptxas. Kernels over 2.0 in either are listed. `--cache` keeps nvcc's figures.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from compile_cuda import figures
from ratios import geomean
from source_loops import folders

from nvir.ir.errors import NvirError

_HASHED = re.compile(r"N?(\d+)(?=_INTERNAL_[0-9a-f]{8}_)")
_LIBRARY = re.compile(r"CUB_\d+|THRUST_\d+")
_LIMIT = 900  # seconds for a file, by the clock


def options(key: str, entry: dict[str, Any], corpus: Path) -> list[str]:
    """The options of `nvir compile` for nvcc's of an entry."""
    root = corpus / "src" / f"{entry['package']}-{entry['version']}"
    made = [f"-I{root / folder}" for folder in entry["includes"]]
    made += [f"-I{folder}" for folder in folders(corpus)]
    given = iter(entry["flags"])
    for flag in given:
        if flag == "-use_fast_math":
            made.append("--use_fast_math")
        elif flag == "-include":
            made += [flag, next(given)]
        elif flag.startswith("-std="):
            made += ["-std", flag[5:]]
        elif flag.startswith(("-D", "-I", "-U")):
            made.append(flag)
    return [str(root / key.partition("/")[2]), *made]


def compiled(command: list[str]) -> tuple[str | None, str, float]:
    """(PTX or None, the last of what is told, processor seconds with those of tools). Python keeps
    its bytecode, as it does of an installed package: else it takes 0.4 s at each start."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "made.ptx"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            done = subprocess.run(
                ["nice", sys.executable, "-m", "nvir", "compile", *command, "-o", str(out)],
                capture_output=True, text=True, errors="replace", timeout=_LIMIT, env=env)
        except subprocess.TimeoutExpired:
            return None, f"over {_LIMIT} s", float(_LIMIT)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        told = [x for x in done.stderr.splitlines() if "error" in x or "Error" in x]
        return (out.read_text() if done.returncode == 0 else None,
                (told or [done.stderr.strip()[-200:]])[0], seconds)


def plain(name: str) -> str:
    """A kernel's name without nvcc's hash of the file, and without what stands for it at clang and
    what follows from either: references, and the letters around nested names."""
    while m := _HASHED.search(name):
        name = name[: m.start()] + name[m.end() + int(m[1]) :]
    return re.sub(r"S\w?_|12_GLOBAL__N_1|[NEL]", "", name)


def row(key: str, entry: dict[str, Any], given: argparse.Namespace,
        known: dict[str, Any]) -> dict[str, Any]:
    asked = ["--arch", "sm_80", "--front-end", given.front_end]
    ptx, error, seconds = compiled([*options(key, entry, given.corpus), *asked])
    made: dict[str, Any] = {
        "file": key, "ptx": entry["ptx"], "seconds": round(seconds, 2), "hashed": 0,
        "error": error if ptx is None else "", "missing": entry["kernels"], "kernels": {}}
    if ptx is None:
        return made
    names = set(re.findall(r"\.entry\s+([\w$]+)", ptx))
    pairs = {k: k for k in entry["kernels"] if k in names}
    others = {plain(n): n for n in names if n not in pairs}
    hashed = {k: others[plain(k)] for k in entry["kernels"]
              if "_INTERNAL_" in k and plain(k) in others}
    pairs |= hashed
    made["hashed"], made["missing"] = len(hashed), [k for k in entry["kernels"] if k not in pairs]
    if given.no_code:
        return made
    try:
        ours = figures(ptx, "sm_80")
    except NvirError as e:
        return made | {"error": str(e)}
    if key not in known:
        known[key] = figures((given.corpus / "ptx" / entry["ptx"]).read_text(), "sm_80")
    made["kernels"] = {k: (*ours[n], *known[key][k]) for k, n in pairs.items()
                       if n in ours and k in known[key]}
    return made


def reason(ptx: str, kernel: str) -> str:
    """Why nvir's code of a kernel may be twice nvcc's, as far as nvcc's PTX tells."""
    body = ptx.partition(f".entry {kernel}(")[2].partition("\n}\n")[0]
    if "WARP_SZ" in body:
        return "nvcc reads warpSize from its register and keeps the loops; clang knows it, unrolls"
    if "rcp.approx.ftz.f64" in body:
        return "nvcc's mathematics take approximate reciprocals of doubles; nvir's divide exactly"
    return "no reason found"


def summary(rows: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    whole = [r for r in rows if not r["error"] and not r["missing"]]
    code = [(r["file"], k, *map(int, v)) for r in rows for k, v in r["kernels"].items()]
    means = [geomean([x[2 + n] / x[4 + n] for x in code]) if code else 1.0 for n in (0, 1)]
    ptx = {r["file"]: (folder / r["ptx"]).read_text() for r in rows}
    over = [f"{f} {k} registers {a}/{c} SASS {b}/{d}: {reason(ptx[f], k)}"
            for f, k, a, b, c, d in code if a > 2 * c or b > 2 * d]
    slow = sorted(((r["seconds"], r["file"]) for r in rows), reverse=True)
    return {
        "files": len(rows), "whole": len(whole), "share": round(len(whole) / len(rows), 3),
        "with a hash in a name": sum(bool(r["hashed"]) for r in whole),
        "kernels": len(code), "registers": round(means[0], 3), "SASS": round(means[1], 3),
        "over 2.0": over, "slowest": slow[:8], "seconds": round(sum(x for x, _ in slow), 1),
        "errors": Counter(r["error"].rpartition("error: ")[2][:90] for r in rows if r["error"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--half", choices=("choose", "report"))
    parser.add_argument("--only", action="append", help="files whose names hold this text")
    parser.add_argument("--front-end", default="auto")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--no-code", action="store_true", help="names and errors alone")
    given = parser.parse_args()
    given.corpus = given.corpus.resolve()
    folder = given.corpus / "ptx"
    index = json.loads((given.corpus / "index.json").read_text())
    known = json.loads(given.cache.read_text()) if given.cache and given.cache.exists() else {}
    rows = []
    for key, entry in sorted(index.items()):
        if given.half not in (None, entry["half"]) or (
                given.only and not any(x in key for x in given.only)):
            continue
        r = row(key, entry, given, known)
        rows.append(r)
        print(f"{key:76} {r['seconds']:6.2f} s {len(entry['kernels']) - len(r['missing']):4} of "
              f"{len(entry['kernels']):4} {r['error'][:200]}", flush=True)
        if given.cache:
            given.cache.write_text(json.dumps(known))
        if given.json:
            given.json.write_text(json.dumps({"rows": rows, **summary(rows, folder)}, indent=1))
    for name, value in summary(rows, folder).items():
        print(name, json.dumps(value, indent=1) if isinstance(value, list | dict) else value)


if __name__ == "__main__":
    main()
