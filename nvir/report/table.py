"""`nvir report` as text: a heading and a table of loops for each function.

Colour and box drawing by rich, on a terminal only; a pipe gets plain columns of
the terminal's or 110 columns' width.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from nvir.report.model import FunctionReport, LoopReport, ModuleReport

if TYPE_CHECKING:
    from rich.console import Console

MIN_WIDTH = 100
PIPE_WIDTH = 120


def make_console(colour: bool | None = None) -> Console:
    """The console of standard output; plain and wide where that is no terminal."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False, no_color=colour is False or None)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(highlight=False, width=PIPE_WIDTH, no_color=True)
    return console


def print_report(report: ModuleReport, console: Console | None = None) -> None:
    """Print the whole report."""
    from rich.markup import escape

    console = console or make_console()
    name = report.file.rsplit("/", 1)[-1]
    console.print(f"[bold]{escape(name)}[/] · {report.arch} · policy {report.policy}")
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
        console.print(f"[{style}]{d.severity}:[/] {where}{escape(d.message)}")


def _function(f: FunctionReport, console: Console) -> None:
    from rich.markup import escape

    console.print()
    kind = "kernel" if f.kind == "entry" else "function"
    peak = f" (peak at line {f.peak_line})" if f.peak_line else ""
    parts = [f"{f.instructions} instructions"]
    if f.predicted is not None:
        parts.append(f"{f.predicted} registers predicted, {f.max_live} live{peak}")
    else:
        parts.append(f"{f.max_live} registers live{peak}")
    o = f.occupancy
    if o is not None:
        by = f", limited by {o.limiter}" if o.limiter else ""
        more = f" ({o.one_more} would give {o.blocks_per_sm + 1})" if o.one_more else ""
        parts.append(f"{o.blocks_per_sm} blocks/SM of {f.block_size} threads{by}{more}")
    if f.static_smem:
        parts.append(f"{f.static_smem} bytes shared")
    console.print(f"{kind} [bold]{escape(f.name)}[/]   " + " · ".join(parts), soft_wrap=True)
    if f.loops:
        console.print(_loops(f.loops))
    else:
        console.print("  no loops", style="dim")


def _loops(loops: tuple[LoopReport, ...]) -> object:
    from rich.markup import escape
    from rich.padding import Padding
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("loop", no_wrap=True)
    table.add_column("line", justify="right")
    if any(x.source for x in loops):
        table.add_column("source", no_wrap=True)
    for name in ("depth", "trip", "blocks", "body", "live"):
        table.add_column(name, justify="left" if name == "trip" else "right")
    decided = any(x.unroll.reason != "pass not available" for x in loops)
    if decided:
        table.add_column("unroll", no_wrap=True)
        table.add_column("II", justify="right")
        table.add_column("why")
    for x in loops:
        nest = "  " * (x.depth - 2) + "└ " if x.depth > 1 else ""
        row = [f"{nest}{escape(x.header)}", str(x.line or "–")]
        if any(y.source for y in loops):
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


def _why(x: LoopReport) -> str:
    reasons = [x.unroll.reason, x.pipeline.reason]
    return "; ".join(dict.fromkeys(r for r in reasons if r and r != "pass not available"))
