"""Source places, and the root of everything that has one."""

from __future__ import annotations

import attrs


@attrs.frozen
class Place:
    """Where something stands in a source: `line` and `column` count from 1, 0 is unknown."""

    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file or '<tree>'}:{self.line}:{self.column}"


NOWHERE = Place()


@attrs.define(eq=False, slots=True)
class Node:
    """Root of expressions, statements and declarations; compared by identity."""

    place: Place = attrs.field(default=NOWHERE, kw_only=True, repr=False)
