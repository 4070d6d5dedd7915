#include "selfcheck.h"

__global__ void twice(int *x, int n) { int i = threadIdx.x; if (i < n) x[i] *= 2; }
int main() {
    const int n = 100;
    int *host, *device, *plain = (int *)malloc(n * 4);
    CHECK(cudaHostAlloc(&host, n * 4, cudaHostAllocMapped)); CHECK(cudaHostGetDevicePointer(&device, host, 0));
    for (int i = 0; i < n; i++) host[i] = plain[i] = i;
    twice<<<1, 128>>>(device, n);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaHostRegister(plain, n * 4, cudaHostRegisterDefault));
    CHECK(cudaHostGetDevicePointer(&device, plain, 0));
    twice<<<1, 128>>>(device, n);
    CHECK(cudaDeviceSynchronize());
    bool ok = true;
    for (int i = 0; i < n; i++) ok &= host[i] == 2 * i && plain[i] == 2 * i;
    CHECK(cudaHostUnregister(plain));
    plain[0] = 5;
    cudaPointerAttributes a;
    CHECK(cudaPointerGetAttributes(&a, host));
    return verdict(ok && plain[0] == 5 && plain[99] == 198 && a.type == cudaMemoryTypeHost);
}
