"""Colouring: registers for the values of a code, region by region in the given order.

Under SSA the live ranges form a chordal graph, so giving each definition a free register in an
order in which definitions dominate uses never needs more than the largest number of live
registers, alignment apart (Hack, Grund and Goos, "Register Allocation for Programs in SSA-Form",
CC 2006). Free registers are the bits of one integer; a pair or a quad takes aligned neighbours.
What no register is left for goes beyond the file, however far, and is counted: the caller spills.

Cost    one visit to each operand; integers of 512 bits, of more where more live at once.
"""

from __future__ import annotations

from collections import deque

from nvir.assembler.regalloc.code import Code, Op, Region
from nvir.assembler.regalloc.tables import CALL_CLOBBERED, CALL_LEAST, RESERVED, STACK_POINTER

_MASKS = [(1 << n) - 1 for n in range(65)]


class _File:
    """Sets of the registers that are looked at: all, and those where tuples may begin."""

    __slots__ = ("all", "even", "odd", "quad")

    def __init__(self, size: int) -> None:
        self.all = (1 << size) - 1
        self.even = self.all // 0b11
        self.quad = self.all // 0b1111
        self.odd = self.even << 1


_FILE = _File(512)  # twice what there is: most codes that spill fit as well


class Colouring:
    """Registers of values.

    register   of each value, -1 where it has none
    padding    value → the first of two registers that stay empty as long as it lives
    top        how many registers are used, counted to the highest
    """

    __slots__ = ("code", "cool", "limit", "over", "padding", "register", "top")

    def __init__(self, code: Code, limit: int, cool: int) -> None:
        self.code, self.limit, self.cool = code, limit, cool
        self.register = [-1] * len(code.widths)
        self.top = 0
        self.over: set[int] = set()
        self.padding: dict[int, int] = {}

    def taken(self, v: int) -> int:
        """The registers that a value keeps from others, as bits."""
        mask = _MASKS[self.code.widths[v]] << self.register[v]
        return mask | 3 << self.padding[v] if v in self.padding else mask


def colour(code: Code, orders: list[list[Op]], limit: int, cool: int) -> Colouring:
    """Registers for all values, each region's operations being in the order that is given.

    Below `limit` registers, a value is put in another bank than what is read with it, and a
    register that a slow operation reads is left alone for `cool` operations.
    """
    found = Colouring(code, limit, cool)
    for region, order in zip(code.regions, orders, strict=True):
        if any(_is_unknown_call(op) for op in order):
            _across(region, order, found)
    for region, order in zip(code.regions, orders, strict=True):
        _Painter(region, order, found).run()
    return found


def _is_unknown_call(op: Op) -> bool:
    """A call that follows the calling convention: nothing is known of what it needs."""
    return op.ends and not op.scratch and op.parent.form.is_call


def _across(region: Region, order: list[Op], found: Colouring) -> None:
    """Note what lives across calls."""
    live = set(region.live_out)
    for op in reversed(order):
        live.difference_update(op.results)
        if _is_unknown_call(op):
            found.over |= live
            found.top = max(found.top, CALL_LEAST - RESERVED)
        live.update(op.sources)


