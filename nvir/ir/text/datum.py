"""The parts of nvir's own text that are smaller than a line: names, types, values, aux data.

A *datum* is whatever `aux` and the declarations hold, written without loss:

    none  true  12  "text"           None, bools, ints, strings
    (a, b)  [a, b]  {a: b}  set(a)   tuples, lists, dicts, frozensets
    i32  type [4 x i8]               a type; with `type` before a bracket or %
    i32 5  f32 undef  %x  @f         values, constants with their type
    &(generic @x+8)                  a symbol with an offset
    block L1                         a basic block
    CallInfo(0, -1, ())              a registered class, its fields in order

A class that a later level needs in `aux`, or as a value (constant expressions),
is one `register(cls)` away; the text needs no change for it.

Names are plain where they can be (`%r3`, `@tile`, `L1`) and else quoted with all but
letters, digits, `_`, `$` and `.` escaped, so that a line may be cut at its
punctuation without a look at quotes. Strings escape `"`, `\\`, `!`, `;`, `=` for the same reason.
"""

from __future__ import annotations

import functools
import re
import typing
from collections.abc import Callable
from typing import Any, Protocol

import attrs

from nvir.ir import types as ty
from nvir.ir.block import Block
from nvir.ir.errors import Unsupported
from nvir.ir.instruction import CallInfo, Location, Loose
from nvir.ir.values import Constant, SymbolOffset, Value, constant, undef

MAX_DEPTH = 64  # of nested types, constants and aux data
_NOT_IN_STRINGS = re.compile(r'["\\!;=]|[^\x20-\x7e]')
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_$.]")
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")
PLAIN_NAME = re.compile(r"[A-Za-z0-9_$]+\Z")
PLAIN_LABEL = re.compile(r"[A-Za-z0-9_$.]+\Z")

_CLASSES: dict[str, tuple[type, tuple[str, ...]]] = {}
_FIELDS: dict[type, tuple[str, ...]] = {}


def register(cls: type, fields: tuple[str, ...] | None = None) -> type:
    """Let instances of `cls` stand in aux data (or as operands, if it is a Value).

    `fields` are attribute names in the order of the constructor's parameters;
    those of an attrs class are known.
    """
    if fields is None:
        fields = tuple(a.name for a in attrs.fields(cls))
    _CLASSES[cls.__name__] = (cls, fields)
    _FIELDS[cls] = fields
    return cls


@functools.cache
def _field_tests(cls: type) -> list[Callable[[Any], bool]]:
    """What the constructor's annotations ask of each field."""
    hints = typing.get_type_hints(cls.__init__)  # type: ignore[misc]  # of this class itself
    return [_test(hints[name]) for name in _FIELDS[cls]]


def _test(hint: Any) -> Callable[[Any], bool]:
    """Whether a value is what an annotation says: a class, a tuple or a union of such."""
    parts = typing.get_args(hint)
    if hint is Any:
        return lambda x: True
    if not parts:
        return lambda x: isinstance(x, hint)
    tests = [_test(p) for p in parts if p is not ...]
    if typing.get_origin(hint) is not tuple:
        return lambda x: any(t(x) for t in tests)
    if parts[-1] is ...:
        return lambda x: isinstance(x, tuple) and all(map(tests[0], x))
    return lambda x: isinstance(x, tuple) and len(x) == len(tests) and all(
        t(y) for t, y in zip(tests, x, strict=True)
    )


def fields_of(x: object) -> tuple[str, ...] | None:
    """The field names of a registered class's instance, else None."""
    return _FIELDS.get(x.__class__)


for _cls in (CallInfo, Loose, Location):
    register(_cls)


# ------------------------------------------------------------------ writing


def _escape(m: re.Match[str]) -> str:
    n = ord(m[0])
    return f"\\x{n:02x}" if n < 256 else f"\\u{n:04x}" if n < 65536 else f"\\U{n:08x}"


def quoted(text: str) -> str:
    """A string literal."""
    return f'"{_NOT_IN_STRINGS.sub(_escape, text)}"'


def quoted_name(name: str) -> str:
    return f'"{_NOT_IN_NAMES.sub(_escape, name)}"'


