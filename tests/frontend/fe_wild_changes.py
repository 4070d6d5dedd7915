"""Effects of random programs: expressions that change variables, and statements of one."""

from __future__ import annotations

from typing import Any

from fe_wild_exprs import Ex, Expressions, bit_limits, within
from fe_wild_places import Spot, Var
from fe_wild_types import limits

from nvir.frontend import build as b
from nvir.frontend.check.conversions import promote, usual_arithmetic
from nvir.frontend.tree import types as t


class Changes(Expressions):
    """What changes variables."""

    # -------------------------------------------------------------------- effects

    def effect(self, depth: int) -> Ex:
        """An expression that changes a variable, its effect complete before anything that reads
        it: `(x = e, f)`, `({ x = e; f; })`, or the value of an assignment or a step itself."""
        r = self.rng.random()
        if r < 0.5:
            change = self.change(depth - 1)
            rest = self.integer(depth - 1)
            if r < 0.35:
                return Ex(b.comma(change, rest.e), rest.type, rest.low, rest.high)
            kind = promote(rest.type)
            made = b.statement_expr(b.stmt(change), b.stmt(b.cast(kind, rest.e)))
            return Ex(made, kind, *within(kind, rest.low, rest.high))
        names = [v for v in self.assignable() if not t.is_float(v.type)]
        if not names:
            return self.leaf(floating=False)
        s = self.spot(self.rng.choice(names), fixed_index=True)
        if t.is_float(s.type):
            return self.leaf(floating=False)
        low, high = bit_limits(s.type, s.bits)
        kind = s.type
        if r < 0.8:
            e = b.assign(s.e, self.value(s.type, depth - 1))
        else:
            e = self.stepped(s)
            if e is None:
                return self.leaf(floating=False)
        if s.bits is not None:
            e = b.cast(kind, e)
        return Ex(e, kind, low, high)

    def stepped(self, s: Spot) -> Any:
        low, high = bit_limits(s.type, s.bits)
        kind = promote(s.type, s.bits)
        if t.is_float(s.type):
            return self.rng.choice([b.inc, b.dec])(s.e, self.rng.random() < 0.5)
        if s.bits is not None and s.bits > 31 and t.is_signed(s.type):
            return None
        if isinstance(t.strip(s.type), t.Enum) and s.bits is None and self.rng.random() < 0.5:
            return None
        if t.is_signed(kind) and (low <= limits(kind)[0] or high >= limits(kind)[1]):
            return None
        return self.rng.choice([b.inc, b.dec])(s.e, self.rng.random() < 0.5)

    def change(self, depth: int) -> Any:
        """A full expression that assigns, by one of the assignment operators or a step."""
        places = self.assignable()
        if not places:
            return b.E(b.expr(0))
        s = self.spot(self.rng.choice(places))
        union = self.in_union(s.var)
        r = self.rng.random()
        if r < 0.12 and not (union and t.is_float(s.type)) and (e := self.stepped(s)) is not None:
            return e
        if r < 0.5 and not (union and t.is_float(s.type)) and (
            e := self.compound(s, depth)
        ) is not None:
            return e
        e = self.value(s.type, depth)
        return b.assign(s.e, self.pun_safe(s.type, e) if union else e)

    def in_union(self, v: Var) -> bool:
        """Whether some of a variable's bytes are seen as two types."""

        def has(kind: t.CType) -> bool:
            s = t.strip(kind)
            if isinstance(s, t.Array | t.Vector):
                return has(s.element)
            return isinstance(s, t.Record) and (
                s.kind == "union" or any(has(f.type) for f in s.fields or ()))

        return has(v.type)

    def compound(self, s: Spot, depth: int) -> Any:
        """`place op= value` without overflow, or None."""
        rng, kind = self.rng, promote(s.type, s.bits)
        if t.is_float(s.type):
            y = self.floating(depth) if rng.random() < 0.6 else self.integer(depth)
            return b.assign(s.e, y.e, rng.choice(["+=", "-=", "*=", "/="]))
        low, high = bit_limits(s.type, s.bits)
        wide = s.bits is not None and s.bits > 32
        op = rng.choice(["&=", "|=", "^=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>="])
        y = self.integer(depth)
        if op in ("&=", "|=", "^="):
            return b.assign(s.e, y.e, op)
        if op in ("<<=", ">>="):
            width = 64 if limits(kind)[1] >> 40 else 32
            if op == ">>=":
                return b.assign(s.e, y.e & (31 if wide else width - 1), op)
            if not t.is_signed(kind):
                return b.assign(s.e, y.e & (31 if wide else width - 1), op)
            return b.assign(s.e, y.e & 15, op) if low >= 0 and high < 1 << 15 else None
        if wide and t.is_signed(kind):
            return None
        if rng.random() < 0.15 and not wide and limits(kind)[1] < 1 << 40 and high > 1 << 20:
            factor, ops = self.narrowed(y, kind, 8).e, ["+=", "-=", "*="]
            if not t.is_signed(kind):  # what a float gives must not be negative
                factor, ops = factor & 127, ["+=", "*="]
            first = b.assign(s.e, 0x7FFF, "&=")
            value = b.cast(rng.choice([t.FLOAT, t.DOUBLE]), factor)
            return b.comma(first, b.assign(s.e, value / 3, rng.choice(ops)))
        x = Ex(None, kind, low, high)
        if op in ("/=", "%="):
            y = self.divisor(y)
            to = usual_arithmetic(kind, promote(y.type))
            if t.is_signed(to) and within(to, low, high)[0] == limits(to)[0]:
                return None
            return b.assign(s.e, y.e, op)
        to = usual_arithmetic(kind, promote(y.type))
        if t.is_signed(to):
            ends = self.ends(op[0], x, y)
            if ends[0] < limits(to)[0] or ends[1] > limits(to)[1]:
                y = self.narrowed(y, to, 8)
                ends = self.ends(op[0], x, y)
                if ends[0] < limits(to)[0] or ends[1] > limits(to)[1]:
                    return None
        return b.assign(s.e, y.e, op)

    # ----------------------------------------------------------- simple statements

    def assignment(self) -> Any:
        return b.stmt(self.change(3))

    def effects(self) -> Any:
        """Several effects in one full expression, by `?:`, `&&`, `||` and commas."""
        r = self.rng.random()
        if r < 0.3:
            return b.stmt(b.cond(self.condition(1, True), b.cast("int", self.integer(2, True).e),
                                 b.comma(self.change(1), 0)))
        if r < 0.6:
            op = self.rng.choice([b.land, b.lor])
            return b.stmt(op(self.condition(2, True), b.comma(self.change(1), self.condition(1))))
        if r < 0.8:
            return b.stmt(b.comma(b.comma(self.change(2), self.change(1)), self.change(1)))
        plain = [v for v in self.assignable() if t.is_integer(v.type) and not v.pointer]
        if len(plain) < 2:
            return self.assignment()
        x, y = self.rng.sample(plain, 2)
        return b.stmt(b.assign(b.name(x.name), b.assign(b.name(y.name), self.integer(2).e)))

    def object_of(self, kind: t.CType, depth: int = 1) -> Any:
        """An object of a record type: a variable, an element, a literal, a function's result."""
        s = t.strip(kind)
        assert isinstance(s, t.Record)
        same = [v for v in self.vars if t.strip(v.type) is s]
        r = self.rng.random()
        if same and r < 0.5:
            return self.whole(self.rng.choice(same))
        arrays = [v for v in self.vars if isinstance(v.type, t.Array) and v.type.element is s]
        if arrays and r < 0.6:
            v = self.rng.choice(arrays)
            e, _ = self.start(v)
            return e[self.index(v.type.count or 1)]  # type: ignore[attr-defined]
        makers = [f for f, _ in self.callable if f.result is s]
        if makers and r < 0.8 and depth and not self.single:
            return self.call_of(self.rng.choice(makers), False, 0)
        if same and r < 0.9 and depth:
            return b.cond(self.condition(1), self.object_of(kind, 0), self.object_of(kind, 0))
        made = self.record_initialiser(s, self.constant)
        return b.E(b.x.CompoundLiteral(made.node, type=s))

    def whole(self, v: Var) -> Any:
        e = b.name(v.name)
        for _ in range(v.pointer):
            e = b.deref(e)
        return e

    def whole_object(self) -> Any:
        """One object assigned to another."""
        choices = [v for v in self.assignable() if isinstance(t.strip(v.type), t.Record)]
        if not choices:
            return self.assignment()
        v = self.rng.choice(choices)
        others = [w for w in self.vars if w.type is v.type and w is not v and not w.pointer]
        if others and not v.pointer and self.rng.random() < 0.2:
            to, source = b.name(v.name), b.name(self.rng.choice(others).name)
            return b.stmt(b.call("memcpy", b.addr(to), b.addr(source), b.sizeof(v.type)))
        makers = [f for f, _ in self.callable if f.result is t.strip(v.type)]
        if makers and self.rng.random() < 0.4:
            return b.stmt(b.assign(self.whole(v), self.call_of(self.rng.choice(makers), False, 1)))
        return b.stmt(b.assign(self.whole(v), self.object_of(v.type)))

    def call_statement(self) -> Any:
        """A call for its effects: on what its pointer leads to, or on static variables."""
        options = [(f, again) for f, again in self.callable]
        if not options:
            return self.assignment()
        f, again = self.rng.choice(options)
        if t.is_void(f.result):
            pointee = f.params[0].type.pointee
            objects = [v for v in self.assignable() if not v.pointer and not v.volatile and (
                (v.type is pointee and t.is_aggregate(pointee)) or (
                    isinstance(v.type, t.Array) and v.type.element is pointee
                    and (v.type.count or 0) >= 5))]
            if not objects:
                return self.assignment()
            v = self.rng.choice(objects)
            at = b.addr(b.name(v.name)) if v.type is pointee else b.name(v.name)
            return b.stmt(b.call(f.name, at, *(self.value(p.type, 1) for p in f.params[1:])))
        if isinstance(t.strip(f.result), t.Record):
            return self.whole_object()
        e = self.call_of(f, again, 1)
        plain = [v for v in self.assignable() if t.is_scalar(v.type) and not v.pointer
                 and not v.static]
        if not plain:
            return b.stmt(e)
        v = self.rng.choice(plain)
        if t.is_float(f.result) and not t.is_float(v.type):
            e = self.from_float(t.underlying(v.type), Ex(e, f.result)).e
        return b.stmt(b.assign(b.name(v.name), e))

    def walk(self) -> Any:
        """A pointer stepped through an array or a string."""
        r = self.rng.random()
        if self.text and r < 0.3:
            sums = [v for v in self.assignable() if t.strip(v.type) in (t.UINT, t.ULONG, t.UCHAR)
                    and not v.pointer]
            if sums:
                p, v = self.fresh_name("c"), b.name(self.rng.choice(sums).name)
                step = b.assign(v, v * b.u32(31) + b.deref(b.inc(b.name(p), False)))
                return b.block(b.let((t.Pointer(t.Qualified(t.CHAR, const=True)), p),
                                     b.name(self.text)),
                               b.while_(b.deref(b.name(p)), step))
        arrays = [v for v in self.assignable() if isinstance(v.type, t.Array) and not v.pointer
                  and t.is_scalar(v.type.element)]
        if not arrays or self.loops >= 2:
            return self.assignment()
        v, q = self.rng.choice(arrays), self.fresh_name("w")
        assert isinstance(v.type, t.Array)
        n, kind = v.type.count or 1, v.type.element
        value = self.value(kind, 2)
        if r < 0.6:
            step = b.assign(b.deref(b.inc(b.name(q), False)), value)
            back = b.if_(b.name(q) - b.name(v.name) > 1, b.assign(b.name(q)[-1], b.name(v.name)[0]))
            body = b.while_(b.name(q) < b.name(v.name) + n, step, back)
            start = b.name(v.name) + self.index(n)
        else:
            step = b.assign(b.deref(b.dec(b.name(q))), value)
            body = b.while_(b.name(q) != b.name(v.name), step)
            start = b.addr(b.name(v.name)[n]) if r < 0.8 else b.name(v.name) + n
        forward = b.assign(b.name(q), 0, "+=") if r < 0.7 else None
        return b.block(b.let((t.Pointer(kind), q), start), forward, body)

    def vector_statement(self) -> Any:
        vectors = [v for v in self.vars if isinstance(t.strip(v.type), t.Vector)]
        if not vectors:
            return self.assignment()
        v = self.rng.choice(vectors)
        s = t.strip(v.type)
        assert isinstance(s, t.Vector)
        others = [w for w in vectors if w.type is v.type]
        x, y = b.name(self.rng.choice(others).name), b.name(self.rng.choice(others).name)
        floating = t.is_float(s.element)
        ops = ["+", "-", "*"] if floating else ["+", "-", "*", "&", "|", "^"]
        if t.underlying(s.element) in (t.UCHAR, t.USHORT):
            ops = ["+", "-", "&", "|", "^"]
        op = self.rng.choice(ops)
        if self.rng.random() < 0.3:
            return b.stmt(b.assign(b.name(v.name), y, op + "="))
        if self.rng.random() < 0.2:
            return b.stmt(b.assign(b.name(v.name), -x if floating else ~x))
        e = {"+": x + y, "-": x - y, "*": x * y, "&": x & y if not floating else x,
             "|": x | y if not floating else x, "^": x ^ y if not floating else x}[op]
        return b.stmt(b.assign(b.name(v.name), e))

    def retarget(self) -> Any:
        """A pointer to another object of its type."""
        pointers = [v for v in self.vars if v.pointer == 1 and not v.static and not v.fixed
                    and v.name[0] == "q" and v.target]
        for v in pointers:
            like = [w for w in self.vars if w.type is v.type and not w.pointer and not w.fixed
                    and w.name[0] == "v" and t.is_aggregate(w.type)]
            if like:
                w = self.rng.choice(like)
                at = b.name(w.name) if isinstance(w.type, t.Array) else b.addr(b.name(w.name))
                if self.rng.random() < 0.5:
                    at = b.cond(self.condition(1), at, b.name(v.name))
                return b.stmt(b.assign(b.name(v.name), at))
        return self.assignment()
