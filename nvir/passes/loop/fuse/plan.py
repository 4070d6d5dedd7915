"""Which loops can be fused: the stages before anything is changed.

    stage   question                                                       codes
    1       do the loops follow each other?                                NotAdjacent, CodeBetween
    2       may they be looked at: shape, size, cold blocks?               NotCanonical … TooLarge
    3       is the fused body within the budget?                           OverFusionBudget
    4       what does each body define and use?                            RegisterDependence
    5       do the loops count alike, once start and bound are normal?     TripCountsDiffer …
    6       which induction variable remains?
    7       the candidate is noted
    8       do the bodies correspond, does memory allow it?                BodiesDiffer, …

Way between the loops. A chain of blocks that each lead to the next. What stands there goes to
one side: before the first loop what needs nothing of it, behind the second what does.
Loops with a guard each (`if (n > 0) do … while`) follow each other where both guards say the same:
the second then holds whenever the first did.

Dependences. Fused, iteration j of the second loop comes before iterations i > j of the first. So
nothing that the second touches in iteration j may be what the first touches in a later one, unless
both read: flow, anti and output dependences alike. In registers, the second loop must not use what
the first one makes, for it would see each iteration's and not the last.

Cost     Linear in the bodies, and a question for each pair of accesses of which one writes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

import attrs

from nvir.analysis.affine import Affine
from nvir.analysis.analyses import Analyses
from nvir.analysis.components import strong_components
from nvir.analysis.induction import InductionVariable, TripCount, trip_count
from nvir.ir import SCALARS, Block, Form, Function, Instruction, Loop, Value
from nvir.ir.ssa.repair import obstacle
from nvir.ir.ssa.rewrite import can_stand_for
from nvir.ir.text.trace import is_traced, note, step
from nvir.passes.loop import region
from nvir.passes.loop.frequency import is_cold
from nvir.passes.remarks import Code, missed

_NOT = "not fused with {second}: "
NOT_ADJACENT = missed("NotAdjacent", _NOT + "{what} lies between")
BETWEEN = missed("CodeBetween", _NOT + "{what} between the loops can go to neither side")
NOT_CANONICAL = missed("NotCanonical", _NOT + "not of the form that loop-simplify makes")
IRREDUCIBLE = missed("IrreducibleParent", _NOT + "control flow enters the loop around sideways")
EXITS = missed("SeveralExits", _NOT + "{exits} ways out of {loop}")
TOP_TESTED = missed("TestNotAtEnd", _NOT + "{loop} is not tested at its end")
NOT_CONDITIONAL = missed("LatchNotConditional", _NOT + "{loop} ends in {what}")
COLD = missed("ColdBlock", _NOT + "{block} is cold")
BODY_SIZE = missed("TooLarge", _NOT + "{instructions} instructions in {loop}, limit {limit}")
BUDGET = missed("OverFusionBudget", _NOT + "{instructions} instructions, budget {budget}")
NOT_COUNTED = missed("NotCounted", _NOT + "no trip count of {loop}")
TRIPS = missed("TripCountsDiffer", _NOT + "{first_trips} and {second_trips} iterations")
SEVERAL_BLOCKS = missed("SeveralBlocks", _NOT + "{first_blocks} and {second_blocks} blocks")
STRUCTURE = missed("BodiesDiffer", _NOT + "{what}")
BODY = missed("OrderedOperation", _NOT + "{what} in {loop} keeps its place among others")
HELD = missed("ValueHeld", _NOT + "{what}")
REGISTER = missed("RegisterDependence", _NOT + "it reads {value}, which the first loop makes")
MEMORY = missed(
    "MemoryDependence",
    _NOT + "{kind} dependence of {writer} on {other}, {distance} iterations apart",
)
CODES: tuple[Code, ...] = (
    NOT_ADJACENT, BETWEEN, NOT_CANONICAL, IRREDUCIBLE, EXITS, TOP_TESTED, NOT_CONDITIONAL, COLD,
    BODY_SIZE, BUDGET, NOT_COUNTED, TRIPS, SEVERAL_BLOCKS, STRUCTURE, BODY, HELD, REGISTER, MEMORY,
)


class FusionRefused(Exception):
    """A stage said no: `code`, and the fields of its remark."""

    def __init__(self, code: Code, **fields: str | int) -> None:
        super().__init__(code.name)
        self.code, self.fields = code, fields


@attrs.frozen
class FusionLimits:
    """Sizes in instructions; None is no limit. `blocks`: bodies of several blocks are fused;
    `cold`: cold blocks do not end the search; `noted`: `.pragma "frequency 0"` makes cold, and
    a region that is entered sideways is a parent though it is no loop."""

    budget: float | None
    first: int | None
    second: int | None
    blocks: bool
    cold: bool
    noted: bool


@attrs.define(eq=False)
class Way:
    """What leads from the first loop to the second.

    chain      blocks from the first loop's exit to the second's preheader, each with one way on
    guard      the block that decides whether the first loop runs; None without guards
    join       the block of the chain where the guards meet, `around` where its other way leads
    early, late   the instructions of the chain that go before and behind the fused loop
    upward     those of the guard's join, which go before the first guard
    """

    chain: list[Block]
    guard: Block | None = None
    join: Block | None = None
    around: Block | None = None
    early: list[Instruction] = attrs.Factory(list)
    late: list[Instruction] = attrs.Factory(list)
    upward: list[Instruction] = attrs.Factory(list)


@attrs.frozen(eq=False)
class Candidate:
    """Two loops that can be one. `shift` is what the second's variable is ahead of the first's,
    None where both remain."""

    first: Loop
    second: Loop
    way: Way
    size: int
    trips: str
    variables: tuple[InductionVariable, InductionVariable]
    shift: int | None


class Planner:
    """Asks the stages about pairs of loops of one function, on one snapshot of it."""

    def __init__(self, function: Function, limits: FusionLimits, held: frozenset[Value]) -> None:
        self.function, self.limits, self.held = function, limits, held
        known = Analyses.of(function)
        self.forms, self.alias = known.affine, known.alias
        self._sideways = {b for _, b in function.irreducible_edges}

    @step("FUS-13", "candidate", "first", "second")
    def candidate(self, first: Loop, second: Loop) -> Candidate:
        """The pair with all that fusing needs. Raises FusionRefused."""
        sideways = self._is_sideways(first)
        note("FUS-03", "parent", "entered sideways" if sideways else "natural", first=first,
             parent=first.parent)
        if sideways:
            raise FusionRefused(IRREDUCIBLE)
        way = self._way(first, second)
        self._stage_2(first, second, way)
        size = sum(1 for b in (*first.blocks, *second.blocks) for _ in b.written)
        self._within_budget(size)
        self._registers(first, second, way)
        a, b = self._trips(first), self._trips(second)
        if not self._count_alike(a, b):
            raise FusionRefused(TRIPS, first_trips=a.text, second_trips=b.text)
        self._legal(first, second, a)
        shift = self._shift(a.variable, b.variable)
        return Candidate(first, second, way, size, a.text, (a.variable, b.variable), shift)

    def _is_sideways(self, loop: Loop) -> bool:
        """Whether control enters what is around a loop sideways. What leads back to a loop without
        a parent is such a region, else it were the parent."""
        if not self._sideways:
            return False
        if loop.parent is not None:
            return not self._sideways.isdisjoint(loop.parent.blocks)
        return self.limits.noted and self._circle[loop.header] > len(loop.blocks)

    @functools.cached_property
    def _circle(self) -> dict[Block, int]:
        """Block → how many blocks lead to it and back from it, itself one of them."""
        blocks = self.function.rpo
        at = {b: k for k, b in enumerate(blocks)}
        found = strong_components([[at[s] for s in b.succs] for b in blocks], range(len(blocks)))
        return {blocks[k]: len(members) for members in found for k in members}

    # ------------------------------------------------- stage 1: adjacency

    @step("FUS-06", "1 adjacent", "first", "second")
    def _way(self, first: Loop, second: Loop) -> Way:
        for loop in (first, second):
            if not region.is_canonical(loop):
                raise FusionRefused(NOT_CANONICAL)
            exits = loop.exits
            if len(exits) != 1:
                raise FusionRefused(EXITS, exits=len(exits), loop=str(loop.header.name))
        way = Way([])
        block = first.exits[0][1]
        while True:
            way.chain.append(block)
            self._not_cold(block)
            following = self._resolved(block)
            if following is second.header:
                break
            if following is None:
                following = self._second_guard(way, block, second)
            self._may_follow(way, first, block, following)
            block = following
        self._sort_code(way, first, second)
        return way

    @step("FUS-04", "1 branch chain", "block")
    def _resolved(self, block: Block) -> Block | None:
        """Where a block that only jumps leads; None of one that decides."""
        return block.succs[0] if region.only_jumps(block) else None

    @step("FUS-05", "cold block", "block", "block.flags", "block.pragmas", "self.limits.cold")
    def _not_cold(self, block: Block) -> None:
        if not self.limits.cold and self._is_cold(block):
            raise FusionRefused(COLD, block=str(block.name))

    def _is_cold(self, block: Block) -> bool:
        return is_cold(block) if self.limits.noted else "cold" in block.flags

    def _may_follow(self, way: Way, first: Loop, block: Block, following: Block) -> None:
        """Check that nothing else leads to the next block of the way, but for a first guard."""
        others = [p for p in following.preds if p is not block]
        if not others:
            return
        guard = others[0]
        if len(others) > 1 or way.guard is not None or following in first.blocks:
            raise FusionRefused(NOT_ADJACENT, what=f"block {following.name}")
        if not self._decides(guard, first):
            raise FusionRefused(NOT_ADJACENT, what=f"block {following.name}")
        way.guard, way.join = guard, following

    def _decides(self, guard: Block, first: Loop) -> bool:
        """Whether a block, which leads around the first loop, leads to it too."""
        last = guard.terminator
        if last is None or last.form.name != "bra":
            return False
        block = first.entries[0]
        while block not in guard.succs:
            if len(block.preds) != 1 or not region.only_jumps(block):
                return False
            block = block.preds[0]
        return block.preds == [guard]

    def _second_guard(self, way: Way, block: Block, second: Loop) -> Block:
        """Where the way goes on from a branch: towards the second loop, if the branch goes there
        whenever the first guard was passed."""
        last, guard = block.terminator, way.guard
        what = f"block {block.name}"
        if block is not way.join or last is None or last.form.name != "bra":
            raise FusionRefused(NOT_ADJACENT, what=what)
        target = second.entries[0]
        while target.preds != [block]:
            if len(target.preds) != 1:
                raise FusionRefused(NOT_ADJACENT, what=what)
            target = target.preds[0]
        assert guard is not None
        assert guard.terminator is not None
        one = _condition(guard.terminator, guard.succs[0] is way.join)
        if one != _condition(last, target is not block.succs[0]):
            raise FusionRefused(NOT_ADJACENT, what=f"another guard in block {block.name}")
        way.around = block.succs[1] if target is block.succs[0] else block.succs[0]
        return target

    @step("FUS-18", "1 code between", "first", "second")
    def _sort_code(self, way: Way, first: Loop, second: Loop) -> None:
        """Decide for what stands between the loops where it goes."""
        if way.join is not None and way.around is None:
            raise FusionRefused(NOT_ADJACENT, what=f"block {way.join.name}")
        made: set[Value] = {r for b in first.blocks for i in b for r in i.results}
        one = [i for b in first.blocks for i in b]
        two = [i for b in second.blocks for i in b]
        joined: set[Value] = set(way.join.phis) if way.join is not None else set()
        for block in way.chain:
            for i in block:
                if i.form.is_phi:
                    self._may_be_replaced(i)
                    if any(v in made for v in i.operands):
                        made.add(i)
                    continue
                if i.form.terminator:
                    continue
                if not (i.form.pure or _only_reads(i)):
                    raise FusionRefused(BETWEEN, what=i.form.spelling)
                needs = any(v in made for v in i.operands)
                if block is way.join and any(v in joined for v in i.operands):
                    raise FusionRefused(BETWEEN, what=i.form.spelling)
                if needs or not self._passes(i, one):
                    if block is way.join or not self._passes(i, two):
                        raise FusionRefused(BETWEEN, what=i.form.spelling)
                    made.update(i.results)
                    way.late.append(i)
                elif block is way.join:
                    way.upward.append(i)
                else:
                    way.early.append(i)
        self.made = made

    def _may_be_replaced(self, phi: Instruction) -> None:
        """A phi between the loops will be gone, and what flows into it named instead."""
        why = obstacle(phi, self.held)
        if why is None and not all(can_stand_for(v, phi) and v not in self.held for v in
                                   phi.operands):
            why = f"{phi.name} is declared otherwise than what flows into it"
        if why is not None:
            raise FusionRefused(HELD, what=why)

    def _passes(self, i: Instruction, others: Iterable[Instruction]) -> bool:
        """Whether an instruction may change places with all of the others."""
        return not i.form.reads or not any(self.alias.depend(i, o) for o in others)

    # ---------------------------------------- stages 2 to 4: shape, size, registers

    @step("FUS-07", "2 shape", "first", "second")
    def _stage_2(self, first: Loop, second: Loop, way: Way) -> None:
        for loop, limit in ((first, self.limits.first), (second, self.limits.second)):
            name = str(loop.header.name)
            self._latch(loop)
            size = sum(1 for b in loop.blocks for _ in b.written)
            if limit is not None and size > limit:
                raise FusionRefused(BODY_SIZE, instructions=size, loop=name, limit=limit)
            for b in loop.blocks:
                self._not_cold(b)
                for i in b:
                    self._may_be_fused(i, loop)
        if not self.limits.blocks and (len(first.blocks) > 1 or len(second.blocks) > 1):
            raise FusionRefused(
                SEVERAL_BLOCKS, first_blocks=len(first.blocks), second_blocks=len(second.blocks)
            )

    @step("FUS-08", "2 latch", "loop", "loop.latches")
    def _latch(self, loop: Loop) -> Instruction:
        """The conditional branch at the end of the latch, by which alone the loop is left."""
        name, exiting = str(loop.header.name), loop.exits[0][0]
        if exiting is not loop.latches[0]:
            raise FusionRefused(TOP_TESTED, loop=name)
        last = exiting.terminator
        assert last is not None  # it leads back and out
        if last.form.name != "bra":
            raise FusionRefused(NOT_CONDITIONAL, loop=name, what=last.form.spelling)
        return last

    @step("FUS-09", "3 budget", "size", "self.limits.budget")
    def _within_budget(self, size: int) -> None:
        budget = self.limits.budget
        if budget is not None and size > budget:
            raise FusionRefused(BUDGET, instructions=size, budget=int(budget))

    def _may_be_fused(self, i: Instruction, loop: Loop) -> None:
        f = i.form
        if f.sync or f.convergent or f.is_call or f.volatile or f.op.async_until or (
            f.pinned and not f.terminator
        ):
            raise FusionRefused(BODY, what=f.spelling, loop=str(loop.header.name))
        if f.is_phi and i in self.held:
            raise FusionRefused(HELD, what=f"an asynchronous operation holds {i.name}")

    @step("FUS-10", "4 registers", "first", "second")
    def _registers(self, first: Loop, second: Loop, way: Way) -> None:
        """The second loop must not use what the first one, or what follows from it, makes."""
        made = self.made
        if is_traced():
            note("FUS-10", "4 sets", {str(x.header.name): _registers_of(x)
                                      for x in (first, second)}, first=first, second=second)
        for b in second.blocks:
            for i in b:
                for v in i.operands:
                    if v in made:
                        raise FusionRefused(REGISTER, value=str(v.name))

    # ----------------------------------------------- stage 5: trip counts

    @step("FUS-11", "5 bounds", "loop")
    def _trips(self, loop: Loop) -> TripCount:
        found = trip_count(loop)
        if found is None:  # the exit is the latch, see stage 2
            raise FusionRefused(NOT_COUNTED, loop=str(loop.header.name))
        return found

    @step("FUS-15", "5 counts", "a", "b")
    def _count_alike(self, a: TripCount, b: TripCount) -> bool:
        """Whether two loops run equally often, for certain."""
        if a.count != b.count or a.count is not None:
            return a.count == b.count
        x, y = a.variable, b.variable
        if not (isinstance(x.step, int) and isinstance(y.step, int)) or x.bits != y.bits:
            return False
        if a.tests_update != b.tests_update:
            return False
        compare, _, type = a.compare.partition(".")
        other, _, other_type = b.compare.partition(".")
        if compare != other or SCALARS[type].bits != x.bits:
            return False
        starts = _exact(self.forms.of(y.start) - self.forms.of(x.start), x.bits)
        bounds = _exact(self.forms.of(b.bound) - self.forms.of(a.bound), x.bits)
        if compare == "ne":
            return self._congruent(a, b, starts, bounds)
        if type != other_type or x.step != y.step or starts is None or starts != bounds:
            return False
        return starts == 0 or self._cannot_wrap(a, b, type, starts)

    def _congruent(
        self, a: TripCount, b: TripCount, starts: int | None, bounds: int | None
    ) -> bool:
        """With `!=` only the distance from start to bound counts, wrapped or not."""
        x, y = a.variable, b.variable
        if x.step == y.step:
            return starts is not None and starts == bounds
        if x.step != -int(y.step):  # type: ignore[arg-type]
            return False
        of = self.forms.of
        there = of(a.bound) - of(x.start) + (of(b.bound) - of(y.start))
        return _exact(there, x.bits) == 0

    def _cannot_wrap(self, a: TripCount, b: TripCount, type: str, shift: int) -> bool:
        """Whether starts and bounds, a step further too, are numbers of the type without wrapping:
        then what is shifted by one distance counts alike."""
        t = SCALARS[type]
        unsigned = t.kind != "s"
        low, high = (0, (1 << t.bits) - 1) if unsigned else (
            -(1 << t.bits - 1), (1 << t.bits - 1) - 1)
        step = a.variable.step
        assert isinstance(step, int)
        for one, other in ((a.variable.start, b.variable.start), (a.bound, b.bound)):
            x, y = (self.forms.interval(self.forms.of(v)) for v in (one, other))
            if x is None or y is None or y[0] - x[0] != shift:
                return False
            if min(x[0], y[0]) + min(step, 0) < low or max(x[1], y[1]) + max(step, 0) > high:
                return False
        return True

    # ------------------------------------- stages 6 and 8: variable, bodies, memory

    @step("FUS-12", "6 merged variable", "x", "y")
    def _shift(self, x: InductionVariable, y: InductionVariable) -> int | None:
        """What the second loop's variable is ahead of the first's in each iteration."""
        if (x.bits, x.phi.type.bits) != (y.bits, y.phi.type.bits):
            return None
        if not (isinstance(x.step, int) and isinstance(y.step, int)) or x.step != y.step:
            return None
        return _exact(self.forms.of(y.start) - self.forms.of(x.start), x.bits)

    @step("FUS-14", "8 legality", "first", "second")
    def _legal(self, first: Loop, second: Loop, a: TripCount) -> None:
        """Asked always, also where nothing is fused then."""
        self._structure(first, second)
        # A counter comes back to where it was after as many iterations as it has values.
        self._memory(first, second, a.count if a.count is not None else 1 << a.variable.bits)

    @step("FUS-17", "8 structure", "first", "second")
    def _structure(self, first: Loop, second: Loop) -> None:
        """The bodies walked in parallel: blocks, their predecessors, the edges among them."""
        if len(first.blocks) != len(second.blocks):
            raise FusionRefused(
                STRUCTURE, what=f"{len(first.blocks)} and {len(second.blocks)} blocks"
            )
        one = {b: k for k, b in enumerate(first.blocks)}
        two = {b: k for k, b in enumerate(second.blocks)}
        for a, b in zip(first.blocks, second.blocks, strict=True):
            if len(a.preds) != len(b.preds):
                raise FusionRefused(STRUCTURE, what=f"unlike ways into {a.name} and {b.name}")
            if sorted(one.get(s, -1) for s in a.succs) != sorted(two.get(s, -1) for s in b.succs):
                raise FusionRefused(STRUCTURE, what=f"unlike ways out of {a.name} and {b.name}")
            if self._is_cold(a) != self._is_cold(b):
                raise FusionRefused(STRUCTURE, what=f"one of {a.name} and {b.name} is cold")

    @step("FUS-16", "8 memory", "first", "second", "trips")
    def _memory(self, first: Loop, second: Loop, trips: int) -> None:
        one, two = _accesses(first), _accesses(second)
        for later in one:
            for earlier in two:
                if not (later.form.writes or earlier.form.writes):
                    continue
                found = self.alias.lockstep(earlier, later, (first, second), 1)
                if found.iterations is None or found.iterations >= trips:
                    continue
                least = found.iterations
                raise FusionRefused(
                    MEMORY, kind=_kind(later, earlier), writer=later.form.spelling,
                    other=earlier.form.spelling,
                    distance=least if found.exact else f"{least} or more",
                )


def _registers_of(loop: Loop) -> dict[str, list[str]]:
    """The registers that a body defines and those that it uses, by name."""
    body = [i for b in loop.blocks for i in b if not i.form.is_phi]
    return {
        "defined": sorted({str(r.name) for i in body for r in i.results}),
        "used": sorted({str(v.name) for i in body for v in i.operands if v.definer is not None}),
    }


def _exact(difference: Affine, bits: int) -> int | None:
    """The constant that a difference is, without anything lost."""
    if not difference.is_constant or difference.modulus < bits:
        return None
    n = difference.constant & ((1 << bits) - 1)
    return n - (1 << bits) if n >> (bits - 1) else n


def _only_reads(i: Instruction) -> bool:
    f = i.form
    return f.reads and not (
        f.writes or f.sync or f.pinned or f.convergent or f.is_call or f.volatile
        or f.op.async_until
    )


def _accesses(loop: Loop) -> Sequence[Instruction]:
    return [i for b in loop.blocks for i in b if i.form.reads or i.form.writes]


def _kind(first: Instruction, second: Instruction) -> str:
    """The dependence that fusion would turn round: the first loop's access came first."""
    if first.form.writes:
        return "output" if second.form.writes else "flow"
    return "anti"


