"""Policy `observed` of licm where a block is split: by guarded accesses and by fences.

Each row was measured: the last size at which ptxas 13.0.88 lets the product leave.
"""

from __future__ import annotations

import pytest

import nvir
from nvir.analysis.hoisting.nest import Nest
from nvir.analysis.hoisting.region import survey
from nvir.assembler.hoist.weights import Weights

HEADER = """.version 8.0
.target {arch}
.address_size 64
.visible .entry k(.param .u64 a, .param .f32 x, .param .f32 y, .param .u32 n)
{{
.reg .pred %p<20>; .reg .b32 %r<90>; .reg .f32 %f<199>; .reg .b64 %rd<30>;
.shared .align 4 .b8 s[4096];
ld.param.u64 %rd1, [a]; ld.param.f32 %f1, [x]; ld.param.f32 %f2, [y]; ld.param.u32 %r1, [n];
cvta.to.global.u64 %rd1, %rd1; ld.global.f32 %f3, [%rd1]; ld.global.f32 %f4, [%rd1+4];
ld.global.f32 %f33, [%rd1+8]; ld.global.f32 %f60, [%rd1+20];
mov.u32 %r50, s; mov.u32 %r3, %tid.x; shl.b32 %r4, %r3, 2; add.s32 %r50, %r50, %r4;
mul.wide.u32 %rd4, %r3, 4; add.s64 %rd2, %rd1, %rd4; setp.gt.f32 %p5, %f4, 0f41000000;
mov.u32 %r2, 0; add.s64 %rd5, %rd2, 4096;
L:
"""
END = """add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;
st.global.f32 [%rd1+64], %f3; st.global.f32 [%rd1+68], %f33; ret; }
"""
FMA = "fma.rn.f32 %f3, %f3, %f1, %f2;\n"
MARK = "mul.rz.f32 %f101, %f4, 0f40010000; fma.rn.f32 %f3, %f3, %f101, %f2;\n"
TEST = "setp.gt.f32 %p6, %f3, %f2; @%p6 "
STORE = TEST + "st.shared.f32 [%r50], %f3;\n"
STEADY = "@%p5 st.shared.f32 [%r50], %f3;\n"
LOAD = TEST + "ld.global.f32 %f33, [%rd5];\n"
SUM = TEST + "fma.rn.f32 %f33, %f33, %f1, %f2;\n"
FENCE = "membar.gl;\n"
USE = "add.f32 %f3, %f3, %f33;\n"
VOLATILE = "ld.volatile.global.f32 %f40, [%rd5]; add.f32 %f3, %f3, %f40;\n"
SHUFFLE = "shfl.sync.bfly.b32 %f41, %f3, 1, 31, -1; add.f32 %f3, %f3, %f41;\n"


def depth(body: str, arch: str = "sm_80", spelling: str = "mul.rz.f32") -> int:
    """The loops around an operation when both instances are through."""
    module = nvir.read_ptx(HEADER.format(arch=arch) + body + END)
    nvir.run_passes(module, "copy-prop,dce,licm<id=0>,licm<id=1>", verify=True)
    function = module["k"]
    function.analyze_cfg()
    (found,) = {b.loop_depth for b in function.rpo for i in b if i.form.spelling == spelling}
    return found


HEAD = ("", MARK + "{split}" + FMA * 30)
LAST = (FMA * 30 + "{split}" + MARK, "")
MIDDLE = (FMA * 30 + "{split}", MARK + "{split}" + FMA * 30)


@pytest.mark.parametrize(("arch", "split", "place", "last"), [
    ("sm_80", STORE, HEAD, 194), ("sm_80", STORE, LAST, 193), ("sm_80", STORE, MIDDLE, 18),
    ("sm_80", STEADY, HEAD, 195), ("sm_80", STEADY, LAST, 193),
    ("sm_80", LOAD, HEAD, 194), ("sm_80", LOAD, LAST, 193), ("sm_80", LOAD, MIDDLE, 18),
    ("sm_80", FENCE, HEAD, 195), ("sm_80", FENCE, LAST, 192), ("sm_80", FENCE, MIDDLE, 18),
    ("sm_90", STORE, HEAD, 194), ("sm_90", STORE, LAST, 193), ("sm_90", STORE, MIDDLE, 18),
    ("sm_90", LOAD, HEAD, 194), ("sm_90", LOAD, LAST, 193), ("sm_90", LOAD, MIDDLE, 18),
    ("sm_90", FENCE, HEAD, 195), ("sm_90", FENCE, LAST, 193), ("sm_90", FENCE, MIDDLE, 19),
    # what a guarded load makes and keeps, read behind it or before
    ("sm_80", LOAD, ("", MARK + "{split}" + USE + FMA * 30), 194),
    ("sm_80", LOAD, (FMA * 30 + "{split}" + USE + MARK, ""), 192),
    ("sm_80", LOAD, (USE, MARK + "{split}" + FMA * 30), 193),
    ("sm_80", LOAD, (USE + FMA * 30 + "{split}" + MARK, ""), 193),
    # a load of long latency counts in its own part
    ("sm_80", STORE, (VOLATILE + FMA * 30 + "{split}" + MARK, ""), 193),
    ("sm_80", STORE, (FMA * 30 + "{split}" + VOLATILE + MARK, ""), 31),
    ("sm_80", STORE, ("", MARK + "{split}" + VOLATILE + FMA * 30), 194),
])
def test_each_part_has_its_size(arch, split, place, last):
    before, after = (text.format(split=split) for text in place)
    assert depth(before + FMA * last + after, arch) == 0
    assert depth(before + FMA * (last + 1) + after, arch) == 1


