"""The name that nvcc gives a kernel, from the one that clang gives it.

    _ZL4fillIDhEvPT_i    ==>    _Z4fillI6__halfEvPT_i

They differ in three things. A static kernel has no `L` at nvcc, for host code must find it. And
`__half` and `__nv_bfloat16`, numbers here, are classes there: `6__half` and `13__nv_bfloat16`. As
later parts of a name may refer back to a class, all such references are numbered anew.
And a template parameter does not refer back to one of a lambda's function at another depth, and
nullptr has no digit.

Method   The name is read into nested tuples, in which `Referable` marks what may be referred back
         to; printing them counts again. A name with a construct that is not read stays as it is.
Source   Itanium C++ ABI, 5.1 "External Names (a.k.a. Mangling)".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from nvir.frontend.depth import on_a_large_stack, room
from nvir.ir.errors import NvirError

_CLASSES = {"Dh": "6__half", "DF16b": "13__nv_bfloat16"}
_NUMBER = re.compile(r"\d+")
_REFERENCE = re.compile(r"S([0-9A-Z]*)_")
_PARAMETER = re.compile(r"T\d*_")
_LITERAL = re.compile(r"L([a-z]n?|Dn)\w*?E")
_UNNAMED = re.compile(r"U[tl]\d*_")
_BUILTIN = re.compile(r"[vwbcahstijlmxynofdegz]|D[dfnsuia]")
_WRAPPED = re.compile(r"r?V?K?(?=.)|")
_QUALIFIERS = re.compile(r"[rVK]*[RO]?")
_DIMENSION = re.compile(r"A\d*_")
_DISCRIMINATOR = re.compile(r"(?:_\d|__\d+_)?")
_LANES = re.compile(r"Dv\d+_")
_SHORT, _DEEPEST = 200, 15_000  # characters of a name, levels: time goes with their square
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Referable(tuple[Any, ...]):
    """A piece that later pieces of the name may refer to."""

    __slots__ = ()


class NestedName(tuple[Any, ...]):
    """A class in a namespace or another class: its `Referable`, which stands between N and E."""

    __slots__ = ()


class _Unread(Exception):
    """A construct that the reader does not know."""


def nvcc_name(name: str) -> str:
    """The name that nvcc gives a kernel that clang calls `name`."""
    if not name.startswith("_Z"):
        return name
    if len(name) <= _SHORT:
        return _renamed(name)

    def work() -> str:
        with room(min(len(name), _DEEPEST), 2):  # a frame or two for each `P`
            return _renamed(name)

    try:
        return on_a_large_stack(work)
    except RecursionError:
        raise NvirError(f"a kernel's parameters are types of more than {_DEEPEST:,} levels: "
                        f"{name[:40]}…") from None


def _renamed(name: str) -> str:
    reader = _NameReader(name[2:])
    try:
        tree = reader.encoding()
    except (_Unread, IndexError):
        return name
    return f"_Z{_text(tree, {})}" if reader.at == len(reader.s) else name


def _text(node: Any, known: dict[Referable, int]) -> str:
    """A tree as a name; `known` are the parts printed so far, in order."""
    if isinstance(node, str):
        return node
    if isinstance(node, NestedName):
        inner = _text(node[0], known)
        return inner if inner.startswith("S") and inner.endswith("_") else f"N{inner}E"
    if isinstance(node, Referable) and node in known:
        return _reference(known[node])
    text = "".join(_text(x, known) for x in node)
    if isinstance(node, Referable):
        known[node] = len(known)
    return text


def _reference(n: int) -> str:
    digits, n = "", n - 1
    while n >= 0 and (n or not digits):
        digits = _DIGITS[n % 36] + digits
        n //= 36
    return f"S{digits}_"


class _NameReader:
    """Recursive descent over a mangled name; `seen` holds what may be referred to, in order."""

    def __init__(self, s: str) -> None:
        self.s, self.at = s, 0
        self.seen: list[Any] = []
        self.lists = ""  # of template arguments in the last function's name; a letter each
        self.depth: tuple[Any, ...] = ()  # of template parameters' lists; prints as nothing

    def begins(self, text: str) -> bool:
        return self.s.startswith(text, self.at)

    def take(self, pattern: re.Pattern[str]) -> str:
        m = pattern.match(self.s, self.at)
        if m is None:
            return ""
        self.at = m.end()
        return m[0]

    def word(self, n: int) -> str:
        self.at += n
        return self.s[self.at - n : self.at]

    def note(self, *pieces: Any) -> Referable:
        made = Referable(pieces)
        self.seen.append(made)
        return made

    def rest(self, read: Callable[[], Any]) -> tuple[Any, ...]:
        """What stands up to an `E`, and that."""
        made = []
        while self.s[self.at] != "E":
            made.append(read())
        return (*made, self.word(1))

    def encoding(self) -> tuple[Any, ...]:
        """A function: its name and the types of its result and parameters."""
        outer, pieces = self.depth, [self.name(function=True)]
        self.depth = ("",) * len(self.lists)
        while self.at < len(self.s) and self.s[self.at] != "E":
            pieces.append(self.type())
        self.depth = outer
        return tuple(pieces)

    def name(self, function: bool = False) -> Any:
        if self.begins("N"):
            return self.nested(function)
        if self.begins("Z"):
            return self.note(self.local())
        plain: Any = self.reference() if self.begins("S") and not self.begins("St") else None
        if plain is None:
            plain = (self.word(2), self.unqualified()) if self.begins("St") else self.unqualified()
            if function and not self.begins("I"):
                return plain
            plain = self.note(plain)
        if not self.begins("I"):
            return plain
        pieces = (plain, self.arguments())
        self.lists = "I"
        return pieces if function else self.note(*pieces)

    def local(self) -> tuple[Any, ...]:
        """A name inside a function: `Z`, the function, `E`, the name."""
        function = (self.word(1), self.encoding(), self.word(1))
        return (*function, self.unqualified(), self.take(_DISCRIMINATOR))

    def reference(self) -> Any:
        m = _REFERENCE.match(self.s, self.at)
        if m is None:
            return self.word(2)  # an abbreviation such as `Sa`
        self.at = m.end()
        found = self.seen[int(m[1], 36) + 1 if m[1] else 0]
        if len(found) == 2 and _PARAMETER.fullmatch(str(found[0])):  # nvcc tells depths apart
            return Referable((found[0], self.depth))
        return found

    def unqualified(self) -> Any:
        """A name of one word; the `L` of one that other files do not see is left out."""
        if self.begins("L"):
            self.at += 1
        if self.begins("Ul"):
            return (self.word(2), self.rest(self.type), self.take(_NUMBER), self.word(1))
        number = self.take(_NUMBER)
        found = number + self.word(int(number)) if number else self.take(_UNNAMED)
        if found:
            return found
        if self.begins("cv"):
            return (self.word(2), self.type())
        if self.s[self.at] in "CD" or self.s[self.at : self.at + 2].islower():
            return self.word(2)  # constructors, destructors, operators
        raise _Unread

    def nested(self, function: bool) -> Any:
        self.at += 1
        head = self.take(_QUALIFIERS)
        prefix: Any = ()
        lists = ""
        while not self.begins("E"):
            if not prefix and self.begins("St"):
                prefix = self.word(2)
                continue
            if not prefix and self.begins("S"):
                prefix = self.reference()
                continue
            lists += "I" * self.begins("I")
            piece = self.arguments() if self.begins("I") else self.unqualified()
            last = function and self.begins("E")
            pieces = (prefix, piece) if prefix else (piece,)
            prefix = pieces if last else self.note(*pieces)
        self.at += 1
        self.lists = lists
        return ("N", head, prefix, "E") if function else NestedName((prefix,))

    def arguments(self) -> tuple[Any, ...]:
        return (self.word(1), *self.rest(self.argument))

    def argument(self) -> Any:
        if self.begins("L_Z") or self.begins("XadL_Z"):
            head = self.word(3 if self.begins("L") else 6)
            return (head, self.encoding(), self.word(1 if len(head) == 3 else 2))
        if self.begins("L"):
            if literal := self.take(_LITERAL):
                return literal.replace("Dn0", "Dn")
            return (self.word(1), self.type(), self.take(re.compile("n?[0-9a-f]*")),
                    self.word(1))
        if self.begins("J"):
            return (self.word(1), *self.rest(self.argument))
        return self.type()

    def type(self) -> Any:
        for spelled, made in _CLASSES.items():
            if self.begins(spelled):  # to clang's own numbers this is nothing to refer to
                self.at += len(spelled)
                return Referable((made,))
        c = self.s[self.at]
        head = self.take(_WRAPPED) or self.take(_DIMENSION) or self.take(_LANES)
        if head or c in "PRO" or self.begins("Dp"):
            head = head or self.word(2 if c == "D" else 1)
            return self.note(head, self.type())
        if c == "F":
            return self.note(self.word(1), *self.rest(self.type))
        parameter = self.take(_PARAMETER)
        if parameter:
            noted = self.note(parameter, self.depth)
            return self.note(noted, self.arguments()) if self.begins("I") else noted
        return self.take(_BUILTIN) or self.name()