def _condition(branch: Instruction, negate: bool) -> tuple[object, ...]:
    """The condition under which a branch leads to its first target (or not): equal keys, equal
    conditions. The operation itself where it is no plain comparison."""
    p = branch.guard
    assert p is not None
    sign = not negate if branch.form.guard else negate  # "!", or "" as it stands
    d = p.definer
    while d is not None and d is p and d.form.name == "not" and d.form.guard is None:
        p, sign = d.operands[0], not sign
        d = p.definer
    if d is not None and d is p and d.form.pure and d.form.guard is None:
        return _comparison_key(d.form, d.operands, sign)
    return (p, sign)


_NEGATED = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}
_MIRRORED = {"gt": "lt", "ge": "le"}


def _comparison_key(f: Form, operands: tuple[Value, ...], sign: bool) -> tuple[object, ...]:
    whole = f.name == "setp" and f.type is not None and not f.type.is_float
    if not whole or len(operands) != 2 or f.mods[0] not in _NEGATED:
        return (f, operands, sign)
    compare, (a, b) = f.mods[0], operands
    if sign:
        compare = _NEGATED[compare]
    if compare in ("eq", "ne"):
        return (compare, f.type, frozenset(operands))
    if compare in _MIRRORED:
        compare, a, b = _MIRRORED[compare], b, a
    return (compare, f.type, a, b)
