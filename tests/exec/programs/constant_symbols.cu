#include "selfcheck.h"

__constant__ float filter[5];
__constant__ int table[4] = {2, 3, 5, 7};
__device__ int counter = 10;
__global__ void convolve(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0;
    for (int k = -2; k <= 2; k++) if (i + k >= 0 && i + k < n) s += in[i + k] * filter[k + 2];
    out[i] = s * table[i % 4];
    atomicAdd(&counter, 1);
}
int main() {
    const int n = 500;
    const float f[5] = {1, 2, 4, 2, 1}, *in;
    std::vector<float> a(n), b(n);
    for (int i = 0; i < n; i++) a[i] = i % 9;
    float *x, *y;
    int *where, seen;
    size_t size;
    CHECK(cudaMalloc(&x, n * 4)); CHECK(cudaMalloc(&y, n * 4));
    CHECK(cudaMemcpyToSymbol(filter, f, sizeof f));
    CHECK(cudaMemcpy(x, a.data(), n * 4, cudaMemcpyHostToDevice));
    in = x;
    convolve<<<2, 256>>>(in, y, n);
    CHECK(cudaMemcpy(b.data(), y, n * 4, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpyFromSymbol(&seen, counter, 4));
    CHECK(cudaGetSymbolAddress((void **)&where, counter)); CHECK(cudaGetSymbolSize(&size, table));
    bool ok = seen == n + 10 && size == 16;
    CHECK(cudaMemcpy(&seen, where, 4, cudaMemcpyDeviceToHost));
    ok &= seen == n + 10;
    const int t[4] = {2, 3, 5, 7};
    for (int i = 0; i < n; i++) {
        float s = 0;
        for (int k = -2; k <= 2; k++) if (i + k >= 0 && i + k < n) s += a[i + k] * f[k + 2];
        ok &= b[i] == s * t[i % 4];
    }
    return verdict(ok);
}
