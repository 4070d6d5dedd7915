"""The code of a memcpy, memmove or memset.

                     split: dst < src?
                     /              \\
    forward.for: 0, 1, … count-1   reverse.for: count-1 … 1, 0
                     \\              /
                      nonzerotrip

    %src.memmove.gep.unroll = getelementptr i32, ptr %src, i64 K      (`…gep` in a loop)
    %val = load i32, ptr %src.memmove.gep.unroll, align A
    %dst.memmove.gep,unroll = getelementptr i32, ptr %dst, i64 K
    store i32 %val, ptr %dst.memmove.gep,unroll, align A

Known and small lengths are straight code, others a loop over a phi from 0 up or from count-1 down.
A length of run time is tested for zero before `split`. Where elements are wider than a
byte the rest follows (`remsrc`, `remdst`, `i8dst`): behind the elements going up, before
them going down, so that overlap does no harm. With one direction there is no `split`, and straight
code needs no block at all.

Addresses are compared as 64-bit pointers of one space; if the spaces differ, as generic ones.

In the notes' order: blocks, test, the paths, alignments.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from nvir.ir import Block, Constant, Instruction, Location, Value, constant
from nvir.ir.nvvm import Builder, const
from nvir.ir.text.trace import Brief, note, step
from nvir.ir.types import I8, I32, I64, Type, VectorType, pointer
from nvir.passes.aggregate.cutting import Cut
from nvir.passes.aggregate.plan import ELEMENTS, CopyPlan, Piece

IN_FLIGHT = 4  # loads of a memcpy before their stores: more take the registers of other warps
COMMA_NAME = "dst.memmove.gep,unroll"  # so in the real binary
PLAIN_NAME = COMMA_NAME.replace(",", ".")


@attrs.frozen
class Request:
    """What is to be copied or filled; alignments in bytes. `byte` is a fill's, `source` None."""

    kind: str
    to: Value
    source: Value | None
    byte: Value | None
    length: Value
    to_align: int
    source_align: int
    volatile: bool
    label: str  # in the names of addresses
    comma: bool


@attrs.frozen
class _Segment:
    """Elements `first`, `first + 1` … of `unit` bytes, `count` of them, in a loop; or pieces."""

    unit: int
    count: Value | None = None
    maybe_empty: bool = False
    rest: bool = False
    pieces: tuple[Piece, ...] = ()  # straight code


@attrs.define(eq=False)
class _Access:
    """A load or store of `unit` bytes, at an offset, or at each element of a loop."""

    unit: int
    at: int | None = None
    instruction: Instruction | None = None

    def aligned(self, align: int) -> int:
        """What an alignment of the start says of it."""
        return min(align & -align, self.unit) if self.at is None else aligned_at(align, self.at)

    @property
    def where(self) -> str:
        return f"each {self.unit}" if self.at is None else str(self.at)


@attrs.frozen
class LoopWay:
    """How a loop's index runs: from `first`, one at a time up or `down`, until it is `end`."""

    first: str
    down: bool
    end: Value | int


def _called(v: Value) -> str:
    """A value in an event: one without a name yet by what makes it."""
    return str(v.name or (v.form.name if isinstance(v, Instruction) else v))


