"""What is decided of a loop's unrolling: one class for every policy, and the real tool's codes.

The tool notes a rejection by a small number, which leads to a string that begins
with a hexadecimal number of its own. One of these strings is known (code 17); the
others are nvir's, in its style.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Literal

import attrs

from nvir.analysis.induction import trip_count
from nvir.assembler.unroll.weights import LOOP_CONTROL
from nvir.ir.loops import Loop

Action = Literal["full", "partial", "none"]


class UnrollCode(enum.Enum):
    """The number of the real tool's table, and the text for it."""

    TEXTURE_RATIO = ("7", "too few texture fetches for an outer loop of its size")
    NOUNROLL = ("11", "unrolling is switched off or an operation forbids copies")
    NO_FACTOR = ("12", "no factor is worth its instructions")
    INDIRECT_EXIT = ("13", "the loop does not end in a conditional branch")
    NO_INDUCTION = ("14", "no induction variable")
    INDUCTION_CLASS = ("15", "the induction variable is of no class that counts")
    NO_BOUND = ("16", "the bound is not known before the loop")
    IRREGULAR = ("17", "irregular loop")
    DEGENERATE = ("18", "degenerate trip count")
    STRIDE_SIGN = ("19", "the stride leads away from the bound")
    OTHER = ("24", "not unrolled")

    @property
    def number(self) -> str:
        return str(self.value[0])

    @property
    def text(self) -> str:
        return str(self.value[1])

    @property
    def string(self) -> str:
        """The string as the tool prints it."""
        return _STRINGS[self.name]


_STRINGS = {  # the first is known, the numbers and texts of the others are nvir's
    name: f"0x{0x80000000 + k:08x} - Not unrolled: {text}"
    for k, (name, text) in enumerate(
        [
            ("IRREGULAR", "Irregular loop"),
            ("TEXTURE_RATIO", "Body too large for its texture fetches"),
            ("NOUNROLL", "Unrolling disabled"),
            ("NO_FACTOR", "No unroll factor"),
            ("INDIRECT_EXIT", "Indirect branch at loop exit"),
            ("NO_INDUCTION", "No induction variable"),
            ("INDUCTION_CLASS", "Unsupported induction variable class"),
            ("NO_BOUND", "Unknown loop bound"),
            ("DEGENERATE", "Degenerate trip count"),
            ("STRIDE_SIGN", "Inconsistent stride sign"),
            ("OTHER", "Budget exceeded"),
        ],
        start=1,
    )
}


def pieces_of(factor: int, least: int = 0) -> tuple[int, ...]:
    """The copies of the pieces that do the rest of a count for so many copies: falling powers of
    two, down to that with exponent `least`."""
    return tuple(1 << k for k in range((factor - 1).bit_length() - 1, least - 1, -1))


@attrs.frozen
class UnrollDecision:
    """What happens to a loop, and the numbers that decided.

    action   "full", "partial" or "none"; factor None, > 1 or 1
    code     why not; None where it is unrolled, and for loops that are passed over without one
    reason   the deciding comparison
    T        the trip count, None where it is not known
    size     instructions of the body, loop control included (c of the observed rules)
    cost     what remains of them in one fully unrolled copy (a)
    saved    percent of the body that folds (p)
    limit    what the cost was held against, None where it was not (L)
    folds    what folds: its weight (S), as noted the number of operations
    step     the letter of the deciding step; documented only
    iterations   of the partially unrolled loop, where the count is known; documented only
    pieces   copies of each straight-line piece that does the rest of a count; None: those that
             there may be
    """

    action: Action = "none"
    factor: int | None = 1
    code: UnrollCode | None = None
    reason: str = ""
    T: int | None = None
    size: int = 0
    cost: int = 0
    saved: int = 0
    limit: int | None = None
    folds: int = 0
    step: str = ""
    iterations: int | None = None
    pieces: tuple[int, ...] | None = None

    @property
    def d(self) -> int:
        """The body without loop control, as ptxas-observed rules count it."""
        return self.size - LOOP_CONTROL

    def none(self, code: UnrollCode | None, reason: str = "", step: str = "") -> UnrollDecision:
        reason = reason or (code.text if code is not None else "")
        return attrs.evolve(
            self, action="none", factor=1, code=code, reason=reason, step=step or self.step
        )

    def full(self, reason: str) -> UnrollDecision:
        return attrs.evolve(self, action="full", factor=None, code=None, reason=reason)

    def partial(self, factor: int, reason: str) -> UnrollDecision:
        return attrs.evolve(self, action="partial", factor=factor, code=None, reason=reason)


def copies(loops: list[Loop], unroll: Mapping[str, UnrollDecision]) -> dict[str, int]:
    """How often the body of each loop that is unrolled will stand, by its header's name."""
    found: dict[str, int] = {}
    for loop in loops:
        decision = unroll.get(loop.header.name)
        if decision is None or decision.action == "none":
            continue
        trip = trip_count(loop) if decision.factor is None else None
        n = decision.factor if trip is None else trip.count
        if n is not None and n > 1:
            found[loop.header.name] = n
    return found
