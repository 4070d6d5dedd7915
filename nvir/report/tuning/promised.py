"""What a tuning promises of CUDA where nvcc does not try it: candidates that nvcc's code comes to.

nvcc unrolls before it optimises, keeps every test of a loop that it cannot count, and by
`__restrict__` it moves loads as ptxas may not; what else a candidate does it does not follow.

Cost    a copy of the kernel for each loop that `__restrict__` may help
"""

from __future__ import annotations

from nvir.analysis.induction import trip_count
from nvir.ir.function import Function
from nvir.ir.loops import Loop, natural_loops
from nvir.ir.module import Module
from nvir.report.tuning.advice import copies_of, pointers
from nvir.tune.candidates import Choices, LoopSetting, restrictable
from nvir.tune.search import WORSE, Judged, KernelTuning


def promised(k: KernelTuning, module: Module) -> Judged | None:
    """The winner, or the fastest of what gains, with as many blocks on an SM, whose words in CUDA
    nvcc makes such code of."""
    base = k.candidates[0]
    kernel = module[k.name]
    copies = copies_of(module, k.name)
    loops = {str(x.header.name): x for x in natural_loops(kernel)}
    fit = [c for c in k.candidates[1:] if c.cycles.full * WORSE <= base.cycles.full
           and c.cycles.one_warp <= base.cycles.one_warp * WORSE
           and c.spill_bytes <= base.spill_bytes and c.blocks_per_sm >= base.blocks_per_sm]
    fit.sort(key=lambda c: (c.id != k.chosen, c.cycles.full))
    return next((c for c in fit if _follows(c.settings, kernel, loops, copies)), None)


def _follows(
    settings: Choices, kernel: Function, loops: dict[str, Loop], copies: dict[str, int]
) -> bool:
    return all(_makes(s, loops[h], copies[h]) and (
        not s.apart or (pointers(kernel) > 1 and restrictable(kernel, h)))
        for h, s in settings.loops)


def _makes(s: LoopSetting, loop: Loop, copies: int) -> bool:
    """Whether nvcc makes of a pragma about what a pass makes of the loop. Of a larger factor than
    it took by itself it leaves more to a loop of one copy."""
    if s.depth or s.converted or s.vectors or not copies:
        return False
    if not s.apart and (s.free or s.unroll in (None, 0, 1)):
        return True
    trip = trip_count(loop)
    counted = len(loop.exits) == 1 and (  # nvcc counts what it has made several copies of
        copies > 1 or (trip is not None and isinstance(trip.variable.step, int)))
    return counted and (copies == 1 or s.apart)
