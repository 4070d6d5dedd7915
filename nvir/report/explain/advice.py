"""What a user can change about a kernel, and the figures to expect of it.

Each piece of advice is something that a compiler or a launch takes: `#pragma unroll`,
`__launch_bounds__`, `-maxrregcount`, threads a block, shared memory. What a change gives follows
from the occupancy of the figures that it leads to; the registers of a loop that is not unrolled
are those of the kernel without the main loop. benchmarks/advice.py carries advice out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import attrs

from nvir.analysis.analyses import Analyses
from nvir.assembler.registers import estimate_registers
from nvir.ir import Function, Loop
from nvir.report.facts import FunctionFacts, has_bounds
from nvir.report.source_loops import SourceLoopReport
from nvir.sm.occupancy import Occupancy, blocks_text, occupancy
from nvir.sm.profile import Profile

if TYPE_CHECKING:
    from nvir.report.explain.factors import FactorRow
    from nvir.report.real import RealFigures

BLOCKS = (64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512)  # threads that are tried
WORTH = 1.1  # times the resident warps that a change must give
WARPS = 8  # on a sub-partition, for which cycles are compared
MAIN = ("whole", "main")  # the parts of a loop of the source that iterations run in
_ASKED = {"minnctapersm": "`__launch_bounds__({}, {})`", "maxnreg": "`__maxnreg__({1})`"}
SQUEEZE = 0.8  # of the registers that a kernel is likely to do with


@attrs.frozen
class Advice:
    """One change.

    kind       "registers" (a limit), "bounds" (a wider one), "unroll", "block" (threads a block),
               "shared", "restrict"
    value      the limit in registers, the unroll factor, threads, bytes, or loads
    place      "file.cu:12" of the loop, None where it is the kernel's
    registers, blocks_per_sm   to expect with it; a limit is the most that there will be;
               None of "restrict", which may take registers, and lets ptxas unroll
    text       what to do and what it gives
    parameters   of the kernel, from 1, that "restrict" is about
    """

    kind: str
    value: int
    registers: int | None
    blocks_per_sm: int | None
    text: str
    place: str | None = None
    parameters: tuple[int, ...] = ()


def advice(
    facts: FunctionFacts, machine: Profile, registers: int, block: int, static: int, dynamic: int,
    loops: Sequence[SourceLoopReport], real: RealFigures | None = None,
) -> tuple[Advice, ...]:
    """The advice for a kernel of so many registers, threads and bytes of shared memory a block."""
    now = occupancy(machine, registers, block, dynamic, static_smem=static)
    found = [] if real is None else list(
        relax(machine, real, facts.function, block, static + dynamic))
    headers = {h for x in loops for h, role in x.roles.items() if role in MAIN and x.places}
    for loop in facts.loops:
        if loop.is_innermost and loop.header.name in headers:
            place = next(x.place for x in loops if loop.header.name in x.roles)
            found += restrict(facts.function, loop, place)
    if not now.blocks_per_sm or now.fraction >= 1:
        return tuple(found)

    def then(regs: int = registers, threads: int = block, shared: int = static + dynamic
             ) -> Occupancy:
        return occupancy(machine, regs, threads, shared)

    bounded = has_bounds(facts.function)
    if "registers" in now.limiters:
        found += _unroll(facts, machine, registers, loops, now, then)
    needs = {n.factor: n.at_most for n in now.one_more}
    if set(needs) == {"registers"} and needs["registers"] >= SQUEEZE * registers:
        limit = needs["registers"]
        blocks = then(limit).blocks_per_sm
        other = "" if bounded else f" or `-maxrregcount {limit}`"  # bounds go before the option
        found.append(Advice(
            "registers", limit, limit, blocks,
            f"`__launch_bounds__({block}, {blocks})`{other}: at most {limit} registers instead of "
            f"{registers}, {_gain(now, then(limit))}; it may spill",
        ))
    if set(needs) == {"shared memory"}:
        least = needs["shared memory"]
        found.append(Advice(
            "shared", least, registers, then(shared=least).blocks_per_sm,
            f"at most {least} bytes of shared memory a block instead of {static + dynamic}: "
            f"{_gain(now, then(shared=least))}",
        ))
    if not static and not dynamic and not bounded:
        best = max(BLOCKS, key=lambda n: (then(threads=n).warps_per_sm, -abs(n - block)))
        after = then(threads=best)
        if after.warps_per_sm >= WORTH * now.warps_per_sm:
            found.append(Advice(
                "block", best, registers, after.blocks_per_sm,
                f"blocks of {best} threads instead of {block}: {_gain(now, after)}",
            ))
    return tuple(found)


def relax(
    machine: Profile, real: RealFigures, function: Function, block: int, shared: int
) -> Iterator[Advice]:
    """To ask for fewer blocks on an SM, where what the kernel asks for makes it spill."""
    asked = [text.format(block, *function.directives[name]) for name, text in _ASKED.items()
             if name in function.directives]
    now = occupancy(machine, real.registers, block, shared).blocks_per_sm
    if not real.spills or not asked or now < 2:
        return
    limit = max(r for r in range(real.registers, 256)
                if occupancy(machine, r, block, shared).blocks_per_sm >= now - 1)
    yield Advice(
        "bounds", now - 1, limit, now - 1,
        f"`__launch_bounds__({block}, {now - 1})` instead of {' and '.join(asked)}: up to "
        f"{limit} registers instead of {real.registers}, {blocks_text(now - 1)} instead of {now}, "
        f"for {real.spilled}",
    )


def by_factor(
    told: SourceLoopReport, header: str, rows: Iterable[FactorRow], chosen: FactorRow | None
) -> Iterator[Advice]:
    """To unroll a loop otherwise than by `chosen`, where the table of factors shows a gain."""
    known = [r for r in rows if r.factor is not None and r.cycles.get(WARPS) and r.registers]
    if chosen is None or chosen not in known or not told.places or told.roles[header] not in MAIN:
        return
    best = min(known, key=lambda r: r.cycles[WARPS] or 0.0)
    before, after = chosen.cycles[WARPS], best.cycles[WARPS]
    if not before or not after or after * WORTH > before or not best.registers:
        return
    factor = (best.factor or 1) * told.copies
    yield Advice(
        "unroll", factor, best.registers, best.blocks_per_sm or 0,
        f"`#pragma unroll {factor}` before the loop at {told.place}: {after / told.copies:.4g} "
        f"cycles an iteration instead of {before / told.copies:.4g} with {WARPS} warps on a "
        f"sub-partition, {best.registers} registers instead of {chosen.registers}",
        told.place,
    )


def restrict(function: Function, loop: Loop, place: str) -> Iterator[Advice]:
    """To promise that what the kernel only reads is not what the loop writes."""
    accesses = Analyses.of(function).alias.accesses
    stored = any(i.form.writes and str(i.form.space or "global") == "global"
                 for b in loop.blocks for i in b)
    written = {id(a.root) for i in function.instructions() if i.form.writes for a in accesses(i)}
    loads = [
        a.root for b in loop.blocks for i in b
        if i.form.space == "global" and i.form.reads and not (i.form.invariant or i.form.writes)
        and not i.form.pinned for a in accesses(i)
    ]
    params = {id(p): k for k, p in enumerate(function.params, 1)}
    found = [params[id(r)] for r in loads if id(r) in params and id(r) not in written]
    if found and stored:
        numbers = tuple(sorted(set(found)))
        names = " and ".join(f"param_{n - 1}" for n in numbers)  # as trip counts name them
        yield Advice(
            "restrict", len(found), None, None,
            f"`const … *__restrict__` for {names}: stores no longer hold up "
            f"{len(found)} load{'s' * (len(found) > 1)} of the loop at {place}", place, numbers,
        )


def _gain(now: Occupancy, then: Occupancy) -> str:
    same = then.blocks_per_sm == now.blocks_per_sm
    return (f"{blocks_text(then.blocks_per_sm)}{'' if same else f' instead of {now.blocks_per_sm}'}"
            f", {then.warps_per_sm} warps instead of {now.warps_per_sm}")


def _unroll(
    facts: FunctionFacts, machine: Profile, registers: int, loops: Sequence[SourceLoopReport],
    now: Occupancy, then: Callable[..., Occupancy],
) -> Iterator[Advice]:
    """Not to unroll the loop of the source that holds the peak, where that gives more blocks."""
    peak = facts.estimate.peak
    for told in (x for x in loops if x.roles):
        main, *rest = told.roles
        loop = next(x for x in facts.loops if x.header.name == main)
        if peak is None or peak.block not in loop.members or not told.places:
            continue
        if told.copies > 1 and rest:  # the remainder shows what one copy takes
            counts = facts.estimate.counts
            elsewhere = max(
                (n for i, n in counts.items() if i.block not in loop.members), default=0
            )
            fewer = registers - (facts.estimate.max_live - elsewhere)
        elif told.copies == 1 and told.actions[main] not in (1, None):
            factors = {h: n for h, n in facts.copies.items() if h != main}
            made = estimate_registers(
                facts.function, facts.live, machine, factors, facts.pressure
            )
            fewer = registers - (facts.estimate.registers - made.registers)
        else:
            continue
        after = then(fewer)
        if after.blocks_per_sm > now.blocks_per_sm:
            yield Advice(
                "unroll", 1, fewer, after.blocks_per_sm,
                f"`#pragma unroll 1` before the loop at {told.place}: about {fewer} registers "
                f"instead of {registers}, {_gain(now, after)}; each iteration takes longer",
                told.place,
            )
