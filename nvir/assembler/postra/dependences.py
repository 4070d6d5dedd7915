"""Dependences between operations on physical registers, and what crosses iterations.

    RAW    from a write to the reads of it: the profile's latency
    WAR    from a read to the next write: a fixed-latency operation has read its operands when the
           next issues; an access to memory reads them later (`READ_CYCLES`), which the machine
           guards by a scoreboard
    WAW    from a write to the next: the second must land later. Behind a variable latency it waits
           for the first
    order  memory, barriers, control, as `sm.loopgraph` has them; and in loops whose trip count is
           not known, writes to registers that are read behind the loop wait for the branch

Nearest pairs are enough: what is further follows by transitivity. Linear in operands.

Phase A of the notes registers, stage by stage, the dependences that reach a later trip through the
kernel: those whose distance and difference of stages together are positive.

Source  notes on ptxas, phase 4 of its software pipeliner (after register allocation). READ_CYCLES:
        assumed, from the range 9 to 20 that Huerta et al., "Analyzing Modern NVIDIA GPU Cores",
        2025, measured for the release of operands by memory instructions. Machine code has no
        figure for it: ptxas 13.0.88 signals by scoreboard, and the first to wait for that stands as
        little as 2 cycles behind, where nothing else can issue (examples, sm_80; medians: STG 14 of
        7 places, LDG 12 of 42, STS 7 of 15). Which operations signal that they have read was
        observed there: all accesses, SHFL, and now and then DFMA, MUFU and conversions.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal

import attrs

from nvir.assembler.postra.code import LoopCode, PhysicalOp, Reg, reg_name
from nvir.ir.text.trace import Brief, note, step
from nvir.sm.latency import edge_latency
from nvir.sm.profile import Profile

Kind = Literal["RAW", "WAR", "WAW", "order"]
READ_CYCLES = 11  # assumed, see above
BLOCK_ROWS = 24  # of phase A's table, for each block: one for a stage


@attrs.frozen
class Dependence:
    """`target` of iteration i + distance starts `cycles` after `source` of iteration i."""

    source: int
    target: int
    kind: Kind
    register: Reg | None
    cycles: int
    distance: int

    @property
    def is_false(self) -> bool:
        """Whether another choice of registers would do without it."""
        return self.kind in ("WAR", "WAW")

    def text(self, code: LoopCode) -> str:
        a, b = code.operations[self.source], code.operations[self.target]
        where = f" {reg_name(self.register)}" if self.register is not None else ""
        later = f", {self.distance} iteration later" if self.distance else ""
        return (
            f"{self.kind}{where}: {a.family} ({self.source}) → {b.family} ({self.target}), "
            f"{self.cycles} cycles{later}"
        )

    def words(self, code: LoopCode) -> str:
        """What the dependence means where it is a false one."""
        a, b = code.operations[self.source], code.operations[self.target]
        if self.register is None or not self.is_false:
            return self.text(code)
        name = reg_name(self.register)
        before = "of the iteration before " if self.distance else ""
        first, second = f"{a.family} ({self.source})", f"{b.family} ({self.target})"
        if self.kind == "WAR":
            return f"{second} may not write {name} until {first} {before}has read it"
        return f"{second} may not write {name} until {first} {before}has written it"


def read_cycles(profile: Profile, op: PhysicalOp) -> int:
    """Cycles from an operation's issue until what it reads may be overwritten."""
    return READ_CYCLES if reads_late(profile, op) else 1


def reads_late(profile: Profile, op: PhysicalOp) -> bool:
    return profile.units[profile.operation(op.family).unit].late


def result_is_variable(profile: Profile, op: PhysicalOp) -> bool:
    """Whether readers of the result wait by scoreboard."""
    row = profile.latencies[profile.units[profile.operation(op.family).unit].writes]
    return row.variable or bool(row.levels)


@step("PRA-02", "A dependences", "level", tell=lambda found, code, *a: Brief(
    [d.text(code) for d in found], [attrs.asdict(d, recurse=False) for d in found]))
