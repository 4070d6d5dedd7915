"""Modulo scheduling of loop graphs whose operations keep a pipe busy for several cycles.

An operation issues in one slot of the kernel and occupies one of its pipes from there on for the
pipe's interval. Which of several pipes it takes is decided when it is placed. Where every interval
is one cycle and there is no choice, `nvir.sm.modulo_schedule` does the work, exact search and all.

Where that fails at the first few II, placement by slack (`nvir.sm.slack`) is tried. At the interval
found, lives are shortened, and operations trade places (`nvir.sm.exchange`) for fewer registers.
CP-SAT settles what is left open, if it is asked to.

Method   Iterative modulo scheduling: operations by height, each in the first free slot of an II
         from its earliest start; else it takes the slot and evicts. II rises from MII. Where that
         fails, operations of crowded pipes are aligned to their interval: no gaps that are too
         short, and a phase for each pipe keeps them out of each other's issue slots.
Cost     some 5 ms an operation, at most 200 ms a loop, most of it for registers; without them
         0.3 ms an operation up to SLACK_LARGEST, above that 10 us an operation and II tried.
Source   B. R. Rau, "Iterative Modulo Scheduling", MICRO-27, 1994.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from functools import lru_cache

import attrs

from nvir.ir.display import Displayed
from nvir.ir.errors import NvirError, Unsupported
from nvir.sm.exchange import Exchange
from nvir.sm.loopgraph import LoopGraph
from nvir.sm.mii import LoopBounds, loop_bounds
from nvir.sm.schedule.lifetimes import Lifetimes, Values, lifetimes, measure, min_avg, values_of
from nvir.sm.slack import Shortener, Table, place

PLACEMENTS = 3  # of each operation, at one II
WORK = 1200  # placements in all from which on II grows in large steps; about 20 ms
SLACK_LARGEST = 110  # operations up to which placement by slack is tried as well,
SLACK_TRIES = 4  # at so many II
BACK = 4  # of the intervals that were passed over, so many are tried in the end
TIGHT = 0.6  # share of the kernel from which on a pipe's operations are put side by side


@attrs.frozen(eq=False)
class LoopSchedule(LoopBounds, Displayed):
    """A modulo schedule of a loop graph, and what bounds it.

    times    node -> start, cycles from 0
    pipe     node -> the pipe that it takes ("" for none)
    lower_bound  no schedule has a smaller II
    """

    ii: int
    times: tuple[int, ...]
    pipe: tuple[str, ...]
    lifetimes: Lifetimes
    lower_bound: int = 1

    @property
    def optimal(self) -> bool:
        """Whether no smaller II exists."""
        return self.ii == max(self.mii, self.lower_bound)

    @property
    def stages(self) -> int:
        """Iterations in flight."""
        return max(self.times, default=0) // self.ii + 1

    @property
    def max_live(self) -> int:
        """Registers live at once in the kernel, of those that the body makes."""
        return self.lifetimes.max_live

    def busy(self) -> dict[str, int]:
        """Pipe -> cycles that an iteration keeps it busy."""
        out: dict[str, int] = {}
        for name, cycles in zip(self.pipe, self.graph.interval, strict=True):
            if name:
                out[name] = out.get(name, 0) + cycles
        return out


def schedule_loop(
    found: LoopGraph, *, solver: str = "none", budget_s: float = 2.0, thorough: bool = True,
    registers: bool = True,
) -> LoopSchedule:
    """The modulo schedule of smallest II that is found, with few registers.

    solver    "none": own methods; "cpsat": also OR-tools, for what they leave open below the II
              that they found; "auto": that where it is installed
    budget_s  of CP-SAT's deterministic time, for each II
    thorough  also try placement by slack, which now and then finds a smaller II, and see to
              registers; without it a loop takes a twentieth of the time
    registers make them few; not needed by those who ask for II alone
    Raises NvirError for a loop of which nothing is left but what is hoisted, and Unsupported for
    "cpsat" without OR-tools.
    """
    from nvir.sm.schedule import cpsat

    if solver not in ("none", "auto", "cpsat"):
        raise NvirError(f"solver {solver!r}: expected 'none', 'auto' or 'cpsat'")
    if solver == "cpsat" and not cpsat.available():
        raise Unsupported("solver 'cpsat' without OR-tools (pip install 'nvir[solve]')")
    if not found.operations:
        raise NvirError(f"loop {found.loop.header.name}: no operation is left in its body")
    bounds = loop_bounds(found)
    mii = bounds.mii
    if _is_simple(found):
        ii, times, pipe = _by_graph(found)
    else:
        ii, times, pipe = _by_reservation(found, mii, thorough)
        if thorough and registers:
            ii, times, pipe = _fewer_registers(found, ii, times, pipe)
    lower = mii
    if solver != "none" and cpsat.available() and ii > mii:
        lower, (ii, times, pipe) = _by_solver(found, mii, (ii, times, pipe), budget_s)
    live = lifetimes(
        found.graph, ii, times, register_edges=found.register_edges, sizes=found.sizes
    )
    return LoopSchedule(
        found, bounds.bounds, bounds.resources, ii, tuple(times), tuple(pipe), live, lower
    )


_Placed = tuple[int, list[int], list[str]]


def _is_simple(found: LoopGraph) -> bool:
    """Whether the graph's own resources say all: one pipe each, for one cycle."""
    one = all(n == 1 for n in found.interval) and all(len(p) <= 1 for p in found.pipes)
    return one and not found.profile.issue_width


