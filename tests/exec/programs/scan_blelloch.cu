#include "selfcheck.h"

__global__ void scan(int *x) {
    extern __shared__ int s[];
    int t = threadIdx.x, n = 2 * blockDim.x, step = 1;
    s[2 * t] = x[2 * t]; s[2 * t + 1] = x[2 * t + 1];
    for (int d = n >> 1; d > 0; d >>= 1, step *= 2) {
        __syncthreads();
        if (t < d) s[step * (2 * t + 2) - 1] += s[step * (2 * t + 1) - 1];
    }
    if (t == 0) s[n - 1] = 0;
    for (int d = 1; d < n; d *= 2) {
        step >>= 1;
        __syncthreads();
        if (t < d) {
            int a = step * (2 * t + 1) - 1, b = step * (2 * t + 2) - 1, keep = s[a];
            s[a] = s[b]; s[b] += keep;
        }
    }
    __syncthreads();
    x[2 * t] = s[2 * t]; x[2 * t + 1] = s[2 * t + 1];
}
int main() {
    const int n = 512;
    int a[n], *d, sum = 0;
    for (int i = 0; i < n; i++) a[i] = (i * 7) % 11;
    std::vector<int> want(n);
    for (int i = 0; i < n; i++) want[i] = sum, sum += a[i];
    CHECK(cudaMalloc(&d, sizeof a)); CHECK(cudaMemcpy(d, a, sizeof a, cudaMemcpyDefault));
    scan<<<1, n / 2, sizeof a>>>(d);
    CHECK(cudaMemcpy(a, d, sizeof a, cudaMemcpyDefault));
    return verdict(std::equal(a, a + n, want.begin()));
}
