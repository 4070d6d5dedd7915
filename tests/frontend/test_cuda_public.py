"""What public CUDA sources asked of the front end, each in a small kernel of our own."""

from __future__ import annotations

import numpy as np
import pytest

import nvir
from nvir.ir.errors import NvirError

GROUPS = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int *in, int *out, float *f) {
    __shared__ int stage[256];
    __shared__ cg::block_tile_memory<256> room;
    auto block = cg::this_thread_block(room);
    auto big = cg::tiled_partition<128>(block);
    auto warp = cg::tiled_partition<32>(block);
    cg::memcpy_async(block, stage, in, sizeof(int) * 256);
    cg::wait(block);
    int v = stage[block.thread_rank()];
    int sum = cg::reduce(big, v, cg::plus<int>());
    auto odd = cg::binary_partition(warp, v & 1);
    int of_odd = cg::reduce(odd, v, cg::plus<int>());
    float least = cg::reduce(odd, (float)v, cg::less<float>());
    auto label = cg::labeled_partition(warp, v & 3);
    int scan = cg::exclusive_scan(warp, v);
    cg::thread_group four = cg::tiled_partition(block, 4);
    int *o = out + 6 * block.thread_rank();
    o[0] = sum; o[1] = of_odd; o[2] = scan; o[3] = four.thread_rank() + 10 * four.size();
    o[4] = odd.ballot(v > 50); o[5] = cg::inclusive_scan(label, 1);
    f[block.thread_rank()] = least;
}
"""


def test_groups_of_all_kinds() -> None:
    values = np.random.default_rng(3).integers(0, 100, 256).astype(np.int32)
    out, least = np.zeros((256, 6), np.int32), np.zeros(256, np.float32)
    nvir.launch(nvir.compile_cuda(GROUPS), "k", 1, 256, [values, out, least])
    for t in range(256):
        warp = values[t & ~31 : (t & ~31) + 32]
        half = values[t & ~127 : (t & ~127) + 128]
        same = warp[(warp & 1) == (values[t] & 1)]
        labels = (warp & 3) == (values[t] & 3)
        want = [half.sum(), same.sum(), warp[: t & 31].sum(), (t & 3) + 40,
                sum(int(v > 50) << n for n, v in enumerate(same)),
                labels[: (t & 31) + 1].sum()]
        assert out[t].tolist() == want
        assert least[t] == same.min()


WRONG_TEMPLATE = """
template <class T> __global__ void bad(T *p) { no_such_type x; p[0] = 1; }
__global__ void good(int *p) { p[0] = 2; }
void host(int *p) { %s }
"""


def test_a_wrong_kernel_template_that_is_launched_is_an_error() -> None:
    with pytest.raises(NvirError, match="no_such_type"):
        nvir.compile_cuda(WRONG_TEMPLATE % "bad<int><<<1, 1>>>(p);")


def test_a_wrong_kernel_template_that_nothing_uses_is_not() -> None:
    module = nvir.compile_cuda(WRONG_TEMPLATE % "")
    assert [f.name for f in module.functions if f.is_kernel] == ["_Z4goodPi"]


def test_a_namespace_of_a_header_that_is_not_there_stops_nothing() -> None:
    source = "#include <nowhere/all.cuh>\nusing namespace nowhere;\n__global__ void k(int *p) {}\n"
    assert [f.name for f in nvir.compile_cuda(source).functions] == ["_Z1kPi"]


def test_a_launch_by_device_code_is_named() -> None:
    source = "__global__ void c(int *p) {}\n__global__ void k(int *p) { c<<<1, 32>>>(p); }\n"
    with pytest.raises(NvirError, match=r"unsupported: 'c' is launched by device code"):
        nvir.compile_cuda(source)


TILE = r"""
__global__ void k(float *out, const float4 *a, const float4 *b, int n) {
    float sums[8][8] = {};
    for (int s = 0; s < n; ++s) {
        float4 right[8];
        for (int u = 0; u < 8; ++u) right[u] = b[s * 8 + u];
        for (int i = 0; i < 8; ++i) {
            float4 left = a[s * 8 + i];
            for (int j = 0; j < 8; ++j) {
                sums[i][j] += left.x * right[j].x; sums[i][j] += left.y * right[j].y;
                sums[i][j] += left.z * right[j].z; sums[i][j] += left.w * right[j].w;
            }
        }
    }
    for (int i = 0; i < 8; ++i) for (int j = 0; j < 8; ++j) out[i * 8 + j] = sums[i][j];
}
"""


def test_a_tile_of_sums_lives_in_registers() -> None:
    module = nvir.compile_cuda(TILE)
    text = nvir.print_ptx(module)
    assert ".local" not in text
    assert text.count("fma.rn.f32") == 256
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 3, 8, 4), np.float32)
    out = np.zeros((8, 8), np.float32)
    nvir.launch(module, next(f.name for f in module.functions if f.is_kernel), 1, 1,
                [out, np.ascontiguousarray(a), np.ascontiguousarray(b), np.int32(3)])
    np.testing.assert_allclose(out, np.einsum("sik,sjk->ij", a, b), rtol=1e-4, atol=1e-5)


OUTER = """
__global__ void k(int *o, const int *in, int n) {
    int j, last = 0;%s
#pragma unroll
    for (j = 0; j < 5; j++) { last += in[threadIdx.x * 5 + j] * j; }
    o[threadIdx.x] = last * 10 + j;
}
"""


@pytest.mark.parametrize(("before", "labels"), [("", False), ("int *p = &j; o[99] = *p;", True)])
def test_a_loop_over_a_variable_of_the_block_is_written_out(before: str, labels: bool) -> None:
    module = nvir.compile_cuda(OUTER % before)
    name = next(f.name for f in module.functions if f.is_kernel)
    assert (len(list(next(f for f in module.functions if f.is_kernel).blocks)) > 1) == labels
    values = np.arange(40, dtype=np.int32)
    out = np.zeros(100, np.int32)
    nvir.launch(module, name, 1, 8, [out, values, np.int32(0)])
    want = (values.reshape(8, 5) * np.arange(5)).sum(1) * 10 + 5
    assert out[:8].tolist() == want.tolist()


OWN_OVERLOAD = """
__device__ double atomicMin(double *p, double v) {
    unsigned long long seen = *(unsigned long long *)p, was;
    do {
        was = seen;
        if (__longlong_as_double(was) <= v) break;
        seen = atomicCAS((unsigned long long *)p, was, __double_as_longlong(v));
    } while (seen != was);
    return __longlong_as_double(seen);
}
extern "C" __global__ void k(double *d, int *n, const double *in) {
    atomicMin(d, in[threadIdx.x]);
    atomicMin(n, (int)threadIdx.x - 7);
}
"""


def test_an_overload_of_the_programs_own_hides_no_builtin() -> None:
    values = np.random.default_rng(8).standard_normal(32)
    least, n = np.full(1, 9.0), np.zeros(1, np.int32)
    nvir.launch(nvir.compile_cuda(OWN_OVERLOAD), "k", 1, 32, [least, n, values])
    assert least[0] == values.min()
    assert n[0] == -7


ASM = r"""
#define TWO(a, b, x) do { asm("add.u32 %0, %1, 1;" : "=r"(a) : "r"(x)); \
    asm volatile("mul.lo.u32 %0, %1, 3;" : "=r"(b) : "r"(x)); } while (0)
