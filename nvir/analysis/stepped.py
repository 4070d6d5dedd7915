"""Counts of loops that no formula gives: what the exits depend on, carried out from constants.

    for (offset = warpSize / 2; offset > 0; offset >>= 1)      5 iterations
    for (i = blockDim.x / 2; i > 0; i >>= 1)                   8 in a block of 256 threads

Cost    what the exits depend on, once for each iteration, MOST or LONGEST at most
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from nvir.analysis.induction import constant_of
from nvir.ir.block import Block
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop
from nvir.ir.opcodes import OpKind
from nvir.ir.opcodes.evaluate import evaluate
from nvir.ir.values import SpecialRegister, Value

MOST = 64  # iterations
LONGEST = 4096  # the same where values of a launch are given
DEEP = 12  # operations in front of a loop that make a value
NOTHING: Mapping[str, int] = MappingProxyType({})


def stepped_count(loop: Loop) -> int | None:
    """How often the body of a loop runs that is left at its end alone; None where that is not told
    by constants, or more than MOST."""
    exits = list(loop.exits)
    if len(exits) != 1 or len(loop.latches) != 1 or exits[0][0] is not loop.latches[0]:
        return None
    found = stepped_rounds(loop)
    return None if found is None else found[0]


def stepped_rounds(
    loop: Loop, launch: Mapping[str, int] = NOTHING
) -> tuple[int, Block] | None:
    """In which iteration, from 1, a loop is left, and by which of its blocks; `launch` has values
    of special registers. None where that is not told by them and constants, and where it is later
    than MOST, or than LONGEST if some are given."""
    ends = sorted({b for b, _ in loop.exits}, key=lambda b: b.rpo_index)
    if not ends or len(loop.latches) != 1 or len(loop.entries) != 1:
        return None
    (latch,), (entry,) = loop.latches, loop.entries
    tests: dict[Block, tuple[Value, bool]] = {}
    for block in ends:
        branch = block.terminator
        if not block.dominates(latch) or branch is None or branch.guard is None or (
            branch.form.kind is not OpKind.BRANCH
        ):
            return None
        leaves_if = (branch.aux[0] not in loop.members) == (branch.form.guard != "!")
        tests[block] = branch.guard, leaves_if
    made = _needed(loop, [tested for tested, _ in tests.values()])
    if made is None:
        return None
    known: dict[Value, int] = {}
    for v in (v for i in made for v in i.operands if not i.is_phi and v.definer not in made):
        _know(known, v, v, launch)
    for phi in (i for i in made if i.is_phi):
        _know(known, phi, phi.arriving(entry), launch)
    return _run(made, known, latch, tests, LONGEST if launch else MOST)


def _run(
    made: list[Instruction], known: dict[Value, int], latch: Block,
    tests: Mapping[Block, tuple[Value, bool]], most: int,
) -> tuple[int, Block] | None:
    for n in range(1, most + 1):
        for i in made:
            if not i.is_phi:
                value = evaluate(i, known)
                if value is None:
                    return None
                known[i] = value
        for block, (tested, leaves_if) in tests.items():
            if tested not in known:
                return None
            if bool(known[tested] & 1) == leaves_if:
                return n, block
        turned = {i: i.arriving(latch) for i in made if i.is_phi}
        after = {i: known.get(v, constant_of(v)) for i, v in turned.items()}
        for i, x in after.items():
            if x is None:
                return None
            known[i] = _bits(x, i)
    return None


def _needed(loop: Loop, tested: Sequence[Value]) -> list[Instruction] | None:
    """What of a loop makes values, phis of its header and all that makes them, in order; None
    where there is other."""
    found: set[Instruction] = set()
    work = list(tested)
    while work:
        d = work.pop().definer
        if d is None or d.block not in loop.members or d in found:
            continue
        if (d.is_phi and d.block is not loop.header) or not (d.is_phi or d.form.pure):
            return None
        found.add(d)
        work += (d.arriving(loop.latches[0]),) if d.is_phi else d.operands
    if any(not d.block.dominates(loop.latches[0]) for d in found if d.block is not None):
        return None
    return [i for b in sorted(loop.blocks, key=lambda b: b.rpo_index) for i in b if i in found]


def _know(
    known: dict[Value, int], v: Value, source: Value, launch: Mapping[str, int]
) -> None:
    x = _before(source, launch, DEEP)
    if x is not None:
        known[v] = _bits(x, v)


def _before(v: Value, launch: Mapping[str, int], depth: int) -> int | None:
    """What a value in front of a loop is."""
    x = constant_of(v)
    if x is not None or not launch:
        return x
    if isinstance(v, SpecialRegister):
        return launch.get(v.name)
    d = v.definer
    if d is None or d.is_phi or not d.form.pure or not depth:
        return None
    known = {}
    for operand in d.operands:
        x = _before(operand, launch, depth - 1)
        if x is None:
            return None
        known[operand] = _bits(x, operand)
    return evaluate(d, known)


def _bits(x: int, v: Value) -> int:
    return x & ((1 << (v.type.bits or 64)) - 1)
