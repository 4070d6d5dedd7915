"""What the pass says of each loop: the codes of its remarks.

A rejection's string of the real tool is shown on request only (`verbose`), as the tool
does; nvir's own remark of each loop always is.
"""

from __future__ import annotations

from nvir.assembler.unroll.decision import UnrollCode
from nvir.passes.loop.unroll.prepare import Refusal
from nvir.passes.remarks import Code, analysis, missed, passed

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
)
