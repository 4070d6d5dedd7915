"""Blocks that the assembler makes one: short branches over straight code become guarded code.

A region is a block and what follows it alone, as far as that is no loop's end; a branch over a few
operations, or two such sides, is within it. An operation with a slow path is never guarded.

Cost    constant a block.
"""

from __future__ import annotations

from nvir.assembler.regalloc.facts import facts_of
from nvir.assembler.regalloc.tables import PREDICATED, PREDICATED_PLAIN
from nvir.ir.block import Block


def chain(block: Block, unrolled: bool = False) -> list[Block]:
    """The blocks that become one with `block`, itself first; `unrolled`: ways out may be within."""
    blocks = [block]
    while True:
        more = _follow(blocks[-1], block, unrolled)
        if not more or more[-1] in blocks:
            return blocks
        blocks += more


def _follow(last: Block, head: Block, unrolled: bool) -> list[Block]:
    """What joins a region behind its last block; nothing where it ends."""
    succs = last._succs
    if len(succs) == 1:
        join = _joined(succs[0], {last}, head)
        return [join] if join is not None else []
    if len(succs) != 2:
        return []
    if unrolled and head not in succs:
        inner = [s for s in succs if s._loop_depth == head._loop_depth]
        if len(inner) == 1 and len(inner[0]._preds) == 1:
            return inner
    sides = [s for s in succs if len(s._preds) == 1 and is_short(s)]
    if len(sides) == 2 and sides[0]._succs == sides[1]._succs:
        join = _joined(sides[0]._succs[0], set(sides), head)
    else:
        sides = [s for s in sides if s._succs[0] in succs][:1]
        if not sides:
            return []
        join = _joined(sides[0]._succs[0], {last, sides[0]}, head)
    return [*sides, join] if join is not None else []


def _joined(block: Block, preds: set[Block], head: Block) -> Block | None:
    """A block into which only the given ones lead, at the loop depth of the region."""
    if not block._succs and block.first is not None and block.first.form.terminator:
        return None  # the way around ends the thread there and then
    if block is head or len(block._preds) != len(preds) or not preds.issuperset(block._preds):
        return None
    return block if block._loop_depth == head._loop_depth else None


def is_short(block: Block) -> bool:
    """Whether a block of one way out is guarded rather than jumped over."""
    if len(block._succs) != 1:
        return False
    n, loads = 0, False
    i = block.first
    while i is not None:
        f = i.form
        if f.is_call or f.sync or f.convergent or f.is_phi or facts_of(f).ends:
            return False
        n += not f.op.pseudo and not f.terminator
        loads = loads or (f.reads and not f.space.startswith("param"))
        i = i.next
    return n <= (PREDICATED if loads else PREDICATED_PLAIN)
