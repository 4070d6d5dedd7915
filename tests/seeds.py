"""Which rows of the coverage list have a test.

    python -m tests.seeds [COVERAGE.md] [--group IR]

Rows are marked in tests by `@pytest.mark.seed("IR-04", …)`. The list itself lies
beside the project; without it only the marked IDs are printed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIST = HERE.parent.parent / "shared" / "coverage.md"
_MARK = re.compile(r"mark\.seed\(([^)]*)\)", re.DOTALL)
_ROW = re.compile(r"^\| ((?:[A-Z0-9]+)-\d+)(?: \*\*\w+\*\*)? \|[^|]*\|\s*([^|]*)", re.MULTILINE)


def marked(folder: Path = HERE) -> dict[str, list[str]]:
    """ID → the test files that name it in a mark."""
    found: dict[str, list[str]] = {}
    for file in sorted(folder.rglob("test_*.py")):
        for arguments in _MARK.findall(file.read_text("utf-8")):
            for name in re.findall(r"[\"']([A-Z0-9]+-\d+)[\"']", arguments):
                found.setdefault(name, []).append(str(file.relative_to(folder)))
    return found


def listed(path: Path = LIST) -> dict[str, str]:
    """ID → what the coverage list asks, cut to a line."""
    return {k: " ".join(t.split())[:90] for k, t in _ROW.findall(path.read_text("utf-8"))}


def main(argv: list[str]) -> int:
    group = argv[argv.index("--group") + 1] if "--group" in argv[:-1] else ""
    paths = [Path(a) for a in argv if a.endswith(".md")]
    path = paths[0] if paths else LIST
    tested = marked()
    if not path.is_file():
        print(f"{path} is not there: only the {len(tested)} marked IDs can be listed")
        print(" ".join(sorted(tested)))
        return 0
    rows = {k: t for k, t in listed(path).items() if k.startswith(group)}
    missing = [k for k in rows if k not in tested]
    for k in missing:
        print(f"{k:8} {rows[k]}")
    unknown = sorted(k for k in tested if k not in listed(path))
    if unknown:
        print("marked but not in the list:", *unknown)
    print(f"{len(rows) - len(missing)} of {len(rows)} rows have a test")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
