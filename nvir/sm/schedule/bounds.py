"""Resource-aware longest paths: when an interval is impossible, and how far apart things are.

Between two operations i and j of a recurrence, all operations of one resource that must
run after i and before j share the cycles in between. If S of them can start no earlier
than a after i and leave no less than b before j, then

    t(j) - t(i) >= a + ceil(|S| / units) - 1 + b

The best such bound over all S is what Jackson's preemptive schedule gives; for operations
of one cycle it is exact. Each bound found lengthens the matrix, which is closed again; a
positive diagonal proves that no schedule exists at this II. On a single unit a gap that is
a multiple of II is one cycle longer, since the two would meet in one slot. Twins, which
nothing tells apart, are put in order.

Cost    O(n) to O(n^2) Jackson schedules a round over n operations, a few rounds.
Source  J. Carlier, E. Pinson, "Adjustment of heads and tails for the job-shop problem",
        EJOR 78, 1994; for the modulo case own work.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from nvir.sm.graph import DependenceGraph
from nvir.sm.schedule.core import Component, CoreGroup, Matrix
from nvir.sm.schedule.live_bound import NEVER, distances

ROUNDS = 12
FEW = 2
"""Rounds of turns that are not taken modulo an interval: those that are come after them."""
ENOUGH = 100_000
"""Work after which no further round is begun: the first finds nearly all."""
WIDE = 24
"""Operations from which numpy closes a matrix faster than lists do."""
SAFE = 1 << 40
"""Gaps below this cannot overflow 64 bits before a positive cycle is seen."""
LARGEST = 128
"""Operations beyond which a recurrence is left to the search: a round is cubic."""


def overfull(group: CoreGroup) -> bool:
    """Whether some recurrence comes back to an operation too early for its resources.

    The quick test: one Jackson schedule for each operation and resource.
    """
    return any(_Packing(c, group.units).overfull() for c in group.components)


def tighten(group: CoreGroup, ii: int) -> tuple[bool, int]:
    """Lengthens the gaps of `group` as its resources force; the work is as of `exact.Search`.

    (False, work) proves that there is no schedule at `ii`.
    """
    work = 0
    for component in group.components:
        size = len(component.gap)
        if size > LARGEST:
            continue
        _order_twins(component)
        if not close(component.gap):
            return False, work
        for _ in range(ROUNDS):
            packing = _Packing(component, group.units)
            changed = packing.part_equals(ii)
            feasible = not packing.overfull() and packing.push_apart(ii)
            work += packing.work + size**3 // 8
            if not feasible or not close(component.gap):
                return False, work
            if not (changed or packing.changed) or work > ENOUGH:
                break
    return True, work


def turns(graph: DependenceGraph, ii: int, ring: bool = True) -> Matrix | None:
    """The least cycles between operations, with their turns; None where pipes rule `ii` out.

    Operations of one unit that have to run after i and before j take turns there, each for as
    long as it keeps the unit busy; what that adds to the way from i to j lengthens other ways.

    ring    whether turns are taken modulo `ii`. Without it only operations that an edge joins wait
            for each other across iterations, and None rules all smaller intervals out as well: a
            schedule that meets the rest meets it at larger intervals too.
    """
    import numpy as np

    gap = distances(graph, ii)
    if gap is None:
        return None
    joined = np.minimum(gap, gap.T) > NEVER // 2
    units = sorted(takers_of(graph), key=len)
    if not ring:  # cycles of issue slots are many and say little: they come after as well
        units = [takers for takers in units if max(takers.values()) > 1] or units
    for src, dst, latency, distance in graph.edges:
        for takers in units:
            if src in takers and latency > -takers.get(dst, -latency):
                gap[src, dst] = max(gap[src, dst], takers[src] - distance * ii)
    for _ in range(ROUNDS if ring else FEW):
        before = gap.copy()
        for takers in units:
            _side_by_side(gap, joined, takers, ii if ring else None)
            _take_turns(gap, joined, takers)
            if not _closed(gap):
                return None
        if np.array_equal(before, gap):
            break
    found: Matrix = gap.tolist()
    return found


def takers_of(graph: DependenceGraph) -> list[dict[int, int]]:
    """For each single unit the operations that need it, and for how long: issue slots, pipes."""
    found: dict[str | int, dict[int, int]] = {}
    for n, (r, names) in enumerate(zip(graph.resources, graph.pipes, strict=True)):
        if r >= 0 and graph.units[r] == 1:
            found.setdefault(r, {})[n] = 1
        if len(names) == 1 and graph.pipe_units[names[0]] == 1:
            found.setdefault(names[0], {})[n] = graph.intervals[n]
    return list(found.values())


def _side_by_side(gap: Any, joined: Any, takers: Mapping[int, int], ii: int | None) -> None:
    """Lengthens ways between two operations of a unit that would overlap, modulo `ii` if given."""
    import numpy as np

    here, busy = np.array([*takers]), np.array([*takers.values()])
    there = np.ix_(here, here)
    ways, first = gap[there], busy[:, None]
    if ii is None:
        lack = np.where((ways > -busy) & (ways < first), first - ways, 0)
    else:
        apart = ways % ii
        lack = np.where(apart < first, first - apart,
                        np.where(apart > ii - busy, ii - apart + first, 0))
    np.fill_diagonal(lack, 0)
    gap[there] = ways + np.where(joined[there], lack, 0)


def _take_turns(gap: Any, joined: Any, takers: Mapping[int, int]) -> None:
    """Lengthens ways by the turns of those between their ends on a unit.

    An operation counts only where it can make the way longer together with all that count.
    """
    import numpy as np

    here, busy = np.array([*takers]), np.array([*takers.values()])[:, None]
    for i, (ahead, behind) in enumerate(zip(gap[:, here].copy(), joined, strict=True)):
        through = ahead[:, None] + gap[here] - busy
        counts, before = behind & (through > NEVER // 2), 0
        while (left := int(counts.sum())) != before:
            before = left
            counts &= through + (busy * counts).sum(axis=0) > gap[i]
        rows, columns = np.flatnonzero(counts.any(axis=1)), np.flatnonzero(counts.any(axis=0))
        rows = rows[np.argsort(-ahead[rows])]
        tail = np.where(counts, through - ahead[:, None], 2 * NEVER)[np.ix_(rows, columns)]
        for least in tail:  # those who have at least so far to go, the nearest last
            turn = np.cumsum(busy[rows] * (tail >= least), axis=0) + ahead[rows, None]
            longest = (turn + np.where(tail >= least, least, 2 * NEVER)).max(axis=0)
            gap[i, columns] = np.maximum(gap[i, columns], longest)


class _Packing:
    """One round over the pairs of a component, with its gaps by resource as they stood before."""

    __slots__ = ("changed", "columns", "gap", "rows", "units", "users", "work")

    def __init__(self, component: Component, units: dict[int, int]) -> None:
        self.gap, self.units = component.gap, units
        self.users: dict[int, list[int]] = {}
        for i, resource in enumerate(component.resources):
            self.users.setdefault(resource, []).append(i)
        span = range(len(self.gap))
        self.rows = {
            r: [[row[v] for v in nodes] for row in self.gap] for r, nodes in self.users.items()
        }
        self.columns = {
            r: [[self.gap[v][j] for v in nodes] for j in span] for r, nodes in self.users.items()
        }
        self.changed = False
        self.work = 0

    def overfull(self) -> bool:
        """Whether some operation is pushed apart from itself."""
        span = range(len(self.gap))
        return any(self.between(resource, i, i) > 0 for resource in self.users for i in span)

    def part_equals(self, ii: int) -> bool:
        """Two operations on a single unit never meet in a slot."""
        changed, gap = False, self.gap
        for resource, nodes in self.users.items():
            if self.units[resource] == 1:
                for i in nodes:
                    for j in nodes:
                        if i != j and gap[i][j] % ii == 0:
                            gap[i][j] += 1
                            changed = True
        return changed

    def push_apart(self, near: int) -> bool:
        """Bounds the pairs of users of a resource that are within `near` cycles or so.

        False proves infeasibility. Pairs that use different resources would add little.
        """
        gap = self.gap
        for resource, nodes in self.users.items():
            if len(nodes) <= self.units[resource]:
                continue
            reach = near - (-len(nodes) // self.units[resource])
            for i in nodes:
                for j in nodes:
                    if gap[i][j] + gap[j][i] > -reach:
                        longer = self.between(resource, i, j)
                        if longer > gap[i][j]:
                            if i == j:
                                return False
                            gap[i][j] = longer
                            self.changed = True
        return True

    def between(self, resource: int, i: int, j: int) -> int:
        """The least t(j) - t(i) that leaves room for the users of `resource`, or the known gap."""
        known, units = self.gap[i][j], self.units[resource]
        heads, tails = self.rows[resource][i], self.columns[resource][j]
        self.work += len(heads) // 4
        least = known + (-len(heads) // units) + 1
        tasks = [(b, a) for a, b in zip(heads, tails, strict=True) if a + b > least]
        while len(tasks) > units:  # only tasks near enough to both can push them apart
            least = known + (-len(tasks) // units) + 1
            near = [task for task in tasks if task[0] + task[1] > least]
            if len(near) == len(tasks):
                self.work += 3 * len(tasks)
                return max(known, _jackson(tasks, units))
            tasks = near
        return known


def _jackson(tasks: list[tuple[int, int]], units: int) -> int:
    """The length of the best schedule of one-cycle `(tail, head)` tasks on `units` machines.

    Counted from the common origin of the heads to that of the tails, start to start. The
    longest tail first, each task as early as there is room, is optimal for unit tasks.
    """
    tasks.sort(reverse=True)
    used: dict[int, int] = {}
    full: dict[int, int] = {}  # a full cycle -> a later one to look at
    best = tasks[0][0] + tasks[0][1]
    for tail, now in tasks:
        while now in full:
            now = full[now]
        if now + tail > best:
            best = now + tail
        count = used.get(now, 0) + 1
        if count == units:
            full[now] = now + 1
        else:
            used[now] = count
    return best


def close(gap: Matrix) -> bool:
    """Composes gaps until nothing changes; False if that makes a positive cycle."""
    if len(gap) >= WIDE and max(max(map(abs, row)) for row in gap) < SAFE:
        return _close_wide(gap)
    for k, via in enumerate(gap):
        for i, row in enumerate(gap):
            first = row[k]
            gap[i] = [
                old if old >= first + more else first + more
                for old, more in zip(row, via, strict=True)
            ]
        if gap[k][k] > 0:
            return False
    return all(row[i] <= 0 for i, row in enumerate(gap))


def _close_wide(gap: Matrix) -> bool:
    import numpy as np

    paths = np.array(gap, dtype=np.int64)
    feasible = _closed(paths)
    gap[:] = paths.tolist()
    return feasible


def _closed(paths: Any) -> bool:
    """Composes gaps of an array of numpy until nothing changes; False for a positive cycle."""
    import numpy as np

    for k in range(len(paths)):
        np.maximum(paths, paths[:, k, None] + paths[k], out=paths)
        if paths[k, k] > 0:
            return False
    return bool((paths.diagonal() <= 0).all())


def _order_twins(component: Component) -> None:
    """Puts operations in order that share a resource and all gaps to others: no schedule is lost.

    Being twins is an equivalence, so each is compared with the first of its kind.
    """
    gap, resources = component.gap, component.resources
    span = range(len(gap))
    columns = [[row[i] for row in gap] for i in span]
    alike: dict[tuple[int, ...], list[list[int]]] = {}
    for i in span:
        key = (resources[i], *sorted(gap[i]), *sorted(columns[i]))
        kinds = alike.setdefault(key, [])
        for twins in kinds:
            if _are_twins(gap, columns, twins[0], i):
                twins.append(i)
                break
        else:
            kinds.append([i])
    for kinds in alike.values():
        for twins in kinds:
            for i, j in itertools.pairwise(twins):
                gap[i][j] = 0


def _are_twins(gap: Matrix, columns: Matrix, i: int, j: int) -> bool:
    return gap[i][j] == gap[j][i] < 0 and all(
        gap[i][k] == gap[j][k] and columns[i][k] == columns[j][k]
        for k in range(len(gap))
        if k not in (i, j)
    )
