"""The tree as JSON: `to_json(unit) -> dict`, `from_json(dict) -> Unit`.

A node is an object whose "node" names its class; the other keys are the fields of the class,
those left out have their defaults. A place is "line:column" or "file:line:column".

    {"schema": "nvir.tree/1", "file": "k.cu",
     "types": [{"id": 1, "record": "pair", "kind": "struct", "fields": [...]}],
     "declarations": [{"node": "Function", "name": "k", "id": 2, ...}]}

Types are the name of an arithmetic type or of a CUDA vector ("int", "float4"), "void", or an
object of one of these forms, where T is a type:

    {"pointer": T, "space": "shared"}   {"reference": T, "rvalue": true}   {"array": T, "count": 3}
    {"vector": T, "count": 2}   {"qualified": T, "const": true}   {"typedef": "name", "type": T}
    {"function": T, "params": [T], "variadic": false}   {"ref": id of an entry of "types"}

A name that was bound says its declaration's id; one without is bound by scope. Floats that
JSON cannot write are the strings "inf", "-inf", "nan"; bytes are Latin-1 strings.

Cost     linear; the fields of a class and how each is read are worked out once.
"""

from __future__ import annotations

import math
import types
import typing
from typing import Any

import attrs

from nvir.frontend.depth import MAX_NESTING, room
from nvir.frontend.tree import declarations as decl_module
from nvir.frontend.tree import expressions as expr_module
from nvir.frontend.tree import statements as stmt_module
from nvir.frontend.tree.declarations import Attributes, Declaration, LaunchBounds, Unit
from nvir.frontend.tree.expressions import Name
from nvir.frontend.tree.place import NOWHERE, Node, Place
from nvir.frontend.tree.statements import Compound, Unroll
from nvir.frontend.tree.types import (
    ARITHMETIC,
    VOID,
    Arithmetic,
    Array,
    CType,
    Enum,
    Field,
    FunctionType,
    Pointer,
    Qualified,
    Record,
    Reference,
    Typedef,
    Vector,
    Void,
)
from nvir.frontend.tree.vectors import SPECIAL_VARIABLES, VECTORS
from nvir.ir.errors import Diagnostic, NvirError

SCHEMA = "nvir.tree/1"
MAX_DEPTH = 400  # of JSON objects in each other; Python's own JSON reader stops near 1000


class TreeFormatError(NvirError):
    """JSON that is no tree: says the path that leads to what is wrong."""


def _classes() -> dict[str, type[Any]]:
    found: dict[str, type[Any]] = {}
    for module in (expr_module, stmt_module, decl_module):
        for name, cls in vars(module).items():
            if isinstance(cls, type) and issubclass(cls, Node) and cls.__module__ == (
                module.__name__
            ):
                found[name] = cls
    for abstract in ("Expr", "Stmt", "Declaration"):
        del found[abstract]
    return found


NODES = _classes()
PLAIN = {"Attributes": Attributes, "LaunchBounds": LaunchBounds, "Unroll": Unroll}
SCOPE = {**vars(expr_module), **vars(stmt_module), **vars(decl_module), "Compound": Compound,
          "Declaration": Declaration, "Variable": decl_module.Variable, "Place": Place}
_hints: dict[type[Any], dict[str, Any]] = {}


def fields_of(cls: type[Any]) -> dict[str, Any]:
    """The fields of a class and their types, resolved once."""
    known = _hints.get(cls)
    if known is None:
        resolved = typing.get_type_hints(cls, globalns=SCOPE)
        known = _hints[cls] = {
            a.name: resolved[a.name] for a in attrs.fields(cls) if a.name != "place"
        }
    return known


# --------------------------------------------------------------------- writing


