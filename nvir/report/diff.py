"""Two versions of a module compared, for people and for CI.

Kernels are matched by name. Compared are what a change in a compiler, a flag or a source moves:
registers, live registers, instructions, shared memory, occupancy, and of each loop body, trip count
and unrolling. Loops are matched by their label and depth where the source line agrees or is not
known, then by source line and depth; those that are left in their order, as labels are numbered
anew by every compilation. A threshold says how much worse a figure may get:

    registers=+2        at most 2 more          registers=+5%     at most 5 % more
    occupancy=0         no warp fewer           missing=0         no kernel gone

Source   The wish of projects that pin register counts in CI (quokka#765, imp#1549).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from nvir.ir.errors import NvirError
from nvir.report.findings import annotation
from nvir.report.model import FunctionReport, LoopReport, ModuleReport
from nvir.report.names import spoken

SCHEMA = "nvir.diff/1"


@attrs.frozen
class Metric:
    """A figure of a function. `worse` is +1 where more is worse, -1 where less is; `zero`: a new
    function is held to a baseline of 0."""

    name: str
    worse: int
    text: str
    zero: bool = False


METRICS = (
    Metric("registers", +1, "registers predicted"),
    Metric("max_live", +1, "registers live"),
    Metric("instructions", +1, "instructions"),
    Metric("loops", +1, "loops"),
    Metric("shared", +1, "bytes of shared memory"),
    Metric("occupancy", -1, "warps an SM"),
    Metric("spills", +1, "bytes of spill stores and loads", zero=True),
    Metric("stack", +1, "bytes of stack", zero=True),
)
MISSING = "missing"
DEFAULT = "registers=+2,occupancy=0,missing=0"


@attrs.frozen
class Threshold:
    """How much worse a metric may get: by `amount`, or by `amount` percent of the old value."""

    metric: str
    amount: float
    percent: bool

    def allows(self, before: float, after: float, worse: int) -> bool:
        limit = abs(before) * self.amount / 100 if self.percent else self.amount
        return (after - before) * worse <= limit

    def __str__(self) -> str:
        return f"{self.metric}=+{self.amount:g}{'%' if self.percent else ''}"


_THRESHOLD = re.compile(r"([a-z_]+)=\+?(\d+(?:\.\d+)?)(%?)")


def parse_thresholds(text: str) -> tuple[Threshold, ...]:
    """The thresholds of "registers=+2,instructions=+5%", or of lines of such, `#` before remarks;
    "" gives none. Raises NvirError."""
    known = [m.name for m in METRICS] + [MISSING]
    out = []
    text = re.sub(r"#.*", "", text)
    for part in filter(None, (p.strip() for p in re.split(r"[,\n]", text))):
        found = _THRESHOLD.fullmatch(part)
        if found is None:
            raise NvirError(f"{part!r} is no threshold; write registers=+2 or instructions=+5%")
        if found[1] not in known:
            raise NvirError(f"no figure is called {found[1]!r}; there are: {', '.join(known)}")
        if found[1] == MISSING and found[2] + found[3] != "0":
            raise NvirError(f"{part!r}: {MISSING} is 0, or not given where kernels may go")
        out.append(Threshold(found[1], float(found[2]), bool(found[3])))
    return tuple(out)


@attrs.frozen
class DiffChange:
    """One figure of one kernel before and after. `crossed` is the threshold it is beyond."""

    metric: str
    before: float | str | None
    after: float | str | None
    crossed: str | None = None


@attrs.frozen
class FunctionDiff:
    """status "changed", "same", "added" or "removed"; `loops` are changes of single loops."""

    name: str
    kind: str
    status: str
    changes: tuple[DiffChange, ...]
    loops: tuple[tuple[str, tuple[DiffChange, ...]], ...] = ()
    crossed: str | None = None  # of a function that is gone
    line: int | None = None  # of it in the second file

    @property
    def crossings(self) -> list[str]:
        """What is beyond a threshold, one line each."""
        gone = ["is missing"] if self.crossed is not None else []
        worse = [f"{c.metric} {_show(c.before)} → {_show(c.after)}, allowed {c.crossed}"
                 for c in self.changes if c.crossed is not None]
        return [f"{spoken(self.name)}: {x}" for x in (*gone, *worse)]


@attrs.frozen
class Diff:
    before: ModuleReport
    after: ModuleReport
    thresholds: tuple[Threshold, ...]
    functions: tuple[FunctionDiff, ...]

    @property
    def crossings(self) -> list[str]:
        """What is beyond a threshold, one line each."""
        return [x for f in self.functions for x in f.crossings]

    def to_json(self) -> dict[str, Any]:
        """The document of schema `nvir.diff/1`."""
        return {
            "schema": SCHEMA,
            "source": "model" if self.after.assembler is None else "ptxas",
            "before": {"file": self.before.file, "arch": self.before.arch},
            "after": {"file": self.after.file, "arch": self.after.arch},
            "thresholds": [str(t) for t in self.thresholds],
            "functions": [
                {
                    "name": f.name, "kind": f.kind, "status": f.status,
                    "changes": [attrs.asdict(c) for c in f.changes],
                    "loops": [
                        {"header": h, "changes": [attrs.asdict(c) for c in cs]}
                        for h, cs in f.loops
                    ],
                }
                for f in self.functions
            ],
            "crossings": self.crossings,
        }


def compare(
    before: ModuleReport, after: ModuleReport, thresholds: tuple[Threshold, ...] = ()
) -> Diff:
    """The differences of two reports, functions in the order of the first, added ones behind."""
    limits = {t.metric: t for t in thresholds}
    new = {f.name: f for f in after.functions}
    old = {f.name for f in before.functions}
    out = []
    for f in before.functions:
        other = new.get(f.name)
        if other is None:
            gone = str(limits[MISSING]) if MISSING in limits and f.kind == "entry" else None
            out.append(FunctionDiff(f.name, f.kind, "removed", (), (), gone))
        else:
            out.append(_function(f, other, limits))
    out += [_added(f, limits) for f in after.functions if f.name not in old]
    return Diff(before, after, thresholds, tuple(out))


def figures(f: FunctionReport) -> dict[str, float | None]:
    """The metrics of a function; registers are ptxas' own where it was asked."""
    return {
        "registers": f.real.registers if f.real is not None else f.predicted,
        "max_live": f.max_live,
        "instructions": f.instructions,
        "loops": len(f.loops),
        "shared": f.static_smem,
        "occupancy": f.occupancy.warps_per_sm if f.occupancy is not None else None,
        "spills": f.real.spills if f.real is not None else None,
        "stack": f.real.stack if f.real is not None else None,
    }


