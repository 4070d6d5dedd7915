"""Random kernels full of aggregates: nvvm_modules' kernels with more steps.

Struct and array values are loaded, stored, selected, frozen, merged by phis, built and taken apart,
passed to functions and returned; memory is copied, moved and filled within the thread's row, at
constant and computed places; structs are passed in memory. Types that are stored have no padding,
whose bytes no store of an aggregate determines.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from nvir.ir import Module
from nvir.ir.function import Function
from nvir.ir.layout import size_of
from nvir.ir.nvvm import Builder, const, function
from nvir.ir.nvvm_values import NvvmCall
from nvir.ir.types import (
    I8,
    I16,
    I32,
    I64,
    FloatType,
    IntType,
    StructType,
    Type,
    VectorType,
    array,
    pointer,
    struct,
    vector,
)
from nvir.ir.values import Value, constant, undef
from nvir.passes.aggregate.leaves import leaves
from tests.aggregates import memory_call
from tests.nvvm_modules import _Kernel

DENSE: tuple[Type, ...] = (
    struct([I32, array(I16, 2), struct([I8, I8, I16])]),
    struct([I8, I32, I16], packed=True),
    array(struct([I16, I16]), 3),
    struct([vector(I32, 2), I64]),
    struct([I32]),
    array(I8, 7),
)
TYPES: tuple[Type, ...] = (
    *DENSE, struct([I8, struct([I32, I8]), array(I16, 3)]), struct([I8, I64]), struct([]),
)


@st.composite
def kernels(draw: Any, max_steps: int = 10) -> Module:
    """A module with the kernel `k`; arguments as nvvm_modules' `arguments`."""
    return _Aggregates(draw, max_steps).module


