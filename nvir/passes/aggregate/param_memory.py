"""A kernel's struct parameter that is indexed at run time is read where it was passed.

    define kernel void @k(%S %p)               define kernel void @k(ptr byval(%S) %p)
      %p.addr = alloca %S                        %x = getelementptr %p, 0, 0, %i
      store %S %p, %p.addr                ==>    load %x
      %x = getelementptr %p.addr, 0, 0, %i
      load %x

Front ends keep every parameter in a variable. One that is only read at constant places becomes
scalars by sroa; one read at a place that only the run tells would stay a copy in local memory,
filled element by element, where the parameter space can be read at any place.

Method   The parameter's only use is the store to the variable; all other uses of that are reads.
Keeps    blocks, and the bytes of the parameter: PTX passes both alike.
Cost     One walk over the uses of each variable that holds a parameter.
Source   what nvcc emits; NVIDIA, "CUDA C++ Programming Guide", __grid_constant__ Parameters.
"""

from __future__ import annotations

from nvir.ir import Argument, Function, Instruction, Module
from nvir.ir.layout import align_of, size_of
from nvir.passes.aggregate.leaves import is_aggregate
from nvir.passes.aggregate.lower_struct_args import DIRECT, uses_of
from nvir.passes.context import Context

CODES = (DIRECT,)


def run(module: Module, ctx: Context) -> bool:
    changed = False
    for f in [f for f in module.functions if f.blocks and f.is_kernel]:
        for a in f.arguments:
            t = a.type
            if is_aggregate(t) and _read_in_place(f, a):
                ctx.remark(DIRECT, None, name=a.name or "?", bytes=size_of(t),
                           why="it is only read")
                changed = True
    return changed


def _read_in_place(f: Function, a: Argument) -> bool:
    """Whether the parameter is put in a variable which is then only read, at any place: it is now
    memory itself, in the place of the variable."""
    store = next(iter(a.users), None)
    if store is None or len(list(a.users)) > 1 or store.form.name != "store":
        return False
    place = store.operands[1]
    if not isinstance(place, Instruction) or place.form.name != "alloca":
        return False
    uses = uses_of(place, store)
    if uses.written or uses.copied or not uses.dynamic or {store.block, place.block} != {f.entry}:
        return False
    align = align_of(a.type)
    for load, _ in uses.loads:  # the variable may have been aligned to more
        load.aux = min(load.aux, align) if isinstance(load.aux, int) else load.aux
    a.attributes = (*a.attributes, ("byval", a.type), ("align", align))
    store.erase()
    a.type = place.type
    place.replace_all_uses_with(a)
    place.erase()
    return True
