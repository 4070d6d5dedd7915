#include "selfcheck.h"

__global__ void nothing() {}
__global__ void crash(int *p) { *p = 1; }
int main() {
    void *p;
    bool ok = cudaMalloc(&p, size_t(1) << 50) == cudaErrorMemoryAllocation;
    ok &= cudaGetLastError() == cudaErrorMemoryAllocation && cudaGetLastError() == cudaSuccess;
    nothing<<<1, 2048>>>();
    ok &= cudaPeekAtLastError() == cudaErrorInvalidValue && cudaGetLastError() == cudaErrorInvalidValue;
    nothing<<<0, 32>>>();
    ok &= cudaGetLastError() == cudaErrorInvalidValue && cudaGetLastError() == cudaSuccess;
    nothing<<<dim3(1, 65536), 32>>>();
    ok &= cudaGetLastError() == cudaErrorInvalidValue && cudaGetLastError() == cudaSuccess;
    nothing<<<1, dim3(1, 1, 65)>>>();
    ok &= cudaGetLastError() == cudaErrorInvalidValue && cudaGetLastError() == cudaSuccess;
    ok &= cudaGetLastError() == cudaSuccess && cudaSetDevice(77) == cudaErrorInvalidDevice;
    cudaGetLastError();
    ok &= cudaMemcpy(nullptr, &ok, 1, cudaMemcpyHostToDevice) == cudaErrorInvalidValue;
    cudaGetLastError();
    ok &= !strcmp(cudaGetErrorName(cudaErrorNotReady), "cudaErrorNotReady");
    ok &= !strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument");
    ok &= cudaFree(&ok) == cudaErrorInvalidValue && cudaFree(nullptr) == cudaSuccess;
    cudaGetLastError();
    nothing<<<1, 1>>>();
    ok &= cudaDeviceSynchronize() == cudaSuccess;
    return verdict(ok);
}
