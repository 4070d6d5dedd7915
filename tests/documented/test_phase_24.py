"""Phase 24 of the documented compiler: VerifyStride first, latency classes decide edges, pipes."""

from __future__ import annotations

import random

import pytest

import nvir
from nvir.assembler.unroll.latch_exit import (
    INIT_WRITTEN,
    LIMIT_WRITTEN,
    analyze_iv,
    verify_stride,
)
from nvir.documented import pipelining
from nvir.documented.pipelining import (
    DEFAULT_CLASS,
    UNIFORM,
    OperandClasses,
    classified,
    noted_check,
    operand_classes,
    phase_24,
    stall,
)
from nvir.ir.errors import NvirError
from nvir.ir.text.trace import Trace
from nvir.passes.context import Context
from nvir.passes.knobs import Knobs
from nvir.passes.loop.pipeline import loop_pipeline
from nvir.passes.loop.pipeline.feasible import Feasibility, Obstacle, annotate
from nvir.passes.policies import PipelineSlots
from nvir.sm.latency import GLOBAL, SKIP, pipe_of_class, register_class_latency
from nvir.sm.loopgraph import loop_graph
from nvir.sm.machine import operand_class
from nvir.sm.profile import profile
from tests.pipeline_loops import outcome, random_loop

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
    assert [e.row for e in trace[-2:]] == ["SWP-20", "SWP-19"]
    assert trace[-1].outcome == {"ran": ["0 VerifyStride"], "ended": Obstacle.STRIDE.text(found[1])}
    (asked,) = trace.of("UNR-32")  # of each, the score too, a stride of run time not excepted
    assert asked.inputs["scored"] is True
    assert asked.outcome["score"] == 1
    told = nvir.run_passes(nvir.read_ptx(text), "loop-pipeline", policy="documented")
    assert [r.name for r in told] == ["NotPipelinedStride"]


@pytest.mark.seed("UNR-32", "SWP-20")
@pytest.mark.parametrize(("more", "why"), [(6, ""), (7, "its score is 8, for 7 predicates")])
def test_the_score_is_held_against_the_predicates(more, why):
    """Each is read once; the last is the exit's."""
    each = "".join(f"setp.eq.s32 %q{k}, %r2, {k}; selp.b32 %r5, {k}, %r5, %q{k};"
                   for k in range(more))
    found, trace = slots_of(text_of(each + SUM).replace("L:", ".reg .pred %q<9>;\nL:", 1))
    assert [e.outcome for e in trace.of("SWP-20")] == [why]
    assert (found == (Obstacle.STRIDE, why)) is bool(why)
    assert bool(trace.of("SWP-09")) is not bool(why)


@pytest.mark.seed("LAT-05")
def test_a_source_that_no_instruction_makes_is_of_the_uniform_class():
    module = nvir.read_ptx(text_of("mov.u32 %r5, %tid.x; mov.u32 %r6, 7; membar.gl;" + SUM))
    body = [i for b in module["k"].blocks for i in b]
    notes = profile("sm_80_notes")
    found = operand_classes(body, annotate(body, notes, classified), notes)
    made = [found[i] for i in body if i.block.name == "L" and not i.form.is_phi][:5]
    uniform, default = map(register_class_latency, (UNIFORM, DEFAULT_CLASS))
    assert (uniform, default) == (20, 6)
    # %tid, 7, none, %rd1, %f2
    assert [x.register for x in made] == [uniform, default, SKIP, GLOBAL, GLOBAL]
    assert [x.source for x in made] == [default, default, SKIP, GLOBAL, 12]  # by the opcode


