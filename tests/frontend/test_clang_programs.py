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


def _affine():
    """Functions x -> a x + b, one after the other."""
    a, b, made = 1, 0, []
    for x in A.tolist():
        factor = x % 3 + 1
        a, b = (a * factor + 2**31) % 2**32 - 2**31, (factor * b + x % 5 + 2**31) % 2**32 - 2**31
        made.append(a * 2 + b)
    return np.array([*made, b]).astype(np.uint32)


def _best():
    for w, row in enumerate(A.reshape(4, 32)):
        yield w * 32 + row.argmax()
        yield row.max()


def _segments():
    for i in range(128):
        ends = [j for j in range(i + 1, 129) if j % 8 == 0 or A[j] < 100]
        yield A[i : ends[0]].sum() if i % 8 == 0 or A[i] < 100 else -1


def _atomics():
    most = max((x << 32) | i for i, x in enumerate(A.tolist()))
    return [A.sum(), most >> 32, most & 0xFFFFFFFF, np.bitwise_or.reduce(A & 0x155), -256]


def _optionals():
    for row in FOUR.tolist():
        low, high = sorted((row[0], row[3]))
        yield sum(-x if x & 1 else x // 2 for x in row) + 1000 * (low % 2 == 0) + high % 7


def _variants():
    for x in A.tolist():
        yield (x, x * 2, x * (x + 1))[x % 3] + x.bit_count() + x % 3 * 10000


def _ranks():
    for t in range(128):
        keys = [IN[(t * 4 + k) % 512] for k in range(8)]
        order = sorted(range(8), key=lambda k: -keys[k])
        yield int("".join(map(str, order)), 8)


def _even():
    for row in FOUR.tolist():
        kept = [x for x in row if x % 2 == 0]
        yield from [*kept, *[-1] * 4][:4]


def _searched():
    for t in range(128):
        v = sorted({int(IN[(t + 31 * k) % 512]) // 10 for k in range(16)})
        yield len(v) * 10000 + sum(x < 50 for x in v) * 100 + v[-1]


def _products():
    for row, x in zip(FOUR.astype(int), A.tolist(), strict=True):
        yield (row * row % 101).sum() + 1 + row @ IN[:4] + row[1] - IN[2] + (x % 5) ** 2 + 9


def _tiles():
    for tile, row in enumerate(A.reshape(8, 16)):
        before, bits = np.cumsum(row) - row, np.bitwise_xor.accumulate(row % 8)
        yield from row.max() * 3 + before + bits + tile


def _coalesced():
    for row in A.reshape(4, 32):
        for lane, x in enumerate(row):
            same = np.flatnonzero(row % 3 == x % 3)
            total = row[row % 3 > 0].sum() * 40 + len(same) - int(np.searchsorted(same, lane))
            yield total if x % 3 else -1


EIGHTS, V = (IN >> 2) & 63, IN[:256]
HEADS = np.r_[True, V[1:] // 100 != V[:-1] // 100]
MORE = {
    "radix_sort_keys_bits": IN[np.argsort(-EIGHTS, kind="stable")],
    "radix_sort_doubles": np.sort(V),
    "scan_affine": _affine(),
    "scan_prefix": np.cumsum(IN) - IN + 7,
    "warp_reduce_structs": list(_best()),
    "warp_reduce_segments": list(_segments()),
    "exchange_scatter": IN[np.argsort(np.arange(512) * 5 % 512)],
    "warp_exchange": IN.reshape(4, 4, 32).transpose(0, 2, 1),
    "discontinuity_tails": HEADS * 2 + np.r_[HEADS[1:], V[-1] // 100 != 0],
    "adjacent_right": V - np.r_[V[1:], 3],
    "run_lengths": np.repeat(A, A % 3 + 1),
    "atomic_ref_floats": _atomics(),
    "barrier_two_phases": V.reshape(4, 64)[:, ::-1],
    "pipeline_of_two": IN.reshape(4, 128)[:, ::-1] + 1,
    "pipeline_thread": 2 * IN,
    "latch_and_semaphore": A[::32].sum() + np.arange(32),
    "optionals_spans": list(_optionals()),
    "variants": list(_variants()),
    "tuples": (A * 2.5).astype(int) + np.arange(128) + 12,
    "thrust_sort_by_key": list(_ranks()),
    "thrust_select": list(_even()),
    "thrust_search": list(_searched()),
    "thrust_products": list(_products()),
    "tile_reduce_scan": list(_tiles()),
    "coalesced_reduce": list(_coalesced()),
}
WANTED = {"cub": CUB, "library": LIBRARY, "more": MORE}


@pytest.fixture(scope="module")
def modules():
    return {name: nvir.compile_cuda(SOURCES / f"{name}.cu", "sm_80") for name in WANTED}


@pytest.mark.parametrize(("source", "kernel"), [(s, k) for s, made in WANTED.items() for k in made])
def test_results(modules, source, kernel):
    wanted = np.ravel(WANTED[source][kernel]).astype(np.int64).astype(np.int32)
    module = modules[source]
    out = np.zeros(len(wanted), np.int32)
    count = {"block_sum_partial": [np.int32(77)], "block_load_vector": [np.int32(300)]}
    nvir.launch(module, kernel, 1, 128, [IN.copy(), out, *count.get(kernel, [])])
    np.testing.assert_array_equal(out, wanted)
