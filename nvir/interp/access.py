"""Loads and stores of lane vectors: from an address vector to bytes of a region and back.

    load = make_load(Access("shared", 4, 1, "u32", np.uint32))
    values = load(group, addresses, guard)

A vector is as wide as the group's (`group.m`), or of one element where all lanes agree; a load at
one address of global memory is one access for all. Lanes under a false guard, and lanes that have
exited, are left out. Stores to one address happen in the order of the lanes, so the highest wins.

A generic access is split where its lanes point to several windows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np

from nvir.interp.layout import Array
from nvir.interp.memory import ByteRegion, Fault, locate_within

Load = Callable[..., Any]


@attrs.frozen(cache_hash=True)
class LaneAccess:
    """One kind of access: `count` elements of `size` bytes each, in a state space.

    space     "global", "shared", "local" or "" (generic)
    signed    whether a load extends by the sign
    dtypes    dtype of each register that a load fills
    volatile  whether other threads are waited for (.volatile, .acquire …): never folded
    """

    space: str
    size: int
    count: int = 1
    signed: bool = False
    dtypes: tuple[Any, ...] = ()
    atomic: bool = False

    @property
    def bytes(self) -> int:
        return self.size * self.count


def positions(c: Any, addresses: Array, guard: Array | None) -> Array | None:
    """Which places of the group's vectors take part; None for all of them."""
    mask = c.mask
    if guard is not None:
        if len(guard) == 1:
            if not guard[0]:
                return _NOBODY
        else:
            mask = guard if mask is None else guard & mask
    if mask is None or (len(addresses) == 1 and guard is None):
        return None
    return np.flatnonzero(mask)


_NOBODY = np.zeros(0, np.int64)


def locate(
    c: Any, space: str, addresses: Array, pos: Array | None, nbytes: int, write: bool
) -> Iterator[tuple[ByteRegion, Array, Array | None]]:
    """(region, byte offsets, which of the given addresses) for each window; None is all."""
    wave = c.wave
    if space == "global":
        yield wave.arena, wave.arena.locate(addresses, nbytes, write), None
    elif space == "shared":
        yield wave.shared, shared_offsets(c, addresses, pos, nbytes, write), None
    elif space == "local":
        yield wave.local, local_offsets(c, addresses, pos, nbytes, write), None
    else:
        yield from _generic(c, addresses, pos, nbytes, write)


def shared_offsets(c: Any, addresses: Array, pos: Array | None, nbytes: int, write: bool) -> Array:
    """Offsets into the wave's shared memory; addresses above the span name a CTA by rank + 1."""
    wave = c.wave
    span = wave.windows.shared_span
    if int(addresses.max()) >= span:
        wide = addresses.astype(np.int64)
        rank = wide // span - 1
        offsets = locate_within(wide % span, wave.shared_size, nbytes, write, "shared")
        return np.asarray(offsets + wave.cluster_base(c, pos, rank))
    offsets = locate_within(addresses, wave.shared_size, nbytes, write, "shared")
    if wave.n_ctas == 1:
        return offsets
    base = c.shared_base()
    return np.asarray(offsets + (base if pos is None else base[pos]))


def local_offsets(c: Any, addresses: Array, pos: Array | None, nbytes: int, write: bool) -> Array:
    """Offsets into the threads' local memory."""
    stride = c.wave.local_stride
    offsets = locate_within(addresses, stride, nbytes, write, "local")
    lanes = c.lane_numbers()
    return np.asarray(offsets + (lanes if pos is None else lanes[pos]) * stride)


def _generic(
    c: Any, addresses: Array, pos: Array | None, nbytes: int, write: bool
) -> Iterator[tuple[ByteRegion, Array, Array | None]]:
    w = c.wave.windows
    kind = addresses.dtype.type
    low, high = int(addresses.min()), int(addresses.max())
    shared_end, local_end = w.shared + 512 * w.shared_span, w.local + w.local_span
    if high < w.shared or low >= local_end:
        yield c.wave.arena, c.wave.arena.locate(addresses, nbytes, write), None
    elif low >= w.shared and high < min(shared_end, w.local):
        offsets = addresses - kind(w.shared)
        yield c.wave.shared, shared_offsets(c, offsets, pos, nbytes, write), None
    elif low >= w.local and high < local_end:
        offsets = addresses - kind(w.local)
        yield c.wave.local, local_offsets(c, offsets, pos, nbytes, write), None
    else:
        yield from _mixed(c, addresses, pos, nbytes, write)


def _mixed(
    c: Any, addresses: Array, pos: Array | None, nbytes: int, write: bool
) -> Iterator[tuple[ByteRegion, Array, Array | None]]:
    """Each window's lanes by themselves."""
    w = c.wave.windows
    kind = addresses.dtype.type
    here = np.arange(c.m) if pos is None else pos
    in_shared = (addresses >= kind(w.shared)) & (addresses < kind(w.shared + 512 * w.shared_span))
    in_local = (addresses >= kind(w.local)) & (addresses < kind(w.local + w.local_span))
    rest = np.flatnonzero(~(in_shared | in_local))
    if len(rest):
        yield c.wave.arena, c.wave.arena.locate(addresses[rest], nbytes, write), rest
    shared, local = np.flatnonzero(in_shared), np.flatnonzero(in_local)
    if len(shared):
        offsets = addresses[shared] - kind(w.shared)
        found = shared_offsets(c, offsets, here[shared], nbytes, write)
        yield c.wave.shared, found, shared
    if len(local):
        offsets = addresses[local] - kind(w.local)
        yield c.wave.local, local_offsets(c, offsets, here[local], nbytes, write), local


