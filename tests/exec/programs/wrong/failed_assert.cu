#include "../selfcheck.h"

__global__ void even(const int *x) { assert(x[threadIdx.x] % 2 == 0); }
int main() {
    int a[4] = {2, 4, 5, 6}, *d;
    cudaMalloc(&d, 16);
    cudaMemcpy(d, a, 16, cudaMemcpyHostToDevice);
    even<<<1, 4>>>(d);
    return cudaDeviceSynchronize() == cudaErrorAssert ? 3 : 0;
}
