"""Reading machine code: recorded listings, and what nvdisasm prints of a real cubin."""

from __future__ import annotations

import pytest
from corpus import examples

from nvir import toolchain
from nvir.sm.body import ControlBits as Control
from nvir.toolchain import ToolError, code_sections, control_words, read_sass
from nvir.toolchain.sass import control, split_operands

# Recorded from nvdisasm 13.5: -c -hex -plr -lrm count, and -g; shortened.
LIVE = """\
	.section	.text.k,"ax",@progbits
	.align	128
                                                                 // +-------+--------+--------+
                                                                 // | GPR   | PRED   | UGPR   |
                                                                 // |   #   |   #    |    #   |
        .global         k                                        // |       |        |        |
.text.k:                                                         // |       |        |        |
        /*0000*/                   ULDC.64 UR36, c[0x0][0x118] ;  /* 0x0000460000247ab9 */  \
// |       |        |        |
                                                                  /* 0x000fc60000000a00 */  \
// |   3   |        |    2   |
.L_x_1:                                                          // |  10   |        |   3    |
        /*0010*/              @!P0 BRA `(.L_x_1) ;                /* 0x000006b000008947 */  \
// |       |        |        |
                                                                  /* 0x000fea0003800000 */  \
// |  16   |   1    |        |
        /*0020*/                   CALL.REL.NOINC R6 `(k) ;       /* 0xfffffd4006007344 */  \
// |       |        |        |
                                                                  /* 0x020fea0003c3ffff */  \
// |  17   |   3    |   34   |
                                                                 // Legend:
                                                                 //     ^       : assignment
	.section	.nv.constant0.k,"a",@progbits
        /*0000*/ 	.byte	0x04, 0x2f ;
"""
LINES = """\
.text.f:
	//## File "a.cu", line 24
        /*0000*/                   MOV R1, c[0x0][0x28] ;
	//## File "cuda/x.hpp", line 449 inlined at "a.cu", line 12
	//## File "a.cu", line 12 inlined at "a.cu", line 31
        /*0010*/                   SHFL.DOWN PT, R3, R6, 0x10, 0x1f ;
        /*0020*/                   RET.REL.NODEC R20 `(f);
"""


def test_instructions_with_live_counts_encodings_and_targets():
    uldc, bra, call = read_sass(LIVE)["k"]
    assert (uldc.opcode, uldc.name, uldc.operands) == (
        "ULDC.64",
        "ULDC",
        ("UR36", "c[0x0][0x118]"),
    )
    assert uldc.encoding == 0x000FC60000000A00_0000460000247AB9
    assert uldc.live == {"GPR": 3, "UGPR": 2}
    assert (bra.guard, bra.target, bra.live) == ("@!P0", 0x10, {"GPR": 16, "PRED": 1})
    assert call.target is None  # relative to a register: its label is no target
    assert str(bra) == "0010 @!P0 BRA `(.L_x_1)"


def test_a_line_of_inlined_code_is_its_innermost():
    mov, shfl, ret = read_sass(LINES)["f"]
    assert mov.line == ("a.cu", 24)
    assert shfl.line == ("cuda/x.hpp", 449)
    assert ret.line == ("cuda/x.hpp", 449)
    assert ret.target is None
    assert mov.encoding is None
    assert mov.control is None


def test_dual_issue_braces_of_old_listings_are_passed_over():
    text = ".text.f:\n        /*0008*/         {         MOV R1, R2;\n        /*0010*/   IADD R1, R1, R2;        }\n"  # noqa: E501
    assert [i.opcode for i in read_sass(text)["f"]] == ["MOV", "IADD"]


def test_other_text_gives_nothing():
    assert read_sass("") == {}
    assert read_sass("hello\n /*0000*/ MOV R1, R2 ;\n") == {}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("R1", ["R1"]),
        ("R2, c[0x0][0x28], [R2.64+0x10]", ["R2", "c[0x0][0x28]", "[R2.64+0x10]"]),
        ("{R1, R2}, desc[UR4][R2.64], `(.L_x,y)", ["{R1, R2}", "desc[UR4][R2.64]", "`(.L_x,y)"]),
    ],
)
def test_operands_part_at_outer_commas(text, parts):
    assert split_operands(text) == parts


