"""Which values are live where blocks begin and end.

A value is live at a point when some path from there reaches a use of it. Uses
of a phi happen at the end of its predecessors, and its result is made at the
very start of its block: so the operand is live out of the predecessor, and the
result is not live in.

           a = ld ..          live out: {a, n}
    L:     x = phi [a, entry], [y, L]
           y = add x, 1       live in {n}, live out {y, n}
           @p bra L           (x is not live in: it is made here)

Method   Only values that cross blocks are numbered; most have one use, next to
         their definition, and are dismissed by one look at it. Live sets are
         Python ints with a bit for each such value. Backward data flow by a
         worklist over post-order, which settles in two or three rounds for
         reducible code.
         `live_blocks` answers for one value instead, by walking back from its
         uses (Boissinot et al., "Computing Liveness Sets for SSA-Form
         Programs", 2011): cheaper when few values are asked about.
Cost     One visit for each value and each crossing use, and one operation on
         ints for each edge and round.
"""

from __future__ import annotations

from collections.abc import Iterator

from nvir.ir.block import Block
from nvir.ir.cfg import successors
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.types import VOID
from nvir.ir.values import Argument, Value


class Liveness:
    """The live sets of a function, as they were when it was made.

    values      the values that cross blocks; their places are the bit numbers
    index       value → its bit number
    live_in     block → bit set of what is live before its first instruction
                and made elsewhere (results of its phis excluded)
    live_out    block → bit set of what is live behind its terminator, operands
                of its successors' phis for this edge included
    """

    __slots__ = ("function", "index", "live_in", "live_out", "values")

    def __init__(self, function: Function) -> None:
        self.function = function
        self.values: list[Value] = []
        self.index: dict[Value, int] = {}
        self.live_in: dict[Block, int] = {}
        self.live_out: dict[Block, int] = {}

    def live_in_values(self, block: Block) -> list[Value]:
        """What is live into the block, in the order of definition."""
        return [self.values[k] for k in _bits(self.live_in[block])]

    def live_out_values(self, block: Block) -> list[Value]:
        """What is live out of the block, in the order of definition."""
        return [self.values[k] for k in _bits(self.live_out[block])]

    def is_live_in(self, value: Value, block: Block) -> bool:
        k = self.index.get(value)
        return k is not None and bool(self.live_in[block] >> k & 1)

    def is_live_out(self, value: Value, block: Block) -> bool:
        k = self.index.get(value)
        return k is not None and bool(self.live_out[block] >> k & 1)

    def backwards(self, block: Block) -> Iterator[tuple[Instruction, set[Value]]]:
        """Each instruction from the last to the first non-phi, with what is live behind it.

        The set is one object that changes from step to step; copy it to keep it. After
        the last step, and the results of phis added, it is what lives at the block's start.
        """
        live = set(self.live_out_values(block))
        for i in reversed(block):
            if i.form.is_phi:
                return
            yield i, live
            live.difference_update(i.results)
            live.update(v for v in i._operands if v.is_tracked)


def liveness(function: Function) -> Liveness:
    """Live-in and live-out sets of every block, unreachable ones included."""
    blocks = function.blocks
    result = Liveness(function)
    number = {b: k for k, b in enumerate(blocks)}
    gen = [0] * len(blocks)
    out = [0] * len(blocks)
    kill = [0] * len(blocks)
    values = result.values
    for v, home in _definitions(function):
        u = v._uses
        if u.__class__ is not dict:
            if u is None or (u.block is home and not u.form.is_phi):
                continue
            u = (u,)
        elif not any(i.block is not home or i.form.is_phi for i in u):
            continue
        bit = 1 << len(values)
        values.append(v)
        if home is not None:
            kill[number[home]] |= bit
        for i in u:
            if i.block is not home and not i.form.is_phi:
                gen[number[i.block]] |= bit
    result.index = index = {v: k for k, v in enumerate(values)}
    for b in blocks:
        for phi in b.phis:
            for operand, source in zip(phi._operands, phi.aux, strict=True):
                if operand in index:
                    out[number[source]] |= 1 << index[operand]
    live_in = _solve(blocks, number, gen, out, kill)
    result.live_in = dict(zip(blocks, live_in, strict=True))
    result.live_out = dict(zip(blocks, out, strict=True))
    return result


