"""Surfaces: loads and stores of elements of an image, by byte in x and by row in y; the formatted
store sust.p by element in x.

A surface is the array that was given for it in `textures`; stores change that array at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nvir.interp.access import positions
from nvir.interp.layout import Array, register_dtype
from nvir.interp.memory import Fault
from nvir.interp.rows import unsupported
from nvir.interp.rows.memory import vector_length
from nvir.interp.rows.texture import GEOMETRIES
from nvir.interp.texture import find
from nvir.ir.errors import Unsupported

_EVERY = np.zeros(2)


def _parts(e: Any) -> tuple[str, tuple[str, ...], int, str]:
    """(handle, coordinates, sources so far, what to do outside); the layer of an array is last."""
    i = e.instr
    mods = i.form.mods
    geometry = next((GEOMETRIES[m] for m in mods if m in GEOMETRIES), None)
    if geometry is None or geometry.cube:
        raise unsupported(i)
    count = geometry.count
    mode = next((m for m in ("trap", "clamp", "zero") if m in mods), "trap")
    coordinates = [e.source(1 + k, "s32") for k in range(count)]
    if geometry.layered:
        coordinates.append(coordinates.pop(0))
    return e.source(0, "b64"), tuple(coordinates), 1 + (4 if count == 3 else count), mode


def emit_load(e: Any) -> None:
    i = e.instr
    handle, where, _, mode = _parts(e)
    size = i.form.type.bits // 8
    dtypes = tuple(register_dtype(r.type) for r in i.results)
    e.results(
        f"{e.bind(_load)}(c, {handle}, ({', '.join(where)},), {size}, {e.bind(dtypes)}, {mode!r}, "
        f"{e.guard or 'None'})",
        multiple=len(dtypes) > 1,
    )


def emit_store(e: Any) -> None:
    i = e.instr
    handle, where, first, mode = _parts(e)
    size = i.form.type.bits // 8
    count = vector_length(i.form)
    values = [e.source(first + k, i.form.type.name) for k in range(count)]
    store = _store if "b" in i.form.mods else _store_formatted
    e.line(
        f"{e.bind(store)}(c, {handle}, ({', '.join(where)},), {size}, ({', '.join(values)},), "
        f"{mode!r}, {e.guard or 'None'})"
    )


def _bytes(c: Any, handle: int, lanes: Array, where: tuple[Array, ...], size: int, mode: str
           ) -> tuple[Array, Array, Array]:
    """(the image's bytes, offset of each lane, whether it lies inside)."""
    try:
        data = find(c.wave.program, handle).data
    except Unsupported as error:
        raise Fault(str(error)) from None
    rows = data.reshape(-1).view(np.uint8)
    row = data.shape[-1] * data.itemsize if data.ndim <= 3 else rows.size
    extents = [row, *reversed(data.shape[:-1])]
    at, step = np.zeros(len(lanes), np.int64), 1
    inside = np.ones(len(lanes), bool)
    for k, x in enumerate(where):
        i = np.broadcast_to(x, (c.m,))[lanes].view(np.int32).astype(np.int64)
        room = extents[k] - (size if k == 0 else 1)
        inside &= (i >= 0) & (i <= room)
        if mode == "clamp":
            i = np.clip(i, 0, room)
        at, step = at + i * step, step * extents[k]
    if mode == "trap" and not inside.all():
        fault = Fault("surface access out of bounds")
        fault.lane = int(c.lane_numbers()[lanes[int((~inside).argmax())]])
        raise fault
    return rows, at, inside | (mode == "clamp")


def _load(c: Any, handles: Array, where: tuple[Array, ...], size: int, dtypes: tuple[Any, ...],
          mode: str, guard: Any) -> Any:
    pos = positions(c, _EVERY, guard)
    lanes = np.arange(c.m) if pos is None else pos
    out = [np.zeros(c.m, d) for d in dtypes]
    which = np.broadcast_to(handles, (c.m,))[lanes]
    for handle in np.unique(which).tolist():
        mine = lanes[which == handle]
        data, at, inside = _bytes(c, handle, mine, where, size * len(dtypes), mode)
        for k, d in enumerate(dtypes):
            raw = data[at[inside][:, None] + k * size + np.arange(size)]
            out[k][mine[inside]] = np.ascontiguousarray(raw).view(f"u{size}")[:, 0].astype(d)
    return out[0] if len(out) == 1 else tuple(out)


def _store(c: Any, handles: Array, where: tuple[Array, ...], size: int, values: tuple[Array, ...],
           mode: str, guard: Any) -> None:
    pos = positions(c, _EVERY, guard)
    lanes = np.arange(c.m) if pos is None else pos
    which = np.broadcast_to(handles, (c.m,))[lanes]
    for handle in np.unique(which).tolist():
        mine = lanes[which == handle]
        data, at, inside = _bytes(c, handle, mine, where, size * len(values), mode)
        for k, x in enumerate(values):
            v = np.broadcast_to(x, (c.m,))[mine[inside]].astype(f"u{size}")
            raw = np.ascontiguousarray(v).view(np.uint8).reshape(-1, size)
            data[at[inside][:, None] + k * size + np.arange(size)] = raw


def _store_formatted(
    c: Any, handles: Array, where: tuple[Array, ...], size: int, values: tuple[Array, ...],
    mode: str, guard: Any,
) -> None:
    """Numbers of 32 bits, converted to the elements of the image."""
    pos = positions(c, _EVERY, guard)
    lanes = np.arange(c.m) if pos is None else pos
    which = np.broadcast_to(handles, (c.m,))[lanes]
    for handle in np.unique(which).tolist():
        mine = lanes[which == handle]
        dtype = find(c.wave.program, handle).data.dtype
        width = dtype.itemsize
        scaled = (where[0].view(np.int32) * np.int32(width * len(values)), *where[1:])
        data, at, inside = _bytes(c, handle, mine, scaled, width * len(values), mode)
        for k, x in enumerate(values):
            v = _converted(np.broadcast_to(x, (c.m,))[mine[inside]].astype(np.uint32), dtype)
            raw = np.ascontiguousarray(v).view(np.uint8).reshape(-1, width)
            data[at[inside][:, None] + k * width + np.arange(width)] = raw


def _converted(x: Array, dtype: Any) -> Array:
    """Patterns of 32 bits as elements; what an integer type does not hold is clamped."""
    if dtype.kind == "f":
        return np.asarray(x.view(np.float32).astype(dtype))
    wide = x.view(np.int32).astype(np.int64) if dtype.kind == "i" else x.astype(np.int64)
    limits = np.iinfo(dtype)
    return np.asarray(np.clip(wide, limits.min, limits.max).astype(dtype))


EMITTERS = {"suld": emit_load, "sust": emit_store}
