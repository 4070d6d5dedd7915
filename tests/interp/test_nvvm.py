"""Modules of level nvvm on the interpreter: each row against the row's own fold or numpy."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import nvir
from nvir.ir.errors import LaunchError, Unsupported
from nvir.ir.function import Function
from nvir.ir.instruction import CallInfo
from nvir.ir.module import Module
from nvir.ir.nvvm import Builder, const, function
from nvir.ir.nvvm_values import ConstantExpr, InlineAsm, poison
from nvir.ir.symbols import Variable
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
    I128,
    VOID,
    Type,
    array,
    int_type,
    pointer,
    struct,
    vector,
)
from nvir.ir.values import SymbolOffset, constant, undef

LANES = 64
GLOBAL = pointer(1)


class Kernel:
    """A kernel `k` under construction; `b` builds it, `tid` is the thread's number (i64)."""

    def __init__(self, *params: tuple[str, Type]) -> None:
        self.m = Module(level="nvvm")
        self.f = function(self.m, "k", VOID, params, kind="entry")
        self.b = Builder(self.f.block("entry"))
        self.args = self.f.arguments
        self.tid32 = self.call("llvm.nvvm.read.ptx.sreg.tid.x", I32)
        self.tid = self.b.zext(self.tid32, I64)

    def declare(self, name: str, result: Type, params: Sequence[Type] = ()) -> Function:
        for f in self.m.functions:
            if f.name == name:
                return f
        return function(self.m, name, result, [(f"x{k}", t) for k, t in enumerate(params)])

    def call(self, name: str, result: Type, *args: Any) -> Any:
        return self.b.call(self.declare(name, result, [a.type for a in args]), args)

    def at(self, base: Any, t: Type) -> Any:
        return self.b.gep(base, [self.tid], t)

    def load(self, base: Any, t: Type) -> Any:
        return self.b.load(self.at(base, t), t)

    def store(self, x: Any, base: Any) -> None:
        self.b.store(x, self.at(base, x.type))

    def run(self, *args: Any, lanes: int = LANES, grid: int = 1, **more: Any) -> Any:
        if self.b.block.terminator is None:
            self.b.ret_void()
        nvir.verify(self.m)
        return nvir.launch(self.m, "k", grid, lanes, list(args), **more)


def step(n: int) -> int:
    """Bytes of iN in an array."""
    size = 1
    while 8 * size < n:
        size *= 2
    return size


def pack(values: Sequence[int], n: int) -> np.ndarray:
    size = step(n)
    return np.frombuffer(b"".join(v.to_bytes(size, "little") for v in values), np.uint8).copy()


def unpack(data: np.ndarray, n: int) -> list[int]:
    raw, size = data.tobytes(), step(n)
    return [int.from_bytes(raw[k : k + size], "little") for k in range(0, len(raw), size)]


WIDTHS = [1, 3, 8, 13, 16, 24, 32, 37, 64, 65, 100, 128]
EDGES = (0, 1, 2, 3, 5, 7, 31, 63)


def operands(n: int, seed: int) -> list[int]:
    rng = random.Random(seed)
    mask = (1 << n) - 1
    edge = [*EDGES, mask, mask - 1, mask >> 1, (mask >> 1) + 1]
    return [rng.choice(edge) & mask if rng.random() < 0.5 else rng.getrandbits(n)
            for _ in range(LANES)]


def compute(t: Sequence[Type], result: Type, make: Callable[..., Any], *data: np.ndarray) -> Any:
    """Bytes of `make(kernel, x, y …)` for x[k], y[k] … of the given element types."""
    from nvir.ir.layout import size_of

    k = Kernel(*((f"p{j}", GLOBAL) for j in range(len(t) + 1)))
    values = [k.load(k.args[j], x) for j, x in enumerate(t)]
    k.store(make(k, *values), k.args[len(t)])
    out = np.zeros(LANES * size_of(result), np.uint8)
    k.run(*data, out)
    return out


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("row", ["add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl",
                                 "lshr", "ashr", "and_", "or_", "xor"])
def test_integer_rows_are_their_folds(row: str, n: int) -> None:
    t = int_type(n)
    a, b = operands(n, 1), operands(n, 2)
    if row in ("shl", "lshr", "ashr"):
        b = [x % n for x in b]
    out = compute([t, t], t, lambda k, x, y: getattr(k.b, row)(x, y), pack(a, n), pack(b, n))
    form = next(i.form for i in _one(row, t))
    for x, y, r in zip(a, b, unpack(out, n), strict=True):
        expected = form.op.fold(form, n, x, y)
        if expected is not None:
            assert r == expected, (row, n, x, y)


def _one(row: str, t: Type) -> list[Any]:
    m = Module(level="nvvm")
    f = function(m, "f", VOID, [("a", t), ("b", t)])
    return [getattr(Builder(f.block("entry")), row)(*f.arguments)]


@pytest.mark.parametrize("n", WIDTHS)
def test_comparisons_of_integers(n: int) -> None:
    t = int_type(n)
    a, b = operands(n, 3), operands(n, 4)
    b[:8] = a[:8]
    for name in ("<", "<=", ">", ">=", "==", "!="):
        for kind in ("icmp_signed", "icmp_unsigned"):
            out = compute([t, t], I8, lambda k, x, y, kind=kind, name=name: k.b.zext(
                getattr(k.b, kind)(name, x, y), I8), pack(a, n), pack(b, n))
            sign = kind == "icmp_signed"
            for x, y, r in zip(a, b, out.tolist(), strict=True):
                u, v = (z - (1 << n) if sign and z >> (n - 1) else z for z in (x, y))
                assert r == eval(f"{u} {name} {v}"), (kind, name, n, x, y)


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("m", WIDTHS)
def test_integer_conversions(n: int, m: int) -> None:
    if n == m:
        return
    a = operands(n, 5)
    rows = ("trunc",) if m < n else ("zext", "sext")
    for row in rows:
        out = compute([int_type(n)], int_type(m),
                      lambda k, x, row=row: getattr(k.b, row)(x, int_type(m)),
                      pack(a, n))
        for x, r in zip(a, unpack(out, m), strict=True):
            value = x - (1 << n) if row == "sext" and x >> (n - 1) else x
            assert r == value & ((1 << m) - 1), (row, n, m, x)


FLOATS = {HALF: np.float16, FLOAT: np.float32, DOUBLE: np.float64}


def floats(t: Type, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 1 << t.bits, LANES, np.uint64, endpoint=False) if t.bits < 64 else (
        rng.integers(0, (1 << 64) - 1, LANES, np.uint64))
    x = bits.astype(f"u{t.bits // 8}").view(FLOATS[t])
    x[:40] = (rng.standard_normal(40) * 8).astype(FLOATS[t])
    x[40:46] = [0.0, -0.0, np.inf, -np.inf, 1.0, np.nan]
    return x