def _by_graph(found: LoopGraph) -> _Placed:
    from nvir.sm.schedule.driver import modulo_schedule

    made = modulo_schedule(
        found.graph, solver="none", budget_s=0.05, register_edges=found.register_edges,
        sizes=found.sizes,
    )
    return made.ii, list(made.times), [p[0] if p else "" for p in found.pipes]


def _by_reservation(found: LoopGraph, mii: int, slack: bool) -> _Placed:
    """The first interval that works, rising in growing steps; then those that were passed over."""
    ii, failed, tries, work = mii, mii - 1, 0, 0
    while True:
        placed, spent = _attempt(found, ii, slack and tries < SLACK_TRIES)
        work += spent
        if placed is not None:
            break
        failed = ii
        tries += 1
        ii += 1 + (tries * ii // 64 if work < WORK else ii // 8)
    for between in range(failed + 1, min(ii, failed + 1 + BACK)) if slack else ():
        again, _ = _attempt(found, between, True)
        if again is not None:
            return again
    return placed


def _attempt(found: LoopGraph, ii: int, slack: bool) -> tuple[_Placed | None, int]:
    """(schedule at an interval or None, placements made)."""
    work = 0
    for aligned in (False, True):
        table = _Table(found, ii, aligned)
        done = table.fill()
        work += table.placed
        if done:
            pipes = [unit.pipe if unit else "" for unit in table.unit]
            return (ii, _from_zero(table.time), pipes), work
        if not table.crowded:
            break
    count = len(found.operations)
    if slack and count <= SLACK_LARGEST:
        seeds = range(10 if count <= 40 else 2)
        placed = place(found, ii, _values(found), seeds, first=True)
        if placed is not None:
            return (ii, _from_zero(placed[1]), placed[2]), work
    return None, work


def _from_zero(times: Sequence[int]) -> list[int]:
    first = min(times)
    return [t - first for t in times]


def _values(found: LoopGraph) -> Values:
    return values_of(found.graph, found.register_edges, found.sizes)


def _fewer_registers(
    found: LoopGraph, ii: int, times: list[int], pipes: list[str]
) -> _Placed:
    """The schedule at the same II with the fewest registers of some that are tried."""
    values = _values(found)
    best = (measure(values, ii, times).max_live, times, pipes)
    table = Table.of(found, ii, times, pipes)
    if table is not None:
        best = min(best, Shortener(found, ii, times, table, values).run(), key=lambda x: x[0])
    count = len(found.operations)
    if count <= SLACK_LARGEST:
        seeds = range(2 if count <= 40 else 1)
        placed = place(found, ii, values, seeds)
        if placed is not None:
            best = min(best, placed, key=lambda x: x[0])
    if best[0] > min_avg(found.graph, ii, values):
        table = Table.of(found, ii, best[1], best[2])
        if table is not None:
            made = Exchange(found, ii, best[1], table, values).run()
            best = min(best, made, key=lambda x: x[0])
    return ii, _from_zero(best[1]), best[2]


def _by_solver(
    found: LoopGraph, mii: int, placed: _Placed, budget_s: float
) -> tuple[int, _Placed]:
    """(lower bound, schedule): the intervals below the one found, asked one by one."""
    from nvir.sm.pipes_cpsat import solve

    lower = mii
    for ii in range(mii, placed[0]):
        verdict, times, pipes = solve(found, ii, budget_s)
        if verdict:
            return lower, _fewer_registers(found, ii, times, pipes)
        if verdict is False and lower == ii:
            lower = ii + 1
    return lower, placed


class _Table:
    """The reservation table of one II while operations are placed in it.

    Each unit of a pipe has the slots that are taken as the bits of an integer, so that all starts
    of an operation are found by a few shifts.
    """

    def __init__(self, found: LoopGraph, ii: int, aligned: bool) -> None:
        self.found, self.ii = found, ii
        count = len(found.operations)
        self.full = (1 << ii) - 1
        self.time = [-1] * count
        self.unit: list[_Unit | None] = [None] * count
        self.last = [-1] * count  # where an operation stood before it was evicted
        self.width = found.profile.issue_width or count
        self.issued: list[list[int]] = [[] for _ in range(ii)]
        self.placed = 0  # placements made
        self.closed = 0  # slots that issue no more
        self.preds: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        self.succs: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        for src, dst, latency, distance in found.graph.edges:
            if src != dst:
                weight = latency - distance * ii
                self.preds[dst].append((src, weight))
                self.succs[src].append((dst, weight))
        self._make_units(aligned)
        self.height = self._heights()

    def _make_units(self, aligned: bool) -> None:
        pipes = self.found.profile.pipes
        demand = dict.fromkeys(pipes, 0)
        for names, cycles in zip(self.found.pipes, self.found.interval, strict=True):
            if len(names) == 1:
                demand[names[0]] += cycles
        crowded = [p for p, n in demand.items() if n > TIGHT * self.ii * pipes[p].units]
        self.crowded = bool(crowded)
        self.units: dict[str, list[_Unit]] = {}
        for names in set(self.found.pipes):
            for p in names:
                if p not in self.units:
                    phase = crowded.index(p) if aligned and p in crowded else -1
                    load = demand[p] // pipes[p].units
                    self.units[p] = [
                        _Unit(p, self.ii, phase, load) for _ in range(pipes[p].units)
                    ]

    def _heights(self) -> list[int]:
        """The longest path from each node, at this II; at most a few passes."""
        height = list(self.found.interval)
        order = self.found.graph.order
        for _ in range(len(order) + 1):
            changed = False
            for u in reversed(order):
                best = height[u]
                for v, weight in self.succs[u]:
                    if height[v] + weight > best:
                        best = height[v] + weight
                if best > height[u]:
                    height[u] = best
                    changed = True
            if not changed:
                break
        return height

    def fill(self) -> bool:
        """Place all operations; False where the budget ends before."""
        height = self.height
        rank = {n: k for k, n in enumerate(self.found.graph.order)}
        waiting = [(-height[n], rank[n], n) for n in range(len(self.time))]
        heapq.heapify(waiting)
        budget = PLACEMENTS * len(self.time) + 16
        while waiting:
            n = heapq.heappop(waiting)[2]
            if self.time[n] >= 0:
                continue
            if self.placed == budget:
                return False
            self.placed += 1
            for evicted in self._place(n):
                heapq.heappush(waiting, (-height[evicted], rank[evicted], evicted))
        return True

    def _place(self, n: int) -> list[int]:
        """Put an operation in its first free slot, or in its earliest by force; who had to go."""
        time = self.time
        early = 0
        for src, weight in self.preds[n]:
            if time[src] >= 0 and time[src] + weight > early:
                early = time[src] + weight
        cycles = self.found.interval[n]
        units = [u for p in self.found.pipes[n] for u in self.units[p]]
        starts = self.full & ~self.closed
        if not units:
            t = _first(starts, early, self.ii)
            if t is not None:
                self._reserve(n, t, None)
                return self._late(n)
        best: tuple[int, int, int] | None = None
        for k, u in enumerate(units):
            t = _first(starts & u.starts(cycles), early, self.ii)
            if t is not None and (best is None or (t, u.load) < best[:2]):
                best = (t, u.load, k)
        if best is not None:
            self._reserve(n, best[0], units[best[2]])
            return self._late(n)
        return self._force(n, max(early, self.last[n] + 1), units)

    def _force(self, n: int, t: int, units: list[_Unit]) -> list[int]:
        slot, cycles = t % self.ii, self.found.interval[n]
        choice = [(len(u.holders(slot, cycles)), k) for k, u in enumerate(units)]
        unit = units[min(choice)[1]] if choice else None
        evicted = unit.holders(slot, cycles) if unit is not None else set()
        if len(self.issued[slot]) - sum(m in evicted for m in self.issued[slot]) >= self.width:
            evicted.add(self.issued[slot][-1])
        for m in evicted:
            self._release(m)
        self._reserve(n, t, unit)
        return [*evicted, *self._late(n)]

    def _reserve(self, n: int, t: int, unit: _Unit | None) -> None:
        slot = t % self.ii
        self.time[n] = self.last[n] = t
        self.unit[n] = unit
        self.issued[slot].append(n)
        if len(self.issued[slot]) >= self.width:
            self.closed |= 1 << slot
        if unit is not None:
            unit.take(n, slot, self.found.interval[n], len(self.found.pipes[n]) > 1)

    def _release(self, n: int) -> None:
        slot, unit = self.time[n] % self.ii, self.unit[n]
        self.issued[slot].remove(n)
        self.closed &= ~(1 << slot)
        if unit is not None:
            unit.leave(slot, self.found.interval[n], len(self.found.pipes[n]) > 1)
        self.time[n] = -1

    def _late(self, n: int) -> list[int]:
        """Placed successors that now stand too early leave."""
        t = self.time[n]
        gone = []
        for dst, weight in self.succs[n]:
            if 0 <= self.time[dst] < t + weight:
                self._release(dst)
                gone.append(dst)
        return gone


class _Unit:
    """One unit of a pipe: which slots of the kernel are taken, and by whom.

    `phase` >= 0: operations start at that slot modulo their interval, where there is one left.
    """

    __slots__ = ("full", "ii", "load", "owner", "phase", "pipe", "taken")

    def __init__(self, pipe: str, ii: int, phase: int, load: int) -> None:
        self.pipe, self.ii, self.phase, self.load = pipe, ii, phase, load
        self.full = (1 << ii) - 1
        self.taken = 0
        self.owner = [-1] * ii

    def starts(self, cycles: int) -> int:
        """The slots from which on that many cycles are free."""
        free = self.full & ~self.taken
        found = free
        for k in range(1, min(cycles, self.ii)):
            found &= free >> k | (free << (self.ii - k) & self.full)
        if self.phase >= 0 and cycles > 1:
            aligned = found & _comb(self.ii, cycles, self.phase % cycles)
            return aligned or found
        return found

    def holders(self, slot: int, cycles: int) -> set[int]:
        """Who has one of the cycles from a slot on."""
        ii = self.ii
        return {self.owner[(slot + k) % ii] for k in range(min(cycles, ii))} - {-1}

    def take(self, n: int, slot: int, cycles: int, counts: bool) -> None:
        self.taken |= self._set(n, slot, cycles)
        if counts:
            self.load += cycles

    def leave(self, slot: int, cycles: int, counts: bool) -> None:
        self.taken &= ~self._set(-1, slot, cycles)
        if counts:
            self.load -= cycles

    def _set(self, n: int, slot: int, cycles: int) -> int:
        """Write the owner of the cycles from a slot on, which may wrap; their bits."""
        over = slot + cycles - self.ii
        if over > 0:
            self.owner[:over] = [n] * over
            cycles -= over
        self.owner[slot : slot + cycles] = [n] * cycles
        return ((1 << cycles) - 1) << slot | ((1 << over) - 1 if over > 0 else 0)


@lru_cache(maxsize=1024)
def _comb(ii: int, step: int, phase: int) -> int:
    """The bits phase, phase + step, … below ii."""
    return sum(1 << s for s in range(phase, ii, step))


def _first(slots: int, early: int, ii: int) -> int | None:
    """The first time from `early` on whose slot is among the bits, or None."""
    if not slots:
        return None
    at = early % ii
    behind = slots >> at
    if behind:
        return early + (behind & -behind).bit_length() - 1
    return early + ii - at + (slots & -slots).bit_length() - 1


def check_pipes(made: LoopSchedule) -> str | None:
    """What is wrong with a schedule, or None; shares no code with the search."""
    found, ii = made.graph, made.ii
    for src, dst, latency, distance in found.graph.edges:
        if made.times[dst] - made.times[src] < latency - distance * ii:
            return f"{dst} starts too early after {src}"
    issue = [0] * ii
    use: dict[tuple[str, int], int] = {}
    for n, t in enumerate(made.times):
        issue[t % ii] += 1
        if made.pipe[n] != "" and made.pipe[n] not in found.pipes[n]:
            return f"{n} cannot run on {made.pipe[n]}"
        if made.pipe[n] == "" and found.pipes[n]:
            return f"{n} has no pipe"
        for k in range(found.interval[n] if made.pipe[n] else 0):
            key = (made.pipe[n], (t + k) % ii)
            use[key] = use.get(key, 0) + 1
            if use[key] > found.profile.pipes[made.pipe[n]].units:
                return f"{made.pipe[n]} is taken twice in slot {key[1]}"
    if found.profile.issue_width and max(issue) > found.profile.issue_width:
        return f"{max(issue)} operations issue in slot {issue.index(max(issue))}"
    return None
