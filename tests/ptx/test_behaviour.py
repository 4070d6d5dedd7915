"""What is read, printed, cloned or cleaned computes what it did, bit for bit.

The random kernels are those of kernels.py; the examples are launched as in
tests/interp/test_examples.py, so each result is held both to the unchanged module's and to a numpy
reference.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import nvir
from nvir.ir.clone import clone_module
from tests.differential import apply, random_case, report, shrink
from tests.interp import test_examples as examples

CHAINS = (
    ("print",), ("text",), ("clone",), ("shuffle", "print"), ("clean",), ("clean", "print"),
    ("clone", "text", "print", "clean", "shuffle", "print", "text"),
)
# The order in which threads take a lock or append to a list is nobody's promise: these results are
# held to the reference alone.
UNORDERED = ("spin_lock", "bfs_vote", "scan_lookback")
LONG = ("triton_matmul", "grid_barrier", "decoupled_lookback", "gemm_mma", "gemm_wmma", "sgemm",
        "warp_specialised", "gemm_cp_async", "triton_softmax")


@pytest.mark.parametrize("chain", CHAINS, ids=",".join)
def test_random_kernels(chain: tuple[str, ...]) -> None:
    for seed in range(3):
        failure = random_case(seed + 300, 30, chain).failure()
        if failure is not None:
            pytest.fail(report(shrink(failure)), pytrace=False)


def cases() -> Iterator[Any]:
    """Each test of the examples with each of its parameters."""
    for name, test in vars(examples).items():
        if not name.startswith("test_") or "rng" not in inspect.signature(test).parameters:
            continue
        given: list[dict[str, Any]] = [{}]
        for mark in getattr(test, "pytestmark", ()):
            argument, values = mark.args
            given = [{**g, argument: v} for g in given for v in values]
        for g in given:
            slow = [pytest.mark.slow] if any(x in f"{name} {g}" for x in LONG) else []
            label = "-".join((name.removeprefix("test_"), *map(str, g.values())))
            yield pytest.param(test, g, id=label, marks=slow)


def launch_twice(chain: tuple[str, ...]) -> Callable[..., Any]:
    """nvir.launch, but of a changed copy, on the same inputs as the unchanged module."""
    launch = nvir.launch

    def run(module: Any, kernel: str, grid: Any, block: Any, args: Any, *rest: Any, **more: Any):  # type: ignore[no-untyped-def]
        copies = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        changed = clone_module(module)
        for step in chain:
            changed = apply(changed, step, check=False)
        expected = launch(module, kernel, grid, block, copies, *rest, **more)
        result = launch(changed, kernel, grid, block, args, *rest, **more)
        if kernel not in UNORDERED:
            assert result.stdout == expected.stdout
            for x, y in zip(args, copies, strict=True):
                if isinstance(x, np.ndarray):
                    assert x.tobytes() == y.tobytes()
            for name, array in expected.globals.items():
                assert np.asarray(array).tobytes() == np.asarray(result.globals[name]).tobytes()
        return result

    return run


def run_example(
    test: Callable[..., None], given: dict[str, Any], chain: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nvir, "launch", launch_twice(chain))
    test(np.random.default_rng(7), **given)


@pytest.mark.parametrize(("test", "given"), list(cases()))
def test_examples(test: Any, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything one after the other."""
    run_example(test, given, CHAINS[-1], monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("chain", CHAINS[:-1], ids=",".join)
@pytest.mark.parametrize(("test", "given"), list(cases()))
def test_examples_step_by_step(
    test: Any, given: dict[str, Any], chain: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_example(test, given, chain, monkeypatch)


@pytest.mark.parametrize(
    "head", [".entry k(.param .u64 a,)", ".func (.param .b32 r,) k()", ".func k(.reg .b32 %r,)"]
)
def test_a_comma_announces_a_parameter(head: str) -> None:
    """As for ptxas; found by shrinking kernels that then no longer assembled."""
    text = f".version 8.0\n.target sm_80\n.address_size 64\n{head}\n{{ ret; }}\n"
    with pytest.raises(nvir.ParseError, match="expected a type"):
        nvir.read_ptx(text)
    assert nvir.read_ptx(text.replace(",)", ")"))["k"].blocks
