"""Exit tests that compare a loop's counter itself, where nvcc compares a sum with it.

    setp.ne %p, (add %d, %i), 0     ==>     setp.ne %p, %i, (sub 0, %d)

Equality holds modulo the width, so nothing is lost where the sum wraps; other comparisons stay.

A counter that several sums with what the loop does not change move on, as in the copies of a loop
that nvcc unrolled, gets one sum:

    add %j, %i, %n; add %k, %j, %n; setp.lt %p, %k, %m   ==>   add %k, %i, (mul %n, 2); …
"""

from __future__ import annotations

from nvir.ir.builder import Builder
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop
from nvir.ir.values import Value, integer

_EQUALITY = frozenset(("eq", "ne"))


def plain_test(loop: Loop) -> bool:
    """Bring the exit tests of a loop into that form, if it has a preheader; whether any was."""
    preheader = loop.preheader
    changed = False
    for block, _ in loop.exits if preheader is not None else ():
        branch = block.terminator
        test = branch.guard.definer if branch is not None and branch.guard is not None else None
        assert preheader is not None
        if test is not None and test.block in loop.members:
            changed |= _one_step(test, loop, Builder(preheader))
            changed |= _plain(test, loop, Builder(preheader))
    return changed


def _one_step(test: Instruction, loop: Loop, b: Builder) -> bool:
    t = test.form.type
    if test.form.name != "setp" or t is None or t.is_float or t.bits not in (32, 64):
        return False
    for v in test.operands:
        moving, steps = v, []
        while (parted := _parts(moving, loop, t.bits)) is not None:
            moving, fixed = parted
            steps.append(fixed)
        d = moving.definer
        if len(steps) > 1 and d is not None and d.form.is_phi and d.block is loop.header and all(
            x is v for x, block in d.incoming if block in loop.members
        ):
            assert b.block.last is not None
            assert v.definer is not None
            b.at(b.block.last)
            total = steps[0]
            if all(x is total for x in steps):
                total = b.compute(f"mul.lo.s{t.bits}", total, integer(len(steps)))
            else:
                for x in steps[1:]:
                    total = b.compute(f"add.s{t.bits}", total, x)
            assert v.definer.block is not None
            made = Builder(v.definer.block).at(v.definer).compute(f"add.s{t.bits}", moving, total)
            v.replace_all_uses_with(made)
            return True
    return False


def _plain(test: Instruction, loop: Loop, b: Builder) -> bool:
    f = test.form
    if f.name != "setp" or not _EQUALITY & {*f.mods} or len(test.operands) != 2 or (
        f.type is None or f.type.is_float or f.type.bits not in (32, 64)
    ):
        return False
    at = next((k for k, v in enumerate(test.operands) if _moves(v, loop)), None)
    if at is None or _moves(test.operands[1 - at], loop):
        return False
    moving, bound = test.operands[at], test.operands[1 - at]
    parted = _parts(moving, loop, f.type.bits)
    if parted is None:
        return False
    assert b.block.last is not None
    b.at(b.block.last)
    while parted is not None:
        moving, fixed = parted
        bound = b.compute(f"sub.s{f.type.bits}", bound, fixed)
        parted = _parts(moving, loop, f.type.bits)
    test.set_operand(at, moving)
    test.set_operand(1 - at, bound)
    return True


def _parts(value: Value, loop: Loop, bits: int) -> tuple[Value, Value] | None:
    """The part of a sum that the loop changes, and the one that it does not, no literal."""
    d = value.definer
    if d is None or d.form.name != "add" or len(d.operands) != 2 or d.form.guard is not None:
        return None
    t = d.form.type
    if t is None or t.is_float or t.bits != bits or "sat" in d.form.mods:
        return None
    x, y = d.operands
    if _moves(y, loop):
        x, y = y, x
    if not _moves(x, loop) or _moves(y, loop) or y.is_constant:
        return None
    return x, y


def _moves(value: Value, loop: Loop) -> bool:
    d = value.definer
    return d is not None and d.block in loop.members
