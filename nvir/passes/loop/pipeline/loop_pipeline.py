"""Software pipelining (phase 24): iterations of a loop overlap, so that loads are under way early.

    L: ld %a, [%p]              prologue: ld %a0, [%p]
       add %s, %s, %a           L: .pragma "nounroll"
       add %p, %p, 4      ==>      ld %a1, [%p+4]
       …                           add %s, %s, %a0
       @%q bra L                   ld %a0, [%p+8]  …  @%q bra L
                                epilogue: add %s, %s, %a0

Options:

    loop-pipeline              depths as the model of the machine prefers
    loop-pipeline<depth=2>     values of loads are used two steps after them
    loop-pipeline<force>       also where no gain is predicted
    loop-pipeline<form=kernel-only>   stages guarded, no prologue and epilogue
    loop-pipeline<stages=all>  all instructions in the stages of the modulo schedule
    loop-pipeline<schedule=F>  the loops of a file, by its schedules

The real assembler was not seen to pipeline loops, and it undoes what it can: it unrolls the kernel
again and waits where it copies a value in flight. So the kernel carries `.pragma "nounroll"`, and
is itself unrolled until each value in flight has a register to itself.

Method   1. annotate operands with latency classes   2. check each instruction (60 or 130)
         3. dependence graph, MII, modulo schedule   4. stages   5. depth by cost
         6. prologue, kernel, epilogue: pipeline/expand.py
Needs    CFG annotations. Loops of one block that test at their end (`loop-rotate` makes them).
Readback `nvir opt --readback` has ptxas assemble the result and remarks which schedules it keeps.
Keeps    what the function does, for any number of iterations of any lane.
Skips    loops with a `Obstacle`; each is remarked.
Marks    kernel and rest by `.pragma "nounroll"`.
Cost     of a loop with loads, some clones of its function: see pipeline/choice.py.
Source   the notes on phase 24; M. Lam, "Software Pipelining", PLDI 1988 (modulo variable
         expansion); what ptxas 13.0 keeps of it (benchmarks/pipeline.py).
"""

from __future__ import annotations

from typing import Literal

import attrs

from nvir.analysis.divergence import Divergence
from nvir.analysis.induction import trip_count
from nvir.assembler.postra.handed import Handed, KernelSlot, hand_over
from nvir.ir import Block, Function, Loop, NvirError
from nvir.ir.block import NOUNROLL
from nvir.ir.clone import clone_function
from nvir.ir.text.trace import looking_at, note, step
from nvir.passes.context import Context
from nvir.passes.loop.pipeline.body import Body, Staged, StageLayout, by_times, is_long_load
from nvir.passes.loop.pipeline.choice import (
    LONGEST_PROLOGUE,
    DepthChoice,
    Prices,
    body_at,
    body_of,
    choose,
    expand_stages,
    plain_body,
    staged,
)
from nvir.passes.loop.pipeline.expand import PIPELINED, REST, expand
from nvir.passes.loop.pipeline.feasible import Feasibility, Obstacle, annotate, feasible
from nvir.passes.loop.pipeline.kernel_only import why_not
from nvir.passes.loop.pipeline.schedule_file import (
    FileSchedule,
    read_schedules,
    staged_by,
)
from nvir.passes.loop.unroll.prepare import CopyRegion, Refusals
from nvir.passes.loop.unroll.unroll_decision import decide
from nvir.passes.policies import PipelineSlots, decision_policy, slots_of
from nvir.passes.remarks import Code, analysis, missed, passed
from nvir.sm.loopgraph import loop_graph, variant
from nvir.sm.machine import Expansion
from nvir.sm.machine import expand as expand_operations
from nvir.sm.mii import minimum_ii
from nvir.sm.schedule.loops import schedule_loop

