"""What a wrong tree raises."""

from __future__ import annotations

from nvir.frontend.tree.place import Place
from nvir.ir.errors import Diagnostic, ParseError


class TreeError(ParseError):
    """A tree that breaks C's rules. `errors` lists all mistakes with their places."""


class Mistake(Exception):
    """One mistake, on its way to the statement that it spoils; never leaves the checker."""

    def __init__(self, message: str, place: Place) -> None:
        super().__init__(message)
        self.message, self.place = message, place


def diagnostic(message: str, place: Place, source: list[str], severity: str = "error",
               file: str = "<tree>") -> Diagnostic:
    """A diagnostic at a place, with the source line if the unit has its source."""
    line = source[place.line - 1] if 0 < place.line <= len(source) else ""
    name = place.file or file
    return Diagnostic(message, name, place.line, place.column, line, severity)
