"""Types and declarations in C's syntax: "const float *p", "int (*f)(int, float)", "float4 v[2]".

    parse_declaration(text, types)   (type, name); the name is "" for a type alone
    ctype(t, types)                  a type given as itself or in C's spelling
    split_parameters(text)           the parts of a text between its outermost commas

Vector types of CUDA and the fixed-width integers are known; records, enums and typedefs by the
names that `types` gives them.
"""

from __future__ import annotations

import re
from typing import Any

from nvir.frontend import tree
from nvir.ir.errors import NvirError

_TOKEN = re.compile(r"\s*(\w+|\.\.\.|&&|[*&()\[\],])")
_BASIC: dict[tuple[str, ...], tree.CType] = {
    ("void",): tree.VOID, ("char",): tree.CHAR, ("char", "signed"): tree.ARITHMETIC["signed char"],
    ("char", "unsigned"): tree.UCHAR, ("short",): tree.SHORT, ("short", "unsigned"): tree.USHORT,
    ("int",): tree.INT, ("unsigned",): tree.UINT, ("long",): tree.LONG,
    ("long", "unsigned"): tree.ULONG, ("long", "long"): tree.LONGLONG,
    ("long", "long", "unsigned"): tree.ULONGLONG, ("float",): tree.FLOAT, ("double",): tree.DOUBLE,
    ("bool",): tree.BOOL, ("half",): tree.HALF, ("__int128",): tree.INT128,
    ("__int128", "unsigned"): tree.UINT128, ("_Float16",): tree.HALF,
    ("__bf16",): tree.ARITHMETIC["__bf16"], ("bfloat16",): tree.ARITHMETIC["__bf16"],
}
_WORDS = {w for key in _BASIC for w in key} | {"signed"}
_QUALIFIERS = {"const": "const", "volatile": "volatile", "restrict": "restrict",
               "__restrict__": "restrict"}
_SPACES = {"__device__": "device", "__shared__": "shared", "__constant__": "constant"}


def ctype(t: tree.CType | str, types: dict[str, tree.CType] | None = None) -> tree.CType:
    """A type, given as itself or in C's spelling: "const float *"."""
    return t if isinstance(t, tree.CType) else parse_declaration(t, types)[0]


def split_parameters(text: str) -> list[str]:
    """The parts of a text between its outermost commas."""
    parts, depth, start = [], 0, 0
    for k, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(text[start:k])
            start = k + 1
    return [p for p in (*parts, text[start:]) if p.strip()]


def parse_declaration(
    text: str, types: dict[str, tree.CType] | None = None
) -> tuple[tree.CType, str]:
    """(type, name) of a declaration in C's syntax; the name is "" for a type alone."""
    return _Declarations(text, types or {}).read()


class _Declarations:
    """Reads one declaration: specifiers, then a declarator from the inside out."""

    def __init__(self, text: str, types: dict[str, tree.CType]) -> None:
        self.text, self.types = text, types
        self.tokens = _TOKEN.findall(text)
        if "".join(self.tokens) != re.sub(r"\s", "", text):
            raise NvirError(f"'{text}' is no declaration")
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def expect(self, token: str) -> None:
        if self.next() != token:
            raise NvirError(f"'{text_at(self.text)}': '{token}' is missing")

    def read(self) -> tuple[tree.CType, str]:
        base, space = self.specifiers()
        wrap, declared = self.declarator(space)
        if self.peek():
            raise NvirError(f"'{self.text}': '{self.peek()}' is not understood")
        return wrap(base), declared

    def specifiers(self) -> tuple[tree.CType, str]:
        words: list[str] = []
        flags: set[str] = set()
        space, found = "", None
        while True:
            token = self.peek()
            if token in _QUALIFIERS:
                flags.add(_QUALIFIERS[token])
            elif token in _SPACES:
                space = _SPACES[token]
            elif token in _WORDS and found is None:
                words.append(token)
            elif token in ("struct", "union", "enum", "class"):
                pass
            elif not words and found is None and (known := self.named(token)) is not None:
                found = known
            else:
                break
            self.at += 1
        if found is None:
            found = self.basic(words)
        return tree.qualified(found, "const" in flags, "volatile" in flags), space

    def named(self, token: str) -> tree.CType | None:
        return self.types.get(token) or tree.VECTORS.get(token) or tree.FIXED_WIDTH.get(token)

    def basic(self, words: list[str]) -> tree.CType:
        kept = [w for w in words if w != "signed" or "char" in words]
        if len(kept) > 1 or (not kept and words):
            kept = [w for w in kept if w != "int"] or ["int"]
        found = _BASIC.get(tuple(sorted(kept)))
        if found is None:
            raise NvirError(f"'{self.text}': no type is named '{' '.join(words) or self.peek()}'")
        return found

    def declarator(self, space: str) -> tuple[Any, str]:
        """A function from the base type to the declared one, and the name."""
        pointers: list[Any] = []
        while self.peek() in ("*", "&", "&&"):
            mark = self.next()
            flags = set()
            while self.peek() in _QUALIFIERS:
                flags.add(_QUALIFIERS[self.next()])
            pointers.append((mark, flags))
        inner, declared = self.direct(space)
        suffixes = self.suffixes()

        def wrap(t: tree.CType) -> tree.CType:
            for mark, flags in pointers:
                t = tree.Pointer(t, space) if mark == "*" else tree.Reference(t, mark == "&&")
                if flags:
                    t = tree.Qualified(t, *(w in flags for w in ("const", "volatile", "restrict")))
            for kind, arg in reversed(suffixes):
                t = tree.Array(t, arg) if kind == "array" else tree.FunctionType(t, *arg)
            made: tree.CType = inner(t)
            return made

        return wrap, declared

    def direct(self, space: str) -> tuple[Any, str]:
        if self.peek() == "(" and self.tokens[self.at + 1 : self.at + 2] in (["*"], ["&"]):
            self.next()
            wrap, declared = self.declarator(space)
            self.expect(")")
            return wrap, declared
        declared = self.next() if re.match(r"[A-Za-z_]", self.peek()) else ""
        return (lambda t: t), declared

    def suffixes(self) -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        while self.peek() in ("[", "("):
            if self.next() == "[":
                count = None if self.peek() == "]" else int(self.next())
                self.expect("]")
                found.append(("array", count))
            else:
                found.append(("function", self.parameters()))
        return found

    def parameters(self) -> tuple[tuple[tree.CType, ...], bool]:
        start, depth = self.at, 1
        while depth:
            token = self.next()
            if not token:
                raise NvirError(f"'{self.text}': ')' is missing")
            depth += (token == "(") - (token == ")")
        inside = " ".join(self.tokens[start : self.at - 1])
        parts = split_parameters(inside)
        variadic = bool(parts) and parts[-1].strip() == "..."
        parts = parts[:-1] if variadic else parts
        if [p.strip() for p in parts] == ["void"]:
            parts = []
        return tuple(parse_declaration(p, self.types)[0] for p in parts), variadic


def text_at(text: str) -> str:
    return text if len(text) < 60 else text[:57] + "..."
