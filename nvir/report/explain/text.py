"""The page of `nvir explain` as plain text: a tree of what was decided, a table, who is live."""

from __future__ import annotations

import functools
import itertools
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from nvir.passes.knobs import Knobs
from nvir.report.explain.decisions import Decision
from nvir.report.explain.factors import WARPS as TABLE_WARPS
from nvir.report.explain.factors import FactorRow
from nvir.report.explain.loop import WARPS, Explanation, RealLoop, is_chosen, trip_text
from nvir.report.lines import LiveValue
from nvir.report.names import spoken
from nvir.report.source_loops import decision_text
from nvir.report.table import short
from nvir.sm.simulate.memory import MEMORY_LEVEL

if TYPE_CHECKING:
    from nvir.ir.text.trace import TraceEvent
    from nvir.passes.remarks import Remark
    from nvir.report.explain.noted import NotedFunction

WIDTH = 118
LABEL = 13  # columns of a row's name
REMARKS = 6  # of one pass that are shown
LIVE = 12  # values that are listed
_FIGURES = re.compile(r" \[[^\[\]]* = [^\[\]]*\]")  # the numbers that decided
_FRONT = "the front end: functions, calls, inline assembly"
_LOWERED = "lower-aggr-copies: copies of memory, structs"
_PHASES = {  # of a row's first letters
    "FN-": _FRONT, "CAL": _FRONT, "ASM": _FRONT, "MEM": _LOWERED, "STR": _LOWERED,
    "P18": "phase 18, OriLoopSimplification", "UNR": "phase 22, OriLoopUnrolling",
    "SWP": "phase 24, OriPipelining", "LAT": "phase 24, OriPipelining",
    "LIC": "phases 35, 66, 79 and 88, OriHoistInvariants, instances 0 to 3",
    "FUS": "phase 59, OriLoopFusion", "PRA": "behind register allocation, SoftwarePipeline",
}
_LABELS = {
    "unroll-decision": "unroll", "loop-unroll": "unroll", "licm": "hoist", "loop-peel": "peel",
    "loop-rotate": "rotate", "loop-simplify": "simplify", "hot-cold-in-loop": "order",
    "split-live-ranges": "split", "loop-pipeline": "pipeline", "loop-fuse": "fuse",
    "strength-reduce": "reduce", "gemm-pipeline": "tiles", "loop-version": "version",
    "loop-vectorize-memory": "vectors",
}


def explain_text(e: Explanation, width: int = WIDTH, verbose: bool = False) -> str:
    """The page, `width` columns wide at most where the names allow it; `verbose`: codes, the
    numbers that decided, and the knobs that would change a decision."""
    kind = "kernel" if e.kind == "entry" else "function"
    s = e.structure
    what = [
        *([e.source] if e.source else []), *([f"line {e.line}"] if e.line else []),
        f"depth {e.depth}", f"{s.blocks} block{'s' * (s.blocks > 1)}",
        f"{s.instructions} instructions",
    ]
    head = [
        f"{kind} {short(spoken(e.function))} · {e.profile} · policy {e.policy}",
        f"loop {e.header} ({', '.join(what)})",
    ]
    rows = [("structure", _structure(e), ""), ("trip count", _trip(e), "induction")]
    if e.source_loop.front_end:
        rows.append(("source", [e.source_loop.text()], ""))
    rows += [(_label(d), list(_decision(d, e, verbose)), _tag(d)) for d in _shown(e)]
    if e.code is not None:
        rows.append(("code", _code(e.code), "ptxas"))
    rows.append(("schedule", list(_schedule(e)), "modulo schedule"))
    if e.advice:
        rows.append(("advice", [a.text for a in e.advice], ""))
    told = {d.name for d in e.decisions if d.remarks or d.error}
    quiet = list(dict.fromkeys(d.name for d in e.decisions if d.name not in told))
    if quiet:
        rows.append(("no remark", [f"of {', '.join(quiet)}"], ""))
    if verbose and not e.varied:
        rows.append(("knobs", ["not varied"], ""))
    out = list(head)
    for name, lines, tag in rows:
        out += _row(name, lines, tag, width)
    out += _factors(e)
    out += _live(e, width)
    out += _compared(e, width)
    out += _trace(e.trace, width)
    return "\n".join(line.rstrip() for line in out) + "\n"


