"""Machine code as a body: operands, blocks, loops, live registers; against nvdisasm's counts."""

from __future__ import annotations

import pytest
from corpus import examples

from nvir import toolchain
from nvir.sm.body import Span
from nvir.toolchain import body_of, read_sass
from nvir.toolchain.sass_operands import operands_of

LOOP = """\
.text.k:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0010*/                   IMAD.WIDE R2, R0, R7, c[0x0][0x160] ;
.L_x_1:
        /*0020*/                   LDG.E.128 R8, [R2.64+0x10] ;
        /*0030*/                   IADD3 R4, P0, R8, R11, RZ ;
        /*0040*/               @P0 CALL.REL.NOINC `($slow) ;
        /*0050*/              @!P0 BRA `(.L_x_1) ;
        /*0060*/                   EXIT ;
$slow:
        /*0070*/                   FADD R8, R8, R9 ;
        /*0080*/                   RET.REL.NODEC R2 `(k) ;
.L_x_9:
        /*0090*/                   BRA `(.L_x_9);
"""


def spans(text: str) -> tuple[list[str], list[str]]:
    """(written, read) of one instruction's text."""
    guard = ""
    if text.startswith("@"):
        guard, text = text.split(maxsplit=1)
    opcode, _, rest = text.partition(" ")
    written, read, _ = operands_of(opcode, toolchain.sass.split_operands(rest), guard)
    return [str(s) for s in written], [str(s) for s in read]


@pytest.mark.parametrize(
    ("text", "written", "read"),
    [
        ("IADD3 R4, P0, R2, c[0x0][0x160], RZ", "R4 P0", "R2"),
        ("IADD3.X R5, R3, c[0x0][0x164], RZ, P0, !PT", "R5", "R3 P0"),
        ("IMAD.WIDE R2, R0, R7, R4", "R2..3", "R0 R7 R4..5"),
        ("IMAD.HI.U32 R3, R0, R7, R4", "R3", "R0 R7 R4..5"),
        ("ISETP.GE.AND P0, PT, R2, UR4, !P1", "P0", "R2 UR4 P1"),
        ("PLOP3.LUT P0, PT, P1, P2, PT, 0x80, 0x0", "P0", "P1 P2"),
        ("LOP3.LUT P0, RZ, R1, 0x3, RZ, 0xc0, !PT", "P0", "R1"),
        ("SHFL.BFLY PT, R5, R4, 0x10, 0x1f", "R5", "R4"),
        ("LDG.E.64 R4, desc[UR6][R2.64+0x8]", "R4..5", "UR6..7 R2..3"),
        ("LDG.E.SYS R4, [R2+0x8]", "R4", "R2..3"),  # sm_75 writes no ".64"
        ("STS.128 [R4+UR5], R8", "", "R4 UR5 R8..11"),
        ("ATOMG.E.CAS.64.STRONG.GPU PT, R4, [R12.64], R8, R10", "R4..5", "R12..13 R8..9 R10..11"),
        ("DSETP.GEU.AND P0, PT, |R4|, R6, PT", "P0", "R4..5 R6..7"),
        ("F2F.F64.F32 R4, R6", "R4..5", "R6"),
        ("F2F.F32.F64 R4, R6", "R4", "R6..7"),
        ("I2F.F64.S64 R4, R6", "R4..5", "R6..7"),
        ("F2I.F64.TRUNC R4, R6", "R4", "R6..7"),
        ("HMMA.16816.F32 R8, R4, R16, R8", "R8..11", "R4..7 R16..17 R8..11"),
        ("HMMA.16816.F16 R8, R4, R16, R8", "R8..9", "R4..7 R16..17 R8..9"),
        ("LDSM.16.M88.4 R8, [R4]", "R8..11", "R4"),
        ("R2P PR, R10, 0x5", "P0 P2", "R10"),
        ("@!P3 MOV R2, R3", "R2", "R3 P3"),
        ("FCHK P0, R5, R6", "P0", "R5 R6"),
        ("RET.REL.NODEC R8 `(f.R12)", "", "R8..9"),
        ("CS2R R4, SRZ", "R4..5", ""),
        ("BRA.DIV UR4, `(.L_x_10)", "", "UR4"),
    ],
)
def test_an_instruction_reads_and_writes_these_registers(text: str, written: str, read: str):
    assert spans(text) == (written.split(), read.split())


def test_an_unknown_family_follows_the_general_rule():
    assert spans("NEWOP.FAST R4, R2, UR3") == (["R4"], ["R2", "UR3"])


def test_blocks_end_at_branches_and_calls_and_loops_are_found_by_back_edges():
    body = body_of("k", read_sass(LOOP)["k"], "sm_80")
    assert [len(b.instructions) for b in body.blocks] == [2, 3, 1, 1, 2]
    assert [b.succs for b in body.blocks] == [[1], [2], [1, 3], [], []]
    assert body.blocks[1].callee == 4
    (loop,) = body.loops
    assert (loop.header, sorted(loop.blocks), loop.depth) == (1, [1, 2], 1)
    assert body.blocks[3].loop is None


def test_a_call_of_what_never_returns_is_a_jump():
    """So ptxas leaves loops that lanes leave apart; without it the loop around has no way back."""
    code = read_sass("""
\t.section .text.k,"ax",@progbits
.L_top:
        /*0000*/               IADD3 R0, R0, 0x1, RZ ;
        /*0010*/               @!P3 CALL.REL.NOINC `(.L_out) ;
        /*0020*/               BRA `(.L_top) ;
.L_out:
        /*0030*/               EXIT ;
""")["k"]
    body = body_of("k", code, "sm_80")
    assert [b.succs for b in body.blocks] == [[2, 1], [0], []]
    assert [b.callee for b in body.blocks] == [-1, -1, -1]
    assert [sorted(x.blocks) for x in body.loops] == [[0, 1]]


def test_what_a_called_routine_overwrites_is_not_live_before_the_call():
    body = body_of("k", read_sass(LOOP)["k"], "sm_80")
    counts = body.live_counts().blocks
    assert counts[1][0][0] == 7  # R1, R2, R3 and the quad
    assert counts[1][2][0] == 5  # R1 to R3, R8 and R9 that the routine reads, not R10 and R11


def test_a_write_under_a_guard_keeps_the_old_value_alive():
    text = LOOP.replace("MOV R1,", "MOV R9,").replace("IADD3 R4", "@P1 IADD3 R4")
    body = body_of("k", read_sass(text)["k"], "sm_80")
    first = body.blocks[1].instructions[1]
    assert first.guard == Span("P", 1, 1)
    assert body.live_counts().blocks[0][0][0] > 3  # R4 is live from the start


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["sgemm", "stencil", "gemm_mma", "mandelbrot"])
def test_live_registers_of_real_code_are_those_that_nvdisasm_counts(name: str):
    (path,) = examples(f"{name}.sm_80.ptx")
    cubin = toolchain.ptxas(path, "sm_80").cubin
    listing = toolchain.disassemble(cubin)
    for kernel, body in toolchain.bodies(cubin, "sm_80").items():
        real = [i.live.get("GPR", 0) for i in listing[kernel]]
        mine = [n[0] for block in body.live_counts().blocks for n in block]
        assert mine == real[: len(mine)]
        assert sum(i.control.stall for i in body.instructions() if i.control) > 0
