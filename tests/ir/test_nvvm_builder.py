"""The builder of `nvvm`: what it makes verifies, and is lossless in nvir's own text."""

from __future__ import annotations

import pytest

import nvir
from nvir.ir import nvvm
from nvir.ir.equal import structurally_equal
from nvir.ir.errors import NvirError
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction, Location
from nvir.ir.module import Module
from nvir.ir.nvvm import Builder, const, const_like
from nvir.ir.types import (
    BFLOAT,
    DOUBLE,
    FLOAT,
    FP128,
    HALF,
    I1,
    I8,
    I16,
    I32,
    I64,
    VOID,
    Type,
    array,
    pointer,
    struct,
    vector,
)
from nvir.ir.values import Argument
from nvir.ir.verify import verify


def start(*types: Type, result: Type = VOID) -> tuple[Builder, list[Argument]]:
    m = Module(level="nvvm")
    f = nvvm.function(m, "f", result, [(f"x{k}", t) for k, t in enumerate(types)])
    return Builder(f.block("entry")), f.arguments


def finish(b: Builder) -> list[str]:
    """The spellings of what was built; the module must verify and survive its own text."""
    if b.block.terminator is None:
        b.ret_void()
    verify(b.module)
    assert structurally_equal(b.module, nvir.parse_ir(nvir.print_ir(b.module)))
    return [i.form.spelling for i in b.function.instructions()]


ARITHMETIC = ["add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and_",
              "or_", "xor"]
FLOATING = ["fadd", "fsub", "fmul", "fdiv", "frem"]


@pytest.mark.parametrize("name", ARITHMETIC + FLOATING)
def test_arithmetic_of_values_and_numbers(name):
    type = FLOAT if name in FLOATING else I32
    b, (x, y) = start(type, type)
    method = getattr(b, name)
    a, c, d = method(x, y), method(x, 3), method(4, y, "named")
    assert a.operands == (x, y)
    assert c.operands[1] is const(type, 3)
    assert d.operands[0] is const(type, 4)
    assert (d.name, d.type) == ("named", type)
    assert finish(b) == [name.rstrip("_")] * 3 + ["ret"]


def test_flags_are_part_of_the_spelling():
    b, (x, y) = start(I32, FLOAT)
    b.add(x, 1, flags=("nuw", "nsw"))
    b.fmul(y, y, flags=("fast",))
    b.fneg(y, flags=("nnan",))
    assert finish(b) == ["add nuw nsw", "fmul fast", "fneg nnan", "ret"]


def test_two_numbers_have_no_type():
    b, _ = start()
    with pytest.raises(NvirError, match="two numbers have no type"):
        b.add(1, 2)


def test_negation_and_complement_also_of_vectors():
    b, (x, v) = start(I32, vector(I8, 4))
    b.neg(x)
    b.not_(v)
    assert b.block.last.operands[1].value == (const(I8, -1),) * 4
    assert finish(b) == ["sub", "xor", "ret"]


@pytest.mark.parametrize(
    ("method", "type", "cmpop", "spelling"),
    [("icmp_signed", I32, "<", "icmp slt"), ("icmp_unsigned", I32, ">=", "icmp uge"),
     ("icmp_signed", pointer(), "==", "icmp eq"), ("fcmp_ordered", FLOAT, "!=", "fcmp one"),
     ("fcmp_unordered", FLOAT, "uno", "fcmp uno"), ("fcmp_ordered", DOUBLE, "ord", "fcmp ord"),
     ("icmp_unsigned", vector(I32, 2), "<", "icmp ult")],
)
def test_comparisons(method, type, cmpop, spelling):
    b, (x, y) = start(type, type)
    i = getattr(b, method)(cmpop, x, y)
    assert i.type is (vector(I1, 2) if type is vector(I32, 2) else I1)
    assert finish(b) == [spelling, "ret"]


def test_no_such_comparison():
    b, (x,) = start(I32)
    with pytest.raises(NvirError, match="no comparison '=<'; there are < <="):
        b.icmp_signed("=<", x, 1)


CASTS = [("trunc", I64, I32), ("zext", I8, I32), ("sext", I8, I64), ("fptrunc", DOUBLE, HALF),
         ("fpext", BFLOAT, FLOAT), ("fptoui", FLOAT, I32), ("fptosi", FLOAT, I64),
         ("uitofp", I32, FLOAT), ("sitofp", I1, DOUBLE), ("ptrtoint", pointer(3), I64),
         ("inttoptr", I64, pointer(1)), ("bitcast", FLOAT, I32),
         ("addrspacecast", pointer(3), pointer())]


@pytest.mark.parametrize(("name", "source", "target"), CASTS)
def test_conversions(name, source, target):
    b, (x,) = start(source)
    assert getattr(b, name)(x, target).type is target
    assert finish(b) == [name, "ret"]


