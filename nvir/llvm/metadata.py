"""Reading metadata: nodes on demand, and what nvir makes of them.

    kernels and launch bounds   `!nvvm.annotations` → Function.kind, Function.directives
    marks of variables          `managed`, `texture` … → Variable.attributes
    source places               `!dbg` → Location (file, line, column of the innermost scope)
    loops                       `!llvm.loop` → Block.aux["llvm.loop"], a tuple of properties
    other named metadata        Module.aux["metadata"], its nodes as tuples

Dropped, for they only permit what nvir does not do or say what it finds itself: !tbaa, !range of a
load, !prof, !noalias, !alias.scope, !fpmath, `llvm.ident`, variables and types of debug data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nvir.ir import (
    METADATA,
    VOID,
    Constant,
    Function,
    Instruction,
    Location,
    Module,
    Value,
    Variable,
)
from nvir.ir import types as ty
from nvir.ir.text.datum import MAX_DEPTH
from nvir.ir.verify.nvvm import element
from nvir.llvm.grammar import Grammar
from nvir.llvm.lexer import Stop
from nvir.llvm.nodes.alias import scopes_problem, tag_problem
from nvir.llvm.nodes.debug import FIELDS, expression_problem, node_problem, value_problem

# annotation → directive and its component
MAX_ELEMENTS = 100_000  # of what an element stands for, the nodes that it names in place
LAUNCH = {
    "maxntidx": ("maxntid", 0), "maxntidy": ("maxntid", 1), "maxntidz": ("maxntid", 2),
    "reqntidx": ("reqntid", 0), "reqntidy": ("reqntid", 1), "reqntidz": ("reqntid", 2),
    "minctasm": ("minnctapersm", 0), "maxnreg": ("maxnreg", 0),
    "maxclusterrank": ("maxclusterrank", 0),
    "cluster_dim_x": ("reqnctapercluster", 0), "cluster_dim_y": ("reqnctapercluster", 1),
    "cluster_dim_z": ("reqnctapercluster", 2),
}
# the same as function attributes of newer LLVMs
ATTRIBUTES = {
    "nvvm.maxntid": "maxntid", "nvvm.reqntid": "reqntid", "nvvm.minctasm": "minnctapersm",
    "nvvm.maxnreg": "maxnreg", "nvvm.maxclusterrank": "maxclusterrank",
    "nvvm.cluster_dim": "reqnctapercluster",
}
VARIABLE_MARKS = ("managed", "texture", "surface", "sampler")
# Metadata of single instructions that is held to what LLVM 19's verifier says of it.
KINDS = frozenset((
    "!tbaa", "!nonnull", "!align", "!dereferenceable", "!dereferenceable_or_null", "!fpmath",
    "!prof", "!alias.scope", "!noalias",
))
SCOPES = ("!alias.scope", "!noalias")
_ACCESSES = ("load", "store", "call", "atomicrmw", "cmpxchg")
_DROPPED = ("llvm.ident", "llvm.dbg.cu", "nvvmir.version", "nvvm.annotations")


class Ref(str):
    """A node named by its number, `!5`."""

    __slots__ = ()


class Special(dict[str, Any]):
    """`!DILocation(line: 3, …)`: its fields, the kind under ""."""

    __slots__ = ()


class Metadata(Grammar):
    """The nodes of one file. Each is read when it is first asked for."""

    def __init__(self, grammar: Grammar, module: Module) -> None:
        super().__init__(grammar.text)
        self.share(grammar)
        self.module, self.owner = module, grammar
        self.places: dict[str, int] = {}  # token of a node → where its content begins
        self.lists: dict[str, tuple[int, list[str]]] = {}
        self._nodes: dict[str, Any] = {}
        self._locations: dict[str, Location | None] = {}
        self._files: dict[tuple[str, str], int] = {}
        self._elements = 0  # of what is being resolved
        self._kept: list[Any] = []  # nodes known by their `id`
        self._aliasing: dict[tuple[bool, int], str | None] = {}  # by nodes, which stay

    def stopped(self, e: Stop) -> None:
        self.owner.stopped(e)

    # ------------------------------------------------------------ reading

    def node(self, token: str, at: int) -> Any:
        """The content of node `!5`: a tuple of elements, or a Special."""
        found = self._nodes.get(token)
        if found is None:
            place = self.places.get(token)
            if place is None:
                raise Stop(f"use of undefined metadata '{token}'", at)
            saved, self.k = self.k, place
            found = self._nodes[token] = self.content()
            self.k = saved
        return found

    def emission(self) -> str:
        """What the compile units ask for, where it is less than line tables; else ""."""
        kinds = {n.get("emissionKind") for n in self._nodes.values()
                 if isinstance(n, Special) and n[""] == "DICompileUnit"}
        return "DebugDirectivesOnly" if kinds == {"DebugDirectivesOnly"} else ""

    def check(self, stopped: Callable[[Stop], None]) -> None:
        """Read the nodes that nobody asked for too: a wrong one is an error all the same."""
        for token, place in self.places.items():
            if token in self._nodes:
                continue
            self.k = self.start = place
            try:
                self._nodes[token] = self.content()
            except Stop as e:
                stopped(e)

    def content(self, depth: int = 0) -> Any:
        """`distinct !{…}`, `!{…}`, `!DI…(…)` at `k`."""
        distinct = self.accept("distinct")
        token = self.t[self.k]
        if token == "!" and self.t[self.k + 1] == "{":
            return self._tuple(depth)
        if token[1:] in FIELDS:
            return self._special(distinct, depth)
        if token == "!DIExpression":
            return self._debug_expression()
        return self.fail("a metadata node")

    def _tuple(self, depth: int) -> tuple[Any, ...]:
        self.k += 2
        out: list[Any] = []
        while not self.accept("}"):
            if out:
                self.expect(",")
            out.append(self.element(depth + 1))
        return tuple(out)

    def element(self, depth: int = 0) -> Any:
        """None, a string, a Ref, a node, or a constant."""
        token = self.t[self.k]
        if depth > MAX_DEPTH:
            self.unsupported(f"metadata nested deeper than {MAX_DEPTH}")
        if token == "null":
            self.k += 1
            return None
        if token == "!":
            if self.t[self.k + 1][:1] == '"':
                self.k += 1
                return self.string()
            return self.content(depth)
        if token[:1] == "!" and token[1:].isdigit():
            self._known(token)
            self.k += 1
            return Ref(token)
        if token[:1] == "!" or token == "distinct":
            return self.content(depth)
        at = self.k
        t = self.type()
        if t is VOID or t is METADATA:
            raise Stop(f"there is no metadata of type {t}", at)
        return self.constant(t)

    def _special(self, distinct: bool, depth: int) -> Special:
        """`!DILocation(line: 3, …)`, its fields held to what nodes/debug.py says of them."""
        t, at = self.t, self.k
        kind = t[at][1:]
        fields, out = FIELDS[kind], Special({"": kind})
        self.k += 1
        self.expect("(")
        while t[self.k] != ")":
            if len(out) > 1:
                self.expect(",")
            label, token = t[self.k], t[self.k + 1]
            name = label[:-1]
            row = fields.get(name)
            if row is None or label[-1:] != ":":
                self.fail(f"a field of {kind}")
            if name in out:
                raise Stop(f"the field '{name}' is given twice", self.k)
            self.k += 1
            problem = value_problem(row, name, token, t[self.k + 1])
            if problem:
                raise Stop(problem, self.k)
            out[name] = self._field(token, depth)
        problem = node_problem(kind, out, distinct)
        if problem:
            raise Stop(problem, at)
        self.k += 1
        return out

    def _field(self, token: str, depth: int) -> Any:
        """The value of a field: text, or the content of a node that stands in place."""
        if token[:1] == "!" and token[1:].isdigit():
            self._known(token)
            self.k += 1
            return token
        if token[:1] == '"':
            return self.string()
        if token[:1] == "!" or token == "distinct":
            return self.element(depth + 1)
        if token == "{":
            self.skip_brackets()
            return ""
        if self.t[self.k + 1] not in (",", ")", "|"):  # i32 7
            self.element(depth + 1)
            return ""
        self.k += 1
        while self.accept("|"):
            token += f"|{self.t[self.k]}"
            self.k += 1
        return token

    def _debug_expression(self) -> Special:
        t = self.t
        self.k += 1
        self.expect("(")
        while t[self.k] != ")":
            problem = expression_problem(t[self.k])
            if problem:
                raise Stop(problem, self.k)
            self.k += 1
            if t[self.k] != ")":
                self.expect(",")
        self.k += 1
        return Special({"": "DIExpression"})

    def _known(self, token: str) -> None:
        if token not in self.places:
            raise Stop(f"use of undefined metadata '{token}'", self.k)

    def alias_problem(self, kind: str, held: Any, at: int) -> str | None:
        """What is wrong with an access tag or a list of scopes, or None; each is looked at once."""
        key = (kind in SCOPES, id(held))
        if key not in self._aliasing:
            def node(x: Any) -> Any:
                found = self.node(x, at) if isinstance(x, Ref) else x
                return found if isinstance(found, tuple) else None

            check = scopes_problem if key[0] else tag_problem
            if held.__class__ is not tuple:
                return None
            self._kept.append(held)
            self._aliasing[key] = check(held, node)
        return self._aliasing[key]

    def resolved(self, x: Any, at: int) -> Any:
        """An element with the nodes that it names in place; None where one names itself. Nodes that
        each name the next twice would double: so many elements are an error."""
        self._elements = 0
        return self._resolved(x, at, ())

    def _resolved(self, x: Any, at: int, inside: tuple[Ref, ...]) -> Any:
        self._elements += 1
        if self._elements > MAX_ELEMENTS:
            raise Stop(f"metadata that stands for more than {MAX_ELEMENTS:,} elements", at)
        if isinstance(x, Ref):
            if x in inside or len(inside) > MAX_DEPTH:
                return None
            inside += (x,)
            x = self.node(x, at)
        if isinstance(x, Special):
            return None
        if isinstance(x, tuple):
            return tuple(self._resolved(y, at, inside) for y in x)
        return x

    # ------------------------------------------------------------- places

    def location(self, token: str, at: int) -> Location | None:
        """The place that `!dbg !5` stands for."""
        if token not in self._locations:
            self._locations[token] = self._location(self.node(token, at), at)
        return self._locations[token]

    def _location(self, node: Any, at: int) -> Location | None:
        if not isinstance(node, Special) or node.get("") != "DILocation":
            return None
        file = self._file(node.get("scope", ""), at)
        line = _int(node.get("line"))
        return Location(file, line, _int(node.get("column"))) if line else None

    def _file(self, scope: Any, at: int) -> int:
        for _ in range(1000):
            if str(scope) not in self.places:
                break
            node = self.node(str(scope), at)
            if not isinstance(node, Special):
                break
            if node[""] == "DIFile" or node.get("file", "") in self.places:
                if node[""] != "DIFile":
                    node = self.node(node["file"], at)
                return self._file_number(node)
            scope = node.get("scope", "")
        return self._file_number({})

    def _file_number(self, node: Any) -> int:
        known_fields: dict[str, Any] = node if isinstance(node, Special) else {}
        key = (str(known_fields.get("filename", "")), str(known_fields.get("directory", "")))
        known = self._files.get(key)
        if known is None:
            known = self._files[key] = len(self._files) + 1
            name, directory = key
            if directory and not name.startswith("/"):
                name = f"{directory.rstrip('/')}/{name}"
            self.module.debug.files.append((known, name or "<unknown>", ""))
        return known

    def loop(self, token: str, at: int) -> tuple[Any, ...]:
        """The properties of `!llvm.loop !5`: ((name, number …), …)."""
        node = self.node(token, at)
        out = []
        for x in node if isinstance(node, tuple) else ():
            held = self.node(x, at) if isinstance(x, Ref) and x != token else x
            if isinstance(held, tuple) and held and isinstance(held[0], str) and not isinstance(
                    held[0], Ref):
                out.append(tuple(_plain(p) for p in self.resolved(x, at)))
        return tuple(out)

    # -------------------------------------------------------- the module's

    def apply(self) -> dict[str, Any]:
        """Read the named metadata: mark kernels and variables; return what is kept as it is."""
        kept: dict[str, Any] = {}
        for name, (at, items) in self.lists.items():
            nodes = [self.node(token, at) for token in items]
            wrong = _shape_problem(name, nodes)
            if wrong:
                raise Stop(wrong, at)
            if name == "nvvm.annotations":
                left = [n for n in nodes if not self._annotation(n, at)]
                if left:
                    kept[name] = tuple(self.resolved(n, at) for n in left)
            elif name not in _DROPPED:
                found = (self.resolved(n, at) for n in nodes)
                values = tuple(v for v in found if v is not None)  # None: debug data, made anew
                if name == "llvm.module.flags":
                    values = tuple(v for v in values if v and "Debug Info Version" not in v)
                if values or name != "llvm.module.flags":
                    kept[name] = values
        return kept

    def _annotation(self, node: Any, at: int) -> bool:
        """Take in one annotation; False to keep it as it stands."""
        if not isinstance(node, tuple) or not node or len(node) % 2 == 0:
            return True  # of no symbol: older front ends leave such
        subject = node[0]
        pairs = [*zip(node[1::2], node[2::2], strict=True)]
        if isinstance(subject, Variable):
            marks = [k for k, _ in pairs]
            if all(k in VARIABLE_MARKS for k in marks):
                subject.attributes.update(dict.fromkeys(map(str, marks), ""))
                return True
            return False
        if not isinstance(subject, Function):
            return True
        known = [self._mark(subject, str(k), v, at) for k, v in pairs]
        return all(known)

    def _mark(self, f: Function, key: str, value: Any, at: int) -> bool:
        if key == "kernel":
            f.kind = "entry"
        elif key in LAUNCH and isinstance(value, Constant):
            directive, component = LAUNCH[key]
            sizes = list(f.directives.get(directive, ()))
            sizes += [1] * (component + 1 - len(sizes))
            sizes[component] = int(value.value)
            f.directives[directive] = tuple(sizes)
        elif key == "grid_constant":
            for x in self.resolved(value, at) or ():
                k = int(getattr(x, "value", 0)) - 1
                if 0 <= k < len(f.params):
                    f.params[k].attributes += (("nvvm.grid_constant", ""),)
        else:
            return False
        return True


_OF_NODES, _OF_NUMBERS = (3, 5, 6), (7, 8)
_REQUIRES = 3  # the behaviour of a flag that says what another has to be


def _shape_problem(name: str, nodes: list[Any]) -> str | None:
    """What is wrong with the nodes of named metadata whose shape LLVM knows."""
    seen: set[str] = set()
    for n in nodes:
        if name == "llvm.ident" and not (isinstance(n, tuple) and [*map(type, n)] == [str]):
            return "llvm.ident lists nodes of one string"
        if name != "llvm.module.flags":
            continue
        behaviour = n[0].value if isinstance(n, tuple) and n and isinstance(n[0], Constant) else 0
        if not isinstance(n, tuple) or len(n) != 3 or not isinstance(n[1], str):
            return "a module flag is a behaviour, a name and a value"
        if not 1 <= behaviour <= 8:
            return f"a module flag has a behaviour from 1 to 8, not {behaviour}"
        if behaviour in _OF_NODES and not isinstance(n[2], Ref | tuple):
            return f"a module flag of behaviour {behaviour} is a node"
        if behaviour in _OF_NUMBERS and not isinstance(n[2], Constant):
            return f"a module flag of behaviour {behaviour} is a number"
        if n[1] == "wchar_size" and not isinstance(n[2], Constant):
            return "the module flag 'wchar_size' is a number"
        if n[1] in seen:
            return f"two module flags are called '{n[1][:60]}'"
        if behaviour != _REQUIRES:
            seen.add(n[1])
    return None


def _plain(x: Any) -> Any:
    return x.value if isinstance(x, Constant) else None if isinstance(x, Value) else x


def _int(text: Any) -> int:
    return int(text) if isinstance(text, str) and text.isdigit() and len(text) < 10 else 0


def launch_attributes(f: Function, attributes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Move "nvvm.maxntid" and its like from a function's attributes to its directives."""
    left = []
    for a in attributes:
        directive = ATTRIBUTES.get(a[0]) if isinstance(a, tuple) else None
        sizes = a[1].split(",") if directive and isinstance(a[1], str) else []
        if directive and all(s.strip().isdigit() for s in sizes):
            f.directives[directive] = tuple(int(s) for s in sizes)
        elif a == ("nvvm.kernel", ""):
            f.kind = "entry"
        else:
            left.append(a)
    return tuple(left)


