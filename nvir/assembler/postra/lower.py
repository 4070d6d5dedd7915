"""From a function's allocation to the body of one loop on physical registers.

    phis     what the body hands a phi that has another register is moved before the branch
    tuples   moves in front of vector operations, and which registers these name as one
    spread   values that do not outlive the body get registers of their own, as long as there are
             unused ones, what stands in one tuple together: two values in one register order their
             lives, and iterations overlap less. What the loop does not change leaves the body if
             its result finds a free register
    rare     operations that only unusual inputs reach are left out, as in `sm.loopgraph`

Cost     linear in the body, but for the search of free registers.
"""

from __future__ import annotations

from collections.abc import Iterator

from nvir.analysis.alias import AliasAnalysis
from nvir.analysis.induction import trip_count
from nvir.assembler.postra.code import LoopCode, PhysicalOp, Reg, parallel_moves
from nvir.assembler.regalloc.allocation import PREDICATES, Allocation, allocate
from nvir.assembler.regalloc.step import Part, Step, width
from nvir.assembler.regalloc.tables import STACK_POINTER
from nvir.assembler.regalloc.targets import RESERVED, block_threads, register_limit, targets
from nvir.assembler.regalloc.units import Owner
from nvir.ir import Block, Function, Loop, Unsupported
from nvir.sm.loopgraph import order_edges
from nvir.sm.operation import MachineInstruction
from nvir.sm.profile import Profile


def loop_code(
    loop: Loop, profile: Profile, allocation: Allocation | None = None, *, spread: bool = False,
    limit: int | None = None, alias: AliasAnalysis | None = None,
) -> LoopCode:
    """The body of a loop of one block on the registers of its function.

    allocation  of the whole function; made here by default, within `limit` registers
    spread      give values registers of their own; up to `limit`, by default up to as many as
                cost no occupancy
    Raises Unsupported for a loop of several blocks and an instruction without template.
    """
    if len(loop.blocks) != 1:
        raise Unsupported(f"a loop of {len(loop.blocks)} blocks", profile.name, loop.header.name)
    function = loop.header.function
    assert function is not None
    if allocation is None:
        allocation = allocate(function, profile, limit=limit)
    most = profile.limits.max_registers_per_thread
    if spread:
        most = limit or spare_registers(function, profile, allocation)
    builder = _Lowering(loop, profile, allocation, max(most, allocation.registers))
    return builder.build(spread, alias)


def spare_registers(function: Function, profile: Profile, allocation: Allocation) -> int:
    """General registers that a thread of a function could have at no cost in occupancy."""
    own = register_limit(function, profile.limits)
    free = (t - RESERVED for t in targets(block_threads(function), profile.limits))
    most = profile.limits.max_registers_per_thread
    return min(own, next((t for t in free if t >= allocation.registers), most))


