#include "selfcheck.h"

#include <cuda_pipeline.h>
__global__ void stage(const float *in, float *out, int tiles) {
    __shared__ float s[2][128];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[0][t], &in[t], 4);
    __pipeline_commit();
    for (int k = 0; k < tiles; k++) {
        if (k + 1 < tiles) { __pipeline_memcpy_async(&s[(k + 1) & 1][t], &in[(k + 1) * 128 + t], 4); }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        out[k * 128 + t] = s[k & 1][127 - t];
        __syncthreads();
    }
}
int main() {
    const int tiles = 6, n = tiles * 128;
    float *a, *b;
    CHECK(cudaMallocManaged(&a, n * 4)); CHECK(cudaMallocManaged(&b, n * 4));
    for (int i = 0; i < n; i++) a[i] = i;
    stage<<<1, 128>>>(a, b, tiles);
    CHECK(cudaDeviceSynchronize());
    bool ok = true;
    for (int i = 0; i < n; i++) ok &= b[i] == i / 128 * 128 + 127 - i % 128;
    return verdict(ok);
}