def blame(fault: Fault, c: Any, pos: Array | None) -> Fault:
    """Give a fault its lane: the place in the vector that was looked at is known."""
    if fault.lane is None and fault.position is not None:
        at = fault.position
        if pos is not None and len(pos):
            at = int(pos[min(at, len(pos) - 1)])
        elif at == 0 and c.mask is not None:
            at = int(np.flatnonzero(c.mask)[0])
        fault.lane = int(c.lane_numbers()[min(at, c.m - 1)])
    return fault


@functools.lru_cache(maxsize=1024)
def make_load(access: LaneAccess) -> Load:
    """A function (group, addresses, guard=None) -> vector, or a tuple of `count` of them."""
    space, nbytes, count = access.space, access.bytes, access.count

    def load(c: Any, addresses: Array, guard: Array | None = None) -> Any:
        if c.wave.watch is not None:
            addresses = np.broadcast_to(addresses, (c.m,))
        pos = positions(c, addresses, guard)
        if pos is not None:
            if not len(pos):
                return _nothing(access)
            if len(addresses) > 1:
                addresses = addresses[pos]
        try:
            parts = list(locate(c, space, addresses, pos, nbytes, False))
            if c.wave.watch is not None:
                c.wave.watch.on_load(c, parts, pos, access)
        except Fault as fault:
            raise blame(fault, c, pos) from None
        out = [_join(access, parts, k, len(addresses)) for k in range(count)]
        if pos is not None:
            out = [_spread(x, pos, c.m) for x in out]
        return out[0] if count == 1 else tuple(out)

    return load


def _nothing(access: LaneAccess) -> Any:
    shape = (1, 2) if access.size == 16 else (1,)
    out = tuple(np.zeros(shape, d) for d in access.dtypes)
    return out[0] if access.count == 1 else out


def _spread(x: Array, pos: Array, m: int) -> Array:
    """Values of some lanes in a vector of all; one value stays one."""
    if len(x) == 1:
        return x
    out = np.zeros((m, *x.shape[1:]), x.dtype)
    out[pos] = x
    return out


def _join(
    access: LaneAccess, parts: list[tuple[ByteRegion, Array, Array | None]], k: int, n: int
) -> Array:
    """Element k of the vector that each lane loads."""
    if len(parts) == 1 and parts[0][2] is None:
        region, offsets, _ = parts[0]
        return gather(region, offsets, access, k)
    out: Array | None = None
    for region, offsets, which in parts:
        x = gather(region, offsets, access, k)
        if out is None:
            out = np.zeros((n, *x.shape[1:]), x.dtype)
        out[which] = x
    assert out is not None
    return out


_SHIFT = {1: 0, 2: 1, 4: 2, 8: 3}


def gather(region: ByteRegion, offsets: Array, access: LaneAccess, k: int = 0) -> Array:
    """The k-th element at each offset, extended to its register."""
    size, dtype = access.size, access.dtypes[k]
    if size == 16:
        at = (offsets >> 3) + 2 * k
        view = region.views[8]
        return np.stack((view.take(at), view.take(at + 1)), -1)
    at = offsets >> _SHIFT[size] if size > 1 else offsets
    x = region.views[size].take(at + k if k else at)
    if x.dtype == dtype:
        return x
    if access.signed:
        return x.view(f"i{size}").astype(f"i{np.dtype(dtype).itemsize}").view(dtype)
    return x.astype(dtype)


@functools.lru_cache(maxsize=1024)
def make_store(access: LaneAccess) -> Load:
    """A function (group, addresses, values, guard=None); `values` is a tuple of `count`."""
    space, nbytes = access.space, access.bytes

    def store(c: Any, addresses: Array, values: Any, guard: Array | None = None) -> None:
        if c.wave.watch is not None:
            addresses = np.broadcast_to(addresses, (c.m,))
        pos = positions(c, addresses, guard)
        if pos is None and c.mask is not None:
            pos = np.flatnonzero(c.mask)  # which lane is the last matters for the values
        if pos is not None:
            if not len(pos):
                return
            if len(addresses) > 1:
                addresses = addresses[pos]
            values = [x if len(x) == 1 else x[pos] for x in values]
        try:
            parts = list(locate(c, space, addresses, pos, nbytes, True))
            if c.wave.watch is not None:
                c.wave.watch.on_store(c, parts, pos, access)
        except Fault as fault:
            raise blame(fault, c, pos) from None
        c.wave.writes += 1
        for region, offsets, which in parts:
            for k, x in enumerate(values):
                scatter(region, offsets, access.size, x, k, which)

    return store


def scatter(
    region: ByteRegion, offsets: Array, size: int, x: Array, k: int = 0, which: Array | None = None
) -> None:
    """Store x (cut to `size` bytes) as the k-th element at each offset, in lane order."""
    if which is not None and len(x) > 1:
        x = x[which]
    if len(x) > len(offsets):
        x = x[-1:]  # all lanes to one address: the last one stays
    if size == 16:
        at = (offsets >> 3) + 2 * k
        region.views[8][at] = x[..., 0]
        region.views[8][at + 1] = x[..., 1]
        return
    at = offsets >> _SHIFT[size] if size > 1 else offsets
    view = region.views[size]
    if x.dtype != view.dtype:
        x = x.astype(view.dtype)
    view[at + k if k else at] = x
