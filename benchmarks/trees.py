"""The programs of examples/trees through nvir and, from the same program's CUDA C, through nvcc.

    python benchmarks/trees.py [--arch sm_80] [--level 2] [--json out.json] [NAME ...]

For each kernel: registers and SASS instructions of nvir's PTX and of nvcc's, both assembled by
ptxas; whether the interpreter's results on both are the program's reference; and the geometric
mean of nvir's by nvcc's. Device functions that are called count to their kernel.
"""

from __future__ import annotations

import argparse
import importlib.util
import pathlib
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
from ratios import compare

import nvir
from nvir import toolchain
from nvir.frontend.check import check
from nvir.frontend.irgen import Options, generate
from nvir.ir.errors import NvirError
from nvir.toolchain.nvcc import nvcc_ptx

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "examples" / "trees"


@attrs.frozen
class Row:
    """One program: (registers, SASS instructions, results right) of both paths."""

    name: str
    nvir: tuple[int, int, bool]
    nvcc: tuple[int, int, bool]


def program(path: pathlib.Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"tree_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def by_nvir(example: Any, arch: str, level: int) -> str:
    module = generate(check(example.tree()), Options(arch=arch, lines=False))
    nvir.run_passes(module, f"default<O{level}>")
    return nvir.print_ptx(module)


def by_nvcc(example: Any, arch: str) -> str:
    result = nvcc_ptx(example.CUDA, arch)
    if not result.ok or result.ptx is None:
        raise NvirError(f"nvcc: {str(result)[:200]}")
    return str(result.ptx)


def measure(ptx: str, arch: str, kernel: str) -> tuple[int, int]:
    result = toolchain.ptxas(ptx, arch)
    if result.cubin is None:
        raise NvirError(result.error)
    code = toolchain.disassemble(result.cubin, live=False)
    total = sum(i.opcode.partition(".")[0] != "NOP" for body in code.values() for i in body)
    return result.kernels[kernel].registers or 0, total


def is_right(ptx: str, example: Any) -> bool:
    """Whether the interpreter finds the program's reference in what this PTX leaves."""
    kernel, grid, block, args, k, want, *tolerance = example.case()
    try:
        nvir.launch(nvir.read_ptx(ptx), kernel, grid, block, args)
    except NvirError:
        return False
    near = tolerance[0] if tolerance else 0
    return bool(np.allclose(args[k], want, rtol=near, atol=near))


def rows(names: list[str], arch: str, level: int) -> Iterator[Row | str]:
    for path in sorted(FOLDER.glob("*.py")):
        if names and path.stem not in names:
            continue
        example = program(path)
        kernel = example.case()[0]
        try:
            texts = by_nvir(example, arch, level), by_nvcc(example, arch)
            ours, theirs = ((*measure(t, arch, kernel), is_right(t, example)) for t in texts)
        except NvirError as e:
            yield f"{path.stem}: {e}"
            continue
        yield Row(path.stem, ours, theirs)


def line(row: Row) -> str:
    (r, n, good), (their_r, their_n, their_good) = row.nvir, row.nvcc
    verdict = f"{'right' if good else 'WRONG'} / {'right' if their_good else 'WRONG'}"
    return f"{row.name:16} {r:7} / {their_r:6} {n:7} / {their_n:6}   {verdict}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--level", type=int, default=2, choices=(0, 1, 2, 3))
    parser.add_argument("--json")
    given = parser.parse_args()
    print(f"{'program':16} {'registers':>16} {'SASS':>16}   results (nvir / nvcc)")
    compare(rows(given.names, given.arch, given.level), line, "nvcc", "program", given.json)


if __name__ == "__main__":
    main()
