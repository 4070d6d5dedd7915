"""Dependence graphs of loops: registers, memory, barriers, control, and their schedules."""

from __future__ import annotations

from pathlib import Path

import pytest

from nvir.ir.errors import NvirError, Unsupported
from nvir.ir.loops import natural_loops
from nvir.ptx.reader import read_ptx
from nvir.sm import (
    DependenceGraph,
    GraphError,
    check_schedule,
    graph_dot,
    loop_graph,
    minimum_ii,
    modulo_schedule,
    profile,
    profile_for,
    schedule_loop,
)

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples" / "ptx").glob("*.ptx"))

LOOP = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {{
.reg .pred %p<9>; .reg .b32 %r<19>; .reg .f32 %f<29>; .reg .b64 %d<19>;
.shared .align 4 .b8 tile[4096];
ld.param.u64 %d1, [p]; ld.param.u64 %d2, [q]; ld.param.u32 %r9, [n];
cvta.to.global.u64 %d1, %d1; cvta.to.global.u64 %d2, %d2;
mov.u32 %r1, 0; mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f3F800000;
L:
{body}
add.s32 %r1, %r1, 1;
setp.lt.s32 %p1, %r1, {bound};
@%p1 bra L;
st.global.f32 [%d2], %f1;
ret;
}}
"""


def loop_of(body: str, bound: str = "%r9"):
    function = read_ptx(LOOP.format(body=body, bound=bound)).functions[0]
    function.analyze_cfg()
    return natural_loops(function)[0]


def graph_of(body: str, arch: str = "sm_80", **options):
    return loop_graph(loop_of(body), profile(arch), **options)


def edges(found, source: str, target: str):
    """(latency, distance) of the edges between two families."""
    ops = found.operations
    return [
        (latency, distance)
        for src, dst, latency, distance in found.graph.edges
        if ops[src].family == source and ops[dst].family == target
    ]


@pytest.mark.seed("SWP-08", "SWP-09")
def test_an_accumulator_is_a_recurrence_of_its_latency():
    made = schedule_loop(graph_of("add.f32 %f1, %f1, %f2;"))
    assert edges(made.graph, "FADD", "FADD") == [(4, 1)]
    assert made.rec_mii == 4
    assert made.recurrence.distance == 1


def test_a_value_two_iterations_old_halves_the_recurrence():
    body = "mov.f32 %f5, %f3; mov.f32 %f3, %f1; fma.rn.f32 %f1, %f5, %f2, %f2;"
    function = LOOP.replace("mov.u32 %r1, 0;", "mov.u32 %r1, 0; mov.f32 %f3, %f2;")
    f = read_ptx(function.format(body=body, bound="%r9")).functions[0]
    f.analyze_cfg()
    found = loop_graph(natural_loops(f)[0], profile("sm_80"))
    assert edges(found, "FFMA", "FFMA") == [(4, 2)]


def test_latencies_are_those_between_the_two_pipes():
    found = graph_of("mul.lo.s32 %r2, %r1, %r9; xor.b32 %r3, %r2, %r1; st.shared.u32 [tile], %r3;")
    p = profile("sm_80")
    assert edges(found, "IMAD", "LOP3") == [(p.latency("IMAD", "LOP3"), 0)]
    assert edges(found, "ISETP", "BRA") == [(p.latency("ISETP", "BRA", guard=True), 0)]


@pytest.mark.parametrize(("offset", "distance"), [(4, 1), (8, 2), (40, 10)])
def test_distances_between_affine_accesses_are_computed(offset, distance):
    """What is stored now is loaded `distance` iterations later."""
    body = f"""mul.wide.s32 %d3, %r1, 4; add.s64 %d4, %d1, %d3;
        ld.global.f32 %f3, [%d4]; add.f32 %f4, %f3, %f2; st.global.f32 [%d4+{offset}], %f4;"""
    found = graph_of(body)
    assert (1, distance) in edges(found, "STG", "LDG")
    made = schedule_loop(found)
    assert check_schedule(made.graph.graph, made.ii, made.times, made.pipe) == []
    chain = found.profile.latency("LDG") + found.profile.latency("FADD", "STG") + 1
    assert made.rec_mii == max(4, -(-chain // distance))


def test_accesses_that_never_meet_do_not_wait():
    body = """mul.wide.s32 %d3, %r1, 4; add.s64 %d4, %d1, %d3;
        ld.global.f32 %f3, [%d4+4]; add.f32 %f4, %f3, %f2; st.global.f32 [%d4], %f4;"""
    found = graph_of(body)
    assert edges(found, "STG", "LDG") == []
    assert edges(found, "LDG", "STG") == [(1, 1)]  # the store overwrites what was loaded before


def test_unknown_addresses_are_taken_to_meet():
    body = """ld.global.u64 %d5, [%d1]; ld.global.f32 %f3, [%d5];
        add.f32 %f4, %f3, %f2; st.global.f32 [%d2], %f4;"""
    found = graph_of(body)
    assert {d for _, d in edges(found, "STG", "LDG")} == {1}
    shared = body.replace("st.global.f32 [%d2]", "st.shared.f32 [tile]")
    assert edges(graph_of(shared), "STS", "LDG") == []


def test_barriers_keep_accesses_on_their_side():
    body = "st.shared.f32 [tile], %f1; bar.sync 0; ld.shared.f32 %f3, [tile+4]; bar.sync 0;" \
        "add.f32 %f1, %f1, %f3;"
    found = graph_of(body)
    assert (1, 0) in edges(found, "STS", "BAR")
    assert (1, 1) in edges(found, "BAR", "STS")
    assert (1, 0) in edges(found, "BAR", "LDS")
    assert {d for _, d in edges(found, "BAR", "BAR")} == {0, 1}


def test_without_a_trip_count_accesses_wait_for_the_branch():
    body = "ld.global.u32 %r9, [%d1]; st.global.f32 [%d2], %f1;"
    found = graph_of(body)  # the bound is loaded anew each time
    assert (1, 1) in edges(found, "BRA", "STG")
    counted = graph_of("st.global.f32 [%d2], %f1;")
    assert edges(counted, "BRA", "STG") == []


def test_what_does_not_vary_is_hoisted():
    found = graph_of("mul.f32 %f5, %f2, 0f40490FDB; add.f32 %f6, %f5, %f5; add.f32 %f1, %f1, %f6;")
    assert [op.family for op in found.operations] == ["FADD", "IADD", "ISETP", "BRA"]


def test_loops_of_several_blocks_and_unknown_rows_are_refused():
    several = "setp.eq.s32 %p2, %r1, 3; @%p2 bra M; add.f32 %f1, %f1, %f2;\nM:"
    with pytest.raises(Unsupported, match="a loop of 3 blocks"):
        graph_of(several)
    with pytest.raises(Unsupported, match="no micro-operations for vavrg2"):
        graph_of("vavrg2.s32.s32.s32 %r3, %r1, %r9, %r1; st.global.u32 [%d2], %r3;")


@pytest.mark.seed("SWP-07", "SWP-11")
def test_the_notes_worked_example():
    """8 FP32 operations and 3 loads on widths 4 and 2: ResMII 2."""
    body = "".join(f"ld.global.f32 %f{k}, [%d1+{4 * k}];" for k in (3, 4, 5))
    body += "".join(f"fma.rn.f32 %f{k}, %f3, %f4, %f5;" for k in range(10, 17))
    body += "add.f32 %f1, %f1, %f10;"
    body += "".join(f"st.shared.f32 [tile+{4 * k}], %f{k};" for k in range(11, 17))
    found = graph_of(body, "sm_80_notes", policy="documented")
    fp32 = [p for p in found.pipes if p == ("FMA",)]
    assert len(fp32) == 8
    made = schedule_loop(found)
    busy = made.busy()
    assert -(-busy["FMA"] // 4) == 2
    assert -(-busy["LSU"] // 2) == 2
    assert check_schedule(made.graph.graph, made.ii, made.times, made.pipe) == []


def test_the_graph_goes_to_networkx_and_dot():
    found = graph_of("add.f32 %f1, %f1, %f2;")
    g = found.to_networkx()
    assert g.number_of_nodes() == len(found.operations)
    assert g.nodes[0]["family"] == "FADD"
    assert g.nodes[0]["pipes"] == ("FMA",)
    dot = graph_dot(found, [0] * len(found.operations))
    assert "digraph body" in dot
    assert '"%f1 4 +1", style=dashed' in dot


def test_every_register_edge_names_its_register():
    found = graph_of("add.f32 %f1, %f1, %f2; ld.global.f32 %f3, [%d1]; st.global.f32 [%d2], %f3;")
    for edge in range(len(found.graph.edges)):
        assert (found.edge_name(edge) is not None) == (edge in found.register_edges)


def single_block_loops(path):
    module = read_ptx(path)
    for function in module.functions:
        function.analyze_cfg()
        for loop in natural_loops(function):
            if len(loop.blocks) == 1:
                yield module.target, loop


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_schedules_of_the_examples_hold_and_are_near_their_bound(path):
    loops = list(single_block_loops(path))
    if not loops:
        pytest.skip("it has no loop of one block")
    for target, loop in loops:
        found = loop_graph(loop, profile_for(target))
        made = schedule_loop(found)
        assert check_schedule(found.graph, made.ii, made.times, made.pipe) == []
        assert made.mii <= made.ii <= 1.08 * made.mii


def test_the_examples_have_loops_of_one_block():
    assert sum(1 for path in EXAMPLES for _ in single_block_loops(path)) > 25


def test_a_wrong_schedule_is_told():
    made = schedule_loop(graph_of("add.f32 %f1, %f1, %f2;"))
    graph, ii, pipe = made.graph.graph, made.ii, list(made.pipe)
    assert check_schedule(graph, ii, [0 for _ in made.times], pipe)
    n = next(n for n, name in enumerate(pipe) if name)
    pipe[n] = "LSU"
    wrong = check_schedule(graph, ii, made.times, pipe)
    assert [(v.kind, v.nodes) for v in wrong] == [("pipe", (n,))]
    assert [v.kind for v in check_schedule(graph, ii, made.times)] == ["pipe"]


def test_a_pipe_that_is_busy_takes_nothing_else():
    """Two operations of three cycles on one pipe: four cycles hold one of them, six both."""
    graph = DependenceGraph(
        [None, None], [], pipes=[("p",), ("p",)], intervals=[3, 3], pipe_units={"p": 1}
    )
    assert minimum_ii(graph).mii == modulo_schedule(graph, solver="none").ii == 6
    assert check_schedule(graph, 6, [0, 3], ["p", "p"]) == []
    assert [v.kind for v in check_schedule(graph, 6, [0, 2], ["p", "p"])] == ["pipe"]
    assert check_schedule(graph, 5, [0, 3], ["p", "p"])
    with pytest.raises(GraphError, match="no pipe 'q'"):
        DependenceGraph([None], [], pipes=[("q",)], intervals=[1], pipe_units={"p": 1})
    with pytest.raises(GraphError, match="interval 0"):
        DependenceGraph([None], [], pipes=[("p",)], intervals=[0], pipe_units={"p": 1})


def test_an_empty_body_is_no_schedule():
    import attrs

    found = graph_of("add.f32 %f1, %f1, %f2;")
    with pytest.raises(NvirError, match="no operation is left"):
        schedule_loop(attrs.evolve(found, graph=DependenceGraph([], [])))
