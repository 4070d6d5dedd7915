"""Registers for literals and words of the constant bank, which not every operand may name.

    operands     beside registers an operation takes one of them, or a uniform register
    accesses     an address of global memory is a pair, and what is stored is in registers
    parameters   leave a short loop; each is loaded once where that is in front of all readers

Cost    constant for each operand, beside a search among the blocks that have it.
"""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

from nvir.assembler.regalloc.code import Op, put_before_end
from nvir.assembler.regalloc.facts import Facts, facts_of, is_parameter, is_zero
from nvir.assembler.regalloc.tables import ALU, ISSUE_CONSTANT, LOADED, LOOP_WORDS, SHORT_LOOP
from nvir.ir.block import Block
from nvir.ir.instruction import Instruction
from nvir.ir.loops import natural_loops
from nvir.ir.opcodes import OpKind
from nvir.ir.values import Constant, Value

if TYPE_CHECKING:
    from nvir.assembler.regalloc.lowering.lower import Lowering


class Constants:
    """Those of one lowering.

    loaded  what, and its bits → the blocks where it is in a register, and that
    fronts  header of a loop → the block in front of it, where what it loads leaves the loop
    """

    def __init__(self, lowering: Lowering) -> None:
        self.lowering, self.code = lowering, lowering.code
        self.ids, self.inner, self.root = lowering.ids, lowering.inner, lowering.root
        self.loaded: dict[tuple[object, object], list[tuple[Block, int]]] = {}
        self.headers = {
            x.header for x in natural_loops(lowering.function) if len(x.blocks) == 1}
        self.fronts: dict[Block, Block] = {}

    def fill(self, i: Instruction, facts: Facts, sources: list[int], ops: list[Op]) -> None:
        """Registers for operands that cannot stand in the operation.

        Beside registers an operation takes one literal, word of the constant bank or uniform
        register.
        """
        ids = self.ids
        outside = [
            v for v in i._operands[: facts.operands]
            if ids.get(v, -1) < 0 and v not in self.inner and not is_zero(self.root.get(v, v))]
        literal = next((v for v in outside if isinstance(self.root.get(v, v), Constant)), None)
        stays = literal if literal is not None else outside[0] if outside else None
        for v in outside:
            if v is stays:
                continue
            key = v.value if isinstance(v, Constant) else 0
            wide = 2 if v.type.bits == 64 else 1
            sources.append(self.load(None if isinstance(v, Constant) else v, key, wide, i, ops))

    def fill_access(
        self, i: Instruction, facts: Facts, sources: list[int], ops: list[Op]
    ) -> None:
        """A pair for an address in the constant bank, and registers for data that has none."""
        ids = self.ids
        bases = {base for base, _ in i.form.addresses}
        if facts.global_access:
            for base in bases:
                v = i._operands[base]
                if ids.get(v, -1) < 0 and v not in self.inner:
                    sources.append(self.load(v, 0, 2, i, ops))
        if i.form.kind in (OpKind.STORE, OpKind.ATOMIC) and not facts.groups:
            offsets = {k for _, k in i.form.addresses}
            for k, v in enumerate(i._operands):
                if k in bases or k in offsets or ids.get(v, -1) >= 0 or v in self.inner:
                    continue
                v = self.root.get(v, v)
                if is_zero(v):
                    continue
                if k < i.form.n_sources and v.type.bits != 1:
                    width = 2 if i.form.type is not None and i.form.type.bits == 64 else 1
                    literal = isinstance(v, Constant)
                    key = v.value if isinstance(v, Constant) else 0
                    what = None if literal else v
                    sources.append(self.load(what, key, width, i, ops))

    def load(
        self, what: Value | None, key: object, width: int, i: Instruction, ops: list[Op]
    ) -> int:
        """A register with a literal or a word of the constant bank; made once where it can be."""
        assert i.block is not None
        what = self.root.get(what, what) if what is not None else None
        block = i.block
        if what is not None and what.definer is not None and is_parameter(what.definer):
            block = self.front(block)
        known = self.loaded.setdefault((what, key), [])  # none of them dominates another
        at = bisect.bisect(known, block._dom_first, key=lambda made: made[0]._dom_first)
        if at and known[at - 1][0].dominates(block):
            return known[at - 1][1]
        k = self.code.value(width)
        if what is not None and self.lowering.late:
            made = Op((k,), (), i, latency=LOADED, issue=ISSUE_CONSTANT, family="LDC")
        else:
            made = Op((k,), (), i, latency=ALU, family="MOV" if width == 1 else "MOV MOV")
        if block is i.block:
            ops.append(made)
        else:
            put_before_end(self.code.regions[self.lowering.place[block]], made)
        known.insert(at, (block, k))
        return k

    def word_of(self, v: Value, i: Instruction, ops: list[Op]) -> int:
        """The register of a word that many operations read; -1: none is needed."""
        k = self.lowering.home(v)
        if k < 0 and self.lowering.late and not isinstance(self.root.get(v, v), Constant):
            return self.load(v, 0, 1, i, ops)
        return k

    def front(self, block: Block) -> Block:
        """The block in front of a loop whose header this is, if what the loop loads leaves it: it
        is short, and loads little. Else the block itself."""
        found = self.fronts.get(block)
        if found is None:
            found = block
            if block in self.headers and block.idom is not None:
                size = len(block) * self.lowering.factors.get(block.name, 1)
                if size <= SHORT_LOOP and len(self._bases(block)) <= LOOP_WORDS:
                    found = block.idom
            self.fronts[block] = found
        return found

    def _bases(self, block: Block) -> set[Value]:
        """The parameters that the 64-bit sums of a block add."""
        found = {
            self.root.get(v, v) for i in block if facts_of(i.form).sum64 for v in i._operands}
        return {v for v in found if v.definer is not None and is_parameter(v.definer)}
