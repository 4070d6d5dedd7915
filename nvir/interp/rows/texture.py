"""Texture fetches and queries (texture.py samples). Of mip levels there is one."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from nvir.interp.access import positions
from nvir.interp.layout import Array
from nvir.interp.memory import Fault
from nvir.interp.rows import unsupported
from nvir.interp.texture import Texture, as_bits, cube_face, find, four
from nvir.ir.errors import Unsupported


@attrs.frozen
class Geometry:
    """What a fetch names a place by: `axes` coordinates, behind the layer of an array."""

    axes: int
    layered: bool = False
    cube: bool = False

    @property
    def count(self) -> int:
        return self.axes + self.layered


GEOMETRIES = {
    "1d": Geometry(1), "2d": Geometry(2), "3d": Geometry(3), "cube": Geometry(3, cube=True),
    "a1d": Geometry(1, True), "a2d": Geometry(2, True), "acube": Geometry(3, True, True),
}
_EVERY = np.zeros(2)


def _place(e: Any) -> tuple[Geometry, str]:
    """The geometry of a fetch, and the text of its coordinates."""
    i = e.instr
    form = i.form
    geometry = next((GEOMETRIES[m] for m in form.mods if m in GEOMETRIES), None)
    if geometry is None or "{" not in form.shape.split("[")[1]:
        raise unsupported(i)
    head = form.shape[form.shape.index("[") :]
    handles = head[: head.index("{")].count("%s")
    kinds = [form.mods[-1]] * geometry.count
    if geometry.layered:
        kinds[0] = "u32"
    coords = [e.source(handles + k, kind) for k, kind in enumerate(kinds)]
    return geometry, f"({', '.join(coords)},)"


def emit_tex(e: Any) -> None:
    mods = e.instr.form.mods
    geometry, coords = _place(e)
    e.results(
        f"{e.bind(_tex)}(c, {e.source(0, 'b64')}, {coords}, {mods[-1]!r}, {mods[-2]!r}, "
        f"{e.bind(geometry)}, {e.guard or 'None'})",
        multiple=len(e.instr.results) > 1,
    )


def emit_gather(e: Any) -> None:
    mods = e.instr.form.mods
    channel = next((k for k, name in enumerate("rgba") if name in mods), 0)
    geometry, coords = _place(e)
    if geometry is not GEOMETRIES["2d"]:
        raise unsupported(e.instr)
    e.results(
        f"{e.bind(_gather)}(c, {e.source(0, 'b64')}, {coords}, {channel}, {mods[-2]!r}, "
        f"{e.guard or 'None'})",
        multiple=True,
    )


def _by_texture(c: Any, handles: Array, guard: Any) -> Any:
    """(texture, lanes that name it) of a fetch."""
    pos = positions(c, _EVERY, guard)
    lanes = np.arange(c.m) if pos is None else pos
    which = np.broadcast_to(handles, (c.m,))[lanes]
    for handle in np.unique(which).tolist():
        mine = lanes[which == handle]
        try:
            yield find(c.wave.program, handle), mine
        except Unsupported as e:
            fault = Fault(str(e))
            fault.lane = int(c.lane_numbers()[mine[0]])
            raise fault from None


def _tex(
    c: Any, handles: Array, coords: tuple[Array, ...], coordinate: str, type: str,
    geometry: Geometry, guard: Any,
) -> Any:
    out = _blank(c, type)
    for texture, mine in _by_texture(c, handles, guard):
        where = [np.broadcast_to(x, (c.m,))[mine] for x in coords]
        layer = where.pop(0).astype(np.int64) if geometry.layered else None
        if coordinate == "f32":
            where = [x.view(np.float32) for x in where]
        else:
            where = [x.view(np.int32).astype(np.int64) for x in where]
        if geometry.cube:
            face, where = cube_face(where)
            layer = face if layer is None else face + 6 * layer
            texture = attrs.evolve(texture, normalized=True)
        for one, k in _layers(texture, layer, len(mine)):
            values = _texels(one, [x[k] for x in where], coordinate)
            for r, x in enumerate(four(values, type.removesuffix("x2"))):
                out[r][mine[k]] = x
    return _packed(out, type)


def _blank(c: Any, type: str) -> list[Array]:
    dtype = np.uint16 if type.startswith("f16") else np.uint32
    return [np.zeros(c.m, dtype) for _ in range(4)]


def _packed(out: list[Array], type: str) -> tuple[Array, ...]:
    """The four results; as f16x2 two and two in a register."""
    if type != "f16x2":
        return tuple(out)
    wide = [x.astype(np.uint32) for x in out]
    return wide[0] | wide[1] << np.uint32(16), wide[2] | wide[3] << np.uint32(16)


def _layers(texture: Texture, layer: Array | None, n: int) -> Any:
    """(texture, positions of the lanes that fetch from it)."""
    if layer is None:
        yield texture, np.arange(n)
        return
    for number in np.unique(layer).tolist():
        yield texture.layer(number), np.flatnonzero(layer == number)


def _texels(texture: Texture, where: list[Array], coordinate: str) -> Array:
    if len(texture.extents) != len(where):
        raise Fault(f"a {len(where)}-d fetch of a {len(texture.extents)}-d texture")
    return texture.sample(where) if coordinate == "f32" else texture.fetch(where)


def _gather(
    c: Any, handles: Array, coords: tuple[Array, ...], channel: int, type: str, guard: Any
) -> Any:
    out = _blank(c, type)
    for texture, mine in _by_texture(c, handles, guard):
        if len(texture.extents) != 2:
            raise Fault(f"a 2-d fetch of a {len(texture.extents)}-d texture")
        where = [np.broadcast_to(x, (c.m,))[mine].view(np.float32) for x in coords]
        for r, x in enumerate(texture.gather(where, channel)):
            out[r][mine] = as_bits(x, type.removesuffix("x2"))
    return _packed(out, type)


# ------------------------------------------------------------------------ queries

_AXIS = {"width": 0, "height": 1, "depth": 2}
# What PTX leaves to the source language is answered by OpenCL's numbers.
_ORDER = {1: 0x10B0, 2: 0x10B2, 4: 0x10B5}
_DATA_TYPE = {"i1": 0x10D7, "i2": 0x10D8, "i4": 0x10D9, "u1": 0x10DA, "u2": 0x10DB, "u4": 0x10DC,
              "f2": 0x10DD, "f4": 0x10DE}
_PROPERTIES: dict[str, Any] = {
    "normalized_coords": lambda t: t.normalized,
    "array_size": lambda t: len(t.data),
    "num_samples": lambda t: 1,
    "num_mipmap_levels": lambda t: 1,
    "channel_order": lambda t: _ORDER[t.channels],
    "channel_data_type": lambda t: _DATA_TYPE.get(t.data.dtype.str[1:], 0),
}


def emit_query(e: Any) -> None:
    """txq and suq."""
    i = e.instr
    what = i.form.mods[0]
    if what not in _AXIS and what not in _PROPERTIES:
        raise unsupported(i)
    e.results(f"{e.bind(_query)}(c, {e.source(0, 'b64')}, {what!r})")


def _query(c: Any, handles: Array, what: str) -> Array:
    out = np.zeros(len(handles), np.uint32)
    for k, handle in enumerate(handles.tolist()):
        texture = find(c.wave.program, handle)
        axis = _AXIS.get(what)
        if axis is None:
            out[k] = _PROPERTIES[what](texture)
        else:
            out[k] = texture.extents[axis] if axis < len(texture.extents) else 0
    return out


def emit_is_type(e: Any) -> None:
    """istypep: images serve as textures and as surfaces; samplers have no handles here."""
    sampler = "samplerref" in e.instr.form.mods
    e.results(f"{e.bind(_is_image)}(c, {e.source(0, 'b64')}, {sampler})")


def _is_image(c: Any, handles: Array, sampler: bool) -> Array:
    known = c.wave.program.textures
    return np.array([not sampler and h in known for h in handles.tolist()])


EMITTERS = {"tex": emit_tex, "tld4": emit_gather, "txq": emit_query, "suq": emit_query,
            "istypep": emit_is_type}
