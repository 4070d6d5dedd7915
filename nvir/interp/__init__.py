"""The reference interpreter: kernels run on numpy lanes, without a GPU.

    import numpy as np, nvir
    y = np.zeros(1000, np.float32)
    nvir.launch(nvir.read_ptx("saxpy.ptx"), "saxpy", 4, 256, [x, y, np.float32(2), 1000])

How it is made, in the order of a run:

    grid.py      arguments, initialised globals, results; waves of CTAs take turns
    plan.py      a function cut into segments, blocks in an order that meets at post-dominators
    emit.py      a segment as generated Python over lane vectors, whole or in part
    rows/        what each opcode row contributes to that Python, or does as a `Special`
    meaning/     arithmetic as pure functions of raw bits
    wave.py      the groups of lanes, which of them runs, where they meet and wait
    memory.py    state spaces, windows, bounds; access.py loads and stores, atomics.py the rest
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nvir.interp.arguments import DeviceArray
    from nvir.interp.grid import LaunchResult, launch
    from nvir.interp.tensormap import TensorMap
    from nvir.interp.texture import Texture

__all__ = ["DeviceArray", "LaunchResult", "TensorMap", "Texture", "launch"]

_EXPORTS = {
    "DeviceArray": "arguments",
    "LaunchResult": "grid",
    "TensorMap": "tensormap",
    "Texture": "texture",
    "launch": "grid",
}


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'nvir.interp' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"nvir.interp.{_EXPORTS[name]}"), name)
