"""How a copy or fill of memory will be done: element, unrolled or loop, directions. Data only.

policy     element                           unrolled up to    memcpy
observed   the smaller alignment, up to 16   16 elements       forward, loads first
notes      one byte                          128 elements      both directions, as memmove

An element of 8 or 16 bytes is a vector of i32, which is one access of PTX. What is left behind
the last element goes in falling powers of two.

Right for every overlap: element k is read before any store can reach it, if elements go up and the
target starts at or below the source, or go down and it starts above; loads and stores strictly
alternate. The remainder is the last going up and the first going down. What is moved in a few
registers may be read whole before any of it is written, and needs no direction.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import attrs

from nvir.ir.text.trace import note, step
from nvir.ir.types import I8, I16, I32, Type, vector
from nvir.passes.aggregate.objects import Order

WIDEST = 16
HELD = 64  # bytes that a memmove reads whole: more registers cost more than the second path
Paths = Literal["forward", "reverse", "both"]
ELEMENTS: dict[int, Type] = {1: I8, 2: I16, 4: I32, 8: vector(I32, 2), 16: vector(I32, 4)}


class Piece(NamedTuple):
    """An access of straight code."""

    offset: int
    bytes: int

    def __str__(self) -> str:
        return f"byte {self.offset}" if self.bytes == 1 else f"{self.bytes} bytes at {self.offset}"


@attrs.frozen
class CopyLimits:
    """What the knobs and the policy say; `unroll` counts elements."""

    unroll: int
    bytewise: bool
    forward_memcpy: bool
    params_are_local: bool
    wide: bool = False  # elements as wide as alignments allow, under either policy
    held: bool = False  # under `observed`: small moves are read whole before they are written


@attrs.frozen
class CopyPlan:
    """One copy or fill.

    unit    bytes of an element
    size    in bytes, None where it is known only at run time
    paths   the directions that code is made for
    loads_first   loads stand before the stores, in groups (unrolled, forward only)
    held    all loads stand before all stores
    carried   a loop over one address that goes on, and a counter: a fill of a known size
    why     the reason for the paths, in words
    """

    unit: int
    size: int | None
    unrolled: bool
    paths: Paths
    loads_first: bool
    why: str
    carried: bool
    held: bool

    @property
    def count(self) -> int | None:
        return None if self.size is None else self.size // self.unit

    @property
    def tail(self) -> tuple[Piece, ...]:
        """What is left behind the whole elements of a known size."""
        if self.size is None:
            return ()
        at = self.size // self.unit * self.unit
        out = []
        for n in (8, 4, 2, 1):
            if self.size - at >= n:
                out.append(Piece(at, n))
                at += n
        return tuple(out)

    @property
    def form(self) -> str:
        """For remarks."""
        return "unrolled" if self.unrolled else "a loop"


@step("MEM-07", "plan", "kind", "size", "align", "order", "limits")
def make_plan(
    kind: str, size: int | None, align: int, order: Order, limits: CopyLimits
) -> CopyPlan:
    """`align` is the smaller alignment of the operands; `order` what is known of where they lie."""
    unit = element(align & -align, limits.bytewise and not limits.wide)
    note("MEM-14", "element", f"{ELEMENTS[unit]}", bytewise=limits.bytewise, wide=limits.wide)
    paths, why = _paths(kind, order, limits)
    elements = None if size is None else size // unit
    unrolled = elements is not None and elements <= limits.unroll
    note("MEM-22", "elements and limit", "unrolled" if unrolled else "a loop",
         elements=elements, unroll=limits.unroll)
    if kind == "memcpy":
        note("MEM-19", "memcpy", "as memmove" if paths == "both" else paths, forward=why)
    held = unrolled and paths == "both" and limits.held and not limits.bytewise \
        and size is not None and size <= HELD
    if held:
        paths, why = "forward", "all of it is read before any is written"
    loads_first = unrolled and paths == "forward" and not limits.bytewise and kind == "memcpy"
    carried = (kind == "memset" and not limits.bytewise and not unrolled
               and elements is not None and elements < 1 << 31)
    return CopyPlan(unit, size, unrolled, paths, loads_first, why, carried, held)


@step("MEM-17", "element", "align", tell=lambda unit, *a: f"{ELEMENTS[unit]}")
def element(align: int, bytewise: bool) -> int:
    """Bytes of an element: one, or as many as the alignment lets one access have."""
    return 1 if bytewise else min(align, WIDEST)


def _paths(kind: str, order: Order, limits: CopyLimits) -> tuple[Paths, str]:
    if kind == "memset":
        return "forward", "a fill reads nothing"
    if kind == "memcpy" and limits.forward_memcpy:
        return "forward", "memcpy's operands do not overlap"
    if order == "disjoint":
        return "forward", "the operands lie in different memory"
    if order == "unknown" or limits.bytewise:
        return "both", "the operands may overlap"
    return order, f"the target lies {'above' if order == 'reverse' else 'at or below'} the source"
