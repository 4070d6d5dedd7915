"""One owner for each fact, counted: what a new file must not add to.

Each figure has a maximum; a change that lowers a figure lowers its maximum here. `python
tests/test_house.py` prints the figures and where they come from.

Opcode lists. Counted is every literal of two or more opcodes that stands outside the owners (the
rows of `ir`, selection, the interpreter, the front ends): a tuple, list, set, or dict (its keys),
a text that is nothing but opcodes, a regular expression of alternatives, a `case` of several, and
comparisons of one expression with several opcodes joined by `or` or `and`. An entry is an opcode
if it is the name of a row, or begins with one and a point, or is the beginning of several (as
`startswith` takes it). A literal inside another counts once, and one counts only if at least half
of its texts are opcodes.

Import circles are those of modules; imports inside functions count, imports for type checkers
do not.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

NVIR = Path(__file__).resolve().parents[1] / "nvir"

# What the figures may be at most, and what they shall come to (the aims of the design).
MAXIMA = {
    "opcode lists": 10,
    "fmt: skip": 0,
    "questions to Path": 1,
    "class names defined twice": 13,
    "folders of more than 20 modules": 0,
    "import circles of more than three files": 0,
    "lines": 145_237,
}
OWNERS = (
    "ir/opcodes", "ir/ori", "ir/nvvm_rows", "ir/intrinsics", "select", "passes/select", "interp",
    "frontend", "llvm", "passes/llvm", "sm/templates/rows",
)


@cache
def files() -> dict[str, ast.Module]:
    """Each module of nvir by its path below the package."""
    return {
        f.relative_to(NVIR).as_posix(): ast.parse(f.read_text("utf-8"))
        for f in sorted(NVIR.rglob("*.py"))
    }


# ------------------------------------------------------------------- opcode lists


@cache
def _names() -> frozenset[str]:
    from nvir.ir.opcodes import NVVM, ORI
    from nvir.ir.opcodes.form import form, nvvm_form

    form("ret"), nvvm_form("ret")  # loads the rows
    return frozenset((*ORI.rows, *NVVM.rows))


@cache
def is_opcode(text: str) -> bool:
    """Whether a text names a row, alone or with modifiers, or begins several rows' names."""
    names = _names()
    parts = text.split(".")
    if any(".".join(parts[:n]) in names for n in range(1, len(parts) + 1)):
        return True
    return len(text) > 2 and sum(n.startswith((text + ".", text + "::")) for n in names) > 1


def _texts(node: ast.AST) -> list[str]:
    """The texts that a literal lists."""
    entries: list[ast.expr | None] = []
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        entries = list(node.elts)
    elif isinstance(node, ast.Dict):
        entries = list(node.keys)
    elif isinstance(node, ast.MatchOr):
        entries = [p.value for p in node.patterns if isinstance(p, ast.MatchValue)]
    elif isinstance(node, ast.BoolOp):
        return _compared(node)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _words(node.value)
    return [e.value for e in entries if isinstance(e, ast.Constant) and isinstance(e.value, str)]


def _compared(node: ast.BoolOp) -> list[str]:
    """What `x == "a" or x == "b"` compares its left side with, where it is one for all."""
    found: dict[str, list[str]] = {}
    for test in node.values:
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            right = test.comparators[0]
            if isinstance(right, ast.Constant) and isinstance(right.value, str):
                found.setdefault(ast.dump(test.left), []).append(right.value)
    return max(found.values(), key=len, default=[])


def _words(text: str) -> list[str]:
    """The words of a text that is nothing but opcodes, or of a regular expression's alternatives;
    "load or store" is prose."""
    alternatives = re.findall(r"\w[\w.:]*(?:\|\w[\w.:]*)+", text)
    words = alternatives[0].split("|") if alternatives else text.split()
    if len(words) + bool(alternatives) < 3 or words[1:-1] in (["and"], ["or"]):
        return []
    return words if all(map(is_opcode, words)) else []


def _docstrings(tree: ast.Module) -> set[int]:
    return {
        id(n.body[0].value)
        for n in ast.walk(tree)
        if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef)
        and n.body and isinstance(n.body[0], ast.Expr) and isinstance(n.body[0].value, ast.Constant)
    }


