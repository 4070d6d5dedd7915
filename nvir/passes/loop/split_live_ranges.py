"""Live-range splitting at loop boundaries: outside of a loop a value has another register.

    pre:  bra h                       pre:  %v.1 = mov %v;  bra h
    h:    use %v; @p bra h, e    ==>  h:    use %v.1; @p bra h, e
    e:    use %v                      e:    %v.2 = mov %v.1;  use %v.2

An allocator may then keep the value in a register in the loop and in memory around it, or, where
the loop does not use it, the other way round. The moves cost nothing where the parts get one
register.

Method   Loops whose pressure is at the limit or above. A value that is live into the loop and used
         inside gets a move in the preheader; one that is also live at an exit gets a move there.
         All are then definitions of one variable, and `ir.ssa.repair` names the uses.
Needs    fresh CFG annotations, canonical loops (loop-simplify).
Keeps    blocks and edges; declared spellings.
Leaves   moves that copy-prop would take away again.
Skips    carry flags, registers that asynchronous operations hold, classes that `mov` does not take;
         the inner loops of nests so deep that there would be several moves to each instruction.
Cost     that of liveness, and of the repair of each value that is split.
Source   The notes' phase 19, of which they say no more than the name and the purpose; Cooper,
         Simpson, "Live Range Splitting in a Graph Coloring Register Allocator", CC 1998.
"""

from __future__ import annotations

import attrs

from nvir.analysis.held import held_in_place
from nvir.analysis.liveness import Liveness
from nvir.analysis.pressure import loop_pressures
from nvir.ir import Block, Function, Instruction, Loop, ScalarType, Value, form
from nvir.ir.ssa.repair import home_of, obstacle, repair
from nvir.passes.context import Context
from nvir.passes.loop import region
from nvir.passes.remarks import analysis, missed, passed

SPLIT = passed(
    "LiveRangesSplit", "{values} "
    "{values:value has a register of its own|values have registers of their own} "
    "in the loop, by {moves} {moves:move|moves}; "
    "pressure {pressure}, the limit is {limit}"
)
MANY = missed(
    "ManyMoves", "nothing is split: the loops outside of it have {moves} moves already, and the "
    "function {instructions} instructions"
)
LOW = analysis("PressureLow", "nothing is split: pressure {pressure}, the limit is {limit}")
CODES = (SPLIT, MANY, LOW, region.NOT_CANONICAL)

_MOVES = 4  # for each instruction of the function: the work on a nest grows as its square

_MOVED = frozenset(("pred", "b16", "b32", "b64"))

Moves = dict[Value, dict[Block, Value]]


@attrs.frozen
class Options:
    """`limit`: 32-bit registers live at once in a loop from which its values are split."""

    limit: int = 40


def run(function: Function, ctx: Context) -> bool:
    loops = ctx.analyses(function).loops
    if not loops:
        return False
    live = ctx.analyses(function).liveness
    pressures = loop_pressures(loops, live)
    held = held_in_place(function)
    code: _SplitCode | None = None
    moves: Moves = {}
    total, size = 0, sum(map(len, function.blocks))
    for loop in loops:
        limit, most = ctx.options.limit, pressures[loop.header]
        if most < limit:
            ctx.remark(LOW, loop, pressure=most, limit=limit)
        elif not region.is_canonical(loop):
            ctx.remark(region.NOT_CANONICAL, loop, done="split")
        elif total > _MOVES * size:
            ctx.remark(MANY, loop, moves=total, instructions=size)
        else:
            code = code or _SplitCode(function)
            values, made = _split(loop, live, held, code, moves)
            total += made
            if made:
                ctx.count("moves", made)
                ctx.remark(SPLIT, loop, values=values, moves=made, pressure=most, limit=limit)
    if not moves:
        return False
    repair(function, moves, held)
    return True


class _SplitCode:
    """`used`: the blocks that use each value, a phi at the end of its entry. `moved`: values and
    blocks in which a move copies them."""

    def __init__(self, function: Function) -> None:
        self.used: dict[Value, set[Block]] = {}
        self.moved: set[tuple[Value, Block]] = set()
        for b in function.blocks:
            for i in b:
                where = i.aux if i.form.is_phi else (b,) * len(i.operands)
                for v, at in zip(i.operands, where, strict=True):
                    if v.is_tracked:
                        self.used.setdefault(v, set()).add(at)
                if i.form.name == "mov":
                    self.moved.add((i.operands[0], b))


def _split(
    loop: Loop, live: Liveness, held: frozenset[Value], code: _SplitCode, moves: Moves
) -> tuple[int, int]:
    """Put moves around a loop; how many values got any, and how many moves there are."""
    inside = loop.members
    (preheader,) = loop.entries
    exits = list(dict.fromkeys(s for _, s in loop.exits))
    values = made = 0
    for v in live.live_in[loop.header]:
        if not _may_split(v, held):
            continue
        at = moves.get(v, {})
        before = len(at)
        wanted = [e for e in exits if live.is_live_in(v, e) and (v, e) not in code.moved]
        if not code.used[v].isdisjoint(inside):
            wanted.insert(0, preheader)
        for block in wanted:
            if block not in at and block is not home_of(v):
                at[block] = _move(v, block, at_end=block is preheader)
        if len(at) > before:
            moves[v] = at
            values += 1
            made += len(at) - before
    return values, made


def _may_split(v: Value, held: frozenset[Value]) -> bool:
    t = v.type
    return (
        isinstance(t, ScalarType) and t.cls.name in _MOVED and obstacle(v, held) is None
        and not (v.definer is not None and v.definer.form.name == "mov")
    )


def _move(v: Value, block: Block, *, at_end: bool) -> Instruction:
    """A copy of a value at the end of a block, or behind its phis."""
    assert isinstance(v.type, ScalarType)
    name = str(v.type.cls.name)
    move = Instruction(form(f"mov.{name}", "%s, %s"), (v,), v.type, v.name, None, block.loc)
    anchor = block.last if at_end else block.first_non_phi
    assert anchor is not None
    move.insert_before(anchor)
    return move
