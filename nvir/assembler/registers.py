"""The registers that the assembler will use, and where: what reports say of a function.

A thin layer over `sm.regalloc.predict`, which says how it is found. The counts are those of the
assembler's order, as far as that is modelled, and of what a division or another slow operation
takes inside; a line that is no operation of its own (a copy, a parameter, an address that an access
adds up itself) has none. Of several lines with the highest count the peak is the one at which most
is live as written: of the variants tried in benchmarks/pressure.py that agrees best with nvdisasm.

Cost    that of the prediction, which an estimate keeps for `live_at`.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from nvir.analysis.liveness import Liveness, liveness
from nvir.analysis.pressure import RegisterPressure, register_pressure, width
from nvir.assembler.interval import interval
from nvir.assembler.regalloc.code import live_around
from nvir.assembler.regalloc.predict import Prediction, predict
from nvir.assembler.regalloc.tables import IN_FRONT, ROUTINE
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop
from nvir.ir.values import Value
from nvir.sm.profile import Profile, profile_for

DEFAULT_TARGET = "sm_80"


@attrs.frozen(eq=False)
class RegisterEstimate:
    """What the assembler will use.

    registers  a thread
    max_live   of the assembler's order, as far as it is modelled
    peak       the instruction at which most are live; None of an empty function
    counts     live registers at each operation in that order, its scratch registers included
    spill_bytes  stores and loads of what goes to local memory
    scratch    how many of its count an operation takes inside, of those that take any
    real       whether counts and peak are those of real code (`nvir.report.real`)
    """

    registers: int
    max_live: int
    peak: Instruction | None
    counts: dict[Instruction, int]
    spill_bytes: int = 0
    scratch: dict[Instruction, int] = attrs.Factory(dict)
    prediction: Prediction | None = attrs.field(default=None, repr=False)
    real: bool = False

    @property
    def interval(self) -> tuple[int, int]:
        """The lowest and the highest count that the real assembler is expected to use."""
        if self.prediction is None:
            return self.registers, self.registers
        return interval(self.prediction)

    def live_at(self, instruction: Instruction) -> list[Value]:
        """The values that are live at an instruction in that order, in the order of definition.

        Of an instruction that is no operation of its own: none. Values that share a register stand
        for one another; of an unrolled loop only the text's own values are listed.
        """
        if instruction.block is None or instruction.form.is_phi:
            raise ValueError("an instruction that stands in a block, and no phi, is needed")
        assert self.prediction is not None
        lowering = self.prediction.lowering
        widths = lowering.code.widths
        owner: dict[int, Value] = {}
        for v, k in lowering.ids.items():
            if k >= 0:
                owner.setdefault(k, v)
        best: set[int] = set()
        for region, order in zip(lowering.code.regions, self.prediction.orders, strict=True):
            for op in order:
                if op.parent is instruction:
                    sets = live_around(region, order, op)
                    best = max(best, *sets, key=lambda s: sum(widths[v] for v in s))
        return [owner[k] for k in sorted(best) if widths[k] and k in owner]

    def copies(self, loop: Loop) -> int:
        """How often the code repeats the body of a loop; 1 of code that was not predicted."""
        p = self.prediction
        return 1 if p is None else p.lowering.factors.get(loop.header.name, 1)

    def width(self, v: Value) -> int:
        """Registers that a value takes in that code: of a wide one both halves, or what is left."""
        assert self.prediction is not None
        lowering = self.prediction.lowering
        number = lowering.ids.get(v, -1)
        return width(v.type) if number < 0 else lowering.code.widths[number]


def estimate_registers(
    function: Function, live: Liveness | None = None, profile: Profile | None = None,
    factors: Mapping[str, int] | None = None, pressure: RegisterPressure | None = None,
) -> RegisterEstimate:
    """The estimate for one function. `live` and `pressure` save work where they are known.

    `profile` defaults to that of the module's target, `factors` (copies of the body of each loop
    that the assembler unrolls, by its header's name) to none.
    """
    live = live if live is not None else liveness(function)
    if profile is None:
        module = function.module
        profile = profile_for(module.target if module is not None else DEFAULT_TARGET)
    p = predict(function, profile, factors, live=live)
    scratch = _scratch(p)
    counts = p.counts | {i: p.counts.get(i, 0) + n for i, n in scratch.items()}
    highest = max(counts.values(), default=p.max_live)
    at = [i for i, n in counts.items() if n == highest and not i.form.is_phi]
    if len(at) > 1:
        at = [_fullest(set(at), pressure or register_pressure(function, live))]
    peak = at[0] if at else p.peak
    return RegisterEstimate(p.registers, highest, peak, counts, p.spills.bytes, scratch, p)


def _scratch(p: Prediction) -> dict[Instruction, int]:
    """Registers that operations take inside, beyond what is live there and what they overwrite.

    What lives across a called routine is not counted within it, as nvdisasm counts: an operation
    with a slow path needs what it takes in front of the call beside what is live, or else what the
    routine has for itself.
    """
    found: dict[Instruction, int] = {}
    widths = p.lowering.code.widths
    for order in p.orders:
        for op in order:
            if op.scratch:
                more = op.scratch - sum(widths[v] for v in op.sources)
                t = op.parent.form.type
                if op.ends and t is not None and t.bits == 64:
                    live = p.counts.get(op.parent, 0)
                    front = IN_FRONT if op.pairs else more - op.scratch // 2
                    more = max(front, op.scratch + ROUTINE - live)
                if more > found.get(op.parent, 0):
                    found[op.parent] = more
    return found


def _fullest(wanted: set[Instruction], pressure: RegisterPressure) -> Instruction:
    """The one of them at which most is live as written, the first of those in the text."""
    there = [
        (n, -k, i) for k, (i, n) in enumerate(
            zip(pressure.instructions, pressure.counts, strict=True)
        ) if i in wanted
    ]
    return max(there, key=lambda x: x[:2])[2]
