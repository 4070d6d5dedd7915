"""gemm-pipeline: the PTX assembles; the machine code copies ahead and waits as the ring says."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import attrs
import pytest

import nvir
from nvir import toolchain
from tests.gemm_kernels import tile_case, tile_kernel

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "ptx"

pytestmark = pytest.mark.oracle


@pytest.fixture(autouse=True)
def unsimulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The predicted cycles are the matter of test_gemm_pipeline.py, and most of the time."""
    monkeypatch.setattr("nvir.passes.loop.tiles.gemm_pipeline.cycles", lambda *_: None)


def benchmark() -> ModuleType:
    path = ROOT / "benchmarks" / "gemm_pipeline.py"
    spec = importlib.util.spec_from_file_location("gemm_pipeline_benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assembled(text: str, stages: int, arch: str) -> toolchain.PtxasResult:
    module = nvir.read_ptx(text)
    nvir.run_passes(module, f"gemm-pipeline<stages={stages}>", verify=True)
    done = toolchain.ptxas(nvir.print_ptx(module), arch=arch)
    assert done.ok, done.log
    return done


MORE = pytest.mark.slow  # of what the others show already


@pytest.mark.parametrize(("name", "arch", "stages"), [
    ("sgemm.sm_80", "sm_80", 3), ("gemm_mma.sm_90", "sm_90", 4),
    ("clang_sgemm.sm_80", "sm_100", 2),
    *(pytest.param(*x, marks=MORE) for x in (
        ("sgemm.sm_90", "sm_90", 2), ("sgemm.sm_80", "sm_100", 4),
        ("clang_sgemm.sm_80", "sm_80", 4), ("gemm_mma.sm_80", "sm_80", 3),
        ("gemm_tile.sm_80", "sm_80", 4), ("gemm_tile.sm_90", "sm_90", 3),
        ("gemm_tile.sm_80", "sm_100", 2),
    )),
])
def test_machine_code_copies_ahead(name, arch, stages):
    """One wait an iteration, for all but stages - 2 groups; the copies of the iteration behind it,
    before their commit; so none of them is waited for in the same iteration."""
    text = (EXAMPLES / f"{name}.ptx").read_text()
    done = assembled(text, stages, arch)
    kernel = name.partition(".")[0].removeprefix("clang_")
    found = benchmark().read_back(done.cubin, kernel)
    assert found is not None
    assert found.keeps(stages), found
    assert done.kernels[kernel].spill_stores == 0


@pytest.mark.parametrize(("seed", "arch"), [
    pytest.param(seed, arch, marks=[] if (seed, arch) in (
        (0, "sm_80"), (1, "sm_90"), (2, "sm_100"),
    ) else MORE) for seed in range(4) for arch in ("sm_80", "sm_90", "sm_100")
])
def test_random_tile_kernels_assemble(seed, arch):
    shape = attrs.evolve(tile_case(seed), target=arch)
    text = tile_kernel(shape).replace(".version 8.0", ".version 8.6")
    done = assembled(text, 2 + seed, arch)
    found = benchmark().read_back(done.cubin, "k")
    assert found is not None
    assert found.keeps(2 + seed), found


def test_a_loop_that_waits_at_once_is_not_kept():
    """Near miss: the copies of the same iteration are waited for."""
    text = (EXAMPLES / "sgemm.sm_80.ptx").read_text()
    module = nvir.read_ptx(text)
    nvir.run_passes(module, "gemm-pipeline<stages=3>")
    printed = nvir.print_ptx(module)
    again = printed.replace("cp.async.commit_group;", "cp.async.commit_group; cp.async.wait_all;")
    found = benchmark().read_back(toolchain.ptxas(again, arch="sm_80").cubin, "sgemm")
    assert found is not None
    assert not found.keeps(3)
