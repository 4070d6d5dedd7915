"""What becomes part of another operation: each rule and what is like it, with the real work.

The third column is what ptxas 13.0.88 makes of the kernel at sm_80, as `nvir diff --model` counts
it, without the uniform datapath; one kind alone is told where the rest is not in question.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import nvir
from nvir.assembler.body import predicted_body
from nvir.report.bodies import work
from nvir.sm import profile
from nvir.sm.body import MachineBody
from nvir.toolchain import bodies, ptxas

ROW = ("mov.u32 %r9, s; shl.b32 %r5, %r2, 6; add.s32 %r6, %r9, %r5; "
       "st.shared.u32 [%r6+32], %r3; bar.sync 0; ")
TO_GLOBAL = "st.global.v2.f32 [%rd1], {%f1, %f2}; st.global.v2.f32 [%rd1+8], {%f3, %f4};"


def loads(*offsets: int) -> str:
    return " ".join(f"ld.shared.f32 %f{k}, [%r6+{o}];" for k, o in enumerate(offsets, 1))


HEAD = """.version 8.0
.target sm_80
.address_size 64
.shared .align 16 .b8 s[1024];
.visible .entry k(.param .u64 a, .param .u32 n)
{
.reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .f32 %f<40>; .reg .b16 %h<20>; .reg .pred %p<20>;
ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x; mov.u32 %r3, %tid.y; mov.u32 %r4, %tid.z;
"""
CASES = (
    ("a compare that one and, or, xor of predicates reads",
     "setp.lt.s32 %p1, %r2, %r3; setp.gt.s32 %p2, %r4, 7; or.pred %p3, %p1, %p2; "
     "selp.b32 %r5, %r3, %r4, %p3; st.global.u32 [%rd1], %r5;",
     "EXIT ISETP×2 MOV×3 S2R×3 SEL STG"),
    ("read by others as well it is made again",
     "setp.lt.s32 %p1, %r2, %r3; setp.gt.s32 %p2, %r4, 7; or.pred %p3, %p1, %p2; "
     "selp.b32 %r5, %r3, %r4, %p3; selp.b32 %r6, %r2, %r4, %p1; "
     "selp.b32 %r7, %r2, %r3, %p2; st.global.v2.u32 [%rd1], {%r5, %r6}; "
     "st.global.u32 [%rd1+8], %r7;",
     "EXIT ISETP×3 MOV×3 S2R×3 SEL×3 STG×2"),
    ("logic tested for zero",
     "and.b32 %r5, %r2, %r3; setp.eq.s32 %p1, %r5, 0; selp.b32 %r6, %r3, %r4, %p1; "
     "st.global.v2.u32 [%rd1], {%r5, %r6};",
     "EXIT LOP3 MOV×3 S2R×3 STG"),
    ("for one it is a compare",
     "and.b32 %r5, %r2, %r3; setp.eq.s32 %p1, %r5, 1; selp.b32 %r6, %r3, %r4, %p1; "
     "st.global.v2.u32 [%rd1], {%r5, %r6};",
     "EXIT ISETP LOP3 MOV×3 S2R×3 STG"),
    ("a predicate is negated by its reader",
     "setp.lt.s32 %p1, %r2, %r3; not.pred %p2, %p1; selp.b32 %r5, %r3, %r4, %p2; "
     "st.global.u32 [%rd1], %r5;",
     "EXIT ISETP MOV×3 S2R×3 STG"),
    ("bits that a shift does not look at",
     "and.b32 %r5, %r3, 31; shl.b32 %r6, %r2, %r5; st.global.u32 [%rd1], %r6;",
     "EXIT MOV×3 S2R×2 SHF STG"),
    ("bits that it does look at",
     "and.b32 %r5, %r3, 15; shl.b32 %r6, %r2, %r5; st.global.u32 [%rd1], %r6;",
     "EXIT LOP3 MOV×3 S2R×2 SHF STG"),
    ("bits that a load clears",
     "ld.global.u8 %h1, [%rd1]; cvt.u32.u16 %r5, %h1; and.b32 %r6, %r5, 255; "
     "add.s32 %r7, %r6, %r2; st.global.u32 [%rd1], %r7;",
     "EXIT IADD3 LDG MOV×3 S2R STG"),
    ("one bit that it does not",
     "ld.global.u8 %h1, [%rd1]; cvt.u32.u16 %r5, %h1; and.b32 %r6, %r5, 127; "
     "add.s32 %r7, %r6, %r2; st.global.u32 [%rd1], %r7;",
     "EXIT IADD3 LDG LOP3 MOV×3 S2R STG"),
    ("kept between 0 and 1",
     "ld.global.v2.f32 {%f1, %f2}, [%rd1]; add.f32 %f3, %f1, %f2; "
     "max.f32 %f4, %f3, 0f00000000; min.f32 %f5, %f4, 0f3F800000; "
     "st.global.f32 [%rd1], %f5;",
     "EXIT FADD LDG MOV×3 STG"),
    ("between 0 and 2",
     "ld.global.v2.f32 {%f1, %f2}, [%rd1]; add.f32 %f3, %f1, %f2; "
     "max.f32 %f4, %f3, 0f00000000; min.f32 %f5, %f4, 0f40000000; "
     "st.global.f32 [%rd1], %f5;",
     "EXIT FADD FMNMX×2 LDG MOV×3 STG"),
    ("of what no sum or product made",
     "ld.global.f32 %f3, [%rd1]; max.f32 %f4, %f3, 0f00000000; "
     "min.f32 %f5, %f4, 0f3F800000; st.global.f32 [%rd1], %f5;",
     "EXIT FADD LDG MOV×3 STG"),
    ("sine and cosine of one value",
     "ld.global.v2.f32 {%f1, %f2}, [%rd1]; sin.approx.f32 %f3, %f1; "
     "cos.approx.f32 %f4, %f1; st.global.v2.f32 [%rd1], {%f3, %f4};",
     "EXIT FMUL LDG MOV×3 MUFU×2 STG"),
    ("of two values",
     "ld.global.v2.f32 {%f1, %f2}, [%rd1]; sin.approx.f32 %f3, %f1; "
     "cos.approx.f32 %f4, %f2; st.global.v2.f32 [%rd1], {%f3, %f4};",
     "EXIT FMUL×2 LDG MOV×3 MUFU×2 STG"),
    ("a product in two sums",
     "mul.lo.s32 %r5, %r2, %r3; add.s32 %r6, %r5, %r3; add.s32 %r7, %r5, %r4; "
     "xor.b32 %r8, %r6, %r7; st.global.u32 [%rd1], %r8;",
     "EXIT IMAD×2 LOP3 MOV×3 S2R×3 STG"),
    ("and in something else",
     "mul.lo.s32 %r5, %r2, %r3; add.s32 %r6, %r5, %r4; xor.b32 %r8, %r6, %r5; "
     "st.global.u32 [%rd1], %r8;",
     "EXIT IADD3 IMAD LOP3 MOV×3 S2R×3 STG"),
    ("a product is taken away",
     "mul.lo.s32 %r5, %r2, %r3; sub.s32 %r6, %r4, %r5; st.global.u32 [%rd1], %r6;",
     "EXIT IADD3 IMAD MOV×3 S2R×3 STG"),
    ("a multiple is",
     "mul.lo.s32 %r5, %r2, 7; sub.s32 %r6, %r4, %r5; st.global.u32 [%rd1], %r6;",
     "EXIT IMAD MOV×3 S2R×2 STG"),
    ("an access of shared memory shifts by 2",
     "mov.u32 %r9, s; shl.b32 %r5, %r2, 2; add.s32 %r6, %r9, %r5; "
     "st.shared.u32 [%r6], %r3; bar.sync 0; ld.shared.u32 %r7, [%r6+4]; "
     "st.global.u32 [%rd1], %r7;",
     "BAR EXIT LDS MOV×3 S2R×2 STG STS"),
    ("not by 7",
     "mov.u32 %r9, s; shl.b32 %r5, %r2, 7; add.s32 %r6, %r9, %r5; "
     "st.shared.u32 [%r6], %r3; bar.sync 0; ld.shared.u32 %r7, [%r6+4]; "
     "st.global.u32 [%rd1], %r7;",
     "BAR EXIT LDS MOV×3 S2R×2 SHF STG STS"),
    ("the high word tested",
     "ld.global.u64 %rd2, [%rd1]; ld.global.u64 %rd3, [%rd1+8]; or.b64 %rd4, %rd2, %rd3; "
     "and.b64 %rd5, %rd4, -4294967296; setp.eq.s64 %p1, %rd5, 0; "
     "selp.b32 %r5, %r2, %r3, %p1; st.global.u32 [%rd1], %r5;",
     "EXIT ISETP LDG×2 LOP3 MOV×3 S2R×2 STG"),
    ("logic of what is made further down",
     "and.b32 %r5, %r2, 31; shl.b32 %r6, %r3, 2; and.b32 %r7, %r6, -128; "
     "or.b32 %r8, %r7, %r5; st.global.u32 [%rd1], %r8;",
     "EXIT LOP3×2 MOV×3 S2R×2 SHF STG"),
    ("bytes to floats",
     "ld.global.u8 %h1, [%rd1]; cvt.s16.s8 %h2, %h1; cvt.rn.f32.s16 %f1, %h2; "
     "st.global.f32 [%rd1], %f1;",
     "EXIT I2F LDG MOV×3 STG"),
    ("a load extends the sign",
     "ld.global.u8 %h1, [%rd1]; cvt.s16.s8 %h2, %h1; cvt.s32.s16 %r5, %h2; "
     "st.global.u32 [%rd1], %r5;",
     "EXIT LDG MOV×3 PRMT STG"),
    ("halves of words",
     "ld.global.v2.u16 {%h1, %h2}, [%rd1]; and.b16 %h3, %h1, 15; or.b16 %h4, %h3, %h2; "
     "st.global.u16 [%rd1], %h4;",
     "EXIT LDG LOP3 MOV×3 PRMT STG"),
    ("a uniform sum compared with a literal",
     "add.s32 %r5, %r1, -1; setp.lt.u32 %p1, %r5, 3; selp.b32 %r6, %r2, %r3, %p1; "
     "st.global.u32 [%rd1], %r6;",
     "EXIT IADD3 ISETP MOV×4 S2R×2 STG"),
    ("with a register",
     "add.s32 %r5, %r1, -1; setp.lt.u32 %p1, %r2, %r5; selp.b32 %r6, %r2, %r3, %p1; "
     "st.global.u32 [%rd1], %r6;",
     "EXIT ISETP MOV×3 S2R×2 STG"),
    ("what nothing reads",
     "add.s32 %r5, %r2, %r3; st.global.u32 [%rd1], %r4;",
     "EXIT MOV×3 S2R STG"),
    ("four words side by side", f"{ROW} {loads(12, 0, 8, 4)} {TO_GLOBAL}", "LDS"),
    ("where the row is a multiple of 8",
     f"{ROW} {loads(12, 0, 8, 4)} {TO_GLOBAL}".replace("%r2, 6", "%r2, 3"), "LDS×2"),
    ("of 4", f"{ROW} {loads(12, 0, 8, 4)} {TO_GLOBAL}".replace("%r2, 6", "%r2, 2"), "LDS×4"),
    ("a pair and a word", f"{ROW} {loads(0, 4, 12, 16)} {TO_GLOBAL}", "LDS×2"),
    ("words of two pairs", f"{ROW} {loads(4, 8, 16, 28)} {TO_GLOBAL}", "LDS×4"),
    ("a store between",
     f"{ROW} {loads(0, 4)} st.shared.u32 [%r3], %r2; ld.shared.f32 %f3, [%r6+8]; "
     f"ld.shared.f32 %f4, [%r6+12]; {TO_GLOBAL}",
     "LDS×2"),
)


def text_of(body: str) -> str:
    return f"{HEAD}{body}\nret;\n}}\n"


def counted(body: MachineBody) -> Counter[str]:
    return Counter(n for i in body.instructions() if not (n := work(i)).startswith("U"))


def real_work(text: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for word in text.split():
        name, _, n = word.partition("×")
        found[name] = int(n or 1)
    return found


def agrees(found: Counter[str], real: str) -> bool:
    """Whether it is all of the real work, or of the one kind that is told."""
    wanted = real_work(real)
    return found == wanted or (len(wanted) == 1 and found.items() >= wanted.items())


@pytest.mark.parametrize(("body", "real"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_the_prediction_does_the_work_of_the_real_code(body: str, real: str) -> None:
    f = nvir.read_ptx(text_of(body))["k"]
    f.analyze_cfg()
    assert agrees(counted(predicted_body(f, profile("sm_80"))), real)


@pytest.mark.oracle
@pytest.mark.parametrize(("body", "real"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_the_real_work_is_as_it_says(body: str, real: str, tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(text_of(body))
    made = ptxas(path, "sm_80")
    assert made.cubin is not None, made.error
    assert agrees(counted(bodies(made.cubin, "sm_80")["k"]), real)
