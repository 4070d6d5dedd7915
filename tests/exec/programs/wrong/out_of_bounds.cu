#include "../selfcheck.h"

__global__ void write(int *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) x[i] = i; // one too many
}
int main() {
    const int n = 256;
    int *d;
    cudaMalloc(&d, n * 4);
    write<<<2, 256>>>(d, n);
    cudaError_t e = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorName(e));
    return e != cudaSuccess;
}
