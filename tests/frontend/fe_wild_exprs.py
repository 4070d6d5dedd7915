"""Expressions of random programs, with the intervals of their values."""

from __future__ import annotations

from typing import Any

import attrs
from fe_wild_places import Places, Spot, Var
from fe_wild_types import INTS, limits, short_name

from nvir.frontend import build as b
from nvir.frontend.check.conversions import promote, usual_arithmetic
from nvir.frontend.tree import types as t

LONGS = (t.LONG, t.ULONG, t.LONGLONG, t.ULONGLONG)


@attrs.frozen
class Ex:
    """An expression, its type, and for integers the least and greatest value that it may have."""

    e: Any
    type: t.CType
    low: int = 0
    high: int = 0

    @property
    def floating(self) -> bool:
        return t.is_float(self.type)


def within(kind: t.CType, low: int, high: int) -> tuple[int, int]:
    """The interval after a conversion."""
    bottom, top = limits(kind)
    return (low, high) if bottom <= low and high <= top else (bottom, top)


def bit_limits(kind: t.CType, bits: int | None) -> tuple[int, int]:
    if bits is None or t.underlying(kind) is t.BOOL:
        return limits(kind)
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if t.is_signed(kind) else (0, (1 << bits) - 1)


class Expressions(Places):
    """Integers, floats, and values for what they are assigned to."""

    # --------------------------------------------------------------------- leaves

    def leaf(self, floating: bool | None = None) -> Ex:
        for _ in range(4):
            if not self.vars or self.rng.random() < 0.2:
                break
            x = self.read(self.rng.choice(self.vars))
            if floating is None or x.floating == floating:
                return x
        kind = self.rng.choice([t.FLOAT, t.DOUBLE] if floating else INTS)
        if floating is None and self.rng.random() < 0.2:
            kind = t.DOUBLE
        return self.literal(kind)

    def literal(self, kind: t.CType) -> Ex:
        if t.is_float(kind):
            return Ex(self.constant(kind), kind)
        e = self.constant(kind)
        node = e.node
        if not isinstance(node, b.x.IntLiteral):
            return Ex(e, t.INT, 0, 99)
        return Ex(b.cast(kind, b.E(node)), kind, node.value, node.value)

    def read(self, v: Var) -> Ex:
        r = self.rng.random()
        if r < 0.03 and not v.pointer:
            size = b.sizeof(v.type) if r < 0.015 else b.sizeof(b.name(v.name))
            return Ex(size, t.ULONG, 0, 4096)
        if v.low is not None:
            assert v.high is not None
            return Ex(b.name(v.name), v.type, v.low, v.high)
        s = self.spot(v)
        return self.reading(s)

    def reading(self, s: Spot) -> Ex:
        if t.is_float(s.type):
            return Ex(s.e, t.strip(s.type))
        low, high = bit_limits(s.type, s.bits)
        if s.bits is not None and s.bits > 32:  # GCC computes in as many bits, others in 64
            return Ex(b.cast(s.type, s.e), s.type, low, high)
        kind = promote(s.type, s.bits) if s.bits is not None else s.type
        return Ex(s.e, kind, low, high)

    # ------------------------------------------------------------------- integers

    def integer(self, depth: int, effects: bool = False) -> Ex:
        """An expression of integer type. With `effects` it may change variables, in sequence."""
        rng = self.rng
        if depth <= 0 or rng.random() < 0.12:
            return self.leaf(floating=False)
        if effects and rng.random() < 0.35:
            return self.effect(depth)
        r = rng.random()
        if r < 0.42:
            return self.arithmetic(depth)
        if r < 0.52:
            return self.shift(depth)
        if r < 0.62:
            return self.comparison(depth)
        if r < 0.70:
            op = rng.choice([b.land, b.lor])
            return Ex(op(self.condition(depth - 1, effects), self.condition(depth - 1, effects)),
                      t.INT, 0, 1)
        if r < 0.74:
            return Ex(b.lnot(self.condition(depth - 1, effects)), t.INT, 0, 1)
        if r < 0.81:
            return self.conditional(depth, effects)
        if r < 0.88:
            return self.cast_to(rng.choice(INTS), self.integer(depth - 1, effects))
        if r < 0.92:
            return self.from_float(rng.choice(INTS), self.floating(depth - 1))
        if r < 0.95:
            return self.unary(depth)
        return self.called(depth, floating=False) or self.leaf(floating=False)

    def cast_to(self, kind: t.CType, x: Ex) -> Ex:
        return Ex(b.cast(kind, x.e), kind, *within(kind, x.low, x.high))

    def from_float(self, kind: t.CType, x: Ex) -> Ex:
        """A float as an integer, by the helper that keeps to what fits."""
        if kind is t.BOOL:
            return Ex(b.cast(kind, x.e), kind, 0, 1)
        name = f"f2i_{short_name(kind)}"
        self.used.add(name)
        return Ex(b.call(name, x.e), kind, *limits(kind))

    def unary(self, depth: int) -> Ex:
        x = self.integer(depth - 1)
        kind = promote(x.type)
        low, high = within(kind, x.low, x.high)
        r = self.rng.random()
        if r < 0.4:
            return Ex(~x.e, kind, *within(kind, *(limits(kind) if not t.is_signed(kind)
                                                  else (-high - 1, -low - 1))))
        if r < 0.55:
            return Ex(+x.e, kind, low, high)
        if t.is_signed(kind) and low <= limits(kind)[0]:
            x = self.narrowed(x, kind, 30)
            low, high = x.low, x.high
        return Ex(-x.e, kind, *(limits(kind) if not t.is_signed(kind) else (-high, -low)))

    def narrowed(self, x: Ex, kind: t.CType, bits: int) -> Ex:
        """The value in fewer bits: |value| < 2^bits, of a type that leads to `kind`."""
        if -(1 << bits) < x.low and x.high < 1 << bits:
            return x
        rng = self.rng
        options: list[Ex] = []
        mask = (1 << bits) - 1
        options.append(Ex(x.e & (b.u64(mask) if mask >= 1 << 31 else mask), kind, 0, mask))
        for small in (t.SHORT, t.SCHAR, t.UCHAR, t.INT, t.USHORT, t.BOOL):
            low, high = limits(small)
            if -(1 << bits) < low and high < 1 << bits:
                options.append(self.cast_to(small, x))
        n = rng.randint(2, min(1 << bits, 1 << 20))
        if t.is_signed(promote(x.type)):
            options.append(Ex(x.e % n, promote(x.type), -n + 1, n - 1))
        chosen = rng.choice(options)
        if chosen is options[0] and not t.is_signed(kind):
            return chosen
        return Ex(b.cast(kind, chosen.e), kind, *within(kind, chosen.low, chosen.high))

    def arithmetic(self, depth: int) -> Ex:
        op = self.rng.choice("+-*/%&|^+-*")
        return self.combined(op, self.integer(depth - 1), self.integer(depth - 1))

    def combined(self, op: str, x: Ex, y: Ex) -> Ex:
        if self.rng.random() < 0.03:
            wide = self.rng.choice([t.INT128, t.UINT128])
            x, y = (Ex(b.cast(wide, k.e), wide, *within(wide, k.low, k.high)) for k in (x, y))
            made = self.computed(op, x, y)
            return self.cast_to(self.rng.choice(LONGS), made)
        return self.computed(op, x, y)

    def computed(self, op: str, x: Ex, y: Ex) -> Ex:
        """`x op y` without overflow of a signed type, nor division by zero."""
        kind = usual_arithmetic(promote(x.type), promote(y.type))
        signed = t.is_signed(kind)
        bits = limits(kind)[1].bit_length() - 1
        if op in "/%":
            y = self.divisor(y)
            kind = usual_arithmetic(promote(x.type), promote(y.type))
            signed = t.is_signed(kind)
            if signed and within(kind, x.low, x.high)[0] == limits(kind)[0]:
                x = self.narrowed(x, kind, limits(kind)[1].bit_length() - 1)
        elif signed and op in "+-*":
            room = bits if op in "+-" else bits // 2
            low, high = self.ends(op, x, y)
            if low < limits(kind)[0] or high > limits(kind)[1]:
                x, y = self.narrowed(x, kind, room), self.narrowed(y, kind, room)
        low, high = self.ends(op, x, y)
        e = {"+": lambda: x.e + y.e, "-": lambda: x.e - y.e, "*": lambda: x.e * y.e,
             "/": lambda: x.e / y.e, "%": lambda: x.e % y.e, "&": lambda: x.e & y.e,
             "|": lambda: x.e | y.e, "^": lambda: x.e ^ y.e}[op]()
        if not signed and (x.low < 0 or y.low < 0):
            low, high = limits(kind)
        return Ex(e, kind, *within(kind, low, high))

    def divisor(self, y: Ex) -> Ex:
        if y.low > 0 or (y.high < 0 and y.low > -(1 << 31)):
            return y
        r = self.rng.random()
        kind = promote(y.type)
        if r < 0.5:
            return Ex(y.e | 1, kind, *(limits(kind)))
        n = self.rng.choice([1, 3, 7, 15, 255])
        return Ex((y.e & n) + self.rng.choice([1, 2]), kind, 1, n + 2)

    @staticmethod
    def ends(op: str, x: Ex, y: Ex) -> tuple[int, int]:
        if op == "+":
            return x.low + y.low, x.high + y.high
        if op == "-":
            return x.low - y.high, x.high - y.low
        if op == "*":
            products = [p * q for p in (x.low, x.high) for q in (y.low, y.high)]
            return min(products), max(products)
        size = max(abs(x.low), abs(x.high))
        if op == "/" or op == "%":
            return (-size if x.low < 0 or y.low < 0 else 0), size
        if x.low >= 0 and y.low >= 0:
            top = (1 << max(x.high, y.high).bit_length()) - 1
            return 0, min(x.high, y.high) if op == "&" else top
        if op == "&" and (x.low >= 0 or y.low >= 0):
            return 0, x.high if x.low >= 0 else y.high
        width = max(size, abs(y.low), abs(y.high)).bit_length()
        return -(1 << width), (1 << width) - 1

    def shift(self, depth: int) -> Ex:
        x, y = self.integer(depth - 1), self.integer(depth - 1)
        kind = promote(x.type)
        width = 128 if kind in (t.INT128, t.UINT128) else 64 if limits(kind)[1] >> 40 else 32
        if y.low >= 0 and y.high < width and self.rng.random() < 0.5:
            amount = y.e
        else:
            amount = y.e & (width - 1)
        if self.rng.random() < 0.5:
            low, high = within(kind, x.low, x.high)
            if not t.is_signed(kind) and x.low < 0:
                low, high = limits(kind)
            return Ex(x.e >> amount, kind, min(low, 0), max(high, 0))
        if not t.is_signed(kind):
            return Ex(x.e << amount, kind, *limits(kind))
        n = self.rng.choice([1, 0xF, 0xFF])
        return Ex((x.e & n) << (y.e & 15), kind, 0, n << 15)

    def comparison(self, depth: int) -> Ex:
        r = self.rng.random()
        if r < 0.12 and (made := self.pointer_comparison()) is not None:
            return made
        x: Any = self.floating(depth - 1) if r < 0.4 else self.integer(depth - 1)
        y: Any = self.floating(depth - 1) if r < 0.3 else self.integer(depth - 1)
        op = self.rng.choice(["__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"])
        return Ex(getattr(x.e, op)(y.e), t.INT, 0, 1)

    def pointer_comparison(self) -> Ex | None:
        """Of pointers into one object, or a difference of them."""
        arrays = [v for v in self.vars if isinstance(v.type, t.Array) and v.pointer < 2]
        if not arrays:
            return None
        v = self.rng.choice(arrays)
        assert isinstance(v.type, t.Array)
        n = v.type.count or 1
        p, q = b.name(v.name) + self.index(n), b.addr(b.name(v.name)[self.index(n)])
        r = self.rng.random()
        if r < 0.4:
            return Ex(p - q, t.LONG, -n, n)
        if r < 0.5:
            return Ex(b.lnot(p), t.INT, 0, 1)
        op = self.rng.choice(["__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"])
        return Ex(getattr(p, op)(q), t.INT, 0, 1)

    def conditional(self, depth: int, effects: bool = False) -> Ex:
        x, y = self.integer(depth - 1, effects), self.integer(depth - 1, effects)
        kind = usual_arithmetic(promote(x.type), promote(y.type))
        e = b.cond(self.condition(depth - 1, effects), x.e, y.e)
        return Ex(e, kind, *within(kind, min(x.low, y.low), max(x.high, y.high)))

    def condition(self, depth: int, effects: bool = False) -> Any:
        if self.rng.random() < 0.15:
            return self.floating(depth).e
        return self.integer(depth, effects).e

    # --------------------------------------------------------------------- floats

    def floating(self, depth: int) -> Ex:
        rng, r = self.rng, self.rng.random()
        if depth <= 0 or r < 0.25:
            return self.leaf(floating=True)
        if r < 0.45:
            kind = rng.choice([t.FLOAT, t.DOUBLE])
            return Ex(b.cast(kind, self.integer(depth - 1).e), kind)
        if r < 0.8:
            x = self.floating(depth - 1)
            y = self.floating(depth - 1) if rng.random() < 0.7 else self.integer(depth - 1)
            op = rng.choice("+-*/+-*")
            e = {"+": x.e + y.e, "-": x.e - y.e, "*": x.e * y.e, "/": x.e / y.e}[op]
            return Ex(e, usual_arithmetic(x.type, promote(y.type)))
        if r < 0.86:
            x = self.floating(depth - 1)
            return Ex(-x.e, x.type)
        if r < 0.92:
            x, y = self.floating(depth - 1), self.floating(depth - 1)
            return Ex(b.cond(self.condition(depth - 1), x.e, y.e), usual_arithmetic(x.type, y.type))
        if r < 0.96:
            kind = rng.choice([t.FLOAT, t.DOUBLE])
            return Ex(b.cast(kind, self.floating(depth - 1).e), kind)
        return self.called(depth, floating=True) or self.leaf(floating=True)

    # ---------------------------------------------------------------------- values

    def value(self, kind: t.CType, depth: int, effects: bool = False) -> Any:
        """An expression that may be assigned to a scalar of the type."""
        if t.is_float(kind):
            if self.rng.random() < 0.15:
                return self.integer(depth, effects).e
            return self.floating(depth).e
        if self.rng.random() < 0.1:
            return self.from_float(t.underlying(kind), self.floating(depth)).e
        return self.integer(depth, effects).e

    def pun_safe(self, kind: t.CType, e: Any) -> Any:
        """What a float in a union may hold: no NaN, whose bits would be seen."""
        if not t.is_float(kind):
            return e
        name = "nn_float" if t.strip(kind) is t.FLOAT else "nn_double"
        self.used.add(name)
        return b.call(name, e)

    def called(self, depth: int, floating: bool) -> Ex | None:
        """A call without effects on variables in scope, or a member of a returned object."""
        r = self.rng.random()
        if self.table is not None and r < 0.4:
            name, signature, n = self.table
            if t.is_float(signature.result) == floating:
                args = [self.value(k, depth - 1) for k in signature.params]
                at = b.name(name)[self.index(n)]
                f = b.deref(at) if r < 0.1 else at
                return self.result(b.call(f, *args), signature.result)
        if self.single:
            return None
        choices = [
            (f, again) for f, again in self.callable
            if t.is_scalar(f.result) and t.is_float(f.result) == floating
        ]
        if not choices:
            return None
        f, again = self.rng.choice(choices)
        return self.result(self.call_of(f, again, depth - 1), f.result)

    def result(self, e: Any, kind: t.CType) -> Ex:
        return Ex(e, t.strip(kind)) if t.is_float(kind) else Ex(e, kind, *limits(kind))

    def call_of(self, f: Any, recursive: bool, depth: int) -> Any:
        args = []
        for k, p in enumerate(f.params):
            if recursive and k == 0:
                args.append(b.cast("int", self.integer(depth).e & 3))
            elif isinstance(t.strip(p.type), t.Record):
                args.append(self.object_of(p.type))
            else:
                args.append(self.value(p.type, depth))
        return b.call(f.name, *args)
