"""Which rows of the coverage list have a test.

    python -m tests.seeds [COVERAGE.md] [--group IR]

Rows are marked in tests by `@pytest.mark.seed("IR-04", …)`. A row that describes the
real binary alone, so that nothing in nvir can be tested against it, stands in
provenance.py with the reason. The list itself lies beside the project; without it only
the marked IDs are printed.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.provenance import PROVENANCE

HERE = Path(__file__).resolve().parent
LIST = HERE.parent.parent / "shared" / "coverage.md"
_ID = re.compile(r"[A-Z0-9]+-\d+")
_ROW = re.compile(r"^\| ((?:[A-Z0-9]+)-\d+)(?: \*\*\w+\*\*)? \|[^|]*\|\s*([^|]*)", re.MULTILINE)


@functools.cache
def marked(folder: Path = HERE) -> dict[str, list[str]]:
    """ID → the test files that name it in a mark."""
    found: dict[str, list[str]] = {}
    for file in sorted(folder.rglob("test_*.py")):
        text = file.read_text("utf-8")
        if "mark.seed" in text:
            for name in _marks(ast.parse(text)):
                found.setdefault(name, []).append(str(file.relative_to(folder)))
    return found


def _marks(tree: ast.Module) -> Iterator[str]:
    """The IDs that marks of a file name: literally, or by `*TABLE`, a table of that file by ID."""
    tables = {
        t.id: n.value
        for n in tree.body if isinstance(n, ast.Assign | ast.AnnAssign)
        for t in (n.targets if isinstance(n, ast.Assign) else [n.target])
        if isinstance(t, ast.Name) and n.value is not None
    }
    for call in ast.walk(tree):
        f = call.func if isinstance(call, ast.Call) else None
        if not isinstance(f, ast.Attribute) or f.attr != "seed":
            continue
        if not (isinstance(f.value, ast.Attribute) and f.value.attr == "mark"):
            continue
        assert isinstance(call, ast.Call)
        for a in call.args:
            if isinstance(a, ast.Starred) and isinstance(a.value, ast.Name):
                table = tables[a.value.id]
                names = table.keys if isinstance(table, ast.Dict) else ast.iter_child_nodes(table)
            else:
                names = [a]
            for x in names:
                if isinstance(x, ast.Constant) and _ID.fullmatch(str(x.value)):
                    yield str(x.value)


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
    missing = [k for k in rows if k not in tested and k not in PROVENANCE]
    for k in missing:
        print(f"{k:8} {rows[k]}")
    unknown = sorted(k for k in tested if k not in listed(path))
    if unknown:
        print("marked but not in the list:", *unknown)
    told = sum(k in rows and k not in tested for k in PROVENANCE)
    print(f"{len(rows) - len(missing)} of {len(rows)} rows have a test or are "
          f"provenance only ({told})")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
