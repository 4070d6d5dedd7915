"""Phases B and C: what is live in each stage, and a cycle for each operation.

`place` receives the interval and the stage of every operation, and a mask of the stages to be
placed. It searches no interval: where the operations do not fit it returns None, and whoever owns
the interval (`nvir.assembler.postra.schedule`) may ask again with a larger one; larger ones keep
the stages valid, since every dependence spans at least zero passes of the kernel.

    modulo   what nothing carries across iterations stands at the cycle it was given
    bank     carried operations: the cycle nearest to the given one without a conflict of banks. An
             operation whose sources overload a bank takes the issue slot behind its own as well;
             where several may issue in a cycle, no two of them have a register of one class (the
             notes' seven)
    tensor   carried in the tensor class, where the gate is open: as modulo
    none     nobody scheduled it across iterations: it stands in the body's order

Placed are the modulo ones first. Where the cycle given is taken, both look for the nearest one that
dependences and the stage allow. For slots that phase 24 gave the fast path asks no classes, and
what reads its own result of the iteration before is carried, as the notes have it; else every
operation keeps apart from those of its class, and a register that one operation alone reads and
writes is no matter of placement.

Cost    operations times the slots tried, few.
Source  notes on ptxas, phase 4, B and C; stages are those set in the mask (their stage loop, from
        the count of stages to a total, would visit one stage at most).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from nvir.assembler.postra.code import LoopCode, PhysicalOp, Reg
from nvir.assembler.postra.dependences import Dependence
from nvir.assembler.postra.records import (
    STAGE_BITS,
    LivenessRow,
    Route,
    SchedulingRecord,
    StageSlot,
    decode,
    encode,
)
from nvir.assembler.regalloc.banks import is_conflict
from nvir.ir.text.trace import Brief, note, plain, shown, step
from nvir.sm.profile import Profile

_TOLD = {  # the events of placement
    Route.MODULO: ("PRA-04", "C fast path"), Route.TENSOR: ("PRA-06", "C fast path"),
    Route.BANK: ("PRA-07", "C place by bank"),
}
EXIT = "exit"  # the code behind the loop, which has no name here


@attrs.frozen(eq=False)
class Placement:
    """A cycle for each operation of the stages in the mask, by operation.

    records    operation → its record
    liveness   register → the stages in which it is live
    behind     register → the stages that leave a value which the code behind the loop reads
    """

    ii: int
    mask: int
    records: Mapping[int, SchedulingRecord]
    slots: tuple[StageSlot, ...]
    liveness: Mapping[Reg, LivenessRow]
    behind: Mapping[Reg, LivenessRow]


def has_conflict(op: PhysicalOp) -> bool:
    """Whether the general registers that an operation reads overload a bank.

    Only arithmetic reads three at once; accesses to memory read pairs in turn.
    """
    sources = [n for kind, n in op.reads if kind == "R"]
    return len(sources) == 3 and is_conflict(sources)


# ---------------------------------------------------------------- phase B


@step("PRA-08", "B slots", "mask")
def stage_slots(code: LoopCode, stages: Sequence[int], mask: int) -> tuple[StageSlot, ...]:
    """The stages of the mask with their operations, in the order of the body."""
    out = []
    for s in range(mask.bit_length()):
        if mask >> s & 1:
            ops = tuple(n for n, stage in enumerate(stages) if stage == s)
            reads = frozenset(r for n in ops for r in code.operations[n].reads)
            writes = frozenset(r for n in ops for r in code.operations[n].writes)
            out.append(StageSlot(s, ops, reads, writes))
    return tuple(out)


@step("PRA-03", "B liveness", "live_out")
def stage_liveness(
    slots: Sequence[StageSlot], found: Sequence[Dependence], live_out: frozenset[Reg]
) -> dict[Reg, LivenessRow]:
    """Register → the stages that find a value in it, and those that leave one.

    A stage finds what an earlier stage, an earlier iteration or the code before the loop wrote; it
    leaves what another stage, a later iteration or the code behind the loop reads.
    """
    stage_of = {n: s.stage for s in slots for n in s.operations}
    rows: dict[Reg, list[int]] = {}
    fed: dict[int, set[Reg]] = {n: set() for n in stage_of}
    for d in found:
        if d.kind == "RAW" and d.register is not None:
            if d.target in fed:
                fed[d.target].add(d.register)
            a, b = stage_of.get(d.source), stage_of.get(d.target)
            if a == b and not d.distance:
                continue
            row = rows.setdefault(d.register, [0, 0])
            if b is not None:
                row[0] |= 1 << b
            if a is not None:
                row[1] |= 1 << a
    for s in slots:
        for r in sorted(s.writes & live_out):
            rows.setdefault(r, [0, 0])[1] |= 1 << s.stage
        for r in sorted(s.reads):  # written nowhere in the loop
            if not any(r in fed[n] for n in s.operations):
                rows.setdefault(r, [0, 0])[0] |= 1 << s.stage
    return {r: LivenessRow(*row) for r, row in rows.items()}


@step("PRA-03", "B successors", "successors")
def propagate(
    rows: Mapping[Reg, LivenessRow], successors: Mapping[str, frozenset[Reg]]
) -> dict[str, dict[Reg, LivenessRow]]:
    """Block → its rows: what the loop's stages leave is live into each successor that reads it."""
    return {
        name: {r: LivenessRow(rows[r].live_out) for r in sorted(live) if r in rows
               and rows[r].live_out}
        for name, live in successors.items()
    }


