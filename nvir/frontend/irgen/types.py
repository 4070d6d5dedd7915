"""Types of the tree as types of `nvvm`, by a worklist to a fixed point.

A record becomes a named struct at once, opaque; its body waits in the worklist until every
record that it holds by value has one. Rounds repeat until none changes, so records may name
each other through pointers in any order; one that never gets a body is incomplete.

A value and its place in memory may differ: bool is i1 as a value, i8 in memory.

Layout   The struct has an element for each field where LLVM's layout puts it at C's offset, bytes
         of padding where not, and is packed where an element would be misaligned. A run of
         bit-fields is covered by integers no wider than their declared types. A union is its
         most aligned member and bytes up to its size.
Cost     each record once; a round visits what still waits.
"""

from __future__ import annotations

import attrs

from nvir.frontend import tree
from nvir.frontend.tree.layout import align_of, layout, size_of
from nvir.ir import layout as ir_layout
from nvir.ir import types as ty
from nvir.ir.errors import NvirError, Unsupported

_FLOATS = {"_Float16": ty.HALF, "__bf16": ty.BFLOAT, "float": ty.FLOAT, "double": ty.DOUBLE}


@attrs.define(eq=False)
class RecordInfo:
    """A record's struct. `elements[k]` is the element of field k, None for bit-fields (and all
    members of a union); `runs` are the bytes, (start, end), that runs of bit-fields may touch."""

    record: tree.Record
    type: ty.StructType
    elements: list[int | None] = attrs.Factory(list)
    runs: list[tuple[int, int]] = attrs.Factory(list)


