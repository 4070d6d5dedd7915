"""SSA repair: every use of a value with several definitions names the one that reaches it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nvir
from nvir.analysis.held import held_in_place
from nvir.ir import Builder, Module
from nvir.ir.block import Block
from nvir.ir.cfg import successors
from nvir.ir.clone import clone_blocks, clone_module
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.opcodes.form import form
from nvir.ir.ssa.repair import obstacle, repair
from nvir.ir.types import CC, SCALARS
from nvir.ir.values import Undef, integer
from tests.effort import effort
from tests.equivalence import same_behaviour
from tests.kernels import random_kernel
from tests.passes.test_nvvm_level import build
from tests.wild_kernels import wild_kernel


def read(text: str) -> Function:
    return nvir.read_ptx(f"""
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n)
{{
.reg .pred %p<9>; .reg .b32 %r<30>; .reg .f32 %f<9>; .reg .u32 %u<9>; .reg .b64 %rd<9>;
{text}
}}
""")["k"]


def value(f: Function, name: str) -> Any:
    """The only value of this name that is no phi."""
    (found,) = [r for i in f.instructions() for r in i.results if r.name == name and not i.is_phi]
    return found


def block(f: Function, name: str) -> Block:
    (found,) = [b for b in f.blocks if b.name == name]
    return found


def define(b: Block, literal: int, type: str = "b32") -> Instruction:
    """Another definition, a move, at the end of a block."""
    last = b.last
    assert last is not None
    i = Instruction(form("mov.b32", "%s, %s"), (integer(literal),), SCALARS[type], "%d")
    i.insert_before(last)
    return i


DIAMOND = """
    ld.param.u32 %r1, [n];
    setp.lt.u32 %p1, %r1, 5;
    add.u32 %r2, %r1, 1;
    @%p1 bra LEFT;
    bra RIGHT;
LEFT:
    bra JOIN;
RIGHT:
    bra JOIN;
JOIN:
    add.u32 %r3, %r2, 7;
    @%p1 add.u32 %r2, %r3, 1;
    st.global.u32 [1024], %r3;
    st.global.u32 [1028], %r2;
    ret;
"""


def test_a_join_of_two_definitions_gets_a_phi() -> None:
    """Sources and fallbacks alike name it; where only one definition reaches there is none."""
    f = read(DIAMOND)
    v = next(i for i in f.instructions() if i.name == "%r2")
    d = define(block(f, "LEFT"), 3)
    (phi,) = repair(f, {v: {block(f, "LEFT"): d}})
    nvir.verify(f)
    assert phi.block is block(f, "JOIN")
    assert {b.name: x for x, b in phi.incoming} == {"LEFT": d, "RIGHT": v}
    assert phi.use_count == 2
    assert any(phi in i.fallbacks for i in f.instructions())
    assert phi.name == "%r2"


def test_no_phi_where_one_definition_covers_the_other() -> None:
    """Near miss: both sides lead to the new definition before any use."""
    f = read(DIAMOND.replace("JOIN:", "JOIN: bra LAST;\nLAST:"))
    v = next(i for i in f.instructions() if i.name == "%r2")
    d = define(block(f, "JOIN"), 3)
    assert repair(f, {v: {block(f, "JOIN"): d}}) == []
    nvir.verify(f)
    assert not v.has_uses
    assert d.use_count == 2


def test_no_phi_where_the_variable_is_dead() -> None:
    """Definitions meet in JOIN, but nobody asks there: SSA is pruned."""
    f = read(DIAMOND.replace("%r2, 7", "%r1, 7").replace("@%p1 add", "add"))
    v = next(i for i in f.instructions() if i.name == "%r2")
    d = define(block(f, "LEFT"), 3)
    assert repair(f, {v: {block(f, "LEFT"): d}}) == []
    assert not d.has_uses


LOOP = """
    ld.param.u32 %r1, [n];
    mov.u32 %r2, 0;
    mov.u32 %r9, 4;
OUTER:
    mov.u32 %r3, 0;
