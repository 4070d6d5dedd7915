#include "selfcheck.h"

__global__ void expand(const int *row, const int *col, int *level, int depth, int n, int *changed) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || level[v] != depth) return;
    for (int k = row[v]; k < row[v + 1]; k++) if (atomicCAS(&level[col[k]], -1, depth + 1) == -1) *changed = 1;
}
int main() {
    const int n = 300;
    std::vector<int> row(1), col, want(n, -1);
    for (int v = 0; v < n; v++) { col.push_back((v * 3 + 1) % n); col.push_back((v + 7) % n); row.push_back(col.size()); }
    std::vector<int> queue(1, 0);
    want[0] = 0;
    for (size_t k = 0; k < queue.size(); k++) for (int e = row[queue[k]]; e < row[queue[k] + 1]; e++) if (want[col[e]] < 0) want[col[e]] = want[queue[k]] + 1, queue.push_back(col[e]);
    int *dr, *dc, *level, *changed;
    CHECK(cudaMalloc(&dr, row.size() * 4)); CHECK(cudaMalloc(&dc, col.size() * 4)); CHECK(cudaMalloc(&level, n * 4));
    CHECK(cudaMallocManaged(&changed, 4));
    CHECK(cudaMemcpy(dr, row.data(), row.size() * 4, cudaMemcpyHostToDevice)); CHECK(cudaMemcpy(dc, col.data(), col.size() * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(level, 0xff, n * 4)); CHECK(cudaMemset(level, 0, 4));
    int depth = 0;
    do { *changed = 0; expand<<<3, 128>>>(dr, dc, level, depth++, n, changed); CHECK(cudaDeviceSynchronize()); } while (*changed);
    std::vector<int> got(n);
    CHECK(cudaMemcpy(got.data(), level, n * 4, cudaMemcpyDeviceToHost));
    return verdict(got == want);
}
