"""The examples as other compilers and optimisation levels make them (../corpus, if it is there).

The tests of test_examples.py run again on each variant: -O0 keeps everything in local memory, other
targets choose other instructions, debug builds keep every variable.
"""

from __future__ import annotations

import functools
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nvir
from tests.corpus import corpus_root
from tests.interp import test_examples

SKIPPED_ARCH = ("sm_75",)  # no cp.async: another algorithm


def variants() -> list[Any]:
    """(file, kernel family) of the examples' variants; a sample unless --slow."""
    root = corpus_root()
    if root is None:
        return []
    found = []
    for path in sorted((root / "ok").glob("examples__*.ptx")):
        family = path.name.split("__")[1].split(".")[0]
        sample = ".sm_80.O0." in path.name or ".sm_120.debug." in path.name
        marks = () if sample else (pytest.mark.slow,)
        found.append(pytest.param(path, family, id=path.stem, marks=marks))
    return found


@functools.cache
def cases_of(family: str) -> list[Any]:
    """(test, arguments) that use the family's file."""
    found = []
    for name, function in vars(test_examples).items():
        if not name.startswith("test_") or f'module("{family}.' not in _source(function):
            continue
        cases: list[dict[str, Any]] = [{}]
        for mark in getattr(function, "pytestmark", []):
            if mark.name == "parametrize" and isinstance(mark.args[0], str):
                cases = [{**c, mark.args[0]: v} for c in cases for v in mark.args[1]]
        found.extend((function, case) for case in cases)
    return found


def _source(function: Any) -> str:
    text = inspect.getsource(function).replace('f"', '"')
    for mark in getattr(function, "pytestmark", []):
        if mark.name == "parametrize" and mark.args[0] == "file":
            text += " ".join(f'module("{v}' for v in mark.args[1])
    return text


@pytest.mark.parametrize(("path", "family"), variants())
def test_a_variant_gives_what_the_reference_gives(
    path: Path, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = nvir.read_ptx(path)
    monkeypatch.setattr(test_examples, "module", lambda name: module)
    cases = cases_of(family)
    assert cases, f"no test of test_examples.py runs {family}"
    for function, case in cases:
        if case.get("file", "").startswith("clang"):
            continue
        function(rng=np.random.default_rng(7), **case)
