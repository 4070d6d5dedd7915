"""Random kernels of the nvvm level, for properties of passes that work there.

    @given(kernels())
    def test_…(module): …

A kernel `k(ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %n)` of 32 threads. It reads and writes
its own 64-byte row of each buffer and a shared array, so every address is in bounds; its loops
have few turns, its divisors are odd, its shifts are below the width, and no value is undefined,
so what it leaves is determined: the same before and after any right pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from nvir.ir import Module
from nvir.ir.block import Block
from nvir.ir.nvvm import Builder, const, declare, function, variable
from nvir.ir.types import (
    DOUBLE,
    FLOAT,
    HALF,
    I1,
    I8,
    I16,
    I32,
    I64,
    I128,
    VOID,
    FloatType,
    IntType,
    Type,
    array,
    int_type,
    pointer,
    struct,
    vector,
)
from nvir.ir.values import Value, undef

THREADS = 32
ROW = 64  # bytes of a thread in each buffer
INTEGERS = (I1, I8, I16, I32, I64, I128, int_type(24), int_type(5))
FLOATS = (FLOAT, DOUBLE, HALF)
_PREDICATES = ("eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge")
_ATOMICS = ("add", "sub", "and", "or", "xor", "max", "min", "umax", "umin", "nand")


@st.composite
def kernels(draw: Any, max_steps: int = 14) -> Module:
    """A module with one kernel."""
    return _Kernel(draw, max_steps).module


def arguments(seed: int = 0) -> list[Any]:
    """Arguments for the kernel `k`."""
    rng = np.random.default_rng(seed)
    given = rng.integers(0, 256, THREADS * ROW, np.uint8)
    return [given, np.zeros(THREADS * ROW, np.uint8), np.int32(rng.integers(0, 5))]


class _Kernel:
    """Draws one kernel. `pool` has the values at hand by type; `draw` is hypothesis'."""

    def __init__(self, draw: Any, max_steps: int) -> None:
        self.draw = draw
        self.module = Module("sm_80", level="nvvm")
        params = [("in", pointer(1)), ("out", pointer(1)), ("n", I32)]
        self.function = function(self.module, "k", VOID, params, kind="entry")
        self.b = Builder(self.function.block("entry"))
        self.pool: dict[Type, list[Value]] = {}
        self.depth = 0
        self.tile = variable(self.module, "tile", array(I32, THREADS), 3, align=4)
        sreg = declare(self.module, "llvm.nvvm.read.ptx.sreg.tid.x", I32)
        self.thread = self.b.call(sreg, [])
        offset = self.b.mul(self.b.zext(self.thread, I64), ROW)
        source, target, self.n = self.function.params
        self.rows = [self.b.gep(p, [offset], I8) for p in (source, target)]
        self.add(self.thread, self.n)
        for t in (I32, I64, I8):
            self.load(t)
        self.steps(max_steps)
        self.finish()

    # ------------------------------------------------------------ values

    def pick(self, options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def add(self, *values: Value) -> None:
        for v in values:
            self.pool.setdefault(v.type, []).append(v)

    def value(self, t: Type) -> Value:
        """A value of that type: one at hand, a constant, or one converted from another."""
        known = self.pool.get(t)
        if known and self.draw(st.integers(0, 5)):
            return self.pick(known[-6:])
        if isinstance(t, IntType) and self.draw(st.booleans()):
            low, high = -(1 << (t.bits - 1)), (1 << (t.bits - 1)) - 1
            number = self.draw(st.integers(low, high)) if t.bits > 1 else self.pick((0, 1))
            return const(t, number)
        return self.converted(t)

    def converted(self, t: Type) -> Value:
        x = self.pick(self.pool[I32][-6:])
        if t is I32:
            return x
        if isinstance(t, FloatType):
            small = self.b.and_(x, 1023)
            return self.b.sitofp(small, t)
        assert isinstance(t, IntType)
        if t.bits < 32:
            return self.b.trunc(x, t)
        return self.b.sext(x, t) if self.draw(st.booleans()) else self.b.zext(x, t)

    def condition(self) -> Value:
        t = self.pick(INTEGERS[1:])
        i = self.b.insert(f"icmp {self.pick(_PREDICATES)}", (self.value(t), self.value(t)), I1)
        self.add(i)
        return i

    # ------------------------------------------------------------- steps

    def steps(self, most: int) -> None:
        actions = [self.arithmetic, self.arithmetic, self.shift, self.divide, self.floating,
                   self.compare, self.cast, self.memory, self.vectors, self.aggregate, self.stack,
                   self.atomic, self.intrinsic]
        if self.depth < 2:
            actions += [self.branch, self.loop, self.switch]
        if self.depth == 0:
            actions.append(self.exchange)
        for _ in range(self.draw(st.integers(1, most))):
            self.pick(actions)()

    def arithmetic(self) -> None:
        t = self.pick(INTEGERS)
        op = self.pick((self.b.add, self.b.sub, self.b.mul, self.b.and_, self.b.or_, self.b.xor))
        self.add(op(self.value(t), self.value(t)))

    def shift(self) -> None:
        t = self.pick(INTEGERS[1:])
        amount = self.b.urem(self.value(t), const(t, min(t.bits, (1 << (t.bits - 1)) - 1)))
        self.add(self.pick((self.b.shl, self.b.lshr, self.b.ashr))(self.value(t), amount))

    def divide(self) -> None:
        t = self.pick((I8, I16, I32, I64, int_type(24), I128))
        divisor = self.b.and_(self.b.or_(self.value(t), 1), const(t, (1 << (t.bits - 1)) - 1))
        op = self.pick((self.b.udiv, self.b.urem, self.b.sdiv, self.b.srem))
        self.add(op(self.value(t), divisor))

    def floating(self) -> None:
        t = self.pick(FLOATS)
        x, y = self.value(t), self.value(t)
        op = self.pick((self.b.fadd, self.b.fsub, self.b.fmul, self.b.fdiv))
        made = op(x, y)
        ordered = self.b.fcmp_ordered("ord", made, made)  # which NaN it is, is not determined
        kept = self.b.select(ordered, made, const(t, 1.0))
        self.add(kept, self.b.insert(f"fcmp {self.pick(('olt', 'uge', 'one', 'ueq'))}", (x, y), I1))

    def compare(self) -> None:
        c = self.condition()
        t = self.pick((*INTEGERS, *FLOATS))
        self.add(self.b.select(c, self.value(t), self.value(t)))

    def cast(self) -> None:
        source, target = self.pick(INTEGERS), self.pick(INTEGERS)
        x = self.value(source)
        if source.bits > target.bits:
            self.add(self.b.trunc(x, target))
        elif source.bits < target.bits:
            self.add(self.pick((self.b.zext, self.b.sext))(x, target))

    def intrinsic(self) -> None:
        t = self.pick((I8, I16, I32, I64))
        name = self.pick(("smin", "umax", "uadd.sat", "ssub.sat", "ctpop", "bitreverse"))
        args = [self.value(t)] if name in ("ctpop", "bitreverse") else [
            self.value(t), self.value(t)]
        callee = declare(self.module, f"llvm.{name}.{t.name}", t, [t] * len(args))
        self.add(self.b.call(callee, args))

    # ------------------------------------------------------------ memory

    def place(self, row: int, bytes: int) -> Value:
        """An address in the thread's row, aligned to 4, at a constant or a computed offset."""
        k = self.draw(st.integers(0, (ROW - bytes) // 4))
        if self.draw(st.booleans()):
            return self.b.gep(self.rows[row], [4 * k], I8)
        index = self.b.and_(self.value(I32), (ROW - bytes) // 4 if bytes > 32 else 7)
        limited = index if bytes <= 32 else const(I32, k)
        return self.b.gep(self.rows[row], [limited], I32)

    def load(self, t: Type) -> None:
        self.add(self.b.load(self.place(0, 16), t, align=4))

    def memory(self) -> None:
        t = self.pick((I8, I16, I32, I64, I128, int_type(24)))
        if self.draw(st.booleans()):
            self.b.store(self.value(t), self.place(1, 16), align=4)
        else:
            self.add(self.b.load(self.place(self.pick((0, 1)), 16), t, align=4))

    def stack(self) -> None:
        """A small array, written and read at computed places."""
        with self.b.goto_block(self.function.entry):
            slot = self.b.alloca(array(I32, 4))
            for k in range(4):
                self.b.store(const(I32, k), self.b.gep(slot, [0, k], array(I32, 4)))
        for _ in range(2):
            at = self.b.gep(slot, [const(I32, 0), self.b.and_(self.value(I32), 3)], array(I32, 4))
            self.b.store(self.value(I32), at)
        at = self.b.gep(slot, [const(I32, 0), self.b.and_(self.value(I32), 3)], array(I32, 4))
        self.add(self.b.load(at, I32))

    def exchange(self) -> None:
        """Through shared memory, between barriers; only where all threads come along."""
        barrier = declare(self.module, "llvm.nvvm.barrier0")
        mine = self.b.gep(self.tile, [const(I32, 0), self.thread], array(I32, THREADS))
        self.b.store(self.value(I32), mine)
        self.b.call(barrier, [])
        other = self.b.xor(self.thread, self.draw(st.integers(0, THREADS - 1)))
        theirs = self.b.gep(self.tile, [const(I32, 0), other], array(I32, THREADS))
        self.add(self.b.load(theirs, I32))
        self.b.call(barrier, [])

    def atomic(self) -> None:
        """On the thread's own row: determined."""
        t = self.pick((I8, I16, I32))
        p = self.place(1, 16)
        if self.draw(st.booleans()):
            self.add(self.b.atomic_rmw(self.pick(_ATOMICS), p, self.value(t)))
        else:
            pair = self.b.cmpxchg(p, self.value(t), self.value(t))
            self.add(self.b.extract_value(pair, 0), self.b.extract_value(pair, 1))

    # ---------------------------------------------------- values in pieces

    def vectors(self) -> None:
        e = self.pick((I8, I16, I32, I64))
        t = vector(e, 4 if e.bits < 64 else 2)
        v: Value = undef(t)
        for k in range(t.count):
            v = self.b.insert_element(v, self.value(e), k)
        w = self.b.load(self.place(0, 16), t, align=4)
        made = self.pick((self.b.add, self.b.xor, self.b.sub))(v, w)
        lanes = [self.draw(st.integers(0, 2 * t.count - 1)) for _ in range(t.count)]
        mixed = self.b.shuffle_vector(made, w, lanes)
        index = self.b.and_(self.value(I32), t.count - 1)
        self.add(self.b.extract_element(mixed, index))
        self.b.store(mixed, self.place(1, 16), align=4)

    def aggregate(self) -> None:
        t = struct([I8, array(I32, 2), struct([I16, I8])])
        v: Value = self.b.load(self.place(self.pick((0, 1)), 16), t, align=4)
        v = self.b.insert_value(v, self.value(I32), (1, self.pick((0, 1))))
        v = self.b.insert_value(v, self.value(I16), (2, 0))
        self.add(self.b.extract_value(v, (1, 1)), self.b.extract_value(v, (2, 1)))

    # ----------------------------------------------------------- control

    def inside(self, blocks: list[Block], join: Block, most: int) -> list[dict[Type, Value]]:
        """Fill blocks that lead to `join`; what each has of every type at its end."""
        ends = []
        outer = self.pool
        for block in blocks:
            self.pool = {t: list(v) for t, v in outer.items()}
            self.b.position_at_end(block)
            self.depth += 1
            self.steps(most)
            self.depth -= 1
            ends.append({t: self.value(t) for t in (I32, I64, I1, FLOAT)})
            ends[-1][VOID] = self.b.block  # type: ignore[assignment]  # where the edge comes from
            self.b.branch(join)
        self.pool = outer
        return ends

    def join(self, ends: list[dict[Type, Value]], join: Block) -> None:
        self.b.position_at_end(join)
        for t in (I32, I64, I1, FLOAT):
            phi = self.b.phi(t)
            phi.set_incoming([e[t] for e in ends], [e[VOID] for e in ends])  # type: ignore[misc]
            self.add(phi)

    def branch(self) -> None:
        f = self.function
        c = self.condition()
        blocks, join = [f.block("then"), f.block("else")], f.block("join")
        self.b.cbranch(c, *blocks)
        self.join(self.inside(blocks, join, 3), join)

    def switch(self) -> None:
        f = self.function
        x = self.b.and_(self.value(I32), 7)
        cases = self.draw(st.lists(st.integers(0, 9), min_size=1, max_size=5, unique=True))
        blocks = [f.block("case") for _ in cases]
        default, join = f.block("default"), f.block("join")
        i = self.b.switch(x, default)
        for number, block in zip(cases, blocks, strict=True):
            self.b.add_case(i, number, block)
        self.join(self.inside([*blocks, default], join, 2), join)

    def loop(self) -> None:
        """A few turns of a body that carries two numbers and a condition."""
        f = self.function
        turns = self.b.add(self.b.and_(self.value(I32), 3), 1)
        starts = [const(I32, 0), self.value(I32), self.value(I64), self.value(I1)]
        before = self.b.block
        body, done = f.block("loop"), f.block("done")
        self.b.branch(body)
        self.b.position_at_end(body)
        phis = [self.b.phi(v.type) for v in starts]
        outer = self.pool
        self.pool = {t: list(v) for t, v in outer.items()}
        self.add(*phis)
        self.depth += 1
        self.steps(4)
        self.depth -= 1
        following = [self.b.add(phis[0], 1), *(self.value(p.type) for p in phis[1:])]
        latch = self.b.block
        self.b.cbranch(self.b.icmp_unsigned("<", following[0], turns), body, done)
        for phi, a, b in zip(phis, starts, following, strict=True):
            phi.set_incoming([a, b], [before, latch])
        self.pool = outer
        self.b.position_at_end(done)
        self.add(*phis)

    def finish(self) -> None:
        """Store the last values of each type in one number."""
        total: Value = const(I64, 0)
        for t, values in self.pool.items():
            v = values[-1]
            if isinstance(t, FloatType):
                v = self.b.bitcast(v, int_type(t.bits))
            assert isinstance(v.type, IntType)
            wide = v if v.type is I64 else (
                self.b.trunc(v, I64) if v.type.bits > 64 else self.b.zext(v, I64))
            total = self.b.add(self.b.mul(total, 31), wide)
        self.b.store(total, self.rows[1], align=4)
        self.b.ret_void()
