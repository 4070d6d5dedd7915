"""Register pressure: how many registers a thread holds at each instruction, and which.

One analysis and one unit for everything that speaks of pressure: 32-bit
registers a thread. A 64-bit value takes two, a 128-bit one four, anything
narrower one; predicates are counted apart, the carry flag and undef not at all.
The count at an instruction is the larger of what is live before it and what is
live behind it, its own results included even if nothing reads them (nvdisasm's
live-range columns count the same way).

Method   One backward walk over each block from its live-out set.
Cost     Linear in the instructions and in the live-out sets.
"""

from __future__ import annotations

from collections.abc import Sequence

from nvir.analysis.liveness import Liveness, liveness
from nvir.ir import PRED, Block, Function, Instruction, Loop, Type, Value


def width(type: Type) -> int:
    """32-bit registers that a value of this type takes; 0 for predicates and the carry."""
    if type is PRED or type.name == "cc":
        return 0
    return (type.bits + 31) >> 5


class RegisterPressure:
    """The pressure of a function.

    instructions   all instructions in layout order
    counts         registers at each of them
    predicates     predicates at each of them
    max_live       largest count, of `blocks` reachable from the entry
    max_predicates
    peak           the first instruction with the largest count; None of an empty function
    block_max      largest count of each block
    """

    __slots__ = (
        "block_max", "counts", "function", "instructions", "live", "max_live", "max_predicates",
        "peak", "predicates",
    )

    def __init__(self, function: Function, live: Liveness) -> None:
        self.function = function
        self.live = live
        self.instructions: list[Instruction] = []
        self.counts: list[int] = []
        self.predicates: list[int] = []
        self.block_max: dict[Block, int] = {}
        self.max_live = self.max_predicates = 0
        self.peak: Instruction | None = None

    def live_at(self, instruction: Instruction) -> list[Value]:
        """The values that the count at an instruction is made of, in no particular order."""
        block = instruction.block
        assert block is not None
        if instruction.form.is_phi:
            first = block.first_non_phi
            phis = list(block.phis)
            behind = self._before(block, first) if first is not None else set()
            return [*(behind - set(phis)), *phis]
        for i, behind in self.live.backwards(block):
            if i is instruction:
                after = set(behind) | set(i.results)
                before = (set(behind) - set(i.results)) | {
                    v for v in i.operands if v.is_tracked
                }
                held = before if _size(before) > _size(after) else after
                return [v for v in held if v.type.name != "cc"]
        raise ValueError("the instruction is not in the function")

    def _before(self, block: Block, instruction: Instruction) -> set[Value]:
        for i, behind in self.live.backwards(block):
            if i is instruction:
                return (set(behind) - set(i.results)) | {v for v in i.operands if v.is_tracked}
        return set(self.live.live_in_values(block))

    def of_loop(self, loop: Loop) -> int:
        """The largest count within a loop."""
        return max((self.block_max[b] for b in loop.blocks), default=0)

    def by_line(self) -> dict[int, int]:
        """PTX line → largest count of its instructions."""
        out: dict[int, int] = {}
        for i, n in zip(self.instructions, self.counts, strict=True):
            if i.line > 0 and n > out.get(i.line, -1):
                out[i.line] = n
        return out


def _size(values: set[Value]) -> int:
    return sum(width(v.type) for v in values)


def register_pressure(function: Function, live: Liveness | None = None) -> RegisterPressure:
    """The register pressure at every instruction. `live` saves work where it is known."""
    result = RegisterPressure(function, live if live is not None else liveness(function))
    reachable = set(function.rpo) if function.blocks else set()
    for block in function.blocks:
        _walk(block, result, block in reachable)
    return result


def loop_pressures(loops: Sequence[Loop], live: Liveness) -> dict[Block, int]:
    """The largest count within each of some loops, by their headers. Walks their blocks alone."""
    blocks = dict.fromkeys(b for x in loops for b in x.blocks)
    peaks = {b: max([n for _, n, _ in _counts(b, live)], default=0) for b in blocks}
    return {x.header: max([peaks[b] for b in x.blocks], default=0) for x in loops}


def _walk(block: Block, result: RegisterPressure, counts: bool) -> None:
    peak = 0
    for i, n, n_pred in _counts(block, result.live):
        result.instructions.append(i)
        result.counts.append(n)
        result.predicates.append(n_pred)
        peak = max(peak, n)
        if counts:
            result.max_predicates = max(result.max_predicates, n_pred)
            if n > result.max_live or result.peak is None:
                result.max_live, result.peak = n, i
    result.block_max[block] = peak


def _counts(block: Block, live: Liveness) -> list[tuple[Instruction, int, int]]:
    """Registers and predicates at each instruction: last one first, then put in order."""
    alive = set(live.live_out_values(block))
    registers = predicates = 0
    for v in alive:
        if v.type is PRED:
            predicates += 1
        else:
            registers += width(v.type)
    found: list[tuple[Instruction, int, int]] = []
    phis: list[Instruction] = []
    for i in reversed(block):
        if i.form.is_phi:
            phis.append(i)
            continue
        most, most_p = registers, predicates
        for r in i.results:
            w = width(r.type)
            if r in alive:
                alive.discard(r)
                registers -= w
                if r.type is PRED:
                    predicates -= 1
            else:  # nothing reads it, but it takes its register all the same
                most += w
                most_p += r.type is PRED
        for v in i._operands:
            if v not in alive and v.is_tracked:
                alive.add(v)
                if v.type is PRED:
                    predicates += 1
                else:
                    registers += width(v.type)
        found.append((i, max(most, registers), max(most_p, predicates)))
    for phi in phis:  # phis are made together at the block's start
        if phi not in alive:
            registers += width(phi.type)
            predicates += phi.type is PRED
    found.extend((phi, registers, predicates) for phi in phis)
    found.reverse()
    return found
