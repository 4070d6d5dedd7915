"""Texture fetches and queries (texture.py samples). Mip levels other than 0 are not modelled."""

from __future__ import annotations

from typing import Any

import numpy as np

from nvir.interp.access import positions
from nvir.interp.layout import Array
from nvir.interp.memory import Fault
from nvir.interp.rows import unsupported
from nvir.interp.texture import find, four
from nvir.ir.errors import Unsupported

_AXES = {"1d": 1, "2d": 2, "3d": 3}


def emit_tex(e: Any) -> None:
    i = e.instr
    form = i.form
    axes = next((_AXES[m] for m in form.mods if m in _AXES), 0)
    if not axes or {"level", "grad", "a1d", "a2d", "cube", "acube", "2dms"} & set(form.mods):
        raise unsupported(i)
    if "{" not in form.shape.split("[")[1]:
        raise unsupported(i)
    head = form.shape[form.shape.index("[") :]
    handles = head[: head.index("{")].count("%s")
    coordinate = form.mods[-1]
    coords = [e.source(handles + k, coordinate) for k in range(axes)]
    type = next(m for m in form.mods if m in ("f32", "f16", "s32", "u32"))
    f = e.bind(_tex)
    e.results(
        f"{f}(c, {e.source(0, 'b64')}, ({', '.join(coords)},), {coordinate!r}, {type!r}, "
        f"{e.guard or 'None'})",
        multiple=len(i.results) > 1,
    )


_EVERY = np.zeros(2)


def _tex(
    c: Any, handles: Array, coords: tuple[Array, ...], coordinate: str, type: str, guard: Any
) -> Any:
    pos = positions(c, _EVERY, guard)
    lanes = np.arange(c.m) if pos is None else pos
    dtype = np.uint16 if type == "f16" else np.uint32
    out = [np.zeros(c.m, dtype) for _ in range(4)]
    if not len(lanes):
        return tuple(out)
    which = np.broadcast_to(handles, (c.m,))[lanes]
    for handle in np.unique(which).tolist():
        mine = lanes[which == handle]
        try:
            texture = find(c.wave.program, handle)
        except Unsupported as e:
            fault = Fault(str(e))
            fault.lane = int(c.lane_numbers()[mine[0]])
            raise fault from None
        where = [np.broadcast_to(x, (c.m,))[mine] for x in coords]
        if len(texture.extents) != len(where):
            raise Fault(f"a {len(where)}-d fetch of a {len(texture.extents)}-d texture")
        if coordinate == "f32":
            values = texture.sample([x.view(np.float32) for x in where])
        else:
            values = texture.fetch([x.view(np.int32).astype(np.int64) for x in where])
        for k, x in enumerate(four(values, type)):
            out[k][mine] = x
    return tuple(out)


def emit_txq(e: Any) -> None:
    i = e.instr
    what = i.form.mods[0]
    if what not in ("width", "height", "depth", "normalized_coords"):
        raise unsupported(i)
    e.results(f"{e.bind(_txq)}(c, {e.source(0, 'b64')}, {what!r})")


def _txq(c: Any, handles: Array, what: str) -> Array:
    out = np.zeros(len(handles), np.uint32)
    for k, handle in enumerate(handles.tolist()):
        texture = find(c.wave.program, handle)
        axis = {"width": 0, "height": 1, "depth": 2}.get(what)
        if axis is None:
            out[k] = texture.normalized
        else:
            out[k] = texture.extents[axis] if axis < len(texture.extents) else 0
    return out


EMITTERS = {"tex": emit_tex, "txq": emit_txq}
