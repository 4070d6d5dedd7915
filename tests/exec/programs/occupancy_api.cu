#include "selfcheck.h"

__global__ __launch_bounds__(256) void k(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = sqrtf(x[i]); }
int main() {
    int grid, block, blocks;
    cudaFuncAttributes a;
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, k, 0, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k, 256, 0));
    CHECK(cudaFuncGetAttributes(&a, k));
    float *x;
    CHECK(cudaMallocManaged(&x, 4000));
    for (int i = 0; i < 1000; i++) x[i] = i * i;
    k<<<(1000 + block - 1) / block, block>>>(x, 1000);
    CHECK(cudaDeviceSynchronize());
    bool ok = block >= 32 && block <= 256 && grid > 0 && blocks >= 4 && a.maxThreadsPerBlock == 256 && a.numRegs > 0 && a.sharedSizeBytes == 0;
    for (int i = 0; i < 1000; i++) ok &= x[i] == i;
    return verdict(ok);
}
