"""The loops of a function as LICM looks at them: what each block holds, and what has left it.

    L: phi, mul, ld, st, bra          candidates  mul, ld    may move, as far as can be seen here
                                      hazards     st         what nothing may pass without a look
                                      others      phi, bra

Nothing is moved before the end: what left an inner loop is said to stand at that loop's head.

Method   A block is sorted for the innermost loop around it that is asked about. What varies in a
         loop does so in the loops around it, too: there only its candidates are looked at.
Cost     one visit an instruction, and a candidate for each further loop around it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from functools import cached_property

import attrs

from nvir.analysis.alias import AliasAnalysis
from nvir.analysis.analyses import Analyses
from nvir.analysis.held import held_in_place
from nvir.ir import Block, Form, Function, Instruction, Loop, Value, natural_loops


class Nest:
    """The loops of a function and what leaves them.

    moved     instruction → the outermost loop that it leaves
    lifted    header → what leaves its loop and stands before it, in order
    site      instruction → the block at whose place it stands now: its own, or the header of
              the outermost loop that it leaves
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.loops = natural_loops(function)
        self.moved: dict[Instruction, Loop] = {}
        self.lifted: dict[Block, list[Instruction]] = {}
        self._blocks: dict[Block, BlockContents] = {}
        self._varying: dict[Block, set[Value]] = {}  # by header, what is made in the loop for good

    @cached_property
    def held(self) -> Container[Value]:
        return held_in_place(self.function)

    @cached_property
    def alias(self) -> AliasAnalysis:
        return Analyses.of(self.function).alias

    def innermost_first(self) -> list[Loop]:
        return self.loops[::-1]

    def site(self, i: Instruction) -> Block:
        loop = self.moved.get(i)
        assert i.block is not None
        return i.block if loop is None else loop.header

    def leave(self, loop: Loop, leaving: list[Instruction]) -> None:
        """Note that instructions, in order, leave a loop."""
        if not leaving:
            return
        gone = set(leaving)
        for inner in {self.moved[i].header for i in leaving if i in self.moved}:
            self.lifted[inner] = [i for i in self.lifted[inner] if i not in gone]
        self.moved.update(dict.fromkeys(leaving, loop))
        self.lifted[loop.header] = [*self.lifted.get(loop.header, ()), *leaving]

    def contents(self, block: Block) -> BlockContents:
        """What a block of a loop holds, as the last survey found it."""
        return self._blocks[block]

    def parts(self, loop: Loop) -> list[BlockContents]:
        """What the loop holds, in reverse post-order; what an inner loop lost comes first."""
        known, moved, lifted = self._blocks, self.moved, self.lifted
        before = [self._varying.get(x.header, ()) for x in (loop, *loop.children)]
        varying = self._varying[loop.header] = set().union(*before)
        parts = []
        for b in loop.blocks:
            if b in lifted and b is not loop.header:
                parts.append(_sort(lifted[b], varying, loop.depth))
            part = known.get(b)
            if part is None:
                part = _sort(b, varying, loop.depth)
            elif part.depth < loop.depth:
                part = _sort((i for i in b if i not in moved), varying, loop.depth)
            elif part.may_move:
                part = _narrow(part, moved, varying, loop.depth)
            known[b] = part
            parts.append(part)
        return parts


@attrs.define(eq=False)
class BlockContents:
    """Instructions in order; the candidates among them, with their kind; and the hazards, which
    others must not pass without a look.

    A candidate may move as far as its kind says and reads nothing that varies in the loop; links
    of carry chains are always among them. `depth` is that of the loop.
    """

    items: list[Instruction]
    may_move: list[tuple[Instruction, int]]
    hazards: list[Instruction]
    depth: int


def _sort(source: Iterable[Instruction], varying: set[Value], depth: int) -> BlockContents:
    """Find candidates and hazards among instructions of a loop. `varying`: what those before them
    make that is no candidate's; it gets theirs."""
    items = []
    may_move = []
    hazards = []
    for i in source:
        items.append(i)
        kind = KINDS[i.form]
        if kind >= CARRY:
            hazards.append(i)
        if FIXED < kind < STAYS and varying.isdisjoint(i._operands):
            may_move.append((i, kind))
            continue
        if kind == CARRY:
            may_move.append((i, kind))
        if i._results is None:
            varying.add(i)
        else:
            varying.update(i._results)
    return BlockContents(items, may_move, hazards, depth)


def _narrow(
    known: BlockContents, moved: Container[Instruction], varying: set[Value], depth: int
) -> BlockContents:
    """The same for a block that was sorted for a loop inside: what varies there varies here, and
    what has moved does not come back."""
    left = [i for i, _ in known.may_move if i not in moved]
    items, hazards = known.items, known.hazards
    if len(left) < len(known.may_move):
        items = [i for i in items if i not in moved]
        hazards = [i for i in hazards if i not in moved]
    may_move = _sort(left, varying, depth).may_move
    if len(may_move) == len(known.may_move):
        return known
    return BlockContents(items, may_move, hazards, depth)


# What the mover takes a form for. From CARRY on they are hazards; FIXED ones are nothing to it:
# phis, marks, jumps. STEADY is a load that no store changes.
FIXED, PURE, LOAD, STEADY, FETCH, CARRY, CONVERGENT, ORDERED, STAYS = range(9)


class _ByForm(dict[Form, int]):
    """A property of forms, worked out when it is first asked for."""

    def __init__(self, work_out: Callable[[Form], int]) -> None:
        self.work_out = work_out

    def __missing__(self, form: Form) -> int:
        found = self[form] = self.work_out(form)
        return found


def _kind(form: Form) -> int:
    if form.is_phi or form.op.pseudo:
        return FIXED
    kind = _kind_of_effects(form)
    return FIXED if kind == STAYS and not HAZARDS[form] else kind


def _kind_of_effects(form: Form) -> int:
    if form.terminator or form.is_call or form.name == "unknown":
        return STAYS
    if form.op.async_until or form.writes:
        return STAYS
    if form.convergent:
        return STAYS if form.sync else CONVERGENT
    if form.pure:
        return CARRY if form.carry_in or form.carry_out else PURE
    if form.op.pure and form.pinned:
        return ORDERED  # reads a clock
    if form.reads and not form.op.sync and not form.op.pinned:
        if form.pinned or form.sync:
            return ORDERED
        if is_fetch(form):
            return FETCH
        return STEADY if form.invariant else LOAD
    return STAYS


def is_fetch(form: Form) -> bool:
    """Texture fetches: what they read must not change while the kernel runs."""
    return form.op.memory == "texture" and form.reads


# What a hazard is, as bits.
UNKNOWN, CALL, SYNC, STORE, CARRIES = 1, 2, 4, 8, 16


def _hazards_of(f: Form) -> int:
    sync = f.sync or (f.op.async_until and not f.writes)
    return (
        UNKNOWN * (f.name == "unknown") | CALL * f.is_call | SYNC * bool(sync)
        | STORE * f.writes | CARRIES * (f.carry_in or f.carry_out)
    )


KINDS, HAZARDS = _ByForm(_kind), _ByForm(_hazards_of)
