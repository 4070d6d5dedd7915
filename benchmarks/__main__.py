"""The long jobs: campaigns and measurements, what each is, and what was last run on which commit.

    python -m benchmarks                 # the list
    python -m benchmarks NAME [OPTION…]  # run one, and note how it ended in totals.json
    python -m benchmarks.NAME [OPTION…]  # run one without noting it

A job is a file of this folder with a `main`; its docstring's first line is what the list shows.
The totals file (benchmarks/totals.json, or NVIR_TOTALS) holds of each job when it was last run, on
which commit, with which options, how long it took and how it ended.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TOTALS = Path(os.environ.get("NVIR_TOTALS") or HERE / "totals.json")


def jobs() -> dict[str, str]:
    """The first line of each job's docstring, by its name."""
    found = {}
    for path in sorted(HERE.glob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        runs = any(isinstance(x, ast.FunctionDef) and x.name == "main" for x in tree.body)
        if runs and path.stem != "__main__":
            found[path.stem] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return found


def read_totals() -> dict[str, Any]:
    try:
        made: dict[str, Any] = json.loads(TOTALS.read_text("utf-8"))
        return made
    except FileNotFoundError:
        return {}


def commit() -> str:
    """The commit of the tree, with a mark where files differ from it; "" without git."""
    words = ["git", "-C", str(HERE), "describe", "--always", "--dirty", "--abbrev=10"]
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def shown(option: str) -> str:
    """An option without the folders of this machine, for the file is kept with the project."""
    return Path(option).name if os.path.isabs(option) else option


def run(name: str, options: list[str]) -> int:
    """Run a job in a process of its own and note how it ended; its exit status."""
    before, start = os.times(), commit()
    status = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *options], cwd=HERE.parent
    ).returncode
    after = os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])  # of children
    totals = read_totals()
    totals[name] = {
        "commit": start, "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
        "options": [shown(o) for o in options], "cpu_seconds": round(cpu, 1), "status": status,
    }
    beside = TOTALS.with_name(TOTALS.name + ".part")
    beside.write_text(json.dumps(totals, indent=1, sort_keys=True) + "\n", "utf-8")
    os.replace(beside, TOTALS)
    return status


def listing() -> str:
    totals = read_totals()
    lines = []
    for name, summary in jobs().items():
        last = totals.get(name)
        shown = "not run" if last is None else (
            f"{last['commit']} {last['date']} {last['cpu_seconds']:g} s, status {last['status']}"
        )
        lines.append(f"{name:18} {shown:48} {summary}")
    return "\n".join(lines)


def main(argv: list[str]) -> int:
    if not argv:
        print(listing())
        return 0
    if argv[0] in ("-h", "--help") or argv[0] not in jobs():
        print(__doc__, file=sys.stderr)
        return 0 if argv[0] in ("-h", "--help") else 2
    return run(argv[0], argv[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
