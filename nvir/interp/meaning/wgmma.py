# mypy: disable-error-code="no-any-return"
"""wgmma.mma_async: fragments of a warpgroup, matrix descriptors, and D = A * B + D.

Registers are `(registers, groups, 128)`. Warp w of a group holds rows 16 w .. 16 w + 15 of A and D,
each as mma.m16n8 does; D's columns go on in steps of eight.

Descriptors   Shared-memory matrices are read in core matrices of 8 rows by 16 bytes. For an element
              at (x, y), x along M or N and y along K, W the swizzle's bytes (16 for none), s the
              element's bytes, both remainders taken first:

              K-major    none:  (x % 8) * 16 + (x / 8) * SBO + (y s % 16) + (y s / 16) * LBO
                         W:     (x % 8) * W  + (x / 8) * SBO + y s
              MN-major   none:  (x s % 16) + (x s / 16) * SBO + (y % 8) * 16 + (y / 8) * LBO
                         W:     (x s % W)  + (x s / W)  * LBO + (y % 8) * W  + (y / 8) * SBO

              added to the start address; then bits 4.. of the address are exchanged by exclusive or
              with bits 7.. (1, 2 or 3 bits for 32, 64 or 128 bytes).
Numbers       As in matrix.py.
Source        PTX ISA 9.0, 9.7.15.5.1 (fragments, layouts, descriptors), 9.7.15.5.2.
"""

from __future__ import annotations

from functools import lru_cache

import attrs
import numpy as np

from nvir.interp.meaning import fragments
from nvir.interp.meaning.fragments import ELEMENT_BITS, Fragment
from nvir.interp.meaning.lanes import Lanes
from nvir.interp.meaning.matrix import Product, multiply
from nvir.interp.meaning.tensorcore import tensor_core

_SWIZZLE = {0: 0, 1: 3, 2: 2, 3: 1}  # mode to exchanged bits: none, 128, 64, 32 bytes


@attrs.frozen
class Descriptor:
    """A matrix descriptor: byte offsets in the shared window, and exchanged bits of the swizzle."""

    start: int
    leading: int
    stride: int
    base: int
    swizzle_bits: int

    @staticmethod
    def decode(value: int) -> Descriptor:
        """Of the 64 bits of a register."""

        def field(low: int) -> int:
            return (value >> low & 0x3FFF) << 4

        mode = value >> 62 & 3
        return Descriptor(field(0), field(16), field(32), value >> 49 & 7, _SWIZZLE[mode])

    def addresses(self, extent: int, depth: int, size: int, *, k_major: bool) -> Lanes:
        """Shared-window byte addresses `(extent, depth)` of elements of `size` bytes, `extent`
        along M or N and `depth` along K."""
        x, y = np.arange(extent)[:, None], np.arange(depth)[None, :]
        row = 16 << self.swizzle_bits
        if k_major:
            offset = (x % 8) * row + (x // 8) * self.stride
            if self.swizzle_bits:
                offset = offset + y * size
            else:
                offset = offset + y * size % 16 + y * size // 16 * self.leading
        else:
            far, deep = (
                (self.leading, self.stride) if self.swizzle_bits else (self.stride, self.leading)
            )
            offset = x * size % row + x * size // row * far + (y % 8) * row + y // 8 * deep
        address = self.start + offset
        phase = ((address >> 7) - self.base) & ((1 << self.swizzle_bits) - 1)
        return address ^ (phase << 4)


# --- fragments of a warpgroup ---------------------------------------------------------------


def _by_warp(regs: Lanes) -> Lanes:
    """(registers, groups, 128) as (registers, groups * 4, 32)."""
    return regs.reshape(regs.shape[0], -1, 32)


def unpack(fragment: Fragment, regs: Lanes) -> Lanes:
    """Codes `(groups, 64, columns)` from the registers of A or D."""
    codes = fragment.unpack(_by_warp(regs))
    return codes.reshape(-1, 4 * codes.shape[1], codes.shape[2])


def pack(fragment: Fragment, codes: Lanes) -> Lanes:
    """The inverse of `unpack`."""
    groups, rows, columns = codes.shape
    regs = fragment.pack(codes.reshape(groups * 4, rows // 4, columns))
    return regs.reshape(regs.shape[0], groups, 128)


@lru_cache(maxsize=64)
def register_fragments(op: Product) -> tuple[Fragment, Fragment]:
    """The fragments that one warp holds of A (if in registers) and of D."""
    a = fragments.multiplicand_a(16, op.k, op.types[1])
    return a, fragments.accumulator(16, op.n, op.types[0])


def element_size(type_: str) -> int:
    """Bytes that `Descriptor.addresses` steps by; b1 is read in bytes of eight."""
    return max(1, ELEMENT_BITS[type_] // 8)


def bits_of_bytes(codes: Lanes) -> Lanes:
    """Bytes `(..., depth)` of a b1 matrix as single bits `(..., 8 * depth)`, lowest bit first."""
    return np.unpackbits(codes.astype(np.uint8), axis=-1, bitorder="little")


# --- the product ----------------------------------------------------------------------------


def mma_async(
    op: Product,
    a: Lanes,
    b: Lanes,
    d: Lanes,
    *,
    accumulate: Lanes,
    negate_a: bool = False,
    negate_b: bool = False,
    target: str = "",
) -> Lanes:
    """D's registers `(registers, groups, 128)` from codes of A `(groups, 64, k)` and B
    `(groups, k, n)` and the registers of the old D.

    `accumulate` is scale-d, a bool for each group: where false D = A * B. `negate_a` and
    `negate_b` stand for imm-scale -1. `target` is as for `matrix.mma`.
    """
    _, fragment = register_fragments(op)
    old = unpack(fragment, d)
    zero = old.dtype.type(0)
    old = np.where(accumulate[:, None, None], old, zero)
    if negate_a:
        a = _negated(a, op.types[1])
    if negate_b:
        b = _negated(b, op.types[2])
    core = tensor_core(target, op.types[1], warpgroup=True) if target else None
    return pack(fragment, multiply(op, a, b, old, core))


def _negated(codes: Lanes, type_: str) -> Lanes:
    return codes ^ codes.dtype.type(1 << (ELEMENT_BITS[type_] - 1))
