// Single-precision matrix product with a software pipeline in the source: tiles
// are copied by cp.async three stages ahead of the arithmetic. A is m x k, B is
// k x n, row-major; m and n are multiples of 64, k of 8. Blocks of 256 threads,
// each computing 4 x 4 of a 64 x 64 tile.

#include <cuda_pipeline.h>

constexpr int BM = 64, BN = 64, BK = 8, STAGES = 3;

extern "C" __global__ void __launch_bounds__(256)
    gemm_cp_async(const float *__restrict__ a, const float *__restrict__ b,
                  float *__restrict__ c, int m, int n, int k) {
    __shared__ __align__(16) float a_tile[STAGES][BM][BK];
    __shared__ __align__(16) float b_tile[STAGES][BK][BN];

    const int t = threadIdx.x, tx = t % 16, ty = t / 16;
    const float *a_src = a + (long long)blockIdx.y * BM * k;
    const float *b_src = b + blockIdx.x * BN;

    auto fetch = [&](int tile) {
        const int stage = tile % STAGES, k0 = tile * BK;
        if (k0 < k) {
            if (t < 128) {
                const int row = t / 2, col = t % 2 * 4;
                __pipeline_memcpy_async(&a_tile[stage][row][col], &a_src[row * k + k0 + col], 16);
            } else {
                const int row = (t - 128) / 16, col = t % 16 * 4;
                __pipeline_memcpy_async(&b_tile[stage][row][col], &b_src[(k0 + row) * n + col], 16);
            }
        }
        __pipeline_commit();
    };

    for (int tile = 0; tile < STAGES - 1; ++tile)
        fetch(tile);

    float acc[4][4] = {};
    for (int tile = 0; tile < k / BK; ++tile) {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();
        fetch(tile + STAGES - 1);
        const int stage = tile % STAGES;
#pragma unroll
        for (int kk = 0; kk < BK; ++kk) {
            float af[4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                af[i] = a_tile[stage][ty * 4 + i][kk];
            const float4 bf = *reinterpret_cast<const float4 *>(&b_tile[stage][kk][tx * 4]);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                acc[i][0] += af[i] * bf.x;
                acc[i][1] += af[i] * bf.y;
                acc[i][2] += af[i] * bf.z;
                acc[i][3] += af[i] * bf.w;
            }
        }
    }
    __pipeline_wait_prior(0);

#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int row = blockIdx.y * BM + ty * 4 + i, col = blockIdx.x * BN + tx * 4;
        *reinterpret_cast<float4 *>(&c[row * n + col]) =
            {acc[i][0], acc[i][1], acc[i][2], acc[i][3]};
    }
}
