"""Fragments against the formulas of the PTX ISA, products against integer and numpy matrices."""

from __future__ import annotations

import numpy as np
import pytest
from meaning_oracle import decode

from nvir.interp.meaning import bind, fragments, matrix, wgmma
from nvir.ir.errors import Unsupported

WARPS = 2


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


# The formulas of 9.7.14.5, as the ISA states them: i is the index of the element in the fragment,
# g = laneid >> 2, t = laneid % 4.
ISA = {
    ("m16n8k8", "f16"): (
        lambda i, g, t: (g if i < 2 else g + 8, t * 2 + (i & 1)),
        lambda i, g, t: (t * 2 + i, g),
        4, 2,
    ),
    ("m16n8k16", "f16"): (
        lambda i, g, t: (g if i < 2 or 4 <= i < 6 else g + 8, t * 2 + (i & 1) + 8 * (i >= 4)),
        lambda i, g, t: (t * 2 + (i & 1) + (8 if i >= 2 else 0), g),
        8, 4,
    ),
    ("m16n8k4", "tf32"): (
        lambda i, g, t: (g + 8 * i, t), lambda i, g, t: (t, g), 2, 1,
    ),
    ("m16n8k8", "tf32"): (
        lambda i, g, t: (g if i in (0, 2) else g + 8, t + (4 if i >= 2 else 0)),
        lambda i, g, t: (t + 4 * i, g),
        4, 2,
    ),
    ("m8n8k4", "f64"): (lambda i, g, t: (g, t), lambda i, g, t: (t, g), 1, 1),
    ("m16n8k4", "f64"): (lambda i, g, t: (g + 8 * i, t), lambda i, g, t: (t, g), 2, 1),
    ("m16n8k8", "f64"): (
        lambda i, g, t: (g if i in (0, 2) else g + 8, t + (4 if i >= 2 else 0)),
        lambda i, g, t: (t + 4 * i, g),
        4, 2,
    ),
    ("m16n8k16", "f64"): (
        lambda i, g, t: (g, i * 2 + t) if i % 2 == 0 else (g + 8, i * 2 - 2 + t),
        lambda i, g, t: (t + i * 4, g),
        8, 4,
    ),
    ("m8n8k16", "s8"): (lambda i, g, t: (g, t * 4 + i), lambda i, g, t: (t * 4 + i, g), 4, 4),
    ("m8n8k32", "s4"): (lambda i, g, t: (g, t * 8 + i), lambda i, g, t: (t * 8 + i, g), 8, 8),
    ("m8n8k128", "b1"): (lambda i, g, t: (g, t * 32 + i), lambda i, g, t: (t * 32 + i, g), 32, 32),
    ("m16n8k16", "s8"): (
        lambda i, g, t: (g if i < 4 else g + 8, t * 4 + (i & 3)),
        lambda i, g, t: (t * 4 + i, g),
        8, 4,
    ),
    ("m16n8k32", "s4"): (
        lambda i, g, t: (g if i < 8 else g + 8, t * 8 + (i & 7)),
        lambda i, g, t: (t * 8 + (i & 7), g),
        16, 8,
    ),
    ("m16n8k32", "s8"): (
        lambda i, g, t: (g if i < 4 or 8 <= i < 12 else g + 8, t * 4 + (i & 3) + 16 * (i >= 8)),
        lambda i, g, t: (t * 4 + (i & 3) + 16 * (i >= 4), g),
        16, 8,
    ),
    ("m16n8k64", "s4"): (
        lambda i, g, t: (g if i < 8 or 16 <= i < 24 else g + 8, t * 8 + (i & 7) + 32 * (i >= 16)),
        lambda i, g, t: (t * 8 + (i & 7) + 32 * (i >= 8), g),
        32, 16,
    ),
    ("m16n8k128", "b1"): (
        lambda i, g, t: (g if i < 32 else g + 8, t * 32 + (i & 31)),
        lambda i, g, t: (t * 32 + i, g),
        64, 32,
    ),
    ("m16n8k256", "b1"): (
        lambda i, g, t: (
            g if i < 32 or 64 <= i < 96 else g + 8, t * 32 + (i & 31) + 128 * (i >= 64)
        ),
        lambda i, g, t: (t * 32 + (i & 31) + 128 * (i >= 32), g),
        128, 64,
    ),
}


