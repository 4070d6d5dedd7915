"""Timings and counters as tables, JSON and a Chrome trace."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

import attrs


@attrs.define
class Timing:
    """One run of a pass: on a function, or on the module ("")."""

    pass_name: str
    function: str
    start: float  # seconds since the pipeline began
    seconds: float


def time_table(timings: Iterable[Timing]) -> str:
    """Wall time of each pass, the slowest first, in the manner of LLVM's -time-passes."""
    total: dict[str, float] = {}
    runs: dict[str, int] = {}
    for t in timings:
        total[t.pass_name] = total.get(t.pass_name, 0.0) + t.seconds
        runs[t.pass_name] = runs.get(t.pass_name, 0) + 1
    whole = sum(total.values())
    lines = [f"{'wall time':>12}  {'share':>6}  {'runs':>6}  pass"]
    for name, seconds in sorted(total.items(), key=lambda item: -item[1]):
        share = seconds / whole if whole else 0.0
        lines.append(f"{seconds * 1e3:>9.3f} ms  {share:>6.1%}  {runs[name]:>6}  {name}")
    lines.append(f"{whole * 1e3:>9.3f} ms  {1:>6.1%}  {sum(runs.values()):>6}  total")
    return "\n".join(lines) + "\n"


def chrome_trace(timings: Sequence[Timing]) -> str:
    """The runs as Chrome trace events, which ui.perfetto.dev opens; microseconds."""
    events: list[dict[str, object]] = [
        {"ph": "M", "pid": 0, "tid": 0, "name": "process_name", "args": {"name": "nvir passes"}}
    ]
    for t in timings:
        events.append({
            "ph": "X", "pid": 0, "tid": 0, "cat": "pass", "name": t.pass_name,
            "ts": round(t.start * 1e6, 1), "dur": round(t.seconds * 1e6, 1),
            "args": {"function": t.function},
        })
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"})


def stats_table(counters: Mapping[str, int]) -> str:
    """`value pass counter`, one a line."""
    rows = [(str(n), *name.split(".", 1)) for name, n in sorted(counters.items())]
    wide = max((len(value) for value, _, _ in rows), default=0)
    name = max((len(pass_) for _, pass_, _ in rows), default=0)
    return "".join(f"{value:>{wide}}  {pass_:<{name}}  {what}\n" for value, pass_, what in rows)


def stats_json(counters: Mapping[str, int]) -> str:
    """A flat map `pass.counter` → number, beside the schema's name."""
    return json.dumps({"schema": "nvir.stats/1", **dict(sorted(counters.items()))}, indent=1) + "\n"