INNER:
    add.u32 %r3, %r3, %r9;
    setp.lt.u32 %p1, %r3, %r1;
    @%p1 bra INNER;
    bra AFTER;
AFTER:
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p2, %r2, %r1;
    @%p2 bra OUTER;
    st.global.u32 [1024], %r9;
    ret;
"""


def test_a_definition_in_a_loop_gets_a_phi_at_its_header_only() -> None:
    """Redefined behind the inner loop: a phi at OUTER, none at INNER although it is one that a
    retreating edge enters (the sweep is repeated for OUTER's)."""
    f = read(LOOP)
    v = value(f, "%r9")
    d = define(block(f, "AFTER"), 5)
    (phi,) = repair(f, {v: {block(f, "AFTER"): d}})
    nvir.verify(f)
    assert phi.block is block(f, "OUTER")
    assert [u.block.name for u in phi.users] == ["INNER"]
    assert [u.form.name for u in d.users] == ["phi", "st"]
    assert [u.form.name for u in v.users] == ["phi"]


def test_a_use_in_a_block_with_a_definition_means_its_head() -> None:
    f = read(LOOP)
    v = value(f, "%r9")
    d = define(block(f, "INNER"), 5)  # behind the add
    phis = repair(f, {v: {block(f, "INNER"): d}})
    nvir.verify(f)
    assert [p.block.name for p in phis] == ["OUTER", "INNER"]
    assert set(phis[0].operands) == {v, d}
    assert set(phis[1].operands) == {phis[0], d}
    add = next(i for i in block(f, "INNER") if i.form.name == "add")
    assert phis[1] in add.operands
    assert [u.form.name for u in d.users] == ["phi", "phi", "st"]


def test_a_value_without_a_place_has_only_the_given_definitions() -> None:
    """The phi of a header that was taken out; a path without any definition is undefined."""
    f = read(LOOP)
    v = value(f, "%r9")
    v.remove()
    d = define(block(f, "AFTER"), 5)
    (phi,) = repair(f, {v: {block(f, "AFTER"): d}})
    nvir.verify(f)
    assert not v.has_uses
    assert {type(x) for x in phi.operands} == {Undef, Instruction}


def test_spellings_that_differ_become_their_class() -> None:
    """A f32 definition of a u32 variable: the phi is b32; equal ones keep their spelling."""
    for spelling, wanted in (("f32", "b32"), ("u32", "u32")):
        f = read(DIAMOND.replace("%r2", "%u2"))
        v = next(i for i in f.instructions() if i.name == "%u2")
        (phi,) = repair(f, {v: {block(f, "LEFT"): define(block(f, "LEFT"), 3, spelling)}})
        nvir.verify(f)
        assert (v.type.name, phi.type.name) == ("u32", wanted)


def test_what_cannot_stand_is_refused() -> None:
    f = read(DIAMOND)
    v = next(i for i in f.instructions() if i.name == "%r2")
    left = block(f, "LEFT")
    with pytest.raises(ValueError, match="5 cannot stand for %r2"):
        repair(f, {v: {left: integer(5)}})
    with pytest.raises(ValueError, match="cannot stand for %r2"):
        repair(f, {v: {left: value(f, "%p1")}})
    with pytest.raises(ValueError, match="own block"):
        repair(f, {v: {f.entry: define(f.entry, 3)}})


def test_carry_flags_and_held_registers_are_obstacles() -> None:
    """No second definition for them across blocks; an ordinary value has no obstacle."""
    f = read("""
        ld.param.u32 %r1, [n];
        add.cc.u32 %r2, %r1, %r1;
        addc.u32 %r3, %r1, 0;
        st.global.u32 [1024], %r3;
        ret;
    """)
    carry = next(r for i in f.instructions() for r in i.results if r.type is CC)
    assert obstacle(carry, frozenset()) == "a carry flag crosses blocks"
    assert obstacle(value(f, "%r3"), frozenset()) is None
    assert "asynchronous" in str(obstacle(value(f, "%r3"), {value(f, "%r3")}))
    with pytest.raises(ValueError, match="carry flag"):
        repair(f, {carry: {f.entry: carry}})


def test_the_nvvm_level() -> None:
    m = build("""
        entry:
          t: i1 = icmp slt a b
          x: i32 = add a b
          br t left right
        left:
          y: i32 = add x b
          br right
        right:
          z: i32 = add x b
          ret z
    """)
    f = m["f"]
    x, y = (next(i for i in f.instructions() if i.name == n) for n in "xy")
    (phi,) = repair(f, {x: {y.block: y}})
    nvir.verify(m)
    assert set(phi.operands) == {x, y}
    assert phi.form.op.level == "nvvm"


# ------------------------------------------------- tails copied at random


def escapes(v: Any, b: Block) -> bool:
    """Whether a value of a block is used past its end, in its own phis say."""
    return any(u.block is not b or u.is_phi for u in v.users)


def copyable(f: Function, b: Block) -> bool:
    """Whether a block may stand twice: none of its lanes meet, nothing is held, all can be
    repaired."""
    held = held_in_place(f)
    for i in b:
        if i.form.convergent or i.form.is_call or i.form.name == "debug.label":
            return False
        for r in i.results:
            if escapes(r, b) and obstacle(r, held):
                return False
    return b is not f.entry and len(b.preds) > 1 and b not in b.succs


def copy_tail(f: Function, b: Block, source: Block) -> None:
    """Give a predecessor a copy of a block of its own."""
    mapping: dict[Any, Any] = {}
    (copy,) = clone_blocks([b], mapping)
    for p in b.phis:  # the copy's keep one entry, that of its predecessor
        mapping[p].set_incoming([{q: v for v, q in p.incoming}[source]], [source])
    source.terminator.set_successor(b, copy)
    for p in b.phis:
        kept = [(v, q) for v, q in p.incoming if q is not source]
        p.set_incoming([v for v, _ in kept], [q for _, q in kept])
    for s in successors(b):
        for p in s.phis:
            v = next(v for v, q in p.incoming if q is b)
            p.add(mapping.get(v, v), copy)
    f.analyze_cfg()
    more = {r: {copy: mapping[r]} for i in b for r in i.results}
    repair(f, {v: d for v, d in more.items() if escapes(v, b)})


def copies_survive(seed: int, size: int = 30) -> int:
    rng = random.Random(seed)
    module = nvir.read_ptx((wild_kernel if seed % 2 else random_kernel)(seed, size))
    before = clone_module(module)
    f = module["k"]
    made = 0
    for _ in range(6):
        blocks = [b for b in f.rpo if copyable(f, b)]
        if not blocks:
            break
        b = rng.choice(blocks)
        source = rng.choice(b.preds)
        if source is b or source.rpo_index < 0:
            continue
        copy_tail(f, b, source)
        made += 1
        nvir.verify(module)
    same_behaviour(before, module, "k", seed)
    return made


@settings(max_examples=12)
@given(st.integers(0, 1 << 31))
def test_random_tails_copied_keep_the_behaviour(seed: int) -> None:
    copies_survive(seed)


@pytest.mark.slow
def test_many_random_tails() -> None:
    assert sum(copies_survive(seed, 40) for seed in range(300)) > 300


def test_cost_is_linear_in_the_code() -> None:
    """A chain of diamonds, a variable redefined in each: time per block does not grow."""
    def work(n: int) -> int:
        m = Module(target="sm_80")
        f = m.kernel("k", params=[("n", "u32")])
        b = Builder(f.block("entry"))
        x = b.add(b.load("param.u32", f.params[0]), 1, type="u32")
        p = b.op("setp.lt.u32", x, 3)
        more = {}
        for k in range(n):
            left, join = f.block(f"l{k}"), f.block(f"j{k}")
            b.cond_br(p, left, join)
            b = Builder(left)
            more[left] = b.add(1, 2, type="u32")
            b.br(join)
            b = Builder(join)
            b.store("global.u32", 1024, x)
        b.ret()
        f.analyze_cfg()
        made: list[Any] = []
        spent = effort(lambda: made.extend(repair(f, {x: more})))
        assert len(made) == n
        return spent

    assert work(800) < 4 * 1.5 * work(200)
