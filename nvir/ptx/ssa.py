"""From raw blocks over registers to SSA, or to what rules of single instructions ask.

    L:  add %r1, %r1, 1           L:  %r1' = phi [%r1, entry], [%r1'', L]
        setp %p1, %r1, 10    ==>      %r1'' = add %r1', 1
        @%p1 bra L                    %p1 = setp %r1'', 10 …

Every value keeps the name of its source register as a hint. No copy is
propagated, so the values of one register never interfere and coalesce again on
printing without a copy.

Method   nvir.ir.ssa.construct, over the registers that cross blocks. Blocks that the entry does
         not reach hang below a root of their own, where every register is undef.
Cost     Linear in the text and in the live ranges of registers written more than once.

Scattered branches have phis by the million in a few thousand lines. `build_apart` makes none: of
what reaches a block it knows only whether anything was written, which is what `nvir check` asks.

Method   What is written before a block is the same for all blocks of a strongly connected
         component: one union of bit sets over the registers for each, in topological order.
Cost     Linear in the text, and in the edges times the registers that cross blocks (in bits).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from nvir.analysis.components import strong_components
from nvir.ir import VOID, Block, Function, Instruction, dominator_tree, form
from nvir.ir.ssa.construct import Undo, place_phis, rename
from nvir.ir.values import Argument, Result, undef
from nvir.ptx.body import SINK, RawBlock, RawFunction

Fill = Callable[[RawFunction, Function, dict[int, Argument]], None]

def build(raw: RawFunction, function: Function, arguments: dict[int, Argument]) -> None:
    """Fill `function` with the SSA form of `raw`; `arguments` are registers defined on entry."""
    blocks = raw.blocks
    _name_blocks(blocks, function)
    order, preds = _numbering(blocks)
    tree = dominator_tree(preds)
    reads = _exposed_reads(order, len(raw.reg_types))
    writes = _writes(order, arguments, reads)
    phis = place_phis(preds, tree, reads, writes, str(function.name))
    _Renaming(raw, function, order, preds).run(tree.idom, phis, arguments)


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


def build_apart(raw: RawFunction, function: Function, arguments: dict[int, Argument]) -> None:
    """Fill `function` with each block by itself: what a register holds where a block begins is one
    value for all blocks, `undef` where nothing writes it before. No phi stands anywhere."""
    blocks = raw.blocks
    _name_blocks(blocks, function)
    reads = _exposed_reads(blocks, len(raw.reg_types))
    writes = _writes(blocks, (), reads)
    bit = {r: k for k, r in enumerate(writes)}
    exposed: list[list[int]] = [[] for _ in blocks]
    for r, places in reads.items():
        for b in places:
            exposed[b].append(r)
    filling = _Filling(raw, function)
    held: dict[int, Any] = dict(arguments)
    for b, written in _written_before(blocks, writes):
        for r in exposed[b]:
            known = r in arguments or (r in bit and written >> bit[r] & 1)
            if known and r not in held:
                held[r] = Instruction(_PHI, (), raw.reg_types[r], raw.reg_names[r], ())
            filling.value[r] = held[r] if known else undef(raw.reg_types[r])
        filling.fill(blocks[b], [])


def _written_before(
    blocks: list[RawBlock], writes: dict[int, list[int]]
) -> Iterator[tuple[int, int]]:
    """Each block with what is written on some way to it: the numbers of keys of `writes`, as
    bits."""
    made = [0] * len(blocks)
    for k, sites in enumerate(writes.values()):
        for b in sites:
            made[b] |= 1 << k
    succs = [[t.index for t in b.targets] for b in blocks]
    before = [0] * len(blocks)
    for members in strong_components(succs, range(len(blocks))):
        arriving = 0
        for b in members:
            arriving |= before[b]
        if len(members) > 1 or members[0] in succs[members[0]]:
            for b in members:
                arriving |= made[b]
        for b in members:
            for t in succs[b]:
                before[t] |= arriving | made[b]
            before[b] = made[b] = 0
            yield b, arriving


class _Filling:
    """Makes the blocks of a function and their instructions; `value` is what each register holds
    at the place that was reached."""

    def __init__(self, raw: RawFunction, function: Function) -> None:
        self.raw = raw
        self.made = {id(b): Block(str(b.name), function) for b in raw.blocks}
        self.value: list[Any] = [undef(t) for t in raw.reg_types]
        function.blocks = [self.made[id(b)] for b in raw.blocks]
        function.cfg_state = "never"

    def fill(self, raw_block: RawBlock, undo: Undo) -> None:
        """Make the block's instructions; `undo` gets what it overwrites of `value`."""
        value = self.value
        block = self.made[id(raw_block)]
        block.pragmas, block.line, block.loc = raw_block.pragmas, raw_block.line, raw_block.loc
        types, names = self.raw.reg_types, self.raw.reg_names
        append = block.append
        for f, results, operands, aux, loc, line in raw_block.items:
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


def _sink_type(f: Any, k: int) -> Any:
    return f.result_types[k] if k < len(f.result_types) else f.rule_type("b32")


_BRA, _PHI = form("bra"), form("phi")
