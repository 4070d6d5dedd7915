#include "selfcheck.h"

__global__ void spin(int *x, int n) { for (int i = 0; i < n; i++) x[threadIdx.x] += i; }
int main() {
    int *d;
    CHECK(cudaMalloc(&d, 128)); CHECK(cudaMemset(d, 0, 128));
    cudaEvent_t a, b, never;
    CHECK(cudaEventCreate(&a)); CHECK(cudaEventCreateWithFlags(&b, cudaEventDefault)); CHECK(cudaEventCreate(&never));
    cudaEvent_t untimed;
    CHECK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming)); CHECK(cudaEventRecord(untimed));
    CHECK(cudaEventRecord(a));
    spin<<<1, 32>>>(d, 1000);
    CHECK(cudaEventRecord(b));
    CHECK(cudaStreamWaitEvent(0, b, 0));
    CHECK(cudaEventSynchronize(b));
    float ms = -1;
    CHECK(cudaEventElapsedTime(&ms, a, b));
    bool refused = cudaEventElapsedTime(&ms, a, never) == cudaErrorInvalidResourceHandle;
    refused &= cudaEventElapsedTime(&ms, untimed, b) == cudaErrorInvalidResourceHandle;
    CHECK(cudaEventElapsedTime(&ms, a, b));
    bool ok = ms > 0 && cudaEventQuery(b) == cudaSuccess && refused && cudaGetLastError() != cudaSuccess;
    CHECK(cudaEventDestroy(a)); CHECK(cudaEventDestroy(b)); CHECK(cudaEventDestroy(never));
    return verdict(ok);
}
