"""Variables of random programs: their declarations, and the places in them."""

from __future__ import annotations

from typing import Any

import attrs
from fe_wild_types import VECTOR_TYPES, Types

from nvir.frontend import build as b
from nvir.frontend.tree import types as t


@attrs.define
class Var:
    """A variable in scope. `pointer`: how many `*` lead to an object of `type` (an array's
    pointer steps through its elements); `fixed`: never assigned; `low`, `high`: its values."""

    name: str
    type: t.CType
    pointer: int = 0
    fixed: bool = False
    low: int | None = None
    high: int | None = None
    target: str = ""
    static: bool = False
    volatile: bool = False


@attrs.frozen
class Spot:
    """An lvalue of scalar type; `bits` is a bit-field's width, `var` what it lies in."""

    e: Any
    type: t.CType
    bits: int | None
    var: Var


class Places(Types):
    """What is in scope, and lvalues in it."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.vars: list[Var] = []
        self.globals: list[Any] = []
        self.global_vars: list[Var] = []
        self.functions: list[Any] = []
        self.callable: list[tuple[Any, bool]] = []
        self.table: tuple[str, t.FunctionType, int] | None = None
        self.used: set[str] = set()
        self.loops, self.budget, self.single = 0, 0, False
        self.indexing = False  # inside an index: its own indices are literals

    # -------------------------------------------------------------- declarations

    def add_function(self, prefix: str, result: t.CType, params: list[Var], body: list[Any],
                     recursive: bool = False, listed: bool = True) -> str:
        name = f"{prefix}{self.seed}_{len(self.functions)}"
        made = [b.d.Parameter(v.name, self.declared_type(v)) for v in params]
        f = b.d.Function(name, result=result, params=tuple(made), body=b.block(*body))
        if self.rng.random() < 0.15:
            f.attributes = b.d.Attributes(inline=self.rng.choice(["never", "always"]))
        self.functions.append(f)
        if listed:
            self.callable.append((f, recursive))
        return name

    @staticmethod
    def declared_type(v: Var) -> t.CType:
        kind = v.type
        if v.pointer and isinstance(kind, t.Array):
            kind = kind.element
        for _ in range(v.pointer):
            kind = t.Pointer(kind)
        return kind

    def make_globals(self) -> None:
        for _ in range(self.rng.randint(0, 3)):
            kind = self.rng.choice([
                self.scalar(), t.Array(self.scalar(), self.rng.randint(2, 5)),
                t.Array(t.Array(self.scalar(), 2), self.rng.randint(2, 3)),
                self.rng.choice(self.records), t.Array(self.rng.choice(self.records), 2),
                t.Array(t.CHAR, self.rng.randint(4, 9)),
            ])
            name = f"G{self.seed}_{len(self.globals)}"
            const = not self.single or self.rng.random() < 0.4
            start = self.initialiser(kind) if const or self.rng.random() < 0.8 else ...
            v = b.variable((t.qualified(kind, const=const), name), start,
                           memory="constant" if const and self.rng.random() < 0.5 else "device",
                           storage="static")
            self.globals.append(v)
            self.global_vars.append(Var(name, kind, fixed=const, static=True))
            if self.rng.random() < 0.3:
                self.pointer_global(name, kind, const)
        if self.rng.random() < 0.3:
            name = f"G{self.seed}_{len(self.globals)}"
            text = self.rng.choice(["", "text", "more \\ \"text\"\n", "\xe9\x7f?"])
            kind = t.Pointer(t.Qualified(t.CHAR, const=True))
            self.globals.append(b.variable((kind, name), text.encode("latin-1"), memory="device",
                                           storage="static"))
            self.text = name

    text = ""

    def pointer_global(self, target: str, kind: t.CType, const: bool) -> None:
        """`static T *p = &object;`, an address known before the program runs."""
        name = f"G{self.seed}_{len(self.globals)}"
        v = Var(name, kind, pointer=1, fixed=const, target=target, static=True)
        if isinstance(kind, t.Array):
            start = b.name(target) if self.rng.random() < 0.5 else b.addr(b.name(target)[0])
            pointee = kind.element
        else:
            start, pointee = b.addr(b.name(target)), kind
        full = t.Pointer(t.qualified(pointee, const=const))
        self.globals.append(b.variable((full, name), start, memory="device", storage="static"))
        self.global_vars.append(v)

    def declare(self) -> Any:
        r, rng = self.rng.random(), self.rng
        if r < 0.25:
            kind: t.CType = t.Array(self.scalar(), rng.randint(1, 5))
        elif r < 0.32:
            kind = t.Array(t.Array(self.scalar(), rng.randint(1, 3)), rng.randint(2, 3))
        elif r < 0.5:
            kind = rng.choice(self.records)
        elif r < 0.55:
            kind = t.Array(rng.choice(self.records), 2)
        elif r < 0.6:
            return self.declare_vector()
        else:
            kind = self.scalar()
        name = self.fresh_name("v")
        if self.budget < 12 and rng.random() < 0.2 and self.vars:  # hide another
            hidden = rng.choice(self.vars)
            if not hidden.fixed and hidden.name[0] == "v" and not self.pointed(hidden.name):
                name = hidden.name
                self.vars = [v for v in self.vars if v.name != name]
        start = self.start_value(kind)
        volatile = rng.random() < 0.06 and not t.is_aggregate(kind)
        self.vars.append(Var(name, kind, volatile=volatile))
        return b.let((t.qualified(kind, volatile=volatile), name), start)

    def pointed(self, name: str) -> bool:
        return any(v.target == name for v in self.vars)

    def start_value(self, kind: t.CType) -> Any:
        if t.is_aggregate(kind):
            leaf = self.constant if self.rng.random() < 0.5 else lambda k: self.value(k, 1)
            return self.initialiser(kind, leaf)
        value = self.value(kind, 2)
        return b.init(value) if self.rng.random() < 0.05 else value

    def declare_vector(self) -> Any:
        name, kind = self.rng.choice(VECTOR_TYPES)
        assert isinstance(kind, t.Vector)
        v = self.fresh_name("y")
        typed = self.types.setdefault(name, t.Typedef(name, kind))
        count = self.rng.randint(1, kind.count)
        start = b.init(*(self.value(kind.element, 1) for _ in range(count)))
        self.vars.append(Var(v, typed))
        return b.let((typed, v), start)

    def pointers(self) -> list[Any]:
        """Pointers to what main has declared."""
        made = []
        for _ in range(self.rng.randint(0, 2)):
            choices = [v for v in self.vars if not v.pointer and not v.fixed and not v.static
                       and v.name[0] == "v" and not v.volatile]
            if not choices:
                break
            v = self.rng.choice(choices)
            name = self.fresh_name("q")
            q = Var(name, v.type, pointer=1, target=v.name)
            start = b.name(v.name) if isinstance(v.type, t.Array) else b.addr(b.name(v.name))
            made.append(b.let((self.declared_type(q), name), start))
            self.vars.append(q)
            if self.rng.random() < 0.4:
                twice = Var(self.fresh_name("qq"), v.type, pointer=2, target=v.name)
                made.append(b.let((self.declared_type(twice), twice.name), b.addr(b.name(name))))
                self.vars.append(twice)
        return made

    # --------------------------------------------------------------------- places

    def start(self, v: Var) -> tuple[Any, bool]:
        """The object of a variable, or for a pointer to a record (pointer, True)."""
        e = b.name(v.name)
        if not v.pointer:
            return e, False
        for _ in range(v.pointer - 1):
            e = b.deref(e)
        s = t.strip(v.type)
        if isinstance(s, t.Array):
            return e, False
        if isinstance(s, t.Record) and self.rng.random() < 0.7:
            return e, True
        return (b.deref(e) if self.rng.random() < 0.6 else e[0]), False

    def spot(self, v: Var, fixed_index: bool = False) -> Spot:
        """A scalar somewhere in a variable."""
        e, arrow = self.start(v)
        kind, bits = v.type, None
        while True:
            s = t.strip(kind)
            if isinstance(s, t.Record):
                f = self.rng.choice(self.members(s))
                e = b.arrow(e, f.name) if arrow else getattr(e, f.name)
                kind, bits, arrow = f.type, f.bits, False
            elif isinstance(s, t.Array | t.Vector):
                e = self.element(e, s, fixed_index)
                kind = s.element
            else:
                return Spot(e, kind, bits, v)

    def members(self, s: t.Record) -> list[t.Field]:
        """The named members, those of unnamed ones too."""
        found = []
        for f in s.fields or ():
            inner = t.strip(f.type)
            if f.name:
                found.append(f)
            elif isinstance(inner, t.Record):
                found += self.members(inner)
        return found

    def element(self, e: Any, s: t.Array | t.Vector, fixed: bool) -> Any:
        n = s.count or 1
        at = b.E(b.expr(self.rng.randrange(n))) if fixed else self.index(n)
        r = self.rng.random()
        if isinstance(s, t.Vector) or r < 0.75:
            return e[at]
        return b.deref(e + at) if r < 0.95 else b.E(b.x.Index(at.node, e.node))

    def index(self, n: int) -> Any:
        r = self.rng.random()
        if n == 1 or r < 0.3 or self.indexing:
            return b.E(b.expr(self.rng.randrange(n)))
        self.indexing = True
        e = self.integer(1).e
        self.indexing = False
        if n & (n - 1) == 0 and r < 0.7:
            return e & (n - 1)
        return b.cast(self.rng.choice([t.UINT, t.ULONG, t.UCHAR]), e) % b.u32(n)

    def assignable(self) -> list[Var]:
        return [v for v in self.vars if not v.fixed]

    def leaves(self, v: Var) -> list[tuple[Any, t.CType]]:
        """Every scalar of a variable that is no pointer."""
        if v.pointer:
            return []
        found: list[tuple[Any, t.CType]] = []

        def walk(e: Any, kind: t.CType) -> None:
            s = t.strip(kind)
            if isinstance(s, t.Record):
                for f in self.members(s):
                    walk(lambda f=f: getattr(e(), f.name), f.type)
            elif isinstance(s, t.Array | t.Vector):
                for k in range(s.count or 0):
                    walk(lambda k=k: e()[k], s.element)
            else:
                found.append((e(), kind))

        walk(lambda: b.name(v.name), v.type)
        return found[:12]

    def bits_of(self, e: Any, kind: t.CType) -> Any:
        if t.is_float(kind):
            name = "fbits" if t.strip(kind) is t.FLOAT else "dbits"
            self.used.add(name)
            return b.cast(t.ULONG, b.call(name, e))
        return b.cast(t.ULONG, e)
