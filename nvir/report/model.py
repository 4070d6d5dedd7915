"""The facts of `nvir report`, gathered once; tables and JSON are views of them.

`ModuleReport.to_json()` is the contract `nvir.report/1`: its keys and types stay.
What no pass can say yet is null with a reason, never invented.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from nvir.analysis.places import SourceLines
from nvir.assembler.regalloc.targets import ASSUMED_BLOCK, block_threads
from nvir.assembler.unroll.decision import UnrollDecision
from nvir.ir.block import Block
from nvir.ir.bulk import bulk
from nvir.ir.errors import Diagnostic, NvirError
from nvir.ir.function import Function
from nvir.ir.loops import Loop, over_blocks
from nvir.ir.module import Module
from nvir.report.explain.advice import Advice, advice
from nvir.report.facts import FunctionFacts, function_facts
from nvir.report.names import named, spoken
from nvir.report.real import (
    NOTHING,
    RealCode,
    RealFigures,
    as_in_code,
    machine_bound,
    with_real_counts,
)
from nvir.report.source_loops import FRONT_ENDS, SourceLoopReport, of_function, written_loops
from nvir.sm.occupancy import Named, occupancy, static_shared_memory
from nvir.sm.profile import Profile, profile_for
from nvir.sm.profile import profile as named_profile

if TYPE_CHECKING:
    from nvir.analysis.induction import TripCount
    from nvir.analysis.straight import LoopStatement
    from nvir.passes.knobs import Policy
    from nvir.sm.body import MachineBody
    from nvir.sm.loopgraph import LoopGraph
    from nvir.sm.schedule.loops import LoopSchedule

SCHEMA = "nvir.report/1"
# The reason of pipeline figures: they are no prediction of the assembler.
REACHABLE = "what a modulo schedule would reach; ptxas does not pipeline loops"
NOT_SCHEDULED = "not scheduled; nvir schedule"
NAMED = 3  # kernels in a note about several
NOT_DECIDED = UnrollDecision(reason="pass not available")
THOROUGH_BLOCKS = 400  # of a module: beyond that, schedules are the first that fit


@attrs.frozen
class PipelineFigures:
    """Initiation intervals in cycles; None where nothing has computed them."""

    res_mii: float | None = None
    rec_mii: float | None = None
    mii: float | None = None
    ii: float | None = None
    stages: int | None = None
    bottleneck: str | None = None
    recurrence: str | None = None
    reason: str | None = "pass not available"


@attrs.frozen
class LoopReport:
    """One natural loop. `line` is that of its label in the file that was read."""

    header: str
    line: int | None
    source: str | None
    depth: int
    blocks: int
    instructions: int
    trip: TripCount | None
    max_live: int
    unroll: UnrollDecision = NOT_DECIDED
    pipeline: PipelineFigures = PipelineFigures()

    @property
    def trip_count(self) -> int | str | None:
        if self.trip is None or self.trip.text == "unknown":
            return None
        return self.trip.count if self.trip.count is not None else self.trip.text


@attrs.frozen
class OccupancyFigures:
    blocks_per_sm: int
    warps_per_sm: int
    fraction: float
    limiter: str | None
    one_more: str | None = None  # what makes more warps resident, in words
    more_blocks: int = 0  # that it gives


@attrs.frozen
class FunctionReport:
    """One function.

    line        of the file that was read
    max_live    registers live in the PTX as it is written
    predicted   registers a thread that the assembler is taken to use
    source_loops   the loops of the source and what became of each
    advice      what a user can change, and the figures to expect of it
    interval    the lowest and the highest of them that four kernels of five stay within
                (`nvir.assembler.registers`); of kernels only
    peak_line, peak_source   where it needs most: line of the PTX, "file.cu:12"; in the real code,
                where that is there
    peak_live   registers live there
    real        what ptxas says, where it was asked
    facts       what the report was made of, where it was to be kept
    """

    name: str
    kind: str
    instructions: int
    max_live: int
    predicates: int
    predicted: int | None
    peak_line: int | None
    peak_source: str | None
    peak_live: int
    block_size: int | None
    static_smem: int
    occupancy: OccupancyFigures | None
    loops: tuple[LoopReport, ...]
    loops_known: bool = True  # False of machine code
    real: RealFigures | None = None
    facts: FunctionFacts | None = attrs.field(default=None, repr=False, eq=False)
    interval: tuple[int, int] | None = None
    source_loops: tuple[SourceLoopReport, ...] = ()
    advice: tuple[Advice, ...] = ()
    line: int | None = None


@attrs.frozen
class ModuleReport:
    """All functions of a file. `assembler` names the ptxas that gave real figures, or is None;
    `front_end` what made the PTX, "" where it does not say."""

    file: str
    arch: str
    policy: str
    functions: tuple[FunctionReport, ...]
    diagnostics: tuple[Diagnostic, ...]
    assembler: str | None = None
    front_end: str = ""

    def _repr_html_(self) -> str:
        """What a notebook shows: the report as text."""
        text: str = importlib.import_module("nvir.report.notebook").paint(self, "html")
        return text

    def to_json(self) -> dict[str, Any]:
        """The document of schema `nvir.report/1`, as plain JSON types."""
        return {
            "schema": SCHEMA,
            "arch": self.arch,
            "functions": [_function_json(f) for f in self.functions],
            "diagnostics": [
                {
                    "severity": d.severity, "message": d.message, "file": d.file,
                    "line": d.line or None, "column": d.col or None,
                }
                for d in self.diagnostics
            ],
        }


def _function_json(f: FunctionReport) -> dict[str, Any]:
    o = f.occupancy
    return {
        "name": f.name,
        "kind": f.kind,
        "instructions": f.instructions,
        "registers": {
            "max_live": f.max_live, "predicates": f.predicates, "predicted": f.predicted,
            "interval": list(f.interval) if f.interval is not None else None,
            "source": "model" if f.real is None else "ptxas",
        },
        "occupancy": None if o is None else {
            "blocks_per_sm": o.blocks_per_sm, "warps_per_sm": o.warps_per_sm,
            "fraction": o.fraction, "limiter": o.limiter,
        },
        "loops": [
            {
                "header": x.header, "line": x.line, "depth": x.depth, "blocks": x.blocks,
                "instructions": x.instructions, "trip_count": x.trip_count,
                "max_live": x.max_live, "unroll": unroll_json(x.unroll),
                "pipeline": attrs.asdict(x.pipeline), "source": x.source,
            }
            for x in f.loops
        ],
        "source_loops": [
            x.to_json([a.text for a in f.advice if a.place == x.place]) for x in f.source_loops
        ],
        "advice": [attrs.asdict(a) for a in f.advice],
        "peak": {"line": f.peak_line, "source": f.peak_source, "live": f.peak_live},
        **({} if f.real is None else {"ptxas": attrs.asdict(f.real)}),
    }


@attrs.frozen
class Launch:
    """How kernels are taken to be launched, for occupancy. `block` None: from the kernel."""

    block: int | None = None
    dynamic_smem: int = 0


AS_DECLARED = Launch()  # as the kernel says itself


class Kept:
    """What reports of one module share, made once: bodies by name, the loops of its sources, and
    what functions name. Whoever asks for a report of each function passes one to all."""

    def __init__(self, module: Module, source_root: Sequence[Path] = ()) -> None:
        self.bodies: dict[str, list[Function]] = {}
        for f in module.functions:
            if f.blocks:
                self.bodies.setdefault(str(f.name), []).append(f)
        self.written = written_loops(module, source_root)
        self.known: dict[int, Named] = {}

    def wanted(self, kernel: str | None) -> list[Function]:
        """The functions of this name, in PTX or in C++; of None all, as they stand."""
        if kernel in self.bodies:
            return self.bodies[kernel]
        names = self.bodies if kernel is None else named(kernel, self.bodies)
        return [f for name in names for f in self.bodies[name]]


def report(
    module: Module, *, arch: str | None = None, profile: str | None = None,
    policy: Policy = "observed", launch: Launch = AS_DECLARED, schedule: bool = False,
    kernel: str | None = None, keep: bool = False, real: RealCode = NOTHING,
    source_root: Sequence[Path] = (), kept: Kept | None = None,
) -> ModuleReport:
    """Loops, registers and occupancy of every function with a body, or of the one that is named.

    A function is named as in PTX or as in C++. `arch` defaults to the module's target; `profile`
    names a machine profile or a file. With `schedule` innermost loops of one
    block are modulo scheduled; without it they have bounds alone.
    `keep` keeps the facts of each function, for a page that shows more than the report does.
    `real` is what ptxas makes of it: registers and occupancy are then those of the real code.
    The module's sources are looked for in its own folder and in `source_root`. `kept` is what
    other reports of the module have worked out.
    """
    target = arch or module.target
    diagnostics = [*module.diagnostics, *real.diagnostics(module.name)]
    machine = machine_for(profile, target, module.name, diagnostics)
    functions = []
    make = None
    if schedule:
        from nvir.sm.schedule.loops import schedule_loop

        thorough = sum(len(f.blocks) for f in module.functions) <= THOROUGH_BLOCKS
        make = partial(schedule_loop, effort="interval" if thorough else "quick")
    kept = Kept(module, source_root) if kept is None else kept
    for f in kept.wanted(kernel):
        with bulk():  # what one function needs is freed before the next
            facts = function_facts(f, module, machine, arch=target, policy=policy)
            if (code := real.bodies.get(str(f.name))) is not None:
                shown = as_in_code(facts.unroll, facts.loops, code, machine)
                facts = attrs.evolve(facts, unroll=shown)
            functions.append(
                _function(facts, module, machine, launch, diagnostics, make, keep,
                          real.figures.get(str(f.name)), kept.written, code, kept.known)
            )
    assumed = [spoken(r.name) for r in functions if r.kind == "entry"
               and block_size(kept.bodies[r.name][-1], launch.block)[1]]
    if assumed:
        few = f"{', '.join(assumed[:NAMED])}{' and others' * (len(assumed) > NAMED)}"
        which = f"kernel {few}" if len(assumed) == 1 else f"{len(assumed)} kernels ({few})"
        diagnostics.append(Diagnostic(
            f"{which}: block size {ASSUMED_BLOCK} is assumed; give --block or .reqntid/.maxntid",
            module.name, severity="note"))
    return ModuleReport(
        module.name, target, policy, tuple(functions), tuple(diagnostics), real.assembler,
        front_end=FRONT_ENDS.get(module.debug.producer, ""),
    )


def machine_for(
    profile: str | None, target: str, file: str, diagnostics: list[Diagnostic]
) -> Profile:
    """The profile that is asked for, else that of the target or the one that stands in for it."""
    if profile is not None:
        return named_profile(profile)
    found = profile_for(target)
    if found.name != target.rstrip("af").replace("compute_", "sm_"):
        diagnostics.append(
            Diagnostic(
                f"no machine profile for {target}: {found.name} stands in",
                file,
                severity="note",
            )
        )
    return found


def _function(
    facts: FunctionFacts, module: Module, machine: Profile, launch: Launch,
    diagnostics: list[Diagnostic], make: Callable[[LoopGraph], LoopSchedule] | None, keep: bool,
    real: RealFigures | None, written: Mapping[int, Sequence[LoopStatement]],
    code: MachineBody | None, known: dict[int, Named],
) -> FunctionReport:
    f, pressure = facts.function, facts.pressure
    counted = with_real_counts(facts.estimate, f, code)
    peak = counted.peak
    line = peak.line if peak is not None else 0
    is_kernel = f.kind == "entry"
    predicted = facts.estimate.registers
    static = static_shared_memory(f, known)
    source = SourceLines(f, module)
    told = of_function(facts, source, module.debug.producer, written)
    block = None
    figures = None
    found: tuple[Advice, ...] = ()
    if is_kernel:
        block = block_size(f, launch.block)[0]
        limit = f.directives.get("maxnreg", (predicted,))[0]
        used = min(predicted, limit) if real is None else real.registers
        figures = occupancy_figures(
            str(f.name), machine, used, block, static, launch, module.name, diagnostics
        )
        if figures.blocks_per_sm:
            found = advice(facts, machine, used, block, static, launch.dynamic_smem, told, real)
    for start, target in f.irreducible_edges:
        diagnostics.append(
            Diagnostic(
                f"{spoken(str(f.name))}: the edge {start.name} -> {target.name} enters a "
                "loop sideways; this irreducible region is no natural loop",
                module.name,
                target.line,
                severity="warning",
            )
        )
    return FunctionReport(
        str(f.name), f.kind, sum(1 for b in f.blocks for _ in b.written),
        pressure.max_live, pressure.max_predicates, predicted if is_kernel else None,
        line if line > 0 else None,
        source.place(peak) if peak is not None else None, counted.max_live,
        block, static, figures, _loops(facts, module, machine, make, code, told),
        real=real if is_kernel else None, facts=facts if keep else None,
        interval=facts.estimate.interval if is_kernel else None,
        source_loops=told, advice=found, line=f.loc if isinstance(f.loc, int) else None,
    )


def unroll_json(d: UnrollDecision) -> dict[str, Any]:
    """The keys of nvir.report/1: action, factor, code, reason."""
    return {
        "action": d.action, "factor": d.factor, "code": d.code.number if d.code else None,
        "reason": d.reason,
    }


def _loops(
    facts: FunctionFacts, module: Module, machine: Profile,
    make: Callable[[LoopGraph], LoopSchedule] | None, code: MachineBody | None,
    told: Sequence[SourceLoopReport],
) -> tuple[LoopReport, ...]:
    if not facts.loops:
        return ()
    from nvir.analysis.analyses import Analyses
    from nvir.analysis.induction import body_runs
    from nvir.report.schedule.figures import pipeline_figures

    alias = Analyses.of(facts.function).alias
    sources = source_places(facts.loops, module, told)
    sizes = over_blocks(facts.loops, lambda b: sum(1 for _ in b.written), lambda n: sum(n))
    live = over_blocks(facts.loops, lambda b: facts.pressure.block_max[b], lambda n: max(n))
    return tuple(
        LoopReport(
            header=x.header.name,
            line=x.header.line or None,
            source=sources[x.header.name],
            depth=x.depth,
            blocks=len(x.blocks),
            instructions=sizes[x],
            trip=body_runs(x),
            max_live=live[x],
            unroll=facts.unroll.get(x.header.name, NOT_DECIDED),
            pipeline=pipeline_figures(
                x, machine, alias, make, facts.copies.get(x.header.name, 1),
                machine_bound(x, code, machine) if code is not None else None,
            ),
        )
        for x in facts.loops
    )


def source_places(
    loops: Sequence[Loop], module: Module, told: Sequence[SourceLoopReport]
) -> dict[str, str | None]:
    """By header "file.cu:44" of the loop's statement, where that is not told of its first
    instruction with a location, or None."""
    places = {header: s.places[0] for s in reversed(told) if s.places for header in s.roles}
    names = {n: path.rsplit("/", 1)[-1] for n, path, _ in module.debug.files}

    def located(b: Block) -> tuple[int, str]:
        at = next((i.loc for i in b if i.loc is not None and i.loc.line), None)
        if at is None:
            return sys.maxsize, ""
        return b.rpo_index, f"{names.get(at.file, f'file {at.file}')}:{at.line}"

    found: dict[str, str | None] = {}
    for x, (_, first) in over_blocks(loops, located, min).items():
        at = places.get(x.header.name)
        found[x.header.name] = first or None if at is None else f"{at[0]}:{at[1]}"
    return found


def block_size(f: Function, given: int | None) -> tuple[int, bool]:
    """(threads a block, whether assumed): `given`, else .reqntid, else .maxntid, else 256."""
    if given is not None:
        return given, False
    said = block_threads(f)
    return said or ASSUMED_BLOCK, said is None


def occupancy_figures(
    kernel: str, machine: Profile, registers: int, block: int, static: int, launch: Launch,
    file: str, diagnostics: list[Diagnostic],
) -> OccupancyFigures:
    """The occupancy of a kernel; a launch that cannot be judged is a warning and 0 blocks."""
    try:
        o = occupancy(machine, registers, block, launch.dynamic_smem, static_smem=static)
    except NvirError as e:
        diagnostics.append(Diagnostic(f"kernel {spoken(kernel)}: {e}", file, severity="warning"))
        return OccupancyFigures(0, 0, 0.0, None)
    made = OccupancyFigures(o.blocks_per_sm, o.warps_per_sm, o.fraction, o.limiter or None)
    needs = {n.factor: n.at_most for n in o.one_more}
    if o.fraction >= 1 or not needs or "barriers" in needs:
        return made
    shared = needs.get("shared memory", static + launch.dynamic_smem)
    after = occupancy(machine, needs.get("registers", registers), needs.get("warps", block), shared)
    if after.warps_per_sm <= o.warps_per_sm:
        return made
    more = " and ".join(f"{n.at_most} {_UNIT.get(n.factor, n.factor)}" for n in o.one_more)
    return attrs.evolve(made, one_more=more, more_blocks=after.blocks_per_sm)


_UNIT = {
    "registers": "registers", "shared memory": "bytes of shared memory",
    "warps": "threads a block", "barriers": "barriers",
}
