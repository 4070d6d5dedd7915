"""Allocas of aggregates become one alloca for each piece that is accessed on its own.

    %s = alloca { i32, float }                       %s.0 = alloca i32
    %p = getelementptr i8, ptr %s, i64 4             %s.4 = alloca float
    store i32 %a, ptr %s                      ==>    store i32 %a, ptr %s.0
    store float %x, ptr %p                           store float %x, ptr %s.4
    memcpy(ptr %out, ptr %s, i64 8)                  … load and store each piece to %out

Method   For each alloca its uses are followed through geps with constant indices and casts to
         accesses of byte ranges. Ranges that overlap make a piece; copies and fills are split at
         the pieces, and the bytes between are cut at the members of the allocated type. A
         piece gets one type (sroa_pieces.py): accesses of another type convert, parts of a
         vector are extracted and inserted, parts of an integer shifted and masked.
         Aggregates that are loaded or stored whole are taken apart.
Needs    SSA.
Keeps    blocks and edges. Every byte that a copy moves, padding too. Allocas that are volatile,
         indexed by a variable, or whose address goes anywhere else.
Leaves   promotion of the pieces to mem2reg.
Skips    more than MAX_PIECES pieces, or MAX_BYTES bytes: such arrays are not registers.
Cost     Linear in the accesses, times the pieces of each copy; sorting.
Source   LLVM's SROA, for slices and partitions.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from nvir.analysis.addresses import constant_offset
from nvir.analysis.callees import Transfer, memory_transfer, only_describes
from nvir.ir import Function, Instruction, OpKind, Unsupported, nvvm_form
from nvir.ir.layout import align_of, fields, size_of, store_size
from nvir.ir.nvvm import Builder
from nvir.ir.types import I8, I64, Type, array, int_type
from nvir.ir.values import Constant, Value, constant, undef
from nvir.passes.aggregate.leaves import is_aggregate, leaves
from nvir.passes.context import Context
from nvir.passes.remarks import missed, passed
from nvir.passes.scalar.sroa_pieces import AllocaSlice, SliceAccess, make_pieces

SPLIT = passed("Split", "{name} ({type}) became {pieces} variables")
WHOLE = missed("StaysWhole", "{name} ({type}) is not split: {reason}")
CODES = (SPLIT, WHOLE)

MAX_PIECES = 256
MAX_BYTES = 4096


def run(function: Function, ctx: Context) -> bool:
    changed = False
    for i in [i for i in function.instructions() if i.form.name == "alloca"]:
        name, type = str(i.name), i.aux[0].name
        try:
            pieces = _split(i)
        except _Whole as e:
            ctx.remark(WHOLE, i, name=name, type=type, reason=str(e))
            continue
        if pieces:
            ctx.count("split")
            ctx.count("pieces", pieces)
            ctx.remark(SPLIT, i, name=name, type=type, pieces=pieces)
            changed = True
    return changed


class _Whole(Exception):
    """Why an alloca is not split."""


@attrs.define
class _Uses:
    """What is done with an alloca.

    accesses   loads and stores
    transfers  (the call, what it does, byte offset of the target, of the source; None where
               that is another memory)
    others     geps, casts and lifetime marks, users after what they use
    """

    accesses: list[SliceAccess] = attrs.Factory(list)
    transfers: list[tuple[Instruction, Transfer, int | None, int | None]] = attrs.Factory(list)
    others: list[Instruction] = attrs.Factory(list)


def _split(alloca: Instruction) -> int:
    """Split an alloca; the number of its pieces, 0 where nothing is to do. Raises _Whole."""
    size = _size(alloca)
    uses = _follow(alloca, size)
    scalars = [x for a in uses.accesses for x in _scalars(a)]
    aggregates = any(is_aggregate(a.type) for a in uses.accesses)
    if not (uses.others or uses.transfers or aggregates) and len({a.type for a in scalars}) <= 1:
        return 0
    pieces = make_pieces(scalars, _cuts(alloca.aux[0], size, uses, scalars))
    if len(pieces) > MAX_PIECES:
        raise _Whole(f"it has {len(pieces)} pieces, more than {MAX_PIECES}")
    opaque = [p for p in pieces if p.type is None]
    if opaque and (len(pieces) == 1 or uses.transfers):
        raise _Whole("parts of a member are accessed that no shift or vector gives")
    rewrite = _Rewrite(alloca, uses, pieces)
    rewrite.check()  # nothing is changed until here, nothing refuses from here on
    rewrite.run()
    return len(pieces)


def _size(alloca: Instruction) -> int:
    count = alloca.operands[0]
    if not isinstance(count, Constant) or not count.value:
        raise _Whole("the number of its elements is not constant")
    try:
        size = int(count.value) * size_of(alloca.aux[0])
    except Unsupported as e:
        raise _Whole(str(e)) from None
    if size > MAX_BYTES:
        raise _Whole(f"it has {size} bytes, more than {MAX_BYTES}")
    return size


def _follow(alloca: Instruction, size: int) -> _Uses:
    """All uses of an alloca, through pointers at a constant distance from it."""
    uses = _Uses()
    at: dict[Value, int] = {alloca: 0}
    calls: dict[Instruction, None] = {}
    work: list[Instruction] = [alloca]
    while work:
        pointer = work.pop()
        offset = at[pointer]
        for user in pointer.users:
            form = user.form
            if form.kind in (OpKind.LOAD, OpKind.STORE):
                uses.accesses.append(_access(user, pointer, offset, size))
            elif form.kind in (OpKind.ADDRESS, OpKind.COPY):
                distance = constant_offset(user) if form.kind is OpKind.ADDRESS else 0
                if distance is None:
                    raise _Whole("it is indexed by a variable")
                at[user] = offset + distance
                uses.others.append(user)
                work.append(user)
            elif user.form.is_call and only_describes(user):
                uses.others.append(user)
            elif memory_transfer(user) is not None:
                calls[user] = None
            else:
                raise _Whole(f"its address is used by {user.form.spelling}")
    uses.transfers = [_transfer(i, at, size) for i in calls]
    return uses


def _access(i: Instruction, pointer: Value, offset: int, size: int) -> SliceAccess:
    if i.form.name == "store" and i.operands[0] is pointer:
        raise _Whole("its address is stored")
    if i.form.volatile or "atomic" in i.form.mods:
        raise _Whole("an access is volatile or atomic")
    type = i.type if i.form.name == "load" else i.operands[0].type
    n = store_size(type)
    if not n:
        raise _Whole("a value without bytes is accessed")
    if not 0 <= offset <= size - n:
        raise _Whole("an access is out of its bounds")
    return SliceAccess(i, offset, n, type)


def _transfer(
    i: Instruction, at: dict[Value, int], size: int
) -> tuple[Instruction, Transfer, int | None, int | None]:
    t = memory_transfer(i)
    assert t is not None
    if t.volatile:
        raise _Whole("a copy is volatile")
    if not isinstance(t.size, Constant):
        raise _Whole("the size of a copy is not constant")
    if t.fill is not None and not isinstance(t.fill, Constant):
        raise _Whole("it is filled with a byte that is not constant")
    if len(i.operands) > 4:
        raise _Whole("its address is used by a call")
    target = at.get(t.target)
    source = at.get(t.source) if t.source is not None else None
    if target is not None and source is not None:
        raise _Whole("it is copied onto itself")
    for offset in (target, source):
        if offset is not None and not 0 <= offset <= size - t.size.value:
            raise _Whole("a copy is out of its bounds")
    return i, t, target, source


# ---------------------------------------------------------- aggregates whole


def _scalars(a: SliceAccess) -> list[SliceAccess]:
    """An access to an aggregate as those to its scalars, any other as it is."""
    if not is_aggregate(a.type):
        return [a]
    found = leaves(a.type)
    if len(found) > MAX_PIECES:
        raise _Whole(f"a value of {len(found)} members is accessed whole")
    return [
        SliceAccess(a.instruction, a.offset + x.offset, store_size(x.type), x.type) for x in found
    ]


# --------------------------------------------------------------------- pieces


def _cuts(type: Type, size: int, uses: _Uses, accesses: list[SliceAccess]) -> list[SliceAccess]:
    """Ranges without an access of their own that copies and fills move: the members of the
    allocated type, and integers for the bytes between them."""
    if not uses.transfers:
        return []
    moved = bytearray(size)
    for _, t, target, source in uses.transfers:
        n = t.size.value  # type: ignore[attr-defined]  # a constant, as `_transfer` asked
        start = target if target is not None else source
        assert start is not None
        moved[start : start + n] = b"\1" * n
    for a in accesses:
        moved[a.offset : a.offset + a.size] = bytes(a.size)
    cuts: list[SliceAccess] = []
    edges = {o for _, t, a, b in uses.transfers for o in _edges(t, a, b)}
    unit = size_of(type)
    members = fields(type) if unit and unit <= MAX_BYTES else ()
    for base in range(0, size, unit or size):
        for offset, leaf in members:
            lo, n = base + offset, store_size(leaf)
            if n and all(moved[lo : lo + n]) and not any(lo < e < lo + n for e in edges):
                cuts.append(SliceAccess(None, lo, n, leaf))
                moved[lo : lo + n] = bytes(n)
    at = 0
    while at < size:
        if not moved[at]:
            at += 1
            continue
        n = next(
            n for n in (8, 4, 2, 1)
            if at % n == 0 and at + n <= size and all(moved[at : at + n])
            and not any(at < e < at + n for e in edges)
        )
        cuts.append(SliceAccess(None, at, n, int_type(8 * n)))
        at += n
    return cuts


def _edges(t: Transfer, target: int | None, source: int | None) -> tuple[int, int]:
    start = target if target is not None else source
    assert start is not None
    return start, start + t.size.value  # type: ignore[attr-defined]


class _Rewrite:
    """Replaces the uses of one alloca by uses of its pieces."""

    def __init__(self, alloca: Instruction, uses: _Uses, pieces: list[AllocaSlice]) -> None:
        self.alloca, self.uses, self.pieces = alloca, uses, pieces
        self.align = alloca.aux[1] or align_of(alloca.aux[0])
        self.of_byte: dict[int, AllocaSlice] = {}
        for p in pieces:
            self.of_byte.update(dict.fromkeys(range(p.offset, p.offset + p.size), p))

    def check(self) -> None:
        """Raise _Whole where a copy begins or ends inside of a piece that gives no such part."""
        for _, t, target, source in self.uses.transfers:
            start = target if target is not None else source
            assert start is not None
            for p, lo, n in self._parts(start, t.size.value):  # type: ignore[attr-defined]
                if n != p.size and not p.gives(lo, n):
                    raise _Whole("a copy moves a part of a member")

    def run(self) -> None:
        for p in self.pieces:
            self._allocate(p)
        for a in self.uses.accesses:
            assert a.instruction is not None
            b = _builder(a.instruction)
            if is_aggregate(a.type):
                self._whole(b, a.instruction, a.type, a.offset)
                continue
            p = self.of_byte[a.offset]
            if a.instruction.form.name == "load":
                a.instruction.replace_with(p.read(b, a.offset, a.type))
            else:
                p.write(b, a.offset, a.instruction.operands[0])
                a.instruction.erase()
        for i, t, target, source in self.uses.transfers:
            self._move(_builder(i), t, target, source)
            i.erase()
        for i in reversed(self.uses.others):
            i.erase()
        self.alloca.erase()

    def _whole(self, b: Builder, i: Instruction, type: Type, start: int) -> None:
        """Take a load or store of a struct or an array apart into those of its scalars."""
        whole: Value = undef(type)
        load = i.form.name == "load"
        for leaf in leaves(type):
            at = start + leaf.offset
            p = self.of_byte[at]
            if load:
                whole = b.insert_value(whole, p.read(b, at, leaf.type), leaf.path)
            else:
                p.write(b, at, b.extract_value(i.operands[0], leaf.path))
        if load:
            i.replace_all_uses_with(whole)
        i.erase()

    def _parts(self, start: int, n: int) -> Iterator[tuple[AllocaSlice, int, int]]:
        """(piece, offset, bytes) of each part of a range."""
        at = start
        while at < start + n:
            p = self.of_byte[at]
            end = min(start + n, p.offset + p.size)
            yield p, at, end - at
            at = end

    def _allocate(self, p: AllocaSlice) -> None:
        align = min(self.align, p.offset & -p.offset) if p.offset else self.align
        type: Type = p.type or array(I8, p.size)
        count = self.alloca.operands[0]
        one = constant(count.type, 1)
        name = f"{self.alloca.name or 'alloca'}.{p.offset}"
        place = Instruction(
            nvvm_form("alloca"), (one,), self.alloca.type, name,
            (type, max(align, align_of(type))), self.alloca.loc,
        )
        place.insert_before(self.alloca)
        p.place = place

    def _move(self, b: Builder, t: Transfer, target: int | None, source: int | None) -> None:
        start = target if target is not None else source
        other = t.source if target is not None else t.target
        other_align = t.source_align if target is not None else t.target_align
        assert start is not None
        for p, lo, n in self._parts(start, t.size.value):  # type: ignore[attr-defined]
            type = p.type if n == p.size and p.whole_bytes else int_type(8 * n)
            assert type is not None
            if t.fill is not None:
                assert isinstance(t.fill, Constant)
                byte = t.fill.value & 0xFF
                p.write(b, lo, _number(int.from_bytes(bytes([byte]) * n, "little"), 8 * n))
                continue
            assert other is not None
            distance = lo - start
            align = min(other_align, distance & -distance) if distance else other_align
            place = b.gep(other, [constant(I64, distance)], I8) if distance else other
            if target is not None:
                p.write(b, lo, b.load(place, type, align=align))
            else:
                b.store(p.read(b, lo, type), place, align=align)


def _builder(before: Instruction) -> Builder:
    assert before.block is not None
    b = Builder(before.block, before)
    b.loc = before.loc
    return b


def _number(value: int, bits: int) -> Constant:
    sign = 1 << (bits - 1)
    return constant(int_type(bits), (value ^ sign) - sign)
