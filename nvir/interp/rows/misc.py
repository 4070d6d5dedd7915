"""Rows without an effect here (fences, hints, events), clocks' relatives, traps and sleeping."""

from __future__ import annotations

from typing import Any

import numpy as np

from nvir.interp.memory import Fault


def nothing(e: Any) -> None:
    """Memory is sequentially consistent here, and caches do not exist."""


def emit_policy(e: Any) -> None:
    e.results(e.constant(0, np.uint64))


def emit_trap(e: Any) -> None:
    guard = f", {e.guard}" if e.guard else ""
    e.line(f"{e.bind(_trap)}(c, {e.instr.form.name!r}{guard})")


def _trap(c: Any, name: str, guard: Any = None) -> None:
    active = np.ones(c.m, bool) if c.mask is None else c.mask
    if guard is not None:
        active = active & guard
    if active.any():
        fault = Fault(f"the kernel executed {name}")
        fault.lane = int(c.lane_numbers()[int(active.argmax())])
        raise fault


def emit_nanosleep(e: Any) -> None:
    e.line("c.give_way()")


EMITTERS: dict[str, Any] = dict.fromkeys(
    (
        "membar", "fence", "fence.mbarrier_init", "fence.proxy", "membar.proxy",
        "fence.proxy.tensormap::generic.acquire", "fence.proxy.tensormap::generic.release",
        "griddepcontrol.launch_dependents", "griddepcontrol.wait", "prefetch", "prefetchu",
        "applypriority", "discard", "pmevent", "setmaxnreg", "debug.label", "pragma",
        "cp.async.bulk.prefetch", "cp.async.bulk.prefetch.tensor",
    ),
    nothing,
)
EMITTERS.update(
    dict.fromkeys(
        ("createpolicy.fractional", "createpolicy.range", "createpolicy.cvt"), emit_policy
    )
)
EMITTERS.update({"trap": emit_trap, "brkpt": nothing, "nanosleep": emit_nanosleep})
