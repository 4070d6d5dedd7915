"""The machine: profiles, pipes, schedulers, registers, occupancy, simulation.

Public names are imported where they are first used, so `import nvir.sm` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

# public name -> the module that defines it
_EXPORTS = {
    "DependenceGraph": "nvir.sm.graph",
    "GraphError": "nvir.sm.graph",
    "MinimumII": "nvir.sm.mii",
    "Recurrence": "nvir.sm.mii",
    "ResourceUse": "nvir.sm.mii",
    "minimum_ii": "nvir.sm.mii",
    "Lifetimes": "nvir.sm.schedule.lifetimes",
    "lifetimes": "nvir.sm.schedule.lifetimes",
    "ModuloSchedule": "nvir.sm.schedule.driver",
    "modulo_schedule": "nvir.sm.schedule.driver",
    "check_schedule": "nvir.sm.schedule.check",
    "require_schedule": "nvir.sm.schedule.check",
}


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_EXPORTS[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
