"""What of a loop's body may run before the loop: invariance, memory, speculation.

    ld.param.u64 %p, [a]
    L: ld.global.f32 %x, [%p]      ==> runs before L: nothing in the loop writes [%p],
       mul.f32 %y, %x, %s              and every pass through the loop comes by
       add.f32 %z, %z, %y

An instruction may move if all its operands (guard and fallbacks too) are made outside of the
loop or by what moves, and

    pure        its result depends on its operands alone: it may run even where it did not.
                PTX has no trapping arithmetic (a division by zero gives a value)
    a load      nothing in the loop may change what it reads: no call, no operation that orders
                memory, no store that may touch its bytes in any iteration; and it cannot fault:
                it runs in every pass through the loop that is left, or its address is proven to
                lie inside of its variable
    carry       `add.cc` … `addc` move together or not at all

Never: effects, convergent operations (the lanes that run them together would be others), volatile
accesses and registers, values that asynchronous operations hold in place, unknown mnemonics.

Method   One walk over the loop's instructions in reverse post-order; what left an inner loop stands
         at that loop's head. Nothing is moved yet.
Cost     a visit for each loop around an instruction; a load is compared with at most
         `MAX_STORES` stores.
"""

from __future__ import annotations

import enum
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cached_property

import attrs

from nvir.analysis.affine import AffineForms
from nvir.analysis.alias import AliasAnalysis
from nvir.ir.block import Block
from nvir.ir.form import Form
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop, natural_loops
from nvir.ir.symbols import Variable
from nvir.ir.types import CC
from nvir.ir.values import SpecialRegister, Value
from nvir.passes.rewrite import held_in_place

MAX_STORES = 64  # stores that a load is compared with before the loop is given up


class Blocked(enum.Enum):
    """Why an instruction with invariant operands stays."""

    STORE = "a store may write what it reads"
    SYNC = "it would pass an operation that orders memory"
    CALL = "a call may write what it reads"
    CONDITIONAL = "not every iteration runs it, and its address is not proven safe"
    CONVERGENT = "the lanes that run it together would be others"
    VOLATILE = "it is volatile or ordered"
    HELD = "an asynchronous operation holds its register"
    CARRY = "its carry chain does not move as a whole"


@attrs.frozen
class Stay:
    """An instruction that could move but for `why`; `cause` is the one that forbids it."""

    instruction: Instruction
    why: Blocked
    cause: Instruction | None = None


