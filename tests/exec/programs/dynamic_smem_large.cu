#include "selfcheck.h"

__global__ void reverse(int *x, int n) {
    extern __shared__ int s[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = s[n - 1 - i];
}
int main() {
    const int n = 16000;
    std::vector<int> a(n);
    for (int i = 0; i < n; i++) a[i] = i;
    int *d;
    CHECK(cudaMalloc(&d, n * 4)); CHECK(cudaMemcpy(d, a.data(), n * 4, cudaMemcpyHostToDevice));
    reverse<<<1, 256, n * 4>>>(d, n);
    bool refused = cudaGetLastError() == cudaErrorInvalidValue;
    CHECK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, n * 4));
    reverse<<<1, 256, n * 4>>>(d, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(a.data(), d, n * 4, cudaMemcpyDeviceToHost));
    bool ok = refused;
    for (int i = 0; i < n; i++) ok &= a[i] == n - 1 - i;
    return verdict(ok);
}
