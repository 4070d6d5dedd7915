// Single-precision matrix product, one buffer for each tile: what people write before they pipeline.
// A is m x k, B is k x n, row-major; m and n are multiples of 128, k of 8. A block of 256 threads
// computes 128 x 128 of C, a thread 8 x 8. Tiles are loaded four floats at a time.

constexpr int BM = 128, BN = 128, BK = 8;

extern "C" __global__ void __launch_bounds__(256)
    gemm_tile(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int m,
              int n, int k) {
    __shared__ __align__(16) float a_tile[BM][BK + 4];
    __shared__ __align__(16) float b_tile[BK][BN];

    const int t = threadIdx.x, tx = t % 16, ty = t / 16;
    const float *a_src = a + (blockIdx.y * BM + t / 2) * (long long)k + t % 2 * 4;
    const float *b_src = b + t / 32 * (long long)n + blockIdx.x * BN + t % 32 * 4;

    float acc[8][8] = {};
    for (int k0 = 0; k0 < k; k0 += BK) {
        *reinterpret_cast<float4 *>(&a_tile[t / 2][t % 2 * 4]) =
            *reinterpret_cast<const float4 *>(a_src);
        *reinterpret_cast<float4 *>(&b_tile[t / 32][t % 32 * 4]) =
            *reinterpret_cast<const float4 *>(b_src);
        a_src += BK;
        b_src += static_cast<long long>(BK) * n;
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < BK; ++kk) {
            float af[8], bf[8];
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                af[i] = a_tile[ty + 16 * i][kk];
                bf[i] = b_tile[kk][tx * 4 + i % 4 + i / 4 * 64];
            }
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j)
                    acc[i][j] += af[i] * bf[j];
        }
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            const int row = blockIdx.y * BM + ty + 16 * i, col = blockIdx.x * BN + tx * 4 + 64 * j;
            *reinterpret_cast<float4 *>(&c[row * (long long)n + col]) = {
                acc[i][4 * j], acc[i][4 * j + 1], acc[i][4 * j + 2], acc[i][4 * j + 3]};
        }
}
