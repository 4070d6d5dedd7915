"""Modulo variable expansion on physical registers: a body several times, each with its own.

A register that is written in each iteration holds one value at a time, so at most one iteration is
under way between its write and its last read. Copies of the body that follow one another, each with
registers of its own for what does not outlive an iteration, lift that:

    LDG R6 ← R2          LDG R6  ← R2;  FADD R8 ← R8, R6;   IADD R2 ← R2
    FADD R8 ← R8, R6 ==> LDG R10 ← R2;  FADD R8 ← R8, R10;  IADD R2 ← R2
    IADD R2 ← R2

Registers move by a multiple of four, so pairs and quads stay aligned and next to each other. What
is carried from one iteration to the next, and what is read behind the loop, stays where it is.

Needs    a trip count known before the loop; iterations that are no multiple of the copies run in
         the plain body first.
Cost     linear in copies and operations.
Source   M. Lam, "Software Pipelining: An Effective Scheduling Technique for VLIW Machines", PLDI
         1988.
"""

from __future__ import annotations

import attrs

from nvir.assembler.postra.code import LoopCode, PhysicalOp, Reg
from nvir.assembler.regalloc.allocation import PREDICATES
from nvir.ir.errors import NvirError, Unsupported
from nvir.sm.graph import Edge

QUAD = 4


def own_registers(code: LoopCode) -> set[Reg]:
    """Registers whose values end within the iteration that made them.

    What an operation names as one tuple stays together: none of it, if not all of it is such.
    """
    written: set[Reg] = set()
    carried: set[Reg] = set(code.live_out)
    for op in code.operations:
        carried.update(r for r in op.reads if r not in written)
        written.update(op.writes)
    own = {r for r in written - carried if r[0] != "M"}
    mixed = [t for op in code.operations for t in op.tuples if not own.issuperset(t)]
    while mixed:
        own.difference_update(*mixed)
        mixed = [
            t for op in code.operations for t in op.tuples
            if not own.issuperset(t) and not own.isdisjoint(t)
        ]
    return own


def expand(code: LoopCode, copies: int, limit: int | None = None) -> LoopCode:
    """`copies` iterations of a body as one.

    limit   general registers a thread, by default as many as the machine has
    Raises NvirError where these are too few or `copies` is no positive number, Unsupported where
    the trip count is not known before the loop.
    """
    if copies < 1:
        raise NvirError(f"{copies} copies of loop {code.name}: a positive number is needed")
    if copies == 1:
        return code
    if not code.counted:
        raise Unsupported(f"copies of loop {code.name}, whose trip count is not known before it")
    limit = limit or code.profile.limits.max_registers_per_thread
    own = own_registers(code)
    bases, spans = _places(code, own)
    if bases["P"] + (copies - 1) * spans["P"] > PREDICATES:  # too few: they are shared
        own = {r for r in own if r[0] != "P"}
        bases, spans = _places(code, own)
    if bases["R"] + (copies - 1) * spans["R"] > limit:
        raise NvirError(
            f"{copies} copies of loop {code.name}: "
            f"{bases['R'] + (copies - 1) * spans['R']} registers, {limit} are there"
        )
    numbers = instances(code, copies)
    place = {instance: n for n, instance in enumerate(numbers)}
    operations = [_renamed(code.operations[n], own, k, bases, spans) for k, n in numbers]
    order: list[Edge] = []
    for a, b, cycles, distance in code.order:
        for k in range(copies):
            later, at = divmod(k + distance, copies)
            if (k, a) in place and (at, b) in place:
                order.append((place[k, a], place[at, b], cycles, later))
    top = max([code.registers, *(r[1] + 1 for op in operations
                                 for r in (*op.writes, *op.reads) if r[0] == "R")])
    return attrs.evolve(
        code, operations=tuple(operations), order=tuple(order), registers=top,
        name=f"{code.name} ({copies} copies)",
    )


def instances(code: LoopCode, copies: int) -> list[tuple[int, int]]:
    """(copy, operation of the body) of each operation of the copies, in their order.

    The last copy alone has the branch, and what only serves it.
    """
    tests = _for_branch(code, own_registers(code))
    return [
        (k, n) for k in range(copies) for n in range(len(code.operations))
        if k + 1 == copies or (n != code.branch and n not in tests)
    ]


def _for_branch(code: LoopCode, own: set[Reg]) -> set[int]:
    """Operations that only serve the branch: a copy that does not end with one needs none."""
    read = {r for n, op in enumerate(code.operations) for r in op.reads if n != code.branch}
    ordered = {n for a, b, _, _ in code.order for n in (a, b)}
    return {
        n for n, op in enumerate(code.operations)
        if op.writes and n not in ordered and all(r in own and r not in read for r in op.writes)
    }


def _places(code: LoopCode, own: set[Reg]) -> tuple[dict[str, int], dict[str, int]]:
    """By letter: where the registers of the first further copy begin, and how many a copy takes."""
    bases: dict[str, int] = {}
    spans: dict[str, int] = {}
    for letter in "RPC":
        used = [r[1] for op in code.operations for r in (*op.writes, *op.reads) if r[0] == letter]
        mine = [n for kind, n in own if kind == letter]
        unit = _unit(letter)
        first = min(mine, default=0) // unit * unit
        top = max([code.registers if letter == "R" else 0, *(n + 1 for n in used)])
        spans[letter] = -(-(max(mine) + 1 - first) // unit) * unit if mine else 0
        bases[letter] = -(-top // unit) * unit
    return bases, spans


def _unit(letter: str) -> int:
    return QUAD if letter == "R" else 1


def _renamed(
    op: PhysicalOp, own: set[Reg], copy: int, bases: dict[str, int], spans: dict[str, int]
) -> PhysicalOp:
    if not copy:
        return op
    first = {
        letter: min((n for kind, n in own if kind == letter), default=0) // _unit(letter)
        * _unit(letter)
        for letter in bases
    }

    def to(r: Reg) -> Reg:
        if r not in own:
            return r
        letter, number = r
        return letter, bases[letter] + (copy - 1) * spans[letter] + number - first[letter]

    return attrs.evolve(
        op, writes=tuple(map(to, op.writes)), reads=tuple(map(to, op.reads)),
        guard=None if op.guard is None else to(op.guard),
        tuples=tuple(tuple(map(to, t)) for t in op.tuples),
    )
