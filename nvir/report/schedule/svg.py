"""Pictures of a modulo schedule: SVG of the reservation table and of lifetimes, a Chrome trace.

    left     the kernel: a row for each slot, a column for issue and each pipe; an operation fills
             the cycles that it keeps its pipe busy, in the colour of its stage
    right    the registers: a column for each value, from its start to its last use, modulo II, in
             the colour of the stage that makes it; where iterations overlap, columns side by side;
             then how many are live in each slot, the fullest in bold

Beyond as many stages as there are colours, an operation's stage is written behind its name.

The trace has one cycle as 1 us, a process for each iteration, a row for each pipe.

Cost     linear in operations and the cycles that they keep pipes busy.
"""

from __future__ import annotations

import json
from html import escape
from typing import Any

from nvir.report.names import spoken
from nvir.sm.operation import register_name
from nvir.sm.schedule.loops import LoopSchedule

COLOURS = (  # by stage, then again: distinguishable to most kinds of colour vision
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#ee8866",
)
ROW, COLUMN, LANE = 18, 118, 12  # pixels: a slot, a pipe, a register
KEY = 74  # a stage in the legend
LETTER, TITLE = 6.1, 8.0  # the width of a letter of text and of the title
TOP, LEFT = 64, 44


def colour(stage: int) -> str:
    return COLOURS[stage % len(COLOURS)]


