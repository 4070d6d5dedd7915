"""Each documented step can be taken out only with a changed result or trace.

A step is a function under the decorator `step`. Every one of nvir is found here, replaced by
something that decides nothing (`REMOVED`), and the fixtures are run again: what is decided, or
what other steps saw, must be different. A step that is not in the table fails the test.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import json
import pkgutil
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import pytest

import nvir
from nvir.analysis.induction import trip_count
from nvir.assembler.hoist.score import Verdict
from nvir.assembler.hoist.tables import Mode, Policy381
from nvir.assembler.postra import loop_code, schedule
from nvir.assembler.postra.check import require
from nvir.assembler.postra.handed import handed
from nvir.assembler.postra.records import Route, SchedulingRecord
from nvir.assembler.unroll import latch_exit
from nvir.assembler.unroll.decision import UnrollCode, UnrollDecision
from nvir.documented.hoist import sets, stages
from nvir.documented.hoist.prepare import PreparedLoops
from nvir.documented.pipelining import OperandClasses
from nvir.documented.policy import rules_of
from nvir.documented.unroll import facts, steps
from nvir.frontend import build as b
from nvir.frontend.check import check
from nvir.frontend.irgen import Options, generate
from nvir.frontend.irgen.abi import ABI
from nvir.frontend.irgen.intrinsic.inline_asm import AsmFragment, Constraint, _Operands
from nvir.frontend.tree.declarations import Unit
from nvir.ir import I1, I32, VOID, Loop, natural_loops
from nvir.ir.errors import NvirError
from nvir.ir.text.trace import Trace, TraceEvent, shown
from nvir.ir.values import constant, undef
from nvir.passes.aggregate.copies import counts_down, counts_up
from nvir.passes.aggregate.plan import CopyPlan
from nvir.passes.context import Context
from nvir.passes.knobs import Knobs
from nvir.passes.loop.fuse.plan import FusionLimits, Way
from nvir.passes.loop.pipeline.feasible import Feasibility, Finding
from nvir.passes.loop.unroll import loop_unroll
from nvir.passes.policies import PipelineSlots
from nvir.passes.registry import all_passes
from nvir.report.schedule.post_ra import pipelined
from nvir.sm.profile import Profile, profile
from tests.passes.conftest import body
from tests.passes.test_loop_fuse import (
    BRANCHY,
    END,
    HEAD,
    ON,
    PAIR,
    TOP_TESTED,
    copies,
    loop,
    reads,
    stored,
)
from tests.selection import read

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FIXTURES = EXAMPLES / "fixtures"
TRACE = Path(__file__).with_name("steps.trace")

# ---------------------------------------------------------------- what is run

Outcome = tuple[Any, list[TraceEvent]]


def unrolling(file: Any = FIXTURES / "steps.ptx",
              override: str = "-UNKNOWN-+LARGE+") -> Iterator[Any]:
    """The decisions on the loops of a file, with knobs that make each step decide."""
    module = nvir.read_ptx(file)
    row = all_passes()["loop-unroll"]
    for options, knobs in (
        ("", {}), ("repaired", {"LoopUnrollUnknownMultiBlock": True}),
        ("", {"UnrollInstLimit": 0, "UnrollBudget": 40}),
        ("", {"LoopUnrollFactor": 3, "UnrollBudget": 8}),
        ("", {"LoopUnrollFactor": 2147483647}),
        ("", {"LoopUnrollFactorBlocks": override}),
        ("", {"LoopUnrollNonInnermost": False, "UnrollFullInstLimit": 7}),
    ):
        for f in module.functions:
            if f.blocks:
                f.analyze_cfg()
                ctx = Context(module, Knobs(knobs, "documented"))
                ctx.pass_, ctx.function = row, f
                ctx.options = row.options(repaired=options == "repaired")
                made = loop_unroll.planned(f, ctx)
                yield made.guard, shown({h.name: d for h, d in made.decided.items()}), dict(
                    ctx.counters
                ), [attrs.astuple(d) for d in made.decided.values()]


def hoisting(file: Any = FIXTURES / "steps.ptx") -> Iterator[Any]:
    for pipeline, knobs in (
        ("licm<id=0>", {}), ("licm<id=1>", {"HoistLate": 3}), ("licm<id=3>", {}),
        ("licm<id=0;level=0>", {}),
        ("licm<id=2>", {"UseNewLoopInvariantRoutineForHoisting": True}),
        ("licm<id=3>", {"MaxMidHeaderSizeRateForAggressiveHoist": 1}),
    ):
        module = nvir.read_ptx(file)
        remarks = nvir.run_passes(module, pipeline, policy="documented", knobs=knobs)
        yield [r.message for r in remarks], nvir.print_ir(module)


def pipelining(file: Any = FIXTURES / "steps.ptx") -> Iterator[Any]:
    for pipeline in ("loop-pipeline", "loop-pipeline<noted-check>"):
        module = nvir.read_ptx(file)
        remarks = nvir.run_passes(module, pipeline, policy="documented")
        yield [r.message for r in remarks], nvir.print_ptx(module)


FUSED = (
    PAIR,
    copies(1, bound="10") + reads(2, bound="11") + stored(2) + END,
    "and.b32 %r50, %r50, 15;" + copies(1, bound="%r50") + reads(2, bound="%r50") + stored(2) + END,
    copies(1) + "st.global.u32 [%rd2+64], %r51;" + reads(2) + stored(2) + END,
    copies(1) + "add.u32 %r45, %r1, 4;" + copies(2, at="+4") + END,
    copies(1) + "mov.u32 %r32, 0;" + loop(2, "add.u32 %r32, %r32, %r21;") + stored(2) + END,
    copies(1) + "mov.u32 %r32, 0;" + loop(2, "add.u32 %r32, %r32, %r2;") + stored(2) + END,
    loop(1, "shl.b32 %r11, %r1, 2; setp.gt.u32 %p9, %r11, %r51; @%p9 bra OUT;") + copies(2)
    + "OUT: ret;",
    "setp.gt.u32 %p9, %r51, 4; @%p9 bra B;" + copies(1) + "bra C; B:" + copies(2) + "C: ret;",
    loop(1, BRANCHY.format(k=1, at=0)) + copies(2) + END,
    loop(1, "ld.global.u32 %r40, [%rd2];", bound="%r40") + copies(2) + END,
    loop(1, "membar.gl;") + copies(2) + END,
    copies(1) + TOP_TESTED,
)
FUSION = "loop-simplify,loop-fuse<multi-block>"


def fusing(*files: Any) -> Iterator[Any]:
    """Also without the knob, with a small budget, and where what stands behind loops is cold."""
    for source in files or [body(HEAD + text) for text in FUSED]:
        for pipeline, knobs in ((FUSION, ON), (FUSION, {}), ("cold", ON),
                                (FUSION, {**ON, "PerformLoopFusionBudget": 8.0})):
            module = nvir.read_ptx(source)
            for f in module.functions if pipeline == "cold" else ():
                for x in natural_loops(f) if f.blocks else ():
                    for _, block in x.exits:
                        block.pragmas = ("frequency 0",)
            remarks = nvir.run_passes(module, FUSION, policy="documented", knobs=knobs)
            yield [r.message for r in remarks], nvir.print_ptx(module)


MEMORY = """define void @f(ptr %p, ptr %q, i64 %n) {
entry:
  call void @llvm.memmove.p0.p0.i64(ptr align 4 %p, ptr align 4 %q, i64 %n, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %p, ptr align 4 %q, i64 6, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %p, ptr align 4 %q, i64 900, i1 false)
  call void @llvm.memset.p0.i64(ptr align 4 %p, i8 0, i64 %n, i1 false)
  ret void
}
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""
STRUCTS = """define {i32, float} @g({i32, float} %v, ptr %p, ptr %q, i1 %c) {
entry:
  %w = load {i32, float}, ptr %p, align 4
  store {i32, float} %w, ptr %q
  %r = call {i32, float} @h({i32, float} zeroinitializer)
  %k = load {i32, float}, ptr %q
  br i1 %c, label %one, label %two
one:
  br label %two
two:
  %s = phi {i32, float} [ %r, %entry ], [ %k, %one ]
  %x = extractvalue {i32, float} %s, 0
  %y = extractvalue {i32, float} %v, 0
  %z = add i32 %x, %y
  %t = insertvalue {i32, float} %s, i32 %z, 0
  store {i32, float} %t, ptr %p
  %u = call {i32, float} @h({i32, float} %t)
  ret {i32, float} %t
}
declare {i32, float} @h({i32, float})
"""


