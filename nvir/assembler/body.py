"""The `MachineBody` that the assembler is taken to make of a function.

Its blocks are the regions of the prediction, its instructions stand in the predicted order on the
predicted registers, and each carries the line of the PTX instruction that it comes of. What a row
becomes is said by its template; an operation of several machine instructions (a 64-bit sum) has
them one behind the other: all read its operands, the last writes its results.

Cost    that of the prediction, and one template look-up for each operation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush
from itertools import pairwise

from nvir.analysis.liveness import Liveness
from nvir.assembler.regalloc.code import LOAD, Code, Op, Region
from nvir.assembler.regalloc.colour import Colouring, colour
from nvir.assembler.regalloc.facts import facts_of
from nvir.assembler.regalloc.order import dependences, schedule
from nvir.assembler.regalloc.predict import Prediction, predict
from nvir.assembler.regalloc.tables import RESERVED, STACK_POINTER, generation
from nvir.ir import Block, Function
from nvir.sm.body import PREDICATE, UNIFORM, VECTOR, BodyBlock, BodyInstruction, MachineBody, Span
from nvir.sm.machine import shape_of
from nvir.sm.profile import Profile
from nvir.sm.templates.lookup import template

_PREDICATES = 7
_OF_ADDRESSES = frozenset(("S2UR", "R2UR"))
CROWDED = 2  # multiplications for each integer operation from which none is made of a move
SLACK = 8  # registers that an order for time may take beyond those that are predicted
_STACK_POINTER = Span(VECTOR, STACK_POINTER, 1)
_DESCRIPTOR = Span(UNIFORM, 4, 2)  # of global memory, which accesses name
_DESCRIBED = 80  # compute capability from which they do
_GLOBAL = frozenset(["LDG", "STG", "LD", "ST", "ATOMG", "ATOM", "RED", "REDG"])


def predicted_body(
    function: Function, profile: Profile, factors: Mapping[str, int] | None = None,
    *, live: Liveness | None = None, timed: bool = False,
) -> MachineBody:
    """The body of one function on one machine; `factors` as in `regalloc.predict`.

    `timed`: for its cycles. What hardly fits its registers is predicted in an order in which each
    load waits for the use before it; the assembler finds one that fits, or spills, and has loads
    under way. What a phi is handed in another register is moved there; what two pipes can do is put
    on one; each arithmetic instruction of an operation waits for the one before.
    """
    p = predict(function, profile, factors, live=live)
    g = generation(profile.capability)
    code, free = p.lowering.code, p.registers - RESERVED
    slack = max(SLACK, free // 2) if p.spills.bytes else SLACK
    orders = p.orders if not timed else [
        _for_time(region, code, free + slack) for region in code.regions]
    found = colour(code, orders, free, g.cool)
    place: dict[Block, int] = {}
    for n, region in enumerate(code.regions):
        for block in region.blocks:
            place[block] = n
    blocks = []
    leaves = _exits(function)
    for n, (region, order) in enumerate(zip(code.regions, orders, strict=True)):
        made = BodyBlock(n)
        each = [(op, _instructions(op, p, found, profile, leaves)) for op in order]
        if timed:
            _choose_pipes(each, profile)
            for _, new in each:
                _chain(new, profile)
        made.instructions += _late(each, profile) if timed else (i for _, new in each for i in new)
        if timed:
            _hand_over(made.instructions, region, order, p, found)
        inside = set(region.blocks)
        after = [
            s for b in region.blocks for s in b.succs
            if s not in inside or s is region.blocks[0]
        ]
        made.succs = list(dict.fromkeys(place[s] for s in after if s in place and s not in leaves))
        if n == 0 or region.blocks[0] not in leaves:
            ends = not after or (not made.succs and len(region.blocks[-1].succs) == 1)
            if ends or leaves.issuperset(after):
                made.instructions.append(BodyInstruction("EXIT", (), (_STACK_POINTER,)))
        blocks.append(made)
    if blocks:
        start = BodyInstruction("LDC" if g.late else "MOV", (_STACK_POINTER,))
        blocks[0].instructions.insert(0, start)
        if profile.capability >= _DESCRIBED and any(
            i.family in _GLOBAL for b in blocks for i in b.instructions
        ):
            blocks[0].instructions.insert(1, BodyInstruction("ULDC", (_DESCRIPTOR,)))
    return MachineBody(
        str(function.name), profile.name, blocks, source="model", registers=p.registers,
        spill_bytes=p.spills.bytes,
    )


def _carried(region: Region, code: Code) -> dict[int, int]:
    """What a loop of one region hands its phis for the next iteration → the phi."""
    if region.blocks[0] not in region.blocks[-1].succs:
        return {}
    heads = set(region.heads)
    return {
        r: code.hints[r] for op in region.ops for r in op.results
        if code.hints.get(r) in heads and code.widths[r]
    }


def _for_time(region: Region, code: Code, budget: int) -> list[Op]:
    """An order for few cycles. What a phi is handed for the next iteration is made behind what
    reads that of this one, whose register it takes; the branch comes last."""
    order = schedule(region, code.widths, budget)[0]
    place = {op: k for k, op in enumerate(order)}
    ops = region.ops
    below, waits = dependences(ops)
    readers: list[list[int]] = [[] for _ in ops]  # of a phi, which what it is handed waits for
    for k, phis in _makers(region, code).items():
        needs = {k}
        for n in range(k, len(ops)):
            if n in needs:
                needs.update(below[n])
        readers[k] = [
            n for n, op in enumerate(ops) if n not in needs and not phis.isdisjoint(op.sources)]
    freed: list[list[int]] = [[] for _ in ops]
    for k, some in enumerate(readers):
        for n in some:
            freed[n].append(k)
    held = list(map(len, readers))

    def turn(k: int) -> tuple[int, bool, int]:
        return held[k] > 0, ops[k].parent.form.terminator, place[ops[k]]

    ready = [(*turn(k), k) for k, n in enumerate(waits) if not n]
    heapify(ready)
    out: list[Op] = []
    done: set[int] = set()
    while ready:
        k = heappop(ready)[-1]
        if k in done:
            continue
        done.add(k)
        out.append(ops[k])
        for c in freed[k]:
            held[c] -= 1
            if not held[c] and not waits[c]:
                heappush(ready, (*turn(c), c))
        for c in below[k]:
            waits[c] -= 1
            if not waits[c]:
                heappush(ready, (*turn(c), c))
    return out


def _makers(region: Region, code: Code) -> dict[int, set[int]]:
    """The operations that make what a loop's phis are handed, and the phis."""
    carried = _carried(region, code)
    return {
        k: phis for k, op in enumerate(region.ops)
        if (phis := {carried[r] for r in op.results if r in carried})
    }


