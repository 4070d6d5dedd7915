"""The notes' decision on unrolling: a table for each step, code, weight and threshold.

Bodies are chains of `mad`, one instruction each. A loop adds the step, the comparison and
the branch: a body of n instructions has size n + 3. Two phis change (the variable and the
sum), so `killed` is 2 and the cost n + 1.
"""

from __future__ import annotations

from types import SimpleNamespace

import attrs
import pytest

import nvir
from nvir.analysis.induction import trip_count
from nvir.assembler.unroll.decision import UnrollCode
from nvir.assembler.unroll.latch_exit import (
    ASCENDING,
    DESCENDING,
    FLOAT,
    INIT_WRITTEN,
    LIMIT_WRITTEN,
    POINTER,
    SIGNED,
    UNKNOWN,
    UNSIGNED,
    Counter,
    StrideCheck,
    analyze_iv,
    counted_exit,
    direction,
    stride_sign,
    validate_iv,
    verify_stride,
    what_is_wrong,
)
from nvir.documented.policy import UnrollEntry, entry_guard, rules_of
from nvir.documented.unroll import steps
from nvir.documented.unroll.facts import (
    OFFSETS,
    RECORD_SIZE,
    BodyRecord,
    frequencies,
    pre_scan,
    scan_body,
    stride_fits,
)
from nvir.documented.unroll.steps import (
    Rules,
    allowance,
    documented_decisions,
    few_fetches,
    is_hot,
    known_factor,
    predicate_pressure,
    remaining_cost,
    tex_budget,
    unknown_factor,
    unrolls_fully,
    within_budget,
)
from nvir.ir import SCALARS
from nvir.ir.loops import natural_loops
from nvir.ir.text.trace import Trace
from nvir.passes.context import Context
from nvir.passes.driver import Driver, Settings
from nvir.passes.knobs import Knobs, all_knobs
from nvir.passes.loop.unroll import loop_unroll
from nvir.passes.loop.unroll.apply import LARGEST
from nvir.passes.loop.unroll.loop_unroll import ALWAYS, NEVER, UnrollRecord
from nvir.passes.loop.unroll.remarks import (
    NOT_UNROLLED,
)
from nvir.passes.loop.unroll.wishes import overridden
from nvir.passes.registry import all_passes
from nvir.report.facts import unrolling

HEADER = """.version 8.0
.target sm_80
.address_size 64
.const .align 4 .b8 cbuf[64];
.global .texref t;
.func inner (.param .b32 i) { ret; }
.func branchy (.reg .pred %c) { .reg .pred %q; @%c bra X; ret; X: ret; }
.visible .entry k(.param .u64 o, .param .u32 n, .param .u32 m, .param .f32 x) {
.shared .align 4 .b8 s[256];
.reg .pred %p<20>; .reg .b32 %r<40>; .reg .f32 %f<40>; .reg .b64 %rd<20>;
ld.param.u64 %rd1, [o]; ld.param.u32 %r1, [n]; ld.param.u32 %r4, [m]; ld.param.f32 %f1, [x];
mov.u32 %r3, 1; mov.f32 %f2, 0f00000000; mov.u64 %rd2, %rd1;
"""
END = "st.global.u32 [%rd1], %r3; st.global.f32 [%rd1+4], %f2; ret; }\n"
MAD = "mad.lo.s32 %r3, %r3, %r4, %r4;\n"
TEX = "tex.1d.v4.f32.s32 {%f10, %f11, %f12, %f13}, [t, {%r2}]; add.f32 %f2, %f2, %f10;\n"
TEX3 = TEX.replace("1d", "3d").replace("{%r2}", "{%r2, %r2, %r2, %r2}")


def scan(loop):
    return scan_body(loop, set(), trip_count(loop))


def runs_of(function):
    return frequencies(function, {x.header: trip_count(x) for x in natural_loops(function)})


def exit_of(loop):
    return counted_exit(loop, trip_count(loop))


def loop(
    body: str, trip: int | str = "%r1", label: str = "L", iv: str = "%r2", pragma: str = "",
    step: str = "1", start: str = "0", test: str = "lt.s32",
) -> str:
    p = f"%p{1 if label == 'L' else 2}"
    return (
        f"mov.u32 {iv}, {start};\n{label}:\n{pragma}\n{body}\n"
        f"add.s32 {iv}, {iv}, {step}; setp.{test} {p}, {iv}, {trip}; @{p} bra {label};\n"
    )


def kernel(text: str):
    module = nvir.read_ptx(HEADER + text + END)
    function = module["k"]
    function.analyze_cfg()
    return function


def verdicts(text: str, *, off: str = "", forced: bool = False, **rules: object):
    function = kernel(text)
    rules = {"literal": True, "inst_limit": 0.0} | rules
    named = frozenset(b for b in function.blocks if b.name == off)
    made = documented_decisions(function, Rules(**rules), named, forced=forced)
    return {h.name: v for h, v in made.items()}


def verdict(text: str, **rules: object):
    return verdicts(text, **rules)["L"]


def run(text: str, options: str = "", **knobs: object):
    """Statistics, and the remarks, of the pass under policy documented."""
    module = nvir.read_ptx(HEADER + text + END)
    driver = Driver(Settings(verify_each=True, check=True))
    ctx = driver.run(module, f"loop-unroll{options}", knobs=knobs, policy="documented")
    return module, ctx.remarks


# ------------------------------------------------------------------ guard, context


@pytest.mark.seed("UNR-01", "KNB-20")
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, ""),
        ({"optimize": False}, "optimisation is off"),
        ({"override": NEVER}, "nounroll holds for the whole module"),
        ({"override": NEVER | 0x21}, "nounroll holds for the whole module"),  # other bits say else
        ({"override": ALWAYS}, ""),
        ({"override": 0xC0}, ""),  # only 0x40 alone means never
        ({"skip": True}, "the phase is skipped"),
        ({"blocks": 2}, "2 blocks"),
        ({"blocks": 3}, ""),
        ({"master": False}, "knob LoopMakeSingleEntry is off"),
    ],
)
def test_each_entry_guard_blocks_alone(change, reason):
    entry = UnrollEntry(optimize=True, override=0, skip=False, blocks=3, master=True)
    assert entry_guard(attrs.evolve(entry, **change)) == reason


@pytest.mark.seed("UNR-01", "KNB-20")
def test_a_guard_stops_the_pass_with_a_remark():
    _, remarks = run(loop(MAD), LoopMakeSingleEntry=False)
    assert [r.name for r in remarks] == ["UnrollGuard"]
    assert "LoopMakeSingleEntry" in remarks[0].message
    for option, reason in (("enable=false", "optimisation is off"), ("skip", "skipped")):
        _, remarks = run(loop(MAD), f"<{option}>")
        assert [r.name for r in remarks] == ["UnrollGuard"]
        assert reason in remarks[0].message
    module = nvir.read_ptx('.version 8.0\n.target sm_80\n.address_size 64\n.pragma "nounroll";\n'
                           + HEADER.split("\n", 3)[3] + loop(MAD) + END)
    told = nvir.run_passes(module, "loop-unroll", policy="documented")
    assert [r.name for r in told] == ["UnrollGuard"]


@pytest.mark.seed("UNR-02", "UNR-04", "DIA-12")
def test_the_phase_is_found_by_its_dump_name_and_runs_in_order():
    from nvir.passes.phases import pass_names

    assert "loop-unroll" in pass_names("LoopUnrolling")
    assert all_passes()["loop-unroll"].phases == (22,)
    with Trace() as trace:  # guard, context, what is worked out anew, pre-scan, then the loops
        run(loop(MAD) + loop(MAD, label="M", iv="%r8"))
    while trace[1].row == "UNR-01":  # functions without a loop
        del trace[0]
    assert [e.row for e in trace[:6]] == ["UNR-01", "UNR-03", "UNR-02", "UNR-04", "UNR-05",
                                          "UNR-07"]
    assert [e.at for e in trace if e.row == "UNR-45"] == ["M", "L"]
    assert {e.at for e in trace[6:-4]} == {"M", "L"}
    assert [(e.row, e.at) for e in trace if e.row in ("UNR-45", "UNR-38", "UNR-44", "UNR-02")] == [
        ("UNR-02", ""), ("UNR-45", "M"), ("UNR-38", "M"), ("UNR-45", "L"), ("UNR-38", "L"),
        ("UNR-44", ""), ("UNR-02", ""), ("UNR-02", "")]  # one is done before the next is looked at
    assert [(e.step, e.at) for e in trace.of("UNR-02")] == [
        ("initialise", ""), ("run", ""), ("clean-up", "")]
    assert str(trace.of("UNR-04")[0]).startswith("UNR-04 prepare (function k): instructions ")


@pytest.mark.seed("UNR-04", "UNR-48")
def test_pressure_is_worked_out_for_each_run():
    """Four predicates that live through the loop, and none once nothing in it reads them."""
    sets = "".join(f"setp.eq.s32 %p1{k}, %r4, {k};" for k in range(4))
    f = kernel(sets + loop("".join(f"selp.b32 %r3, %r3, %r4, %p1{k};" for k in range(4))))
    rules = Rules(inst_limit=0.0)
    (before,) = documented_decisions(f, rules).values()
    assert before.reason.endswith("5 of 7 predicates are live")
    for i in [i for i in f.instructions() if i.form.name == "selp"]:
        i.replace_all_uses_with(i.operands[0])
        i.erase()
    f.analyze_cfg()
    (after,) = documented_decisions(f, rules).values()
    assert after.action == "partial"


@pytest.mark.seed("UNR-03", "KNB-28", "KNB-30", "KNB-31", "KNB-32", "KNB-33", "KNB-34", "KNB-35",
                  "KNB-36", "KNB-37", "KNB-38", "KNB-40", "KNB-41", "KNB-42", "KNB-43", "KNB-44",
                  "KNB-45", "KNB-46", "KNB-47", "KNB-48", "KNB-49", "KNB-50", "KNB-51", "KNB-52",
                  "KNB-53", "KNB-54")
def test_the_rules_start_from_the_knob_table():
    ctx = Context(nvir.read_ptx(HEADER + END), Knobs(policy="documented"))
    ctx.options = loop_unroll.Options()
    assert rules_of(ctx) == Rules()
    table = {k.name: k.default for k in all_knobs()}
    assert [table[n] for n in (
        "UnrollBudget", "UnrollFlexableFullLimit", "UnrollUnknownCount", "UnrollSmallLoopLimit",
        "LoopUnrollLargePartOfShaderPct", "UnrollInstLimit", "UnrollPregThreshold",
        "UnrollExtraInstPerPercentSaving", "UnrollFullInstLimit", "LoopUnrollNumExtraInstBase",
    )] == [140, 0.25, 4, 4, 0.4, 20.0, 50, 2, 200, 46]


