"""clusterlaunchcontrol: taking over clusters that have not started.

Here every cluster starts by itself, so a request is always answered with "not cancelled", as on a
GPU where none is left: 16 bytes of zeros, and as many counted on the mbarrier.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nvir.interp.access import LaneAccess, make_store
from nvir.interp.rows import unsupported
from nvir.interp.rows.memory import space_of
from nvir.interp.rows.objects import add_bytes, update

ANSWER = 16  # bytes


def emit_try_cancel(e: Any) -> None:
    i = e.instr
    if any("multicast" in m for m in i.form.mods):
        raise unsupported(i)
    (base, offset), barrier = i.form.addresses
    address, symbol_space = e.address(base, offset)
    store = e.bind(make_store(LaneAccess(space_of(e, i.form, symbol_space) or "shared", ANSWER)))
    zero = e.bind(np.zeros((1, 2), np.uint64))
    guard = e.guard or "None"
    e.line(f"{store}(c, {address}, ({zero},), {guard})")
    change = e.bind(lambda word: add_bytes(word, -ANSWER))
    e.line(f"{e.bind(update)}(c, 'shared', {e.address(*barrier)[0]}, {guard}, {change})")


def emit_query(e: Any) -> None:
    """Whether it was cancelled: no. Then its first CTA is undefined: zeros."""
    dtypes = [bool if r.type.bits == 1 else np.uint32 for r in e.instr.results]
    values = [e.constant(0, d) for d in dtypes]
    if len(values) == 1:
        e.results(values[0])
    else:
        e.results(f"({', '.join(values)},)", multiple=True)


EMITTERS = {
    "clusterlaunchcontrol.try_cancel": emit_try_cancel,
    "clusterlaunchcontrol.query_cancel": emit_query,
}
