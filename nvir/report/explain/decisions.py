"""What each loop pass decides on one loop, and which knob would change its mind.

Every pass is asked alone, on a copy of the function as it is written (resolved copies and dead
code apart), so that its answer is about the loop that the user sees; passes that expect what
loop-simplify makes get it with its blocks around the loops. The answer is its remarks on the
loop. A knob that the pass read is then moved away from its value, to both sides, until the answer
is another one; bisection finds the nearest value at which it is.

Policy `documented` is one compiler: its passes run in the order of their phases, each on what the
one before left, and the loop is followed through them (`LoopDecisions.stages`).

Method   Values are tried in steps that double, up to `REACH` times the value, then bisected
         between the last that kept the decision and the first that changed it. A decision that
         changes and changes back between two steps is not seen.
Cost     for each knob that is read some ten to twenty runs of the pass on a copy, until they have
         looked at WORK instructions. A copy in which nothing was changed serves again, and a pass
         whose plan is one that was already carried out is not run.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterator
from typing import Any

import attrs

from nvir.ir import Block, Function, Module, NvirError
from nvir.ir.clone import clone_function
from nvir.ir.loops import natural_loops
from nvir.ir.text.trace import Trace, TraceEvent
from nvir.passes.context import Context
from nvir.passes.knobs import Knob, Knobs, all_knobs
from nvir.passes.loop.pipeline.expand import PIPELINED
from nvir.passes.loop.region import merge_chains
from nvir.passes.presets_loops import LAST
from nvir.passes.registry import Pass, all_passes
from nvir.passes.remarks import Remark

LARGEST = 20_000  # instructions of a function whose knobs are varied
REACH = 16  # times the value: how far up a knob is moved
WORK = 30_000  # instructions that a pass is asked about for its knobs; those left then are named
DIGITS = 0.005  # relative precision of the threshold of a knob that is no integer
# What a remark says was decided; its other fields are the numbers that decided.
_OUTCOME = ("factor", "copies", "count", "moves")
_LOOP_PASSES = "nvir.passes.loop."
_AS_WRITTEN = ("loop-simplify", "unroll-decision")  # what they say is about the loop as it is
_DOCUMENTED = {  # and the rows of the notes that say what a pass leaves of the loops
    "loop-simplify": "P18-09", "loop-unroll": "UNR-44", "loop-pipeline": "SWP-15",
    "licm": "LIC-32", "loop-fuse": "FUS-20",
}
GONE = "no loop is left of it"


@attrs.frozen
class KnobChange:
    """The nearest value of a knob, above or below its own, with another decision."""

    knob: str
    value: Any
    to: Any
    becomes: str


@attrs.frozen
class Decision:
    """What one pass says of one loop.

    label    the step as pipelines name it, such as "licm<id=0>"
    phases   of the real tool that the pass models
    remarks  on the loop; on the function where the pass looks at no loop of it
    read     knobs that it read, with their values
    changes  of knobs that would change the decision
    untried  knobs for which the work that is allowed did not suffice
    error    why the pass could not be asked, or None
    """

    label: str
    name: str
    phases: tuple[int, ...]
    remarks: tuple[Remark, ...]
    read: dict[str, Any]
    changes: tuple[KnobChange, ...] = ()
    untried: tuple[str, ...] = ()
    error: str | None = None

    @property
    def outcome(self) -> tuple[Any, ...]:
        """What is done, without the numbers that decided it; why nothing is done is no outcome."""
        return tuple(
            (r.name, *(r.args[k] for k in _OUTCOME if k in r.args))
            for r in self.remarks if r.kind == "passed"
        )

    @property
    def changed(self) -> bool:
        """Whether the pass does something to the loop."""
        return any(r.kind == "passed" for r in self.remarks)


@attrs.frozen
class DecisionStep:
    """A pass with options, as a pipeline has it."""

    row: Pass
    options: Any
    label: str
    phases: tuple[int, ...]


def loop_steps() -> list[DecisionStep]:
    """The loop passes of the registry in the order of the real tool's phases."""
    steps = []
    for row in all_passes().values():
        if not row.home.startswith(_LOOP_PASSES) or row.unit != "function":
            continue
        if row.level == "nvvm" or row.name == LAST:  # whose reason is in that of loop-unroll
            continue
        if row.name == "licm":  # one pass, four instances
            for k, phase in enumerate(row.phases):
                options = row.options(id=str(k))
                steps.append(DecisionStep(row, options, f"licm<id={k}>", (phase,)))
            continue
        steps.append(DecisionStep(row, row.options(), row.name, row.phases))
    unrolling = next((s.phases for s in steps if s.row.name == "loop-unroll"), (22,))
    return sorted(steps, key=lambda s: (s.phases or unrolling)[0])