def dependences(
    code: LoopCode, *, level: str = "l1", policy: str = "observed"
) -> list[Dependence]:
    """All nearest dependences of a loop's body; `level` is where loads hit."""
    found: list[Dependence] = []
    events: dict[Reg, tuple[list[int], list[int]]] = {}
    for n, op in enumerate(code.operations):
        for r in op.reads:
            events.setdefault(r, ([], []))[0].append(n)
        for r in op.writes:
            events.setdefault(r, ([], []))[1].append(n)
    for r, (reads, writes) in events.items():
        if writes:
            found.extend(_of_register(code, r, reads, writes, level, policy))
    found.extend(Dependence(a, b, "order", None, c, d) for a, b, c, d in code.order)
    if not code.counted and code.branch is not None:
        branch = code.branch
        for n, op in enumerate(code.operations):
            if not code.live_out.isdisjoint(op.writes):
                found.append(Dependence(branch, n, "order", None, 1, 1))
    return found


def _of_register(
    code: LoopCode, r: Reg, reads: list[int], writes: list[int], level: str, policy: str
) -> list[Dependence]:
    operations, profile = code.operations, code.profile
    out = []
    for n in reads:
        behind = bisect_left(writes, n)
        source, distance = writes[behind - 1], int(not behind)  # of the iteration before: the last
        a, b = operations[source], operations[n]
        cycles = 1
        if r[0] != "M":
            cycles = edge_latency(
                profile, a.family, b.family, guard=r == b.guard, level=level, policy=policy
            )
        out.append(Dependence(source, n, "RAW", r, cycles, distance))
        target, distance = (writes[behind], 0) if behind < len(writes) else (writes[0], 1)
        if target != n:
            hold = 1 if r[0] == "M" else read_cycles(profile, b)
            out.append(Dependence(n, target, "WAR", r, hold, distance))
    for k, n in enumerate(writes):
        last = k + 1 == len(writes)
        target = writes[0] if last else writes[k + 1]
        cycles = 1 if r[0] == "M" else write_gap(
            profile, operations[n], operations[target], level, policy)
        out.append(Dependence(n, target, "WAW", r, cycles, int(last)))
    return out


def write_gap(
    profile: Profile, first: PhysicalOp, second: PhysicalOp, level: str, policy: str = "observed"
) -> int:
    """Cycles between two writes of a register."""
    lands = edge_latency(profile, first.family, level=level, policy=policy)
    if result_is_variable(profile, first):
        return lands
    return max(1, lands - edge_latency(profile, second.family, level=level, policy=policy) + 1)


# ---------------------------------------------------------------- phase A


@attrs.frozen
class CarriedDependence:
    """What phase A registers: `source`, of a stage, is waited for `trips` passes of the kernel on.

    The register is None for the order of memory and control.
    """

    stage: int
    source: int
    target: int
    register: Reg | None
    trips: int
    cycles: int

    def __str__(self) -> str:
        where = f" by {reg_name(self.register)}" if self.register is not None else ""
        return f"{self.source} to {self.target}{where} {self.trips} on, {self.cycles} cycles"


@step("PRA-02", "A carried", "stages", "start", "end", tell=lambda made, *a: Brief(
    made, {s: [attrs.asdict(d, recurse=False) for d in rows] for s, rows in made.items()}))
def register_carried(
    found: Sequence[Dependence], stages: Sequence[int], start: int, end: int, block: int = 0
) -> dict[int, tuple[CarriedDependence, ...]]:
    """The row of each stage, from start to end (included) → the dependences with a positive trip
    distance. `block`: the number of the loop's block."""
    of = {s: block * BLOCK_ROWS + s for s in range(start, end + 1)}
    note("PRA-08", "A dependence rows", of, block=block)
    table: dict[int, list[CarriedDependence]] = {row: [] for row in of.values()}
    for d in found:
        stage = stages[d.source]
        trips = d.distance + stages[d.target] - stage
        if trips > 0 and stage in of:
            table[of[stage]].append(
                CarriedDependence(stage, d.source, d.target, d.register, trips, d.cycles)
            )
    return {row: tuple(entries) for row, entries in table.items()}