@pytest.mark.parametrize("t", list(FLOATS))
@pytest.mark.parametrize("row", ["fadd", "fsub", "fmul", "fdiv", "frem"])
def test_floating_rows_are_ieee(row: str, t: Type) -> None:
    a, b = floats(t, 1), floats(t, 2)[::-1].copy()
    out = compute([t, t], t, lambda k, x, y: getattr(k.b, row)(x, y), a, b).view(FLOATS[t])
    with np.errstate(all="ignore"):
        expected = {"fadd": np.add, "fsub": np.subtract, "fmul": np.multiply, "fdiv": np.divide,
                    "frem": np.fmod}[row](a, b)
    np.testing.assert_array_equal(out, expected)
    assert (np.signbit(out) == np.signbit(expected))[~np.isnan(expected)].all()


@pytest.mark.parametrize("t", list(FLOATS))
def test_float_comparisons(t: Type) -> None:
    a, b = floats(t, 3), floats(t, 4)
    b[:9] = a[:9]
    nan = np.isnan(a) | np.isnan(b)
    names = {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}
    for name, plain in names.items():
        for kind, expected in (("fcmp_ordered", plain & ~nan), ("fcmp_unordered", plain | nan)):
            out = compute([t, t], I8, lambda k, x, y, kind=kind, name=name: k.b.zext(
                getattr(k.b, kind)(name, x, y), I8), a, b)
            assert out.astype(bool).tolist() == expected.tolist(), (kind, name)
    out = compute([t, t], I8, lambda k, x, y: k.b.zext(k.b.fcmp_unordered("uno", x, y), I8), a, b)
    assert out.astype(bool).tolist() == nan.tolist()


def test_float_conversions() -> None:
    a = floats(DOUBLE, 5)
    with np.errstate(all="ignore"):
        out = compute([DOUBLE], FLOAT, lambda k, x: k.b.fptrunc(x, FLOAT), a).view(np.float32)
        np.testing.assert_array_equal(out, a.astype(np.float32))
        out = compute([DOUBLE], HALF, lambda k, x: k.b.fptrunc(x, HALF), a).view(np.float16)
        np.testing.assert_array_equal(out, a.astype(np.float16))
    h = floats(HALF, 6)
    out = compute([HALF], DOUBLE, lambda k, x: k.b.fpext(x, DOUBLE), h).view(np.float64)
    np.testing.assert_array_equal(out, h.astype(np.float64))
    f = np.linspace(-300, 300, LANES).astype(np.float32)
    out = compute([FLOAT], I16, lambda k, x: k.b.fptosi(x, I16), f).view(np.int16)
    np.testing.assert_array_equal(out, np.trunc(f).astype(np.int16))
    out = compute([FLOAT], I128, lambda k, x: k.b.fptosi(x, I128), f)
    assert unpack(out, 128) == [int(x) & (1 << 128) - 1 for x in f]
    raw = compute([FLOAT], BFLOAT, lambda k, x: k.b.fptrunc(x, BFLOAT), f).view(np.uint16)
    bits = f.view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)
    np.testing.assert_array_equal(raw, rounded.astype(np.uint16))


@pytest.mark.parametrize("n", [1, 8, 13, 32, 64, 100])
def test_integers_to_floats(n: int) -> None:
    a = operands(n, 7)
    for row in ("uitofp", "sitofp"):
        values = [x - (1 << n) if row == "sitofp" and x >> (n - 1) else x for x in a]
        out = compute([int_type(n)], DOUBLE, lambda k, x, row=row: getattr(k.b, row)(x, DOUBLE),
                      pack(a, n)).view(np.float64)
        assert out.tolist() == [float(v) for v in values]
        out = compute([int_type(n)], FLOAT, lambda k, x, row=row: getattr(k.b, row)(x, FLOAT),
                      pack(a, n)).view(np.float32)
        for v, r in zip(values, out, strict=True):
            neighbours = (np.nextafter(r, np.float32(-np.inf)), np.nextafter(r, np.float32(np.inf)))
            assert all(abs(int(r) - v) <= abs(int(c) - v) for c in neighbours if np.isfinite(c))


# ------------------------------------------------------------------- pieces


PAIR = struct([I8, FLOAT, array(I16, 2)])


def test_aggregates_in_registers_and_memory() -> None:
    k = Kernel(("a", GLOBAL), ("o", GLOBAL))
    whole = k.load(k.args[0], PAIR)
    b = k.b
    x = b.extract_value(whole, 1)
    inner = b.extract_value(whole, 2)
    swapped = b.insert_value(b.insert_value(inner, b.extract_value(inner, 0), 1),
                             b.extract_value(inner, 1), 0)
    whole = b.insert_value(b.insert_value(whole, swapped, 2), b.fadd(x, x), 1)
    k.store(b.freeze(whole), k.args[1])
    dtype = np.dtype([("c", "i1"), ("f", "f4"), ("s", "u2", 2)], align=True)
    data, out = np.zeros(LANES, dtype), np.zeros(LANES, dtype)
    data["c"], data["f"] = np.arange(LANES), np.arange(LANES) / 4
    data["s"] = np.arange(2 * LANES).reshape(-1, 2)
    k.run(data, out)
    assert (out["c"] == data["c"]).all()
    assert (out["f"] == 2 * data["f"]).all()
    assert (out["s"] == data["s"][:, ::-1]).all()


def test_a_packed_struct_may_lie_anywhere() -> None:
    t = struct([I8, I32, I16], packed=True)
    k = Kernel(("a", GLOBAL), ("o", GLOBAL))
    x = k.load(k.args[0], t)
    k.store(k.b.insert_value(x, k.b.add(k.b.extract_value(x, 1), 1), 1), k.args[1])
    dtype = np.dtype([("a", "u1"), ("b", "u4"), ("c", "u2")])
    data = np.zeros(LANES, dtype)
    data["a"], data["b"], data["c"] = 7, np.arange(LANES) * 0x01010101, np.arange(LANES)
    out = np.zeros_like(data)
    k.run(data, out)
    assert (out["b"] == data["b"] + 1).all()
    assert (out["c"] == data["c"]).all()
    assert (out["a"] == 7).all()


def test_vectors() -> None:
    v4 = vector(I32, 4)
    k = Kernel(("a", GLOBAL), ("o", GLOBAL), ("e", GLOBAL))
    b = k.b
    x = k.load(k.args[0], v4)
    y = b.shuffle_vector(b.add(x, x), x, [3, 2, 5, -1])
    y = b.select(b.icmp_signed("<", y, const_vector(v4, 10)), y, const_vector(v4, 99))
    which = b.and_(k.tid32, 3)
    y = b.insert_element(y, const(I32, 77), which)
    k.store(y, k.args[1])
    k.store(b.extract_element(x, which), k.args[2])
    data = np.arange(4 * LANES, dtype=np.uint32).reshape(-1, 4)
    out, picked = np.zeros_like(data), np.zeros(LANES, np.uint32)
    k.run(data, out, picked)
    y = np.stack([2 * data[:, 3], 2 * data[:, 2], data[:, 1], 0 * data[:, 0]], 1)
    y = np.where(y < 10, y, 99)
    lanes = np.arange(LANES)
    y[lanes, lanes & 3] = 77
    np.testing.assert_array_equal(out, y)
    np.testing.assert_array_equal(picked, data[lanes, lanes & 3])