@pytest.mark.seed("LAT-05")
@pytest.mark.parametrize(("load", "carried", "register", "latency"), [
    ("ld.global.u32", True, 4, 26), ("ldu.global.u32", True, 2, 20),
    ("ld.shared.u32", True, 0, 6), ("ld.global.u32", False, 0, 6),
])
def test_the_class_of_a_register_is_that_of_the_load_that_writes_it(load, carried, register,
                                                                    latency):
    """Behind a phi: what is read is the register that the iteration before has loaded."""
    other = "%r8" if carried else "%r9"
    text = text_of(f"add.u32 %r7, %r8, 1; st.global.u32 [%rd2], %r7; {load} {other}, [%rd2];" + SUM
                   ).replace("L:", "mov.u32 %r8, 0;\nL:", 1)
    _, trace = slots_of(text)
    asked = [e for e in trace.of("LAT-05") if e.inputs.get("opcode") == "add.u32"]
    (event, *_) = asked
    assert (event.inputs["register_class"], event.outcome) == (register, latency)


@pytest.mark.seed("UNR-32")
def test_the_mask_and_the_score_of_verify_stride():
    def checked(text: str):
        f = nvir.read_ptx(text)["k"]
        f.analyze_cfg()
        (loop,) = f.loops()
        found = analyze_iv(loop)
        return verify_stride(loop, found, found.bound, scored=True)

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
    assert rows == ["0 VerifyStride", "1 class", "1 family", "1 wrapper: the opcode changed",
                    "1 no family", "1 annotate", "1 class of a register", "1 meaning",
                    "1 classes of operands 0 and 1", "2 divergent exit", "2 flags", "2 feasibility",
                    "3 class to pipe", "3 stall", "3 graph", "4 RecMII", "4 widths", "4 ResMII",
                    "4 MII", "5 slots"]
    (event,) = trace.of("SWP-08")
    assert event.outcome == -(-event.inputs["latency"] // event.inputs["distance"]) > 0
    assert found.ii == 4  # the sum: one fma a round, four cycles
    (load, product, *_) = sorted(found.times)
    assert found.times[product] - found.times[load] == 64  # the load's stall count, capped


@pytest.mark.seed("SWP-07", "SWP-11")
@pytest.mark.parametrize(("loads", "interval"), [(1, 4), (8, 4), (10, 5), (14, 7)])
def test_the_interval_begins_at_the_larger_of_both_bounds(loads, interval):
    """The sum takes four cycles; two loads go out in each."""
    many = "".join(f"ld.global.nc.f32 %f{3 + k}, [%rd1+{4 * k}]; " for k in range(loads - 1))
    found, trace = slots_of(text_of(many + SUM))
    (bound,) = trace.of("SWP-07")
    assert bound.outcome == interval == found.ii
    assert bound.inputs["res_mii"] == (loads + 1) // 2


@pytest.mark.seed("SWP-06", "GAP-23")
@pytest.mark.parametrize(("result", "source", "why"), [
    (6, 6, None), (20, 20, None), (26, 26, None), (31, 31, None),  # TEX, LSU, BRA/SMEM
    (10, 10, Obstacle.PIPE), (7, 7, Obstacle.PIPE), (16, 16, Obstacle.PIPE),
    (26, 12, Obstacle.UNLIKE), (10, 6, Obstacle.PIPE),  # the pipe is asked first
])
def test_the_check_as_the_notes_have_it(result, source, why):
    (i, branch) = list(nvir.read_ptx(text_of(SUM))["k"].blocks[1])[-2:]
    found = noted_check(
        {i: OperandClasses(result, source), branch: OperandClasses(10, 6)}, profile("sm_80_notes"))
    assert found.reason is why
    assert found.code == (Feasibility.ACCEPT if why is None else Feasibility.REJECT)


SHUFFLE = "shfl.sync.bfly.b32 %r9, %r2, 1, 31, -1; st.global.u32 [%rd2+4], %r9;"
MMA = ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f6, %f7, %f8, %f9}, "
       "{%r5, %r5, %r5, %r5}, {%r5, %r5}, {%f6, %f7, %f8, %f9};")
LANES = "mov.u32 %r1, %laneid; mov.u32 %r2, 0;"


