"""mem2reg: allocas become values, phis where paths meet."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from nvir.ir import Module
from nvir.ir.nvvm import Builder, function
from nvir.ir.types import I32, VOID, pointer
from tests.nvvm_modules import kernels
from tests.rewrites import growth, keeps_behaviour, rewrites, same_program

RELAXED = [HealthCheck.too_slow, HealthCheck.data_too_large]


def test_a_phi_where_paths_meet():
    rewrites("mem2reg", """
        define i32 @f(i1 %c, i32 %a, i32 %b) {
        entry:
          %x = alloca i32
          store i32 %a, ptr %x
          br i1 %c, label %then, label %join
        then:
          store i32 %b, ptr %x
          br label %join
        join:
          %v = load i32, ptr %x
          ret i32 %v
        }""", """
        define i32 @f(i1 %c, i32 %a, i32 %b) {
        entry:
          br i1 %c, label %then, label %join
        then:
          br label %join
        join:
          %v = phi i32 [%a, %entry], [%b, %then]
          ret i32 %v
        }""")


def test_no_phi_where_the_variable_is_dead():
    rewrites("mem2reg", """
        define i32 @f(i1 %c, i32 %a, i32 %b) {
        entry:
          %x = alloca i32
          store i32 %a, ptr %x
          br i1 %c, label %then, label %join
        then:
          store i32 %b, ptr %x
          br label %join
        join:
          store i32 7, ptr %x
          %v = load i32, ptr %x
          ret i32 %v
        }""", """
        define i32 @f(i1 %c, i32 %a, i32 %b) {
        entry:
          br i1 %c, label %then, label %join
        then:
          br label %join
        join:
          ret i32 7
        }""")


def test_a_loop_carries_the_value():
    rewrites("mem2reg", """
        define i32 @f(i32 %n) {
        entry:
          %x = alloca i32
          store i32 0, ptr %x
          br label %loop
        loop:
          %v = load i32, ptr %x
          %w = add i32 %v, 3
          store i32 %w, ptr %x
          %c = icmp slt i32 %w, %n
          br i1 %c, label %loop, label %done
        done:
          %r = load i32, ptr %x
          ret i32 %r
        }""", """
        define i32 @f(i32 %n) {
        entry:
          br label %loop
        loop:
          %x = phi i32 [0, %entry], [%w, %loop]
          %w = add i32 %x, 3
          %c = icmp slt i32 %w, %n
          br i1 %c, label %loop, label %done
        done:
          ret i32 %w
        }""")


def test_a_read_before_any_write_is_undefined():
    rewrites("mem2reg", """
        define i32 @f() {
        entry:
          %x = alloca i32
          %v = load i32, ptr %x
          ret i32 %v
        }""", """
        define i32 @f() {
        entry:
          ret i32 undef
        }""")


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        ("store ptr %x, ptr %q", "its address is stored"),
        ("%v = load volatile i32, ptr %x", "an access is volatile or atomic"),
        ("%v = load float, ptr %x", "it is accessed as i32 and as float"),
        ("%p = getelementptr i8, ptr %x, i32 %n", "its address is used by getelementptr"),
    ],
)
def test_what_stays_in_memory(use, reason):
    ctx = rewrites("mem2reg", f"""
        define void @f(ptr %q, i32 %n) {{
        entry:
          %x = alloca i32
          store i32 %n, ptr %x
          {use}
          ret void
        }}""")
    (remark,) = ctx.remarks
    assert remark.args["reason"] == reason


def test_several_elements_stay():
    ctx = rewrites("mem2reg", """
        define void @f(i32 %n) {
        entry:
          %x = alloca i32, i32 4
          store i32 %n, ptr %x
          ret void
        }""")
    assert "several elements" in ctx.remarks[0].message


def many_variables(n: int) -> Module:
    """Diamonds that write one of many variables each."""
    module = Module("sm_80", level="nvvm")
    f = function(module, "f", VOID, [("p", pointer(1)), ("n", I32)])
    b = Builder(f.block("entry"))
    p, x = f.params
    slots = [b.alloca(I32) for _ in range(max(4, n // 20))]
    for s in slots:
        b.store(x, s)
    for k in range(n):
        yes, join = f.block(), f.block()
        v = b.load(slots[k % len(slots)], I32)
        b.cbranch(b.icmp_signed("<", v, k), yes, join)
        b.position_at_end(yes)
        b.store(b.add(v, 1), slots[7 * k % len(slots)])
        b.branch(join)
        b.position_at_end(join)
    for s in slots:
        b.store(b.load(s, I32), p)
    b.ret_void()
    return module


def test_cost_is_linear():
    assert growth(many_variables, "mem2reg") < 1.5


@settings(max_examples=15, suppress_health_check=RELAXED)
@given(kernels())
def test_random_kernels(module):
    keeps_behaviour(module, "mem2reg")


@pytest.mark.parametrize("seed", range(2))
def test_random_programs(seed):
    same_program(seed, "mem2reg", accepted=seed == 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_many_random_programs(seed):
    same_program(seed, "mem2reg", accepted=True)
