"""Pictures of a modulo schedule say what the schedule says."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner

import nvir
from nvir.cli import main
from nvir.ir.loops import natural_loops
from nvir.report.schedule.svg import colour, lifetimes_text, schedule_svg, schedule_trace
from nvir.sm import profile
from nvir.sm.loopgraph import loop_graph
from nvir.sm.schedule.loops import LoopSchedule, schedule_loop

EXAMPLES = Path(__file__).parents[2] / "examples" / "ptx"
NAMES = [("softmax.sm_80", "$L__BB0_9"), ("mandelbrot.sm_80", "$L__BB0_3")]


def schedule_of(name: str, header: str) -> LoopSchedule:
    f = nvir.read_ptx(EXAMPLES / f"{name}.ptx").functions[0]
    f.analyze_cfg()
    loop = next(x for x in natural_loops(f) if x.header.name == header)
    return schedule_loop(loop_graph(loop, profile("sm_80")))


@pytest.mark.parametrize(("name", "header"), NAMES)
def test_the_svg_has_each_operation_in_the_colour_of_its_stage(name: str, header: str) -> None:
    made = schedule_of(name, header)
    root = ET.fromstring(schedule_svg(made, name))
    space = "{http://www.w3.org/2000/svg}"
    titled = {}
    for rect in root.iter(f"{space}rect"):
        title = rect.find(f"{space}title")
        if title is not None and title.text is not None:
            titled.setdefault(title.text, []).append(rect)
    for n, op in enumerate(made.graph.operations):
        t = made.times[n]
        own = [k for k in titled if k.startswith(f"{op.family}:") and f"(cycle {t}," in k]
        assert own
        for rect in titled[own[0]]:
            assert rect.get("fill") == colour(t // made.ii)
    live = [k for k in titled if re.search(r": \d+$", k)]
    assert live


def test_boxes_wrap_at_the_end_of_the_kernel() -> None:
    made = schedule_of(*NAMES[1])
    over = [n for n, t in enumerate(made.times)
            if made.pipe[n] and t % made.ii + made.graph.interval[n] > made.ii]
    height = 64 + 18 * made.ii
    root = ET.fromstring(schedule_svg(made, "m"))
    for rect in root.iter("{http://www.w3.org/2000/svg}rect"):
        if rect.get("y") is not None and rect.get("rx") is not None:
            assert float(rect.get("y", 0)) + float(rect.get("height", 0)) <= height
    assert over or made.ii > 1


def test_the_trace_starts_an_iteration_each_interval() -> None:
    made = schedule_of(*NAMES[0])
    events = json.loads(schedule_trace(made, 3))["traceEvents"]
    issued = [e for e in events if e["ph"] == "X" and e["tid"] == 0]
    assert len(issued) == 3 * len(made.times)
    for n, t in enumerate(made.times):
        starts = sorted(e["ts"] for e in issued if e["args"]["node"] == n)
        assert starts == [t, t + made.ii, t + 2 * made.ii]


def test_lifetimes_as_text_add_up() -> None:
    made = schedule_of(*NAMES[0])
    lines = lifetimes_text(made).splitlines()[1:-1]
    sums = [0] * made.ii
    for line in lines:
        for s, c in enumerate(line[-made.ii :]):
            sums[s] += 0 if c == "·" else int(c)
    assert max(sums) <= made.max_live
    assert lifetimes_text(made).endswith(f"MaxLive {made.max_live}\n")


def test_the_command_draws(tmp_path: Path) -> None:
    file = str(EXAMPLES / "softmax.sm_80.ptx")
    run = CliRunner().invoke
    picture = tmp_path / "s.svg"
    common = ["schedule", file, "--loop", "$L__BB0_9"]
    assert run(main, [*common, "-o", str(picture)]).exit_code == 0
    assert picture.read_text().startswith("<svg")
    assert json.loads(run(main, [*common, "--trace"]).output)["traceEvents"]
    assert "MaxLive" in run(main, [*common, "--lifetimes"]).output.splitlines()[-1]
    assert run(main, [*common, "--svg"]).output.startswith("<svg")
