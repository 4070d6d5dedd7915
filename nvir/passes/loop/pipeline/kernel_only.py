"""The kernel alone: a pipeline without prologue and epilogue, its stages guarded.

Step t runs stage s of iteration t − s, if there is one. The predicate q(j), "iteration j exists",
follows from the loop's own test: q(0) holds, q(j + 1) = q(j) and the test of j. Loads, stores and
what else has an effect run under the q of their iteration; arithmetic runs anyway. What the next
iteration or the code behind the loop reads is kept by a guarded move: where there is no iteration,
the value stays what it was, which before the first is the phi's start. The loop goes on while any
iteration is in flight. The lanes of a warp each have their own q.

Less code than with prologue and epilogue, no loop for the rest, any number of iterations; in return
S − 1 more steps in which guards stop most, and a move for each carried value.

Refuses  (`why_not`) phis that share or pass on what they are, and values of the iteration before
         the last that are used behind the loop.
Source   B. R. Rau et al., "Code Generation Schema for Modulo Scheduled Loops", MICRO-25, 1992
         (kernel-only code on a machine with predicates).
"""

from __future__ import annotations

from nvir.ir import Block, Builder, Constant, Instruction, Value, form, undef
from nvir.ir.block import NOUNROLL
from nvir.passes.loop.pipeline.body import Body, StageLayout
from nvir.passes.loop.pipeline.expand import PIPELINED, ExpandedLoop
from nvir.passes.loop.unroll.fold import move_of
from nvir.passes.loop.unroll.prepare import CopyRegion
from nvir.passes.loop.unroll.transform import delete_blocks, incoming

Key = tuple[Value, int, int]  # value, stage of its copy, step


def why_not(body: Body) -> str | None:
    """What of a body this form cannot do, or None."""
    made: set[Value] = set()
    for p in body.phis:
        v = body.latch[p]
        if v in body.latch or body.definer(v) is None:
            return "a phi is no value of the iteration before"
        if v in made:
            return "two phis are one value of the iteration before"
        made.add(v)
        if any(u.block is not body.block for u in p.users):
            return "a value of the iteration before the last is used behind the loop"
    tests = set(body.test)
    for i in body.block:
        if any(r.type.name == "cc" for r in i.results):
            return "a carry flag"
        if i in tests and any(r in made for r in i.results):
            return "the exit test is carried"
    return None


def expand_kernel_only(layout: StageLayout, region: CopyRegion, *, factor: int = 0) -> ExpandedLoop:
    """Replace a loop in the form of `unroll_region`, of which `why_not` has nothing to say.

    Annotations are stale afterwards.
    """
    return _KernelOnly(layout, region, factor or layout.factor).build()


