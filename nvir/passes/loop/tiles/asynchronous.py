"""Loops that copy asynchronously already: what their pipeline is, and what of it may be changed.

A loop with `cp.async` and a wait for all but the newest n groups keeps n tiles under way. Fewer are
always right: a wait for n−1 waits for all that a wait for n does. More are not, nor more buffers:
where a tile goes is computed by the program, and nothing says that another place is free. Copies
that count on an mbarrier (tensor and bulk copies) have no number in a wait that could be lowered.

Cost     one visit of the loop's instructions.
"""

from __future__ import annotations

import attrs

from nvir.analysis.analyses import Analyses
from nvir.analysis.induction import constant_of
from nvir.ir import Instruction, Loop, OpKind, Variable, integer


@attrs.frozen(eq=False)
class AsyncLoop:
    """What a loop does of its own.

    copies     of each thread, by cp.async
    bulk       bulk and tensor copies
    products   wgmma and tcgen05 products
    waits      the waits for groups
    pending    groups that the laxest wait leaves under way; None without such waits
    stages     tiles at a time, the one computed from included; None where no wait says
    buffers    bytes of the shared variables that the copies go to; None where unknown
    """

    copies: int
    bulk: int
    products: int
    waits: tuple[Instruction, ...]
    pending: int | None
    buffers: int | None

    @property
    def stages(self) -> int | None:
        return None if self.pending is None else self.pending + 2


def recognise(loop: Loop) -> AsyncLoop | None:
    """The asynchronous copies of a loop, None where it has none."""
    copies: list[Instruction] = []
    bulk: list[Instruction] = []
    waits: list[Instruction] = []
    products = 0
    for b in loop.blocks:
        for i in b:
            name = i.form.name
            if name == "cp.async":
                copies.append(i)
            elif name.startswith("cp.async.bulk") and i.form.writes:
                bulk.append(i)
            elif name.startswith("cp.async.wait"):
                waits.append(i)
            elif i.form.kind is OpKind.ASYNC_MATRIX:
                products += 1
    if not copies and not bulk:
        return None
    left = [constant_of(w.operands[0]) if w.operands else 0 for w in waits]
    pending = max((n for n in left if n is not None), default=None)
    return AsyncLoop(
        len(copies), len(bulk), products, tuple(waits), pending, _buffers(loop, [*copies, *bulk])
    )


def shorten(found: AsyncLoop, stages: int) -> bool:
    """Let at most `stages` − 2 groups be under way at each wait; whether a wait changed."""
    changed = False
    for w in found.waits:
        n = constant_of(w.operands[0]) if w.operands else None
        if n is not None and n > stages - 2:
            w.set_operand(0, integer(stages - 2))
            changed = True
    return changed


def _buffers(loop: Loop, copies: list[Instruction]) -> int | None:
    alias = Analyses.of(loop.header.function).alias
    found: set[Variable] = set()
    for i in copies:
        access = next(iter(alias.accesses(i)), None)
        root = access.root if access is not None else None
        if not isinstance(root, Variable) or root.space != "shared" or root.linkage == "extern":
            return None
        found.add(root)
    return sum(v.size for v in found)
