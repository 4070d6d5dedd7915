"""How much work a report is: counts, which no busy machine changes, instead of seconds."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nvir
from benchmarks import limits
from nvir.analysis import affine, alias, liveness, pressure
from nvir.assembler.unroll import decide
from nvir.ir.function import Function
from nvir.ir.loops import natural_loops
from nvir.report import report
from nvir.report.explain import decisions
from nvir.report.explain.loop import explain, hottest
from nvir.report.facts import unrolling
from nvir.report.html.page import html_report
from nvir.report.lines import line_listing
from nvir.report.model import machine_for
from nvir.sm.profile import profile_for
from nvir.sm.schedule import driver
from nvir.sm.simulate import engine
from tests.effort import effort

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "ptx"
EMPTY = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(){ ret; }\n"
LOOP = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n){
.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>; .reg .f32 %f<9>;
ld.param.u64 %rd1,[a]; ld.param.u32 %r1,[n]; mov.u32 %r2, 0;
L: ld.global.f32 %f1,[%rd1]; add.f32 %f1,%f1,%f1; st.global.f32 [%rd1],%f1;
add.s64 %rd1,%rd1,4; add.s32 %r2,%r2,1; setp.lt.s32 %p1,%r2,%r1; @%p1 bra L;
ret; }
"""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts what is made while a test runs, by name."""
    found: Counter[str] = Counter()

    def count(owner: Any, name: str, label: str) -> None:
        real = getattr(owner, name)

        def counted(*args: Any, **named: Any) -> Any:
            found[label] += 1
            return real(*args, **named)

        monkeypatch.setattr(owner, name, counted)

    count(sys.modules["nvir.assembler.regalloc.predict"], "_predict", "predictions")
    count(driver, "modulo_schedule", "schedules")
    count(sys.modules["nvir.sm.schedule.loops"], "modulo_schedule", "schedules")
    count(alias.AliasAnalysis, "__init__", "alias")
    count(affine.AffineForms, "__init__", "affine")
    count(liveness.Liveness, "__init__", "liveness")
    count(pressure.RegisterPressure, "__init__", "pressure")
    count(Function, "analyze_cfg", "cfg")
    count(decisions, "clone_function", "copies")
    count(engine, "simulate", "simulations")
    count(decide, "body_cost", "body costs")
    return found


def modules_of(ptx: Path, *words: str) -> set[str]:
    """The modules that a report of a file loads."""
    code = ("import sys\nfrom nvir.cli import main\n"
            "main(['report', *sys.argv[1:]], standalone_mode=False)\n"
            "print('LOADED', *sys.modules)")
    run = subprocess.run([sys.executable, "-c", code, str(ptx), *words], capture_output=True,
                         text=True, check=True)
    return set(run.stdout.split("LOADED", 1)[1].split())


@pytest.mark.parametrize("name", ["gemm_mma.sm_80.ptx", "horner.sm_80.ptx", "sgemm.sm_80.ptx"])
def test_a_report_makes_everything_once_and_no_schedule(name: str, made: Counter[str]) -> None:
    module = nvir.read_ptx(EXAMPLES / name)
    bodies = [f for f in module.functions if f.blocks]
    made.clear()
    report(module)
    assert made["schedules"] == 0
    assert made["predictions"] == len(bodies)
    assert made["liveness"] == len(bodies)
    assert made["pressure"] == len(bodies)
    assert made["alias"] <= len(bodies)
    assert made["affine"] <= len(bodies)
    assert made["cfg"] <= 2 * len(bodies)


def test_schedules_are_made_where_they_are_asked_for(made: Counter[str]) -> None:
    module = nvir.read_ptx(EXAMPLES / "horner.sm_80.ptx")
    loops = [x for f in report(module, schedule=True).functions for x in f.loops]
    assert made["schedules"] == sum(x.pipeline.ii is not None for x in loops) > 0
    bounds = [x for f in report(module).functions for x in f.loops]
    for a, b in zip(loops, bounds, strict=True):
        assert (a.pipeline.mii, a.pipeline.bottleneck) == (b.pipeline.mii, b.pipeline.bottleneck)
        assert a.pipeline.recurrence == b.pipeline.recurrence
        assert b.pipeline.ii is None
        if a.pipeline.ii is not None:
            assert b.pipeline.reason == "not scheduled; nvir schedule"


def test_pages_use_what_the_report_was_made_of(made: Counter[str]) -> None:
    module = nvir.read_ptx(EXAMPLES / "horner.sm_80.ptx")
    bodies = [f for f in module.functions if f.blocks]
    machine = profile_for("sm_80")
    html_report(report(module, keep=True), module, machine)
    assert made["predictions"] == len(bodies)
    assert made["schedules"] == 0
    made.clear()
    for f in bodies:
        line_listing(f, module)
    assert made["predictions"] == len(bodies)
    assert made["schedules"] == 0


def test_only_the_named_kernel_is_looked_at(made: Counter[str]) -> None:
    module = nvir.read_ptx(EXAMPLES / "horner.sm_80.ptx")
    name = next(str(f.name) for f in module.functions if f.blocks)
    found = report(module, kernel=name)
    assert [f.name for f in found.functions] == [name]
    assert made["predictions"] == 1


def test_an_explanation_schedules_its_own_loop_alone(made: Counter[str]) -> None:
    module = nvir.read_ptx(EXAMPLES / "horner.sm_80.ptx")
    f = next(f for f in module.functions if f.blocks)
    f.analyze_cfg()
    loop = hottest(f)
    assert loop is not None
    page = explain(f, loop, module, machine_for(None, module.target, "", []))
    rows = sum(r.ii is not None and r.factor != 1 for r in page.factors)
    assert made["schedules"] <= 2 + rows  # its own, maybe that of a cleaned copy, larger factors
    asked = sum(len(d.read) for d in page.decisions)
    assert 0 < made["copies"] < asked  # most questions are answered by a copy that is there
    streams = 2 * len(page.factors) + 1  # each factor with few and many warps, and the schedule
    assert made["simulations"] <= streams + 5  # five for depths of pipelining
    assert made["body costs"] <= len(natural_loops(f)) * made["copies"]  # whatever the knobs


def test_the_loops_of_a_nest_are_weighed_inside_out() -> None:
    """A loop around one that stays is not weighed: four times as deep, four times the work. Where
    a loop's place is not told, none is looked for in every other loop."""

    def work(text: str, action: Callable[[nvir.Module], object]) -> int:
        module = nvir.read_ptx(text)
        return effort(lambda: action(module))

    def decided(module: nvir.Module) -> object:
        return unrolling(module.functions[0], module, "sm_80", "observed")

    assert work(limits.nest(64), decided) < 4 * 1.5 * work(limits.nest(16), decided)
    assert work(limits.loops(64), report) < 4 * 1.3 * work(limits.loops(16), report)


