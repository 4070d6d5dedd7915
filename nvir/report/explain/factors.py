"""A loop at several unroll factors: instructions, II, registers, occupancy, simulated cycles.

Each factor is really unrolled, on a copy of the function, and the copy measured after the usual
clean-up: the body's instructions, the interval of its modulo schedule, the registers and blocks of
the whole function, and cycles an iteration as the simulator runs the body. Intervals and cycles
are for one iteration of the loop as it is written.

Other loops stay as they are; the copies that the assembler will make of them count in the
registers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from nvir.analysis.induction import trip_count
from nvir.assembler.registers import estimate_registers
from nvir.ir.clone import clone_function
from nvir.ir.errors import Diagnostic, NvirError
from nvir.ir.function import Function
from nvir.ir.loops import Loop, natural_loops
from nvir.ir.module import Module
from nvir.passes.context import Context
from nvir.passes.knobs import Knobs
from nvir.passes.loop.region import merge_chains
from nvir.passes.registry import all_passes
from nvir.report.model import (
    AS_DECLARED,
    Launch,
    block_size,
    occupancy_figures,
)
from nvir.sm.loopgraph import LoopGraph, loop_graph
from nvir.sm.mii import minimum_ii
from nvir.sm.occupancy import static_shared_memory
from nvir.sm.profile import Profile
from nvir.sm.schedule.loops import LoopSchedule, schedule_loop

FACTORS = (1, 2, 4, 8, None)
WARPS = (1, 8)
LARGEST = 4096  # instructions of a body that is unrolled for the table
SIMULATED = 2048  # operations of a body that is simulated
SCHEDULED = 400  # … that is modulo scheduled
CLEAN_UP = ("copy-prop", "gvn", "dce")


@attrs.frozen
class FactorRow:
    """One factor. None stands where a figure cannot be said.

    factor        copies of the body; None: all of them, no loop is left
    instructions  of the body; of a loop that is gone, of all that stands in its place
    ii            cycles an iteration that a modulo schedule would reach
    at_least      `ii` is the bound (MII) of a loop that was not scheduled
    registers     a thread, of the whole function
    cycles        warps on the sub-partition -> simulated cycles an iteration
    note          why a figure is missing, or None
    """

    factor: int | None
    instructions: int | None = None
    ii: float | None = None
    at_least: bool = False
    registers: int | None = None
    blocks_per_sm: int | None = None
    cycles: Mapping[int, float] = attrs.Factory(dict)
    note: str | None = None


def size_of(blocks: Iterable[Any]) -> int:
    """Instructions of some blocks as text has them."""
    return sum(1 for b in blocks for _ in b.written)


def factor_table(
    function: Function, module: Module, header: str, machine: Profile, *,
    launch: Launch = AS_DECLARED, copies: Mapping[str, int] | None = None,
    factors: Sequence[int | None] = FACTORS, warps: Sequence[int] = WARPS,
    schedule: LoopSchedule | None = None,
) -> list[FactorRow]:
    """A row for each factor that the loop can have. `copies` are those of the other loops,
    `schedule` is one of the loop as it is written."""
    others = {h: n for h, n in (copies or {}).items() if h != header}
    loop = _find(function, header)
    assert loop is not None
    trip = trip_count(loop)
    count = trip.count if trip is not None else None
    body = size_of(loop.blocks)
    table = _FactorTable(function, module, header, machine, launch, others, warps, schedule)
    rows = []
    for factor in factors:
        n = count if factor is None else factor
        if n is None or n < 1 or (factor is not None and count is not None and n > max(count, 1)):
            continue
        if factor is not None and factor > 1 and factor == count:
            continue  # that is the row of all copies
        if n * body > LARGEST:
            note = f"{n} × {body} instructions are not tried"
            rows.append(FactorRow(factor, note=note))
            continue
        rows.append(table.row(factor))
    return rows


def _find(function: Function, header: str) -> Loop | None:
    if function.cfg_state != "fresh":
        function.analyze_cfg()
    return next((x for x in natural_loops(function) if x.header.name == header), None)


@attrs.define
class _FactorTable:
    function: Function
    module: Module
    header: str
    machine: Profile
    launch: Launch
    others: dict[str, int]
    warps: Sequence[int]
    schedule: LoopSchedule | None
    single: tuple[int, int] | None = None  # instructions of all and of the loop at factor 1

    def row(self, factor: int | None) -> FactorRow:
        try:
            copy = unrolled(self.function, self.module, self.header, factor)
        except NvirError as e:
            return FactorRow(factor, note=str(e))
        loop = main_loop(copy, self.header)
        if factor != 1 and loop is not None and "unrolled" not in loop.header.flags:
            return FactorRow(factor, note="the loop cannot be copied")
        registers, blocks = self._registers(copy)
        made = FactorRow(
            factor, self._size(copy, loop, factor), registers=registers, blocks_per_sm=blocks
        )
        if loop is None:
            return made
        try:
            ii, at_least = self._interval(loop, factor or 1)
            return attrs.evolve(
                made, ii=ii, at_least=at_least,
                cycles=cycles(loop, self.machine, factor or 1, self.warps),
            )
        except NvirError as e:
            return attrs.evolve(made, note=str(e))

    def _interval(self, loop: Loop, factor: int) -> tuple[float | None, bool]:
        """The interval, and whether it is a bound only: unrolled loops are not scheduled."""
        found = graph_of(loop, self.machine)
        if found is None:
            return None, False
        if self.schedule is not None and found.graph == self.schedule.graph.graph:
            return self.schedule.ii / factor, False
        if factor == 1:
            return schedule_loop(found, effort="interval").ii, False
        return minimum_ii(found.graph).mii / factor, True

    def _size(self, copy: Function, loop: Loop | None, factor: int | None) -> int:
        if loop is not None:
            return size_of(loop.blocks)
        if self.single is None:
            plain = unrolled(self.function, self.module, self.header, 1)
            left = _find(plain, self.header)
            self.single = size_of(plain.blocks), size_of(left.blocks) if left is not None else 0
        everything, body = self.single
        return size_of(copy.blocks) - (everything - body)

    def _registers(self, copy: Function) -> tuple[int, int | None]:
        estimate = estimate_registers(copy, None, self.machine, self.others)
        if copy.kind != "entry":
            return estimate.registers, None
        return estimate.registers, blocks_per_sm(copy, estimate.registers, self.machine,
                                                 self.launch)


def main_loop(function: Function, header: str) -> Loop | None:
    """What is left of a loop: where a smaller one does the rest of its count, the larger one."""
    if function.cfg_state != "fresh":
        function.analyze_cfg()
    made = [
        x for x in natural_loops(function)
        if x.header.name == header
        or (x.header.name.startswith(f"{header}.") and "unrolled" in x.header.flags)
    ]
    return max(made, key=lambda x: size_of(x.blocks), default=None)


def unrolled(function: Function, module: Module, header: str, factor: int | None) -> Function:
    """A cleaned copy of the function whose loop `header` is unrolled; None is fully."""
    copy = clone_function(function, module)
    copy.analyze_cfg()
    for x in natural_loops(copy):
        asked = ("unroll",) if factor is None else (f"unroll {factor}",)
        mine = x.header.name == header and factor != 1
        x.header.pragmas = asked if mine else ("nounroll",)
    ctx = Context(module, Knobs())
    ctx.function = copy
    for name in ("copy-prop", "dce", "loop-unroll", *CLEAN_UP):
        ctx.pass_ = all_passes()[name]
        ctx.options = ctx.pass_.options()
        ctx.pass_.run(copy, ctx)
        if ctx.pass_.cfg:
            copy.analyze_cfg()
    merge_chains(copy)
    copy.analyze_cfg()
    return copy


def unrolled_by(
    function: Function, module: Module, knobs: Knobs, factor: int, only: str | None = None
) -> tuple[Function, dict[str, int]]:
    """A cleaned copy as `loop-unroll` makes it under some knobs, all loops `factor` times (0: as
    the policy decides; `only` the loop of that header), and the copies in each loop that it left,
    by the header's name."""
    copy = clone_function(function, module)
    copy.analyze_cfg()
    ctx = Context(module, knobs)
    ctx.function = copy
    made: dict[str, int] = {}
    for name in ("copy-prop", "dce", "loop-unroll", *CLEAN_UP):
        ctx.pass_ = all_passes()[name]
        given = {"factor": factor} if name == "loop-unroll" else {}
        ctx.loop = only or "" if name == "loop-unroll" else ""
        ctx.options = ctx.pass_.options(**given)
        ctx.pass_.run(copy, ctx)
        if ctx.pass_.cfg:
            copy.analyze_cfg()
    for r in ctx.remarks.filter("^loop-unroll$", kind="passed"):
        if "factor" in r.args:
            made[r.loop] = int(r.args["factor"] or 1)
    merge_chains(copy)
    copy.analyze_cfg()
    return copy, made


