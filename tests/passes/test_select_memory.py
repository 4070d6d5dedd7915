"""Selection of memory accesses: addresses, vectors, aggregates, stack memory, variables, copies."""

from __future__ import annotations

import numpy as np
import pytest

import nvir
from nvir.ir import Module
from nvir.ir.errors import Unsupported
from nvir.ir.nvvm import Builder, function
from nvir.ir.types import I1, VOID, pointer, vector
from nvir.passes.select import select_module
from tests.selection import check, ptx, read, run

TID = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""


def rows(n=512, seed=3):
    return np.random.default_rng(seed).integers(0, 256, n * 16, np.uint8)


@pytest.mark.parametrize("align", [1, 4, 16])
@pytest.mark.parametrize(
    "type",
    ["i8", "i16", "i24", "i32", "i48", "i64", "i128", "float", "double", "half", "ptr",
     "<2 x float>", "<4 x float>", "<3 x i32>", "<8 x half>", "<4 x i8>", "<2 x i64>", "<16 x i16>",
     "{ i8, i32, [3 x i16], double }", "<{ i8, i32, i64 }>", "[5 x i8]"],
)
def test_a_value_is_moved_at_any_alignment(type, align):
    """Loads and stores of a type cover its bytes and no others."""
    given = rows()
    check(f"""{TID}
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %o = mul i32 %t, 64
  %p = getelementptr i8, ptr addrspace(1) %in, i32 %o
  %q = getelementptr i8, ptr addrspace(1) %out, i32 %o
  %a = getelementptr i8, ptr addrspace(1) %p, i32 {align % 16}
  %b = getelementptr i8, ptr addrspace(1) %q, i32 {align % 16}
  %v = load {type}, ptr addrspace(1) %a, align {align}
  store {type} %v, ptr addrspace(1) %b, align {align}
  ret void
}}""", [given, np.zeros_like(given)], assemble=align in (1, 16), block=16)


def test_aligned_vectors_move_at_once():
    text = ptx("""define void @f(ptr addrspace(1) %p) {
      %v = load <4 x float>, ptr addrspace(1) %p, align 16
      %q = getelementptr i8, ptr addrspace(1) %p, i64 16
      store <4 x float> %v, ptr addrspace(1) %q, align 16
      %h = load <8 x half>, ptr addrspace(1) %p, align 16
      store <8 x half> %h, ptr addrspace(1) %q, align 16
      ret void
    }""")
    assert text.count("ld.global.v4.f32") == text.count("st.global.v4.f32") == 1
    assert text.count("ld.global.v4.b32") == text.count("st.global.v4.b32") == 1


def test_vectors_of_less_alignment_move_in_parts():
    text = ptx("""define void @f(ptr addrspace(1) %p) {
      %v = load <4 x float>, ptr addrspace(1) %p, align 8
      store <4 x float> %v, ptr addrspace(1) %p, align 4
      ret void
    }""")
    assert text.count("ld.global.v2.f32") == 2
    assert text.count("st.global.f32") == 4


def test_constant_offsets_are_immediates():
    text = ptx("""%s = type { i32, [4 x float], i64 }
define float @f(ptr addrspace(1) %p, i32 %i) {
  %a = getelementptr %s, ptr addrspace(1) %p, i32 2, i32 1, i32 3
  %x = load float, ptr addrspace(1) %a
  %j = add nsw i32 %i, 5
  %e = sext i32 %j to i64
  %b = getelementptr float, ptr addrspace(1) %p, i64 %e
  %y = load float, ptr addrspace(1) %b
  %s = fadd float %x, %y
  ret float %s
}""")
    assert "+80]" in text
    assert "+20]" in text
    assert "mul.wide.s32" in text


def test_an_index_that_may_wrap_keeps_its_sum():
    text = ptx("""define float @f(ptr addrspace(1) %p, i32 %i) {
  %j = add i32 %i, 5
  %e = sext i32 %j to i64
  %b = getelementptr float, ptr addrspace(1) %p, i64 %e
  %y = load float, ptr addrspace(1) %b
  ret float %y
}""")
    assert "add.s32" in text
    assert "+20]" not in text


