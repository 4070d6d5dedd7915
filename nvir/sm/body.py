"""Machine code as one structure, predicted or decoded: blocks of machine instructions.

`nvir.assembler` predicts a `MachineBody` from `ori`, `nvir.toolchain.sass_body` decodes one from
real machine code. Whatever speaks of machine code (registers, the peak, resource bounds, cycles)
asks it of a body, so that two figures of one loop cannot contradict each other and a prediction
can be held against the real thing instruction by instruction.

Registers live in four files: vector ("R", one for each lane), uniform ("UR", one a warp), and a
file of predicates for each ("P", "UP"). A `Span` names consecutive registers of one file. Zero
registers (RZ, URZ, PT, UPT) are no spans: reading one needs nothing.

Live registers are counted as `nvdisasm -plr` does: at an instruction, all that is live before it,
behind it, or written by it.

Cost     liveness is a backward data flow on Python ints as bit sets, a few passes over the blocks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

FILES = ("R", "UR", "P", "UP")
VECTOR, UNIFORM, PREDICATE, UNIFORM_PREDICATE = FILES
_FIRST_BIT = {VECTOR: 0, UNIFORM: 256, PREDICATE: 512, UNIFORM_PREDICATE: 528}
_FILE_MASK = {
    VECTOR: (1 << 256) - 1, UNIFORM: ((1 << 256) - 1) << 256,
    PREDICATE: ((1 << 16) - 1) << 512, UNIFORM_PREDICATE: ((1 << 16) - 1) << 528,
}


class Span(NamedTuple):
    """Consecutive registers of one file: ("R", 4, 2) is R4 and R5."""

    file: str
    first: int
    words: int

    def __str__(self) -> str:
        last = self.first + self.words - 1
        return f"{self.file}{self.first}" + (f"..{last}" if self.words > 1 else "")


class ControlBits(NamedTuple):
    """The scheduling bits of one instruction, known of real code.

    `stall` is the cycles before the warp's next issue, 0 to 15; `write_barrier` and
    `read_barrier` are the scoreboards (0 to 5) that it sets, or None; `wait_mask` has one
    bit for each scoreboard that it waits for; `reuse` one bit an operand slot.
    """

    stall: int
    yield_: bool
    write_barrier: int | None
    read_barrier: int | None
    wait_mask: int
    reuse: int


class BodyInstruction:
    """One machine instruction.

    opcode   with its modifiers, as nvdisasm spells it: "IMAD.WIDE.U32"
    pipe     the pipe that runs it; "" where no profile was asked
    guard    the predicate that it runs under, or None; it is among the reads
    writes, reads   spans
    line     of the source or the PTX text (whoever made the body says which); 0: unknown
    control  the scheduling bits, known of real code only
    target   index of the block that it branches to, calls or meets at, -1 of none
    text     as nvdisasm prints it, empty of a prediction
    """

    __slots__ = (
        "control", "guard", "line", "opcode", "pipe", "reads", "target", "text", "writes",
    )

    def __init__(
        self, opcode: str, writes: Sequence[Span] = (), reads: Sequence[Span] = (), *,
        guard: Span | None = None, line: int = 0, control: ControlBits | None = None,
        pipe: str = "", text: str = "",
    ) -> None:
        self.opcode, self.writes, self.reads = opcode, tuple(writes), tuple(reads)
        self.guard, self.line, self.control, self.pipe = guard, line, control, pipe
        self.target = -1
        self.text = text

    @property
    def family(self) -> str:
        """The opcode without its modifiers: "IMAD" of "IMAD.WIDE"."""
        return self.opcode.partition(".")[0]

    def __str__(self) -> str:
        if self.text:
            return self.text
        guard = f"@{self.guard} " if self.guard is not None else ""
        made, read = ", ".join(map(str, self.writes)), ", ".join(map(str, self.reads))
        return f"{guard}{self.opcode} {made or '–'} ← {read or '–'}"

    def __repr__(self) -> str:
        return f"<BodyInstruction {self}>"


class BodyBlock:
    """Instructions that run one behind the other.

    succs   indices of the blocks that may follow; a call is followed by what stands behind it
    callee  index of the entry of the routine in this body that the last instruction calls, or -1
    loop    the innermost loop that it is in, or None
    """

    __slots__ = ("callee", "index", "instructions", "loop", "preds", "succs")

    def __init__(self, index: int) -> None:
        self.index = index
        self.instructions: list[BodyInstruction] = []
        self.succs: list[int] = []
        self.preds: list[int] = []
        self.callee = -1
        self.loop: BodyLoop | None = None


class BodyLoop:
    """A natural loop: the header's index, its blocks' indices, the loop around it, its depth."""

    __slots__ = ("blocks", "depth", "header", "parent")

    def __init__(self, header: int, blocks: frozenset[int]) -> None:
        self.header, self.blocks = header, blocks
        self.parent: BodyLoop | None = None
        self.depth = 1


class LiveCounts(NamedTuple):
    """Live registers at each instruction of a body, by block: tuples in the order of FILES."""

    blocks: tuple[tuple[tuple[int, int, int, int], ...], ...]

    def max_live(self, file: str = VECTOR) -> int:
        """The most registers of a file that are live at one instruction."""
        k = FILES.index(file)
        return max((n[k] for block in self.blocks for n in block), default=0)


class MachineBody:
    """The machine code of one function.

    arch        "sm_80"
    source      "ptxas" of decoded code, "model" of a prediction
    blocks      in the order of the code, the first is the entry
    registers   vector registers a thread as `ptxas -v` counts them, None where not known
    spill_bytes stores and loads of what went to local memory, None where not known
    """

    def __init__(
        self, name: str, arch: str, blocks: Sequence[BodyBlock], *, source: str,
        registers: int | None = None, spill_bytes: int | None = None,
    ) -> None:
        self.name, self.arch, self.source = name, arch, source
        self.blocks = list(blocks)
        self.registers, self.spill_bytes = registers, spill_bytes
        for block in self.blocks:
            for s in block.succs:
                self.blocks[s].preds.append(block.index)
        self.loops = _find_loops(self.blocks)

    def instructions(self) -> Iterator[BodyInstruction]:
        """All instructions in the order of the code."""
        for block in self.blocks:
            yield from block.instructions

    def live_counts(self) -> LiveCounts:
        """Live registers at each instruction."""
        return live_counts(self.blocks)

    def loop_instructions(self, loop: BodyLoop) -> list[BodyInstruction]:
        """The instructions of a loop in the order of the code."""
        return [i for b in sorted(loop.blocks) for i in self.blocks[b].instructions]

    def innermost(self) -> list[BodyLoop]:
        """The loops that hold no other, in the order of the code."""
        around = {x.parent for x in self.loops}
        return sorted((x for x in self.loops if x not in around), key=lambda x: x.header)

    @cached_property
    def copies(self) -> Mapping[BodyLoop, dict[int, int]]:
        """How often each line stands in the blocks of each loop that are in no inner one."""
        counts: dict[BodyLoop, dict[int, Counter[str]]] = {x: {} for x in self.loops}
        for block in self.blocks:
            mine = counts.get(block.loop) if block.loop is not None else None
            for i in block.instructions if mine is not None else ():
                if mine is not None and i.line:
                    mine.setdefault(i.line, Counter())[i.opcode] += 1
        return {
            x: {line: min(found.values()) for line, found in mine.items()}
            for x, mine in counts.items()
        }

    @cached_property
    def back_edges(self) -> Mapping[BodyLoop, set[int]]:
        """The lines of the instructions that branch back to the header of each loop."""
        return {
            x: {self.blocks[b].instructions[-1].line for b in self.blocks[x.header].preds
                if b in x.blocks and self.blocks[b].instructions}
            for x in self.loops
        }

    @cached_property
    def innermost_of_line(self) -> Mapping[int, list[BodyLoop]]:
        """The innermost loops by the lines that stand in them."""
        found: dict[int, list[BodyLoop]] = {}
        for x in self.innermost():
            for line in self.copies[x]:
                found.setdefault(line, []).append(x)
        return found


# ---------------------------------------------------------------------------- loops


def code_order(blocks: Sequence[BodyBlock]) -> list[int]:
    """Reverse post-order of what can be reached from the entry and from called routines."""
    seen: set[int] = set()
    out: list[int] = []
    roots = [0] if blocks else []
    roots += sorted({b.callee for b in blocks if b.callee >= 0})
    for root in reversed(roots):
        if root in seen:
            continue
        seen.add(root)
        stack: list[tuple[int, Iterator[int]]] = [(root, iter(blocks[root].succs))]
        while stack:
            node, follow = stack[-1]
            for s in follow:
                if s not in seen:
                    seen.add(s)
                    stack.append((s, iter(blocks[s].succs)))
                    break
            else:
                out.append(node)
                stack.pop()
    out.reverse()
    return out


def _dominators(blocks: Sequence[BodyBlock], order: Sequence[int]) -> dict[int, int]:
    """Immediate dominators (Cooper, Harvey, Kennedy, 2001); a root's is -1."""
    place = {b: k for k, b in enumerate(order)}
    idom: dict[int, int] = {}
    roots = {0, *(b.callee for b in blocks)}
    changed = True
    while changed:
        changed = False
        for b in order:
            new = -2
            for p in blocks[b].preds:
                if p in idom:
                    new = p if new == -2 else _meet(new, p, idom, place)
            if b in idom and new == -2:
                continue
            new = -1 if new == -2 or b in roots else new
            if idom.get(b, -3) != new:
                idom[b] = new
                changed = True
    return idom


