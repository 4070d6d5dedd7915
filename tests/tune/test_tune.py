"""`nvir tune`: candidates, their judgement by real and by predicted code, the choice."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from pathlib import Path

import attrs
import numpy as np
import pytest
from click.testing import CliRunner

from nvir import gpu, print_ptx, read_ptx, sm
from nvir.analysis.source_loops import LoopPart, SourceLoop
from nvir.assembler.body import predicted_body
from nvir.cli import main
from nvir.ir.loops import natural_loops
from nvir.report.tuning.advice import advice
from nvir.report.tuning.measured import measure
from nvir.report.tuning.table import tuning_json, tuning_lines
from nvir.sm.body import BodyBlock, BodyInstruction, MachineBody
from nvir.toolchain import available
from nvir.tune import judge
from nvir.tune.assembled import assemble, numbered
from nvir.tune.candidates import (
    AS_IT_IS,
    LATE,
    Choices,
    LoopSetting,
    changed,
    context,
    known_trips,
    loop_settings,
    most_trips,
)
from nvir.tune.judge import Cycles, KernelTime, kernel_time
from nvir.tune.search import (
    FULL,
    MODEL_ERROR,
    WORSE,
    Judged,
    KernelTuning,
    Launches,
    _Search,
    tune,
    tuned,
)
from nvir.tune.weights import Dealing, RunWeights, anchor, kernel_loops, once, weights
from tests.equivalence import same_behaviour
from tests.gpu.test_launch import Timed

SM_80 = sm.profile("sm_80")
EXAMPLES = Path(__file__).parents[2] / "examples" / "ptx"
needs_ptxas = pytest.mark.skipif(
    not available("ptxas", "nvdisasm"), reason="needs ptxas and nvdisasm"
)

# out[t] = sum of a[t + 32·i], i < n
SUM = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 out, .param .u32 n)
{
  .reg .pred %p<3>; .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [out];
  ld.param.u32 %r1, [n];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  mov.f32 %f1, 0f00000000;
  setp.lt.s32 %p1, %r1, 1;
  @%p1 bra DONE;
  mov.u32 %r3, 0;
LOOP:
  .pragma "nounroll";
  ld.global.f32 %f2, [%rd4];
  fma.rn.f32 %f1, %f2, %f2, %f1;
  add.s64 %rd4, %rd4, 128;
  add.s32 %r3, %r3, 1;
  setp.lt.s32 %p2, %r3, BOUND;
  @%p2 bra LOOP;
DONE:
  st.global.f32 [%rd5], %f1;
  ret;
}
"""
UNKNOWN, KNOWN = SUM.replace("BOUND", "%r1"), SUM.replace("BOUND", "48")
REST = KNOWN.replace("mov.u32 %r3, 0;", "and.b32 %r3, %r1, 3;").replace(
    "add.s32 %r3, %r3, 1;", "add.s32 %r3, %r3, -1;").replace(
    "lt.s32 %p2, %r3, 48", "ne.s32 %p2, %r3, 0")


def kernel_of(text: str):
    read = read_ptx(text)
    module = numbered(read, read.kernels)
    module["k"].analyze_cfg()
    return module, module["k"]


def every(text: str):
    module, k = kernel_of(text)
    ctx = context(module, SM_80)
    known, most = known_trips(k), most_trips(k)
    for s in loop_settings(k.loops()[0], known.get("LOOP"), most.get("LOOP")):
        made, why = changed(k, Choices((("LOOP", s),)), "k", ctx)
        yield s, made, why


@pytest.mark.parametrize("text", [UNKNOWN, KNOWN], ids=["unknown", "known"])
def test_every_candidate_does_what_the_kernel_does(text):
    before = read_ptx(text)
    tried = set()
    for setting, made, why in every(text):
        if setting.apart:  # it stores nothing
            assert why == "nothing in it may overlap"
            continue
        assert made is not None, why
        after = read_ptx(text)
        after.functions[0] = after.order[0] = made
        made.module = after
        assert same_behaviour(before, read_ptx(print_ptx(after)), "k", seed=3)
        tried.add(str(setting))
    assert {"left to ptxas", "unroll 4", "pipeline 2", "unroll 2, pipeline 1"} <= tried
    assert ("full unroll" in tried) == (text is KNOWN)


def test_counts_that_a_mask_leaves_are_rests():
    _, k = kernel_of(REST)
    assert most_trips(k) == {"LOOP": 3}
    assert [str(s) for s, _, _ in every(REST)] == ["unroll 2", "left to ptxas"]
    assert most_trips(kernel_of(UNKNOWN)[1]) == {}


def test_a_given_count_beats_a_known_one_which_beats_an_assumed_one():
    _, k = kernel_of(UNKNOWN)
    found = [kernel_loops(k, given, known, {})[0] for given, known in
             (({"LOOP": 5}, {"LOOP": 48}), ({}, {"LOOP": 48}), ({}, {}))]
    assert [(x.trips, x.source) for x in found] == [(5, "given"), (48, "known"), (95.5, "assumed")]


def codes(text: str, settings: list[LoopSetting]):
    module, k = kernel_of(text)
    ctx = context(module, SM_80)
    made = [changed(k, Choices((("LOOP", s),)), f"c{n}", ctx)[0] for n, s in enumerate(settings)]
    code = assemble(module, made, "sm_80", SM_80)
    return [code[f"c{n}"] for n in range(len(settings))], k


