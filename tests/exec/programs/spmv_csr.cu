#include "selfcheck.h"

__global__ void spmv(const int *row, const int *col, const double *v, const double *x, double *y, int n) {
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (r >= n) return;
    double s = 0;
    for (int k = row[r] + lane; k < row[r + 1]; k += 32) s += v[k] * x[col[k]];
    for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
    if (lane == 0) y[r] = s;
}
int main() {
    const int n = 60;
    std::vector<int> row(1), col;
    std::vector<double> v, x(n), want(n), got(n);
    for (int i = 0; i < n; i++) x[i] = i % 10;
    for (int i = 0; i < n; i++) {
        for (int j = i % 3; j < n; j += 1 + i % 4) { col.push_back(j); v.push_back(i - j); want[i] += (i - j) * x[j]; }
        row.push_back(col.size());
    }
    int *dr, *dc; double *dv, *dx, *dy;
    CHECK(cudaMalloc(&dr, row.size() * 4)); CHECK(cudaMalloc(&dc, col.size() * 4)); CHECK(cudaMalloc(&dv, v.size() * 8));
    CHECK(cudaMalloc(&dx, n * 8)); CHECK(cudaMalloc(&dy, n * 8));
    CHECK(cudaMemcpy(dr, row.data(), row.size() * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dc, col.data(), col.size() * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dv, v.data(), v.size() * 8, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dx, x.data(), n * 8, cudaMemcpyHostToDevice));
    spmv<<<(n * 32 + 127) / 128, 128>>>(dr, dc, dv, dx, dy, n);
    CHECK(cudaMemcpy(got.data(), dy, n * 8, cudaMemcpyDeviceToHost));
    return verdict(got == want);
}