def test_control_bits():
    """ISETP before its branch: 13 cycles, no scoreboard; a load sets one for its result
    and one for its operands."""
    isetp = control(0x000FDA0003F06270 << 64)
    assert isetp == Control(13, True, None, None, 0, 0)
    ldg = control(0x000162000C1E9900 << 64)
    assert (ldg.stall, ldg.write_barrier, ldg.read_barrier) == (1, 5, 0)
    waits = control(0x001FCA00078E0203 << 64)
    assert (waits.stall, waits.wait_mask) == (5, 1)
    assert control(0x100FE20000011402 << 64).reuse == 4


@pytest.mark.parametrize(
    "data", [b"", b"junk", b"\x7fELF\x02\x01", b"\x7fELF\x02\x01" + b"\xff" * 90]
)
def test_damaged_cubins_raise_tool_error(data):
    with pytest.raises(ToolError):
        code_sections(data)


@pytest.fixture(scope="module")
def sgemm() -> bytes:
    (path,) = examples("sgemm.sm_80.ptx")
    cubin = toolchain.ptxas(path, "sm_80", options=["-lineinfo"]).cubin
    assert cubin
    return cubin


@pytest.mark.oracle
def test_a_real_cubin_is_read_whole(sgemm):
    """The listing has every instruction of the section, with the cubin's own encodings."""
    (listing,) = toolchain.disassemble(sgemm, live=False).values()
    assert [i.address for i in listing] == list(range(0, 16 * len(listing), 16))
    assert [i.control for i in listing] == control_words(sgemm)["sgemm"]
    assert toolchain.stall_counts(sgemm)["sgemm"] == [i.control.stall for i in listing]
    names = [i.name for i in listing]
    assert names.count("FFMA") >= 16
    assert names.count("BAR") == 2
    branches = [i for i in listing if i.name == "BRA"]
    assert branches
    assert all(i.target is not None for i in branches)


@pytest.mark.oracle
def test_live_registers_agree_with_the_allocation(sgemm):
    """MaxLive of the listing is at most what ptxas allocated, and within a few of it."""
    (path,) = examples("sgemm.sm_80.ptx")
    used = toolchain.ptxas(path, "sm_80").kernels["sgemm"].registers
    peak = max(i.live.get("GPR", 0) for i in toolchain.disassemble(sgemm)["sgemm"])
    assert used - 4 <= peak <= used


@pytest.mark.oracle
def test_the_wide_form_of_live_ranges_gives_the_same_counts(sgemm):
    wide = toolchain.read_sass(toolchain.nvdisasm(sgemm, ("-c", "-plr")))["sgemm"]
    counted = toolchain.disassemble(sgemm)["sgemm"]
    assert [i.live for i in wide] == [i.live for i in counted]
    assert max(i.live["GPR"] for i in wide) > 16


@pytest.mark.oracle
def test_lines_of_source_and_of_ptx(sgemm):
    (path,) = examples("sgemm.sm_80.ptx")
    source = {i.line for i in toolchain.disassemble(sgemm, live=False, lines="source")["sgemm"]}
    assert all(file.endswith("sgemm.cu") for file, _ in filter(None, source))
    text = path.read_text().splitlines()
    both = toolchain.disassemble(sgemm, live=True, lines="ptx")["sgemm"]
    barriers = [i for i in both if i.name == "BAR"]
    assert ["bar.sync" in text[i.line[1] - 1] for i in barriers] == [True, True]
    assert all(i.live for i in both if i.name == "FFMA")


@pytest.mark.oracle
def test_nvdisasm_refuses_junk_with_its_own_words():
    with pytest.raises(ToolError, match="nvdisasm"):
        toolchain.nvdisasm(b"not a cubin")
