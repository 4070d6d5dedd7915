"""Asynchronous copies: cp.async with its groups, bulk copies and reductions, st.async, red.async.

cp.async      The addresses are checked when it is issued, but the bytes move only when a wait of
              the thread covers its group (or an mbarrier arrival is asked for), so that a kernel
              without the wait reads what was there before.
Bulk          Copies move at once and then count their bytes on the mbarrier; groups need no
              waiting. The race check has the bytes on their way until a phase is waited for.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from nvir.interp.access import blame, locate, positions
from nvir.interp.layout import Array
from nvir.interp.memory import ByteRegion, Fault
from nvir.interp.rows import unsupported
from nvir.interp.rows.atoms import Atomic, atomic_of, make_atomic, perform
from nvir.interp.rows.memory import _SPACES, space_of, vector_length
from nvir.interp.rows.objects import _EVERY, add_bytes, arrive, object_address, unpack, update
from nvir.ir.types import PRED


@attrs.define(eq=False)
class _AsyncCopies:
    """Copies of one cp.async that have not been done, one for each lane in `lanes`."""

    lanes: Array
    group: Array
    target: ByteRegion
    to: Array
    source: ByteRegion
    of: Array
    size: int
    read: Array | None  # bytes to read where fewer than size, the rest is zero

    def keep(self, p: Array) -> _AsyncCopies:
        read = None if self.read is None else self.read[p]
        return attrs.evolve(
            self, lanes=self.lanes[p], group=self.group[p], to=self.to[p], of=self.of[p], read=read
        )

    def perform(self, watch: Any = None) -> None:
        if watch is not None:
            watch.on_arrival(self.target, self.to, self.lanes, self.size)
        step = min(self.size, 8)
        shift = step.bit_length() - 1
        for k in range(self.size // step):
            data = self.source.views[step][(self.of >> shift) + k]
            if self.read is not None:
                left = np.clip(self.read.astype(np.int64) - k * step, 0, step).astype(np.uint64)
                mask = np.where(left >= 8, ~np.uint64(0), (np.uint64(1) << 8 * left) - np.uint64(1))
                data = data & mask.astype(data.dtype)
            self.target.views[step][(self.to >> shift) + k] = data


class _Pending:
    """The cp.async of a wave under way, and how many groups each lane has committed."""

    def __init__(self, wave: Any) -> None:
        self.committed = np.zeros(wave.n, np.int64)
        self.watch = wave.watch
        self.copies: list[_AsyncCopies] = []

    def finish(self, lanes: Array, limit: Array | None) -> None:
        """Do the copies of the marked lanes whose group is below the lane's limit."""
        rest = []
        for c in self.copies:
            due = lanes[c.lanes]
            if limit is not None:
                due = due & (c.group < limit[c.lanes])
            if due.any():
                c.keep(due).perform(self.watch)
                if due.all():
                    continue
                rest.append(c.keep(~due))
            else:
                rest.append(c)
        self.copies = rest


def pending(wave: Any) -> _Pending:
    found = wave.state.get("copies")
    if found is None:
        found = wave.state["copies"] = _Pending(wave)
    return found  # type: ignore[no-any-return]


def _active(c: Any, guard: Array | None) -> Array:
    """Which lanes of the wave execute."""
    out = np.zeros(c.wave.n, bool)
    if guard is None:
        out[c.sel] = True
        return out
    here = np.broadcast_to(guard, (c.m,))
    if c.mask is not None:
        here = here & c.mask
    out[c.lane_numbers()[here]] = True
    return out


def emit_copy(e: Any) -> None:
    """cp.async of 4, 8 or 16 bytes a thread."""
    i = e.instr
    form = i.form
    to, of = e.address(*form.addresses[0]), e.address(*form.addresses[1])
    k = 2 + sum(o >= 0 for _, o in form.addresses)
    size = int(i.operands[k].value)
    rest = form.n_sources - k - 1 - ("L2::cache_hint" in form.mods)
    read = "None"
    if rest > 0:
        value = i.operands[k + 1]
        if value.type is PRED:
            zero, full = e.constant(0, np.uint32), e.constant(size, np.uint32)
            read = f"where({e.source(k + 1, 'pred')}, {zero}, {full})"
        else:
            read = e.source(k + 1, "u32")
    source_space = "global" if "global" in form.mods else ""
    guard = e.guard or "None"
    issue = e.bind(_issue)
    e.line(f"{issue}(c, {to[0]}, {of[0]}, {source_space!r}, {size}, {read}, {guard})")


