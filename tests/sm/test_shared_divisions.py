"""What 32-bit divisions share where one dominates the other, and crossed products in sums.

The last column is what ptxas 13.0.88 makes of the kernel at sm_80.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import nvir
from nvir.assembler.body import predicted_body
from nvir.assembler.regalloc import predict
from nvir.report.bodies import work
from nvir.sm import profile
from nvir.sm.body import MachineBody
from nvir.toolchain import bodies, ptxas

SM_80 = profile("sm_80")
STEPS = ("I2F", "F2I", "MUFU", "IABS", "IMAD", "IMAD.HI", "LOP3", "SEL")
GUARDED = "setp.lt.u32 %p1, %r4, 9; mov.u32 %r5, 0; @%p1 bra L; {} L:"
DIVISIONS = (
    ("unsigned, by one divisor", "div.u32 %r4, %r1, %r3; div.u32 %r5, %r2, %r3;",
     "I2F F2I MUFU IMAD×3 IMAD.HI×3 LOP3 SEL×2"),
    ("by two divisors nothing", "div.u32 %r4, %r1, %r3; div.u32 %r5, %r1, %r2;",
     "I2F×2 F2I×2 MUFU×2 IMAD×4 IMAD.HI×4 LOP3×2"),
    ("quotient and rest", "div.u32 %r4, %r1, %r3; rem.u32 %r5, %r1, %r3;",
     "I2F F2I MUFU IMAD×2 IMAD.HI×2 LOP3 SEL×2"),
    ("signed, by one divisor", "div.s32 %r4, %r1, %r3; div.s32 %r5, %r2, %r3;",
     "I2F F2I MUFU IABS×3 IMAD×3 IMAD.HI×3 LOP3×3 SEL×2"),
    ("signed, rests", "rem.s32 %r4, %r1, %r3; rem.s32 %r5, %r2, %r3;",
     "I2F F2I MUFU IABS×3 IMAD×3 IMAD.HI×3 LOP3 SEL×2"),
    ("behind a branch", "div.u32 %r4, %r1, %r3;" + GUARDED.format("rem.u32 %r5, %r2, %r3;"),
     "I2F F2I MUFU IMAD×3 IMAD.HI×3 LOP3 SEL×2"),
)
# 64-bit words of an address in a loop: the low product starts at the row, the rest is added above.
PRODUCT = "mul.lo.s64 %rd5, %rd3, %rd4; mul.lo.s64 %rd12, %rd6, %rd4; add.s64 %rd5, %rd12, %rd5;"
PLAIN = "add.s64 %rd5, %rd6, %rd3;"
ROW = """mov.u64 %rd8, 0;
M: mul.lo.s64 %rd9, %rd8, %rd4; add.s64 %rd10, %rd9, %rd5; add.s64 %rd11, %rd1, %rd10;
ld.global.u32 %r6, [%rd11]; add.u32 %r4, %r4, %r6; add.s64 %rd8, %rd8, %rd3;
setp.lt.s64 %p1, %rd8, %rd7; @%p1 bra M;"""


def text_of(body: str) -> str:
    return f""".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 o, .param .u64 m, .param .u32 n)
{{
.reg .b32 %r<9>; .reg .b64 %rd<13>; .reg .pred %p<3>;
ld.param.u64 %rd1, [o]; ld.param.u64 %rd4, [m]; ld.param.u32 %r3, [n];
mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r4, 0; mov.u32 %r5, 0;
cvt.u64.u32 %rd3, %r1; cvt.u64.u32 %rd6, %r2; cvt.u64.u32 %rd7, %r3;
{body}
st.global.u32 [%rd1], %r4; st.global.u32 [%rd1+4], %r5;
ret;
}}
"""


def predicted(body: str) -> MachineBody:
    f = nvir.read_ptx(text_of(body))["k"]
    f.analyze_cfg()
    return predicted_body(f, SM_80, {})


def real(body: str, folder: Path) -> MachineBody:
    path = folder / "k.ptx"
    path.write_text(text_of(body))
    made = ptxas(path, "sm_80")
    assert made.cubin is not None, made.error
    return bodies(made.cubin, "sm_80")["k"]


def counted(body: MachineBody) -> Counter[str]:
    found = Counter(work(i) for b in body.blocks for i in b.instructions)
    return Counter({k: n for k, n in found.items() if k in STEPS})


def told(text: str) -> Counter[str]:
    return Counter({n.partition("×")[0]: int(n.partition("×")[2] or 1) for n in text.split()})


def in_loop(body: MachineBody) -> Counter[str]:
    (loop,) = body.loops
    return Counter(work(i) for b in loop.blocks for i in body.blocks[b].instructions)


@pytest.mark.parametrize(("body", "steps"), [x[1:] for x in DIVISIONS],
                         ids=[x[0] for x in DIVISIONS])
def test_divisions_have_the_steps_of_the_real_ones(body: str, steps: str) -> None:
    found = counted(predicted(body))
    if "IABS" in steps:  # the negation of the divisor is one more, or is not
        found["IABS"] = told(steps)["IABS"]
    assert found == told(steps)


@pytest.mark.oracle
@pytest.mark.parametrize(("body", "steps"), [x[1:] for x in DIVISIONS],
                         ids=[x[0] for x in DIVISIONS])
def test_the_real_divisions_have_them(body: str, steps: str, tmp_path: Path) -> None:
    assert counted(real(body, tmp_path)) == told(steps)



@pytest.mark.parametrize(("row", "moves"), [(PRODUCT, 1), (PLAIN, 0)])
def test_the_sum_behind_a_product_adds_what_is_crossed(row: str, moves: int) -> None:
    """Words of a row that is a product itself become a pair in each iteration, by a move."""
    found = in_loop(predicted(row + ROW))
    assert (found["IMAD.WIDE"], found["IMAD"], found["MOV"]) == (1, 2, moves)
    assert found["IADD3.X"] == 2  # of the address and of the index
    assert found["IADD3"] == 3  # these, and the word that is added up


@pytest.mark.oracle
@pytest.mark.parametrize(("row", "moves"), [(PRODUCT, True), (PLAIN, False)])
def test_the_real_sum_does(row: str, moves: bool, tmp_path: Path) -> None:
    found = in_loop(real(row + ROW, tmp_path))
    assert (found["IMAD.WIDE"], found["IMAD"], found["MOV"] > 0) == (1, 2, moves)
    assert (found["IADD3.X"], found["IADD3"]) == (2, 3)


def three_products(loop: str) -> str:
    """Three products that a loop (or what follows) multiplies on from."""
    rows = "".join(
        f"mul.lo.s64 %rd1{k}, %rd3, %rd2{k}; mul.lo.s64 %rd3{k}, %rd4, %rd2{k}; "
        f"add.s64 %rd1{k}, %rd3{k}, %rd1{k};" for k in range(3))
    body = "".join(
        f"mul.lo.s64 %rd4{k}, %rd8, %rd2{k}; add.s64 %rd4{k}, %rd4{k}, %rd1{k}; "
        f"add.s64 %rd4{k}, %rd5{k}, %rd4{k}; ld.global.u32 %r{k}, [%rd4{k}]; "
        f"add.u32 %r9, %r9, %r{k};" for k in range(3))
    params = "".join(f", .param .u64 s{k}, .param .u64 p{k}" for k in range(3))
    loads = "".join(f"ld.param.u64 %rd2{k}, [s{k}]; ld.param.u64 %rd5{k}, [p{k}];"
                    for k in range(3))
    head = 'M: .pragma "nounroll";' if loop else ""
    return f""".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 o, .param .u64 n{params}) {{
.reg .pred %p1; .reg .b32 %r<19>; .reg .b64 %rd<99>;
ld.param.u64 %rd1, [o]; ld.param.u64 %rd7, [n]; {loads}
mov.u32 %r10, %tid.x; mov.u32 %r11, %ctaid.x; mov.u32 %r9, 0;
cvt.u64.u32 %rd3, %r10; cvt.u64.u32 %rd4, %r11;
{rows} mov.u64 %rd8, 0;
{head} {body}
add.s64 %rd8, %rd8, %rd3; setp.lt.s64 %p1, %rd8, %rd7; {loop}
st.global.u32 [%rd1], %r9; ret; }}
"""


def test_each_word_of_a_product_that_is_made_a_pair_again_has_a_pair() -> None:
    """Not where the block that makes the product reads it."""
    for loop, products in (("@%p1 bra M;", 3), ("", 0)):
        f = nvir.read_ptx(three_products(loop))["k"]
        f.analyze_cfg()
        found = predict(f, SM_80)
        assert len(found.lowering.code.padded) == products
        assert found.registers == (28 if products else 12)


@pytest.mark.oracle
def test_the_real_words_have(tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    for loop, registers in (("@%p1 bra M;", 28), ("", 14)):
        path.write_text(three_products(loop))
        assert ptxas(path, "sm_80").kernels["k"].registers == registers
