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
import functools
import gc
import importlib
import math
import os
import pickle
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import attrs
import pytest

from tests.seeds import HERE, marked

ROOT = HERE.parent
FILES = {
    "UNR": ("nvir/documented/unroll/steps.py", "nvir/documented/unroll/facts.py",
            "nvir/assembler/unroll/latch_exit.py", "nvir/documented/policy.py"),
    "LIC": ("nvir/documented/hoist/core.py", "nvir/documented/hoist/prepare.py",
            "nvir/documented/hoist/stages.py", "nvir/documented/policy.py"),
    "SET": ("nvir/documented/hoist/sets.py",),
    "SWP": ("nvir/documented/pipelining.py", "nvir/passes/loop/pipeline/feasible.py"),
    "LAT": ("nvir/sm/latency.py",),
    "PRA": ("nvir/assembler/postra/dependences.py", "nvir/assembler/postra/records.py",
            "nvir/assembler/postra/place.py", "nvir/assembler/postra/handed.py"),
    "P18": ("nvir/passes/loop/simplify/loop_simplify.py", "nvir/passes/loop/simplify/canonical.py"),
    "FUS": ("nvir/passes/loop/fuse/plan.py", "nvir/passes/loop/fuse/loop_fuse.py"),
    "FN": ("nvir/frontend/irgen/functions.py", "nvir/frontend/irgen/alloca.py"),
    "MEM": ("nvir/passes/aggregate/plan.py", "nvir/passes/aggregate/copies.py",
            "nvir/passes/aggregate/lower_aggr_copies.py", "nvir/passes/aggregate/func_args.py"),
    "STR": ("nvir/passes/aggregate/split.py", "nvir/passes/aggregate/leaves.py",
            "nvir/passes/aggregate/objects.py"),
    "CAL": ("nvir/frontend/irgen/calls.py", "nvir/frontend/irgen/abi.py"),
    "ASM": ("nvir/frontend/irgen/intrinsic/inline_asm.py",),
}
OPPOSITE: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult, ast.LShift: ast.RShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}
TIMEOUT = 240  # seconds: a mutation that hangs is noticed
MEMORY = 6 << 30  # bytes, likewise
# Tests that take steps out say nothing of how the steps decide.
QUIET = ("-q", "-p", "no:cacheprovider", "-k", "not leaves_a_hole")


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
            if any(ast.unparse(b) == "enum.Enum" for b in n.bases):  # names, whatever they are
                skip += [x for x in n.body if isinstance(x, ast.Assign)]
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


def tree_of(m: Mutation) -> ast.Module:
    """The file with the change."""
    tree = ast.parse((ROOT / m.file).read_text("utf-8"))
    wanted = next(n for k, n in enumerate(ast.walk(tree)) if k == m.node)
    ast.fix_missing_locations(_Change(wanted).visit(tree))
    return tree


def source_of(m: Mutation) -> str:
    return ast.unparse(tree_of(m)) + "\n"


@functools.cache
def tests_of(file: str) -> list[str]:
    """The test files of the rows that a file tells; and of its groups those with a fifth of the
    rows, and those that name the package; the shortest first."""
    package = str(Path(file).parent).replace("/", ".")
    files = {"documented/test_steps.py"}  # which has the trace of every group
    told = re.findall(r'"([A-Z0-9]+-\d+)"', (ROOT / file).read_text("utf-8"))
    files |= {f for row in told for f in marked().get(row, ())}
    for group in (g for g, fs in FILES.items() if file in fs):  # the policy's is of several
        mine = {row: fs for row, fs in marked().items() if row.startswith(f"{group}-")}
        counts = Counter(f for fs in mine.values() for f in set(fs))
        files |= {f for f, n in counts.items() if 5 * n >= len(mine)
                  or package in (HERE / f).read_text("utf-8")}
    files.discard("documented/test_steps_on_corpus.py")  # libclang wants more than MEMORY
    return sorted(files, key=lambda f: (HERE / f).stat().st_size)