def splitting(text: str) -> Iterator[Any]:
    yield from split(read(text))


def split(module: nvir.Module, **knobs: Any) -> Iterator[Any]:
    remarks = nvir.run_passes(module, "lower-aggr-copies", policy="documented", knobs=knobs)
    yield [r.message for r in remarks], str(module)


def generated(*functions: Any, types: Any = None) -> Iterator[Any]:
    yield from generating(check(b.unit(*functions, types=types)))


def generating(unit: Unit) -> Iterator[Any]:
    module = generate(unit, Options(policy="documented"))
    yield str(module), [str(i.loc) for f in module.functions for i in f.instructions()]


def calling() -> Iterator[Any]:
    out, v, w, n, f = b.names("out v w n f")
    types: dict[str, Any] = {}
    b.record("big", "double a[9]", types)
    b.record("pair", "short a[3]", types)
    early = b.call("make", w)  # stands at a line of its own
    same = b.E(b.expr(b.cast("int (*)(int)", b.addr(b.name("one")))))
    yield from generated(
        b.function("big make", "big v", b.ret(v), types=types),
        b.function("pair half", "pair v", b.ret(v), types=types),
        b.function("int one", "int n", b.ret(n)),
        b.function("int warp_thing", "int n", intrinsic=10219),
        b.kernel(
            "k", "int *out, int n", b.let("big w", types=types), b.let("pair v", types=types),
            b.let("big u", early, types=types), b.assign(v, b.call("half", v)),
            b.let("int (*f)(int)", b.name("one")), b.assign(out[1], b.call(f, n)),
            b.assign(out[2], same(n)), b.assign(out[3], b.call("warp_thing", n)),
            b.assign(out[0], b.call("one", n, preserve=(1, -1, 2))), types=types,
        ), types=types,
    )


