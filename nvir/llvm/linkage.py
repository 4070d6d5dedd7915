"""Reading variables and aliases, and what variables and functions share: linkage, comdats.

A variable's initial value is read when all symbols are known; an alias is another token for what it
names. Source: LLVM 19's parser and verifier, for what linkages allow.
"""

from __future__ import annotations

from heapq import heappop, heappush

from nvir.ir import Argument, Constant, Function, Module, Symbol, Undef, Value, Variable
from nvir.ir.nvvm import VARIABLE_SPACES
from nvir.ir.types import I32, ArrayType, FunctionType, PointerType, Type, pointer
from nvir.llvm.grammar import FLAGS, Grammar
from nvir.llvm.lexer import END, Stop, name_in, number_of
from nvir.llvm.literals import is_zero

STARTERS = ("define", "declare", "target", "source_filename", "attributes", "module", "deplibs")
LINKAGES = frozenset((
    "private", "internal", "available_externally", "linkonce", "linkonce_odr", "weak", "weak_odr",
    "common", "appending", "extern_weak", "external",
))
# Words before a symbol's type stand in this order, one of each place.
_PLACES = {
    **dict.fromkeys(LINKAGES, 0), "dso_local": 1, "dso_preemptable": 1,
    **dict.fromkeys(("default", "hidden", "protected"), 2),
    **dict.fromkeys(("dllimport", "dllexport"), 3), "thread_local": 4,
    **dict.fromkeys(("unnamed_addr", "local_unnamed_addr"), 5), "externally_initialized": 6,
}
BEFORE_FUNCTIONS, BEHIND_SPACE = range(4), range(6, 7)
TOO_FAR = "stands too far behind: of these words there is one of each kind, in LLVM's order"
LOCAL = ("private", "internal")
_SEEN_OUTSIDE = frozenset(("hidden", "protected", "dllimport", "dllexport"))
_POINTERS = ("getelementptr", "bitcast", "addrspacecast", "inttoptr")
_CODE_MODELS = ("tiny", "small", "kernel", "medium", "large")
_KEPT = ("unnamed_addr", "externally_initialized", "thread_local")
_THREAD_MODELS = ("localdynamic", "initialexec", "localexec")
_COMDATS = ("any", "exactmatch", "largest", "nodeduplicate", "noduplicates", "samesize")


