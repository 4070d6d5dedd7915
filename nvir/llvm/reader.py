"""Reading LLVM text: `.ll` of clang, Numba, Triton or libnvvm's users, typed or opaque pointers.

Method   Tokens first (lexer.py). Then three sweeps: over the top level, which makes every symbol
         and notes where initialisers, metadata and bodies begin; over attributes,
         annotations and initialisers; over bodies (body.py). Each entity and each
         line stands for itself, so all errors of a file are told at once.
Cost     Linear; about ten times what LLVM's own parser takes (benchmarks/llvm_text.py).

Read and dropped, for the meaning does not hang on it: comments, `source_filename`, preemption and
visibility words, calling conventions but `ptx_kernel`, comdats, use-list orders, summaries.
"""

from __future__ import annotations

import os
from typing import Any

from nvir.ir.bulk import bulk
from nvir.ir.document import read_file
from nvir.ir.errors import Diagnostic, ParseError, Unsupported
from nvir.ir.function import Function
from nvir.ir.module import Module
from nvir.ir.nvvm import VARIABLE_SPACES
from nvir.ir.symbols import Variable
from nvir.ir.types import FunctionType, Type, VoidType, pointer
from nvir.ir.values import Argument, Symbol
from nvir.llvm.attribute_reader import AttributeReader
from nvir.llvm.body import Body
from nvir.llvm.calls import CONVENTIONS, SILENT, convention, opaque_name
from nvir.llvm.grammar import Grammar
from nvir.llvm.lexer import END, Stop, Text, name_in
from nvir.llvm.metadata import Metadata, launch_attributes

MAX_ERRORS = 100
LINKAGES = frozenset((
    "private", "internal", "available_externally", "linkonce", "linkonce_odr", "weak", "weak_odr",
    "common", "appending", "extern_weak", "external",
))
_IGNORED = frozenset((
    "dso_local", "dso_preemptable", "default", "hidden", "protected", "dllimport", "dllexport",
    "unnamed_addr", "local_unnamed_addr", "externally_initialized", "thread_local",
))
_STARTERS = ("define", "declare", "target", "source_filename", "attributes", "module", "deplibs")


def read_ll(text_or_path: str | bytes | os.PathLike[str]) -> Module:
    """The module that LLVM text holds, of level `nvvm`.

    A path-like is a path; a string with a newline is text, another one a path; bytes are text.
    Raises ParseError with every error of the file, Unsupported for what nvir does not
    take, TypeError for other arguments.
    """
    text, file = _text_of(text_or_path)
    with bulk():
        return _Reader(Text(text, file)).read()


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


