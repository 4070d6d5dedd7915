"""Dead code elimination: what no effect depends on is removed.

    %a = add %x, %y             st [%p], %z
    %b = mul %a, %a      ==>
    st [%p], %z

Method   Mark and sweep. Roots are the instructions with an effect; whatever
         their operands name is alive, and so on. The rest goes, dead phi
         cycles included, which counting uses would never find. A walk backwards
         marks nearly all; a worklist the rest.
Needs    SSA.
Keeps    blocks and edges. Every instruction with an effect: stores, barriers,
         calls, volatile reads, branches, convergent operations, pragmas.
Leaves   nothing dead. Results of live instructions may be unused.
Skips    unreachable blocks keep their effects.
Cost     one visit an instruction and an operand, and one more of those not live.
Source   Cytron, Ferrante, Rosen, Wegman, Zadeck, TOPLAS 13(4), 1991, section 7.1,
         without its removal of control flow.
"""

from __future__ import annotations

from nvir.ir import Function, Instruction, Value
from nvir.ir.ssa.rewrite import discard
from nvir.passes.context import Context
from nvir.passes.remarks import passed

REMOVED = passed("Removed", "removed {instructions} dead {instructions:instruction|instructions}, "
                 "{phis} of them phis")
CODES = (REMOVED,)


def run(function: Function, ctx: Context) -> bool:
    dead = dead_instructions(function)
    if not dead:
        return False
    phis = sum(i.form.is_phi for i in dead)
    discard(dead, function)
    ctx.count("removed", len(dead))
    ctx.remark(REMOVED, instructions=len(dead), phis=phis)
    return True


def dead_instructions(function: Function) -> list[Instruction]:
    """The instructions that no effect depends on, in layout order.

    One walk backwards meets nearly every use before its definition. What a live instruction
    names only from before it (round a loop, or in a layout out of order) is brought back after.
    """
    alive: set[Value] = set()  # values that live instructions name
    name = alive.update
    passed_by: list[Instruction] = []
    for block in reversed(function.blocks):
        i = block.last
        while i is not None:
            if i.form.has_effect or i in alive or (i._results is not None and _names_one(alive, i)):
                name(i._operands)
            else:
                passed_by.append(i)
            i = i.prev
    passed_by.reverse()
    return _without_living(passed_by, alive)


def _names_one(alive: set[Value], i: Instruction) -> bool:
    return not alive.isdisjoint(i.results)


def _without_living(passed_by: list[Instruction], alive: set[Value]) -> list[Instruction]:
    """Those of `passed_by` that nothing live names, directly or through one another."""
    work = [i for i in passed_by if _names_one(alive, i)]
    if not work:
        return passed_by
    dead = dict.fromkeys(passed_by)
    for i in work:
        del dead[i]
    while work:
        for v in work.pop()._operands:
            d = v.definer
            if d in dead:
                del dead[d]
                work.append(d)
    return list(dead)
