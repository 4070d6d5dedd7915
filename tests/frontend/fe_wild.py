"""Random programs over the whole of C that the tree has, free of undefined behaviour.

    Wild(seed).unit       helpers, globals, and a kernel `k<seed>(long *out, int *, …)`
    Wild(seed).c_text()   the same as C, with `void p<seed>(long *out, int a, …)` for the kernel

Every integer expression carries the interval of its values, so that signed arithmetic is made
only where it cannot overflow, divisors cannot be zero and conversions of floats cannot leave
their target. Side effects are made only where C sequences them, every variable starts with a
value, indices are within their arrays, loops and recursions are bounded, and the floats whose
bits are seen are no NaN of the machine's choice.

Each thread of the kernel runs the program on inputs of its own; a program that writes variables
of static storage (`single`) is run by one thread alone.
"""

from __future__ import annotations

from typing import Any

import fe_ctext
from fe_wild_changes import Changes
from fe_wild_places import Var
from fe_wild_types import F2I, MUSTS, OUTS, PARAMS

from nvir.frontend import build as b
from nvir.frontend.tree import types as t


class Wild(Changes):
    """One program. `unit` is the tree, `c_text()` the C."""

    def __init__(self, seed: int, size: int = 5) -> None:
        super().__init__(seed)
        rng = self.rng
        self.single = rng.random() < 0.35
        self.make_types()
        self.make_globals()
        for _ in range(rng.randint(1, 3)):
            self.make_helper()
        if rng.random() < 0.6:
            self.make_table()
        self.main = self.make_main(size)
        self.kernel = self.make_kernel()
        self.unit = b.unit(*self.globals, *self.helper_units(), *self.functions, self.main,
                           self.kernel, types=self.types)

    def helper_units(self) -> list[Any]:
        return [F2I[n]() for n in sorted(self.used)]

    def make_kernel(self) -> Any:
        tid = b.threadIdx.x
        args = [b.name("out") + tid * OUTS, *(b.name(n.upper())[tid] for n in "abcdf")]
        params = "long *out, " + ", ".join(f"{k} *{n.upper()}" for k, n in PARAMS)
        return b.kernel(f"k{self.seed}", params, b.stmt(b.call(self.main.name, *args)))

    def c_text(self) -> str:
        lines = [fe_ctext.declared(k) for k in self.types.values()]
        lines += [fe_ctext.prototype(f) for f in self.functions]
        lines += ["static " + fe_ctext.variable(v) for v in self.globals]
        lines += ["static " + fe_ctext.function(f, f.name) for f in self.functions]
        lines.append(fe_ctext.function(self.main, self.main.name))
        return "\n".join(lines) + "\n"

    # ------------------------------------------------------------------ functions

    def fresh(self, variables: list[Var]) -> None:
        self.vars, self.loops, self.budget = variables + self.global_vars, 0, 12

    def make_helper(self) -> None:
        make = self.rng.choice([self.scalar_helper, self.scalar_helper, self.record_helper,
                                self.pointer_helper, self.recursive_helper])
        make()
        self.vars = []

    def scalar_helper(self) -> None:
        kinds = [self.scalar() for _ in range(self.rng.randint(1, 3))]
        params = [Var(self.fresh_name("p"), k) for k in kinds]
        self.fresh(params)
        result = self.scalar()
        body = self.statements(1, self.rng.randint(0, 2))
        if self.rng.random() < 0.5:
            body.append(b.if_(self.condition(1), b.ret(self.value(result, 1))))
        if self.single and self.rng.random() < 0.6:
            body = [*self.static_local(), *body]
        self.add_function("h", result, params, [*body, b.ret(self.value(result, 2))])

    def static_local(self) -> list[Any]:
        kind = self.rng.choice([t.INT, t.ULONG, t.SHORT, t.UCHAR])
        v = Var(self.fresh_name("z"), kind)
        start = self.rng.randint(0, 100)
        made = b.let((kind, v.name), start, storage="static")
        self.vars.append(v)
        return [made, b.stmt(b.assign(b.name(v.name), self.value(kind, 1)))]

    def record_helper(self) -> None:
        r = self.rng.choice(self.records)
        params = [Var("v", r), Var("by", t.INT)]
        self.fresh(params)
        body = self.statements(1, self.rng.randint(1, 3))
        self.add_function("g", r, params, [*body, b.ret(b.name("v"))])

    def pointer_helper(self) -> None:
        """`void (T *p, …)` over an object that the caller owns."""
        kind = self.rng.choice([*self.records, t.Array(self.scalar(), self.rng.randint(2, 5))])
        params = [Var("q", kind, pointer=True), Var("by", self.scalar())]
        self.fresh(params)
        body = self.statements(1, self.rng.randint(1, 3))
        self.add_function("w", t.VOID, params, body)

    def recursive_helper(self) -> None:
        kind = self.rng.choice([t.UINT, t.ULONG, t.DOUBLE, t.UCHAR])
        name = f"r{self.seed}_{len(self.functions)}"
        params = [Var("n", t.INT, fixed=True, low=-1, high=6), Var("x", kind)]
        self.fresh(params)
        stop = b.if_(b.name("n") <= 0, b.ret(self.value(kind, 1)))
        body = self.statements(1, self.rng.randint(0, 1))
        again = b.call(name, b.name("n") - self.rng.choice([1, 1, 2]), self.value(kind, 1))
        if kind is t.DOUBLE:
            out = again + b.name("x")
        else:
            out = b.cast(kind, b.cast(t.ULONG, again) * 3 + b.cast(t.ULONG, b.name("x")))
        if self.rng.random() < 0.4:
            out = b.cond(self.condition(1), out, b.name("x"))
        self.add_function("r", kind, params, [stop, *body, b.ret(out)], recursive=True)

    def make_table(self) -> None:
        """Functions of one signature, called through a table or a pointer."""
        kinds = [self.rng.choice([t.INT, t.UINT, t.LONG, t.DOUBLE]) for _ in range(2)]
        result = self.scalar()
        names = []
        for _ in range(self.rng.randint(2, 3)):
            params = [Var(self.fresh_name("p"), k) for k in kinds]
            self.fresh(params)
            self.global_effects = False
            names.append(self.add_function("t", result, params, [b.ret(self.value(result, 2))],
                                           listed=False))
        self.vars = []
        signature = t.FunctionType(result, tuple(kinds))
        self.table = (f"ft{self.seed}", signature, len(names))
        array = t.Array(t.Pointer(signature), len(names))
        entries = [b.name(n) if self.rng.random() < 0.6 else b.addr(b.name(n)) for n in names]
        self.globals.append(b.variable((array, self.table[0]), b.init(*entries), memory="device",
                                       storage="static"))

    def make_main(self, size: int) -> Any:
        self.fresh([Var(n, b.ctype(k)) for k, n in PARAMS])
        body = [self.declare() for _ in range(self.rng.randint(3, 6))]
        body += self.pointers()
        body += self.statements(3, size)
        body += self.observe()
        params = [b.d.Parameter("out", t.Pointer(t.LONG))]
        params += [b.d.Parameter(n, b.ctype(k)) for k, n in PARAMS]
        return b.d.Function(f"p{self.seed}", result=t.VOID, params=tuple(params),
                            body=b.block(*body))

    def observe(self) -> list[Any]:
        """Every scalar of every variable into `out`."""
        sums: list[Any] = [b.u64(k) for k in range(OUTS)]
        n = 0
        made: list[Any] = []
        h = [self.fresh_name("h") for _ in range(OUTS)]
        made += [b.let((t.ULONG, name), start) for name, start in zip(h, sums, strict=True)]
        for v in self.vars:
            for e, kind in self.leaves(v):
                at = b.name(h[n % OUTS])
                made.append(b.stmt(b.assign(at, at * b.u64(MUSTS[n % len(MUSTS)])
                                            + self.bits_of(e, kind))))
                n += 1
        return made + [b.stmt(b.assign(b.name("out")[k], b.cast("long", b.name(x))))
                       for k, x in enumerate(h)]

    # ----------------------------------------------------------------- statements

    def statements(self, depth: int, count: int) -> list[Any]:
        return [self.statement(depth) for _ in range(count)]

    def block(self, depth: int) -> Any:
        """A scope, perhaps with variables of its own, which may hide others."""
        kept = list(self.vars)
        body = [self.declare() for _ in range(self.rng.random() < 0.3)]
        body += self.statements(depth, self.rng.randint(1, 2))
        self.vars = kept
        return b.block(*body)

    def statement(self, depth: int) -> Any:
        self.budget -= 1
        simple = [self.assignment, self.assignment, self.assignment, self.effects,
                  self.whole_object, self.call_statement, self.walk, self.vector_statement,
                  self.retarget]
        nested = [self.if_, self.if_, self.loop, self.loop, self.switch, self.switch,
                  self.goto_forward, self.goto_backward, self.goto_into, self.leave_nest,
                  self.duff, self.block]
        if depth <= 0 or self.budget <= 0 or self.rng.random() < 0.5:
            return self.rng.choice(simple)()
        return self.rng.choice(nested)(depth - 1)

    def if_(self, depth: int) -> Any:
        other = self.block(depth) if self.rng.random() < 0.5 else ...
        return b.if_(self.condition(2, effects=True), self.block(depth), otherwise=other)

    def counter(self) -> tuple[str, int]:
        name, bound = self.fresh_name("i"), self.rng.randint(1, 5)
        self.vars.append(Var(name, t.INT, fixed=True, low=0, high=bound + 1))
        return name, bound

    def drop(self, name: str) -> None:
        self.vars = [v for v in self.vars if v.name != name]

    def loop(self, depth: int) -> Any:
        if self.loops >= 2:
            return self.assignment()
        self.loops += 1
        i, bound = self.counter()
        leave = []
        if self.rng.random() < 0.4:
            leave = [b.if_(self.condition(1), self.rng.choice([b.break_, b.continue_])())]
        body = b.block(*leave, self.block(depth))
        more = b.name(i) < bound
        if self.rng.random() < 0.2:
            more = b.land(more, self.condition(1))
        self.drop(i)
        self.loops -= 1
        r = self.rng.random()
        if r < 0.5:
            return b.for_(b.let(f"int {i}", 0), more, b.inc(b.name(i), r < 0.25), body)
        step = b.inc(b.name(i)) <= bound
        if r < 0.7:
            return b.block(b.let(f"int {i}", 0), b.while_(step, body))
        if r < 0.9:
            return b.block(b.let(f"int {i}", 0), b.do_(step, body))
        ender = b.if_(b.name(i) >= bound, b.break_())
        return b.block(b.let(f"int {i}", 0),
                       b.for_(None, None, b.comma(b.inc(b.name(i)), 0), b.block(ender, body)))

    def switch(self, depth: int) -> Any:
        kind = self.rng.choice([t.INT, t.UCHAR, t.LONG, t.UINT, t.SCHAR, *self.enums])
        low = -3 if t.is_signed(kind) else 0
        cases: list[Any] = []
        points = sorted(self.rng.sample(range(low, 14), self.rng.randint(2, 5)))
        for value, limit in zip(points, [*points[1:], 20], strict=True):
            last = self.rng.randint(value, limit - 1) if self.rng.random() < 0.3 else None
            body = self.block(depth) if self.rng.random() < 0.8 else None
            cases.append(b.case(value, body, last))
            if self.rng.random() < 0.6:
                cases.append(b.break_())
        if self.rng.random() < 0.6:
            at = self.rng.randint(0, len(cases))
            cases.insert(at, b.default(self.block(depth)))
        e = self.integer(2)
        value = b.cast(kind, e.e) % 16 if self.rng.random() < 0.8 else b.cast(kind, e.e)
        return b.switch(value, *cases)

    def duff(self, depth: int) -> Any:
        """Cases inside a loop: entered in its middle."""
        if self.loops >= 2:
            return self.assignment()
        self.loops += 1
        i, bound = self.counter()
        first, second = self.assignment(), self.assignment()
        body = b.block(first, b.case(1, second), b.case(2, self.assignment()))
        loop = b.do_(b.inc(b.name(i)) < bound, body)
        self.drop(i)
        self.loops -= 1
        value = b.cast("unsigned", self.integer(1).e) % b.u32(4)
        return b.block(b.let(f"int {i}", 0), b.switch(value, b.case(0, loop)))

    def goto_forward(self, depth: int) -> Any:
        label = self.fresh_name("L")
        return b.block(b.if_(self.condition(2), b.goto(label)), self.block(depth),
                       b.label(label, self.assignment()))

    def goto_backward(self, depth: int) -> Any:
        if self.loops >= 2:
            return self.assignment()
        self.loops += 1
        label = self.fresh_name("L")
        i, bound = self.counter()
        body = self.block(depth)
        again = b.land(b.inc(b.name(i)) < bound, self.condition(1))
        self.drop(i)
        self.loops -= 1
        return b.block(b.let(f"int {i}", 0), b.label(label, body), b.if_(again, b.goto(label)))

    def goto_into(self, depth: int) -> Any:
        """Into the middle of a loop: a cycle with two entries."""
        if self.loops >= 2:
            return self.assignment()
        self.loops += 1
        label = self.fresh_name("L")
        i, bound = self.counter()
        enter = b.if_(self.condition(1), b.goto(label))
        body = b.block(self.block(depth), b.label(label, self.assignment()), self.assignment())
        loop = b.while_(b.inc(b.name(i)) <= bound, body)
        self.drop(i)
        self.loops -= 1
        return b.block(b.let(f"int {i}", 0), enter, loop)

    def leave_nest(self, depth: int) -> Any:
        if self.loops >= 1:
            return self.assignment()
        self.loops += 2
        out = self.fresh_name("L")
        i, n = self.counter()
        j, m = self.counter()
        leave = b.if_(self.condition(1), b.goto(out))
        inner = b.for_(b.let(f"int {j}", 0), b.name(j) < m, b.inc(b.name(j)),
                       b.block(self.assignment(), leave))
        self.drop(j)
        outer = b.for_(b.let(f"int {i}", 0), b.name(i) < n, b.inc(b.name(i), False),
                       b.block(inner, self.assignment()))
        self.drop(i)
        self.loops -= 2
        return b.block(outer, b.label(out))
