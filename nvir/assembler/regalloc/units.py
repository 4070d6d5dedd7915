"""Units of allocation: values that must, or had better, stand at fixed distances of each other.

A unit is a row of registers; a member has an offset in it. A pair or a quad that an operation makes
is one unit from the start. Further ones join where the lives of what would share a register allow
(sub-register coalescing), so a value that is loaded as part of one quad and read as part of another
needs no move if both agree on its place.

Lives are lists of half-open intervals on one time line (see `lives`), with holes where a value is
not live; a register of a unit has those of all its members. Two lives that meet cannot share.

Method   Chaitin's aggressive coalescing, on offsets; the places are then given to units in the
         order in which they begin, the lowest that is free for all of a unit's life (linear scan
         with lifetime holes: Traub, Holloway and Smith, "Quality and Speed in Linear-scan Register
         Allocation", PLDI 1998). Under SSA and without units of several values that needs no more
         registers than are live.
Cost     joining: the intervals of both sides. Placing: a bisection for each register tried.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from nvir.assembler.regalloc.tuples import alignment
from nvir.ir.values import Value
from nvir.sm.operation import Register, Temporary

Owner = Value | Temporary
Interval = tuple[int, int]
Life = list[Interval]


def meet(a: Life, b: Life) -> bool:
    """Whether two sorted lists of intervals have a point in common."""
    if not a or not b or a[-1][1] <= b[0][0] or b[-1][1] <= a[0][0]:
        return False
    if len(a) > len(b):
        a, b = b, a
    for start, end in a:
        k = bisect_right(b, (start, 1 << 60))
        if k and b[k - 1][1] > start:
            return True
        if k < len(b) and b[k][0] < end:
            return True
    return False


def union(a: Life, b: Life) -> Life:
    """The intervals of two disjoint lives in order; what touches becomes one."""
    out: Life = []
    for start, end in sorted([*a, *b]):
        if out and out[-1][1] == start:
            out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
    return out


class Unit:
    """A row of registers.

    members   (value, offset)
    words     the life of each register
    step, phase   the number of its first register is `phase` modulo `step`
    """

    __slots__ = ("members", "phase", "step", "words")

    def __init__(self, value: Owner, width: int, life: Life) -> None:
        self.members: list[tuple[Owner, int]] = [(value, 0)]
        self.words: list[Life] = [life] * width
        self.step, self.phase = alignment(width), 0

    @property
    def start(self) -> int:
        """Where on the time line it begins."""
        return min((w[0][0] for w in self.words if w), default=0)


class Units:
    """All units of a function, and where each value is in its own.

    lives   value → its life; of values with a general register alone
    """

    def __init__(self, lives: Mapping[Owner, Life], widths: Mapping[Owner, int]) -> None:
        self.place: dict[Owner, tuple[Unit, int]] = {}
        for v, life in lives.items():
            self.add(v, widths[v], life)

    def add(self, value: Owner, width: int, life: Life) -> None:
        """A new value, a unit of its own."""
        self.place[value] = (Unit(value, width, life), 0)

    def shift(self, a: Owner, b: Owner, distance: int) -> bool:
        """Join the units of two values so that b stands `distance` registers behind a.

        False, and nothing is done, where their lives, their alignment or an earlier joining says
        otherwise.
        """
        one, at = self.place[a]
        other, offset = self.place[b]
        shift = at + distance - offset  # of the other unit's first register, from this one's
        if one is other:
            return shift == 0
        if not _aligned(one, other, shift):
            return False
        for k, life in enumerate(other.words):
            here = k + shift
            if 0 <= here < len(one.words) and meet(one.words[here], life):
                return False
        self._join(one, other, shift)
        return True

    def _join(self, one: Unit, other: Unit, shift: int) -> None:
        if len(other.members) > len(one.members):
            one, other, shift = other, one, -shift
        low = min(0, shift)
        size = max(len(one.words), shift + len(other.words)) - low
        words: list[Life] = [[] for _ in range(size)]
        for k, life in enumerate(one.words):
            words[k - low] = life
        for k, life in enumerate(other.words):
            here = k + shift - low
            words[here] = union(words[here], life) if words[here] else life
        if other.step > one.step:
            one.step, one.phase = other.step, other.phase - shift
        one.phase = (one.phase + low) % one.step
        if low:
            one.members = [(v, o - low) for v, o in one.members]
            for v, o in one.members:
                self.place[v] = (one, o)
        for v, o in other.members:
            one.members.append((v, o + shift - low))
            self.place[v] = (one, o + shift - low)
        one.words = words

    def row(self, registers: Sequence[Register]) -> tuple[int, list[int]]:
        """Let registers stand side by side, aligned.

        The position that the others went by, -1 where none can have that alignment; and the
        positions of those that could not join. What has joined stays so.
        """
        step = alignment(len(registers))
        sizes = [len(self.place[v][0].words) for v, _ in registers]
        for best in sorted(range(len(registers)), key=lambda k: -sizes[k]):
            if self.align(registers[best], best, step):
                break
        else:
            return -1, list(range(len(registers)))
        anchor, word = registers[best]
        return best, [
            k for k, (v, w) in enumerate(registers)
            if not self.shift(anchor, v, word + k - best - w)
        ]

    def align(self, register: Register, offset: int, step: int) -> bool:
        """Let a register's number be `offset` modulo `step`, if that can be."""
        unit, at = self.place[register[0]]
        phase = offset - at - register[1]
        if step <= unit.step:
            return (unit.phase - phase) % step == 0
        if (phase - unit.phase) % unit.step:
            return False
        unit.step, unit.phase = step, phase % step
        return True

    def all(self) -> list[Unit]:
        """The units by where they begin."""
        found = {id(u): u for u, _ in self.place.values()}
        return sorted(found.values(), key=lambda u: u.start)


def _aligned(one: Unit, other: Unit, shift: int) -> bool:
    """Whether both alignments can hold, the other unit standing `shift` behind."""
    step = min(one.step, other.step)
    return (one.phase + shift - other.phase) % step == 0


class File:
    """The registers of one kind, and when each is in use."""

    def __init__(self, reserved: Iterable[int] = ()) -> None:
        self.used: list[Life] = []
        self.reserved = frozenset(reserved)

    def put(self, unit: Unit, wishes: Iterable[int] = ()) -> int:
        """The place of a unit: a wished one if it is free, else the lowest."""
        for base in wishes:
            if base >= 0 and base % unit.step == unit.phase and self._fits(unit, base):
                break
        else:
            base = unit.phase
            while not self._fits(unit, base):
                base += unit.step
        for k, life in enumerate(unit.words):
            if life:
                while len(self.used) <= base + k:
                    self.used.append([])
                _insert(self.used[base + k], life)
        return base

    def _fits(self, unit: Unit, base: int) -> bool:
        used = self.used
        for k, life in enumerate(unit.words):
            r = base + k
            if r in self.reserved:
                return False
            if r < len(used) and meet(used[r], life):
                return False
        return True


def _insert(used: Life, life: Life) -> None:
    """Add intervals that meet none of those in use."""
    for interval in life:
        if not used or used[-1] < interval:
            used.append(interval)
        else:
            used.insert(bisect_right(used, interval), interval)