def const_vector(t: Any, x: int) -> Any:
    return constant(t, (const(t.element, x),) * t.count)


def test_bitcasts_regroup_bits() -> None:
    k = Kernel(("a", GLOBAL), ("o", GLOBAL), ("p", GLOBAL))
    x = k.load(k.args[0], I64)
    halves = k.b.bitcast(x, vector(I16, 4))
    k.store(k.b.bitcast(k.b.shuffle_vector(halves, halves, [3, 2, 1, 0]), I64), k.args[1])
    bits = k.b.bitcast(k.b.trunc(x, I8), vector(I1, 8))
    k.store(k.b.bitcast(k.b.shuffle_vector(bits, bits, [7, 6, 5, 4, 3, 2, 1, 0]), I8), k.args[2])
    data = np.random.default_rng(1).integers(0, 1 << 63, LANES, np.uint64)
    out, mirrored = np.zeros_like(data), np.zeros(LANES, np.uint8)
    k.run(data, out, mirrored)
    turned = np.ascontiguousarray(out.view(np.uint16).reshape(-1, 4)[:, ::-1])
    np.testing.assert_array_equal(turned.view(np.uint64)[:, 0], data)
    low = data.astype(np.uint8)
    assert mirrored.tolist() == [int(f"{x:08b}"[::-1], 2) for x in low.tolist()]


# ------------------------------------------------------------- control and calls


def test_a_loop_with_a_phi_of_a_struct_and_divergent_trips() -> None:
    k = Kernel(("o", GLOBAL))
    b = k.b
    pair = struct([I32, I32])
    entry, head, done = b.block, k.f.block("head"), k.f.block("done")
    b.branch(head)
    b.position_at_end(head)
    n, state = b.phi(I32), b.phi(pair)
    x, y = b.extract_value(state, 0), b.extract_value(state, 1)
    after = b.insert_value(b.insert_value(state, y, 0), b.add(x, y), 1)
    m = b.add(n, 1)
    b.cbranch(b.icmp_signed("<", m, k.tid32), head, done)
    n.add(const(I32, 0), entry)
    n.add(m, head)
    start = constant(pair, (const(I32, 0), const(I32, 1)))
    state.add(start, entry)
    state.add(after, head)
    b.position_at_end(done)
    k.store(b.extract_value(after, 0), k.args[0])
    out = np.zeros(40, np.uint32)
    k.run(out, lanes=40)
    fib = [0, 1]
    while len(fib) < 50:
        fib.append(fib[-1] + fib[-2])
    assert out.tolist() == [fib[max(t, 1)] for t in range(40)]


@pytest.mark.parametrize("t", [I8, I32, I64, I128])
def test_switch(t: Type) -> None:
    k = Kernel(("o", GLOBAL))
    b = k.b
    value = b.sext(k.tid32, t) if t.bits > 32 else b.trunc(k.tid32, t) if t.bits < 32 else k.tid32
    value = b.sub(value, 3)
    other, end = k.f.block("other"), k.f.block("end")
    blocks = [k.f.block(f"case{j}") for j in range(3)]
    s = b.switch(value, other)
    for j, c in enumerate((-1, 4, 0)):
        b.add_case(s, c, blocks[j])
    for block in (*blocks, other):
        b.position_at_end(block)
        b.branch(end)
    b.position_at_end(end)
    r = b.phi(I32)
    for j, block in enumerate((*blocks, other)):
        r.add(const(I32, 10 + j), block)
    k.store(r, k.args[0])
    out = np.zeros(LANES, np.uint32)
    k.run(out)
    want = {-1: 10, 4: 11, 0: 12}
    assert out.tolist() == [want.get(x - 3, 13) for x in range(LANES)]


def factorial(m: Module) -> Function:
    f = function(m, "fact", I64, [("n", I32)])
    b = Builder(f.block("entry"))
    (n,) = f.arguments
    slot = b.alloca(I64)
    b.store(b.zext(n, I64), slot)
    more, end = f.block("more"), f.block("end")
    b.cbranch(b.icmp_unsigned(">", n, 1), more, end)
    b.position_at_end(more)
    rest = b.call(f, [b.sub(n, 1)])
    b.ret(b.mul(rest, b.load(slot, I64)))
    b.position_at_end(end)
    b.ret(const(I64, 1))
    return f


def test_recursion_keeps_the_allocas_of_each_call() -> None:
    k = Kernel(("o", GLOBAL))
    f = factorial(k.m)
    k.store(k.b.call(f, [k.b.urem(k.tid32, 12)]), k.args[0])
    out = np.zeros(LANES, np.uint64)
    k.run(out)
    import math

    assert out.tolist() == [math.factorial(x % 12) for x in range(LANES)]


def test_structs_are_passed_and_returned_and_calls_may_be_indirect() -> None:
    k = Kernel(("o", GLOBAL), ("table", GLOBAL))
    b = k.b
    pair = struct([I32, DOUBLE])
    swap = []
    for name, scale in (("one", 1.0), ("two", 2.0)):
        f = function(k.m, name, pair, [("p", pair), ("n", I8)])
        c = Builder(f.block("entry"))
        p, n = f.arguments
        x = c.fmul(c.extract_value(p, 1), scale)
        whole = c.insert_value(c.insert_value(undef(pair), c.add(c.sext(n, I32), 1), 0), x, 1)
        c.ret(whole)
        swap.append(f)
    a = b.insert_value(b.insert_value(poison(pair), k.tid32, 0), b.uitofp(k.tid32, DOUBLE), 1)
    chosen = b.select(b.trunc(k.tid32, I1), swap[0], swap[1])
    r = b.call(chosen, [a, b.trunc(k.tid32, I8)], result=pair)
    k.store(r, k.args[0])
    out = np.zeros(LANES, np.dtype([("i", "i4"), ("d", "f8")], align=True))
    k.run(out, np.zeros(1))
    lanes = np.arange(LANES)
    np.testing.assert_array_equal(out["i"], lanes + 1)
    np.testing.assert_array_equal(out["d"], np.where(lanes & 1, lanes, 2.0 * lanes))


def test_byval_arguments_are_copies() -> None:
    t = array(I32, 3)
    m = Kernel(("o", GLOBAL), ("s", pointer()))
    m.args[1].attributes = (("byval", t),)
    b = m.b
    f = function(m.m, "change", I32, [("p", pointer())])
    f.arguments[0].attributes = (("byval", t), ("align", 4))
    c = Builder(f.block("entry"))
    p = f.arguments[0]
    second = c.gep(p, [0, 1], t)
    x = c.add(c.load(second, I32), c.load(p, I32))
    c.store(const(I32, -1), second)
    c.ret(x)
    b.store(m.tid32, m.args[1])  # a kernel's own copy, one for each thread
    total = b.add(b.call(f, [m.args[1]]), b.load(b.gep(m.args[1], [0, 1], t), I32))
    m.store(total, m.args[0])
    out = np.zeros(LANES, np.uint32)
    m.run(out, np.array([5, 10, 15], np.uint32).tobytes())
    assert out.tolist() == [x + 20 for x in range(LANES)]


