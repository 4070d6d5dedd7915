"""A cycle simulator of one sub-partition: warps of a loop, issue slots, pipes, memory.

stream    one iteration of a loop as the sub-partition sees it: operations in issue order,
          what each waits for
memory    where accesses hit, and the bandwidth that they share
body      an iteration of a loop of machine code, real or predicted; a kernel's cycles
engine    cycle after cycle: which warp issues what, and why the others do not
result    cycles an iteration, stall reasons, pipe utilisation, a timeline
"""

from nvir.sm.simulate.engine import loop_cycles, simulate, throughput
from nvir.sm.simulate.memory import Memory
from nvir.sm.simulate.result import Event, Simulation
from nvir.sm.simulate.stream import (
    Slot,
    Stream,
    Wait,
    least_cycles,
    loop_stream,
    schedule_stream,
    slot_of,
)

__all__ = [
    "Event", "Memory", "Simulation", "Slot", "Stream", "Wait", "least_cycles", "loop_cycles",
    "loop_stream", "schedule_stream", "simulate", "slot_of", "throughput",
]
