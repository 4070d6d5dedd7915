"""Sums that are a literal away from another: accesses at them add it to the other's register.

    %q = add %p, 4              ld [%p + 4]
    ld [%q]                     %a = add %p, %x
    %a = add %p, %x      ==>    ld [%a]
    ld [%a]                     ld [%a + 4]
    %b = add %q, %x
    ld [%b]

So it is with the steps of an unrolled loop, which the text says one after the other.

Cost    for each sum, its readers and theirs.
"""

from __future__ import annotations

from nvir.assembler.regalloc.facts import facts_of, is_address_of
from nvir.assembler.regalloc.tables import OFFSETS
from nvir.ir.instruction import Instruction
from nvir.ir.values import Constant, Value

_Key = frozenset[Value]


class Displacements:
    """The sums of a function in an order in which definitions come before uses."""

    def __init__(self) -> None:
        self.root: dict[Value, tuple[Value, int]] = {}  # and the distance from it
        self.sums: dict[_Key, list[Instruction]] = {}  # of two values, by their roots

    def home(self, i: Instruction) -> Value | None:
        """The value whose register serves for a sum, or None: it has one of its own."""
        base, other = i._operands
        if isinstance(other, Constant):
            if not isinstance(other.value, int):
                return None
            root, distance = self.root.get(base, (base, 0))
            distance += other.value
            if not -OFFSETS <= distance < OFFSETS:
                return None
            self.root[i] = root, distance
            return base if self._only_displaces(i) else None
        found = self._like(i)
        if found is None:
            self.sums.setdefault(self._key(i), []).append(i)
        return found if found is not None and _only_address(i) else None

    def _key(self, i: Instruction) -> _Key:
        return frozenset(self.root[v][0] if v in self.root else v for v in i._operands)

    def _like(self, i: Instruction) -> Instruction | None:
        """A sum of the same roots that has been made on every way here."""
        assert i.block is not None
        for s in self.sums.get(self._key(i), ()):
            assert s.block is not None
            if s.block.dominates(i.block):
                return s
        return None

    def _only_displaces(self, value: Instruction) -> bool:
        """Whether nothing that reads a value asks for a register with it."""
        for u in value.users:
            if is_address_of(u, value):
                continue
            if facts_of(u.form).rule != "offset":
                return False
            if isinstance(u._operands[1], Constant):
                continue  # a sum of what this one is made of
            if self._like(u) is None or not _only_address(u):
                return False
        return True


def _only_address(value: Instruction) -> bool:
    return all(is_address_of(u, value) for u in value.users)