def _hand_over(
    made: list[BodyInstruction], region: Region, order: list[Op], p: Prediction, found: Colouring,
) -> None:
    """What a loop's phis are handed for the next iteration, where it is in another register."""
    ends = bool(order) and order[-1].parent.form.terminator  # where it is not the latch's
    for v, phi in _carried(region, p.lowering.code).items():
        to, source = _span(phi, p, found), _span(v, p, found)
        if to is not None and source is not None and to != source:
            at = len(made) - 1 if ends else len(made)
            made.insert(at, BodyInstruction("MOV", (to,), (source,)))


def _is_arithmetic(i: BodyInstruction, profile: Profile) -> bool:
    return _pipe(profile, i.opcode) in ("ALU", "FMA")


def _late(
    each: list[tuple[Op, list[BodyInstruction]]], profile: Profile
) -> Iterator[BodyInstruction]:
    """The instructions, but what is made of a load's words stands before the first reader."""
    waiting: dict[int, list[BodyInstruction]] = {}
    for op, new in each:
        for v in waiting if op.parent.form.terminator else op.sources:
            if v in waiting:
                yield from waiting[v]
                waiting[v].clear()
        last = max((k for k, i in enumerate(new) if not _is_arithmetic(i, profile)), default=-1)
        behind = new[last + 1 :] if op.kind == LOAD and last >= 0 else []
        yield from new[: len(new) - len(behind)]
        waiting |= dict.fromkeys(op.results, behind) if behind else {}
    for rest in waiting.values():
        yield from rest
        rest.clear()