def _issue(
    c: Any, to: Array, of: Array, space: str, size: int, read: Array | None, guard: Array | None
) -> None:
    pos = positions(c, _EVERY, guard)
    lanes = np.arange(c.m) if pos is None else pos
    if not len(lanes):
        return
    state = pending(c.wave)

    def all_of(x: Array) -> Array:
        return np.broadcast_to(x, (c.m,))[lanes]

    numbers = c.lane_numbers()[lanes]
    try:
        ((target, to_at, _),) = locate(c, "shared", all_of(to), lanes, size, True)
        sources = _sources(
            c, space, all_of(of), lanes, size, None if read is None else all_of(read)
        )
        if c.wave.watch is not None:
            to_all = np.broadcast_to(to_at, numbers.shape)
            c.wave.watch.on_issue(target, to_all, numbers, size)
    except Fault as fault:
        raise blame(fault, c, lanes) from None
    for source, of_at, which in sources:
        mine = slice(None) if which is None else which
        state.copies.append(
            _AsyncCopies(
                numbers[mine],
                state.committed[numbers[mine]],
                target,
                np.broadcast_to(to_at, numbers.shape)[mine],
                source,
                of_at,
                size,
                None if read is None else all_of(read)[mine],
            )
        )


def _sources(
    c: Any, space: str, of: Array, lanes: Array, size: int, read: Array | None
) -> list[tuple[ByteRegion, Array, Array | None]]:
    """Where the bytes come from. A lane that reads none may name any address."""
    if read is None:
        return list(locate(c, space, of, lanes, size, False))
    some = np.flatnonzero(read)
    parts: list[tuple[ByteRegion, Array, Array | None]] = []
    if len(some):
        for region, at, which in locate(c, space, of[some], lanes[some], 1, False):
            parts.append((region, at, some if which is None else some[which]))
    none = np.flatnonzero(read == 0)
    if len(none):
        parts.append((c.wave.arena, np.zeros(len(none), np.int64), none))
    return parts


def emit_commit(e: Any) -> None:
    e.line(f"{e.bind(_commit)}(c, {e.guard or 'None'})")


def _commit(c: Any, guard: Array | None) -> None:
    pending(c.wave).committed[_active(c, guard)] += 1


def emit_wait_group(e: Any) -> None:
    n = int(e.instr.operands[0].value) & 0xFFFFFFFF  # as ptxas reads it
    e.line(f"{e.bind(_wait)}(c, {n}, {e.guard or 'None'})")


def emit_wait_all(e: Any) -> None:
    e.line(f"{e.bind(_wait)}(c, None, {e.guard or 'None'})")


def _wait(c: Any, newest: int | None, guard: Array | None) -> None:
    state = pending(c.wave)
    limit = None if newest is None else state.committed - newest
    state.finish(_active(c, guard), limit)


def emit_mbarrier_arrive(e: Any) -> None:
    """Arrive when the thread's copies are done: they are done now."""
    text, space = object_address(e)
    guard = e.guard or "None"
    e.line(f"{e.bind(_wait)}(c, None, {guard})")
    if "noinc" in e.instr.form.mods:
        change = e.bind(lambda word: arrive(word, 1))
        e.line(f"{e.bind(update)}(c, {space!r}, {text}, {guard}, {change})")


# ------------------------------------------------------------------ bulk copies


