"""Registers for the machine list of a function: proper, aligned, and within a limit.

`allocate` gives every value of `sm.machine`'s list a register: general ones (R0, R2 … R254; R1 is
the stack pointer, R255 reads as zero) and predicates (P0 … P6; P7 reads as true). A 64-bit value
has an even pair, and what a vector operation reads or writes consecutive registers from a multiple
of two or four on (`tuples`); where no one place suits all that read a value, it is moved. What does
not fit the limit goes to local memory: it is stored behind its definition and loaded anew before
each use. Predicates beyond the seventh are numbered on: the assembler packs such into general
registers.

Method   Live sets by a backward data-flow over the list; values are joined to units (`joining`),
         and these get the lowest free place in an order in which definitions dominate their uses
         (`units`). Where that is beyond the limit, less is joined; spilled is what is live where
         too many are, the value with the fewest uses a register first; then all is done again.
Cost     near linear: each round visits each operand a few times.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from nvir.assembler.regalloc.banks import is_conflict
from nvir.assembler.regalloc.joining import Joining, Layout, join
from nvir.assembler.regalloc.step import Incoming, Part, Step, moving, owners_of, width
from nvir.assembler.regalloc.tables import STACK_POINTER
from nvir.assembler.regalloc.tuples import Tuples, tuples_of
from nvir.assembler.regalloc.units import Owner, Unit
from nvir.ir import Block, Function, NvirError, Value
from nvir.sm.fusion import fuse
from nvir.sm.machine import Expansion
from nvir.sm.operation import MachineInstruction, Register, Temporary, words_of
from nvir.sm.profile import Profile

PREDICATES = 7
ROUNDS = 64
WORD = 4
# What is joined, and whether large units get their places first, which wastes less between them.
_ATTEMPTS = (
    (Joining.ALL, False), (Joining.ALL, True), (Joining.FEWER, True), (Joining.NEEDED, True),
)


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
    units        value → its unit and its place in it: what stands together (see `units`)
    moved        moves that tuples take
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
    units: dict[Owner, tuple[Unit, int]] = attrs.field(repr=False, factory=dict)
    moved: int = 0


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
        for joining, large_first in _ATTEMPTS:
            found = a.result(joining, large_first)
            if found.registers <= most:
                return found
        a.aim -= 1  # alignment took more than what is live: spill further
    raise a.too_few()


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
                    owners = owners_of(expansion.registers(v))
                    if p in self.handed:
                        self.handed[p].extend(owners)
                        self.incoming.setdefault(i, []).append((p, owners))
                        self.words.setdefault(i, {})[p] = _words(expansion, v, words_of(i))
        for op in expansion.operations:
            home = op.parent.block
            assert home is not None
            self.steps[home] += _steps_of(home, op, tuples_of(op, expansion))
        self.live_in: dict[Block, set[Owner]] = {}
        self.live_out: dict[Block, set[Owner]] = {}
        self.spilled: dict[Owner, int] = {}
        self.slots = 0
        self.number: dict[Owner, int] = {}  # values as they stand, an order for what sets hold
        self.mates: dict[Owner, dict[Owner, None]] = {}
        self.pinned: set[Owner] = set()  # what spilling made: it lives for one operation

    def too_few(self) -> NvirError:
        return NvirError(
            f"{self.function.name}: {self.most} registers are too few, whatever is spilled"
        )

    # ------------------------------------------------------------------ liveness

    def find_live_sets(self) -> None:
        """Live sets by a worklist from the uses backwards."""
        blocks = self.function.rpo
        used: dict[Block, set[Owner]] = {}
        made: dict[Block, set[Owner]] = {}
        for b in blocks:
            u: set[Owner] = set()
            m: set[Owner] = set(self.heads[b])
            for v in self.heads[b]:
                self.number.setdefault(v, len(self.number))
            for s in self.steps[b]:
                for v in s.results:
                    self.number.setdefault(v, len(self.number))
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
        self.mates = self._mates() if self.aim < self.most else {}
        chosen: dict[Owner, None] = {}
        for b in self.function.rpo:
            live = set(self.live_out[b])
            held = self._held(live, chosen)
            for s in reversed(self.steps[b]):
                made = [v for v in s.results if v not in live]
                if held + self._held(made, chosen) >= self.aim:  # R1 is taken as well
                    self._relieve(live | set(made), chosen, uses)
                    held = self._held(live, chosen)
                ends = [v for v in s.results if v in live]
                live.difference_update(ends)
                begins = [v for v in s.sources if v not in live]
                live.update(begins)
                held += self._held(begins, chosen) - self._held(ends, chosen)
            self._relieve(live | set(self.heads[b]), chosen, uses)
        for v in chosen:
            self._put_away(v)
        return bool(chosen)

    @staticmethod
    def _held(values: Iterable[Owner], chosen: dict[Owner, None]) -> int:
        """Registers of those that stay in registers."""
        return sum(width(v) for v in values if v not in chosen)

    def _relieve(self, live: set[Owner], chosen: dict[Owner, None], uses: dict[Owner, int]) -> None:
        """Choose among what is live at one point until the rest fits."""
        need = self._held(live, chosen) + 1
        if need <= self.aim:
            return
        ranked = sorted(
            (v for v in live if width(v) and v not in chosen and v not in self.pinned),
            key=lambda v: (uses.get(v, 0) / width(v), self.number[v]),
        )
        if not ranked and need > self.most:
            raise NvirError(
                f"{self.function.name}: one operation needs {need} registers or more, "
                f"{self.most} are there"
            )
        for v in ranked:
            if v in chosen:
                continue
            # half a tuple that stays keeps the other half's registers from other tuples
            for x in (v, *(m for m in self.mates.get(v, ()) if m in live and m not in chosen)):
                chosen[x] = None
                need -= width(x)
            if need <= self.aim:
                break

    def _mates(self) -> dict[Owner, dict[Owner, None]]:
        """What stands in a tuple with a value, where it may be spilled."""
        found: dict[Owner, dict[Owner, None]] = {}
        for steps in self.steps.values():
            for s in steps:
                for registers, rows in ((s.read, s.tuples), (s.written, s.made)):
                    for row in rows:
                        owners = {registers[p][0]: None for p in row}
                        for v in owners:
                            found.setdefault(v, {}).update(
                                (o, None) for o in owners if o is not v and o not in self.pinned
                            )
        return found

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
                for p in self.words.get(v, {}):
                    self._hand_over(v, p, slot)
        for b in self.function.rpo:
            out: list[Step] = []
            writes = [k for k, s in enumerate(self.steps[b]) if v in s.results]
            if all(sum(o is v for o, _ in self.steps[b][k].written) == w for k in writes):
                spans = [(k, k) for k in writes]
            else:  # its words are made one by one
                spans = [(writes[0], writes[-1])]
            for k, s in enumerate(self.steps[b]):
                if spans and k == spans[0][0]:
                    whole = self._part(v)
                    s.put(v, whole, reads=False, writes=True)
                elif spans and k > spans[0][0]:
                    s.put(v, whole, reads=True, writes=True)
                if v in s.sources:
                    part = self._part(v)
                    out.append(_access(b, part, slot, False))
                    s.put(v, part, reads=True, writes=False)
                out.append(s)
                if spans and k == spans[0][1]:
                    out.append(_access(b, whole, slot, True))
                    del spans[0]
            if v in self.handed[b]:  # to the phi of a successor, from memory
                out.append(_access(b, self._part(v), slot, False))
                self.handed[b] = [x for x in self.handed[b] if x is not v]
            self.steps[b] = out

    def _hand_over(self, phi: Owner, p: Block, slot: int) -> None:
        """A predecessor stores what it hands a phi that lives in memory, word by word if mixed."""
        parts: dict[Owner, Owner] = {}
        found: list[Register | None] = []
        for register in self.words[phi][p]:
            if register is not None:
                owner, w = register
                if owner in self.spilled and owner not in parts:
                    parts[owner] = self._part(owner)
                    self.steps[p].append(_access(p, parts[owner], self.spilled[owner], False))
                register = parts.get(owner, owner), w
            found.append(register)
        first = found[0] if found else None
        if first is not None and found == [(first[0], w) for w in range(width(first[0]))]:
            self.steps[p].append(_access(p, first[0], slot, True))
            return
        for w, register in enumerate(found):
            if register is None:
                literal = Temporary("literal", False)
                self.pinned.add(literal)
                self.steps[p].append(moving(p, [(literal, None)]))
                register = (literal, 0)
            self.steps[p].append(Step(p, None, (), (register,), slot + WORD * w, True))

    def _part(self, v: Owner) -> Owner:
        part = Part(v)
        self.pinned.add(part)
        return part

    # ------------------------------------------------------------------ colouring

    def result(self, joining: Joining, large_first: bool) -> Allocation:
        """Registers for everything, whatever that takes."""
        entering = {b: sorted(live, key=self.number.__getitem__)
                    for b, live in self.live_in.items()}
        layout = Layout(self.function.rpo, self.steps, self.heads, entering, self.live_out)
        tupled = join(layout, self.incoming, joining)
        general, predicates = tupled.colour(large_first)
        steps = tupled.steps
        top = max((r + width(v) for v, r in general.items()), default=0)
        spilling = [s for s in steps if s.slot >= 0]
        moved = sum(width(v) for s in spilling for v in (*s.results, *s.sources))
        conflicts = tuple(
            s for s in steps
            if s.operation is not None
            and is_conflict(general[v] for v in s.sources if width(v) == 1)
        )
        return Allocation(
            general, predicates, max(top, STACK_POINTER + 1),
            max(predicates.values(), default=-1) + 1, dict(self.spilled), moved * WORD,
            conflicts, tuple(steps), self.live_out, self.heads, self.words,
            tupled.units.place, sum(len(s.moves) for s in steps),
        )


def _words(expansion: Expansion, v: Value, count: int) -> tuple[Register | None, ...]:
    if not expansion.registers(v):
        return (None,) * count
    return tuple(expansion.resolve((v, w)) for w in range(count))


def _access(block: Block, part: Owner, slot: int, is_store: bool) -> Step:
    """A load of a spilled value, or its store."""
    words: tuple[Register, ...] = tuple((part, w) for w in range(max(1, width(part))))
    return Step(block, None, () if is_store else words, words if is_store else (), slot, is_store)


def _steps_of(block: Block, op: MachineInstruction, tuples: Tuples) -> list[Step]:
    """An operation, behind the moves that fill what a vector has of literals."""
    read = list(op.reads)
    moves: list[tuple[Temporary, Register | None]] = []
    rows: list[tuple[int, ...]] = []
    for row in tuples.read:
        places = list(row)
        for k, place in enumerate(row):
            if place < 0:
                filled = Temporary("literal", False)
                moves.append((filled, None))
                places[k] = len(read)
                read.append((filled, 0))
        rows.append(tuple(places))
    steps = [moving(block, moves)] if moves else []
    made = Step(
        block, op, op.results, tuple(read), tuples=tuple(rows), made=tuples.written,
        ties=tuples.ties,
    )
    return [*steps, made]
