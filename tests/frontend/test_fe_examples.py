"""The programs of examples/trees: results, libnvvm's and ptxas's opinions."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from fe_judges import accepted, module_of, run

import nvir

FOLDER = Path(__file__).parents[2] / "examples" / "trees"
NAMES = sorted(p.stem for p in FOLDER.glob("*.py"))


def program(name):
    spec = importlib.util.spec_from_file_location(f"tree_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def agrees(module, example):
    kernel, grid, block, args, k, want, *tolerance = example.case()
    result = run(module, kernel, args, grid=grid, block=block)
    if tolerance:
        assert np.allclose(args[k], want, rtol=tolerance[0], atol=tolerance[0])
    else:
        assert np.array_equal(args[k], want)
    if hasattr(example, "STDOUT"):
        text = result.stdout
        text = text.decode() if isinstance(text, bytes) else text
        assert sorted(text.splitlines()) == sorted(example.STDOUT.splitlines())


def test_there_is_a_dozen():
    assert len(NAMES) >= 12


BY_VALUE = ("bitfields", "structs", "texture")  # where the policies differ


@pytest.mark.parametrize(("name", "policy"), [*((name, "observed") for name in NAMES),
                                              *((name, "documented") for name in BY_VALUE)])
def test_results_before_and_after_selection(name, policy):
    example = program(name)
    module = module_of(example.tree(), policy=policy)
    agrees(module, example)
    nvir.run_passes(module, "select", verify=True)
    agrees(nvir.read_ptx(nvir.print_ptx(module)), example)


@pytest.mark.parametrize("name", NAMES)
def test_results_of_optimised_code(name):
    example = program(name)
    module = module_of(example.tree(), lines=False)
    nvir.run_passes(module, "default<O2>")
    kernel, grid, block, args, k, want, *tolerance = example.case()
    run(module, kernel, args, grid=grid, block=block)
    near = max(tolerance[0] if tolerance else 0, 1e-6)  # products are fused into sums
    assert np.allclose(args[k], want, rtol=near, atol=near)


@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES)
def test_libnvvm_and_ptxas_take_it(name):
    from nvir.toolchain.ptxas import ptxas

    module = module_of(program(name).tree())
    accepted(module)
    nvir.run_passes(module, "select", verify=True)
    result = ptxas(nvir.print_ptx(module))
    assert result.ok, result.log
