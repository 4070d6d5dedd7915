"""The text of an open document, changed row by row.

An editor that replaces a word everywhere sends thousands of changes at once, each on the text that
the one before left: one costs its own rows. Rows end where the protocol says so (\\n, \\r\\n, \\r),
characters count as units of UTF-16.
"""

from __future__ import annotations

import re

_ROW = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")


def column(row: str, character: int) -> int:
    """The index in a row of a character that an editor counts; at most its end."""
    row = row.rstrip("\r\n")
    if row.isascii():
        return min(character, len(row))
    units = 0
    for k, c in enumerate(row):
        units += 1 + (c > "\uffff")
        if units > character:
            return k
    return len(row)


class EditedText:
    """`rows` with their ends, of which the last has none."""

    def __init__(self, text: str, language: str, version: int | None) -> None:
        self.language, self.version = language, version
        self.rows = _rows(text)

    @property
    def text(self) -> str:
        return "".join(self.rows)

    def replace(self, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
        """Put a text where another stands between two (line, character)."""
        rows = self.rows
        (first, before), (last, behind) = self._place(*start), self._place(*max(start, end))
        made = rows[first][:before] + text + rows[last][behind:]
        if made.startswith("\n") and first and rows[first - 1].endswith("\r"):
            first -= 1  # the two are one end now
            made = rows[first] + made
        rows[first : last + 1] = _rows(made)[: None if last + 1 == len(rows) else -1]

    def _place(self, line: int, character: int) -> tuple[int, int]:
        if line >= len(self.rows):
            return len(self.rows) - 1, len(self.rows[-1])
        return line, column(self.rows[line], character)


def _rows(text: str) -> list[str]:
    """The rows of a text; the last is what stands behind the last end, maybe nothing."""
    found = _ROW.findall(text)
    return found[:-1] if len(found) > 1 and found[-2][-1:] not in ("\r", "\n") else found