template <int N> __device__ unsigned f(unsigned x) {
    unsigned a, b;
    TWO(a, b, x);
    return a * N + b;
}
extern "C" __global__ void k(unsigned *o) {
    unsigned a, b;
    TWO(a, b, threadIdx.x);
    o[threadIdx.x] = 1000 * a + b;
    TWO(a, b, threadIdx.x + 5);
    o[threadIdx.x + 32] = 1000 * a + b + f<7>(threadIdx.x);
}
"""


def test_each_assembly_of_a_macro_is_its_own() -> None:
    out, t = np.zeros(64, np.uint32), np.arange(32)
    nvir.launch(nvir.compile_cuda(ASM), "k", 1, 32, [out])
    assert out[:32].tolist() == (1000 * (t + 1) + 3 * t).tolist()
    want = 1000 * (t + 6) + 3 * (t + 5) + 7 * (t + 1) + 3 * t
    assert out[32:].tolist() == want.tolist()


PAIRS = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void k(const half2 *a, const half2 *b, half2 *o, __nv_bfloat16 *w, float *f) {
    __shared__ half2 kept[32];
    int i = threadIdx.x;
    kept[i] = a[i] * b[i];
    __syncthreads();
    half2 v = kept[i ^ 1] - __ldcg(a + i);
    v += __hmax2(a[i], __float2half2_rn(0.25f));
    o[i] = __shfl_xor_sync(0xffffffffu, v, 2);
    __nv_bfloat162 p = __floats2bfloat162_rn(i, 2 * i);
    p = p + __bfloat162bfloat162(__float2bfloat16(0.5f));
    p = p * __float2bfloat162_rn(2.0f) - __halves2bfloat162(__low2bfloat16(p), __high2bfloat16(p));
    f[i] = __low2float(p) * 1000 + __high2float(p);
    atomicAdd(w + (i & 1), __float2bfloat16(1.0f));
    atomicAdd((__nv_bfloat162 *)w + 1, __floats2bfloat162_rn(1.0f, 2.0f));
}
"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_pairs_of_half_and_bfloat16(arch: str) -> None:
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((2, 32, 2)).astype(np.float16)
    out, words, f = np.zeros((32, 2), np.float16), np.zeros(4, np.uint16), np.zeros(32, np.float32)
    nvir.launch(nvir.compile_cuda(PAIRS, arch=arch), "k", 1, 32, [a, b, out, words, f])
    t = np.arange(32)
    v = (a * b)[t ^ 1] - a
    v = v + np.maximum(a, np.float16(0.25))
    assert out.tobytes() == v[t ^ 2].tobytes()
    assert f.tolist() == ((t + 0.5) * 1000 + 2 * t + 0.5).tolist()
    assert (words.astype(np.uint32) << 16).view(np.float32).tolist() == [16, 16, 32, 64]