PIPELINE = passed(
    "Pipelined",
    "{stages} stages, {factor} {factor:iteration|iterations} in the kernel: "
    "{before} → {after} cycles an iteration "
    "predicted (MII {mii}), registers {registers_before} → {registers}, "
    "blocks an SM {blocks_before} → {blocks}",
)
SCHEDULED = passed(
    "Scheduled", "{stages} stages by a schedule of II {ii}, {factor} iterations in the kernel"
)
KEPT = analysis(
    "Kept", "ptxas keeps the schedule: {loads} loads, {ahead} of them used a round later"
)
UNDONE = missed("Undone", "not pipelined in the end: ptxas undoes the schedule: {why}")
ANNOTATED = analysis(
    "LatencyClasses", "latencies known of {accepted} {accepted:instruction|instructions} with "
    "{operands} {operands:operand|operands} (130)"
)
NOT_PIPELINED: dict[Obstacle, Code] = {
    r: missed(
        "NotPipelined" + r.name.title().replace("_", ""), "not pipelined: {reason}",
        str(int(Feasibility.REJECT)) if r in (
            Obstacle.UNKNOWN, Obstacle.BARRIER, Obstacle.CALL, Obstacle.CONVERGENT,
            Obstacle.TOGETHER, Obstacle.PINNED, Obstacle.ASYNC,
        ) else "",
    )
    for r in Obstacle
}
CODES = (PIPELINE, SCHEDULED, ANNOTATED, KEPT, UNDONE, *NOT_PIPELINED.values())
LARGEST = 400  # operations of a body: beyond, schedules and simulations take too long
LARGE = 2_500  # instructions of a function: each judgement predicts the registers of all of them


@attrs.frozen
class Options:
    """depth   steps from a load to the use of its value; 0 leaves it to the model
    level   where loads are taken to hit
    force   pipeline also where no gain is predicted
    form    "prologue": prologue, kernel, epilogue, and the loop for the rest; "kernel-only": the
            kernel with guarded stages alone
    stages  "loads": only loads move ahead, since the assembler schedules the rest anew; "all":
            every instruction is in the stage of its modulo schedule, whatever the gain
    schedule  a file of schedules: its loops are pipelined by it, no others
    judged  most loops of a function that are judged by simulation, fewer in large functions; 0: all
    classes  policy documented: machine operations take the pipes of their latency classes, as the
             notes' table has them, instead of those of their opcodes
    noted_check  policy documented: the check of pipes and classes as the notes have it
    optimize  policy documented: level of optimisation; 1 lets flags of operands pass
    """

    depth: int = 0
    level: Literal["l1", "l2", "dram"] = "l2"
    force: bool = False
    form: Literal["prologue", "kernel-only"] = "prologue"
    stages: Literal["loads", "all"] = "loads"
    schedule: str = ""
    judged: int = 40
    classes: bool = False
    noted_check: bool = False
    optimize: int = 2


def run(function: Function, ctx: Context) -> bool:
    work = _Pipeliner(function, ctx)
    if ctx.options.schedule:
        return work.by_file(read_schedules(ctx.options.schedule))
    if not function.back_edges:
        return False
    known = ctx.analyses(function)
    changed = False
    for header in [x.header for x in ctx.asked(known.loops)]:
        loop = known.loop(header)  # as it is by now
        if loop is not None and work.loop(loop):
            changed = True
    return changed


def pipeline_at(header: Block, depth: int, ctx: Context) -> tuple[Obstacle, str] | None:
    """Pipeline the loop of a header to a depth, whatever it costs; why not, or None if done.
    Options are those of `ctx`."""
    function = header.function
    work = _Pipeliner(function, ctx)
    loop = ctx.analyses(function).loop(header)
    assert loop is not None
    why = work._against(loop)
    if why is not None:
        return why
    textures = work._textures(header)
    plain = plain_body(loop, textures)
    if plain.test_loads is not None:
        return Obstacle.TEST, plain.test_loads.form.spelling
    found = staged(plain, depth)
    if found is None:
        return Obstacle.RECURRENCE, ", ".join(
            plain.nodes[n].form.spelling for n in plain.long_loads
        )
    why = _against_stages(plain, found)
    if why is None:
        body, _ = body_at(header, textures, words=True, like=plain)
        expand_stages(body, found.stages, False)
    return why


