"""C = A B in tiles of 16 by 16 through shared memory."""

import numpy as np

from nvir.frontend.build import *  # noqa: F403

# ruff: noqa: F405

A, B, C, n, row, col, acc, t, k, As, Bs = names("A B C n row col acc t k As Bs")

CUDA = r"""
extern "C" __global__ void sgemm(const float *A, const float *B, float *C, int n) {
    __shared__ float As[16][16], Bs[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float acc = 0;
    for (int t = 0; t < n; t += 16) {
        As[threadIdx.y][threadIdx.x] = A[row * n + t + threadIdx.x];
        Bs[threadIdx.y][threadIdx.x] = B[(t + threadIdx.y) * n + col];
        __syncthreads();
        for (int k = 0; k < 16; k++) acc += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    C[row * n + col] = acc;
}
"""


def tree():
    return unit(kernel(
        "sgemm", "const float *A, const float *B, float *C, int n",
        let("float As[16][16]", memory="shared"), let("float Bs[16][16]", memory="shared"),
        let("int row", blockIdx.y * 16 + threadIdx.y),
        let("int col", blockIdx.x * 16 + threadIdx.x),
        let("float acc", 0),
        for_(let("int t", 0), t < n, assign(t, 16, "+="),
             assign(As[threadIdx.y][threadIdx.x], A[row * n + t + threadIdx.x]),
             assign(Bs[threadIdx.y][threadIdx.x], B[(t + threadIdx.y) * n + col]),
             call("__syncthreads"),
             for_(let("int k", 0), k < 16, inc(k),
                  assign(acc, As[threadIdx.y][k] * Bs[k][threadIdx.x], "+=")),
             call("__syncthreads")),
        assign(C[row * n + col], acc),
    ))


def case():
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-4, 5, (48, 48)).astype(np.float32) for _ in range(2))
    out = np.zeros((48, 48), np.float32)
    return "sgemm", (3, 3), (16, 16), [a, b, out, np.int32(48)], 2, a @ b
