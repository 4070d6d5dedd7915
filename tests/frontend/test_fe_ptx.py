"""The whole way: a tree's IR selected to PTX, taken by ptxas, with the results it had before."""

from __future__ import annotations

import numpy as np
import pytest
from fe_judges import module_of, run
from fe_random import OUTS, Program

import nvir
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
    ))  # fmt: skip


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