# ---------------------------------------------------------------- phase C


@step("PRA-10", "C placement", "ii", "mask")
def place(
    code: LoopCode, found: Sequence[Dependence], ii: int, stages: Sequence[int], mask: int, *,
    slots: Sequence[int] | None = None, pipes: Sequence[str] | None = None, windows: bool = False,
) -> Placement | None:
    """A cycle for each operation of the stages in the mask; None where they do not fit.

    slots   slot of the kernel, 0 to ii - 1, that each operation should have (default: the earliest)
    pipes   the pipe that each takes (default: the first of its own)
    windows   what is placed narrows where all others may go, and the narrowest come first: for
            slots that were found for other registers
    """
    placer = _Placer(code, found, ii, stages, mask, slots, pipes)
    placer.noted = windows
    live, routes = placer.phase_b(), placer.routes()
    if windows:
        placer.windows = PlacementWindows.of(found, ii, stages)
        if Route.NONE in routes.values() or not placer.windows.narrow():
            return None
    return placer.result(routes, live) if placer.fits(routes) else None


def placement_of(
    code: LoopCode, found: Sequence[Dependence], ii: int, times: Sequence[int],
    pipes: Sequence[str], marked: bool = True,
) -> Placement:
    """The records of operations whose cycles and pipes are known to be right. Those that are not
    `marked` have no flags: they are scheduled in one iteration alone."""
    stages = [t // ii for t in times]
    mask = (1 << max(stages) + 1) - 1
    placer = _Placer(code, found, ii, stages, mask, None, pipes)
    placer.time = dict(enumerate(times))
    placer.pipe = dict(enumerate(pipes))
    live = placer.phase_b()
    routes = dict.fromkeys(placer.inside, Route.MODULO)
    return placer.result(routes if marked else placer.routes(marked=False), live)


def _outwards(middle: int, low: int, high: int) -> Iterable[int]:
    """The numbers from low to high, those next to `middle` first, of two the one below."""
    below = range(min(middle - 1, high), low - 1, -1)
    return heapq.merge(below, range(max(middle, low), high + 1), key=lambda t: abs(t - middle))


@attrs.frozen
class StagesLive:
    """What phase B says: the stages, what is live in them, and what is behind them."""

    slots: tuple[StageSlot, ...]
    live: dict[Reg, LivenessRow]
    behind: dict[Reg, LivenessRow]


@attrs.define
class PlacementWindows:
    """The first and last cycle of each operation that dependences at an interval allow."""

    found: Sequence[Dependence]
    ii: int
    low: list[int]
    high: list[int]

    @classmethod
    def of(cls, found: Sequence[Dependence], ii: int, stages: Sequence[int]) -> PlacementWindows:
        return cls(found, ii, [s * ii for s in stages], [s * ii + ii - 1 for s in stages])

    def narrow(self) -> bool:
        """Carry the windows along the dependences; whether each is left."""
        low, high, moved = self.low, self.high, True
        while moved:
            moved = False
            for d in self.found:
                a, b, apart = d.source, d.target, d.cycles - d.distance * self.ii
                if low[b] < low[a] + apart:
                    low[b], moved = low[a] + apart, True
                if high[a] > high[b] - apart:
                    high[a], moved = high[b] - apart, True
                if low[b] > high[b]:  # then low[a] > high[a], too
                    return False
        return True

    def fix(self, n: int, cycle: int) -> None:
        self.low[n] = self.high[n] = cycle
        self.narrow()


class _Placer:
    windows: PlacementWindows | None = None
    noted = False  # the slots are phase 24's

    def __init__(
        self, code: LoopCode, found: Sequence[Dependence], ii: int, stages: Sequence[int],
        mask: int, slots: Sequence[int] | None, pipes: Sequence[str] | None,
    ) -> None:
        self.code, self.found, self.ii, self.stages, self.mask = code, found, ii, stages, mask
        self.profile: Profile = code.profile
        self.wanted = slots if slots is not None else [0] * len(stages)
        self.pipes = pipes
        self.inside = [n for n, s in enumerate(stages) if mask >> s & 1]
        self.time: dict[int, int] = {}
        self.pipe: dict[int, str] = {}
        self.busy: dict[tuple[str, int], int] = {}  # (pipe, unit) → slots as bits
        self.issued = [0] * ii
        self.classes: list[set[int]] = [set() for _ in range(ii)]
        self.carriers: dict[int, Reg] = {}  # of operations, as the notes have them
        self.preds: dict[int, list[Dependence]] = {n: [] for n in self.inside}
        self.succs: dict[int, list[Dependence]] = {n: [] for n in self.inside}
        for d in found:
            if d.target in self.preds and d.source in self.succs and d.source != d.target:
                self.preds[d.target].append(d)
                self.succs[d.source].append(d)

    def fits(self, routes: Mapping[int, Route]) -> bool:
        """Put each operation at a cycle; whether there is one for all."""
        if any(d.source == d.target and d.cycles > d.distance * self.ii for d in self.found):
            return False
        left = sorted(self.inside, key=lambda n: (
            routes[n] is Route.BANK, self.stages[n] * self.ii + self.wanted[n], n
        ))
        while left:
            n = left.pop(self._next(left))
            if not self._put(n, routes[n]):
                return False
        return True

    def phase_b(self) -> StagesLive:
        slots = stage_slots(self.code, self.stages, self.mask)
        live = stage_liveness(slots, self.found, self.code.live_out)
        return StagesLive(slots, live, propagate(live, {EXIT: self.code.live_out})[EXIT])

    def result(self, routes: Mapping[int, Route], b: StagesLive) -> Placement:
        slots = tuple(attrs.evolve(
            s, operations=tuple(sorted(s.operations, key=lambda n: (self.time[n], n)))
        ) for s in b.slots)
        records = {n: self._record(n, routes[n]) for n in self.inside}
        return Placement(self.ii, self.mask, records, slots, b.live, b.behind)

    def _told(self, n: int, route: Route, passed: Mapping[int, str]) -> None:
        """Tell where an operation was put, and what kept it from the cycle that it was given."""
        wanted, at = self.stages[n] * self.ii + self.wanted[n], self.time.get(n)
        told = "no cycle" if at is None else f"cycle {at}"
        if passed:
            first, why = next(iter(passed.items()))
            told += f", at {first} {why}"
        elif at != wanted:
            told += ", for what it depends on"
        row, name = _TOLD[route]
        family = self.code.operations[n].family
        given: dict[str, Any] = {"loop": self.code.name, "operation": family}
        if route is Route.BANK:
            given["bank"], given["offset"] = self._bank(n)
            given["is_cross"] = True
        note(row, name, told, **given, stage=self.stages[n], wanted=wanted)

    def _bank(self, n: int) -> tuple[int, int]:
        """The class of the register that an operation is carried in, as the notes have it, and the
        offset there; else those of its first general register."""
        op, carrier = self.code.operations[n], self.carriers.get(n)
        first = next((r for kind, r in (*op.writes, *op.reads) if kind == "R"), 0)
        return self.profile.banks.classify(first if carrier is None else carrier[1])

    def _carrier(self, n: int) -> Reg | None:
        """The register in which an operation is carried across iterations, if it is."""
        own = [d for d in self.found if d.source == d.target == n] if self.noted else []
        for d in (*self.preds[n], *self.succs[n], *own):
            trips = d.distance + self.stages[d.target] - self.stages[d.source]
            if trips > 0 and d.kind == "RAW" and d.register is not None and d.register[0] == "R":
                return d.register
        return None

    def routes(self, marked: bool = True) -> dict[int, Route]:
        """By flags byte and stage, as the notes decode it. The byte holds three bits of a stage: as
        noted nobody places what is of a later one than 7."""
        return {n: self._route(n, marked) for n in self.inside}

    def _route(self, n: int, marked: bool) -> Route:
        stage, carrier = self.stages[n], self._carrier(n)
        field = stage & STAGE_BITS
        way = Route.MODULO if carrier is None else Route.BANK
        flags = encode(way if marked else Route.NONE, field)
        if self.noted and carrier is not None:
            self.carriers[n] = carrier
        return decode(flags, stage if self.noted else field, carrier and carrier[1],
                      self.profile.banks)

    def _next(self, left: Sequence[int]) -> int:
        """Whose turn it is: the first; with windows what has no choice, then the earliest slot."""
        w = self.windows
        if w is None:
            return 0
        return min(range(len(left)), key=lambda k: (
            w.high[left[k]] > w.low[left[k]],
            max(self.wanted[left[k]], w.low[left[k]] % self.ii), k,
        ))

    def _put(self, n: int, route: Route) -> bool:
        low, high = self._between(n)
        wanted = self.stages[n] * self.ii + self.wanted[n]
        passed: dict[int, str] = {}
        for t in _outwards(wanted, low, high):
            unit, slot = self._unit(n, t % self.ii), t % self.ii
            why = "its pipe is busy" if unit is None else self._conflict(n, slot, route)
            if unit is not None and not why:
                self._take(n, t, unit)
                break
            passed[t] = why
        self._told(n, route, passed)
        return n in self.time

    def _between(self, n: int) -> tuple[int, int]:
        """The first and last cycle that what is placed leaves an operation."""
        if self.windows is not None:
            return self.windows.low[n], self.windows.high[n]
        ii, stage = self.ii, self.stages[n]
        low, high = stage * ii, stage * ii + ii - 1
        for d in self.preds[n]:
            if d.source in self.time:
                low = max(low, self.time[d.source] + d.cycles - d.distance * ii)
        for d in self.succs[n]:
            if d.target in self.time:
                high = min(high, self.time[d.target] - d.cycles + d.distance * ii)
        return low, high

    def _names(self, n: int) -> tuple[str, ...]:
        own = self.profile.operation(self.code.operations[n].family).pipes
        if self.pipes is not None and self.pipes[n] in own:
            return (self.pipes[n], *(p for p in own if p != self.pipes[n]))
        return own

    def _held(self, n: int, slot: int) -> int:
        """The slots in which an operation keeps its pipe busy, as bits; those from the interval on
        stand for ones below, too."""
        cycles = self.profile.operation(self.code.operations[n].family).interval
        bits = ((1 << min(max(1, cycles), self.ii)) - 1) << slot
        return bits | bits >> self.ii

    def _unit(self, n: int, slot: int) -> tuple[str, int] | None:
        names = self._names(n)
        if not names:
            return "", 0
        cycles = self.profile.operation(self.code.operations[n].family).interval
        held = self._held(n, slot)
        for name in names:
            units = self.profile.pipes[name].units
            for u in range(units):
                if cycles <= self.ii and not self.busy.get((name, u), 0) & held:
                    return name, u
        return None

    def _conflict(self, n: int, slot: int, route: Route) -> str:
        """Why an operation may not issue in a slot, or ""."""
        width = self.profile.issue_width
        op = self.code.operations[n]
        if not width:  # several issue at once: not two of a bank class
            if self.noted and route is not Route.BANK:
                return ""
            both = self._classes(n) & self.classes[slot]
            return f"another has a register of class {min(both)}" if both else ""
        if self.issued[slot] >= width:
            return "another issues"
        if has_conflict(op) and (self.ii == 1 or self.issued[(slot + 1) % self.ii] >= width):
            return "its sources overload a bank and the next slot is taken"
        return ""

    def _classes(self, n: int) -> set[int]:
        """The classes that an operation takes: as noted one of what is carried, else of all that it
        writes."""
        if n in self.carriers:
            return {self._bank(n)[0]}
        writes = self.code.operations[n].writes
        return {self.profile.banks.classify(r)[0] for kind, r in writes if kind == "R"}

    def _take(self, n: int, t: int, unit: tuple[str, int]) -> None:
        slot = t % self.ii
        self.time[n], self.pipe[n] = t, unit[0]
        if self.windows is not None:
            self.windows.fix(n, t)
        if unit[0]:
            self.busy[unit] = self.busy.get(unit, 0) | self._held(n, slot)
        op = self.code.operations[n]
        self.issued[slot] += 1
        if has_conflict(op) and self.profile.issue_width:
            self.issued[(slot + 1) % self.ii] += 1
        self.classes[slot] |= self._classes(n)

    @step("PRA-08", "C record", "n", tell=lambda made, placer, n, route:
          Brief(f"{placer.code.operations[n].family}, {shown(made)}",
                {"operation": placer.code.operations[n].family} | plain(made)))
    def _record(self, n: int, route: Route) -> SchedulingRecord:
        own = carried = self.stages[n] * self.ii
        for d in self.preds[n]:
            ready = self.time[d.source] + d.cycles - d.distance * self.ii
            carried = max(carried, ready)
            if not d.distance:
                own = max(own, ready)
        bank, offset = self._bank(n)
        stage = self.stages[n]
        flags = encode(route, stage) if stage <= STAGE_BITS else None
        return SchedulingRecord(
            self.time[n], stage, self.pipe[n], route, own, carried, flags, bank, offset
        )
