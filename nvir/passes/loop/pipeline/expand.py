"""From stages to prologue, kernel and epilogue.

    preheader   enough iterations for one round of the kernel? else go to rest
    prologue    steps 0 .. S − 2: what has begun so far
    kernel      U steps a round; again while U more iterations are certain
    epilogue    S − 1 steps: what has begun is finished; another iteration? else leave
    rest        the loop as it was: trips that are too short, and what U leaves

Step t runs stage s of iteration t − s. An iteration is begun only when it is certain to exist, so
nothing is speculated. The exit test is asked of iterations ahead by making its slice again, exactly
as the loop would, wrapping and all; a lane of its own trip count takes its own way.

A value that another step reads is read from the step that made it. In the kernel that is a value of
the same round or a phi of the kernel, whose operand from the round before is the value itself: with
U at least the longest such way (`StageLayout.factor`) each has a register to itself and no move
carries a value in flight to the next step (modulo variable expansion).

Cost     linear in the code made: (S − 1 + U) copies of the body, about.
Source   M. Lam, "Software Pipelining: An Effective Scheduling Technique for VLIW Machines",
         PLDI 1988; B. R. Rau et al., "Code Generation Schema for Modulo Scheduled Loops", MICRO-25,
         1992.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from nvir.analysis.induction import TripCount
from nvir.ir import Block, Builder, Constant, Function, Instruction, Value, form
from nvir.ir.block import NOUNROLL
from nvir.passes.loop.pipeline.body import BodyCopy, StageLayout
from nvir.passes.loop.unroll.fold import move_of
from nvir.passes.loop.unroll.guard import Guard
from nvir.passes.loop.unroll.prepare import CopyRegion
from nvir.passes.loop.unroll.transform import delete_blocks, incoming

PIPELINED = "pipelined"  # the flag of a kernel's header
REST = "pipeline rest"  # the flag of the loop that does the rest
Key = tuple[Value, int, int]  # value, stage of its copy, iteration


@attrs.frozen(eq=False)
class ExpandedLoop:
    """The blocks that a loop has become. `rest` is None where no iteration is left for it; `steps`:
    of the kernel's instructions that are copies of nodes which copy, and in which step of a round.
    """

    prologue: Block
    kernel: Block
    epilogue: Block
    rest: Block | None
    stages: int
    factor: int
    steps: dict[Instruction, tuple[BodyCopy, int]] = attrs.field(factory=dict)


def expand(
    layout: StageLayout, region: CopyRegion, *, factor: int = 0, trip: TripCount | None = None
) -> ExpandedLoop:
    """Replace a loop in the form of `unroll_region` by its pipeline.

    factor   steps in a round of the kernel; 0: as many as the layout needs
    trip     of the loop; a known number is at least stages + factor − 1
    Annotations are stale afterwards.
    """
    return _Expander(layout, region, factor or layout.factor, trip).build()


@attrs.frozen(eq=False)
class _Guards:
    """One comparison for several tests of a counted loop: on the way in, and in the kernel.

    updated   the kernel's is of the variable after its step
    """

    phi: Instruction
    first: Guard
    round: Guard
    updated: bool

    @classmethod
    def of(cls, trip: TripCount | None, tests: int, factor: int) -> _Guards | None:
        if trip is None:
            return None
        first = Guard.of(trip, tests)
        later = Guard.of(trip, factor - trip.tests_update)
        if first is None or later is None:
            return None
        return cls(trip.variable.phi, first, later, trip.tests_update)

    def enough(self, b: Builder, x: Value) -> Value:
        """A predicate: from x on, the tests of the way in hold."""
        limit = self.first.limit(b)
        right = self.first.is_right(b, limit)
        holds = self.first.holds(b, x, limit)
        return holds if right is None else b.op("and.pred", holds, right)


class _Expander:
    def __init__(
        self, layout: StageLayout, region: CopyRegion, factor: int, trip: TripCount | None
    ) -> None:
        self.layout, self.body, self.region = layout, layout.body, region
        self.function: Function = region.header.function
        self.stages = layout.staged.count
        self.factor = factor
        self.trips = trip.count if trip is not None else None
        self.first = self.stages - 1  # the first step of the kernel
        self.behind = self.first + factor  # the first step of the epilogue
        self.values: dict[Key, Value] = {}
        self.starts: dict[Value, Value] = {}  # literals that stand in registers
        self.carried: dict[Key, Instruction] = {}  # phis of the kernel
        self.open: list[tuple[Instruction, Key]] = []
        self.guard = _Guards.of(trip, self.behind - 1, factor)
        self.last = region.preheader  # the pipeline stands before the loop
        self.made: list[Block] = []
        self.steps: dict[Instruction, tuple[BodyCopy, int]] = {}

    def build(self) -> ExpandedLoop:
        header, entry = self.region.header, self.region.preheader
        assert entry.terminator is not None
        entry.terminator.erase()
        prologue = self._block("prologue")
        self.kernel = self._block("kernel")
        epilogue = self._block("epilogue")
        rest = self._block("rest")
        self._run(prologue, range(self.first))
        prologue.append(_branch(self.kernel))
        self.entered_from = prologue
        self._run(self.kernel, range(self.first, self.behind))
        newest = self.behind - 1
        again = self._again(newest)
        Builder(self.kernel).cond_br(again, self.kernel, epilogue)
        self._run(epilogue, range(self.behind, self.behind + self.first))
        leaves = self._leave(epilogue, newest, rest)
        self._enter(entry, prologue, rest)
        self._rest(rest, header, entry, epilogue if leaves else None, newest + 1)
        self._close_kernel()
        return self._finish(prologue, epilogue, rest, newest)

    # ------------------------------------------------------------- lookups

    def lookup(self, value: Value, iteration: int, stage: int | None = None) -> Value:
        """What a value of the body is in an iteration, counted as in the first round."""
        while value in self.body.latch:
            if iteration == 0:
                return self._first(value, stage)
            value, iteration = self.body.latch[value], iteration - 1
        d = self.body.definer(value)
        if d is None:
            return value
        stages = self.layout.copies[d]
        at = stages[0] if stage is None else self.layout.stage_for(d, stage)
        return self._value((value, at, iteration))

    def _first(self, phi: Value, stage: int | None) -> Value:
        """A phi of the loop in its first iteration, as the code at hand names it.

        In the kernel it is a phi for each copy of what it is later.
        """
        if self.step < self.first:
            return self._start(phi)
        d = self.body.definer(self.body.origin(phi)[0])
        at = 0
        if d is not None:
            stages = self.layout.copies[d]
            at = stages[0] if stage is None else self.layout.stage_for(d, stage)
        return self._carry((phi, at, 0))

    def _start(self, phi: Value) -> Value:
        assert isinstance(phi, Instruction)
        value = self.body.start[phi]
        if not isinstance(value, Constant):
            return value
        if phi not in self.starts:
            self.starts[phi] = self.region.preheader.append(move_of(value, phi))
        return self.starts[phi]

    def _value(self, key: Key) -> Value:
        made_in = key[2] + key[1]
        if made_in >= self.first or self.step < self.first:
            return self.values[key]
        return self._carry(key)

    def _carry(self, key: Key) -> Value:
        """The kernel's phi for what was made before the round."""
        phi = self.carried.get(key)
        if phi is None:
            value = key[0]
            if value in self.body.latch:
                init = self._start(value)
            else:
                init = self.values[key]
            phi = Instruction(form("phi"), (init,), init.type, value.name, (self.entered_from,))
            self.carried[key] = self.kernel.insert_phi(phi)
            self.open.append((phi, key))
        return phi

    def _close_kernel(self) -> None:
        """Give the kernel's phis what they are in the next round; that may need more of them."""
        self.step = self.behind
        while self.open:
            phi, (value, stage, iteration) = self.open.pop()
            iteration += self.factor
            if value in self.body.latch:
                new = self.lookup(value, iteration, stage)
            else:
                new = self._value((value, stage, iteration))
            phi.add(new, self.kernel)

    # ------------------------------------------------------------ emission

    def _run(self, block: Block, steps: range) -> None:
        """Append the steps, of the iterations that are begun by then."""
        for step in steps:
            self.step = step
            for c in self.layout.order:
                iteration = step - c.stage
                if 0 <= iteration < self.behind:
                    i = self.body.nodes[c.node]
                    new = self._emit(block, i, _Finder(self, iteration, c.stage))
                    if block is self.kernel:
                        self.steps[new] = c, step - self.first
                    for old, made in zip(i.results, new.results, strict=True):
                        self.values[old, c.stage, iteration] = made

    def _emit(self, block: Block, i: Instruction, find: Callable[[Value], Value]) -> Instruction:
        new = Instruction(i.form, tuple([find(v) for v in i.operands]), i.type, i.name, i.aux)
        new.loc, new.line = i.loc, i.line
        if i._results is not None:
            new.set_results([r.type for r in i.results], [r.name for r in i.results])
        block.append(new)
        if i in self.function.marks:
            self.function.marks[new] = set(self.function.marks[i])
        return new

    def _again(self, newest: int) -> Value:
        """At the kernel's end: a whole round of iterations more?"""
        g = self.guard
        if g is None:
            return self._certain(self.kernel, newest, self.factor)
        x = self.lookup(g.phi, newest + g.updated, 0)
        before = Builder(self.region.preheader)
        return g.round.holds(Builder(self.kernel), x, g.round.limit(before))

    def _certain(self, block: Block, newest: int, tests: int) -> Value:
        """A value that is true if the tests of `newest` and the following iterations all hold.

        `newest` −1: of iteration 0 on, from the loop's start.
        """
        b = Builder(block)
        known: dict[tuple[Value, int], Value] = {}
        holds: Value | None = None
        for j in range(max(newest, 0), max(newest, 0) + tests):
            p = self._stays(b, self._ahead(block, self.body.condition, j, newest, known))
            holds = p if holds is None else b.op("and.pred", holds, p)
        assert holds is not None
        return holds

    def _stays(self, b: Builder, p: Value) -> Value:
        """The predicate under which the loop goes on, from the one that it branches on."""
        branch = self.body.branch
        on_true = branch.aux[0] is self.body.block
        return p if on_true == (branch.form.guard != "!") else b.op("not.pred", p)

    def _ahead(
        self, block: Block, value: Value, iteration: int, begun: int,
        known: dict[tuple[Value, int], Value],
    ) -> Value:
        """A value of the exit test's slice in an iteration, made here where it is none yet."""
        while value in self.body.latch:
            if iteration == 0:
                return self._first(value, 0)
            value, iteration = self.body.latch[value], iteration - 1
        d = self.body.definer(value)
        if d is None:
            return value
        if iteration <= begun and d in self.layout.copies and self.layout.copies[d][0] == 0:
            return self.lookup(value, iteration, 0)
        if (value, iteration) not in known:
            new = self._emit(
                block, d, lambda v: self._ahead(block, v, iteration, begun, known)
            )
            for old, made in zip(d.results, new.results, strict=True):
                known[old, iteration] = made
        return known[value, iteration]

    # ---------------------------------------------------------- the edges

    def _enter(self, entry: Block, prologue: Block, rest: Block) -> None:
        """The way in: is there a round of the kernel?"""
        tests = self.behind - 1
        if self.trips is not None or not tests:
            entry.append(_branch(prologue))
            return
        self.step = -1
        b = Builder(entry)
        if self.guard is None:
            enough = self._certain(entry, -1, tests)
        else:
            enough = self.guard.enough(b, self._start(self.guard.phi))
        b.cond_br(enough, prologue, rest)

    def _leave(self, epilogue: Block, newest: int, rest: Block) -> bool:
        """Behind the epilogue: another iteration? Whether the rest can be reached from here."""
        outside = next(s for s in self.body.branch.aux if s is not self.body.block)
        self.outside = outside
        self.step = self.behind + self.first
        left = None if self.trips is None else (self.trips - self.first) % self.factor
        if self.factor == 1 or left == 0:
            epilogue.append(_branch(outside))
            return False
        if left:
            epilogue.append(_branch(rest))
            return True
        known: dict[tuple[Value, int], Value] = {}
        p = self._ahead(epilogue, self.body.condition, newest, newest, known)
        b = Builder(epilogue)
        b.cond_br(self._stays(b, p), rest, outside)
        return True

    def _rest(
        self, rest: Block, header: Block, entry: Block, epilogue: Block | None, following: int
    ) -> None:
        """The original loop, entered with its start or with what the pipeline leaves."""
        self.step = self.behind + self.first
        ways: list[tuple[Block, dict[Instruction, Value]]] = []
        if self.trips is None and self.behind > 1:
            ways.append((entry, self.body.start))
        if epilogue is not None:
            ways.append((epilogue, {p: self.lookup(p, following) for p in self.body.phis}))
        for p in self.body.phis:
            values = tuple([v[p] for _, v in ways])
            if len(ways) == 1:
                value = values[0]
            else:
                phi = Instruction(p.form, values, p.type, p.name, tuple([b for b, _ in ways]))
                value = rest.insert_phi(phi) if ways else p
            if ways:
                p.set_incoming((value, self.body.latch[p]), (rest, header))
        rest.append(_branch(header))
        self.rest_reached = bool(ways)

    def _finish(
        self, prologue: Block, epilogue: Block, rest: Block, newest: int
    ) -> ExpandedLoop:
        header, kernel = self.region.header, self.kernel
        self.step = self.behind + self.first
        if self.outside in _targets(epilogue):
            for phi in self.outside.phis:
                phi.add(self.lookup(incoming(phi, header), newest), epilogue)
        self._close_kernel()
        kernel.flags |= {PIPELINED}
        kernel.pragmas += (NOUNROLL,)
        dead: set[Block] = set()
        if self.rest_reached:
            header.flags |= {REST}
            if NOUNROLL not in header.pragmas:
                header.pragmas += (NOUNROLL,)
        else:
            dead = {rest, header}
            for phi in self.outside.phis:
                kept = [(v, b) for v, b in phi.incoming if b is not header]
                phi.set_incoming([v for v, _ in kept], [b for _, b in kept])
            delete_blocks(self.function, dead)
        last = self.last if dead else self.region.last
        self.region.grow([b for b in self.made if b not in dead], last, dead)
        self.function.cfg_changed()
        return ExpandedLoop(
            prologue, kernel, epilogue, None if dead else header, self.stages, self.factor,
            self.steps,
        )

    def _block(self, name: str) -> Block:
        b = self.function.block(f"{self.region.header.name}.{name}", after=self.last)
        self.last = b
        self.made.append(b)
        return b


class _Finder:
    """What operands are in a copy of an instruction."""

    __slots__ = ("at", "expander", "iteration")

    def __init__(self, expander: _Expander, iteration: int, stage: int) -> None:
        self.expander, self.iteration, self.at = expander, iteration, stage

    def __call__(self, value: Value) -> Value:
        return self.expander.lookup(value, self.iteration, self.at)


def _branch(target: Block) -> Instruction:
    return Instruction(form("bra"), aux=(target,))


def _targets(block: Block) -> tuple[Block, ...]:
    assert block.terminator is not None
    return tuple(block.terminator.aux)
