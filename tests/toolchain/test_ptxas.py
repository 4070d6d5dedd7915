"""ptxas: its log of every release, and the assembler itself."""

from __future__ import annotations

import pytest

from nvir import toolchain
from nvir.toolchain.ptxas import read_messages, read_verbose

CUDA_3 = """\
ptxas info    : Compiling entry function '_Z6kernelPf' for 'sm_13'
ptxas info    : Used 4 registers, 60+56 bytes lmem, 44+40 bytes smem, 20 bytes cmem[1], \
12 bytes cmem[14]
"""
CUDA_9 = """\
1>  ptxas info    : 0 bytes gmem, 264 bytes cmem[3]
1>  ptxas info    : Compiling entry function 'digit' for 'sm_52'
1>  ptxas info    : Function properties for digit
1>      11680 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
1>  ptxas info    : Used 45 registers, 11688 bytes cumulative stack size, 64 bytes smem, \
328 bytes cmem[0], 4 bytes cmem[2]
1>  ptxas info    : Function properties for umin
1>      0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
"""
CUDA_11 = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'tex' for 'sm_80'
ptxas info    : Function properties for tex
    160 bytes stack frame, 384 bytes spill stores, 388 bytes spill loads
ptxas info    : Used 64 registers, 372 bytes cmem[0], 1 textures
"""
CUDA_12 = """\
ptxas info    : 16 bytes gmem, 8 bytes cmem[4]
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 168 registers, used 9 barriers, 49152 bytes smem
ptxas info    : Compile time = 13.876 ms
ptxas info    : Function properties for _Z9ackermannjj
    40 bytes stack frame, 40 bytes spill stores, 40 bytes spill loads
"""
FUTURE = """\
ptxas info    : Compiling entry function 'k' for 'sm_200'
ptxas info    : Function properties for k
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads, 12 bytes spill atomics
ptxas info    : Used 20 registers, used 1 barriers, 3 warp groups, 512 bytes tmem, 1 textures
"""


def test_the_oldest_form_adds_both_parts_of_a_size():
    """CUDA 3 wrote "44+40 bytes smem": what the program asked for, and the system's part."""
    info = read_verbose(CUDA_3)["_Z6kernelPf"]
    assert (info.registers, info.lmem, info.smem) == (4, 116, 84)
    assert info.cmem == {1: 20, 14: 12}
    assert info.arch == "sm_13"


def test_a_build_log_with_prefixes_is_read():
    """Sizes of the module are not taken for those of a kernel."""
    infos = read_verbose(CUDA_9)
    digit = infos["digit"]
    assert (digit.registers, digit.stack, digit.cumulative_stack) == (45, 11680, 11688)
    assert (digit.spill_stores, digit.spill_loads) == (4, 8)
    assert digit.cmem == {0: 328, 2: 4}
    assert digit.kind == "entry"
    assert infos["umin"].kind == "func"
    assert infos["umin"].registers is None


def test_textures_and_spills_of_cuda_11():
    info = read_verbose(CUDA_11)["tex"]
    assert (info.registers, info.textures, info.spill_stores, info.spill_loads) == (64, 1, 384, 388)
    assert info.barriers == 0


def test_barriers_and_compile_time_of_cuda_12():
    """A function's properties after the kernel do not change the kernel's."""
    infos = read_verbose(CUDA_12)
    k = infos["k"]
    assert (k.registers, k.barriers, k.smem, k.stack, k.compile_ms) == (168, 9, 49152, 0, 13.876)
    assert infos["_Z9ackermannjj"].stack == 40


def test_unknown_figures_are_kept_under_their_own_names():
    info = read_verbose(FUTURE)["k"]
    assert info.extra == {"spill atomics": 12, "warp groups": 3, "tmem": 512}
    assert (info.registers, info.barriers, info.textures) == (20, 1, 1)


@pytest.mark.parametrize("text", ["", "\n", "Used 3 registers", "ptxas info : Used x registers"])
def test_text_without_a_function_gives_none(text):
    assert read_verbose(text) == {}


def test_messages_have_severity_line_and_text():
    log = (
        "ptxas a.ptx, line 5; error   : Not a name of any known instruction: 'foo'\n"
        "ptxas a.ptx, line 9; warning : something odd\n"
        "ptxas info    : (C7510) Potential Performance Loss: x\n"
        "ptxas info    : Used 8 registers\n"
        "ptxas fatal   : Ptx assembly aborted due to errors\n"
    )
    found = [(m.severity, m.line, m.text) for m in read_messages(log)]
    assert found == [
        ("error", 5, "Not a name of any known instruction: 'foo'"),
        ("warning", 9, "something odd"),
        ("info", 0, "(C7510) Potential Performance Loss: x"),
        ("error", 0, "Ptx assembly aborted due to errors"),
    ]


SPIN = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) .maxntid 128, 1, 1
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<3>;
    .shared .align 4 .b8 s[512];
    ld.param.u64 %rd1, [p];
    cvta.to.global.u64 %rd2, %rd1;
    ld.global.u32 %r1, [%rd2];
    st.shared.u32 [s], %r1;
    bar.sync 0;
    ld.shared.u32 %r2, [s+4];
    st.global.u32 [%rd2], %r2;
    ret;
}
"""


@pytest.mark.oracle
def test_text_is_assembled():
    result = toolchain.ptxas(SPIN, "sm_80")
    assert result.ok
    assert result.cubin
    assert result.cubin[:4] == b"\x7fELF"
    k = result.kernels["k"]
    assert (k.smem, k.barriers, k.arch) == (512, 1, "sm_80")
    assert k.registers
    assert result.error == ""


@pytest.mark.oracle
def test_a_path_is_assembled_and_bytes_are_text(tmp_path):
    path = tmp_path / "a.ptx"
    path.write_text(SPIN)
    by_path = toolchain.ptxas(path, "sm_80")
    assert by_path.cubin is not None
    assert toolchain.ptxas(str(path), "sm_80").kernels.keys() == by_path.kernels.keys()
    assert toolchain.ptxas(SPIN.encode(), "sm_80").ok


@pytest.mark.oracle
def test_no_arch_means_the_modules_own():
    newer = SPIN.replace("sm_80", "sm_90")
    assert toolchain.ptxas(newer, None).kernels["k"].arch == "sm_90"
    assert not toolchain.ptxas(newer, "sm_80").ok


@pytest.mark.oracle
def test_a_rejection_is_a_result_with_the_line():
    result = toolchain.ptxas(SPIN.replace("ld.shared.u32", "foo.u32"), "sm_80")
    assert not result.ok
    assert result.cubin is None
    assert result.error == "line 15: Not a name of any known instruction: 'foo'"
    assert "/tmp" not in result.log


@pytest.mark.oracle
def test_options_reach_ptxas():
    few = toolchain.ptxas(SPIN, "sm_80", opt=0, options=["--maxrregcount", "16"])
    assert few.ok
    assert not toolchain.ptxas(SPIN, "sm_80", options=["--no-such-option"]).ok


@pytest.mark.oracle
def test_a_missing_file_and_a_hang_raise_tool_error():
    with pytest.raises(toolchain.ToolError, match="no such file"):
        toolchain.ptxas("/nowhere/a.ptx")
    with pytest.raises(toolchain.ToolError, match="did not end within"):
        toolchain.ptxas(SPIN, timeout=0.0001)