def assembling() -> Iterator[Any]:
    out, x, n = b.names("out x n")
    yield from generated(b.kernel(
        "k", "int *out, int n", b.let("int x", 0),
        b.asm("add.s32 %0, %0, %1; // %%tid.x $", [("+r", x)], [("r", n)], clobbers=["memory"]),
        b.assign(out[0], x),
    ))


KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n) {
.reg .pred %p; .reg .b32 %i, %n; .reg .f32 %f<3>; .reg .b64 %a;
ld.param.u64 %a, [a]; ld.param.u32 %n, [n]; mov.u32 %i, 0; mov.f32 %f0, 0f00000000;
L: ld.global.f32 %f1, [%a]; add.f32 %f0, %f0, %f1; mul.f32 %f0, %f0, %f0; mul.f32 %f0, %f0, %f0;
mul.f32 %f0, %f0, %f0; mul.f32 %f0, %f0, %f0; mul.f32 %f0, %f0, %f0; add.s64 %a, %a, 4;
add.s32 %i, %i, 1; setp.lt.s32 %p, %i, %n; @%p bra L;
st.global.f32 [%a], %f0; ret; }
"""


def after_allocation() -> Iterator[Any]:
    """A kernel of phase 24 on its registers, which under the tensor mode are of that class, and the
    loop that it was made of."""
    module = nvir.read_ptx(KERNEL)
    loop = natural_loops(module.functions[0])[0]
    for mode in (0, 1):
        machine = gated(profile("sm_80_notes"), mode)
        with Trace():  # of phase 24, which has a group of its own
            kernel = pipelined(loop, module, machine, "l1")
        yield placed(kernel, machine)
    yield placed(loop, machine)


def gated(machine: Profile, mode: int) -> Profile:
    """With the gate in a mode; where it is open, nearly all registers are of the tensor class."""
    bounds = (-5, -4, -3, -2, -1, 0, 250) if mode else machine.banks.bounds
    banks = attrs.evolve(machine.banks, bounds=bounds, tensor_mode=mode)
    return attrs.evolve(machine, banks=banks)


def placed(loop: Loop, machine: Profile) -> Any:
    given = handed(loop)
    code = loop_code(loop, machine, spread=given is not None)
    made = schedule(code, policy="documented", given=given)
    require(made, policy="documented")
    return made.times, made.placement, made.carried, [str(d) for d in made.dependences]


def outcome(group: str) -> Outcome:
    return outcome_of(GROUPS[group])


def outcome_of(run: Callable[[], Iterator[Any]]) -> Outcome:
    """What a group of fixtures gives, and the events; an error is a result too."""
    with Trace() as trace:
        try:
            made: Any = list(run())
        except (NvirError, AssertionError, AttributeError, TypeError, LookupError, ValueError) as e:
            made = f"{type(e).__name__}: {e}"
    return made, list(trace)


GROUPS: dict[str, Callable[[], Iterator[Any]]] = {
    "unroll": unrolling, "hoist": hoisting, "pipeline": pipelining, "fuse": fusing,
    "memory": functools.partial(splitting, MEMORY),
    "structs": functools.partial(splitting, STRUCTS), "calls": calling, "asm": assembling,
    "registers": after_allocation,
}

# ------------------------------------------------- what stands for a step that is out

Made = Callable[..., Any]


def gives(value: Any) -> Made:
    return lambda *a, **k: value


REMOVED: dict[str, dict[str, Made]] = {
    "unroll": {
        "entry_guard": gives(""), "rules_of": gives(steps.Rules()),
        "pre_scan": gives(facts.PreScan()), "scan_body": gives(facts.BodyRecord()),
        "scan_header": gives("whole"), "scan_forward": gives("whole"),
        "scan_backward": gives("whole"), "stride_fits": gives(True), "direction": gives(13),
        "analyze_iv": gives((UnrollCode.NO_INDUCTION, "")), "validate_iv": gives(latch_exit.SIGNED),
        "extract_bound": lambda found, *a: found.bound, "bound_block": gives(None),
        "verify_stride": gives(latch_exit.StrideCheck()), "stride_sign": gives(1),
        "nounroll_inwards": gives(frozenset()), "passed_over": gives(""),
        "indirect_exit": gives(False), "nounroll": gives(""), "is_hot": gives(False),
        "remaining_cost": gives(0), "override_string": gives(""), "few_fetches": gives(""),
        "forced_factor": gives(0), "knob_factor": gives(0), "unknown_refused": gives(None),
        "known_factor": lambda T, *a: T, "tex_budget": gives(0), "unknown_factor": gives((4, True)),
        "allowance": gives(0), "within_budget": lambda factor, *a: factor,
        "constant_count": gives(None), "swaps": gives(False), "rest_pieces": gives((1,)),
        "prepare": gives(facts.Prepared(1, defaultdict(int))),
        "predicate_pressure": gives(""), "unrolls_fully": gives(False), "rounds": gives(None),
        "verdict": gives(UnrollDecision()),
    },
    "hoist": {
        "budget": gives(Fraction(1)), "forward": gives([]), "backward": gives([]),
        "propagate": gives(0), "profit": gives(Verdict(1, None, 1, Fraction(1), 0)),
        "analyze_boundaries": gives(stages.Boundaries(False, False, False, False, True, True)),
        "calls": lambda loop: [(loop.header, Mode.HEADER)], "nested_allowed": gives(True),
        "count": gives(1), "iteration_limit": gives(2), "mover": gives([]), "leaves": gives([]),
        "side_effects": gives({}), "scored": gives(stages.HoistScore(1, 0)),
        "block_policy": gives(Policy381.HOIST), "build_invariant_set": gives(sets.ValueSet()),
        "classify": gives([]), "skipped_by_last": gives(False),
        "prepare_nest": lambda nest, *a: PreparedLoops(0, defaultdict(int), defaultdict(int)),
        "nesting": lambda loops, *a: {x.header: [] for x in loops},
        "clear_markers": lambda function, *a: dict.fromkeys(function.rpo, 0),
    },
    "pipeline": {
        "verified": gives(""), "annotate": gives([]), "several_blocks": gives(False),
        "feasible": gives(Finding(Feasibility.ACCEPT)),
        "noted_check": gives(Finding(Feasibility.ACCEPT)),
        "operand_classes": lambda body, *a: {i: OperandClasses(6, 6) for i in body},
        "class_graph": lambda plain, *a: plain.graph, "stall": lambda cycles, *a: cycles,
        "resources": gives(1), "minimum": gives(1),
        "slots": lambda plain, *a: PipelineSlots(1, {}),
    },
    "fuse": {
        "entry_guard": gives(""), "families_of": gives([]),
        "limits_of": gives(FusionLimits(None, None, None, False, False, False)),
        "_resolved": gives(None), "_not_cold": gives(None), "_latch": gives(None),
        "_within_budget": gives(None), "_legal": gives(None), "second_pass": gives(False),
        "patch": gives(None),
        "candidate": gives(None), "_way": gives(Way([])), "_sort_code": gives(None),
        "_stage_2": gives(None), "_registers": gives(None),
        "_trips": lambda self, loop: trip_count(loop), "_count_alike": gives(True),
        "_shift": gives(None), "_structure": gives(None), "_memory": gives(None),
        "_fuse": gives(None), "_join_variables": gives(None), "_drop_repeated": gives(None),
    },
    "memory": {
        "lower_copies": gives(False),
        "make_plan": gives(CopyPlan(1, 0, True, "forward", False, "", False, False)),
        "blocks": lambda self, done: (done,) * 4,
        "one": lambda self, done, down: self.b.branch(done), "segments": gives([]),
        "below": gives(constant(I1, 1)), "guard": lambda self, count, empty, full:
        self.b.branch(full), "ascending": gives(()), "descending": lambda pieces: pieces,
        "counts_up": counts_down, "counts_down": counts_up, "element": gives(16),
        "set_alignments": gives(None),
    },
    "structs": {
        "decomposed": gives(()), "leaves_of": gives([]), "apart": gives(None),
        "split_load": gives([]), "store": gives(None),
        "aligned": lambda found, align: [(x, 1) for x in found],
        "split_phi": gives([]), "extract": gives(None), "split_call": gives(None),
        "leave": gives(None), "find_copies": gives(None), "finish": gives(None),
    },
    "calls": {
        "callee_type": lambda e: e.type, "_special": gives(None), "is_builtin": gives(True),
        "is_special_intrinsic": gives(False), "is_printf": gives(True), "_returned": gives(None),
        "evaluated": gives([]),
        "classified": gives(ABI(None, (), False)), "folded": gives(None),
        "_slot": lambda g, e, v, p: getattr(v, "pointer", v), "_debug_location": gives(None),
        "_bundles": gives(()), "_build": lambda g, *a: undef(I32), "_attributes": gives(()),
        "_alignments": gives(()), "_put_result": gives(None),
    },
    "asm": {
        "parse_template": lambda text, s=None: [AsmFragment(text)],
        "reconstruct": lambda fragments: "".join(x.text for x in fragments),
        "_operands": lambda g, s: _Operands(), "clobber": lambda name: name,
        "_result_type": gives(VOID), "has_effects": gives(False),
        "constraint": gives(Constraint("X")),
        "_object": lambda *a: undef(I32), "_results": gives(None),
    },
    "registers": {
        "dependences": gives([]), "register_carried": gives({}), "stage_slots": gives(()),
        "stage_liveness": gives({}), "propagate": gives({"": {}}), "decode": gives(Route.MODULO),
        "bank_class": gives((0, 0)), "tensor_gate": gives(False),
        "place": gives(None),
        "_record": lambda self, n, route: SchedulingRecord(
            self.time[n], self.stages[n], self.pipe[n], route, 0, 0, None, 0, 0),
    },
}
ROOMS = {
    **dict.fromkeys(("unroll", "hoist", "pipeline"), (
        "nvir.documented", "nvir.assembler.hoist", "nvir.assembler.unroll",
        "nvir.passes.loop.licm", "nvir.passes.loop.pipeline")),
    "fuse": ("nvir.passes.loop.fuse",),
    "memory": ("nvir.passes.aggregate.lower_aggr_copies", "nvir.passes.aggregate.copies",
               "nvir.passes.aggregate.plan"),
    "structs": ("nvir.passes.aggregate.split",),
    "calls": ("nvir.frontend.irgen.calls", "nvir.frontend.irgen.abi"),
    "asm": ("nvir.frontend.irgen.intrinsic.inline_asm",), "registers": ("nvir.assembler.postra",),
}


def modules(group: str) -> list[Any]:
    found = []
    for name in ROOMS[group]:
        room = importlib.import_module(name)
        found.append(room)
        for one in pkgutil.walk_packages(getattr(room, "__path__", ()), f"{name}."):
            found.append(importlib.import_module(one.name))
    return found


@functools.cache
def documented(group: str) -> dict[str, tuple[Any, Any]]:
    """Every step of a group's rooms, by name, with the class that has it as a method, or None."""
    return {
        name: (f, owner)
        for m in modules(group)
        for owner in (None, *(c for c in vars(m).values()
                              if inspect.isclass(c) and c.__module__ == m.__name__))
        for name, f in vars(m if owner is None else owner).items()
        if inspect.isfunction(f) and hasattr(f, "documented") and f.__module__ == m.__name__
    }


