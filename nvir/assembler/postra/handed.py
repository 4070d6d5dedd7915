"""What phase 24 hands to the scheduler behind register allocation: interval, stages and slots.

Both stand far apart, and between them passes clone, move and delete, so the hand-over stands in the
code: a mark at the way back of the kernel has interval, stages and copies, one at each instruction
its stage and the slot in a round of the kernel. Marks stay with instructions that are cloned, and
in nvir's own text.

    !marks ("interval 70, 2 stages, 1 copies")      !marks ("slot 17 of stage 1")
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import attrs

from nvir.assembler.postra.code import PhysicalOp
from nvir.ir import Block, Instruction, Loop

_INTERVAL = re.compile(r"interval (\d+), (\d+) stages, (\d+) copies")
_SLOT = re.compile(r"slot (\d+) of stage (\d+)")


@attrs.frozen
class KernelSlot:
    """Where an instruction of a kernel begins: its stage, and the cycle in a round."""

    stage: int
    cycle: int


@attrs.frozen
class Handed:
    """The interval of an iteration, the stages, the copies in a round of the kernel, and the slots
    of its instructions; what the kernel's own test is made of has none."""

    ii: int
    stages: int
    copies: int
    slots: Mapping[Instruction, KernelSlot]

    def at(self, op: PhysicalOp) -> KernelSlot | None:
        """Where the instruction begins that an operation is of."""
        return None if op.source is None else self.slots.get(op.source.parent)

    def stage(self, op: PhysicalOp) -> int:
        at = self.at(op)
        return 0 if at is None else at.stage

    @property
    def round(self) -> int:
        """Cycles of a round of the kernel."""
        return self.ii * self.copies


def hand_over(kernel: Block, handed: Handed) -> None:
    """Leave the marks in a kernel."""
    marks, branch = kernel.function.marks, kernel.terminator
    assert branch is not None
    marks.setdefault(branch, set()).add(
        f"interval {handed.ii}, {handed.stages} stages, {handed.copies} copies"
    )
    for i, at in handed.slots.items():
        marks.setdefault(i, set()).add(f"slot {at.cycle} of stage {at.stage}")


def handed(loop: Loop) -> Handed | None:
    """What phase 24 left in a loop of one block; None in one that it did not pipeline."""
    block = loop.header
    branch = block.terminator
    said = branch and _found(_INTERVAL, block, branch)
    if not said:
        return None
    found = {i: _found(_SLOT, block, i) for i in block}
    slots = {i: KernelSlot(int(m[2]), int(m[1])) for i, m in found.items() if m}
    return Handed(int(said[1]), int(said[2]), int(said[3]), slots)


def _found(pattern: re.Pattern[str], block: Block, i: Instruction) -> re.Match[str] | None:
    marks = block.function.marks.get(i, ())
    return next((m for m in map(pattern.fullmatch, marks) if m), None)
