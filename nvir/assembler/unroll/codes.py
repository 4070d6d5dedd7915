"""Why a loop is not unrolled: the real tool's codes and their strings.

The tool notes a rejection by a small number, which leads to a string that begins
with a hexadecimal number of its own. One of these strings is known (code 17); the
others are nvir's, in its style.
"""

from __future__ import annotations

import enum


class UnrollCode(enum.Enum):
    """The number of the real tool's table, and the text for it."""

    TEXTURE_RATIO = ("7", "too many texture fetches for an outer loop")
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