@pytest.mark.parametrize(("what", "parts"), [
    (STORE, 2), (LOAD, 2), (FENCE, 2), ("membar.cta;\n", 2), ("fence.acq_rel.gpu;\n", 2),
    (TEST + "ld.shared.f32 %f33, [%r50];\n", 2), (TEST + "red.global.add.f32 [%rd5], %f3;\n", 2),
    (TEST + "atom.shared.add.u32 %r60, [%r50], %r2;\n", 2),
    (SUM, 1), ("bar.sync 0;\n", 1), ("st.shared.f32 [%r50], %f3;\n", 1),
    ("red.global.add.f32 [%rd5], %f3;\n", 1), ("fence.proxy.alias;\n", 1),
])
def test_what_splits(what, parts):
    """At 100 and 150 the parts pay; together they do not."""
    assert depth(FMA * 100 + MARK + what + FMA * 150) == (parts == 1)
    assert depth(FMA * 100 + what + MARK + FMA * 150) == (parts == 1)


def test_a_load_leaves_the_last_part_where_guards_are_all():
    load = "ld.global.nc.f32 %f50, [%rd1+128]; fma.rn.f32 %f3, %f3, %f50, %f2;\n"
    assert depth(FMA * 30 + STORE + load + FMA * 30, spelling="ld.global.nc.f32") == 0
    assert depth(FMA * 30 + FENCE + load + FMA * 30, spelling="ld.global.nc.f32") == 1


@pytest.mark.parametrize("body", [
    SHUFFLE + FMA * 9 + STORE + MARK, MARK + STORE + SHUFFLE + FMA * 9,
])
def test_warp_wide_operations_keep_all_parts(body):
    assert depth(body + FMA * 9) == 1
    assert depth(body + FMA * 9, "sm_90") == 0


INNER = ("mov.u32 %r12, 0;\nM: " + "fma.rn.f32 %f33, %f33, %f1, %f2;\n" * 12
         + "add.s32 %r12, %r12, 1; setp.lt.s32 %p8, %r12, %r1; @%p8 bra M;\n")
OWN = MARK.replace("%f4,", "%f60,")  # its input is read nowhere else


@pytest.mark.parametrize(("before", "after", "last"), [
    ("", OWN + INNER + FMA * 14, 5),
    ("", OWN + STORE + FMA * 10 + INNER + FMA * 14, 4),
    (FMA * 10 + STORE + OWN, INNER + FMA * 14, 7),
    (FMA * 5 + INNER + OWN, "", 5),
    (FMA * 5 + INNER + FMA * 10 + STORE + OWN, "", 5),
    (FMA * 5 + INNER + OWN, STORE + FMA * 10, 6),
])
def test_around_a_loop_too(before, after, last):
    assert depth(before + FMA * last + after) == 0
    assert depth(before + FMA * (last + 1) + after) == 1


def test_parts_hold_what_is_no_split_in_order():
    module = nvir.read_ptx(HEADER.format(arch="sm_80") + FMA + STORE + MARK + FENCE + END)
    nest = Nest(module["k"])
    (loop,) = nest.loops
    survey(loop, nest)
    weights = Weights(nest, 80)
    parts = weights.parts(loop.header)
    assert [(p.first, p.last) for p in parts] == [(True, False), (False, False), (False, True)]
    names = [[i.form.name for i in p.items if not i.form.is_phi] for p in parts]
    assert names[:2] == [["fma", "setp"], ["mul", "fma"]]
    assert weights.parts(loop.header) is parts
    assert weights.of(loop.header).split
