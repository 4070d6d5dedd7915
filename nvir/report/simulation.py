"""Simulated cycles of a loop for people: the page and the JSON of `nvir simulate`."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from nvir.report.names import spoken
from nvir.sm.simulate import Simulation, Stream

SCHEMA = "nvir.simulation/1"


def simulation_json(stream: Stream, function: str, runs: Sequence[Simulation]) -> dict[str, Any]:
    """The document of schema `nvir.simulation/1`, as plain JSON types."""
    return {
        "schema": SCHEMA,
        "function": function,
        "loop": stream.name,
        "profile": stream.profile.name,
        "operations": [s.name for s in stream.slots],
        "runs": [
            {
                "warps": r.warps,
                "iterations": r.iterations,
                "cycles_per_iteration": r.cycles_per_iteration,
                "cycles_per_warp_iteration": r.cycles_per_warp_iteration,
                "stalls": {reason: n for reason, n in r.stalls.items() if n},
                "utilisation": {pipe: round(u, 4) for pipe, u in r.utilisation.items()},
                "main_stall": r.main_stall,
            }
            for r in runs
        ],
    }


def simulation_text(stream: Stream, function: str, runs: Sequence[Simulation]) -> str:
    """A table with a row for each number of warps, and where their cycles go."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="none")
    names = ("warps", "cycles/iteration", "per warp", "issue", "busiest pipe", "waits most for")
    for name in names:
        table.add_column(name, justify="left" if name in names[-2:] else "right")
    for r in runs:
        pipes = {p: u for p, u in r.utilisation.items() if p != "issue"}
        busiest = max(pipes, key=lambda p: pipes[p]) if pipes else ""
        table.add_row(
            str(r.warps), f"{r.cycles_per_iteration:.1f}", f"{r.cycles_per_warp_iteration:.1f}",
            f"{r.utilisation['issue']:.0%}",
            f"{busiest} {pipes[busiest]:.0%}" if busiest else "–", _stalls(r),
        )
    out = io.StringIO()
    print(f"{spoken(function)} · loop {stream.name} · {stream.profile.name} · "
          f"{len(stream.slots)} operations an iteration\n", file=out)
    Console(file=out, width=100, highlight=False).print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _stalls(r: Simulation) -> str:
    """The two dearest reasons, as shares of the cycles in which warps did not issue."""
    lost = {k: n for k, n in r.stalls.items() if n and k not in ("selected", "not_selected")}
    total = sum(lost.values())
    most = sorted(lost, key=lambda k: -lost[k])[:2]
    return ", ".join(f"{k.replace('_', ' ')} {lost[k] / total:.0%}" for k in most) or "–"
