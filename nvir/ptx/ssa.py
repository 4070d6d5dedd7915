"""From raw blocks over registers to SSA.

    L:  add %r1, %r1, 1           L:  %r1' = phi [%r1, entry], [%r1'', L]
        setp %p1, %r1, 10    ==>      %r1'' = add %r1', 1
        @%p1 bra L                    %p1 = setp %r1'', 10 …

Every value keeps the name of its source register as a hint. No copy is
propagated, so the values of one register never interfere and coalesce again on
printing without a copy.

Method   nvir.ir.ssa.construct, over the registers that cross blocks. Blocks that the entry does
         not reach hang below a root of their own, where every register is undef.
Cost     Linear in the text and in the live ranges of registers written more than once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nvir.ir import VOID, Block, Function, Instruction, dominator_tree, form
from nvir.ir.ssa.construct import Undo, place_phis, rename
from nvir.ir.values import Argument, Result, undef
from nvir.ptx.body import SINK, RawBlock, RawFunction
from nvir.ptx.statements import RawItem


def build(
    raw: RawFunction, function: Function, arguments: dict[int, Argument],
    most: int | None = None,
) -> bool:
    """Fill `function` with the SSA form of `raw`; `arguments` are registers defined on entry.
    Whether it has no more phis and edges than it may; else the function stays empty."""
    blocks = raw.blocks
    _name_blocks(blocks, function)
    order, preds = _numbering(blocks)
    tree = dominator_tree(preds)
    reads = _exposed_reads(order, len(raw.reg_types))
    writes = _writes(order, arguments, reads)
    phis = place_phis(preds, tree, reads, writes, str(function.name))
    if most is not None and max(sum(map(len, phis)), sum(map(len, preds))) > most:
        return False
    _Renaming(raw, function, order, preds).run(tree.idom, phis, arguments)
    return True


def _name_blocks(blocks: list[RawBlock], function: Function) -> None:
    """Labels are names; what has none, or one used in another scope, gets a fresh one."""
    taken: set[str] = set()
    for k, b in enumerate(blocks):
        name = b.name or ("entry" if k == 0 else f"bb{k}")
        while name in taken:
            name = f"{name}.{k}"
        taken.add(name)
        b.name = name
        b.index = k


def _numbering(blocks: list[RawBlock]) -> tuple[list[RawBlock | None], list[list[int]]]:
    """Blocks in RPO below a virtual root (number 0, None), and predecessors by number.

    The root leads to the entry and to one block of each part that is not reached.
    """
    n = len(blocks)
    seen = [False] * n
    roots: list[int] = []
    parts: list[list[int]] = []
    for r in range(n):  # entry first, then whatever is left in layout order
        if seen[r]:
            continue
        roots.append(r)
        seen[r] = True
        stack = [(r, iter(blocks[r].targets))]
        part: list[int] = []
        while stack:
            b, targets = stack[-1]
            for t in targets:
                if not seen[t.index]:
                    seen[t.index] = True
                    stack.append((t.index, iter(t.targets)))
                    break
            else:
                part.append(b)
                stack.pop()
        parts.append(part)
    number = [0] * n
    order: list[RawBlock | None] = [None]
    # A later root may lead into an earlier part, so its blocks come first.
    for part in reversed(parts):
        for b in reversed(part):
            number[b] = len(order)
            order.append(blocks[b])
    preds: list[list[int]] = [[] for _ in order]
    for r in roots:
        preds[number[r]].append(0)
    for b in range(n):
        for t in dict.fromkeys(blocks[b].targets):
            preds[number[t.index]].append(number[b])
    return order, preds


def _exposed_reads(
    order: Sequence[RawBlock | None], registers: int
) -> dict[int, list[int]]:
    """Register → the blocks that read it before they write it, for those that cross blocks."""
    reads: dict[int, list[int]] = {}
    settled = [-1] * (registers + 1)  # the last block that read or wrote it; one more for SINK
    for k, b in enumerate(order):
        if b is None:
            continue
        for item in b.items:
            for v in item[2]:
                if v.__class__ is int and settled[v] != k:
                    settled[v] = k
                    reads.setdefault(v, []).append(k)
            for r in item[1]:
                settled[r] = k
        if b.term is not None:
            for v in b.term[1]:
                if v.__class__ is int and settled[v] != k:
                    settled[v] = k
                    reads.setdefault(v, []).append(k)
    return reads


def _writes(
    order: Sequence[RawBlock | None], arguments: Iterable[int], reads: dict[int, list[int]]
) -> dict[int, list[int]]:
    """Register → the blocks that write it, for those in `reads`; arguments come with the root."""
    writes = {r: [0] for r in arguments if r in reads}
    for k, b in enumerate(order):
        if b is None:
            continue
        for item in b.items:
            for r in item[1]:
                if r in reads:
                    sites = writes.setdefault(r, [k])
                    if sites[-1] != k:
                        sites.append(k)
    return writes


class Making:
    """Makes instructions; `value` is what each register holds at the place that was reached."""

    value: Any

    def __init__(self, raw: RawFunction) -> None:
        self.raw = raw

    def make(
        self, items: Iterable[RawItem], append: Callable[[Instruction], object], undo: Undo
    ) -> None:
        """Make instructions, in their order; `undo` gets what they overwrite of `value`."""
        value = self.value
        types, names = self.raw.reg_types, self.raw.reg_names
        for f, results, operands, aux, loc, line in items:
            i = Instruction(
                f, tuple([value[v] if v.__class__ is int else v for v in operands]), VOID, None,
                aux, loc,
            )
            i.line = line
            append(i)
            if not results:
                continue
            if len(results) == 1:
                r = results[0]
                if r >= 0:
                    i.type, i.name = types[r], names[r]
                    undo.append((r, value[r]))
                    value[r] = i
                else:
                    i.type, i.name = _sink_type(f, 0), "_"
                continue
            made = []
            for k, r in enumerate(results):
                if r == SINK:
                    made.append(Result(i, k, _sink_type(f, k), "_"))
                    continue
                result = Result(i, k, types[r], names[r])
                made.append(result)
                undo.append((r, value[r]))
                value[r] = result
            i._results = tuple(made)


class _Filling(Making):
    """Makes the blocks of a function and their instructions."""

    def __init__(self, raw: RawFunction, function: Function) -> None:
        super().__init__(raw)
        self.made = {id(b): Block(str(b.name), function) for b in raw.blocks}
        self.value = [undef(t) for t in raw.reg_types]
        function.blocks = [self.made[id(b)] for b in raw.blocks]
        function.cfg_state = "never"

    def fill(self, raw_block: RawBlock, undo: Undo) -> None:
        """Make the block's instructions; `undo` gets what it overwrites of `value`."""
        block = self.made[id(raw_block)]
        block.pragmas, block.line, block.loc = raw_block.pragmas, raw_block.line, raw_block.loc
        self.make(raw_block.items, block.append, undo)
        self._terminate(raw_block, block)

    def _terminate(self, raw_block: RawBlock, block: Block) -> None:
        value = self.value
        targets = tuple(self.made[id(t)] for t in raw_block.targets)
        if raw_block.term is None:
            block.append(Instruction(_BRA, aux=targets))
            return
        f, operands, loc, line = raw_block.term
        i = Instruction(
            f, tuple([value[v] if v.__class__ is int else v for v in operands]), VOID, None,
            targets, loc,
        )
        i.line = line
        block.append(i)