def _added(f: FunctionReport, limits: dict[str, Threshold]) -> FunctionDiff:
    """A new function: its figures, and which of those that should be 0 are not."""
    changes = []
    for m in METRICS:
        value, limit = figures(f)[m.name], limits.get(m.name)
        crossed = value and m.zero and limit is not None and not limit.allows(0, value, m.worse)
        if value is not None:
            changes.append(DiffChange(
                m.name, 0 if m.zero else None, value, str(limit) if crossed else None))
    return FunctionDiff(f.name, f.kind, "added", tuple(changes), line=f.line)


def _function(a: FunctionReport, b: FunctionReport, limits: dict[str, Threshold]) -> FunctionDiff:
    old, new = figures(a), figures(b)
    changes = []
    for m in METRICS:
        x, y = old[m.name], new[m.name]
        if x == y:
            continue
        limit = limits.get(m.name)
        crossed = None
        if limit is not None and x is not None and y is not None:
            crossed = None if limit.allows(x, y, m.worse) else str(limit)
        changes.append(DiffChange(m.name, x, y, crossed))
    loops = []
    for one, other in matched(a.loops, b.loops):
        found = _loop(one, other)
        if found:
            loops.append((other.header, found))
    status = "changed" if changes or loops else "same"
    return FunctionDiff(a.name, a.kind, status, tuple(changes), tuple(loops), line=b.line)


def matched(
    before: Sequence[LoopReport], after: Sequence[LoopReport]
) -> list[tuple[LoopReport, LoopReport]]:
    """The loops that are one loop in two versions of a function, in the order of the second."""
    left = list(range(len(before)))
    free = list(range(len(after)))
    pairs: list[tuple[int, int]] = []
    rules: tuple[Callable[[LoopReport, LoopReport], bool], ...] = (
        lambda x, y: (x.header, x.depth, x.source) == (y.header, y.depth, y.source),
        lambda x, y: x.source is not None and (x.source, x.depth) == (y.source, y.depth),
        lambda x, y: (x.source is None or y.source is None)
        and (x.header, x.depth) == (y.header, y.depth),
        lambda x, y: True,
    )
    for same in rules:
        for k in list(left):
            found = next((n for n in free if same(before[k], after[n])), None)
            if found is not None:
                pairs.append((found, k))
                left.remove(k)
                free.remove(found)
    return [(before[k], after[n]) for n, k in sorted(pairs)]