@pytest.mark.parametrize(("shift", "offset"), [(1, 8), (2, 8), (0, 0)])
def test_an_or_of_bits_that_are_clear_is_a_sum_in_an_index(shift, offset):
    """As older producers write it: LLVM 18 and later say `disjoint`."""
    text = ptx(f"""define void @f(ptr addrspace(1) %p, i32 %n) {{
      %s = shl i32 %n, {shift}
      %i = or i32 %s, 1
      %x = zext i32 %i to i64
      %q = getelementptr i64, ptr addrspace(1) %p, i64 %x
      store i64 1, ptr addrspace(1) %q
      ret void
    }}""")
    assert ("+8]" in text) == bool(offset)
    assert ("or.b32" in text) == (not offset)


@pytest.mark.parametrize(("step", "known"), [(4, True), (3, False)])
def test_a_counter_has_the_low_bits_clear_that_its_step_has(step, known):
    text = ptx(f"""define void @f(ptr addrspace(1) %p, i32 %n) {{
entry:
  br label %loop
loop:
  %i = phi i32 [ 8, %entry ], [ %j, %loop ]
  %o = or i32 %i, 3
  %x = zext i32 %o to i64
  %q = getelementptr i64, ptr addrspace(1) %p, i64 %x
  store i64 1, ptr addrspace(1) %q
  %j = add i32 %i, {step}
  %c = icmp ult i32 %j, %n
  br i1 %c, label %loop, label %out
out:
  ret void
}}""")
    assert ("+24]" in text) == known
    assert ("or.b32" in text) != known


@pytest.mark.parametrize("extend", ["sext", "zext"])
def test_an_index_of_a_small_number_cannot_wrap(extend):
    """A thread's number is at most 1023; one that is masked is what the mask lets through."""
    text = ptx(f"""{TID}
define float @f(ptr addrspace(1) %p, i32 %i) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %j = add i32 %t, 8
  %e = {extend} i32 %j to i64
  %b = getelementptr float, ptr addrspace(1) %p, i64 %e
  %x = load float, ptr addrspace(1) %b
  %m = and i32 %i, 255
  %n = add i32 %m, 4
  %g = {extend} i32 %n to i64
  %c = getelementptr float, ptr addrspace(1) %p, i64 %g
  %y = load float, ptr addrspace(1) %c
  %s = fadd float %x, %y
  ret float %s
}}""")
    assert "+32]" in text
    assert "+16]" in text


def test_indices_of_every_width():
    check(f"""{TID}
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t8 = trunc i32 %t to i8
  %t16 = trunc i32 %t to i16
  %n = sub i16 3, %t16
  %t64 = zext i32 %t to i64
  %c = getelementptr i32, ptr addrspace(1) %in, i32 128
  %p1 = getelementptr i32, ptr addrspace(1) %c, i8 %t8
  %p2 = getelementptr i32, ptr addrspace(1) %c, i16 %n
  %p3 = getelementptr [3 x i32], ptr addrspace(1) %in, i64 %t64, i32 2
  %x = load i32, ptr addrspace(1) %p1
  %y = load i32, ptr addrspace(1) %p2
  %z = load i32, ptr addrspace(1) %p3
  %o = getelementptr [3 x i32], ptr addrspace(1) %out, i32 %t
  %s = insertvalue [3 x i32] undef, i32 %x, 0
  %s1 = insertvalue [3 x i32] %s, i32 %y, 1
  %s2 = insertvalue [3 x i32] %s1, i32 %z, 2
  store [3 x i32] %s2, ptr addrspace(1) %o, align 4
  ret void
}}""", [np.arange(512, dtype=np.int32), np.zeros(96, np.int32)])


def test_generic_pointers_of_known_space_are_specific():
    """A kernel's pointer is global, an alloca local, a variable where it is declared."""
    text = ptx("""@tile = internal addrspace(3) global [64 x float] undef, align 4
define ptx_kernel void @k(ptr %p, i1 %c) {
  %s = addrspacecast ptr addrspace(3) @tile to ptr
  %a = alloca [4 x float], align 4
  %i = select i1 %c, i32 1, i32 2
  %e = getelementptr [4 x float], ptr %a, i32 0, i32 %i
  %x = load float, ptr %p
  store float %x, ptr %s
  store float %x, ptr %e
  %y = load float, ptr %a
  %g = getelementptr float, ptr %p, i32 1
  store float %y, ptr %g
  ret void
}""")
    for access in ("ld.global.f32", "st.shared.f32", "st.local.f32", "ld.local.f32",
                   "st.global.f32", "cvta.to.global.u64"):
        assert access in text
    assert "cvta.shared" not in text


