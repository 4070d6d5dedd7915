#include "selfcheck.h"

__device__ double phi(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }
__global__ void price(const double *s, const double *k, double *call, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double v = 0.3, r = 0.02, t = 1.5, d1 = (log(s[i] / k[i]) + (r + v * v / 2) * t) / (v * sqrt(t));
    call[i] = s[i] * phi(d1) - k[i] * exp(-r * t) * phi(d1 - v * sqrt(t));
}
int main() {
    const int n = 200;
    double *s, *k, *c;
    CHECK(cudaMallocManaged(&s, n * 8)); CHECK(cudaMallocManaged(&k, n * 8)); CHECK(cudaMallocManaged(&c, n * 8));
    for (int i = 0; i < n; i++) s[i] = 50 + i, k[i] = 100 + i % 20;
    price<<<2, 128>>>(s, k, c, n);
    CHECK(cudaDeviceSynchronize());
    bool ok = true;
    for (int i = 0; i < n; i++) {
        double v = 0.3, r = 0.02, t = 1.5, d1 = (log(s[i] / k[i]) + (r + v * v / 2) * t) / (v * sqrt(t));
        double want = s[i] * 0.5 * erfc(-d1 * M_SQRT1_2) - k[i] * exp(-r * t) * 0.5 * erfc(-(d1 - v * sqrt(t)) * M_SQRT1_2);
        ok &= fabs(c[i] - want) < 1e-9 * (1 + want);
    }
    return verdict(ok);
}