def _meet(a: int, b: int, idom: dict[int, int], place: dict[int, int]) -> int:
    while a != b:
        if a == -1 or b == -1:
            return -1
        if place[a] > place[b]:
            a = idom[a]
        else:
            b = idom[b]
    return a


def _find_loops(blocks: Sequence[BodyBlock]) -> list[BodyLoop]:
    """Natural loops by back edges, those of one header as one, outer before inner."""
    order = code_order(blocks)
    idom = _dominators(blocks, order)
    members: dict[int, set[int]] = {}
    for b in order:
        for s in blocks[b].succs:
            if _dominates(s, b, idom):
                inside = members.setdefault(s, {s})
                work = [b]
                while work:
                    x = work.pop()
                    if x not in inside:
                        inside.add(x)
                        work.extend(blocks[x].preds)
    loops = [BodyLoop(h, frozenset(found)) for h, found in members.items()]
    loops.sort(key=lambda x: (-len(x.blocks), x.header))
    for loop in loops:
        loop.parent = blocks[loop.header].loop  # the smallest of the larger ones that hold it
        loop.depth = loop.parent.depth + 1 if loop.parent is not None else 1
        for b in loop.blocks:
            blocks[b].loop = loop
    return loops


def _dominates(a: int, b: int, idom: dict[int, int]) -> bool:
    while b >= 0 and b != a:
        b = idom.get(b, -1)
    return b == a


