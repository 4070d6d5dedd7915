"""Everything about one loop on one page: what it is, what each pass decides and why, what would
change that, and what unrolling costs and gains.

The data of `nvir explain`; explain/text.py prints it. Decisions are those that the passes take of
the loop as it is written (decisions.py), figures of unroll factors are measured on loops that were
really unrolled (factors.py), and the registers are those of the predicted order (sm.registers).
"""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from nvir.analysis.induction import TripCount, body_runs, describe, induction_variables, trip_count
from nvir.analysis.places import SourceLines
from nvir.assembler.unroll.decision import UnrollDecision
from nvir.ir.errors import NvirError
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop, natural_loops
from nvir.ir.module import Module
from nvir.passes.knobs import Knobs
from nvir.report.explain.advice import Advice, advice, by_factor
from nvir.report.explain.decisions import LARGEST, Decision, LoopDecisions
from nvir.report.explain.factors import (
    FactorRow,
    blocks_per_sm,
    cycles,
    factor_table,
    size_of,
)
from nvir.report.explain.noted import Compared, events_json, noted_events
from nvir.report.facts import FunctionFacts, function_facts
from nvir.report.lines import LiveValue, explain_values
from nvir.report.model import (
    AS_DECLARED,
    NOT_DECIDED,
    Launch,
    PipelineFigures,
    block_size,
    source_places,
    unroll_json,
)
from nvir.report.real import RealFigures, as_in_code, machine_bound, machine_loop, with_real_counts
from nvir.report.schedule.figures import pipeline_figures
from nvir.report.source_loops import SourceLoopReport, of_function, written_loops
from nvir.sm.body import MachineBody
from nvir.sm.occupancy import static_shared_memory
from nvir.sm.profile import Profile
from nvir.sm.schedule.loops import schedule_loop
from nvir.sm.simulate.memory import MEMORY_LEVEL

if TYPE_CHECKING:
    from nvir.ir.text.trace import TraceEvent
    from nvir.passes.knobs import Policy
    from nvir.sm.loopgraph import LoopGraph
    from nvir.sm.schedule.loops import LoopSchedule

SCHEMA = "nvir.explain/1"
WARPS = 8  # on the sub-partition, for the gain of a modulo schedule
UNKNOWN_TRIPS = 8  # iterations taken for a loop whose count is not known, to find the hottest


@attrs.frozen
class Structure:
    """The shape of a loop; names are labels. `operations`: the most frequent, with their counts."""

    blocks: int
    instructions: int
    latches: tuple[str, ...]
    preheader: str | None
    exits: tuple[tuple[str, str], ...]
    parent: str | None
    children: tuple[str, ...]
    operations: tuple[tuple[str, int], ...]


@attrs.frozen
class Peak:
    """Where in the loop most registers are live. `line` is the PTX's, `source` "file.cu:12"."""

    registers: int
    line: int | None
    source: str | None
    values: tuple[LiveValue, ...]


@attrs.frozen
class RealLoop:
    """What ptxas made of the loop. Figures are for one iteration of it as it is written.

    copies        of the body that stand in the machine loop
    instructions  of the machine loop
    res_mii       cycles that its busiest pipe, or its issue slots, need; `bottleneck` names it
    cycles        warps on the sub-partition -> simulated cycles
    """

    copies: int
    instructions: int
    res_mii: float
    bottleneck: str | None
    cycles: Mapping[int, float]


