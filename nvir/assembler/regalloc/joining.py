"""What is joined to units, and the moves where that cannot be.

In this order, what stands in inner loops first:

    made    what one operation makes side by side, always
    lasting phis and what they are handed, where that is read behind the loop as well
    ties    a result and the operand that it must share a register with
    reads   what one operation reads side by side
    phis    a phi and what it is handed, where a unit of several values is at stake
    phis    all others

Of what an operation reads, the values that cannot join the others (they are in another tuple at
another place, or live on while another value has their place) are moved to temporaries that do, in
front of the operation; where not even these can, all are. What several operations of a block read
as the same row is moved once.

A step takes four points of the time line: what moves in front of it read, what they write, what it
reads, what it writes. A block ends with a point at which the phis behind it are written, while what
lives on to others of its successors still does.

Cost    see `units`; linear in steps beside that.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence

from nvir.assembler.regalloc.step import Step, is_predicate, moving, width
from nvir.assembler.regalloc.tables import STACK_POINTER
from nvir.assembler.regalloc.units import File, Life, Owner, Units
from nvir.ir.block import Block
from nvir.sm.operation import Register, Temporary

_MOVED, _WRITTEN, _STEP = 1, 3, 4


_Row = tuple[Block, tuple[Register, ...]]
_Rows = dict[_Row, tuple[Register, ...]]


class Joining(enum.IntEnum):
    """How much is joined: less leaves more freedom, and takes more moves."""

    ALL = 0
    FEWER = 1  # without `lasting`
    NEEDED = 2


class Layout:
    """Steps on a time line, and the lives of values on it.

    general, predicates   value → its life; the carry has no register and none
    """

    def __init__(
        self, blocks: Sequence[Block], steps: Mapping[Block, list[Step]],
        heads: Mapping[Block, list[Owner]], live_in: Mapping[Block, list[Owner]],
        live_out: Mapping[Block, set[Owner]],
    ) -> None:
        self.blocks, self.steps, self.heads = blocks, steps, heads
        self.general: dict[Owner, Life] = {}
        self.predicates: dict[Owner, Life] = {}
        self.start: dict[Block, int] = {}
        self.end: dict[Block, int] = {}  # of each block, where phis behind it are written
        self.behind: dict[Block, set[Owner]] = {}  # live into a block behind it
        now = 0
        for b in blocks:
            self.start[b] = now
            behind = set[Owner]().union(*(live_in[s] for s in b.succs))
            self.behind[b] = behind
            now = self._block(b, now, live_in[b], live_out[b], behind)

    def _block(
        self, b: Block, now: int, entering: list[Owner], leaving: set[Owner], behind: set[Owner]
    ) -> int:
        begin = dict.fromkeys(entering, now)
        end: dict[Owner, int] = {}
        for v in self.heads[b]:
            begin[v], end[v] = now, now + 1
        at = now + 1
        for s in self.steps[b]:
            for v in s.sources:
                end[v] = at + _WRITTEN
            for v in s.results:
                begin.setdefault(v, at + _WRITTEN)
                end[v] = at + _STEP
            at += _STEP
        for v in leaving:
            end[v] = at + (v in behind)
        self.end[b] = at
        for v, first in begin.items():
            self._live(v, first, end.get(v, first + 1))
        for follow in b.succs:  # moves to its phis stand at the end of this block
            for v in self.heads[follow]:
                self._live(v, at, at + 1)
        return at + 1

    def _live(self, v: Owner, first: int, last: int) -> None:
        if width(v):
            life = self.general.setdefault(v, [])
        elif is_predicate(v):
            life = self.predicates.setdefault(v, [])
        else:
            return
        if life and life[-1][1] >= first:
            life[-1] = (life[-1][0], max(last, life[-1][1]))
        else:
            life.append((first, last))

    def at(self, block: Block, index: int) -> int:
        """Where a step begins."""
        return self.start[block] + 1 + index * _STEP


class Joined:
    """Units, the steps with their moves, and which values had better share a register."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.units = Units(layout.general, {v: width(v) for v in layout.general})
        self.predicates = Units(layout.predicates, dict.fromkeys(layout.predicates, 1))
        self.steps: list[Step] = []
        self.friends: dict[Owner, list[Owner]] = {}

    def colour(self, large_first: bool) -> tuple[dict[Owner, int], dict[Owner, int]]:
        """Registers and predicates of all values."""
        general: dict[Owner, int] = {}
        registers = File((STACK_POINTER,))
        order = self.units.all()
        if large_first:
            order.sort(key=lambda u: -len(u.words))
        for unit in order:
            wishes = (
                general[f] - offset for v, offset in unit.members
                for f in self.friends.get(v, ()) if f in general
            )
            base = registers.put(unit, wishes)
            for v, offset in unit.members:
                general[v] = base + offset
        file = File()
        predicates: dict[Owner, int] = {}
        for unit in self.predicates.all():
            number = file.put(unit)
            predicates.update((v, number) for v, _ in unit.members)
        return general, predicates


