"""Divergence: the sources, what stays uniform, and joins and loops against running two lanes."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nvir
from nvir.analysis.divergence import Divergence, divergence
from nvir.ir import Block, Function, Instruction, Module, Value, integer
from nvir.ir.opcodes.form import form
from nvir.ir.special import special_register
from nvir.ir.types import PRED, U32
from nvir.ir.values import Constant, SpecialRegister

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n.shared .align 4 .b8 tile[64];\n"
REGS = ".reg .b32 %r<99>; .reg .b64 %rd<99>; .reg .pred %p<9>; .reg .f32 %f<9>;\n"


def analyse(body: str, kind: str = ".visible .entry", directives: str = "") -> Divergence:
    head = f"{HEAD}{kind} k(.param .u64 a, .param .u32 n)\n{directives}\n"
    text = f"{head}{{\n{REGS}{body}\nret;\n}}\n"
    f = nvir.read_ptx(text).functions[0]
    f.analyze_cfg()
    return divergence(f)


def diverges(d: Divergence, name: str) -> bool:
    found = [r for i in d.function.instructions() for r in i.results if r.name == name]
    return d.is_divergent(found[-1])


@pytest.mark.parametrize(
    ("code", "divergent"),
    [
        ("mov.u32 %r1, %tid.x;", True),
        ("mov.u32 %r1, %laneid;", True),
        ("mov.u32 %r1, %ctaid.x;", False),
        ("mov.u32 %r1, %ntid.x;", False),
        ("ld.param.u32 %r1, [n];", False),
        ("mov.u32 %r2, %tid.x; vote.sync.ballot.b32 %r1, %p1, -1;", False),
        ("mov.u32 %r2, %tid.x; redux.sync.add.u32 %r1, %r2, -1;", False),
        ("mov.u32 %r2, %tid.x; shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;", False),
        ("mov.u32 %r2, %tid.x; shfl.sync.idx.b32 %r1, %r2, 0, 0x1c1f, -1;", True),
        ("mov.u32 %r2, %tid.x; shfl.sync.idx.b32 %r1, %r2, %r2, 31, -1;", True),
        ("mov.u32 %r2, %tid.x; shfl.sync.down.b32 %r1, %r2, 1, 31, -1;", True),
        ("ld.param.u64 %rd1, [a]; ld.global.u32 %r1, [%rd1];", False),
        ("ld.param.u64 %rd1, [a]; ld.u32 %r1, [%rd1];", False),
        ("ld.param.u64 %rd1, [a]; ld.global.u64 %rd2, [%rd1]; ld.u32 %r1, [%rd2];", True),
        ("ld.param.u64 %rd1, [a]; ld.volatile.global.u32 %r1, [%rd1];", True),
        ("ld.param.u64 %rd1, [a]; mov.u32 %r2, %tid.x; cvt.u64.u32 %rd2, %r2;"
         "add.s64 %rd3, %rd1, %rd2; ld.global.u32 %r1, [%rd3];", True),
        ("ld.param.u64 %rd1, [a]; atom.global.add.u32 %r1, [%rd1], 1;", True),
        ("ld.shared.u32 %r1, [tile];", False),
        ("mov.u32 %r2, %tid.x; setp.eq.u32 %p2, %r2, 0;"
         "mov.u32 %r1, 1; @%p2 mov.u32 %r1, 2;", True),
        ("ld.param.u32 %r2, [n]; setp.eq.u32 %p2, %r2, 0;"
         "mov.u32 %r1, 1; @%p2 mov.u32 %r1, 2;", False),
    ],
)
def test_sources_and_data(code: str, divergent: bool) -> None:
    assert diverges(analyse(code), "%r1") is divergent


def test_parameters_of_a_device_function_differ() -> None:
    assert diverges(analyse("ld.param.u32 %r1, [n];", ".visible .func"), "%r1")


def test_rows_of_whole_warps_share_tid_y() -> None:
    code = "mov.u32 %r1, %tid.y;"
    assert not diverges(analyse(code, directives=".reqntid 64, 4, 1"), "%r1")
    assert diverges(analyse(code, directives=".reqntid 16, 16, 1"), "%r1")
    assert diverges(analyse(code), "%r1")


BRANCH = """
    mov.u32 %r2, {source};
    setp.eq.u32 %p1, %r2, 0;
    mov.u32 %r1, 1;
    @%p1 bra{uni} JOIN;
    mov.u32 %r1, 2;
