"""A function as machine instructions: each PTX instruction expanded by its template.

`machine(function, profile)` gives a flat list in layout order: the operation of the SASS, the
32-bit registers that it writes and reads, its guard, and the PTX instruction that it belongs to.
Register allocation, the schedulers and the simulator read this list; it is no third level of IR.

A register is a pair (value, word): word 1 of a 64-bit value is its high half. Values that are only
a copy, a half or a widening of another have no operation; their registers are those of the other.
Literals have no register, also where a `mov` holds them: such a move is an operation only where
somebody needs the value in a register (a phi, a store). Kernel parameters stand in the constant
bank and have none either.

What the assembler does across instructions is not undone here, save for what it always does: see
`nvir.sm.fusion`.

Cost    one table look-up and a small object for each operation; linear.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nvir.ir import Block, Constant, Form, SpecialRegister, Symbol, SymbolOffset, Undef, Value
from nvir.ir.errors import Unsupported
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.symbols import Variable
from nvir.sm.fusion import fuse
from nvir.sm.latency import family_named, latency_class
from nvir.sm.operation import MachineInstruction, Register, Temporary, register_name, words_of
from nvir.sm.profile import Profile
from nvir.sm.templates.lookup import template
from nvir.sm.templates.table import Shape, Slot, Step


def literal_of(value: Value) -> Constant | None:
    """The literal that a value is, also through copies; None where it is none."""
    for _ in range(4):
        if isinstance(value, Constant):
            return value
        d = value.definer
        if d is None or d is not value or d.form.name != "mov" or d.form.guard is not None:
            return None
        if len(d.operands) != 1:
            return None
        value = d.operands[0]
    return None


def machine(
    function: Function, profile: Profile, *, strict: bool = False
) -> list[MachineInstruction]:
    """The function's machine instructions in layout order, phis left out.

    Where no template fits, the operation's family is None, or with `strict` it raises Unsupported.
    """
    return expand(function.blocks, profile, strict=strict).operations


def unit_of(i: Instruction, profile: Profile) -> str | None:
    """The unit of an instruction's last operation; None where it has none."""
    made = Expansion(profile, strict=False)
    made.add(i)
    family = made.operations[-1].family if made.operations else None
    return None if family is None else profile.operation(family).unit


def instruction_class(i: Instruction, profile: Profile) -> int:
    """The class of an instruction's operation. Where the profile gives its unit another class than
    the notes do, what is of the unit's noted class has that; what is not (wide sums) keeps its own.
    """
    code = latency_class(i.form.spelling, profile)
    if all(u.latency_class == u.noted_class for u in profile.units.values()):
        return code
    unit = profile.units.get(unit_of(i, profile) or "")
    return unit.latency_class if unit is not None and unit.noted_class == code else code


def operand_class(i: Instruction, index: int, profile: Profile) -> int:
    """The class of an operand, 0 being the result: by the opcode that has it, never by what made
    its value. The family's rule tells operands apart where the operation's class is one that it
    gives; elsewhere (textures; no family) all of them have that class."""
    own, family = instruction_class(i, profile), family_named(i.form.spelling)
    if family is None:
        return own
    words = (own,) * 5  # word 4 is where loads have their class
    given = {family.rule(0, words, k) for k in (0, 1)}
    return family.rule(0, words, min(index, 4)) if own in given else own


def expand(
    blocks: Iterable[Block], profile: Profile, *, strict: bool = False
) -> Expansion:
    """As `machine`, of some blocks, with the map from values to registers."""
    e = Expansion(profile, strict)
    for block in blocks:
        for i in block:
            e.add(i)
    e.finish()
    fuse(e.operations)
    return e


