#include "../selfcheck.h"

__global__ void half_way(int *x) {
    if (threadIdx.x < 32) {
        asm volatile("barrier.sync 1, 64;"); // nobody else comes
    }
    x[threadIdx.x] = 1;
}
int main() {
    int *d;
    cudaMalloc(&d, 256);
    half_way<<<1, 64>>>(d);
    cudaError_t e = cudaDeviceSynchronize();
    return e != cudaSuccess;
}
