#include "selfcheck.h"

const int TILE = 32, ROWS = 8;
__global__ void transpose(float *out, const float *in, int w, int h) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) if (x < w && y + j < h) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x; y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) if (x < h && y + j < w) out[(y + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];
}
int main() {
    const int w = 100, h = 70;
    std::vector<float> a(w * h), b(w * h);
    for (int i = 0; i < w * h; i++) a[i] = i;
    float *x, *y;
    CHECK(cudaMalloc(&x, w * h * 4)); CHECK(cudaMalloc(&y, w * h * 4));
    CHECK(cudaMemcpy(x, a.data(), w * h * 4, cudaMemcpyHostToDevice));
    transpose<<<dim3((w + 31) / 32, (h + 31) / 32), dim3(TILE, ROWS)>>>(y, x, w, h);
    CHECK(cudaMemcpy(b.data(), y, w * h * 4, cudaMemcpyDeviceToHost));
    bool ok = true;
    for (int i = 0; i < h; i++) for (int j = 0; j < w; j++) ok &= b[j * h + i] == a[i * w + j];
    return verdict(ok);
}
