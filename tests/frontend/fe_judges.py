"""The judges of generated IR: the interpreter's results, libnvvm's verifier and compiler."""

from __future__ import annotations

from typing import Any

import numpy as np

import nvir
from nvir.frontend.check import check
from nvir.frontend.irgen import Options, generate
from nvir.frontend.tree.declarations import Unit
from nvir.ir.clone import clone_module
from nvir.ir.module import Module
from nvir.toolchain import libnvvm
from nvir.toolchain.errors import ToolError

ARCHES = {"llvm7": "sm_80", "llvm20": "sm_100"}


def module_of(tree: Unit, **options: Any) -> Module:
    return generate(check(tree), Options(**options))


def accepted(module: Module, dialects: tuple[str, ...] = ("llvm7", "llvm20")) -> None:
    """libnvvm verifies and compiles the module in each dialect; quiet without libnvvm."""
    for dialect in dialects:
        copy = clone_module(module)
        nvir.run_passes(copy, f"legalize<dialect={dialect}>", verify=True)
        text = nvir.print_ll(copy, dialect)
        try:
            result = libnvvm.compile(text, ARCHES[dialect])
        except ToolError:
            return
        assert result.ok, f"{dialect}: {result.log}\n{text}"


def run(module: Module, kernel: str, args: list[Any], grid: Any = 1, block: Any = 32,
        **given: Any) -> Any:
    return nvir.launch(module, kernel, grid, block, args, **given)


def calculated(tree: Unit, *args: Any, count: int = 1, dtype: Any = np.int32, kernel: str = "k",
               block: Any = 1, **options: Any) -> Any:
    """What the kernel leaves in its first parameter, an array of `count`; libnvvm takes it."""
    module = module_of(tree, **options)
    out = np.zeros(count, dtype)
    run(module, kernel, [out, *args], block=block)
    accepted(module)
    return out
