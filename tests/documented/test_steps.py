"""Each documented step can be taken out only with a changed result or trace.

A step is a function under the decorator `step`. Every one of nvir is found here, replaced by
something that decides nothing (`REMOVED`), and the fixtures are run again: what is decided, or
what other steps saw, must be different. A step that is not in the table fails the test.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import pytest

import nvir
from nvir.assembler.hoist.score import Verdict
from nvir.assembler.hoist.tables import Mode, Policy381
from nvir.assembler.unroll import latch_exit
from nvir.assembler.unroll.decision import UnrollCode, UnrollDecision
from nvir.documented.hoist import sets, stages
from nvir.documented.pipelining import OperandClasses
from nvir.documented.policy import rules_of
from nvir.documented.unroll import facts, steps
from nvir.ir.errors import NvirError
from nvir.ir.text.trace import Trace, TraceEvent, shown
from nvir.passes.context import Context
from nvir.passes.knobs import Knobs
from nvir.passes.loop.unroll import loop_unroll
from nvir.passes.policies import PipelineSlots
from nvir.passes.registry import all_passes

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FIXTURES = EXAMPLES / "fixtures"

# ---------------------------------------------------------------- what is run

Outcome = tuple[Any, list[TraceEvent]]


def unrolling() -> Iterator[Any]:
    """The decisions on the loops of the fixtures, with knobs that make each step decide."""
    module = nvir.read_ptx(FIXTURES / "steps.ptx")
    row = all_passes()["loop-unroll"]
    for options, knobs in (
        ("", {}), ("repaired", {"LoopUnrollUnknownMultiBlock": True}),
        ("", {"UnrollInstLimit": 0, "UnrollBudget": 40}),
        ("", {"LoopUnrollFactor": 3, "UnrollBudget": 8}),
        ("", {"LoopUnrollFactorBlocks": "-UNKNOWN-+LARGE+"}),
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


def hoisting() -> Iterator[Any]:
    for pipeline, knobs in (
        ("licm<id=0>", {}), ("licm<id=1>", {"HoistLate": 3}), ("licm<id=3>", {}),
        ("licm<id=0;level=0>", {}),
        ("licm<id=2>", {"UseNewLoopInvariantRoutineForHoisting": True}),
        ("licm<id=3>", {"MaxMidHeaderSizeRateForAggressiveHoist": 1}),
    ):
        module = nvir.read_ptx(FIXTURES / "steps.ptx")
        remarks = nvir.run_passes(module, pipeline, policy="documented", knobs=knobs)
        yield [r.message for r in remarks], nvir.print_ir(module)


def pipelining() -> Iterator[Any]:
    module = nvir.read_ptx(FIXTURES / "steps.ptx")
    remarks = nvir.run_passes(module, "loop-pipeline", policy="documented")
    yield [r.message for r in remarks], nvir.print_ptx(module)


def outcome(group: str) -> Outcome:
    """What a group of fixtures gives, and the events; an error is a result too."""
    with Trace() as trace:
        try:
            made: Any = list(GROUPS[group]())
        except (NvirError, AssertionError, AttributeError, TypeError, KeyError, ValueError) as e:
            made = f"{type(e).__name__}: {e}"
    return made, list(trace)


GROUPS: dict[str, Callable[[], Iterator[Any]]] = {
    "unroll": unrolling, "hoist": hoisting, "pipeline": pipelining,
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
        "known_factor": lambda T, *a: T, "tex_budget": gives(0), "unknown_factor": gives(4),
        "allowance": gives(0), "within_budget": lambda factor, *a: factor,
        "constant_count": gives(None), "swaps": gives(False), "in_pieces": gives(True),
        "predicate_pressure": gives(""), "unrolls_fully": gives(False), "rounds": gives(None),
        "verdict": gives(UnrollDecision()),
    },
    "hoist": {
        "budget": gives(Fraction(1)), "forward": gives([]), "backward": gives([]),
        "propagate": gives(0), "profit": gives(Verdict(1, None, 1, Fraction(1), 0)),
        "analyze_boundaries": gives(stages.Boundaries(False, False, False, False, True)),
        "calls": lambda loop: [(loop.header, Mode.HEADER)], "nested_allowed": gives(True),
        "count": gives(1), "iteration_limit": gives(2), "mover": gives([]),
        "block_policy": gives(Policy381.HOIST), "build_invariant_set": gives(sets.ValueSet()),
        "classify": gives(None), "skipped_by_last": gives(False),
    },
    "pipeline": {
        "verified": gives(""), "annotate": gives([]), "infeasible": gives(None),
        "operand_classes": lambda body, *a: {i: OperandClasses(6, 6) for i in body},
        "class_graph": lambda plain, classes: plain.graph, "stall": lambda cycles, *a: cycles,
        "resources": gives(1), "minimum": gives(1),
        "slots": lambda plain, *a: PipelineSlots(1, {}),
    },
}
ROOMS = ("nvir.documented", "nvir.assembler.hoist", "nvir.assembler.unroll",
         "nvir.passes.loop.licm", "nvir.passes.loop.pipeline")


def modules() -> list[Any]:
    found = []
    for name in ROOMS:
        room = importlib.import_module(name)
        found.append(room)
        for one in pkgutil.walk_packages(getattr(room, "__path__", ()), f"{name}."):
            found.append(importlib.import_module(one.name))
    return found


def documented() -> dict[str, Any]:
    """Every step of the rooms above, by name."""
    return {
        name: f for m in modules() for name, f in vars(m).items()
        if inspect.isfunction(f) and hasattr(f, "documented")
    }


@pytest.fixture(scope="module")
def plain() -> dict[str, Outcome]:
    return {group: outcome(group) for group in GROUPS}


def test_every_step_is_in_the_table():
    assert set(documented()) <= {name for rows in REMOVED.values() for name in rows}


@pytest.mark.parametrize(("group", "name"), [(g, n) for g, rows in REMOVED.items() for n in rows])
def test_a_step_leaves_a_hole(group, name, plain, monkeypatch):
    modules()
    f = documented().get(name) or getattr(stages, name)
    for module in list(sys.modules.values()):
        if getattr(module, name, None) is f:
            monkeypatch.setattr(module, name, REMOVED[group][name])
    was, before = plain[group]
    now, after = outcome(group)
    row = getattr(f, "documented", ("", ""))
    others = [[e for e in events if (e.row, e.step) != row] for events in (before, after)]
    assert now != was or others[0] != others[1], f"nobody misses {name}"


def test_the_rows_of_a_run_are_in_the_order_of_the_notes():
    """Steps A to P of one loop, and of another the five stages for each call."""
    _, events = outcome("unroll")
    names = [e.step for e in events if e.at == "UNKNOWN"]
    order = ["B eligible", "C latch", "D nounroll", "header", "forward", "backward",
             "ScanLoopBody", "G remaining cost", "H override", "J fetches of an outer loop",
             "AnalyzeIV", "ValidateIV", "ExtractBound", "bound block", "VerifyStride",
             "stride sign", "N constant count", "E hot", "K1 texture budget",
             "K2-K4 factor, count unknown", "L knob", "swap", "predicates", "O budget",
             "overflow guard", "O full", "P rounds", "verdict"]
    first = names[: names.index("verdict") + 1]
    assert [n for n in first if n in order] == order
    _, events = outcome("hoist")
    names = [e.step for e in events if e.at == "CHAIN"]
    start = names.index("1 budget")
    assert names[start: start + 5] == ["1 budget", "2 forward", "3 backward", "4 transitive",
                                       "5 profit"]


def test_an_event_says_row_inputs_and_outcome():
    _, events = outcome("pipeline")
    found = next(e for e in events if e.row == "SWP-07" and e.at == "LOADS")
    assert str(found) == "SWP-07 4 MII (res_mii 4): 4"
    ctx = Context(nvir.read_ptx(FIXTURES / "steps.ptx"), Knobs(policy="documented"))
    ctx.options = loop_unroll.Options()
    rules_of(ctx)  # nobody listens: nothing is kept
    with Trace() as empty:
        pass
    assert not empty
