"""printf from the device, with every kind of argument."""

import numpy as np

from nvir.frontend.build import *  # noqa: F403

# ruff: noqa: F405

out, f, i = names("out f i")
STDOUT = "".join(f"thread {k}: {k * 1.5:f} {'abcd'[k]} {k << 40} ok\n" for k in range(4)) + "done\n"

CUDA = r"""
extern "C" __global__ void hello(int *out, float f) {
    int i = threadIdx.x;
    out[i] = i;
    printf("thread %d: %f %c %lld %s\n", i, i * f, (char)('a' + i), (long long)i << 40, "ok");
    if (i == 3) printf("done\n");
}
"""


def tree():
    return unit(kernel(
        "hello", "int *out, float f",
        let("int i", threadIdx.x), assign(out[i], i),
        call("printf", "thread %d: %f %c %lld %s\n", i, i * f, cast("char", ord("a") + i),
             cast("long long", i) << 40, "ok"),
        if_(i == 3, call("printf", "done\n")),
    ))


def case():
    return ("hello", 1, 4, [np.zeros(4, np.int32), np.float32(1.5)], 0,
            np.arange(4, dtype=np.int32))