class Nest:
    """The loops of a function and what leaves them.

    moved     instruction → the outermost loop that it leaves
    site      instruction → the block at whose place it stands now: its own, or the header of
              the outermost loop that it leaves
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.loops = natural_loops(function)
        self.moved: dict[Instruction, Loop] = {}
        self.lifted: dict[Block, list[Instruction]] = {}  # by header, in order
        self._kinds: dict[Form, int] = {}
        self._blocks: dict[Block, Contents] = {}
        self._number = {b: k for k, b in enumerate(function.rpo)}

    @cached_property
    def held(self) -> Container[Value]:
        return held_in_place(self.function)

    @cached_property
    def alias(self) -> AliasAnalysis:
        return AliasAnalysis(AffineForms(self.function))

    def innermost_first(self) -> list[Loop]:
        return self.loops[::-1]

    def site(self, i: Instruction) -> Block:
        loop = self.moved.get(i)
        assert i.block is not None
        return i.block if loop is None else loop.header

    def leave(self, loop: Loop, leaving: list[Instruction]) -> None:
        """Note that instructions, in order, leave a loop."""
        gone = set(leaving)
        for inner in {self.moved[i].header for i in leaving if i in self.moved}:
            self.lifted[inner] = [i for i in self.lifted[inner] if i not in gone]
        self.moved.update(dict.fromkeys(leaving, loop))
        if leaving:
            self.lifted[loop.header] = [*self.lifted.get(loop.header, ()), *leaving]

    def parts(self, loop: Loop) -> Iterator[Contents]:
        """What the loop holds, in reverse post-order; what an inner loop lost comes first."""
        moved = self.moved
        for b in loop.blocks:
            if b is not loop.header and b in self.lifted:
                yield self._sort(self.lifted[b])
            known = self._blocks.get(b)
            if known is None:
                known = self._blocks[b] = self._sort(b)
            elif known.may_move and moved:
                left = [i for i in known.items if i not in moved]
                if len(left) < len(known.items):  # what has moved does not come back
                    known = self._blocks[b] = self._sort(left)
            yield known

    def _sort(self, source: Iterable[Instruction]) -> Contents:
        known = self._kinds.get
        items = []
        may_move = []
        hazards = []
        for i in source:
            items.append(i)
            k = known(i.form)
            if k is None:
                k = self.kind(i.form)
            if k > STAYS:
                may_move.append((i, k))
            if k == STAYS or k > FETCH:
                hazards.append(i)
        return Contents(items, may_move, hazards)

    def kind(self, form: Form) -> int:
        found = self._kinds.get(form)
        if found is None:
            found = self._kinds[form] = _kind(form)
        return found


@attrs.frozen
class Contents:
    """Instructions in order; those of them that may move, with their kind; and those that others
    must not pass."""

    items: list[Instruction]
    may_move: list[tuple[Instruction, int]]
    hazards: list[Instruction]


# STAYS and those above FETCH are looked at before anything else may pass them.
PHI, STAYS, PURE, LOAD, STEADY, FETCH, CARRY, CONVERGENT, ORDERED = range(9)


def _kind(form: Form) -> int:
    """What the mover takes a form for; STEADY is a load that no store changes."""
    if form.is_phi or form.op.pseudo:
        return PHI
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
    return form.name in ("tex", "tld4") or form.name.startswith(("tex.", "tld4."))


@attrs.define(eq=False)
class Region:
    """A loop as the mover sees it.

    stores     what writes memory; calls, syncs: the first of each kind, or None
    unknown    an operation that the table does not know, or None
    invariant  what may move, in an order in which it can run
    stay       what has invariant operands and may not
    size       instructions, phis and debug marks excluded
    may_move   instructions that may move, as far as their kind says, with it
    hazards    instructions that others must not pass without a look
    """

    loop: Loop
    nest: Nest
    stores: list[Instruction] = attrs.Factory(list)
    call: Instruction | None = None
    sync: Instruction | None = None
    unknown: Instruction | None = None
    carried_in: bool = False  # a carry from outside is read: nothing may come between
    invariant: list[Instruction] = attrs.Factory(list)
    stay: list[Stay] = attrs.Factory(list)
    items: list[Instruction] = attrs.Factory(list)
    may_move: list[tuple[Instruction, int]] = attrs.Factory(list)
    hazards: list[Instruction] = attrs.Factory(list)

    @cached_property
    def inside(self) -> frozenset[Block]:
        return frozenset(self.loop.blocks)

    @cached_property
    def members(self) -> frozenset[Instruction]:
        """All that runs in the loop."""
        return frozenset(self.items)

    @cached_property
    def leaving(self) -> list[Block]:
        """Latches, and blocks from which control leaves the loop or the function."""
        loop, inside = self.loop, self.inside
        out = dict.fromkeys(loop.latches)
        for b in loop.blocks:
            t = b.terminator
            ends = t is None or t.form.name in ("ret", "exit")
            if ends or any(s not in inside for s in b.succs):
                out[b] = None
        return list(out)

    @cached_property
    def fetches(self) -> int:
        return sum(k == FETCH for _, k in self.may_move)

    @property
    def size(self) -> int:
        return sum(not (i.form.is_phi or i.form.op.pseudo) for i in self.items)

    def always_runs(self, i: Instruction) -> bool:
        """Whether whoever enters the loop runs the instruction, if he ever leaves it."""
        site = self.nest.site(i)
        return self.call is None and all(site.dominates(b) for b in self.leaving)

    def varies(self, v: Value, leaving: set[Instruction]) -> bool:
        """Whether a value is made in the loop by what does not leave it."""
        d = v.definer
        return d is not None and d not in leaving and self.holds(d)

    def holds(self, i: Instruction) -> bool:
        """Whether an instruction runs in the loop, after what has left so far."""
        at = self.nest.moved.get(i)
        if at is None:
            return i.block in self.inside
        return at is not self.loop and at.header in self.inside


def survey(loop: Loop, nest: Nest) -> Region:
    """What of the loop may move."""
    region = Region(loop, nest)
    for part in nest.parts(loop):
        region.items += part.items
        region.may_move += part.may_move
        region.hazards += part.hazards
    for i in region.hazards:
        f = i.form
        known = _HAZARDS.get(f)
        if known is None:
            known = _HAZARDS[f] = _hazards_of(f)
        if not known:
            continue
        if known & UNKNOWN:
            region.unknown = region.unknown or i
        if known & CALL:
            region.call = region.call or i
        elif known & SYNC:
            region.sync = region.sync or i
        if known & STORE:
            region.stores.append(i)
        if known & CARRIES:
            region.carried_in |= any(
                v.type is CC and v.definer is not None and not region.holds(v.definer)
                for v in i.operands
            )
    if region.unknown is None:
        _find(region)
    return region


UNKNOWN, CALL, SYNC, STORE, CARRIES = 1, 2, 4, 8, 16
_HAZARDS: dict[Form, int] = {}  # by form: which of these it is


def _hazards_of(f: Form) -> int:
    sync = f.sync or (f.op.async_until and not f.writes) or _waits(f)
    return (
        UNKNOWN * (f.name == "unknown") | CALL * f.is_call | SYNC * bool(sync)
        | STORE * f.writes | CARRIES * (f.carry_in or f.carry_out)
    )  # fmt: skip


def _waits(form: Form) -> bool:
    """Waiting for copies in flight makes what they wrote visible."""
    return form.name.startswith(("cp.async.wait", "cp.async.bulk.wait", "wgmma.wait", "griddep"))


def _find(region: Region) -> None:
    leaving: set[Instruction] = set()
    moved, loop, inside = region.nest.moved, region.loop, region.inside
    for i, kind in region.may_move:
        for v in i._operands:
            d = v if v.__class__ is Instruction else v.definer
            if d is None or d.block not in inside or d in leaving:
                continue
            at = moved.get(d)
            if at is None or (at is not loop and at.header in inside):
                break
        else:
            if kind == CARRY:
                _chain(i, region, leaving)
                continue
            stay = _why_not(i, kind, region)
            if stay is None:
                leaving.add(i)
                region.invariant.append(i)
            elif stay.why is not None:
                region.stay.append(stay)
            continue
        if kind == CARRY:
            _chain(i, region, leaving)


def _why_not(i: Instruction, kind: int, region: Region) -> Stay | None:
    """What forbids that an instruction of invariant operands moves, or None."""
    held = region.nest.held
    if held and any(r in held for r in i.results):
        return Stay(i, Blocked.HELD)
    if kind == CONVERGENT:
        return Stay(i, Blocked.CONVERGENT)
    if kind == ORDERED:
        return Stay(i, Blocked.VOLATILE)
    for v in i._operands:
        if v.__class__ is SpecialRegister and v.volatile:
            return Stay(i, Blocked.VOLATILE)
    if kind == PURE:
        return None
    if kind == LOAD:
        changed = _changed(i, region)
        if changed is not None:
            return changed
    if kind == FETCH:
        if region.call is not None:
            return Stay(i, Blocked.CALL, region.call)
        for s in region.stores:
            if s.form.name.startswith("su"):
                return Stay(i, Blocked.STORE, s)
        return None  # a fetch does not fault
    if not region.always_runs(i) and not in_bounds(i, region.nest.alias):
        return Stay(i, Blocked.CONDITIONAL)
    return None


def _changed(i: Instruction, region: Region) -> Stay | None:
    """What in the loop may change what a load reads, or None."""
    alias = region.nest.alias
    accesses = alias.accesses(i)
    if accesses and all(a.invariant for a in accesses):
        return None
    if region.call is not None:
        return Stay(i, Blocked.CALL, region.call)
    if region.sync is not None and not _own(i, region):
        return Stay(i, Blocked.SYNC, region.sync)
    if len(region.stores) > MAX_STORES:
        return Stay(i, Blocked.STORE, region.stores[0])
    for s in region.stores:
        if not _apart(s, i, region):
            return Stay(i, Blocked.STORE, s)
    return None


def _own(i: Instruction, region: Region) -> bool:
    """Whether the load reads memory of its own thread alone."""
    accesses = region.nest.alias.accesses(i)
    return bool(accesses) and all(a.space == "local" for a in accesses)


def _apart(store: Instruction, load: Instruction, region: Region) -> bool:
    """Whether a store touches the load's bytes in no iteration, earlier, same or later."""
    alias, loop = region.nest.alias, region.loop
    return (
        alias.distance(store, load, loop, 0).is_never
        and alias.distance(load, store, loop, 0).is_never
    )