def opcode_lists() -> list[str]:
    """`file:line: opcodes` of each list outside the owners."""
    found = []

    def visit(file: str, node: ast.AST, skip: set[int]) -> None:
        if id(node) in skip or isinstance(node, ast.JoinedStr):
            return
        texts = _texts(node)
        opcodes = [t for t in texts if is_opcode(t)]
        if len(opcodes) > 1 and len(opcodes) * 2 >= len(texts):
            found.append(f"{file}:{getattr(node, 'lineno', 0)}: {' '.join(opcodes)[:80]}")
            return
        for child in ast.iter_child_nodes(node):
            visit(file, child, skip)

    for file, tree in files().items():
        if not file.startswith(OWNERS):
            visit(file, tree, _docstrings(tree))
    return found


# ---------------------------------------------------------------- the other figures


def format_skips() -> list[str]:
    return [
        f"{f}:{n}"
        for f in files()
        for n, line in enumerate((NVIR / f).read_text("utf-8").splitlines(), 1)
        if "# fmt: skip" in line
    ]


def doubled_classes() -> list[str]:
    names = Counter(
        n.name for tree in files().values() for n in ast.walk(tree) if isinstance(n, ast.ClassDef)
    )
    return [f"{name} ×{n}" for name, n in names.most_common() if n > 1]


def full_folders() -> list[str]:
    counts = Counter(str(Path(f).parent) for f in files() if not f.endswith("__init__.py"))
    return [f"{folder}: {n}" for folder, n in counts.items() if n > 20]


def _module(file: str) -> str:
    parts = ("nvir", *Path(file).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(tree: ast.AST) -> Iterator[str]:
    """Every module or member that a file imports, but those for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{a.name}" for a in node.names)
        else:
            yield from _imports(node)


def import_circles() -> list[str]:
    graph = nx.DiGraph()
    modules = {_module(f): f for f in files()}
    for name, f in modules.items():
        for imported in _imports(files()[f]):
            target = imported if imported in modules else imported.rpartition(".")[0]
            if target in modules and target != name:
                graph.add_edge(name, target)
    circles = sorted(nx.strongly_connected_components(graph), key=len, reverse=True)
    return [f"{len(c)} files: {' '.join(sorted(c)[:6])} …" for c in circles if len(c) > 3]


def lines() -> list[str]:
    return [line for f in files() for line in (NVIR / f).read_text("utf-8").splitlines()]


def path_questions() -> list[str]:
    """Calls of `is_file` and its like: they raise of a name that is too long, where those of
    `os.path` say no."""
    return [
        f"{name}:{node.lineno}" for name, module in files().items() for node in ast.walk(module)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("is_file", "is_dir", "exists") and not node.args
    ]


FIGURES = {
    "opcode lists": opcode_lists,
    "fmt: skip": format_skips,
    "questions to Path": path_questions,
    "class names defined twice": doubled_classes,
    "folders of more than 20 modules": full_folders,
    "import circles of more than three files": import_circles,
    "lines": lines,
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_not_above_its_maximum(name):
    found = FIGURES[name]()
    assert len(found) <= MAXIMA[name], f"{len(found)} {name}; the last: {found[-12:]}"


@pytest.mark.parametrize("code", [
    'x = ("add", "sub")', 'x = {"ld": 1, "st": 2}', 'x = frozenset(["tex.1d", "tld4"])',
    'x = "atom red st"', 're.compile(r"^(bar|barrier)\\.sync")', 'a == "add" or a == "sub"',
    'n.startswith(("wgmma", "tcgen05"))', 'match x:\n case "add" | "sub": pass',
])
def test_what_counts_as_an_opcode_list(code, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "files", lambda: {"a.py": ast.parse(code)})
    assert len(opcode_lists()) == 1


@pytest.mark.parametrize("code", [
    'x = ("add",)', 'x = ("global", "shared")', 'raise E("load and store")', 'a == "add"',
    '"""add sub mul"""', 'x = ("a", "b", "c", "add", "d")', 'a == "add" or b == "sub"',
])
def test_what_does_not(code, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "files", lambda: {"a.py": ast.parse(code)})
    assert not opcode_lists()


if __name__ == "__main__":
    for title, count in FIGURES.items():
        rows = count()
        print(f"{title}: {len(rows)} (at most {MAXIMA[title]})")
        if title not in ("lines", "fmt: skip"):
            print(*(f"    {r}" for r in rows), sep="\n")
