"""The pictures of `nvir report --html`: inline SVG in the page's own colours.

    pressure   a bar for each instruction, as high as the registers that are live there in the
               order that the assembler is taken to run (what is no operation of its own there
               repeats the bar before it); a line for the order as written; below, a bracket for
               each loop, inner loops further down
    control_flow   a bar for each block in the order of the text, as long as its code and indented
               by its loops; branches forwards on the left, ways back of loops on the right
    timeline   a row for each simulated warp, a mark for each issue, coloured by iteration

Wide pictures keep their size: the page lets them scroll. Cost linear in what is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import pairwise

from nvir.ir import Block, Loop, natural_loops
from nvir.report.lines import LineListing, ListedLine
from nvir.report.schedule.svg import COLOURS
from nvir.sm.simulate.result import Simulation

POINTS = 1200  # bars of a pressure picture; longer code is shown by the highest of several lines
EVENTS = 400  # issues of a timeline
LEFT, HEIGHT, BRACKET = 40, 140, 16  # pixels: the axis, the bars, a level of loops
CYCLE, WARP = 3, 18  # pixels: a cycle, a warp's row
BLOCK, LANE = 20, 10  # pixels: a block's row, a branch's column
LANES = 24  # columns of branches on a side; what does not fit shares the last
LONGEST = 240  # pixels of the bar of the largest block
SHOWN = 12  # instructions that a block's tooltip shows


def pressure(listing: LineListing) -> str:
    """Live registers along the code, the peak in another colour; each bar tells its line."""
    rows = [r for r in listing.rows if r.instruction is not None]
    step = -(-len(rows) // POINTS) or 1
    groups = [rows[k : k + step] for k in range(0, len(rows), step)]
    bar = max(2, min(12, 720 // max(1, len(groups))))
    top = max([1, *(max(r.live, r.scheduled or 0) for r in rows)])
    width = LEFT + len(groups) * bar
    loops = list(_brackets(listing, groups))
    deep = max((depth for _, depth, _, _ in loops), default=0)
    out = [
        f'<svg role="img" aria-label="live registers along the code" width="{width + 24}" '
        f'height="{HEIGHT + 24 + deep * BRACKET}">',
        *_grid(top, width),
    ]
    line = []
    n = 0
    for k, group in enumerate(groups):
        r = max(group, key=lambda r: (r is listing.peak, r.scheduled or 0, r.live))
        n = r.scheduled if r.scheduled is not None else n
        x, y = LEFT + k * bar, _height(n, top)
        kind = "hot" if any(x is listing.peak for x in group) else "bar"
        out.append(
            f'<rect class="{kind}" x="{x}" y="{y}" width="{bar - 1}" height="{HEIGHT + 8 - y}">'
            f"<title>line {r.line}: {n} live, {r.live} as written\n{escape(r.text)}</title></rect>"
        )
        written = _height(max(r.live for r in group), top)
        line.append(f"{x},{written} {x + bar},{written}")
    out.append(f'<polyline class="written" points="{" ".join(line)}"/>')
    for loop, depth, first, last in loops:
        y = HEIGHT + 8 + (depth - 1) * BRACKET + 4
        x, wide = LEFT + first * bar, (last - first + 1) * bar - 1
        name = escape(loop.header.name)
        label = f'<text x="{x + 3}" y="{y + 12}">{name}</text>' if wide > 6 * len(name) else ""
        out.append(
            f'<rect class="loop" x="{x}" y="{y}" width="{wide}" height="3">'
            f"<title>loop {name}, depth {depth}</title></rect>{label}"
        )
    return "".join([*out, "</svg>"])


def _height(n: int, top: int) -> int:
    return HEIGHT + 8 - max(1, round(HEIGHT * n / top))


def _grid(top: int, width: int) -> Iterator[str]:
    """Lines at round numbers of registers, and the highest."""
    step = next(s for s in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1 << 30) if top <= 5 * s)
    for n in {*range(0, top + 1, step), top}:
        y = _height(n, top) if n else HEIGHT + 8
        yield f'<line class="grid" x1="{LEFT - 4}" x2="{width}" y1="{y}" y2="{y}"/>'
        if n == top or top - n > step / 3:  # no label under that of the highest
            yield f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{n}</text>'


def _brackets(
    listing: LineListing, groups: list[list[ListedLine]]
) -> Iterator[tuple[Loop, int, int, int]]:
    """(loop, depth, first bar, last bar) of each stretch of bars that a loop covers."""
    inner: dict[Block, Loop] = {}
    for loop in natural_loops(listing.function):
        for b in loop.blocks:
            inner[b] = loop  # loops come outermost first
    open_: dict[Loop, int] = {}
    for k, group in enumerate([*groups, []]):
        here: dict[Loop, int] = {}
        block = group[0].instruction.block if group and group[0].instruction else None
        x = inner.get(block) if block is not None else None
        while x is not None:
            here[x] = open_.get(x, k)
            x = x.parent
        for loop, first in open_.items():
            if loop not in here:
                yield loop, loop.depth, first, k - 1
        open_ = here


def control_flow(listing: LineListing) -> str:
    """Blocks and branches; the way to the next block of the text is not drawn."""
    f = listing.function
    row = {b: k for k, b in enumerate(f.blocks)}
    text: dict[str, list[str]] = {}
    for r in listing.rows:
        if r.instruction is not None and r.instruction.block is not None:
            text.setdefault(r.instruction.block.name, []).append(r.text)
    top = listing.peak.instruction if listing.peak is not None else None
    peak = top.block if top is not None else None
    edges = [(row[b], row[s]) for b in f.blocks for s in b.succs if row[s] != row[b] + 1]
    left = _lanes([e for e in edges if e[0] < e[1]])
    right = _lanes([e for e in edges if e[0] >= e[1]])
    names = 7 * max(len(f"{b.name} · {len(text.get(b.name, ()))}") for b in f.blocks) + 8
    x0 = names + (max(left.values(), default=-1) + 2) * LANE
    most = max(1, *map(len, f.blocks))
    end = x0 + LONGEST + 12 * max(b.loop_depth for b in f.blocks) + 8
    width = end + (max(right.values(), default=-1) + 2) * LANE
    out = [f'<svg role="img" aria-label="control flow" width="{width}" '
           f'height="{len(f.blocks) * BLOCK + 8}">']
    for b, k in row.items():
        x, y = x0 + 12 * b.loop_depth, k * BLOCK + 4
        code = text.get(b.name, [])
        more = f"\n… {len(code) - SHOWN} more" if len(code) > SHOWN else ""
        kind = "top" if b is peak else "inner" if b.loop_depth else "block"
        long = max(4, LONGEST * len(b) // most)
        out.append(
            f'<rect class="{kind}" x="{x}" y="{y}" width="{long}" height="{BLOCK - 6}">'
            f"<title>{escape(chr(10).join(code[:SHOWN]) + more)}</title></rect>"
            f'<text x="0" y="{y + 12}">{escape(b.name)} · {len(code)}</text>'
        )
    for lanes, near, step in ((left, x0 - 4, -LANE), (right, end, LANE)):
        for (start, target), lane in lanes.items():
            x, y, to = near + step * (lane + 1), start * BLOCK + 14, target * BLOCK + 8
            out.append(f'<path class="edge" d="M{near},{y}H{x}V{to}H{near}"/>'
                       f'<circle class="block" cx="{near}" cy="{to}" r="3"/>')
    return "".join([*out, "</svg>"])


def _lanes(edges: list[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """A column for each branch, in which no other one is drawn beside it; short ones first."""
    taken: list[list[tuple[int, int]]] = []
    found = {}
    for edge in sorted(dict.fromkeys(edges), key=lambda e: (abs(e[0] - e[1]), e)):
        low, high = min(edge), max(edge)
        lane = next(
            (k for k, others in enumerate(taken) if all(high < a or b < low for a, b in others)),
            len(taken),
        )
        lane = min(lane, LANES - 1)
        if lane == len(taken):
            taken.append([])
        taken[lane].append((low, high))
        found[edge] = lane
    return found


def timeline(run: Simulation) -> str:
    """Which warp issues when."""
    shown = run.events[:EVENTS]
    last = max((x.start for x in shown), default=1) + 1
    width, height = 60 + last * CYCLE, 20 + run.warps * WARP
    out = [f'<svg role="img" aria-label="issues of {run.warps} warps" width="{width + 20}" '
           f'height="{height + 4}">']
    for cycle in range(0, last, 50):
        x = 56 + cycle * CYCLE
        out.append(f'<line class="grid" x1="{x}" x2="{x}" y1="14" y2="{height}"/>'
                   f'<text x="{x + 2}" y="10">{cycle}</text>')
    out += [f'<text x="0" y="{20 + w * WARP + 12}">warp {w}</text>' for w in range(run.warps)]
    for e in shown:
        out.append(
            f'<rect x="{56 + e.start * CYCLE}" y="{20 + e.warp * WARP}" width="{CYCLE - 1}" '
            f'height="{WARP - 4}" fill="{COLOURS[e.iteration % len(COLOURS)]}">'
            f"<title>cycle {e.start}: {escape(run.names[e.slot])}, iteration {e.iteration}"
            "</title></rect>"
        )
    return "".join([*out, "</svg>"])


def stretches(numbers: list[int]) -> str:
    """Sorted numbers as text, neighbours joined: [3, 4, 5, 9] is "3-5, 9"."""
    if not numbers:
        return ""
    parts = [[numbers[0], numbers[0]]]
    for a, b in pairwise(numbers):
        if b <= a + 1:
            parts[-1][1] = b
        else:
            parts.append([b, b])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
