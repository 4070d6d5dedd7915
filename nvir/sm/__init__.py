"""The machine: profiles, pipes, schedulers, registers, occupancy, simulation.

Public names are imported where they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.exports import exports

if TYPE_CHECKING:
    from nvir.sm.machine import machine
    from nvir.sm.occupancy import occupancy
    from nvir.sm.profile import profile

__all__ = ["machine", "occupancy", "profile"]

# module -> the public names that it defines
_BY_MODULE = {
    "simulate.body": "body_time line_frequencies",
    "latency": "LatencyClass latency_class edge_latency stall_cycles",
    "profile": "Limits Operation PROFILES Pipe Profile RegisterBanks ResourceBound profile "
               "profile_for resource_bound",
    "occupancy": "Need Occupancy max_registers occupancy",
    "machine": "machine",
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
__getattr__ = exports(__name__, _BY_MODULE)


def __dir__() -> list[str]:
    return sorted({*globals(), *" ".join(_BY_MODULE.values()).split()})
