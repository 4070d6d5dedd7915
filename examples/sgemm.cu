// Single-precision matrix product C = alpha * A * B + beta * C, row-major,
// A is m x k, B is k x n. One 16 x 16 thread block computes one 16 x 16 tile
// of C; tiles of A and B pass through shared memory. Any m, n, k.
//
// Loops: the walk over k tiles (run-time trip count, two barriers) around the
// inner product of 16 terms (known trip count).

constexpr int TILE = 16;

extern "C" __global__ void sgemm(const float *__restrict__ a, const float *__restrict__ b,
                                 float *__restrict__ c, int m, int n, int k,
                                 float alpha, float beta) {
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];

    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * TILE + y;
    const int col = blockIdx.x * TILE + x;

    float sum = 0.0f;
    for (int k0 = 0; k0 < k; k0 += TILE) {
        a_tile[y][x] = row < m && k0 + x < k ? a[row * k + k0 + x] : 0.0f;
        b_tile[y][x] = col < n && k0 + y < k ? b[(k0 + y) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; ++i)
            sum += a_tile[y][i] * b_tile[i][x];
        __syncthreads();
    }
    if (row < m && col < n)
        c[row * n + col] = alpha * sum + beta * c[row * n + col];
}
