// Matrix transpose through a padded shared-memory tile, so that both the loads
// and the stores are coalesced. Blocks of 32 x 8 threads, each moving 32 x 32.

constexpr int TILE = 32, ROWS = 8;

extern "C" __global__ void transpose(const float *__restrict__ in, float *__restrict__ out,
                                     int width, int height) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += ROWS)
        if (x < width && y + i < height)
            tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += ROWS)
        if (x < height && y + i < width)
            out[(y + i) * height + x] = tile[threadIdx.x][threadIdx.y + i];
}