def test_memory():
    b, (p, i, n) = start(pointer(1), I64, I32)
    slot = b.alloca(array(I32, 4), name="slot", align=16)
    b.alloca(FLOAT, n)
    at = b.gep(p, [i], I32, inbounds=True)
    x = b.load(at, I32, align=4, volatile=True)
    b.store(x, b.gep(slot, [0, 2], array(I32, 4)), align=4)
    b.atomic_rmw("add", at, x, "acq_rel", scope="device")
    pair = b.cmpxchg(at, x, const(I32, 7), "acq_rel", "monotonic")
    b.fence("seq_cst")
    assert b.extract_value(pair, 1).type is I1
    assert finish(b) == [
        "alloca", "alloca", "getelementptr inbounds", "load volatile", "getelementptr", "store",
        "atomicrmw add", "cmpxchg", "fence", "extractvalue", "ret",
    ]


def test_values_in_pieces():
    pair = struct([I32, array(FLOAT, 2)])
    b, (s, v, x, f, c) = start(pair, vector(I32, 4), I32, FLOAT, I1)
    assert b.extract_value(s, [1, 0]).type is FLOAT
    b.insert_value(s, f, (1, 1))
    assert b.extract_element(v, 2).type is I32
    b.insert_element(v, x, x)
    assert b.shuffle_vector(v, v, [0, 5, -1]).type is vector(I32, 3)
    b.select(c, x, 3)
    b.freeze(s)
    finish(b)
    with pytest.raises(NvirError, match="has no member"):
        b.extract_value(s, 2)


def test_control_flow_with_a_loop():
    b, (n,) = start(I32, result=I32)
    entry = b.block
    loop, done = b.append_basic_block("loop"), b.append_basic_block("done")
    b.branch(loop)
    b.position_at_end(loop)
    i = b.phi(I32, "i")
    total = b.phi(I32, "total")
    added = b.add(total, i)
    following = b.add(i, 1)
    i.add(const(I32, 0), entry)
    i.add(following, loop)
    total.add(const(I32, 0), entry)
    total.add(added, loop)
    b.cbranch(b.icmp_signed("<", following, n), loop, done)
    b.position_at_end(done)
    b.ret(added)
    finish(b)
    b.function.analyze_cfg()
    assert [found.header for found in b.function.loops()] == [loop]


def test_if_then():
    b, (c, p) = start(I1, pointer())
    with b.if_then(c) as end:
        b.store(const(I32, 1), p)
    assert b.block is end
    with b.if_then(c):
        b.ret_void()
    b.store(const(I32, 2), p)
    assert finish(b) == ["br", "store", "br", "br", "ret", "store", "ret"]


def test_switch():
    b, (x,) = start(I32, result=I32)
    default, one = b.append_basic_block("default"), b.append_basic_block("one")
    s = b.switch(x, default)
    b.add_case(s, 1, one)
    b.add_case(s, -1, default)
    b.position_at_end(default)
    b.unreachable()
    b.position_at_end(one)
    b.ret(7)
    assert s.aux == (default, one, default)
    assert finish(b) == ["switch", "unreachable", "ret"]


def test_calls():
    b, (p,) = start(pointer())
    g = nvvm.function(b.module, "g", FLOAT, [("a", I32), ("b", FLOAT)])
    i = b.call(g, [1, 0.5], "r", flags=("tail",))
    assert i.type is FLOAT
    assert i.aux.callee is g
    b.call(p, [i], result=I32)
    with pytest.raises(NvirError, match="g takes 2 arguments, 1 given"):
        b.call(g, [1])
    assert finish(b) == ["call tail", "call", "ret"]


def test_placing():
    b, (x,) = start(I32)
    first, last = b.add(x, 1), b.add(x, 2)
    b.position_before(last)
    second = b.add(x, 3)
    b.position_after(first)
    third = b.add(x, 4)
    b.position_at_start(b.block)
    fourth = b.add(x, 5)
    assert list(b.block) == [fourth, first, third, second, last]
    b.position_at_end(b.block)
    b.ret_void()
    other = b.append_basic_block()
    with b.goto_block(b.function.entry):
        b.loc = Location(1, 2)
        late = b.add(x, 6)
    assert late.next is b.function.entry.last
    assert late.loc == Location(1, 2)
    b.position_at_end(other)
    assert len(other) == 0
    for place in (b.position_before, b.position_after):
        with pytest.raises(ValueError, match="in no block"):
            place(Instruction(late.form))


def test_constants():
    assert const(I32, 2**32 - 1) is const(I32, -1)
    assert const(I8, 128).value == -128
    assert const(I1, True).value == 1
    assert const(I16, -1).value == -1
    assert const(FLOAT, 1).value == 0x3F800000
    assert const(DOUBLE, 1.0).value == 0x3FF0000000000000
    assert const(HALF, 1.0).value == 0x3C00
    assert const(BFLOAT, 1.0).value == 0x3F80
    assert const(pointer(), None).name == "null"
    assert const_like(Argument(vector(FLOAT, 2), "v"), 1).value == (const(FLOAT, 1),) * 2
    with pytest.raises(TypeError, match=r"1.5 is no constant of type i32"):
        const(I32, 1.5)
    with pytest.raises(NvirError, match="no Python number gives a fp128"):
        const(FP128, 1.0)


def test_kernels():
    m = Module(level="nvvm")
    k = nvvm.function(m, "k", kind="entry")
    assert isinstance(k, Function)
    assert m.functions == [k]
    Builder(k.block("entry")).ret_void()
    assert m.kernels == [k]