def _loop(a: LoopReport, b: LoopReport) -> tuple[DiffChange, ...]:
    def facts(x: LoopReport) -> dict[str, float | str | None]:
        factor = f"×{x.unroll.factor}" if x.unroll.factor else ""
        unroll = x.unroll.action if x.unroll.action != "partial" else factor
        return {
            "depth": x.depth, "body": x.instructions, "trip": x.trip_count,
            "max_live": x.max_live, "unroll": unroll, "ii": x.pipeline.ii,
        }

    old, new = facts(a), facts(b)
    return tuple(DiffChange(k, old[k], new[k]) for k in old if old[k] != new[k])


def diff_text(diff: Diff) -> str:
    """The comparison as plain text."""
    from nvir.report.table import short

    a, b = diff.before, diff.after
    archs = a.arch if a.arch == b.arch else f"{a.arch} → {b.arch}"
    made_by = "predicted; --ptxas asks the assembler" if b.assembler is None else b.assembler
    lines = [f"{_file(a) or 'nothing'} → {_file(b)} · {archs} · {made_by}", ""]
    same = 0
    for f in diff.functions:
        kind = "kernel" if f.kind == "entry" else "function"
        if f.status == "same":
            same += 1
            continue
        mark = "  !" if f.crossed else ""
        status = "" if f.status == "changed" else f"   {f.status}{mark}"
        lines.append(f"{kind} {short(spoken(f.name))}{status}")
        for c in f.changes:
            lines.append(f"  {c.metric:<14}{_change(c)}")
        for header, changes in f.loops:
            told = ", ".join(f"{c.metric} {_show(c.before)} → {_show(c.after)}" for c in changes)
            lines.append(f"  loop {header:<20} {told}")
    if same:
        lines.append(f"{same} function{'s' if same > 1 else ''} without a difference")
    crossings = diff.crossings
    if crossings:
        lines += ["", f"{len(crossings)} beyond a threshold:"]
        lines += [f"  {c}" for c in crossings]
    return "\n".join(lines) + "\n"


def diff_junit(diffs: Sequence[Diff], lost: Sequence[str] = ()) -> str:
    """JUnit: a case for each kernel, which fails where it is beyond a threshold, and for each file
    that is missing."""
    from xml.sax.saxutils import quoteattr

    cases, failed = [], 0
    for d in diffs:
        for f in d.functions:
            failed += bool(f.crossings)
            inside = "".join(f"<failure message={quoteattr(c)}/>" for c in f.crossings)
            name, file = quoteattr(spoken(f.name)), quoteattr(d.after.file)
            cases.append(f"  <testcase classname={file} name={name}>{inside}</testcase>\n")
    for file in lost:
        failed += 1
        cases.append(f"  <testcase classname={quoteattr(file)} name={quoteattr(file)}>"
                     '<failure message="is missing"/></testcase>\n')
    head = f'<testsuite name="{_title(diffs)}" tests="{len(cases)}" failures="{failed}">'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}\n{"".join(cases)}</testsuite>\n'


def diff_github(diffs: Sequence[Diff], lost: Sequence[str] = ()) -> str:
    """A workflow command for each figure beyond a threshold and each file that is missing."""
    title = _title(diffs)
    return "".join(
        annotation("error", c, file=d.after.file, **({"line": f.line} if f.line else {}),
                   title=title)
        for d in diffs for f in d.functions for c in f.crossings
    ) + "".join(annotation("error", "is missing", file=x, title=title) for x in lost)


def _title(diffs: Sequence[Diff]) -> str:
    real = any(d.after.assembler is not None for d in diffs)
    return "nvir diff" if real else "nvir diff of predictions"


def _file(report: ModuleReport) -> str:
    return report.file.rsplit("/", 1)[-1]


def _show(v: float | str | None) -> str:
    return "unknown" if v is None else f"{v:g}" if isinstance(v, float) else str(v)


def _change(c: DiffChange) -> str:
    if c.before is None:
        return f"{_show(c.after):>8}"
    text = f"{_show(c.before):>8} → {_show(c.after):<8}"
    if isinstance(c.before, int | float) and isinstance(c.after, int | float):
        delta = c.after - c.before
        text += f" {delta:+g}"
        if c.before:
            text += f" ({delta / c.before:+.0%})"
    if c.crossed is not None:
        text += f"   ! allowed {c.crossed}"
    return text.rstrip()
