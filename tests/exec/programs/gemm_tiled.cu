#include "selfcheck.h"

const int T = 16;
__global__ void gemm(const float *a, const float *b, float *c, int n) {
    __shared__ float as[T][T], bs[T][T];
    int r = blockIdx.y * T + threadIdx.y, q = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += T) {
        as[threadIdx.y][threadIdx.x] = a[r * n + k + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + q];
        __syncthreads();
        for (int i = 0; i < T; i++) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    c[r * n + q] = sum;
}
int main() {
    const int n = 64;
    float *a, *b, *c;
    CHECK(cudaMallocManaged(&a, n * n * 4)); CHECK(cudaMallocManaged(&b, n * n * 4)); CHECK(cudaMallocManaged(&c, n * n * 4));
    for (int i = 0; i < n * n; i++) a[i] = i % 7, b[i] = i % 5 - 2;
    gemm<<<dim3(n / T, n / T), dim3(T, T)>>>(a, b, c, n);
    CHECK(cudaDeviceSynchronize());
    bool ok = true;
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
        float want = 0;
        for (int k = 0; k < n; k++) want += a[i * n + k] * b[k * n + j];
        ok &= c[i * n + j] == want;
    }
    return verdict(ok);
}
