"""Atomic operations: lanes that name one address act one after the other, in lane order.

Method   Distinct addresses are one gather, one operation, one scatter. Where several lanes share an
         address, sums, exchanges and equal compare-and-swaps have closed forms over the lanes
         sorted by address; everything else runs in rounds, in each of which every address occurs
         once.
f32      Additions in global memory flush subnormals, those in shared memory do not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from nvir.interp.access import LaneAccess, blame, locate, positions
from nvir.interp.layout import Array, register_dtype
from nvir.interp.meaning import Mods
from nvir.interp.meaning.atomic import atomic as meaning
from nvir.interp.meaning.atomic import operation
from nvir.interp.memory import ByteRegion, Fault
from nvir.interp.rows import unsupported
from nvir.interp.rows.memory import space_of, vector_length

_SHIFT = {1: 0, 2: 1, 4: 2, 8: 3}
Combine = Callable[[Array, Array, Array | None], Array]


@attrs.frozen
class Atomic:
    """One atomic operation: op and type, how it combines, and the size of an element."""

    op: str
    type: str
    size: int
    combine: Combine
    combine_shared: Combine


def perform(atomic: Atomic, region: ByteRegion, offsets: Array, b: Array, c: Array | None, k: int,
            flush: bool) -> Array:
    """Do it for all lanes (each with its own offset and operands); returns the old values."""
    at = offsets >> _SHIFT.get(atomic.size, 3)
    if atomic.size == 16:
        memory: Any = region.views[8].reshape(-1, 2)
        at = at >> 1
    else:
        memory = region.views[atomic.size]
    at = at + k
    combine = atomic.combine if flush else atomic.combine_shared
    if len(at) == 1:
        old = memory[at]
        memory[at] = combine(old, b, c)
        return np.asarray(old)
    order = np.argsort(at, kind="stable")
    sorted_at = at[order]
    first = np.ones(len(at), bool)
    np.not_equal(sorted_at[1:], sorted_at[:-1], out=first[1:])
    if first.all():
        old = memory[at]
        memory[at] = combine(old, b, c)
        return np.asarray(old)
    closed = _closed_form(
        atomic, memory, sorted_at, first, b[order], None if c is None else c[order]
    )
    if closed is None:
        closed = _rounds(
            memory, sorted_at, first, b[order], None if c is None else c[order], combine
        )
    out = np.empty_like(closed)
    out[order] = closed
    return out


def _closed_form(
    atomic: Atomic, memory: Array, at: Array, first: Array, b: Array, c: Array | None
) -> Array | None:
    """Old values in sorted order where they can be told at once; memory is updated."""
    starts = np.flatnonzero(first)
    lasts = np.append(starts[1:], len(at)) - 1
    segment = np.cumsum(first) - 1
    before = memory[at[starts]]
    if atomic.op == "add" and atomic.type[0] in "usb" and "x" not in atomic.type and b.ndim == 1:
        sums = np.cumsum(b, dtype=b.dtype)
        excluded = sums - b
        excluded = excluded - excluded[starts][segment]
        memory[at[starts]] = before + excluded[lasts] + b[lasts]
        return np.asarray(before[segment] + excluded)
    if atomic.op == "exch":
        old = np.empty_like(b)
        old[1:] = b[:-1]
        old[starts] = before
        memory[at[starts]] = b[lasts]
        return old
    if atomic.op == "cas" and b.ndim == 1:
        assert c is not None
        if (b == b[0]).all() and (c == c[0]).all():
            hit = before == b[0]
            old = np.where(hit[segment] & ~first, c[0], before[segment])
            memory[at[starts]] = np.where(hit, c[0], before)
            return np.asarray(old)
    return None


def _rounds(
    memory: Array, at: Array, first: Array, b: Array, c: Array | None, combine: Combine
) -> Array:
    """Each round takes the next lane of every address."""
    starts = np.flatnonzero(first)
    rank = np.arange(len(at)) - starts[np.cumsum(first) - 1]
    by_rank = np.argsort(rank, kind="stable")
    ends = np.cumsum(np.bincount(rank))
    old = np.empty((len(at), *b.shape[1:]), b.dtype)
    begin = 0
    for end in ends.tolist():
        now = by_rank[begin:end]
        here = at[now]
        value = memory[here]
        old[now] = value
        memory[here] = combine(value, b[now], None if c is None else c[now])
        begin = end
    return old


def make_atomic(access: LaneAccess, atomic: Atomic) -> Callable[..., Any]:
    """(group, addresses, operands, swap or None, guard) -> old values, or a tuple of them."""
    space, nbytes, count, size = access.space, access.bytes, access.count, access.size

    def operate(c: Any, addresses: Array, bs: Any, swap: Any = None, guard: Any = None) -> Any:
        pos = positions(c, _Wide, guard)
        n = c.m if pos is None else len(pos)
        if n == 0:
            return _empty(access)
        lanes = None if pos is None else pos

        def full(x: Array) -> Array:
            if len(x) == 1:
                return np.broadcast_to(x, (n, *x.shape[1:]))
            return x if lanes is None else x[lanes]

        where = full(addresses)
        operands = [full(_cut(b, size)) for b in bs]
        new = None if swap is None else full(_cut(swap, size))
        try:
            parts = list(locate(c, space, where, pos, nbytes, True))
            if c.wave.watch is not None:
                c.wave.watch.on_atomic(c, parts, pos, access)
        except Fault as fault:
            raise blame(fault, c, pos) from None
        results = [np.empty((n, *operands[k].shape[1:]), operands[k].dtype) for k in range(count)]
        for region, offsets, which in parts:
            flush = region is c.wave.arena
            for k in range(count):
                b = operands[k] if which is None else operands[k][which]
                s = new if which is None or new is None else new[which]
                old = perform(atomic, region, offsets, b, s, k, flush)
                if _stores(atomic.op, old, b, s):
                    c.wave.writes += 1
                results[k][slice(None) if which is None else which] = old
        out = (
            [_place(x, pos, c.m, access.dtypes[k]) for k, x in enumerate(results)]
            if access.dtypes
            else []
        )
        return out[0] if len(out) == 1 else tuple(out)

    return operate


def _stores(op: str, old: Array, b: Array, swap: Array | None) -> bool:
    """Whether memory may be another behind it. A lock that is held, and a sum with 0, leave it."""
    if op == "cas":
        return bool(((old == b) & (b != swap)).any())
    return bool((old != b).any() if op == "exch" else op not in ("add", "or", "xor") or b.any())


_Wide = np.zeros(2)  # for `positions`: an atomic is never one access for all lanes


def _empty(access: LaneAccess) -> Any:
    out = tuple(np.zeros((1, 2) if access.size == 16 else 1, d) for d in access.dtypes)
    return out[0] if len(out) == 1 else out


def _cut(x: Array, size: int) -> Array:
    if size == 16 or x.dtype.itemsize == size:
        return x
    return x.astype(f"u{size}")


def _place(x: Array, pos: Array | None, m: int, dtype: Any) -> Array:
    x = x.astype(dtype, copy=False)
    if pos is None:
        return x
    out = np.zeros((m, *x.shape[1:]), x.dtype)
    out[pos] = x
    return out


def atomic_of(i: Any) -> Atomic:
    """The operation that an `atom`, `red` or `red.async` spells."""
    form = i.form
    type = form.type
    mods = Mods.parse(form.name, form.mods)
    op = operation(mods)
    if type is None or type.bits not in (16, 32, 64, 128):
        raise unsupported(i)
    return Atomic(
        op,
        type.name,
        type.bits // 8,
        functools.partial(meaning, mods, flush=True),
        functools.partial(meaning, mods),
    )


def emit(e: Any) -> None:
    """atom and red."""
    i = e.instr
    form = i.form
    atomic = atomic_of(i)
    base, offset = form.addresses[0]
    address, symbol_space = e.address(base, offset)
    space = space_of(e, form, symbol_space)
    count = vector_length(form)
    first = 1 + (offset >= 0)
    bs = [e.source(first + k, atomic.type) for k in range(count)]
    swap = e.source(first + count, atomic.type) if atomic.op == "cas" else "None"
    dtypes = tuple(register_dtype(r.type) for r in i.results)
    f = e.bind(make_atomic(LaneAccess(space, atomic.size, count, False, dtypes, True), atomic))
    call = f"{f}(c, {address}, ({', '.join(bs)},), {swap}, {e.guard or 'None'})"
    e.results(call, multiple=len(dtypes) > 1)


EMITTERS = {"atom": emit, "red": emit, "multimem.red": emit}
