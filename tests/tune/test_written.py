"""What is put into the source together: instances of a template share its loops."""

from __future__ import annotations

import pytest

from nvir.ptx import read_ptx
from nvir.report.tuning.written import rounds, turn
from nvir.tune.candidates import Choices, LoopSetting
from nvir.tune.search import KernelTuning
from nvir.tune.weights import KernelLoop
from tests.tune.test_tune import UNKNOWN

TEXT = UNKNOWN.replace(".address_size 64", ".address_size 64\n.file 1 \"dir/k.cu\"").replace(
    "  ld.global.f32 %f2", "  .loc 1 17 3\n  ld.global.f32 %f2")
OTHER = TEXT[TEXT.index(".visible .entry"):].replace("entry k(", "entry other(")


@pytest.mark.parametrize(("line", "mine", "theirs", "first"), [
    (17, LoopSetting(4), LoopSetting(2), ["k"]),  # the same loop: one after the other
    (17, LoopSetting(4), LoopSetting(4), ["k", "other"]),
    (17, LoopSetting(4), LoopSetting(4, apart=True), ["k"]),
    (30, LoopSetting(4), LoopSetting(2), ["k", "other"]),
])
def test_kernels_that_share_a_loop_say_one_thing_at_a_time(
    line: int, mine: LoopSetting, theirs: LoopSetting, first: list[str]
):
    module = read_ptx(TEXT + OTHER.replace(".loc 1 17", f".loc 1 {line}"))
    for f in module.functions:
        f.analyze_cfg()
    kernels = [KernelTuning(name, [], 256, True) for name in ("k", "other")]
    left = {"k": [Choices((("LOOP", mine),))], "other": [Choices((("LOOP", theirs),))]}
    assert list(turn(kernels, module, left)) == first
    assert [name for name in left if left[name]] == [n for n in left if n not in first]


@pytest.mark.parametrize(("source", "copies", "expected"), [
    ("given", 1, 64), ("assumed", 1, 72),  # the mean of 64 to 79
    ("given", 4, 16), ("assumed", 4, 18),
])
def test_a_loop_of_the_source_runs_as_often_in_other_code(source: str, copies: int, expected: int):
    def text(copies: int) -> str:
        load = "ld.global.f32 %f2, [%rd1]; add.f32 %f1, %f1, %f2;\n"
        return f""".version 8.0
.target sm_80
.address_size 64
.file 1 "k.cu"
.visible .entry k(.param .u64 a, .param .u32 n) {{
.reg .pred %p<9>; .reg .b32 %r<9>; .reg .f32 %f<19>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [a]; ld.param.u32 %r2, [n]; mov.f32 %f1, 0f00000000; mov.u32 %r1, 0;
LOOP: .loc 1 21 5
{load * copies}.loc 1 20 3
add.s32 %r1, %r1, {copies}; setp.lt.s32 %p1, %r1, {96 if copies > 1 else "%r2"}; @%p1 bra LOOP;
st.global.f32 [%rd1], %f1; ret; }}
"""

    loop = KernelLoop("LOOP", None, 64, source, *[frozenset[int]()] * 2, True, frozenset())
    k = KernelTuning("k", [loop], 256, True)
    assert rounds(k, read_ptx(text(1)), read_ptx(text(copies))) == {"LOOP": expected}
