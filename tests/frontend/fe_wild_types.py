"""What random programs are made of: types, their initialisers, the prelude of the C text."""

from __future__ import annotations

import random
from typing import Any

from nvir.frontend import build as b
from nvir.frontend.tree import types as t

OUTS = 4
PARAMS = [("int", "a"), ("unsigned", "b"), ("long", "c"), ("double", "d"), ("float", "f")]
MUSTS = (1000003, 6364136223846793005, 2862933555777941757, 3935559000370003845)
CHARS = [t.CHAR, t.SCHAR, t.UCHAR]
INTS = [t.BOOL, *CHARS, t.SHORT, t.USHORT, t.INT, t.UINT, t.LONG, t.ULONG, t.LONGLONG,
        t.ULONGLONG]
SCALARS = [*INTS, t.INT, t.UINT, t.FLOAT, t.FLOAT, t.DOUBLE, t.DOUBLE]
VECTOR_TYPES: list[tuple[str, t.CType]] = [
    ("vu4", t.Vector(t.UINT, 4)), ("vf4", t.Vector(t.FLOAT, 4)), ("vd2", t.Vector(t.DOUBLE, 2)),
    ("vs8", t.Vector(t.USHORT, 8)), ("vl2", t.Vector(t.ULONG, 2)), ("vc4", t.Vector(t.UCHAR, 4)),
]


def short_name(kind: t.CType) -> str:
    return str(kind).replace("unsigned ", "u").replace("signed ", "s").replace(" ", "_")


def limits(kind: t.CType) -> tuple[int, int]:
    k = t.underlying(kind)
    assert isinstance(k, t.Arithmetic)
    if k is t.BOOL:
        return 0, 1
    return (-(1 << k.bits - 1), (1 << k.bits - 1) - 1) if k.signed else (0, (1 << k.bits) - 1)


def _f2i(kind: t.CType) -> Any:
    """`T f2i_T(double v)`: v as T where it fits, else something that v does not decide."""

    def make() -> Any:
        low, high = limits(kind)
        top = float(high + 1)
        inside = b.land(b.name("v") > (low - 1.0 if low > -(1 << 52) else float(low)),
                        b.name("v") < top)
        return b.d.Function(f"f2i_{short_name(kind)}", result=kind, storage="static",
                            params=(b.d.Parameter("v", t.DOUBLE),),
                            body=b.block(b.ret(b.cond(inside, b.cast(kind, b.name("v")), 5))))

    return make


def _bits(name: str, kind: t.CType, image: t.CType, nan: int) -> Any:
    """`U fbits(float v)`: its bits, those of one NaN for every NaN."""

    def make() -> Any:
        u = t.Record(f"u_{name}", "union").set_fields([t.Field("x", kind), t.Field("i", image)])
        v = b.name("v")
        return b.d.Function(
            name, result=image, storage="static", params=(b.d.Parameter("v", kind),),
            body=b.block(b.let((u, "u"), b.init(v)),
                         b.if_(v != v, b.ret(b.E(b.x.IntLiteral(nan, type=image)))),
                         b.ret(b.name("u").i)))

    return make


def _number(name: str, kind: t.CType) -> Any:
    """`float nn_float(float v)`: v, or 0 for a NaN."""

    def make() -> Any:
        v = b.name("v")
        return b.d.Function(name, result=kind, storage="static",
                            params=(b.d.Parameter("v", kind),),
                            body=b.block(b.ret(b.cond(v == v, v, b.cast(kind, 0)))))

    return make


F2I: dict[str, Any] = {f"f2i_{short_name(k)}": _f2i(k) for k in INTS}
F2I["fbits"] = _bits("fbits", t.FLOAT, t.UINT, 0x7FC00000)
F2I["dbits"] = _bits("dbits", t.DOUBLE, t.ULONG, 0x7FF8 << 48)
F2I["nn_float"] = _number("nn_float", t.FLOAT)
F2I["nn_double"] = _number("nn_double", t.DOUBLE)


