#include "selfcheck.h"

template <typename T> __device__ T warp_sum(T x) {
    for (int s = 16; s; s >>= 1) x += __shfl_down_sync(~0u, x, s);
    return x;
}
template <typename T> __global__ void sum(const T *in, T *out, int n) {
    __shared__ T part[32];
    T x = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x += in[i];
    x = warp_sum(x);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x < 32) {
        x = warp_sum(threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : T(0));
        if (threadIdx.x == 0) atomicAdd(out, x);
    }
}
template <typename T> bool test() {
    const int n = 5000;
    T *a, *out;
    CHECK(cudaMallocManaged(&a, n * sizeof(T))); CHECK(cudaMallocManaged(&out, sizeof(T)));
    T want = 0;
    for (int i = 0; i < n; i++) want += a[i] = T(i % 13);
    *out = 0;
    sum<<<8, 128>>>(a, out, n);
    CHECK(cudaDeviceSynchronize());
    return *out == want;
}
int main() { return verdict(test<int>() && test<float>() && test<double>() && test<unsigned long long>()); }
