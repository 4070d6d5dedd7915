"""The examples compiled from their CUDA sources; the references of tests/interp judge them."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path
from typing import Any

import pytest

import nvir

pytest.importorskip("clang.cindex")
ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def compiled(name: str) -> Any:
    """The module behind the name of a PTX file: "sgemm.sm_90" is sgemm.cu for sm_90."""
    stem, _, arch = name.removeprefix("clang_").partition(".")
    return nvir.compile_cuda(ROOT / "examples" / f"{stem}.cu", arch)


def _references() -> Any:
    path = ROOT / "tests" / "interp" / "test_examples.py"
    spec = importlib.util.spec_from_file_location("example_references", path)
    assert spec is not None
    made = importlib.util.module_from_spec(spec)
    assert spec.loader is not None
    spec.loader.exec_module(made)
    made.module = compiled  # type: ignore[attr-defined]
    return made


_made = _references()
rng = _made.rng
globals().update({
    k: v for k, v in vars(_made).items() if k.startswith("test_") and "triton" not in k
})


@pytest.mark.oracle
@pytest.mark.parametrize("path", [
    pytest.param(p, marks=() if p.stem in ("sgemm", "gemm_wmma", "print") else pytest.mark.slow)
    for p in sorted((ROOT / "examples").glob("*.cu"))
], ids=lambda p: p.stem)
def test_the_assembler_takes_it(path: Path) -> None:
    from nvir.toolchain.ptxas import ptxas

    arch = "sm_90" if "specialised" in path.stem else "sm_80"
    result = ptxas(nvir.print_ptx(nvir.compile_cuda(path, arch)), arch)
    assert result.ok, result.log


@pytest.mark.parametrize("text", [
    "extern \"C\" __global__ void k(double *a, float *b) { a[0] = fabs(a[1]); b[0] = floorf(b[1]); "
    "__syncthreads(); atomicAdd(b, 1.f); }",
    "static __device__ int f(int x) { return x + 1; }\n"
    "extern \"C\" __global__ void k(int *a) { int (*g)(int) = f; a[0] = g(__popc(a[1])); }",
])
def test_the_tree_of_a_source_compiles_to_its_code(text: str, tmp_path: Path) -> None:
    """What the compiler knows of itself is in the tree too."""
    from click.testing import CliRunner

    from nvir.cli import main

    source, tree = tmp_path / "k.cu", tmp_path / "k.json"
    source.write_text(text)
    run = CliRunner().invoke
    assert run(main, ["compile", str(source), "--emit", "tree", "-o", str(tree)]).exit_code == 0
    made, direct = (run(main, ["compile", str(x)]) for x in (tree, source))
    assert made.exit_code == 0, made.output
    assert made.stdout == direct.stdout
