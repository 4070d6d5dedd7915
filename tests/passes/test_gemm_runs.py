"""gemm-pipeline: pipelined kernels do what they did, for every number of iterations.

The interpreter moves the bytes of a cp.async when a wait of the thread covers its group, not
earlier, so a kernel that waits too little reads what was there. Its race check also refuses any
access to bytes that a copy is on its way to. `test_a_missing_wait_is_noticed` proves both.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nvir
from nvir.ir.errors import LaunchError
from nvir.ir.values import integer
from tests.gemm_kernels import Shape, expected, run, tile_case, tile_kernel

EXAMPLES = Path(__file__).parents[2] / "examples" / "ptx"
CHECKS = ("bounds", "race", "uninit")
LATE = {"GemmPipelinerDependenciesPopbl": True}


@pytest.fixture(autouse=True)
def unsimulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The predicted cycles are the matter of test_gemm_pipeline.py, and most of the time."""
    monkeypatch.setattr("nvir.passes.loop.tiles.gemm_pipeline.cycles", lambda *_: None)


def pipelined(text: str, stages: int, **kw):
    module = nvir.read_ptx(text)
    remarks = nvir.run_passes(module, f"gemm-pipeline<stages={stages}>", verify=True, **kw)
    assert any(r.name == "GemmPipelined" for r in remarks), list(map(str, remarks))
    return module


def trips(stages: int) -> list[int]:
    return sorted({0, 1, 2, stages - 1, stages, stages + 1, 13})


# ------------------------------------------------------------------ examples


def example(name: str, stages: int, **kw):
    return pipelined((EXAMPLES / f"{name}.ptx").read_text(), stages, **kw)


MORE = pytest.mark.slow  # of what the others show already


@pytest.mark.parametrize(("name", "stages", "tiles"), [
    ("sgemm.sm_90", 3, [0, 1, 4]), ("clang_sgemm.sm_80", 2, [0, 3]),
    *(pytest.param(name, stages, trips(stages), marks=MORE) for name, stages in (
        ("sgemm.sm_80", 2), ("sgemm.sm_90", 3), ("clang_sgemm.sm_80", 5),
    )),
])
def test_sgemm_of_any_size(name, stages, tiles):
    """Odd sizes: every guard of loads and stores is true for some elements and false for others."""
    module = example(name, stages)
    rng = np.random.default_rng(stages)
    for count in tiles:
        m, n, k = 19, 21, max(0, 16 * count - 5)
        a = rng.integers(-3, 4, (m, max(k, 1))).astype(np.float32)
        b = rng.integers(-3, 4, (max(k, 1), n)).astype(np.float32)
        c = rng.integers(-3, 4, (m, n)).astype(np.float32)
        want = 2 * (a[:, :k] @ b[:k]) + 3 * c
        args = [a, b, c, m, n, k, np.float32(2), np.float32(3)]
        nvir.launch(module, "sgemm", (2, 2), (16, 16), args, check=CHECKS)
        np.testing.assert_array_equal(c, want)


@pytest.mark.parametrize(("name", "stages", "late"), [
    ("gemm_tile.sm_90", 2, True), pytest.param("gemm_tile.sm_80", 3, False, marks=MORE),
])
def test_gemm_tile(name, stages, late):
    module = example(name, stages, knobs=LATE if late else None)
    rng = np.random.default_rng(stages)
    for tiles in (0, stages + 1):
        k = 8 * tiles
        a = rng.integers(-3, 4, (128, max(k, 1))).astype(np.float32)
        b = rng.integers(-3, 4, (max(k, 1), 128)).astype(np.float32)
        c = np.ones((128, 128), np.float32)
        nvir.launch(module, "gemm_tile", 1, 256, [a, b, c, 128, 128, k], check=CHECKS)
        np.testing.assert_array_equal(c, a[:, :k] @ b[:k])


@pytest.mark.parametrize(("arch", "stages"), [
    ("sm_80", 3), pytest.param("sm_90", 2, marks=MORE),
])
def test_gemm_mma(arch, stages):
    """The loading part holds a loop of its own, the arithmetic ldmatrix and mma."""
    module = example(f"gemm_mma.{arch}", stages)
    rng = np.random.default_rng(stages)
    for tiles in (0, 1, stages - 1, stages, stages + 1):
        k = 32 * tiles
        a = rng.integers(-3, 4, (64, max(k, 1))).astype(np.float16)
        b = rng.integers(-3, 4, (64, max(k, 1))).astype(np.float16)
        c = np.ones((64, 64), np.float32)
        nvir.launch(module, "gemm_mma", 1, 128, [a, b, c, 64, 64, k], check=CHECKS)
        want = a[:, :k].astype(np.float32) @ b[:, :k].astype(np.float32).T
        np.testing.assert_array_equal(c, want)


