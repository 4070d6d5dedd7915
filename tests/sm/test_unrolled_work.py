"""What four copies of a loop's body share and what each does anew, with the real loop's work.

The third column is what ptxas 13.0.88 makes of the loop at sm_80, which it unrolls by 4.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import nvir
from nvir.assembler.body import predicted_body
from nvir.ir.function import Function
from nvir.report.bodies import work
from nvir.sm import profile
from nvir.sm.body import MachineBody
from nvir.toolchain import bodies, ptxas

SM_80 = profile("sm_80")
WIDENED = "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; ld.global.f32 %f2, [%rd3]; "
STEP = "add.s32 %r1, %r1, 1; "
CASES = (
    ("a word that is widened may wrap: its sum and its address are made in each copy",
     "ld.param.u32 %r1, [start];", WIDENED + STEP, "FADD×4 IADD3×4 IMAD.WIDE×4 LDG×4"),
    ("of 64 bits accesses reach the address of the first",
     "ld.param.u32 %r1, [start]; mov.u64 %rd3, %rd1;",
     "ld.global.f32 %f2, [%rd3]; add.s64 %rd3, %rd3, 4; " + STEP,
     "FADD×4 IADD3×2 IADD3.X LDG×4"),
    ("read by something else than an access it is made in each copy",
     "ld.param.u32 %r1, [start];", "cvt.rn.f32.s32 %f2, %r1; " + STEP, "FADD×4 I2F×4 IADD3×4"),
)


def text_of(before: str, body: str, end: str = "%r2") -> str:
    return f""".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n, .param .u32 start)
{{
.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .pred %p<3>;
ld.param.u64 %rd1, [a]; ld.param.u32 %r2, [n]; {before}
mov.f32 %f1, 0f00000000;
L: {body} add.f32 %f1, %f1, %f2;
setp.lt.s32 %p1, %r1, {end}; @%p1 bra L;
st.global.f32 [%rd1], %f1;
ret;
}}
"""


def kernel(text: str) -> Function:
    f = nvir.read_ptx(text)["k"]
    f.analyze_cfg()
    return f


def in_loop(body: MachineBody) -> Counter[str]:
    """The work of the largest loop but for its test, moves and branch."""
    found: Counter[str] = Counter()
    loop = max(body.loops, key=lambda m: sum(len(body.blocks[b].instructions) for b in m.blocks))
    for b in loop.blocks:
        found.update(work(i) for i in body.blocks[b].instructions)
    return Counter({k: n for k, n in found.items() if k not in ("MOV", "BRA", "ISETP", "PLOP3")
                    and not k.startswith("U")})


def real_work(text: str) -> Counter[str]:
    return Counter({n.partition("×")[0]: int(n.partition("×")[2] or 1) for n in text.split()})


@pytest.mark.parametrize(("before", "body", "real"), [c[1:] for c in CASES],
                         ids=[c[0] for c in CASES])
def test_copies_share_what_the_real_ones_do(before: str, body: str, real: str) -> None:
    f = kernel(text_of(before, body))
    assert in_loop(predicted_body(f, SM_80, {"L": 4})) == real_work(real)


@pytest.mark.oracle
@pytest.mark.parametrize(("before", "body", "real"), [c[1:] for c in CASES],
                         ids=[c[0] for c in CASES])
def test_the_real_copies_share_so_much(before: str, body: str, real: str, tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(text_of(before, body))
    made = ptxas(path, "sm_80")
    assert made.cubin is not None, made.error
    assert in_loop(bodies(made.cubin, "sm_80")["k"]) == real_work(real)


def test_a_widened_word_between_literals_cannot_wrap() -> None:
    """ptxas then knows all its values: 64 copies read the addresses of the first and an offset."""
    f = kernel(text_of("mov.u32 %r1, 0;", WIDENED + STEP, "64"))
    found = Counter(work(i) for b in predicted_body(f, SM_80, {"L": 64}).blocks
                    for i in b.instructions)
    assert found["LDG"] == 64
    assert found["IMAD.WIDE"] <= 1
