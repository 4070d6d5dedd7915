"""The set-based alternative to marking (knob 934): invariants by a fixed point over a bit set.

    A: the set of invariant values of a block grows until nothing changes
    B: the set is stamped on the values in one walk forward and one backward, as the marks are

The single walk of the default marks needs a stage of its own for chains; here a result enters the
set as soon as its operands are in it. It only grows, so it ends: each round but the last adds.

The real tool keeps the set in a tree of 256-bit nodes, found by the upper bits of the register's
number. Here a value has a dense number and the set is one Python integer.

Cost    a visit an instruction and round; with definitions before uses two rounds.
Source  the notes on ptxas, knob 934.
"""

from __future__ import annotations

from collections.abc import Sequence

from nvir.documented.hoist.stages import (
    OUTSIDE,
    HoistScope,
    HoistState,
    Marks,
    is_register,
    skipped_by_last,
    tell_last,
)
from nvir.ir import Instruction, Value
from nvir.ir.text.trace import is_traced, note, step


class ValueSet:
    """A set of values as the bits of an integer."""

    __slots__ = ("bits", "numbers")

    def __init__(self) -> None:
        self.bits = 0
        self.numbers: dict[Value, int] = {}

    def __contains__(self, v: Value) -> bool:
        return bool(self.bits >> self.numbers.get(v, len(self.numbers)) & 1)

    def add(self, v: Value) -> bool:
        """Insert; whether it was not there."""
        bit = 1 << self.numbers.setdefault(v, len(self.numbers))
        if self.bits & bit:
            return False
        self.bits |= bit
        return True


@step("SET-02", "A fixed point", "items", tell=lambda known, *a: [
    v for v in known.numbers if v in known])
def build_invariant_set(items: Sequence[Instruction], scope: HoistScope) -> ValueSet:
    """Phase A: the values that do not change while the loop runs, as far as the block says."""
    known = ValueSet()
    if is_traced():
        _phase_a_told(items, scope)
    changed = True
    while changed:
        changed = False
        for i in items:
            stays = i in scope.blocked
            for v in reversed(i.operands):
                if not is_register(v) or v in known:
                    continue
                if scope.pass_id == 3 and skipped_by_last(i, v):
                    continue
                if scope.in_range(v):
                    stays = True
                else:
                    changed |= known.add(v)
            if not stays:
                for r in i.results:
                    changed |= known.add(r)
    return known


def _phase_a_told(items: Sequence[Instruction], scope: HoistScope) -> None:
    """Note what decides before anything is in the set: operands made outside the depths of the
    loop, those passed over, and what must stay for what it does."""
    read = dict.fromkeys(v for i in items for v in i.operands if is_register(v))
    note("SET-03", "A outside", [v for v in read if not scope.in_range(v)],
         multi_depth=scope.multi_depth)
    note("SET-04", "A blocked", [i for i in items if i in scope.blocked], items=items)
    if scope.pass_id == 3:
        tell_last("SET-06", "A passed over", items)


@step("SET-05", "B stamps", "items", "forward")
def classify(
    items: Sequence[Instruction], known: ValueSet, marks: Marks, forward: bool = True
) -> list[Instruction]:
    """Phase B: stamp the set on the block's values. The forward walk clears the counts of what is
    in the set, the backward one counts its results, as stage 3 does. Returns
    what is stamped invariant."""
    for i in items:
        for v in i.operands:
            if forward and is_register(v):
                marks.use_count[v] = 0 if v in known else marks.use_count.get(v, 0) + 1
                marks.state.setdefault(
                    v, HoistState.EXTERNAL if v in known else HoistState.VARIANT
                )
        for r in i.results:
            invariant = r in known
            marks.def_block[r] = OUTSIDE if invariant else marks.index
            marks.state[r] = HoistState.INVARIANT if invariant else HoistState.VARIANT
            if invariant is not forward:
                marks.use_count[r] = marks.use_count.get(r, 0) + 1
    return [i for i in items if i.results and all(r in known for r in i.results)]
