"""The judge of post-RA schedules, and an executor of pipelined code.

Neither reads a dependence that the scheduler made: both start from the body's operations, their
registers and the order of iterations.

    check     lays iterations out on the time line and follows each register: every read finds the
              write that the sequential loop would have given it, and finds it landed; writes land
              in order; operands are read before they are overwritten; barriers guard what has a
              variable latency; pipes, issue slots and stages are counted anew
    run       executes prologue, kernel and epilogue with symbols for values: the same operation on
              the same symbols gives the same symbol, so equal symbols mean equal computations
    compare   `run` against the sequential loop, for a trip count

Cost      iterations in flight times operands.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

import attrs

from nvir.assembler.postra.code import LoopCode, PhysicalOp, Reg, reg_name
from nvir.assembler.postra.dependences import (
    read_cycles,
    reads_late,
    result_is_variable,
    write_gap,
)
from nvir.assembler.postra.fold import kernel_view
from nvir.assembler.postra.place import has_conflict
from nvir.assembler.postra.schedule import PostRaSchedule
from nvir.ir.errors import NvirError
from nvir.sm.latency import edge_latency

Instance = tuple[int, int]  # (iteration, operation)
Symbols = dict[Reg, object]


@attrs.frozen
class KernelPass:
    """One pass through the kernel's slots: the operations that issue, with their iteration.

    The iteration is counted from the first that the pass has in stage 0.
    """

    operations: tuple[tuple[int, int], ...]  # (operation, iterations back)


@attrs.frozen
class Emitted:
    """The loop as code: passes of the prologue, the kernel, passes of the epilogue.

    Trip counts below `stages` take the sequential body instead.
    """

    stages: int
    prologue: tuple[KernelPass, ...]
    kernel: KernelPass
    epilogue: tuple[KernelPass, ...]


def emit(made: PostRaSchedule) -> Emitted:
    """The passes of a schedule; of S stages the prologue and the epilogue have S - 1 each."""
    stage = [r.stage for _, r in sorted(made.placement.records.items())]
    order = made.order()
    full = range(made.stages)

    def one(stages: Iterable[int]) -> KernelPass:
        wanted = set(stages)
        return KernelPass(tuple((n, stage[n]) for n in order if stage[n] in wanted))

    return Emitted(
        made.stages,
        tuple(one(range(k + 1)) for k in range(made.stages - 1)),
        one(full),
        tuple(one(range(k + 1, made.stages)) for k in range(made.stages - 1)),
    )


# ---------------------------------------------------------------- execution


@attrs.frozen
class FinalRegisters:
    """Registers behind the loop, and what each operation read in each iteration."""

    registers: Symbols
    read: dict[Instance, tuple[object, ...]]


class _Machine:
    """Registers of symbols. A symbol is an interned number, so that comparing is cheap."""

    def __init__(self, names: dict[object, int]) -> None:
        self.names = names
        self.registers: dict[Reg, int] = {}
        self.read: dict[Instance, tuple[object, ...]] = {}

    def _name(self, what: object) -> int:
        return self.names.setdefault(what, len(self.names))

    def do(self, op: PhysicalOp, n: int, iteration: int) -> None:
        values = tuple(
            self.registers.get(r) if r in self.registers else self._name(("before", r))
            for r in op.reads
        )
        self.read[iteration, n] = values
        for k, r in enumerate(op.writes):
            if op.role == "move" and values:  # a copy is what it copies
                self.registers[r] = values[0] if values[0] is not None else 0
            else:
                self.registers[r] = self._name((n, k, values))

    def outcome(self) -> FinalRegisters:
        return FinalRegisters(dict(self.registers), self.read)


def run_sequential(
    code: LoopCode, trips: int, names: dict[object, int] | None = None
) -> FinalRegisters:
    """The loop as it stands."""
    m = _Machine({} if names is None else names)
    for i in range(trips):
        for n, op in enumerate(code.operations):
            m.do(op, n, i)
    return m.outcome()


def run(made: PostRaSchedule, trips: int, names: dict[object, int] | None = None) -> FinalRegisters:
    """The pipelined code: prologue, kernel, epilogue; sequential where iterations are too few.

    Of a loop whose trip count is not known before, the passes go on until the branch that ends it
    has issued: what is ahead of it then has run in vain.
    """
    code = made.code
    if made.code.counted and trips < made.stages:
        return run_sequential(made.reference or code, trips, names)
    m = _Machine({} if names is None else names)
    if not code.counted:
        for n, i in _until_exit(made, trips):
            m.do(code.operations[n], n, i)
        return m.outcome()
    out = emit(made)
    rounds = [*out.prologue, *[out.kernel] * (trips - out.stages + 1), *out.epilogue]
    for k, one in enumerate(rounds):
        for n, back in one.operations:
            m.do(code.operations[n], n, k - back)
    return m.outcome()


def _until_exit(made: PostRaSchedule, trips: int) -> Iterator[Instance]:
    """(operation, iteration) in order of issue; iterations behind the last only up to its exit."""
    t, ii = made.times, made.ii
    branch = made.code.branch
    end = t[branch] + (trips - 1) * ii if branch is not None and trips else -1
    issues = []
    for i in range(trips + made.stages):
        for n in range(len(t)):
            if i < trips or t[n] + i * ii <= end:
                issues.append((t[n] + i * ii, t[n], n, i))
    issues.sort()
    for _, _, n, i in issues:
        yield n, i


def compare(made: PostRaSchedule, trips: int) -> list[str]:
    """How the pipelined code differs from the sequential one at a trip count; empty if it does not.

    Compared are the operands of every operation in every iteration, and the registers behind the
    loop: all of them where the trip count is known, else those that are read there.
    """
    names: dict[object, int] = {}
    code = made.reference or made.code
    want, have = run_sequential(code, trips, names), run(made, trips, names)
    found = []
    for (i, n), values in want.read.items():
        if have.read.get((i, n)) != values:
            found.append(f"iteration {i}: {made.code.operations[n]} ({n}) reads something else")
    for r, symbol in want.registers.items():
        said = code.counted and made.reference is None
        if (said or r in code.live_out) and have.registers.get(r) != symbol:
            found.append(f"{reg_name(r)} is another value behind {trips} iterations")
    return found


# ---------------------------------------------------------------- the judge


def check(made: PostRaSchedule, *, level: str = "l1", policy: str = "observed") -> list[str]:
    """All violations of a schedule, as sentences.

    Where values share registers it is the kernel that has to be right; that it computes what the
    body does is for `compare`.
    """
    if made.reference is not None:
        kernel = kernel_view(made, level=level, policy=policy)
        return check(kernel, level=level, policy=policy)
    records = made.placement.records
    if sorted(records) != list(range(len(made.code.operations))):
        return ["not every operation has a cycle"]
    return [
        *_stages(made), *_tuples(made), *_resources(made), *_order(made),
        *_Line(made, level, policy).faults(), *_barriers(made),
    ]


def require(made: PostRaSchedule, *, level: str = "l1", policy: str = "observed") -> None:
    """Raise NvirError with all violations of a schedule, if there are any."""
    found = check(made, level=level, policy=policy)
    if found:
        raise NvirError("invalid post-RA schedule:\n" + "\n".join(f"  {x}" for x in found))


def _stages(made: PostRaSchedule) -> Iterator[str]:
    for n, r in made.placement.records.items():
        if r.cycle < 0 or r.cycle // made.ii != r.stage:
            yield f"operation {n}: cycle {r.cycle} is not in stage {r.stage} at II {made.ii}"
    branch = made.code.branch
    if branch is not None:
        at = made.times[branch] % made.ii
        for n, t in enumerate(made.times):
            if t % made.ii > at:
                yield f"operation {n} issues behind the branch"


def _tuples(made: PostRaSchedule) -> Iterator[str]:
    """What the machine names by its first register is consecutive, and aligned."""
    for n, op in enumerate(made.code.operations):
        for t in op.tuples:
            first = t[0][1]
            wanted = tuple(("R", first + k) for k in range(len(t)))
            if t != wanted or first % (2 if len(t) == 2 else 4):
                yield f"operation {n}: {', '.join(map(reg_name, t))} is no aligned tuple"


def _resources(made: PostRaSchedule) -> Iterator[str]:
    code, ii = made.code, made.ii
    issued = [0] * ii
    busy: dict[tuple[str, int], int] = {}
    for n, op in enumerate(code.operations):
        r = made.placement.records[n]
        unit = code.profile.operation(op.family)
        if unit.pipes and r.pipe not in unit.pipes:
            yield f"operation {n}: {op.family} does not run on {r.pipe or 'no pipe'}"
        issued[r.cycle % ii] += 1
        if code.profile.issue_width and has_conflict(op):
            issued[(r.cycle + 1) % ii] += 1
        for k in range(max(1, unit.interval) if unit.pipes else 0):
            key = (r.pipe, (r.cycle + k) % ii)
            busy[key] = busy.get(key, 0) + 1
    width = code.profile.issue_width
    for slot, count in enumerate(issued):
        if width and count > width:
            yield f"slot {slot}: {count} issue"
    for (pipe, slot), count in busy.items():
        if pipe in code.profile.pipes and count > code.profile.pipes[pipe].units:
            yield f"slot {slot}: {count} operations on {pipe}"


def _order(made: PostRaSchedule) -> Iterator[str]:
    t = made.times
    for a, b, cycles, distance in made.code.order:
        have = t[b] + distance * made.ii - t[a]
        if have < cycles:
            yield f"order of {a} and {b}: {have} cycles apart, not {cycles}"
    branch = made.code.branch
    if not made.code.counted and branch is not None:
        for n, op in enumerate(made.code.operations):
            if not made.code.live_out.isdisjoint(op.writes) and t[n] + made.ii <= t[branch]:
                yield f"operation {n} writes what is read behind the loop before the exit is known"


class _Line:
    """Registers on the time line of a few iterations."""

    def __init__(self, made: PostRaSchedule, level: str, policy: str) -> None:
        self.made, self.level, self.policy = made, level, policy
        self.trips = 2 * made.stages + 2
        self.times = made.times
        self.writers: dict[Reg, list[Instance]] = {}
        for i in range(self.trips):
            for n, op in enumerate(made.code.operations):
                for r in op.writes:
                    self.writers.setdefault(r, []).append((i, n))

    def at(self, x: Instance) -> int:
        return self.times[x[1]] + x[0] * self.made.ii

    def faults(self) -> Iterator[str]:
        code = self.made.code
        timed = {
            r: sorted((self.at(x), x) for x in found) for r, found in self.writers.items()
        }
        for r, found in self.writers.items():
            if [x for _, x in timed[r]] != found:
                yield f"{reg_name(r)}: written in another order"
            for a, b in itertools.pairwise(found):
                gap = 1 if r[0] == "M" else write_gap(
                    code.profile, code.operations[a[1]], code.operations[b[1]], self.level,
                    self.policy,
                )
                if self.at(b) - self.at(a) < gap:
                    yield f"{reg_name(r)}: {b[1]} writes {self.at(b) - self.at(a)} after {a[1]}"
        last: dict[Reg, Instance] = {}
        for i in range(self.trips):
            for n, op in enumerate(code.operations):
                for r in op.reads:
                    yield from self._read((i, n), op, r, last.get(r), timed.get(r, []))
                for r in op.writes:
                    last[r] = (i, n)

    def _read(
        self, x: Instance, op: PhysicalOp, r: Reg, want: Instance | None,
        timed: Sequence[tuple[int, Instance]],
    ) -> Iterator[str]:
        code, now = self.made.code, self.at(x)
        behind = bisect_left(timed, (now,))  # the first that is written now or later
        have = timed[behind - 1][1] if behind else None
        if have != want:
            yield f"{x[1]} of iteration {x[0]} reads {reg_name(r)} of {have}, not of {want}"
            return
        if want is not None:
            ready = 1 if r[0] == "M" else edge_latency(
                code.profile, code.operations[want[1]].family, op.family, guard=r == op.guard,
                level=self.level, policy=self.policy,
            )
            if now - self.at(want) < ready:
                yield f"{x[1]} reads {reg_name(r)} {now - self.at(want)} after {want[1]}"
        hold = 1 if r[0] == "M" else read_cycles(code.profile, op)
        for t, w in timed[behind : bisect_left(timed, (now + hold,))]:
            if w != x:
                yield f"{w[1]} overwrites {reg_name(r)} {t - now} after {x[1]} reads it"


def _barriers(made: PostRaSchedule) -> Iterator[str]:
    """Every hand-over of variable latency has a wait on its barrier between its two ends."""
    code, fields = made.code, made.control.fields
    t, ii = made.times, made.ii
    waits: dict[int, list[int]] = {}  # the cycles in which each barrier is waited for
    for n, f in enumerate(fields):
        for b in f.wait:
            waits.setdefault(b, []).extend(
                t[n] + k * ii for k in range(-made.stages - 1, 2 * made.stages + 3))
    for cycles in waits.values():
        cycles.sort()

    def guarded(start: int, end: int, barrier: int | None) -> bool:
        if barrier is None:
            return False
        cycles = waits.get(barrier, [])
        first = bisect_right(cycles, start)
        return first < len(cycles) and cycles[first] <= end

    base = made.stages  # an iteration with others on both sides
    line: dict[Reg, Instance] = {}
    readers: dict[Reg, list[Instance]] = {}
    for i in range(base + 2):
        for n, op in enumerate(code.operations):
            now = t[n] + i * ii
            for r in op.reads:
                w = line.get(r)
                if w is not None and r[0] != "M" and result_is_variable(
                    code.profile, code.operations[w[1]]
                ) and not guarded(t[w[1]] + w[0] * ii, now, fields[w[1]].write):
                    yield f"{n} reads {reg_name(r)} of {w[1]} without a barrier"
                readers.setdefault(r, []).append((i, n))
            for r in op.writes:
                for k, reader in readers.pop(r, ()):
                    own = fields[reader]
                    if reader == n or r[0] == "M" or not reads_late(
                        code.profile, code.operations[reader]
                    ):
                        continue
                    start = t[reader] + k * ii
                    if not guarded(start, now, own.read) and not guarded(start, now, own.write):
                        yield f"{n} overwrites {reg_name(r)} of {reader} without a barrier"
                line[r] = (i, n)
