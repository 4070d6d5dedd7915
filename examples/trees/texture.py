"""A texture sampled between its texels, and fetched at them."""

import numpy as np

from nvir.frontend.build import *  # noqa: F403

# ruff: noqa: F405

out, tex, x, y, v = names("out tex x y v")

CUDA = r"""
extern "C" __global__ void texture(float *out, cudaTextureObject_t tex) {
    int x = threadIdx.x, y = threadIdx.y;
    float4 v = tex2D<float4>(tex, x + 0.5f, y + 0.5f);
    out[y * 8 + x] = v.x + tex2D<float>(tex, x + 1.0f, y + 0.5f);
}
"""


def tree():
    return unit(kernel(
        "texture", "float *out, unsigned long long tex",
        let("int x", threadIdx.x), let("int y", threadIdx.y),
        let("float4 v", call("tex2D_float4", tex, x + f32(0.5), y + f32(0.5))),
        assign(out[y * 8 + x], v.x + call("tex2D_float", tex, x + f32(1), y + f32(0.5))),
    ))


def case():
    from nvir.interp.texture import Texture

    texels = np.arange(64, dtype=np.float32).reshape(8, 8) ** 1.5
    right = np.concatenate([texels[:, 1:], texels[:, -1:]], 1)
    want = texels + (texels + right) / 2
    return ("texture", 1, (8, 8), [np.zeros((8, 8), np.float32), Texture(texels, filter="linear")],
            0, want, 1e-5)