def emit_bulk(e: Any) -> None:
    """cp.async.bulk and cp.reduce.async.bulk."""
    i = e.instr
    form = i.form
    spaces = [_SPACES[m] for m in form.mods if m in _SPACES and m]
    if "cp_mask" in form.mods or len(spaces) < 2 or len(form.addresses) < 2:
        raise unsupported(i)
    to, of = e.address(*form.addresses[0])[0], e.address(*form.addresses[1])[0]
    k = 2 + sum(o >= 0 for _, o in form.addresses[:2])
    size = e.source(k, "u32")
    barrier = e.address(*form.addresses[2])[0] if len(form.addresses) > 2 else "None"
    multicast = "None"
    if "multicast::cluster" in form.mods:
        last = form.n_sources - 1 - ("L2::cache_hint" in form.mods)
        multicast = e.source(last, "u16")
    atomic = e.bind(atomic_of(i)) if form.name.startswith("cp.reduce") else "None"
    e.line(
        f"{e.bind(_bulk)}(c, {spaces[0]!r}, {to}, {spaces[1]!r}, {of}, {size}, {barrier}, "
        f"{multicast}, {atomic}, {e.guard or 'None'})"
    )


def _bulk(
    c: Any, to_space: str, to: Array, of_space: str, of: Array, size: Array, barrier: Array | None,
    multicast: Array | None, atomic: Atomic | None, guard: Array | None,
) -> None:
    pos = positions(c, _EVERY, guard)
    lanes = np.arange(c.m) if pos is None else pos
    for k in lanes.tolist():
        here = np.array([k])

        def one(x: Array, k: int = k) -> Array:
            return x if len(x) == 1 else x[k : k + 1]

        n = int(one(size)[0])
        try:
            if n % 16:
                raise Fault(f"a bulk copy of {n} bytes: a multiple of 16 is needed")
            ranks = _ranks(c, None if multicast is None else int(one(multicast)[0]))
            for rank in ranks:
                target = _remote(c, one(to), rank)
                _move(c, here, to_space, target, of_space, one(of), n, atomic)
                if barrier is not None:
                    counter = _remote(c, one(barrier), rank)
                    if c.wave.watch is not None and n and atomic is None:
                        _watch(c, here, to_space, target, n, counter)
                    _count(c, here, counter, n)
        except Fault as fault:
            fault.lane = int(c.lane_numbers()[k])
            raise
    if len(lanes):
        c.wave.writes += 1


def _ranks(c: Any, mask: int | None) -> list[int | None]:
    if mask is None:
        return [None]
    return [r for r in range(c.wave.launch.cluster_size) if mask >> r & 1]


def _remote(c: Any, address: Array, rank: int | None) -> Array:
    """The address that means the same place in the CTA of that rank."""
    if rank is None:
        return address
    span = c.wave.windows.shared_span
    return np.asarray(address % address.dtype.type(span) + address.dtype.type((rank + 1) * span))


def _span(
    c: Any, here: Array, space: str, address: Array, n: int, write: bool
) -> tuple[ByteRegion, int]:
    """The region and first byte of n bytes that lie together."""
    if int(address[0]) % 16:
        raise Fault("a bulk copy must be aligned to 16 bytes", 0, int(address[0]))
    ((region, first, _),) = locate(c, space, address, here, 8, write)
    last = address + address.dtype.type(n - 8)
    ((_, end, _),) = locate(c, space, last, here, 8, write)
    if int(end[0]) - int(first[0]) != n - 8:
        raise Fault(f"{n} bytes out of bounds", 0, int(address[0]))
    return region, int(first[0])


def _move(
    c: Any, here: Array, to_space: str, to: Array, of_space: str, of: Array, n: int,
    atomic: Atomic | None,
) -> None:
    if n == 0:
        return
    source, of_at = _span(c, here, of_space, of, n, False)
    target, to_at = _span(c, here, to_space, to, n, True)
    if atomic is None:
        target.data[to_at : to_at + n] = source.data[of_at : of_at + n]
        if target.written is not None:
            target.written[to_at : to_at + n] = True
        return
    offsets = np.arange(to_at, to_at + n, atomic.size)
    values = source.data[of_at : of_at + n].view(f"u{atomic.size}")
    perform(atomic, target, offsets, values, None, 0, False)