def _definitions(function: Function) -> Iterator[tuple[Value, Block | None]]:
    """Every value with the block that makes it (None: an argument)."""
    for a in (*function.params, *function.returns):
        if isinstance(a, Argument):
            yield a, None
    for b in function.blocks:
        i = b.first
        while i is not None:
            if i._results is not None:
                for r in i._results:
                    yield r, b
            elif i.type is not VOID:
                yield i, b
            i = i.next


def _solve(
    blocks: list[Block], number: dict[Block, int], gen: list[int], out: list[int], kill: list[int]
) -> list[int]:
    """Live-in sets at the least solution; `out` is raised to it in place.

    The worklist is a stack with the last block of post-order at the bottom, so
    that a block usually comes up after all of its successors.
    """
    preds: list[list[int]] = [[] for _ in blocks]
    for b, block in enumerate(blocks):
        for s in successors(block):
            preds[number[s]].append(b)
    live_in = [-1] * len(blocks)  # not visited
    work = _reverse_post_order(blocks, number)
    queued = [True] * len(blocks)
    while work:
        b = work.pop()
        queued[b] = False
        bits = gen[b] | (out[b] & ~kill[b])
        if bits == live_in[b]:
            continue
        live_in[b] = bits
        for p in preds[b]:
            if bits & ~out[p]:
                out[p] |= bits
                if not queued[p]:
                    queued[p] = True
                    work.append(p)
    return live_in


def _reverse_post_order(blocks: list[Block], number: dict[Block, int]) -> list[int]:
    """All block numbers, each part that is entered separately in reverse post-order."""
    seen = [False] * len(blocks)
    order: list[int] = []
    for root in range(len(blocks)):
        if seen[root]:
            continue
        seen[root] = True
        stack = [(root, iter(successors(blocks[root])))]
        while stack:
            b, targets = stack[-1]
            for t in targets:
                k = number[t]
                if not seen[k]:
                    seen[k] = True
                    stack.append((k, iter(successors(t))))
                    break
            else:
                order.append(b)
                stack.pop()
    order.reverse()
    return order


def live_blocks(value: Value, home: Block | None, preds: dict[Block, list[Block]]) -> set[Block]:
    """The blocks that one value is live out of; `home` is where it is made (None: an argument).

    Operands of phis are live out of the predecessor, as in `Liveness`. Costs a step for
    each block of the live range.
    """
    out: set[Block] = set()
    enters: list[Block] = []
    for i in value.users:
        if i.form.is_phi:
            for operand, source in i.incoming:
                if operand is value:
                    out.add(source)
                    if source is not home:
                        enters.append(source)
        elif i.block is not home and i.block is not None:
            enters.append(i.block)
    flood(enters, home, preds, out)
    return out


def flood(
    enters: list[Block], home: Block | None, preds: dict[Block, list[Block]], out: set[Block]
) -> None:
    """Add to `out` the blocks that a value made in `home` is live out of, because it is live
    into `enters` (which is used up)."""
    entered: set[Block] = set()
    while enters:
        b = enters.pop()
        if b in entered:
            continue
        entered.add(b)
        for p in preds[b]:
            out.add(p)
            if p is not home and p not in entered:
                enters.append(p)


def _bits(bits: int) -> list[int]:
    """The numbers of the set bits, ascending."""
    if bits.bit_count() * 16 < bits.bit_length():
        out = []
        while bits:
            low = bits & -bits
            out.append(low.bit_length() - 1)
            bits ^= low
        return out
    return [k for k, c in enumerate(reversed(bin(bits))) if c == "1"]


__all__ = ["Liveness", "flood", "live_blocks", "liveness"]
