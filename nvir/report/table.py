"""`nvir report` as text: a heading and a table of loops for each function.

Made as lines with a style each; the styles are seen on a terminal only (and there not under
NO_COLOR). A pipe gets plain lines, as wide as COLUMNS says, within bounds, or PIPE_WIDTH. What does
not fit is shortened with an ellipsis, never wrapped into the next column; JSON has everything in
full.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

import attrs

from nvir.report.model import (
    NOT_SCHEDULED,
    REACHABLE,
    FunctionReport,
    LoopReport,
    ModuleReport,
)
from nvir.report.names import spoken
from nvir.sm.occupancy import blocks_text, bound_text

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 120
NARROWEST, WIDEST = 40, 1000  # columns of output that are believed
CUDA = (".cu", ".cuh")  # sources that more than one compiler makes PTX of
NAME_WIDTH = 88  # of a function's name; mangled ones may have thousands of characters
SMALL = 72  # columns of output below which every cell has TIGHT characters at most
TIGHT = 11
WIDE = 118  # columns of output from which on everything but the reasons stands in the table

Line = tuple[str, str]  # a line of output and its style as rich has it, "" for none


def terminal() -> Console:
    """The console of standard output, which is a terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    console.width = _bounded(console.width)
    return console


def _pipe_width() -> int:
    given = os.environ.get("COLUMNS", "")
    return _bounded(int(given[:9])) if given.isascii() and given.isdigit() else PIPE_WIDTH


def _bounded(width: int) -> int:
    """The columns of a terminal, whatever it or COLUMNS says."""
    return min(max(width, NARROWEST), WIDEST)


def print_lines(lines: Iterable[Line], console: Console) -> None:
    """Print lines on a terminal in their styles."""
    for line, style in lines:
        console.print(line, style=style or None, markup=False, emoji=False, soft_wrap=True)


def plain(lines: Iterable[Line]) -> str:
    """Lines as text, without spaces at their ends."""
    return "".join(f"{line.rstrip()}\n" for line, _ in lines)


