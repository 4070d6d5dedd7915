"""The readers of text and of binaries take anything: a result or a ToolError, nothing else."""

from __future__ import annotations

import pytest
from corpus import examples
from hypothesis import given
from hypothesis import strategies as st

from nvir import toolchain
from nvir.toolchain.ptxas import read_messages

LINES = st.sampled_from(
    [
        "ptxas info    : Compiling entry function 'k' for 'sm_80'",
        "ptxas info    : Function properties for f",
        "    8 bytes stack frame, 4 bytes spill stores, 2 bytes spill loads",
        "ptxas info    : Used 8 registers, used 1 barriers, 360 bytes cmem[0], 7 things",
        "ptxas info    : Used registers, , bytes",
        "ptxas x.ptx, line 3; error   : no",
        "\t.section\t.text.k,\"ax\"",
        "        /*0000*/              @!P0 BRA `(.L_x) ;   /* 0x000006b000008947 */",
        "                                /* 0x000fea0003800000 */   // |  16  |   1 |",
        "  // | GPR   | PRED   |",
        ".L_x:",
        '\t//## File "a.cu", line 2',
    ]
)
TEXTS = st.lists(LINES | st.text(max_size=40), max_size=30).map("\n".join)


@given(TEXTS)
def test_text_readers_take_any_text(text):
    for info in toolchain.read_verbose(text).values():
        assert info.name
        assert info.stack >= 0
    for code in toolchain.read_sass(text).values():
        assert all(i.opcode or not i.operands for i in code)
    assert all(m.severity in ("error", "warning", "info") for m in read_messages(text))
    toolchain.read_resource_usage(text)


@pytest.fixture(scope="module")
def cubin() -> bytes:
    result = toolchain.ptxas(examples("saxpy.sm_80.ptx")[0], "sm_80")
    assert result.cubin
    return result.cubin


@pytest.mark.oracle
@given(data=st.data())
def test_damaged_cubins_give_sections_or_tool_error(cubin, data):
    """Bytes of the header and of the section table are replaced."""
    damaged = bytearray(cubin)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(6, 63) | st.integers(len(cubin) - 1500, len(cubin) - 1))
        damaged[at] = data.draw(st.integers(0, 255))
    try:
        words = toolchain.control_words(bytes(damaged))
    except toolchain.ToolError:
        return
    assert all(0 <= word.stall <= 15 for function in words.values() for word in function)
