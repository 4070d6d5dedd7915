"""Loops brought into the form in which copies of them can be chained.

    one preheader     the only way in, leading nowhere else
    one latch         so that a header phi has two operands
    dedicated exits   blocks outside that only the loop leads to
    closed values     what is made inside and used outside goes through a phi of an exit

In this form another copy of the loop adds operands to the phis of its exits and
to nothing else outside, so no SSA repair follows, and loops can be copied one
after the other, inner before outer, without renewing the annotations between.

Method   `canonicalise` puts blocks on edges where needed; then one pass over the
         values of the loops, and the repair of `ir.ssa` for those that leave.
Needs    fresh CFG annotations; they are fresh afterwards.
Skips    loops with an operation whose copies would mean something else: `Refusal`.
Cost     linear in the sizes of the loops, a block once for each loop around it.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet

import attrs

from nvir.analysis.analyses import Analyses
from nvir.analysis.divergence import Divergence
from nvir.analysis.held import held_in_place
from nvir.ir import Block, Function, Instruction, Loop, OpKind, Value, form, successors
from nvir.ir.ssa.repair import obstacle, repair
from nvir.passes.loop.region import leaves
from nvir.passes.loop.simplify.canonical import canonicalise


class Refusal(enum.Enum):
    """Why a loop cannot be copied at all."""

    UNKNOWN = "an unknown operation in the body: {what}"
    CONVERGENT = "lanes leave apart, and {what} needs them together"
    CARRY = "a carry flag crosses blocks"
    ASYNC = "an asynchronous operation holds registers of the body: {what}"
    BRANCH = "{what} in the body"
    IRREDUCIBLE = "control flow enters the body sideways"
    ENTRY = "the loop begins at the function's entry"
    LABEL = "debug data names a place in the body"

    def text(self, what: str = "") -> str:
        return str(self.value).format(what=what)


@attrs.define(eq=False)
class CopyRegion:
    """A loop in copyable form. `blocks` holds the header first, the rest in no order; `last` is
    the one of them that comes last in the function's layout."""

    header: Block
    latch: Block
    preheader: Block
    blocks: list[Block]
    last: Block
    around: CopyRegion | None = None

    def exits(self) -> list[tuple[Block, Block]]:
        """Edges (inside, outside), as the terminators are now."""
        inside = set(self.blocks)
        return [(b, s) for b in self.blocks for s in successors(b) if s not in inside]

    def grow(self, blocks: Iterable[Block], last: Block, dead: Collection[Block]) -> None:
        """Blocks were added that lie in the loops around this one, up to `last`, some deleted."""
        new = list(blocks)
        around = self.around
        while around is not None:
            if around.last is self.last:
                around.last = last
            around.blocks += new
            if dead:
                around.blocks = [b for b in around.blocks if b not in dead]
            around = around.around


_BlockRefusal = tuple[tuple[Refusal, str] | None, Instruction | None]


