// Half-precision matrix product on tensor cores through the C++ warp-matrix
// interface: one warp computes a 16 x 16 tile. m, n, k are multiples of 16,
// A and B row-major, blocks of 128 threads.

#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void gemm_wmma(const half *__restrict__ a, const half *__restrict__ b,
                                     float *__restrict__ c, int m, int n, int k) {
    const int warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int row = warp / (n / 16) * 16, col = warp % (n / 16) * 16;
    if (row >= m)
        return;

    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_frag;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b_frag;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(a_frag, a + row * k + i, k);
        wmma::load_matrix_sync(b_frag, b + i * n + col, n);
        wmma::mma_sync(acc, a_frag, b_frag, acc);
    }
    wmma::store_matrix_sync(c + row * n + col, acc, n, wmma::mem_row_major);
}
