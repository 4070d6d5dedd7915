"""What instructions and blocks weigh for the rule that ptxas was observed to follow.

    shl %a, %i, 2      part of the sums that read it, where only such do   cost 0
    div.u32 %b, %c, 7  a sequence                                          cost: its length
    phi                and what it gets from other instructions            a move each
    @%p st [%a], %x    a block of its own: the part before it ends with a branch, one more; what
                       a guarded load makes or keeps meets in a phi behind it

Method   The cost of a form is worked out once in a process, but for what may be part of its
         readers. A block is walked once for all questions about it, and again where a loop around
         finds less in it.
Cost     one visit an instruction for each loop around it at most.
Source   as hoist/decide.py; unroll/weights.py for the sequences.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

import attrs

from nvir.analysis.hoisting.nest import BlockContents, Nest
from nvir.assembler.hoist.score import has_long_latency
from nvir.assembler.unroll.body_cost import never_unrolled, row_of
from nvir.assembler.unroll.weights import HOPPER, weight
from nvir.ir import Block, Constant, Form, Instruction, OpKind, Value


@attrs.frozen
class HoistWeight:
    """What the instructions of a block are together.

    cost   instructions of the machine, without moves
    moves  those for phis: at them, and where what they get is made
    long   whether some are loads of long latency
    split  whether the machine has branches or fences in it: it is judged in parts
    """

    cost: int
    moves: int
    long: bool
    split: bool = False


@attrs.frozen
class WeightedPart:
    """What lies between two splits of a block, in order; the first or the last of its parts."""

    items: list[Instruction]
    weight: HoistWeight
    first: bool
    last: bool


class Weights:
    """Weights of a nest's blocks on an architecture, worked out when they are asked for."""

    def __init__(self, nest: Nest, arch: int) -> None:
        self.nest, self.arch = nest, arch
        self._costs = costs(arch)
        self.cost = self._costs.of
        self._known: dict[BlockContents, HoistWeight] = {}
        self._parts: dict[BlockContents, list[WeightedPart]] = {}

    def of(self, b: Block) -> HoistWeight:
        """The weight of what is left of a block."""
        part = self.nest.contents(b)
        known = self._known.get(part)
        if known is None:
            known = self._known[part] = self._weigh(part.items)
        return known

    def parts(self, b: Block) -> list[WeightedPart]:
        """The parts of a block that is split."""
        contents = self.nest.contents(b)
        known = self._parts.get(contents)
        if known is None:
            known = self._parts[contents] = self._divide(contents.items)
        return known

    def _divide(self, items: list[Instruction]) -> list[WeightedPart]:
        """The part before a split ends with its branch or fence; before sm_90 half of a fence
        stands in the part behind it."""
        parts: list[WeightedPart] = []
        held: list[Instruction] = []
        behind = merges = 0  # what the split before leaves to this part
        for i in (*items, None):
            if i is not None and not splits(i.form):
                held.append(i)
                continue
            w = self._weigh(held)
            cost, moves = w.cost + behind + (i is not None), w.moves + merges
            moves += sum([_moves_at_split(v) for v in held])
            parts.append(WeightedPart(held, HoistWeight(cost, moves, w.long), not parts, i is None))
            if i is not None:
                held = []
                behind = int(i.form.guard is None and self.arch < HOPPER)
                merges = sum([_move_at_join(r) for r in i.results]) if i.form.guard else 0
        return parts

    def _weigh(self, items: list[Instruction]) -> HoistWeight:
        cost = moves = 0
        long = split = False
        fixed, own = self._costs.fixed, self.cost
        for i in items:
            f, u = i.form, i._uses
            n = fixed.get(f)
            cost += own(i) if n is None else n
            if f.reads or f.writes or f.sync:
                long |= has_long_latency(f)
                split |= splits(f)
            if f.is_phi:
                moves += _move_at_phi(i)
            elif u.__class__ is dict:
                for reader in u:
                    moves += reader.form.is_phi
            elif u is not None:
                moves += u.form.is_phi
            elif i._results:
                moves += sum([reader.form.is_phi for r in i._results for reader in r.users])
        return HoistWeight(cost, moves, long, split)

    def lifted(self, header: Block) -> int:
        """The cost of what left a loop and stands before it."""
        return sum(map(self.cost, self.nest.lifted.get(header, ())))

    def slow(self, parts: Iterable[BlockContents]) -> str:
        """Why a loop of such parts keeps everything, or ""."""
        forms = {i.form: i for part in parts for i in part.items}
        return next(filter(None, map(self._costs.slow, forms.values())), "")


def _move_at_phi(phi: Instruction) -> int:
    """One, unless the phi's value is but handed on to another block's."""
    u, n = phi._uses, 1
    for reader in u if u.__class__ is dict else phi.users:
        if reader.form.is_phi and reader.block is not phi.block:
            n = 0
    return n


