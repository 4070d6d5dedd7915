"""The resource bound is that of the code that the assembler makes: never above it."""

from __future__ import annotations

import pytest

import nvir
from nvir.ir.loops import natural_loops
from nvir.sm import profile
from nvir.assembler.least import least_resource
from nvir.sm.loopgraph import loop_graph

SM_80 = profile("sm_80")
HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{
.reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .f32 %f<40>; .reg .f64 %fd<9>;
.shared .align 16 .b8 s[4096];
ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, 0; mov.u32 %r9, s;
mov.u32 %r10, %tid.x; cvt.u64.u32 %rd9, %r10; mov.u32 %r3, %r10; mov.f32 %f1, 0f00000000;
mov.f64 %fd1, 0d0000000000000000; mov.u64 %rd20, %rd1;
L:
"""
TAIL = """
add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;
st.global.f32 [%rd1], %f1; st.global.u32 [%rd1+4], %r3; st.global.f64 [%rd1+8], %fd1; ret;
}
"""
OVERHEAD = 3  # the counter, the test, the branch


def needed(body: str, copies: int = 1) -> int:
    """Cycles of an iteration; bound by issue slots where the body is short."""
    (f,) = nvir.read_ptx(HEAD + body + TAIL).functions
    f.analyze_cfg()
    (loop,) = natural_loops(f)
    found, _ = least_resource(loop_graph(loop, SM_80).operations, loop, SM_80, copies)
    return found


LOAD = "ld.global.f32 %f2, [{}]; add.f32 %f1, %f1, %f2;"


@pytest.mark.parametrize(
    ("body", "operations"),
    [
        ("add.s32 %r4, %r3, %r10; add.s32 %r3, %r4, %r9;", 1),
        ("add.s32 %r4, %r3, %r10; xor.b32 %r3, %r4, %r9;", 2),
        ("xor.b32 %r4, %r3, %r10; and.b32 %r3, %r4, %r9;", 1),
        ("shl.b32 %r4, %r3, 2; add.s32 %r3, %r4, %r9;", 1),
        ("shl.b32 %r4, %r3, %r10; add.s32 %r3, %r4, %r9;", 2),
        ("shr.u32 %r4, %r3, 31; add.s32 %r3, %r4, %r3;", 1),
        ("mov.u32 %r4, %r3; mov.u32 %r5, 7; xor.b32 %r3, %r4, %r5;", 1),
    ],
)
def test_what_the_assembler_fuses_counts_once(body: str, operations: int):
    assert needed(body) == operations + OVERHEAD


def test_a_product_that_only_sums_read_is_part_of_each():
    sums = ("mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2; add.s64 %rd4, %rd9, %rd2;"
            + LOAD.format("%rd3") + LOAD.format("%rd4"))
    assert needed(sums) == 2 * 4 + 2 * 2  # of the FMA pipe: IMAD.WIDE 4, FADD 2
    assert needed(sums + "st.global.u64 [%rd1+64], %rd2;") > needed(sums)  # the product is made


def test_a_product_of_64_bits_takes_the_sum_that_reads_it():
    product = "mul.lo.s64 %rd2, %rd20, %rd9; "
    alone = needed(product + "xor.b64 %rd20, %rd2, %rd20;")
    assert needed(product + "add.s64 %rd20, %rd2, %rd1;") == alone - 2


def test_a_shift_of_a_sum_of_products_of_invariants_is_made_before_the_loop():
    ways = "{}; shl.b32 %r5, %r4, 3; add.s32 %r6, %r9, %r5; st.shared.u32 [%r6], %r2;"
    assert needed(ways.format("mad.lo.s32 %r4, %r2, %r1, %r10")) == needed(
        "mad.lo.s32 %r4, %r2, %r1, %r10; st.shared.u32 [%r4], %r2;")
    varies = "add.s32 %r3, %r3, %r2; "
    assert needed(varies + ways.format("mad.lo.s32 %r4, %r2, %r3, %r10")) > needed(
        varies + "mad.lo.s32 %r4, %r2, %r3, %r10; st.shared.u32 [%r4], %r2;")


def test_signs_of_floats_are_modifiers():
    plain = "add.f64 %fd1, %fd1, %fd2; add.f64 %fd1, %fd1, %fd1;"
    signs = "neg.f64 %fd3, %fd1; abs.f64 %fd4, %fd3; add.f64 %fd1, %fd1, %fd4;"
    assert needed(signs + "add.f64 %fd1, %fd1, %fd1;") == needed(plain)


def test_counters_and_addresses_that_step_count_once_for_all_copies():
    body = "add.s64 %rd20, %rd20, 64;" + LOAD.format("%rd20")
    assert needed(body) == 2 + 2 + OVERHEAD
    assert needed(body, 4) == 4  # the load on its pipe; (2 + OVERHEAD) / 4 and two more are less


def test_loads_of_one_line_of_shared_memory_are_one():
    one = "ld.shared.u32 %r20, [%r9+{}]; xor.b32 %r3, %r3, %r20; "
    four = "".join(one.format(4 * n).replace("%r20", f"%r{20 + n}") for n in range(4))
    far = "".join(one.format(64 * n).replace("%r20", f"%r{20 + n}") for n in range(4))
    assert needed(four) < needed(far)