class _TreeWriter:
    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.ids: dict[int, int] = {}  # of declarations and of types with a name, by identity
        self.type_entries: list[dict[str, Any]] = []
        self.pending: list[Record | Enum] = []
        self.written: set[int] = set()  # declarations, by identity
        self.named: dict[int, Declaration] = {}  # what names have, by identity

    def id_of(self, thing: object) -> int:
        return self.ids.setdefault(id(thing), len(self.ids) + 1)

    def unit_json(self) -> dict[str, Any]:
        u = self.unit
        for t in u.types:
            self.type(t)
        body = [self.node(d) for d in u.declarations]
        while own := [d for n, d in self.named.items() if n not in self.written]:
            body = [*map(self.node, own), *body]  # what the compiler knows of itself: `fabs`
        named = [self.type(t) for t in u.types]
        while self.pending:
            self.type_entries.append(self.type_entry(self.pending.pop()))
        self.type_entries.sort(key=lambda e: int(e["id"]))
        out: dict[str, Any] = {"schema": SCHEMA, "file": u.file, "types": self.type_entries,
                               "declarations": body}
        if named:
            out["named_types"] = named
        out |= {k: True for k in ("cplusplus", "trusted") if getattr(u, k)}
        if u.source:
            out["source"] = u.source
        return out

    def type(self, t: CType) -> Any:
        if isinstance(t, Void):
            return "void"
        if isinstance(t, Arithmetic):
            return t.name
        if isinstance(t, Record | Enum):
            if isinstance(t, Record) and VECTORS.get(t.name) is t:
                return t.name
            if id(t) not in self.ids:
                self.pending.append(t)
            return {"ref": self.id_of(t)}
        if isinstance(t, Pointer):
            return {"pointer": self.type(t.pointee), **({"space": t.space} if t.space else {})}
        if isinstance(t, Reference):
            return {"reference": self.type(t.referent), **({"rvalue": True} if t.rvalue else {})}
        if isinstance(t, Array):
            return {"array": self.type(t.element), "count": t.count}
        if isinstance(t, Vector):
            return {"vector": self.type(t.element), "count": t.count}
        if isinstance(t, Typedef):
            return {"typedef": t.name, "type": self.type(t.type)}
        if isinstance(t, Qualified):
            words = {w: True for w in ("const", "volatile", "restrict") if getattr(t, w)}
            return {"qualified": self.type(t.type), **words}
        assert isinstance(t, FunctionType)
        out = {"function": self.type(t.result), "params": [self.type(p) for p in t.params]}
        return {**out, "variadic": True} if t.variadic else out

    def type_entry(self, t: Record | Enum) -> dict[str, Any]:
        out: dict[str, Any] = {"id": self.id_of(t)}
        if isinstance(t, Enum):
            out |= {"enum": t.name, "underlying": self.type(t.underlying),
                    "constants": [list(c) for c in t.constants]}
            return {**out, "scoped": True} if t.scoped else out
        out |= {"record": t.name, "kind": t.kind}
        out |= {k: getattr(t, k) for k in ("packed", "align", "size") if getattr(t, k)}
        if t.fields is not None:
            out["fields"] = [self.field(f) for f in t.fields]
        return out

    def field(self, f: Field) -> dict[str, Any]:
        out: dict[str, Any] = {"name": f.name, "type": self.type(f.type)}
        if f.bits is not None:
            out["bits"] = f.bits
        if f.offset is not None:
            out["offset"] = f.offset
        return out | {k: getattr(f, k) for k in ("base", "align") if getattr(f, k)}

    def node(self, n: Node) -> dict[str, Any]:
        out: dict[str, Any] = {"node": type(n).__name__}
        if n.place is not NOWHERE and n.place.line:
            p = n.place
            same = p.file == self.unit.file
            out["place"] = f"{p.line}:{p.column}" if same else f"{p.file}:{p.line}:{p.column}"
        if isinstance(n, Declaration):
            out["id"] = self.id_of(n)
            self.written.add(id(n))
        for a in attrs.fields(type(n)):
            if a.name == "place":
                continue
            value = getattr(n, a.name)
            if isinstance(n, Name) and a.name == "decl":
                if value is not None and SPECIAL_VARIABLES.get(value.name) is not value:
                    out["decl"] = self.id_of(value)
                    self.named[id(value)] = value
                continue
            if _is_default(a, value):
                continue
            out[a.name] = self.value(value)
        return out

    def value(self, v: Any) -> Any:
        if isinstance(v, Node):
            return self.node(v)
        if isinstance(v, CType):
            return self.type(v)
        if isinstance(v, tuple | list):
            return [self.value(x) for x in v]
        if isinstance(v, bytes):
            return v.decode("latin-1")
        if isinstance(v, float):
            return v if math.isfinite(v) else str(v)
        if attrs.has(type(v)):
            return {
                a.name: self.value(x)
                for a in attrs.fields(type(v))
                if not _is_default(a, x := getattr(v, a.name))
            }
        return v


