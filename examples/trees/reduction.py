"""The sum of an array: shuffles within warps, then among warps, one atomic a block."""

import numpy as np

from nvir.frontend.build import *  # noqa: F403

# ruff: noqa: F405

x, out, n, s, i, d, part, lane, warp = names("x out n s i d part lane warp")

CUDA = r"""
__device__ int warp_sum(int s) {
    for (int d = 16; d > 0; d >>= 1) s += __shfl_down_sync(0xffffffffu, s, d);
    return s;
}
extern "C" __global__ void reduction(const int *x, int *out, int n) {
    __shared__ int part[32];
    int s = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        s += x[i];
    s = warp_sum(s);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0) part[warp] = s;
    __syncthreads();
    if (warp == 0) {
        s = warp_sum(lane < blockDim.x / 32 ? part[lane] : 0);
        if (lane == 0) atomicAdd(out, s);
    }
}
"""


def tree():
    warp_sum = function(
        "int warp_sum", "int s",
        for_(let("int d", 16), d > 0, assign(d, 1, ">>="),
             assign(s, call("__shfl_down_sync", u32(0xFFFFFFFF), s, d), "+=")),
        ret(s),
    )
    return unit(warp_sum, kernel(
        "reduction", "const int *x, int *out, int n",
        let("int part[32]", memory="shared"), let("int s", 0),
        for_(let("int i", blockIdx.x * blockDim.x + threadIdx.x), i < n,
             assign(i, gridDim.x * blockDim.x, "+="), assign(s, x[i], "+=")),
        assign(s, call("warp_sum", s)),
        let("int lane", threadIdx.x % 32), let("int warp", threadIdx.x / 32),
        if_(lane == 0, assign(part[warp], s)),
        call("__syncthreads"),
        if_(warp == 0,
            assign(s, call("warp_sum", cond(lane < blockDim.x / 32, part[lane], 0))),
            if_(lane == 0, call("atomicAdd", out, s))),
    ))


def case():
    xs = np.random.default_rng(3).integers(-1000, 1000, 3000).astype(np.int32)
    return ("reduction", 4, 128, [xs, np.zeros(1, np.int32), np.int32(3000)], 1,
            np.array([xs.sum()], np.int32))
