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

import functools
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from itertools import accumulate, chain, pairwise

from nvir.ir.errors import Diagnostic

PUNCTUATION = ",(){}=*[]<>"
# The commonest kinds first: the engine tries them in order. The blanks belong to the pattern, for a
# search that never has to move on is twice as fast.
TOKEN = re.compile(
    r"\s*("
    r"[%@](?:[-\w$.]+|\"[^\"]*\")"
    rf"|[{re.escape(PUNCTUATION)}]"
    r"|c?\"[^\"]*\":?"
    r"|\$\"[^\"]*\"|[a-zA-Z_$][-\w$.]*:?"
    r"|!(?:[-\w$.]|\\[0-9A-Fa-f]{2})*|#\w+"
    r"|[-+]?\d+\.\d*(?:[eE][-+]?\d+)?"
    r"|0x[HRKLM]?[0-9A-Fa-f]+"
    r"|\d+:|-?\d+(?![-\w$.])"
    r"|\.\.\."
    r"|[-+\w$.]+:?"
    r"|[^\s\"]|\""
    r")", re.ASCII
)
# Lines of words that may be several tokens, and what only `str.split` takes for a blank.
_UNSURE = re.compile(
    rf"^(?!(?:[%@][-\w$.]+|[a-zA-Z_$][-\w$.]*:?|[!#]\w*|-?\d+|[{re.escape(PUNCTUATION)}])$).+",
    re.ASCII | re.MULTILINE,
)
_SEPARATORS = "\x1c\x1d\x1e\x1f"
_BLANK = re.compile(r"[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_COMMENT = re.compile(r'("[^"]*")|;.*')
_TAIL = re.compile(r";.*")  # a comment where no strings are
_single: set[str] = set()  # words that were found to be one token, of all files
_MOST_SINGLE = 20_000
_GLUE = (*"%@$c",)  # before a string, part of its token
END = ""  # the token behind the last one


_FOLDED = frozenset((
    "trunc", "add", "sub", "mul", "shl", "xor", "nuw", "nsw", "bitcast", "extractelement",
    "and", "or", "lshr", "ashr", "zext", "sext", "select", "udiv", "sdiv", "urem", "srem", "exact",
))


class Stop(Exception):
    """An entity or instruction cannot be read, for what stands at token `at`. Never leaves the
    room. `unsupported` tells that nvir knows what it is and does not take it, `behind` that the
    line before `at` ends too early."""

    def __init__(
        self, message: str, at: int, unsupported: bool = False, behind: bool = False
    ) -> None:
        super().__init__(message)
        self.message, self.at, self.unsupported, self.behind = message, at, unsupported, behind


DIGITS = 1000  # of a number that is a name


def number_of(digits: str, at: int) -> int:
    """The number that is a name. Raises Stop where it has more digits than any that counts."""
    if len(digits) > DIGITS:
        raise Stop(f"a number of {len(digits)} digits; {DIGITS} are the most", at)
    return int(digits)


class Text:
    """A file as tokens; see the module docstring."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.tokens: list[str] = []
        self.first: list[int] = []
        self.braced: list[int] = []  # lines with braces
        self.typed = False  # whether pointers say what they point to
        self.zeros: list[int] = []  # lines with strings that have a NUL
        self.lines = text.replace("\r\n", "\n").split("\n")
        if self._scan():  # a string goes on in the next line
            self.lines = _COMMENT.sub(_on_one_line, "\n".join(self.lines)).split("\n")
            self._scan()
        self.count = len(self.tokens)
        self.tokens += (END,) * 8  # looking ahead needs no care

    @functools.cached_property
    def written(self) -> Counter[str]:
        """How often each token is written."""
        return Counter(self.tokens)

    @functools.cached_property
    def folded(self) -> int:
        """How many numbers constant expressions may make at most."""
        return sum(b == "(" and a in _FOLDED for a, b in pairwise(self.tokens))

    def _scan(self) -> bool:
        """Fill `tokens` and `first`; tell whether a string is not closed in its line."""
        lines, find = self.lines, TOKEN.findall
        # Lines with strings, the longest ones, are cut at their quotes.
        strung = [k for k, line in enumerate(lines) if '"' in line]
        if any('%"' in lines[k] or '@"' in lines[k] for k in strung):
            lines = _unquoted_names(lines)
            strung = [k for k in strung if '"' in lines[k]]
        bare = lines.copy()
        for k in strung:
            bare[k] = ""
        spaced = _TAIL.sub("", "\n".join(bare))
        plain = not any(c in spaced for c in _SEPARATORS) and (
            spaced.isascii() or _BLANK.search(spaced) is None)
        for mark in PUNCTUATION:
            spaced = spaced.replace(mark, f" {mark} ")
        words = [*map(str.split, spaced.split("\n"))] if plain else [
            find(_without_comment(line)) for line in bare]
        for k in strung:
            words[k] = _strung(lines[k]) or [
                _plainly(t) if '"' in t else t for t in find(_without_comment(lines[k]))]
            if "\\00" in lines[k]:
                self.zeros.append(k)
        distinct = {*chain.from_iterable(words)}
        new = distinct - _single
        several = {w for w in _UNSURE.findall("\n".join(new)) if find(w) != [w]}
        if len(_single) + len(new) <= _MOST_SINGLE:
            _single.update(new - several)
        if several:
            for k, line in enumerate(lines):
                if '"' not in line and not several.isdisjoint(words[k]):
                    words[k] = find(_without_comment(line))
        self.tokens = [*chain.from_iterable(words)]
        self.first = [0, *accumulate(map(len, words))]
        self.braced = [k for k, line in enumerate(lines) if "{" in line or "}" in line]
        return '"' in distinct

    def line_of(self, at: int) -> int:
        """The line, from 0, that token number `at` stands in."""
        if at >= self.count:
            at = max(self.count - 1, 0)
        return bisect_right(self.first, at) - 1

    def closing(self, opened: int) -> int:
        """The `}` that closes the body whose `{` is token `opened`; -1 where the file or another
        function comes first."""
        depth, t, first = 0, self.tokens, self.first
        for k in self.braced[bisect_left(self.braced, self.line_of(opened)):]:
            at = max(opened, first[k])
            if at > opened and t[at] == "define":
                break
            for j in range(at, first[k + 1]):
                depth += (t[j] == "{") - (t[j] == "}")
                if not depth:
                    return j
        return -1

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


def _strung(line: str) -> list[str] | None:
    """The tokens of a line whose strings are tokens of their own; None where a comment is, or what
    may be a name or a label."""
    pieces = line.split('"')
    if not len(pieces) % 2:
        return None
    out: list[str] = []
    for k, piece in enumerate(pieces):
        if k % 2:
            out.append(f'"{piece}"')
            continue
        found = _between(piece)
        if found is None:
            return None
        out += found
    return out


@functools.lru_cache(maxsize=4096)
def _between(piece: str) -> list[str] | None:
    """The tokens of what stands between strings, if it is no part of theirs and no comment."""
    if piece[:1] == ":" or piece[-1:] in _GLUE or ";" in piece:
        return None
    return TOKEN.findall(piece)


def _without_comment(line: str) -> str:
    """The line up to its comment, and without the blanks before that, at each of which a search
    for a token would try all that follow."""
    return _COMMENT.sub(lambda m: m[1] or "", line).rstrip()


def _unquoted_names(lines: list[str]) -> list[str]:
    """The lines with `%x` for `%"x"`, and so on, where a name needs no quotes."""
    text = "".join(_QUOTED_NAME.split("\n".join(lines)))  # a search gives all but the quotes
    if '\n"' in text:
        text = "".join(_QUOTED_LABEL.split(text))
    return text.split("\n")


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
_QUOTED_NAME = re.compile(r"([%@])\"([-a-zA-Z$._][-a-zA-Z$._0-9]*)\"")
_QUOTED_LABEL = re.compile(r"^\"([-a-zA-Z$._][-a-zA-Z$._0-9]*)\"(:)", re.MULTILINE)


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
