"""Phase 24 of the documented compiler: VerifyStride first, latency classes decide edges, pipes."""

from __future__ import annotations

import numpy as np
import pytest

import nvir
from nvir.assembler.unroll.latch_exit import (
    INIT_WRITTEN,
    LIMIT_WRITTEN,
    analyze_iv,
    verify_stride,
)
from nvir.documented.pipelining import (
    DEFAULT_CLASS,
    UNIFORM,
    OperandClasses,
    operand_classes,
    phase_24,
    stall,
)
from nvir.ir.text.trace import Trace
from nvir.passes.context import Context
from nvir.passes.knobs import Knobs
from nvir.passes.loop.pipeline.feasible import Obstacle
from nvir.passes.policies import PipelineSlots
from nvir.sm.latency import pipe_of_class, register_class_latency
from nvir.sm.profile import profile

HEADER = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 o, .param .u32 n) {
.reg .pred %p<9>; .reg .b32 %r<19>; .reg .f32 %f<19>; .reg .f64 %fd<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [o]; ld.param.u32 %r1, [n];
cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2;
mov.f32 %f1, 0f00000000; mov.u32 %r2, 0; mov.u32 %r4, 90;
"""
STEP = "add.s64 %rd1, %rd1, 4; add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, {}; @%p1 bra L;\n"
END = "st.global.f32 [%rd2], %f1; ret; }\n"
SUM = "ld.global.nc.f32 %f2, [%rd1]; fma.rn.f32 %f1, %f2, %f2, %f1;\n"


def text_of(body: str, bound: str = "%r1", after: str = "") -> str:
    return HEADER + "L: " + body + STEP.format(bound).replace("@%p1", f"{after} @%p1") + END


def slots_of(text: str) -> tuple[PipelineSlots | tuple[Obstacle, str], Trace]:
    module = nvir.read_ptx(text)
    f = module["k"]
    f.analyze_cfg()
    (loop,) = f.loops()
    with Trace() as trace:
        return phase_24(loop, Context(module, Knobs(policy="documented")), "l2"), trace


@pytest.mark.seed("SWP-20")
@pytest.mark.parametrize(("text", "why"), [
    (text_of(SUM, "%r4", "sub.s32 %r4, %r4, 3;"), "the body writes the bound"),
    (text_of(SUM, "%r4", "ld.global.nc.u32 %r4, [%rd2];"), "the body writes the bound"),
    (text_of(SUM, "90").replace("add.s32 %r2, %r2, 1", "add.s32 %r2, %r2, %r1"), "run time"),
    (text_of(SUM).replace("setp.lt", "setp.gt"), "stride 1 under gt.s32"),
])
def test_a_loop_whose_stride_fails_is_rejected_before_its_graph(text, why):
    found, trace = slots_of(text)
    assert found[0] is Obstacle.STRIDE
    assert why in found[1]
    assert not trace.of("SWP-09")
    assert trace[-1].row == "SWP-20"
    told = nvir.run_passes(nvir.read_ptx(text), "loop-pipeline", policy="documented")
    assert [r.name for r in told] == ["NotPipelinedStride"]


@pytest.mark.seed("SWP-04")
def test_a_shuffle_stays_where_lanes_leave_at_different_iterations():
    text = text_of(SUM + "shfl.sync.bfly.b32 %r7, %r2, 1, 31, -1;", "%r4")
    assert isinstance(slots_of(text)[0], PipelineSlots)
    found, _ = slots_of(text.replace("mov.u32 %r4, 90", "mov.u32 %r4, %tid.x"))
    assert found == (Obstacle.CONVERGENT, "shfl.sync.bfly.b32")


@pytest.mark.seed("LAT-05")
def test_a_source_that_no_instruction_makes_is_of_the_uniform_class():
    module = nvir.read_ptx(text_of("mov.u32 %r5, %tid.x; mov.u32 %r6, 7; membar.gl;" + SUM))
    body = [i for b in module["k"].blocks for i in b]
    found = operand_classes(body, [], profile("sm_80_notes"))
    sources = [found[i].source for i in body if i.block.name == "L" and not i.form.is_phi][:5]
    uniform, default = map(register_class_latency, (UNIFORM, DEFAULT_CLASS))
    assert (uniform, default) == (20, 6)
    assert sources == [uniform, default, default, default, default]  # %tid, 7, none, %rd1, %f2


@pytest.mark.seed("UNR-32")
def test_the_mask_and_the_score_of_verify_stride():
    def checked(text: str):
        f = nvir.read_ptx(text)["k"]
        f.analyze_cfg()
        (loop,) = f.loops()
        found = analyze_iv(loop)
        return verify_stride(loop, found, found.bound)

    assert (checked(text_of(SUM)).mask, checked(text_of(SUM)).score) == (0, 1)
    written = checked(text_of(SUM, "%r4", "sub.s32 %r4, %r4, 3;"))
    assert written.mask == LIMIT_WRITTEN == 1
    two = "add.s32 %r2, %r2, 1; setp.eq.s32 %p5, %r4, %r2; @!%p5 bra Y; add.s32 %r2, %r2, 2;\nY: "
    both = checked(text_of(two).replace("L: add.s32 %r2, %r2, 1; setp.eq", "L: setp.eq")
                   .replace("add.s32 %r2, %r2, 1; setp.lt", "setp.lt"))
    assert both.mask == INIT_WRITTEN == 2
    unread = checked(text_of(SUM + "setp.eq.s32 %p6, %r2, 7;"))
    assert unread.score == 2  # one read once, one read nowhere
    twice = checked(text_of(SUM + "setp.eq.s32 %p6, %r2, 7; selp.b32 %r5, 1, 2, %p6; "
                            "selp.b32 %r6, 1, 3, %p6;"))
    assert twice.score == 1
    never_once = checked(text_of(SUM, after="selp.b32 %r5, 1, 2, %p1;"))
    assert never_once.score == 1


@pytest.mark.seed("SWP-19", "SWP-07", "SWP-09", "SWP-10", "SWP-11", "LAT-06")
def test_the_steps_run_in_order_and_each_reads_the_one_before():
    found, trace = slots_of(text_of(SUM))
    rows = list(dict.fromkeys(e.step for e in trace if e.step[0].isdigit()))
    assert rows == ["0 VerifyStride", "1 annotate", "1 classes of operands 0 and 1",
                    "2 feasibility", "3 stall", "3 graph", "4 ResMII", "4 MII", "5 slots"]
    assert found.ii == 4  # the sum: one fma a round, four cycles
    (load, product, *_) = sorted(found.times)
    assert found.times[product] - found.times[load] == 32  # the load's stall count, capped


@pytest.mark.seed("SWP-12", "LAT-06", "GAP-23")
@pytest.mark.parametrize(("table", "classes", "cycles"), [
    (70, (26, 6), 32), (70, (8, 6), 64), (70, (6, 8), 64), (20, (8, 8), 20), (40, (12, 20), 32),
])
def test_a_stall_is_capped_by_the_pipes_of_operands_0_and_1(table, classes, cycles):
    assert stall(table, OperandClasses(*classes), profile("sm_80_notes")) == cycles


@pytest.mark.seed("SWP-11", "SWP-12")
def test_pipes_bound_the_interval():
    """Sixteen loads at two a cycle, and special functions one at a time."""
    notes = profile("sm_80_notes")
    assert [pipe_of_class(c, notes) for c in (6, 7, 10, 12, 16, 20, 26, 31, 8)] == [
        "TEX", "FMA", "ALU", "LSU", "DFMA", "TEX", "LSU", "BRA/SMEM", "SFU"]
    loads = "".join(f"ld.global.nc.f32 %f{k}, [%rd1+{4 * k}];" for k in range(2, 18))
    _, trace = slots_of(text_of(loads))
    assert trace.of("SWP-11")[0].outcome == 8
    special = "".join(f"ex2.approx.ftz.f32 %f{k}, %f2;" for k in range(3, 12))
    found, trace = slots_of(text_of("ld.global.nc.f32 %f2, [%rd1];" + special))
    assert trace.of("SWP-11")[0].outcome == 9
    assert found.ii >= 9


@pytest.mark.parametrize("n", [0, 1, 2, 8, 9, 17, 18, 19, 40])
def test_the_pipelined_loop_does_what_the_loop_did(n):
    text = text_of(SUM)
    module = nvir.read_ptx(text)
    told = nvir.run_passes(module, "loop-pipeline", policy="documented", verify=True)
    assert [r.name for r in told] == ["Scheduled"]
    outs = []
    for m in (nvir.read_ptx(text), module):
        a, o = np.arange(64, dtype=np.float32), np.zeros(4, np.float32)
        nvir.launch(m, "k", 1, 1, [a, o, np.uint32(n)])
        outs.append(o[0])
    assert outs[0] == outs[1]
