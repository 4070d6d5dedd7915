"""cuobjdump and nvcc: images in fat binaries, resource figures, PTX without our paths."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from corpus import ROOT, examples

from nvir import toolchain
from nvir.toolchain import ToolError
from nvir.toolchain.nvcc import without_paths

USAGE = """\
Resource usage:
 Common:
  GLOBAL:0
 Function saxpy4:
  REG:18 STACK:0 SHARED:0 LOCAL:0 CONSTANT[0]:376 TEXTURE:0 SURFACE:0 SAMPLER:0
 Function sgemm:
  REG:32 STACK:8 SHARED:2048 LOCAL:0 CONSTANT[0]:396 TEXTURE:1 NEWTHING:7
"""


def test_resource_usage_keeps_unknown_figures():
    usage = toolchain.read_resource_usage(USAGE)
    assert usage["saxpy4"]["REG"] == 18
    assert usage["sgemm"]["CONSTANT[0]"] == 396
    assert usage["sgemm"]["NEWTHING"] == 7
    assert "Common" not in usage


@pytest.mark.oracle
def test_figures_agree_with_ptxas():
    (path,) = examples("sgemm.sm_80.ptx")
    result = toolchain.ptxas(path, "sm_80")
    usage = toolchain.resource_usage(result.cubin)["sgemm"]
    kernel = result.kernels["sgemm"]
    assert (usage["REG"], usage["SHARED"]) == (kernel.registers, kernel.smem)


@pytest.mark.oracle
def test_a_cubin_holds_itself_and_a_program_without_device_code_nothing():
    (path,) = examples("saxpy.sm_80.ptx")
    cubin = toolchain.ptxas(path, "sm_80").cubin
    (image,) = toolchain.embedded(cubin)
    assert (image.kind, image.arch) == ("cubin", "sm_80")
    assert toolchain.embedded(Path("/bin/ls")) == []


@pytest.mark.oracle
def test_junk_is_a_tool_error():
    with pytest.raises(ToolError, match="cuobjdump"):
        toolchain.embedded(b"no binary\n")


def test_paths_are_taken_out_of_file_lines():
    ptx = (
        '\t.file\t1 "/home/me/kernels/sub/a.cu"\n'
        '\t.file\t2 "/opt/cuda/bin/../targets/x86_64-linux/include/crt/mma.hpp"\n'
        '\t.file\t3 "/elsewhere/b.cuh"\n\t.file\t4 "c.cu"\n'
    )
    assert without_paths(ptx, Path("/home/me/kernels")).split('"')[1::2] == [
        "sub/a.cu",
        "cuda/crt/mma.hpp",
        "b.cuh",
        "c.cu",
    ]


needs_nvcc = pytest.mark.skipif(
    not toolchain.available("nvcc") or not shutil.which("g++"), reason="no nvcc or no g++"
)


@pytest.mark.oracle
@needs_nvcc
def test_nvcc_makes_ptx_or_a_log():
    source = 'extern "C" __global__ void k(int *p) { *p = 1; }\n'
    result = toolchain.nvcc_ptx(source, "sm_90", ["-lineinfo"])
    assert result.ok
    assert ".target sm_90" in result.ptx
    assert '"input.cu"' in result.ptx
    assert toolchain.ptxas(result.ptx, "sm_90").ok
    wrong = toolchain.nvcc_ptx("nonsense\n")
    assert wrong.ptx is None
    assert "error" in wrong.log


@pytest.mark.oracle
@pytest.mark.parametrize("path", examples(), ids=lambda p: p.stem)
def test_every_example_assembles_and_names_no_machine(path):
    text = path.read_text()
    assert '"/' not in text
    assert toolchain.ptxas(path, None).ok


def test_every_cuda_example_has_its_ptx():
    names = {path.name.split(".")[0] for path in examples()}
    assert {path.stem for path in (ROOT / "examples").glob("*.cu")} <= names
    main = (ROOT / "examples" / "sgemm.ptx").read_text()
    assert main == (ROOT / "examples" / "ptx" / "sgemm.sm_80.ptx").read_text()
