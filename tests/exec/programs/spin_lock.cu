#include "selfcheck.h"

__device__ int lock;
__global__ void add(int *x) {
    bool done = false;
    while (!done) {
        if (atomicCAS(&lock, 0, 1) == 0) { *(volatile int *)x += 1; __threadfence(); atomicExch(&lock, 0); done = true; }
    }
}
int main() {
    int *x;
    CHECK(cudaMallocManaged(&x, 4));
    *x = 0;
    add<<<3, 40>>>(x);
    CHECK(cudaDeviceSynchronize());
    return verdict(*x == 120);
}
