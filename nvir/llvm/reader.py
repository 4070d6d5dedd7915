"""Reading LLVM text: `.ll` of clang, Numba, Triton or libnvvm's users, typed or opaque pointers.

Method   Tokens first (lexer.py). Then three sweeps: over the top level, which makes every symbol
         and notes where initialisers, metadata and bodies begin; over attributes,
         annotations and initialisers; over bodies (body.py). Each entity and each
         line stands for itself, so all errors of a file are told at once.
         What nvir does not take is passed over, and named if nothing else is wrong.
Cost     Linear; about seven times what LLVM's own parser takes (benchmarks/llvm_text.py).

Taken although LLVM 19 refuses them: decimals of seven digits and an exponent that are not exact in
their type, rounded to the nearest: LLVM 24 writes `float -3.236090e-03` so, and has words such as
`+qnan` and `f0x…`. `float 0.1` is refused.

Read and dropped, for the meaning does not hang on it: comments, `source_filename`, preemption and
visibility words, calling conventions but `ptx_kernel`, comdats, use-list orders, summaries.
"""

from __future__ import annotations

import os
from typing import Any

from nvir.ir import (
    Argument,
    Diagnostic,
    Function,
    Instruction,
    Module,
    ParseError,
    Unsupported,
    Value,
    Variable,
    bulk,
)
from nvir.ir.document import read_file
from nvir.ir.function import are_sizes
from nvir.ir.types import (
    LABEL,
    METADATA,
    TOKEN,
    VOID,
    FunctionType,
    IntType,
    StructType,
    Type,
    pointer,
    types_in,
)
from nvir.llvm.attribute_reader import AttributeReader
from nvir.llvm.attributes import OF_TYPE, ONCE, function_problem, has
from nvir.llvm.body import GOOD, DefinitionReader
from nvir.llvm.calls import SILENT, convention, opaque_name
from nvir.llvm.datalayout import layout_problem, pointer_bits
from nvir.llvm.expand.signatures import lone_problem
from nvir.llvm.expand.upgrade import upgrade_declaration
from nvir.llvm.grammar import NOT_TAKEN, UNSIZED, opaque_in
from nvir.llvm.lexer import Stop, Text, name_in, number_of
from nvir.llvm.linkage import BEFORE_FUNCTIONS, STARTERS, TOO_FAR, SymbolReader, symbol_name
from nvir.llvm.metadata import Metadata, launch_attributes
from nvir.llvm.stand_ins import is_own, restore
from nvir.llvm.variadic import lower_variadics

MAX_ERRORS = 100
_NOT_DECLARED = ("private", "internal", "available_externally", "linkonce", "linkonce_odr", "weak",
                 "weak_odr", "common", "appending")
# What stands behind a function's parameters, in this order.
_BEHIND = {
    "unnamed_addr": 0, "local_unnamed_addr": 0, "addrspace": 1, "section": 3, "partition": 4,
    "comdat": 5, "align": 6, "gc": 7, "prefix": 8, "prologue": 8, "personality": 8,
}
_ATTRIBUTES, _METADATA = 2, 9
_SUMMARIES = ("module", "gv", "typeid", "typeidCompatibleVTable", "flags", "blockcount")
_PLACED = frozenset((*ONCE, "inalloca", "immarg", "elementtype"))
_NOT_DEFINED = ("extern_weak", "common", "appending")


def read_ll(text_or_path: str | bytes | os.PathLike[str]) -> Module:
    """The module that LLVM text holds, of level `nvvm`.

    A path-like is a path; a string with a newline is text, another one a path; bytes are text.
    Raises ParseError with every error of the file, Unsupported where its only fault is what nvir
    does not take, TypeError for other arguments.
    """
    text, file = _text_of(text_or_path)
    with bulk():
        reader = _ModuleReader(Text(text, file), is_own(text))
        try:
            return reader.read()
        finally:
            vars(reader).clear()  # its parts name it: a circle, which only the collector would find


