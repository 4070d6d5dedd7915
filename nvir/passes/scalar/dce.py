"""Dead code elimination: what no effect depends on is removed.

    %a = add %x, %y             st [%p], %z
    %b = mul %a, %a      ==>
    st [%p], %z

Method   Mark and sweep. Roots are the instructions with an effect; whatever
         their operands name is alive, and so on. The rest goes, dead phi
         cycles included, which counting uses would never find.
Needs    SSA.
Keeps    blocks and edges. Every instruction with an effect: stores, barriers,
         calls, volatile reads, branches, convergent operations, pragmas.
Leaves   nothing dead. Results of live instructions may be unused.
Skips    unreachable blocks keep their effects.
Cost     two visits an instruction, one an operand.
Source   Cytron, Ferrante, Rosen, Wegman, Zadeck, TOPLAS 13(4), 1991, section 7.1,
         without its removal of control flow.
"""

from __future__ import annotations

from nvir.ir.form import Form
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.passes.context import Context
from nvir.passes.remarks import passed

REMOVED = passed("Removed", "removed {instructions} dead instructions, {phis} of them phis")
CODES = (REMOVED,)


def run(function: Function, ctx: Context) -> bool:
    dead = dead_instructions(function)
    if not dead:
        return False
    phis = sum(i.form.is_phi for i in dead)
    for i in dead:  # first no dead one names another, then all can go
        if i.form.is_phi:
            i.set_incoming((), ())
        else:
            i.set_operands(())
    for i in dead:
        function.marks.pop(i, None)
        i.remove()
    ctx.count("removed", len(dead))
    ctx.remark(REMOVED, instructions=len(dead), phis=phis)
    return True


def dead_instructions(function: Function) -> list[Instruction]:
    """The instructions that no effect depends on, in layout order."""
    alive = _mark(function)
    dead = []
    for block in function.blocks:
        i = block.first
        while i is not None:
            if i not in alive:
                dead.append(i)
            i = i.next
    return dead


def _mark(function: Function) -> set[Instruction]:
    """The instructions that an effect depends on, and those with one."""
    has_effect: dict[Form, bool] = {}
    alive: set[Instruction] = set()
    for block in function.blocks:
        i = block.first
        while i is not None:
            form = i.form
            effect = has_effect.get(form)
            if effect is None:
                effect = has_effect[form] = i.has_effect
            if effect:
                alive.add(i)
            i = i.next
    work = list(alive)
    while work:
        for v in work.pop().operands:
            d = v if v.__class__ is Instruction else v.definer
            if d is not None and d not in alive:
                alive.add(d)
                work.append(d)
    return alive