@needs_ptxas
def test_a_loop_runs_as_many_iterations_however_often_its_body_stands():
    settings = [LoopSetting(1), LoopSetting(2), LoopSetting(8), LoopSetting(None, 2),
                LoopSetting(free=True)]
    found, k = codes(UNKNOWN, settings)
    loops = kernel_loops(k, {"LOOP": 103}, {}, {})
    single = once(found[0].body, SM_80)
    (load,) = [i.line for i in k.loops()[0].header if i.form.reads]
    for c, setting in zip(found, settings, strict=True):
        w = weights(c.body, loops, single, SM_80)
        runs = 0.0
        for b in c.body.blocks:
            times = w.blocks.get(b.index, 1.0) * (w.trips[b.loop.header] if b.loop else 1.0)
            runs += times * sum(i.line == load and i.family == "LDG" for i in b.instructions)
        assert runs == pytest.approx(103, rel=0.05), setting


@needs_ptxas
def test_one_warp_alone_takes_the_latency_of_its_loads_and_unrolling_hides_it():
    (rolled, wide), k = codes(UNKNOWN, [LoopSetting(1), LoopSetting(8)])
    loops, single = kernel_loops(k, {"LOOP": 1000}, {}, {}), once(rolled.body, SM_80)
    near, far = (
        [kernel_time(c.body, SM_80, weights(c.body, loops, single, SM_80), level).cycles(1).one_warp
         for c in (rolled, wide)] for level in ("l1", "dram")
    )
    assert far[0] > 290_000
    assert near[0] < far[0] / 3
    assert far[1] < far[0] / 3


@needs_ptxas
def test_code_that_hardly_fits_is_timed_with_its_loads_under_way():
    """Many values wait for the loop's end: in the order that takes fewest registers each load
    would wait for the use before it."""
    many = range(20)
    text = UNKNOWN.replace(".reg .f32 %f<4>;", ".reg .f32 %f<4>, %g<20>;").replace(
        "  mov.u32 %r3, 0;", "\n".join(f"  ld.global.f32 %g{n}, [%rd4+{4 * n}];" for n in many),
    ).replace("  st.global", "\n".join(f"  add.f32 %f1, %f1, %g{n};" for n in many)
              + "\n  st.global").replace(
        "mov.f32 %f1, 0f00000000;", "mov.f32 %f1, 0f00000000;\n  mov.u32 %r3, 0;")
    text = text.replace('.pragma "nounroll";', "")
    _, k = kernel_of(text)
    (loop,) = kernel_loops(k, {}, {}, {})
    times = []
    for timed in (False, True):
        body = predicted_body(k, SM_80, {"LOOP": 8}, timed=timed)
        w = weights(body, [loop], once(predicted_body(k, SM_80), SM_80), SM_80)
        times.append(kernel_time(body, SM_80, w, "l2").cycles(16).one_warp)
    assert times[1] < 0.6 * times[0]


def predicted_time(statements: str) -> float:
    """Cycles of a warp alone of a kernel that loads at %rd1 and stores at %rd2, both apart by
    thread, by predicted code."""
    text = SUM[: SUM.index("  mov.f32 %f1,")] + statements + "\n  ret;\n}\n"
    text = text.replace(".reg .b32 %r<6>;", ".reg .b32 %r<40>; .reg .b16 %h<20>;")
    _, k = kernel_of(text.replace(".reg .f32 %f<4>", ".reg .f32 %f<40>"))
    body = predicted_body(k, SM_80, timed=True)
    return kernel_time(body, SM_80, weights(body, [], once(body, SM_80), SM_80), "l2").cycles(
        1).one_warp


def test_what_is_made_of_a_load_behind_it_waits_for_it():
    """A vector of halves is one load, which is then taken apart."""
    taken = predicted_time("ld.global.v4.u16 {%h1, %h2, %h3, %h4}, [%rd4];\n"
                           "st.global.v4.u16 [%rd5], {%h4, %h3, %h2, %h1};")
    plain = predicted_time("ld.global.u32 %r4, [%rd4];\nst.global.u32 [%rd5], %r4;")
    assert plain > float(SM_80.latency("LDG", level="l2"))
    assert plain <= taken < plain + 50


def test_what_is_made_of_a_load_stands_before_its_first_reader():
    """Of two vectors both are under way before either is taken apart."""
    halves = "ld.global.v4.u16 {%h1, %h2, %h3, %h4}, [%rd4+OFFSET];"
    both = halves.replace("OFFSET", "0") + "\n" + re.sub(
        r"%h(\d)", r"%h1\1", halves.replace("OFFSET", "256"))
    store = "st.global.v4.u16 [%rd5], {%h4, %h3, %h2, %h1};\n"
    one = predicted_time(halves.replace("OFFSET", "0") + "\n" + store)
    two = predicted_time(
        f"{both}\n{store}st.global.v4.u16 [%rd5+256], {{%h14, %h13, %h12, %h11}};")
    assert two < one + 100


