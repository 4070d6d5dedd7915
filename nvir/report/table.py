"""`nvir report` as text: a heading and a table of loops for each function.

Colour by rich, on a terminal only (and there not under NO_COLOR); a pipe gets plain columns, as
wide as COLUMNS says or PIPE_WIDTH. What does not fit is shortened with an ellipsis, never wrapped
into the next column; JSON has everything in full.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

from nvir.report.model import REACHABLE, FunctionReport, LoopReport, ModuleReport

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

PIPE_WIDTH = 120
NAME_WIDTH = 88  # of a function's name; mangled ones may have thousands of characters
SMALL = 72  # columns of output below which every cell has TIGHT characters at most
TIGHT = 11
WIDE = 118  # columns of output from which on everything but the reasons stands in the table


def make_console(colour: bool | None = None) -> Console:
    """The console of standard output; plain and wide where that is no terminal."""
    from rich.console import Console

    if colour is False or not Console().is_terminal:
        width = None if "COLUMNS" in os.environ else PIPE_WIDTH
        return Console(highlight=False, width=width, no_color=True, force_terminal=False)
    return Console(highlight=False)


def report_text(report: ModuleReport) -> str:
    """The report as plain text, without spaces at the ends of lines."""
    console = make_console(False)
    with console.capture() as captured:
        print_report(report, console)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def print_report(report: ModuleReport, console: Console | None = None) -> None:
    """Print the whole report."""
    from rich.markup import escape

    console = console or make_console()
    name = report.file.rsplit("/", 1)[-1]
    head = f"[bold]{escape(name)}[/] · {report.arch} · policy {report.policy}"
    if report.assembler is not None:
        head += f" · {report.assembler}"
    console.print(head, soft_wrap=True)
    for f in report.functions:
        _function(f, console)
    if not report.functions:
        console.print("no function has a body")
    notes = [d for d in report.diagnostics if d.severity != "error"]
    if notes:
        console.print()
    for d in notes:
        style = "yellow" if d.severity == "warning" else "dim"
        where = f"line {d.line}: " if d.line else ""
        console.print(f"[{style}]{d.severity}:[/] {where}{escape(d.message)}", soft_wrap=True)


def short(name: str, width: int = NAME_WIDTH) -> str:
    """A name with its middle left out where it is longer than `width`."""
    if len(name) <= width:
        return name
    head = (width - 1) * 2 // 3
    return f"{name[:head]}…{name[len(name) - (width - 1 - head) :]}"


def _function(f: FunctionReport, console: Console) -> None:
    from rich.markup import escape

    kind = "kernel" if f.kind == "entry" else "function"
    name = short(f.name, min(NAME_WIDTH, max(console.width - len(kind) - 1, 20)))
    console.print(f"\n{kind} [bold]{escape(name)}[/]", soft_wrap=True)
    for parts in (_registers(f), _residency(f)):
        if parts:
            console.print("  " + " · ".join(parts), soft_wrap=True, markup=False)
    if f.loops:
        console.print(_loops(f.loops, console.width))
    elif f.loops_known:
        console.print("  no loops", style="dim")


def _registers(f: FunctionReport) -> list[str]:
    """Size and registers, predicted and real."""
    parts = [f"{f.instructions} instructions"]
    if f.predicted is None:
        parts.append(f"{f.max_live} registers live")
    elif f.real is None:
        parts.append(f"{f.predicted} registers predicted, {f.max_live} live as written")
    else:
        real = f"{f.real.registers} registers"
        if f.real.registers != f.predicted:
            real += f" ({f.predicted} predicted)"
        if f.real.spills is not None:
            real += f", {f.real.spills} bytes spilled" if f.real.spills else ", no spills"
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
        by = f", limited by {o.limiter}" if o.limiter else ""
        more = f" ({o.one_more} would give {o.blocks_per_sm + 1})" if o.one_more else ""
        parts.append(f"{o.blocks_per_sm} blocks/SM of {f.block_size} threads{by}{more}")
    if f.static_smem:
        parts.append(f"{f.static_smem} bytes shared")
    return parts


def _loops(loops: tuple[LoopReport, ...], width: int) -> RenderableType:
    """The table of loops. On narrow output the reasons stand below it and depth is left to the
    indentation."""
    from rich.console import Group
    from rich.markup import escape
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    decided = any(x.unroll.reason != "pass not available" for x in loops)
    columns = [c for c in _COLUMNS if width >= c.from_width and (decided or not c.decision)]
    if not any(x.source for x in loops):
        columns = [c for c in columns if c.name != "source"]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for c in columns:
        table.add_column(
            c.name, justify="right" if c.number else "left", no_wrap=c.name != "why",
            overflow="fold", min_width=len(c.name),
        )
    for x in loops:
        table.add_row(*(escape(short(c.cell(x), c.most(width))) for c in columns))
    shown: list[RenderableType] = [Padding(table, (0, 0, 0, 2))]
    if decided and columns[-1].name != "why":
        for x in loops:
            if _why(x):
                shown.append(Text(f"  {short(x.header, 24)}: {_why(x)}", style="dim"))
    return Group(*shown)


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
        return self.narrow if width >= SMALL or self.name == "why" else min(self.narrow, TIGHT)


def _nested(x: LoopReport) -> str:
    return "  " * (x.depth - 2) + "└ " + x.header if x.depth > 1 else x.header


def _trip(x: LoopReport) -> str:
    return "unknown" if x.trip_count is None else str(x.trip_count)


def _ii(x: LoopReport) -> str:
    return f"{x.pipeline.ii:g}" if x.pipeline.ii is not None else "–"


def _unroll(x: LoopReport) -> str:
    u = x.unroll
    if u.action == "full":
        return "full"
    if u.action == "partial":
        return f"×{u.factor}"
    return f"none ({u.code.number})" if u.code else "–"


# Reasons that say nothing of one loop.
_SILENT = ("pass not available", REACHABLE)


def _why(x: LoopReport) -> str:
    reasons = [x.unroll.reason, x.pipeline.reason]
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
    _Column("II", _ii, number=True, decision=True),
    _Column("why", _why, 400, 400, from_width=140, decision=True),
)