@pytest.mark.seed("UNR-05")
def test_the_prescan_counts_calls_of_one_block():
    call = "{ .param .b32 a; st.param.b32 [a], %r2; call.uni inner, (a); }\n"
    f = kernel(call + loop(call + call))
    assert pre_scan(f).inlinable_calls == 3
    assert not pre_scan(f).multi_exit
    module = nvir.read_ptx(HEADER + loop(call + MAD) + END)
    ctx = Driver(Settings()).run(module, "loop-unroll", policy="documented")
    assert ctx.counters["loop-unroll.inlinable_calls"] == 1
    f = kernel(loop("setp.eq.s32 %p5, %r2, 3; call.uni branchy, (%p5);"))
    assert pre_scan(f).inlinable_calls == 0


@pytest.mark.seed("UNR-06")
def test_inner_loops_come_first():
    nest = loop(loop(loop(MAD, 9, "N", "%r7"), 9, "M", "%r6"), 9).replace("%p2", "%p3")
    assert list(verdicts(nest)) == ["N", "M", "L"]
    with Trace() as trace:
        run(nest)
    assert [(e.at, e.outcome, e.inputs["depth"]) for e in trace.of("UNR-06")] == [
        (h, f"number {k} in RPO, the last first", k) for h, k in (("N", 3), ("M", 2), ("L", 1))]


NEST = """mov.u32 %r2, 0;
L: mov.u32 %r6, 0;
M: shl.b32 %r8, %r6, 2; add.s32 %r3, %r3, %r8; add.s32 %r6, %r6, 1; setp.lt.s32 %p2, %r6, 2;
@%p2 bra M;
add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, OUTER; @%p1 bra L;
mov.u32 %r7, 0;
N: mad.lo.s32 %r3, %r3, %r4, %r4; add.s32 %r7, %r7, 1; setp.lt.s32 %p3, %r7, %r1; @%p3 bra N;
"""


@pytest.mark.seed("UNR-06", "UNR-12", "UNR-44")
def test_loops_have_their_turn_and_every_command_decides_alike():
    """The last header in reverse post-order first, each done before the next is looked at; a loop
    around one that is gone is scanned with its copies, whoever asks."""
    for outer in ("2", "%r1"):
        text = NEST.replace("OUTER", outer)
        with Trace() as trace:
            run(text)
        done = [(e.row, e.at) for e in trace if e.row in ("UNR-45", "UNR-38")]
        whole = [("UNR-38", "L")] if outer == "2" else []
        assert done == [("UNR-45", "N"), ("UNR-38", "N"), ("UNR-45", "M"), ("UNR-38", "M"),
                        ("UNR-45", "L"), *whole]
        for row in ("UNR-03", "UNR-04", "UNR-05", "UNR-07"):
            assert sum(e.row == row and (e.function, e.step) == ("k", trace.of(row)[0].step)
                       for e in trace) == 1  # told once
        module = nvir.read_ptx(HEADER + text + END)
        before = nvir.print_ir(module)
        said = unrolling(module["k"], module, "sm_80", "documented")
        assert nvir.print_ir(module) == before
        verdict = {e.at: e.outcome for e in trace.of("UNR-45")}
        assert {h: (d.action, d.size) for h, d in said.items()} == {
            h: (d["action"], d["size"]) for h, d in verdict.items()}
        assert (said["M"].action, said["L"].size) == ("full", 2 * 4 + 3)


@pytest.mark.seed("UNR-40", "UNR-19")
def test_one_bound_stands_for_the_tests_and_a_small_body_has_its_step():
    for test, step, start, sense, told in (
        ("lt.s32", "1", "0", "LT (0x5ffffffd)", "sub.s32"),
        ("gt.s32", "-1", "900", "GT (0x5ffffffc)", "add.s32"),
        ("ne.s32", "2", "0", "by distance", "more than 6 from the bound"),
    ):
        with Trace() as trace:
            run(loop(MAD, test=test, step=step, start=start))
        (event,) = trace.of("UNR-40")
        assert (event.inputs["sense"], event.outcome) == (sense, told)
    for body, small in (("", True), (MAD, False)):
        with Trace() as trace:
            run(loop(body, 3))
        (event,) = trace.of("UNR-19")
        assert (event.inputs["small"], event.outcome) == (small, 3 if small else 0)


# ------------------------------------------------------------------- steps A to D

NOUNROLL = '.pragma "nounroll";'


@pytest.mark.seed("UNR-07", "UNR-08", "GAP-17")
def test_a_pragma_reaches_inner_loops_and_no_siblings():
    nest = loop(loop(MAD, "%r1", "M", "%r6"), "%r1", pragma=NOUNROLL)
    both = verdicts(nest + loop(MAD * 4, "%r1", "N", "%r7"))
    assert (both["M"].code, both["M"].step) == (None, "B")  # passed over without a code
    assert both["L"].code is UnrollCode.NOUNROLL
    assert both["N"].action == "partial"
    assert verdicts(nest, force_all=True)["M"].step != "B"


@pytest.mark.seed("UNR-09", "UNR-45")
def test_a_latch_without_a_conditional_branch_is_13():
    text = "mov.u32 %r2, 0;\nL:\nsetp.ge.s32 %p1, %r2, %r1; @%p1 bra X;\n" + MAD + \
        "add.s32 %r2, %r2, 1; bra L;\nX:\n"
    assert verdict(text).code is UnrollCode.INDIRECT_EXIT
    assert UnrollCode.INDIRECT_EXIT.number == "13"


@pytest.mark.seed("UNR-10", "KNB-55", "KNB-27", "IR-14", "IR-16")
def test_four_causes_and_the_master_knob_give_11():
    convergent = "mov.u32 %r5, %laneid; shfl.sync.idx.b32 %r3, %r3, 0, 31, -1;"
    lanes = "mov.u32 %r1, %laneid;\n" + loop(convergent)
    assert "lanes leave apart" in verdict(lanes).reason
    assert verdict(lanes).code is UnrollCode.NOUNROLL
    assert verdict(loop(convergent)).code is UnrollCode.NOUNROLL  # though all leave together
    assert verdict(loop(MAD, pragma=NOUNROLL)).code is UnrollCode.NOUNROLL
    assert verdict(loop(MAD), off="L").code is UnrollCode.NOUNROLL
    assert verdict(loop(MAD), enabled=False).code is UnrollCode.NOUNROLL
    for at, code in ((0, UnrollCode.NOUNROLL), (1, None), (2, UnrollCode.NOUNROLL), (3, None)):
        f = kernel(loop(MAD))  # two phis, and what the machine has for the first instruction
        header = next(b for b in f.blocks if b.name == "L")
        f.marks[list(header)[at]] = {"nounroll"}
        assert documented_decisions(f, Rules())[header].code is code


@pytest.mark.seed("UNR-10", "UNR-45", "IR-14")
@pytest.mark.parametrize(("operation", "code"), [
    ("vote.sync.ballot.b32 %r5, %p5, -1;", UnrollCode.NOUNROLL),
    ("activemask.b32 %r5;", UnrollCode.NOUNROLL), ("bar.warp.sync -1;", UnrollCode.NOUNROLL),
    ("bar.sync 0;\nactivemask.b32 %r5;", UnrollCode.NOUNROLL),
    ("barrier.sync 0;", UnrollCode.NOUNROLL), ("barrier.sync.aligned 0;", None),
    ("bar.sync 0;", None), ("mov.u32 %r5, %laneid;", None),
])
def test_what_ties_the_lanes_of_a_warp_gives_11(operation, code):
    """Also where all lanes leave together; a barrier of the block is beyond the limit."""
    found = verdict("setp.eq.s32 %p5, %r1, 3;\n" + loop(operation + MAD))
    assert found.code is code
    assert (found.action == "partial") is (code is None)


# ------------------------------------------------------------------- steps E to J


@pytest.mark.seed("UNR-11", "GAP-37")
@pytest.mark.parametrize(
    ("latch", "header", "hot"),
    [(999, 1, False), (1000, 1, True), (1000, 0, False), (3000, 1000, False), (4000, 1000, True),
     (3999, 1000, False)],
)
def test_hot_is_more_than_999_and_more_than_thrice(latch, header, hot):
    assert is_hot(latch, header) is hot


@pytest.mark.seed("UNR-11")
def test_frequencies_come_from_pragmas_else_from_counts():
    f = kernel(loop(loop(MAD, 5, "M", "%r6"), 7) + loop(MAD, "%r1", "N", "%r7"))
    runs = {b.name: n for b, n in runs_of(f).items()}
    assert (runs["L"], runs["M"], runs["N"]) == (7, 35, 10)
    f = kernel(loop(loop(MAD, 1 << 21, "M", "%r6"), 1 << 20) + loop(MAD, 1, "N", "%r7"))
    runs = {b.name: n for b, n in runs_of(f).items()}
    assert (runs["L"], runs["M"], runs["N"]) == (1 << 20, 1 << 40, 1)  # no more than 2^40
    f = kernel(loop(MAD, 5, pragma='.pragma "frequency 4000";'))
    assert {b.name: n for b, n in runs_of(f).items()}["L"] == 4000


@pytest.mark.seed("UNR-12")
def test_the_body_record_counts_a_body_made_by_hand():
    body = """ld.const.u32 %r10, [cbuf]; ld.global.u32 %r11, [%rd2]; ld.volatile.global.u32 %r12,
        [%rd2+4]; st.global.u32 [%rd2+8], %r11; add.s64 %rd2, %rd2, 4;
        add.s32 %r3, %r3, %r10; add.s32 %r3, %r3, %r11; add.s32 %r3, %r3, %r12;
        shl.b32 %r13, %r2, 2; add.s32 %r3, %r3, %r13;
        """ + TEX
    f = kernel(loop(body))
    r = scan(natural_loops(f)[0])
    assert (r.size, r.foldable_ldc, r.tex, r.call_weight) == (10 + 2 + 3, 1, 1, 0)
    assert (r.mem_flag, r.memory, r.loads, r.stores) == (1, 4, 3, 1)
    assert (r.cross_edges, r.branches, r.single_exit_reg) == (False, 0, True)
    assert r.killed == 4  # the variable, the pointer, two sums
    assert r.foldable == 2  # the shift and the constant load
    f = kernel(loop("prefetch.global.L2 [%rd2];"))
    assert scan(natural_loops(f)[0]).memory == 0  # it has an address, and neither reads nor writes
    (phi, *_) = (found := natural_loops(f)[0]).header.phis
    was = scan(found).killed
    outside = next(v for v in phi.operands if v.definer.block is not found.header)
    for value in (phi, outside):  # itself, or what is made outside: no write
        phi.set_operands([value if b is found.header else v for v, b in phi.incoming])
        assert scan(found).killed == was - 1
    for change, single in (("", True), ("setp.eq.u32 %p3, %r3, 9;", False)):
        f = kernel("setp.eq.u32 %p3, %r4, 9;" + loop(MAD + change, test="lt.and.s32").replace(
            "%r2, %r1; @", "%r2, %r1, %p3; @"))
        assert scan(natural_loops(f)[0]).single_exit_reg is single  # of three operands
    call = "{ .param .b32 a; st.param.b32 [a], %r2; call.uni inner, (a); }\n"
    f = kernel(loop(call + call))
    assert scan(natural_loops(f)[0]).call_weight == 18