def test_a_guarded_store_waits_for_what_its_guard_asks():
    """Of a short branch; arithmetic in its place does not."""
    _, k = kernel_of(SUM[: SUM.index("  mov.f32 %f1,")] + """
  ld.global.f32 %f1, [%rd4];
  mov.u32 %r4, 5;
  setp.lt.f32 %p1, %f1, 0f00000000;
  @%p1 bra J;
  mul.lo.u32 %r4, %r1, %r2;
  st.global.u32 [%rd5], %r2;
J:
  st.global.u32 [%rd4], %r4;
  ret;
}
""")
    made = [i for i in predicted_body(k, SM_80, timed=True).instructions()
            if i.family in ("FSETP", "IMAD", "STG")]
    guard = next(i for i in made if i.family == "FSETP").writes[0]
    first, _ = (i for i in made if i.family == "STG")
    assert guard in first.reads
    assert not any(guard in i.reads for i in made if i.opcode == "IMAD")


def test_prefetches_tell_how_often_a_loop_is_there():
    _, k = kernel_of(UNKNOWN.replace("ld.global.f32 %f2, [%rd4];", "prefetch.global.L2 [%rd4];"))
    (loop,) = kernel_loops(k, {}, {}, {})
    assert loop.accesses
    _, k = kernel_of(UNKNOWN.replace("ld.global.f32 %f2, [%rd4];", ""))
    (loop,) = kernel_loops(k, {}, {}, {})
    assert not loop.accesses


def test_copies_that_fold_are_told_by_the_prediction():
    """Sums of a loop without accesses are one in its four copies."""
    text = UNKNOWN.replace("ld.global.f32 %f2, [%rd4];", "")
    text = text.replace("fma.rn.f32 %f1, %f2, %f2", "//")
    _, k = kernel_of(text.replace('.pragma "nounroll";', ""))
    loops = kernel_loops(k, {"LOOP": 100}, {}, {})
    single = once(predicted_body(k, SM_80), SM_80)
    body = predicted_body(k, SM_80, {"LOOP": 4})
    runs = [Dealing(body, loops, single, SM_80, factors).run().trips[body.loops[0].header]
            for factors in ({}, {"LOOP": 4})]
    assert runs == [100, 25]


def test_what_a_pipeline_leaves_is_run_last():
    """Its kernel and the loop that does the rest have one copy each; in a prediction the rest
    stands first."""
    _, k = kernel_of(UNKNOWN)
    loops = kernel_loops(k, {"LOOP": 103}, {}, {})
    single = once(predicted_body(k, SM_80), SM_80)
    made = next(made for s, made, _ in every(UNKNOWN) if s == LoopSetting(None, 1))
    assert made is not None
    body = predicted_body(made, SM_80, timed=True)
    w = weights(body, loops, single, SM_80)
    late = {m.header: any(i.line & LATE for b in m.blocks for i in body.blocks[b].instructions)
            for m in body.loops}
    kernel, rest = sorted(late, key=late.__getitem__)
    assert not late[kernel]
    assert late[rest]
    assert (w.trips[kernel] >= 102, w.trips[rest]) == (True, 0)


def test_the_next_load_takes_the_register_of_the_last_in_code_that_is_timed():
    """So the sum of this iteration stands before the load for the next, and the branch last."""
    made = next(made for s, made, _ in every(UNKNOWN) if s == LoopSetting(None, 1))
    body = predicted_body(made, SM_80, timed=True)
    loop = next(m for m in body.loops
                if not any(i.line & LATE for i in body.blocks[m.header].instructions))
    code = body.blocks[loop.header].instructions
    names = [i.family for i in code]
    load, fused = code[names.index("LDG")], code[names.index("FFMA")]
    assert names.index("FFMA") < names.index("LDG")
    assert set(load.writes) <= set(fused.reads)
    assert not any(i.opcode.endswith("MOV") for i in code)
    assert names[-1] == "BRA"


@pytest.mark.parametrize(("statement", "made"), [
    ("mov.b32 %r2, %r1; xor.b32 %r1, %r1, %r3;", "IMAD.MOV"),  # of a register
    ("sub.s32 %r2, %r1, %r3;", "IMAD.IADD"),
    ("add.s32 %r2, %r1, %r3;", "IMAD.IADD"),
    ("mul.lo.s32 %r4, %r1, %r3; add.s32 %r2, %r1, %r3; xor.b32 %r2, %r2, %r4;", "IADD3"),
    ("add.s32 %r2, %r1, 5;", "IADD3"),  # a literal
    ("shl.b32 %r2, %r1, 3; xor.b32 %r2, %r2, %r1;", "IMAD.SHL"),
    ("shl.b32 %r2, %r1, %r3;", "SHF"),
])
def test_what_two_pipes_can_do_is_on_that_of_the_assembler_in_code_that_is_timed(statement, made):
    text = UNKNOWN.partition(".visible")[0] + """.visible .entry k(.param .u64 p) {
  .reg .b32 %r<9>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1]; ld.global.u32 %r3, [%rd1+4];
  STATEMENT
  st.global.u32 [%rd1], %r2; st.global.u32 [%rd1+4], %r1; ret;
}"""
    _, k = kernel_of(text.replace("STATEMENT", statement.replace("; ", ";\n")))
    for timed in (True, False):
        (block, *_) = predicted_body(k, SM_80, timed=timed).blocks
        assert (made in {i.opcode for i in block.instructions}) == (timed or made == "SHF")


