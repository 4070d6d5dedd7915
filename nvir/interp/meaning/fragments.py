# mypy: disable-error-code="no-any-return"
"""Where the elements of a matrix lie in the registers of a warp: mma, wmma, ldmatrix, movmatrix.

Notation   A is m x k, B is k x n, C and D are m x n. A register of 32 bits holds `e` elements of
           32/e bits, the first in the low bits; an f64 element fills its own register. A lane is
           lane = 4 * group + t.
Map        A `Fragment` gives, for register r, lane and element i, the row and column:

           A   row = group + 8 * (r % R),  column = t * e + i + 4 * e * (r // R),   R = m / 8
           B   row = t * e + i + 4 * e * (r % K),  column = group + 8 * (r // K),   K = k / (4 e)
           C   element c = 2 q + j:  row = group + 8 * (q % R), column = 2 t + j + 8 * (q // R)

           That is the layout of every mma.sync shape but m8n8k4 on f16, whose four quad pairs
           each hold a matrix of their own. PTX leaves wmma's layout open; here it is that of sm_80
           and later: the same rule, A of 32 rows being two tiles of 16, m8n32 the transpose of
           m32n8, and the registers that f16 has beyond what it needs repeating the fragment.
Source     PTX ISA 9.0, 9.7.14.4.1 (wmma), 9.7.14.5.1 to 9.7.14.5.13 (mma), .15 to .17; for wmma
           the addresses in the SASS that ptxas 13.0 makes of wmma.load for sm_80.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from nvir.interp.meaning.lanes import Lanes
from nvir.ir.errors import Unsupported

LANE = np.arange(32)
GROUP, T = LANE >> 2, LANE & 3

ELEMENT_BITS = {
    **dict.fromkeys(("b1",), 1),
    **dict.fromkeys(("u4", "s4"), 4),
    **dict.fromkeys(("u8", "s8", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1"), 8),
    **dict.fromkeys(("f16", "bf16"), 16),
    **dict.fromkeys(("tf32", "f32", "s32"), 32),
    "f64": 64,
}
"""Bits that an element takes in a fragment (the 6- and 4-bit floats sit in bytes)."""


@attrs.frozen(eq=False)
class Fragment:
    """`row`, `column`: int arrays (registers, 32, elements); `shape` of the matrix; element bits.

    `part` tells m8n8k4's four matrices apart, (registers, 32, elements) too; else it is None.
    """

    row: Lanes
    column: Lanes
    shape: tuple[int, int]
    bits: int
    part: Lanes | None = None

    @property
    def registers(self) -> int:
        """Registers of each lane."""
        return int(self.row.shape[0])

    def unpack(self, regs: Lanes) -> Lanes:
        """Raw registers `(registers, warps, 32)` to codes `(warps, rows, columns)`, unsigned.

        With `part` to `(warps, 4, rows, columns)`. Raises Unsupported for another number of
        registers than the fragment has.
        """
        if len(regs) != self.registers:
            raise Unsupported(f"{len(regs)} registers for a fragment of {self.registers}")
        per = self.row.shape[2]
        kind: Any = regs.dtype.type
        mask = kind((1 << self.bits) - 1)
        shifts = np.arange(per).astype(regs.dtype) * kind(self.bits)
        codes = (regs[..., None] >> shifts) & mask  # (registers, warps, 32, elements)
        codes = np.moveaxis(codes, 1, 0)
        warps = regs.shape[1]
        if self.part is None:
            out = np.zeros((warps, *self.shape), regs.dtype)
            out[:, self.row, self.column] = codes
        else:
            out = np.zeros((warps, 4, *self.shape), regs.dtype)
            out[:, self.part, self.row, self.column] = codes
        return out

    def pack(self, codes: Lanes) -> Lanes:
        """The inverse of `unpack`: codes `(warps, rows, columns)` to `(registers, warps, 32)`."""
        if self.part is None:
            picked = codes[:, self.row, self.column]
        else:
            picked = codes[:, self.part, self.row, self.column]
        dtype: Any = np.uint64 if self.bits == 64 else np.uint32
        shifts = np.arange(self.row.shape[2]).astype(dtype) * dtype(self.bits)
        words = np.bitwise_or.reduce(picked.astype(dtype) << shifts, axis=-1)
        return np.ascontiguousarray(np.moveaxis(words, 0, 1))


def _per_register(bits: int) -> int:
    return max(1, 32 // bits)


def _grid(registers: int, elements: int) -> tuple[Lanes, Lanes, Lanes, Lanes]:
    """Register, element, group and t, shaped to broadcast to (registers, 32, elements)."""
    r = np.arange(registers)[:, None, None]
    i = np.arange(elements)[None, None, :]
    return r, i, GROUP[None, :, None], T[None, :, None]


def _fragment(
    row: Lanes, column: Lanes, shape: tuple[int, int], bits: int, part: Lanes | None = None
) -> Fragment:
    row, column = np.broadcast_arrays(row, column)
    if part is not None:
        part = np.broadcast_to(part, row.shape)
    return Fragment(row, column, shape, bits, part)


@lru_cache(maxsize=256)
def multiplicand_a(m: int, k: int, type_: str, registers: int = 0) -> Fragment:
    """A's fragment; `registers` more than needed repeat it."""
    bits = ELEMENT_BITS[type_]
    e, blocks = _per_register(bits), min(m // 8, 2)
    tile = blocks * max(1, k // (4 * e))  # registers of 8 or 16 rows
    needed = tile * (m // (8 * blocks))
    r, i, group, t = _grid(registers or needed, e)
    r = r % needed
    row = group + 8 * (r % blocks) + 8 * blocks * (r // tile) + 0 * i
    return _fragment(row, t * e + i + 4 * e * (r % tile // blocks), (m, k), bits)


@lru_cache(maxsize=256)
def multiplicand_b(k: int, n: int, type_: str, registers: int = 0) -> Fragment:
    """B's fragment; `registers` more than needed repeat it."""
    bits = ELEMENT_BITS[type_]
    e = _per_register(bits)
    steps = max(1, k // (4 * e))
    needed = steps * (n // 8)
    r, i, group, t = _grid(registers or needed, e)
    r = r % needed
    row = t * e + i + 4 * e * (r % steps)
    return _fragment(row, group + 8 * (r // steps) + 0 * i, (k, n), bits)


@lru_cache(maxsize=256)
def accumulator(m: int, n: int, type_: str) -> Fragment:
    """C's and D's fragment; f16 packs two elements in a register."""
    bits = ELEMENT_BITS[type_]
    e, blocks = _per_register(bits), m // 8
    r, i, group, t = _grid(m * n // (32 * e), e)
    c = r * e + i
    q, j = c // 2, c % 2
    row, column = group + 8 * (q % blocks), 2 * t + j + 8 * (q // blocks)
    return _fragment(row, column, (m, n), bits)


# --- mma.m8n8k4 on f16: four matrices in the quad pairs of a warp ----------------------------

_QUAD = (LANE % 16) // 4
_UPPER = 4 * (LANE >= 16)


@lru_cache(maxsize=8)
def quad_a(layout: str) -> Fragment:
    """A of m8n8k4.f16, row or col."""
    r, i = np.arange(2)[:, None, None], np.arange(2)[None, None, :]
    c = 2 * r + i
    own, along = (LANE % 4)[None, :, None], _UPPER[None, :, None]
    part = _QUAD[None, :, None]
    if layout == "row":
        return _fragment(own + along + 0 * c, c + 0 * own, (8, 4), 16, part)
    return _fragment(c + along, own + 0 * c, (8, 4), 16, part)


@lru_cache(maxsize=8)
def quad_b(layout: str) -> Fragment:
    """B of m8n8k4.f16, row or col: A of the transposed matrix."""
    a = quad_a("col" if layout == "row" else "row")
    return Fragment(a.column, a.row, (4, 8), 16, a.part)


@lru_cache(maxsize=8)
def quad_accumulator(type_: str) -> Fragment:
    """C and D of m8n8k4.f16."""
    lane, along = LANE[None, :, None], _UPPER[None, :, None]
    part = _QUAD[None, :, None]
    if type_ == "f16":
        r, i = np.arange(4)[:, None, None], np.arange(2)[None, None, :]
        c = 2 * r + i
        return _fragment(lane % 4 + along + 0 * c, c + 0 * lane, (8, 8), 16, part)
    c = np.arange(8)[:, None, None]
    row = (lane & 1) + (c & 2) + along
    return _fragment(row, (c & 4) + (lane & 2) + (c & 1), (8, 8), 32, part)


# --- wmma -----------------------------------------------------------------------------------


def wmma(role: str, m: int, n: int, k: int, type_: str) -> Fragment:
    """The fragment of wmma.load.a, .b, .c and wmma.store.d (role "a", "b", "c" or "d").

    f16 multiplicands always take eight registers.
    """
    if m == 8 and n == 32:
        other = wmma({"a": "b", "b": "a"}.get(role, role), n, m, k, type_)
        rows, columns = other.shape
        return Fragment(other.column, other.row, (columns, rows), other.bits)
    if role in ("c", "d"):
        return accumulator(m, n, type_)
    count = 8 if type_ == "f16" else 0
    if role == "a":
        return multiplicand_a(m, k, type_, count)
    if role == "b":
        return multiplicand_b(k, n, type_, count)
    raise Unsupported(f"wmma fragment {role!r}")


def offsets(fragment: Fragment, layout: str, stride: int) -> Lanes:
    """The place of each element in memory, in elements from the matrix's start: `(registers, 32,
    elements)` for a matrix in layout "row" or "col" with that stride."""
    if layout == "row":
        return fragment.row * stride + fragment.column
    return fragment.column * stride + fragment.row


# --- ldmatrix, stmatrix, movmatrix ----------------------------------------------------------


@attrs.frozen(eq=False)
class RowMap:
    """How ldmatrix and stmatrix spread matrix rows over lanes: `(registers, 32, pieces)` each.

    Piece p of register r in a lane has `bytes` bytes, lies at bit p * 8 * bytes of the register,
    and at `offset` bytes from the row address that lane `address` provides.
    """

    address: Lanes
    offset: Lanes
    bytes: int


@lru_cache(maxsize=16)
def matrix_rows(count: int, transposed: bool) -> RowMap:
    """.m8n8 with b16 elements: `count` (1, 2 or 4) matrices, one register each.

    Lane 4 g + t holds elements 2 t and 2 t + 1 of row g, or with .trans of column g.
    """
    r = np.arange(count)[:, None, None]
    p = np.arange(2)[None, None, :]
    group, t = GROUP[None, :, None], T[None, :, None]
    if transposed:
        address, offset = 8 * r + 2 * t + p, 2 * group
    else:
        address, offset = 8 * r + group, 4 * t + 2 * p
    address, offset = np.broadcast_arrays(address, offset)
    shape = (count, 32, 2)
    return RowMap(np.broadcast_to(address, shape), np.broadcast_to(offset, shape), 2)


def movmatrix(a: Lanes) -> Lanes:
    """The 8 x 8 matrix of 16-bit elements in `a` (warps, 32), transposed."""
    fragment = accumulator(8, 8, "f16")
    matrix = fragment.unpack(a[None])
    return fragment.pack(np.swapaxes(matrix, 1, 2))[0]
