"""libdevice's functions are linked: NVIDIA's where installed, nvir's own where not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nvir
from nvir import libdevice
from nvir.passes.driver import run_passes
from nvir.passes.presets import preset
from nvir.toolchain import available

TEXT = """
@.str = private constant [{n} x i8] c"{word}\\00"
declare double @__nv_sin(double)
declare float @__nv_powf(float, float)
declare void @__nv_sincosf(float, ptr, ptr)
declare i32 @__nvvm_reflect(ptr)
define ptx_kernel void @k(ptr %p) {{
  %s = alloca float
  %c = alloca float
  %x = load float, ptr %p
  %y = call float @__nv_powf(float %x, float 2.5)
  call void @__nv_sincosf(float %y, ptr %s, ptr %c)
  %a = load float, ptr %s
  %b = load float, ptr %c
  %d = fpext float %a to double
  %e = call double @__nv_sin(double %d)
  %f = fptrunc double %e to float
  %g = fadd float %f, %b
  %r = call i32 @__nvvm_reflect(ptr @.str)
  %h = sitofp i32 %r to float
  %i = fadd float %g, %h
  store float %i, ptr %p
  ret void
}}
"""


def run(x: float, word: str = "__CUDA_FTZ", level: int = 3) -> float:
    module = nvir.read_ll(TEXT.format(n=len(word) + 1, word=word))
    run_passes(module, preset(level), verify=True)
    ptx = nvir.print_ptx(module)
    assert "__nv_" not in ptx.replace("__nvir_", "") or level == 0
    data = np.array([x], dtype=np.float32)
    nvir.launch(nvir.read_ptx(ptx), "k", 1, 1, [data])
    return float(data[0])


def wanted(x: float) -> float:
    y = float(np.float32(x)) ** 2.5
    return math.sin(math.sin(y)) + math.cos(y)


@pytest.mark.skipif(not available("libdevice"), reason="libdevice is not installed")
@pytest.mark.parametrize("level", [0, 3])
def test_nvidias_bodies_compute_what_they_should(level):
    assert run(0.7, level=level) == pytest.approx(wanted(0.7), rel=1e-5)


@pytest.mark.parametrize("x", [0.7, 31.0])
def test_without_them_nvirs_own_do(monkeypatch, x):
    monkeypatch.setattr(libdevice, "_by_libnvvm", lambda *_: None)
    assert run(x) == pytest.approx(wanted(x), rel=1e-4)


@pytest.mark.parametrize(("word", "answer"), [
    ("__CUDA_ARCH", 800), ("__CUDA_FTZ", 0), ("__CUDA_PREC_SQRT", 1), ("__NOTHING", 0),
])
def test_reflection_is_answered(monkeypatch, word, answer):
    monkeypatch.setattr(libdevice, "_by_libnvvm", lambda *_: None)
    assert run(0.7, word) == pytest.approx(wanted(0.7) + answer, rel=1e-4)


def test_what_nobody_has_stays_declared():
    module = nvir.read_ll("declare float @__nv_nothing(float)\ndefine float @f(float %x) {\n"
                          "  %y = call float @__nv_nothing(float %x)\n  ret float %y\n}\n")
    run_passes(module, "link-libdevice", verify=True)
    assert not module["__nv_nothing"].blocks


@pytest.mark.parametrize(("flag", "answer"), [
    ("", 1), ('!llvm.module.flags = !{!0}\n!0 = !{i32 4, !"nvvm-reflect-ftz", i32 0}\n', 0),
    ('!llvm.module.flags = !{!0}\n!0 = !{i32 1, !"wchar_size", i32 4}\n', 1),
])
def test_roots_are_as_precise_as_the_texts_compiler_has_them(flag, answer):
    """libnvvm's default where nothing says that the text is LLVM's."""
    word = "__CUDA_PREC_SQRT"
    module = nvir.read_ll(f"""@.str = private constant [{len(word) + 1} x i8] c"{word}\\00"
declare i32 @__nvvm_reflect(ptr)
define i32 @f() {{
  %r = call i32 @__nvvm_reflect(ptr @.str)
  ret i32 %r
}}
{flag}""")
    run_passes(module, "link-libdevice", verify=True)
    assert f"ret i32 {answer}" in nvir.print_ll(module, "llvm20")
