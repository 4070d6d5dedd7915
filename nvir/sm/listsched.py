"""List scheduling of a block's machine operations: critical paths first, registers in view.

Cycle by cycle, of the operations whose operands are there and whose pipe is free, the one with the
longest way to the block's end issues. While `register_limit` or more registers are live, the one
that frees most goes first instead: an operation that ends lives before one that starts them; if
its operands are still under way, the others wait.

Operations with several pipes take the one that is free soonest. The terminator stays last; memory
accesses keep their order where they may meet, and around barriers.

Cost    O(n log n) for n operations and their dependences; these as in `nvir.sm.loopgraph`.
Source  P. Gibbons, S. Muchnick, "Efficient Instruction Scheduling for a Pipelined Architecture",
        1986; J. Goodman, W. Hsu, "Code Scheduling and Register Allocation in Large Basic Blocks",
        1988 (the switch between the two aims).
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

import attrs

from nvir.analysis.alias import AliasAnalysis, Passed
from nvir.analysis.analyses import Analyses
from nvir.ir import Block, Function, Instruction
from nvir.sm.latency import edge_latency
from nvir.sm.loopgraph import is_memory
from nvir.sm.machine import expand
from nvir.sm.operation import MachineInstruction, Register, Temporary
from nvir.sm.profile import Profile

Dependence = tuple[int, int, int]
"""(earlier operation, later operation, cycles between their starts at least)"""


@attrs.frozen(eq=False)
class BlockSchedule:
    """A block's operations in their new order.

    operations   as they were
    order        their indices by issue
    times        operation -> cycle of issue, from 0
    pipe         operation -> the pipe that it takes ("" for none)
    length       cycles to the issue behind the last
    max_live     32-bit registers live at once
    """

    operations: tuple[MachineInstruction, ...]
    order: tuple[int, ...]
    times: tuple[int, ...]
    pipe: tuple[str, ...]
    length: int
    max_live: int


def list_schedule(
    block: Block, profile: Profile, *, register_limit: int | None = None, level: str = "l1",
    alias: AliasAnalysis | None = None,
) -> BlockSchedule:
    """Schedule a block for one warp on the profile's machine.

    register_limit   live registers from which on freeing them comes first; None: never
    level            where loads hit
    Raises Unsupported for an instruction without template.
    """
    operations = [op for op in expand([block], profile, strict=True).operations if not op.rare]
    edges = dependences(operations, profile, level=level, alias=alias)
    return _Scheduling(operations, edges, profile, register_limit).run(block)


def schedule_operations(
    operations: Sequence[MachineInstruction], block: Block, profile: Profile, *,
    register_limit: int | None = None, level: str = "l1", alias: AliasAnalysis | None = None,
) -> list[MachineInstruction]:
    """Some operations of a block in the order in which `list_schedule` would issue them."""
    some = list(operations)
    edges = dependences(some, profile, level=level, alias=alias)
    order = _Scheduling(some, edges, profile, register_limit).run(block).order
    return [some[n] for n in order]


def dependences(
    operations: Sequence[MachineInstruction], profile: Profile, *, level: str = "l1",
    alias: AliasAnalysis | None = None,
) -> list[Dependence]:
    """What orders the operations of one block: registers, memory, barriers, the terminator."""
    edges = _register_order(operations, profile, level)
    edges += _memory_order(operations, profile, alias)
    last = len(operations) - 1
    if last >= 0 and operations[last].parent.form.terminator:
        edges += [(n, last, 0) for n in range(last)]
    return edges


def _register_order(
    operations: Sequence[MachineInstruction], profile: Profile, level: str
) -> list[Dependence]:
    """True dependences; and a temporary that a template writes again waits for its readers."""
    edges: list[Dependence] = []
    writer: dict[Register, int] = {}
    readers: dict[Register, list[int]] = {}
    for n, op in enumerate(operations):
        for r in dict.fromkeys(op.reads):
            source = writer.get(r)
            if source is not None:
                cycles = edge_latency(
                    profile, operations[source].family or "", op.family,
                    guard=op.guard == r, level=level,
                )
                edges.append((source, n, cycles))
            readers.setdefault(r, []).append(n)
        for r in op.results:
            if r in writer and writer[r] != n:
                edges.append((writer[r], n, 1))
            edges += [(m, n, 0) for m in readers.pop(r, ()) if m != n]
            writer[r] = n
    return edges


def _memory_order(
    operations: Sequence[MachineInstruction], profile: Profile, alias: AliasAnalysis | None
) -> list[Dependence]:
    """Accesses that may meet, in their order; without what others between them order already."""
    edges: list[Dependence] = []
    barrier: int | None = None
    since: list[int] = []  # accesses after the last barrier
    parts: dict[Instruction, int] = {}  # those of one instruction, as bits like all below
    passed: Passed | None = None
    reach: dict[int, int] = {}  # what each of those comes after, by its place there
    for n, op in enumerate(operations):
        f = op.parent.form
        if not is_memory(profile, op):
            continue
        if barrier is not None:
            edges.append((barrier, n, 1))
        if f.sync or f.pinned or f.is_call:
            edges += [(m, n, 1) for m in since]
            barrier, since, parts, passed = n, [], {}, None
            continue
        if passed is None:
            alias = alias or Analyses.of(_function_of(op.parent)).alias
            passed = Passed(alias)
        own, after = parts.get(op.parent, 0), 0
        open_ = passed.before(op.parent) | own
        while open_:
            m = open_.bit_length() - 1
            open_ ^= 1 << m
            if own >> m & 1 or passed.alias.depend(passed.instructions[m], op.parent):
                edges.append((since[m], n, 1))
                after |= 1 << m | reach[m]
                open_ &= ~after
        reach[len(since)] = after
        parts[op.parent] = own | 1 << len(since)
        passed.add(op.parent)
        since.append(n)
    return edges


def _function_of(i: Instruction) -> Function:
    function = i.function
    assert function is not None
    return function


class _Scheduling:
    """The state while operations are picked."""

    def __init__(
        self, operations: list[MachineInstruction], edges: list[Dependence], profile: Profile,
        limit: int | None,
    ) -> None:
        self.operations, self.limit = operations, limit
        count = len(operations)
        self.succs: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        self.waiting = [0] * count
        for src, dst, cycles in edges:
            self.succs[src].append((dst, cycles))
            self.waiting[dst] += 1
        found = [profile.operation(op.family or "") for op in operations]
        self.pipes = [o.pipes for o in found]
        self.interval = [max(1, o.interval) for o in found]
        self.width = profile.issue_width or count or 1
        self.free = {p: [0] * pipe.units for p, pipe in profile.pipes.items()}
        self.first = dict.fromkeys(self.free, 0)  # when the first unit of a pipe is free
        self.height = [0] * count
        for n in reversed(range(count)):  # edges lead forward
            ways = (cycles + self.height[dst] for dst, cycles in self.succs[n])
            self.height[n] = max(ways, default=self.interval[n])

    def run(self, block: Block) -> BlockSchedule:
        count = len(self.operations)
        lives = _Lives(self.operations, block)
        early = [0] * count
        groups: dict[tuple[str, ...], _Ready] = {}
        self.group = [groups.setdefault(p, _Ready(p, self.height, lives, early))
                      for p in self.pipes]
        self.groups = list(groups.values())
        ready = [n for n in range(count) if not self.waiting[n]]
        times, pipe, order = [0] * count, [""] * count, []
        cycle = issued = 0
        for n in ready:
            self.group[n].add(n)
        left = len(ready)
        while left:
            if issued >= self.width:
                cycle, issued = cycle + 1, 0
            able = [g for g in self.groups if self._free_at(g) <= cycle and g.arrive(cycle)]
            if not able:
                soonest = min(max(g.soonest(), self._free_at(g)) for g in self.groups if g.members)
                cycle, issued = max(soonest, cycle + 1), 0
                continue
            scarce = self.limit is not None and lives.now >= self.limit
            relief = self._relief(able) if scarce else None
            if relief is not None:
                cycle, issued = max(relief, cycle + 1), 0
                continue
            n = min(g.freest() for g in able)[2] if scarce else min(g.highest() for g in able)[2]
            self.group[n].members.discard(n)
            left -= 1
            times[n], issued = cycle, issued + 1
            pipe[n] = self._take(n, cycle)
            order.append(n)
            for m in lives.issue(n):
                self.group[m].changed(m)
            for dst, cycles in self.succs[n]:
                early[dst] = max(early[dst], cycle + cycles)
                self.waiting[dst] -= 1
                if not self.waiting[dst]:
                    self.group[dst].add(dst)
                    left += 1
        return BlockSchedule(
            tuple(self.operations), tuple(order), tuple(times), tuple(pipe),
            cycle + 1 if order else 0, lives.most,
        )

    def _relief(self, able: list[_Ready]) -> int | None:
        """Until when to wait for an operation that frees registers; None: issue at once."""
        if any(g.freest()[0] <= 0 for g in able):
            return None
        return min((max(at, self._free_at(g)) for g in self.groups
                    if (at := g.freeing()) is not None), default=None)

    def _free_at(self, group: _Ready) -> int:
        """When the first of the pipes that operations can take is free."""
        return min(map(self.first.__getitem__, group.pipes), default=0)

    def _take(self, n: int, cycle: int) -> str:
        if not self.pipes[n]:
            return ""
        name = min(self.pipes[n], key=self.first.__getitem__)
        units = self.free[name]
        units[units.index(self.first[name])] = cycle + self.interval[n]
        self.first[name] = min(units)
        return name


class _Ready:
    """Operations for the same pipes that wait for nothing but them and their operands' cycles.

    Each heap may hold an operation several times, and such as have issued: what does not say how
    things are is dropped when it comes to the top.
    """

    def __init__(
        self, pipes: tuple[str, ...], height: list[int], lives: _Lives, early: list[int]
    ) -> None:
        self.pipes, self.height, self.lives, self.early = pipes, height, lives, early
        self.members: set[int] = set()
        self.here: set[int] = set()  # whose operands are there
        self.coming: list[tuple[int, int]] = []  # (cycle, operation)
        self.by_height: list[tuple[int, int, int]] = []  # (-height, growth, operation)
        self.by_growth: list[tuple[int, int, int]] = []  # (growth, -height, operation)
        self.by_relief: list[tuple[int, int]] = []  # (cycle, operation), of those that free

    def add(self, n: int) -> None:
        self.members.add(n)
        heappush(self.coming, (self.early[n], n))
        if self.lives.growth(n) <= 0:
            heappush(self.by_relief, (self.early[n], n))

    def changed(self, n: int) -> None:
        """An operation's growth is another now."""
        if n not in self.members:
            return
        if self.lives.growth(n) <= 0:
            heappush(self.by_relief, (self.early[n], n))
        if n in self.here:
            self._rank(n)

    def _rank(self, n: int) -> None:
        growth = self.lives.growth(n)
        heappush(self.by_height, (-self.height[n], growth, n))
        heappush(self.by_growth, (growth, -self.height[n], n))

    def arrive(self, cycle: int) -> bool:
        """Whether one can issue in a cycle, as far as operands go."""
        while self.coming and self.coming[0][0] <= cycle:
            n = heappop(self.coming)[1]
            self.here.add(n)
            self._rank(n)
        return len(self.members) > len(self.coming)

    def soonest(self) -> int:
        """When the operands of one are there, at the earliest."""
        return 0 if len(self.members) > len(self.coming) else self.coming[0][0]

    def highest(self) -> tuple[int, int, int]:
        heap = self.by_height
        while heap[0][2] not in self.members or heap[0][1] != self.lives.growth(heap[0][2]):
            heappop(heap)
        return heap[0]

    def freest(self) -> tuple[int, int, int]:
        heap = self.by_growth
        while heap[0][2] not in self.members or heap[0][0] != self.lives.growth(heap[0][2]):
            heappop(heap)
        return heap[0]

    def freeing(self) -> int | None:
        """When the operands are there of one that frees registers, None where none does."""
        heap = self.by_relief
        while heap and (heap[0][1] not in self.members or self.lives.growth(heap[0][1]) > 0):
            heappop(heap)
        return heap[0][0] if heap else None


