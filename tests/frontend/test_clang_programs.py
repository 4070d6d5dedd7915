"""CUB, libcu++ and Thrust in device code, compiled by way of clang, on the interpreter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nvir
from nvir.toolchain.find import available

pytestmark = [pytest.mark.slow, pytest.mark.skipif(
    not available("clang++", "CUDA's headers"), reason="no clang or no CUDA headers")]
SOURCES = Path(__file__).parent / "clang_sources"
IN = np.random.default_rng(3).integers(0, 1000, 512).astype(np.int32)
A = IN[:128]
FOUR = IN.reshape(128, 4)

CUB = {
    "block_sum": [A.sum()],
    "block_max_ranks": [A.max()],
    "block_commutative": [A.sum()],
    "block_sum_items": [IN.sum()],
    "block_sum_partial": [A[:77].sum()],
    "block_exclusive": np.cumsum(A) - A,
    "block_inclusive_items": np.cumsum(IN),
    "block_running_max": np.maximum.accumulate(A),
    "block_sort": np.sort(IN),
    "block_sort_pairs_down": np.argsort(-A, kind="stable"),
    "block_merge_sort": np.sort(IN),
    "block_load_store": IN * 10 + np.arange(512) % 4,
    "block_load_vector": np.where(np.arange(512) < 300, IN, -1).reshape(128, 4).T,
    "block_exchange": IN.reshape(4, 128).T,
    "block_histogram": np.bincount(IN & 15, minlength=16),
    "block_heads": np.r_[1, (A[1:] >> 8) != (A[:-1] >> 8)],
    "block_difference": np.r_[A[0], A[1:] - A[:-1]],
    "block_shuffle": np.roll(A, -3),
    "warp_sum": A.reshape(4, 32).sum(1),
    "warp_sum_of_eight": A.reshape(16, 8).sum(1),
    "warp_scan": np.cumsum(A.reshape(4, 32), 1),
    "warp_merge_sort": np.sort(IN.reshape(4, 128), 1),
}
LIBRARY = {
    "atomic_sum": [A.sum()],
    "atomic_max": [A.max()],
    "atomic_shared": [(A & 1).sum()],
    "barrier": A[::-1],
    "arrays": FOUR[:, 0] + 2 * FOUR[:, 3] + FOUR[:, 1:3].max(1),
    "complex_square": (A % 7) ** 2 - 4,
    "thrust_sort": np.sort(FOUR, 1),
    "thrust_reduce": FOUR.max(1),
    "thrust_scan": np.cumsum(FOUR, 1),
    "thrust_iterators": np.arange(128) ** 2 - A,
}


@pytest.fixture(scope="module")
def modules():
    return {name: nvir.compile_cuda(SOURCES / f"{name}.cu", "sm_80") for name in ("cub", "library")}


@pytest.mark.parametrize(("source", "kernel"), [
    *(("cub", k) for k in CUB), *(("library", k) for k in LIBRARY)])
def test_results(modules, source, kernel):
    wanted = np.ravel({**CUB, **LIBRARY}[kernel]).astype(np.int32)
    module = modules[source]
    out = np.zeros(len(wanted), np.int32)
    count = {"block_sum_partial": [np.int32(77)], "block_load_vector": [np.int32(300)]}
    nvir.launch(module, kernel, 1, 128, [IN.copy(), out, *count.get(kernel, [])])
    np.testing.assert_array_equal(out, wanted)
