"""Software pipelining on physical registers: the interval, the placement, the control fields.

Under policy `observed`:

    1. the modulo scheduler (`nvir.sm.schedule`) finds interval and stages for the graph of the
       physical registers, false dependences included
    2. the schedule is turned until the branch stands in the kernel's last slot
    3. `place` puts each operation at a cycle: banks, pipes, issue
    4. `control` adds stall counts and scoreboards

The interval has one owner, step 1: `place` only says whether the stages fit; the owner then raises
it, a few times. Stages that fit none leave the body unpipelined: one stage, in its order.

Under policy `documented` the owner is phase 24, which has pipelined the loop before allocation, and
here its kernel arrives with interval, stages and slots (`handed`). Nothing is searched: an
operation is placed next to its slot, as the registers allow, or the kernel stays in its order, as
does a loop that phase 24 did not pipeline.

What the registers cost is said: the interval without false dependences, and the register and the
pair of operations on the cycle that binds.

Cost    that of `nvir.sm.modulo_schedule`, twice where false dependences bind.
Source  notes on ptxas, its post-RA SoftwarePipeline variant; whose passages contradict each other
        on the interval: one says it is raised there, another, taken here, that it never is.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from nvir.assembler.postra.code import LoopCode
from nvir.assembler.postra.control import KernelControl, control
from nvir.assembler.postra.dependences import (
    CarriedDependence,
    Dependence,
    dependences,
    register_carried,
)
from nvir.assembler.postra.handed import Handed
from nvir.assembler.postra.place import (
    Placement,
    PlacementWindows,
    has_conflict,
    place,
    placement_of,
)
from nvir.assembler.postra.records import STAGE_BITS, Variant
from nvir.ir.errors import NvirError
from nvir.ir.text.trace import note
from nvir.sm.graph import DependenceGraph
from nvir.sm.loopgraph import machine_graph
from nvir.sm.mii import minimum_ii
from nvir.sm.schedule.driver import ModuloSchedule, modulo_schedule

RAISES = 12  # of the interval, before the loop stays unpipelined
IN_ORDER = "one stage, in the body's order"
BRANCH_STALL, BRANCH_GAP = 5, 7  # as in `nvir.sm.simulate.engine`


@attrs.frozen(eq=False)
class PostRaSchedule:
    """A loop's schedule on physical registers.

    true_ii     the bound of pipes and true dependences: what other registers could reach
    bound       the bound of all dependences and pipes
    owner_ii    what the modulo scheduler found; `ii` is that or more; `owner_live` its MaxLive
    raised_by   false dependences on the cycle that binds; empty where none binds
    carried     phase A's table
    reference   the body with registers of its own that the code stands for, see `fold`; None where
                the code says itself what it computes
    handed      what phase 24 gave, `handed_stages` the stage of each operation by it: `ii` is a
                round of the kernel, whose operations overlap already, and counts as one stage here
    """

    code: LoopCode
    dependences: tuple[Dependence, ...]
    ii: int
    stages: int
    true_ii: int
    bound: int
    owner_ii: int
    raised_by: tuple[Dependence, ...]
    placement: Placement
    carried: dict[int, tuple[CarriedDependence, ...]]
    control: KernelControl
    is_pipelined: bool
    reason: str = ""
    owner_live: int = 0
    reference: LoopCode | None = None
    handed: Handed | None = None
    handed_stages: tuple[int, ...] = ()

    @property
    def times(self) -> tuple[int, ...]:
        return tuple(self.placement.records[n].cycle for n in range(len(self.code.operations)))

    def order(self) -> list[int]:
        """The operations by slot of the kernel."""
        t = self.times
        return sorted(range(len(t)), key=lambda n: (t[n] % self.ii, t[n], n))

    @property
    def branch_cycles(self) -> int:
        """Cycles a pass that the taken branch costs beyond the slots behind it."""
        order, t, ii = self.order(), self.times, self.ii
        if self.code.branch is None or self.code.profile.issue_width is None or len(order) < 2:
            return 0
        after = t[order[0]] % ii + ii - t[self.code.branch] % ii
        before = t[self.code.branch] % ii - t[order[-2]] % ii
        return max(0, BRANCH_STALL - after, BRANCH_GAP - after - before)

    @property
    def cycles(self) -> int:
        """Predicted cycles an iteration of one warp: the interval, the branch, shared barriers.

        The bandwidth of memory is not in it: that is the simulator's.
        """
        return self.ii + self.branch_cycles + self.control.extra


def schedule(
    code: LoopCode, *, level: str = "l1", policy: str = "observed", effort: str = "quick",
    register_limit: int | None = None, given: Handed | None = None,
) -> PostRaSchedule:
    """Pipeline a loop on its registers.

    level     where loads hit
    given     policy documented: what phase 24 handed over
    effort    of the modulo scheduler: "quick", "interval" or "full"
    register_limit   live registers for which it raises the interval
    Raises NvirError for a body without operations, Unsupported for one that the machine lacks.
    """
    if not code.operations:
        raise NvirError(f"loop {code.name}: no operation is left in its body")
    if policy == "documented":
        return _as_handed(code, given, level)
    found = dependences(code, level=level, policy=policy)
    bounds = _bounds(code, found)
    made = modulo_schedule(
        bounds.graph, solver="none", effort=effort, sizes=_sizes(code),
        register_limit=register_limit,
        register_edges=[k for k, d in enumerate(found) if d.kind == "RAW"],
    )
    placed, carried, reason = _place(code, found, made)
    pipelined = placed is not None
    if placed is None:
        note("PRA-01", "fails back", IN_ORDER, loop=code.name, why=reason)
        placed, carried = _one_stage(code, found)
    if max(r.stage for r in placed.records.values()) == 0:
        pipelined = False
        reason = reason or "no two iterations overlap"
    stages = max(r.stage for r in placed.records.values()) + 1
    times = [placed.records[n].cycle for n in range(len(code.operations))]
    return PostRaSchedule(
        code, tuple(found), placed.ii, stages, bounds.true_ii, bounds.all, made.ii,
        bounds.raised, placed, carried,
        control(code, found, placed.ii, times, level), pipelined, reason, made.max_live,
    )


@attrs.frozen(eq=False)
class _Bounds:
    """graph    what the modulo scheduler reads
    true_ii, all   the bounds without false dependences, and with them
    raised      the false ones on the cycle that binds
    """

    graph: DependenceGraph
    true_ii: int
    all: int
    raised: tuple[Dependence, ...]


def _bounds(code: LoopCode, found: Sequence[Dependence]) -> _Bounds:
    graph = _machine_graph(code, found)
    bounds = minimum_ii(graph)
    true_ii = minimum_ii(_machine_graph(code, [d for d in found if not d.is_false])).mii
    raised: tuple[Dependence, ...] = ()
    if bounds.recurrence is not None and bounds.rec_mii > true_ii:
        raised = tuple(found[e] for e in bounds.recurrence.edges if found[e].is_false)
    return _Bounds(graph, true_ii, bounds.mii, raised)


def _one_stage(
    code: LoopCode, found: Sequence[Dependence], marked: bool = True
) -> tuple[Placement, dict[int, tuple[CarriedDependence, ...]]]:
    """The placement of the body in its order, and phase A's table."""
    carried = register_carried(found, [0] * len(code.operations), 0, 0, code.block)
    return in_order(code, found, marked), carried