class Types:
    """The types of one module."""

    def __init__(self) -> None:
        self.records: dict[tree.Record, RecordInfo] = {}
        self.waiting: list[RecordInfo] = []
        self.labels: set[str] = set()
        self.rounds = 0  # of the fixed point, for dumps and tests

    # ------------------------------------------------------------ translation

    def memory(self, t: tree.CType) -> ty.Type:
        """The type of an object in memory."""
        made = self._memory(t)
        if self.waiting:
            self.resolve()
        return made

    def value(self, t: tree.CType) -> ty.Type:
        """The type of a value: i1 for bool, else as in memory."""
        s = tree.underlying(t)
        if isinstance(s, tree.Arithmetic) and s.kind == "bool":
            return ty.I1
        return self.memory(s)

    def _memory(self, t: tree.CType) -> ty.Type:
        s = tree.underlying(t)
        if isinstance(s, tree.Arithmetic):
            return _FLOATS[s.name] if s.kind == "float" else ty.int_type(s.bits)
        if isinstance(s, tree.Pointer):
            return ty.pointer(tree.SPACES[s.space])
        if isinstance(s, tree.Reference | tree.FunctionType):
            return ty.pointer()
        if isinstance(s, tree.Array):
            return ty.array(self._memory(s.element), s.count or 0)
        if isinstance(s, tree.Vector):
            return ty.vector(self._memory(s.element), s.count)
        if isinstance(s, tree.Record):
            return self.record(s).type
        if isinstance(s, tree.Void):
            return ty.I8  # what `void *` steps over
        raise Unsupported(f"the type '{tree.spell(t)}'")

    # ---------------------------------------------------------------- records

    def record(self, r: tree.Record) -> RecordInfo:
        """What stands for a record; its body follows when the worklist is done."""
        info = self.records.get(r)
        if info is None:
            label = f"{r.kind}.{r.name or 'anon'}"
            unique, n = label, 0
            while unique in self.labels:
                n += 1
                unique = f"{label}.{n}"
            self.labels.add(unique)
            info = self.records[r] = RecordInfo(r, ty.named_struct(unique))
            self.waiting.append(info)
        return info

    def resolve(self) -> None:
        """Rounds over the worklist until none changes it."""
        changed = True
        while changed and self.waiting:
            changed = False
            self.rounds += 1
            pending, self.waiting = self.waiting, []
            for info in pending:
                if info.record.fields is not None and self._parts_ready(info.record):
                    self._complete(info)
                    changed = True
                else:
                    self.waiting.append(info)
            changed = changed or len(self.waiting) > len(pending)
        stuck = [i.record for i in self.waiting if i.record.fields is not None]
        if stuck:
            raise NvirError(f"'{tree.spell(stuck[0])}' holds an incomplete type")

    def _parts_ready(self, r: tree.Record) -> bool:
        """Whether all records that it holds by value have bodies; those not seen yet are asked
        for, so the next round knows them."""
        ready = True
        for f in r.fields or ():
            s = tree.strip(f.type)
            while isinstance(s, tree.Array):
                s = tree.strip(s.element)
            if isinstance(s, tree.Record):
                ready = self.record(s).type.elements is not None and ready
        return ready

    def _complete(self, info: RecordInfo) -> None:
        if info.record.kind == "union":
            self._complete_union(info)
        else:
            _Body(self, info).build()

    def _complete_union(self, info: RecordInfo) -> None:
        made = layout(info.record)
        fields = [f for f in info.record.fields or () if f.bits is None]
        info.elements = [None] * len(info.record.fields or ())
        info.runs = [(0, made.size)]
        if not fields:
            info.type.set_body((ty.array(ty.I8, made.size),))
            return
        widest = max(fields, key=lambda f: (align_of(f.type), size_of(f.type)))
        storage = self._memory(widest.type)
        if _data(storage) < ir_layout.size_of(storage):  # its padding is data of the others
            unit = ir_layout.align_of(storage)
            storage = ty.array(ty.int_type(8 * unit), ir_layout.size_of(storage) // unit)
        rest = made.size - ir_layout.size_of(storage)
        info.type.set_body((storage, ty.array(ty.I8, rest)) if rest else (storage,))


def _data(t: ty.Type) -> int:
    """Bytes of a value in memory, less those of padding."""
    if isinstance(t, ty.ArrayType):
        return t.count * _data(t.element)
    if isinstance(t, ty.StructType):
        return sum(map(_data, t.elements or ()))
    return ir_layout.store_size(t)


class _Body:
    """Builds the struct of one record, byte by byte from its layout."""

    def __init__(self, types: Types, info: RecordInfo) -> None:
        self.types, self.info = types, info
        self.layout = layout(info.record)
        self.fields = info.record.fields or ()
        self.items: list[tuple[int, ty.Type]] = []  # (byte offset, type)

    def build(self) -> None:
        self.info.elements = [None] * len(self.fields)
        places: dict[int, int] = {}
        k = 0
        while k < len(self.fields):
            if self.fields[k].bits is not None:
                k = self.bit_run(k)
                continue
            places[k] = len(self.items)
            at = self.layout.offsets[k] // 8
            self.items.append((at, self.types._memory(self.fields[k].type)))
            k += 1
        natural = self.body(packed=False)
        body, numbers = natural if natural is not None else self.packed()
        self.info.type.set_body(body, packed=natural is None)
        for field, item in places.items():
            self.info.elements[field] = numbers[item]

    def packed(self) -> tuple[tuple[ty.Type, ...], list[int]]:
        made = self.body(packed=True)
        if made is None:  # fields that overlap, as only a reader could say
            record = self.info.record
            raise Unsupported(f"the layout of '{tree.spell(record)}'", where=str(record.place))
        return made

    def bit_run(self, first: int) -> int:
        """Cover the bit-fields from `first` on; the number of the field behind them."""
        last = first
        while last < len(self.fields) and self.fields[last].bits is not None:
            last += 1
        used = [(self.layout.offsets[k], self.fields[k]) for k in range(first, last)]
        used = [(o, f) for o, f in used if f.bits]
        if used:
            start = min(o for o, _ in used) // 8
            end = (max(o + (f.bits or 0) for o, f in used) + 7) // 8
            limit = self.layout.offsets[last] // 8 if last < len(self.fields) else self.layout.size
            self.info.runs.append((start, max(limit, end)))
            self.cover(start, end, max(limit, end), [f for _, f in used])
        return last

    def cover(self, start: int, end: int, limit: int, fields: list[tree.Field]) -> None:
        widest = max(size_of(f.type) for f in fields)
        at = start
        while at < end:
            n = min(widest, 8)
            while n > 1 and (at % n or at + n > limit):
                n //= 2
            self.items.append((at, ty.int_type(8 * n)))
            at += n

    def body(self, packed: bool) -> tuple[tuple[ty.Type, ...], list[int]] | None:
        """The elements with padding, and the number of each item; None if it cannot be."""
        out: list[ty.Type] = []
        numbers: list[int] = []
        at = 0
        for offset, t in self.items:
            align = 1 if packed else ir_layout.align_of(t)
            if ir_layout.align_up(at, align) != offset:
                if offset < at or offset % align:
                    return None
                out.append(ty.array(ty.I8, offset - at))
            numbers.append(len(out))
            out.append(t)
            at = offset + ir_layout.size_of(t)
        widest = 1 if packed else max((ir_layout.align_of(t) for t in out), default=1)
        if at > self.layout.size or self.layout.size % widest:
            return None
        if ir_layout.align_up(at, widest) != self.layout.size:
            out.append(ty.array(ty.I8, self.layout.size - at))
        return tuple(out), numbers
