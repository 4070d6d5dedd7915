"""List schedules of blocks: every dependence and pipe held, shorter than in order, registers."""

from __future__ import annotations

from pathlib import Path

import pytest

from nvir.ptx.reader import read_ptx
from nvir.sm import list_schedule, profile, profile_for
from nvir.sm.listsched import dependences
from tests.effort import effort

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "ptx"
HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) {
.reg .pred %p<9>; .reg .f32 %f<99>; .reg .b32 %r<99>; .reg .b64 %d<9>;
ld.param.u64 %d1, [p];
"""


def block_of(body: str):
    return read_ptx(HEAD + body + "\nret;\n}\n").functions[0].blocks[0]


def check(made, machine):
    """What a schedule owes: an independent look at order, issue slots and pipes."""
    assert sorted(made.order) == list(range(len(made.operations)))
    for src, dst, cycles in dependences(made.operations, machine):
        assert made.times[dst] - made.times[src] >= cycles
    place = {n: k for k, n in enumerate(made.order)}
    for src, dst, _ in dependences(made.operations, machine):
        assert place[src] < place[dst]
    busy: dict[tuple[str, int], int] = {}
    issued: dict[int, int] = {}
    for n, t in enumerate(made.times):
        issued[t] = issued.get(t, 0) + 1
        operation = machine.operation(made.operations[n].family)
        assert made.pipe[n] in operation.pipes or (not operation.pipes and not made.pipe[n])
        for k in range(operation.interval if made.pipe[n] else 0):
            key = (made.pipe[n], t + k)
            busy[key] = busy.get(key, 0) + 1
            assert busy[key] <= machine.pipes[made.pipe[n]].units
    if machine.issue_width:
        assert max(issued.values(), default=0) <= machine.issue_width


@pytest.mark.parametrize("limit", [None, 4, 32])
@pytest.mark.parametrize("name", ["stencil.sm_80", "nbody.sm_80", "softmax.sm_90", "scan.sm_80"])
def test_schedules_of_the_examples_hold(name, limit):
    module = read_ptx(EXAMPLES / f"{name}.ptx")
    machine = profile_for(module.target)
    for function in module.functions:
        for block in function.blocks:
            check(list_schedule(block, machine, register_limit=limit), machine)


def test_loads_go_first_and_what_needs_them_last():
    body = """ld.global.f32 %f1, [%d1]; add.f32 %f2, %f1, 0f3F800000;
        ld.global.f32 %f3, [%d1+4]; add.f32 %f4, %f3, 0f3F800000;
        add.f32 %f5, %f2, %f4; st.global.f32 [%d1+8], %f5;"""
    made = list_schedule(block_of(body), profile("sm_80"))
    issued = [made.operations[n].family for n in made.order]
    assert issued == ["LDG", "LDG", "FADD", "FADD", "FADD", "STG", "EXIT"]
    load = profile("sm_80").latency("LDG")
    assert made.length < 2 * load  # the two wait together


def test_a_register_limit_is_kept_where_an_order_allows_it():
    loads = "".join(f"ld.global.f32 %f{k}, [%d1+{4 * k}];" for k in range(1, 41))
    sums = "mov.f32 %f50, %f1;" + "".join(f"add.f32 %f50, %f50, %f{k};" for k in range(2, 41))
    block = block_of(loads + sums + "st.global.f32 [%d1], %f50;")
    free = list_schedule(block, profile("sm_80"), level="dram")
    tight = list_schedule(block, profile("sm_80"), register_limit=8, level="dram")
    assert free.max_live > 20
    assert tight.max_live <= 9
    assert tight.length > free.length


def test_stores_and_loads_that_may_meet_keep_their_order():
    body = """ld.global.u64 %d2, [%d1]; st.global.f32 [%d2], %f1; ld.global.f32 %f2, [%d1+64];
        st.global.f32 [%d1+128], %f2;"""
    made = list_schedule(block_of("mov.f32 %f1, 0f3F800000;" + body), profile("sm_80"))
    issued = [made.operations[n].parent.form.name for n in made.order if made.operations[n].family]
    assert issued.index("st") < [k for k, n in enumerate(issued) if n == "ld"][1]


def test_barriers_part_accesses():
    body = "st.global.f32 [%d1], 0f00000000; bar.sync 0; ld.global.f32 %f2, [%d1+64];" \
        "st.global.f32 [%d1+128], %f2;"
    made = list_schedule(block_of(body), profile("sm_80"))
    assert [made.operations[n].family for n in made.order] == ["STG", "BAR", "LDG", "STG", "EXIT"]


def test_an_empty_block_has_an_empty_schedule():
    made = list_schedule(block_of("").function.blocks[0], profile("sm_80_notes"))
    assert [op.family for op in made.operations] == ["EXIT"]
    assert made.length == 1


@pytest.mark.parametrize("limit", [None, 8])
def test_the_work_grows_as_the_operations_do_however_many_are_ready(limit):
    def work(n):
        body = "".join(f"add.u32 %r{k}, %r{k}, %r{k + 1};" for k in range(1, n))
        text = HEAD.replace("%r<99>", f"%r<{n + 1}>") + body
        stores = "".join(f"st.shared.u32 [{4 * k}], %r{k};" for k in range(1, 9))
        block = read_ptx(text + stores + "ret;\n}\n").functions[0].blocks[0]
        return effort(lambda: list_schedule(block, profile("sm_80"), register_limit=limit))

    work(100)
    assert work(2_000) < 5 * work(500)


def test_stores_to_places_of_one_object_cost_no_more_each_where_there_are_more():
    def work(n):
        block = block_of("".join(f"st.global.u32 [%d1+{4 * k}], %r1;" for k in range(n)))
        return effort(lambda: list_schedule(block, profile("sm_80")))

    work(100)
    assert work(2_000) < 5 * work(500)