JOIN:
    add.u32 %r3, %r1, 1;
"""


def test_a_join_of_a_divergent_branch_differs_and_of_a_uniform_one_not() -> None:
    divergent = analyse(BRANCH.format(source="%tid.x", uni=""))
    assert diverges(divergent, "%r3")
    assert [b.block.name for b in divergent.divergent_branches if b.block] == ["entry"]
    assert divergent.is_divergent_branch(divergent.function.entry)
    uniform = analyse(BRANCH.format(source="%ctaid.x", uni=""))
    assert not diverges(uniform, "%r3")
    assert uniform.divergent_branches == []
    assert analyse(BRANCH.format(source="%tid.x", uni=".uni")).divergent_branches == []


def test_code_behind_the_join_is_uniform_again() -> None:
    d = analyse(BRANCH.format(source="%tid.x", uni="") + """
        ld.param.u32 %r4, [n]; setp.eq.u32 %p2, %r4, 0; mov.u32 %r5, 1; @%p2 bra END;
        mov.u32 %r5, 2;
    END: add.u32 %r6, %r5, 1;""")
    assert not diverges(d, "%r6")


LOOP = """
    mov.u32 %r2, {bound};
    mov.u32 %r1, 0;
L:  add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, %r2;
    @%p1 bra L;
    add.u32 %r3, %r1, 1;