def _is_default(a: Any, value: Any) -> bool:
    if isinstance(a.default, attrs.Factory):  # type: ignore[arg-type]
        return bool(value == a.default.factory())
    return type(value) is type(a.default) and bool(value == a.default)


def to_json(unit: Unit) -> dict[str, Any]:
    """The unit as what `json.dumps` takes."""
    with room(MAX_NESTING):
        return _TreeWriter(unit).unit_json()


# --------------------------------------------------------------------- reading


class _TreeReader:
    def __init__(self, data: dict[str, Any]) -> None:
        self.file = str(data.get("file", "<tree>"))
        self.data = data
        self.types: dict[int, Record | Enum] = {}
        self.decls: dict[int, Declaration] = {}
        self.waiting: list[tuple[Name, int, str, Any]] = []
        self.path: list[str] = []
        self.at: Any = None  # the place of the innermost node that has one

    def fail(self, message: str) -> TreeFormatError:
        return self.told(f"{'.'.join(self.path) or 'tree'}: {message}", self.at)

    def told(self, message: str, at: Any) -> TreeFormatError:
        """A mistake, with the source place of the innermost node around it that has one."""
        numbers = at.rsplit(":", 2)[-2:] if isinstance(at, str) else []
        if len(numbers) != 2 or not all(n.isdecimal() and len(n) < 10 for n in numbers):
            return TreeFormatError(f"{self.file}: {message}")
        line, column = map(int, numbers)
        lines = str(self.data.get("source", "")).splitlines()
        shown = lines[line - 1] if 0 < line <= len(lines) else ""
        return TreeFormatError(str(Diagnostic(message, self.file, line, column, shown)))

    def unit(self) -> Unit:
        entries = self.get_list(self.data, "types")
        self.declare_types(entries)
        for k, e in enumerate(entries):
            self.within(f"types[{k}]", self.complete_type, e)
        u = Unit(file=self.file, cplusplus=bool(self.data.get("cplusplus", False)))
        u.trusted = bool(self.data.get("trusted", False))
        u.source = str(self.data.get("source", ""))
        for k, t in enumerate(self.get_list(self.data, "named_types")):
            named = self.within(f"named_types[{k}]", self.type, t)
            if not isinstance(named, Record | Enum | Typedef):
                raise self.fail("a named type is a record, an enum or a typedef")
            u.types.append(named)
        for k, d in enumerate(self.get_list(self.data, "declarations")):
            n = self.within(f"declarations[{k}]", self.node, d)
            if not isinstance(n, Declaration):
                raise self.fail(f"declarations[{k}] is no declaration")
            u.declarations.append(n)
        for name, number, path, at in self.waiting:
            if number not in self.decls:
                raise self.told(f"{path}: no declaration has id {number}", at)
            name.decl = self.decls[number]
        return u

    def within(self, step: str, read: Any, *args: Any) -> Any:
        if len(self.path) > MAX_DEPTH:
            raise self.fail(f"nested deeper than {MAX_DEPTH}")
        self.path.append(step)
        out = read(*args)
        self.path.pop()
        return out

    def get_list(self, d: dict[str, Any], key: str) -> list[Any]:
        value = d.get(key, [])
        if not isinstance(value, list):
            raise self.fail(f'"{key}" is a list')
        return value

    def get(self, d: Any, key: str, kind: type[Any], default: Any = None) -> Any:
        if not isinstance(d, dict):
            raise self.fail(f"an object is wanted, not {d!r}"[:120])
        value = d.get(key, default)
        if kind is int and isinstance(value, bool):
            raise self.fail(f'"{key}" is a number')
        if not isinstance(value, kind) and not (value is None and default is None and key in d):
            raise self.fail(f'"{key}" is wanted as {kind.__name__}')
        return value

    # ---- types

    def declare_types(self, entries: list[Any]) -> None:
        for k, e in enumerate(entries):
            number = self.within(f"types[{k}]", self.get, e, "id", int)
            if number in self.types:
                raise self.fail(f"types[{k}]: id {number} is there twice")
            if "enum" in e:
                self.types[number] = Enum(self.get(e, "enum", str))
            else:
                kind = self.get(e, "kind", str, "struct")
                if kind not in ("struct", "union", "class"):
                    raise self.fail(f"types[{k}]: a record is struct, union or class")
                self.types[number] = Record(self.get(e, "record", str), kind)

    def complete_type(self, e: dict[str, Any]) -> None:
        t = self.types[e["id"]]
        if isinstance(t, Enum):
            t.underlying = self.type(e.get("underlying", "unsigned int"))
            pairs = self.get_list(e, "constants")
            try:
                t.constants = tuple((str(n), int(v)) for n, v in pairs)
            except (TypeError, ValueError):
                raise self.fail("constants are pairs of a name and a number") from None
            t.scoped = bool(e.get("scoped", False))
            return
        t.packed = bool(e.get("packed", False))
        t.align, t.size = self.get(e, "align", int, 0), self.get(e, "size", int, 0)
        if "fields" in e:
            fields = self.get_list(e, "fields")
            t.set_fields(
                [self.within(f"fields[{k}]", self.field, f) for k, f in enumerate(fields)]
            )

    def field(self, d: dict[str, Any]) -> Field:
        return Field(
            self.get(d, "name", str, ""), self.type(self.get(d, "type", object)),
            None if d.get("bits") is None else self.get(d, "bits", int),
            None if d.get("offset") is None else self.get(d, "offset", int),
            bool(d.get("base", False)), self.get(d, "align", int, 0),
        )

    def type(self, d: Any) -> CType:
        if isinstance(d, str):
            if d == "void":
                return VOID
            plain: CType | None = ARITHMETIC.get(d) or VECTORS.get(d)
            if plain is None:
                raise self.fail(f"no type is named {d!r}")
            return plain
        if not isinstance(d, dict):
            raise self.fail(f"a type is a name or an object, not {d!r}"[:120])
        for key, read in TYPE_FORMS.items():
            if key in d:
                made: CType = self.within(key, read, self, d)
                return made
        raise self.fail(f"a type has one of {', '.join(TYPE_FORMS)}")

    def ref(self, d: dict[str, Any]) -> CType:
        number = self.get(d, "ref", int)
        if number not in self.types:
            raise self.fail(f"no type has id {number}")
        return self.types[number]

    def pointer(self, d: dict[str, Any]) -> CType:
        space = self.get(d, "space", str, "")
        if space not in ("", "device", "shared", "constant", "local"):
            raise self.fail(f"no memory is named {space!r}")
        return Pointer(self.type(d["pointer"]), space)

    def counted(self, d: dict[str, Any], key: str) -> tuple[CType, int | None]:
        count = None if d.get("count") is None else self.get(d, "count", int)
        if count is not None and not 0 <= count < 1 << 48:
            raise self.fail(f"a count of {count}")
        return self.type(d[key]), count

    def vector(self, d: dict[str, Any]) -> CType:
        element, count = self.counted(d, "vector")
        if not count:
            raise self.fail("a vector has a count")
        return Vector(element, count)

    # ---- nodes

    def node(self, d: Any) -> Node:
        name = self.get(d, "node", str)
        cls = NODES.get(name)
        if cls is None:
            raise self.fail(f"no node is called {name!r}")
        hints = fields_of(cls)
        unknown = set(d) - set(hints) - {"node", "place", "id"}
        if unknown:
            raise self.fail(f"{name} has no {', '.join(sorted(unknown))}")
        given: dict[str, Any] = {}
        outer, self.at = self.at, d.get("place") or self.at
        for key, hint in hints.items():
            if key in d and not (name == "Name" and key == "decl"):
                given[key] = self.within(key, self.convert, hint, d[key])
        try:
            n: Node = cls(**given, place=self.place(d.get("place")))
        except (TypeError, ValueError) as e:
            missing = [a.name for a in attrs.fields(cls) if a.default is attrs.NOTHING
                       and a.name not in given]
            what = f"lacks {', '.join(missing)}" if missing else str(e)
            raise self.fail(f"{name} {what}") from None
        if isinstance(n, Name) and d.get("decl") is not None:
            self.waiting.append((n, self.get(d, "decl", int), ".".join(self.path), self.at))
        if isinstance(n, Declaration) and d.get("id") is not None:
            self.decls[self.get(d, "id", int)] = n
        self.at = outer
        return n

    def place(self, text: Any) -> Place:
        if text is None:
            return NOWHERE
        parts = text.rsplit(":", 2) if isinstance(text, str) else []
        if len(parts) not in (2, 3) or not all(p.isdecimal() for p in parts[-2:]):
            raise self.fail(f"a place is 'line:column', not {text!r}"[:120])
        return Place(parts[0] if len(parts) == 3 else self.file, int(parts[-2]), int(parts[-1]))

    def convert(self, hint: Any, v: Any) -> Any:
        """A JSON value as a field of that Python type."""
        origin = typing.get_origin(hint)
        args = typing.get_args(hint)
        if origin in (typing.Union, types.UnionType):
            if v is None and type(None) in args:
                return None
            return self.one_of([a for a in args if a is not type(None)], v)
        if origin is tuple:
            return self.sequence(args, v)
        return self.single(hint, v)

    def one_of(self, options: list[Any], v: Any) -> Any:
        for option in options:
            if option is str and isinstance(v, str):
                return v
            if option is int and isinstance(v, int) and not isinstance(v, bool):
                return v
        return self.convert(([o for o in options if o is not str] or options)[-1], v)

    def sequence(self, args: tuple[Any, ...], v: Any) -> tuple[Any, ...]:
        if not isinstance(v, list):
            raise self.fail("a list is wanted")
        if len(args) == 2 and args[1] is Ellipsis:
            args = (args[0],) * len(v)
        if len(args) != len(v):
            raise self.fail(f"{len(args)} items are wanted, not {len(v)}")
        return tuple(
            self.within(f"[{k}]", self.convert, a, x)
            for k, (a, x) in enumerate(zip(args, v, strict=True))
        )

    def single(self, hint: Any, v: Any) -> Any:
        if hint in (int, str, bool):
            if not isinstance(v, hint) or (hint is int and isinstance(v, bool)):
                raise self.fail(f"{hint.__name__} is wanted, not {v!r}"[:120])
            return v
        if hint is float:
            return self.number(v)
        if hint is bytes:
            return self.bytes(v)
        if isinstance(hint, type) and issubclass(hint, CType):
            return self.type(v)
        if isinstance(hint, type) and issubclass(hint, Node):
            n = self.node(v)
            if not isinstance(n, hint):
                raise self.fail(f"{hint.__name__} is wanted, not {type(n).__name__}")
            return n
        return self.plain(hint, v)

    def number(self, v: Any) -> float:
        if isinstance(v, str) and v in ("inf", "-inf", "nan"):
            return float(v)
        if isinstance(v, bool) or not isinstance(v, int | float):
            raise self.fail(f"a number is wanted, not {v!r}"[:120])
        try:
            return float(v)
        except OverflowError:
            raise self.fail("a number beyond double precision") from None

    def bytes(self, v: Any) -> bytes:
        try:
            return str(v).encode("latin-1")
        except UnicodeEncodeError:
            raise self.fail("bytes are a string of characters below U+0100") from None

    def plain(self, cls: Any, v: Any) -> Any:
        if not isinstance(v, dict):
            raise self.fail("an object is wanted")
        hints = typing.get_type_hints(cls, globalns=SCOPE)
        if set(v) - set(hints):
            raise self.fail(f"no field {', '.join(sorted(set(v) - set(hints)))}")
        given = {k: self.within(k, self.convert, hints[k], x) for k, x in v.items()}
        try:
            return cls(**given)
        except (TypeError, ValueError) as e:
            raise self.fail(str(e)) from None


TYPE_FORMS: dict[str, Any] = {
    "ref": _TreeReader.ref,
    "pointer": _TreeReader.pointer,
    "reference": lambda r, d: Reference(r.type(d["reference"]), bool(d.get("rvalue", False))),
    "array": lambda r, d: Array(*r.counted(d, "array")),
    "vector": _TreeReader.vector,
    "qualified": lambda r, d: Qualified(
        r.type(d["qualified"]), *(bool(d.get(w)) for w in ("const", "volatile", "restrict"))
    ),
    "typedef": lambda r, d: Typedef(r.get(d, "typedef", str), r.type(r.get(d, "type", object))),
    "function": lambda r, d: FunctionType(
        r.type(d["function"]), tuple(r.type(p) for p in r.get_list(d, "params")),
        bool(d.get("variadic", False)),
    ),
}


def from_json(data: Any) -> Unit:
    """The unit that JSON data (as of `json.loads`) says; `TreeFormatError` where it says none."""
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise TreeFormatError(f'a tree is an object with "schema": "{SCHEMA}"')
    with room(MAX_DEPTH):
        return _TreeReader(data).unit()
