"""Textures: numpy images that tex instructions sample.

Coordinates   Texel i covers [i, i + 1); with `normalized` the image covers [0, 1). Integer
              coordinates name a texel and are never filtered.
Filtering     "linear" weighs the 2, 4 or 8 nearest texels with weights of 8 fractional bits, as the
              hardware does; the sum is rounded once to f32.
Addressing    Outside of the image: "clamp", "wrap" and "mirror" (normalized coordinates only, as in
              CUDA), or "border", which reads zeros.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from nvir.interp.layout import Array
from nvir.ir.errors import Unsupported

_BASE = 0x2000_0000


@attrs.frozen(eq=False)
class Texture:
    """An image with how it is sampled.

    data        (width), (height, width) or (depth, height, width), with a further axis of 2 or 4
                for channels if `channels` says so. Of an array of textures the layer comes first;
                a cube has the layers +x, -x, +y, -y, +z, -z, an array of cubes six for each
    channels    1, 2 or 4
    address     "clamp", "wrap", "mirror" or "border", for all axes
    filter      "point" or "linear"
    normalized  whether coordinates run from 0 to 1
    read_normalized  whether integer texels read as numbers from 0 (or -1) to 1
    """

    data: Array
    channels: int = 1
    address: str = "clamp"
    filter: str = "point"
    normalized: bool = False
    read_normalized: bool = False

    def __attrs_post_init__(self) -> None:
        if self.address not in ("clamp", "wrap", "mirror", "border"):
            raise TypeError(f"no address mode is called {self.address!r}")
        if self.filter not in ("point", "linear"):
            raise TypeError(f"no filter is called {self.filter!r}")

    @property
    def extents(self) -> tuple[int, ...]:
        """Width, height, depth, as many as there are."""
        shape = self.data.shape[:-1] if self.channels > 1 else self.data.shape
        return tuple(reversed(shape))

    def texels(self) -> Array:
        """(…, channels) of float64, or of int64 for integer images that are not normalized."""
        data = self.data if self.channels > 1 else self.data[..., None]
        if data.dtype.kind == "f":
            return data.astype(np.float64)
        if self.read_normalized:
            top = np.iinfo(data.dtype).max
            return np.maximum(data.astype(np.float64) / top, -1.0)
        return data.astype(np.int64)

    # ----------------------------------------------------------- sampling

    def index(self, i: Array, axis: int) -> tuple[Array, Array]:
        """(texel number within the image, whether it exists) along an axis."""
        n = self.extents[axis]
        inside = (i >= 0) & (i < n)
        if self.address == "wrap" and self.normalized:
            return i % n, np.ones_like(inside)
        if self.address == "mirror" and self.normalized:
            j = i % (2 * n)
            return np.minimum(j, 2 * n - 1 - j), np.ones_like(inside)
        return np.clip(i, 0, n - 1), inside if self.address == "border" else np.ones_like(inside)

    def fetch(self, where: list[Array]) -> Array:
        """(lanes, channels): the texels at whole coordinates."""
        found = [self.index(i, axis) for axis, i in enumerate(where)]
        texel = self.texels()[tuple(i for i, _ in reversed(found))]
        inside = np.logical_and.reduce([ok for _, ok in found])
        return np.where(inside[:, None], texel, texel.dtype.type(0))

    def layer(self, number: int) -> Texture:
        """One texture of an array, the last where there are fewer."""
        return attrs.evolve(self, data=self.data[min(number, len(self.data) - 1)])

    def gather(self, where: list[Array], channel: int) -> list[Array]:
        """One channel of the four texels that a bilinear filter weighs, against the clock."""
        scaled = [
            x.astype(np.float64) * (self.extents[k] if self.normalized else 1)
            for k, x in enumerate(where)
        ]
        x, y = (np.floor(v - 0.5).astype(np.int64) for v in scaled)
        texels = [self.fetch([x + i, y + j]) for i, j in ((0, 1), (1, 1), (1, 0), (0, 0))]
        missing = 1 if channel == 3 else 0
        return [
            t[:, channel] if channel < self.channels else np.full(len(t), missing, t.dtype)
            for t in texels
        ]

    def sample(self, where: list[Array]) -> Array:
        """(lanes, channels) at float coordinates."""
        scaled = [
            x.astype(np.float64) * (self.extents[k] if self.normalized else 1)
            for k, x in enumerate(where)
        ]
        if self.filter == "point":
            return self.fetch([np.floor(x).astype(np.int64) for x in scaled])
        low = [np.floor(x - 0.5) for x in scaled]
        weight = [
            np.floor((x - 0.5 - f) * 256 + 0.5) / 256 for x, f in zip(scaled, low, strict=True)
        ]
        total: Any = 0.0
        for corner in range(1 << len(where)):
            part: Any = 1.0
            at = []
            for k in range(len(where)):
                up = corner >> k & 1
                at.append(low[k].astype(np.int64) + up)
                part = part * (weight[k] if up else 1 - weight[k])
            total = total + part[:, None] * self.fetch(at)
        return np.asarray(total)


def four(values: Array, type: str) -> list[Array]:
    """The four results of a fetch, as raw bits of `type`; missing channels are 0, 0 and 1."""
    out = []
    for k in range(4):
        if k < values.shape[1]:
            x = values[:, k]
        else:
            x = np.full(len(values), 1 if k == 3 else 0, values.dtype)
        out.append(as_bits(x, type))
    return out


def as_bits(x: Array, type: str) -> Array:
    """Texels as the raw bits of `type`."""
    if type == "f32":
        return np.asarray(x.astype(np.float32).view(np.uint32))
    if type == "f16":
        return np.asarray(x.astype(np.float16).view(np.uint16))
    return np.asarray(x.astype(np.int64).astype(np.uint32))


def cube_face(where: list[Array]) -> tuple[Array, list[Array]]:
    """The face of a cube that a direction (x, y, z) meets, and the place on it, from 0 to 1.

    Source: CUDA C++ Programming Guide, "Cubemap Textures".
    """
    x, y, z = (v.astype(np.float64) for v in where)
    by_x = (abs(x) >= abs(y)) & (abs(x) >= abs(z))
    by_y = ~by_x & (abs(y) >= abs(z))
    major = np.where(by_x, x, np.where(by_y, y, z))
    face = np.where(by_x, 0, np.where(by_y, 2, 4)) + (major < 0)
    sign = np.where(major < 0, -1.0, 1.0)
    s = np.where(by_x, -z * sign, np.where(by_y, x, x * sign))
    t = np.where(by_y, z * sign, -y)
    size = np.maximum(abs(major), np.finfo(np.float64).tiny)
    return face, [(s / size + 1) / 2, (t / size + 1) / 2]


class TextureTable:
    """The textures of a launch by handle. Keys of `given`: handles, `.texref` or parameter
    names."""

    def __init__(self, program: Any, given: Mapping[Any, Any]) -> None:
        self.program = program
        self.by_name: dict[str, Texture] = {}
        for key, value in given.items():
            texture = value if isinstance(value, Texture) else Texture(np.asarray(value))
            if isinstance(key, str):
                self.by_name[key] = texture
            else:
                program.textures[int(key)] = texture

    def handle(self, texture: Texture) -> int:
        """A handle for a texture."""
        number = int(self.program.windows.code) + _BASE + 16 * len(self.program.textures)
        self.program.textures[number] = texture
        return number

    def bind(self) -> None:
        """Give the `.texref` variables their textures, once these have handles."""
        for handle, variable in self.program.handles.items():
            texture = self.by_name.get(str(variable.name))
            if texture is not None:
                self.program.textures[handle] = texture


def find(program: Any, handle: int) -> Texture:
    """The texture of a handle; raises `Unsupported` if it was not given."""
    texture = program.textures.get(handle)
    if texture is None:
        name = getattr(program.handles.get(handle), "name", hex(handle))
        raise Unsupported(f"texture {name}: give it in `textures`")
    return texture  # type: ignore[no-any-return]
