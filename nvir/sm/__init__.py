"""The machine: profiles, pipes, schedulers, registers, occupancy, simulation.

Public names are imported where they are first used. Only `profile`, `occupancy` and `machine` are
imported at once: they share their names with their modules, and the first import of a module would
put it in the function's place.
"""

from __future__ import annotations

import importlib
from typing import Any

from nvir.sm.machine import machine
from nvir.sm.occupancy import occupancy
from nvir.sm.profile import profile

__all__ = ["machine", "occupancy", "profile"]

# public name -> the module that defines it
_EXPORTS = {
    "body_time": "nvir.sm.simulate.body",
    "line_frequencies": "nvir.sm.simulate.body",
    "LatencyClass": "nvir.sm.latency",
    "Limits": "nvir.sm.profile",
    "Need": "nvir.sm.occupancy",
    "Occupancy": "nvir.sm.occupancy",
    "Operation": "nvir.sm.profile",
    "PROFILES": "nvir.sm.profile",
    "Pipe": "nvir.sm.profile",
    "Profile": "nvir.sm.profile",
    "RegisterBanks": "nvir.sm.profile",
    "ResourceBound": "nvir.sm.profile",
    "max_registers": "nvir.sm.occupancy",
    "profile_for": "nvir.sm.profile",
    "resource_bound": "nvir.sm.profile",
    "latency_class": "nvir.sm.latency",
    "edge_latency": "nvir.sm.latency",
    "stall_cycles": "nvir.sm.latency",
    "BlockSchedule": "nvir.sm.listsched",
    "list_schedule": "nvir.sm.listsched",
    "LoopGraph": "nvir.sm.loopgraph",
    "loop_graph": "nvir.sm.loopgraph",
    "graph_dot": "nvir.sm.loopgraph",
    "MachineInstruction": "nvir.sm.operation",
    "LoopSchedule": "nvir.sm.schedule.loops",
    "schedule_loop": "nvir.sm.schedule.loops",
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
