"""Placement by slack on pipes with intervals: recurrences tight, lifetimes short.

Distances between all pairs of operations at an II give each operation the window in which it may
still start, given those that are placed. A start within its window leaves every other window open,
so only slots and pipes can make a placement fail. Next is always the operation of the smallest
window; it starts as early as it can where that ends lives of more registers than it begins, else as
late. Where all of its slots are taken it evicts.

Then lives are shortened: each operation in turn is taken out and put where the lives of its value
and operands are least in sum. An operand whose maker can follow, because nothing else reads it,
counts as what its maker reads, so that whole chains move up to their use.

Cost    about 20 us an operation and placement, and the distances: O(n^3) in numpy, 7 ms for 180
        operations, once an II.
Source  R. Huff, "Lifetime-Sensitive Modulo Scheduling", PLDI 1993
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from nvir.sm.loopgraph import LoopGraph
from nvir.sm.schedule.ims import weights_at
from nvir.sm.schedule.lifetimes import Values, measure

NEVER = -(1 << 40)
PLACEMENTS = 5  # of each operation, in one attempt
TIGHT = 0.6  # share of the kernel from which on a pipe's operations are put side by side
FOLLOWED = 4  # makers behind makers that are taken to follow


def distances(found: LoopGraph, ii: int) -> Any | None:
    """The least number of cycles from each operation to each other at an II, as an array.

    None where a recurrence asks for more than II.
    """
    import numpy as np

    n = len(found.operations)
    d = np.full((n, n), NEVER, dtype=np.int64)
    np.fill_diagonal(d, 0)
    for src, dst, latency, distance in found.graph.edges:
        weight = latency - distance * ii
        if weight > d[src, dst]:
            d[src, dst] = weight
    for k in range(n):
        row, column = d[k], d[:, k]
        some = column > NEVER // 2
        if some.any():
            d[some] = np.maximum(d[some], column[some, None] + row)
    if (np.diagonal(d) > 0).any():
        return None
    return d


def place(
    found: LoopGraph, ii: int, values: Values, seeds: Sequence[int], *, first: bool = False
) -> tuple[int, list[int], list[str]] | None:
    """(MaxLive, times, pipes) of the attempt with the fewest registers; None where all fail.

    first   the first attempt that succeeds is enough
    """
    d = distances(found, ii)
    if d is None:
        return None
    best = None
    for seed in seeds:
        attempt = Placement(found, ii, d, values, seed)
        if attempt.fill(PLACEMENTS * len(found.operations) + 20):
            times = [int(t) for t in attempt.times if t is not None]
            made = Shortener(found, ii, times, attempt.table, values).run()
            if best is None or made[0] < best[0]:
                best = made
            if first:
                break
    return best


class Table:
    """Which slots issue, and which units of pipes are busy in them, at one II."""

    def __init__(self, found: LoopGraph, ii: int) -> None:
        self.found, self.ii = found, ii
        self.full = (1 << ii) - 1
        self.width = found.profile.issue_width or len(found.operations)
        self.issued = [0] * ii
        self.closed = 0
        pipes = found.profile.pipes
        self.units = {p: [0] * pipes[p].units for names in set(found.pipes) for p in names}
        self.load = dict.fromkeys(self.units, 0)
        for names, cycles in zip(found.pipes, found.interval, strict=True):
            if len(names) == 1:
                self.load[names[0]] += cycles
        self.taken: list[tuple[int, str, int] | None] = [None] * len(found.operations)
        self.tight = {p for p, k in self.load.items() if k > TIGHT * ii * pipes[p].units}

    def mask(self, slot: int, cycles: int) -> int:
        bits = ((1 << min(cycles, self.ii)) - 1) << slot
        return (bits | bits >> self.ii) & self.full

    def starts(self, n: int) -> int:
        """The slots in which an operation could start now, as bits."""
        free = self.full & ~self.closed
        names = self.found.pipes[n]
        if not names:
            return free
        some = 0
        for p in names:
            for busy in self.units[p]:
                some |= self.room(busy, self.found.interval[n])
        return free & some

    def snug(self, n: int) -> int:
        """Of these, the slots that leave no gap on a crowded pipe; all where it has room."""
        names, cycles = self.found.pipes[n], self.found.interval[n]
        if cycles == 1 or not self.tight.issuperset(names):
            return self.starts(n)
        some, ii = 0, self.ii
        for p in names:
            for busy in self.units[p]:
                room = self.room(busy, cycles)
                if busy:
                    turn = cycles % ii
                    room &= (busy << 1 | busy >> (ii - 1)) | (busy >> turn | busy << (ii - turn))
                some |= room
        return some & self.full & ~self.closed

    def room(self, busy: int, cycles: int) -> int:
        free = found = self.full & ~busy
        for k in range(1, min(cycles, self.ii)):
            found &= free >> k | (free << (self.ii - k) & self.full)
        return found

    @classmethod
    def of(
        cls, found: LoopGraph, ii: int, times: Sequence[int], pipes: Sequence[str]
    ) -> Table | None:
        """The table of a schedule; None where its pipes have no units side by side for it."""
        table = cls(found, ii)
        for n, (t, p) in enumerate(zip(times, pipes, strict=True)):
            if not table.put(n, t % ii, (p,) if p else ()):
                return None
        return table

    @property
    def pipes(self) -> list[str]:
        """The pipe of each operation."""
        return [t[1] if t is not None else "" for t in self.taken]

    def put(self, n: int, slot: int, pipes: tuple[str, ...] | None = None) -> bool:
        """Start an operation in a slot, on the pipe with the least to do; whether there is one.

        pipes   of which it may take one; all that it can run on by default
        """
        if self.closed >> slot & 1:
            return False
        names, cycles = self.found.pipes[n], self.found.interval[n]
        if pipes is not None:
            names = pipes
        bits = self.mask(slot, cycles)
        best: tuple[int, str, int] | None = None
        for p in names:
            for k, busy in enumerate(self.units[p]):
                if not busy & bits and (best is None or self.load[p] < best[0]):
                    best = (self.load[p], p, k)
                    break
        if names and best is None:
            return False
        name, unit = (best[1], best[2]) if best is not None else ("", 0)
        if name:
            self.units[name][unit] |= bits
            if len(self.found.pipes[n]) > 1:
                self.load[name] += cycles
        self.taken[n] = (slot, name, unit)
        self.issued[slot] += 1
        if self.issued[slot] >= self.width:
            self.closed |= 1 << slot
        return True

    def leave(self, n: int) -> None:
        held = self.taken[n]
        assert held is not None
        slot, name, unit = held
        self.taken[n] = None
        self.issued[slot] -= 1
        self.closed &= ~(1 << slot)
        if name:
            cycles = self.found.interval[n]
            self.units[name][unit] &= ~self.mask(slot, cycles)
            if len(self.found.pipes[n]) > 1:
                self.load[name] -= cycles

    def in_the_way(self, n: int, slot: int) -> list[int]:
        """Who has to leave so that an operation can start in a slot."""
        gone: list[int] = []
        bits = self.mask(slot, self.found.interval[n])
        names = self.found.pipes[n]
        best: list[int] | None = None
        for p in names:
            for k in range(len(self.units[p])):
                holders = [
                    m for m, t in enumerate(self.taken)
                    if t is not None and t[1] == p and t[2] == k
                    and self.mask(t[0], self.found.interval[m]) & bits
                ]
                if best is None or len(holders) < len(best):
                    best = holders
        gone += best or []
        if self.closed >> slot & 1 and not any(
            t is not None and t[0] == slot for t in (self.taken[m] for m in gone)
        ):
            gone.append(next(m for m, t in enumerate(self.taken) if t is not None and t[0] == slot))
        return gone


class Placement:
    """One attempt at an II. `times` are right once `fill` says so."""

    def __init__(
        self, found: LoopGraph, ii: int, d: Any, values: Values, seed: int = 0
    ) -> None:
        import numpy as np

        self.np, self.found, self.ii, self.d, self.values = np, found, ii, d, values
        self.count = len(found.operations)
        self.table = Table(found, ii)
        self.times: list[int | None] = [None] * self.count
        self.random = random.Random(seed) if seed else None
        self.seed = seed
        self.early0 = np.maximum(d.max(axis=0), 0)
        self.tail = np.maximum(d.max(axis=1), 0)
        self.length = int((self.early0 + self.tail).max()) + ii
        self.weight = _urgency(found, ii)
        self.ends = _balance(values)

    def fill(self, budget: int) -> bool:
        """Place all; False where the budget of placements ends before."""
        np = self.np
        self._windows()
        last: list[int] = [NEVER] * self.count
        waiting = np.ones(self.count, dtype=bool)
        left = self.count
        while left:
            if budget == 0:
                return False
            budget -= 1
            n = self._next(waiting)
            low, high = int(self.early[n]), int(self.late[n])
            t = self._slot(n, low, high)
            if t is None:
                t = max(low, last[n] + 1)
                gone = self.table.in_the_way(n, t % self.ii)
                for m in range(self.count):
                    tm = self.times[m]
                    if tm is not None and m not in gone and (
                        tm - t < self.d[n, m] or t - tm < self.d[m, n]
                    ):
                        gone.append(m)
                for m in gone:
                    self.table.leave(m)
                    self.times[m] = None
                    waiting[m] = True
                    left += 1
                self.table.put(n, t % self.ii)
                self.times[n] = last[n] = t
                self._windows()
            else:
                self.table.put(n, t % self.ii)
                self.times[n] = last[n] = t
                np.maximum(self.early, t + self.d[n], out=self.early)
                np.minimum(self.late, t - self.d[:, n], out=self.late)
            waiting[n] = False
            left -= 1
        return True

    def _windows(self) -> None:
        np = self.np
        self.early = self.early0.copy()
        self.late = self.length - self.tail
        for m, t in enumerate(self.times):
            if t is not None:
                np.maximum(self.early, t + self.d[m], out=self.early)
                np.minimum(self.late, t - self.d[:, m], out=self.late)

    def _next(self, waiting: Any) -> int:
        np = self.np
        slack = (self.late - self.early) * self.weight
        if self.random is not None:
            noise = [self.random.random() for _ in range(self.count)]
            slack = slack * (1 + 0.5 * np.array(noise))
        slack = np.where(waiting, slack, 1 << 40)
        return int(np.argmin(slack))

    def _slot(self, n: int, low: int, high: int) -> int | None:
        """A free start in the window, or behind it where only the length ends it."""
        for starts in (self.table.snug(n), self.table.starts(n)):
            t = self._first(n, low, high, starts) if starts else None
            if t is not None:
                return t
        return None

    def _first(self, n: int, low: int, high: int, starts: int) -> int | None:
        ii = self.ii
        placed_after = any(
            self.times[m] is not None and self.d[n, m] > NEVER // 2
            for m in range(self.count) if m != n
        )
        top = min(high, low + ii - 1) if placed_after else low + ii - 1
        if self.ends[n] >= 0 or not placed_after:
            for t in range(low, top + 1):
                if starts >> (t % ii) & 1:
                    return t
        else:
            bottom = max(low, high - ii + 1)
            for t in range(high, bottom - 1, -1):
                if starts >> (t % ii) & 1:
                    return t
        return None


def _urgency(found: LoopGraph, ii: int) -> Any:
    """The factor of each operation's slack: less where its pipes are crowded."""
    import numpy as np

    demand: dict[str, int] = {}
    for names, cycles in zip(found.pipes, found.interval, strict=True):
        if len(names) == 1:
            demand[names[0]] = demand.get(names[0], 0) + cycles
    crowded = {p for p, k in demand.items() if k > 0.8 * ii * found.profile.pipes[p].units}
    return np.array([
        0.5 if names and crowded.issuperset(names) and cycles > 1 else 1.0
        for names, cycles in zip(found.pipes, found.interval, strict=True)
    ])