class _Aggregates(_Kernel):
    """Draws one kernel. `callees` are the functions made so far, by type and kind."""

    def steps(self, most: int) -> None:
        actions = [self.arithmetic, self.whole, self.whole, self.change, self.change, self.merge,
                   self.choose, self.called, self.called_in_memory, self.copied, self.copied,
                   self.filled, self.kept, self.exchanged]
        if self.depth < 2:
            actions += [self.branch, self.loop]
        for _ in range(self.draw(st.integers(1, most))):
            self.pick(actions)()

    # ------------------------------------------------------------- values

    def aggregate_of(self, t: Type) -> Value:
        """A value of an aggregate type: at hand, a constant, undef filled up, or loaded."""
        known = self.pool.get(t)
        if known and self.draw(st.booleans()):
            return self.pick(known[-4:])
        how = self.draw(st.integers(0, 3))
        if how == 0:
            return constant(t, None)
        if how == 1 and leaves(t):
            return self.built(t)
        return self.b.load(self.place(0, 24), t, align=4)

    def built(self, t: Type) -> Value:
        out: Value = undef(t)
        for leaf in leaves(t):
            out = self.b.insert_value(out, self.scalar(leaf.type), leaf.path)
        return out

    def scalar(self, t: Type) -> Value:
        if isinstance(t, IntType):
            return self.value(t)
        return self.b.load(self.place(0, 24), t, align=4)

    def whole(self) -> None:
        """Load and store, with and without something in between."""
        t = self.pick(TYPES)
        v = self.aggregate_of(t)
        self.pool.setdefault(t, []).append(v)
        if t in DENSE:
            if self.draw(st.booleans()):
                self.memory()
            self.b.store(v, self.place(1, 16), align=self.pick((0, 1, 4)) if t is DENSE[1] else 4)

    def change(self) -> None:
        t = self.pick(TYPES)
        found = leaves(t)
        if not found:
            return
        v = self.aggregate_of(t)
        leaf = self.pick(found)
        v = self.b.insert_value(v, self.scalar(leaf.type), leaf.path)
        self.pool.setdefault(t, []).append(v)
        got = self.b.extract_value(v, self.pick(found).path)
        if isinstance(got.type, IntType):
            self.add(got)
        if isinstance(t, StructType) and isinstance(found[-1].path, tuple):
            outer = found[-1].path[:1]
            part = self.b.extract_value(v, outer)
            self.pool.setdefault(part.type, []).append(part)

    def choose(self) -> None:
        t = self.pick(TYPES)
        v = self.b.select(self.condition(), self.aggregate_of(t), self.aggregate_of(t))
        if self.draw(st.booleans()):
            v = self.b.freeze(v)
        self.pool.setdefault(t, []).append(v)

    def merge(self) -> None:
        """A phi of a struct behind a branch."""
        f, t = self.function, self.pick(TYPES)
        blocks, join = [f.block("left"), f.block("right")], f.block("met")
        self.b.cbranch(self.condition(), *blocks)
        values = []
        for block in blocks:
            self.b.position_at_end(block)
            values.append(self.aggregate_of(t))
            self.b.branch(join)
        self.b.position_at_end(join)
        phi = self.b.phi(t)
        phi.set_incoming(values, blocks)
        self.pool.setdefault(t, []).append(phi)

    def exchanged(self) -> None:
        """cmpxchg gives a struct that nobody can change."""
        pair = self.b.cmpxchg(self.place(1, 16), self.value(I32), self.value(I32))
        self.add(self.b.extract_value(pair, 0), self.b.extract_value(pair, 1))

    # -------------------------------------------------------------- calls

    def called(self) -> None:
        """A function that takes a struct and a number, and returns the struct changed."""
        t = self.pick([t for t in TYPES if leaves(t)])
        made = self.b.call(self.callee(t), [self.aggregate_of(t), self.value(I32)])
        self.pool.setdefault(t, []).append(made)
        got = self.b.extract_value(made, self.pick(leaves(t)).path)
        if isinstance(got.type, IntType):
            self.add(got)

    def callee(self, t: Type) -> Function:
        k = len(self.module.functions)
        f = function(self.module, f"f{k}", t, [("s", t), ("n", I32)])
        f.linkage = self.pick(("internal", ""))
        f.aux = {"attributes": ("noinline",)}
        b = Builder(f.block("entry"))
        s, n = f.params
        first = next((x for x in leaves(t) if x.type is I32), None)
        if first is not None and self.draw(st.booleans()):
            old = b.extract_value(s, first.path)
            b.ret(b.insert_value(s, b.add(old, n), first.path))
        else:
            b.ret(s)
        return f

    def called_in_memory(self) -> None:
        """A byval parameter, read or written by the callee."""
        t = struct([I32, array(I32, 3)])
        k = len(self.module.functions)
        f = function(self.module, f"m{k}", I32, [("p", pointer()), ("n", I32)])
        f.params[0].attributes = (("byval", t), ("align", 4))
        f.aux = {"attributes": ("noinline",)}
        b = Builder(f.block("entry"))
        p, n = f.params
        at = self.pick((const(I32, 1), n))
        q = b.gep(p, [const(I64, 0), const(I32, 1), b.and_(at, 1)], t)
        old = b.load(q, I32)
        if self.draw(st.booleans()):
            b.store(n, q)
            old = b.add(old, b.load(b.gep(p, [0, 1, 1], t), I32))
        b.ret(old)
        with self.b.goto_block(self.function.entry):
            slot = self.b.alloca(t, 1, "slot", 4)
            self.b.store(constant(t, None), slot)
        self.b.store(self.value(I32), self.b.gep(slot, [0, 1, self.draw(st.integers(0, 2))], t))
        info = NvvmCall(2, callee=f, arguments=((("byval", t), ("align", 4)), ()))
        self.add(self.b.insert("call", (slot, self.value(I32)), I32, aux=info))
        self.add(self.b.load(self.b.gep(slot, [0, 1, 0], t), I32))

    # --------------------------------------------------------------- memory

    def copied(self) -> None:
        """memcpy from the input, memmove within the output."""
        kind = self.pick(("memcpy", "memmove", "memmove"))
        to, source = self.place(1, 24), self.place(0 if kind == "memcpy" else 1, 24)
        aligns = self.pick(((1, 1), (4, 4), (4, 2)))
        memory_call(self.b, kind, to, source, self.length(), aligns)

    def length(self) -> Value:
        if self.draw(st.booleans()):
            return const(I64, self.draw(st.integers(0, 24)))
        t = self.pick((I32, I64))
        return self.b.urem(self.value(t), const(t, 25))

    def filled(self) -> None:
        byte = self.value(I8)
        memory_call(self.b, "memset", self.place(1, 24), byte, self.length(), (4, 4))

    def kept(self) -> None:
        """A struct in stack memory, copied as a whole."""
        t = self.pick(DENSE)
        with self.b.goto_block(self.function.entry):
            slot = self.b.alloca(t, 1, "kept", 4)
            self.b.store(constant(t, None), slot)
        if self.draw(st.booleans()):
            self.b.store(self.aggregate_of(t), slot)
        memory_call(self.b, "memcpy", self.place(1, 24), slot, const(I64, size_of(t)), (4, 4))

    def finish(self) -> None:
        """Integer leaves of the last aggregates go into the sum that is stored."""
        for t in [t for t in self.pool if not isinstance(t, IntType | FloatType)]:
            v = self.pool.pop(t)[-1]
            found = leaves(t) if not isinstance(t, VectorType) else ()
            self.add(*(self.b.extract_value(v, x.path) for x in found
                       if isinstance(x.type, IntType)))
        super().finish()
