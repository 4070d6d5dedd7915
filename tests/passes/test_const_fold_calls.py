"""Intrinsics of floats on literals give what the interpreter gives for numbers in memory."""

from __future__ import annotations

import numpy as np
import pytest

import nvir
from nvir.ir.opcodes.evaluate import evaluate

NUMBERS = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.49, -7.0, 1e9, -1e9, 3e38, float("inf"),
           float("-inf"), float("nan"), 0.49999997, 8388609.0, 127.5, -128.5, 255.9]
ONE = ("floor", "ceil", "trunc", "rint", "nearbyint", "roundeven", "round", "fabs", "sqrt")
TWO = ("minnum", "maxnum", "minimum", "maximum", "copysign")
TYPES = {"float": ("f32", np.float32, np.uint32), "double": ("f64", np.float64, np.uint64)}


def body(name: str, type: str, operands: list[str]) -> str:
    suffix, given = TYPES[type][0], ", ".join(f"{type} {x}" for x in operands)
    if ".sat" in name:
        return f"call i16 @llvm.{name}.i16.{suffix}({given})"
    return f"call {type} @llvm.{name}.{suffix}({given})"


def literal(x: float, type: str) -> str:
    return f"0x{int(np.float64(np.float32(x) if type == 'float' else x).view(np.uint64)):016X}"


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", [*ONE, *TWO, "fma", "fptosi.sat", "fptoui.sat"])
def test_of_literals_as_of_numbers_in_memory(name, type):
    count = 3 if name == "fma" else 2 if name in TWO else 1
    _, real, bits = TYPES[type]
    rows = [tuple(NUMBERS[(k * (1 + 3 * j) + j * m) % len(NUMBERS)] for j in range(count))
            for k in range(len(NUMBERS)) for m in range(1, 4 if count > 1 else 2)]
    result = "i16" if ".sat" in name else type
    loads = "\n".join(f"  %p{j} = getelementptr {type}, ptr %in, i32 {j}\n"
                      f"  %x{j} = load {type}, ptr %p{j}" for j in range(count))
    text = (f"define ptx_kernel void @k(ptr %in, ptr %out) {{\n{loads}\n"
            f"  %r = {body(name, type, [f'%x{j}' for j in range(count)])}\n"
            f"  store {result} %r, ptr %out\n  ret void\n}}\n")
    module = nvir.read_ll(text)
    folded = 0
    for row in rows:
        line = body(name, type, [literal(x, type) for x in row])
        one = nvir.read_ll(f"define {result} @f() {{\n  %r = {line}\n  ret {result} %r\n}}\n")
        made = evaluate(one["f"].entry.first)
        if made is None:
            continue
        folded += 1
        out = np.zeros(1, np.uint16 if ".sat" in name else bits)
        nvir.launch(module, "k", 1, 1, [np.array(row, real), out])
        if ".sat" not in name and name not in ("fabs", "copysign") and np.isnan(out.view(real)[0]):
            assert np.isnan(np.array([made], bits).view(real)[0]), (name, row)  # any NaN
        else:
            assert int(out[0]) == made & ((1 << 8 * out.itemsize) - 1), (name, row)
    assert folded >= len(rows) // 2


def test_what_is_declined():
    for line in ("call float @llvm.sqrt.f32(float -1.0)",
                 "call float @llvm.nvvm.fabs.ftz.f(float 0x36A0000000000000)",
                 "call afn float @llvm.sqrt.f32(float 2.0)",
                 "call float @llvm.floor.f32(float 0x36A0000000000000)"):
        one = nvir.read_ll(f"define float @f() {{\n  %r = {line}\n  ret float %r\n}}\n")
        assert evaluate(one["f"].entry.first) is None


# What opt of LLVM 19 gives, -O2.
NANS = {
    "fadd float 1.0, 0xFFF8000000000000": 0xFFC00000,
    "fadd float 0xFFFC000000000000, 0x7FF8000000000000": 0xFFE00000,
    "fadd float 0x7FF4000000000000, 1.0": 0x7FE00000,
    "fsub float 1.0, 0x7FF8000000000000": 0x7FC00000,
    "fadd float 0x7FF0000000000000, 0xFFF0000000000000": 0x7FC00000,
    "fmul float 0x7FF0000000000000, -0.0": 0x7FC00000,
    "fdiv float -0.0, 0.0": 0x7FC00000,
    "fdiv float 0xFFF8000000000000, -1.0": 0xFFC00000,
    "frem float 1.0, 0.0": 0x7FC00000,
    "frem float -5.5, 2.0": 0xBFC00000,
    "fneg float 0x7FF8000000000000": 0xFFC00000,
    "fptrunc double 0xFFFA000000000001 to float": 0xFFD00000,
    "fptrunc double 0xFFF0000000000001 to float": 0xFFC00000,
    "fpext half 0xHFE01 to float": 0xFFC02000,
    "call float @llvm.minnum.f32(float 0x7FF8000000000000, float 0xFFFA000000000000)": 0xFFD00000,
    "call float @llvm.minnum.f32(float 0.0, float -0.0)": 0x80000000,
    "call float @llvm.maxnum.f32(float 0.0, float -0.0)": 0,
    "call float @llvm.maximum.f32(float 0x7FF8000000000000, float 1.0)": 0x7FC00000,
    "call float @llvm.trunc.f32(float 0x7FF4000000000000)": 0x7FE00000,
    "call float @llvm.fma.f32(float 0.0, float 0x7FF0000000000000, float 0xFFF8000000000000)":
        0x7FC00000,
    "call float @llvm.fma.f32(float 0xFFF8000000000000, float 1.0, float 0x7FFA000000000000)":
        0xFFC00000,
    "call float @llvm.fma.f32(float 2.0, float 1.0, float 0xFFFA000000000000)": 0xFFD00000,
    "call float @llvm.nvvm.fabs.f(float -2.0)": 0x40000000,
    "call float @llvm.nvvm.fmin.f(float 3.0, float -2.0)": 0xC0000000,
}


@pytest.mark.parametrize("line", NANS)
def test_a_nan_is_the_one_of_llvm(line):
    one = nvir.read_ll(f"define float @f() {{\n  %r = {line}\n  ret float %r\n}}\n")
    assert evaluate(one["f"].entry.first) == NANS[line]
