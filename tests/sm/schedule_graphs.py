"""Dependence graphs for the scheduler tests: random ones, and the sets beside the repository."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path

import pytest
from hypothesis import strategies as st

from nvir.sm import DependenceGraph, GraphError

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def stored(name: str) -> list[dict]:
    """The graphs of a file of ../shared/data; skips the test where it is not there."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    data = json.loads(path.read_text())
    return data["graphs"] if isinstance(data, dict) else data


def graph_of(entry: dict) -> DependenceGraph:
    """The graph of an entry of either file: their edges are spelled differently."""
    edges = entry.get("E")
    if edges is None:
        edges = [(e["src"], e["dst"], e["latency"], e["distance"]) for e in entry["edges"]]
    return DependenceGraph(entry["res"], edges, entry["limits"])


def random_graph(rng: random.Random, nodes: int, *, resources: int = 2, units: int = 2):
    """A connected body of `nodes` operations with back edges, some latencies negative."""
    names = [f"r{i}" for i in range(resources)]
    res = [rng.choice([*names, None]) for _ in range(nodes)]
    edges = [(rng.randrange(max(0, v - 6), v), v, rng.randint(-1, 5), 0) for v in range(1, nodes)]
    for _ in range(rng.randint(1, max(1, nodes // 2))):
        a, b = rng.randrange(nodes), rng.randrange(nodes)
        edges.append((max(a, b), min(a, b), rng.randint(-2, 6), rng.randint(1, 3)))
    return DependenceGraph(res, edges, {name: rng.randint(1, units) for name in names})


def packed_graph(rng: random.Random, rings: int) -> DependenceGraph:
    """Small rings that contend for two single units: packing is all there is to it."""
    res: list[str] = []
    edges = []
    for _ in range(rings):
        base, size = len(res), rng.randint(1, 4)
        res += [rng.choice(("a", "b")) for _ in range(size)]
        for i in range(size):
            last = i == size - 1
            edges.append((base + i, base + (i + 1) % size, rng.randint(0, 3), int(last)))
        edges.append((base, base + size - 1, -rng.randint(0, 3), 0))
    return DependenceGraph(res, edges, {"a": 1, "b": 1})


@st.composite
def small_graphs(draw: st.DrawFn, most: int = 5) -> DependenceGraph:
    """Any graph of up to `most` nodes that is legal, cycles of distance zero included."""
    count = draw(st.integers(1, most))
    node = st.integers(0, count - 1)
    edge = st.tuples(node, node, st.integers(-4, 5), st.integers(0, 2))
    nodes = draw(st.lists(st.sampled_from(["a", "b", None]), min_size=count, max_size=count))
    edges = draw(st.lists(edge, max_size=2 * most))
    limits = draw(st.fixed_dictionaries({"a": st.integers(1, 2), "b": st.just(1)}))
    while True:
        try:
            return DependenceGraph(nodes, edges, limits)
        except GraphError:  # a positive cycle of distance zero: iterate less often
            edges = [
                (src, dst, lat, dist + 1) if i == len(edges) - 1 else (src, dst, lat, dist)
                for i, (src, dst, lat, dist) in enumerate(edges)
            ][-1:] + edges[:-1]


def feasible_by_force(graph: DependenceGraph, ii: int) -> bool:
    """Whether a schedule at `ii` exists, by trying all slots of all nodes.

    With the slots given, start = slot + ii * stage, and the stages are a system of
    difference constraints: solvable unless a cycle is positive.
    """
    for slots in itertools.product(range(ii), repeat=len(graph.nodes)):
        taken: dict[tuple[str, int], int] = {}
        for name, slot in zip(graph.nodes, slots, strict=True):
            if name in graph.limits:
                taken[name, slot] = taken.get((name, slot), 0) + 1
        if any(count > graph.limits[name] for (name, _), count in taken.items()):
            continue
        if _stages_exist(graph, ii, slots):
            return True
    return False


def _stages_exist(graph: DependenceGraph, ii: int, slots: tuple[int, ...]) -> bool:
    stage = [0] * len(slots)
    for _ in range(len(slots) + 1):
        changed = False
        for src, dst, latency, distance in graph.edges:
            least = stage[src] - (slots[dst] - slots[src] - latency) // ii - distance
            if least > stage[dst]:
                stage[dst] = least
                changed = True
        if not changed:
            return True
    return False
