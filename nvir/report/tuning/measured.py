"""Candidates of `nvir tune` timed on a GPU.

Cost    for each kernel as it is, chosen, or that none beats: the driver's compilation, and some
        twenty launches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from nvir import gpu
from nvir.ir.clone import clone_module
from nvir.ir.module import Module
from nvir.sm.profile import Profile
from nvir.tune.search import WORSE, KernelTuning, put


def measure(
    k: KernelTuning, module: Module, profile: Profile, grid: Sequence[int], block: Sequence[int],
    args: Sequence[Any], dynamic_smem: int = 0, driver: Any = None,
) -> None:
    """Time a kernel's Pareto set. The fastest is taken in place of what was judged to be, where
    it gains more than the judge may be wrong by.

    Raises NvirError where there is no GPU or a launch fails.
    """
    base = k.candidates[0]
    for n, c in enumerate(k.candidates):
        if not (c is base or c.is_pareto or c.id == k.chosen):
            continue
        copy = clone_module(module, {f for f in module.kernels if f.name != k.name})
        if c is not base:
            put(copy, k.name, c.settings, profile)
        us = gpu.measure(copy, k.name, grid, block, args, dynamic_smem, driver=driver)
        k.candidates[n] = attrs.evolve(c, measured=us)
    timed = [(c.measured, c.id) for c in k.candidates if c.measured is not None]
    best, chosen = min(timed)
    k.chosen = chosen if best * WORSE <= timed[0][0] else 0
