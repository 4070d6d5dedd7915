"""Stall counts and scoreboards: the control fields of a kernel's instructions.

    stall     cycles until the next instruction of the warp may issue. The field holds 15; what is
              longer is waited for by a scoreboard or by instructions that do nothing
    set       the barrier that an operation of variable latency signals: when its results are there
              ("write"), or when it has read its operands ("read")
    wait      the barriers that an instruction waits for

There are six barriers. An operation holds one from its issue to the first instruction that waits
for it; on physical registers that is at most one interval, so arcs around the kernel are coloured.
Where six are too few, arcs share one: a barrier counts what is in flight on it, and who waits for
it waits for all of that. The barrier is taken with which that costs least by itself; what all of
them add to a pass, `extra`, is found by letting passes follow each other until they take the same
time. `waits` are the same waits for whoever simulates the kernel.
The yield hint is not modelled: the real tool's rule for it is not known.

Cost    arcs times barriers, on slots as bits.
Source  S. Gray, MaxAs, "Control Codes"; Huerta et al., "Analyzing Modern NVIDIA GPU Cores", 2025.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import attrs

from nvir.assembler.postra.code import LoopCode
from nvir.assembler.postra.dependences import (
    Dependence,
    reads_late,
    result_is_variable,
)

BARRIERS = 6
LONGEST_STALL = 15
PASSES = 16  # until passes of a kernel take the same time: a few stages


@attrs.frozen
class Fields:
    """The control fields of one instruction. Barriers are numbered from 0; None: sets none."""

    stall: int
    write: int | None = None
    read: int | None = None
    wait: tuple[int, ...] = ()


@attrs.frozen
class BarrierWait:
    """`waiter` issues `lands` cycles after what `setter` issued last, `passes` before, or later.

    is_read   the setter signals that it has read its operands, not that its result is there
    """

    waiter: int
    setter: int
    passes: int
    lands: int
    is_read: bool


@attrs.frozen
class _Arc:
    """From an issue to the first wait; what is waited for is done `lands` after the issue."""

    node: int
    kind: Literal["write", "read"]
    start: int
    end: int
    waiter: int
    lands: int


@attrs.frozen
class KernelControl:
    """Fields by operation; barriers in use; cycles a pass that shared barriers add.

    held   what signals each barrier, arc by arc, with its number
    place  of each operation in a pass
    """

    fields: tuple[Fields, ...]
    barriers: int
    extra: int
    held: tuple[tuple[_Arc, int], ...] = ()
    place: Mapping[int, int] = attrs.field(factory=dict)

    def waits(self) -> list[BarrierWait]:
        """Who waits for what: every waiter for all that signals its barrier. The square of what
        share one."""
        members: dict[int, list[_Arc]] = {}
        waiters: dict[int, set[int]] = {}
        for arc, b in self.held:
            members.setdefault(b, []).append(arc)
            waiters.setdefault(b, set()).add(arc.waiter)
        place = self.place
        return [
            BarrierWait(n, a.node, int(place[a.node] >= place[n]), a.lands, a.kind == "read")
            for b, found in waiters.items() for n in sorted(found) for a in members[b]
        ]


def control(
    code: LoopCode, found: Sequence[Dependence], ii: int, times: Sequence[int], level: str = "l1"
) -> KernelControl:
    """The control fields of a kernel with these cycles."""
    arcs = _arcs(code, found, ii, times, level)
    barrier = _colour(arcs, ii)
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
    held = tuple(zip(arcs, barrier, strict=True))
    return KernelControl(
        tuple(
            Fields(stall[n], sets.get((n, "write")), sets.get((n, "read")),
                   tuple(sorted(waits.get(n, ()))))
            for n in range(len(times))
        ),
        len(set(barrier)), _added(held, order, stall, ii), held,
        {n: k for k, n in enumerate(order)},
    )


def _added(
    held: Sequence[tuple[_Arc, int]], order: Sequence[int], stall: dict[int, int], ii: int
) -> int:
    """Cycles by which a pass is longer than the interval, because of its waits: each for all that
    has been issued on its barrier."""
    waits: dict[int, set[int]] = {}
    signals: dict[int, list[tuple[int, int]]] = {}
    for arc, b in held:
        waits.setdefault(arc.waiter, set()).add(b)
        signals.setdefault(arc.node, []).append((b, arc.lands))
    done = [0] * BARRIERS  # when all that was issued on each has landed
    now, starts = 0, []
    for _ in range(PASSES):
        for n in order:
            now = max([now, *(done[b] for b in waits.get(n, ()))])
            if n == order[0]:
                starts.append(now)
            for b, lands in signals.get(n, ()):
                done[b] = max(done[b], now + lands)
            now += stall[n]
    half = PASSES // 2
    return -(-(starts[-1] - starts[-1 - half]) // half) - ii


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
        _Arc(n, kind, times[n], end, waiter, min(lands, end - times[n]))
        for (n, kind), (end, waiter, lands) in first.items()
    ]
    # who waits for a write has also waited for the operands of the same operation to be read
    ends = {a.node: a.end for a in arcs if a.kind == "write"}
    arcs = [a for a in arcs if a.kind == "write" or a.end < ends.get(a.node, a.end + 1)]
    return sorted(arcs, key=lambda a: (a.start % ii, a.start, a.node))


def _colour(arcs: Sequence[_Arc], ii: int) -> list[int]:
    """The barrier of each arc."""
    full = (1 << ii) - 1
    held = [0] * BARRIERS
    members: list[list[_Arc]] = [[] for _ in range(BARRIERS)]
    out: list[int] = []
    for a in arcs:
        bits = ((1 << min(ii, max(1, a.end - a.start))) - 1) << a.start % ii
        bits = (bits | bits >> ii) & full
        free = [b for b in range(BARRIERS) if not held[b] & bits]
        if free:
            b = free[0]
        else:
            costs = [sum(_delay(a, m, ii) + _delay(m, a, ii) for m in members[b])
                     for b in range(BARRIERS)]
            b = costs.index(min(costs))
        held[b] |= bits
        members[b].append(a)
        out.append(b)
    return out


def _delay(a: _Arc, other: _Arc, ii: int) -> int:
    """Cycles that who waits for `a` waits longer because `other` is on the same barrier."""
    since = (a.end - other.start) % ii or ii  # cycles from the other's last issue to the wait
    return max(0, other.lands - since)
