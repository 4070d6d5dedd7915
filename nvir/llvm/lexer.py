"""Tokens of LLVM text, line by line, in one flat list.

`tokens` holds plain strings; what a token is shows in its first character: `%x @x !x #0 $x "…`
names and strings, `name:` a label, digits, words, single characters of punctuation.
`first[k]` is the index of the first token of line `k`, so that an error finds its line and
column again, reading can resume at the next line, and instructions learn their lines.
Comments are left out.

Names that need no quotes lose them, so that equal names are equal tokens.

Cost     A line without strings is split at blanks once its punctuation stands between blanks; any
         other, and one with a word that is not one token, costs a `findall`, 0.5 µs a token.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from nvir.ir.errors import Diagnostic

PUNCTUATION = ",(){}=*[]<>"
# The commonest kinds first: the engine tries them in order. The blanks belong to the pattern, for a
# search that never has to move on is twice as fast.
TOKEN = re.compile(
    r"\s*("
    r"[%@](?:[-\w$.]+|\"[^\"]*\")"
    rf"|[{re.escape(PUNCTUATION)}]"
    r"|c?\"[^\"]*\":?"
    r"|[a-zA-Z_$][-\w$.]*:?|\$\"[^\"]*\""
    r"|!(?:[-\w$.]|\\[0-9A-Fa-f]{2})*|#\w+"
    r"|[-+]?\d+\.\d*(?:[eE][-+]?\d+)?"
    r"|0x[HRKLM]?[0-9A-Fa-f]+"
    r"|\d+:|-?\d+(?![-\w$.])"
    r"|\.\.\."
    r"|[-+\w$.]+:?"
    r"|[^\s\"]|\""
    r")", re.ASCII
)
# The words that are surely one token, and what only `str.split` takes for a blank.
_ONE = re.compile(
    rf"[%@][-\w$.]+|[a-zA-Z_$][-\w$.]*:?|[!#]\w*|-?\d+|[{re.escape(PUNCTUATION)}]", re.ASCII
)
_BLANK = re.compile(r"[\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
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
        self.tokens: list[str] = []
        self.first: list[int] = []
        self.typed = False  # whether pointers say what they point to
        self.lines = text.replace("\r\n", "\n").split("\n")
        self._scan()
        if '"' in self.tokens:  # a string that goes on in the next line
            self.lines = _COMMENT.sub(_on_one_line, "\n".join(self.lines)).split("\n")
            self._scan()
        self.count = len(self.tokens)
        if '"' in text:
            names = {t: plain for t in set(self.tokens) if '"' in t and (plain := _plainly(t)) != t}
            self.tokens = [names.get(t, t) for t in self.tokens] if names else self.tokens
        self.tokens += (END,) * 8  # looking ahead needs no care

    def _scan(self, several: frozenset[str] = frozenset()) -> None:
        """Fill `tokens` and `first`; `several` are words that are known to be several tokens."""
        spaced = "\n".join(self.lines)
        plain = _BLANK.search(spaced) is None
        for mark in PUNCTUATION:
            spaced = spaced.replace(mark, f" {mark} ")
        tokens: list[str] = []
        first: list[int] = []
        find = TOKEN.findall
        for line, words in zip(self.lines, spaced.split("\n"), strict=True):
            first.append(len(tokens))
            if '"' in line or not plain:
                tokens += find(_without_comment(line))
                continue
            split = (words.partition(";")[0] if ";" in words else words).split()
            tokens += split if several.isdisjoint(split) else find(line.partition(";")[0])
        self.tokens, self.first = tokens, first
        if not several:
            one = _ONE.fullmatch
            unsure = [w for w in set(tokens) if not one(w) and find(w) != [w]]
            if unsure:
                self._scan(frozenset(unsure))

    def line_of(self, at: int) -> int:
        """The line, from 0, that token number `at` stands in."""
        if at >= self.count:
            at = max(self.count - 1, 0)
        return bisect_right(self.first, at) - 1

    def find(self, token: str, start: int, end: int) -> int:
        """The first place of a token from `start` on and before `end`, or -1."""
        try:
            return self.tokens.index(token, start, end)
        except ValueError:
            return -1

    def next_function(self, at: int) -> int:
        """The next `define` behind token `at`, else the end of the file."""
        k = self.find("define", at, self.count)
        return self.count if k < 0 else k

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
        spans = [m.span(1) for m in TOKEN.finditer(_without_comment(source))]
        n = at - self.first[k]
        column = spans[n][behind] if 0 <= n < len(spans) else (spans[-1][1] if spans else 0)
        return Diagnostic(message, self.file, k + 1, column + 1, source)


def _on_one_line(m: re.Match[str]) -> str:
    """A string's line breaks as escapes, as many empty lines behind it; no comment."""
    text = m[1] or ""
    return text.replace("\n", "\\0A") + "\n" * text.count("\n")


def _plainly(token: str) -> str:
    """One spelling of a name, so that `%"B8"` and the label `"B8":` are `%B8` and `B8:`. Those
    that need their quotes keep them: `%"8"` is a name, `%8` a number."""
    label = token[0] == '"' and token[-2:] == '":'
    if not label and token[0] not in "%@$":
        return token
    name = unquoted(token[:-1] if label else token[1:])
    return f"{spelled(name)}:" if label else f"{token[0]}{spelled(name)}"


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
