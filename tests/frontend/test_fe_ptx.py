"""The whole way: a tree's IR selected to PTX, taken by ptxas, with the results it had before."""

from __future__ import annotations

import re

import numpy as np
import pytest
from fe_judges import module_of, run
from fe_random import OUTS, Program

import nvir
from nvir import toolchain
from nvir.compiler import compile_tree
from nvir.frontend import build as b

out, i, x, y, n = b.names("out i x y n")


def scaled():
    square = b.function("float square", "float v", b.ret(b.name("v") * b.name("v")))
    return b.unit(square, b.kernel(
        "k", "float *out, const float *x, int n",
        b.let("int i", b.blockIdx.x * b.blockDim.x + b.threadIdx.x),
        b.let("float tile[64]", memory="shared"),
        b.assign(b.name("tile")[b.threadIdx.x], b.cond(i < n, x[i], 0)),
        b.call("__syncthreads"),
        b.if_(i < n, b.for_(b.let("int j", 0), b.name("j") < 4, b.inc(b.name("j")),
                            b.assign(out[i], b.call("square", b.name("tile")[
                                (b.threadIdx.x + b.name("j")) % 64]), "+="), unroll="full")),
    ))


def test_a_kernel_with_shared_memory_and_calls():
    data = np.arange(128, dtype=np.float32)
    results = []
    for select in (False, True):
        module = module_of(scaled())
        if select:
            nvir.run_passes(module, "select", verify=True)
        got = np.ones(128, np.float32)
        run(module, "k", [got, data, np.int32(100)], grid=2, block=64)
        results.append(got)
    tile = np.where(np.arange(128) < 100, data, 0).reshape(2, 64)
    expected = 1 + sum(np.roll(tile, -k, axis=1) ** 2 for k in range(4)).reshape(-1)
    expected[100:] = 1
    assert (results[0] == expected).all()
    assert (results[1] == expected).all()


@pytest.mark.oracle
@pytest.mark.parametrize("seed", range(20000, 20003))
def test_random_programs_on_the_whole_way(seed):
    from nvir.toolchain.ptxas import ptxas

    rows = []
    for select in (False, True):
        p = Program(seed)
        module = module_of(p.unit)
        if select:
            nvir.run_passes(module, "select", verify=True)
            assert ptxas(nvir.print_ptx(module)).ok
        out_ = np.zeros(OUTS, np.int64)
        args = [out_, np.int32(-5), np.uint32(77), np.int64(1 << 33), np.float64(0.5)]
        run(module, p.kernel.name, args, block=1)
        rows.append(out_.tolist())
    assert rows[0] == rows[1]


@pytest.mark.seed("GAP-11")
def test_register_classes_of_small_and_wide_types():
    """Integers of 8 and 16 bits, half and bfloat in %rs, never in an %h; __int128 in two %rd."""
    out = b.name("out")
    tree = b.unit(b.kernel(
        "k", "short *out, const signed char *c, const half *h, const __int128 *q, const float4 *v",
        b.let("short s", b.name("c")[0] + out[1]),
        b.let("half x", b.name("h")[0] + b.name("h")[1]),
        b.let("__int128 w", b.name("q")[0] + b.name("q")[1]),
        b.let("float4 z", b.name("v")[0]),
        b.assign(out[0], b.name("s") + b.cast("short", b.name("x"))
                 + b.cast("short", b.name("w")) + b.cast("short", b.name("z").y)),
    ))
    ptx = nvir.print_ptx(compile_tree(tree, optimise=2))
    files = dict(re.findall(r"\.reg \.(\w+)\s+%(\w+)<", ptx))
    assert files.get("b16") == "rs"
    assert "%h" not in ptx
    assert re.search(r"ld\.global\.s8 \t?%rs", ptx)
    assert re.search(r"add\.f16 \t?%rs", ptx)
    assert re.search(r"ld\.global\.v2\.u64 \t?\{%rd\d+, %rd\d+\}", ptx)
    assert re.search(r"ld\.global\.f32 \t?%f", ptx)
    if toolchain.available("ptxas"):
        assert toolchain.ptxas(ptx, "sm_80").ok
