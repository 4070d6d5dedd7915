"""`nvir opt` on LLVM text."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from nvir.cli import main

TEXT = (
    "define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {\nentry:\n  %a = add i32 %n, 0\n"
    "  %b = mul i32 %n, 3\n  %c = mul i32 %n, 3\n  %d = add i32 %b, %c\n"
    "  store i32 %d, ptr addrspace(1) %p, align 4\n  ret void\n}\n"
)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "k.ll"
    path.write_text(TEXT)
    return str(path)


def run(*arguments, text=None):
    return CliRunner().invoke(main, ["opt", *arguments], input=text)


def test_llvm_text_by_suffix_and_by_content(file):
    by_suffix = run(file)
    assert by_suffix.exit_code == 0
    assert "define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n)" in by_suffix.output
    assert run("-", text=TEXT).output == by_suffix.output


def test_passes_run_on_it(file):
    assert run(file, "-p", "gvn,dce").output.count("mul i32") == 1


def test_dialects_and_languages(file):
    assert "i8 addrspace(1)* %p" in run(file, "--dialect", "llvm7").output
    assert run(file, "--emit", "nvir").output.startswith("module nvvm")
    assert ".visible .entry k(" in run(file, "--emit", "ptx").output


def test_an_error_stands_at_its_place(tmp_path):
    path = tmp_path / "bad.ll"
    path.write_text(TEXT.replace("mul i32 %n, 3", "mul i32 %m, 3", 1).replace("store", "stoer"))
    result = run(str(path))
    assert result.exit_code == 1
    assert f"{path}:7:3: error: expected an instruction, found 'stoer'" in result.output
    assert "Traceback" not in result.output


def test_a_dialect_that_is_asked_for_is_made(tmp_path):
    path = tmp_path / "k.ll"
    path.write_text("define float @f(float %x) {\n  fence seq_cst\n  %y = fneg float %x\n"
                    "  ret float %y\n}\n")
    assert "fneg float" in run(str(path)).output
    assert "fence seq_cst" in run(str(path)).output  # text for LLVM itself, as it stands
    for dialect, row in (("llvm7", "fsub float -0.000000e+00, %x"), ("llvm20", "fneg float %x")):
        made = run(str(path), "--dialect", dialect).output
        assert row in made
        assert "  fence" not in made
        twice = run(str(path), "--dialect", dialect, "-p", f"legalize<dialect={dialect}>").output
        assert twice == made


def test_what_a_dialect_cannot_have_is_named(tmp_path):
    path = tmp_path / "k.ll"
    path.write_text("declare float @llvm.tan.f32(float)\ndefine float @f(float %x) {\n"
                    "  %y = call float @llvm.tan.f32(float %x)\n  ret float %y\n}\n")
    refused = run(str(path), "--dialect", "llvm7")
    assert refused.exit_code == 1
    assert "error: unsupported: the intrinsic llvm.tan.f32 on llvm7" in refused.output
