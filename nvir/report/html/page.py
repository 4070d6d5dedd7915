"""`nvir report --html`: a module as one page that needs nothing else.

For each function its figures, its loops, the registers along the code with who is live at the
peak, and its control flow; if asked, for each innermost loop of one block the reservation table of
its modulo schedule and a timeline of simulated warps. Pictures are inline SVG in the page's own
colours, which follow the reader's light or dark setting; wide parts scroll inside themselves, so
that a phone can show them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from nvir.ir import Function, Loop, Module, NvirError, natural_loops
from nvir.report.html.pictures import EVENTS, control_flow, pressure, stretches, timeline
from nvir.report.lines import LineListing, LiveValue, line_listing
from nvir.report.model import FunctionReport, LoopReport, ModuleReport
from nvir.report.names import spoken
from nvir.report.table import initiation_interval
from nvir.sm.occupancy import bound_text
from nvir.sm.profile import Profile

WARPS = 4  # of a timeline
MAX_BLOCKS = 1000  # of a picture of control flow that a page can still show
_STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--dim:#5a6472;--line:#d8dce2;--a:#8db4e2;
--hot:#d2482d;--ink:#2b5c9e;--soft:#f5f6f8}
@media(prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e4e7eb;--dim:#9aa3ad;--line:#333a42;
--a:#3f6da8;--hot:#ff7a5c;--ink:#a9cbf5;--soft:#1c2026}}
body{background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif;margin:0 auto;
max-width:72rem;padding:1rem}
h1{font-size:1.4rem;margin:.2rem 0}h2{font-size:1.15rem;overflow-wrap:anywhere}h3{font-size:1rem}
section{border-top:1px solid var(--line);margin-top:1.2rem}
@media(max-width:30rem){td,th{white-space:normal;overflow-wrap:anywhere;padding:.15rem .3rem}
td.text{min-width:18rem}}
.dim{color:var(--dim)}.wide{overflow-x:auto;max-width:100%;padding-bottom:.4rem}
.figures{display:flex;flex-wrap:wrap;gap:.5rem;padding:0;margin:0;list-style:none}
.figures li{background:var(--soft);border-radius:.4rem;padding:.3rem .7rem}
.figures b{font-size:1.15rem;display:block}
table{border-collapse:collapse}td,th{padding:.2rem .6rem;text-align:left;white-space:nowrap;
vertical-align:top;border-bottom:1px solid var(--line)}td.n,th.n{text-align:right}
td.text{white-space:normal;min-width:14rem}
summary{cursor:pointer;margin:.4rem 0}nav a{color:var(--ink);margin-right:1rem}
pre{font:12px/1.4 ui-monospace,monospace;margin:0}
svg{display:block;max-width:none}svg text{fill:var(--dim);font:11px sans-serif}
.paper{background:#fff;border-radius:.4rem}.paper svg text{fill:#1b1f24;font:10px monospace}
.bar{fill:var(--a)}.hot{fill:var(--hot)}.loop{fill:var(--ink)}.grid{stroke:var(--line)}
.written{fill:none;stroke:var(--ink);stroke-width:1.5}
.block{fill:var(--a)}.inner{fill:var(--ink)}.top{fill:var(--hot)}.edge{fill:none;stroke:var(--dim)}
"""


def html_report(
    report: ModuleReport, module: Module, machine: Profile, *, schedules: bool = False
) -> str:
    """The page of a report; `module` is what it was made of. `schedules` adds those of loops."""
    name = report.file.rsplit("/", 1)[-1]
    parts = [
        "<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        f"<title>{escape(name)}</title><style>{_STYLE}</style></head><body>",
        f'<h1>{escape(name)}</h1><p class="dim">{escape(report.arch)} · policy '
        f"{escape(report.policy)}</p>",
    ]
    functions = {str(f.name): f for f in module.functions if f.blocks}
    shown = [(made, functions[made.name]) for made in report.functions if made.name in functions]
    if len(shown) > 1:
        links = "".join(f'<a href="#f{k}">{escape(spoken(m.name))}</a> '
                        for k, (m, _) in enumerate(shown))
        parts.append(f"<nav>{_wide(links)}</nav>")
    for k, (made, f) in enumerate(shown):
        parts += _function(k, made, f, module)
        if schedules:
            for x in natural_loops(f):
                if not x.children and len(x.blocks) == 1:
                    parts += _schedule(f, x, machine)
        parts.append("</section>")
    parts += [f'<p class="dim">{escape(d.severity)}: {escape(d.message)}</p>'
              for d in report.diagnostics]
    return "\n".join([*parts, "</body></html>"]) + "\n"


def _function(number: int, made: FunctionReport, f: Function, module: Module) -> Iterator[str]:
    kind = "kernel" if made.kind == "entry" else "function"
    yield f'<section id="f{number}"><h2>{kind} {escape(spoken(made.name))}</h2>'
    items = "".join(f"<li><b>{escape(n)}</b>{escape(what)}</li>" for n, what in _figures(made))
    yield f'<ul class="figures">{items}</ul>'
    if made.loops:
        yield "<h3>Loops</h3>" + _loops(made.loops)
        told = "".join(f"<li>{escape(x.text())}</li>" for x in made.source_loops)
        yield f"<h3>Loops of the source</h3><ul>{told}</ul>"
    if made.advice:
        told = "".join(f"<li>{escape(a.text)}</li>" for a in made.advice)
        yield f"<h3>Advice</h3><ul>{told}</ul>"
    listing = line_listing(f, module, facts=made.facts)
    yield "<h3>Registers along the code</h3>"
    yield ('<p class="dim">Bars: live in the order that the assembler is taken to run; line: in '
           "the order as written; brackets: loops.</p>")
    yield _wide(pressure(listing))
    yield _live(listing)
    if 1 < len(f.blocks) <= MAX_BLOCKS:
        yield f"<details><summary>Control flow</summary>{_wide(control_flow(listing))}</details>"


