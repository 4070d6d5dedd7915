"""Placement by slack, shortened lives, and the exact answer of CP-SAT on pipes with intervals."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path

import pytest

import nvir
from nvir.ir.errors import NvirError
from nvir.ir.loops import natural_loops
from nvir.sm import profile
from nvir.sm.exchange import Exchange
from nvir.sm.live_bound import least_lives
from nvir.sm.loopgraph import LoopGraph, loop_graph
from nvir.sm.pipeline import LoopSchedule, check_pipes, schedule_loop
from nvir.sm.pipes_cpsat import least_live, solve
from nvir.sm.schedule.lifetimes import max_live_bound, measure, values_of
from nvir.sm.slack import Shortener, Table, distances, place

EXAMPLES = Path(__file__).parents[2] / "examples" / "ptx"
solver = pytest.mark.skipif(
    importlib.util.find_spec("ortools") is None, reason="needs OR-tools (extra `solve`)"
)


def graph_of(name: str, header: str, arch: str = "sm_80") -> LoopGraph:
    module = nvir.read_ptx(EXAMPLES / f"{name}.ptx")
    for f in module.functions:
        f.analyze_cfg()
        for loop in natural_loops(f):
            if loop.header.name == header:
                return loop_graph(loop, profile(arch))
    raise AssertionError(header)


def random_graph(seed: int) -> LoopGraph:
    """The graph of a random loop of arithmetic and loads."""
    rng = random.Random(seed)
    body = []
    for _ in range(rng.randrange(4, 18)):
        d, a, b = (f"%f{rng.randrange(1, 8)}" for _ in range(3))
        body.append(rng.choice((
            f"fma.rn.f32 {d}, {a}, {b}, {d};", f"add.f32 {d}, {a}, {b};",
            f"ex2.approx.ftz.f32 {d}, {a};",
            f"ld.global.nc.f32 {d}, [%rd1+{4 * rng.randrange(9)}];",
            f"cvt.rzi.s32.f32 %r3, {a}; cvt.rn.f32.s32 {d}, %r3;",
        )))
    text = (".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a) {\n"
            ".reg .pred %p<2>; .reg .f32 %f<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
            "ld.param.u64 %rd1, [a]; mov.u32 %r1, 0;\n"
            + "".join(f"mov.f32 %f{k}, 0f3F800000;\n" for k in range(1, 9))
            + "L:\n" + "\n".join(body) + "\nadd.s64 %rd1, %rd1, 64; add.u32 %r1, %r1, 1;\n"
            "setp.lt.u32 %p1, %r1, 99; @%p1 bra L;\n"
            + "".join(f"st.global.f32 [%rd1+{4 * k}], %f{k};\n" for k in range(1, 9))
            + "ret; }\n")
    f = nvir.read_ptx(text).functions[0]
    f.analyze_cfg()
    return loop_graph(natural_loops(f)[0], profile("sm_80"))


def valid(found: LoopGraph, ii: int, times: list[int], pipes: list[str]) -> bool:
    made = schedule_loop(found)
    checked = LoopSchedule(
        found, made.bounds, made.resources, ii, tuple(times), tuple(pipes), made.lifetimes
    )
    return check_pipes(checked) is None


@pytest.mark.parametrize("seed", range(12))
def test_placements_are_schedules(seed: int) -> None:
    found = random_graph(seed)
    values = values_of(found.graph, found.register_edges, found.sizes)
    ii = schedule_loop(found).ii
    made = place(found, ii, values, range(2)) or place(found, ii + 2, values, range(2))
    assert made is not None
    live, times, pipes = made
    used = ii if valid(found, ii, times, pipes) else ii + 2
    assert valid(found, used, times, pipes)
    assert live == measure(values, used, times).max_live


def test_distances_tell_what_recurrences_ask_for() -> None:
    found = graph_of("horner.sm_80", "$L__BB0_7")
    rec = schedule_loop(found).rec_mii
    assert distances(found, rec - 1) is None
    d = distances(found, rec)
    assert d is not None
    assert all(d[n, n] == 0 for n in range(len(found.operations)))
    for src, dst, latency, distance in found.graph.edges:
        assert d[src, dst] >= latency - distance * rec


@pytest.mark.parametrize("seed", range(6))
def test_shortened_lives_are_not_longer(seed: int) -> None:
    found = random_graph(seed)
    made = schedule_loop(found)
    values = values_of(found.graph, found.register_edges, found.sizes)
    table = Table.of(found, made.ii, made.times, made.pipe)
    assert table is not None
    work = Shortener(found, made.ii, made.times, table, values)
    live, times, pipes = work.run()
    assert live <= made.max_live
    assert valid(found, made.ii, times, pipes)


@pytest.mark.parametrize("seed", range(4))
def test_exchanged_operations_are_a_schedule_of_fewer_registers(seed: int) -> None:
    found = random_graph(seed)
    made = schedule_loop(found, registers=False)
    values = values_of(found.graph, found.register_edges, found.sizes)
    table = Table.of(found, made.ii, made.times, made.pipe)
    assert table is not None
    work = Exchange(found, made.ii, made.times, table, values)
    live, times, pipes = work.run()
    assert live == measure(values, made.ii, times).max_live <= made.max_live
    assert live == max(work.live)
    first = min(times)
    assert valid(found, made.ii, [t - first for t in times], pipes)


def test_exchange_works_where_every_slot_is_taken() -> None:
    """Nothing can move alone there; the sum of lives of this one is that of the exact solver."""
    found = graph_of("histogram.sm_80", "$L__BB0_7")
    made = schedule_loop(found, registers=False)
    assert made.ii == len(found.operations)
    values = values_of(found.graph, found.register_edges, found.sizes)
    table = Table.of(found, made.ii, made.times, made.pipe)
    assert table is not None
    work = Exchange(found, made.ii, made.times, table, values)
    before = sum(work.lives)
    live, _, _ = work.run()
    assert live == 8 < made.max_live
    assert sum(work.lives) == 81 < before


@solver
@pytest.mark.parametrize("seed", range(5))
def test_bounds_of_registers_hold(seed: int) -> None:
    """The linear program's bound lies between that of dependences and the proven least."""
    found = random_graph(seed)
    made = schedule_loop(found)
    values = values_of(found.graph, found.register_edges, found.sizes)
    cuts = -(-least_lives(found, made.ii, values) // made.ii)
    flow = max_live_bound(found.graph, made.ii, values)
    assert flow <= cuts <= made.max_live
    assert least_live(found, made.ii, values, 0.5, made.times) <= made.max_live


@solver
def test_cuts_know_slots_and_pipes() -> None:
    found = graph_of("softmax.sm_80", "$L__BB0_2")
    values = values_of(found.graph, found.register_edges, found.sizes)
    assert max_live_bound(found.graph, 18, values) == 6
    assert least_lives(found, 18, values) == 111  # which the exact solver proves to be the least
    assert schedule_loop(found).max_live == 7


@solver
def test_the_fullest_slot_is_proven() -> None:
    """The sum of lives would fit 9 registers; no schedule has fewer than 10 in its fullest slot."""
    found = graph_of("horner.sm_80", "$L__BB0_4")
    made = schedule_loop(found)
    values = values_of(found.graph, found.register_edges, found.sizes)
    assert -(-least_lives(found, made.ii, values) // made.ii) <= 9
    assert least_live(found, made.ii, values, 2.0, made.times) == made.max_live == 10


@pytest.mark.parametrize(("name", "header", "ii"), [
    ("blur_texture.sm_80", "$L__BB0_9", 32), ("horner.sm_80", "$L__BB0_7", 24),
    ("grid_barrier.sm_80", "$L__BB0_4", 50),
])
def test_intervals_that_eviction_alone_missed(name: str, header: str, ii: int) -> None:
    assert schedule_loop(graph_of(name, header)).ii == ii


@solver
@pytest.mark.parametrize(("header", "first", "open_"), [("$L__BB0_2", 42, (39, 40, 41))])
def test_cpsat_proves_what_cannot_be(header: str, first: int, open_: tuple[int, ...]) -> None:
    found = graph_of("saxpy.sm_80", header)
    for ii in open_:
        assert solve(found, ii, 2.0)[0] is False
    verdict, times, pipes = solve(found, first, 2.0)
    assert verdict is True
    assert valid(found, first, times, pipes)
    made = schedule_loop(found, solver="cpsat")
    assert (made.mii, made.lower_bound, made.ii) == (39, 42, 42)
    assert made.optimal


@solver
@pytest.mark.parametrize("seed", range(8))
def test_own_intervals_are_those_of_the_exact_solver(seed: int) -> None:
    found = random_graph(seed)
    made = schedule_loop(found)
    for ii in range(made.mii, made.ii):
        assert solve(found, ii, 2.0)[0] is False


@solver
def test_cpsat_shortens_lives() -> None:
    found = graph_of("softmax.sm_80", "$L__BB0_9")
    values = values_of(found.graph, found.register_edges, found.sizes)
    made = schedule_loop(found)
    verdict, times, pipes = solve(found, made.ii, 3.0, hint=made.times, values=values)
    assert verdict is True
    assert valid(found, made.ii, times, pipes)
    assert measure(values, made.ii, times).max_live <= made.max_live


def test_bad_solvers_are_refused() -> None:
    with pytest.raises(NvirError, match="solver"):
        schedule_loop(random_graph(1), solver="magic")
