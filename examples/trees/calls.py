"""What calls of the real front end carry and CUDA C cannot say: how many registers a call keeps,
and the number of an intrinsic that goes past the calling convention."""

import numpy as np

from nvir.frontend.build import *  # noqa: F403

# ruff: noqa: F405

x, out, n, i, v, mixed, above = names("x out n i v mixed above")
WARP_PRIMITIVE = 10219  # the real front end's number

CUDA = r"""
__device__ __noinline__ int mix(int v) { return v * 3 + 1; }
extern "C" __global__ void calls(const int *x, int *out, int n) {
    int i = threadIdx.x;
    int mixed = mix(x[i]);
    int above = __ballot_sync(0xffffffffu, mixed > n);
    out[i * 2] = mixed;
    out[i * 2 + 1] = above;
}
"""


def tree():
    mix = function("int mix", "int v", ret(v * 3 + 1), inline="never")
    ballot = function("int ballot", "int mask, bool holds", intrinsic=WARP_PRIMITIVE,
                      link_name="llvm.nvvm.vote.ballot.sync")
    return unit(ballot, mix, kernel(
        "calls", "const int *x, int *out, int n",
        let("int i", threadIdx.x), let("int mixed", call("mix", x[i], preserve=(8, -1, 2))),
        let("int above", call("ballot", -1, mixed > n)),
        assign(out[i * 2], mixed), assign(out[i * 2 + 1], above),
    ))


def case():
    xs = np.random.default_rng(4).integers(-50, 50, 64).astype(np.int32)
    mixed = xs * 3 + 1
    above = [int(sum(1 << k for k in range(32) if row[k] > 10))
             for row in mixed.reshape(2, 32)]
    words = np.repeat(np.array(above, np.uint32).view(np.int32), 32)
    return ("calls", 1, 64, [xs, np.zeros(128, np.int32), np.int32(10)], 1,
            np.stack([mixed, words], 1).ravel())
