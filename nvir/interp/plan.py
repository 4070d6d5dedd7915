"""Plans: a function cut into segments, and the order in which lanes go through them.

A segment is a run of instructions that a group of lanes executes at one go. It ends at the block's
terminator or at a `Special`: an operation that looks at more than one group (barriers, warp
exchanges, calls). A guarded special is two places: lanes whose guard is false skip the second.

Order     Groups run earliest place first. The order of blocks is a reverse post-order in which all
          blocks of a loop stand before what follows the loop, so lanes that leave early wait at the
          exit for the others and go on together. It comes from a depth-first search that visits, at
          a loop's header, the exits of the loop before its body.
Polling   A loop that reads volatile memory, waits or does atomics may depend on other groups; lanes
          that go round it often give way (wave.py).
Cost      Linear; segments are made and compiled when they are first reached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nvir.interp.leaves import real
from nvir.ir import IMM, Block, Function, Instruction, Value

if TYPE_CHECKING:
    from nvir.interp.program import Program


def block_order(function: Function) -> dict[Block, int]:
    """The rank of each reachable block; see the module's docstring."""
    function.analyze_cfg()
    extra: dict[Block, list[Block]] = {}
    for loop in function.loops():
        outside = sorted({b for _, b in loop.exits}, key=lambda b: (b.loop_depth, -b.rpo_index))
        extra[loop.header] = outside
    done: list[Block] = []
    seen = {function.entry}
    stack = [(function.entry, iter(_ways(function.entry, extra)))]
    while stack:
        block, ways = stack[-1]
        for b in ways:
            if b not in seen:
                seen.add(b)
                stack.append((b, iter(_ways(b, extra))))
                break
        else:
            done.append(block)
            stack.pop()
    return {b: k for k, b in enumerate(reversed(done))}


def _ways(block: Block, extra: dict[Block, list[Block]]) -> list[Block]:
    inner = sorted(block.succs, key=lambda b: (b.loop_depth, -b.rpo_index))
    return [*extra.get(block, ()), *inner]


_POLLS = frozenset((
    "atom", "nanosleep", "mbarrier.try_wait", "mbarrier.test_wait", "call", "bar.warp.sync",
    "unknown", "atomicrmw", "cmpxchg",
))


def _polls(block: Block) -> bool:
    return any(
        i.form.name in _POLLS
        or (i.form.reads and (i.form.pinned or i.form.sync or i.form.volatile))
        for i in block
    )


class Edge:
    """A way from one block to another: the phis it sets, and whether it goes back.

    `moves` are (phi, value) pairs, done all at once. `patience` is how often a group may take
    the edge while others wait; 0 on edges that do not go back.
    """

    __slots__ = ("moves", "part", "patience", "target", "whole")

    def __init__(self, target: Segment, moves: list[tuple[Value, Value]], patience: int) -> None:
        self.target, self.moves, self.patience = target, moves, patience
        self.whole: Any = None
        self.part: Any = None


class Segment:
    """A place where groups of lanes can be; see the module's docstring.

    key         rank of the block and position in it; groups with the least key run first
    instructions  executed at one go, without a terminator or special at the end
    special     what ends the segment, or None; `next` is the segment behind it
    skip        for the place of a guard before a special: where the others go on
    term        the terminator, or None
    count       lanes that have entered the block here (first segments only)
    """

    __slots__ = (
        "block", "compiled", "count", "edges", "first", "instructions", "key", "next", "part",
        "plan", "size", "skip", "special", "term", "whole",
    )

    def __init__(self, plan: FunctionPlan, block: Block, key: tuple[int, int]) -> None:
        self.plan, self.block, self.key = plan, block, key
        self.instructions: list[Instruction] = []
        self.special: Any = None
        self.next: Segment | None = None
        self.skip: Any = None
        self.term: Instruction | None = None
        self.edges: list[Edge] | None = None
        self.first = False
        self.count = 0
        self.size = 1
        self.whole: Any = None
        self.part: Any = None

    @property
    def line(self) -> int:
        """The line of the text where the place is."""
        for i in (*self.instructions, getattr(self.special, "instruction", None), self.term):
            if i is not None and i.line:
                return int(i.line)
        return self.block.line

    def where(self) -> Instruction | None:
        """The instruction at which a group that is here waits."""
        if self.special is not None and not self.instructions:
            return real(self.special.instruction)  # type: ignore[no-any-return]
        return self.instructions[0] if self.instructions else self.term


