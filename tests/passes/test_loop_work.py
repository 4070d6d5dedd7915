"""What loop passes ask for, counted: clocks are noisy, counts are not."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import nvir
from nvir.analysis.analyses import Analyses

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "ptx"
# where something is made: module, name, what it counts as
MADE = (
    ("nvir.ir.cfg", "_analyze", "cfg"),
    ("nvir.ir.loops", "_find_loops", "loops"),
    ("nvir.assembler.regalloc.predict", "liveness", "liveness"),
    ("nvir.passes.loop.pipeline.choice", "clone_function", "clones"),
    ("nvir.passes.loop.pipeline.choice", "predict", "predictions"),
    ("nvir.passes.loop.pipeline.choice", "throughput", "simulations"),
    ("nvir.passes.loop.pipeline.loop_pipeline", "schedule_loop", "schedules"),
)
KEPT = ("affine", "alias", "divergence", "liveness")
BEFORE = "loop-simplify,loop-rotate,loop-simplify"


@contextmanager
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Counts what is made meanwhile, kept analyses among it."""
    made: Counter[str] = Counter()

    def counted(find: Any, name: str) -> Any:
        def wrapper(*args: Any, **given: Any) -> Any:
            made[name] += 1
            return find(*args, **given)
        return wrapper

    get = Analyses.get
    with monkeypatch.context() as patch:
        patch.setattr(
            Analyses, "get", lambda self, name, make: get(self, name, counted(make, name))
        )
        for module, name, what in MADE:
            home = importlib.import_module(module)
            patch.setattr(home, name, counted(getattr(home, name), what))
        yield made


def counts(
    path: Path, pipeline: str, monkeypatch: pytest.MonkeyPatch, before: str = "",
    policy: str = "observed",
) -> tuple[Counter[str], int]:
    """What `pipeline` makes on a file, and for how many innermost loops."""
    module = nvir.read_ptx(path)
    nvir.run_passes(module, before, policy=policy)
    for f in module.functions:
        if not f.is_declaration:
            f.analyze_cfg()
    loops = sum(x.is_innermost for f in module.functions for x in f.loops())
    for f in module.functions:
        f.known = f._loops = None
    with counting(monkeypatch) as made:
        nvir.run_passes(module, pipeline, policy=policy)
    return made, loops


def test_six_analyses_for_one_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    made, loops = counts(EXAMPLES / "saxpy.sm_80.ptx", "loop-pipeline", monkeypatch)
    assert loops == 1
    assert sum(made[name] for name in (*KEPT, "loops", "cfg")) <= 6
    assert made["clones"] == 0  # a bound tells that nothing is gained
    assert made["simulations"] == made["predictions"] == 1
    assert made["alias"] == made["affine"] == 1


@pytest.mark.parametrize("name", ["saxpy", "histogram", "spmv_csr", "reduction", "softmax"])
@pytest.mark.parametrize("policy", ["observed", "documented"])
def test_no_schedule_and_few_of_all_for_each_loop(
    name: str, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = EXAMPLES / f"{name}.sm_80.ptx"
    made, loops = counts(path, "loop-pipeline", monkeypatch, BEFORE, policy)
    assert loops
    assert made["schedules"] == 0
    assert made["clones"] <= 5 * loops  # four depths, and one for what the assembler unrolls
    assert made["predictions"] <= made["clones"] + 1
    assert made["simulations"] <= 9 * loops
    assert made["cfg"] <= 2 * made["clones"] + 3 * loops
    assert made["affine"] == made["alias"] <= made["clones"] + 2 * loops


def test_a_loop_that_is_pipelined_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made, loops = counts(EXAMPLES / "softmax.sm_80.ptx", "loop-pipeline<depth=2;force>",
                         monkeypatch, BEFORE)
    assert made["schedules"] == 0
    assert made["predictions"] <= 2 * loops


@pytest.mark.parametrize("name", ["loop-simplify", "loop-unroll", "strength-reduce", "licm<id=0>",
                                  "loop-fuse", "stage-and-fence"])
def test_other_passes_ask_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = EXAMPLES / "softmax.sm_80.ptx"
    made, _ = counts(path, name, monkeypatch, BEFORE)
    assert made["affine"] <= 1
    assert made["alias"] <= 1
    assert made["divergence"] <= 1
    assert made["cfg"] <= 3


def test_a_cleanup_that_finds_nothing_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    home = importlib.import_module("nvir.passes.driver")
    driver = home.Driver()
    module = nvir.read_ptx(EXAMPLES / "softmax.sm_80.ptx")
    driver.run(module, "copy-prop,gvn,dce,copy-prop,gvn,dce,copy-prop,gvn,dce,copy-prop,gvn,dce")
    runs = Counter(t.pass_name for t in driver.timings)
    functions = sum(not f.is_declaration for f in module.functions)
    assert all(functions <= runs[name] < 4 * functions for name in ("copy-prop", "gvn", "dce"))
