"""Which instructions the assembler makes no operation of, for those that read them do their work.

    a sum, shift or logic, read once       one operation with the sum or logic that reads it
    a product of 32 bits, read by one sum  one IMAD
    mul.wide, all readers add.s64          each sum is an IMAD.WIDE
    mul.lo.s64, all readers add.s64        the last product is made in each sum
    shl.b64, its one reader an add.s64     the sum is a LEA and a LEA.HI.X
    cvt.s64.s32, its one reader a sum      LEA.HI.X.SX32 extends the sign; of zeros no operation
    mad.lo of invariants, shl, add         one product with the invariants shifted before the loop
    setp of logic with zero                the logic makes the predicate
    bytes to floats, floats to integrals   one conversion
    div.approx, read by one sum            its product is an FFMA
    a select of a value read by it alone   that is made under the predicate
    addresses of shared memory             what they add that is literal or uniform, and a shift by
                                           up to 4 before sm_90, is part of the access; those that
                                           differ by variables alone are one
    accesses of shared memory              of 16 bytes at a register, one

Cost    linear in the instructions and their readers.
Source  SASS of ptxas 13.0.88 (benchmarks/resource_mii.py)
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TypeGuard

from nvir.ir import Block, Constant, Instruction, OpKind, SpecialRegister, Value
from nvir.ir.symbols import Variable
from nvir.ir.values import Argument

_TO_INTEGRAL = frozenset(("rni", "rzi", "rmi", "rpi"))
_LOGIC_INPUTS = 3
_MOST_SCALED = 4  # bits by which the address of an access may shift its register
FLOATS = frozenset(("f16", "f16x2", "bf16", "bf16x2", "f32", "f64"))
_TAKEN_BY = {OpKind.SUM: OpKind.SUM, OpKind.SHIFT: OpKind.SUM, OpKind.LOGIC: OpKind.LOGIC}


def absorbed(
    instructions: Sequence[Instruction], without: Set[Instruction]
) -> set[Instruction]:
    """Instructions that are part of their only reader: IADD3 has three operands, so has LOP3, LEA
    shifts one of its two, and IMAD multiplies two of its three."""
    inputs: dict[Instruction, set[Value]] = {}  # of logic: with what it took over
    full: set[Instruction] = set()  # sums that took one over
    gone: set[Instruction] = set()
    for i in instructions:
        f = i.form
        user = _reader(i, without)
        if i in without or user is None or user.block is not i.block:
            continue
        if not _may_join(i) or not _may_join(user):
            continue
        if f.kind is OpKind.LOGIC and user.form.kind is OpKind.LOGIC:
            mine, its = (inputs.get(x, _variables(x)) for x in (i, user))
            if len((mine | its) - {i}) <= _LOGIC_INPUTS:
                inputs[user] = (mine | its) - {i}
                gone.add(i)
            continue
        takes = OpKind.SUM if is_factor(i, without) else _TAKEN_BY.get(f.kind)
        if user.form.kind is not takes:
            continue
        if i in full or user in full or _takes_over(i) or _takes_over(user):
            continue
        shift = f.kind is OpKind.SHIFT and not _shifted(i)
        if i.type.bits == user.type.bits > 1 and not shift:
            gone.add(i)
            full.add(user)
    return gone


def _may_join(i: Instruction) -> bool:
    return i.form.guard is None and i._results is None and not FLOATS.intersection(i.form.mods)


def _variables(i: Instruction) -> set[Value]:
    return {v for v in i.operands if not isinstance(v, Constant)}


def _reader(i: Instruction, gone: Set[Instruction]) -> Instruction | None:
    """The only instruction that reads a value once, of those that remain."""
    users = [u for u in i.users if u not in gone]
    return users[0] if len(users) == 1 and users[0].operands.count(i) == 1 else None


def _takes_over(i: Instruction) -> bool:
    """Whether a 64-bit sum is the IMAD.WIDE or LEA of one of its operands."""
    return is_long_sum(i) and any(
        is_product(v) or (is_low_product(v) and only_read_by_sums(v))
        or (scales_one_sum(v) and v.block is i.block) for v in i.operands
    )


def scaled(instructions: Sequence[Instruction], inside: set[Block]) -> set[Instruction]:
    """Shifts of a product and a sum of invariants, which are shifted before the loop, and the sums
    with an address that read them."""
    gone: set[Instruction] = set()
    for i in instructions:
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


def merged(accesses: Sequence[Instruction]) -> set[Instruction]:
    """Accesses of shared memory that are part of another: of 16 bytes at a register, one load and
    one store remains."""
    lines: set[tuple[OpKind, Value, int]] = set()
    gone: set[Instruction] = set()
    for i in dict.fromkeys(accesses):
        base, offset = (i.operands[k] if k >= 0 else None for k in i.form.addresses[0])
        if base is None or i.form.guard is not None or not isinstance(offset, Constant | None):
            continue
        line = i.form.kind, base, (int(offset.value) if offset is not None else 0) // 16
        gone.update((i,) if line in lines else ())
        lines.add(line)
    return gone


def shared_addresses(instructions: Sequence[Instruction]) -> set[Instruction]:
    """Sums for addresses of shared memory that differ from an earlier one by literals and variables
    alone, with the sums in them; and the last of several multiples, some of which may cancel."""
    seen: set[frozenset[Value]] = set()
    gone: set[Instruction] = set()
    multiples: list[Instruction] = []
    for i in instructions:
        if is_sum(i) and only_addresses(i):
            leaves, sums = _terms(i)
            if leaves in seen:
                gone |= sums
            elif sum(map(_is_multiple, leaves)) > 1:
                gone.add(i)
                multiples += [v for v in leaves if isinstance(v, Instruction)]
            seen.add(leaves)
    gone.update(v for v in multiples if v.form.name == "shl" and _reader(v, gone) is None)
    return gone


def _terms(i: Instruction) -> tuple[frozenset[Value], set[Instruction]]:
    """What a sum adds that is not constant, and the sums that it consists of."""
    leaves: set[Value] = set()
    sums = {i}
    for v in map(_copied, i.operands):
        if is_sum(v) and v.use_count == 1 and v.block is i.block and v.form.name == "add":
            inner, more = _terms(v)
            leaves |= inner
            sums |= more
        elif isinstance(v, Instruction | Argument):
            leaves.add(v)
    return frozenset(leaves), sums


def _is_multiple(v: Value) -> bool:
    if not isinstance(v, Instruction) or v.form.kind not in (OpKind.MULTIPLY, OpKind.SHIFT):
        return False
    return isinstance(v.operands[1], Constant)


def only_addresses(i: Instruction) -> bool:
    """Whether a value is read as an address of shared memory alone."""
    return i.use_count > 0 and all(
        u.form.space.startswith("shared") and any(
            u.operands[base] is i and sum(v is i for v in u.operands) == 1
            for base, _ in u.form.addresses if base >= 0)
        for u in i.users if isinstance(u, Instruction)
    )


def is_constant_address(i: Instruction) -> bool:
    """Whether a sum with a variable is made by loads of constant memory."""
    return i.form.kind is OpKind.SUM and all(u.form.space == "const" for u in i.users) and any(
        isinstance(_copied(v), Variable) for v in i.operands)


def in_bank(v: Value) -> bool:
    """Whether a value stands in the constant bank."""
    v = _copied(v)
    if isinstance(v, SpecialRegister):
        return str(v.name).startswith(("%ntid", "%nctaid"))
    if not isinstance(v, Instruction) or v.form.name != "ld" or v.block is None:
        return False
    function = v.block.function
    return v.form.space.startswith("param") and function is not None and function.kind == "entry"


def _copied(v: Value) -> Value:
    """What a value is a copy of."""
    while isinstance(v, Instruction) and v.form.kind is OpKind.COPY and len(v.operands) == 1:
        if v.form.guard is not None:
            break
        v = v.operands[0]
    return v


def is_sum(v: object) -> TypeGuard[Instruction]:
    return isinstance(v, Instruction) and v.form.kind is OpKind.SUM and v.type.bits == 32


def is_factor(v: Value, gone: Set[Instruction]) -> bool:
    """Whether a product of 32 bits is made by the sum that alone reads it."""
    if not isinstance(v, Instruction) or v.form.name != "mul" or "lo" not in v.form.mods:
        return False
    user = _reader(v, gone)
    return v.type.bits == 32 and v.form.guard is None and is_sum(user) and user.block is v.block


def is_quotient(v: Value) -> bool:
    """Whether a quotient's product is made by the sum that reads it."""
    return isinstance(v, Instruction) and is_approximate(v) and v.use_count == 1