def in_bounds(i: Instruction, alias: AliasAnalysis) -> bool:
    """Whether a load's address is proven to lie in the variable that it was made from.

    A guard does not matter: what is in bounds can be read by whom it does not concern.
    """
    accesses = alias.accesses(i)
    if not accesses:
        return False
    for a in accesses:
        if a.address is None or a.size is None or not isinstance(a.root, Variable):
            return False
        terms = a.address.terms
        if len(terms) != 1 or terms[0].symbol is not a.root or terms[0].coefficient != 1:
            return False
        if not (a.address.is_exact and 0 <= a.address.constant <= a.root.size - a.size):
            return False
    return True


def _chain(i: Instruction, region: Region, leaving: set[Instruction]) -> None:
    """At the last link of a carry chain: let the whole chain leave, if it can."""
    if i.form.carry_out and _next_link(i) is not None:
        return
    links = _links(i)
    if links is None or region.carried_in:
        if not any(region.varies(v, leaving) for v in i.operands):
            region.stay.append(Stay(i, Blocked.CARRY))
        return
    own = leaving.union(links)
    for link in links:
        if not region.holds(link) or any(region.varies(v, own) for v in link.operands):
            return
        if any(r in region.nest.held for r in link.results):
            region.stay.append(Stay(link, Blocked.HELD))
            return
    leaving.update(links)
    region.invariant += links