# ---------------------------------------------------------------------- memory


def test_globals_with_initialisers_and_constant_expressions() -> None:
    k = Kernel(("o", GLOBAL))
    b = k.b
    t = struct([I8, array(I32, 3), pointer(1)])
    values = constant(array(I32, 3), tuple(const(I32, x) for x in (4, 5, -6)))
    numbers = Variable("numbers", "global", array(I32, 3), address_type=pointer(1), init=values)
    text = Variable("text", "const", array(I8, 4), address_type=pointer(4),
                    init=constant(array(I8, 4), b"abc\0"))
    init = constant(t, (const(I8, 9), constant(array(I32, 3), None), SymbolOffset(numbers, 8)))
    table = Variable("table", "global", t, address_type=pointer(1), init=init)
    for v in (numbers, text, table):
        k.m.add_global(v)
    through = b.load(b.gep(table, [0, 2], t), pointer(1))
    at = ConstantExpr("getelementptr", (numbers, const(I64, 0), const(I32, 1)), pointer(1),
                      array(I32, 3))
    generic = ConstantExpr("addrspacecast", (text,), pointer())
    total = b.add(b.load(through, I32), b.load(at, I32))
    total = b.add(total, b.zext(b.load(b.gep(generic, [1], I8), I8), I32))
    total = b.add(total, b.zext(b.load(table, I8), I32))
    k.store(total, k.args[0])
    out = np.zeros(LANES, np.int32)
    r = k.run(out)
    assert set(out.tolist()) == {-6 + 5 + ord("b") + 9}
    assert r.globals["numbers"].view(np.int32).tolist() == [4, 5, -6]


TYPED = """target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-\
f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
@n = addrspace(1) global [4 x i32] [i32 4, i32 5, i32 6, i32 7]
@s = addrspace(3) global [4 x i32] undef
define void @k(i64 addrspace(1)* %o) {
  %a = add i64 0, CONSTANT
  store i64 %a, i64 addrspace(1)* %o
  %p = getelementptr i64, i64 addrspace(1)* %o, i64 1
  %n = ptrtoint [4 x i32] addrspace(1)* @n to i64
  store i64 %n, i64 addrspace(1)* %p
  %g = addrspacecast [4 x i32] addrspace(3)* @s to i8*
  %h = getelementptr i8, i8* %g, i64 12
  %i = ptrtoint i8* %h to i64
  %q = getelementptr i64, i64 addrspace(1)* %o, i64 2
  store i64 %i, i64 addrspace(1)* %q
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{void (i64 addrspace(1)*)* @k, !"kernel", i32 1}
"""
N = "ptrtoint ([4 x i32] addrspace(1)* @n to i64)"


@pytest.mark.parametrize(("text", "expected"), [
    (f"add (i64 {N}, i64 8)", lambda n, s: n + 8),
    (f"mul (i64 {N}, i64 -3)", lambda n, s: -3 * n),
    (f"lshr (i64 {N}, i64 4)", lambda n, s: n >> 4),
    (f"zext (i32 trunc (i64 {N} to i32) to i64)", lambda n, s: n & 0xFFFFFFFF),
    (f"zext (i1 icmp ugt (i64 {N}, i64 4) to i64)", lambda n, s: n > 4),
    (f"extractvalue ({{ i64, i64 }} {{ i64 3, i64 {N} }}, 1)", lambda n, s: n),
    (f"extractvalue ({{ i64, i64 }} insertvalue ({{ i64, i64 }} {{ i64 3, i64 {N} }}, i64 9, 1), "
     "1)", lambda n, s: 9),
    (f"select (i1 icmp ult (i64 {N}, i64 4), i64 {N}, i64 5)", lambda n, s: 5),
    (f"select (i1 icmp ugt (i64 {N}, i64 4), i64 {N}, i64 5)", lambda n, s: n),
    (f"bitcast (double bitcast (i64 {N} to double) to i64)", lambda n, s: n),
    ("ptrtoint (i32 addrspace(1)* getelementptr ([4 x i32], [4 x i32] addrspace(1)* @n, i64 0, "
     f"i64 sub (i64 {N}, i64 add (i64 {N}, i64 2))) to i64)", lambda n, s: n - 8),
    ("ptrtoint (i32* getelementptr ([4 x i32], [4 x i32]* addrspacecast ([4 x i32] addrspace(3)* @s"
     " to [4 x i32]*), i64 0, i64 3) to i64)", lambda n, s: s),
])
def test_constant_expressions_of_addresses(text: str, expected: Callable[[int, int], int]) -> None:
    out = np.zeros(3, np.uint64)
    nvir.launch(nvir.read_ll(TYPED.replace("CONSTANT", text)), "k", 1, 1, [out])
    got, n, s = out.tolist()
    assert got == expected(n, s) & (1 << 64) - 1


@pytest.mark.parametrize(("text", "message"), [
    (f"fptoui (double uitofp (i64 {N} to double) to i64)",
     "the constant expression uitofp in the interpreter"),
    (f"extractelement (<2 x i64> <i64 5, i64 {N}>, i32 0)",
     "the constant expression extractelement of i64 in the interpreter"),
    (f"bitcast (<2 x i32> <i32 1, i32 trunc (i64 {N} to i32)> to i64)",
     "a constant expression that casts vectors, in the interpreter"),
])
def test_constant_expressions_that_are_not_supported(text: str, message: str) -> None:
    with pytest.raises(Unsupported, match=message):
        nvir.launch(nvir.read_ll(TYPED.replace("CONSTANT", text)), "k", 1, 1,
                    [np.zeros(3, np.uint64)])


def test_a_constant_nested_too_deep_is_refused() -> None:
    k = Kernel(("o", GLOBAL))
    numbers = Variable("numbers", "global", array(I32, 3), address_type=pointer(1))
    k.m.add_global(numbers)
    deep: Any = ConstantExpr("ptrtoint", (numbers,), I64)
    for _ in range(201):
        deep = ConstantExpr("add", (deep, const(I64, 1)), I64)
    k.store(deep, k.args[0])
    with pytest.raises(Unsupported, match="a constant nested deeper than 200"):
        k.run(np.zeros(LANES, np.uint64))


def test_shared_memory_barriers_and_address_spaces() -> None:
    k = Kernel(("o", GLOBAL))
    b = k.b
    tile = Variable("tile", "shared", array(I32, LANES), address_type=pointer(3))
    k.m.add_global(tile)
    b.store(k.tid32, b.gep(tile, [const(I32, 0), k.tid], array(I32, LANES)))
    k.call("llvm.nvvm.barrier0", VOID)
    other = b.xor(k.tid, LANES - 1)
    generic = b.addrspacecast(tile, pointer())
    x = b.load(b.gep(generic, [other], I32), I32)
    back = b.addrspacecast(b.gep(generic, [other], I32), pointer(3))
    k.store(b.add(x, b.load(back, I32)), k.args[0])
    out = np.zeros(LANES, np.uint32)
    k.run(out)
    assert out.tolist() == [2 * (x ^ (LANES - 1)) for x in range(LANES)]


