#include "selfcheck.h"

#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void rounds(int *x, int n, int times) {
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank();
    for (int k = 0; k < times; k++) {
        int left = i < n ? x[(i + n - 1) % n] : 0;
        grid.sync();
        if (i < n) x[i] += left;
        grid.sync();
    }
}
int main() {
    int n = 256, times = 3, *d, blocks = 0;
    std::vector<int> a(n, 1), b(n);
    CHECK(cudaMalloc(&d, n * 4)); CHECK(cudaMemcpy(d, a.data(), n * 4, cudaMemcpyHostToDevice));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, rounds, 64, 0));
    void *args[] = {&d, &n, &times};
    CHECK(cudaLaunchCooperativeKernel((void *)rounds, dim3(4), dim3(64), args, 0, 0));
    CHECK(cudaMemcpy(b.data(), d, n * 4, cudaMemcpyDeviceToHost));
    bool ok = blocks > 0;
    ok &= cudaLaunchCooperativeKernel((void *)rounds, dim3(1 << 20), dim3(64), args, 0, 0)
        == cudaErrorCooperativeLaunchTooLarge;
    for (int x : b) ok &= x == 8;
    return verdict(ok);
}
