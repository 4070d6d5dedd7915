"""One iteration of a loop as a sub-partition sees it.

A stream is a list of slots in issue order. A slot waits for others: of the same iteration or of an
earlier one (`distance`). Waits come from the registers alone, because the machine issues each
warp in order; memory accesses of one warp keep their order by themselves.

    loop_stream       a loop's body as the assembler would order it (list scheduling of each block),
                      or in the order of the text. Of a loop of several blocks, the heaviest way
                      from the header to a latch.
    schedule_stream   the kernel of a modulo schedule: slots by cycle, distances by stage.

Cost    linear in operations and reads, and list scheduling.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import attrs

from nvir.analysis.alias import AliasAnalysis
from nvir.ir import Block, Instruction, Loop, Unsupported, Value, successors
from nvir.sm.latency import edge_latency
from nvir.sm.listsched import schedule_operations
from nvir.sm.loopgraph import variant
from nvir.sm.machine import Expansion, expand
from nvir.sm.operation import MachineInstruction, Register
from nvir.sm.profile import Profile
from nvir.sm.schedule.loops import LoopSchedule
from nvir.sm.simulate.memory import Memory, MemorySystem

Kind = Literal["math", "memory", "barrier", "branch"]
Order = Literal["list", "source"]


@attrs.frozen
class Wait:
    """A slot reads what another made `distance` iterations ago, `cycles` after its issue.

    Where the other is a variable-latency access of global memory, the memory system says how many
    cycles; `cycles` is then what remains to pass behind the data's arrival. With `operands` the
    slot waits only until the other has read what it needs, `cycles` after its issue.
    """

    slot: int
    distance: int
    cycles: int
    operands: bool = False


@attrs.frozen
class Slot:
    """One operation of an iteration.

    name       its SASS family
    pipes      of which any runs it; it keeps a unit of one busy for `interval` cycles
    waits      what it reads
    kind       "memory": results come when the memory system says; "barrier": the block's warps
               meet; "branch": the way back to the header
    levels     cycles by level of memory, for accesses that may miss; empty for others
    width      bytes a lane that an access moves
    scoreboard whether readers wait by scoreboard, "long" for global, local and texture memory,
               "short" for the rest; None for a fixed latency
    operation  the machine instruction, where there is one; slots are equal without it
    stall      cycles before the warp's next issue that the machine code encodes; 0: none are known
    """

    name: str
    pipes: tuple[str, ...] = ()
    interval: int = 1
    waits: tuple[Wait, ...] = ()
    kind: Kind = "math"
    levels: dict[str, int] = attrs.field(factory=dict, eq=lambda x: tuple(x.items()))
    width: int = 4
    scoreboard: Literal["long", "short"] | None = None
    operation: MachineInstruction | None = attrs.field(default=None, eq=False)
    stall: int = 0

    @property
    def figures(self) -> tuple[object, ...]:
        """All that decides when it and its readers issue."""
        waits = tuple([(w.slot, w.distance, w.cycles, w.operands) for w in self.waits])
        return (self.pipes, self.interval, waits, self.kind, tuple(self.levels.items()),
                self.width, self.scoreboard, self.stall)

    @property
    def throttle(self) -> str:
        """The stall reason where its pipe is busy."""
        pipe = self.pipes[0] if self.pipes else ""
        if pipe == "LSU":
            return "lg_throttle" if self.levels else "mio_throttle"
        return "tex_throttle" if pipe == "TEX" else "math_pipe_throttle"


@attrs.frozen(eq=False)
class Stream:
    """One iteration: its slots in issue order, the profile that they are for, a name."""

    profile: Profile
    slots: tuple[Slot, ...]
    name: str = ""


def slot(
    profile: Profile, name: str, waits: Sequence[Wait] = (), *, kind: Kind = "math",
    width: int = 4, operation: MachineInstruction | None = None,
) -> Slot:
    """A slot that runs the machine operation `name` as the profile says."""
    found = profile.operation(name)
    row = profile.latencies[profile.units[found.unit].writes]
    scoreboard: Literal["long", "short"] | None = None
    if row.variable or row.levels:
        scoreboard = "long" if row.levels or found.unit == "texture" else "short"
    return Slot(
        name, found.pipes, max(1, found.interval), tuple(waits), kind,
        dict(row.levels), width, scoreboard, operation,
    )


def slot_of(op: MachineInstruction, profile: Profile) -> Slot:
    """The slot of an operation by itself, which waits for nothing."""
    return slot(profile, op.family or "", width=_width(op), operation=op)


# ---------------------------------------------------------------- a loop's body


def loop_stream(
    loop: Loop, profile: Profile, *, order: Order = "list", register_limit: int | None = None,
    alias: AliasAnalysis | None = None, expansion: Expansion | None = None,
) -> Stream:
    """The stream of a loop's body.

    order            "list": as a list scheduler orders each block; "source": as it is written
    register_limit   for the list scheduler
    expansion        of the loop's heaviest path, where it is known
    Raises Unsupported for a loop that holds others, and for an instruction without template.
    """
    path = heaviest_path(loop)
    expansion = expansion or expand(path, profile, strict=True)
    phis: set[Value] = {phi for b in path for phi in b.phis}
    operations = variant(expansion, phis)
    if order == "list":
        operations = [
            op
            for b in path
            for op in schedule_operations(
                [op for op in operations if op.parent.block is b], b, profile,
                register_limit=register_limit, alias=alias,
            )
        ]
    registers = _Registers(path, expansion, operations)
    slots = []
    for n, op in enumerate(operations):
        waits = [
            Wait(m, distance, edge_latency(
                profile, operations[m].family or "", op.family, guard=op.guard == r, level="l1"
            ))
            for r in dict.fromkeys(op.reads)
            for m, distance in registers.sources(n, r)
        ]
        kind = _kind(op, profile, last=n == len(operations) - 1)
        slots.append(
            slot(profile, op.family or "", waits, kind=kind, width=_width(op), operation=op)
        )
    return Stream(profile, balanced(slots, profile), loop.header.name)


def balanced(slots: Sequence[Slot], profile: Profile) -> tuple[Slot, ...]:
    """Each slot with one pipe where its opcode says which (IADD3 or IMAD.IADD).

    Such operations go, in order, where least is to do; ties to the first. Between the two halves
    of a pipe (FMA, FMAlite) the machine chooses itself.
    """
    load = dict.fromkeys(profile.pipes, 0)
    for s in slots:
        for p in s.pipes if _halves(s.pipes) else ():
            load[p] += s.interval // len(s.pipes)
    out = []
    for s in slots:
        if not _halves(s.pipes):
            chosen = min(s.pipes, key=lambda p: load[p] / profile.pipes[p].units)
            load[chosen] += s.interval
            s = attrs.evolve(s, pipes=(chosen,))
        out.append(s)
    return tuple(out)


def least_cycles(slots: Sequence[Slot], profile: Profile, memory: Memory) -> float:
    """Cycles of a sub-partition that an iteration of these slots takes at least, however many
    warps hide its latencies: its issue slots, its busiest pipe, the bytes that it moves."""
    bounds = [len(slots) / profile.issue_width if profile.issue_width else 0.0]
    busy: dict[tuple[str, ...], int] = {}
    for s in slots:
        pipes = profile.operation(s.name).pipes
        busy[pipes] = busy.get(pipes, 0) + s.interval
    bounds += [n / sum(profile.pipes[p].units for p in pipes) for pipes, n in busy.items() if pipes]
    system = MemorySystem(memory, profile)
    nearest = next(level for level, share in memory.shares.items() if share)
    for level in system.passed(nearest):
        if rate := system.rate[level]:
            bounds.append(sum(system.bytes_of(s.width) for s in slots if s.levels) / rate)
    return max(bounds)


def _halves(pipes: tuple[str, ...]) -> bool:
    """Whether an operation's pipes are one pipe or the halves of one."""
    return all(p.startswith(pipes[0]) for p in pipes)


