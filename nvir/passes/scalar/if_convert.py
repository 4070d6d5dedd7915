"""If-conversion: small branches become predicated code, and phis become selects.

    @%p bra then, else                           %x  = add %a, 1
    then:  %x = add %a, 1;  st [%q], %x          @%p st [%q], %x
           bra join                       ==>    %y  = mul %a, 3
    else:  %y = mul %a, 3;  bra join             %z  = selp %x, %y, %p
    join:  %z = phi [%x, then], [%y, else]       …

What computes is done by all lanes, what touches memory is guarded. The block that joins the sides
is appended, so that a branch in it, or one around, can follow: inner branches come first.

Method   Blocks in post-order; at a two-way branch the sides are looked at: each leads to the same
         join, and has no other way in. One side may be the join itself.
Needs    SSA, CFG annotations (edges are followed up in place, annotations renewed at the end).
Keeps    what each thread loads, stores and computes in what order; declared spellings.
Leaves   values that one side alone needs computed on both.
Skips    sides above the limit; operations that need the lanes together, order memory, call, or
         end threads; guarded operations with effects (two guards would have to be joined);
         phis of predicates and of classes that `selp` does not take; unknown operations;
         registers that asynchronous operations hold.
Cost     linear: each block is looked at once for each branch that it may be a side of.
Source   Allen, Kennedy, Porterfield, Warren, "Conversion of Control Dependence to Data Dependence",
         POPL 1983, for straight-line sides. The real tool's phase 63 does this below PTX.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import attrs

from nvir.analysis.held import held_in_place
from nvir.ir import Block, Function, Instruction, ScalarType, form, successors
from nvir.ir.values import Constant, Undef, Value, undef
from nvir.passes.context import Context
from nvir.passes.loop.region import drop, fold_phis, merge_into
from nvir.passes.remarks import Code, missed, passed

CONVERTED = passed(
    "IfConverted", "the branch is gone: {instructions} instructions of its sides, {selects} selects"
)
TOO_LARGE = missed(
    "TooLargeToConvert", "the branch stays: {cost} instructions without it, the limit is {limit}"
)
OPERATION = missed("CannotPredicate", "the branch stays: {what} {reason}")
MERGE = missed("CannotSelect", "the branch stays: its sides merge a value of type {type}")
CODES = (CONVERTED, TOO_LARGE, OPERATION, MERGE)

_SELECTED = frozenset(("b16", "b32", "b64"))


@attrs.frozen
class Options:
    """`limit`: most instructions, selects included, that take the place of a branch."""

    limit: int = 8


@attrs.frozen
class _Hammock:
    """A branch at the end of `head`; `sides` in the order of its targets, None where that is
    the join itself; `positive` tells that the first target is taken where the guard is true."""

    head: Block
    branch: Instruction
    sides: tuple[Block | None, Block | None]
    join: Block

    @property
    def blocks(self) -> list[Block]:
        return [s for s in self.sides if s is not None]

    @property
    def positive(self) -> bool:
        return self.branch.form.guard == ""


@attrs.frozen
class _Select:
    """A phi of the join, with its value from either side."""

    phi: Instruction
    first: Value
    second: Value
    spelling: str  # "" where one value serves both


def run(function: Function, ctx: Context) -> bool:
    return convert(function, list(function.rpo), ctx)


def convert(function: Function, order: Sequence[Block], ctx: Context) -> bool:
    """Convert the branches at the ends of some blocks, which are in the order of `rpo`."""
    work = _Work(function, ctx)
    for block in reversed(order):
        work.convert(block)
    if not work.gone:
        return False
    for block in order:
        if block not in work.gone:
            work.append_joins(block)
    drop(function, work.gone)
    function.analyze_cfg()
    return True


class _Work:
    """`preds` are kept as the edges change; `gone` are the blocks that no longer exist; `joins`
    those that only the converted branch before them leads to, not yet appended to its block.

    A join is appended when its block comes up as a side, else at the very end: appended at
    once, the last of a row of branches would be moved by each of them.
    """

    def __init__(self, function: Function, ctx: Context) -> None:
        self.function, self.ctx = function, ctx
        self.limit: int = ctx.options.limit
        self.preds = {b: list(b.preds) for b in function.blocks}
        self.gone: set[Block] = set()
        self._held: AbstractSet[Value] | None = None
        self.joins: set[Block] = set()

    def convert(self, head: Block) -> None:
        """Convert the branch at the end of a block, if it is one and may be."""
        h = self._hammock(head)
        if h is None:
            return
        size = sum(len(s) - 1 for s in h.blocks)
        if size > self.limit:
            self.ctx.remark(TOO_LARGE, h.branch, cost=size, limit=self.limit)
            return
        found = self._obstacle(h)
        if found is not None:
            self.ctx.remark(found[0], h.branch, **found[1])
            return
        selects = [_select(h, phi) for phi in h.join.phis]
        made = sum(bool(s.spelling) for s in selects)
        if size + made > self.limit:
            self.ctx.remark(TOO_LARGE, h.branch, cost=size + made, limit=self.limit)
            return
        self.ctx.count("branches")
        self.ctx.remark(CONVERTED, h.branch, instructions=size, selects=made)
        self._rewrite(h, selects)

    def _hammock(self, head: Block) -> _Hammock | None:
        branch = head.terminator
        if branch is None or branch.form.name != "bra" or branch.form.guard is None:
            return None
        a, b = branch.successors
        if a is b:
            return None
        if self._is_side(a, head, b):
            return _Hammock(head, branch, (a, None), b)
        if self._is_side(b, head, a):
            return _Hammock(head, branch, (None, b), a)
        if self.preds[a] == [head]:
            self.append_joins(a)
        for join in successors(a):
            if self._is_side(a, head, join) and self._is_side(b, head, join):
                return _Hammock(head, branch, (a, b), join)
        return None

    def _is_side(self, block: Block, head: Block, join: Block) -> bool:
        """Whether a block is entered from the head only and does nothing but lead to the join."""
        if join is head or self.preds[block] != [head]:
            return False
        self.append_joins(block)
        last = block.last
        return (
            block is not join
            and last is not None and last.form.name == "bra" and successors(block) == (join,)
            and block.pragmas == () and not (block.first is not None and block.first.form.is_phi)
        )

    def _obstacle(self, h: _Hammock) -> tuple[Code, dict[str, str]] | None:
        if self._held is None:
            self._held = held_in_place(self.function)
        for block in h.blocks:
            for i in block:
                reason = _unpredicable(i, self._held) if i is not block.last else None
                if reason is not None:
                    return OPERATION, {"what": i.form.spelling, "reason": reason}
        for phi in h.join.phis:
            if phi in self._held:
                return OPERATION, {"what": "phi", "reason": "is held by an asynchronous operation"}
            if _select(h, phi).spelling == "none":
                return MERGE, {"type": str(phi.type.name)}
        return None

    def _rewrite(self, h: _Hammock, selects: list[_Select]) -> None:
        guard = h.branch.guard
        assert guard is not None
        for block, when in zip(h.sides, (h.positive, not h.positive), strict=True):
            if block is None:
                continue
            for i in block:
                if i is block.last:
                    break
                i.move_before(h.branch)
                if not i.form.pure:
                    _predicate(i, guard, when)
        for s in selects:
            value = self._selected(h, s, guard)
            gone = {*h.blocks, h.head}
            kept = [(v, b) for v, b in s.phi.incoming if b not in gone]
            s.phi.set_incoming([*(v for v, _ in kept), value], [*(b for _, b in kept), h.head])
        self._remove_sides(h)

    def _selected(self, h: _Hammock, s: _Select, guard: Value) -> Value:
        if not s.spelling:
            return s.second if isinstance(s.first, Undef) else s.first
        yes, no = (s.first, s.second) if h.positive else (s.second, s.first)
        select = Instruction(
            form(s.spelling, "%s, %s, %s, %s"), (yes, no, guard), s.phi.type, s.phi.name,
            None, h.branch.loc,
        )
        select.insert_before(h.branch)
        return select

    def _remove_sides(self, h: _Hammock) -> None:
        """The head leads to the join alone, which is appended if nothing else leads there."""
        h.branch.erase()
        h.head.append(Instruction(form("bra"), aux=(h.join,), loc=h.branch.loc))
        for b in h.blocks:
            last = b.last
            assert last is not None
            last.erase()
        self.gone.update(h.blocks)
        into = [p for p in self.preds[h.join] if p not in self.gone and p is not h.head]
        self.preds[h.join] = [*into, h.head]
        if into or h.join.pragmas:
            return
        fold_phis(self.function, [h.join], self._held or frozenset())
        if h.join.first_non_phi is h.join.first:
            self.joins.add(h.join)

    def append_joins(self, block: Block) -> None:
        """Append to a block the join that follows it, and those that follow that."""
        while True:
            (join, *others) = successors(block) or (block,)
            if others or join not in self.joins or self.preds[join] != [block]:
                return
            for s in successors(join):
                self.preds[s] = [block if p is join else p for p in self.preds[s]]
            self.gone.add(join)
            merge_into(join, block)


def _unpredicable(i: Instruction, held: AbstractSet[Value]) -> str | None:
    """Why an instruction cannot be done under a guard, or by all lanes; None if it can."""
    f = i.form
    if f.name == "unknown":
        return "is no operation that the table knows"
    if f.convergent or f.is_call:
        return "needs the lanes together"
    if f.sync or f.pinned or f.op.pseudo:
        return "keeps its place"
    if any(v in held for v in (*i.results, *i.operands)):
        return "holds registers until a wait"
    if f.guard is not None and not f.pure:
        return "has a guard already"
    return None


def _predicate(i: Instruction, guard: Value, when: bool) -> None:
    """Guard an instruction; where it is not done its results are undefined."""
    f = i.form
    i.set_form(form(f.spelling, f.shape, "" if when else "!", f.volatile))
    i.set_operands((*i.operands, guard, *(undef(r.type) for r in i.results)))


def _select(h: _Hammock, phi: Instruction) -> _Select:
    """What a phi of the join becomes; spelling "none" where no select can do it."""
    at = dict(zip(phi.aux, phi.operands, strict=True))
    first, second = (at[h.head if s is None else s] for s in h.sides)
    if first is second or isinstance(first, Undef) or isinstance(second, Undef):
        return _Select(phi, first, second, "")
    t = phi.type
    if not isinstance(t, ScalarType) or t.cls.name not in _SELECTED:
        return _Select(phi, first, second, "none")
    literals = {v.type.name for v in (first, second) if isinstance(v, Constant)} - {"imm"}
    floating = literals or ({t.name} if t.kind == "f" and t.bits > 16 else set())
    name = f"f{t.bits}" if floating else str(t.cls.name)
    return _Select(phi, first, second, f"selp.{name}")
