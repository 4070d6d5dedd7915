"""Machine instructions and their registers: what `nvir.sm.machine` lists.

A register is a pair (value, word): word 1 of a 64-bit value is its high half.
"""

from __future__ import annotations

from nvir.ir import Instruction, Value


class Temporary:
    """A register that a template uses inside; `is_predicate` or of 32 bits."""

    __slots__ = ("is_predicate", "name")

    def __init__(self, name: str, is_predicate: bool) -> None:
        self.name = name
        self.is_predicate = is_predicate

    def __repr__(self) -> str:
        return f"<Temporary {self.name}>"


Register = tuple[Value | Temporary, int]


class MachineInstruction:
    """One operation of the machine.

    family    its SASS family, e.g. "IMAD.WIDE"; None where no template says so
    results   registers written, 32 bits or a predicate each
    sources   registers read, the guard not among them
    guard     the predicate under which it runs, or None
    parent    the PTX instruction that it belongs to
    rare      only unusual inputs lead here (the way out of a fast path)
    """

    __slots__ = ("family", "guard", "parent", "rare", "results", "sources")

    def __init__(
        self, family: str | None, results: tuple[Register, ...], sources: tuple[Register, ...],
        guard: Register | None, parent: Instruction, rare: bool = False,
    ) -> None:
        self.family, self.results, self.sources = family, results, sources
        self.guard, self.parent, self.rare = guard, parent, rare

    @property
    def line(self) -> int:
        """The line of the PTX text; 0 for what was built."""
        return self.parent.line

    @property
    def reads(self) -> tuple[Register, ...]:
        """All registers read, the guard included."""
        return self.sources if self.guard is None else (*self.sources, self.guard)

    def __str__(self) -> str:
        made = ", ".join(register_name(r) for r in self.results)
        read = ", ".join(register_name(r) for r in self.sources)
        guard = f"@{register_name(self.guard)} " if self.guard is not None else ""
        return f"{guard}{self.family or '?'} {made or '–'} ← {read or '–'}"

    def __repr__(self) -> str:
        return f"<MachineInstruction {self}>"


def register_name(register: Register) -> str:
    """ "%rd4.h" of a value's high half, "%f1" of a single register."""
    value, word = register
    name = value.name or "?"
    if isinstance(value, Temporary) or words_of(value) == 1:
        return name
    return f"{name}.{'lh'[word] if words_of(value) == 2 else word}"


def words_of(value: Value) -> int:
    """32-bit registers of a value; 1 for predicates and the carry."""
    return max(1, (value.type.bits + 31) >> 5)
