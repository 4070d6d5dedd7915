"""Blocks that the assembler makes one: short branches over straight code become guarded code; and
copies of the body of an unrolled loop.

A region is a block and what follows it alone, as far as that is no loop's end; a branch over a few
operations, or two such sides, is within it. An operation with a slow path is never guarded.

Cost    constant a block.
"""

from __future__ import annotations

from collections.abc import Mapping

from nvir.assembler.regalloc.code import Code, Op, Region
from nvir.assembler.regalloc.facts import facts_of
from nvir.assembler.regalloc.tables import COPIES, PREDICATED, PREDICATED_BOTH, PREDICATED_PLAIN
from nvir.ir.block import Block
from nvir.ir.opcodes import OpKind
from nvir.ir.values import Constant, Value


def chain(block: Block, unrolled: bool = False) -> list[Block]:
    """The blocks that become one with `block`, itself first; `unrolled`: ways out may be within."""
    blocks = {block: None}
    last = block
    while True:
        more = _follow(last, block, unrolled)
        if not more or more[-1] in blocks:
            return list(blocks)
        blocks.update(dict.fromkeys(more))
        last = more[-1]


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
    ways = [_side(s) for s in succs if len(s._preds) == 1]
    short = [w for w in ways if is_short(w[-1], PREDICATED_BOTH)]
    if len(short) == 2 and short[0][-1]._succs == short[1][-1]._succs:
        join = _joined(short[0][-1]._succs[0], {w[-1] for w in short}, head)
    else:
        short = [w for w in ways if is_short(w[-1]) and w[-1]._succs[0] in succs][:1]
        if not short:
            return []
        join = _joined(short[0][-1]._succs[0], {last, short[0][-1]}, head)
    return [*(b for w in short for b in w), join] if join is not None else []


def _side(block: Block) -> list[Block]:
    """A block, behind those that only jump to it."""
    way = [block]
    while len(block) == 1 and len(block._succs) == 1 and len(block._succs[0]._preds) == 1:
        block = block._succs[0]
        if block in way:
            break
        way.append(block)
    return way


def _joined(block: Block, preds: set[Block], head: Block) -> Block | None:
    """A block into which only the given ones lead, at the loop depth of the region."""
    if not block._succs and block.first is not None and block.first.form.terminator:
        return None  # the way around ends the thread there and then
    if block is head or len(block._preds) != len(preds) or not preds.issuperset(block._preds):
        return None
    return block if block._loop_depth == head._loop_depth else None


def is_short(block: Block, most: int = PREDICATED) -> bool:
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
    return n <= (most if loads else PREDICATED_PLAIN)


def unroll(region: Region, factor: int, code: Code, ids: Mapping[Value, int]) -> None:
    """Repeat the body: each copy starts with what the one before hands to the phis."""
    carried = _carried(region, ids)
    body = list(region.ops)
    last = body.pop() if body and body[-1].parent.form.terminator else None
    once = _linear(body, region, carried)
    made = list(body)
    now: dict[int, int] = {}
    for _ in range(min(factor - 1, COPIES // max(1, len(body)))):
        now = {p: now.get(o, o) for p, o in carried.items()}
        for op in body:
            if op.results and once.issuperset(op.results):
                now.update((r, r) for r in op.results)
                continue
            sources = tuple(dict.fromkeys(k for s in op.sources if (k := now.get(s, s)) >= 0))
            for r in op.results:
                now[r] = code.value(code.widths[r])
            tuples = tuple(tuple(now.get(s, s) for s in t) for t in op.tuples)
            made.append(op.copy(tuple(now[r] for r in op.results), sources, tuples))
    if last is not None:
        made.append(last)
    region.ops = made
    region.live_out = {now.get(k, k) if k not in carried else k for k in region.live_out}
    for p, o in carried.items():
        if o >= 0:
            code.hints.setdefault(now.get(o, o), p)


def _carried(region: Region, ids: Mapping[Value, int]) -> dict[int, int]:
    """For each phi of a loop what the latch hands it; -1: a literal."""
    carried: dict[int, int] = {}
    for i in region.blocks[0]:
        if not i.form.is_phi:
            break
        for v, b in zip(i._operands, i.aux, strict=True):
            if b is region.blocks[-1]:
                carried[ids[i]] = ids.get(v, -1)
    return carried


_UNSCALED = (OpKind.SUM, OpKind.RESIZE, OpKind.CONVERT)


def _linear(ops: list[Op], region: Region, carried: Mapping[int, int]) -> set[int]:
    """Values that are an induction by a literal, times a literal, plus what is invariant, and what
    compares one: a copy's is the first one's and an offset."""
    made: dict[int, Op] = {r: op for op in ops for r in op.results}
    known: set[int] = set()
    for head, after in carried.items():
        op = made.get(after)
        if op is not None and op.sources == (head,) and op.parent.form.kind is OpKind.SUM:
            known.add(head)
    found: set[int] = set()
    for op in ops:
        i = op.parent
        f = i.form
        if f.kind is OpKind.COMPARE:
            if any(s in known for s in op.sources):
                found.update(op.results)
        elif (
            f.op.linear and f.type is not None and f.type.kind in "usb"
            and any(s in known for s in op.sources)
            and all(s in known or s not in made for s in op.sources)
            and (f.kind in _UNSCALED or isinstance(i._operands[1], Constant))
        ):
            known.update(op.results)
            found.update(op.results)
    return found