class Expansion:
    """The operations of some blocks while they are made, and which registers are one.

    operations   in order
    """

    __slots__ = ("_alias", "_constants", "_temporaries", "operations", "profile", "strict")

    def __init__(self, profile: Profile, strict: bool) -> None:
        self.profile, self.strict = profile, strict
        self.operations: list[MachineInstruction] = []
        self._alias: dict[Register, Register | None] = {}
        self._constants: list[MachineInstruction] = []
        self._temporaries = 0

    def resolve(self, register: Register) -> Register | None:
        """The register that one is a copy of; itself; None where it is a literal or zero."""
        seen = 0
        alias = self._alias
        while register in alias:
            target = alias[register]
            seen += 1
            if target is None or seen > 64:
                return None
            register = target
        return register

    def registers(self, value: Value) -> list[Register]:
        """The registers that hold a value; fewer than its words where some are known."""
        if not _has_register(value):
            return []
        found = (self.resolve((value, w)) for w in range(words_of(value)))
        return [r for r in found if r is not None]

    def add(self, i: Instruction) -> None:
        """Append the operations of an instruction."""
        f = i.form
        if f.op.pseudo:
            return
        steps = template(shape_of(i, self.profile.features))
        if steps is None:
            self._unknown(i)
            return
        if f.name == "mov" and _is_unread_literal(i):
            return
        guard: Register | None = None
        g = i.guard
        if g is not None and _has_register(g):
            guard = (g, 0)
        temporaries: dict[Slot, Register] = {}
        for step in steps:
            self._step(step, i, guard, temporaries)

    def finish(self) -> None:
        """Put the registers of copies in the operands; called once, after all instructions."""
        alias = self._alias
        for op in self.operations:
            sources = op.sources
            if any(r in alias for r in sources):
                found = (self.resolve(r) for r in sources)
                op.sources = tuple(r for r in found if r is not None)
            if op.guard is not None and op.guard in alias:
                op.guard = self.resolve(op.guard)

    # -------------------------------------------------------------- one instruction

    def _unknown(self, i: Instruction) -> None:
        if self.strict:
            raise Unsupported(
                f"no micro-operations for {i.form.spelling} {i.form.shape}".rstrip(),
                self.profile.name, f"line {i.line}" if i.line else "",
            )
        results = [(r, w) for r in i.results for w in range(words_of(r))]
        sources = [(v, w) for v in i.operands if _has_register(v) for w in range(words_of(v))]
        self.operations.append(
            MachineInstruction(None, tuple(results), tuple(sources), None, i)
        )

    def _step(
        self, step: Step, i: Instruction, guard: Register | None,
        temporaries: dict[Slot, Register],
    ) -> None:
        if step.family == "=":
            if guard is not None:
                self._copy(step, i, guard, temporaries)
                return
            targets = self._slots(step.results, i, temporaries)
            sources = self._slots(step.sources, i, temporaries)
            for k, target in enumerate(targets):
                same = k < len(sources) and sources[k] != target
                self._alias[target] = sources[k] if same else None
            return
        sources = self._slots(step.sources, i, temporaries)
        results = self._slots(step.results, i, temporaries, written=True)
        if guard is not None and step.results and step.results[0][0] == "d":
            sources += [r for r in self._fallbacks(i) if r not in sources]
        self.operations.append(
            MachineInstruction(step.family, tuple(results), tuple(sources), guard, i, step.rare)
        )

    def _copy(
        self, step: Step, i: Instruction, guard: Register, temporaries: dict[Slot, Register]
    ) -> None:
        """A guarded copy is a move: it may leave the old value."""
        targets = self._slots(step.results, i, temporaries)
        sources = self._slots(step.sources, i, temporaries)
        for k, target in enumerate(targets):
            read = sources[k : k + 1] + self._fallbacks(i)
            self.operations.append(MachineInstruction("MOV", (target,), tuple(read), guard, i))

    def _is_folded(self, value: Value, i: Instruction) -> bool:
        """Whether an operand is a literal that stands in the operation itself."""
        return not i.form.op.in_registers and literal_of(value) is not None

    def _fallbacks(self, i: Instruction) -> list[Register]:
        return [(v, w) for v in i.fallbacks if _has_register(v) for w in range(words_of(v))]

    def _slots(
        self, slots: Sequence[Slot], i: Instruction, temporaries: dict[Slot, Register],
        written: bool = False,
    ) -> list[Register]:
        """The registers that a template's names stand for in an instruction."""
        out: list[Register] = []
        for slot in slots:
            kind, index, word = slot
            if kind in "tp":
                register = temporaries.get(slot)
                if register is None and written:
                    self._temporaries += 1
                    made = Temporary(f"{kind}{self._temporaries}", kind == "p")
                    register = temporaries[slot] = (made, 0)
                if register is not None:  # else a part that this shape does without
                    out.append(register)
                continue
            for value in _values(kind, index, i):
                if not _has_register(value):
                    continue
                if kind in "sA" and self._is_folded(value, i):
                    continue
                if word < 0:
                    out.extend((value, w) for w in range(words_of(value)))
                elif word < words_of(value):
                    out.append((value, word))
        return out


def _values(kind: str, index: int, i: Instruction) -> Sequence[Value]:
    """The values of an instruction that a template's name stands for."""
    f = i.form
    if kind == "D":
        return i.results[: len(i.results) - f.carry_out]
    if kind == "A":
        return i.operands[: f.guard_index] if f.guard_index >= 0 else i.operands
    if kind == "d":
        results = i.results
        return results[index : index + 1]
    if kind == "o":
        return i.results[-1:]
    if kind == "i":  # the carry stands behind written and tied sources
        at = f.n_sources + sum(1 for _, k in f.ties if k < (f.guard_index % (1 << 30)))
        return i.operands[at : at + 1]
    return i.sources[index : index + 1]


def _has_register(value: Value) -> bool:
    return not isinstance(value, Constant | Symbol | SymbolOffset | SpecialRegister | Undef)


_NO_LITERALS: dict[Form, frozenset[int]] = {}


def shape_of(i: Instruction, features: frozenset[str]) -> Shape:
    """How an instruction uses its row, as templates see it."""
    f = i.form
    offsets = _NO_LITERALS.get(f)
    if offsets is None:
        offsets = _NO_LITERALS[f] = frozenset(k for _, k in f.addresses if k >= 0)
    literals: list[int | None] = []
    symbols: list[int] = []
    special = ""
    for k, v in enumerate(i.sources):
        value: int | None = None
        if v.__class__ is SpecialRegister:
            special = str(v.name)
        elif isinstance(v, Variable | Symbol | SymbolOffset):
            symbols.append(k)
        elif k not in offsets:
            # A literal that a `mov` holds stays there.
            c = v if f.op.in_registers else literal_of(v)
            if isinstance(c, Constant) and isinstance(c.value, int):
                value = c.value
        literals.append(value)
    bits = i.type.bits if i._results is None else 0
    return Shape(f, tuple(literals), features, frozenset(symbols), special, bits)


def _is_unread_literal(i: Instruction) -> bool:
    """Whether a `mov` holds a literal that stands in every operation that reads it."""
    if i.form.guard is not None or len(i.operands) != 1 or len(i.results) != 1:
        return False
    return literal_of(i) is not None and not needs_register(i)


def needs_register(literal: Instruction) -> bool:
    """Whether somebody reads the literal of this `mov` where only a register can stand."""
    for user in literal.users:
        f = user.form
        if f.op.in_registers or f.is_phi or f.is_call or f.terminator:
            return True
        if literal in user.fallbacks:
            return True
    return False


__all__ = [
    "Expansion", "MachineInstruction", "Register", "Temporary", "expand", "literal_of", "machine",
    "register_name", "words_of",
]