def noted_text(e: NotedFunction, width: int = WIDTH) -> str:
    """The trace of a function without a loop, `width` columns wide at most."""
    kind = "kernel" if e.kind == "entry" else "function"
    head = f"{kind} {short(spoken(e.function))} · {e.profile} · policy documented"
    return "\n".join([head, "no loop", *_trace(e.trace, width)]) + "\n"


def _row(name: str, lines: Iterable[str], tag: str, width: int) -> Iterator[str]:
    """A row of the tree: its name beside the first line, its tag at that line's end."""
    room = max(width - LABEL - 2, 30)
    first = True
    for text in lines:
        indent = "  " if text.startswith("--knob") else ""
        mark = f"  [{tag}]" if first and tag else ""
        kept = "\0" * len(mark)  # the first line leaves room for the tag at its end
        parts = textwrap.wrap(
            text, room - len(indent), break_on_hyphens=False, break_long_words=False,
            initial_indent=kept, subsequent_indent="  ",
        ) or [""]
        parts[0] = parts[0].lstrip("\0")
        for part in parts:
            lead = f"├ {name:{LABEL - 2}} " if first else f"│ {'':{LABEL - 2}} "
            line = f"{lead}{indent}{part}"
            yield f"{line:{width - len(mark)}}{mark}" if first and mark else line
            first = False


def _code(c: RealLoop) -> list[str]:
    per = f", {c.copies} iterations each" if c.copies > 1 else ""
    cycles = ", ".join(f"{n:.4g} with {w} warp{'s' * (w > 1)}" for w, n in c.cycles.items())
    return [
        f"{c.instructions} instructions{per}; at least {c.res_mii:.4g} cycles an iteration "
        f"({c.bottleneck or 'issue'}); simulated {cycles} (loads from {MEMORY_LEVEL.upper()})"
    ]


def _structure(e: Explanation) -> list[str]:
    s = e.structure
    parts = [f"latch {', '.join(s.latches)}"]
    parts.append(f"preheader {s.preheader}" if s.preheader else "no preheader")
    parts.append(f"{len(s.exits)} exit{'s' * (len(s.exits) != 1)}")
    if s.parent:
        parts.append(f"in loop {s.parent}")
    parts.append(f"around {', '.join(s.children)}" if s.children else "innermost")
    mix = ", ".join(f"{n} {name}" for name, n in s.operations[:8])
    more = len(s.operations) - 8
    return ["; ".join(parts), mix + (f" and {more} others" if more > 0 else "")]


def _trip(e: Explanation) -> list[str]:
    others = [v for v in e.variables if e.trip is None or not _is(v, e)]
    text = [trip_text(e.trip, e.variables)]
    if others:
        text.append(f"also: {'; '.join(others)}" if e.trip else f"variables: {'; '.join(others)}")
    return text


def _is(variable: str, e: Explanation) -> bool:
    return e.trip is not None and variable.startswith(f"{e.trip.variable.phi.name or '?'} (")


# ----------------------------------------------------------------- decisions


def _shown(e: Explanation) -> Iterator[Decision]:
    """The decisions that are told: of unrolling the policy's, of equal ones the first."""
    seen: set[tuple[str, ...]] = set()
    for d in e.decisions:
        if d.name == "unroll-decision" and e.policy != "observed":
            continue
        if d.name == "loop-unroll" and e.policy == "observed" and _agrees(d, e):
            continue
        said = (d.name, *(r.message for r in d.remarks))
        if (d.remarks or d.error) and said not in seen:
            seen.add(said)
            yield d


def _agrees(d: Decision, e: Explanation) -> bool:
    """Whether nvir's own unroller does what the assembler does; if a knob of it is set, exactly."""
    unset = Knobs()
    if all(value == unset.get(name) for name, value in d.read.items()):
        return d.changed == (e.unroll.action != "none")
    factors = {r.args["factor"] for r in d.remarks if "factor" in r.args}
    return d.changed == (e.unroll.action != "none") and factors <= {e.unroll.factor}


def _label(d: Decision) -> str:
    return _LABELS.get(d.name, d.name)


