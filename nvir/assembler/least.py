"""What an iteration of a loop needs of the machine at least, in the code that the assembler makes.

The operations of `nvir.sm.machine` are those of each instruction by itself. The assembler does with
fewer, since readers take others over (`nvir.assembler.taken_over`), and a bound that counts those
is none. Beside that

    moves of registers and literals        are none
    what is uniform across the warp        may run on the uniform datapath: an issue slot
    addresses of local, constant memory    need the low word of the arithmetic
    counters, addresses that step          stand once for all copies of an unrolled body: the others
                                           are offsets in the accesses
    shfl.sync of what is uniform           is none; where lanes may be apart it is a branch and the
                                           shuffle, from sm_90 on WARPSYNC and it
    IMAD.WIDE by a literal, and an address takes the literal from a register before sm_90: a move in
    in the constant bank                   each block that no such block dominates
    sums of words that are read with       stand in each copy: zeros in front of a sum are not those
    zeros in front of them                 in front of its operands

Where an operation may run on either of two pipes it is counted on the one that is less busy: the
high half of a sum and a left shift are on the ALU or, as IMAD.X and IMAD.SHL, on the FMA pipe. A
sum with a literal or a parameter is IADD3 before sm_90, and a high half with one always (of 1,173
in the corpus that add a register and a uniform word, none is IMAD.X).

Cost    linear in the operations and their readers, once each in the sums of the function.
Source  SASS of ptxas 13.0.88 (benchmarks/resource_mii.py)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from nvir.analysis.analyses import Analyses
from nvir.assembler.regalloc.tables import generation
from nvir.assembler.regalloc.words import low_words, takes_sign
from nvir.assembler.taken_over import (
    FLOATS,
    absorbed,
    extends,
    in_bank,
    is_approximate,
    is_constant_address,
    is_factor,
    is_long_sum,
    is_low_product,
    is_product,
    is_quotient,
    is_scaled,
    is_sum,
    is_zero_extended,
    keeps,
    merged,
    narrows_for_float,
    only_addresses,
    only_read_by_sums,
    rounds_for_integer,
    scaled,
    scales_one_sum,
    shared_addresses,
    shifts_little,
    shifts_right,
    tests_logic,
)
from nvir.ir import Block, Constant, Function, Instruction, OpKind, SpecialRegister, Value
from nvir.ir.loops import Loop
from nvir.sm.machine import literal_of
from nvir.sm.mii import ResourceUse, critical_pipes
from nvir.sm.operation import MachineInstruction
from nvir.sm.profile import Profile

ISSUE = "issue"
ISSUED = "NOP"  # an issue slot is all that it surely takes
EITHER = "IADD"  # on the ALU or the FMA pipe
_OF_ADDRESSES = ("MOV", "UMOV", "S2R", "S2UR", "ULEA", "LDC", "R2UR")  # and of literals
_WORD = 32
_STEPS = (OpKind.SUM, OpKind.MULTIPLY, OpKind.SHIFT)


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
    rules.leave_out(operations)
    for op in operations:
        family = rules.family(op) if op.parent not in rules.gone else None
        if family is not None:
            once = op.parent in stepping or op.parent.form.terminator
            yield op.parent, family, 1 if once else copies
    for b in loop.blocks:
        yield from ((i, family, copies) for i, family in rules.gathers(b))
    yield from ((i, ISSUED, 1) for i in rules.loads(op.parent for op in operations))


class _Rules:
    """What remains of the instructions of one loop on one machine.

    gone      instructions that are part of others
    inverted  divisors whose reciprocal was made
    """

    def __init__(self, loop: Loop, profile: Profile) -> None:
        function = loop.header.function
        assert function is not None
        self.profile, self.inside = profile, set(loop.blocks)
        self.gone: set[Instruction] = set()
        self.inverted: set[Value] = set()
        self.late = generation(profile.capability).late
        self.divergence = Analyses.of(function).divergence
        self.low = Analyses.of(function).get("low words", low_words)
        self.literals = Analyses.of(function).get("literal factors", _literal_factors)

    def leave_out(self, operations: Sequence[MachineInstruction]) -> None:
        """Find the instructions that are part of others."""
        instructions = list(dict.fromkeys(op.parent for op in operations))
        gone = self.gone
        gone |= scaled(instructions, self.inside) | shared_addresses(instructions)
        gone |= merged([op.parent for op in operations if op.family in ("LDS", "STS")])
        gone.update([i for i in instructions if self.is_part(i)])
        gone |= absorbed(instructions, gone)

    def loads(self, instructions: Iterable[Instruction]) -> Iterator[Instruction]:
        """Sums whose product takes its literal from a register, for the address is a parameter:
        one in each block that no other with that literal dominates. Where stores ask for registers
        with constants, all leave the loop together."""
        found = list(dict.fromkeys(instructions))
        if self.late or any(map(_stores_constant, found)):
            return
        made: set[object] = set()
        for i in found:
            key = _literal_factor(i)
            if key is None or key in made or i in self.gone:
                continue
            made.add(key)
            block = i.block
            assert block is not None
            if not any(b is not block and b.dominates(block) for b in self.literals.get(key, ())):
                yield i

    def gathers(self, instructions: Iterable[Instruction]) -> Iterator[tuple[Instruction, str]]:
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
            return i.type.bits <= _WORD and keeps(i)
        if f.kind is OpKind.SHIFT:
            return not self.late and f.name == "shl" and shifts_little(i) and all(
                self._is_offset(u) for u in i.users)
        return self._is_offset(i)

    def _is_offset(self, v: object) -> bool:
        """Whether a sum is made by accesses of shared memory, which add a literal or uniform."""
        if not is_sum(v) or not only_addresses(v):
            return False
        return any(
            isinstance(x, Constant) or not self.divergence.is_divergent(x) for x in v.operands
        ) and not (self.late and any(map(is_scaled, v.operands)))

    def family(self, op: MachineInstruction) -> str | None:
        """The operation that remains of one; None: nothing."""
        family = self._vector(op)
        if family == "MUFU" and is_approximate(op.parent):
            divisor = op.parent.operands[1]
            if divisor in self.inverted:
                return None
            self.inverted.add(divisor)
        return ISSUED if family is not None and self._is_uniform(op.parent) else family

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
        if is_product(i) or scales_one_sum(i) or extends(i):
            return None
        if narrows_for_float(i) or rounds_for_integer(i) or tests_logic(i):
            return None
        if f.kind is OpKind.COPY and len(i.operands) == 1:
            return family if isinstance(i.operands[0], SpecialRegister) else None
        if f.kind is OpKind.SIGN and takes_sign(i):
            return None
        if family == "LOP3" and f.kind is OpKind.CONVERT and i.type.name == "f32":
            return None  # what was loaded has no other bits
        if is_low_product(i):
            return _of_low_product(i, family)
        if is_long_sum(i):
            return _of_long_sum(i, family)
        if f.kind is OpKind.SUM and family == EITHER:
            return self._of_sum(i)
        if f.kind is OpKind.SUM and any(map(is_quotient, i.operands)):
            return None
        if f.name == "shr" and op.results == ((i, 1),):
            cut = all(u.form.name == "cvt" and u.type.bits <= 32 for u in i.users)
            return None if cut else family
        low = op.results[:1] == ((i, 0),)
        return EITHER if f.name == "shl" and family == "SHF" and low else family

    def _accesses(self, i: Instruction, family: str) -> bool:
        """Whether it accesses memory, or extends what was loaded: the address of a variable is made
        before the loop."""
        if i.form.kind is OpKind.ATOMIC:
            return family not in _OF_ADDRESSES
        if self.profile.units[self.profile.operation(family).unit].ordered:
            return family not in _OF_ADDRESSES
        return family == "SHF" and not (i.use_count == 1 and all(map(is_long_sum, i.users)))

    def _of_low_word(self, op: MachineInstruction, family: str) -> str | None:
        """What remains where nothing asks for the high word."""
        i = op.parent
        if op.results and all(r == (i, 1) for r in op.results):
            return None
        if i.form.kind is OpKind.COPY or i.form.kind is OpKind.CONVERT:
            return None
        if family == "IMAD.WIDE":
            return "IMAD" if i.form.name == "mad" or not only_read_by_sums(i) else None
        if is_constant_address(i):
            return None
        return EITHER if i.form.kind in _STEPS and family != "IMAD" else family

    def _of_sum(self, i: Instruction) -> str:
        """A 32-bit sum: what it adds decides whether IMAD.IADD could do it."""
        if any(is_factor(v, self.gone) for v in i.operands):
            return "IMAD"
        if any(shifts_right(v) for v in i.operands):
            return "LEA.HI"
        if self.late:
            negates = i.form.name == "sub" and isinstance(i.operands[0], Constant)
            return "IADD3" if negates else EITHER
        if any(isinstance(v, Constant) for v in i.operands):
            return "IADD3"
        chain = any(is_sum(v) for v in (*i.operands, *i.users))  # two may be one product and sum
        return "IADD3" if not chain and any(map(in_bank, i.operands)) else EITHER


def _of_low_product(i: Instruction, family: str) -> str | None:
    """What remains of one of the operations of a 64-bit product: sums make the wide part."""
    summed = only_read_by_sums(i)
    zero_high = any(is_zero_extended(v) for v in i.operands)
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
        if is_product(v):
            return "IMAD.WIDE" if high else None
        if is_low_product(v) and only_read_by_sums(v):
            if high:
                return "IMAD.WIDE"
            return None if any(is_zero_extended(w) for w in v.operands) else EITHER
        if scales_one_sum(v) and v.block is i.block:
            return "LEA.HI.X" if high else "LEA"
    if high and any(
        extends(v) and v.block is i.block and "s32" in v.form.mods[1:] for v in i.operands
    ):
        return "LEA.HI.X.SX32"
    return EITHER if high and not _adds_high(i) else family


def _adds_high(i: Instruction) -> bool:
    """Whether the high half of a sum has a word of the constant bank or a literal, which IMAD.X
    cannot add to a register."""
    for v, other in (i.operands[:2], i.operands[1::-1]):
        literal = isinstance(v, Constant) and int(v.value) >> _WORD
        if (literal or in_bank(v)) and not is_zero_extended(other) and not in_bank(other):
            return True
    return False


def _literal_factor(i: Instruction) -> object:
    """The literal of the product that a sum with a parameter makes; None of others."""
    if not is_long_sum(i):
        return None
    for v, base in (i.operands[:2], i.operands[1::-1]):
        if is_product(v) and isinstance(v.operands[1], Constant) and in_bank(base):
            return v.operands[1].value
    return None


def _literal_factors(function: Function) -> dict[object, list[Block]]:
    """The blocks that make a product with a literal and add it to a parameter."""
    found: dict[object, list[Block]] = {}
    for b in function.blocks:
        for i in b:
            key = _literal_factor(i)
            if key is not None:
                found.setdefault(key, []).append(b)
    return found


def _stores_constant(i: Instruction) -> bool:
    f = i.form
    return f.kind is OpKind.STORE and any(
        k not in (base for base, _ in f.addresses) and (literal_of(v) or in_bank(v))
        for k, v in enumerate(i.operands[: f.n_sources])
    )


def _stepping(loop: Loop) -> set[Instruction]:
    """What differs from copy to copy by a literal alone: counters, addresses, the exit's test."""
    inside = set(loop.blocks)
    found: set[Value] = set()
    apart: set[Value] = set()
    for phi in loop.header.phis:
        later = [v for v, b in phi.incoming if b in inside]
        step = later[0] if len(later) == 1 else None
        if (
            isinstance(step, Instruction) and step.form.kind is OpKind.SUM
            and phi in step.operands
            and all(v is phi or isinstance(v, Constant) for v in step.operands)
        ):
            found.update((phi, step))
            if _is_widened(phi):
                apart.add(step)
    for b in loop.blocks:
        for i in b:
            if i.form.guard is None and i._results is None and _steps(i, found, inside):
                found.add(i)
    return {
        v for v in found if isinstance(v, Instruction) and v not in apart and not _is_widened(v)
    }


def _is_widened(v: Value) -> bool:
    """Whether zeros are put in front of a word: what is added to it cannot be added behind."""
    return v.type.bits == 32 and any(
        u.form.mods[-1:] == ("u32",) and (u.form.name == "cvt" or "wide" in u.form.mods)
        and u.type.bits == 64 for u in v.users if u._results is None
    )


def _steps(i: Instruction, found: set[Value], inside: set[Block]) -> bool:
    f = i.form
    if f.kind is OpKind.COMPARE:
        return i.operands[0] in found and all(u.form.terminator for u in i.users)
    if f.kind not in _STEPS or "wide" in f.mods or FLOATS.intersection(f.mods):
        return False
    if not any(v in found for v in i.operands):
        return False
    return all(
        v in found or not isinstance(v, Instruction) or v.block not in inside for v in i.operands
    )
