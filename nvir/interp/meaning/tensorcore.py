# mypy: disable-error-code="no-any-return"
"""How tensor cores add floating-point products, bit for bit, by architecture.

PTX leaves order and rounding of mma's sums open. The hardware works on groups of `length`
products and the accumulator at once: all are aligned to the largest exponent among them, each is
cut to `fraction` bits below it, the cut terms are added exactly, and the sum is converted to the
accumulator's format, to f32 by cutting, to f16 to the nearest. A longer K goes group by group.

    sum = 2^E * sum of trunc(s_i * 2^(e_i - E + F)) / 2^F      E = max e_i over terms that are not 0

where a product's s is the product of the significands (1 <= s < 4, not normalised; less for
subnormals) and its e the sum of the exponents. FP8 on Ada, and in wgmma, keeps 13 bits throughout.

Source   Xie, Wang, Yang, Yang, "MMA-Sim: Bit-Accurate Reference Model of Tensor Cores and Matrix
         Cores", arXiv 2511.10909, 2025, and its parameters (github.com/microsoft/MMA-Sim), which
         the authors compared with hardware; Fasi et al., "Numerical behavior of NVIDIA tensor
         cores", PeerJ CS 7:e330, 2021. nvir's own code; not checked on hardware here.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import attrs
import numpy as np

from nvir.interp.meaning.lanes import Lanes, some
from nvir.interp.meaning.rounding import FORMATS, round_to

_FP8 = ("e4m3", "e5m2")


@attrs.frozen
class TensorCore:
    """Kept fraction bits of a term, products added at once, and fraction bits of an f32 result."""

    fraction: int
    length: int
    result: int = 23


# First sm of each generation: fraction bits, bytes of A's row that are added at once.
_GENERATIONS = ((70, 23, 8), (75, 24, 16), (90, 25, 32))
_ADA = range(89, 90)


def tensor_core(target: str, type_: str, *, warpgroup: bool = False) -> TensorCore:
    """The unit of a target ("sm_86", "sm_90a") for multiplicands of `type_`.

    Targets before sm_70, which have none, count as sm_70. `warpgroup` is for wgmma.
    """
    found = re.search(r"\d+", target)
    sm = int(found[0]) if found else 80
    fraction, size = next(
        (f, size) for first, f, size in reversed(_GENERATIONS) if sm >= first or first == 70
    )
    width = {"tf32": 4, "f16": 2, "bf16": 2}.get(type_, 1)
    if type_ in _FP8 and (warpgroup or sm in _ADA):
        return TensorCore(13, size // width, 13)
    return TensorCore(fraction, size // width)


def _significand(values: Lanes, type_: str) -> tuple[Lanes, Lanes]:
    """Signed significand (1 to 2, less for subnormals) and exponent (int64) of exact values."""
    _, exponent = np.frexp(values)
    lowest = 1 - FORMATS[type_].bias
    exponent = np.maximum(exponent.astype(np.int64) - 1, lowest)
    return np.ldexp(values, -exponent), exponent


_NONE = np.int64(-(1 << 20))  # the exponent of a zero: never the largest


def _group(core: TensorCore, s: Lanes, e: Lanes) -> Lanes:
    """The exact float64 value of the sum of cut terms, given as significands and exponents with
    the terms along the last axis."""
    largest = np.where(s == 0, _NONE, e).max(-1, keepdims=True)
    cut = np.trunc(np.ldexp(s, np.maximum(e - largest + core.fraction, -64)))
    return np.ldexp(cut.sum(-1), np.maximum(largest[..., 0], -400) - core.fraction)


def _result(core: TensorCore, total: Lanes, dtype: str) -> Lanes:
    """The accumulator's code of a group's sum."""
    if dtype == "f16":
        return round_to(total, "f16")
    bits = round_to(total, "f32", "rz")
    bits = bits & np.uint32(~((1 << (23 - core.result)) - 1) & 0xFFFFFFFF)
    over = np.abs(total) >= 2.0**128  # cutting does not keep an overflow finite
    if some(over):
        sign = np.where(total < 0, np.uint32(0xFF800000), np.uint32(0x7F800000))
        bits = np.where(over, sign, bits)
    return bits


def multiply(
    core: TensorCore, types: tuple[str, str, str, str], x: Lanes, y: Lanes, c: Lanes
) -> Lanes:
    """Codes of D `(..., m, n)` from exact values of A `(..., m, k)`, B `(..., k, n)`, C.

    `types` are those of D, A, B and C, in PTX's order; D's is f16 or f32.
    """
    dtype, atype, btype, ctype = types
    sx, ex = _significand(x, atype)
    sy, ey = _significand(np.swapaxes(y, -1, -2), btype)
    y = np.swapaxes(y, -1, -2)
    bits: Lanes = np.zeros(1, np.uint16)
    for first in range(0, x.shape[-1], core.length):
        k = slice(first, first + core.length)
        sc, ec = _significand(c, ctype)
        s = np.concatenate([_outer(np.multiply, sx, sy, k), sc[..., None]], -1)
        e = np.concatenate([_outer(np.add, ex, ey, k), ec[..., None]], -1)
        plain = _outer(np.multiply, x, y, k).sum(-1) + c  # for infinities and NaNs
        bits = _result(core, np.where(np.isfinite(plain), _group(core, s, e), plain), dtype)
        c = bits.view(np.float16 if dtype == "f16" else np.float32).astype(np.float64)
        ctype = dtype
    return bits


def _outer(function: Callable[[Lanes, Lanes], Lanes], x: Lanes, y: Lanes, k: slice) -> Lanes:
    """`(..., m, n, k)` from `(..., m, k)` and `(..., n, k)`."""
    return function(x[..., :, None, k], y[..., None, :, k])
