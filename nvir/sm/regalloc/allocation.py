"""Registers for the machine list of a function: proper, aligned, and within a limit.

`allocate` gives every value of `sm.machine`'s list a register: general ones (R0, R2 … R254; R1 is
the stack pointer, R255 reads as zero) and predicates (P0 … P6; P7 reads as true). A 64-bit value
has an even pair, a 128-bit one a quad whose number four divides. What does not fit the limit goes
to local memory: it is stored behind its definition and loaded anew before each use. Predicates
beyond the seventh are numbered on: the assembler packs such into general registers.

Method   Live sets by a backward data-flow over the list; then definitions are coloured in an order
         in which they dominate their uses (see `colour`), the lowest free place first. Under SSA
         this needs no more than the largest number of live registers, but for alignment.
         Spilled is what is live where too many are, the value with the fewest uses a register
         first; then all is done again.
Cost     near linear: each round visits each operand a few times.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from nvir.ir.block import Block
from nvir.ir.errors import NvirError
from nvir.ir.function import Function
from nvir.ir.types import PRED
from nvir.ir.values import Value
from nvir.sm.fusion import fuse
from nvir.sm.machine import Expansion
from nvir.sm.operation import MachineInstruction, Register, Temporary, words_of
from nvir.sm.profile import Profile
from nvir.sm.regalloc.banks import is_conflict
from nvir.sm.regalloc.tables import STACK_POINTER

Owner = Value | Temporary
Incoming = dict[Owner, dict[Block, tuple[Register | None, ...]]]
PREDICATES = 7
ROUNDS = 64
WORD = 4


@attrs.define(eq=False)
class Step:
    """One operation with what it reads and writes, as whole values.

    operation  None of a load or store that spilling put in
    """

    block: Block
    operation: MachineInstruction | None
    results: tuple[Owner, ...]
    sources: tuple[Owner, ...]
    slot: int = -1  # byte of local memory of a load or store that was put in
    is_store: bool = False


@attrs.frozen(eq=False)
class Allocation:
    """Registers of a function.

    general      value → its first general register
    predicates   value → its predicate
    predicate_count   how many predicates are used
    registers    how many general registers are used, counted to the highest; R1 included
    spilled      value → byte of its place in local memory
    spill_bytes  bytes a thread of the stores and loads that were put in
    conflicts    operations whose sources lie in one bank
    steps        the operations in order, with those stores and loads
    live_out     what is live behind a block, what it hands to phis included
    heads        block → its phis that have registers
    incoming     phi → predecessor → the register that each of its words comes from, None of a
                 literal. No move is made: whoever wants code has to add it
    """

    general: dict[Owner, int]
    predicates: dict[Owner, int]
    registers: int
    predicate_count: int
    spilled: dict[Owner, int]
    spill_bytes: int
    conflicts: tuple[Step, ...]
    steps: tuple[Step, ...] = attrs.field(repr=False)
    live_out: dict[Block, set[Owner]] = attrs.field(repr=False)
    heads: dict[Block, list[Owner]] = attrs.field(repr=False)
    incoming: Incoming = attrs.field(repr=False, factory=dict)


def width(owner: Owner) -> int:
    """General registers of a value; 0 of predicates and the carry, which has no register."""
    if isinstance(owner, Part):
        return width(owner.value)
    if isinstance(owner, Temporary):
        return 0 if owner.is_predicate else 1
    return 0 if is_predicate(owner) or owner.type.name == "cc" else words_of(owner)


def is_predicate(owner: Owner) -> bool:
    return owner.is_predicate if isinstance(owner, Temporary) else owner.type is PRED


def allocate(function: Function, profile: Profile, *, limit: int | None = None) -> Allocation:
    """Allocate the registers of a function whose CFG can be walked.

    `limit` is the most general registers to use, at most what the machine has. Raises NvirError
    where one operation alone needs more.
    """
    if function.cfg_state != "fresh":
        function.analyze_cfg()
    most = profile.limits.max_registers_per_thread
    if limit is not None:
        if limit < 1:
            raise NvirError(f"register limit: {limit} is no positive number")
        most = min(most, limit)
    a = _Allocator(function, profile, most)
    for _ in range(ROUNDS):
        a.find_live_sets()
        if a.spill():
            continue
        found = a.result()
        if found.registers <= most:
            return found
        a.aim -= 1  # alignment took more than what is live: spill further
    raise NvirError(f"{function.name}: {most} registers are too few, whatever is spilled")


class _Allocator:
    def __init__(self, function: Function, profile: Profile, most: int) -> None:
        self.function, self.most, self.aim = function, most, most
        expansion = Expansion(profile, False)
        self.steps: dict[Block, list[Step]] = {}
        for block in function.rpo:
            for instruction in block:
                expansion.add(instruction)
        expansion.finish()
        fuse(expansion.operations)
        self.heads: dict[Block, list[Owner]] = {b: [] for b in function.rpo}
        self.handed: dict[Block, list[Owner]] = {b: [] for b in function.rpo}
        self.incoming: dict[Owner, list[tuple[Block, tuple[Owner, ...]]]] = {}
        self.words: Incoming = {}
        for block in function.rpo:
            self.steps[block] = []
            for i in block:
                if not i.form.is_phi:
                    break
                self.heads[block].append(i)
                for v, p in zip(i.operands, i.aux, strict=True):
                    owners = _owners(expansion.registers(v))
                    if p in self.handed:
                        self.handed[p].extend(owners)
                        self.incoming.setdefault(i, []).append((p, owners))
                        self.words.setdefault(i, {})[p] = _words(expansion, v, words_of(i))
        for op in expansion.operations:
            home = op.parent.block
            assert home is not None
            self.steps[home].append(Step(home, op, _owners(op.results), _owners(op.reads)))
        self.live_in: dict[Block, set[Owner]] = {}
        self.live_out: dict[Block, set[Owner]] = {}
        self.spilled: dict[Owner, int] = {}
        self.slots = 0
        self.pinned: set[Owner] = set()  # what spilling made: it lives for one operation

    # ------------------------------------------------------------------ liveness

    def find_live_sets(self) -> None:
        """Live sets by a worklist from the uses backwards."""
        blocks = self.function.rpo
        used: dict[Block, set[Owner]] = {}
        made: dict[Block, set[Owner]] = {}
        for b in blocks:
            u: set[Owner] = set()
            m: set[Owner] = set(self.heads[b])
            for s in self.steps[b]:
                u.update(v for v in s.sources if v not in m)
                m.update(s.results)
            used[b], made[b] = u, m
        self.live_in = {b: set(used[b]) for b in blocks}
        self.live_out = {b: set(self.handed[b]) for b in blocks}
        work = list(blocks)
        waiting = set(work)
        while work:
            b = work.pop()
            waiting.discard(b)
            out = self.live_out[b]
            for follow in b.succs:
                out |= self.live_in[follow]
            entering = used[b] | (out - made[b])
            if len(entering) > len(self.live_in[b]):
                self.live_in[b] = entering
                for p in b.preds:
                    if p not in waiting and p in self.live_in:
                        waiting.add(p)
                        work.append(p)

    # ------------------------------------------------------------------ spilling

    def spill(self) -> bool:
        """Choose what to put into memory where too many are live; whether anything was chosen."""
        uses: dict[Owner, int] = {}
        for b in self.function.rpo:
            weight = 10 ** min(b.loop_depth, 4)
            for s in self.steps[b]:
                for v in (*s.sources, *s.results):
                    uses[v] = uses.get(v, 0) + weight
        chosen: dict[Owner, None] = {}
        for b in self.function.rpo:
            for live in self._points(b):
                need = sum(width(v) for v in live if v not in chosen) + 1  # and R1
                if need <= self.aim:
                    continue
                ranked = sorted(
                    (v for v in live if width(v) and v not in chosen and v not in self.pinned),
                    key=lambda v: (uses.get(v, 0) / width(v), str(v.name)),
                )
                for v in ranked:
                    chosen[v] = None
                    need -= width(v)
                    if need <= self.aim:
                        break
                else:
                    if need > self.aim and not ranked:
                        raise NvirError(
                            f"{self.function.name}: one operation needs {need} registers or more, "
                            f"{self.most} are there"
                        )
        for v in chosen:
            self._put_away(v)
        return bool(chosen)

    def _points(self, block: Block) -> Iterable[set[Owner]]:
        """What is live around each step of a block, and at its start."""
        live = set(self.live_out[block])
        yield live
        for s in reversed(self.steps[block]):
            yield live | set(s.results)
            live = (live - set(s.results)) | set(s.sources)
            yield live
        yield live | set(self.heads[block])

    def _put_away(self, v: Owner) -> None:
        """Give a value a place in memory, and its uses a register each."""
        w = width(v)
        size = WORD * w
        self.slots = -(-self.slots // size) * size
        slot = self.spilled[v] = self.slots
        self.slots += size
        for b in self.function.rpo:
            if v in self.heads[b]:
                self.heads[b].remove(v)
                for p, owners in self.incoming.get(v, ()):  # who hands it over stores it
                    for o in owners:
                        if o in self.spilled:
                            part = self._part(o)
                            self.steps[p].append(Step(p, None, (part,), (), self.spilled[o]))
                            o = part
                        self.steps[p].append(Step(p, None, (), (o,), slot, True))
        for b in self.function.rpo:
            out: list[Step] = []
            for s in self.steps[b]:
                if v in s.sources:
                    part = self._part(v)
                    out.append(Step(b, None, (part,), (), slot))
                    s.sources = tuple(part if x is v else x for x in s.sources)
                out.append(s)
                if v in s.results:
                    part = self._part(v)
                    s.results = tuple(part if x is v else x for x in s.results)
                    out.append(Step(b, None, (), (part,), slot, True))
            if v in self.handed[b]:  # to the phi of a successor, from memory
                out.append(Step(b, None, (self._part(v),), (), slot))
                self.handed[b] = [x for x in self.handed[b] if x is not v]
            self.steps[b] = out

    def _part(self, v: Owner) -> Owner:
        part = Part(v)
        self.pinned.add(part)
        return part

    # ------------------------------------------------------------------ colouring

    def result(self) -> Allocation:
        general: dict[Owner, int] = {}
        predicates: dict[Owner, int] = {}
        for b in self.function.rpo:
            self._colour(b, general, predicates)
        steps = [s for b in self.function.rpo for s in self.steps[b]]
        top = max((r + width(v) for v, r in general.items()), default=0)
        moved = sum(
            width(v) for s in steps if s.operation is None for v in (*s.results, *s.sources)
        )
        conflicts = tuple(
            s for s in steps
            if s.operation is not None
            and is_conflict(general[v] for v in s.sources if width(v) == 1)
        )  # fmt: skip
        return Allocation(
            general, predicates, max(top, STACK_POINTER + 1),
            max(predicates.values(), default=-1) + 1, dict(self.spilled), moved * WORD,
            conflicts, tuple(steps), self.live_out, self.heads, self.words,
        )  # fmt: skip

    def _colour(
        self, block: Block, general: dict[Owner, int], predicates: dict[Owner, int]
    ) -> None:
        busy, busy_p = 1 << STACK_POINTER, 0
        for v in self.live_in[block]:
            if v in general:
                busy |= ((1 << width(v)) - 1) << general[v]
            elif v in predicates:
                busy_p |= 1 << predicates[v]
        last: dict[Owner, int] = dict.fromkeys(self.live_out[block], len(self.steps[block]))
        for k in range(len(self.steps[block]) - 1, -1, -1):
            for v in (*self.steps[block][k].sources, *self.steps[block][k].results):
                last.setdefault(v, k)
        for k in range(-1, len(self.steps[block])):
            step = self.steps[block][k] if k >= 0 else None
            results = step.results if step is not None else tuple(self.heads[block])
            if step is not None:
                for v in step.sources:
                    if last[v] == k and v not in results:
                        if v in general:
                            busy &= ~(((1 << width(v)) - 1) << general[v])
                        elif v in predicates:
                            busy_p &= ~(1 << predicates[v])
            for v in results:
                w = width(v)
                if w and v not in general:
                    general[v] = _lowest(~busy & _ALL, w)
                if w:
                    busy |= ((1 << w) - 1) << general[v]
                elif is_predicate(v):
                    if v not in predicates:
                        free = ~busy_p
                        predicates[v] = (free & -free).bit_length() - 1
                    busy_p |= 1 << predicates[v]
            for v in results:
                if last.get(v, k) == k:
                    if v in general:
                        busy &= ~(((1 << width(v)) - 1) << general[v])
                    elif v in predicates:
                        busy_p &= ~(1 << predicates[v])


class Part(Temporary):
    """A spilled value while one operation reads or writes it."""

    __slots__ = ("value",)

    def __init__(self, value: Owner) -> None:
        super().__init__(f"{value.name}.spill", False)
        self.value = value


_ALL = (1 << 1024) - 1
_EVEN = int("01" * 512, 2)
_QUAD = int("0001" * 256, 2)


def _lowest(free: int, w: int) -> int:
    if w == 1:
        fit = free
    elif w == 2:
        fit = free & free >> 1 & _EVEN
    else:
        fit = free & free >> 1
        fit &= fit >> 2 & _QUAD
    return (fit & -fit).bit_length() - 1


def _words(expansion: Expansion, v: Value, count: int) -> tuple[Register | None, ...]:
    if not expansion.registers(v):
        return (None,) * count
    return tuple(expansion.resolve((v, w)) for w in range(count))


def _owners(registers: Iterable[Register]) -> tuple[Owner, ...]:
    return tuple(dict.fromkeys(owner for owner, _ in registers))


def check_allocation(a: Allocation) -> None:
    """Raise NvirError where two live values share a register or one is not aligned.

    Independent of how the allocation was made: it walks the steps backwards from the live sets.
    """
    blocks: dict[Block, list[Step]] = {}
    for s in a.steps:
        blocks.setdefault(s.block, []).append(s)
    for block, steps in blocks.items():
        live = set(a.live_out[block])
        for s in reversed(steps):
            _check_point(live | set(s.results), a)
            live = (live - set(s.results)) | set(s.sources)
            _check_point(live, a)
        _check_point(live | set(a.heads[block]), a)


def _check_point(live: set[Owner], a: Allocation) -> None:
    taken: dict[int, Owner] = {}
    for v in live:
        w = width(v)
        if not w:
            continue
        r = a.general[v]
        if r % w or (not r <= STACK_POINTER - w and r <= STACK_POINTER < r + w):
            raise NvirError(f"{v.name}: R{r} cannot hold {w} registers")
        for k in range(r, r + w):
            if k in taken:
                raise NvirError(f"{v.name} and {taken[k].name} share R{k}")
            taken[k] = v