class _Reader(Grammar):
    """One file on the way to a module."""

    def __init__(self, text: Text) -> None:
        super().__init__(text)
        self.module = Module(level="nvvm")
        self.aux: dict[str, Any] = {}
        self.metadata = Metadata(self, self.module)
        self.attributes = AttributeReader(self)
        self.good: set[tuple[Any, ...]] = set()  # combinations of form and types found good
        self.errors: list[Diagnostic] = []
        self.unsupported_at: Diagnostic | None = None
        self.bodies: list[tuple[Function, list[str], int, int]] = []
        self.initialisers: list[tuple[Variable, int]] = []
        self.attributed: list[tuple[Function, tuple[Any, ...]]] = []
        self.defined: set[str] = set()

    def stopped(self, e: Stop) -> None:
        """Note an error; reading goes on."""
        d = self.text.diagnostic(e.message, e.at, e.behind)
        if e.unsupported:
            self.unsupported_at = self.unsupported_at or d
        elif len(self.errors) < MAX_ERRORS:
            self.errors.append(d)

    def read(self) -> Module:
        self._outline()
        self._attributes()
        self._initialisers()
        self._metadata()
        for f, names, start, end in self.bodies:
            body = Body(self, f)
            body.arguments(names)
            body.read(start, end)
        for token, at in self.struct_uses.items():
            if token not in self.defined and not self.errors:
                self.stopped(Stop(f"use of undefined type '{token}'", at))
        if self.errors:
            self.errors.sort(key=lambda d: d.line)
            raise ParseError(self.errors)
        if self.unsupported_at is not None:
            d = self.unsupported_at
            raise Unsupported(d.message, "nvvm", f"{d.file}:{d.line}:{d.col}")
        self.module.aux = self.aux or None
        return self.module

    # ------------------------------------------------------- the top level

    def _outline(self) -> None:
        t, count = self.t, self.text.count
        while self.k < count:
            self.start = start = self.k
            try:
                self._entity(t[start])
            except Stop as e:
                self.stopped(e)
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
            starts = token in _STARTERS or (token[:1] in "@%!$" and t[k + 1] == "=")
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
            self._variable(token)
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
            self.k += 1
            self.expect("=")
            self.expect("comdat")
            self.k += 1
        elif c == "^" or token == "uselistorder" or token == "uselistorder_bb":
            self.k = self.text.next_line(self.k)
        else:
            self.fail("a definition such as 'define' or '@x = global'")

    def _target(self) -> None:
        self.k += 1
        word = self.t[self.k]
        if word not in ("datalayout", "triple"):
            self.fail("'datalayout' or 'triple'")
        self.k += 1
        self.expect("=")
        at = self.k
        text = self.string()
        if word == "triple" and text and not text.startswith("nvptx"):
            self.unsupported(f"the target {text}", at)
        if word == "triple" and text.startswith("nvptx-"):
            self.module.address_size = 32
        self.aux[word] = text

    def _struct(self, token: str) -> None:
        at = self.k
        t = self.named(token, at)
        self.k += 1
        self.expect("=")
        self.expect("type")
        if token in self.defined:
            raise Stop(f"the type '{token}' is defined twice", at)
        self.defined.add(token)
        if self.accept("opaque"):
            return
        packed = False
        if self.t[self.k] == "<" and self.t[self.k + 1] == "{":
            packed = True
            self.k += 1
        if self.t[self.k] != "{":
            self.unsupported("a named type that is no struct")
        self.k += 1
        body = self._members(0)
        if packed:
            self.expect(">")
        if _contains(body, t):
            raise Stop(f"the type '{token}' contains itself", at)
        t.set_body(body, packed)

    def _node(self, token: str) -> None:
        """`!0 = …` and `!name = !{…}`: note where the content begins."""
        at = self.k
        self.k += 1
        self.expect("=")
        if token[1:].isdigit():
            if token in self.metadata.places:
                raise Stop(f"the metadata '{token}' is defined twice", at)
            self.metadata.places[token] = self.k
            if self.t[self.k] == "distinct":
                self.k += 1
            if self.t[self.k][:1] != "!":
                self.fail("a metadata node")
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

    # ----------------------------------------------------------- variables

    def _words(self) -> tuple[str, set[str]]:
        """The linkage and the other words before a type."""
        linkage, seen = "", set()
        while True:
            token = self.t[self.k]
            if token in LINKAGES:
                linkage = token
            elif token in _IGNORED:
                seen.add(token)
                if token == "thread_local":
                    self.unsupported("a thread_local variable")
            else:
                return linkage, seen
            self.k += 1

    def _variable(self, token: str) -> None:
        at = self.k
        self.k += 1
        self.expect("=")
        linkage, words = self._words()
        space = self.address_space() if self.t[self.k] == "addrspace" else 0
        words |= self._words()[1]
        kind = self.t[self.k]
        if kind in ("alias", "ifunc"):
            self.unsupported(f"an {kind}")
        if kind not in ("global", "constant"):
            self.fail("'global' or 'constant'")
        if space not in VARIABLE_SPACES:
            raise Stop(f"there are no variables in address space {space}", at)
        self.k += 1
        type_at = self.k
        t = self.type()
        self._sized(t, type_at)
        attributes = {"constant": ""} if kind == "constant" else {}
        attributes.update({w: "" for w in ("unnamed_addr", "externally_initialized") if w in words})
        v = Variable(
            _symbol_name(token), VARIABLE_SPACES[space], t, linkage=linkage, attributes=attributes,
            address_type=pointer(space),
        )
        if linkage not in ("external", "extern_weak"):
            self.initialisers.append((v, self.k))
            self._skip_constant()
        self._variable_properties(v)
        self._add(token, v, at)
        self.module.add_global(v)

    def _skip_constant(self) -> None:
        """Pass over an initialiser: one token or word, brackets behind it."""
        if self.t[self.k] in (",", END) or self.text.first[self.text.line_of(self.k)] == self.k:
            self.fail("an initial value")
        if self.t[self.k] in ("{", "[", "<"):
            self.skip_brackets()
            return
        self.k += 1
        while self.t[self.k] in ("inbounds", "nuw", "nusw", "nsw", "exact", "inrange"):
            self.k += 1
        if self.t[self.k] == "(":
            self.skip_brackets()

    def _variable_properties(self, v: Variable) -> None:
        while self.accept(","):
            token = self.t[self.k]
            self.k += 1
            if token == "align":
                at = self.k
                v.align = self.number()
                if not v.align or v.align & (v.align - 1) or v.align > 1 << 32:
                    raise Stop("an alignment is a power of two", at)
            elif token in ("section", "partition", "code_model"):
                text = self.string()
                if token == "section":
                    v.attributes["section"] = text
            elif token == "comdat":
                if self.t[self.k] == "(":
                    self.skip_brackets()
            elif token[:1] == "!":
                self.k += 1
            else:
                self.fail("a property of a variable", self.k - 1)

    def _add(self, token: str, s: Symbol, at: int) -> None:
        if token in self.symbols:
            raise Stop(f"'{token}' is defined twice", at)
        self.symbols[token] = s

    def _initialisers(self) -> None:
        for v, at in self.initialisers:
            self.k = at
            try:
                v.init = self.constant(v.value_type)
            except Stop as e:
                self.stopped(e)

    # ----------------------------------------------------------- functions

    def _function(self, defined: bool) -> None:
        start = self.k
        self.k += 1
        while self.t[self.k][:1] == "!":  # declare !dbg !5 …
            self.k += 2
        linkage, _ = self._words()
        kernel = False
        while self.t[self.k] in CONVENTIONS or self.t[self.k] == "cc":
            kernel |= convention(self) in ("ptx_kernel", "spir_kernel")
        returned = self.attributes.parameter(self)
        at = self.k
        result = self.type()
        if isinstance(result, FunctionType):
            raise Stop("a function does not return a function", at)
        token, at = self.t[self.k], self.k
        if token[:1] != "@":
            self.fail("a function's name")
        self.k += 1
        f = Function(opaque_name(_symbol_name(token)), "entry" if kernel else "func", self.module)
        f.type = pointer()
        f.return_type = result
        f.linkage = linkage if linkage != "external" else ""
        names, variadic = self._parameters(f)
        attributes = self._function_properties(defined)
        f.aux = {"returns": returned} if returned else {}
        if variadic:
            f.aux["variadic"] = True
        end = self._body_end() if defined else 0
        self.attributed.append((f, attributes))
        if not defined and self._declared_again(token, f):
            return
        self._add(token, f, at)
        if not defined and token.startswith(SILENT):
            return
        self.module.add_function(f)
        if defined:
            if variadic:
                self.unsupported("the body of a variadic function", start)
            self.bodies.append((f, names, self.k, end))
            self.k = end + 1

    def _declared_again(self, token: str, f: Function) -> bool:
        """Two intrinsics that opaque pointers make one are one."""
        if token in self.symbols or not f.name.startswith("llvm."):
            return False
        same = next((s for s in self.symbols.values() if s.name == f.name), None)
        if isinstance(same, Function) and [p.type for p in same.params] == [
            p.type for p in f.params
        ]:
            self.symbols[token] = same
            return True
        return False

    def _parameters(self, f: Function) -> tuple[list[str], bool]:
        names: list[str] = []
        self.expect("(")
        if self.accept(")"):
            return names, False
        while True:
            if self.accept("..."):
                self.expect(")")
                return names, True
            at = self.k
            t: Type = self.type()
            if isinstance(t, VoidType | FunctionType):
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
            else:
                names.append("")
            a = Argument(t, name, f, len(f.params))
            a.attributes = attributes
            f.params.append(a)
            if self.accept(")"):
                return names, False
            self.expect(",")

    def _function_properties(self, defined: bool) -> tuple[Any, ...]:
        out: tuple[Any, ...] = ()
        while True:
            token = self.t[self.k]
            if token in _IGNORED:
                self.k += 1
            elif token == "addrspace":
                self.address_space()
            elif token in ("section", "gc", "partition"):
                self.k += 1
                self.string()
            elif token == "comdat":
                self.k += 1
                if self.t[self.k] == "(":
                    self.skip_brackets()
            elif token == "align":
                self.k += 1
                self.number()
            elif token in ("prefix", "prologue", "personality"):
                self.unsupported(f"{token} data of a function")
            elif token[:1] == "!" and defined:
                self.k += 2
            else:
                more = self.attributes.function(self)
                out += more
                if not more and self.t[self.k] == token:
                    return out

    def _body_end(self) -> int:
        """The closing brace's token of the body whose opening one is at `k`."""
        opened = self.k
        self.expect("{")
        text, t = self.text, self.t
        line, n = text.line_of(opened), len(text.first)
        last = text.count
        for k in range(line + 1, n):
            at = text.first[k]
            if t[at] == "}" and at < (text.first[k + 1] if k + 1 < n else last):
                return at
            if t[at] in ("define", "declare") and at < last:
                break
        end = text.first[line + 1] if line + 1 < n else last
        for at in range(self.k, end):  # all on one line
            if t[at] == "}" and at == end - 1:
                return at
        raise Stop("the body is not closed: expected '}'", opened)

    def _attributes(self) -> None:
        for f, attributes in self.attributed:
            try:
                known = self.attributes.resolved(attributes)
            except Stop as e:
                self.stopped(e)
                continue
            left = launch_attributes(f, known)
            if left:
                f.aux["attributes"] = left
            for a in left:
                if isinstance(a, tuple) and a[0] == "target-cpu" and str(a[1]).startswith("sm_"):
                    self.module.target = str(a[1])
            if not f.aux:
                f.aux = None

    def _metadata(self) -> None:
        try:
            kept = self.metadata.apply()
        except Stop as e:
            self.stopped(e)
            return
        if kept:
            self.aux["metadata"] = kept


def _symbol_name(token: str) -> str:
    name = name_in(token)
    if token[1:].isdigit():
        return f"__unnamed_{int(name) + 1}"
    return name[1:] if name[:1] == "\x01" else name


def _stem(path: str) -> str:
    return path.rsplit("/", 1)[-1] or "module"


def _contains(body: list[Type], t: Type) -> bool:
    work: list[Any] = list(body)
    while work:
        x = work.pop()
        if x is t:
            return True
        work.extend(getattr(x, "elements", None) or ())
        inner = getattr(x, "element", None)
        if inner is not None:
            work.append(inner)
    return False
