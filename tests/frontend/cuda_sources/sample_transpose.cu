#define TILE_DIM 32
#define BLOCK_ROWS 8
#include <stdio.h>
#define FLOOR(a, b) (a - (a % b))
static int MAX_TILES = (FLOOR(512, 512) * FLOOR(512, 512)) / (TILE_DIM * TILE_DIM);
__global__ void transposeDiagonal(float *odata, float *idata, int width, int height) {
    __shared__ float tile[TILE_DIM][TILE_DIM + 1];
    int blockIdx_x, blockIdx_y;
    if (width == height) { blockIdx_y = blockIdx.x; blockIdx_x = (blockIdx.x + blockIdx.y) % gridDim.x; }
    else { int bid = blockIdx.x + gridDim.x * blockIdx.y; blockIdx_y = bid % gridDim.y; blockIdx_x = ((bid / gridDim.y) + blockIdx_y) % gridDim.x; }
    int xIndex = blockIdx_x * TILE_DIM + threadIdx.x;
    int yIndex = blockIdx_y * TILE_DIM + threadIdx.y;
    int index_in = xIndex + (yIndex)*width;
    xIndex = blockIdx_y * TILE_DIM + threadIdx.x;
    yIndex = blockIdx_x * TILE_DIM + threadIdx.y;
    int index_out = xIndex + (yIndex)*height;
    for (int i = 0; i < TILE_DIM; i += BLOCK_ROWS) { tile[threadIdx.y + i][threadIdx.x] = idata[index_in + i * width]; }
    __syncthreads();
    for (int i = 0; i < TILE_DIM; i += BLOCK_ROWS) { odata[index_out + i * height] = tile[threadIdx.x][threadIdx.y + i]; }
}
int main(int argc, char **argv) {
    void (*kernel)(float *, float *, int, int);
    kernel = &transposeDiagonal;
    const char *kernelName = "diagonal";
    float *d;
    kernel<<<dim3(2, 2), dim3(32, 8)>>>(d, d, 64, 64);
    printf("%s\n", kernelName);
}