class _Pipeliner:
    def __init__(self, function: Function, ctx: Context) -> None:
        self.function, self.ctx = function, ctx
        self.options: Options = ctx.options
        self.noted = decision_policy(ctx.policy).pipelining
        self._divergence: Divergence | None = None
        self._factors: dict[str, int] | None = None
        self.prices: Prices | None = None
        self.judged = 0

    def loop(self, loop: Loop) -> bool:
        """Pipeline a loop, or remark why not."""
        looking_at(loop.header.name)
        why = self._against(loop, self.noted is None)
        if why is None and (self.options.stages == "all" or self.noted is not None):
            why = self._all(loop)
            if why is None:
                return True
        if why is None:
            choice = self._choose(loop)
            if choice.reason is None:
                self._apply(loop, choice)
                return True
            why = choice.reason, choice.what
        reason, what = why
        row = "SWP-02" if reason in (Obstacle.PRAGMA, Obstacle.PIPELINED) else "SWP-01"
        note(row, "not pipelined", reason.text(what), loop=loop, reason=reason.name)
        self.ctx.count("not_pipelined")
        self.ctx.remark(NOT_PIPELINED[reason], loop, reason=reason.text(what))
        return False

    def by_file(self, schedules: list[FileSchedule]) -> bool:
        """Pipeline the loops that a file names. Raises ParseError where it does not fit."""
        changed = False
        known = self.ctx.analyses(self.function)
        names = {str(f.name) for f in self.ctx.module.functions if f.blocks}
        for given in schedules:
            if given.function not in names:
                raise given.wrong(f"there is no function {given.function} with a body")
            if given.function != str(self.function.name):
                continue
            loop = next(
                (x for x in known.loops if x.header.name == given.loop), None
            )
            if loop is None:
                raise given.wrong(f"{given.function} has no loop {given.loop}")
            why = self._against(loop)
            if why is not None and why[0] not in (Obstacle.NO_LOAD, Obstacle.PRAGMA):
                raise given.wrong(f"loop {given.loop}: {why[0].text(why[1])}")
            body, region = body_of(self.function, given.loop)
            obstacle = body.test_loads
            if obstacle is not None:
                raise given.wrong(
                    f"loop {given.loop}: {Obstacle.TEST.text(obstacle.form.spelling)}"
                )
            found = staged_by(body, given)
            if found.count < 2:
                raise given.wrong(f"loop {given.loop}: one stage, so nothing overlaps")
            why = _against_stages(body, found)
            if why is not None:
                text = f"{why[0].text(why[1])} ({found.count} stages)"
                raise given.wrong(f"loop {given.loop}: {text}")
            self._expand(loop, body, region, found, given.ii)
            changed = True
        return changed

    def _all(self, loop: Loop) -> tuple[Obstacle, str] | None:
        """All instructions in the stages of the modulo schedule; why not, or None if done."""
        for i in loop.header:  # a flag lasts until the next one is made, whichever round's it is
            if any(r.type.name == "cc" and r.has_uses for r in i.results):
                return Obstacle.PINNED, i.form.spelling
        try:
            slots = self._slots(loop) if self.noted is None else self.noted(
                loop, self.ctx, self.options.level
            )
        except NvirError as e:
            return Obstacle.TEMPLATE, str(e)
        if isinstance(slots, tuple):
            return slots
        refused = self._uncopied(loop)
        if refused is not None:
            return refused
        header = str(loop.header.name)
        scratch = clone_function(self.function)  # bringing the loop into form changes it
        scratch.analyze_cfg()
        body, _ = body_of(scratch, header)
        obstacle = body.test_loads
        if obstacle is not None:
            return Obstacle.TEST, obstacle.form.spelling
        limit = self._over_limit(body)
        if limit is not None:
            return Obstacle.LIMIT, limit
        found = _in_stages(body, slots)
        if found is None or found.count < 2:
            return Obstacle.NO_GAIN, "the modulo schedule has one stage"
        why = _against_stages(body, found)
        if why is not None:
            return why
        body, region = body_of(self.function, header)
        found = _in_stages(body, slots)
        assert found is not None
        self._expand(loop, body, region, found, slots.ii)
        return None

    def _slots(self, loop: Loop) -> PipelineSlots | tuple[Obstacle, str]:
        """The modulo schedule of the machine's own graph."""
        graph = loop_graph(loop, self.ctx.profile, level=self.options.level)
        if len(graph.operations) > LARGEST:
            return Obstacle.TOO_LARGE, str(len(graph.operations))
        made = schedule_loop(graph)
        return slots_of(graph, made.ii, made.times)

    def _expand(
        self, loop: Loop, body: Body, region: CopyRegion, found: Staged, ii: int
    ) -> None:
        done = expand(StageLayout(found), region, trip=trip_count(body.loop))
        short = f"too few iterations go to {done.rest.name}" if done.rest else "no rest is left"
        note("SWP-15", "6 expand", f"{done.prologue.name} of {done.stages - 1} steps, "
             f"{done.kernel.name} of {done.factor}, {done.epilogue.name} of {done.stages - 1}; "
             + short, stages=done.stages, kernel=done.kernel, copies=done.factor)
        note("SWP-18", "6 registers", "one for each value",
             longest=done.factor, kernel=done.kernel)
        if self.noted is not None:
            at = {i: KernelSlot(c.stage, step * ii + found.times[c.node])
                  for i, (c, step) in done.steps.items()}
            hand_over(done.kernel, Handed(ii, done.stages, done.factor, at))
        self.function.analyze_cfg()
        self.ctx.count("pipelined")
        self.ctx.remark(SCHEDULED, loop, stages=done.stages, factor=done.factor, ii=ii)
        self._divergence = self.prices = None

    # ------------------------------------------------------------- reasons

    def _against(self, loop: Loop, contents: bool = True) -> tuple[Obstacle, str] | None:
        """What the loop itself has against it, in the order in which it is asked; its `contents`
        are left to a policy that asks for them in an order of its own."""
        header = loop.header
        if not loop.is_innermost:
            return Obstacle.NOT_INNERMOST, ""
        if header.flags & {PIPELINED, REST}:
            return Obstacle.PIPELINED, ""
        leaves = _early_exit(loop)
        if leaves is not None:
            return Obstacle.EARLY_EXIT, leaves
        if several_blocks(loop):
            return Obstacle.SEVERAL_BLOCKS, ""
        if NOUNROLL in header.pragmas and not self.ctx.knob("OkToPipelineNoUnroll"):
            return Obstacle.PRAGMA, ""
        if not contents:
            left = self._fetches(header) and not self.ctx.knob("PipelineMultiOutputTex")
            return (Obstacle.LIMIT, "knob PipelineMultiOutputTex is 0") if left else None
        why = feasible(header, parts=self._parts(loop)).obstacle or self._uncopied(loop)
        if why is not None:
            return why
        textures = self._textures(header)
        if not any(is_long_load(i, textures) for i in header):
            return Obstacle.NO_LOAD, ""
        return None

    def _uncopied(self, loop: Loop) -> tuple[Obstacle, str] | None:
        refusal = Refusals(self.function).of(loop)
        return None if refusal is None else (Obstacle.NOT_COPIED, refusal[0].text(refusal[1]))

    def _textures(self, block: Block) -> bool:
        """Whether fetches of several results move as well. Nobody asks where a block has none."""
        return self._fetches(block) and bool(self.ctx.knob("PipelineMultiOutputTex"))

    def _fetches(self, block: Block) -> bool:
        return any(is_long_load(i) and not is_long_load(i, textures=False) for i in block)

    def _parts(self, loop: Loop) -> bool:
        if not any(i.form.convergent for i in loop.header):
            return False
        if self._divergence is None:
            self._divergence = self.ctx.analyses(self.function).divergence
        d = self._divergence
        return loop.header in d.divergent_loops or d.is_divergent_branch(loop.header)

    # ------------------------------------------------------------ the choice

    def _most(self) -> int:
        """How many loops are judged in a function of this size."""
        size = sum(map(len, self.function.blocks))
        return max(1, self.options.judged * min(LARGE, size) // max(size, 1))

    def _choose(self, loop: Loop) -> DepthChoice:
        if self.options.judged and self.judged >= self._most():
            return DepthChoice(Obstacle.MANY, str(self.judged))
        self.judged += 1
        try:
            expansion = expand_operations([loop.header], self.ctx.profile, strict=True)
            count = len(variant(expansion, set(loop.header.phis)))
            if count > LARGEST:
                return DepthChoice(Obstacle.TOO_LARGE, str(count))
            return self._by_cost(loop, expansion)
        except NvirError as e:
            return DepthChoice(Obstacle.TEMPLATE, str(e))

    def _by_cost(self, loop: Loop, expansion: Expansion) -> DepthChoice:
        body = plain_body(loop, self._textures(loop.header))
        obstacle = body.test_loads
        if obstacle is not None:
            return DepthChoice(Obstacle.TEST, obstacle.form.spelling)
        alone = self.options.form == "kernel-only"
        against = why_not(body) if alone else None
        if against is not None:
            return DepthChoice(Obstacle.FORM, against)
        limit = self._over_limit(body)
        if limit is not None:
            return DepthChoice(Obstacle.LIMIT, limit)
        if self.prices is None:
            self.prices = self._prices()
        return choose(
            self.prices, loop, body, expansion, depth=self.options.depth, force=self.options.force,
            limit=self.ctx.knob("PipelineHoistRRegPressureLimit"), kernel_only=alone,
        )

    def _prices(self, plain: tuple[int, int] | None = None) -> Prices:
        level, factors = self.options.level, self._unrolled()
        return Prices(self.function, self.ctx.profile, level, factors, plain=plain)

    def _over_limit(self, body: Body) -> str | None:
        """Which of the limits that knobs set the body goes beyond."""
        predicates = sum(r.type.bits == 1 for i in body.nodes for r in i.results)
        memory = sum(i.form.reads or i.form.writes for i in body.nodes)
        for name, over, value in (
            ("PipelineHoistCondLimit", 1, len(body.slice)),
            ("PipelineHoistPRegPressureLimit", 1, predicates),
            ("PipelineMIOVQToInstRatio", -1, memory / max(1, len(body.nodes))),
        ):
            limit = self.ctx.knob(name)
            if limit is not None and (value - limit) * over > 0:
                return f"{value:.3g} where knob {name} is {limit:.3g}"
        return None

    def _unrolled(self) -> dict[str, int]:
        """How often the assembler would unroll each loop by itself."""
        if self._factors is None:
            made = decide(self.function, self.ctx)
            self._factors = {
                str(header.name): d.factor for header, d in made.items()
                if d.factor is not None and d.factor > 1
            }
        return self._factors

    # ------------------------------------------------------------- carry out

    def _apply(self, loop: Loop, choice: DepthChoice) -> None:
        where = loop.header
        classes = annotate([i for i in where if not i.form.is_phi], self.ctx.profile)
        accepted = sum(not i.form.is_phi for i in where)
        self.ctx.remark(ANNOTATED, loop, operands=len(classes), accepted=accepted)
        before, after = choice.before, choice.after
        assert before is not None
        assert after is not None
        bounds = minimum_ii(loop_graph(loop, self.ctx.profile, level=self.options.level).graph)
        alone = self.options.form == "kernel-only"
        stages = choice.staged[choice.depth]
        body, _ = body_at(where, self._textures(where), words=True, like=stages.body)
        done = expand_stages(body, stages.stages, alone)
        self.ctx.count("pipelined")
        self.ctx.remark(
            PIPELINE, loop, stages=done.stages, factor=done.factor,
            before=round(before.cycles, 1), after=round(after.cycles, 1), mii=bounds.mii,
            registers_before=before.registers, registers=after.registers,
            blocks_before=before.blocks, blocks=after.blocks,
        )
        self._divergence = self.prices = None
        if str(where.name) not in self._unrolled():  # then what was priced is the function now
            self.prices = self._prices((after.registers, after.spills))


@step("SWP-14", "several blocks", "loop")
def several_blocks(loop: Loop) -> bool:
    return len(loop.blocks) > 1


def _early_exit(loop: Loop) -> str | None:
    """Where a loop can be left but at one branch, or None."""
    for b in loop.blocks:
        t = b.terminator
        if t is None or t.form.name != "bra":
            return t.form.spelling if t is not None else str(b.name)
    exits = [str(b.name) for b, _ in loop.exits]
    return (" and ".join(exits) or "no place") if len(exits) != 1 else None


def _against_stages(body: Body, found: Staged) -> tuple[Obstacle, str] | None:
    """Too many stages altogether, or more than a known trip count fills."""
    if found.filling > LONGEST_PROLOGUE:
        return Obstacle.TOO_LARGE, str(found.filling)
    trip = trip_count(body.loop)
    if trip is None or trip.count is None or trip.count >= found.count + StageLayout(
        found
    ).factor - 1:
        return None
    return Obstacle.SHORT, str(trip.count)


def _in_stages(body: Body, slots: PipelineSlots) -> Staged | None:
    """The stages of a body by the starts of its instructions, numbered in the block."""
    starts = {i: slots.times[k] for k, i in enumerate(body.block) if k in slots.times}
    return by_times(body, starts, slots.ii)
