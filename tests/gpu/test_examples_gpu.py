"""Every example on the interpreter and on a GPU: the same results.

The tests of tests/interp/test_examples.py run with a `nvir.launch` that does both on copies of
the same arguments. Integers must agree exactly, floats within what PTX allows of its approximate
functions. Without a GPU the second launch is the interpreter's too, on one example: that shows
that the comparison looks at what it says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nvir
from nvir.ir.errors import LaunchError, Unsupported
from tests.interp import test_examples

interpret = nvir.launch
Launch = Callable[..., Any]

# What they leave depends on which thread comes first: they run on the GPU alone, and their own
# checks judge.
ORDER_VARIES = {"test_spin_lock_within_a_warp", "test_bfs_appends_each_new_vertex_once"}


def cases() -> list[Any]:
    """(test, arguments) for each test of the examples and each of its parameters."""
    found = []
    for name, function in vars(test_examples).items():
        if not name.startswith("test_"):
            continue
        options: list[dict[str, Any]] = [{}]
        for mark in getattr(function, "pytestmark", []):
            if mark.name != "parametrize":
                continue
            names = mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0]
            rows = [v if len(names) > 1 else (v,) for v in mark.args[1]]
            options = [{**o, **dict(zip(names, r, strict=True))} for o in options for r in rows]
        found.extend(
            pytest.param(function, o, id="-".join([name[5:], *map(str, o.values())]))
            for o in options
        )
    return found


def both(second: Launch) -> Launch:
    """A launch that runs on the interpreter and by `second`, and compares what they leave."""

    def launch(module: Any, kernel: str, grid: Any, block: Any, args: Any, *more: Any,
               **options: Any) -> Any:
        copies: dict[int, Any] = {}

        def copy(a: Any) -> Any:
            if isinstance(a, nvir.DeviceArray):
                raise Unsupported("comparing what pointers in structs lead to")
            if isinstance(a, np.ndarray) and a.ndim:
                return copies.setdefault(id(a), a.copy())
            return a

        theirs = [copy(a) for a in args]
        options.pop("check", None)
        result = interpret(module, kernel, grid, block, args, *more, **options)
        other = second(module, kernel, grid, block, theirs, *more, **options)
        for mine, its in zip(args, theirs, strict=True):
            if isinstance(mine, np.ndarray) and mine.ndim:
                agree(mine, its)
        if second is not nvir.gpu.launch:  # a GPU's kernels print to the process's own output
            assert sorted(other.stdout) == sorted(result.stdout)  # threads print in any order
        return result

    return launch


def agree(a: Any, b: Any) -> None:
    """The same bytes, or floats that differ by what approximate functions may."""
    if a.dtype.kind == "f":
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    else:
        np.testing.assert_array_equal(a, b)


@pytest.mark.gpu
@pytest.mark.parametrize(("function", "case"), cases())
def test_an_example_gives_the_same_on_a_gpu(
    function: Any, case: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvir, "launch", launch_for(function))
    run(function, case)


def launch_for(function: Any) -> Launch:
    """The launch on a GPU for one of the examples."""
    return nvir.gpu.launch if function.__name__ in ORDER_VARIES else both(nvir.gpu.launch)


def run(function: Any, case: dict[str, Any]) -> None:
    given = {"rng": np.random.default_rng(7)} if "rng" in function.__code__.co_varnames else {}
    try:
        function(**given, **case)
    except Unsupported as e:
        pytest.skip(str(e))
    except LaunchError as e:
        if "cuModuleLoad" in str(e):  # another architecture than this GPU's
            pytest.skip(str(e))
        raise


def test_the_comparison_passes_what_agrees_and_sees_what_differs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nvir, "launch", both(interpret))
    run(test_examples.test_saxpy, {"kernel": "saxpy"})

    def wrong(module: Any, kernel: str, grid: Any, block: Any, args: Any, *more: Any) -> Any:
        result = interpret(module, kernel, grid, block, args, *more)
        args[-1][7] += 1
        return result

    monkeypatch.setattr(nvir, "launch", both(wrong))
    with pytest.raises(AssertionError):
        run(test_examples.test_saxpy, {"kernel": "saxpy"})


def test_every_example_is_in_the_list() -> None:
    names = {p.values[0].__name__ for p in cases()}
    assert names >= {"test_saxpy", "test_gemm_mma", "test_softmax", "test_scan_of_blocks"}
    assert names >= ORDER_VARIES
    assert len(cases()) > len(names)