@pytest.mark.seed("SWP-04", "SWP-06", "GAP-23")
@pytest.mark.parametrize(("before", "body", "why"), [
    ("", SHUFFLE, Obstacle.TOGETHER), ("", MMA, Obstacle.TOGETHER),
    (LANES, SHUFFLE, Obstacle.CONVERGENT), ("", SHUFFLE.partition("; ")[2], None),
])
def test_what_needs_lanes_together_is_rejected_wherever_they_leave(before, body, why):
    found, trace = slots_of(text_of(SUM + body).replace("mov.u32 %r2, 0;", before or
                                                        "mov.u32 %r2, 0;"))
    assert isinstance(found, PipelineSlots) is (why is None)
    assert [e.inputs["reason"] for e in trace.of("SWP-06")] == ([why.name] if why else [])
    (asked,) = trace.of("SWP-04")
    assert (asked.inputs["parts"], asked.inputs["together"]) == (before == LANES, True)


@pytest.mark.seed("GAP-23")
def test_under_policy_observed_lanes_that_leave_together_may_shuffle():
    told = {policy: [r.name for r in nvir.run_passes(
        nvir.read_ptx(text_of(SUM + SHUFFLE)), "loop-pipeline<force>", policy=policy)]
        for policy in ("documented", "observed")}
    assert told["documented"] == ["NotPipelinedTogether"]
    assert "NotPipelinedTogether" not in told["observed"]


@pytest.mark.seed("SWP-05")
@pytest.mark.parametrize(("added", "optimize", "why"), [
    ("add.sat.f32 %f6, %f2, %f2;", 2, "add.sat.f32 has a saturated result"),
    ("add.sat.f32 %f6, %f2, %f2;", 1, None), ("add.f32 %f6, %f2, %f2;", 2, None),
])
def test_flags_of_operands_are_rejected_from_level_2_on(added, optimize, why):
    """By default; at level 1, and without a flag, the loop is pipelined."""
    module = nvir.read_ptx(text_of(added + SUM))
    with Trace() as trace:
        (remark,) = nvir.run_passes(
            module, f"loop-pipeline<optimize={optimize}>" if optimize != 2 else "loop-pipeline",
            policy="documented")
    first = trace.of("SWP-05")[0]
    assert first.outcome == ("rejected" if why else "no objection")
    assert bool(first.inputs["flag"]) is (".sat" in added)
    assert first.inputs["optimize"] == optimize
    assert remark.name == ("NotPipelinedFlags" if why else "Scheduled")
    assert why is None or why in remark.message


@pytest.mark.seed("SWP-05", "SWP-06")
def test_flags_are_asked_behind_properties_and_before_pipes():
    def told(added: str, options: str = "<noted-check>") -> list[str]:
        module = nvir.read_ptx(text_of(SUM + added))
        return [r.name for r in nvir.run_passes(module, f"loop-pipeline{options}",
                                                policy="documented")]

    saturated = "add.sat.f32 %f6, %f2, %f2;"
    assert told(SHUFFLE + saturated) == ["NotPipelinedTogether"]
    assert told(saturated) == ["NotPipelinedFlags"]
    assert told(saturated, "<noted-check;optimize=1>") == ["NotPipelinedPipe"]


@pytest.mark.seed("SWP-06", "GAP-23")
def test_the_noted_check_is_asked_for():
    """It rejects the sum of the loads: an address' addition is on FMA. Without one nothing is on
    the pipes 0 to 3, nor are operands of unlike classes: sources are classed by who reads them."""
    def told(option: str) -> list[str]:
        module = nvir.read_ptx(text_of(SUM))
        return [r.name for r in nvir.run_passes(module, f"loop-pipeline{option}",
                                                policy="documented")]

    assert told("<noted-check>") == ["NotPipelinedPipe"]
    assert told("") == ["Scheduled"]
    shared = text_of("ld.shared.f32 %f2, [%r2+64]; fma.rn.f32 %f1, %f2, %f2, %f1;").replace(
        "add.s64 %rd1, %rd1, 4;", "")
    (remark,) = nvir.run_passes(nvir.read_ptx(shared), "loop-pipeline<noted-check>",
                                policy="documented")
    assert remark.name == "Scheduled"


