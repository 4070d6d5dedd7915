#include "selfcheck.h"

struct Square { __device__ float operator()(float x) const { return x * x; } };
struct Clamp { float low, high; __device__ float operator()(float x) const { return fminf(fmaxf(x, low), high); } };
template <typename F, int UNROLL> __global__ void apply(float *x, int n, F f) {
    int base = (blockIdx.x * blockDim.x + threadIdx.x) * UNROLL;
#pragma unroll
    for (int k = 0; k < UNROLL; k++) if (base + k < n) x[base + k] = f(x[base + k]);
}
int main() {
    const int n = 777;
    float *x;
    CHECK(cudaMallocManaged(&x, n * 4));
    for (int i = 0; i < n; i++) x[i] = i;
    apply<Square, 4><<<(n + 511) / 512, 128>>>(x, n, Square());
    apply<Clamp, 2><<<(n + 255) / 256, 128>>>(x, n, Clamp{10.0f, 5000.0f});
    CHECK(cudaDeviceSynchronize());
    bool ok = true;
    for (int i = 0; i < n; i++) ok &= x[i] == std::min(std::max(float(i) * i, 10.0f), 5000.0f);
    return verdict(ok);
}
