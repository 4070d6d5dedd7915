"""What is put into the source together: instances of a template share its loops."""

from __future__ import annotations

import pytest

from nvir.ptx import read_ptx
from nvir.report.tuning.written import turn
from nvir.tune.candidates import Choices, LoopSetting
from nvir.tune.search import KernelTuning
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
