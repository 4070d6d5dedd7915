"""Literals that need a register of their own: an operation of the SASS holds one at most."""

from __future__ import annotations

from collections.abc import Iterable

from nvir.sm.templates.table import Shape


def moves(shape: Shape, free: int = 1, sources: Iterable[int] | None = None) -> str:
    """A move for each 32-bit literal beyond the `free` ones that fit; zero is a register."""
    wanted = range(len(shape.literals)) if sources is None else sources
    count = len({shape.literal(k) for k in wanted} - {None, 0})
    return "MOV t9; " * max(0, count - free)


def double_moves(shape: Shape) -> str:
    """The same of 64-bit floats: one literal fits if its low half is zero.

    Up to sm_89 one literal of any value stands in a constant bank instead.
    """
    known = {v for v in shape.literals if v}
    fitting = [v for v in known if not shape.on("literals_in_operations") or not v & 0xFFFFFFFF]
    return "MOV t9; " * (2 * len(known - set(fitting[:1])))
