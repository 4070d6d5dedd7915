"""What becomes of 64-bit arithmetic and of what readers take over, asked of ptxas 13.0.88 at sm_80
(and sm_90): each cause with what is like it and is not."""

from __future__ import annotations

import pytest

import nvir
from nvir.analysis.liveness import liveness
from nvir.assembler.body import predicted_body
from nvir.assembler.regalloc.lowering.lower import lower
from nvir.sm import profile

LOAD = "ld.global.u64 %rd5, [%rd1]; ld.global.u64 %rd6, [%rd1+8];"
STORE = "st.global.u64 [%rd1], %rd7;"
INDEX = "add.s32 %r3, %r2, -5; cvt.s64.s32 %rd5, %r3;"
FLOATS = "ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1+4];"
_LEFT_OUT = ("S2R", "LDG", "STG", "EXIT", "BRA")


def kernel(body: str) -> nvir.Function:
    return nvir.read_ptx(
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{\n"
        ".reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<9>; .reg .b16 %h<9>; .reg .pred %p<9>;\n"
        "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r1, [n];\n"
        f"mov.u32 %r2, %tid.x; {body}\nret;\n}}\n")["k"]


def made(body: str, arch: str = "sm_80") -> list[str]:
    """What the assembler makes of a body, but for moves of the stack pointer and of addresses."""
    found = [i.opcode for i in predicted_body(kernel(body), profile(arch)).instructions()]
    return sorted(f for f in found[1:] if f not in (*_LEFT_OUT, "MOV", "LDC", "ULDC"))


def widths(body: str) -> list[int]:
    """The registers of each value that is made."""
    f = kernel(body)
    f.analyze_cfg()
    code = lower(f, liveness(f), {}, True).code
    return [code.widths[r] for region in code.regions for op in region.ops for r in op.results
            if op.parent.form.name not in ("mov", "ld")]


@pytest.mark.parametrize(("body", "families"), [
    # a 32-bit word and a parameter: the high word in place
    (f"cvt.u64.u32 %rd5, %r2; mul.lo.s64 %rd7, %rd5, %rd2; {STORE}", "IMAD IMAD.WIDE"),
    (f"{LOAD} mul.lo.s64 %rd7, %rd5, %rd6; {STORE}", "IADD3 IMAD IMAD IMAD.WIDE"),
    (f"{LOAD} mul.lo.s64 %rd8, %rd5, %rd6; add.s64 %rd7, %rd8, %rd5; {STORE}",
     "IADD3 IMAD IMAD IMAD.WIDE"),
    (f"{LOAD} mul.lo.s64 %rd8, %rd5, %rd6; sub.s64 %rd7, %rd8, %rd5; {STORE}",
     "IADD3 IADD3 IADD3.X IMAD IMAD IMAD.WIDE"),
    (f"{LOAD} mul.lo.s64 %rd7, %rd5, 36; {STORE}", "IADD3 IMAD IMAD.WIDE"),
    (f"{LOAD} mul.wide.s32 %rd8, %r1, 4; add.s64 %rd7, %rd8, %rd5; {STORE}", "IMAD.WIDE"),
    (f"{LOAD} mad.lo.s64 %rd7, %rd5, %rd6, %rd5; {STORE}", "IADD3 IMAD IMAD IMAD.WIDE"),
])
def test_products_of_64_bits(body: str, families: str) -> None:
    assert made(body) == families.split()
    assert made(body, "sm_90") == families.split()


def test_two_sums_share_what_goes_to_the_high_word() -> None:
    body = (f"{LOAD} cvt.u64.u32 %rd8, %r2; mul.lo.s64 %rd9, %rd8, %rd5; add.s64 %rd7, %rd9, %rd6; "
            f"{STORE} add.s64 %rd10, %rd9, %rd5; st.global.u64 [%rd1+8], %rd10;")
    assert made(body) == ["IADD3"] * 2 + ["IMAD"] + ["IMAD.WIDE"] * 2


@pytest.mark.parametrize(("body", "families"), [
    (f"{LOAD} shl.b64 %rd8, %rd5, 3; add.s64 %rd7, %rd8, %rd6; {STORE}", "LEA LEA.HI.X"),
    (f"{LOAD} shl.b64 %rd8, %rd5, 3; add.s64 %rd7, %rd8, %rd6; {STORE} add.s64 %rd9, %rd8, %rd5; "
     "st.global.u64 [%rd1+8], %rd9;", "IADD3 IADD3 IADD3.X IADD3.X SHF SHF"),
    (f"{INDEX} add.s64 %rd7, %rd2, %rd5; {STORE}", "IADD3 IADD3 LEA.HI.X"),
    (f"{INDEX} shl.b64 %rd8, %rd5, 3; add.s64 %rd7, %rd2, %rd8; {STORE}",
     "IADD3 LEA LEA.HI.X SHF"),
    (f"{INDEX} add.s64 %rd7, %rd2, %rd5; {STORE} add.s64 %rd9, %rd1, %rd5; "
     "st.global.u64 [%rd1+8], %rd9;", "IADD3 IADD3 IADD3 IADD3.X IADD3.X SHF"),
    (f"{LOAD} add.s64 %rd8, %rd5, %rd6; add.s64 %rd7, %rd8, %rd5; {STORE}", "IADD3 IADD3.X"),
    (f"{LOAD} add.s64 %rd8, %rd5, %rd6; add.s64 %rd7, %rd8, %rd5; {STORE} "
     "st.global.u64 [%rd1+8], %rd8;", "IADD3 IADD3 IADD3.X IADD3.X"),
])
def test_sums_of_64_bits(body: str, families: str) -> None:
    assert [f.replace("IADD", "IADD3").replace("IADD33", "IADD3") for f in made(body)
            ] == families.split()


def test_a_word_that_is_zero_takes_no_register() -> None:
    load = "ld.global.u64 %rd5, [%rd1];"
    store = "setp.eq.s64 %p1, %rd6, %rd5; @%p1 st.global.u64 [%rd1], %rd5;"
    assert widths(f"{load} and.b64 %rd6, %rd5, 30; {store}") == [1, 0]
    assert widths(f"{load} and.b64 %rd6, %rd5, -2; {store}") == [1, 1, 0]
    assert widths(f"{load} shr.u64 %rd6, %rd5, 40; {store}") == [1, 0]
    assert widths(f"{load} shr.u64 %rd6, %rd5, 4; {store}") == [1, 1, 0]
    assert widths(f"{load} and.b64 %rd6, %rd5, 30; st.global.u64 [%rd1], %rd6;") == [2]


@pytest.mark.parametrize(("body", "families"), [
    ("mul.hi.u32 %r4, %r2, %r1; add.s32 %r5, %r4, %r2;", "IMAD.HI"),
    ("mul.hi.s32 %r4, %r2, %r1; add.s32 %r5, %r4, %r2;", "IADD IMAD.HI"),
    ("shr.u32 %r4, %r2, 5; add.s32 %r5, %r4, %r2;", "LEA.HI"),
    ("shr.u32 %r4, %r2, %r1; add.s32 %r5, %r4, %r2;", "IADD SHF"),
    ("add.s32 %r4, %r2, 7; setp.gt.s32 %p1, %r2, 9; mul.lo.s32 %r6, %r2, %r2; "
     "selp.b32 %r5, %r4, %r6, %p1;", "IADD IMAD ISETP"),
    ("add.s32 %r4, %r2, 7; setp.gt.s32 %p1, %r2, 9; selp.b32 %r3, %r4, %r2, %p1; "
     "xor.b32 %r5, %r3, %r4;", "IADD ISETP LOP3 SEL"),
])
def test_what_one_operation_does_of_two(body: str, families: str) -> None:
    assert made(f"{body} st.global.u32 [%rd1], %r5;") == families.split()


def test_a_sign_is_taken_by_what_flushes_as_well() -> None:
    store = "st.global.f32 [%rd1], %f4;"
    assert made(f"{FLOATS} neg.ftz.f32 %f3, %f1; add.ftz.f32 %f4, %f3, %f2; {store}") == ["FADD"]
    assert made(f"{FLOATS} neg.ftz.f32 %f3, %f1; add.f32 %f4, %f3, %f2; {store}") == ["FADD"] * 2


def test_a_conversion_of_what_was_loaded_is_none() -> None:
    add = "cvt.u32.u16 %r3, %h1; add.s32 %r5, %r3, %r2; st.global.u32 [%rd1], %r5;"
    assert made(f"ld.global.u16 %h1, [%rd1]; {add}") == ["IADD"]
    assert len(widths(f"ld.global.u16 %h1, [%rd1]; add.s16 %h1, %h1, %h1; {add}")) == 3


@pytest.mark.parametrize(("body", "families"), [
    # steps of an address: each access adds its own literal
    ("add.s64 %rd6, %rd5, 4; st.global.u32 [%rd6], %r2; add.s64 %rd7, %rd6, 4; "
     "st.global.u32 [%rd7], %r2;", ""),
    # another reads the first step, which has to be made
    ("add.s64 %rd6, %rd5, 4; st.global.u64 [%rd6], %rd6; add.s64 %rd7, %rd6, 4; "
     "st.global.u32 [%rd7], %r2;", "IADD3 IADD3.X"),
    # a sum of a step is a literal away from one that was made
    ("add.s64 %rd6, %rd5, %rd9; st.global.u32 [%rd6], %r2; add.s64 %rd7, %rd5, 4; "
     "add.s64 %rd8, %rd7, %rd9; st.global.u32 [%rd8], %r2;", "IADD3 IADD3.X"),
    ("add.s64 %rd6, %rd5, %rd9; st.global.u32 [%rd6], %r2; add.s64 %rd7, %rd5, 4; "
     "add.s64 %rd8, %rd7, %rd9; st.global.u64 [%rd8], %rd8;", "IADD3 IADD3 IADD3.X IADD3.X"),
    # too far for an access of its base
    ("add.s64 %rd6, %rd5, 8388604; st.global.u32 [%rd6], %r2; add.s64 %rd7, %rd6, 4; "
     "st.global.u32 [%rd7], %r2;", "IADD3 IADD3.X"),
])
def test_accesses_add_what_their_addresses_are_apart(body: str, families: str) -> None:
    assert made(f"ld.global.u64 %rd5, [%rd1]; ld.global.u64 %rd9, [%rd1+8]; {body}") == (
        families.split())


@pytest.mark.parametrize(("more", "families"), [
    ("", "IMAD"),
    ("sub.s32 %r7, %r2, %r5; st.global.u32 [%rd1+4], %r7;", "IADD IMAD"),
    ("mul.lo.s32 %r7, %r5, 1; sub.s32 %r8, %r2, %r7; st.global.u32 [%rd1+4], %r8;", "IADD IMAD"),
    ("mul.lo.s32 %r7, %r5, 3; sub.s32 %r8, %r2, %r7; st.global.u32 [%rd1+4], %r8;", "IADD IADD"),
])
def test_a_sum_makes_the_stride_of_a_grid_anew(more: str, families: str) -> None:
    """Unless something scales it: then it is made once."""
    stride = "mov.u32 %r3, %ntid.x; mov.u32 %r4, %nctaid.x; mul.lo.s32 %r5, %r3, %r4;"
    body = f"{stride} add.s32 %r6, %r2, %r5; st.global.u32 [%rd1], %r6; {more}"
    assert [f for f in made(body) if not f.startswith("U")] == families.split()
    assert "IMAD" not in made(body, "sm_90")


@pytest.mark.parametrize(("between", "families"), [
    ("", "F2FP PRMT"),
    ("st.global.u16 [%rd1+8], %h1;", "F2FP PRMT"),
    ("st.global.u16 [%rd1+8], %h1; ld.volatile.global.f32 %f2, [%rd1];", "F2FP F2FP"),
    ("cvt.rn.bf16.f32 %h3, %f2; st.global.u16 [%rd1+4], %h3;", "F2FP F2FP F2FP"),
])
def test_two_conversions_to_half_a_word_are_packed(between: str, families: str) -> None:
    body = f"{FLOATS} cvt.rn.f16.f32 %h1, %f1; {between} cvt.rn.f16.f32 %h2, %f2; "
    store = "st.global.u16 [%rd1+8], %h1; st.global.u16 [%rd1+16], %h2;"
    assert made(body + store) == families.split()