# ---------------------------------------------------------------------------- the longest way


def body_path(body: MachineBody, loop: BodyLoop | None) -> list[int]:
    """The blocks of the longest way through a loop, or from the entry, those of inner loops left
    out."""
    order = [b for b in code_order(body.blocks) if loop is None or b in loop.blocks]
    node = {b: _node(b, body.blocks[b].loop, loop) for b in order}
    place = {b: n for n, b in enumerate(order)}
    weight: dict[int, int] = {}
    follow: dict[int, dict[int, None]] = {}
    for b in order:
        block = body.blocks[b]
        size = len(block.instructions) - (_CALLED if block.callee >= 0 else 0)
        weight[node[b]] = weight.get(node[b], 0) + size
        later = (s for s in block.succs if place.get(s, -1) > place[b] and node[s] != node[b])
        follow.setdefault(node[b], {}).update(dict.fromkeys(node[s] for s in later))
    start = 0 if loop is None else loop.header
    best, before = {start: weight.get(start, 0)}, dict[int, int]()
    for b in dict.fromkeys(node[b] for b in order):
        for s in follow[b] if b in best else ():
            if best[b] + weight[s] > best.get(s, -_NEVER):
                best[s], before[s] = best[b] + weight[s], b
    ends = [b for b in best if loop is None or loop.header in body.blocks[b].succs]
    last = max(ends or best, key=lambda b: best[b], default=start)
    path = [last]
    while path[-1] in before:
        path.append(before[path[-1]])
    return [b for b in reversed(path) if body.blocks and body.blocks[b].loop is loop]


_CALLED = 1 << 20  # what a call weighs against a way
_NEVER = 1 << 60


def _node(block: int, loop: BodyLoop | None, within: BodyLoop | None) -> int:
    """A block of `within`, or the header of the loop directly inside of it that holds the block."""
    node = block
    while loop is not None and loop is not within:
        node, loop = loop.header, loop.parent
    return node


# ---------------------------------------------------------------------------- liveness


def register_bits(spans: Iterable[Span]) -> int:
    """Registers as the bits of a number, one bit for each register of each file."""
    mask = 0
    for file, first, words in spans:
        mask |= ((1 << words) - 1) << (_FIRST_BIT[file] + first)
    return mask


