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

Method   First the hazards, then the candidates of the loop's blocks (hoisting/nest.py), in reverse
         post-order. Nothing is moved yet.
Cost     a visit for each loop around a candidate; a load is compared with at most `MAX_STORES`
         stores.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property

import attrs

from nvir.analysis.alias import AliasAnalysis
from nvir.analysis.hoisting.nest import (
    CALL,
    CARRIES,
    CARRY,
    CONVERGENT,
    FETCH,
    HAZARDS,
    KINDS,
    LOAD,
    ORDERED,
    PURE,
    STORE,
    SYNC,
    UNKNOWN,
    BlockContents,
    Nest,
)
from nvir.ir import CC, Block, Instruction, Loop, OpKind, SpecialRegister, Value, Variable

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
    EFFECT = "it writes what it reads"
    IS_CALL = "it is a call"
    WRITES = "it writes memory"
    CARRY = "its carry chain does not move as a whole"


@attrs.frozen
class Stay:
    """An instruction that could move but for `why`; `cause` is the one that forbids it."""

    instruction: Instruction
    why: Blocked
    cause: Instruction | None = None


@attrs.define(eq=False)
class HoistRegion:
    """A loop as the mover sees it.

    inside     its blocks
    parts      what they hold
    stores     what writes memory; calls, syncs: the first of each kind, or None
    unknown    an operation that the table does not know, or None
    invariant  what may move, in an order in which it can run
    stay       what has invariant operands and may not
    """

    loop: Loop
    nest: Nest
    inside: AbstractSet[Block]
    parts: list[BlockContents]
    stores: list[Instruction] = attrs.Factory(list)
    call: Instruction | None = None
    sync: Instruction | None = None
    unknown: Instruction | None = None
    carried_in: bool = False  # a carry from outside is read: nothing may come between
    invariant: list[Instruction] = attrs.Factory(list)
    stay: list[Stay] = attrs.Factory(list)
    live: dict[frozenset[Instruction], list[Value]] = attrs.Factory(dict)  # of `live_into`
    met: dict[Hashable, Instruction | None] = attrs.Factory(dict)  # of `_store_met`

    @property
    def hazards(self) -> Iterator[Instruction]:
        """Instructions that others must not pass without a look."""
        return (i for part in self.parts for i in part.hazards)

    @cached_property
    def items(self) -> list[Instruction]:
        """All that runs in the loop, in order."""
        return [i for part in self.parts for i in part.items]

    @cached_property
    def places(self) -> list[Instruction]:
        """The stores, one of those that write the same place."""
        found: dict[Hashable, Instruction] = {}
        for s in self.stores:
            found.setdefault(_place(s), s)
        return list(found.values())

    @cached_property
    def members(self) -> frozenset[Instruction]:
        return frozenset(self.items)

    @cached_property
    def leaving(self) -> list[Block]:
        """Latches, and blocks from which control leaves the loop or the function."""
        loop, inside = self.loop, self.inside
        out = dict.fromkeys(loop.latches)
        for b in loop.blocks:
            t = b.terminator
            ends = t is None or t.form.kind is OpKind.RETURN
            if ends or any(s not in inside for s in b.succs):
                out[b] = None
        return list(out)

    @cached_property
    def fetches(self) -> int:
        return sum(KINDS[i.form] == FETCH for i in self.items)

    @property
    def size(self) -> int:
        """Instructions, phis and debug marks excluded."""
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


def survey(loop: Loop, nest: Nest) -> HoistRegion:
    """What of the loop may move."""
    region = HoistRegion(loop, nest, loop.members, nest.parts(loop))
    for i in region.hazards:
        known = HAZARDS[i.form]
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


def _find(region: HoistRegion) -> None:
    leaving: set[Instruction] = set()
    some_stay = False  # until then candidates read only what is made outside or leaves
    for part in region.parts:
        for i, kind in part.may_move:
            if kind == CARRY:
                _chain(i, region, leaving)
                some_stay = True
            elif not (some_stay and any(region.varies(v, leaving) for v in i._operands)):
                stay = _why_not(i, kind, region)
                if stay is None:
                    leaving.add(i)
                    region.invariant.append(i)
                else:
                    region.stay.append(stay)
                    some_stay = True


def _why_not(i: Instruction, kind: int, region: HoistRegion) -> Stay | None:
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


def _changed(i: Instruction, region: HoistRegion) -> Stay | None:
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
    met = _store_met(i, region)
    return Stay(i, Blocked.STORE, met) if met is not None else None


def _store_met(load: Instruction, region: HoistRegion) -> Instruction | None:
    """The first store that may touch what a load reads; asked once for each place."""
    place = _place(load)
    if place not in region.met:
        region.met[place] = next((s for s in region.places if not _apart(s, load, region)), None)
    return region.met[place]


def _place(i: Instruction) -> Hashable:
    """Equal for accesses of the same bytes by the same operands."""
    operands = i._operands
    if i.form.kind not in (OpKind.LOAD, OpKind.STORE):
        return i.form, operands
    return i.form, tuple([operands[k] for pair in i.form.addresses for k in pair if k >= 0])


def _own(i: Instruction, region: HoistRegion) -> bool:
    """Whether the load reads memory of its own thread alone."""
    accesses = region.nest.alias.accesses(i)
    return bool(accesses) and all(a.space == "local" for a in accesses)


def _apart(store: Instruction, load: Instruction, region: HoistRegion) -> bool:
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


def _chain(i: Instruction, region: HoistRegion, leaving: set[Instruction]) -> None:
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


def live_into(region: HoistRegion, leaving: Iterable[Instruction]) -> list[Value]:
    """The values of `leaving` that the rest of the loop reads."""
    gone = frozenset(leaving)
    found = region.live.get(gone)
    if found is None:
        found = region.live[gone] = []
        for i in gone:
            for r in i.results:
                for u in r.users:
                    if u not in gone and region.holds(u):
                        found.append(r)
                        break
    return found


def closed(chosen: Sequence[Instruction], region: HoistRegion) -> list[Instruction]:
    """Those of chosen invariants whose operands are all there, carry chains whole or not at all."""
    kept = list(chosen)
    if len(kept) == len(region.invariant):
        return kept
    while True:
        among = set(kept)
        left = [
            i for i in kept
            if not any(region.varies(v, among) for v in i.operands)
            and not (i.form.carry_out and any(
                u not in among and region.holds(u) for u in i.results[-1].users))
        ]
        if len(left) == len(kept):
            return left
        kept = left
