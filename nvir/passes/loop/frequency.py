"""How often a block runs, as it says itself: `.pragma "frequency N"`, a profile's flag "cold"."""

from __future__ import annotations

import re

from nvir.ir import Block

_SAID = re.compile(r"frequency\s+(\d+)")


def said_frequency(block: Block) -> int | None:
    """What the block's pragma says, the last of several; None without one."""
    found = [int(m[1]) for text in block.pragmas if (m := _SAID.fullmatch(text.strip()))]
    return found[-1] if found else None


def is_cold(block: Block) -> bool:
    """Whether a profile calls the block cold, or its pragma says that it never runs."""
    return "cold" in block.flags or said_frequency(block) == 0


def carry(block: Block, to: Block) -> None:
    """Let a block that runs as often say what one that is joined to it said."""
    to.flags |= block.flags & {"cold"}
    if said_frequency(to) is None:
        to.pragmas += tuple(text for text in block.pragmas if _SAID.fullmatch(text.strip()))