@needs_ptxas
def test_a_loop_around_an_unrolled_one_has_one_copy():
    """It accesses nothing, and what is made in it for the copies within stands there often."""
    text = UNKNOWN.replace("  mov.u32 %r3, 0;\nLOOP:", "OUTER:\n  mov.u32 %r3, %r2;\nLOOP:")
    text = text.replace(
        "DONE:", "  add.s32 %r4, %r4, 1;\n  setp.lt.s32 %p1, %r4, 9;\n  @%p1 bra OUTER;\nDONE:"
    ).replace("  mov.f32 %f1,", "  mov.u32 %r4, 0;\n  mov.f32 %f1,")
    (rolled, wide), k = codes(text, [LoopSetting(1), LoopSetting(8)])
    loops = kernel_loops(k, {"LOOP": 100, "OUTER": 9}, {}, {})
    assert [x.accesses for x in loops] == [False, True]
    single = once(rolled.body, SM_80)
    dealt = Dealing(wide.body, loops, single, SM_80)
    w = dealt.run()
    assert [w.trips[m.header] for m in wide.body.loops if m.parent is None] == [9]
    assert dealt.executed(w) == {"LOOP": pytest.approx(900, rel=0.05)}


@pytest.mark.parametrize(("lines", "away"), [((7, 7), {1, 2}), ((7, 8), set())],
                         ids=["of the assembler", "of the text"])
def test_what_calls_a_slow_path_is_run_as_seldom(lines, away):
    """0 → 1 (calls 5) → 2 → 4 beside 0 → 3 → 4; a routine of many lines is the text's."""
    blocks = [BodyBlock(n) for n in range(6)]
    for b, succs in zip(blocks, ([1, 3], [2], [4], [4], [], []), strict=True):
        b.succs = succs
        b.instructions = [BodyInstruction("MOV", line=1)]
    blocks[1].callee = 5
    blocks[5].instructions = [BodyInstruction("MOV", line=n) for n in lines]
    body = MachineBody("k", "sm_80", blocks, source="sass")
    w = weights(body, [], {}, SM_80)
    assert {n for n, share in w.blocks.items() if share == 0} == {5, *away}


def test_copies_are_counted_by_all_that_a_loop_does_where_accesses_have_other_lines():
    _, k = kernel_of(UNKNOWN)
    (load,) = [i.line for i in k.loops()[0].header if i.form.reads]
    (loop,) = kernel_loops(k, {}, {}, {})
    single = once(predicted_body(k, SM_80), SM_80)
    anchor([loop], single)
    assert loop.anchors == {load}
    assert loop.accesses
    del single[-load]
    anchor([loop], single)
    assert loop.anchors == loop.own
    assert not loop.accesses


def test_full_occupancy_costs_what_issue_slots_and_latency_leave():
    (rolled,), k = codes(UNKNOWN, [LoopSetting(1)])
    w = weights(rolled.body, kernel_loops(k, {"LOOP": 1000}, {}, {}), once(rolled.body, SM_80),
                SM_80)
    time = kernel_time(rolled.body, SM_80, w, "l2")
    one, many, endless = map(time.cycles, (1, 4, 10_000))
    assert one.full == pytest.approx(one.one_warp)
    assert many.full == pytest.approx(one.one_warp / 4, rel=0.01)
    assert 6000 <= endless.full < many.full  # six instructions an iteration


@needs_ptxas
def test_what_is_taken_makes_no_figure_worse_and_is_what_was_judged():
    module = read_ptx(UNKNOWN)
    found = tune(module, SM_80, "sm_80", Launches(block=128, trips={"k:LOOP": 4096}))
    (k,) = found.kernels
    base, won = k.candidates[0], k.winner
    assert base.settings == AS_IT_IS
    assert k.chosen
    assert won.cycles.one_warp < base.cycles.one_warp
    assert won.cycles.full <= base.cycles.full * WORSE
    assert tuned(module, found, SM_80) == ["k"]
    assert same_behaviour(read_ptx(UNKNOWN), read_ptx(print_ptx(module)), "k", seed=5)
    from nvir.toolchain import ptxas

    assert ptxas(print_ptx(module), "sm_80").kernels["k"].registers == won.registers


def test_what_room_there_is_goes_to_all_loops_and_what_is_left_out_is_said():
    """Of two kernels the one without loops takes none of the room; each loop has its turn."""
    text = (EXAMPLES / "softmax.sm_80.ptx").read_text()
    module = read_ptx(text + ".visible .entry none()\n{\n" + "ret;\n}\n")
    size = sum(map(len, module["softmax"].blocks))
    found = tune(module, SM_80, "sm_80", Launches(most=6 * size), judge="model")
    softmax = found.kernels[0]
    out = {header for s, why in softmax.refused if why == FULL for header, _ in s.loops}
    tried = {p for c in softmax.candidates for p in c.settings.loops}
    assert out
    assert {(x.name, LoopSetting(8)) for x in softmax.loops} <= tried
    lines = [line for line, _ in tuning_lines(found, module)]
    left = sum(why == FULL for _, why in softmax.refused)
    assert any(f"{left} settings were not tried" in line for line in lines)