def is_noticed(m: Mutation, folder: Path) -> bool:
    """Whether the tests of the group fail with the change, in a process of their own."""
    subprocess.run(["cp", "-rs", "--remove-destination", str(ROOT / "nvir"), str(folder)],
                   check=True)
    for name in ("tests", "examples", "pyproject.toml"):
        if not (folder / name).exists():
            (folder / name).symlink_to(ROOT / name)
    (folder / m.file).unlink()
    (folder / m.file).write_text(source_of(m), "utf-8")
    words = [sys.executable, "-m", "pytest", "-x", *QUIET,
             *(str(folder / "tests" / f) for f in tests_of(m.file))]
    env = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(words, cwd=folder, env=env, capture_output=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


class Campaign:
    """A plugin of pytest: the tests are imported once, and each mutation runs in a fork, with the
    code of its function replaced, those tests of its group that reach its statement.

    A change outside of functions, and one that no test reaches, `is_noticed` decides.
    """

    def __init__(self, chosen: Sequence[Mutation]) -> None:
        self.chosen, self.survivors, self.failed = chosen, list[Mutation](), False
        self.files = {str(ROOT / m.file) for m in chosen}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = session.items
        reached = _forked(lambda: self._reached(items), 3600)
        if not isinstance(reached, list):
            raise SystemExit("the tests cannot be run without any mutation")
        for i, (seconds, _) in zip(items, reached, strict=True):
            if seconds == math.inf:
                print(f"fails by itself, left out: {i.nodeid}", file=sys.__stdout__, flush=True)
        with tempfile.TemporaryDirectory() as name:
            for k, m in enumerate(self.chosen, 1):
                where = lines_of(m)
                files = [str(HERE / f) for f in tests_of(m.file)]
                mine = [
                    (seconds, n)
                    for n, (i, (seconds, lines)) in enumerate(zip(items, reached, strict=True))
                    if str(i.path) in files and not lines.isdisjoint(where)
                ]
                run = [items[n] for _, n in sorted(mine)]
                limit = 2 + 2 * sum(s for s, _ in mine)
                noticed = _forked(functools.partial(self._with, m, run), limit) if run else None
                if noticed is None:
                    noticed = is_noticed(m, Path(name))
                if not noticed:
                    self.survivors.append(m)
                    print(f"[{k}] survives: {m.group} {m.file}:{m.line}: {m.text}",
                          file=sys.__stdout__, flush=True)
        return True

    def _run(self, items: Sequence[pytest.Item], k: int) -> None:
        following = items[k + 1] if k + 1 < len(items) else None
        items[k].config.hook.pytest_runtest_protocol(item=items[k], nextitem=following)

    def _with(self, m: Mutation, items: Sequence[pytest.Item]) -> bool | None:
        if not replace_code(m):
            return None
        for k in range(len(items)):
            self._run(items, k)
            if self.failed:
                return True
        return False

    def _reached(self, items: Sequence[pytest.Item]) -> list[tuple[float, set[tuple[str, int]]]]:
        """Of each test its seconds, and the lines of the mutated files that it runs; infinite and
        none of one that fails."""
        made = []
        for k in range(len(items)):
            lines: set[tuple[str, int]] = set()

            def inside(frame: FrameType, event: str, arg: object, lines=lines):  # type: ignore
                lines.add((frame.f_code.co_filename, frame.f_lineno))
                return inside

            def called(frame: FrameType, event: str, arg: object, inside=inside):  # type: ignore
                return inside if frame.f_code.co_filename in self.files else None

            start = time.process_time()
            sys.settrace(called)
            self._run(items, k)
            sys.settrace(None)
            made.append((math.inf, set()) if self.failed
                        else (time.process_time() - start, lines))
            self.failed = False
        return made


def lines_of(m: Mutation) -> set[tuple[str, int]]:
    """The lines of the statement that holds a mutation."""
    path = str(ROOT / m.file)
    tree = ast.parse(Path(path).read_text("utf-8"))
    at = next(n for k, n in enumerate(ast.walk(tree)) if k == m.node)
    holds = [[*ast.walk(s)] for s in ast.walk(tree) if isinstance(s, ast.stmt)]
    s: Any = min((nodes for nodes in holds if any(x is at for x in nodes)), key=len)[0]
    body = getattr(s, "body", None)
    last = body[0].lineno - 1 if body else s.end_lineno
    return {(path, n) for n in range(s.lineno, max(last or 0, s.lineno) + 1)}


def replace_code(m: Mutation) -> bool:
    """Give the function that holds a mutation the changed code, in place; whether there is one."""
    path = str(ROOT / m.file)
    plain, changed = (
        {(c.co_qualname, c.co_firstlineno): c for c in _codes(compile(text, path, "exec"))}
        for text in (ast.parse((ROOT / m.file).read_text("utf-8")), tree_of(m))
    )
    found = False
    importlib.import_module(m.file.removesuffix(".py").replace("/", "."))
    for f in gc.get_objects():
        if isinstance(f, FunctionType) and f.__code__.co_filename == path:
            key = f.__code__.co_qualname, f.__code__.co_firstlineno
            if key in plain and plain[key] != changed[key]:
                f.__code__, found = changed[key], True
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for c in code.co_consts:
        if isinstance(c, CodeType):
            yield from _codes(c)


def _forked(work: Callable[[], object], limit: float) -> object:
    """What a fork makes of some work; True where it ends in any other way. `limit`: seconds of
    CPU, and ten times as much of the clock."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            signal.setitimer(signal.ITIMER_PROF, limit)
            signal.alarm(20 + int(10 * limit))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1), os.dup2(null, 2)
            with open(write, "wb") as out:
                pickle.dump(work(), out)
        except BaseException:
            os._exit(1)
        os._exit(0)
    os.close(write)
    with open(read, "rb") as made:
        text = made.read()
    _, status = os.waitpid(child, 0)
    return pickle.loads(text) if status == 0 else True


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
    files = {f: g for g in reversed(groups) for f in FILES[g]}
    every = [m for f, g in files.items() for m in mutations(g, f)]
    print(f"{len(every)} mutations of {len({m.file for m in every})} files")
    if args.list:
        return 0
    chosen = random.Random(args.seed).sample(every, min(args.count, len(every)))
    campaign = Campaign(chosen)
    tests = sorted({str(HERE / f) for m in chosen for f in tests_of(m.file)})
    if pytest.main([*QUIET, "-s", *tests], plugins=[campaign]) == pytest.ExitCode.INTERNAL_ERROR:
        return 2
    survivors = campaign.survivors
    share = 100 * (1 - len(survivors) / len(chosen))
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} noticed ({share:.0f} %)")
    return 0 if not survivors else 1


if __name__ == "__main__":
    sys.exit(main())