@pytest.mark.parametrize(("kind", "space"), [("ptx_kernel ", ".global"), ("", "")])
def test_pointers_in_structs_that_a_kernel_takes_are_global(kind, space):
    """As a launch passes no others; those that a function takes may be any."""
    text = ptx(f"""
define {kind}void @k(ptr byval({{ ptr, i64 }}) align 8 %s) {{
  %p = load ptr, ptr %s
  %f = getelementptr i8, ptr %s, i64 8
  %i = load i64, ptr %f
  %q = inttoptr i64 %i to ptr
  %x = load float, ptr %p
  store float %x, ptr %q
  ret void
}}""")
    assert f"ld{space}.f32" in text
    assert f"st{space}.f32" in text
    assert text.count("cvta.to.global.u64") == (2 if space else 0)


def test_a_pointer_of_two_spaces_is_generic():
    data = np.arange(32, dtype=np.float32)
    ori = check(f"""@tile = internal addrspace(3) global [32 x float] undef, align 4
{TID}
define ptx_kernel void @k(ptr %p) {{
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %s = getelementptr float, ptr addrspacecast (ptr addrspace(3) @tile to ptr), i32 %t
  %g = getelementptr float, ptr %p, i32 %t
  store float 7.0, ptr %s
  %b = and i32 %t, 1
  %c = icmp eq i32 %b, 0
  br i1 %c, label %even, label %join
even:
  br label %join
join:
  %q = phi ptr [ %s, %entry ], [ %g, %even ]
  %x = load float, ptr %q
  %y = fadd float %x, 1.0
  store float %y, ptr %g
  ret void
}}""", [data])
    assert "ld.f32" in str(ori)


def test_stack_memory_and_pointers_in_memory():
    check(f"""{TID}
define ptx_kernel void @k(ptr %out, i32 %n) {{
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a = alloca [8 x i32], align 16
  %slot = alloca ptr, align 8
  store ptr %a, ptr %slot
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %e = getelementptr [8 x i32], ptr %a, i32 0, i32 %i
  %v = mul i32 %i, %t
  store i32 %v, ptr %e
  %j = add i32 %i, 1
  %c = icmp slt i32 %j, 8
  br i1 %c, label %loop, label %done
done:
  %q = load ptr, ptr %slot
  %k = and i32 %n, 7
  %f = getelementptr i32, ptr %q, i32 %k
  %w = load i32, ptr %f
  %o = getelementptr i32, ptr %out, i32 %t
  store i32 %w, ptr %o
  ret void
}}""", [np.zeros(32, np.int32), np.int32(5)])


def test_variables_and_their_initial_values():
    """Numbers, structs with padding, strings, addresses of variables with offsets."""
    ori = check("""@n = addrspace(1) global i32 7, align 4
@f = addrspace(4) constant [3 x float] [float 1.0, float 2.0, float 3.0], align 4
@s = internal addrspace(1) constant { i8, i32, [2 x i16] } { i8 1, i32 -2,
  [2 x i16] [i16 3, i16 4] }
@text = private unnamed_addr addrspace(1) constant [6 x i8] c"hello\\00"
@zero = internal addrspace(1) global [4 x i64] zeroinitializer
@where = internal addrspace(1) global [2 x ptr] [ptr getelementptr (i8, ptr addrspacecast (
  ptr addrspace(1) @text to ptr), i64 1), ptr addrspacecast (ptr addrspace(1) @n to ptr)]
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %n = load i32, ptr addrspace(1) @n
  store i32 %n, ptr addrspace(1) %out
  %fp = getelementptr [3 x float], ptr addrspace(4) @f, i32 0, i32 2
  %f = load float, ptr addrspace(4) %fp
  %o1 = getelementptr i8, ptr addrspace(1) %out, i32 4
  store float %f, ptr addrspace(1) %o1
  %s = load { i8, i32, [2 x i16] }, ptr addrspace(1) @s
  %o2 = getelementptr i8, ptr addrspace(1) %out, i32 8
  store { i8, i32, [2 x i16] } %s, ptr addrspace(1) %o2
  %w = load ptr, ptr addrspace(1) @where
  %c = load i8, ptr %w
  %o3 = getelementptr i8, ptr addrspace(1) %out, i32 20
  store i8 %c, ptr addrspace(1) %o3
  %wq = getelementptr [2 x ptr], ptr addrspace(1) @where, i32 0, i32 1
  %w2 = load ptr, ptr addrspace(1) %wq
  %d = load i32, ptr %w2
  %o4 = getelementptr i8, ptr addrspace(1) %out, i32 24
  store i32 %d, ptr addrspace(1) %o4
  %z = load i64, ptr addrspace(1) @zero
  %o5 = getelementptr i8, ptr addrspace(1) %out, i32 32
  store i64 %z, ptr addrspace(1) %o5
  ret void
}""", [np.zeros(64, np.uint8)], block=1)
    where = next(v for v in ori.globals if v.name == "where")
    assert where.init[0].offset == 1
    assert where.init[0].generic


