#include <cuda_runtime.h>
#include <limits>
__global__ void testKernel(int *g_odata) {
    const unsigned int tid = blockDim.x * blockIdx.x + threadIdx.x;
    atomicAdd(&g_odata[0], 10);
    atomicSub(&g_odata[1], 10);
    atomicExch(&g_odata[2], tid);
    atomicMax(&g_odata[3], tid);
    atomicMin(&g_odata[4], tid);
    atomicInc((unsigned int *)&g_odata[5], 17);
    atomicDec((unsigned int *)&g_odata[6], 137);
    atomicCAS(&g_odata[7], tid - 1, tid);
    atomicAnd(&g_odata[8], 2 * tid + 7);
    atomicOr(&g_odata[9], 1 << tid);
    atomicXor(&g_odata[10], tid);
}
__device__ double atomicAddDouble(double *address, double val) {
    unsigned long long int *address_as_ull = (unsigned long long int *)address;
    unsigned long long int old = *address_as_ull, assumed;
    do {
        assumed = old;
        old = atomicCAS(address_as_ull, assumed, __double_as_longlong(val + __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}
__device__ float atomicMaxFloat(float *addr, float value) {
    return (value >= 0) ? __int_as_float(atomicMax((int *)addr, __float_as_int(value))) : __uint_as_float(atomicMin((unsigned int *)addr, __float_as_uint(value)));
}
__global__ void votes(const float *x, double *sum, float *most, unsigned *ballots, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? x[i] : -std::numeric_limits<float>::infinity();
    unsigned mask = __ballot_sync(0xffffffffu, v > 0.5f);
    if ((threadIdx.x & 31) == 0) ballots[i / 32] = mask;
    if (__any_sync(0xffffffffu, v > 0.5f)) { if (i < n) atomicAddDouble(sum, v); }
    if (i < n) atomicMaxFloat(most, v);
    if (__all_sync(0xffffffffu, v > 2.0f)) ballots[0] = __popc(mask) + __ffs(mask) + __clz(mask) + __brev(mask);
}