@step("MEM-09", "unrolled forward", "pieces", tell=lambda order, pieces: _ends(order))
def ascending(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The order of a path that goes up."""
    return pieces


@step("MEM-10", "unrolled reverse", "pieces", tell=lambda order, pieces: _ends(order))
def descending(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The order of a path that goes down."""
    return pieces[::-1]


def _ends(order: tuple[Piece, ...]) -> Brief:
    ends = f"{order[0]} … {order[-1]}, {len(order)} loads and stores" if order else "none"
    return Brief(ends, list(order))


@step("MEM-12", "forward loop", "count")
def counts_up(count: Value) -> LoopWay:
    return LoopWay("0", False, count)


@step("MEM-13", "reverse loop", "count")
def counts_down(count: Value) -> LoopWay:
    return LoopWay("count - 1", True, -1)


def lower(cut: Cut, r: Request, plan: CopyPlan, loc: Location | None = None) -> None:
    """Write the copy at the end of `cut.here`; afterwards `cut.here` takes what follows."""
    _CopyWriter(cut, r, plan, loc).write()


def nonzero(v: Value) -> bool:
    """Whether a length is surely not zero."""
    while isinstance(v, Instruction) and v.form.name == "zext":
        v = v.operands[0]
    if isinstance(v, Constant):
        return bool(v.value)
    if isinstance(v, Instruction) and (
        v.form.name == "or" or (v.form.name == "add" and "nuw" in v.form.mods)
    ):
        return any(isinstance(x, Constant) and x.value for x in v.operands)
    return False


class _CopyWriter:
    """One copy. `b` stands where the next instruction goes."""

    def __init__(self, cut: Cut, r: Request, plan: CopyPlan, loc: Location | None) -> None:
        self.cut, self.r, self.plan = cut, r, plan
        self.b = Builder(cut.here)
        self.b.loc = loc
        self.length: Value = r.length
        self.rest_to: Value = r.to
        self.rest_source: Value | None = r.source
        self.splats: dict[int, Value] = {}
        self.whole: Value = r.length  # elements and bytes behind them, of a length of run time
        self.rest: Value = r.length
        self.loads: list[_Access] = []
        self.stores: list[_Access] = []

    def write(self) -> None:
        plan, cut, r = self.plan, self.cut, self.r
        if plan.size == 0:
            note("MEM-25", "length of zero", "nothing is copied")
            return
        if r.source is None:
            self.prepare_splats()
        if plan.paths != "both" and plan.unrolled:
            self.straight(self.pieces(), plan.paths == "reverse")
        else:
            done = cut.new("nonzerotrip")
            if plan.paths == "both":
                self.both(self.blocks(done))
            else:
                self.one(done, plan.paths == "reverse")
            cut.place(done)
            note("MEM-24", "what follows", done, loc=self.b.loc)
        note("MEM-11", "names", COMMA_NAME if r.comma else PLAIN_NAME, comma=r.comma)
        set_alignments("stores", r.to_align, self.stores)
        if r.source is not None:
            set_alignments("loads", r.source_align, self.loads)
        if plan.tail or self.by_parts:
            note("STR-15", "remainder", plan.tail or f"less than {plan.unit} bytes",
                 whole=plan.count, unit=plan.unit, names="remsrc, remdst, i8dst")
        note("MEM-16", "attributes", "volatile" if r.volatile else "none",
             loads=len(self.loads), stores=len(self.stores))

    @step("MEM-03", "blocks", "done")
    def blocks(self, done: Block) -> tuple[Block, ...]:
        """The test of the addresses, a path for each outcome, and what follows."""
        tail = "" if self.by_parts else ".for"
        return (*(self.cut.new(x) for x in ("split", f"forward{tail}", f"reverse{tail}")), done)

    def both(self, blocks: tuple[Block, ...]) -> None:
        """The test of the addresses and a path for each outcome."""
        cut, b = self.cut, self.b
        split, *entries, done = blocks
        self.measure()
        if self.may_be_empty:
            self.guard(self.length, done, split)
        else:
            b.branch(split)
        self.go_on(cut.place(split))
        self.prepare_rest()
        assert self.r.source is not None
        up = self.below()
        b.cbranch(up, *entries)
        note("MEM-04", "direction", f"below goes to {entries[0].name}, else {entries[1].name}",
             below=entries[0], otherwise=entries[1])
        segments = self.segments()
        for entry, direction in zip(entries, ("forward", "reverse"), strict=True):
            self.go_on(cut.place(entry))
            self.path(segments, direction == "reverse", f"{direction}.for", done, split)

    @step("MEM-05", "compare", "self.r.to", "self.r.source",
          tell=lambda up, writer: f"icmp ult {', '.join(map(_called, up.operands))} (34)")
    def below(self) -> Value:
        """Whether the target lies below the source: unsigned. The notes give it predicate 34."""
        assert self.r.source is not None
        to, source = (self.comparable(v) for v in (self.r.to, self.r.source))
        return self.b.icmp_unsigned("<", to, source)

    @step("MEM-08", "one direction", "down", tell=lambda made, writer, *a: writer.form)
    def one(self, done: Block, down: bool) -> None:
        """A single direction, with loops."""
        self.measure()
        named = self.r.label != "memmove"
        name = "loadstoreloop" if named else "reverse.for" if down else "forward.for"
        self.prepare_rest()
        before = None
        if self.may_be_empty:
            loop, before = self.cut.new(name), self.b.block
            self.guard(self.length, done, loop)
            self.go_on(self.cut.place(loop))
        self.path(self.segments(), down, name, done, before)

    def go_on(self, block: Block) -> None:
        self.b.position_at_end(block)

    # -------------------------------------------------------------- parts

    @property
    def form(self) -> str:
        """For the trace."""
        unit = self.plan.unit
        return f"{self.plan.form} over elements of {unit} {'byte' if unit == 1 else 'bytes'}"

    def pieces(self) -> tuple[Piece, ...]:
        """All accesses of straight code, in order of their offsets."""
        plan = self.plan
        assert plan.count is not None
        body = tuple(Piece(k * plan.unit, plan.unit) for k in range(plan.count))
        return body + plan.tail

    @step("MEM-08", "segments", "self.plan.unit", "self.plan.size", "self.plan.unrolled",
          tell=lambda made, writer: writer.form)
    def segments(self) -> list[_Segment]:
        """What a path does going up; going down it does it from behind."""
        plan = self.plan
        if plan.unrolled:
            return [_Segment(plan.unit, pieces=self.pieces())]
        if plan.size is not None:
            assert plan.count is not None
            out = [_Segment(plan.unit, const(I64, plan.count))]
            if plan.tail:
                out.append(_Segment(plan.unit, pieces=plan.tail))
            return out
        if not self.by_parts:
            return [_Segment(1, self.length)]
        return [_Segment(plan.unit, self.whole, True), _Segment(1, self.rest, True, True)]

    @property
    def by_parts(self) -> bool:
        """Whether whole elements and a rest are counted at run time."""
        return self.plan.size is None and self.plan.unit > 1

    def measure(self) -> None:
        """What a length of run time comes to, for all paths."""
        plan, b, n = self.plan, self.b, self.r.length
        if plan.size is not None:
            return
        if n.type.bits < 64:
            n = b.zext(n, I64, "count")
        elif n.type.bits > 64:
            n = b.trunc(n, I64, "count")
        self.length = n
        if plan.unit > 1:
            self.whole = b.lshr(n, plan.unit.bit_length() - 1, "elements")
            self.rest = b.and_(n, plan.unit - 1, "rest")

    def prepare_rest(self) -> None:
        """Where the remainder of a length of run time starts, for both paths."""
        plan, r, b = self.plan, self.r, self.b
        if not self.by_parts:
            return
        at = b.and_(self.length, -plan.unit, "body")
        self.rest_to = b.gep(r.to, [at], I8, name="remdst")
        if r.source is not None:
            self.rest_source = b.gep(r.source, [at], I8, name="remsrc")

    def prepare_splats(self) -> None:
        """A fill's byte in the types that it is stored as, before all paths."""
        plan = self.plan
        units = {n for _, n in plan.tail} | ({plan.unit} if plan.count != 0 else set())
        if plan.size is None:
            units.add(1)
        for n in sorted(units):
            self.splats[n] = splat(self.b, self.r.byte, ELEMENTS[n])

    @property
    def may_be_empty(self) -> bool:
        """Whether a test of the whole length comes first; wider elements are tested by part."""
        return self.plan.size is None and self.plan.unit == 1 and not nonzero(self.r.length)

    @step("MEM-25", "length of zero", "count", "empty")
    def guard(self, count: Value, empty: Block, full: Block) -> None:
        """Nothing is copied where a count of run time is zero."""
        self.b.cbranch(self.b.icmp_unsigned("==", count, const(I64, 0)), empty, full)

    def comparable(self, p: Value) -> Value:
        """The address in the space that both have, else as a generic one."""
        assert self.r.source is not None
        if self.r.to.type is self.r.source.type or p.type is pointer():
            return p
        return self.b.addrspacecast(p, pointer())

    def path(
        self, segments: list[_Segment], down: bool, name: str, done: Block, before: Block | None
    ) -> None:
        """One direction, from the end of the block at hand to `done`. `before` is the only way
        into that block where it is new and empty: then it can be a loop itself."""
        cut, b = self.cut, self.b
        for k, s in enumerate(segments[::-1] if down else segments):
            if s.count is None:
                self.straight(s.pieces, down)
                before = None
                continue
            after = done if k == len(segments) - 1 else cut.new(name.replace(".for", ".next"))
            if before is None or s.maybe_empty:
                before, loop = b.block, cut.new(f"{name}.rem" if s.rest else name)
                start = self.start(s.count, down, before)
                if s.maybe_empty:
                    self.guard(s.count, after, loop)
                else:
                    b.branch(loop)
                self.go_on(cut.place(loop))
            else:
                start = self.start(s.count, down, before)
            self.loop(s, down, start, before, after)
            if after is done:
                return
            self.go_on(cut.place(after))
            before = None
        b.branch(done)

    def start(self, count: Value, down: bool, before: Block) -> Value:
        """The first index of a loop, made at the end of the block that enters it."""
        if not down:
            return const(I64, 0)
        if isinstance(count, Constant):
            return const(I64, count.value - 1)
        b = Builder(before, before.terminator)
        b.loc = self.b.loc
        return b.sub(count, 1, "count.minus1")

    # --------------------------------------------------------------- code

    def carried(self, s: _Segment, before: Block, after: Block) -> None:
        """A fill's loop: the address goes from element to element, a short counter to zero."""
        b, t, here = self.b, ELEMENTS[s.unit], self.b.block
        p, left = b.phi(self.r.to.type, f"dst.{self.r.label}.gep"), b.phi(I32, "left")
        self.stored(self.splats[s.unit], p, _Access(s.unit))
        beyond = b.gep(p, [const(I64, 1)], t, name=f"{p.name}.next")
        fewer = b.sub(left, 1, "left.next")
        b.cbranch(b.icmp_unsigned("==", fewer, const(I32, 0), "done"), after, here)
        p.set_incoming((self.r.to, beyond), (before, here))
        assert self.plan.count is not None
        left.set_incoming((const(I32, self.plan.count), fewer), (before, here))

    def loop(self, s: _Segment, down: bool, start: Value, before: Block, after: Block) -> None:
        if self.plan.carried:
            self.carried(s, before, after)
            return
        b, r = self.b, self.r
        here = b.block
        iv = b.phi(I64, "iv")
        t = ELEMENTS[s.unit]
        to, source = (self.rest_to, self.rest_source) if s.rest else (r.to, r.source)
        names = ("i8src", "i8dst") if s.rest else (f"src.{r.label}.gep", f"dst.{r.label}.gep")
        if source is not None:
            p = b.gep(source, [iv], t, name=names[0])
            x: Value = self.loaded(p, t, "val", _Access(s.unit))
        else:
            x = self.splats[s.unit]
        q = b.gep(to, [iv], t, name=names[1])
        self.stored(x, q, _Access(s.unit))
        assert s.count is not None
        way = counts_down(s.count) if down else counts_up(s.count)
        following = b.sub(iv, 1, "iv.next") if way.down else b.add(iv, 1, "iv.next")
        end = const(I64, way.end) if isinstance(way.end, int) else way.end
        b.cbranch(b.icmp_unsigned("==", following, end, "done"), after, here)
        iv.set_incoming((start, following), (before, here))

    def straight(self, pieces: tuple[Piece, ...], down: bool) -> None:
        order = descending(pieces) if down else ascending(pieces)
        if self.plan.held or (self.plan.loads_first and not self.r.volatile):
            together = len(order) if self.plan.held else IN_FLIGHT
            for first in range(0, len(order), together):
                group = order[first : first + together]
                values = [self.read(at, n) for at, n in group]
                for (at, n), x in zip(group, values, strict=True):
                    self.write_one(at, n, x)
            return
        for at, n in order:
            self.write_one(at, n, self.read(at, n))

    def read(self, at: int, n: int) -> Value:
        r = self.r
        if r.source is None:
            return self.splats[n]
        whole = n == self.plan.unit
        name = f"src.{r.label}.gep.unroll" if whole else "remsrc"
        p = self.address(r.source, at, n, name)
        t = ELEMENTS[n]
        what = "val" if whole else "vld" if isinstance(t, VectorType) else "ld"
        return self.loaded(p, t, what, _Access(n, at))

    def write_one(self, at: int, n: int, x: Value) -> None:
        r = self.r
        if n != self.plan.unit:
            name = "i8dst" if n == 1 else "remdst"
        elif r.label == "memmove":
            name = COMMA_NAME if r.comma else PLAIN_NAME
        else:
            name = f"dst.{r.label}.gep.unroll"
        q = self.address(r.to, at, n, name)
        self.stored(x, q, _Access(n, at))

    def loaded(self, p: Value, t: Type, name: str, access: _Access) -> Value:
        """A load, whose alignment comes later."""
        access.instruction = self.b.load(p, t, name, volatile=self.r.volatile)
        self.loads.append(access)
        return access.instruction

    def stored(self, x: Value, p: Value, access: _Access) -> None:
        access.instruction = self.b.store(x, p, volatile=self.r.volatile)
        self.stores.append(access)

    def address(self, base: Value, at: int, n: int, name: str) -> Value:
        """Element `at / n`, where that is whole."""
        t, k = (ELEMENTS[n], at // n) if at % n == 0 else (I8, at)
        return self.b.gep(base, [const(I64, k)], t, name=name)


def splat(b: Builder, byte: Value | None, t: Type) -> Value:
    """A byte repeated to fill a value of an element's type."""
    assert byte is not None
    if isinstance(byte, Constant):
        word = (int(byte.value or 0) & 0xFF) * 0x01010101
        if isinstance(t, VectorType):
            return constant(t, (const(I32, word),) * t.count)
        return const(t, word)
    if t is I8:
        return byte
    if isinstance(t, VectorType):
        whole = splat(b, byte, I32)
        out: Value = constant(t, (const(I32, 0),) * t.count)
        for k in range(t.count):
            out = b.insert_element(out, whole, k)
        return out
    return b.mul(b.zext(byte, t), const(t, 0x01010101), "splat")


@step("MEM-15", "alignment", "what", "align", tell=lambda made, what, align, accesses: {
    a.where: a.aligned(align) for a in accesses})
def set_alignments(what: str, align: int, accesses: Sequence[_Access]) -> None:
    """What an alignment of the start says of each access, put on it."""
    for a in accesses:
        assert a.instruction is not None
        a.instruction.aux = a.aligned(align)


def aligned_at(align: int, offset: int) -> int:
    """What an alignment of the start says of an offset: the greatest power of two in both."""
    low = align | offset
    return low & -low