@functools.cache
def _standard() -> frozenset[str]:
    """The passes that run unasked: those of the preset `loops`."""
    from nvir.passes.presets_loops import loops

    return frozenset(step.partition("<")[0] for step in loops().split(","))


def _tag(d: Decision) -> str:
    if d.name == "unroll-decision":
        return "phase 22"
    if d.name not in _standard():
        return "not run"
    numbers = ", ".join(map(str, d.phases))
    return f"phase {numbers}" if numbers else d.label


def _decision(d: Decision, e: Explanation, verbose: bool) -> Iterator[str]:
    lines = _told(d, e, verbose)
    if d.name != "unroll-decision" and d.name not in _standard() and d.changed:
        yield f"if it were run: {next(lines)}"
    yield from lines


def _told(d: Decision, e: Explanation, verbose: bool) -> Iterator[str]:
    if d.error:
        yield d.error
    if not verbose and d.name == "unroll-decision":
        marks = e.source_loop.front_end and e.source_loop.compiler
        yield decision_text(e.unroll, marks, e.policy)
        return
    told = dict.fromkeys(
        _FIGURES.sub("", r.message) if not verbose
        else f"code {r.code.number}: {r.message}" if r.code.number else r.message
        for r in (_verdicts(d) if d.changed else d.remarks)
    )
    shown = list(told)
    yield from shown[:REMARKS]
    if len(shown) > REMARKS:
        yield f"… {len(shown) - REMARKS} more"
    for c in d.changes if verbose else ():
        yield f"--knob {c.knob}={_value(c.to)} (now {_value(c.value)}): {c.becomes}"
    if verbose and d.untried:
        yield f"--knob not tried in so large a function: {', '.join(d.untried)}"


def _verdicts(d: Decision) -> list[Remark]:
    """Without the facts that a pass found on its way to doing something."""
    return [r for r in d.remarks if r.kind != "analysis"]


def _value(v: object) -> str:
    if isinstance(v, bool):
        return "true" if v else "false"
    return "unset" if v is None else f"{v:g}" if isinstance(v, float) else str(v)


# ------------------------------------------------------------------ schedule


def _schedule(e: Explanation) -> Iterator[str]:
    p = e.pipeline
    if p.mii is None:
        yield f"none: {p.reason}"
        return
    through = f" through {p.recurrence}" if p.recurrence else ""
    by = f", bound by {p.bottleneck}" if p.bottleneck else ""
    if p.ii is None:
        yield f"MII {p.mii:g} (RecMII {p.rec_mii:g}; ResMII {p.res_mii:g}){by}; {p.reason}"
        return
    least = " = MII" if p.ii == p.mii else f", MII {p.mii:g}"
    yield f"II {p.ii:g}{least} (RecMII {p.rec_mii:g}{through}; ResMII {p.res_mii:g}){by}"
    gain = ""
    if e.pipelined is not None:
        before, after = e.pipelined
        gain = f", {before:.1f} → {after:.1f} cycles/iteration at {WARPS} warps"
    yield f"{p.stages} stage{'s' * (p.stages != 1)}{gain}; {p.reason}"


# --------------------------------------------------------------------- table


def _factors(e: Explanation) -> list[str]:
    names = ["factor", "instructions", "II", "registers", "blocks/SM"]
    names += [f"{w} warp{'s' * (w > 1)}" for w in TABLE_WARPS]
    rows = [names, *(_cells(r) for r in e.factors)]
    widths = [max(len(r[k]) for r in rows) for k in range(len(names))]
    out = []
    for k, cells in enumerate(rows):
        row = e.factors[k - 1] if k else None
        lead = "└ " if not k else "→ " if row is not None and is_chosen(row, e.unroll) else "  "
        text = "  ".join(f"{c:>{w}}" for c, w in zip(cells, widths, strict=True))
        note = f"   {row.note}" if row is not None and row.note else ""
        out.append(f"{lead}{text}{note}")
    warps = " and ".join(map(str, TABLE_WARPS))
    beside = " beside ptxas's code (→)" if e.code is not None else ""
    out += [f"  by the model{beside}; II, warps: cycles an iteration of the loop as written, by",
            "  a modulo schedule (≥: at least) and as simulated with "
            f"{warps} warps on a sub-partition"]
    return out


