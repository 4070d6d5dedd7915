"""A matrix times a vector, a thread for each row; the columns lie one after another."""

import numpy as np

from nvir.frontend.build import *  # noqa: F403

# ruff: noqa: F405

a, x, y, rows, columns, row, i, s = names("a x y rows columns row i s")

CUDA = r"""
extern "C" __global__ void matvec(const float *a, const float *x, float *y, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float s = 0.0f;
    for (int i = 0; i < columns; i++) s += a[i * rows + row] * x[i];
    y[row] = s;
}
"""


def tree():
    return unit(kernel(
        "matvec", "const float *a, const float *x, float *y, int rows, int columns",
        let("int row", blockIdx.x * blockDim.x + threadIdx.x),
        if_(row >= rows, ret()),
        let("float s", f32(0)),
        for_(let("int i", 0), i < columns, inc(i), assign(s, a[i * rows + row] * x[i], "+=")),
        assign(y[row], s),
    ))


def case():
    rng = np.random.default_rng(7)
    a, x = rng.random((50, 100), np.float32), rng.random(50, np.float32)  # columns of 100 rows
    return ("matvec", 4, 32, [a, x, np.zeros(100, np.float32), np.int32(100), np.int32(50)], 2,
            x @ a, 1e-5)
