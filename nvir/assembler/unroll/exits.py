"""By which exit ptxas counts a loop, and what keeps it from counting.

ptxas asks more of a loop than that its trip count can be worked out. What it takes:

    the exit     of the latch, if that one counts; else another that every iteration passes.
                 A conjunction is two exits: a count and a break
    the test     a plain comparison, not negated, of the variable after its step; the branch
                 back to the header is the conditional one, not that of an empty latch
    the step     one addition, in the block of the test (or in the latch, for a test at the top)
    the variable of 32 or 64 bits
    the count    worked out without wrapping: by `ne` only where the step divides the distance,
                 and at least one by a test that stood before the loop

Needs    CFG annotations.
Cost     linear in the header's phis and the exits.
Source   measured on ptxas 13.0.88: one loop for each form of control, of which one thing at a
         time was changed (tests/passes/test_unroll_exits.py has them).
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

import attrs

from nvir.analysis.counting import signed
from nvir.analysis.induction import TripCount, constant_of, counted_exits
from nvir.assembler.unroll.decision import UnrollCode
from nvir.ir.block import Block
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop

COUNT_LIMIT = 1 << 31  # iterations times size, of 32 signed bits
DOWN = {"gt": "lt", "ge": "le", "hi": "lo", "hs": "ls"}

Refusal = tuple[UnrollCode, str]


def counted_by(loop: Loop) -> TripCount | None:
    """The exit by which ptxas counts, with ptxas's count; None if there is none."""
    found = [attrs.evolve(x, count=count_of(loop, x)) for x in counted_exits(loop, loose=True)]
    for trip in found:
        if trip.exit in loop.latches:
            return trip
    return min(found, key=_smallest_first, default=None)


def _smallest_first(trip: TripCount) -> tuple[bool, int]:
    return trip.count is None, trip.count or 0


def is_conjunction(trip: TripCount) -> bool:
    """Whether the exit branches on the test together with a condition that does not count."""
    d = branch_of(trip).guard
    definer = d.definer if d is not None else None
    return definer is not None and definer.form.name == "and"


def branch_of(trip: TripCount) -> Instruction:
    branch = trip.exit.terminator
    assert branch is not None
    return branch


def why_not_counted(
    loop: Loop, trip: TripCount, loops: Iterable[Loop], dead: AbstractSet[Instruction]
) -> Refusal | None:
    """What keeps ptxas from counting by an exit; None if nothing does. `loops` are all of the
    function, `dead` what counts as gone."""
    variable, branch = trip.variable, branch_of(trip)
    if variable.bits == 16:
        return UnrollCode.INDUCTION_CLASS, "the induction variable has 16 bits"
    if "uni" in branch.form.mods:
        return UnrollCode.NO_BOUND, "the exit is a uniform branch"
    if is_negated(trip):
        return UnrollCode.NO_BOUND, "the exit branch tests a negated predicate"
    if _turns_round(loop, trip, dead) and not any(_is_rotated(x, dead) for x in loops):
        return UnrollCode.INDIRECT_EXIT, "the branch back to the header is of a block of its own"
    if trip.exit in loop.latches and tests_late(trip):
        return UnrollCode.NO_BOUND, "the exit test comes before the variable's step"
    if trip.exit in loop.latches and not trip.tests_update and _goes_down(trip):
        return UnrollCode.STRIDE_SIGN, "an unsigned test of the variable before it is counted down"
    step = variable.update.definer
    if step is None or not any(v.definer is variable.phi for v in step.operands):
        return UnrollCode.NO_INDUCTION, "the induction variable is stepped more than once"
    if trip.count == 0 and trip.exit in loop.latches:
        return UnrollCode.DEGENERATE, f"by its test the loop would not run: {trip.text}"
    if _apart(loop, trip, step):
        return UnrollCode.IRREGULAR, "a branch between the variable's step and its test"
    return None


def _goes_down(trip: TripCount) -> bool:
    """Whether an unsigned test counts down."""
    step = trip.variable.step
    return isinstance(step, int) and step < 0 and trip.compare.partition(".")[2].startswith("u")


