"""Loads of an iteration ahead of its stores, in a loop whose operands are known to be apart.

    ld %a, [%p]               ld %a, [%p]
    st [%q], %a               ld %b, [%p+4]
    ld %b, [%p+4]      ==>    st [%q], %a
    st [%q+4], %b             st [%q+4], %b

What the assembler does by itself where the source says `__restrict__`: it keeps a load behind a
store that it cannot tell apart, so that each copy of an unrolled body waits for its own load.

Method   What no store has to precede, with what its address is made of, comes first; all else
         stays in order.
Cost     linear in the block
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from nvir.ir.block import Block
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop
from nvir.passes.loop.pipeline.body import Body, loads_from_afar


def waiting(loop: Loop, copies: int) -> set[Instruction] | None:
    """The loads that have to stay behind a store of their iteration; None where one reads what an
    earlier one of so many iterations wrote."""
    body = Body(loop, None)
    found = set()
    for a, b, distance in body.deps:
        store, load = body.nodes[a], body.nodes[b]
        if store.form.writes and load.form.reads and (a, b, distance) not in body.readers:
            if copies > 1 and distance < copies:
                return None
            if not distance:
                found.add(load)
    return found


def loads_first(block: Block, held: AbstractSet[Instruction]) -> bool:
    """Move the loads of a block ahead of its stores, but for those that are held."""
    code = [i for i in block if not (i.form.is_phi or i.form.terminator)]
    if any(r.type.name == "cc" for i in code for r in i.results):  # a flag outlives no other
        return False
    free: set[Instruction] = set()
    for i in code:
        plain = i.form.pure or (i.form.reads and not i.form.writes and i not in held and not (
            i.form.pinned or i.form.convergent))
        if plain and all(d in free for d in _makers(i, block)):
            free.add(i)
    wanted = [i for i in code if i in free and loads_from_afar(i)]
    early: set[Instruction] = set()
    while wanted:
        i = wanted.pop()
        if i not in early:
            early.add(i)
            wanted += _makers(i, block)
    first = block.first_non_phi
    moved = False
    for i in code:
        if i in early and i is not first:
            assert first is not None
            i.move_before(first)
            moved = True
        elif i is first:
            first = i.next if i in early else first
    return moved


def _makers(i: Instruction, block: Block) -> list[Instruction]:
    """What makes the operands of an instruction in a block."""
    found = (v.definer for v in i.operands)
    return [d for d in found if d is not None and d.block is block and not d.form.is_phi]
