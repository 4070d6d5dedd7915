"""Moves for phis: what a phi merges is copied to registers of its own (phase 23).

    a:  …                            a:  %t = mov %x
    b:  …                      ==>   b:  %u = mov %y
    j:  %z = phi [%x, a], [%y, b]    j:  %w = phi [%t, a], [%u, b]
        use %z                           %z = mov %w;  use %z

Operands and result of a phi then have no other use, so they can share one register whatever is
around them, and out-of-SSA has nothing left to insert: conventional SSA. What the copies cost is
seen by the passes that follow, and an allocator coalesces those that it can.

Method   A move for each operand before the terminator of its block, once for each value and phi;
         one for the result behind the phis. The moves of one block write names that nothing else
         reads, so their order does not matter.
Needs    SSA.
Keeps    blocks and edges; declared spellings.
Leaves   moves that copy-prop would take away again.
Skips    phis that merge moves of their own already; registers that asynchronous operations hold;
         classes that `mov` does not take.
Cost     linear in phi operands.
Source   Sreedhar, Ju, Gillies, Santhanam, "Translating Out of Static Single Assignment Form", SAS
         1999, method I.
"""

from __future__ import annotations

from nvir.analysis.held import held_in_place
from nvir.ir import Block, Constant, Function, Instruction, ScalarType, Undef, Value, form
from nvir.passes.context import Context
from nvir.passes.remarks import passed

MOVED = passed("PhiMoves", "{phis} phis merge registers of their own, by {moves} moves")
CODES = (MOVED,)

_MOVED = frozenset(("pred", "b16", "b32", "b64"))


def run(function: Function, ctx: Context) -> bool:
    held = held_in_place(function)
    found = [p for b in function.rpo for p in b.phis if _takes_moves(p, held) and not _is_own(p)]
    if not found:
        return False
    moves = sum(map(_isolate, found))
    ctx.count("moves", moves)
    ctx.remark(MOVED, phis=len(found), moves=moves)
    return True


def _takes_moves(phi: Instruction, held: frozenset[Value]) -> bool:
    t = phi.type
    return (
        isinstance(t, ScalarType) and t.cls.name in _MOVED and phi not in held
        and not any(v in held for v in phi.operands)
    )


def _is_own(phi: Instruction) -> bool:
    """Whether the phi merges moves that it alone names, and moves alone name it."""
    return all(_is_move(u, phi.block) for u in phi.users) and all(
        isinstance(v, Undef) or (v.use_count == phi.operands.count(v) and _is_move(v, b))
        for v, b in phi.incoming
    )


def _is_move(v: object, block: Block | None) -> bool:
    return (
        isinstance(v, Instruction) and v.form.name == "mov" and v.form.guard is None
        and v.block is block and v.form.shape == "%s, %s"
    )


def _isolate(phi: Instruction) -> int:
    """Put the moves of one phi; returns how many."""
    assert isinstance(phi.type, ScalarType)
    new: list[Value] = []
    moves = 0
    for v, block in phi.incoming:
        if isinstance(v, Undef):
            new.append(v)
            continue
        last = block.last
        assert last is not None
        move = _move(v, phi)
        move.insert_before(last)
        new.append(move)
        moves += 1
    if phi.has_uses:
        home = phi.block
        assert home is not None
        users = list(phi.users)
        result = _move(phi, phi)
        anchor = home.first_non_phi
        assert anchor is not None
        result.insert_before(anchor)
        for user in users:
            user.replace_operand(phi, result)
        moves += 1
    phi.set_incoming(new, phi.aux)
    return moves


def _move(source: Value, phi: Instruction) -> Instruction:
    """A copy of a value, not yet placed, in a register like the phi's."""
    assert isinstance(phi.type, ScalarType)
    floating = isinstance(source, Constant) and source.type.name in ("f32", "f64")
    name = source.type.name if floating else phi.type.cls.name
    return Instruction(form(f"mov.{name}", "%s, %s"), (source,), phi.type, phi.name)
