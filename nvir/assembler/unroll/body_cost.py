"""What a loop's body weighs for ptxas, and how much of it folds in unrolled copies.

    d      instructions of one iteration, without those that only count the loop
    a      those that stay when the induction variable is a constant
    S      savings: loop control, what folds, known addresses, fetches

An instruction folds if all that it reads is known: literals, the induction
variables, addresses of shared and constant memory, results of what folds. An
address offset is an addition of its own, which accesses of one address share.

Method   What is known, unroll/known.py says; the rest is one sum.
Nests    An inner loop that is unrolled fully counts as its copies, and its
         phis are known as well.
Cost     one visit an instruction of the loop.
Source   measured, see unroll/weights.py.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

import attrs

from nvir.analysis.induction import constant_of
from nvir.assembler.unroll.exits import is_conjunction, is_empty
from nvir.assembler.unroll.known import Counted, Known, without_moves
from nvir.assembler.unroll.weights import (
    ADDRESS_KNOWN,
    CARRIED_BY_NEST,
    CONSTANT_REGISTERS,
    CONTROL_OF_COPY,
    DIVISOR_FOLDS,
    FETCH_SAVING,
    FREE,
    HOPPER,
    LOOP_CONTROL,
    ONE,
    SHARED_SYMBOL,
    TWO,
    Weight,
    divided_by_literal,
    weight,
)
from nvir.ir import Block, Form, Instruction, Loop, OpKind, Variable
from nvir.ir.values import Constant, SpecialRegister, SymbolOffset, Value

_SLOW = (OpKind.DIVIDE, OpKind.SPECIAL)  # where they are exact
_ACCESSES = (OpKind.LOAD, OpKind.STORE)
_LONG = frozenset(("s64", "u64", "s16", "u16"))


@attrs.define
class BodyCost:
    """The figures of one iteration; see the module docstring for d, a and S.

    shared_loads, fetches   how many
    loads       a global, local or generic load is in it
    local_loads a local one
    branches    real branches other than those that count the loop
    breaks      whether one of them leaves the loop; nested: one lies under another
    barrier     whether there is a bar.sync
    warp        whether there is a warp-wide operation
    scattered   a store to global memory follows a load, at an address that is no pointer which
                the loop moves by a constant
    together    an atomic, an operation of a warp, or such a store to other memory
    """

    d: int = 0
    a: int = 0
    extra: int = 0
    shared_loads: int = 0
    fetches: int = 0
    loads: bool = False
    local_loads: bool = False
    branches: int = 0
    breaks: bool = False
    nested: bool = False
    barrier: bool = False
    warp: bool = False
    scattered: bool = False
    together: bool = False

    @property
    def c(self) -> int:
        """The size with loop control."""
        return self.d + LOOP_CONTROL

    @property
    def S(self) -> int:
        folded = self.d - self.a
        return LOOP_CONTROL + folded + self.extra + (FETCH_SAVING if self.fetches else 0)

    @property
    def p(self) -> int:
        """Percent of an iteration that unrolling saves, rounded down."""
        return 100 * self.S // self.c

    def add(self, other: BodyCost, copies: int) -> None:
        """Take in the copies of an inner loop that is fully unrolled."""
        self.d += copies * (other.d + CONTROL_OF_COPY) + CARRIED_BY_NEST
        self.a += copies * other.a
        self.extra += copies * other.extra
        self.shared_loads += copies * other.shared_loads
        self.fetches += copies * other.fetches
        self.loads |= other.loads
        self.local_loads |= other.local_loads
        self.branches += copies * other.branches
        self.breaks |= other.breaks
        self.nested |= other.nested
        self.barrier |= other.barrier
        self.warp |= other.warp
        self.scattered |= other.scattered
        self.together |= other.together


def body_cost(
    counted: Counted, arch: int, layout: Mapping[Block, Block | None],
    dead: AbstractSet[Instruction] = frozenset(),
) -> BodyCost:
    """The cost of one iteration. `layout` gives each block the one that follows it in the text;
    instructions that are `dead` count as if they were gone."""
    return _cost(counted, Known(counted, arch, dead), arch, layout, dead)


def _cost(
    counted: Counted, known: Known, arch: int, layout: Mapping[Block, Block | None],
    dead: AbstractSet[Instruction],
) -> BodyCost:
    cost = BodyCost()
    loop = counted.loop
    inner = frozenset[Block]().union(*(x.loop.members for x in counted.inner))
    inside = loop.members
    control = loop_control(counted, dead)
    if counted.trip is not None and is_conjunction(counted.trip):
        cost.breaks = True  # the conjunction itself counts as the branch
        cost.branches += 1
    offsets: set[tuple[Value, Value]] = set()
    for block in loop.blocks:
        if block in inner:
            continue
        for i in block:
            if i in dead or i in control:
                continue
            if i.is_phi:
                if block is not loop.header:
                    _count_join(cost, i)
            elif i.form.terminator:
                _count_branch(cost, i, block, known, loop, inside, layout, dead)
            else:
                _count(cost, i, known, arch, offsets)
                if i.form.writes or i.form.convergent or i.form.pinned:
                    _look_at_lanes(cost, i, loop)
    for x in counted.inner:
        copies = x.trip.count if x.trip is not None else None
        cost.add(_cost(x, known, arch, layout, dead), copies or 0)
    return cost


def _look_at_lanes(cost: BodyCost, i: Instruction, loop: Loop) -> None:
    """Note what keeps lanes together: operations of a warp, atomics, and stores after a load.

    Of stores those count that do not go through a moving pointer.
    """
    f = i.form
    if f.op.gathers or f.kind in (OpKind.WARP, OpKind.ATOMIC) or f.name == "nanosleep":
        cost.together = True
        return
    if f.kind is not OpKind.STORE or not f.addresses:
        return
    near = f.space in ("shared", "shared::cta")
    after = cost.shared_loads > 0 if near or not f.space else False
    if not near and f.space in ("global", ""):
        after |= cost.loads
    if after and _is_scattered(i, loop):
        cost.scattered |= f.space == "global"
        cost.together |= f.space != "global"


def _is_scattered(i: Instruction, loop: Loop) -> bool:
    """Whether a store does not go through a pointer that the loop moves by a constant."""
    base = _without_constants(i.operands[i.form.addresses[0][0]])
    if not isinstance(base, Instruction) or not base.is_phi:
        return True
    moved = [_without_constants(v) for v, b in base.incoming if b in loop.latches]
    return base.block is not loop.header or any(v is not base for v in moved)


def _without_constants(v: Value) -> Value:
    """The value to which only constants are added."""
    while isinstance(v, Instruction) and (v.form.kind is OpKind.SUM or v.form.name == "mov"):
        if v.form.name != "mov" and constant_of(v.operands[1]) is None:
            break
        v = v.operands[0]
    return v


def loop_control(
    counted: Counted, dead: AbstractSet[Instruction] = frozenset()
) -> set[Instruction]:
    """The instructions that only count: the induction add, its compare, the exit branch."""
    trip = counted.trip
    if trip is None:
        return set()
    out = set()
    update = trip.variable.update.definer
    if update is not None:
        out.add(update)
    branch = trip.exit.terminator
    if branch is None or branch.guard is None:
        return out
    out.add(branch)
    test = branch.guard.definer
    while test is not None and test.form.name == "not" and _used_once(test, dead):
        out.add(test)
        test = test.operands[0].definer
    if trip.test.block in counted.loop.members:
        out.add(trip.test)
    return out


def _used_once(value: Value, dead: AbstractSet[Instruction]) -> bool:
    users = [u for u in value.users if u not in dead]
    return len(users) == 1 and users[0].operands.count(value) == 1


def _count_branch(
    cost: BodyCost, i: Instruction, block: Block, known: Known, loop: Loop,
    inside: AbstractSet[Block], layout: Mapping[Block, Block | None],
    dead: AbstractSet[Instruction],
) -> None:
    guard = i.guard
    if guard is None:
        target = i.successors[0] if i.successors else None
        if target is not None and target is not loop.header and layout.get(block) is not target:
            cost.d += 1
            cost.a += 1
        return
    if len(i.successors) == 2 and is_hollow(block, i.successors, dead):
        test = guard.definer
        if test is not None and test.block in inside and _used_once(test, dead):
            cost.d -= 1
            cost.a -= not known(test)
        return
    cost.d += 1
    cost.branches += 1
    leaves = any(t not in inside for t in i.successors) or i.form.name != "bra"
    cost.breaks |= leaves
    if known(guard):
        return
    cost.a += 1
    if leaves:
        return
    if not all(block.dominates(latch) for latch in loop.latches):
        cost.nested = True


def is_hollow(
    block: Block, ways: tuple[Block, ...], dead: AbstractSet[Instruction]
) -> bool:
    """Whether a branch skips nothing: an `if` of which all is dead."""
    for arm, join in (ways, ways[::-1]):
        if arm is join:
            return True
        if len(arm.preds) == 1 and arm.succs == (join,) and is_empty(arm, dead):
            return all(_same_from(p, arm, block) for p in join.phis if p not in dead)
    return False


def _same_from(phi: Instruction, a: Block, b: Block) -> bool:
    values = [v for v, source in phi.incoming if source is a or source is b]
    return len(values) == 2 and values[0] is values[1]


def _count(
    cost: BodyCost, i: Instruction, known: Known, arch: int,
    offsets: set[tuple[Value, Value]],
) -> None:
    f = i.form
    w = row_of(i, arch)
    if w.branches:
        cost.branches += w.branches
        cost.nested |= w.branches > 1
    if (f.reads or f.writes) and f.addresses and not f.is_call:
        _count_access(cost, i, known, w.a, w.d, offsets, arch)
        return
    cost.warp |= f.op.gathers
    cost.barrier |= f.kind is OpKind.BARRIER and f.op.scope == "block"
    cost.d += w.d
    cost.extra += w.extra
    if f.name == "add":
        of_symbol = known.address_addition(i)
        cost.d += of_symbol
        cost.a += of_symbol if of_symbol > 0 or not known.folds(i) else 0
    if not known.folds(i):
        cost.a += _left_of(i, w.a, known)
    elif w.a >= DIVISOR_FOLDS:
        cost.d = cost.d - w.d + divided_by_literal(f, True).d
    if f.guard is not None:
        cost.d += 1
        cost.a += not known(i.operands[f.guard_index])


def _left_of(i: Instruction, a: int, known: Known) -> int:
    """What is left of an instruction of which not all operands are known: a selection is a move,
    a wide product is one literal, a field is at a known place."""
    name, v = i.form.name, i.operands
    if i.form.kind is OpKind.SELECT:
        return 0 if known(v[2]) else a
    if name == "bfe":
        return 1 if a == 2 and "64" not in i.form.spelling and known(v[1]) and known(v[2]) else a
    return 1 if name == "mad" and known(v[0]) and known(v[1]) else a


def _count_join(cost: BodyCost, phi: Instruction) -> None:
    """A literal or parameter that meets other values is moved to their register."""
    for v in phi.operands:
        if v.__class__ is Constant or is_parameter(v):
            cost.d += 1
            cost.a += 1


def _count_access(
    cost: BodyCost, i: Instruction, known: Known, a: int, d: int,
    offsets: set[tuple[Value, Value]], arch: int,
) -> None:
    f = i.form
    fetch = f.op.memory == "texture" and f.reads
    cost.fetches += fetch
    load = f.name == "ld" and not f.writes
    cost.loads |= load and f.space in ("global", "local", "")
    near = f.space in ("shared", "shared::cta")
    cost.shared_loads += load and near
    cost.local_loads |= load and f.space == "local"
    wider = _extensions(i) if load else 0
    cost.d += d + wider
    cost.a += a + wider
    if f.guard is not None:
        cost.branches += 1  # ptxas branches around it later
        cost.d += 1
        cost.a += not known(i.operands[f.guard_index])
    if fetch:
        return
    plain = (near and f.kind in (*_ACCESSES, OpKind.ATOMIC)) or (
        load and f.space in ("const", "param")
    )
    for base, offset in f.addresses:
        b = without_moves(i.operands[base])
        moved = offset >= 0 and not _zero(i.operands[offset])
        if isinstance(b, (Variable, SymbolOffset)):
            _count_symbol(cost, i, b, known, a if plain else 0, moved, arch)
            continue
        if plain and known(b) and f.kind in _ACCESSES:
            cost.extra += ADDRESS_KNOWN
        # A parameter is an operand like a literal, but not as an address.
        parameter = (arch >= HOPPER or not f.name.startswith("cp.async")) and is_parameter(b)
        if not moved:
            cost.d += parameter
            cost.a += parameter
            continue
        key = (b, i.operands[offset])
        if parameter or key not in offsets:
            offsets.add(key)
            cost.d += 1
            cost.a += not known(b)


def _count_symbol(
    cost: BodyCost, i: Instruction, b: Value, known: Known, a: int, moved: bool, arch: int
) -> None:
    """The address is a symbol: a literal of the access in near memory, else made before it.

    `a` is what the access leaves in copies if a literal serves it, else 0.
    """
    space = i.form.space
    extra = 1
    if a and space in ("const", "param"):  # an operand of what uses it
        cost.a -= a
        return
    if a and known(b):
        cost.d += 1
        return
    if space in ("shared", "shared::cta") and arch >= HOPPER:
        extra = SHARED_SYMBOL + moved
    elif space == "local":
        extra = 2
    cost.d += extra
    cost.a += extra


def row_of(i: Instruction, arch: int) -> Weight:
    """The weight of an instruction."""
    f = i.form
    name = f.name
    sources = i._operands if f.n_sources >= 0 else i.sources
    if name == "mov":
        return _row_of_move(i, sources[0], arch)
    n = f.n_sources if f.n_sources >= 0 else len(sources)
    if f.kind is OpKind.FIELD:
        fixed = isinstance(sources[n - 1], Constant) and isinstance(sources[n - 2], Constant)
        return weight(f, arch, fixed)
    second = sources[1] if n > 1 else None
    if not isinstance(second, Constant):
        return weight(f, arch)
    if f.kind is OpKind.DIVIDE and f.type is not None and f.type.name in ("u32", "s32"):
        v = second.value
        return divided_by_literal(f, isinstance(v, int) and v > 0 and v & (v - 1) == 0)
    return weight(f, arch, True)


def _extensions(i: Instruction) -> int:
    """How many instructions extend what a load brings to the registers that take it."""
    t = i.form.type
    if t is None or t.bits > 32:
        return 0
    results = i.results
    if len(results) > 1:
        if t.bits > 16:
            return 0
        return 2 * sum(r.has_uses for r in results) if t.bits == 8 else 1
    wide = getattr(results[0].type, "bits", 0)
    return int(t.bits == 8 or wide > t.bits)


def _row_of_move(i: Instruction, source: Value, arch: int) -> Weight:
    """Parts that a register is taken apart into are moves; so are some special registers."""
    if "{" in i.form.shape:
        halves = "64" in i.form.spelling and sum(r.has_uses for r in i.results) > 1
        return TWO if halves else ONE
    if isinstance(source, SpecialRegister):
        return _special(str(source.name), arch)
    return weight(i.form, arch)


@functools.cache
def _special(name: str, arch: int) -> Weight:
    if arch >= HOPPER:
        return ONE
    stem = name.lstrip("%").partition(".")[0]
    if stem in CONSTANT_REGISTERS:
        return FREE
    return TWO if stem == "warpid" else ONE


def is_parameter(v: Value) -> bool:
    """Whether a value is a kernel's parameter as it is."""
    d = v.definer
    while d is not None and d.form.kind is OpKind.COPY and d.form.guard is None:
        d = d.operands[0].definer
    return d is not None and d.form.name == "ld" and d.form.space == "param"


def _zero(v: Value) -> bool:
    return isinstance(v, Constant) and v.value == 0


def never_unrolled(i: Instruction, arch: int) -> str:
    """Why a loop that holds the instruction is never unrolled, or ""."""
    return _never(i.form, arch)


@functools.cache
def _never(f: Form, arch: int) -> str:
    if f.is_call:
        return "a call in the body"
    if f.kind in _SLOW and "rn" in f.mods and f.type is not None and f.type.is_float:
        return f"{f.spelling} in the body is a call"
    if f.name == "rsqrt" and "f64" in f.mods and "ftz" not in f.mods:
        return f"{f.spelling} in the body is a call"
    if f.kind is OpKind.DIVIDE and f.type is not None and f.type.name in _LONG:
        return f"{f.spelling} in the body is a call"
    if f.kind is OpKind.FENCE:
        return f"{f.spelling} in the body"
    if f.op.gathers and arch < HOPPER:
        return f"{f.spelling} in the body"
    if f.kind is OpKind.SWITCH:
        return f"{f.name} in the body"
    if f.op.name == "unknown":
        return f"{f.spelling} in the body, which is not known"
    return ""
