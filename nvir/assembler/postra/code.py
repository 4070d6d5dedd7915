"""A loop's body on physical registers: what post-RA scheduling reads.

An operation has a SASS family and whole registers that it writes and reads. Registers are pairs of
a letter and a number:

    R5   general register       P0   predicate
    C0   carry chain (the allocator gives those no predicate; here each has a place of its own)
    M8   byte 8 of local memory, where spilling keeps a value: accesses to it order like registers

A register holds one value at a time, so an operation that writes one has to wait for the readers of
what was in it, also across iterations: that is what tells this level from `sm.loopgraph`.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from nvir.ir.errors import NvirError
from nvir.sm.graph import Edge
from nvir.sm.operation import MachineInstruction
from nvir.sm.profile import Profile

Reg = tuple[str, int]


def reg_name(reg: Reg) -> str:
    """ "R5"; of a place in local memory "[8]"."""
    return f"[{reg[1]}]" if reg[0] == "M" else f"{reg[0]}{reg[1]}"


@attrs.frozen(eq=False)
class PhysicalOp:
    """One operation.

    writes, reads  registers; the guard is among the reads
    source         the machine instruction that it is; None of moves and of what spilling put in
    tuples         registers that the operation names as one: they are consecutive
    role           "" or "branch" (back to the header), "move" (a phi's value for the next
                   iteration), "spill load", "spill store"
    """

    family: str
    writes: tuple[Reg, ...] = ()
    reads: tuple[Reg, ...] = ()
    guard: Reg | None = None
    source: MachineInstruction | None = None
    role: str = ""
    tuples: tuple[tuple[Reg, ...], ...] = ()

    def __str__(self) -> str:
        made = ", ".join(map(reg_name, self.writes))
        read = ", ".join(reg_name(r) for r in self.reads if r != self.guard)
        guard = f"@{reg_name(self.guard)} " if self.guard is not None else ""
        if not made and not read:
            return f"{guard}{self.family}"
        return f"{guard}{self.family} {made or '–'} ← {read or '–'}"


@attrs.frozen(eq=False)
class LoopCode:
    """The body of a loop in its order.

    order       edges (source, target, cycles, iterations) of memory, barriers and control
    live_out    registers that are read behind the loop
    counted     the trip count is known before the loop starts; else no register of `live_out` may
                be written, and memory be touched, before the branch of the iteration before
    registers   general registers of the whole function, R1 included
    hoisted     operations that left the body, because a register is free for their results
    block       number of the body's block in its function
    """

    name: str
    profile: Profile
    operations: tuple[PhysicalOp, ...]
    order: tuple[Edge, ...] = ()
    live_out: frozenset[Reg] = frozenset()
    counted: bool = True
    registers: int = 0
    hoisted: tuple[PhysicalOp, ...] = ()
    block: int = 0

    @property
    def branch(self) -> int | None:
        """The operation that leads back to the header; None in code without one."""
        for n in range(len(self.operations) - 1, -1, -1):
            if self.operations[n].role == "branch":
                return n
        return None

    def used(self) -> int:
        """General registers that the body names."""
        return len({r for op in self.operations for r in (*op.writes, *op.reads) if r[0] == "R"})


def parallel_moves(moves: Sequence[tuple[Reg, Reg | None]], free: dict[str, int]) -> list[
    tuple[Reg, Reg | None]
]:
    """Moves (to, from) that happen at once, as a sequence; `from` None is a literal.

    A cycle needs one more register: `free` has the next unused number by letter, and is advanced.
    Each register is written once at most. Linear but for the search of free targets.
    """
    targets = [to for to, _ in moves]
    if len(set(targets)) != len(targets):
        raise NvirError("parallel moves: a register is written twice")
    waiting = {to: source for to, source in moves if to != source}
    out: list[tuple[Reg, Reg | None]] = []
    while waiting:
        read = {s for s in waiting.values() if s is not None}
        ready = [to for to in waiting if to not in read]
        for to in ready:
            out.append((to, waiting.pop(to)))
        if not ready:  # cycles alone: open one
            to = next(iter(waiting))
            spare = (to[0], free[to[0]])
            free[to[0]] += 1
            out.append((spare, to))
            for k, s in waiting.items():
                if s == to:
                    waiting[k] = spare
    return out