def test_an_unaligned_address_is_written_byte_by_byte():
    ori = check("""@n = addrspace(1) global i32 9, align 4
@p = addrspace(1) global <{ i8, ptr }> <{ i8 5, ptr addrspacecast (ptr addrspace(1) @n to ptr) }>
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %q = getelementptr i8, ptr addrspace(1) @p, i32 1
  %a = load ptr, ptr addrspace(1) %q, align 1
  %x = load i32, ptr %a
  store i32 %x, ptr addrspace(1) %out
  ret void
}""", [np.zeros(1, np.int32)], block=1)
    assert next(v for v in ori.globals if v.name == "p").init[1].mask == 0xFF


_NUMBERS = """@n = addrspace(1) global i32 9, align 4
@t = addrspace(4) constant i32 5, align 4
@p = addrspace(1) global { FIELD, i32 } { FIELD ptrtoint (ptr addrspace(1) @n to FIELD), i32 7 }
@c = addrspace(1) global i64 ptrtoint (ptr addrspace(4) @t to i64)
@g = addrspace(1) global i64 ptrtoint (ptr addrspacecast (ptr addrspace(4) @t to ptr) to i64)
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %q = getelementptr { FIELD, i32 }, ptr addrspace(1) @p, i32 0, i32 1
  %x = load i32, ptr addrspace(1) %q
  store i32 %x, ptr addrspace(1) %out
  %c = load i64, ptr addrspace(1) @c
  %o1 = getelementptr i64, ptr addrspace(1) %out, i32 1
  store i64 %c, ptr addrspace(1) %o1
  %g = load i64, ptr addrspace(1) @g
  %o2 = getelementptr i64, ptr addrspace(1) %out, i32 2
  store i64 %g, ptr addrspace(1) %o2
  ret void
}"""


@pytest.mark.parametrize(("field", "size"), [("i8", 1), ("i32", 4)])
def test_a_narrow_number_of_an_address_keeps_what_stands_behind_it(field, size):
    p = _initial(field)["p"]
    assert [b.mask for b in p[:size]] == [0xFF << 8 * k for k in range(size)]
    assert [b.value for b in p[size:]] == [0] * (4 - size) + [7, 0, 0, 0]


def test_a_whole_number_of_an_address_is_a_word():
    address, seven = _initial("i64")["p"]
    assert address.symbol.name == "n"
    assert seven.value == 7


def test_a_number_of_an_address_is_generic_behind_a_cast_alone():
    initial = _initial("i64")
    assert not initial["c"].generic
    assert initial["g"].generic


def _initial(field):
    """What the variables hold, by name."""
    given = nvir.read_ll(_NUMBERS.replace("FIELD", field))
    return {v.name: v.init for v in select_module(given).globals}


def test_dynamic_shared_memory():
    check(f"""@dyn = external addrspace(3) global [0 x i32], align 16
{TID}
declare void @llvm.nvvm.barrier0()
define ptx_kernel void @k(ptr addrspace(1) %p) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %s = getelementptr [0 x i32], ptr addrspace(3) @dyn, i32 0, i32 %t
  store i32 %t, ptr addrspace(3) %s
  call void @llvm.nvvm.barrier0()
  %r = xor i32 %t, 31
  %q = getelementptr [0 x i32], ptr addrspace(3) @dyn, i32 0, i32 %r
  %v = load i32, ptr addrspace(3) %q
  %o = getelementptr i32, ptr addrspace(1) %p, i32 %t
  store i32 %v, ptr addrspace(1) %o
  ret void
}}""", [np.zeros(32, np.int32)], dynamic_smem=128)


