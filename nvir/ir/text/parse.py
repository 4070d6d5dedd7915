"""Reading nvir's own text (nvir.ir.text.print has the grammar).

Method   Two passes over the lines: the first makes every symbol, so that calls and
         initialisers may name what comes later; the second reads declarations
         and bodies (nvir.ir.text.parse_body). Each line stands for itself, so an
         error costs its line, and all errors of a file are told at once.
Cost     Linear. No recursion but over brackets, which nest at most 64 deep.
"""

from __future__ import annotations

import os
import re
from typing import Any

import nvir.ir.nvvm_values  # noqa: F401  # registers its classes with datum
from nvir.ir.bulk import bulk
from nvir.ir.document import read_file
from nvir.ir.errors import Diagnostic, ParseError
from nvir.ir.function import Function
from nvir.ir.instruction import Location
from nvir.ir.module import Module
from nvir.ir.opcodes.form import load_rows
from nvir.ir.symbols import Param, Variable, address_type
from nvir.ir.text.datum import BadDatum, Cursor, unquoted
from nvir.ir.text.parse_body import BodyParser
from nvir.ir.text.properties import read_property
from nvir.ir.types import StructType, Type, VoidType, named_struct
from nvir.ir.values import Argument, Symbol, Value

MAX_ERRORS = 1000
_DECLARED = re.compile(
    r"\s*(?:(?:[\w$]+|\"[^\"]*\")\s+)?(global|param|kernel|func|struct)\s+"
    r"([@%](?:[\w$.]+|\"[^\"]*\")(?:~\d+)?)", re.ASCII
)
_KINDS = {"kernel": "entry", "func": "func"}


def parse_ir(text_or_path: str | bytes | os.PathLike[str]) -> Module:
    """The module that a text of nvir's own form holds.

    A path-like is a path; a string with a newline is text, another one a path;
    bytes are text. Raises ParseError with every error of the file, TypeError
    for other arguments.
    """
    text, file = _text_of(text_or_path)
    load_rows()
    with bulk():
        return _Reader(text, file).read()


def _text_of(x: Any) -> tuple[str, str]:
    if isinstance(x, bytes | bytearray):
        return bytes(x).decode("utf-8", "replace"), "<text>"
    if isinstance(x, str) and "\n" in x:
        return x, "<text>"
    if not isinstance(x, str | os.PathLike):
        raise TypeError(f"parse_ir takes text, bytes or a path, not {x.__class__.__name__}")
    file = os.fspath(x)
    try:
        return read_file(file).decode("utf-8", "replace"), str(file)
    except OSError as e:
        reason = e.strerror or str(e)
        raise ParseError(Diagnostic(f"cannot read the file: {reason}", str(file))) from None


def base_name(token: str) -> str:
    """The name that a token such as `@f`, `@"a\\x20b"` or `@x~2` holds."""
    token = token[1:]
    head, tilde, number = token.rpartition("~")
    if tilde and number.isdigit():
        token = head
    return unquoted(token) if token[:1] == '"' else token