# ------------------------------------------------------------- what phase 24 gave


def _as_handed(code: LoopCode, given: Handed | None, level: str) -> PostRaSchedule:
    """A kernel at the slots that phase 24 gave; in its order what it did not pipeline, and what
    its registers do not let stand in that interval."""
    stages = [0 if given is None else given.stage(op) for op in code.operations]
    variant = Variant.LOOP if given is None else Variant.SOFTWARE_PIPELINE
    note("PRA-09", "variant", variant.value.name, loop=code.name)
    if given is None:
        note("PRA-01", "nothing given", IN_ORDER, loop=code.name,
             why="phase 24 did not pipeline the loop")
    else:
        note("PRA-01", "interval and stages given", f"II {given.ii}, {given.stages} stages",
             loop=code.name, mask=f"{_mask(stages):b}", stages=stages, copies=given.copies)
    found = dependences(code, level=level, policy="documented")
    bounds = _bounds(code, found)
    kept = None if given is None else _at_slots(code, found, given, stages)
    if kept is not None:
        placed, carried, reason = *kept, ""
    elif given is None:
        reason = "phase 24 did not pipeline it"
        placed, carried = _one_stage(code, found, marked=False)
    else:
        reason = f"the operations do not fit the interval {given.ii}: {_misfit(found, given, code)}"
        note("PRA-01", "fails back", IN_ORDER, loop=code.name, why=reason)
        placed, carried = _one_stage(code, found, marked=False)
    times = [placed.records[n].cycle for n in range(len(code.operations))]
    return PostRaSchedule(
        code, tuple(found), placed.ii, 1, bounds.true_ii, bounds.all, placed.ii, bounds.raised,
        placed, carried, control(code, found, placed.ii, times, level), kept is not None, reason,
        handed=given, handed_stages=tuple(stages),
    )


def _at_slots(
    code: LoopCode, found: Sequence[Dependence], given: Handed, stages: Sequence[int]
) -> tuple[Placement, dict[int, tuple[CarriedDependence, ...]]] | None:
    """The placement next to the slots given, and phase A's table; None where they do not fit.

    A kernel's dependence from one stage to another reaches fewer iterations than rounds, by as many
    as the stages are apart: so phases A to C read it. In the result it is the kernel again.
    """
    ii = given.round
    own = [attrs.evolve(d, distance=d.distance + stages[d.source] - stages[d.target])
           for d in found]
    carried = register_carried(own, stages, 0, max(stages), code.block)
    at = [given.at(op) for op in code.operations]
    slots = [ii - 1 if x is None else x.cycle for x in at]  # the kernel's own test comes last
    placed = place(code, own, ii, stages, _mask(stages), slots=slots, windows=True)
    if placed is None or not _closes(code, placed):
        return None
    records = {
        n: attrs.evolve(
            r, cycle=r.cycle % ii, stage=0,
            max_predecessor_cycle=r.max_predecessor_cycle - r.stage * ii,
            max_dependency_cycle=r.max_dependency_cycle - r.stage * ii,
        ) for n, r in placed.records.items()
    }
    return attrs.evolve(placed, records=records), carried


