"""Random typed programs, free of undefined behaviour, as trees.

Signed arithmetic is done on operands narrowed so that it cannot overflow, divisors are never
zero, shift amounts are in range and never shift a negative number to the left, indices are
masked. Evaluation order never matters: an expression has at most one side effect, and that
only at its top.
"""

from __future__ import annotations

import operator
import random

from nvir.frontend import build as b
from nvir.frontend.tree import types as t

INTS = [t.CHAR, t.SCHAR, t.UCHAR, t.SHORT, t.USHORT, t.INT, t.UINT, t.LONG, t.ULONG, t.BOOL]
ALL = [*INTS, t.FLOAT, t.DOUBLE]
OUTS = 8
INPUTS = [(0, 0, 0, 0.0), (-7, 2**32 - 3, -(2**40) + 5, -2.5), (1234567, 99, 2**62 + 11, 1e3)]


class Program:
    """One kernel `k(long *out, int a, unsigned b, long c, double d)` with helpers."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.seed = seed
        self.types: dict[str, t.CType] = {}
        self.count = 0
        self.vars: list[tuple[str, t.CType]] = []
        self.loops = 0
        self.helpers: list[b.d.Function] = []
        self.changer: b.d.Function | None = None
        self.assignable: list[tuple[str, t.CType]] = []
        self.record = self.make_record()
        for _ in range(self.rng.randint(0, 2)):
            self.helpers.append(self.helper())
        self.changer = self.record_function()
        self.kernel = self.make_kernel()
        self.functions = [*self.helpers, self.changer]
        self.unit = b.unit(*self.functions, self.kernel, types=self.types)

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def make_record(self) -> t.Record:
        fields = []
        for k in range(self.rng.randint(2, 6)):
            kind = self.rng.choice([t.INT, t.UINT, t.SHORT, t.UCHAR, t.LONG, t.ULONG, t.CHAR])
            if kind is t.CHAR:
                kind = t.SCHAR
            bits = self.rng.randint(1, kind.bits) if self.rng.random() < 0.6 else None
            fields.append(t.Field(f"m{k}", kind, bits))
        return b.record(f"rec{self.seed}", fields, self.types)

    # ---- expressions: each gives (E, type)

    def leaf(self, want=None):
        r = self.rng.random()
        if self.vars and r < 0.7:
            name, kind = self.rng.choice(self.vars)
            if isinstance(kind, t.Array):
                return b.name(name)[self.index(kind.count)], kind.element
            if isinstance(kind, t.Record):
                f = self.rng.choice(kind.fields)
                return getattr(b.name(name), f.name), f.type
            return b.name(name), kind
        if r < 0.85:
            value = self.rng.choice([0, 1, 2, 3, 7, 100, 255, 65535, -1, -128, 2**31 - 1, -(2**31)])
            return b.E(b.expr(value)), t.INT
        if r < 0.92:
            return b.f64(self.rng.choice([0.0, 0.5, -1.25, 3.0, 1e3])), t.DOUBLE
        return b.u32(self.rng.randint(0, 2**32 - 1)), t.UINT

    def index(self, count):
        e, _ = (b.name("a"), t.INT) if not self.vars else self.int_leaf()
        return b.cast("unsigned", e) % b.u32(count)

    def int_leaf(self):
        for _ in range(5):
            scalars = [v for v in self.vars if isinstance(v[1], t.Arithmetic)
                       and v[1].kind != "float"]
            if scalars:
                name, kind = self.rng.choice(scalars)
                return b.name(name), kind
        return b.E(b.expr(1)), t.INT

    def int_expr(self, depth):
        """An expression of some integer type."""
        r = self.rng.random()
        if depth <= 0 or r < 0.15:
            e, kind = self.leaf()
            if kind.kind == "float":
                return e < self.leaf()[0], t.INT
            return e, kind
        if r < 0.45:
            return self.arithmetic(depth)
        if r < 0.55:
            return self.shift(depth)
        if r < 0.65:
            a, z = self.expr(depth - 1), self.expr(depth - 1)
            op = self.rng.choice(
                [operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge]
            )
            return op(b.E(b.expr(a)), z), t.INT
        if r < 0.73:
            op = self.rng.choice([b.land, b.lor])
            return op(self.expr(depth - 1), self.expr(depth - 1)), t.INT
        if r < 0.78:
            return b.lnot(self.expr(depth - 1)), t.INT
        if r < 0.86:
            a, ka = self.int_expr(depth - 1)
            z, _ = self.int_expr(depth - 1)
            return b.cond(self.expr(depth - 1), b.cast(ka, a), b.cast(ka, z)), ka
        if r < 0.95 or not self.helpers:
            kind = self.rng.choice(INTS)
            return b.cast(kind, self.int_expr(depth - 1)[0]), kind
        f = self.rng.choice(self.helpers)
        args = [b.cast(p.type, self.int_expr(depth - 2)[0]) for p in f.params]
        return b.call(f.name, *args), f.result

    def arithmetic(self, depth):
        op = self.rng.choice("+-*/%&|^")
        wide = self.rng.random() < 0.4
        signed = self.rng.random() < 0.5
        a, z = self.int_expr(depth - 1)[0], self.int_expr(depth - 1)[0]
        if op in "&|^":
            kind = self.rng.choice([t.INT, t.UINT, t.LONG, t.ULONG])
            a, z = b.cast(kind, a), b.cast(kind, z)
            return {"&": a & z, "|": a | z, "^": a ^ z}[op], kind
        if signed:
            small, kind = (t.INT, t.LONG) if wide else (t.SHORT, t.INT)
            a, z = b.cast(kind, b.cast(small, a)), b.cast(kind, b.cast(small, z))
            if op in "/%":
                z = (b.cast(t.UCHAR, z) & 15) + 1
        else:
            kind = t.ULONG if wide else t.UINT
            a, z = b.cast(kind, a), b.cast(kind, z)
            if op in "/%":
                z = z | b.cast(kind, 1)
        return {"+": a + z, "-": a - z, "*": a * z, "/": a / z, "%": a % z}[op], kind

    def shift(self, depth):
        wide = self.rng.random() < 0.4
        kind = (t.ULONG if wide else t.UINT) if self.rng.random() < 0.5 else (
            t.LONG if wide else t.INT)
        a = b.cast(kind, self.int_expr(depth - 1)[0])
        amount = b.cast(self.rng.choice([t.INT, t.UCHAR]), self.int_expr(depth - 1)[0]) & (
            63 if wide else 31)
        if kind.signed or self.rng.random() < 0.5:
            return a >> amount, kind
        return a << amount, kind

    def float_expr(self, depth):
        r = self.rng.random()
        if depth <= 0 or r < 0.3:
            kind = self.rng.choice([t.FLOAT, t.DOUBLE])
            return b.cast(kind, b.cast(t.SHORT, self.int_expr(depth - 1)[0]) if r < 0.5
                          else self.int_expr(depth - 1)[0]), kind
        (a, ka), (z, kz) = self.float_expr(depth - 1), self.float_expr(depth - 1)
        kind = t.DOUBLE if t.DOUBLE in (ka, kz) else t.FLOAT
        op = self.rng.choice("+-*")
        return {"+": a + z, "-": a - z, "*": a * z}[op], kind

    def expr(self, depth):
        return (self.float_expr(depth) if self.rng.random() < 0.2 else self.int_expr(depth))[0]

    # ---- statements

    def place(self):
        """An lvalue that may be assigned, and its type."""
        name, kind = self.rng.choice(self.assignable)
        if isinstance(kind, t.Array):
            if self.rng.random() < 0.3:
                return b.deref(b.name(name) + self.index(kind.count)), kind.element
            return b.name(name)[self.index(kind.count)], kind.element
        if isinstance(kind, t.Record):
            f = self.rng.choice(kind.fields)
            return getattr(b.name(name), f.name), f.type
        return b.name(name), kind

    def assignment(self):
        target, kind = self.place()
        r = self.rng.random()
        value = self.float_expr(2)[0] if kind.kind == "float" else self.int_expr(3)[0]
        if r < 0.6 or kind.kind == "float":
            return b.assign(target, value)
        if r < 0.7 and kind is not t.BOOL and kind.bits < 32:
            return b.inc(target, self.rng.random() < 0.5)
        if r < 0.8 and not kind.signed and kind is not t.BOOL:
            op = self.rng.choice(["+=", "-=", "*="])
            return b.assign(target, b.cast(t.UINT, value), op)
        return b.assign(target, value, self.rng.choice(["&=", "|=", "^="]))

    def record_function(self):
        """`rec f(rec v, int by)`: an object by value, changed and returned."""
        self.vars = [("v", self.record), ("by", t.INT)]
        self.assignable = [("v", self.record)]
        body = [self.statement(1) for _ in range(self.rng.randint(1, 3))]
        self.vars, self.assignable = [], []
        params = (b.d.Parameter("v", self.record), b.d.Parameter("by", t.INT))
        return b.d.Function(f"f{self.seed}", result=self.record, params=params,
                            body=b.block(*body, b.ret(b.name("v"))))

    def object_statement(self):
        """An object through the function, from one object to another, or by `?:`."""
        names = [n for n, kind in self.assignable if isinstance(kind, t.Record)]
        if not names or self.changer is None:
            return self.assignment()
        one, two = self.rng.choice(names), self.rng.choice(names)
        made = b.call(f"f{self.seed}", b.name(two), b.cast("int", self.int_expr(2)[0]))
        if self.rng.random() < 0.3:
            made = b.cond(self.expr(1), made, b.name(two))
        return b.assign(b.name(one), made if self.rng.random() < 0.8 else b.name(two))

    def pointer_walk(self):
        """A pointer stepped through an array, read and written."""
        arrays = [(n, kind) for n, kind in self.assignable if isinstance(kind, t.Array)]
        if not arrays:
            return self.assignment()
        (name, kind), q = self.rng.choice(arrays), self.name("q")
        end = b.name(name) + kind.count
        value = self.float_expr(1)[0] if kind.element.kind == "float" else self.int_expr(2)[0]
        step = b.assign(b.deref(b.inc(b.name(q), prefix=False)), value)
        backward = b.if_(b.name(q) - b.name(name) > 1,
                         b.assign(b.name(q)[-1], b.name(name)[0]))
        start = b.name(name) + self.index(kind.count)
        return b.block(b.let((t.Pointer(kind.element), q), start),
                       b.while_(b.name(q) < end, step, backward))

    def statement(self, depth):
        r = self.rng.random()
        if r < 0.1:
            return b.stmt(self.object_statement())
        if r < 0.15:
            return b.stmt(self.pointer_walk())
        if depth <= 0 or r < 0.45:
            return b.stmt(self.assignment())
        if r < 0.6:
            other = self.body(depth - 1) if self.rng.random() < 0.5 else ...
            return b.if_(self.expr(2), self.body(depth - 1), otherwise=other)
        if r < 0.75 and self.loops < 2:
            return self.loop(depth)
        if r < 0.85:
            return self.switch(depth)
        return self.body(depth - 1)

    def loop(self, depth):
        self.loops += 1
        i = self.name("i")
        self.vars.append((i, t.INT))
        bound = self.rng.randint(1, 6)
        leave = []
        if self.rng.random() < 0.4:
            leave = [b.if_(self.expr(1), self.rng.choice([b.break_, b.continue_])())]
        body = [*leave, *self.statements(depth - 1)]
        self.vars = [v for v in self.vars if v[0] != i]
        self.loops -= 1
        kind = self.rng.random()
        if kind < 0.6:
            return b.for_(b.let(f"int {i}", 0), b.name(i) < bound, b.inc(b.name(i)), b.block(*body))
        make = b.while_ if kind < 0.8 else b.do_
        return b.block(b.let(f"int {i}", 0), make(b.inc(b.name(i)) < bound, b.block(*body)))

    def switch(self, depth):
        cases = []
        for value in self.rng.sample(range(-2, 8), self.rng.randint(1, 4)):
            cases.append(b.case(value, self.body(depth - 1)))
            if self.rng.random() < 0.6:
                cases.append(b.break_())
        if self.rng.random() < 0.5:
            cases.insert(self.rng.randint(0, len(cases)), b.default(self.body(depth - 1)))
        return b.switch(b.cast("int", self.int_expr(2)[0]) % 6, *cases)

    def body(self, depth):
        return b.block(*self.statements(depth))

    def statements(self, depth):
        return [self.statement(depth) for _ in range(self.rng.randint(1, 3))]

    def declare(self):
        kind = self.rng.choice(ALL)
        r = self.rng.random()
        if r < 0.2:
            count = self.rng.randint(1, 6)
            n = self.name("r")
            items = [b.cast(kind, b.expr(self.rng.randint(-5, 200)))
                     for _ in range(self.rng.randint(1, count))]
            self.vars.append((n, t.Array(kind, count)))
            made = b.let((t.Array(kind, count), n), b.init(*items))
        elif r < 0.4:
            n = self.name("s")
            items = [b.expr(self.rng.randint(-4, 9))
                     for _ in range(self.rng.randint(1, len(self.record.fields)))]
            made = b.let((self.record, n), b.init(*items))
            self.vars.append((n, self.record))
        else:
            n = self.name("v")
            value = self.float_expr(2)[0] if kind.kind == "float" else self.int_expr(2)[0]
            made = b.let((kind, n), value)
            self.vars.append((n, kind))
        self.assignable.append(self.vars[-1])
        return made

    def helper(self):
        kinds = [self.rng.choice(INTS) for _ in range(self.rng.randint(1, 3))]
        names = [self.name("p") for _ in kinds]
        self.vars = list(zip(names, kinds, strict=True))
        saved, self.helpers = self.helpers, []
        result, value = self.rng.choice(INTS), self.int_expr(3)[0]
        early = b.if_(self.expr(1), b.ret(self.int_expr(1)[0]))
        self.helpers, self.vars = saved, []
        params = [b.d.Parameter(n, k) for n, k in zip(names, kinds, strict=True)]
        return b.d.Function(f"h{self.seed}_{len(saved)}", result=result, params=tuple(params),
                            body=b.block(early, b.ret(value)))

    def make_kernel(self):
        self.vars = [("a", t.INT), ("b", t.UINT), ("c", t.LONG), ("d", t.DOUBLE)]
        self.assignable = list(self.vars)
        body = [self.declare() for _ in range(self.rng.randint(2, 6))]
        body += [self.statement(3) for _ in range(self.rng.randint(3, 7))]
        for k in range(OUTS):
            name, kind = self.rng.choice(self.assignable)
            if isinstance(kind, t.Record):
                f = self.rng.choice(kind.fields)
                e = b.cast("long", getattr(b.name(name), f.name))
            elif isinstance(kind, t.Array):
                e = self.seen(b.name(name)[b.u32(k % kind.count)], kind.element)
            else:
                e = self.seen(b.name(name), kind)
            body.append(b.assign(b.name("out")[k], e))
        params = "long *out, int a, unsigned b, long c, double d"
        return b.kernel(f"k{self.seed}", params, *body)

    def seen(self, e, kind):
        """A float's bits are seen by comparisons that say much of its value."""
        if kind.kind != "float":
            return b.cast("long", e)
        small = b.land(e < 1e15, e > -1e15)
        return b.cond(small, b.cast("long", b.cond(small, e, b.cast(kind, 0)) * 8), 77)
