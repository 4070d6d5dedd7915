"""Neighbouring loads, and neighbouring stores, of one block become vector accesses.

    %x = load float, ptr %p, align 8            %v = load <2 x float>, ptr %p, align 8
    %q = getelementptr i8, ptr %p, i64 4   ==>  %x = extractelement <2 x float> %v, i32 0
    %y = load float, ptr %q                     %y = extractelement <2 x float> %v, i32 1

Method   An address is a root, the indices that are not constant with their sizes, and a constant
         offset. Loads of one type whose addresses differ in the offset alone are gathered until
         something may write; stores to such addresses until anything else touches memory. Runs
         of four or two that fill an access aligned to its size are merged: loads where the first of
         them stands, stores where the last does.
Needs    SSA; gep and load alignments as they are.
Keeps    blocks and edges. The bytes that are read and written, no more and no fewer.
         Volatile and atomic accesses.
Leaves   dead geps.
         Vectors of bytes that are only moved and combined bit by bit are words (word_vectors.py).
Skips    i1 and odd widths, pointers, vectors; runs whose alignment nothing proves.
Cost     One visit an instruction; sorting each run.
Source   LLVM's LoadStoreVectorizer.
"""

from __future__ import annotations

from typing import Any

import attrs

from nvir.analysis.addresses import split_indices
from nvir.analysis.callees import intrinsic
from nvir.analysis.promises import alignment
from nvir.ir import Block, CallInfo, Function, Instruction, Value, constant, nvvm_form, undef
from nvir.ir.layout import align_of, size_of
from nvir.ir.types import I8, I32, I64, FloatType, IntType, Type, vector
from nvir.passes.context import Context
from nvir.passes.remarks import passed
from nvir.passes.select.word_vectors import rewrite_bits

MERGED = passed("Merged", "{loads} loads and {stores} stores joined neighbours in vector accesses")
CODES = (MERGED,)

MAX_BYTES = 16
_LOAD, _STORE = nvvm_form("load"), nvvm_form("store")
MAX_CHAIN = 8  # geps above each other that are looked through

Key = tuple[Any, ...]


@attrs.define
class Neighbour:
    """A load or store: its place in the block's order of accesses, offset, and alignment."""

    instruction: Instruction
    offset: int
    align: int


def run(function: Function, ctx: Context) -> bool:
    loads = stores = words = 0
    for block in function.blocks:
        words += rewrite_bits(block)
        found = _gather(block)
        for t, run_ in found:
            for group in _runs(t, run_):
                if group[0].instruction.form.name == "load":
                    _merge_loads(t, group)
                    loads += len(group)
                else:
                    _merge_stores(t, group)
                    stores += len(group)
    if loads + stores == 0:
        return bool(words)
    ctx.remark(MERGED, loads=loads, stores=stores)
    ctx.count("merged", loads + stores)
    return True


# ------------------------------------------------------------------ addresses


def _address(pointer: Value) -> tuple[Key, int]:
    """(root and indices, constant offset) of a pointer."""
    terms: list[tuple[Value, int]] = []
    offset = 0
    v = pointer
    for _ in range(MAX_CHAIN):
        if not isinstance(v, Instruction) or v.form.name != "getelementptr":
            break
        parts = split_indices(v)
        if parts is None:
            break
        offset += parts[0]
        terms.extend(parts[1])
        v = v.operands[0]
    if len(terms) > 1:
        terms.sort(key=lambda term: (id(term[0]), term[1]))
    return (v, tuple(terms)), offset


# ------------------------------------------------------------------ gathering


def _is_simple(t: Type) -> bool:
    return isinstance(t, (IntType, FloatType)) and t.bits in (8, 16, 32, 64)


def _gather(block: Block) -> list[tuple[Type, list[Neighbour]]]:
    """Accesses of one type and key between which nothing stands in the way."""
    done: list[tuple[Type, list[Neighbour]]] = []
    loads: dict[Key, dict[Instruction, int]] = {}
    stores: dict[Key, dict[Instruction, int]] = {}

    def flush(group: dict[Key, dict[Instruction, int]]) -> None:
        for key, accesses in group.items():
            if len(accesses) > 1:
                done.append((key[-1], _neighbours(key, accesses)))
        group.clear()

    for i in _touching(block):
        store = i.form is _STORE
        t = i.operands[0].type if store else i.type
        if (store or i.form is _LOAD) and _is_simple(t):
            pointer = i.operands[-1]
            place, offset = _address(pointer)
            key = (*place, pointer.type, t)
            if not store:
                flush(stores)
                loads.setdefault(key, {})[i] = offset
            else:
                flush(loads)
                if key not in stores or offset in stores[key].values():
                    flush(stores)
                stores.setdefault(key, {})[i] = offset
        elif _touches_memory(i):
            flush(stores)
            if _may_write(i):
                flush(loads)
    flush(loads)
    flush(stores)
    return done