def schedule_svg(made: LoopSchedule, function: str) -> str:
    """The picture as a document of its own."""
    found, ii = made.graph, made.ii
    pipes = ["issue", *(p for p in found.profile.pipes if p in made.pipe)]
    lanes = _lanes(made)
    right = LEFT + COLUMN * len(pipes) + 30
    title = (
        f"{spoken(function)} · loop {found.loop.header.name} · {found.profile.name} · II {ii} "
        f"(MII {made.mii}) · {made.stages} stages · MaxLive {made.max_live}"
    )
    counts = right + LANE * max(1, len(lanes)) + 26
    width = max(counts + 20, LEFT + int(TITLE * len(title)) + 20)
    keys = max(1, (width - LEFT) // KEY)
    height = TOP + ROW * ii + 28 + 18 * -(-len(_used(made)) // keys)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="monospace" font-size="10">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="20" font-size="13">{escape(title)}</text>',
        *_frame(pipes, ii, right),
    ]
    for n in range(len(found.operations)):
        out += _operation(made, n, pipes)
    for k, lane in enumerate(lanes):
        for first, cycles, stage, name in lane:
            out += _ring(right + k * LANE, LANE - 3, first, cycles, ii, colour(stage), name,
                         name.partition(":")[0], upright=True)
    out += [*_live(made, counts), *_legend(made, TOP + ROW * ii + 18, keys)]
    return "\n".join([*out, "</svg>"]) + "\n"


def _frame(pipes: list[str], ii: int, right: int) -> list[str]:
    out = []
    for k, p in enumerate(pipes):
        out.append(f'<text x="{LEFT + k * COLUMN}" y="{TOP - 8}">{escape(p)}</text>')
    out.append(f'<text x="{right}" y="{TOP - 8}">registers</text>')
    for slot in range(ii):
        y = TOP + slot * ROW
        out.append(f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end">{slot}</text>')
        out.append(
            f'<line x1="{LEFT}" y1="{y}" x2="{right - 14}" y2="{y}" stroke="#dddddd"/>'
        )
    return out


def _operation(made: LoopSchedule, n: int, pipes: list[str]) -> list[str]:
    op, t = made.graph.operations[n], made.times[n]
    stage, slot = t // made.ii, t % made.ii
    name = f"{op.family}: {str(op.parent).partition(' !loc ')[0]} (cycle {t}, stage {stage})"
    label = str(op.family) + (f" ·{stage}" if made.stages > len(COLOURS) else "")
    out = _ring(LEFT, COLUMN - 6, slot, 1, made.ii, colour(stage), name, label)
    if made.pipe[n]:
        x = LEFT + pipes.index(made.pipe[n]) * COLUMN
        cycles = made.graph.interval[n]
        out += _ring(x, COLUMN - 6, slot, cycles, made.ii, colour(stage), name, label)
    return out


def _ring(
    x: int, width: int, first: int, cycles: int, ii: int, fill: str, name: str, label: str = "",
    *, upright: bool = False,
) -> list[str]:
    """A box of some cycles from a slot on, which may go on at the top; `upright`: its label."""
    out = []
    pieces = [(first, min(cycles, ii - first))]
    if cycles > ii - first:
        pieces.append((0, min(cycles, ii) - (ii - first)))
    for k, (slot, length) in enumerate(pieces):
        y = TOP + slot * ROW
        out.append(
            f'<rect x="{x}" y="{y + 1}" width="{width}" height="{length * ROW - 2}" rx="2" '
            f'fill="{fill}" fill-opacity="0.75"><title>{escape(name)}</title></rect>'
        )
        text = escape(f"… {label}" if k else label)
        if upright and LETTER * (len(label) + 2 * k) < length * ROW - 6:
            out.append(f'<text font-size="9" transform="translate({x + 2} {y + 5}) rotate(90)">'
                       f"{text}</text>")
        elif label and not upright:
            out.append(f'<text x="{x + 4}" y="{y + 12}">{text}</text>')
    return out


def _live(made: LoopSchedule, x: int) -> list[str]:
    """How many registers are live in each slot."""
    out = [f'<text x="{x}" y="{TOP - 8}" text-anchor="end">live</text>']
    for slot, count in enumerate(made.lifetimes.live):
        bold = ' font-weight="bold"' if count == made.max_live else ""
        y = TOP + slot * ROW + 12
        out.append(f'<text x="{x}" y="{y}" text-anchor="end"{bold}>{count}</text>')
    return out


def _lanes(made: LoopSchedule) -> list[list[tuple[int, int, int, str]]]:
    """Columns of registers: (slot, cycles, stage, name) that do not overlap in one column."""
    ii, lives = made.ii, made.lifetimes
    lanes: list[list[tuple[int, int, int, str]]] = []
    taken: list[int] = []
    order = sorted(range(len(made.times)), key=lambda n: (made.times[n] % ii, n))
    for n in order:
        left = lives.lengths[n]
        if not lives.sizes[n] or not left:
            continue
        results = made.graph.operations[n].results
        name = ", ".join(register_name(r) for r in results)
        slot = made.times[n] % ii
        while left > 0:  # one column for each iteration's value that is live at once
            cycles = min(left, ii)
            bits = ((1 << cycles) - 1) << slot
            bits = (bits | bits >> ii) & ((1 << ii) - 1)
            k = next((k for k, t in enumerate(taken) if not t & bits), len(taken))
            if k == len(taken):
                taken.append(0)
                lanes.append([])
            taken[k] |= bits
            lanes[k].append((slot, cycles, made.times[n] // ii, f"{name}: {lives.lengths[n]}"))
            left -= ii
    return lanes


def _used(made: LoopSchedule) -> list[int]:
    return sorted({t // made.ii for t in made.times})


def _legend(made: LoopSchedule, y: int, keys: int) -> list[str]:
    """The colours of the stages in which something starts, so many in a row."""
    out = []
    for k, s in enumerate(_used(made)):
        row, place = divmod(k, keys)
        x, at = LEFT + place * KEY, y + row * 18
        out.append(f'<rect x="{x}" y="{at}" width="12" height="12" fill="{colour(s)}" '
                   'fill-opacity="0.75"/>')
        out.append(f'<text x="{x + 16}" y="{at + 10}">stage {s}</text>')
    return out


def schedule_trace(made: LoopSchedule, iterations: int = 8) -> str:
    """The first iterations as Chrome trace JSON (chrome://tracing, Perfetto)."""
    pipes = ["issue", *(p for p in made.graph.profile.pipes if p in made.pipe)]
    rows: list[dict[str, Any]] = []
    for j in range(iterations):
        rows.append(_name("process_name", j, 0, f"iteration {j}"))
        rows += [_name("thread_name", j, k, p) for k, p in enumerate(pipes)]
        for n, op in enumerate(made.graph.operations):
            start = made.times[n] + j * made.ii
            event = {
                "name": str(op.family), "ph": "X", "pid": j, "ts": start,
                "args": {"ptx": str(op.parent).partition(" !loc ")[0], "node": n,
                         "stage": made.times[n] // made.ii, "line": op.line},
            }
            rows.append({**event, "tid": 0, "dur": 1})
            if made.pipe[n]:
                tid = pipes.index(made.pipe[n])
                rows.append({**event, "tid": tid, "dur": made.graph.interval[n]})
    return json.dumps({"traceEvents": rows, "displayTimeUnit": "ms"})


def _name(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}


def lifetimes_text(made: LoopSchedule) -> str:
    """Lifetimes as text: a line for each value, a column for each slot of the kernel.

    A digit is how many iterations' values are live in the slot, `·` none.
    """
    ii, lives = made.ii, made.lifetimes
    lines = [f"{'register':16} stage  life  slots 0 to {ii - 1}"]
    for n in sorted(range(len(made.times)), key=made.times.__getitem__):
        if not lives.sizes[n] or not lives.lengths[n]:
            continue
        name = ", ".join(register_name(r) for r in made.graph.operations[n].results)[:16]
        whole, part = divmod(lives.lengths[n], ii)
        first = made.times[n] % ii
        counts = [whole + ((s - first) % ii < part) for s in range(ii)]
        marks = "".join("·" if not c else str(min(c, 9)) for c in counts)
        lines.append(f"{name:16} {made.times[n] // ii:5} {lives.lengths[n]:5}  {marks}")
    return "\n".join([*lines, f"{'live':16} {'':11}  MaxLive {made.max_live}"]) + "\n"
