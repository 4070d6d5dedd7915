"""Reading and printing real kernels, judged by ptxas: accepted, same registers, same code.

A small sample; benchmarks/roundtrip.py goes over everything.
"""

from __future__ import annotations

import math
import random
import re
import sys
from collections import Counter
from pathlib import Path

import corpus
import pytest

from nvir.ir import Function, Module
from nvir.ptx.printer import print_ptx
from nvir.ptx.reader import read_ptx

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import roundtrip

# Loops, calls, atomics, textures, tensor cores, debug data; small enough for a quick run.
KERNELS = ("sgemm", "reduction", "nested_break", "device_calls", "histogram", "struct_by_value",
           "switch_heavy", "scan", "blur_texture", "gemm_mma")


def _example_texts(pattern: str = "*") -> list[Path]:
    """PTX of examples/, from the repository or, where it is larger, from the collection."""
    found = corpus.examples(f"{pattern}.ptx")
    root = corpus.corpus_root()
    if root is not None:
        found += sorted((root / "ok").glob(f"examples__{pattern}.ptx"))
    return found


def _of_kernels(suffix: str) -> list[Path]:
    return [p for p in _example_texts(f"*{suffix}") if any(k in p.name for k in KERNELS)]


def _sample(count: int) -> list[Path]:
    """Some files of every origin, the same ones each time."""
    paths = [e.path for e in corpus.sample(count, seed=7, max_size=60_000)]
    return paths or _example_texts()[:count]


@pytest.mark.parametrize("path", _sample(60), ids=lambda p: p.name)
def test_printing_is_a_fixed_point(path: Path) -> None:
    """What was printed, read and printed again is the same text."""
    once = print_ptx(read_ptx(path))
    assert print_ptx(read_ptx(once)) == once


@pytest.mark.parametrize("path", _sample(25), ids=lambda p: p.name)
def test_no_register_is_renamed_and_no_copy_made(path: Path) -> None:
    """Each `mov` and each register of the source is there again, and nothing else.

    Of registers that hide others of the same name, one may have to get another name.
    """
    declared = Counter(re.findall(r"\.reg\s+\.\w+\s+([%\w$]+)\s*;", path.read_text()))
    hidden = {name for name, count in declared.items() if count > 1}

    def written(f: Function) -> list[tuple[str, list[str | None]]]:
        return [
            (i.form.spelling, [r.name for r in i.results])
            for i in f.instructions()
            if not (i.form.is_phi or i.form.terminator)
        ]

    module = read_ptx(path)
    read_again = read_ptx(print_ptx(module))
    for f, g in zip(module.functions, read_again.functions, strict=True):
        for (spelling, names), (spelling_again, names_again) in zip(
            written(f), written(g), strict=True
        ):
            assert spelling == spelling_again
            assert names == names_again or hidden.intersection(names)


@pytest.mark.oracle
@pytest.mark.parametrize("suffix", ["sm_80.O3", "sm_90.O3", "sm_80.O0", "sm_80.debug"])
def test_ptxas_makes_the_same_of_it(suffix: str) -> None:
    """Same registers and same code size, kernel by kernel."""
    paths = _of_kernels(suffix)[:4] or corpus.examples()[:2]
    if not paths:
        pytest.skip("no PTX of examples/ here")
    for path in paths:
        c = roundtrip.compare(path, None)
        assert not c.problem, f"{path.name}: {c.problem}"
        for name, (old, new) in c.pairs.items():
            assert new == old, f"{path.name}: {name}"


@pytest.mark.oracle
def test_printing_needs_the_ir_alone() -> None:
    """Every register renamed, the blocks in another order: ptxas makes as good code of it."""
    paths = _of_kernels("sm_80.O3")[:5] or corpus.examples()[:2]
    if not paths:
        pytest.skip("no PTX of examples/ here")
    registers, sizes = [], []
    for path in paths:
        c = roundtrip.compare(path, None, shuffled=True)
        assert not c.problem, f"{path.name}: {c.problem}"
        for old, new in c.pairs.values():
            sizes.append(math.log(new.instructions / old.instructions))
            if old.registers and new.registers:
                registers.append(math.log(new.registers / old.registers))
    assert math.exp(sum(sizes) / len(sizes)) < 1.02
    assert math.exp(sum(registers) / len(registers)) < 1.05


def test_shuffling_changes_names_and_order() -> None:
    """The test above tests something: no old name and not the old order is left."""
    paths = _example_texts()
    if not paths:
        pytest.skip("no PTX of examples/ here")
    module = read_ptx(random.Random(1).choice(paths))
    names = {r.name for f in module.functions for i in f.instructions() for r in i.results}
    order = [[b.name for b in f.blocks] for f in module.functions]
    roundtrip.shuffle(module)
    assert isinstance(module, Module)
    after = {r.name for f in module.functions for i in f.instructions() for r in i.results}
    assert not (names & after) - {"_"}
    if any(len(blocks) > 3 for blocks in order):
        assert order != [[b.name for b in f.blocks] for f in module.functions]
