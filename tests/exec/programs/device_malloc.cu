#include "selfcheck.h"

__global__ void chain(int *out) {
    int *mine = (int *)malloc(16 * sizeof(int));
    if (!mine) { out[threadIdx.x] = -1; return; }
    for (int i = 0; i < 16; i++) mine[i] = threadIdx.x * i;
    int s = 0;
    for (int i = 0; i < 16; i++) s += mine[i];
    out[threadIdx.x] = s;
    free(mine);
}
int main() {
    int *out;
    CHECK(cudaMallocManaged(&out, 128));
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20));
    chain<<<1, 32>>>(out);
    CHECK(cudaDeviceSynchronize());
    bool ok = true;
    for (int t = 0; t < 32; t++) ok &= out[t] == 120 * t;
    return verdict(ok);
}
