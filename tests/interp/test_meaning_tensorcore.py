"""The tensor cores' sums against their definition in exact rationals, and their known traits."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from meaning_oracle import BIAS, DTYPE, FORMATS, INF, decode, encode, largest

from nvir.interp.meaning import matrix, tensorcore, wgmma


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def parts(code: int, name: str) -> tuple[Fraction, int]:
    """Signed significand and exponent, a subnormal having the least exponent."""
    e, m, _ = FORMATS[name]
    mag = code & ((1 << (e + m)) - 1)
    exponent = max(mag >> m, 1)
    sig = Fraction((mag & ((1 << m) - 1)) + (1 << m if mag >> m else 0), 1 << m)
    return (-sig if code >> (e + m) else sig), exponent - BIAS[name]


def trunc(x: Fraction) -> int:
    return int(x)  # towards zero


def oracle(fraction, length, kept, types, a, b, c) -> int:
    """One element: rows of codes `a` and `b`, code `c`."""
    dtype, atype, btype, ctype = types
    for first in range(0, len(a), length):
        if decode(c, ctype)[1] == INF:  # an earlier group overflowed
            return c
        terms = [parts(c, ctype)]
        for p, q in zip(a[first : first + length], b[first : first + length], strict=True):
            (sa, ea), (sb, eb) = parts(p, atype), parts(q, btype)
            terms.append((sa * sb, ea + eb))
        alive = [e for s, e in terms if s]
        top = max(alive, default=0)
        total = sum(trunc(s * Fraction(2) ** (e - top + fraction)) for s, e in terms)
        value = Fraction(total) * Fraction(2) ** (top - fraction)
        if dtype == "f16":
            c = encode(value, "f16")
        elif abs(value) >= Fraction(2) ** 128:
            c = (0x80000000 if value < 0 else 0) | 0x7F800000
        else:
            c = encode(value, "f32", "rz") & ~((1 << (23 - kept)) - 1)
        ctype = dtype
    return c


def codes(rng, name: str, shape) -> np.ndarray:
    """Finite codes near each other in exponent, with some zeros, subnormals and extremes."""
    e, m, _ = FORMATS[name]
    out = np.empty(shape, np.uint64)
    for i in range(out.size):
        pick = rng.random()
        if pick < 0.1:
            code = rng.choice((0, 1, (1 << m) - 1, largest(name), 1 << m))
        elif pick < 0.8:
            exponent = min(max(BIAS[name] + rng.randrange(-6, 7), 0), (largest(name) >> m) - 1)
            code = exponent << m | rng.getrandbits(m)
        else:
            code = rng.randrange(largest(name) + 1)
        out.flat[i] = code | rng.getrandbits(1) << (e + m)
    return out


def value(array: np.ndarray, name: str) -> np.ndarray:
    def one(code: int) -> float:
        sign, v = decode(int(code), name)
        return (-1.0) ** sign * float(v)

    return np.vectorize(one)(array)


CASES = [
    ("sm_70", "f16", "f32", 4), ("sm_75", "f16", "f32", 8), ("sm_75", "f16", "f16", 8),
    ("sm_80", "f16", "f32", 16), ("sm_80", "bf16", "f32", 16), ("sm_86", "f16", "f16", 16),
    ("sm_89", "e4m3", "f32", 32), ("sm_89", "e5m2", "f16", 32), ("sm_90", "f16", "f32", 16),
    ("sm_90", "e4m3", "f32", 32), ("sm_120", "e2m3", "f32", 32),
]


@pytest.mark.parametrize(("target", "type_", "dtype", "k"), CASES)
def test_sums_of_each_generation(target, type_, dtype, k):
    rng = random.Random(f"{target}{type_}{dtype}")
    core = tensorcore.tensor_core(target, type_)
    a, b = codes(rng, type_, (1, 8, k)), codes(rng, type_, (1, k, 8))
    c = codes(rng, dtype, (1, 8, 8))
    got = tensorcore.multiply(core, (dtype, type_, type_, dtype),
                              value(a, type_), value(b, type_), value(c, dtype))
    assert got.dtype == DTYPE[dtype]
    for i in range(8):
        for j in range(8):
            want = oracle(core.fraction, min(core.length, k), core.result,
                          (dtype, type_, type_, dtype), [int(v) for v in a[0, i]],
                          [int(v) for v in b[0, :, j]], int(c[0, i, j]))
            assert got[0, i, j] == want or (want & 0x7FFFFFFF == 0 and got[0, i, j] == 0)


def test_parameters_of_the_generations():
    find = tensorcore.tensor_core
    assert find("sm_70", "f16") == tensorcore.TensorCore(23, 4)
    assert find("sm_75", "f16") == tensorcore.TensorCore(24, 8)
    assert find("sm_86", "tf32") == tensorcore.TensorCore(24, 4)
    assert find("sm_89", "e4m3") == tensorcore.TensorCore(13, 16, 13)
    assert find("sm_90a", "bf16") == tensorcore.TensorCore(25, 16)
    assert find("sm_90a", "e5m2") == tensorcore.TensorCore(25, 32)
    assert find("sm_90a", "e5m2", warpgroup=True) == tensorcore.TensorCore(13, 32, 13)
    assert find("sm_100", "f16") == tensorcore.TensorCore(25, 16)


def dot(target: str, pairs: list[tuple[float, float]], c: float) -> float:
    """The first element of an m16n8k16 f16 product on a target."""
    spelling = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    fa, fb, fc, fd = matrix.mma_fragments(matrix.Product.parse(spelling))
    a, b = np.zeros((1, 16, 16), np.float16), np.zeros((1, 16, 8), np.float16)
    for k, (x, y) in enumerate(pairs):
        a[0, 0, k], b[0, k, 0] = x, y
    cc = np.full((1, 16, 8), c, np.float32).view(np.uint32)
    bits = [v.view(np.uint16).astype(np.uint32) for v in (a, b)]
    got = fd.unpack(matrix.mma(spelling, fa.pack(bits[0]), fb.pack(bits[1]), fc.pack(cc), target))
    return float(got[0, 0, 0].view(np.float32))


TINY = (2.0**-12, 2.0**-12)  # a product of 2^-24


def test_traits_that_tell_generations_apart():
    """Volta cuts below 2^-23 of the largest term, Ampere keeps one bit more, Hopper two."""
    assert dot("sm_70", [TINY] * 2, 1.0) == 1.0
    assert dot("sm_80", [TINY] * 2, 1.0) == 1.0 + 2.0**-23
    half = (2.0**-13, 2.0**-12)  # 2^-25
    assert dot("sm_80", [half] * 4, 1.0) == 1.0
    assert dot("sm_90", [half] * 4, 1.0) == 1.0 + 2.0**-23
    assert dot("sm_90", [TINY], 1.0) == 1.0  # the result is cut, not rounded to nearest even
    assert dot("sm_90", [(-v, w) for v, w in [TINY]], -1.0) == -1.0


def test_groups_are_added_in_turn():
    """Ampere adds eight products at a time: a small term in the second group meets the first's
    rounded sum; Hopper adds all sixteen at once."""
    pairs = [(1.0, 1.0), *[(0.0, 0.0)] * 7, *[TINY] * 2]
    assert dot("sm_80", pairs, 0.0) == dot("sm_90", pairs, 0.0) == 1.0 + 2.0**-23
    split = [TINY, (0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (0, 0), TINY]
    assert dot("sm_80", split, 1.0) == 1.0  # each group alone is cut
    assert dot("sm_90", split, 1.0) == 1.0 + 2.0**-23


def test_infinities_nans_and_overflow():
    assert dot("sm_80", [(np.inf, 1.0)], 1.0) == np.inf
    assert np.isnan(dot("sm_90", [(np.inf, 0.0)], 1.0))
    assert np.isnan(dot("sm_90", [(np.inf, 1.0)], -np.inf))
    unit = tensorcore.tensor_core("sm_90", "bf16")
    x, y = np.full((1, 1, 16), 2.0**127), np.full((1, 16, 1), 1.0)
    got = tensorcore.multiply(unit, ("f32", "bf16", "bf16", "f32"), x, y, np.zeros((1, 1, 1)))
    assert got.tolist() == [[[0x7F800000]]]  # an overflow is not cut back to the largest number
    assert dot("sm_80", [], 0.0) == 0.0


def test_wgmma_keeps_13_bits_of_fp8_sums():
    op = matrix.Product.parse("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3")
    one = 0x38
    a = np.full((1, 64, 32), one, np.uint32)
    b = np.full((1, 32, 8), one, np.uint32)
    fragment = wgmma.register_fragments(op)[1]
    c = np.full((1, 64, 8), np.float32(2**13 + 0.5).view(np.uint32), np.uint32)
    regs = wgmma.mma_async(op, a, b, wgmma.pack(fragment, c), accumulate=np.array([True]),
                           target="sm_90a")
    got = wgmma.unpack(fragment, regs).view(np.float32)
    assert (got == 2**13 + 32).all()


def test_small_integers_agree_with_the_wide_sum():
    rng = np.random.default_rng(0)
    spelling = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    fa, fb, fc, fd = matrix.mma_fragments(matrix.Product.parse(spelling))
    a, b = (rng.integers(-8, 9, s).astype(np.float16).view(np.uint16).astype(np.uint32)
            for s in ((3, 16, 16), (3, 16, 8)))
    c = rng.integers(-99, 99, (3, 16, 8)).astype(np.float32).view(np.uint32)
    regs = fa.pack(a), fb.pack(b), fc.pack(c)
    wide = fd.unpack(matrix.mma(spelling, *regs))
    for target in ("sm_70", "sm_80", "sm_90", "sm_120"):
        assert (fd.unpack(matrix.mma(spelling, *regs, target)) == wide).all()
