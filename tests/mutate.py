"""Whether the tests of the notes' rows notice small changes of the files that carry the rows out.

    python -m tests.mutate [--rows UNR,LIC] [--count 40] [--seed 1] [--list]

A mutation changes one constant, comparison, operator or call of a file (`FILES`, by the group of
rows) and runs the tests that name rows of the group, in a copy of links with that one file
changed. What they do not notice is listed: line, and what became of it. `--list` only counts the
mutations that there are. Names of trace steps, texts and assertions are left alone.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from tests.seeds import HERE, marked

ROOT = HERE.parent
FILES = {
    "UNR": ("nvir/documented/unroll/steps.py", "nvir/documented/unroll/facts.py",
            "nvir/assembler/unroll/latch_exit.py"),
    "LIC": ("nvir/documented/hoist/core.py", "nvir/documented/hoist/stages.py"),
    "SET": ("nvir/documented/hoist/sets.py",),
    "SWP": ("nvir/documented/pipelining.py",),
    "MEM": ("nvir/passes/aggregate/plan.py", "nvir/passes/aggregate/copies.py"),
    "STR": ("nvir/passes/aggregate/split.py",),
    "CAL": ("nvir/frontend/irgen/calls.py",),
    "ASM": ("nvir/frontend/irgen/intrinsic/inline_asm.py",),
}
OPPOSITE: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult, ast.LShift: ast.RShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}
TIMEOUT = 240  # seconds: a mutation that hangs is noticed


@attrs.frozen
class Mutation:
    """One change: the file, the number of its node in a walk, and what it is, for people."""

    group: str
    file: str
    node: int
    line: int
    text: str


def mutations(group: str, file: str) -> list[Mutation]:
    """All single changes of a file."""
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    left = set(_untouched(tree))
    found = []
    for k, n in enumerate(ast.walk(tree)):
        if id(n) in left or not isinstance(n, ast.expr | ast.Expr):
            continue
        changed = mutated(copy.deepcopy(n))
        if changed is not None:
            text = f"{ast.unparse(n)[:60]}  →  {ast.unparse(changed)[:60]}"
            found.append(Mutation(group, file, k, n.lineno, text))
    return found


def _untouched(tree: ast.Module) -> Iterator[int]:
    """Nodes whose change changes no behaviour: annotations, decorators, texts, assertions."""
    for n in ast.walk(tree):
        skip: list[ast.AST] = []
        if isinstance(n, ast.FunctionDef):
            skip += [*n.decorator_list, *([n.returns] if n.returns else [])]
        elif isinstance(n, ast.ClassDef):
            skip += n.decorator_list
        elif isinstance(n, ast.keyword) and n.arg == "strict":  # of zip: an assertion
            skip.append(n)
        elif isinstance(n, ast.arg | ast.AnnAssign) and n.annotation is not None:
            skip.append(n.annotation)
        elif isinstance(n, ast.Assert | ast.Raise | ast.JoinedStr) or (
            isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test)
        ):
            skip.append(n)
        for s in skip:
            yield from (id(x) for x in ast.walk(s))


def mutated(n: ast.AST) -> ast.AST | None:
    """The changed node, or None for one that is not changed."""
    if isinstance(n, ast.Constant) and isinstance(n.value, bool):
        n.value = not n.value
    elif isinstance(n, ast.Constant) and isinstance(n.value, int):
        n.value += 1
    elif isinstance(n, ast.Compare) and type(n.ops[0]) in OPPOSITE:
        n.ops[0] = OPPOSITE[type(n.ops[0])]()  # type: ignore[call-overload]
    elif isinstance(n, ast.BoolOp | ast.BinOp) and type(n.op) in OPPOSITE:
        n.op = OPPOSITE[type(n.op)]()  # type: ignore[assignment]
    elif isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.Not):
        return n.operand
    elif isinstance(n, ast.Expr) and isinstance(n.value, ast.Call):
        return ast.copy_location(ast.Expr(ast.Constant(None)), n)
    else:
        return None
    return n


class _Change(ast.NodeTransformer):
    def __init__(self, wanted: ast.AST) -> None:
        self.wanted = wanted

    def visit(self, node: ast.AST) -> ast.AST:
        return mutated(node) or node if node is self.wanted else self.generic_visit(node)


def source_of(m: Mutation) -> str:
    """The text of the file with the change."""
    tree = ast.parse((ROOT / m.file).read_text("utf-8"))
    wanted = next(n for k, n in enumerate(ast.walk(tree)) if k == m.node)
    return ast.unparse(ast.fix_missing_locations(_Change(wanted).visit(tree))) + "\n"


def tests_of(m: Mutation) -> list[str]:
    """The test files that name rows of the group: those with a fifth of its rows, and those that
    name the package; the shortest first."""
    package = str(Path(m.file).parent).replace("/", ".")
    mine = {row: fs for row, fs in marked().items() if row.startswith(f"{m.group}-")}
    counts = Counter(f for fs in mine.values() for f in set(fs))
    files = {f for f, n in counts.items() if 5 * n >= len(mine)
             or package in (HERE / f).read_text("utf-8")}
    files |= {"documented/test_steps.py"} if "documented" in package else set()
    return sorted(files, key=lambda f: (HERE / f).stat().st_size)


def is_noticed(m: Mutation, folder: Path) -> bool:
    """Whether the tests of the group fail with the change."""
    subprocess.run(["cp", "-rs", "--remove-destination", str(ROOT / "nvir"), str(folder)],
                   check=True)
    for name in ("tests", "examples", "pyproject.toml"):
        if not (folder / name).exists():
            (folder / name).symlink_to(ROOT / name)
    (folder / m.file).unlink()
    (folder / m.file).write_text(source_of(m), "utf-8")
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider",
             *(str(folder / "tests" / f) for f in tests_of(m))]
    env = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(words, cwd=folder, env=env, capture_output=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default=",".join(FILES), help="groups of rows")
    parser.add_argument("--count", type=int, default=40, help="mutations that are tried")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="count the mutations, try none")
    args = parser.parse_args(argv)
    groups = args.rows.split(",")
    unknown = [g for g in groups if g not in FILES]
    if unknown:
        parser.error(f"no files for rows {', '.join(unknown)} (known: {', '.join(FILES)})")
    every = [m for g in groups for f in FILES[g] for m in mutations(g, f)]
    print(f"{len(every)} mutations of {len({m.file for m in every})} files")
    if args.list:
        return 0
    chosen = random.Random(args.seed).sample(every, min(args.count, len(every)))
    survivors = []
    with tempfile.TemporaryDirectory() as name:
        for k, m in enumerate(chosen, 1):
            if not is_noticed(m, Path(name)):
                survivors.append(m)
                print(f"[{k}] survives: {m.group} {m.file}:{m.line}: {m.text}", flush=True)
    share = 100 * (1 - len(survivors) / len(chosen))
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} noticed ({share:.0f} %)")
    return 0 if not survivors else 1


if __name__ == "__main__":
    sys.exit(main())
