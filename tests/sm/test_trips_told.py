"""Trip counts as they are told, and what ptxas keeps by the form of its test."""

from __future__ import annotations

import pytest

import nvir
from nvir.analysis.induction import body_runs
from nvir.ir.loops import natural_loops
from nvir.report.facts import unrolling

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
.reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
ld.param.u64 %rd1, [p]; mov.f32 %f1, 0f00000000; mov.u32 %r2, START;
"""
BODY = "ld.global.f32 %f2, [%rd1]; fma.rn.f32 %f1, %f1, %f2, %f2; st.global.f32 [%rd1+8], %f1;\n"
TAIL = "\nst.global.f32 [%rd1+4], %f1; ret;\n}\n"


def decided(start: int, body: str) -> tuple[int | None, str]:
    module = nvir.read_ptx(HEAD.replace("START", str(start)) + body + TAIL)
    (f,) = module.functions
    made = unrolling(f, module, "sm_80", "observed")
    (loop,) = natural_loops(f)
    trip = body_runs(loop)
    return trip.count if trip is not None else None, made[loop.header.name].action


@pytest.mark.parametrize(
    ("body", "trips"),
    [
        (f"L:\n{BODY}add.s32 %r2, %r2, 1; setp.eq.s32 %p1, %r2, 6; @%p1 bra X; bra.uni L;\nX:", 6),
        (f"L:\n{BODY}add.s32 %r2, %r2, 1; setp.ne.s32 %p1, %r2, 6; @%p1 bra L;\nX:", 6),
        (f"L:\nsetp.ge.s32 %p1, %r2, 6; @%p1 bra X;\n{BODY}add.s32 %r2, %r2, 1; bra.uni L;\nX:", 6),
    ],
)
def test_the_count_is_that_of_the_body(body: str, trips: int):
    assert decided(0, body)[0] == trips


@pytest.mark.parametrize(
    ("test", "action"),
    [("gt.u32 %p1, %r3, 2", "none"), ("gt.s32 %p1, %r3, 2", "full"),
     ("gt.u32 %p1, %r2, 2", "full"), ("ne.u32 %p1, %r3, 2", "none")],
)
def test_an_unsigned_test_of_the_old_value_on_the_way_down_is_kept(test: str, action: str):
    body = f"L:\n{BODY}mov.u32 %r3, %r2; add.s32 %r2, %r2, -2; setp.{test}; @%p1 bra L;\nX:"
    assert decided(12, body)[1] == action
