# mypy: disable-error-code="no-any-return"
"""Sparse matrix multiply-accumulate: mma.sp, A with half of its elements left out.

Of each chunk of a row of A (4 elements; 2 of tf32; 4 pairs of the 4-bit types) half is stored, in
the fragment of a dense A of half the depth. A nibble of metadata for each chunk says where they
belong: two indices of 2 bits, the first in the low bits; of tf32 0b0100 is element 0 and 0b1110
element 1, which reads the same in slots of 16 bits.

Where the nibble of (row, chunk) lies, within the four lanes 4 (row % 8) ..:

    f16, bf16, tf32   lane chunk / 4, bits 16 (row / 8) + 4 (chunk % 4)
    8 and 4 bits      lane 2 (chunk / 8) + row / 8, bits 4 (chunk % 8)

The sparsity selector says at which of the four these lanes begin: where one lane holds all it is
that lane, where two do it is the pair.

Idea      Each row of A meets its own rows of B, gathered by its metadata: a dense product of half
          the depth, so the tensor cores' sums are those of tensorcore.py.
Source    PTX ISA 9.0, 9.7.14.6 (mma.sp); the order of 8-bit metadata also from CUTLASS's
          `reorder_meta`.
"""

from __future__ import annotations

import re
from functools import lru_cache

import attrs
import numpy as np

from nvir.interp.meaning import fragments
from nvir.interp.meaning.lanes import Lanes
from nvir.interp.meaning.matrix import Product, multiply
from nvir.interp.meaning.tensorcore import tensor_core
from nvir.ir.errors import Unsupported

_SPARSE = re.compile(r"\.sp(::ordered_metadata)?\.")


@attrs.frozen
class _Layout:
    """How a row of A is left out: elements of a chunk, elements of a slot (what an index names),
    and bits of metadata that a lane holds for one row."""

    chunk: int
    slot: int
    bits: int

    @property
    def kept(self) -> int:
        return self.chunk // 2


def _layout(type_: str) -> _Layout:
    if type_ in ("f16", "bf16"):
        return _Layout(4, 1, 16)
    if type_ == "tf32":
        return _Layout(2, 1, 16)
    if type_ in ("u4", "s4"):
        return _Layout(8, 2, 32)
    return _Layout(4, 1, 32)


@lru_cache(maxsize=64)
def parse(spelling: str) -> Product:
    """The dense opcode of the same shape; raises Unsupported for what is not 16 x 8."""
    op = Product.parse(_SPARSE.sub(".", spelling))
    if (op.m, op.n) != (16, 8):
        raise Unsupported(spelling)
    return op


def columns(op: Product, metadata: Lanes, selector: int) -> Lanes:
    """The column in A of each stored element: (warps, 16, k / 2) from (warps, 32) metadata."""
    layout = _layout(op.types[1])
    chunks = op.k // layout.chunk
    row, chunk = np.meshgrid(np.arange(16), np.arange(chunks), indexing="ij")
    upper = row // 8
    if layout.bits == 16:
        lanes = chunks // 4
        lane, shift = chunk // 4, 16 * upper + 4 * (chunk % 4)
    else:
        lanes = chunks // 4
        lane, shift = 2 * (chunk // 8) + upper, 4 * (chunk % 8)
    first = selector * lanes
    if first + lanes > 4:
        raise Unsupported(f"{op.spelling} with sparsity selector {selector}")
    nibble = metadata[:, 4 * (row % 8) + first + lane] >> shift.astype(np.uint32)
    low, high = nibble & np.uint32(3), (nibble >> np.uint32(2)) & np.uint32(3)
    base = chunk * layout.chunk
    if layout.chunk == 2:
        found = [base + (low >> np.uint32(1))]
    else:
        found = [
            base + index.astype(np.int64) * layout.slot + k
            for index in (low, high)
            for k in range(layout.slot)
        ]
    return np.stack(found, -1).reshape(len(metadata), 16, op.k // 2).astype(np.int64)


def mma(
    spelling: str, a: Lanes, b: Lanes, c: Lanes, metadata: Lanes, selector: int, target: str = ""
) -> Lanes:
    """D's registers of an mma.sp from those of A, B and C, all `(registers, warps, 32)`."""
    op = parse(spelling)
    dtype, atype, btype, ctype = op.types
    stored = fragments.multiplicand_a(16, op.k // 2, atype).unpack(a)
    whole = fragments.multiplicand_b(op.k, op.n, btype).unpack(b)
    old = fragments.accumulator(16, op.n, ctype).unpack(c)
    where = columns(op, metadata, selector)
    picked = whole[np.arange(len(whole))[:, None, None], where]  # (warps, 16, k / 2, n)
    core = tensor_core(target, atype) if target else None
    result = multiply(op, stored[..., None, :], picked, old[..., None, :], core)
    return fragments.accumulator(16, op.n, dtype).pack(result[..., 0, :])
