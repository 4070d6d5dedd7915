"""The phases of the notes as a pipeline, prediction and emission."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import nvir
from nvir import toolchain
from nvir.ir.clone import clone_module
from nvir.passes.driver import Driver, Settings
from nvir.passes.phases import ORI_ORDER, check_phase_order, phase
from nvir.passes.pipeline import PRESETS, check_order, parse_pipeline
from nvir.passes.presets_loops import ROWS, loops, supported, unsupported
from nvir.passes.registry import all_passes
from tests.differential import random_case
from tests.equivalence import same_behaviour

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "ptx"
NUMBERS = [r.number for r in ROWS]


@pytest.mark.seed("PIP-01")
def test_the_rows_hold_the_order_of_the_notes() -> None:
    assert sorted(NUMBERS) == NUMBERS
    assert set(ORI_ORDER) <= set(NUMBERS)
    assert [n for n in NUMBERS if n in ORI_ORDER] == list(ORI_ORDER)


@pytest.mark.seed("PIP-02", "PIP-03")
def test_the_order_has_no_contradiction() -> None:
    assert check_phase_order(NUMBERS) == []
    assert check_phase_order([22, 18])
    assert check_order(parse_pipeline("loops")) == []


@pytest.mark.seed("REL-01", "REL-02", "REL-03", "REL-04", "REL-05", "PIP-05")
def test_each_phase_is_run_or_says_why_not() -> None:
    for row in ROWS:
        assert bool(row.passes) or bool(row.why), row
    assert {r.number for r in unsupported()} == {3, 15, 20, 34, 53, 55, 56, 70, 78, 85, 87}
    for row in supported():
        for step in parse_pipeline(row.passes):
            assert step.pass_.level in ("ori", "both")


@pytest.mark.seed("PIP-01")
def test_a_pass_stands_in_the_phase_that_it_models() -> None:
    """Beside it there are clean-ups, and what a phase needs."""
    for row in supported():
        names = {s.pass_.name for s in parse_pipeline(row.passes)}
        assert names & set(phase(row.number).passes), row
    run = {s.pass_.name for s in parse_pipeline("loops")}
    assert {p.name for p in all_passes().values() if p.phases and p.level != "nvvm"} - run == {
        "loop-peel",  # by a knob, inside of loop-rotate
        "gemm-pipeline",  # where it is asked for
    }


def test_a_part_of_the_order() -> None:
    assert loops(18, 21) == "loop-simplify,loop-rotate,split-live-ranges,strength-reduce"
    assert loops(100, 107) == ""
    assert str(parse_pipeline("loops")) == str(parse_pipeline(f"{loops()},keep-rolled"))


def test_the_presets_have_names() -> None:
    for name in ("loops", "prediction", "emission"):
        assert parse_pipeline(name).steps
        assert name in PRESETS


def test_emission_leaves_to_the_assembler_what_it_does_well() -> None:
    names = {s.pass_.name for s in parse_pipeline("emission")}
    assert not names & {"loop-unroll", "licm", "if-convert", "loop-fuse", "strength-reduce"}


@pytest.mark.parametrize("seed", range(10))
def test_random_kernels_behave_the_same(seed: int) -> None:
    chain = ("loops" if seed % 5 else "emission", "print")
    failure = random_case(seed, 12, chain).failure()
    assert failure is None, failure


@pytest.mark.parametrize("policy", ["documented", "observed"])
@pytest.mark.parametrize("name", ["horner.sm_80", "softmax.sm_80", "histogram.sm_80"])
def test_examples_behave_the_same(name: str, policy: str) -> None:
    module = nvir.read_ptx(EXAMPLES / f"{name}.ptx")
    before = clone_module(module)
    knobs = {"PerformLoopFusion": 1}
    Driver(Settings(verify_each=True)).run(module, "loops", policy=policy, knobs=knobs)
    for f in module.functions:
        if f.is_kernel:
            assert same_behaviour(before, module, str(f.name))


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["conv3d.sm_80", "scan.sm_80", "sgemm.sm_80"])
def test_what_the_preset_makes_assembles(name: str) -> None:
    module = nvir.read_ptx(EXAMPLES / f"{name}.ptx")
    nvir.run_passes(module, "loops")
    result = toolchain.ptxas(nvir.print_ptx(module), arch=module.target, opt=0)
    assert result.ok, result.error


@pytest.mark.oracle
@pytest.mark.slow
def test_emission_costs_nothing() -> None:
    """No geometric mean above 1.00, no new spill (benchmarks/emission.py over all examples)."""
    import runpy

    bench = runpy.run_path(str(ROOT / "benchmarks" / "emission.py"))
    rows = [r for p in sorted(EXAMPLES.glob("*.ptx")) for r in bench["compare"](p, "emission")]
    summary = bench["summarise"](rows)
    assert summary["registers"] <= 1.0
    assert summary["instructions"] <= 1.0
    assert summary["new spills"] == 0


def test_the_figures_of_the_module_are_those_of_the_preset() -> None:
    from nvir.passes import presets_loops

    text = presets_loops.__doc__ or ""
    (chosen,) = re.findall(r"^ +(\S+) +[\d.]+ +[\d.]+ +chosen$", text, re.M)
    assert chosen == presets_loops.EMISSION
