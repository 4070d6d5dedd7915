"""y = a x + y: one thread an element."""

import numpy as np

from nvir.frontend.build import *  # noqa: F403

# ruff: noqa: F405

n, a, x, y, i = names("n a x y i")

CUDA = r"""
extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""


def tree():
    return unit(kernel(
        "saxpy", "int n, float a, const float *x, float *y",
        let("int i", blockIdx.x * blockDim.x + threadIdx.x),
        if_(i < n, assign(y[i], a * x[i] + y[i])),
    ))


def case():
    """Kernel, grid, block, arguments; which of them is read back, and what it then holds."""
    rng = np.random.default_rng(1)
    xs, ys = rng.random(300, dtype=np.float32), rng.random(300, dtype=np.float32)
    args = [np.int32(300), np.float32(2.5), xs, ys]
    return "saxpy", 2, 160, args, 3, np.float32(2.5) * xs + ys, 1e-6  # fma rounds once
