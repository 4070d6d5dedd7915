"""Counts of loops that no formula gives: what the only exit depends on, carried out from constants.

    for (offset = warpSize / 2; offset > 0; offset >>= 1)      5 iterations

Cost    what the exit depends on, once for each iteration, MOST at most
"""

from __future__ import annotations

from nvir.analysis.induction import constant_of
from nvir.ir.block import Block
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop
from nvir.ir.opcodes import OpKind
from nvir.ir.opcodes.evaluate import evaluate
from nvir.ir.values import Value

MOST = 64  # iterations


def stepped_count(loop: Loop) -> int | None:
    """How often the body of a loop runs that is left at its end alone; None where that is not told
    by constants, or more than MOST."""
    exits = list(loop.exits)
    if len(exits) != 1 or len(loop.latches) != 1 or len(loop.entries) != 1:
        return None
    (block, outside), (entry,) = exits[0], loop.entries
    branch = block.terminator
    if block is not loop.latches[0] or branch is None or branch.form.kind is not OpKind.BRANCH:
        return None
    tested = branch.guard
    made = _needed(loop, tested) if tested is not None else None
    if made is None:
        return None
    assert tested is not None
    phis = [i for i in made if i.is_phi]
    known: dict[Value, int] = {}
    for v in (v for i in made for v in i.operands if not i.is_phi and v.definer not in made):
        _know(known, v, v)
    for phi in phis:
        _know(known, phi, phi.arriving(entry))
    leaves_if = (branch.aux[0] is outside) == (branch.form.guard != "!")
    return _run(made, known, block, tested, leaves_if)


def _run(
    made: list[Instruction], known: dict[Value, int], block: Block, tested: Value, leaves_if: bool
) -> int | None:
    for n in range(1, MOST + 1):
        for i in made:
            if not i.is_phi:
                value = evaluate(i, known)
                if value is None:
                    return None
                known[i] = value
        if tested not in known:
            return None
        if bool(known[tested] & 1) == leaves_if:
            return n
        turned = {i: i.arriving(block) for i in made if i.is_phi}
        after = {i: known.get(v, constant_of(v)) for i, v in turned.items()}
        for i, x in after.items():
            if x is None:
                return None
            known[i] = _bits(x, i)
    return None


def _needed(loop: Loop, tested: Value) -> list[Instruction] | None:
    """What of a loop makes a value, phis of its header and all that makes them, in order; None
    where there is other."""
    found: set[Instruction] = set()
    work = [tested]
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


def _know(known: dict[Value, int], v: Value, source: Value) -> None:
    x = constant_of(source)
    if x is not None:
        known[v] = _bits(x, v)


def _bits(x: int, v: Value) -> int:
    return x & ((1 << (v.type.bits or 64)) - 1)
