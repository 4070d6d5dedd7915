"""`nvir report` as text: a heading and a table of loops for each function.

Colour by rich, on a terminal only (and there not under NO_COLOR); a pipe gets plain columns, as
wide as COLUMNS says or PIPE_WIDTH. What does not fit is shortened with an ellipsis, never wrapped
into the next column; JSON has everything in full.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nvir.report.model import REACHABLE, FunctionReport, LoopReport, ModuleReport

if TYPE_CHECKING:
    from rich.console import Console
    from rich.padding import Padding

PIPE_WIDTH = 120
NAME_WIDTH = 88  # of a function's name; mangled ones may have thousands of characters
TRIP_WIDTH = 30


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
        console.print(_loops(f.loops))
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


def _loops(loops: tuple[LoopReport, ...]) -> Padding:
    from rich.markup import escape
    from rich.padding import Padding
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    sourced = any(x.source for x in loops)
    decided = any(x.unroll.reason != "pass not available" for x in loops)
    table.add_column("loop", no_wrap=True, overflow="ellipsis", min_width=8)
    table.add_column("line", justify="right", no_wrap=True)
    if sourced:
        table.add_column("source", no_wrap=True, overflow="ellipsis", min_width=8)
    table.add_column("depth", justify="right", no_wrap=True)
    table.add_column("trip", no_wrap=True, overflow="ellipsis", min_width=7, max_width=TRIP_WIDTH)
    for name in ("blocks", "body", "live"):
        table.add_column(name, justify="right", no_wrap=True)
    if decided:
        table.add_column("unroll", no_wrap=True)
        table.add_column("II", justify="right", no_wrap=True)
        table.add_column("why", overflow="fold", min_width=12)
    for x in loops:
        nest = "  " * (x.depth - 2) + "└ " if x.depth > 1 else ""
        row = [f"{nest}{escape(x.header)}", str(x.line or "–")]
        if sourced:
            row.append(escape(x.source or "–"))
        trip = x.trip_count
        row += [
            str(x.depth), escape(str(trip)) if trip is not None else "unknown", str(x.blocks),
            str(x.instructions), str(x.max_live),
        ]  # fmt: skip
        if decided:
            ii = f"{x.pipeline.ii:g}" if x.pipeline.ii is not None else "–"
            row += [_unroll(x), ii, escape(_why(x))]
        table.add_row(*row)
    return Padding(table, (0, 0, 0, 2))


def _unroll(x: LoopReport) -> str:
    u = x.unroll
    if u.action == "full":
        return "full"
    if u.action == "partial":
        return f"×{u.factor}"
    return f"none ({u.code})" if u.code else "–"


# Reasons that say nothing of one loop.
_SILENT = ("pass not available", REACHABLE)


def _why(x: LoopReport) -> str:
    reasons = [x.unroll.reason, x.pipeline.reason]
    return "; ".join(dict.fromkeys(r for r in reasons if r and r not in _SILENT))