def join(
    layout: Layout, incoming: Mapping[Owner, list[tuple[Block, tuple[Owner, ...]]]],
    how: Joining,
) -> Joined:
    """Units for a function. `incoming`: phi → what its predecessors hand it."""
    made = Joined(layout)
    units = made.units
    order = [(b, k) for b in layout.blocks for k in range(len(layout.steps[b]))]
    for b, k in order:
        s = layout.steps[b][k]
        for row in s.made:
            _, missed = units.row([s.written[p] for p in row])
            assert not missed, "what one operation makes is nothing else's yet"
    if how is Joining.ALL:
        _lasting(made, incoming)
    moves: dict[tuple[Block, int], _Moves] = {}
    again = _last_rows(layout) if how is not Joining.NEEDED else {}
    known: _Rows = {}
    for b, k in sorted(order, key=lambda x: -x[0].loop_depth):
        s = layout.steps[b][k]
        if s.tuples or s.ties:
            m = _Moves(units, s, layout.at(b, k))
            for written, read in s.ties:
                m.tie(written, read)
            for row in s.tuples:
                key = b, tuple(s.read[p] for p in row)
                if key in known:  # as another operation has it already
                    for p, register in zip(row, known[key], strict=True):
                        m.read[p] = register
                    continue
                m.row(row, how is Joining.NEEDED, layout.at(b, again.get(key, k)))
                if key in again:
                    known[key] = tuple(m.read[p] for p in row)
            if m.read != list(s.read):
                moves[b, k] = m
    for b, k in order:
        s = layout.steps[b][k]
        if (b, k) in moves:
            m = moves[b, k]
            if m.moves:
                made.steps.append(moving(b, m.moves))
            s = Step(
                b, s.operation, s.written, tuple(m.read), s.slot, s.is_store, s.tuples, s.made,
                s.ties,
            )
        made.steps.append(s)
    _phis(made, incoming, how)
    return made


def _lasting(
    made: Joined, incoming: Mapping[Owner, list[tuple[Block, tuple[Owner, ...]]]]
) -> None:
    """Join phis with what they are handed where that lives on behind the loop, as accumulators do.

    Where both have one register, nothing is written at the end of the block that hands it over.
    """
    units, layout = made.units, made.layout
    for phi, handed in incoming.items():
        lasting = [
            (b, o[0]) for b, o in handed
            if len(o) == 1 and o[0] in layout.behind.get(b, ()) and o[0] in units.place
        ]
        if len(lasting) != 1 or phi not in units.place:
            continue
        (b, v), (unit, _) = lasting[0], units.place[phi]
        life, written = layout.general[phi], (layout.end[b], layout.end[b] + 1)
        if len(unit.members) > 1 or width(v) != width(phi) or written not in life:
            continue
        unit.words = [[x for x in life if x != written]] * width(phi)
        if not units.shift(phi, v, 0):
            unit.words = [life] * width(phi)


