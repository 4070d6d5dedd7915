#include "selfcheck.h"

__global__ void eliminate(double *a, int n, int p) {
    int r = blockIdx.x, t = threadIdx.x, w = 2 * n;
    __shared__ double factor;
    if (r == p) return;
    if (t == 0) factor = a[r * w + p] / a[p * w + p];
    __syncthreads();
    a[r * w + t] -= factor * a[p * w + t];
}
__global__ void divide(double *a, int n) { int r = blockIdx.x, t = threadIdx.x, w = 2 * n; double d = a[r * w + r]; __syncthreads(); a[r * w + t] /= d; }
int main() {
    const int n = 16, w = 2 * n;
    std::vector<double> a(n * w), b(n * w);
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i * w + j] = i == j ? n + 1 : 1.0 / (1 + i + j), a[i * w + n + j] = i == j;
    double *d;
    CHECK(cudaMalloc(&d, n * w * 8)); CHECK(cudaMemcpy(d, a.data(), n * w * 8, cudaMemcpyHostToDevice));
    for (int p = 0; p < n; p++) eliminate<<<n, w>>>(d, n, p);
    divide<<<n, w>>>(d, n);
    CHECK(cudaMemcpy(b.data(), d, n * w * 8, cudaMemcpyDeviceToHost));
    bool ok = true;
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
        double s = 0;
        for (int k = 0; k < n; k++) s += a[i * w + k] * b[k * w + n + j];
        ok &= fabs(s - (i == j)) < 1e-9;
    }
    return verdict(ok);
}
