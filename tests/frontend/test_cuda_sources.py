"""Sources in the manner of public suites: all compile and assemble, some are held to numpy."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nvir
from nvir.frontend.cuda.text import instances
from nvir.passes.knobs import Knobs

pytest.importorskip("clang.cindex")
SOURCES = sorted((Path(__file__).parent / "cuda_sources").glob("*.cu"))
SAMPLE = {"rodinia_hotspot", "sample_reduction", "cxx_functors", "misc_host_heavy", "misc_asm"}


@functools.cache
def compiled(name: str, optimise: int = 3) -> Any:
    return nvir.compile_cuda(
        Path(__file__).parent / "cuda_sources" / f"{name}.cu", optimise=optimise
    )


def kernel(module: Any, text: str) -> str:
    """The mangled name of a kernel that holds `text`."""
    found = [str(f.name) for f in module.kernels if text in str(f.name)]
    assert found, [str(f.name) for f in module.kernels]
    return found[0]


@pytest.mark.oracle
@pytest.mark.parametrize("path", [
    pytest.param(p, marks=() if p.stem in SAMPLE else pytest.mark.slow) for p in SOURCES
], ids=lambda p: p.stem)
@pytest.mark.parametrize("optimise", [3, 0])
def test_every_source_assembles(path: Path, optimise: int) -> None:
    from nvir.toolchain.ptxas import ptxas

    result = ptxas(nvir.print_ptx(compiled(path.stem, optimise)), "sm_80")
    assert result.ok, result.log


@pytest.fixture
def rng() -> Any:
    return np.random.default_rng(3)


def test_classes_lambdas_and_overloads() -> None:
    module = compiled("cxx_functors")
    x = np.linspace(0.1, 0.9, 8, dtype=np.float32)
    out = np.zeros(12, np.float32)
    nvir.launch(module, kernel(module, "classes"), 1, 1, [out, x, 8, np.uint8(5)])
    z, c = complex(x[0], x[1]), 0.5
    for _ in range(3):
        z = z * z + c
    z += 1 + 2j
    expected = [z.real, z.imag, 2.0, 31.0, x.max(), x.sum() + 16, 2 * x[2], 5, 2, 46, 7.5, 21]
    np.testing.assert_allclose(out, expected, rtol=1e-5)
    got = np.zeros(32, np.float32)
    nvir.launch(module, kernel(module, "apply"), 1, 32, [got, np.arange(32, dtype=np.float32), 32,
                                                         np.float32(3)])
    assert (got == 3 * np.arange(32) + 1).all()


def test_templates_as_instantiated() -> None:
    module = compiled("cxx_templates")
    n = 64
    x = np.arange(n, dtype=np.int32) % 7
    out = np.zeros(32, np.int32)
    nvir.launch(module, kernel(module, "IiLi2"), 1, 32, [out, x, n])
    pairs = x.reshape(-1, 2)
    assert (out == (pairs**2).sum(1) + (pairs[:, 0] >> 1) + pairs[:, 1] + 120 + 4 + 6).all()
    y = np.zeros(32, np.float64)
    nvir.launch(module, kernel(module, "IdLi1"), 1, 32, [y, np.arange(32.0), 20])
    assert (y == np.where(np.arange(32) < 20, -np.arange(32), 0)).all()


@pytest.mark.parametrize("optimise", [0, 3])
@pytest.mark.parametrize(("kind", "dtype"), [("i", np.int32), ("f", np.float32), ("d", np.float64)])
def test_reductions_of_three_types(rng: Any, kind: str, dtype: Any, optimise: int) -> None:
    module = compiled("sample_reduction", optimise)
    x, out = rng.integers(-9, 9, 1000).astype(dtype), np.zeros(2, dtype)
    nvir.launch(module, kernel(module, f"reduce6I{kind}Lj128"), 2, 128, [x, out, 1000], 2048)
    assert out.sum() == x.sum()
    out[:] = 0
    nvir.launch(module, kernel(module, f"reduce7I{kind}Lj64"), 2, 64, [x, out, 1000], 2048)
    assert out.sum() == x.sum()


def test_gemm_of_a_suite(rng: Any) -> None:
    module = nvir.compile_cuda(
        (Path(__file__).parent / "cuda_sources" / "poly_gemm.cu").read_text()
        .replace("512", "24"), name="gemm.cu"
    )
    a, b, c = (rng.integers(-2, 3, (24, 24)).astype(np.float32) for _ in range(3))
    expected = (32412.0 * (a.astype(float) @ b) + 2123.0 * c).astype(np.float32)
    nvir.launch(module, kernel(module, "gemm_kernel"), (1, 3), (32, 8), [a, b, c])
    np.testing.assert_allclose(c, expected, rtol=1e-5)


def test_needleman_wunsch(rng: Any) -> None:
    module, n, penalty = compiled("rodinia_nw"), 17, 10
    score = np.zeros((n, n), np.int32)
    score[0, :], score[:, 0] = -penalty * np.arange(n), -penalty * np.arange(n)
    reference = rng.integers(-4, 6, (n, n)).astype(np.int32)
    expected = score.copy()
    for i in range(1, n):
        for j in range(1, n):
            gap = max(expected[i, j - 1], expected[i - 1, j]) - penalty
            expected[i, j] = max(expected[i - 1, j - 1] + reference[i, j], gap)
    nvir.launch(module, kernel(module, "needle"), 1, 16, [reference, score, n, penalty, 1, 1])
    assert (score == expected).all()


def test_diagonal_of_an_lu_factorisation(rng: Any) -> None:
    module = compiled("rodinia_lud")
    m = (rng.random((16, 16)) + 16 * np.eye(16)).astype(np.float32)
    before = m.astype(float)
    nvir.launch(module, kernel(module, "lud_diagonal"), 1, 16, [m, 16, 0])
    low = np.tril(m, -1) + np.eye(16)
    np.testing.assert_allclose(low @ np.triu(m), before, rtol=1e-4, atol=1e-4)


def test_nearest_centres_from_constant_memory(rng: Any) -> None:
    module, n, features, clusters = compiled("rodinia_kmeans"), 70, 4, 5
    x, centres = rng.random((features, n), np.float32), rng.random((clusters, features), np.float32)
    bank = next(v for v in module.globals if "c_clusters" in str(v.name))
    table = np.zeros(32 * 34, np.float32)
    table[: centres.size] = centres.reshape(-1)
    member, deltas = np.zeros(n, np.int32), np.zeros(1, np.int32)
    nvir.launch(module, kernel(module, "kmeansPoint"), 1, 256,
                [x, features, n, clusters, member, x, x, deltas], globals={bank.name: table})
    nearest = ((x.T[:, None] - centres[None]) ** 2).sum(2).argmin(1)
    assert (member == nearest).all()


def test_control_flow_of_every_kind() -> None:
    """At two levels of optimisation: what differs is a mistake of one."""
    x = np.arange(0, 60, dtype=np.int32)
    results = []
    for optimise in (0, 1, 2, 3):
        out = np.zeros_like(x)
        module = compiled("misc_control", optimise)
        nvir.launch(module, "control", 2, 32, [out, x, 60])
        results.append(out)
    assert all((r == results[0]).all() for r in results)
    assert len(set(results[0].tolist())) > 20


def test_sorting_recursion_and_function_pointers(rng: Any) -> None:
    module = compiled("misc_qsort_device")
    a, f = rng.integers(0, 100, (4, 20)).astype(np.int32), np.zeros(4, np.int32)
    expected = np.sort(a, axis=1)
    result = nvir.launch(module, kernel(module, "sorts"), 1, 4, [a, 20, f])
    assert (a == expected).all()
    fib = [0, 1, 1, 2]
    assert f.tolist() == [fib[i] + (i * 3 if i & 1 else i + 3) for i in range(4)]
    assert result.stdout == f"sorted {expected[0, 0]} of 20: 1.500000 done\n"


def test_inline_assembly_from_macros(rng: Any) -> None:
    module = compiled("misc_asm")
    x = rng.integers(-1000, 1000, 32).astype(np.int32)
    block = rng.integers(0, 99, (32, 4)).astype(np.uint32)
    out = np.zeros(32, np.int32)
    nvir.launch(module, kernel(module, "assembly"), 1, 32, [out, x, block])
    field = ((x >> 2) & 31) - (((x >> 2) & 16) << 1)
    expected = (x ^ 0xFF ^ 0x0F0F) + field + 7 + np.arange(32) + block[:, 1]
    assert (out == expected).all()


def test_half_precision(rng: Any) -> None:
    module, n = compiled("misc_half"), 40
    x = rng.integers(-8, 9, n).astype(np.float16) / np.float16(4)
    y, total = np.zeros(n, np.float16), np.zeros(1, np.float32)
    nvir.launch(module, kernel(module, "halves"), 2, 32, [x, y, total, n])
    c = x * np.float16(0.5) + (x * x + np.float16(0.5))
    c = np.where(c > 2, c - np.float16(0.5), c)
    assert (y == c).all()
    assert total[0] == c.astype(np.float32).sum()


MATH = [
    np.sin, np.cos, np.exp, lambda v: np.log(abs(v) + 0.1), np.tan, np.arctan, np.tanh,
    lambda v: abs(v) ** 1.5, lambda v: np.arcsin(v / 20), lambda v: np.arccos(v / 20),
    lambda v: np.sinh(v / 4), lambda v: np.cosh(v / 4), lambda v: np.log2(abs(v) + 1), np.exp2,
    np.cbrt, lambda v: np.arctan2(v, 2), None, lambda v: np.fmod(v, 0.7),
    lambda v: np.hypot(v, 3), lambda v: np.log1p(abs(v)), lambda v: np.expm1(v / 8),
    lambda v: np.copysign(np.floor(abs(v) + 0.5), v) + np.floor(v) + np.ceil(v) + np.trunc(v)
    + np.rint(v), lambda v: np.sqrt(abs(v)), lambda v: np.log10(abs(v) + 2),
]


@pytest.mark.parametrize(("name", "dtype", "rtol"), [
    ("mathf", np.float32, 2e-6), ("mathd", np.float64, 2e-14),
])
def test_mathematics(rng: Any, name: str, dtype: Any, rtol: float) -> None:
    import math

    module, n = compiled("misc_math"), 64
    x = np.concatenate([rng.uniform(-15, 15, n - 6), [0, 0.5, -0.5, 1, 3, -2]]).astype(dtype)
    out = np.zeros((24, n), dtype)
    nvir.launch(module, kernel(module, name), 1, n, [x, out, n])
    for k, reference in enumerate(MATH):
        v = x.astype(np.float64)
        if reference is None:
            expected = np.array([math.erf(t) for t in v])
        elif k == 17:
            expected = np.fmod(x, dtype(0.7))
        else:
            expected = reference(v)
        inside = 1 + abs(v) if k in (0, 1, 4) else 1  # the argument's own error
        close = abs(out[k] - expected) <= rtol * inside * (abs(expected) + (k in (0, 1, 4)))
        assert close.all(), (k, x[~close], out[k][~close], expected[~close])


@pytest.mark.parametrize("optimise", [0, 3])
def test_a_tour_of_the_language(optimise: int) -> None:
    module = compiled("cxx_tour", optimise)
    view = np.dtype([("data", "u8"), ("rows", "i4"), ("cols", "i4")])
    t, c = np.array([[1, 2], [3, 4]], np.float32), np.array([[5, 6], [7, 8]], np.float32)
    here, there = nvir.DeviceArray(t), nvir.DeviceArray(c)
    out, v = np.zeros(24, np.int32), np.ones((4, 4), np.float32)
    args = [np.array((here.ptr, 2, 2), view)[()], out, v, np.array((there.ptr, 2, 2), view)[()]]
    result = nvir.launch(module, kernel(module, "k"), 1, 1, args)
    assert result.stdout == "zero 2 x\n"
    assert out.tolist() == [9, 12, 6, 35, 5, 8, 4, -4, -501, 36, 100, -32768, 5, 41, 3, 4, 8, 9, 42,
                            2, 6, 0, 9, 6]
    assert v[0].tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("optimise", [0, 3])
def test_a_second_tour(optimise: int) -> None:
    module = compiled("cxx_tour2", optimise)
    out, s = np.zeros(27, np.float32), np.zeros((), np.dtype([("x", "i4", 3)]))
    s["x"] = [4, 5, 6]
    constants = np.zeros(1, np.dtype([("a", "f4"), ("n", "i4"), ("w", "f4", 4), ("src", "u8")]))
    constants["a"], constants["w"] = 2, [[1, 2, 3, 4]]
    args = [out, 3, s[()], np.uint8(1), np.int8(65), np.uint8(200), np.int64(10), 2.5,
            np.int16(-3)]
    nvir.launch(module, kernel(module, "y"), 1, 32, args, globals={"P": constants})
    assert out.tolist() == [
        194, 8.5, 6, 9, 13, 3, 15, 199, 198, 18, 6, 274.5, 1, 1, 13, 1, 4.5, 3, 4, 2, 10, 4, 2.5,
        2.5, 0, 32, 10,
    ]


def test_explicit_instances_on_one_line_are_all_asked_for() -> None:
    one = "template __global__ void kt<{}>(float*,int);"
    text = "template<int N> __global__ void kt(float*a,int n){ a[n]=N; } " + " ".join(
        one.format(n) for n in (1, 4, 64))
    assert [x.split("&")[-1] for x in instances(text)] == ["kt<1>)", "kt<4>)", "kt<64>)"]


@pytest.mark.parametrize("policy", ["observed", "documented"])
def test_a_union_by_value_keeps_what_lies_in_the_padding_of_its_widest_member(policy):
    source = """union U { float f; struct { char c; int i; } s; };
__device__ __noinline__ U twice(U u) { u.f *= 2.0f; return u; }
extern "C" __global__ void k(U *u) { u[1] = twice(u[0]); }
"""
    module = nvir.compiler.compile_cuda(source, knobs=Knobs(policy=policy))
    u = np.array([1.2345678, 0, 0, 0], np.float32)
    nvir.launch(module, "k", 1, 1, [u])
    assert u[2] == 2 * u[0]
