"""Which values are live where blocks begin and end.

A value is live at a point when some path from there reaches a use of it. Uses
of a phi happen at the end of its predecessors, and its result is made at the
very start of its block: so the operand is live out of the predecessor, and the
result is not live in.

           a = ld ..          live out: {a, n}
    L:     x = phi [a, entry], [y, L]
           y = add x, 1       live in {n}, live out {y, n}
           @p bra L           (x is not live in: it is made here)

Method   Most values have one use, next to their definition, and are dismissed by
         one look at it. From the uses of each other value a walk goes back to its
         definition and notes it at the blocks on the way (Boissinot et al.,
         "Computing Liveness Sets for SSA-Form Programs", 2011). Bit sets over all
         crossing values would be as wide as the function is long.
Cost     One visit for each value and each crossing use, and a step for each
         block of a live range: the size of the result.
"""

from __future__ import annotations

from collections.abc import Iterator

from nvir.ir import VOID, Argument, Block, Function, Instruction, Value, successors


class Liveness:
    """The live sets of a function, as they were when it was made.

    values      the values that cross blocks, in the order of definition
    live_in     block → what is live before its first instruction and made
                elsewhere (results of its phis excluded), in that order
    live_out    block → what is live behind its terminator, operands of its
                successors' phis for this edge included
    """

    __slots__ = ("_sets", "function", "live_in", "live_out", "values")

    def __init__(self, function: Function) -> None:
        self.function = function
        self.values: list[Value] = []
        self.live_in: dict[Block, list[Value]] = {}
        self.live_out: dict[Block, list[Value]] = {}
        self._sets: dict[Block, frozenset[Value]] = {}

    def live_in_values(self, block: Block) -> list[Value]:
        """What is live into the block, in the order of definition."""
        return self.live_in[block].copy()

    def live_out_values(self, block: Block) -> list[Value]:
        """What is live out of the block, in the order of definition."""
        return self.live_out[block].copy()

    def is_live_in(self, value: Value, block: Block) -> bool:
        found = self._sets.get(block)
        if found is None:
            found = self._sets[block] = frozenset(self.live_in[block])
        return value in found

    def backwards(self, block: Block) -> Iterator[tuple[Instruction, set[Value]]]:
        """Each instruction from the last to the first non-phi, with what is live behind it.

        The set is one object that changes from step to step; copy it to keep it. After
        the last step, and the results of phis added, it is what lives at the block's start.
        """
        live = set(self.live_out_values(block))
        for i in reversed(block):
            if i.form.is_phi:
                return
            yield i, live
            live.difference_update(i.results)
            live.update(v for v in i._operands if v.is_tracked)


def liveness(function: Function) -> Liveness:
    """Live-in and live-out sets of every block, unreachable ones included."""
    result = Liveness(function)
    blocks = function.blocks
    live_in: list[list[Value]] = [[] for _ in blocks]
    live_out: list[list[Value]] = [[] for _ in blocks]
    result.live_in = dict(zip(blocks, live_in, strict=True))
    result.live_out = dict(zip(blocks, live_out, strict=True))
    number: dict[Block | None, int] = {b: k for k, b in enumerate(blocks)}
    preds = _predecessors(blocks, number)
    entered, left = [-1] * len(blocks), [-1] * len(blocks)  # the last value met at each block
    for v, block in _definitions(function):
        u = v._uses
        if u is None or (u.__class__ is not dict and u.block is block and not u.form.is_phi):
            continue
        enters, leaves = _crossing_uses(v, block, number)
        if not enters and not leaves:
            continue
        k = len(result.values)
        result.values.append(v)
        home = number.get(block, -1)
        while leaves or enters:
            if not leaves:
                b = enters.pop()
                if entered[b] == k:
                    continue
                entered[b] = k
                live_in[b].append(v)
                leaves += preds[b]
            for p in leaves:
                if left[p] != k:
                    left[p] = k
                    live_out[p].append(v)
                    if p != home:
                        enters.append(p)
            leaves.clear()
    return result


def _predecessors(blocks: list[Block], number: dict[Block | None, int]) -> list[list[int]]:
    preds: list[list[int]] = [[] for _ in blocks]
    for k, b in enumerate(blocks):
        for s in successors(b):
            preds[number[s]].append(k)
    return preds


def _crossing_uses(
    v: Value, home: Block | None, number: dict[Block | None, int]
) -> tuple[list[int], list[int]]:
    """The blocks that `v` is live into for a use in them, and out of for a phi behind them."""
    enters: list[int] = []
    leaves: list[int] = []
    for i in v.users:
        if i.form.is_phi:
            leaves += [number[b] for x, b in zip(i._operands, i.aux, strict=True) if x is v]
        elif i.block is not home:
            enters.append(number[i.block])
    return enters, leaves


def _definitions(function: Function) -> Iterator[tuple[Value, Block | None]]:
    """Every value with the block that makes it (None: an argument)."""
    for a in (*function.params, *function.returns):
        if isinstance(a, Argument):
            yield a, None
    for b in function.blocks:
        i = b.first
        while i is not None:
            if i._results is not None:
                for r in i._results:
                    yield r, b
            elif i.type is not VOID:
                yield i, b
            i = i.next


def flood(
    enters: list[Block], home: Block | None, preds: dict[Block, list[Block]], out: set[Block]
) -> None:
    """Add to `out` the blocks that a value made in `home` is live out of, because it is live
    into `enters` (which is used up)."""
    entered: set[Block] = set()
    while enters:
        b = enters.pop()
        if b in entered:
            continue
        entered.add(b)
        for p in preds[b]:
            out.add(p)
            if p is not home and p not in entered:
                enters.append(p)


__all__ = ["Liveness", "flood", "liveness"]
