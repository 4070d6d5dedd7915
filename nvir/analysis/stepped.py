"""Counts of loops that no formula gives: what the exits depend on, carried out from constants.

    for (offset = warpSize / 2; offset > 0; offset >>= 1)      5 iterations
    for (i = blockDim.x / 2; i > 0; i >>= 1)                   8 in a block of 256 threads

Cost    what the exits depend on, once for each iteration, MOST or LONGEST at most
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from nvir.analysis.induction import comparison, constant_of
from nvir.ir.block import Block
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop
from nvir.ir.opcodes import OpKind
from nvir.ir.opcodes.evaluate import evaluate
from nvir.ir.values import SpecialRegister, Value

MOST = 64  # iterations
LONGEST = 4096  # the same where values of a launch are given
FOLLOWED = 100  # operations that a test comes of
DEEP = 40  # operations in front of a loop that make a value
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
    """In which iteration, from 1, a loop is left, and by which of its blocks; 0 where it is not
    entered. `launch` has values of special registers. None where that is not told by them and
    constants, and where it is later than MOST, or than LONGEST if some are given."""
    ends = sorted({b for b, _ in loop.exits}, key=lambda b: b.rpo_index)
    if not ends or len(loop.latches) != 1 or len(loop.entries) != 1:
        return None
    (latch,), (entry,) = loop.latches, loop.entries
    if launch and _is_passed(entry, launch):
        return 0, latch
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


def _is_passed(entry: Block, launch: Mapping[str, int]) -> bool:
    """Whether a test in front of a loop leads past it."""
    block = entry
    for _ in range(DEEP):
        if len(block.preds) != 1:
            break
        before, branch = block.preds[0], block.preds[0].terminator
        if branch is not None and branch.guard is not None and len(before.succs) == 2 and (
            branch.form.kind is OpKind.BRANCH
        ):
            tested = _before(branch.guard, launch)
            jumps = tested is not None and bool(tested & 1) == (branch.form.guard != "!")
            if tested is not None and jumps != (branch.aux[0] is block):
                return True
        block = before
    return False


def shifted_out(loop: Loop) -> tuple[float, int] | None:
    """How many iterations it takes at most until a loop has shifted all bits out of a number whose
    end it waits for, and how often it asks for that end: as often as nvcc has its body there. None
    of another loop."""
    if len(loop.latches) != 1:
        return None
    ends = [b.terminator for b, _ in loop.exits]
    made = [comparison(i.guard) for i in ends if i is not None and i.guard is not None]
    asked = [test[0].operands[0] for test in made if test is not None and len(test[0].operands) > 1
             and 0 in (constant_of(test[0].operands[1]), threshold(test[0]))]
    for phi in (i for i in loop.header if i.is_phi):
        turned = phi.arriving(loop.latches[0])
        by, bits = _shift(turned, phi)
        left = [x for v in asked if (x := _part(v, turned)) is not None]  # at the end
        tests = len(left) + sum(
            v is phi or _part(v, phi) is not None for v in asked if _part(v, turned) is None)
        if by and tests:
            return min([bits, *left]) / by, tests
    return None


def threshold(test: Instruction) -> int | None:
    """The literal that a comparison of integers has: whether one is greater than 4 is asked as
    whether it is at least 5."""
    literal = constant_of(test.operands[1]) if len(test.operands) == 2 else None
    bits = test.form.type.bits if test.form.type is not None else 0
    if literal is None or not bits or test.form.type is None or test.form.type.is_float:
        return literal
    over = any(m in ("gt", "le", "hi", "ls") for m in test.form.mods)
    literal &= (1 << bits) - 1
    literal -= (literal >> (bits - 1)) << bits  # by its sign
    return literal + over


def _shift(v: Value, of: Value) -> tuple[int, int]:
    """By how much a value is another one shifted, and how many bits that can have had; 0, 0 of
    what is none."""
    d, masked = v.definer, 0
    if d is not None and d.form.op.name == "and":
        masked = constant_of(d.operands[1]) or 0
        d = d.operands[0].definer
    if d is None or d.form.kind is not OpKind.SHIFT or d.operands[0] is not of:
        return 0, 0
    by, bits = constant_of(d.operands[1]) or 0, d.type.bits or 0
    if masked > 0 and d.form.op.name == "shr":
        bits = min(bits, masked.bit_length() + by)
    return by, bits


def _part(v: Value, of: Value) -> int | None:
    """How many bits a value can have that is another one, or it shifted or masked by a constant;
    None of others."""
    d = v.definer
    if v is of:
        return v.type.bits or 0
    if d is None or not (d.form.kind is OpKind.SHIFT or d.form.op.name == "and") or (
        d.operands[0] is not of
    ):
        return None
    by = constant_of(d.operands[1])
    if by is None:
        return None
    whole = d.type.bits or 0
    return whole if d.form.kind is OpKind.SHIFT else (by & ((1 << whole) - 1)).bit_length()


def waits_for_data(loop: Loop) -> bool:
    """Whether what a loop's exits ask for comes of what is loaded or passed."""
    work = [i.guard for b, _ in loop.exits if (i := b.terminator) is not None and i.guard]
    seen = set(work)
    for _ in range(FOLLOWED):
        if not work:
            break
        v = work.pop()
        d = v.definer
        if d is None:
            continue
        if d.form.reads or not (d.is_phi or d.form.pure):
            return True
        work += (new := [x for x in d.operands if x.is_tracked and x not in seen])
        seen.update(new)
    return False


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
    x = _before(source, launch)
    if x is not None:
        known[v] = _bits(x, v)


def _before(
    v: Value, launch: Mapping[str, int], known: dict[Value, int | None] | None = None,
    depth: int = DEEP,
) -> int | None:
    """What a value in front of a loop is; `known` are those that were asked for."""
    x = constant_of(v)
    if x is not None or not launch:
        return x
    if isinstance(v, SpecialRegister):
        return launch.get(v.name)
    known = {} if known is None else known
    d = v.definer
    if v in known or d is None or d.is_phi or not d.form.pure or not depth:
        return known.get(v)
    known[v] = None
    values = {}
    for operand in d.operands:
        x = _before(operand, launch, known, depth - 1)
        if x is None:
            return None
        values[operand] = _bits(x, operand)
    known[v] = evaluate(d, values)
    return known[v]


def _bits(x: int, v: Value) -> int:
    return x & ((1 << (v.type.bits or 64)) - 1)
