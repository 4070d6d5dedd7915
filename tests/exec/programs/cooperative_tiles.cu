#include "selfcheck.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void sums(const int *in, int *out) {
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int x = in[blockIdx.x * blockDim.x + threadIdx.x];
    int s = cg::reduce(tile, x, cg::plus<int>());
    int most = cg::reduce(tile, x, cg::greater<int>());
    if (tile.thread_rank() == 0) out[(blockIdx.x * blockDim.x + threadIdx.x) / 8] = s * 1000 + most;
}
int main() {
    const int n = 256;
    int *a, *out;
    CHECK(cudaMallocManaged(&a, n * 4)); CHECK(cudaMallocManaged(&out, n / 8 * 4));
    for (int i = 0; i < n; i++) a[i] = (i * 31) % 50;
    sums<<<2, 128>>>(a, out);
    CHECK(cudaDeviceSynchronize());
    bool ok = true;
    for (int g = 0; g < n / 8; g++) {
        int s = 0, m = 0;
        for (int i = 0; i < 8; i++) s += a[g * 8 + i], m = std::max(m, a[g * 8 + i]);
        ok &= out[g] == s * 1000 + m;
    }
    return verdict(ok);
}
