"""`nvir report --html`: a module as one page that needs nothing else.

For each function its figures, its loops, the registers along the code with who is live at the
peak; for each innermost loop of one block the reservation table of its modulo schedule and a
timeline of simulated warps. Pictures are inline SVG in the page's own colours, which follow the
reader's light or dark setting; wide parts scroll inside themselves, so that a phone can show them.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from nvir.ir.errors import NvirError
from nvir.ir.function import Function
from nvir.ir.loops import natural_loops
from nvir.ir.module import Module
from nvir.report.lines import Listing, line_listing
from nvir.report.model import FunctionReport, LoopReport, ModuleReport
from nvir.sm.profile import Profile

POINTS = 1200  # bars of a pressure picture; longer code is shown by the highest of several lines
EVENTS = 400  # issues of a timeline
WARPS = 4
_STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--dim:#667;--line:#d8dce2;--a:#3b76c4;
--hot:#d2482d}
@media(prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e4e7eb;--dim:#9aa3ad;--line:#333a42;
--a:#6fa3e8;--hot:#ff7a5c}}
body{background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif;margin:0 auto;
max-width:72rem;padding:1rem}
h1{font-size:1.3rem}h2{font-size:1.1rem;overflow-wrap:anywhere}h3{font-size:1rem}
.dim{color:var(--dim)}.wide{overflow-x:auto}
table{border-collapse:collapse}td,th{padding:.2rem .6rem;text-align:left;white-space:nowrap;
border-bottom:1px solid var(--line)}td.n,th.n{text-align:right}
pre{font:12px/1.4 ui-monospace,monospace;margin:0}
svg{display:block;max-width:none}svg text{fill:var(--dim);font:10px sans-serif}
.bar{fill:var(--a)}.hot{fill:var(--hot)}
"""


def html_report(report: ModuleReport, module: Module, machine: Profile) -> str:
    """The page of a report; `module` is what it was made of."""
    name = report.file.rsplit("/", 1)[-1]
    parts = [
        "<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        f"<title>{escape(name)}</title><style>{_STYLE}</style></head><body>",
        f'<h1>{escape(name)}</h1><p class="dim">{escape(report.arch)} · policy '
        f"{escape(report.policy)}</p>",
    ]  # fmt: skip
    functions = {str(f.name): f for f in module.functions if f.blocks}
    for made in report.functions:
        f = functions.get(made.name)
        if f is not None:
            parts += _function(made, f, module, machine)
    parts += [f'<p class="dim">{escape(d.severity)}: {escape(d.message)}</p>'
              for d in report.diagnostics]  # fmt: skip
    return "\n".join([*parts, "</body></html>"]) + "\n"


def _function(
    made: FunctionReport, f: Function, module: Module, machine: Profile
) -> Iterator[str]:
    figures = [f"{made.instructions} instructions", f"{made.max_live} registers live as written"]
    if made.predicted is not None:
        figures.append(f"{made.predicted} registers predicted")
    o = made.occupancy
    if o is not None:
        by = f", limited by {o.limiter}" if o.limiter else ""
        figures.append(f"{o.blocks_per_sm} blocks an SM{by}")
    kind = "kernel" if made.kind == "entry" else "function"
    yield f"<section><h2>{kind} {escape(made.name)}</h2><p>{escape(' · '.join(figures))}</p>"
    if made.loops:
        yield _loops(made.loops)
    listing = line_listing(f, module)
    yield "<h3>Registers along the code</h3>"
    yield _wide(_pressure(listing))
    yield _live(listing)
    for x in natural_loops(f):
        if not x.children and len(x.blocks) == 1:
            yield from _schedule(f, x.header.name, machine)
    yield "</section>"


def _wide(inner: str) -> str:
    return f'<div class="wide">{inner}</div>'


def _table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    def row(cells: tuple[object, ...], tag: str) -> str:
        return "<tr>" + "".join(
            f"<{tag}{' class=n' if isinstance(c, int | float) else ''}>{escape(str(c))}</{tag}>"
            for c in cells
        ) + "</tr>"  # fmt: skip

    return _wide(f"<table>{row(head, 'th')}{''.join(row(r, 'td') for r in rows)}</table>")


