"""Modulo schedules on pipes with intervals: placement, short lives, bounds, CP-SAT's answers."""

from __future__ import annotations

import importlib.util
import itertools
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

import nvir
from nvir.ir.errors import NvirError
from nvir.ir.loops import natural_loops
from nvir.sm import DependenceGraph, check_schedule, profile
from nvir.sm.loopgraph import LoopGraph, loop_graph
from nvir.sm.mii import minimum_ii
from nvir.sm.schedule import intervals
from nvir.sm.schedule.anneal import Annealer, Slots, SteepSlots
from nvir.sm.schedule.bounds import turns
from nvir.sm.schedule.cpsat import Purse, fewest_registers, solve
from nvir.sm.schedule.deal import deal_anew
from nvir.sm.schedule.ims import place_by_height, weights_at
from nvir.sm.schedule.intervals import IntervalSearch
from nvir.sm.schedule.lifetimes import Values, max_live_bound, measure, values_of
from nvir.sm.schedule.live_bound import distances, least_lives
from nvir.sm.schedule.loops import LoopSchedule, schedule_loop
from nvir.sm.schedule.reservations import ReservationTable
from nvir.sm.schedule.shorten import shorten
from nvir.sm.schedule.stages import fewest_stages, move_stages
from nvir.sm.schedule.swing import swing_modulo_schedule

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


@pytest.mark.parametrize(("third", "trade"), [(4, True), (3, False)])
def test_operations_trade_places_where_their_pipes_have_room(third: int, trade: bool) -> None:
    """A keeps a pipe busy from 0 to 3, B another for one cycle: at 1 A meets C, unless C is late"""
    graph = DependenceGraph(
        ["issue"] * 3, [], {"issue": 1}, pipes=[("P",), ("Q",), ("P",)], intervals=[3, 1, 1],
        pipe_units={"P": 1, "Q": 1},
    )
    table = ReservationTable.of(graph, 6, [0, 1, third])
    assert table is not None
    assert table.can_trade(0, 1) is trade
    assert table.can_trade(1, 0) is trade
    table.leave(0, 0)
    table.leave(1, 1)
    assert (table.put(1, 0) and table.put(0, 1)) is trade


def test_operations_without_pipes_always_trade_places() -> None:
    table = ReservationTable.of(DependenceGraph(["a", "a"], [], {"a": 1}), 2, [0, 1])
    assert table is not None
    assert table.can_trade(0, 1)


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


def values_in(found: LoopGraph) -> Values:
    return values_of(found.graph, found.register_edges, found.sizes)


def valid(found: LoopGraph, ii: int, times: list[int], pipes: list[str]) -> bool:
    first = min(times)
    return check_schedule(found.graph, ii, [t - first for t in times], pipes) == []


def total(values: Values, ii: int, times: list[int]) -> int:
    lengths = measure(values, ii, times).lengths
    return sum(a * b for a, b in zip(lengths, values.sizes, strict=True))


def table_of(made: LoopSchedule) -> ReservationTable:
    table = ReservationTable.of(made.graph.graph, made.ii, made.times, made.pipe)
    assert table is not None
    return table


@pytest.mark.parametrize("seed", range(12))
def test_placements_are_schedules(seed: int) -> None:
    """By height from both ends, and by swing with eviction; some fail, none is wrong."""
    found = random_graph(seed)
    graph = found.graph
    ii = schedule_loop(found).ii
    ways = [place_by_height(graph, ii + 2, backward=b, snug=s) for b in (0, 1) for s in (0, 1)]
    ways += [swing_modulo_schedule(graph, ii + 2, 6 * len(graph), snug=s) for s in (False, True)]
    placed = [way for way in ways if way is not None]
    assert len(placed) > 1
    for times, table in placed:
        assert valid(found, ii + 2, times, table.pipes)


@pytest.mark.parametrize("seed", range(4))
def test_a_table_finds_the_first_and_the_last_free_start(seed: int) -> None:
    """Against trying each start; and what is in the way is enough to make room."""
    rng = random.Random(seed)
    graph, ii = random_graph(seed).graph, 24
    table, times = ReservationTable(graph, ii), {}
    for n in range(len(graph)):
        t = rng.randrange(100)
        free = [c for c in range(t, t + ii) if can_start(table, n, c)]
        assert table.first(n, t) == (free[0] if free else None)
        free = [c for c in range(t, t - ii, -1) if can_start(table, n, c)]
        assert table.last(n, t) == (free[0] if free else None)
        if not table.put(n, t):
            gone = table.in_the_way(n, t)
            assert gone
            for m in gone:
                table.leave(m, times.pop(m))
            assert table.put(n, t)
        times[n] = t


