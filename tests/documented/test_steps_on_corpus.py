"""Each documented step is missed on files of a corpus too, not only on the fixtures.

    NVIR_CORPUS=DIR python -m pytest --slow tests/documented/test_steps_on_corpus.py -s

DIR holds PTX files, however deep, and may hold CUDA sources with an `index.json` that says how each
is compiled (benchmarks/cuda_corpus.py). Every step is taken out as in test_steps.py, on the files
that it runs on, the smallest first, until one gives another result, or another event of another
step. Steps that nothing misses are printed, and must be those of `SILENT`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import nvir
from nvir.assembler.postra import loop_code
from nvir.frontend.check import check
from nvir.frontend.cuda import Source, read_cuda
from nvir.frontend.irgen import Options, generate
from nvir.ir.errors import NvirError
from nvir.ir.loops import natural_loops
from nvir.sm.profile import profile
from tests.documented import test_steps as steps

LARGEST = 150_000  # bytes of a PTX file
SOURCES = 60  # CUDA sources, those with inline assembly first
ROOT = Path(os.environ.get("NVIR_CORPUS", ""))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not ROOT.name, reason="NVIR_CORPUS names no folder of PTX files"),
]

# What no file of the corpus that this was written on asks for, by group. Such loops have no known
# count (nvcc unrolled them), no neighbour of the same count, no nest with a mark; such sources have
# no call through another type, no struct that a phi joins.
SILENT: dict[str, set[str]] = {
    "unroll": {
        "constant_count", "direction", "forced_factor", "known_factor", "nounroll_inwards",
        "override_string", "passed_over", "pre_scan", "predicate_pressure", "rounds",
        "stride_fits", "swaps", "unrolls_fully", "verify_stride",
    },
    "pipeline": {"feasible"},
    "fuse": {"_count_alike", "_drop_repeated", "_fuse", "_join_variables", "_memory",
             "_registers", "_shift", "_structure"},
    "memory": {"loop", "one"}, "structs": {"find_copies", "phi"},
    "calls": {"_alignments", "_bundles", "_special", "callee_type", "is_special_intrinsic"},
    "asm": {"clobber"},
}


def registers(file: Path) -> Iterator[Any]:
    machine = profile("sm_80")
    for f in nvir.read_ptx(file).functions:
        for loop in natural_loops(f) if f.blocks else ():
            if len(loop.blocks) == 1 and len(loop.header) < 60:
                try:
                    code = loop_code(loop, machine)
                except NvirError:
                    continue
                yield steps.placed(code, 0)
                yield steps.placed(code, 1)


Run = tuple[Callable[[], Iterator[Any]], steps.Outcome]
OF_PTX = {"unroll": steps.unrolling, "hoist": steps.hoisting, "pipeline": steps.pipelining,
          "fuse": steps.fusing, "registers": registers}


def sources() -> Iterator[Source]:
    """The CUDA sources of an index, as clang is to read them."""
    index = ROOT / "index.json"
    entries: dict[str, Any] = json.loads(index.read_text()) if index.is_file() else {}
    for key, e in entries.items():
        root = ROOT / "src" / f"{e['package']}-{e['version']}"
        path = root / key.partition("/")[2]
        folders = (ROOT / "stubs", *sorted((ROOT / "headers").glob("*/include")))
        include = [str(root / x) for x in e["includes"]] + [str(x) for x in folders]
        given = [x[2:] for x in e["flags"] if x.startswith("-D")]
        yield Source(path.read_text("utf-8", "surrogateescape"), str(path), tuple(include),
                     tuple(given))


def splits(unit: Any) -> Iterator[Any]:
    return steps.split(generate(unit, Options(policy="documented")))


@cache
def lazily(group: str) -> tuple[list[Run], Iterator[Run]]:
    """The runs of a group that were asked for so far, and the rest."""
    return [], tried(group)


def tried(group: str) -> Iterator[Run]:
    """A run of a group for each file, with what it gives as it is, if that is no error."""
    if group in OF_PTX:
        small = sorted((p.stat().st_size, p) for p in ROOT.rglob("*.ptx"))
        inputs: Iterator[Any] = (partial(OF_PTX[group], p) for n, p in small if n <= LARGEST)
    else:
        run = splits if group in ("memory", "structs") else steps.generating
        inputs = (partial(run, unit) for unit in units())
    for one in inputs:
        found = steps.outcome_of(one)
        if not isinstance(found[0], str):
            yield one, found


def runs(group: str) -> Iterator[Run]:
    known, more = lazily(group)
    for k in count():
        if k == len(known):
            found = next(more, None)
            if found is None:
                return
            known.append(found)
        yield known[k]


@cache
def units() -> list[Any]:
    """Trees of the sources that nvir reads by itself."""
    made: list[Any] = []
    for source in sorted(sources(), key=lambda s: "asm" not in s.text):
        try:
            made.append(check(read_cuda(source, "sm_80")[0]))
        except NvirError:
            continue
        if len(made) == SOURCES:
            break
    return made


@pytest.mark.parametrize("group", steps.GROUPS)
def test_no_step_of_a_group_is_idle_on_the_corpus(group):
    if next(runs(group), None) is None:
        pytest.skip(f"no file under {ROOT} that {group} reads")
    idle = {name for name in steps.REMOVED[group] if not is_missed(group, name)}
    print(f"\n{group}: {len(steps.REMOVED[group])} steps, {len(lazily(group)[0])} files; "
          f"missed nowhere: {', '.join(sorted(idle)) or 'none'}")
    assert idle <= SILENT.get(group, set())


def is_missed(group: str, name: str) -> bool:
    for run, was in runs(group):
        with pytest.MonkeyPatch.context() as patch:
            row = steps.take_out(group, name, patch)
            if row[0] and not any((e.row, e.step) == row for e in was[1]):
                continue  # it does not run on this file
            if steps.differs(was, steps.outcome_of(run), row):
                return True
    return False
