"""Structs passed by value and returned, small and large, and through a function pointer."""

import numpy as np

from nvir.frontend.build import *  # noqa: F403

# ruff: noqa: F405

out, v, w, s, i, p, q, step, m, k = names("out v w s i p q step m k")

CUDA = r"""
struct Vec { float x, y, z; };
struct Mat { Vec row[3]; };
struct Tagged { char tag; short weight; };
__device__ __noinline__ Vec add(Vec v, Vec w) { v.x += w.x; v.y += w.y; v.z += w.z; return v; }
__device__ __noinline__ Vec sub(Vec v, Vec w) { v.x -= w.x; v.y -= w.y; v.z -= w.z; return v; }
__device__ __noinline__ Mat grow(Mat m, float k) {
    for (int i = 0; i < 3; i++) m.row[i] = add(m.row[i], Vec{k, k + 1, k + 2});
    return m;
}
__device__ __noinline__ Tagged tag(Tagged s) { s.weight *= 2; s.tag++; return s; }
extern "C" __global__ void structs(float *out, Vec v) {
    int i = threadIdx.x;
    Mat m = {};
    m.row[1] = v;
    m = grow(m, i);
    Vec (*step)(Vec, Vec) = i % 2 ? add : sub;
    Vec w = step(m.row[1], m.row[2]);
    Tagged s = tag(Tagged{(char)i, (short)(i * 100)});
    out[i * 4] = w.x; out[i * 4 + 1] = w.y; out[i * 4 + 2] = w.z;
    out[i * 4 + 3] = s.tag + s.weight;
}
"""


def tree():
    types = {}
    record("Vec", "float x, float y, float z", types)
    record("Mat", "Vec row[3]", types)
    record("Tagged", "char tag, short weight", types)

    def each(name, op):
        return function(
            f"Vec {name}", "Vec v, Vec w", assign(v.x, w.x, op), assign(v.y, w.y, op),
            assign(v.z, w.z, op), ret(v), types=types, inline="never",
        )

    grow = function(
        "Mat grow", "Mat m, float k",
        for_(let("int i", 0), i < 3, inc(i),
             assign(m.row[i], call("add", m.row[i], compound(
                 "Vec", k, k + 1, k + 2, types=types)))),
        ret(m), types=types, inline="never",
    )
    tag = function("Tagged tag", "Tagged s", assign(s.weight, 2, "*="), inc(s.tag), ret(s),
                   types=types, inline="never")
    main = kernel(
        "structs", "float *out, Vec v",
        let("int i", threadIdx.x), let("Mat m", init(), types=types), assign(m.row[1], v),
        assign(m, call("grow", m, i)),
        let("Vec (*step)(Vec, Vec)", cond(i % 2, name("add"), name("sub")), types=types),
        let("Vec w", call(step, m.row[1], m.row[2]), types=types),
        let("Tagged s", call("tag", compound("Tagged", cast("char", i), cast("short", i * 100),
                                             types=types)), types=types),
        assign(out[i * 4], w.x), assign(out[i * 4 + 1], w.y), assign(out[i * 4 + 2], w.z),
        assign(out[i * 4 + 3], s.tag + s.weight), types=types,
    )
    return unit(each("add", "+="), each("sub", "-="), grow, tag, main, types=types)


def case():
    given = np.array([1.5, 2.5, -3.5], np.float32)
    rows = []
    for j in range(8):
        step = np.array([j, j + 1, j + 2], np.float32)
        one = given + step
        w = one + step if j % 2 else one - step
        rows.append([*w, j + 1 + j * 200])
    return ("structs", 1, 8, [np.zeros(32, np.float32), given.tobytes()], 0,
            np.array(rows, np.float32).ravel())
