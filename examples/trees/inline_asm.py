"""Inline assembly: an output, a read-write operand, a literal, two results, a predicate."""

import numpy as np

from nvir.frontend.build import *  # noqa: F403

# ruff: noqa: F405

out, x, i, a, c, hi, lo, lane = names("out x i a c hi lo lane")

CUDA = r"""
extern "C" __global__ void inline_asm(unsigned *out, const unsigned *x) {
    int i = threadIdx.x;
    unsigned a = x[i], c = a, hi, lo, lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("add.u32 %0, %0, %1;" : "+r"(c) : "n"(7));
    asm("{ .reg .u64 t; mul.wide.u32 t, %2, %3; mov.b64 {%0, %1}, t; }"
        : "=r"(lo), "=r"(hi) : "r"(a), "r"(c));
    asm volatile("{ .reg .pred p; setp.gt.u32 p, %1, 99; @p add.u32 %0, %0, 1; }"
        : "+r"(hi) : "r"(lane * 10) : "memory");
    out[i] = lo ^ hi;
}
"""


def tree():
    return unit(kernel(
        "inline_asm", "unsigned *out, const unsigned *x",
        let("int i", threadIdx.x), let("unsigned a", x[i]), let("unsigned c", a),
        let("unsigned hi"), let("unsigned lo"), let("unsigned lane"),
        asm("mov.u32 %0, %%laneid;", [("=r", lane)], volatile=True),
        asm("add.u32 %0, %0, %1;", [("+r", c)], [("n", 7)]),
        asm("{ .reg .u64 t; mul.wide.u32 t, %2, %3; mov.b64 {%0, %1}, t; }",
            [("=r", lo), ("=r", hi)], [("r", a), ("r", c)]),
        asm("{ .reg .pred p; setp.gt.u32 p, %1, 99; @p add.u32 %0, %0, 1; }",
            [("+r", hi)], [("r", lane * 10)], ["memory"], volatile=True),
        assign(out[i], lo ^ hi),
    ))


def case():
    xs = np.random.default_rng(6).integers(0, 2**32, 32, dtype=np.uint64)
    product = xs * ((xs + 7) & 0xFFFFFFFF)
    high = (product >> 32) + (np.arange(32) * 10 > 99)
    want = ((product & 0xFFFFFFFF) ^ high) & 0xFFFFFFFF
    return ("inline_asm", 1, 32, [np.zeros(32, np.uint32), xs.astype(np.uint32)], 0,
            want.astype(np.uint32))
