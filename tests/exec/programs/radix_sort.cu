#include "selfcheck.h"

__global__ void flags(const unsigned *x, int *f, int bit, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) f[i] = !(x[i] >> bit & 1); }
__global__ void scan(int *f, int n) { int s = 0; for (int i = 0; i < n; i++) { int v = f[i]; f[i] = s; s += v; } f[n] = s; }
__global__ void scatter(const unsigned *x, unsigned *y, const int *f, int bit, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[x[i] >> bit & 1 ? f[n] + i - f[i] : f[i]] = x[i];
}
int main() {
    const int n = 300;
    std::vector<unsigned> a(n), b(n);
    for (int i = 0; i < n; i++) a[i] = (i * 2654435761u) >> 22;
    unsigned *x, *y; int *f;
    CHECK(cudaMalloc(&x, n * 4)); CHECK(cudaMalloc(&y, n * 4)); CHECK(cudaMalloc(&f, n * 4 + 4));
    CHECK(cudaMemcpy(x, a.data(), n * 4, cudaMemcpyHostToDevice));
    for (int bit = 0; bit < 10; bit++) {
        flags<<<3, 128>>>(x, f, bit, n); scan<<<1, 1>>>(f, n); scatter<<<3, 128>>>(x, y, f, bit, n);
        std::swap(x, y);
    }
    CHECK(cudaMemcpy(b.data(), x, n * 4, cudaMemcpyDeviceToHost));
    std::sort(a.begin(), a.end());
    return verdict(a == b);
}
