#include "../selfcheck.h"

__global__ void copy(const int *in, int *out) { out[threadIdx.x] = in[threadIdx.x]; }
int main() {
    int *a, *b;
    cudaMalloc(&a, 128);
    cudaMalloc(&b, 128);
    cudaMemset(a, 0, 100); // 28 bytes are left
    copy<<<1, 32>>>(a, b);
    return cudaDeviceSynchronize() != cudaSuccess;
}