def _loops(loops: tuple[LoopReport, ...]) -> str:
    rows: list[tuple[object, ...]] = []
    for x in loops:
        u = x.unroll
        done = f"×{u.factor}" if u.action == "partial" else u.action
        rows.append((
            " " * (x.depth - 1) + x.header, x.line or "–", x.source or "–",
            x.trip_count if x.trip_count is not None else "unknown", x.instructions, x.max_live,
            done, x.pipeline.ii if x.pipeline.ii is not None else "–", u.reason or "",
        ))  # fmt: skip
    head = ("loop", "line", "source", "trip", "body", "live", "unroll", "II", "why")
    return _table(head, rows)


def _pressure(listing: Listing) -> str:
    """Bars of live registers, the peak in another colour; each tells its line."""
    rows = [r for r in listing.rows if r.instruction is not None]
    step = -(-len(rows) // POINTS) or 1
    groups = [rows[k : k + step] for k in range(0, len(rows), step)]
    top = max([1, *(max(r.live, r.scheduled or 0) for r in rows)])
    bar = 6 if len(groups) < 200 else 2
    height, width = 120, max(len(groups) * bar, 120)
    out = [f'<svg role="img" width="{width + 30}" height="{height + 16}">'
           f'<text x="0" y="10">{top}</text>']  # fmt: skip
    for k, group in enumerate(groups):
        r = max(group, key=lambda r: (r is listing.peak, r.scheduled or 0, r.live))
        n = r.scheduled if r.scheduled is not None else 0
        tall = max(1, round(height * n / top))
        kind = "hot" if any(x is listing.peak for x in group) else "bar"
        out.append(
            f'<rect class="{kind}" x="{30 + k * bar}" y="{height - tall}" width="{bar - 1}" '
            f'height="{tall}"><title>line {r.line}: {n} live\n{escape(r.text)}</title></rect>'
        )
    return "".join([*out, "</svg>"])


def _live(listing: Listing) -> str:
    peak = listing.peak
    if peak is None:
        return ""
    place = f", {listing.peak_place}" if listing.peak_place else ""
    rows: list[tuple[object, ...]] = [
        (v.name, v.type, v.registers, v.defined, v.why) for v in listing.at_peak
    ]
    head = ("register", "type", "registers", "defined at line", "why it is alive")
    text = escape(f"Live at the peak: line {peak.line}{place}")
    return f"<details open><summary>{text}</summary>{_table(head, rows)}</details>"


def _schedule(f: Function, header: str, machine: Profile) -> Iterator[str]:
    """The reservation table and the timeline of a loop; nothing of one that has none."""
    from nvir.report.schedule import MAX_OPERATIONS, schedule_text
    from nvir.sm.loopgraph import loop_graph
    from nvir.sm.pipeline import schedule_loop
    from nvir.sm.simulate import loop_stream, simulate

    loop = next(x for x in natural_loops(f) if x.header.name == header)
    try:
        graph = loop_graph(loop, machine)
        if len(graph.operations) > MAX_OPERATIONS:
            return
        text = schedule_text(schedule_loop(graph), str(f.name))
        run = simulate(loop_stream(loop, machine), warps=WARPS, iterations=4, timeline=True)
    except NvirError as e:
        yield f'<p class="dim">loop {escape(header)}: {escape(str(e))}</p>'
        return
    yield f"<details><summary>Schedule of loop {escape(header)}</summary>"
    yield _wide(f"<pre>{escape(text)}</pre>")
    shown = run.events[:EVENTS]
    last = max((x.end for x in shown), default=1)
    svg = [f'<svg role="img" width="{last * 3 + 60}" height="{WARPS * 16 + 4}">']
    svg += [f'<text x="0" y="{w * 16 + 12}">warp {w}</text>' for w in range(WARPS)]
    for x in shown:
        svg.append(
            f'<rect class="bar" x="{50 + x.start * 3}" y="{x.warp * 16 + 2}" width="2" height="12">'
            f"<title>cycle {x.start}: {escape(run.names[x.slot])}, iteration {x.iteration}"
            "</title></rect>"
        )
    yield f"<p>Issues of {WARPS} warps, a cycle every 3 pixels</p>"
    yield _wide("".join([*svg, "</svg>"])) + "</details>"