@pytest.fixture(scope="module")
def plain() -> dict[str, Outcome]:
    return {group: outcome(group) for group in GROUPS}


def test_every_step_is_in_the_table():
    """Those of the rooms above, and there are no others: each decorator is counted."""
    for group in GROUPS:
        known = {n for g, rows in REMOVED.items() if ROOMS[g] == ROOMS[group] for n in rows}
        assert set(documented(group)) <= known, group
    folder = Path(nvir.__file__).parent
    written = {m for f in folder.rglob("*.py") for m in re.findall(
        r"^ *@step\(.*\n(?: .*\n)*? *def (\w+)", f.read_text("utf-8"), re.MULTILINE)}
    assert written == {n for g in GROUPS for n in documented(g)}


@pytest.mark.parametrize(("group", "name"), [(g, n) for g, rows in REMOVED.items() for n in rows])
def test_a_step_leaves_a_hole(group, name, plain, monkeypatch):
    row = take_out(group, name, monkeypatch)
    assert differs(plain[group], outcome(group), row), f"nobody misses {name}"


def take_out(group: str, name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Replace a step by what decides nothing; its row and name."""
    f, owner = documented(group).get(name) or (getattr(stages, name), None)
    for at in [owner] if owner is not None else list(sys.modules.values()):
        if getattr(at, name, None) is f:
            monkeypatch.setattr(at, name, REMOVED[group][name])
    return getattr(f, "documented", ("", ""))


def differs(one: Outcome, other: Outcome, row: tuple[str, str]) -> bool:
    """Whether results differ, or events of other steps than that; no texts of both on failure."""
    others = [[e for e in events if (e.row, e.step) != row] for _, events in (one, other)]
    return bool(one[0] != other[0] or others[0] != others[1])


def test_the_groups_run_as_they_are(plain):
    assert [g for g, (made, _) in plain.items() if isinstance(made, str)] == []


def test_the_rows_of_a_run_are_in_the_order_of_the_notes():
    """Steps A to P of one loop, and of another the five stages for each call."""
    _, events = outcome("unroll")
    names = [e.step for e in events if e.at == "UNKNOWN"]
    order = ["B passed over", "C indirect exit", "D nounroll", "E hot", "header", "forward",
             "backward", "ScanLoopBody", "G remaining cost", "H override",
             "J fetches of an outer loop", "K1 texture budget", "K2-K4 factor, count unknown",
             "L knob",
             "AnalyzeIV", "ValidateIV", "ExtractBound", "bound block", "VerifyStride",
             "stride sign", "N constant count", "unknown counts", "predicates", "O full",
             "O budget", "overflow guard", "swap", "pieces", "P rounds", "verdict"]
    first = names[: names.index("verdict") + 1]
    assert [n for n in first if n in order] == order
    _, events = outcome("hoist")
    more = ("SET-01", "LIC-13", "LIC-21", "LIC-25", "LAT-08")  # told inside of the others
    names = [e.step for e in events if e.at == "CHAIN" and e.row not in more]
    start = names.index("1 budget")
    assert names[start: start + 10] == [
        "1 budget", "2 forward", "2 side effects", "3 backward", "3 candidates", "4 marked as well",
        "4 transitive", "5 score", "5 profit", "6 mover"]


def told() -> str:
    """Every event of the fixtures, once, with the loop that it is about."""
    out = []
    for group in GROUPS:
        lines = dict.fromkeys(f"{e.at}: {e}" if e.at else str(e) for e in outcome(group)[1])
        out += [f"== {group}", *lines]
    return "\n".join(out) + "\n"


def test_the_trace_of_the_fixtures_is_what_it_was():
    """Row, inputs and outcome of each step; `python -m tests.documented.test_steps` prints it."""
    was = TRACE.read_text("utf-8").splitlines()
    now = told().splitlines()
    changed = list(difflib.unified_diff(was, now, "was", "now", n=0, lineterm=""))
    assert changed == []


def test_each_event_has_inputs_and_both_as_json_has_them(plain):
    for _, events in plain.values():
        for e in events:
            assert json.loads(json.dumps([e.inputs, e.outcome], allow_nan=False))
            assert e.inputs, e


def test_an_event_says_row_inputs_and_outcome():
    _, events = outcome("pipeline")
    found = next(e for e in events if e.row == "SWP-07" and e.at == "LOADS")
    assert str(found) == "SWP-07 4 MII (rec_mii 4, res_mii 1): 4"
    ctx = Context(nvir.read_ptx(FIXTURES / "steps.ptx"), Knobs(policy="documented"))
    ctx.options = loop_unroll.Options()
    rules_of(ctx)  # nobody listens: nothing is kept
    with Trace() as empty:
        pass
    assert not empty


if __name__ == "__main__":
    sys.stdout.write(told())
