"""Where things lie: address windows, register dtypes, and the frames of functions.

Addresses   One generic space of 64 bits (of 32 in an `.address_size 32` module). Global, const and
            kernel-parameter memory have generic addresses; a `.shared` or `.local` address is an
            offset, and `window + offset` is its generic form. The shared window repeats for each
            CTA of a cluster, `SHARED_SPAN` apart: rank r's copy is what `mapa` gives.
Frames      Parameters of device functions, parameters of calls and `.local` variables of one
            activation lie in one block of local memory, so that a thread's stack is one array.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from nvir.ir import Function, ScalarType, Type, Unsupported, Variable

Array = npt.NDArray[Any]

MOST_SIZES = 32  # of an array of numpy, whatever its version
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
    bits = type.bits
    found: Any = _BITS.get(bits)
    if found is None:  # a scalar of nvvm
        found = _narrowest(bits)
    dtype: np.dtype[Any] = np.dtype(found)
    return dtype


def _narrowest(bits: int) -> Any:
    """The element of the narrowest register for an nvvm scalar of so many bits."""
    if bits == 1:
        return bool
    for width in (16, 32, 64, 128):
        if bits <= width:
            return _BITS[width]
    raise Unsupported(f"a value of {bits} bits in the interpreter")


def zeros(type: Type, count: int) -> Array:
    """A lane vector of zeros."""
    shape = (count, 2) if type.bits > 64 else (count,)
    return np.zeros(shape, register_dtype(type))


def alignment(variable: Variable) -> int:
    """The alignment of a PTX variable in bytes."""
    natural = max(variable.element_type.bits // 8, 1) * variable.vector
    return max(variable.align, 1) if variable.align else natural


def align_up(offset: int, to: int) -> int:
    return -(-offset // to) * to


@attrs.define
class MemoryLayout:
    """Variables at offsets of one block of memory, in the order in which they are placed."""

    offsets: dict[Any, int] = attrs.Factory(dict)
    size: int = 0
    align: int = 1

    def place(self, variable: Variable, least: int = 1) -> None:
        """Add a variable of ori, aligned to at least `least` bytes."""
        self.reserve(variable, variable.size, max(alignment(variable), least))

    def reserve(self, key: Any, size: int, align: int) -> None:
        """Add `size` bytes for whatever `key` is."""
        self.align = max(self.align, align)
        self.offsets[key] = offset = align_up(self.size, align)
        self.size = offset + size


class LaneStorage:
    """Sizes and places of what an ori module declares. nvvm/storage.py has the other level's."""

    def size(self, v: Variable) -> int:
        """Bytes of a variable."""
        return v.size

    def align(self, v: Variable) -> int:
        return alignment(v)

    def dtype(self, v: Variable) -> tuple[Any, tuple[int, ...]]:
        """How a variable's final contents are shown: numpy's element and the shape, a row where
        that has more sizes than numpy has."""
        name, bits = v.element_type.name, v.element_type.bits
        kind = _NUMPY.get(name, f"{'i' if name[0] == 's' else 'u'}{max(bits // 8, 1)}")
        shape = (*v.dimensions, v.vector) if v.vector > 1 else v.dimensions
        return np.dtype(kind), shape if len(shape) <= MOST_SIZES else (math.prod(shape),)

    def signature(self, f: Function) -> list[Any]:
        """A kernel's parameters."""
        return f.params

    def frame(self, f: Function) -> MemoryLayout:
        """Local memory of one activation: parameters (a kernel's lie elsewhere) and locals."""
        layout = MemoryLayout()
        if not f.is_kernel:
            for p in [*f.params, *f.returns]:
                if isinstance(p, Variable):
                    layout.place(p)
        for v in f.locals:
            if v.space in ("local", "param"):
                layout.place(v)
        layout.size = align_up(layout.size, 16)
        return layout

    def uses_stack(self, f: Function) -> bool:
        """Whether it takes memory that its frame does not hold."""
        return any(i.form.name == "alloca" for i in f.instructions())

    def image(self, program: Any, v: Variable) -> Array:
        """The bytes that a variable starts with."""
        out = np.zeros(v.size, np.uint8)
        width = max(v.element_type.bits // 8, 1)
        dims = (*v.dimensions, v.vector) if v.vector > 1 else v.dimensions
        _fill(program, out, 0, v.init, width, dims)
        return out

    def start(self, wave: Any, g: Any) -> None:
        """Kernels load their parameters themselves."""


_NUMPY = {"f16": "f2", "f32": "f4", "f64": "f8"}


def _fill(program: Any, out: Array, at: int, init: Any, width: int, dims: tuple[int, ...]) -> None:
    """Write a (nested) initialiser at a byte offset."""
    todo = [(at, init, dims)]
    while todo:
        at, x, dims = todo.pop()
        if isinstance(x, tuple):
            step = width
            if any(isinstance(v, tuple) for v in x):
                step *= math.prod(dims[1:])
            todo += [(at + k * step, v, dims[1:]) for k, v in enumerate(x)]
            continue
        if at + width > len(out):
            raise Unsupported("more initial values than a variable has elements")
        bits = program.initial(x) & ((1 << 8 * width) - 1)
        out[at : at + width] = np.frombuffer(bits.to_bytes(width, "little"), np.uint8)


def parameter_layout(params: Sequence[Variable]) -> MemoryLayout:
    """A kernel's parameter block."""
    layout = MemoryLayout()
    for p in params:
        layout.place(p)
    return layout
