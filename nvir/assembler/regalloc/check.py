"""The judge of allocations: follows what each register holds, and looks at every place.

It reads nothing that the allocator thought, only what it made: the operations of the machine list
as they were, the registers given to their operands, moves, loads and stores that were put in.

    contents   each operand of each operation finds, in the register that was given to it, the word
               that the operation read before there were registers; so do phis at the end of their
               predecessors, and what blocks behind read
    sharing    no two values that are live at one point have a register in common
    places     values of several words are aligned; tuples are consecutive and aligned; what is
               tied has one register

Cost    live values at each step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nvir.assembler.regalloc.allocation import Allocation
from nvir.assembler.regalloc.step import Step, width
from nvir.assembler.regalloc.tables import STACK_POINTER
from nvir.assembler.regalloc.units import Owner
from nvir.ir import Block, NvirError
from nvir.sm.operation import Register

_LITERAL = "a literal"
_Contents = dict[int, object]


def check_allocation(a: Allocation) -> None:
    """Raise NvirError at the first mistake of an allocation."""
    for fault in faults_of(a):
        raise NvirError(fault)


def faults_of(a: Allocation) -> Iterator[str]:
    """All mistakes, as sentences."""
    blocks: dict[Block, list[Step]] = {b: [] for b in a.live_out}
    for s in a.steps:
        blocks[s.block].append(s)
    entering: dict[Block, set[Owner]] = {}
    for block, steps in blocks.items():
        live = set(a.live_out[block])
        for s in reversed(steps):
            yield from _sharing(live | set(s.results), a)
            live = (live - set(s.results)) | set(s.sources)
            yield from _sharing(live, a)
        entering[block] = live | set(a.heads[block])
        yield from _sharing(entering[block], a)
    unmade = _unmade(a)
    homes: dict[int, Register] = {
        slot + 4 * w: (v, w) for v, slot in a.spilled.items() for w in range(width(v))
    }
    for block, steps in blocks.items():
        for s in steps:
            yield from _places(a, s)
        yield from _contents(a, block, steps, entering, homes, unmade)


def _unmade(a: Allocation) -> set[Register]:
    """Words that no operation makes while others of the value are made: they are another's."""
    made = {r for s in a.steps if s.operation is not None for r in s.operation.results}
    return {(v, w) for v, _ in made for w in range(width(v))} - made


def _sharing(live: set[Owner], a: Allocation) -> Iterator[str]:
    taken: dict[int, Owner] = {}
    for v in live:
        w = width(v)
        if not w:
            continue
        r = a.general[v]
        step = 1 if w == 1 else 2 if w == 2 else 4
        if r % step or r <= STACK_POINTER < r + w:
            yield f"{v.name}: R{r} cannot hold {w} registers"
        for k in range(r, r + w):
            if k in taken:
                yield f"{v.name} and {taken[k].name} share R{k}"
            taken[k] = v


def _places(a: Allocation, s: Step) -> Iterator[str]:
    for registers, rows in ((s.read, s.tuples), (s.written, s.made)):
        for row in rows:
            have = [_number(a, registers[p]) for p in row]
            step = 2 if len(row) == 2 else 4
            if have[0] % step or have != list(range(have[0], have[0] + len(row))):
                yield f"{s.operation}: {have} is no aligned tuple"
    for written, read in s.ties:
        if _number(a, s.written[written]) != _number(a, s.read[read]):
            yield f"{s.operation}: result {written} is not where operand {read} is"


def _number(a: Allocation, register: Register) -> int:
    return a.general[register[0]] + register[1]


def _contents(
    a: Allocation, block: Block, steps: list[Step], entering: Mapping[Block, set[Owner]],
    homes: Mapping[int, Register], unmade: set[Register],
) -> Iterator[str]:
    held: _Contents = {}
    for v in entering[block]:
        for w in range(width(v)):
            held[a.general[v] + w] = (v, w)
    for s in steps:
        if s.is_store and {homes.get(s.slot + 4 * k) for k in range(len(s.read))} & unmade:
            continue
        yield from _step(a, s, held, homes)
    through = set[Owner]().union(
        *(entering[f] - set(a.heads[f]) for f in block.succs if f in entering)
    )
    for v in through:
        for w in range(width(v)):
            if held.get(a.general[v] + w) != (v, w) and (v, w) not in unmade:
                yield f"R{a.general[v] + w} does not hold {v.name} at the end of {block.name}"
    for follow in block.succs:
        for phi in a.heads.get(follow, ()):
            yield from _handed(a, block, phi, through, held)


def _handed(
    a: Allocation, block: Block, phi: Owner, through: set[Owner], held: _Contents
) -> Iterator[str]:
    """What a phi is handed is there, and its place destroys nothing that others need."""
    for w, register in enumerate(a.incoming.get(phi, {}).get(block, ())):
        if register is None or not width(register[0]) or register[0] in a.spilled:
            continue
        if held.get(_number(a, register)) != register:
            yield f"{phi.name} is not handed {register[0].name} by {block.name}"
        place = a.general[phi] + w
        for v in through - {phi}:
            word = place - (a.general[v] if width(v) else 0)
            if 0 <= word < width(v) and (v, word) != register:  # else it holds that already
                yield f"{phi.name} overwrites {v.name} at the end of {block.name}"


def _step(
    a: Allocation, s: Step, held: _Contents, homes: Mapping[int, Register]
) -> Iterator[str]:
    if s.slot >= 0:
        yield from _memory(a, s, held, homes)
        return
    if s.moves:
        now = [_LITERAL if r is None else held.get(_number(a, r)) for _, r in s.moves]
        for (target, _), what in zip(s.moves, now, strict=True):
            held[a.general[target]] = what
        return
    assert s.operation is not None
    wanted: list[object] = [*s.operation.reads]
    wanted += [_LITERAL] * (len(s.read) - len(wanted))
    for want, register in zip(wanted, s.read, strict=True):
        if width(register[0]) and held.get(_number(a, register)) != want:
            yield f"{s.operation}: R{_number(a, register)} does not hold what it reads"
    for made, register in zip(s.operation.results, s.written, strict=True):
        if width(register[0]):
            held[_number(a, register)] = made


def _memory(
    a: Allocation, s: Step, held: _Contents, homes: Mapping[int, Register]
) -> Iterator[str]:
    for k, register in enumerate(s.read if s.is_store else s.written):
        home, number = homes.get(s.slot + 4 * k), _number(a, register)
        if home is None:
            yield f"byte {s.slot + 4 * k} of local memory has no value"
        elif not s.is_store:
            held[number] = home
        elif held.get(number) != home and not _hands(a, s.block, home, held.get(number)):
            yield f"R{number} does not hold {home[0].name} when it is stored"


def _hands(a: Allocation, block: Block, home: Register, what: object) -> bool:
    """Whether a block hands a phi in memory what a register holds."""
    words = a.incoming.get(home[0], {}).get(block, ())
    wanted = words[home[1]] if home[1] < len(words) else None
    return what == (_LITERAL if wanted is None else wanted)
