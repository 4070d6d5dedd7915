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

# module -> the public names that it defines
_BY_MODULE = {
    "simulate.body": "body_time line_frequencies",
    "latency": "LatencyClass latency_class edge_latency stall_cycles",
    "profile": "Limits Operation PROFILES Pipe Profile "
               "RegisterBanks ResourceBound profile_for resource_bound",
    "occupancy": "Need Occupancy max_registers",
    "listsched": "BlockSchedule list_schedule",
    "loopgraph": "LoopGraph loop_graph graph_dot",
    "operation": "MachineInstruction",
    "schedule.loops": "LoopSchedule schedule_loop",
    "graph": "DependenceGraph GraphError",
    "mii": "MinimumII Recurrence ResourceUse minimum_ii",
    "schedule.lifetimes": "Lifetimes lifetimes",
    "schedule.driver": "ModuloSchedule modulo_schedule",
    "schedule.check": "check_schedule require_schedule",
}
_EXPORTS = {name: f"nvir.sm.{m}" for m, names in _BY_MODULE.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_EXPORTS[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
