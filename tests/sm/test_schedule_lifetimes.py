"""Registers of modulo schedules: lifetimes, MaxLive, expansion, and a limit on them."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedule_graphs import graph_of, random_graph, stored

from nvir.sm import DependenceGraph, GraphError, check_schedule, lifetimes, modulo_schedule
from nvir.sm.mii import minimum_ii
from nvir.sm.schedule.ims import iterative_modulo_schedule
from nvir.sm.schedule.lifetimes import max_live_bound, measure, min_avg, values_of
from nvir.sm.schedule.live_bound import live_around
from nvir.sm.schedule.shorten import shorten

graphs = st.builds(
    lambda seed, nodes: random_graph(random.Random(seed), nodes),
    st.integers(0, 10**9),
    st.integers(1, 30),
)

LOAD_USE = DependenceGraph(
    ["lsu", "fma", "fma"], [(0, 1, 6, 0), (1, 2, 4, 0), (2, 2, 4, 1)], {"lsu": 1, "fma": 1}
)


def test_lifetimes_by_hand():
    """II 4: the load lives 6 cycles, so two are in flight; the accumulator lives one II."""
    found = lifetimes(LOAD_USE, 4, [0, 6, 11])
    assert found.lengths == (6, 5, 4)
    assert found.live == [4, 4, 4, 3]
    assert found.max_live == 4
    assert [found.instances(node) for node in range(3)] == [2, 2, 1]


@pytest.mark.seed("SWP-18")
def test_expansion_by_hand():
    """Lives of 3 and 2 iterations: unrolled 3 times the second needs 3 names, 6 times only 2."""
    graph = DependenceGraph([None] * 4, [(0, 1, 9, 0), (2, 3, 6, 0)])
    found = lifetimes(graph, 3, [0, 9, 0, 6])
    assert (found.min_unroll, found.registers()) == (3, 6)
    assert (found.lcm_unroll, found.registers(6)) == (6, 5)
    assert (found.best_unroll(5), found.best_unroll(6)) == (3, 6)
    with pytest.raises(GraphError, match="unroll factor 2"):
        found.registers(2)


@pytest.mark.seed("SWP-18")
@given(graphs, st.integers(0, 3))
@settings(max_examples=100)
def test_expanded_names_never_overlap(graph, more):
    """Iteration k of a value writes name k mod count: it must be dead when the name comes back."""
    found = modulo_schedule(graph, solver="none", budget_s=0.1)
    lives = lifetimes(graph, found.ii, found.times)
    factor = lives.min_unroll + more
    total = 0
    for node, length in enumerate(lives.lengths):
        if length:
            count = next(d for d in range(lives.instances(node), factor + 1) if factor % d == 0)
            assert count * found.ii >= length
            total += count
    assert lives.registers(factor) == total >= lives.max_live


def live_by_force(graph, ii, times, sizes):
    """Counts the live values of every cycle of many overlapped iterations; one steady II of it."""
    lives = lifetimes(graph, ii, times, sizes=sizes)
    span = max(lives.lengths, default=0) + max(times) + ii
    turns = span // ii + 2
    counts = [0] * (ii * turns + span)
    for k in range(turns):
        for start, length, size in zip(times, lives.lengths, sizes, strict=True):
            for cycle in range(start + k * ii, start + k * ii + length):
                counts[cycle] += size
    return counts[(turns - 1) * ii : turns * ii]


@given(graphs, st.integers(0, 9))
@settings(max_examples=100)
def test_live_counts_against_simulation(graph, seed):
    rng = random.Random(seed)
    sizes = [rng.randint(0, 3) for _ in graph.nodes]
    found = modulo_schedule(graph, solver="none", budget_s=0.1)
    lives = lifetimes(graph, found.ii, found.times, sizes=sizes)
    assert lives.live == live_by_force(graph, found.ii, found.times, sizes)
    assert lives.max_live == max(lives.live)
    values = values_of(graph, None, sizes)
    quick, exact = (bound(graph, found.ii, values) for bound in (min_avg, max_live_bound))
    assert quick <= exact <= lives.max_live


def test_bounds_by_hand():
    """a -> b -> c with a tenth of the time each, but c must come 10 cycles after a.

    Either value alone can be short, which is all that MinAvg sees; together they span 10.
    """
    graph = DependenceGraph([None] * 3, [(0, 1, 1, 0), (1, 2, 1, 0), (0, 2, 10, 0)])
    values = values_of(graph, register_edges=[0, 1])
    assert min_avg(graph, 1, values) == 2
    assert max_live_bound(graph, 1, values) == 10
    assert max_live_bound(graph, 4, values) == 3


@pytest.mark.parametrize("seed", range(12))
def test_what_is_live_around_operations_bounds_every_schedule(seed):
    """Against all schedules of four operations whose starts lie within three intervals."""
    rng = random.Random(seed)
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4) if rng.random() < 0.7]
    edges = [(a, b, rng.randint(0, 4), rng.choice((0, 0, 1))) for a, b in pairs]
    edges += [(b, a, rng.randint(-2, 1), rng.randint(1, 2)) for a, b in pairs if rng.random() < 0.4]
    graph = DependenceGraph([None] * 4, edges)
    values = values_of(graph, None, [rng.randint(0, 2) for _ in range(4)])
    ii = max(2, minimum_ii(graph).mii)
    least = min(
        measure(values, ii, times).max_live
        for times in itertools.product(range(3 * ii + 1), repeat=4)
        if all(times[b] - times[a] >= gap - far * ii for a, b, gap, far in edges)
    )
    assert live_around(graph, ii, values) <= least


def test_values_that_meet_at_an_operation_are_live_at_once():
    """Three operands and a value that lives on; the sum of lives alone would fit one register."""
    edges = [(k, 4, 1, 0) for k in range(4)] + [(0, 5, 9, 0)]
    graph = DependenceGraph([None] * 6, edges)
    values = values_of(graph)
    assert max_live_bound(graph, 40, values) == 1
    assert live_around(graph, 40, values) == 4
    assert live_around(DependenceGraph([None], [(0, 0, 3, 1)]), 2, values_of(graph)) == 0


def test_register_edges_and_sizes_are_checked():
    with pytest.raises(GraphError, match="register edge 9"):
        lifetimes(LOAD_USE, 4, [0, 6, 11], register_edges=[9])
    with pytest.raises(GraphError, match="2 value sizes"):
        lifetimes(LOAD_USE, 4, [0, 6, 11], sizes=[1, 1])
    with pytest.raises(GraphError, match="node 1"):
        lifetimes(LOAD_USE, 4, [0, 6, 11], sizes=[1, -1, 1])


def test_only_register_edges_hold_values():
    assert lifetimes(LOAD_USE, 4, [0, 6, 11], register_edges=[0]).lengths == (6, 0, 0)


@given(graphs)
@settings(max_examples=150)
def test_shortening_keeps_the_schedule_and_never_lengthens(graph):
    found = modulo_schedule(graph, solver="none", budget_s=0.1)
    plain = iterative_modulo_schedule(graph, found.ii)
    if plain is None:
        return
    values = values_of(graph)
    shorter = shorten(graph, found.ii, plain, values)
    assert check_schedule(graph, found.ii, shorter) == []
    before, after = measure(values, found.ii, plain), measure(values, found.ii, shorter)
    assert sum(after.lengths) <= sum(before.lengths)


def test_shortening_moves_a_load_to_its_use():
    """The load waits for the slow chain that joins it; the value of the chain cannot wait."""
    graph = DependenceGraph(["lsu", "lsu", None, None], [(0, 2, 20, 0), (1, 3, 2, 0), (2, 3, 1, 0)])
    values = values_of(graph)
    assert shorten(graph, 2, [0, 0, 20, 21], values)[1] == 19


def test_shortening_stops_at_the_last_use_of_its_own_value():
    """Node 0 may start 3 cycles after its readers, but no later does its value live shorter.

    Moved on nevertheless, it once took the slot of node 1's way back.
    """
    edges = [(0, 1, -2, 0), (0, 2, -1, 0), (1, 2, -3, 0)]
    graph = DependenceGraph(["a", "a", None], edges, {"a": 1})
    values = values_of(graph)
    assert sum(measure(values, 3, [1, 0, 0]).lengths) == 0
    assert sum(measure(values, 3, shorten(graph, 3, [1, 0, 0], values)).lengths) == 0


# Register limits


def wide_body(loads: int) -> DependenceGraph:
    """`loads` slow loads that all end in a chain of adds."""
    res = ["lsu"] * loads + ["fma"] * loads
    edges = [(i, loads + i, 20, 0) for i in range(loads)]
    edges += [(loads + i, loads + i + 1, 4, 0) for i in range(loads - 1)]
    return DependenceGraph(res, edges, {"lsu": 1, "fma": 1})


def test_a_register_limit_raises_the_interval():
    graph = wide_body(6)
    free = modulo_schedule(graph, solver="none")
    assert (free.ii, free.within_limit) == (6, True)
    limited = modulo_schedule(graph, solver="none", register_limit=free.max_live // 2)
    assert limited.within_limit
    assert limited.max_live <= free.max_live // 2
    assert limited.ii > free.ii
    assert check_schedule(graph, limited.ii, limited.times) == []
    assert lifetimes(graph, limited.ii, limited.times).max_live == limited.max_live


def test_a_limit_that_holds_changes_nothing():
    graph = wide_body(4)
    free = modulo_schedule(graph, solver="none")
    assert modulo_schedule(graph, solver="none", register_limit=1000).ii == free.ii


def test_a_limit_that_no_interval_meets_gives_the_fewest_registers():
    found = modulo_schedule(wide_body(5), solver="none", register_limit=0)
    assert not found.within_limit
    assert check_schedule(wide_body(5), found.ii, found.times) == []
    assert found.max_live < modulo_schedule(wide_body(5), solver="none").max_live


def test_open_graphs_need_fewer_registers_than_plain_iterative_scheduling():
    ours = theirs = 0
    for entry in stored("ddgs_open.json")[::4]:
        graph = graph_of(entry)
        found = modulo_schedule(graph, solver="none")
        plain = iterative_modulo_schedule(graph, found.ii)
        if plain is not None:
            ours += found.max_live
            theirs += lifetimes(graph, found.ii, plain).max_live
    assert ours < 0.8 * theirs


def test_high_pressure_asks_swing_scheduling():
    """Many independent loads: swing keeps each near its use."""
    for entry in stored("ddgs_open.json"):
        if entry["name"].endswith("r2_FFT.graphml"):
            graph = graph_of(entry)
            found = modulo_schedule(graph, solver="none")
            plain = iterative_modulo_schedule(graph, found.ii)
            assert plain is not None
            assert found.method == "swing"
            assert found.max_live < lifetimes(graph, found.ii, plain).max_live / 2
