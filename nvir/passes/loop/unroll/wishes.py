"""What somebody asks of a loop: `.pragma "unroll N"` after its label, and the override string.

    .pragma "unroll 4";     4 copies; `unroll` alone asks for all iterations, `unroll 1` for none
    -3-                     knob LoopUnrollFactorBlocks: block 3 stays; `+3+` forces it

Under every policy these come before the policy's own decision.
"""

from __future__ import annotations

import re

from nvir.assembler.unroll.decision import UnrollCode, UnrollDecision
from nvir.ir.block import Block

_ASKED = re.compile(r"unroll(?:\s+(\d+))?")


def is_asked(header: Block) -> bool:
    """Whether a pragma asks for copies of the loop with this header."""
    return any(map(_ASKED.fullmatch, header.pragmas))


def as_asked(header: Block, decision: UnrollDecision) -> UnrollDecision:
    """What a pragma of the source asks for: `unroll N`, or `unroll` for all iterations."""
    for text in header.pragmas:
        found = _ASKED.fullmatch(text.strip())
        if found is None:
            continue
        why = f'.pragma "{text}"'
        n = int(found[1] or 0)
        if n == 1:
            return decision.none(UnrollCode.NOUNROLL, why)
        if decision.T is not None and (not n or n >= decision.T):
            return decision.full(why)
        if n:
            return decision.partial(n, why)
    return decision


def overridden(text: str, number: int, name: str = "") -> str:
    """Step H: "skip", "force" or "" for a block, by its number or its name."""
    if not text:
        return ""
    if text == "-" or f"-{number}-" in text or (name and f"-{name}-" in text):
        return "skip"
    if text == "+" or f"+{number}+" in text or (name and f"+{name}+" in text):
        return "force"
    return ""
