"""What attributes say is used: read-only pointers, alignments; what PTX has no word for is left."""

from __future__ import annotations

import pytest

import nvir
from nvir.passes.driver import run_passes
from nvir.passes.presets import preset
from nvir.toolchain import available, ptxas


def ptx(text: str, level: int = 2) -> str:
    module = nvir.read_ll(text)
    run_passes(module, preset(level), verify=True)
    out = nvir.print_ptx(module)
    if available("ptxas"):
        assert ptxas(out, "sm_80").cubin is not None
    return out


def kernel(body: str, p: str = "noalias %p", o: str = "%o") -> str:
    return f"define ptx_kernel void @k(ptr {p}, ptr {o}, i32 %n) {{\n{body}\n  ret void\n}}\n"


READ = """  %q = getelementptr i32, ptr %p, i32 %n
  %x = load i32, ptr %q
  store i32 %x, ptr %o"""


@pytest.mark.parametrize("p", ["noalias readonly %p", "noalias %p"])
def test_what_is_only_read_goes_through_the_read_only_path(p):
    assert "ld.global.nc.u32" in ptx(kernel(READ, p))


@pytest.mark.parametrize(("body", "p"), [
    (READ, "readonly %p"),  # something else may write there
    (READ + "\n  store i32 1, ptr %p", "noalias %p"),
    (READ.replace("load", "load volatile"), "noalias readonly %p"),
])
def test_what_may_be_written_does_not(body, p):
    assert ".nc" not in ptx(kernel(body, p))


def test_a_pointer_that_joins_two_is_read_only_if_both_are():
    text = kernel("""  %c = icmp eq i32 %n, 0
  %r = select i1 %c, ptr %p, ptr %o
  %x = load i32, ptr %r
  %z = zext i32 %x to i64
  %a = inttoptr i64 %z to ptr addrspace(1)
  store i32 1, ptr addrspace(1) %a""", "noalias readonly %p", "noalias readonly %o")
    assert ".nc.u32" in ptx(text)
    assert ".nc" not in ptx(text.replace("noalias readonly %o", "readonly %o"))


def test_stack_memory_is_aligned_for_copies():
    text = kernel("""  %a = alloca [48 x i8], align 1
  call void @llvm.memset.p0.i64(ptr align 1 %a, i8 0, i64 48, i1 false)
  %g = getelementptr i8, ptr %a, i32 %n
  store i8 1, ptr %g
  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %o, ptr align 1 %a, i64 48, i1 false)""")
    text += ("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
             "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n")
    out = ptx(text)
    assert ".local .align 16 .b8" in out
    assert "st.local.v4.u32" in out
    assert "bra" not in out


def test_a_value_moved_in_pieces_is_not_put_together():
    out = ptx(kernel("  %x = load i32, ptr %p, align 1\n  store i32 %x, ptr %o, align 1"))
    assert out.count("ld.global.nc.u8") == out.count("st.global.u8") == 4
    assert "shl" not in out
    mixed = ptx(kernel("  %x = load i32, ptr %p, align 1\n  store i32 %x, ptr %o, align 2"))
    assert "shl" in mixed


def test_volatile_stack_memory_stays_volatile():
    out = ptx(kernel("  %a = alloca i32\n  store volatile i32 %n, ptr %a\n"
                     "  %x = load volatile i32, ptr %a\n  store i32 %x, ptr %o"))
    assert "st.volatile.u32" in out
    assert "ld.volatile.u32" in out


def test_an_address_that_is_a_number_is_in_a_register():
    out = ptx("define ptx_kernel void @k() {\n  %p = inttoptr i64 64 to ptr addrspace(1)\n"
              "  store i32 2, ptr addrspace(1) %p\n  ret void\n}\n")
    assert "st.global.u32 \t[%rd" in out


def test_common_constants_are_weak():
    out = ptx("@c = common addrspace(4) global i32 0\n"
              "define i32 @f() {\n  %x = load i32, ptr addrspace(4) @c\n  ret i32 %x\n}\n")
    assert ".weak .const" in out


def test_what_a_kernel_returns_is_dropped():
    out = ptx("define ptx_kernel i32 @k(i32 %x) {\n  ret i32 %x\n}\n")
    assert ".entry k(" in out
    assert "func_retval" not in out