def kind_problem(i: Instruction, kind: str, node: Any) -> str | None:
    """Why an instruction cannot have metadata of a kind that holds `node`, or None."""
    items = node if isinstance(node, tuple) else ()
    name, word = i.form.name, kind[1:]
    if word == "tbaa":
        if name not in _ACCESSES:
            return f"{name} has no access tag"
        if name in ("load", "store") and (
            not items or not isinstance(items[0], str | tuple)  # a name, or a node: Ref is a str
        ):
            return "an access tag begins with a node, or of old with a name"
        if len(items) == 1 and type(items[0]) is str:
            return "an access tag names a type, not the root of all"
        if len(items) > 2 and not isinstance(items[2], Constant):
            return "an access tag has a number of bytes behind its types"
    elif word == "prof":
        return _weights_problem(i, items)
    elif word == "fpmath":
        number = _number(items, ty.FLOAT)
        if not isinstance(element(i.type), ty.FloatType):
            return f"fpmath is of floats, not of {i.type}"
        if number is None or number <= 0 or number >> 31:
            return "fpmath is one float above zero"
    elif not isinstance(i.type, ty.PointerType):
        return f"{word} is of pointers, not of {i.type}"
    elif word == "nonnull":
        return "nonnull has nothing to say" if items else None
    else:
        number = _number(items, ty.I64)
        if number is None:
            return f"{word} is one i64"
        if word == "align" and (number <= 0 or number & (number - 1)):
            return "an alignment is a power of two"
    return None


def _number(items: tuple[Any, ...], t: ty.Type) -> int | None:
    """The one number of a type that a node holds; of a float its pattern."""
    one = items[0] if len(items) == 1 else None
    return one.value if isinstance(one, Constant) and one.type is t else None


def _weights_problem(i: Instruction, items: tuple[Any, ...]) -> str | None:
    if not items or not isinstance(items[0], str):
        return "a profile begins with its kind"
    weights = len(items) - 1 - (len(items) > 1 and items[1] == "expected")
    if items[0] == "branch_weights" and i.form.name in ("br", "switch") and len(i.aux) > 1 and (
        weights != len(i.aux)
    ):
        return f"{weights} branch weights of {len(i.aux)} branches"
    if items[0] == "branch_weights" and not all(
            isinstance(w, Constant) for w in items[len(items) - weights:]):
        return "branch weights are numbers"
    return None