def unquoted(literal: str) -> str:
    """The string that a literal with its quotes stands for. ValueError for a bad escape."""
    if "\\" not in literal:
        return literal[1:-1]
    body = _ESCAPE.sub(lambda m: chr(int(m[1] or m[2] or m[3], 16)), literal[1:-1])
    rest = _ESCAPE.sub("", literal[1:-1])
    if "\\" in rest:
        raise ValueError("a backslash that starts no escape")
    return body


def label_text(name: str) -> str:
    """A block's name, or another bare word."""
    return name if PLAIN_LABEL.match(name) else quoted_name(name)


def type_text(t: ty.Type, depth: int = 0) -> str:
    """A type's spelling; named structs by their label alone."""
    if depth > MAX_DEPTH:
        raise Unsupported(f"a type nested deeper than {MAX_DEPTH}")
    if isinstance(t, ty.StructType):
        if t.label is not None:
            return f"%{t.label}" if PLAIN_LABEL.match(t.label) else f"%{quoted_name(t.label)}"
        inner = ", ".join(type_text(e, depth + 1) for e in t.elements or ())
        return f"<{{{inner}}}>" if t.packed else f"{{{inner}}}"
    if isinstance(t, ty.ArrayType):
        return f"[{t.count} x {type_text(t.element, depth + 1)}]"
    if isinstance(t, ty.VectorType):
        return f"<{t.count} x {type_text(t.element, depth + 1)}>"
    if isinstance(t, ty.FunctionType):
        params = [type_text(p, depth + 1) for p in t.params] + ["..."] * t.variadic
        return f"{type_text(t.result, depth + 1)} ({', '.join(params)})"
    return t.name


def _typed(t: ty.Type) -> str:
    """A type where a value could stand as well."""
    text = type_text(t)
    return text if text[0].isalpha() else f"type {text}"


def constant_text(c: Constant, spell: Any, depth: int = 0) -> str:
    """A literal with its type; the commonest of `ori` need none."""
    t, value = c.type, c.value
    if t is ty.IMM and value.__class__ is int:
        return str(value)
    if t.name == "f32" and t.__class__ is ty.ScalarType:
        return f"0f{value:08X}"
    if t.name == "f64" and t.__class__ is ty.ScalarType:
        return f"0d{value:016X}"
    return f"{_typed(t)} {_literal(c, spell, depth)}"


def _literal(c: Constant, spell: Any, depth: int) -> str:
    value = c.value
    if value is None:
        return "zeroinitializer"
    if isinstance(value, bytes):
        return f'c{quoted(value.decode("latin-1"))}'
    if not isinstance(value, tuple):
        return str(int(value))
    if depth > MAX_DEPTH:
        raise Unsupported(f"a constant nested deeper than {MAX_DEPTH}")
    return f"{{{', '.join(datum_text(v, spell, depth + 1) for v in value)}}}"


def offset_text(v: SymbolOffset, spell: Any) -> str:
    lead = f"{v.mask:#x} " if v.mask else ""
    lead += "generic " if v.generic else ""
    offset = f"{v.offset:+d}" if v.offset else ""
    return f"&({lead}{spell(v.symbol)}{offset})"


def datum_text(x: Any, spell: Any, depth: int = 0) -> str:
    """Aux data as text. `spell(value)` is the text of a value with a name.

    Raises Unsupported for an object of a class that is not registered.
    """
    if x is None or x is True or x is False:
        return str(x).lower()
    if isinstance(x, int):
        return str(x)
    if isinstance(x, str):
        return quoted(x)
    if isinstance(x, Constant):
        return "imm " * (x.type is ty.IMM) + constant_text(x, spell, depth)
    if isinstance(x, Value):
        return str(spell(x))
    if isinstance(x, ty.Type):
        return _typed(x)
    if isinstance(x, Block):
        return f"block {label_text(x.name)}"
    if depth > MAX_DEPTH:
        raise Unsupported(f"aux data nested deeper than {MAX_DEPTH}")
    if isinstance(x, dict):
        pairs = (f"{datum_text(k, spell, depth + 1)}: {datum_text(v, spell, depth + 1)}"
                 for k, v in x.items())
        return f"{{{', '.join(pairs)}}}"
    names = fields_of(x)
    if names is not None:
        inner = ", ".join(datum_text(getattr(x, n), spell, depth + 1) for n in names)
        return f"{x.__class__.__name__}({inner})"
    for cls, shape in ((tuple, "({})"), (list, "[{}]"), (frozenset, "set({})"), (set, "set({})")):
        if isinstance(x, cls):
            parts = [datum_text(v, spell, depth + 1) for v in x]
            if shape[0] == "s":
                parts.sort()
            return shape.format(", ".join(parts))
    raise Unsupported(f"aux data of class {x.__class__.__name__} in nvir's own text")