@pytest.mark.parametrize("length", [0, 1, 3, 16, 31, 128, 129, 300])
@pytest.mark.parametrize("kind", ["memcpy", "memmove.up", "memmove.down", "memset"])
@pytest.mark.parametrize("static", [True, False])
def test_copies(kind, length, static):
    """Overlapping moves in both directions; lengths that are known and not."""
    data = rows(64)
    name, _, direction = kind.partition(".")
    to, source = (5, 0) if direction == "up" else (0, 5)
    n = str(length) if static else "%n"
    if name == "memset":
        what = f"call void @llvm.memset.p1.i64(ptr addrspace(1) %a, i8 %byte, i64 {n}, i1 false)"
    else:
        gap = 400 if name == "memcpy" else to
        what = (f"%b = getelementptr i8, ptr addrspace(1) %p, i32 {source}\n"
                f"%c = getelementptr i8, ptr addrspace(1) %p, i32 {gap}\n"
                f"call void @llvm.{name}.p1.p1.i64(ptr addrspace(1) %c, ptr addrspace(1) %b, "
                f"i64 {n}, i1 false)")
    check(f"""
declare void @llvm.memset.p1.i64(ptr addrspace(1), i8, i64, i1)
declare void @llvm.memcpy.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1)
declare void @llvm.memmove.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1)
define ptx_kernel void @k(ptr addrspace(1) %p, i64 %n, i8 %byte) {{
  %a = getelementptr i8, ptr addrspace(1) %p, i32 3
  {what}
  ret void
}}""", [data, np.int64(length), np.int8(77)], block=1, assemble=length == 31)


def test_copies_of_aligned_memory_are_wide():
    text = ptx("""
declare void @llvm.memcpy.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1)
define void @f(ptr addrspace(1) %p, ptr addrspace(1) %q) {
  call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) align 16 %p, ptr addrspace(1) align 16 %q,
                                   i64 40, i1 false)
  ret void
}""")
    assert text.count("ld.global.v4.b32") == 2
    assert text.count("st.global.v2.b32") == 1


def test_a_vector_of_bits_in_memory_is_a_number():
    """The reader of LLVM text makes integers of them; a builder may not have."""
    module = Module(level="nvvm")
    f = function(module, "f", VOID, [("p", pointer())])
    b = Builder(f.block("entry"))
    b.store(b.load(f.arguments[0], vector(I1, 8)), f.arguments[0])
    b.ret_void()
    text = str(select_module(module))
    assert "ld.u8" in text
    assert "st.u8" in text


def test_initial_values_that_are_sums_and_differences_of_addresses():
    ori = check("""@n = addrspace(1) global [4 x i32] [i32 1, i32 2, i32 3, i32 4], align 4
@w = internal addrspace(1) global { i64, i64, i64, ptr, ptr, i64 } {
  i64 add (i64 ptrtoint (ptr addrspace(1) @n to i64), i64 8),
  i64 add (i64 4, i64 ptrtoint (ptr addrspace(1) @n to i64)),
  i64 sub (i64 ptrtoint (ptr addrspace(1) getelementptr (i32, ptr addrspace(1) @n, i64 3) to i64),
    i64 ptrtoint (ptr addrspace(1) @n to i64)),
  ptr null, ptr inttoptr (i64 77 to ptr),
  i64 sub (i64 ptrtoint (ptr addrspace(1) getelementptr (i32, ptr addrspace(1) @n, i64 3) to i64),
    i64 8) }
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %w = load { i64, i64, i64, ptr, ptr, i64 }, ptr addrspace(1) @w
  %a = extractvalue { i64, i64, i64, ptr, ptr, i64 } %w, 0
  %p = inttoptr i64 %a to ptr addrspace(1)
  %x = load i32, ptr addrspace(1) %p
  store i32 %x, ptr addrspace(1) %out
  %b = extractvalue { i64, i64, i64, ptr, ptr, i64 } %w, 1
  %q = inttoptr i64 %b to ptr addrspace(1)
  %y = load i32, ptr addrspace(1) %q
  %o1 = getelementptr i8, ptr addrspace(1) %out, i32 4
  store i32 %y, ptr addrspace(1) %o1
  %c = extractvalue { i64, i64, i64, ptr, ptr, i64 } %w, 2
  %o2 = getelementptr i8, ptr addrspace(1) %out, i32 8
  store i64 %c, ptr addrspace(1) %o2
  %d = extractvalue { i64, i64, i64, ptr, ptr, i64 } %w, 3
  %o3 = getelementptr i8, ptr addrspace(1) %out, i32 16
  store ptr %d, ptr addrspace(1) %o3
  %e = extractvalue { i64, i64, i64, ptr, ptr, i64 } %w, 4
  %o4 = getelementptr i8, ptr addrspace(1) %out, i32 24
  store ptr %e, ptr addrspace(1) %o4
  %f = extractvalue { i64, i64, i64, ptr, ptr, i64 } %w, 5
  %r = inttoptr i64 %f to ptr addrspace(1)
  %z = load i32, ptr addrspace(1) %r
  %o5 = getelementptr i8, ptr addrspace(1) %out, i32 32
  store i32 %z, ptr addrspace(1) %o5
  ret void
}""", [np.zeros(64, np.uint8)], block=1)
    (out,), _ = run(ori, [np.zeros(64, np.uint8)], block=1)
    assert out.view(np.int32)[[0, 1, 8]].tolist() == [3, 2, 2]
    assert out[8:32].view(np.int64).tolist() == [12, 0, 77]