def prelude() -> str:
    """What the C text of every program needs: headers, vectors, the helpers that floats ask for."""
    import fe_ctext

    lines = ["#include <stdio.h>", "#include <string.h>", "#define bool _Bool"]
    for name, kind in VECTOR_TYPES:
        assert isinstance(kind, t.Vector)
        size = kind.count * t.underlying(kind.element).bits // 8
        lines.append(f"typedef {kind.element} {name} __attribute__((vector_size({size})));")
    lines += ["union u_fbits { float x; unsigned i; };",
              "union u_dbits { double x; unsigned long i; };"]
    lines += [f"static {fe_ctext.function(make(), n)}" for n, make in F2I.items()]
    return "\n".join(lines) + "\n"


class Types:
    """The types of a program, and initialisers for them."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"wild {seed}")
        self.seed = seed
        self.types: dict[str, t.CType] = {}
        self.records: list[t.Record] = []
        self.enums: list[t.Enum] = []
        self.count = 0

    def fresh_name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def scalar(self) -> t.CType:
        if self.enums and self.rng.random() < 0.06:
            return self.rng.choice(self.enums)
        return self.rng.choice(SCALARS)

    def make_types(self) -> None:
        rng = self.rng
        if rng.random() < 0.5:
            base = rng.choice([0, 1, 5])
            names = {f"e{self.seed}_{k}": base + 3 * k for k in range(rng.randint(2, 4))}
            self.enums.append(b.enum(f"en{self.seed}", self.types, **names))
        for k in range(rng.randint(1, 3)):
            self.records.append(self.make_record(f"s{self.seed}_{k}"))
        if rng.random() < 0.6:
            self.records.append(self.make_union())

    def make_record(self, name: str) -> t.Record:
        fields: list[t.Field] = []
        for k in range(self.rng.randint(1, 6)):
            r = self.rng.random()
            if r < 0.5:
                fields.append(self.bit_field(f"m{k}"))
            elif r < 0.65:
                bounds = [self.rng.randint(1, 3) for _ in range(self.rng.randint(1, 2))]
                kind = self.scalar()
                for n in bounds:
                    kind = t.Array(kind, n)
                fields.append(t.Field(f"m{k}", kind))
            elif r < 0.8 and self.records:
                fields.append(t.Field(f"m{k}", self.rng.choice(self.records)))
            elif r < 0.85:
                fields.append(self.anonymous(k))
            else:
                fields.append(t.Field(f"m{k}", self.scalar()))
            if self.rng.random() < 0.1:
                width = self.rng.choice([0, 0, 3])
                fields.append(t.Field("", self.rng.choice([t.INT, t.LONG, t.UCHAR]), width))
        if all(not f.name and f.bits is not None for f in fields):
            fields.append(t.Field("last", t.INT))
        return b.record(name, fields, self.types)

    def anonymous(self, k: int) -> t.Field:
        """An unnamed struct, whose members belong to the record around it."""
        inner = t.Record("", "struct").set_fields(
            [t.Field(f"x{k}", self.rng.choice(INTS)), t.Field(f"y{k}", self.scalar())])
        return t.Field("", inner)

    def bit_field(self, name: str) -> t.Field:
        kind = self.rng.choice([*INTS, t.INT, t.UINT, t.UINT, t.LONG, t.ULONG])
        width = limits(kind)[1].bit_length() + (limits(kind)[0] < 0)
        some = [1, width, self.rng.randint(1, width), self.rng.randint(1, width)]
        bits = self.rng.choice(some)
        return t.Field(name, t.SCHAR if kind is t.CHAR else kind, bits)

    def make_union(self) -> t.Record:
        """Members that see the same bytes; the first holds them all, none has padding."""
        rng = self.rng
        size = rng.choice([4, 8, 8])
        first = t.Array(t.UCHAR, size) if rng.random() < 0.5 else t.ULONG if size == 8 else t.UINT
        choices: list[t.CType] = [t.SHORT, t.UCHAR, t.SCHAR, t.INT, t.UINT, t.FLOAT,
                                  t.Array(t.USHORT, size // 2), t.Array(t.INT, size // 4)]
        if size == 8:
            choices += [t.LONG, t.DOUBLE, t.Array(t.FLOAT, 2)]
        fields = [t.Field("m0", first)]
        for k in range(1, rng.randint(2, 4)):
            fields.append(t.Field(f"m{k}", rng.choice(choices)))
        if rng.random() < 0.5:
            cut = rng.randint(1, 15)
            made = b.record(f"b{self.seed}", [
                t.Field("x", t.UINT, cut), t.Field("y", t.INT, 32 - cut)], self.types)
            fields.append(t.Field("bf", made))
        return b.record(f"un{self.seed}", fields, self.types, kind="union")

    # --------------------------------------------------------------- initialisers

    def constant(self, kind: t.CType) -> Any:
        """A literal that the type holds."""
        rng = self.rng
        s = t.strip(kind)
        if isinstance(s, t.Enum):
            return b.name(rng.choice(s.constants)[0])
        if t.is_float(kind):
            value = rng.choice([0.0, 0.5, -1.25, 3.0, 1e3, -7.75e-3, 1e10, 16777217.0])
            return (b.f32 if s is t.FLOAT else b.f64)(value)
        low, high = limits(kind)
        value = rng.choice([0, 1, low, high, rng.randint(max(low, -9), min(high, 99)),
                            rng.randint(low, high)])
        if value < 0 and value == -(1 << 63):
            value += 1
        return b.E(b.expr(value)) if value < 1 << 63 else b.u64(value)

    def initialiser(self, kind: t.CType, leaf: Any = None) -> Any:
        """An initialiser with braces, without some of them, or with designators."""
        leaf = leaf or self.constant
        s = t.strip(kind)
        if isinstance(s, t.Record):
            return self.record_initialiser(s, leaf)
        if isinstance(s, t.Array):
            n = s.count or 1
            if s.element is t.CHAR and self.rng.random() < 0.5:
                return b.E(b.expr("a quick fox"[: self.rng.randint(0, n - 1)]))
            if self.rng.random() < 0.3:
                at = sorted(self.rng.sample(range(n), self.rng.randint(1, n)))
                return b.init(*((k, self.initialiser(s.element, leaf)) for k in at))
            if self.rng.random() < 0.3:
                flat = self.flat(s)
                if flat:
                    return b.init(*(leaf(k) for k in flat[: self.rng.randint(1, len(flat))]))
            return b.init(*(self.initialiser(s.element, leaf)
                            for _ in range(self.rng.randint(1, n))))
        return leaf(kind)

    def flat(self, kind: t.CType) -> list[t.CType]:
        """The scalars of a type in order, where braces may be left out; empty where they
        should stay."""
        s = t.strip(kind)
        if isinstance(s, t.Array):
            return self.flat(s.element) * (s.count or 0)
        if isinstance(s, t.Record):
            if s.kind == "union":
                return self.flat((s.fields or ())[0].type)
            parts = [self.flat(f.type) for f in s.fields or () if f.name or f.bits is None]
            return [k for p in parts for k in p] if all(parts) else []
        return [kind]

    def record_initialiser(self, s: t.Record, leaf: Any) -> Any:
        named = [f for f in s.fields or () if f.name]
        if s.kind == "union":
            return b.init(self.initialiser(named[0].type, leaf))
        plain = [f for f in s.fields or () if f.name or f.bits is None]
        r = self.rng.random()
        if r < 0.3 and named:
            some = self.rng.sample(named, self.rng.randint(1, len(named)))
            return b.init(**{f.name: self.member_initialiser(f, leaf) for f in some})
        if r < 0.5 and (flat := self.flat(s)) and all(f.bits is None for f in plain):
            return b.init(*(leaf(k) for k in flat[: self.rng.randint(1, len(flat))]))
        count = self.rng.randint(1, len(plain))
        return b.init(*(self.member_initialiser(f, leaf) for f in plain[:count]))

    def member_initialiser(self, f: t.Field, leaf: Any) -> Any:
        return self.initialiser(f.type, leaf)