class _Lowering:
    def __init__(self, loop: Loop, profile: Profile, a: Allocation, most: int) -> None:
        self.loop, self.block, self.profile, self.a, self.most = loop, loop.header, profile, a, most
        self.general = dict(a.general)
        self.predicates = dict(a.predicates)
        self.carry: dict[Owner, int] = {}
        self.steps: dict[Block, list[Step]] = {}
        for s in a.steps:
            self.steps.setdefault(s.block, []).append(s)
        self.points: dict[Block, list[set[Owner]]] = {}
        self.hoisted: list[PhysicalOp] = []

    def build(self, spread: bool, alias: AliasAnalysis | None) -> LoopCode:
        steps = self._kept(self.steps.get(self.block, []))
        if spread:
            steps = self._spread(steps)
        operations = self._moves([op for s in steps for op in self._lower(s)])
        counted = trip_count(self.loop) is not None
        top = max((r[1] + 1 for op in operations for r in (*op.writes, *op.reads) if r[0] == "R"),
                  default=0)
        return LoopCode(
            self.block.name or "", self.profile, tuple(operations),
            tuple(self._order(operations, alias)), frozenset(self._live_out()), counted,
            max(self.a.registers, top), tuple(self.hoisted), self.block.rpo_index,
        )

    # ------------------------------------------------------------- the operations

    def _kept(self, steps: list[Step]) -> list[Step]:
        kept = [s for s in steps if s.operation is None or not s.operation.rare]
        for s in kept:
            if s.operation is not None and s.operation.family is None:
                raise Unsupported(
                    f"no micro-operations for {s.operation.parent.form.spelling}",
                    self.profile.name, self.block.name or "",
                )
        made = {r for s in kept if s.operation is not None for r in s.operation.results}
        rare = {
            r for s in steps if s.operation is not None and s.operation.rare
            for r in s.operation.results
        }
        self.ignored = rare - made
        return kept

    def _lower(self, s: Step) -> list[PhysicalOp]:
        written = tuple(dict.fromkeys(self._place(*r) for r in s.written))
        if s.moves:
            return [
                PhysicalOp("MOV", (self._place(to, 0),), () if r is None else (self._place(*r),),
                           role="tuple move")
                for to, r in s.moves
            ]
        read = tuple(dict.fromkeys(
            self._place(*r) for r in s.read if r not in self.ignored
        ))
        if s.operation is None:
            wide = {2: ".64", 4: ".128"}.get(len(written or read), "")
            place: Reg = ("M", s.slot)
            if s.is_store:
                return [PhysicalOp(f"STL{wide}", (place,), read, role="spill store")]
            return [PhysicalOp(f"LDL{wide}", written, (place,), role="spill load")]
        op = s.operation
        guard = None
        if op.guard is not None and op.guard not in self.ignored:
            guard = self._place(*s.read[len(op.sources)])
        role = "branch" if op.parent.form.terminator else ""
        tuples = [tuple(self._place(*s.read[p]) for p in row) for row in s.tuples]
        tuples += [tuple(self._place(*s.written[p]) for p in row) for row in s.made]
        for registers in (s.read, s.written):
            for v in dict.fromkeys(v for v, _ in registers if width(v) > 1):
                tuples.append(tuple(self._place(v, w) for w in range(width(v))))
        return [PhysicalOp(
            op.family or "", written, read, guard, op, role, tuple(dict.fromkeys(tuples)),
        )]

    def _place(self, owner: Owner, word: int) -> Reg:
        if owner in self.general:
            return "R", self.general[owner] + word
        if owner in self.predicates:
            return "P", self.predicates[owner]
        return "C", self.carry.setdefault(owner, len(self.carry))

    def _points(self, block: Block) -> list[set[Owner]]:
        """What is live around each step of a block."""
        found = self.points.get(block)
        if found is None:
            live = set(self.a.live_out.get(block, ()))
            found = [set(live)]
            for s in reversed(self.steps.get(block, ())):
                found.append(live | set(s.results))
                live = (live - set(s.results)) | set(s.sources)
                found.append(set(live))
            found.append(live | set(self.a.heads.get(block, ())))
            self.points[block] = found
        return found

    def _moves(self, operations: list[PhysicalOp]) -> list[PhysicalOp]:
        """The operations with what phis still need, before the branch."""
        wanted: list[tuple[Reg, Reg | None]] = []
        for phi in self.a.heads.get(self.block, ()):
            for k, r in enumerate(self.a.incoming.get(phi, {}).get(self.block, ())):
                source = None if r is None else self._place(self._last_part(r[0]), r[1])
                wanted.append((self._place(phi, k), source))
        used = [r for op in operations for r in (*op.writes, *op.reads)]
        free = {"R": self.a.registers, "P": self.a.predicate_count, "C": len(self.carry)}
        for letter, number in used:
            free[letter] = max(free.get(letter, 0), number + 1)
        moves = [
            PhysicalOp("PLOP3" if to[0] == "P" else "MOV", (to,), () if s is None else (s,),
                       role="move")
            for to, s in parallel_moves(wanted, free)
        ]
        at = next((k for k, op in enumerate(operations) if op.role == "branch"), len(operations))
        return [*operations[:at], *moves, *operations[at:]]

    def _last_part(self, owner: Owner) -> Owner:
        """What holds a spilled value at the end of the body: it was loaded for the phi."""
        if owner not in self.a.spilled:
            return owner
        for s in reversed(self.steps.get(self.block, ())):
            for p in s.results if s.operation is None else ():
                if isinstance(p, Part) and p.value is owner:
                    return p
        return owner

    # ------------------------------------------------------------- registers of their own

    def _spread(self, steps: list[Step]) -> list[Step]:
        """Values that do not outlive the body in registers of their own, as far as there are."""
        keep = self.a.live_out.get(self.block, set())
        inside = {v for p in self._points(self.block) for v in p if v in self.general}
        made = [v for s in steps for v in s.results if v in self.general and v not in keep]
        made.sort(key=lambda v: -self._cycles(v, steps))
        fixed = inside - set(made)
        taken = {r for v in fixed for r in self._range(v)}
        unused = set(range(self.most)) - {r for v in inside for r in self._range(v)}
        unused.discard(STACK_POINTER)
        steps = self._hoist(steps, unused, taken)
        still = {v for s in steps for v in s.results}
        for v in dict.fromkeys(v for v in made if v in still):
            rows = self._together(v)
            if any(not taken.isdisjoint(self._range(x)) for x in rows) and still.issuperset(rows):
                self._move_to(v, unused)
            for x in rows:
                taken.update(self._range(x))
        count = self.a.predicate_count
        for s in steps:
            for v in s.results:
                if v in self.predicates and v not in keep and count < PREDICATES:
                    self.predicates[v] = count
                    count += 1
        return steps

    def _together(self, v: Owner) -> list[Owner]:
        """What keeps its distance from a value: the members of its unit."""
        return [x for x, _ in self.a.units[v][0].members if x in self.general]

    def _hoist(self, steps: list[Step], unused: set[int], taken: set[int]) -> list[Step]:
        """Without pure operations that the loop does not change, whose results find registers."""
        keep = self.a.live_out.get(self.block, set())
        made = {v for s in steps for v in s.results} | set(self.a.heads.get(self.block, ()))
        made |= {r[0] for r in self.ignored}
        kept: list[Step] = []
        for s in steps:
            op = s.operation
            stays = (
                op is None or not op.parent.form.pure or any(v in made for v in s.sources)
                or any(v not in self.general or v in keep for v in s.results)
            )
            stays = stays or any(len(self._together(v)) > 1 for v in s.results)
            if stays or not all(self._move_to(v, unused) for v in s.results):
                kept.append(s)
                continue
            made.difference_update(s.results)
            for v in s.results:
                taken.update(self._range(v))
            self.hoisted += self._lower(s)
        return kept

    def _move_to(self, v: Owner, unused: set[int]) -> bool:
        """Give a value, and what must stand beside it, registers that nobody uses."""
        unit, _ = self.a.units[v]
        w = len(unit.words)
        for base in sorted(unused):
            if base % unit.step == unit.phase and all(base + k in unused for k in range(w)):
                unused.difference_update(range(base, base + w))
                for x in self._together(v):
                    self.general[x] = base + self.a.units[x][1]
                return True
        return False

    def _range(self, v: Owner) -> range:
        return range(self.general[v], self.general[v] + width(v))

    def _cycles(self, v: Owner, steps: list[Step]) -> int:
        for s in steps:
            if v in s.results and s.operation is not None:
                return self.profile.latency(s.operation.family or "")
        return 0

    # ------------------------------------------------------------- what is around

    def _live_out(self) -> Iterator[Reg]:
        """Registers that blocks behind the loop read, or their phis take."""
        for follow in self.block.succs:
            if follow is self.block:
                continue
            live = set(self.a.live_out.get(follow, ()))
            for s in reversed(self.steps.get(follow, ())):
                live = (live - set(s.results)) | set(s.sources)
            live -= set(self.a.heads.get(follow, ()))
            for v in live:
                if v in self.general or v in self.predicates:
                    for k in range(max(1, width(v))):
                        yield self._place(v, k)
            for phi in self.a.heads.get(follow, ()):
                for r in self.a.incoming.get(phi, {}).get(self.block, ()):
                    if r is not None and r[0] not in self.a.spilled:
                        yield self._place(*r)

    def _order(
        self, operations: list[PhysicalOp], alias: AliasAnalysis | None
    ) -> Iterator[tuple[int, int, int, int]]:
        numbers: list[int] = []
        sources: list[MachineInstruction] = []
        for n, op in enumerate(operations):
            if op.source is not None:
                numbers.append(n)
                sources.append(op.source)
        for a, b, cycles, distance in order_edges(self.loop, self.profile, sources, alias):
            yield numbers[a], numbers[b], cycles, distance


