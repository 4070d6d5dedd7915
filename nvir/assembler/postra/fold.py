"""Registers for a schedule: values that are never live at once in the kernel share one.

An allocation that is made first orders the lives of values that share a register, and the schedule
has to wait for that. Here it is the other way round: the body is scheduled with a register for each
value, and then, with the interval known, values get registers anew. A value is in its register from
its write until it has been read last, counted modulo II, a circular arc; two values share where
their arcs don't meet, though their iterations overlap. What is carried from one iteration to the
next or read behind the loop, and what lives longer than II, keeps its register for itself, so the
prologue, which runs a part of the kernel, is right as well.

`kernel_view` is the kernel as code of its own: its operations in the order in which they issue, one
stage. On it the false dependences of the shared registers are those of any body.

Cost    values times registers, with masks of II bits.
Source  A. Tucker, "Coloring a family of circular arcs", SIAM J. Appl. Math. 29, 1975 (first fit by
        start); B. R. Rau et al., "Register allocation for software pipelined loops", PLDI 1992.
"""

from __future__ import annotations

from collections.abc import Container

import attrs

from nvir.analysis.components import strong_components
from nvir.assembler.postra.code import LoopCode, PhysicalOp, Reg
from nvir.assembler.postra.control import control
from nvir.assembler.postra.dependences import Dependence, dependences, read_cycles
from nvir.assembler.postra.expand import expand, own_registers
from nvir.assembler.postra.lower import loop_code, spare_registers
from nvir.assembler.postra.place import has_conflict, placement_of
from nvir.assembler.postra.schedule import PostRaSchedule, schedule
from nvir.assembler.regalloc.allocation import allocate
from nvir.ir.loops import Loop
from nvir.sm.profile import Profile

VIRTUAL = 1 << 14  # registers, while values have their own
LARGEST = 300  # operations up to which the schedule is made for few registers
LIMITED = 120  # and up to which the interval is raised for that


def schedule_then_allocate(
    loop: Loop, profile: Profile, *, copies: int = 1, limit: int | None = None, level: str = "l1",
    policy: str = "observed",
) -> PostRaSchedule:
    """The schedule of a loop whose values get registers after it, within a limit.

    copies   iterations that make one pass of the kernel, each with registers of its own
    limit    general registers a thread; by default as many as cost no occupancy, and with copies
             as many as the machine has

    Where the values don't fit, the interval is raised, or they get registers before, as far as
    there are: the smallest interval is taken. Raises as `loop_code` and `expand` do.
    """
    function = loop.header.function
    assert function is not None
    allocation = allocate(function, profile, limit=limit)
    most = limit or (
        profile.limits.max_registers_per_thread
        if copies > 1
        else spare_registers(function, profile, allocation)
    )
    code = loop_code(loop, profile, allocation, spread=True, limit=VIRTUAL)
    code = expand(code, copies, VIRTUAL)
    count = len(code.operations)
    effort = "full" if count <= LARGEST else "quick"
    made = schedule(code, level=level, policy=policy, effort=effort)
    found = [fold(made, allocation.registers, level=level, policy=policy)]
    if found[0].code.registers > most and count <= LIMITED:
        fixed = found[0].code.used() - made.owner_live
        bound = max(0, most - fixed)
        made = schedule(code, level=level, policy=policy, effort=effort, register_limit=bound)
        found.append(fold(made, allocation.registers, level=level, policy=policy))
    first = expand(loop_code(loop, profile, allocation, spread=True, limit=limit), copies, limit)
    found.append(schedule(first, level=level, policy=policy))
    return min((f for f in found if f.code.registers <= most), key=_cost, default=found[-1])


def _cost(made: PostRaSchedule) -> tuple[int, int]:
    return made.cycles, made.code.registers


def fold(
    made: PostRaSchedule, least: int = 0, *, level: str = "l1", policy: str = "observed"
) -> PostRaSchedule:
    """A schedule whose values share registers as far as its interval lets them.

    made    a schedule of a body in which values have registers of their own; numbers beyond what
            the machine has will do
    least   registers that the function has anyway

    `reference` of the result is the body that it stands for. A schedule of which nothing can share
    comes back as it is.
    """
    code = made.code
    moved = _shared(made, level)
    if not moved or _crowds(made, moved):
        return made
    operations = tuple(renamed(op, moved) for op in code.operations)
    used = [r[1] + 1 for op in operations for r in (*op.writes, *op.reads) if r[0] == "R"]
    done = attrs.evolve(
        made,
        code=attrs.evolve(code, operations=operations, registers=max([least, *used])),
        reference=code,
    )
    found = kernel_dependences(done, level=level, policy=policy)
    fields = control(done.code, found, made.ii, made.times, level)
    return attrs.evolve(done, dependences=tuple(found), control=fields)


def renamed(op: PhysicalOp, to: dict[Reg, Reg]) -> PhysicalOp:
    """An operation on other registers; those that `to` does not name stay."""

    def of(registers: tuple[Reg, ...]) -> tuple[Reg, ...]:
        return tuple(to.get(r, r) for r in registers)

    return attrs.evolve(
        op,
        writes=of(op.writes),
        reads=of(op.reads),
        guard=None if op.guard is None else to.get(op.guard, op.guard),
        tuples=tuple(map(of, op.tuples)),
    )


