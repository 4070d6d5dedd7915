"""Blocks that the assembler makes one: short branches over straight code become guarded code; and
copies of the body of an unrolled loop.

A region is a block and what follows it alone, as far as that is no loop's end; a branch over a few
operations, or two such sides, is within it. An operation with a slow path is never guarded.

Cost    constant a block.
"""

from __future__ import annotations

from collections.abc import Mapping

from nvir.analysis.induction import constant_of
from nvir.assembler.regalloc.code import Code, Op, Region
from nvir.assembler.regalloc.facts import facts_of
from nvir.assembler.regalloc.tables import COPIES, PREDICATED, PREDICATED_BOTH, PREDICATED_PLAIN
from nvir.ir.block import Block
from nvir.ir.opcodes import OpKind
from nvir.ir.types import ScalarType
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
    linear = _Linear(body, last, region, carried, code, ids)
    made = list(body)
    now: dict[int, int] = {}
    for _ in range(min(factor - 1, COPIES // max(1, len(body)))):
        now = {p: now.get(o, o) for p, o in carried.items()}
        for op in body:
            if op.results and linear.shared.issuperset(op.results):
                now.update((r, r) for r in op.results)
                continue
            first = linear.displaced.get(op)
            sources = first if first is not None else tuple(
                dict.fromkeys(k for s in op.sources if (k := now.get(s, s)) >= 0))
            for r in op.results:
                now[r] = code.value(code.widths[r])
            tuples = tuple(tuple(now.get(s, s) for s in t) for t in op.tuples)
            new = op.copy(tuple(now[r] for r in op.results), sources, tuples)
            if first is not None:
                new.family = _DISPLACED.get(code.widths[op.results[0]], "IADD3")
            made.append(new)
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
_DISPLACED = {2: "IADD3 IADD3.X"}  # by width: a sum with a literal


class _Linear:
    """What is an induction by a literal, times a literal, plus what is invariant: a copy's is the
    first one's and an offset, by which accesses of memory reach it.

    shared     values that all copies read of the first: accesses do, and the test of the latch;
               and literals
    displaced  operations that make others of such → what the sum with a literal that each copy has
               in their place reads

    A word that is made wider is no such value: the sum of words may wrap. It is one where both
    where the loop begins and where it ends are literals (seen of ptxas 13.0).
    """

    def __init__(
        self, ops: list[Op], last: Op | None, region: Region, carried: Mapping[int, int],
        code: Code, ids: Mapping[Value, int],
    ) -> None:
        self.code, self.ids = code, ids
        loaded = [op for op in ops if not op.sources and op.family]  # literals, by `Lowering.load`
        self.made = {r: op for op in ops for r in op.results if op not in loaded}
        self.tests = set(last.sources) if last is not None else set()
        self.known = {
            head for head, after in carried.items()
            if (op := self.made.get(after)) is not None and op.sources == (head,)
            and op.parent.form.kind is OpKind.SUM
        }
        self.bounded = self._bounded(ops, region)
        found = [op for op in ops if self._is_linear(op)]
        tests = [op for op in ops if self._tests(op)]
        alone = self._read_alone(ops, {*found, *tests}, carried)
        self.shared = {
            r for op in (*loaded, *found, *tests) if op not in alone for r in op.results}
        self.displaced = {
            op: op.sources if op.parent.form.kind is OpKind.SUM else op.results for op in alone
        }

    def _bounded(self, ops: list[Op], region: Region) -> set[int]:
        """The phis that begin with a literal, of a loop that ends at one."""
        ends = [v for op in ops if self.tests.issuperset(op.results)
                and op.parent.form.kind is OpKind.COMPARE for v in op.parent._operands]
        if all(constant_of(v) is None for v in ends):
            return set()
        return {
            self.ids[i] for i in region.blocks[0] if i.form.is_phi and all(
                constant_of(v) is not None for v, b in zip(i._operands, i.aux, strict=True)
                if b is not region.blocks[-1])
        }

    def _is_linear(self, op: Op) -> bool:
        f, t = op.parent.form, op.parent.type
        if not (
            f.op.linear and f.type is not None and f.type.kind in "usb"
            and isinstance(t, ScalarType) and t.kind in "usb"
            and any(s in self.known for s in op.sources)
            and all(s in self.known or s not in self.made for s in op.sources)
            and (f.kind in _UNSCALED or isinstance(op.parent._operands[1], Constant))
        ):
            return False
        widths, known = self.code.widths, [s for s in op.sources if s in self.known]
        if not self.bounded.issuperset(known) and any(
            widths[s] < widths[r] for s in known for r in op.results
        ):
            return False
        self.known.update(op.results)
        if self.bounded.issuperset(known):
            self.bounded.update(op.results)
        return True

    def _tests(self, op: Op) -> bool:
        """Whether it is what the latch asks for, of such a value."""
        return op.parent.form.kind is OpKind.COMPARE and not self.known.isdisjoint(
            op.sources) and self.tests.issuperset(op.results)

    def _read_alone(
        self, ops: list[Op], linear: set[Op], carried: Mapping[int, int],
    ) -> set[Op]:
        """Those of the linear operations whose results others read than accesses by address."""
        read: set[int] = set()
        for op in ops:
            if op not in linear:
                read.update(self._by_value(op))
        read.update(carried[s] for s in read & carried.keys())
        return {op for op in linear if not read.isdisjoint(op.results)}

    def _by_value(self, op: Op) -> set[int]:
        """What an operation reads, but for the address of an access."""
        bases = {self.ids.get(op.parent._operands[b], -1) for b, _ in op.parent.form.addresses}
        return {s for s in op.sources if s not in bases}
