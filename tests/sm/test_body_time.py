"""Cycles of machine code: stall counts, scoreboards, ways, loops and how often they run."""

from __future__ import annotations

import pytest

from nvir import read_ptx, sm
from nvir.sm.body import (
    BodyBlock,
    BodyInstruction,
    ControlBits,
    MachineBody,
    Span,
    body_path,
)
from nvir.sm.simulate import simulate
from nvir.sm.simulate.body import OPERANDS_READ, body_stream

SM_80 = sm.profile("sm_80")
L2 = SM_80.latency("LDG.E", level="l2")


def real(
    opcode: str, stall: int = 1, *, write: int | None = None, read: int | None = None,
    mask: int = 0, line: int = 0, text: str = "",
) -> BodyInstruction:
    control = ControlBits(stall, False, write, read, mask, 0)
    return BodyInstruction(opcode, control=control, line=line, text=text)


def body(blocks: list[list[BodyInstruction]], succs: list[list[int]]) -> MachineBody:
    made = []
    for n, (code, after) in enumerate(zip(blocks, succs, strict=True)):
        block = BodyBlock(n)
        block.instructions, block.succs = list(code), list(after)
        made.append(block)
    return MachineBody("k", "sm_80", made, source="ptxas")


def loop_of(code: list[BodyInstruction]) -> MachineBody:
    return body([[real("MOV")], code, [real("EXIT", 5)]], [[1], [1, 2], []])


def one_warp(b: MachineBody, **options: object) -> float:
    stream = body_stream(b, SM_80, b.loops[0])
    return simulate(stream, iterations=16, **options).cycles_per_iteration  # type: ignore[arg-type]


def test_a_loop_of_fixed_latencies_takes_the_sum_of_its_stall_counts():
    code = [real("IADD3", 4), real("FFMA", 2), real("IMAD", 9), real("BRA", 5)]
    assert one_warp(loop_of(code)) == 20


@pytest.mark.parametrize(("memory", "level"), [("l1", "l1"), ("l2", "l2"), ("dram", "dram")])
def test_a_reader_waits_for_the_scoreboard_that_a_load_sets(memory: str, level: str):
    code = [real("LDG.E", 2, write=0), real("FADD", 4, mask=1), real("BRA", 5)]
    assert one_warp(loop_of(code), memory=memory) == SM_80.latency("LDG.E", level=level) + 4 + 5


def test_what_waits_for_another_scoreboard_does_not_wait():
    code = [real("LDG.E", 2, write=0), real("FADD", 4, mask=2), real("BRA", 5)]
    assert one_warp(loop_of(code), memory="l2") == 11


def test_a_load_of_the_iteration_before_is_waited_for():
    code = [real("FADD", 4, mask=1), real("LDG.E", 2, write=0), real("BRA", 5)]
    assert one_warp(loop_of(code), memory="l2") == L2 + 4


def test_a_read_barrier_lasts_until_the_operands_are_read():
    code = [real("STG.E", 1, read=3), real("IADD3", 4, mask=8), real("BRA", 5)]
    assert one_warp(loop_of(code), memory="l2") == OPERANDS_READ + 4 + 5


def test_depbar_leaves_as_many_accesses_under_way_as_it_says():
    code = [
        real("LDG.E", 50, write=0), real("LDG.E", 1, write=0),
        real("DEPBAR.LE", 4, text="DEPBAR.LE SB0, 0x1"), real("BRA", 5),
    ]
    assert one_warp(loop_of(code), memory="l2") == L2 + 4 + 5
    code[2].text = "DEPBAR.LE SB0, 0x0"
    assert one_warp(loop_of(code), memory="l2") == 50 + L2 + 4 + 5


def test_readers_of_a_prediction_wait_for_latencies():
    a = Span("R", 4, 1)
    code = [BodyInstruction("FADD", (a,), (a,)), BodyInstruction("FADD", (a,), (a,))]
    b = loop_of([*code, BodyInstruction("BRA")])
    assert one_warp(b) == SM_80.latency("FADD", "FADD") + 1 + 5  # the branch is five


def test_many_warps_hide_latencies_down_to_issue_slots():
    code = [real("LDG.E", 2, write=0), real("FADD", 4, mask=1), *[real("IADD3", 2)] * 16,
            real("BRA", 5)]
    b = loop_of(code)
    alone = sm.body_time(b, SM_80, warps=1)
    full = sm.body_time(b, SM_80, warps=16)
    assert alone.one_warp == alone.full == full.one_warp
    assert full.loops[1].one_warp == L2 + 4 + 32 + 5
    assert 2 * 16 <= full.loops[1].full < 40  # an IADD3 keeps the ALU busy for two cycles


def test_the_longest_way_is_taken_and_calls_of_slow_paths_are_not():
    big, small = [real("FADD")] * 9, [real("FADD")] * 3
    b = body(
        [[real("BRA")], big, small, [real("CALL.REL.NOINC")], [real("EXIT")], [real("RET")]],
        [[1, 2, 3], [4], [4], [4], [], []],
    )
    assert body_path(b, None) == [0, 1, 4]
    b.blocks[1].callee = 5
    assert body_path(b, None) == [0, 2, 4]


def test_a_loop_inside_counts_by_itself():
    inner, outer = [real("FADD", 7), real("BRA", 5)], [real("FADD", 4), real("BRA", 5)]
    b = body([[real("MOV")], [real("IADD3")], inner, outer, [real("EXIT", 5)]],
             [[1], [2], [2, 3], [1, 4], []])
    found = sm.body_time(b, SM_80, warps=1)
    assert {h: x.one_warp for h, x in found.loops.items()} == {1: 10, 2: 12}
    assert {h: x.runs for h, x in found.loops.items()} == {1: 16, 2: 256}
    assert found.one_warp == 6 + 16 * 10 + 256 * 12


def test_an_unrolled_loop_runs_a_quarter_of_the_times_of_its_lines_and_its_rest_once():
    main = [real("FADD", 4, line=7)] * 4 + [real("BRA", 5, line=9)]
    rest = [real("FADD", 4, line=7), real("BRA", 5, line=9)]
    b = body([[real("MOV")], main, rest, [real("EXIT", 5)]], [[1], [1, 2], [2, 3], []])
    found = sm.body_time(b, SM_80, warps=1, frequencies={7: 100.0})
    assert [found.loops[n].runs for n in (1, 2)] == [25, 1.5]


def test_lines_run_as_often_as_their_loops_do():
    ptx = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
.reg .pred %p<3>; .reg .b32 %r<5>;
mov.u32 %r1, 0;
OUT:
mov.u32 %r2, 0;
IN:
add.s32 %r2, %r2, 1;
setp.lt.s32 %p1, %r2, 10;
@%p1 bra IN;
add.s32 %r1, %r1, 1;
setp.lt.s32 %p2, %r1, 3;
@%p2 bra OUT;
ret;
}
"""
    found = sm.line_frequencies(read_ptx(ptx).functions[0])
    assert (found[7], found[9], found[11], found[14], found[17]) == (1, 3, 30, 3, 1)


@pytest.mark.oracle
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_real_loops_of_arithmetic_take_the_sum_of_their_stall_counts(arch: str):
    from benchmarks.simulate import compare

    rows = compare(20, 3, arch)
    assert len(rows) == 20
    assert all(real == stalls for _, stalls, real, *_ in rows)
    assert sum(model == stalls for _, stalls, _, model, _ in rows) >= 17
