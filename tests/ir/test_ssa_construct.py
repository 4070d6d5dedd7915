"""Construction of SSA on graphs of numbers: where phis stand, and what arrives at them."""

from __future__ import annotations

import random

import networkx as nx
import pytest

from nvir.ir.cfg import dominator_tree
from nvir.ir.errors import Unsupported
from nvir.ir.ssa.construct import dominance_frontiers, place_phis, rename

DIAMOND = [[], [0], [1], [1], [2, 3]]  # 1 forks to 2 and 3, which meet in 4


def phis(preds, reads, writes):
    return place_phis(preds, dominator_tree(preds), reads, writes, "f")


def test_two_writes_that_meet_need_a_phi():
    assert phis(DIAMOND, {0: [4]}, {0: [2, 3]}) == [[], [], [], [], [0]]


def test_a_variable_that_nobody_reads_later_needs_none():
    assert phis(DIAMOND, {0: [3]}, {0: [1, 2]}) == [[]] * 5


def test_one_write_above_all_reads_needs_none():
    assert phis(DIAMOND, {0: [2, 4]}, {0: [1]}) == [[]] * 5


def test_one_write_on_one_way_meets_what_was_before():
    assert phis(DIAMOND, {0: [4]}, {0: [2]})[4] == [0]


def test_what_arrives_is_the_last_write_on_each_way():
    written = {1: "a", 2: "b"}
    seen = {}

    def visit(b, undo):
        seen[b] = values[0]
        if b in written:
            undo.append((0, values[0]))
            values[0] = written[b]

    values = ["undefined"]
    tree = dominator_tree(DIAMOND)
    found = phis(DIAMOND, {0: [4]}, {0: [1, 2]})
    arriving = rename(DIAMOND, tree.idom, found, [[], [], [], [], ["phi"]], values, visit)
    assert arriving[4] == [{2: "b", 3: "a"}]
    assert (seen[3], seen[4], values) == ("a", "phi", ["undefined"])


def test_frontiers_are_networkx_s():
    rng = random.Random(3)
    for _ in range(60):
        n = rng.randrange(3, 20)
        graph = nx.DiGraph((rng.randrange(k), k) for k in range(1, n))
        graph.add_edges_from((rng.randrange(n), rng.randrange(1, n)) for _ in range(n))
        order = list(reversed(list(nx.dfs_postorder_nodes(graph, 0))))
        number = {b: k for k, b in enumerate(order)}
        preds = [sorted(number[p] for p in graph.predecessors(b)) for b in order]
        got = dominance_frontiers(preds, dominator_tree(preds).idom, "f")
        want = nx.dominance_frontiers(graph, 0)
        assert [set(x) for x in got] == [{number[x] for x in want[b]} for b in order]


def test_absurd_nests_are_refused():
    n = 2100
    preds = [[], *([k - 1] for k in range(1, n))]
    preds = [*preds, *([p, p - 1] for p in range(n, n + 1))]
    for k in range(1, n):
        preds[k] = [*preds[k], 2 * n - 1 - k] if k > 1 else preds[k]
    preds = preds[:n] + [[n + k - 1] for k in range(n - 1)]
    with pytest.raises(Unsupported, match="nested this deep"):
        dominance_frontiers(preds, dominator_tree(preds).idom, "f")
