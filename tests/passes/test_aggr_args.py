"""Struct parameters: taken apart, read where they were passed, or copied; knobs and remarks."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import nvir
from nvir.ir.clone import clone_module
from nvir.ir.types import FLOAT, I32
from nvir.passes.select import select_module
from nvir.toolchain import libnvvm
from tests.aggregates import aggregates_left, apply
from tests.selection import assembles, read, run, same

BOTH = "lower-struct-args<opt-byval>,lower-aggr-copies"
TYPE = "%S = type { i32, float, [4 x i16] }\n"
ARGUMENT = struct.pack("<if4h", 5, 1.5, 1, 2, 3, 4)

KERNEL = TYPE + """define ptx_kernel void @k(ptr byval(%S) align 8 %s, ptr %out) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = and i32 %tid, 3
  br label %loop
loop:
  %n = phi i32 [ 0, %entry ], [ %n1, %loop ]
  %acc = phi i32 [ 0, %entry ], [ %acc1, %loop ]
  %p1 = getelementptr %S, ptr %s, i64 0, i32 2, i32 %i
  %h = load i16, ptr %p1
  %h32 = zext i16 %h to i32
  %p2 = getelementptr %S, ptr %s, i64 0, i32 2, i32 3
  %g = load i16, ptr %p2
  %g32 = zext i16 %g to i32
  %v0 = load i32, ptr %s
  %sum = add i32 %v0, %g32
  %acc0 = add i32 %acc, %sum
  %acc1 = add i32 %acc0, %h32
  WRITE
  %n1 = add i32 %n, 1
  %c = icmp slt i32 %n1, 3
  br i1 %c, label %loop, label %done
done:
  %o = getelementptr i32, ptr %out, i32 %tid
  store i32 %acc1, ptr %o
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""

CALLS = TYPE + """define internal i32 @f(ptr byval(%S) align 4 %p) noinline {
entry:
  %a = load i32, ptr %p
  %p1 = getelementptr %S, ptr %p, i64 0, i32 2, i64 1
  %h = load i16, ptr %p1
  %h32 = zext i16 %h to i32
  %s = add i32 %a, %h32
  WRITE
  ret i32 %s
}
define ptx_kernel void @k(ptr %in, ptr %out) {
entry:
  %r = call i32 @f(ptr byval(%S) align 4 %in)
  %again = load i32, ptr %in
  %t = add i32 %r, %again
  store i32 %t, ptr %out
  ret void
}
"""


def kernel(write: str = "") -> nvir.ir.Module:
    return read(KERNEL.replace("WRITE", write))


def calls(write: str = "") -> nvir.ir.Module:
    return read(CALLS.replace("WRITE", write))


def check(m, pipeline=BOTH, args=None, **settings):
    """Lower, compare with the interpreter and with the selected code; the remarks."""
    given = args or [ARGUMENT, np.zeros(32, np.int32)]
    before, _ = run(m, given)
    remarks = apply(m, pipeline, **settings)
    same(before, run(m, given)[0])
    ori = select_module(clone_module(m))
    nvir.verify(ori)
    same(before, run(ori, given)[0])
    m.ptx = assembles(ori)  # type: ignore[attr-defined]
    return remarks


def remark_names(remarks, pass_name="lower-struct-args"):
    return [r.name for r in remarks if r.pass_name == pass_name]


IN_MEMORY = [np.frombuffer(ARGUMENT * 2, np.uint8).copy(), np.zeros(1, np.int32)]


@pytest.mark.seed("LSA-02")
def test_a_kernel_reads_its_parameter_where_it_was_passed():
    m = kernel()
    remarks = check(m)
    assert remark_names(remarks) == ["ByvalDirect"]
    assert not any(i.form.name == "alloca" for i in m["k"].instructions())
    assert ".local" not in m.ptx
    assert "ld.param.u16" in m.ptx


@pytest.mark.seed("LSA-02")
def test_a_whole_struct_in_a_parameter_is_read_by_leaf():
    m = read(TYPE + """define ptx_kernel void @k(ptr byval(%S) align 8 %s, ptr %out) {
entry:
  %v = load %S, ptr %s
  %x = extractvalue %S %v, 2, 3
  %y = zext i16 %x to i32
  store i32 %y, ptr %out
  ret void
}""")
    check(m)
    assert not aggregates_left(m)
    assert ".local" not in m.ptx
    assert m.ptx.count("ld.param") == 2


