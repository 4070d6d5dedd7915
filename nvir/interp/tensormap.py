"""Tensor maps: what the bulk tensor copies read to find a box of a tensor.

The real object is opaque; this one has a layout of its own in the same 128 bytes, so that it may
lie in a kernel parameter or in memory and `tensormap.replace` can change its fields:

    0 magic    8 address    16 rank, element bytes, swizzle, interleave, fill, type
    24 extents (5 x u32)    44 box (5 x u32)    64 element strides (5 x u32)    88 strides (4 x u64)

Extents, box and coordinates are innermost first, as in CUDA; strides are bytes of the outer four.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from nvir.interp.layout import Array
from nvir.interp.memory import Fault

MAGIC = 0x50414D5F5249564E
SIZE = 128
# (PTX type, bytes) by the number that tensormap.replace gives an element type.
ELEMENTS = (
    ("u8", 1), ("u16", 2), ("u32", 4), ("s32", 4), ("u64", 8), ("s64", 8), ("f16", 2), ("f32", 4),
    ("f32", 4), ("f64", 8), ("bf16", 2), ("f32", 4), ("f32", 4),
)
_CODES = {"u1": 0, "i1": 0, "u2": 1, "i2": 1, "u4": 2, "i4": 3, "u8": 4, "i8": 5, "f2": 6, "f4": 7,
          "f8": 9}
_SWIZZLE = {0: 0, 32: 1, 64: 2, 128: 3}
FIELDS = np.dtype(
    {
        "names": [
            "magic", "address", "rank", "bytes", "swizzle", "interleave", "fill", "type",
            "extents", "box", "steps", "strides",
        ],
        "formats": ["u8", "u8", "u1", "u1", "u1", "u1", "u1", "u1", "5u4", "5u4", "5u4", "4u8"],
        "offsets": [0, 8, 16, 17, 18, 19, 20, 21, 24, 44, 64, 88],
        "itemsize": SIZE,
    }
)


@attrs.frozen(eq=False)
class TensorMap:
    """A tensor and the box that one copy moves; an argument for a 128-byte parameter.

    data      a C-contiguous array of one to five axes; its buffer is the tensor
    box       elements that a copy takes along each axis, in the order of the array's axes
    swizzle   0, 32, 64 or 128: the span of bytes that is permuted in shared memory
    steps     element strides along each axis; 1 by default
    """

    data: Array
    box: Sequence[int]
    swizzle: int = 0
    steps: Sequence[int] = ()

    def __attrs_post_init__(self) -> None:
        if not 1 <= self.data.ndim <= 5 or len(self.box) != self.data.ndim:
            raise TypeError("a tensor map has one to five axes and a box of as many")
        if self.swizzle not in _SWIZZLE:
            raise TypeError(f"a swizzle spans 0, 32, 64 or 128 bytes, not {self.swizzle}")
        if self.data.dtype.str[1:] not in _CODES:
            raise TypeError(f"a tensor map has no elements of type {self.data.dtype}")

    def encode(self, address: int) -> bytes:
        """The object's bytes for a tensor at a device address."""
        out = np.zeros((), FIELDS)
        n = self.data.ndim
        out["magic"], out["address"], out["rank"] = MAGIC, address, n
        out["bytes"], out["swizzle"] = self.data.itemsize, _SWIZZLE[self.swizzle]
        out["type"] = _CODES[self.data.dtype.str[1:]]
        out["extents"][:n] = self.data.shape[::-1]
        out["box"][:n] = list(reversed(self.box))
        out["steps"][:n] = list(reversed(self.steps)) or 1
        out["strides"][: n - 1] = self.data.strides[-2::-1]
        return out.tobytes()


def decode(data: Array) -> Any:
    """The fields of 128 bytes; raises `Fault` where they are no tensor map."""
    fields = np.ascontiguousarray(data).view(FIELDS)[0]
    if int(fields["magic"]) != MAGIC:
        raise Fault("this is no tensor map: pass nvir.interp.TensorMap as the argument")
    return fields


def box_places(fields: Any, corner: Sequence[int], shared: int) -> tuple[Array, Array, Array]:
    """For each element of the box: its global address, whether it exists, its shared address.

    `corner` are the box's first coordinates, innermost first; `shared` is where the box begins.
    """
    n, size = int(fields["rank"]), int(fields["bytes"])
    box = [int(b) for b in fields["box"][:n]]
    grid = np.indices(box[::-1]).reshape(n, -1)[::-1]
    address = np.full(grid.shape[1], int(fields["address"]), np.int64)
    inside = np.ones(grid.shape[1], bool)
    for k in range(n):
        at = corner[k] + grid[k] * int(fields["steps"][k])
        inside &= (at >= 0) & (at < int(fields["extents"][k]))
        address += at * (size if k == 0 else int(fields["strides"][k - 1]))
    places = shared + np.arange(grid.shape[1]) * size
    bits = int(fields["swizzle"])
    places ^= ((places >> 7) & ((1 << bits) - 1)) << 4
    return address, inside, places
