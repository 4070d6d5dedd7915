"""Software pipelining behind register allocation: a loop's body on the registers it was given.

    code         operations on physical registers
    lower        a loop of a function as such code, by its allocation
    expand       several copies of a body, each with registers of its own
    fold         registers given after the schedule, shared as the interval allows
    dependences  what waits for what, false dependences included; phase A
    records      what is written down for each operation and stage; names of scheduler variants
    place        phases B and C: liveness by stage, a cycle for each operation
    control      stall counts and scoreboards
    schedule     all of it: `schedule(loop_code(loop, profile))`
    check        an independent judge, and an executor that compares with the sequential loop
"""

from __future__ import annotations

from nvir.assembler.postra.code import LoopCode, PhysicalOp, Reg, reg_name
from nvir.assembler.postra.lower import loop_code
from nvir.assembler.postra.records import Variant
from nvir.assembler.postra.schedule import PostRaSchedule, schedule

__all__ = [
    "LoopCode", "PhysicalOp", "PostRaSchedule", "Reg", "Variant", "loop_code", "reg_name",
    "schedule",
]