@pytest.mark.seed("SWP-04", "SWP-06")
@pytest.mark.parametrize(("noted", "code"), [(True, "REJECT (60)"), (False, "ACCEPT (130)")])
def test_the_check_is_one_with_one_code(noted, code):
    option = "<noted-check>" if noted else ""
    with Trace() as trace:
        nvir.run_passes(nvir.read_ptx(text_of(SUM)), f"loop-pipeline{option}", policy="documented")
    assert [e.outcome["code"] for e in (*trace.of("SWP-04"), *trace.of("SWP-06"))] == (
        [code, code] if noted else [code])


@pytest.mark.seed("SWP-19", "SWP-15")
def test_a_loop_without_far_loads_takes_the_steps_and_does_the_same():
    """As under no other policy; random bodies, 0 to 29 iterations in lanes of one warp."""
    made = 0
    for seed in range(30):
        before, loop = random_loop(random.Random(seed)).split("L:\n")
        kept = [x for x in loop.splitlines() if "ld.global" not in x]
        text = before + "L:\n" + "\n".join(kept)
        if "%r52" in text:
            continue
        module = nvir.read_ptx(text)
        told = [r.name for r in nvir.run_passes(module, "loop-pipeline", policy="documented")]
        assert told != ["NotPipelinedNoLoad"]
        made += told == ["Scheduled"]
        assert outcome(module, 1) == outcome(nvir.read_ptx(text), 1), seed
    assert made > 5
    told = nvir.run_passes(nvir.read_ptx(text), "loop-pipeline")
    assert [r.name for r in told] == ["NotPipelinedNoLoad"]


@pytest.mark.seed("LAT-06", "GAP-24")
@pytest.mark.parametrize(("table", "classes", "units", "cycles"), [
    (70, (26, 6), (None, None), 64), (70, (8, 6), (None, None), 64), (70, (6, 8), (None, None), 64),
    (20, (8, 8), (None, None), 20), (70, (6, 10), (None, None), 32),
    (70, (12, 12), ("fma", "fma"), 32), (70, (12, 12), ("fma", "load"), 64),
    (70, (12, 6), ("atomic", None), 64), (70, (12, 12), ("fma", None), 64),
])
def test_a_stall_is_capped_by_the_classes_of_operands_0_and_1(table, classes, units, cycles):
    made = stall(table, OperandClasses(*classes), profile("sm_80_notes"), "", units)
    assert made == cycles


@pytest.mark.seed("LAT-01", "LAT-04")
def test_an_operation_without_sources_has_no_class_of_operand_1():
    _, trace = slots_of(text_of("membar.gl;" + SUM))
    told = [(e.inputs["index"], e.inputs["count"], e.outcome) for e in trace.of("LAT-01")
            if e.inputs["opcode"] == "membar"]
    assert told == [(0, 1, 6), (1, 1, SKIP)]
    (past,) = [e for e in trace.of("LAT-04") if e.inputs["opcode"] == "membar.gl"]
    assert (past.inputs["index"], past.outcome) == (1, SKIP)


@pytest.mark.seed("LAT-04")
@pytest.mark.parametrize(("guard", "past"), [("", []), ("@%p1 ", [(2, 2, SKIP), (2, 3, SKIP)])])
def test_operands_behind_the_two_of_a_guard_are_past_the_end(guard, past):
    module = nvir.read_ptx(text_of("setp.eq.s32 %p1, %r1, 3; " + guard + "neg.f32 %f2, %f3; "
                                   + SUM))
    (negation,) = [i for i in module["k"].instructions() if i.form.name == "neg"]
    with Trace() as trace:
        annotate([negation], profile("sm_80_notes"))
    assert [(e.inputs["count"], e.inputs["index"], e.outcome)
            for e in trace.of("LAT-04") if e.step == "1 past the end"] == past