def _cells(r: FactorRow) -> list[str]:
    def show(v: float | None, form: str = "g") -> str:
        return "–" if v is None else f"{v:{form}}"

    return [
        "full" if r.factor is None else str(r.factor), show(r.instructions),
        "≥" * r.at_least + show(r.ii, ".4g"), show(r.registers), show(r.blocks_per_sm),
        *(show(r.cycles.get(w), ".1f") for w in TABLE_WARPS),
    ]


# ---------------------------------------------------------------------- live


def _live(e: Explanation, width: int) -> Iterator[str]:
    if e.peak is None:
        return
    p = e.peak
    where = ", ".join(x for x in (f"line {p.line}" if p.line else "", p.source or "") if x)
    yield ""
    yield (f"live at the loop's peak ({where + ', ' if where else ''}{p.registers} live; "
           f"{e.registers} registers in all)")
    groups = _alike(p.values)
    column = min(max((len(_names(g)) for g in groups[:LIVE]), default=0), 24)
    yield f"  {'':<{column}}  {'':<5} defined  why"
    for group in groups[:LIVE]:
        v = group[0]
        held = sum(x.registers for x in group)
        count = f"{len(group)} values, " if len(group) > 1 else ""
        size = f" ({count}{held} registers)" if held > 1 else ""
        at = v.defined or "–"
        text = f"  {_names(group):<{column}}  {v.type:<5} {at:>7}  {v.why}{size}"
        yield text if len(text) <= width else f"{text[: width - 1]}…"
    if len(groups) > LIVE:
        left = groups[LIVE:]
        more, held = sum(map(len, left)), sum(v.registers for g in left for v in g)
        yield f"  … {more} more in {held} register{'s' * (held != 1)}"


def _alike(values: Iterable[LiveValue]) -> list[list[LiveValue]]:
    """Values of one type, held for one reason and defined in one place, as a group; the groups
    in the order of their first values."""
    groups: dict[object, list[LiveValue]] = {}
    for v in values:
        groups.setdefault((v.type, v.why, v.defined), []).append(v)
    return [sorted(g, key=_natural) for g in groups.values()]


def _natural(v: LiveValue) -> tuple[tuple[str, int], ...]:
    """Key that puts %f9 before %f10."""
    return tuple((a, int(n or 0)) for a, n in re.findall(r"(\D+)(\d*)", v.name))


def _names(group: list[LiveValue]) -> str:
    first, last = group[0].name, group[-1].name
    return first if len(group) == 1 else f"{first} {'…' if len(group) > 2 else 'and'} {last}"


# --------------------------------------------------------------- noted steps


def _compared(e: Explanation, width: int) -> Iterator[str]:
    if e.compared:
        yield ""
        yield "as noted, as observed, and as the installed ptxas did"
    for c in e.compared:
        for k, (who, text) in enumerate((
            ("noted", c.noted), ("observed", c.observed), ("ptxas", c.ptxas or "not to be seen")
        )):
            yield from textwrap.wrap(f"{'' if k else c.what:<11} {who:<9} {text}", width,
                                     initial_indent="  ", subsequent_indent=" " * 24)


def _trace(events: Sequence[TraceEvent], width: int) -> Iterator[str]:
    """The steps in their order under their phases; of equal ones that follow each other the first,
    with their number."""
    if events:
        yield ""
        yield "trace of the noted steps: row, step (inputs): outcome"
    phase = ""
    for text, same in itertools.groupby(_event(event) for event in events):
        row = text.split()[0]  # phase 24 asks steps of phase 22, too, which begins with its guard
        title = phase if row[:3] == "UNR" and row != "UNR-01" else _PHASES.get(row[:3], phase)
        if title != phase:
            yield f"  {title}"
        phase, times = title, sum(1 for _ in same)
        yield from textwrap.wrap(
            f"{text}  ×{times}" if times > 1 else text, width, initial_indent=" " * 4,
            subsequent_indent=" " * 14, break_long_words=False, break_on_hyphens=False)


def _event(event: TraceEvent) -> str:
    return f"{event.row:<7} {str(event)[len(event.row) + 1:]}"
