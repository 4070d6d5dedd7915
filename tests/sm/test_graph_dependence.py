"""Dependence graphs: what is refused, and RecMII and ResMII against independent judges."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from schedule_graphs import graph_of, random_graph, small_graphs, stored

from nvir.ir.errors import NvirError
from nvir.sm import DependenceGraph, GraphError, mii, minimum_ii
from nvir.sm.mii import critical_recurrence


@pytest.mark.parametrize(
    ("nodes", "edges", "limits", "place"),
    [
        ([None], [(0, 1, 1, 0)], {}, "edge 0 (0 -> 1): there is no node 1"),
        ([None], [(0, 0, 1, 1), (-1, 0, 1, 0)], {}, "edge 1 (-1 -> 0): there is no node -1"),
        ([None], [(0, 0, 1)], {}, "edge 0"),
        ([None], [(0, 0, 1.5, 1)], {}, "edge 0: latency: 1.5 is not an integer"),
        ([None], [(0, 0, 1, "1")], {}, "edge 0: distance"),
        ([None], [(0, 0, True, 1)], {}, "edge 0: latency"),
        ([None], [(0, 0, 1, -1)], {}, "distance -1 is negative"),
        (["a"], [], {"a": 0}, "limit of 'a'"),
        (["a"], [], {"a": -2}, "limit of 'a'"),
        (["a"], [], {"a": 1.0}, "limit of 'a'"),
        (["a"], [], {"a": None}, "limit of 'a'"),
        (["a"], [], {3: 1}, "limits"),
        ([7], [], {}, "node 0"),
        ([None], [(0, 0, 1, 0)], {}, "cycle 0 -> 0: distance 0 and latency 1"),
        ([None] * 3, [(0, 1, 2, 0), (1, 2, -1, 0), (2, 0, 0, 0)], {}, "distance 0 and latency 1"),
    ],
)
def test_bad_input_names_the_place(nodes, edges, limits, place):
    with pytest.raises(GraphError) as caught:
        DependenceGraph(nodes, edges, limits)
    assert place in str(caught.value)
    assert isinstance(caught.value, NvirError)
    assert isinstance(caught.value, ValueError)


def test_limits_of_a_wrong_type():
    with pytest.raises(TypeError, match="limits must map"):
        DependenceGraph(["a"], [], [("a", 1)])


def test_cycles_of_distance_zero_that_ask_for_no_time_are_legal():
    graph = DependenceGraph([None, None], [(0, 1, 3, 0), (1, 0, -3, 0)])
    assert minimum_ii(graph).rec_mii == 1


def test_numpy_integers_are_integers():
    graph = DependenceGraph([None, None], np.array([[0, 1, 2, 0], [1, 0, 1, 1]]), {})
    assert graph.edges == ((0, 1, 2, 0), (1, 0, 1, 1))
    assert all(type(field) is int for edge in graph.edges for field in edge)


@given(small_graphs())
def test_networkx_round_trip(graph):
    """Parallel edges come back grouped, so edges compare as multisets."""
    back = DependenceGraph.from_networkx(graph.to_networkx())
    assert (back.nodes, sorted(back.edges)) == (graph.nodes, sorted(graph.edges))
    assert back.limits == graph.limits


def test_networkx_labels_and_missing_attributes():
    g = nx.DiGraph()
    g.add_node("load", resource="lsu")
    g.add_edge("load", "add", latency=4)
    graph = DependenceGraph.from_networkx(g, {"lsu": 1})
    assert graph == DependenceGraph(["lsu", None], [(0, 1, 4, 0)], {"lsu": 1})
    g.add_edge("add", "load")
    with pytest.raises(GraphError, match="'add' -> 'load'"):
        DependenceGraph.from_networkx(g)


@given(small_graphs(8))
def test_components_are_those_of_networkx_in_topological_order(graph):
    components = graph.components
    expected = nx.strongly_connected_components(nx.DiGraph(graph.to_networkx()))
    assert sorted(components) == sorted(sorted(c) for c in expected)
    rank = {u: i for i, members in enumerate(components) for u in members}
    assert all(rank[src] <= rank[dst] for src, dst, _, _ in graph.edges)


def ratio_by_force(graph: DependenceGraph) -> Fraction:
    """The largest latency / distance over all elementary cycles, with parallel edges."""
    best = Fraction(0)
    by_ends: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for src, dst, latency, distance in graph.edges:
        by_ends.setdefault((src, dst), []).append((latency, distance))
    for cycle in nx.simple_cycles(nx.DiGraph(list(by_ends))):
        steps = [by_ends[ends] for ends in zip(cycle, cycle[1:] + cycle[:1], strict=True)]
        for choice in itertools.product(*steps):
            latency = sum(lat for lat, _ in choice)
            distance = sum(dist for _, dist in choice)
            if distance:
                best = max(best, Fraction(latency, distance))
    return best


@pytest.mark.seed("SWP-07", "SWP-08")
@given(small_graphs(6))
def test_rec_mii_equals_all_cycles(graph):
    expected = ratio_by_force(graph)
    recurrence = critical_recurrence(graph)
    assert (recurrence.ratio if recurrence else Fraction(0)) == expected
    assert minimum_ii(graph).rec_mii == max(1, -(-expected.numerator // expected.denominator))


@pytest.mark.seed("SWP-08")
@given(small_graphs(6))
def test_the_critical_recurrence_is_a_cycle_of_the_graph(graph):
    recurrence = critical_recurrence(graph)
    if recurrence is None:
        return
    chosen = [graph.edges[i] for i in recurrence.edges]
    assert [edge[0] for edge in chosen] == list(recurrence.nodes)
    assert [edge[1] for edge in chosen] == [*recurrence.nodes[1:], recurrence.nodes[0]]
    assert sum(edge[2] for edge in chosen) == recurrence.latency
    assert sum(edge[3] for edge in chosen) == recurrence.distance


@pytest.mark.seed("SWP-07", "SWP-08", "SWP-09")
def test_accumulator():
    """An add of latency 4 that feeds itself next iteration: II 4, and the edge is named."""
    bounds = minimum_ii(DependenceGraph(["FMA"], [(0, 0, 4, 1)], {"FMA": 1}))
    assert (bounds.rec_mii, bounds.res_mii, bounds.mii) == (4, 1, 4)
    assert bounds.recurrence is not None
    assert (bounds.recurrence.nodes, bounds.recurrence.edges) == ((0,), (0,))


@pytest.mark.seed("SWP-08")
def test_of_parallel_edges_the_critical_one_is_named():
    graph = DependenceGraph([None, None], [(0, 1, 9, 3), (0, 1, 4, 0), (1, 0, 2, 1)])
    recurrence = critical_recurrence(graph)
    assert recurrence is not None
    assert recurrence.ratio == 6
    assert set(recurrence.edges) == {1, 2}


@pytest.mark.seed("SWP-11")
def test_res_mii_of_the_worked_example():
    """8 FP32 on 4 units and 3 loads on 2: both ask for 2."""
    graph = DependenceGraph(["FMA"] * 8 + ["LSU"] * 3, [], {"FMA": 4, "LSU": 2})
    bounds = minimum_ii(graph)
    assert (bounds.rec_mii, bounds.res_mii) == (1, 2)
    assert bounds.resource is not None
    assert (bounds.resource.resource, bounds.resource.uses) == ("FMA", 8)


@pytest.mark.seed("SWP-11")
def test_unlimited_and_unused_resources_do_not_bind():
    bounds = minimum_ii(DependenceGraph(["ALU"] * 9 + [None], [], {"LSU": 1}))
    assert (bounds.res_mii, bounds.resource, bounds.recurrence) == (1, None, None)


def test_long_chains_need_no_recursion():
    count = 20_000
    edges = [(i, i + 1, 1, 0) for i in range(count - 1)] + [(count - 1, 0, 1, 2)]
    bounds = minimum_ii(DependenceGraph([None] * count, edges))
    assert bounds.rec_mii == count // 2


def test_a_ring_that_is_walked_against_its_order():
    """Each pass over it makes one node later: n passes, of n nodes each before."""
    count = 4_000
    back = [(i + 1, i, 4, 1) for i in range(count - 1)]
    edges = [*back, (0, count - 1, 4, 0), *((i, i, 4, 1) for i in range(count))]
    bounds = minimum_ii(DependenceGraph([None] * count, edges))
    assert bounds.rec_mii == 5  # 4 · count cycles over count - 1 iterations
    assert len(bounds.recurrence.nodes) == count


def test_huge_latencies():
    bounds = minimum_ii(DependenceGraph([None], [(0, 0, 10**12, 7)]))
    assert bounds.rec_mii == -(-(10**12) // 7)


@pytest.mark.parametrize("seed", range(20))
def test_random_bodies_against_bellman_ford_of_networkx(seed):
    """No cycle is positive at RecMII, and one is at RecMII - 1."""
    graph = random_graph(random.Random(seed), 30)
    rec_mii = minimum_ii(graph).rec_mii
    for ii, expected in ((rec_mii, False), (rec_mii - 1, rec_mii > 1)):
        g = nx.MultiDiGraph()
        g.add_nodes_from(range(len(graph)))
        for src, dst, latency, distance in graph.edges:
            g.add_edge(src, dst, weight=distance * ii - latency)
        assert nx.negative_edge_cycle(g) == expected


def test_published_bounds():
    for entry in stored("known_answers.json") + stored("ddgs_open.json"):
        bounds = minimum_ii(graph_of(entry))
        found = (bounds.rec_mii, bounds.res_mii, bounds.mii)
        assert found == (entry["rec_mii"], entry["res_mii"], entry["mii"]), entry["name"]


@given(small_graphs())
def test_halving_in_on_the_ratio_ends_at_the_same(graph: DependenceGraph) -> None:
    few = mii.FEW
    try:
        mii.FEW = 1
        halved = critical_recurrence(graph)
    finally:
        mii.FEW = few
    found = critical_recurrence(graph)
    assert (found and found.ratio) == (halved and halved.ratio)
