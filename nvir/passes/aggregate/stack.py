"""Why stack memory will stay in local memory: remarks only.

What is loaded and stored at constant places becomes registers (mem2reg, SROA). Whatever else is
done with an address keeps its memory, and each access of it is a trip to local memory.
"""

from __future__ import annotations

from nvir.analysis.addresses import constant_offset
from nvir.analysis.analyses import Analyses
from nvir.ir import Constant, Function, Instruction, OpKind, Value
from nvir.ir.layout import size_of
from nvir.passes.context import Context
from nvir.passes.remarks import analysis

STAYS = analysis("LocalMemory", "{bytes} bytes of {name} stay in local memory: {why}")
CODES = (STAYS,)


def tell(f: Function, ctx: Context) -> None:
    """Remark on each alloca of a function that cannot become registers."""
    if "alloca" not in Analyses.of(f).rows:
        return
    for i in f.instructions():
        if i.form.name != "alloca":
            continue
        why = obstacle(i)
        if not why:
            continue
        t, _ = i.aux
        count = i.operands[0]
        known = isinstance(count, Constant)
        bytes_ = size_of(t) * int(count.value or 0) if isinstance(count, Constant) else size_of(t)
        name = f"%{i.name}" if i.name else "an alloca"
        ctx.remark(STAYS, i, bytes=bytes_ if known else f"some times {bytes_}", name=name, why=why)


def obstacle(alloca: Instruction) -> str:
    """What keeps the memory, "" where nothing does."""
    if not isinstance(alloca.operands[0], Constant):
        return "its size is known only at run time"
    work: list[Value] = [alloca]
    while work:
        v = work.pop()
        for u in v.users:
            name = u.form.name
            if name == "getelementptr" and u.operands[0] is v:
                if constant_offset(u) is None:
                    return "it is indexed by a value that is not constant"
                work.append(u)
            elif u.form.kind is OpKind.COPY:
                work.append(u)
            elif name == "load" or (name == "store" and u.operands[0] is not v):
                if u.form.volatile:
                    return f"a {name} of it is volatile"
            else:
                return _use(u)
    return ""


def _use(u: Instruction) -> str:
    if u.form.name == "call":
        callee = getattr(u.aux.callee, "name", None)
        return f"its address is passed to {f'@{callee}' if callee else 'a function'}"
    if u.form.name == "store":
        return "its address is stored"
    return f"its address is used by {u.form.name}"
