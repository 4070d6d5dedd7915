"""Machine words without a tool, and against nvdisasm's listing of the same cubins."""

from __future__ import annotations

import pytest
from corpus import examples

from nvir import toolchain
from nvir.sm.body import MachineBody
from nvir.toolchain import bodies, body_of, ptxas, read_sass
from nvir.toolchain.cubin import Cubin
from nvir.toolchain.sass_operands import operands_of
from nvir.toolchain.sass_words import WordTable, decoded, table

WORDS = [
    ("sm_80", 0x78E02000000580003027625, "IMAD.WIDE R2, R3, R0, c[0x0][0x160]"),
    ("sm_80", 0x78E0000000000FFFF022224, "@P2 IMAD.MOV.U32 R2, RZ, RZ, R0"),
    ("sm_80", 0xF46270000000072000720C, "ISETP.GE.AND P2, PT, R32, R7, P1"),
    ("sm_80", 0xC1E9B000000000402027981, "LDG.E.64.CONSTANT R2, [R2.64]"),
    ("sm_80", 0x1804000000022404723C, "HMMA.16816.F32 R4, R36, R2, R4"),
    ("sm_80", 0x84000000000000600037C20, "FMUL R3, R0, UR6"),
    ("sm_80", 0x8000A0000C0000006087ABB, "ULDC.64 UR8, c[0x3][UR6]"),
    ("sm_80", 0x6FF0000000E07077226, "IDP.4A.S8.S8 R7, R7, R14, RZ"),
    ("sm_80", 0x78E00FF8000000004077824, "IMAD.U32 R7, R4, -0x80000000, RZ"),
    ("sm_80", 0x40C0000000000906097220, "FMUL.RZ R9, R6, R9"),
    ("sm_86", 0x580004047629, "DADD R4, R4, c[0x0][0x160]"),
    ("sm_90", 0xC101B040000000204000986, "@P0 STG.E.64 desc[UR4][R4.64], R2"),
    ("sm_90a", 0xF0C00000E0D0C7389, "SHFL.BFLY P0, R12, R13, R14, R15"),
]


@pytest.mark.parametrize(("arch", "word", "text"), WORDS)
def test_a_word_says_what_its_text_says(arch: str, word: int, text: str) -> None:
    guard, _, rest = text.partition(" ") if text.startswith("@") else ("", "", text)
    opcode, _, operands = rest.partition(" ")
    known = table(arch)
    assert known is not None
    found = decoded(word, known)
    assert found is not None
    made, _ = found
    wanted = operands_of(opcode, toolchain.sass.split_operands(operands), guard)
    assert (made.opcode, (made.writes, made.reads, made.guard)) == (opcode, wanted)


def test_the_count_that_a_barrier_leaves_is_kept() -> None:
    known = table("sm_80")
    assert known is not None
    found = decoded(0x80000000791A | 2 << 38, known)
    assert found is not None
    assert found[0].text == "DEPBAR.LE SB0, 0x2"


def test_what_the_table_does_not_know_is_not_guessed() -> None:
    known = WordTable("uniform 63\n24|:|3=1|:IADD 74:0=,1=X|gP12 wR16 rR24*75:1=2")
    assert decoded(0x24 | 1 << 72 | 1 << 75, known) is not None
    assert decoded(0x24 | 3 << 72 | 1 << 75, known) is None  # a bit that never was one
    assert decoded(0x24 | 1 << 72, known) is None  # no width is known
    assert decoded(0x25 | 1 << 72, known) is None  # no such opcode
    assert table("sm_70") is None


@pytest.mark.parametrize(("opcode", "after"), [("BRA", 0), ("BRA.DIV", 1)])
def test_a_branch_for_divergent_warps_falls_through(opcode: str, after: int) -> None:
    text = f"""\
.text.k:
        /*0000*/                   {opcode} `(.L_x_1) ;
        /*0010*/                   MOV R1, R2 ;
.L_x_1:
        /*0020*/                   EXIT ;
"""
    first, *_ = body_of("k", read_sass(text)["k"], "sm_75").blocks
    assert first.succs == [2, 1][: 1 + after]


def seen(body: MachineBody) -> list[object]:
    """All that is asked of a body."""
    return [
        (b.index, b.succs, b.callee,
         [(i.opcode, i.writes, i.reads, i.guard, i.line, i.control, i.target)
          for i in b.instructions])
        for b in body.blocks
    ]


@pytest.mark.skipif(not toolchain.available("ptxas", "nvdisasm"), reason="no ptxas or nvdisasm")
@pytest.mark.parametrize(
    ("name", "arch"), [("switch_heavy", "sm_80"), ("device_calls", "sm_90")]
)
def test_words_give_the_body_that_the_listing_gives(name: str, arch: str) -> None:
    (path,) = examples(f"{name}.sm_80.ptx")
    cubin = ptxas(path, arch, options=("-lineinfo",)).cubin
    assert cubin is not None
    read = bodies(cubin, arch, lines="ptx")
    listed = bodies(cubin, arch, lines="ptx", words=False)
    assert read.keys() == listed.keys()
    for function, body in read.items():
        assert seen(body) == seen(listed[function])
        assert not any(i.text for i in body.instructions() if i.family != "DEPBAR")


@pytest.mark.skipif(not toolchain.available("ptxas"), reason="no ptxas")
def test_indirect_branches_are_found_in_the_file() -> None:
    (path,) = examples("switch_heavy.sm_80.ptx")
    cubin = ptxas(path).cubin
    assert cubin is not None
    ((branch, targets),) = Cubin(cubin).indirect("switch_heavy").items()
    assert branch % 16 == 0
    assert len(targets) == 3
