"""The judge of every modulo schedule: dependences and reservations, counted anew.

It reads nothing of a graph but its nodes, edges and limits, and shares no code with any
scheduler, so a mistake of theirs cannot hide in it.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence

import attrs

from nvir.ir.errors import NvirError
from nvir.sm.graph import DependenceGraph


class ScheduleError(NvirError, ValueError):
    """A schedule that breaks its graph. `violations` lists how."""

    def __init__(self, violations: list[Violation]) -> None:
        self.violations = violations
        super().__init__("invalid schedule:\n" + "\n".join(f"  {v}" for v in violations))


@attrs.frozen
class Violation:
    """One broken rule.

    kind      "ii", "time", "dependence", "resource" or "pipe"
    nodes     who is involved
    message   the rule with its numbers
    """

    kind: str
    nodes: tuple[int, ...]
    message: str

    def __str__(self) -> str:
        return self.message


def check_schedule(
    graph: DependenceGraph,
    ii: int,
    times: Sequence[int] | Mapping[int, int],
    pipes: Sequence[str] = (),
) -> list[Violation]:
    """All violations of `times`, a start cycle for each node, at the interval `ii`.

    pipes    the pipe that each node takes, "" for none, where the graph has pipes
    """
    if not _is_integer(ii) or ii < 1:
        return [Violation("ii", (), f"the initiation interval {ii!r} is no positive integer")]
    starts, found = _starts(graph, times)
    if found:
        return found
    for i, (src, dst, latency, distance) in enumerate(graph.edges):
        have = starts[dst] + distance * ii - starts[src]
        if have < latency:
            text = (
                f"edge {i} ({src} -> {dst}): starts at {starts[src]} and {starts[dst]} leave "
                f"{have} cycles at II {ii} and distance {distance}, latency is {latency}"
            )
            found.append(Violation("dependence", (src, dst), text))
    return found + _oversubscribed(graph, ii, starts) + _crowded(graph, ii, starts, pipes)


def require_schedule(
    graph: DependenceGraph,
    ii: int,
    times: Sequence[int] | Mapping[int, int],
    pipes: Sequence[str] = (),
) -> None:
    """Raises ScheduleError, with all violations, unless `times` is a schedule at `ii`."""
    violations = check_schedule(graph, ii, times, pipes)
    if violations:
        raise ScheduleError(violations)


def _is_integer(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _starts(
    graph: DependenceGraph, times: Sequence[int] | Mapping[int, int]
) -> tuple[list[int], list[Violation]]:
    """The start of each node, or what is wrong with `times` itself."""
    count = len(graph.nodes)
    if isinstance(times, Mapping):
        strange = [
            Violation("time", (), f"there is no node {k!r}")
            for k in times
            if not _is_integer(k) or not 0 <= k < count
        ]
        given = [times.get(i) for i in range(count)]
    else:
        strange = []
        given = list(times)
        if len(given) != count:
            text = f"{len(given)} times for {count} nodes"
            return [], [Violation("time", (), text)]
    starts: list[int] = []
    for i, t in enumerate(given):
        if t is None:
            strange.append(Violation("time", (i,), f"node {i} has no time"))
        elif not _is_integer(t) or t < 0:
            strange.append(Violation("time", (i,), f"node {i}: {t!r} is no cycle from 0"))
        else:
            starts.append(int(t))
    return starts, strange


def _oversubscribed(graph: DependenceGraph, ii: int, starts: list[int]) -> list[Violation]:
    holders: dict[tuple[str, int], list[int]] = {}
    for i, resource in enumerate(graph.nodes):
        if resource is not None and resource in graph.limits:
            holders.setdefault((resource, starts[i] % ii), []).append(i)
    found = []
    for (resource, slot), nodes in holders.items():
        units = graph.limits[resource]
        if len(nodes) > units:
            who = ", ".join(str(i) for i in nodes)
            text = f"resource {resource!r}, slot {slot} of {ii}: nodes {who} share {units} units"
            found.append(Violation("resource", tuple(nodes), text))
    return found


def _crowded(
    graph: DependenceGraph, ii: int, starts: list[int], pipes: Sequence[str]
) -> list[Violation]:
    """Operations on a pipe that is not theirs, and pipes taken oftener than they have units."""
    if not graph.pipes:
        return []
    if len(pipes) != len(graph.nodes):
        return [Violation("pipe", (), f"{len(pipes)} pipes for {len(graph.nodes)} nodes")]
    found = []
    holders: dict[tuple[str, int], list[int]] = {}
    for i, (name, own) in enumerate(zip(pipes, graph.pipes, strict=True)):
        if name not in own and (name or own):
            text = f"node {i} takes the pipe {name!r}, of {', '.join(map(repr, own)) or 'none'}"
            found.append(Violation("pipe", (i,), text))
        elif name:
            for k in range(graph.intervals[i]):
                holders.setdefault((name, (starts[i] + k) % ii), []).append(i)
    for (name, slot), nodes in holders.items():
        if len(nodes) > graph.pipe_units[name]:
            who = ", ".join(str(i) for i in nodes)
            text = f"pipe {name!r}, slot {slot} of {ii}: busy with nodes {who} at once"
            found.append(Violation("pipe", tuple(nodes), text))
    return found