@pytest.mark.seed("LAT-06", "GAP-24", "GAP-22")
@pytest.mark.parametrize(("body", "cap"), [
    ("add.f32 %f1, %f1, 0f3F800000;", 32),  # FP32 runs on FMA, though its class is memory's
    ("add.f32 %f2, %f3, %f3; add.f32 %f1, %f2, %f1;", 32),
    ("add.f32 %f2, %f4, %f3; add.f32 %f1, %f2, %f1;", 32),  # made in front of the loop, on FMA
    ("ld.global.nc.f32 %f2, [%rd1]; add.f32 %f1, %f2, %f1;", 64),  # a register of class 4
    ("ex2.approx.ftz.f32 %f2, %f3; add.f32 %f1, %f2, %f1;", 32),  # by the opcode that reads it
])
def test_the_cap_goes_by_the_unit_of_the_operation(body, cap):
    text = text_of("ld.global.nc.f32 %f9, [%rd1]; " + body).replace(
        "mov.f32 %f1,", "mov.f32 %f3, 0f3F800000; add.rn.f32 %f4, %f3, %f3; mov.f32 %f1,")
    _, trace = slots_of(text)
    told = [e for e in trace.of("LAT-06") if e.inputs["edge"].startswith("FADD")]
    assert {e.outcome["cap"] for e in told} == {cap}
    assert {e.outcome["pipes"][0]["pipe"] for e in told} == {"FMA"}


@pytest.mark.seed("LAT-06")
@pytest.mark.parametrize(("machine", "code", "unit", "pipe"), [
    ("sm_80", 10, None, "FMA"), ("sm_80", 10, "alu", "ALU"), ("sm_80", 999, None, None),
    ("sm_80_notes", 10, None, "ALU"), ("sm_80_notes", 10, "fma", "FMA"),
    ("sm_80_notes", 999, None, None),
])
def test_the_pipe_of_an_operand_is_its_units_or_else_its_classes(machine, code, unit, pipe):
    """Of the class by the noted table, where the profile has that, else of its unit."""
    classes = OperandClasses(code, code)
    with Trace() as trace:
        stall(4, classes, profile(machine), "", (unit, unit))
    (event,) = trace.of("LAT-06")
    assert [x["pipe"] for x in event.outcome["pipes"]] == [pipe, pipe]


def resources_of(text: str, named: str = "sm_80_notes", classes: bool = False) -> int:
    """The ResMII of a loop's trace."""
    module = nvir.read_ptx(text)
    f = module["k"]
    f.analyze_cfg()
    (loop,) = f.loops()
    ctx = Context(module, Knobs(policy="documented"), profile(named))
    ctx.options = loop_pipeline.Options(classes=classes)
    with Trace() as trace:
        phase_24(loop, ctx, "l2")
    (event,) = trace.of("SWP-11")
    return event.outcome


@pytest.mark.seed("SWP-11", "GAP-22", "GAP-57")
def test_the_worked_example_gives_two():
    """Eight FP32 operations on FMA, three loads on LSU: 8/4 and 3/2. By the table of classes, which
    has FP32 on LSU, 11/2; integer operations are on ALU, by the table on TEX."""
    loads = "".join(f"ld.global.nc.f32 %f{k}, [%rd1+{4 * k}];" for k in (2, 3, 4))
    products = "".join(f"fma.rn.f32 %f{k}, %f2, %f3, %f4;" for k in range(5, 13))
    example = text_of(loads + products)
    assert resources_of(example) == 2
    assert resources_of(example, classes=True) == 6
    simple = text_of(loads + "".join(f"xor.b32 %r{k}, %r2, {k};" for k in range(6, 11)))
    assert resources_of(simple) == 3  # eight or nine of four a cycle: with steps and test
    assert resources_of(simple, classes=True) >= 5