class SymbolReader(Grammar):
    """The symbols of one file; the reader of the file (reader.py) has the state."""

    module: Module
    comdats: dict[str, int]
    defined_comdats: set[str]
    aliases: dict[str, tuple[int, str]]
    initialisers: list[tuple[Variable, int]]
    bodies: list[tuple[Function, list[str], int, int]]

    weak_aliases: set[str]
    attached: list[int]

    def words(self, places: range = range(7)) -> tuple[str, set[str]]:
        """The linkage and the other words before a type, as many as may stand here."""
        linkage, least = "", places.start
        seen: set[str] = set()
        while True:
            token = self.t[self.k]
            place = _PLACES.get(token, -1)
            if place >= 0 and not (least <= place < places.stop):
                raise Stop(f"'{token}' {TOO_FAR}", self.k)
            if place < 0:
                if linkage in LOCAL and seen & _SEEN_OUTSIDE:
                    self.fail("a symbol that is seen outside, not one with local linkage")
                if {"dllimport", "dso_local"} <= seen:
                    raise Stop("a symbol is 'dllimport' or 'dso_local', not both", self.k - 1)
                return linkage, seen
            least = place + 1
            if place == 0:
                linkage = token
            elif token == "thread_local":
                self.passes_over("a thread_local variable", self.k)
                if self.t[self.k + 1] == "(":
                    if self.t[self.k + 2] not in _THREAD_MODELS:
                        self.fail("a model such as 'initialexec'", self.k + 2)
                    self.k += 3
            seen.add(token)
            self.k += 1

    def variable(self, token: str) -> None:
        at = self.k
        if len(token) == 1:
            self.fail("a name such as '@x'")
        self.k += 1
        self.expect("=")
        linkage, words = self.words()
        late = "externally_initialized" in words
        space = self.address_space() if self.t[self.k] == "addrspace" else 0
        if late and self.t[self.k - 1] == ")":
            raise Stop(f"an address space {TOO_FAR}", self.k - 1)
        words |= self.words(BEHIND_SPACE)[1]
        kind = self.t[self.k]
        if kind == "ifunc":
            at = self.k
            self.k += 1
            self.type()
            self.expect(",")
            self.unsupported("an ifunc", at)
        if kind == "alias":
            self._alias(token, linkage)
            return
        if kind not in ("global", "constant"):
            self.fail("'global' or 'constant'")
        if space not in VARIABLE_SPACES:
            raise Stop(f"there are no variables in address space {space}", at)
        self.k += 1
        type_at = self.k
        t = self.type()
        self._sized(t, type_at)
        attributes = {"constant": ""} if kind == "constant" else {}
        attributes.update({w: "" for w in _KEPT if w in words})
        v = Variable(
            symbol_name(token, self.start), VARIABLE_SPACES[space], t, linkage=linkage,
            attributes=attributes, address_type=pointer(space),
        )
        if linkage == "appending" and not isinstance(t, ArrayType):
            raise Stop("what is appended to is an array", type_at)
        if linkage == "common" and kind == "constant":
            raise Stop("a common variable is no constant", at)
        if linkage not in ("external", "extern_weak"):
            if "dllimport" in words and linkage != "available_externally":
                raise Stop("'dllimport' stands before a definition", at)
            self.initialisers.append((v, self.k))
            self.skip_constant()
        self._variable_properties(v, token)
        self.add(token, v, at)
        self.module.add_global(v)

    def _alias(self, token: str, linkage: str) -> None:
        """`@a = alias T, ptr @b`: note where the aliasee begins."""
        if linkage in ("common", "appending", "extern_weak", "external"):
            raise Stop(f"an alias is not {linkage}", self.start)
        self.k += 1
        t = self.type()
        self.expect(",")
        if token in self.symbols or token in self.aliases:
            raise Stop(f"'{token}' is defined twice", self.start)
        self._sized(pointer() if isinstance(t, FunctionType) else t, self.k)
        self.aliases[token] = self.k, linkage
        if linkage in ("weak", "linkonce"):
            self.weak_aliases.add(token)
        at = self.k
        if not isinstance(self._aliasee_type(), PointerType):
            raise Stop("an alias is a pointer", at)
        self.skip_constant()
        while self.accept(","):
            self.expect("partition")
            self.string()

    def _aliasee_type(self) -> Type:
        """The type of what an alias names; the expressions of pointers stand without one."""
        return pointer() if self.t[self.k] in _POINTERS else self.type()

    def resolve_aliases(self) -> None:
        """Let each alias stand for what it names. A function that others may call under the
        alias's name keeps it (`.alias` of PTX)."""
        known, self.aliases = self.aliases, {}
        order = {token: k for k, token in enumerate(known)}
        left = set(known)
        waiting: dict[str, list[str]] = {}  # by the alias that they are aliases of
        todo = [(0, k, token) for token, k in order.items()]  # round after round, each in order
        while todo:
            turn, k, token = heappop(todo)
            try:
                self._resolve_alias(token, *known[token])
            except Stop as e:
                if self.t[e.at] in left:  # an alias of an alias
                    waiting.setdefault(self.t[e.at], []).append(token)
                    continue
                self.stopped(e)
            left.discard(token)
            for w in waiting.pop(token, ()):
                heappush(todo, (turn + (order[w] < k), order[w], w))
        if waiting:
            first = min((w for group in waiting.values() for w in group), key=order.__getitem__)
            self.stopped(Stop(f"the alias '{first}' names itself", known[first][0]))

    def _resolve_alias(self, token: str, at: int, linkage: str) -> None:
        self.k = self.start = at
        target = self.constant(self._aliasee_type())
        for k in range(at, self.k):
            if self.t[k] in self.weak_aliases:
                raise Stop(f"an alias of '{self.t[k]}', which another definition may replace", k)
        if isinstance(target, Symbol) and self._only_declared(target):
            raise Stop(f"'{token}' is an alias of what is only declared", at)
        self.stand_ins[token] = target
        if isinstance(target, Function) and linkage not in ("internal", "private"):
            self._second_name(token, target, linkage)

    def _only_declared(self, s: Symbol) -> bool:
        if isinstance(s, Variable):
            return s.linkage in ("external", "extern_weak")
        return not any(s is f for f, *_ in self.bodies)

    def comdat(self, token: str) -> None:
        """`$name = comdat any`"""
        at = self.k
        self.k += 1
        self.expect("=")
        self.expect("comdat")
        if token in self.defined_comdats:
            raise Stop(f"the comdat '{token}' is defined twice", at)
        self.defined_comdats.add(token)
        if self.t[self.k] not in _COMDATS:
            self.fail("a kind of comdat such as 'any'")
        self.k += 1

    def of_comdat(self, symbol: str) -> None:
        """What stands behind `comdat`: a name in brackets, or nothing for `$` and the symbol's."""
        if not self.accept("("):
            self.comdats.setdefault(f"${symbol[1:]}", self.k - 1)
            return
        if self.t[self.k][:1] != "$":
            self.fail("a comdat such as '$x'")
        self.comdats.setdefault(self.t[self.k], self.k)
        self.k += 1
        self.expect(")")

    def _second_name(self, token: str, f: Function, linkage: str) -> None:
        if f.kind == "entry" or not any(f is b for b, *_ in self.bodies):
            self.unsupported("an alias of what is no function with a body", self.start)
        alias = Function(symbol_name(token, self.start), "func", self.module)
        alias.type, alias.return_type = f.type, f.return_type
        alias.linkage = linkage if linkage != "external" else ""
        for p in f.params:
            alias.params.append(Argument(p.type, None, alias, len(alias.params)))
        alias.aux = {"alias": f}
        self.module.add_function(alias)

    def skip_constant(self) -> None:
        """Pass over an initialiser: one token or word, brackets behind it."""
        token = self.t[self.k]
        if token in STARTERS or token in (",", END) or self.t[self.k + 1] == "=":
            self.fail("an initial value")
        if token in ("{", "[", "<"):
            self.skip_brackets()
            return
        self.k += 1 + (token in ("dso_local_equivalent", "no_cfi"))
        while self.t[self.k] in FLAGS or self.t[self.k] == "inrange":
            self.k += 1
            if self.t[self.k - 1] == "inrange":
                self.skip_brackets()
        if self.t[self.k] == "(":
            self.skip_brackets()

    def _variable_properties(self, v: Variable, symbol: str) -> None:
        while self.accept(","):
            token = self.t[self.k]
            self.k += 1
            if token == "align":
                v.align = self.alignment()
            elif token in ("section", "partition", "code_model"):
                text = self.string()
                if token == "section":
                    v.attributes["section"] = text
                elif token == "code_model" and text not in _CODE_MODELS:
                    self.fail("a model such as \"large\"", self.k - 1)
            elif token == "comdat":
                if v.linkage in ("external", "extern_weak"):
                    raise Stop("a comdat has definitions alone", self.k - 1)
                self.of_comdat(symbol)
            elif token[:1] == "!":
                self.attached_node()
            else:
                self.fail("a property of a variable", self.k - 1)

    def attached_node(self) -> None:
        """Pass over what stands behind `!dbg`: the number of a node, or a node."""
        token = self.t[self.k]
        if token[:1] != "!":
            self.fail("a metadata node")
        if token[1:].isdigit():
            self.attached.append(self.k)
        self.k += 1
        if not token[1:].isdigit():
            self.skip_brackets()

    def add(self, token: str, s: Symbol, at: int) -> None:
        if token in self.symbols:
            raise Stop(f"'{token}' is defined twice", at)
        self.symbols[token] = s

    def read_initialisers(self) -> None:
        for v, at in self.initialisers:
            self.k = at
            try:
                v.init = self.constant(v.value_type)
                if v.linkage == "common" and not is_zero(v.init) and not isinstance(v.init, Undef):
                    raise Stop("a common variable is zero", at)
                if v.name in ("llvm.used", "llvm.compiler.used") and not (
                    isinstance(v.value_type, ArrayType)
                    and isinstance(v.value_type.element, PointerType)
                ):
                    raise Stop(f"@{v.name} is an array of pointers", at)
                if v.name in ("llvm.used", "llvm.compiler.used") and _has_null(v.init):
                    raise Stop(f"@{v.name} names a symbol in each member", at)
                if v.name in ("llvm.global_ctors", "llvm.global_dtors") and not (
                    isinstance(v.value_type, ArrayType) and _is_constructor(v.value_type.element)
                ):
                    raise Stop(f"@{v.name} is an array of {{ i32, ptr, ptr }}", at)
            except Stop as e:
                self.stopped(e)


def _is_constructor(t: Type) -> bool:
    members: tuple[Type, ...] = getattr(t, "elements", None) or ()
    return len(members) == 3 and members[0] is I32 and all(
        isinstance(m, PointerType) for m in members[1:])


def _has_null(init: Value) -> bool:
    """Whether an array of pointers has a member that is none."""
    members = init.value if isinstance(init, Constant) else None
    return is_zero(init) or any(isinstance(m, Constant) and is_zero(m) for m in members or ())


def symbol_name(token: str, at: int) -> str:
    name = name_in(token)
    if token[1:].isdigit():
        return f"__unnamed_{number_of(name, at) + 1}"
    return name[1:] if name[:1] == "\x01" else name
