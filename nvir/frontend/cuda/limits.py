"""What a source may have no more of, for clang takes the square of it in time, or what doubles.

    too_much(text)     what is wrong, and the offset; None where nothing is

Method   Macros are counted as what they stand for, whatever `#if` they are in, arguments of calls
         as one token. Of a text with `%` in inline assembly clang finds each anew from its start.
"""

from __future__ import annotations

import re
from collections import Counter

MOST_EXPANDED = 1 << 20  # tokens that one macro stands for
LONGEST_NAME = 100_000  # characters
MOST_SOUGHT = 1_000_000_000  # characters that are passed, for every `%` of a literal: 12 s
_SKIP = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_PARTS = re.compile(
    r"(?P<skip>//[^\n]*|/\*.*?\*/)|(?P<text>R\"(?P<end>\w*)\(.*?\)(?P=end)\"|"
    r"\"(?:\\.|[^\"\\\n])*\")|'(?:\\.|[^'\\\n])'|"
    r"^[ \t]*\#[ \t]*(?P<directive>\w+)(?P<rest>(?:[^\\\n]|\\.)*)|(?P<word>[A-Za-z_]\w*)",
    re.S | re.M)
_MACRO = re.compile(r"\s*(\w+)(?:\([^()]*\))?(.*)", re.S)
_TOKEN = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|\w+|\S")


def too_much(text: str) -> tuple[str, int] | None:
    """What a source has too much of, and where; None where all is within the limits."""
    macros: dict[str, Counter[str]] = {}
    used: dict[str, int] = {}
    for m in _PARTS.finditer(text):
        if m["word"]:
            if len(m["word"]) > LONGEST_NAME:
                return f"a name of more than {LONGEST_NAME:,} characters", m.start()
            used.setdefault(m["word"], m.start())
        elif m["directive"] == "define" and (made := _MACRO.match(m["rest"])):
            macros.setdefault(made[1], Counter(_TOKEN.findall(_SKIP.sub(" ", made[2]))))
        elif m["text"] and len(m["text"]) * m["text"].count("%") > MOST_SOUGHT:
            return ("a text of too many `%`: its length times their number is more than "
                    f"{MOST_SOUGHT:,}"), m.start()
    length = _lengths(macros)
    for name, at in used.items():
        if length.get(name, 0) > MOST_EXPANDED:
            return f"the macro '{name}' stands for more than {MOST_EXPANDED:,} tokens", at
    return None


def _lengths(macros: dict[str, Counter[str]]) -> dict[str, int]:
    """How many tokens macros stand for; in itself none is expanded."""
    length: dict[str, int] = {}
    begun: set[str] = set()
    todo = [*macros]
    while todo:
        name = todo[-1]
        inner = [] if name in begun else [t for t in macros[name] if t in macros and t not in begun]
        begun.add(name)
        if inner:
            todo += inner
            continue
        todo.pop()
        if name not in length:
            length[name] = min(sum(n * length.get(t, 1) for t, n in macros[name].items()),
                               MOST_EXPANDED + 1)
    return length