class _Recorder(Context):
    """A context that notes which knobs are read."""

    def __init__(self, module: Module, knobs: Knobs, profile: Any) -> None:
        super().__init__(module, knobs, profile)
        self.read: dict[str, Any] = {}

    def knob(self, name: str, block: Block | None = None, *, pass_id: int = 0) -> Any:
        value = super().knob(name, block, pass_id=pass_id)
        self.read.setdefault(name, value)
        return value


@attrs.frozen
class NotedStage:
    """A pass of policy `documented` in its place: what it is given, with the header of the loop in
    it (None: no loop is left of it), and its events on that loop and on none."""

    function: Function
    header: str | None
    events: tuple[TraceEvent, ...]


class LoopDecisions:
    """Asks the loop passes about one loop of a function, which stays as it is; `header` None: about
    the function, which has none. `alone`: under policy `documented`, too, each about the loop as it
    is written."""

    def __init__(
        self, function: Function, module: Module, header: str | None, knobs: Knobs,
        profile: Any = None, alone: bool = False,
    ) -> None:
        from nvir.passes.loop.unroll.unroll_decision import prepared

        self.module, self.header, self.knobs, self.profile = module, header, knobs, profile
        self.alone = alone
        self.function = prepared(function, module)
        self.size = sum(len(b) for b in self.function.blocks)
        self._canonical: Function | None = None
        self._spare: dict[Function, Function] = {}
        self._made: dict[tuple[str, Hashable], Decision] = {}  # what became of a pass's plan
        self._work = 0
        self.left: tuple[Function, str | None] = self.function, header  # as `stages` leave it

    @functools.cached_property
    def stages(self) -> dict[str, NotedStage]:
        """The passes of policy `documented`, by their labels, as one run; none of another policy's.
        The function stays as it is."""
        out: dict[str, NotedStage] = {}
        if self.knobs.policy != "documented" or self.alone:
            return out
        given = self.function
        header = self.header
        for step in loop_steps():
            row = _DOCUMENTED.get(step.row.name)
            if row is None:
                continue
            made = clone_function(given)
            made.analyze_cfg()
            ctx = self._context(step, made, self.knobs, "")
            told = []
            with Trace(only=header or "") as trace:
                try:
                    step.row.run(made, ctx)
                except NvirError as e:
                    told.append(TraceEvent(row, step.label, {}, f"refused: {e}"))
                    made = given
            if step.row.name == "loop-unroll":
                merge_chains(made)  # copies without a test between them are one block
            made.analyze_cfg()
            after = followed(made, self.header) if self.header and header is not None else None
            if header is not None or self.header is None:
                told = [*trace, *told]
            if after != header:
                said = GONE if after is None else f"the loop goes on as {after}"
                told.append(TraceEvent(row, step.label, {}, said, header or ""))
            out[step.label] = NotedStage(given, header, tuple(told))
            given, header = made, after
        self.left = given, header
        return out

    def _given(self, step: DecisionStep) -> Function:
        """What the pass is asked about: the function, but for the first with canonical loops; of
        policy `documented` as the passes before left it."""
        stage = self.stages.get(step.label)
        if stage is not None:
            return stage.function
        if step.row.name in _AS_WRITTEN:
            return self.function
        if self._canonical is None:
            self._canonical = clone_function(self.function)
            self._canonical.analyze_cfg()
            row = all_passes()["loop-simplify"]
            ctx = Context(self.module, self.knobs, self.profile)
            ctx.function, ctx.pass_, ctx.options = self._canonical, row, row.options()
            row.run(self._canonical, ctx)
            self._canonical.analyze_cfg()
        return self._canonical

    def all(self, vary: bool = True) -> list[Decision]:
        """The decision of every loop pass."""
        return [self.decide(s, vary) for s in loop_steps()]

    def decide(self, step: DecisionStep, vary: bool = True) -> Decision:
        """The decision of one pass; with `vary` also what its knobs would change."""
        made = self._ask(step, self.knobs)
        if not vary or made.error or self.size > LARGEST:
            return made
        changes: list[KnobChange] = []
        untried = []
        knobs = [k for k in all_knobs() if k.name in made.read and step.row.name in k.readers]
        self._work = 0
        for k in knobs:
            if self._work > WORK:
                untried.append(k.name)
            else:
                changes += self._vary(step, made, k)
        return attrs.evolve(made, changes=tuple(changes), untried=tuple(untried))

    def _context(
        self, step: DecisionStep, copy: Function, knobs: Knobs, header: str
    ) -> _Recorder:
        ctx = _Recorder(self.module, knobs, self.profile)
        ctx.function, ctx.pass_, ctx.options = copy, step.row, step.options
        ctx.loop = header
        return ctx

    def _ask(self, step: DecisionStep, knobs: Knobs) -> Decision:
        given = self._given(step)
        copy = self._spare.pop(given, None)
        if copy is None:
            copy = clone_function(given)
            copy.analyze_cfg()
        stage = self.stages.get(step.label)
        header = stage.header if stage is not None else self.header
        if header is None:
            return Decision(step.label, step.row.name, step.phases, (), {}, error=GONE)
        ctx = self._context(step, copy, knobs, header)
        error = None
        self._work += self.size
        plan = None
        try:
            if step.row.plan is not None:
                plan = step.label, step.row.plan(
                    copy, self._context(step, copy, knobs, header)
                )
                if plan in self._made:
                    self._spare[given] = copy
                    return self._made[plan]
            if not step.row.run(copy, ctx):
                self._spare[given] = copy  # as it was, so it serves the next question
            else:
                self._work += sum(map(len, copy.blocks))
        except NvirError as e:
            error = str(e)
        of_loop = [r for r in ctx.remarks if r.loop == header]
        told = of_loop or [r for r in ctx.remarks if not r.loop and r.kind != "analysis"]
        if not told:
            told = [r for r in ctx.remarks if not r.loop and "Guard" in r.name]
        made = Decision(
            step.label, step.row.name, step.phases, tuple(told), ctx.read, error=error
        )
        if plan is not None:
            self._made[plan] = made
        return made

    def _vary(self, step: DecisionStep, made: Decision, knob: Knob) -> Iterator[KnobChange]:
        value = made.read[knob.name]

        def differs(x: Any) -> Decision | None:
            """The decision with the knob at `x` where it is another one."""
            try:
                knobs = self.knobs.copy()
                knobs.set(knob.name, x)
            except NvirError:
                return None  # out of the knob's range
            other = self._ask(step, knobs)
            return other if other.error is None and other.outcome != made.outcome else None

        for candidates in _ways(knob, value):
            same = value
            for x in candidates:
                other = differs(x)
                if other is None:
                    same = x
                    continue
                if same is not None and knob.type in ("INT", "FLOAT", "DOUBLE"):
                    while (middle := _between(same, x, value, knob)) is not None:
                        nearer = differs(middle)
                        if nearer is None:
                            same = middle
                        else:
                            x, other = middle, nearer
                yield KnobChange(knob.name, value, x, summary(other))
                break