def graph_of(loop: Loop, machine: Profile) -> LoopGraph | None:
    """What is scheduled of a loop; None of several blocks and large ones."""
    if len(loop.blocks) != 1:
        return None
    found = loop_graph(loop, machine)
    return found if 0 < len(found.operations) <= SCHEDULED else None


def interval(loop: Loop, machine: Profile, factor: int) -> float | None:
    """Cycles an iteration of the loop's modulo schedule; None of several blocks and large ones."""
    found = graph_of(loop, machine)
    return schedule_loop(found, effort="interval").ii / factor if found is not None else None


def cycles(
    loop: Loop, machine: Profile, factor: int, warps: Sequence[int]
) -> dict[int, float]:
    """Simulated cycles an iteration by warps on the sub-partition; none of nests, large loops."""
    from nvir.sm.simulate import loop_cycles, loop_stream
    from nvir.sm.simulate.memory import MEMORY_LEVEL

    if loop.children:
        return {}
    stream = loop_stream(loop, machine)
    if len(stream.slots) > SIMULATED:
        return {}
    out = {}
    for n in warps:
        iterations = 16 if n * len(stream.slots) < SIMULATED else 8
        made = loop_cycles(stream, warps=n, iterations=iterations, memory=MEMORY_LEVEL)
        out[n] = made / factor
    return out


def blocks_per_sm(
    kernel: Function, registers: int, machine: Profile, launch: Launch,
    diagnostics: list[Diagnostic] | None = None,
) -> int:
    """Blocks of a kernel that fit on an SM with so many registers a thread."""
    block, _ = block_size(kernel, launch.block)
    limit = kernel.directives.get("maxnreg", (registers,))[0]
    return occupancy_figures(
        str(kernel.name), machine, min(registers, limit), block, static_shared_memory(kernel),
        launch, "", diagnostics if diagnostics is not None else [],
    ).blocks_per_sm
