#include "../selfcheck.h"

__global__ void neighbour(int *out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t;
    out[t] = s[(t + 33) % 64]; // no barrier before
}
int main() {
    int *d;
    cudaMalloc(&d, 256);
    neighbour<<<1, 64>>>(d);
    return cudaDeviceSynchronize() != cudaSuccess;
}