def _moves_at_split(i: Instruction) -> int:
    """Moves less for a phi that is but handed on to a guarded load, more for another value that
    one keeps where its guard is false."""
    n = 0
    for r in i.results:
        if any(u.form.is_phi for u in r.users):
            continue
        if any(_keeps(u, r) for u in r.users):
            n += -1 if i.form.is_phi else 1
    return n


def _keeps(i: Instruction, v: Value) -> bool:
    """Whether a guarded access is another value's source where its guard is false."""
    n = len(i.results)
    return n > 0 and i.form.guard is not None and splits(i.form) and v in i._operands[-n:]


def _move_at_join(v: Value) -> int:
    """One, unless what a guarded load makes is but handed on."""
    return int(not any(u.form.is_phi or _keeps(u, v) for u in v.users))


@functools.cache
def splits(f: Form) -> bool:
    """Whether the machine's block ends there: guarded accesses of memory are branched around,
    fences are blocks of their own."""
    if f.guard is not None:
        return not f.terminator and (f.reads or f.writes)
    return f.kind is OpKind.FENCE and "proxy" not in f.name


def moves_of_literals(b: Block) -> int:
    """The moves at the end of a block for literals that phis get from it."""
    return sum([p._operands[p.aux.index(b)].is_constant for s in b.succs for p in s.phis])


# ---------------------------------------------------------------- single instructions


@functools.cache
def costs(arch: int) -> Costs:
    return Costs(arch)


class Costs:
    """What an architecture makes of instructions."""

    def __init__(self, arch: int) -> None:
        self.arch = arch
        self.fixed: dict[Form, int] = {}  # costs that the form alone says
        self._alone: dict[Form, int] = {}  # those of what is no part of its readers, but may be
        self._slow: dict[Form, str] = {}

    def of(self, i: Instruction) -> int:
        """How many instructions the machine has for it."""
        n = self.fixed.get(i.form)
        return self._work_out(i) if n is None else n

    def _work_out(self, i: Instruction) -> int:
        f = i.form
        alone = self._alone.get(f)
        if alone is None:
            alone = _cost(i, self.arch)
            if _is_open(f, self.arch):
                return alone
            if not _may_be_part(f):
                self.fixed[f] = alone
                return alone
            self._alone[f] = alone
        return 0 if _is_part(i) else alone

    def slow(self, i: Instruction) -> str:
        """Why a loop that holds it keeps everything, or ""."""
        known = self._slow.get(i.form)
        if known is None:
            passing = i.form.kind is OpKind.FENCE or i.form.op.gathers
            known = self._slow[i.form] = "" if passing else never_unrolled(i, self.arch)
        return known


def _cost(i: Instruction, arch: int) -> int:
    f = i.form
    if f.is_phi or f.op.pseudo or (f.name == "bra" and f.guard is None):
        return 0  # control mostly falls through where a jump is written
    n = 1 if f.reads or f.writes else row_of(i, arch).d
    return n + (f.guard is not None and not f.terminator)


@functools.cache
def _is_open(f: Form, arch: int) -> bool:
    """Whether operands have a say in the cost."""
    if f.name == "mov" or (f.n_sources < 0 and not f.is_phi):
        return True
    return not (f.reads or f.writes) and weight(f, arch, True).d != weight(f, arch, False).d


def _may_be_part(f: Form) -> bool:
    """Whether products or shifts of a form may be but a part of the sums that read them."""
    product, shift = f.name == "mul", f.name == "shl"
    if not (product or shift) or f.guard is not None or f.type is None:
        return False
    if f.type.is_float:
        return product and _ROUNDED.isdisjoint(f.mods)
    return f.type.bits == 32 and (shift or "lo" in f.mods or "wide" in f.mods)


def _is_part(i: Instruction) -> bool:
    """Whether the machine has no instruction for one of these: the only reader of a floating or
    wide product does it, or all that read another."""
    f, user = i.form, i._uses
    single = user.__class__ is Instruction
    assert f.type is not None
    if f.type.is_float:
        return single and _contracts(user, i)
    if "wide" in f.mods:
        return single and _summed(user.form) == 64
    if f.name == "shl" and i._operands[1].__class__ is not Constant:
        return False
    return {_summed(u.form) for u in i.users} == {32}


@functools.cache
def _summed(f: Form) -> int:
    """The bits of the integers that a form adds, 0 if it is no sum."""
    plain = f.name == "add" and f.guard is None and not f.carry_out and f.type is not None
    return f.type.bits if plain and f.type is not None and not f.type.is_float else 0


def _contracts(i: Instruction, product: Instruction) -> bool:
    """Whether a sum becomes one operation with the product that it reads, no other before it."""
    f = i.form
    if f.kind is not OpKind.SUM or f.type is not product.form.type or f.guard is not None:
        return False
    first = i._operands[0]
    return _ROUNDED.isdisjoint(f.mods) and (first is product or not _is_lone_product(first))


def _is_lone_product(v: Value) -> bool:
    d = v.definer
    return d is not None and d.form.name == "mul" and d._uses.__class__ is Instruction


_ROUNDED = frozenset(("rn", "rz", "rm", "rp", "sat"))
