"""The per-line listing as text, on a terminal with the rows coloured by heat."""

from __future__ import annotations

from nvir.report.lines import LEGEND, LineListing, ListedLine, LiveValue
from nvir.report.names import spoken
from nvir.report.table import Line, plain, short

BARS = " ▁▂▃▄▅▆▇█"
_HEAT = ("", "", "", "yellow", "yellow", "dark_orange", "dark_orange", "red", "bold red")
MAX_GLYPHS = 96  # columns of registers on a pipe
TEXT_WIDTH = 64
SHOWN_AT_PEAK = 48


def listing_text(listing: LineListing, sources: dict[int, list[str]] | None = None) -> str:
    """The listing as plain text."""
    return plain(listing_lines(listing, None, sources))


def listing_lines(
    listing: LineListing, width: int | None, sources: dict[int, list[str]] | None
) -> list[Line]:
    """Heading, legend, rows, and who is alive at the peak; `width` is that of a terminal.

    `sources` has the lines of the source files by number, to show them too.
    """
    f, e = listing.function, listing.estimate
    kind = "kernel" if f.kind == "entry" else "function"
    real = listing.origin == "ptxas"
    told = f" ({listing.predicted} predicted)" if real else " predicted"
    out = [(
        f"{kind} {short(spoken(str(f.name)))}   {e.registers} registers{told} · "
        f"{e.max_live} live at the peak · {listing.max_live} as written", "bold",
    )]
    asm = "in ptxas's code of the line" if real else "as the assembler is taken to order the block"
    out.append((f"  {LEGEND.format(asm)}", "dim"))
    needed = max(listing.columns.values(), default=-1) + 1
    room = max(width - TEXT_WIDTH - 22, 8) if width is not None else MAX_GLYPHS
    shown = min(needed, room)
    if shown < needed:
        out.append((f"  {needed - shown} of {needed} register columns do not fit", "dim"))
    out.append(("", ""))
    out.append((f"  {'line':>6} {'live':>4} {'asm':>4}   {'':{shown}}   PTX", "dim"))
    place: tuple[int, int] | None = None
    for row in listing.rows:
        if row.source is not None and row.source != place:
            place = row.source
            out.append((_source_line(listing, place, sources), "cyan"))
        out.append(_row(listing, row, shown))
    out.extend(_peak(listing))
    return out


def _source_line(
    listing: LineListing, place: tuple[int, int], sources: dict[int, list[str]] | None
) -> str:
    number, line = place
    text = ""
    if sources is not None:
        lines = sources.get(number, [])
        text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return f"  ── {listing.source.file(number)}:{line} {text}"


def _row(listing: LineListing, row: ListedLine, shown: int) -> Line:
    glyphs = [" "] * shown
    for name, mark in row.marks.items():
        column = listing.columns[name]
        if column < shown:
            glyphs[column] = mark
    peak = max(listing.estimate.max_live, 1)
    heat = min(8 * (row.scheduled or 0) // peak, 8)
    asm = "" if row.scheduled is None else str(row.scheduled)
    text = short(row.text, TEXT_WIDTH) if row.instruction is not None else row.text
    if row is listing.peak:
        text += f"   ◀ peak: {row.scheduled} registers"
    line = f"  {row.line or '':>6} {row.live:>4} {asm:>4} {BARS[heat]} {''.join(glyphs)}   {text}"
    return line, "reverse bold red" if row is listing.peak else _HEAT[heat]


def _peak(listing: LineListing) -> list[Line]:
    """Who is alive at the peak."""
    if listing.peak is None or not listing.at_peak:
        return []
    place = f", {listing.peak_place}" if listing.peak_place else ""
    total = sum(v.registers for v in listing.at_peak)
    head = f"live at the peak (line {listing.peak.line}{place}): {total} registers"
    out = [("", ""), (head, "bold")]
    values = listing.at_peak[:SHOWN_AT_PEAK]
    names = max(len(v.name) for v in values)
    types = max(len(v.type) for v in values)
    out.append((f"  {'':{names}}  {'':{types}}  regs  defined  last use  why", "dim"))
    out.extend((_value(v, names, types), "") for v in values)
    if len(values) < len(listing.at_peak):
        out.append((f"  … {len(listing.at_peak) - len(values)} more", "dim"))
    return out


def _value(v: LiveValue, names: int, types: int) -> str:
    return (
        f"  {v.name:{names}}  {v.type:{types}}  {v.registers:>4}  {v.defined or '–':>7}  "
        f"{v.last_use or '–':>8}  {v.why}"
    )