def kernel_view(
    made: PostRaSchedule, *, level: str = "l1", policy: str = "observed"
) -> PostRaSchedule:
    """The kernel as a body of one stage: each operation at its slot, in the order of issue."""
    code, ii, order = made.code, made.ii, made.order()
    place = {n: k for k, n in enumerate(order)}
    stage = [t // ii for t in made.times]
    edges = [
        (place[a], place[b], cycles, later + stage[b] - stage[a])
        for a, b, cycles, later in code.order
    ]
    body = attrs.evolve(
        code, operations=tuple(code.operations[n] for n in order), order=tuple(edges), counted=True
    )
    found = dependences(body, level=level, policy=policy)
    slots = [made.times[n] % ii for n in order]
    pipes = [made.placement.records[n].pipe for n in order]
    return attrs.evolve(
        made,
        code=body,
        dependences=tuple(found),
        stages=1,
        reference=None,
        placement=placement_of(body, found, ii, slots, pipes),
        control=control(body, found, ii, slots, level),
    )


def kernel_dependences(
    made: PostRaSchedule, *, level: str = "l1", policy: str = "observed"
) -> list[Dependence]:
    """The dependences of the kernel between operations of the body: distances may be negative.

    An operation of a later stage that is ahead in the kernel belongs to an earlier iteration.
    """
    order, stage = made.order(), [t // made.ii for t in made.times]
    return [
        attrs.evolve(
            d,
            source=order[d.source],
            target=order[d.target],
            distance=d.distance + stage[order[d.source]] - stage[order[d.target]],
        )
        for d in kernel_view(made, level=level, policy=policy).dependences
    ]


def _shared(made: PostRaSchedule, level: str) -> dict[Reg, Reg]:
    """Own register → the one that its value gets."""
    code, ii = made.code, made.ii
    arcs = {r: arc for r, arc in _arcs(made, level).items() if arc[1] - arc[0] <= ii}
    pool = set(arcs)
    busy: dict[Reg, int] = {}
    out: dict[Reg, Reg] = {}
    readers: dict[Reg, list[PhysicalOp]] = {r: [] for r in arcs}
    for op in code.operations:
        for r in arcs.keys() & op.reads:
            readers[r].append(op)
    full = (1 << ii) - 1
    for group in sorted(_groups(code, arcs), key=lambda g: (arcs[g[0]][0] % ii, -len(g), g)):
        bits = []
        for r in group:
            start, end = arcs[r]
            held = ((1 << end - start) - 1) << start % ii
            bits.append((held | held >> ii) & full)
        letter, first = group[0]
        step = 4 if len(group) > 2 else len(group)  # quads and pairs stay aligned as they are
        free: list[list[Reg]] = []
        for base in sorted(n for kind, n in pool if kind == letter):
            places = [(letter, base + r[1] - first) for r in group]
            if (base - first) % step or not pool.issuperset(places):
                continue
            if not any(busy.get(p, 0) & held for p, held in zip(places, bits, strict=True)):
                free.append(places)
        if not free:  # the numbers that are left do not fit together
            return {}
        places = next(
            (p for p in free if not _overload(readers, group, arcs, out | _to(group, p))), free[0]
        )
        for r, p, held in zip(group, places, bits, strict=True):
            busy[p] = busy.get(p, 0) | held
            out[r] = p
    return out


def _crowds(made: PostRaSchedule, to: dict[Reg, Reg]) -> bool:
    """Whether an operation on its new registers needs an issue slot that another has."""
    ii, operations = made.ii, made.code.operations
    if made.code.profile.issue_width is None:
        return False
    issued = [0] * ii
    for t, op in zip(made.times, operations, strict=True):
        issued[t % ii] += 1
        if has_conflict(renamed(op, to)):
            issued[(t + 1) % ii] += 1
    return max(issued) > made.code.profile.issue_width


def _to(group: list[Reg], places: list[Reg]) -> dict[Reg, Reg]:
    return dict(zip(group, places, strict=True))


def _overload(
    readers: dict[Reg, list[PhysicalOp]], group: list[Reg], moving: Container[Reg],
    to: dict[Reg, Reg],
) -> bool:
    return any(_overloads(op, moving, to) for r in group for op in readers[r])


def _overloads(op: PhysicalOp, moving: Container[Reg], to: dict[Reg, Reg]) -> bool:
    """Whether the registers that an operation reads would overload a bank and did not before.

    That takes an issue slot more, which the schedule did not give it.
    """
    if any(r in moving and r not in to for r in op.reads):
        return False  # not all are known yet
    return has_conflict(renamed(op, to)) and not has_conflict(op)


def _arcs(made: PostRaSchedule, level: str) -> dict[Reg, tuple[int, int]]:
    """Own register → the cycles from which on it holds its value, and when it may be another's."""
    code, t = made.code, made.times
    own = {r for r in own_registers(code) if r[0] == "R"}
    starts: dict[Reg, int] = {}
    ends: dict[Reg, int] = {}
    for n, op in enumerate(code.operations):
        lands = t[n] + code.profile.latency(op.family, level=level)
        for r in op.writes:
            starts[r] = min(starts.get(r, t[n]), t[n])
            ends[r] = max(ends.get(r, 0), lands)
        for r in op.reads:
            ends[r] = max(ends.get(r, 0), t[n] + read_cycles(code.profile, op))
    return {r: (starts[r], ends[r]) for r in sorted(own)}


def _groups(code: LoopCode, arcs: dict[Reg, tuple[int, int]]) -> list[list[Reg]]:
    """Registers that must stay side by side: those of one tuple, and tuples that overlap."""
    registers = list(arcs)
    number = {r: n for n, r in enumerate(registers)}
    beside: list[list[int]] = [[] for _ in registers]
    for op in code.operations:
        for some in op.tuples:
            for r in some:
                if r in number and some[0] in number:
                    beside[number[some[0]]].append(number[r])
                    beside[number[r]].append(number[some[0]])
    found = strong_components(beside, range(len(registers)))
    return [[registers[n] for n in members] for members in found]