def can_start(table: ReservationTable, n: int, t: int) -> bool:
    placed = table.put(n, t)
    if placed:
        table.leave(n, t)
    return placed


def test_operations_side_by_side_leave_no_gap() -> None:
    """Two of three cycles on a pipe of eight: a third must not start at 3 or 4 if 2 would do."""
    graph = DependenceGraph(
        [None] * 3, [], pipes=[("p",)] * 3, intervals=[2, 4, 2], pipe_units={"p": 1}
    )
    table = ReservationTable(graph, 8)
    assert table.put(0, 0)
    assert table.first(1, 3) == 3
    assert table.first(1, 3, snug=True) == 4
    assert table.last(1, 3, snug=True) == 2


def test_distances_tell_what_recurrences_ask_for() -> None:
    found = graph_of("horner.sm_80", "$L__BB0_7")
    rec = schedule_loop(found).rec_mii
    assert distances(found.graph, rec - 1) is None
    d = distances(found.graph, rec)
    assert d is not None
    assert all(d[n, n] == 0 for n in range(len(found.operations)))
    for src, dst, latency, distance in found.graph.edges:
        assert d[src, dst] >= latency - distance * rec


@pytest.mark.parametrize("seed", range(6))
def test_shortened_lives_are_not_longer(seed: int) -> None:
    found = random_graph(seed)
    made = schedule_loop(found, effort="interval")
    values, table = values_in(found), table_of(made)
    times = shorten(found.graph, made.ii, made.times, values, table=table, rounds=4)
    assert total(values, made.ii, times) <= total(values, made.ii, made.times)
    assert valid(found, made.ii, times, table.pipes)


@pytest.mark.parametrize("seed", range(4))
def test_exchanged_operations_are_a_schedule_of_fewer_registers(seed: int) -> None:
    found = random_graph(seed)
    made = schedule_loop(found, effort="interval")
    values, table = values_in(found), table_of(made)
    work = Annealer(found.graph, table, made.times, values, weights_at(found.graph, made.ii))
    before = sum(work.lives)
    work.shorten()
    assert sum(work.lives) <= before
    times = work.level()
    assert work.max_live == measure(values, made.ii, times).max_live
    assert valid(found, made.ii, times, table.pipes)


def test_counts_of_slots_add_up_in_one_integer() -> None:
    slots, plain = Slots(5), [0] * 5
    counts = 0
    for start, length, size in ((3, 4, 2), (7, 11, 1), (0, 0, 9), (4, 5, 300)):
        counts += size * slots.of(start, length)
        for t in range(start, start + length):
            plain[t % 5] += size
    most = max(plain)
    assert slots.crest(counts) == most * 5 + plain.count(most)
    counts -= 300 * slots.of(4, 5)
    assert slots.crest(counts) == 4 * 5 + 4


def test_slots_cost_the_square_of_what_they_hold_above_a_level() -> None:
    slots = SteepSlots(3, level=2)
    full = slots.of(0, 5) + 3 * slots.of(2, 1)  # 2, 2, 4 registers
    assert slots.crest(full) == 8 * (4 - 2) ** 2
    assert slots.crest(full - slots.of(0, 3)) == 8 * (3 - 2) ** 2
    assert slots.crest(2 * slots.each) == 0
    assert slots.crest(300 * slots.each) > 0  # more than a slot can hold is no error


@pytest.mark.parametrize("seed", range(2))
def test_long_annealing_never_holds_more_registers(seed: int) -> None:
    found = random_graph(seed)
    full, most = (schedule_loop(found, effort=effort) for effort in ("full", "most"))
    assert most.ii == full.ii
    assert most.max_live <= full.max_live
    assert valid(found, most.ii, most.times, most.pipe)


def test_long_annealing_wears_down_what_stands_out() -> None:
    """The fragments of matrices take eight registers each."""
    found = graph_of("gemm_wmma.sm_80", "$L__BB0_8")
    full, most = (schedule_loop(found, effort=effort) for effort in ("full", "most"))
    assert (full.ii, full.max_live) == (most.ii, 48)
    assert most.max_live == 46