@pytest.mark.seed("LSA-06")
def test_a_written_parameter_is_copied():
    m = kernel("store i32 9, ptr %s")
    remarks = check(m)
    assert remark_names(remarks) == ["ByvalCopied"]
    assert "it is written" in remarks.to_text()
    assert [i.aux[1] for i in m["k"].instructions() if i.form.name == "alloca"] == [16]


@pytest.mark.seed("LSA-06")
def test_a_callees_write_is_not_seen_by_the_caller():
    m = calls("store i32 99, ptr %p")
    given = [x.copy() for x in IN_MEMORY]
    remarks = check(m, args=given)
    assert "it is written" in remarks.to_text()
    out, _ = run(m, given, block=1)
    assert out[1][0] == 5 + 2 + 5


@pytest.mark.seed("LSA-03")
def test_a_device_functions_parameter_is_local_memory_unless_told_otherwise():
    def kept(**knobs):
        m = calls()
        names = remark_names(check(m, args=IN_MEMORY, knobs=knobs))
        allocas = any(i.form.name == "alloca" for i in m["f"].instructions())
        return names, allocas

    assert kept() == (["ByvalCopied"], True)
    assert kept(**{"lower-read-only-devicefn-byval": 1}) == (["ByvalDirect"], False)
    assert kept(**{"devicefn-param-always-local": 0}) == (["ByvalDirect"], False)
    assert kept(**{"lsa-opt": 0}) == ([], False)


@pytest.mark.seed("MEM-23")
def test_where_a_parameter_lies_decides_what_it_may_overlap():
    """Local memory is not global memory, so the copy needs no test of the addresses."""
    text = TYPE + """define void @f(ptr byval(%S) align 4 %p, ptr %x) {
entry:
  %g = load ptr addrspace(1), ptr %x
  call void @llvm.memmove.p0.p1.i64(ptr align 4 %p, ptr addrspace(1) align 4 %g, i64 8, i1 false)
  ret void
}
declare void @llvm.memmove.p0.p1.i64(ptr, ptr addrspace(1), i64, i1)"""
    for knob, blocks in ((1, 1), (0, 5)):
        m = read(text)
        apply(m, knobs={"devicefn-param-always-local": knob})
        assert len(m["f"].blocks) == blocks


def test_an_index_of_run_time_in_a_device_function_wants_a_copy():
    m = read(CALLS.replace("WRITE", "").replace("i32 2, i64 1", "i32 2, i32 %a"))
    remarks = apply(m, BOTH, knobs={"lower-read-only-devicefn-byval": 1})
    assert "it is read at an index that is not constant" in remarks.to_text()


@pytest.mark.parametrize(("write", "why"), [
    ("store ptr %s, ptr %out", "its address is used by store"),
    ("%q = ptrtoint ptr %s to i64", "its address is used by ptrtoint"),
    ("call void @g(ptr %s)", "its address is passed to g"),
])
def test_an_address_that_escapes_wants_a_copy(write, why):
    m = read(KERNEL.replace("WRITE", write) + "\ndeclare void @g(ptr)")
    assert why in apply(m, BOTH).to_text()


def test_what_a_call_copies_is_only_read():
    m = read(KERNEL.replace("WRITE", "call void @g(ptr byval(%S) %s)")
             + "\ndeclare void @g(ptr byval(%S))")
    assert remark_names(apply(m, BOTH)) == ["ByvalDirect"]


@pytest.mark.seed("LSA-03", "LSA-05")
def test_loads_of_parameters_move_to_the_entry():
    m = kernel()
    remarks = check(m, knobs={"hoist-load-param": 1})
    entry, loop = m["k"].blocks[:2]
    assert sorted(i.type.bits for i in entry if i.form.name == "load") == [16, 32]
    assert [i.type.bits for i in loop if i.form.name == "load"] == [16]  # the computed index
    assert "2 loads of %s are done in the entry" in remarks.to_text()


@pytest.mark.seed("LSA-05")
def test_loads_of_a_written_parameter_do_not_move():
    m = kernel("store i32 9, ptr %s")
    remarks = check(m, knobs={"hoist-load-param": 1})
    assert "ParameterHoisted" not in remark_names(remarks)
    assert len([i for i in m["k"].blocks[1] if i.form.name == "load"]) == 3


def test_a_load_beyond_the_parameter_does_not_move():
    m = kernel("%far = getelementptr i8, ptr %s, i64 16\n  %u = load i32, ptr %far")
    apply(m, BOTH, knobs={"hoist-load-param": 1})
    assert any(i.name == "u" for i in m["k"].blocks[1])