def _chain(new: list[BodyInstruction], profile: Profile) -> None:
    """Let an operation's instructions wait for each other where they do: arithmetic for what is
    before it (a carry), or all of it for what is loaded, of which it makes the results. Accesses of
    memory and matrix products of one operation are apart."""
    arithmetic = [_is_arithmetic(i, profile) for i in new]
    for (a, first), (b, second) in pairwise(zip(new, arithmetic, strict=True)):
        if not first or all(arithmetic):
            a.writes = new[-1].writes
        if second:
            b.reads = (*b.reads, *new[-1].writes)


def _choose_pipes(each: list[tuple[Op, list[BodyInstruction]]], profile: Profile) -> None:
    """Put moves, sums and shifts of a region's operations on the integer or the multiplying pipe.

    As ptxas 13.0 mostly does (real projects, sm_80 and sm_90): a move of a register (two of three,
    from half to nearly all by project and by what stands before it) and a difference of two are
    multiplications; so are moves of literals, sums of two registers, high halves and shifts to the
    left by a literal, but right behind one, and where there are twice as many as integer operations
    (of moves there a third to a half). Sums with a literal are not.
    """
    pipes: Counter[str] = Counter()
    for i in (i for _, new in each for i in new if i.opcode != "MOV"):
        pipes[_pipe(profile, i.opcode)] += 2 if ".WIDE" in i.opcode else 1
    crowded = pipes["FMA"] >= CROWDED * pipes["ALU"] > 0
    last = ""
    for op, new in each:
        form = op.parent.form.name
        for i in new:
            free = not crowded and last != "FMA"
            registers = sum(s.file == VECTOR for s in i.reads)
            if i.opcode == "MOV" and (registers or free):
                i.opcode = "IMAD.MOV"
            elif i.opcode == "IADD" and len(new) == 1:
                both = registers == 2 and (form == "sub" or free)
                i.opcode = "IMAD.IADD" if both else "IADD3"
            elif i.opcode == "IADD3.X" and free:
                i.opcode = "IMAD.X"
            elif i.opcode == "SHF" and form == "shl" and registers == 1 and free:
                i.opcode = "IMAD.SHL"
            last = _pipe(profile, i.opcode)


def _pipe(profile: Profile, opcode: str) -> str:
    return profile.operation(opcode).pipes[0] if profile.has(opcode) else ""


def _exits(function: Function) -> set[Block]:
    """Blocks that end the thread and do nothing else: who leads there ends it there and then, but
    for branches back to a loop, which fall through to the end."""
    if function.kind != "entry":
        return set()
    return {
        b for b in function.rpo[1:]
        if b.first is not None and b.first.form.terminator and not b.succs
        and all(s.rpo_index > p.rpo_index for p in b.preds for s in p.succs)
    }


def _instructions(
    op: Op, p: Prediction, found: Colouring, profile: Profile, leaves: set[Block]
) -> list[BodyInstruction]:
    """The machine instructions of one operation."""
    i = op.parent
    writes = [s for v in op.results if (s := _span(v, p, found)) is not None]
    reads = [s for v in op.sources if (s := _span(v, p, found)) is not None]
    names = _families(op, profile)
    if i.form.terminator and i.block is not None and leaves.intersection(i.block.succs):
        names = ["EXIT"]
    out = [BodyInstruction(name, (), reads, line=i.line) for name in names]
    out[-1].writes = tuple(writes)
    return out


def _span(v: int, p: Prediction, found: Colouring) -> Span | None:
    width = p.lowering.code.widths[v]
    if width == 0:
        return Span(PREDICATE, v % _PREDICATES, 1)
    return Span(VECTOR, found.register[v], width) if found.register[v] >= 0 else None


def _families(op: Op, profile: Profile) -> list[str]:
    if op.family:
        return op.family.split()
    i = op.parent
    if i.form.terminator:
        return ["BRA" if i.block is not None and i.block.succs else "EXIT"]
    steps = template(shape_of(i, profile.features)) if not i.form.is_phi else None
    names = [s.family for s in steps or () if s.family != "=" and not s.rare]
    if len(names) > 1 and "MOV" in names and facts_of(i.form).operands:
        names = [n for n in names if n != "MOV"]  # `Lowering.load` makes them
    if i.form.addresses:  # those of local memory need no arithmetic, others are made elsewhere
        names = [n for n in names if n not in _OF_ADDRESSES and not n.startswith("U")]
        if i.form.space == "local":
            names = [n for n in names if n in ("LDL", "STL")]
    return names or ["MOV"]