@pytest.mark.seed("SWP-11", "SWP-13")
def test_the_profile_of_the_run_says_how_wide_the_pipes_are():
    loads = "".join(f"ld.global.nc.f32 %f{k}, [%rd1+{4 * k}];" for k in range(2, 18))
    assert resources_of(text_of(loads)) == 8
    real = resources_of(text_of(loads), "sm_80")
    assert real > 8
    with pytest.raises(NvirError, match=r"no latency class .* in profile sm_80 "):
        resources_of(text_of(loads), "sm_80", classes=True)


@pytest.mark.seed("SWP-11", "SWP-12")
def test_special_functions_have_a_pipe_of_their_own():
    notes = profile("sm_80_notes")
    assert [pipe_of_class(c, notes) for c in (6, 7, 10, 12, 16, 20, 26, 31, 8)] == [
        "TEX", "FMA", "ALU", "LSU", "DFMA", "TEX", "LSU", "BRA/SMEM", "SFU"]
    special = "".join(f"ex2.approx.ftz.f32 %f{k}, %f2;" for k in range(3, 12))
    text = text_of("ld.global.nc.f32 %f2, [%rd1];" + special)
    assert resources_of(text) == 9
    assert slots_of(text)[0].ii >= 9


@pytest.mark.seed("LAT-01", "LAT-03")
@pytest.mark.parametrize(("text", "classes"), [
    ("bar.sync 0;", [6, 12]), ("membar.gl;", [6, 1]),  # operand 1 of a barrier; past the end
    ("shl.b32 %r9, %r2, 3;", [10, 10]), ("mul.lo.u32 %r9, %r2, %r2;", [10, 10, 10]),  # 0x23
    ("atom.global.add.u32 %r9, [%rd2], %r2;", [12, 12, 12]),
    ("xor.b32 %r9, %r8, %r8;", [6, 6, 6]), ("mul.f32 %f9, %f2, %f2;", [12, 12, 12]),
    ("st.global.f64 [%rd2], %fd1;", [14, 14, 12]),  # a field for operands 0 and 1
])
def test_operands_are_classed_by_the_opcode_that_has_them(text, classes):
    """Never by what made the value: some of these are products, loads, moves."""
    made = "mul.lo.u32 %r8, %r2, 3; "
    _, trace = slots_of(text_of(SUM + made + text))
    name = text.partition(".")[0]
    told = {e.inputs["index"]: e.outcome for e in trace.of("LAT-01")
            if e.inputs["opcode"].startswith(name)}
    assert told == {k: c for k, c in enumerate(classes) if k in told}
    assert told.keys() >= {0, 1}
    rules = {e.inputs["index"] for e in trace.of("LAT-03")
             if e.inputs["opcode"].startswith(name + ".")}
    assert rules == {k for k in told if classes[k] != SKIP}


@pytest.mark.seed("SWP-19", "SWP-04", "SWP-17")
@pytest.mark.parametrize("barrier", ["bar.sync 0;", "membar.gl;"])
def test_a_barrier_is_found_by_feasibility_after_the_steps_before_it(barrier):
    with Trace() as trace:
        told = nvir.run_passes(
            nvir.read_ptx(text_of(SUM + barrier)), "loop-pipeline", policy="documented")
    assert [r.name for r in told] == ["NotPipelinedBarrier"]
    steps = list(dict.fromkeys(f"{e.row} {e.step}" for e in trace if e.row[:3] == "SWP"))
    assert steps == [
        "SWP-14 several blocks", "SWP-20 0 VerifyStride", "SWP-19 1 wrapper: the opcode changed",
        "SWP-03 1 annotate", "SWP-16 2 divergent exit", "SWP-06 2 rejected", "SWP-17 2 barrier",
        "SWP-04 2 feasibility", "SWP-19 phase 24", "SWP-01 not pipelined"]
    assert trace.of("SWP-06")[0].outcome == "REJECT (60)"
    (product,) = [e for e in trace.of("LAT-01") if e.inputs["opcode"] == "fma"][:1]
    given = product.inputs
    assert (given["secondary"], given["index"], product.outcome) == ("rn.f32", 0, 12)
    assert trace.of("SWP-04")[0].outcome["code"] == "REJECT (60)"
    assert trace[-2].outcome["ran"] == ["0 VerifyStride", "1 annotate", "2 feasibility"]
    assert "is a barrier" in trace[-1].outcome


