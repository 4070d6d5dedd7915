#include "selfcheck.h"

#include <cuda_fp16.h>
__global__ void axpy(const __half2 *x, __half2 *y, __half a, int n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) y[i] = __hfma2(__half2half2(a), x[i], y[i]);
}
int main() {
    const int n = 200;
    std::vector<__half> x(2 * n), y(2 * n);
    for (int i = 0; i < 2 * n; i++) x[i] = __float2half(i % 16), y[i] = __float2half(0.5f * (i % 8));
    __half2 *dx, *dy;
    CHECK(cudaMalloc(&dx, n * 4)); CHECK(cudaMalloc(&dy, n * 4));
    CHECK(cudaMemcpy(dx, x.data(), n * 4, cudaMemcpyHostToDevice)); CHECK(cudaMemcpy(dy, y.data(), n * 4, cudaMemcpyHostToDevice));
    axpy<<<2, 128>>>(dx, dy, __float2half(2.0f), n);
    CHECK(cudaMemcpy(y.data(), dy, n * 4, cudaMemcpyDeviceToHost));
    bool ok = true;
    for (int i = 0; i < 2 * n; i++) ok &= __half2float(y[i]) == 2.0f * (i % 16) + 0.5f * (i % 8);
    return verdict(ok);
}
