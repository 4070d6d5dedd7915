"""Intervals settled in parts: recurrences by turns, and slots of what is outside of them."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Sequence

import pytest

from nvir.ir.errors import NvirError
from nvir.sm import DependenceGraph, check_schedule
from nvir.sm.mii import minimum_ii
from nvir.sm.schedule.bounds import turns
from nvir.sm.schedule.cpsat import Purse, solve
from nvir.sm.schedule.driver import modulo_schedule
from nvir.sm.schedule.intervals import IntervalSearch
from nvir.sm.schedule.sweep import aligned, sweep
from nvir.sm.schedule.turns import in_order, verdict

solver = pytest.mark.skipif(
    importlib.util.find_spec("ortools") is None, reason="needs OR-tools (extra `solve`)"
)

KNOT = (
    (0, 4, 2, 0), (4, 2, 8, 1), (1, 0, 2, 1), (5, 1, 2, 2), (2, 3, 8, 0), (4, 1, 8, 2),
    (3, 5, 2, 0), (3, 0, 8, 1), (3, 2, 4, 2),
)


def on_pipes(
    edges: Sequence[tuple[int, int, int, int]], pipes: Sequence[str], busy: int = 2
) -> DependenceGraph:
    """Operations on one of the pipes that letters name, each of one unit, busy for some cycles."""
    return DependenceGraph(
        [None] * len(pipes), edges, pipes=[tuple(p) for p in pipes], intervals=[busy] * len(pipes),
        pipe_units={"A": 1, "B": 1, "C": 1},
    )


@solver
def test_turns_of_a_recurrence_rule_an_interval_out() -> None:
    """No path forces it, nor does the pipe's load: no order of turns fits in 13 cycles."""
    graph = on_pipes(KNOT, "AAAAAA")
    assert minimum_ii(graph).mii == 13
    assert turns(graph, 13) is not None
    assert in_order(graph, 13, 1.0) == (False, [])
    assert solve(graph, 13, 2.0)[0] is False
    made = modulo_schedule(graph, solver="cpsat")
    assert made.ii == made.lower_bound == 14


@solver
@pytest.mark.parametrize(("ii", "pipes"), [(14, "AAAAAA"), (13, "ABABAB")])
def test_turns_that_fit(ii: int, pipes: str) -> None:
    """Near misses: a cycle more, or a second pipe."""
    graph = on_pipes(KNOT, pipes)
    assert in_order(graph, ii, 1.0)[0] is True
    found, times, chosen = verdict(graph, ii, 1.0)
    assert found is True
    assert not check_schedule(graph, ii, times, chosen)


@solver
def test_operations_that_fit_no_two_in_a_round() -> None:
    """Three operations of 2 cycles keep two pipes busy for 3, but no pipe has room for two."""
    graph = on_pipes([], ["AB"] * 3)
    assert minimum_ii(graph).mii == 3
    assert verdict(graph, 3, 1.0)[0] is False
    found, times, chosen = verdict(graph, 4, 1.0)
    assert found is True
    assert not check_schedule(graph, 4, times, chosen)
    assert modulo_schedule(graph, solver="cpsat").lower_bound == 4


@solver
def test_an_operation_longer_than_the_interval() -> None:
    """It overlaps itself on a unit of its own, not on two."""
    for units, fits in ((1, False), (2, True)):
        graph = DependenceGraph(
            [None], [], pipes=[("A",)], intervals=[4], pipe_units={"A": units}
        )
        for found, times, chosen in (verdict(graph, 3, 1.0), solve(graph, 3, 1.0)):
            assert found is fits
            assert not fits or not check_schedule(graph, 3, times, chosen)


def random_graph(seed: int) -> DependenceGraph:
    choose = random.Random(seed)
    count = choose.randrange(2, 8)
    edges = []
    for _ in range(choose.randrange(1, 2 * count)):
        a, b = choose.randrange(count), choose.randrange(count)
        edges.append((a, b, choose.choice((1, 2, 4, 6)), 0 if b > a else choose.choice((1, 2))))
    return DependenceGraph(
        ["issue"] * count, edges, {"issue": 1},
        pipes=[choose.choice((("A",), ("B",), ("A", "B"), ())) for _ in range(count)],
        intervals=[choose.choice((1, 2, 4)) for _ in range(count)],
        pipe_units={"A": choose.choice((1, 1, 2)), "B": 1},
    )


