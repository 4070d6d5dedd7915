"""Module-level tokens of PTX, one at a time, with errors at their places."""

from __future__ import annotations

import re
from typing import NoReturn

from nvir.ir.types import IMM
from nvir.ptx.literals import literal
from nvir.ptx.source import PtxText

_TOKEN = re.compile(
    r"""\s*(?:("[^"\n]*")                                    # string
      | (\.[A-Za-z_][\w]*(?:::\w+)*)                         # directive
      | (%?[A-Za-z_$][\w$]*|_)                               # identifier
      | (0[fFdD][0-9a-fA-F]+|0[xX][0-9a-fA-F]+U?|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?U?|\.\d+)  # number
      | (<<|>>|&&|\|\||[-+*/%~!&|^<>=?:()\[\]{},;@])         # punctuation
    )""",
    re.VERBOSE,
)


class Unreadable(Exception):
    """Internal: a statement cannot be read; already reported."""


class Tokens:
    """A cursor over the text: `pos` is where the next token is looked for."""

    def __init__(self, source: PtxText) -> None:
        self.source = source
        self.code = source.code
        self.pos = 0
        self.token_start = 0
        self._peeked = -1  # where the token at hand was looked for

    def _skip_space(self) -> int:
        at = self.pos
        while at < len(self.code) and self.code[at].isspace():
            at += 1
        return at

    def peek(self) -> str | None:
        """The next token, or None at the end or before a character that starts none."""
        if self._peeked != self.pos:
            m = _TOKEN.match(self.code, self.pos)
            if m is None:
                return None
            self._match, self._peeked = m, self.pos
        m = self._match
        self.token_start = m.start(m.lastindex or 0)
        return str(m[m.lastindex or 0])

    def next(self) -> str:
        token = self.peek()
        if token is None:
            at = self._skip_space()
            end = at >= len(self.code)
            self.fail("the file ends here" if end else "unexpected character", at)
        self.pos = self._match.end()
        return str(token)

    def expect(self, wanted: str) -> None:
        token = self.peek()
        if token != wanted:
            at = self.token_start if token is not None else self._skip_space()
            self.fail(f"expected '{wanted}', found '{token or 'the end of the file'}'", at)
        self.pos = self._match.end()

    def accept(self, wanted: str) -> bool:
        if self.peek() == wanted:
            self.pos = self._match.end()
            return True
        return False

    def fail(self, message: str, offset: int) -> NoReturn:
        self.source.error(message, offset)
        raise Unreadable

    def identifier(self, what: str) -> str:
        token = self.next()
        if not (token[0].isalpha() or token[0] in "_$%"):
            self.fail(f"expected {what}, found '{token}'", self.token_start)
        if token in ("_", "WARP_SZ"):
            self.source.refuse(f"expected {what}, '{token}' is none", self.token_start)
        return token

    def number(self, what: str) -> int:
        token = self.next()
        c = literal(token)
        if c is None or c.type is not IMM:
            self.fail(f"expected {what}, found '{token}'", self.token_start)
        return int(c.value)
