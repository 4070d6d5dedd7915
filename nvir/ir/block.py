"""Basic blocks: a doubly linked list of instructions, phis first, one terminator last.

`preds`, `succs`, `loop_depth`, `loop_depth_equal`, `rpo_index` and `idom` are a
snapshot that `function.analyze_cfg()` renews. Edits of the control flow make it
stale; `cfg.split_edge` and its relatives update it in place. With checking on
(`NVIR_CHECK=1`, or `block.CHECK = True` in a test) reading a stale snapshot
raises; otherwise the last snapshot is what is read. So does an iterator whose next instruction is
erased.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nvir.ir.errors import VerifyError

if TYPE_CHECKING:
    from nvir.ir.function import Function
    from nvir.ir.instruction import Instruction, Location

NOUNROLL = "nounroll"  # the pragma that keeps the assembler from unrolling a loop
CHECK = os.environ.get("NVIR_CHECK", "0") not in ("", "0")


class Block:
    """A basic block of `function`.

    name        its label, unique in the function
    first, last ends of the instruction list (None when empty)
    pragmas     PTX pragmas that hold for the block, e.g. ("nounroll",)
    flags       what passes note about the block: "cold", "nounroll", "unrolled" …
    line        of the label in the text that was read; 0 for a block that was built
    loc         source place (`.loc`) of its start, where the text has one
    """

    __slots__ = (
        "_a_phi", "_dom_first", "_dom_last", "_idom", "_loop_depth", "_name", "_preds",
        "_rpo_index", "_succs", "aux", "first", "flags",
        "function", "last", "line", "loc", "pragmas",
    )
    first: Instruction | None
    last: Instruction | None

    def __init__(self, name: str, function: Function) -> None:
        self.function = function
        self.name = name
        self.first = self.last = None
        self._a_phi: Instruction | None = None  # of the block's, where it still is one
        self.pragmas: tuple[str, ...] = ()
        self.flags: frozenset[str] = frozenset()
        self.loc: Location | None = None
        self.line = 0
        self.aux: Any = None
        self._preds: list[Block] = []
        self._succs: tuple[Block, ...] = ()
        self._loop_depth = 0
        self._rpo_index = -1
        self._idom: Block | None = None
        self._dom_first = self._dom_last = -1

    @property
    def name(self) -> str:
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        self._name = name
        self.function._names.add(name)

    # ------------------------------------------------------ instructions

    def __iter__(self) -> Iterator[Instruction]:
        """The instructions in order. The one at hand may be erased or moved meanwhile."""
        i = self.first
        while i is not None:
            following = i.next
            yield i
            if following is not None and following.block is not self:
                erased_ahead(following)
            i = following

    def __reversed__(self) -> Iterator[Instruction]:
        i = self.last
        while i is not None:
            before = i.prev
            yield i
            if before is not None and before.block is not self:
                erased_ahead(before)
            i = before

    def __len__(self) -> int:
        n = 0
        i = self.first
        while i is not None:
            n += 1
            i = i.next
        return n

    def __bool__(self) -> bool:
        return True  # a block without instructions is still a block

    @property
    def instructions(self) -> list[Instruction]:
        return list(self)

    @property
    def phis(self) -> Iterator[Instruction]:
        i = self.first
        while i is not None and i.form.is_phi:
            following = i.next
            yield i
            if following is not None and following.block is not self:
                erased_ahead(following)
            i = following

    @property
    def first_non_phi(self) -> Instruction | None:
        i = self._a_phi  # of when this was asked before: passes ask for each phi that they make
        if i is None or i.block is not self or not i.form.is_phi:
            i = self.first
        while i is not None and i.form.is_phi:
            self._a_phi, i = i, i.next
        return i

    @property
    def terminator(self) -> Instruction | None:
        i = self.last
        return i if i is not None and i.form.terminator else None

    @property
    def written(self) -> Iterator[Instruction]:
        """The instructions that a text has: no phis and other pseudo operations, and no jump to
        the block behind this one."""
        last = self.last
        falls = (last is not None and last.form.name == "bra" and len(last.successors) == 1
                 and last.successors[0] is self.function.behind(self))
        return (i for i in self if not (i.form.op.pseudo or (falls and i is last)))

    def append(self, instruction: Instruction) -> Instruction:
        """Place an instruction at the end."""
        self.function.edits += 1
        last = self.last
        instruction.block = self
        instruction.prev = last
        instruction.next = None
        if last is None:
            self.first = instruction
        else:
            last.next = instruction
        self.last = instruction
        if instruction.form.terminator:
            self.function.cfg_changed()
        return instruction

    def insert_phi(self, phi: Instruction) -> Instruction:
        """Place a phi after the block's other phis."""
        anchor = self.first_non_phi
        if anchor is None:
            return self.append(phi)
        phi.insert_before(anchor)
        return phi

    # --------------------------------------------------- CFG annotations

    def _fresh(self) -> None:
        f = self.function
        if f.cfg_state == "never":
            f.analyze_cfg()
        elif CHECK and f.cfg_state == "stale":
            raise VerifyError(
                "control flow was changed since the annotations were made; "
                "call analyze_cfg()", f.name, f"block {self.name}"
            )

    @property
    def preds(self) -> list[Block]:
        """Predecessors, each once, in layout order of the first branch to here."""
        self._fresh()
        return self._preds

    @property
    def succs(self) -> tuple[Block, ...]:
        """Successors in the terminator's order, each once."""
        self._fresh()
        return self._succs

    @property
    def loop_depth(self) -> int:
        """How many natural loops the block lies in; 0 outside of all."""
        self._fresh()
        return self._loop_depth

    @property
    def loop_depth_equal(self) -> int:
        """The same as `loop_depth`: the copy that tells siblings when one pass edits depths."""
        self._fresh()
        return self._loop_depth

    @property
    def rpo_index(self) -> int:
        """Place in reverse post-order, -1 for a block that the entry does not reach."""
        self._fresh()
        return self._rpo_index

    @property
    def idom(self) -> Block | None:
        """Immediate dominator; None for the entry and for unreachable blocks."""
        self._fresh()
        return self._idom

    def dominates(self, other: Block) -> bool:
        """Whether every path from the entry to `other` passes here (reflexive)."""
        self._fresh()
        return self._dom_first <= other._dom_first < self._dom_last

    def __repr__(self) -> str:
        return f"<Block {self.name}>"


def erased_ahead(following: Instruction) -> None:
    """An iterator's next instruction has left its block: the rest of the block would be passed over
    silently. Raises with checking on. Whoever erases more than what is at hand walks over a list.
    """
    if CHECK:
        raise VerifyError(f"{following.form.spelling} was erased while an iterator held it")