@pytest.mark.parametrize(("text", "message"), [
    ("@s = addrspace(3) global i32 7", "a variable of shared memory with an initial value, s"),
    ("@a = addrspace(1) global ptr addrspace(1) @b\n@b = addrspace(1) global ptr addrspace(1) @a",
     "initial values that name each other"),
])
def test_initial_values_that_ptx_lacks(text, message):
    module = read(f"{text}\ndefine ptx_kernel void @k() {{\n  ret void\n}}")
    with pytest.raises(Unsupported, match=message):
        select_module(module)


def test_casts_of_pointers_that_are_null_wide_or_vectors():
    ori = check("""@n = addrspace(1) global [4 x i32] [i32 1, i32 2, i32 3, i32 4], align 4
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %a = addrspacecast ptr addrspace(1) null to ptr
  %b = ptrtoint ptr %a to i128
  %i = ptrtoint ptr addrspace(1) %out to i128
  %h = lshr i128 %i, 64
  %s = or i128 %b, %h
  store i128 %s, ptr addrspace(1) %out
  %f = freeze ptr addrspace(1) %out
  %o = getelementptr i8, ptr addrspace(1) %f, i32 16
  %v0 = insertelement <2 x ptr addrspace(1)> undef, ptr addrspace(1) @n, i32 0
  %v1 = insertelement <2 x ptr addrspace(1)> %v0, ptr addrspace(1) %f, i32 1
  %g = addrspacecast <2 x ptr addrspace(1)> %v1 to <2 x ptr>
  %p = extractelement <2 x ptr> %g, i32 0
  %q = getelementptr i32, ptr %p, i32 2
  %x = load i32, ptr %q
  store i32 %x, ptr addrspace(1) %o
  ret void
}""", [np.full(32, 9, np.uint8)], block=1)
    (out,), _ = run(ori, [np.full(32, 9, np.uint8)], block=1)
    assert out.tolist() == [0] * 16 + [3, 0, 0, 0] + [9] * 12


ROUNDED = """
declare ptr @llvm.ptrmask.p0.i64(ptr, i64)
@s = internal addrspace(3) global [64 x i32] undef, align 16
define ptx_kernel void @k(ptr %out, i32 %i) {
  %g = addrspacecast ptr addrspace(3) @s to ptr
  store i32 %i, ptr addrspace(3) @s
  %a = getelementptr i8, ptr %g, i32 3
  HOW
  %v = load i32, ptr %w, align 4
  store i32 %v, ptr %out, align 4
  ret void
}"""
BY_NUMBER = """%n = ptrtoint ptr %a to i64
  %m = and i64 %n, MASK
  %w = inttoptr i64 %m to ptr"""
BY_CALL = "%w = call ptr @llvm.ptrmask.p0.i64(ptr %a, i64 MASK)"


@pytest.mark.parametrize("how", [BY_NUMBER, BY_CALL])
@pytest.mark.parametrize(("mask", "space"), [(-4, ".shared"), (-4096, ".shared"), (-5, ""),
                                             (-8192, "")])