@pytest.mark.seed("LSA-04")
def test_parameters_of_small_alignment_get_four_bytes():
    text = """%P = type { i8, i8, i8 }
define i32 @f(ptr byval(%P) %p) noinline {
entry:
  %q = getelementptr i8, ptr %p, i64 2
  %x = load i8, ptr %q
  %y = zext i8 %x to i32
  ret i32 %y
}
define ptx_kernel void @k(ptr byval(%P) %s, ptr %in, ptr %out) {
entry:
  %odd = getelementptr i8, ptr %in, i64 1
  %a = call i32 @f(ptr byval(%P) %odd)
  %b = call i32 @f(ptr byval(%P) %s)
  %c = add i32 %a, %b
  store i32 %c, ptr %out
  ret void
}"""
    given = [b"\x01\x02\x03", np.arange(16, dtype=np.uint8), np.zeros(1, np.int32)]
    m = read(text)
    check(m, args=given)
    assert ".param .align 1 .b8 k_param_0[3]" in m.ptx
    m = read(text)
    remarks = check(m, args=given, knobs={"nvptx-force-min-byval-param-align": 1})
    assert ".param .align 4 .b8 k_param_0[3]" in m.ptx
    assert ".param .align 4 .b8 f_param_0[3]" in m.ptx
    assert ".param .align 1 " not in m.ptx
    assert remark_names(remarks).count("ByvalAligned") == 2
    again = apply(m, "lower-struct-args", knobs={"nvptx-force-min-byval-param-align": 1})
    assert len(again) == 0


@pytest.mark.seed("LSA-04")
def test_calls_pass_copies_of_their_own():
    m = calls("store i32 99, ptr %p")
    remarks = check(m, args=IN_MEMORY, knobs={"nvptx-early-byval-copy": 1})
    assert "ByvalCallerCopy" in remark_names(remarks)
    call = next(i for i in m["k"].instructions() if i.form.is_call)
    assert call.operands[0].form.name == "alloca"
    assert call.operands[0].block is m["k"].entry


def test_struct_values_are_taken_apart_at_the_entry():
    m = read("""define i32 @f({i32, float} %s) {
entry:
  br label %next
next:
  %x = extractvalue {i32, float} %s, 0
  ret i32 %x
}""")
    remarks = apply(m, "lower-struct-args")
    split = m["f"].entry.first
    assert split.form.name == "splitStruct"
    assert [r.type for r in split.results] == [I32, FLOAT]
    assert remark_names(remarks) == ["StructParameter"]
    text = str(m)
    assert len(apply(m, "lower-struct-args")) == 0
    assert str(m) == text


def test_without_the_option_byval_is_left_alone():
    m = kernel("store i32 9, ptr %s")
    text = str(m)
    assert len(apply(m, "lower-struct-args")) == 0
    assert str(m) == text
    assert len(apply(m, "lower-struct-args", knobs={"opt-byval": True})) == 1


def test_a_second_run_makes_no_second_copy():
    m = kernel("store i32 9, ptr %s")
    apply(m, "lower-struct-args<opt-byval>")
    text = str(m)
    assert len(apply(m, "lower-struct-args<opt-byval>")) <= 1
    assert str(m) == text


@pytest.mark.oracle
@pytest.mark.parametrize(("dialect", "arch"), [("llvm7", "sm_80"), ("llvm20", "sm_100")])
def test_libnvvm_takes_the_result(dialect, arch):
    for m in (kernel(), kernel("store i32 9, ptr %s"), calls("store i32 99, ptr %p")):
        m.target = arch
        nvir.run_passes(m, f"{BOTH},legalize<dialect={dialect}>", verify=True,
                        knobs={"nvptx-early-byval-copy": 1, "hoist-load-param": 1})
        result = libnvvm.compile(nvir.print_ll(m, dialect=dialect), arch)
        assert result.ok, result.log


def test_pointers_of_split_structs_are_global_in_a_kernel():
    pytest.importorskip("clang.cindex")
    text = nvir.print_ptx(nvir.compile_cuda("""
    struct Two { float *p; int n; }; struct One { struct { float *p; } q; };
    __global__ void k(Two a, One b) { b.q.p[a.n] = a.p[1]; }
    """, front_end="libclang"))
    assert "ld.global.f32" in text
    assert "st.global.f32" in text
    assert text.count("cvta.to.global.u64") == 2
