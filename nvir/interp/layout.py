"""Where things lie: address windows, register dtypes, and the frames of functions.

Addresses   One generic space of 64 bits (of 32 in an `.address_size 32` module). Global, const and
            kernel-parameter memory have generic addresses; a `.shared` or `.local` address is an
            offset, and `window + offset` is its generic form. The shared window repeats for each
            CTA of a cluster, `SHARED_SPAN` apart: rank r's copy is what `mapa` gives.
Frames      Parameters of device functions, parameters of calls and `.local` variables of one
            activation lie in one block of local memory, so that a thread's stack is one array.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from nvir.ir.function import Function
from nvir.ir.symbols import Variable
from nvir.ir.types import ScalarType, Type

Array = npt.NDArray[Any]

_BITS: dict[int, Any] = {8: np.uint16, 16: np.uint16, 32: np.uint32, 64: np.uint64, 128: np.uint64}


@attrs.frozen
class Windows:
    """Generic addresses of the windows; `shared_span` bytes of it belong to one CTA."""

    arena: int = 0x0000_7000_0000_0000
    shared: int = 0x0000_7E00_0000_0000
    shared_span: int = 1 << 24
    local: int = 0x0000_7F00_0000_0000
    local_span: int = 1 << 24
    code: int = 0x0000_7F80_0000_0000

    @staticmethod
    def of(address_size: int) -> Windows:
        """The windows of a module with addresses of 64 or 32 bits."""
        if address_size == 64:
            return Windows()
        return Windows(0x1000_0000, 0xC000_0000, 1 << 24, 0xE000_0000, 1 << 24, 0xF000_0000)


def register_dtype(type: Type) -> np.dtype[Any]:
    """The dtype of a value's lane vector, as meaning/lanes.py has it; b128 is pairs of uint64."""
    if isinstance(type, ScalarType) and type.cls.name in ("pred", "cc"):
        return np.dtype(bool)
    found: np.dtype[Any] = np.dtype(_BITS[type.bits])
    return found


def zeros(type: Type, count: int) -> Array:
    """A lane vector of zeros."""
    shape = (count, 2) if type.bits == 128 else (count,)
    return np.zeros(shape, register_dtype(type))


def alignment(variable: Variable) -> int:
    """The alignment of a PTX variable in bytes."""
    natural = max(variable.element_type.bits // 8, 1) * variable.vector
    return max(variable.align, 1) if variable.align else natural


def align_up(offset: int, to: int) -> int:
    return -(-offset // to) * to


@attrs.define
class Layout:
    """Variables at offsets of one block of memory, in the order in which they are placed."""

    offsets: dict[Any, int] = attrs.Factory(dict)
    size: int = 0
    align: int = 1

    def place(self, variable: Variable, least: int = 1) -> None:
        step = max(alignment(variable), least)
        self.align = max(self.align, step)
        self.offsets[variable] = offset = align_up(self.size, step)
        self.size = offset + variable.size


def frame_layout(function: Function) -> Layout:
    """The local memory of one activation: parameters (a kernel's lie elsewhere) and locals."""
    layout = Layout()
    if not function.is_kernel:
        for p in [*function.params, *function.returns]:
            if isinstance(p, Variable):
                layout.place(p)
    for v in function.locals:
        if v.space in ("local", "param"):
            layout.place(v)
    layout.size = align_up(layout.size, 16)
    return layout


def parameter_layout(function: Function) -> Layout:
    """A kernel's parameter block."""
    layout = Layout()
    for p in function.params:
        layout.place(p)
    return layout
