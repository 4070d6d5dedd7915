"""A 16 by 16 tile of C = A B + C on the tensor cores, by the functions under `nvcuda::wmma`."""

import numpy as np

from nvir.frontend.build import *  # noqa: F403

# ruff: noqa: F405

a, b, c, fa, fb, fc, k, n = names("a b c fa fb fc k n")

CUDA = r"""
#include <mma.h>
using namespace nvcuda::wmma;
extern "C" __global__ void wmma_gemm(const half *a, const half *b, float *c, int n) {
    fragment<matrix_a, 16, 16, 16, half, row_major> fa;
    fragment<matrix_b, 16, 16, 16, half, col_major> fb;
    fragment<accumulator, 16, 16, 16, float> fc;
    load_matrix_sync(fc, c, 16, mem_row_major);
    for (int k = 0; k < n; k += 16) {
        load_matrix_sync(fa, a + k, n);
        load_matrix_sync(fb, b + k, n);
        mma_sync(fc, fa, fb, fc);
    }
    store_matrix_sync(c, fc, 16, mem_row_major);
}
"""


def tree():
    p = "__hmma_m16n16k16"
    return unit(kernel(
        "wmma_gemm", "const half *a, const half *b, float *c, int n",
        let("int fa[8]"), let("int fb[8]"), let("float fc[8]"),
        call(f"{p}_ld_c_f32", fc, c, 16, 0),
        for_(let("int k", 0), k < n, assign(k, 16, "+="),
             call(f"{p}_ld_a", fa, cast("const int *", a + k), n, 0),
             call(f"{p}_ld_b", fb, cast("const int *", b + k), n, 1),
             call(f"{p}_mma_f32f32", fc, fa, fb, fc, 1, 0)),
        call(f"{p}_st_c_f32", c, fc, 16, 0),
    ))


def case():
    rng = np.random.default_rng(7)
    x, y = (rng.integers(-4, 5, (16, 32)).astype(np.float16) for _ in range(2))
    z = rng.integers(-9, 9, (16, 16)).astype(np.float32)
    want = x.astype(np.float32) @ y.astype(np.float32).T + z
    return "wmma_gemm", 1, 32, [x, y, z, np.int32(32)], 2, want
