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


def test_what_a_dialect_lacks_is_named(tmp_path):
    path = tmp_path / "k.ll"
    path.write_text("define float @f(float %x) {\n  %y = fneg float %x\n  ret float %y\n}\n")
    refused = run(str(path), "--dialect", "llvm7")
    assert refused.exit_code == 1
    assert "error: unsupported: fneg on llvm7 at @f" in refused.output
    legal = run(str(path), "--dialect", "llvm7", "-p", "legalize<dialect=llvm7>")
    assert "fsub float -0.000000e+00, %x" in legal.output