# ------------------------------------------------------------------ reading


class BadDatum(Exception):
    """A line of nvir's text cannot be read at column `col` (from 0). Never leaves the parser."""

    def __init__(self, message: str, col: int) -> None:
        super().__init__(message)
        self.message, self.col = message, col


class TextScope(Protocol):
    """What names mean where a datum stands; each raises KeyError for an unknown name."""

    def value(self, token: str) -> Value: ...
    def symbol(self, token: str) -> Value: ...
    def target(self, name: str) -> Block: ...
    def named_type(self, label: str) -> ty.Type: ...


_TOKEN = re.compile(
    r"\s*(?:(?P<string>c?\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<value>%(?:[\w$]+(?:\.[\w$]+)*|\"[^\"]*\")(?:~\d+)?)"
    r"|(?P<symbol>@(?:[\w$]+|\"[^\"]*\")(?:~\d+)?)"
    r"|(?P<number>0f[0-9A-Fa-f]{8}\b|0d[0-9A-Fa-f]{16}\b|[+-]?0x[0-9a-fA-F]+|[+-]?\d+(?![\w$.]))"
    r"|(?P<word>[\w$.]+)"
    r"|(?P<punct>->|.))", re.ASCII
)
_WORDS = {"none": None, "true": True, "false": False}
_MAX_DIGITS = 4000  # of a number; Python itself refuses more than 4300