def test_large_kernels_have_their_turn_beside_small_ones():
    """Room for the small kernels' loops one by one, and for some turns of the large one's."""
    text = (EXAMPLES / "softmax.sm_80.ptx").read_text()
    kernel = UNKNOWN[UNKNOWN.index(".visible"):]
    module = read_ptx(text + "".join(kernel.replace("k(", f"k{n}(", 1) for n in range(16)))
    size = sum(map(len, module["softmax"].blocks))
    large, *small = tune(
        module, SM_80, "sm_80", Launches(most=20 * size), judge="model").kernels
    tried = {p for c in large.candidates for p in c.settings.loops}
    assert {(x.name, LoopSetting(8)) for x in large.loops} <= tried
    assert any(len(k.candidates) > 2 for k in small)


@needs_ptxas
def test_what_there_was_no_room_for_is_tried_of_loops_that_gain():
    """Of many kernels some settings are left out; a loop that gains has more of them tried."""
    kernel = UNKNOWN[UNKNOWN.index(".visible"):]
    module = read_ptx(UNKNOWN + "".join(kernel.replace("k(", f"k{n}(", 1) for n in range(5)))
    size = sum(map(len, module["k"].blocks))
    found = tune(module, SM_80, "sm_80", Launches(most=150 * size))
    for k in found.kernels:
        out = {s for s, why in k.refused if why == FULL}
        assert k.left_out == len(out) > 0
        assert not out & {c.settings for c in k.candidates}
        assert k.winner.cycles.full * WORSE < k.candidates[0].cycles.full
    document = tuning_json(found)["kernels"][0]["not_tried"]
    assert document == {"count": found.kernels[0].left_out, "reason": FULL}
    assert any("--kernel NAME" in line for line, _ in tuning_lines(found, module))
    alone = tune(module, SM_80, "sm_80", kernels=["k"])
    assert tuning_json(alone)["kernels"][0]["not_tried"] == {"count": 0, "reason": None}


@needs_ptxas
def test_settings_of_all_loops_at_a_time_find_what_those_of_each_do():
    """Where there is no room for each loop by itself, a candidate tells of every loop in it."""
    module = read_ptx(EXAMPLES / "softmax.sm_80.ptx")
    size = sum(map(len, module["softmax"].blocks))
    alone, jointly = (
        tune(module, SM_80, "sm_80", Launches(most=most)).kernels[0]
        for most in (10_000 * size, 20 * size)
    )
    loops = {x.name for x in alone.loops}
    several = [c for c in jointly.candidates if {h for h, _ in c.settings.loops} == loops]
    assert len(several) > len([c for c in alone.candidates if len(c.settings.loops) == len(loops)])
    assert jointly.tried < alone.tried
    assert jointly.winner.cycles.full <= alone.winner.cycles.full * WORSE


@pytest.mark.parametrize(("work", "waits"), [(1, True), (60, False)])
def test_loads_run_ahead_only_where_the_loop_waits_at_full_occupancy(work: int, waits: bool):
    line = "  fma.rn.f32 %f1, %f2, %f2, %f1;\n"
    module = read_ptx(UNKNOWN.replace(line, line * work))
    found = tune(module, SM_80, "sm_80", judge="model").kernels[0]
    tried = [s for c in (*(c.settings for c in found.candidates), *(s for s, _ in found.refused))
             for _, s in c.loops]
    assert any(s.unroll == 8 for s in tried)
    assert any(s.depth for s in tried) == waits


@pytest.mark.parametrize(("often", "tried"), [(2, False), (4000, True)])
def test_a_loop_of_few_cycles_is_left_as_it_is(often: int, tried: bool):
    """One loop runs 4000 times, the other so often."""
    text = UNKNOWN.replace("DONE:", """DONE:
  mov.u32 %r4, 0;
OTHER:
  add.f32 %f1, %f1, %f1;
  add.s32 %r4, %r4, 1;
  setp.lt.s32 %p2, %r4, %r1;
  @%p2 bra OTHER;""")
    trips = {"LOOP": 4000, "OTHER": often}
    found = tune(read_ptx(text), SM_80, "sm_80", Launches(trips=trips), judge="model").kernels[0]
    names = {h for c in found.candidates if len(c.settings.loops) == 1
             for h, _ in c.settings.loops}
    assert "LOOP" in names
    assert ("OTHER" in names) == tried


def test_code_of_no_instruction_costs_nothing():
    body = MachineBody("k", "sm_80", [], source="model")
    assert kernel_time(body, SM_80, RunWeights({}, {}), "l2").cycles(4).full == 0


def test_advice_says_what_to_write_and_where():
    text = UNKNOWN.replace(".address_size 64", ".address_size 64\n.file 1 \"dir/k.cu\"").replace(
        "  ld.global.f32 %f2", "  .loc 1 17 3\n  ld.global.f32 %f2")
    module = read_ptx(text)
    said = advice(module, "k", Choices((("LOOP", LoopSetting(4)),), ("minnctapersm", 3)), 256)
    assert said == ["#pragma unroll 4 at k.cu:17", "__launch_bounds__(256, 3) on the kernel"]
    few = Choices(launch=("maxnreg", 32))
    (said,) = advice(module, "k", few, 256)
    assert said == "__maxnreg__(32) on the kernel, or -maxrregcount=32"
    module["k"].directives["maxntid"] = (256,)  # nvcc passes over the option then
    (said,) = advice(module, "k", few, 256)
    assert said == "__maxnreg__(32) on the kernel"
    (said,) = advice(read_ptx(UNKNOWN), "k", Choices((("LOOP", LoopSetting(0)),)), 256)
    assert said == "#pragma unroll at LOOP (line 21)"


