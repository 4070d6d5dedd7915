"""What a simulation found: cycles, stalls, utilisation, and the timeline.

Stall reasons have the names of NVIDIA's profiler: `wait` a fixed latency, `long_scoreboard`
global, local and texture memory, `short_scoreboard` shared memory and special functions,
`math_pipe_throttle`, `lg_throttle` (global, local), `mio_throttle` (shared memory, shuffles) and
`tex_throttle` a busy pipe, `barrier`, `branch_resolving`, `not_selected` another warp was chosen.
`selected` counts the issues themselves.
"""

from __future__ import annotations

import json
from typing import Any

import attrs

REASONS = (
    "selected", "wait", "long_scoreboard", "short_scoreboard", "math_pipe_throttle",
    "lg_throttle", "mio_throttle", "tex_throttle", "barrier", "branch_resolving", "not_selected",
)


@attrs.frozen
class Event:
    """One issue: of `slot` by `warp` in `iteration`, from cycle `start`; it keeps `pipe` busy
    up to `end`."""

    warp: int
    slot: int
    iteration: int
    start: int
    end: int
    pipe: str


@attrs.frozen(eq=False)
class Simulation:
    """A run of a loop by `warps` warps of one sub-partition.

    cycles                 of the whole run
    cycles_per_iteration   in steady state: until each warp has gone one iteration further
    stalls                 reason -> warp cycles in steady state, `selected` among them
    utilisation            pipe -> share of its cycles that it was busy in steady state;
                           "issue" is that of the issue slots
    events                 all issues in order, where a timeline was asked for
    names                  slot -> what it runs
    """

    warps: int
    iterations: int
    cycles: int
    cycles_per_iteration: float
    stalls: dict[str, int]
    utilisation: dict[str, float]
    events: tuple[Event, ...]
    names: tuple[str, ...]

    @property
    def cycles_per_warp_iteration(self) -> float:
        """Cycles of the sub-partition for each iteration of a warp: its throughput."""
        return self.cycles_per_iteration / self.warps

    @property
    def main_stall(self) -> str | None:
        """The reason that costs most, `selected` and `not_selected` aside; None without any."""
        reasons = {r: n for r, n in self.stalls.items() if n and r[:3] not in ("sel", "not")}
        return max(reasons, key=lambda r: (reasons[r], r)) if reasons else None

    def chrome_trace(self) -> str:
        """The timeline as Chrome trace JSON (chrome://tracing, Perfetto): one cycle is 1 µs.

        Process 0 has a row for each warp, process 1 a row for each pipe.
        """
        pipes = sorted({e.pipe for e in self.events if e.pipe})
        rows: list[dict[str, Any]] = [
            _name("process_name", 0, 0, "warps"), _name("process_name", 1, 0, "pipes"),
            *(_name("thread_name", 0, w, f"warp {w}") for w in range(self.warps)),
            *(_name("thread_name", 1, k, pipe) for k, pipe in enumerate(pipes)),
        ]
        for e in self.events:
            shown = {
                "name": self.names[e.slot], "ph": "X", "ts": e.start,
                "args": {"iteration": e.iteration, "slot": e.slot, "warp": e.warp},
            }
            rows.append({**shown, "pid": 0, "tid": e.warp, "dur": 1})
            if e.pipe:
                row = {"pid": 1, "tid": pipes.index(e.pipe), "dur": e.end - e.start}
                rows.append({**shown, **row})
        return json.dumps({"traceEvents": rows, "displayTimeUnit": "ms"})


def _name(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}
