# mypy: disable-error-code="no-any-return"
"""Matrix multiply-accumulate: D = A * B + C of mma.sync and wmma.mma, and the core of wgmma.

Exact     Integers: exact sums, wrapped or with .satfinite clamped at the end. Bits: the population
          count of xor or and. f64: one fused multiply-add for each k, k ascending, in the
          instruction's rounding mode, as PTX promises.
Floats    f16, bf16, tf32 and the 8-, 6- and 4-bit formats: PTX leaves order and rounding open.
          Given a target, the sum is what its tensor cores compute (tensorcore.py). Without one,
          exact products are added to C in float64, k ascending, and the sum is rounded once to
          the type of D: at least as precise. Both agree wherever sums are exact (small integers,
          say). tf32 reads only the upper 19 bits of its inputs.
Shapes    Fragments are `(registers, warps, 32)` raw registers, uint32 or, for f64, uint64.
Source    PTX ISA 9.0, 9.7.14.4.5 (wmma.mma), 9.7.14.5.14 (mma).
"""

from __future__ import annotations

import re
from functools import lru_cache

import attrs
import numpy as np

from nvir.interp.meaning import double, fragments, tensorcore
from nvir.interp.meaning.fragments import Fragment
from nvir.interp.meaning.lanes import Lanes
from nvir.interp.meaning.rounding import round_to, value_of
from nvir.interp.meaning.tensorcore import TensorCore, tensor_core
from nvir.ir.errors import Unsupported

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)$")
_FLOATS = ("f16", "bf16", "tf32", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
_INTS = ("u8", "s8", "u4", "s4")


@attrs.frozen
class Product:
    """A matrix opcode's modifiers: shape, types of D, A, B, C, layouts, and how to compute."""

    spelling: str
    m: int
    n: int
    k: int
    types: tuple[str, str, str, str]
    layouts: tuple[str, str] = ("row", "col")
    satfinite: bool = False
    bit_op: str = ""
    rnd: str = "rn"

    @staticmethod
    def parse(spelling: str) -> Product:
        """Of a full spelling of mma.sync, wmma.mma or wgmma.mma_async; raises `Unsupported`."""
        return _parse(spelling)


@lru_cache(maxsize=256)
def _parse(spelling: str) -> Product:
    tokens = spelling.split(".")
    shape = next(filter(None, map(_SHAPE.match, tokens)), None)
    types = [t for t in tokens if t in fragments.ELEMENT_BITS]
    scaled = any(t.startswith(("block_scale", "scale_vec")) for t in tokens)
    if shape is None or scaled or "sp" in tokens or "sp::ordered_metadata" in tokens:
        raise Unsupported(spelling)
    if tokens[0] == "wmma" and len(types) == 2:  # dtype and ctype alone: f16 multiplicands
        types = [types[0], "f16", "f16", types[1]]
    if tokens[0] == "wgmma" and len(types) == 3:  # the accumulator is C
        types = [*types, types[0]]
    if len(types) != 4:
        raise Unsupported(spelling)
    layouts = [t for t in tokens if t in ("row", "col")] or ["row", "col"]
    m, n, k = (int(v) for v in shape.groups())
    return Product(
        spelling,
        m,
        n,
        k,
        (types[0], types[1], types[2], types[3]),
        (layouts[0], layouts[1]),
        "satfinite" in tokens,
        next((t for t in ("xor", "and") if t in tokens), ""),
        next((t for t in ("rz", "rm", "rp") if t in tokens), "rn"),
    )


# --- codes to values, and the product -------------------------------------------------------


def values(codes: Lanes, type_: str) -> Lanes:
    """Element codes as float64, or int64 for the integer types. tf32 drops its low 13 bits."""
    if type_ == "tf32":
        return value_of(codes & np.uint32(0xFFFFE000), "f32")
    if type_ == "e2m1":  # the middle four bits of a byte
        return value_of((codes >> np.uint32(2)) & np.uint32(15), "e2m1")
    if type_ == "s32":
        return codes.view(np.int32).astype(np.int64)
    if type_ in _INTS:
        wide = codes.astype(np.int64)
        top = np.int64(1 << (int(type_[1:]) - 1))
        return (wide ^ top) - top if type_[0] == "s" else wide
    return value_of(codes, type_)


def multiply(op: Product, a: Lanes, b: Lanes, c: Lanes, core: TensorCore | None = None) -> Lanes:
    """Codes of D from those of A `(..., m, k)`, B `(..., k, n)` and C `(..., m, n)`."""
    dtype, atype, btype, ctype = op.types
    if atype == "b1":
        return _bits(op, a, b, c)
    if atype in _INTS and btype in _INTS:
        total = values(a, atype) @ values(b, btype) + values(c, "s32")
        return _to_s32(total, op.satfinite)
    if atype == "f64":
        return _doubles(op, a, b, c)
    if atype not in _FLOATS or btype not in _FLOATS or dtype not in ("f16", "f32"):
        raise Unsupported(op.spelling)
    x, y, total = values(a, atype), values(b, btype), values(c, ctype)
    if core is not None:
        return tensorcore.multiply(core, op.types, x, y, total)
    for step in range(x.shape[-1]):
        total = total + x[..., :, step, None] * y[..., None, step, :]
    return round_to(total, dtype)


def _to_s32(total: Lanes, satfinite: bool) -> Lanes:
    if satfinite:
        total = np.clip(total, -(1 << 31), (1 << 31) - 1)
    return total.astype(np.uint32)


def _bits(op: Product, a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """popc(row op column) + C, on single bits."""
    x, y = a.astype(np.int64), b.astype(np.int64)
    both = x @ y
    if op.bit_op == "xor":
        both = x.sum(-1)[..., :, None] + y.sum(-2)[..., None, :] - 2 * both
    elif op.bit_op != "and":
        raise Unsupported(op.spelling)
    return _to_s32(both + values(c, "s32"), op.satfinite)


def _doubles(op: Product, a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    x, y, total = (np.ascontiguousarray(v).view(np.float64) for v in (a, b, c))
    for step in range(x.shape[-1]):
        total = double.fma(x[..., :, step, None], y[..., None, step, :], total, op.rnd)
    return total.view(np.uint64)


# --- mma and wmma ---------------------------------------------------------------------------


def mma_fragments(op: Product) -> tuple[Fragment, Fragment, Fragment, Fragment]:
    """The fragments of A, B, C and D of an mma.sync."""
    dtype, atype, btype, ctype = op.types
    if (op.m, op.n, op.k, atype) == (8, 8, 4, "f16"):
        a, b = fragments.quad_a(op.layouts[0]), fragments.quad_b(op.layouts[1])
        return a, b, fragments.quad_accumulator(ctype), fragments.quad_accumulator(dtype)
    return (
        fragments.multiplicand_a(op.m, op.k, atype),
        fragments.multiplicand_b(op.k, op.n, btype),
        fragments.accumulator(op.m, op.n, ctype),
        fragments.accumulator(op.m, op.n, dtype),
    )


def wmma_fragments(op: Product) -> tuple[Fragment, Fragment, Fragment, Fragment]:
    """The fragments of A, B, C and D of a wmma.mma."""
    dtype, atype, btype, ctype = op.types
    shape = (op.m, op.n, op.k)
    return (
        fragments.wmma("a", *shape, atype),
        fragments.wmma("b", *shape, btype),
        fragments.wmma("c", *shape, ctype),
        fragments.wmma("d", *shape, dtype),
    )


def mma(spelling: str, a: Lanes, b: Lanes, c: Lanes, target: str = "") -> Lanes:
    """D's registers of an mma.sync or wmma.mma from those of A, B and C.

    All are `(registers, warps, 32)`. `target` ("sm_90") chooses whose tensor cores add; "" adds
    as precisely as float64 does. Raises `Unsupported` for sparse and block-scaled forms.
    """
    op = _parse(spelling)
    find = wmma_fragments if spelling.startswith("wmma") else mma_fragments
    in_a, in_b, in_c, out = find(op)
    core = tensor_core(target, op.types[1]) if target else None
    return out.pack(multiply(op, in_a.unpack(a), in_b.unpack(b), in_c.unpack(c), core))
