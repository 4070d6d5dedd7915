"""Every example kernel gives what a numpy reference gives, on small sizes with ragged edges."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nvir

PTX = Path(__file__).resolve().parents[2] / "examples" / "ptx"


@functools.cache
def module(name: str) -> Any:
    return nvir.read_ptx(PTX / f"{name}.ptx")


@pytest.fixture
def rng() -> Any:
    return np.random.default_rng(7)


def whole(rng: Any, *shape: int, dtype: Any = np.float32) -> Any:
    """Small whole numbers: sums and products of them are exact."""
    return rng.integers(-4, 5, shape).astype(dtype)


@pytest.mark.parametrize("kernel", ["saxpy", "saxpy4"])
def test_saxpy(rng: Any, kernel: str) -> None:
    n = 1000
    x, y = (whole(rng, n) for _ in range(2))
    expected = 3 * x + y
    nvir.launch(module("saxpy.sm_80"), kernel, 3, 96, [n, 3.0, x, y])
    assert (y == expected).all()


ARCHES = ["sgemm.sm_80", "sgemm.sm_90", "sgemm.sm_100", "sgemm.sm_120", "clang_sgemm.sm_80"]


@pytest.mark.parametrize("file", ARCHES)
def test_sgemm_with_partial_tiles(rng: Any, file: str) -> None:
    m, n, k = 37, 41, 29
    a, b, c = whole(rng, m, k), whole(rng, k, n), whole(rng, m, n)
    expected = 2 * (a @ b) - c
    nvir.launch(module(file), "sgemm", (3, 3), (16, 16), [a, b, c, m, n, k, 2.0, -1.0])
    assert (c == expected).all()


def test_gemm_cp_async(rng: Any) -> None:
    m, n, k = 64, 128, 40
    a, b, c = whole(rng, m, k), whole(rng, k, n), np.zeros((m, n), np.float32)
    nvir.launch(module("gemm_cp_async.sm_80"), "gemm_cp_async", (2, 1), 256, [a, b, c, m, n, k])
    assert (c == a @ b).all()


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_gemm_mma(rng: Any, arch: str) -> None:
    m, n, k = 64, 64, 64
    a, b = whole(rng, m, k, dtype=np.float16), whole(rng, n, k, dtype=np.float16)
    c = np.zeros((m, n), np.float32)
    nvir.launch(module(f"gemm_mma.{arch}"), "gemm_mma", 1, 128, [a, b, c, m, n, k])
    assert (c == a.astype(np.float32) @ b.astype(np.float32).T).all()


def test_gemm_wmma(rng: Any) -> None:
    m, n, k = 32, 48, 32
    a, b = whole(rng, m, k, dtype=np.float16), whole(rng, k, n, dtype=np.float16)
    c = np.zeros((m, n), np.float32)
    nvir.launch(module("gemm_wmma.sm_80"), "gemm_wmma", 2, 128, [a, b, c, m, n, k])
    assert (c == a.astype(np.float32) @ b.astype(np.float32)).all()


def test_warp_specialised_producer_and_consumers(rng: Any) -> None:
    chunks = 9  # more than the ring has stages
    x, out = whole(rng, 2, chunks * 512), np.zeros(2, np.float32)
    nvir.launch(module("warp_specialised.sm_90"), "warp_specialised", 2, 160, [x, out, chunks])
    assert (out == (x * x).sum(1)).all()


@pytest.mark.parametrize("file", ["gemm_tile.sm_80", "gemm_tile.sm_90"])
def test_gemm_tile(rng: Any, file: str) -> None:
    m, n, k = 128, 256, 24
    a, b = (rng.integers(-3, 4, s).astype(np.float32) for s in ((m, k), (k, n)))
    c = np.zeros((m, n), np.float32)
    nvir.launch(module(file), "gemm_tile", (n // 128, m // 128), 256, [a, b, c, m, n, k])
    np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_reduction(rng: Any, arch: str) -> None:
    x, total = whole(rng, 3001), np.zeros(1, np.float32)
    nvir.launch(module(f"reduction.{arch}"), "reduction", 3, 128, [x, total, 3001])
    assert total[0] == x.sum()


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_softmax(rng: Any, arch: str) -> None:
    x = rng.standard_normal((3, 150)).astype(np.float32)
    out = np.zeros_like(x)
    nvir.launch(module(f"softmax.{arch}"), "softmax", 3, 64, [x, out, 150])
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=2e-6)


@pytest.mark.parametrize("n", [256, 200])
def test_scan_of_blocks(rng: Any, n: int) -> None:
    x = rng.integers(0, 100, n).astype(np.int32)
    out, sums = np.zeros(n, np.int32), np.zeros(2, np.int32)
    nvir.launch(module("scan.sm_80"), "scan", 2, 64, [x, out, sums, n], 128 * 4)
    parts = np.split(np.pad(x, (0, 256 - n)), 2)
    expected = np.concatenate([np.cumsum(p) - p for p in parts])[:n]
    assert (out == expected).all()
    assert (sums == [p.sum() for p in parts]).all()


@pytest.mark.parametrize("n", [5000, 25000])
def test_scan_with_decoupled_lookback(rng: Any, n: int) -> None:
    """25,000 items are more CTAs than one wave holds: those that wait depend on later starts."""
    x = rng.integers(0, 100, n).astype(np.uint32)
    out, states, ticket = np.zeros(n, np.uint32), np.zeros(64, np.uint64), np.zeros(1, np.uint32)
    blocks = -(-n // 1024)
    args = [x, out, states, ticket, n]
    nvir.launch(module("scan_lookback.sm_80"), "scan_lookback", blocks, 256, args)
    assert (out == np.cumsum(x)).all()


def test_histogram(rng: Any) -> None:
    data, bins = rng.integers(0, 256, 3001).astype(np.uint8), np.zeros(256, np.uint32)
    nvir.launch(module("histogram.sm_80"), "histogram", 2, 128, [data, bins, 3001])
    assert (bins == np.bincount(data, minlength=256)).all()


def test_bfs_appends_each_new_vertex_once(rng: Any) -> None:
    n = 60
    neighbours = [rng.choice(n, 4, replace=False) for _ in range(n)]
    starts, column = np.arange(0, 4 * n + 1, 4, dtype=np.int32), np.concatenate(neighbours)
    frontier = np.array([0, 1, 2, 3, 4], np.int32)
    distance, following = np.full(n, -1, np.int32), np.zeros(n, np.int32)
    distance[frontier] = 0
    size = np.zeros(1, np.int32)
    args = [starts, column.astype(np.int32), frontier, 5, distance, following, size, 1]
    nvir.launch(module("bfs_vote.sm_80"), "bfs_vote", 1, 64, args)
    expected = set(np.concatenate(neighbours[:5]).tolist()) - set(frontier.tolist())
    assert sorted(following[: size[0]].tolist()) == sorted(expected)
    assert (distance == 1).sum() == len(expected)


def test_spmv(rng: Any) -> None:
    rows, columns = 20, 70
    dense = whole(rng, rows, columns) * (rng.random((rows, columns)) < 0.5)
    starts = np.concatenate([[0], np.cumsum((dense != 0).sum(1))]).astype(np.int32)
    row, column = np.nonzero(dense)
    x, y = whole(rng, columns), np.zeros(rows, np.float32)
    args = [starts, column.astype(np.int32), dense[row, column], x, y, rows]
    nvir.launch(module("spmv_csr.sm_80"), "spmv_csr", 5, 128, args)
    assert (y == dense @ x).all()


def test_stencil_copies_the_border(rng: Any) -> None:
    x = whole(rng, 21, 45)
    out = np.zeros_like(x)
    nvir.launch(module("stencil.sm_80"), "stencil", (2, 3), (32, 8), [x, out, 45, 21])
    expected = x.copy()
    expected[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    assert (out == expected).all()


def test_conv3d(rng: Any) -> None:
    nz, ny, nx, r = 4, 5, 9, 1
    x, f, out = whole(rng, nz, ny, nx), whole(rng, 3, 3, 3), np.zeros((nz, ny, nx), np.float32)
    nvir.launch(module("conv3d.sm_80"), "conv3d", (2, 2, 2), (8, 4, 2), [x, f, out, nx, ny, nz, r])
    p = np.pad(x, r)
    expected = sum(
        f[k, j, i] * p[k : k + nz, j : j + ny, i : i + nx]
        for k in range(3) for j in range(3) for i in range(3)
    )
    assert (out == expected).all()


@pytest.mark.parametrize("kernel", ["blur_texture", "blur_texture5"])
def test_blur_clamps_at_the_border(rng: Any, kernel: str) -> None:
    h, w = 11, 18
    image, out = whole(rng, h, w), np.zeros((h, w), np.float32)
    args = [nvir.Texture(image), out, w, h] + ([2] if kernel == "blur_texture" else [])
    nvir.launch(module("blur_texture.sm_80"), kernel, (2, 2), (16, 8), args)
    p = np.pad(image, 2, mode="edge")
    total = sum(p[j : j + h, i : i + w] for j in range(5) for i in range(5))
    np.testing.assert_allclose(out, total / 25, rtol=2e-7)


def test_transpose(rng: Any) -> None:
    x, out = whole(rng, 40, 70), np.zeros((70, 40), np.float32)
    nvir.launch(module("transpose.sm_80"), "transpose", (3, 2), (32, 8), [x, out, 70, 40])
    assert (out == x.T).all()


def test_nbody(rng: Any) -> None:
    n = 50
    bodies, force = rng.random((n, 4), np.float32), np.zeros((n, 3), np.float32)
    nvir.launch(module("nbody.sm_80"), "nbody", 2, 32, [bodies, force, n, 0.1], 32 * 16)
    d = bodies[None, :, :3].astype(float) - bodies[:, None, :3]
    scale = bodies[None, :, 3] * ((d * d).sum(2) + 0.1) ** -1.5
    np.testing.assert_allclose(force, (d * scale[..., None]).sum(1), rtol=1e-4)


def test_horner_reads_constant_memory(rng: Any) -> None:
    x, y = rng.random(40), np.zeros(40)
    c = rng.random(13)
    m = module("horner.sm_80")
    bank = next(v for v in m.globals if v.space == "const")
    coefficients = np.zeros(bank.size // 8)
    coefficients[:13] = c
    nvir.launch(m, "horner", 2, 32, [x, y, 40, 12], globals={bank.name: coefficients})
    expected = np.zeros(40)
    for k in reversed(c):
        expected = expected * x + k
    np.testing.assert_allclose(y, expected, rtol=1e-14)
    nvir.launch(m, "horner_fixed", 2, 32, [x, y, c, 40])
    np.testing.assert_allclose(y, expected / (1 + x * x), rtol=1e-14)


def test_mandelbrot(rng: Any) -> None:
    w, h, limit = 30, 20, 50
    out = np.zeros((h, w), np.uint16)
    nvir.launch(module("mandelbrot.sm_80"), "mandelbrot", (2, 3), (16, 8),
                [out, w, h, -2.0, -1.0, 0.1, limit])
    inside = out[10, 15]
    assert inside == limit  # near -0.5: in the set
    assert out[0, 0] < 4 < out[10, 7]  # far outside; close to the border


@pytest.mark.parametrize("file", ["nested_break.sm_80", "clang_nested_break.sm_80"])
def test_nested_break(rng: Any, file: str) -> None:
    height, segments, length = 70, 4, 9
    rows = rng.integers(-1, 9, (height, segments, length)).astype(np.float32)
    count = np.zeros(height, np.int32)
    nvir.launch(module(file), "nested_break", 3, 32, [rows, count, height, segments, length, 6.0])
    expected = []
    for row in rows:
        seen = 0
        for p in row:
            if p[0] > 6:
                continue
            negative = np.flatnonzero(p < 0)
            seen += int(negative[0]) if len(negative) else length
        expected.append(seen)
    assert count.tolist() == expected


@pytest.mark.parametrize("file", ["switch_heavy.sm_80", "clang_switch_heavy.sm_80"])
def test_switch_heavy(rng: Any, file: str) -> None:
    push, add, mul, dup, load, jz, neg, halt = 0, 1, 3, 8, 11, 13, 14, 15
    program = [load, dup, jz, 10, load, dup, mul, push, 3, add, neg, halt]
    item = np.arange(-5, 40, dtype=np.int32)
    out = np.zeros_like(item)
    nvir.launch(module(file), "switch_heavy", 2, 32,
                [np.array(program, np.int32), item, out, len(item), 60])
    expected = np.where(item == 0, 0, -(item * item + 3))
    assert (out == expected).all()


def test_dynamic_shared_sorts_pairs(rng: Any) -> None:
    keys, values = rng.permutation(128).astype(np.float32), np.arange(128, dtype=np.uint16)
    before = keys.copy()
    nvir.launch(module("dynamic_shared.sm_80"), "dynamic_shared", 2, 64, [keys, values], 64 * 6)
    assert (keys.reshape(2, 64) == np.sort(before.reshape(2, 64), 1)).all()
    assert (before[values] == keys).all()


def test_spin_lock_within_a_warp(rng: Any) -> None:
    n = 45
    lock, counter, order = np.zeros(1, np.int32), np.zeros(1, np.int32), np.full(n, -1, np.int32)
    nvir.launch(module("spin_lock.sm_80"), "spin_lock", 2, 32, [lock, counter, order, n])
    assert counter[0] == n
    assert sorted(order.tolist()) == list(range(n))


@pytest.mark.parametrize("blocks", [3, 40])
def test_grid_barrier(rng: Any, blocks: int) -> None:
    """40 blocks of 512 threads are two waves, which must wait for each other."""
    n, threads = 300, 512 if blocks > 3 else 64
    a, b = whole(rng, n) * 4, np.zeros(n, np.float32)
    expected = a.astype(np.float64)
    counter, generation = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    args = [a, b, n, 4, counter, generation]
    nvir.launch(module("grid_barrier.sm_80"), "grid_barrier", blocks, threads, args)
    for _ in range(4):
        p = np.pad(expected, 1, mode="edge")
        expected = 0.25 * p[:-2] + 0.5 * p[1:-1] + 0.25 * p[2:]
    assert (a == expected).all()


def test_device_calls_recursion_and_function_pointers(rng: Any) -> None:
    n = 50
    x, y, z = rng.random(n, np.float32), np.zeros(n, np.float32), np.zeros(n, np.uint32)
    nvir.launch(module("device_calls.sm_80"), "device_calls", 2, 32, [x, y, z, n])
    ackermann = {(m, k): {0: k + 1, 1: k + 2, 2: 2 * k + 3}[m] for m in range(3) for k in range(4)}
    expected = [ackermann[i % 3, i % 4] + (i * i if i % 2 else 2 * i) for i in range(n)]
    assert z.tolist() == expected
    series = [sum(v**t / (t + 1) for t in range(4 + i % 5)) for i, v in enumerate(x.astype(float))]
    np.testing.assert_allclose(y, series, rtol=1e-6)


PARTICLE = np.dtype([("p", "f4", 3), ("v", "f4", 3), ("mass", "f4"), ("kind", "i4")])
BOX = np.dtype([("low", "f4", 3), ("high", "f4", 3), ("damping", "f4", 4), ("step", "f8")])


@pytest.mark.parametrize("file", ["struct_by_value.sm_80", "clang_struct_by_value.sm_80"])
def test_struct_by_value(rng: Any, file: str) -> None:
    particles, box = np.zeros(20, PARTICLE), np.zeros((), BOX)
    particles["p"], particles["v"] = rng.random((20, 3)), whole(rng, 20, 3)
    particles["kind"] = np.arange(20)
    box["low"], box["high"], box["damping"], box["step"] = 0.0, 1.0, [1, 0.5, 0.25, 2], 0.25
    assert BOX.itemsize == 48
    expected = particles.copy()
    steps = 5
    for q in expected:
        history = [q.copy() for _ in range(4)]
        for s in range(steps):
            q["p"] += q["v"] * np.float32(0.25)
            out = (q["p"] < 0) | (q["p"] > 1)
            q["v"] = np.where(out, q["v"] * -box["damping"][q["kind"] & 3], q["v"])
            history[s & 3] = q.copy()
        q["p"][0] = 0.5 * (q["p"][0] + history[(steps + q["kind"]) & 3]["p"][0])
    nvir.launch(module(file), "struct_by_value", 1, 32, [particles, box[()], 20, steps])
    np.testing.assert_allclose(particles["p"], expected["p"], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(particles["v"], expected["v"], rtol=1e-6)


def test_print(rng: Any) -> None:
    data = np.array([3, -1, 4, -5], np.int32)
    result = nvir.launch(module("print.sm_80"), "print", 1, 32, [data, 4, 0.5])
    assert result.stdout == (
        "thread 1: data[1] = -1, scaled -0.500000\nthread 3: data[3] = -5, scaled -2.500000\ndone\n"
    )


def test_triton_softmax(rng: Any) -> None:
    x = rng.standard_normal((3, 1000)).astype(np.float32)
    out, spare = np.zeros_like(x), np.zeros(16, np.uint8)
    args = [out, x, 1000, 1000, spare, spare]
    nvir.launch(module("triton_softmax.sm_80"), "softmax", 3, 128, args, 4096)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=2e-6)


def test_triton_matmul(rng: Any) -> None:
    m, n, k = 64, 64, 96
    a, b = whole(rng, m, k, dtype=np.float16), whole(rng, k, n, dtype=np.float16)
    c, spare = np.zeros((m, n), np.float32), np.zeros(16, np.uint8)
    args = [a, b, c, m, n, k, spare, spare]
    nvir.launch(module("triton_matmul.sm_80"), "matmul", (1, 1), 128, args, 49152)
    assert (c == a.astype(np.float32) @ b.astype(np.float32)).all()


def test_loop_forms(rng: Any) -> None:
    forms = module("loop_forms.sm_80")
    x, y = whole(rng, 32, 9), np.zeros((32, 9), np.float32)
    nvir.launch(forms, "standardise", 1, 32, [x, y, 9])
    mean, largest = x.mean(1, keepdims=True), x.max(1, keepdims=True)
    np.testing.assert_allclose(y, (x - mean) / (largest - mean), rtol=1e-6, atol=1e-6)

    a, w, out = whole(rng, 32 + 61), whole(rng, 60 * 60), np.zeros(32, np.float32)
    nvir.launch(forms, "taps", 1, 32, [a, w, out])
    squares = w[np.arange(60) ** 2]
    behind = np.array([squares @ a[k + 1 : k + 61] for k in range(32)])
    assert (out == np.where(a[:32] > 0, w[0], 0) + behind * squares.sum()).all()

    v, counts = whole(rng, 32, 7, dtype=np.int32), np.zeros(32, np.int32)
    nvir.launch(forms, "count_above", 1, 32, [v, counts, 7, 1])
    assert (counts == (v > 1).sum(1)).all()

    table, found = rng.integers(0, 32, 64).astype(np.uint32), np.zeros(32, np.uint32)
    nvir.launch(forms, "probe", 1, 32, [table, found, 63, 6])
    key = np.arange(32, dtype=np.uint32)
    steps = (table[(key + np.uint32(k * 0x9E3779B9 % 2**32)) & 63] == key for k in range(6))
    multiples = (table[(key * np.uint32(k)) & 63] > k for k in range(1, 6))
    assert (found == sum(steps) + sum(multiples)).all()

    z, out, n = whole(rng, 3 * 40), np.zeros(32, np.float32), 30
    nvir.launch(forms, "smooth", 1, 32, [z, out, n, 3, 0.5])
    near = np.array([1 / (1 + 0.5 * z[row * n + k] ** 2) for row in range(3) for k in range(3)])
    sums = [sum(near[row * 3 + k] * z[at + k] for row in range(3) for k in range(3))
            for at in range(n)]
    np.testing.assert_allclose(out, [*np.array(sums) / near.sum(), 0, 0], rtol=1e-5)


def test_every_example_file_is_run_here() -> None:
    """A new example needs a test."""
    text = Path(__file__).read_text()
    tested = ("saxpy.sm_80", *ARCHES)
    for path in PTX.glob("*.ptx"):
        name, _, arch = path.stem.partition(".")
        assert f'"{name}.' in text or path.stem in tested, f"{name} ({arch}) is not run"