@pytest.mark.seed("UNR-12")
def test_the_record_has_the_tools_layout():
    assert (OFFSETS["size"], OFFSETS["foldable_ldc"], OFFSETS["tex"], OFFSETS["call_weight"],
            OFFSETS["mem_flag"], OFFSETS["memory"], OFFSETS["loads"], OFFSETS["stores"],
            OFFSETS["cross_edges"], OFFSETS["branches"], OFFSETS["single_exit_reg"],
            OFFSETS["killed"], OFFSETS["inner_nounroll"]) == (
        0, 4, 16, 24, 28, 32, 36, 40, 44, 52, 56, 60, 64)
    assert RECORD_SIZE == 68
    assert all(hasattr(BodyRecord(), name) for name in OFFSETS)


BREAK = "setp.eq.s32 %p5, %r3, 77; @%p5 "


@pytest.mark.seed("UNR-13", "GAP-36")
@pytest.mark.parametrize("end", ["bra X;", "ret;", "exit;"])
def test_an_edge_out_of_the_middle_is_passed_over(end):
    for count in ("2", "%r1"):
        v = verdict(loop(BREAK + end + MAD, count) + "X:\n")
        assert (v.action, v.code, v.step) == ("none", None, "F")
    assert verdict(loop(BREAK + "bra S;\nS:" + MAD, "2")).step != "F"
    _, remarks = run(loop(BREAK + end + MAD) + "X:\n")
    assert [r.name for r in remarks] == ["NotUnrolledSkipped", "UnrollStatistics"]
    assert "[non-unrolled loops=1]" in remarks[1].message


@pytest.mark.seed("UNR-12")
@pytest.mark.parametrize(("way", "more"), [("bra.uni S;\nS:", 0), ("bra.uni T;\nS: bra.uni U;\n"
                                            "T: bra.uni S;\nU:", 3)], ids=["next", "away"])
def test_a_jump_to_the_block_behind_is_no_instruction(way, more):
    sizes = [scan(natural_loops(kernel(loop(MAD + x)))[0]).size for x in ("", way)]
    assert sizes[1] - sizes[0] == more


@pytest.mark.seed("UNR-14", "KNB-43", "KNB-49", "KNB-50", "KNB-51", "GAP-37")
def test_what_remains_of_the_cost():
    r = BodyRecord(size=30, call_weight=9, foldable_ldc=2, killed=3, inner_nounroll=5,
                   foldable_addresses=4, cold=10)
    assert remaining_cost(r, Rules()) == 9 + 30 - 2 - 3 - int(0.5 * 5)
    assert remaining_cost(r, Rules(literal=False)) == 9 + 30 - 2 - 3 + 2  # a penalty raises it
    assert remaining_cost(r, Rules(penalty_scale=2.0)) == 9 + 30 - 2 - 3 - 10
    assert remaining_cost(r, Rules(ldc_weight=3)) == 32 - 3 * 2
    assert remaining_cost(r, Rules(address_weight=2)) == 32 - 2 * 4
    assert remaining_cost(r, Rules(cold_scale=50)) == 32 - 5  # half of what is cold
    assert remaining_cost(r, Rules(cold_scale=100)) == 32
    cold = BodyRecord(size=300, cold=200)
    assert [remaining_cost(cold, Rules(cold_scale=s)) for s in (50, 101, 150)] == [200, 302, 400]


@pytest.mark.seed("UNR-14", "UNR-12")
def test_inner_blocks_that_stay_are_those_of_loops_with_the_pragma():
    """Literally the penalty of each is taken off the cost."""
    costs = [
        verdicts(loop(loop(MAD, "%r1", "M", "%r6", pragma), "%r1"), penalty_scale=4.0)["L"].cost
        for pragma in ("", NOUNROLL)
    ]
    assert costs[0] - costs[1] == 4
    assert scan(natural_loops(kernel(loop(MAD)))[0]).inner_nounroll == 0
    for pragma, stay in (("", 0), (NOUNROLL, 1)):  # not what unrolling has marked before
        with Trace() as trace:
            run(loop(loop(MAD, "%r1", "M", "%r6", pragma), "%r1"), UnrollInstLimit=0)
        assert [e.inputs["inner_nounroll"] for e in trace.of("UNR-14") if e.at == "L"] == [stay]


@pytest.mark.seed("UNR-15", "KNB-29")
@pytest.mark.parametrize(
    ("text", "number", "said"),
    [("-2-", 2, "skip"), ("-12-", 2, ""), ("-12-", 12, "skip"), ("+2+", 2, "force"),
     ("+12+", 2, ""), ("-", 5, "skip"), ("+", 5, "force"), ("", 5, ""), ("-1-+2+", 2, "force")],
)
def test_the_override_string_names_whole_numbers(text, number, said):
    assert overridden(text, number) == said


@pytest.mark.seed("UNR-15", "KNB-29")
def test_the_override_string_acts():
    text = loop(MAD * 4)
    assert verdict(text, override="-").step == "H"
    assert verdict(text, override="-1-").step == "H"  # the entry is block 0, the loop 1
    assert verdict(text, override="-11-").action == "partial"
    assert verdict(loop(MAD * 300), override="+1+").factor == 4
    assert verdict(loop(MAD * 300), override="+L+").factor == 4


@pytest.mark.seed("UNR-16", "UNR-18")
@pytest.mark.parametrize(("power", "factor"), [(1, 2), (2, 4), (3, 8)])
def test_a_forced_loop_gets_a_power_of_two_despite_the_budget(power, factor):
    big = loop(MAD * 300)
    assert verdict(big).action == "none"
    v = verdict(big, forced=True, force_factor=power)
    assert (v.action, v.factor) == ("partial", factor)
    v = verdict(big, forced=True, force_factor=power, factor=5)  # step L is not for forced loops
    assert (v.action, v.factor) == ("partial", factor)


@pytest.mark.seed("UNR-17", "KNB-40", "UNR-49", "UNR-45")
def test_outer_loops_need_fetches_where_the_knob_is_off():
    """Size 2·k + n + 3, four values change: the cost is 2·k + n - 1 of n mads and k fetches."""
    assert verdict(loop(TEX + MAD * 10), non_innermost=False).code is UnrollCode.TEXTURE_RATIO
    few = verdict(loop(TEX + MAD * 8), non_innermost=False)
    assert (few.cost, few.code) == (10, None)  # 10·1 < 10 does not hold
    assert verdict(loop(TEX + MAD * 9), non_innermost=False).code is UnrollCode.TEXTURE_RATIO
    assert verdict(loop(TEX + MAD * 9)).code is None
    assert UnrollCode.TEXTURE_RATIO.number == "7"


# ------------------------------------------------------------------------ step K


@pytest.mark.seed("UNR-19", "UNR-20", "KNB-38", "GAP-18")
@pytest.mark.parametrize(
    ("T", "cost", "factor"),
    [(1, 199, 1), (1, 200, 4), (2, 99, 2), (2, 100, 2), (2, 150, 2), (3, 1, 0), (64, 1, 0)],
)
def test_known_counts_literally(T, cost, factor, monkeypatch):
    """Path A up to 2 iterations: T copies below 200/T, else 4/T. Path B: no factor."""
    assert known_factor(T, cost, Rules()) == factor
    assert known_factor(1, 100, Rules(full_limit=100)) == 4
    assert known_factor(1, 99, Rules(full_limit=100)) == 1
    monkeypatch.setattr(steps, "SMALL_COUNT", 3)  # 4 / 2 is 2: the limit's share shows at 3
    assert [known_factor(3, cost, Rules(full_limit=100)) for cost in (32, 33)] == [3, 1]


@pytest.mark.seed("UNR-20", "UNR-21", "KNB-30", "KNB-38", "GAP-18", "GAP-19")
@pytest.mark.parametrize(
    ("T", "cost", "factor"),
    [(4, 50, 4), (4, 51, 2), (8, 25, 8), (8, 26, 4), (12, 35, 4), (10, 30, 2), (9, 30, 4),
     (7, 71, 0), (100, 2, 100), (101, 2, 64), (66, 14, 2), (64, 9, 8),
     (48, 5, 16), (64, 4, 32), (96, 4, 32), (128, 2, 64)],
)
def test_known_counts_repaired(T, cost, factor):
    """Full up to 200; else the largest power of two within 140, one that divides T first."""
    assert known_factor(T, cost, Rules(literal=False)) == factor


@pytest.mark.seed("KNB-31", "KNB-34")
@pytest.mark.parametrize(("share", "factor"), [(0.39, 2), (0.4, 4), (0.41, 4)])
def test_a_large_part_of_the_kernel_gets_more_room_repaired(share, factor):
    assert known_factor(4, 62, Rules(literal=False), share) == factor
    assert known_factor(4, 63, Rules(literal=False), share) == 2
    assert known_factor(8, 40, Rules(literal=False, budget=400)) == 4  # never all of them


@pytest.mark.seed("UNR-20", "UNR-21", "UNR-45", "GAP-18")
def test_a_known_count_above_two_is_12_literally_and_unrolled_repaired():
    text = loop(MAD * 10, 8)
    assert verdict(text).code is UnrollCode.NO_FACTOR
    v = verdict(text, literal=False)
    assert (v.action, v.T, v.factor) == ("full", 8, None)
    assert UnrollCode.NO_FACTOR.number == "12"


@pytest.mark.seed("KNB-33", "GAP-19")
def test_bodies_below_the_small_limit_are_fully_unrolled():
    """Size 3 is step, comparison, branch alone; size 4 has one instruction more."""
    count = "mov.u32 %r2, 0;\nL:\nadd.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, {}; @%p1 bra L;\n"
    assert verdict(count.format(60)).action == "full"
    assert verdict(count.format(67)).code is UnrollCode.NO_FACTOR  # 67·3 > 200
    assert verdict(count.format(60), full_limit=180).action == "full"
    assert verdict(count.format(60), full_limit=179).code is UnrollCode.NO_FACTOR
    four = loop("add.s32 %r3, %r3, %r4;", 60)
    assert verdict(four).code is UnrollCode.NO_FACTOR
    assert verdict(loop("add.s32 %r3, %r3, %r4;", 50), small_limit=5).action == "full"


@pytest.mark.seed("UNR-23", "KNB-44")
@pytest.mark.parametrize(
    ("fetches", "knob", "budget"), [(0, 0, 22), (1, 0, 27), (15, 0, 97), (16, 0, 100), (20, 0, 100),
                                    (20, 30, 30)],
)
def test_the_texture_budget(fetches, knob, budget):
    assert tex_budget(fetches, Rules(tex_budget=knob)) == budget