class _Painter:
    """One region while it is coloured."""

    def __init__(self, region: Region, order: list[Op], found: Colouring) -> None:
        self.region, self.order, self.found = region, order, found
        self.widths, self.register = found.code.widths, found.register
        self.last: dict[int, int] = {}
        self.made: dict[int, int] = {}
        self.reader: dict[int, Op] = {}
        self.place: dict[int, tuple[int, int]] = {}  # value → (tuple, offset)
        self.tuples: list[tuple[int, ...]] = []
        self.base: list[int] = []
        self.held: dict[int, int] = {}  # register → value that was made in the region
        self.entering: dict[int, int] = {}  # register → value that lives in, once asked for
        self.file = _FILE
        self.busy = 1 << STACK_POINTER
        self.cool = 0
        self.cooling: deque[tuple[int, int]] = deque()  # (until, registers)

    def run(self) -> None:
        region, widths, register = self.region, self.widths, self.register
        busy = self.busy
        for v in region.live_in:
            if register[v] >= 0:
                busy |= self.found.taken(v)
        self.busy = busy
        last, made, reader = self.last, self.made, self.reader
        for k, op in enumerate(self.order):
            for s in op.sources:
                last[s] = k
                reader.setdefault(s, op)
            for r in op.results:
                made[r] = k
            if op.tuples:
                for t in op.tuples:
                    self.join(t)
        last.update(dict.fromkeys(region.live_out, len(self.order)))
        for v in region.heads:
            if widths[v]:
                self.define(v, -1)
        for k, op in enumerate(self.order):
            self.step(k, op)
            if self.found.cool and op.variable:
                self.rest(k, op)
            if self.cooling and self.cooling[0][0] <= k:
                self.cooling.popleft()
                self.cool = 0
                for _, mask in self.cooling:
                    self.cool |= mask

    def rest(self, k: int, op: Op) -> None:
        """Leave what a slow operation reads alone for a while."""
        mask = 0
        for s in op.sources:
            if self.register[s] >= 0:
                mask |= ((1 << self.widths[s]) - 1) << self.register[s]
        self.cooling.append((k + self.found.cool, mask))
        self.cool |= mask

    def join(self, t: tuple[int, ...]) -> None:
        """Let the members of a vector stand side by side, where nothing else is said of them."""
        made, register = self.made, self.register
        heads = self.region.heads
        known = [v for v in t if v >= 0]
        if len(known) != len(set(known)):
            return
        for v in known:
            if v in self.place or register[v] >= 0 or (v not in made and v not in heads):
                return
            if v in made and self.order[made[v]].grouped:
                return
        n = len(self.tuples)
        self.tuples.append(t)
        self.base.append(-1)
        for k, v in enumerate(t):
            if v >= 0:
                self.place[v] = (n, k)

    def take(self, v: int, r: int, width: int) -> None:
        self.register[v] = r
        self.busy |= _MASKS[width] << r
        self.held[r] = v
        if r + width > self.found.top:
            self.found.top = r + width
        if v in self.found.code.padded:
            r = self.found.padding[v] = self.pick(2, -1, 0)
            self.busy |= 3 << r
            self.found.top = max(self.found.top, r + 2)

    def step(self, k: int, op: Op) -> None:
        last, register, widths = self.last, self.register, self.widths
        for s in op.sources:
            if last[s] == k and register[s] >= 0:
                self.busy &= ~self.found.taken(s)
        for t in op.tuples:
            self.literals(t)
        if op.scratch:
            self.spare(op.scratch, 2 if op.pairs else 1)
        if op.grouped and len(op.results) > 1:
            self.group(op)
        else:
            for v in op.results:
                if widths[v]:
                    self.define(v, k)
        for v in op.results:
            if v not in last and register[v] >= 0:
                self.busy &= ~self.found.taken(v)

    def literals(self, t: tuple[int, ...]) -> None:
        """A vector of literals alone takes its registers only here."""
        if all(v < 0 for v in t):
            self.spare(len(t))

    def spare(self, n: int, width: int = 1) -> None:
        """Registers that nothing keeps, up to a multiple of `width`."""
        free = ~self.busy  # no end
        top = 0
        for _ in range(n):
            low = free & -free
            top = low.bit_length()
            free ^= low
        top += -top % width
        if top > self.found.top:
            self.found.top = top

    def group(self, op: Op) -> None:
        """Results that stand side by side."""
        n = sum(self.widths[v] for v in op.results)
        wish = -1
        for t in op.tuples:  # an accumulator stays where it is
            if len(t) == len(op.results) and t[0] >= 0 and self.widths[t[0]]:
                wish = self.register[t[0]]
        if wish < 0:
            hint = self.found.code.hints.get(op.results[0], -1)
            wish = self.register[hint] if hint >= 0 else -1
        r = self.pick(n, wish, 0)
        for v in op.results:
            self.take(v, r, self.widths[v])
            r += self.widths[v]

    def define(self, v: int, k: int) -> None:
        width = self.widths[v]
        place = self.place.get(v)
        if place is not None:
            self.member(v, k, *place)
            return
        hint = self.found.code.hints.get(v, -1)
        wish = self.register[hint] if hint >= 0 else -1
        self.take(v, self.pick(width, wish, self.preference(v), v in self.found.over), width)

    def member(self, v: int, k: int, n: int, offset: int) -> None:
        """A part of a vector: the first one that is made chooses for all."""
        t, width = self.tuples[n], self.widths[v]
        if self.base[n] < 0:
            base = self.reuse(v, k, t, offset)
            if base < 0:
                hint = self.found.code.hints.get(v, -1)
                wish = self.register[hint] - offset * width if hint >= 0 else -1
                if wish % _align(width * len(t)):
                    wish = -1
                base = self.pick(width * len(t), wish, 0)
                self.busy |= ((1 << width * len(t)) - 1) << base
            self.base[n] = base
        self.take(v, self.base[n] + offset * width, width)

    def reuse(self, v: int, k: int, t: tuple[int, ...], offset: int) -> int:
        """The place of a vector whose parts die just when those of the new one are made."""
        if k < 0:
            return -1
        width, made, last = self.widths[v], self.made, self.last
        for s in self.order[k].sources:
            if last.get(s) != k or self.widths[s] != width or self.register[s] < 0:
                continue
            base = self.register[s] - offset * width
            if base < 0 or base % _align(width * len(t)):
                continue
            if all(self.free_for(base + j * width, made.get(x, -1)) for j, x in enumerate(t)):
                return base
        return -1

    def free_for(self, r: int, at: int) -> bool:
        """Is a register free, or free by the time that its new value is made?"""
        if not self.busy >> r & 1:
            return True
        if not self.entering:
            self.entering = {self.register[v]: v for v in self.region.live_in}
        holder = self.held.get(r, self.entering.get(r))
        return holder is not None and self.last.get(holder, 1 << 30) <= at

    def preference(self, v: int) -> int:
        """The bank that keeps a value apart from what is read with it: odd, even or 0 (any)."""
        op = self.reader.get(v)
        if op is None or self.widths[v] != 1:
            return 0
        for s in op.sources:
            r = self.register[s]
            if s != v and r >= 0:
                return self.file.even if r & 1 else self.file.odd
        return 0

    def pick(self, width: int, wish: int, bank: int, across: bool = False) -> int:
        """The lowest free place of a width; the wished one if it is free."""
        file = self.file
        free = file.all & ~self.busy
        if across:
            free &= file.all << CALL_CLOBBERED
        full = (1 << width) - 1
        if wish >= 0 and free >> wish & full == full:
            return wish
        limit = self.found.limit
        calm = free & ~self.cool
        if bank and width == 1:
            r = _lowest(calm & bank, 1, file)
            if 0 <= r < limit:
                return r
        if calm != free:
            r = _lowest(calm, width, file)
            if 0 <= r <= limit - width:
                return r
        if bank and width == 1:
            r = _lowest(free & bank, 1, file)
            if 0 <= r < limit:
                return r
        r = _lowest(free, width, file)
        if r >= 0:
            return r
        self.file = _File(2 * file.all.bit_length())
        return self.pick(width, wish, bank, across)


def _lowest(free: int, width: int, file: _File) -> int:
    """The lowest place for a value in a set of free registers; -1 where there is none."""
    if width == 1:
        fit = free
    elif width == 2:
        fit = free & free >> 1 & file.even
    else:
        fit = free & free >> 1
        fit &= fit >> 2
        fit &= file.quad
        for k in range(4, width, 4):
            fit &= fit >> 4 if k == 4 else free >> k
    return (fit & -fit).bit_length() - 1


def _align(width: int) -> int:
    return 1 if width == 1 else 2 if width == 2 else 4
