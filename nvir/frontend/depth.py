"""Recursion over trees, within a bound.

A tree is walked by recursion, as it reads best. How deep a tree may be is bounded, and an
interpreter that would stop earlier is given the room: since CPython 3.11 a call from Python to
Python takes no C stack, so the limit is only a number.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

MAX_NESTING = 2500  # levels of expressions and statements in each other
FRAMES_A_LEVEL = 10


@contextmanager
def room(levels: int, frames: int = FRAMES_A_LEVEL) -> Iterator[None]:
    """Inside, recursion through `levels` levels of so many Python frames each is possible."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, levels * frames + 2000))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
