"""Policy `documented` of licm: the tables of the notes, number by number, and the five stages."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import attrs
import pytest

import nvir
from nvir.analysis.analyses import Analyses
from nvir.analysis.hoisting.nest import Nest
from nvir.analysis.hoisting.region import survey
from nvir.analysis.liveness import liveness
from nvir.analysis.pressure import loop_pressures
from nvir.assembler.hoist import tables
from nvir.assembler.hoist.score import Verdict
from nvir.assembler.hoist.tables import Mode, Policy381
from nvir.documented.hoist import core as licm_core
from nvir.documented.hoist import sets as licm_sets
from nvir.documented.hoist import stages
from nvir.documented.policy import core_knobs
from nvir.ir.text.trace import Trace, shown
from nvir.passes.context import Context
from nvir.passes.knobs import KnobKind, Knobs, knob
from nvir.passes.loop import licm
from nvir.passes.phases import check_phase_order, phase
from nvir.passes.registry import all_passes

HEADER = """.version 8.6
.target sm_80
.address_size 64
.const .align 4 .b8 table[64];
.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)
{
.shared .align 4 .b8 tile[256];
.reg .pred %p<30>; .reg .b32 %r<90>; .reg .f32 %f<60>; .reg .b64 %rd<30>;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r1, [n];
mov.u32 %r3, %tid.x; mul.wide.u32 %rd4, %r3, 4; add.s64 %rd5, %rd2, %rd4;
mov.u32 %r4, 0; mov.u32 %r2, 0;
"""
TAIL = "st.global.u32 [%rd5], %r4; ret; }"
STEP = "add.s32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra L;\n"
NEST = (
    """L: mov.u32 %r5, 0; {outer}
M: {inner} add.s32 %r4, %r4, %r10; add.s32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, %r3; @%p2 bra M;
"""
    + STEP
)


def single(body: str, used: str = "%r10") -> nvir.Module:
    return nvir.read_ptx(f"{HEADER}L: {body}\nadd.s32 %r4, %r4, {used};\n{STEP}{TAIL}")


def nested(inner: str = "xor.b32 %r10, %r3, 7;", outer: str = "") -> nvir.Module:
    return nvir.read_ptx(HEADER + NEST.format(inner=inner, outer=outer) + TAIL)


def loop_of(module: nvir.Module, label: str = "L"):
    module["k"].analyze_cfg()
    return next(x for x in module["k"].loops() if x.header.name == label)


def run(module: nvir.Module, id: int = 0, **knobs):
    return nvir.run_passes(module, f"licm<id={id}>", policy="documented", knobs=knobs, verify=True)


def names(remarks) -> list[str]:
    return [r.name for r in remarks]


# --------------------------------------------------------------------- instances


@pytest.mark.seed("LIC-01")
def test_four_instances_of_one_pass():
    row = all_passes()["licm"]
    assert row.phases == tables.PHASES
    assert [phase(n).name for n in row.phases] == [tables.NAMES[k] for k in range(4)]
    assert all(phase(n).passes == ("licm",) for n in row.phases)


@pytest.mark.seed("LIC-02")
def test_order_of_the_instances():
    order = [29, 34, 35, 63, 65, 66, 78, 79, 87, 88]
    assert check_phase_order(order) == []
    for wrong in ([35, 29], [66, 65], [66, 63], [79, 78], [88, 87]):
        assert check_phase_order(wrong)


TWO_ENTRIES = (
    f"{HEADER}setp.eq.u32 %p9, %r3, 1; @%p9 bra L; mov.u32 %r2, 1;\n"
    f"L: mul.lo.u32 %r10, %r3, %r1; xor.b32 %r4, %r4, %r10;\n{STEP}{TAIL}"
)


def annotated(function) -> dict[str, tuple]:
    return {b.name: (b.rpo_index, b.loop_depth, b.idom and b.idom.name) for b in function.blocks}


@pytest.mark.seed("LIC-03")
def test_annotations_are_renewed_after_every_instance():
    """The real tool does so by hand after the first; here the driver does for any pass that
    changed the control flow, so that depths and numbers are those of the new function."""
    for pass_id in (0, 3):  # it does not pay for the others, which divide by a header's 200
        module = nvir.read_ptx(TWO_ENTRIES)
        function = module["k"]
        before = {b.name for b in function.blocks}
        nvir.run_passes(module, f"licm<id={pass_id}>", policy="documented", verify=True)
        (made,) = {b.name for b in function.blocks} - before
        assert function.cfg_state == "fresh"
        now = annotated(function)
        assert now["L"] == (now[made][0] + 1, 1, made)
        assert now[made][1] == 0
        function.analyze_cfg()
        assert annotated(function) == now
        nvir.run_passes(module, "licm<id=1>", policy="documented", verify=True)
        assert annotated(function) == now  # the next finds the preheader and makes none


@pytest.mark.seed("LIC-07")
def test_an_instance_begins_with_the_pressure_and_depths_of_what_the_one_before_left():
    def prepared(module):
        ctx = Context(module, Knobs(policy="documented"))
        core = licm_core.Core(ctx, 1, Nest(module["k"]), lambda header: licm_core.CoreKnobs())
        return {b.name: (n, b.loop_depth) for b, n in core.prepared.pressures.items()}

    module = nested("mul.lo.u32 %r10, %r3, %r1; xor.b32 %r10, %r10, %r2;")
    module["k"].analyze_cfg()
    before = prepared(module)
    run(module)
    after = prepared(module)
    again = nvir.parse_ir(nvir.print_ir(module))
    again["k"].analyze_cfg()
    assert after == prepared(again)
    assert (before, after) == ({"L": (8, 1), "M": (8, 2)}, {"L": (9, 1), "M": (9, 2)})


@pytest.mark.seed("LIC-26")
@pytest.mark.parametrize(("operation", "why"), [
    ("call f;", "it is a call"), ("st.global.u32 [%rd1], %r1;", "it writes memory"),
    ("atom.global.add.u32 %r10, [%rd1], %r1;", "it writes what it reads"),
    ("red.global.add.u32 [%rd1], %r1;", "it writes memory"),
])
def test_each_effect_has_its_reason(operation, why):
    text = f"{HEADER}L: {operation} add.s32 %r4, %r4, %r2;\n{STEP}{TAIL}"
    with Trace() as trace:
        run(nvir.read_ptx(text.replace(".visible", ".extern .func f;\n.visible")))
    told = [e.outcome for e in trace.of("LIC-26") if e.step == "stays"]
    assert len(told) == 1
    assert list(told[0].values()) == [why]


@pytest.mark.seed("LIC-32")
def test_only_an_instance_that_moved_something_has_the_analyses_made_again():
    for body, moves in (("mul.lo.u32 %r10, %r3, %r1;", True), ("add.u32 %r10, %r2, 7;", False)):
        module = single(body)
        function = module["k"]
        function.analyze_cfg()
        known = Analyses.of(function).liveness
        assert ("Hoisted" in names(run(module))) == moves
        assert (Analyses.of(function).liveness is not known) == moves


@pytest.mark.seed("LIC-32")
def test_the_list_is_made_anew_where_the_back_edges_block_leads_on():
    """Not for the number of back edges: the notes count the ways out of its block."""
    top = "L: setp.ge.u32 %p1, %r2, %r1; @%p1 bra X; mul.lo.u32 %r10, %r1, %r1;" \
        "add.u32 %r3, %r3, %r10; add.u32 %r2, %r2, 1; bra L; X:"
    bottom = "L: mul.lo.u32 %r10, %r1, %r1; add.u32 %r3, %r3, %r10; add.u32 %r2, %r2, 1;" \
        "setp.lt.u32 %p1, %r2, %r1; @%p1 bra L;"
    head = """.version 8.0\n.target sm_80\n.address_size 64
.visible .entry k(.param .u64 o, .param .u32 n) {
.reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [o]; ld.param.u32 %r1, [n]; mov.u32 %r2, 0; mov.u32 %r3, 0;\n"""
    for text, again in ((bottom, True), (top, False)):
        module = nvir.read_ptx(head + text + "st.global.u32 [%rd1], %r3; ret; }")
        with Trace() as trace:
            nvir.run_passes(module, "licm", policy="documented", knobs={"HoistBudget": 0})
        (event,) = trace.of("LIC-32")
        assert event.outcome is again
        assert event.inputs["changed"] is True
        assert len(event.inputs["successors"]) == 1 + again


@pytest.mark.seed("LIC-28")
def test_knob_484_tells_whether_what_is_chosen_moves():
    for enabled, said in ((True, "all of it moves"), (False, "nothing moves")):
        module = single("mul.lo.u32 %r10, %r3, %r1;")
        with Trace() as trace:
            nvir.run_passes(module, "licm", policy="documented", knobs={"mover-enable": enabled})
        (gate,) = [e for e in trace.of("LIC-28") if e.step == "6 knob 484"]
        assert (gate.inputs["enabled"], gate.outcome) == (enabled, said)
        assert len(gate.inputs["chosen"]) == 1
        assert any(e.step == "7 moved in all" for e in trace.of("LIC-28")) is enabled


@pytest.mark.seed("LIC-22", "LIC-17", "LIC-26")
def test_hoisting_tells_what_its_numbers_and_refusals_come_from():
    """Latencies of what counts; what may be written where a load stays."""
    with Trace() as trace:
        run(single("mul.lo.u32 %r10, %r3, %r1; ld.global.u32 %r11, [%rd1];"
                   "st.global.u32 [%rd2], %r2;"))
    score = trace.of("LIC-22")[0].outcome
    (counted,) = score["operations"]
    assert counted["operation"].startswith("mul.lo.u32 %r10")
    assert score["penalty"] == (2 if counted["latency"] > 4 or counted["scoreboard"] else 0)
    assert score["score"] == 1 + 5 * counted["scoreboard"]
    right = next(e for e in trace.of("LIC-26") if e.step == "right to move")
    assert any("st.global" in x for x in right.inputs["hazards"])
    (kept,) = right.inputs["stay"]
    assert kept.startswith("ld.global.u32 %r11")
    assert kept in str(trace.of("LIC-17")[0].inputs["stay"])


# ----------------------------------------------------------------------- knob 381

LITERAL = {
    (0, 0): "HOIST", (0, 1): "SKIP", (0, 2): "SKIP", (0, 3): "SKIP",
    (1, 0): "SKIP", (1, 1): "HOIST", (1, 2): "SKIP", (1, 3): "SKIP",
    (3, 0): "CONSERVATIVE", (3, 1): "CONSERVATIVE", (3, 2): "SKIP", (3, 3): "SKIP",
}


@pytest.mark.seed("LIC-04", "KNB-72", "GAP-20")
@pytest.mark.parametrize("pass_id", range(4))
def test_block_policy(pass_id):
    for value in (0, 1, 3):
        literal = tables.block_policy(value, pass_id, inner=False, literal=True)
        assert literal.name == LITERAL[value, pass_id]
    for inner in (False, True):

        def repaired(v, inner=inner):
            return tables.block_policy(v, pass_id, inner=inner, literal=False)

        assert repaired(0) is repaired(None) is repaired(2) is Policy381.HOIST
        assert repaired(3) is Policy381.SKIP
        hoists = pass_id == 1 or (pass_id == 0 and inner)
        assert (repaired(1) is Policy381.HOIST) == hoists
    assert tables.block_policy(None, pass_id, inner=False, literal=True) is Policy381.HOIST


@pytest.mark.seed("LIC-36")
@pytest.mark.parametrize("level", range(4))
def test_the_level_takes_part_in_should_hoist(level):
    """Level 0 hoists nowhere, 1 in the early instance, 2 and 3 in all."""
    hoists = [
        tables.block_policy(None, k, inner=False, literal=True, level=level) is Policy381.HOIST
        for k in range(4)
    ]
    assert hoists == {0: [False] * 4, 1: [True, False, False, False]}.get(level, [True] * 4)
    assert tables.block_policy(None, 3, inner=False, literal=False, level=level) is Policy381.HOIST


@pytest.mark.seed("LIC-36")
def test_an_instance_of_a_low_level_leaves_loops_alone():
    def remarks(options: str):
        module = single("and.b32 %r10, %r3, %r1;")
        return names(nvir.run_passes(module, f"licm<{options}>", policy="documented"))

    assert remarks("id=1;level=1") == ["BlockPolicy"]
    assert remarks("id=0;level=1") == remarks("id=0") != ["BlockPolicy"]


def test_the_policy_of_one_block_holds_for_its_loop():
    module = single("and.b32 %r10, %r3, %r1;")
    remarks = nvir.run_passes(module, "licm", knobs={"HoistLate@L": 3})
    assert [(r.name, r.code.number, r.args["value"]) for r in remarks] == [
        ("BlockPolicy", "381", "3")
    ]
    assert names(nvir.run_passes(module, "licm", knobs={"HoistLate@M": 3})) == ["Hoisted"]


# ------------------------------------------------------------------ outer loop


@pytest.mark.seed("LIC-05")
def test_inner_loops_come_first_and_headers_need_an_entry():
    module = nested()
    module["k"].analyze_cfg()
    assert [x.header.name for x in Nest(module["k"]).innermost_first()] == ["M", "L"]


@pytest.mark.seed("LIC-06", "KNB-88")
def test_iteration_limit():
    assert stages.iteration_limit(KnobKind.DEFAULT, 9) == 2
    assert stages.iteration_limit(KnobKind.INT, 9) == 9
    assert stages.iteration_limit(KnobKind.FLOAT, 9) == 0


@pytest.mark.seed("LIC-08", "GAP-15")
def test_simple_and_other_loops_are_called_differently():
    assert [(b.name, m) for b, m in stages.calls(loop_of(single("")))] == [
        ("L", Mode.HEADER), ("L", Mode.LATCH)
    ]
    for module, told in (
        (single(""), [True]), (nested(), [True, False]),
        (nvir.read_ptx(HEADER + "L: setp.gt.u32 %p3, %r2, 3; @%p3 bra S; add.s32 %r4, %r4, 3;\nS: "
                       + STEP + TAIL), [False]),  # of one depth, and several blocks
    ):
        with Trace() as trace:
            run(module)
        assert [e.outcome for e in trace.of("LIC-08")] == told


@pytest.mark.seed("LIC-30")
def test_the_calls_of_a_loop_of_several_blocks():
    text = (
        f"{HEADER}L: setp.gt.u32 %p3, %r2, 3; @%p3 bra S;\nT: add.s32 %r4, %r4, 3;\n"
        f"S: setp.gt.u32 %p4, %r2, 7; @%p4 bra U;\nV: add.s32 %r4, %r4, 1;\nU: {STEP}{TAIL}"
    )
    loop = loop_of(nvir.read_ptx(text))
    assert [m.name for _, m in stages.calls(loop)] == [
        "HEADER", "NOT_DOMINATED", "DOMINATED", "NOT_DOMINATED", "LATCH",
    ]
    assert [b.name for b, _ in stages.calls(loop)][::2] == ["L", "S", "U"]
    called = [b.name for b, _ in stages.calls(loop_of(nested()))]
    assert called[0] == "L"
    assert "M" in called


@pytest.mark.seed("LIC-31", "KNB-75", "KNB-85")
def test_nested_hoisting_needs_every_condition():
    good = {"allowed": True, "simple": True, "body": 9, "preds": 1, "header": 5, "ratio": 2}
    assert stages.nested_allowed(**good)
    for change in ({"allowed": False}, {"simple": False}, {"body": 1}, {"preds": 2}, {"body": 10}):
        assert not stages.nested_allowed(**{**good, **change})
    assert stages.nested_allowed(**{**good, "body": 10, "ratio": 0})
    assert stages.nested_allowed(**{**good, "body": 2})


@pytest.mark.parametrize("off", [{"multi-depth-hoist": False}, {"DisableNestedHoist": True}])
def test_depths_can_be_switched_off(off):
    module = nested()
    assert "Boundary" in names(run(module, HoistConservativeScale=1, **off))
    loop = loop_of(module)
    assert any(i.form.spelling == "xor.b32" for b in loop.blocks for i in b)
    free = nested()
    run(free, HoistConservativeScale=1)
    assert not any(i.form.spelling == "xor.b32" for b in loop_of(free).blocks for i in b)


# -------------------------------------------------------------- boundary analysis


@pytest.mark.seed("LIC-09", "LIC-10")
def test_boundaries():
    clean = stages.analyze_boundaries(loop_of(single("mul.lo.u32 %r10, %r3, %r1;")))
    assert not clean.external_pred | clean.complex_depth | clean.barrier | clean.indirect
    assert clean.multi_depth_safe
    assert clean.reason == ""
    for barrier in ("bar.sync 0;", "membar.gl;", "barrier.sync 0;"):
        found = stages.analyze_boundaries(loop_of(single(barrier)))
        assert found.barrier
        assert "barrier" in found.reason
    deep = stages.analyze_boundaries(loop_of(nested()))
    assert deep.complex_depth
    assert deep.reason == ""
    assert "depths" in stages.analyze_boundaries(loop_of(nested()), permitted=False).reason
    jump = nvir.read_ptx(
        f"{HEADER}T: .branchtargets L, X;\nL: add.s32 %r2, %r2, 1; brx.idx %r3, T;\nX: {TAIL}"
    )
    assert stages.analyze_boundaries(loop_of(jump)).indirect
    outside = nvir.read_ptx(f"{HEADER}L: setp.gt.u32 %p3, %r2, 3; @%p3 bra S;\nbra S;\n"
                            f"dead: bra S;\nS: {STEP}{TAIL}")
    assert stages.analyze_boundaries(loop_of(outside)).external_pred


@pytest.mark.seed("LIC-09")
def test_an_inner_nounroll_takes_the_safety_away():
    module = nested(inner='.pragma "nounroll"; mul.lo.u32 %r10, %r3, %r1;')
    assert not stages.analyze_boundaries(loop_of(module)).multi_depth_safe
    loop = loop_of(nested())
    assert stages.analyze_boundaries(loop).multi_depth_safe
    loop.children[0].header.flags |= {"nounroll"}
    assert not stages.analyze_boundaries(loop).multi_depth_safe


@pytest.mark.seed("LIC-10", "GAP-43")
def test_a_barrier_keeps_everything_in_the_loop():
    module = single("mul.lo.u32 %r10, %r3, %r1; bar.sync 0;")
    with Trace() as trace:
        remarks = run(module)
    assert [(r.name, r.args["reason"]) for r in remarks] == [("Boundary", "it holds a barrier")]
    assert [e.outcome for e in trace.of("LIC-10")] == [["bar.sync (line 12)"]]
    with Trace() as trace:
        run(single("mul.lo.u32 %r10, %r3, %r1;"))
    assert not trace.of("LIC-10")


# --------------------------------------------------------------- stage 1: budget


@pytest.mark.seed("LIC-12", "KNB-69", "KNB-70", "GAP-41")
@pytest.mark.parametrize("pass_id", range(4))
@pytest.mark.parametrize("mode", list(Mode))
def test_budget_table(pass_id, mode):
    cbo = knob("HoistLoopInvBudget").default_for("documented", pass_id)
    assert cbo == (22 if pass_id == 0 else 100)
    aggressive = mode >= 2
    wanted = (200 if pass_id == 0 else 300) if aggressive else cbo
    last = 100 if pass_id == 3 else 1
    assert stages.budget(pass_id, mode, simple=True, cbo=cbo) == wanted * last
    assert stages.budget(pass_id, mode, simple=False, cbo=cbo) == 10 * last


@pytest.mark.seed("LIC-13", "KNB-71")
def test_budget_modifiers():
    assert stages.budget(0, Mode.LATCH, simple=True, preds=3) == Fraction(200, 3)
    assert stages.budget(0, Mode.HEADER, simple=True, preds=3) == 22
    assert stages.budget(0, Mode.LATCH, simple=True, inner=True) == 20
    assert stages.budget(0, Mode.LATCH, simple=True, inner=True, scale=4) == 50
    assert stages.budget(3, Mode.LATCH, simple=False, preds=2, inner=True) == Fraction(10 * 100, 20)


@pytest.mark.seed("KNB-69", "LIC-13", "GAP-41")
def test_a_budget_of_nothing_is_no_limit():
    assert stages.budget(0, Mode.HEADER, simple=False, base=0) is None
    assert Verdict(1, None, 1, Fraction(9), 10**6).pays
    assert not Verdict(0, None, 1, Fraction(9), 1).pays


# ------------------------------------------------------------ stages 2 to 4: marks


def marked(body: str, pass_id: int = 0, used: str = "%r10", upto: int = 4):
    """Marks after the stages up to `upto` over a single-block loop, by spelling of the first."""
    module = single(body, used)
    module["k"].analyze_cfg()
    nest = Nest(module["k"])
    region = survey(nest.loops[0], nest)
    legal = set(region.invariant)
    marks = stages.Marks(nest.loops[0].header.rpo_index)
    items = region.items
    scope = stages.HoistScope(
        region, pass_id, False, set(), {i for i in items if i not in legal and not i.form.pure})
    for stage, run in ((2, stages.forward), (2, stages.hold), (3, stages.backward),
                       (4, stages.propagate)):
        if stage <= upto:
            run(items, marks, scope)
    by = {i.form.spelling: i for i in reversed(items)}
    return SimpleNamespace(marks=marks, by=by, scope=scope, items=items)


def candidate(m, spelling: str) -> bool:
    return stages.is_invariant(m.by[spelling], m.marks)


CHAIN = "add.u32 %r11, %r3, 7; mul.lo.u32 %r12, %r11, %r1; xor.b32 %r10, %r12, %r11;"


@pytest.mark.seed("LIC-14")
def test_forward_marks_what_reads_only_outside():
    m = marked("add.u32 %r10, %r3, 7; mul.lo.u32 %r11, %r2, %r3; and.b32 %r12, %r3, 5;"
               "xor.b32 %r13, %r3, %r2;", upto=2)
    assert candidate(m, "add.u32")
    assert candidate(m, "and.b32")
    assert not candidate(m, "mul.lo.u32")
    assert not candidate(m, "xor.b32")
    outside = m.by["add.u32"].operands[0]
    assert m.marks.state[outside] is stages.HoistState.EXTERNAL
    assert m.marks.use_count[outside] == 0
    assert m.marks.state[m.by["add.u32"]] is stages.HoistState.INVARIANT
    assert m.marks.state[m.by["mul.lo.u32"]] is stages.HoistState.VARIANT
    assert len(set(stages.HoistState)) == 4


@pytest.mark.seed("LIC-14", "LIC-20")
def test_forward_misses_chains_and_stage_4_finds_them():
    m = marked(CHAIN, upto=3)
    assert candidate(m, "add.u32")
    assert not candidate(m, "mul.lo.u32")
    assert not candidate(m, "xor.b32")
    m = marked(CHAIN)
    assert all(candidate(m, s) for s in ("add.u32", "mul.lo.u32", "xor.b32"))


@pytest.mark.seed("LIC-14", "LIC-16")
def test_forward_looks_at_every_result_of_an_operation_of_several():
    """The second half of a vector load is made in the block as well as the first."""
    m = marked("ld.global.v2.u32 {%r11, %r12}, [%rd1]; st.global.u32 [%rd1], %r2;"
               "xor.b32 %r10, %r12, 7;", upto=2)
    assert not candidate(m, "xor.b32")
    assert not candidate(m, "ld.global.v2.u32")


@pytest.mark.seed("LIC-16", "LIC-18", "LIC-19", "LIC-20")
def test_stage_3_takes_back_what_the_last_instance_marked_over_a_varying_predicate():
    """Stage 2 passes over predicates, stage 3 over nothing, so stage 4 begins no chain there."""
    body = "setp.gt.u32 %p8, VARIES, 3; selp.b32 %r11, %r3, %r1, %p8; xor.b32 %r10, %r11, %r3;"
    varies, stays = body.replace("VARIES", "%r2"), body.replace("VARIES", "%r1")
    for text, k, marks in ((varies, 2, (False, False, False)), (varies, 3, (True, False, False)),
                           (stays, 3, (True, True, True)), (stays, 2, (False, False, True))):
        assert tuple(candidate(marked(text, k, upto=n), "selp.b32") for n in (2, 3, 4)) == marks
        assert candidate(marked(text, k), "xor.b32") is marks[-1]
    m = marked(varies, 3, upto=2)
    assert stages.backward(m.items, m.marks, m.scope) == [m.by["selp.b32"]]
    assert stages.made_here(m.by["selp.b32"], m.marks, m.scope) == [m.by["setp.gt.u32"]]
    body = varies
    for k in (2, 3):
        module = single(body)
        run(module, k)
        assert any(i.form.name == "selp" for i in loop_of(module).header)


@pytest.mark.seed("LIC-18", "LIC-19", "LIC-20")
def test_stages_4_and_5_take_a_mark_once_stage_3_has_counted_it():
    m = marked(CHAIN, upto=2)
    first, second = m.by["add.u32"], m.by["mul.lo.u32"]
    assert not m.marks.counted(first)
    of = stages.Latencies(lambda f: 4.0, lambda f: False, lambda f: False)
    none = stages.profit(m.items, m.marks, 0, Fraction(10), True, (60, 90), of)
    assert none.score == 0
    assert stages.backward(m.items, m.marks, m.scope) == []
    assert m.marks.counted(first)
    assert not m.marks.counted(second)
    stages.propagate(m.items, m.marks, m.scope)
    assert m.marks.counted(second)
    unread = marked("add.u32 %r11, %r3, 7; mul.lo.u32 %r12, %r11, %r1;", used="%r3")
    lone = marked("add.u32 %r11, %r3, 7;", used="%r3")
    for each, name in ((m, "mul.lo.u32"), (unread, "mul.lo.u32"), (lone, "add.u32")):
        assert each.marks.use_count[each.by[name]] == 1  # whether the block reads it or not
    assert stages.profit(m.items, m.marks, 0, Fraction(10), True, (60, 90), of).score == 3
    bare = marked(CHAIN, upto=1)  # without stage 2 there is nothing to begin a chain from
    stages.propagate(bare.items, bare.marks, bare.scope)
    assert not any(candidate(bare, s) for s in ("add.u32", "mul.lo.u32", "xor.b32"))


@pytest.mark.seed("LIC-28", "IR-16")
def test_what_is_hoisted_is_marked_under_the_documented_policy():
    for policy, wanted in (("documented", {"hoisted"}), ("observed", None)):
        module = single("and.b32 %r10, %r3, %r1;")
        nvir.run_passes(module, "licm", policy=policy)
        (moved,) = [i for i in module["k"].instructions() if i.form.name == "and"]
        assert module["k"].marks.get(moved) == wanted
        assert ("hoisted" in nvir.print_ir(module)) == (wanted is not None)


@pytest.mark.seed("LIC-15")
def test_in_nests_the_depth_of_the_definition_decides():
    module = nested(inner="mul.lo.u32 %r10, %r3, %r1; mul.lo.u32 %r11, %r5, %r1;")
    module["k"].analyze_cfg()
    nest = Nest(module["k"])
    region = survey(nest.loops[0], nest)
    scope = stages.HoistScope(region, 0, True, set())
    by = {i.operands: i for i in region.items if i.form.spelling == "mul.lo.u32"}
    inside = [scope.in_range(i.operands[0]) for i in by.values()]
    assert inside == [False, True]
    with Trace() as trace:
        stages.forward(region.items, stages.Marks(0), scope)
        stages.forward(region.items, stages.Marks(0), attrs.evolve(scope, multi_depth=False))
    (event,) = trace.of("LIC-15")
    said = [event.outcome[shown(i.operands[0])] for i in by.values()]
    assert said == ["external", "blocks"]


@pytest.mark.seed("LIC-16")
def test_the_last_instance_passes_over_carries():
    chain = marked("add.cc.u32 %r11, %r3, %r1; addc.u32 %r10, %r3, 0;").items
    first, second = chain[-6], chain[-5]
    links = {i.form.spelling: i for i in chain}
    assert first is not second
    carry = links["add.cc.u32"].results[-1]
    assert not stages.skipped_by_last(links["addc.u32"], carry)  # the exception: a carry-in
    assert stages.skipped_by_last(links["add.cc.u32"], carry)
    assert not stages.skipped_by_last(links["add.cc.u32"], links["add.cc.u32"].operands[0])


@pytest.mark.seed("LIC-17")
def test_effects_block_the_mark():
    m = marked("ld.global.u32 %r10, [%rd1]; st.global.u32 [%rd2], %r2;", upto=2)
    assert not candidate(m, "ld.global.u32")
    m = marked("ld.global.u32 %r10, [%rd1];", upto=2)
    assert candidate(m, "ld.global.u32")


@pytest.mark.seed("LIC-14", "LIC-17", "LIC-18")
def test_operands_are_looked_at_before_effects():
    with Trace() as trace:
        run(single("ld.global.u32 %r10, [%rd1]; st.global.u32 [%rd2], %r2;"))
    rows = [e.row for e in trace if e.row in ("LIC-14", "LIC-17", "LIC-18")]
    assert rows[:3] == ["LIC-14", "LIC-17", "LIC-18"]
    load = next(x for x in trace.of("LIC-14")[0].outcome if "ld.global" in x)
    assert load in trace.of("LIC-17")[0].outcome  # invariant by its operands, held by the store
    assert load not in trace.of("LIC-18")[0].outcome["taken_back"]


@pytest.mark.seed("LIC-18", "LIC-19", "GAP-21")
def test_backward_takes_false_marks_back_and_counts():
    m = marked("add.u32 %r10, %r3, 7;", upto=2)
    add = m.by["add.u32"]
    assert candidate(m, "add.u32")
    assert m.marks.use_count[add] == 0
    strict = stages.HoistScope(m.scope.region, 0, False, set(), m.items)
    marked_before = [i for i in m.items if m.marks.state.get(i) is stages.HoistState.INVARIANT]
    assert stages.backward(m.items, m.marks, strict) == marked_before == [add]
    assert m.marks.def_block[add] == m.marks.index  # stamped whatever was there
    assert not candidate(m, "add.u32")
    m = marked("add.u32 %r10, %r3, 7;", upto=3)
    assert m.marks.use_count[m.by["add.u32"]] == 1
    m = marked("add.u32 %r10, %r3, 7; xor.b32 %r11, %r2, %r10;", upto=2)
    with Trace() as trace:
        stages.backward(m.items, m.marks, m.scope)
    phis = ["phi %r4 (line 12)", "phi %r2 (line 12)"]
    assert [e.outcome for e in trace.of("LIC-18")] == [{
        "taken_back": [], "reads": {}, "blocked": phis, "counted": {"add.u32 %r10 (line 12)": 1},
        "stamped": [*phis, "xor.b32 %r11 (line 12)", "add.s32 %r4 (line 13)",
                    "add.s32 %r2 (line 14)", "setp.lt.u32 %p1 (line 14)"]}]


@pytest.mark.seed("LIC-20")
def test_stage_4_says_what_stood_in_the_way():
    m = marked("ld.global.u32 %r10, [%rd1]; st.global.u32 [%rd2], %r2;", upto=3)
    assert stages.propagate(m.items, m.marks, m.scope) == 1 | 2  # phis are of the other kind
    m = marked("add.u32 %r10, %r3, 7;", upto=3)
    assert stages.propagate(m.items, m.marks, m.scope) == 2
    m = marked("add.u32 %r10, %r3, 7; st.global.u32 [%rd2], %r3;", upto=3)
    assert stages.propagate(m.items, m.marks, m.scope) == 2  # what makes nothing is passed over


@pytest.mark.seed("LIC-25")
def test_the_leaf_test():
    m = marked("add.u32 %r10, %r3, 7; mul.lo.u32 %r11, %r2, 3; bar.warp.sync -1;")
    assert candidate(m, "add.u32")
    assert not candidate(m, "mul.lo.u32")
    assert not candidate(m, "bar.warp.sync")  # makes nothing
    assert not candidate(m, "bra")


# ---------------------------------------------------------------- stage 5: profit


@pytest.mark.seed("LIC-21")
def test_score_weights():
    got = {(w.early, w.safe): (w.long_latency.value, w.real.value) for w in tables.SCORES}
    assert got == {(True, True): (60, 5), (False, True): (150, 5), (True, False): (12, 1),
                   (False, False): (30, 1)}
    for pass_id in range(4):
        assert tables.score_weights(pass_id, True).early == (pass_id == 0)


def profit(body: str, pass_id: int = 0, *, cycles=4.0, scoreboard=False, noop=False, **kw):
    m = marked(body)
    of = stages.Latencies(lambda f: cycles, lambda f: scoreboard, lambda f: noop)
    kw = {"budget": Fraction(10), "safe": False, "counts": (60, 90), **kw}
    scanned = sum(not i.form.is_phi for i in m.items)
    return stages.profit(m.items, m.marks, pass_id, of=of, **kw), scanned


@pytest.mark.seed("LIC-22", "GAP-42", "GAP-54")
def test_score_and_penalty():
    one = "add.u32 %r10, %r3, 7;"
    assert profit(one)[0].score == 1
    assert profit(one)[0].penalty == 0
    assert profit(one, noop=True)[0].score == 12
    assert profit(one, noop=True, safe=True)[0].score == 60
    assert profit(one, cycles=5.0)[0].penalty == 2
    fast, slow = profit(one, scoreboard=True)[0], profit(one, scoreboard=True, cycles=4.5)[0]
    assert (fast.score, fast.penalty) == (2, 1)
    assert (slow.score, slow.penalty) == (2, 2)
    pair = profit("ld.global.v2.u32 {%r10, %r11}, [%rd1];", cycles=5.0)[0]
    assert (pair.score, pair.penalty) == (1, 4)  # for each result
    waited = profit("ld.global.v2.u32 {%r10, %r11}, [%rd1];", scoreboard=True, cycles=5.0)[0]
    assert (waited.score, waited.penalty) == (3, 4)
    assert profit(one, scoreboard=True, safe=True)[0].score == 6


@pytest.mark.seed("LIC-23", "GAP-41")
def test_the_profit_test():
    early, n = profit("add.u32 %r10, %r3, 7;")
    assert early.size == n
    late, _ = profit("add.u32 %r10, %r3, 7;", 1)
    assert late.size == 90 // 3 + 60
    assert Verdict(3, Fraction(10), 5, Fraction(2), 3).pays  # equality
    assert not Verdict(3, Fraction(10), 5, Fraction(2), 4).pays
    assert not Verdict(3, Fraction(10), 5, Fraction(201, 100), 3).pays  # exact, no rounding
    assert not Verdict(3, Fraction(10), 5, Fraction(0), 0).pays


@pytest.mark.seed("LIC-24")
def test_an_empty_block():
    m = marked("")
    of = stages.Latencies(lambda f: 4.0, lambda f: False, lambda f: False)
    empty = [stages.profit([], m.marks, id, Fraction(10), True, (60, 90), of) for id in (0, 1)]
    assert [v.pays for v in empty] == [False, True]
    assert not stages.profit([], m.marks, 1, Fraction(10), True, (0, 0), of).pays


@pytest.mark.seed("LIC-24")
@pytest.mark.parametrize(("text", "told"), [
    ("bra.uni F;", {0: [False], 1: [True]}),  # a jump is not scanned
    ("st.global.u32 [%rd1], %r2; bra.uni F;", {0: [], 1: []}),
])
def test_a_block_that_only_jumps_is_empty(text, told):
    """What may leave is in another block of the loop."""
    module_text = nvir.print_ir(single(
        "setp.gt.u32 %p3, %r2, 5; @%p3 bra E; add.u32 %r20, %r3, 9; bra.uni F; E: " + text +
        " F: add.u32 %r21, %r3, 7;", "%r21"))
    for id, outcomes in told.items():
        with Trace() as trace:
            nvir.run_passes(nvir.parse_ir(module_text), f"licm<id={id}>", policy="documented")
        assert [e.outcome for e in trace.of("LIC-24")] == outcomes


@pytest.mark.seed("LIC-23", "LIC-24")
def test_a_loop_that_keeps_what_may_move_tells_the_block_of_that():
    """Not the numbers of blocks behind it, of which one pays and one is empty."""
    module = nvir.read_ptx(
        f"{HEADER}L: ex2.approx.f32 %f1, %f2; mov.b32 %r10, %f1; setp.gt.u32 %p3, %r2, 5; "
        "@%p3 bra E; st.global.u32 [%rd1], %r2; bra.uni F; E: bra.uni F; "
        f"F: add.s32 %r4, %r4, %r10;\n{STEP}{TAIL}")
    with Trace() as trace:
        (r,) = run(nvir.parse_ir(nvir.print_ir(module)), HoistBudget=0.001)
    assert [e.outcome["pays"] for e in trace.of("LIC-23")] == [False, True, False, True]
    assert [e.outcome["size"] for e in trace.of("LIC-23")] == ["4", "2", "0", "4"]
    assert (r.name, r.args["size"], r.args["penalty"]) == ("NotProfitable", 4, 4)


@pytest.mark.seed("LIC-27", "GAP-42")
def test_counting():
    m = single("add.u32 %r10, %r3, 7; mov.u32 %r11, %r10;", "%r11")
    items = list(loop_of(m).header)
    real = sum(not stages.is_copy(i.form) for i in items)
    assert stages.count(items, stages.is_copy) == 30 * real + 1  # phis are none
    assert (tables.COUNT_NOOP.value, tables.COUNT_REAL.value) == (1, 30)


def test_rows_say_where_they_come_from():
    rows = [v for v in vars(tables).values() if isinstance(v, tables.Noted)]
    assert len(rows) > 10
    assert all(r.origin in ("noted", "observed", "assumed") and r.meaning for r in rows)


# ----------------------------------------------------------- textures, constant loads


@pytest.mark.seed("LIC-35", "KNB-83", "KNB-84")
def test_texture_mode():
    low, high = knob("HoistTexToInstRatioLow").default, knob("HoistTexToInstRatioHigh").default
    assert (low, high) == (0.03, 0.045)
    modes = [tables.texture_mode(k, 1000, low, high) for k in (20, 40, 50)]
    assert modes == ["conservative", "default", "aggressive"]
    assert tables.texture_mode(30, 1000, low, high) == "default"
    assert tables.texture_mode(45, 1000, low, high) == "default"


TEX = "tex.1d.v4.u32.s32 {%r10, %r11, %r12, %r13}, [%rd1, {%r3}];"


def test_textures_leave_by_their_share():
    few = single(TEX + "add.s32 %r20, %r2, 1; st.shared.u32 [tile], %r20;" * 20)
    run(few)
    assert any(i.form.name == "tex" for i in loop_of(few).header)
    for high, stays in ((1, True), (0, False)):  # it does not pay; the share alone decides
        shares = {"HoistTexToInstRatioLow": 0, "HoistTexToInstRatioHigh": high}
        module = single(TEX + MANY)
        run(module, **shares)
        assert any(i.form.name == "tex" for i in loop_of(module).header) == stays
    many = single(TEX)
    run(many)
    assert not any(i.form.name == "tex" for i in loop_of(many).header)


@pytest.mark.seed("KNB-78", "KNB-79")
def test_constant_loads_can_be_kept():
    body = "ld.const.u32 %r10, [table];"
    assert names(run(single(body))) == ["Hoisted"]
    assert "Hoisted" not in names(run(single(body), HoistCBOLoad=0))
    cold = single(body)
    loop_of(cold).header.flags = frozenset({"cold"})
    assert "Hoisted" not in names(run(cold, HoistCBOFromLoopWithColdNest=0))
    assert "Hoisted" in names(run(single(body), HoistCBOFromLoopWithColdNest=0))  # none is cold
    assert "Hoisted" in names(run(single(body), HoistCBOLoad=1))


@pytest.mark.seed("KNB-81")
def test_how_far_a_constant_load_may_lie_below_the_header():
    steps = "".join(
        f"setp.gt.u32 %p3, %r2, {k}; @%p3 bra S{k}; add.s32 %r4, %r4, {k};\nS{k}: "
        for k in range(4)
    )
    module = single(steps + "ld.const.u32 %r10, [table];")
    loop = loop_of(module)
    load = next(i for b in loop.blocks for i in b if i.form.space == "const")
    assert licm_core.idom_steps(load, loop, 4) == 4
    assert licm_core.idom_steps(load, loop, 3) == 4  # over the limit
    assert "Hoisted" not in names(run(module, HoistCBOLoadIDOMTravseLimit=3))
    assert "Hoisted" in names(run(module, HoistCBOLoadIDOMTravseLimit=4))


@pytest.mark.seed("KNB-82")
def test_pressure_keeps_constant_loads():
    body = "ld.const.u32 %r10, [table];"
    assert "Hoisted" not in names(run(single(body), HoistCBORRegPressureLimitApplyRate=0))
    module = single(body)
    live = loop_pressures([loop_of(module)], liveness(module["k"]))
    (n,) = live.values()
    least = -(-100 * n // 255)  # percent of a thread's registers
    assert n > 3
    rate = "HoistCBORRegPressureLimitApplyRate"
    assert "Hoisted" in names(run(single(body), **{rate: least}))
    assert "Hoisted" not in names(run(single(body), **{rate: least - 1}))
    loop = loop_of(module)
    load = next(i for i in loop.header if i.form.space == "const")
    for percent, leaves in ((20, True), (19, False)):  # 51 of 255 are 20 percent, and may
        core = licm_core.Core(Context(module, Knobs(policy="documented")), 0, Nest(module["k"]),
                              lambda header, p=percent: licm_core.CoreKnobs(pressure=p))
        core.prepared = attrs.evolve(core.prepared, pressures={loop.header: 51})
        assert core._takes_const(load, loop) == leaves


MANY = "".join(f"xor.b32 %r4, %r4, {k};" for k in range(2, 400))  # nothing pays beside these


@pytest.mark.seed("KNB-77")
def test_a_mode_takes_constant_loads_whether_it_pays_or_not():
    body = "ld.const.u32 %r10, [table];" + MANY
    assert "Hoisted" not in names(run(single(body)))
    assert "Hoisted" in names(run(single(body), HoistCBOMode=1))
    limited = {"HoistCBOMode": 1, "HoistCBORRegPressureLimitApplyRate": 0}
    assert "Hoisted" not in names(run(single(body), **limited))
    product = "mul.lo.u32 %r10, %r3, %r1;" + MANY
    assert "Hoisted" not in names(run(single(product), HoistCBOMode=1))


@pytest.mark.seed("KNB-80")
def test_scoreboards_keep_constant_loads():
    body = "ld.const.u32 %r10, [table]; xor.b32 %r4, %r4, 2;"  # one of six waits
    assert "Hoisted" in names(run(single(body), HoistCBOHighCostSBInstRatioThreshold=17))
    assert "Hoisted" not in names(run(single(body), HoistCBOHighCostSBInstRatioThreshold=16))
    seven = "ld.const.u32 %r10, [table]; ld.const.u32 %r11, [table+4]; xor.b32 %r4, %r4, %r11;"
    assert "Hoisted" in names(run(single(seven), HoistCBOHighCostSBInstRatioThreshold=29))
    assert "Hoisted" not in names(run(single(seven), HoistCBOHighCostSBInstRatioThreshold=28))
    five = "ld.const.u32 %r10, [table];"  # one of five: a share that is the threshold may leave
    assert "Hoisted" in names(run(single(five), HoistCBOHighCostSBInstRatioThreshold=20))
    assert "Hoisted" not in names(run(single(five), HoistCBOHighCostSBInstRatioThreshold=19))


@pytest.mark.seed("LIC-23", "KNB-90")
def test_the_first_instance_divides_by_the_number_scanned():
    """Moves count like all others, and phis, which are no instructions of the notes, not at all."""
    of = stages.Latencies(lambda f: 6.0, lambda f: False, lambda f: False)
    m = marked("mov.u32 %r10, %r3; mul.lo.u32 %r11, %r3, %r1; xor.b32 %r4, %r4, %r11;")
    scanned = [i for i in m.items if not i.form.is_phi]
    for items in (m.items, scanned):
        made = stages.profit(items, m.marks, 0, Fraction(10), False, (1, 1), of)
        assert made.size == len(scanned)
    assert Knobs().get("MovWeightForSinkingHoisting") == 0.25
    assert "number of all instructions" in knob("MovWeightForSinkingHoisting").inert


@pytest.mark.seed("KNB-86", "KNB-70")
@pytest.mark.parametrize("pass_id", range(4))
def test_the_budget_of_a_loop_inside_another(pass_id):
    """Per instance, and that of single loops while it is not set itself."""
    assert Knobs().get("NestedHoistInnerThreshold", pass_id=pass_id) == (100 if pass_id else 22)
    assert Knobs({"HoistLoopInvBudget": 7}).get("NestedHoistInnerThreshold", pass_id=pass_id) == 7
    ctx = Context(nested(), Knobs({"NestedHoistInnerThreshold": 5}, "documented"))
    k = core_knobs(ctx, pass_id)
    assert (k.cbo_inner, k.cbo) == (5, 100 if pass_id else 22)


@pytest.mark.seed("LIC-12", "KNB-70", "KNB-86")
@pytest.mark.parametrize(("module", "loop", "budget"), [
    (nested(), "M", "1/2"), (single("xor.b32 %r10, %r3, 7;"), "L", "7"),
])
def test_which_knob_a_loop_of_one_block_takes_its_budget_from(module, loop, budget):
    """One inside of another the inner threshold, a tenth of it; one that stands alone its own."""
    with Trace() as trace:
        run(module, 1, NestedHoistInnerThreshold=5, HoistLoopInvBudget=7)
    assert next(e.outcome for e in trace.of("LIC-12") if e.at == loop) == budget


@pytest.mark.seed("KNB-87", "KNB-69")
def test_the_budget_of_a_loop_around_another():
    """One short operation of two instructions' block and header: the budget decides."""
    text = nested(inner="", outer="mul.hi.u32 %r11, %r3, %r1; xor.b32 %r10, %r11, 7;")
    verdicts = {}
    for value in (1, 10, 100):
        module = nvir.parse_ir(nvir.print_ir(text))
        remarks = run(module, 1, NestedHoistOuterThreshold=value)
        told = [r for r in remarks if r.loop == "L" and r.name in ("Hoisted", "NotProfitable")]
        assert told
        verdicts[value] = float(told[0].args["budget"])
    assert verdicts[1] * 10 == verdicts[10]
    assert verdicts[10] * 10 == verdicts[100]


@pytest.mark.seed("KNB-89")
@pytest.mark.parametrize(
    ("body", "on", "stays"),
    [("xor.b32 %r10, %r3, 7;", False, {"xor"}), ("xor.b32 %r10, %r3, 7;", True, set()),
     ("ex2.approx.f32 %f1, %f2; xor.b32 %r10, %f1, 7;", True, {"ex2", "xor"})],
)
def test_short_operations_leave_the_middle_where_asked(body, on, stays):
    """Near miss: what reads an operation that a scoreboard waits for stays with it."""
    module = nvir.read_ptx(
        f"{HEADER}L: mov.u32 %r10, 1; setp.gt.u32 %p3, %r2, 3; @%p3 bra S;\n{body}\n"
        f"add.s32 %r4, %r4, %r10;\nS: add.s32 %r4, %r4, 1;\n{STEP}{TAIL}"
    )
    no_budget = {"HoistBudget": 0.001, "HoistLoopInvBudget": 1}
    run(module, EnableHoistLowLatencyInstMidBlock=on, **no_budget)
    (loop,) = module["k"].loops()
    assert {i.form.name for b in loop.blocks for i in b} & {"ex2", "xor"} == stays


# ------------------------------------------------------------------- set-based (934)


def sets(body: str, pass_id: int = 0):
    m = marked(body, pass_id, upto=1)
    known = licm_sets.build_invariant_set(m.items, m.scope)
    licm_sets.classify(m.items, known, m.marks)
    return m, known


@pytest.mark.seed("SET-01", "SET-02", "KNB-76")
def test_the_fixed_point_finds_what_the_stages_find():
    for body in (CHAIN, "add.u32 %r10, %r2, 7;", "add.u32 %r11, %r3, 7; add.u32 %r10, %r11, %r2;"):
        m, known = sets(body)
        default = marked(body)
        for i, same in zip(m.items, default.items, strict=True):
            if stages.is_invariant(same, default.marks):
                assert stages.is_invariant(i, m.marks)
        naive: set = set()
        while True:
            more = {
                r for i in m.items if i not in m.scope.blocked
                and all(not stages.is_register(v) or v in naive or not m.scope.in_range(v)
                        for v in i.operands)
                for r in i.results
            } - naive
            if not more:
                break
            naive |= more
        assert {r for i in m.items for r in i.results if r in known} == naive


@pytest.mark.seed("LIC-23")
def test_what_leaves_says_no_reason_to_stay():
    module = single("mul.lo.u32 %r10, %r3, %r1;")
    module["k"].analyze_cfg()
    ctx = Context(module, Knobs(policy="documented"))
    ctx.pass_ = all_passes()["licm"]
    ctx.options = ctx.pass_.options(id="0")
    (decision,) = licm.decide(module["k"], ctx, 0, Nest(module["k"]))
    assert decision.leaving
    assert (decision.verdict.pays, decision.verdict.why) == (True, "")


@pytest.mark.seed("SET-05")
def test_the_forward_walk_counts_from_nothing():
    """Uses of what the block makes anew; none of what is in the set."""
    m, known = sets("mul.lo.u32 %r10, %r3, %r1; add.u32 %r4, %r10, %r2;")
    used = {v for i in m.items for v in i.operands if stages.is_register(v)}
    assert {m.marks.use_count[v] for v in used if v in known} == {0}
    assert {m.marks.use_count[v] > 0 for v in used if v not in known} == {True}


@pytest.mark.seed("SET-01")
def test_the_set_based_path_is_off_and_can_be_switched_on():
    assert knob("UseNewLoopInvariantRoutineForHoisting").default is False
    a, b = single(CHAIN), single(CHAIN)
    with Trace() as off:
        run(a)
    with Trace() as on:
        run(b, UseNewLoopInvariantRoutineForHoisting=True)
    assert str(a) == str(b)
    assert off.of("LIC-14")
    assert not off.of("SET-02")
    assert on.of("SET-02")
    assert not on.of("LIC-14")


@pytest.mark.seed("LIC-19", "LIC-20")
def test_the_set_based_path_replaces_the_marks_alone():
    """Stage 4 runs behind both, and finds in the set what it adds to the marks itself."""
    by_path = []
    for sets_ in (False, True):
        with Trace() as trace:
            run(single(CHAIN), UseNewLoopInvariantRoutineForHoisting=sets_)
        assert trace.of("LIC-19")
        by_path.append((len(trace.of("LIC-19")[0].outcome), [e.step for e in trace.of("LIC-20")]))
    (first, steps), (found, after) = by_path
    assert first < found
    assert "4 marked as well" in steps
    assert set(after) == {"4 transitive"}


@pytest.mark.seed("SET-03")
def test_in_nests_what_is_made_outside_of_the_range_enters_the_set():
    module = nested()
    module["k"].analyze_cfg()
    nest = Nest(module["k"])
    region = survey(nest.loops[0], nest)
    header = list(region.loop.children[0].header)
    scope = stages.HoistScope(region, 0, True, set(), {*header} - {*region.invariant})
    with Trace() as trace:
        known = licm_sets.build_invariant_set(header, scope)
    (event,) = trace.of("SET-03")
    assert event.inputs == {"multi_depth": True}
    assert sorted(event.outcome) == sorted(
        shown(v) for v in {v for i in region.loop.children[0].header for v in i.operands
                           if stages.is_register(v) and not scope.in_range(v)})
    product = region.invariant[-1]
    assert all(v in known for v in product.operands if stages.is_register(v))
    assert product in known


@pytest.mark.seed("SET-04")
def test_loads_behind_stores_stay_out_of_the_set():
    m, known = sets("ld.global.u32 %r10, [%rd1]; st.global.u32 [%rd2], %r2;")
    assert m.by["ld.global.u32"] not in known
    with Trace() as trace:
        sets_of(m)
    (event,) = trace.of("SET-04")
    assert any(x.startswith("ld.global.u32") for x in event.outcome)
    assert not trace.of("SET-06")
    m, known = sets("ld.global.u32 %r10, [%rd1]; st.shared.u32 [tile], %r2;")
    assert m.by["ld.global.u32"] in known


@pytest.mark.seed("SET-05", "GAP-21")
def test_classification_stamps_and_counts():
    m, _ = sets("add.u32 %r11, %r3, 7; add.u32 %r10, %r11, %r2;")
    first, second = (i for i in m.items if i.form.spelling == "add.u32")
    assert m.marks.def_block[first] == stages.OUTSIDE
    assert m.marks.def_block[second] == m.marks.index
    assert m.marks.use_count[second] >= 1
    assert m.marks.use_count[first] == 0
    outside, carried = first.operands[0], second.operands[1]
    assert m.marks.state[outside] is stages.HoistState.EXTERNAL
    assert m.marks.state[carried] is stages.HoistState.VARIANT
    before = m.marks.use_count[second]
    licm_sets.classify(m.items, sets_of(m), m.marks, forward=False)
    assert m.marks.use_count[first] == 1  # the backward walk counts what is in the set, alone
    assert m.marks.use_count[second] == before
    m, _ = sets("add.u32 %r9, %r2, %r2;")
    (carried, *_) = m.by["add.u32"].operands
    assert m.marks.use_count[carried] == 4  # made by the phi, read twice there, once by the step
    assert m.marks.use_count[m.by["add.u32"]] == 1
    (stepped,) = (v for v in carried.operands if v.definer in m.items)
    assert m.marks.use_count[stepped] == 3  # read by the phi before it is made, and by the test


def sets_of(m):
    return licm_sets.build_invariant_set(m.items, m.scope)


@pytest.mark.seed("SET-06")
def test_only_the_last_instance_filters_carries():
    body = "add.cc.u32 %r11, %r3, %r1; addc.u32 %r10, %r3, 0;"
    for pass_id in (2, 3):
        m, known = sets(body, pass_id)
        assert m.by["add.cc.u32"].results[0] in known
        m, known = sets("setp.gt.u32 %p8, %r2, 3; selp.b32 %r10, %r3, %r1, %p8;", pass_id)
        assert (m.by["selp.b32"] in known) == (pass_id == 3)  # it passes over predicates too
        with Trace() as trace:
            sets_of(m)
        assert [any("selp.b32" in x for x in e.outcome) for e in trace.of("SET-06")] == [True] * (
            pass_id == 3)


@pytest.mark.seed("SET-06", "LIC-16")
@pytest.mark.parametrize(("first", "kept"), [("%r3", True), ("%r2", False)])
def test_the_last_instance_asks_of_a_carry_in_all_the_same(first, kept):
    """Passed over, the second half would leave though its carry varies."""
    m, known = sets(f"add.cc.u32 %r11, {first}, %r1; addc.u32 %r10, %r3, 0;", 3)
    assert (m.by["addc.u32"] in known) is kept
    with Trace() as trace:
        sets_of(m)
        stages.forward(m.items, m.marks, m.scope)
    for row in ("SET-06", "LIC-16"):
        (event,) = trace.of(row)
        assert not any("addc.u32" in i for i in event.outcome)
        ((i, (carry,)),) = event.inputs["carries"].items()
        assert (i.split()[0], carry.split()[0]) == ("addc.u32", "add.cc.u32")
    with Trace() as trace:
        sets_of(sets("add.u32 %r11, %r3, %r1;", 3)[0])
    assert trace.of("SET-06")[-1].inputs["carries"] == "none"


@pytest.mark.seed("SET-07")
def test_the_set():
    known = licm_sets.ValueSet()
    m = marked(CHAIN)
    add = m.by["add.u32"]
    assert add not in known
    assert known.add(add)
    assert not known.add(add)
    assert add in known
    assert known.bits == 1


def test_every_code_of_the_pass_is_of_its_row():
    assert set(all_passes()["licm"].codes) == set(licm.CODES)
    assert len({c.name for c in licm.CODES}) == len(licm.CODES)


def test_remarks_carry_the_numbers_of_the_formula():
    (r,) = run(single("add.u32 %r10, %r3, 7;"))
    assert r.name == "Hoisted"
    assert {"score", "budget", "real", "size", "value", "penalty"} <= set(r.args)
    ctx = Context(single(""), Knobs(policy="documented"))
    assert core_knobs(ctx, 0) == licm_core.CoreKnobs()
    assert core_knobs(ctx, 1).cbo == 100


@pytest.mark.seed("LIC-27")
def test_phis_and_what_the_machine_does_not_run_weigh_nothing():
    header = loop_of(single("xor.b32 %r10, %r3, 7;")).header
    phis = list(header.phis)
    assert phis
    assert stages.count(phis, lambda f: False) == stages.count(phis, lambda f: True) == 0
    real = [i for i in header if not i.is_phi and not i.form.op.pseudo]
    each = tables.COUNT_REAL.value, tables.COUNT_NOOP.value
    assert [stages.count(real, lambda f, no=no: no) for no in (False, True)] == [
        n * len(real) for n in each]


@pytest.mark.seed("LIC-26", "LIC-30", "LIC-31")
def test_each_listed_call_runs():
    """Nothing leaves the inner loop: its stages run all the same, its header's call for the loop
    around it too."""
    text = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n)
{
.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<3>;
ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n]; mov.u32 %r2, 0; mov.u32 %r4, 0;
OUT: mov.u32 %r3, 0; xor.b32 %r6, %r1, 5;
IN: add.s32 %r4, %r4, %r6; add.s32 %r3, %r3, 1; setp.lt.s32 %p1, %r3, %r1; @%p1 bra IN;
add.s32 %r2, %r2, 1; setp.lt.s32 %p2, %r2, %r1; @%p2 bra OUT;
st.global.u32 [%rd1], %r4; ret;
}
"""
    with Trace() as trace:
        nvir.run_passes(nvir.read_ptx(text), "loop-simplify,licm<id=3>", policy="documented")
    assert [e for e in trace if e.step == "call left out"] == []
    run = [(e.at, e.inputs["block"]) for e in trace.of("LIC-05") if e.step == "block"]
    assert run[:4] == [("IN", "IN"), ("IN", "IN"), ("OUT", "OUT"), ("OUT", "IN")]
    assert len(run) == 5  # the latch
    looked = [e.inputs["items"] for e in trace.of("LIC-17") if e.at == "OUT"]
    assert "add.s32 %r4 (line 9)" in str(looked[1])  # at the block itself, that lost nothing
    (nested,) = trace.of("LIC-31")
    assert nested.inputs["body"] == nested.inputs["header"] > 0


@pytest.mark.seed("LIC-05")
def test_markers_are_cleared_and_say_which_loop_looked_last():
    module = nested()
    with Trace() as trace:
        run(module, id=1)
    (cleared,) = [e for e in trace.of("LIC-05") if e.step == "markers cleared"]
    assert set(cleared.outcome.values()) == {"0xffffffff"}
    assert {"L", "M"} < set(cleared.outcome)
    number = {b.name: b.rpo_index for b in module["k"].blocks}
    told = [(e.at, e.inputs["block"], e.outcome) for e in trace.of("LIC-05") if e.step == "block"]
    assert told[:2] == [("M", "M", "marker 0xffffffff"), ("M", "M", f"marker {number['M']:#x}")]
    assert ("L", "L", "marker 0xffffffff") in told


@pytest.mark.seed("LIC-14", "LIC-20", "LIC-23")
def test_the_stages_run_where_nothing_is_right_to_move():
    module = single("ld.volatile.global.u32 %r10, [%rd1];")
    with Trace() as trace:
        remarks = run(module)
    steps = [e.step for e in trace if e.at == "L" and e.step[:1] in "123456"]
    once = ["1 modifiers", "1 budget", "2 forward", "2 side effects", "3 backward", "3 candidates",
            "4 transitive", "5 weights", "5 score", "5 profit", "6 leaf test", "6 mover"]
    assert steps == once * 2  # of the header, and as latch
    assert [e.outcome for e in trace.of("LIC-28")] == [[], []]
    assert "NotProfitable" not in names(remarks)


@pytest.mark.seed("LIC-11", "LIC-28")
@pytest.mark.parametrize(("ahead", "made", "flag"), [
    ("", False, True),  # all lanes come
    ("setp.gt.u32 %p9, %r3, 5; @%p9 bra X; mov.u32 %r9, 1;", False, False),  # some do not
    ("setp.gt.u32 %p9, %r1, 5; @%p9 bra L; mov.u32 %r2, 1;", True, False),  # a new block has none
])
def test_instance_2_marks_registers_of_a_preheader_that_all_lanes_reach(ahead, made, flag):
    mul = "mul.lo.u32 %r10, %r3, %r1; setp.eq.u32 %p5, %r3, %r1; selp.u32 %r10, %r10, 7, %p5;"
    for id in range(4):
        text = f"{HEADER}{ahead}\nL: {mul}\nadd.s32 %r4, %r4, %r10;\n{STEP}X: {TAIL}"
        module = nvir.read_ptx(text)
        with Trace() as trace:
            run(module, id=id, HoistBudget=0, HoistLoopInvBudget=9000)
        (event,) = trace.of("LIC-11")
        assert (event.inputs["made"], event.inputs["convergence_flag"]) == (made, flag)
        (moved,) = [e for e in trace.of("LIC-28") if e.step.startswith("6 moved")]
        marks = {i.form.name: m for i, m in module["k"].marks.items()}
        both = {"hoisted", "converged"} if flag and id == 2 else {"hoisted"}
        assert marks == {"mul": both, "setp": {"hoisted"}, "selp": both}  # predicates: no class 2-4
        assert [set(m) for m in moved.inputs["marks"].values()] == [both, {"hoisted"}, both]
        assert nvir.print_ir(nvir.parse_ir(nvir.print_ir(module))) == nvir.print_ir(module)


@pytest.mark.seed("LIC-30", "LIC-28")
def test_the_header_of_a_loop_inside_is_looked_at_for_the_one_around_it():
    """Where no stage has looked at the inner loop, which a knob keeps out, its own header is."""
    inner = "ld.global.nc.u32 %r10, [%rd2];"
    for knobs, gone in (({"HoistLate@M": 0}, True), ({"HoistLate": 0}, False)):
        module = nested(inner=inner)
        with Trace() as trace:
            nvir.run_passes(module, "licm<id=3>", policy="documented", knobs=knobs, verify=True)
        calls = [e for e in trace.of("LIC-05") if e.step == "block" and e.inputs["block"] == "M"]
        assert [e.at for e in calls] == (["L"] if gone else [])
        (load,) = (i for i in module["k"].instructions() if i.form.spelling == "ld.global.nc.u32")
        module["k"].analyze_cfg()
        assert (load.block.loop_depth == 0) is gone