@attrs.frozen
class Explanation:
    """The page about one loop.

    trip        the counted exit; None without one
    variables   induction variables in words
    unroll      what the policy does with the loop
    source_loop the loop of the source that it comes from, and what became of that
    decisions   of every loop pass, in the order of the real tool's phases
    pipeline    what a modulo schedule would reach
    pipelined   (cycles an iteration as the body is ordered, as pipelined) at `WARPS` warps
    factors     by the model, beside the real code where that is there (`code`)
    registers   of the whole function, with what is unrolled in it; real where ptxas is there
    trace       of policy `documented`: what each noted step did
    compared    the noted decisions beside the real compiler's, where that was asked for
    code        the machine loop that ptxas made, where it is there and the loop is innermost
    """

    function: str
    kind: str
    arch: str
    profile: str
    policy: Policy
    header: str
    line: int | None
    source: str | None
    depth: int
    structure: Structure
    trip: TripCount | None
    variables: tuple[str, ...]
    unroll: UnrollDecision
    decisions: tuple[Decision, ...]
    varied: bool
    pipeline: PipelineFigures
    pipelined: tuple[float, float] | None
    registers: int
    blocks_per_sm: int | None
    factors: tuple[FactorRow, ...]
    peak: Peak | None
    source_loop: SourceLoopReport
    advice: tuple[Advice, ...] = ()
    trace: tuple[TraceEvent, ...] = ()
    compared: tuple[Compared, ...] = ()
    code: RealLoop | None = None

    def to_json(self) -> dict[str, Any]:
        """The document of schema `nvir.explain/1`, as plain JSON types."""
        t = self.trip
        return {
            "schema": SCHEMA,
            "function": self.function, "kind": self.kind, "arch": self.arch,
            "profile": self.profile, "policy": self.policy,
            "loop": {
                "header": self.header, "line": self.line, "source": self.source,
                "depth": self.depth, **attrs.asdict(self.structure),
                "operations": dict(self.structure.operations),
            },
            "trip_count": {
                "count": t.count if t is not None else None,
                "text": t.text if t is not None else None,
                "how": trip_text(t, self.variables),
                "induction_variables": list(self.variables),
            },
            "unroll": unroll_json(self.unroll),
            "source_loop": self.source_loop.to_json([a.text for a in self.advice]),
            "decisions": [_decision_json(d) for d in self.decisions],
            "pipeline": attrs.asdict(self.pipeline) | {
                "cycles": None if self.pipelined is None
                else {"warps": WARPS, "before": self.pipelined[0], "after": self.pipelined[1]},
            },
            "registers": self.registers,
            "blocks_per_sm": self.blocks_per_sm,
            "factors": [
                attrs.asdict(r, filter=lambda a, _: a.name != "cycles")
                | {"factor": r.factor if r.factor is not None else "full",
                   "chosen": is_chosen(r, self.unroll),
                   "cycles": {str(w): round(n, 3) for w, n in r.cycles.items()}}
                for r in self.factors
            ],
            "peak": None if self.peak is None else attrs.asdict(self.peak),
            **({"trace": events_json(self.trace)} if self.trace else {}),
            **({"compared": [attrs.asdict(c) for c in self.compared]} if self.compared else {}),
            "machine_code": None if self.code is None else attrs.asdict(self.code) | {
                "cycles": {str(w): round(n, 3) for w, n in self.code.cycles.items()}
            },
        }


def _decision_json(d: Decision) -> dict[str, Any]:
    return {
        "pass": d.label, "phases": list(d.phases), "changes_loop": d.changed, "error": d.error,
        "remarks": [
            {"name": r.name, "kind": r.kind, "code": r.code.number or None,
             "args": dict(r.args), "message": r.message}
            for r in d.remarks
        ],
        "knobs": [attrs.asdict(c) for c in d.changes], "untried_knobs": list(d.untried),
    }


def is_chosen(row: FactorRow, unroll: UnrollDecision) -> bool:
    """Whether a row of the table is what the policy does."""
    return row.factor == (unroll.factor if unroll.action != "full" else None)