def of_unknown_count(
    r: BodyRecord, cost: int, hot: bool, multi: bool, rules: Rules
) -> tuple[int, bool]:
    return unknown_factor(r, cost, hot, multi, rules, tex_budget(r.tex, rules))


@pytest.mark.seed("UNR-24", "GAP-37")
@pytest.mark.parametrize(
    ("tex", "cost", "hot", "multi", "factor"),
    [
        (1, 10, True, True, 2),  # fetches dominate
        (1, 11, True, True, 2),  # clamped: 0 literally, which K4 makes 2
        (1, 49, False, True, 4),
        (1, 49, True, False, 4),
        (1, 50, False, True, 2),  # no longer small: 27 <= 50
    ],
)
def test_small_bodies_with_fetches(tex, cost, hot, multi, factor):
    r = BodyRecord(size=cost, tex=tex)
    epilogue = factor != 4  # UnrollUnknownCount clears it
    assert of_unknown_count(r, cost, hot, multi, Rules()) == (factor, epilogue)
    assert of_unknown_count(r, cost, hot, multi, Rules(literal=False)) == (factor, epilogue)


@pytest.mark.seed("UNR-25", "UNR-26", "KNB-32", "GAP-37", "GAP-54")
def test_large_bodies_are_clamped_and_small_ones_get_the_unknown_count():
    r = BodyRecord(size=30)
    def factor(cost, **rules):
        return of_unknown_count(r, cost, False, False, Rules(**rules))[0]

    assert factor(21) == 4
    assert factor(22) == 2  # 22 <= 22: equal is too large
    assert factor(21, unknown_count=8) == 8
    # K4: literally nothing had set the factor; it is 2 only where outer loops are allowed.
    assert factor(22, non_innermost=False) == 0
    assert factor(22, literal=False, non_innermost=False) == 2


@pytest.mark.seed("UNR-23", "UNR-49", "KNB-35", "KNB-42", "KNB-45", "KNB-47", "KNB-54", "GAP-19")
def test_unknown_counts_are_gated():
    text = loop(MAD * 17)  # size 20
    assert verdict(text, inst_limit=20.0).action == "partial"
    assert verdict(loop(MAD * 18), inst_limit=20.0).code is UnrollCode.OTHER
    assert verdict(loop(MAD * 18), inst_limit=20.0, small_body=21).action == "partial"
    for small, action in ((21, "partial"), (20, "none")):  # 21 instructions
        assert verdict(loop(MAD * 18), small_body=small, budget=1).action == action
    assert verdict(text, unknown_limit=20).action == "partial"
    assert verdict(text, unknown_limit=19).code is UnrollCode.OTHER
    assert verdict(text, variable_bounds=False).code is UnrollCode.NO_BOUND
    branch = "mov.u32 %r2, 0;\nL:\nadd.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, {}; setp.eq.s32 " \
        "%p5, %r3, 9; @%p5 bra Y;\n" + MAD + "Y:\n" + MAD + "@%p1 bra L;\n"
    assert verdict(branch.format("%r1")).code is UnrollCode.OTHER
    assert verdict(branch.format("%r1"), unknown_multi_block=True).action == "partial"
    known = branch.format(2)
    assert verdict(known, literal=False).action == "full"
    assert verdict(known, literal=False, multi_block=False).code is UnrollCode.OTHER


@pytest.mark.seed("UNR-49", "KNB-54")
def test_two_blocks_are_several():
    two = "mov.u32 %r2, 0;\nL:\n" + MAD + "bra Y;\nY:\n" + \
        "add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;\n"
    (found,) = natural_loops(kernel(two))
    assert len(found.blocks) == 2
    assert verdict(two).reason == "several blocks and an unknown count"
    assert verdict(two, unknown_multi_block=True).action == "partial"


@pytest.mark.seed("UNR-27", "KNB-28", "GAP-37")
def test_the_factor_that_a_knob_sets():
    assert verdict(loop(MAD * 50), factor=3).factor == 3
    eight = loop(MAD * 50, 8)
    assert verdict(eight, factor=3).code is UnrollCode.NO_FACTOR  # literally, 12 comes first
    assert verdict(eight, factor=3, literal=False).factor == 3


@pytest.mark.seed("UNR-27", "KNB-28")
@pytest.mark.parametrize(("option", "knobs", "source", "factor"), [
    (0, {"LoopUnrollFactor": 3}, "knob LoopUnrollFactor", 3),
    (0, {"LoopUnrollFactorStepL": 3}, "knob LoopUnrollFactorStepL", 3),
    (0, {"LoopUnrollFactorStepL": 3, "LoopUnrollFactor": 2}, "knob LoopUnrollFactorStepL", 3),
    (0, {"LoopUnrollFactorStepL": 0, "LoopUnrollFactor": 3}, "knob LoopUnrollFactor", 3),
    (5, {"LoopUnrollFactor": 3}, "option factor", 5),
    (0, {}, "", 0),
])
def test_step_l_tells_what_set_the_factor(option, knobs, source, factor):
    module = kernel(loop(MAD)).module
    with Trace() as trace:
        nvir.run_passes(module, f"loop-unroll<factor={option}>", policy="documented", knobs=knobs)
    (event,) = trace.of("UNR-27")
    assert (event.inputs["factor_from"], event.outcome) == (source, factor)
    (verdict,) = trace.of("UNR-45")
    assert not factor or (verdict.outcome["factor"], verdict.outcome["reason"]) == (factor, source)


@pytest.mark.seed("UNR-45", "UNR-43", "KNB-28")
@pytest.mark.parametrize(("factor", "fits"), [(3, True), (99999999, False)])
def test_copies_for_which_there_is_no_room_are_rejected_by_the_verdict(factor, fits):
    made = verdict(loop(MAD), factor=factor)
    assert (made.action, made.code) == (("partial", None) if fits else ("none", UnrollCode.OTHER))
    room = LARGEST - sum(map(len, kernel(loop(MAD)).blocks))
    assert fits or made.reason.endswith(f": {factor} copies are more than {room // 6}")
    for most, action in ((room // 6, "partial"), (room // 6 + 1, "none")):
        assert verdict(loop(MAD), factor=most).action == action
    _, remarks = run(loop(MAD), LoopUnrollFactor=factor)
    assert ("PartiallyUnrolled" if fits else "NotUnrolledOther") in [r.name for r in remarks]


# ------------------------------------------------------------------------ step M


@pytest.mark.seed("UNR-28", "UNR-29", "UNR-30", "UNR-31", "UNR-32", "UNR-45", "GAP-36", "GAP-39")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        # no comparison of a variable
        ("L:\n" + MAD + "setp.lt.s32 %p1, %r3, %r4; @%p1 bra L;\n", "14"),
        # the stride is worked out in the body
        (loop("mul.lo.s32 %r9, %r4, %r4;" + MAD, step="%r9"), "16"),
        # the stride is 0
        (loop(MAD, step="0"), "14"),
        # a float
        ("mov.f32 %f3, 0f00000000;\nL:\n" + MAD + "add.f32 %f3, %f3, 0f3F800000; "
         "setp.lt.f32 %p1, %f3, %f1; @%p1 bra L;\n", "15"),
        # the bound is loaded in the body
        ("mov.u32 %r2, 0;\nL:\nld.global.u32 %r8, [%rd1]; add.s32 %r2, %r2, 1; "
         "setp.lt.s32 %p1, %r2, %r8; @%p1 bra L;\n", "16"),
        # the variable is written on two paths
        ("mov.u32 %r2, 0;\nL:\nadd.s32 %r2, %r2, 1; setp.eq.s32 %p5, %r4, %r2; @!%p5 bra Y;\n"
         "add.s32 %r2, %r2, 2;\nY:\nsetp.lt.s32 %p1, %r2, %r1; @%p1 bra L;\n", "17"),
        # the step's block is reached two ways
        ("mov.u32 %r2, 0;\nL:\nsetp.eq.s32 %p5, %r4, %r2; @!%p5 bra Y;\n" + MAD +
         "Y:\nadd.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;\n", "17"),
        # what the body writes on two paths, tested before it is written
        ("mov.u32 %r2, 0;\nL:\nsetp.lt.s32 %p1, %r2, %r1; add.s32 %r2, %r2, 1; "
         "setp.eq.s32 %p5, %r4, %r2; @!%p5 bra Y;\nadd.s32 %r2, %r2, 2;\nY:\n@%p1 bra L;\n",
         "17"),
        # the variable is written beside its step: under a guard, before and behind
        (loop("setp.eq.s32 %p5, %r4, %r3; @%p5 add.s32 %r2, %r2, 1;" + MAD), "17"),
        (loop("setp.eq.s32 %p5, %r4, %r3;" + MAD).replace(
            "setp.lt", "@%p5 mov.u32 %r2, 0; setp.lt"), "17"),
        (loop("setp.eq.s32 %p5, %r4, %r3; @%p5 ld.global.u32 %r2, [%rd1];" + MAD), "17"),
        # the bound is written under a guard
        (loop("setp.eq.s32 %p5, %r4, %r3; @%p5 ld.global.u32 %r1, [%rd1];" + MAD), "18"),
        # a guarded write of something else: a step of another register is no step
        ("L:\nsetp.eq.s32 %p5, %r4, %r3; @%p5 mov.u32 %r5, 0; mul.lo.s32 %r2, %r5, %r4; "
         "setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;\n", "14"),
        # UBMSK steps it
        (loop(MAD).replace("add.s32 %r2", "bmsk.clamp.b32 %r2"), "16"),
        (loop(MAD).replace("add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1", "setp.lt.s32 %p1, "
                           "%r1, %r2; bmsk.clamp.b32 %r2, 1, %r2"), "16"),
        # tested before it is written, by what is no step: no variable
        ("mov.u32 %r2, 0;\nL:\nsetp.lt.s32 %p1, %r2, %r1; mul.lo.s32 %r2, %r2, %r4; "
         "@%p1 bra L;\n", "14"),
        ("mov.u32 %r2, 0;\nL:\nsetp.lt.s32 %p1, %r2, %r1; mov.u32 %r2, %r4; @%p1 bra L;\n",
         "14"),
        # counting up under `gt`
        (loop(MAD, test="gt.s32"), "19"),
        (loop(MAD, step="-1"), "19"),
    ],
)
def test_what_is_wrong_with_an_exit(text, code):
    f = kernel(text)
    loops = natural_loops(f)
    found = exit_of(loops[0])
    assert isinstance(found, tuple)
    assert found[0].number == code
    v = verdict(text, unknown_multi_block=True)
    assert v.code is not None
    assert v.code.number == code


