"""Real code as the code that the register prediction works on."""

from __future__ import annotations

from benchmarks.register_stages import agreement, by_line, code_of
from nvir.assembler.regalloc.code import pressures
from nvir.assembler.regalloc.colour import colour
from nvir.sm.body import BodyBlock, BodyInstruction, MachineBody, Span


def r(first: int, words: int = 1) -> Span:
    return Span("R", first, words)


def body(blocks: list[list[BodyInstruction]], succs: list[list[int]]) -> MachineBody:
    made = []
    for n, (code, after) in enumerate(zip(blocks, succs, strict=True)):
        block = BodyBlock(n)
        block.instructions, block.succs = list(code), list(after)
        made.append(block)
    return MachineBody("k", "sm_80", made, source="ptxas")


COUNTED = body([
    [BodyInstruction("MOV", (r(0),), line=1), BodyInstruction("MOV", (r(4),), line=2)],
    [BodyInstruction("IADD3", (r(0),), (r(0), r(4)), line=3),
     BodyInstruction("BRA", (), (r(0),), line=4)],
    [BodyInstruction("STG", (), (r(2, 2), r(0)), line=5), BodyInstruction("EXIT", line=6)],
], [[1], [1, 2], []])


def test_a_register_on_both_ways_is_a_phi_and_what_stays_is_none() -> None:
    entry, loop, end = code_of(COUNTED).regions
    assert len(loop.heads) == 1
    assert not end.heads
    assert entry.ops[1].results[0] in loop.live_in  # R4, which the loop reads alone
    assert loop.ops[0].sources == (loop.heads[0], entry.ops[1].results[0])
    assert end.ops[0].sources[-1:] == loop.ops[0].results  # R2 and R3 are never written


def test_halves_are_one_value_where_they_are_always_read_together() -> None:
    apart = [BodyInstruction("FADD", (r(4),), (r(3),), line=3)]
    code = [
        BodyInstruction("IMAD.WIDE", (r(2, 2),), line=1),
        BodyInstruction("LDG", (r(0),), (r(2, 2),), line=2),
    ]
    together = code_of(body([code], [[]]))
    assert [together.widths[v] for v in together.regions[0].ops[0].results] == [2]
    assert together.regions[0].ops[1].tuples == ()
    split = code_of(body([code + apart], [[]]))
    assert [split.widths[v] for v in split.regions[0].ops[0].results] == [1, 1]
    assert split.regions[0].ops[1].tuples == (split.regions[0].ops[0].results,)


def test_uniform_registers_take_none() -> None:
    code = code_of(body([[
        BodyInstruction("ULDC.64", (Span("UR", 4, 2),), line=1),
        BodyInstruction("LDG", (r(0),), (Span("UR", 4, 2),), line=2),
        BodyInstruction("STG", (), (r(0),), line=3),
    ]], [[]]))
    region = code.regions[0]
    assert max(pressures(region, region.ops, code.widths)) == 1
    assert colour(code, [region.ops], 30, 0).top == 1


def test_lines_give_an_order_and_its_agreement_is_counted() -> None:
    code = code_of(body([[
        BodyInstruction("MOV", (r(0),), line=3), BodyInstruction("MOV", (r(2),), line=1),
        BodyInstruction("FADD", (r(3),), (r(0),), line=2),
    ]], [[]]))
    region = code.regions[0]
    order = by_line(region.ops)
    assert [op.parent.line for op in order] == [1, 3, 2]  # the sum waits for what it reads
    assert agreement(region, order) == (3, 2)