def test_a_report_of_little_loads_little(tmp_path: Path) -> None:
    empty, loop = tmp_path / "empty.ptx", tmp_path / "loop.ptx"
    empty.write_text(EMPTY)
    loop.write_text(LOOP)
    heavy = {"rich", "numpy", "networkx", "fractions", "decimal", "nvir.ptx.printer",
             "nvir.passes.driver", "nvir.passes.pipeline", "nvir.assembler.regalloc.allocation",
             "nvir.sm.schedule.driver", "nvir.sm.simulate", "nvir.ir.clone"}
    for_loops = {"nvir.passes.context", "nvir.analysis.alias", "nvir.assembler.unroll.decide"}
    found = modules_of(empty)
    assert not (heavy | for_loops) & found
    assert not heavy & modules_of(loop)
    assert for_loops <= modules_of(loop)


def test_a_pass_is_imported_when_it_is_asked_for() -> None:
    code = ("import sys\nfrom nvir.passes.registry import all_passes\n"
            "rows = all_passes()\nassert 'nvir.passes.scalar.gvn' not in sys.modules\n"
            "rows['gvn'].run\nassert 'nvir.passes.scalar.gvn' in sys.modules\n"
            "assert 'nvir.passes.loop.licm' not in sys.modules\n")
    subprocess.run([sys.executable, "-c", code], check=True)