class _Lives:
    """Which registers are live while operations issue in some order."""

    def __init__(self, operations: Sequence[MachineInstruction], block: Block) -> None:
        self.operations = operations
        self.reads = [[r for r in set(op.reads) if not _is_flag(r)] for op in operations]
        self.results = [[r for r in op.results if not _is_flag(r)] for op in operations]
        self.left: dict[Register, int] = {}  # readers that are still to come
        self.makers = _who(self.results)
        self.readers = _who(self.reads)
        made = set(self.makers)
        for r, readers in self.readers.items():
            self.left[r] = len(readers)
        for r in set(self.left) | made:
            if _leaves(r, block):
                self.left[r] = self.left.get(r, 0) + 1
        self.live = set(self.left) - made
        self.now = self.most = len(self.live)

    def growth(self, n: int) -> int:
        """How many more registers are live once the operation has issued."""
        born = sum(r not in self.live and self.left.get(r, 0) > 0 for r in self.results[n])
        return born - sum(self.left[r] == 1 for r in self.reads[n])

    def issue(self, n: int) -> list[int]:
        """Issue an operation: whose growth may be another now."""
        changed: list[int] = []
        for r in self.reads[n]:
            self.left[r] -= 1
            if not self.left[r]:
                self.live.discard(r)
                changed += self.makers.get(r, ())
            elif self.left[r] == 1:
                changed += self.readers[r]
        dead = 0
        for r in self.results[n]:
            if self.left.get(r, 0):
                self.live.add(r)
                changed += self.makers[r]
            else:
                dead += 1  # nobody reads it, but it is written
        self.now = len(self.live)
        self.most = max(self.most, self.now + dead)
        return changed


def _who(registers: list[list[Register]]) -> dict[Register, list[int]]:
    """Which operations have a register in their list."""
    found: dict[Register, list[int]] = {}
    for n, some in enumerate(registers):
        for r in some:
            found.setdefault(r, []).append(n)
    return found


def _is_flag(register: Register) -> bool:
    value = register[0]
    return value.is_predicate if isinstance(value, Temporary) else value.type.bits == 1


def _leaves(register: Register, block: Block) -> bool:
    """Whether somebody outside of the block, or a phi, reads a register."""
    value = register[0]
    if isinstance(value, Temporary):
        return False
    return any(user.block is not block or user.form.is_phi for user in value.users)
