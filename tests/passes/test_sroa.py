"""sroa: aggregates on the stack become one variable for each piece."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests.nvvm_modules import kernels
from tests.rewrites import keeps_behaviour, rewrites, same_program

RELAXED = [HealthCheck.too_slow, HealthCheck.data_too_large]
MEMCPY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"


def test_members_become_values():
    rewrites("sroa,mem2reg", """
        define float @f(i32 %a, float %x, ptr %out) {
          %s = alloca { i32, float }
          %p = getelementptr { i32, float }, ptr %s, i32 0, i32 1
          store i32 %a, ptr %s
          store float %x, ptr %p
          %v = load i32, ptr %s
          %w = load float, ptr %p
          store i32 %v, ptr %out
          ret float %w
        }""", """
        define float @f(i32 %a, float %x, ptr %out) {
          store i32 %a, ptr %out
          ret float %x
        }""")


def test_arrays_with_constant_indices():
    rewrites("sroa,mem2reg", """
        define i32 @f(i32 %a, i32 %b) {
          %s = alloca [2 x i32]
          %p = getelementptr [2 x i32], ptr %s, i64 0, i64 1
          store i32 %a, ptr %s
          store i32 %b, ptr %p
          %v = load i32, ptr %p
          ret i32 %v
        }""", """
        define i32 @f(i32 %a, i32 %b) {
          ret i32 %b
        }""")


def test_copies_are_split_at_the_pieces():
    """Bytes that only the copy moves go too: here the padding and the last member."""
    rewrites("sroa,mem2reg", MEMCPY + """
        define i32 @f(ptr %in) {
          %s = alloca { i32, i16, i32 }
          call void @llvm.memcpy.p0.p0.i64(ptr align 4 %s, ptr align 4 %in, i64 12, i1 false)
          %v = load i32, ptr %s
          ret i32 %v
        }""", MEMCPY + """
        define i32 @f(ptr %in) {
          %a = load i32, ptr %in, align 4
          %p = getelementptr i8, ptr %in, i64 4
          %b = load i16, ptr %p, align 4
          %q = getelementptr i8, ptr %in, i64 6
          %c = load i16, ptr %q, align 2
          %r = getelementptr i8, ptr %in, i64 8
          %d = load i32, ptr %r, align 4
          ret i32 %a
        }""")


def test_a_part_of_an_integer_is_shifted_out():
    rewrites("sroa,mem2reg", """
        define i8 @f(i32 %a) {
          %s = alloca i32
          store i32 %a, ptr %s
          %p = getelementptr i8, ptr %s, i64 2
          %v = load i8, ptr %p
          ret i8 %v
        }""", """
        define i8 @f(i32 %a) {
          %t = lshr i32 %a, 16
          %v = trunc i32 %t to i8
          ret i8 %v
        }""")


def test_an_element_of_a_vector_is_extracted():
    rewrites("sroa,mem2reg", """
        define float @f(<4 x float> %a) {
          %s = alloca <4 x float>
          store <4 x float> %a, ptr %s
          %p = getelementptr i8, ptr %s, i64 8
          %v = load float, ptr %p
          ret float %v
        }""", """
        define float @f(<4 x float> %a) {
          %v = extractelement <4 x float> %a, i32 2
          ret float %v
        }""")


def test_floats_and_integers_in_one_place_convert():
    rewrites("sroa,mem2reg", """
        define i32 @f(float %a) {
          %s = alloca { float }
          store float %a, ptr %s
          %v = load i32, ptr %s
          ret i32 %v
        }""", """
        define i32 @f(float %a) {
          %v = bitcast float %a to i32
          ret i32 %v
        }""")


def test_whole_structs_are_taken_apart():
    rewrites("sroa,mem2reg", """
        define { i32, float } @f({ i32, float } %a) {
          %s = alloca { i32, float }
          store { i32, float } %a, ptr %s
          %v = load { i32, float }, ptr %s
          ret { i32, float } %v
        }""", """
        define { i32, float } @f({ i32, float } %a) {
          %x = extractvalue { i32, float } %a, 0
          %y = extractvalue { i32, float } %a, 1
          %v = insertvalue { i32, float } undef, i32 %x, 0
          %w = insertvalue { i32, float } %v, float %y, 1
          ret { i32, float } %w
        }""")


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        ("%q = getelementptr i32, ptr %s, i32 %n", "it is indexed by a variable"),
        ("%q = load volatile i32, ptr %p", "an access is volatile or atomic"),
        ("store ptr %p, ptr %out", "its address is stored"),
        ("%q = load i64, ptr %p", "an access is out of its bounds"),
        ("call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %s, i64 8, i1 true)",
         "a copy is volatile"),
        ("%m = zext i32 %n to i64\n"
         "call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %s, i64 %m, i1 false)",
         "the size of a copy is not constant"),
        ("call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %s, i64 4, i1 false)",
         "it is copied onto itself"),
    ],
)
def test_what_stays_whole(use, reason):
    ctx = rewrites("sroa", MEMCPY + f"""
        define void @f(i32 %n, ptr %out) {{
          %s = alloca [2 x i32]
          %p = getelementptr i8, ptr %s, i64 4
          store i32 %n, ptr %p
          {use}
          ret void
        }}""")
    (remark,) = ctx.remarks
    assert remark.args["reason"] == reason


@settings(max_examples=15, suppress_health_check=RELAXED)
@given(kernels())
def test_random_kernels(module):
    keeps_behaviour(module, "sroa,mem2reg")


@pytest.mark.parametrize("seed", range(4, 6))
def test_random_programs(seed):
    same_program(seed, "sroa,mem2reg", accepted=seed == 4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 300))
def test_many_random_programs(seed):
    same_program(seed, "sroa,mem2reg", accepted=True)


@pytest.mark.parametrize(("lines", "reason"), [
    ("%a = alloca i32, i32 %n\nstore i32 1, ptr %a",
     "the number of its elements is not constant"),
    ("%a = alloca { i32, i32 }\n"
     "call void @llvm.memset.p0.i64(ptr %a, i8 %c, i64 8, i1 false)",
     "it is filled with a byte that is not constant"),
    ("%a = alloca { i32, i32 }\n%p = getelementptr i8, ptr %a, i64 4\n"
     "call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %q, i64 8, i1 false)",
     "a copy is out of its bounds"),
    ("%a = alloca { i32, float }\n%p = getelementptr i8, ptr %a, i64 2\n"
     "call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %q, i64 4, i1 false)\n"
     "%x = load { i32, float }, ptr %a", "a copy moves a part of a member"),
])
def test_memory_that_stays_whole_says_why(lines, reason):
    ctx = rewrites("sroa", MEMCPY + f"""declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
        define void @f(i32 %n, i8 %c, ptr %q) {{
        {lines}
        ret void
        }}""")
    assert reason in {r.args.get("reason") for r in ctx.remarks}
