#include "selfcheck.h"

__global__ void mix(int *i, unsigned *u, float *f, double *d, unsigned long long *l) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicMax(i, t); atomicMin(i + 1, -t); atomicXor(i + 2, t); atomicExch(i + 3, 9);
    atomicOr(u, 1u << t % 32); atomicAnd(u + 1, ~(1u << t % 32)); atomicInc(u + 2, 99);
    atomicAdd(f, 0.5f); atomicAdd(d, 0.25); atomicAdd(l, 1ull << 33);
}
int main() {
    int *i; unsigned *u; float *f; double *d; unsigned long long *l;
    CHECK(cudaMallocManaged(&i, 16)); CHECK(cudaMallocManaged(&u, 12)); CHECK(cudaMallocManaged(&f, 4)); CHECK(cudaMallocManaged(&d, 8)); CHECK(cudaMallocManaged(&l, 8));
    memset(i, 0, 16); u[0] = u[2] = 0; u[1] = ~0u; *f = 0; *d = 0; *l = 0;
    mix<<<4, 64>>>(i, u, f, d, l);
    CHECK(cudaDeviceSynchronize());
    return verdict(i[0] == 255 && i[1] == -255 && i[2] == 0 && i[3] == 9 && u[0] == ~0u && u[1] == 0 && u[2] == 256 % 100 && *f == 128 && *d == 64 && *l == 256ull << 33);
}
