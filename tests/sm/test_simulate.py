"""The cycle simulator: one warp exactly, several by bounds, memory, barriers, the trace."""

from __future__ import annotations

import importlib.util
import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nvir
from nvir.ir.loops import natural_loops
from nvir.sm.loopgraph import loop_graph
from nvir.sm.profile import profile
from nvir.sm.schedule.loops import schedule_loop
from nvir.sm.simulate import (
    Memory,
    Simulation,
    Stream,
    Wait,
    least_cycles,
    loop_cycles,
    loop_stream,
    schedule_stream,
    simulate,
)
from nvir.sm.simulate.stream import heaviest_path, slot

SM_80 = profile("sm_80")
KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{{
 .reg .pred %p<9>; .reg .b32 %r<99>; .reg .f32 %f<99>; .reg .b64 %rd<9>;
 .shared .align 4 .b8 s[4096];
 ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; cvta.to.global.u64 %rd2, %rd1;
 ld.global.f32 %f1, [%rd2]; ld.global.f32 %f2, [%rd2+4]; ld.global.f32 %f3, [%rd2+8];
 ld.global.u32 %r11, [%rd2+16];
 mov.u32 %r2, 0;
L:
{body}
 add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra L;
 st.global.f32 [%rd2], %f1; st.global.u32 [%rd2+16], %r11;
 ret;
}}
"""


def loop_of(body: str) -> nvir.ir.loops.Loop:
    function = nvir.read_ptx(KERNEL.format(body=body)).functions[0]
    function.analyze_cfg()
    return natural_loops(function)[0]


def stream_of(body: str, order: str = "source") -> Stream:
    return loop_stream(loop_of(body), SM_80, order=order)


def chain(*names: str, distance: int = 0) -> Stream:
    """Operations of which each reads the one before; the last closes the loop."""
    slots = []
    for n, name in enumerate(names):
        waits = []
        if n:
            waits.append(Wait(n - 1, distance, SM_80.latency(names[n - 1], name)))
        kind = "branch" if name == "BRA" else "math"
        slots.append(slot(SM_80, name, waits, kind=kind))
    return Stream(SM_80, tuple(slots))


def test_a_chain_of_fma_takes_four_cycles_each() -> None:
    body = " fma.rn.f32 %f1, %f1, %f2, %f3;\n" * 8
    # Eight dependent FFMA at 4, then IADD 5 behind the last's pipe, ISETP, guard 13, branch 5.
    plain = simulate(stream_of(body, "list")).cycles_per_iteration
    longer = simulate(stream_of(body + " fma.rn.f32 %f1, %f1, %f2, %f3;\n", "list"))
    assert longer.cycles_per_iteration - plain == 4


def test_the_order_of_issue_decides() -> None:
    body = " fma.rn.f32 %f1, %f1, %f2, %f3;\n xor.b32 %r11, %r11, %r2;"
    written = simulate(stream_of(body)).cycles_per_iteration
    ordered = simulate(stream_of(body, "list")).cycles_per_iteration
    assert ordered == 23  # IADD on the full pipe 5, ISETP 13, BRA 5: the rest hides behind them
    assert written > ordered


def test_one_warp_is_exact_and_says_why() -> None:
    run = simulate(stream_of(" fma.rn.f32 %f1, %f1, %f2, %f3;", "list"), iterations=16)
    assert run.cycles_per_iteration == 22
    assert run.main_stall == "wait"
    issues = run.stalls["selected"] / 8  # the middle half of 16 iterations
    assert issues == 4
    assert sum(run.stalls.values()) == 22 * 8


def test_warps_fill_the_gaps_up_to_the_issue_slots() -> None:
    stream = stream_of(" fma.rn.f32 %f1, %f1, %f2, %f3;", "list")
    one = simulate(stream).cycles_per_iteration
    four = simulate(stream, warps=4).cycles_per_iteration
    sixteen = simulate(stream, warps=16)
    assert four < 2 * one
    assert sixteen.cycles_per_warp_iteration >= len(stream.slots)  # one issue a cycle
    assert sixteen.cycles_per_warp_iteration < 1.2 * len(stream.slots)
    assert sixteen.utilisation["issue"] > 0.8


def test_a_pipe_that_is_full_throttles() -> None:
    body = "\n".join(f" fma.rn.f32 %f{n}, %f{n}, %f{n}, %f{n};" for n in (1, 2, 3)) * 4
    run = simulate(stream_of(body), warps=8)
    assert run.cycles_per_warp_iteration == pytest.approx(12 * 2, rel=0.1)
    assert run.utilisation["FMA"] > 0.9
    assert run.main_stall == "math_pipe_throttle"


def test_memory_levels_cost_their_latency() -> None:
    body = " ld.global.f32 %f2, [%rd2];\n add.f32 %f1, %f1, %f2; add.s64 %rd2, %rd2, 4;"
    stream = stream_of(body)
    cycles = [simulate(stream, memory=m).cycles_per_iteration for m in ("l1", "l2", "dram")]
    assert cycles[1] - cycles[0] == 200 - 33
    assert cycles[2] - cycles[1] == 290 - 200
    assert simulate(stream, memory="dram").main_stall == "long_scoreboard"
    half = simulate(stream, memory=Memory({"l1": 1, "dram": 1}), iterations=64)
    assert cycles[0] < half.cycles_per_iteration < cycles[2]
    assert half.cycles_per_iteration == pytest.approx((cycles[0] + cycles[2]) / 2, rel=0.1)


def test_bandwidth_bounds_many_warps() -> None:
    body = " ld.global.f32 %f2, [%rd2];\n add.f32 %f1, %f1, %f2; add.s64 %rd2, %rd2, 4;"
    run = simulate(stream_of(body), warps=16, memory="dram")
    figures = SM_80.memory
    share = figures["dram_bytes_per_cycle"] / SM_80.limits.subpartitions
    assert run.cycles_per_warp_iteration == pytest.approx(128 / share, rel=0.05)
    scattered = simulate(stream_of(body), warps=16, memory=Memory("dram", sectors=32))
    assert scattered.cycles_per_iteration > 6 * run.cycles_per_iteration


def test_a_barrier_holds_the_warps_of_a_block_together() -> None:
    run = simulate(stream_of(" bar.sync 0;\n xor.b32 %r11, %r11, %r2;"), warps=4, timeline=True)
    barrier = run.names.index(next(n for n in run.names if n.startswith("BAR")))
    passed: dict[int, list[int]] = {}
    for e in run.events:
        if e.slot == barrier:
            passed.setdefault(e.iteration, []).append(e.start)
    behind = [e for e in run.events if e.slot == barrier + 1]
    for e in behind:
        assert e.start > max(passed[e.iteration])
    assert run.stalls["barrier"] > 0
    free = simulate(stream_of(" bar.sync 0;"), warps=4, warps_per_block=1)
    assert free.stalls["barrier"] == 0


def test_of_several_blocks_the_heaviest_way_counts() -> None:
    body = """ and.b32 %r5, %r2, 1; setp.eq.s32 %p2, %r5, 0; @%p2 bra EVEN;
 mad.lo.s32 %r11, %r11, %r2, %r11; xor.b32 %r11, %r11, %r2; shl.b32 %r11, %r11, 1;
 bra NEXT;