def _touching(block: Block) -> list[Instruction]:
    """What may touch memory in a block; nothing where there are no two accesses to merge."""
    found = []
    accesses = 0
    i = block.first
    while i is not None:
        f = i.form
        if f.reads or f.writes or f.sync or f.is_call or f.volatile:
            found.append(i)
            accesses += f is _LOAD or f is _STORE
        i = i.next
    return found if accesses > 1 else []


def _neighbours(key: Key, accesses: dict[Instruction, int]) -> list[Neighbour]:
    root, terms, _, t = key
    steps = [alignment(root), *(n for _, n in terms)]
    promised = min(n & -n for n in steps if n)
    return [
        Neighbour(i, offset, max(
            i.aux or align_of(t), min(promised, offset & -offset) if offset else promised
        ))
        for i, offset in accesses.items()
    ]


def _touches_memory(i: Instruction) -> bool:
    f = i.form
    return not _is_pure_call(i) and (f.reads or f.writes or f.sync or f.is_call or f.volatile)


def _may_write(i: Instruction) -> bool:
    f = i.form
    return f.writes or f.sync or f.is_call or f.volatile or "atomic" in f.mods


def _is_pure_call(i: Instruction) -> bool:
    """A call of an intrinsic that touches no memory, or whose callee says that it touches none."""
    if not isinstance(i.aux, CallInfo) or not isinstance(i.aux.callee, Function):
        return False
    row = intrinsic(i)
    if row is not None:
        return not row.touches_memory
    callee = i.aux.callee
    attributes = callee.aux.get("attributes", ()) if isinstance(callee.aux, dict) else ()
    return "readnone" in attributes or ("memory", "none") in attributes


# -------------------------------------------------------------------- merging


def _runs(t: Type, accesses: list[Neighbour]) -> list[list[Neighbour]]:
    """Groups of four or two neighbours in the order of their offsets, aligned as a whole."""
    size = size_of(t)
    by_offset: dict[int, Neighbour] = {}
    for a in accesses:
        by_offset.setdefault(a.offset, a)
    out: list[list[Neighbour]] = []
    ordered = sorted(by_offset)
    # where accesses that are so far aligned lie within that
    proven = {n * size: {a.offset % (n * size) for a in accesses if a.align >= n * size}
              for n in (4, 2)}
    k = 0
    while k < len(ordered):
        taken = 1
        for n in (4, 2):
            wanted = range(ordered[k], ordered[k] + n * size, size)
            if n * size <= MAX_BYTES and all(o in by_offset for o in wanted) \
                    and ordered[k] % (n * size) in proven[n * size]:
                out.append([by_offset[o] for o in wanted])
                taken = n
                break
        # Offsets between are of accesses that overlap, which no type of this size does.
        last = out[-1][-1].offset if taken > 1 else ordered[k]
        while k < len(ordered) and ordered[k] <= last:
            k += 1
    return out


def _first_pointer(group: list[Neighbour], at: Instruction, offset: int) -> Value:
    """The address of the group's first element, at hand before the instruction `at`."""
    lead = group[0].instruction
    if lead is at:
        return lead.operands[-1]
    pointer = at.operands[-1]
    distance = constant(I64, group[0].offset - offset)
    gep = Instruction(nvvm_form("getelementptr"), (pointer, distance), pointer.type, None, I8)
    gep.loc = at.loc
    gep.insert_before(at)
    return gep


def _in_order(group: list[Neighbour]) -> list[Neighbour]:
    """The accesses in the order of their block."""
    wanted = {a.instruction: a for a in group}
    block = group[0].instruction.block
    assert block is not None
    return [wanted[i] for i in block if i in wanted]


def _merge_loads(t: Type, group: list[Neighbour]) -> None:
    first = _in_order(group)[0]
    at = first.instruction
    whole = vector(t, len(group))
    align = size_of(t) * len(group)
    pointer = _first_pointer(group, at, first.offset)
    load = Instruction(nvvm_form("load"), (pointer,), whole, None, align, at.loc)
    load.insert_before(at)
    after = load
    for k, a in enumerate(group):
        element = Instruction(
            nvvm_form("extractelement"), (load, constant(I32, k)), t, a.instruction.name, None,
            a.instruction.loc,
        )
        element.insert_after(after)
        after = element
        a.instruction.replace_with(element)


def _merge_stores(t: Type, group: list[Neighbour]) -> None:
    last = _in_order(group)[-1]
    at = last.instruction
    whole = vector(t, len(group))
    value: Value = undef(whole)
    for k, a in enumerate(group):
        insert = Instruction(
            nvvm_form("insertelement"), (value, a.instruction.operands[0], constant(I32, k)),
            whole, None, None, a.instruction.loc,
        )
        insert.insert_before(at)
        value = insert
    pointer = _first_pointer(group, at, last.offset)
    align = size_of(t) * len(group)
    store = Instruction(nvvm_form("store"), (value, pointer), aux=align, loc=at.loc)
    store.insert_before(at)
    for a in group:
        a.instruction.erase()

