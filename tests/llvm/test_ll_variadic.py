"""Bodies of variadic functions: the further arguments come in a buffer, as LLVM lowers them."""

from __future__ import annotations

import numpy as np
import pytest

import nvir
from nvir.passes.presets import preset

TEXT = """
define internal i32 @sum(i32 %n, ...) noinline {
entry:
  %ap = alloca ptr
  %bp = alloca ptr
  call void @llvm.va_start.p0(ptr %ap)
  call void @llvm.va_copy.p0(ptr %bp, ptr %ap)
  %a = load ptr, ptr %ap
  %x = load i8, ptr %a
  %b = load ptr, ptr %bp
  %q = getelementptr i8, ptr %b, i64 8
  %y = load i64, ptr %q
  call void @llvm.va_end.p0(ptr %bp)
  call void @llvm.va_end.p0(ptr %ap)
  %w = zext i8 %x to i32
  %z = trunc i64 %y to i32
  %s = add i32 %w, %z
  %t = add i32 %s, %n
  ret i32 %t
}
define ptx_kernel void @k(ptr %out, i64 %big) {
entry:
  %r = call i32 (i32, ...) @sum(i32 1000, i8 7, i64 %big)
  store i32 %r, ptr %out
  ret void
}
declare void @llvm.va_start.p0(ptr)
declare void @llvm.va_copy.p0(ptr, ptr)
declare void @llvm.va_end.p0(ptr)
"""


@pytest.mark.parametrize("level", [0, 3])
def test_arguments_stand_in_the_buffer_at_their_alignment(level: int) -> None:
    module = nvir.read_ll(TEXT)
    nvir.verify(module)
    again = nvir.print_ll(module, "llvm20")
    assert "va_" not in again
    assert "..." not in again
    nvir.run_passes(module, preset(level))
    out = np.zeros(1, np.int32)
    nvir.launch(nvir.read_ptx(nvir.print_ptx(module)), "k", 1, 1, [out, np.uint64(50)])
    assert out[0] == 1057


def test_what_is_only_declared_keeps_its_dots() -> None:
    text = "declare i32 @p(ptr, ...)\n"
    assert "@p(ptr, ...)" in nvir.print_ll(nvir.read_ll(text), "llvm20")


def test_what_cannot_be_lowered_is_told_at_its_place() -> None:
    new = "  call void @llvm.va_start.p0(ptr %out)"
    text = TEXT.replace("  store i32 %r, ptr %out", new)
    with pytest.raises(nvir.NvirError, match="not variadic") as e:
        nvir.read_ll(text)
    line = next(k for k, x in enumerate(text.split("\n"), 1) if new in x)
    assert f":{line}:" in str(e.value)


@pytest.mark.parametrize("level", [0, 3])
def test_the_next_argument_is_taken_at_its_alignment(level: int) -> None:
    """By name and through a pointer; a struct by value stands in the buffer itself."""
    module = nvir.read_ll("""
%S = type { i8, i32 }
@f = addrspace(1) global ptr @sum
define i32 @sum(i32 %n, ...) noinline {
  %ap = alloca ptr
  call void @llvm.va_start.p0(ptr %ap)
  %a = va_arg ptr %ap, i8
  %b = va_arg ptr %ap, %S
  %c = va_arg ptr %ap, double
  call void @llvm.va_end.p0(ptr %ap)
  %w = zext i8 %a to i32
  %x = extractvalue %S %b, 1
  %y = fptosi double %c to i32
  %s = add i32 %w, %x
  %t = add i32 %s, %y
  %u = add i32 %t, %n
  ret i32 %u
}
define ptx_kernel void @k(ptr %out) {
  %p = alloca %S
  %q = getelementptr %S, ptr %p, i32 0, i32 1
  store i32 40, ptr %q
  %f = load ptr, ptr addrspace(1) @f
  %r = call i32 (i32, ...) %f(i32 1000, i8 7, ptr byval(%S) %p, double 500.0)
  %z = call i32 (i32, ...) @sum(i32 %r, i8 1, ptr byval(%S) %p, double 0.0)
  store i32 %z, ptr %out
  ret void
}
declare void @llvm.va_start.p0(ptr)
declare void @llvm.va_end.p0(ptr)
""")
    nvir.run_passes(module, preset(level), verify=True)
    out = np.zeros(1, np.int32)
    nvir.launch(nvir.read_ptx(nvir.print_ptx(module)), "k", 1, 1, [out])
    assert out[0] == 1547 + 41


def test_va_arg_takes_from_a_list_in_memory() -> None:
    with pytest.raises(nvir.NvirError, match="a pointer"):
        nvir.read_ll("define void @f(i64 %p) {\n  %a = va_arg i64 %p, i32\n  ret void\n}")


@pytest.mark.parametrize("head", [
    'target triple = "nvptx-nvidia-cuda"', 'target datalayout = "e-p:32:32-i64:64"',
    'target datalayout = "e-p0:32:32:32"',
])
def test_32_bit_targets_are_unsupported(head: str) -> None:
    with pytest.raises(nvir.Unsupported, match=r"<text>:1:.*32-bit target"):
        nvir.read_ll(f"{head}\ndefine void @f() {{\n  ret void\n}}\n")


def test_short_pointers_of_other_spaces_are_no_32_bit_target() -> None:
    nvir.read_ll('target datalayout = "e-p3:32:32-p6:32:32-i64:64"\n')