class Cursor:
    """Reads tokens and data from one line. `pos` is the offset of the next token."""

    __slots__ = ("kind", "pos", "scope", "start", "text", "token")

    def __init__(self, text: str, scope: TextScope, pos: int = 0) -> None:
        self.text, self.scope, self.pos = text, scope, pos
        self._read()

    def _read(self) -> None:
        m = _TOKEN.match(self.text, self.pos)
        if m is None:
            self.kind, self.token, self.start = "end", "", len(self.text)
            return
        self.kind = m.lastgroup or "end"
        self.token = m[self.kind]
        self.start = m.start(self.kind)
        self.pos = m.end()

    def fail(self, expected: str) -> BadDatum:
        found = f"'{self.token[:40]}'" if self.kind != "end" else "the end of the line"
        return BadDatum(f"expected {expected}, found {found}", self.start)

    def next(self) -> str:
        token = self.token
        self._read()
        return token

    def at(self, *tokens: str) -> bool:
        return self.token in tokens and self.kind != "string"

    def accept(self, token: str) -> bool:
        if self.token == token and self.kind != "string":
            self._read()
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise self.fail(f"'{token}'")

    def end(self) -> None:
        if self.kind != "end":
            raise self.fail("the end of the line")

    def word(self, what: str = "a word") -> str:
        if self.kind not in ("word", "number"):
            raise self.fail(what)
        return self.next()

    def string(self, what: str = "a string") -> str:
        if self.kind != "string" or self.token[0] != '"':
            raise self.fail(what)
        try:
            text = unquoted(self.token)
        except (ValueError, OverflowError):
            raise self.fail("a string with escapes \\xNN, \\uNNNN, \\UNNNNNNNN") from None
        self._read()
        return text

    def label(self) -> str:
        """A block's name."""
        return self.string() if self.kind == "string" else self.word("a block's name")

    def number(self, what: str = "a number") -> int:
        if self.kind != "number" or self.token[1:2] in ("f", "d"):
            raise self.fail(what)
        if len(self.token) > _MAX_DIGITS:
            raise BadDatum("the number is too long", self.start)
        token = self.next()
        return int(token, 0 if "x" in token else 10)

    # ------------------------------------------------------------ types

    def type(self, depth: int = 0) -> ty.Type:
        if depth > MAX_DEPTH:
            raise BadDatum(f"nested deeper than {MAX_DEPTH}", self.start)
        t = self._type(depth)
        while self.token == "(" and self.text[self.start - 1 : self.start] == " ":
            t = self._function_type(t, depth)
        return t

    def _type(self, depth: int) -> ty.Type:
        start = self.start
        if self.kind == "value":
            named: ty.Type = self._known(self.scope.named_type, "struct type", self.next(), start)
            return named
        if self.accept("["):
            return self._sequence(ty.array, "]", depth)
        if self.accept("{"):
            return ty.struct(self._types("}", depth))
        if self.accept("<"):
            if self.accept("{"):
                body = self._types("}", depth)
                self.expect(">")
                return ty.struct(body, packed=True)
            return self._sequence(ty.vector, ">", depth)
        if self.kind != "word":
            raise self.fail("a type")
        name = self.token
        if name == "ptr":
            self._read()
            return self._pointer()
        try:
            t = ty.parse_type(name)
        except ValueError:
            raise self.fail("a type") from None
        self._read()
        return t

    def _pointer(self) -> ty.Type:
        if not self.accept("addrspace"):
            return ty.pointer()
        self.expect("(")
        space = self.number()
        self.expect(")")
        return ty.pointer(space)

    def _sequence(self, make: Any, close: str, depth: int) -> ty.Type:
        count = self.number("a count")
        if count < 0:
            raise self.fail("a count that is not negative")
        self.expect("x")
        element = self.type(depth + 1)
        self.expect(close)
        made: ty.Type = make(element, count)
        return made

    def _types(self, close: str, depth: int) -> list[ty.Type]:
        out: list[ty.Type] = []
        while not self.accept(close):
            if out:
                self.expect(",")
            out.append(self.type(depth + 1))
        return out

    def _function_type(self, result: ty.Type, depth: int) -> ty.Type:
        self.expect("(")
        params: list[ty.Type] = []
        variadic = False
        while not self.accept(")"):
            if params or variadic:
                self.expect(",")
            if self.accept("..."):
                variadic = True
            else:
                params.append(self.type(depth + 1))
        return ty.function_type(result, params, variadic)

    # ----------------------------------------------------------- values

    def _known(self, find: Any, what: str, token: str, start: int) -> Any:
        try:
            return find(token)
        except KeyError:
            raise BadDatum(f"unknown {what} '{token[:80]}'", start) from None

    def value(self) -> Value:
        """An operand."""
        start = self.start
        x = self.datum()
        if isinstance(x, int) and not isinstance(x, bool):
            return self._immediate(x, start)
        if not isinstance(x, Value):
            raise BadDatum("expected a value", start)
        return x

    def symbol(self) -> Value:
        start = self.start
        if self.kind != "symbol":
            raise self.fail("a symbol such as @f")
        found: Value = self._known(self.scope.symbol, "symbol", self.next(), start)
        return found

    def _offset(self) -> Value:
        self.expect("(")
        mask = self.number() if self.kind == "number" else 0
        generic = self.accept("generic")
        symbol = self.symbol()
        offset = self.number() if self.kind == "number" else 0
        self.expect(")")
        return SymbolOffset(symbol, offset, generic, mask)  # type: ignore[arg-type]

    # ------------------------------------------------------------- data

    def datum(self, depth: int = 0) -> Any:
        """Any datum; see the module's docstring."""
        if depth > MAX_DEPTH:
            raise BadDatum(f"nested deeper than {MAX_DEPTH}", self.start)
        start, kind, token = self.start, self.kind, self.token
        if kind == "string":
            return self.string()
        if kind == "number":
            if token[1:2] in ("f", "d"):
                bits = int(self.next()[2:], 16)
                return constant(ty.SCALARS["f32" if token[1] == "f" else "f64"], bits)
            return self.number()
        if kind == "value":
            return self._known(self.scope.value, "value", self.next(), start)
        if kind == "symbol":
            return self.symbol()
        if kind == "punct":
            return self._bracketed(depth)
        if kind == "word":
            return self._word(depth)
        raise self.fail("a value")

    def _bracketed(self, depth: int) -> Any:
        if self.accept("("):
            return tuple(self._items(")", depth))
        if self.accept("["):
            return self._items("]", depth)
        if self.accept("&"):
            return self._offset()
        if not self.accept("{"):
            raise self.fail("a value")
        out: dict[Any, Any] = {}
        while not self.accept("}"):
            if out:
                self.expect(",")
            start = self.start
            key = self.datum(depth + 1)
            self.expect(":")
            try:
                out[key] = self.datum(depth + 1)
            except TypeError:
                raise BadDatum("this cannot be a key", start) from None
        return out

    def _items(self, close: str, depth: int) -> list[Any]:
        out: list[Any] = []
        while not self.accept(close):
            if out:
                self.expect(",")
            out.append(self.datum(depth + 1))
        return out

    def _word(self, depth: int) -> Any:
        start, word = self.start, self.token
        if word in _WORDS:
            self._read()
            return _WORDS[word]
        if word == "block":
            self._read()
            at = self.start
            return self._known(self.scope.target, "block", self.label(), at)
        if word in _CLASSES:
            return self._instance(depth)
        if word == "set":
            self._read()
            self.expect("(")
            try:
                return frozenset(self._items(")", depth))
            except TypeError:
                raise BadDatum("a set holds no lists and dicts", start) from None
        if word == "type":
            self._read()
        t = self.type(depth)
        return self._literal(t, depth)

    def _instance(self, depth: int) -> Any:
        start = self.start
        cls, names = _CLASSES[self.next()]
        self.expect("(")
        values = self._items(")", depth)
        if len(values) != len(names):
            raise BadDatum(f"{cls.__name__} has {len(names)} fields", start)
        for name, value, fits in zip(names, values, _field_tests(cls), strict=True):
            if not fits(value):
                raise BadDatum(f"no {name} of a {cls.__name__}", start)
        if issubclass(cls, Value) and any(
            isinstance(x, Value) and not x.is_constant
            for v in values for x in (v if isinstance(v, tuple) else (v,))
        ):
            raise BadDatum(f"a {cls.__name__} holds constants only", start)
        try:
            return cls(*values)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            raise BadDatum(f"no {cls.__name__} has these fields", start) from None

    def _immediate(self, n: int, start: int) -> Constant:
        if not -1 << 63 <= n < 1 << 64:
            raise BadDatum("a number without a type has 64 bits at most", start)
        return constant(ty.IMM, n)

    def _literal(self, t: ty.Type, depth: int) -> Any:
        """The constant of type `t` that follows, or `t` itself."""
        start = self.start
        if self.accept("undef"):
            if t is ty.IMM:
                raise BadDatum("expected a number, found 'undef'", start)
            return undef(t)
        if self.accept("poison"):
            from nvir.ir.nvvm_values import poison

            return poison(t)
        if self.accept("zeroinitializer") or self.accept("null"):
            return constant(t, None)
        if self.at("true", "false"):
            return constant(t, int(self.next() == "true"))
        if self.kind == "number":
            n = self.number()
            if t is ty.IMM:
                return self._immediate(n, start)
            is_float = isinstance(t, ty.FloatType) or (isinstance(t, ty.ScalarType) and t.is_float)
            if is_float and not 0 <= n < 1 << t.bits:
                raise BadDatum(f"a float is written as its {t.bits} bits", start)
            if isinstance(t, ty.IntType) and not -1 << (t.bits - 1) <= n < 1 << t.bits:
                raise BadDatum(f"a number of type {t} has {t.bits} bits", start)
            return constant(t, n)
        if self.kind == "string" and self.token[0] == "c":
            try:
                data = unquoted(self.token[1:]).encode("latin-1")
            except (ValueError, OverflowError):
                raise self.fail("bytes") from None
            self._read()
            return constant(t, data)
        if not self.accept("{"):
            return t
        items = [v if isinstance(v, Value) else None for v in self._items("}", depth)]
        if None in items:
            raise BadDatum("an aggregate holds values with their types", start)
        return constant(t, tuple(items))