def explain(
    function: Function, loop: Loop, module: Module, machine: Profile, *, arch: str | None = None,
    knobs: Knobs | None = None, launch: Launch = AS_DECLARED, vary: bool = True,
    compared: tuple[Compared, ...] = (), body: MachineBody | None = None,
    before: tuple[TraceEvent, ...] = (),
) -> Explanation:
    """The explanation of a loop of a function with fresh annotations.

    `knobs` also carries the policy. `vary` looks for knobs that would change a decision;
    `compared` is what `nvir.report.explain.noted.compare` said. `body` is the function's real code:
    registers, the peak and the cycles of the loop as it stands are its. `before` are the events of
    the documented steps that stand before the loop passes.
    """
    knobs = knobs if knobs is not None else Knobs()
    target = arch or module.target
    header = loop.header.name
    facts = function_facts(function, module, machine, arch=target, knobs=knobs)
    facts = attrs.evolve(facts, estimate=with_real_counts(facts.estimate, function, body))
    if body is not None:
        facts = attrs.evolve(facts, unroll=as_in_code(facts.unroll, facts.loops, body, machine))
    registers = facts.estimate.registers
    schedules: list[LoopSchedule] = []  # one, or none where the loop can have none

    def make(graph: LoopGraph) -> LoopSchedule:
        schedules.append(schedule_loop(graph, effort="interval"))
        return schedules[-1]

    pipeline = pipeline_figures(
        loop, machine, make=make, copies=facts.copies.get(header, 1),
        code=machine_bound(loop, body, machine) if body is not None else None,
    )
    asked = LoopDecisions(function, module, header, knobs, machine)
    decisions = asked.all(vary)
    rows = tuple(factor_table(
        function, module, header, machine, launch=launch, copies=facts.copies,
        schedule=schedules[0] if schedules else None,
    ))
    told = of_function(facts, SourceLines(function, module), module.debug.producer,
                       written_loops(module))
    mine = next(x for x in told if header in x.roles)
    unroll = facts.unroll.get(header, NOT_DECIDED)
    code = _code(body, loop, machine) if body is not None else None
    pipelined = _pipelined(loop, machine, *schedules)
    rows = tuple(_as_told(r, pipeline) if is_chosen(r, unroll) else r for r in rows)
    chosen = next((r for r in rows if is_chosen(r, unroll)), None)
    if code is not None and chosen is not None:
        ratio = {w: code.cycles[w] / n for w, n in chosen.cycles.items() if n and w in code.cycles}
        rows = tuple(_beside_code(rows, chosen, ratio, registers))
        if pipelined is not None:
            pipelined = (pipelined[0] * ratio.get(WARPS, 1), pipelined[1] * ratio.get(WARPS, 1))
    chosen = next((r for r in rows if is_chosen(r, unroll)), None)
    found = list(by_factor(mine, header, rows, chosen))
    if function.kind == "entry":
        block, static = block_size(function, launch.block)[0], static_shared_memory(function)
        real = None
        if body is not None and body.registers is not None:
            real = RealFigures(body.registers, body.spill_bytes, 0)
        found += [a for a in advice(facts, machine, registers, block, static, launch.dynamic_smem,
                                    told, real) if a.place in (None, mine.place)]
    return Explanation(
        str(function.name), function.kind, target, machine.name, knobs.policy, header,
        loop.header.line or None, source_places(facts.loops, module, [mine])[header], loop.depth,
        _structure(loop),
        body_runs(loop), _variables(loop), unroll,
        tuple(decisions), vary and asked.size <= LARGEST,
        pipeline, pipelined, registers,
        blocks_per_sm(function, registers, machine, launch)
        if function.kind == "entry" else None,
        rows, _peak(loop, module, facts), mine, tuple(found),
        (*before, *noted_events(asked)) if knobs.policy == "documented" else (), compared,
        code,
    )


def _as_told(row: FactorRow, pipeline: PipelineFigures) -> FactorRow:
    """The row of what ptxas does with the interval that is told of the loop."""
    told = pipeline.mii if row.at_least else pipeline.ii
    return attrs.evolve(row, ii=told) if told is not None else row


def _beside_code(
    rows: Sequence[FactorRow], chosen: FactorRow, ratio: Mapping[int, float], registers: int,
) -> Iterator[FactorRow]:
    """The table's rows beside the real code: the row of what ptxas did has its figures, the cycles
    of the others are in the proportion to those that the model has. `ratio`: by warps."""
    for r in rows:
        made = attrs.evolve(r, cycles={w: n * ratio.get(w, 1) for w, n in r.cycles.items()})
        if r is chosen:
            made = attrs.evolve(made, registers=registers)
        yield made


def _code(body: MachineBody, loop: Loop, machine: Profile) -> RealLoop | None:
    """The machine loop of a loop of the text; None where it has none of its own."""
    from nvir.sm.simulate import simulate
    from nvir.sm.simulate.body import body_stream

    found = machine_loop(body, loop, machine) if loop.is_innermost else None
    bound = machine_bound(loop, body, machine)
    if found is None or bound is None:
        return None
    inner, copies = found
    stream = body_stream(body, machine, inner)
    cycles = {
        n: simulate(
            stream, warps=n, iterations=16, stalls=False, memory=MEMORY_LEVEL
        ).cycles_per_iteration / copies
        for n in (1, WARPS)
    }
    size = len(body.loop_instructions(inner))
    return RealLoop(copies, size, *bound, cycles)