def is_negated(trip: TripCount) -> bool:
    """Whether the exit branches on the negation of its comparison, by `!` or by `not.pred`.

    ptxas keeps such loops; compilers write them where they do not optimise.
    """
    branch = branch_of(trip)
    negated = branch.form.guard == "!"
    test = branch.guard.definer if branch.guard is not None else None
    while test is not None and test.form.name == "not":
        negated = not negated
        test = test.operands[0].definer
    return negated


def tests_late(trip: TripCount) -> bool:
    """Whether the exit test at the bottom reads the variable and stands before its step."""
    update = trip.variable.update.definer
    if trip.tests_update or update is None or update.block is not trip.exit:
        return False
    while update is not None and update is not trip.test:
        update = update.next
    return update is None


def _turns_round(loop: Loop, trip: TripCount, dead: AbstractSet[Instruction]) -> bool:
    """Whether the exit's branch leaves and nothing is done on the way back to the header.

    ptxas turns the branch of such a loop round if it is one block (inner loops are straight
    lines by now): its test is a negated one then.
    """
    if len(loop.latches) != 1 or (trip.exit is not loop.header and not loop.children):
        return False
    taken = branch_of(trip).aux[0]
    latch = loop.latches[0]
    if taken in loop.members or latch is trip.exit or list(latch.preds) != [trip.exit]:
        return False
    return is_empty(latch, dead)


def _is_rotated(loop: Loop, dead: AbstractSet[Instruction]) -> bool:
    """Whether ptxas brings a loop into the form that is tested at its bottom.

    Where it does so to one loop, it does so to all of the function.
    """
    for latch in loop.latches:
        branch = latch.terminator
        if branch is None or branch.guard is not None or latch is loop.header:
            continue
        at_end = is_empty(latch, dead) and len(latch.preds) == 1
        if not at_end or (latch.preds[0] is not loop.header and not loop.children):
            return True
    return False


def is_empty(block: Block, dead: AbstractSet[Instruction]) -> bool:
    """Whether a block does nothing but branch on."""
    branch = block.terminator
    if branch is None or branch.guard is not None:
        return False
    return all(
        i is branch or i in dead or i.form.op.pseudo or (i.form.name == "mov" and "{" not in
        i.form.shape) for i in block
    )


def _apart(loop: Loop, trip: TripCount, step: Instruction) -> bool:
    """Whether control flow may part or meet between the variable's step and the test."""
    made, tested = _start_of(step.block, loop), _start_of(trip.test.block, loop)
    if made is tested:
        return False
    at_top = not trip.tests_update and tested is loop.header
    return not (at_top and len(loop.latches) == 1 and made is _start_of(loop.latches[0], loop))


def _start_of(block: Block | None, loop: Loop) -> Block | None:
    """The first block of the straight line that a block lies on."""
    while block is not None and block is not loop.header and len(block.preds) == 1:
        before = block.preds[0]
        if len(before.succs) != 1:
            break
        block = before
    return block


# ------------------------------------------------------------------- the count


def count_of(loop: Loop, trip: TripCount) -> int | None:
    """The trip count as ptxas works it out; 0 where a test before the loop would have failed,
    None where it depends on run-time values."""
    variable = trip.variable
    start, end, step = constant_of(variable.start), constant_of(trip.bound), variable.step
    if start is None or end is None or not isinstance(step, int) or variable.kind == "float":
        return trip.count
    first = int(trip.exit in loop.latches and not trip.tests_update)
    compare, bits = trip.compare.partition(".")[0], variable.bits
    if compare in ("ne", "eq"):
        distance = signed(end - start, bits)
        exact = compare == "ne" and distance * step > 0 and distance % step == 0
        return distance // step + first if exact else 0
    start, end = signed(start, bits), signed(end, bits)  # whatever the type of the comparison
    apart = start != end
    if compare in DOWN:
        start, end, step, compare = -start, -end, -step, DOWN[compare]
    if compare in ("le", "ls"):
        end += 1
    if step <= 0 or start >= end:
        rounds = step > start - end and trip.tests_update and trip.exit in loop.latches
        return max(first, int(rounds and apart)) if step > 0 else 0
    count = -(-(end - start) // step) + first
    return count if trip.count is None else min(count, trip.count)
