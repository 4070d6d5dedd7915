"""Atomic operations on 8 and 16 bits, which libnvvm lacks, on the word that they lie in.

    %old = atomicrmw add ptr %p, i8 %v
        ==>
    %word = (%p & ~3), %shift = (%p & 3) * 8
    do { seen = *word; new = seen with (seen >> shift) + v in its place }
    while (cmpxchg(word, seen, new) fails)

An exchange that compares ends where the narrow value is another. And, or, xor are one operation.

Source   LLVM's AtomicExpand does the same for targets with words alone.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from nvir.ir import I1, I32, I64, Block, Instruction, Type, Value, constant, undef
from nvir.ir.nvvm import Builder


@attrs.frozen
class Part:
    """Where a narrow value lies: its word, the shift, the bits of the word that are others'."""

    word: Value
    shift: Value
    others: Value
    type: Type

    @classmethod
    def of(cls, b: Builder, p: Value, t: Type) -> Part:
        address = b.ptrtoint(p, I64)
        word = b.inttoptr(b.and_(address, -4), p.type)
        shift = b.mul(b.trunc(b.and_(address, 3), I32), 8)
        return cls(word, shift, b.not_(b.shl(constant(I32, (1 << t.bits) - 1), shift)), t)

    def get(self, b: Builder, word: Value) -> Value:
        return b.trunc(b.lshr(word, self.shift), self.type)

    def put(self, b: Builder, word: Value, value: Value) -> Value:
        return b.or_(b.and_(word, self.others), b.shl(b.zext(value, I32), self.shift))


def on_word(i: Instruction, operation: str) -> None:
    """Rewrite an atomic and, or or xor as one of its word: it leaves others' bits as they are."""
    (p, v), (ordering, scope, _), b = i.operands, i.aux, Builder.ahead_of(i)
    part = Part.of(b, p, v.type)
    moved = b.shl(b.zext(v, I32), part.shift)
    moved = b.or_(moved, part.others) if operation == "and" else moved
    old = b.atomic_rmw(operation, part.word, moved, ordering, "", scope, 4)
    i.replace_with(part.get(b, old))


def narrow(i: Instruction, split: Callable[[Block, Instruction], Block],
           compute: Callable[[Builder, Value, Value], Value] | None, failure: str) -> None:
    """Rewrite an atomicrmw by `compute`, or a cmpxchg (None), as a loop over its word."""
    p, *values = i.operands
    t = values[0].type
    ordering, scope = i.aux[0], i.aux[-2]
    block, behind = i.block, i.next
    assert block is not None
    assert behind is not None  # a terminator at the latest
    function = block.function
    after = split(block, behind)
    loop = function.block("atomic.loop", after=block)
    jump = block.terminator
    assert jump is not None
    jump.set_successor(after, loop)
    b = Builder(block, jump)
    part = Part.of(b, p, t)
    first = b.load(part.word, I32, align=4, volatile=True)
    b = Builder(loop)
    seen = b.phi(I32)
    seen.add(first, block)
    old = part.get(b, seen)
    attempt, at = loop, b
    if compute is None:
        attempt = function.block("atomic.try", after=loop)
        b.cbranch(b.icmp_unsigned("==", old, values[0]), attempt, after)
        at = Builder(attempt)
    new = values[1] if compute is None else compute(b, old, values[0])
    exchanged = at.cmpxchg(part.word, seen, part.put(at, seen, new), ordering, failure, "", scope)
    done = at.extract_value(exchanged, 1)
    seen.add(at.extract_value(exchanged, 0), attempt)
    at.cbranch(done, after, loop)
    if compute is not None:
        i.replace_with(old)
    else:
        _pair(i, after, old, loop, attempt)
    function.cfg_changed()


def _pair(i: Instruction, after: Block, old: Value, loop: Block, attempt: Block) -> None:
    """The old value, and whether the exchange was made: it was where the try ended the loop."""
    b = Builder(after, after.first)
    made = b.phi(I1)
    made.add(constant(I1, 0), loop)
    made.add(constant(I1, 1), attempt)
    b = Builder(after, after.first_non_phi)
    whole = b.insert_value(undef(i.type), old, 0)
    i.replace_with(b.insert_value(whole, made, 1))