def hottest(function: Function) -> Loop | None:
    """The innermost loop in which most instructions are run; None of a function without loops."""
    best: tuple[float, Loop] | None = None
    for x in natural_loops(function):
        if x.children:
            continue
        runs = float(size_of(x.blocks))
        around: Loop | None = x
        while around is not None:
            trip = trip_count(around)
            known = trip.count if trip is not None else None
            runs *= UNKNOWN_TRIPS if known is None else max(known, 1)
            around = around.parent
        if best is None or runs > best[0]:
            best = runs, x
    return best[1] if best is not None else None


def _structure(loop: Loop) -> Structure:
    mix = collections.Counter(
        i.form.name for b in loop.blocks for i in b.written
    )
    entry = loop.preheader
    return Structure(
        len(loop.blocks), size_of(loop.blocks), tuple(b.name for b in loop.latches),
        entry.name if entry is not None else None,
        tuple((b.name, s.name) for b, s in loop.exits),
        loop.parent.header.name if loop.parent is not None else None,
        tuple(x.header.name for x in loop.children),
        tuple(sorted(mix.items(), key=lambda x: (-x[1], x[0]))),
    )


def _variables(loop: Loop) -> tuple[str, ...]:
    out = []
    for v in induction_variables(loop):
        step = v.step if v.is_constant_step else describe(v.step)  # type: ignore[arg-type]
        out.append(f"{v.phi.name or '?'} ({v.kind}) from {describe(v.start)} by {step}")
    return tuple(out)


def trip_text(trip: TripCount | None, variables: tuple[str, ...]) -> str:
    """How the count was found, or why there is none."""
    if trip is None:
        if not variables:
            return "unknown; nothing in the header changes by an invariant step"
        return ("unknown; no exit that every iteration passes compares an induction variable "
                "with an invariant bound")
    v = trip.variable
    if isinstance(v.step, int | float):
        step = f"{'down' if v.step < 0 else 'up'} by {abs(v.step)}"
    else:
        step = f"by {describe(v.step)}"
    compare, _, type = trip.compare.partition(".")
    sign = _SIGNS.get(compare, compare)
    when = "after" if trip.tests_update else "before"
    return (f"{trip.text}; counts {v.phi.name or '?'} from {describe(v.start)} {step} while "
            f"{sign} {describe(trip.bound)} ({type}), tested {when} the step in {trip.exit.name}"
            )


_SIGNS = {
    "lt": "<", "le": "≤", "gt": ">", "ge": "≥", "eq": "=", "ne": "≠",
    "lo": "<", "ls": "≤", "hi": ">", "hs": "≥",
}


def _pipelined(
    loop: Loop, machine: Profile, schedule: LoopSchedule | None = None
) -> tuple[float, float] | None:
    """Simulated cycles an iteration in the assembler's order and as the modulo schedule has it."""
    from nvir.sm.simulate import schedule_stream, simulate

    if schedule is None:
        return None
    try:
        before = cycles(loop, machine, 1, [WARPS]).get(WARPS)
        stream = schedule_stream(schedule)
        after = simulate(
            stream, warps=WARPS, iterations=16, stalls=False, memory=MEMORY_LEVEL
        ).cycles_per_iteration
    except NvirError:
        return None
    return (before, after) if before is not None else None


def _peak(loop: Loop, module: Module, facts: FunctionFacts) -> Peak | None:
    best: tuple[int, Instruction] | None = None
    for b in loop.blocks:
        for i in b:
            n = facts.estimate.counts.get(i)
            if n is not None and not i.form.is_phi and (best is None or n > best[0]):
                best = n, i
    if best is None:
        return None
    count, at = best
    return Peak(
        count, at.line or None, SourceLines(facts.function, module).place(at),
        tuple(explain_values(at, facts.live, facts.estimate)),
    )
