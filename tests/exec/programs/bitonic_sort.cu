#include "selfcheck.h"

__global__ void step(int *x, int j, int k) {
    int i = threadIdx.x + blockDim.x * blockIdx.x, other = i ^ j;
    if (other > i && ((i & k) == 0) == (x[i] > x[other])) { int t = x[i]; x[i] = x[other]; x[other] = t; }
}
int main() {
    const int n = 1024;
    std::vector<int> a(n);
    for (int i = 0; i < n; i++) a[i] = (i * 7919) % 10007;
    int *d;
    CHECK(cudaMalloc(&d, n * 4)); CHECK(cudaMemcpy(d, a.data(), n * 4, cudaMemcpyHostToDevice));
    for (int k = 2; k <= n; k *= 2) for (int j = k / 2; j > 0; j /= 2) step<<<n / 256, 256>>>(d, j, k);
    std::vector<int> b(n);
    CHECK(cudaMemcpy(b.data(), d, n * 4, cudaMemcpyDeviceToHost));
    std::sort(a.begin(), a.end());
    return verdict(a == b);
}
