"""Modulo schedules for people: the pipeline figures of a report, the page of `nvir schedule`.

The figures are what a modulo schedule of the loop would reach on the profile's machine; the real
assembler does not pipeline loops by itself, which the reason says.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nvir.assembler.least import least_resource
from nvir.ir.errors import NvirError
from nvir.ir.loops import Loop
from nvir.report.names import spoken
from nvir.sm.loopgraph import LoopGraph, loop_graph
from nvir.sm.mii import Recurrence, minimum_ii
from nvir.sm.operation import register_name

if TYPE_CHECKING:
    from nvir.analysis.alias import AliasAnalysis
    from nvir.report.model import PipelineFigures
    from nvir.sm.profile import Profile
    from nvir.sm.schedule.loops import LoopSchedule

SCHEMA = "nvir.schedule/1"
MAX_OPERATIONS = 400  # scheduled within a report; larger bodies have bounds alone


def pipeline_figures(
    loop: Loop, profile: Profile, alias: AliasAnalysis | None = None,
    make: Callable[[LoopGraph], LoopSchedule] | None = None, copies: int = 1,
    code: tuple[float, str | None] | None = None,
) -> PipelineFigures:
    """The pipeline fields of a report; what cannot be said is None, with the reason.

    `make` makes the schedule of a graph; without it the figures are the bounds alone. The resource
    bound is that of the machine code, `code` (`nvir.report.real.machine_bound`), else a prediction
    of it in which the body will stand `copies` times. No interval is below it.
    """
    from nvir.report.model import NOT_SCHEDULED, REACHABLE, PipelineFigures

    if not loop.is_innermost:
        return PipelineFigures(reason="not an innermost loop")
    if len(loop.blocks) > 1:
        return PipelineFigures(reason="several blocks")
    ii = stages = None
    reason = NOT_SCHEDULED
    try:
        found = loop_graph(loop, profile, alias=alias)
        if not found.operations:
            raise NvirError(f"loop {loop.header.name}: no operation is left in its body")
        if make is None or len(found.operations) > MAX_OPERATIONS:
            bounds = minimum_ii(found.graph)
            if make is not None:
                reason = f"{len(found.operations)} operations: bounds alone"
        else:
            made = make(found)
            bounds, ii, stages, reason = made.bounds, made.ii, made.stages, REACHABLE
    except NvirError as e:
        return PipelineFigures(reason=str(e))
    res_mii, binding = code or least_resource(found.operations, loop, profile, copies)
    ii = max(ii, math.ceil(res_mii)) if ii is not None else None
    return PipelineFigures(
        res_mii, bounds.rec_mii, max(res_mii, bounds.rec_mii), ii, stages,
        "recurrence" if bounds.rec_mii > res_mii else binding,
        recurrence_text(found, bounds.recurrence), reason,
    )


def recurrence_text(found: LoopGraph, cycle: Recurrence | None) -> str | None:
    """The critical recurrence by the register it goes through: "%f3: add → mul"."""
    if cycle is None:
        return None
    name = None
    for edge in cycle.edges:
        if found.graph.edges[edge][3]:
            name = found.edge_name(edge) or name
    if name is None:
        name = next((n for e in cycle.edges if (n := found.edge_name(e))), "memory")
    steps = [found.operations[n].parent.form.name for n in cycle.nodes]
    short = [s for k, s in enumerate(steps) if not k or s != steps[k - 1]]
    return f"{name}: {' → '.join(short)}"


# ------------------------------------------------------------------------ nvir schedule


def schedule_json(made: LoopSchedule, function: str) -> dict[str, Any]:
    """The document of schema `nvir.schedule/1`, as plain JSON types."""
    found = made.graph
    cycle = made.recurrence
    number = {
        i: k for k, i in enumerate(x for x in found.loop.header if not x.form.is_phi)
    }
    return {
        "schema": SCHEMA,
        "function": function,
        "loop": found.loop.header.name,
        "profile": found.profile.name,
        "res_mii": made.res_mii,
        "rec_mii": made.rec_mii,
        "mii": made.mii,
        "ii": made.ii,
        "stages": made.stages,
        "optimal": made.optimal,
        "effort": made.effort,
        "bottleneck": made.bottleneck,
        "max_live": made.max_live,
        "max_live_bound": made.registers_needed(),
        "unroll": made.lifetimes.min_unroll,
        "pipes": made.busy(),
        "recurrence": None if cycle is None else {
            "text": recurrence_text(made.graph, cycle), "latency": cycle.latency,
            "distance": cycle.distance,
        },
        "operations": [
            {
                "time": made.times[n], "slot": made.times[n] % made.ii,
                "stage": made.times[n] // made.ii, "operation": op.family,
                "pipe": made.pipe[n] or None, "interval": found.interval[n],
                "instruction": number[op.parent], "ptx": op.parent.form.spelling,
                "line": op.line or None,
                "results": [register_name(r) for r in op.results],
                "sources": [register_name(r) for r in op.reads],
            }
            for n, op in in_order(made)
        ],
    }


def in_order(made: LoopSchedule) -> list[tuple[int, Any]]:
    """(node, operation) by slot of the kernel, then by stage."""
    numbered = enumerate(made.graph.operations)
    return sorted(numbered, key=lambda x: (made.times[x[0]] % made.ii, made.times[x[0]]))


def schedule_text(made: LoopSchedule, function: str) -> str:
    """The page of `nvir schedule`: figures, the reservation table, what binds."""
    found = made.graph
    loop, ii = found.loop, made.ii
    where = f" (line {loop.header.line})" if loop.header.line else ""
    proof = "no smaller interval exists" if made.optimal else f"MII {made.mii}"
    lines = [
        f"{spoken(function)} · loop {loop.header.name}{where} · {found.profile.name}",
        f"ResMII {made.res_mii} · RecMII {made.rec_mii} · II {ii} ({proof}) · "
        f"{made.stages} stages · {len(found.operations)} operations",
        "",
        *_table(made),
        "",
        *_binding(made),
        *_left_out(made),
    ]
    return "\n".join(lines) + "\n"


_OPERATION, _TEXT = 12, 40


def _table(made: LoopSchedule) -> list[str]:
    """The reservation table: a line for each operation, a column for each pipe in use.

    ██ is the cycle in which an operation starts on its pipe, ▒▒ those in which it is still busy.
    """
    found, ii = made.graph, made.ii
    pipes = [p for p in found.profile.pipes if p in made.pipe]
    width = max([4, *(len(p) for p in pipes)])
    head = f"mod {ii}"
    left = max(len(head), len(str(ii)))
    out = [
        f"{head:>{left}} │ {'issue':{_OPERATION + _TEXT + 1}} stage │ "
        + " ".join(f"{p:{width}}" for p in pipes)
    ]
    by_slot: dict[int, list[int]] = {}
    for n, t in enumerate(made.times):
        by_slot.setdefault(t % ii, []).append(n)
    held = _held(made)
    for slot in range(ii):
        placed = sorted(by_slot.get(slot, ()), key=made.times.__getitem__)
        rows: list[int | None] = [*placed]
        if not rows and any((p, slot) in held for p in pipes):
            rows = [None]
        for k, row in enumerate(rows):
            cells = [_cell(made, row, p, slot, held if not k else set()) for p in pipes]
            marks = " ".join(f"{c:{width}}" for c in cells).rstrip()
            at = str(slot) if not k else ""
            if row is None:
                out.append(f"{at:>{left}} │ {'':{_OPERATION + _TEXT + 7}} │ {marks}")
                continue
            op = found.operations[row]
            text = f"{op.family:{_OPERATION}} {_short(str(op.parent)):{_TEXT}}"
            out.append(f"{at:>{left}} │ {text} {made.times[row] // ii:5} │ {marks}".rstrip())
    return out


def _held(made: LoopSchedule) -> set[tuple[str, int]]:
    """(pipe, slot) in which an operation of an earlier slot is still busy."""
    held = set()
    for n, t in enumerate(made.times):
        for k in range(1, made.graph.interval[n] if made.pipe[n] else 0):
            held.add((made.pipe[n], (t + k) % made.ii))
    return held


def _cell(
    made: LoopSchedule, n: int | None, pipe: str, slot: int, held: set[tuple[str, int]]
) -> str:
    if n is not None and made.pipe[n] == pipe:
        return "██"
    return "▒▒" if (pipe, slot) in held else ""


def _short(text: str) -> str:
    text = " ".join(text.partition(" !loc ")[0].split())
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"


def _left_out(made: LoopSchedule) -> list[str]:
    """What was not looked for because of its size."""
    if made.effort != "quick":
        return []
    return [f"effort      for {len(made.graph.operations)} operations intervals are tried in "
            "growing steps, none between; fewer registers are not looked for"]


def _binding(made: LoopSchedule) -> list[str]:
    found = made.graph
    out = []
    cycle = made.recurrence
    if cycle is not None:
        out.append(
            f"recurrence  {recurrence_text(made.graph, cycle)}  latency {cycle.latency}, "
            f"distance {cycle.distance} → {made.rec_mii}"
        )
    busy = made.busy()
    name = None if made.resource is None else made.resource.resource
    if name == "issue":
        count = len(found.operations)
        out.append(f"critical    issue {count} of {made.ii} slots ({count / made.ii:.0%})")
    elif name is not None:
        names = name.split("+")
        units = sum(found.profile.pipes[p].units for p in names)
        used = sum(busy.get(p, 0) for p in names)
        of = made.ii * units
        out.append(f"critical    {name} {used} of {of} cycles ({used / of:.0%})")
    unroll, needed = made.lifetimes.min_unroll, made.registers_needed()
    best = needed == made.max_live
    proof = "no schedule has fewer" if best else f"at least {needed} are needed"
    out.append(
        f"registers   MaxLive {made.max_live} of the loop's own ({proof})"
        + (f"; the kernel unrolled {unroll} times" if unroll > 1 else "")
    )
    return out