class Refusals:
    """What keeps loops of a function from being copied. Divergence is worked out when asked."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self._divergence: Divergence | None = None
        self._sideways = {b for _, b in function.irreducible_edges}
        self._blocks: dict[Block, _BlockRefusal] = {}  # at a count of edits: nests ask again
        self._edits = function.edits

    @functools.cached_property
    def held(self) -> frozenset[Value]:
        """The values that asynchronous operations hold in place; found when asked."""
        return held_in_place(self.function)

    def of(self, loop: Loop) -> tuple[Refusal, str] | None:
        """The refusal and what caused it, None if the loop can be copied."""
        if loop.header is self.function.entry:
            return Refusal.ENTRY, ""
        if self._edits != self.function.edits:
            self._blocks.clear()
            self._edits = self.function.edits
        convergent: Instruction | None = None
        for block in loop.blocks:
            known = self._blocks.get(block)
            if known is None:
                known = self._blocks[block] = self._of_block(block)
            found, first = known
            if found is not None:
                return found
            convergent = convergent or first
        if convergent is not None and self._parts(loop):
            return Refusal.CONVERGENT, convergent.form.spelling
        return None

    def _of_block(self, block: Block) -> _BlockRefusal:
        """The refusal of a block, and its first convergent instruction."""
        if block in self._sideways:
            return (Refusal.IRREDUCIBLE, ""), None
        found = next(filter(None, map(self._of_instruction, block)), None)
        return found, next((i for i in block if i.form.convergent), None)

    def _of_instruction(self, i: Instruction) -> tuple[Refusal, str] | None:
        f = i.form
        if f.op.name == "unknown":
            return Refusal.UNKNOWN, f.spelling
        if f.name == "debug.label":
            return Refusal.LABEL, ""
        if f.kind is OpKind.SWITCH:
            return Refusal.BRANCH, f.spelling
        for r in i.results:
            if r in self.held:
                return Refusal.ASYNC, f.spelling
            if r.type.name == "cc" and any(u.block is not i.block for u in r.users):
                return Refusal.CARRY, ""
        return None

    def _parts(self, loop: Loop) -> bool:
        """Whether lanes that enter the loop together may leave it apart."""
        if self._divergence is None:
            self._divergence = Analyses.of(self.function).divergence
        return loop.header in self._divergence.divergent_loops or any(
            self._divergence.is_divergent_branch(b) for b, _ in loop.exits
        )


def regions(
    function: Function, headers: set[Block], held: frozenset[Value]
) -> dict[Block, CopyRegion]:
    """Bring the loops with these headers into copyable form; each by its header.

    The loops must have no refusal.
    """
    canonicalise(function, headers=headers)
    loops = [x for x in Analyses.of(function).loops if x.header in headers]
    _close(function, loops, held)
    made: dict[Block, CopyRegion] = {}
    place = {b: k for k, b in enumerate(function.blocks)}
    for x in loops:  # outer before inner
        preheader = x.preheader
        assert preheader is not None
        last = max(x.blocks, key=place.__getitem__)
        made[x.header] = CopyRegion(x.header, x.latches[0], preheader, list(x.blocks), last)
    for x in loops:
        parent = x.parent
        while parent is not None and parent.header not in made:
            parent = parent.parent
        made[x.header].around = made[parent.header] if parent is not None else None
    return made


def _close(function: Function, loops: list[Loop], held: frozenset[Value]) -> None:
    """Let every value that leaves a loop go through phis of its exits."""
    for loop in reversed(loops):
        inside = loop.members
        exits: dict[Block, list[Block]] = {}
        for b, s in loop.exits:
            exits.setdefault(s, []).append(b)
        leaving = [
            (v, block) for block in loop.blocks for i in block for v in i.results
            if v._uses is not None and leaves(v, inside)
        ]
        assert all(obstacle(v, held) is None for v, _ in leaving)
        if len(exits) == 1:
            ((exit_, preds),) = exits.items()
            for v, _ in leaving:
                _close_one(v, exit_, preds, inside)
        elif leaving:
            _close_several(function, leaving, exits, held)


def _close_one(v: Value, exit_: Block, preds: list[Block], inside: AbstractSet[Block]) -> None:
    """The only exit dominates every use behind the loop: its phi serves them all."""
    phi = _exit_phi(v, exit_, preds)
    for user in v.users:
        if user.block not in inside and not (user.form.is_phi and user.block is exit_):
            user.replace_operand(v, phi)


def _close_several(
    function: Function, leaving: list[tuple[Value, Block]], exits: dict[Block, list[Block]],
    held: frozenset[Value],
) -> None:
    more = {
        v: {x: _exit_phi(v, x, p) for x, p in exits.items() if block.dominates(x)}
        for v, block in leaving
    }
    for v, phis in more.items():
        for user in v.users:
            phi = phis.get(user.block) if user.block is not None else None
            if phi is not None and not user.form.is_phi:
                user.replace_operand(v, phi)
    repair(function, more, held)
    for phis in more.values():
        for phi in phis.values():
            if not phi.has_uses:
                phi.erase()


def _exit_phi(v: Value, block: Block, preds: list[Block]) -> Instruction:
    phi = Instruction(form("phi"), (v,) * len(preds), v.type, v.name, tuple(preds))
    return block.insert_phi(phi)
