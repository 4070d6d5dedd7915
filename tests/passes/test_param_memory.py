"""Struct parameters that are indexed at run time stay in the parameter space."""

from __future__ import annotations

import numpy as np
import pytest

import nvir

pytest.importorskip("clang.cindex")
HEAD = "struct P { float scale; int n[16]; };\n__global__ void k(P p, int i, float *out) {\n"
READ = "out[threadIdx.x] = p.n[(threadIdx.x + i) & 15] * p.scale; }\n"


def compiled(body: str) -> str:
    return nvir.print_ptx(nvir.compile_cuda(HEAD + body, front_end="libclang"))


def given() -> tuple[bytes, np.ndarray]:
    numbers = np.arange(16, dtype=np.int32) * 3 + 1
    return np.float32(0.5).tobytes() + numbers.tobytes(), numbers


@pytest.mark.parametrize(("body", "local"), [
    (READ, False),
    ("p.n[i & 15] = 7; " + READ, True),
    ("int *q = i ? p.n : p.n + 1; *q = 5; " + READ, True),
])
def test_what_is_only_read_is_no_copy(body, local):
    assert (".local" in compiled(body)) == local


def test_constant_places_are_scalars():
    ptx = compiled("out[0] = p.n[3] * p.scale; }\n")
    assert ".local" not in ptx
    assert ptx.count("ld.param") == 3


@pytest.mark.parametrize("write", ["", "p.n[i & 15] = 7; "])
def test_results(write):
    data, numbers = given()
    out = np.zeros(32, np.float32)
    module = nvir.compile_cuda(HEAD + write + READ, front_end="libclang")
    nvir.launch(module, "_Z1k1PiPf", 1, 32, [data, np.int32(5), out])
    if write:
        numbers[5] = 7
    np.testing.assert_array_equal(out, numbers[(np.arange(32) + 5) & 15] * 0.5)
