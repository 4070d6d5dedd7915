"""Exact search for a schedule of a hard core at one II: all slots, or a proof that none fit.

Depth-first over start times. An operation has a window [low, high], from the gaps to its
placed neighbours, and the slots that its resource still has free; both together are its
domain. A recurrence none of whose operations is placed may start in any slot (the very
first in slot 0: turning the whole schedule changes nothing). After every placement the
windows shrink to their first and last free slot and hand that on along the gaps, until
nothing moves or a window is empty.

Branching  smallest domain over conflict weight: operations whose windows ran empty gain
           weight; after a dead end the operation that failed is tried first.
Restarts   after a growing number of placements, weights kept; values run in ascending,
           last-used-first and shuffled order in turn. One run that ends by itself is a proof.
Budget     counted in looks at a window, so the same seed gives the same answer on any
           machine; the clock is only asked whether to give up.
Cost       exponential in the worst case; on loop bodies mostly one placement an operation.
Source     F. Boussemart et al., "Boosting systematic search by weighting constraints",
           ECAI 2004; C. Lecoutre et al., "Reasoning from last conflict(s)", AIJ 173, 2009.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

from nvir.sm.schedule.core import CoreGroup

FAR = 1 << 60  # beyond every start time: the window of an operation that nothing bounds yet
FIRST_CUT = 100  # placements of the first run beyond one for each operation
CUT_GROWTH = 1.5


class Search:
    """The search of one group at one II; `run` may be called again to spend more.

    slots  the solution, node -> slot, once `run` returned True
    work   looks at a window so far, about 0.5 us each
    """

    __slots__ = (
        "_cut",
        "_free",
        "_held",
        "_high",
        "_last",
        "_links",
        "_low",
        "_mode",
        "_nodes",
        "_placed",
        "_random",
        "_resources",
        "_trail",
        "_units",
        "_users",
        "_weight",
        "ii",
        "slots",
        "work",
    )

    def __init__(self, group: CoreGroup, ii: int, seed: int = 0) -> None:
        self.ii = ii
        self.slots: dict[int, int] = {}
        self.work = 0
        self._random = random.Random(seed)
        self._nodes = [u for c in group.components for u in c.nodes]
        self._resources = [r for c in group.components for r in c.resources]
        self._units = group.units
        # operation -> its neighbours with the gap to and from each
        self._links: list[list[tuple[int, int, int]]] = []
        for component in group.components:
            base, gap = len(self._links), component.gap
            span = range(len(gap))
            for i in span:
                self._links.append([(base + j, gap[i][j], gap[j][i]) for j in span if j != i])
        self._users: dict[int, list[int]] = {r: [] for r in group.units}
        for v, resource in enumerate(self._resources):
            self._users[resource].append(v)
        self._weight = [1] * len(self._nodes)
        self._last: list[int | None] = [None] * len(self._nodes)
        self._cut, self._mode = float(FIRST_CUT + len(self._nodes)), 0
        self._reset()

    def run(self, budget: int, deadline: float = float("inf")) -> bool | None:
        """True: `slots` is a solution. False: there is none. None: `budget` or time is spent.

        budget    looks at a window
        deadline  of `time.process_time`
        """
        end = self.work + budget
        while self.work < end and time.process_time() < deadline:
            found = self._dive(int(self._cut), end, deadline)
            if found is not None:
                return found
            self._cut *= CUT_GROWTH
            self._mode = (self._mode + 1) % 3
        return None

    def _dive(self, cut: int, end: int, deadline: float) -> bool | None:
        """One run from the root, of up to `cut` placements; results as of `run`."""
        self._reset()
        placed = self._placed
        failed = -1  # where the last dead end was
        stack: list[tuple[int, Iterator[int], int]] = [(self._choose(-1), iter((0,)), 0)]
        while stack:
            v, values, mark = stack[-1]
            if placed[v]:
                self._undo(v, mark)
            for t in values:
                cut -= 1
                if cut < 0 or self.work > end or (not cut & 255 and time.process_time() > deadline):
                    return None
                if self._place(v, t):
                    self._last[v] = t
                    break
                self._undo(v, mark)
            else:
                failed = v
                stack.pop()
                continue
            if len(stack) == len(placed):
                starts = zip(self._nodes, self._low, strict=True)
                self.slots = {u: start % self.ii for u, start in starts}
                return True
            v = self._choose(failed)
            stack.append((v, self._values(v), len(self._trail)))
        return False

    def _reset(self) -> None:
        count, full = len(self._nodes), (1 << self.ii) - 1
        self._low = [-FAR] * count
        self._high = [FAR] * count
        self._placed = [False] * count
        self._free = dict.fromkeys(self._units, full)  # bit s: a unit is free in slot s
        self._held: dict[int, dict[int, int]] = {r: {} for r in self._units}
        self._trail: list[tuple[int, int, int]] = []  # windows as they were

    def _place(self, v: int, t: int) -> bool:
        """Starts `v` at `t` and shrinks all windows; False at a contradiction."""
        low, high, placed, trail = self._low, self._high, self._placed, self._trail
        trail.append((v, low[v], high[v]))
        low[v] = high[v] = t
        placed[v] = True
        resource, slot = self._resources[v], t % self.ii
        held = self._held[resource]
        held[slot] = held.get(slot, 0) + 1
        moved: list[int] = []
        if held[slot] == self._units[resource]:
            self._free[resource] &= ~(1 << slot)
            moved = [x for x in self._users[resource] if not placed[x] and high[x] < FAR]
        self._hand_on(v, moved)
        return self._settle(moved)

    def _hand_on(self, v: int, moved: list[int]) -> None:
        """Narrows the windows around `v` to its own; appends whom that moved."""
        low, high, placed, trail = self._low, self._high, self._placed, self._trail
        first, last = low[v], high[v]
        links = self._links[v]
        self.work += len(links)
        for x, gap_to, gap_from in links:
            if not placed[x]:
                a, b = low[x], high[x]
                if first + gap_to > a or last - gap_from < b:
                    trail.append((x, a, b))
                    if first + gap_to > a:
                        low[x] = first + gap_to
                    if last - gap_from < b:
                        high[x] = last - gap_from
                    moved.append(x)

    def _settle(self, moved: list[int]) -> bool:
        """Cuts the windows of `moved` to free slots and hands that on; False if one is empty."""
        low, high, ii = self._low, self._high, self.ii
        while moved:
            x = moved.pop()
            a, b = low[x], high[x]
            free = self._free[self._resources[x]]
            width = b - a
            self.work += 1
            if width < 0 or not free:
                self._weight[x] += 1
                return False
            twice = free | free << ii
            if width < ii:
                inside = twice >> a % ii & (2 << width) - 1
                if not inside:
                    self._weight[x] += 1
                    return False
                skip = (inside & -inside).bit_length() - 1
                drop = width + 1 - inside.bit_length()
            else:
                inside = twice >> a % ii
                skip = (inside & -inside).bit_length() - 1
                drop = b % ii + ii + 1 - (twice & (2 << b % ii + ii) - 1).bit_length()
            if skip or drop:
                self._trail.append((x, a, b))
                low[x], high[x] = a + skip, b - drop
                self._hand_on(x, moved)
        return True

    def _undo(self, v: int, mark: int) -> None:
        low, high, trail = self._low, self._high, self._trail
        resource, slot = self._resources[v], low[v] % self.ii
        while len(trail) > mark:
            x, low[x], high[x] = trail.pop()
        self._placed[v] = False
        self._held[resource][slot] -= 1
        self._free[resource] |= 1 << slot

    def _choose(self, failed: int) -> int:
        """The operation to place next: the one that failed last, else the most constrained."""
        low, high, placed, ii = self._low, self._high, self._placed, self.ii
        if failed >= 0 and not placed[failed] and high[failed] < FAR:
            return failed
        free = {r: (mask | mask << ii, mask.bit_count()) for r, mask in self._free.items()}
        best, least = -1, float("inf")
        self.work += len(placed)
        for v, resource in enumerate(self._resources):
            if placed[v]:
                continue
            twice, count = free[resource]
            width = high[v] - low[v]
            if width < ii:
                size = (twice >> low[v] % ii & (2 << width) - 1).bit_count()
            elif width < FAR:
                size = count * (width // ii + 1)
            else:
                size = 4 * count  # opens a recurrence: rather go on with those that are open
            if size < least * self._weight[v]:
                best, least = v, size / self._weight[v]
        return best

    def _values(self, v: int) -> Iterator[int]:
        """The domain of `v`; the order differs within the first II cycles of its window only."""
        low, high, ii = self._low[v], self._high[v], self.ii
        free = self._free[self._resources[v]]
        if high == FAR:
            low, high = 0, ii - 1
        near = [t for t in range(low, min(high, low + ii - 1) + 1) if free >> t % ii & 1]
        last = self._last[v]
        if self._mode == 1 and last in near:
            near.remove(last)
            near.insert(0, last)
        elif self._mode == 2:
            self._random.shuffle(near)
        yield from near
        for t in range(low + ii, high + 1):
            if free >> t % ii & 1:
                yield t
