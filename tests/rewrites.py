"""`rewrites(pipeline, before, after)`: a pass of the nvvm level as the reader of a test sees it.

Bodies are LLVM text of functions; both are read, the first goes through the pipeline, and they must
be equal up to the names of values. `after` None: nothing changes. `random_kernels(pipeline)` is a
property test body: kernels of tests/nvvm_modules.py do the same before and after.
"""

from __future__ import annotations

import pathlib
import sys
from typing import Any

import nvir
from nvir import toolchain
from nvir.ir import Module
from nvir.ir.clone import clone_module
from nvir.passes.driver import Driver, Settings
from tests.effort import effort
from tests.nvvm_modules import THREADS, arguments
from tests.passes.conftest import numbered
from tests.selection import read, run, same

sys.path.append(str(pathlib.Path(__file__).parent / "frontend"))


def rewrites(pipeline: str, before: str, after: str | None = None) -> Any:
    """Run a pipeline on LLVM text and compare with other text; returns the run's context."""
    module = read(before)
    wanted = read(before if after is None else after)
    old = str(module)
    ctx = Driver(Settings(verify_each=True, check=True)).run(module, pipeline)
    assert numbered(module) == numbered(wanted), str(module)
    if after is None:
        assert str(module) == old
    text = str(module)
    Driver(Settings()).run(module, pipeline)
    assert str(module) == text, "a second run finds more to do"
    return ctx


def keeps_behaviour(module: Module, pipeline: str, accepted: bool = False) -> Module:
    """A copy after the pipeline; both leave the same bytes, and libnvvm takes the copy."""
    args = arguments()
    before, _ = run(module, args, block=THREADS)
    copy = clone_module(module)
    Driver(Settings(verify_each=True, check=True)).run(copy, pipeline)
    after, _ = run(copy, args, block=THREADS)
    same(before, after)
    if accepted and copy.level == "nvvm":
        by_libnvvm(copy)
    return copy


def by_libnvvm(module: Module) -> None:
    """libnvvm verifies and compiles the module in both dialects, where it is there."""
    from fe_judges import accepted

    if toolchain.available("libnvvm"):
        accepted(module)


def same_program(seed: int, pipeline: str, accepted: bool = False) -> None:
    """A random typed program of the front end does the same before and after."""
    import numpy as np
    from fe_judges import module_of
    from fe_random import INPUTS, Program

    p = Program(seed)
    module = module_of(p.unit)
    copy = clone_module(module)
    Driver(Settings(verify_each=True, check=True)).run(copy, pipeline)
    for a, u, c, d in INPUTS:
        rows = []
        for m in (module, copy):
            out = np.zeros(8, np.int64)
            args = [out, np.int32(a), np.uint32(u), np.int64(c), np.float64(d)]
            nvir.launch(m, str(p.kernel.name), 1, 1, args)
            rows.append(out.tolist())
        assert rows[0] == rows[1], (seed, a, u, c, d)
    if accepted and copy.level == "nvvm":
        by_libnvvm(copy)


def growth(make: Any, pipeline: str, sizes: tuple[int, int] = (100, 400)) -> float:
    """How the work for an instruction grows with the size: about 1 for a linear pass."""
    costs = []
    for n in sizes:
        module = make(n)
        count = sum(1 for f in module.functions for _ in f.instructions())
        costs.append(effort(lambda m=module: nvir.run_passes(m, pipeline)) / count)
    return costs[1] / costs[0]
