"""nvir's own header, kept precompiled: nothing is different but the time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import nvir

pytest.importorskip("clang", reason="libclang reads CUDA sources (extra `cuda-src`)")

SOURCE = """
#include <cstdio>
namespace n { constexpr int ROUNDS = 3; }
template<class T> __device__ T twice(T x) { return x + x; }
template<int N> __global__ void k(float *o) {
    #pragma unroll (CUDART_VERSION - 12998)
    for (int i = 0; i < N; ++i) o[i] = twice(o[i]);
    #pragma unroll (n::ROUNDS)
    for (int i = 0; i < N; ++i) o[i] -= cudaMemcpyDeviceToHost;
    #pragma unroll cudaMemcpyDeviceToHost
    for (int i = 0; i < N; ++i) o[i] += __fmaf_rn(o[i], 2.0f, WIDTH);
}
template __global__ void k<9>(float *);
void host(float *p) { k<5><<<1, 1>>>(p); k<7><<<1, 1>>>(p); }
__global__ void plain(int *o) { asm volatile("mov.u32 %0, 7;" : "=r"(o[0])); }
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("NVIR_PRECOMPILED", raising=False)
    return tmp_path / "nvir" / "headers"


def ptx(*define: str) -> str:
    made = nvir.compile_cuda(SOURCE, front_end="libclang", define=("WIDTH=8", *define))
    return nvir.print_ptx(made)


def test_the_code_is_the_same_with_and_without(
        cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = ptx(), ptx()
    assert len(list(cache.glob("*.pch"))) == 1
    monkeypatch.setenv("NVIR_PRECOMPILED", "0")
    assert first == second == ptx()
    assert len(re.findall(r"\.entry", first)) == 4


@pytest.mark.parametrize(("macro", "files"), [("NO_WORD_OF_THE_HEADER", 1), ("clockRate", 2)])
def test_a_macro_that_the_header_names_has_a_file_of_its_own(
        cache: Path, macro: str, files: int) -> None:
    ptx()
    ptx(f"{macro}={macro}")
    assert len(list(cache.glob("*.pch"))) == files


@pytest.mark.parametrize("broken", [b"", b"no header at all"])
def test_a_file_that_does_not_serve_is_not_used(cache: Path, broken: bytes) -> None:
    wanted = ptx()
    (file,) = cache.glob("*.pch")
    file.write_bytes(broken)
    assert ptx() == wanted
    assert not file.exists()


def test_no_room_is_no_error(
        cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nvir").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "nvir" / "below"))
    assert ".entry" in ptx()