def check_fragment(fragment, formula, count):
    """Element i of every lane lies where the formula says; all elements appear once."""
    per = fragment.row.shape[2]
    assert fragment.registers * per == count
    seen = set()
    for lane in range(32):
        for i in range(count):
            place = (
                fragment.row[i // per, lane, i % per],
                fragment.column[i // per, lane, i % per],
            )
            assert place == formula(i, lane >> 2, lane & 3), (lane, i)
            seen.add(place)
    assert len(seen) == fragment.shape[0] * fragment.shape[1]


@pytest.mark.parametrize("key", ISA, ids="-".join)
def test_mma_multiplicands(key):
    shape, type_ = key
    formula_a, formula_b, count_a, count_b = ISA[key]
    m, n, k = (int(v) for v in shape[1:].replace("n", " ").replace("k", " ").split())
    check_fragment(fragments.multiplicand_a(m, k, type_), formula_a, count_a)
    check_fragment(fragments.multiplicand_b(k, n, type_), formula_b, count_b)


@pytest.mark.parametrize("type_", ["f32", "f16", "s32", "f64"])
def test_mma_accumulators(type_):
    check_fragment(fragments.accumulator(16, 8, type_),
                   lambda i, g, t: (g if i < 2 else g + 8, t * 2 + (i & 1)), 4)
    check_fragment(fragments.accumulator(8, 8, type_), lambda i, g, t: (g, t * 2 + i), 2)


def test_m8n8k4_of_halves():
    """Four matrices in quad pairs; the formulas of 9.7.14.5.1."""
    for lane in range(32):
        high, quad = 4 * (lane >= 16), lane % 16 // 4
        for i in range(4):
            places = {
                "a.row": (lane % 4 + high, i), "a.col": (i % 4 + high, lane % 4),
                "b.row": (lane % 4, i + high), "b.col": (i, lane % 4 + high),
            }
            for name, want in places.items():
                role, layout = name.split(".")
                f = (fragments.quad_a if role == "a" else fragments.quad_b)(layout)
                assert (f.row[i // 2, lane, i % 2], f.column[i // 2, lane, i % 2]) == want
                assert f.part[i // 2, lane, i % 2] == quad
        for i in range(8):
            f = fragments.quad_accumulator("f16")
            assert (f.row[i // 2, lane, i % 2], f.column[i // 2, lane, i % 2]) == (
                lane % 4 + high, i,
            )
            f = fragments.quad_accumulator("f32")
            row = (lane & 1) + (i & 2) + high
            assert (f.row[i, lane, 0], f.column[i, lane, 0]) == (
                row, (i & 4) + (lane & 2) + (i & 1),
            )


# --- products -------------------------------------------------------------------------------


def random_codes(shape, type_, seed=0):
    """Codes of small exactly representable values, and their values as integers or floats."""
    rng = np.random.default_rng(seed)
    if type_ == "b1":
        v = rng.integers(0, 2, shape)
        return v.astype(np.uint32), v
    if type_ in ("u8", "s8", "u4", "s4", "s32"):
        bits = 20 if type_ == "s32" else int(type_[1:])
        low = 0 if type_[0] == "u" else -(1 << (bits - 1))
        v = rng.integers(low, low + (1 << bits), shape)
        mask = (1 << (32 if type_ == "s32" else bits)) - 1
        return (v & mask).astype(np.uint32), v
    if type_ == "f64":
        v = rng.standard_normal(shape)
        return v.view(np.uint64), v
    v = rng.integers(-4, 5, shape).astype(np.float64)
    if type_ in ("f16", "f32", "bf16", "tf32"):
        f32 = v.astype(np.float32).view(np.uint32)
        codes = {
            "f32": f32, "tf32": f32 | np.uint32(0x1FFF), "bf16": f32 >> np.uint32(16),
            "f16": v.astype(np.float16).view(np.uint16).astype(np.uint32),
        }[type_]
        return codes, v
    width = {"e4m3": 8, "e5m2": 8, "e2m3": 6, "e3m2": 6, "e2m1": 4}[type_]
    table = [decode(c, type_) for c in range(1 << width)]
    finite = [c for c, (_, x) in enumerate(table) if not isinstance(x, str) and abs(x) <= 8]
    codes = rng.choice(finite, shape)
    v = np.vectorize(lambda c: float(table[c][1]) * (-1) ** table[c][0])(codes)
    return (codes << 2 if type_ == "e2m1" else codes).astype(np.uint32), v


MMA = [
    "m8n8k4.row.col.f32.f16.f16.f32", "m8n8k4.col.row.f32.f16.f16.f32",
    "m8n8k4.col.col.f16.f16.f16.f16", "m8n8k4.row.row.f32.f16.f16.f16",
    "m16n8k8.row.col.f16.f16.f16.f16", "m16n8k16.row.col.f32.f16.f16.f32",
    "m16n8k16.row.col.f16.f16.f16.f16", "m16n8k8.row.col.f32.bf16.bf16.f32",
    "m16n8k16.row.col.f32.bf16.bf16.f32", "m16n8k4.row.col.f32.tf32.tf32.f32",
    "m16n8k8.row.col.f32.tf32.tf32.f32", "m16n8k32.row.col.f32.e4m3.e5m2.f32",
    "m16n8k16.row.col.f16.e5m2.e4m3.f16", "m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32",
    "m16n8k32.row.col.kind::f8f6f4.f32.e2m3.e4m3.f32", "m8n8k16.row.col.s32.u8.s8.s32",
    "m16n8k16.row.col.s32.s8.s8.s32", "m16n8k32.row.col.s32.s8.u8.s32",
    "m8n8k32.row.col.s32.s4.u4.s32", "m16n8k32.row.col.s32.u4.u4.s32",
    "m16n8k64.row.col.s32.s4.s4.s32", "m8n8k128.row.col.s32.b1.b1.s32.xor.popc",
    "m16n8k128.row.col.s32.b1.b1.s32.and.popc", "m16n8k256.row.col.s32.b1.b1.s32.xor.popc",
]


@pytest.mark.parametrize("tail", MMA)
def test_mma_of_exact_values(tail):
    spelling = "mma.sync.aligned." + tail
    op = matrix.Product.parse(spelling)
    fa, fb, fc, fd = matrix.mma_fragments(op)
    quads = (4,) if fa.part is not None else ()
    a, va = random_codes((WARPS, *quads, op.m, op.k), op.types[1], 1)
    b, vb = random_codes((WARPS, *quads, op.k, op.n), op.types[2], 2)
    c, vc = random_codes((WARPS, *quads, op.m, op.n), op.types[3], 3)
    got = fd.unpack(matrix.mma(spelling, fa.pack(a), fb.pack(b), fc.pack(c)))
    if op.types[1] == "b1":
        function = np.logical_xor if op.bit_op == "xor" else np.logical_and
        want = function(va[..., :, :, None], vb[..., None, :, :]).sum(-2) + vc
    else:
        want = va @ vb + vc
    if op.types[0] == "s32":
        assert (got.view(np.int32) == want).all()
    else:
        dtype = np.float16 if op.types[0] == "f16" else np.float32
        bits = want.astype(dtype).view(np.uint16 if dtype == np.float16 else np.uint32)
        assert (got == bits).all()


def test_satfinite_clamps_and_else_wraps():
    for mod, want in ((".satfinite", 2**31 - 1), ("", 2**31 - 1 + 16 * 127 * 127 - 2**32)):
        spelling = f"mma.sync.aligned.m8n8k16.row.col{mod}.s32.s8.s8.s32"
        fa, fb, fc, fd = matrix.mma_fragments(matrix.Product.parse(spelling))
        a = np.full((1, 8, 16), 127, np.uint32)
        b = np.full((1, 16, 8), 127, np.uint32)
        c = np.full((1, 8, 8), 2**31 - 1, np.uint32)
        got = fd.unpack(matrix.mma(spelling, fa.pack(a), fb.pack(b), fc.pack(c)))
        assert (got.view(np.int32) == want).all()


@pytest.mark.parametrize("rnd", ["", ".rz", ".rm", ".rp"])
def test_doubles_are_chains_of_fma(rnd):
    spelling = f"mma.sync.aligned.m16n8k8.row.col{rnd}.f64.f64.f64.f64"
    op = matrix.Product.parse(spelling)
    fa, fb, fc, fd = matrix.mma_fragments(op)
    a, b, c = (random_codes(s, "f64", i)[0]
               for i, s in enumerate(((1, 16, 8), (1, 8, 8), (1, 16, 8))))
    got = fd.unpack(matrix.mma(spelling, fa.pack(a), fb.pack(b), fc.pack(c)))
    fma = bind(f"fma{rnd or '.rn'}.f64")
    want = c[0].copy()
    for k in range(8):
        want = fma(a[0][:, k, None], b[0][None, k, :], want)
    assert (got[0] == want).all()


def test_float_sums_round_once():
    """2^24 + 1 + 1 is exact in the wide sum, though a chain of f32 additions would lose it."""
    spelling = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    fa, fb, fc, fd = matrix.mma_fragments(matrix.Product.parse(spelling))
    one = int(np.float16(1).view(np.uint16))
    a = np.zeros((1, 16, 16), np.uint32)
    a[..., :2] = one
    b = np.full((1, 16, 8), one, np.uint32)
    c = np.full((1, 16, 8), np.float32(2**24).view(np.uint32), np.uint32)
    got = fd.unpack(matrix.mma(spelling, fa.pack(a), fb.pack(b), fc.pack(c)))
    assert (got.view(np.float32) == 2**24 + 2).all()


WMMA = [
    ("m16n16k16", "f16", "f32", 8, 8), ("m8n32k16", "f16", "f32", 8, 8),
    ("m32n8k16", "f16", "f16", 8, 8), ("m16n16k16", "bf16", "f32", 4, 4),
    ("m8n32k16", "bf16", "f32", 2, 8), ("m32n8k16", "bf16", "f32", 8, 2),
    ("m16n16k8", "tf32", "f32", 4, 4), ("m8n8k4", "f64", "f64", 1, 1),
    ("m16n16k16", "s8", "s32", 2, 2), ("m8n32k16", "u8", "s32", 1, 4),
    ("m32n8k16", "u8", "s32", 4, 1), ("m8n8k32", "s4", "s32", 1, 1),
    ("m8n8k128", "b1", "s32", 1, 1),
]


@pytest.mark.parametrize(("shape", "type_", "acc", "regs_a", "regs_b"), WMMA)
def test_wmma_registers_and_products(shape, type_, acc, regs_a, regs_b):
    """Register counts are those of 9.7.14.4.1, and load, mma and store agree."""
    types = f"{acc}.{acc}" if type_ == "f16" else f"{acc}.{type_}.{type_}.{acc}"
    bit = ".and.popc" if type_ == "b1" else ""
    spelling = f"wmma.mma{bit}.sync.aligned.row.col.{shape}.{types}"
    op = matrix.Product.parse(spelling)
    assert op.types == (acc, type_, type_, acc)
    fa, fb, fc, fd = matrix.wmma_fragments(op)
    assert (fa.registers, fb.registers) == (regs_a, regs_b)
    assert fc.registers == op.m * op.n // 32 // (2 if acc == "f16" else 1)
    a, va = random_codes((WARPS, op.m, op.k), type_, 1)
    b, vb = random_codes((WARPS, op.k, op.n), type_, 2)
    c, vc = random_codes((WARPS, op.m, op.n), acc, 3)
    got = fd.unpack(matrix.mma(spelling, fa.pack(a), fb.pack(b), fc.pack(c)))
    want = va @ vb + vc
    if acc == "s32":
        assert (got.view(np.int32) == want).all()
    elif acc == "f64":
        assert np.allclose(got.view(np.float64), want)
    else:
        dtype = np.float16 if acc == "f16" else np.float32
        assert (got == want.astype(dtype).view(f"u{np.dtype(dtype).itemsize}")).all()


SASS = [  # what wmma.load of sm_80 reads: byte offsets of the registers from lane 0's address, and
    # the place of lane (g, t) in elements, from the code of ptxas 13.0
    ("c", "m16n16k16", "f32", "row", 16, (0, 4, 512, 516, 32, 36, 544, 548), (16, 2)),
    ("a", "m16n16k16", "f16", "row", 16, (0, 256, 16, 272) * 2, (16, 2)),
    ("b", "m16n16k16", "f16", "col", 16, (0, 16, 256, 272) * 2, (16, 2)),
    ("a", "m16n16k16", "s8", "row", 16, (0, 128), (16, 4)),
    ("a", "m16n16k8", "tf32", "row", 8, (0, 256, 16, 272), (8, 1)),
    ("b", "m16n16k8", "tf32", "col", 8, (0, 16, 256, 272), (8, 1)),
    ("c", "m16n16k16", "f16", "row", 16, (0, 256, 16, 272), (16, 2)),
    ("c", "m32n8k16", "f32", "row", 8, (0, 4, 256, 260, 512, 516, 768, 772), (8, 2)),
    ("a", "m32n8k16", "f16", "row", 16, (0, 256, 16, 272, 512, 768, 528, 784), (16, 2)),
    ("b", "m32n8k16", "f16", "col", 16, (0, 16) * 4, (16, 2)),
    ("a", "m32n8k16", "s8", "row", 16, (0, 128, 256, 384), (16, 4)),
    ("c", "m8n32k16", "f32", "row", 32, (0, 128, 32, 160, 64, 192, 96, 224), (1, 64)),
    ("b", "m8n32k16", "f16", "col", 16, (0, 256, 16, 272, 512, 768, 528, 784), (16, 2)),
    ("a", "m8n32k16", "f16", "row", 16, (0, 16) * 4, (16, 2)),
]


@pytest.mark.parametrize(("role", "shape", "type_", "layout", "stride", "places", "step"), SASS)
def test_wmma_layout_is_that_of_sm_80(role, shape, type_, layout, stride, places, step):
    m, n, k = (int(v) for v in shape[1:].replace("n", " ").replace("k", " ").split())
    f = fragments.wmma(role, m, n, k, type_)
    at = fragments.offsets(f, layout, stride)[:, :, 0] * fragments.ELEMENT_BITS[type_] // 8
    assert at[:, 0].tolist() == list(places)
    for lane in range(32):
        start = (lane >> 2) * step[0] + (lane & 3) * step[1]
        assert at[0, lane] == start * fragments.ELEMENT_BITS[type_] // 8


def test_memory_offsets_follow_layout_and_stride():
    f = fragments.wmma("a", 16, 16, 16, "f16")
    matrix_ = np.arange(16 * 20).reshape(16, 20)
    assert (matrix_.ravel()[fragments.offsets(f, "row", 20)] == matrix_[f.row, f.column]).all()
    assert (matrix_.T.ravel()[fragments.offsets(f, "col", 16)] == matrix_[f.row, f.column]).all()


@pytest.mark.parametrize(
    "spelling",
    ["mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
     "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
     "mma.sync.aligned.row.col.f32.f16.f16.f32"],
)
def test_unsupported_products_are_named(spelling):
    with pytest.raises(Unsupported, match="mma"):
        matrix.Product.parse(spelling)


# --- ldmatrix, movmatrix --------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_ldmatrix(count, transposed):
    """Lane 4 g + t gets elements 2 t and 2 t + 1 of row g (.trans: column g) of each matrix."""
    rows = fragments.matrix_rows(count, transposed)
    memory = np.arange(count * 64, dtype=np.uint16)  # matrices one after another, rows of 16 bytes
    start = np.arange(32) * 16  # the row address that each lane provides
    where = (start[rows.address] + rows.offset) // 2
    for r in range(count):
        m = memory[r * 64 : r * 64 + 64].reshape(8, 8)
        m = m.T if transposed else m
        for lane in range(32):
            g, t = lane >> 2, lane & 3
            assert memory[where[r, lane]].tolist() == m[g, 2 * t : 2 * t + 2].tolist()
    assert rows.bytes == 2
    assert rows.address.shape == (count, 32, 2)


def test_movmatrix_transposes():
    m = np.arange(64, dtype=np.uint32).reshape(1, 8, 8)
    fragment = fragments.accumulator(8, 8, "f16")
    got = fragments.movmatrix(fragment.pack(m)[0])
    assert (fragment.unpack(got[None])[0] == m[0].T).all()


# --- wgmma ----------------------------------------------------------------------------------


def test_wgmma_accumulator_layout():
    """Rows 16 w + g and + 8, columns 8 (i / 4) + 2 t: the figure of 9.7.15.5.1.1."""
    op = matrix.Product.parse("wgmma.mma_async.sync.aligned.m64n24k16.f32.f16.f16")
    codes = np.arange(64 * 24, dtype=np.uint32).reshape(1, 64, 24)
    regs = wgmma.pack(wgmma.register_fragments(op)[1], codes)
    assert regs.shape == (12, 1, 128)
    for thread in range(128):
        w, g, t = thread // 32, thread % 32 >> 2, thread & 3
        for i in range(12):
            row = 16 * w + g + 8 * (i >> 1 & 1)
            assert regs[i, 0, thread] == codes[0, row, 8 * (i // 4) + 2 * t + (i & 1)]


@pytest.mark.parametrize(
    "tail", ["m64n16k16.f32.f16.f16", "m64n8k16.f16.f16.f16", "m64n8k8.f32.tf32.tf32",
             "m64n32k32.s32.s8.u8", "m64n8k32.f32.e4m3.e5m2", "m64n8k16.f32.bf16.bf16"],
)
def test_wgmma_products(tail):
    op = matrix.Product.parse("wgmma.mma_async.sync.aligned." + tail)
    fa, fd = wgmma.register_fragments(op)
    a, va = random_codes((2, 64, op.k), op.types[1], 1)
    b, vb = random_codes((2, op.k, op.n), op.types[2], 2)
    d, vd = random_codes((2, 64, op.n), op.types[0], 3)
    assert (wgmma.unpack(fa, wgmma.pack(fa, a)) == a).all()
    got = wgmma.mma_async(op, a, b, wgmma.pack(fd, d), accumulate=np.array([True, False]),
                          negate_a=op.types[0] != "s32")
    want = (-va if op.types[0] != "s32" else va) @ vb + vd * np.array([1, 0])[:, None, None]
    codes = wgmma.unpack(fd, got)
    if op.types[0] == "s32":
        assert (codes.view(np.int32) == want).all()
    else:
        dtype = np.float16 if op.types[0] == "f16" else np.float32
        assert (codes == (want + 0.0).astype(dtype).view(f"u{np.dtype(dtype).itemsize}")).all()


def descriptor(start, leading, stride, mode, base=0):
    return wgmma.Descriptor.decode(
        (start >> 4) | (leading >> 4) << 16 | (stride >> 4) << 32 | base << 49 | mode << 62
    )


def cute(shape, stride):
    """All offsets of a CuTe layout with nested shape, first index fastest, as a 2-D array."""

    def column(s, d):  # first index fastest
        out = [0]
        for extent, step in zip(s, d, strict=True):
            out = [x + k * step for k in range(extent) for x in out]
        return out

    return np.add.outer(column(shape[0], stride[0]), column(shape[1], stride[1]))


def swizzled(addresses, bits):
    return addresses ^ ((addresses >> 7 & ((1 << bits) - 1)) << 4)


@pytest.mark.parametrize(
    ("size", "k_major", "mode", "lead", "stride", "shape", "steps", "bits"),
    [
        # The worked examples of 9.7.15.5.1.2.1.3; offsets there are in elements.
        (4, True, 0, 256, 128, ((8, 2), (4, 4)), ((4, 32), (1, 64)), 0),
        (4, True, 3, 16, 256, ((8, 2), (4, 4)), ((8, 64), (1, 4)), 1),
        (2, False, 0, 256, 128, ((8, 1, 2), (8, 2)), ((1, 8, 64), (8, 128)), 0),
        (2, False, 3, 256, 512, ((8, 2, 2), (8, 2)), ((1, 8, 128), (16, 256)), 1),
        (2, False, 2, 512, 1024, ((8, 4, 2), (8, 2)), ((1, 8, 256), (32, 512)), 2),
    ],
)
def test_descriptor_layouts(size, k_major, mode, lead, stride, shape, steps, bits):
    want = cute(shape, steps) * size
    d = descriptor(0, lead, stride, mode)
    got = d.addresses(*want.shape, size, k_major=k_major)
    assert (got == swizzled(want, bits)).all()


def test_descriptor_128_byte_swizzle():
    """Row r of an 8-row atom has its eight 16-byte pieces exchanged by r."""
    d = descriptor(1024, 16, 1024, 1)
    got = d.addresses(16, 16, 2, k_major=True)
    for r in range(16):
        for y in range(16):
            want = 1024 + r // 8 * 1024 + r % 8 * 128 + ((y // 8) ^ (r % 8)) * 16 + y % 8 * 2
            assert got[r, y] == want
    later = descriptor(1024 + 32, 16, 1024, 1).addresses(8, 16, 2, k_major=True)
    assert later[3, 0] == 1024 + 3 * 128 + ((2 ^ 3) * 16)  # the second step along K


def test_bits_of_a_single_bit_matrix():
    assert wgmma.bits_of_bytes(np.array([[0x05]], np.uint32)).tolist() == [[1, 0, 1, 0, 0, 0, 0, 0]]


@pytest.mark.parametrize("count", [7, 8, 9])
def test_a_fragment_has_its_number_of_registers(count):
    fragment = fragments.wmma("a", 16, 16, 16, "f16")
    regs = np.zeros((count, 1, 32), np.uint32)
    if count == fragment.registers:
        assert fragment.unpack(regs).shape == (1, 16, 16)
    else:
        with pytest.raises(Unsupported, match=f"{count} registers for a fragment of 8"):
            fragment.unpack(regs)
