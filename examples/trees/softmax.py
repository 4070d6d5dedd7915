"""Softmax of rows, a warp each: the largest, the sum of exponentials, the quotients."""

import numpy as np

from nvir.frontend.build import *  # noqa: F403

# ruff: noqa: F405

x, y, n, i, m, s, d, row = names("x y n i m s d row")
ALL = 0xFFFFFFFF

CUDA = r"""
extern "C" __global__ void softmax(const float *x, float *y, int n) {
    const float *row = x + blockIdx.x * n;
    float m = -1e30f, s = 0;
    for (int i = threadIdx.x; i < n; i += 32) m = fmaxf(m, row[i]);
    for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, d));
    for (int i = threadIdx.x; i < n; i += 32) s += expf(row[i] - m);
    for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(0xffffffffu, s, d);
    for (int i = threadIdx.x; i < n; i += 32) y[blockIdx.x * n + i] = expf(row[i] - m) / s;
}
"""


def tree():
    def warp_loop(*body):
        return for_(let("int i", threadIdx.x), i < n, assign(i, 32, "+="), *body)

    def butterfly(*body):
        return for_(let("int d", 16), d, assign(d, 1, ">>="), *body)

    return unit(kernel(
        "softmax", "const float *x, float *y, int n",
        let("const float *row", x + blockIdx.x * n), let("float m", f32(-1e30)),
        let("float s", 0),
        warp_loop(assign(m, call("fmaxf", m, row[i]))),
        butterfly(assign(m, call("fmaxf", m, call("__shfl_xor_sync", u32(ALL), m, d)))),
        warp_loop(assign(s, call("expf", row[i] - m), "+=")),
        butterfly(assign(s, call("__shfl_xor_sync", u32(ALL), s, d), "+=")),
        warp_loop(assign(y[blockIdx.x * n + i], call("expf", row[i] - m) / s)),
    ))


def case():
    v = np.random.default_rng(5).normal(0, 3, (4, 100)).astype(np.float32)
    e = np.exp(v.astype(np.float64) - v.max(1, keepdims=True))
    return ("softmax", 4, 32, [v, np.zeros_like(v), np.int32(100)], 1,
            (e / e.sum(1, keepdims=True)).astype(np.float32), 1e-6)