class _Reader:
    """One file on the way to a module. It is the scope of module-level data."""

    def __init__(self, text: str, file: str) -> None:
        self.lines = text.split("\n")
        self.file = file
        self.errors: list[Diagnostic] = []
        self.comments = ";" in text
        self.module = Module()
        self.symbols: dict[str, Symbol] = {}
        self.structs: dict[str, StructType] = {}
        self.locations: dict[str, Location] = {}
        self.owned: dict[Function, dict[str, Value]] = {}  # what the heads declare

    # ------------------------------------------------------------ scope

    def value(self, token: str) -> Value:
        raise KeyError(token)

    def symbol(self, token: str) -> Symbol:
        return self.symbols[token]

    def target(self, name: str) -> Any:
        raise KeyError(name)

    def named_type(self, label: str) -> Type:
        return self.structs[label]

    # ------------------------------------------------------------ lines

    def line(self, k: int) -> str:
        """Line `k` (from 0) without its comment."""
        text = self.lines[k]
        if self.comments and ";" in text:
            text = text[: text.index(";")]
        return text

    def error(self, message: str, k: int, col: int) -> None:
        if len(self.errors) < MAX_ERRORS:
            source = self.lines[k] if k < len(self.lines) else ""
            self.errors.append(Diagnostic(message, self.file, k + 1, col + 1, source))

    def read(self) -> Module:
        items = self._outline()
        self._header_datum()
        for k, end, made in items:
            try:
                self._declaration(k, made)
            except BadDatum as e:
                self.error(e.message, k, e.col)
            except (TypeError, ValueError) as e:  # a struct with two bodies, an iN too wide
                self.error(str(e), k, 0)
            if isinstance(made, Function) and end > k:
                BodyParser(self, made).read(k + 1, end)
        if self.errors:
            self.errors.sort(key=lambda d: d.line)
            raise ParseError(self.errors)
        self.module.lines = self.file, self.lines
        return self.module

    def _outline(self) -> list[tuple[int, int, Any]]:
        """(line, line of the closing brace or 0, symbol) of each top-level line."""
        items: list[tuple[int, int, Any]] = []
        lines = self.lines
        k = 0
        seen_header = False
        while k < len(lines):
            text = self.line(k).strip()
            if not text:
                k += 1
                continue
            if not seen_header:
                seen_header = True
                self._header(k)
                if self.errors:  # no text of this form
                    raise ParseError(self.errors)
                k += 1
                continue
            made, is_new = self._outlined(k)
            end = 0
            if text[-1] == "{" and (made is None or made.__class__ is Function):
                end = k + 1
                while end < len(lines) and self.line(end).strip() != "}":
                    end += 1
                if end == len(lines):
                    self.error("the body is not closed: expected '}'", k, len(self.line(k)) - 1)
            if is_new or made is None:
                items.append((k, end, made))
            k = max(end, k) + 1
        if not seen_header:
            self.error("expected 'module ori' or 'module nvvm'", 0, 0)
            raise ParseError(self.errors)
        return items

    def _outlined(self, k: int) -> tuple[Any, bool]:
        """The symbol or struct that a top-level line declares, and whether it is new."""
        m = _DECLARED.match(self.line(k))
        if m is None:
            return None, True
        made: Any
        kind, token = m[1], m[2]
        known = self.structs if kind == "struct" else self.symbols
        if token in known:
            self.error(f"'{token}' is declared twice", k, m.start(2))
            return known[token], False
        try:
            name = base_name(token)
        except ValueError:
            self.error("a name with a bad escape", k, m.start(2))
            return None, True
        if kind == "struct":
            made = self.structs[token] = named_struct(name)
            return made, True
        if kind in _KINDS:
            made = self.module.add_function(Function(name, _KINDS[kind], self.module))
        else:
            cls = Param if kind == "param" else Variable
            at = address_type(self.module.address_size)
            made = (Param(name, at, address_type=at) if cls is Param else
                    Variable(name, "global", at, address_type=at))
            self.module.add_global(made)
        self.symbols[token] = made
        return made, True

    def _header(self, k: int) -> None:
        """`module LEVEL target T version M.N address_size S …`; makes the module."""
        c = Cursor(self.line(k), self)
        try:
            if not c.accept("module") or not c.at("ori", "nvvm"):
                raise c.fail("'module ori' or 'module nvvm'")
            self.module = m = Module(level=c.next())
            while c.kind != "end":
                at = c.start
                key = c.word("a property of the module")
                if key == "target":
                    m.target = c.string() if c.kind == "string" else c.word("a target")
                elif key == "version":
                    v = re.fullmatch(r"(\d{1,9})\.(\d{1,9})", c.token)
                    if v is None:
                        raise c.fail("a version such as 8.0")
                    c.next()
                    m.version = int(v[1]), int(v[2])
                elif key == "address_size":
                    m.address_size = c.number()
                    if m.address_size not in (32, 64):
                        raise BadDatum("the address size is 32 or 64", c.start)
                elif key == "name":
                    m.name = c.string()
                elif key == "aux":
                    self.header_aux = k, c.start  # it may name symbols
                    break
                else:
                    strings = read_property(c, "module", key, at)
                    setattr(m, "target_options" if key == "options" else key, strings)
        except BadDatum as e:
            self.error(e.message, k, e.col)

    header_aux: tuple[int, int] | None = None

    # ----------------------------------------------------- declarations

    def _header_datum(self) -> None:
        """The module's `aux`, once all symbols are known."""
        if self.header_aux is None:
            return
        line, col = self.header_aux
        try:
            c = Cursor(self.line(line), self, col)
            self.module.aux = read_property(c, "module", "aux", col)
            c.end()
        except BadDatum as e:
            self.error(e.message, line, e.col)

    def _declaration(self, k: int, made: Any) -> None:
        c = Cursor(self.line(k), self)
        if isinstance(made, Function):
            self.function(c, made)
        elif isinstance(made, Variable):
            self.variable(c, made)
        elif isinstance(made, StructType):
            self._struct(c, made)
        elif c.accept("file"):
            number = c.number()
            self.module.debug.files.append((number, c.string(), c.string()))
        elif c.accept("producer"):
            self.module.debug.producer = c.string()
        elif c.accept("section"):
            name = c.string()
            lines = read_property(c, "section", "lines", c.start)
            self.module.debug.sections.append((name, list(lines)))
        else:
            raise c.fail("a declaration (global, kernel, func, struct, file, producer, section)")
        c.end()

    def _struct(self, c: Cursor, t: StructType) -> None:
        c.expect("struct")
        c.next()
        if c.accept("opaque"):
            return
        packed = c.accept("packed")
        start = c.start
        body = c.type()
        if not isinstance(body, StructType) or body.label is not None:
            raise BadDatum("expected a struct's body", start)
        t.set_body(body.elements or (), packed)

    def variable(self, c: Cursor, v: Variable) -> None:
        """`LINKAGE global NAME: SPACE TYPE PROPERTIES`; the name is known already."""
        v.linkage = _linkage(c)
        is_param = c.next() == "param"
        c.next()
        c.expect(":")
        if not is_param:
            v.space = c.word("a state space")
        v.value_type = c.type()
        self._properties(c, v)

    def _properties(self, c: Cursor, v: Variable) -> None:
        while c.kind == "word":
            at, key = c.start, c.next()
            if key in ("align", "vector") or (key == "index" and isinstance(v, Param)):
                setattr(v, key, c.number())
            elif key == "address":
                v.type = c.type()
            elif key == "init":
                start = c.start
                v.init = c.datum()
                _check_initial(v.init, start)
            else:
                setattr(v, key, read_property(c, "variable", key, at))

    def function(self, c: Cursor, f: Function) -> None:
        """`LINKAGE kernel NAME(PARAMETERS) returns (…) PROPERTIES {`."""
        f.linkage = _linkage(c)
        c.next()
        c.next()
        f.params = self._parameters(c, f)
        if c.accept("returns"):
            f.returns = self._parameters(c, f)
        while c.kind == "word":
            at, key = c.start, c.next()
            if key == "returns_type":
                f.return_type = c.type()
            elif key == "address":
                f.type = c.type()
            else:
                value = read_property(c, "function", key, at)
                setattr(f, key, set(value) if key == "flags" else value)
        c.accept("{")

    def _parameters(self, c: Cursor, f: Function) -> list[Any]:
        out: list[Any] = []
        c.expect("(")
        while not c.accept(")"):
            if out:
                c.expect(",")
            out.append(self._parameter(c, f, len(out)))
        return out

    def _parameter(self, c: Cursor, f: Function, index: int) -> Any:
        if not c.accept("reg"):
            linkage = _linkage(c)
            c.expect("param")
            if c.kind != "symbol":
                raise c.fail("a symbol such as @k_param_0")
            token = c.next()
            c.expect(":")
            at = address_type(self.module.address_size)
            p = Param(_base(token, c), c.type(), index, address_type=at, linkage=linkage)
            self._properties(c, p)
            self.owned.setdefault(f, {})[token] = p
            return p
        if c.kind != "value":
            raise c.fail("a register such as %a")
        token = c.next()
        c.expect(":")
        t = c.type()
        if isinstance(t, VoidType):
            raise c.fail("the type of a register")
        a = Argument(t, hint(token, self.module.level), f, index)
        while c.kind == "word":
            start, key = c.start, c.next()
            if key == "index":
                a.index = c.number()
            else:
                setattr(a, key, read_property(c, "register", key, start))
        self.owned.setdefault(f, {})[token] = a
        return a


def _base(token: str, c: Cursor) -> str:
    try:
        return base_name(token)
    except ValueError:
        raise BadDatum("a name with a bad escape", c.start) from None


def hint(token: str, level: str) -> str | None:
    """The name hint that a value's token stands for; None for a bare number."""
    name = base_name(token)
    if token[1:2] == '"' or level == "nvvm":
        return None if name.isdigit() and token[1:2] != '"' else name
    return None if name.isdigit() else f"%{name}"


def _check_initial(value: Any, at: int) -> None:
    """Raises BadDatum unless it is a constant or an address, or a tuple of such, of any depth."""
    if isinstance(value, tuple):
        for x in value:
            _check_initial(x, at)
    elif not isinstance(value, Value):
        raise BadDatum(f"{value} is no initial value: constants and addresses are", at)


def _linkage(c: Cursor) -> str:
    if c.kind == "string":
        return c.string()
    return "" if c.at("global", "param", "kernel", "func") else c.word("a declaration")
