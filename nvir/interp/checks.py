"""Optional checks: loads of bytes that nobody wrote, and races in shared memory.

Uninitialised   A shadow bit for each byte of shared and local memory.
Races           For each byte of shared memory who wrote it last and who read it since, with a clock
                of the CTA that ticks at its barriers and a clock of each warp that ticks at
                `bar.warp.sync`. Two accesses by different threads, one of them a store, conflict
                unless a tick of the CTA lies between, or a tick of the warp if both are of one
                warp. Atomics do not conflict with each other. A barrier for some threads of the
                CTA, and a wait on an mbarrier, count as a tick for all: no false alarm, but a race
                across them can be missed. A cp.async writes when it is issued and again when its
                thread has waited for it; between, nobody may touch the bytes. So does a bulk copy
                that an mbarrier counts, until a thread has seen the phase complete.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nvir.interp.layout import Array
from nvir.interp.memory import Fault

_Parts = list[tuple[Any, Array, Array | None]]


class Watch:
    """The checks of one wave. Called before each access; raises `Fault`."""

    def __init__(self, wave: Any, uninit: bool, race: bool) -> None:
        self.wave, self.uninit, self.race = wave, uninit, race
        self.ready = False
        # offset of an mbarrier -> (parity of the phase, first byte, bytes) of copies it counts
        self._counted: dict[int, list[tuple[int, int, int]]] = {}

    def _prepare(self) -> None:
        wave = self.wave
        size = wave.shared.size
        self.cta_clock = np.zeros(wave.n_ctas, np.int64)
        self.warp_clock = np.zeros(wave.n_warps, np.int64)
        self.writer = np.full(size, -1, np.int64)
        self.write_clock = np.full(size, -1, np.int64)
        self.write_warp_clock = np.full(size, -1, np.int64)
        self.write_atomic = np.zeros(size, bool)
        self.flying = np.zeros(size, bool)  # an asynchronous copy is on its way there
        self.reader = np.full(size, -1, np.int64)  # -2: more than one
        self.read_clock = np.full(size, -1, np.int64)
        self.read_warp_clock = np.full(size, -1, np.int64)
        self.ready = True

    # ---------------------------------------------------------- the clocks

    def barrier(self, done: Array) -> None:
        if self.race:
            if not self.ready:
                self._prepare()
            self.cta_clock[done] += 1

    def warp_barrier(self, warps: Array) -> None:
        if self.race:
            if not self.ready:
                self._prepare()
            self.warp_clock[warps] += 1

    def synchronised(self, c: Any) -> None:
        """Threads passed an mbarrier: taken as a tick of their CTAs."""
        done = np.zeros(self.wave.n_ctas, bool)
        done[self.wave.cta_of[c.lane_numbers()]] = True
        self.barrier(done)

    # -------------------------------------------------------- the accesses

    def _lanes(self, c: Any, offsets: Array, which: Array | None, pos: Array | None) -> Array:
        lanes = c.lane_numbers() if pos is None else c.lane_numbers()[pos]
        if c.mask is not None and pos is None:
            lanes = lanes[c.mask]
        lanes = lanes if which is None else lanes[which]
        one = len(lanes) != len(offsets) and len(offsets) == 1
        return np.asarray(lanes[:1] if one else lanes)

    def on_load(self, c: Any, parts: _Parts, pos: Array | None, access: Any) -> None:
        for region, offsets, which in parts:
            if self.uninit and region.written is not None:
                ok = region.written[offsets]
                for k in range(1, access.bytes):
                    ok = ok & region.written[offsets + k]
                if not ok.all():
                    at = int((~ok).argmax())
                    raise Fault(f"load of {access.bytes} bytes that were never written", at)
            if self.race and region is self.wave.shared:
                self._read(offsets, self._lanes(c, offsets, which, pos), access.bytes)

    def on_store(self, c: Any, parts: _Parts, pos: Array | None, access: Any) -> None:
        for region, offsets, which in parts:
            self._mark(region, offsets, access.bytes)
            if self.race and region is self.wave.shared:
                lanes = self._lanes(c, offsets, which, pos)
                self._write(offsets, lanes, access.bytes, False)

    def on_atomic(self, c: Any, parts: _Parts, pos: Array | None, access: Any) -> None:
        for region, offsets, which in parts:
            if self.uninit and region.written is not None and not region.written[offsets].all():
                at = int((~region.written[offsets]).argmax())
                raise Fault("an atomic operation on bytes that were never written", at)
            if self.race and region is self.wave.shared:
                lanes = self._lanes(c, offsets, which, pos)
                self._write(offsets, lanes, access.bytes, True)

    def on_issue(self, region: Any, offsets: Array, lanes: Array, size: int) -> None:
        """A cp.async of some lanes to these bytes begins."""
        self._mark(region, offsets, size)
        if self.race and region is self.wave.shared:
            self._write(offsets, lanes, size, False)
            for k in range(size):
                self.flying[offsets + k] = True

    def on_arrival(self, region: Any, offsets: Array, lanes: Array, size: int) -> None:
        """The bytes are there, for the lanes themselves; for others behind a barrier."""
        if self.race and region is self.wave.shared:
            now, _, warp_now = self._clocks(lanes)
            for k in range(size):
                at = offsets + k
                self.flying[at] = False
                self.writer[at], self.write_clock[at] = lanes, now
                self.write_warp_clock[at], self.write_atomic[at] = warp_now, False

    def on_bulk(
        self, region: Any, first: int, size: int, lane: int, barrier: int, parity: int
    ) -> None:
        """A bulk copy that a phase of an mbarrier counts begins."""
        self.on_issue(region, np.arange(first, first + size), np.full(size, lane), 1)
        if self.race and region is self.wave.shared:
            self._counted.setdefault(barrier, []).append((parity, first, size))

    def on_phase(self, barriers: Array, parities: Array) -> None:
        """Threads have seen phases complete: what these and earlier ones count is there."""
        if not self._counted:
            return
        for at, parity in set(zip(barriers.tolist(), parities.tolist(), strict=True)):
            copies = self._counted.get(at, [])
            done = max((k + 1 for k, c in enumerate(copies) if c[0] == parity), default=0)
            for _, first, size in copies[:done]:
                self.flying[first : first + size] = False
            del copies[:done]

    def _mark(self, region: Any, offsets: Array, size: int) -> None:
        if region.written is not None:
            for k in range(size):
                region.written[offsets + k] = True

    def _clocks(self, lanes: Array) -> tuple[Array, Array, Array]:
        warps = self.wave.warp_of[lanes]
        return self.cta_clock[self.wave.cta_of[lanes]], warps, self.warp_clock[warps]

    def _conflicts(
        self, other: Array, clock: Array, warp_clock: Array, lanes: Array, now: Array,
        warps: Array, warp_now: Array,
    ) -> Array:
        """Whether an earlier access by `other` is unordered with one by `lanes`."""
        same_warp = (other >= 0) & (self.wave.warp_of[np.maximum(other, 0)] == warps)
        ordered = same_warp & (warp_clock < warp_now)
        return np.asarray((other != -1) & (other != lanes) & (clock == now) & ~ordered)

    def _read(self, offsets: Array, lanes: Array, size: int) -> None:
        if not self.ready:
            self._prepare()
        now, warps, warp_now = self._clocks(lanes)
        self._landed(offsets, size, "read")
        for k in range(size):
            at = offsets + k
            bad = self._conflicts(
                self.writer[at], self.write_clock[at], self.write_warp_clock[at], lanes, now,
                warps, warp_now,
            )
            if bad.any():
                self._race("read", "written", int(bad.argmax()), self.writer[at])
            fresh = (self.read_clock[at] == now) & (self.reader[at] != -1)
            several = fresh & (self.reader[at] != lanes)
            self.reader[at] = np.where(several, -2, lanes)
            _, count = np.unique(at, return_counts=True)
            if (count > 1).any():
                repeated = np.unique(at)[count > 1]
                self.reader[repeated] = -2
            self.read_clock[at], self.read_warp_clock[at] = now, warp_now

    def _write(self, offsets: Array, lanes: Array, size: int, atomic: bool) -> None:
        if not self.ready:
            self._prepare()
        now, warps, warp_now = self._clocks(lanes)
        self._landed(offsets, size, "written")
        for k in range(size):
            at = offsets + k
            by_writer = self._conflicts(
                self.writer[at], self.write_clock[at], self.write_warp_clock[at], lanes, now,
                warps, warp_now,
            )
            if atomic:
                by_writer &= ~self.write_atomic[at]
            if by_writer.any():
                self._race("written", "written", int(by_writer.argmax()), self.writer[at])
            by_reader = self._conflicts(
                self.reader[at], self.read_clock[at], self.read_warp_clock[at], lanes, now, warps,
                warp_now,
            )
            if by_reader.any():
                self._race("written", "read", int(by_reader.argmax()), self.reader[at])
            if not atomic:
                self._several_writers(at, lanes)
            self.writer[at], self.write_clock[at] = lanes, now
            self.write_warp_clock[at], self.write_atomic[at] = warp_now, atomic

    def _landed(self, offsets: Array, size: int, done: str) -> None:
        for k in range(size):
            flying = self.flying[offsets + k]
            if flying.any():
                raise Fault(
                    f"race: shared memory is {done} while an asynchronous copy to it is under way",
                    int(flying.argmax()),
                )

    def _several_writers(self, at: Array, lanes: Array) -> None:
        if len(at) < 2:
            return
        order = np.argsort(at, kind="stable")
        same = np.flatnonzero(at[order][1:] == at[order][:-1])
        if len(same):
            later, earlier = int(order[same[0] + 1]), int(order[same[0]])
            self._race("written", "written", later, lanes[np.full(len(at), earlier)])

    def _race(self, now: str, before: str, at: int, others: Array) -> None:
        other = int(others[at])
        who = "other threads"
        if other >= 0:
            _, thread = self.wave.place_of(other)
            who = f"thread {thread}"
        raise Fault(
            f"race: shared memory is {now} that {who} has {before} with no barrier between", at
        )
