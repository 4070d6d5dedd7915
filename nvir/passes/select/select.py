"""Selection: from the nvvm level to ori, the operations of PTX.

    %p = getelementptr inbounds float, ptr addrspace(1) %a, i64 %i      shl.b64  %rd4, %i, 2
    %x = load float, ptr addrspace(1) %p                          ==>   add.s64  %rd5, %a, %rd4
    %y = fmul float %x, 2.0                                             ld.global.f32  %f1, [%rd5]
                                                                        mul.rn.f32  %f2, %f1, 2.0

Method   A linear walk for each function (function.py) over tables of rules by opcode row, one
         file a family; intrinsics by their rows in nvir.ir.intrinsics. Values become parts, one for
         each register (parts.py); pointers are addresses of the space that they are known to
         point to (spaces.py).
Needs    SSA. Aggregates need not have been lowered: those in registers are taken apart.
Keeps    control flow, but for switches, loops around compare-and-swap, long copies and divisions
         of wide integers; source locations; names of symbols.
Leaves   dead phi cycles, and what equal addresses compute twice in different blocks: gvn and
         dce follow (`LOWER`).
Skips    what PTX cannot say raises Unsupported.
Cost     Linear.
Source   PTX ISA 9.0; LLVM's NVPTX back end for conventions of names and of the ABI.
"""

from __future__ import annotations

from nvir.ir.module import Module
from nvir.passes.context import Context
from nvir.passes.remarks import analysis, passed
from nvir.passes.select.module import ModuleSelector
from nvir.passes.select.options import Options as Options
from nvir.passes.select.selector import Selector

SELECTED = passed("Selected", "{instructions} instructions became {operations} operations of PTX")
LOCAL = analysis("LocalMemory", "{bytes} bytes a thread lie in local memory, in {allocas} allocas")
ROLLED = passed("LeftRolled", "marked nounroll: {why}")
CODES = (SELECTED, LOCAL, ROLLED)


def run(module: Module, ctx: Context) -> bool:
    """Turn a module of level nvvm into one of level ori, in place."""
    selector = ModuleSelector(module, ctx.options)
    selected = selector.run()
    counts = {s.source: sum(map(len, s.source.blocks)) for s in selector.selected}
    module.__dict__.update(selected.__dict__)
    for f in module.functions:
        f.module = module
    for s in selector.selected:
        _tell(s, counts[s.source], ctx)
    return True


def _tell(s: Selector, instructions: int, ctx: Context) -> None:
    ctx.function = s.target
    operations = sum(map(len, s.target.blocks))
    ctx.count("operations", operations)
    ctx.remark(SELECTED, instructions=instructions, operations=operations)
    for header, why in s.rolled.items():
        ctx.remark(ROLLED, header, why=why)
    if s.depot is not None:
        allocas = sum(i.form.name == "alloca" for i in s.source.instructions())
        ctx.remark(LOCAL, bytes=s.depot.size, allocas=allocas)
    ctx.function = None
