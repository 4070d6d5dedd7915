"""What an iteration of a loop needs of the machine at least, in the code that the assembler makes.

The operations of `nvir.sm.machine` are those of each instruction by itself. The assembler does with
fewer, and a bound that counts the others is none:

    mul.wide, all readers add.s64          each sum is an IMAD.WIDE, the product is not made
    shl.b64, its one reader an add.s64     the sum is a LEA and a LEA.HI.X, the shift is not made
    cvt.s64.s32, its one reader a sum      LEA.HI.X.SX32 extends the sign; of zeros no operation
    abs, neg of floats                     modifiers of what reads them, where it has those
    a sum, shift or logic, read once       one operation with the sum or logic that reads it
    mul.lo.s64, all readers add.s64        the last product is made in each sum
    mad.lo of invariants, shl, add         one product with the invariants shifted before the loop
    setp of logic with zero                the logic makes the predicate
    conversions of bytes to floats         one operation
    a product of 32 bits, read by one sum  one IMAD
    div.approx, read by one sum            its product is an FFMA
    a sum with a literal or what is uni-   part of the address in accesses of shared memory, before
    form, a shift by up to 4               sm_90 with the shift
    a sum that a phi keeps or not          guarded, without a select
    shfl.sync of what is uniform           none
    moves of registers and literals        none
    addresses of local memory              the low word of the arithmetic
    loads of 16 bytes of shared memory     one wide load
    counters, addresses that step          once for all copies of an unrolled body: the others are
                                           offsets in the accesses

Some takes more than the sum of its instructions:

    shfl.sync where lanes may be apart     a branch (before sm_90), or WARPSYNC

Where an operation may run on either of two pipes it is counted on the one that is less busy: the
high half of a sum and a left shift are on the ALU or, as IMAD.X and IMAD.SHL, on the FMA pipe. A
sum of a register and a literal or a parameter is IADD3 before sm_90.

Cost    linear in the operations and their readers.
Source  SASS of ptxas 13.0.88 (benchmarks/resource_mii.py)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import TypeGuard

from nvir.analysis.analyses import Analyses
from nvir.assembler.regalloc.tables import generation
from nvir.assembler.regalloc.words import low_words, takes_sign
from nvir.ir import Block, Constant, Instruction, OpKind, SpecialRegister, Value
from nvir.ir.symbols import Variable
from nvir.ir.values import Argument
from nvir.ir.loops import Loop
from nvir.sm.machine import literal_of
from nvir.sm.mii import ResourceUse, critical_pipes
from nvir.sm.operation import MachineInstruction
from nvir.sm.profile import Profile

ISSUE = "issue"
ISSUED = "NOP"  # an issue slot is all that it surely takes
EITHER = "IADD"  # on the ALU or the FMA pipe
_OF_ADDRESSES = ("MOV", "UMOV", "S2R", "S2UR", "ULEA", "LDC", "R2UR")  # and of literals
_STEPS = (OpKind.SUM, OpKind.MULTIPLY, OpKind.SHIFT)
_TO_INTEGRAL = frozenset(("rni", "rzi", "rmi", "rpi"))
_LOGIC_INPUTS = 3
_MOST_SCALED = 4  # bits by which the address of an access may shift its register
_FLOATS = frozenset(("f16", "f16x2", "bf16", "bf16x2", "f32", "f64"))


def least_resource(
    operations: Sequence[MachineInstruction], loop: Loop, profile: Profile, copies: int = 1
) -> tuple[int, str | None]:
    """(ResMII, what binds) of one iteration of a loop whose body will stand `copies` times."""
    found: list[tuple[tuple[str, ...], int]] = []
    issued = 0
    for _, family, weight in least_operations(operations, loop, profile, copies):
        row = profile.operation(family)
        issued += weight
        found.append((row.pipes, weight * max(1, row.interval)))
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
    operations: Sequence[MachineInstruction], loop: Loop, profile: Profile, copies: int = 1
) -> Iterator[tuple[Instruction, str, int]]:
    """Each operation that remains: of which instruction, what it is, and how often it stands in all
    copies together."""
    rules = _Rules(loop, profile)
    stepping = _stepping(loop) if copies > 1 else set()
    instructions = list(dict.fromkeys(op.parent for op in operations))
    gone = rules.gone
    gone |= _scaled(instructions, set(loop.blocks)) | _shared_addresses(instructions)
    gone |= _merged([op.parent for op in operations if op.family in ("LDS", "STS")])
    gone.update([i for i in instructions if rules.is_part(i)])
    inverted = set[Value]()
    gone |= _absorbed(instructions, gone)
    for op in operations:
        family = rules.family(op)
        if family == "MUFU" and op.parent.form.name == "div" and "approx" in op.parent.form.mods:
            family = None if op.parent.operands[1] in inverted else family
            inverted.add(op.parent.operands[1])
        if family is not None and op.parent not in gone:
            once = op.parent in stepping or op.parent.form.terminator
            yield op.parent, family, 1 if once else copies
    yield from ((i, family, copies) for i, family in rules.gathers(instructions))


class _Rules:
    """What remains of the instructions of one loop on one machine."""

    def __init__(self, loop: Loop, profile: Profile) -> None:
        function = loop.header.function
        assert function is not None
        self.profile = profile
        self.gone: set[Instruction] = set()
        self.late = generation(profile.capability).late
        self.divergence = Analyses.of(function).divergence
        self.low = Analyses.of(function).get("low words", low_words)

    def gathers(self, instructions: Sequence[Instruction]) -> Iterator[tuple[Instruction, str]]:
        """What brings the lanes of a shuffle together; once for all under one mask."""
        masks: set[Value] = set()
        for i in instructions:
            if i.form.name == "shfl.sync" and i.block in self.divergence.apart:
                mask = i.operands[i.form.n_sources - 1]
                if mask in masks or self._is_same(i):
                    continue
                if literal_of(mask) is None:
                    masks.add(mask)
                yield i, "WARPSYNC" if "gathers_lanes" in self.profile.features else "BRA"

    def _is_same(self, i: Instruction) -> bool:
        """Whether a shuffle gives each lane what it has."""
        return not self.divergence.is_divergent(i.operands[0])

    def is_part(self, i: Instruction) -> bool:
        """Whether an instruction is part of those that read it, or does nothing."""
        f = i.form
        if f.guard is not None:
            return False
        if f.name == "shfl.sync":
            return self._is_same(i)
        if f.kind is OpKind.SELECT:
            return _keeps(i)
        if f.kind is OpKind.SHIFT:
            return not self.late and f.name == "shl" and _shifts_little(i) and all(
                self._is_offset(u) for u in i.users)
        return self._is_offset(i)

    def _is_offset(self, v: object) -> bool:
        """Whether a sum is made by accesses of shared memory, which add a literal or uniform."""
        if not _is_sum(v) or not _only_addresses(v):
            return False
        return any(
            isinstance(x, Constant) or not self.divergence.is_divergent(x) for x in v.operands
        ) and not (self.late and any(map(_is_scaled, v.operands)))

    def family(self, op: MachineInstruction) -> str | None:
        """The operation that remains of one; None: nothing."""
        family = self._vector(op)
        if family is not None and (self._is_uniform(op.parent) or self._is_short(op, family)):
            return ISSUED
        return family

    def _is_short(self, op: MachineInstruction, family: str) -> bool:
        """Whether a conversion has two forms, on different pipes."""
        short = op.parent.form.name == "cvt" and op.parent.operands[0].type.bits < 32
        return short and family == "I2F" and "conversions_in_alu" in self.profile.features

    def _is_uniform(self, i: Instruction) -> bool:
        """Whether an integer operation may run once for the warp, whose lanes are together."""
        f = i.form
        if not f.op.uniform or f.terminator or i.block in self.divergence.apart:
            return False
        return not any(map(self.divergence.is_divergent, i.results))

    def _vector(self, op: MachineInstruction) -> str | None:
        i, family = op.parent, op.family or ""
        f = i.form
        if f.guard is not None:
            return family
        if i in self.low:
            return self._of_low_word(op, family)
        if f.name.startswith("shfl"):
            return family if family == "SHFL" else None
        if f.addresses:
            return family if self._accesses(i, family) else None
        if _is_product(i) or _scales_one_sum(i) or _extends(i):
            return None
        if _narrows_for_float(i) or _rounds_for_integer(i) or _tests_logic(i):
            return None
        if f.kind is OpKind.COPY and len(i.operands) == 1:
            return family if isinstance(i.operands[0], SpecialRegister) else None
        if f.kind is OpKind.SIGN and takes_sign(i):
            return None
        if _is_low_product(i):
            return _of_low_product(i, family)
        if _is_long_sum(i):
            return _of_long_sum(i, family)
        if f.kind is OpKind.SUM and family == EITHER:
            return self._of_sum(i)
        if f.kind is OpKind.SUM and any(map(_is_quotient, i.operands)):
            return None
        if f.name == "shr" and i.type.bits == 64 and op.results == ((i, 1),):
            return None if all(u.form.name == "cvt" and u.type.bits <= 32 for u in i.users) else family
        low = op.results[:1] == ((i, 0),)
        return EITHER if f.name == "shl" and family == "SHF" and low else family

    def _accesses(self, i: Instruction, family: str) -> bool:
        """Whether it accesses memory, or extends what was loaded: the address of a variable is made
        before the loop."""
        if i.form.kind is OpKind.ATOMIC:
            return family not in _OF_ADDRESSES
        if self.profile.units[self.profile.operation(family).unit].ordered:
            return family not in _OF_ADDRESSES
        return family == "SHF" and not (i.use_count == 1 and all(map(_is_long_sum, i.users)))

    def _of_low_word(self, op: MachineInstruction, family: str) -> str | None:
        """What remains where nothing asks for the high word."""
        i = op.parent
        if op.results and all(r == (i, 1) for r in op.results):
            return None
        if i.form.kind is OpKind.COPY or i.form.kind is OpKind.CONVERT:
            return None
        if family == "IMAD.WIDE":
            return "IMAD" if i.form.name == "mad" or not _only_read_by_sums(i) else None
        if _is_constant_address(i):
            return None
        return EITHER if i.form.kind in _STEPS and family != "IMAD" else family

    def _of_sum(self, i: Instruction) -> str:
        """A 32-bit sum: what it adds decides whether IMAD.IADD could do it."""
        if any(_is_factor(v, self.gone) for v in i.operands):
            return "IMAD"
        if any(_shifts_right(v) for v in i.operands):
            return "LEA.HI"
        if self.late:
            return EITHER
        if any(isinstance(v, Constant) for v in i.operands):
            return "IADD3"
        chain = any(_is_sum(v) for v in (*i.operands, *i.users))  # two may be one product and sum
        return "IADD3" if not chain and any(map(_in_bank, i.operands)) else EITHER


def _is_sum(v: object) -> TypeGuard[Instruction]:
    return isinstance(v, Instruction) and v.form.kind is OpKind.SUM and v.type.bits == 32


def _is_constant_address(i: Instruction) -> bool:
    """Whether a sum with a variable is made by loads of constant memory."""
    return i.form.kind is OpKind.SUM and all(u.form.space == "const" for u in i.users) and any(
        isinstance(_copied(v), Variable) for v in i.operands)


def _only_addresses(i: Instruction) -> bool:
    """Whether a value is read as an address of shared memory alone."""
    return i.use_count > 0 and all(
        u.form.space.startswith("shared") and any(
            u.operands[base] is i and sum(v is i for v in u.operands) == 1
            for base, _ in u.form.addresses if base >= 0)
        for u in i.users if isinstance(u, Instruction)
    )


def _shifts_little(i: Instruction) -> bool:
    n = i.operands[1]
    return isinstance(n, Constant) and int(n.value) <= _MOST_SCALED


def _is_scaled(v: Value) -> bool:
    return isinstance(v, Instruction) and v.form.name == "shl" and _shifted(v)


def _keeps(i: Instruction) -> bool:
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


def _is_factor(v: Value, gone: Set[Instruction]) -> bool:
    """Whether a product of 32 bits is made by the sum that alone reads it."""
    if not isinstance(v, Instruction) or v.form.name != "mul" or "lo" not in v.form.mods:
        return False
    user = _reader(v, gone)
    return v.type.bits == 32 and v.form.guard is None and _is_sum(user) and user.block is v.block


def _reader(i: Instruction, gone: Set[Instruction]) -> Instruction | None:
    """The only instruction that reads a value once, of those that remain."""
    users = [u for u in i.users if u not in gone]
    return users[0] if len(users) == 1 and users[0].operands.count(i) == 1 else None


def _shared_addresses(instructions: Sequence[Instruction]) -> set[Instruction]:
    """Sums for addresses of shared memory that differ from an earlier one by literals and variables
    alone, with the sums in them."""
    seen: set[frozenset[Value]] = set()
    gone: set[Instruction] = set()
    for i in instructions:
        if _is_sum(i) and _only_addresses(i):
            leaves, sums = _terms(i)
            if leaves in seen:
                gone |= sums
            seen.add(leaves)
    return gone


def _terms(i: Instruction) -> tuple[frozenset[Value], set[Instruction]]:
    """What a sum adds that is not constant, and the sums that it consists of."""
    leaves: set[Value] = set()
    sums = {i}
    for v in map(_copied, i.operands):
        if _is_sum(v) and v.use_count == 1 and v.block is i.block and v.form.name == "add":
            inner, more = _terms(v)
            leaves |= inner
            sums |= more
        elif isinstance(v, Instruction | Argument):
            leaves.add(v)
    return frozenset(leaves), sums


def _is_quotient(v: Value) -> bool:
    return (
        isinstance(v, Instruction) and v.form.name == "div" and "approx" in v.form.mods
        and v.use_count == 1
    )


def _in_bank(v: Value) -> bool:
    """Whether a value stands in the constant bank."""
    v = _copied(v)
    if isinstance(v, SpecialRegister):
        return str(v.name).startswith(("%ntid", "%nctaid"))
    if not isinstance(v, Instruction) or v.form.name != "ld":
        return False
    entry = v.block is not None and v.block.function is not None
    return v.form.space.startswith("param") and entry and v.block.function.kind == "entry"


def _copied(v: Value) -> Value:
    """What a value is a copy of."""
    while isinstance(v, Instruction) and v.form.kind is OpKind.COPY and len(v.operands) == 1:
        if v.form.guard is not None:
            break
        v = v.operands[0]
    return v


def _of_low_product(i: Instruction, family: str) -> str | None:
    """What remains of one of the operations of a 64-bit product: sums make the wide part."""
    summed = _only_read_by_sums(i)
    zero_high = any(_is_zero_extended(v) for v in i.operands)
    if family == "IMAD.WIDE":
        return None if summed else family
    if family == "IMAD":
        return None if zero_high else family
    return "IMAD" if zero_high else None if summed else family


def _of_long_sum(i: Instruction, family: str) -> str | None:
    """What remains of one of the operations of a 64-bit sum."""
    high = family == "IADD3.X"
    if family == "IMAD.WIDE":
        return family
    for v in i.operands:
        if _is_product(v):
            return "IMAD.WIDE" if high else None
        if _is_low_product(v) and _only_read_by_sums(v):
            if high:
                return "IMAD.WIDE"
            return None if any(_is_zero_extended(w) for w in v.operands) else EITHER
        if _scales_one_sum(v) and v.block is i.block:
            return "LEA.HI.X" if high else "LEA"
    if high and any(
        _extends(v) and v.block is i.block and "s32" in v.form.mods[1:] for v in i.operands
    ):
        return "LEA.HI.X.SX32"
    return EITHER if high else family


def _takes_over(i: Instruction) -> bool:
    """Whether a 64-bit sum is the IMAD.WIDE or LEA of one of its operands."""
    return _is_long_sum(i) and any(
        _is_product(v) or (_is_low_product(v) and _only_read_by_sums(v))
        or (_scales_one_sum(v) and v.block is i.block) for v in i.operands
    )


_TAKEN_BY = {OpKind.SUM: OpKind.SUM, OpKind.SHIFT: OpKind.SUM, OpKind.LOGIC: OpKind.LOGIC}


def _absorbed(
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
        if i in without or user is None or not _may_join(i) or not _may_join(user) or user.block is not i.block:
            continue
        if f.kind is OpKind.LOGIC and user.form.kind is OpKind.LOGIC:
            mine, its = (inputs.get(x, _variables(x)) for x in (i, user))
            if len((mine | its) - {i}) <= _LOGIC_INPUTS:
                inputs[user] = (mine | its) - {i}
                gone.add(i)
            continue
        if user.form.kind is not _TAKEN_BY.get(f.kind, OpKind.SUM if _is_factor(i, without) else None):
            continue
        if i in full or user in full or _takes_over(i) or _takes_over(user):
            continue
        shift = f.kind is OpKind.SHIFT and not _shifted(i)
        if i.type.bits == user.type.bits > 1 and not shift:
            gone.add(i)
            full.add(user)
    return gone


def _may_join(i: Instruction) -> bool:
    return i.form.guard is None and i._results is None and not _FLOATS.intersection(i.form.mods)


def _variables(i: Instruction) -> set[Value]:
    return {v for v in i.operands if not isinstance(v, Constant)}


def _scaled(instructions: Sequence[Instruction], inside: set[Block]) -> set[Instruction]:
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


def _merged(accesses: Sequence[Instruction]) -> set[Instruction]:
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


def _is_long_sum(v: object) -> TypeGuard[Instruction]:
    return (
        isinstance(v, Instruction) and v.form.kind is OpKind.SUM and v._results is None
        and v.type.bits == 64 and not _FLOATS.intersection(v.form.mods)
    )


def _is_product(v: Value) -> bool:
    """A wide product that all its readers make themselves."""
    return (
        isinstance(v, Instruction) and v.form.name == "mul" and "wide" in v.form.mods
        and v.form.guard is None and _only_read_by_sums(v)
    )


def _is_low_product(v: object) -> TypeGuard[Instruction]:
    return (
        isinstance(v, Instruction) and v.form.name == "mul" and "lo" in v.form.mods
        and v.type.bits == 64 and v.form.guard is None
    )


def _is_zero_extended(v: Value) -> bool:
    f = v.form if isinstance(v, Instruction) else None
    return f is not None and f.name == "cvt" and f.mods[-2:] == ("u64", "u32")


def _only_read_by_sums(i: Instruction) -> bool:
    users = list(i.users)
    return bool(users) and all(_is_long_sum(u) and u.form.name == "add" for u in users)


def _shifted(i: Instruction) -> bool:
    return isinstance(i.operands[1], Constant)


def _shifts_right(v: Value) -> bool:
    return isinstance(v, Instruction) and v.form.name == "shr" and _shifted(v) and v.use_count == 1


def _scales_one_sum(v: Value) -> TypeGuard[Instruction]:
    """Whether a 64-bit value is shifted by the only sum that reads it."""
    return (
        isinstance(v, Instruction) and v.form.name == "shl" and v.type.bits == 64 and _shifted(v)
        and v.form.guard is None and v.use_count == 1 and _only_read_by_sums(v)
    )


def _extends(v: Value) -> TypeGuard[Instruction]:
    """Whether a widening of 32 bits is part of what reads it: a sign, where that is one."""
    if not isinstance(v, Instruction) or v.form.name != "cvt" or v._results is not None:
        return False
    if v.type.bits != 64 or v.operands[0].type.bits != 32 or _FLOATS.intersection(v.form.mods):
        return False
    if "s32" in v.form.mods[1:] and v.use_count > 1:
        return False
    users = list(v.users)
    return bool(users) and all(_is_long_sum(u) or _scales_one_sum(u) for u in users)


def _narrows_for_float(i: Instruction) -> bool:
    """Whether a conversion among integers is read by conversions to floats, which do it as well."""
    if i.form.name != "cvt" or i.form.n_results != 1 or _FLOATS.intersection(i.form.mods):
        return False
    users = [u.form for u in i.users]
    return bool(users) and all(
        f.name == "cvt" and not _FLOATS.isdisjoint(f.mods[:-1]) for f in users
    )


def _rounds_for_integer(i: Instruction) -> bool:
    """Whether a float is rounded for conversions to integers alone, which do it as well."""
    f = i.form
    if f.name != "cvt" or not _TO_INTEGRAL.intersection(f.mods) or not i.type.name.startswith("f"):
        return False
    users = [u.form for u in i.users]
    return bool(users) and all(
        u.name == "cvt" and "rzi" in u.mods and u.mods[-1] in _FLOATS and u.mods[-2] not in _FLOATS
        for u in users
    )


def _tests_logic(i: Instruction) -> bool:
    """Whether a comparison with zero is a predicate that the logical operation makes as well."""
    if i.form.kind is not OpKind.COMPARE or not {"eq", "ne"}.intersection(i.form.mods):
        return False
    v, zero = i.operands[:2]
    return (
        isinstance(v, Instruction) and v.form.kind is OpKind.LOGIC and v.block is i.block
        and v.type.bits <= 32 and isinstance(zero, Constant) and not zero.value
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