"""


def test_a_counter_is_uniform_in_a_loop_that_lanes_leave_apart_and_not_behind_it() -> None:
    d = analyse(LOOP.format(bound="%tid.x"))
    assert not diverges(d, "%r1")
    assert diverges(d, "%r3")
    assert [b.name for b in d.divergent_loops] == ["L"]
    counter = next(i for i in d.function.instructions() if i.form.name == "add")
    behind = next(reversed(d.function.blocks))
    assert d.is_divergent(counter, at=behind)
    assert not d.is_divergent(counter, at=counter.block)
    whole = analyse(LOOP.format(bound="%ntid.x"))
    assert not diverges(whole, "%r3")
    assert not whole.divergent_loops


def test_code_entered_sideways_counts_as_divergent() -> None:
    d = analyse("""
        ld.param.u32 %r2, [n]; setp.eq.u32 %p1, %r2, 0; mov.u32 %r1, 0;
        @%p1 bra B;
    A:  add.u32 %r1, %r1, 1;
    B:  add.u32 %r1, %r1, 2;
        setp.lt.u32 %p2, %r1, %r2;
        @%p2 bra A;""")
    assert diverges(d, "%r1")


def test_many_nested_loops_need_no_recursion() -> None:
    depth = 600
    heads = "".join(f"mov.u32 %r{k}, 0; L{k}:" for k in range(10, 10 + depth))
    tails = "".join(
        f"add.u32 %r{k}, %r{k}, 1; setp.lt.u32 %p1, %r{k}, %r2; @%p1 bra L{k};"
        for k in reversed(range(10, 10 + depth))
    )
    text = f"{HEAD}.visible .entry k()\n{{.reg .b32 %r<{depth + 20}>; .reg .pred %p<3>;\n"
    d = divergence(nvir.read_ptx(f"{text}mov.u32 %r2, %tid.x;{heads}{tails}ret;}}\n").functions[0])
    assert len(d.divergent_loops) == depth


# ------------------------------------------------------------- against two lanes

ADD, PHI, BRA, RET = form("add.u32", "%s, %s, %s"), form("phi"), form("bra"), form("ret")
BRANCH_IF, SETP = form("bra", "", ""), form("setp.lt.u32", "%s, %s, %s")
TID = special_register("%tid.x")
NTID = special_register("%ntid.x")


def random_function(rng: random.Random) -> Function:
    """Random blocks, each with a phi of each of three variables, an addition and a branch."""
    f = Module().kernel("k")
    blocks = [f.block(f"b{k}") for k in range(rng.randint(3, 8))]
    assert TID is not None
    assert NTID is not None
    ends: dict[Block, list[Value]] = {}
    preds: dict[Block, list[Block]] = {b: [] for b in blocks}
    targets: dict[Block, tuple[Block, ...]] = {}
    for k, b in enumerate(blocks):
        if k == len(blocks) - 1:
            targets[b] = ()
        elif rng.random() < 0.25:
            targets[b] = (blocks[rng.randrange(k + 1, len(blocks))],)
        else:
            other = blocks[rng.randrange(1, len(blocks))]
            targets[b] = tuple(dict.fromkeys((other, blocks[k + 1])))
        for t in targets[b]:
            preds[t].append(b)
    for b in blocks:
        values: list[Value] = []
        for _ in range(3):
            if preds[b]:
                values.append(b.append(Instruction(PHI, (), U32, None, ())))
            else:
                values.append(integer(rng.randrange(5)))
        fresh = rng.choice([*values, TID, NTID, integer(1)])
        slot = rng.randrange(3)
        values[slot] = b.append(Instruction(ADD, (rng.choice(values), fresh), U32))
        ends[b] = values
        if len(targets[b]) == 2:
            p = b.append(Instruction(SETP, (rng.choice(values), integer(rng.randrange(9))), PRED))
            b.append(Instruction(BRANCH_IF, (p,), aux=targets[b]))
        elif targets[b]:
            b.append(Instruction(BRA, aux=targets[b]))
        else:
            b.append(Instruction(RET))
    for b in blocks:
        for slot, phi in enumerate(b.phis):
            phi.set_incoming([ends[p][slot] for p in preds[b]], preds[b])
    f.analyze_cfg()
    return f


def trace(f: Function, tid: int) -> dict[tuple[Value, tuple[int, ...]], int]:
    """What each instruction made in one lane, by how often the loops around it had turned."""
    loops = f.loops()
    around = {b: [x for x in loops if b in x] for b in f.blocks}
    turns: dict[Block, int] = {}
    env: dict[Value, int] = {}
    seen: dict[tuple[Value, tuple[int, ...]], int] = {}

    def read(v: Value) -> int:
        if isinstance(v, Constant):
            return int(v.value)
        if isinstance(v, SpecialRegister):
            return tid if v is TID else 64
        return env[v]

    block, came = f.entry, None
    for _ in range(150):
        for x in around[block]:
            if block is x.header:
                inside = came is not None and came in x
                turns[block] = turns[block] + 1 if inside else 0
        key = tuple(turns[x.header] for x in around[block])
        phis = [(p, read({b: v for v, b in p.incoming}[came])) for p in block.phis if came]
        env.update(phis)
        for i in block:
            if i.form is ADD:
                env[i] = read(i.operands[0]) + read(i.operands[1]) & 0xFFFFFFFF
            elif i.form is SETP:
                env[i] = read(i.operands[0]) < read(i.operands[1])
            if i.type.bits:
                seen[i, key] = env[i]
        last = block.terminator
        if last is None or not last.aux:
            break
        goes = read(last.operands[0]) if last.operands else 1
        came, block = block, last.aux[0 if goes else 1]
    return seen


@settings(max_examples=300)
@given(st.integers(0, 10**9))
def test_uniform_values_agree_between_lanes(seed: int) -> None:
    """Lanes that run an instruction in the same turn of its loops agree where it is uniform."""
    rng = random.Random(seed)
    f = random_function(rng)
    d = divergence(f)
    lanes = [trace(f, tid) for tid in (0, 1, 3, 7)]
    for one in lanes[1:]:
        for place, value in one.items():
            if place in lanes[0] and not d.is_divergent(place[0]):
                assert lanes[0][place] == value, (str(place[0]), str(f))