@solver
def test_an_open_interval_is_asked_again_with_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """P is busy for 3 cycles of two operations: MII is 6, and 7 is known."""
    graph = DependenceGraph(
        [None, None], [], {}, pipes=[("P",), ("P",)], intervals=[3, 3], pipe_units={"P": 1}
    )
    asked = []

    def told(
        graph: DependenceGraph, ii: int, limit: float, seed: int, purse: Purse
    ) -> tuple[bool | None, list[int], list[str]]:
        asked.append((ii, limit))
        purse.left -= limit
        return None, [], []

    monkeypatch.setattr("nvir.sm.schedule.intervals.verdict", told)
    search = IntervalSearch(graph, 6, 4.0, True, 0)
    search.ii = 7
    search._ask_below()
    assert asked == [(6, 0.5), (6, 1.5)]


def test_exchange_works_where_every_slot_is_taken() -> None:
    """Nothing can move alone there; the sum of lives of this one is that of the exact solver."""
    found = graph_of("histogram.sm_80", "$L__BB0_7")
    made = schedule_loop(found, effort="interval")
    assert made.ii == len(found.operations)
    values, table = values_in(found), table_of(made)
    work = Annealer(found.graph, table, made.times, values, weights_at(found.graph, made.ii))
    before = sum(work.lives)
    work.shorten()
    work.level()
    assert work.max_live == 8 < made.max_live
    assert sum(work.lives) == 81 < before