def heaviest_path(loop: Loop) -> list[Block]:
    """The blocks of the longest way through one iteration, header first, a latch last.

    Weights are instructions. Raises Unsupported where the loop holds another one.
    """
    inside = sorted(loop.blocks, key=lambda b: b.rpo_index)
    best: dict[Block, int] = {loop.header: len(loop.header)}
    before: dict[Block, Block] = {}
    for b in inside:
        if b not in best:
            continue
        for s in successors(b):
            if s is loop.header or s not in loop.blocks:
                continue
            if s.rpo_index <= b.rpo_index:
                raise Unsupported("a loop that holds another", "", loop.header.name)
            if best[b] + len(s) > best.get(s, -1):
                best[s], before[s] = best[b] + len(s), b
    latches = [b for b in best if loop.header in successors(b)]
    last = max(latches, key=lambda b: best[b])
    path = [last]
    while path[-1] is not loop.header:
        path.append(before[path[-1]])
    return path[::-1]


class _Registers:
    """Which operation of which iteration made a register that another reads."""

    def __init__(
        self, path: Sequence[Block], expansion: Expansion, operations: list[MachineInstruction]
    ) -> None:
        self.path, self.expansion = path, expansion
        self.place = {b: k for k, b in enumerate(path)}
        self.writers: dict[Register, list[int]] = {}
        for n, op in enumerate(operations):
            for r in op.results:
                self.writers.setdefault(r, []).append(n)

    def sources(self, reader: int, register: Register) -> list[tuple[int, int]]:
        """(operation, iterations before) of what `reader` finds in a register; at most one."""
        current: Register | None = register
        distance = 0
        while current is not None and distance <= 8:
            made = self.writers.get(current, ())
            here = [n for n in made if distance or n < reader]
            if here:
                return [(here[-1], distance)]
            value, word = current
            if not isinstance(value, Instruction) or not value.form.is_phi:
                return []
            at = self.place.get(value.block) if value.block is not None else None
            if at is None:
                return []
            came = self.path[at - 1]  # of the header: the latch, the path's last
            distance += at == 0
            later = [v for v, b in value.incoming if b is came]
            if not later or later[0] is value:
                return []
            current = self.expansion.resolve((later[0], word))
        return []