def test_allocas_of_a_size_known_late() -> None:
    k = Kernel(("o", GLOBAL))
    b = k.b
    n = b.add(b.urem(k.tid32, 5), 1)
    p = b.alloca(I32, n, align=16)
    last = b.gep(p, [b.sub(n, 1)], I32)
    b.store(k.tid32, last)
    k.store(b.load(last, I32), k.args[0])
    out = np.zeros(LANES, np.uint32)
    k.run(out)
    assert out.tolist() == list(range(LANES))


def memory_kernel(name: str) -> tuple[Kernel, Any]:
    k = Kernel(("d", GLOBAL), ("s", GLOBAL), ("n", GLOBAL))
    n = k.load(k.args[2], I64)
    d, s = (k.b.gep(p, [k.b.mul(k.tid, 32)], I8) for p in k.args[:2])
    if name == "memset":
        k.call("llvm.memset.p1.i64", VOID, d, const(I8, -2), n, const(I1, 0))
    else:
        k.call(f"llvm.{name}.p1.p1.i64", VOID, d, s, n, const(I1, 0))
    return k, n


@pytest.mark.parametrize("name", ["memcpy", "memmove", "memset"])
def test_blocks_of_bytes(name: str) -> None:
    k, _ = memory_kernel(name)
    source = np.random.default_rng(2).integers(0, 255, 32 * LANES).astype(np.uint8)
    target = np.zeros_like(source)
    lengths = np.array([x % 33 for x in range(LANES)], np.uint64)
    k.run(target, source, lengths)
    for x in range(LANES):
        n = int(lengths[x])
        row = target[32 * x : 32 * x + 32]
        expected = np.full(n, 0xFE) if name == "memset" else source[32 * x : 32 * x + n]
        assert (row[:n] == expected).all()
        assert not row[n:].any()


def test_memmove_of_parts_that_overlap() -> None:
    k = Kernel(("d", GLOBAL))
    base = k.b.gep(k.args[0], [k.b.mul(k.tid, 32)], I8)
    to = k.b.gep(base, [3], I8)
    k.call("llvm.memmove.p1.p1.i64", VOID, to, base, const(I64, 20), const(I1, 0))
    data = np.tile(np.arange(32, dtype=np.uint8), LANES)
    k.run(data)
    row = np.arange(32)
    row[3:23] = np.arange(20)
    assert (data.reshape(LANES, 32) == row).all()


@pytest.mark.parametrize(("op", "t", "expected"), [
    ("add", I32, sum(range(LANES))), ("sub", I32, -sum(range(LANES))), ("xchg", I32, LANES - 1),
    ("max", I64, LANES - 1), ("umin", I32, 0), ("or", I32, 63), ("uinc_wrap", I32, 63),
    ("nand", I16, None), ("add", I8, sum(range(LANES)) & 255),
])
def test_atomics(op: str, t: Type, expected: int | None) -> None:
    k = Kernel(("x", GLOBAL), ("old", GLOBAL))
    v = k.tid if t is I64 else k.tid32 if t is I32 else k.b.trunc(k.tid32, t)
    old = k.b.atomic_rmw(op, k.args[0], v)
    k.store(old, k.args[1])
    size = t.bits // 8
    cell = np.zeros(1, f"u{size}")
    olds = np.zeros(LANES, f"u{size}")
    k.run(cell, olds)
    value = 0
    mask = (1 << t.bits) - 1
    for x in range(LANES):
        assert olds[x] == value, x
        value = {"add": value + x, "sub": value - x, "xchg": x, "max": max(value, x),
                 "umin": min(value, x), "or": value | x, "nand": ~(value & x),
                 "uinc_wrap": 0 if value >= x else value + 1}[op] & mask
    assert cell[0] == value
    if expected is not None and op != "uinc_wrap":
        assert value == expected & mask


def test_a_spin_lock_by_cmpxchg() -> None:
    k = Kernel(("lock", GLOBAL), ("count", GLOBAL))
    b = k.b
    spin, got, out = k.f.block("spin"), k.f.block("got"), k.f.block("out")
    b.branch(spin)
    b.position_at_end(spin)
    pair = b.cmpxchg(k.args[0], const(I32, 0), const(I32, 1), "acquire", "monotonic")
    b.cbranch(b.extract_value(pair, 1), got, spin)
    b.position_at_end(got)
    b.store(b.add(b.load(k.args[1], I32, volatile=True), 1), k.args[1], volatile=True)
    b.atomic_rmw("xchg", k.args[0], const(I32, 0), "release")
    b.branch(out)
    b.position_at_end(out)
    count = np.zeros(1, np.uint32)
    k.run(np.zeros(1, np.uint32), count)
    assert count[0] == LANES


def test_atomic_floats() -> None:
    k = Kernel(("x", GLOBAL), ("y", GLOBAL))
    k.b.atomic_rmw("fadd", k.args[0], k.b.uitofp(k.tid32, FLOAT))
    k.b.atomic_rmw("fmax", k.args[1], k.b.uitofp(k.tid32, DOUBLE))
    x, y = np.zeros(1, np.float32), np.zeros(1)
    k.run(x, y)
    assert (x[0], y[0]) == (sum(range(LANES)), LANES - 1)


# ------------------------------------------------------------------ intrinsics