@pytest.mark.parametrize("stages", [2])
def test_a_shortened_multistage_loop_does_the_same(stages):
    text = (EXAMPLES / "gemm_cp_async.sm_80.ptx").read_text()
    module = nvir.read_ptx(text)
    nvir.run_passes(module, f"gemm-pipeline<stages={stages}>", verify=True)
    rng = np.random.default_rng(0)
    for k in (0, 8, 24):
        a = rng.integers(-3, 4, (64, max(k, 1))).astype(np.float32)
        b = rng.integers(-3, 4, (max(k, 1), 64)).astype(np.float32)
        c = np.ones((64, 64), np.float32)
        nvir.launch(module, "gemm_cp_async", 1, 256, [a, b, c, 64, 64, k], check=CHECKS)
        np.testing.assert_array_equal(c, a[:, :k] @ b[:k])


# ------------------------------------------------------------ random kernels


def same_for(seed: int, counts: list[int] | None = None) -> None:
    shape, stages = tile_case(seed), 2 + seed % 5
    text = tile_kernel(shape)
    knobs = LATE if seed % 3 == 0 else None
    module = pipelined(text, stages, knobs=knobs)
    for n in counts if counts is not None else trips(stages):
        limit = shape.words * n * 3 // 4 + 1 if shape.guard != "none" and seed % 2 else None
        got = run(module, shape, n, limit)
        np.testing.assert_array_equal(got, expected(shape, n, limit), f"{shape} n={n}")


@pytest.mark.parametrize("seed", range(5))
def test_random_tile_kernels(seed):
    same_for(seed, [0, 1, 3 + seed % 5])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_more_random_tile_kernels(seed):
    same_for(seed)


@pytest.mark.parametrize("shape", [
    Shape(guard="phi", vector=4), Shape(guard="arms", vector=2), Shape(guard="select"),
    Shape(guard="predicate", barriers="top"), Shape(nested=True, one=True),
    Shape(copies=2, looped=True, generic=True), Shape(math="pointer", counter="ne"),
    Shape(math="loop", counter="down", shared=True, table=True), Shape(math="direct"),
], ids=repr)
def test_shapes_of_tile_kernels(shape):
    """The generator's kernel does what numpy says before and after."""
    limit = 5 * shape.words // 2 if shape.guard != "none" else None
    original = nvir.read_ptx(tile_kernel(shape))
    module = pipelined(tile_kernel(shape), 3)
    np.testing.assert_array_equal(run(original, shape, 2, limit), expected(shape, 2, limit))
    for n in (1, 4):
        want = expected(shape, n, limit)
        np.testing.assert_array_equal(run(module, shape, n, limit), want)


@pytest.mark.parametrize("stages", [2, 3, 6])
def test_a_counter_in_the_loading_part(stages):
    """The test behind the arithmetic needs what the loading part computed: it is computed again."""
    shape = Shape(counter="down")
    step = "add.s32 %r21, %r21, -1;"
    text = tile_kernel(shape).replace(step, "").replace("LOOP:", f"LOOP: {step}")
    module = pipelined(text, stages)
    for n in (0, 1, stages, 9):
        np.testing.assert_array_equal(run(module, shape, n), expected(shape, n))


# ------------------------------------------------- the checks notice what is wrong


def wrong(module, shape: Shape) -> bool:
    try:
        return not (run(module, shape, 7) == expected(shape, 7)).all()
    except LaunchError:
        return True


@pytest.mark.parametrize("stages", [2, 3])
def test_a_missing_wait_is_noticed(stages):
    shape = Shape()
    module = pipelined(tile_kernel(shape), stages)
    assert not wrong(module, shape)
    (wait,) = [i for i in module["k"].instructions() if i.form.name == "cp.async.wait_group"]
    wait.set_operand(0, integer(stages - 1))
    assert wrong(module, shape)
    with pytest.raises(LaunchError, match="while an asynchronous copy to it is under way"):
        run(module, shape, 7)


@pytest.mark.parametrize("name", [
    "sgemm.sm_80", "gemm_mma.sm_80", pytest.param("gemm_tile.sm_90", marks=MORE),
])
def test_the_pass_that_puts_in_waits_finds_none_missing(name):
    module = example(name, 3)
    before = nvir.print_ir(module)
    nvir.run_passes(module, "stage-and-fence")
    assert nvir.print_ir(module) == before


def test_a_missing_barrier_is_noticed():
    shape = Shape(threads=64)
    module = pipelined(tile_kernel(shape), 3)
    (barrier,) = [i for i in module["k"].instructions() if i.form.name == "bar.sync"]
    barrier.erase()
    with pytest.raises(LaunchError, match="with no barrier between"):
        run(module, shape, 7)


def test_a_ring_that_is_too_short_is_noticed():
    shape = Shape()
    module = pipelined(tile_kernel(shape), 4)
    ends = [i for i in module["k"].instructions() if i.form.name == "setp" and "eq" in i.form.mods
            and i.operands[1] is integer(4 * 128)]
    assert ends
    for i in ends:
        i.set_operand(1, integer(3 * 128))
    assert wrong(module, shape)
