"""Why a loop is not unrolled: the real tool's codes, their strings, and nvir's remarks.

The tool notes a rejection by a small number, which leads to a string that begins
with a hexadecimal number of its own. One of these strings is known (code 17); the
others are nvir's, in its style. They are shown on request only (`verbose`), as the tool
does; nvir's own remark of each loop always is.
"""

from __future__ import annotations

import enum

from nvir.passes.loop.unroll_region import Refusal
from nvir.passes.remarks import Code, analysis, missed, passed


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

_NUMBERS = (
    "{reason} [T = {T}, size = {size}, cost = {cost}, saved = {saved} %, limit = {limit}]"
)
FULL = passed("FullyUnrolled", "unrolled fully, {copies} iterations: " + _NUMBERS)
PARTIAL = passed("PartiallyUnrolled", "unrolled {factor} times, {way}: " + _NUMBERS)
SKIPPED = missed("NotUnrolledSkipped", "not unrolled: " + _NUMBERS)
NOT_UNROLLED: dict[UnrollCode, Code] = {
    code: missed(
        "NotUnrolled" + code.name.title().replace("_", ""), "not unrolled: " + _NUMBERS, code.number
    )
    for code in UnrollCode
}
REFUSED: dict[Refusal, Code] = {
    r: missed(
        "CannotUnroll" + r.name.title(),
        "cannot be copied: {refusal} [wanted: {wanted}, T = {T}, size = {size}]",
    )
    for r in Refusal
}
FAILED = missed(
    "UnrollFailed", "not unrolled: {why} [wanted: {wanted}, T = {T}, size = {size}]", "24"
)
STATISTICS = analysis(
    "UnrollStatistics",
    "# [partially unrolled loops={partial}] [non-unrolled loops={non_unrolled}]",
)
REJECTED = analysis("UnrollRejection", "{string}")
BACK_EDGE = analysis("BackEdge", "bix{block} -> backedge's successor BB: {successor}")
GUARDED = analysis("UnrollGuard", "loop unrolling does not run: {reason}")

CODES = (
    FULL, PARTIAL, SKIPPED, *NOT_UNROLLED.values(), *REFUSED.values(), FAILED, STATISTICS,
    REJECTED, BACK_EDGE, GUARDED,
)  # fmt: skip