def _balance(values: Values) -> list[int]:
    """Registers of an operation's operands less those of its value."""
    balance = [-s if uses else 0 for s, uses in zip(values.sizes, values.uses, strict=True)]
    for producer, uses in enumerate(values.uses):
        for user in {user for user, _ in uses} - {producer}:
            balance[user] += values.sizes[producer] if len(uses) == 1 else 0
    return balance


class Shortener:
    """A schedule whose lives are being shortened; it stays valid throughout."""

    def __init__(
        self, found: LoopGraph, ii: int, times: Sequence[int], table: Table, values: Values
    ) -> None:
        self.found, self.ii, self.times, self.table = found, ii, list(times), table
        self.values = values
        count = len(self.times)
        self.succs, self.preds = weights_at(found.graph, ii)
        self.operands: list[list[int]] = [[] for _ in range(count)]
        for producer, uses in enumerate(values.uses):
            for user in {user for user, _ in uses} - {producer}:
                self.operands[user].append(producer)
        self.follow = False  # operands' makers are taken to follow in the sweep backwards
        self.order = sorted(range(count), key=lambda n: self.times[n])

    def run(self, rounds: int = 4) -> tuple[int, list[int], list[str]]:
        """(MaxLive, times, pipes): the least that the rounds met."""
        best = self._now()
        for k in range(rounds):
            before = self.total()
            self.follow = k % 2 == 1
            self.order.sort(key=lambda n: self.times[n])
            for n in reversed(self.order):
                self._move(n, late=True)
            self.order.sort(key=lambda n: self.times[n])
            for n in self.order:
                self._move(n, late=False)
            best = min(best, self._now(), key=lambda x: x[0])
            if self.follow and self.total() >= before:
                break
        return best

    def _now(self) -> tuple[int, list[int], list[str]]:
        live = measure(self.values, self.ii, self.times).max_live
        return live, list(self.times), self.table.pipes

    def total(self) -> int:
        return sum(self._life(n) for n in range(len(self.times)))

    def _life(self, n: int) -> int:
        uses = self.values.uses[n]
        if not uses:
            return 0
        end = max(self.times[m] + d * self.ii for m, d in uses)
        return self.values.sizes[n] * max(0, end - self.times[n])

    def _move(self, n: int, late: bool) -> None:
        times, ii = self.times, self.ii
        low, high = NEVER, -NEVER
        for m, weight in self.preds[n]:
            low = max(low, times[m] + weight)
        for m, weight in self.succs[n]:
            high = min(high, times[m] - weight)
        now = times[n]
        low = low if low > NEVER else now - 2 * ii
        high = high if high < -NEVER else now + 2 * ii
        if low >= high:
            return
        low, high = max(low, now - 2 * ii), min(high, now + 2 * ii)
        held = self.table.taken[n]
        assert held is not None
        self.table.leave(n)
        starts = self.table.starts(n)
        depth = FOLLOWED if late and self.follow else 0
        best, least = now, self._cost(n, now, depth)
        for t in range(now + 1, high + 1) if late else range(now - 1, low - 1, -1):
            if starts >> (t % ii) & 1:
                c = self._cost(n, t, depth)
                if c < least or (late and c == least):
                    best, least = t, c
        times[n] = best
        placed = self.table.put(n, best % ii)
        assert placed

    def _cost(self, n: int, t: int, depth: int = 0) -> int:
        """The lives of a value and its operands were it made at t; down to `depth`, operands that
        nothing else reads follow as far as they can."""
        times, ii, values = self.times, self.ii, self.values
        cost = 0
        if values.uses[n]:
            ends = [(t if m == n else times[m]) + d * ii for m, d in values.uses[n]]
            cost += values.sizes[n] * max(0, max(ends) - t)
        for p in self.operands[n]:
            end = max((t if m == n else times[m]) + d * ii for m, d in values.uses[p])
            cost += self._width(p, n, depth) * max(0, end - times[p])
        return cost

    def _width(self, producer: int, user: int, depth: int) -> int:
        """Registers that grow longer if the maker of a value follows its only reader."""
        size = self.values.sizes[producer]
        if depth == 0 or any(m != user for m, _ in self.values.uses[producer]):
            return size
        for m, _ in self.succs[producer]:
            if m != user:
                return size
        behind = sum(self._width(p, producer, depth - 1) for p in self.operands[producer]
                     if self._is_last(p, producer))
        return min(size, behind)

    def _is_last(self, p: int, reader: int) -> bool:
        times, ii = self.times, self.ii
        mine = max(times[m] + d * ii for m, d in self.values.uses[p] if m == reader)
        return all(times[m] + d * ii <= mine for m, d in self.values.uses[p])
