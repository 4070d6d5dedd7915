"""Values: uses, replacing all uses, erasing, and which kinds are constants."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nvir.ir import Argument, Instruction, Module, Result, SymbolOffset, integer, undef
from nvir.ir.block import Block
from nvir.ir.opcodes.form import form
from nvir.ir.special import special_register
from nvir.ir.text.parse import parse_ir
from nvir.ir.types import B32, B64, F32, PRED, U32
from nvir.ir.values import constant, same_class

ADD = form("add.s32", "%s, %s, %s")


def empty() -> Block:
    return Module().kernel("k").block("entry")


def add(b: Block, x, y, name="%r1") -> Instruction:
    return b.append(Instruction(ADD, (x, y), B32, name))


def test_uses_count_operands_and_users_come_once():
    b = empty()
    x = add(b, integer(1), integer(2))
    assert not x.has_uses
    y = add(b, x, x)
    z = add(b, x, y)
    assert list(x.users) == [y, z]
    assert x.use_count == 3
    assert list(y.users) == [z]


@pytest.mark.seed("IR-18")
def test_replacing_all_uses_then_erasing_leaves_none():
    b = empty()
    x, w = add(b, integer(1), integer(2)), add(b, integer(3), integer(4))
    users = [add(b, x, x), add(b, integer(0), x), add(b, x, w)]
    x.replace_all_uses_with(w)
    assert not x.has_uses
    assert w.use_count == 5
    assert [u.operands for u in users] == [(w, w), (integer(0), w), (w, w)]
    x.erase()
    assert x.block is None
    assert x not in b.instructions


@pytest.mark.seed("IR-18")
def test_erasing_a_used_value_raises_and_changes_nothing():
    b = empty()
    x = add(b, integer(1), integer(2))
    y = add(b, x, integer(1))
    with pytest.raises(ValueError, match="has uses"):
        x.erase()
    assert b.instructions == [x, y]
    assert y.operands[0] is x


def test_a_phi_that_names_itself_can_be_erased():
    b = empty()
    phi = b.insert_phi(Instruction(form("phi"), (), B32, "%r1", ()))
    phi.add(phi, b)
    phi.erase()
    assert b.instructions == []


def test_replacing_checks_the_register_class():
    b = empty()
    x = add(b, integer(1), integer(2))
    with pytest.raises(TypeError, match="cannot replace a b32 by a b64"):
        x.replace_all_uses_with(undef(B64))
    assert same_class(U32, F32)
    assert not same_class(B32, PRED)


def test_replacing_a_value_by_itself_is_nothing():
    b = empty()
    x = add(b, integer(1), integer(2))
    y = add(b, x, x)
    x.replace_all_uses_with(x)
    assert x.use_count == 2
    assert y.operands == (x, x)


@pytest.mark.seed("IR-07")
def test_a_result_resolves_to_the_one_instruction_that_makes_it():
    b = empty()
    v = b.append(Instruction(form("ld.global.v2.u32", "{%s, %s}, [%s]"), (undef(B64),)))
    v.set_results([B32, B32], ["%r1", "%r2"])
    one = add(b, *v.results)
    assert one.definer is one
    assert [r.definer for r in v.results] == [v, v]
    assert [r.index for r in v.results] == [0, 1]
    assert all(isinstance(r, Result) and list(r.users) == [one] for r in v.results)
    assert undef(B32).definer is None


@pytest.mark.seed("IR-07")
def test_two_definitions_of_one_register_are_two_values_and_a_phi():
    """A register written on two paths has no single definition: what is read is a phi."""
    m = parse_ir(
        "module ori target sm_80 version 8.0 address_size 64\n"
        "kernel @k() {\n"
        "a:\n  %p1: pred = setp.eq.s32 1, 2\n  @%p1 bra b else c\n"
        "b:\n  %r1: b32 = mov.b32 1\n  bra d\n"
        "c:\n  %r1~2: b32 = mov.b32 2\n  bra d\n"
        "d:\n  %r1~3: b32 = phi [%r1, b], [%r1~2, c]\n  ret\n"
        "}\n"
    )
    one, two, read = (next(iter(block)) for block in m["k"].blocks[1:])
    assert one.name == two.name == read.name == "%r1"
    assert read.is_phi
    assert [v.definer for v in read.operands] == [one, two]


@pytest.mark.seed("IR-19")
def test_which_kinds_are_constants():
    m = Module()
    g = m.variable("x", "global", "u32")
    f = m.kernel("k")
    b = f.block("entry")
    constants = [integer(1), constant(F32, 0), undef(B32), g, f, SymbolOffset(g, 4)]
    others = [add(b, integer(1), integer(1)), Argument(B32, "%a"), special_register("%tid.x")]
    assert all(v.is_constant for v in constants)
    assert not any(v.is_constant for v in others)


def test_literals_are_one_object_each():
    assert integer(7) is integer(7) is not integer(-7)
    assert constant(F32, 7) is not integer(7)
    assert undef(B32) is undef(B32) is not undef(F32)


def test_shared_values_keep_no_uses():
    b = empty()
    add(b, integer(1), undef(B32))
    assert not integer(1).has_uses
    assert not undef(B32).is_tracked
    assert list(integer(1).users) == []


def test_moving_keeps_uses_and_order():
    b = empty()
    x, y, z = (add(b, integer(k), integer(k)) for k in range(3))
    z.move_before(x)
    assert b.instructions == [z, x, y]
    assert list(reversed(b)) == [y, x, z]
    x.remove()
    x.insert_after(y)
    assert b.instructions == [z, y, x]
    with pytest.raises(ValueError, match="unplaced"):
        x.insert_before(y)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 7), st.integers(0, 7)), max_size=40))
@settings(max_examples=200)
def test_uses_always_agree_with_operands(steps):
    """Any sequence of operand edits, replacements and erasures."""
    b = empty()
    live = [add(b, integer(0), integer(0)) for _ in range(8)]
    for what, j, k in steps:
        x, y = live[j], live[k]
        if what == 0:
            x.set_operand(k & 1, y)
        elif what == 1:
            x.set_operands((y, live[(j + k) % 8]))
        elif what == 2:
            x.replace_all_uses_with(y)
        elif what == 3:
            x.replace_operand(y, integer(3))
        elif not any(u is not x for u in x.users):
            x.erase()
            live[j] = add(b, y if y is not x else integer(1), integer(1))
        for v in live:
            named = {u: u.operands.count(v) for u in live if v in u.operands}
            assert set(v.users) == set(named)
            assert v.use_count == sum(named.values())
