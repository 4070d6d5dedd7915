"""Fewer registers at the same interval: operations trade places, annealed.

Where every issue slot of the kernel is taken, no operation can move but by whole intervals. So here
two operations exchange their slots: one goes to a start within its window, whoever issues in that
slot takes the slot that becomes free, in the iteration where its lives are shortest. First the sum
of lives is made small; then the fullest slots count as well, how full and how many they are, since
MaxLive is the mean of the slots and what peaks stand out above it. What an exchange can't do, whole
parts starting some intervals later, is done before and after (`stages`).

Worse states are taken with a probability that falls (simulated annealing), from a fixed seed, so
that chains of operations whose lives add up to the same drift together to where they end. Long
annealing (`flatten`) begins hotter, and each slot costs by the square of what it holds above the
mean.

Cost    13 us a trial, 16 us where slots are counted; see TRIALS, MOST.
Source  S. Kirkpatrick et al., "Optimization by Simulated Annealing", Science 220, 1983; the
        neighbourhood is own work.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterable, Iterator, Sequence

from nvir.sm.graph import DependenceGraph
from nvir.sm.schedule.ims import Weighted
from nvir.sm.schedule.lifetimes import Values
from nvir.sm.schedule.reservations import ReservationTable
from nvir.sm.schedule.stages import move_stages

TRIALS = 200  # of each operation by the sum of lives, and half as many more by the fullest slot
MOST = 14_000
NARROW = 100  # slots up to which each is counted in all trials, above in fewer
ASKED = 8  # operations, and others of their kind, until one can move
MATED = 0.3  # of the starts that are tried, those in the slot of another of the kind
LONG, THOROUGHLY = 60_000, 1500  # as MOST and TRIALS, of long annealing
STEEP = 8  # cycles that a register above the level costs there, with its square
COLD = 0.3  # cycles: what a trial may make worse in the end

Move = tuple[int, int]  # operation, new start


class Annealer:
    """A schedule whose operations trade places; it is valid whenever a method returns.

    table   that of `times`, which becomes that of the result
    """

    def __init__(
        self,
        graph: DependenceGraph,
        table: ReservationTable,
        times: Sequence[int],
        values: Values,
        weights: tuple[Weighted, Weighted],
        seed: int = 1,
    ) -> None:
        ii = self.ii = table.ii
        self.graph, self.times = graph, list(times)
        self.table, self.values = table, values
        count = len(self.times)
        self.succs, self.preds = weights
        self.uses = [[(m, d * ii) for m, d in uses] for uses in values.uses]
        touched: list[set[int]] = [{n} if uses else set() for n, uses in enumerate(self.uses)]
        for producer, uses in enumerate(self.uses):
            for user, _ in uses:
                touched[user].add(producer)
        self.touched = [sorted(v for v in some if values.sizes[v]) for some in touched]
        self.mates = _mates(graph)
        self.random = random.Random(seed)
        self.lives = self._lives(range(count))
        self.live = 0  # registers of each slot, side by side as in Slots
        self.slots: Slots | None = None  # while slots are counted
        self.crest = 0  # what the fullest of them cost

    def shorten(self) -> None:
        """The sum of lives is made small."""
        self._move_stages()
        self._anneal(min(MOST, TRIALS * len(self.times)), max(4.0, self.ii / 8))
        self._move_stages()

    def level(self) -> list[int]:
        """The starts of least MaxLive that are met, the fullest slot counting as well."""
        self._count_slots()
        trials = min(MOST, TRIALS * len(self.times)) * 3 * NARROW // (2 * max(self.ii, NARROW))
        self._anneal(trials, max(2.0, self.ii / 16))
        self._move_stages()
        self._count_slots()
        return list(self.times)

    def flatten(self) -> Iterator[list[int]]:
        """Starts after long annealing: by the sum of lives, then with what stands out above it."""
        trials = min(LONG, THOROUGHLY * len(self.times))
        for slots in (False, True):
            if slots:
                self.slots = SteepSlots(self.ii, sum(self.lives) // self.ii + 1)
                self._count_slots()
            self._anneal(trials, max(4.0, self.ii / 4))
            self.slots, self.crest = None, 0
            yield list(self.times)
        self._move_stages()
        yield list(self.times)

    @property
    def max_live(self) -> int:
        """Registers live in the fullest slot, while slots are counted."""
        return (self.crest - 1) // self.ii

    def _move_stages(self) -> None:
        self.times = move_stages(self.graph, self.ii, self.times, self.values, self.succs)
        self.lives = self._lives(range(len(self.times)))

    # ------------------------------------------------------------ annealing

    def _anneal(self, trials: int, hot: float) -> None:
        """Trials while it cools down; ends in the best state that was met."""
        cost = least = self._cost()
        times, units = list(self.times), self.table.units
        for k in range(trials):
            change = self._try(hot * (COLD / hot) ** (k / trials))
            if change:
                cost += change
                if cost < least:
                    least, times, units = cost, list(self.times), self.table.units
        self.table.move(self.times, times, units)
        self.times = times
        self.lives = self._lives(range(len(times)))
        if self.slots is not None:
            self._count_slots()

    def _cost(self) -> int:
        return sum(self.lives) + self.crest

    def _try(self, heat: float) -> int:
        """One trial; by how much the cost has changed."""
        moves = self._proposal()
        if not moves:
            return 0
        times, lives, slots = self.times, self.lives, self.slots
        some: Sequence[int] = self.touched[moves[0][0]]
        if len(moves) > 1:
            some = list(dict.fromkeys(v for n, _ in moves for v in self.touched[n]))
        before = [lives[v] for v in some]
        live = self.live - self._counted(some, before) if slots is not None else 0
        old = [(n, times[n]) for n, _ in moves]
        for n, t in moves:
            times[n] = t
        after = self._lives(some)
        change, crest = sum(after) - sum(before), self.crest
        if slots is not None:
            live += self._counted(some, after)
            crest = slots.crest(live)
            change += crest - self.crest
        good = change <= 0 or self.random.random() < math.exp(-change / heat)
        if good and self._book(old, moves):
            for v, life in zip(some, after, strict=True):
                lives[v] = life
            self.live, self.crest = live, crest
            return change
        for n, t in old:
            times[n] = t
        return 0

    # --------------------------------------------------------------- moves

    def _proposal(self) -> list[Move]:
        """An operation and a start for it, with who makes room; none where none was met."""
        number, times, ii = self.random.random, self.times, self.ii
        units, resources = self.graph.units, self.graph.resources
        for _ in range(ASKED):
            n = int(number() * len(times))
            low, high = self._window(n)
            if low >= high:
                continue
            now = times[n]
            mates = self.mates[n]
            if mates and number() < MATED:
                for _ in range(ASKED):
                    t = low + (times[mates[int(number() * len(mates))]] - low) % ii
                    if t <= high and t != now:
                        break
                else:
                    continue
            else:
                t = low + int(number() * (high - low))
                t += t >= now
            some = self.table.holders(n, t)
            if not some or t % ii == now % ii or len(some) < units[resources[n]]:
                return [(n, t)]
            m = some[int(number() * len(some))]
            if self.table.can_trade(n, m):
                return self._exchange(n, t, m)
        return []

    def _exchange(self, n: int, t: int, m: int) -> list[Move]:
        """n starts at t, and m, which issues in that slot, where n did, lives being least."""
        times, ii = self.times, self.ii
        now, other = times[n], times[m]
        times[n] = t
        low, high = self._window(m)
        choice = range(low + (now - low) % ii, high + 1, ii)
        best, at = (0, choice[0]) if len(choice) == 1 else (-1, 0)
        for c in choice if best else ():
            times[m] = c
            cost = sum(self._lives(self.touched[m]))
            if best < 0 or cost < best:
                best, at = cost, c
        times[n], times[m] = now, other
        return [(n, t), (m, at)] if best >= 0 else []

    def _window(self, n: int) -> tuple[int, int]:
        """The starts that neighbours allow, an interval to each side at most."""
        times, now, ii = self.times, self.times[n], self.ii
        low, high = now - ii, now + ii
        for m, weight in self.preds[n]:
            t = times[m] + weight
            if t > low:
                low = t
        for m, weight in self.succs[n]:
            t = times[m] - weight
            if t < high:
                high = t
        return low, high

    def _book(self, old: list[Move], new: list[Move]) -> bool:
        """Change the table; False, and it stays as it was, where there is no room."""
        table, ii = self.table, self.ii
        if len(new) == 1 and new[0][1] % ii == old[0][1] % ii:
            return True
        units = [table.unit_of(n) for n, _ in old]
        for n, t in old:
            table.leave(n, t)
        placed = []
        for n, t in new:
            if not table.put(n, t):
                break
            placed.append((n, t))
        if len(placed) == len(new):
            return True
        for n, t in placed:
            table.leave(n, t)
        for (n, t), unit in zip(old, units, strict=True):
            table.put(n, t, unit)
        return False

    # --------------------------------------------------------------- lives

    def _lives(self, some: Iterable[int]) -> list[int]:
        """How long some values live, times their sizes."""
        times, uses, sizes = self.times, self.uses, self.values.sizes
        found = []
        for v in some:
            end = start = times[v]
            for m, later in uses[v]:
                t = times[m] + later
                if t > end:
                    end = t
            found.append(sizes[v] * (end - start))
        return found

    def _count_slots(self) -> None:
        self.slots = self.slots or Slots(self.ii)
        self.live = self._counted(range(len(self.times)), self.lives)
        self.crest = self.slots.crest(self.live)

    def _counted(self, some: Iterable[int], lives: Iterable[int]) -> int:
        """The slots in which some values live."""
        slots, times, sizes = self.slots, self.times, self.values.sizes
        assert slots is not None
        return sum(
            sizes[v] * slots.of(times[v], life // sizes[v])
            for v, life in zip(some, lives, strict=True) if life)


class Slots:
    """Counts of the slots of an interval, 16 bits each, in one integer: they add and subtract as
    a whole."""

    bits = 16

    def __init__(self, ii: int) -> None:
        self.ii = ii
        self.full = (1 << self.bits * ii) - 1
        self.each = self.full // ((1 << self.bits) - 1)  # a one in each slot

    def of(self, start: int, length: int) -> int:
        """The slots of something that lives so many cycles, once for each time around."""
        ii, bits = self.ii, self.bits
        whole, part = divmod(length, ii)
        ones = self.each >> bits * (ii - part) << bits * (start % ii)
        return whole * self.each + (ones & self.full) + (ones >> bits * ii)

    def crest(self, counts: int) -> int:
        """What the fullest slots cost: an interval for each register, a cycle for each slot."""
        found = memoryview(counts.to_bytes(2 * self.ii, sys.byteorder)).cast("H").tolist()
        most = max(found)
        return most * self.ii + found.count(most)


class SteepSlots(Slots):
    """Slots that cost the more the fuller they are: by the square of what is above a level.

    Eight bits each, so that the costs of all are one translation of bytes.
    """

    bits = 8

    def __init__(self, ii: int, level: int) -> None:
        super().__init__(ii)
        self.costs = bytes(min(255, max(0, n - level) ** 2) for n in range(256))

    def crest(self, counts: int) -> int:
        room = self.ii + 2  # what 255 registers in the last slot can't hold goes on behind it
        return STEEP * sum(counts.to_bytes(room, "little").translate(self.costs))


def _mates(graph: DependenceGraph) -> list[list[int]]:
    """For each operation that keeps its pipes busy longer than a cycle, those that do the same."""
    kinds: dict[tuple[tuple[str, ...], int], list[int]] = {}
    every = list(zip(graph.pipes, graph.intervals, strict=True)) or [((), 1)] * len(graph)
    for n, kind in enumerate(every):
        kinds.setdefault(kind, []).append(n)
    return [kinds[kind] if kind[1] > 1 else [] for kind in every]