def _figures(made: FunctionReport) -> Iterator[tuple[str, str]]:
    yield str(made.instructions), "instructions"
    yield str(made.max_live), "registers live as written"
    if made.predicted is not None:
        yield str(made.predicted), "registers predicted"
    if made.real is not None:
        yield str(made.real.registers), "registers by ptxas"
    if made.static_smem:
        yield str(made.static_smem), "bytes of shared memory"
    o = made.occupancy
    if o is not None:
        by = bound_text(o.warps_per_sm, o.fraction, o.limiter)
        yield f"{o.blocks_per_sm} × {made.block_size}", f"blocks an SM × threads: {by}"
        yield f"{o.fraction:.0%}", "occupancy"


def _wide(inner: str) -> str:
    return f'<div class="wide">{inner}</div>'


def _table(head: tuple[str, ...], rows: list[tuple[object, ...]], text: int = -1) -> str:
    """A table; numbers stand right, the column `text` breaks its lines."""

    def row(cells: tuple[object, ...], tag: str) -> str:
        made = []
        for k, c in enumerate(cells):
            kind = ' class="n"' if isinstance(c, int | float) or (
                tag == "th" and rows and isinstance(rows[0][k], int | float)
            ) else ' class="text"' if k == text and tag == "td" else ""
            made.append(f"<{tag}{kind}>{escape(str(c))}</{tag}>")
        return f"<tr>{''.join(made)}</tr>"

    return _wide(f"<table>{row(head, 'th')}{''.join(row(r, 'td') for r in rows)}</table>")


def _loops(loops: tuple[LoopReport, ...]) -> str:
    rows: list[tuple[object, ...]] = []
    for x in loops:
        u = x.unroll
        done = f"×{u.factor}" if u.action == "partial" else u.action
        rows.append((
            "\N{NO-BREAK SPACE}" * 2 * (x.depth - 1) + x.header, x.line or "–", x.source or "–",
            x.trip_count if x.trip_count is not None else "unknown", x.instructions, x.max_live,
            done, initiation_interval(x),
        ))
    return _table(("loop", "line", "source", "trip", "body", "live", "unroll", "II"), rows)


def _live(listing: LineListing) -> str:
    """Who is live at the peak: a row for each reason with its values, then each value."""
    peak = listing.peak
    if peak is None:
        return ""
    reasons: dict[str, list[LiveValue]] = {}
    for v in listing.at_peak:
        reason = re.split(r",? ?used at line ", v.why)[0] or "used later"
        reasons.setdefault(reason, []).append(v)
    grouped = sorted(reasons.items(), key=lambda x: -sum(v.registers for v in x[1]))
    rows: list[tuple[object, ...]] = [
        (reason, sum(v.registers for v in values), ", ".join(v.name for v in values),
         stretches(sorted({v.defined for v in values if v.defined > 0})))
        for reason, values in grouped
    ]
    each: list[tuple[object, ...]] = [
        (v.name, v.type, v.registers, v.defined, v.why) for v in listing.at_peak
    ]
    place = f", {listing.peak_place}" if listing.peak_place else ""
    total = sum(v.registers for v in listing.at_peak)
    text = escape(f"Live at the peak: line {peak.line}{place}, {total} registers")
    grouped_table = _table(("why", "registers", "values", "defined at line"), rows, text=2)
    whole_table = _table(
        ("register", "type", "registers", "defined at line", "why it is alive"), each
    )
    return (f"<details open><summary>{text}</summary>{grouped_table}"
            f"<details><summary>Each value</summary>{whole_table}</details></details>")


def _schedule(f: Function, loop: Loop, machine: Profile) -> Iterator[str]:
    """The reservation table and the timeline of a loop; nothing of one that has none."""
    from nvir.report.schedule.figures import MAX_OPERATIONS, schedule_text
    from nvir.report.schedule.svg import schedule_svg
    from nvir.sm.loopgraph import loop_graph
    from nvir.sm.schedule.loops import schedule_loop
    from nvir.sm.simulate import loop_stream, simulate

    header = loop.header.name
    try:
        graph = loop_graph(loop, machine)
        if len(graph.operations) > MAX_OPERATIONS:
            return
        made = schedule_loop(graph, effort="interval")
        run = simulate(loop_stream(loop, machine), warps=WARPS, iterations=4, timeline=True)
    except NvirError as e:
        yield f'<p class="dim">loop {escape(header)}: {escape(str(e))}</p>'
        return
    yield f"<details><summary>Schedule of loop {escape(header)}: II {made.ii}, {made.stages} "
    yield f"stages, {run.cycles_per_iteration:g} cycles an iteration of {WARPS} warps</summary>"
    picture = re.sub(r' xmlns(:\w+)?="[^"]*"', "", schedule_svg(made, str(f.name)))
    yield f'<div class="wide paper">{picture}</div>'
    yield f"<p>Issues of {WARPS} warps by cycle, coloured by iteration"
    yield f" (the first {EVENTS})</p>" if len(run.events) > EVENTS else "</p>"
    yield _wide(timeline(run))
    text = escape(schedule_text(made, str(f.name)))
    yield f"<details><summary>As text</summary>{_wide(f'<pre>{text}</pre>')}</details></details>"
