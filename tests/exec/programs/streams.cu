#include "selfcheck.h"

__global__ void scale(float *x, float f, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= f;
}
int main() {
    const int n = 1024, parts = 4;
    float *host, *d;
    cudaStream_t s[parts];
    CHECK(cudaHostAlloc(&host, parts * n * 4, cudaHostAllocDefault));
    CHECK(cudaMalloc(&d, parts * n * 4));
    for (int i = 0; i < parts * n; i++) host[i] = i;
    for (int p = 0; p < parts; p++) {
        CHECK(cudaStreamCreate(&s[p]));
        CHECK(cudaMemcpyAsync(d + p * n, host + p * n, n * 4, cudaMemcpyHostToDevice, s[p]));
        scale<<<n / 256, 256, 0, s[p]>>>(d + p * n, p + 2, n);
        CHECK(cudaMemcpyAsync(host + p * n, d + p * n, n * 4, cudaMemcpyDeviceToHost, s[p]));
    }
    bool ok = true;
    for (int p = 0; p < parts; p++) {
        CHECK(cudaStreamSynchronize(s[p]));
        CHECK(cudaStreamDestroy(s[p]));
        for (int i = p * n; i < (p + 1) * n; i++) ok &= host[i] == float(i) * (p + 2);
    }
    CHECK(cudaFreeHost(host));
    return verdict(ok);
}
