"""Packed pixels: bit-fields read, changed and summed."""

import numpy as np

from nvir.frontend.build import *  # noqa: F403

# ruff: noqa: F405

px, out, n, i, p, q = names("px out n i p q")

CUDA = r"""
struct Pixel { unsigned r : 5, g : 6, b : 5; int bias : 12; unsigned flag : 4; };
extern "C" __global__ void bitfields(Pixel *px, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Pixel p = px[i];
    p.g += p.r;
    p.bias -= 100;
    p.b = ~p.b;
    if (p.flag & 1) p.r = p.b; else p.flag++;
    px[i] = p;
    out[i] = p.r + p.g * 100 + p.b * 10000 + p.bias * 7 + p.flag;
}
"""


def tree():
    types = {}
    record("Pixel", "unsigned r : 5, unsigned g : 6, unsigned b : 5, int bias : 12, "
                    "unsigned flag : 4", types)
    return unit(kernel(
        "bitfields", "Pixel *px, int *out, int n",
        let("int i", blockIdx.x * blockDim.x + threadIdx.x),
        if_(i >= n, ret()),
        let("Pixel p", px[i], types=types),
        assign(p.g, p.r, "+="), assign(p.bias, 100, "-="), assign(p.b, ~p.b),
        if_(p.flag & 1, assign(p.r, p.b), otherwise=inc(p.flag)),
        assign(px[i], p),
        assign(out[i], p.r + p.g * 100 + p.b * 10000 + p.bias * 7 + p.flag),
        types=types,
    ), types=types)


def case():
    words = np.random.default_rng(8).integers(0, 2**32, 60, dtype=np.uint64).astype(np.uint32)
    r, g, b_ = (words >> s & m for s, m in ((0, 31), (5, 63), (11, 31)))
    bias = (words >> 16 & 4095).astype(np.int64)
    flag = words >> 28
    g = (g + r) & 63
    bias = (bias - 100) & 4095
    bias = np.where(bias >= 2048, bias - 4096, bias)
    b_ = ~b_ & 31
    odd = (flag & 1) == 1
    r, flag = np.where(odd, b_, r), np.where(odd, flag, (flag + 1) & 15)
    want = r + g * 100 + b_ * 10000 + bias * 7 + flag
    return ("bitfields", 2, 32, [words, np.zeros(60, np.int32), np.int32(60)], 1,
            want.astype(np.int32))
