"""How objects look: as text, and drawn in a notebook.

Whoever prints and draws stands above these classes, so the modules are named and imported when
they are first asked.
"""

from __future__ import annotations

import importlib
import sys

_TEXT = "nvir.ir.text.print"


class Printed:
    """Base of what has a form in nvir's own text."""

    __slots__ = ()

    def __str__(self) -> str:
        text: str = importlib.import_module(_TEXT).text_of(self)
        return text


class Displayed(Printed):
    """Base of what notebooks draw.

    The package names the module with the painters (`nvir.PAINTERS`), since drawing needs rooms
    above this one. A painter returns None for "nothing to show".
    """

    __slots__ = ()

    def _repr_svg_(self) -> str | None:
        return _painted(self, "svg")

    def _repr_html_(self) -> str | None:
        return _painted(self, "html")


def _painted(thing: Displayed, kind: str) -> str | None:
    painters = importlib.import_module(sys.modules["nvir"].PAINTERS)
    text: str | None = painters.paint(thing, kind)
    return text
