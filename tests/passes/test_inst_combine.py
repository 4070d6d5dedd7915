"""inst-combine: the rules that are no table, and how it works (test_integer_rules.py has the rest).

Each row is the instructions of a function with arguments of several types that returns the last of
them, before and after; None: nothing changes.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from nvir.ir import Module
from nvir.ir.nvvm import Builder, function
from nvir.ir.types import I32, VOID, pointer
from tests.nvvm_modules import kernels
from tests.rewrites import growth, keeps_behaviour, rewrites, same_program

RELAXED = [HealthCheck.too_slow, HealthCheck.data_too_large]
ARGUMENTS = ("i32 %a, i32 %b, i64 %l, i8 %c, i1 %p, float %x, float %y, double %d, ptr %q, "
             "ptr addrspace(3) %s")


def body(result: str, text: str) -> str:
    lines = [line.strip() for line in text.split(";")]
    return f"define {result} @f({ARGUMENTS}) {{\n" + "\n".join(lines) + "\n}"


def check(result: str, before: str, after: str | None) -> None:
    rewrites("inst-combine", body(result, before), None if after is None else body(result, after))


INTEGERS = [
    ("i32", "%r = mul i32 %a, 8; ret i32 %r", "%r = shl i32 %a, 3; ret i32 %r"),
    ("i32", "%r = mul i32 %a, 7; ret i32 %r", None),
    ("i32", "%r = mul i32 8, %a; ret i32 %r", "%r = shl i32 %a, 3; ret i32 %r"),
    ("i32", "%r = sub i32 8, %a; ret i32 %r", None),
    ("i1", "%r = icmp slt i32 5, %a; ret i1 %r", "%r = icmp sgt i32 %a, 5; ret i1 %r"),
    ("i32", "%r = add i32 2, 3; ret i32 %r", "ret i32 5"),
    ("i32", "%r = udiv i32 2, 0; ret i32 %r", None),
    ("i32", "%t = add i32 %a, 2; %u = add i32 %t, 3; %r = add i32 %u, -5; ret i32 %r",
     "ret i32 %a"),
    ("i1", "%t = zext i1 %p to i32; %r = icmp ne i32 %t, 0; ret i1 %r", "ret i1 %p"),
    ("i32", "%t = sext i32 %a to i64; %u = add i64 %t, %l; %r = trunc i64 %u to i32; ret i32 %r",
     "%t = trunc i64 %l to i32; %r = add i32 %t, %a; ret i32 %r"),
]

WHAT_IS_THERE = [
    ("i64", "%t = inttoptr i64 %l to ptr; %r = ptrtoint ptr %t to i64; ret i64 %r", "ret i64 %l"),
    ("float", "%t = fsub float %x, %y; %r = fneg nsz float %t; ret float %r",
     "%r = fsub float %y, %x; ret float %r"),
    ("float", "%t = fsub float %x, %y; %r = fneg float %t; ret float %r", None),
    ("float", "%t = fneg float %x; %u = fneg float %y; %r = fmul float %t, %u; ret float %r",
     "%r = fmul float %x, %y; ret float %r"),
    ("i1", "%r = fcmp ueq float %x, %x; ret i1 %r", "ret i1 true"),
    ("i1", "%r = fcmp one float %x, %x; ret i1 %r", "ret i1 false"),
    ("i1", "%r = fcmp false float %x, %x; ret i1 %r", "ret i1 false"),
    ("i1", "%r = fcmp nnan true float %x, %x; ret i1 %r", "ret i1 true"),
    ("i32", "%t = or i32 %a, 12; %r = xor i32 %t, 12; ret i32 %r",
     "%r = and i32 %a, -13; ret i32 %r"),
    ("i1", "%t = sitofp i32 %a to float; %r = fcmp ord float %t, %t; ret i1 %r", "ret i1 true"),
    ("i1", "%t = uitofp i32 %a to float; %r = fcmp uno float %t, %t; ret i1 %r", "ret i1 false"),
    ("i32", "%r = extractvalue { i32, i32 } { i32 1, i32 2 }, 1; ret i32 %r", "ret i32 2"),
    ("i32", "%t = insertvalue { i32, i32 } undef, i32 %a, 0; "
            "%r = extractvalue { i32, i32 } %t, 1; ret i32 %r", "ret i32 undef"),
    ("i32", "%t = insertvalue { i32, i32 } { i32 1, i32 2 }, i32 %a, 0; "
            "%r = extractvalue { i32, i32 } %t, 1; ret i32 %r", "ret i32 2"),
    ("i32", "%t = insertelement <2 x i32> undef, i32 %a, i32 0; "
            "%r = extractelement <2 x i32> %t, i32 1; ret i32 %r", "ret i32 undef"),
    ("i32", "%r = select i1 %p, i32 undef, i32 %a; ret i32 %r", "ret i32 %a"),
    ("i32", "%r = freeze i32 5; ret i32 %r", "ret i32 5"),
    ("i32", "%t = freeze i32 %a; %r = freeze i32 %t; ret i32 %r",
     "%t = freeze i32 %a; ret i32 %t"),
]

KNOWN_BITS = [
    ("i64", "%m = and i32 %a, 255; %r = sext i32 %m to i64; ret i64 %r",
     "%m = and i32 %a, 255; %r = zext i32 %m to i64; ret i64 %r"),
    ("i64", "%r = sext i32 %a to i64; ret i64 %r", None),
    ("i32", "%m = and i32 %a, 255; %r = sdiv i32 %m, 7; ret i32 %r",
     "%m = and i32 %a, 255; %r = udiv i32 %m, 7; ret i32 %r"),
    ("i32", "%r = sdiv i32 %a, 7; ret i32 %r", None),
    ("i32", "%z = zext i8 %c to i32; %r = and i32 %z, 511; ret i32 %r",
     "%z = zext i8 %c to i32; ret i32 %z"),
    ("i32", "%z = zext i8 %c to i32; %r = and i32 %z, 127; ret i32 %r", None),
    ("i1", "%m = and i32 %a, 7; %r = icmp ult i32 %m, 8; ret i1 %r", "ret i1 true"),
    ("i1", "%m = and i32 %a, 7; %r = icmp sgt i32 %m, -1; ret i1 %r", "ret i1 true"),
    ("i1", "%m = and i32 %a, 7; %r = icmp ult i32 %m, 7; ret i1 %r", None),
    ("i32", "%m = and i32 %a, 15; %n = shl i32 %b, 4; %r = xor i32 %m, %n; ret i32 %r",
     "%m = and i32 %a, 15; %n = shl i32 %b, 4; %r = or i32 %m, %n; ret i32 %r"),
    ("i32", "%m = and i32 %a, 31; %n = shl i32 %b, 4; %r = xor i32 %m, %n; ret i32 %r", None),
]

KNOWN_BITS += [
    ("i64", "%z = zext i32 %a to i64; %r = urem i64 %z, 10; ret i64 %r",
     "%t = urem i32 %a, 10; %r = zext i32 %t to i64; ret i64 %r"),
    ("i64", "%r = urem i64 %l, 10; ret i64 %r", None),
    ("i64", "%z = zext i32 %a to i64; %r = udiv i64 %z, 4294967299; ret i64 %r", None),
]

FLOATS = [
    ("float", "%r = fmul float %x, 1.0; ret float %r", "ret float %x"),
    ("float", "%r = fadd float %x, -0.0; ret float %r", "ret float %x"),
    ("float", "%r = fadd float %x, 0.0; ret float %r", None),  # -0 + 0 is 0
    ("float", "%r = fadd nsz float %x, 0.0; ret float %r", "ret float %x"),
    ("float", "%r = fsub float %x, 0.0; ret float %r", "ret float %x"),
    ("float", "%r = fsub float %x, -0.0; ret float %r", None),
    ("float", "%r = fsub float -0.0, %x; ret float %r", "%r1 = fneg float %x; ret float %r1"),
    ("float", "%r = fsub float 0.0, %x; ret float %r", None),
    ("float", "%r = fdiv float %x, 4.0; ret float %r", "%r = fmul float %x, 0.25; ret float %r"),
    ("float", "%r = fdiv float %x, 3.0; ret float %r", None),
    ("float", "%r = fdiv float %x, 0x47E0000000000000; ret float %r", None),  # 2^127
    ("float", "%n = fneg float %y; %r = fsub float %x, %n; ret float %r",
     "%r = fadd float %x, %y; ret float %r"),
    ("float", "%n = fneg float %x; %r = fneg float %n; ret float %r", "ret float %x"),
    ("float", "%w = fpext float %x to double; %r = fptrunc double %w to float; ret float %r",
     "ret float %x"),
    ("double", "%w = fptrunc double %d to float; %r = fpext float %w to double; ret double %r",
     None),
    ("i1", "%r = fcmp olt float %x, %x; ret i1 %r", "ret i1 false"),
    ("i1", "%r = fcmp oeq float %x, %x; ret i1 %r", "%r = fcmp ord float %x, %x; ret i1 %r"),
    ("i1", "%n = sitofp i32 %a to float; %r = fcmp une float %n, 0.0; ret i1 %r",
     "%r = icmp ne i32 %a, 0; ret i1 %r"),
    ("i1", "%n = uitofp i32 %a to float; %r = fcmp olt float %n, 1.0; ret i1 %r", None),
]

POINTERS = [
    ("ptr", "%r = getelementptr { i32, [4 x i32] }, ptr %q, i32 0, i32 1, i64 2; ret ptr %r",
     "%r = getelementptr i8, ptr %q, i64 12; ret ptr %r"),
    ("ptr", "%t = getelementptr i32, ptr %q, i64 3; %r = getelementptr i8, ptr %t, i64 -12; "
     "ret ptr %r", "ret ptr %q"),
    ("ptr", "%r = getelementptr i32, ptr %q, i64 %l; ret ptr %r", None),
    ("ptr", "%t = ptrtoint ptr %q to i64; %r = inttoptr i64 %t to ptr; ret ptr %r", "ret ptr %q"),
    ("ptr", "%t = ptrtoint ptr %q to i32; %r = inttoptr i32 %t to ptr; ret ptr %r", None),
    ("ptr addrspace(3)", "%g = addrspacecast ptr addrspace(3) %s to ptr; "
     "%r = addrspacecast ptr %g to ptr addrspace(3); ret ptr addrspace(3) %r",
     "ret ptr addrspace(3) %s"),
    ("ptr addrspace(1)", "%g = addrspacecast ptr %q to ptr addrspace(1); "
     "ret ptr addrspace(1) %g", None),
]

MEMBERS = [
    ("i32", "%t = insertvalue { i32, float } undef, i32 %a, 0; "
     "%u = insertvalue { i32, float } %t, float %x, 1; "
     "%r = extractvalue { i32, float } %u, 0; ret i32 %r", "ret i32 %a"),
    ("i32", "%t = insertelement <2 x i32> undef, i32 %a, i32 0; "
     "%u = insertelement <2 x i32> %t, i32 %b, i32 1; "
     "%r = extractelement <2 x i32> %u, i32 0; ret i32 %r", "ret i32 %a"),
    ("ptr", "%t = getelementptr i8, ptr %q, <2 x i64> <i64 1, i64 2>; "
     "%r = extractelement <2 x ptr> %t, i32 1; ret ptr %r",
     "%r = getelementptr i8, ptr %q, i64 2; ret ptr %r"),
    ("ptr", "%t = getelementptr i8, ptr %q, <2 x i64> <i64 1, i64 2>; "
     "%r = extractelement <2 x ptr> %t, i32 %a; ret ptr %r", None),
    ("i32", "%t = insertelement <2 x i32> undef, i32 %a, i32 %b; "
     "%r = extractelement <2 x i32> %t, i32 0; ret i32 %r", None),
    ("i1", "%t = bitcast i32 %a to <32 x i1>; "
     "%r = extractelement <32 x i1> %t, i32 %b; ret i1 %r",
     "%z = lshr i32 %a, %b; %r = trunc i32 %z to i1; ret i1 %r"),
    ("i8", "%t = bitcast i32 %a to <4 x i8>; %n = zext i32 %b to i64; "
     "%r = extractelement <4 x i8> %t, i64 %n; ret i8 %r",
     "%n = shl i32 %b, 3; %z = lshr i32 %a, %n; %r = trunc i32 %z to i8; ret i8 %r"),
    ("i16", "%t = bitcast i32 %a to <2 x i16>; "
     "%r = extractelement <2 x i16> %t, i32 %b; ret i16 %r", None),
    ("half", "%n = zext i32 %a to i64; %t = bitcast i64 %n to <4 x half>; "
     "%r = extractelement <4 x half> %t, i32 %b; ret half %r", None),
    ("float", "%n = xor i1 %p, true; %r = select i1 %n, float %x, float %y; ret float %r",
     "%r = select i1 %p, float %y, float %x; ret float %r"),
    ("float", "%r = select i1 %p, float %x, float %x; ret float %r", "ret float %x"),
    ("i1", "%r = select i1 %p, i1 false, i1 true; ret i1 %r", "%r = xor i1 %p, true; ret i1 %r"),
    ("void", "store i32 undef, ptr %q; ret void", "ret void"),
    ("void", "store volatile i32 undef, ptr %q; ret void", None),
]


@pytest.mark.parametrize(
    ("result", "before", "after"), [*INTEGERS, *KNOWN_BITS, *FLOATS, *POINTERS, *MEMBERS,
                                  *WHAT_IS_THERE]
)
def test_rule(result, before, after):
    check(result, before, after)


def test_dead_instructions_go_but_calls_with_effects_stay():
    head = "declare i32 @effect()\ndeclare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    rewrites("inst-combine", head + """
        define void @f(i32 %a) {
          %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
          %u = mul i32 %t, %a
          %e = call i32 @effect()
          ret void
        }""", head + """
        define void @f(i32 %a) {
          %e = call i32 @effect()
          ret void
        }""")


def chains(n: int) -> Module:
    module = Module("sm_80", level="nvvm")
    f = function(module, "f", VOID, [("p", pointer(1)), ("n", I32)])
    b = Builder(f.block("entry"))
    v = f.params[1]
    for k in range(n):
        w = b.add(b.mul(v, 8), b.and_(b.add(v, k), 255))
        v = b.xor(b.add(b.add(w, 3), k), v)
        b.store(v, b.gep(f.params[0], [4 * k], I32))
    b.ret_void()
    return module


def test_cost_is_linear():
    assert growth(chains, "inst-combine") < 1.5


@settings(max_examples=20, suppress_health_check=RELAXED)
@given(kernels())
def test_random_kernels(module):
    keeps_behaviour(module, "inst-combine")


@pytest.mark.parametrize("seed", range(12, 14))
def test_random_programs(seed):
    same_program(seed, "sroa,mem2reg,inst-combine", accepted=seed == 12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(500, 600))
def test_many_random_programs(seed):
    same_program(seed, "default<O3>")