def _misfit(found: Sequence[Dependence], given: Handed, code: LoopCode) -> str:
    """What does not fit a round of the kernel, where something does not."""
    last = max(x.stage for x in given.slots.values()) if given.slots else 0
    if last > STAGE_BITS:
        return f"stage {last} in three bits of the flags, so no route is its"
    one = [0] * len(code.operations)
    for why, deps in (
        ("dependences", [d for d in found if not d.is_false]),
        ("registers that are used again", found),
    ):
        if not PlacementWindows.of(deps, given.round, one).narrow():
            return f"{why} take more than the {given.round} cycles of a round"
    return f"no slot is left in a round of {given.round} cycles"


def _mask(stages: Sequence[int]) -> int:
    return (1 << max(stages) + 1) - 1


def _place(
    code: LoopCode, found: Sequence[Dependence], made: ModuloSchedule
) -> tuple[Placement | None, dict[int, tuple[CarriedDependence, ...]], str]:
    """The placement at the first interval from the owner's on that fits, phase A's table for its
    stages; and why there is none."""
    times = list(made.times)
    if code.branch is not None:  # the way back closes the kernel
        turn = (made.ii - 1 - times[code.branch]) % made.ii
        times = [t + turn for t in times]
        first = min(times) // made.ii
        times = [t - first * made.ii for t in times]
    stages = [t // made.ii for t in times]
    slots = [t % made.ii for t in times]
    mask = _mask(stages)
    last = max(slots)
    carried = register_carried(found, stages, 0, max(stages), code.block)
    longest, _, _ = _one_by_one(code, found)
    note("PRA-01", "interval and stages given", f"II {made.ii}, {max(stages) + 1} stages",
         loop=code.name, mask=f"{mask:b}", stages=stages)
    for more in range(RAISES + 1):
        ii = made.ii + more
        if ii >= longest:
            return None, {}, f"one iteration after the other takes {longest} cycles"
        if code.branch is not None:
            slots[code.branch] = ii - 1
        placed = place(code, found, ii, stages, mask, slots=slots, pipes=made.pipe)
        if placed is not None and _closes(code, placed):
            return placed, carried, ""
    return None, {}, f"the operations fit no interval from {made.ii} to {made.ii + RAISES}, {last}"


def _closes(code: LoopCode, placed: Placement) -> bool:
    """Whether nothing issues behind the branch in the kernel."""
    b = code.branch
    return b is None or placed.records[b].cycle % placed.ii == placed.ii - 1


def in_order(code: LoopCode, found: Sequence[Dependence], marked: bool = True) -> Placement:
    """One stage: the body in its order, each operation as early as that allows. Under policy
    documented operations are not `marked` then: no route is theirs."""
    ii, times, pipes = _one_by_one(code, found)
    return placement_of(code, found, ii, times, pipes, marked)


def _one_by_one(
    code: LoopCode, found: Sequence[Dependence]
) -> tuple[int, list[int], list[str]]:
    """Interval, cycles and pipes of the body in its order."""
    count = len(code.operations)
    preds: list[list[Dependence]] = [[] for _ in range(count)]
    for d in found:
        if not d.distance:
            preds[d.target].append(d)
    profile, t, ii = code.profile, -1, 1
    times: list[int] = []
    pipes: list[str] = []
    free: dict[str, list[int]] = {p: [0] * pipe.units for p, pipe in profile.pipes.items()}
    for n, op in enumerate(code.operations):
        t = max([t + 1, *(times[d.source] + d.cycles for d in preds[n])])
        unit = profile.operation(op.family)
        name = min(unit.pipes, key=lambda p: min(free[p]), default="")
        if name:
            t = max(t, min(free[name]))
            free[name][free[name].index(min(free[name]))] = t + unit.interval
            ii = max(ii, t + unit.interval)
        times.append(t)
        pipes.append(name)
        t += has_conflict(op)
    ii = max(ii, t + 1)
    for d in found:
        if d.distance:
            need = times[d.source] + d.cycles - times[d.target]
            ii = max(ii, -(-need // d.distance))
    if code.branch is not None:
        times[code.branch] = ii - 1
    return ii, times, pipes


def _machine_graph(code: LoopCode, found: Sequence[Dependence]) -> DependenceGraph:
    """The graph that the modulo scheduler reads; its edges are the dependences, in their order."""
    edges = [(d.source, d.target, d.cycles, d.distance) for d in found]
    return machine_graph(code.profile, [op.family for op in code.operations], edges)


def _sizes(code: LoopCode) -> list[int]:
    return [sum(r[0] == "R" for r in op.writes) for op in code.operations]
