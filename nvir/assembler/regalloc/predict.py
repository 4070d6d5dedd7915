"""What `ptxas -v` will print: registers a thread and bytes of spills.

The code is lowered as ptxas would (`lower`), scheduled within a register target (`order`,
`targets`), and coloured (`colour`). What does not fit the target is scheduled again with a tighter
budget, then taken in the source's order; what still does not fit takes what it needs, and under a
limit of the kernel's own it spills.

Cost    about 10 µs an instruction; what is above the first target, twice that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from nvir.analysis.liveness import Liveness, liveness
from nvir.assembler.regalloc.code import Op, pressures
from nvir.assembler.regalloc.colour import Colouring, colour
from nvir.assembler.regalloc.lowering.lower import Lowering, lower
from nvir.assembler.regalloc.order import schedule
from nvir.assembler.regalloc.spill import Spills, spills_of
from nvir.assembler.regalloc.tables import (
    LEAST,
    RESERVED,
    SQUEEZE,
    TIGHTER,
    Generation,
    generation,
)
from nvir.assembler.regalloc.targets import block_threads, register_limit, targets
from nvir.ir import Function, Instruction, bulk
from nvir.sm.profile import Profile

_Orders = list[tuple[list[Op], list[int]]]


@attrs.frozen(eq=False)
class Prediction:
    """What the assembler is taken to make of a function.

    registers  a thread, as `ptxas -v` prints them
    limit      the most that the kernel's directives or the machine leave a thread
    spills     what goes to local memory; of no bytes where everything fits
    max_live   registers live at once in the assumed order, the stack pointer not among them
    peak       the instruction where that is; None of an empty function
    counts     live registers at each instruction that is an operation of its own
    """

    registers: int
    limit: int
    spills: Spills
    max_live: int
    peak: Instruction | None
    counts: dict[Instruction, int]
    lowering: Lowering = attrs.field(repr=False)
    orders: list[list[Op]] = attrs.field(repr=False)


def predict(
    function: Function, profile: Profile, factors: Mapping[str, int] | None = None,
    *, limit: int | None = None, live: Liveness | None = None,
) -> Prediction:
    """Predict for one function on one machine.

    `factors` tells how often the assembler repeats the body of each loop that it unrolls, by the
    name of its header: its trip count where it unrolls it fully. `limit` is `--maxrregcount`'s.
    """
    if function.cfg_state != "fresh":
        function.analyze_cfg()
    with bulk():
        return _predict(function, profile, factors or {}, limit, live)


def _predict(
    function: Function, profile: Profile, factors: Mapping[str, int], limit: int | None,
    live: Liveness | None,
) -> Prediction:
    live = live if live is not None else liveness(function)
    g = generation(profile.capability)
    lowering = lower(function, live, factors, g.uniform, g.late)
    most = register_limit(function, profile.limits)
    if limit is not None:
        most = min(most, max(limit, 1))
    steps = targets(block_threads(function), profile.limits)
    if most < steps[0] or "minnctapersm" in function.directives:
        steps = (most,)
    orders, needed = _fit(lowering, steps, g)
    counts, peak, highest = _counts(lowering, orders)
    spills = Spills()
    if needed > most:
        regions = zip(lowering.code.regions, (o for o, _ in orders), strict=True)
        spills = spills_of(list(regions), lowering.code.widths, most - RESERVED - 1)
    registers = max(LEAST, min(needed, most))
    return Prediction(
        registers, most, spills, highest, peak, counts, lowering, [o for o, _ in orders]
    )


def _fit(lowering: Lowering, steps: Sequence[int], g: Generation) -> tuple[_Orders, int]:
    """The orders of all regions and the registers that they need, at the first step if they can.

    What does not fit there, however it is ordered, is ordered for the next step that can hold it.
    """
    code = lowering.code
    target = steps[0]
    free = target - RESERVED
    orders: _Orders = [schedule(r, code.widths, free) for r in code.regions]
    needed = _colour(lowering, orders, free, g.cool).top + RESERVED
    if needed <= target:
        return orders, needed
    for less in TIGHTER:
        tight: _Orders = [schedule(r, code.widths, free - less) for r in code.regions]
        top = max(target, _colour(lowering, tight, free, 0).top + RESERVED)
        if top < needed:
            orders, needed = tight, top
        if needed <= target:
            return orders, needed
    if needed > target and lowering.factors:
        source: _Orders = [(r.ops, pressures(r, r.ops, code.widths)) for r in code.regions]
        top = max(target, _colour(lowering, source, free, 0).top + RESERVED)
        if top < needed:
            orders, needed = source, top
    if needed <= target + SQUEEZE:
        return orders, target
    step = next((s for s in steps if s >= needed), steps[-1])
    free = step - RESERVED
    orders = [schedule(r, code.widths, free) for r in code.regions]
    top = _colour(lowering, orders, free, 0).top + RESERVED
    return orders, max(needed, min(top, step))


def _colour(lowering: Lowering, orders: _Orders, limit: int, cool: int) -> Colouring:
    return colour(lowering.code, [o for o, _ in orders], limit, cool)


def _counts(
    lowering: Lowering, orders: _Orders
) -> tuple[dict[Instruction, int], Instruction | None, int]:
    """Live registers by instruction; the first with the most, in the source's order."""
    counts: dict[Instruction, int] = {}
    highest = 0
    for order, live in orders:
        for op, n in zip(order, live, strict=True):
            i = op.parent
            if n > counts.get(i, -1):
                counts[i] = n
            if n > highest and not i.form.is_phi:
                highest = n
    for first in lowering.code.regions:
        for op in first.ops:
            if counts.get(op.parent, 0) == highest and not op.parent.form.is_phi:
                return counts, op.parent, highest
    return counts, next(lowering.function.instructions(), None), highest