def is_approximate(i: Instruction) -> bool:
    """Whether it is a division by a reciprocal."""
    return i.form.name == "div" and "approx" in i.form.mods


def shifts_little(i: Instruction) -> bool:
    n = i.operands[1]
    return isinstance(n, Constant) and int(n.value) <= _MOST_SCALED


def is_scaled(v: Value) -> bool:
    return isinstance(v, Instruction) and v.form.name == "shl" and _shifted(v)


def _shifted(i: Instruction) -> bool:
    return isinstance(i.operands[1], Constant)


def shifts_right(v: Value) -> bool:
    return isinstance(v, Instruction) and v.form.name == "shr" and _shifted(v) and v.use_count == 1


def keeps(i: Instruction) -> bool:
    """Whether one value of a select is made under the predicate, in the register of the other:
    nothing else reads it, and the other is the select's own phi or ends here."""
    for v, other in (i.operands[:2], i.operands[1::-1]):
        if not isinstance(v, Instruction) or v.use_count != 1 or v.block is not i.block:
            continue
        if not isinstance(other, Instruction) or v.form.guard is not None:
            continue
        own = other.form.is_phi and any(i is x for x in other.operands)
        if own or all(u is i or u is v for u in other.users):
            return True
    return False


def is_long_sum(v: object) -> TypeGuard[Instruction]:
    return (
        isinstance(v, Instruction) and v.form.kind is OpKind.SUM and v._results is None
        and v.type.bits == 64 and not FLOATS.intersection(v.form.mods)
    )


