"""Counts of bytes: a histogram of each block in shared memory, added to the global one."""

import numpy as np

from nvir.frontend.build import *  # noqa: F403

# ruff: noqa: F405

data, out, n, i, bins = names("data out n i bins")

CUDA = r"""
extern "C" __global__ void histogram(const unsigned char *data, unsigned *out, int n) {
    __shared__ unsigned bins[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[data[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        if (bins[i]) atomicAdd(&out[i], bins[i]);
}
"""


def tree():
    return unit(kernel(
        "histogram", "const unsigned char *data, unsigned *out, int n",
        let("unsigned bins[256]", memory="shared"),
        for_(let("int i", threadIdx.x), i < 256, assign(i, blockDim.x, "+="), assign(bins[i], 0)),
        call("__syncthreads"),
        for_(let("int i", blockIdx.x * blockDim.x + threadIdx.x), i < n,
             assign(i, gridDim.x * blockDim.x, "+="),
             call("atomicAdd", addr(bins[data[i]]), u32(1))),
        call("__syncthreads"),
        for_(let("int i", threadIdx.x), i < 256, assign(i, blockDim.x, "+="),
             if_(bins[i], call("atomicAdd", addr(out[i]), bins[i]))),
    ))


def case():
    values = np.random.default_rng(4).integers(0, 256, 2000).astype(np.uint8)
    return ("histogram", 3, 64, [values, np.zeros(256, np.uint32), np.int32(2000)], 1,
            np.bincount(values, minlength=256).astype(np.uint32))
