#include "selfcheck.h"

__global__ void positive(int *x) { assert(x[threadIdx.x] >= 0); x[threadIdx.x] = 1; }
int main() {
    int a[32] = {}, *d;
    CHECK(cudaMalloc(&d, sizeof a)); CHECK(cudaMemcpy(d, a, sizeof a, cudaMemcpyHostToDevice));
    positive<<<1, 32>>>(d);
    CHECK(cudaMemcpy(a, d, sizeof a, cudaMemcpyDeviceToHost));
    return verdict(a[31] == 1);
}
