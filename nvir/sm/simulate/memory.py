"""Where memory accesses hit, and how soon the data is there.

An access passes the levels down to the one that holds its data: the first-level cache, the second,
DRAM. Each level is a server that moves some bytes a cycle for the whole SM, of which a
sub-partition has its share; an access waits there while earlier ones are served. Its latency is
that of the profile for the level where it hits, and the waiting on top.

Which access hits where is not known before a run. `shares` says how often it hits in each level;
the accesses are spread evenly (by multiples of the golden ratio), so a run needs no random numbers
and every stretch of it has the given mixture.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from nvir.ir.errors import NvirError
from nvir.sm.profile import MEMORY_LEVELS, Profile

GOLDEN = 0.6180339887498949
MEMORY_LEVEL = "l2"  # where loads of machine code are taken to hit, unless asked otherwise


def _shares(given: str | Mapping[str, float]) -> dict[str, float]:
    shares = {given: 1.0} if isinstance(given, str) else dict(given)
    for level in shares:
        if level not in MEMORY_LEVELS:
            known = ", ".join(MEMORY_LEVELS)
            raise NvirError(f"unknown memory level {level!r} (known: {known})")
    total = sum(shares.values())
    if total <= 0 or min(shares.values()) < 0:
        raise NvirError(f"shares of memory levels are positive, not {shares}")
    return {level: shares.get(level, 0.0) / total for level in MEMORY_LEVELS}


@attrs.frozen
class Memory:
    """How a run's global accesses behave.

    shares    how often an access hits in each level: a level's name for "always there", or a
              number a level, of which the proportions count
    sectors   32-byte sectors that the 32 lanes of an access touch, for each 4 bytes a lane
              reads: 4 where neighbours read neighbours, up to 32
    """

    shares: dict[str, float] = attrs.field(default="l1", converter=_shares)
    sectors: int = attrs.field(default=4)

    @sectors.validator
    def _in_range(self, _: object, value: int) -> None:
        if not 1 <= value <= 32:
            raise NvirError(f"an access of 32 lanes touches 1 to 32 sectors a word, not {value}")


class MemorySystem:
    """The state of one run's memory: until when each level is busy."""

    def __init__(self, memory: Memory, profile: Profile) -> None:
        self.memory = memory
        parts = profile.limits.subpartitions
        figures = profile.memory
        self.sector = float(figures.get("sector_bytes", 32))
        self.rate = {m: figures.get(f"{m}_bytes_per_cycle", 0.0) / parts for m in MEMORY_LEVELS}
        self.free = dict.fromkeys(MEMORY_LEVELS, 0.0)
        self.accesses = 0
        self._ways: dict[tuple[str, int], list[tuple[str, float]]] = {}  # cycles in each level
        self._always = next((m for m, share in memory.shares.items() if share == 1.0), None)

    def access(self, issue: int, width: int, latency: Mapping[str, int]) -> int:
        """The cycle in which an access of `width` bytes a lane, issued at `issue`, is complete.

        latency   cycles to each level
        """
        level = self._level()
        ways = self._ways.get((level, width))
        if ways is None:
            moved, rates = self.bytes_of(width), [(m, self.rate[m]) for m in self.passed(level)]
            ways = self._ways[level, width] = [(m, moved / rate) for m, rate in rates if rate]
        start, free = float(issue), self.free
        for passed, busy in ways:
            if free[passed] > start:
                start = free[passed]
            free[passed] = start + busy
        return int(start) + latency[level]

    def bytes_of(self, width: int) -> float:
        """What an access of `width` bytes a lane moves."""
        return max(1.0, width / 4) * self.memory.sectors * self.sector

    @staticmethod
    def passed(level: str) -> tuple[str, ...]:
        """The levels that an access passes which finds its data in this one."""
        return MEMORY_LEVELS[: MEMORY_LEVELS.index(level) + 1]

    def _level(self) -> str:
        if self._always is not None:
            return self._always
        point = self.accesses * GOLDEN % 1.0
        self.accesses += 1
        for level, share in self.memory.shares.items():
            if point < share:
                return level
            point -= share
        return next(m for m in reversed(MEMORY_LEVELS) if self.memory.shares[m])
