// One Jacobi step of the 2-D five-point stencil. A block holds its tile with a
// halo of one in shared memory; border cells of the grid are copied unchanged.

constexpr int BX = 32, BY = 8;

extern "C" __global__ void __launch_bounds__(BX *BY)
    stencil(const float *__restrict__ in, float *__restrict__ out, int width, int height) {
    __shared__ float tile[BY + 2][BX + 2];

    const int x0 = blockIdx.x * BX - 1, y0 = blockIdx.y * BY - 1;
    for (int i = threadIdx.y * BX + threadIdx.x; i < (BY + 2) * (BX + 2); i += BX * BY) {
        const int tx = i % (BX + 2), ty = i / (BX + 2);
        const int x = min(max(x0 + tx, 0), width - 1);
        const int y = min(max(y0 + ty, 0), height - 1);
        tile[ty][tx] = in[y * width + x];
    }
    __syncthreads();

    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const int x = x0 + tx, y = y0 + ty;
    if (x >= width || y >= height)
        return;
    const bool border = x == 0 || y == 0 || x == width - 1 || y == height - 1;
    const float centre = tile[ty][tx];
    const float sum = tile[ty - 1][tx] + tile[ty + 1][tx] + tile[ty][tx - 1] + tile[ty][tx + 1];
    out[y * width + x] = border ? centre : 0.25f * sum;
}
