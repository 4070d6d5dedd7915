"""memory-space-opt: generic pointers that can point to one memory only."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests.nvvm_modules import kernels
from tests.rewrites import keeps_behaviour, rewrites, same_program

RELAXED = [HealthCheck.too_slow, HealthCheck.data_too_large]
TILE = "@tile = internal addrspace(3) global [64 x float] undef\n"


def test_through_casts_geps_and_phis():
    rewrites("memory-space-opt,dce", TILE + """
        define float @f(i32 %i, i1 %c, ptr addrspace(3) %t) {
        entry:
          %g = addrspacecast ptr addrspace(3) %t to ptr
          br i1 %c, label %a, label %b
        a:
          %p = getelementptr float, ptr %g, i32 %i
          br label %b
        b:
          %q = phi ptr [%g, %entry], [%p, %a]
          %x = load float, ptr %q
          ret float %x
        }""", TILE + """
        define float @f(i32 %i, i1 %c, ptr addrspace(3) %t) {
        entry:
          br i1 %c, label %a, label %b
        a:
          %p = getelementptr float, ptr addrspace(3) %t, i32 %i
          br label %b
        b:
          %q = phi ptr addrspace(3) [%t, %entry], [%p, %a]
          %x = load float, ptr addrspace(3) %q
          ret float %x
        }""")


def test_a_loop_that_moves_a_pointer():
    rewrites("memory-space-opt,dce", """
        define ptx_kernel void @f(ptr %in, i32 %n) {
        entry:
          br label %loop
        loop:
          %p = phi ptr [%in, %entry], [%q, %loop]
          %q = getelementptr i32, ptr %p, i32 1
          store i32 1, ptr %p
          %v = load i32, ptr %q
          %c = icmp eq i32 %v, %n
          br i1 %c, label %done, label %loop
        done:
          ret void
        }""", """
        define ptx_kernel void @f(ptr %in, i32 %n) {
        entry:
          %g = addrspacecast ptr %in to ptr addrspace(1)
          br label %loop
        loop:
          %p = phi ptr addrspace(1) [%g, %entry], [%q, %loop]
          %q = getelementptr i32, ptr addrspace(1) %p, i32 1
          store i32 1, ptr addrspace(1) %p
          %v = load i32, ptr addrspace(1) %q
          %c = icmp eq i32 %v, %n
          br i1 %c, label %done, label %loop
        done:
          ret void
        }""")


def test_a_generic_pointer_goes_unless_something_names_it():
    before, after = """
        define void @f(i32 %i, ptr %to) {
          %g = addrspacecast ptr addrspace(3) @tile to ptr
          %p = getelementptr float, ptr %g, i32 %i
          store float 1.0, ptr %p
          store ptr STORED, ptr %to
          ret void
        }""", """
        define void @f(i32 %i, ptr %to) {BASE
          %q = getelementptr float, ptr addrspace(3) @tile, i32 %iKEPT
          store float 1.0, ptr addrspace(3) %q
          store ptr STORED, ptr %to
          ret void
        }"""
    base = "\n  %g = addrspacecast ptr addrspace(3) @tile to ptr"
    kept = "\n  %p = getelementptr float, ptr %g, i32 %i"
    for stored, *stay in (("null", "", ""), ("%p", base, kept)):
        wanted = after.replace("BASE", stay[0]).replace("KEPT", stay[1])
        rewrites("memory-space-opt", TILE + before.replace("STORED", stored),
                 TILE + wanted.replace("STORED", stored))


def test_two_memories_stay_generic():
    rewrites("memory-space-opt", """
        define ptx_kernel void @f(ptr %in, i1 %c, ptr addrspace(3) %t) {
          %g = addrspacecast ptr addrspace(3) %t to ptr
          %p = select i1 %c, ptr %in, ptr %g
          store i32 1, ptr %p
          ret void
        }""")


def test_parameters_of_functions_may_point_anywhere():
    rewrites("memory-space-opt", """
        define void @f(ptr %in) {
          store i32 1, ptr %in
          ret void
        }""")


def test_kernel_parameters_by_option():
    rewrites("memory-space-opt<kernel-args=false>", """
        define ptx_kernel void @f(ptr %in) {
          store i32 1, ptr %in
          ret void
        }""")


def test_copies_and_atomics():
    head = "declare void @llvm.memcpy.{}.i64({}, {}, i64, i1)\n"
    rewrites("memory-space-opt,dce", head.format("p0.p0", "ptr", "ptr") + """
        define ptx_kernel void @f(ptr %in, ptr addrspace(3) %t) {
          %g = addrspacecast ptr addrspace(3) %t to ptr
          call void @llvm.memcpy.p0.p0.i64(ptr %g, ptr %in, i64 16, i1 false)
          %old = atomicrmw add ptr %g, i32 1 monotonic
          ret void
        }""", head.format("p3.p1", "ptr addrspace(3)", "ptr addrspace(1)") + """
        define ptx_kernel void @f(ptr %in, ptr addrspace(3) %t) {
          %h = addrspacecast ptr %in to ptr addrspace(1)
          call void @llvm.memcpy.p3.p1.i64(ptr addrspace(3) %t, ptr addrspace(1) %h,
            i64 16, i1 false)
          %old = atomicrmw add ptr addrspace(3) %t, i32 1 monotonic
          ret void
        }""")


def test_after_inlining_the_argument_is_known():
    rewrites("inline,simplify-cfg,memory-space-opt,dce", """
        define internal void @put(ptr %p) {
          store i32 1, ptr %p
          ret void
        }
        define ptx_kernel void @f(ptr addrspace(3) %t) {
          %g = addrspacecast ptr addrspace(3) %t to ptr
          call void @put(ptr %g)
          ret void
        }""", """
        define ptx_kernel void @f(ptr addrspace(3) %t) {
          store i32 1, ptr addrspace(3) %t
          ret void
        }""")


@settings(max_examples=10, suppress_health_check=RELAXED)
@given(kernels())
def test_random_kernels(module):
    keeps_behaviour(module, "memory-space-opt")


@pytest.mark.parametrize("seed", range(4, 6))
def test_random_programs(seed):
    same_program(seed, "inline,sroa,mem2reg,memory-space-opt", accepted=seed == 4)