def test_a_factor_to_write_holds_the_front_ends() -> None:
    text = "ld.global.f32 %f1, [%rd1];" * 4
    module = read_ptx(f""".version 8.0
.target sm_80
.address_size 64
.file 1 "k.cu"
.visible .entry k(.param .u64 a) {{
.reg .pred %p<2>; .reg .b32 %r<2>; .reg .f32 %f<2>; .reg .b64 %rd<2>;
ld.param.u64 %rd1, [a]; mov.u32 %r1, 0;
L: .loc 1 8 5
{text}
.loc 1 7 3
add.s32 %r1, %r1, 4; setp.lt.s32 %p1, %r1, 96; @%p1 bra L; ret; }}
""")
    module.functions[0].analyze_cfg()
    setting = LoopSetting(2, free=True)
    assert advice(module, "k", Choices((("L", setting),)), 256) == [
        "#pragma unroll 8 at k.cu:7 (4 copies are in the PTX already: 4 × 2)"]



def invoke(*args: str):
    return CliRunner().invoke(main, ["tune", *args])


def test_the_command_prints_json_of_its_schema(tmp_path):
    file, out = tmp_path / "k.ptx", tmp_path / "o.ptx"
    file.write_text(KNOWN)
    done = invoke(str(file), "--model", "--json", "-o", str(out), "--trip", "LOOP=47.5")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["schema"] == "nvir.tune/1"
    assert document["judge"] == "model"
    (k,) = document["kernels"]
    assert k["name"] == "k"
    assert [c["id"] for c in k["candidates"]] == list(range(len(k["candidates"])))
    assert set(k["candidates"][0]) >= {
        "id", "settings", "registers", "spill_bytes", "blocks_per_sm", "cycles"}
    assert set(k["candidates"][0]["cycles"]) == {"one_warp", "full"}
    assert k["loops"] == [{"header": "LOOP", "trips": 47.5, "copies": 1, "source": "given"}]
    assert "entry k" in out.read_text()


@needs_ptxas
def test_what_is_timed_stands_beside_what_is_judged():
    module = read_ptx(UNKNOWN)
    found = tune(module, SM_80, "sm_80", judge="model")
    (k,) = found.kernels
    timed = [c.id for c in k.candidates if c.is_pareto or c.id in (0, k.chosen)]
    assert len(timed) > 2
    ms = [2.0, *(1.5 - n / 10 for n in range(len(timed) - 1))]
    driver = Timed(*(t for t in ms for _ in range(21)))
    args = [np.zeros(64, np.float32), np.zeros(64, np.float32), 4]
    measure(k, module, SM_80, (1,), (32,), args, driver=driver)
    assert not driver.times
    assert [c.measured for c in k.candidates if c.measured] == [1000 * t for t in ms]
    assert k.chosen == timed[-1]
    text = "\n".join(line for line, _ in tuning_lines(found, module))
    assert "measured" in text
    assert "2000.0 µs (1.00)" in text
    shown = tuning_json(found)["kernels"][0]["candidates"]
    assert [c["id"] for c in shown if "measured_us" in c] == timed
    k.candidates = [attrs.evolve(c, measured=None) for c in k.candidates]
    measure(k, module, SM_80, (1,), (32,), args, driver=Timed(*[1.0] * 22 * len(timed)))
    assert k.chosen == 0


@pytest.mark.parametrize(("args", "message"), [
    (["--grid", "4"], "are for --measure"),
    (["--measure", "--grid", "4"], "needs --grid and --block"),
    (["--measure", "--grid", "4", "--block", "32"], "takes 3 arguments, 0 given"),
    (["--measure", "--grid", "4", "--block", "32", "--arg", "zeros:f32[64]", "--arg",
      "zeros:f32[64]", "--arg", "4"], "needs an NVIDIA GPU"),
])
def test_what_measuring_needs_is_said(tmp_path, monkeypatch, args, message):
    monkeypatch.setattr(gpu, "available", lambda: False)
    (tmp_path / "k.ptx").write_text(UNKNOWN)
    done = CliRunner().invoke(main, ["tune", str(tmp_path / "k.ptx"), "--model", *args])
    assert done.exit_code in (1, 2)
    assert message in " ".join(done.output.split())


