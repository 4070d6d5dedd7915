"""`nvir compile x.ll`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from nvir.cli import main
from nvir.toolchain import available

TEXT = """target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %p, i32 %n) #0 {
  %x = load i32, ptr %p
  %y = mul i32 %x, %n
  store i32 %y, ptr %p
  ret void
}
attributes #0 = { "target-cpu"="sm_90" }
"""


def run(tmp_path: Path, *options: str, text: str = TEXT) -> tuple[int, str]:
    file = tmp_path / "k.ll"
    file.write_text(text)
    done = CliRunner().invoke(main, ["compile", str(file), *options])
    return done.exit_code, done.output


def test_it_is_for_the_architecture_that_the_text_names(tmp_path):
    code, out = run(tmp_path)
    assert code == 0
    assert ".target sm_90" in out
    assert "mul.lo.s32" in out
    assert ".target sm_80" in run(tmp_path, "--arch", "sm_80")[1]


def test_it_prints_llvm_text_and_ir(tmp_path):
    assert "mul i32 %x, %n" in run(tmp_path, "--emit", "ll")[1]
    assert "mul" in run(tmp_path, "--emit", "nvvm")[1]


def test_text_is_known_by_what_it_looks_like(tmp_path):
    file = tmp_path / "k.txt"
    file.write_text(TEXT)
    done = CliRunner().invoke(main, ["compile", str(file)])
    assert (done.exit_code, ".entry k" in done.output) == (0, True)
    file.write_text('extern "C" __global__ void k() {}')
    assert ".entry k" in CliRunner().invoke(main, ["compile", str(file), "-DX"]).output


def test_options_of_sources_are_refused(tmp_path):
    code, out = run(tmp_path, "-DX=1")
    assert code == 2
    assert "-D is for CUDA sources" in out


@pytest.mark.skipif(not available("libnvvm"), reason="libnvvm is not installed")
def test_libnvvm_compiles_it(tmp_path):
    code, out = run(tmp_path, "--backend", "libnvvm")
    assert code == 0
    assert ".entry k" in out


def test_what_is_wrong_is_told_with_its_place(tmp_path):
    code, out = run(tmp_path, text=TEXT.replace("mul i32", "mul i64"))
    assert code == 1
    assert "k.ll:4:" in out
    code, out = run(tmp_path, "--emit", "tree")
    assert code == 1
    assert "has no tree" in out


SUM = """target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %p, float %x, float %y) {{
  %z = load float, ptr %p
  %m = fmul {} float %x, %y
  %s = fadd {} float %m, %z
  store float %s, ptr %p
  ret void
}}
"""
MULADD = SUM.format("", "").replace("%m = fmul  float %x, %y\n", "").replace(
    "fadd  float %m, %z", "call float @llvm.fmuladd.f32(float %x, float %y, float %z)"
) + "declare float @llvm.fmuladd.f32(float, float, float)\n"


@pytest.mark.parametrize("back", ["nvir", "libnvvm"])
@pytest.mark.parametrize(("text", "options", "fused"), [
    (SUM.format("contract", "contract"), (), True), (SUM.format("fast", "contract"), (), True),
    (SUM.format("", ""), (), False), (SUM.format("contract", ""), (), False),
    (SUM.format("", ""), ("-fmad=true",), True), (MULADD, (), True),
    (SUM.format("contract", "fast"), ("-fmad=false",), False), (MULADD, ("-fmad=false",), False),
])
def test_products_and_sums_are_fused_by_their_flags(tmp_path, text, options, fused, back):
    if back == "libnvvm" and not available("libnvvm"):
        pytest.skip("libnvvm is not installed")
    code, out = run(tmp_path, "--backend", back, *options, text=text)
    assert code == 0
    assert ("fma.rn.f32" in out) == fused
    assert (".rn.f32" in out.replace("fma.rn", "")) == (not fused)


CUDA = """extern "C" __global__ void k(float *p, float x, double *d) {
  float s = p[0];
  for (int i = 1; i < 8; ++i) s += x * p[i] / 4;
  p[0] = s;
  d[0] = d[1] * d[2] - d[3];
}"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_100"])
def test_text_of_a_cuda_source_gives_the_same_code(tmp_path, arch):
    source, text = tmp_path / "k.cu", tmp_path / "k.ll"
    source.write_text(CUDA)

    def compiled(*options: str) -> str:
        done = CliRunner().invoke(main, ["compile", *options, "--arch", arch, "--no-lines"])
        assert done.exit_code == 0
        return done.output

    for option in ("-fmad=true", "-fmad=false"):
        text.write_text(compiled(str(source), option, "--emit", "ll"))
        assert ("contract" in text.read_text()) == (option == "-fmad=true")
        code = compiled(str(source), option)
        assert ("fma.rn.f64" in code) == (option == "-fmad=true")
        assert compiled(str(text)) == code
