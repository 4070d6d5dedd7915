"""What may leave a loop, whatever a policy decides: each with a near miss that stays."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import nvir
from nvir import toolchain
from nvir.analysis.hoisting.nest import CARRY, KINDS, Nest
from nvir.analysis.hoisting.region import Blocked, survey
from nvir.ir.opcodes import ORI, OpKind
from nvir.ir.opcodes.form import form
from nvir.passes.context import Context
from nvir.passes.driver import Driver, Settings
from nvir.passes.knobs import Knobs
from nvir.passes.loop import licm
from tests.effort import effort

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from equivalence import same_behaviour
from kernels import random_kernel
from wild_kernels import wild_kernel

HEADER = """.version 8.6
.target {target}
.address_size 64
.const .align 4 .b8 table[64];
.func (.reg .b32 %o) callee (.reg .b32 %i);
.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)
{{
.shared .align 4 .b8 tile[256];
.local .align 4 .b8 own[64];
.reg .pred %p<30>; .reg .b32 %r<60>; .reg .f32 %f<60>; .reg .b64 %rd<30>;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r1, [n];
cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2;
mov.u32 %r3, %tid.x; mul.wide.u32 %rd4, %r3, 4; add.s64 %rd5, %rd2, %rd4;
mov.u32 %r4, 0; mov.u32 %r2, 0;
"""
LOOP = """L:
{body}
xor.b32 %r4, %r4, {used};
add.s32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra L;
st.global.u32 [%rd5], %r4; ret; }}
"""


def kernel(body: str, used: str = "%r10", before: str = "", target: str = "sm_80") -> nvir.Module:
    """A counted do-while loop around `body`; each iteration adds register `used`."""
    return nvir.read_ptx(
        HEADER.format(target=target) + before + LOOP.format(body=body, used=used)
    )


def region(module: nvir.Module, label: str = "L"):
    function = module["k"]
    function.analyze_cfg()
    nest = Nest(function)
    return survey(next(x for x in nest.loops if x.header.name == label), nest)


def may_leave(body: str, used: str = "%r10", before: str = "", target: str = "sm_80") -> list[str]:
    """Spellings of what may leave the loop."""
    found = region(kernel(body, used, before, target)).invariant
    return [i.form.spelling for i in found]


def blocked(body: str, used: str = "%r10", before: str = "", target: str = "sm_80"):
    stay = region(kernel(body, used, before, target)).stay
    return {s.instruction.form.spelling: s.why for s in stay}


def hoisted(module: nvir.Module, pipeline: str = "licm", **kw) -> nvir.Module:
    nvir.run_passes(module, pipeline, verify=True, **kw)
    return module


# ------------------------------------------------------------------ invariance


def test_what_depends_on_nothing_in_the_loop_may_leave():
    assert may_leave("mul.lo.u32 %r10, %r3, %r1;") == ["mul.lo.u32"]


def test_what_reads_the_induction_variable_stays():
    assert may_leave("mul.lo.u32 %r10, %r3, %r2;") == []


@pytest.mark.seed("LIC-20")
def test_a_chain_leaves_in_its_order():
    body = "add.u32 %r11, %r3, 7; mul.lo.u32 %r12, %r11, %r1; xor.b32 %r10, %r12, %r11;"
    assert may_leave(body) == ["add.u32", "mul.lo.u32", "xor.b32"]
    module = hoisted(kernel(body))
    before = [i.form.spelling for i in module["k"].entry][-4:]
    assert before == ["add.u32", "mul.lo.u32", "xor.b32", "bra"]


def test_a_chain_that_begins_with_a_variant_stays():
    assert may_leave("add.u32 %r11, %r2, 7; mul.lo.u32 %r10, %r11, %r1;") == []


def test_a_volatile_register_is_read_in_every_iteration():
    assert may_leave("mov.u32 %r10, %clock;") == []
    assert blocked("mov.u32 %r10, %clock;") == {"mov.u32": Blocked.VOLATILE}
    assert may_leave("mov.u32 %r10, %ctaid.x;") == ["mov.u32"]


def test_guard_and_fallback_are_operands():
    setup = "setp.eq.u32 %p3, %r3, 4; mov.u32 %r20, 9;\n"
    taken = "mov.u32 %r10, %r20; @%p3 add.u32 %r10, %r3, 1;"
    assert may_leave(taken, before=setup) == ["mov.u32", "add.u32"]
    # Here the value where the guard is false is that of the last iteration.
    assert may_leave("@%p3 add.u32 %r10, %r3, 1;", before=setup + "mov.u32 %r10, 3;\n") == []


def test_carry_chains_leave_whole_or_not_at_all():
    whole = "add.cc.u32 %r11, %r3, %r1; addc.u32 %r10, %r3, 0;"
    assert may_leave(whole) == ["add.cc.u32", "addc.u32"]
    split = "add.cc.u32 %r11, %r3, %r1; addc.u32 %r10, %r2, 0;"
    assert may_leave(split) == []


@pytest.mark.seed("LIC-29", "LIC-16")
def test_a_carry_chain_moves_as_one_group():
    module = hoisted(kernel("add.cc.u32 %r11, %r3, %r1; mul.lo.u32 %r12, %r3, %r1;"
                            "addc.u32 %r10, %r12, %r11;"))
    names = [i.form.spelling for i in module["k"].entry]
    at = names.index("add.cc.u32")
    assert names[at + 1] == "addc.u32"
    assert "mul.lo.u32" in names[:at]


@pytest.mark.seed("LIC-34", "LIC-26")
@pytest.mark.parametrize(
    "operation",
    ["shfl.sync.bfly.b32 %r10, %r3, 1, 31, -1;", "vote.sync.ballot.b32 %r10, %p4, -1;",
     "activemask.b32 %r10;", "match.any.sync.b32 %r10, %r3, -1;"],
)
def test_convergent_operations_stay(operation):
    assert may_leave(operation, before="setp.eq.u32 %p4, %r3, 1;\n") == []


# ----------------------------------------------------------------------- memory


@pytest.mark.seed("LIC-33")
def test_loads_of_what_cannot_change_leave():
    store = "st.global.u32 [%rd2], %r2; "
    assert "ld.const.u32" in may_leave("ld.const.u32 %r10, [table+8];" + store)
    assert "ld.param.u32" in may_leave("ld.param.u32 %r10, [n];" + store)
    assert "ld.global.nc.u32" in may_leave("ld.global.nc.u32 %r10, [%rd1];" + store)


@pytest.mark.seed("LIC-33", "LIC-17", "LIC-26")
def test_a_store_that_may_alias_keeps_a_load():
    assert may_leave("ld.global.u32 %r10, [%rd1];") == ["ld.global.u32"]
    body = "ld.global.u32 %r10, [%rd1]; st.global.u32 [%rd2], %r2;"
    assert may_leave(body) == []
    assert blocked(body) == {"ld.global.u32": Blocked.STORE}


def test_state_spaces_are_apart():
    body = "ld.global.u32 %r10, [%rd1]; st.shared.u32 [tile], %r2;"
    assert may_leave(body) == ["ld.global.u32"]


def test_offsets_from_one_base_are_apart():
    body = "ld.shared.u32 %r10, [tile+16]; st.shared.u32 [tile+{at}], %r2;"
    assert may_leave(body.format(at=20)) == ["ld.shared.u32"]
    assert may_leave(body.format(at=16)) == []


def test_a_store_that_walks_over_the_place_keeps_the_load():
    before = "mov.u32 %r30, tile;\n"
    walk = "ld.shared.u32 %r10, [tile+{at}]; st.shared.u32 [%r30], %r2; add.u32 %r30, %r30, 8;"
    assert may_leave(walk.format(at=16), before=before) == []
    assert may_leave(walk.format(at=20), before=before) == ["ld.shared.u32"]  # never 4 modulo 8


@pytest.mark.seed("LIC-10", "LIC-26")
@pytest.mark.parametrize(
    ("between", "why"),
    [("bar.sync 0;", Blocked.SYNC), ("membar.gl;", Blocked.SYNC),
     ("fence.acq_rel.gpu;", Blocked.SYNC),
     ("ld.acquire.gpu.global.u32 %r20, [%rd2];", Blocked.SYNC),
     ("call (%r20), callee, (%r3);", Blocked.CALL)],
)
def test_nothing_passes_what_orders_memory(between, why):
    body = f"ld.global.u32 %r10, [%rd1]; {between}"
    assert may_leave(body) == []
    assert blocked(body)["ld.global.u32"] is why


def test_a_threads_own_memory_passes_a_barrier():
    assert "ld.local.u32" in may_leave("ld.local.u32 %r10, [own+4]; bar.sync 0;")


@pytest.mark.parametrize("spelling", ["ld.volatile.global.u32", "ld.relaxed.gpu.global.u32"])
def test_volatile_and_ordered_loads_stay(spelling):
    assert may_leave(f"{spelling} %r10, [%rd1];") == []


def test_stores_and_atomics_stay():
    assert may_leave("st.global.u32 [%rd1], %r3; mov.u32 %r10, %r3;") == ["mov.u32"]
    assert may_leave("atom.global.add.u32 %r10, [%rd1], 1;") == []


# ------------------------------------------------------------------ speculation

SKIPPED = "mov.u32 %r10, 0; setp.gt.u32 %p3, %r2, 3; @%p3 bra S; {what} S:"


@pytest.mark.seed("LIC-34", "GAP-43")
def test_a_load_that_not_every_iteration_runs_stays():
    body = SKIPPED.format(what="ld.global.u32 %r10, [%rd1];")
    assert "ld.global.u32" not in may_leave(body)
    assert blocked(body)["ld.global.u32"] is Blocked.CONDITIONAL


def test_unless_its_address_is_proven_to_be_good():
    assert "ld.shared.u32" in may_leave(SKIPPED.format(what="ld.shared.u32 %r10, [tile+252];"))
    assert "ld.shared.u32" not in may_leave(SKIPPED.format(what="ld.shared.u32 %r10, [tile+253];"))
    assert "ld.const.u32" in may_leave(SKIPPED.format(what="ld.const.u32 %r10, [table];"))
    assert "ld.const.u32" not in may_leave(SKIPPED.format(what="ld.const.u32 %r10, [table+64];"))


def test_arithmetic_may_run_where_it_did_not():
    """PTX has no trapping arithmetic, so a division may."""
    assert "div.u32" in may_leave(SKIPPED.format(what="div.u32 %r10, %r3, %r1;"))


@pytest.mark.seed("GAP-43")
def test_a_load_behind_an_early_exit_stays():
    leave = "setp.gt.u32 %p3, %r2, 3; @%p3 exit; "
    assert may_leave(leave + "ld.global.u32 %r10, [%rd1];") == []
    assert may_leave("ld.global.u32 %r10, [%rd1]; " + leave) == ["ld.global.u32"]


@pytest.mark.seed("GAP-43")
def test_a_while_loop_may_not_run_at_all():
    text = HEADER.format(target="sm_80") + (
        "W: setp.ge.u32 %p1, %r2, %r1; @%p1 bra X; ld.global.u32 %r10, [%rd1];"
        "add.s32 %r4, %r4, %r10; add.s32 %r2, %r2, 1; bra W; X: st.global.u32 [%rd5], %r4; ret; }"
    )
    assert region(nvir.read_ptx(text), "W").invariant == []


# ---------------------------------------------------------------- moving


@pytest.mark.seed("LIC-11")
def test_one_preheader_is_made_where_there_is_none():
    text = HEADER.format(target="sm_80") + (
        "setp.eq.u32 %p5, %r3, 0; @%p5 bra L; mov.u32 %r2, 1;\n"
        + LOOP.format(body="mul.lo.u32 %r10, %r3, %r1;", used="%r10")
    )
    module = nvir.read_ptx(text)
    blocks = len(module["k"].blocks)
    hoisted(module)
    assert len(module["k"].blocks) == blocks + 1
    loop = module["k"].loops()[0]
    assert [i.form.spelling for i in loop.preheader][-2:] == ["mul.lo.u32", "bra"]


@pytest.mark.seed("LIC-11")
def test_an_existing_preheader_serves():
    module = kernel("mul.lo.u32 %r10, %r3, %r1;")
    blocks = len(module["k"].blocks)
    assert len(hoisted(module)["k"].blocks) == blocks


@pytest.mark.seed("LIC-28", "KNB-73")
def test_the_mover_can_be_switched_off():
    module = kernel("mul.lo.u32 %r10, %r3, %r1;")
    text = str(module)
    remarks = nvir.run_passes(module, "licm", knobs={"mover-enable": False})
    assert str(module) == text
    assert [(r.name, r.code.number, r.args["count"]) for r in remarks] == [("MoverOff", "484", 1)]


@pytest.mark.seed("LIC-28", "KNB-74", "LPI-06")
def test_the_guard():
    module = kernel("mul.lo.u32 %r10, %r3, %r1;")
    remarks = nvir.run_passes(module, "licm", knobs={"licm-enable": False})
    assert [(r.name, r.code.number) for r in remarks] == [("Guarded", "499")]
    assert module["k"].loops()[0].header.first_non_phi.form.spelling == "mul.lo.u32"


@pytest.mark.seed("LIC-28", "LPI-06", "GAP-44")
def test_the_limiter_counts_functions_over_all_instances():
    module = kernel("mul.lo.u32 %r10, %r3, %r1;")
    ctx = Driver(Settings()).run(module, "licm<id=0;limit=1>,licm<id=1;limit=1>")
    assert [r.name for r in ctx.remarks] == ["Hoisted", "Guarded"]
    assert ctx.counters["licm.looked-at"] == 1


@pytest.mark.seed("LPI-06", "GAP-44")
def test_the_guard_counts_blocks():
    module = kernel("mul.lo.u32 %r10, %r3, %r1;")
    ctx = Context(module, Knobs())
    ctx.pass_, ctx.options = nvir.passes.all_passes()["licm"], licm.Options()
    assert licm.guard(module["k"], ctx) == licm.block_count(module["k"]) == 3


def test_a_loop_of_an_unknown_operation_is_left_alone():
    module = kernel("mul.lo.u32 %r10, %r3, %r1; frobnicate.b32 %r11, %r3;")
    remarks = nvir.run_passes(module, "licm")
    assert [(r.name, r.args["what"], r.loop) for r in remarks] == [
        ("UnknownOperation", "frobnicate.b32", "L")
    ]


def test_remarks_name_the_loop_the_line_and_the_numbers():
    module = kernel("mul.lo.u32 %r10, %r3, %r1; ld.global.u32 %r11, [%rd1];\n"
                    "st.global.u32 [%rd2], %r11;")
    stays, leaves = nvir.run_passes(module, "licm")
    assert (stays.name, stays.loop) == ("NotHoistedStore", "L")
    assert stays.line
    assert stays.args["at"]
    assert "st.global.u32 at line" in stays.args["by"]
    assert (leaves.name, leaves.loop, leaves.args["count"]) == ("Hoisted", "L", 1)
    assert leaves.args["score"] == 1
    assert leaves.args["penalty"] == 1


# ------------------------------------------------------------------ running

PIPELINES = (
    "licm", "licm<id=1>", "licm<id=3>", "copy-prop,gvn,licm,licm<id=1>,licm<id=2>,licm<id=3>,dce",
)


@pytest.mark.parametrize("policy", ["observed", "documented"])
@pytest.mark.parametrize("seed", range(8))
def test_random_kernels_behave_the_same(seed, policy):
    make = wild_kernel if seed % 2 else random_kernel
    text = make(seed + 400, 30)
    a, b = nvir.read_ptx(text), nvir.read_ptx(text)
    knobs = {"UseNewLoopInvariantRoutineForHoisting": seed % 3 == 0}
    nvir.run_passes(b, PIPELINES[seed % 4], policy=policy, knobs=knobs, verify=True)
    assert same_behaviour(a, b, "k", seed, grid=(1,), block=(32,))
    assert same_behaviour(a, nvir.read_ptx(nvir.print_ptx(b)), "k", seed, grid=(1,), block=(32,))


def test_random_kernels_are_worth_running():
    """Enough of them lose something from a loop."""
    moved = 0
    for seed in range(8):
        module = nvir.read_ptx((wild_kernel if seed % 2 else random_kernel)(seed + 400, 30))
        remarks = nvir.run_passes(module, "licm", policy="documented", knobs={"HoistBudget": 0.0})
        moved += any(r.name == "Hoisted" for r in remarks)
    assert moved >= 2


@pytest.mark.oracle
def test_examples_still_assemble():
    folder = Path(__file__).resolve().parents[2] / "examples" / "ptx"
    files = sorted(folder.rglob("*.ptx"))[:6]
    assert files
    for file in files:
        module = nvir.read_ptx(file)
        for policy in ("observed", "documented"):
            nvir.run_passes(module, "licm,licm<id=3>", policy=policy, verify=True)
        made = toolchain.ptxas(nvir.print_ptx(module), module.target)
        assert made.ok, (file, made.error)


def test_cost_is_linear_and_small():
    def run(copies: int) -> tuple[int, int]:
        body = "".join(f"mul.lo.u32 %r{10 + k % 20}, %r3, %r2;\n" for k in range(50))
        loops = "".join(
            f"L{n}:\n{body}xor.b32 %r31, %r3, {n}; add.u32 %r4, %r4, %r31; add.s32 %r2, %r2, 1;"
            f"setp.lt.u32 %p1, %r2, %r1; @%p1 bra L{n};\n"
            for n in range(copies)
        )
        module = nvir.read_ptx(HEADER.format(target="sm_80") + loops
                               + "st.global.u32 [%rd5], %r4; ret; }")
        size = sum(1 for _ in module["k"].instructions())
        module["k"].analyze_cfg()
        return effort(lambda: nvir.run_passes(module, "licm")), size

    small, large = run(15), run(60)
    assert large[0] / large[1] < 1.5 * small[0] / small[1]
    assert large[0] < 200 * large[1]


# ------------------------------------------------------- what is looked at only once

WITHIN = """L:
mul.lo.u32 %r10, %r3, %r1; add.u32 %r11, %r2, 1; mov.u32 %r12, 0;
M:
add.u32 %r13, %r10, 5; add.u32 %r14, %r11, 7; xor.b32 %r15, %r14, %r12;
ld.global.u32 %r16, [%rd1+16]; add.u32 %r17, %r16, %r15; xor.b32 %r4, %r4, %r17;
add.s32 %r12, %r12, 1; setp.lt.u32 %p2, %r12, %r1; @%p2 bra M;
st.global.u32 [%rd5], %r13;
add.s32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra L;
st.global.u32 [%rd5], %r4; ret; }
"""


@pytest.mark.parametrize("order", ["LM", "ML", "MLM", "MLL", "LMLM"])
def test_loops_may_be_surveyed_in_any_order(order):
    """What an inner loop keeps is looked at in the outer one no more, and the other way round."""
    function = nvir.read_ptx(HEADER.format(target="sm_80") + WITHIN)["k"]
    function.analyze_cfg()
    nest = Nest(function)
    loops = {x.header.name: x for x in nest.loops}
    for label in order:
        found = survey(loops[label], nest)
    names = [str(i.name) for i in found.invariant if i.name]
    expected = {"L": ["%r10", "%r12", "%r13"], "M": ["%r13", "%r14", "%r16"]}
    assert names == expected[order[-1]]
    assert [s.why for s in found.stay] == [Blocked.STORE] * (order[-1] == "L")
    assert len(found.items) == sum(len(b) for b in found.loop.blocks)


def test_what_left_an_inner_loop_stands_before_it():
    function = nvir.read_ptx(HEADER.format(target="sm_80") + WITHIN)["k"]
    function.analyze_cfg()
    nest = Nest(function)
    outer, inner = nest.loops
    nest.leave(inner, list(survey(inner, nest).invariant))
    assert survey(inner, nest).invariant == []
    around = survey(outer, nest)
    assert [str(i.name) for i in around.invariant] == ["%r10", "%r12", "%r13"]
    assert len(around.items) == sum(len(b) for b in outer.blocks)  # each once
    lost = [part for part in around.parts if part.items == nest.lifted[inner.header]]
    assert len(lost) == 1


def test_what_orders_or_needs_lanes_is_a_hazard():
    """The policies look for fences and warp-wide operations among the hazards only."""
    sought = [row for row in ORI.rows.values() if row.gathers or row.kind is OpKind.FENCE]
    forms = [form(row.name) for row in sought]
    assert {f.name for f in forms} >= {"membar", "fence", "shfl.sync", "vote.sync"}
    assert all(KINDS[f] >= CARRY for f in forms)
