"""Copies are equal in everything and share nothing that changes."""

from __future__ import annotations

from typing import Any

import pytest

from nvir.ir.block import Block
from nvir.ir.clone import clone_blocks, clone_function, clone_module
from nvir.ir.equal import difference, equal_up_to_renaming
from nvir.ir.function import Function
from nvir.ir.instruction import CallInfo, Instruction, Location
from nvir.ir.module import Module
from nvir.ir.opcodes.form import form, nvvm_form
from nvir.ir.symbols import Variable
from nvir.ir.text.parse import parse_ir
from nvir.ir.text.print import print_ir
from nvir.ir.types import B32, I32, VOID, array, pointer, struct
from nvir.ir.values import Argument, Result, SymbolOffset, Value, constant, integer
from nvir.ir.verify import verify
from nvir.ptx.reader import read_ptx
from tests.corpus import examples, sample

LOOP = """\
module ori target sm_80 version 8.0 address_size 64
visible kernel @k(param @n: u32) {
entry:
  %r1: b32 = ld.param.u32 [@n]
  bra -> loop
loop: pragmas ("nounroll")
  %i: b32 = phi [0, entry], [%j, loop]
  %j: b32 = add.s32 %i, 1
  %p: pred = setp.lt.s32 %j, %r1
  @%p bra -> loop, done
done:
  %x: b32 = phi [%j, loop]
  st.shared.u32 [0], %x
  ret
}
"""


def slots(x: object) -> list[str]:
    return [s for c in type(x).__mro__ for s in getattr(c, "__slots__", ()) if s != "__weakref__"]


def assert_same(a: Any, b: Any, pairs: dict[int, Any], fresh: type | tuple[type, ...]) -> None:
    """All that `a` and `b` reach agrees slot by slot; objects of the classes `fresh` and
    containers are not shared. Works through a list, so depth does not matter."""
    work = [(a, b)]
    while work:
        x, y = work.pop()
        assert x.__class__ is y.__class__, (x, y)
        if isinstance(x, fresh):
            if id(x) in pairs:
                assert pairs[id(x)] is y
                continue
            assert x is not y, x
            pairs[id(x)] = y
            names = slots(x) or vars(x)
            work.extend((getattr(x, n), getattr(y, n)) for n in names if hasattr(x, n))
        elif isinstance(x, dict):
            assert not x or x is not y
            assert len(x) == len(y)
            work.extend(zip(x, y, strict=True))  # in the same order
            work.extend(zip(x.values(), y.values(), strict=True))
        elif isinstance(x, list | tuple):
            assert not x or x is not y or not isinstance(x, list)
            assert len(x) == len(y)
            if x is not y:
                work.extend(zip(x, y, strict=True))
        elif isinstance(x, set):
            assert not x or x is not y
            if not any(isinstance(e, Value | Block) for e in x):
                assert x == y
        elif isinstance(x, Value):
            assert x is y or isinstance(x, SymbolOffset)
        else:
            assert x is y or x == y or slots(x)


OWN = (Module, Function, Block, Instruction, Result, Argument, Variable)


def assert_exact(a: Any, b: Any) -> None:
    assert_same(a, b, {}, OWN)


@pytest.mark.parametrize("path", examples()[::3], ids=lambda p: p.stem)
def test_a_copy_is_equal_slot_by_slot(path):
    m = read_ptx(path)
    for f in m.functions:
        if f.blocks:
            f.analyze_cfg()
    text = print_ir(m)
    c = clone_module(m)
    assert_exact(m, c)
    assert difference(m, c) is None
    verify(c)
    assert print_ir(c) == print_ir(m) == text


@pytest.mark.parametrize("entry", sample(10, seed=7, max_size=60_000), ids=lambda e: e.path.stem)
def test_copies_of_real_files(entry):
    m = read_ptx(entry.path)
    c = clone_module(m)
    assert_exact(m, c)
    verify(c)
    verify(m)


def rich() -> Module:
    """Something of all that a module can hold."""
    m = parse_ir(LOOP)
    f = m["k"]
    v = m.variable("table", "const", "u32", 3)
    g = m.variable("g", "global", "u64")
    v.init = (integer(1), integer(2), integer(3))
    g.init = SymbolOffset(v, 8, generic=True)
    g.loc, g.attributes["managed"] = Location(1, 2), ""
    callee = m.function("callee", [("x", "u32")], "u32")
    f.locals.append(Variable("loc", "local", array(B32, 4)))
    f.pragmas, f.flags, f.loc, f.linkage = ("p",), {"convergent"}, 7, "visible"
    f.directives["maxntid"] = (32, 1, 1)
    f.prototypes["proto"] = ".callprototype _"
    i = f.blocks[1].first.next
    i.loc, i.line = Location(1, 3, 4), 17
    f.marks[i] = {"hoisted"}
    f.loaded_params[f.params[0]] = f.entry.first
    f.blocks[1].flags, f.blocks[1].aux = frozenset({"cold"}), {"role": [i]}
    f.aux = {"alias": callee}
    call = Instruction(form("call.uni"), (f.locals[0],), aux=CallInfo(1, callee=callee))
    call.aux.return_params = (f.locals[0],)
    call.insert_before(f.blocks[2].last)
    two = form("ld.v2.u32", "{%s, %s}, [%s]")
    load = Instruction(two, (SymbolOffset(f.locals[0], 4),))
    load.set_results(two.result_types, ["%a", "%b"])
    load.insert_before(f.blocks[2].last)
    m.debug.files.append((1, "a.cu", ""))
    m.debug.sections.append((".debug_str", ["x"]))
    m.aux = {"layout": [g]}
    return m


