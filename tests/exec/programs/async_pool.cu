#include "selfcheck.h"

__global__ void set(int *x, int v, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = v + i; }
int main() {
    const int n = 1000;
    cudaStream_t s;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    std::vector<int> a(n);
    bool ok = true;
    for (int k = 0; k < 10; k++) {
        int *d;
        CHECK(cudaMallocAsync(&d, n * 4, s));
        set<<<4, 256, 0, s>>>(d, k, n);
        CHECK(cudaMemcpyAsync(a.data(), d, n * 4, cudaMemcpyDeviceToHost, s));
        CHECK(cudaFreeAsync(d, s));
        CHECK(cudaStreamSynchronize(s));
        for (int i = 0; i < n; i++) ok &= a[i] == k + i;
    }
    int called = 0;
    CHECK(cudaLaunchHostFunc(s, [](void *p) { ++*(int *)p; }, &called));
    CHECK(cudaStreamSynchronize(s));
    return verdict(ok && called == 1);
}
