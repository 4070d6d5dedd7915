"""Stall counts and scoreboards: the control fields of a kernel's instructions.

    stall     cycles until the next instruction of the warp may issue. The field holds 15; what is
              longer is waited for by a scoreboard or by instructions that do nothing
    set       the barrier that an operation of variable latency signals: when its results are there
              ("write"), or when it has read its operands ("read")
    wait      the barriers that an instruction waits for

There are six barriers. An operation holds one from its issue to the first instruction that waits
for it; on physical registers that is at most one interval, so arcs around the kernel are coloured.
Where six are too few, arcs share one: who waits then waits for all that is in flight on it. The
barrier is taken with which that costs least, and `extra` says how many cycles it adds.
The yield hint is not modelled: the real tool's rule for it is not known.

Cost    arcs times barriers, on slots as bits.
Source  S. Gray, MaxAs, "Control Codes"; Huerta et al., "Analyzing Modern NVIDIA GPU Cores", 2025.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import attrs

from nvir.sm.postra.code import LoopCode
from nvir.sm.postra.dependences import (
    Dependence,
    reads_late,
    result_is_variable,
)

BARRIERS = 6
LONGEST_STALL = 15


@attrs.frozen
class Fields:
    """The control fields of one instruction. Barriers are numbered from 0; None: sets none."""

    stall: int
    write: int | None = None
    read: int | None = None
    wait: tuple[int, ...] = ()


@attrs.frozen
class Control:
    """Fields by operation; barriers in use; cycles a pass that shared barriers may add."""

    fields: tuple[Fields, ...]
    barriers: int
    extra: int


@attrs.frozen
class _Arc:
    """From an issue to the first wait; what is waited for is done `lands` after the issue."""

    node: int
    kind: Literal["write", "read"]
    start: int
    end: int
    waiter: int
    lands: int


def control(
    code: LoopCode, found: Sequence[Dependence], ii: int, times: Sequence[int], level: str = "l1"
) -> Control:
    """The control fields of a kernel with these cycles."""
    arcs = _arcs(code, found, ii, times, level)
    barrier, extra = _colour(arcs, ii)
    waits: dict[int, set[int]] = {}
    sets: dict[tuple[int, str], int] = {}
    for arc, b in zip(arcs, barrier, strict=True):
        waits.setdefault(arc.waiter, set()).add(b)
        sets[arc.node, arc.kind] = b
    order = sorted(range(len(times)), key=lambda n: (times[n] % ii, times[n], n))
    stall: dict[int, int] = {}
    for k, n in enumerate(order):
        follow = order[(k + 1) % len(order)]
        gap = times[follow] % ii - times[n] % ii + (ii if k + 1 == len(order) else 0)
        stall[n] = gap
    return Control(
        tuple(
            Fields(stall[n], sets.get((n, "write")), sets.get((n, "read")),
                   tuple(sorted(waits.get(n, ()))))
            for n in range(len(times))
        ),
        len(set(barrier)), extra,
    )  # fmt: skip


def _arcs(
    code: LoopCode, found: Sequence[Dependence], ii: int, times: Sequence[int], level: str
) -> list[_Arc]:
    profile = code.profile
    first: dict[tuple[int, Literal["write", "read"]], tuple[int, int, int]] = {}
    for d in found:
        op = code.operations[d.source]
        if d.register is None or d.register[0] == "M":
            continue
        kind: Literal["write", "read"]
        if d.kind == "WAR":
            if not reads_late(profile, op):
                continue
            kind, lands = "read", d.cycles
        else:
            if not result_is_variable(profile, op):
                continue
            kind, lands = "write", profile.latency(op.family, level=level)
        end = times[d.target] + d.distance * ii
        key = (d.source, kind)
        if key not in first or end < first[key][0]:
            first[key] = (end, d.target, lands)
    arcs = [
        _Arc(n, kind, times[n], end, waiter, lands)
        for (n, kind), (end, waiter, lands) in first.items()
    ]
    # who waits for a write has also waited for the operands of the same operation to be read
    ends = {a.node: a.end for a in arcs if a.kind == "write"}
    arcs = [a for a in arcs if a.kind == "write" or a.end < ends.get(a.node, a.end + 1)]
    return sorted(arcs, key=lambda a: (a.start % ii, a.start, a.node))


def _colour(arcs: Sequence[_Arc], ii: int) -> tuple[list[int], int]:
    """(barrier of each arc, cycles that sharing adds)."""
    full = (1 << ii) - 1
    held = [0] * BARRIERS
    members: list[list[_Arc]] = [[] for _ in range(BARRIERS)]
    out, extra = [], 0
    for a in arcs:
        bits = ((1 << min(ii, max(1, a.end - a.start))) - 1) << a.start % ii
        bits = (bits | bits >> ii) & full
        free = [b for b in range(BARRIERS) if not held[b] & bits]
        if free:
            b = free[0]
        else:
            costs = [sum(_delay(a, m, ii) + _delay(m, a, ii) for m in members[b])
                     for b in range(BARRIERS)]  # fmt: skip
            b = costs.index(min(costs))
            extra += costs[b]
        held[b] |= bits
        members[b].append(a)
        out.append(b)
    return out, extra


def _delay(a: _Arc, other: _Arc, ii: int) -> int:
    """Cycles that who waits for `a` waits longer because `other` is on the same barrier."""
    since = (a.end - other.start) % ii or ii  # cycles from the other's last issue to the wait
    return max(0, other.lands - since)