def test_everything_that_a_module_holds_is_copied():
    m = rich()
    m["k"].analyze_cfg()
    c = clone_module(m)
    assert_exact(m, c)
    assert c["k"].aux["alias"] is c["callee"]
    assert c.globals[1].init.symbol is c.globals[0]
    assert c["k"].blocks[1].aux["role"][0] is c["k"].blocks[1].first.next


def test_changing_the_copy_leaves_the_original():
    m = rich()
    text = print_ir(m)
    c = clone_module(m)
    f = c["k"]
    for i in list(f.instructions()):
        if i.name == "%i":
            i.replace_all_uses_with(integer(3))
    f.marks.clear()
    f.flags.clear()
    f.directives.clear()
    f.locals.clear()
    f.aux.clear()
    c.globals[0].init = None
    c.globals[1].attributes.clear()
    c.debug.files.clear()
    c.debug.sections[0][1].clear()
    f.blocks[1].name = "other"
    c.order.clear()
    assert print_ir(m) == text
    assert m["k"].marks
    assert m["k"].aux


def test_users_come_in_the_same_order():
    m = parse_ir(LOOP)
    f = m["k"]
    j = f.blocks[1].first.next
    last = Instruction(form("add.s32", "%s, %s, %s"), (j, j), B32, "%late")
    last.insert_after(j)
    g = clone_function(f)
    k = g.blocks[1].first.next
    assert [u.name for u in j.users] == [u.name for u in k.users]
    assert k.use_count == j.use_count


def test_uses_by_instructions_in_no_block_are_not_copied():
    m = parse_ir(LOOP)
    j = m["k"].blocks[1].first.next
    Instruction(form("not.b32", "%s, %s"), (j,), B32)
    verify(clone_module(m))


def test_a_function_that_calls_itself_calls_its_copy():
    m = Module()
    f = m.add_function(Function("f"))
    b = f.block("entry")
    b.append(Instruction(form("call.uni"), (), aux=CallInfo(0, callee=f)))
    b.append(Instruction(form("ret"), aux=()))
    c = clone_function(f)
    assert c.entry.first.aux.callee is c
    assert c.module is m
    assert m.functions == [f]


def test_a_function_in_another_module_names_its_symbols():
    m = rich()
    other = clone_module(m)
    f = clone_function(m["k"], other)
    calls = [i for i in f.instructions() if i.form.is_call]
    assert calls[0].aux.callee is other["callee"]
    assert f.module is other


def test_a_declaration():
    m = parse_ir(LOOP)
    m.function("callee", [("x", "u32")], "u32")
    c = clone_module(m)
    assert c["callee"].is_declaration
    assert c["callee"].params[0] is not m["callee"].params[0]


def test_the_other_level():
    m = Module(level="nvvm")
    v = m.add_global(Variable("v", "global", I32, address_type=pointer(1)))
    f = m.add_function(Function("f"))
    pair = struct([pointer(1), I32])
    f.params.append(Argument(I32, "%x", f))
    b = f.block("entry")
    literal = constant(pair, (v, constant(I32, 1)))
    b.append(Instruction(nvvm_form("insertvalue"), (literal, f.params[0]), pair, "%a", (1,)))
    b.append(Instruction(nvvm_form("ret"), type=VOID, aux=()))
    c = clone_module(m)
    copy = c["f"].entry.first.operands[0]
    assert copy.value[0] is c.globals[0]
    assert c["f"].entry.first.aux == (1,)
    verify(c)


# ------------------------------------------------------------------- blocks


def test_blocks_are_copied_behind_the_last_with_their_own_names():
    f = parse_ir(LOOP)["k"]
    entry, loop, done = f.blocks
    f.marks[loop.first.next] = {"hoisted"}
    mapping: dict[Any, Any] = {}
    (copy,) = clone_blocks([loop], mapping)
    assert [b.name for b in f.blocks] == ["entry", "loop", "loop.1", "done"]
    assert mapping[loop] is copy
    i, j, *_ = copy
    assert mapping[loop.first] is i
    assert j.operands[0] is i
    assert i.aux == (entry, copy)  # the edge from outside is the caller's to mend
    assert copy.last.aux == (copy, done)
    assert copy.pragmas == ("nounroll",)
    assert f.marks[j] == {"hoisted"}
    (again,) = clone_blocks([loop], {}, after=entry)
    assert [b.name for b in f.blocks] == ["entry", "loop.2", "loop", "loop.1", "done"]
    assert again.name == "loop.2"


def test_an_unroller_replaces_the_phis():
    """One copy of the body behind the original: twice as many steps an iteration."""
    f = parse_ir(LOOP)["k"]
    entry, loop, done = f.blocks
    i, j, _, branch = loop
    (copy,) = clone_blocks([loop], mapping := {i: j})
    assert [x.form.name for x in copy] == ["add", "setp", "bra"]
    assert mapping[i] is j
    assert copy.first.operands[0] is j
    branch.set_successor(loop, copy)
    copy.last.set_successor(copy, loop)
    i.set_incoming([integer(0), mapping[j]], [entry, copy])
    done.first.add(mapping[j], copy)
    verify(f)


def test_what_lies_outside_is_named_by_the_copy_and_knows_it():
    f = parse_ir(LOOP)["k"]
    entry, loop, _ = f.blocks
    bound = entry.first
    before = bound.use_count
    clone_blocks([loop], {})
    assert bound.use_count == before + 1


def test_no_blocks():
    assert clone_blocks([], {}) == []


def test_copies_of_copies_are_equal():
    m = rich()
    c = clone_module(clone_module(m))
    assert difference(m, c) is None
    assert equal_up_to_renaming(m["k"], c["k"]) is None
