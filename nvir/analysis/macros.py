"""Macros of C++ with loops in them, put in where they are used; and constants by name.

The line information has a loop of a macro at the line where the macro is used. So its uses are
replaced in the text, each by one line, and `straight.statements` finds the loops there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import attrs

_DEFINE = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^)\n]*\))?[ \t]*((?:[^\n\\]|\\.|\\\n)*)", re.M)
_LOOP = re.compile(r"\b(?:for|while|do)\b")
_CONSTANT = re.compile(r"\bconst(?:expr)?\s+(?:\w+\s+)*?(\w+)\s*=\s*(\d+)\s*;")
_WORD = re.compile(r"[A-Za-z_]\w*")
_DEPTH = 4  # of macros in macros


@attrs.frozen
class Macros:
    """Of several texts: the macros that have loops, parameters and body by name, and the names of
    integers. A name that means two things in them is in neither."""

    loops: Mapping[str, tuple[tuple[str, ...] | None, str]]
    constants: Mapping[str, str]

    def put_in(self, text: str) -> str:
        """The text with the uses of macros replaced and their definitions left out; its lines stay
        in their places."""
        text = _DEFINE.sub(lambda m: "\n" * m[0].count("\n"), text)
        if not self.loops:
            return text
        names = re.compile(rf"\b(?:{'|'.join(map(re.escape, self.loops))})\b")
        for _ in range(_DEPTH):
            out, at = [], 0
            for m in names.finditer(text):
                use = self._use(text, m) if m.start() >= at else None
                if use is not None:
                    out += [text[at:m.start()], use[0]]
                    at = use[1]
            if not at:
                break
            text = "".join(out) + text[at:]
        return text

    def _use(self, text: str, m: re.Match[str]) -> tuple[str, int] | None:
        """What a use stands for, on one line with the line breaks behind it, and where it ends."""
        parameters, body = self.loops[m[0]]
        if parameters is None:
            return body, m.end()
        found = _arguments(text, m.end())
        if found is None or len(found[0]) < len(parameters):
            return None
        given, end = found
        if parameters and parameters[-1] == "...":
            n = len(parameters) - 1
            given = [*given[:n], ",".join(given[n:])]
        names = [("__VA_ARGS__" if p == "..." else p) for p in parameters]
        by_name = dict(zip(names, (" ".join(x.split()) for x in given), strict=False))
        said = _WORD.sub(lambda w: by_name.get(w[0], w[0]), body)
        return said + "\n" * text.count("\n", m.start(), end), end


def _arguments(text: str, start: int) -> tuple[list[str], int] | None:
    """The arguments in parentheses behind a name, and where they end."""
    opens = re.compile(r"\s*\(").match(text, start)
    if opens is None:
        return None
    depth, last, out = 1, opens.end(), []
    for m in re.compile(r"[(){}\[\],]").finditer(text, opens.end()):
        if m[0] in "({[":
            depth += 1
        elif m[0] in ")}]":
            depth -= 1
        if not depth or (m[0] == "," and depth == 1):
            out.append(text[last:m.start()])
            last = m.end()
        if not depth:
            return out, m.end()
    return None


def macros_of(texts: Iterable[str]) -> Macros:
    """The macros and constants of texts without comments."""
    found: dict[str, set[tuple[tuple[str, ...] | None, str]]] = {}
    constants: dict[str, set[str]] = {}
    for text in texts:
        for m in _DEFINE.finditer(text):
            body = " ".join(m[3].replace("\\\n", " ").split())
            parameters = None if m[2] is None else tuple(
                p.strip() for p in m[2][1:-1].split(",") if p.strip())
            found.setdefault(m[1], set()).add((parameters, body))
        for name, value in _CONSTANT.findall(text):
            constants.setdefault(name, set()).add(value)
    single = {name: next(iter(x)) for name, x in found.items() if len(x) == 1}
    for name, (parameters, body) in single.items():
        if parameters is None and (number := body.strip("() ")).isdigit():
            constants.setdefault(name, set()).add(number)
    loops = {name: x for name, x in single.items() if _LOOP.search(x[1])}
    for _ in range(_DEPTH if loops else 0):
        loops |= {name: x for name, x in single.items()
                  if not loops.keys().isdisjoint(_WORD.findall(x[1]))}
    return Macros(loops, {n: next(iter(x)) for n, x in constants.items() if len(x) == 1})