def test_warp_intrinsics() -> None:
    k = Kernel(("o", GLOBAL))
    b = k.b
    everyone = const(I32, -1)
    swapped = k.call("llvm.nvvm.shfl.sync.bfly.i32", I32, everyone, k.tid32, const(I32, 1),
                     const(I32, 31))
    up = k.call("llvm.nvvm.shfl.sync.up.i32p", struct([I32, I1]), everyone, k.tid32, const(I32, 4),
                const(I32, 0))
    odd = b.trunc(k.tid32, I1)
    ballot = k.call("llvm.nvvm.vote.ballot.sync", I32, everyone, odd)
    total = k.call("llvm.nvvm.redux.sync.add", I32, k.tid32, everyone)
    parts = (swapped, b.extract_value(up, 0), b.zext(b.extract_value(up, 1), I32), ballot, total)
    result = undef(array(I32, 5))
    for j, p in enumerate(parts):
        result = b.insert_value(result, p, j)
    k.store(result, k.args[0])
    out = np.zeros((LANES, 5), np.uint32)
    k.run(out)
    lanes = np.arange(LANES)
    inside = lanes % 32 >= 4
    np.testing.assert_array_equal(out[:, 0], lanes ^ 1)
    np.testing.assert_array_equal(out[:, 1], np.where(inside, lanes - 4, lanes))
    np.testing.assert_array_equal(out[:, 2], inside)
    assert set(out[:, 3].tolist()) == {0xAAAAAAAA}
    np.testing.assert_array_equal(out[:, 4], [sum(range(x // 32 * 32, x // 32 * 32 + 32))
                                              for x in lanes])


def test_a_reducing_barrier_and_exit() -> None:
    k = Kernel(("o", GLOBAL))
    b = k.b
    n = k.call("llvm.nvvm.barrier0.popc", I32, b.urem(k.tid32, 4))
    k.store(n, k.args[0])
    with b.if_then(b.icmp_unsigned(">=", k.tid32, 10)):
        k.call("llvm.nvvm.exit", VOID)
        b.unreachable()
    k.store(const(I32, 7), k.args[0])
    out = np.zeros(LANES, np.uint32)
    k.run(out)
    assert out.tolist() == [7] * 10 + [48] * 54


UNARY = [
    ("llvm.ctpop", lambda x, n: x.bit_count()),
    ("llvm.bitreverse", lambda x, n: int(f"{x:0{n}b}"[::-1], 2)),
    ("llvm.bswap", lambda x, n: int.from_bytes(x.to_bytes(n // 8, "little"), "big")),
]


@pytest.mark.parametrize("n", [8, 16, 24, 32, 64, 128])
def test_bit_intrinsics(n: int) -> None:
    t = int_type(n)
    a, b = operands(n, 8), operands(n, 9)
    for name, f in UNARY:
        if name == "llvm.bswap" and n % 16:
            continue
        out = compute([t], t, lambda k, x, name=name: k.call(f"{name}.i{n}", t, x), pack(a, n))
        assert unpack(out, n) == [f(x, n) for x in a], name
    for name in ("ctlz", "cttz"):
        out = compute([t], t, lambda k, x, name=name: k.call(f"llvm.{name}.i{n}", t, x,
                                                             const(I1, 0)), pack(a, n))
        want = [n - x.bit_length() if name == "ctlz" else
                (x & -x).bit_length() - 1 if x else n for x in a]
        assert unpack(out, n) == want, name
    c = operands(n, 10)
    for name in ("fshl", "fshr"):
        out = compute([t, t, t], t, lambda k, x, y, z, name=name: k.call(
            f"llvm.{name}.i{n}", t, x, y, z), pack(a, n), pack(b, n), pack(c, n))
        for x, y, z, r in zip(a, b, c, unpack(out, n), strict=True):
            both = x << n | y
            want = both << z % n >> n if name == "fshl" else both >> z % n
            assert r == want & (1 << n) - 1, (name, x, y, z)


@pytest.mark.parametrize("n", [8, 13, 32, 64])
def test_extremes_saturation_and_overflow(n: int) -> None:
    t = int_type(n)
    a, b = operands(n, 11), operands(n, 12)
    low, high, mask = -(1 << n - 1), (1 << n - 1) - 1, (1 << n) - 1

    def s(x: int) -> int:
        return x - (1 << n) if x >> (n - 1) else x

    table: dict[str, Any] = {
        "smin": lambda x, y: min(s(x), s(y)), "umax": max, "umin": min,
        "smax": lambda x, y: max(s(x), s(y)),
        "sadd.sat": lambda x, y: min(max(s(x) + s(y), low), high),
        "usub.sat": lambda x, y: max(x - y, 0),
    }
    for name, f in table.items():
        out = compute([t, t], t, lambda k, x, y, name=name: k.call(f"llvm.{name}.i{n}", t, x, y),
                      pack(a, n), pack(b, n))
        assert unpack(out, n) == [f(x, y) & mask for x, y in zip(a, b, strict=True)], name
    pair = struct([t, I1])
    out = compute([t, t], t, lambda k, x, y: k.b.select(
        k.b.extract_value(p := k.call(f"llvm.smul.with.overflow.i{n}", pair, x, y), 1),
        const(t, 1), k.b.extract_value(p, 0)), pack(a, n), pack(b, n))
    want = [
        s(x) * s(y) & mask if low <= s(x) * s(y) <= high else 1 for x, y in zip(a, b, strict=True)
    ]
    assert unpack(out, n) == want


def test_float_intrinsics() -> None:
    a, b = floats(FLOAT, 13), floats(FLOAT, 14)
    table = {
        "fabs": np.abs,
        "floor": np.floor,
        "ceil": np.ceil,
        "trunc": np.trunc,
        "rint": np.rint,
    }
    for name, f in table.items():
        out = compute([FLOAT], FLOAT, lambda k, x, name=name: k.call(f"llvm.{name}.f32", FLOAT, x),
                      a).view(np.float32)
        np.testing.assert_array_equal(out, f(a))
    with np.errstate(all="ignore"):
        out = compute([FLOAT], FLOAT, lambda k, x: k.call("llvm.sqrt.f32", FLOAT, x), a)
        np.testing.assert_array_equal(out.view(np.float32), np.sqrt(a))
    out = compute([FLOAT, FLOAT], FLOAT, lambda k, x, y: k.call("llvm.copysign.f32", FLOAT, x, y),
                  a, b).view(np.float32)
    np.testing.assert_array_equal(out, np.copysign(a, b))
    halves = np.array([0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997] * 10 + [1, 2, 3, 4], np.float32)
    out = compute([FLOAT], FLOAT, lambda k, x: k.call("llvm.round.f32", FLOAT, x), halves)
    want = np.copysign(np.floor(np.abs(halves.astype(np.float64)) + 0.5), halves)
    np.testing.assert_array_equal(out.view(np.float32), want)
    d = floats(DOUBLE, 15)
    out = compute([DOUBLE], DOUBLE, lambda k, x: k.call("llvm.nvvm.sqrt.rn.d", DOUBLE, x), d)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out.view(np.float64), np.sqrt(d))


def test_packed_halves_go_as_one_register() -> None:
    v2 = vector(HALF, 2)
    k = Kernel(("a", GLOBAL), ("o", GLOBAL))
    x = k.load(k.args[0], v2)
    k.store(k.call("llvm.nvvm.fma.rn.f16x2", v2, x, x, x), k.args[1])
    a = np.linspace(-4, 4, 2 * LANES).astype(np.float16)
    out = np.zeros_like(a)
    k.run(a, out)
    wide = a.astype(np.float64)
    np.testing.assert_array_equal(out, (wide * wide + wide).astype(np.float16))


def test_mma() -> None:
    """D = A B + C with small integers, each in its fragment."""
    v2 = vector(HALF, 2)
    k = Kernel(("a", GLOBAL), ("b", GLOBAL), ("o", GLOBAL))
    b = k.b
    a = [b.load(b.gep(k.args[0], [b.add(b.mul(k.tid, 4), j)], v2), v2) for j in range(4)]
    c = [b.load(b.gep(k.args[1], [b.add(b.mul(k.tid, 2), j)], v2), v2) for j in range(2)]
    zero = [const(FLOAT, 0.0)] * 4
    result = struct([FLOAT] * 4)
    d = k.call("llvm.nvvm.mma.m16n8k16.row.col.f32.f32", result, *a, *c, *zero)
    k.store(d, k.args[2])
    fa, fb, out = (np.ones((32, n), t) for n, t in ((8, "f2"), (4, "f2"), (4, "f4")))
    k.run(fa, fb, out, lanes=32)
    assert (out == 16).all()


def test_printf_and_trap() -> None:
    k = Kernel(("o", GLOBAL))
    b = k.b
    text = Variable("fmt", "global", array(I8, 7), address_type=pointer(1),
                    init=constant(array(I8, 7), b"%d %g\n\0"))
    k.m.add_global(text)
    t = struct([I32, DOUBLE])
    buffer = b.alloca(t)
    b.store(k.tid32, buffer)
    b.store(const(DOUBLE, 0.5), b.gep(buffer, [0, 1], t))
    k.call("vprintf", I32, b.addrspacecast(text, pointer()), buffer)
    with b.if_then(b.icmp_unsigned(">", k.tid32, 100)):
        k.call("llvm.trap", VOID)
        b.unreachable()
    assert k.run(np.zeros(1), lanes=2).stdout == "0 0.5\n1 0.5\n"


# ---------------------------------------------------------------------- errors


def test_a_store_out_of_bounds_names_instruction_and_thread() -> None:
    k = Kernel(("o", GLOBAL))
    k.store(k.tid, k.args[0])
    with pytest.raises(LaunchError, match="out of bounds") as error:
        k.run(np.zeros(10, np.uint64))
    assert error.value.thread == (10, 0, 0)
    assert "store" in str(error.value)


def test_a_misaligned_access() -> None:
    k = Kernel(("o", GLOBAL))
    p = k.b.gep(k.args[0], [1], I8)
    k.b.store(const(I32, 1), p)
    with pytest.raises(LaunchError, match="misaligned"):
        k.run(np.zeros(2, np.uint32))


def test_an_access_of_align_1_may_lie_anywhere() -> None:
    k = Kernel(("o", GLOBAL))
    p = k.b.gep(k.args[0], [1], I8)
    k.b.store(const(I32, 0x01020304), p, align=1)
    out = np.zeros(8, np.uint8)
    k.run(out, lanes=1)
    assert out.tolist() == [0, 4, 3, 2, 1, 0, 0, 0]


def test_unreachable_is_an_error() -> None:
    k = Kernel(("o", GLOBAL))
    k.b.unreachable()
    with pytest.raises(LaunchError, match="unreachable"):
        k.run(np.zeros(1))


@pytest.mark.parametrize(("make", "what"), [
    (lambda k: k.call("llvm.nvvm.no.such.thing", I32), "no.such.thing"),
    (lambda k: k.call("somewhere_else", I32), "has no body"),
    (lambda k: k.b.fadd(undef(FP128), undef(FP128)), "fp128"),
])
def test_what_is_not_supported_says_so(make: Callable[[Kernel], Any], what: str) -> None:
    k = Kernel(("o", GLOBAL))
    make(k)
    with pytest.raises(Unsupported, match=what):
        k.run(np.zeros(1))


def test_undef_and_poison_read_as_zero() -> None:
    k = Kernel(("o", GLOBAL))
    k.store(k.b.add(k.b.freeze(undef(I32)), k.b.or_(poison(I32), 5)), k.args[0])
    out = np.ones(LANES, np.uint32)
    k.run(out)
    assert set(out.tolist()) == {5}


def test_kernel_arguments_of_all_kinds() -> None:
    pair = struct([I16, DOUBLE])
    kinds = [("a", I1), ("b", I8), ("c", HALF), ("d", DOUBLE), ("e", I128), ("f", pair),
             ("g", vector(FLOAT, 4)), ("o", GLOBAL)]
    k = Kernel(*kinds)
    b = k.b
    a, c8, h, d, wide, p, v, o = k.args
    total = b.fadd(b.fadd(b.uitofp(a, DOUBLE), b.sitofp(c8, DOUBLE)), b.fpext(h, DOUBLE))
    total = b.fadd(b.fadd(total, d), b.uitofp(b.trunc(b.lshr(wide, 64), I32), DOUBLE))
    total = b.fadd(total, b.fadd(b.extract_value(p, 1), b.sitofp(b.extract_value(p, 0), DOUBLE)))
    total = b.fadd(total, b.fpext(b.extract_element(v, 2), DOUBLE))
    k.store(total, o)
    out = np.zeros(LANES)
    struct_bytes = np.zeros(1, np.dtype([("s", "i2"), ("d", "f8")], align=True))
    struct_bytes["s"], struct_bytes["d"] = -3, 0.25
    k.run(True, -2, 0.5, 1.25, (7 << 64).to_bytes(16, "little"), struct_bytes.tobytes(),
          np.arange(4, dtype=np.float32).tobytes(), out)
    assert set(out.tolist()) == {1 - 2 + 0.5 + 1.25 + 7 - 3 + 0.25 + 2}


def assemble(k: Kernel, template: str, constraints: str, result: Type, *args: Any) -> Any:
    info = CallInfo(len(args), callee=InlineAsm(template, constraints))
    return k.b.insert("call", args, result, aux=info)


@pytest.mark.parametrize(("template", "constraints", "expected"), [
    ("mov.u32 $0, %laneid;", "=r,r", lambda x: x % 32),
    ("add.u32 $0, $1, 3;", "=r,r", lambda x: x + 3),
    ("{ .reg .pred p; setp.lt.u32 p, $1, 10; selp.b32 $0, 7, $1, p; }", "=r,r",
     lambda x: 7 if x < 10 else x),
    ("{\n\t.reg .pred p;\n\t.reg .b32 t<2>;\n\tsetp.gt.u32 p, $1, 5; // five\n\t"
     "mov.b32 t0, 100;\n\t@p add.u32 t0, t0, $1;\n\tmov.b32 $0, t0;\n\t}", "=r,r",
     lambda x: 100 + x if x > 5 else 100),
    ("@!$2 add.u32 $0, $0, 1;", "=r,0,b", None),
    ("{.reg .b32 lo, hi; .reg .b64 w; mul.wide.u32 w, $1, 65537; mov.b64 {lo, hi}, w; "
     "xor.b32 $0, lo, hi;}", "=r,r", lambda x: x * 65537),
    ("add.cc.u32 $0, $1, 0xFFFFFFFF;\n\taddc.u32 $0, $0, 0;", "=r,r",
     lambda x: (x + 0xFFFFFFFF + (x > 0)) & 0xFFFFFFFF),
    ("shfl.sync.bfly.b32 $0, $1, 1, 31, 0xffffffff;", "=r,r", lambda x: x ^ 1),
    ("prmt.b32 $0, $1, 0, 0x0123; // bytes", "=r,r,~{memory}",
     lambda x: int.from_bytes(x.to_bytes(4, "little"), "big")),
    (".loc 1 2 3;\n\tadd.u32 $0, $1, WARP_SZ;", "=r,r", lambda x: x + 32),
    ("{ .reg .f32 a; mov.f32 a, 0f3F800000; add.f32 a, a, 1.5; mov.b32 $0, a; }", "=r,r",
     lambda x: 0x40200000),
    ("{ .reg .f32 a; mov.f32 a, -1.5; add.f32 a, a, 2e0; mov.b32 $0, a; }", "=r,r",
     lambda x: 0x3F000000),
    ("{ .reg .f64 a; mov.f64 a, 0f3F800000; add.f64 a, a, 0.25; mov.b64 {_, $0}, a; }", "=r,r",
     lambda x: 0x3FF40000),
    ("add.u32 $0, $1, 010; add.u32 $0, $0, 0b101U;", "=r,r", lambda x: x + 13),
    ("{ .reg .f64 a; mov.f64 a, 0d4000000000000000; add.f64 a, a, 0.5; cvt.rni.u32.f64 $0, a;}",
     "=r,r", lambda x: 2),
    ("{ .reg .b32 a; mov.u32 a, %ntid.x; add.u32 $0, a, $1; }", "=r,r", lambda x: LANES + x),
    ("{ .reg .b64 a; mov.u64 a, numbers; add.u64 a, a, 8; ld.global.u32 $0, [a-4]; }", "=r,r",
     lambda x: 12),
    ("mov.u32 _, $1; @ !$2 add.u32 $0, $0, 1;", "=r,0,b", None),
])
def test_inline_assembly(template: str, constraints: str, expected: Any) -> None:
    k = Kernel(("o", GLOBAL))
    args = [k.tid32]
    if ",b" in constraints:
        args.append(k.b.trunc(k.tid32, I1))

        def expected(x: int) -> int:
            return x + 1 - (x & 1)

    values = constant(array(I32, 3), tuple(const(I32, x) for x in (11, 12, 13)))
    k.m.add_global(Variable("numbers", "global", array(I32, 3), address_type=pointer(1),
                            init=values))
    k.store(assemble(k, template, constraints, I32, *args), k.args[0])
    out = np.zeros(LANES, np.uint32)
    k.run(out)
    assert out.tolist() == [expected(x) for x in range(LANES)]


def test_inline_assembly_with_memory_and_two_results() -> None:
    k = Kernel(("a", GLOBAL), ("o", GLOBAL))
    at = k.b.gep(k.args[0], [k.tid], I64)
    two = struct([I32, I32])
    x = assemble(k, "ld.global.v2.b32 {$0, $1}, [$2];", "=r,=r,l,~{memory}", two, at)
    k.b.insert("call", (at, k.b.extract_value(x, 1)),
               aux=CallInfo(2, callee=InlineAsm("st.global.u32 [$0+4], $1;", "l,r")))
    k.store(k.b.add(k.b.extract_value(x, 0), k.b.extract_value(x, 1)), k.args[1])
    data = np.arange(2 * LANES, dtype=np.uint32)
    out = np.zeros(LANES, np.uint32)
    k.run(data, out)
    assert out.tolist() == [4 * x + 1 for x in range(LANES)]


@pytest.mark.parametrize(("template", "t", "expected"), [
    ("mov.b16 $0, $1;", I8, lambda x: x),
    ("{ .reg .pred p; setp.gt.u16 p, $1, 5; selp.b16 $0, 1, 0, p; }", I1, lambda x: x > 5),
    ("mov.b16 $0, 3;", I8, lambda x: 3),
])
def test_an_output_of_assembly_narrower_than_its_register(
    template: str, t: Type, expected: Callable[[int], int]
) -> None:
    k = Kernel(("o", GLOBAL))
    x = assemble(k, template, "=h,h", t, k.b.trunc(k.tid32, I16))
    k.store(k.b.zext(x, I32), k.args[0])
    out = np.zeros(LANES, np.uint32)
    k.run(out)
    assert out.tolist() == [expected(x) for x in range(LANES)]


def test_an_output_of_assembly_in_memory_is_refused() -> None:
    k = Kernel(("o", GLOBAL))
    k.b.insert("call", (k.args[0],),
               aux=CallInfo(1, callee=InlineAsm("st.global.u32 [$0], 7;", "=*m")))
    with pytest.raises(Unsupported, match=r"inline assembly with the constraints '=\*m'"):
        k.run(np.zeros(LANES, np.uint32))


@pytest.mark.parametrize("template", [
    "L: bra L;", "frobnicate.u32 $0, $1;", "mov.u32 $0, nobody;", ".file 1;", "mov.u32 $0, #;",
    "shfl.sync.bfly.b32 $0, $1, 1, 31, -1; add.u32 $0, $0, 1;",
])
def test_assembly_that_is_not_supported(template: str) -> None:
    k = Kernel(("o", GLOBAL))
    k.store(assemble(k, template, "=r,r", I32, k.tid32), k.args[0])
    with pytest.raises(Unsupported, match="inline assembly"):
        k.run(np.zeros(LANES, np.uint32))


def test_functions_of_libdevice_that_are_one_instruction() -> None:
    a = np.abs(floats(FLOAT, 21))
    out = compute([FLOAT], FLOAT, lambda k, x: k.call("__nv_sqrtf", FLOAT, x), a).view(np.float32)
    np.testing.assert_array_equal(out, np.sqrt(a))
    x = operands(32, 22)
    out = compute([I32], I32, lambda k, x: k.call("__nv_popc", I32, x), pack(x, 32))
    assert unpack(out, 32) == [v.bit_count() for v in x]
    d, e = floats(DOUBLE, 23), floats(DOUBLE, 24)
    out = compute([DOUBLE, DOUBLE], DOUBLE,
                  lambda k, x, y: k.call("__nv_dadd_rn", DOUBLE, x, y), d, e)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out.view(np.float64), d + e)


@pytest.mark.parametrize("check", [("bounds", "uninit"), ("bounds", "race")])
def test_the_optional_checks_work_at_this_level(check: tuple[str, ...]) -> None:
    k = Kernel(("o", GLOBAL))
    tile = Variable("tile", "shared", array(I32, LANES), address_type=pointer(3))
    k.m.add_global(tile)
    at = k.b.gep(tile, [const(I32, 0), k.tid], array(I32, LANES))
    other = k.b.gep(tile, [const(I32, 0), k.b.xor(k.tid, 32)], array(I32, LANES))
    if "race" in check:
        k.b.store(k.tid32, at)
    k.store(k.b.load(other, I32), k.args[0])
    with pytest.raises(
        LaunchError, match="race" if "race" in check else "uninitialised|wrote|written"
    ):
        k.run(np.zeros(LANES, np.uint32), check=check)


@pytest.mark.parametrize(("text", "problem"), [
    ("add.u32 $0, $1;", "'add' needs 3 operands, 2 given"),
    ("ld.u32 $0, $1;", "'ld' needs an address in brackets"),
    ("st.u32 $1;", "'st' needs 2 operands, 1 given"),
    ("prmt.b32 $0, $1, 09, 0;", "the number 09"),
    ("{.reg .u64 q; ld.global.v2.u32 {$0}, [q];}", "into 1 of 2 registers"),
])
def test_assembly_with_wrong_operands_is_named(text, problem):
    module = nvir.read_ll(f"""define ptx_kernel void @k(ptr addrspace(1) %p) {{
  %x = load i32, ptr addrspace(1) %p
  %r = call i32 asm sideeffect "{text}", "=r,r"(i32 %x)
  store i32 %r, ptr addrspace(1) %p
  ret void
}}""")
    with pytest.raises(Unsupported, match=re.escape(problem)):
        nvir.launch(module, "k", 1, 1, [np.ones(4, np.uint32)])
