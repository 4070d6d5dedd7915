"""The resource bound is that of the code that the assembler makes: never above it."""

from __future__ import annotations

from collections import Counter

import pytest

import nvir
from nvir.assembler.least import least_operations, least_resource
from nvir.ir.loops import natural_loops
from nvir.sm import profile
from nvir.sm.loopgraph import loop_graph

SM_80 = profile("sm_80")
HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{
.reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .f32 %f<40>; .reg .f64 %fd<9>;
.shared .align 16 .b8 s[4096];
ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r9, s; mov.u32 %r10, %tid.x;
cvt.u64.u32 %rd9, %r10; mov.u32 %r2, %r10; mov.u32 %r3, %r10; mov.u32 %r12, %r10;
mov.f32 %f1, 0f00000000; mov.f64 %fd1, 0d0000000000000000; mul.lo.s64 %rd20, %rd9, %rd9;
"""
TAIL = """
add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;
END:
st.global.f32 [%rd20], %f1; st.global.v2.u32 [%rd20+8], {%r3, %r12};
st.global.f64 [%rd20+16], %fd1; ret;
}
"""
OVERHEAD = Counter(("IADD3", "ISETP", "BRA"))  # the counter, the test, the branch
GUARD = "setp.gt.u32 %p2, %r10, 40; @%p2 bra END;"


def parts(body: str, before: str = "", arch: str = "sm_80"):
    (f,) = nvir.read_ptx(HEAD + before + "L:\n" + body + TAIL).functions
    f.analyze_cfg()
    (loop,) = natural_loops(f)
    machine = profile(arch)
    return loop_graph(loop, machine).operations, loop, machine


def made(body: str, before: str = "", arch: str = "sm_80") -> str:
    """The operations of a body beside those of its counter."""
    found = Counter(family for _, family, _ in least_operations(*parts(body, before, arch)))
    if arch != "sm_80":
        return " ".join(sorted(found.elements()))
    return " ".join(sorted((found - OVERHEAD).elements()))


def needed(body: str, copies: int = 1) -> int:
    """Cycles of an iteration."""
    return least_resource(*parts(body), copies)[0]


SUMS = "add.s64 %rd3, %rd20, %rd2; add.s64 %rd4, %rd9, %rd2;"
LOADS = "ld.global.f32 %f2, [%rd3]; ld.global.f32 %f3, [%rd4]; add.f32 %f4, %f2, %f3; " \
    "add.f32 %f1, %f1, %f4;"
TWO_LOADS = "FADD FADD LDG LDG"


@pytest.mark.parametrize(
    ("body", "operations"),
    [
        ("add.s32 %r4, %r3, %r10; add.s32 %r3, %r4, %r12;", "IADD"),
        ("add.s32 %r4, %r3, %r10; xor.b32 %r3, %r4, %r12;", "IADD LOP3"),
        ("xor.b32 %r4, %r3, %r10; and.b32 %r3, %r4, %r12;", "LOP3"),
        ("xor.b32 %r4, %r3, %r10; xor.b32 %r5, %r12, %r2; and.b32 %r3, %r4, %r5;", "LOP3 LOP3"),
        ("shl.b32 %r4, %r3, 2; add.s32 %r3, %r4, %r10;", "IADD"),
        ("shl.b32 %r4, %r3, %r10; add.s32 %r3, %r4, %r10;", "IADD IADD"),
        ("shr.u32 %r4, %r3, 31; add.s32 %r3, %r4, %r3;", "LEA.HI"),
        ("mul.lo.s32 %r4, %r3, %r10; add.s32 %r3, %r4, %r12;", "IMAD"),
        ("mul.lo.s32 %r4, %r3, %r10; xor.b32 %r3, %r4, %r12;", "IMAD LOP3"),
        ("mov.u32 %r4, %r3; mov.u32 %r5, 7; xor.b32 %r3, %r4, %r5;", "LOP3"),
        ("add.s32 %r3, %r3, 5;", "IADD3"),
        ("add.s32 %r3, %r3, %r1;", "IADD3"),
        ("add.s32 %r3, %r3, %r10;", "IADD"),
        ("and.b32 %r4, %r3, 8; setp.eq.s32 %p3, %r4, 0; selp.b32 %r3, %r10, %r12, %p3;",
         "LOP3 SEL"),
        ("and.b32 %r4, %r3, 8; setp.eq.s32 %p3, %r4, 1; selp.b32 %r3, %r10, %r12, %p3;",
         "ISETP LOP3 SEL"),
        ("setp.eq.s32 %p3, %r2, 9; xor.b32 %r4, %r10, %r2; selp.b32 %r3, %r4, %r3, %p3;",
         "ISETP LOP3"),
    ],
)
def test_what_the_assembler_fuses_counts_once(body: str, operations: str):
    assert made(body) == operations


def test_a_wide_product_that_only_sums_read_is_part_of_each():
    product = "mul.wide.u32 %rd2, %r2, 4;" + SUMS + LOADS
    assert made(product) == TWO_LOADS.replace("LDG", "IMAD.WIDE", 1).replace(
        "LDG", "IMAD.WIDE LDG LDG")
    assert made(product + "st.global.u64 [%rd20+64], %rd2;").count("IMAD.WIDE") == 1


def test_a_shift_is_part_of_its_only_sum():
    shift = "add.s64 %rd5, %rd20, %rd9; add.s64 %rd20, %rd5, %rd5; shl.b64 %rd2, %rd20, 2;"
    one = "add.s64 %rd3, %rd9, %rd2; ld.global.f32 %f2, [%rd3]; add.f32 %f1, %f1, %f2;"
    assert {"LEA", "LEA.HI.X"} < set(made(shift + one).split())
    assert "SHF" not in made(shift + one)
    assert "LEA" not in made(shift + SUMS + LOADS)
    assert "SHF" in made(shift + SUMS + LOADS)


def test_the_sign_is_extended_in_the_only_sum():
    one = "cvt.s64.s32 %rd2, %r2; add.s64 %rd3, %rd20, %rd2; ld.global.f32 %f2, [%rd3];"
    assert "LEA.HI.X.SX32" in made(one + "add.f32 %f1, %f1, %f2;")
    assert "SHF" in made("cvt.s64.s32 %rd2, %r2;" + SUMS + LOADS)


def test_a_product_of_64_bits_takes_the_sums_that_read_it():
    product = "mul.lo.s64 %rd2, %rd20, %rd20; "
    assert made(product + "add.s64 %rd20, %rd2, %rd9;") == "IADD IMAD IMAD IMAD.WIDE"
    widened = "mul.lo.s64 %rd2, %rd20, %rd9; add.s64 %rd20, %rd2, %rd9;"
    assert made(widened) == "IMAD IMAD.WIDE"
    alone = made(product + "xor.b64 %rd20, %rd2, %rd20;").split()
    assert Counter(alone)["LOP3"] == 2


def test_signs_of_floats_are_modifiers_where_readers_have_those():
    assert made("neg.f64 %fd3, %fd1; abs.f64 %fd4, %fd3; add.f64 %fd1, %fd1, %fd4;") == "DADD"
    chosen = "setp.gt.s32 %p3, %r3, 4; abs.f64 %fd3, %fd1; selp.f64 %fd1, %fd3, %fd2, %p3;"
    assert "DADD" in made(chosen)


def test_counters_and_addresses_that_step_count_once_for_all_copies():
    body = "add.s64 %rd20, %rd20, 64; ld.global.f32 %f2, [%rd20]; add.f32 %f1, %f1, %f2;"
    assert needed(body, 4) == 4  # the load on its pipe
    assert needed(body) > 4


ACCESS = "st.shared.u32 [{}], %r2;"


@pytest.mark.parametrize(
    ("body", "arch", "operations"),
    [
        ("shl.b32 %r4, %r2, 2; add.s32 %r5, %r9, %r4;", "sm_80", "STS"),
        ("shl.b32 %r4, %r2, 2; add.s32 %r5, %r9, %r4;", "sm_90", "BRA IADD IADD ISETP STS"),
        ("shl.b32 %r4, %r2, 7; add.s32 %r5, %r9, %r4;", "sm_80", "IADD STS"),
        ("add.s32 %r5, %r2, 16;", "sm_80", "STS"),
        ("add.s32 %r5, %r2, %r3; add.s32 %r3, %r3, %r5;", "sm_80", "IADD IADD STS"),
    ],
)
def test_shared_memory_adds_to_its_addresses(body: str, arch: str, operations: str):
    assert made(body + ACCESS.format("%r5"), arch=arch) == operations


def test_a_shift_of_a_sum_of_products_of_invariants_is_made_before_the_loop():
    ways = "{}; shl.b32 %r5, %r4, 6; add.s32 %r6, %r10, %r5; st.shared.u32 [%r6], %r2;"
    assert made(ways.format("mad.lo.s32 %r4, %r2, %r1, %r10")) == "IMAD STS"
    varies = "add.s32 %r3, %r3, %r2; "
    assert made(varies + ways.format("mad.lo.s32 %r4, %r2, %r3, %r10")) == "IADD IADD IMAD STS"


def test_accesses_of_one_line_of_shared_memory_are_one():
    one = "ld.shared.u32 %r20, [%r12+{}]; xor.b32 %r3, %r3, %r20; "
    four = "".join(one.format(4 * n).replace("%r20", f"%r{20 + n}") for n in range(4))
    far = "".join(one.format(64 * n).replace("%r20", f"%r{20 + n}") for n in range(4))
    assert made(four).count("LDS") == 1
    assert made(far).count("LDS") == 4


SHUFFLE = "shfl.sync.down.b32 %r4|%p4, %r3, 4, 31, {}; add.s32 %r3, %r3, %r4;"


def test_a_shuffle_where_lanes_may_be_apart_gathers_them():
    together = "mov.u32 %r2, 0;"
    assert made(SHUFFLE.format(-1), together).count("BRA") == 0
    assert made(SHUFFLE.format(-1), together + GUARD).count("BRA") == 1
    assert "WARPSYNC" in made(SHUFFLE.format(-1), together + GUARD, "sm_90")
    same = SHUFFLE.format(-1).replace("%r3", "%r13")
    assert made(same, together + "mov.u32 %r13, 0;") == "NOP NOP"


def test_a_literal_factor_of_an_address_is_put_into_a_register_in_each_block():
    body = "mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2; ld.global.f32 %f2, [%rd3]; " \
        "add.f32 %f1, %f1, %f2;"
    assert made(body) == "FADD IMAD.WIDE LDG NOP"
    before = "mul.wide.u32 %rd5, %r10, 4; add.s64 %rd6, %rd1, %rd5; st.global.u32 [%rd6], %r3;"
    assert made(body, before) == "FADD IMAD.WIDE LDG"


def test_what_is_uniform_may_leave_the_pipes():
    body, before = "add.s32 %r13, %r13, %r1;", "mov.u32 %r2, 0; mov.u32 %r13, %r1;"
    assert made(body, before) == "NOP NOP"  # and the counter
    assert "NOP" not in made(body, before + GUARD + "setp.gt.u32 %p3, %r10, 50; @%p3 bra L;")


def test_conversions_that_follow_one_another_are_one():
    bytes_ = "ld.global.u8 %r4, [%rd20]; cvt.s32.s8 %r5, %r4; cvt.rn.f32.s32 %f2, %r5;"
    assert made(bytes_ + "add.f32 %f1, %f1, %f2;") == "FADD I2F LDG"
    up = "cvt.rpi.f32.f32 %f2, %f1; cvt.rzi.s32.f32 %r3, %f2; add.f32 %f1, %f1, {};"
    assert made(up.format("%f1")).count("FRND") == 0
    assert made(up.format("%f2")).count("FRND") == 1


def test_a_slow_path_stays_whole():
    """The reciprocal of an invariant divisor is made in each iteration."""
    found = made("div.rn.f32 %f1, %f1, %f5;", "ld.global.f32 %f5, [%rd20];")
    assert {"BSSY", "BSYNC", "MUFU"} <= set(found.split())


@pytest.mark.parametrize(("arch", "family"), [("sm_80", "I2F"), ("sm_86", "I2FP")])
def test_short_integers_become_floats_in_the_alu_from_sm_86_on(arch: str, family: str):
    body = "ld.global.u16 %r4, [%rd20]; cvt.u16.u32 %rs1, %r4; cvt.rn.f32.u16 %f2, %rs1;"
    found = made(body + "add.f32 %f1, %f1, %f2;", ".reg .b16 %rs<4>;", arch).split()
    assert family in found
    assert "LOP3" not in found


def test_a_high_half_with_a_parameter_is_on_the_alu():
    load = "ld.global.u64 %rd3, [%rd20]; "
    store = " st.global.u64 [%rd20], %rd4;"
    assert made(f"{load}add.s64 %rd4, %rd3, %rd1;{store}") == "IADD3 IADD3.X LDG STG"
    assert made(f"{load}add.s64 %rd4, %rd3, %rd20;{store}") == "IADD IADD3 LDG STG"
    assert made(f"{load}add.s64 %rd4, %rd3, -8;{store}") == "IADD3 IADD3.X LDG STG"
    assert made(f"{load}add.s64 %rd4, %rd3, 8;{store}") == "IADD IADD3 LDG STG"


def test_a_word_with_zeros_in_front_steps_in_each_copy():
    def sums(widen: str) -> int:
        body = f"add.s32 %r4, %r2, %r10; mul.wide.{widen} %rd3, %r4, 4; add.s64 %rd4, %rd20, %rd3;"
        found = least_operations(*parts(body + "ld.global.f32 %f2, [%rd4]; "
                                        "add.f32 %f1, %f1, %f2;"), 4)
        return sum(n for i, _, n in found if "add.s32" in str(i))

    assert sums("u32") == 4 + 1
    assert sums("s32") == 1 + 1


def test_a_select_of_64_bits_is_one_of_each_word():
    load = "ld.global.u64 %rd3, [%rd20]; setp.gt.s64 %p3, %rd3, %rd9; add.s64 %rd4, %rd3, %rd9; "
    assert made(f"{load}selp.b64 %rd5, %rd4, %rd3, %p3; st.global.u64 [%rd20], %rd5;"
                ).split().count("SEL") == 2
