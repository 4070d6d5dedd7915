"""NVIDIA's back end for trees: libnvvm with libdevice linked, held to nvir's own way."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from fe_judges import module_of, run

import nvir
from nvir import toolchain
from nvir.cli import main
from nvir.compiler import ptx_by_libnvvm
from nvir.frontend import build as b
from nvir.frontend.libm.library import BOUNDS, ONE, TWO
from nvir.ir.errors import NvirError
from nvir.toolchain import libnvvm
from nvir.toolchain.errors import ToolMissing

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "trees").glob("*.py"))
N = 64
i = b.name("i")


def all_functions(real, one, two):
    """A kernel that calls every function on `x`, `y`, its results one after the other."""
    s = "f" if real == "float" else ""
    out, x, y = b.names("out x y")
    calls = [b.call(f"{n}{s}", x[i]) for n in one] + [b.call(f"{n}{s}", x[i], y[i]) for n in two]
    body = [b.assign(out[b.cast("int", k * N) + i], c) for k, c in enumerate(calls)]
    return b.unit(b.kernel("k", f"{real} *out, const {real} *x, const {real} *y",
                           b.let("int i", b.threadIdx.x), *body))


@pytest.mark.oracle
@pytest.mark.parametrize(("real", "kind"), [("double", np.float64), ("float", np.float32)])
def test_libdevice_and_the_own_mathematics_agree(real, kind):
    """Both are within a few units in the last place of the truth, so of each other."""
    one = [n for n in ONE if n != "acosh"]
    rng = np.random.default_rng(1)
    x, y = (rng.uniform(0.05, 0.95, N).astype(kind) for _ in range(2))
    theirs = np.zeros((len(one) + len(TWO)) * N, kind)
    ours = np.zeros_like(theirs)
    ptx = ptx_by_libnvvm(all_functions(real, one, TWO))
    assert "__nvir_" not in ptx
    nvir.launch(nvir.read_ptx(ptx), "k", 1, N, [theirs, x, y])
    run(module_of(all_functions(real, one, TWO)), "k", [ours, x, y], block=N)
    apart = np.abs(theirs - ours) / np.spacing(np.abs(ours))
    for k, name in enumerate([*one, *TWO]):
        worst = apart[k * N : (k + 1) * N].max()
        # libdevice's own errors: 2 ulp at most in double, but 4 in float (CUDA C++ Programming
        # Guide, Mathematical Functions)
        assert worst <= (BOUNDS.get(name, 2) + 2 if kind is np.float64 else 5), (name, worst)


@pytest.mark.oracle
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_by_libnvvm_give_their_references(path):
    spec = importlib.util.spec_from_file_location(f"lib_{path.stem}", path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    kernel, grid, block, args, k, want, *tolerance = example.case()
    module = nvir.read_ptx(ptx_by_libnvvm(example.tree()))
    nvir.launch(module, kernel, grid, block, args)
    near = tolerance[0] if tolerance else 0
    np.testing.assert_allclose(args[k], want, rtol=near, atol=near)


@pytest.mark.oracle
@pytest.mark.parametrize("arch", ["sm_80", "sm_100"])
def test_the_command_compiles_by_libnvvm(tmp_path, arch):
    made = tmp_path / "softmax.ptx"
    source = next(p for p in EXAMPLES if p.stem == "softmax")
    words = ["compile", str(source), "--backend", "libnvvm", "--arch", arch, "-o", str(made)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert f".target {arch}" in made.read_text()
    assert "NVVM Compiler" in made.read_text()
    assert toolchain.ptxas(made.read_text(), arch).ok


def test_the_ir_for_libnvvm_declares_libdevice():
    seen = []
    x, out = b.names("x out")
    tree = b.unit(b.kernel("k", "double *out, double x", b.assign(out[0], b.call("sin", x))))
    assert ptx_by_libnvvm(tree, level="nvvm", observe=lambda _, m: seen.append(m)) == ""
    names = {str(f.name): bool(f.blocks) for f in seen[0].functions}
    assert names == {"k": True, "__nv_sin": False}


def test_a_missing_library_is_told(monkeypatch, tmp_path):
    def gone(*_args, **_words):
        raise ToolMissing("libnvvm")

    monkeypatch.setattr(libnvvm, "compile", gone)
    source = next(p for p in EXAMPLES if p.stem == "saxpy")
    result = CliRunner().invoke(main, ["compile", str(source), "--backend", "libnvvm"])
    assert result.exit_code != 0
    assert "libnvvm was not found; install it with" in result.output
    assert "Traceback" not in result.output


def test_what_libnvvm_refuses_is_told_in_its_words(monkeypatch):
    refused = libnvvm.NvvmResult(False, False, None, "no such thing", "ERROR", "", False, 0.0)
    monkeypatch.setattr(libnvvm, "compile", lambda *_a, **_w: refused)
    tree = b.unit(b.kernel("k", "int *out", b.assign(b.name("out")[0], 1)))
    with pytest.raises(NvirError, match="libnvvm refuses the module: no such thing"):
        ptx_by_libnvvm(tree)