EVEN:
 xor.b32 %r11, %r11, %r2;
NEXT:"""
    loop = loop_of(body)
    assert len(loop.blocks) == 4
    path = heaviest_path(loop)
    assert len(path) == 3
    assert any(i.form.name == "mad" for b in path for i in b)
    run = simulate(loop_stream(loop, SM_80))
    assert run.cycles_per_iteration > 22


def test_a_loop_that_holds_another_is_told() -> None:
    body = """ mov.u32 %r5, 0;
INNER: add.s32 %r5, %r5, 1; setp.lt.s32 %p2, %r5, %r1; @%p2 bra INNER;"""
    outer = [x for x in natural_loops(loop_of(body).header.function) if len(x.blocks) > 1]
    with pytest.raises(nvir.Unsupported, match="holds another"):
        loop_stream(outer[0], SM_80)


def test_a_modulo_schedule_runs_at_its_interval() -> None:
    body = "\n".join(
        f" ld.global.f32 %f{n}, [%rd2+{4 * n}]; fma.rn.f32 %f1, %f{n}, %f2, %f1;"
        for n in range(10, 16)
    )
    schedule = schedule_loop(loop_graph(loop_of(body + " add.s64 %rd2, %rd2, 64;"), SM_80))
    run = simulate(schedule_stream(schedule), iterations=32)
    # In a loop the way back costs its guard and branch; nothing else is lost.
    assert schedule.ii <= run.cycles_per_iteration <= schedule.ii + 13 + 5


def test_the_trace_is_one_that_browsers_read() -> None:
    run = simulate(stream_of(" xor.b32 %r11, %r11, %r2;"), warps=2, iterations=4, timeline=True)
    rows = json.loads(run.chrome_trace())["traceEvents"]
    issues = [r for r in rows if r["ph"] == "X" and r["pid"] == 0]
    assert len(issues) == 2 * 4 * len(run.names)
    assert {r["tid"] for r in issues} == {0, 1}
    busy = [r for r in rows if r["ph"] == "X" and r["pid"] == 1]
    for pipe in {r["tid"] for r in busy}:
        times = sorted((r["ts"], r["ts"] + r["dur"]) for r in busy if r["tid"] == pipe)
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(times))


@pytest.mark.parametrize(
    "options",
    [{"warps": 0}, {"iterations": 3}, {"memory": "l9"}, {"warps": 64, "iterations": 10**6}],
)
def test_figures_out_of_range_are_told(options: dict[str, object]) -> None:
    with pytest.raises(nvir.NvirError):
        simulate(chain("FADD", "BRA"), **options)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(["FADD", "FFMA", "LOP3", "IADD3", "IMAD", "MUFU", "SHF"]), min_size=1,
             max_size=12),
    st.integers(1, 6),
    st.sampled_from([4, 8, 12]),
)
def test_bounds_hold(names: list[str], warps: int, iterations: int) -> None:
    """No faster than the issue slots, the pipes and one warp alone; stalls add up."""
    stream = chain(*names, "BRA")
    run = simulate(stream, warps=warps, iterations=iterations, timeline=True)
    alone = simulate(stream, iterations=iterations).cycles_per_iteration
    busy: dict[str, int] = {}
    for s in stream.slots:
        if len(s.pipes) == 1:
            busy[s.pipes[0]] = busy.get(s.pipes[0], 0) + s.interval
    floor = max(len(stream.slots), *busy.values())
    assert len(run.events) == warps * iterations * len(stream.slots)
    starts = sorted(e.start for e in run.events)
    assert len(set(starts)) == len(starts)  # one issue a cycle
    assert run.cycles >= warps * iterations * floor - max(s.interval for s in stream.slots)
    assert run.cycles_per_iteration <= alone * warps + 1e-9
    for e in run.events:
        for wait in stream.slots[e.slot].waits:
            source = next(
                x for x in run.events
                if (x.warp, x.slot, x.iteration) == (e.warp, wait.slot, e.iteration)
            )
            assert e.start >= source.start + wait.cycles


@pytest.mark.oracle
def test_one_warp_takes_the_cycles_that_ptxas_encodes() -> None:
    place = Path(__file__).parents[2] / "benchmarks" / "simulate.py"
    spec = importlib.util.spec_from_file_location("simulate_benchmark", place)
    assert spec is not None
    assert spec.loader is not None
    campaign = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(campaign)
    rows = campaign.compare(40, 5, "sm_80")
    assert len(rows) >= 30
    assert [r for r in rows if r[1] != r[2]] == []
    assert sum(abs(r[3] - r[1]) <= 0.1 * r[1] for r in rows) >= 0.85 * len(rows)


# ------------------------------------------------------------- repetition and bounds

BODIES = {
    "memory": " ld.global.f32 %f4, [%rd2]; fma.rn.f32 %f1, %f4, %f2, %f1;\n",
    "shared": " ld.shared.f32 %f4, [s]; st.shared.f32 [s+4], %f4; fma.rn.f32 %f1, %f4, %f2, %f1;\n",
    "barrier": " ld.global.f32 %f4, [%rd2]; st.shared.f32 [s], %f4; bar.sync 0;\n"
               " ld.shared.f32 %f5, [s]; add.f32 %f1, %f1, %f5; bar.sync 0;\n",
    "math": " fma.rn.f32 %f1, %f1, %f2, %f3; mul.lo.s32 %r11, %r11, %r2;\n"
            " ex2.approx.f32 %f2, %f2;\n",
}


def figures(run: Simulation) -> tuple[object, ...]:
    return run.cycles, run.cycles_per_iteration, run.stalls, run.utilisation


@pytest.mark.parametrize("warps", [1, 3, 8, 16])
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("memory", ["l1", "l2", "dram"])
def test_added_periods_are_what_would_have_been_simulated(
    body: str, warps: int, memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = stream_of(BODIES[body], "list")
    given_ = {"warps": warps, "iterations": 24, "warps_per_block": 4, "memory": memory}
    added = simulate(stream, **given_)
    without = simulate(stream, **given_, stalls=False)
    monkeypatch.setattr("nvir.sm.simulate.engine.Repetition.of", lambda run: None)
    run = simulate(stream, **given_)
    assert figures(added) == figures(run)
    assert without.cycles_per_iteration == run.cycles_per_iteration


def test_a_repetition_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from nvir.sm.simulate.engine import Run

    runs = []
    run = Run.run
    monkeypatch.setattr(Run, "run", lambda self: (runs.append(self), run(self))[1])
    stream = stream_of(BODIES["memory"], "list")
    simulate(stream, warps=16, iterations=64, memory="l2", stalls=False)
    assert runs[0].issues < 16 * 8 * len(stream.slots)


def test_streams_that_are_alike_are_simulated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    given_ = {"warps": 5, "iterations": 12, "memory": "l2"}
    first = loop_cycles(stream_of(BODIES["memory"]), **given_)
    monkeypatch.setattr("nvir.sm.simulate.engine.simulate", None)
    assert loop_cycles(stream_of(BODIES["memory"]), **given_) == first
    with pytest.raises(TypeError):
        loop_cycles(stream_of(BODIES["memory"] * 2), **given_)


@pytest.mark.parametrize("warps", [4, 16])
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("name", ["sm_80", "sm_80_notes", "sm_90"])
def test_no_run_is_faster_than_the_bound(body: str, warps: int, name: str) -> None:
    machine = profile(name)
    stream = loop_stream(loop_of(BODIES[body]), machine)
    least = least_cycles(stream.slots, machine, Memory("l2"))
    found = simulate(stream, warps=warps, iterations=64, memory="l2").cycles_per_warp_iteration
    assert found >= least * 0.98


def test_memory_decides_the_bound_where_it_is_slowest() -> None:
    stream = stream_of(BODIES["memory"])
    assert least_cycles(stream.slots, SM_80, Memory("l2")) == 8  # 128 of 16 bytes a cycle
    assert least_cycles(stream.slots[1:], SM_80, Memory("l2")) < 8
