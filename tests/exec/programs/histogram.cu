#include "selfcheck.h"

__global__ void count(const unsigned char *in, int n, unsigned *bins) {
    __shared__ unsigned local[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&local[in[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}
int main() {
    const int n = 30000;
    std::vector<unsigned char> a(n);
    std::vector<unsigned> want(256), got(256);
    for (int i = 0; i < n; i++) want[a[i] = (i * i) % 251]++;
    unsigned char *d; unsigned *bins;
    CHECK(cudaMalloc(&d, n)); CHECK(cudaMalloc(&bins, 1024)); CHECK(cudaMemset(bins, 0, 1024));
    CHECK(cudaMemcpy(d, a.data(), n, cudaMemcpyHostToDevice));
    count<<<4, 128>>>(d, n, bins);
    CHECK(cudaMemcpy(got.data(), bins, 1024, cudaMemcpyDeviceToHost));
    return verdict(got == want);
}
