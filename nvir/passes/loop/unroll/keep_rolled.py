"""Loops that ptxas would run too often or too seldom stay as they are written.

    L: add.s32 %h, %h, 0x9e3779b9        L: .pragma "nounroll"
       setp.ne.s32 %p, %h, %n      ==>      add.s32 %h, %h, 0x9e3779b9
       @%p bra L                            setp.ne.s32 %p, %h, %n
                                            @%p bra L

ptxas copies the body of a loop that counts and compares by order whether four rounds are left:
where three steps overflow, where the variable runs away from its bound, or where it takes unsigned
bounds for signed ones, the copies run another number of times (nvir.assembler.unroll.miscounts
has what was measured). nvcc has no such loops: its exits count down to zero.

Method   asks of every loop with a counted exit whether ptxas's copies of it are right.
Needs    CFG annotations; last of a pipeline, for loops get their form in what stands before.
Keeps    every instruction.
Marks    such loops by `.pragma "nounroll"`; others are left to ptxas.
Cost     linear in the loops.
Source   ptxas 13.0.88, and a GPU on which such a loop hung.
"""

from __future__ import annotations

from nvir.analysis.source_loops import has_pragma
from nvir.assembler.unroll.miscounts import miscount
from nvir.ir import Function, natural_loops
from nvir.ir.block import NOUNROLL
from nvir.passes.context import Context
from nvir.passes.remarks import passed

KEPT = passed(
    "KeptRolled", "marked nounroll: ptxas's copies may run another number of times: {why}")
CODES = (KEPT,)


def run(function: Function, ctx: Context) -> bool:
    changed = False
    for loop in natural_loops(function):
        if has_pragma(loop) or not (why := miscount(loop)):
            continue
        loop.header.pragmas = (*loop.header.pragmas, NOUNROLL)
        ctx.remark(KEPT, loop.header, why=why)
        changed = True
    return changed