def _next_link(i: Instruction) -> Instruction | None:
    carry = i.results[-1]
    return next(iter(carry.users), None)


def _links(last: Instruction) -> list[Instruction] | None:
    """The chain that ends here, in order; None where it is not one line in one block."""
    links = [last]
    while links[-1].form.carry_in:
        carry = next((v for v in links[-1].operands if v.type is CC), None)
        d = carry.definer if carry is not None else None
        if d is None or d.form.is_phi or d.block is not last.block:
            return None
        if len(list(d.results[-1].users)) > 1:
            return None
        links.append(d)
    links.reverse()
    return links


def live_into(region: Region, leaving: Iterable[Instruction]) -> list[Value]:
    """The values of `leaving` that the rest of the loop reads."""
    gone = set(leaving)
    out = []
    for i in gone:
        for r in i.results:
            if any(u not in gone and region.holds(u) for u in r.users):
                out.append(r)
    return out


def closed(chosen: Sequence[Instruction], region: Region) -> list[Instruction]:
    """Those whose operands are all there, carry chains whole or not at all."""
    kept = list(chosen)
    while True:
        among = set(kept)
        left = [
            i for i in kept
            if not any(region.varies(v, among) for v in i.operands)
            and not (i.form.carry_out and any(
                u not in among and region.holds(u) for u in i.results[-1].users))
        ]  # fmt: skip
        if len(left) == len(kept):
            return left
        kept = left