class _KernelOnly:
    def __init__(self, layout: StageLayout, region: CopyRegion, factor: int) -> None:
        self.layout, self.body, self.region = layout, layout.body, region
        self.factor, self.stages = factor, layout.staged.count
        self.values: dict[Key, Value] = {}
        self.exists: dict[int, Value] = {}  # q of the iteration of that number, in a round
        self.phis: dict[object, Instruction] = {}
        self.open: list[tuple[Instruction, Key | int]] = []
        self.phi_of = {v: p for p, v in self.body.latch.items()}
        outside = {u for p in region.exits() for u in p[1].phis}
        self.kept = set(self.phi_of) | {
            v for phi in outside for v in phi.operands if self.body.definer(v) is not None
        }

    def build(self) -> ExpandedLoop:
        header, self.entry = self.region.header, self.region.preheader
        function = header.function
        self.kernel = function.block(f"{header.name}.kernel", after=self.entry)
        assert self.entry.terminator is not None
        self.entry.terminator.erase()
        b = Builder(self.entry)
        self.true = b.op("setp.eq.u32", 0, 0)
        self.false = b.op("setp.ne.u32", 0, 0)
        for step in range(self.factor):
            self._step(step)
        self._close()
        self._again(self.factor)
        outside = next(s for s in self.body.branch.aux if s is not self.body.block)
        for phi in outside.phis:
            phi.add(self._last(incoming(phi, header)), self.kernel)
        self._close()
        self.entry.append(Instruction(form("bra"), aux=(self.kernel,)))
        return self._finish(outside)

    # ------------------------------------------------------------- lookups

    def _find(self, value: Value, step: int, stage: int) -> Value:
        source, distance = self.body.origin(value)
        d = self.body.definer(source)
        if d is None:
            return source
        at = self.layout.stage_for(d, stage)
        return self._value((source, at, step - stage - distance + at))

    def _value(self, key: Key) -> Value:
        if key[2] >= 0:
            return self.values[key]
        found = self.phis.get(key)
        if found is None:
            phi = self.phi_of.get(key[0])
            init = self._start(phi) if phi is not None else undef(key[0].type)
            found = self.phis[key] = self._phi(init, key[0].name, key)
        return found

    def _q(self, iteration: int) -> Value:
        """Whether an iteration exists; a round begins with iterations of number 0 and below."""
        if iteration in self.exists:
            return self.exists[iteration]
        init = self.true if iteration == 0 else self.false
        found = self.phis[iteration] = self._phi(init, None, iteration)
        self.exists[iteration] = found
        return found

    def _phi(self, init: Value, name: str | None, key: Key | int) -> Instruction:
        phi = Instruction(form("phi"), (init,), init.type, name, (self.entry,))
        self.kernel.insert_phi(phi)
        self.open.append((phi, key))
        return phi

    def _start(self, phi: Value) -> Value:
        assert isinstance(phi, Instruction)
        value = self.body.start[phi]
        if isinstance(value, Constant):
            return self.entry.append(move_of(value, phi))
        return value

    def _last(self, value: Value) -> Value:
        """A value behind the loop."""
        d = self.body.definer(value)
        if d is None:
            return value
        return self.values[value, self.layout.copies[d][0], self.factor - 1]

    def _close(self) -> None:
        while self.open:
            phi, key = self.open.pop()
            if isinstance(key, int):
                phi.add(self._q(key + self.factor), self.kernel)
            else:
                phi.add(self._value((key[0], key[1], key[2] + self.factor)), self.kernel)

    # ------------------------------------------------------------ emission

    def _step(self, step: int) -> None:
        for c in self.layout.order:
            i = self.body.nodes[c.node]
            self._emit(i, step, c.stage)
        known: dict[Value, Value] = {}
        for i in self.body.test:
            new = self._copy(i, [known.get(v) or self._find(v, step, 0) for v in i.operands])
            known[i] = new
        p = known.get(self.body.condition) or self._find(self.body.condition, step, 0)
        branch, b = self.body.branch, Builder(self.kernel)
        if (branch.aux[0] is self.body.block) != (branch.form.guard != "!"):
            p = b.op("not.pred", p)
        self.exists[step + 1] = b.op("and.pred", self._q(step), p)

    def _emit(self, i: Instruction, step: int, stage: int) -> None:
        operands = [self._find(v, step, stage) for v in i.operands]
        q = self._q(step - stage)
        guarded = None if i.form.pure else q
        new = self._copy(i, operands, guarded)
        for old, made in zip(i.results, new.results, strict=True):
            value: Value = made
            if old in self.kept:
                before = self._before(old, stage, step)
                value = self._keep(made, before, q, old)
            self.values[old, stage, step] = value

    def _before(self, old: Value, stage: int, step: int) -> Value:
        return self._value((old, stage, step - 1))

    def _keep(self, made: Value, before: Value, q: Value, like: Value) -> Value:
        """The new value where the iteration exists, else what it was."""
        t = like.type
        name = getattr(t, "name", "")
        bits = getattr(t, "bits", 32)
        spelled = name if name in ("f32", "f64", "pred") else f"b{bits}"
        move = Instruction(
            form(f"mov.{spelled}", "%s, %s", ""), (made, q, before), like.type, like.name
        )
        return self.kernel.append(move)

    def _copy(
        self, i: Instruction, operands: list[Value], q: Value | None = None
    ) -> Instruction:
        f = i.form
        b = Builder(self.kernel)
        if q is not None and f.guard is not None:
            g = operands[f.guard_index]
            if f.guard == "!":
                g = b.op("not.pred", g)
            operands[f.guard_index] = b.op("and.pred", q, g)
            f = f.with_guard("")
        elif q is not None:
            f = f.with_guard("")
            operands = [*operands, q, *(undef(r.type) for r in i.results)]
        new = Instruction(f, tuple(operands), i.type, i.name, i.aux)
        new.loc, new.line = i.loc, i.line
        if i._results is not None:
            new.set_results([r.type for r in i.results], [r.name for r in i.results])
        self.kernel.append(new)
        return new

    def _again(self, following: int) -> None:
        """Go on while an iteration is in flight."""
        b = Builder(self.kernel)
        some = self._q(following)
        for s in range(1, self.stages):
            some = b.op("or.pred", some, self._q(following - s))
        self.flying = some

    def _finish(self, outside: Block) -> ExpandedLoop:
        header, function = self.region.header, self.region.header.function
        Builder(self.kernel).cond_br(self.flying, self.kernel, outside)
        self.kernel.flags |= {PIPELINED}
        self.kernel.pragmas += (NOUNROLL,)
        for phi in outside.phis:
            kept = [(v, b) for v, b in phi.incoming if b is not header]
            phi.set_incoming([v for v, _ in kept], [b for _, b in kept])
        delete_blocks(function, {header})
        self.region.grow([self.kernel], self.kernel, {header})
        function.cfg_changed()
        return ExpandedLoop(self.kernel, self.kernel, self.kernel, None, self.stages, self.factor)
