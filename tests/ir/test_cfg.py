"""The CFG snapshot: against networkx on random graphs, and kept true by edits in place."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nvir.ir import Function, Instruction, Module, VerifyError, block, integer, undef
from nvir.ir.cfg import delete_block, insert_preheader, split_edge
from nvir.ir.loops import natural_loops, over_blocks
from nvir.ir.opcodes.form import form
from nvir.ir.types import B32, PRED
from tests.effort import effort


def build(edges: list[tuple[int, ...]], phis: bool = True) -> Function:
    """A function whose block k branches to `edges[k]`, or returns, with a phi at each join."""
    f = Function("f", "entry", Module())
    blocks = [f.block(f"b{k}") for k in range(len(edges))]
    for b, targets in zip(blocks, edges, strict=True):
        to = tuple(blocks[t] for t in targets)
        if not to:
            i = Instruction(form("ret"), aux=())
        elif len(to) == 1:
            i = Instruction(form("bra"), aux=to)
        elif len(to) == 2:
            i = Instruction(form("bra", "", ""), (undef(PRED),), aux=to)
        else:
            i = Instruction(form("brx.idx", "%s"), (integer(0),), aux=to)
        b.append(i)
    f.analyze_cfg()
    if phis:
        for b in blocks:
            if len(b.preds) > 1:
                values = tuple(integer(k) for k in range(len(b.preds)))
                b.insert_phi(Instruction(form("phi"), values, B32, "%x", tuple(b.preds)))
    return f


@st.composite
def graphs(draw: st.DrawFn, max_blocks: int = 12) -> list[tuple[int, ...]]:
    """Successors by block; the entry has no predecessors, blocks may be unreachable."""
    n = draw(st.integers(1, max_blocks))
    target = st.integers(1, n - 1) if n > 1 else st.nothing()
    one = st.lists(target, max_size=3).map(tuple) if n > 1 else st.just(())
    return draw(st.lists(one, min_size=n, max_size=n))


def annotations(f: Function) -> dict[str, object]:
    """The whole snapshot by block names; order within `preds` is left out, it is no promise."""
    return {
        "rpo": {b.name: b.rpo_index >= 0 for b in f.blocks},
        "preds": {b.name: {p.name for p in b.preds} for b in f.blocks},
        "succs": {b.name: [s.name for s in b.succs] for b in f.blocks},
        "idom": {b.name: b.idom.name if b.idom else None for b in f.blocks},
        "depth": {b.name: (b.loop_depth, b.loop_depth_equal) for b in f.blocks},
        "back": {b.name: {h.name for h in hs} for b, hs in f.back_edges.items()},
        "irreducible": {(a.name, b.name) for a, b in f.irreducible_edges},
        "dominates": {(a.name, b.name) for a in f.rpo for b in f.rpo if a.dominates(b)},
    }


def assert_rpo(f: Function) -> None:
    """Numbers agree with places; every edge but the retreating ones leads forward."""
    assert [b.rpo_index for b in f.rpo] == list(range(len(f.rpo)))
    retreating = {(b, h) for b, hs in f.back_edges.items() for h in hs} | set(f.irreducible_edges)
    for b in f.rpo:
        for s in b.succs:
            assert s.rpo_index > b.rpo_index or (b, s) in retreating
        if b.idom is not None:
            assert b.idom.rpo_index < b.rpo_index


def assert_phis(f: Function) -> None:
    for b in f.blocks:
        for phi in b.phis:
            assert len(phi.aux) == len(set(phi.aux))
            assert set(phi.aux) == set(b.preds)


# --------------------------------------------------------------- analysis


@pytest.mark.seed("IR-04", "IR-05")
@given(graphs())
@settings(max_examples=300)
def test_dominators_and_order_agree_with_networkx(edges):
    f = build(edges)
    g = nx.DiGraph()
    g.add_nodes_from(range(len(edges)))
    g.add_edges_from((k, t) for k, ts in enumerate(edges) for t in ts)
    expected = dict(nx.immediate_dominators(g, 0))
    expected.pop(0, None)
    number = {b: k for k, b in enumerate(f.blocks)}
    idom = {number[b]: number[d] for b, d in f.idom.items() if d is not None}
    assert idom == expected
    assert {number[b] for b in f.rpo} == {0} | nx.descendants(g, 0)
    assert_rpo(f)


@pytest.mark.seed("IR-02", "IR-03")
@given(graphs())
@settings(max_examples=200)
def test_loops_are_what_the_definition_says(edges):
    f = build(edges)
    headers = {}
    for b in f.rpo:
        for s in b.succs:
            if s.dominates(b):
                headers.setdefault(s, []).append(b)
    assert {(b, h) for b, hs in f.back_edges.items() for h in hs} == {
        (b, h) for h, bs in headers.items() for b in bs
    }
    bodies = {}
    for h, latches in headers.items():
        inside, work = {h}, list(latches)
        while work:
            b = work.pop()
            if b not in inside:
                inside.add(b)
                work.extend(p for p in b.preds if p.rpo_index >= 0)
        bodies[h] = inside
    loops = natural_loops(f)
    assert {loop.header: set(loop.blocks) for loop in loops} == bodies
    for b in f.rpo:
        assert b.loop_depth == b.loop_depth_equal == sum(b in body for body in bodies.values())
    for loop in loops:
        assert loop.blocks[0] is loop.header
        assert loop.exits == [(b, s) for b in loop.blocks for s in b.succs if s not in loop.blocks]
        assert loop.depth == loop.header.loop_depth
        assert set(loop.latches) == set(headers[loop.header])
        if loop.parent is not None:
            assert set(loop.blocks) < set(loop.parent.blocks)


@pytest.mark.seed("IR-01")
def test_depths_of_a_nest_and_its_lists():
    f = build([(1,), (2, 5), (3, 4), (2,), (1,), ()])
    assert [b.loop_depth for b in f.blocks] == [0, 1, 2, 2, 1, 0]
    assert [b.loop_depth_equal for b in f.blocks] == [0, 1, 2, 2, 1, 0]
    b = f.blocks
    assert b[1].preds == [b[0], b[4]]
    assert b[1].succs == (b[2], b[5])


@pytest.mark.seed("IR-03")
def test_a_while_loop_has_one_back_edge():
    f = build([(1,), (2, 3), (1,), ()])
    assert f.back_edges == {f.blocks[2]: (f.blocks[1],)}


@pytest.mark.seed("IR-06", "GAP-15")
def test_only_targets_of_back_edges_are_headers():
    """Blocks 2 and 3 are siblings of equal depth inside one loop; neither is a header."""
    f = build([(1,), (2, 3), (4,), (4,), (1, 5), ()])
    assert [loop.header for loop in natural_loops(f)] == [f.blocks[1]]
    assert f.blocks[2].loop_depth == f.blocks[3].loop_depth == 1


def test_a_loop_entered_sideways_is_no_natural_loop():
    f = build([(1, 2), (2, 3), (1,), ()])
    assert natural_loops(f) == []
    assert f.back_edges == {}
    assert len(f.irreducible_edges) == 1
    assert {b.loop_depth for b in f.blocks} == {0}


def test_unreachable_blocks_have_no_place():
    f = build([(2,), (2,), ()])
    dead = f.blocks[1]
    assert dead.rpo_index == -1
    assert dead.idom is None
    assert dead not in f.rpo
    assert not f.entry.dominates(dead)
    assert f.blocks[2].preds == [f.entry, dead]


def test_one_successor_named_twice_is_one_edge():
    f = build([(1, 1), ()])
    assert f.entry.succs == (f.blocks[1],)
    assert f.blocks[1].preds == [f.entry]


def test_a_chain_of_many_blocks_needs_no_recursion():
    n = 20_000
    f = Function("f", "entry", Module())
    f.blocks = [block.Block(f"b{k}", f) for k in range(n)]
    for a, b in zip(f.blocks, f.blocks[1:], strict=False):
        a.append(Instruction(form("bra"), aux=(b,)))
    branch = form("bra", "", "")
    f.blocks[-1].append(Instruction(branch, (undef(PRED),), aux=(f.blocks[1], f.blocks[-1])))
    f.analyze_cfg()
    assert f.rpo == f.blocks
    assert f.blocks[-1].loop_depth == 2


# ------------------------------------------------------------------ edits


@pytest.mark.seed("IR-20")
@given(graphs(), st.data())
@settings(max_examples=300)
def test_splitting_an_edge_keeps_the_snapshot(edges, data):
    f = build(edges)
    pairs = [(a, b) for a in f.blocks for b in a.succs]
    assume(pairs)
    for _ in range(2):
        source, target = data.draw(st.sampled_from(pairs))
        new = split_edge(source, target)
        assert f.cfg_state == "fresh"
        assert f.blocks[f.blocks.index(target) - 1] is new
        kept = annotations(f)
        assert_rpo(f)
        assert_phis(f)
        f.analyze_cfg()
        assert annotations(f) == kept
        pairs = [(a, b) for a in f.blocks for b in a.succs]


@pytest.mark.seed("IR-20")
@given(graphs(), st.data())
@settings(max_examples=300)
def test_inserting_a_preheader_keeps_the_snapshot(edges, data):
    f = build(edges)
    loops = [loop for loop in natural_loops(f) if loop.entries]
    assume(loops)
    loop = data.draw(st.sampled_from(loops))
    new = insert_preheader(loop.header, loop.entries, "pre")
    assert f.cfg_state == "fresh"
    kept = annotations(f)
    assert_rpo(f)
    assert_phis(f)
    f.analyze_cfg()
    assert annotations(f) == kept
    again = next(x for x in natural_loops(f) if x.header is loop.header)
    assert again.preheader is new


@pytest.mark.seed("IR-20")
@given(graphs(), st.data())
@settings(max_examples=200)
def test_deleting_a_block_keeps_the_snapshot_and_the_phis(edges, data):
    f = build(edges)
    dead = [b for b in f.blocks if not [p for p in b.preds if p is not b] and b is not f.entry]
    assume(dead)
    delete_block(data.draw(st.sampled_from(dead)))
    assert f.cfg_state == "fresh"
    kept = annotations(f)
    f.analyze_cfg()
    assert annotations(f) == kept
    assert_phis(f)


def test_a_preheader_joins_the_values_from_outside():
    f = build([(1, 2), (3,), (3,), (3, 4), ()])
    header = f.blocks[3]
    phi = next(header.phis)
    new = insert_preheader(header, [f.blocks[1], f.blocks[2]], "pre")
    joined = next(new.phis)
    assert joined.aux == (f.blocks[1], f.blocks[2])
    assert {b: v for v, b in phi.incoming}[new] is joined
    assert [v.value for v in joined.operands] == [0, 1]


def test_one_value_from_outside_needs_no_phi():
    f = build([(1, 2), (3,), (3,), (3, 4), ()], phis=False)
    header = f.blocks[3]
    values = (integer(7), integer(7), integer(8))
    phi = header.insert_phi(Instruction(form("phi"), values, B32, "%x", tuple(header.preds)))
    new = insert_preheader(header, [f.blocks[1], f.blocks[2]])
    assert list(new.phis) == []
    assert {b: v for v, b in phi.incoming}[new] is integer(7)


def test_deleting_a_block_whose_value_is_used_is_refused():
    f = build([(1,), ()])
    x = Instruction(form("mov.b32", "%s, %s"), (integer(1),), B32, "%r1")
    x.insert_before(f.entry.last)
    y = Instruction(form("mov.b32", "%s, %s"), (x,), B32, "%r2")
    y.insert_before(f.blocks[1].last)
    with pytest.raises(ValueError, match="%r1"):
        delete_block(f.entry)


@pytest.mark.seed("IR-05")
def test_a_stale_snapshot_raises_in_check_mode_only(monkeypatch):
    f = build([(1,), (2,), ()])
    f.blocks[0].last.set_successor(f.blocks[1], f.blocks[2])
    monkeypatch.setattr(block, "CHECK", False)
    assert f.blocks[2].preds == [f.blocks[1]]
    monkeypatch.setattr(block, "CHECK", True)
    with pytest.raises(VerifyError, match="analyze_cfg"):
        _ = f.blocks[2].preds
    with pytest.raises(VerifyError, match="analyze_cfg"):
        _ = f.rpo
    f.analyze_cfg()
    assert f.blocks[2].preds == [f.blocks[0], f.blocks[1]]


def test_many_exits_to_one_block_do_not_cost_the_square():
    """Meeting the dominators of n exits by walking would take n * n / 8 steps."""
    n = 4_000
    f = Function("f", "entry", Module())
    f.blocks = blocks = [block.Block(f"b{k}", f) for k in range(n)]
    for k, b in enumerate(blocks[:-1]):
        to = (blocks[k + 1] if k < n - 2 else blocks[1],)
        if k and (k % 4 == 0 or k == n - 2):
            to = (*to, blocks[-1])
        b.append(Instruction(form("bra", "", "" if len(to) > 1 else None),
                             (undef(PRED),) * (len(to) - 1), aux=to))
    blocks[-1].append(Instruction(form("ret"), aux=()))
    effort(f.analyze_cfg, most=200 * n)
    assert f.blocks[-1].idom is f.blocks[4]


def test_an_edge_that_is_not_there_is_refused_before_anything_changes():
    f = build([(1, 2), (2,), ()])
    with pytest.raises(ValueError, match="b2 does not branch to b1"):
        insert_preheader(f.blocks[1], [f.blocks[0], f.blocks[2]])
    assert [b.name for b in f.blocks] == ["b0", "b1", "b2"]
    assert f.blocks[0].terminator.aux == (f.blocks[1], f.blocks[2])


def test_exits_that_are_found_together_are_those_of_each_loop_alone():
    """Leaving two loops at once, a break between siblings, and a nest's own ends."""
    f = build([(1,), (2,), (3, 7), (2, 4, 5), (1, 7), (6,), (5, 1), ()])
    loops = natural_loops(f)
    for x in loops:
        inside = set(x.blocks)
        assert x.exits == [(b, s) for b in x.blocks for s in b.succs if s not in inside]
        assert x.own == [b for b in x.blocks if not any(b in c for c in x.children)]
    assert [len(x.exits) for x in loops] == [2, 3, 1]
    new = split_edge(f.blocks[2], f.blocks[7])  # the loops at hand are of before
    assert (f.blocks[2], new) in loops[0].exits


def test_a_figure_of_all_loops_of_a_nest_looks_at_each_block_once():
    f = build([(1,), (2,), (3,), (3, 2, 1, 4), ()])
    seen = []
    found = over_blocks(natural_loops(f), lambda b: seen.append(b) or 1, lambda n: sum(n))
    assert [found[x] for x in natural_loops(f)] == [3, 2, 1]
    assert len(seen) == 3


def test_loops_are_found_once_for_a_snapshot_and_again_after_an_edit():
    f = build([(1,), (1, 2), ()])
    (loop,) = natural_loops(f)
    assert natural_loops(f) == [loop]
    natural_loops(f).clear()  # the list is the caller's
    assert natural_loops(f) == [loop]
    latch = split_edge(f.blocks[1], f.blocks[1])
    (now,) = natural_loops(f)
    assert now is not loop
    assert now.latches == [latch]
    assert now.members == {f.blocks[1], latch} | set(now.blocks)
    assert latch in now
    assert f.blocks[0] not in now
