"""Carrying out loop rotation: the header copied before the loop, and moved to its end.

    pre:  bra h                                pre:   bra h.1
    h:    %i = phi [0, pre], [%j, l]           h.1:   %p.1 = setp 0, %n;  @%p.1 bra n, e
          %p = setp %i, %n             ==>     n:     %i = phi [0, h.1], [%j, h]
          @%p bra n, e                                … %i …
    n:    … %i …                               h:     %p = setp %j, %n;  @%p bra n, e

Method   A loop that only its header leaves is changed by itself: what the header makes meets its
         copy in one place for the loop, the block behind the header (the phis of the header move
         there, and their uses in the loop stand as they are), and in one place for what follows,
         the exit. Loops with further exits are copied first, then one repair (ir.ssa) finds the
         places where the two ways meet. At the end phis of one entry are folded and headers
         are appended to their latch.
Needs    fresh CFG annotations, canonical loops; leaves them fresh.
Cost     linear in the headers, the uses of their values and the function's blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import attrs

from nvir.ir import Block, Function, Instruction, Loop, Type, Value, form, nvvm_form
from nvir.ir.clone import clone_blocks, place
from nvir.ir.ssa.repair import repair
from nvir.ir.ssa.rewrite import join_spelling
from nvir.passes.loop import region


@attrs.frozen
class RotationPlan:
    """A loop to rotate: the only way in, the only way round, where the header goes in, its size."""

    loop: Loop
    preheader: Block
    latch: Block
    body: Block
    size: int


def rotate(function: Function, plans: Sequence[RotationPlan], held: AbstractSet[Value]) -> None:
    """Rotate loops: canonical ones, whose copies nothing forbids."""
    number = {b: k for k, b in enumerate(function.blocks)}
    home: dict[Block, Block] = {}  # a new block -> one of the same loops
    for p in plans:
        home[p.body] = p.loop.header
    layout: dict[Block, list[Block]] = {}
    declared: list[tuple[Value, Type]] = []
    firsts: dict[Block, Block] = {}  # header -> its copy
    many: list[RotationPlan] = []
    for p in plans:
        out = _only_exit(p, home)
        if out is None:
            many.append(p)
            continue
        header = p.loop.header
        in_order = number[p.preheader] < number[header]
        one = _Rotation(p, out, home, held, in_order)
        firsts[header] = one.run(layout, declared)
        home[firsts[header]] = p.preheader
    if many:
        _by_repair(function, many, held, layout, firsts)
    else:
        place(function, layout)
    for value, type in declared:
        join_spelling(value, type)
    joins = [(firsts[p.loop.header], p.preheader) for p in plans]
    joins += [(p.loop.header, p.latch) for p in plans if region.only_jumps(p.latch)]
    merged = [(block, pred) for block, pred in joins if block.first_non_phi is block.first]
    for block, pred in merged:
        region.merge_into(block, pred)
    region.drop(function, {block for block, _ in merged})
    function.analyze_cfg()


def _only_exit(p: RotationPlan, home: Mapping[Block, Block]) -> Block | None:
    """The block that the header leaves the loop for, where nothing else leaves it."""
    loop, inside = p.loop, p.loop.members
    header = loop.header
    outside = [s for s in header._succs if home.get(s, s) not in inside]
    if len(outside) != 1:
        return None
    for b in loop.blocks:
        if b is not header:
            for s in b._succs:
                if home.get(s, s) not in inside:
                    return None
    return outside[0]


def _by_repair(
    function: Function, plans: Sequence[RotationPlan], held: AbstractSet[Value],
    layout: MutableMapping[Block, list[Block]], firsts: dict[Block, Block],
) -> None:
    """Copy the headers of loops with several exits; `firsts` gets the copies."""
    more: dict[Value, Mapping[Block, Value]] = {}
    blocks: list[Block] = []
    for p in plans:
        header = p.loop.header
        copies = region.copy_region([header], p.preheader, layout)
        first: Block = copies[header]
        region.keep_entries(first, {p.preheader})
        region.keep_entries(header, {p.latch})
        region.redirect(p.preheader, header, first)
        more |= region.definitions([header], copies, {header})
        firsts[header] = first
        blocks += (first, header)
        move_marks(header, first, p.body)
    place(function, layout)
    function.analyze_cfg()
    repair(function, more, held)
    region.fold_phis(function, blocks, held)


def move_marks(header: Block, copy: Block, body: Block) -> None:
    """Pragmas and flags of the loop go with its header."""
    body.pragmas += tuple(p for p in header.pragmas if p not in body.pragmas)
    body.flags |= header.flags
    header.pragmas = copy.pragmas = ()
    header.flags = copy.flags = frozenset()


class _Rotation:
    """The rotation of one loop that only its header leaves, for `out`.

    home      a block that the annotations do not know -> one of the same loops
    in_order  whether the header's copy will stand before the header in layout
    copies    value of the header -> what it is in the copy
    going     phis that go to the body
    at_end    phi that goes -> what it is in the header from now on
    in_body   value -> what it is behind the header: the phi itself that goes there, or a new one
    behind    value -> what it is behind the loop, a new phi
    """

    def __init__(
        self, plan: RotationPlan, out: Block, home: Mapping[Block, Block], held: AbstractSet[Value],
        in_order: bool,
    ) -> None:
        self.plan, self.out, self.home, self.held = plan, out, home, held
        self.in_order = in_order
        self.header, self.inside = plan.loop.header, plan.loop.members
        module = self.header.function.module
        nvvm = module is not None and module.level == "nvvm"
        self.phi_form = nvvm_form("phi") if nvvm else form("phi")
        self.copies: dict[Any, Any] = {}
        self.going: set[Instruction] = set()
        self.at_end: dict[Value, Value] = {}
        self.in_body: dict[Value, Instruction] = {}
        self.behind: dict[Value, Instruction] = {}

    def run(
        self, layout: MutableMapping[Block, list[Block]], declared: list[tuple[Value, Type]]
    ) -> Block:
        """Returns the header's copy, which `layout` gets, too; `declared` gets what stands for
        values of other declarations."""
        p, header = self.plan, self.header
        values = [r for i in header for r in i.results]
        phis = list(header.phis)
        first = self._copy(phis, layout)
        carried = self._carry(phis)
        for v in values:
            if v._uses is not None:
                self._rewrite_uses(v)
        for phi in phis:
            if phi in self.going:
                declared += [(self.copies[phi], phi.type), (self.at_end[phi], phi.type)]
            else:
                phi.set_incoming((carried[phi],), (p.latch,))
        self._place(values, first)
        marks = header.function.marks
        for phi in phis:
            if phi in self.going:
                marks.pop(phi, None)
                if phi not in self.in_body:
                    phi.erase()
        region.redirect(p.preheader, header, first)
        move_marks(header, first, p.body)
        return first

    def _copy(self, phis: list[Instruction], layout: MutableMapping[Block, list[Block]]) -> Block:
        """Copy the header. Its phis are in the copy what enters the loop."""
        p, copies = self.plan, self.copies
        lone = []
        for phi in phis:
            start = phi._operands[phi.aux.index(p.preheader)]
            if not region.folds(start, phi, self.held):
                start = Instruction(phi.form, (start,), phi.type, phi.name, (p.preheader,))
                lone.append(start)
            copies[phi] = start
        clone_blocks((self.header,), copies, p.preheader, layout)
        first: Block = copies[self.header]
        anchor = first.first
        assert anchor is not None
        for x in lone:
            x.insert_before(anchor)
        region.add_entries(p.body, self.header, first, copies)
        region.add_entries(self.out, self.header, first, copies)
        return first

    def _carry(self, phis: list[Instruction]) -> dict[Instruction, Value]:
        """What each phi gets from the latch, as it is called there from now on."""
        latch, copies = self.plan.latch, self.copies
        carried = {phi: phi._operands[phi.aux.index(latch)] for phi in phis}
        going = [phi for phi in phis if region.folds(carried[phi], phi, self.held)]
        self.going.update(going)
        for phi, v in carried.items():
            if v in copies:
                carried[phi] = self._in_body(v)
        self.at_end.update((phi, carried[phi]) for phi in going)
        return carried

    def _in_body(self, v: Value) -> Instruction:
        found = self.in_body.get(v)
        if found is None:
            if isinstance(v, Instruction) and v in self.going:
                found = v
            else:
                found = self._phi(v)
            self.in_body[v] = found
        return found

    def _behind(self, v: Value) -> Instruction:
        found = self.behind.get(v)
        if found is None:
            found = self.behind[v] = self._phi(v)
        return found

    def _phi(self, v: Value) -> Instruction:
        return Instruction(self.phi_form, (), v.type, v.name, ())

    def _rewrite_uses(self, v: Value) -> None:
        """Let each use of a value of the header name what reaches it."""
        header = self.header
        here = self.at_end.get(v, v)
        for user in v.users:
            block = user.block
            if not user.form.is_phi:
                new = here if block is header else self._reaching(v, block, here)
                if new is not v:
                    user.replace_operand(v, new)
            elif block is not header:  # there it is carried round, and has been asked for
                for k, x in enumerate(user._operands):
                    if x is v:
                        b = user.aux[k]
                        new = here if b is header else self._reaching(v, b, here)
                        if new is not v:
                            user.set_operand(k, new)

    def _reaching(self, v: Value, block: Block | None, here: Value) -> Value:
        """What the value is in a block behind the header; `here` where nothing leads."""
        assert block is not None
        known = self.home.get(block, block)
        if known in self.inside:
            return self._in_body(v)
        return self._behind(v) if known._rpo_index >= 0 else here

    def _place(self, values: list[Value], first: Block) -> None:
        """Put the phis where they belong, in the order of the values that they stand for."""
        p, header, copies = self.plan, self.header, self.copies
        ways = (first, header) if self.in_order else (header, first)
        in_body, behind = p.body.first_non_phi, self.out.first_non_phi
        assert in_body is not None
        assert behind is not None
        for v in values:
            phi = self.in_body.get(v)
            meets: tuple[Value, ...] = (copies[v], self.at_end.get(v, v))
            if not self.in_order:
                meets = meets[::-1]
            if phi is not None:
                if phi is v:
                    phi.remove()
                    phi.loc, phi.line = None, 0
                phi.insert_before(in_body)
                phi.set_incoming(meets, ways)
            phi = self.behind.get(v)
            if phi is not None:
                phi.insert_before(behind)
                phi.set_incoming(meets, ways)
