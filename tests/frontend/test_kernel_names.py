"""Kernels are called as nvcc calls them."""

from __future__ import annotations

import pytest

import nvir
from nvir.frontend.cuda.kernel_names import nvcc_name

# clang's name and nvcc's: both compilers were asked.
PAIRS = [
    ("_ZL4fillPfi", "_Z4fillPfi"),
    ("_ZL4fillIDhEvPT_i", "_Z4fillI6__halfEvPT_i"),
    ("_ZL6kernelIDF16bEvPKT_PS0_i5uint3", "_Z6kernelI13__nv_bfloat16EvPKT_PS1_i5uint3"),
    ("_Z9transposeIDhEvPT_PKS0_S3_S3_iii", "_Z9transposeI6__halfEvPT_PKS1_S4_S4_iii"),
    ("_ZL4ropeILb1ELb0EDhEvPKT1_PS0_iPKif4dims", "_Z4ropeILb1ELb0E6__halfEvPKT1_PS1_iPKif4dims"),
    ("_ZN2ns2inL1kEPDhS1_", "_ZN2ns2in1kEP6__halfS2_"),
    ("_Z1kDhDh", "_Z1k6__halfS_"),
]


@pytest.mark.parametrize(("clang", "nvcc"), PAIRS)
def test_names(clang, nvcc):
    assert nvcc_name(clang) == nvcc


@pytest.mark.parametrize("name", [
    "k", "_Z1kPf", "_Z2kkIDTplfp_fp_EDhEvT_", "_ZN3cub6detail1kINS_4PlusEPdjS3_Li3EEEvT0_PT1_",
    "_Z1kI1AILi3EE1BJfiEEvNT_4typeE", "_Z1kSt4pairIfSt6vectorIfSaIfEEE", "_Z",
])
def test_others_stay(name):
    """Names without static and halves, those that are not read, and no names at all."""
    assert nvcc_name(name) == name


@pytest.mark.parametrize("count", [1, 2, 11, 38, 80])
def test_far_references(count):
    """References count in base 36, and a class more moves all behind it."""
    structs = "".join(f"P3c{k:02}" for k in range(count))
    last = nvcc_name(f"_Z1kDh{structs}S_")
    assert last.startswith("_Z1k6__halfP3c00")
    assert last.endswith("S0_")


def test_kernels_of_a_source():
    module = nvir.compile_cuda(
        "#include <cuda_fp16.h>\n"
        "template <class T> static __global__ void fill(T *p, T x) { p[threadIdx.x] = x; }\n"
        "static __global__ void one(int *p) { *p = 1; }\n"
        "void run(__half *p, int *q) { fill<__half><<<1, 1>>>(p, 1); one<<<1, 1>>>(q); }\n"
    )
    names = {f.name for f in module.functions if f.is_kernel}
    assert names == {"_Z4fillI6__halfEvPT_S1_", "_Z3onePi"}
