"""How many registers the assembler feels free to use: those that cost no occupancy.

Its scheduler uses registers freely up to a target, and from there on only where it must; what
must have more gets the next target. The targets are what a thread can have while so many warps
fit the SM: 32, 40, 48, 56, 64, 72, 80, 96, 128, 168 of 65,536 registers. Smaller blocks than the
SM can fill with start further up.

Source  Figures of `ptxas -v` at sm_90: of 102 kernels with more than 30 registers 62 have exactly
        32 or 40; kernels of one thread a block (tinygrad's) gather just below 64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from nvir.ir.function import Function
from nvir.sm.profile import Limits

ASSUMED_BLOCK = 256  # threads, of a kernel that does not say
RESERVED = 2  # `ptxas -v` prints two more than the highest register and one
_UNIT = 8  # a thread's registers come in eights
_WARPS = 4  # steps between the targets, in warps an SM


def block_shape(function: Function) -> tuple[int, ...]:
    """The largest block that the kernel says it is launched with, by dimensions; () unsaid."""
    said = next((function.directives[x] for x in ("reqntid", "maxntid")
                 if x in function.directives), ())
    return tuple(map(int, said))


def block_threads(function: Function) -> int | None:
    """Threads of that block; None unsaid."""
    shape = block_shape(function)
    return max(math.prod(shape), 1) if shape else None


def register_limit(function: Function, limits: Limits) -> int:
    """The most registers that the kernel's own directives leave a thread."""
    most = limits.max_registers_per_thread
    if "maxnreg" in function.directives:
        return max(1, min(most, int(function.directives["maxnreg"][0])))
    threads = block_threads(function)
    if threads is None:
        return most
    blocks = int(function.directives.get("minnctapersm", (1,))[0]) or 1
    warps = -(-threads // limits.warp_size) * blocks
    return max(16, min(most, _per_thread(warps, limits)))


def _per_thread(warps: int, limits: Limits) -> int:
    return limits.registers_per_sm // (warps * limits.warp_size) // _UNIT * _UNIT


def targets(threads: int | None, limits: Limits) -> Sequence[int]:
    """Registers a thread at each step of occupancy, rising, as `ptxas -v` counts them."""
    most = limits.max_warps_per_sm
    if threads is not None:
        block = min(-(-threads // limits.warp_size), most)  # what is said may be any number
        most = min(most // block, limits.max_blocks_per_sm) * block
    warps = range(most, 0, -_WARPS)
    found = {min(_per_thread(w, limits), limits.max_registers_per_thread) for w in warps}
    return sorted(found | {limits.max_registers_per_thread})