@pytest.mark.seed("UNR-30", "GAP-36")
def test_a_mask_steps_no_variable_and_may_bound_one():
    """Of the two opcodes that the bound may have, the second is rejected behind it."""
    made, trace = traced(loop(MAD).replace("add.s32 %r2", "bmsk.clamp.b32 %r2"))
    assert [(e.step, e.inputs.get("number")) for e in trace.of("UNR-30")] == [
        ("opcode of the bound", 139), ("ExtractBound", None)]
    assert made["L"].reason == "bmsk.clamp.b32 steps the variable"
    before = "bmsk.clamp.b32 %r8, %r1, %r4;\n" + loop(MAD).replace("%p1, %r2, %r1", "%p1, %r2, %r8")
    assert verdict(before).action == "partial"
    other = loop(MAD).replace("add.s32 %r2, %r2, 1", "bmsk.clamp.b32 %r2, %r3, 1")
    assert verdict(other).code is UnrollCode.NO_INDUCTION


@pytest.mark.seed("UNR-31")
def test_the_block_of_the_bound_is_the_one_that_steps():
    """The notes' bound is the instruction of start and stride; how its block is reached decides,
    not how that of the value compared with is."""
    joined = "setp.eq.s32 %p5, %r4, %r3; @%p5 bra J; add.s32 %r1, %r1, 7;\nJ:\n"
    made, trace = traced(joined + loop(MAD))
    (event,) = trace.of("UNR-31")
    assert (made["L"].action, event.inputs["block"], event.outcome) == ("partial", "L", None)
    split = "mov.u32 %r2, 0;\nL:\nsetp.eq.s32 %p5, %r4, %r2; @!%p5 bra Y;\n" + MAD + \
        "Y:\nadd.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;\n"
    made, trace = traced(split)
    assert trace.of("UNR-31")[0].inputs["block"] == "Y"
    assert made["L"].reason == "the block of the bound, which steps, is reached 2 ways"


@pytest.mark.seed("UNR-31", "UNR-32", "UNR-45")
def test_degenerate_bounds_are_18():
    # The parameter is both where the variable starts and its bound.
    same = "add.s32 %r9, %r1, 5;\nmov.u32 %r2, %r9;\nL:\n" + MAD + \
        "add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r9; @%p1 bra L;\n"
    module = nvir.read_ptx(HEADER + same + END)
    nvir.run_passes(module, "copy-prop")
    f = module["k"]
    f.analyze_cfg()
    loops = natural_loops(f)
    assert exit_of(loops[0])[0] is UnrollCode.DEGENERATE
    # The body writes the bound: it is a phi of the header.
    moved = "mov.u32 %r2, 0;\nL:\n" + MAD + \
        "add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; mul.lo.s32 %r1, %r1, 3; " \
        "@%p1 bra L;\n"
    f = kernel(moved)
    loops = natural_loops(f)
    assert exit_of(loops[0])[0] is UnrollCode.DEGENERATE
    assert UnrollCode.DEGENERATE.number == "18"


@pytest.mark.seed("UNR-28", "UNR-33", "UNR-50")
def test_a_good_exit_has_kind_stride_and_count():
    f = kernel(loop(MAD, 9))
    loops = natural_loops(f)
    found = exit_of(loops[0])
    assert (found.kind, found.stride, found.trip.count, found.swapped) == (SIGNED, 1, 9, False)
    f = kernel(loop(MAD, test="lo.u32"))
    loops = natural_loops(f)
    assert (exit_of(loops[0]).kind, exit_of(loops[0]).trip.count) == (UNSIGNED, None)
    f = kernel(loop(MAD).replace("%p1, %r2, %r1", "%p1, %r1, %r2").replace("lt.s32", "gt.s32"))
    loops = natural_loops(f)
    found = exit_of(loops[0])
    assert (found.swapped, found.direction) == (True, ASCENDING)
    pointer = "L:\nst.global.u32 [%rd2], %r3; add.s64 %rd2, %rd2, 4; " \
        "setp.ne.s64 %p1, %rd2, %rd1; @%p1 bra L;\n"
    f = kernel("add.s64 %rd2, %rd1, -64;\n" + pointer)
    loops = natural_loops(f)
    assert exit_of(loops[0]).kind == POINTER


@pytest.mark.seed("UNR-29", "UNR-36")
def test_the_latch_and_its_test_are_looked_at_first():
    (x,) = natural_loops(kernel("L:\n" + MAD + "@%p3 bra X; add.s32 %r3, %r3, 1; bra L;\nX:"))
    assert analyze_iv(x) == (UnrollCode.INDIRECT_EXIT, UnrollCode.INDIRECT_EXIT.text)
    text = loop(MAD).replace("lt.s32", "ge.s32").replace("@", "not.pred %p2, %p1; @")
    (x,) = natural_loops(kernel(text.replace("@%p1", "@%p2")))
    found = analyze_iv(x)
    assert (found.variable.step, found.test.form.spelling) == (1, "setp.ge.s32")
    trip = trip_count(x)
    assert stride_sign(found, trip, x) == 1
    irregular = UnrollCode.IRREGULAR, "the exit test is not of the variable and its bound"
    assert stride_sign(found, None, x) == irregular
    other = attrs.evolve(trip.variable, phi=None)
    for change in ({"exit": x.header.preds[0]}, {"variable": other}):
        assert stride_sign(found, attrs.evolve(trip, **change), x) == irregular
    for step, compare, right in ((2, "lt.s32", True), (2, "gt.s32", False), (-2, "gt.s32", True),
                                 (-2, "lt.s32", False), (2, "ne.s32", True)):
        far = attrs.evolve(found, variable=attrs.evolve(found.variable, step=step))
        said = stride_sign(far, attrs.evolve(trip, compare=compare), x)
        assert said == (step if right else (
            UnrollCode.STRIDE_SIGN, f"stride {step} under {compare}"))
    odd = "L:\n@%p3 bra A; add.s32 %r2, %r2, 1;\nA:" + MAD + "setp.lt.s32 %p1, {}; @%p1 bra L;\n"
    for sides, swapped in (("%r2, %r1", False), ("%r1, %r2", True)):
        (y,) = natural_loops(kernel("mov.u32 %r2, 0;" + odd.format(sides)))
        found = analyze_iv(y)
        assert (found.variable, found.swapped) == (None, swapped)


@pytest.mark.seed("UNR-29", "UNR-36")
def test_floats_count_where_asked():
    text = "mov.f32 %f3, 0f00000000;\nL:\n" + MAD + "add.f32 %f3, %f3, 0f3F800000; " \
        "setp.lt.f32 %p1, %f3, %f1; @%p1 bra L;\n"
    assert verdict(text).code is UnrollCode.INDUCTION_CLASS
    made, trace = traced(text, floats=True)
    assert made["L"].action == "partial"
    assert [str(e) for e in trace.of("UNR-36")] == [
        "UNR-36 float strides (stride 1.0, factor 4): 3.0"]


@pytest.mark.seed("UNR-37")
@pytest.mark.parametrize(
    ("compare", "kind"),
    [("lt.s32", ASCENDING), ("le.u32", ASCENDING), ("ls.u32", ASCENDING), ("gt.s32", DESCENDING),
     ("hs.u64", DESCENDING), ("ne.s32", UNKNOWN), ("eq.s32", UNKNOWN)],
)
def test_direction_classes(compare, kind):
    assert (ASCENDING, DESCENDING, UNKNOWN) == (2, 5, 13)
    assert direction(compare) == kind


# ------------------------------------------------------------------- steps N to P


@pytest.mark.seed("UNR-35", "UNR-36", "UNR-50")
@pytest.mark.parametrize(
    ("kind", "stride", "factor", "bits", "fits"),
    [
        (SIGNED, 2**31 - 1, 2, 32, True), (SIGNED, 2**31 - 1, 4, 32, False),
        (SIGNED, -(2**31), 2, 32, True), (SIGNED, -(2**31), 3, 32, False),
        (SIGNED, 2**30, 3, 32, False), (SIGNED, -(2**31) - 1, 2, 32, False),
        (UNSIGNED, 2**31, 2, 32, True), (UNSIGNED, 2**31, 3, 32, False),
        (POINTER, 2**62, 4, 64, True), (POINTER, 2**62, 5, 64, False),
        (FLOAT, 1.5, 4, 32, True), (FLOAT, 1e308, 4, 64, False),
        (FLOAT, 1e308, 2, 64, True), (SIGNED, 0, 4, 32, False),
    ],
)
def test_strides_must_not_overflow(kind, stride, factor, bits, fits):
    assert stride_fits(kind, stride, factor, bits) is fits
    assert (POINTER, SIGNED, UNSIGNED) == (10, 11, 12)


@pytest.mark.seed("UNR-35", "KNB-46")
def test_an_overflowing_stride_is_rejected_unless_unchecked():
    text = loop(MAD * 4, step=str(2**31 - 1))
    assert verdict(text).code is UnrollCode.OTHER
    assert verdict(text, no_overflow_check=True).action == "partial"


@pytest.mark.seed("UNR-22")
@pytest.mark.parametrize(
    ("factor", "T", "rounded"),
    [(7, 1, 4), (5, 1, 4), (7, None, 7), (7, 8, 7), (4, 1, 4), (3, 1, 3), (9, 1, 8)],
)
def test_factors_above_four_become_multiples_at_one_iteration(factor, T, rounded):
    assert within_budget(factor, 1, 100, T) == rounded


@pytest.mark.seed("UNR-22", "UNR-27")
@pytest.mark.parametrize(("trip", "factor"), [(1, 4), (2, 7)])
def test_the_factor_of_a_knob_is_rounded_at_one_iteration(trip, factor):
    with Trace() as trace:
        v = verdict(loop("add.f32 %f1, %f1, %f2;\n" * 10, trip), factor=7)
    assert (v.action, v.factor) == ("partial", factor)
    (told,) = trace.of("UNR-22")
    assert (told.inputs["factor"], told.inputs["free"], told.outcome) == (7, True, factor)


@pytest.mark.seed("UNR-21", "UNR-22", "UNR-34")
@pytest.mark.parametrize(("adds", "action"), [(60, "partial"), (75, "none"), (210, "none")])
def test_a_whole_count_that_does_not_fold_is_within_the_budget(adds, action):
    """Full unrolling has a limit of its own; here nothing folds, and step P copies."""
    v = verdict(loop("add.f32 %f1, %f1, %f2;\n" * adds, 2))
    assert v.action == action
    assert v.code is (None if action == "partial" else UnrollCode.NO_FACTOR)


@pytest.mark.seed("UNR-23", "UNR-24", "UNR-26")
def test_the_factor_of_an_unknown_count_is_told_in_the_order_of_the_notes():
    for tex, hot, rows in ((1, True, []), (1, False, []), (0, False, ["UNR-25"])):
        with Trace() as trace:
            factor, epilogue = of_unknown_count(BodyRecord(tex=tex), 22, hot, True, Rules())
        told = [e.row for e in trace if e.row != "UNR-26"]
        assert told == ["UNR-23", *rows, "UNR-24"]
        assert trace[-1].outcome == {"factor": factor, "need_epilogue": epilogue}
        assert epilogue is (hot or tex == 0)


