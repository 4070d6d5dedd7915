"""A PTX text: its file name, its lines, and the errors found in it.

Comments are blanked out, not cut, so that every offset is an offset of the
original text.
"""

from __future__ import annotations

import codecs
import os
import re
from bisect import bisect_right
from pathlib import Path

from nvir.ir.document import read_file
from nvir.ir.errors import Diagnostic, NvirError, ParseError

_COMMENT_OR_STRING = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_NOT_NEWLINE = re.compile(r"[^\n]")
BEGIN_ASM, END_ASM = "// begin inline asm", "// end inline asm"
MAX_ERRORS = 100  # of one file; after that reading it further helps nobody


def line_starts(text: str) -> list[int]:
    """Offset of the first character of each line."""
    return [0, *(m.end() for m in re.finditer("\n", text))]


def _blank(m: re.Match[str]) -> str:
    text = m[0]
    if text[0] == '"':
        return text
    if text[1] == "/":
        return " " * len(text)
    return _NOT_NEWLINE.sub(" ", text)


class TooManyErrors(Exception):
    """Internal: the error limit is reached."""


class PtxText:
    """The text under its file name. `code` is the text with blanks for comments."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.text = text
        self.code = _COMMENT_OR_STRING.sub(_blank, text) if "/" in text else text
        self._starts: list[int] | None = None
        self.errors: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []
        self.refused: list[Diagnostic] = []
        self._warned: set[str] = set()

    @property
    def open_comment(self) -> int:
        """Where a comment begins that runs to the end of the text, or -1."""
        last = None
        for m in _COMMENT_OR_STRING.finditer(self.text):
            last = m
        is_open = last is not None and last[0].startswith("/*") and not last[0].endswith("*/")
        return last.start() if is_open and last is not None else -1

    @property
    def line_starts(self) -> list[int]:
        """Offset of the first character of each line."""
        if self._starts is None:
            self._starts = line_starts(self.text)
        return self._starts

    def line_of(self, offset: int) -> int:
        return bisect_right(self.line_starts, offset)

    def diagnostic(self, message: str, offset: int, severity: str = "error") -> Diagnostic:
        offset = min(max(offset, 0), len(self.text))
        line = self.line_of(offset)
        start = self.line_starts[line - 1]
        end = self.text.find("\n", offset)
        end = len(self.text) if end < 0 else end
        # Of a line of megabytes only the neighbourhood of the error is kept.
        lo, hi = max(start, offset - 400), min(end, offset + 400)
        shown = self.text[lo:hi].rstrip("\r")
        return Diagnostic(
            message, self.file, line, offset - start + 1, shown, severity, cut=lo - start
        )

    def error(self, message: str, offset: int) -> None:
        """Note an error; raises TooManyErrors past the limit."""
        self.errors.append(self.diagnostic(message, offset))
        if len(self.errors) >= MAX_ERRORS:
            raise TooManyErrors

    def refuse(self, message: str | None, offset: int) -> None:
        """Note what ptxas refuses although it can be read; nothing where there is no message."""
        if message is not None and len(self.refused) < MAX_ERRORS:
            self.refused.append(self.diagnostic(message, offset))

    def warn_once(self, key: str, message: str, offset: int) -> None:
        if key not in self._warned:
            self._warned.add(key)
            self.warnings.append(self.diagnostic(message, offset, "warning"))

    def raise_errors(self) -> None:
        if self.errors:
            found = (*self.errors, *self.refused)
            raise ParseError(sorted(found, key=lambda e: (e.line, e.col)))


def load(x: object, name: str = "<text>") -> PtxText:
    """What `read_ptx` takes: a path, or the text itself (a str with a newline, or bytes), which
    messages call `name`."""
    if isinstance(x, bytes | bytearray):
        return _decode(bytes(x), name)
    if isinstance(x, str) and "\n" in x:
        return PtxText(x, name)
    if isinstance(x, str | os.PathLike):
        path = Path(x)
        try:
            data = read_file(path)
        except OSError as e:
            shown = str(path)[:200]
            raise NvirError(f"{shown}: cannot be read: {e.strerror or e}") from None
        return _decode(data, str(path))
    raise TypeError(f"expected a path, a text or bytes, not {type(x).__name__}")


def _other_text(data: bytes) -> str:
    """What a file is that often stands where PTX was meant, or ""."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "UTF-16 text"
    if data[:256].lstrip().lower().startswith((b"<!doctype html", b"<html")):
        return "a web page (HTML)"
    return ""


def _decode(data: bytes, file: str) -> PtxText:
    mark = data.startswith(codecs.BOM_UTF8)
    data = data.removeprefix(codecs.BOM_UTF8)
    other = _other_text(data)
    if other:
        raise ParseError(Diagnostic(f"this is {other}, not PTX", file, 1, 1))
    data = data.rstrip(b"\0")  # a PTX image in a fatbin ends with zeros
    nul = data.find(b"\0")
    if nul >= 0:
        raise ParseError(
            Diagnostic(
                "this is a binary file, not PTX text",
                file,
                data.count(b"\n", 0, nul) + 1,
                nul - data.rfind(b"\n", 0, nul),
            )
        )
    text = PtxText(data.decode("utf-8", "replace"), file)
    text.refuse("ptxas takes no byte order mark in front of a file" if mark else None, 0)
    return text