@solver
def test_parts_say_what_the_whole_model_says() -> None:
    """Of random graphs, pipes of two units and choices of pipes among them."""
    said = set()
    for seed in range(120):
        try:
            graph = random_graph(seed)
        except NvirError:
            continue
        first = minimum_ii(graph).mii
        for ii in range(first, first + 2):
            found, times, chosen = verdict(graph, ii, 2.0)
            assert found is solve(graph, ii, 2.0)[0] is not None
            assert not found or not check_schedule(graph, ii, times, chosen)
            said.add(found)
    assert said == {True, False}


def test_turns_of_many_stores_that_wait_for_loads() -> None:
    """Nine times two loads of 4 cycles in turn and a store: 48 cycles each, where paths ask 41."""
    edges = []
    for store in range(2, 27, 3):
        edges += [(load, store, 40, 0) for load in (store - 2, store - 1)]
        edges += [(store, (store + k) % 27, 1, store // 26) for k in (1, 2)]
    graph = on_pipes(edges, "A" * 27, 4)
    assert minimum_ii(graph).mii == 9 * 41
    for ring in (False, True):
        assert turns(graph, 9 * 48 - 1, ring) is None
        assert turns(graph, 9 * 48, ring) is not None
    made = modulo_schedule(graph, solver="none")
    assert made.ii == made.lower_bound == 9 * 48
    wide = on_pipes(edges, "ABC" * 9, 4)  # near miss: nobody waits for a turn
    assert turns(wide, 9 * 41) is not None
    assert modulo_schedule(wide, solver="none").ii == 9 * 41


@solver
@pytest.mark.parametrize(("back", "fits"), [(9, False), (8, True)])
def test_a_recurrence_that_leaves_a_gap_on_a_full_pipe(back: int, fits: bool) -> None:
    """Six operations of 2 cycles in 12: two that are 3 apart leave a cycle that none can use."""
    graph = on_pipes([(0, 1, 3, 0), (1, 0, back, 1)], "AAAAAA")
    assert turns(graph.part([0, 1]), 12) is not None
    found, times, chosen = verdict(graph, 12, 2.0)
    assert found is solve(graph, 12, 2.0)[0] is fits
    assert not fits or not check_schedule(graph, 12, times, chosen)


STEPS = ((0, 1, 6, 0), (1, 0, 6, 1))


def test_a_full_pipe_keeps_a_recurrence_in_step() -> None:
    """Six operations of 4 cycles in 24: two that are 6 apart leave gaps that no other fills."""
    graph = on_pipes(STEPS, "AAAAAA", 4)
    assert [latency for _, _, latency, _ in aligned(graph, 24).edges] == [8, 8]
    made = modulo_schedule(graph, solver="none")
    assert made.ii == made.mii == 24


@pytest.mark.parametrize(("pipes", "ii"), [("AAAAAA", 25), ("AAAAAB", 24), ("ABAAAAA", 24)])
def test_pipes_that_keep_nothing_in_step(pipes: str, ii: int) -> None:
    """Near misses: a cycle to spare, an operation less, a recurrence over two pipes."""
    graph = on_pipes(STEPS, pipes, 4)
    assert [latency for _, _, latency, _ in aligned(graph, ii).edges] == [6, 6]


def test_slots_go_to_the_pipe_with_the_least_room() -> None:
    """B is full; three that may run on A or B have to leave it to those that cannot."""
    graph = on_pipes([], ["AB"] * 3 + ["B"] * 3)
    found = sweep(graph, 6)
    assert found is not None
    assert not check_schedule(graph, 6, found[0], found[1].pipes)
    assert found[1].pipes == ("A",) * 3 + ("B",) * 3


def test_no_slots_where_nothing_fits() -> None:
    assert sweep(on_pipes([], ["AB"] * 3), 3) is None


@pytest.mark.parametrize(("cost", "ii", "bound", "most"), [(0.0, 37, 37, 36), (0.3, 55, 10, 2)])
def test_intervals_below_share_half_of_the_budget(
    monkeypatch: pytest.MonkeyPatch, cost: float, ii: int, bound: int, most: int
) -> None:
    """From 100 down by halves, then proofs from below, until half of the budget is spent."""
    asked = []

    def told(
        graph: DependenceGraph, at: int, limit_s: float, seed: int, purse: Purse
    ) -> tuple[bool, list[int], list[str]]:
        asked.append(at)
        purse.left -= cost
        return at >= 37, [0], [""]

    monkeypatch.setattr("nvir.sm.schedule.intervals.verdict", told)
    search = IntervalSearch(DependenceGraph([None], [], {}), 10, 1.0, True, 1)
    search.ii = 100
    search._ask_below()
    assert search.lower_bound == bound
    assert search.ii == ii
    assert len(asked) == len(set(asked)) <= most
