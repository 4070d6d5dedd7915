"""A post-RA schedule as a stream for the cycle simulator.

Slots stand in the order of the kernel; each waits for what it reads, so many passes before as the
stages and distances say, and for all that signals the barriers that it waits for (six at most, so
several loads may share one). A warp issues in order, so registers that are written again after a
fixed latency need no wait of their own; operands that an access reads late are waited for behind
stores alone: what a load reads is read long before its result is there, which is what its slot
tells the simulator.
"""

from __future__ import annotations

import attrs

from nvir.assembler.postra.code import PhysicalOp
from nvir.assembler.postra.schedule import PostRaSchedule
from nvir.sm.profile import LatencyRow, Profile
from nvir.sm.simulate.stream import Kind, Slot, Stream, Wait, slot


def kernel_stream(made: PostRaSchedule) -> Stream:
    """The kernel in steady state."""
    code = made.code
    order = made.order()
    place = {n: k for k, n in enumerate(order)}
    stage = [made.placement.records[n].stage for n in range(len(code.operations))]
    waits: dict[int, list[Wait]] = {n: [] for n in order}
    for d in made.dependences:
        if d.kind == "RAW":
            apart = d.distance + stage[d.target] - stage[d.source]
            waits[d.target].append(Wait(place[d.source], apart, d.cycles))
    levels = [bool(_row(code.profile, op).levels) for op in code.operations]
    for w in made.control.waits():
        if not (w.is_read and levels[w.setter]):
            waits[w.waiter].append(Wait(place[w.setter], w.passes, w.lands))
    slots: list[Slot] = []
    for n in order:
        op, record = code.operations[n], made.placement.records[n]
        unit = code.profile.operation(op.family).unit
        kind: Kind = "math"
        if op.role == "branch" and n == order[-1]:
            kind = "branch"
        elif unit == "barrier" and op.source is not None and op.source.parent.form.sync:
            kind = "barrier"
        elif op.role.startswith("spill") or (
            op.source is not None
            and (op.source.parent.form.reads or op.source.parent.form.writes)
        ):
            kind = "memory"
        made_slot = slot(
            code.profile, op.family, waits[n], kind=kind, width=_width(op), operation=op.source
        )
        pipes = (record.pipe,) if record.pipe else ()
        slots.append(attrs.evolve(made_slot, pipes=pipes))
    return Stream(code.profile, tuple(slots), code.name)


def _row(profile: Profile, op: PhysicalOp) -> LatencyRow:
    return profile.latencies[profile.units[profile.operation(op.family).unit].writes]


def _width(op: PhysicalOp) -> int:
    """Bytes a lane that an access moves: of the values that it loads, else that it stores."""
    if op.source is None:  # of spilling
        return 4 * max(1, sum(r[0] == "R" for r in (*op.writes, *op.reads)))
    i = op.source.parent
    if not (i.form.reads or i.form.writes):
        return 0
    bits = sum(r.type.bits for r in i.results) or sum(v.type.bits for v in i.operands[1:])
    return max(1, bits // 8)