def test_other_commands_tune_as_well(tmp_path):
    file, out = tmp_path / "k.ptx", tmp_path / "o.ptx"
    file.write_text(UNKNOWN)
    done = CliRunner().invoke(main, ["opt", str(file), "-p", "dce,tune", "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert "→" in done.output
    assert same_behaviour(read_ptx(UNKNOWN), read_ptx(out.read_text()), "k", seed=7)
    assert out.read_text().count("nounroll") != 1
    done = CliRunner().invoke(main, ["explain", str(file), "--tune", "--json", "--no-vary"])
    document = json.loads(done.stdout)
    assert document["tune"]["schema"] == "nvir.tune/1"
    settings = [c["settings"]["loops"] for c in document["tune"]["kernels"][0]["candidates"]]
    assert {"LOOP": {"unroll": 4, "depth": 0, "free": False, "apart": False,
                     "converted": False, "vectors": False}} in settings


@pytest.mark.parametrize(("args", "message"), [
    (["--trip", "LOOP"], "is not HEADER=N"), (["--trip", "other:LOOP=4"], "no loop 'other:LOOP'"),
    (["--trip", "LOOP=0"], "is not HEADER=N"), (["--trip", "LOOP=1e3"], "is not HEADER=N"),
    (["--trip", f"LOOP={(1 << 40) + 1}"], f"with N above 0, up to {1 << 40}"),
    (["--trip", "ELSEWHERE=8"], "no loop 'ELSEWHERE'"),
    (["--kernel", "none"], "no function 'none'"),
    (["--backend", "nvcc", "-"], "compiles a .cu file"),
])
def test_what_the_command_refuses(tmp_path, args, message):
    file = tmp_path / "k.ptx"
    file.write_text(KNOWN)
    done = invoke(*([] if "-" in args else [str(file)]), *args)
    assert done.exit_code == 2
    assert message in done.output


def test_a_file_without_kernels_has_nothing_to_tune(tmp_path):
    file = tmp_path / "f.ptx"
    file.write_text(".version 8.0\n.target sm_80\n.address_size 64\n.visible .func f() { ret; }\n")
    done = invoke(str(file))
    assert (done.exit_code, "there is no kernel to tune" in done.output) == (1, True)


@needs_ptxas
def test_counts_of_the_other_loops_do_not_hang_on_which_is_asked_for():
    text = UNKNOWN.replace("DONE:", """DONE:
  mov.u32 %r4, 16;
HALVE:
  shfl.sync.bfly.b32 %r5, %r3, %r4, 31, -1;
  add.u32 %r3, %r3, %r5;
  shr.u32 %r5, %r4, 1;
  setp.gt.u32 %p2, %r4, 1;
  mov.u32 %r4, %r5;
  @%p2 bra HALVE;
  st.global.u32 [%rd5+128], %r3;""", 1)
    found = [
        tune(read_ptx(text), SM_80, "sm_80", Launches(loop=loop), judge="sass").kernels[0]
        for loop in ("", "LOOP")
    ]
    counts = [{x.name: (x.trips, x.source) for x in k.loops} for k in found]
    assert counts[0]["HALVE"] == counts[1]["HALVE"] == (5, "known")
    assert found[0].candidates[0].cycles == found[1].candidates[0].cycles
    assert not any(n == "HALVE" for c in found[1].candidates for n, s in c.settings.loops
                   if s != LoopSetting(1))


@pytest.mark.parametrize(("full", "chosen"), [(90.8, 2), (91.0, 1)])
def test_of_equal_candidates_the_one_of_more_blocks_wins(full: float, chosen: int):
    """Within a hundredth of the best; one that is slower does not win by its blocks."""
    found = KernelTuning("k", [], 128, False, [
        judged(0, 1, 100.0), judged(1, 1, 90.0), judged(2, 2, full)])
    search = object.__new__(_Search)
    search.found = found
    search.choose(1.0)
    assert found.chosen == chosen


@pytest.mark.parametrize(("setting", "one_warp", "error", "is_taken"), [
    (LoopSetting(2), 900.0, MODEL_ERROR, True), (LoopSetting(2), 950.0, MODEL_ERROR, False),
    (LoopSetting(2), 950.0, 1.0, True),  # by real code
    (LoopSetting(apart=True), 580.0, MODEL_ERROR, True),
    (LoopSetting(vectors=True), 600.0, MODEL_ERROR, False),
    (LoopSetting(converted=True), 100.0, MODEL_ERROR, False),
])
def test_a_prediction_is_followed_where_a_warp_alone_gains_more_than_it_is_wrong(
    setting: LoopSetting, one_warp: float, error: float, is_taken: bool
):
    found = KernelTuning("k", [], 128, False, [
        judged(0, 1, 100.0), judged(1, 1, 90.0, one_warp, Choices((("LOOP", setting),)))])
    search = object.__new__(_Search)
    search.found = found
    search.choose(error)
    assert found.chosen == is_taken


def judged(
    id: int, blocks: int, full: float, one_warp: float = 1000.0, settings: Choices = AS_IT_IS
) -> Judged:
    return Judged(id, settings, 32, 0, blocks, Cycles(one_warp, full), KernelTime({}, {}, {}), 0,
                  {})


@needs_ptxas
@pytest.mark.parametrize(("options", "told"), [
    (["--arch", "sm_12"], "ptxas refuses it for sm_12: Value 'sm_12' is not defined"),
    (["--dynamic-smem", "9999999"], "no block of 128 threads fits on an SM, for its shared memory"),
    (["--dynamic-smem", "100"], ""),
])
def test_why_a_kernel_has_no_candidates_is_told(options, told, tmp_path):
    (tmp_path / "k.ptx").write_text(""".version 8.0
.target sm_80
.address_size 64
.extern .shared .align 4 .b8 s[];
.visible .entry k(.param .u64 a) .reqntid 128 {
.reg .pred %p; .reg .b32 %r; .reg .b64 %a;
ld.param.u64 %a, [a]; mov.u32 %r, 0;
L: st.global.u32 [%a], %r; add.u32 %r, %r, 1; setp.lt.u32 %p, %r, 9; @%p bra L;
ret; }
""")
    done = CliRunner().invoke(main, ["tune", str(tmp_path / "k.ptx"), *options])
    assert (done.exit_code, told in done.output) == (bool(told), True), done.output


def nest(depth: int) -> str:
    """Loops in each other around one store."""
    heads = "".join(f"mov.u32 %r{k}, 0; L{k}:\n" for k in range(3, depth + 3))
    tails = "".join(f"add.u32 %r{k}, %r{k}, 1; setp.lt.u32 %p1, %r{k}, %r1; @%p1 bra L{k};\n"
                    for k in reversed(range(3, depth + 3)))
    return f""".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n) {{
.reg .pred %p<2>; .reg .b32 %r<{depth + 3}>; .reg .b64 %rd<2>;
ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n];
{heads}st.global.u32 [%rd1], %r{depth + 2};
{tails}ret; }}
"""


def test_of_a_deep_nest_the_outer_loops_are_gone_through_once(monkeypatch: pytest.MonkeyPatch):
    """Twice for each level did not end for 20; of 200 the iterations are no number any more."""
    gone: list[int] = []
    block = judge._Walk._block

    def counted(walk: judge._Walk, b: int, times: float) -> None:
        gone.append(b)
        block(walk, b, times)

    monkeypatch.setattr(judge._Walk, "_block", counted)
    blocks = {}
    for depth in (4, 20, 200):
        gone.clear()
        found = tune(read_ptx(nest(depth)), SM_80, "sm_80", Launches(loop=" "), judge="model")
        base = found.kernels[0].candidates[0]
        assert math.isfinite(base.cycles.full)
        assert 0 < base.cycles.full <= base.cycles.one_warp
        blocks[depth] = len(gone)
    assert blocks[20] < 8 * 2**judge.TWICE
    assert blocks[200] < blocks[20] + 40 * 180


@pytest.mark.parametrize(("left", "regions", "expected"), [
    (0.875, {1: [(5, True)]}, {5: 0.875}),  # an eighth stands before it, of a loop that runs once
    (2.5, {4: [(3, True)], 1: [(5, True)]}, {5: 2.5}),
    (9.5, {4: [(3, True)], 1: [(5, True)]}, {3: 2.0, 5: 1.5}),
    (0.5, {4: [(3, True)], 1: [(5, True)]}, {5: 0.5}),
    (0.0, {1: [(5, True)]}, {}),
])
def test_a_share_of_a_round_is_not_lost(left, regions, expected):
    dealing = object.__new__(Dealing)
    dealing.late = set()
    taken: defaultdict[int, float] = defaultdict(float)
    dealing._share(left, regions, 1, taken, 1)
    assert {k: n for k, n in taken.items() if n} == expected


@pytest.mark.parametrize(("middle", "part"), [("@%p1 bra OUT;", 2 / 3), ("", 0.0)])
def test_what_stands_before_an_exit_in_the_middle_runs_once_more(middle: str, part: float):
    """As nvcc's copies of a count that they do not divide: two of three loads run once more."""
    load = "ld.global.f32 %f2, [%rd1]; add.f32 %f1, %f1, %f2;\n"
    module = read_ptx(f""".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a) {{
.reg .pred %p<3>; .reg .b32 %r<3>; .reg .f32 %f<3>; .reg .b64 %rd<2>;
ld.param.u64 %rd1, [a]; mov.f32 %f1, 0f00000000; mov.u32 %r1, 0;
L: {load * 2}setp.eq.s32 %p1, %r1, 9; {middle}
{load}add.s32 %r1, %r1, 1; {"bra L;" if middle else "setp.ne.s32 %p2, %r1, 9; @%p2 bra L;"}
OUT: st.global.f32 [%rd1], %f1; ret; }}
""")
    module = numbered(module, module.kernels)
    module["k"].analyze_cfg()
    (loop,) = kernel_loops(module["k"], {}, {"L": 9}, {})
    assert loop.part == pytest.approx(part)
    assert loop.of_source == pytest.approx(9 + part)
    (loop,) = kernel_loops(module["k"], {"L": 9.5}, {"L": 9}, {})  # who says it says all of it
    assert loop.of_source == pytest.approx(9.5)


@pytest.mark.parametrize(("rest", "trips"), [(True, 23.5), (False, 95.5 / 4)])
def test_copies_without_a_rest_are_assumed_to_run_all_iterations(rest: bool, trips: float):
    """Each copy has an exit then: nothing else does what a whole number of rounds leaves."""
    module = read_ptx(UNKNOWN)
    module["k"].analyze_cfg()
    (loop,) = natural_loops(module["k"])
    parts = [LoopPart(loop, 4, "main"), *[LoopPart(loop, 1, "remainder")] * rest]
    group = SourceLoop((), tuple(parts))
    name = str(loop.header.name)
    (found,) = kernel_loops(module["k"], {}, {}, {}, {name: (group, parts[0])})
    assert found.trips == pytest.approx(trips)
