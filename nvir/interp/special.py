"""Special registers as lane vectors of a wave: of one element where all lanes agree."""

from __future__ import annotations

from typing import Any

import numpy as np

from nvir.interp.layout import Array
from nvir.ir.errors import Unsupported

_CYCLES_A_STEP = 4
_COMPONENT = {"x": 0, "y": 1, "z": 2, "w": 3, "r": 0, "g": 1, "b": 2, "a": 3}


def special_vector(wave: Any, name: str) -> Array:
    """The value of `%tid.x` and so on in every lane, as raw bits of the register's width."""
    found = wave.registers.get(name)
    if found is not None:
        return found  # type: ignore[no-any-return]
    clock = _clock(wave, name)
    if clock is not None:
        return clock
    found = wave.registers[name] = _make(wave, name[1:])
    return found


def _clock(wave: Any, name: str) -> Array | None:
    """Time goes by with the steps executed; a read is a step, so that no two are the same."""
    if not name.startswith(("%clock", "%globaltimer")):
        return None
    wave.launch.steps += 1
    wave.writes += 1  # who waits for a time does not wait in vain
    t = wave.launch.steps * _CYCLES_A_STEP
    if name in ("%clock64", "%globaltimer"):
        return np.array([t], np.uint64)
    shift = 32 if name.endswith("hi") else 0
    return np.array([(t >> shift) & 0xFFFFFFFF], np.uint32)


def _u32(x: Any) -> Array:
    return np.atleast_1d(np.asarray(x)).astype(np.uint32)


def _make(wave: Any, name: str) -> Array:
    base, _, component = name.partition(".")
    if component:
        return _u32(_vector(wave, base)[_COMPONENT[component]])
    launch = wave.launch
    lane = wave.lane_id.astype(np.uint64)
    one = np.uint64(1)
    masks = {
        "lanemask_eq": one << lane, "lanemask_lt": (one << lane) - one,
        "lanemask_le": (one << (lane + one)) - one,
    }
    if name in masks:
        return _u32(masks[name])
    if name in ("lanemask_ge", "lanemask_gt"):
        less = masks["lanemask_lt" if name.endswith("ge") else "lanemask_le"]
        return _u32(np.uint64(0xFFFFFFFF) & ~less)
    rank = (wave.first + wave.cta_of) % launch.cluster_size
    simple: dict[str, Any] = {
        "laneid": wave.lane_id,
        "warpid": wave.thread_of // 32,
        "nwarpid": 64,
        "smid": (wave.first + wave.cta_of) % launch.sms,
        "nsmid": launch.sms,
        "dynamic_smem_size": launch.dynamic_smem,
        "total_smem_size": launch.shared_size,
        "aggr_smem_size": launch.shared_size,
        "cluster_ctarank": _linear_rank(wave) if launch.cluster_size > 1 else rank * 0,
        "cluster_nctarank": launch.cluster_size,
    }
    if name in simple:
        return _u32(simple[name])
    if name == "is_explicit_cluster":
        return np.array([launch.cluster_size > 1])
    if name in ("gridid", "current_graph_exec"):
        return np.array([1 if name == "gridid" else 0], np.uint64)
    if name.startswith("pm") and name.endswith("_64"):
        return np.zeros(1, np.uint64)
    if name.startswith(("pm", "envreg", "reserved_smem_offset")):
        return np.full(1, launch.environment.get(name, 0), np.uint32)
    raise Unsupported(f"special register %{name}")


def _linear_rank(wave: Any) -> Array:
    x, y, z = _vector(wave, "cluster_ctaid")[:3]
    cx, cy, _ = wave.launch.cluster
    return np.asarray(x + cx * (y + cy * z))


def _vector(wave: Any, base: str) -> tuple[Any, Any, Any, Any]:
    """The components x, y, z, w of a vector register."""
    launch = wave.launch
    bx, by, _ = launch.block
    t = wave.thread_of
    cta = wave.first + wave.cta_of
    if wave.n_ctas == 1:
        cta = cta[:1]
    cx, cy, cz = launch.cta_coordinates(cta)
    kx, ky, kz = launch.cluster
    table: dict[str, tuple[Any, ...]] = {
        "tid": (t % bx, t // bx % by, t // (bx * by)),
        "ntid": launch.block,
        "ctaid": (cx, cy, cz),
        "nctaid": launch.grid,
        "clusterid": (cx // kx, cy // ky, cz // kz),
        "nclusterid": tuple(g // k for g, k in zip(launch.grid, launch.cluster, strict=True)),
        "cluster_ctaid": (cx % kx, cy % ky, cz % kz),
        "cluster_nctaid": launch.cluster,
    }
    if base not in table:
        raise Unsupported(f"special register %{base}")
    x, y, z = (
        0 if g == 1 and base == "tid" else v for v, g in zip(table[base], launch.block, strict=True)
    )
    return x, y, z, 0
