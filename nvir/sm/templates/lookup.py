"""The templates of all rows: the files of `rows` register their rules when this imports them."""

from __future__ import annotations

import nvir.sm.templates.rows  # noqa: F401
from nvir.sm.templates.table import RULES, Shape, Template, parse


def rows_with_rules() -> frozenset[str]:
    """The names of all rows that have a rule."""
    return frozenset(RULES)


def template(shape: Shape) -> Template | None:
    """The template of a shape, or None where there is none."""
    found = _SEEN.get(shape, _MISSING)
    if found is _MISSING:
        make = RULES.get(shape.name)
        text = make(shape) if make is not None else None
        found = _SEEN[shape] = None if text is None else parse(text)
    return found  # type: ignore[return-value]


_MISSING = object()
_SEEN: dict[Shape, object] = {}