def _text_of(x: Any) -> tuple[str, str]:
    if isinstance(x, bytes | bytearray):
        data, file = bytes(x), "<text>"
    elif isinstance(x, str) and "\n" in x:
        return x, "<text>"
    elif isinstance(x, str | os.PathLike):
        file = str(os.fspath(x))
        try:
            data = read_file(file)
        except OSError as e:
            reason = e.strerror or str(e)
            raise ParseError(Diagnostic(f"cannot read the file: {reason}", file)) from None
    else:
        raise TypeError(f"read_ll takes text, bytes or a path, not {x.__class__.__name__}")
    if data[:4] in (b"BC\xc0\xde", b"\xde\xc0\x17\x0b"):
        raise ParseError(Diagnostic("this is bitcode; llvm-dis makes text of it", file))
    return data.decode("utf-8", "surrogateescape"), file


class _ModuleReader(SymbolReader):
    """One file on the way to a module."""

    def __init__(self, text: Text, is_own: bool = False) -> None:
        super().__init__(text)
        self.is_own = is_own  # as nvir printed it
        self.module = Module(level="nvvm")
        self.aux: dict[str, Any] = {}
        self.metadata = Metadata(self, self.module)
        self.attributes = AttributeReader(self)
        self.literals: dict[tuple[Type, str], Value] = {}  # integers of this file by their tokens
        self.good = set(GOOD)  # combinations of form and types found good
        self.errors: list[Diagnostic] = []
        self.unsupported_at: Diagnostic | None = None
        self.not_taken = {*NOT_TAKEN, "vscale"}  # words and names of what nvir does not take
        self.aliases: dict[str, tuple[int, str]] = {}
        self.weak_aliases: set[str] = set()
        self.attached: list[int] = []  # nodes at symbols
        self.conventions: dict[Function, str] = {}  # but for C's
        self.unnamed: set[Function] = set()  # functions with unnamed_addr
        self.comdats: dict[str, int] = {}
        self.defined_comdats: set[str] = set()
        self.bodies: list[tuple[Function, list[str], int, int]] = []
        self.initialisers: list[tuple[Variable, int]] = []
        self.attributed: list[tuple[Function, tuple[Any, ...]]] = []
        self.places: dict[Function, int] = {}  # of functions' names
        self.defined: set[str] = set()
        self.by_types: set[Function] = set()  # intrinsics whose calls their types decide
        self.intrinsics: dict[str, Function] = {}  # declared ones by their names
        self.by_pointer: dict[Instruction, int] = {}  # variadic calls: named arguments
        self.expanded: set[str] = set()  # intrinsics that are other code now, of some calls
        self.kept: set[str] = set()  # and those of which a call stays

    def stopped(self, e: Stop) -> None:
        """Note an error; reading goes on."""
        d = self.text.diagnostic(e.message, e.at, e.behind)
        if e.unsupported:
            self.unsupported_at = self.unsupported_at or d
        elif len(self.errors) < MAX_ERRORS:
            self.errors.append(d)

    def read(self) -> Module:
        self._names()
        self._outline()
        self.resolve_aliases()
        self._attributes()
        self.read_initialisers()
        self._metadata()
        for f, names, start, end in self.bodies:
            body = DefinitionReader(self, f)
            body.arguments(names)
            body.read(start, end)
        if not self.errors:
            try:
                lower_variadics(self.module, self.by_pointer,
                                lambda i: self.text.first[i.line - 1])
            except Stop as e:
                self.stopped(e)
        self._drop_what_follows()
        for token, at in self.struct_uses.items():
            if token not in self.defined and not self.errors:
                self.stopped(Stop(f"use of undefined type '{token}'", at))
        for at in self.attached:
            if self.t[at] not in self.metadata.places:
                self.stopped(Stop(f"use of undefined metadata '{self.t[at]}'", at))
        for f, token, at in self.told_blocks:
            name = name_in(token)
            if not any(b.name == (f"bb{name}" if name.isdigit() else name) for b in f.blocks):
                self.stopped(Stop(f"@{f.name} has no block '{token}'", at))
        for token, at in self.comdats.items():
            if token not in self.defined_comdats:
                self.stopped(Stop(f"use of undefined comdat '{token}'", at))
        d = self.unsupported_at
        self._drop_what_follows()
        if self.errors:
            raise ParseError(sorted(self.errors, key=lambda d: d.line))
        if d is not None:
            raise Unsupported(d.message, place=d)
        for f in [f for f in self.module.functions if f.name in self.expanded - self.kept]:
            self.module.functions.remove(f)
            self.module.order.remove(f)
        self.module.aux = self.aux or None
        if self.is_own:
            restore(self.module, read_ll)
        self.module.lines = self.text.file, self.text.lines
        return self.module

    def _drop_what_follows(self) -> None:
        """Drop errors that may follow from what nvir does not take: their lines name it."""
        if self.unsupported_at is None:
            return
        first, t = self.text.first, self.t
        lost = {s for token, s in self.structs.items() if token in self.not_taken}
        names = self.not_taken.union(
            token for token, s in self.structs.items() if lost.intersection(types_in([s])))
        self.errors = [d for d in self.errors if t[first[d.line - 1]] == "target"
                       or names.isdisjoint(t[first[d.line - 1] : first[d.line]])]

    def _names(self) -> None:
        """Hold names to have no NUL."""
        text = self.text
        for line in text.zeros:
            for k in range(text.first[line], text.first[line + 1]):
                token = self.t[k]
                if "\\00" in token and (token[0] in "%@$" or token[-1] == ":"):
                    self.stopped(Stop("a name has no NUL in it", k))

    # ------------------------------------------------------- the top level

    def _outline(self) -> None:
        t, count = self.t, self.text.count
        while self.k < count:
            self.start = start = self.k
            try:
                self._entity(t[start])
            except Stop as e:
                self.stopped(e)
                if e.unsupported:
                    line = t[start : self.text.next_line(start)]
                    self.not_taken.update([x for x in line if x[0] == "@"][:1] or line[:1])
                self._resume(max(e.at - e.behind, start), start)

    def _resume(self, at: int, start: int) -> None:
        """Go on at the next line that begins an entity, behind the body of a broken function."""
        text, t = self.text, self.t
        inside = t[start] == "define"
        line, n = text.line_of(at) + 1, len(text.first)
        while line < n:
            k = text.first[line]
            token = t[k]
            if inside and token == "}":
                self.k = k + 1
                return
            starts = token in STARTERS or (token[:1] in "@%!$" and t[k + 1] == "=")
            if starts and not (inside and token[:1] == "%"):
                self.k = k
                return
            line += 1
        self.k = text.count

    def _entity(self, token: str) -> None:
        c = token[:1]
        if token == "define" or token == "declare":
            self._function(token == "define")
        elif c == "@":
            self.variable(token)
        elif c == "!":
            self._node(token)
        elif c == "%":
            self._struct(token)
        elif token == "attributes":
            self.attributes.group()
        elif token == "target":
            self._target()
        elif token == "source_filename":
            self.k += 1
            self.expect("=")
            self.module.name = _stem(self.string())
        elif token == "module":
            self.k += 1
            self.expect("asm")
            self.aux["asm"] = self.aux.get("asm", "") + self.string() + "\n"
        elif c == "$":
            self.comdat(token)
        elif token == "uselistorder":
            self.use_list_order()
        elif token == "uselistorder_bb":
            self._block_order()
        elif c == "^":
            self._summary()
        else:
            self.fail("a definition such as 'define' or '@x = global'")

    def _block_order(self) -> None:
        """`uselistorder_bb @f, %b, { 1, 0 }`"""
        self.k += 1
        token, at = self.t[self.k], self.k
        f = next((f for f, *_ in self.bodies if f is self.symbols.get(token)), None)
        if f is None:
            raise Stop(f"'{token[:60]}' is no function with a body before this", at)
        self.k += 1
        self.expect(",")
        if self.t[self.k][:1] != "%":
            self.fail("a label")
        self.told_blocks.append((f, self.t[self.k], self.k))
        self.k += 1
        self.order_indices()

    def _summary(self) -> None:
        """Pass over `^0 = module: (…)`, `^1 = flags: 8`."""
        self.k += 1 + (self.t[self.k] == "^")
        self.expect("=")
        word = self.t[self.k].removesuffix(":")
        if word not in _SUMMARIES:
            self.fail("'module' or its like")
        self.k += 1
        if self.t[self.k - 1][-1:] != ":":
            self.expect(":")
        if word in ("flags", "blockcount"):
            self.number()
        elif self.t[self.k] == "(":
            self.skip_brackets()
        else:
            self.fail("'('")

    def _target(self) -> None:
        self.k += 1
        word = self.t[self.k]
        if word not in ("datalayout", "triple"):
            self.fail("'datalayout' or 'triple'")
        self.k += 1
        self.expect("=")
        at = self.k
        text = self.string()
        wrong = layout_problem(text) if word == "datalayout" else None
        if wrong:
            raise Stop(wrong, at)
        if word == "triple" and text and not text.startswith("nvptx"):
            self.passes_over(f"the target {text}", at)
        if text.startswith("nvptx-") if word == "triple" else pointer_bits(text) == 32:
            self.passes_over("a 32-bit target, for ptxas takes 64-bit addresses alone", at)
        self.aux[word] = text

    def _struct(self, token: str) -> None:
        at = self.k
        self.k += 1
        self.expect("=")
        self.expect("type")
        if token in self.defined:
            raise Stop(f"the type '{token}' is defined twice", at)
        self.defined.add(token)
        packed = self.t[self.k] == "<" and self.t[self.k + 1] == "{"
        if not packed and self.t[self.k] not in ("{", "opaque"):  # another name of a type
            if token in self.structs:
                raise Stop(f"'{token}' is used before it is defined, and is no struct", at)
            self.structs[token] = self.type()
            return
        t = self.named(token, at)
        assert isinstance(t, StructType)
        if self.accept("opaque"):
            return
        self.k += 1 + packed
        body = self._members(0)
        if packed:
            self.expect(">")
        if t not in types_in(body):  # what contains itself has no size: as good as opaque
            t.set_body(body, packed)

    def _node(self, token: str) -> None:
        """`!0 = …` and `!name = !{…}`: note where the content begins."""
        at = self.k
        self.k += 1
        self.expect("=")
        if token[1:].isdigit():
            if token in self.metadata.places:
                raise Stop(f"the metadata '{token}' is defined twice", at)
            place = self.k
            if self.t[self.k] == "distinct":
                self.k += 1
            if self.t[self.k][:1] != "!":
                self.fail("a metadata node")
            self.metadata.places[token] = place
            self.k += 1
            self.skip_brackets()
            return
        if len(token) < 2:
            self.fail("the name of metadata", at)
        self.expect("!")
        self.expect("{")
        items: list[str] = []
        while not self.accept("}"):
            if items:
                self.expect(",")
            if self.t[self.k][:3] == "!DI":  # !DIExpression() stands for itself
                self.k += 1
                self.skip_brackets()
                continue
            if self.t[self.k][1:].isdigit():
                items.append(self.t[self.k])
            else:
                self.fail("a node such as '!0'")
            self.k += 1
        self.metadata.lists[token[1:]] = (at, items)

    # ----------------------------------------------------------- functions

    def _function(self, defined: bool) -> None:
        self.k += 1
        while self.t[self.k][:1] == "!":  # declare !dbg !5 …
            self.k += 2
        at = self.k
        linkage, words = self.words(BEFORE_FUNCTIONS)
        if linkage and linkage in (_NOT_DEFINED if defined else _NOT_DECLARED):
            raise Stop(f"no function is {linkage} and {'defined' if defined else 'declared'}", at)
        if defined and "dllimport" in words and linkage != "available_externally":
            raise Stop("'dllimport' stands before a definition", at)
        fixed = self.t[self.k] in ("fastcc", "coldcc", "ptx_device")
        called = convention(self)
        kernel = called in ("ptx_kernel", "spir_kernel")
        returned = self.attributes.parameter(self)
        at = self.k
        result = self.type()
        nothing = result in (LABEL, METADATA, TOKEN) and self.t[self.k][:6] != "@llvm."
        if nothing or isinstance(result, FunctionType):
            raise Stop(f"a function does not return a {result}", at)
        if returned:
            self.attributes.of_type(returned, result, at, result=True)
        token, at = self.t[self.k], self.k
        if token[:1] != "@":
            self.fail("a function's name")
        if defined and token.startswith("@llvm."):
            raise Stop("an intrinsic is declared, not defined", at)
        self.k += 1
        name = opaque_name(symbol_name(token, at))
        f = Function(name, "entry" if kernel else "func", self.module)
        f.type = pointer()
        f.return_type = result
        f.linkage = linkage if linkage != "external" else ""
        names, variadic = self._parameters(f)
        if f.name.startswith("llvm."):
            upgrade_declaration(f)
            if f.arguments and (wrong := lone_problem(f)):
                raise Stop(f"a declaration of {f.name} {wrong}", at)
        behind = self.k
        attributes, section = self._function_properties(defined, token)
        if "unnamed_addr" in self.t[behind : self.k]:
            self.unnamed.add(f)
        f.aux = {"returns": returned} if returned else {}
        if section:
            f.aux["section"] = section
        if called:
            self.conventions[f] = called
        if called == "spir_kernel" and (result is not VOID or any(
                has(p.attributes, "sret") for p in f.params)):
            raise Stop("a spir_kernel has no result, and no parameter 'sret'", at)
        if variadic:
            if kernel or fixed:
                raise Stop("a kernel has a fixed number of parameters" if kernel else
                           "such a function has a fixed number of parameters", at)
            f.aux["variadic"] = True
        if any(p.attributes for p in f.params):
            wrong = self._parameter_places(f)
            if wrong:
                raise Stop(wrong, at)
        end = self._body_end() if defined else 0
        self.attributed.append((f, attributes))
        self.places[f] = at
        if not defined and self._declared_again(token, f):
            return
        self.add(token, f, at)
        if not defined and token.startswith(SILENT):
            return
        self.module.add_function(f)
        if defined:
            self.bodies.append((f, names, self.k, end))
            self.k = end + 1

    def _declared_again(self, token: str, f: Function) -> bool:
        """Two intrinsics that opaque pointers make one are one."""
        if token in self.symbols or not f.name.startswith("llvm."):
            return False
        same = self.intrinsics.setdefault(f.name, f)
        if same is not f and [p.type for p in same.params] == [p.type for p in f.params]:
            self.symbols[token] = same
            return True
        return False

    def _parameters(self, f: Function) -> tuple[list[str], bool]:
        names: list[str] = []
        number = 0  # of the next parameter without a name
        self.expect("(")
        if self.accept(")"):
            return names, False
        while True:
            if self.accept("..."):
                self.expect(")")
                return names, True
            at = self.k
            t: Type = self.type()
            if (t in UNSIZED or isinstance(t, FunctionType)) and not (
                (t is METADATA or t is TOKEN) and f.name.startswith("llvm.")
            ):
                raise Stop(f"a parameter of type {t}", at)
            attributes = self.attributes.parameter(self)
            token = self.t[self.k]
            name = None
            if token[:1] == "%":
                self.k += 1
                if token in names:
                    raise Stop(f"'{token}' is defined twice", self.k - 1)
                names.append(token)
                name = None if token[1:].isdigit() else name_in(token)
                if name is None:
                    given = number_of(token[1:], self.k - 1)
                    if given < number:
                        raise Stop(f"expected the number %{number} or a greater one", self.k - 1)
                    number = given + 1
            else:
                names.append("")
                number += 1
            a = Argument(t, name, f, len(f.params))
            a.attributes = attributes
            if attributes:
                self.attributes.of_type(attributes, t, at)
            f.params.append(a)
            if self.accept(")"):
                return names, False
            self.expect(",")

    def _parameter_places(self, f: Function) -> str | None:
        """What is wrong with attributes that only some parameters can have."""
        named = {a[0] if isinstance(a, tuple) else a for p in f.arguments for a in p.attributes}
        if named.isdisjoint(_PLACED):
            return None
        for word in ONCE:
            holders = [a for a in f.arguments if has(a.attributes, word)]
            if len(holders) > 1:
                return f"two parameters are '{word}'"
            if holders and word == "returned" and holders[0].type is not f.return_type:
                return f"a {holders[0].type} is returned as {f.return_type}"
        if any(has(a.attributes, "inalloca") for a in f.arguments[:-1]):
            return "'inalloca' stands on the last parameter"
        if not f.name.startswith("llvm."):
            for word in ("immarg", "elementtype"):
                if any(has(a.attributes, word) for a in f.arguments):
                    return f"'{word}' is of intrinsics"
        if any(has(a.attributes, "sret") for a in f.arguments[2:]):
            return "sret stands on the first or the second parameter"
        if f.return_type is not VOID and any(has(a.attributes, "sret") for a in f.arguments):
            return f"a function with an sret parameter returns nothing, no {f.return_type}"
        return None

    def _function_properties(self, defined: bool, symbol: str) -> tuple[tuple[Any, ...], str]:
        """What stands behind the parameters, each in its place: attributes, the section."""
        out: tuple[Any, ...] = ()
        section, place = "", -1
        while True:
            token, at = self.t[self.k], self.k
            here = _BEHIND.get(token, _METADATA if token[:1] == "!" and defined else _ATTRIBUTES)
            if token == "align" and place <= _ATTRIBUTES:
                here = _ATTRIBUTES
            if here == _ATTRIBUTES and token != "align":
                more = self.attributes.function(self)
                out += more
                if not more and self.t[self.k] == token:
                    return out, section
            else:
                self.k += 1
            if here < place or (here == place and here not in (_ATTRIBUTES, _METADATA)):
                raise Stop(f"'{token[:60]}' {TOO_FAR}", at)
            place = here
            if token == "addrspace":
                self.k -= 1
                self.address_space()
            elif token in ("section", "gc", "partition"):
                text = self.string()
                section = text if token == "section" else section
            elif token == "comdat":
                if not defined:
                    raise Stop("a comdat has definitions alone", at)
                self.of_comdat(symbol)
            elif token == "align":
                self.alignment()
            elif token in ("prefix", "prologue", "personality"):
                self.passes_over(f"{token} data of a function", at)
                self.type()
                self.skip_constant()
            elif here == _METADATA:
                self.attached_node()

    def _body_end(self) -> int:
        """The closing brace's token of the body whose opening one is at `k`."""
        opened = self.k
        self.expect("{")
        end = self.text.closing(opened)
        if end < 0:
            raise Stop("the body is not closed: expected '}'", opened)
        return end

    def _attributes(self) -> None:
        """Give functions their attributes; those of one group are looked at once."""
        seen: dict[Any, tuple[tuple[Any, ...], str | None, bool]] = {}
        for f, attributes in self.attributed:
            key = (attributes, len(f.params))
            if key not in seen:
                known = self.attributes.resolved(attributes)
                for a in known:
                    if isinstance(a, tuple) and a[0] == "target-cpu" and str(a[1])[:3] == "sm_":
                        self.module.target = str(a[1])
                seen[key] = (known, function_problem(known, len(f.params)) if known else None,
                             any(isinstance(a, tuple) and a[0][:5] == "nvvm." for a in known))
            known, wrong, launches = seen[key]
            wrong = wrong or self._unsized(f) or (known and self._own_problem(f, known)) or None
            if wrong:
                self.stopped(Stop(wrong, self.places[f]))
            left = launch_attributes(f, known) if launches else known
            if left:
                f.aux["attributes"] = left
            if not f.aux:
                f.aux = None

    def _own_problem(self, f: Function, known: tuple[Any, ...]) -> str | None:
        """Why this function cannot have attributes that others can, or None."""
        if "jumptable" in known and f not in self.unnamed:
            return "'jumptable' goes with 'unnamed_addr'"
        sizes = next((a[1] for a in known if isinstance(a, tuple) and a[0] == "allocsize"), "")
        for n in sizes.split(", ") if sizes else ():
            if not isinstance(f.params[int(n)].type, IntType):
                return f"allocsize names parameter {n}, which is no integer"
        return None

    def _unsized(self, f: Function) -> str | None:
        """What lies in memory for a parameter has a size, or None."""
        for p in f.arguments:
            for a in p.attributes:
                if isinstance(a, tuple) and a[0] in OF_TYPE and opaque_in(a[1]) is not None:
                    return f"{a[0]} of {a[1]}, whose size is not known"
        return None

    def _metadata(self) -> None:
        try:
            kept = self.metadata.apply()
        except Stop as e:
            self.stopped(e)
            return
        if kept:
            self.aux["metadata"] = kept
        self.metadata.check(self.stopped)
        for f in self.module.functions:
            for name, numbers in f.directives.items():
                if not are_sizes(numbers):
                    self.stopped(Stop(f"{name} takes numbers of 32 bits", self.places[f]))
        emission = self.metadata.emission()
        if emission:
            self.aux["emission"] = emission


def _stem(path: str) -> str:
    return path.rsplit("/", 1)[-1] or "module"
