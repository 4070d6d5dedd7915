#include "selfcheck.h"

__global__ void sum(const int *in, int *out, int n) {
    extern __shared__ int part[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) atomicAdd(out, part[0]);
}
int main() {
    const int n = 20000;
    std::vector<int> a(n);
    long want = 0;
    for (int i = 0; i < n; i++) want += a[i] = i % 17;
    int *d, *out, got;
    CHECK(cudaMalloc(&d, n * 4)); CHECK(cudaMalloc(&out, 4)); CHECK(cudaMemset(out, 0, 4));
    CHECK(cudaMemcpy(d, a.data(), n * 4, cudaMemcpyHostToDevice));
    sum<<<(n + 255) / 256, 256, 256 * sizeof(int)>>>(d, out, n);
    CHECK(cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost));
    return verdict(got == want);
}
