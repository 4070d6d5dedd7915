"""Memory: regions of bytes seen as words of each size, and who may touch what.

Global, const and kernel-parameter memory are allocations in one `Arena`, with unmapped bytes
between them, so a gather of any lanes is one numpy `take` whatever buffers they point to, and an
address that leaves its buffer is found. Shared memory is one region for all CTAs of a wave, local
memory one for all its threads; an address there is an offset that must stay within the CTA's or
thread's part.

Cost   An access looks at the least and the greatest address; only where these lie in different
       allocations is each lane searched for.
"""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np

from nvir.interp.layout import Array, align_up

GUARD = 256
NEAR = 1 << 32  # bytes behind an allocation up to which an address counts as having left it
PARAMETERS = "param block"  # the allocation that no pointer arithmetic leads out of


class Fault(Exception):
    """Internal: a lane did something wrong. The wave turns it into a LaunchError.

    `position` is the offending lane's place in the vector at hand, `address` what it named.
    """

    def __init__(
        self, message: str, position: int | None = None, address: int | None = None
    ) -> None:
        self.message, self.position, self.address = message, position, address
        self.lane: int | None = None
        super().__init__(message)


class ByteRegion:
    """Bytes, and the same bytes as unsigned words of 2, 4 and 8 bytes: `views[size]`.

    `written` is a shadow of which bytes were ever stored to, or None.
    """

    __slots__ = ("data", "size", "views", "written")

    def __init__(self, size: int, shadow: bool = False, data: Array | None = None) -> None:
        self.size = align_up(max(size, 16), 16)
        self.data = np.zeros(self.size, np.uint8) if data is None else data
        self.views = {n: self.data.view(f"u{n}") for n in (1, 2, 4, 8)}
        self.written: Array | None = np.zeros(self.size, bool) if shadow else None


class ArenaRange:
    """A named range `[start, end)` of the arena; `source` is the caller's array to copy back to."""

    __slots__ = ("end", "name", "read_only", "source", "start")

    def __init__(self, name: str, start: int, end: int, read_only: bool, source: Any) -> None:
        self.name, self.start, self.end = name, start, end
        self.read_only, self.source = read_only, source


class Arena(ByteRegion):
    """Global memory. Filled by `allocate` while `open`, then `seal` makes the bytes."""

    __slots__ = ("allocations", "base", "ends", "read_only", "starts", "top")

    def __init__(self, base: int) -> None:
        self.base = base
        self.top = GUARD
        self.allocations: list[ArenaRange] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.read_only: list[bool] = []
        self.size = 0

    def allocate(
        self, name: str, size: int, align: int = 256, read_only: bool = False, source: Any = None
    ) -> int:
        """Reserve bytes; returns the generic address. Only before `seal`."""
        start = align_up(self.top, max(align, 16))
        self.top = start + size + GUARD
        self.allocations.append(ArenaRange(name, start, start + size, read_only, source))
        self.starts.append(start)
        self.ends.append(start + size)
        self.read_only.append(read_only)
        return self.base + start

    def seal(self) -> None:
        """Make the memory, zeroed."""
        super().__init__(self.top)

    def bytes_at(self, address: int, size: int) -> Array:
        """The bytes of a range that was allocated, to read or to write."""
        start = address - self.base
        return self.data[start : start + size]

    def find(self, address: int) -> ArenaRange | None:
        """The allocation that holds a generic address."""
        offset = address - self.base
        k = bisect.bisect_right(self.starts, offset) - 1
        return self.allocations[k] if k >= 0 and offset < self.ends[k] else None

    def locate(self, addresses: Array, nbytes: int, write: bool) -> Array:
        """Byte offsets (int64) of accesses of `nbytes` at generic addresses; raises `Fault`."""
        wide = addresses.astype(np.uint64, copy=False)  # a narrow register may hold an address
        offsets: Array = (wide - np.uint64(self.base)).astype(np.int64, copy=False)
        if len(offsets) == 1:
            low = high = int(offsets[0])
        else:
            low, high = int(offsets.min()), int(offsets.max())
        k = bisect.bisect_right(self.starts, low) - 1
        if k >= 0 and high + nbytes <= self.ends[k] and not (write and self.read_only[k]):
            if nbytes > 1:
                check_alignment(offsets, addresses, nbytes)
            return offsets
        self._search(offsets, addresses, nbytes, write)
        if nbytes > 1:
            check_alignment(offsets, addresses, nbytes)
        return offsets

    def _search(self, offsets: Array, addresses: Array, nbytes: int, write: bool) -> None:
        """Check each lane's own allocation."""
        k = np.searchsorted(np.array(self.starts, np.int64), offsets, "right") - 1
        bad = (k < 0) | (offsets > np.array(self.ends, np.int64)[k] - nbytes)
        if bad.any():
            self._out_of_bounds(int(np.flatnonzero(bad)[0]), offsets, addresses, nbytes, write)
        if write:
            locked = np.array(self.read_only)[k]
            if locked.any():
                at = int(np.flatnonzero(locked)[0])
                name = self.allocations[int(k[at])].name
                raise Fault(f"store to read-only memory ({name})", at, int(addresses[at]))

    def _out_of_bounds(
        self, at: int, offsets: Array, addresses: Array, nbytes: int, write: bool
    ) -> None:
        offset = int(offsets[at])
        what = "store" if write else "load"
        k = bisect.bisect_right(self.starts, offset) - 1
        while k >= 0 and offset >= self.ends[k] and self.allocations[k].name == PARAMETERS:
            k -= 1
        near = ""
        if k >= 0 and offset < self.ends[k] + NEAR:
            a = self.allocations[k]
            size = a.end - a.start
            near = f", byte {offset - a.start} of {a.name} of {size} bytes"
        raise Fault(f"{what} of {nbytes} bytes out of bounds{near}", at, int(addresses[at]))


def check_alignment(offsets: Array, addresses: Array, nbytes: int) -> None:
    """Raise `Fault` where an access of a power of two bytes is not aligned to its size."""
    if int(np.bitwise_or.reduce(offsets)) & (nbytes - 1):
        at = int(np.flatnonzero(offsets & (nbytes - 1))[0])
        raise Fault(f"misaligned access of {nbytes} bytes", at, int(addresses[at]))


def locate_within(offsets: Array, limit: int, nbytes: int, write: bool, space: str) -> Array:
    """Offsets (int64) into a part of `limit` bytes of shared or local memory; raises `Fault`."""
    wide = offsets.astype(np.int64, copy=False)
    if len(wide) == 1:
        at = int(wide[0])
        if 0 <= at <= limit - nbytes and not at & (nbytes - 1):
            return wide
    if int(wide.max()) + nbytes > limit or int(wide.min()) < 0:
        at = int(np.flatnonzero((wide < 0) | (wide > limit - nbytes))[0])
        what = "store" if write else "load"
        raise Fault(
            f"{what} of {nbytes} bytes out of bounds in {space} memory of {limit} bytes",
            at, int(offsets[at]),
        )
    if nbytes > 1:
        check_alignment(wide, offsets, nbytes)
    return wide