@pytest.mark.seed("SWP-14", "SWP-04")
def test_accepted_bodies_and_those_of_several_blocks_leave_events():
    _, trace = slots_of(text_of(SUM))
    assert trace.of("SWP-04")[0].outcome == {
        "code": "ACCEPT (130)", "reason": None, "slots": 2, "what": ""}
    split = text_of("setp.eq.s32 %p5, %r2, 7; @%p5 bra Y;\nY:" + SUM)
    with Trace() as trace:
        told = nvir.run_passes(nvir.read_ptx(split), "loop-pipeline", policy="documented")
    assert [r.name for r in told] == ["NotPipelinedSeveralBlocks"]
    assert [(e.row, e.outcome, e.at) for e in trace] == [
        ("SWP-14", True, "L"), ("SWP-01", "its body has several blocks", "L")]


def test_a_loop_of_exactly_the_largest_size_is_scheduled(monkeypatch):
    loads = text_of(SUM)
    assert isinstance(slots_of(loads)[0], PipelineSlots)
    module = nvir.read_ptx(loads)
    module["k"].analyze_cfg()
    (loop,) = module["k"].loops()
    size = len(loop_graph(loop, profile("sm_80_notes")).operations)
    monkeypatch.setattr(pipelining, "LARGEST", size)
    assert isinstance(slots_of(loads)[0], PipelineSlots)
    monkeypatch.setattr(pipelining, "LARGEST", size - 1)
    assert slots_of(loads)[0] == (Obstacle.TOO_LARGE, str(size))


@pytest.mark.seed("SWP-11", "SWP-12", "LAT-01")
@pytest.mark.parametrize(("op", "n", "bound"), [("add.s64 %rd3, %rd3, %rd2;", 8, 5),
                                                ("add.s32 %r3, %r3, %r1;", 8, 10)])
def test_a_pipe_counts_the_class_that_step_1_made(op, n, bound):
    """Both halves of a wide sum have its class 7, on FMA of 4 (the step's sum is one of 9); a
    narrow one is of class 6, on TEX of 1, as are the step and the test."""
    text = text_of("ld.global.nc.f32 %f2, [%rd1];\n" + op * n)
    assert resources_of(text, classes=True) == bound


@pytest.mark.seed("LAT-01", "SWP-03", "SWP-06")
@pytest.mark.parametrize(("unit", "made"), [("fma", 7), ("load", 7), ("alu", None)])
def test_a_profile_of_ones_own_reclasses_what_is_of_its_units_class(tmp_path, unit, made):
    """Wherever classes are asked for; a wide sum keeps its own, and so do those of other units."""
    mine = tmp_path / "mine.json"
    mine.write_text(f'{{"extends": "sm_80_notes", "kinds": {{"{unit}": {{"class": 7}}}}}}')
    module = nvir.read_ptx(text_of(SUM))
    own, notes = profile(str(mine)), profile("sm_80_notes")
    body = [i for b in module["k"].blocks if b.name == "L" for i in b if not i.form.is_phi]
    before, after = ({i.form.name: operand_class(i, 1, p) for i in body} for p in (notes, own))
    moved = {"fma": "fma", "load": "ld", "alu": ""}[unit]
    assert {n: c for n, c in after.items() if c != before[n]} == ({moved: made} if made else {})
    assert {a.latency_class for a in annotate(body, own, classified) if a.index < 2
            and a.instruction.form.name == moved} == ({made} if made else set())
    (remark,) = nvir.run_passes(module, "loop-pipeline<noted-check>", policy="documented",
                                profile=own)
    what = {"fma": "fma.rn.f32 on FMA", "load": "ld.global.nc.f32 on FMA", "alu": "add.s64 on FMA"}
    assert what[unit] in remark.message