def _last_rows(layout: Layout) -> dict[_Row, int]:
    """The last step of a block that reads a row which an earlier one reads as well."""
    first: set[_Row] = set()
    last: dict[_Row, int] = {}
    for b in layout.blocks:
        for k, s in enumerate(layout.steps[b]):
            for row in s.tuples:
                key = b, tuple(s.read[p] for p in row)
                if key in first:
                    last[key] = k
                first.add(key)
    return last


class _Moves:
    """What is moved in front of one step."""

    def __init__(self, units: Units, step: Step, at: int) -> None:
        self.units, self.step, self.at = units, step, at
        self.read = list(step.read)
        self.moves: list[tuple[Temporary, Register | None]] = []

    def temporary(self, position: int, last: int) -> Register:
        """A copy of what the step reads there, up to a last step: a unit of its own."""
        made = Temporary("copy", False)
        self.units.add(made, 1, [(self.at + _MOVED, last + _WRITTEN)])
        self.moves.append((made, self.step.read[position]))
        self.read[position] = (made, 0)
        return made, 0

    def tie(self, written: int, read: int) -> None:
        result, word = self.step.written[written]
        source, at = self.step.read[read]
        if not self.units.shift(result, source, word - at):
            copy, _ = self.temporary(read, self.at)
            self.units.shift(result, copy, word)

    def row(self, row: tuple[int, ...], apart: bool, last: int) -> None:
        """Let the step read a row side by side; `last`: the last step that reads it so."""
        units, read = self.units, self.read
        if not apart:
            best, missed = units.row([read[p] for p in row])
            if best >= 0 and self._fill(row, best, missed, last):
                return
        for p in row:
            self._forget(p)
        _, missed = units.row([self.temporary(p, last) for p in row])
        assert not missed, "temporaries are nothing else's yet"

    def _fill(self, row: tuple[int, ...], best: int, missed: list[int], last: int) -> bool:
        """Temporaries for what missed, beside the others; whether they all fit there."""
        anchor, word = self.read[row[best]]
        for k in missed:
            copy, _ = self.temporary(row[k], last)
            if not self.units.shift(anchor, copy, word + k - best):
                return False
        return True

    def _forget(self, position: int) -> None:
        """Undo a temporary in a row that does not fit."""
        mine = self.read[position]
        if any((m[0], 0) == mine for m in self.moves):
            unit, _ = self.units.place.pop(mine[0])
            unit.members = [m for m in unit.members if m[0] is not mine[0]]
        self.moves = [m for m in self.moves if (m[0], 0) != mine]
        self.read[position] = self.step.read[position]


def _phis(
    made: Joined, incoming: Mapping[Owner, list[tuple[Block, tuple[Owner, ...]]]], how: Joining
) -> None:
    """Join phis with what they are handed, the inner loops' first, and note the others' wishes."""
    units = made.units
    pairs: list[tuple[int, Owner, Owner]] = []
    for phi, handed in incoming.items():
        for block, owners in handed:
            if phi in made.predicates.place and how is not Joining.NEEDED:
                for v in owners:
                    made.predicates.shift(phi, v, 0)
            elif (
                phi in units.place and len(owners) == 1 and owners[0] in units.place
                and width(owners[0]) == width(phi)
            ):
                pairs.append((-block.loop_depth, phi, owners[0]))
    pairs.sort(key=lambda p: p[0])
    for several in (True, False):
        for _, phi, v in pairs:
            wide = max(len(units.place[x][0].words) for x in (phi, v)) > width(phi)
            if wide is several and (several or how is not Joining.NEEDED):
                units.shift(phi, v, 0)
    for _, phi, v in pairs:
        made.friends.setdefault(phi, []).append(v)
        made.friends.setdefault(v, []).append(phi)