def test_a_pointer_rounded_down_points_into_the_same_memory(how, mask, space):
    """Where low bits alone are cleared, few enough to stay in the window; else it is generic, and
    its number is that of the generic address."""
    text = ROUNDED.replace("HOW", how).replace("MASK", str(mask))
    made = ptx(text)
    assert f"ld{space}.u32" in made
    assert ("cvta.shared" in made) is not bool(space)
    if mask == -4:
        check(text, [np.zeros(4, np.int32), np.int32(7)])


@pytest.mark.parametrize("dialect", ["llvm7", "llvm20"])
def test_a_narrow_atomic_written_as_a_loop_keeps_its_memory(dialect):
    """Text that legalize made is read again as what it was made of."""
    module = nvir.read_ll("""
define ptx_kernel void @k(ptr %p, i8 %v) {
  %x = atomicrmw add ptr %p, i8 %v monotonic
  ret void
}""")
    nvir.run_passes(module, f"legalize<dialect={dialect};stand-ins=false>")
    again = nvir.read_ll(nvir.print_ll(module, dialect))
    nvir.run_passes(again, "default<O3>")
    made = nvir.print_ptx(again)
    assert "atom.relaxed.sys.global.cas.b32" in made
    assert "ld.volatile.global.u32" in made


@pytest.mark.parametrize(("type", "word"), [("<8 x i1>", "xor.b16"), ("<32 x i1>", "xor.b32"),
                                            ("<4 x i4>", "xor.b16"), ("<8 x i8>", "xor.b32")])
def test_bits_that_are_only_combined_are_words(type, word):
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %p = getelementptr i8, ptr addrspace(1) %in, i64 8
  %x = load {type}, ptr addrspace(1) %in
  %y = load {type}, ptr addrspace(1) %p
  %z = xor {type} %x, %y
  store {type} %z, ptr addrspace(1) %out
  ret void
}}"""
    module = read(text)
    nvir.run_passes(module, "vectorize-memory")
    made = check(module, [rows(1), np.zeros(8, np.uint8)])
    names = [i.form.spelling for f in made.functions for i in f.instructions()]
    assert set(names) <= {"ld.param.u64", "cvta.to.global.u64", "ret", word,
                          *(n for n in names if n.startswith(("ld.global", "st.global")))}


@pytest.mark.parametrize(("source", "target", "words"), [
    ("<8 x i8>", "double", True), ("<8 x i16>", "<8 x half>", False)])
def test_a_cast_to_elements_of_the_same_size_is_left_to_their_registers(source, target, words):
    module = read(f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %x = load {source}, ptr addrspace(1) %in
  %h = bitcast {source} %x to {target}
  %s = fadd {target} %h, %h
  store {target} %s, ptr addrspace(1) %out
  ret void
}}""")
    nvir.run_passes(module, "vectorize-memory")
    load = next(i for i in module["k"].instructions() if i.form.name == "load")
    assert (load.type is not nvir.ir.types.vector(nvir.ir.types.I16, 8)) is words
    check(module, [np.arange(16, dtype=np.uint8), np.zeros(16, np.uint8)])


def test_bits_as_a_number_are_loaded_as_one():
    """From a cast to a cast; what asks for an element keeps them apart."""
    text = """
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i8 %n) {
  %v = bitcast i8 %n to <8 x i1>
  %x = load <8 x i1>, ptr addrspace(1) %in
  %z = and <8 x i1> %x, %v
  USE
  %b = bitcast <8 x i1> %z to i8
  store i8 %b, ptr addrspace(1) %out
  ret void
}"""

    def selected(use: str) -> list[str]:
        module = read(text.replace("USE", use))
        nvir.run_passes(module, "vectorize-memory")
        made = check(module, [rows(1), np.zeros(2, np.uint8), np.uint8(0xA5)])
        return [i.form.spelling for f in made.functions for i in f.instructions()]

    assert not any(n.startswith(("selp", "shr")) for n in selected(""))
    assert any(n.startswith("selp") for n in selected("""%e = extractelement <8 x i1> %z, i32 2
  %p = getelementptr i8, ptr addrspace(1) %out, i64 1
  store i1 %e, ptr addrspace(1) %p"""))