@pytest.mark.seed("UNR-38", "UNR-40", "UNR-41")
def test_copies_are_told_before_their_bounds_and_the_end():
    with Trace() as trace:
        run(loop(MAD), UnrollInstLimit=0)
    rows = [e.row for e in trace if e.row in ("UNR-38", "UNR-40", "UNR-41")]
    assert rows == sorted(rows)
    assert rows[:2] == ["UNR-38", "UNR-40"]


@pytest.mark.seed("UNR-43")
def test_each_code_24_of_step_p_is_told():
    for text, why in ((loop(MAD * 4, step=str(2**31 - 1)), "overflow"), (loop(MAD, 1), "factor 1")):
        with Trace() as trace:
            v = verdict(text)
        (told,) = trace.of("UNR-43")
        assert why in told.inputs["why"]
        assert v.code is UnrollCode.OTHER


@pytest.mark.seed("UNR-21", "UNR-45", "KNB-30")
def test_the_evaluator_reduces_the_factor_and_rejects_one():
    assert [within_budget(4, c, 140, None) for c in (35, 36, 46, 47, 70, 71)] == [4, 3, 3, 2, 2, 1]
    assert within_budget(4, 141, 140, None) == 1
    v = verdict(loop(MAD * 70))  # cost 71
    assert (v.code, v.step) == (UnrollCode.NO_FACTOR, "O")
    assert verdict(loop(MAD * 69)).action == "partial"
    assert verdict(loop(MAD * 69), budget=139).code is UnrollCode.NO_FACTOR


@pytest.mark.seed("KNB-37", "KNB-53")
def test_the_budget_grows_with_what_is_saved():
    assert allowance(0, Rules()) == 140
    assert allowance(10, Rules()) == 160
    assert allowance(10, Rules(per_percent=5)) == 190
    assert allowance(10, Rules(single_factor=50), single=True) == 140 + 2 * 15
    assert allowance(10, Rules(single_factor=50)) == 160
    assert [allowance(100, Rules(single_factor=f), single=True) for f in (0, 50)] == [340, 440]


@pytest.mark.seed("KNB-53", "UNR-21")
def test_the_saving_counts_more_in_a_function_of_one_loop():
    folds = "shl.b32 %r9, %r2, 2; add.s32 %r3, %r3, %r9;"
    alone = verdicts(loop(folds), single_factor=100)["L"]
    beside = verdicts(loop(folds) + loop(folds, label="M", iv="%r6"), single_factor=100)
    assert alone.limit - 140 == 2 * (beside["L"].limit - 140) > 0


@pytest.mark.seed("UNR-34")
def test_full_unrolling_wants_something_that_folds():
    plain = loop(MAD * 4, 2)
    assert (verdict(plain).action, verdict(plain).factor) == ("partial", 2)
    folds = loop(MAD * 4 + "shl.b32 %r9, %r2, 2; add.s32 %r3, %r3, %r9;", 2)
    assert verdict(folds).action == "full"
    assert verdict(plain, literal=False).action == "full"
    several = Rules(multi_block=False)
    for blocks, foldable, rules, full in ((1, 1, Rules(), True), (1, 0, Rules(), False),
                                          (1, 1, several, True), (2, 1, several, False),
                                          (2, 1, Rules(), True)):
        assert unrolls_fully(2, 2, False, foldable, blocks, rules) is full
    assert not unrolls_fully(2, 3, False, 1, 1, Rules())
    assert unrolls_fully(2, 2, True, 0, 1, Rules())


@pytest.mark.seed("UNR-04", "UNR-48")
def test_the_most_predicates_anywhere_in_the_body_count():
    """Five are live in the middle, one behind."""
    sets = "".join(f"setp.eq.s32 %p1{k}, %r3, {k};" for k in range(5))
    uses = "".join(f"selp.b32 %r3, %r3, %r4, %p1{k};" for k in range(5))
    assert "5 of 7 predicates" in verdict(loop(sets + uses)).reason


@pytest.mark.seed("UNR-43", "UNR-45")
def test_factor_one_is_24():
    v = verdict(loop(MAD * 4, 1))
    assert (v.factor, v.code, v.step) == (1, UnrollCode.OTHER, "P")
    assert UnrollCode.OTHER.number == "24"


@pytest.mark.seed("UNR-42")
@pytest.mark.parametrize(("T", "factor", "rounds"), [(9, 2, 4), (10, 2, 5), (11, 4, 2)])
def test_partial_unrolling_knows_its_rounds(T, factor, rounds):
    v = verdict(loop(MAD * 60, T), literal=False, factor=factor)
    assert (v.action, v.iterations) == ("partial", rounds)


@pytest.mark.seed("UNR-48", "KNB-36", "GAP-19")
def test_predicates_are_held_to_their_share():
    """50 % of 7 predicates are 3.5: three may be live at once, four not."""
    make = "".join(f"setp.eq.s32 %p{k}, %r4, {k};\n" for k in range(10, 14))
    use = "".join(f"selp.b32 %r3, %r3, %r4, %p{k};\n" for k in range(10, 14))
    assert verdict(make + loop(use)).code is UnrollCode.OTHER
    assert verdict(make + loop(use), preg_percent=100).action == "partial"
    make, use = make.split("\n", 2)[2], use.split("\n", 2)[2]
    assert verdict(make + loop(use)).action == "partial"
    assert predicate_pressure(7, Rules(preg_percent=100), False) == ""  # as many as may be
    assert predicate_pressure(7, Rules(preg_percent=99), False) == "7 of 7 predicates are live"
    assert predicate_pressure(7, Rules(preg_percent=99), True) == ""


@pytest.mark.seed("KNB-48")
def test_3d_textures_must_save():
    assert verdict(loop(TEX3 + MAD)).action == "partial"
    assert verdict(loop(TEX3 + MAD), tex3d_percent=1).code is UnrollCode.OTHER
    folds = loop(TEX3 + "shl.b32 %r9, %r2, 2; add.s32 %r3, %r3, %r9;")
    saved = verdict(folds).saved
    for percent, action in ((saved, "partial"), (saved + 1, "none")):
        assert verdict(folds, tex3d_percent=percent).action == action
    assert verdict(loop(TEX + MAD), tex3d_percent=1).action == "partial"


# ------------------------------------------------------------- codes, statistics


@pytest.mark.seed("UNR-45", "DIA-03", "GAP-51")
def test_there_are_eleven_codes_with_texts_in_the_tools_style():
    assert [c.number for c in UnrollCode] == [
        "7", "11", "12", "13", "14", "15", "16", "17", "18", "19", "24",
    ]
    assert UnrollCode.IRREGULAR.string == "0x80000001 - Not unrolled: Irregular loop"
    strings = {c.string for c in UnrollCode}
    assert len(strings) == 11
    assert all(s.startswith("0x8000000") and " - Not unrolled: " in s for s in strings)
    assert all(NOT_UNROLLED[c].number == c.number for c in UnrollCode)


@pytest.mark.seed("UNR-46", "DIA-01", "DIA-03")
def test_the_tools_lines_are_told_on_request():
    text = loop(MAD * 10, 8)
    _, quiet = run(text)
    assert {r.name for r in quiet} == {"NotUnrolledNoFactor", "UnrollStatistics"}
    _, told = run(text, "<verbose>")
    assert [r.message for r in told.filter(kind="analysis")] == [
        "bix1 -> backedge's successor BB: 1", UnrollCode.NO_FACTOR.string,
        "# [partially unrolled loops=0] [non-unrolled loops=1]",
    ]


@pytest.mark.seed("UNR-44", "UNR-51", "DIA-02", "DIA-04")
@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100", "sm_120"])
def test_statistics_come_from_one_record(target):
    four = "".join([
        loop(MAD * 4, 2, "A", "%r12").replace(MAD, "shl.b32 %r9, %r12, 1; add.s32 %r3, %r3, %r9;"),
        loop(MAD * 4, "%r1", "B", "%r13"), loop(MAD * 4, 99, "C", "%r14"),
        loop(MAD * 4, "%r1", "D", "%r15", pragma=NOUNROLL),
    ])
    module = nvir.read_ptx((HEADER + four + END).replace("sm_80", target))
    remarks = nvir.run_passes(module, "loop-unroll", policy="documented", verify=True)
    line = remarks.filter(kind="analysis")[0].message
    assert line == "# [partially unrolled loops=1] [non-unrolled loops=2]"
    record = UnrollRecord(total=4, full=1, partial=1)
    assert (record.unrolled, record.non_unrolled) == (2, 2)
    assert UnrollRecord(total=4, full=1, partial=1, failed=1).non_unrolled == 1


@pytest.mark.seed("UNR-38", "UNR-41", "UNR-44")
def test_an_unrolled_loop_is_marked_and_has_all_copies():
    module, _ = run(loop(MAD * 5), "<remainder=loop>")
    f = module["k"]
    f.analyze_cfg()
    main = [b for b in f.blocks if "unrolled" in b.flags]
    assert main
    assert all("nounroll" in b.pragmas for b in main)
    mads = sum(i.form.name == "mad" for i in f.instructions())
    assert mads == 5 * 4 + 5  # four copies, and the loop for the rest


@pytest.mark.seed("UNR-39", "GAP-39")
@pytest.mark.parametrize(("factor", "literal", "repaired"), [
    (2, 2 + 1, 2 + 1), (3, 3 + 2 + 1, 3 + 3 + 1), (4, 4 + 2 + 1, 4 + 3 + 1),
    (5, 5 + 6 + 1, 5 + 7 + 1), (8, 8 + 6 + 1, 8 + 7 + 1)])
def test_pieces_are_powers_of_two(factor, literal, repaired):
    """Outermost, more than two copies, bound on the right: pieces of 2^k, literally down to 2,
    repaired down to 1. With a texture budget of 1 no body is small, so that the factor of step L
    has an epilogue."""
    text = "mov.u32 %r2, 0;\nL:\n" + MAD + \
        "add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;\n"
    for options, copies in (("", literal), ("<repaired>", repaired)):
        module, _ = run(text, options, LoopUnrollFactor=factor, LoopUnrollNumInstTex=1)
        assert sum(i.form.name == "mad" for i in module["k"].instructions()) == copies
    swapped = text.replace("lt.s32 %p1, %r2, %r1", "gt.s32 %p1, %r1, %r2")
    module, _ = run(swapped, LoopUnrollFactor=factor, LoopUnrollNumInstTex=1)
    assert sum(i.form.name == "mad" for i in module["k"].instructions()) == factor + 1