def only_read_by_sums(i: Instruction) -> bool:
    users = list(i.users)
    return bool(users) and all(is_long_sum(u) and u.form.name == "add" for u in users)


def is_product(v: Value) -> TypeGuard[Instruction]:
    """A wide product that all its readers make themselves."""
    return (
        isinstance(v, Instruction) and v.form.name == "mul" and "wide" in v.form.mods
        and v.form.guard is None and only_read_by_sums(v)
    )


def is_low_product(v: object) -> TypeGuard[Instruction]:
    return (
        isinstance(v, Instruction) and v.form.name == "mul" and "lo" in v.form.mods
        and v.type.bits == 64 and v.form.guard is None
    )


def is_zero_extended(v: Value) -> bool:
    f = v.form if isinstance(v, Instruction) else None
    return f is not None and f.name == "cvt" and f.mods[-2:] == ("u64", "u32")


def scales_one_sum(v: Value) -> TypeGuard[Instruction]:
    """Whether a 64-bit value is shifted by the only sum that reads it."""
    return (
        isinstance(v, Instruction) and v.form.name == "shl" and v.type.bits == 64 and _shifted(v)
        and v.form.guard is None and v.use_count == 1 and only_read_by_sums(v)
    )


def extends(v: Value) -> TypeGuard[Instruction]:
    """Whether a widening of 32 bits is part of what reads it: a sign, where that is one."""
    if not isinstance(v, Instruction) or v.form.name != "cvt" or v._results is not None:
        return False
    if v.type.bits != 64 or v.operands[0].type.bits != 32 or FLOATS.intersection(v.form.mods):
        return False
    if "s32" in v.form.mods[1:] and v.use_count > 1:
        return False
    users = list(v.users)
    return bool(users) and all(is_long_sum(u) or scales_one_sum(u) for u in users)


def narrows_for_float(i: Instruction) -> bool:
    """Whether a conversion among integers is read by conversions to floats, which do it as well."""
    if i.form.name != "cvt" or i.form.n_results != 1 or FLOATS.intersection(i.form.mods):
        return False
    users = [u.form for u in i.users]
    return bool(users) and all(
        f.name == "cvt" and not FLOATS.isdisjoint(f.mods[:-1]) for f in users
    )


def rounds_for_integer(i: Instruction) -> bool:
    """Whether a float is rounded for conversions to integers alone, which do it as well."""
    f = i.form
    if f.name != "cvt" or not _TO_INTEGRAL.intersection(f.mods) or not i.type.name.startswith("f"):
        return False
    users = [u.form for u in i.users]
    return bool(users) and all(
        u.name == "cvt" and "rzi" in u.mods and u.mods[-1] in FLOATS and u.mods[-2] not in FLOATS
        for u in users
    )


def tests_logic(i: Instruction) -> bool:
    """Whether a comparison with zero is a predicate that the logical operation makes as well."""
    if i.form.kind is not OpKind.COMPARE or not {"eq", "ne"}.intersection(i.form.mods):
        return False
    v, zero = i.operands[:2]
    return (
        isinstance(v, Instruction) and v.form.kind is OpKind.LOGIC and v.block is i.block
        and v.type.bits <= 32 and isinstance(zero, Constant) and not zero.value
    )