def followed(function: Function, header: str) -> str | None:
    """The header of what a loop has become: itself, or of its copies, whose blocks are named after
    its own, the kernel of its pipeline, else the loop of most instructions. None where no loop is
    left of it."""
    copies = [
        x for x in natural_loops(function) if str(x.header.name).partition(".")[0] == header
    ]
    best = max(copies, key=lambda x: (PIPELINED in x.header.flags, sum(map(len, x.blocks))),
               default=None)
    return None if best is None else str(best.header.name)


def _ways(knob: Knob, value: Any) -> Iterator[list[Any]]:
    """Lists of values to try, nearest first, for each direction in which a knob can be moved."""
    if knob.type == "BOOL":
        yield [not value]
    elif knob.choices:
        for choice in knob.choices:
            if choice != value:
                yield [choice]
    elif knob.type in ("INT", "FLOAT", "DOUBLE") and value is not None:
        yield _upwards(knob, value)
        yield _downwards(knob, value)


def _upwards(knob: Knob, value: float) -> list[float]:
    # A knob that is 0 may be a switch, a factor or a number of instructions: small values first.
    whole = knob.type == "INT"
    start = value or (1 if whole else 1 / REACH)
    out = [start] if not value else []
    x = start
    while x < start * REACH or (not value and x < REACH * 16):
        x = min(x * 2, knob.high)
        out.append(x)
        if x >= knob.high:
            break
    return out


def _downwards(knob: Knob, value: float) -> list[float]:
    out = []
    x = value
    for _ in range(5):
        x = x // 2 if knob.type == "INT" else x / 2
        if x <= knob.low:
            break
        out.append(x)
    if value > knob.low:
        out.append(int(knob.low) if knob.type == "INT" else knob.low)
    return out


def _between(a: float, b: float, value: float, knob: Knob) -> float | None:
    """A value between two, None where they are near enough."""
    if knob.type == "INT":
        return (a + b) // 2 if abs(a - b) > 1 else None
    if abs(a - b) <= DIGITS * max(abs(a), abs(b), abs(value)):
        return None
    return float(f"{(a + b) / 2:.6g}")


def summary(decision: Decision) -> str:
    """What was decided in a few words, without the numbers that decided."""
    texts = dict.fromkeys(
        r.message.partition(" [")[0].partition(": ")[0] for r in decision.remarks
    )
    return "; ".join(texts) or "nothing is decided"
