#include "selfcheck.h"

#include <mma.h>
using namespace nvcuda;
__global__ void gemm(const half *a, const half *b, float *c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 1.0f);
    for (int k = 0; k < 32; k += 16) {
        wmma::load_matrix_sync(fa, a + k, 32);
        wmma::load_matrix_sync(fb, b + k, 32);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
int main() {
    half *a, *b; float *c;
    CHECK(cudaMallocManaged(&a, 1024)); CHECK(cudaMallocManaged(&b, 1024)); CHECK(cudaMallocManaged(&c, 1024));
    for (int i = 0; i < 512; i++) a[i] = __float2half(i % 5), b[i] = __float2half(i % 7 - 3);
    gemm<<<1, 32>>>(a, b, c);
    CHECK(cudaDeviceSynchronize());
    bool ok = true;
    for (int i = 0; i < 16; i++) for (int j = 0; j < 16; j++) {
        float s = 1;
        for (int k = 0; k < 32; k++) s += float((i * 32 + k) % 5) * ((j * 32 + k) % 7 - 3);
        ok &= c[i * 16 + j] == s;
    }
    return verdict(ok);
}