def columns(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> list[str]:
    """Rows of cells as lines: cells of a column are as wide as its widest, two spaces apart;
    those of a column in `right` stand right."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    form = "  ".join(
        f"{{:{'>' if r else '<'}{w}}}" for r, w in zip(right, widths, strict=True)
    )
    return [form.format(*row).rstrip() for row in rows]


def report_text(report: ModuleReport, verbose: bool = False) -> str:
    """The report as plain text."""
    return plain(report_lines(report, _pipe_width(), verbose))


def report_lines(report: ModuleReport, width: int, verbose: bool = False) -> Iterator[Line]:
    """The whole report, in so many columns; `verbose`: codes and numbers of decisions as well."""
    head = f"{report.file.rsplit('/', 1)[-1]} · {report.arch} · policy {report.policy}"
    if report.front_end and report.file.endswith(CUDA):
        head += f" · compiled by {report.front_end}"
    if report.assembler is not None:
        head += f" · {report.assembler}"
    yield head, "bold"
    for f in report.functions:
        yield "", ""
        yield from _function(f, width, verbose)
    if not report.functions:
        yield "no function has a body", ""
    notes = [d for d in report.diagnostics if d.severity != "error"]
    if notes:
        yield "", ""
    for d in notes:
        where = f"line {d.line}: " if d.line else ""
        yield f"{d.severity}: {where}{d.message}", "yellow" if d.severity == "warning" else "dim"


def short(name: str, width: int = NAME_WIDTH) -> str:
    """A name with its middle left out where it is longer than `width`."""
    if len(name) <= width:
        return name
    head = (width - 1) * 2 // 3
    return f"{name[:head]}…{name[len(name) - (width - 1 - head) :]}"


def _function(f: FunctionReport, width: int, verbose: bool) -> Iterator[Line]:
    kind = "kernel" if f.kind == "entry" else "function"
    yield f"{kind} {short(spoken(f.name), min(NAME_WIDTH, max(width - len(kind) - 1, 20)))}", "bold"
    for parts in (_registers(f), _residency(f)):
        if parts:
            yield "  " + " · ".join(parts), ""
    if f.loops:
        yield from _loops(f.loops, width, verbose)
    elif f.loops_known:
        yield "  no loops", "dim"
    for told in f.source_loops:
        yield from _wrapped(told.text(), width)
    for a in f.advice:
        yield from _wrapped(f"advice: {a.text}", width)


def _wrapped(text: str, width: int) -> Iterator[Line]:
    """A sentence below a function's heading, further lines indented."""
    for line in wrap(text, width - 2, initial_indent="  ", subsequent_indent="    ",
                     break_on_hyphens=False, break_long_words=False):
        yield line, ""


def _registers(f: FunctionReport) -> list[str]:
    """Size and registers, predicted and real."""
    parts = [f"{f.instructions} instructions"]
    if f.predicted is None:
        parts.append(f"{f.max_live} registers live")
    elif f.real is None:
        low, high = f.interval if f.interval is not None else (f.predicted, f.predicted)
        span = f" ({low} to {high})" if low != high else ""
        parts.append(f"{f.predicted} registers predicted{span}, {f.max_live} live as written")
    else:
        real = f"{f.real.registers} registers"
        if f.real.registers != f.predicted:
            real += f" ({f.predicted} predicted)"
        if f.real.spills is not None:
            real += f", {f.real.spilled}"
        parts.append(real)
    if f.peak_line:
        source = f", {f.peak_source}" if f.peak_source else ""
        parts.append(f"peak at line {f.peak_line}{source}")
    return parts


def _residency(f: FunctionReport) -> list[str]:
    """Blocks on an SM, what limits them, shared memory."""
    parts = []
    o = f.occupancy
    if o is not None:
        by = bound_text(o.warps_per_sm, o.fraction, o.limiter)
        more = f" ({o.one_more} would give {blocks_text(o.more_blocks)})" if o.one_more else ""
        parts.append(f"{blocks_text(o.blocks_per_sm)} of {f.block_size} threads: {by}{more}")
    if f.static_smem:
        parts.append(f"{f.static_smem} bytes shared")
    return parts


def _loops(loops: tuple[LoopReport, ...], width: int, verbose: bool) -> Iterator[Line]:
    """The table of loops. On narrow output what schedules say of them stands below it and depth is
    left to the indentation; `verbose`: the numbers that decided on each as well."""
    decided = any(x.unroll.reason != "pass not available" for x in loops)
    cells = [c for c in _COLUMNS if width >= c.from_width and (decided or not c.decision)]
    if not any(x.source for x in loops):
        cells = [c for c in cells if c.name != "source"]
    rows = [[c.name for c in cells]]
    rows += ([short(c.cell(x), c.most(width)) for c in cells] for x in loops)
    lines = [f"  {line}" for line in columns(rows, [c.number for c in cells])]
    yield lines[0], "dim"
    yield from ((line, "") for line in lines[1:])
    for x in loops if decided else ():
        why = _why(x, verbose)
        text = f"  {short(x.header, 24)}: {why}" if why else ""
        yield from ((line, "dim") for line in wrap(text, width, break_on_hyphens=False))


@attrs.frozen
class _Column:
    """A column: the most characters of a cell on narrow and on wide output, and from which width
    of output on it is shown."""

    name: str
    cell: Callable[[LoopReport], str]
    narrow: int = 9
    wide: int = 9
    number: bool = False
    from_width: int = 0
    decision: bool = False

    def most(self, width: int) -> int:
        """The most characters of a cell on output of this width."""
        if width >= WIDE:
            return self.wide
        return self.narrow if width >= SMALL else min(self.narrow, TIGHT)


def _nested(x: LoopReport) -> str:
    return "  " * (x.depth - 2) + "└ " + x.header if x.depth > 1 else x.header


def _trip(x: LoopReport) -> str:
    return "unknown" if x.trip_count is None else str(x.trip_count)


def initiation_interval(x: LoopReport) -> str:
    """The interval of the schedule, at least its bound where none was made."""
    p = x.pipeline
    if p.ii is not None:
        return f"{p.ii:g}"
    return f"≥{p.mii:g}" if p.mii is not None else "–"


def _unroll(x: LoopReport) -> str:
    u = x.unroll
    if u.action == "full":
        return "full"
    if u.action == "partial":
        return f"×{u.factor}"
    return "none" if u.code else "–"


# Reasons that say nothing of one loop.
_SILENT = ("pass not available", REACHABLE, NOT_SCHEDULED)


def _why(x: LoopReport, verbose: bool) -> str:
    """What its schedule says of a loop; `verbose`: the code and the numbers of the decision too."""
    u = x.unroll
    code = f"code {u.code.number}" if u.code else ""
    reasons = [code, u.reason, x.pipeline.reason] if verbose else []
    return "; ".join(dict.fromkeys(r for r in reasons if r and r not in _SILENT))


_COLUMNS = (
    _Column("loop", _nested, 18, 32),
    _Column("line", lambda x: str(x.line or "–"), number=True),
    _Column("source", lambda x: x.source or "–", 16, 28, from_width=92),
    _Column("depth", lambda x: str(x.depth), number=True, from_width=WIDE),
    _Column("trip", _trip, 18, 32),
    _Column("blocks", lambda x: str(x.blocks), number=True, from_width=WIDE),
    _Column("body", lambda x: str(x.instructions), number=True),
    _Column("live", lambda x: str(x.max_live), number=True),
    _Column("unroll", _unroll, 12, 12, decision=True),
    _Column("II", initiation_interval, number=True, decision=True),
)