@pytest.mark.seed("UNR-24", "UNR-39", "GAP-38")
@pytest.mark.parametrize(("options", "budget", "epilogue", "copies"), [
    ("", 20, True, 4 + 2 + 1), ("", 21, False, 4 + 1), ("<repaired>", 21, False, 4 + 3 + 1)])
def test_unroll_unknown_count_has_no_epilogue(options, budget, epilogue, copies):
    """As large as the texture budget: the factor of step L, 4, has pieces for the rest of a count;
    one below: step K takes UnrollUnknownCount, and the loop does all of the rest."""
    text = "mov.u32 %r2, 0;\nL:\n" + MAD * 19 + \
        "add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;\n"
    knobs = {"LoopUnrollFactor": 4, "UnrollInstLimit": 100, "LoopUnrollNumInstTex": budget}
    with Trace() as trace:
        module, _ = run(text, options, **knobs)
    (pieces,) = trace.of("UNR-39")
    assert pieces.inputs["epilogue"] is epilogue or options
    assert sum(i.form.name == "mad" for i in module["k"].instructions()) == 19 * copies


@pytest.mark.seed("UNR-39", "UNR-42")
@pytest.mark.parametrize(("count", "rounds", "copies"), [
    (2, 0, 2), (3, 0, 3), (5, 1, 4 + 1), (None, None, 4 + 2 + 1)])
def test_the_rest_of_a_known_count_is_peeled(count, rounds, copies):
    """Of four copies: all of it, where there are fewer iterations; other counts have pieces."""
    text = "mov.u32 %r2, 0;\nL:\n" + MAD + \
        f"add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, {count or '%r1'}; @%p1 bra L;\n"
    with Trace() as trace:
        module, _ = run(text, "<force-factor=2>", LoopUnrollFactorBlocks="+L+")
    f = module["k"]
    assert [e.outcome for e in trace.of("UNR-39")] == [[] if count else [2]]
    assert [e.outcome for e in trace.of("UNR-42")] == [rounds]
    assert sum(i.form.name == "mad" for i in f.instructions()) == copies
    f.analyze_cfg()
    assert bool(f.back_edges) is (count is None or rounds > 0)


@pytest.mark.seed("KNB-41")
def test_the_remainder_loop_may_be_unrolled_too():
    module, _ = run(loop(MAD), "<remainder=loop>", EpilogueLoopUnrollCount=2)
    assert sum(i.form.name == "mad" for i in module["k"].instructions()) == 4 + 2


# ------------------------------------------------------- the scanner, strides, convergence


def traced(text: str, **rules: object):
    function = kernel(text)
    given = Rules(**({"literal": True, "inst_limit": 0.0} | rules))
    with Trace() as trace:
        made = documented_decisions(function, given)
    return {h.name: v for h, v in made.items()}, trace


@pytest.mark.seed("UNR-54")
@pytest.mark.parametrize(
    ("text", "outcomes"),
    [
        (loop(MAD, 8), ["whole", "whole", "whole"]),
        (loop(MAD, 8, test="lt.s32").replace("setp.lt.s32 %p1, %r2, 8;", "mov.pred %p1, %p3;"),
         ["whole", "nothing counts", "whole"]),
        (loop(MAD + "@%p3 bra OUT;\n", 8) + "OUT:\n",
         ["whole", "whole", "an edge leaves from L"]),
        ("mov.u32 %r2, 0;\nL:\n" + MAD + "add.s32 %r2, %r2, 1;\n@%p3 bra L;\n",
         ["the latch tests nothing", "nothing counts", "whole"]),
    ],
)
def test_the_scanner_runs_in_three_passes(text, outcomes):
    """Header, forward, backward, each with its early out."""
    _, trace = traced(text)
    events = trace.of("UNR-54")
    assert [e.step for e in events] == ["header", "forward", "backward"]
    assert [e.outcome["ended"] for e in events] == outcomes


@pytest.mark.seed("UNR-54")
def test_an_edge_that_leaves_ends_the_backward_pass():
    f = kernel(loop(MAD + "@%p3 bra OUT;\n@%p3 bra A;\n" + MAD + "A:\n", 8) + "OUT:\n")
    (found,) = natural_loops(f)
    r = scan_body(found, frozenset(), trip_count(found))
    assert (r.cross_edges, r.branches) == (True, 2)  # those of the way up to the edge


RUN_TIME_STRIDE = loop(MAD, 64, step="%r9")


@pytest.mark.seed("UNR-52")
def test_a_stride_in_a_register_passes_unless_it_has_to_be_a_literal():
    """With ExtractBound's leave it is unrolled as any loop of unknown count; strict, it stays."""
    for strict, bound in (
        (False, "ld.param.u32 %r1 (line 11)"),
        (True, ["NO_BOUND (16)", "the stride is known at run time only"]),
    ):
        made, trace = traced(RUN_TIME_STRIDE.replace("%r2, 64", "%r2, %r1"), strict_stride=strict)
        assert [e.outcome for e in trace.of("UNR-52")] == ["refused" if strict else "passes"]
        assert (made["L"].code, made["L"].factor) == (
            (UnrollCode.NO_BOUND, 1) if strict else (None, 4))
        assert [e.outcome for e in trace.of("UNR-30")] == [bound]
        assert bool(trace.of("UNR-32")) is not strict
    for strict in (False, True):
        assert verdict(loop(MAD, 2), strict_stride=strict).action != "none"
    _, remarks = run(RUN_TIME_STRIDE, "<strict-stride>")
    assert "NotUnrolledNoBound" in [r.code.name for r in remarks]


@pytest.mark.seed("UNR-30")
@pytest.mark.parametrize(("test", "swapped"), [("lt.s32 %p1, %r2, %r1", False),
                                               ("gt.s32 %p1, %r1, %r2", True)])
def test_the_side_of_the_bound_is_kept(test, swapped):
    f = kernel("mov.u32 %r2, 0;\nL:\n" + MAD + f"add.s32 %r2, %r2, 1; setp.{test}; @%p1 bra L;\n")
    (found,) = natural_loops(f)
    assert exit_of(found).swapped is swapped


@pytest.mark.seed("UNR-45", "UNR-20")
def test_a_known_count_is_settled_before_the_exit_is_looked_at():
    """K before M: code 12, though the step's block is reached two ways; nothing runs after it."""
    text = ("mov.u32 %r2, 0;\nL:\nsetp.eq.s32 %p5, %r4, %r2; @!%p5 bra Y;\n" + MAD +
            "Y:\nadd.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, {}; @%p1 bra L;\n")
    made, trace = traced(text.format(16))
    assert (made["L"].code.number, made["L"].step) == ("12", "K")
    assert [e.row for e in trace][-2:] == ["UNR-19", "UNR-45"]
    made, trace = traced(text.format("%r1"))
    assert (made["L"].code.number, made["L"].step) == ("17", "M")
    rows = [e.row for e in trace]
    assert rows.index("UNR-24") < rows.index("UNR-27") < rows.index("UNR-28")
    assert [e.row for e in trace][-2:] == ["UNR-31", "UNR-45"]


@pytest.mark.seed("UNR-32", "UNR-45")
@pytest.mark.parametrize("write", [
    "shr.u32 %r1, %r1, 1;", "@%p4 mov.u32 %r1, 5;", "add.u32 %r1, %r1, 1;",
    "ld.global.u32 %r7, [%rd1]; add.u32 %r1, %r1, %r7;",
])
def test_a_bound_that_the_body_writes_is_18_wherever_that_stands(write):
    test = "setp.lt.s32 %p1, %r2, %r1;"
    body = "mov.u32 %r2, 0;\nL:\n" + MAD + "add.s32 %r2, %r2, 1; {} @%p1 bra L;\n"
    for order in (write + test, test + write, write + test + write):
        f = kernel(body.format(order))
        (found,) = natural_loops(f)
        assert exit_of(found)[0] is UnrollCode.DEGENERATE
        assert what_is_wrong(found)[0] is UnrollCode.DEGENERATE  # policy observed too
    meet = "@%p4 bra Z; add.u32 %r1, %r1, 1; Z: "  # two writes meet in front of the test
    (found,) = natural_loops(kernel(body.format(meet + test)))
    assert exit_of(found)[0] is UnrollCode.DEGENERATE
    fresh = "ld.global.u32 %r8, [%rd1]; setp.lt.s32 %p1, %r2, %r8; add.u32 %r1, %r1, %r8;"
    (found,) = natural_loops(kernel(body.format(fresh)))
    assert exit_of(found)[0] is UnrollCode.NO_BOUND


SWAPPED = loop(MAD, 8, test="gt.s32").replace("%p1, %r2, 8", "%p1, %r1, %r2")
TIED = "bar.sync 0;\n"


@pytest.mark.seed("UNR-53")
def test_convergence_keeps_the_direction_and_the_copies_own_their_operations():
    more = {"factor": 4, "tex_budget": 1}  # no body is small: with an epilogue
    plain, without = traced(SWAPPED, **more)
    tied, with_it = traced(SWAPPED.replace("L:\n", "L:\n" + TIED), **more)
    assert [e.outcome for e in without.of("UNR-53")] == [True]
    assert [e.outcome for e in with_it.of("UNR-53")] == [False]
    assert (plain["L"].pieces, tied["L"].pieces) == ((), (2,))
    module, _ = run(loop(TIED + MAD, 4), "<force-factor=2>", LoopUnrollFactorBlocks="+L+")
    text = nvir.print_ptx(module)
    assert text.count("bar.sync") == 4


# ------------------------------------------------------------- single decisions


@pytest.mark.seed("UNR-05")
@pytest.mark.parametrize(("trips", "body", "multi"), [
    ("%r1", "call.uni early, (%p5);", True), ("1", "call.uni early, (%p5);", False),
    ("2", "call.uni early, (%p5);", True), ("%r1", "call.uni inner_, (%p5);", False),
])
def test_the_prescan_looks_at_the_exits_of_what_runs_more_than_once(trips, body, multi):
    text = HEADER.replace(".visible", ".func early (.reg .pred %c) { @%c trap; ret; }\n"
                          ".func inner_ (.reg .pred %c) { ret; }\n.visible")
    f = nvir.read_ptx(text + "setp.eq.s32 %p5, %r4, 3;\n" + loop(body, trips) + END)["k"]
    f.analyze_cfg()
    assert (pre_scan(f).inlinable_calls, pre_scan(f).multi_exit) == (1, multi)
    f = nvir.read_ptx(text + "setp.eq.s32 %p5, %r4, 3;\n" + body + END)["k"]
    f.analyze_cfg()
    assert not pre_scan(f).multi_exit  # outside of loops it runs once


