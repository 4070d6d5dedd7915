"""Code as the allocator sees it: values are numbers, operations read and write them.

Both allocators of this package work on it: the exact one, over `sm.machine`'s list, and the
predictor, over the PTX instructions as the assembler is taken to rewrite them. A value has a
width in 32-bit registers; 0 is a predicate or a carry, which the general registers do not hold.

A region is what one schedule orders: a block, or several that the assembler makes one.
"""

from __future__ import annotations

from nvir.assembler.regalloc.tables import ISSUE
from nvir.ir import Block, Instruction
from nvir.ir.types import Type

PLAIN, LOAD, STORE, FENCE = range(4)
_Tuples = tuple[tuple[int, ...], ...]


class Op:
    """One operation.

    results   numbers of the values that it makes
    sources   numbers of the values that it reads, each once, the guard included
    latency   cycles until its results can be used
    kind      PLAIN, LOAD, STORE or FENCE (whatever no access to memory passes)
    space     bits of the memories that it touches
    scratch   further registers while it runs, its operands' included
    grouped   its results stand in consecutive registers, aligned
    tuples    sources that stand in consecutive registers, aligned; -1: a literal
    variable  it reads its sources late: who overwrites one would have to wait
    issue     cycles until the next operation can be issued
    family    what the machine runs where that is not its row's template; "": that
    ends      it has a slow path, which ends a block of the machine's
    pairs     its further registers are aligned pairs
    parent    the PTX instruction that it comes of
    """

    __slots__ = (
        "ends", "family", "grouped", "issue", "kind", "latency", "pairs", "parent", "results",
        "scratch", "sources", "space", "tuples", "variable",
    )

    def __init__(
        self, results: tuple[int, ...], sources: tuple[int, ...], parent: Instruction, *,
        latency: int = 0, kind: int = PLAIN, space: int = 0, scratch: int = 0,
        grouped: bool = False, tuples: _Tuples = (), variable: bool = False, ends: bool = False,
        issue: int = ISSUE, family: str = "", pairs: bool = False,
    ) -> None:
        self.results, self.sources, self.latency = results, sources, latency
        self.kind, self.space, self.scratch = kind, space, scratch
        self.grouped, self.parent, self.tuples = grouped, parent, tuples
        self.variable, self.ends, self.family = variable, ends, family
        self.issue, self.pairs = issue, pairs

    def copy(
        self, results: tuple[int, ...], sources: tuple[int, ...], tuples: _Tuples
    ) -> Op:
        """The same operation on other values."""
        return Op(
            results, sources, self.parent, latency=self.latency, kind=self.kind, space=self.space,
            scratch=self.scratch, grouped=self.grouped, tuples=tuples, variable=self.variable,
            ends=self.ends, issue=self.issue,
            family=self.family, pairs=self.pairs,
        )


class Region:
    """Operations between which nothing enters.

    blocks    the blocks that it is made of
    heads     numbers of the phis at its start
    ops       in order
    live_in   what is live before the first operation, the heads not among them
    live_out  what is live where control leaves
    """

    __slots__ = ("blocks", "heads", "live_in", "live_out", "ops")

    def __init__(self, blocks: list[Block]) -> None:
        self.blocks = blocks
        self.heads: list[int] = []
        self.ops: list[Op] = []
        self.live_in: set[int] = set()
        self.live_out: set[int] = set()


class Code:
    """A function's regions in an order in which definitions come before uses.

    widths    of each value, in 32-bit registers
    hints     value → value whose register it should share
    apart     64-bit products whose high word was made last, no longer beside the low one
    padded    products of which another block makes a pair again: each word has a pair of its own,
              one half of it empty
    """

    __slots__ = ("apart", "hints", "padded", "regions", "widths")

    def __init__(self) -> None:
        self.widths: list[int] = []
        self.hints: dict[int, int] = {}
        self.apart: set[int] = set()
        self.padded: set[int] = set()
        self.regions: list[Region] = []

    def value(self, width: int) -> int:
        """The number of a new value."""
        self.widths.append(width)
        return len(self.widths) - 1


def pressures(region: Region, order: list[Op], widths: list[int]) -> list[int]:
    """Live registers at each operation of an order: the larger of before and behind it."""
    live = set(region.live_out)
    now = sum(map(widths.__getitem__, live))
    out = []
    for op in reversed(order):
        behind = now
        for v in op.results:
            if v in live:
                live.discard(v)
                now -= widths[v]
            else:
                behind += widths[v]
        for v in op.sources:
            if v not in live:
                live.add(v)
                now += widths[v]
        out.append(max(now, behind))
    out.reverse()
    return out


def live_around(region: Region, order: list[Op], at: Op) -> tuple[set[int], set[int]]:
    """What is live before and behind one operation of an order."""
    live = set(region.live_out)
    for op in reversed(order):
        behind = live | set(op.results) if op is at else set()
        live.difference_update(op.results)
        live.update(op.sources)
        if op is at:
            return live, behind
    raise ValueError("the operation is not in the order")


def width_of(t: Type) -> int:
    """32-bit registers of a value; 0 for predicates and the carry."""
    bits = t.bits
    return 0 if bits == 1 or t.name == "cc" else (bits + 31) >> 5


def put_before_end(region: Region, op: Op) -> None:
    """Put an operation at the end of a region, before a branch."""
    ops = region.ops
    ends = bool(ops) and not ops[-1].family and ops[-1].parent.form.terminator
    ops.insert(len(ops) - ends, op)
