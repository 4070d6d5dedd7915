"""The reservation table of one interval: which operations issue in a slot, and who holds a pipe.

An operation takes its resource for one cycle and, where the graph has pipes, one unit of one of its
pipes from its start on for its own interval; both are counted modulo II. The cycles in which a
unit is busy are the bits of an integer, so that all free starts of an operation are found by a
few shifts. Resources alone are kept by slot, so that tables of any II stay small.

Source  B. R. Rau, "Iterative Modulo Scheduling", MICRO-27, 1994, section 3.1 (the table).
"""

from __future__ import annotations

from collections.abc import Sequence

from nvir.sm.graph import DependenceGraph

TIGHT = 0.6
"""Share of the kernel from which on a pipe's operations are put side by side."""

Unit = tuple[str, int]


class ReservationTable:
    """Who takes what in each slot. All of `n` below are nodes of the graph, all of `t` starts."""

    __slots__ = (
        "_busy",
        "_closed",
        "_full",
        "_held",
        "_load",
        "_on_unit",
        "_slot",
        "_tight",
        "_unit",
        "graph",
        "ii",
    )

    def __init__(self, graph: DependenceGraph, ii: int) -> None:
        self.graph, self.ii = graph, ii
        self._held: list[dict[int, list[int]]] = [{} for _ in graph.units]  # by resource, slot
        if not graph.pipes:
            return
        units = graph.pipe_units
        used = dict.fromkeys(p for names in graph.pipes for p in names)
        self._full = (1 << ii) - 1
        self._closed = [0] * len(graph.units)  # by resource: the slots without room, as bits
        self._busy = {p: [0] * units[p] for p in used}  # by unit: the slots in which it is
        self._on_unit: dict[Unit, list[int]] = {(p, k): [] for p in used for k in range(units[p])}
        self._unit: list[Unit | None] = [None] * len(graph)
        self._slot = [0] * len(graph)
        self._load = dict.fromkeys(used, 0)  # cycles that an iteration keeps a pipe busy
        for names, cycles in zip(graph.pipes, graph.intervals, strict=True):
            if len(names) == 1:
                self._load[names[0]] += cycles
        self._tight = {p for p, busy in self._load.items() if busy > TIGHT * ii * units[p]}

    @classmethod
    def of(
        cls, graph: DependenceGraph, ii: int, times: Sequence[int], pipes: Sequence[str] = ()
    ) -> ReservationTable | None:
        """The table of a schedule; None where its pipes have no units side by side for it."""
        table = cls(graph, ii)
        for n, t in enumerate(times):
            if not table.put(n, t, (pipes[n], None) if pipes and pipes[n] else None):
                return None
        return table

    @property
    def units(self) -> tuple[Unit | None, ...]:
        """The unit of each operation, None for none; empty for a graph without pipes."""
        return tuple(self._unit) if self.graph.pipes else ()

    def unit_of(self, n: int) -> Unit | None:
        return self._unit[n] if self.graph.pipes else None

    def move(
        self, before: Sequence[int], after: Sequence[int], units: Sequence[Unit | None]
    ) -> None:
        """From the schedule `before`, which it holds, to one with `units` that it once held."""
        for n, t in enumerate(before):
            self.leave(n, t)
        for n, t in enumerate(after):
            self.put(n, t, units[n] if units else None)

    @property
    def pipes(self) -> tuple[str, ...]:
        """The pipe of each operation, "" for none; empty for a graph without pipes."""
        return tuple(unit[0] if unit else "" for unit in self._unit) if self.graph.pipes else ()

    # ------------------------------------------------------------- where there is room

    def first(self, n: int, t: int, *, snug: bool = False) -> int | None:
        """The first start from `t` on, within II cycles, that is free; None where none is.

        snug    first of all one that leaves no gap on a crowded pipe
        """
        graph, ii = self.graph, self.ii
        if not graph.pipes:
            resource = graph.resources[n]
            if resource < 0:
                return t
            held, room = self._held[resource], graph.units[resource]
            for t in range(t, t + ii):  # noqa: B020
                at = held.get(t % ii)
                if at is None or len(at) < room:
                    return t
            return None
        starts = (snug and self.snug(n)) or self.starts(n)
        if not starts:
            return None
        at_bit = t % ii
        behind = starts >> at_bit
        if behind:
            return t + (behind & -behind).bit_length() - 1
        return t + ii - at_bit + (starts & -starts).bit_length() - 1

    def last(self, n: int, t: int, *, snug: bool = False) -> int | None:
        """The last start up to `t`, within II cycles, that is free; None where none is."""
        graph, ii = self.graph, self.ii
        if not graph.pipes:
            resource = graph.resources[n]
            if resource < 0:
                return t
            held, room = self._held[resource], graph.units[resource]
            for t in range(t, t - ii, -1):  # noqa: B020
                at = held.get(t % ii)
                if at is None or len(at) < room:
                    return t
            return None
        starts = (snug and self.snug(n)) or self.starts(n)
        if not starts:
            return None
        before = starts & ((2 << t % ii) - 1)
        if before:
            return t - t % ii + before.bit_length() - 1
        return t - t % ii - ii + starts.bit_length() - 1

    def starts(self, n: int) -> int:
        """The slots in which an operation of a graph with pipes could start, as bits."""
        resource = self.graph.resources[n]
        free = self._full & ~self._closed[resource] if resource >= 0 else self._full
        names = self.graph.pipes[n]
        if not names:
            return free
        some, cycles = 0, self.graph.intervals[n]
        for p in names:
            for busy in self._busy[p]:
                some |= self._room(busy, cycles)
        return free & some

    def room(self, names: Sequence[str], slot: int) -> int:
        """The cycles from a slot to the end of the kernel in which units of pipes are not busy."""
        return sum(((self._full & ~b) >> slot).bit_count() for p in names for b in self._busy[p])

    def snug(self, n: int) -> int:
        """Of these, the slots that leave no gap on a crowded pipe; all where it has room."""
        names, cycles, ii = self.graph.pipes[n], self.graph.intervals[n], self.ii
        starts = self.starts(n)
        if cycles == 1 or not names or not self._tight.issuperset(names):
            return starts
        some, turn = 0, cycles % ii
        for p in names:
            for busy in self._busy[p]:
                room = self._room(busy, cycles)
                if busy:
                    room &= (busy << 1 | busy >> (ii - 1)) | (busy >> turn | busy << (ii - turn))
                some |= room
        return starts & some

    def _room(self, busy: int, cycles: int) -> int:
        """The slots from which on that many cycles are free."""
        full, ii = self._full, self.ii
        found, wide = full & ~busy, 1  # free from each slot on for `wide` cycles
        cycles = min(cycles, ii)
        while wide < cycles:
            step = min(wide, cycles - wide)
            found &= found >> step | (found << (ii - step) & full)
            wide += step
        return found

    def _bits(self, slot: int, cycles: int) -> int:
        bits = ((1 << min(cycles, self.ii)) - 1) << slot
        return (bits | bits >> self.ii) & self._full

    # ------------------------------------------------------------- who takes it

    def put(self, n: int, t: int, only: tuple[str, int | None] | None = None) -> bool:
        """Starts an operation at `t`, on the pipe with the least to do; whether there is room.

        only    the pipe that it has to take, and which unit of it (None: any)
        """
        graph, slot = self.graph, t % self.ii
        resource = graph.resources[n]
        at: list[int] | None = None
        if resource >= 0:
            at = self._held[resource].get(slot)
            if at is None:
                self._held[resource][slot] = at = []
            elif len(at) >= graph.units[resource]:
                return False
        if graph.pipes:
            unit = self._free_unit(n, slot, only)
            if unit is None and graph.pipes[n]:
                return False
            self._unit[n], self._slot[n] = unit, slot
            if unit is not None:
                cycles = graph.intervals[n]
                self._busy[unit[0]][unit[1]] |= self._bits(slot, cycles)
                self._on_unit[unit].append(n)
                if len(graph.pipes[n]) > 1:
                    self._load[unit[0]] += cycles
            if at is not None and len(at) + 1 == graph.units[resource]:
                self._closed[resource] |= 1 << slot
        if at is not None:
            at.append(n)
        return True

    def _free_unit(self, n: int, slot: int, only: tuple[str, int | None] | None) -> Unit | None:
        bits = self._bits(slot, self.graph.intervals[n])
        best: Unit | None = None
        for p in self.graph.pipes[n] if only is None else (only[0],):
            if best is None or self._load[p] < self._load[best[0]]:
                for k, busy in enumerate(self._busy[p]):
                    if not busy & bits and (only is None or only[1] in (None, k)):
                        best = p, k
                        break
        return best

    def leave(self, n: int, t: int) -> None:
        """Takes out an operation that starts at `t`."""
        graph, slot = self.graph, t % self.ii
        resource = graph.resources[n]
        if resource >= 0:
            self._held[resource][slot].remove(n)
        if graph.pipes:
            if resource >= 0:
                self._closed[resource] &= ~(1 << slot)
            unit = self._unit[n]
            if unit is not None:
                cycles = graph.intervals[n]
                self._busy[unit[0]][unit[1]] &= ~self._bits(slot, cycles)
                self._on_unit[unit].remove(n)
                if len(graph.pipes[n]) > 1:
                    self._load[unit[0]] -= cycles
                self._unit[n] = None

    def holders(self, n: int, t: int) -> Sequence[int]:
        """Who takes the resource of an operation in the slot of `t`, in the order of placement."""
        resource = self.graph.resources[n]
        return self._held[resource].get(t % self.ii, ()) if resource >= 0 else ()

    def can_trade(self, n: int, m: int) -> bool:
        """Whether the pipes of two operations have room for each where the other starts."""
        graph = self.graph
        if not graph.pipes:
            return True
        slots = self._slot
        one, two = self._unit[n], self._unit[m]
        first, second = graph.intervals[n], graph.intervals[m]
        if one == two and first == second:
            return True
        pairs = (n, slots[m], first), (m, slots[n], second)
        left = {one: self._bits(slots[n], first)}
        left[two] = left.get(two, 0) | self._bits(slots[m], second)
        for k, slot, cycles in pairs:
            names = graph.pipes[k]
            if not names:
                continue
            bits = self._bits(slot, cycles)
            if all(
                busy & bits & ~left.get((p, unit), 0)
                for p in names for unit, busy in enumerate(self._busy[p])
            ):
                return False
        return True

    def in_the_way(self, n: int, t: int) -> list[int]:
        """Who has to leave so that an operation can start at `t`: the last placed, the fewest."""
        graph, slot = self.graph, t % self.ii
        gone: list[int] = []
        if graph.pipes and graph.pipes[n]:
            bits = self._bits(slot, graph.intervals[n])
            gone = min(
                (self._on(unit, bits) for unit in self._on_unit if unit[0] in graph.pipes[n]),
                key=len,
            )
        at = self.holders(n, t)
        if at and len(at) >= graph.units[graph.resources[n]] and not set(at) & set(gone):
            gone.append(at[-1])
        return gone

    def _on(self, unit: Unit, bits: int) -> list[int]:
        intervals = self.graph.intervals
        return [
            m for m in self._on_unit[unit] if self._bits(self._slot[m], intervals[m]) & bits
        ]
