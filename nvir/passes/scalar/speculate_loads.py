"""A load from one of several addresses becomes one of several loaded values.

    a:                                               a:  %x.0 = load float, ptr %x.addr
      br label %c                                        br label %c
    b:                                               b:  %x.1 = load float, ptr %q
      br label %c                              ==>       br label %c
    c: %p = phi ptr [%x.addr, %a], [%q, %b]          c:  %x = phi float [%x.0, %a], [%x.1, %b]
       %x = load float, ptr %p

C++ passes by reference what it compares: `max(x, y)` gives the address of one of its arguments, as
does `c ? s.w : w[i]`. A variable whose address is chosen stays in memory; one that is loaded does
not.

Method   Each phi and select of addresses, one of which is a variable's, whose uses are loads at
         constant distances. Loads of a phi go to the ends of the predecessors, those of a select
         stay. Where a load did not run before, the address must be good for it: in a variable, or
         accessed in front of it in its block.
Needs    SSA.
Keeps    blocks and edges. Volatile and atomic loads; loads of a phi that another block has, or that
         stand behind what may write; addresses that come round a loop.
Leaves   the variables to sroa and mem2reg.
Cost     Linear in the phis and selects of addresses, times their loads.
Source   LLVM's SROA, "speculating PHIs and selects".
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from nvir.analysis.addresses import constant_offset
from nvir.analysis.callees import may_write, only_describes
from nvir.analysis.promises import promise
from nvir.ir import Function, Instruction, OpKind, Unsupported, Variable
from nvir.ir.block import Block
from nvir.ir.layout import align_of, size_of, store_size
from nvir.ir.nvvm import Builder
from nvir.ir.types import I8, I64, PointerType
from nvir.ir.values import Constant, Value, constant
from nvir.passes.context import Context
from nvir.passes.remarks import passed

CHOSEN = passed("LoadsChosen", "{loads} loads from one of several addresses load each of them")
CODES = (CHOSEN,)

MAX_SCAN = 32  # instructions in front of a load where an access shows that its address is good
MAX_CHOICES = 4  # choices among choices that are followed


@attrs.frozen
class _Read:
    """A load and its distance in bytes from the chosen address."""

    load: Instruction
    offset: int

    @property
    def size(self) -> int:
        return store_size(self.load.type)

    @property
    def align(self) -> int:
        return int(self.load.aux or align_of(self.load.type))


def run(function: Function, ctx: Context) -> bool:
    loads = 0
    work = [i for i in function.instructions() if _is_choice(i)]
    while work:
        choice = work.pop()
        if choice.block is None:
            continue
        inner = [v for v in _addresses(choice) if _is_choice(v)]
        made = _rewrite(choice)
        loads += made
        if made:
            work += [v for v in inner if isinstance(v, Instruction)]
    if loads:
        ctx.count("loads", loads)
        ctx.remark(CHOSEN, None, loads=loads)
    return loads > 0


def _is_choice(v: Value) -> bool:
    return (v.__class__ is Instruction and v.type.__class__ is PointerType
            and (v.form.is_phi or v.form.kind is OpKind.SELECT))


def _addresses(choice: Instruction) -> tuple[Value, ...]:
    return choice.operands if choice.form.is_phi else choice.operands[1:]


def _rewrite(choice: Instruction) -> int:
    """Load from each address of a choice; how many loads there were, 0 where they stay."""
    if not any(_variable(v) for v in _addresses(choice)):
        return 0
    reads, between = _reads(choice)
    if not reads:
        return 0
    rewrite = _phi if choice.form.is_phi else _select
    if not rewrite(choice, reads):
        return 0
    for r in reads:
        r.load.erase()
    for gep in reversed(between):
        gep.erase()
    choice.erase()
    return len(reads)


def _reads(choice: Instruction) -> tuple[list[_Read], list[Instruction]]:
    """All loads from an address, and the geps to them; nothing where it is used otherwise."""
    reads: list[_Read] = []
    between: list[Instruction] = []
    at: dict[Value, int] = {choice: 0}
    work = [choice]
    while work:
        pointer = work.pop()
        for user in pointer.users:
            plain = not user.form.volatile and "atomic" not in user.form.mods
            if user.form.kind is OpKind.LOAD and plain and store_size(user.type):
                reads.append(_Read(user, at[pointer]))
            elif user.form.kind is OpKind.ADDRESS and (n := constant_offset(user)) is not None:
                at[user] = at[pointer] + n
                between.append(user)
                work.append(user)
            else:
                return [], []
    return reads, between


# ------------------------------------------------------------------ the two kinds


def _phi(phi: Instruction, reads: list[_Read]) -> bool:
    block = phi.block
    assert block is not None
    if not {r.load for r in reads} <= set(_loads_at_the_head(block)):
        return False
    edges = dict(zip(phi.aux, phi.operands, strict=True))
    aligns: dict[tuple[Block, _Read], int] = {}
    for b, v in edges.items():
        end = b.terminator
        assert end is not None
        if block.dominates(b):
            return False
        for r in reads:
            n = r.align if len(end.aux) == 1 else _alignment(v, r, end)
            if n is None:
                return False
            aligns[b, r] = n
    for r in reads:
        merged = Builder(block).phi(r.load.type, r.load.name or "")
        merged.loc = r.load.loc
        for b in phi.aux:
            known = next((v for v, p in merged.incoming if p is b), None)
            end = b.terminator
            merged.add(known or _load(end, edges[b], r, aligns[b, r]), b)
        r.load.replace_all_uses_with(merged)
    return True


def _loads_at_the_head(block: Block) -> Iterator[Instruction]:
    """The loads of a block in front of what may write, and of those that alone follow it."""
    while True:
        for i in block:
            if i.form.kind is OpKind.LOAD:
                yield i
            elif not only_describes(i) and may_write(i):
                return
        if len(block.succs) != 1 or len(block.succs[0].preds) != 1:
            return
        block = block.succs[0]


def _select(select: Instruction, reads: list[_Read]) -> bool:
    condition, *addresses = select.operands
    aligns = {(r, v): _alignment(v, r, r.load) for r in reads for v in addresses}
    if None in aligns.values():
        return False
    for r in reads:
        a, b = (_load(r.load, v, r, aligns[r, v] or 1) for v in addresses)
        r.load.replace_all_uses_with(_before(r.load).select(condition, a, b, r.load.name or ""))
    return True


def _load(before: Instruction | None, address: Value, r: _Read, align: int) -> Instruction:
    assert before is not None
    b = _before(before)
    b.loc = r.load.loc
    place = b.gep(address, [constant(I64, r.offset)], I8) if r.offset else address
    return b.load(place, r.load.type, align=min(align, r.align))


def _before(i: Instruction) -> Builder:
    assert i.block is not None
    b = Builder(i.block, i)
    b.loc = i.loc
    return b


# ------------------------------------------------------------------ good addresses


def _place(address: Value) -> tuple[Value, int]:
    """What an address is at a constant distance of."""
    offset = 0
    while isinstance(address, Instruction) and address.form.kind in (OpKind.ADDRESS, OpKind.COPY):
        n = constant_offset(address) if address.form.kind is OpKind.ADDRESS else 0
        if n is None:
            break
        address, offset = address.operands[0], offset + n
    return address, offset


def _variable(address: Value, depth: int = MAX_CHOICES) -> bool:
    """Whether an address can be that of a variable of the function."""
    base, _ = _place(address)
    if not isinstance(base, Instruction):
        return promise(base, "byval") is not None
    if _is_choice(base) and depth:
        return any(_variable(v, depth - 1) for v in _addresses(base))
    return base.form.name == "alloca"


def _alignment(address: Value, r: _Read, before: Instruction) -> int | None:
    """What is known of the alignment of a load from an address in front of an instruction; None
    where it might not be good to load from."""
    return _of_variable(address, r) or _accessed(address, r, before)


def _of_variable(address: Value, r: _Read, depth: int = MAX_CHOICES) -> int | None:
    base, offset = _place(address)
    offset += r.offset
    try:
        if (passed := promise(base, "byval")) is not None:
            size, align = size_of(passed), promise(base, "align") or align_of(passed)
        elif isinstance(base, Variable) and base.linkage != "extern":
            size, align = size_of(base.value_type), base.align or 1
        elif isinstance(base, Instruction) and base.form.name == "alloca":
            count = base.operands[0]
            if not isinstance(count, Constant) or not isinstance(count.value, int):
                return None
            size, align = count.value * size_of(base.aux[0]), base.aux[1] or align_of(base.aux[0])
        elif isinstance(base, Instruction) and _is_choice(base) and depth:
            moved = attrs.evolve(r, offset=offset)
            each = [_of_variable(v, moved, depth - 1) for v in _addresses(base)]
            return None if None in each else min(n for n in each if n is not None)
        else:
            return None
    except Unsupported:
        return None
    if not 0 <= offset <= size - r.size:
        return None
    return min(align, offset & -offset) if offset else align


def _accessed(address: Value, r: _Read, before: Instruction) -> int | None:
    """The alignment of an access of the same bytes, in front in the block."""
    wanted = _place(address)
    i = before.prev
    for _ in range(MAX_SCAN):
        if i is None or (i.form.is_call and not only_describes(i)):
            return None
        if i.form.kind in (OpKind.LOAD, OpKind.STORE):
            base, offset = _place(i.operands[-1])
            type = i.type if i.form.kind is OpKind.LOAD else i.operands[0].type
            same = (base, offset) == (wanted[0], wanted[1] + r.offset)
            if same and store_size(type) >= r.size and isinstance(i.aux, int):
                return i.aux or align_of(type)
        i = i.prev
    return None