class FunctionPlan:
    """A function prepared to run: slots of values, segments, frame."""

    def __init__(self, function: Function, program: Program) -> None:
        self.function, self.program = function, program
        self.slots: dict[Value, int] = {}
        self.frame = program.storage.frame(function)
        self._leaves: dict[Value, tuple[Value, ...]] = {}
        self.order = block_order(function)
        self.heads: dict[Block, Segment] = {}
        self.segment_of: dict[Instruction, Segment] = {}
        self.loops: dict[Block, bool] | None = None

    @property
    def entry(self) -> Segment:
        return self.head(self.function.entry)

    def slot(self, value: Value) -> int:
        """The dense number of a value of this function."""
        n = self.slots.get(value)
        if n is None:
            n = self.slots[value] = len(self.slots)
        return n

    def leaves(self, value: Value) -> tuple[Value, ...]:
        """The scalars of a value: itself at ori, those of an aggregate at nvvm."""
        found = self._leaves.get(value)
        if found is None:
            found = self._leaves[value] = self.program.rows.leaves(self, value)
        return found

    def typed_leaves(self, value: Value) -> list[tuple[Value, str]]:
        """The scalars, each with the untyped PTX name of its register."""
        from nvir.interp.emit import register_name

        parts = self.leaves(value)
        if self.program.rows.level == "ori":
            return [(x, "b32" if x.type is IMM else register_name(x.type)) for x in parts]
        from nvir.interp.nvvm.constants import scalars

        types = scalars(value.type)
        return [(x, register_name(t)) for x, t in zip(parts, types, strict=True)]

    def head(self, block: Block) -> Segment:
        """The first segment of a block; cuts the block when it is first reached."""
        segment = self.heads.get(block)
        if segment is None:
            segment = self._cut(block)
        return segment

    def _cut(self, block: Block) -> Segment:
        make_special = self.program.rows.special
        rank = self.order[block]
        pos = 0
        segment = head = Segment(self, block, (rank, 0))
        head.first = True
        self.heads[block] = head
        for i in block:
            if i.form.is_phi:
                continue
            self.segment_of[i] = segment
            if i.form.terminator:
                segment.term = i
                continue
            special = make_special(self, i)
            if special is None:
                segment.instructions.append(i)
                continue
            after = Segment(self, block, (rank, pos + 2))
            if i.guard is not None:
                inner = Segment(self, block, (rank, pos + 1))
                segment.special = self.program.rows.guard_split(self, i, inner, after)
                segment.next = inner
                segment.size += len(segment.instructions)
                segment = inner
            before = getattr(special, "before", None)
            if before is not None:
                segment.instructions.append(before)
            segment.special, segment.next = special, after
            segment.size += len(segment.instructions)
            segment = after
            behind = getattr(special, "behind", None)
            if behind is not None:
                segment.instructions.append(behind)
            pos += 2
        segment.size += len(segment.instructions)
        return head

    def edges(self, segment: Segment) -> list[Edge]:
        """The edges of a segment with a terminator, in the order of its successors."""
        if segment.edges is None:
            assert segment.term is not None
            made = {b: self._edge(segment.block, b) for b in set(segment.term.successors)}
            segment.edges = [made[b] for b in segment.term.successors]
        return segment.edges

    def _edge(self, source: Block, target: Block) -> Edge:
        moves: list[tuple[Value, Value]] = []
        for phi in target.phis:
            for value, block in phi.incoming:
                if block is source:
                    moves.extend(zip(self.leaves(phi), self.leaves(value), strict=True))
                    break
        patience = 0
        if self.order[target] <= self.order[source]:
            patience = 8 if self._loop_polls(target) else 4096
        return Edge(self.head(target), moves, patience)

    def _loop_polls(self, header: Block) -> bool:
        if self.loops is None:
            self.loops = {
                loop.header: any(_polls(b) for b in loop.blocks) for loop in self.function.loops()
            }
        return self.loops.get(header, True)
