"""mma.sp against a dense product in numpy, its metadata packed as the ISA's figures show."""

from __future__ import annotations

import numpy as np
import pytest

import nvir
from nvir.interp.meaning import fragments, sparse
from nvir.interp.meaning.matrix import values
from nvir.ir.errors import Unsupported

SHAPES = [
    ("m16n8k16.row.col.f32.f16.f16.f32", 1), ("m16n8k32.row.col.f16.f16.f16.f16", 2),
    ("m16n8k32.row.col.f32.bf16.bf16.f32", 2), ("m16n8k8.row.col.f32.tf32.tf32.f32", 1),
    ("m16n8k16.row.col.f32.tf32.tf32.f32", 2), ("m16n8k32.row.col.s32.s8.u8.s32", 2),
    ("m16n8k64.row.col.s32.s8.s8.s32", 4), ("m16n8k64.row.col.s32.u4.s4.s32", 2),
    ("m16n8k128.row.col.s32.s4.s4.s32", 4), ("m16n8k64.row.col.f32.e4m3.e5m2.f32", 4),
]
SMALL = {"f16": [0, 0x3C00, 0xC000, 0x4200], "bf16": [0, 0x3F80, 0xC000, 0x4040],
         "tf32": [0, 0x3F800000, 0xC0000000, 0x40400000], "e4m3": [0, 0x38, 0xC0, 0x44],
         "e5m2": [0, 0x3C, 0xC0, 0x42]}


def codes(rng: np.random.Generator, type_: str, shape: tuple[int, ...]) -> np.ndarray:
    """Random elements whose sums are exact in every format."""
    if type_ in SMALL:
        return np.array(SMALL[type_], np.uint32)[rng.integers(0, 4, shape)]
    return rng.integers(0, 1 << int(type_[1:]), shape).astype(np.uint32)


def nibbles(rng: np.random.Generator, type_: str, chunks: int) -> np.ndarray:
    """Metadata of 16 rows, by chunk."""
    pairs = [lo | hi << 2 for lo in range(4) for hi in range(lo + 1, 4)]
    allowed = [0b0100, 0b1110] if type_ == "tf32" else pairs
    return np.array(allowed)[rng.integers(0, len(allowed), (16, chunks))]


@pytest.mark.parametrize(("shape", "lanes"), SHAPES)
@pytest.mark.parametrize("name", ["mma.sp", "mma.sp::ordered_metadata"])
def test_the_dense_product_of_what_the_metadata_says(name: str, shape: str, lanes: int) -> None:
    spelling = f"{name}.sync.aligned.{shape}"
    op = sparse.parse(spelling)
    dtype, atype, btype, ctype = op.types
    rng = np.random.default_rng(op.k)
    chunk = {"tf32": 2, "u4": 8, "s4": 8}.get(atype, 4)
    slot = 2 if chunk == 8 else 1
    meta = nibbles(rng, atype, op.k // chunk)
    stored = codes(rng, atype, (1, 16, op.k // 2))
    b, c = codes(rng, btype, (1, op.k, 8)), np.zeros((1, 16, 8), np.uint32)
    a = np.zeros((1, 16, op.k), stored.dtype)
    for row in range(16):
        for j in range(op.k // chunk):
            n = int(meta[row, j])
            indices = [(n & 3) >> 1] if chunk == 2 else [n & 3, n >> 2]
            for which, index in enumerate(indices):
                for k in range(slot):
                    place = j * chunk + index * slot + k
                    a[0, row, place] = stored[0, row, j * (chunk // 2) + which * slot + k]
    expected = values(a, atype).astype(np.float64) @ values(b, btype).astype(np.float64)
    for selector in range(4 // lanes):
        words = rng.integers(0, 1 << 32, (1, 32), np.uint64).astype(np.uint32)  # unread lanes
        _place(words, meta, lanes, selector, atype)
        d = sparse.mma(
            spelling, fragments.multiplicand_a(16, op.k // 2, atype).pack(stored),
            fragments.multiplicand_b(op.k, 8, btype).pack(b),
            fragments.accumulator(16, 8, ctype).pack(c), words, selector, "sm_90",
        )
        got = values(fragments.accumulator(16, 8, dtype).unpack(d), dtype)
        np.testing.assert_array_equal(got, expected)


def _place(words: np.ndarray, meta: np.ndarray, lanes: int, selector: int, atype: str) -> None:
    """Put nibbles into the lanes: rows g and g + 8 share words of 16-bit types, and alternate
    between the words of narrower ones."""
    first = selector * lanes
    for row in range(16):
        line = sum(int(n) << 4 * j for j, n in enumerate(meta[row]))
        lane = 4 * (row % 8) + first
        for k in range(lanes if atype in ("f16", "bf16", "tf32") else lanes // 2):
            if atype in ("f16", "bf16", "tf32"):
                at, part, shift, mask = lane + k, line >> 16 * k & 0xFFFF, 16 * (row // 8), 0xFFFF
            else:
                at, part, shift, mask = lane + 2 * k + row // 8, line >> 32 * k, 0, 0xFFFFFFFF
            old = int(words[0, at]) & ~(mask << shift)
            words[0, at] = old | (part & mask) << shift


def test_a_kernel_with_mma_sp() -> None:
    text = """.version 8.5\n.target sm_80\n.address_size 64
    .visible .entry k(.param .u64 o) { .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<4>;
    ld.param.u64 %d0, [o]; mov.u32 %r0, 0x3C003C00; mov.u32 %r1, 0x44444444;
    mov.f32 %f0, 0f00000000;
    mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4},
      {%r0, %r0}, {%r0, %r0}, {%f0, %f0, %f0, %f0}, %r1, 0x0;
    mov.u32 %r2, %tid.x; mul.wide.u32 %d1, %r2, 16; add.u64 %d0, %d0, %d1;
    st.global.v4.f32 [%d0], {%f1, %f2, %f3, %f4}; ret; }"""
    out = np.zeros((32, 4), np.float32)
    nvir.launch(nvir.read_ptx(text), "k", 1, 32, [out])
    assert (out == 8).all()


def test_a_selector_that_there_is_not() -> None:
    op = sparse.parse("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32")
    with pytest.raises(Unsupported, match="selector 2"):
        sparse.columns(op, np.zeros((1, 32), np.uint32), 2)
