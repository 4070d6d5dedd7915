"""Tokens of LLVM text, line by line, in one flat list.

`tokens` holds plain strings; what a token is shows in its first character: `%x @x !x #0 $x "…`
names and strings, `name:` a label, digits, words, single characters of punctuation.
`first[k]` is the index of the first token of line `k`, so that an error finds its line and
column again, reading can resume at the next line, and instructions learn their lines.
Comments are left out.

Cost     One `findall` a line: 0.1 µs a token.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from nvir.ir.errors import Diagnostic

TOKEN = re.compile(
    r"[%@$](?:[-\w$.]+|\"[^\"]*\")"
    r"|c?\"[^\"]*\":?"
    r"|[-+]?\d+\.\d*(?:[eE][-+]?\d+)?"
    r"|0x[HRKLM]?[0-9A-Fa-f]+"
    r"|\d+:|-?\d+(?![-\w$.])"
    r"|\.\.\."
    r"|[-\w$.]+:?"
    r"|![-\w$.]*|#\w+|[^\s\"]|\"", re.ASCII
)
_COMMENT = re.compile(r'("[^"]*")|;.*')
END = ""  # the token behind the last one


class Stop(Exception):
    """An entity or instruction cannot be read, for what stands at token `at`. Never leaves the
    room. `unsupported` tells that nvir knows what it is and does not take it, `behind` that the
    line before `at` ends too early."""

    def __init__(
        self, message: str, at: int, unsupported: bool = False, behind: bool = False
    ) -> None:
        super().__init__(message)
        self.message, self.at, self.unsupported, self.behind = message, at, unsupported, behind


class Text:
    """A file as tokens; see the module docstring."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.lines = text.replace("\r\n", "\n").split("\n")
        self.tokens: list[str] = []
        self.first: list[int] = []
        tokens, first, find = self.tokens, self.first, TOKEN.findall
        for line in self.lines:
            first.append(len(tokens))
            tokens += find(_without_comment(line) if ";" in line else line)
        self.count = len(tokens)
        tokens += (END,) * 8  # looking ahead needs no care

    def line_of(self, at: int) -> int:
        """The line, from 0, that token number `at` stands in."""
        if at >= self.count:
            at = max(self.count - 1, 0)
        return bisect_right(self.first, at) - 1

    def begins_line(self, at: int) -> bool:
        """Whether no token stands before `at` in its line; the end of the file begins one."""
        return at >= self.count or self.first[self.line_of(at)] == at

    def next_line(self, at: int) -> int:
        """The first token of the line behind that of token `at`."""
        k = self.line_of(at) + 1
        return self.first[k] if k < len(self.first) else self.count

    def resume(self, e: Stop, start: int) -> int:
        """Where to go on behind an error in what began at `start`: at the next line."""
        if e.behind and e.at > start:
            return e.at
        return max(self.next_line(max(e.at, start)), start + 1)

    def diagnostic(self, message: str, at: int, behind: bool = False) -> Diagnostic:
        """An error at token `at`, or `behind` the one before it."""
        if behind and at > 0:
            at = min(at, self.count) - 1
        k = self.line_of(at)
        source = self.lines[k] if self.lines else ""
        spans = [m.span() for m in TOKEN.finditer(_without_comment(source))]
        n = at - self.first[k]
        column = spans[n][behind] if 0 <= n < len(spans) else (spans[-1][1] if spans else 0)
        return Diagnostic(message, self.file, k + 1, column + 1, source)


def _without_comment(line: str) -> str:
    return _COMMENT.sub(lambda m: m[1] or "", line)


_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2}|\\)")


def _unescape(m: re.Match[bytes]) -> bytes:
    return b"\\" if m[1] == b"\\" else bytes((int(m[1], 16),))


def bytes_in(token: str) -> bytes:
    """The bytes of a string token, its quotes and `\\41` escapes undone."""
    data = token[1:-1].encode("utf-8", "surrogateescape")
    return _ESCAPE.sub(_unescape, data) if b"\\" in data else data


def unquoted(token: str) -> str:
    """The text of a string token; bytes that are no UTF-8 as surrogates."""
    if "\\" not in token:
        return token[1:-1]
    return bytes_in(token).decode("utf-8", "surrogateescape")


def name_in(token: str) -> str:
    """The name that a token such as `%x`, `@"a b"`, `$c` holds."""
    return unquoted(token[1:]) if token[1:2] == '"' else token[1:]


_PLAIN = re.compile(r"[-a-zA-Z$._][-a-zA-Z$._0-9]*\Z")


def _escape(m: re.Match[str]) -> str:
    return "".join(f"\\{b:02X}" for b in m[0].encode("utf-8", "surrogateescape"))


def quoted(text: str) -> str:
    """A string token: bytes that are not printable, quotes and backslashes as `\\41`."""
    return '"' + re.sub(r'["\\]|[^\x20-\x7e]+', _escape, text) + '"'


def quoted_bytes(data: bytes) -> str:
    return '"' + re.sub(
        r'["\\]|[^\x20-\x7e]', lambda m: f"\\{ord(m[0]):02X}", data.decode("latin-1")
    ) + '"'


def spelled(name: str) -> str:
    """A name behind its sigil: plain, or quoted."""
    return name if _PLAIN.match(name) else quoted(name)