def _watch(c: Any, here: Array, space: str, to: Array, n: int, barrier: Array) -> None:
    """Tell the checks of a copy that the present phase of an mbarrier counts."""
    region, first = _span(c, here, space, to, n, True)
    ((counters, at, _),) = locate(c, "shared", barrier, here, 8, True)
    *_, parity = unpack(int(counters.views[8][int(at[0]) >> 3]))
    lane = int(c.lane_numbers()[int(here[0])])
    c.wave.watch.on_bulk(region, first, n, lane, int(at[0]), parity)


def _count(c: Any, here: Array, barrier: Array, n: int) -> None:
    """n bytes have come at an mbarrier."""
    for region, at, _ in locate(c, "shared", barrier, here, 8, True):
        words = region.views[8]
        words[at >> 3] = add_bytes(int(words[int(at[0]) >> 3]), -n)


def emit_async_store(e: Any) -> None:
    """st.async and red.async: the operation now, then its bytes on the mbarrier."""
    i = e.instr
    form = i.form
    address, symbol_space = e.address(*form.addresses[0])
    space = space_of(e, form, symbol_space) or "shared"
    count = vector_length(form)
    first = 2 if form.addresses[0][1] >= 0 else 1
    type = form.type
    values = [e.source(first + k, type.name) for k in range(count)]
    guard = e.guard or "None"
    from nvir.interp.access import LaneAccess, make_store

    access = LaneAccess(space, type.bits // 8, count, atomic=form.name == "red.async")
    if form.name == "red.async":
        f = e.bind(make_atomic(access, atomic_of(i)))
        e.line(f"{f}(c, {address}, ({', '.join(values)},), None, {guard})")
    else:
        e.line(f"{e.bind(make_store(access))}(c, {address}, ({', '.join(values)},), {guard})")
    if len(form.addresses) > 1:
        barrier = e.address(*form.addresses[1])[0]
        change = e.bind(lambda word: add_bytes(word, -access.bytes))
        e.line(f"{e.bind(update)}(c, 'shared', {barrier}, {guard}, {change})")


def emit_bulk_store(e: Any) -> None:
    """st.bulk: zeros."""
    i = e.instr
    base, offset = i.form.addresses[0]
    address, symbol_space = e.address(base, offset)
    space = space_of(e, i.form, symbol_space)
    size = e.source(2 if offset >= 0 else 1, "u64")
    e.line(f"{e.bind(_zero)}(c, {space!r}, {address}, {size}, {e.guard or 'None'})")


def _zero(c: Any, space: str, address: Array, size: Array, guard: Array | None) -> None:
    pos = positions(c, _EVERY, guard)
    lanes: Array = np.arange(c.m) if pos is None else pos
    for k in lanes.tolist():
        n = int(size[0] if len(size) == 1 else size[k])
        try:
            if n % 8:
                raise Fault(f"st.bulk of {n} bytes: a multiple of 8 is needed")
            if n:
                where = address if len(address) == 1 else address[k : k + 1]
                region, at = _span(c, np.array([k]), space, where, n, True)
                region.data[at : at + n] = 0
                if region.written is not None:
                    region.written[at : at + n] = True
        except Fault as fault:
            fault.lane = int(c.lane_numbers()[k])
            raise
    c.wave.writes += 1


def emit_nothing(e: Any) -> None:
    """Bulk copies are done when they are issued."""


EMITTERS = {
    "cp.async": emit_copy, "cp.async.commit_group": emit_commit,
    "cp.async.wait_group": emit_wait_group, "cp.async.wait_all": emit_wait_all,
    "cp.async.mbarrier.arrive": emit_mbarrier_arrive, "cp.async.bulk": emit_bulk,
    "cp.reduce.async.bulk": emit_bulk, "cp.async.bulk.commit_group": emit_nothing,
    "cp.async.bulk.wait_group": emit_nothing, "st.bulk": emit_bulk_store,
    "st.async": emit_async_store,
    "red.async": emit_async_store,
}
