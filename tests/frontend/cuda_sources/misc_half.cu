#include <cuda_fp16.h>
#include <cuda_bf16.h>
__global__ void halves(const half *__restrict__ x, half *__restrict__ y, float *sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    half a = x[i], b = __float2half(0.5f);
    half c = __hadd(__hmul(a, b), __hfma(a, a, b));
    if (__hgt(c, __float2half(2.0f))) c = __hsub(c, b);
    y[i] = c;
    atomicAdd(sum, __half2float(c));
}
__global__ void pairs(const half2 *x, half2 *y, int n) {
    int i = threadIdx.x;
    if (i < n) { half2 v = __hmul2(x[i], __float2half2_rn(2.0f)); float2 f = __half22float2(v); y[i] = __floats2half2_rn(f.y, f.x + 1.0f); }
}
__global__ void brains(const __nv_bfloat16 *x, __nv_bfloat16 *y, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = __float2bfloat16(__bfloat162float(x[i]) * 1.5f + 0.25f);
}
