"""Register banks: the two of the real machine, and the notes' seven classes.

Real machines from sm_70 on have two banks, of the even and of the odd registers; an operation whose
three sources lie in one takes a cycle more (Jia et al., "Dissecting the NVIDIA Volta GPU
Architecture via Microbenchmarking", 2018). The notes split the registers into seven classes by
rising bounds (`Profile.banks`, a table) and let two operations of one class not issue in one cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nvir.sm.profile import RegisterBanks

PORTS = 2  # sources that one bank gives in a cycle


def is_conflict(sources: Iterable[int]) -> bool:
    """Whether more different sources lie in one bank than it has ports."""
    seen = set(sources)
    odd = sum(r & 1 for r in seen)
    return odd > PORTS or len(seen) - odd > PORTS


def placement(
    registers: Sequence[int], earliest: Sequence[int], banks: RegisterBanks
) -> list[int]:
    """A cycle for each operation, given its register and the earliest cycle it may have.

    In the order that is given, each takes the first cycle from its earliest on in which no other
    has a register of its class. Linear in operations and cycles skipped.
    """
    taken: set[tuple[int, int]] = set()
    out = []
    for register, cycle in zip(registers, earliest, strict=True):
        bank = banks.classify(register)[0]
        while (cycle, bank) in taken:
            cycle += 1
        taken.add((cycle, bank))
        out.append(cycle)
    return out