_Row = tuple[int, int, int]  # bits read, written, and killed by one instruction


def live_counts(blocks: Sequence[BodyBlock]) -> LiveCounts:
    """Live registers at each instruction of some blocks; see `MachineBody.live_counts`."""
    rows = [[_row(i) for i in b.instructions] for b in blocks]
    ends = _live_ends(blocks, rows)
    found = []
    for b in blocks:
        live = ends[b.index]
        counts = []
        for read, written, killed in reversed(rows[b.index]):
            before = live & ~killed | read
            at = live | before | written
            counts.append((
                (at & _FILE_MASK["R"]).bit_count(), (at & _FILE_MASK["UR"]).bit_count(),
                (at & _FILE_MASK["P"]).bit_count(), (at & _FILE_MASK["UP"]).bit_count(),
            ))
            live = before
        found.append(tuple(reversed(counts)))
    return LiveCounts(tuple(found))


def _row(i: BodyInstruction) -> _Row:
    written = register_bits(i.writes)
    return register_bits(i.reads), written, written if i.guard is None else 0


def _live_ends(blocks: Sequence[BodyBlock], rows: Sequence[Sequence[_Row]]) -> list[int]:
    """What is live behind each block, as bits."""
    reads, kills = [], []
    for row in rows:
        read = kill = 0
        for r, _, k in reversed(row):
            read, kill = read & ~k | r, kill | k
        reads.append(read)
        kills.append(kill)
    routines = called_routines(blocks)
    needs, spoils = _summaries(blocks, routines, reads, kills)
    live_in = list(reads)
    ends = [0] * len(blocks)
    returns: dict[int, int] = dict.fromkeys(routines, 0)  # live behind a call of the routine
    home = {b: entry for entry, found in routines.items() for b in found}
    changed = True
    order = list(reversed(code_order(blocks)))
    while changed:
        changed = False
        for b in order:
            block = blocks[b]
            out = 0
            for s in block.succs:
                out |= live_in[s]
            if block.callee >= 0:
                if out | returns[block.callee] != returns[block.callee]:
                    returns[block.callee] |= out
                    changed = True
                out = out & ~spoils[block.callee] | needs[block.callee]
            elif not block.succs and b in home and _returns(block):
                out = returns[home[b]]
            before = reads[b] | out & ~kills[b]
            if before != live_in[b] or out != ends[b]:
                live_in[b], ends[b], changed = before, out, True
    return ends


def _returns(block: BodyBlock) -> bool:
    return bool(block.instructions) and block.instructions[-1].family == "RET"


def called_routines(blocks: Sequence[BodyBlock]) -> dict[int, set[int]]:
    """The blocks of each routine that is called within the body, by its entry."""
    found: dict[int, set[int]] = {}
    for entry in {b.callee for b in blocks if b.callee >= 0}:
        inside: set[int] = set()
        work = [entry]
        while work:
            b = work.pop()
            if b not in inside:
                inside.add(b)
                work.extend(blocks[b].succs)
        found[entry] = inside
    return found


def _summaries(
    blocks: Sequence[BodyBlock], routines: dict[int, set[int]], reads: Sequence[int],
    kills: Sequence[int],
) -> tuple[dict[int, int], dict[int, int]]:
    """Of each routine what it reads of its caller's, and what it surely overwrites."""
    everything = sum(_FILE_MASK.values())
    needs = dict.fromkeys(routines, 0)
    spoils = dict.fromkeys(routines, 0)
    for _ in range(2 if any(blocks[b].callee >= 0 for x in routines.values() for b in x) else 1):
        for entry, inside in routines.items():
            need = {b: reads[b] for b in inside}
            spoil = dict.fromkeys(inside, everything)
            changed = True
            while changed:
                changed = False
                for b in sorted(inside, reverse=True):
                    block = blocks[b]
                    out, killed = 0, everything if block.succs else 0
                    for s in block.succs:
                        out |= need[s]
                        killed &= spoil[s]
                    if block.callee >= 0:
                        out = out & ~spoils[block.callee] | needs[block.callee]
                        killed |= spoils[block.callee]
                    now = reads[b] | out & ~kills[b], kills[b] | killed
                    if now != (need[b], spoil[b]):
                        need[b], spoil[b] = now
                        changed = True
            needs[entry], spoils[entry] = need[entry], spoil[entry]
    return needs, spoils