def _kind(op: MachineInstruction, profile: Profile, last: bool) -> Kind:
    form = op.parent.form
    unit = profile.operation(op.family or "").unit
    if form.terminator:
        return "branch" if last else "math"
    if unit == "barrier" and form.sync:
        return "barrier"
    return "memory" if form.reads or form.writes else "math"


def _width(op: MachineInstruction) -> int:
    """Bytes a lane that an access moves: of the values that it loads, else that it stores."""
    i = op.parent
    if not (i.form.reads or i.form.writes):
        return 0
    loaded = sum(r.type.bits for r in i.results)
    stored = sum(v.type.bits for v in i.operands[1:]) if not loaded else 0
    return max(1, (loaded or stored) // 8)


# ---------------------------------------------------------------- a modulo schedule


def schedule_stream(schedule: LoopSchedule) -> Stream:
    """The kernel of a modulo schedule, in steady state."""
    found, ii = schedule.graph, schedule.ii
    nodes = sorted(
        range(len(found.operations)), key=lambda n: (schedule.times[n] % ii, schedule.times[n])
    )
    last = [n for n in nodes if found.operations[n].parent.form.terminator]
    nodes = [n for n in nodes if n not in last] + last  # the way back closes the kernel
    place = {n: k for k, n in enumerate(nodes)}
    stage = [t // ii for t in schedule.times]
    waits: list[list[Wait]] = [[] for _ in nodes]
    for e in found.register_edges:
        a, b, cycles, distance = found.graph.edges[e]
        apart = distance + stage[b] - stage[a]
        waits[place[b]].append(Wait(place[a], apart, cycles))
    slots = []
    for k, n in enumerate(nodes):
        op = found.operations[n]
        kind = _kind(op, found.profile, last=k == len(nodes) - 1)
        slots.append(
            attrs.evolve(
                slot(found.profile, op.family or "", waits[k], kind=kind, width=_width(op),
                     operation=op),
                pipes=(schedule.pipe[n],) if schedule.pipe[n] else (),
            )
        )
    return Stream(found.profile, tuple(slots), found.loop.header.name)
