"""Names of functions as people write them: `ns::kernel<float, 32>` of a mangled one.

What stands before the parameters is read: nested names, template arguments, substitutions. A name
that has anything else stays as it is.

Source   Itanium C++ ABI, "External Names (a.k.a. Mangling)".
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

_TYPES = dict(zip("vwbcahstijlmxyfd", (
    "void", "wchar_t", "bool", "char", "signed char", "unsigned char", "short", "unsigned short",
    "int", "unsigned int", "long", "unsigned long", "long long", "unsigned long long", "float",
    "double",
), strict=True))
_AROUND = {"P": "*", "R": "&", "O": "&&", "K": " const", "V": " volatile"}
_STANDARD = {"St": "std", "Sa": "std::allocator", "Ss": "std::string"}


class _NotRead(Exception):
    """Something that the reader does not know."""


class _Mangled:
    """A reader of a mangled name, at a place in it."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 2
        self.seen: list[str] = []

    def take(self, *wanted: str) -> str:
        """What stands here of `wanted`, "" for none of it."""
        for w in wanted:
            if self.text.startswith(w, self.at):
                self.at += len(w)
                return w
        return ""

    def must(self, found: re.Match[str] | None) -> re.Match[str]:
        if found is None:
            raise _NotRead
        self.at = found.end()
        return found

    def match(self, pattern: str) -> re.Match[str]:
        return self.must(re.compile(pattern).match(self.text, self.at))

    def name(self) -> str:
        """A name with its template arguments, nested or not."""
        if not self.take("N"):
            return self.arguments(self.part(""))
        while self.take("K", "V", "r"):
            pass
        out = ""
        while not self.take("E"):
            out = self.arguments(self.part(out))
        return out

    def part(self, before: str) -> str:
        if self.text.startswith("S", self.at):
            out = self.substitution()
            return out if out != "std" or before else self.join(out, self.identifier())
        return self.join(before, self.identifier())

    def join(self, before: str, last: str) -> str:
        out = f"{before}::{last}" if before else last
        self.seen.append(out)
        return out

    def identifier(self) -> str:
        self.take("L")
        n = int(self.match(r"\d+").group())
        self.at += n
        found = self.text[self.at - n : self.at]
        if len(found) < n:
            raise _NotRead
        return "(anonymous)" if found.startswith("_GLOBAL__N") else found

    def substitution(self) -> str:
        known = self.take(*_STANDARD)
        if known:
            return _STANDARD[known]
        digits = self.match(r"S([0-9A-Z]*)_")[1]
        k = int(digits, 36) + 1 if digits else 0
        if k >= len(self.seen):
            raise _NotRead
        return self.seen[k]

    def arguments(self, name: str) -> str:
        if not self.take("I"):
            return name
        found: list[str] = []
        while not self.take("E"):
            found += self.argument()
        out = f"{name}<{', '.join(found)}>"
        self.seen.append(out)
        return out

    def argument(self) -> list[str]:
        if self.take("J"):
            pack: list[str] = []
            while not self.take("E"):
                pack += self.argument()
            return pack
        if self.take("XadL_Z", "L_Z"):
            out = "&" + self.name()
            while not self.take("EE", "E"):
                self.type()  # of the function that is an argument: what it takes
            return [out]
        if not self.take("L"):
            return [self.type()]
        kind, value = self.type(), self.match(r"(n?)(\d+)E")
        number = ("-" if value[1] else "") + value[2]
        if kind == "bool":
            return ["true" if number == "1" else "false"]
        return [number if kind in _TYPES.values() else f"({kind}){number}"]

    def type(self) -> str:
        around = self.take(*_AROUND)
        if around:
            out = self.type() + _AROUND[around]
        elif self.text.startswith("S", self.at) and not self.text.startswith("St", self.at):
            start = self.substitution()
            return self.arguments(start)
        elif self.take("T"):
            out = "T" + self.match(r"(\d*)_")[1]
        elif self.text[self.at : self.at + 1] in _TYPES:
            self.at += 1
            return _TYPES[self.text[self.at - 1]]
        else:
            return self.name()
        self.seen.append(out)
        return out


@functools.cache
def spoken(name: str) -> str:
    """The name without its parameters as C++ has it; as it is where it is not mangled."""
    if not name.startswith("_Z"):
        return name
    try:
        return _Mangled(name).name()
    except (_NotRead, ValueError, IndexError, RecursionError):
        return name


def named(wanted: str, names: Iterable[str]) -> list[str]:
    """Of the names of a module those that are meant: by the name itself, else by what C++ calls
    it, with or without namespaces and template arguments."""
    names = list(names)
    if wanted in names:
        return [wanted]
    whole = [n for n in names if spoken(n) == wanted]
    return whole or [n for n in names if wanted in _short_forms(spoken(n))]


def _short_forms(name: str) -> set[str]:
    bare = re.sub(r"<.*>", "", name)
    return {bare, bare.rsplit("::", 1)[-1], name[bare.rfind("::") + 2 if "::" in bare else 0 :]}