@pytest.mark.seed("UNR-12")
@pytest.mark.parametrize(("access", "record"), [
    ("ld.const.u32 %r8, [cbuf+4];", {"memory": 1, "loads": 1, "foldable_ldc": 1}),
    ("ld.param.u32 %r8, [n];", {"memory": 1, "loads": 1, "foldable_ldc": 1}),
    ("ld.param::entry.u32 %r8, [n];", {"memory": 1, "loads": 1, "foldable_ldc": 1}),
    ("ld.param.u16 %h1, [n+2];", {"memory": 1, "loads": 1, "foldable_ldc": 1}),
    ("{ .param .b32 back; ld.param.u32 %r8, [back]; }", {"memory": 1, "loads": 1}),
    ("ld.global.u32 %r8, [%rd1];", {"memory": 1, "loads": 1}),
    ("st.global.u32 [%rd1], %r4;", {"memory": 1, "stores": 1}),
    ("st.shared.u32 [s], %r4;", {"memory": 1, "stores": 1}),
    ("mul.wide.s32 %rd3, %r2, 4; st.shared.u32 [%rd3], %r4;",
     {"memory": 1, "stores": 1, "foldable_addresses": 1}),
    ("ld.volatile.global.u32 %r8, [%rd1];", {"memory": 1, "loads": 1, "mem_flag": 1}),
    ("ld.relaxed.gpu.global.u32 %r8, [%rd1];", {"memory": 1, "loads": 1, "mem_flag": 1}),
    ("ld.acquire.gpu.global.u32 %r8, [%rd1];", {"memory": 1, "loads": 1, "mem_flag": 1}),
    ("atom.global.add.u32 %r8, [%rd1], 1;", {"memory": 1}),
    ("call.uni inner2;", {"call_weight": 9}),
    ("setp.eq.s32 %p5, %r4, 3; call.uni branchy, (%p5);", {}),
    (TEX, {"tex": 1}), (TEX3, {"tex": 1, "tex3d": 1}),
])
def test_what_one_access_counts_as(access, record):
    text = HEADER.replace(".visible", ".func inner2 { ret; }\n.visible")
    f = nvir.read_ptx(text + ".reg .b16 %h<2>;\n" + loop(access, 9) + END)["k"]
    f.analyze_cfg()
    (x,) = natural_loops(f)
    r = scan(x)
    fields = ("memory", "loads", "stores", "foldable_ldc", "foldable_addresses", "mem_flag",
              "call_weight", "tex", "tex3d")
    assert {k: getattr(r, k) for k in fields if getattr(r, k)} == record


@pytest.mark.seed("UNR-12")
def test_the_saving_is_a_share_of_the_body_in_percent():
    assert [BodyRecord(size=s, foldable=f).saved for s, f in ((7, 2), (8, 8), (3, 0), (0, 4))] == [
        28, 100, 0, 0]


@pytest.mark.seed("UNR-24")
def test_fetches_dominate_at_ten_instructions_each():
    def factor(tex, cost):
        rules = Rules(non_innermost=False)
        return of_unknown_count(BodyRecord(tex=tex), cost, True, True, rules)[0]

    assert [factor(2, c) for c in (19, 20, 21)] == [2, 2, 0]
    assert [of_unknown_count(BodyRecord(tex=t), c, True, True, Rules())[0] for t, c in (
        (0, 10), (1, 27), (1, 26), (0, 22), (0, 21))] == [4, 2, 2, 2, 4]


@pytest.mark.seed("UNR-17")
@pytest.mark.parametrize(("tex", "cost", "few"), [(2, 20, False), (2, 21, True), (0, 0, False)])
def test_ten_instructions_a_fetch_where_outer_loops_need_them(tex, cost, few):
    r = BodyRecord(tex=tex)
    assert bool(few_fetches(r, cost, Rules(non_innermost=False), False)) == few
    assert not few_fetches(r, cost, Rules(non_innermost=False), True)
    assert not few_fetches(r, cost, Rules(), False)


@pytest.mark.seed("UNR-29")
@pytest.mark.parametrize(("bits", "kind"), [(16, SIGNED), (32, SIGNED), (64, SIGNED), (0, "15")])
def test_the_class_of_a_variable_by_its_width(bits, kind):
    """A comparison of another width than the variable's is no plain integer's."""
    b, name, test = (bits, f"%v{bits}", bits) if bits else (32, "%v32", 16)
    text = f".reg .b{b} {name}; .reg .b16 %w;\nmov.b{b} {name}, 0;\nL:\n" + MAD + (
        f"add.s{b} {name}, {name}, 1; setp.lt.s{test} %p1, {name}, 9; @%p1 bra L;\n")
    if not bits:
        text = text.replace("setp.lt.s16 %p1, %v32", "cvt.u16.u32 %w, %v32; setp.lt.s16 %p1, %w")
    (x,) = natural_loops(kernel(text))
    found = exit_of(x)
    assert (found.kind if bits else found[0].number) == (kind if bits else "14")


@pytest.mark.seed("UNR-32", "SWP-20")
@pytest.mark.parametrize(("body", "score"), [
    ("", 1),  # the exit's predicate is read once
    ("setp.eq.s32 %p5, %r4, 3; selp.b32 %r3, %r3, %r4, %p5;", 2),
    ("setp.eq.s32 %p5, %r4, 3; selp.b32 %r3, %r3, %r4, %p5; selp.b32 %r3, %r3, %r1, %p5;", 1),
    ("setp.eq.s32 %p5, %r4, 3;", 2),  # written and never read counts as well
])
def test_the_score_of_the_directions(body, score):
    (x,) = natural_loops(kernel(loop(body)))
    found = analyze_iv(x)
    assert verify_stride(x, found, found.bound, scored=True) == StrideCheck(0, score)
    assert verify_stride(x, found, found.bound) == StrideCheck(0, None)  # the unroller: NULL


@pytest.mark.seed("UNR-32")
def test_what_the_body_writes_is_a_mask():
    assert (INIT_WRITTEN, LIMIT_WRITTEN) == (2, 1)
    assert StrideCheck() == StrideCheck(0, None)
    (x,) = natural_loops(kernel("mov.u32 %r2, 0;\nL:\nadd.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, "
                                "%r1; mul.lo.s32 %r1, %r1, 3; @%p1 bra L;\n"))
    found = analyze_iv(x)
    assert verify_stride(x, found, found.bound).mask == 1
    assert verify_stride(x, attrs.evolve(found, variable=None), found.bound).mask == 3


@pytest.mark.seed("UNR-45")
@pytest.mark.parametrize(("text", "code"), [
    ("L:\n" + MAD + "setp.lt.s32 %p1, %r3, %r4; @%p1 bra L;\n", "14"),
    (loop(MAD, step="%r4"), "16"), (loop(MAD, test="gt.s32"), "19"), (loop(MAD, step="0"), "14"),
    (loop("setp.eq.s32 %p5, %r4, %r3; @%p5 add.s32 %r2, %r2, 1;" + MAD), "17"),
    ("mov.u32 %r2, 0;\nL:\nadd.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; "
     "mul.lo.s32 %r1, %r1, 3; @%p1 bra L;\n", "18"),
    (loop(MAD), "14"),
    ("mov.f32 %f3, 0f00000000;\nL:\n" + MAD + "add.f32 %f3, %f3, 0fBF800000; "
     "setp.lt.f32 %p1, %f3, %f1; @%p1 bra L;\n", "19"),
])
def test_what_is_told_of_a_loop_without_a_count(text, code):
    (x,) = natural_loops(kernel(text))
    found, why = what_is_wrong(x)
    assert found.number == code
    assert why
    assert (why == "no exit test compares an induction variable with a bound") == (code == "14")


@pytest.mark.seed("UNR-49", "UNR-45")
def test_a_loop_of_one_block_is_unrolled_where_several_may_not():
    assert verdict(loop(MAD), multi_block=False).action == "partial"
    two = loop(MAD + "bra Y;\nY:\n" + MAD, 2)
    assert verdict(two, multi_block=False).reason.endswith("knob UnrollMultiBlockLoops is off")
    assert verdict(two, multi_block=True).step != "M"


@pytest.mark.seed("UNR-38", "UNR-01")
def test_the_entry_of_each_knob():
    """Each knob of the rules is read by its name."""
    f = kernel(loop(MAD))
    row = all_passes()["loop-unroll"]

    def rules(options=None, **knobs):
        ctx = Context(f.module, Knobs(knobs, "documented"))
        ctx.pass_, ctx.function, ctx.options = row, f, row.options(**options or {})
        return rules_of(ctx)

    plain = rules()
    for knob, value, field in (
        ("LoopUnroll", False, "enabled"), ("UnrollBudget", 7, "budget"),
        ("UnrollExtraInstPerPercentSaving", 7, "per_percent"),
        ("UnrollUnknownCount", 7, "unknown_count"), ("UnrollSmallLoopLimit", 7, "small_limit"),
        ("UnrollInstLimit", 7, "inst_limit"), ("UnrollPregThreshold", 7, "preg_percent"),
        ("UnrollFullInstLimit", 7, "full_limit"), ("LoopUnrollNumInstTex", 7, "tex_budget"),
        ("LoopUnrollNonInnermost", False, "non_innermost"),
        ("UnrollMultiBlockLoops", False, "multi_block"),
        ("UnrollVariableBounds", False, "variable_bounds"),
        ("DisablePartialUnrollOverflowCheck", True, "no_overflow_check"),
        ("UnrollUnknownInstLimit", 7, "unknown_limit"),
        ("LoopUnrollFactorBlocks", "+L+", "override"),
    ):
        assert rules(**{knob: value}) == attrs.evolve(plain, **{field: value})
    assert rules({"repaired": True}) == attrs.evolve(plain, literal=False)
    assert plain == Rules()


@pytest.mark.seed("UNR-12")
def test_a_record_begins_with_nothing():
    assert BodyRecord() == BodyRecord(
        size=0, foldable_ldc=0, tex=0, call_weight=0, mem_flag=0, memory=0, loads=0, stores=0,
        cross_edges=False, branches=0, single_exit_reg=False, killed=0, inner_nounroll=0,
        foldable=0, foldable_addresses=0, cold=0, tex3d=0)


@pytest.mark.seed("UNR-29")
@pytest.mark.parametrize(("type_", "bits", "kind"), [
    ("s32", 32, 11), ("u32", 32, 12), ("b32", 32, 12), ("s16", 32, "15"), ("s64", 32, "15"),
    ("s64", 64, 11), ("u16", 16, 12), (None, 32, "15"), ("s8", 8, "15"),
])
def test_validate_by_the_type_of_the_comparison(type_, bits, kind):
    test = SimpleNamespace(form=SimpleNamespace(type=SCALARS[type_] if type_ else None))
    iv = SimpleNamespace(is_constant_step=True, step=1, kind="int", bits=bits)
    found = validate_iv(Counter(iv, test, None, False), False)
    assert (found if isinstance(found, int) else found[0].number) == kind
    assert validate_iv(Counter(None, test, None, False), False) == SIGNED