@pytest.mark.parametrize("seed", range(4))
def test_stages_are_the_best_for_their_slots(seed: int) -> None:
    """Against all stages of the operations that are no further apart than four intervals."""
    rng = random.Random(seed)
    edges = [(0, 1, 3, 0), (1, 2, 4, 0), (0, 3, 2, 0), (3, 2, 1, 0), (1, 4, 2, rng.randrange(2))]
    graph = DependenceGraph([None] * 5, edges)
    values = values_of(graph, None, [rng.randint(1, 3) for _ in range(5)])
    ii, slots = 3, [rng.randrange(3) for _ in range(5)]

    def fits(times: Sequence[int]) -> bool:
        return all(times[b] - times[a] >= gap - far * ii for a, b, gap, far in edges)

    every = [
        [slot + ii * stage for slot, stage in zip(slots, stages, strict=True)]
        for stages in itertools.product(range(6), repeat=5)
    ]
    every = [times for times in every if fits(times)]
    least = min(total(values, ii, times) for times in every)
    for times in every[:: max(1, len(every) // 20)]:
        found = move_stages(graph, ii, times, values, weights_at(graph, ii)[0])
        assert fits(found)
        assert [t % ii for t in found] == slots
        assert total(values, ii, found) == least


def test_a_part_that_waits_for_others_starts_later() -> None:
    """Neither a nor c gains alone: the life of b in between would grow by as much."""
    graph = DependenceGraph([None] * 4, [(0, 1, 1, 0), (1, 2, 1, 0), (2, 3, 1, 0)])
    weights = weights_at(graph, 2)
    assert move_stages(graph, 2, [0, 1, 2, 43], values_of(graph), weights[0]) == [40, 41, 42, 43]


@pytest.mark.parametrize("seed", range(4))
def test_parts_that_no_life_holds_apart_start_together(seed: int) -> None:
    """Against all stages whose lives are no longer, value by value."""
    rng = random.Random(seed)
    edges = [(0, 1, 3, 0), (1, 2, 4, 1), (0, 3, 2, 0), (3, 2, 1, 0), (4, 2, 2, rng.randrange(2))]
    graph = DependenceGraph([None] * 5, edges)
    values = values_of(graph, [0, 2, 4], [1, 1, 1, 1, seed % 2])
    ii, slots = 3, [rng.randrange(3) for _ in range(5)]
    every = [
        [slot + ii * stage for slot, stage in zip(slots, stages, strict=True)]
        for stages in itertools.product(range(5), repeat=5)
    ]
    every = [t for t in every if all(t[b] - t[a] >= gap - d * ii for a, b, gap, d in edges)]

    def lives(times: Sequence[int]) -> list[int]:
        lengths = measure(values, ii, times).lengths
        return [a for a, size in zip(lengths, values.sizes, strict=True) if size]

    for times in every[:: max(1, len(every) // 9)]:
        found = fewest_stages(graph, ii, times, values, weights_at(graph, ii)[0])
        kept = lives(times)
        fit = [max(t) // ii for t in every
               if all(a <= b for a, b in zip(lives(t), kept, strict=True))]
        assert found in every
        assert all(a <= b for a, b in zip(lives(found), kept, strict=True))
        assert max(found) // ii == min(fit)


@pytest.mark.parametrize("seed", range(6))
def test_slots_dealt_out_anew_are_a_schedule(seed: int) -> None:
    """Each operation starts in a slot of its kind; those of recurrences where they did."""
    found = random_graph(seed)
    made = schedule_loop(found, effort="interval")
    dealt = deal_anew(
        found.graph, table_of(made), made.times, weights_at(found.graph, made.ii)
    )
    assert dealt is not None
    times, table = dealt
    assert valid(found, made.ii, times, table.pipes)
    assert sorted(t % made.ii for t in times) == sorted(t % made.ii for t in made.times)
    for members in found.graph.components:
        if len(members) > 1:
            assert len({times[n] - made.times[n] for n in members}) == 1


def test_dealing_out_untangles_a_packed_loop() -> None:
    """43 operations in 43 slots: 59 registers as they are found, 22 by trading places alone."""
    made = schedule_loop(graph_of("loop_forms.sm_80", "$L__BB4_9"))
    assert made.ii == len(made.times) == 43
    assert made.max_live < 22


@solver
@pytest.mark.parametrize("seed", range(5))
def test_bounds_of_registers_hold(seed: int) -> None:
    """The linear program's bound lies between that of dependences and the proven least."""
    found = random_graph(seed)
    made = schedule_loop(found)
    values = values_in(found)
    cuts = -(-least_lives(found.graph, made.ii, values) // made.ii)
    flow = max_live_bound(found.graph, made.ii, values)
    assert flow <= cuts <= made.max_live
    least, better = fewest_registers(found.graph, made.ii, values, 0.5, made.times, cuts)
    assert cuts <= least <= made.max_live
    if better is not None:
        assert valid(found, made.ii, better[1], better[2])
        assert least == measure(values, made.ii, better[1]).max_live < made.max_live


@solver
def test_cuts_know_slots_and_pipes() -> None:
    found = graph_of("softmax.sm_80", "$L__BB0_2")
    values = values_in(found)
    assert max_live_bound(found.graph, 18, values) == 6
    assert least_lives(found.graph, 18, values) == 111  # the exact solver proves it to be the least
    assert schedule_loop(found).max_live == 7


@solver
def test_the_fullest_slot_is_proven() -> None:
    """The sum of lives would fit 9 registers; no schedule has fewer than 10 in its fullest slot."""
    found = graph_of("horner.sm_80", "$L__BB0_4")
    made = schedule_loop(found)
    values = values_in(found)
    assert -(-least_lives(found.graph, made.ii, values) // made.ii) <= 9
    assert fewest_registers(found.graph, made.ii, values, 2.0, made.times)[0] == 10
    assert made.max_live == 10
    assert schedule_loop(found, solver="cpsat").live_bound == 10
    assert made.registers_needed() <= 9  # by own methods


@solver
def test_fewer_registers_are_found() -> None:
    """From a schedule with long lives the search goes on to one that is proven to be the best."""
    found = graph_of("softmax.sm_80", "$L__BB0_2")
    values = values_in(found)
    rough = schedule_loop(found, effort="quick")
    least, better = fewest_registers(found.graph, 18, values, 2.0, rough.times)
    assert rough.max_live > least == 7
    assert better is not None
    assert valid(found, 18, better[1], better[2])
    assert measure(values, 18, better[1]).max_live == 7
    made = schedule_loop(found)
    assert fewest_registers(found.graph, 18, values, 2.0, made.times) == (7, None)


@pytest.mark.parametrize(("name", "header", "ii"), [
    ("blur_texture.sm_80", "$L__BB0_9", 32), ("horner.sm_80", "$L__BB0_7", 24),
    ("grid_barrier.sm_80", "$L__BB0_4", 50), ("loop_forms.sm_80", "$L__BB4_3", 42),
    ("stencil.sm_80", "$L__BB0_5", 82),
])
def test_intervals_that_eviction_alone_missed(name: str, header: str, ii: int) -> None:
    assert schedule_loop(graph_of(name, header)).ii == ii


@solver
@pytest.mark.parametrize(("header", "first", "open_"), [("$L__BB0_2", 42, (39, 40, 41))])
def test_cpsat_proves_what_cannot_be(header: str, first: int, open_: tuple[int, ...]) -> None:
    found = graph_of("saxpy.sm_80", header)
    for ii in open_:
        assert solve(found.graph, ii, 2.0)[0] is False
    verdict, times, pipes = solve(found.graph, first, 2.0)
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
        assert solve(found.graph, ii, 2.0)[0] is False


@solver
def test_cpsat_shortens_lives() -> None:
    found = graph_of("softmax.sm_80", "$L__BB0_9")
    values = values_in(found)
    made = schedule_loop(found)
    verdict, times, pipes = solve(found.graph, made.ii, 3.0, hint=made.times, values=values)
    assert verdict is True
    assert valid(found, made.ii, times, pipes)
    assert measure(values, made.ii, times).max_live <= made.max_live


def test_bad_solvers_are_refused() -> None:
    with pytest.raises(NvirError, match="solver"):
        schedule_loop(random_graph(1), solver="magic")


def test_slots_are_dealt_out_where_every_one_is_taken() -> None:
    """No other order of placement finds the interval at which 102 operations fill 102 slots."""
    found = graph_of("gemm_mma.sm_80", "$L__BB0_8")
    made = schedule_loop(found, effort="interval")
    assert made.ii == made.mii == len(found.operations) == 102
    assert valid(found, made.ii, made.times, made.pipe)


def test_turns_on_a_pipe_prove_an_interval() -> None:
    """A store waits for two loads, which take turns on its pipe: MII is out of reach, by proof."""
    made = schedule_loop(graph_of("saxpy.sm_80", "$L__BB0_2"), effort="interval")
    assert made.mii < made.lower_bound == made.ii == 42


@pytest.mark.parametrize(("most", "asked"), [(0, 1), (144, 0)])
def test_of_a_large_core_one_interval_is_asked(
    most: int, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each costs seconds there: the one below what was found, which says as much."""
    calls = []
    monkeypatch.setattr(intervals, "TURNING", most)
    before = IntervalSearch._prove_large
    monkeypatch.setattr(IntervalSearch, "_prove_large", lambda self: (
        calls.append(self.lower_bound < self.ii), before(self))[1])
    made = schedule_loop(graph_of("saxpy.sm_80", "$L__BB0_2"), effort="interval")
    assert made.mii < made.lower_bound == made.ii == 42
    assert sum(calls) == asked


@solver
def test_what_turns_rule_out_has_no_schedule() -> None:
    """Recurrences in which several operations of one pipe run side by side: an interval out of
    reach has no schedule, and none below; one with a schedule, and those above, are in reach."""
    ruled_out = at_once = 0
    for seed in range(60):
        rng = random.Random(seed)
        size = rng.randrange(4, 8)
        edges = [(n, m, rng.choice((1, 4, 6)), 0) for m in range(1, size)
                 for n in {0, rng.randrange(m)}]
        edges += [(size - 1, 0, 1, 1), (rng.randrange(1, size), 0, 3, 1)]
        edges += [(n, size - 1, 2, 0) for n in range(1, size - 1)]
        pipes = [rng.choice((("A",), ("B",), ("A", "B"))) for _ in range(size)]
        graph = DependenceGraph(
            ["issue"] * size, edges, {"issue": 1}, pipes=pipes,
            intervals=[rng.choice((2, 4)) for _ in range(size)], pipe_units={"A": 1, "B": 1},
        )
        ii = minimum_ii(graph).mii
        while turns(graph, ii) is None:
            assert solve(graph, ii, 5.0)[0] is False
            ruled_out += 1
            ii += 1
        while not solve(graph, ii, 5.0)[0]:
            ii += 1
        at_once += turns(graph, ii - 1, ring=False) is None and ii - 1 > minimum_ii(graph).mii
        for feasible in range(ii, ii + 4):
            for ring in (False, True):
                assert turns(graph, feasible, ring) is not None
    assert ruled_out > 20
    assert at_once > 3
