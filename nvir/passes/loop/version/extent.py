"""Where a loop's accesses lie, worked out in front of it: first byte, last byte, sure or not.

An address is linear in the iteration: what it is in the first and in the second one gives its step,
the largest number of iterations the other end. All arithmetic is of 64 bits. What could make it
wrong is tested with it: a 32-bit index that wraps before it is widened, a step that does not fit
32 bits, a counter that leaps over its bound.

Cost    some dozen instructions for an address, once each time that the loop is entered.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from nvir.analysis.alias import AliasAnalysis
from nvir.analysis.induction import TripCount, constant_of
from nvir.ir.builder import Builder
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop
from nvir.ir.opcodes import OpKind
from nvir.ir.types import SCALARS
from nvir.ir.values import Value, integer

DISJOINT = "disjoint"  # flag of a header: accesses that alias analysis cannot tell apart are
SMALL = (1 << 31) - 1
_UP = {"lt": 0, "lo": 0, "le": 1, "ls": 1}  # 1: the bound itself is reached
_DOWN = {"gt": 0, "hi": 0, "ge": 1, "hs": 1}


class NotLinear(Exception):
    """An address that is not linear in the iteration, or a count that nothing says."""


@attrs.frozen
class Extent:
    """The first byte of an access at its lowest, and the byte behind the last at its highest.

    first  the first byte in the first iteration
    step   the bytes from one iteration to the next, None for one that stands still
    size   its bytes in one iteration
    """

    low: Value
    high: Value
    first: Value
    step: Value | None
    size: int


class Extents:
    """The extents of accesses of one loop of one block, computed at the end of its preheader.

    `sure` are the predicates without which the extents say nothing.
    """

    def __init__(self, loop: Loop, trip: TripCount, b: Builder) -> None:
        self.loop, self.trip, self.b = loop, trip, b
        self.sure: list[Value] = []
        (latch,) = loop.latches
        self.later = {
            p: next(v for v, block in p.incoming if block is latch) for p in loop.header.phis
        }
        self.start = {
            p: next(v for v, block in p.incoming if block is not latch) for p in loop.header.phis
        }
        self.made: tuple[dict[Value, Value], dict[Value, Value]] = ({}, {})
        self.rounds = self._rounds()
        self.checked: set[Value] = set()
        self.ways: dict[Value, tuple[Value, Value, Value]] = {}

    def of(self, address: Value, offset: int, size: int) -> Extent:
        """The extent of an access of `size` bytes. Raises NotLinear."""
        self._check(address)
        b = self.b
        first = b.compute("add.s64", self.at(address, 0), integer(offset))
        if not self.moves(address):
            return Extent(first, b.compute("add.s64", first, integer(size)), first, None, size)
        step, low, high = self._way(address)
        return Extent(b.compute("add.s64", first, low),
                      b.compute("add.s64", first, b.compute("add.s64", high, integer(size))),
                      first, step, size)

    def _way(self, address: Value) -> tuple[Value, Value, Value]:
        """The step of an address, and how far it gets down and up, which it has in common with
        those that it is a sum of and something that the loop does not change."""
        d = address.definer
        while d is not None and self.moves(address) and not d.form.is_phi:
            moving = [v for v in d.operands if self.moves(v)]
            if not _is_sum(d) or len(moving) != 1 or (d.operands[0] is not moving[0] and (
                    d.form.name == "sub")):
                break
            address = moving[0]
            d = address.definer
        if address not in self.ways:
            b, step = self.b, self._step(address)
            far = b.compute("mul.lo.s64", step, self.rounds)
            ends = [b.compute(f"{name}.s64", far, integer(0)) for name in ("min", "max")]
            self.ways[address] = step, ends[0], ends[1]
        return self.ways[address]

    def leaves(self, address: Value, size: int) -> Value:
        """A predicate: each iteration an address moves on by at least so many bytes."""
        self._check(address)
        far = self.b.compute("abs.s64", self._way(address)[0])
        return self.b.compute("setp.ge.s64", far, integer(size))

    def _check(self, address: Value) -> None:
        for v, signed in self.linear(address):
            if v not in self.checked:
                self.checked.add(v)
                self._no_wrap(v, signed)

    def _step(self, address: Value) -> Value:
        """The bytes from one iteration to the next, which fit 32 bits."""
        b = self.b
        step = b.compute("sub.s64", self.at(address, 1), self.at(address, 0))
        narrow = b.compute("cvt.s64.s32", b.compute("cvt.u32.u64", step))
        self.sure.append(b.compute("setp.eq.s64", narrow, step))
        return step

    def moves(self, v: Value) -> bool:
        """Whether a value is made in the loop, or goes round in it."""
        d = v.definer
        return d is not None and d.block is self.loop.header

    # ---------------------------------------------------------------- linear or not

    def linear(self, value: Value) -> list[tuple[Value, bool]]:
        """The values that are widened on the way to a linear one, and whether with their sign."""
        found: list[tuple[Value, bool]] = []
        seen: set[Value] = set()
        work = [value]
        while work:
            v = work.pop()
            if v in seen or not self.moves(v):
                continue
            seen.add(v)
            d = v.definer
            assert d is not None
            if d.form.is_phi:
                self._steady(d)
                continue
            work += self._operands(d, found)
        return found

    def _steady(self, phi: Instruction) -> None:
        """Hold a phi to going round by sums with what the loop does not change."""
        v = self.later[phi]
        while v is not phi:
            d = v.definer
            moving = [x for x in d.operands if self.moves(x)] if d is not None else []
            if d is None or d.form.is_phi or len(moving) != 1 or d.form.guard is not None:
                raise NotLinear
            product = adds_product(d)
            if d.form.kind is not OpKind.COPY and not (
                (product and d.operands[2] is moving[0])
                or (_is_sum(d) and (d.form.name != "sub" or d.operands[0] is moving[0]))
            ):
                raise NotLinear
            v = moving[0]

    def _operands(self, d: Instruction, found: list[tuple[Value, bool]]) -> list[Value]:
        """Of which operands a value is a linear function; what it widens goes into `found`."""
        f = d.form
        if f.guard is not None or len(d.results) != 1 or not f.pure or "sat" in f.mods:
            raise NotLinear
        if f.kind is OpKind.COPY or f.name == "cvta":
            return list(d.operands)
        name = f.name
        if _is_sum(d):
            return list(d.operands)
        moving = [v for v in d.operands if self.moves(v)]
        if name == "shl" and self.moves(d.operands[1]):
            raise NotLinear
        if name in ("shl", "mul", "mad") and f.type is not None and not f.type.is_float:
            if (name != "shl" and all(map(self.moves, d.operands[:2]))) or "hi" in f.mods:
                raise NotLinear
            if "wide" in f.mods:
                found += [(v, f.type.kind == "s") for v in d.operands[:2] if self.moves(v)]
            return moving
        if name == "cvt" and len(d.operands) == 1:
            source = SCALARS.get(f.spelling.rpartition(".")[2])
            if source is None or source.is_float or f.type is None or f.type.is_float:
                raise NotLinear
            if source.bits < d.type.bits:
                found.append((d.operands[0], source.kind == "s"))
            return moving
        raise NotLinear

    # ----------------------------------------------------------- values ahead of the loop

    def at(self, value: Value, iteration: int) -> Value:
        """A value of the first (0) or the second (1) iteration, in the preheader."""
        if not self.moves(value):
            return value
        made = self.made[iteration]
        if value not in made:
            d = value.definer
            assert d is not None
            if d.form.is_phi:
                made[value] = self.at(self.later[d], 0) if iteration else self.start[d]
            else:
                operands = tuple([self.at(v, iteration) for v in d.operands])
                copy = Instruction(d.form, operands, d.type, d.name, d.aux)
                made[value] = self.b.insert(copy)
        return made[value]

    def _no_wrap(self, v: Value, signed: bool) -> None:
        """Test that a 32-bit value does not wrap in any iteration."""
        if v.type.bits != 32:
            raise NotLinear
        b = self.b
        kind = "s" if signed else "u"
        first = b.compute(f"cvt.{kind}64.{kind}32", self.at(v, 0))
        step = b.compute("cvt.s64.s32", b.compute("sub.s32", self.at(v, 1), self.at(v, 0)))
        last = b.compute("add.s64", first, b.compute("mul.lo.s64", step, self.rounds))
        again = b.compute(f"cvt.{kind}64.{kind}32", b.compute("cvt.u32.u64", last))
        self.sure.append(b.compute("setp.eq.s64", again, last))

    # ------------------------------------------------------------------ the iterations

    def _rounds(self) -> Value:
        """At least the number of iterations less one, below 2**32, as 64 bits."""
        trip, b = self.trip, self.b
        if trip.count is not None:
            return b.compute("mov.b64", integer(max(trip.count - 1, 0)))
        step, bits = trip.variable.step, trip.variable.bits
        compare, _, type = trip.compare.partition(".")
        t = SCALARS.get(type)
        known = isinstance(step, int | Value) and step != 0  # else worked out in the loop
        if bits not in (32, 64) or t is None or t.bits != bits or not known:
            raise NotLinear
        assert isinstance(step, int | Value)
        if isinstance(step, int) and abs(step) > SMALL:
            raise NotLinear
        start, bound = self.start[trip.variable.phi], trip.bound
        if compare == "ne" and isinstance(step, int):
            return self._until_equal(start, bound, step, bits)
        up = not isinstance(step, int) or step > 0
        reached = (_UP if up else _DOWN).get(compare)
        if reached is None:
            raise NotLinear
        unsigned = type[0] != "s" or compare in ("lo", "ls", "hi", "hs")
        kind = "u" if unsigned else "s"
        if bits == 64:
            x, n = self._small(start), self._small(bound)
        else:
            x, n = (b.compute(f"cvt.{kind}64.{kind}32", v) for v in (start, bound))
        last, most = ((1 << bits) - 1, 0) if unsigned else ((1 << bits - 1) - 1, -(1 << bits - 1))
        if isinstance(step, Value):
            wide = step if bits == 64 else b.compute(f"cvt.{kind}64.{kind}32", step)
            self.sure.append(b.compute("setp.gt.s64", wide, integer(0)))
            if bits == 64:
                step = b.compute("cvt.u32.u64", self._small(wide))
            else:
                end = b.compute("add.s64", n, wide)
                self.sure.append(b.compute("setp.le.s64", end, integer(last + 1 - reached)))
        elif leap := abs(step) - 1 + reached:  # the counter may leap over a bound near the end
            limit = last - leap if up else most + leap
            if bits == 32 or not up:  # a bound of 64 bits is small
                self.sure.append(b.compute(f"setp.{'le' if up else 'ge'}.s64", n, integer(limit)))
        far = b.compute("sub.s64", n, x) if up else b.compute("sub.s64", x, n)
        if not reached:
            far = b.compute("sub.s64", far, integer(1))
        far = b.compute("max.s64", far, integer(0))
        if isinstance(step, Value):
            least = b.compute("max.u32", step, integer(1))
            far = b.compute("div.u32", b.compute("cvt.u32.u64", far), least)
            far = b.compute("cvt.u64.u32", far)
        else:
            far = self._shared_out(far, abs(step))
        return far if trip.tests_update else b.compute("add.s64", far, integer(1))

    def _small(self, v: Value) -> Value:
        """A 64-bit counter's first value, bound or step, tested not to be negative and so small
        that neither a difference nor a last step wraps."""
        self.sure.append(self.b.compute("setp.le.u64", v, integer(SMALL)))
        return v

    def _until_equal(self, start: Value, bound: Value, step: int, bits: int) -> Value:
        """The rounds of a counter that goes on until it equals the bound."""
        b, trip = self.b, self.trip
        high, low = (bound, start) if step > 0 else (start, bound)
        far = b.compute(f"sub.s{bits}", high, low)
        size = abs(step)
        if size & (size - 1):
            raise NotLinear
        if size > 1:
            rest = b.compute(f"and.b{bits}", far, integer(size - 1))
            self.sure.append(b.compute(f"setp.eq.s{bits}", rest, integer(0)))
        if trip.tests_update:
            far = b.compute(f"sub.s{bits}", far, integer(size))
        far = self._small(far) if bits == 64 else b.compute("cvt.u64.u32", far)
        return self._shared_out(far, size)

    def _shared_out(self, far: Value, step: int) -> Value:
        """A distance over a step, or at least that."""
        if step & (step - 1) or step == 1:
            return far
        return self.b.compute("shr.u64", far, integer(step.bit_length() - 1))


def _is_sum(d: Instruction) -> bool:
    """A sum or difference of two integers, without a carry."""
    f = d.form
    plain = f.type is not None and not f.type.is_float and "sat" not in f.mods
    return f.kind is OpKind.SUM and plain and len(d.operands) == 2 and len(d.results) == 1


def adds_product(d: Instruction) -> bool:
    """An integer `mad`, without a carry."""
    f = d.form
    plain = f.type is not None and not f.type.is_float and "sat" not in f.mods
    return f.name == "mad" and plain and len(d.operands) == 3 and len(d.results) == 1


def apart(b: Builder, x: Sequence[Extent], y: Sequence[Extent]) -> Value:
    """A predicate: no byte of some extents lies between those of others."""
    (low, high), (start, end) = (_union(b, some) for some in (x, y))
    before = b.compute("setp.le.u64", high, start)
    behind = b.compute("setp.le.u64", end, low)
    return b.compute("or.pred", before, behind)


def _union(b: Builder, some: Sequence[Extent]) -> tuple[Value, Value]:
    low, high = some[0].low, some[0].high
    for x in some[1:]:
        low, high = b.compute("min.u64", low, x.low), b.compute("max.u64", high, x.high)
    return low, high


def between(b: Builder, x: Extent, y: Extent) -> Value:
    """A predicate: two accesses move by the same step, one always in the gaps of the other, as
    the rows of a matrix that the copies of an unrolled loop go down."""
    assert x.step is not None
    assert y.step is not None
    size = max(x.size, y.size)
    far = b.compute("abs.s64", b.compute("sub.s64", x.first, y.first))
    room = b.compute("sub.s64", b.compute("abs.s64", x.step), integer(size))
    right = b.compute("and.pred", b.compute("setp.ge.s64", far, integer(size)),
                      b.compute("setp.le.s64", far, room))
    if x.step is y.step:
        return right
    return b.compute("and.pred", right, b.compute("setp.eq.s64", x.step, y.step))


def constant_offset(i: Instruction) -> int | None:
    """The distance of an access from its base, None for one that is no constant."""
    _, offset = i.form.addresses[0]
    return 0 if offset < 0 else constant_of(i.operands[offset])


def place(i: Instruction) -> tuple[Value, int]:
    return i.operands[i.form.addresses[0][0]], constant_offset(i) or 0


def reorders(a: Instruction, b: Instruction) -> bool:
    """Whether the order of two accesses changes where operands are apart: stores keep theirs."""
    return a.form.writes != b.form.writes


def may_meet(a: Instruction, b: Instruction, loop: Loop, alias: AliasAnalysis) -> bool:
    """Whether only run time can tell if two accesses ever overlap: they are not certainly apart,
    and neither from one base nor at a known distance in the same object."""
    return place(a)[0] is not place(b)[0] and _unknown(a, b, loop, alias, 0)


def may_meet_later(a: Instruction, b: Instruction, loop: Loop, alias: AliasAnalysis) -> bool:
    """The same of accesses from one base, in different iterations."""
    return place(a)[0] is place(b)[0] and _unknown(a, b, loop, alias, 1)


def _unknown(
    a: Instruction, b: Instruction, loop: Loop, alias: AliasAnalysis, least: int
) -> bool:
    ways = alias.distance(a, b, loop, least), alias.distance(b, a, loop, least)
    return not all(w.is_never for w in ways) and not any(
        w.exact and not w.is_never for w in ways)
