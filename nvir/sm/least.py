"""What an iteration of a loop needs of the machine at least, in the code that the assembler makes.

The operations of `nvir.sm.machine` are those of each instruction by itself. The assembler does with
fewer, and a bound that counts the others is none:

    mul.wide, all readers add.s64          each sum is an IMAD.WIDE, the product is not made
    shl.b64, all readers add.s64           each sum is a LEA and a LEA.HI.X, the shift is not made
    cvt.s64.s32, read by those and sums    the sign is extended within them
    abs, neg of floats                     modifiers of what reads them
    a sum, shift or logic, read once       one operation with the sum or logic that reads it
    mul.lo.s64, read by one add.s64        the products add it; of a zero-extended operand two
    mad.lo of invariants, shl, add         one product with the invariants shifted before the loop
    moves of registers and literals        none
    shfl.sync under a mask                 a branch where threads diverge, and the shuffle
    the high half of a sum, a left shift   run on the ALU or, as IMAD.X, IMAD.SHL, on the FMA pipe
    loads of 16 bytes of shared memory     one wide load
    counters, addresses that step          once for all copies of an unrolled body: the others are
                                           offsets in the accesses

Cost    linear in the operations and their readers.
Source  SASS of ptxas 13.0.88 (benchmarks/resource_mii.py)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeGuard

from nvir.ir import Block, Constant, Instruction, OpKind, SpecialRegister, Value
from nvir.ir.loops import Loop
from nvir.sm.mii import ResourceUse, critical_pipes
from nvir.sm.operation import MachineInstruction
from nvir.sm.profile import Profile

ISSUE = "issue"
_STEPS = (OpKind.SUM, OpKind.MULTIPLY, OpKind.SHIFT)
_FLOATS = frozenset(("f16", "f16x2", "bf16", "bf16x2", "f32", "f64"))


def least_resource(
    operations: Sequence[MachineInstruction], loop: Loop, profile: Profile, copies: int = 1
) -> tuple[int, str | None]:
    """(ResMII, what binds) of one iteration of a loop whose body will stand `copies` times."""
    found: list[tuple[tuple[str, ...], int]] = []
    issued = 0
    for op, family, weight in least_operations(operations, loop, copies):
        row = profile.operation(family)
        pipes = row.pipes
        if family == "IADD3.X" or (family == "SHF" and op.parent.form.name == "shl"):
            pipes = profile.operation("IADD").pipes
        issued += weight
        found.append((pipes, weight * max(1, row.interval)))
    units = {name: pipe.units for name, pipe in profile.pipes.items()}
    best = critical_pipes(found, units)
    width = profile.issue_width
    if width:
        use = ResourceUse(ISSUE, issued, width)
        best = use if use.binds_before(best) else best
    if best is None or not best.uses:
        return 1, None
    return max(1, -(-best.uses // (best.units * copies))), best.resource


def least_operations(
    operations: Sequence[MachineInstruction], loop: Loop, copies: int = 1
) -> Iterator[tuple[MachineInstruction, str, int]]:
    """Each operation that remains, what it is, and how often it stands in all copies together."""
    stepping = _stepping(loop) if copies > 1 else set()
    gone = _absorbed(operations) | _scaled(operations, set(loop.blocks))
    for op in operations:
        family = _family(op)
        if family is not None and op.parent not in gone:
            once = op.parent in stepping or op.parent.form.terminator
            yield op, family, 1 if once else copies


def _family(op: MachineInstruction) -> str | None:
    """The operation that remains of one; None: nothing."""
    i, family = op.parent, op.family or ""
    f = i.form
    if f.guard is not None:
        return family
    if family == "IMAD.WIDE" and "wide" in f.mods and f.name == "mul" and _only_read_by_sums(i):
        return None
    if f.name == "shl" and i.type.bits == 64 and _shifted(i) and _only_read_by_sums(i):
        return None
    if _extends(i):
        return None
    if f.name.startswith("shfl") and family not in ("SHFL", "BRA"):
        return None
    if f.kind is OpKind.COPY and len(i.operands) == 1:
        return family if isinstance(i.operands[0], SpecialRegister) else None
    zero_high = _is_low_product(i) and any(_is_zero_extended(v) for v in i.operands)
    if zero_high and family != "IMAD.WIDE":
        return family if op.results[0][0] is i and family == "IADD" else None
    if _is_long_sum(i) and any(_is_low_product(v) and v.use_count == 1 for v in i.operands):
        return None
    if f.kind is OpKind.SIGN and _FLOATS.intersection(f.mods):
        return None
    if _is_long_sum(i) and family != "IMAD.WIDE" and any(_is_product(v) for v in i.operands):
        return "IMAD.WIDE" if family == "IADD3.X" else None
    return family


def _absorbed(operations: Sequence[MachineInstruction]) -> set[Instruction]:
    """Instructions that are part of their only reader: IADD3 has three operands, so has LOP3, and
    LEA shifts one of its two."""
    full: set[Instruction] = set()  # readers that took one over
    gone: set[Instruction] = set()
    for i in dict.fromkeys(op.parent for op in operations):
        f = i.form
        if f.guard is not None or i._results is not None or _FLOATS.intersection(f.mods):
            continue
        user = next(iter(i.users), None) if i.use_count == 1 else None
        if user is None or user.block is not i.block or user in full or user.form.guard is not None:
            continue
        takes = _TAKEN_BY.get(f.kind)
        if i in gone or user.form.kind is not takes or _FLOATS.intersection(user.form.mods):
            continue
        shift = f.kind is OpKind.SHIFT and not _shifted(i)
        if i.type.bits == user.type.bits > 1 and not shift:
            gone.add(i)
            full.add(user)
    return (gone - full) | _merged_loads(operations)


def _scaled(operations: Sequence[MachineInstruction], inside: set[Block]) -> set[Instruction]:
    """Shifts of a product and a sum of invariants, which are shifted before the loop, and the sums
    with an address that read them."""
    gone: set[Instruction] = set()
    for i in dict.fromkeys(op.parent for op in operations):
        v = i.operands[0] if i.form.name == "shl" and _shifted(i) else None
        if (
            isinstance(v, Instruction) and v.form.name == "mad" and v.use_count == 1
            and "lo" in v.form.mods and v.type.bits == i.type.bits == 32
            and sum(not _is_invariant(x, inside) for x in v.operands) <= 1
        ):
            gone.add(i)
            gone.update(u for u in i.users if isinstance(u, Instruction) and i.use_count == 1
                        and u.form.kind is OpKind.SUM and u.block in inside)
    return gone


def _is_invariant(v: Value, inside: set[Block]) -> bool:
    if not isinstance(v, Instruction) or v.block not in inside:
        return True
    return v.form.kind is OpKind.CONVERT and _is_invariant(v.operands[0], inside)


def _is_low_product(v: object) -> TypeGuard[Instruction]:
    return (
        isinstance(v, Instruction) and v.form.name == "mul" and "lo" in v.form.mods
        and v.type.bits == 64 and v.form.guard is None
    )


def _is_zero_extended(v: Value) -> bool:
    f = v.form if isinstance(v, Instruction) else None
    return f is not None and f.name == "cvt" and f.mods[-2:] == ("u64", "u32")


def _merged_loads(operations: Sequence[MachineInstruction]) -> set[Instruction]:
    """Loads from shared memory that are part of another: of 16 bytes at a register, one remains."""
    lines: set[tuple[Value, int]] = set()
    gone: set[Instruction] = set()
    for i in dict.fromkeys(op.parent for op in operations if op.family == "LDS"):
        base, offset = (i.operands[k] if k >= 0 else None for k in i.form.addresses[0])
        if base is None or i.form.guard is not None or not isinstance(offset, Constant | None):
            continue
        line = base, (int(offset.value) if offset is not None else 0) // 16
        gone.update((i,) if line in lines else ())
        lines.add(line)
    return gone


_TAKEN_BY = {OpKind.SUM: OpKind.SUM, OpKind.SHIFT: OpKind.SUM, OpKind.LOGIC: OpKind.LOGIC}


def _is_long_sum(v: object) -> bool:
    return (
        isinstance(v, Instruction) and v.form.kind is OpKind.SUM and v._results is None
        and v.type.bits == 64 and not _FLOATS.intersection(v.form.mods)
    )


def _only_read_by_sums(i: Instruction) -> bool:
    users = list(i.users)
    return bool(users) and all(_is_long_sum(u) and u.form.name == "add" for u in users)


def _is_product(v: Value) -> bool:
    return (
        isinstance(v, Instruction) and v.form.name == "mul" and "wide" in v.form.mods
        and v.form.guard is None and _only_read_by_sums(v)
    )


def _shifted(i: Instruction) -> bool:
    return isinstance(i.operands[1], Constant)


def _extends(i: Instruction) -> bool:
    """Whether a widening of 32 bits is part of all that read it."""
    if i.form.name != "cvt" or i._results is not None or i.type.bits != 64:
        return False
    if i.operands[0].type.bits != 32 or _FLOATS.intersection(i.form.mods):
        return False
    users = list(i.users)
    return bool(users) and all(
        _is_long_sum(u) or (isinstance(u, Instruction) and u.form.name == "shl" and _shifted(u)
                            and _only_read_by_sums(u))
        for u in users
    )


def _stepping(loop: Loop) -> set[Instruction]:
    """What differs from copy to copy by a literal alone: counters, addresses, the exit's test."""
    inside = set(loop.blocks)
    found: set[Value] = set()
    for phi in loop.header.phis:
        later = [v for v, b in phi.incoming if b in inside]
        step = later[0] if len(later) == 1 else None
        if (
            isinstance(step, Instruction) and step.form.kind is OpKind.SUM
            and phi in step.operands
            and all(v is phi or isinstance(v, Constant) for v in step.operands)
        ):
            found.update((phi, step))
    for b in loop.blocks:
        for i in b:
            if i.form.guard is None and i._results is None and _steps(i, found, inside):
                found.add(i)
    return {v for v in found if isinstance(v, Instruction)}


def _steps(i: Instruction, found: set[Value], inside: set[Block]) -> bool:
    f = i.form
    if f.kind is OpKind.COMPARE:
        return i.operands[0] in found and all(u.form.terminator for u in i.users)
    if f.kind not in _STEPS or "wide" in f.mods or _FLOATS.intersection(f.mods):
        return False
    if not any(v in found for v in i.operands):
        return False
    return all(
        v in found or not isinstance(v, Instruction) or v.block not in inside for v in i.operands
    )
