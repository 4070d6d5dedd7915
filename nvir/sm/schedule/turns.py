"""What CP-SAT says of an interval of a loop on pipes, in parts that are small: `verdict`.

Recurrences first, alone, as iterative modulo scheduling places them, or else by CP-SAT
(`in_order`). From one operation of a recurrence to another the number of cycles has bounds on both
sides (`bounds.turns`); two that need one unit take turns there, so one starts k intervals and its
own turn after the other, no more than k + 1 less the other's, and few k are within the bounds, most
often one. Without a schedule of the recurrences there is none of the loop.

Then the others, around the slots that the recurrences got (`_packed`). Any iteration will do for
them (`core.apart`); those of one kind are alike, so a kind and a slot are one unknown. Where
recurrences are single operations or none, this decides. If it does not fit both are asked at
once; where half of the loop is recurrences, that is operation by operation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

from nvir.sm.graph import DependenceGraph
from nvir.sm.schedule import cpsat
from nvir.sm.schedule.bounds import LARGEST, takers_of, turns
from nvir.sm.schedule.core import Matrix, apart, rejoin
from nvir.sm.schedule.cpsat import Solution
from nvir.sm.schedule.sweep import cores

NONE: Solution = False, [], []
OPEN: Solution = None, [], []


def verdict(
    graph: DependenceGraph, ii: int, limit_s: float, seed: int = 1,
    purse: cpsat.Purse | None = None,
) -> Solution:
    """As `cpsat.solve`, of a graph with pipes at an II from RecMII on; each part has the limit.

    A schedule that is found may have no units side by side where a pipe has several.
    """
    core = sorted(n for members in graph.recurrences() if len(members) > 1 for n in members)
    loose = apart(graph)
    found, fits = OPEN, None
    for placed in cores(loose, ii) if core else ():
        found = _packed(loose, ii, placed, limit_s, seed, purse)
        if found[0]:
            break
    if not found[0]:
        fits, starts = in_order(loose.part(core), ii, limit_s, seed, purse)
    if fits is False:
        return NONE
    if fits:
        found = _packed(loose, ii, dict(zip(core, starts, strict=True)), limit_s, seed, purse)
        if not core and found[0] is False:
            return NONE
    if not found[0] and 2 * len(core) < len(graph):
        found = _packed(loose, ii, {}, limit_s, seed, purse, core)
    elif not found[0]:
        found = cpsat.solve(loose, ii, limit_s, seed=seed, purse=purse)
    if not found[0]:
        return found
    times = rejoin(graph, ii, found[1])
    first = min(times) // ii * ii
    return True, [t - first for t in times], found[2]


def in_order(
    graph: DependenceGraph, ii: int, limit_s: float, seed: int = 1,
    purse: cpsat.Purse | None = None,
) -> tuple[bool | None, list[int]]:
    """Whether recurrences that no edge joins have a schedule on their single units, and its starts.

    Operations that have a choice of pipes, or units, may share those here: False is a proof for
    the graph, True is not.
    """
    from ortools.sat.python import cp_model

    if len(graph) > LARGEST or limit_s <= 0:
        return None, []
    gap = turns(graph, ii)
    if gap is None:
        return False, []
    model = cp_model.CpModel()
    starts, windows = _starts(model, graph, gap, ii)
    for src, dst, latency, distance in graph.edges:
        if src != dst:
            model.add(starts[dst] - starts[src] >= latency - distance * ii)
    for (i, j), (first, second) in _pairs(graph).items():
        low, high = windows[j][0] - windows[i][1], windows[j][1] - windows[i][0]
        rounds = range((max(low, gap[i][j]) + second - 1) // ii,
                       (min(high, -gap[j][i]) - first) // ii + 1)
        if not rounds or first + second > ii:
            return False, []
        if len(rounds) == 1:
            apart_by = first + rounds[0] * ii, rounds[0] * ii + ii - second
            model.add_linear_constraint(starts[j] - starts[i], *apart_by)
            continue
        taken = [model.new_bool_var("") for _ in rounds]
        model.add_exactly_one(taken)
        for k, here in zip(rounds, taken, strict=True):
            model.add(starts[j] - starts[i] >= first + k * ii).only_enforce_if(here)
            model.add(starts[j] - starts[i] <= (k + 1) * ii - second).only_enforce_if(here)
    found, solver, _ = cpsat.run(model, limit_s, seed, purse)
    return found, [solver.value(s) for s in starts] if found else []


def _starts(
    model: Any, graph: DependenceGraph, gap: Matrix, ii: int
) -> tuple[list[Any], list[tuple[int, int]]]:
    """The start of each operation and its bounds: of each recurrence one starts within II cycles,
    the first at 0, and all others are as near to it as the gaps say."""
    edges = Counter(n for src, dst, *_ in graph.edges for n in (src, dst))
    starts: list[Any] = [None] * len(graph)
    windows = [(0, 0)] * len(graph)
    for later, members in enumerate(graph.recurrences()):
        first = max(members, key=edges.__getitem__)
        for n in members:
            windows[n] = gap[first][n], -gap[n][first] + (ii - 1 if later else 0)
            starts[n] = model.new_int_var(*windows[n], "")
    return starts, windows


def _pairs(graph: DependenceGraph) -> dict[tuple[int, int], tuple[int, int]]:
    """Pairs of operations that need one unit, and for how long each keeps it at most."""
    pairs: dict[tuple[int, int], tuple[int, int]] = {}
    for takers in takers_of(graph):
        for i, j in combinations(sorted(takers), 2):
            one, two = pairs.get((i, j), (0, 0))
            pairs[i, j] = max(one, takers[i]), max(two, takers[j])
    return pairs


def _packed(
    graph: DependenceGraph, ii: int, placed: Mapping[int, int], limit_s: float, seed: int,
    purse: cpsat.Purse | None, core: Sequence[int] = (),
) -> Solution:
    """A schedule with some operations where they are placed, the others in any slots, but for
    recurrences that are not placed: those keep their dependences."""
    from ortools.sat.python import cp_model

    kinds = list(_kinds(graph, ii, placed, core))
    if sum(len(slots) for _, slots in kinds) > cpsat.LARGEST:
        return OPEN
    model = cp_model.CpModel()
    users: dict[tuple[str | int, int], list[Any]] = {}  # who keeps a unit busy in a slot
    choices: list[tuple[list[int], list[tuple[Any, int, str]]]] = []
    for alike, slots in kinds:
        n = alike[0]
        unit, own = graph.resources[n], []
        for t, p in product(slots, graph.pipes[n] or ("",)):
            here = model.new_int_var(0, len(alike), "")
            own.append((here, t, p))
            if unit >= 0:
                users.setdefault((unit, t), []).append(here)
            for k in range(graph.intervals[n] if p else 0):
                users.setdefault((p, (t + k) % ii), []).append(here)
        model.add(sum(here for here, *_ in own) == len(alike))
        choices.append((alike, own))
    for (name, _), some in users.items():
        units = graph.pipe_units[name] if isinstance(name, str) else graph.units[name]
        model.add(sum(some) <= units)
    starts = _linked(model, graph, ii, core, choices) if core else []
    found, solver, _ = cpsat.run(model, limit_s, seed, purse)
    times, pipes = [placed.get(n, 0) for n in range(len(graph))], [""] * len(graph)
    for alike, own in choices if found else ():
        taken = [(t, p) for here, t, p in own for _ in range(solver.value(here))]
        for n, (t, p) in zip(alike, taken, strict=True):
            times[n], pipes[n] = placed.get(n, t), p
    for n, start in zip(core, starts, strict=True) if found else ():
        times[n] = solver.value(start)
    return found, times, pipes


def _linked(
    model: Any, graph: DependenceGraph, ii: int, core: Sequence[int],
    choices: Sequence[tuple[list[int], list[tuple[Any, int, str]]]],
) -> list[Any]:
    """The starts of recurrences, in the slots that are chosen for them."""
    part = graph.part(core)
    gap = turns(part, ii)
    if gap is None:
        model.add_bool_or([])
        return [model.new_constant(0) for _ in core]
    starts, windows = _starts(model, part, gap, ii)
    for src, dst, latency, distance in part.edges:
        if src != dst:
            model.add(starts[dst] - starts[src] >= latency - distance * ii)
    own = {alike[0]: some for alike, some in choices}
    for n, start, (low, high) in zip(core, starts, windows, strict=True):
        stage = model.new_int_var(low // ii, high // ii, "")
        model.add(start == sum(t * here for here, t, _ in own[n]) + ii * stage)
    return starts


def _kinds(
    graph: DependenceGraph, ii: int, placed: Mapping[int, int], core: Sequence[int]
) -> Iterator[tuple[list[int], Sequence[int]]]:
    """Operations that nothing tells apart, and the slots in which they may start."""
    kinds: dict[Any, list[int]] = {}
    alone = set(core)
    for n in range(len(graph)):
        if n in placed:
            yield [n], (placed[n] % ii,)
        elif n in alone:
            yield [n], range(ii)
        else:
            kind = graph.resources[n], graph.pipes[n], graph.intervals[n]
            kinds.setdefault(kind, []).append(n)
    for (unit, names, _), alike in kinds.items():
        yield alike, range(ii) if unit >= 0 or names else (0,)