class _Renaming(_Filling):
    """The walk over the dominator tree that gives every use its value."""

    def __init__(
        self, raw: RawFunction, function: Function, order: list[RawBlock | None],
        preds: list[list[int]],
    ) -> None:
        super().__init__(raw, function)
        self.order, self.preds = order, preds
        self.phi_made: list[list[Instruction]] = [[] for _ in order]

    def run(
        self, idom: list[int], phis: list[list[int]], arguments: dict[int, Argument]
    ) -> None:
        value = self.value
        for r, a in arguments.items():
            value[r] = a
        self._make_phis(phis)
        arriving = rename(self.preds, idom, phis, self.phi_made, value, self._block)
        for b, made in enumerate(self.phi_made):
            preds = [p for p in self.preds[b] if p]
            blocks = [self.made[id(self.order[p])] for p in preds]
            for phi, values in zip(made, arriving[b], strict=True):
                phi.set_incoming([values[p] for p in preds], blocks)

    def _make_phis(self, phis: list[list[int]]) -> None:
        raw = self.raw
        for b, registers in enumerate(phis):
            raw_block = self.order[b]
            if raw_block is None or not registers:
                continue
            block = self.made[id(raw_block)]
            for r in registers:
                i = Instruction(_PHI, (), raw.reg_types[r], raw.reg_names[r], ())
                i.line = raw_block.line
                self.phi_made[b].append(block.append(i))

    def _block(self, b: int, undo: Undo) -> None:
        raw_block = self.order[b]
        if raw_block is not None:
            self.fill(raw_block, undo)


class Apart(Making):
    """Single instructions: what a register holds is one value wherever it stands."""

    def __init__(self, raw: RawFunction) -> None:
        super().__init__(raw)
        self.value = _Held(raw)

    def instruction(self, item: RawItem) -> Instruction:
        made: list[Instruction] = []
        self.make((item,), made.append, [])
        return made[0]


class _Held(dict[int, Instruction]):
    """A value for each register that is asked for."""

    def __init__(self, raw: RawFunction) -> None:
        super().__init__()
        self.raw = raw

    def __missing__(self, r: int) -> Instruction:
        raw = self.raw
        self[r] = i = Instruction(_PHI, (), raw.reg_types[r], raw.reg_names[r], ())
        return i


def _sink_type(f: Any, k: int) -> Any:
    return f.result_types[k] if k < len(f.result_types) else f.rule_type("b32")


_BRA, _PHI = form("bra"), form("phi")
