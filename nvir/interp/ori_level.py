"""The rows of level `ori`: what the files of nvir.interp.rows say, in one table."""

from __future__ import annotations

import functools
from typing import Any

from nvir.interp.layout import LaneStorage
from nvir.interp.rows import (
    Rows,
    arith,
    asyncs,
    atoms,
    barriers,
    control,
    launchcontrol,
    matrix,
    memory,
    misc,
    objects,
    surface,
    tensor,
    texture,
    warp,
    warpgroup,
)


def itself(plan: Any, value: Any) -> tuple[Any, ...]:
    """A value of ori is a scalar."""
    return (value,)


@functools.cache
def ori() -> Rows:
    """The rows of level `ori`."""
    emitters: dict[str, Any] = {}
    specials: dict[str, Any] = {}
    for module in (
        arith, memory, atoms, misc, texture, surface, asyncs, tensor, objects, warp, matrix,
        warpgroup, barriers, control, launchcontrol,
    ):
        emitters.update(getattr(module, "EMITTERS", {}))
        specials.update(getattr(module, "SPECIALS", {}))
    return Rows(
        "ori", emitters, specials, control.choice, control.GuardSplit, itself, LaneStorage()
    )
