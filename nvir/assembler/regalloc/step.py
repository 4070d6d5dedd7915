"""The operations that registers are allocated for, with whole values and single registers.

    Step   one operation, a load or store that spilling put in, or moves
    Part   a spilled value for as long as one operation needs it
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from nvir.assembler.regalloc.units import Owner
from nvir.ir import PRED, Block
from nvir.sm.operation import MachineInstruction, Register, Temporary

Incoming = dict[Owner, dict[Block, tuple[Register | None, ...]]]


class Part(Temporary):
    """A spilled value while one operation reads or writes it."""

    __slots__ = ("value",)

    def __init__(self, value: Owner) -> None:
        super().__init__(f"{value.name}.spill", False)
        self.value = value


def width(owner: Owner) -> int:
    """General registers of a value; 0 of predicates and the carry, which has no register."""
    if isinstance(owner, Temporary):
        if isinstance(owner, Part):
            return width(owner.value)
        return 0 if owner.is_predicate else 1
    t = owner.type
    return 0 if t is PRED or t.name == "cc" else max(1, (t.bits + 31) >> 5)


def is_predicate(owner: Owner) -> bool:
    return owner.is_predicate if isinstance(owner, Temporary) else owner.type is PRED


@attrs.define(eq=False)
class Step:
    """One operation with what it reads and writes.

    operation   None of a load or store that spilling put in, and of moves
    written, read     registers, the guard among those read; literals that a vector needs in
                registers are temporaries that a move fills
    results, sources  the whole values of these
    tuples      positions in `read` that must be consecutive
    made        positions in `written` that must be
    ties        (position in `written`, position in `read`): one register
    moves       (temporary, register that it is a copy of, None of a literal); all at once, and no
                target is a source
    """

    block: Block
    operation: MachineInstruction | None
    written: tuple[Register, ...]
    read: tuple[Register, ...]
    slot: int = -1  # byte of local memory of a load or store that was put in
    is_store: bool = False
    tuples: tuple[tuple[int, ...], ...] = ()
    made: tuple[tuple[int, ...], ...] = ()
    ties: tuple[tuple[int, int], ...] = ()
    moves: tuple[tuple[Temporary, Register | None], ...] = ()
    results: tuple[Owner, ...] = attrs.field(init=False, default=())
    sources: tuple[Owner, ...] = attrs.field(init=False, default=())

    def __attrs_post_init__(self) -> None:
        self.results, self.sources = owners_of(self.written), owners_of(self.read)

    def put(self, v: Owner, part: Owner, *, reads: bool, writes: bool) -> None:
        """Let a part stand for a value."""
        if writes:
            self.written = tuple((part, w) if o is v else (o, w) for o, w in self.written)
        if reads:
            self.read = tuple((part, w) if o is v else (o, w) for o, w in self.read)
        self.__attrs_post_init__()


def owners_of(registers: Iterable[Register]) -> tuple[Owner, ...]:
    """The values that registers are words of, each once."""
    return tuple(dict.fromkeys(owner for owner, _ in registers))


def moving(block: Block, moves: Sequence[tuple[Temporary, Register | None]]) -> Step:
    """Moves that happen at once."""
    return Step(
        block, None, tuple((t, 0) for t, _ in moves),
        tuple(dict.fromkeys(r for _, r in moves if r is not None)), moves=tuple(moves),
    )
