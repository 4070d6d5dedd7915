"""What the end of a loop waits for: a number whose bits are shifted out, or data.

Cost    linear in the code that the exits depend on, FOLLOWED operations at most
"""

from __future__ import annotations

from nvir.analysis.induction import comparison, constant_of
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop
from nvir.ir.opcodes import OpKind
from nvir.ir.values import Value

FOLLOWED = 100  # operations that a test comes of


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
    what is none. `x & (x - 1)` has a bit less, as if it were shifted by one."""
    d, masked = v.definer, 0
    if d is not None and d.form.op.name == "and" and of in d.operands:
        return (1, d.type.bits or 0) if any(_is_one_less(x, of) for x in d.operands) else (0, 0)
    if d is not None and d.form.op.name == "and":
        masked = constant_of(d.operands[1]) or 0
        d = d.operands[0].definer
    if d is None or d.form.kind is not OpKind.SHIFT or d.operands[0] is not of:
        return 0, 0
    by, bits = constant_of(d.operands[1]) or 0, d.type.bits or 0
    if masked > 0 and d.form.op.name == "shr":
        bits = min(bits, masked.bit_length() + by)
    return by, bits


def _is_one_less(v: Value, of: Value) -> bool:
    d = v.definer
    return d is not None and d.form.kind is OpKind.SUM and d.operands[0] is of and (
        constant_of(d.operands[1]) in (-1, (1 << (d.type.bits or 64)) - 1)
        if d.form.op.name == "add" else constant_of(d.operands[1]) == 1 and d.form.op.name == "sub")


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
