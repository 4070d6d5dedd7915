"""Modulo schedules: every scheduler against the checker, the checker against hand-made faults."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedule_graphs import (
    feasible_by_force,
    graph_of,
    packed_graph,
    random_graph,
    small_graphs,
    stored,
)

import nvir
from benchmarks import limits
from nvir.ir.errors import Unsupported
from nvir.ir.loops import natural_loops
from nvir.report.schedule.figures import schedule_text
from nvir.sm import (
    DependenceGraph,
    GraphError,
    check_schedule,
    minimum_ii,
    modulo_schedule,
    profile,
)
from nvir.sm.loopgraph import loop_graph
from nvir.sm.schedule import bounds, cpsat, driver
from nvir.sm.schedule.bounds import overfull, tighten
from nvir.sm.schedule.check import ScheduleError, require_schedule
from nvir.sm.schedule.core import complete, core_groups
from nvir.sm.schedule.exact import Search
from nvir.sm.schedule.ims import iterative_modulo_schedule
from nvir.sm.schedule.loops import schedule_loop
from nvir.sm.schedule.swing import swing_modulo_schedule
from tests.effort import effort

needs_solver = pytest.mark.skipif(not cpsat.available(), reason="pip install 'nvir[solve]'")
graphs = st.builds(
    lambda seed, nodes: random_graph(random.Random(seed), nodes),
    st.integers(0, 10**9),
    st.integers(1, 40),
)


def plain_ims_ii(graph: DependenceGraph) -> int:
    ii = minimum_ii(graph).mii
    while iterative_modulo_schedule(graph, ii) is None:
        ii += 1
    return ii


# The checker


FIVE = DependenceGraph(["m", "m", None], [(0, 1, 2, 0), (1, 0, 1, 1), (1, 2, 3, 0)], {"m": 1})


@pytest.mark.seed("SWP-10")
@pytest.mark.parametrize(
    ("ii", "times", "kinds"),
    [
        (3, [0, 2, 5], []),
        (3, {0: 0, 1: 2, 2: 7}, []),
        (3, [0, 1, 5], ["dependence"]),  # too early after its producer
        (3, [0, 3, 6], ["dependence", "resource"]),  # too late for the next iteration; same slot
        (2, [0, 2, 5], ["dependence", "resource"]),
        (0, [0, 2, 5], ["ii"]),
        (2.5, [0, 2, 5], ["ii"]),
        (True, [0, 2, 5], ["ii"]),
        (3, [0, 2], ["time"]),
        (3, {0: 0, 1: 2}, ["time"]),
        (3, {0: 0, 1: 2, 2: 5, 9: 0}, ["time"]),
        (3, [-1, 1, 4], ["time"]),
        (3, [0, 2, 5.0], ["time"]),
    ],
)
def test_checker(ii, times, kinds):
    violations = check_schedule(FIVE, ii, times)
    assert [v.kind for v in violations] == kinds
    if kinds:
        with pytest.raises(ScheduleError) as caught:
            require_schedule(FIVE, ii, times)
        assert caught.value.violations == violations
    else:
        require_schedule(FIVE, ii, times)


def test_checker_names_edge_slot_and_nodes():
    dependence, resource = check_schedule(FIVE, 2, [0, 2, 5])
    assert dependence.nodes == (0, 1)[::-1]
    assert "edge 1 (1 -> 0)" in dependence.message
    assert resource.nodes == (0, 1)
    assert "'m', slot 0 of 2" in resource.message


# All schedulers


@pytest.mark.seed("SWP-10")
@given(graphs)
@settings(max_examples=150)
def test_every_scheduler_satisfies_the_checker(graph):
    ii = minimum_ii(graph).mii
    for candidate in range(ii, ii + 4):
        swung = swing_modulo_schedule(graph, candidate)
        for times in (
            iterative_modulo_schedule(graph, candidate),
            iterative_modulo_schedule(graph, candidate, backward=True),
            None if swung is None else [t - min(swung[0]) for t in swung[0]],
        ):
            if times is not None:
                assert check_schedule(graph, candidate, times) == []


@given(graphs)
@settings(max_examples=150)
def test_modulo_schedule_is_valid_and_between_its_bounds(graph):
    found = modulo_schedule(graph, solver="none", budget_s=0.2)
    assert check_schedule(graph, found.ii, found.times) == []
    assert found.mii <= found.lower_bound <= found.ii <= plain_ims_ii(graph)
    assert found.mii == max(found.rec_mii, found.res_mii)
    assert found.stages == max(found.times) // found.ii + 1
    assert min(found.times) == 0


@given(small_graphs(4))
@settings(max_examples=200)
def test_the_interval_is_the_optimum_by_brute_force(graph):
    """Proven bounds are true and, for graphs this small, always met."""
    try:
        found = modulo_schedule(graph, solver="none")
    except GraphError:
        assert not any(feasible_by_force(graph, ii) for ii in range(1, 8))
        return
    assert found.optimal
    if found.ii <= 8:
        assert feasible_by_force(graph, found.ii)
    for ii in range(found.mii, min(found.ii, 8)):
        assert not feasible_by_force(graph, ii)


@needs_solver
@pytest.mark.parametrize("seed", range(30))
def test_own_proofs_agree_with_the_solver(seed):
    """Each interval up to the optimum, asked of CP-SAT on the gaps as they come of the graph."""
    rng = random.Random(seed)
    if seed % 2:
        graph = packed_graph(rng, 3 + seed % 6)
    else:
        graph = random_graph(rng, 12 + seed, resources=1 + seed % 3, units=1 + seed % 2)
    own = modulo_schedule(graph, solver="none")
    assert own.optimal
    for ii in range(own.mii, own.ii + 1):
        verdicts = [cpsat.solve(group.graph(), ii, 5.0)[0] for group in core_groups(graph, ii)]
        assert all(verdicts) == (ii == own.ii)


@needs_solver
def test_the_solver_alone_finds_and_refuses():
    graph = graph_of(
        {
            "res": ["u", "u", "l", "l", "l", "u", "x"],
            "limits": {"l": 2},
            "E": [
                *((0, 1, 1, 0), (1, 2, 1, 0), (1, 3, 1, 0), (1, 4, 1, 0), (2, 5, 1, 0)),
                *((3, 5, 1, 0), (4, 5, 1, 0), (5, 1, 1, 1), (5, 6, 1, 0)),
            ],
        }
    )
    [group] = core_groups(graph, 3)
    assert cpsat.solve(group.graph(), 3, 5.0)[0] is False
    [group] = core_groups(graph, 4)
    found, times, _ = cpsat.solve(group.graph(), 4, 5.0)
    assert found
    slots = dict(zip(group.nodes, (t % 4 for t in times), strict=True))
    assert check_schedule(graph, 4, complete(graph, 4, slots)) == []


def test_same_seed_same_schedule():
    for seed in range(12):
        graph = packed_graph(random.Random(100 + seed), 12)
        one, two = (modulo_schedule(graph, solver="none", seed=3) for _ in range(2))
        assert one == two


@pytest.mark.parametrize("seed", range(40))
def test_longer_gaps_lose_no_schedule(seed):
    """The search says the same of a core before and after its gaps are lengthened."""
    rng = random.Random(seed)
    graph = packed_graph(rng, 2 + seed % 4) if seed % 2 else random_graph(rng, 14, resources=1)
    mii = minimum_ii(graph).mii
    for ii in range(mii, mii + 3):
        for group in core_groups(graph, ii):
            before = Search(group, ii).run(10**7)
            full = overfull(group)
            feasible, _ = tighten(group, ii)
            after = feasible and Search(group, ii).run(10**7)
            assert before == after
            assert not (full and before)


@given(small_graphs(4), st.integers(1, 5))
@settings(max_examples=150)
def test_the_core_decides(graph, more):
    """A group for each independent problem: all solvable means that the graph is."""
    ii = minimum_ii(graph).mii + more - 1
    if ii > 6:
        return
    slots: dict[int, int] = {}
    for group in core_groups(graph, ii):
        search = Search(group, ii)
        if not search.run(10**7):
            assert not feasible_by_force(graph, ii)
            return
        slots.update(search.slots)
    assert check_schedule(graph, ii, complete(graph, ii, slots)) == []


@pytest.mark.parametrize("seed", range(60))
def test_closing_with_numpy_and_without_is_the_same(seed, monkeypatch):
    rng = random.Random(seed)
    size = rng.randint(2, 30)
    potential = [rng.randint(0, 20) for _ in range(size)]
    gap = [
        [
            potential[j] - potential[i] - rng.randint(0, 30) + (rng.random() < 0.01)
            for j in range(size)
        ]
        for i in range(size)
    ]
    for i in range(size):
        gap[i][i] = 0
    results = []
    for wide in (0, 1000):
        monkeypatch.setattr(bounds, "WIDE", wide)
        copy = [row[:] for row in gap]
        results.append((bounds.close(copy), copy))
    assert results[0][0] == results[1][0]
    if results[0][0]:
        assert results[0][1] == results[1][1]


# Hard cases


def test_no_interval_at_all_is_an_error_that_names_the_operations():
    """Two operations of one unit tied to the same cycle."""
    graph = DependenceGraph(["m", "m"], [(0, 1, 0, 0), (1, 0, 0, 0)], {"m": 1})
    with pytest.raises(GraphError, match=r"nodes 0, 1: .* 'm'"):
        modulo_schedule(graph, solver="none")


def test_fixed_offsets_are_kept():
    """A near miss of the above: one cycle apart, so any II but 1 will do."""
    graph = DependenceGraph(["m", "m"], [(0, 1, 1, 0), (1, 0, -1, 0)], {"m": 1})
    found = modulo_schedule(graph, solver="none")
    assert (found.ii, found.times, found.optimal) == (2, (0, 1), True)


def test_offsets_that_meet_modulo_ii_rise_past_it():
    """Offsets 2, 3 and 4 apart on one unit: II 2, 3 and 4 fold two together."""
    edges = [(0, 1, 2, 0), (1, 0, -2, 0), (2, 3, 3, 0), (3, 2, -3, 0), (4, 5, 4, 0), (5, 4, -4, 0)]
    graph = DependenceGraph(["m"] * 6, edges, {"m": 1})
    found = modulo_schedule(graph, solver="none")
    assert check_schedule(graph, found.ii, found.times) == []
    assert (found.mii, found.optimal) == (6, True)


def test_empty_graph():
    found = modulo_schedule(DependenceGraph([], [], {"a": 1}))
    assert (found.ii, found.times, found.stages, found.lower_bound) == (1, (), 1, 1)


def test_huge_latencies_stay_cheap():
    edges = [(0, 1, 10**9, 0), (1, 0, 1, 1), (1, 2, 5, 0), (2, 1, 5, 1)]
    graph = DependenceGraph(["m"] * 3, edges, {"m": 1})
    made: list[Any] = []
    effort(lambda: made.append(modulo_schedule(graph, solver="none")), most=10_000)
    assert check_schedule(graph, made[0].ii, made[0].times) == []


def test_huge_distances_stay_cheap():
    res = ["m"] * 8
    edges = [(i, i + 1, 3, 0) for i in range(7)] + [(7, 0, 3, 10**6), (3, 2, 1, 10**9)]
    found = modulo_schedule(DependenceGraph(res, edges, {"m": 1}), solver="none")
    assert (found.ii, found.optimal) == (8, True)


def test_large_bodies_are_scheduled():
    graph = random_graph(random.Random(5), 1500, resources=4, units=8)
    found = modulo_schedule(graph, solver="none", budget_s=0.2)
    assert check_schedule(graph, found.ii, found.times) == []


def test_an_interval_below_rec_mii_is_refused():
    with pytest.raises(GraphError, match="below RecMII"):
        iterative_modulo_schedule(FIVE, 2)


def test_wrong_types_are_type_errors():
    with pytest.raises(TypeError, match="DependenceGraph"):
        modulo_schedule([1, 2])  # type: ignore[arg-type]


def test_numpy_times_are_times():
    assert check_schedule(FIVE, np.int64(3), np.array([0, 2, 5])) == []


def test_unknown_solver_and_missing_solver(monkeypatch):
    with pytest.raises(GraphError, match="solver 'gurobi'"):
        modulo_schedule(FIVE, solver="gurobi")
    monkeypatch.setattr(cpsat, "available", lambda: False)
    with pytest.raises(Unsupported, match="OR-tools"):
        modulo_schedule(FIVE, solver="cpsat")
    assert modulo_schedule(FIVE, solver="auto").ii == 3


# Graphs of others


def test_known_answers():
    """Published optima; the schedules that come with them satisfy the checker as well."""
    for entry in stored("known_answers.json"):
        graph = graph_of(entry)
        found = modulo_schedule(graph, solver="none")
        optimum = entry["optimal_ii_verified"]
        assert (found.ii, found.lower_bound) == (optimum, optimum), entry["name"]
        if "schedule" in entry:
            assert check_schedule(graph, optimum, entry["schedule"]) == [], entry["name"]


@pytest.mark.seed("SWP-10")
def test_open_graphs():
    """Every settled optimum is met, and no graph is worse than the best known schedule."""
    entries = stored("ddgs_open.json")
    proven = 0
    for entry in entries:
        graph = graph_of(entry)
        found = modulo_schedule(graph, solver="none")
        assert found.ii <= entry["ii_best"], entry["name"]
        assert found.lower_bound <= entry["ii_best"], entry["name"]
        if entry["ii_opt"] is not None:
            assert found.ii == entry["ii_opt"], entry["name"]
        proven += found.optimal
    assert proven == len(entries)  # this closes the ten that were open


def test_the_benchmark_runs(tmp_path):
    """A few graphs of each set, with its table, plot and records."""
    pytest.importorskip("matplotlib")
    script = Path(__file__).resolve().parents[2] / "benchmarks" / "modulo.py"
    out, picture = tmp_path / "rows.json", tmp_path / "plot.svg"
    options = ["--limit", "4", "--random", "3", "--json", str(out), "--plot", str(picture)]
    result = subprocess.run(
        [sys.executable, str(script), *options], capture_output=True, text=True, check=True
    )
    assert "optimum proven on" in result.stdout
    assert all(row["nvir"]["ii"] <= row["ims"]["ii"] for row in json.loads(out.read_text()))
    assert picture.stat().st_size > 1000


def test_what_is_left_out_of_large_graphs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    f = nvir.read_ptx(limits.accesses(8))["k"]
    f.analyze_cfg()
    found = loop_graph(natural_loops(f)[0], profile("sm_80"))
    assert "effort" not in schedule_text(schedule_loop(found), "k")
    monkeypatch.setattr(driver, "THOROUGH", len(found.graph) - 1)
    made = schedule_loop(found)
    assert made.effort == "quick"
    assert f"for {len(found.graph)} operations intervals are tried" in schedule_text(made, "k")
    monkeypatch.setattr(driver, "LARGEST", len(found.graph) - 1)
    with pytest.raises(Unsupported, match=f"modulo schedule of {len(found.graph)} operations"):
        schedule_loop(found)
