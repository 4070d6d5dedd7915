// Half-precision matrix product C = A * B^T with mma.sync.m16n8k16 and ldmatrix
// written as inline assembly. One block of four warps computes 64 x 64 of C, a
// warp 32 x 32. A is m x k, B is n x k, both row-major; m and n are multiples
// of 64, k of 32. Rows of the shared tiles are padded against bank conflicts.

#include <cuda_fp16.h>

constexpr int BM = 64, BN = 64, BK = 32, PAD = 8;

__device__ __forceinline__ void ldmatrix_x4(unsigned (&r)[4], const half *p) {
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(p));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address));
}

__device__ __forceinline__ void mma_16816(float (&d)[4], const unsigned (&a)[4], unsigned b0,
                                          unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

extern "C" __global__ void __launch_bounds__(128)
    gemm_mma(const half *__restrict__ a, const half *__restrict__ b, float *__restrict__ c, int m,
             int n, int k) {
    __shared__ __align__(16) half a_tile[BM][BK + PAD];
    __shared__ __align__(16) half b_tile[BN][BK + PAD];

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int warp_row = warp / 2 * 32, warp_col = warp % 2 * 32;

    float acc[2][4][4] = {};
    for (int k0 = 0; k0 < k; k0 += BK) {
        for (int i = threadIdx.x; i < BM * BK / 8; i += 128) {
            const int r = i / (BK / 8), s = i % (BK / 8) * 8;
            *reinterpret_cast<uint4 *>(&a_tile[r][s]) =
                *reinterpret_cast<const uint4 *>(&a[(row0 + r) * k + k0 + s]);
            *reinterpret_cast<uint4 *>(&b_tile[r][s]) =
                *reinterpret_cast<const uint4 *>(&b[(col0 + r) * k + k0 + s]);
        }
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < BK; kk += 16) {
            unsigned af[2][4], bf[2][4];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                ldmatrix_x4(af[i], &a_tile[warp_row + 16 * i + lane % 16][kk + lane / 16 * 8]);
                ldmatrix_x4(bf[i], &b_tile[warp_col + 16 * i + lane % 16][kk + lane / 16 * 8]);
            }
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    mma_16816(acc[i][j], af[i], bf[j / 2][j % 2], bf[j / 2][j % 2 + 2]);
        }
        __syncthreads();
    }

    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j) {
            const int row = row0 + warp_row + 16 * i + lane / 4;
            const int col = col0 + warp_col + 8 * j + lane % 4 * 2;
            *reinterpret_cast<float2 *>(&c[row * n + col]) = {acc[i][j][0], acc[i][j][1]};
            *reinterpret_cast<float2 *>(&c[(row + 8) * n + col]) = {acc[i][j][2], acc[i][j][3]};
        }
}
